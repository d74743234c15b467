use super::Model;
use super::classifier::{Asked, Decide, Mapped};
use super::held_out::{self, HeldOut};
use super::nearest::Nearest;
use crate::classify::smooth::{self, Discriminant, Fitted, Points, SEED, Said, Sample};
use crate::classify::{
    Calibration, Kernel, Prediction, Reading, SmoothFunction, SmoothSpec, Smoothness, Weights, usual_ks,
};
use crate::data::holdouts;
use crate::method::{Fit, Method, Serves, Spec, Training};
use crate::neighbours::NeighbourIndex;
use crate::solver::{Observer, Progress};
use crate::{Error, Labels, Matrix, Result, Task};
use serde::{Deserialize, Serialize};

/// A smooth function of the distances to the training rows: `f_c(x) = sum_j A_jc k(d(x, x_j))` for each class, with the kernel
/// `exp(-d / l)` or `exp(-d^2 / (2 l^2))`, fitted by kernel ridge to 1 for a row's own class and -1 for the others. The class of the
/// largest value is predicted. Where numbers are predicted there is one function, fitted to them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Smoothing {
    /// The bandwidth `l`, in the learned distance.
    pub bandwidth: f64,
    /// The same as a part of the root of the mean squared distance between the rows, the ridge, and the kernel.
    #[serde(flatten)]
    pub smoothness: Smoothness,
    /// How many of the training rows have a term.
    pub terms: usize,
    /// A Lipschitz constant of every class's function, in the learned distance.
    pub lipschitz: f64,
    /// What is added to the function: the mean of the numbers that are predicted, 0 for classes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offset: f64,
    /// What is added to the value of each class; empty where nothing is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offsets: Vec<f64>,
    /// How values become probabilities; nothing where no rows could be held out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

impl std::fmt::Display for Smoothing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kernel = match self.smoothness.kernel {
            Kernel::Laplace => "",
            Kernel::Gaussian => ", Gaussian kernel",
        };
        let reading = match self.smoothness.reading {
            Reading::Largest => "",
            Reading::Discriminant => ", discriminants of its values",
        };
        write!(
            f,
            "a smooth function of the distances to {} training rows (kernel ridge{kernel}{reading}; bandwidth {:.3}, ridge {})",
            self.terms, self.bandwidth, self.smoothness.ridge
        )
    }
}

/// The terms of a smooth function.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Terms {
    /// Which training rows have one, in ascending order.
    pub rows: Vec<usize>,
    /// The coefficients: a row per term, a column per class, or one where numbers are predicted.
    pub coefficients: Matrix,
}

impl Terms {
    /// Coefficients of these training rows.
    #[must_use]
    pub fn new(rows: Vec<usize>, coefficients: Matrix) -> Self {
        Self { rows, coefficients }
    }

    /// Checks that they can be of so many rows and classes.
    pub(super) fn check(&self, rows: usize, classes: usize) -> Result<()> {
        if self.coefficients.rows() != self.rows.len() {
            return Err(Error::shape("coefficients of the terms", self.rows.len(), self.coefficients.rows()));
        }
        if self.coefficients.cols() != classes {
            return Err(Error::shape("coefficients of each term", classes, self.coefficients.cols()));
        }
        match self.rows.iter().find(|&&i| i >= rows) {
            Some(i) => Err(Error::data(format!("a term is of training row {i}, and there are {rows}"))),
            None => Ok(()),
        }
    }
}

/// Parts of the judged rows, each of which is read by discriminants of the others.
const PARTS: usize = 5;
/// Rows that settings are judged on, at most: each takes the time of the number's third power.
const JUDGED: usize = 2000;
/// The part of many rows that the function of landmarks is judged on, and how many at most.
const HELD: (f64, usize) = (0.1, 2000);

/// Held-out rows, what functions of each setting say of them, and how much each counts.
struct Judged {
    tried: Vec<Smoothness>,
    said: Vec<Said>,
    /// Which setting each of those at the end reads by discriminants.
    raw: Vec<usize>,
    truth: Option<Labels>,
    weights: Vec<f64>,
    how: &'static str,
}

impl Judged {
    fn new(tried: Vec<Smoothness>, how: &'static str) -> Self {
        Self { tried, said: Vec::new(), raw: Vec::new(), truth: None, weights: Vec::new(), how }
    }

    /// Adds what is said of more rows.
    fn add(&mut self, said: Vec<Said>, labels: &Labels, weights: Option<Vec<f64>>) -> Result<()> {
        match &mut self.truth {
            Some(truth) => truth.append(labels),
            none => *none = Some(labels.clone()),
        }
        self.weights.extend(weights.unwrap_or_else(|| vec![1.0; labels.len()]));
        if self.said.is_empty() {
            self.said = said;
            return Ok(());
        }
        for (all, more) in self.said.iter_mut().zip(said) {
            let columns = all.values.cols();
            let mut values = std::mem::take(&mut all.values).into_vec();
            values.extend(more.values.into_vec());
            all.values = Matrix::from_vec(values.len() / columns.max(1), columns, values)?;
            all.radii.extend(more.radii);
        }
        Ok(())
    }
}

impl Judged {
    /// Adds to the settings the same read by discriminants, each part of the rows by those of the others, where there are several
    /// classes.
    fn read(&mut self) {
        let Some(truth) = self.truth.as_ref().filter(|t| t.numbers().is_none() && t.classes().len() > 2) else {
            return;
        };
        let part: Vec<usize> = (0..truth.len()).map(|i| i % PARTS).collect();
        for at in 0..self.said.len() {
            let said = &self.said[at];
            let Some(values) = smooth::crossed(&said.values, truth.codes(), &self.weights, &part) else { continue };
            let said = Said { values, radii: said.radii.clone() };
            self.raw.push(at);
            self.tried.push(self.tried[at].with_reading(Reading::Discriminant));
            self.said.push(said);
        }
    }

    /// The discriminants that a setting is read by, of all rows.
    fn discriminant(&self, at: usize) -> Result<Option<Discriminant>> {
        let plain = self.tried.len() - self.raw.len();
        let (Some(truth), Some(raw)) = (&self.truth, at.checked_sub(plain).map(|k| self.raw[k])) else {
            return Ok(None);
        };
        Discriminant::fit(&self.said[raw].values, truth.codes(), &self.weights).map(Some)
    }

    /// How the values of a setting become probabilities; of classes alone.
    fn calibration(&self, at: usize) -> Result<Option<Calibration>> {
        let truth = self.truth.as_ref().filter(|truth| truth.numbers().is_none());
        let fit = |truth: &Labels| Calibration::fit(&self.said[at].values, truth.codes(), truth.classes().len());
        truth.map(fit).transpose()
    }
}

/// Learns a metric, and the smooth function of its distances.
pub(super) fn fit(
    spec: &Spec,
    training: &Training<'_>,
    asked: SmoothSpec,
    observer: &mut dyn Observer,
) -> Result<(Fit, Smoothing, Terms)> {
    let n = training.x.rows();
    let neighbours = usual_ks(n);
    let serves = Serves::Votes { neighbours: &neighbours, weights: Weights::Uniform };
    let mut fit = spec.fit(&Training { serves, ..*training }, observer)?;
    let mapped = fit.metric.transform(training.x)?;
    let mut judged = if matches!(spec, Spec::Euclidean(_)) {
        judged_by_others(&mapped, training, asked)?
    } else {
        let held_out = HeldOut::new(spec, &fit.outcome, training, serves, observer)?;
        judged_on_folds(&held_out, asked)?
    };
    judged.read();
    let mut chosen = picked(&judged);
    if n > smooth::EXACT_ROWS && observer.progress(&Progress::default()).is_continue() {
        judged =
            judged_by_landmarks(&mapped, training, asked, chosen.map_or(asked.unjudged(), |(at, _)| judged.tried[at]))?;
        judged.read();
        chosen = picked(&judged);
    }
    let (smoothness, calibration, discriminant) = match chosen {
        Some((at, score)) => {
            let worth = match training.y.task() {
                Task::Regression => format!("R2 on these rows is {score:.3}"),
                _ => format!("it predicts {:.1} % of these rows correctly", 100.0 * score),
            };
            let how = judged.how;
            fit.outcome.notes.push(format!("bandwidth and ridge of the smooth function were chosen {how}: {worth}"));
            (judged.tried[at], judged.calibration(at)?, judged.discriminant(at)?)
        }
        None => (asked.unjudged(), None, None),
    };
    let (smoothing, terms) =
        finish(&mapped, training, asked.balanced, smoothness, (calibration, discriminant.as_ref()))?;
    fit.outcome.notes.extend(landmarks_note(&terms, n));
    Ok((fit, smoothing, terms))
}

/// Which rows have a term, where not all have.
pub(super) fn landmarks_note(terms: &Terms, rows: usize) -> Option<String> {
    let count = terms.rows.len();
    (count < rows).then(|| {
        format!("the smooth function has a term for each of {count} of the {rows} rows (landmarks), fitted to all rows")
    })
}

/// The smooth function that was chosen together with a metric, and its parts.
pub(super) fn chosen(fit: &Fit, training: &Training<'_>, asked: SmoothSpec) -> Result<(Smoothing, Terms)> {
    let chosen = fit.outcome.choice.as_ref().and_then(|choice| choice.chosen.smoothness);
    let mapped = fit.metric.transform(training.x)?;
    let smoothness = chosen.unwrap_or_else(|| asked.unjudged());
    finish(&mapped, training, asked.balanced, smoothness, (fit.calibration.clone(), fit.discriminant.as_ref()))
}

/// The function of these settings on mapped rows, and its parts.
fn finish(
    mapped: &Matrix,
    training: &Training<'_>,
    balanced: bool,
    smoothness: Smoothness,
    (calibration, discriminant): (Option<Calibration>, Option<&Discriminant>),
) -> Result<(Smoothing, Terms)> {
    let landmarks = (mapped.rows() > smooth::EXACT_ROWS).then_some((smooth::LANDMARKS, SEED));
    let labels = training.y;
    let weights = smooth::row_weights(labels, training.weights, balanced);
    let Fitted { centres, function } = smooth::fit(mapped, labels, weights.as_deref(), smoothness, landmarks)?;
    let function = match discriminant {
        Some(discriminant) => function.read_by(discriminant)?,
        None => function,
    };
    let smoothing = Smoothing {
        bandwidth: function.bandwidth(),
        smoothness,
        terms: centres.len(),
        lipschitz: function.lipschitz(),
        offset: function.offset(),
        offsets: function.offsets().to_vec(),
        calibration,
    };
    Ok((smoothing, Terms::new(centres, function.coefficients().clone())))
}

fn picked(judged: &Judged) -> Option<(usize, f64)> {
    judged.truth.as_ref().map(|truth| smooth::pick(&judged.said, truth, &judged.weights))
}

/// Each row of a sample by all others: right where the metric has not seen the labels.
fn judged_by_others(mapped: &Matrix, training: &Training<'_>, asked: SmoothSpec) -> Result<Judged> {
    let rows = held_out::sample(training.y, JUDGED)?;
    let (mapped, labels) = (mapped.select_rows(&rows), training.y.select(&rows));
    let weights = part_weights(training, &labels, &rows, asked);
    let mut judged = Judged::new(asked.tried(), "by leave-one-out");
    if labels.len() < 2 {
        return Ok(judged);
    }
    let points = Points::new(&mapped);
    let within = points.squared_within();
    let sample = Sample { within: &within, spread: points.spread(), labels: &labels, weights: weights.as_deref() };
    judged.add(sample.left_out(&judged.tried)?, &labels, weights.clone())?;
    Ok(judged)
}

/// Each fold by what was learned from the others, the metric included.
fn judged_on_folds(held_out: &HeldOut, asked: SmoothSpec) -> Result<Judged> {
    let mut judged = Judged::new(asked.tried(), "by cross-validation");
    for fold in &held_out.folds {
        let training = fold.part.training()?;
        let points = Points::new(&fold.metric.transform(training.x)?);
        let weights = smooth::row_weights(training.y, training.weights, asked.balanced);
        let (within, spread) = (points.squared_within(), points.spread());
        let sample = Sample { within: &within, spread, labels: training.y, weights: weights.as_deref() };
        let queries = points.squared_distances(&fold.metric.transform(&fold.queries)?);
        let counts = smooth::row_weights(&fold.truth, fold.weights.as_deref(), asked.balanced);
        judged.add(sample.at(&queries, &judged.tried)?, &fold.truth, counts)?;
    }
    Ok(judged)
}

/// A part of the rows by a function of landmarks that is fitted to all others, for all ridges.
fn judged_by_landmarks(
    mapped: &Matrix,
    training: &Training<'_>,
    asked: SmoothSpec,
    near: Smoothness,
) -> Result<Judged> {
    let labels = training.y;
    let part = (HELD.1 as f64 / labels.len() as f64).min(HELD.0);
    let Some(split) = holdouts(labels, 1.0 - part, 1, SEED)?.into_iter().next() else {
        return Ok(Judged::new(vec![near], ""));
    };
    let tried = asked.near(near);
    let (rows, seen) = (mapped.select_rows(&split.train), labels.select(&split.train));
    let weights = part_weights(training, &seen, &split.train, asked);
    let functions = smooth::fit_landmarks(&rows, &seen, weights.as_deref(), &tried, (smooth::LANDMARKS, SEED))?;
    let queries = mapped.select_rows(&split.test);
    let say = |function: &SmoothFunction| {
        Ok(Said { values: function.values(&queries)?, radii: function.usual_radii(&queries)? })
    };
    let said = functions.iter().map(say).collect::<Result<Vec<_>>>()?;
    let mut judged = Judged::new(tried, "on a sample, the ridge again on rows held out from a function of all others");
    let unseen = labels.select(&split.test);
    let counts = part_weights(training, &unseen, &split.test, asked);
    judged.add(said, &unseen, counts)?;
    Ok(judged)
}

/// How much each of these rows counts.
fn part_weights(training: &Training<'_>, labels: &Labels, rows: &[usize], asked: SmoothSpec) -> Option<Vec<f64>> {
    let given: Option<Vec<f64>> = training.weights.map(|w| rows.iter().map(|&i| w[i]).collect());
    smooth::row_weights(labels, given.as_deref(), asked.balanced)
}

/// The function of a model.
pub(super) fn function(model: &Model, smoothing: &Smoothing) -> Result<SmoothFunction> {
    let rows = model.training_rows()?;
    let Some(terms) = &rows.terms else {
        return Err(Error::data("the model has no coefficients, by which its smooth function predicts"));
    };
    let centres = model.metric.transform(&rows.x.select_rows(&terms.rows))?;
    let function = SmoothFunction::new(&centres, terms.coefficients.clone(), smoothing.bandwidth)?;
    function.with_kernel(smoothing.smoothness.kernel).above(smoothing.offset).with_offsets(smoothing.offsets.clone())
}

/// The function of a model, made ready.
#[derive(Debug)]
pub(super) struct Smooth {
    function: SmoothFunction,
    calibration: Option<Calibration>,
    nearest: Nearest,
}

impl Smooth {
    pub(super) fn new(model: &Model, smoothing: &Smoothing) -> Result<Self> {
        let rows = model.training_rows()?;
        if smoothing.calibration.as_ref().is_some_and(|c| !c.fits(rows.y.classes().len())) {
            return Err(Error::data("the calibration of the probabilities is not one of the model's classes"));
        }
        Ok(Self {
            function: function(model, smoothing)?,
            calibration: smoothing.calibration.clone(),
            nearest: Nearest::default(),
        })
    }

    fn share(&self, values: &[f64]) -> Vec<f64> {
        self.calibration.as_ref().map_or_else(Vec::new, |c| c.shares(values))
    }
}

impl Decide for Smooth {
    fn predict(&self, rows: &Mapped<'_>) -> Result<Vec<u32>> {
        self.function.predict(&rows.mapped)
    }

    fn explain(&self, rows: &Mapped<'_>) -> Result<Vec<Prediction>> {
        let values = self.function.values(&rows.mapped)?;
        let labels: Vec<u32> = (0..values.rows()).map(|i| smooth::largest(values.row(i))).collect();
        self.nearest.explain(rows, &labels, |i| values.row(i).to_vec(), |values| self.share(values))
    }

    fn shares(&self, rows: &Mapped<'_>) -> Result<Option<Matrix>> {
        let Some(calibration) = &self.calibration else { return Ok(None) };
        Ok(Some(calibration.all(&self.function.values(&rows.mapped)?)))
    }

    fn index<'a>(&'a self, model: &Model) -> Result<&'a NeighbourIndex> {
        self.nearest.index(model)
    }

    fn radii(&self, rows: &Mapped<'_>, _: &[u32], asked: &Asked) -> Result<Vec<f64>> {
        asked.bound_only("a smooth function")?;
        Ok(self.function.radii(&rows.mapped)?.into_iter().map(|r| asked.ball.of_learned(r)).collect())
    }
}
