//! What cells that are no plain numbers look like to a person, so that a refusal can say what to do.

use crate::data::excerpt;

/// What people and programs write where there is nothing, beside the empty cell, `NA`, `NaN`, `null` and `?`.
const WORDS_FOR_NOTHING: [&str; 14] = [
    "#N/A", "<NA>", "None", "nil", "-", "--", "\u{2013}", "\u{2014}", ".", "n.a.", "#VALUE!", "#DIV/0!", "#REF!", "\\N",
];

/// A way to write what is a number or a day in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    DecimalComma,
    Thousands(char),
    Percent,
    Currency,
    Date,
}

impl Look {
    /// What all of these cells look like, if it is the same.
    pub(super) fn of_all<'c>(mut cells: impl Iterator<Item = &'c str>) -> Option<Self> {
        let first = cells.next()?;
        // `1,234` may be either, so the other cells decide.
        let (mut comma, mut common) = (is_decimal_comma(first), Self::of(first));
        for cell in cells {
            comma = comma && is_decimal_comma(cell);
            common = common.filter(|look| Self::of(cell) == Some(*look));
        }
        common.or(comma.then_some(Self::DecimalComma))
    }

    /// The first cell that is no number, and what to do, if most others are numbers with a comma.
    pub(super) fn but_for_some(cells: &[impl AsRef<str>]) -> Option<(usize, String)> {
        let is_number = |cell: &str| is_decimal_comma(cell) || thousands(cell).is_some();
        let numbers = cells.iter().filter(|cell| is_number(cell.as_ref())).count();
        let at = cells.iter().position(|cell| !is_number(cell.as_ref()))?;
        let example = cells.iter().find(|cell| is_number(cell.as_ref()))?;
        (2 * numbers > cells.len()).then(|| {
            let told = format!(
                "no number, but {numbers} cells of the column are, such as `{}`: if it stands for a missing value, say \
                 `missing = {}`, and what the comma is by `decimal = ,` or `thousands = ,`",
                excerpt(example.as_ref()),
                excerpt(cells[at].as_ref())
            );
            (at, told)
        })
    }

    /// The different cells that people and programs write where there is nothing.
    pub(super) fn words_for_nothing<'c>(cells: impl Iterator<Item = &'c str>) -> Vec<&'c str> {
        let mut found: Vec<&str> = Vec::new();
        for cell in cells.map(str::trim) {
            if WORDS_FOR_NOTHING.iter().any(|word| cell.eq_ignore_ascii_case(word)) && !found.contains(&cell) {
                found.push(cell);
            }
        }
        found
    }

    fn of(cell: &str) -> Option<Self> {
        if let Some(inner) = cell.strip_suffix('%') {
            return is_amount(inner).then_some(Self::Percent);
        }
        let bare = cell.trim_matches(|c: char| matches!(c, '$' | '€' | '£' | '¥') || c.is_whitespace());
        if bare.len() < cell.trim().len() {
            return is_amount(bare).then_some(Self::Currency);
        }
        if is_date(cell) {
            return Some(Self::Date);
        }
        thousands(cell).map(Self::Thousands).or_else(|| is_decimal_comma(cell).then_some(Self::DecimalComma))
    }

    /// What it is and what to do, in words for a message.
    pub(super) fn remedy(self, column: &str) -> String {
        match self {
            Self::DecimalComma => "a number with a decimal comma; read it as one with `decimal = ,`".to_owned(),
            Self::Thousands('.') => {
                "a number whose thousands are marked by points; read it as one with `decimal = ,` and `thousands = .`"
                    .to_owned()
            }
            Self::Thousands(' ') => "a number whose thousands are marked by blanks; read it with `thousands = space`".to_owned(),
            Self::Thousands(',') => {
                "a number whose thousands are marked by commas; read it as one with `thousands = ,` (or, if the comma is the \
                 decimal mark, with `decimal = ,`)"
                    .to_owned()
            }
            Self::Thousands(mark) => {
                format!("a number whose thousands are marked by `{mark}`; read it as one with `thousands = {mark}`")
            }
            Self::Percent => format!("a percentage; write the number alone, or leave the column out with `ignore = {column}`"),
            Self::Currency => {
                format!("an amount of money; write the number alone, or leave the column out with `ignore = {column}`")
            }
            Self::Date => format!(
                "a date or a time; turn it into numbers, such as days since the first, or leave the column out with `ignore = {column}`"
            ),
        }
    }
}

pub(super) fn unsigned(cell: &str) -> &str {
    cell.trim().trim_start_matches(['+', '-'])
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

pub(super) fn is_decimal_comma(cell: &str) -> bool {
    let Some((whole, fraction)) = unsigned(cell).split_once(',') else { return false };
    (whole.is_empty() || all_digits(whole) || is_grouped(whole, '.')) && all_digits(fraction)
}

/// The mark between groups of three digits.
fn thousands(cell: &str) -> Option<char> {
    let cell = unsigned(cell);
    let mark = cell.chars().find(|c| !c.is_ascii_digit())?;
    let same = if matches!(mark, '\u{a0}' | '\u{202f}') { ' ' } else { mark };
    if !['.', ',', '\'', ' '].contains(&same) {
        return None;
    }
    let decimal = if mark == '.' { ',' } else { '.' };
    let (whole, fraction) = cell.split_once(decimal).unwrap_or((cell, ""));
    // One point and three digits behind it is a plain number.
    let clear = mark != '.' || whole.matches(mark).count() > 1 || !fraction.is_empty();
    (clear && is_grouped(whole, mark) && (fraction.is_empty() || all_digits(fraction))).then_some(same)
}

/// Whether a mark stands between groups of three digits.
pub(super) fn is_grouped(whole: &str, mark: char) -> bool {
    let mut groups = whole.split(mark);
    let first = groups.next().unwrap_or_default();
    let rest: Vec<&str> = groups.collect();
    all_digits(first) && first.len() <= 3 && !rest.is_empty() && rest.iter().all(|g| all_digits(g) && g.len() == 3)
}

/// A number in any of the usual notations.
fn is_amount(cell: &str) -> bool {
    let cell = cell.trim();
    crate::data::number(cell).is_some() || is_decimal_comma(cell) || thousands(cell).is_some()
}

fn is_date(cell: &str) -> bool {
    let day = cell.trim().split([' ', 'T']).next().unwrap_or_default();
    let Some(mark) = day.chars().find(|c| !c.is_ascii_digit()).filter(|c| ['-', '/', '.'].contains(c)) else {
        return false;
    };
    let parts: Vec<&str> = day.split(mark).collect();
    let [a, b, c] = parts[..] else { return false };
    if !parts.iter().all(|p| all_digits(p)) {
        return false;
    }
    let small = |p: &str, most: u32| p.len() <= 2 && p.parse::<u32>().is_ok_and(|v| (1..=most).contains(&v));
    let year_first = a.len() == 4 && small(b, 12) && small(c, 31);
    let year_last = matches!(c.len(), 2 | 4) && ((small(a, 31) && small(b, 12)) || (small(a, 12) && small(b, 31)));
    year_first || year_last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_told_for_what_they_are() {
        for (cells, look) in [
            (&["1,5", "-0,25", "12,125"][..], Some(Look::DecimalComma)),
            (&["132,796", "98,120"], Some(Look::Thousands(','))),
            (&["1.234.567", "12.345.678"], Some(Look::Thousands('.'))),
            (&["1.234,50", "2,5"], Some(Look::DecimalComma)),
            (&["1'234.5", "2'000"], Some(Look::Thousands('\''))),
            (&["1\u{a0}234", "12 345 678"], Some(Look::Thousands(' '))),
            (&["13.2 %", "7%"], Some(Look::Percent)),
            (&["$13", "$ 1,300.50", "12 €"], Some(Look::Currency)),
            (&["2024-05-01", "2024-12-31 10:20"], Some(Look::Date)),
            (&["5/13/99", "12/1/2001"], Some(Look::Date)),
            (&["red", "blue"], None),
            (&["1,5", "red"], None),
            (&["1-2", "3-5"], None),
            (&["v1.2.3"], None),
        ] {
            assert_eq!(Look::of_all(cells.iter().copied()), look, "{cells:?}");
        }
    }
}
