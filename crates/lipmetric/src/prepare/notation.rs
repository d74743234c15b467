use crate::data::{is_missing, number};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// How numbers and missing values are written in a table's cells.
///
/// ```
/// use lipmetric::prepare::Notation;
/// let mut european = Notation::default();
/// (european.decimal, european.thousands, european.missing) = (',', Some('.'), vec!["-999".to_owned()]);
/// assert_eq!(european.number("1.234,5"), Some(1234.5));
/// assert_eq!(european.number("12.34"), None);
/// assert!(european.is_missing("-999") && european.is_missing("NA"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Notation {
    /// What separates a number's whole part from its fraction: `.` or `,`.
    pub decimal: char,
    /// What groups the digits of the whole part by threes; nothing by default. A blank stands for narrow ones, too.
    pub thousands: Option<char>,
    /// Cells that stand for a missing value beside the usual ones ([`is_missing`]); a number stands for itself in any spelling.
    pub missing: Vec<String>,
}

impl Default for Notation {
    fn default() -> Self {
        Self { decimal: '.', thousands: None, missing: Vec::new() }
    }
}

impl Notation {
    /// Whether nothing was said about it.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// Checks that a number has one reading.
    ///
    /// # Errors
    /// If the separators are the same, or not ones that numbers are written with.
    pub fn check(&self) -> Result<()> {
        if !['.', ','].contains(&self.decimal) {
            return Err(Error::parameter("decimal", format!("`{}` is not one of `.` and `,`", self.decimal)));
        }
        match self.thousands {
            Some(mark) if mark == self.decimal => Err(Error::parameter(
                "thousands",
                format!("`{mark}` is the decimal mark as well; choose another with the parameter `decimal`"),
            )),
            Some(mark) if !['.', ',', ' ', '\'', '_'].contains(&mark) => {
                Err(Error::parameter("thousands", format!("`{mark}` is not one of `.`, `,`, `'`, `_` and a blank")))
            }
            _ => Ok(()),
        }
    }

    /// The finite number that a cell writes out in this notation.
    #[must_use]
    pub fn number(&self, cell: &str) -> Option<f64> {
        if self.decimal == '.' && self.thousands.is_none() {
            return number(cell);
        }
        let cell = cell.trim();
        let (whole, rest) = match cell.find([self.decimal, 'e', 'E']) {
            Some(at) => cell.split_at(at),
            None => (cell, ""),
        };
        if self.decimal == ',' && rest.contains('.') {
            return None;
        }
        let mut plain = self.ungrouped(whole)?;
        plain.push_str(&rest.replacen(self.decimal, ".", 1));
        number(&plain)
    }

    /// The whole part of a number without the marks between its groups of three digits.
    fn ungrouped(&self, whole: &str) -> Option<String> {
        let Some(mark) = self.thousands else {
            return (!whole.contains('.')).then(|| whole.to_owned());
        };
        let is_mark = |c: char| c == mark || (mark == ' ' && matches!(c, '\u{a0}' | '\u{202f}'));
        let digits = whole.trim_start_matches(['+', '-']);
        let groups: Vec<&str> = digits.split(is_mark).collect();
        let fits = |(at, group): (usize, &&str)| {
            let length = if at == 0 { (1..=3).contains(&group.len()) } else { group.len() == 3 };
            length && group.bytes().all(|b| b.is_ascii_digit())
        };
        let grouped = groups.len() == 1 || groups.iter().enumerate().all(fits);
        (grouped && !digits.contains(|c: char| c == '.' && !is_mark(c))).then(|| whole.replace(is_mark, ""))
    }

    /// Whether a cell stands for a missing value.
    #[must_use]
    pub fn is_missing(&self, cell: &str) -> bool {
        if is_missing(cell) {
            return true;
        }
        let cell = cell.trim();
        self.missing.iter().any(|m| m == cell || (number(m).is_some() && self.number(cell) == number(m)))
    }

    /// Whether a number stands for a missing value.
    pub(super) fn is_missing_number(&self, value: f64) -> bool {
        value.is_nan() || self.missing.iter().any(|m| number(m) == Some(value))
    }
}
