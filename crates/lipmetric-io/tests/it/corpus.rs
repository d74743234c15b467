//! The corpora of `fuzz/`, fed to the same functions: a short run of what a fuzzer does for long.

use crate::feed::{READERS, feed};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts panics of this thread from now on, also those that a reader catches.
fn count_panics() -> Arc<AtomicUsize> {
    let (count, usual, here) = (Arc::new(AtomicUsize::new(0)), std::panic::take_hook(), std::thread::current().id());
    let counted = count.clone();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() == here {
            counted.fetch_add(1, Ordering::SeqCst);
        }
        usual(info);
    }));
    count
}

#[test]
fn every_file_of_every_corpus_is_read_or_refused() {
    let panics = count_panics();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    for (name, _) in READERS {
        let target = folder.join(format!("fuzz_targets/{name}.rs"));
        assert!(target.exists(), "{name} has no target: {}", target.display());
        let files: Vec<_> = std::fs::read_dir(folder.join("corpus").join(name)).unwrap().collect();
        assert!(files.len() >= 3, "{name}: a corpus of {} files", files.len());
        for file in files {
            let path = file.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            feed(name, &bytes);
            assert_eq!(panics.load(Ordering::SeqCst), 0, "a panic inside of the reader: {}", path.display());
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
