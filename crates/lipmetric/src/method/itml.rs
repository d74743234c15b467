//! Information-theoretic metric learning (J. V. Davis, B. Kulis, P. Jain, S. Sra, I. S. Dhillon 2007).
//!
//! The metric nearest to the Euclidean one, by the LogDet divergence, under which similar pairs are at most `u` apart and dissimilar
//! ones at least `l`, but for slacks that cost `gamma`. Each pair's bound is met in turn by a projection in closed form, a matrix of
//! rank one, until the multipliers do not change any more.

use super::parameters::parameters;
use super::told::pairs_of;
use super::{Fit, Method, Outcome, Training, check_limits, check_positive};
use crate::data::{Pair, notes_on_pairs};
use crate::solver::{Halt, Kept, Observer, Progress, Status, Timed, row};
use crate::{Error, Matrix, Metric, Result, linalg};
use std::ops::ControlFlow;

parameters! {
    /// Information-theoretic metric learning: the rival for pairs.
    ///
    /// ```
    /// use lipmetric::data::Pair;
    /// use lipmetric::method::{Itml, Method, Training};
    /// use lipmetric::{Labels, Matrix, solver::Silent};
    /// let x = Matrix::from_rows(&[[0.0, 9.0], [0.5, 1.0], [2.0, 8.0], [2.5, 2.0]]);
    /// let pairs = [Pair::similar(0, 1), Pair::similar(2, 3), Pair::dissimilar(0, 2), Pair::dissimilar(1, 3)];
    /// let y = Labels::none(4);
    /// let fit = Itml::new().fit(&Training::new(&x, &y)?.with_pairs(&pairs), &mut Silent)?;
    /// let rho = |i, j| fit.metric.squared_distance(x.row(i), x.row(j));
    /// assert!(rho(0, 1) < rho(0, 2) && rho(2, 3) < rho(1, 3));
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    pub struct Itml = "itml" {
        /// What a pair that misses its bound costs; larger keeps to the bounds more closely, smaller to the Euclidean distance.
        gamma: f64 = 1.0,
        /// The squared distances that similar pairs should not exceed and dissimilar ones should. Unless they are given, the
        /// percentiles 5 and 95 of the squared Euclidean distances between the rows that pairs name.
        bounds: Option<[f64; 2]> as impl Into<Option<[f64; 2]>> = None,
        /// Where the rows have labels and no pairs are given: so many pairs of each kind are drawn, 20 for each pair of classes
        /// unless it is said.
        n_constraints: Option<usize> as impl Into<Option<usize>> = None,
        /// Decides which pairs are drawn.
        seed: u64 = 0,
        /// It ends where the multipliers change by less than this part in a pass over the pairs.
        tolerance: f64 = 1e-3,
        /// Passes over the pairs, at most.
        max_iterations: usize = 1000,
    }
}

/// Rows between whose distances the percentiles are taken, at most; evenly chosen.
const SAMPLE: usize = 1500;
/// The percentiles.
const PERCENTILES: (f64, f64) = (0.05, 0.95);

/// A pair on the way: its difference, and what the projections have made of its bound and multiplier.
struct Constraint<'a> {
    difference: Vec<f64>,
    pair: &'a Pair,
    /// What it costs to miss the bound.
    gamma: f64,
    bound: f64,
    multiplier: f64,
}

impl Constraint<'_> {
    /// Projects the metric so that this pair meets its bound; the slack takes its share.
    fn project(&mut self, m: &mut Matrix) {
        let image: Vec<f64> = (0..m.rows()).map(|i| linalg::dot(m.row(i), &self.difference)).collect();
        let length = linalg::dot(&image, &self.difference);
        // Rows that are equal, to rounding, have no direction to be moved along.
        if length <= f64::MIN_POSITIVE {
            return;
        }
        let sign = if self.pair.similar { 1.0 } else { -1.0 };
        let share = self.gamma / (self.gamma + 1.0);
        let step = self.multiplier.min(share * sign * (1.0 / length - 1.0 / self.bound));
        self.multiplier -= step;
        self.bound = 1.0 / (1.0 / self.bound + sign * step / self.gamma);
        let factor = sign * step / (1.0 - sign * step * length);
        for (i, &a) in image.iter().enumerate() {
            m.row_mut(i).iter_mut().zip(&image).for_each(|(v, b)| *v += factor * a * b);
        }
    }
}

impl Itml {
    /// What there is to do where the passes were not enough: the more pairs, the more of them it takes, with the default gamma tens of
    /// thousands for some thousand pairs.
    fn note_unsettled(&self, change: f64, passes: usize, pairs: usize) -> String {
        format!(
            "the distance has not settled: after {passes} passes over {pairs} pairs the multipliers still change by {change:.1e} a pass, \
             where {:.0e} is asked for, and more passes may change it a lot; use a gamma below {} (it then keeps nearer to the Euclidean \
             distance, and settles after fewer passes), raise the parameter `max_iterations`, or use \
             lip-pairs, which says how near to its optimum it is",
            self.tolerance, self.gamma
        )
    }

    /// The bounds that are given, or the percentiles.
    fn limits(&self, x: &Matrix, pairs: &[Pair]) -> Result<[f64; 2]> {
        if let Some(bounds) = self.bounds {
            return Ok(bounds);
        }
        let mut rows: Vec<usize> = pairs.iter().flat_map(Pair::rows).collect();
        rows.sort_unstable();
        rows.dedup();
        let n = rows.len();
        let rows: Vec<usize> = (0..n.min(SAMPLE)).map(|k| rows[k * n / n.min(SAMPLE)]).collect();
        let mut all = Vec::with_capacity(rows.len() * rows.len() / 2);
        for (a, &i) in rows.iter().enumerate() {
            all.extend(rows[..a].iter().map(|&j| squared(&difference(x, i, j))));
        }
        all.sort_unstable_by(f64::total_cmp);
        let at = |part: f64| {
            let place = part * (all.len() - 1) as f64;
            let (low, rest) = (place.floor() as usize, place.fract());
            all[low] + rest * (all[(low + 1).min(all.len() - 1)] - all[low])
        };
        let (least, most) = (at(PERCENTILES.0), at(PERCENTILES.1));
        if most <= 0.0 {
            return Err(Error::data("all rows that pairs name are equal: no metric can separate them"));
        }
        // Where many rows are equal: any distance above zero would be too far.
        let least = if least > 0.0 { least } else { all.iter().copied().find(|v| *v > 0.0).unwrap_or(most) };
        Ok([least, most])
    }
}

/// The metric and the passes that were done, where that is what was kept; bounds and multipliers are put in their places.
fn revived(kept: Kept, constraints: &mut [Constraint<'_>], p: usize) -> Option<(Matrix, usize)> {
    let [m, bounds, multipliers, passes] = <[Matrix; 4]>::try_from(kept.numbers).ok()?;
    let rows = [&bounds, &multipliers].iter().all(|v| (v.rows(), v.cols()) == (1, constraints.len()));
    let all = [&m, &bounds, &multipliers, &passes];
    let fits = rows && (m.rows(), m.cols()) == (p, p) && (passes.rows(), passes.cols()) == (1, 1);
    if !fits || all.iter().any(|v| v.first_non_finite().is_some()) {
        return None;
    }
    let known = bounds.as_slice().iter().zip(multipliers.as_slice());
    constraints.iter_mut().zip(known).for_each(|(c, (b, l))| (c.bound, c.multiplier) = (*b, *l));
    Some((m, passes[(0, 0)] as usize))
}

fn difference(x: &Matrix, i: usize, j: usize) -> Vec<f64> {
    x.row(i).iter().zip(x.row(j)).map(|(a, b)| a - b).collect()
}

fn squared(d: &[f64]) -> f64 {
    linalg::dot(d, d)
}

impl Method for Itml {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn check(&self) -> Result<()> {
        check_limits(self.tolerance, self.max_iterations)?;
        check_positive("gamma", self.gamma, 1.0)?;
        if let Some(bounds) = self.bounds.filter(|b| b.iter().any(|v| !(*v > 0.0 && v.is_finite()))) {
            return Err(Error::parameter("bounds", format!("{bounds:?} are not both positive and finite")));
        }
        Ok(())
    }

    fn takes_start(&self) -> bool {
        false
    }

    fn takes_pairs(&self) -> bool {
        true
    }

    fn fit(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        self.check()?;
        data.check_for(self)?;
        let observer = &mut Timed::new(observer);
        let pairs = pairs_of(data, self.n_constraints, self.seed)?;
        let bounds = self.limits(data.x, &pairs)?;
        // The order of the projections decides on the way, not on the optimum: similar pairs first.
        let of = |similar: bool| pairs.iter().filter(move |p| p.similar == similar);
        let mut constraints: Vec<Constraint<'_>> = of(true)
            .chain(of(false))
            .map(|pair| Constraint {
                difference: difference(data.x, pair.first, pair.second),
                pair,
                gamma: self.gamma * pair.strength,
                bound: bounds[usize::from(!pair.similar)],
                multiplier: 0.0,
            })
            .collect();
        let (mut m, mut iterations) = match observer.kept(Self::NAME) {
            Some(kept) => revived(kept, &mut constraints, data.x.cols()),
            None => None,
        }
        .unwrap_or_else(|| (Matrix::identity(data.x.cols()), 0));
        let mut before: Vec<f64> = constraints.iter().map(|c| c.multiplier).collect();
        let (mut status, mut change) = (Status::IterationLimit, 0.0);
        while iterations < self.max_iterations {
            constraints.iter_mut().for_each(|c| c.project(&mut m));
            iterations += 1;
            let (mut moved, mut now, mut then) = (0.0, 0.0, 0.0);
            for (c, old) in constraints.iter().zip(&mut before) {
                moved += (c.multiplier - *old).abs();
                now += c.multiplier * c.multiplier;
                then += *old * *old;
                *old = c.multiplier;
            }
            observer.keep(Self::NAME, &mut || {
                let of = |value: fn(&Constraint<'_>) -> f64| row(constraints.iter().map(value).collect());
                let numbers = vec![m.clone(), of(|c| c.bound), of(|c| c.multiplier), row(vec![iterations as f64])];
                Kept::new("", numbers)
            });
            change = moved / (f64::sqrt(now) + f64::sqrt(then)).max(f64::MIN_POSITIVE);
            if change <= self.tolerance {
                status = Status::Optimal;
                break;
            }
            if let ControlFlow::Break(halt) =
                observer.progress(&Progress { iteration: iterations, ..Progress::default() })
            {
                status = if halt == Halt::TimeLimit { Status::TimeLimit } else { Status::Interrupted };
                break;
            }
        }
        if let Some((i, j)) = m.first_non_finite() {
            let message =
                format!("element {i}, {j} of the metric left the range of floating point; scale the features");
            return Err(Error::Numerical { place: "itml", message });
        }
        linalg::symmetrise(&mut m);
        let metric = Metric::new(linalg::root(&m)?)?;
        let mut notes = notes_on_pairs(&pairs, data.x);
        if status == Status::IterationLimit {
            notes.push(self.note_unsettled(change, iterations, pairs.len()));
        }
        Ok(Fit::new(metric, Outcome::new(status, iterations).with_notes(notes)))
    }
}
