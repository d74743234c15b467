//! Metric learning for kernel regression (Weinberger and Tesauro 2007).
//!
//! Each row's number is predicted from all others, by their mean weighted by `exp(-||L(x_i - x_j)||^2)`. The map `L` is chosen to
//! make the squared errors small. Not convex: what is found is a local optimum, and depends on where the search begins.

use super::nca::{finite, status};
use super::parameters::parameters;
use super::start::{Begin, Init, coordinates, note_collapse, notes_on};
use super::{Fit, Method, Outcome, Training, check_limits};
use crate::pairs::{Row, Softmax};
use crate::problem::Coordinates;
use crate::solver::lbfgs::{Lbfgs, Steps, Told};
use crate::solver::{Kept, Observer, Progress, Timed, Translated};
use crate::{Error, Matrix, Metric, Result};

parameters! {
    /// Metric learning for kernel regression: the rival where the targets are numbers.
    ///
    /// The objective that is reported is the sum of the squared leave-one-out errors, `sum_i w_i (y_i - f_i)^2`. With weights, row
    /// `i` counts `w_i` times, as a row and as a neighbour, but never as its own.
    ///
    /// ```
    /// use lipmetric::method::{Method, Mlkr, Training};
    /// use lipmetric::{Labels, Matrix, solver::Silent};
    /// let x = Matrix::from_rows(&[[0.0, 0.9], [0.3, 0.1], [0.6, 0.7], [1.0, 0.2], [1.3, 0.8], [1.7, 0.4]]);
    /// let y = Labels::from_numbers(vec![0.0, 0.3, 0.6, 1.0, 1.3, 1.7])?;
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
}

impl<'a> Search<'a> {
    fn new(data: &Training<'_>, frame: &'a Coordinates) -> Result<Self> {
        let Some(numbers) = data.y.numbers() else {
            return Err(Error::parameter(
                "method",
                "mlkr learns from targets that are numbers, and these are classes; use nca, or `task = regression`",
            ));
        };
        let numbers = frame.cloud.origin.iter().map(|&row| numbers[row]).collect();
        Ok(Self { frame, softmax: Softmax::new(&frame.cloud), numbers })
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
        Ok(Search::new(data, &frame)?.value(&factor, unused))
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
        self.check()?;
        data.check_for(self)?;
        let observer = &mut Timed::new(observer);
        let frame = coordinates(data)?;
        let search = Search::new(data, &frame)?;
        let mut notes = notes_on(&frame);
        let begin = Begin::new(self.init, data);
        let mut start = frame.start(begin, self.n_components)?;
        if begin.is_auto() {
            let mapped = crate::linalg::product_transposed(&frame.cloud.x, &start);
            let mean = 2.0 * crate::linalg::inner(&mapped, &mapped) / frame.cloud.len() as f64;
            let scale = if mean > 0.0 { (SPREAD / mean).sqrt() } else { 1.0 };
            start.as_mut_slice().iter_mut().for_each(|v| *v *= scale);
        }
        let (rows, cols) = (start.rows(), start.cols());
        let mut value = |x: &[f64], gradient: &mut [f64]| {
            let factor = Matrix::from_vec(rows, cols, x.to_vec());
            factor.map_or(f64::INFINITY, |factor| search.value(&factor, gradient))
        };
        let mut state = Lbfgs::kept(observer.kept(Self::NAME), rows * cols)
            .unwrap_or_else(|| Lbfgs::new(start.into_vec(), &mut value));
        let (scale, max_iterations) = (search.by_mean(), self.max_iterations);
        let steps = Steps { memory: MEMORY, decrease: self.tolerance, scale, gradient: 0.0, max_iterations };
        let reached = |kept: &Kept| {
            let factor = kept.numbers.get(1)?.as_slice().to_vec();
            frame.metric(&Matrix::from_vec(rows, cols, factor).ok()?).ok()
        };
        let observer = &mut Translated { inner: observer, metric: &reached };
        let end = state.run(&mut value, &steps, &mut |Told { iteration, value, state }| {
            if let Some(state) = state {
                observer.keep(Self::NAME, &mut || Kept::new("", state.numbers()));
            }
            observer.progress(&Progress { iteration, primal: Some(value), ..Progress::default() })
        });
        let metric = frame.metric(&Matrix::from_vec(rows, cols, state.x.clone())?)?;
        note_collapse(&metric, data.x, &mut notes)?;
        let mut outcome = Outcome::new(status(end), state.iterations).with_notes(notes);
        outcome.objective = Some(finite(state.value)?);
        Ok(Fit::new(metric, outcome))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Labels;

    #[test]
    fn the_gradient_is_the_slope_and_the_value_that_of_a_double_loop() {
        let value = |k: usize| ((7 * k * k + 3 * k) % 29) as f64 / 9.0;
        let x = Matrix::from_vec(24, 3, (0..72).map(value).collect()).unwrap();
        let numbers: Vec<f64> = (0..24).map(|i| x[(i, 0)] - 0.5 * value(i + 3)).collect();
        let y = Labels::from_numbers(numbers.clone()).unwrap();
        let weights: Vec<f64> = (0..24).map(|i| 0.5 + (i % 3) as f64).collect();
        let data = Training::new(&x, &y).unwrap().with_weights(&weights).unwrap();
        let frame = coordinates(&data).unwrap();
        let search = Search::new(&data, &frame).unwrap();
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
