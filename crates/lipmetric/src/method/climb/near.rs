//! A row among the near ones: the hyperplanes between those of its class and those of others, and how much each counts.

use crate::Matrix;
use crate::linalg;
use crate::neighbours::squared_distance;

/// A metric in the making: a factor on the leading directions, and the stretch that all others share.
#[derive(Debug, Clone)]
pub(super) struct Map {
    pub(super) factor: Matrix,
    pub(super) stretch: f64,
}

/// Mapped rows `L x` and their gradients `M x`, in the leading directions, and the square of the others' stretch.
pub(super) struct Mapped {
    pub(super) z: Matrix,
    w: Matrix,
    pub(super) square: f64,
}

/// Near rows of a row: of its class, and of others.
#[derive(Debug, Clone, Default)]
pub(super) struct Around {
    pub(super) own: Vec<usize>,
    pub(super) others: Vec<usize>,
    rest: Rest,
}

/// Squared distances in the directions that share a stretch, before it: from the row to those of its class, to those of others, and
/// between each two of these. Empty where no directions do.
#[derive(Debug, Clone, Default)]
struct Rest {
    own: Vec<f64>,
    others: Vec<f64>,
    between: Vec<f64>,
}

impl Around {
    /// The near rows of `row`; `rest` has all rows in the directions that share a stretch.
    pub(super) fn new(row: usize, own: Vec<usize>, others: Vec<usize>, rest: Option<&Matrix>) -> Self {
        let Some(x) = rest else { return Self { own, others, rest: Rest::default() } };
        let apart = |i: usize, j: usize| squared_distance(x.row(i), x.row(j));
        let rest = Rest {
            own: own.iter().map(|&i| apart(row, i)).collect(),
            others: others.iter().map(|&j| apart(row, j)).collect(),
            between: own.iter().flat_map(|&i| others.iter().map(move |&j| apart(i, j))).collect(),
        };
        Self { own, others, rest }
    }

    /// One of each alone.
    pub(super) fn pick(&self, own: usize, other: usize) -> Self {
        let one = |of: &[f64], at: usize| of.get(at).copied().into_iter().collect();
        let rest = Rest {
            own: one(&self.rest.own, own),
            others: one(&self.rest.others, other),
            between: one(&self.rest.between, own * self.others.len() + other),
        };
        Self { own: vec![self.own[own]], others: vec![self.others[other]], rest }
    }
}

/// A row, near rows of its own class and of others, and the hyperplanes between each two of them.
///
/// What belongs to the pair of `own[i]` and `others[j]` is at `i * others.len() + j`.
pub(super) struct Near {
    pub(super) row: usize,
    pub(super) own: Vec<usize>,
    pub(super) others: Vec<usize>,
    /// The certified distances.
    pub(super) distance: Vec<f64>,
    /// `|M (x_i - x_j)|`.
    pub(super) length: Vec<f64>,
    /// How the distances change with the square of the stretch; empty where no directions share one.
    pub(super) by_square: Vec<f64>,
    /// How much the distances count.
    pub(super) share: Vec<f64>,
}

impl Mapped {
    pub(super) fn new(x: &Matrix, map: &Map) -> Self {
        let z = linalg::product_transposed(x, &map.factor);
        Self { w: linalg::product(&z, &map.factor), z, square: map.stretch * map.stretch }
    }

    /// The hyperplanes between these rows, all of which count as much.
    pub(super) fn near(&self, row: usize, around: &Around) -> Near {
        let (own, others, rest, t) = (&around.own, &around.others, &around.rest, self.square);
        let at = |of: &[f64], k: usize| of.get(k).copied().unwrap_or(0.0);
        let from_row = |k: usize, rows: &[usize], rest: &[f64]| {
            squared_distance(self.z.row(row), self.z.row(rows[k])) + t * at(rest, k)
        };
        let to_others: Vec<f64> = (0..others.len()).map(|j| from_row(j, others, &rest.others)).collect();
        let pairs = own.len() * others.len();
        let (mut distance, mut length) = (Vec::with_capacity(pairs), Vec::with_capacity(pairs));
        let mut by_square = Vec::with_capacity(rest.between.len());
        for (a, &i) in own.iter().enumerate() {
            let to_own = from_row(a, own, &rest.own);
            for (b, (&j, to_other)) in others.iter().zip(&to_others).enumerate() {
                let apart = at(&rest.between, distance.len());
                let between = (squared_distance(self.w.row(i), self.w.row(j)) + t * t * apart).sqrt();
                let far = if between > 0.0 { (to_other - to_own) / (2.0 * between) } else { 0.0 };
                if !rest.between.is_empty() {
                    let gap = at(&rest.others, b) - at(&rest.own, a);
                    let slope = if between > 0.0 { (gap / 2.0 - far * t * apart / between) / between } else { 0.0 };
                    by_square.push(slope);
                }
                distance.push(far);
                length.push(between);
            }
        }
        let share = vec![1.0; pairs];
        Near { row, own: own.clone(), others: others.clone(), distance, length, by_square, share }
    }
}

impl Near {
    /// For each row of another class, the own row whose hyperplane is farthest, and its distance.
    fn farthest(&self) -> Vec<(usize, f64)> {
        let columns = self.others.len();
        let farthest = |j: usize| {
            let all = (0..self.own.len()).map(|i| (i, self.distance[i * columns + j]));
            all.max_by(|a, b| a.1.total_cmp(&b.1))
        };
        (0..columns).filter_map(farthest).collect()
    }

    /// How far the row's class is certified: the least of those distances. Negative where a row of another class is nearest.
    pub(super) fn deciding(&self) -> Option<f64> {
        self.farthest().into_iter().map(|(_, distance)| distance).min_by(f64::total_cmp)
    }

    /// Shares by which an ascent raises the deciding distance where it is between some way below 0 and `cap`, and a little the mean
    /// of all distances.
    pub(super) fn count_deciding(&mut self, cap: f64) {
        /// What the mean of all distances counts, relative to the one that decides. On 2,000 rows of Fashion-MNIST, 1 and 2 are better than
        /// none by 0.3 to 1.6 points of certified accuracy at every radius; on digits 1, 2 and 4 differ by less than their noise.
        const MEAN: f64 = 2.0;
        /// The minimum over near rows of other classes is softened by this part of `cap`.
        const SOFT: f64 = 0.1;
        /// A row that is on the wrong side by more than this part of `cap` is given up...
        const GIVEN_UP: f64 = 0.25;
        /// ...and this is how gradually. Without it, the fifth of Fashion-MNIST that is predicted wrong costs up to a point.
        const GRADUAL: f64 = 0.1;
        let (columns, farthest) = (self.others.len(), self.farthest());
        let least = farthest.iter().fold(f64::INFINITY, |m: f64, f| m.min(f.1));
        let softness = farthest.iter().map(|f| ((least - f.1) / (SOFT * cap)).exp());
        let total: f64 = softness.clone().sum();
        let counts = 1.0 / (1.0 + (-(least / cap + GIVEN_UP) / GRADUAL).exp());
        let of_each = MEAN / self.share.len() as f64;
        self.share.fill(of_each);
        for (j, ((i, distance), soft)) in farthest.iter().zip(softness).enumerate() {
            if *distance < cap {
                self.share[i * columns + j] += counts * soft / total;
            }
        }
    }
}

/// The product of a graph's Laplace matrix with the rows: in row `a` the sum of `weight (x_a - x_b)` over its edges.
pub(super) fn laplace_product(edges: &[(usize, usize, f64)], x: &Matrix) -> Matrix {
    use rayon::prelude::*;
    // The edges of each row side by side, in the order in which they came: the sums are the same for any number of threads.
    let mut begin = vec![0; x.rows() + 1];
    for &(a, b, _) in edges {
        begin[a + 1] += 1;
        begin[b + 1] += 1;
    }
    (0..x.rows()).for_each(|a| begin[a + 1] += begin[a]);
    let mut next = begin.clone();
    let mut ends = vec![(0, 0.0); 2 * edges.len()];
    for &(a, b, weight) in edges {
        for (from, to) in [(a, b), (b, a)] {
            ends[next[from]] = (to, weight);
            next[from] += 1;
        }
    }
    let mut product = Matrix::zeros(x.rows(), x.cols());
    product.as_mut_slice().par_chunks_mut(x.cols().max(1)).enumerate().for_each(|(a, sum)| {
        for &(b, weight) in &ends[begin[a]..begin[a + 1]] {
            let difference = x.row(a).iter().zip(x.row(b)).map(|(p, q)| weight * (p - q));
            sum.iter_mut().zip(difference).for_each(|(sum, d)| *sum += d);
        }
    });
    product
}
