use super::super::held_out::{Descent, Unseen};
use super::super::start::Begin;
use super::{Loss, Nca};
use crate::pairs::Softmax;
use crate::problem::Coordinates;
use crate::solver::lbfgs::{End, Lbfgs, Steps, Told};
use crate::solver::{Halt, Kept};
use crate::{Matrix, Result, linalg};
use std::cell::Cell;
use std::ops::ControlFlow;

/// A start that is not asked for by name is scaled down to this mean squared distance to the nearest row, about.
const SOFT: f64 = 4.0;
/// How many steps and gradient changes are remembered.
const MEMORY: usize = 10;
/// By how much a scale is changed to find the most likely one, ...
const FACTOR: f64 = std::f64::consts::SQRT_2;
/// ... and how often, at most.
const CHANGES: usize = 24;

/// The objective on given coordinates, and the way down from a start.
pub(super) struct Search<'a> {
    frame: &'a Coordinates,
    softmax: Softmax<'a>,
    loss: Loss,
    tolerance: f64,
    /// The sum of the rows' weights.
    mass: f64,
    /// The start, which the penalty draws to.
    start: Matrix,
    /// What the squared distance from the start costs.
    penalty: f64,
    /// What the start was multiplied by.
    pub(super) scale: f64,
    /// The objective and its gradient there, where they are known.
    first: Option<(f64, Vec<f64>)>,
}

impl<'a> Search<'a> {
    pub(super) fn new(nca: &Nca, frame: &'a Coordinates, begin: Begin<'_>) -> Result<Self> {
        let start = frame.start(begin, nca.n_components)?;
        let softmax = Softmax::new(&frame.cloud);
        let mut out = Self {
            frame,
            softmax: if nca.loss == Loss::Log { softmax.with_own_class() } else { softmax },
            loss: nca.loss,
            tolerance: nca.tolerance,
            mass: frame.cloud.weight.iter().sum(),
            start,
            penalty: 0.0,
            scale: 1.0,
            first: None,
        };
        let variance = 2.0 * out.inner_spread();
        let near = Cell::new(0.0);
        let (mut gradient, at) = (vec![0.0; out.start.as_slice().len()], out.start.as_slice().to_vec());
        let value = out.value(&at, &mut gradient, &near);
        out.first = Some((value, gradient));
        out.rescale(softening(begin, near.get(), variance));
        if nca.loss == Loss::Log && begin.is_auto() {
            out.climb();
        }
        let length = linalg::inner(&out.start, &out.start);
        if length > 0.0 {
            out.penalty = nca.usual_penalty() * out.mass / length;
        }
        Ok(out)
    }

    fn rescale(&mut self, by: f64) {
        if by != 1.0 {
            self.start.as_mut_slice().iter_mut().for_each(|v| *v *= by);
            self.scale *= by;
            self.first = None;
        }
    }

    /// Takes the scale under which the classes are most likely.
    fn climb(&mut self) {
        let likelihood = |scale: f64| {
            let at: Vec<f64> = self.start.as_slice().iter().map(|v| v * scale).collect();
            self.value(&at, &mut vec![0.0; at.len()], &Cell::new(0.0))
        };
        let mut best = (1.0, likelihood(1.0));
        for factor in [FACTOR, 1.0 / FACTOR] {
            for _ in 0..CHANGES {
                let next = (best.0 * factor, likelihood(best.0 * factor));
                let better = next.1 < best.1 - self.tolerance * self.mass;
                if !better {
                    break;
                }
                best = next;
            }
        }
        self.rescale(best.0);
    }

    /// The mean squared length of the mapped points.
    fn inner_spread(&self) -> f64 {
        let mapped = linalg::product_transposed(&self.frame.cloud.x, &self.start);
        linalg::inner(&mapped, &mapped) / self.frame.cloud.len() as f64
    }

    /// The objective and its gradient; `near` is told the mean of `-log sum_j exp(-d_ij)`, about the squared distance to the
    /// nearest.
    fn value(&self, x: &[f64], gradient: &mut [f64], near: &Cell<f64>) -> f64 {
        let mut factor = Matrix::zeros(self.start.rows(), self.start.cols());
        factor.as_mut_slice().copy_from_slice(x);
        let total = self.softmax.sum(&factor, |row, c| self.loss.of(self.frame, row, c));
        gradient.iter_mut().zip(total.gradient.as_slice()).for_each(|(o, v)| *o = 2.0 * v);
        near.set(-total.log_total / self.mass);
        if self.penalty == 0.0 {
            return total.value;
        }
        let mut apart = 0.0;
        for ((g, v), s) in gradient.iter_mut().zip(x).zip(self.start.as_slice()) {
            apart += (v - s) * (v - s);
            *g += 2.0 * self.penalty * (v - s);
        }
        total.value + self.penalty * apart
    }

    /// The state that was kept, if it can be one of this search.
    pub(super) fn revived(&self, kept: Option<Kept>) -> Option<Lbfgs> {
        Lbfgs::kept(kept, self.start.as_slice().len())
    }

    /// The state before the first step.
    pub(super) fn begin(&self) -> Lbfgs {
        let at = self.start.as_slice().to_vec();
        Lbfgs::new(at, &mut |x, g| match &self.first {
            // The penalty of the start is zero, and flat there.
            Some((value, gradient)) => {
                g.copy_from_slice(gradient);
                *value
            }
            None => self.value(x, g, &Cell::new(0.0)),
        })
    }

    /// Goes on to so many steps in all, at most.
    pub(super) fn run(
        &self,
        state: &mut Lbfgs,
        max_iterations: usize,
        watch: &mut dyn FnMut(Told<'_>) -> ControlFlow<Halt>,
    ) -> End {
        let steps = Steps { memory: MEMORY, decrease: self.tolerance, scale: self.mass, gradient: 0.0, max_iterations };
        state.run(&mut |x, g| self.value(x, g, &Cell::new(0.0)), &steps, watch)
    }

    /// A state's factor on the coordinates.
    pub(super) fn factor(&self, state: &Lbfgs) -> Result<Matrix> {
        Matrix::from_vec(self.start.rows(), self.start.cols(), state.x.clone())
    }

    /// The same of a row with its elements.
    pub(super) fn shaped(&self, elements: &Matrix) -> Result<Matrix> {
        Matrix::from_vec(self.start.rows(), self.start.cols(), elements.as_slice().to_vec())
    }
}

/// No row counts more than one that is this likely: a single outlier must not decide.
const LEAST_CHANCE: f64 = 1e-12;

/// A search on some of the rows, for others to tell when it is to stop.
pub(super) struct Walk<'a> {
    pub(super) search: Search<'a>,
    pub(super) state: Lbfgs,
    /// The classes of the rows that it sees, ...
    pub(super) seen: &'a [u32],
    /// ... and of all.
    pub(super) truth: &'a [u32],
}

impl Descent for Walk<'_> {
    /// The mean of `-log p`.
    fn cost(&self, unseen: &Unseen<'_>) -> Result<f64> {
        let metric = self.search.frame.metric(&self.search.factor(&self.state)?)?;
        unseen.cost(&metric, |row, chances| {
            let (mut own, mut all) = (0.0, 0.0);
            for (&chance, &code) in chances.iter().zip(self.seen) {
                all += chance;
                own += if code == self.truth[row] { chance } else { 0.0 };
            }
            -(own / all).max(LEAST_CHANCE).ln()
        })
    }

    fn step(&mut self, watch: &mut dyn FnMut(Told<'_>) -> ControlFlow<Halt>) -> End {
        let next = self.state.iterations + 1;
        self.search.run(&mut self.state, next, watch)
    }
}

/// By how much to scale a start so that neighbours are neither out of reach nor all alike. `near` is the mean of
/// `-log sum_j exp(-d_ij)`: about the squared distance to the nearest. A start that is not asked for by name is also made
/// soft enough that rows see more than their nearest neighbour, which leads to better optima.
fn softening(begin: Begin<'_>, near: f64, variance: f64) -> f64 {
    if near > SOFT && begin.is_auto() || near > 700.0 {
        (SOFT / near).sqrt()
    } else if variance < 1e-4 && variance > 0.0 {
        (1.0 / variance).sqrt()
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::start::coordinates;
    use super::*;
    use crate::Labels;
    use crate::method::Training;

    #[test]
    fn the_gradient_is_the_slope_of_the_loss_and_the_penalty() {
        let value = |k: usize| ((7 * k * k + 3 * k) % 29) as f64 / 9.0;
        let x = Matrix::from_vec(24, 3, (0..72).map(value).collect()).unwrap();
        let y = Labels::from_names((0..24).map(|i| ["a", "b", "c"][(i * i + 1) % 3]));
        let data = Training::new(&x, &y).unwrap();
        let frame = coordinates(&data).unwrap();
        for nca in [Nca::new().penalty(0.7), Nca::new().loss(Loss::Log), Nca::new().loss(Loss::Log).n_components(2)] {
            let search = Search::new(&nca, &frame, Begin::new(nca.init, &data)).unwrap();
            let count = search.start.as_slice().len();
            let at: Vec<f64> = (0..count).map(|k| search.start.as_slice()[k] + 0.1 * value(k + 1)).collect();
            let mut gradient = vec![0.0; count];
            search.value(&at, &mut gradient, &Cell::new(0.0));
            for k in 0..count {
                let moved = |h: f64| {
                    let there: Vec<f64> =
                        at.iter().enumerate().map(|(j, v)| v + if j == k { h } else { 0.0 }).collect();
                    search.value(&there, &mut vec![0.0; count], &Cell::new(0.0))
                };
                let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                assert!((slope - gradient[k]).abs() < 1e-5 * (1.0 + slope.abs()), "{slope} and {}", gradient[k]);
            }
        }
    }
}
