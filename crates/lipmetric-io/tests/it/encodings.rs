//! Text in other encodings, remarks above a table, names that occur twice, JSON lines, tables without rows.

use lipmetric::data::{Column, Table, Values};
use lipmetric_io::{Encoding, ReadOptions, Result, Source, TableStream, TableWriter, Target, WriteOptions, read_table};

fn read(name: &str, bytes: impl Into<Vec<u8>>, options: &ReadOptions) -> Result<Table> {
    read_table(&Source::buffer(name, bytes.into()), options)
}

fn cells(table: &Table) -> Vec<Vec<&str>> {
    let column = |c: &'_ Column| match &c.values {
        Values::Text(t) => t.len(),
        Values::Number(_) => panic!("numbers"),
    };
    assert!(table.columns.iter().all(|c| column(c) == table.rows()));
    let texts = |c: &Column| -> Vec<String> {
        let Values::Text(t) = &c.values else { panic!("numbers") };
        t.iter().map(str::to_owned).collect()
    };
    table.columns.iter().map(|c| texts(c).into_iter().map(|t| &*t.leak()).collect()).collect()
}

#[test]
fn utf_16_is_recognised_and_latin_1_is_read_when_it_is_said() {
    let text = "größe;art\n1,5;Bär\n2,5;Wolf\n";
    for big in [false, true] {
        let bytes = |u: u16| if big { u.to_be_bytes() } else { u.to_le_bytes() };
        let wide: Vec<u8> = std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(bytes).collect();
        let table = read("t.csv", wide, &ReadOptions::default()).unwrap();
        assert_eq!(table.columns[0].name, "größe");
        assert_eq!(cells(&table), [["1,5", "2,5"], ["Bär", "Wolf"]]);
    }
    let latin: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    let error = read("t.csv", latin.clone(), &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("encoding = latin-1"), "{error}");
    let options = ReadOptions { encoding: Some(Encoding::Latin1), ..ReadOptions::default() };
    assert_eq!(cells(&read("t.csv", latin, &options).unwrap()), [["1,5", "2,5"], ["Bär", "Wolf"]]);
}

#[test]
fn utf_16_without_a_mark_is_told_and_read_when_it_is_said() {
    let text = "name,art\n1.5,Wolf\n2.5,Fuchs\n";
    for big in [false, true] {
        let bytes = |u: u16| if big { u.to_be_bytes() } else { u.to_le_bytes() };
        let wide: Vec<u8> = text.encode_utf16().flat_map(bytes).collect();
        let error = read("t.csv", wide.clone(), &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains("seems to be UTF-16") && error.contains("encoding = utf-16"), "{error}");
        let options = ReadOptions { encoding: Some(Encoding::Utf16), ..ReadOptions::default() };
        assert_eq!(cells(&read("t.csv", wide, &options).unwrap()), [["1.5", "2.5"], ["Wolf", "Fuchs"]]);
    }
}

#[test]
fn a_bad_byte_in_a_column_that_is_left_out_does_no_harm() {
    let options = ReadOptions { skip: vec!["name".to_owned()], ..ReadOptions::default() };
    let table = read("t.csv", *b"name,x\nB\xe4r,1\nWolf,2\n", &options).unwrap();
    assert_eq!(cells(&table)[1], ["1", "2"]);
}

#[test]
fn remarks_above_a_table_are_no_rows() {
    let text = "# made by hand, 2024\n# two columns\na,b,c\n1,2,3\n4,5,6\n";
    for header in [None, Some(true)] {
        let options = ReadOptions { header, ..ReadOptions::default() };
        let table = read("t.csv", text, &options).unwrap();
        assert_eq!((table.columns[0].name.as_str(), table.rows(), table.lines[0]), ("a", 2, 4));
    }
    let table = read("t.csv", "#a,b\n1,2\n", &ReadOptions::default()).unwrap();
    assert_eq!(table.columns[0].name, "#a");
    // As many cells in each remark, none of them as many as the table.
    for text in ["# one\n# two\na,b,c\n1,2,3\n", "# x, y\n# z, u\n#\na,b,c\n1,2,3\n", "# one\n# two\n#a,b,c\n1,2,3\n"] {
        let table = read("t.csv", text, &ReadOptions::default()).unwrap();
        assert_eq!(
            (table.columns[0].name.trim_start_matches('#'), table.columns.len(), table.rows()),
            ("a", 3, 1),
            "{text}"
        );
    }
    // Rows whose names begin so are rows.
    let table = read("t.csv", "#1,2\n#2,3\n", &ReadOptions { header: Some(false), ..ReadOptions::default() }).unwrap();
    assert_eq!(table.rows(), 2);
    let error = read("t.csv", "A title\n\na,b,c\n1,2,3\n", &ReadOptions::default()).unwrap_err().to_string();
    assert!(
        error.contains("line 3: expected 1 cell as in the first row, found 3; if lines above the table"),
        "{error}"
    );
}

#[test]
fn a_name_that_occurs_twice_has_a_way_out() {
    let error = read("t.csv", "a,a,y\n1,2,u\n", &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("ignore = 2"), "{error}");
    let options = ReadOptions { skip: vec!["2".to_owned()], ..ReadOptions::default() };
    let table = read("t.csv", "a,a,y\n1,2,u\n", &options).unwrap();
    let names: Vec<&str> = table.columns.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["a", "a#2", "y"]);
}

#[test]
fn json_lines_come_back_as_they_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.jsonl");
    let table = Table::new(
        "t",
        vec![
            Column::texts("z", ["x \"1\"", ""]),
            Column::numbers("a", vec![0.1, f64::NAN]),
            Column::texts("n", ["7", "07"]),
        ],
    );
    let mut writer = TableWriter::create(&Target::new(&path), &WriteOptions::default()).unwrap();
    writer.write_batch(&table).unwrap();
    writer.finish().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, "{\"z\":\"x \\\"1\\\"\",\"a\":0.1,\"n\":7}\n{\"z\":null,\"a\":null,\"n\":\"07\"}\n");
    let again = read_table(&Source::new(&path), &ReadOptions::default()).unwrap();
    assert_eq!(cells(&again), [["x \"1\"", ""], ["0.1", ""], ["7", "07"]]);
    assert_eq!(again.lines, [1, 2]);
    for (bad, word) in [
        ("{\"a\":1}\n{\"b\":2}\n", "line 2: the key `b`"),
        ("{\"a\":[1]}\n", "nested"),
        ("{\"a\":1}\nnot\n", "line 2: this is not a JSON object"),
        ("{\"a\":1,\"a\":2}\n", "more than once"),
    ] {
        let error = read("t.jsonl", bad, &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn columns_without_rows_are_a_batch_of_none_where_that_is_allowed() {
    let options = ReadOptions { allow_empty: true, ..ReadOptions::default() };
    let mut stream = TableStream::open(&Source::buffer("t.csv", b"a,b\n".to_vec()), &options).unwrap();
    let batch = stream.next_batch(10).unwrap().unwrap();
    assert_eq!((batch.rows(), batch.columns.len()), (0, 2));
    assert!(stream.next_batch(10).unwrap().is_none());
}
