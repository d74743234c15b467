//! Minimises a function of many variables from its values and gradients: limited-memory BFGS.
//!
//! The line search asks for sufficient decrease and a slope that has risen enough (the weak Wolfe conditions), which also
//! ends at kinks of functions that are smooth only almost everywhere. Sums run in a fixed order, so that a run depends on
//! the function alone.

use super::Halt;
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

struct Change {
    step: Vec<f64>,
    gradient: Vec<f64>,
    inverse: f64,
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
    changes: VecDeque<Change>,
}

const SUFFICIENT: f64 = 1e-4;
const CURVATURE: f64 = 0.9;
const SEARCH_STEPS: usize = 40;

impl Lbfgs {
    /// Begins at `x`. The function returns its value and writes its gradient.
    pub(crate) fn new(x: Vec<f64>, function: &mut dyn FnMut(&[f64], &mut [f64]) -> f64) -> Self {
        let mut gradient = vec![0.0; x.len()];
        let value = function(&x, &mut gradient);
        Self { x, value, gradient, iterations: 0, changes: VecDeque::new() }
    }

    /// Measures the point again, after the function has changed, and forgets what was learned of the old one's curvature
    /// only if `forget` says so.
    pub(crate) fn renew(&mut self, function: &mut dyn FnMut(&[f64], &mut [f64]) -> f64, forget: bool) {
        self.value = function(&self.x, &mut self.gradient);
        if forget {
            self.changes.clear();
        }
    }

    /// Goes on until one of these limits ends it. `watch` is told the number of steps and the value after each.
    pub(crate) fn run(
        &mut self,
        function: &mut dyn FnMut(&[f64], &mut [f64]) -> f64,
        steps: &Steps,
        watch: &mut dyn FnMut(usize, f64) -> ControlFlow<Halt>,
    ) -> End {
        let mut small = 0;
        loop {
            if dot(&self.gradient, &self.gradient).sqrt() <= steps.gradient {
                return End::Converged;
            }
            if self.iterations >= steps.max_iterations {
                return End::IterationLimit;
            }
            let before = self.value;
            if !self.step(function, steps.memory) {
                if self.changes.is_empty() {
                    return End::Stalled;
                }
                // The remembered curvature may be what misleads: once more from the gradient alone.
                self.changes.clear();
                continue;
            }
            self.iterations += 1;
            if let ControlFlow::Break(halt) = watch(self.iterations, self.value) {
                return End::Stopped(halt);
            }
            small = if before - self.value <= steps.decrease * before.abs().max(self.value.abs()).max(steps.scale) {
                small + 1
            } else {
                0
            };
            if small >= 2 {
                return End::Converged;
            }
        }
    }

    /// Minus the inverse Hessian's estimate times the gradient.
    fn direction(&self) -> Vec<f64> {
        pulp::Arch::new().dispatch(Direction(self))
    }

    fn step(&mut self, function: &mut dyn FnMut(&[f64], &mut [f64]) -> f64, memory: usize) -> bool {
        let mut d = self.direction();
        let mut slope = dot(&d, &self.gradient);
        if !(slope < 0.0 && slope.is_finite()) {
            self.changes.clear();
            d = self.direction();
            slope = -dot(&d, &d);
            if !(slope < 0.0 && slope.is_finite()) {
                return false;
            }
        }
        let mut t = if self.changes.is_empty() {
            // The first step changes the point by at most about a tenth of its length.
            let length = dot(&self.x, &self.x).sqrt().max(1e-3);
            (0.1 * length / (-slope).sqrt()).min(1e300)
        } else {
            1.0
        };
        let (mut low, mut high) = ((0.0, self.value, slope), None::<(f64, f64)>);
        let slack = 8.0 * f64::EPSILON * self.value.abs();
        let mut trial = vec![0.0; d.len()];
        let mut gradient = vec![0.0; d.len()];
        let mut accepted = None;
        for _ in 0..SEARCH_STEPS {
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
                    low.0 + guess.clamp(0.1 * width, 0.7 * width)
                }
                None => {
                    // The slope's own secant, between twice and ten times as far.
                    let secant = if rise > slope { t * slope / (slope - rise) } else { f64::INFINITY };
                    secant.clamp(2.0 * t, 10.0 * t)
                }
            };
            if !(next.is_finite() && next != t) {
                break;
            }
            t = next;
            if high.is_some_and(|(top, _)| top - low.0 <= 1e-14 * top) {
                break;
            }
        }
        let Some((value, trial, gradient)) = accepted else { return false };
        if value > self.value || trial == self.x {
            return false;
        }
        let step: Vec<f64> = trial.iter().zip(&self.x).map(|(a, b)| a - b).collect();
        let change: Vec<f64> = gradient.iter().zip(&self.gradient).map(|(a, b)| a - b).collect();
        let curvature = dot(&step, &change);
        if curvature > 1e-10 * (dot(&step, &step) * dot(&change, &change)).sqrt() {
            self.changes.push_back(Change { step, gradient: change, inverse: 1.0 / curvature });
            if self.changes.len() > memory {
                self.changes.pop_front();
            }
        }
        self.x = trial;
        self.value = value;
        self.gradient = gradient;
        true
    }
}

/// The two loops over what is remembered, compiled for the widest vectors that the processor has.
struct Direction<'a>(&'a Lbfgs);

impl pulp::WithSimd for Direction<'_> {
    type Output = Vec<f64>;
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Vec<f64> {
        let changes = &self.0.changes;
        let mut d: Vec<f64> = self.0.gradient.iter().map(|g| -g).collect();
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
        let end = state.run(&mut f, &STEPS, &mut |_, _| ControlFlow::Continue(()));
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
    fn a_kink_is_found_and_the_value_never_rises() {
        let mut values = Vec::new();
        let mut f = |x: &[f64], g: &mut [f64]| {
            g[0] = x[0].signum() + 0.2 * x[0];
            g[1] = 2.0 * (x[1] - 1.0);
            x[0].abs() + 0.1 * x[0] * x[0] + (x[1] - 1.0) * (x[1] - 1.0)
        };
        let mut state = Lbfgs::new(vec![3.0, -2.0], &mut f);
        state.run(&mut f, &STEPS, &mut |_, v| {
            values.push(v);
            ControlFlow::Continue(())
        });
        assert!(values.windows(2).all(|w| w[1] <= w[0]), "{values:?}");
        assert!(state.value < 1e-6, "{}", state.value);
    }

    #[test]
    fn the_limit_and_the_watcher_end_a_run() {
        let mut f = |x: &[f64], g: &mut [f64]| {
            g[0] = 4.0 * x[0].powi(3);
            x[0].powi(4)
        };
        let mut state = Lbfgs::new(vec![5.0], &mut f);
        let limited = Steps { max_iterations: 3, ..STEPS };
        assert_eq!(state.run(&mut f, &limited, &mut |_, _| ControlFlow::Continue(())), End::IterationLimit);
        assert_eq!(state.iterations, 3);
        let end = state.run(&mut f, &STEPS, &mut |_, _| ControlFlow::Break(Halt::TimeLimit));
        assert_eq!(end, End::Stopped(Halt::TimeLimit));
    }
}
