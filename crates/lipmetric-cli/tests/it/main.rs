//! Tests of the program, run whole: one binary, a file per subject.

#![allow(clippy::unwrap_used)]

mod bad_input;
mod choosing;
mod common;
mod compare;
mod conventions;
mod formats;
mod function;
mod golden;
mod learning;
mod maps;
mod messy;
mod near_rows;
mod neighbours;
mod pairs;
mod pictures;
mod regression;
mod rivals;
mod robustness;
mod safety;
mod smooth;
mod snapshots;
mod sparse;
mod spec;
mod verify;
mod work;
