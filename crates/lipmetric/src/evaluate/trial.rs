use super::{CalibrationBin, Confusion, Errors, Reliability};
use crate::data::Split;
use crate::lipschitz::{certified_accuracy, check_lengths};
use crate::method::Outcome;
use crate::model::{Predictor, Recipe, Rows};
use crate::prepare::Dataset;
use crate::robust::Radius;
use crate::solver::Observer;
use crate::{Error, Result};
use std::time::Instant;

/// What a recipe did on one split.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Trial {
    /// True against predicted classes of the test rows; nothing is counted where numbers are predicted.
    pub confusion: Confusion,
    /// How far predicted numbers are from the true ones, where numbers are predicted.
    pub errors: Option<Errors>,
    /// What the probabilities are worth, where the classifier has some.
    pub reliability: Option<Reliability>,
    /// The probabilities of the predicted classes against the truth, likewise.
    pub bins: Vec<CalibrationBin>,
    /// Seconds that the fit took.
    pub fit_seconds: f64,
    /// How the fit ended.
    pub outcome: Outcome,
    /// The certified accuracy at each of the radii that were asked for.
    pub certified: Vec<f64>,
    /// Which of these the trial is judged by; by the plain accuracy where none is named.
    pub judged_at: Option<usize>,
}

/// Certified accuracies that are asked for: at which lengths of which radius.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Certification {
    /// The radius.
    pub radius: Radius,
    /// Its lengths.
    pub at: Vec<f64>,
    /// Which of these the trials are judged by, in place of the plain accuracy.
    pub judged_at: Option<usize>,
}

impl Certification {
    /// Certified accuracies beside the plain one.
    ///
    /// # Errors
    /// If a length is negative, infinite or not a number.
    pub fn new(radius: Radius, at: Vec<f64>) -> Result<Self> {
        check_lengths(&at)?;
        Ok(Self { radius, at, judged_at: None })
    }

    /// The same, with trials judged by the accuracy at the length of this number.
    #[must_use]
    pub fn judged_at(self, at: Option<usize>) -> Self {
        Self { judged_at: at, ..self }
    }
}

impl Trial {
    /// A result from elsewhere.
    #[must_use]
    pub fn new(confusion: Confusion, fit_seconds: f64, outcome: Outcome) -> Self {
        Self {
            confusion,
            errors: None,
            reliability: None,
            bins: Vec::new(),
            fit_seconds,
            outcome,
            certified: Vec::new(),
            judged_at: None,
        }
    }

    /// Fits on the split's training rows and predicts its test rows. Preparation, too, sees the training rows alone.
    ///
    /// # Errors
    /// If the recipe cannot be fitted on these rows.
    pub fn run(recipe: &Recipe<'_>, data: &Dataset, split: &Split, observer: &mut dyn Observer) -> Result<Self> {
        Self::certified(recipe, data, split, None, observer)
    }

    /// The same with certified accuracies.
    ///
    /// # Errors
    /// As [`Self::run`]; or if the classifier certifies no such radius.
    pub fn certified(
        recipe: &Recipe<'_>,
        data: &Dataset,
        split: &Split,
        asked: Option<&Certification>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let start = Instant::now();
        let model = recipe.fit(data, Some(&split.train), observer)?;
        let fit_seconds = start.elapsed().as_secs_f64();
        let prepared = model.preparation.apply_rows(&data.columns, &split.test)?;
        let rows = Rows::Prepared(&prepared);
        let predictor = Predictor::new(model)?;
        if let Some(numbers) = data.labels.numbers() {
            let of = |rows: &[usize]| -> Vec<f64> { rows.iter().map(|&i| numbers[i]).collect() };
            let (known, truth) = (of(&split.train), of(&split.test));
            if asked.is_some() {
                return Err(Error::parameter("radius", "certified accuracy is of classes, and numbers are predicted"));
            }
            let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
            let errors = Errors::of(&truth, &predictor.estimate(rows)?, mean)?;
            let none = Confusion::new(data.labels.classes().to_vec());
            let trial = Self::new(none, fit_seconds, predictor.model().outcome.clone());
            return Ok(Self { errors: Some(errors), ..trial });
        }
        let predicted: Vec<(u32, f64)> = match asked {
            Some(asked) => predictor.certify(rows, asked.radius)?,
            None => predictor.predict(rows)?.into_iter().map(|label| (label, 0.0)).collect(),
        };
        let truth: Vec<u32> = split.test.iter().map(|&i| data.labels.codes()[i]).collect();
        let shares = predictor.shares(rows)?.filter(|_| !truth.is_empty());
        let mut confusion = Confusion::new(data.labels.classes().to_vec());
        for (&truth, &(label, _)) in truth.iter().zip(&predicted) {
            confusion.add(truth, label);
        }
        let mut trial = Self::new(confusion, fit_seconds, predictor.model().outcome.clone());
        trial.bins = shares.as_ref().map_or_else(Vec::new, |s| CalibrationBin::of(s, &truth));
        trial.reliability = shares.map(|s| Reliability::of(&s, &truth)).transpose()?;
        if let Some(asked) = asked {
            trial.certified = certified_accuracy(&predicted, &truth, &asked.at)?;
            trial.judged_at = asked.judged_at;
        }
        Ok(trial)
    }

    /// What the trial is judged by: the accuracy, plain or certified, or R2 where numbers are predicted.
    #[must_use]
    pub fn score(&self) -> f64 {
        let certified = self.judged_at.and_then(|at| self.certified.get(at).copied());
        let plain = || self.errors.map_or_else(|| self.confusion.accuracy(), |errors| errors.r2);
        certified.unwrap_or_else(plain)
    }
}
