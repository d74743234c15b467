use crate::Labels;
use crate::model::TrainingRows;
use serde::{Deserialize, Serialize};

/// Slacks up to this are what a solver leaves of the bound at which a label is overruled.
const OVERRULED: f64 = 1.0 + 1e-6;

/// Rows that are drawn, each with what a picture says about it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Shown {
    /// Their numbers, ascending.
    pub rows: Vec<usize>,
    /// How many there are in all.
    pub of: usize,
    /// Where each of them stood: `line 12`, or `row 12`.
    pub places: Vec<String>,
    /// The class of each.
    pub labels: Vec<u32>,
    /// Those that the learned function holds for mislabelled, by their place in `rows`.
    pub relabelled: Vec<usize>,
}

impl Shown {
    /// At most so many of the rows: evenly over the table within each class, and those that must be there.
    pub(super) fn of(rows: &TrainingRows, most: usize, must: &[usize]) -> Self {
        let slack = rows.slack().unwrap_or_default();
        let overruled = |i: &usize| slack.get(*i).is_some_and(|xi| *xi > OVERRULED);
        let mut chosen = sample(&rows.y, most);
        chosen.extend(must.iter().copied().filter(|&i| i < rows.y.len()));
        if chosen.len() < rows.y.len() {
            chosen.extend((0..rows.y.len()).filter(overruled).take(most / 10));
        }
        chosen.sort_unstable();
        chosen.dedup();
        Self {
            of: rows.y.len(),
            places: chosen.iter().map(|&i| rows.place(i)).collect(),
            labels: chosen.iter().map(|&i| rows.y.codes()[i]).collect(),
            relabelled: (0..chosen.len()).filter(|&k| overruled(&chosen[k])).collect(),
            rows: chosen,
        }
    }

    /// The place of a row among those that are drawn.
    #[must_use]
    pub fn position(&self, row: usize) -> Option<usize> {
        self.rows.binary_search(&row).ok()
    }
}

/// At most about so many rows, evenly over the table within each class, in ascending order: all of few.
pub(super) fn sample(labels: &Labels, most: usize) -> Vec<usize> {
    let n = labels.len();
    if n <= most {
        return (0..n).collect();
    }
    let mut chosen = Vec::with_capacity(most + labels.classes().len());
    for members in labels.members() {
        // A class of few rows keeps at least one.
        let wanted = (members.len() * most).div_ceil(n).min(members.len());
        chosen.extend((0..wanted).map(|k| members[k * members.len() / wanted]));
    }
    chosen.sort_unstable();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matrix;

    #[test]
    fn a_sample_has_every_class_in_its_share_and_what_must_be_there() {
        let names: Vec<&str> = (0..1000).map(|i| if i == 500 { "rare" } else { ["a", "b"][i % 2] }).collect();
        let rows = TrainingRows::new(Matrix::zeros(1000, 1), Labels::from_names(names));
        let shown = Shown::of(&rows, 100, &[998, 2]);
        assert!(shown.rows.is_sorted() && shown.rows.len() <= 105, "{}", shown.rows.len());
        assert_eq!((shown.of, shown.position(500).is_some()), (1000, true));
        assert!(shown.position(998).is_some() && shown.position(2).is_some());
        let all = Shown::of(&rows, 1000, &[]);
        assert_eq!(all.rows, (0..1000).collect::<Vec<_>>());
        assert_eq!(all.places[4], "row 5");
    }
}
