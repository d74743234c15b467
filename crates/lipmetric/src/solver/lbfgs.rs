//! Minimises a function of many variables from its values and gradients: limited-memory BFGS.
//!
//! The line search asks for sufficient decrease and a slope that has risen enough (the weak Wolfe conditions), which also
//! ends at kinks of functions that are smooth only almost everywhere. Sums run in a fixed order, so that a run depends on
//! the function alone.

use super::{Halt, Kept, row};
use crate::Matrix;
use crate::linalg::dot;
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// How a run steps, and when it ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Steps {
    /// Steps and gradient changes that are remembered.
    pub(crate) memory: usize,
    /// Halt where a step lowers the value by less than this part of it (or of `scale`, if that is larger), twice in a row.
    pub(crate) decrease: f64,
    /// A value that counts as large.
    pub(crate) scale: f64,
    /// Halt where the gradient's length is not larger.
    pub(crate) gradient: f64,
    /// Steps, at most, over all runs.
    pub(crate) max_iterations: usize,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The decrease or the gradient fell below what was asked.
    Converged,
    /// No step in floating point lowers the value.
    Stalled,
    /// The step limit came first.
    IterationLimit,
    /// The watcher said so.
    Stopped(Halt),
}

impl End {
    /// What the watcher wanted, if it ended the run.
    pub(crate) fn halt(self) -> Option<Halt> {
        match self {
            Self::Stopped(halt) => Some(halt),
            _ => None,
        }
    }
}

/// A step and what the gradient did along it.
#[derive(Debug)]
struct Change {
    step: Vec<f64>,
    gradient: Vec<f64>,
    inverse: f64,
}

/// The curvature that recent steps have met, in place of a Hessian.
#[derive(Debug, Default)]
pub(crate) struct Curvature(VecDeque<Change>);

impl Curvature {
    /// Whether nothing is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a step and the change of the gradient, and keeps the last `most`.
    pub(crate) fn add(&mut self, step: Vec<f64>, gradient: Vec<f64>, most: usize) {
        let curvature = dot(&step, &gradient);
        // Along a flat piece there is nothing to learn.
        if curvature > FLAT * (dot(&step, &step) * dot(&gradient, &gradient)).sqrt() {
            self.0.push_back(Change { step, gradient, inverse: 1.0 / curvature });
            if self.0.len() > most {
                self.0.pop_front();
            }
        }
    }

    /// Minus the inverse Hessian's estimate times the gradient; minus the gradient where nothing is known.
    pub(crate) fn direction(&self, gradient: &[f64]) -> Vec<f64> {
        pulp::Arch::new().dispatch(Direction { curvature: self, gradient })
    }
}

/// The state of a minimisation, which can be run on with other steps.
pub(crate) struct Lbfgs {
    /// The best point.
    pub(crate) x: Vec<f64>,
    /// Its value.
    pub(crate) value: f64,
    /// Its gradient.
    pub(crate) gradient: Vec<f64>,
    /// Steps done.
    pub(crate) iterations: usize,
    curvature: Curvature,
    /// Small steps in a row.
    small: usize,
    /// Whether the next run goes on inside of an earlier one.
    midway: bool,
}

/// What a run tells after a step, and while the next one is searched for: then there is no state.
pub(crate) struct Told<'a> {
    pub(crate) iteration: usize,
    pub(crate) value: f64,
    pub(crate) state: Option<&'a Lbfgs>,
}

/// The first Wolfe condition: a step lowers the value by this part of what the slope promises (the usual 1e-4).
pub(crate) const SUFFICIENT: f64 = 1e-4;
/// The second one: the slope has risen to this part of the first (the usual 0.9 of quasi-Newton methods).
const CURVATURE: f64 = 0.9;
/// Points that a line search tries, at most: bisection alone would be down to rounding by then.
const SEARCH_STEPS: usize = 40;
/// A step that meets less curvature than this, relative to its length and the gradient's change, is on a flat piece.
const FLAT: f64 = 1e-10;
/// The first step, without any curvature, changes the point by this part of its length ...
const FIRST_STEP: f64 = 0.1;
/// ... or of this, where the point is nearly zero.
const LEAST_LENGTH: f64 = 1e-3;
/// A step is not longer, whatever the slope: the point stays finite.
const LONGEST: f64 = 1e300;
/// Between two ends of a search the next point stays within these parts of their distance, so that neither end is tried again.
const INSIDE: (f64, f64) = (0.1, 0.7);
/// Without an upper end the next point is so many times as far.
const BEYOND: (f64, f64) = (2.0, 10.0);
/// Two ends closer than this, relatively, are one point.
const NO_WIDTH: f64 = 1e-14;
/// Roundings of the value that do not count as a rise.
const ROUNDINGS: f64 = 8.0;

impl Lbfgs {
    /// Begins at `x`. The function returns its value and writes its gradient.
    pub(crate) fn new(x: Vec<f64>, function: &mut dyn FnMut(&[f64], &mut [f64]) -> f64) -> Self {
        let mut gradient = vec![0.0; x.len()];
        let value = function(&x, &mut gradient);
        Self { x, value, gradient, iterations: 0, curvature: Curvature::default(), small: 0, midway: false }
    }

    /// Everything that the next step depends on.
    pub(crate) fn numbers(&self) -> Vec<Matrix> {
        let mut out = vec![
            row(vec![self.value, self.iterations as f64, self.small as f64]),
            row(self.x.clone()),
            row(self.gradient.clone()),
        ];
        out.extend(self.curvature.0.iter().flat_map(|c| [row(c.step.clone()), row(c.gradient.clone())]));
        out
    }

    /// The state that these numbers were taken from, of so many variables; nothing if they are none. The next run goes on inside of
    /// the one that they were taken in.
    pub(crate) fn revived(numbers: &[Matrix], variables: usize) -> Option<Self> {
        let (figures, vectors) = numbers.split_first()?;
        let &[value, iterations, small] = figures.as_slice() else { return None };
        if vectors.len() < 2
            || vectors.len() % 2 != 0
            || numbers.iter().any(|m| m.first_non_finite().is_some())
            || vectors.iter().any(|v| v.as_slice().len() != variables)
            || iterations < 0.0
        {
            return None;
        }
        let mut curvature = Curvature::default();
        for pair in vectors[2..].chunks_exact(2) {
            curvature.add(pair[0].as_slice().to_vec(), pair[1].as_slice().to_vec(), vectors.len());
        }
        Some(Self {
            x: vectors[0].as_slice().to_vec(),
            value,
            gradient: vectors[1].as_slice().to_vec(),
            iterations: iterations as usize,
            curvature,
            small: small as usize,
            midway: true,
        })
    }

    /// The same of what was kept.
    pub(crate) fn kept(kept: Option<Kept>, variables: usize) -> Option<Self> {
        Self::revived(&kept?.numbers, variables)
    }

    /// Measures the point again, after the function has changed, and forgets what was learned of the old one's curvature
    /// only if `forget` says so.
    pub(crate) fn renew(&mut self, function: &mut dyn FnMut(&[f64], &mut [f64]) -> f64, forget: bool) {
        self.value = function(&self.x, &mut self.gradient);
        if forget {
            self.curvature.0.clear();
        }
    }

    /// Goes on until one of these limits ends it. `watch` is told after each step, and again while one is searched for.
    pub(crate) fn run(
        &mut self,
        function: &mut dyn FnMut(&[f64], &mut [f64]) -> f64,
        steps: &Steps,
        watch: &mut dyn FnMut(Told<'_>) -> ControlFlow<Halt>,
    ) -> End {
        if !std::mem::take(&mut self.midway) {
            self.small = 0;
        } else if self.small >= 2 {
            return End::Converged;
        }
        loop {
            if dot(&self.gradient, &self.gradient).sqrt() <= steps.gradient {
                return End::Converged;
            }
            if self.iterations >= steps.max_iterations {
                return End::IterationLimit;
            }
            let before = self.value;
            let mut halted = None;
            let moved = self.step(function, steps.memory, &mut |iteration, value| {
                halted = watch(Told { iteration, value, state: None }).break_value();
                halted.is_some()
            });
            if let Some(halt) = halted {
                return End::Stopped(halt);
            }
            if !moved {
                if self.curvature.is_empty() {
                    return End::Stalled;
                }
                // The remembered curvature may be what misleads: once more from the gradient alone.
                self.curvature.0.clear();
                continue;
            }
            self.iterations += 1;
            let least = steps.decrease * before.abs().max(self.value.abs()).max(steps.scale);
            self.small = if before - self.value <= least { self.small + 1 } else { 0 };
            let told = Told { iteration: self.iterations, value: self.value, state: Some(self) };
            if let ControlFlow::Break(halt) = watch(told) {
                return End::Stopped(halt);
            }
            if self.small >= 2 {
                return End::Converged;
            }
        }
    }

    /// A step, unless none lowers the value or, before the search for it is over, `stop` says so.
    fn step(
        &mut self,
        function: &mut dyn FnMut(&[f64], &mut [f64]) -> f64,
        memory: usize,
        stop: &mut dyn FnMut(usize, f64) -> bool,
    ) -> bool {
        let mut d = self.curvature.direction(&self.gradient);
        let mut slope = dot(&d, &self.gradient);
        if !(slope < 0.0 && slope.is_finite()) {
            self.curvature.0.clear();
            d = self.curvature.direction(&self.gradient);
            slope = -dot(&d, &d);
            if !(slope < 0.0 && slope.is_finite()) {
                return false;
            }
        }
        let mut t = if self.curvature.is_empty() {
            let length = dot(&self.x, &self.x).sqrt().max(LEAST_LENGTH);
            (FIRST_STEP * length / (-slope).sqrt()).min(LONGEST)
        } else {
            1.0
        };
        let (mut low, mut high) = ((0.0, self.value, slope), None::<(f64, f64)>);
        let slack = ROUNDINGS * f64::EPSILON * self.value.abs();
        let mut trial = vec![0.0; d.len()];
        let mut gradient = vec![0.0; d.len()];
        let mut accepted = None;
        for tried in 0..SEARCH_STEPS {
            if tried > 0 && stop(self.iterations, self.value) {
                break;
            }
            for ((a, x), s) in trial.iter_mut().zip(&self.x).zip(&d) {
                *a = x + t * s;
            }
            let value = function(&trial, &mut gradient);
            let rise = dot(&gradient, &d);
            if !(value.is_finite() && rise.is_finite()) || value > self.value + SUFFICIENT * t * slope + slack {
                high = Some((t, if value.is_finite() { value } else { f64::INFINITY }));
            } else {
                accepted = Some((value, trial.clone(), gradient.clone()));
                if rise >= CURVATURE * slope {
                    break;
                }
                low = (t, value, rise);
            }
            let next = match high {
                Some((top, value)) => {
                    let width = top - low.0;
                    // The minimum of the parabola through the lower end, its slope, and the upper end.
                    let bend = (value - low.1 - low.2 * width) / (width * width);
                    let guess = if bend > 0.0 && bend.is_finite() { -low.2 / (2.0 * bend) } else { 0.5 * width };
                    low.0 + guess.clamp(INSIDE.0 * width, INSIDE.1 * width)
                }
                None => {
                    // The slope's own secant.
                    let secant = if rise > slope { t * slope / (slope - rise) } else { f64::INFINITY };
                    secant.clamp(BEYOND.0 * t, BEYOND.1 * t)
                }
            };
            if !(next.is_finite() && next != t) {
                break;
            }
            t = next;
            if high.is_some_and(|(top, _)| top - low.0 <= NO_WIDTH * top) {
                break;
            }
        }
        let Some((value, trial, gradient)) = accepted else { return false };
        if value > self.value || trial == self.x {
            return false;
        }
        let difference = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect();
        self.curvature.add(difference(&trial, &self.x), difference(&gradient, &self.gradient), memory);
        self.x = trial;
        self.value = value;
        self.gradient = gradient;
        true
    }
}

/// The two loops over what is remembered, compiled for the widest vectors that the processor has.
struct Direction<'a> {
    curvature: &'a Curvature,
    gradient: &'a [f64],
}

impl pulp::WithSimd for Direction<'_> {
    type Output = Vec<f64>;
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Vec<f64> {
        let changes = &self.curvature.0;
        let mut d: Vec<f64> = self.gradient.iter().map(|g| -g).collect();
        let mut along = vec![0.0; changes.len()];
        for (a, c) in along.iter_mut().zip(changes).rev() {
            *a = c.inverse * wide_dot(&c.step, &d);
            axpy(&mut d, -*a, &c.gradient);
        }
        if let Some(last) = changes.back() {
            let scale = 1.0 / (last.inverse * wide_dot(&last.gradient, &last.gradient));
            d.iter_mut().for_each(|v| *v *= scale);
        }
        for (a, c) in along.iter().zip(changes) {
            let b = c.inverse * wide_dot(&c.gradient, &d);
            axpy(&mut d, a - b, &c.step);
        }
        d
    }
}

#[inline(always)]
fn wide_dot(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len());
    let (a, b) = (&a[..n], &b[..n]);
    let mut sums = [0.0; 16];
    let whole = n - n % 16;
    let mut k = 0;
    while k < whole {
        let (x, y) = (&a[k..k + 16], &b[k..k + 16]);
        for e in 0..16 {
            sums[e] += x[e] * y[e];
        }
        k += 16;
    }
    let mut tail = 0.0;
    for e in whole..n {
        tail += a[e] * b[e];
    }
    for width in [8, 4, 2, 1] {
        for e in 0..width {
            sums[e] += sums[e + width];
        }
    }
    sums[0] + tail
}

#[inline(always)]
fn axpy(y: &mut [f64], t: f64, x: &[f64]) {
    for (a, b) in y.iter_mut().zip(x) {
        *a += t * b;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: Steps = Steps { memory: 10, decrease: 1e-15, scale: 0.0, gradient: 1e-9, max_iterations: 2000 };

    fn run(start: &[f64], mut f: impl FnMut(&[f64], &mut [f64]) -> f64) -> (Lbfgs, End) {
        let mut state = Lbfgs::new(start.to_vec(), &mut f);
        let end = state.run(&mut f, &STEPS, &mut |_| ControlFlow::Continue(()));
        (state, end)
    }

    #[test]
    fn a_curved_valley_is_followed_to_its_end() {
        let (state, end) = run(&[-1.2, 1.0], |x, g| {
            let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
            g[0] = -2.0 * a - 400.0 * x[0] * b;
            g[1] = 200.0 * b;
            a * a + 100.0 * b * b
        });
        assert_eq!(end, End::Converged);
        assert!(state.x.iter().all(|v| (v - 1.0).abs() < 1e-6), "{:?}", state.x);
    }

    #[test]
    fn a_badly_scaled_bowl_and_a_wall_of_infinities_are_no_trouble() {
        let scales = [1e-3, 1.0, 1e3, 1e5];
        let (state, _) = run(&[1.0, 1.0, 1.0, 1.0], |x, g| {
            if x.iter().any(|v| v.abs() > 50.0) {
                return f64::INFINITY;
            }
            for k in 0..4 {
                g[k] = scales[k] * (x[k] - 2.0);
            }
            (0..4).map(|k| 0.5 * scales[k] * (x[k] - 2.0) * (x[k] - 2.0)).sum()
        });
        assert!(state.x.iter().all(|v| (v - 2.0).abs() < 1e-4), "{:?}", state.x);
    }

    #[test]
    fn a_search_for_a_step_can_be_ended_before_it_is_over() {
        let mut evaluations = 0;
        // Everything but the start is beyond the wall: every trial fails.
        let mut f = |x: &[f64], g: &mut [f64]| {
            evaluations += 1;
            g[0] = 1.0;
            if x[0] == 1.0 { 1.0 } else { f64::INFINITY }
        };
        let mut state = Lbfgs::new(vec![1.0], &mut f);
        let mut asked = 0;
        let end = state.run(&mut f, &STEPS, &mut |_| {
            asked += 1;
            if asked == 3 { ControlFlow::Break(Halt::Interrupted) } else { ControlFlow::Continue(()) }
        });
        assert_eq!((end, evaluations, state.x), (End::Stopped(Halt::Interrupted), 4, vec![1.0]));
    }

    #[test]
    fn a_kink_is_found_and_the_value_never_rises() {
        let mut values = Vec::new();
        let mut f = |x: &[f64], g: &mut [f64]| {
            g[0] = x[0].signum() + 0.2 * x[0];
            g[1] = 2.0 * (x[1] - 1.0);
            x[0].abs() + 0.1 * x[0] * x[0] + (x[1] - 1.0) * (x[1] - 1.0)
        };
        let mut state = Lbfgs::new(vec![3.0, -2.0], &mut f);
        state.run(&mut f, &STEPS, &mut |Told { value: v, .. }| {
            values.push(v);
            ControlFlow::Continue(())
        });
        assert!(values.windows(2).all(|w| w[1] <= w[0]), "{values:?}");
        assert!(state.value < 1e-6, "{}", state.value);
    }

    #[test]
    fn a_quadratic_in_few_dimensions_is_solved_once_they_have_all_been_seen() {
        // f = sum w x^2 / 2 over three different elements.
        let weights = [1.0, 7.0, 7.0, 30.0];
        let gradient = |x: &[f64]| x.iter().zip(weights).map(|(v, w)| v * w).collect::<Vec<f64>>();
        let (mut x, mut curvature) = (vec![1.0, 2.0, 2.0, -1.0], Curvature::default());
        let mut g = gradient(&x);
        for _ in 0..12 {
            let mut d = curvature.direction(&g);
            assert!(dot(&d, &g) < 0.0);
            // The exact minimum along the direction.
            let t = -dot(&d, &g) / dot(&d, &gradient(&d));
            d.iter_mut().for_each(|v| *v *= t);
            axpy(&mut x, 1.0, &d);
            let mut change = gradient(&x);
            axpy(&mut change, -1.0, &g);
            curvature.add(d, change, 40);
            g = gradient(&x);
            if dot(&g, &g) < 1e-24 {
                return;
            }
        }
        panic!("{x:?}");
    }

    #[test]
    fn a_step_without_curvature_is_forgotten_and_so_is_the_oldest_of_too_many() {
        let mut curvature = Curvature::default();
        curvature.add(vec![1.0, 0.0], vec![0.0, 0.0], 2);
        assert!(curvature.is_empty());
        for k in 1..4 {
            curvature.add(vec![1.0, 0.0], vec![f64::from(k), 0.0], 2);
        }
        assert_eq!(curvature.0.len(), 2);
        assert_eq!(curvature.direction(&[3.0, 0.0]), [-1.0, 0.0]);
    }

    #[test]
    fn the_limit_and_the_watcher_end_a_run() {
        let mut f = |x: &[f64], g: &mut [f64]| {
            g[0] = 4.0 * x[0].powi(3);
            x[0].powi(4)
        };
        let mut state = Lbfgs::new(vec![5.0], &mut f);
        let limited = Steps { max_iterations: 3, ..STEPS };
        assert_eq!(state.run(&mut f, &limited, &mut |_| ControlFlow::Continue(())), End::IterationLimit);
        assert_eq!(state.iterations, 3);
        let end = state.run(&mut f, &STEPS, &mut |_| ControlFlow::Break(Halt::TimeLimit));
        assert_eq!(end, End::Stopped(Halt::TimeLimit));
    }
}
