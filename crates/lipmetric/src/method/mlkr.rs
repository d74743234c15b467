//! Metric learning for kernel regression (Weinberger and Tesauro 2007).
//!
//! Each row's number is predicted from all others, by their mean weighted by `exp(-||L(x_i - x_j)||^2)`. The map `L` is chosen to
//! make the squared errors small. Not convex: what is found is a local optimum, and depends on where the search begins. The errors
//! of the rows themselves go on to fall where those of others rise, so that the search ends where it serves rows best that it does
//! not see.

use super::held_out::{self, Chosen, Descent, Unseen};
use super::nca::{finite, status};
use super::parameters::parameters;
use super::start::{Begin, Init, coordinates, note_collapse, notes_on};
use super::{Fit, Method, Outcome, Training, check_limits};
use crate::pairs::{Row, Softmax};
use crate::problem::Coordinates;
use crate::solver::lbfgs::{End, Lbfgs, Steps, Told};
use crate::solver::{Halt, Kept, Observer, Progress, Status, Timed, Translated};
use crate::{Error, Labels, Matrix, Metric, Result, linalg};
use std::ops::ControlFlow;

parameters! {
    /// Metric learning for kernel regression: the rival where the targets are numbers.
    ///
    /// The objective that is reported is the sum of the squared leave-one-out errors, `sum_i w_i (y_i - f_i)^2`. With weights, row
    /// `i` counts `w_i` times, as a row and as a neighbour, but never as its own.
    ///
    /// The number of steps is chosen three times by a fifth of the rows, which the search does not see, and then done on all rows.
    ///
    /// ```
    /// use lipmetric::method::{Method, Mlkr, Training};
    /// use lipmetric::{Labels, Matrix, solver::Silent};
    /// // The number is the first feature; the second one says nothing about it.
    /// let rows: Vec<[f64; 2]> = (0..40).map(|i| [i as f64 / 20.0, (i * 7 % 20) as f64 / 10.0]).collect();
    /// let x = Matrix::from_rows(&rows);
    /// let y = Labels::from_numbers(rows.iter().map(|row| row[0]).collect())?;
    /// let fit = Mlkr::new().fit(&Training::new(&x, &y)?, &mut Silent)?;
    /// let m = fit.metric.matrix();
    /// assert!(m[(0, 0)] > 4.0 * m[(1, 1)], "{m:?}");
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    pub struct Mlkr = "mlkr" {
        /// The number of rows of `L`, all unless it is given.
        n_components: Option<usize> as impl Into<Option<usize>> = None,
        /// Where the search begins, unless a metric to start from is given.
        init: Init = Init::Auto,
        /// There is no certificate: the search ends when a step improves the objective by less than this part of what it is where
        /// every number is predicted by the mean.
        tolerance: f64 = 1e-5,
        /// Steps, at most.
        max_iterations: usize = 200,
        /// How often a fifth of the rows is held out to choose the number of steps. With 0 the search goes on until it converges, as
        /// in the paper, and may fit noise.
        held_out: usize = held_out::REPEATS,
    }
}

/// How many steps and gradient changes are remembered.
const MEMORY: usize = 10;
/// A start that is not asked for by name has this mean squared distance: neighbours at a tenth of it count most.
const SPREAD: f64 = 10.0;

/// The objective on given coordinates.
struct Search<'a> {
    frame: &'a Coordinates,
    softmax: Softmax<'a>,
    /// The number of each point.
    numbers: Vec<f64>,
    tolerance: f64,
}

impl<'a> Search<'a> {
    fn new(data: &Training<'_>, frame: &'a Coordinates, tolerance: f64) -> Result<Self> {
        let Some(numbers) = data.y.numbers() else {
            return Err(Error::parameter(
                "method",
                "mlkr learns from targets that are numbers, and these are classes; use nca, or `task = regression`",
            ));
        };
        let numbers = frame.cloud.origin.iter().map(|&row| numbers[row]).collect();
        Ok(Self { frame, softmax: Softmax::new(&frame.cloud), numbers, tolerance })
    }

    /// What a point's error costs, and the derivative by its squared distances to the others.
    fn of(&self, row: &Row<'_>, coefficients: &mut [f64]) -> f64 {
        let number = |j: u32| self.numbers[j as usize];
        let total: f64 = row.chances.iter().sum();
        if total <= 0.0 {
            coefficients.iter_mut().for_each(|c| *c = 0.0);
            return 0.0;
        }
        let said = row.others.iter().zip(row.chances).map(|(&j, p)| p * number(j)).sum::<f64>() / total;
        let error = said - self.numbers[row.i];
        let weight = self.frame.cloud.weight[row.i];
        for ((out, &j), chance) in coefficients.iter_mut().zip(row.others).zip(row.chances) {
            *out = 2.0 * weight * error * chance / total * (said - number(j));
        }
        weight * error * error
    }

    fn value(&self, factor: &Matrix, gradient: &mut [f64]) -> f64 {
        let total = self.softmax.sum(factor, |row, c| self.of(row, c));
        gradient.iter_mut().zip(total.gradient.as_slice()).for_each(|(o, v)| *o = 2.0 * v);
        total.value
    }

    /// What predicting every number by the mean costs.
    fn by_mean(&self) -> f64 {
        let weight = &self.frame.cloud.weight;
        let total: f64 = weight.iter().sum();
        let mean = self.numbers.iter().zip(weight).map(|(v, w)| w * v).sum::<f64>() / total;
        self.numbers.iter().zip(weight).map(|(v, w)| w * (v - mean).powi(2)).sum()
    }

    /// Where the search begins.
    fn start(&self, begin: Begin<'_>, components: Option<usize>) -> Result<Matrix> {
        let mut start = self.frame.start(begin, components)?;
        if begin.is_auto() {
            let mapped = linalg::product_transposed(&self.frame.cloud.x, &start);
            let mean = 2.0 * linalg::inner(&mapped, &mapped) / self.frame.cloud.len() as f64;
            let scale = if mean > 0.0 { (SPREAD / mean).sqrt() } else { 1.0 };
            start.as_mut_slice().iter_mut().for_each(|v| *v *= scale);
        }
        Ok(start)
    }

    /// The same of elements, and the gradient's.
    fn at(&self, (rows, x): (usize, &[f64]), gradient: &mut [f64]) -> f64 {
        let factor = shaped(rows, x);
        factor.map_or(f64::INFINITY, |factor| self.value(&factor, gradient))
    }

    fn begin(self, start: Matrix) -> Way<'a> {
        let rows = start.rows();
        let state = Lbfgs::new(start.into_vec(), &mut |x, g| self.at((rows, x), g));
        Way { search: self, rows, state, seen: Vec::new(), truth: Vec::new() }
    }
}

/// A factor of its elements.
fn shaped(rows: usize, elements: &[f64]) -> Result<Matrix> {
    Matrix::from_vec(rows, elements.len() / rows.max(1), elements.to_vec())
}

/// A search and where it stands.
struct Way<'a> {
    search: Search<'a>,
    /// Those of the factor.
    rows: usize,
    state: Lbfgs,
    /// The numbers of the rows that it sees, ...
    seen: Vec<f64>,
    /// ... and of all, where others tell when it is to stop.
    truth: Vec<f64>,
}

impl Way<'_> {
    /// Goes on to so many steps in all, at most.
    fn run(&mut self, max_iterations: usize, watch: &mut dyn FnMut(Told<'_>) -> ControlFlow<Halt>) -> End {
        let (search, rows, scale) = (&self.search, self.rows, self.search.by_mean());
        let steps = Steps { memory: MEMORY, decrease: search.tolerance, scale, gradient: 0.0, max_iterations };
        self.state.run(&mut |x, g| search.at((rows, x), g), &steps, watch)
    }

    fn metric(&self) -> Result<Metric> {
        self.search.frame.metric(&shaped(self.rows, &self.state.x)?)
    }
}

impl Descent for Way<'_> {
    /// The mean squared error.
    fn cost(&self, unseen: &Unseen<'_>) -> Result<f64> {
        unseen.cost(&self.metric()?, |row, chances| {
            let (mut said, mut all) = (0.0, 0.0);
            for (&chance, &number) in chances.iter().zip(&self.seen) {
                all += chance;
                said += chance * number;
            }
            (said / all - self.truth[row]).powi(2)
        })
    }

    fn step(&mut self, watch: &mut dyn FnMut(Told<'_>) -> ControlFlow<Halt>) -> End {
        self.run(self.state.iterations + 1, watch)
    }
}

impl Mlkr {
    /// The objective of any metric: the sum of the squared leave-one-out errors.
    ///
    /// # Errors
    /// If the metric has another number of features, or the targets are classes.
    pub fn objective(data: &Training<'_>, metric: &Metric) -> Result<f64> {
        let frame = coordinates(data)?;
        let factor = frame.inner(metric.factor())?;
        let unused = &mut vec![0.0; factor.as_slice().len()];
        Ok(Search::new(data, &frame, 0.0)?.value(&factor, unused))
    }
}

impl Method for Mlkr {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn check(&self) -> Result<()> {
        check_limits(self.tolerance, self.max_iterations)
    }

    fn takes_numbers(&self) -> bool {
        true
    }

    fn fit(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        self.fit_by(data, self.held_out, observer)
    }
}

impl Mlkr {
    /// The same, where the number of steps is chosen by so many parts of the rows.
    pub(super) fn fit_by(&self, data: &Training<'_>, repeats: usize, observer: &mut dyn Observer) -> Result<Fit> {
        self.check()?;
        data.check_for(self)?;
        let observer = &mut Timed::new(observer);
        let frame = coordinates(data)?;
        let search = Search::new(data, &frame, self.tolerance)?;
        let mut notes = notes_on(&frame);
        let start = search.start(Begin::new(self.init, data), self.n_components)?;
        let chosen = if repeats > 0 { self.steps(data, repeats, observer)? } else { None };
        let (most, before) = chosen.as_ref().map_or((self.max_iterations, 0), |c| (c.steps, c.done));
        let (rows, cols) = (start.rows(), start.cols());
        let mut way = search.begin(start);
        way.state = Lbfgs::kept(observer.kept(Self::NAME), rows * cols).unwrap_or(way.state);
        let reached = |kept: &Kept| frame.metric(&shaped(rows, kept.numbers.get(1)?.as_slice()).ok()?).ok();
        let observer = &mut Translated { inner: observer, metric: &reached };
        let mut end = way.run(most, &mut |Told { iteration, value, state }| {
            if let Some(state) = state {
                observer.keep(Self::NAME, &mut || Kept::new("", state.numbers()));
            }
            observer.progress(&Progress { iteration: before + iteration, primal: Some(value), ..Progress::default() })
        });
        let mut enough = false;
        if let Some(chosen) = chosen {
            notes.push(held_out::note(chosen.steps));
            end = chosen.halt.map_or(end, End::Stopped);
            enough = chosen.steps < self.max_iterations;
        }
        let metric = way.metric()?;
        note_collapse(&metric, data.x, &mut notes)?;
        let status = if enough && end == End::IterationLimit { Status::HeldOut } else { status(end) };
        let mut outcome = Outcome::new(status, way.state.iterations).with_notes(notes);
        outcome.objective = Some(finite(way.state.value)?);
        Ok(Fit::new(metric, outcome))
    }

    /// The number of steps that serves held-out rows best.
    fn steps(&self, data: &Training<'_>, repeats: usize, observer: &mut dyn Observer) -> Result<Option<Chosen>> {
        let numbers = |y: &Labels| y.numbers().unwrap_or_default().to_vec();
        held_out::choose(data, (repeats, self.max_iterations), observer, &|training, frame, path| {
            let search = Search::new(training, frame, self.tolerance)?;
            let start = search.start(Begin::new(self.init, training), self.n_components)?;
            path.follow(&mut Way { seen: numbers(training.y), truth: numbers(data.y), ..search.begin(start) })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_is_the_slope_and_the_value_that_of_a_double_loop() {
        let value = |k: usize| ((7 * k * k + 3 * k) % 29) as f64 / 9.0;
        let x = Matrix::from_vec(24, 3, (0..72).map(value).collect()).unwrap();
        let numbers: Vec<f64> = (0..24).map(|i| x[(i, 0)] - 0.5 * value(i + 3)).collect();
        let y = Labels::from_numbers(numbers.clone()).unwrap();
        let weights: Vec<f64> = (0..24).map(|i| 0.5 + (i % 3) as f64).collect();
        let data = Training::new(&x, &y).unwrap().with_weights(&weights).unwrap();
        let frame = coordinates(&data).unwrap();
        let search = Search::new(&data, &frame, 0.0).unwrap();
        let at = Matrix::from_vec(2, 3, (0..6).map(|k| 0.3 * value(k + 1) - 0.2).collect()).unwrap();
        let mut gradient = vec![0.0; 6];
        let found = search.value(&at, &mut gradient);
        let mut expected = 0.0;
        let metric = frame.metric(&at).unwrap();
        for i in 0..24 {
            let near = |j: usize| weights[j] * (-metric.squared_distance(x.row(i), x.row(j))).exp();
            let others = || (0..24).filter(|&j| j != i);
            let said = others().map(|j| near(j) * numbers[j]).sum::<f64>() / others().map(near).sum::<f64>();
            expected += weights[i] * (said - numbers[i]).powi(2);
        }
        assert!((found - expected).abs() < 1e-9 * expected, "{found} and {expected}");
        assert!((Mlkr::objective(&data, &metric).unwrap() - expected).abs() < 1e-9 * expected);
        for k in 0..6 {
            let moved = |h: f64| {
                let mut there = at.clone();
                there.as_mut_slice()[k] += h;
                search.value(&there, &mut [0.0; 6])
            };
            let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((slope - gradient[k]).abs() < 1e-5 * (1.0 + slope.abs()), "{slope} and {}", gradient[k]);
        }
    }
}
