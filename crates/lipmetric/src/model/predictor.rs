use super::classifier::{Certified, Ready};
use super::counterfactual::{self, Counterfactual};
use super::{Model, Rows};
use crate::classify::Prediction;
use crate::neighbours::Neighbours;
use crate::robust::{Norm, Radius, Space};
use crate::{Matrix, Result};
use std::sync::Arc;

/// A model made ready to predict: its training rows are mapped and indexed once, for any number of batches. It can be
/// shared between threads.
///
/// ```
/// use lipmetric::data::{Column, Table};
/// use lipmetric::method::Euclidean;
/// use lipmetric::model::{Predictor, Recipe};
/// use lipmetric::prepare::{Dataset, Roles};
/// use lipmetric::{Matrix, solver::Silent};
/// let x = Column::numbers("x", vec![0.0, 1.0, 8.0, 9.0]);
/// let table = Table::new("rows", vec![x, Column::texts("kind", ["a", "a", "b", "b"])]);
/// let model = Recipe::new(&Euclidean::new().into()).fit(&Dataset::read(&table, &Roles::default())?, None, &mut Silent)?;
/// let predictor = Predictor::new(model)?;
/// for batch in [Matrix::from_rows(&[[2.0], [7.0]]), Matrix::from_rows(&[[8.5]])] {
///     for certified in predictor.radii(&batch)? {
///         println!("{}: {}", predictor.class(certified.prediction.label), certified.radius);
///     }
/// }
/// assert_eq!(predictor.predict(&Matrix::from_rows(&[[2.0], [7.0]]))?, [0, 1]);
/// # Ok::<(), lipmetric::Error>(())
/// ```
#[derive(Debug)]
pub struct Predictor {
    model: Arc<Model>,
    ready: Ready,
}

impl Predictor {
    /// Makes a model ready.
    ///
    /// # Errors
    /// If the model was stored without its training rows, or these cannot be searched.
    pub fn new(model: impl Into<Arc<Model>>) -> Result<Self> {
        let model = model.into();
        let ready = model.ready()?;
        Ok(Self { model, ready })
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The name of a predicted class.
    ///
    /// # Panics
    /// If there is no such class.
    #[must_use]
    pub fn class(&self, label: u32) -> &str {
        &self.model.classes[label as usize]
    }

    /// As [`Model::transform`].
    ///
    /// # Errors
    /// As [`Model::transform`].
    pub fn transform<'a>(&self, rows: impl Into<Rows<'a>>) -> Result<Matrix> {
        self.model.transform(rows)
    }

    /// As [`Model::predict`].
    ///
    /// # Errors
    /// As [`Model::predict`].
    pub fn predict<'a>(&self, rows: impl Into<Rows<'a>>) -> Result<Vec<u32>> {
        self.ready.classes()?.predict(&self.model.map(rows.into())?)
    }

    /// As [`Model::estimate`].
    ///
    /// # Errors
    /// As [`Model::estimate`].
    pub fn estimate<'a>(&self, rows: impl Into<Rows<'a>>) -> Result<Vec<f64>> {
        self.ready.numbers()?.predict(&self.model.map(rows.into())?)
    }

    /// As [`Model::ranges`].
    ///
    /// # Errors
    /// As [`Model::ranges`].
    pub fn ranges<'a>(&self, rows: impl Into<Rows<'a>>, radius: Radius, length: f64) -> Result<Vec<(f64, f64)>> {
        super::number::ranges(self.ready.numbers()?, &self.model.map(rows.into())?, radius, length)
    }

    /// As [`Model::explain`].
    ///
    /// # Errors
    /// As [`Model::explain`].
    pub fn explain<'a>(&self, rows: impl Into<Rows<'a>>) -> Result<Vec<Prediction>> {
        self.ready.classes()?.explain(&self.model.map(rows.into())?)
    }

    /// As [`Model::shares`].
    ///
    /// # Errors
    /// As [`Model::shares`].
    pub fn shares<'a>(&self, rows: impl Into<Rows<'a>>) -> Result<Option<Matrix>> {
        self.ready.classes()?.shares(&self.model.map(rows.into())?)
    }

    /// As [`Model::radii`].
    ///
    /// # Errors
    /// As [`Model::radii`].
    pub fn radii<'a>(&self, rows: impl Into<Rows<'a>>) -> Result<Vec<Certified>> {
        super::certified(self.ready.classes()?, &self.model.map(rows.into())?)
    }

    /// As [`Model::certify`].
    ///
    /// # Errors
    /// As [`Model::certify`].
    pub fn certify<'a>(&self, rows: impl Into<Rows<'a>>, radius: Radius) -> Result<Vec<(u32, f64)>> {
        super::certify(self.ready.classes()?, &self.model.map(rows.into())?, radius)
    }

    /// As [`Model::counterfactuals`].
    ///
    /// # Errors
    /// As [`Model::counterfactuals`].
    pub fn counterfactuals<'a>(
        &self,
        rows: impl Into<Rows<'a>>,
        norm: Norm,
        space: Space,
    ) -> Result<Vec<Option<Counterfactual>>> {
        counterfactual::find(self.ready.classes()?, &self.model.map(rows.into())?, norm, space)
    }

    /// As [`Model::neighbours`].
    ///
    /// # Errors
    /// As [`Model::neighbours`].
    pub fn neighbours<'a>(&self, rows: impl Into<Rows<'a>>, k: usize) -> Result<Neighbours> {
        self.ready.index(&self.model)?.query(&self.model.transform(rows)?, k)
    }
}
