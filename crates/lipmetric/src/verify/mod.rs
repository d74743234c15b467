//! Checks a certificate in exact arithmetic.
//!
//! A fit claims an objective and a lower bound of every metric's objective. This room takes the training rows, the metric's
//! factor `L`, the form of the problem and the multipliers ([`Certificate`]), and finds out what they prove. It shares no code
//! with the solvers and trusts none of their figures: every `f64` is an integer times a power of two, and everything here is
//! sums, products and comparisons of such numbers, without rounding. Only the figures that are handed back are rounded, the
//! objective upwards and the bound downwards.
//!
//! For multipliers `lambda >= 0` of the pairs that push and `eta >= 0` of those that bound the diameter, and any metric `M`,
//!
//! `F(M) >= sum eta rho_M + sum lambda (2 - rho_M) = 2 sum lambda + <M, sum eta A - sum lambda A>`, `A = (x - y)(x - y)^T`,
//!
//! where the multipliers are within the caps that the form of the problem sets (`multipliers`). Where the matrix in the last term is
//! positive semidefinite (`definite`), `2 sum lambda` is therefore a lower bound. The objective of the metric itself is
//! computed from its definition (`objective`).

mod definite;
mod given;
mod multipliers;
mod number;
mod objective;
mod points;
mod stored;

pub use given::{PairStatement, verify_pairs};
pub use stored::is_of_pairs;

use crate::problem::{Certificate, Diameter, Slack, Variant};
use crate::{Error, Labels, Matrix, Metric, Result};
use num_bigint::BigInt;
use number::{Dyadic, Quotient, Towards};
use points::Points;
use serde::Serialize;
use std::cmp::Ordering;

/// Word multiplications that a check may take unless another limit is given: about a minute, at the 1e8 to 2e8 in a second that were
/// measured on the bundled data sets with two cores.
pub const USUAL_LIMIT: f64 = 1e10;
/// A claimed objective may be off by this part of the exact one: what a sum over all pairs in floating point may lose.
const NEAR: f64 = 1e-9;
/// Reasons of one kind that are told, at most.
const TOLD: usize = 5;

/// A problem, a metric, and the multipliers that are to prove how good it is.
#[derive(Debug, Clone, Copy)]
pub struct Statement<'a> {
    /// The prepared training rows.
    pub x: &'a Matrix,
    /// Their classes.
    pub y: &'a Labels,
    /// The metric.
    pub metric: &'a Metric,
    /// Which pairs bound the diameter.
    pub variant: Variant,
    /// What a slack belongs to.
    pub slack: Slack,
    /// What the diameter is.
    pub diameter: Diameter,
    /// The trade-off.
    pub c: f64,
    /// The multipliers, with the rows' weights and slacks.
    pub certificate: &'a Certificate,
}

/// Figures that are claimed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Claims {
    /// The objective of the metric.
    pub objective: Option<f64>,
    /// The lower bound of every metric's objective.
    pub bound: Option<f64>,
    /// The relative gap between the two.
    pub gap: Option<f64>,
}

/// What was found to be true.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Verified {
    /// The objective of the metric, rounded up. With a slack per row it is that of the stored slacks, raised where they are not
    /// feasible: not below the metric's least objective.
    pub objective: f64,
    /// The lower bound that the multipliers prove, rounded down; zero, which is always one, where they are not feasible.
    pub bound: f64,
    /// `(objective - bound) / objective`, rounded up; none where the bound is above the objective.
    pub gap: Option<f64>,
    /// Whether the bound is one of every metric; else of those that see the rows through the certificate's basis.
    pub every_metric: bool,
    /// Whether the multipliers are feasible.
    pub feasible: bool,
    /// What was added to a slack to make the slacks feasible, at most.
    pub raised: f64,
    /// Whether the rows have weights other than one.
    pub weighted: bool,
    /// Pairs that were looked at.
    pub pairs: usize,
    /// What does not hold, in plain sentences; nothing where all claims do.
    pub reasons: Vec<String>,
}

impl Verified {
    /// Whether everything that was claimed holds.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.reasons.is_empty()
    }
}

/// The problem in exact numbers. Rows without weight are no part of it.
struct Exact<'a> {
    statement: &'a Statement<'a>,
    points: Points,
    /// Which of the rows count.
    used: Vec<usize>,
    weight: Vec<Dyadic>,
    c: Dyadic,
    /// Twice the total weight of the pairs that bound the diameter.
    bounding: Dyadic,
}

/// Finds out, in exact arithmetic, what a certificate proves and whether what is claimed is true.
///
/// `limit` is the largest number of word multiplications to spend; see [`USUAL_LIMIT`].
///
/// ```
/// use lipmetric::method::{Lip, Method, Training};
/// use lipmetric::problem::{Diameter, Slack, Variant};
/// use lipmetric::verify::{Claims, Statement, USUAL_LIMIT, verify};
/// use lipmetric::{Labels, Matrix, solver::Silent};
/// let x = Matrix::from_rows(&[[0.0, 0.1], [0.2, 0.9], [1.0, 0.2], [1.1, 0.8]]);
/// let y = Labels::from_names(["a", "a", "b", "b"]);
/// let fit = Lip::overall().slack(Slack::Pair).c(0.1).fit(&Training::new(&x, &y)?, &mut Silent)?;
/// let statement = Statement {
///     x: &x,
///     y: &y,
///     metric: &fit.metric,
///     variant: Variant::Diameter,
///     slack: Slack::Pair,
///     diameter: Diameter::Maximum,
///     c: 0.1,
///     certificate: fit.certificate.as_ref().unwrap(),
/// };
/// let claims = Claims { objective: fit.outcome.objective, bound: fit.outcome.dual, gap: fit.outcome.gap };
/// let found = verify(&statement, &claims, USUAL_LIMIT)?;
/// assert!(found.holds() && found.gap.unwrap() < 1e-5);
/// # Ok::<(), lipmetric::Error>(())
/// ```
///
/// # Errors
/// If the parts do not fit together, no pair bounds the diameter, a number is not finite, or the check would take more
/// than the limit.
pub fn verify(statement: &Statement<'_>, claims: &Claims, limit: f64) -> Result<Verified> {
    statement.check()?;
    let exact = Exact::new(statement)?;
    let views = exact.views();
    refuse_beyond(limit, exact.cost(&views), exact.pairs())?;
    let mut reasons = Vec::new();
    let found = exact.objective(&views.metric, &mut reasons);
    let bound = exact.bound(&views, &mut reasons);
    let feasible = bound.is_some();
    let bound = bound.unwrap_or_else(Dyadic::zero);
    let gap = gap(&found.value, &bound);
    let every_metric = views.basis.as_ref().is_none_or(|basis| exact.sees_everything(basis));
    compare(claims, &found.value, &bound, gap, every_metric, &mut reasons);
    Ok(Verified {
        objective: found.value.rounded(Towards::Above),
        bound: Quotient::whole(bound).rounded(Towards::Below),
        gap,
        every_metric,
        feasible,
        raised: found.raised,
        weighted: !statement.certificate.weights.is_empty(),
        pairs: exact.pairs(),
        reasons,
    })
}

/// Refuses a check that takes more word multiplications than are allowed.
fn refuse_beyond(limit: f64, cost: f64, pairs: usize) -> Result<()> {
    if cost <= limit {
        return Ok(());
    }
    Err(Error::parameter(
        "limit",
        format!(
            "the check of {pairs} pairs in exact arithmetic would take about {cost:.1e} multiplications of 64-bit words, and {limit:.1e} \
             is the limit; to do it nevertheless, give a limit of {cost:.1e} or more"
        ),
    ))
}

/// The relative gap, rounded up.
fn gap(objective: &Quotient, bound: &Dyadic) -> Option<f64> {
    let left = &objective.top - &(bound * &objective.bottom);
    match (left.is_negative(), left.is_zero()) {
        (true, _) => None,
        (_, true) => Some(0.0),
        _ => Some(Quotient { top: left, bottom: objective.top.clone() }.rounded(Towards::Above)),
    }
}

/// Holds the claims against what was found.
fn compare(
    claims: &Claims,
    objective: &Quotient,
    bound: &Dyadic,
    gap: Option<f64>,
    every_metric: bool,
    reasons: &mut Vec<String>,
) {
    if let Some(claimed) = claims.objective {
        let claimed_times = &Dyadic::from(claimed) * &objective.bottom;
        let off = &objective.top - &claimed_times;
        let off = if off.is_negative() { &claimed_times - &objective.top } else { off };
        if off > &Dyadic::from(NEAR) * &objective.top {
            let found = objective.rounded(Towards::Above);
            reasons.push(format!("the objective is claimed to be {} but is {}", shown(claimed), shown(found)));
        }
    }
    if let Some(claimed) = claims.bound
        && Dyadic::from(claimed) > *bound
    {
        let proved = Quotient::whole(bound.clone()).rounded(Towards::Below);
        let (claimed, proved) = (shown(claimed), shown(proved));
        reasons.push(format!("the lower bound is claimed to be {claimed} but only {proved} is proved"));
    }
    if let (Some(claimed), Some(gap)) = (claims.gap, gap)
        && gap > claimed + 2.0 * NEAR
    {
        reasons.push(format!("the relative gap is claimed to be {} but is {}", shown(claimed), shown(gap)));
    }
    if every_metric && objective.cmp(bound) == Ordering::Less {
        reasons
            .push("the bound is above the objective, which is impossible: the two are not of the same problem".into());
    }
}

/// The rows as the metric, the certificate's `sides` and its basis see them.
struct Views {
    metric: points::Level,
    /// Only where pairs share a multiplier.
    sides: Option<points::Level>,
    basis: Option<Points>,
}

impl<'a> Exact<'a> {
    fn new(statement: &'a Statement<'a>) -> Result<Self> {
        let given = &statement.certificate.weights;
        let n = statement.x.rows();
        let weight = |i: usize| Dyadic::from(given.get(i).copied().unwrap_or(1.0));
        let weight: Vec<Dyadic> = (0..n).map(weight).collect();
        let used: Vec<usize> = (0..n).filter(|&i| weight[i].is_positive()).collect();
        let points = Points::of(statement.x);
        let mut exact =
            Self { statement, points, used, weight, c: Dyadic::from(statement.c), bounding: Dyadic::zero() };
        for group in exact.groups() {
            let (mut total, mut squares) = (Dyadic::zero(), Dyadic::zero());
            for i in group {
                total += &exact.weight[i];
                squares += &(&exact.weight[i] * &exact.weight[i]);
            }
            exact.bounding += &(&(&total * &total) - &squares);
        }
        if !exact.bounding.is_positive() {
            return Err(Error::data("no pair of rows bounds the diameter: there is nothing to verify"));
        }
        Ok(exact)
    }

    /// The rows among which all pairs bound the diameter.
    fn groups(&self) -> Vec<Vec<usize>> {
        match self.statement.variant {
            Variant::Diameter => vec![self.used.clone()],
            Variant::Intra => {
                let class = self.statement.y.codes();
                let most = class.iter().max().map_or(0, |c| c + 1);
                (0..most).map(|c| self.used.iter().copied().filter(|&i| class[i] == c).collect()).collect()
            }
        }
    }

    fn differ(&self, i: usize, j: usize) -> bool {
        self.statement.y.codes()[i] != self.statement.y.codes()[j]
    }

    /// Whether a pair bounds the diameter.
    fn bounds(&self, i: usize, j: usize) -> bool {
        self.statement.variant == Variant::Diameter || !self.differ(i, j)
    }

    fn pair_weight(&self, i: usize, j: usize) -> Dyadic {
        &self.weight[i] * &self.weight[j]
    }

    fn pairs(&self) -> usize {
        self.used.len() * self.used.len().saturating_sub(1) / 2
    }

    fn views(&self) -> Views {
        let certificate = self.statement.certificate;
        let shared = certificate.below > 0.0 || certificate.beyond > 0.0;
        let level = |metric: &Metric| self.points.mapped(metric.factor()).level();
        Views {
            metric: level(self.statement.metric),
            sides: shared.then(|| level(&certificate.sides)),
            basis: certificate.basis.as_ref().map(|basis| self.points.mapped(basis)),
        }
    }

    /// Word multiplications that the check takes, about: distances of all pairs, sums over pairs, and the elimination, whose
    /// numbers grow by those of the matrix with each step. Making a number costs as much as some ten of them.
    fn cost(&self, views: &Views) -> f64 {
        let words = |bits: u64| bits as f64 / 64.0 + 1.0;
        let product = |bits: u64| 10.0 + words(bits).powi(2);
        let mut each = 10.0;
        for view in std::iter::once(&views.metric).chain(&views.sides) {
            let (bits, coordinates) = view.size();
            // A metric's pairs are seen once, those of `sides` from both ends: three times at most in all.
            each += 1.5 * coordinates as f64 * product(bits);
        }
        let points = views.basis.as_ref().unwrap_or(&self.points);
        let (side, bits) = (points.coordinates() as f64, points.bits());
        if views.sides.is_some() {
            each += 2.0 * side * product(bits);
        }
        let elimination = side.powi(3) * product((side * 2.0 * (bits as f64 + 64.0)) as u64);
        self.pairs() as f64 * each + self.used.len() as f64 * side * side * product(bits) + elimination
    }

    /// Whether no two points that differ are one in the basis: then every metric is one on the basis as far as these rows go.
    fn sees_everything(&self, basis: &Points) -> bool {
        let rank = |points: &Points| definite::rank_of_semidefinite(self.scatter(points));
        rank(&self.points) == rank(basis)
    }

    /// The scatter of all points, times their number.
    fn scatter(&self, points: &Points) -> Vec<Vec<BigInt>> {
        let ones = vec![Dyadic::from(1.0); self.weight.len()];
        integers(&multipliers::pair_sum(points, &self.used, &ones))
    }
}

/// A matrix as integers in a common unit.
fn integers(matrix: &[Vec<Dyadic>]) -> Vec<Vec<BigInt>> {
    let all: Vec<Dyadic> = matrix.iter().flatten().cloned().collect();
    let side = matrix.len().max(1);
    Dyadic::integers(&all).chunks(side).map(<[BigInt]>::to_vec).collect()
}

/// A number in all its digits.
fn shown(value: f64) -> String {
    if value == 0.0 || (1e-3..1e9).contains(&value.abs()) { value.to_string() } else { format!("{value:e}") }
}

/// Reasons of one kind: the first few, and how many more there are.
fn tell(found: Vec<String>, reasons: &mut Vec<String>) {
    let more = found.len().saturating_sub(TOLD);
    reasons.extend(found.into_iter().take(TOLD));
    if more > 0 {
        reasons.push(format!("and {more} more of this kind"));
    }
}

#[cfg(test)]
mod tests;
