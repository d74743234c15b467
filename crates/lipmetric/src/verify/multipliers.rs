//! Whether the multipliers are feasible, and the bound that they prove.

use super::definite::rank_of_semidefinite;
use super::number::Dyadic;
use super::points::Points;
use super::{Exact, Views, integers, tell};
use crate::problem::{Diameter, Slack};
use rayon::prelude::*;
use std::collections::HashMap;

/// The multipliers of the listed pairs, by row: those that push and those that pull.
struct Listed {
    push: Vec<HashMap<usize, Dyadic>>,
    pull: Vec<HashMap<usize, Dyadic>>,
}

/// What the pairs of one row add up to.
struct RowSums {
    /// `sum_j lambda_ij` and `sum_j eta_ij`, the latter without the row's share of the mean.
    push: Dyadic,
    pull: Dyadic,
    /// `sum_j (eta_ij - lambda_ij) (x_i - x_j)`, each coordinate in its own unit; empty where there is no pair.
    net: Vec<Dyadic>,
}

impl Exact<'_> {
    /// The lower bound that the multipliers prove; none, and why, where they are not feasible.
    pub(super) fn bound(&self, views: &Views, reasons: &mut Vec<String>) -> Option<Dyadic> {
        let before = reasons.len();
        self.check_shared(reasons);
        let listed = self.listed(reasons);
        if reasons.len() > before {
            return None;
        }
        let points = views.basis.as_ref().unwrap_or(&self.points);
        let two = Dyadic::from(2.0);
        let edge = Dyadic::from(self.statement.certificate.edge);
        let sums: Vec<RowSums> =
            self.used.par_iter().map(|&i| self.row(i, &listed, views, points, (&two, &edge))).collect();
        let (mut push, mut pull) = (Dyadic::zero(), Dyadic::zero());
        let mut crowded = Vec::new();
        for (&i, row) in self.used.iter().zip(&sums) {
            push += &row.push;
            pull += &row.pull;
            if self.statement.slack == Slack::Instance && row.push > self.weight[i] {
                crowded.push(format!("the multipliers of the pairs of row {} add up to more than its weight", i + 1));
            }
        }
        tell(crowded, reasons);
        let mean = Dyadic::from(self.statement.certificate.mean);
        if &pull + &mean.double() > self.c.double() {
            reasons.push("the multipliers of the pairs that bound the diameter add up to more than c".to_owned());
        }
        if !self.is_semidefinite(points, &sums, &mean) {
            let text = "the multipliers do not balance: sum eta A - sum lambda A is not positive semidefinite";
            reasons.push(text.to_owned());
        }
        // Each pair was counted from both of its rows.
        (reasons.len() == before).then_some(push)
    }

    /// The conditions on the multipliers that several pairs share.
    fn check_shared(&self, reasons: &mut Vec<String>) {
        let certificate = self.statement.certificate;
        for (name, value) in [("mean", certificate.mean), ("below", certificate.below), ("beyond", certificate.beyond)]
        {
            if value < 0.0 {
                reasons.push(format!("the shared multiplier `{name}` is {value}: none may be negative"));
            }
        }
        match self.statement.slack {
            Slack::Pair if certificate.below > 1.0 => {
                reasons.push(format!("the shared multiplier `below` is {}: it may be 1 at most", certificate.below));
            }
            Slack::Instance if certificate.below != 0.0 => {
                reasons
                    .push("with a slack per row pairs that push share no multiplier, but `below` is not 0".to_owned());
            }
            _ => {}
        }
        if certificate.beyond > 0.0 && !self.fits(&Dyadic::from(certificate.beyond), &Dyadic::from(1.0)) {
            reasons.push("the shared multiplier `beyond` is more than a pair's share of c".to_owned());
        }
        if !self.fits(&Dyadic::zero(), &Dyadic::from(1.0)) {
            reasons.push("the shared multiplier `mean` gives each pair more than its share of c".to_owned());
        }
    }

    /// Whether `eta`, with the share of the mean, is at most `c w / (level W)` for a pair of weight `w`.
    fn fits(&self, eta: &Dyadic, weight: &Dyadic) -> bool {
        let level = match self.statement.diameter {
            Diameter::Maximum => return true,
            Diameter::Mean => Dyadic::from(1.0),
            Diameter::Cvar(level) => Dyadic::from(level),
        };
        // (eta + mean w / W) level W <= c w, with twice W at hand.
        let mean = Dyadic::from(self.statement.certificate.mean);
        let own = &(eta * &self.bounding).half() + &(&mean * weight);
        &own * &level <= &self.c * weight
    }

    /// The listed multipliers, each pair once, after a look at each.
    fn listed(&self, reasons: &mut Vec<String>) -> Listed {
        let n = self.weight.len();
        let mut out = Listed { push: vec![HashMap::new(); n], pull: vec![HashMap::new(); n] };
        let mut wrong = Vec::new();
        for p in &self.statement.certificate.pairs {
            let (i, j) = (p.first, p.second);
            let pair = format!("the pair of rows {} and {}", i + 1, j + 1);
            if i == j {
                wrong.push(format!("{pair} is no pair"));
            } else if !(self.weight[i].is_positive() && self.weight[j].is_positive()) {
                wrong.push(format!("{pair} has a row without weight"));
            } else if p.pushes && !self.differ(i, j) {
                wrong.push(format!("{pair} is said to push, but the two have the same label"));
            } else if !p.pushes && !self.bounds(i, j) {
                wrong.push(format!("{pair} does not bound the diameter: the two have different labels"));
            } else if p.multiplier < 0.0 {
                wrong.push(format!("{pair} has the multiplier {}: none may be negative", p.multiplier));
            } else {
                let side = if p.pushes { &mut out.push } else { &mut out.pull };
                for (a, b) in [(i, j), (j, i)] {
                    *side[a].entry(b).or_insert_with(Dyadic::zero) += &Dyadic::from(p.multiplier);
                }
            }
        }
        if wrong.is_empty() {
            wrong = self.beyond_caps(&out);
        }
        tell(wrong, reasons);
        out
    }

    /// Listed pairs whose multiplier is too large.
    fn beyond_caps(&self, listed: &Listed) -> Vec<String> {
        let mut wrong = Vec::new();
        for &i in &self.used {
            let caps = [(&listed.push[i], true), (&listed.pull[i], false)];
            for (multipliers, pushes) in caps {
                let mut over: Vec<usize> = multipliers
                    .iter()
                    .filter(|(j, m)| **j > i && !self.within_cap(pushes, m, &self.pair_weight(i, **j)))
                    .map(|(j, _)| *j)
                    .collect();
                over.sort_unstable();
                let most = if pushes { "the product of their weights" } else { "the pair's share of c" };
                wrong.extend(over.iter().map(|j| {
                    format!("the multiplier of the pair of rows {} and {} is larger than {most}", i + 1, j + 1)
                }));
            }
        }
        wrong
    }

    fn within_cap(&self, pushes: bool, multiplier: &Dyadic, weight: &Dyadic) -> bool {
        match (pushes, self.statement.slack) {
            (true, Slack::Pair) => multiplier <= weight,
            (true, Slack::Instance) => true,
            (false, _) => self.fits(multiplier, weight),
        }
    }

    /// Sums over the pairs of row `i`; the kinks are the margin and the edge of the tail.
    fn row(
        &self,
        i: usize,
        listed: &Listed,
        views: &Views,
        points: &Points,
        (margin, edge): (&Dyadic, &Dyadic),
    ) -> RowSums {
        let mut sums = RowSums { push: Dyadic::zero(), pull: Dyadic::zero(), net: Vec::new() };
        let certificate = self.statement.certificate;
        if let Some(sides) = &views.sides {
            let (below, beyond) = (Dyadic::from(certificate.below), Dyadic::from(certificate.beyond));
            for &j in self.used.iter().filter(|&&j| j != i) {
                let pushed = below.is_positive() && self.differ(i, j) && !listed.push[i].contains_key(&j);
                let pulled = beyond.is_positive() && self.bounds(i, j) && !listed.pull[i].contains_key(&j);
                if !(pushed || pulled) {
                    continue;
                }
                let (rho, weight) = (sides.squared_distance(i, j), self.pair_weight(i, j));
                let lambda = if pushed && rho < *margin { &below * &weight } else { Dyadic::zero() };
                let eta = if pulled && rho > *edge { &beyond * &weight } else { Dyadic::zero() };
                sums.add(points, (i, j), &lambda, &eta);
            }
        }
        let none = Dyadic::zero();
        listed.push[i].iter().for_each(|(&j, lambda)| sums.add(points, (i, j), lambda, &none));
        listed.pull[i].iter().for_each(|(&j, eta)| sums.add(points, (i, j), &none, eta));
        sums
    }

    /// Whether `sum eta A - sum lambda A` is positive semidefinite, times twice the weight of all pairs that bound the
    /// diameter, which the mean's share is divided by.
    fn is_semidefinite(&self, points: &Points, sums: &[RowSums], mean: &Dyadic) -> bool {
        let side = points.coordinates();
        let mut total = vec![vec![Dyadic::zero(); side]; side];
        for (&i, row) in self.used.iter().zip(sums).filter(|(_, row)| !row.net.is_empty()) {
            for a in 0..side {
                let own = &self.bounding * &Dyadic::new(points.whole[i][a].clone(), 0);
                for b in 0..side {
                    total[a][b] += &(&own * &row.net[b]);
                }
            }
        }
        let twice = mean.double();
        if !twice.is_zero() {
            for group in self.groups() {
                let all = pair_sum(points, &group, &self.weight);
                for (row, from) in total.iter_mut().zip(&all) {
                    row.iter_mut().zip(from).for_each(|(t, v)| *t += &(&twice * v));
                }
            }
        }
        rank_of_semidefinite(integers(&total)).is_some()
    }
}

impl RowSums {
    fn add(&mut self, points: &Points, (i, j): (usize, usize), lambda: &Dyadic, eta: &Dyadic) {
        let net = eta - lambda;
        self.push += lambda;
        self.pull += eta;
        if net.is_zero() {
            return;
        }
        self.net.resize(points.coordinates(), Dyadic::zero());
        for (sum, (a, b)) in self.net.iter_mut().zip(points.whole[i].iter().zip(&points.whole[j])) {
            *sum += &(&net * &Dyadic::new(a - b, 0));
        }
    }
}

/// `sum of w A` over all pairs of some points, each coordinate in its own unit: their weight times `sum w x x^T`, less the
/// square of `sum w x`.
pub(super) fn pair_sum(points: &Points, group: &[usize], weight: &[Dyadic]) -> Vec<Vec<Dyadic>> {
    let side = points.coordinates();
    let mut total = Dyadic::zero();
    let mut first = vec![Dyadic::zero(); side];
    let mut second = vec![vec![Dyadic::zero(); side]; side];
    for &i in group {
        total += &weight[i];
        let point: Vec<Dyadic> = points.whole[i].iter().map(|v| Dyadic::new(v.clone(), 0)).collect();
        for a in 0..side {
            let own = &weight[i] * &point[a];
            first[a] += &own;
            for b in 0..side {
                second[a][b] += &(&own * &point[b]);
            }
        }
    }
    for a in 0..side {
        for b in 0..side {
            second[a][b] = &(&total * &second[a][b]) - &(&first[a] * &first[b]);
        }
    }
    second
}
