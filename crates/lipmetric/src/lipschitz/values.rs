//! The cheapest values on the sample, for a given distance and constant.

use super::check_labels;
use super::covering::{Covering, Side};
use super::extension::Upper;
use super::pair::Groups;
use crate::neighbours::{Best, Close, Distance, Index, close_pairs, from_raw, measured, rooted, squared_distance};
use crate::{Error, Labels, Result};
use serde::Serialize;

/// Demands and slacks are whole multiples of one over this: as fine as numbers up to 2 can be halved without rounding.
const UNITS: f64 = (1_u64 << 51) as f64;

/// The sum of all weights in whole units is at most two to this power: sums of a few of them do not overflow.
const WEIGHT_BITS: i32 = 60;

/// Nearest pairs of each row that the search starts with: so few that the first graph is sparse, whatever the constant. A
/// choice; other numbers were not measured, and change the time alone.
const FIRST_PAIRS: u8 = 8;

/// What the values are computed for.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueOptions {
    /// The Lipschitz constant `L` of the function that takes the values: a pair of rows as near as `2 / L` costs something.
    pub constant: f64,
    /// What a unit of slack costs, per row; none stands for 1.
    pub weights: Option<Vec<f64>>,
    /// The most pairs of rows to list, at 16 bytes each. The slacks are the same for any number, but for
    /// rounding; where more pairs are nearer than `2 / L`, those beyond are searched for, which takes longer.
    pub max_pairs: usize,
}

impl Default for ValueOptions {
    fn default() -> Self {
        Self { constant: 1.0, weights: None, max_pairs: 4_000_000 }
    }
}

/// The multiplier of a pair of rows: how much the total cost grows with `2 - L rho_ij`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Multiplier {
    /// The smaller row number.
    pub i: usize,
    /// The larger row number.
    pub j: usize,
    /// The multiplier, positive.
    pub value: f64,
}

/// Values on the sample, and the proof that none are cheaper; see [`learned_values`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Values {
    /// The slack `xi_i` per row, from 0 to 2. The row's value is `1 - xi_i` for its own class.
    pub slack: Vec<f64>,
    /// `sum_i w_i xi_i`.
    pub objective: f64,
    /// `sum lambda_ij (2 - L rho_ij)`: no slacks cost less. Equal to the objective but for rounding.
    pub bound: f64,
    /// The constant `L`.
    pub constant: f64,
    /// The multipliers that are not zero, by row numbers. Those of the pairs of row `i` add up to `w_i` at most, which with
    /// the bound proves that the slacks are optimal.
    pub multipliers: Vec<Multiplier>,
}

impl Values {
    /// `1 - xi_i` per row: the value of row `i` for its own class, its negative for all others. Below zero the row speaks
    /// against its own label.
    #[must_use]
    pub fn margins(&self) -> Vec<f64> {
        self.slack.iter().map(|xi| 1.0 - xi).collect()
    }

    /// How far the objective is above the bound, relative to the objective.
    #[must_use]
    pub fn relative_gap(&self) -> f64 {
        (self.objective - self.bound).abs() / self.objective.abs().max(f64::MIN_POSITIVE)
    }
}

/// The cheapest slacks with which the labels have the Lipschitz constant `L` under a fixed distance:
///
/// `min sum_i w_i xi_i` subject to `L rho_ij + xi_i + xi_j >= 2` for all rows `i`, `j` of different labels, and `xi >= 0`.
///
/// It is Lip^I with a slack per instance and the metric held fixed: a fractional vertex cover, whose dual is a matching of
/// largest weight. It is solved exactly, by shortest augmenting paths in whole numbers of `2^-51`: with two classes in the
/// graph of the close pairs, with more in its bipartite double cover. Few pairs matter, and only those that do enter.
///
/// Of several optima it is the one halfway between the two extremes, in which one side of that graph has as much slack as
/// possible or as little. So it depends on neither the order of the rows nor that of the classes. A row whose weight is 0
/// has the slack that the others leave to it; two such rows share.
///
/// ```
/// use lipmetric::{Labels, Matrix, lipschitz::{SquaredMahalanobis, values::{ValueOptions, learned_values}}};
/// let rho = SquaredMahalanobis::euclidean(&Matrix::from_rows(&[[0.0], [0.5], [1.0], [9.0]])).unwrap();
/// let y = Labels::from_names(["a", "b", "a", "b"]);
/// let values = learned_values(&rho, &y, &ValueOptions::default()).unwrap();
/// assert_eq!(values.slack, [0.0, 1.75, 0.0, 0.0]); // the row between two of the other class ends on their side
/// assert_eq!((values.objective, values.bound), (1.75, 1.75));
/// ```
///
/// # Errors
/// If the labels do not fit the sample or are of one class only, the constant is not positive and finite, a weight per row
/// is missing, negative or not finite, or a distance is not a finite number of at least 0.
pub fn learned_values<D>(distance: &D, labels: &Labels, options: &ValueOptions) -> Result<Values>
where
    D: Distance + ?Sized,
{
    let groups = check_labels(distance, labels)?;
    let weights = check_options(distance.len(), options)?;
    let scale = weight_scale(&weights);
    // Rounded down, so that a flow within the units is within the weights.
    let units: Vec<u64> = weights.iter().map(|w| (w * scale) as u64).collect();
    let mut problem = Problem::new(distance, groups, &units, options)?;
    problem.solve()?;
    let mut slack = problem.halfway()?;
    problem.settle_weightless(&mut slack)?;
    let multipliers = problem.multipliers(scale);
    let cost = slack.iter().zip(&weights).map(|(xi, w)| w * xi);
    let mut bound = 0.0;
    for m in &multipliers {
        bound += m.value * (2.0 - options.constant * from_raw(distance, problem.raw(m.i, m.j)?));
    }
    Ok(Values { objective: cost.sum(), slack, bound, constant: options.constant, multipliers })
}

fn check_options(rows: usize, options: &ValueOptions) -> Result<Vec<f64>> {
    if !(options.constant.is_finite() && options.constant > 0.0) {
        return Err(Error::parameter("constant", format!("{} must be positive and finite", options.constant)));
    }
    let Some(weights) = &options.weights else { return Ok(vec![1.0; rows]) };
    if weights.len() != rows {
        return Err(Error::shape("weights of the rows", rows, weights.len()));
    }
    match weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
        Some(i) => Err(Error::parameter(
            "weights",
            format!("that of row {i} is {}; it must be finite, at least 0", weights[i]),
        )),
        None => Ok(weights.clone()),
    }
}

/// How many units a weight of 1 has: a power of two, so that multiplying by it does not round.
fn weight_scale(weights: &[f64]) -> f64 {
    let largest = weights.iter().fold(0.0_f64, |m, &w| m.max(w));
    let bits = |x: f64| x.log2().ceil() as i32;
    if largest == 0.0 {
        return 1.0;
    }
    2.0_f64.powi((WEIGHT_BITS - bits(largest) - bits(weights.len() as f64)).min(f64::MAX_EXP - 1))
}

/// An edge from the first side of the graph to the second, with its demand.
type Demanded = (u32, u32, i64);

/// The covering problem of a sample.
struct Problem<'a, D: ?Sized> {
    distance: &'a D,
    constant: f64,
    /// The rows of each class that have a weight; those without do not constrain them.
    classes: Vec<Vec<usize>>,
    class_of: Vec<usize>,
    /// The rows of each class without a weight.
    weightless: Vec<Vec<usize>>,
    /// Whether a row is two vertices, `i` on the first side and `n + i` on the second.
    double: bool,
    /// The nearest of the pairs that demand something, and whether these are all.
    pairs: Vec<Close>,
    complete: bool,
    graph: Covering,
}

impl<'a, D: Distance + ?Sized> Problem<'a, D> {
    fn new(distance: &'a D, groups: Groups, units: &[u64], options: &ValueOptions) -> Result<Self> {
        let n = distance.len();
        let mut class_of = vec![0; n];
        for (k, rows) in groups.rows.iter().enumerate() {
            rows.iter().for_each(|&i| class_of[i] = k);
        }
        let double = groups.rows.len() > 2;
        let graph = if double {
            let side = (0..2 * n).map(|v| if v < n { Side::First } else { Side::Second }).collect();
            Covering::new(side, [units, units].concat())
        } else {
            let side = class_of.iter().map(|&k| if k == 0 { Side::First } else { Side::Second }).collect();
            Covering::new(side, units.to_vec())
        };
        let (classes, weightless): (Vec<Vec<usize>>, Vec<Vec<usize>>) =
            groups.rows.into_iter().map(|rows| rows.into_iter().partition(|&i| units[i] > 0)).unzip();
        let constant = options.constant;
        let near = 2.0 / constant;
        // A little beyond the limit: its rounding must not lose a pair.
        let limit = (if rooted(distance) { near * near } else { near }) * (1.0 + 1e-12);
        let listed = close_pairs(distance, &classes, limit, options.max_pairs)?;
        let (pairs, complete) = (listed.pairs, listed.complete);
        Ok(Self { distance, constant, classes, class_of, weightless, double, pairs, complete, graph })
    }

    /// The raw distance of two rows, by the same sum of squares as the searches'.
    fn raw(&self, i: usize, j: usize) -> Result<f64> {
        match self.distance.coordinates() {
            Some(c) => Ok(squared_distance(c.queries.row(i), c.points.row(j))),
            None => measured(self.distance, i, j),
        }
    }

    /// `2 - L rho` in whole units, rounded up.
    fn demand(&self, raw: f64) -> i64 {
        ((2.0 - self.constant * from_raw(self.distance, raw)) * UNITS).ceil() as i64
    }

    /// The edges of a pair of rows.
    fn edges(&self, i: usize, j: usize, demand: i64) -> impl Iterator<Item = Demanded> + use<'a, D> {
        let n = self.distance.len();
        let edge = move |a: usize, b: usize| (a as u32, b as u32, demand);
        let (one, two) = match self.double {
            true => (edge(i, n + j), Some(edge(j, n + i))),
            false if self.class_of[i] == 0 => (edge(i, j), None),
            false => (edge(j, i), None),
        };
        std::iter::once(one).chain(two)
    }

    /// Solves with few pairs, then adds some that are not covered, until there are none.
    fn solve(&mut self) -> Result<()> {
        let mut edges = self.first_edges();
        loop {
            edges.into_iter().for_each(|(a, b, demand)| self.graph.add(a, b, demand));
            self.graph.solve();
            edges = self.uncovered(self.graph.potentials())?;
            if edges.is_empty() {
                return Ok(());
            }
        }
    }

    /// The nearest pairs of each row, as far as they are listed.
    fn first_edges(&self) -> Vec<Demanded> {
        let mut taken = vec![0_u8; self.class_of.len()];
        let mut edges = Vec::new();
        for pair in &self.pairs {
            let (i, j, demand) = (pair.i as usize, pair.j as usize, self.demand(pair.raw));
            if demand > 0 && taken[i].min(taken[j]) < FIRST_PAIRS {
                taken[i] = taken[i].saturating_add(1);
                taken[j] = taken[j].saturating_add(1);
                edges.extend(self.edges(i, j, demand));
            }
        }
        edges
    }

    /// At each vertex the edge that is least covered, of those that are not covered.
    fn uncovered(&self, potentials: &[i64]) -> Result<Vec<Demanded>> {
        let mut worst: Vec<(i64, Demanded)> = vec![(0, (0, 0, 0)); potentials.len()];
        for pair in &self.pairs {
            for edge in self.edges(pair.i as usize, pair.j as usize, self.demand(pair.raw)) {
                let (a, b) = (edge.0 as usize, edge.1 as usize);
                let lacking = edge.2 - potentials[a] - potentials[b];
                for v in [a, b] {
                    if lacking > worst[v].0 {
                        worst[v] = (lacking, edge);
                    }
                }
            }
        }
        let mut found: Vec<Demanded> = worst.into_iter().filter(|w| w.0 > 0).map(|w| w.1).collect();
        if found.is_empty() && !self.complete {
            found = self.uncovered_beyond(potentials)?;
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// The same among all pairs: for each row the other one of least `y_j + L rho_ij`.
    fn uncovered_beyond(&self, potentials: &[i64]) -> Result<Vec<Demanded>> {
        let n = self.distance.len();
        let mut found = Vec::new();
        // Where each row is two vertices, the first of a row is asked about the second of the others, then vice versa.
        let ways: &[(usize, usize)] = if self.double { &[(0, n), (n, 0)] } else { &[(0, 0)] };
        for &(own, other) in ways {
            let value = |i: usize| potentials[other + i] as f64 / UNITS;
            for (i, j) in self.least(&self.classes, &self.classes, value)? {
                let demand = self.demand(self.raw(i, j)?);
                if demand > potentials[own + i] + potentials[other + j] {
                    found.extend(self.edges(i, j, demand));
                }
            }
        }
        Ok(found)
    }

    /// For each row of the first classes, the row of another one of the second of least `value + L rho`, if there is any.
    fn least(
        &self,
        asking: &[Vec<usize>],
        searched: &[Vec<usize>],
        value: impl Fn(usize) -> f64,
    ) -> Result<Vec<(usize, usize)>> {
        let score = Upper { constant: self.constant, rooted: rooted(self.distance) };
        let mut best: Vec<Vec<Best>> = asking.iter().map(|rows| vec![Best::NONE; rows.len()]).collect();
        for (l, rows) in searched.iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            let index = Index::new(self.distance, rows.clone(), rows.iter().map(|&i| value(i)).collect());
            for (k, queries) in asking.iter().enumerate().filter(|(k, _)| *k != l) {
                index.search(self.distance, queries, false, &score, &mut best[k], None)?;
            }
        }
        let pairs = asking.iter().flatten().zip(best.into_iter().flatten());
        Ok(pairs.filter_map(|(&i, best)| Some((i, best.found()?.at))).collect())
    }

    /// The slacks halfway between the extreme optima.
    fn halfway(&mut self) -> Result<Vec<f64>> {
        let n = self.distance.len();
        let first = self.extreme(Side::First)?;
        let second = if self.double {
            // What is small on the one side is large on the other.
            first[n..].to_vec()
        } else {
            self.extreme(Side::Second)?
        };
        Ok((0..n).map(|i| (first[i] + second[i]) as f64 / (2.0 * UNITS)).collect())
    }

    /// An extreme optimum of all pairs: those that it does not cover join, until it covers all.
    fn extreme(&mut self, large: Side) -> Result<Vec<i64>> {
        loop {
            let potentials = self.graph.extreme(large);
            let edges = self.uncovered(&potentials)?;
            if edges.is_empty() {
                return Ok(potentials);
            }
            edges.into_iter().for_each(|(a, b, demand)| self.graph.add(a, b, demand));
        }
    }

    /// Gives the rows without a weight the slack that the others leave to them.
    fn settle_weightless(&self, slack: &mut [f64]) -> Result<()> {
        let mut settled = Vec::new();
        for (i, j) in self.least(&self.weightless, &self.classes, |i| slack[i])? {
            settled.push((i, self.demand(self.raw(i, j)?) as f64 / UNITS - slack[j]));
        }
        for (i, j) in self.least(&self.weightless, &self.weightless, |_| 0.0)? {
            settled.push((i, self.demand(self.raw(i, j)?) as f64 / (2.0 * UNITS)));
        }
        settled.into_iter().for_each(|(i, needed)| slack[i] = slack[i].max(needed));
        Ok(())
    }

    /// The flow as multipliers of pairs of rows.
    fn multipliers(&self, scale: f64) -> Vec<Multiplier> {
        let n = self.distance.len();
        let share = if self.double { 2.0 } else { 1.0 };
        let used = self.graph.edges().iter().filter(|e| e.flow > 0);
        let mut all: Vec<Multiplier> = used
            .map(|e| {
                let (a, b) = (e.a as usize, e.b as usize % n);
                Multiplier { i: a.min(b), j: a.max(b), value: e.flow as f64 / scale / share }
            })
            .collect();
        all.sort_unstable_by_key(|m| (m.i, m.j));
        all.dedup_by(|later, first| {
            let same = (later.i, later.j) == (first.i, first.j);
            if same {
                first.value += later.value;
            }
            same
        });
        all
    }
}
