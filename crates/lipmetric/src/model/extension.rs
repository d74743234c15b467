use super::Model;
use super::classifier::{Asked, Decide, Mapped};
use super::held_out::{HeldOut, scaled};
use super::nearest::Nearest;
use crate::classify::smooth::largest;
use crate::classify::{Calibration, ExtensionFunction, Prediction};
use crate::method::values::{self, Constant, mean_distance};
use crate::method::{Fit, Method, Serves, Spec, Training};
use crate::neighbours::{ClassIndex, NeighbourIndex};
use crate::robust::{Ball, Kind, Sides, Sites, Supporting, View, crossing, nearest_hyperplane, step_across};
use crate::solver::Observer;
use crate::{Error, Matrix, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// The Lipschitz extension of the values on the training rows, by which the paper classifies:
///
/// `f(x) = alpha min_i (a_i + L rho(x, x_i)) + (1 - alpha) max_i (a_i - L rho(x, x_i))`, of squared distances, for each class; the
/// class of the largest value is predicted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Extending {
    /// The share of the upper extension.
    pub alpha: f64,
    /// The constant `L` that squared distances are multiplied by: 1 where the values were learned together with the metric. Where
    /// numbers are predicted, distances themselves are, and it is the Lipschitz constant of the function.
    pub constant: f64,
    /// How values become probabilities, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
}

impl std::fmt::Display for Extending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the Lipschitz extension of the learned values")?;
        if self.alpha == 0.5 { Ok(()) } else { write!(f, ", alpha {}", self.alpha) }
    }
}

impl Extending {
    /// Of numbers, with this Lipschitz constant.
    pub(super) fn of_numbers(alpha: f64, constant: f64) -> Self {
        Self { alpha, constant, calibration: None }
    }

    /// In words, where numbers are predicted.
    pub(super) fn describe_numbers(&self) -> String {
        let alpha = if self.alpha == 0.5 { String::new() } else { format!(", alpha {}", self.alpha) };
        format!("the Lipschitz extension of the smoothed numbers (constant {:.4}{alpha})", self.constant)
    }

    /// The paper's, of values that were learned together with the metric.
    pub(crate) fn learned() -> Self {
        Self { alpha: 0.5, constant: 1.0, calibration: None }
    }

    fn check(&self, classes: usize) -> Result<()> {
        if !(0.0..=1.0).contains(&self.alpha) {
            return Err(Error::parameter("alpha", format!("{} is outside 0 to 1", self.alpha)));
        }
        if !(self.constant > 0.0 && self.constant.is_finite()) {
            return Err(Error::data(format!("the function's constant is {}: it must be positive", self.constant)));
        }
        match &self.calibration {
            Some(calibration) if !calibration.fits(classes) => {
                Err(Error::data("the calibration of the probabilities is not one of the model's classes"))
            }
            _ => Ok(()),
        }
    }
}

/// Constants that are tried where values are learned for a metric, ...
const TRIED: usize = 10;
/// ... from one at which this part of the rows bend a value or have theirs bent, ...
const NEAREST: f64 = 0.05;
/// ... or, where that is more, a reach of this part of the mean squared distance, ...
const LEAST_REACH: f64 = 1e-4;
/// ... to one whose reach is the mean squared distance.
const MOST_REACH: f64 = 1.0;

/// Learns a metric for the extension, and its values where they do not come with the metric.
pub(super) fn fit(
    spec: &Spec,
    training: &Training<'_>,
    (alpha, calibrate): (f64, bool),
    observer: &mut dyn Observer,
) -> Result<(Fit, Extending)> {
    let mut fit = spec.fit(&training.with_extension(alpha), observer)?;
    let at_scale = fit.slack.is_some() || matches!(spec, Spec::Lip(_));
    let held_out = if at_scale && !calibrate {
        None
    } else {
        Some(HeldOut::new(spec, &fit.outcome, training, Serves::Extension { alpha }, observer)?)
    };
    let mapped = fit.metric.transform(training.x)?;
    let scale = match &held_out {
        Some(held_out) if !at_scale => {
            let (scale, accuracy) = chosen(held_out, alpha, &reaches(&mapped, training)?)?;
            fit.outcome.notes.push(format!(
                "the Lipschitz constant of the function was chosen by cross-validation: it predicts {:.1} % of the held-out \
                 rows correctly",
                100.0 * accuracy
            ));
            scale
        }
        _ => Constant::One,
    };
    let constant = scale.of(&mapped);
    if fit.slack.is_none() {
        let learned = values::learned(&fit.metric, training, spec.row_weights(training)?, constant)?;
        fit.outcome.notes.push(format!(
            "the values of the function were learned for this metric by a linear program, to a certified gap of {:.1e}",
            learned.relative_gap()
        ));
        fit.slack = Some(learned.slack);
    }
    let calibration = match held_out.filter(|_| calibrate).map(|held_out| held_out.values(scale, alpha)).transpose()? {
        Some((values, truth)) if !truth.is_empty() => {
            Some(Calibration::fit(&values, &truth, training.y.classes().len())?)
        }
        _ => None,
    };
    Ok((fit, Extending { alpha, constant, calibration }))
}

/// The reach that predicts held-out rows best, and how many of them. Of equally good ones it is the largest: its function is the
/// flattest.
fn chosen(held_out: &HeldOut, alpha: f64, reaches: &[f64]) -> Result<(Constant, f64)> {
    let mut best = (Constant::Reach(MOST_REACH), f64::NEG_INFINITY);
    for &reach in reaches.iter().rev() {
        let scale = Constant::Reach(reach);
        let (values, truth) = held_out.values(scale, alpha)?;
        let right = (0..truth.len()).filter(|&i| largest(values.row(i)) == truth[i]).count();
        let accuracy = right as f64 / truth.len().max(1) as f64;
        if accuracy > best.1 {
            best = (scale, accuracy);
        }
    }
    Ok(best)
}

/// What is tried, as parts of the mean squared distance: from where few values are bent, which is nearly the nearest neighbour, in
/// equal ratios.
fn reaches(mapped: &Matrix, training: &Training<'_>) -> Result<Vec<f64>> {
    let index = NeighbourIndex::new(mapped.clone())?;
    let nearest = ClassIndex::new(&index, training.y)?.nearest(mapped);
    let mut other: Vec<f64> = (0..mapped.rows())
        .map(|i| {
            let classes = nearest.of(i).iter().enumerate().filter(|(c, _)| *c != training.y.codes()[i] as usize);
            classes.fold(f64::INFINITY, |least, (_, found)| least.min(found.0))
        })
        .collect();
    other.sort_unstable_by(f64::total_cmp);
    let near = other[(NEAREST * other.len() as f64) as usize] / mean_distance(mapped);
    let least = if near.is_finite() { near.clamp(LEAST_REACH, MOST_REACH) } else { LEAST_REACH };
    let ratio = (MOST_REACH / least).powf(1.0 / (TRIED - 1) as f64);
    Ok((0..TRIED).map(|k| least * ratio.powi(k as i32)).collect())
}

/// The function of a model, made ready.
#[derive(Debug)]
pub(super) struct Extend {
    function: ExtensionFunction,
    constant: f64,
    calibration: Option<Calibration>,
    nearest: Nearest,
}

impl Extend {
    pub(super) fn new(model: &Model, extending: &Extending) -> Result<Self> {
        let rows = model.training_rows()?;
        extending.check(rows.y.classes().len())?;
        let Some(values) = &rows.values else {
            return Err(Error::data("the model has no values on its training rows, which its function extends"));
        };
        let mapped = scaled(model.metric.transform(&rows.x)?, extending.constant);
        let function = ExtensionFunction::new(mapped, rows.y.clone(), values.clone(), extending.alpha)?;
        let (constant, calibration) = (extending.constant, extending.calibration.clone());
        Ok(Self { function, constant, calibration, nearest: Nearest::default() })
    }

    fn queries(&self, rows: &Mapped<'_>) -> Matrix {
        scaled(rows.mapped.clone(), self.constant)
    }
}

impl Extend {
    fn check_alpha(&self, asked: &'static str) -> Result<()> {
        let alpha = self.function.alpha();
        if alpha == 0.5 || self.function.labels().counts().iter().filter(|n| **n > 0).count() > 2 {
            return Ok(());
        }
        Err(Error::parameter(
            asked,
            format!(
                "with two classes the border of the function is made of hyperplanes at `alpha = 0.5` only, not at {alpha}"
            ),
        ))
    }

    /// Refuses exact answers where the regions of the classes are no cells of hyperplanes.
    fn check_cells(&self, asked: &'static str) -> Result<()> {
        let classes = self.function.labels().counts().iter().filter(|n| **n > 0).count();
        let overruled = self.function.margins().iter().filter(|m| **m < 0.0).count();
        if classes <= 2 || overruled == 0 {
            return Ok(());
        }
        Err(Error::parameter(
            asked,
            format!(
                "with {classes} classes and {overruled} training rows that the function overrules, several classes can tie in \
                 whole regions, so that nothing exact is told, only certified bounds of the radius"
            ),
        ))
    }

    /// What is asked of each row among the training rows, once for each rival that its class must win against.
    fn each<T: Send>(
        &self,
        rows: &Mapped<'_>,
        labels: &[u32],
        ball: &Ball,
        ask: impl Fn(&View<'_>, &Sides) -> T + Sync,
    ) -> Result<Vec<Vec<T>>> {
        let training = rows.model.training_rows()?;
        let sites = Sites::new(ball, &rows.model.metric, &training.x, rows.model.metric.transform(&training.x)?)?;
        let (y, members) = (&training.y, training.y.members());
        // The function multiplies squared distances by the constant; here the margins are divided by it.
        let margins: Vec<f64> = self.function.margins().iter().map(|m| m / self.constant).collect();
        let sides: Vec<Vec<Sides>> =
            (0..members.len() as u32).map(|label| Sides::of(y, &members, &margins, label)).collect();
        let one = |q: usize| {
            let see = |sides: &Sides| {
                let view = sites.see(rows.prepared.row(q), rows.mapped.row(q), Some(sides.weights.clone()))?;
                Ok(ask(&view, sides))
            };
            sides[labels[q] as usize].iter().map(see).collect()
        };
        (0..labels.len()).into_par_iter().map(one).collect()
    }

    /// Whether row `j` never decides because row `i` is the same, has the same weight, and is of a class that comes first.
    fn passes(&self, i: usize, j: usize, sides: &Sides) -> bool {
        let (rows, codes) = (self.function.rows(), self.function.labels().codes());
        rows.row(i) == rows.row(j) && sides.weights[i] == sides.weights[j] && codes[i] < codes[j]
    }
}

impl Decide for Extend {
    fn predict(&self, rows: &Mapped<'_>) -> Result<Vec<u32>> {
        self.function.predict(&self.queries(rows))
    }

    fn explain(&self, rows: &Mapped<'_>) -> Result<Vec<Prediction>> {
        let queries = self.queries(rows);
        let (labels, values) = (self.function.predict(&queries)?, self.function.values(&queries)?);
        let shares = |values: &[f64]| self.calibration.as_ref().map_or_else(Vec::new, |c| c.shares(values));
        self.nearest.explain(rows, &labels, |i| values.row(i).to_vec(), shares)
    }

    fn shares(&self, rows: &Mapped<'_>) -> Result<Option<Matrix>> {
        let Some(calibration) = &self.calibration else { return Ok(None) };
        Ok(Some(calibration.all(&self.function.values(&self.queries(rows))?)))
    }

    fn index<'a>(&'a self, model: &Model) -> Result<&'a NeighbourIndex> {
        self.nearest.index(model)
    }

    fn radii(&self, rows: &Mapped<'_>, labels: &[u32], asked: &Asked) -> Result<Vec<f64>> {
        self.check_alpha("radius")?;
        if asked.kind == Kind::Exact {
            self.check_cells("radius")?;
        }
        self.each(rows, labels, &asked.ball, |view, sides| {
            let mut supporting = Supporting::new(sides.supporting.clone());
            match asked.kind {
                Kind::Exact => {
                    crossing(view, &mut supporting, &sides.opposing, &|i, j| self.passes(i, j, sides)).radius
                }
                _ => nearest_hyperplane(view, &mut supporting, &sides.opposing),
            }
        })
        .map(|found| found.into_iter().map(|rivals| rivals.into_iter().fold(f64::INFINITY, f64::min)).collect())
    }

    fn crossings(&self, rows: &Mapped<'_>, labels: &[u32], ball: &Ball, beyond: f64) -> Result<Vec<Option<Vec<f64>>>> {
        self.check_alpha("counterfactual")?;
        self.check_cells("counterfactual")?;
        let found = self.each(rows, labels, ball, |view, sides| {
            let mut supporting = Supporting::new(sides.supporting.clone());
            let passes = |i, j| self.passes(i, j, sides);
            step_across(view, &mut supporting, &sides.opposing, beyond, &passes)
        })?;
        let nearest = |rivals: Vec<Option<(f64, Vec<f64>)>>| {
            rivals.into_iter().flatten().min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, step)| step)
        };
        Ok(found.into_iter().map(nearest).collect())
    }
}
