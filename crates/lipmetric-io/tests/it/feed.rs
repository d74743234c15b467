//! What is done with bytes of strangers, the same in the tests and in `fuzz/`: whatever they are, nothing panics, nothing takes more
//! memory than it was given, and what is read whole is what is read in batches.

use lipmetric::method::{Method, Spec};
use lipmetric_io::model::{model_from_bytes, model_to_bytes};
use lipmetric_io::{Format, ReadOptions, Source, TableStream, read_table};

/// The most memory that a table may take here.
const MEMORY: u64 = 64 << 20;

type Reader = fn(&[u8]);

/// Every reader: the name of its target and its corpus, and what is fed.
pub(crate) const READERS: [(&str, Reader); 9] = [
    ("csv", |bytes| table(bytes, Some(Format::Csv))),
    ("libsvm", |bytes| table(bytes, Some(Format::Libsvm))),
    ("npy", |bytes| table(bytes, Some(Format::Npy))),
    ("npz", |bytes| table(bytes, Some(Format::Npz))),
    ("parquet", |bytes| table(bytes, Some(Format::Parquet))),
    ("jsonl", |bytes| table(bytes, Some(Format::Jsonl))),
    ("gzip", |bytes| table(bytes, None)),
    ("model", model),
    ("spec", spec),
];

/// Feeds the reader of this name.
pub(crate) fn feed(name: &str, bytes: &[u8]) {
    let reader = READERS.iter().find(|(known, _)| *known == name).expect("a reader of that name");
    (reader.1)(bytes);
}

fn table(bytes: &[u8], format: Option<Format>) {
    let source = || Source::buffer("noise", bytes.to_vec());
    let options =
        ReadOptions { format, max_memory: Some(MEMORY), max_features: Some(10_000), ..ReadOptions::default() };
    let whole = read_table(&source(), &options);
    let Ok(mut stream) = TableStream::open(&source(), &options) else {
        assert!(whole.is_err(), "a table that cannot be opened was read");
        return;
    };
    let mut rows = 0;
    let end = loop {
        match stream.next_batch(7) {
            Ok(Some(batch)) => {
                assert!(batch.rows() > 0 && batch.rows() <= 7, "{} rows in a batch of 7", batch.rows());
                assert!(batch.columns.iter().all(|c| c.values.len() == batch.rows()), "columns of different lengths");
                rows += batch.rows();
            }
            Ok(None) => break true,
            Err(_) => break false,
        }
    };
    if let Ok(whole) = whole {
        assert!(end, "read whole, but not in batches");
        assert_eq!(whole.rows(), rows, "other rows in batches");
    }
}

fn model(bytes: &[u8]) {
    let Ok(stored) = model_from_bytes("noise", bytes) else { return };
    let again = model_to_bytes(&stored.model).expect("what was read can be written");
    let back = model_from_bytes("again", &again).expect("what was written can be read");
    assert_eq!(back.model, stored.model, "written and read, it is another model");
    let Some(rows) = stored.model.training.as_ref().filter(|rows| rows.x.rows() * rows.x.cols() < 10_000) else {
        return;
    };
    // Whatever a model predicts of its own rows, or refuses to: there is no panic.
    let _ = stored.model.predict(lipmetric::model::Rows::Prepared(&rows.x));
}

fn spec(bytes: &[u8]) {
    let read = serde_json::from_slice::<Spec>(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        assert_eq!(Spec::from_json(text).ok(), read.as_ref().ok().cloned(), "what is wrong is told of what is wrong");
    }
    let Ok(spec) = read else { return };
    let _ = spec.check();
    let text = serde_json::to_string(&spec).expect("a spec can be written");
    let back: Spec = serde_json::from_str(&text).expect("what was written can be read");
    assert_eq!(back, spec, "{text}");
}
