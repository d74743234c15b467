use super::Confusion;
use crate::Result;
use crate::data::Split;
use crate::method::Outcome;
use crate::model::{Recipe, Rows};
use crate::prepare::Dataset;
use crate::solver::Observer;
use std::time::Instant;

/// What a recipe did on one split.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Trial {
    /// True against predicted classes of the test rows.
    pub confusion: Confusion,
    /// Seconds that the fit took.
    pub fit_seconds: f64,
    /// How the fit ended.
    pub outcome: Outcome,
}

impl Trial {
    /// A result from elsewhere.
    #[must_use]
    pub fn new(confusion: Confusion, fit_seconds: f64, outcome: Outcome) -> Self {
        Self { confusion, fit_seconds, outcome }
    }

    /// Fits on the split's training rows and predicts its test rows. Preparation, too, sees the training rows alone.
    ///
    /// # Errors
    /// If the recipe cannot be fitted on these rows.
    pub fn run(recipe: &Recipe<'_>, data: &Dataset, split: &Split, observer: &mut dyn Observer) -> Result<Self> {
        let start = Instant::now();
        let model = recipe.fit(data, Some(&split.train), observer)?;
        let fit_seconds = start.elapsed().as_secs_f64();
        let prepared = model.preparation.apply_rows(&data.columns, &split.test)?;
        let predicted = model.predict(Rows::Prepared(&prepared))?;
        let mut confusion = Confusion::new(data.labels.classes().to_vec());
        for (&i, &p) in split.test.iter().zip(&predicted) {
            confusion.add(data.labels.codes()[i], p);
        }
        Ok(Self::new(confusion, fit_seconds, model.outcome))
    }
}
