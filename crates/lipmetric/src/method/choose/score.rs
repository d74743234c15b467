use crate::classify::Calibration;
use crate::classify::smooth::explained;
use crate::{Error, Labels, Matrix, Result};
use serde::{Deserialize, Serialize};

/// What is made as large (or, of a loss, as small) as can be on rows that were not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Score {
    /// The part of the rows that is predicted correctly; of numbers, R2.
    #[default]
    Accuracy,
    /// The same in the mean over the classes: each counts as much as any other.
    Balanced,
    /// The mean of `ln p`, where `p` is the probability of the row's class.
    LogLoss,
    /// The chance that a row of a class has a larger value for it than a row of another class, in the mean over the classes.
    Auc,
}

impl Score {
    /// Its name, as a file and the command line have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Accuracy => "accuracy",
            Self::Balanced => "balanced",
            Self::LogLoss => "log-loss",
            Self::Auc => "auc",
        }
    }

    /// Whether each class counts as much as any other.
    pub(super) fn balances(self) -> bool {
        matches!(self, Self::Balanced | Self::Auc)
    }

    /// Whether it looks at values, not at the predicted class alone.
    pub(super) fn needs_values(self) -> bool {
        matches!(self, Self::LogLoss | Self::Auc)
    }
}

impl std::str::FromStr for Score {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let all = [Self::Accuracy, Self::Balanced, Self::LogLoss, Self::Auc];
        all.into_iter().find(|s| s.name() == text).ok_or_else(|| {
            Error::parameter("score", format!("`{text}` is none of accuracy, balanced, log-loss and auc"))
        })
    }
}

impl std::fmt::Display for Score {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// What a function says of some rows.
#[derive(Debug, Clone, Default)]
pub(super) struct Told {
    pub(super) labels: Vec<u32>,
    /// A row per row, a column per class: shares of votes, or the values of a function.
    pub(super) values: Option<Matrix>,
    /// Whether the values are probabilities as they stand.
    pub(super) shares: bool,
}

/// A probability of zero counts as this much.
const LEAST: f64 = 1e-15;

/// How good what is told of each row is: its mean over the rows is the score.
pub(super) fn goodness(score: Score, told: &Told, truth: &Labels) -> Result<Vec<f64>> {
    if let (Some(numbers), Some(values)) = (truth.numbers(), &told.values) {
        return Ok(explained(values.as_slice(), numbers));
    }
    let truth = truth.codes();
    let hits = || told.labels.iter().zip(truth).map(|(a, b)| f64::from(u8::from(a == b))).collect();
    match (score, &told.values) {
        (Score::LogLoss, Some(values)) => {
            let shares =
                if told.shares { values.clone() } else { Calibration::fit(values, truth, values.cols())?.all(values) };
            Ok(truth.iter().enumerate().map(|(i, &t)| shares[(i, t as usize)].clamp(LEAST, 1.0).ln()).collect())
        }
        (Score::Auc, Some(values)) => Ok(placements(values, truth)),
        _ => Ok(hits()),
    }
}

/// For each row, the part of the rows of other classes whose value for the row's class is smaller; equal ones count half.
fn placements(values: &Matrix, truth: &[u32]) -> Vec<f64> {
    let mut out = vec![1.0; truth.len()];
    for class in 0..values.cols() {
        let of = |own: bool| (0..truth.len()).filter(move |&i| (truth[i] as usize == class) == own);
        let mut others: Vec<f64> = of(false).map(|i| values[(i, class)]).collect();
        if others.is_empty() {
            continue;
        }
        others.sort_unstable_by(f64::total_cmp);
        for i in of(true) {
            let v = values[(i, class)];
            let (below, up_to) = (others.partition_point(|o| *o < v), others.partition_point(|o| *o <= v));
            out[i] = 0.5 * (below + up_to) as f64 / others.len() as f64;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_goodness_is_the_score_itself() {
        let values = Matrix::from_rows(&[[0.8, 0.2], [0.4, 0.6], [0.3, 0.7], [0.6, 0.4]]);
        let truth = &Labels::from_names(["a", "a", "b", "b"]);
        let told = Told { labels: vec![0, 1, 1, 0], values: Some(values), shares: true };
        let loss = goodness(Score::LogLoss, &told, truth).unwrap();
        assert_eq!(loss, [0.8_f64.ln(), 0.4_f64.ln(), 0.7_f64.ln(), 0.4_f64.ln()]);
        // Of the four pairs of a row of each class, that of the second row and the fourth is in the wrong order.
        let places = goodness(Score::Auc, &told, truth).unwrap();
        assert_eq!(places, [1.0, 0.5, 1.0, 0.5]);
        assert_eq!(goodness(Score::Balanced, &told, truth).unwrap(), [1.0, 0.0, 1.0, 0.0]);
        assert_eq!("log-loss".parse::<Score>().unwrap(), Score::LogLoss);
        assert!("loss".parse::<Score>().is_err());
    }

    #[test]
    fn equal_values_count_half_and_values_that_are_no_probabilities_are_calibrated_first() {
        let tied = Matrix::from_rows(&[[1.0, -1.0], [1.0, -1.0], [1.0, -1.0]]);
        assert_eq!(placements(&tied, &[0, 1, 1]), [0.5; 3]);
        let values: Vec<f64> = (0..40).flat_map(|i| [5.0 - f64::from(i), f64::from(i) - 5.0]).collect();
        let told = Told { labels: vec![0; 40], values: Matrix::from_vec(40, 2, values).ok(), shares: false };
        let truth = Labels::from_names((0..40).map(|i| u32::from(i > 20 || i % 5 == 0).to_string()));
        let loss = goodness(Score::LogLoss, &told, &truth).unwrap();
        let mean = loss.iter().sum::<f64>() / 40.0;
        assert!(mean > -0.69 && mean < 0.0, "{mean}");
    }
}
