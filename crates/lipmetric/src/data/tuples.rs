//! What is known of rows without labels: which are similar, and which are nearer to each other than others.

use super::Matrix;
use crate::{Error, Result};
use std::collections::BTreeMap;

/// Row numbers `i`, `j`, `l`: row `i` should be nearer to row `j` than to row `l`.
pub type Triplet = [usize; 3];

/// Row numbers `i`, `j`, `k`, `l`: rows `i` and `j` should be nearer to each other than rows `k` and `l`.
pub type Quadruplet = [usize; 4];

/// Two rows of which is known whether they are similar.
///
/// ```
/// use lipmetric::data::Pair;
/// let pair = Pair::similar(0, 3).with_strength(2.0);
/// assert!(pair.similar && pair.rows() == [0, 3]);
/// assert!(!Pair::dissimilar(1, 2).similar);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Pair {
    /// One row, counted from 0.
    pub first: usize,
    /// The other row.
    pub second: usize,
    /// Whether the two are similar: of a kind, though nobody says which.
    pub similar: bool,
    /// How much the pair counts, 1 usually; a pair of strength 2 counts as if it were given twice.
    pub strength: f64,
}

impl Pair {
    /// Two rows that are similar.
    #[must_use]
    pub const fn similar(first: usize, second: usize) -> Self {
        Self { first, second, similar: true, strength: 1.0 }
    }

    /// Two rows that are not.
    #[must_use]
    pub const fn dissimilar(first: usize, second: usize) -> Self {
        Self { first, second, similar: false, strength: 1.0 }
    }

    /// The same with another strength.
    #[must_use]
    pub const fn with_strength(self, strength: f64) -> Self {
        Self { strength, ..self }
    }

    /// Both rows.
    #[must_use]
    pub const fn rows(&self) -> [usize; 2] {
        [self.first, self.second]
    }

    /// The two rows, the lower number first.
    fn sorted(&self) -> (usize, usize) {
        (self.first.min(self.second), self.first.max(self.second))
    }
}

/// Checks that pairs are pairs of different rows among `rows`, each of a strength.
///
/// # Errors
/// If a row is not there, is paired with itself, or a strength is not positive and finite. Pairs are counted from 0.
pub fn check_pairs(pairs: &[Pair], rows: usize) -> Result<()> {
    for (k, pair) in pairs.iter().enumerate() {
        let fail = |message: String| Err(Error::parameter("pairs", format!("number {k} {message}")));
        if let Some(row) = pair.rows().into_iter().find(|&row| row >= rows) {
            return fail(format!("names row {row}, but there are {rows} rows"));
        }
        if pair.first == pair.second {
            return fail(format!("pairs row {} with itself", pair.first));
        }
        if !(pair.strength > 0.0 && pair.strength.is_finite()) {
            return fail(format!("has a strength of {}: it must be positive and finite", pair.strength));
        }
    }
    Ok(())
}

/// What a person should know about pairs: those that are said to be both similar and not, and dissimilar rows that are equal.
pub(crate) fn notes_on_pairs(pairs: &[Pair], x: &Matrix) -> Vec<String> {
    let mut said: BTreeMap<(usize, usize), [bool; 2]> = BTreeMap::new();
    for pair in pairs {
        said.entry(pair.sorted()).or_default()[usize::from(pair.similar)] = true;
    }
    let mut notes = Vec::new();
    let mut both = said.iter().filter(|(_, both)| **both == [true, true]);
    if let Some(((i, j), _)) = both.next() {
        let more = both.count();
        let others = if more == 0 { String::new() } else { format!(" (and {more} more)") };
        notes.push(format!(
            "rows {} and {}{others} are said to be both similar and dissimilar: each statement counts",
            i + 1,
            j + 1
        ));
    }
    let equal = said.iter().filter(|((i, j), both)| both[0] && x.row(*i) == x.row(*j)).count();
    if equal > 0 {
        notes.push(format!(
            "dissimilar pairs of rows with equal features: {equal}; no distance on these features tells them apart"
        ));
    }
    notes
}
