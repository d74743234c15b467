//! Columns and labels that are probably not what they are taken for.

use crate::Labels;
use crate::data::Table;
use std::collections::BTreeMap;

/// Fewer rows than these tell nothing about their numbering.
const ENOUGH: usize = 10;

/// What a column of numbers may be instead of a measurement.
pub(super) enum Suspicion {
    None,
    /// Worth a word.
    Perhaps(String),
    /// Nothing else is plausible.
    Certain(String),
}

/// Whether a numeric column only numbers or names the rows.
pub(super) fn of_numbers(table: &Table, at: usize, values: &[f64]) -> Suspicion {
    let whole = |v: &f64| v.fract() == 0.0;
    if values.len() < ENOUGH {
        return Suspicion::None;
    }
    let name = &table.columns[at].name;
    if let Some(told) = placeholder(values) {
        return Suspicion::Perhaps(format!("column `{name}` {told}"));
    }
    if !values.iter().all(whole) {
        return Suspicion::None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (least, most) = (sorted[0], sorted[sorted.len() - 1]);
    let distinct = sorted.windows(2).all(|w| w[0] < w[1]);
    let consecutive = distinct && most - least == (sorted.len() - 1) as f64;
    let (unnamed, called) = (is_unnamed(table, at), is_name_of_a_number(name));
    if (consecutive && called) || (distinct && unnamed) {
        return Suspicion::Certain(format!(
            "column `{name}` numbers the rows ({least} to {most}): it is left out; `kind = {name}=numeric` keeps it"
        ));
    }
    if values.windows(2).all(|w| w[1] - w[0] == 1.0) {
        return Suspicion::Perhaps(format!(
            "column `{name}` counts up with the rows ({least} to {most}), as a row number would; leave it out with \
             `ignore = {name}` if it is one"
        ));
    }
    if consecutive || (distinct && called) {
        return Suspicion::Perhaps(format!(
            "column `{name}` has another whole number on each row, as an identifier would; leave it out with \
             `ignore = {name}` if it is one"
        ));
    }
    if unnamed {
        return Suspicion::Perhaps(format!(
            "column `{name}` holds whole numbers and has no name, as an index that a program has written; leave it out with \
             `ignore = {name}` if it is one"
        ));
    }
    Suspicion::None
}

/// Numbers that people write where there is none.
const PLACEHOLDERS: [f64; 10] = [-9.0, -99.0, -999.0, -9999.0, -99999.0, 99.0, 999.0, 9999.0, 99999.0, 999_999.0];

/// Says so if a number of several rows, the least or the largest, is one that people write for a missing value, and is farther from the
/// others than those are from each other.
fn placeholder(values: &[f64]) -> Option<String> {
    PLACEHOLDERS.into_iter().find_map(|sign| {
        let (mut rows, mut low, mut high) = (0, f64::INFINITY, f64::NEG_INFINITY);
        for &v in values {
            if v == sign {
                rows += 1;
            } else {
                (low, high) = (low.min(v), high.max(v));
            }
        }
        let apart = (low - sign).max(sign - high);
        (rows > 1 && low < high && apart > high - low).then(|| {
            format!(
                "is {sign} on {rows} rows, and from {low} to {high} on the others: if {sign} stands for a missing value, say \
                 `missing = {sign}`"
            )
        })
    })
}

/// Whether a table with names has none for its first column, as tools that write an index leave it.
fn is_unnamed(table: &Table, at: usize) -> bool {
    let next = table.columns.get(1).map(|c| c.name.as_str());
    at == 0 && table.named && table.columns[0].name == "x1" && next != Some("x2")
}

fn is_name_of_a_number(name: &str) -> bool {
    let plain: String = name.to_lowercase().chars().filter(|c| c.is_alphanumeric() || *c == '#').collect();
    let names =
        ["id", "index", "idx", "row", "rowid", "rownumber", "rownames", "nr", "no", "number", "num", "#", "unnamed0"];
    let parts = name.to_lowercase();
    names.contains(&plain.as_str())
        || parts.ends_with("_id")
        || parts.ends_with(" id")
        || name.ends_with("Id")
        || name.ends_with("ID")
}

/// Different whole numbers from which on they are hardly classes.
const MANY_NUMBERS: usize = 100;

/// What is odd about the classes.
pub(super) fn of_labels(name: &str, labels: &Labels) -> Vec<String> {
    let mut notes = Vec::new();
    let mut alike: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for class in labels.classes() {
        let words: Vec<String> = class.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).collect();
        let plain = words.concat();
        if !plain.is_empty() && crate::data::number(class).is_none() {
            alike.entry(plain).or_default().push(class);
        }
    }
    for classes in alike.values().filter(|c| c.len() > 1) {
        let shown: Vec<String> = classes.iter().map(|c| format!("`{c}`")).collect();
        notes.push(format!(
            "the labels {} of column `{name}` differ only in case, blanks or punctuation and are taken for {} classes",
            shown.join(" and "),
            classes.len()
        ));
    }
    let counts = labels.counts();
    let single: Vec<String> =
        labels.classes().iter().zip(&counts).filter(|(_, n)| **n == 1).map(|(c, _)| format!("`{c}`")).collect();
    if !single.is_empty() {
        let more = if single.len() > 5 { format!(" and {} more", single.len() - 5) } else { String::new() };
        notes.push(format!(
            "{} of one row only, which no rule can be learned from or judged on: {}{more}",
            if single.len() == 1 { "a class" } else { "classes" },
            single[..single.len().min(5)].join(", ")
        ));
    }
    let number = |c: &String| crate::data::number(c);
    let fractions = |c: &String| number(c).is_some_and(|v| v.fract() != 0.0);
    if labels.classes().len() >= MANY_NUMBERS
        && labels.classes().iter().all(|c| number(c).is_some_and(|v| v.fract() == 0.0))
    {
        notes.push(format!(
            "column `{name}` has {} different numbers, each of which is taken for a class; to predict a number, say \
             `task = regression`",
            labels.classes().len()
        ));
    }
    if labels.classes().len() > 10 && labels.classes().iter().any(fractions) {
        notes.push(format!(
            "column `{name}` has {} different numbers with fractions: each is taken for a class, but it looks like a measurement; \
             to predict a number, say `task = regression`",
            labels.classes().len()
        ));
    }
    notes
}
