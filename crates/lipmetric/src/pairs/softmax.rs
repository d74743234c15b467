use super::{Cloud, Executor, Threads};
use crate::linalg::exponential::{LEAST_EXPONENT, exponentials};
use crate::{Matrix, linalg};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Mutex;

/// What is farther than this beyond the nearest weighs less than rounding does.
const REACH: f64 = 32.0;
/// A class is far where it begins beyond this: what of it is within reach then is all but the least part of it.
const FAR: f64 = 8.0;
/// Coefficients (of order one) that no sum notices.
const NEGLIGIBLE: f64 = 1e-14;
/// Elements of a block of scores, about.
const BLOCK_ELEMENTS: usize = 1 << 16;
/// Blocks are dealt to this many tasks, whatever the number of threads: sums stay the same to the last bit.
const TASKS: usize = 16;

/// The chance `p_ij` with which point `i` picks point `j` as its neighbour: proportional to
/// `w_j exp(-||z_i - z_j||^2)` for `j != i`, zero for itself. Never held as a whole: rows are streamed in blocks.
pub(crate) struct Softmax<'a> {
    cloud: &'a Cloud,
    /// The range of points of each point's class.
    same: Vec<Range<usize>>,
    /// All points.
    everyone: Vec<u32>,
    /// Whether a point far from its own class is given all others, however unlikely.
    own_class: bool,
    /// Buffers, used again.
    pool: Mutex<Vec<Work>>,
}

/// One point's chances, those that rounding would not notice left out.
pub(crate) struct Row<'a> {
    /// The point.
    pub(crate) i: usize,
    /// The points that it may pick.
    pub(crate) others: &'a [u32],
    /// How likely.
    pub(crate) chances: &'a [f64],
    /// `log sum_j w_j exp(-||z_i - z_j||^2)`.
    pub(crate) log_total: f64,
    /// The other points of its class.
    pub(crate) same: Range<usize>,
}

/// What a task adds.
#[derive(Serialize, Deserialize)]
struct Sums {
    value: f64,
    entropy: f64,
    log_total: f64,
    /// `z_i u_i^T + (u_i L^T)^T x_i` summed, with `u_i = sum_j c_ij x_j`.
    cross: Vec<f64>,
    /// Sums of the coefficients over rows and columns.
    degree: Vec<f64>,
}

/// Sums over all ordered pairs.
pub(crate) struct Total {
    /// The values that the rows returned.
    pub(crate) value: f64,
    /// `-sum_j p_ij log(p_ij / w_j)` of the rows, weighted: the entropy where all weights are one. Without the rows that
    /// are alone in their class.
    pub(crate) entropy: f64,
    /// The logarithms of the rows' totals, as [`Row::log_total`] has them, weighted, of the same rows.
    pub(crate) log_total: f64,
    /// `L sum_ij c_ij (x_i - x_j)(x_i - x_j)^T`, rank x coordinates.
    pub(crate) gradient: Matrix,
}

impl<'a> Softmax<'a> {
    pub(crate) fn new(cloud: &'a Cloud) -> Self {
        let same =
            cloud.classes().into_iter().flat_map(|class| std::iter::repeat_n(class.clone(), class.len())).collect();
        Self {
            cloud,
            same,
            everyone: (0..cloud.len() as u32).collect(),
            own_class: false,
            pool: Mutex::new(Vec::new()),
        }
    }

    /// The same for functions that ask how unlikely a point's own class is: it is never left out as a whole.
    pub(crate) fn with_own_class(self) -> Self {
        Self { own_class: true, ..self }
    }

    /// Goes through all points under the map `x -> L x` (`factor` is `L`, rank x coordinates). `f` gets a point's chances
    /// and writes for each a coefficient `c_ij`; what it returns is summed.
    pub(crate) fn sum(&self, factor: &Matrix, f: impl Fn(&Row<'_>, &mut [f64]) -> f64 + Sync) -> Total {
        self.total(factor, false, f)
    }

    /// The same, but the gradient without the factor `L` on its left: coordinates x coordinates.
    pub(crate) fn outer(&self, factor: &Matrix, f: impl Fn(&Row<'_>, &mut [f64]) -> f64 + Sync) -> Total {
        let mut total = self.total(factor, true, f);
        linalg::symmetrise(&mut total.gradient);
        total
    }

    fn total(&self, factor: &Matrix, outer: bool, f: impl Fn(&Row<'_>, &mut [f64]) -> f64 + Sync) -> Total {
        let (n, p, r) = (self.cloud.len(), self.cloud.x.cols(), factor.rows());
        let side = if outer { p } else { r };
        let z = linalg::product_transposed(&self.cloud.x, factor);
        let (mut left, mut right) = (Matrix::zeros(n, r + 1), Matrix::zeros(n, r + 1));
        for i in 0..n {
            let row = z.row(i);
            left.row_mut(i)[..r].copy_from_slice(row);
            left.row_mut(i)[r] = 1.0;
            let out = right.row_mut(i);
            out[..r].iter_mut().zip(row).for_each(|(o, v)| *o = 2.0 * v);
            let prior = if self.cloud.uniform { 0.0 } else { self.cloud.weight[i].ln() };
            out[r] = prior - linalg::dot(row, row);
        }
        let block = (BLOCK_ELEMENTS / n.max(1)).clamp(8, 64);
        let blocks = n.div_ceil(block);
        let tasks = TASKS.min(blocks);
        let task = |(): &mut (), t: usize| {
            let mut sums =
                Sums { value: 0.0, entropy: 0.0, log_total: 0.0, cross: vec![0.0; side * p], degree: vec![0.0; n] };
            let mut work = self.pool.lock().ok().and_then(|mut pool| pool.pop()).unwrap_or_default();
            for b in t * blocks / tasks..(t + 1) * blocks / tasks {
                let rows = b * block..((b + 1) * block).min(n);
                let maps = (&left, &right, factor, &z);
                let (softmax, f, work, sums) = (self, &f, &mut work, &mut sums);
                pulp::Arch::new().dispatch(Block { softmax, rows, maps, outer, f, work, sums });
            }
            if let Ok(mut pool) = self.pool.lock() {
                pool.push(work);
            }
            sums
        };
        let mut total = Total { value: 0.0, entropy: 0.0, log_total: 0.0, gradient: Matrix::zeros(side, p) };
        let mut degree = vec![0.0; n];
        Threads.run(tasks, task, |part: Sums| {
            total.value += part.value;
            total.entropy += part.entropy;
            total.log_total += part.log_total;
            total.gradient.as_mut_slice().iter_mut().zip(&part.cross).for_each(|(o, v)| *o -= v);
            degree.iter_mut().zip(&part.degree).for_each(|(o, v)| *o += v);
        });
        let mut scaled = if outer { (*self.cloud.x).clone() } else { z };
        for (i, d) in degree.iter().enumerate() {
            scaled.row_mut(i).iter_mut().for_each(|v| *v *= d);
        }
        linalg::gemm_tn_add(total.gradient.as_mut_slice(), scaled.as_slice(), self.cloud.x.as_slice(), side, p, n);
        total
    }

    #[inline(always)]
    fn block(
        &self,
        rows: Range<usize>,
        (left, right, factor, z): Maps<'_>,
        outer: bool,
        f: &(impl Fn(&Row<'_>, &mut [f64]) -> f64 + Sync),
        work: &mut Work,
        sums: &mut Sums,
    ) {
        let (n, p, r) = (self.cloud.len(), self.cloud.x.cols(), factor.rows());
        let count = rows.len();
        work.scores.resize(count * n, 0.0);
        linalg::gemm_nt(&mut work.scores, &left.as_slice()[rows.start * (r + 1)..], right.as_slice(), count, n, r + 1);
        work.mixed.clear();
        work.mixed.resize(count * p, 0.0);
        let mut dense = false;
        let everyone = &self.everyone[..];
        for (a, i) in rows.clone().enumerate() {
            let scores = &mut work.scores[a * n..(a + 1) * n];
            scores[i] = f64::NEG_INFINITY;
            let top = largest(scores);
            // Also true where a score overflowed: then nothing can be said of this point.
            if !top.is_finite() {
                sums.value += if n > 1 { f64::NAN } else { 0.0 };
                scores.fill(0.0);
                continue;
            }
            let whole = self.own_class && is_far(&scores[self.same[i].clone()], top);
            let near = exponents(scores, top, whole, &mut work.others, &mut work.chances);
            let all = near == n;
            let others = if all { everyone } else { &work.others[..near] };
            let chances = &mut work.chances[..near];
            work.coefficients.clear();
            work.coefficients.extend_from_slice(chances);
            exponentials(chances);
            if all {
                chances[i] = 0.0;
            }
            let total = interleaved(chances);
            let inverse = 1.0 / total;
            chances.iter_mut().for_each(|c| *c *= inverse);
            let mean = self.mean_exponent(others, chances, &work.coefficients);
            let counts = if self.same[i].len() > 1 { self.cloud.weight[i] } else { 0.0 };
            sums.entropy += counts * (total.ln() - mean);
            let row = Row {
                i,
                others,
                chances,
                log_total: total.ln() + top - linalg::dot(z.row(i), z.row(i)),
                same: self.same[i].clone(),
            };
            sums.log_total += counts * row.log_total;
            sums.value += f(&row, &mut work.coefficients);
            let coefficients = &work.coefficients[..near];
            let scores = &mut work.scores[a * n..(a + 1) * n];
            if all {
                scores.copy_from_slice(coefficients);
                sums.degree.iter_mut().zip(coefficients).for_each(|(d, c)| *d += c);
                sums.degree[i] += interleaved(coefficients);
                if !dense {
                    // From here on the block is one matrix product; rows already done are zero in it.
                    work.scores[..a * n].fill(0.0);
                    dense = true;
                }
                continue;
            }
            if dense {
                scores.fill(0.0);
            }
            let mixed = &mut work.mixed[a * p..(a + 1) * p];
            let own = self.mix(others, coefficients, mixed, &mut sums.degree);
            sums.degree[i] += own;
        }
        if dense {
            work.product.resize(count * p, 0.0);
            linalg::gemm_nn(&mut work.product, &work.scores, self.cloud.x.as_slice(), count, p, n);
            work.mixed.iter_mut().zip(&work.product).for_each(|(m, v)| *m += v);
        }
        self.cross(rows, (factor, z), outer, work, sums);
    }

    /// The mean of the exponents, without what the points' weights add to them.
    #[inline(always)]
    fn mean_exponent(&self, others: &[u32], chances: &[f64], exponents: &[f64]) -> f64 {
        let mean = linalg::dot(chances, exponents);
        if self.cloud.uniform {
            return mean;
        }
        mean - others.iter().zip(chances).map(|(&j, c)| c * self.cloud.weight[j as usize].ln()).sum::<f64>()
    }

    /// Adds `sum_j c_j x_j`, and each coefficient to its point's degree; returns their sum.
    #[inline(always)]
    fn mix(&self, others: &[u32], coefficients: &[f64], mixed: &mut [f64], degree: &mut [f64]) -> f64 {
        let mut total = 0.0;
        for (&j, &c) in others.iter().zip(coefficients) {
            if c.abs() > NEGLIGIBLE {
                let j = j as usize;
                degree[j] += c;
                total += c;
                let there = &self.cloud.x.row(j)[..mixed.len()];
                for k in 0..mixed.len() {
                    mixed[k] += c * there[k];
                }
            }
        }
        total
    }

    /// Adds what a block's rows, mixed by their coefficients, give to the gradient.
    fn cross(
        &self,
        rows: Range<usize>,
        (factor, z): (&Matrix, &Matrix),
        outer: bool,
        work: &mut Work,
        sums: &mut Sums,
    ) {
        let (count, p, r) = (rows.len(), self.cloud.x.cols(), factor.rows());
        let here = &self.cloud.x.as_slice()[rows.start * p..];
        if outer {
            linalg::gemm_tn_add(&mut sums.cross, here, &work.mixed, p, p, count);
            linalg::gemm_tn_add(&mut sums.cross, &work.mixed, here, p, p, count);
            return;
        }
        linalg::gemm_tn_add(&mut sums.cross, &z.as_slice()[rows.start * r..], &work.mixed, r, p, count);
        work.product.resize(count * r, 0.0);
        linalg::gemm_nt(&mut work.product, &work.mixed, factor.as_slice(), count, r, p);
        linalg::gemm_tn_add(&mut sums.cross, &work.product, here, r, p, count);
    }
}

/// What of the scores is within reach of the largest, less that: the points (not where all are taken) and the exponents.
/// Returns how many. Where many are within reach, or the `whole` is asked for, all are taken, without a list.
#[inline(always)]
fn exponents(scores: &[f64], top: f64, whole: bool, others: &mut Vec<u32>, exponents: &mut Vec<f64>) -> usize {
    let n = scores.len();
    if !whole && 3 * within_reach(scores, top) <= n {
        return compact(scores, top, others, exponents);
    }
    exponents.resize(n + 1, 0.0);
    for (g, s) in exponents.iter_mut().zip(scores) {
        *g = (s - top).max(-LEAST_EXPONENT);
    }
    n
}

/// Whether none of these scores is near the largest: what they add to one another would be lost among those left out.
#[inline(always)]
fn is_far(scores: &[f64], top: f64) -> bool {
    !scores.iter().any(|&s| s > top - FAR)
}

type Maps<'a> = (&'a Matrix, &'a Matrix, &'a Matrix, &'a Matrix);

/// A block's work, compiled for the widest vectors that the processor has.
struct Block<'a, 'b, F> {
    softmax: &'a Softmax<'b>,
    rows: Range<usize>,
    maps: Maps<'a>,
    outer: bool,
    f: &'a F,
    work: &'a mut Work,
    sums: &'a mut Sums,
}

impl<F: Fn(&Row<'_>, &mut [f64]) -> f64 + Sync> pulp::WithSimd for Block<'_, '_, F> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        self.softmax.block(self.rows, self.maps, self.outer, self.f, self.work, self.sums);
    }
}

#[derive(Default)]
struct Work {
    scores: Vec<f64>,
    others: Vec<u32>,
    chances: Vec<f64>,
    coefficients: Vec<f64>,
    mixed: Vec<f64>,
    product: Vec<f64>,
}

/// Lists what lies within reach of the largest score: where, and how far below it.
#[inline(always)]
fn compact(scores: &[f64], top: f64, others: &mut Vec<u32>, gaps: &mut Vec<f64>) -> usize {
    let n = scores.len();
    others.resize(n + 1, 0);
    gaps.resize(n + 1, 0.0);
    let (others, gaps) = (&mut others[..n], &mut gaps[..n]);
    let floor = top - REACH;
    let mut count = 0;
    for (j, &s) in scores.iter().enumerate() {
        // Written always, kept only if near: no branch to mispredict.
        others[count] = j as u32;
        gaps[count] = s - top;
        count += usize::from(s > floor);
    }
    count
}

/// How many scores are within reach of the largest.
#[inline(always)]
fn within_reach(scores: &[f64], top: f64) -> usize {
    let floor = top - REACH;
    let mut counts = [0u64; 8];
    let chunks = scores.chunks_exact(8);
    let tail = chunks.remainder().iter().filter(|s| **s > floor).count();
    for chunk in chunks {
        for k in 0..8 {
            counts[k] += u64::from(chunk[k] > floor);
        }
    }
    counts.iter().sum::<u64>() as usize + tail
}

/// A sum in eight interleaved parts.
#[inline(always)]
pub(crate) fn interleaved(values: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let chunks = values.chunks_exact(8);
    let tail: f64 = chunks.remainder().iter().sum();
    for chunk in chunks {
        for k in 0..8 {
            sums[k] += chunk[k];
        }
    }
    ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7])) + tail
}

/// The largest element; NaN counts as infinite.
#[inline(always)]
fn largest(values: &[f64]) -> f64 {
    let mut tops = [f64::NEG_INFINITY; 8];
    let mut bad = false;
    let chunks = values.chunks_exact(8);
    for &v in chunks.remainder() {
        tops[0] = if v > tops[0] { v } else { tops[0] };
        bad |= v.is_nan();
    }
    for chunk in chunks {
        for k in 0..8 {
            tops[k] = if chunk[k] > tops[k] { chunk[k] } else { tops[k] };
            bad |= chunk[k].is_nan();
        }
    }
    if bad { f64::INFINITY } else { tops.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_over_the_stream_are_those_of_the_plain_double_loop() {
        // Near points (every pair counts: products) and far ones (few count: lists).
        for scale in [0.2, 6.0] {
            let (n, p) = (90, 3);
            let x: Vec<f64> = (0..n * p).map(|k| scale * ((k * k * 7 + k) % 101) as f64 / 101.0).collect();
            let x = Matrix::from_vec(n, p, x).unwrap();
            let class: Vec<u32> = (0..n as u32).map(|i| i % 3).collect();
            let weight: Vec<f64> = (0..n).map(|i| 1.0 + (i % 2) as f64).collect();
            let cloud = Cloud::new(&x, &class, &weight);
            let factor = Matrix::from_rows(&[[1.0, 0.5, 0.0], [-0.3, 1.2, 0.4]]);
            let total = Softmax::new(&cloud).sum(&factor, |row, c| {
                for ((c, &j), &chance) in c.iter_mut().zip(row.others).zip(row.chances) {
                    *c = chance * f64::from(j % 5);
                }
                row.log_total
            });
            let z = linalg::product_transposed(&cloud.x, &factor);
            let (mut value, mut entropy, mut sum) = (0.0, 0.0, Matrix::zeros(p, p));
            for i in 0..n {
                let score = |j: usize| {
                    let d: f64 = z.row(i).iter().zip(z.row(j)).map(|(a, b)| (a - b) * (a - b)).sum();
                    cloud.weight[j] * (-d).exp()
                };
                let all: f64 = (0..n).filter(|&j| j != i).map(score).sum();
                value += all.ln();
                for j in (0..n).filter(|&j| j != i) {
                    let chance = score(j) / all;
                    if chance > 0.0 {
                        entropy -= cloud.weight[i] * chance * (chance / cloud.weight[j]).ln();
                    }
                    let c = chance * (j % 5) as f64;
                    for a in 0..p {
                        for b in 0..p {
                            let d = |k: usize| cloud.x[(i, k)] - cloud.x[(j, k)];
                            sum[(a, b)] += c * d(a) * d(b);
                        }
                    }
                }
            }
            let expected = linalg::product(&factor, &sum);
            assert!((total.value / value - 1.0).abs() < 1e-12);
            assert!((total.entropy / entropy - 1.0).abs() < 1e-12);
            for (a, b) in total.gradient.as_slice().iter().zip(expected.as_slice()) {
                assert!((a - b).abs() < 1e-10 * (1.0 + b.abs()), "{a} and {b}");
            }
        }
    }
}
