//! The same where the problem is one of pairs in place of labels.
//!
//! `F(M) = c max(sum_s w rho_M / W + plain trace(M), longest) + sum_d w max(0, 2 - rho_M)`, the sums over the similar and over the
//! dissimilar pairs with their strengths `w`, `W` what those of the similar ones add up to, and `longest` the longest similar pair
//! where that is the diameter, else zero. For multipliers `lambda <= w` of the dissimilar pairs, `eta` of the similar ones and
//! `mean`, with `mean + sum eta <= c`, the bound is `2 sum lambda` where
//!
//! `sum eta A + mean (sum_s w A / W + plain I) - sum lambda A`
//!
//! is positive semidefinite.

use super::definite::rank_of_semidefinite;
use super::number::{Dyadic, Quotient, Towards};
use super::points::Points;
use super::{Claims, Verified, compare, gap, integers, refuse_beyond, tell};
use crate::data::Pair;
use crate::method::Spec;
use crate::problem::{Certificate, Diameter, GivenPairs};
use crate::{Error, Matrix, Metric, Model, Result};
use std::collections::{HashMap, HashSet};

/// A problem of pairs, a metric, and the multipliers that are to prove how good it is.
#[derive(Debug, Clone, Copy)]
pub struct PairStatement<'a> {
    /// The prepared training rows.
    pub x: &'a Matrix,
    /// The metric.
    pub metric: &'a Metric,
    /// What the diameter is: the mean of the similar pairs, or the longest of them where it is longer.
    pub diameter: Diameter,
    /// The trade-off.
    pub c: f64,
    /// The multipliers, with the pairs that they belong to.
    pub certificate: &'a Certificate,
}

impl<'a> PairStatement<'a> {
    /// The statement that a model makes of itself.
    ///
    /// # Errors
    /// If the model has no certificate of a problem of pairs, or no training rows.
    pub fn of(model: &'a Model) -> Result<Self> {
        let Spec::LipPairs(method) = &model.used else {
            return Err(Error::data(format!(
                "the model was learned from pairs or comparisons by {}: no certificate belongs to it; `lip-pairs` has one",
                crate::method::Method::name(&model.used)
            )));
        };
        let Some(certificate) = &model.certificate else {
            return Err(super::stored::without());
        };
        let c = model.outcome.c.unwrap_or(1.0);
        Ok(Self { x: &model.training_rows()?.x, metric: &model.metric, diameter: method.diameter, c, certificate })
    }

    /// The pairs that the problem is made of.
    ///
    /// # Errors
    /// If the certificate is not one of a problem of pairs.
    pub fn given(&self) -> Result<&'a GivenPairs> {
        self.certificate
            .given
            .as_ref()
            .ok_or_else(|| Error::data("the certificate does not say which pairs it is one of"))
    }

    fn check(&self) -> Result<()> {
        let (n, p) = (self.x.rows(), self.x.cols());
        if self.metric.features() != p {
            return Err(Error::shape("features of the metric", p, self.metric.features()));
        }
        super::stored::check_numbers(self.x, self.c)?;
        self.certificate.check(n, p)?;
        if matches!(self.diameter, Diameter::Cvar(_)) {
            return Err(Error::parameter("diameter", "of pairs it is their mean or the longest"));
        }
        match self.given()?.pairs.iter().any(|pair| pair.similar) {
            true => Ok(()),
            false => {
                Err(Error::data("no pair is similar: nothing bounds the diameter, and there is nothing to verify"))
            }
        }
    }
}

/// Finds out, in exact arithmetic, what a certificate of pairs proves and whether what is claimed is true; as [`super::verify`].
///
/// # Errors
/// If the parts do not fit together, a number is not finite, or the check would take more than the limit.
pub fn verify_pairs(statement: &PairStatement<'_>, claims: &Claims, limit: f64) -> Result<Verified> {
    statement.check()?;
    let given = statement.given()?;
    let exact = Exact::new(statement, given);
    refuse_beyond(limit, exact.cost(), given.pairs.len())?;
    let mut reasons = Vec::new();
    let objective = exact.objective();
    let bound = exact.bound(&mut reasons);
    let feasible = bound.is_some();
    let bound = bound.unwrap_or_else(Dyadic::zero);
    let gap = gap(&objective, &bound);
    compare(claims, &objective, &bound, gap, true, &mut reasons);
    Ok(Verified {
        objective: objective.rounded(Towards::Above),
        bound: Quotient::whole(bound).rounded(Towards::Below),
        gap,
        every_metric: true,
        feasible,
        raised: 0.0,
        weighted: given.pairs.iter().any(|pair| pair.strength != 1.0),
        pairs: given.pairs.len(),
        reasons,
    })
}

/// The problem in exact numbers.
struct Exact<'a> {
    statement: &'a PairStatement<'a>,
    given: &'a GivenPairs,
    points: Points,
    c: Dyadic,
    plain: Dyadic,
    /// What the strengths of the similar pairs add up to.
    total: Dyadic,
}

/// A multiplier for each given pair, by its place among them.
struct Told {
    push: HashMap<usize, Dyadic>,
    pull: HashMap<usize, Dyadic>,
}

impl<'a> Exact<'a> {
    fn new(statement: &'a PairStatement<'a>, given: &'a GivenPairs) -> Self {
        let mut total = Dyadic::zero();
        given.pairs.iter().filter(|pair| pair.similar).for_each(|pair| total += &Dyadic::from(pair.strength));
        let (c, plain) = (Dyadic::from(statement.c), Dyadic::from(given.plain));
        Self { statement, given, points: Points::of(statement.x), c, plain, total }
    }

    /// Word multiplications that the check takes, about.
    fn cost(&self) -> f64 {
        let words = |bits: u64| bits as f64 / 64.0 + 1.0;
        let (side, bits) = (self.points.coordinates() as f64, self.points.bits());
        let product = 10.0 + words(2 * bits + 64).powi(2);
        let elimination = 10.0 + words((side * 2.0 * (bits as f64 + 64.0)) as u64).powi(2);
        (self.given.pairs.len() as f64 + self.statement.x.rows() as f64) * side * side * product
            + side.powi(3) * elimination
    }

    /// The objective of the metric, from its definition.
    fn objective(&self) -> Quotient {
        let factor = self.statement.metric.factor();
        let view = self.points.mapped(factor).level();
        let two = Dyadic::from(2.0);
        let (mut sum, mut longest, mut loss) = (Dyadic::zero(), Dyadic::zero(), Dyadic::zero());
        for pair in &self.given.pairs {
            let (rho, strength) = (view.squared_distance(pair.first, pair.second), Dyadic::from(pair.strength));
            if pair.similar {
                sum += &(&strength * &rho);
                longest = longest.max(rho);
            } else if rho < two {
                loss += &(&strength * &(&two - &rho));
            }
        }
        let mut trace = Dyadic::zero();
        factor.as_slice().iter().map(|&v| Dyadic::from(v)).for_each(|v| trace += &(&v * &v));
        sum += &(&self.total * &(&self.plain * &trace));
        if self.statement.diameter == Diameter::Maximum {
            sum = sum.max(&longest * &self.total);
        }
        Quotient { top: &(&self.c * &sum) + &(&self.total * &loss), bottom: self.total.clone() }
    }

    /// The lower bound that the multipliers prove; none, and why, where they are not feasible.
    fn bound(&self, reasons: &mut Vec<String>) -> Option<Dyadic> {
        let before = reasons.len();
        let told = self.told(reasons);
        let mean = Dyadic::from(self.statement.certificate.mean);
        if mean.is_negative() {
            reasons.push("the shared multiplier `mean` is negative".to_owned());
        }
        let mut pull = mean.clone();
        told.pull.values().for_each(|eta| pull += eta);
        if pull > self.c {
            reasons.push("the multipliers of the pairs that bound the diameter add up to more than c".to_owned());
        }
        if reasons.len() == before && !self.is_semidefinite(&told, &mean) {
            let text = "the multipliers do not balance: those of the similar pairs do not outweigh those of the dissimilar ones in every \
                        direction";
            reasons.push(text.to_owned());
        }
        let mut push = Dyadic::zero();
        told.push.values().for_each(|lambda| push += lambda);
        (reasons.len() == before).then(|| push.double())
    }

    /// The multipliers of the given pairs, after a look at each.
    fn told(&self, reasons: &mut Vec<String>) -> Told {
        let key = |i: usize, j: usize, pushes: bool| (i.min(j), i.max(j), pushes);
        let of = |pair: &Pair| key(pair.first, pair.second, !pair.similar);
        let place: HashMap<_, usize> = self.given.pairs.iter().enumerate().map(|(k, pair)| (of(pair), k)).collect();
        let mut wrong = Vec::new();
        if place.len() < self.given.pairs.len() {
            wrong.push("a pair is there twice".to_owned());
        }
        let (mut out, mut seen) = (Told { push: HashMap::new(), pull: HashMap::new() }, HashSet::new());
        for p in &self.statement.certificate.pairs {
            let pair = format!("the pair of rows {} and {}", p.first + 1, p.second + 1);
            let Some(&k) = place.get(&key(p.first, p.second, p.pushes)) else {
                let kind = if p.pushes { "dissimilar" } else { "similar" };
                wrong.push(format!("{pair} has a multiplier, but is not among the {kind} pairs"));
                continue;
            };
            let multiplier = Dyadic::from(p.multiplier);
            if multiplier.is_negative() {
                wrong.push(format!("{pair} has the multiplier {}: none may be negative", p.multiplier));
            } else if p.pushes && multiplier > Dyadic::from(self.given.pairs[k].strength) {
                wrong.push(format!("the multiplier of {pair} is larger than the strength of the pair"));
            } else if !p.pushes && self.statement.diameter != Diameter::Maximum {
                wrong.push(format!("{pair} has a multiplier of its own, but the diameter is the mean of all"));
            } else if !seen.insert(k) {
                wrong.push(format!("{pair} has two multipliers"));
            }
            let side = if p.pushes { &mut out.push } else { &mut out.pull };
            side.insert(k, multiplier);
        }
        tell(wrong, reasons);
        out
    }

    /// Whether what pulls outweighs what pushes, times what the strengths of the similar pairs add up to.
    fn is_semidefinite(&self, told: &Told, mean: &Dyadic) -> bool {
        let side = self.points.coordinates();
        let mut sum = vec![vec![Dyadic::zero(); side]; side];
        for (k, pair) in self.given.pairs.iter().enumerate() {
            let own = match pair.similar {
                true => {
                    let shared = mean * &Dyadic::from(pair.strength);
                    told.pull.get(&k).map_or(shared.clone(), |eta| &shared + &(&self.total * eta))
                }
                false => {
                    told.push.get(&k).map_or_else(Dyadic::zero, |lambda| &Dyadic::zero() - &(&self.total * lambda))
                }
            };
            if own.is_zero() {
                continue;
            }
            let whole = &self.points.whole;
            let apart = whole[pair.first].iter().zip(&whole[pair.second]);
            let apart: Vec<Dyadic> = apart.map(|(a, b)| Dyadic::new(a - b, 0)).collect();
            for (row, a) in sum.iter_mut().zip(&apart).filter(|(_, a)| !a.is_zero()) {
                let own = &own * a;
                row.iter_mut().zip(&apart).for_each(|(s, b)| *s += &(&own * b));
            }
        }
        // Each coordinate is in a unit of its own.
        let ridge = &self.total * &(mean * &self.plain);
        for (k, row) in sum.iter_mut().enumerate() {
            row[k] += &(&ridge * &self.points.inverse_square_of_unit(k));
        }
        rank_of_semidefinite(integers(&sum)).is_some()
    }
}

#[cfg(test)]
mod tests;
