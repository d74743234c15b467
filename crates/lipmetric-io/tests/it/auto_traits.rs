//! What may be sent to other threads and shared between them.

use lipmetric_io::datasets::{Dataset, FetchOptions};
use lipmetric_io::error::Place;
use lipmetric_io::model::StoredModel;
use lipmetric_io::{Error, ErrorKind, Format, ReadOptions, Source, TableStream, Target, WriteOptions};

fn sent<T: Send>() {}
fn shared<T: Send + Sync>() {}

#[test]
fn sources_options_models_and_errors_are_sent_and_shared() {
    shared::<Source>();
    shared::<Target>();
    shared::<ReadOptions>();
    shared::<WriteOptions>();
    shared::<FetchOptions>();
    shared::<Format>();
    shared::<Dataset>();
    shared::<StoredModel>();
    shared::<(Error, ErrorKind, Place)>();
    // A stream belongs to one thread at a time.
    sent::<TableStream>();
}
