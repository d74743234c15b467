//! Files that are no table at all, told by how they begin, so that the message can say what they are.

/// What a file is that cannot be read as a table, and what to do with it.
pub(crate) fn kind(sample: &[u8]) -> Option<&'static str> {
    const MARKS: [(&[u8], &str); 14] = [
        (b"\xd0\xcf\x11\xe0", "an old Excel workbook (or another Office file); save the sheet as CSV"),
        (b"SQLite format 3", "an SQLite data base; export the table as CSV"),
        (b"\x89HDF\r\n", "an HDF5 file (also MATLAB 7.3, Keras, NetCDF-4); save the array as NPY or the table as CSV"),
        (b"MATLAB 5.0", "a MATLAB file; save the matrix as CSV"),
        (b"%PDF", "a PDF document; a table has to be CSV, TSV, LIBSVM, NPY, NPZ or Parquet"),
        (b"\x89PNG", "a picture"),
        (b"BZh", "compressed by bzip2; unpack it, or compress it by gzip"),
        (b"\xfd7zXZ", "compressed by xz; unpack it, or compress it by gzip"),
        (b"\x28\xb5\x2f\xfd", "compressed by zstd; unpack it, or compress it by gzip"),
        (b"7z\xbc\xaf", "a 7z archive; unpack it"),
        (b"ARROW1", "an Arrow (Feather) file; write it as Parquet"),
        (b"Obj\x01", "an Avro file; write it as Parquet or CSV"),
        (b"ORC", "an ORC file; write it as Parquet or CSV"),
        (b"RDX3", "an R data file; write the table by write.csv"),
    ];
    if let Some((_, what)) = MARKS.iter().find(|(mark, _)| sample.starts_with(mark)) {
        return Some(what);
    }
    if sample.len() > 2 && sample[0] == 0x80 && (2..=5).contains(&sample[1]) {
        return Some("a Python pickle, which is not read because it could run code; save the table as CSV or Parquet");
    }
    let text = sample.trim_ascii_start();
    let begins = |word: &[u8]| text.len() >= word.len() && text[..word.len()].eq_ignore_ascii_case(word);
    if begins(b"<!doctype") || begins(b"<html") {
        return Some("a web page, perhaps a page that should have led to the file; get the file itself");
    }
    if begins(b"<?xml") {
        return Some("XML; convert the table to CSV");
    }
    let within = text.strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    if within.is_some_and(|rows| rows.starts_with(b"{") || rows.starts_with(b"[")) {
        return Some("JSON in one piece; write an object per line, as `jq -c '.[]'` does");
    }
    if text.len() > 8 && &text[8..9] == b"{" && text[..8].contains(&0) {
        return Some("a safetensors file, perhaps a model; name a table");
    }
    None
}

/// What an archive is that has the name of a text file; told by the names of members at its beginning.
pub(crate) fn zip_called_text(sample: &[u8]) -> Option<&'static str> {
    let holds = |name: &[u8]| sample.windows(name.len()).any(|w| w == name);
    if !sample.starts_with(b"PK\x03\x04") || holds(b".npy") {
        None
    } else if holds(b"xl/") {
        Some("an Excel workbook; save the sheet as CSV, to rename the file is not enough")
    } else if holds(b"opendocument") || holds(b"content.xml") {
        Some("an OpenDocument file; save the sheet as CSV, to rename the file is not enough")
    } else {
        Some("a zip archive; unpack it and name the table")
    }
}

/// What the members of a zip archive without arrays are.
pub(crate) fn zip_kind(names: &[String]) -> String {
    if names.iter().any(|n| n.starts_with("xl/")) {
        return "this is an Excel workbook; save the sheet as CSV".to_owned();
    }
    if names.iter().any(|n| n == "content.xml") {
        return "this is an OpenDocument file; save the sheet as CSV".to_owned();
    }
    let shown: Vec<&str> = names.iter().take(5).map(String::as_str).collect();
    let more = if names.len() > 5 { ", ..." } else { "" };
    format!(
        "this is a zip archive without NumPy arrays (it holds {}{more}); unpack it and name the table",
        shown.join(", ")
    )
}
