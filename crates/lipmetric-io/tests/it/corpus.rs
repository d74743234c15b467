//! The corpora of `fuzz/`, fed to the same functions: a short run of what a fuzzer does for long.

use crate::feed::{READERS, feed};
use std::path::PathBuf;

#[test]
fn every_file_of_every_corpus_is_read_or_refused() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    for (name, _) in READERS {
        let target = folder.join(format!("fuzz_targets/{name}.rs"));
        assert!(target.exists(), "{name} has no target: {}", target.display());
        let files: Vec<_> = std::fs::read_dir(folder.join("corpus").join(name)).unwrap().collect();
        assert!(files.len() >= 3, "{name}: a corpus of {} files", files.len());
        for file in files {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            feed(name, &bytes);
            // Cut short, and with one byte changed.
            for at in (0..bytes.len()).step_by((bytes.len() / 16).max(1)) {
                feed(name, &bytes[..at]);
                let mut changed = bytes.clone();
                changed[at] ^= 0x55;
                feed(name, &changed);
            }
        }
    }
}
