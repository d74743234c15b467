//! Lip^D and Lip^I for many rows or many features, and as the paper solves them.

use super::super::{Fit, Outcome, Training, settle};
use super::exact::{C_MAX, EXAMPLE, note_duplicates, note_guess, usable};
use super::{Plain, Solver, TradeOff};
use crate::linalg::proximal::Positive;
use crate::pairs::Cloud;
use crate::problem::{Coordinates, Slack, mean_pair, relative_gap, value_at_zero};
use crate::solver::interior::Ceiling;
use crate::solver::multipliers::{
    Augmented, allows_rows, ceiling, solve_slacked, solve_streamed, suits_slacked, wants_stream,
};
use crate::solver::splitting::{Faithful, Practical};
use crate::solver::working_set::{Inner, PART, Settings, solve};
use crate::solver::{Kept, Observer, Progress, Solution, Status, Stop, Timed, Translated, row};
use crate::{Error, Matrix, Metric, Result, linalg};

/// A bound that is the zero metric's objective but for this part: `c` is too large.
const ZERO: f64 = 1e-6;
/// Bounds of `c_max` that are further apart are told: twice the accuracy that its computation aims at.
const KNOWN: f64 = 1.02;
/// Of more rows than this with a slack each the method of multipliers, should another one have stalled, would take hours.
const MANY_ROWS: usize = 5_000;

impl Plain {
    fn check_large(&self, data: &Training<'_>) -> Result<()> {
        if let Some(rank) = self.rank.filter(|&r| r > data.x.cols()) {
            let message = format!("{rank} is not a rank from 1 to the number of features, {}", data.x.cols());
            return Err(Error::parameter("rank", message));
        }
        if data.start.is_some() && self.solver == Solver::Paper {
            return Err(Error::parameter("start", "the paper's algorithm has its own start; leave it out"));
        }
        Ok(())
    }

    fn inner(&self) -> Box<dyn Inner> {
        match self.solver {
            Solver::Augmented => Box::new(Augmented::default()),
            _ => Box::new(Practical::default()),
        }
    }

    fn large_settings(&self, c: f64) -> Settings {
        let stop = Stop::new(self.tolerance, self.max_iterations);
        Settings { variant: self.variant, slack: self.slack, c, rank: self.rank, stop }
    }

    fn too_large(&self, c: f64, c_max: f64) -> Error {
        let message = format!(
            "{c} is too large: at about c_max = {c_max:.6} and above, all learned distances become 0; use a smaller c, \
             for example {:.6}",
            EXAMPLE * c_max
        );
        Error::parameter("c", message)
    }

    /// Solves the problem in coordinates that are balanced.
    fn fit_balanced(
        &self,
        space: &Coordinates,
        c: f64,
        start: Option<&Metric>,
        observer: &mut dyn Observer,
    ) -> Result<Solution> {
        let metric = |kept: &Kept| space.metric(&kept.numbers.first()?.transpose()).ok();
        let observer = &mut Translated { inner: observer, metric: &metric };
        let kept = observer.kept(PART).and_then(|kept| kept.numbers.into_iter().next());
        let kept = kept.filter(|factor| factor.rows() == space.rank() && factor.first_non_finite().is_none());
        let start = match kept {
            Some(factor) => Some(factor),
            None => start.map(|metric| first(space, metric)).transpose()?,
        };
        let streams = self.solver == Solver::Augmented && self.rank.is_none() && self.slack == Slack::Pair;
        let settings = self.large_settings(c);
        if self.solver == Solver::Augmented && suits_slacked(&space.cloud, &settings) {
            let found = solve_slacked(&space.cloud, settings, start.as_ref(), observer)?;
            if found.status != Status::Stalled || space.cloud.len() > MANY_ROWS {
                return Ok(found);
            }
            let near = found.factor.transpose();
            let rows = solve(&space.cloud, settings, Some(&near), &mut *self.inner(), observer)?;
            return Ok(better(found, rows, self.tolerance));
        }
        if !streams || !wants_stream(&space.cloud, &settings) {
            return solve(&space.cloud, settings, start.as_ref(), &mut *self.inner(), observer);
        }
        let streamed = solve_streamed(&space.cloud, settings, start.as_ref(), observer)?;
        if streamed.status != Status::Stalled || !allows_rows(&space.cloud) {
            return Ok(streamed);
        }
        let near = streamed.factor.transpose();
        let rows = solve(&space.cloud, settings, Some(&near), &mut *self.inner(), observer)?;
        Ok(better(streamed, rows, self.tolerance))
    }

    /// Fits for several fractions of `c_max`, each from the one before it; for `c` itself where there are none.
    pub(in crate::method) fn path_large(
        &self,
        data: &Training<'_>,
        fractions: &[f64],
        observer: &mut dyn Observer,
    ) -> Result<Vec<(Option<f64>, Fit)>> {
        if fractions.is_empty() {
            return Ok(vec![(None, self.fit_large(data, observer)?)]);
        }
        let space = self.prepare(data)?;
        if let Some(leak) = space.leak(self.variant)? {
            let fit = |f: &f64| Ok((Some(*f), self.closed_form(data, &leak, TradeOff::Relative(*f))?));
            return fractions.iter().map(fit).collect();
        }
        let observer = &mut Timed::new(observer);
        let c_max = ceiling(&space.cloud, self.variant, self.slack, observer)?.0;
        let mut out: Vec<(Option<f64>, Fit)> = Vec::new();
        for &fraction in fractions {
            let data = out.last().map_or(*data, |(_, before)| data.with_start(&before.metric));
            let fit = self.learn(&data, &space, (fraction * c_max, Some(c_max)), observer)?;
            out.push((Some(fraction), fit));
        }
        Ok(out)
    }

    fn fit_paper(
        &self,
        data: &Training<'_>,
        space: &Coordinates,
        c: f64,
        observer: &mut dyn Observer,
    ) -> Result<Solution> {
        let rows = centred(data.x);
        let cloud = Cloud::new(&rows, data.y.codes(), &self.class_weights.of_rows(data)?);
        let (mean, reach) = (mean_pair(&space.cloud, self.variant), space.reach_of(&rows));
        Faithful::new(&cloud, self.large_settings(c), self.mu)?.run(|sum| space.sum_of(sum), (&mean, &reach), observer)
    }
}

/// Of two solutions of a problem, one after the other, the better metric and the better bound.
fn better(first: Solution, second: Solution, tolerance: f64) -> Solution {
    let (status, iterations) = (second.status, first.iterations + second.iterations);
    let bound = first.bound.max(second.bound);
    let best = if first.objective < second.objective { first } else { second };
    let reached = relative_gap(best.objective, bound) <= tolerance;
    Solution { status: if reached { Status::Optimal } else { status }, iterations, bound, ..best }
}

/// A metric on the features as a factor in these coordinates: coordinates x components.
fn first(space: &Coordinates, metric: &Metric) -> Result<Matrix> {
    let inner = space.inner(metric.factor())?;
    Ok(Positive::part(&linalg::transposed_product(&inner, &inner))?.factor)
}

/// The rows about their mean: differences stay as they are, and lose fewer digits.
pub(in crate::method) fn centred(x: &Matrix) -> Matrix {
    let mut mean = vec![0.0; x.cols()];
    for i in 0..x.rows() {
        mean.iter_mut().zip(x.row(i)).for_each(|(m, v)| *m += v / x.rows() as f64);
    }
    let mut out = x.clone();
    for i in 0..x.rows() {
        out.row_mut(i).iter_mut().zip(&mean).for_each(|(v, m)| *v -= m);
    }
    out
}

impl Plain {
    /// Learns a metric by the solver asked for, which is not the exact one.
    pub(super) fn fit_large(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        let observer = &mut Timed::new(observer);
        self.check_large(data)?;
        let space = self.prepare(data)?;
        if let Some(leak) = space.leak(self.variant)? {
            return self.closed_form(data, &leak, self.trade_off);
        }
        let mut notes = Vec::new();
        let (c, c_max) = match self.trade_off {
            TradeOff::Absolute(c) => (c, None),
            TradeOff::Relative(fraction) if self.sharp => {
                let Ceiling { value, known } = self.ceiling(&space, observer)?;
                let c = usable(fraction * value, value)?;
                notes.extend((!known).then(|| note_guess(c)));
                (c, known.then_some(value))
            }
            TradeOff::Relative(fraction) => {
                let (c_max, above) = self.ceiling_between(&space, observer)?;
                if above > KNOWN * c_max {
                    notes.push(format!(
                        "c_max is only known to lie between {c_max:.6} and {above:.6}; c is a fraction of the former"
                    ));
                }
                (usable(fraction * c_max, c_max)?, Some(c_max))
            }
        };
        let mut fit = self.learn(data, &space, (c, c_max), observer)?;
        fit.outcome.notes.splice(0..0, notes);
        Ok(fit)
    }

    /// `c_max` from below and from above.
    fn ceiling_between(&self, space: &Coordinates, observer: &mut dyn Observer) -> Result<(f64, f64)> {
        if let Some(kept) = observer.kept(C_MAX).and_then(|kept| kept.single(1, 2)) {
            return Ok((kept[(0, 0)], kept[(0, 1)]));
        }
        let (below, above) = ceiling(&space.cloud, self.variant, self.slack, observer)?;
        // Whoever is in a hurry gets bounds that are further apart than they could be.
        if observer.progress(&Progress::default()).is_continue() {
            observer.finished(C_MAX, &Kept::new("", vec![row(vec![below, above])]));
        }
        Ok((below, above))
    }

    /// Learns a metric for this `c`, where `c_max` may be known.
    fn learn(
        &self,
        data: &Training<'_>,
        space: &Coordinates,
        (c, c_max): (f64, Option<f64>),
        observer: &mut dyn Observer,
    ) -> Result<Fit> {
        let mut notes = Vec::new();
        let zero = value_at_zero(&space.cloud, self.slack);
        let balanced = space.balanced(self.variant)?;
        let mut solution = match self.solver {
            Solver::Paper => self.fit_paper(data, space, c, observer)?,
            _ => self.fit_balanced(&balanced, c, data.start, observer)?,
        };
        // With a slack per row the bound is that of the tolerance: whether c is too large is known from c_max alone.
        let known = if self.slack == Slack::Pair { ZERO } else { self.tolerance };
        if c_max.is_none() && solution.bound >= zero * (1.0 - known) {
            let found = ceiling(&space.cloud, self.variant, self.slack, observer)?.0;
            if self.slack == Slack::Pair || c >= found {
                return Err(self.too_large(c, found));
            }
        }
        let no_better = (solution.objective >= zero).then(|| {
            format!(
                "the metric is no better than the zero metric, whose objective is {zero}: give the solver more time, or \
                 choose a smaller c"
            )
        });
        if self.slack == Slack::Instance {
            let c_max = c_max.map(|value| Ceiling { value, known: true });
            let mut fit = self.finish(data, &balanced, solution, c, c_max)?;
            fit.outcome.notes.extend(no_better);
            return Ok(fit);
        }
        if self.solver != Solver::Paper {
            solution.factor = balanced.factor(&solution.factor);
        }
        notes.extend(note_duplicates(data.x, &space.cloud));
        notes.extend(space.note_faint());
        notes.extend(no_better);
        if solution.factor.rows() == 0 && self.solver == Solver::Paper {
            return Err(self.too_large(c, ceiling(&space.cloud, self.variant, self.slack, observer)?.0));
        }
        let metric = Metric::new(solution.factor.clone())?;
        solution.objective = self.problem(data, c)?.measure(&metric, &[]).objective;
        // These solvers keep no multipliers that could be tested in twice the precision.
        if let Some(note) = space.note_unproved() {
            solution.bound = 0.0;
            notes.push(note);
        }
        notes.extend(settle(&mut solution, self.tolerance).filter(|_| !space.is_partial()));
        let outcome = Outcome::of(&solution).with_trade_off(Some(c), c_max).with_notes(notes);
        Ok(Fit::new(metric, outcome))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::Lip;
    use super::*;
    use crate::Labels;
    use crate::method::Method;
    use crate::problem::Variant;
    use crate::solver::Silent;

    #[test]
    fn rows_so_many_that_passes_leave_pairs_out_are_fitted_to_the_gap_that_is_asked_for() {
        let (n, p) = (2_100, 3);
        let value = |k: usize| ((k * 7919 % 10_007) as f64 / 10_007.0 - 0.5) * (1.0 + (k % p) as f64);
        let mut x = Matrix::from_vec(n, p, (0..n * p).map(value).collect()).unwrap();
        (0..n).for_each(|i| x[(i, 0)] += 0.4 * (i % 3) as f64);
        let y = Labels::from_names((0..n).map(|i| ["a", "b", "c"][i % 3]));
        let data = Training::new(&x, &y).unwrap();
        let lip = Lip::intra().slack(Slack::Pair).solver(Solver::Augmented).c_rel(0.1).tolerance(0.02);
        let outcome = lip.fit(&data, &mut Silent).unwrap().outcome;
        assert_eq!(outcome.status, crate::solver::Status::Optimal);
        assert!(outcome.gap.unwrap() <= 0.02);
    }

    #[test]
    fn many_rows_with_a_slack_each_are_fitted_to_the_gap_and_c_max_is_known() {
        let (n, p) = (1_600, 2);
        let value = |k: usize| ((k * 7919 % 10_007) as f64 / 10_007.0 - 0.5) * (1.0 + (k % p) as f64);
        let mut x = Matrix::from_vec(n, p, (0..n * p).map(value).collect()).unwrap();
        (0..n).for_each(|i| x[(i, 0)] += 0.5 * (i % 2) as f64);
        let y = Labels::from_names((0..n).map(|i| ["a", "b"][i % 2]));
        let data = Training::new(&x, &y).unwrap();
        let fit = Lip::intra().c_rel(0.1).tolerance(0.02).fit(&data, &mut Silent).unwrap();
        let outcome = &fit.outcome;
        assert_eq!(outcome.status, Status::Optimal, "{outcome:?}");
        assert!(outcome.gap.unwrap() <= 0.02 && outcome.dual.unwrap() <= outcome.objective.unwrap(), "{outcome:?}");
        assert!(outcome.notes.iter().all(|note| !note.contains("c_max")), "{:?}", outcome.notes);
    }

    #[test]
    fn multipliers_of_the_diameter_that_rounding_has_made_more_than_c_prove_no_more() {
        // Lengths times the penalty are so much larger than c here that of the multipliers, differences of such numbers, only
        // one or two digits are left.
        let x = Matrix::from_rows(&[
            [1.551_222_430_474_246_8, 1.551_222_433_128_122_6],
            [-0.896_533_277_890_105_3, -0.896_533_259_713_865_1],
            [-0.863_827_618_695_799_6, -0.863_827_634_106_566_9],
            [0.209_138_466_111_658, 0.209_138_460_692_309_49],
        ]);
        let y = Labels::from_names(["a", "b", "a", "b"]);
        let data = Training::new(&x, &y).unwrap();
        let c = 2.501_881_445_637_903e-8;
        let lip = Lip::intra().slack(Slack::Pair).c(c);
        let exact = lip.clone().fit(&data, &mut Silent).unwrap().outcome.objective.unwrap();
        for solver in [Solver::Augmented, Solver::Admm] {
            let plain = lip.clone().solver(solver).plain(solver);
            let balanced = plain.prepare(&data).unwrap().balanced(Variant::Intra).unwrap();
            let solution = plain.fit_balanced(&balanced, c, None, &mut Silent).unwrap();
            assert!(solution.bound <= exact, "{solver:?}: {} above {exact}", solution.bound);
        }
    }
}
