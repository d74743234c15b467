//! The module itself is tested from Python (`tests/python`). A test here makes `cargo test` build it.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};

#[test]
fn the_module_has_the_entry_that_python_looks_for() {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(std::path::Path::parent).unwrap();
    let module = std::fs::read(folder.join(format!("{DLL_PREFIX}_lipmetric{DLL_SUFFIX}"))).unwrap();
    let entry = b"PyInit__lipmetric";
    assert!(module.windows(entry.len()).any(|bytes| bytes == entry));
}
