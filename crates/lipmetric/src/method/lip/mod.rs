//! Lip^D and Lip^I: the parameters, which of them go together, and which solver takes them.

mod exact;
mod large;

pub(super) use large::centred;

use super::choose::{Family, Forms};
use super::parameters::parameters;
use super::spec::check_limits;
use super::{Choice, Choose, Fit, Method, MetricKind, Training, choose};
use crate::problem::{Anchor, Diameter, Slack, Variant};
use crate::solver::{Observer, Status, Stop, Timed};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// The trade-off between diameter and margin violations.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum TradeOff {
    /// `c` itself.
    #[serde(rename = "c")]
    Absolute(f64),
    /// `c` as a fraction of `c_max`, at and above which the best metric is zero: it means the same on every data set.
    #[serde(rename = "c_rel")]
    Relative(f64),
}

impl TradeOff {
    /// The paper's `c = 1`.
    pub const PAPER: Self = Self::Absolute(1.0);
    /// The default, a tenth of `c_max`.
    pub const USUAL: Self = Self::Relative(0.1);
}

/// How much the rows of each class count.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ClassWeights {
    /// Every row counts as it is given.
    #[default]
    None,
    /// Classes get equal total weight.
    Balanced,
    /// A factor per class, in the order of the labels' classes.
    Given(Vec<f64>),
}

impl ClassWeights {
    /// The weights of the rows.
    pub(super) fn of_rows(&self, data: &Training<'_>) -> Result<Vec<f64>> {
        let n = data.x.rows();
        let mut weights = data.weights.map_or_else(|| vec![1.0; n], <[f64]>::to_vec);
        let classes = data.y.classes().len();
        let factors = match self {
            Self::None => return Ok(weights),
            Self::Given(factors) => {
                if factors.len() != classes {
                    return Err(Error::shape("class weights", classes, factors.len()));
                }
                factors.clone()
            }
            Self::Balanced => {
                let mut totals = vec![0.0; classes];
                data.y.codes().iter().zip(&weights).for_each(|(&c, w)| totals[c as usize] += w);
                let present = totals.iter().filter(|&&t| t > 0.0).count() as f64;
                let total: f64 = totals.iter().sum();
                totals.iter().map(|&t| if t > 0.0 { total / (present * t) } else { 1.0 }).collect()
            }
        };
        data.y.codes().iter().zip(&mut weights).for_each(|(&c, w)| *w *= factors[c as usize]);
        Ok(weights)
    }
}

/// How Lip^D and Lip^I are solved. Every solver reports a certified gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Solver {
    /// By the size and form of the problem: see [`Solver::automatic`]. It never changes the problem.
    Auto,
    /// The interior-point method: certified to 1e-6 and below.
    Exact,
    /// The method of multipliers with Newton steps, on a working set of pairs.
    Augmented,
    /// ADMM in two blocks, on a working set of pairs.
    Admm,
    /// The paper's Algorithm 1, iterate for iterate.
    Paper,
}

impl Solver {
    /// The solver for a problem of a size that every solver has: the exact one up to 36 features and 3,000 rows, where a
    /// Newton system has at most 666 unknowns and many pairs may be active at once; above, [`Solver::Augmented`], which at
    /// 5,000 rows of 10 features and a hundredth of `c_max` took a fifth of the time.
    ///
    /// ```
    /// use lipmetric::method::Solver;
    /// assert_eq!(Solver::automatic(414, 14), Solver::Exact);
    /// assert_eq!(Solver::automatic(2_000, 784), Solver::Augmented);
    /// ```
    #[must_use]
    pub fn automatic(rows: usize, features: usize) -> Self {
        if features <= Self::EXACT_FEATURES && rows <= Self::EXACT_ROWS { Self::Exact } else { Self::Augmented }
    }

    /// Rows up to which [`Solver::automatic`] takes the exact solver.
    pub const EXACT_ROWS: usize = 3_000;
    /// Rows up to which the exact solver is taken for a slack per row, where a Newton system has an unknown for each. To a gap of
    /// 1e-3 it took 1.6 s for 1,000 rows of 20 features and 17 s for 2,000 of 15, where [`Solver::Augmented`] took 1.1 and 2.1 s.
    pub const EXACT_ROWS_WITH_SLACK: usize = 1_500;
    /// Features up to which the exact solver is taken.
    pub const EXACT_FEATURES: usize = 36;
    /// With a slack per pair it is taken up to so many features, too, ...
    pub const FEW_ROWS_FEATURES: usize = 64;
    /// ... where there are fewer rows for each than this and a gap below [`Solver::QUICK_TOLERANCE`] is asked for. To 1e-6 it took 20 s for
    /// 208 rows of 60 features that are much like each other; [`Solver::Augmented`] was at 1e-5 after 60.
    pub const FEW_ROWS: usize = 5;
    /// With a slack per pair [`Solver::Augmented`] comes before the exact solver from so many rows on, ...
    pub const QUICK_ROWS: usize = 1_000;
    /// ... where a gap of this size or more is asked for ...
    pub const QUICK_TOLERANCE: f64 = 1e-4;
    /// ... and the trade-off is this part of `c_max` or more. At a tenth and a thousandth of it 1,000 rows of 10 features took 0.09 and
    /// 0.07 s in place of 0.35 and 0.31; at a smaller part few pairs push, which suits the exact solver.
    pub const QUICK_FRACTION: f64 = 1e-3;

    /// Its name in a [`Spec`](super::Spec).
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Exact => "exact",
            Self::Augmented => "augmented",
            Self::Admm => "admm",
            Self::Paper => "paper",
        }
    }
}

parameters! {
    /// Lip^D or Lip^I: the metric that maximises the Lipschitz margin ratio, to a certified gap.
    ///
    /// `F(M) = c max_P rho_M + sum_D max(0, 2 - rho_M)`, with D the pairs of different label and P all pairs (Lip^D) or those
    /// of equal label (Lip^I); see [`Slack`] for the form with a slack per row.
    ///
    /// What is [`Choose::Auto`] is chosen by cross-validation, everything together, by the exact solver: what is given stays
    /// unless something else is shown to be better.
    ///
    /// ```
    /// use lipmetric::method::{Choose, Lip, Method, Training};
    /// use lipmetric::{Labels, Matrix, solver::Silent};
    /// let x = Matrix::from_rows(&[[0.0, 0.1], [0.2, 0.9], [0.1, 0.5], [1.0, 0.2], [1.1, 0.8], [0.9, 0.4]]);
    /// let y = Labels::from_names(["a", "a", "a", "b", "b", "b"]);
    /// let data = Training::new(&x, &y)?;
    /// let fit = Lip::intra().c(0.1).fit(&data, &mut Silent)?;
    /// assert!(fit.outcome.gap.unwrap() <= 1e-6);
    /// let chosen = Lip::intra().slack(Choose::Auto).rank(Choose::Auto).fit(&data, &mut Silent)?.outcome.choice.unwrap();
    /// assert!(chosen.chosen.slack.is_some() && chosen.chosen.rank == Some(1));
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    pub struct Lip = "lip" {
        /// Which pairs bound the diameter: all (Lip^D), or those of equal label (Lip^I).
        variant: Choose<Variant> as impl Into<Choose<Variant>> = Choose::Value(Variant::Intra),
        /// A slack per pair or per row.
        slack: Choose<Slack> as impl Into<Choose<Slack>> = Choose::Value(Slack::Instance),
        /// The trade-off between the diameter and violated margins: a larger one gives a simpler metric, a smaller
        /// one fits the rows more closely.
        trade_off: Choose<TradeOff> as impl Into<Choose<TradeOff>> = Choose::Value(TradeOff::USUAL),
        /// What the diameter is: the largest distance, as in the paper, the mean, or the mean of the longest.
        diameter: Choose<Diameter> as impl Into<Choose<Diameter>> = Choose::Value(Diameter::Maximum),
        /// A simple metric that the learned one is drawn towards.
        anchor: Option<Anchor> as impl Into<Option<Anchor>> = None,
        /// How the problem is solved.
        solver: Solver = Solver::Auto,
        /// The penalty of [`Solver::Paper`], 1 unless it is given; the other solvers choose and adapt theirs.
        mu: Option<f64> as impl Into<Option<f64>> = None,
        /// The largest rank of the metric, for [`Solver::Admm`] and [`Solver::Augmented`]; the gap is still that to the
        /// optimum over all ranks. If it is chosen, the exact solver's metric is cut to the directions in which the mapped
        /// rows vary most: the smallest rank with the best cross-validated accuracy.
        rank: Choose<Option<usize>> as impl Into<Choose<Option<usize>>> = Choose::Value(None),
        /// How much the rows of each class count.
        class_weights: ClassWeights = ClassWeights::None,
        /// The certified relative gap to reach; [`Solver::usual_tolerance`] unless it is given.
        tolerance: Option<f64> as impl Into<Option<f64>> = None,
        /// Steps, at most; [`Solver::usual_iterations`] unless it is given.
        max_iterations: Option<usize> as impl Into<Option<usize>> = None,
        /// Bytes that the largest matrices of the exact solver may take, 4 GiB unless it is given: beyond, the fit ends with
        /// [`Status::MemoryLimit`](crate::solver::Status::MemoryLimit) and the best metric so far.
        memory: Option<usize> as impl Into<Option<usize>> = None,
        /// Decides which rows are held out together, where something is chosen.
        seed: u64 = 0,
    }
}

/// The gap at which a metric predicts as the optimum does, but for a few rows.
const ENOUGH: f64 = 1e-2;

/// The gap at which a metric is good enough to be judged.
pub(crate) const JUDGED: f64 = 1e-2;

/// Lip^D or Lip^I with nothing left to choose.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plain {
    pub(super) variant: Variant,
    pub(super) slack: Slack,
    pub(super) diameter: Diameter,
    pub(super) trade_off: TradeOff,
    pub(super) solver: Solver,
    pub(super) tolerance: f64,
    pub(super) anchor: Option<Anchor>,
    pub(super) mu: f64,
    pub(super) rank: Option<usize>,
    pub(super) class_weights: ClassWeights,
    pub(super) max_iterations: usize,
    pub(super) memory: usize,
    /// How exactly `c_max` is computed where it need not be known as exactly as it can be; else 0.
    pub(super) rough: f64,
    /// Whether `c_max` is the exact solver's for another solver, too.
    pub(super) sharp: bool,
}

impl Lip {
    /// Lip^I: the diameter is that of the classes.
    #[must_use]
    pub fn intra() -> Self {
        Self::new().variant(Variant::Intra)
    }

    /// Lip^D: the diameter is that of all rows.
    #[must_use]
    pub fn overall() -> Self {
        Self::new().variant(Variant::Diameter)
    }

    /// Lip^D or Lip^I, and its trade-off, chosen by cross-validation.
    #[must_use]
    pub fn chosen() -> Self {
        Self::new().variant(Choose::Auto).trade_off(Choose::Auto)
    }

    /// The trade-off as `c` itself.
    #[must_use]
    pub fn c(self, c: f64) -> Self {
        self.trade_off(TradeOff::Absolute(c))
    }

    /// The trade-off as a fraction of `c_max`. The solvers other than the exact one know `c_max` from below: a note of the
    /// outcome tells where by more than 2 %.
    #[must_use]
    pub fn c_rel(self, fraction: f64) -> Self {
        self.trade_off(TradeOff::Relative(fraction))
    }

    /// The same with what was chosen, and `c` for a part of the rows: it grows with the number of rows or pairs that are charged.
    pub(super) fn settled(&self, choice: Option<&Choice>, c: f64, part: f64) -> Self {
        let chosen = choice.map(|choice| &choice.chosen);
        let variant =
            chosen.map(|chosen| if chosen.metric == MetricKind::LipD { Variant::Diameter } else { Variant::Intra });
        let slack = chosen.and_then(|chosen| chosen.slack).or(self.slack.value()).unwrap_or(Slack::Instance);
        let diameter = chosen.and_then(|chosen| chosen.diameter).or(self.diameter.value()).unwrap_or(Diameter::Maximum);
        let power = if slack == Slack::Pair { 2 } else { 1 };
        let tolerance = self.tolerance.unwrap_or(0.0).max(ENOUGH);
        let lip = self.clone().variant(self.variant.value().or(variant).unwrap_or(Variant::Intra)).slack(slack);
        lip.diameter(diameter).c(c * part.powi(power)).tolerance(tolerance)
    }

    /// Whether something is chosen by cross-validation.
    #[must_use]
    pub fn chooses(&self) -> bool {
        self.chooses_form() || self.trade_off.is_auto() || self.rank.is_auto()
    }

    /// Whether the problem itself is chosen, not only its trade-off or what is kept of its solution.
    pub(super) fn chooses_form(&self) -> bool {
        self.variant.is_auto() || self.slack.is_auto() || self.diameter.is_auto()
    }

    /// With nothing left to choose: what is to be chosen has its usual value.
    pub(super) fn plain(&self, solver: Solver) -> Plain {
        Plain {
            variant: self.variant.unwrap_or(Variant::Intra),
            slack: self.slack.unwrap_or(Slack::Instance),
            diameter: self.diameter.unwrap_or(Diameter::Maximum),
            trade_off: self.trade_off.unwrap_or(TradeOff::USUAL),
            solver,
            tolerance: self.tolerance.unwrap_or(solver.usual_tolerance()),
            anchor: self.anchor,
            mu: self.mu.unwrap_or(1.0),
            rank: self.rank.unwrap_or(None),
            class_weights: self.class_weights.clone(),
            max_iterations: self.max_iterations.unwrap_or(solver.usual_iterations()),
            memory: self.memory.unwrap_or(Stop::MEMORY),
            rough: 0.0,
            sharp: false,
        }
    }

    /// The solver for this form of the problem and these rows.
    pub(super) fn solver_for(&self, slack: Slack, diameter: Diameter, data: &Training<'_>) -> Solver {
        if self.solver != Solver::Auto {
            return self.solver;
        }
        let (rows, features) = (data.x.rows(), data.x.cols());
        match slack {
            _ if diameter != Diameter::Maximum || self.anchor.is_some() => Solver::Exact,
            Slack::Instance if rows > Solver::EXACT_ROWS_WITH_SLACK => Solver::Augmented,
            Slack::Pair if self.has_few_rows(rows, features) => Solver::Exact,
            Slack::Instance | Slack::Pair => Solver::automatic(rows, features),
        }
    }

    /// Whether rows are so few for the features, and the gap is so small, that the exact solver comes to it first.
    fn has_few_rows(&self, rows: usize, features: usize) -> bool {
        let fine = self.tolerance.is_some_and(|gap| gap < Solver::QUICK_TOLERANCE);
        fine && features <= Solver::FEW_ROWS_FEATURES && rows < Solver::FEW_ROWS * features
    }

    /// The solver of a fit of this problem: where that for its size is the exact one, the method of multipliers may come first.
    fn first_solver(&self, plain: &Plain, data: &Training<'_>) -> Result<Solver> {
        let solver = self.solver_for(plain.slack, plain.diameter, data);
        let supported = self.solver == Solver::Auto && plain.diameter == Diameter::Maximum && self.anchor.is_none();
        let loose = self.tolerance.is_some_and(|gap| gap >= Solver::QUICK_TOLERANCE) && !data.certified;
        let many = plain.slack == Slack::Pair && data.x.rows() >= Solver::QUICK_ROWS;
        if !(supported && loose && many) {
            return Ok(solver);
        }
        let fraction = match plain.trade_off {
            TradeOff::Relative(fraction) => fraction,
            TradeOff::Absolute(c) => c / plain.pushing_pairs(data)?,
        };
        Ok(if fraction >= Solver::QUICK_FRACTION { Solver::Augmented } else { solver })
    }

    /// The same as a fit on these rows has it.
    pub(super) fn used(&self, data: &Training<'_>) -> Result<Self> {
        if self.chooses() {
            return Ok(self.clone());
        }
        let solver = self.first_solver(&self.plain(Solver::Auto), data)?;
        let plain = self.plain(solver);
        Ok(self.clone().solver(solver).tolerance(plain.tolerance).max_iterations(plain.max_iterations))
    }

    /// The choice of the solver and what it rests on, in a sentence.
    fn explain(&self, plain: &Plain, data: &Training<'_>) -> String {
        let (rows, features, classes) = (data.x.rows(), data.x.cols(), data.y.classes().len());
        let quick = || {
            let (rows, gap) = (Solver::QUICK_ROWS, Solver::QUICK_TOLERANCE);
            format!("; from {rows} rows on the method of multipliers comes first for a gap of {gap:e} or more")
        };
        let few = || {
            let (each, most, gap) = (Solver::FEW_ROWS, Solver::FEW_ROWS_FEATURES, Solver::QUICK_TOLERANCE);
            format!(", and up to {most} with fewer than {each} rows for each, for a gap below {gap:e}")
        };
        let why = if plain.diameter != Diameter::Maximum || self.anchor.is_some() {
            "no other solver supports this form of the problem".to_owned()
        } else {
            let (most, slack) = match plain.slack {
                Slack::Instance => (Solver::EXACT_ROWS_WITH_SLACK, " with a slack per row"),
                Slack::Pair => (Solver::EXACT_ROWS, ""),
            };
            let rule =
                format!("the exact solver is used up to {most} rows{slack} and {} features", Solver::EXACT_FEATURES);
            if self.is_quick(plain, data) {
                rule + &quick()
            } else if plain.slack == Slack::Pair
                && features > Solver::EXACT_FEATURES
                && self.has_few_rows(rows, features)
            {
                rule + &few()
            } else {
                rule
            }
        };
        let solver = plain.solver.name();
        format!("solver auto: {solver} for {rows} rows, {features} features, {classes} classes; {why}")
    }

    /// Whether the method of multipliers comes first where the exact solver can follow.
    fn is_quick(&self, plain: &Plain, data: &Training<'_>) -> bool {
        plain.solver == Solver::Augmented && self.solver_for(plain.slack, plain.diameter, data) == Solver::Exact
    }

    /// Fits by the method of multipliers the problem that the exact solver has, whose `c_max` it takes; by that solver where the gap is
    /// not reached.
    fn fit_quickly(&self, plain: Plain, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        let observer = &mut Timed::new(observer);
        let first = Plain { sharp: true, ..plain.clone() }.fit_large(data, observer);
        let over = |fit: &Fit| {
            fit.outcome.status.converged() || matches!(fit.outcome.status, Status::TimeLimit | Status::Interrupted)
        };
        match first {
            Ok(fit) if over(&fit) => return Ok(fit),
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            _ => {}
        }
        observer.decided("solver auto: augmented did not reach the gap; exact begins anew");
        let max_iterations = self.plain(Solver::Exact).max_iterations;
        let plain = Plain { solver: Solver::Exact, max_iterations, ..plain };
        let mut fit = plain.fit_exactly(data, observer)?;
        fit.outcome
            .notes
            .push("the solver augmented, which came first, did not reach the gap; this is the exact one's".to_owned());
        Ok(fit)
    }

    /// Fits a problem with nothing left to choose, by its solver or, where that is open, the one for its size.
    pub(super) fn fit_plain(&self, mut plain: Plain, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        if plain.solver == Solver::Auto {
            let solver = self.first_solver(&plain, data)?;
            let usual = self.plain(solver);
            plain = Plain { solver, tolerance: usual.tolerance, max_iterations: usual.max_iterations, ..plain };
            observer.decided(&self.explain(&plain, data));
            if self.is_quick(&plain, data) {
                return self.fit_quickly(plain, data, observer);
            }
        }
        match plain.solver {
            Solver::Auto | Solver::Exact => plain.fit_exactly(data, observer),
            Solver::Augmented | Solver::Admm | Solver::Paper => plain.fit_large(data, observer),
        }
    }

    /// The exact problem that `c_max` and a path are of.
    fn exact(&self, data: &Training<'_>) -> Result<Plain> {
        Method::check(self)?;
        data.check_for(self)?;
        if !matches!(self.solver, Solver::Auto | Solver::Exact) {
            return Err(Error::parameter(
                "solver",
                "this needs the exact solver; remove the parameter, or use `solver = exact`",
            ));
        }
        let choices = [
            ("variant", self.variant.is_auto()),
            ("slack", self.slack.is_auto()),
            ("diameter", self.diameter.is_auto()),
            ("rank", self.rank.is_auto()),
        ];
        if let Some((name, _)) = choices.into_iter().find(|(_, auto)| *auto) {
            let message = "`auto` is for a single fit; c_max and a path need one slack, one diameter, one variant and the full rank: give their values";
            return Err(Error::parameter(name, message));
        }
        Ok(self.plain(Solver::Exact))
    }

    /// `c_max`: the trade-off at and above which the best metric is zero, to a relative accuracy of 1e-7; with a slack per
    /// row, or a diameter between the mean and the maximum, of 1e-4.
    ///
    /// # Errors
    /// If the data do not allow a fit, or the observer stops the computation.
    pub fn c_max(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<f64> {
        self.exact(data)?.c_max(data, observer)
    }

    /// Fits by the exact solver for several trade-offs, given as fractions of `c_max`, each started from the one before it:
    /// give them in descending (or ascending) order. Every fit is certified as a single one is. Stops early where the
    /// observer says so: the last fit's status tells.
    ///
    /// # Errors
    /// If the data or the parameters do not allow a fit, or a fraction is not between 0 and 1.
    pub fn path(&self, data: &Training<'_>, fractions: &[f64], observer: &mut dyn Observer) -> Result<Vec<Fit>> {
        self.exact(data)?.path(data, fractions, observer)
    }

    /// The same for metrics that are only tried, on rows that were held out: to the gap [`JUDGED`] or the tolerance, if that is more,
    /// from a `c_max` that is as exact, and without certificates.
    pub(crate) fn path_to_judge(
        &self,
        data: &Training<'_>,
        fractions: &[f64],
        observer: &mut dyn Observer,
    ) -> Result<Vec<Fit>> {
        let plain = self.exact(data)?;
        let tolerance = plain.tolerance.max(JUDGED);
        Plain { tolerance, rough: tolerance, ..plain }.tried(data, fractions, None, observer)
    }

    fn check_values(&self) -> Result<()> {
        check_limits(self.tolerance.unwrap_or(1e-6), self.max_iterations.unwrap_or(1))?;
        if let Choose::Value(Diameter::Cvar(level)) = self.diameter
            && !(level > 0.0 && level < 1.0)
        {
            return Err(Error::parameter("diameter", format!("a level of {level} is not between 0 and 1")));
        }
        let positive = |name, value: f64, more: &str| {
            if value > 0.0 && value.is_finite() {
                return Ok(());
            }
            Err(Error::parameter(name, format!("{value} is not positive and finite{more}")))
        };
        if let Some(anchor) = self.anchor {
            positive("anchor.weight", anchor.weight, "")?;
        }
        positive("mu", self.mu.unwrap_or(1.0), "; the paper uses 1")?;
        match self.trade_off {
            Choose::Value(TradeOff::Absolute(c)) => positive("c", c, "")?,
            Choose::Value(TradeOff::Relative(c)) if !(c > 0.0 && c < 1.0) => {
                return Err(Error::parameter("c_rel", format!("{c} is not between 0 and 1")));
            }
            _ => {}
        }
        if let ClassWeights::Given(factors) = &self.class_weights
            && let Some(k) = factors.iter().position(|f| !(f.is_finite() && *f > 0.0))
        {
            let message = format!("class {k} has weight {}, but weights must be positive", factors[k]);
            return Err(Error::parameter("class_weights", message));
        }
        if self.rank == Choose::Value(Some(0)) {
            return Err(Error::parameter("rank", "0 is not a rank from 1 to the number of features"));
        }
        Ok(())
    }

    /// Refuses what no solver, or not the one asked for, has.
    fn check_together(&self) -> Result<()> {
        let refused = |name, message: String| Err(Error::parameter(name, message));
        let exact = matches!(self.solver, Solver::Auto | Solver::Exact);
        let solver = self.solver.name();
        if self.mu.is_some() && self.solver != Solver::Paper {
            return refused("mu", "it needs `solver = paper`; add that, or remove the parameter".to_owned());
        }
        if matches!(self.rank, Choose::Value(Some(_))) && !matches!(self.solver, Solver::Admm | Solver::Augmented) {
            let message =
                "a given rank needs `solver = admm` or `solver = augmented`; add one of them, or use `rank = auto`";
            return refused("rank", message.to_owned());
        }
        if self.chooses() && !exact {
            let message =
                "parameters that are `auto` are chosen with the exact solver; remove this one, or use `solver = exact`";
            return refused("solver", message.to_owned());
        }
        let only_exact = self.diameter != Choose::Value(Diameter::Maximum) || self.anchor.is_some();
        if only_exact && !exact {
            let message = format!(
                "`{solver}` supports neither the parameter `diameter` nor the parameter `anchor`; use `solver = exact`, or remove them"
            );
            return refused("solver", message);
        }
        if self.slack != Choose::Value(Slack::Pair) && self.solver == Solver::Paper {
            let message = "the paper's algorithm has a slack per pair; use another solver, or `slack = pair`, a different problem";
            return refused("slack", message.to_owned());
        }
        if matches!(self.trade_off, Choose::Value(TradeOff::Absolute(_))) && self.chooses_form() {
            let message = "one c means different things for different slacks, diameters or variants; to choose among them give \
                           a fraction of c_max, such as `c_rel = 0.1`, or use `c = auto`";
            return refused("c", message.to_owned());
        }
        Ok(())
    }
}

impl Plain {
    /// The weight of all pairs of different label, of which `c_max` with a slack per pair is most often a third to twice as much.
    fn pushing_pairs(&self, data: &Training<'_>) -> Result<f64> {
        let weights = self.class_weights.of_rows(data)?;
        let mut classes = vec![0.0; data.y.classes().len()];
        data.y.codes().iter().zip(&weights).for_each(|(&k, w)| classes[k as usize] += w);
        let total: f64 = classes.iter().sum();
        Ok(0.5 * (total * total - classes.iter().map(|w| w * w).sum::<f64>()))
    }

    /// The form of the problem.
    pub(super) fn form(&self) -> (Variant, Slack, Diameter) {
        (self.variant, self.slack, self.diameter)
    }

    /// The same in another form.
    pub(super) fn in_form(mut self, (variant, slack, diameter): (Variant, Slack, Diameter)) -> Self {
        (self.variant, self.slack, self.diameter) = (variant, slack, diameter);
        self
    }
}

impl Method for Lip {
    fn name(&self) -> &'static str {
        match self.variant {
            Choose::Auto => Self::NAME,
            Choose::Value(Variant::Diameter) => "lip-d",
            Choose::Value(Variant::Intra) => "lip-i",
        }
    }

    fn check(&self) -> Result<()> {
        self.check_values()?;
        self.check_together()
    }

    fn fit(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        Method::check(self)?;
        data.check_for(self)?;
        if self.chooses() {
            let family = Family::Forms(Box::new(Forms::new(self.clone(), data)?));
            return choose::fit(&family, self.seed, data, observer);
        }
        self.fit_plain(self.plain(self.solver), data, observer)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Labels;

    #[test]
    fn few_rows_of_many_features_are_the_exact_solvers_where_the_gap_is_small() {
        let solver = |rows: usize, features: usize, slack: Slack, gap: f64| {
            let x = crate::Matrix::zeros(rows, features);
            let y = Labels::from_names((0..rows).map(|i| ["a", "b"][i % 2]));
            let data = Training::new(&x, &y).unwrap();
            Lip::intra().slack(slack).tolerance(gap).solver_for(slack, Diameter::Maximum, &data)
        };
        assert_eq!(solver(208, 60, Slack::Pair, 1e-6), Solver::Exact);
        assert_eq!(solver(208, 60, Slack::Pair, 1e-3), Solver::Augmented);
        assert_eq!(solver(500, 50, Slack::Pair, 1e-6), Solver::Augmented);
        assert_eq!(solver(208, 70, Slack::Pair, 1e-6), Solver::Augmented);
        assert_eq!(solver(208, 60, Slack::Instance, 1e-6), Solver::Augmented);
        assert_eq!(solver(208, 30, Slack::Pair, 1e-3), Solver::Exact);
    }
}
