//! Lip^D and Lip^I for many rows or many features, and as the paper solves them.

use super::super::{Fit, Outcome, Training};
use super::exact::{note_duplicates, settle};
use super::{Plain, Solver, TradeOff};
use crate::linalg::proximal::Positive;
use crate::pairs::Cloud;
use crate::problem::{Coordinates, mean_pair};
use crate::solver::multipliers::{Augmented, ceiling, solve_streamed, wants_stream};
use crate::solver::splitting::{Faithful, Practical};
use crate::solver::working_set::{Inner, Settings, solve};
use crate::solver::{Observer, Solution, Stop, Timed};
use crate::{Error, Matrix, Metric, Result, linalg};

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
        Settings { variant: self.variant, c, rank: self.rank, stop: Stop::new(self.tolerance, self.max_iterations) }
    }

    fn too_large(&self, c: f64, c_max: f64) -> Error {
        let message = format!(
            "{c} is too large: at about c_max = {c_max:.6} and above, all learned distances become 0; use a smaller c, \
             for example {:.6}",
            0.1 * c_max
        );
        Error::parameter("c", message)
    }

    fn fit_balanced(
        &self,
        space: &Coordinates,
        c: f64,
        start: Option<&Metric>,
        observer: &mut dyn Observer,
    ) -> Result<Solution> {
        let space = space.balanced(self.variant)?;
        let start = start.map(|metric| first(&space, metric)).transpose()?;
        let mut solution = if self.solver == Solver::Augmented && self.rank.is_none() && wants_stream(&space.cloud) {
            solve_streamed(&space.cloud, self.large_settings(c), start.as_ref(), observer)?
        } else {
            solve(&space.cloud, self.large_settings(c), start.as_ref(), &mut *self.inner(), observer)?
        };
        solution.factor = space.factor(&solution.factor);
        Ok(solution)
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
            TradeOff::Relative(fraction) => {
                let (c_max, above) = ceiling(&space.cloud, self.variant, observer)?;
                if above > 1.02 * c_max {
                    notes.push(format!(
                        "c_max is only known to lie between {c_max:.6} and {above:.6}; c is a fraction of the former"
                    ));
                }
                (fraction * c_max, Some(c_max))
            }
        };
        let zero = 2.0 * space.cloud.pair_totals().0;
        let mut solution = match self.solver {
            Solver::Paper => self.fit_paper(data, &space, c, observer)?,
            _ => self.fit_balanced(&space, c, data.start, observer)?,
        };
        if c_max.is_none() && solution.bound >= zero * (1.0 - 1e-6) {
            return Err(self.too_large(c, ceiling(&space.cloud, self.variant, observer)?.0));
        }
        notes.extend(note_duplicates(data.x, &space.cloud));
        notes.extend(space.note_faint());
        if solution.objective >= zero {
            notes.push(format!(
                "the metric is no better than the zero metric, whose objective is {zero}: give the solver more time, or \
                 choose a smaller c"
            ));
        }
        if solution.factor.rows() == 0 && self.solver == Solver::Paper {
            return Err(self.too_large(c, ceiling(&space.cloud, self.variant, observer)?.0));
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
