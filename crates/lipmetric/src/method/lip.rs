//! Lip^D and Lip^I, solved to a certified optimum.

use super::{Fit, Learner, Outcome, Training};
use crate::problem::{Anchor, Certificate, Diameter, Slack, Space, SupportPair, Variant, leak};
use crate::solver::interior::{Ceiling, Settings, ceiling, fitted, path, solve, solve_near, value_at_zero};
use crate::solver::{Observer, Solution, Status, Stop, Timed};
use crate::{Error, Matrix, Metric, Result};
use serde::Serialize;
use std::collections::BTreeMap;

/// The trade-off between diameter and margin violations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TradeOff {
    /// `c` itself. The paper uses 1.
    Absolute(f64),
    /// A fraction of `c_max`, from which on the zero metric is optimal: it means the same on every data set.
    Relative(f64),
}

/// How much the rows of each class count.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClassWeights {
    /// Every row counts as it is given.
    #[default]
    None,
    /// Classes get equal total weight.
    Balanced,
    /// A factor per class, in the order of the labels' classes.
    Given(Vec<f64>),
}

/// Lip^D or Lip^I: the metric that maximises the Lipschitz margin ratio, to a certified gap.
///
/// `F(M) = c max_P rho_M + sum_D max(0, 2 - rho_M)`, with D the pairs of different label and P all pairs (Lip^D) or those
/// of equal label (Lip^I); see [`Slack`] for the form with a slack per row.
///
/// ```
/// use lipmetric::method::{Learner, Lip, Training};
/// use lipmetric::{Labels, Matrix, solver::Silent};
/// let x = Matrix::from_rows(&[[0.0, 0.1], [0.2, 0.9], [1.0, 0.2], [1.1, 0.8]]);
/// let y = Labels::from_names(["a", "a", "b", "b"]);
/// let fit = Lip::intra().c(0.1).fit(&Training::new(&x, &y)?, &mut Silent)?;
/// assert!(fit.outcome.gap.unwrap() <= 1e-6);
/// # Ok::<(), lipmetric::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Lip {
    variant: Variant,
    slack: Slack,
    trade_off: TradeOff,
    tolerance: f64,
    max_iterations: usize,
    class_weights: ClassWeights,
    diameter: Diameter,
    anchor: Option<Anchor>,
    start: Option<Metric>,
    memory: usize,
}

/// A fit together with what proves it.
#[derive(Debug, Clone, PartialEq)]
pub struct LipFit {
    /// The metric and its figures.
    pub fit: Fit,
    /// The multipliers behind [`Outcome::dual`].
    pub certificate: Certificate,
}

impl LipFit {
    /// The pairs that the optimum rests on, those with the largest multipliers first. Pairs far inside the margin all have
    /// the largest possible multiplier and are not listed.
    #[must_use]
    pub fn support(&self) -> Vec<SupportPair> {
        let most = self.certificate.pairs.iter().fold(0.0, |m: f64, s| m.max(s.multiplier));
        let mut pairs: Vec<SupportPair> =
            self.certificate.pairs.iter().copied().filter(|s| s.multiplier > 1e-6 * most).collect();
        pairs.sort_by(|a, b| b.multiplier.total_cmp(&a.multiplier).then((a.first, a.second).cmp(&(b.first, b.second))));
        pairs
    }
}

impl Lip {
    /// Lip^D with the paper's defaults: a slack per pair, `c = 1`.
    #[must_use]
    pub fn diameter() -> Self {
        Self::new(Variant::Diameter)
    }

    /// Lip^I with the paper's defaults: a slack per pair, `c = 1`.
    #[must_use]
    pub fn intra() -> Self {
        Self::new(Variant::Intra)
    }

    /// Either variant with the paper's defaults.
    #[must_use]
    pub fn new(variant: Variant) -> Self {
        Self {
            variant,
            slack: Slack::Pair,
            trade_off: TradeOff::Absolute(1.0),
            tolerance: 1e-6,
            max_iterations: 500,
            class_weights: ClassWeights::None,
            diameter: Diameter::Maximum,
            anchor: None,
            start: None,
            memory: Stop::MEMORY,
        }
    }

    /// A slack per pair or per row.
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

    /// `c` as a fraction of `c_max`.
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

    /// The certified relative gap to reach.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Newton steps, at most.
    #[must_use]
    pub fn max_iterations(mut self, max_iterations: usize) -> Self {
        self.max_iterations = max_iterations;
        self
    }

    /// How much the rows of each class count.
    #[must_use]
    pub fn class_weights(mut self, class_weights: ClassWeights) -> Self {
        self.class_weights = class_weights;
        self
    }

    /// What the diameter is: the largest distance, as in the paper, or the mean.
    #[must_use]
    pub fn diameter_as(mut self, diameter: Diameter) -> Self {
        self.diameter = diameter;
        self
    }

    /// Draws the metric towards a simple one.
    #[must_use]
    pub fn anchor(mut self, anchor: Anchor) -> Self {
        self.anchor = Some(anchor);
        self
    }

    /// Starts from another metric on the same features, such as that of an earlier fit. It changes the way, not the
    /// optimum; one that is no better than the Euclidean distance is not used.
    #[must_use]
    pub fn start_from(mut self, metric: &Metric) -> Self {
        self.start = Some(metric.clone());
        self
    }

    /// Bytes that the largest matrices of a fit may take, 4 GiB unless told: beyond, the fit ends with
    /// [`Status::MemoryLimit`] and the best metric so far.
    #[must_use]
    pub fn memory_limit(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// Whether the slack belongs to the row.
    pub(super) fn has_row_slack(&self) -> bool {
        self.slack == Slack::Instance
    }

    /// Whether no solver but the exact one has this problem, a slack per row apart.
    pub(super) fn is_exact_only(&self) -> bool {
        self.diameter != Diameter::Maximum || self.anchor.is_some()
    }

    /// What the trade-off is.
    pub(super) fn asked(&self) -> TradeOff {
        self.trade_off
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

    /// The same to no smaller gap than this, from a start of its own.
    pub(super) fn roughly(mut self, gap: f64) -> Self {
        self.tolerance = self.tolerance.max(gap);
        self.start = None;
        self
    }

    fn check(&self) -> Result<()> {
        if let Diameter::Cvar(level) = self.diameter
            && !(level > 0.0 && level < 1.0)
        {
            return Err(Error::parameter("diameter", format!("a level of {level} is not between 0 and 1")));
        }
        if let Some(anchor) = self.anchor
            && !(anchor.weight > 0.0 && anchor.weight.is_finite())
        {
            return Err(Error::parameter("anchor-weight", format!("{} is not positive and finite", anchor.weight)));
        }
        let (name, value, bound) = match self.trade_off {
            TradeOff::Absolute(c) => ("c", c, f64::INFINITY),
            TradeOff::Relative(c) => ("c-rel", c, 1.0),
        };
        if !(value > 0.0 && value < bound) {
            let range = if bound.is_finite() { "between 0 and 1" } else { "positive and finite" };
            return Err(Error::parameter(name, format!("{value} is not {range}")));
        }
        if !(self.tolerance >= 1e-12 && self.tolerance < 1.0) {
            return Err(Error::parameter(
                "tol",
                format!("{} is not a relative gap from 1e-12 to below 1", self.tolerance),
            ));
        }
        if self.max_iterations == 0 {
            return Err(Error::parameter("max-iter", "0 steps: give at least 1"));
        }
        Ok(())
    }

    pub(super) fn row_weights(&self, data: &Training<'_>) -> Result<Vec<f64>> {
        let n = data.x.rows();
        let mut weights = data.weights.map_or_else(|| vec![1.0; n], <[f64]>::to_vec);
        let classes = data.y.classes().len();
        let factors = match &self.class_weights {
            ClassWeights::None => return Ok(weights),
            ClassWeights::Given(factors) => {
                if factors.len() != classes {
                    return Err(Error::shape("class weights", classes, factors.len()));
                }
                if let Some(k) = factors.iter().position(|f| !(f.is_finite() && *f > 0.0)) {
                    return Err(Error::parameter(
                        "class-weights",
                        format!(
                            "class `{}` has weight {}, but weights must be positive",
                            data.y.classes()[k],
                            factors[k]
                        ),
                    ));
                }
                factors.clone()
            }
            ClassWeights::Balanced => {
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

    /// The data as the solver wants them, after the checks that do not depend on `c`.
    fn prepare(&self, data: &Training<'_>) -> Result<Space> {
        self.check()?;
        if let Some(start) = &self.start
            && start.features() != data.x.cols()
        {
            return Err(Error::shape("features of the metric to start from", data.x.cols(), start.features()));
        }
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

    fn settings(&self, c: f64) -> Settings<'static> {
        Settings {
            variant: self.variant,
            slack: self.slack,
            diameter: self.diameter,
            anchor: None,
            c,
            stop: Stop { tolerance: self.tolerance, max_iterations: self.max_iterations, memory: self.memory },
        }
    }

    /// The anchor's metric, its scale fitted, and `gamma`.
    fn anchored(&self, space: &Space, c: f64) -> Result<Option<(f64, Matrix)>> {
        let Some(anchor) = self.anchor else { return Ok(None) };
        let (reference, diameter) = fitted(&space.cloud, self.settings(c), space.reference(anchor.towards)?)?;
        let size: f64 = reference.as_slice().iter().map(|v| v * v).sum();
        Ok(Some((anchor.weight * c * diameter / size, reference)))
    }

    /// `c_max`: the trade-off from which on the zero metric is optimal, to a relative accuracy of 1e-7; with a slack per row,
    /// or a diameter between the mean and the maximum, of 1e-4.
    ///
    /// # Errors
    /// If the data do not allow a fit, or the observer stops the computation.
    pub fn c_max(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<f64> {
        let observer = &mut Timed::new(observer);
        let space = self.prepare(data)?;
        if self.variant == Variant::Intra && leak(&space.cloud)?.is_some() {
            return Ok(f64::INFINITY);
        }
        match ceiling(&space.cloud, self.settings(1.0), observer)? {
            Ceiling { value, known: true } => Ok(value),
            Ceiling { .. } => Err(Error::Numerical {
                place: "c_max",
                message: "the time limit came before c_max was known; give c absolutely, or more time".to_owned(),
            }),
        }
    }

    /// Fits for several trade-offs, given as fractions of `c_max`, each started from the one before it: give them in
    /// descending (or ascending) order. Every fit is certified as a single one is. Stops early where the observer says so:
    /// the last fit's status tells.
    ///
    /// # Errors
    /// If the data or the parameters do not allow a fit, or a fraction is not between 0 and 1.
    pub fn path(&self, data: &Training<'_>, fractions: &[f64], observer: &mut dyn Observer) -> Result<Vec<LipFit>> {
        if let Some(&wrong) = fractions.iter().find(|f| !(**f > 0.0 && **f < 1.0)) {
            return Err(Error::parameter("fractions", format!("{wrong} is not between 0 and 1")));
        }
        let observer = &mut Timed::new(observer);
        let space = self.prepare(data)?;
        if self.variant == Variant::Intra
            && let Some(leak) = leak(&space.cloud)?
        {
            return fractions.iter().map(|&f| closed_form(&space, &leak, TradeOff::Relative(f))).collect();
        }
        let c_max = ceiling(&space.cloud, self.settings(1.0), observer)?;
        let trade_offs: Vec<f64> = fractions.iter().map(|f| f * c_max.value).collect();
        if self.anchor.is_some() {
            // The anchor depends on c: each fit has its own.
            let single = |c: &f64| self.at(&space, *c, observer).and_then(|s| finish(&space, s, *c, Some(c_max)));
            return trade_offs.iter().map(single).collect();
        }
        let solutions = path(&space.cloud, self.settings(c_max.value), &trade_offs, observer)?;
        solutions.into_iter().zip(&trade_offs).map(|(s, &c)| finish(&space, s, c, Some(c_max))).collect()
    }

    /// Solves the problem for one `c`.
    fn at(&self, space: &Space, c: f64, observer: &mut dyn Observer) -> Result<Solution> {
        let anchor = self.anchored(space, c)?;
        let anchor = anchor.as_ref().map(|(gamma, reference)| (*gamma, reference));
        let settings = Settings { anchor, ..self.settings(c) };
        match &self.start {
            None => solve(&space.cloud, settings, observer),
            Some(metric) => solve_near(&space.cloud, settings, space.inner(metric.factor()), observer),
        }
    }

    /// Learns a metric, and tells the pairs that it rests on.
    ///
    /// # Errors
    /// If the data or the parameters do not allow it; if `c` is not below `c_max`, where the zero metric is optimal.
    pub fn solve(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<LipFit> {
        let observer = &mut Timed::new(observer);
        let space = self.prepare(data)?;
        if self.variant == Variant::Intra
            && let Some(leak) = leak(&space.cloud)?
        {
            return closed_form(&space, &leak, self.trade_off);
        }
        let (c, c_max) = match self.trade_off {
            TradeOff::Absolute(c) => (c, None),
            TradeOff::Relative(fraction) => {
                let c_max = ceiling(&space.cloud, self.settings(1.0), observer)?;
                (fraction * c_max.value, Some(c_max))
            }
        };
        let solution = self.at(&space, c, observer)?;
        let zero = value_at_zero(&space.cloud, self.slack);
        if c_max.is_none() && self.anchor.is_none() && solution.bound >= zero * (1.0 - self.tolerance) {
            let c_max = ceiling(&space.cloud, self.settings(1.0), observer)?.value;
            return Err(Error::parameter(
                "c",
                format!(
                    "{c} is too large: from c_max = {c_max:.6} on the zero metric is optimal, which tells nothing apart; \
                     choose c below that, for example {:.6}",
                    0.1 * c_max
                ),
            ));
        }
        finish(&space, solution, c, c_max)
    }
}

/// The metric in the user's coordinates, and the figures.
fn finish(space: &Space, solution: Solution, c: f64, c_max: Option<Ceiling>) -> Result<LipFit> {
    let mut notes = Vec::new();
    if c_max.is_some_and(|c_max| !c_max.known) {
        notes.push(format!("the time limit came before c_max was known; c = {c} comes from a guess of it"));
    }
    let duplicates = space.duplicates_across_classes();
    if duplicates > 0 {
        notes.push(format!("{duplicates} pairs of equal rows have different labels: no metric can tell them apart"));
    }
    let known = c_max.filter(|c_max| c_max.known).map(|c_max| c_max.value);
    let outcome = Outcome::of(&solution).with_trade_off(Some(c), known).with_notes(notes);
    let metric = Metric::new(space.factor(&solution.factor))?;
    let certificate = match solution.certificate {
        Some(certificate) => space.certificate(certificate)?,
        None => Certificate::nothing(metric.clone()),
    };
    Ok(LipFit { fit: Fit { metric, outcome }, certificate })
}

/// Lip^I where directions without any within-class scatter separate the classes: the infimum is zero.
fn closed_form(space: &Space, factor: &crate::Matrix, trade_off: TradeOff) -> Result<LipFit> {
    let c = match trade_off {
        TradeOff::Absolute(c) => Some(c),
        TradeOff::Relative(_) => None,
    };
    let note = "in some direction the rows of a class do not vary at all while the classes differ (a leaked label, or as \
                many features as rows): the objective reaches zero there, and the metric measures only these directions";
    let mut outcome = Outcome::new(Status::ClosedForm, 0).with_trade_off(c, None).with_notes(vec![note.to_owned()]);
    (outcome.objective, outcome.dual, outcome.gap) = (Some(0.0), Some(0.0), Some(0.0));
    let metric = Metric::new(space.factor(&factor.transpose()))?;
    let certificate = Certificate::nothing(metric.clone());
    Ok(LipFit { fit: Fit { metric, outcome }, certificate })
}

impl Learner for Lip {
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
        BTreeMap::from([
            ("slack".to_owned(), serde_json::json!(self.slack)),
            (name.to_owned(), serde_json::json!(value)),
            ("tol".to_owned(), serde_json::json!(self.tolerance)),
            ("max_iter".to_owned(), serde_json::json!(self.max_iterations)),
            ("class_weights".to_owned(), serde_json::json!(self.class_weights)),
            ("diameter".to_owned(), serde_json::json!(self.diameter)),
            ("anchor".to_owned(), serde_json::json!(self.anchor)),
        ])
    }

    fn fit(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        Ok(self.solve(data, observer)?.fit)
    }
}
