//! Reading what other programs wrote, and refusing what cannot be read.

use std::io::{Read, Write};
use std::path::PathBuf;

use lipmetric::data::{Table, Values};
use lipmetric_io::{Error, ErrorKind, Format, ReadOptions, Result, Source, TableStream, read_table};

fn fixture(name: &str) -> Source {
    Source::Path(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name))
}

fn read(name: &str, bytes: impl Into<Vec<u8>>) -> Result<Table> {
    read_table(&Source::buffer(name, bytes.into()), &ReadOptions::default())
}

fn refusal(name: &str, bytes: impl Into<Vec<u8>>) -> String {
    let error = read(name, bytes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Data, "{error}");
    error.to_string()
}

fn texts(table: &Table, j: usize) -> Vec<&str> {
    match &table.columns[j].values {
        Values::Text(t) => t.iter().collect(),
        Values::Number(_) => panic!("column {j} holds numbers"),
    }
}

fn numbers(table: &Table, j: usize) -> &[f64] {
    match &table.columns[j].values {
        Values::Number(v) => v,
        Values::Text(_) => panic!("column {j} holds text"),
    }
}

fn names(table: &Table) -> Vec<&str> {
    table.columns.iter().map(|c| c.name.as_str()).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn csv_keeps_cells_as_written_and_knows_its_lines() {
    let table = read("t.csv", "\u{feff}a, b ,\"c\"\r\n1.50,NaN,\"x, \"\"y\"\"\"\r\n\r\n +3 ,-inf,\r\n").unwrap();
    assert_eq!(names(&table), ["a", "b", "c"]);
    assert_eq!(texts(&table, 0), ["1.50", "+3"]);
    assert_eq!(texts(&table, 1), ["NaN", "-inf"]);
    assert_eq!(texts(&table, 2), ["x, \"y\"", ""]);
    assert_eq!(table.lines, [2, 4]);
    assert!(table.named && !table.sparse);
}

#[test]
fn every_delimiter_gives_the_same_table() {
    let base = read("t.csv", "a,b\n1,x y\n2,z\n").unwrap();
    for (name, text) in [
        ("t.csv", "a;b\n1;x y\n2;z\n"),
        ("t.tsv", "a\tb\n1\tx y\n2\tz\n"),
        ("t.csv", "a\tb\n1\tx y\n2\tz\n"),
        ("t.txt", "a|b\n1|x y\n2|z\n"),
        ("t.txt", "a   b\n 1 \"x y\"\n2\t z  \n"),
    ] {
        assert_eq!(read(name, text).unwrap().columns, base.columns, "{text:?}");
    }
    let odd = Source::bytes("t.csv", "a:b\n1:x y\n2:z\n");
    let options = ReadOptions { delimiter: Some(b':'), ..ReadOptions::default() };
    assert_eq!(read_table(&odd, &options).unwrap().columns, base.columns);
}

#[test]
fn a_file_without_header_gets_names_by_position() {
    let table = read("t.csv", "1,2\n3,4\n").unwrap();
    assert_eq!(names(&table), ["x1", "x2"]);
    assert!(!table.named);
    assert_eq!(table.rows(), 2);
    let asked = ReadOptions { header: Some(true), ..ReadOptions::default() };
    let table = read_table(&Source::bytes("t.csv", "1,\n3,4\n"), &asked).unwrap();
    assert_eq!(names(&table), ["1", "x2"]);
}

#[test]
fn gzip_is_undone_wherever_it_is_met() {
    let (first, second) = (gzip(b"a,b\n1,2\n"), gzip(b"3,4\n"));
    let members = [first, second].concat();
    for name in ["t.csv.gz", "t.csv", "t"] {
        assert_eq!(read(name, members.clone()).unwrap().rows(), 2, "{name}");
    }
    let text = refusal("t.csv.gz", &members[..members.len() - 6]);
    assert!(text.contains("gzip compression is damaged or cut short"), "{text}");
}

#[test]
fn streams_give_the_same_rows_as_the_whole() {
    for (name, text) in
        [("t.csv", "a,b\n1,2\n\n3,4\n5,6\n7,8\n9,0\n"), ("t.svm", "1 1:2 2:3\n# note\n-1 2:1\n1 1:4 2:9\n")]
    {
        let source = Source::buffer(name, text.as_bytes().to_vec());
        let whole = read_table(&source, &ReadOptions::default()).unwrap();
        let mut stream = TableStream::open(&source, &ReadOptions::default()).unwrap();
        let mut seen = 0;
        while let Some(batch) = stream.next_batch(2).unwrap() {
            assert_eq!(batch.first_row, seen);
            assert!((1..=2).contains(&batch.rows()));
            for i in 0..batch.rows() {
                assert_eq!(batch.place(i), whole.place(seen + i));
            }
            seen += batch.rows();
        }
        assert_eq!(seen, whole.rows());
        assert!(stream.next_batch(2).unwrap().is_none());
    }
}

#[test]
fn libsvm_is_read_as_sparse_rows() {
    let table = read("t", "+1 1:0.5 3:-2e3 # first\n\n0 2:1\r\n-1\n").unwrap();
    assert_eq!(names(&table), ["x1", "x2", "x3", "label"]);
    assert_eq!(numbers(&table, 0), [0.5, 0.0, 0.0]);
    assert_eq!(numbers(&table, 2), [-2000.0, 0.0, 0.0]);
    assert_eq!(texts(&table, 3), ["+1", "0", "-1"]);
    assert_eq!(table.lines, [1, 3, 4]);
    assert!(table.sparse && !table.named);
}

#[test]
fn bad_text_is_refused_with_place_and_remedy() {
    for (name, text, words) in [
        ("t.csv", b"a,b\n1,2\n3\n4,5\n".as_slice(), "t.csv, line 3: expected 2 cells as in the first row, found 1"),
        ("t.csv", b"a,b\n1,\"2\n3,4\n5,6\n", "t.csv, line 2: a quote that opens in this row is never closed"),
        (
            "t.csv",
            b"a,b,c\n1,\"2\n3,4\",5,6\n7,8,9\n",
            "line 2: expected 3 cells as in the first row, found 4; the row runs to line 3",
        ),
        ("t.csv", b"a,b\n1,2\n3,caf\xe9\n", "t.csv, line 3, column 2 (`b`): byte 0xe9 is not valid UTF-8"),
        ("t.csv", b"a,b,a,b\n1,2,3,4\n", "t.csv, line 1: column names occur more than once: `a`, `b`"),
        ("t.csv", b"a,b\n", "no rows"),
        ("t.csv", b"\n \n", "no rows"),
        ("t.csv", b"", "empty"),
        ("t.csv", b"\xff\xfea\0b", "UTF-16"),
        ("t.csv", b"PAR1....", "its content is Parquet"),
        ("t.svm", b"1 1:2\n2 3\n", "t.svm, line 2: found `3` where `index:value` is expected"),
        ("t.svm", b"1 0:2\n", "indices begin at 1"),
        ("t.svm", b"1 2:2 1:3\n", "index 1 comes after 2"),
        ("t.svm", b"1 2:2 2:3\n", "index 2 comes after 2"),
        ("t.svm", b"1,2 1:1\n", "several labels"),
        ("t.svm", b"1 qid:3 1:1\n", "query ids"),
        ("t.svm", b"1:2 3:4\n", "instead of a label"),
        ("t.svm", b"1 1:abc\n", "the value must be a number"),
        ("t.svm", b"1 -1:2\n", "whole number from 1"),
        ("t.svm", b"1 18446744073709551615:2\n", "at most 4000000 can be read"),
        ("t.svm", b"1 1:2\n1 1000000000:2\n", "t.svm, line 2: feature 1000000000: at most 4000000 can be read"),
        ("t.svm", b"\xff 1:2\n", "line 1: byte 0xff"),
        ("t.svm", b"# nothing\n", "no rows"),
        ("t.npy", b"not numpy at all", "not an NPY file"),
        ("t.npy", b"\x93NUMPY\x01\0\xff\xff{", "ends within its header"),
        ("t.npy", b"\x93NUMPY\x09\0", "version 9"),
        ("t.npz", b"PK\x03\x04 and then nothing", "not a readable NPZ"),
    ] {
        let text = refusal(name, text);
        assert!(text.contains(words), "{text}\n  lacks: {words}");
    }
}

#[test]
fn a_delimiter_that_cannot_be_one_is_a_usage_mistake() {
    for (delimiter, name) in [(b'a', "t.csv"), (b'"', "t.csv"), (b',', "t.svm")] {
        let options = ReadOptions { delimiter: Some(delimiter), ..ReadOptions::default() };
        let error = read_table(&Source::bytes(name, "1 1:2\n"), &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    }
}

/// Endless bytes that count how many were asked for.
struct Endless {
    start: &'static [u8],
    given: std::sync::Arc<std::sync::atomic::AtomicUsize>,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = if self.start.is_empty() {
            buffer.fill(b'7');
            buffer.len()
        } else {
            self.start.read(buffer)?
        };
        self.given.fetch_add(n, std::sync::atomic::Ordering::Relaxed);
        Ok(n)
    }
}

#[test]
fn an_endless_line_is_refused_without_reading_it_all() {
    for (start, format, delimiter, line) in [
        (b"a,b\n1,2\n".as_slice(), Format::Csv, None, 3),
        (b"a,b\n\n1,\"2\n", Format::Csv, None, 3),
        (b"a b\n1 2\n", Format::Csv, Some(b' '), 3),
        (b"1 1:2\n", Format::Libsvm, None, 2),
        (b"7", Format::Csv, None, 1),
    ] {
        let given = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let endless = Endless { start, given: given.clone() };
        let options = ReadOptions { format: Some(format), delimiter, ..ReadOptions::default() };
        let result = TableStream::from_reader("pipe", endless, &options).and_then(|mut s| s.next_batch(10));
        let text = result.unwrap_err().to_string();
        assert!(text.contains(&format!("pipe, line {line}: the row that begins here is longer than 64 MiB")), "{text}");
        assert!(given.load(std::sync::atomic::Ordering::Relaxed) < 66 << 20);
    }
}

#[test]
fn missing_files_and_folders_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let error = |path: PathBuf| read_table(&Source::Path(path), &ReadOptions::default()).unwrap_err();
    let missing = error(folder.path().join("none.csv"));
    assert!(missing.to_string().contains("none.csv: there is no such file"), "{missing}");
    let directory = error(folder.path().to_path_buf());
    assert!(directory.to_string().contains("it is a folder; name a file"), "{directory}");
    assert_eq!((missing.kind(), directory.kind()), (ErrorKind::Io, ErrorKind::Io));
}

#[cfg(unix)]
#[test]
fn a_file_without_the_right_to_read_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret.csv");
    std::fs::write(&path, "1,2\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    match read_table(&Source::Path(path), &ReadOptions::default()) {
        // The superuser may read everything; the message itself has a test beside the error type.
        Ok(table) => assert_eq!(table.rows(), 1),
        Err(error) => assert!(error.to_string().contains("permission denied"), "{error}"),
    }
}

#[test]
fn arrays_written_by_numpy_are_read() {
    let x = [[1.5, -2.0, 0.1], [3.0, 4.25, 1e-300]];
    for name in ["f8.npy", "f8_fortran.npy", "v2.npy", "single.npz"] {
        let table = read_table(&fixture(name), &ReadOptions::default()).unwrap();
        assert_eq!(names(&table), ["x1", "x2", "x3"], "{name}");
        for j in 0..3 {
            assert_eq!(numbers(&table, j), [x[0][j], x[1][j]], "{name}");
        }
    }
    let of = |name| read_table(&fixture(name), &ReadOptions::default()).unwrap();
    assert_eq!(numbers(&of("f4_big.npy"), 1), [-2.0, 4.25]);
    assert_eq!(numbers(&of("i2.npy"), 0), [-1.0, 300.0]);
    assert_eq!(numbers(&of("i2.npy"), 1), [2.0, -400.0]);
    assert_eq!(numbers(&of("u8.npy"), 0), [0.0, 255.0, 7.0]);
    assert_eq!(numbers(&of("bool.npy"), 0), [1.0]);
    assert_eq!(texts(&of("unicode.npy"), 0), ["a", "日本"]);
    assert_eq!(texts(&of("unicode.npy"), 1), ["köln", ""]);
    assert_eq!(texts(&of("bytes_big.npy"), 0), ["ab", "c"]);
    let xy = of("xy.npz");
    assert_eq!(names(&xy), ["a", "b", "c", "label"]);
    assert!(xy.named);
    assert_eq!(texts(&xy, 3), ["1", "-1"]);
    let xy = of("xy_text.npz");
    assert_eq!(names(&xy), ["x1", "x2", "x3", "label"]);
    assert_eq!(texts(&xy, 3), ["yes", "no"]);
}

#[test]
fn binary_streams_give_the_same_rows_as_the_whole() {
    let mut names = vec!["f8.npy", "f8_fortran.npy", "unicode.npy", "xy.npz"];
    if cfg!(feature = "parquet") {
        names.extend(["snappy.parquet", "groups.parquet"]);
    }
    for name in names {
        let whole = read_table(&fixture(name), &ReadOptions::default()).unwrap();
        for size in [1, 2, 3] {
            let mut stream = TableStream::open(&fixture(name), &ReadOptions::default()).unwrap();
            let mut seen = 0;
            while let Some(batch) = stream.next_batch(size).unwrap() {
                assert_eq!(batch.rows(), size.min(whole.rows() - seen), "{name}");
                assert_eq!(batch.first_row, seen, "{name}");
                for (part, all) in batch.columns.iter().zip(&whole.columns) {
                    assert_eq!(part.name, all.name);
                    for i in 0..batch.rows() {
                        let same = match (&part.values, &all.values) {
                            (Values::Number(a), Values::Number(b)) => a[i].to_bits() == b[seen + i].to_bits(),
                            (Values::Text(a), Values::Text(b)) => a.get(i) == b.get(seen + i),
                            _ => false,
                        };
                        assert!(same, "{name}, {}, row {}", all.name, seen + i);
                    }
                }
                seen += batch.rows();
            }
            assert_eq!(seen, whole.rows(), "{name}");
        }
    }
}

#[test]
fn arrays_that_are_no_tables_are_explained() {
    for (name, words) in
        [("object.npy", "pickled Python objects"), ("three.npy", "3 dimensions"), ("unclear.npz", "found: a, b")]
    {
        let text = read_table(&fixture(name), &ReadOptions::default()).unwrap_err().to_string();
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn a_header_that_promises_too_much_reserves_nothing() {
    for (shape, order) in [
        ("(1000000000000000000, 3)", "False"),
        ("(1000000000000000000, 3)", "True"),
        ("(3, 1000000000000000000)", "False"),
        ("(18446744073709551615, 4000000)", "False"),
    ] {
        let dict = format!("{{'descr': '<f8', 'fortran_order': {order}, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\0".to_vec();
        bytes.extend((dict.len() as u16).to_le_bytes());
        bytes.extend(dict.as_bytes());
        bytes.extend([0; 64]);
        let text = refusal("t.npy", bytes);
        assert!(text.contains("cut short") || text.contains("claims"), "{text}");
    }
}

#[test]
fn truncated_binary_files_are_refused() {
    let mut names = vec!["f8.npy", "f8_fortran.npy", "xy.npz", "xy_text.npz"];
    if cfg!(feature = "parquet") {
        names.extend(["snappy.parquet", "gzip.parquet"]);
    }
    for name in names {
        let Source::Path(path) = fixture(name) else { unreachable!() };
        let bytes = std::fs::read(path).unwrap();
        for keep in [12, bytes.len() / 2, bytes.len() - 1] {
            refusal(name, &bytes[..keep]);
        }
    }
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_written_by_arrow_is_read_in_every_compression() {
    let with_zstd = if cfg!(feature = "zstd") { Some("zstd") } else { None };
    for name in ["snappy", "gzip", "lz4", "none", "groups"].into_iter().chain(with_zstd) {
        let table = read_table(&fixture(&format!("{name}.parquet")), &ReadOptions::default()).unwrap();
        assert_eq!(names(&table), ["f", "i", "u", "b", "s"]);
        let f = numbers(&table, 0);
        assert!(f[0] == 1.5 && f[1].is_nan() && f[2] == -2.0, "{name}");
        let i = numbers(&table, 1);
        assert!(i[0] == 1.0 && i[1] == 2.0 && i[2].is_nan(), "{name}");
        assert_eq!(numbers(&table, 2), [1.0, 4_294_967_295.0, 2.0]);
        assert_eq!(texts(&table, 3), ["true", "", "false"]);
        assert_eq!(texts(&table, 4), ["a", "köln", ""]);
    }
}

#[cfg(all(feature = "parquet", not(feature = "zstd")))]
#[test]
fn without_zstandard_the_message_names_file_column_codec_and_both_remedies() {
    let text = read_table(&fixture("zstd.parquet"), &ReadOptions::default()).unwrap_err().to_string();
    for words in ["zstd.parquet, column `f`:", "Zstandard", r#"compression="snappy""#, "`feature = zstd`"] {
        assert!(text.contains(words), "{text}");
    }
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_columns_that_are_neither_number_nor_text_are_named() {
    for (name, words) in [("date.parquet", "column `when`: dates"), ("list.parquet", "column `many")] {
        let error: Error = read_table(&fixture(name), &ReadOptions::default()).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn without_parquet_the_message_says_how_to_get_it() {
    let error: Error = read_table(&fixture("snappy.parquet"), &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("`feature = parquet`"), "{error}");
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_written_by_arrow_is_read_in_its_newer_encodings() {
    // Differences, shared beginnings, split bytes and runs, with empty cells, in pages of some hundred values (pyarrow 26).
    for name in ["delta-1.parquet", "delta-2.parquet"] {
        let table = read_table(&fixture(name), &ReadOptions::default()).unwrap();
        assert_eq!((names(&table), table.rows()), (vec!["i", "j", "s", "t", "x", "b", "d"], 700));
        let [i, j, x] = [0, 1, 4].map(|column| numbers(&table, column));
        let [s, t, b, d] = [2, 3, 5, 6].map(|column| texts(&table, column));
        for k in 0..700 {
            let whole = (k * k * 37 % 100_003) as f64 - 50_000.0;
            assert!(if k % 7 == 3 { i[k].is_nan() } else { i[k] == whole }, "{name} {k}");
            assert_eq!(j[k], k as f64);
            assert!(if k % 6 == 1 { x[k].is_nan() } else { x[k] == k as f64 / 8.0 }, "{name} {k}");
            let short = if k % 11 == 5 { String::new() } else { format!("{}{}", "é".repeat(k % 4), k % 13) };
            let long = if k % 5 == 2 { String::new() } else { format!("prefix-{}-{}", k / 10, k % 10) };
            let truth = if k % 9 == 4 { "" } else { ["true", "false", "false"][k % 3] };
            assert_eq!(
                (s[k], t[k], b[k], d[k]),
                (&*short, &*long, truth, ["red", "green", "blue"][k % 3]),
                "{name} {k}"
            );
        }
    }
}
