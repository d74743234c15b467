//! Models of numbers: the mean of the nearest rows, the Lipschitz extension and the smooth function, made ready.

use super::Model;
use super::classifier::{Asked, Mapped};
use super::extension::Extending;
use super::held_out::HeldOut;
use super::nearest::Nearest;
use super::smooth::{self, Smoothing};
use super::vote::Voting;
use crate::classify::smooth::{Points, explained};
use crate::classify::{SmoothFunction, usual_ks};
use crate::method::{Fit, Method, Serves, Spec, Training};
use crate::neighbours::NeighbourIndex;
use crate::regress::{LipschitzFunction, Means};
use crate::robust::Radius;
use crate::solver::Observer;
use crate::{Error, Matrix, Result};
use std::fmt::Debug;

/// What predicts numbers, made ready. The rows are of the model that it was made from.
pub(super) trait Estimate: Debug + Send + Sync {
    /// The number of each row.
    fn predict(&self, rows: &Mapped<'_>) -> Result<Vec<f64>>;

    /// The least and the largest number that a row may get that is less than this far, in the learned distance.
    fn ranges(&self, rows: &Mapped<'_>, radius: f64) -> Result<Vec<(f64, f64)>>;

    /// The training rows of the model, mapped and indexed.
    fn index<'a>(&'a self, model: &Model) -> Result<&'a NeighbourIndex>;
}

/// The ranges within a length of a norm.
pub(super) fn ranges(
    estimate: &dyn Estimate,
    rows: &Mapped<'_>,
    radius: Radius,
    length: f64,
) -> Result<Vec<(f64, f64)>> {
    if !(length >= 0.0 && length.is_finite()) {
        return Err(Error::parameter("within", format!("{length} is not a length: give 0 or more")));
    }
    estimate.ranges(rows, Asked::new(rows.model, radius)?.ball.to_learned(length))
}

fn numbers(model: &Model) -> Result<&[f64]> {
    let numbers = model.training_rows()?.y.numbers();
    numbers.ok_or_else(|| Error::data("the training rows of the model have classes, and no numbers"))
}

/// The mean of the nearest rows.
#[derive(Debug)]
pub(super) struct Mean(Means);

impl Mean {
    pub(super) fn new(model: &Model, voting: Voting) -> Result<Self> {
        let index = NeighbourIndex::new(model.metric.transform(&model.training_rows()?.x)?)?;
        Means::new(index, numbers(model)?.to_vec(), voting.k, voting.weights).map(Self)
    }
}

impl Estimate for Mean {
    fn predict(&self, rows: &Mapped<'_>) -> Result<Vec<f64>> {
        self.0.predict(&rows.mapped)
    }

    fn ranges(&self, rows: &Mapped<'_>, radius: f64) -> Result<Vec<(f64, f64)>> {
        self.0.ranges(&rows.mapped, radius)
    }

    fn index<'a>(&'a self, _: &Model) -> Result<&'a NeighbourIndex> {
        Ok(self.0.index())
    }
}

/// A prediction, and what it may change by.
fn around(predicted: Vec<f64>, by: impl IntoIterator<Item = f64>) -> Vec<(f64, f64)> {
    predicted.into_iter().zip(by).map(|(v, by)| (v - by, v + by)).collect()
}

/// The Lipschitz extension of the smoothed numbers.
#[derive(Debug)]
pub(super) struct Extended {
    function: LipschitzFunction,
    nearest: Nearest,
}

impl Extended {
    pub(super) fn new(model: &Model, extending: &Extending) -> Result<Self> {
        let rows = model.training_rows()?;
        let Some(values) = &rows.values else {
            return Err(Error::data("the model has no smoothed numbers, by which its extension predicts"));
        };
        let mapped = model.metric.transform(&rows.x)?;
        let function = LipschitzFunction::new(mapped, values.clone(), extending.constant, extending.alpha)?;
        Ok(Self { function, nearest: Nearest::default() })
    }
}

impl Estimate for Extended {
    fn predict(&self, rows: &Mapped<'_>) -> Result<Vec<f64>> {
        self.function.predict(&rows.mapped)
    }

    fn ranges(&self, rows: &Mapped<'_>, radius: f64) -> Result<Vec<(f64, f64)>> {
        let by = std::iter::repeat(self.function.constant() * radius);
        Ok(around(self.function.predict(&rows.mapped)?, by))
    }

    fn index<'a>(&'a self, model: &Model) -> Result<&'a NeighbourIndex> {
        self.nearest.index(model)
    }
}

/// The smooth function of the distances.
#[derive(Debug)]
pub(super) struct Smoothed {
    function: SmoothFunction,
    nearest: Nearest,
}

impl Smoothed {
    pub(super) fn new(model: &Model, smoothing: &Smoothing) -> Result<Self> {
        Ok(Self { function: smooth::function(model, smoothing)?, nearest: Nearest::default() })
    }
}

impl Estimate for Smoothed {
    fn predict(&self, rows: &Mapped<'_>) -> Result<Vec<f64>> {
        Ok(self.function.values(&rows.mapped)?.into_vec())
    }

    fn ranges(&self, rows: &Mapped<'_>, radius: f64) -> Result<Vec<(f64, f64)>> {
        let by = self.function.changes(&rows.mapped, radius)?;
        Ok(around(self.predict(rows)?, by))
    }

    fn index<'a>(&'a self, model: &Model) -> Result<&'a NeighbourIndex> {
        self.nearest.index(model)
    }
}

/// The numbers of mapped rows as the extension has them.
pub(super) fn smoothed(mapped: &Matrix, numbers: &[f64], extending: &Extending) -> Result<Vec<f64>> {
    let function = LipschitzFunction::fit(mapped, numbers, extending.constant, extending.alpha)?;
    Ok(function.values().to_vec())
}

/// Lipschitz constants that are tried, in standard deviations of the numbers per root mean squared distance of the rows: from where
/// only the trend is left to where every number is kept.
const SLOPES: [f64; 9] = [0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0, 8.0, 32.0];
/// What is taken where nothing could be judged.
const UNJUDGED: f64 = 1.5;

/// The unit of a Lipschitz constant: standard deviations of the numbers per root mean squared distance.
fn unit(mapped: &Matrix, numbers: &[f64]) -> f64 {
    let n = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / n;
    let deviation = (numbers.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
    let spread = Points::new(mapped).spread();
    let unit = deviation / spread;
    if unit > 0.0 && unit.is_finite() { unit } else { 1.0 }
}

/// Learns a metric, and the Lipschitz constant of the extension: of those that predict held-out rows no worse than the best by more
/// than one standard error, the smallest.
pub(super) fn fit_extension(
    spec: &Spec,
    training: &Training<'_>,
    alpha: f64,
    observer: &mut dyn Observer,
) -> Result<(Fit, Extending)> {
    let neighbours = usual_ks(training.x.rows());
    let serves = match spec {
        Spec::Auto(_) => Serves::Extension { alpha },
        _ => Serves::Votes { neighbours: &neighbours, weights: crate::classify::Weights::Uniform },
    };
    let mut fit = spec.fit(&Training { serves, ..*training }, observer)?;
    let settled = chosen_metric(spec, &fit);
    let held_out = HeldOut::new(&settled, &fit.outcome, training, serves, observer)?;
    let (mut told, mut truth) = (vec![Vec::new(); SLOPES.len()], Vec::new());
    for fold in &held_out.folds {
        let part = fold.part.training()?;
        let (rows, queries) = (fold.metric.transform(part.x)?, fold.metric.transform(&fold.queries)?);
        let (Some(known), Some(unknown)) = (part.y.numbers(), fold.truth.numbers()) else { continue };
        let unit = unit(&rows, known);
        for (told, slope) in told.iter_mut().zip(SLOPES) {
            told.extend(LipschitzFunction::fit(&rows, known, slope * unit, alpha)?.predict(&queries)?);
        }
        truth.extend_from_slice(unknown);
    }
    let slope = match truth.len() {
        0 => UNJUDGED,
        _ => {
            let (at, r2) = least_slope(&told, &truth);
            fit.outcome
                .notes
                .push(format!("the Lipschitz constant was chosen by cross-validation: R2 on held-out rows is {r2:.3}"));
            SLOPES[at]
        }
    };
    let mapped = fit.metric.transform(training.x)?;
    let numbers = training.y.numbers().unwrap_or_default();
    if numbers.len() > crate::regress::SMOOTHED {
        fit.outcome.notes.push(format!(
            "the numbers of {} of the {} rows were smoothed, and those of the others are what these give",
            crate::regress::SMOOTHED,
            numbers.len()
        ));
    }
    Ok((fit, Extending::of_numbers(alpha, slope * unit(&mapped, numbers))))
}

/// The method by which folds are learned: what was chosen, where something was, so that folds do not choose again.
fn chosen_metric(spec: &Spec, fit: &Fit) -> Spec {
    use crate::method::{Agop, Euclidean, MetricKind, Mlkr};
    match (spec, fit.outcome.choice.as_ref().map(|c| c.chosen.metric)) {
        (Spec::Auto(_), Some(MetricKind::Agop)) => Agop::new().into(),
        (Spec::Auto(_), Some(MetricKind::Mlkr)) => Mlkr::new().into(),
        (Spec::Auto(_), _) => Euclidean::new().into(),
        _ => spec.clone(),
    }
}

/// The first of what is told, by ascending slope, that is no worse than the best by more than one standard error of the paired
/// difference, and its R2.
fn least_slope(told: &[Vec<f64>], truth: &[f64]) -> (usize, f64) {
    let good: Vec<Vec<f64>> = told.iter().map(|t| explained(t, truth)).collect();
    let n = truth.len() as f64;
    let mean = |v: &[f64]| v.iter().sum::<f64>() / n;
    let means: Vec<f64> = good.iter().map(|g| mean(g)).collect();
    let best = (0..means.len()).fold(0, |top, k| if means[k] > means[top] { k } else { top });
    let near = |k: &usize| {
        let apart: Vec<f64> = good[best].iter().zip(&good[*k]).map(|(a, b)| a - b).collect();
        let gap = mean(&apart);
        gap <= apart.iter().map(|d| (d - gap).powi(2)).sum::<f64>().sqrt() / n
    };
    let at = (0..means.len()).find(near).unwrap_or(best);
    (at, means[at])
}
