use super::columns::{Cells, Columns};
use super::european;
use super::looks::Look;
use super::notation::Notation;
use super::parsed::{Parsed, cell_text};
use super::schema::{Encoding, Feature, Kind, LabelColumn, Schema};
use super::suspect::{self, Suspicion};
use crate::data::similar;
use crate::data::{Column, Table, Task, Values, excerpt};
use crate::{Error, Result};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// A text column with more levels than this, on more than half of its rows, is taken for an identifier.
const MANY_LEVELS: usize = 20;

/// A column by name or by number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnRef(String);

impl ColumnRef {
    /// `text` is a column's name or, if no column has that name, its number: from 1, or from the end with a minus.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The column's position in a table.
    ///
    /// # Errors
    /// If there is no such column; the message lists those there are.
    pub fn find(&self, table: &Table) -> Result<usize> {
        let n = table.columns.len() as i64;
        if let Some(i) = table.position(&self.0) {
            return Ok(i);
        }
        match self.0.parse::<i64>() {
            Ok(k) if (1..=n).contains(&k) => Ok((k - 1) as usize),
            Ok(k) if (-n..=-1).contains(&k) => Ok((n + k) as usize),
            Ok(k) => Err(Error::data(format!("{}: no column {k}: there are {n}, counted from 1", table.origin))),
            Err(_) => {
                let names: Vec<&str> = table.columns.iter().take(20).map(|c| c.name.as_str()).collect();
                let more = if table.columns.len() > 20 { ", ..." } else { "" };
                let meant = similar(&self.0, table.columns.iter().map(|c| c.name.as_str()));
                let meant = meant.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
                Err(Error::data(format!(
                    "{}: no column `{}`; there are: {}{more}{meant}",
                    table.origin,
                    excerpt(&self.0),
                    names.join(", ")
                )))
            }
        }
    }
}

/// Which columns play which part.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Roles {
    /// The label's column; the last one if not given.
    pub label: Option<ColumnRef>,
    /// Columns to leave out.
    pub ignore: Vec<ColumnRef>,
    /// Kinds that override what the content suggests.
    pub kinds: Vec<(ColumnRef, Kind)>,
    /// How numbers and missing values are written.
    pub notation: Notation,
    /// Whether numbers with decimal commas are recognised: in text whose cells are not separated by commas, where every column that has
    /// any leaves no doubt.
    pub recognise_commas: bool,
    /// Leave out rows without a label instead of refusing them.
    pub skip_unlabelled: bool,
    /// Whether the label is a class or a number to predict.
    pub task: Task,
}

impl Schema {
    /// Decides what each column of a table is, from its content.
    ///
    /// A column is numeric if every cell that is not missing is a number, boolean if the cells are two opposite words,
    /// else a category. Refused, with the remedy, are columns without any value, columns that are numbers but for a few
    /// cells, and columns of text that are different on most rows (identifiers).
    ///
    /// # Errors
    /// As above; or if the label's or an ignored column does not exist, or no feature is left.
    pub fn infer(table: &Table, roles: &Roles) -> Result<Self> {
        Self::infer_columns(table, roles).map(|(schema, _)| schema)
    }

    /// As [`Self::infer`], together with the table as [`Self::read`] would give it.
    ///
    /// # Errors
    /// As [`Self::infer`].
    pub fn infer_columns(table: &Table, roles: &Roles) -> Result<(Self, Columns)> {
        Self::infer_noted(table, roles).map(|(schema, columns, _)| (schema, columns))
    }

    /// As [`Self::infer_columns`], and what a person should know about the columns.
    pub(super) fn infer_noted(table: &Table, roles: &Roles) -> Result<(Self, Columns, Vec<String>)> {
        refuse_empty(table)?;
        let label = roles.label_in(table)?;
        Self::infer_beside(table, Some(label), roles, true)
    }

    /// The features of a table, of which `label` is none. Columns that number the rows are left out where one should be `wary`; of
    /// what a program holds in memory, columns are features because it says so.
    pub(super) fn infer_beside(
        table: &Table,
        label: Option<usize>,
        roles: &Roles,
        wary: bool,
    ) -> Result<(Self, Columns, Vec<String>)> {
        refuse_empty(table)?;
        roles.notation.check()?;
        let mut ignored = roles.ignore.iter().map(|r| r.find(table)).collect::<Result<Vec<_>>>()?;
        if let Some(label) = label.filter(|label| ignored.contains(label)) {
            return Err(Error::parameter(
                "ignore",
                format!("column `{}` is the label and cannot be ignored", table.columns[label].name),
            ));
        }
        let kinds: HashMap<usize, Kind> =
            roles.kinds.iter().map(|(r, k)| Ok((r.find(table)?, *k))).collect::<Result<_>>()?;
        let out: HashSet<usize> = ignored.iter().copied().collect();
        let is_number = |at: usize| match Some(at) == label {
            true => roles.task == Task::Regression,
            false => !out.contains(&at) && kinds.get(&at).is_none_or(|kind| *kind == Kind::Numeric),
        };
        let (notation, note) = roles.notation_of(table, is_number);
        let (mut features, mut columns) = (Vec::new(), Vec::new());
        let (mut notes, mut problems) = (Vec::from_iter(note), Vec::new());
        for (at, column) in table.columns.iter().enumerate().filter(|(at, _)| Some(*at) != label && !out.contains(at)) {
            let kind = kinds.get(&at).copied();
            let (encoding, cells) = match read(table, column, kind, &notation) {
                Ok(read) => read,
                Err(problem) => {
                    problems.push((at, problem));
                    continue;
                }
            };
            let suspicion = match &cells {
                Cells::Number(values) if kind.is_none() && wary => suspect::of_numbers(table, at, values),
                _ => Suspicion::None,
            };
            match suspicion {
                Suspicion::Certain(note) => {
                    notes.push(note);
                    ignored.push(at);
                    continue;
                }
                Suspicion::Perhaps(note) => notes.push(note),
                Suspicion::None => {}
            }
            columns.push(cells);
            let index = at - usize::from(label.is_some_and(|label| at > label));
            features.push(Feature { name: column.name.clone(), index, encoding });
        }
        let others: Vec<(usize, Option<Kind>)> = (0..table.columns.len())
            .filter(|at| Some(*at) != label && !out.contains(at))
            .map(|at| (at, kinds.get(&at).copied()))
            .collect();
        refuse_all(table, problems, &others, &notation)?;
        if features.is_empty() {
            return Err(Error::data(format!(
                "{}: no feature columns: the only columns are the label and ignored ones",
                table.origin
            )));
        }
        let schema = Self {
            features,
            label: label.map(|index| LabelColumn { name: table.columns[index].name.clone(), index }),
            ignored: ignored.iter().map(|&i| table.columns[i].name.clone()).collect(),
            width: table.columns.len() - usize::from(label.is_some()),
            named: table.named,
            notation,
        };
        Ok((schema, Columns::new(columns, table.rows()), notes))
    }
}

impl Roles {
    /// How numbers are written in a table, of which these columns may hold some, and a word about it where that was recognised.
    fn notation_of(&self, table: &Table, is_number: impl Fn(usize) -> bool) -> (Notation, Option<String>) {
        let found = if self.recognise_commas { european::recognise(table, &self.notation, is_number) } else { None };
        found.map_or_else(|| (self.notation.clone(), None), |(notation, note)| (notation, Some(note)))
    }

    /// The position of the label's column.
    pub(super) fn label_in(&self, table: &Table) -> Result<usize> {
        match &self.label {
            Some(at) => at.find(table),
            None => Ok(table.columns.len() - 1),
        }
    }
}

/// At most so many columns are listed that cannot be used.
const MOST_LISTED: usize = 20;

/// Tells everything that is wrong with a table at once. `columns` are all that could be features.
fn refuse_all(
    table: &Table,
    mut problems: Vec<(usize, Error)>,
    columns: &[(usize, Option<Kind>)],
    notation: &Notation,
) -> Result<()> {
    match problems.len() {
        0 => Ok(()),
        1 => Err(problems.remove(0).1),
        found => {
            let lines: Vec<String> =
                problems.iter().take(MOST_LISTED).map(|(_, problem)| format!("\n  {problem}")).collect();
            let more = found.saturating_sub(MOST_LISTED);
            let more = if more > 0 { format!("\n  and {more} more") } else { String::new() };
            let bad: Vec<usize> = problems.iter().map(|(at, _)| *at).collect();
            Err(Error::data(format!(
                "{}: {found} columns cannot be used as they are:{}{more}\n{}",
                table.origin,
                lines.concat(),
                all_at_once(table, bad, columns, notation)
            )))
        }
    }
}

/// Marks of decimals and of thousands that numbers are usually written with.
const USUAL_MARKS: [(char, Option<char>); 6] =
    [('.', Some(',')), (',', None), (',', Some('.')), ('.', Some(' ')), ('.', Some('\'')), (',', Some(' '))];

/// What a person can say so that none of the problems is left: how numbers are written, and which columns are left out.
fn all_at_once(table: &Table, mut bad: Vec<usize>, columns: &[(usize, Option<Kind>)], notation: &Notation) -> String {
    let words = |at: &usize| match &table.columns[*at].values {
        Values::Text(cells) => Look::words_for_nothing(cells.iter()),
        Values::Number(_) => Vec::new(),
    };
    let gathered = |columns: &mut dyn Iterator<Item = &usize>| {
        let mut nothing: Vec<String> = columns.flat_map(words).map(str::to_owned).collect();
        nothing.sort_unstable();
        nothing.dedup();
        nothing
    };
    let found = bad.clone();
    let missing = [&notation.missing[..], &gathered(&mut found.iter())].concat();
    let mut best = None;
    let open = |(decimal, thousands): &(char, Option<char>)| {
        (notation.decimal == '.' || notation.decimal == *decimal)
            && (notation.thousands.is_none() || notation.thousands == *thousands)
    };
    let as_now = (notation.decimal, notation.thousands);
    for (decimal, thousands) in [as_now].into_iter().chain(USUAL_MARKS.into_iter().filter(open)) {
        let other = Notation { decimal, thousands, missing: missing.clone() };
        let unread = |(at, kind): &&(usize, Option<Kind>)| read(table, &table.columns[*at], *kind, &other).is_err();
        let left: Vec<usize> = columns.iter().filter(unread).map(|(at, _)| *at).collect();
        if left.len() < bad.len() {
            (bad, best) = (left, Some(other));
        }
    }
    // Commas separate names, so that one with a comma is told by its number.
    let name = |&at: &usize| {
        let name = &table.columns[at].name;
        if name.contains(',') { (at + 1).to_string() } else { name.clone() }
    };
    let ignore = format!("`ignore = {}`", bad.iter().map(name).collect::<Vec<_>>().join(","));
    let Some(best) = best else { return format!("to leave all of them out: {ignore}") };
    let mut marks = Vec::new();
    if best.decimal != notation.decimal {
        marks.push(format!("`decimal = {}`", best.decimal));
    }
    if let Some(mark) = best.thousands.filter(|_| best.thousands != notation.thousands) {
        marks.push(format!("`thousands = {}`", if mark == ' ' { "space".to_owned() } else { mark.to_string() }));
    }
    // What stands for nothing in a column that is left out anyway need not be said.
    let nothing = gathered(&mut found.iter().filter(|at| !bad.contains(at)));
    if !nothing.is_empty() {
        marks.push(format!("`missing = {}`", [&notation.missing[..], &nothing].concat().join(",")));
    }
    let marks = marks.join(" ");
    let change = changed(table, columns, notation, &best);
    if bad.is_empty() {
        format!("to read all of them: {marks}{change}")
    } else {
        format!("to read what can be read, and leave the others out: {marks} {ignore}{change}")
    }
}

/// A number that would be another one in another notation, in words.
fn changed(table: &Table, columns: &[(usize, Option<Kind>)], notation: &Notation, other: &Notation) -> String {
    let cells = |(at, _): &(usize, Option<Kind>)| match &table.columns[*at].values {
        Values::Text(cells) => Some((&table.columns[*at].name, cells)),
        Values::Number(_) => None,
    };
    for (name, cells) in columns.iter().filter_map(cells) {
        for cell in cells.iter() {
            if let (Some(now), Some(then)) = (notation.number(cell), other.number(cell))
                && now != then
            {
                return format!(" (`{}` in column `{name}` is then {then})", excerpt(cell));
            }
        }
    }
    String::new()
}

fn refuse_empty(table: &Table) -> Result<()> {
    match table.columns.is_empty() || table.rows() == 0 {
        true => Err(Error::data(format!("{}: there are no rows", table.origin))),
        false => Ok(()),
    }
}

/// What a column holds, by its content.
fn guess(table: &Table, column: &Column, parsed: &Parsed<'_>) -> Result<Kind> {
    let (odd, present) = (parsed.odd(), parsed.present());
    if odd.is_empty() || matches!(column.values, Values::Number(_)) {
        return Ok(Kind::Numeric);
    }
    let texts: Vec<Cow<'_, str>> = odd.iter().map(|&i| cell_text(&column.values, i)).collect();
    let told = match Look::of_all(texts.iter().map(AsRef::as_ref)) {
        Some(look) => Some((0, look.remedy(&column.name))),
        None => parsed.points_beside_commas(&texts).or_else(|| Look::but_for_some(&texts)),
    };
    if let Some((at, remedy)) = told {
        let told = Error::data(format!(
            "{}, column `{}`: `{}` is {remedy}; or treat it as a category with `kind = {}=category`",
            table.place(odd[at]),
            column.name,
            excerpt(&texts[at]),
            column.name
        ));
        return Err(told);
    }
    let words = Look::words_for_nothing(texts.iter().map(AsRef::as_ref));
    if odd.len() < present && texts.iter().all(|text| words.contains(&text.as_ref())) {
        return Err(Error::data(format!(
            "{}, column `{}`: `{}` seems to stand for a missing value, as the column's other cells are numbers: say `missing = {}`, or \
             treat it as a category with `kind = {}=category`",
            table.place(odd[0]),
            column.name,
            excerpt(&texts[0]),
            words.join(","),
            column.name
        )));
    }
    let is_float = |i: &usize| cell_text(&column.values, *i).parse::<f64>().is_ok();
    if 2 * odd.len() < present || odd.iter().all(is_float) {
        let first = odd[0];
        let not = if is_float(&first) { "not a finite number" } else { "not a number" };
        return Err(Error::data(format!(
            "{}, column `{}`: `{}` is {not}, but {} of the column's {present} values are; correct the cell, \
             or say `missing = {}` if it stands for a missing value, or leave the column out with the parameter `ignore`, or treat it as \
             a category with `kind = {}=category`",
            table.place(first),
            column.name,
            excerpt(&cell_text(&column.values, first)),
            present - odd.len(),
            excerpt(&cell_text(&column.values, first)),
            column.name
        )));
    }
    Ok(if parsed.is_words_of_truth() { Kind::Boolean } else { Kind::Category })
}

/// Refuses names that are different on most rows.
fn refuse_identifier(table: &Table, column: &Column, levels: usize, present: usize) -> Result<()> {
    if levels <= MANY_LEVELS || 2 * levels <= present {
        return Ok(());
    }
    Err(Error::data(format!(
        "{}: column `{}` has {levels} different texts on {present} rows, as an identifier would; leave it out with \
         `ignore = {}`, or insist with `kind = {}=category`",
        table.origin, column.name, column.name, column.name
    )))
}

/// How a column is encoded, and its cells; `kind` where it was said what it holds.
fn read(table: &Table, column: &Column, kind: Option<Kind>, notation: &Notation) -> Result<(Encoding, Cells)> {
    let parsed = Parsed::new(table, column, notation);
    let present = parsed.present();
    if present == 0 {
        return Err(Error::data(format!(
            "{}: every value of column `{}` is missing; leave it out with `ignore = {}`",
            table.origin, column.name, column.name
        )));
    }
    let guessed = kind.is_none();
    let kind = kind.map_or_else(|| guess(table, column, &parsed), Ok)?;
    let (encoding, cells) = parsed.encode(kind)?;
    if let (Encoding::Category { levels }, true) = (&encoding, guessed) {
        refuse_identifier(table, column, levels.len(), present)?;
    }
    Ok((encoding, cells))
}
