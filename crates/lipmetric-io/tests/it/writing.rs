//! What is written reads back the same, and a failed write leaves nothing behind.

use std::path::{Path, PathBuf};

use lipmetric::data::{Column, Table, Values};
use lipmetric_io::{
    ErrorKind, Format, ReadOptions, Result, Source, TableWriter, Target, WriteOptions, atomic_write, datasets,
    read_table,
};
use proptest::prelude::*;

fn table(columns: Vec<(&str, Values)>) -> Table {
    let columns = columns.into_iter().map(|(name, values)| Column { name: name.to_owned(), values }).collect();
    Table::new("test", columns)
}

fn text<S: AsRef<str>>(cells: impl IntoIterator<Item = S>) -> Values {
    Values::Text(cells.into_iter().collect())
}

fn write(path: &Path, batches: &[&Table], options: &WriteOptions) -> Result<()> {
    let mut writer = TableWriter::create(&Target::new(path), options)?;
    for batch in batches {
        writer.write_batch(batch)?;
    }
    writer.finish()
}

fn bits(values: &Values) -> Vec<u64> {
    match values {
        Values::Number(v) => v.iter().map(|v| v.to_bits()).collect(),
        Values::Text(t) => t.iter().map(|c| c.parse::<f64>().unwrap().to_bits()).collect(),
    }
}

fn formats() -> Vec<&'static str> {
    let mut all = vec!["csv", "tsv", "csv.gz", "svm", "svm.gz", "npy", "npz"];
    if cfg!(feature = "parquet") {
        all.push("parquet");
    }
    all
}

fn as_labels(values: &Values) -> Vec<String> {
    match values {
        Values::Number(v) => v.iter().map(f64::to_string).collect(),
        Values::Text(t) => t.iter().map(str::to_owned).collect(),
    }
}

#[test]
fn a_bundled_set_goes_through_every_format() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["haberman", "australian"] {
        let original = datasets::load(name).unwrap();
        let p = original.columns.len() - 1;
        for ending in formats() {
            let path = folder.path().join(format!("{name}.{ending}"));
            write(&path, &[&original], &WriteOptions::default()).unwrap();
            let again = read_table(&Source::Path(path), &ReadOptions::default()).unwrap();
            assert_eq!(again.columns.len(), p + 1, "{ending}");
            for j in 0..p {
                assert_eq!(bits(&again.columns[j].values), bits(&original.columns[j].values), "{ending}, column {j}");
            }
            assert_eq!(as_labels(&again.columns[p].values), as_labels(&original.columns[p].values), "{ending}");
        }
    }
}

#[test]
fn missing_values_and_text_survive_where_the_format_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let original =
        table(vec![("n", Values::Number(vec![1.5, f64::NAN, -0.0])), ("label", text(["+1", "a b", "köln"]))]);
    let mut endings = vec!["csv", "npz"];
    if cfg!(feature = "parquet") {
        endings.push("parquet");
    }
    for ending in endings {
        let path = folder.path().join(format!("t.{ending}"));
        write(&path, &[&original, &original], &WriteOptions::default()).unwrap();
        let again = read_table(&Source::Path(path), &ReadOptions::default()).unwrap();
        assert_eq!(again.rows(), 6);
        assert!(again.named);
        assert_eq!(as_labels(&again.columns[1].values)[..3], ["+1", "a b", "köln"], "{ending}");
        match &again.columns[0].values {
            Values::Number(v) => assert!(v[1].is_nan() && v[2].to_bits() == (-0.0_f64).to_bits()),
            Values::Text(t) => assert_eq!(t.iter().take(3).collect::<Vec<_>>(), ["1.5", "", "-0"]),
        }
    }
}

#[test]
fn what_a_format_cannot_hold_is_refused_by_column_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let texts = table(vec![("colour", text(["red"])), ("label", text(["a b"]))]);
    for (ending, words) in
        [("npy", "column `colour`: found the text `red`"), ("npz", "column `colour`"), ("svm", "label `a b`")]
    {
        let path = folder.path().join(format!("t.{ending}"));
        let error = write(&path, &[&texts], &WriteOptions::default()).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(error.kind(), ErrorKind::Data);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_writer_that_is_dropped_or_empty_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let some = table(vec![("n", Values::Number(vec![1.0]))]);
    for ending in formats() {
        let target = Target::new(folder.path().join(format!("t.{ending}")));
        let mut writer = TableWriter::create(&target, &WriteOptions::default()).unwrap();
        writer.write_batch(&some).unwrap();
        drop(writer);
        let empty = TableWriter::create(&target, &WriteOptions::default()).unwrap();
        assert!(empty.finish().unwrap_err().to_string().contains("no rows to write"));
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn batches_must_agree_on_their_columns() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (table(vec![("a", Values::Number(vec![1.0]))]), table(vec![("b", Values::Number(vec![1.0]))]));
    let error = write(&folder.path().join("t.csv"), &[&a, &b], &WriteOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    write(&folder.path().join("t.svm"), &[&a, &b], &WriteOptions::default()).unwrap();
}

#[test]
fn targets_that_cannot_be_written_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let create = |path: &Path| TableWriter::create(&Target::new(path), &WriteOptions::default()).unwrap_err();
    let directory = create(folder.path());
    assert!(directory.to_string().contains("it is a folder"), "{directory}");
    let nowhere = create(&folder.path().join("no/such/t.csv"));
    assert!(nowhere.to_string().contains("no such file or folder"), "{nowhere}");
    assert_eq!((directory.kind(), nowhere.kind()), (ErrorKind::Io, ErrorKind::Io));
    let zipped = create(&folder.path().join("t.npy.gz"));
    assert_eq!(zipped.kind(), ErrorKind::Usage);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_in_every_format() {
    let wide: Vec<f64> = (0..20_000).map(f64::from).collect();
    let big = table(vec![("a", Values::Number(wide.clone())), ("b", Values::Number(wide))]);
    let mut all = vec![Format::Csv, Format::Tsv, Format::Libsvm, Format::Npy, Format::Npz];
    if cfg!(feature = "parquet") {
        all.push(Format::Parquet);
    }
    for format in all {
        let options = WriteOptions { format: Some(format), ..WriteOptions::default() };
        let error = write(Path::new("/dev/full"), &[&big], &options).unwrap_err();
        assert!(error.to_string().contains("cannot write /dev/full: the disk is full"), "{format}: {error}");
        assert_eq!(error.kind(), ErrorKind::Io);
    }
    let error = atomic_write("/dev/full", |w| w.write_all(b"x")).unwrap_err();
    assert!(error.to_string().contains("disk is full"), "{error}");
    assert!(!std::fs::metadata("/dev/full").unwrap().is_file(), "the device was replaced");
}

#[cfg(unix)]
#[test]
fn permissions_and_links_are_kept() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let mode = |path: &PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let (plain, ours) = (folder.path().join("plain"), folder.path().join("ours"));
    std::fs::write(&plain, "x").unwrap();
    atomic_write(&ours, |w| w.write_all(b"one")).unwrap();
    assert_eq!(mode(&ours), mode(&plain));

    std::fs::set_permissions(&ours, std::fs::Permissions::from_mode(0o640)).unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&ours, &link).unwrap();
    atomic_write(&link, |w| w.write_all(b"two")).unwrap();
    assert_eq!(std::fs::read(&ours).unwrap(), b"two");
    assert_eq!(mode(&ours), 0o640);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn a_failed_write_keeps_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    atomic_write(&path, |w| w.write_all(b"old")).unwrap();
    let failed = atomic_write(&path, |w| {
        w.write_all(b"half of the new")?;
        Err(std::io::ErrorKind::StorageFull.into())
    });
    assert!(failed.unwrap_err().to_string().contains("disk is full"));
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Cells as readers keep them: without surrounding blanks.
fn cell() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[ -~\n\r\t\"',;|]{0,12}", "[0-9.eE+-]{0,8}"].prop_map(|s| s.trim().to_owned())
}

fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), any::<u64>().prop_map(f64::from_bits), (-100_i32..100).prop_map(f64::from), Just(-0.0)]
}

fn finite() -> impl Strategy<Value = f64> {
    any_number().prop_filter("finite", |v| v.is_finite())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn csv_round_trips_any_text_and_number(rows in prop::collection::vec((cell(), finite(), cell()), 1..20), tsv in any::<bool>()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(if tsv { "t.tsv" } else { "t.csv" });
        let original = table(vec![
            ("a", text(rows.iter().map(|r| &r.0))),
            ("n", Values::Number(rows.iter().map(|r| r.1).collect())),
            ("b", text(rows.iter().map(|r| &r.2))),
        ]);
        write(&path, &[&original], &WriteOptions::default()).unwrap();
        let options = ReadOptions { header: Some(true), delimiter: Some(if tsv { b'\t' } else { b',' }), ..ReadOptions::default() };
        let again = read_table(&Source::Path(path), &options).unwrap();
        prop_assert_eq!(&again.columns[0], &original.columns[0]);
        prop_assert_eq!(&again.columns[2], &original.columns[2]);
        prop_assert_eq!(bits(&again.columns[1].values), bits(&original.columns[1].values));
    }

    #[test]
    fn libsvm_round_trips_numbers_to_the_bit(
        rows in prop::collection::vec((prop::collection::vec(prop_oneof![Just(0.0), finite()], 3), "[!-~&&[^:,#]]{1,6}"), 1..20)
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.libsvm");
        let column = |j: usize| Values::Number(rows.iter().map(|r| r.0[j]).collect());
        let original = table(vec![("a", column(0)), ("b", column(1)), ("c", column(2)), ("label", text(rows.iter().map(|r| &r.1)))]);
        write(&path, &[&original], &WriteOptions::default()).unwrap();
        let again = read_table(&Source::Path(path), &ReadOptions::default()).unwrap();
        let p = again.columns.len() - 1;
        prop_assert_eq!(&again.columns[p].values, &original.columns[3].values);
        for j in 0..3 {
            // Trailing columns of nothing but zeros are not in the file.
            let found = if j < p { bits(&again.columns[j].values) } else { vec![0; rows.len()] };
            prop_assert_eq!(found, bits(&original.columns[j].values));
        }
    }

    #[test]
    fn npy_and_npz_round_trip_any_bits(rows in prop::collection::vec((any_number(), any_number(), cell()), 1..20), split in 0_usize..20) {
        let folder = tempfile::tempdir().unwrap();
        let columns = |part: &[(f64, f64, String)]| vec![
            ("a", Values::Number(part.iter().map(|r| r.0).collect())),
            ("b", Values::Number(part.iter().map(|r| r.1).collect())),
        ];
        let (first, second) = rows.split_at(split.min(rows.len()));
        let whole = table(columns(&rows));
        let path = folder.path().join("t.npy");
        write(&path, &[&table(columns(first)), &table(columns(second))], &WriteOptions::default()).unwrap();
        let again = read_table(&Source::Path(path), &ReadOptions::default()).unwrap();
        for j in 0..2 {
            prop_assert_eq!(bits(&again.columns[j].values), bits(&whole.columns[j].values));
        }
        let mut labelled = whole;
        // NumPy pads text with zeros, so it cannot tell a text from the same with zeros behind it.
        let labels: Vec<&str> = rows.iter().map(|r| r.2.trim_end_matches('\0')).collect();
        labelled.columns.push(Column { name: "label".to_owned(), values: text(&labels) });
        let path = folder.path().join("t.npz");
        write(&path, &[&labelled], &WriteOptions::default()).unwrap();
        let again = read_table(&Source::Path(path), &ReadOptions::default()).unwrap();
        prop_assert_eq!(&again.columns[2], &labelled.columns[2]);
        for j in 0..2 {
            prop_assert_eq!(bits(&again.columns[j].values), bits(&labelled.columns[j].values));
        }
    }
}
