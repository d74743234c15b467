use serde::Serialize;

/// Counts of true against predicted classes.
///
/// ```
/// use lipmetric::evaluate::Confusion;
/// let mut c = Confusion::new(vec!["a".into(), "b".into()]);
/// for (truth, predicted) in [(0, 0), (0, 0), (0, 1), (1, 1)] {
///     c.add(truth, predicted);
/// }
/// assert_eq!(c.accuracy(), 0.75);
/// assert_eq!(c.scores()[1].precision, Some(0.5));
/// assert_eq!(c.scores()[1].recall, Some(1.0));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Confusion {
    classes: Vec<String>,
    /// `counts[truth][predicted]`.
    counts: Vec<Vec<usize>>,
}

/// How well one class is told. A figure is `None` where it has no meaning: precision of a class that was never
/// predicted, recall of one that never occurred.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ClassScore {
    /// The class.
    pub class: String,
    /// Of the rows predicted as this class, the part that is.
    pub precision: Option<f64>,
    /// Of the rows of this class, the part that is predicted so.
    pub recall: Option<f64>,
    /// Harmonic mean of the two; 0 if the class was neither found nor predicted correctly.
    pub f1: Option<f64>,
    /// Rows of this class.
    pub support: usize,
}

impl Confusion {
    /// No counts yet.
    #[must_use]
    pub fn new(classes: Vec<String>) -> Self {
        let n = classes.len();
        Self { classes, counts: vec![vec![0; n]; n] }
    }

    /// Counts one row.
    ///
    /// # Panics
    /// If a code has no class.
    pub fn add(&mut self, truth: u32, predicted: u32) {
        self.counts[truth as usize][predicted as usize] += 1;
    }

    /// Counts what another one counted over the same classes.
    ///
    /// # Panics
    /// If its classes are others.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.classes, other.classes, "confusion matrices over different classes");
        for (mine, theirs) in self.counts.iter_mut().flatten().zip(other.counts.iter().flatten()) {
            *mine += theirs;
        }
    }

    /// The class names.
    #[must_use]
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// `counts()[truth][predicted]`.
    #[must_use]
    pub fn counts(&self) -> &[Vec<usize>] {
        &self.counts
    }

    /// Rows counted.
    #[must_use]
    pub fn total(&self) -> usize {
        self.counts.iter().flatten().sum()
    }

    /// The part of the rows that is predicted correctly (0 of none).
    #[must_use]
    pub fn accuracy(&self) -> f64 {
        let right: usize = (0..self.classes.len()).map(|k| self.counts[k][k]).sum();
        right as f64 / self.total().max(1) as f64
    }

    /// The share of the largest class: what is right if nothing else is ever predicted (0 of no rows).
    #[must_use]
    pub fn majority(&self) -> f64 {
        let largest = self.counts.iter().map(|row| row.iter().sum::<usize>()).max().unwrap_or(0);
        largest as f64 / self.total().max(1) as f64
    }

    /// Precision, recall, F1 and support of each class.
    #[must_use]
    pub fn scores(&self) -> Vec<ClassScore> {
        let ratio = |a: usize, b: usize| (b > 0).then(|| a as f64 / b as f64);
        (0..self.classes.len())
            .map(|k| {
                let right = self.counts[k][k];
                let support: usize = self.counts[k].iter().sum();
                let predicted: usize = self.counts.iter().map(|row| row[k]).sum();
                ClassScore {
                    class: self.classes[k].clone(),
                    precision: ratio(right, predicted),
                    recall: ratio(right, support),
                    f1: ratio(2 * right, support + predicted),
                    support,
                }
            })
            .collect()
    }

    /// Mean recall over the classes that occur: accuracy as if every class were equally frequent.
    #[must_use]
    pub fn balanced_accuracy(&self) -> f64 {
        mean(self.scores().iter().filter_map(|s| s.recall))
    }

    /// Mean F1 over the classes that occur or are predicted.
    #[must_use]
    pub fn macro_f1(&self) -> f64 {
        mean(self.scores().iter().filter_map(|s| s.f1))
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (n, sum) = values.fold((0, 0.0), |(n, sum), v| (n + 1, sum + v));
    if n == 0 { 0.0 } else { sum / f64::from(n) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_without_meaning_are_none_and_means_skip_them() {
        let mut c = Confusion::new(vec!["a".into(), "b".into(), "c".into()]);
        c.add(0, 0);
        c.add(0, 1);
        let s = c.scores();
        assert_eq!((s[1].precision, s[1].recall, s[1].f1), (Some(0.0), None, Some(0.0)));
        assert_eq!((s[2].precision, s[2].recall, s[2].f1), (None, None, None));
        assert_eq!(c.balanced_accuracy(), 0.5);
        assert!((c.macro_f1() - (2.0 / 3.0) / 2.0).abs() < 1e-15);
        let empty = Confusion::new(vec!["a".into()]);
        assert_eq!((empty.accuracy(), empty.balanced_accuracy()), (0.0, 0.0));
    }
}
