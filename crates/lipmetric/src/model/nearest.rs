//! The nearest training rows, for a classifier that does not search them itself.

use super::Model;
use super::classifier::Mapped;
use crate::Result;
use crate::classify::{KnnClassifier, Prediction, Weights};
use crate::neighbours::NeighbourIndex;
use std::sync::OnceLock;

/// Tells the nearest rows; made when they are first asked for.
#[derive(Debug, Default)]
pub(super) struct Nearest {
    made: OnceLock<KnnClassifier>,
}

impl Nearest {
    fn of(&self, model: &Model) -> Result<&KnnClassifier> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        let rows = model.training_rows()?;
        let index = NeighbourIndex::new(model.metric.transform(&rows.x)?)?;
        let made = KnnClassifier::new(index, rows.y.clone(), 1, Weights::Uniform)?;
        Ok(self.made.get_or_init(|| made))
    }

    /// The training rows, mapped and indexed.
    pub(super) fn index(&self, model: &Model) -> Result<&NeighbourIndex> {
        Ok(self.of(model)?.index())
    }

    /// What is told of rows that a function gives these classes: its values, and the shares that they become.
    pub(super) fn explain(
        &self,
        rows: &Mapped<'_>,
        labels: &[u32],
        values: impl Fn(usize) -> Vec<f64>,
        shares: impl Fn(&[f64]) -> Vec<f64>,
    ) -> Result<Vec<Prediction>> {
        let mut told = self.of(rows.model)?.explain_as(&rows.mapped, labels)?;
        for (i, row) in told.iter_mut().enumerate() {
            row.values = values(i);
            row.shares = shares(&row.values);
        }
        Ok(told)
    }
}
