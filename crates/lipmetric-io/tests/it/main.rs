//! Tests of reading and writing files: one binary, a file per subject.

#![allow(clippy::unwrap_used)]

mod damage;
mod datasets;
mod reading;
mod writing;
