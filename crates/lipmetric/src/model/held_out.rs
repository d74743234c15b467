//! A method fitted on folds: what is chosen or calibrated for a function must be so on rows that it has not seen.

use crate::classify::ExtensionFunction;
use crate::data::{folds, holdouts};
use crate::method::values::{self, Constant};
use crate::method::{Method, Outcome, Part, Serves, Spec, Training};
use crate::solver::{Fleeting, Observer, Status};
use crate::{Labels, Matrix, Metric, Result};

/// Folds that the rows are dealt to, ...
const FOLDS: usize = 5;
/// ... and how many rows, at most: enough for a standard error of two points.
const ROWS: usize = 600;

/// A method learned from all folds but one.
pub(super) struct Fold {
    pub(super) part: Part,
    pub(super) metric: Metric,
    slack: Option<Vec<f64>>,
    /// The rows that it has not seen, and their labels.
    pub(super) queries: Matrix,
    pub(super) truth: Labels,
    /// How much each of them counts, where not all count the same.
    pub(super) weights: Option<Vec<f64>>,
}

/// A method learned from all folds but one, for each of them.
pub(super) struct HeldOut {
    pub(super) folds: Vec<Fold>,
    /// How much each row counts in values that are learned for a metric.
    spec: Spec,
    classes: usize,
}

impl HeldOut {
    /// Fits the method on folds of the rows, with what its fit on all rows has chosen. A fold that cannot be learned from tells
    /// nothing; a wish to stop ends it early.
    pub(super) fn new(
        spec: &Spec,
        outcome: &Outcome,
        data: &Training<'_>,
        serves: Serves<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let n = data.x.rows();
        let sample = sample(data.y, ROWS)?;
        let labels: Labels = data.y.select(&sample);
        let mut out = Vec::new();
        for split in folds(&labels, FOLDS.min(sample.len()), 0)? {
            let of = |places: &[usize]| -> Vec<usize> { places.iter().map(|&i| sample[i]).collect() };
            let (train, test) = (of(&split.train), of(&split.test));
            let part = Part::of(data, &train);
            let settled = spec.settled(outcome, train.len() as f64 / n as f64);
            let fit = part
                .training()
                .and_then(|training| settled.fit(&Training { serves, ..training }, &mut Fleeting(observer)));
            let Ok(fit) = fit else { continue };
            if matches!(fit.outcome.status, Status::Interrupted | Status::TimeLimit) {
                break;
            }
            let truth = data.y.select(&test);
            let queries = data.x.select_rows(&test);
            let weights = data.weights.map(|w| test.iter().map(|&i| w[i]).collect());
            out.push(Fold { part, metric: fit.metric, slack: fit.slack, queries, truth, weights });
        }
        Ok(Self { folds: out, spec: spec.clone(), classes: data.y.classes().len() })
    }

    /// The values of the function on the rows of each fold, as learned from the others, a column per class, and the classes of these
    /// rows.
    pub(super) fn values(&self, constant: Constant, alpha: f64) -> Result<(Matrix, Vec<u32>)> {
        let (mut values, mut truth) = (Vec::new(), Vec::new());
        for fold in &self.folds {
            let training = fold.part.training()?;
            let rows = fold.metric.transform(training.x)?;
            let (margins, constant) = match &fold.slack {
                Some(slack) => (slack.iter().map(|xi| 1.0 - xi).collect(), 1.0),
                None => {
                    let (constant, weights) = (constant.of(&rows), self.spec.row_weights(&training)?);
                    (values::learned(&fold.metric, &training, weights, constant)?.margins(), constant)
                }
            };
            let function = ExtensionFunction::new(scaled(rows, constant), training.y.clone(), margins, alpha)?;
            let queries = scaled(fold.metric.transform(&fold.queries)?, constant);
            values.extend_from_slice(function.values(&queries)?.as_slice());
            truth.extend_from_slice(fold.truth.codes());
        }
        Ok((Matrix::from_vec(truth.len(), self.classes, values)?, truth))
    }
}

/// About so many of the rows, of each class in proportion; all where there are no more.
pub(super) fn sample(labels: &Labels, most: usize) -> Result<Vec<usize>> {
    let n = labels.len();
    let split = if n > most { holdouts(labels, most as f64 / n as f64, 1, 0)? } else { Vec::new() };
    Ok(split.into_iter().next().map_or_else(|| (0..n).collect(), |split| split.train))
}

/// Mapped rows whose squared distances are multiplied by the constant.
pub(super) fn scaled(mut rows: Matrix, constant: f64) -> Matrix {
    if constant != 1.0 {
        let root = constant.sqrt();
        rows.as_mut_slice().iter_mut().for_each(|v| *v *= root);
    }
    rows
}
