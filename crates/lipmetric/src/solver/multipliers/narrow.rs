//! Given pairs in many coordinates: the problem is solved in few directions, and those are added in which the multipliers found are
//! not feasible yet. The optimum has few directions, and a step costs what an eigendecomposition does.

use super::given::{Proof, goes_on, prove, solve_given};
use crate::linalg;
use crate::problem::relative_gap;
use crate::solver::working_set::model::Model;
use crate::solver::{Halt, Kept, Observer, Progress, Solution, Status, Stop};
use crate::{Matrix, Metric, Result};
use std::ops::ControlFlow;

/// Coordinates from which on this way is taken.
pub(crate) const NARROW: usize = 100;
/// Directions at the beginning, ...
const FIRST: usize = 32;
/// ... and how many are added at a time, at most.
const MORE: usize = 32;
/// Rounds, at most.
const ROUNDS: usize = 30;
/// The part of the tolerance that the problem in few directions is solved to.
const FINER: f64 = 0.3;
/// A direction counts as infeasible where it is so by this part of the tolerance.
const FELT: f64 = 0.1;
/// What is left of a direction that lies in the others.
const WITHIN: f64 = 1e-6;
/// What an observer keeps of a fit: the factor of the best metric, coordinates x rank, and the directions, one in each row.
const PART: &str = "given pairs in few directions";

/// Solves the problem; the factor has a column for each coordinate.
pub(crate) fn solve_narrow(
    model: &Model,
    x: &Matrix,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<(Solution, Proof)> {
    let p = x.cols();
    let size = (linalg::inner(&model.mean, &model.mean) / p as f64).sqrt();
    let caps: Vec<f64> = (0..model.pushes()).map(|k| model.cap(k)).collect();
    let eigen = linalg::symmetric_eigen(&model.push_sum(x, &caps))?;
    // A direction in each row.
    let first = || {
        let basis = eigen.vectors.select_cols((0..p).rev().take(FIRST)).transpose();
        (Matrix::identity(basis.rows()), basis)
    };
    let (mut start, mut basis) = observer.kept(PART).and_then(|kept| revived(&kept, p)).unwrap_or_else(first);
    // The best bound, and what proves it: a bound of fewer directions is none of all.
    let mut best = (0.0, Proof::default());
    let (mut iterations, mut solution) = (0, None);
    for _ in 0..ROUNDS {
        let columns = basis.transpose();
        let inside = (model.within(&columns), linalg::product(x, &columns));
        let steps = stop.max_iterations.saturating_sub(iterations).max(1);
        let left = Stop::new(FINER * stop.tolerance, steps);
        let watched = &mut Widened { inner: &mut *observer, basis: &basis };
        let (mut found, inner) = solve_given(&inside.0, &inside.1, start, &left, watched)?;
        iterations += found.iterations;
        let few = std::mem::take(&mut found.factor);
        (found.factor, found.iterations) = (linalg::product(&few, &basis), iterations);
        if !inner.push.is_empty() {
            let (bound, proof) = prove(model, x, &inner.push, &inner.pull)?;
            if bound > best.0 {
                best = (bound, proof);
            }
        }
        found.bound = best.0;
        let proved = relative_gap(found.objective, found.bound) <= stop.tolerance;
        found.status = match found.status {
            _ if proved => Status::Optimal,
            Status::Optimal => Status::Stalled,
            other => other,
        };
        let on = found.status == Status::Stalled && !inner.push.is_empty();
        solution = Some(found);
        if !on {
            break;
        }
        let wider = widened(model, x, &basis, &inner, FELT * stop.tolerance * size * model.c)?;
        if wider.rows() == basis.rows() {
            break;
        }
        start = padded(&few.transpose(), wider.rows());
        basis = wider;
    }
    match solution {
        Some(solution) => Ok((solution, best.1)),
        None => solve_given(model, x, Matrix::identity(p), stop, observer),
    }
}

/// Tells an observer of a fit in few directions what it keeps in all coordinates.
struct Widened<'a> {
    inner: &'a mut dyn Observer,
    basis: &'a Matrix,
}

impl Observer for Widened<'_> {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Halt> {
        self.inner.progress(at)
    }

    fn decided(&mut self, what: &str) {
        self.inner.decided(what);
    }

    fn keep(&mut self, _part: &str, state: &mut dyn FnMut() -> Kept) {
        let basis = self.basis;
        self.inner.keep(PART, &mut || {
            let factor = |kept: Kept| Some(linalg::transposed_product(basis, kept.numbers.first()?));
            Kept::new("", factor(state()).into_iter().chain([basis.clone()]).collect())
        });
    }

    fn reached(&mut self, metric: &mut dyn FnMut() -> Option<Metric>) {
        self.inner.reached(metric);
    }
}

/// The factor in these directions that was kept, and the directions; nothing if they are none of so many coordinates.
fn revived(kept: &Kept, p: usize) -> Option<(Matrix, Matrix)> {
    let [factor, basis] = &kept.numbers[..] else { return None };
    let fits =
        factor.rows() == p && basis.cols() == p && factor.cols() == basis.rows() && (1..=p).contains(&basis.rows());
    let finite = [factor, basis].iter().all(|m| m.first_non_finite().is_none());
    (fits && finite && goes_on(factor)).then(|| (linalg::product(basis, factor), basis.clone()))
}

/// The directions, and those in which what pushes is more than what pulls.
fn widened(model: &Model, x: &Matrix, basis: &Matrix, inner: &Proof, felt: f64) -> Result<Matrix> {
    let mut left = model.feasible_pull(x, &inner.pull);
    linalg::add_scaled(&mut left, -1.0, &model.push_sum(x, &inner.push));
    let eigen = linalg::symmetric_eigen(&left)?;
    let (p, mut values) = (x.cols(), basis.as_slice().to_vec());
    for k in (0..p).take(MORE).take_while(|&k| eigen.values[k] < -felt) {
        let mut v: Vec<f64> = (0..p).map(|a| eigen.vectors[(a, k)]).collect();
        // Twice, so that rounding leaves nothing of the others in it.
        for _ in 0..2 {
            for row in values.chunks_exact(p) {
                let along = linalg::dot(row, &v);
                v.iter_mut().zip(row).for_each(|(v, r)| *v -= along * r);
            }
        }
        let length = linalg::dot(&v, &v).sqrt();
        if length > WITHIN && values.len() < p * p {
            values.extend(v.iter().map(|v| v / length));
        }
    }
    Matrix::from_vec(values.len() / p, p, values)
}

/// A factor (coordinates x rank) with as many rows and columns as there are coordinates now.
fn padded(factor: &Matrix, rows: usize) -> Matrix {
    let mut out = Matrix::zeros(rows, rows);
    for i in 0..factor.rows() {
        out.row_mut(i)[..factor.cols()].copy_from_slice(factor.row(i));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::Silent;
    use crate::solver::working_set::model::Push;

    #[test]
    fn few_directions_come_to_the_optimum_of_all() {
        let value = |k: usize| ((k * 7919 + 13) % 10_007) as f64 / 10_007.0 - 0.5;
        let (n, p) = (120, 60);
        // A few directions are wider than the others.
        let wide = |j: usize| if j < 6 { 3.0 } else { 0.6 };
        let x = Matrix::from_vec(n, p, (0..n * p).map(|k| wide(k % p) * value(3 * k + k / p)).collect()).unwrap();
        let push: Vec<Push> =
            (0..150).map(|k: u32| Push { i: k % 120, j: (7 * k + 3) % 120, cap: 1.0 }).filter(|r| r.i != r.j).collect();
        let model = Model { push, ..Model::empty(30.0, Matrix::identity(p)) };
        let stop = Stop::new(1e-4, 2000);
        let (whole, _) = solve_given(&model, &x, Matrix::identity(p), &stop, &mut Silent).unwrap();
        let (narrow, proof) = solve_narrow(&model, &x, &stop, &mut Silent).unwrap();
        assert_eq!((whole.status, narrow.status), (Status::Optimal, Status::Optimal));
        assert!((whole.objective - narrow.objective).abs() <= 2e-4 * whole.objective, "{narrow:?}");
        assert!(narrow.bound <= whole.objective * (1.0 + 1e-12) && whole.bound <= narrow.objective * (1.0 + 1e-12));
        assert_eq!(narrow.factor.cols(), p);
        // What is handed over proves the bound, on all coordinates.
        let (bound, _) = prove(&model, &x, &proof.push, &proof.pull).unwrap();
        assert!(bound >= narrow.bound * (1.0 - 1e-6), "{bound} and {}", narrow.bound);
    }
}
