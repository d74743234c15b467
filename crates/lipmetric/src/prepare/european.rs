//! Tables whose numbers have a decimal comma, recognised where there is no doubt.

use super::looks::{is_decimal_comma, is_grouped, unsigned};
use super::notation::Notation;
use crate::data::{Table, Texts, Values, excerpt, number};

/// What the cells of a column tell.
#[derive(Default)]
struct Told {
    /// The first cell with a decimal comma.
    comma: Option<usize>,
    /// A comma that cannot stand between thousands.
    sure: bool,
    /// A point that can only stand between thousands.
    grouped: bool,
    /// A number with a point.
    point: bool,
    /// A cell that is neither missing nor a number with a comma or without.
    other: bool,
}

impl Told {
    fn of(cells: &Texts, notation: &Notation) -> Self {
        let mut told = Self::default();
        for (i, cell) in cells.iter().enumerate().filter(|(_, cell)| !notation.is_missing(cell)) {
            if is_decimal_comma(cell) {
                let (whole, fraction) = unsigned(cell).split_once(',').unwrap_or_default();
                told.comma = told.comma.or(Some(i));
                told.sure |= fraction.len() != 3 || whole.starts_with('0') || whole.len() > 3;
                told.grouped |= whole.contains('.');
            } else if is_grouped(unsigned(cell), '.') {
                let one = unsigned(cell).matches('.').count() == 1;
                told.grouped |= !one;
                told.point |= one;
            } else if number(cell).is_some() {
                told.point |= cell.contains('.');
            } else {
                told.other = true;
            }
        }
        told
    }
}

/// The notation of a table with decimal commas and without doubt, and what a person is told about it. Text whose cells commas
/// separate has none; else every column with a decimal comma holds nothing but such numbers, one of them cannot be a number with
/// thousands, and no other column has numbers with a point.
pub(super) fn recognise(
    table: &Table,
    usual: &Notation,
    is_number: impl Fn(usize) -> bool,
) -> Option<(Notation, String)> {
    if table.separator.is_none_or(|mark| mark == ',') || usual.decimal != '.' || usual.thousands.is_some() {
        return None;
    }
    let (mut found, mut columns, mut sure, mut grouped) = (None, 0, false, false);
    for column in (0..table.columns.len()).filter(|at| is_number(*at)).map(|at| &table.columns[at]) {
        let Values::Text(cells) = &column.values else { return None };
        let told = Told::of(cells, usual);
        match told.comma {
            Some(_) if told.other => return None,
            // Points beside commas stand between thousands.
            Some(i) => {
                found = found.or(Some((column.name.as_str(), cells.get(i))));
                columns += 1;
                (sure, grouped) = (sure || told.sure, grouped || told.grouped || told.point);
            }
            None if told.grouped && !told.other => grouped = true,
            None if told.point && !told.other => return None,
            None => {}
        }
    }
    let ((name, cell), true) = (found?, sure) else { return None };
    let notation = Notation { decimal: ',', thousands: grouped.then_some('.'), missing: usual.missing.clone() };
    let points = if grouped { " and points between thousands" } else { "" };
    let (numbers, verb) = if columns == 1 { ("column", "has") } else { ("columns", "have") };
    let note = format!(
        "{columns} {numbers} {verb} decimal commas{points} (such as `{}` in column `{name}`): they are read so; `decimal = .` refuses them",
        excerpt(cell)
    );
    Some((notation, note))
}
