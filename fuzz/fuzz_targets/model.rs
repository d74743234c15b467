#![no_main]

#[path = "../../crates/lipmetric-io/tests/it/feed.rs"]
mod feed;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| feed::feed("model", bytes));
