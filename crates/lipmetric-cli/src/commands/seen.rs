//! Rows that a model was fitted on, met again.

use lipmetric::Matrix;
use lipmetric::model::TrainingRows;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The training rows of a model, to be recognised.
pub(super) struct Seen(HashSet<u64>);

impl Seen {
    pub(super) fn of(rows: &TrainingRows) -> Self {
        Self((0..rows.x.rows()).map(|i| mark(rows.x.row(i))).collect())
    }

    /// How many of these prepared rows are training rows.
    pub(super) fn count(&self, x: &Matrix) -> usize {
        (0..x.rows()).filter(|&i| self.0.contains(&mark(x.row(i)))).count()
    }
}

fn mark(row: &[f64]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for value in row {
        // Adding zero makes -0 and +0 one.
        (value + 0.0).to_bits().hash(&mut hasher);
    }
    hasher.finish()
}

/// What a figure on such rows is worth.
pub(super) fn warning(seen: usize, rows: usize) -> Option<String> {
    if seen == 0 {
        None
    } else if seen == rows {
        Some(format!(
            "all {rows} rows are rows that the model was fitted on: this is no estimate for new rows. `lipmetric evaluate` without \
             --model judges the method on rows that it has not seen"
        ))
    } else {
        Some(format!(
            "{seen} of the {rows} rows are rows that the model was fitted on, so that the figures are better than for new rows"
        ))
    }
}
