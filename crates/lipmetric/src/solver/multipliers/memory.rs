//! The curvature that recent steps have met, in place of a Hessian where there are many coordinates (L-BFGS).

use crate::Matrix;
use crate::linalg;
use std::collections::VecDeque;

/// Steps that are remembered.
const STEPS: usize = 40;

/// Recent steps and what the gradient did along them.
#[derive(Debug, Default)]
pub(super) struct Memory {
    recent: VecDeque<(Matrix, Matrix, f64)>,
}

impl Memory {
    /// Adds a step and the change of the gradient.
    pub(super) fn add(&mut self, step: Matrix, change: Matrix) {
        let curvature = linalg::inner(&step, &change);
        let sizes = linalg::inner(&step, &step) * linalg::inner(&change, &change);
        // Along a flat piece there is nothing to learn.
        if curvature <= 1e-10 * sizes.sqrt() {
            return;
        }
        if self.recent.len() == STEPS {
            self.recent.pop_front();
        }
        self.recent.push_back((step, change, curvature));
    }

    /// A direction of descent for a gradient; without any memory as long as `length`.
    pub(super) fn direction(&self, gradient: &Matrix, length: f64) -> Matrix {
        let mut d = gradient.clone();
        let mut parts = Vec::with_capacity(self.recent.len());
        for (step, change, curvature) in self.recent.iter().rev() {
            let part = linalg::inner(step, &d) / curvature;
            linalg::add_scaled(&mut d, -part, change);
            parts.push(part);
        }
        let scale = match self.recent.back() {
            Some((_, change, curvature)) => curvature / linalg::inner(change, change),
            None => length / linalg::inner(gradient, gradient).sqrt().max(1e-300),
        };
        d.as_mut_slice().iter_mut().for_each(|v| *v *= scale);
        for ((step, change, curvature), part) in self.recent.iter().zip(parts.into_iter().rev()) {
            let back = linalg::inner(change, &d) / curvature;
            linalg::add_scaled(&mut d, part - back, step);
        }
        d.as_mut_slice().iter_mut().for_each(|v| *v = -*v);
        d
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quadratic_in_few_dimensions_is_solved_once_they_have_all_been_seen() {
        // f = sum w m^2 / 2 over three different elements.
        let weights = Matrix::from_rows(&[[1.0, 7.0], [7.0, 30.0]]);
        let gradient = |m: &Matrix| {
            let mut g = m.clone();
            g.as_mut_slice().iter_mut().zip(weights.as_slice()).for_each(|(v, w)| *v *= w);
            g
        };
        let mut m = Matrix::from_rows(&[[1.0, 2.0], [2.0, -1.0]]);
        let mut memory = Memory::default();
        let mut g = gradient(&m);
        for _ in 0..12 {
            let mut d = memory.direction(&g, 0.1);
            assert!(linalg::inner(&d, &g) < 0.0);
            // The exact minimum along the direction.
            let t = -linalg::inner(&d, &g) / linalg::inner(&d, &gradient(&d));
            d.as_mut_slice().iter_mut().for_each(|v| *v *= t);
            linalg::add_scaled(&mut m, 1.0, &d);
            let next = gradient(&m);
            let mut change = next.clone();
            linalg::add_scaled(&mut change, -1.0, &g);
            memory.add(d, change);
            g = next;
            if linalg::inner(&g, &g) < 1e-24 {
                return;
            }
        }
        panic!("{:?}", m.as_slice());
    }

    #[test]
    fn a_step_without_curvature_is_forgotten() {
        let mut memory = Memory::default();
        memory.add(Matrix::identity(2), Matrix::zeros(2, 2));
        assert!(memory.recent.is_empty());
    }
}
