//! Tests of reading and writing files: one binary, a file per subject.

#![allow(clippy::unwrap_used)]

mod auto_traits;
mod checkpoint;
mod corpus;
mod damage;
mod datasets;
mod encodings;
mod feed;
mod hostile;
mod model_file;
mod reading;
mod writing;
