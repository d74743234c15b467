//! No bytes whatever make a reader panic.

use std::path::PathBuf;

use lipmetric_io::{Format, ReadOptions, Source, TableStream};
use proptest::prelude::*;

/// Reads to the end or to the first error.
fn exhaust(bytes: Vec<u8>, format: Option<Format>) {
    let options = ReadOptions { format, ..ReadOptions::default() };
    let Ok(mut stream) = TableStream::open(&Source::buffer("noise", bytes), &options) else { return };
    while let Ok(Some(batch)) = stream.next_batch(7) {
        assert!(batch.columns.iter().all(|c| c.values.len() == batch.rows()), "columns of different lengths");
        assert!(batch.rows() > 0 && batch.rows() <= 7);
    }
}

fn formats() -> impl Strategy<Value = Option<Format>> {
    prop::option::of(prop::sample::select(Format::ALL.to_vec()))
}

fn fixtures() -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().filter(|p| p.extension().is_some_and(|e| e != "py")).map(|p| std::fs::read(p).unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300), format in formats()) {
        exhaust(bytes, format);
    }

    #[test]
    fn text_that_is_nearly_a_table(text in "([0-9a-z.:#\"-]{0,4}[ ,;\t\r\n|]){0,40}", format in formats()) {
        exhaust(text.into_bytes(), format);
    }

    #[test]
    fn good_files_with_bytes_changed(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let all = fixtures();
        let mut bytes = all[which.index(all.len())].clone();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        exhaust(bytes, None);
    }
}
