//! Finding out the delimiter and whether there is a header.

use std::collections::{HashMap, HashSet};
use std::io::Cursor;

use lipmetric::data::{is_missing, number};

use super::records::{Record, Records};
use crate::source::Input;

/// How many rows are looked at.
pub(super) const ROWS: usize = 200;

/// The delimiter of this beginning of a file. See the module's documentation for the rule.
pub(super) fn delimiter(sample: &[u8], complete: bool) -> u8 {
    let mut best = (0.5, 1, b',');
    for candidate in [b',', b'\t', b';', b'|'] {
        let (share, cells) = agreement(sample, complete, candidate);
        if cells > 1 && (share, cells) > (best.0, best.1) {
            best = (share, cells, candidate);
        }
    }
    if best.1 > 1 {
        return best.2;
    }
    let (share, cells) = agreement(sample, complete, b' ');
    if cells > 1 && share > 0.5 { b' ' } else { b',' }
}

/// The most frequent number of cells per row and the share of rows that have it.
fn agreement(sample: &[u8], complete: bool, delimiter: u8) -> (f64, usize) {
    let reader = Box::new(Cursor::new(sample.to_vec()));
    let input = Input { origin: String::new(), gzip: false, reader, live: false };
    let mut records = Records::new(input, delimiter);
    let mut record = Record::default();
    let mut sizes = Vec::new();
    while sizes.len() <= ROWS && records.read(&mut record).unwrap_or(false) {
        sizes.push(record.len());
    }
    // The last row of an incomplete sample may be cut anywhere.
    if !complete && sizes.len() > 1 {
        sizes.pop();
    }
    let mut counts: HashMap<usize, usize> = HashMap::new();
    for &size in &sizes {
        *counts.entry(size).or_default() += 1;
    }
    let (cells, rows) = counts.into_iter().max_by_key(|&(cells, rows)| (rows, cells)).unwrap_or((0, 0));
    (rows as f64 / sizes.len().max(1) as f64, cells)
}

/// Whether the first of these rows holds names. See the module's documentation for the rule.
pub(super) fn has_header(rows: &[Record]) -> bool {
    let Some((first, below)) = rows.split_first() else { return false };
    let names: Vec<String> = (0..first.len()).map(|j| first.lossy(j)).collect();
    let may_be_name = |(j, name): (usize, &String)| {
        if name.is_empty() { j == 0 && first.len() > 1 } else { number(name).is_none() && !is_missing(name) }
    };
    if !names.iter().enumerate().all(may_be_name) {
        return false;
    }
    let column = |j: usize| below.iter().filter(move |r| j < r.len()).map(move |r| r.lossy(j));
    let is_numeric = |j: usize| {
        let mut cells = column(j).filter(|c| !is_missing(c)).peekable();
        cells.peek().is_some() && cells.all(|c| c.parse::<f64>().is_ok())
    };
    if (0..names.len()).any(is_numeric) {
        return true;
    }
    let distinct = names.iter().collect::<HashSet<_>>().len() == names.len();
    distinct && names.iter().enumerate().all(|(j, name)| column(j).all(|cell| cell != *name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, delimiter: u8) -> Vec<Record> {
        let reader = Box::new(Cursor::new(text.as_bytes().to_vec()));
        let mut records = Records::new(Input { origin: "t".into(), gzip: false, reader, live: false }, delimiter);
        let (mut all, mut record) = (Vec::new(), Record::default());
        while records.read(&mut record).unwrap() {
            all.push(record.clone());
        }
        all
    }

    #[test]
    fn delimiters_are_found() {
        for (text, expected) in [
            ("a,b\n1,2\n", b','),
            ("a;b\n1,5;2,5\n", b';'),
            ("a\tb c\n1\t2\n", b'\t'),
            ("a|b|c\n1|2|3\n", b'|'),
            ("a  b\n 1   2\n", b' '),
            ("a\n1\n2\n", b','),
            ("\"x;y\",b\n\"1;2\",3\n", b','),
            ("a,b\n1,2\n3\n4,5\n", b','),
        ] {
            assert_eq!(delimiter(text.as_bytes(), true), expected, "{text:?}");
        }
    }

    #[test]
    fn headers_are_found() {
        for (text, expected) in [
            ("a,b\n1,x\n", true),
            ("1,2\n3,4\n", false),
            ("a,1\nb,2\n", false),
            (",a\n0,1\n", true),
            ("?,a\n1,b\n", false),
            ("colour,shape\nred,round\nblue,square\n", true),
            ("red,round\nblue,square\nred,square\n", false),
            ("same,same\nred,blue\n", false),
            ("a,b\nNA,1\n,2\n", true),
            ("a,b\n", true),
        ] {
            assert_eq!(has_header(&rows(text, b',')), expected, "{text:?}");
        }
    }

    #[test]
    fn records_know_their_lines() {
        let lines = |t: &str| rows(t, b',').iter().map(|r| (r.line, r.len())).collect::<Vec<_>>();
        assert_eq!(lines("a,b\n\n\n1,2\n   \n3,4"), [(1, 2), (4, 2), (6, 2)]);
        assert_eq!(lines("a,b\r\n\r\n1,\"x\r\ny\"\r\n3,4\r\n"), [(1, 2), (3, 2), (5, 2)]);
        assert_eq!(lines("a,b\r1,2\r\r3,4"), [(1, 2), (2, 2), (4, 2)]);
        assert_eq!(lines("\"\"\n \nx\n"), [(1, 1), (3, 1)]);
    }

    #[test]
    fn blanks_cut_cells_and_quotes_keep_them() {
        let all = rows("  a \"b c\" \"d\"\"e\"\n\n 1\t2  3\n", b' ');
        let cells: Vec<Vec<String>> = all.iter().map(|r| (0..r.len()).map(|j| r.lossy(j)).collect()).collect();
        assert_eq!(cells, [vec!["a", "b c", "d\"e"], vec!["1", "2", "3"]]);
        assert_eq!(all[1].line, 3);
    }
}
