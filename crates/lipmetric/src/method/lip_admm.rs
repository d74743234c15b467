//! Lip^D and Lip^I for many rows or many features, and as the paper solves them.

use super::{ClassWeights, Fit, Learner, Lip, Outcome, TradeOff, Training};
use crate::linalg::Cholesky;
use crate::linalg::proximal::Positive;
use crate::pairs::Cloud;
use crate::problem::{Slack, Space, Variant, leak, mean_pair};
use crate::solver::multipliers::{Augmented, ceiling, solve_streamed, wants_stream};
use crate::solver::splitting::{Faithful, Practical};
use crate::solver::working_set::{Inner, Settings, balanced, solve};
use crate::solver::{Observer, Solution, Status, Stop, Timed};
use crate::{Error, Matrix, Metric, Result, linalg};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How Lip^D and Lip^I are solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Solver {
    /// The interior-point method of [`Lip`](super::Lip): certified to 1e-6 and below.
    Exact,
    /// The method of multipliers with Newton steps, on a working set of pairs.
    Augmented,
    /// ADMM in two blocks, on a working set of pairs.
    Admm,
    /// The paper's Algorithm 1, iterate for iterate.
    Paper,
}

impl Solver {
    /// The solver for a problem of a size: the exact one up to 36 features and 3,000 rows, where a Newton system has at
    /// most 666 unknowns and many pairs may be active at once; above, [`Solver::Augmented`], which at 5,000 rows of 10
    /// features and a hundredth of `c_max` took a fifth of the time. The number of classes does not matter beyond two: it
    /// changes which pairs push, hardly how many.
    ///
    /// ```
    /// use lipmetric::method::Solver;
    /// assert_eq!(Solver::automatic(414, 14, 2), Solver::Exact);
    /// assert_eq!(Solver::automatic(2_000, 784, 10), Solver::Augmented);
    /// ```
    #[must_use]
    pub fn automatic(rows: usize, features: usize, _classes: usize) -> Self {
        if features <= Self::EXACT_FEATURES && rows <= Self::EXACT_ROWS { Self::Exact } else { Self::Augmented }
    }

    /// Rows up to which [`Solver::automatic`] takes the exact solver ...
    pub const EXACT_ROWS: usize = 3_000;
    /// ... and with a slack per row, where a Newton system has an unknown for each.
    pub const EXACT_ROWS_WITH_SLACK: usize = 1_500;
    /// Features up to which it does.
    pub const EXACT_FEATURES: usize = 36;

    /// The name that the command line uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Augmented => "augmented",
            Self::Admm => "admm",
            Self::Paper => "paper",
        }
    }
}

/// Lip^D or Lip^I by a method for large problems, with a certified gap whatever the accuracy.
///
/// ```
/// use lipmetric::method::{Learner, LipAdmm, Training};
/// use lipmetric::{Labels, Matrix, solver::Silent};
/// let x = Matrix::from_rows(&[[0.0, 0.1], [0.2, 0.9], [1.0, 0.2], [1.1, 0.8]]);
/// let y = Labels::from_names(["a", "a", "b", "b"]);
/// let fit = LipAdmm::diameter().c(0.1).fit(&Training::new(&x, &y)?, &mut Silent)?;
/// assert!(fit.outcome.gap.unwrap() <= 1e-3);
/// # Ok::<(), lipmetric::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LipAdmm {
    variant: Variant,
    slack: Slack,
    trade_off: TradeOff,
    solver: Solver,
    mu: f64,
    tolerance: f64,
    max_iterations: usize,
    rank: Option<usize>,
    class_weights: ClassWeights,
    start: Option<Metric>,
}

impl LipAdmm {
    /// Lip^D.
    #[must_use]
    pub fn diameter() -> Self {
        Self::new(Variant::Diameter)
    }

    /// Lip^I.
    #[must_use]
    pub fn intra() -> Self {
        Self::new(Variant::Intra)
    }

    /// Either variant by the practical ADMM with the paper's `c = 1`, to a certified gap of 1e-3.
    #[must_use]
    pub fn new(variant: Variant) -> Self {
        Self {
            variant,
            slack: Slack::Pair,
            trade_off: TradeOff::Absolute(1.0),
            solver: Solver::Admm,
            mu: 1.0,
            tolerance: 1e-3,
            max_iterations: 100_000,
            rank: None,
            class_weights: ClassWeights::None,
            start: None,
        }
    }

    /// Which method: [`Solver::Admm`], [`Solver::Augmented`] or [`Solver::Paper`].
    #[must_use]
    pub fn solver(mut self, solver: Solver) -> Self {
        self.solver = solver;
        self
    }

    /// The paper's Algorithm 1 with its start, for comparison with the paper.
    #[must_use]
    pub fn paper(self) -> Self {
        self.solver(Solver::Paper)
    }

    /// A slack per pair or per row. Only [`Slack::Pair`] can be solved by these methods.
    #[must_use]
    pub fn slack(mut self, slack: Slack) -> Self {
        self.slack = slack;
        self
    }

    /// `c` itself.
    #[must_use]
    pub fn c(self, c: f64) -> Self {
        self.trade_off(TradeOff::Absolute(c))
    }

    /// `c` as a fraction of `c_max`, here known from below: a note of the outcome tells where by more than 2 %.
    #[must_use]
    pub fn c_relative(self, fraction: f64) -> Self {
        self.trade_off(TradeOff::Relative(fraction))
    }

    /// `c`, either way.
    #[must_use]
    pub fn trade_off(mut self, trade_off: TradeOff) -> Self {
        self.trade_off = trade_off;
        self
    }

    /// The penalty of [`Solver::Paper`]; the paper uses 1. The other methods choose and adapt theirs.
    #[must_use]
    pub fn mu(mut self, mu: f64) -> Self {
        self.mu = mu;
        self
    }

    /// The certified relative gap to reach.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Iterations, at most.
    #[must_use]
    pub fn max_iterations(mut self, max_iterations: usize) -> Self {
        self.max_iterations = max_iterations;
        self
    }

    /// The largest rank of the metric; the gap is still that to the optimum over all ranks.
    #[must_use]
    pub fn rank(mut self, rank: usize) -> Self {
        self.rank = Some(rank);
        self
    }

    /// How much the rows of each class count.
    #[must_use]
    pub fn class_weights(mut self, class_weights: ClassWeights) -> Self {
        self.class_weights = class_weights;
        self
    }

    /// Starts from another metric on the same features, such as that of an earlier fit. It changes the way, not the
    /// optimum; one that is no better than simple first metrics is not used. [`Solver::Paper`] has its own start.
    #[must_use]
    pub fn start_from(mut self, metric: &Metric) -> Self {
        self.start = Some(metric.clone());
        self
    }

    /// The other or the same variant.
    pub(super) fn variant(mut self, variant: Variant) -> Self {
        self.variant = variant;
        self
    }

    fn row_weights(&self, data: &Training<'_>) -> Result<Vec<f64>> {
        Lip::new(self.variant).class_weights(self.class_weights.clone()).row_weights(data)
    }

    fn check(&self, data: &Training<'_>) -> Result<()> {
        let (name, value, bound) = match self.trade_off {
            TradeOff::Absolute(c) => ("c", c, f64::INFINITY),
            TradeOff::Relative(c) => ("c-rel", c, 1.0),
        };
        if !(value > 0.0 && value < bound) {
            let range = if bound.is_finite() { "between 0 and 1" } else { "positive and finite" };
            return Err(Error::parameter(name, format!("{value} is not {range}")));
        }
        if !(self.mu > 0.0 && self.mu.is_finite()) {
            return Err(Error::parameter("mu", format!("{} is not positive and finite; the paper uses 1", self.mu)));
        }
        if !(self.tolerance >= 1e-12 && self.tolerance < 1.0) {
            let message = format!("{} is not a relative gap from 1e-12 to below 1", self.tolerance);
            return Err(Error::parameter("tol", message));
        }
        if self.max_iterations == 0 {
            return Err(Error::parameter("max-iter", "0 iterations: give at least 1"));
        }
        if let Some(rank) = self.rank.filter(|&r| r == 0 || r > data.x.cols()) {
            let message = format!("{rank} is not a rank from 1 to the number of features, {}", data.x.cols());
            return Err(Error::parameter("rank", message));
        }
        if let Some(start) = &self.start {
            if self.solver == Solver::Paper {
                return Err(Error::parameter("warm-start", "the paper's algorithm has its own start; leave it out"));
            }
            if start.features() != data.x.cols() {
                return Err(Error::shape("features of the metric to start from", data.x.cols(), start.features()));
            }
        }
        match (self.solver, self.slack, self.rank) {
            (Solver::Exact, _, _) => Err(Error::parameter("solver", "`exact` is another learner: use Lip")),
            (_, Slack::Instance, _) => Err(Error::parameter(
                "slack",
                format!("a slack per row cannot be solved by `{}`; use the exact solver", self.solver.name()),
            )),
            (Solver::Paper, _, Some(_)) => {
                Err(Error::parameter("rank", "the paper's algorithm has no such limit; use `admm` or `augmented`"))
            }
            _ => Ok(()),
        }
    }

    fn inner(&self) -> Box<dyn Inner> {
        match self.solver {
            Solver::Augmented => Box::new(Augmented::default()),
            _ => Box::new(Practical::default()),
        }
    }

    fn settings(&self, c: f64) -> Settings {
        Settings { variant: self.variant, c, rank: self.rank, stop: Stop::new(self.tolerance, self.max_iterations) }
    }

    /// The data in whitened coordinates, after the checks that do not depend on `c`.
    fn prepare(&self, data: &Training<'_>) -> Result<Space> {
        self.check(data)?;
        let space = Space::new(data.x, data.y.codes(), &self.row_weights(data)?)?;
        let (different, same) = space.cloud.pair_totals();
        if different <= 0.0 {
            return Err(Error::data("all rows have the same label: there is nothing to tell apart"));
        }
        if self.variant == Variant::Intra && same <= 0.0 {
            return Err(Error::data(
                "no two rows have the same label, so that Lip^I has no diameter to bound; use Lip^D instead",
            ));
        }
        if space.rank() == 0 {
            return Err(Error::data("all rows are equal: no metric can tell them apart"));
        }
        Ok(space)
    }

    fn too_large(&self, c: f64, c_max: f64) -> Error {
        let message = format!(
            "{c} is too large: from about c_max = {c_max:.6} on the zero metric is optimal, which tells nothing apart; \
             choose c below that, for example {:.6}",
            0.1 * c_max
        );
        Error::parameter("c", message)
    }

    fn fit_balanced(&self, space: &Space, c: f64, observer: &mut dyn Observer) -> Result<Solution> {
        let (cloud, map) = balanced(&space.cloud, self.variant)?;
        let start = self.start.as_ref().map(|metric| first(space, &map, metric)).transpose()?;
        let mut solution = if self.solver == Solver::Augmented && self.rank.is_none() && wants_stream(&cloud) {
            solve_streamed(&cloud, self.settings(c), start.as_ref(), observer)?
        } else {
            solve(&cloud, self.settings(c), start.as_ref(), &mut *self.inner(), observer)?
        };
        solution.factor = linalg::product_transposed(&solution.factor, &map);
        Ok(solution)
    }

    fn fit_paper(&self, data: &Training<'_>, space: &Space, c: f64, observer: &mut dyn Observer) -> Result<Solution> {
        let cloud = Cloud::new(&centred(data.x), data.y.codes(), &self.row_weights(data)?);
        let mean = mean_pair(&space.cloud, self.variant);
        Faithful::new(&cloud, self.settings(c), self.mu)?.run(|sum| space.sum_of(sum), &mean, observer)
    }
}

/// A metric on the features as a factor in balanced coordinates: `G f' = f`.
fn first(space: &Space, map: &Matrix, metric: &Metric) -> Result<Matrix> {
    let factor = Positive::part(&space.inner(metric.factor()))?.factor;
    let mut columns = factor.transpose();
    if let Some(inverse) = Cholesky::of(map) {
        (0..columns.rows()).for_each(|k| inverse.solve(columns.row_mut(k)));
    }
    Ok(columns.transpose())
}

/// The rows about their mean: differences stay as they are, and lose fewer digits.
pub(super) fn centred(x: &Matrix) -> Matrix {
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

impl Learner for LipAdmm {
    fn name(&self) -> &'static str {
        match self.variant {
            Variant::Diameter => "lip-d",
            Variant::Intra => "lip-i",
        }
    }

    fn parameters(&self) -> BTreeMap<String, serde_json::Value> {
        let (name, value) = match self.trade_off {
            TradeOff::Absolute(c) => ("c", c),
            TradeOff::Relative(fraction) => ("c_rel", fraction),
        };
        let mut out = BTreeMap::from([
            ("solver".to_owned(), serde_json::json!(self.solver)),
            ("slack".to_owned(), serde_json::json!(self.slack)),
            (name.to_owned(), serde_json::json!(value)),
            ("tol".to_owned(), serde_json::json!(self.tolerance)),
            ("max_iter".to_owned(), serde_json::json!(self.max_iterations)),
            ("class_weights".to_owned(), serde_json::json!(self.class_weights)),
        ]);
        if self.solver == Solver::Paper {
            out.insert("mu".to_owned(), serde_json::json!(self.mu));
        }
        if let Some(rank) = self.rank {
            out.insert("rank".to_owned(), serde_json::json!(rank));
        }
        out
    }

    fn fit(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        let observer = &mut Timed::new(observer);
        let space = self.prepare(data)?;
        if self.variant == Variant::Intra
            && let Some(leak) = leak(&space.cloud)?
        {
            let note = "in some direction the rows of a class do not vary at all while the classes differ (a leaked label, \
                        or as many features as rows): the objective reaches zero there, and the metric measures only \
                        these directions";
            let c = if let TradeOff::Absolute(c) = self.trade_off { Some(c) } else { None };
            let mut outcome =
                Outcome::new(Status::ClosedForm, 0).with_trade_off(c, None).with_notes(vec![note.to_owned()]);
            (outcome.objective, outcome.dual, outcome.gap) = (Some(0.0), Some(0.0), Some(0.0));
            return Ok(Fit { metric: Metric::new(space.factor(&leak.transpose()))?, outcome });
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
        let solution = match self.solver {
            Solver::Paper => self.fit_paper(data, &space, c, observer)?,
            _ => self.fit_balanced(&space, c, observer)?,
        };
        if c_max.is_none() && solution.bound >= zero * (1.0 - 1e-6) {
            return Err(self.too_large(c, ceiling(&space.cloud, self.variant, observer)?.0));
        }
        let duplicates = space.duplicates_across_classes();
        if duplicates > 0 {
            notes
                .push(format!("{duplicates} pairs of equal rows have different labels: no metric can tell them apart"));
        }
        if solution.objective >= zero {
            notes.push(format!(
                "the metric is no better than the zero metric, whose objective is {zero}: give the solver more time, or \
                 choose a smaller c"
            ));
        }
        let metric = match self.solver {
            Solver::Paper if solution.factor.rows() == 0 => {
                return Err(self.too_large(c, ceiling(&space.cloud, self.variant, observer)?.0));
            }
            Solver::Paper => Metric::new(solution.factor.clone())?,
            _ => Metric::new(space.factor(&solution.factor))?,
        };
        let outcome = Outcome::of(&solution).with_trade_off(Some(c), c_max).with_notes(notes);
        Ok(Fit { metric, outcome })
    }
}
