//! The training rows as hyperplanes see them, and one query among them.

use super::ball::{Ball, Norm};
use crate::lipschitz::{check_range, root_rounding, row_rounding, squared_rounding};
use crate::{Matrix, Metric, Result, linalg};
use std::borrow::Cow;

/// Rows of a pass at a time: their sums stay in the nearest cache.
const BLOCK: usize = 512;

/// Mapped rows and, for each, its gradient coordinates `w = B^T z`: the hyperplane between rows `i` and `j` has the normal
/// `w_i - w_j` in the steps of the ball.
#[derive(Debug)]
pub(crate) struct Sites<'a> {
    ball: &'a Ball,
    metric: &'a Metric,
    mapped: Placed,
    /// The gradient coordinates; none where they are the mapped rows.
    gradients: Option<Placed>,
}

/// Rows in both orders, and how far they may be off by rounding.
#[derive(Debug)]
struct Placed {
    rows: Matrix,
    /// Column by column.
    columns: Matrix,
    off: f64,
}

impl Placed {
    fn new(rows: Matrix, off: f64) -> Self {
        Self { columns: rows.transpose(), rows, off }
    }

    /// The length of `row - at` for every row; squared in `l2`.
    fn pass(&self, norm: Norm, at: &[f64]) -> Vec<f64> {
        let n = self.rows.rows();
        let mut out = vec![0.0; n];
        pulp::Arch::new().dispatch(|| {
            for (block, sums) in out.chunks_mut(BLOCK).enumerate() {
                let first = block * BLOCK;
                for (c, &v) in at.iter().enumerate() {
                    let column = &self.columns.row(c)[first..first + sums.len()];
                    match norm {
                        Norm::L2 => add(sums, column, |sum, x| sum + (x - v) * (x - v)),
                        Norm::Linf => add(sums, column, |sum, x| sum + (x - v).abs()),
                        Norm::L1 => add(sums, column, |most, x| (x - v).abs().max(most)),
                    }
                }
            }
        });
        out
    }
}

#[inline(always)]
fn add(sums: &mut [f64], column: &[f64], term: impl Fn(f64, f64) -> f64) {
    for (sum, &x) in sums.iter_mut().zip(column) {
        *sum = term(*sum, x);
    }
}

impl<'a> Sites<'a> {
    /// The rows `x`, which the metric takes to `mapped`.
    ///
    /// # Errors
    /// If the squares of the mapped rows leave the range of `f64`.
    pub(crate) fn new(ball: &'a Ball, metric: &'a Metric, x: &Matrix, mapped: Matrix) -> Result<Self> {
        check_range(&mapped)?;
        let off = (0..x.rows()).fold(0.0, |most: f64, i| most.max(row_rounding(metric, x.row(i))));
        let gradients = ball.gradient_map().map(|transposed| {
            let rows = linalg::product_transposed(&mapped, transposed);
            let off = (0..x.rows()).fold(0.0, |most: f64, i| most.max(gradient_rounding(ball, mapped.row(i), off)));
            Placed::new(rows, off)
        });
        Ok(Self { ball, metric, mapped: Placed::new(mapped, off), gradients })
    }

    fn gradients(&self) -> &Placed {
        self.gradients.as_ref().unwrap_or(&self.mapped)
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.mapped.rows.rows()
    }

    pub(super) fn gradient(&self, i: usize) -> &[f64] {
        self.gradients().rows.row(i)
    }

    pub(super) fn ball(&self) -> &Ball {
        self.ball
    }

    /// A query among the rows: the row before and after the map, and an offset per row that is taken off its squared distance.
    ///
    /// # Errors
    /// If the squares of the mapped query leave the range of `f64`.
    pub(crate) fn see(&self, x: &[f64], mapped: &[f64], weights: Option<Vec<f64>>) -> Result<View<'_>> {
        let row = Matrix::from_vec(1, mapped.len(), mapped.to_vec())?;
        check_range(&row)?;
        let own_off = row_rounding(self.metric, x);
        let (off, rank) = (own_off + self.mapped.off, mapped.len());
        let squared = self.mapped.pass(Norm::L2, mapped);
        let (here, here_off) = match self.ball.gradient_map() {
            Some(transposed) => {
                let here = linalg::product_transposed(&row, transposed).into_vec();
                (Cow::Owned(here), gradient_rounding(self.ball, mapped, own_off))
            }
            None => (Cow::Borrowed(mapped), own_off),
        };
        let norm = self.ball.norm();
        let mut reach = match &self.gradients {
            Some(gradients) => gradients.pass(norm, &here),
            None => squared.clone(),
        };
        if norm == Norm::L2 {
            reach.iter_mut().for_each(|v| *v = v.sqrt());
        }
        let error = |i: usize| {
            let weight = weights.as_ref().map_or(0.0, |w| w[i]);
            squared_rounding(squared[i], rank, off) + 4.0 * f64::EPSILON * (squared[i] + weight.abs())
        };
        let term = |i: usize| squared[i] - weights.as_ref().map_or(0.0, |w| w[i]);
        let (low, high) = (0..squared.len()).map(|i| (term(i) - error(i), term(i) + error(i))).unzip();
        let gradient_off = self.gradients().off;
        let query_off = here_off + gradient_off;
        let heaviest = weights.as_ref().map_or(0.0, |w| w.iter().fold(0.0, |most: f64, &v| most.max(v)));
        Ok(View {
            sites: self,
            at: mapped.to_vec(),
            low,
            high,
            squared,
            weights,
            heaviest,
            reach,
            off,
            gradient_off,
            query_off,
        })
    }
}

/// A bound of the rounding in `B^T z`, in the dual norm, where `z` is off by `off`.
fn gradient_rounding(ball: &Ball, z: &[f64], off: f64) -> f64 {
    let Some(transposed) = ball.gradient_map() else { return off };
    let sums = (0..transposed.rows()).map(|k| transposed.row(k).iter().zip(z).map(|(b, v)| (b * v).abs()).sum());
    (z.len() + 6) as f64 * f64::EPSILON * ball.norm().dual(sums) + ball.gradient_of(off)
}

/// A query among the sites. The *term* of a row is its squared distance less its weight: the least term decides.
pub(crate) struct View<'a> {
    sites: &'a Sites<'a>,
    /// The mapped query.
    pub(super) at: Vec<f64>,
    /// The terms, less and plus what rounding may have added or taken.
    pub(super) low: Vec<f64>,
    pub(super) high: Vec<f64>,
    squared: Vec<f64>,
    weights: Option<Vec<f64>>,
    /// The largest weight, or 0.
    pub(super) heaviest: f64,
    /// The dual length of `w_i - w` to the query.
    pub(super) reach: Vec<f64>,
    /// How far a distance may be off because the mapped rows are.
    off: f64,
    gradient_off: f64,
    query_off: f64,
}

impl View<'_> {
    pub(super) fn sites(&self) -> &Sites<'_> {
        self.sites
    }

    /// How far the gradient `w_i - w_j` may be off by rounding.
    pub(super) fn normal_off(&self) -> f64 {
        2.0 * self.gradient_off
    }

    /// What the computed length of a gradient may fall short of by its own rounding.
    fn longer(&self) -> f64 {
        1.0 + (self.sites.gradients().rows.cols() + 8) as f64 * f64::EPSILON
    }

    /// The distance to the hyperplane where rows `i` and `j` have equal terms, from below; 0 where `j` has the lesser one.
    pub(super) fn hyperplane(&self, i: usize, j: usize) -> f64 {
        let gap = self.low[j] - self.high[i];
        if gap <= 0.0 {
            return 0.0;
        }
        let (a, b) = (self.sites.gradient(i), self.sites.gradient(j));
        let length = self.sites.ball.norm().distance(a, b) * self.longer() + self.normal_off();
        ratio(gap, 2.0 * length)
    }

    /// A bound of [`Self::hyperplane`] to `j` from any row with at most this term and this reach.
    pub(super) fn hyperplane_from(&self, high: f64, reach: f64, j: usize) -> f64 {
        let gap = self.low[j] - high;
        if gap <= 0.0 {
            return 0.0;
        }
        ratio(gap, 2.0 * ((reach + self.reach[j]) * self.longer() + 2.0 * self.query_off + self.normal_off()))
    }

    /// The distance of row `i`, in the learned metric, and what rounding may have done to it.
    pub(super) fn distance(&self, i: usize) -> (f64, f64) {
        let d = self.squared[i].sqrt();
        (d, root_rounding(d, self.at.len(), self.off))
    }

    /// The term of row `i` as computed, at the mapped query moved by `by`.
    pub(super) fn term(&self, i: usize, by: &[f64]) -> f64 {
        let row = self.sites.mapped.rows.row(i).iter().zip(self.at.iter().zip(by));
        row.fold(-self.weight(i), |sum, (x, (at, by))| sum + (x - at - by) * (x - at - by))
    }

    /// `term(j) - term(i)` at the query itself, as computed.
    pub(super) fn gap(&self, i: usize, j: usize) -> f64 {
        (self.squared[j] - self.squared[i]) - (self.weight(j) - self.weight(i))
    }

    fn weight(&self, i: usize) -> f64 {
        self.weights.as_ref().map_or(0.0, |w| w[i])
    }
}

/// `a / b` from below; infinite where nothing moves.
pub(super) fn ratio(a: f64, b: f64) -> f64 {
    if b == 0.0 { f64::INFINITY } else { a / b * (1.0 - 4.0 * f64::EPSILON) }
}
