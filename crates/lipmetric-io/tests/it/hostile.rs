//! Files that lie about their size, or were damaged on the way, are refused before they take memory or are believed.

use std::io::Write;
use std::path::PathBuf;

use flate2::{Compression, write::GzEncoder};
use lipmetric::data::{Column, Table};
use lipmetric_io::model::load_model;
use lipmetric_io::read::read_triplets;
use lipmetric_io::{ErrorKind, Format, ReadOptions, Source, TableWriter, Target, WriteOptions, read_table};

fn hostile(name: &str) -> Source {
    Source::Path(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/hostile").join(name))
}

fn refusal(source: &Source, options: &ReadOptions) -> String {
    let error = read_table(source, options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Data, "{error}");
    error.to_string()
}

fn written(format: Format) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let numbers = |from: usize| (0..300).map(|i| (i * i + from) as f64 / 7.0).collect();
    let table = Table::new("t", vec![Column::numbers("a", numbers(1)), Column::numbers("b", numbers(2))]);
    let options = WriteOptions { format: Some(format), ..WriteOptions::default() };
    let mut writer = TableWriter::create(&Target::new(&path), &options).unwrap();
    writer.write_batch(&table).unwrap();
    writer.finish().unwrap();
    std::fs::read(path).unwrap()
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn one_bit_of_an_archive_changed_is_noticed() {
    assert!(refusal(&hostile("one-bit.npz"), &ReadOptions::default()).contains("damaged"));
    let good = written(Format::Npz);
    read_table(&Source::buffer("t.npz", good.clone()), &ReadOptions::default()).unwrap();
    // Within the numbers, which stand behind the first member's headers.
    for at in (300..4000).step_by(97) {
        let mut bad = good.clone();
        bad[at] ^= 1;
        let error = read_table(&Source::buffer("t.npz", bad), &ReadOptions::default());
        assert!(error.is_err(), "a changed bit at {at} was not noticed");
    }
}

#[test]
fn a_compressed_array_is_read_to_its_checksum() {
    let plain = written(Format::Npy);
    let good = gzipped(&plain);
    for batch in [7, usize::MAX] {
        let read = |bytes: Vec<u8>| {
            let source = Source::buffer("t.npy.gz", bytes);
            let mut stream = lipmetric_io::TableStream::open(&source, &ReadOptions::default())?;
            while stream.next_batch(batch)?.is_some() {}
            Ok::<(), lipmetric_io::Error>(())
        };
        read(good.clone()).unwrap();
        assert!(read(good[..good.len() - 8].to_vec()).unwrap_err().to_string().contains("damaged or cut short"));
        let mut bad = good.clone();
        *bad.last_mut().unwrap() ^= 1;
        assert!(read(bad).is_err());
        let two = [plain.clone(), plain.clone()].concat();
        assert!(read(gzipped(&two)).unwrap_err().to_string().contains("more follows"), "two arrays in one file");
    }
}

#[test]
fn parquet_files_that_claim_what_they_do_not_hold_take_no_memory() {
    // A limit below what decoding to the end would take: one of them would go on for 8 GB.
    let options = ReadOptions { max_memory: Some(64 << 20), ..ReadOptions::default() };
    for name in ["endless-1.parquet", "endless-2.parquet", "endless-3.parquet"] {
        refusal(&hostile(name), &options);
    }
    for skip in [vec![], vec!["z1".to_owned()]] {
        let options = ReadOptions { skip, ..ReadOptions::default() };
        let error = refusal(&hostile("claims-rows.parquet"), &options);
        assert!(error.contains("limit"), "{error}");
    }
}

#[test]
fn parquet_descriptions_with_fields_of_other_types_are_not_decoded() {
    // To the decoder they have lists of billions of booleans, which it would count through for seconds.
    for name in ["other-types-1.parquet", "other-types-2.parquet"] {
        let error = refusal(&hostile(name), &ReadOptions::default());
        assert!(error.contains("the description of the columns is damaged"), "{name}: {error}");
    }
}

#[test]
fn parquet_pages_that_the_decoder_would_panic_on_are_not_decoded() {
    for (name, told) in [
        ("endless-number.parquet", "a page has fewer values than it says"),
        ("fewer-split-2.parquet", "a page has fewer values than it says"),
        ("fewer-texts-in-dictionary.parquet", "a dictionary of 14 bytes claims 2 values"),
    ] {
        let error = refusal(&hostile(name), &ReadOptions::default());
        assert!(error.contains(told), "{name}: {error}");
    }
}

#[test]
fn sparse_rows_do_not_make_columns_that_nobody_asked_for() {
    let read = |text: &str, options: &ReadOptions| refusal(&Source::buffer("t.libsvm", text.into()), options);
    let known = ReadOptions { max_features: Some(10), ..ReadOptions::default() };
    assert!(read("1 1:2 30000000:3\n", &known).contains("line 1: feature 30000000 is new: the model was fitted on 10"));
    assert!(read("1 1:2 30000000:3\n", &ReadOptions::default()).contains("at most 4000000"));
    let small = ReadOptions { max_memory: Some(1 << 20), ..ReadOptions::default() };
    assert!(read("1 1:2 100000:3\n", &small).contains("max_memory"));
}

#[test]
fn claims_beyond_the_limit_are_refused_before_anything_is_read() {
    let small = ReadOptions { max_memory: Some(1 << 20), ..ReadOptions::default() };
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 3), }\n";
    for order in ["False", "True"] {
        let header = header.replace("False", order);
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        let error = refusal(&Source::buffer("t.npy", bytes), &small);
        assert!(error.contains("1000000000 rows x 3 columns") && error.contains("1 MiB"), "{error}");
    }
    let many = "a,b\n".to_owned() + &"1,2\n".repeat(100_000);
    assert!(refusal(&Source::buffer("t.csv.gz", gzipped(many.as_bytes())), &small).contains("1 MiB"));
    let archive = gzipped(&vec![b'P'; 4 << 20]);
    let options = ReadOptions { format: Some(Format::Npz), ..small };
    assert!(refusal(&Source::buffer("t.npz.gz", archive), &options).contains("1 MiB"));
}

#[cfg(target_os = "linux")]
#[test]
fn files_without_end_are_not_read_to_it() {
    assert!(load_model("/dev/zero").unwrap_err().to_string().contains("not a lipmetric model"));
    assert!(read_triplets(&Source::new("/dev/zero")).unwrap_err().to_string().contains("longer than"));
}

#[test]
fn models_whose_steps_do_not_fit_their_columns_are_refused() {
    for name in ["level-fill-4e9", "no-features", "step-level-for-number", "steps-empty"] {
        let Source::Path(path) = hostile(&format!("model-{name}.lip")) else { unreachable!() };
        let error = load_model(path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Data, "{name}: {error}");
        assert!(error.to_string().contains("damaged"), "{name}: {error}");
    }
}

#[test]
fn files_that_are_no_tables_are_called_by_their_names() {
    let zip = |name: &str| {
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(b"x").unwrap();
        zip.finish().unwrap().into_inner()
    };
    for (name, bytes, word) in [
        ("a.xlsx", zip("xl/workbook.xml"), "Excel workbook"),
        ("a.zip", zip("rows.csv"), "it holds rows.csv"),
        ("a.ods", zip("content.xml"), "OpenDocument"),
        ("a.csv", zip("xl/workbook.xml"), "no CSV but an Excel workbook"),
        ("a.csv", zip("rows.csv"), "no CSV but a zip archive"),
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1xx".to_vec(), "Excel"),
        ("a.csv", b"<!DOCTYPE html><html>".to_vec(), "web page"),
        ("a.json", b"[\n {\"a\": 1}]".to_vec(), "an object per line"),
        ("a.db", b"SQLite format 3\0".to_vec(), "SQLite"),
        ("a.pkl", b"\x80\x04\x95\x00".to_vec(), "pickle"),
        ("a.csv.bz2", b"BZh91AY".to_vec(), "bzip2"),
    ] {
        let error = refusal(&Source::buffer(name, bytes), &ReadOptions::default());
        assert!(error.contains(word), "{name}: {error}");
    }
}
