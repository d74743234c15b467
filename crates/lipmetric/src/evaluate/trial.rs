use super::Confusion;
use crate::data::Split;
use crate::method::Outcome;
use crate::model::Recipe;
use crate::prepare::{Columns, Schema};
use crate::solver::Observer;
use crate::{Labels, Result};
use std::time::Instant;

/// What a recipe did on one split.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// True against predicted classes of the test rows.
    pub confusion: Confusion,
    /// Seconds that the fit took.
    pub fit_seconds: f64,
    /// How the fit ended.
    pub outcome: Outcome,
}

impl Trial {
    /// Fits on the split's training rows and predicts its test rows. Preparation, too, sees the training rows alone.
    ///
    /// # Errors
    /// If the recipe cannot be fitted on these rows.
    pub fn run(
        recipe: &Recipe<'_>,
        schema: &Schema,
        columns: &Columns,
        labels: &Labels,
        split: &Split,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let start = Instant::now();
        let model = recipe.fit(schema, columns, labels, Some(&split.train), observer)?;
        let fit_seconds = start.elapsed().as_secs_f64();
        let x = model.metric.transform(&model.preparation.apply_rows(columns, &split.test)?)?;
        let predicted = model.classifier()?.predict(&x)?;
        let mut confusion = Confusion::new(labels.classes().to_vec());
        for (&i, &p) in split.test.iter().zip(&predicted) {
            confusion.add(labels.codes()[i], p);
        }
        Ok(Self { confusion, fit_seconds, outcome: model.outcome })
    }
}
