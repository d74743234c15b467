use super::{Certificate, Towards, leak::within};
use crate::pairs::Cloud;
use crate::{Matrix, Metric, Result, linalg};

/// Singular values below this fraction of the largest count as zero, after scaling every feature to unit range.
const RANK_TOLERANCE: f64 = 1e-10;

/// The training rows in coordinates where their covariance is the identity.
///
/// The problem is equivariant under affine maps of the features, so it may be solved in any coordinates; in these it
/// is well scaled. Directions in which the rows do not vary (constant or linearly dependent features) are removed: no
/// pair of rows sees them.
#[derive(Debug, Clone)]
pub(crate) struct Space {
    /// The points, sorted by class.
    pub(crate) cloud: Cloud,
    /// `x -> back x` maps a difference of rows to these coordinates: coordinates x features.
    back: Matrix,
    /// The way from these coordinates to a difference of rows: features x coordinates.
    forth: Matrix,
    /// Pairs of equal rows with different labels.
    duplicates: usize,
}

impl Space {
    /// Centres and whitens the rows of positive weight.
    pub(crate) fn new(x: &Matrix, class: &[u32], weight: &[f64]) -> Result<Self> {
        let used: Vec<usize> = (0..x.rows()).filter(|&i| weight[i] > 0.0).collect();
        let (n, p) = (used.len(), x.cols());
        let mut mean = vec![0.0; p];
        for &i in &used {
            for (m, v) in mean.iter_mut().zip(x.row(i)) {
                *m += v / n as f64;
            }
        }
        let (mut scale, mut magnitude) = (vec![0.0f64; p], vec![0.0f64; p]);
        for &i in &used {
            for (k, v) in x.row(i).iter().enumerate() {
                scale[k] = scale[k].max((v - mean[k]).abs());
                magnitude[k] = magnitude[k].max(v.abs());
            }
        }
        for (s, m) in scale.iter_mut().zip(&magnitude) {
            *s = if *s > 1e-14 * m { 1.0 / *s } else { 0.0 };
        }
        let mut centred = Matrix::zeros(x.rows(), p);
        for i in 0..x.rows() {
            for (k, v) in x.row(i).iter().enumerate() {
                centred[(i, k)] = (v - mean[k]) * scale[k];
            }
        }
        let (values, right) = linalg::singular(&centred.select_rows(&used))?;
        let top = values.first().copied().unwrap_or(0.0);
        let rank = values.iter().take_while(|&&s| s > RANK_TOLERANCE * top).count();
        let mut map = Matrix::zeros(p, rank);
        for k in 0..rank {
            let to_unit = (n as f64).sqrt() / values[k];
            for a in 0..p {
                map[(a, k)] = right[(a, k)] * to_unit;
            }
        }
        let mut forth = Matrix::zeros(p, rank);
        for a in 0..p {
            for k in 0..rank {
                let unit = if scale[a] > 0.0 { 1.0 / scale[a] } else { 0.0 };
                forth[(a, k)] = right[(a, k)] * values[k] / (n as f64).sqrt() * unit;
            }
        }
        let white = linalg::product(&centred, &map);
        let mut back = map.transpose();
        for k in 0..rank {
            for (v, s) in back.row_mut(k).iter_mut().zip(&scale) {
                *v *= s;
            }
        }
        Ok(Self { cloud: Cloud::new(&white, class, weight), back, forth, duplicates: duplicates(x, class, &used) })
    }

    /// Number of directions in which the rows vary.
    pub(crate) fn rank(&self) -> usize {
        self.back.rows()
    }

    /// How many pairs of equal rows have different labels.
    pub(crate) fn duplicates_across_classes(&self) -> usize {
        self.duplicates
    }

    /// `M` in these coordinates of the metric with factor `L` (any x features) on the features.
    pub(crate) fn inner(&self, factor: &Matrix) -> Matrix {
        let mapped = linalg::product(factor, &self.forth);
        linalg::transposed_product(&mapped, &mapped)
    }

    /// `M` in these coordinates of the metric that an anchor draws towards, up to its scale.
    pub(crate) fn reference(&self, towards: Towards) -> Result<Matrix> {
        match towards {
            Towards::Euclid => Ok(linalg::transposed_product(&self.forth, &self.forth)),
            Towards::Within => {
                let mut eigen = linalg::symmetric_eigen(&within(&self.cloud))?;
                let least = 1e-6 * eigen.values.last().copied().unwrap_or(1.0);
                for (k, v) in eigen.values.iter().enumerate() {
                    let root = v.max(least).sqrt();
                    for r in 0..eigen.vectors.rows() {
                        eigen.vectors[(r, k)] /= root;
                    }
                }
                Ok(linalg::product_transposed(&eigen.vectors, &eigen.vectors))
            }
        }
    }

    /// A sum over pairs of `(x_i - x_j)(x_i - x_j)^T` of the features, in these coordinates.
    pub(crate) fn sum_of(&self, features: &Matrix) -> Matrix {
        linalg::congruence_transposed(features, &self.back)
    }

    /// The factor `L` (components x features) of the metric whose factor in these coordinates is `inner` (components x
    /// coordinates). `M` itself is never formed.
    pub(crate) fn factor(&self, inner: &Matrix) -> Matrix {
        linalg::product(inner, &self.back)
    }

    /// A certificate on the user's rows and features of one on these points and coordinates.
    pub(crate) fn certificate(&self, mut inner: Certificate) -> Result<Certificate> {
        let origin = &self.cloud.origin;
        for pair in &mut inner.pairs {
            (pair.first, pair.second) = (origin[pair.first], origin[pair.second]);
        }
        inner.sides = Metric::new(self.factor(inner.sides.factor()))?;
        Ok(inner)
    }
}

fn duplicates(x: &Matrix, class: &[u32], used: &[usize]) -> usize {
    let mut order = used.to_vec();
    let compare = |a: &usize, b: &usize| {
        let differ = x.row(*a).iter().zip(x.row(*b)).map(|(p, q)| p.total_cmp(q)).find(|o| o.is_ne());
        differ.unwrap_or(std::cmp::Ordering::Equal)
    };
    order.sort_by(compare);
    let mut count = 0;
    for run in order.chunk_by(|a, b| compare(a, b).is_eq()) {
        let mut of_class = std::collections::BTreeMap::new();
        for &i in run {
            *of_class.entry(class[i]).or_insert(0usize) += 1;
        }
        let same: usize = of_class.values().map(|n| n * n).sum();
        count += (run.len() * run.len() - same) / 2;
    }
    count
}
