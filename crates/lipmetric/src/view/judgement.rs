use super::Curve;
use crate::evaluate::statistics::share_band;
use crate::evaluate::{CalibrationBin, Confusion, Reliability};
use serde::{Deserialize, Serialize};

/// How predictions compare with the truth.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Judgement {
    /// What was judged, in words.
    pub judged: String,
    /// On how many rows.
    pub rows: usize,
    /// How many of them the model was fitted on.
    pub seen: usize,
    /// The part predicted correctly.
    pub accuracy: f64,
    /// Where it lies with a chance of 95 %, as far as the number of rows tells.
    pub band: (f64, f64),
    /// The share of the largest class.
    pub majority: f64,
    /// The mean recall.
    pub balanced: f64,
    /// The mean F1.
    pub macro_f1: f64,
    /// The accuracy on each split, where there are splits.
    pub splits: Vec<f64>,
    /// Each class.
    pub classes: Vec<ClassFigures>,
    /// `confusion[truth][predicted]`.
    pub confusion: Vec<Vec<usize>>,
    /// Probabilities against shares, where there are probabilities.
    pub bins: Vec<Bin>,
    /// Area under the ROC curve.
    pub auc: Option<f64>,
    /// Brier score.
    pub brier: Option<f64>,
    /// Log-loss.
    pub log_loss: Option<f64>,
    /// Expected calibration error.
    pub calibration_error: Option<f64>,
    /// Certified accuracy against radius, where there are radii.
    pub certified: Option<Curve>,
    /// What the radii are of, in words.
    pub radius: String,
}

/// A class and how well it is told.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClassFigures {
    /// Its name.
    pub name: String,
    /// Of the rows predicted as this class, the part that is.
    pub precision: Option<f64>,
    /// Of the rows of this class, the part that is predicted so.
    pub recall: Option<f64>,
    /// Harmonic mean of the two.
    pub f1: Option<f64>,
    /// Its rows.
    pub rows: usize,
}

/// Predictions of about the same probability.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Bin {
    /// The mean probability of the predicted class.
    pub said: f64,
    /// The share of correct predictions.
    pub right: f64,
    /// How many rows.
    pub rows: usize,
}

impl Judgement {
    /// Of counts, and of the accuracy on each split where there are splits.
    #[must_use]
    pub fn new(judged: impl Into<String>, confusion: &Confusion, splits: Vec<f64>) -> Self {
        let accuracy = confusion.accuracy();
        let figures = |s: crate::evaluate::ClassScore| ClassFigures {
            name: s.class,
            precision: s.precision,
            recall: s.recall,
            f1: s.f1,
            rows: s.support,
        };
        Self {
            judged: judged.into(),
            rows: confusion.total(),
            accuracy,
            band: share_band(accuracy, confusion.total()),
            majority: confusion.majority(),
            balanced: confusion.balanced_accuracy(),
            macro_f1: confusion.macro_f1(),
            splits,
            classes: confusion.scores().into_iter().map(figures).collect(),
            confusion: confusion.counts().to_vec(),
            ..Self::default()
        }
    }

    /// The same with what the probabilities are worth.
    #[must_use]
    pub fn with_probabilities(mut self, reliability: Option<&Reliability>, bins: &[CalibrationBin]) -> Self {
        if let Some(r) = reliability {
            (self.auc, self.brier) = (r.auc, Some(r.brier));
            (self.log_loss, self.calibration_error) = (Some(r.log_loss), Some(r.calibration_error));
        }
        let filled = bins.iter().filter(|b| b.rows > 0);
        let one =
            |b: &CalibrationBin| Bin { said: b.said / b.rows as f64, right: b.right / b.rows as f64, rows: b.rows };
        self.bins = filled.map(one).collect();
        self
    }

    /// The same with the accuracy at radii: predicted classes with how far each holds, and the truth.
    #[must_use]
    pub fn with_radii(mut self, predicted: &[(u32, f64)], truth: &[u32], radius: impl Into<String>) -> Self {
        let right = predicted.iter().zip(truth).filter(|((label, _), truth)| label == *truth);
        self.certified = Some(Curve::surviving(right.map(|((_, r), _)| *r).collect(), truth.len()));
        self.radius = radius.into();
        self
    }

    /// The same with certified accuracies at these radii.
    #[must_use]
    pub fn with_certified(mut self, x: Vec<f64>, y: Vec<f64>, radius: impl Into<String>) -> Self {
        self.certified = Some(Curve { x, y });
        self.radius = radius.into();
        self
    }
}
