use super::Cloud;
use super::screen::{COORDINATES, ROUNDING, SCREENED, Screen};
use crate::linalg::twofold::{Twofold, Twofolds};
use crate::{Error, Matrix, Result, linalg};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Squares above this are not rounded to less digits than others.
const NO_UNDERFLOW: f64 = 1e-270;

/// Points mapped by a factor, augmented so that one product of two rows is a squared distance.
#[derive(Debug, Clone)]
pub(crate) struct Embedding {
    left: Matrix,
    right: Matrix,
    careful: Option<Careful>,
    /// How the points are mapped, and by which matrix.
    made: (u8, Matrix),
    /// Bounds on the lengths of tiles, once they are asked for.
    screen: OnceLock<Option<Arc<Screen>>>,
}

/// By a factor; by a symmetric matrix; by a factor, in twice the precision; by a factor, about the centre.
const FACTOR: u8 = 0;
const SYMMETRIC: u8 = 1;
const CAREFUL: u8 = 2;
const CENTRED: u8 = 3;

/// Mapped points about their centre, coordinate by coordinate: distances come from differences in the usual precision, so that
/// short ones are right though some points are far away.
#[derive(Debug, Clone)]
pub(crate) struct Mapped {
    points: usize,
    mapped: Vec<f64>,
    /// What a mapped point may be off by, and what a sum of squares may be, as a part of it.
    point: f64,
    sum: f64,
}

/// Coordinates that are added at a time.
const AT_A_TIME: usize = 4;

impl Mapped {
    pub(crate) fn new(cloud: &Cloud, factor: &Matrix) -> Self {
        let (z, largest) = centred(cloud, factor);
        let terms = |count: usize| (count + 4) as f64 * f64::EPSILON;
        let point = if largest.is_finite() { terms(factor.rows()) * largest.sqrt() } else { f64::INFINITY };
        Self { points: cloud.len(), mapped: z.transpose().into_vec(), point, sum: terms(factor.cols()) }
    }

    /// What a squared distance of up to `length` may be off by.
    pub(crate) fn error(&self, length: f64) -> f64 {
        let both = 2.0 * self.point;
        2.0 * length.sqrt() * both + both * both + self.sum * length
    }

    /// The squared distances between two ranges of points, row by row.
    pub(crate) fn distances(&self, out: &mut [f64], left: &Range<usize>, right: &Range<usize>) {
        struct Kernel<'a>(&'a Mapped, &'a mut [f64], &'a Range<usize>, &'a Range<usize>);
        impl pulp::NullaryFnOnce for Kernel<'_> {
            type Output = ();
            #[inline(always)]
            fn call(self) {
                let Self(Mapped { points, mapped, .. }, out, left, right) = self;
                out.fill(0.0);
                let (n, width) = (*points, right.len());
                for block in mapped.chunks(AT_A_TIME * n) {
                    let rows = left.clone().zip(out.chunks_exact_mut(width));
                    let mut each = block.chunks_exact(n).map(|z| (z, &z[right.clone()]));
                    if let (Some(a), Some(b), Some(c), Some(d)) = (each.next(), each.next(), each.next(), each.next()) {
                        for (i, row) in rows {
                            let own = [a.0[i], b.0[i], c.0[i], d.0[i]];
                            for ((((r, a), b), c), d) in row.iter_mut().zip(a.1).zip(b.1).zip(c.1).zip(d.1) {
                                let [a, b, c, d] = [own[0] - a, own[1] - b, own[2] - c, own[3] - d];
                                *r += (a * a + b * b) + (c * c + d * d);
                            }
                        }
                        continue;
                    }
                    for (i, row) in rows {
                        for z in block.chunks_exact(n) {
                            let own = z[i];
                            row.iter_mut().zip(&z[right.clone()]).for_each(|(r, v)| *r += (own - v) * (own - v));
                        }
                    }
                }
            }
        }
        if self.points > 0 && !right.is_empty() {
            pulp::Arch::new().dispatch(Kernel(self, out, left, right));
        }
    }
}

/// The points about their centre, mapped, and the largest over points of the sum over coordinates of
/// `(sum over features of |x| |L|)^2`; infinity where it is not known.
fn centred(cloud: &Cloud, factor: &Matrix) -> (Matrix, f64) {
    let n = cloud.len();
    let mut x = (*cloud.x).clone();
    let centre = cloud.mean(0..n);
    for i in 0..n {
        x.row_mut(i).iter_mut().zip(&centre).for_each(|(v, m)| *v -= m);
    }
    let sizes = linalg::product(&linalg::absolute(&x), &linalg::absolute(factor));
    // Also takes in what is not a number.
    let larger = |m: f64, s: f64| if s < m { m } else { s };
    let largest = (0..n).map(|i| linalg::dot(sizes.row(i), sizes.row(i))).fold(0.0, larger);
    let known = !cloud.x.is_twofold() && largest > NO_UNDERFLOW && largest.is_finite();
    (linalg::product(&x, factor), if known { largest } else { f64::INFINITY })
}

/// Mapped points in twice the usual precision, coordinate by coordinate: distances come from differences, so that none is lost
/// where points are near to each other and far from the origin.
#[derive(Debug, Clone)]
struct Careful {
    points: usize,
    mapped: Twofolds,
}

impl Careful {
    fn coordinates(&self) -> impl Iterator<Item = (&[f64], &[f64])> {
        let n = self.points.max(1);
        self.mapped.hi.chunks_exact(n).zip(self.mapped.lo.chunks_exact(n))
    }

    fn squared_distance(&self, i: usize, j: usize) -> f64 {
        let difference = |(hi, lo): (&[f64], &[f64])| (hi[i] - hi[j]) + (lo[i] - lo[j]);
        self.coordinates().map(difference).map(|d| d * d).sum()
    }

    /// A number less the squared distance, with all digits.
    fn less(&self, from: Twofold, i: usize, j: usize) -> Twofold {
        let n = self.points;
        let coordinates =
            (0..self.mapped.hi.len() / n.max(1)).map(|k| self.mapped.get(k * n + i) - self.mapped.get(k * n + j));
        coordinates.fold(from, |rest, d| rest - d * d)
    }

    fn distances(&self, out: &mut [f64], left: &Range<usize>, right: &Range<usize>) {
        struct Kernel<'a>(&'a Careful, &'a mut [f64], &'a Range<usize>, &'a Range<usize>);
        impl pulp::NullaryFnOnce for Kernel<'_> {
            type Output = ();
            #[inline(always)]
            fn call(self) {
                let Self(careful, out, left, right) = self;
                out.fill(0.0);
                for (hi, lo) in careful.coordinates() {
                    let (others, rests) = (&hi[right.clone()], &lo[right.clone()]);
                    for (i, row) in left.clone().zip(out.chunks_exact_mut(right.len().max(1))) {
                        let (own, rest) = (hi[i], lo[i]);
                        for ((r, h), l) in row.iter_mut().zip(others).zip(rests) {
                            let d = (own - h) + (rest - l);
                            *r += d * d;
                        }
                    }
                }
            }
        }
        pulp::Arch::new().dispatch(Kernel(self, out, left, right));
    }
}

impl Embedding {
    /// The points of `cloud` mapped by `x -> L^T x` with `L` of size features x rank, so that `M = L L^T`.
    pub(crate) fn new(cloud: &Cloud, factor: &Matrix) -> Self {
        if cloud.x.is_twofold() {
            return Self::careful(cloud, factor);
        }
        let z = linalg::product(&cloud.x, factor);
        Self::augmented(&z, &z, (FACTOR, factor.clone()))
    }

    /// The points of `cloud` under `rho = (x - y)^T M (x - y)` with any symmetric `M`, be it positive or not.
    pub(crate) fn symmetric(cloud: &Cloud, m: &Matrix) -> Self {
        Self::augmented(&linalg::product(&cloud.x, m), &cloud.x, (SYMMETRIC, m.clone()))
    }

    /// The same as [`Embedding::new`] with every distance right to rounding: differences first, products in twice the
    /// precision. Several times slower.
    pub(crate) fn careful(cloud: &Cloud, factor: &Matrix) -> Self {
        let (n, k) = (cloud.len(), factor.cols());
        let careful = Some(Careful { points: n, mapped: cloud.x.mapped_twofold(factor).transposed(n, k) });
        Self {
            left: Matrix::zeros(0, 2),
            right: Matrix::zeros(0, 2),
            careful,
            made: (CAREFUL, factor.clone()),
            screen: OnceLock::new(),
        }
    }

    /// How it is made of its cloud: for [`Self::remade`].
    pub(super) fn made(&self) -> (u8, &Matrix) {
        (self.made.0, &self.made.1)
    }

    /// The matrix that the points are mapped by.
    pub(crate) fn map(&self) -> &Matrix {
        &self.made.1
    }

    /// One made in the same way.
    pub(super) fn remade(cloud: &Cloud, how: u8, map: Matrix) -> Result<Self> {
        if map.rows() != cloud.x.cols() {
            return Err(Error::shape("coordinates of the points", map.rows(), cloud.x.cols()));
        }
        match how {
            FACTOR => Ok(Self::new(cloud, &map)),
            SYMMETRIC => Ok(Self::symmetric(cloud, &map)),
            CAREFUL => Ok(Self::careful(cloud, &map)),
            CENTRED => Ok(Self::about_centre(cloud, &map).0),
            _ => Err(Error::data(format!("points mapped in the way {how}, which is not known here"))),
        }
    }

    /// The same as [`Embedding::new`] about the centre of the points, and what any squared distance may be off by; infinity
    /// where that is not known.
    ///
    /// With `s` the largest sum over coordinates of `(sum over features of |x| |L|)^2`, and `u` half of the machine's precision:
    /// a mapped point is off by `(p + 2) u sqrt(s)`, which moves a squared distance by `8 (p + 2) u s` at most; the squared norms
    /// and the product of length `k + 2` lose another `2 k u s + 4 (k + 2) u s`.
    pub(crate) fn about_centre(cloud: &Cloud, factor: &Matrix) -> (Self, f64) {
        let (z, largest) = centred(cloud, factor);
        let off = (4 * (factor.rows() + factor.cols() + 4)) as f64 * f64::EPSILON * largest;
        (Self::augmented(&z, &z, (CENTRED, factor.clone())), off)
    }

    /// `rho_ij = y_i . x_i + y_j . x_j - 2 y_i . x_j`.
    fn augmented(y: &Matrix, x: &Matrix, made: (u8, Matrix)) -> Self {
        let (n, k) = (y.rows(), y.cols());
        let (mut left, mut right) = (Matrix::zeros(n, k + 2), Matrix::zeros(n, k + 2));
        for i in 0..n {
            let norm = linalg::dot(y.row(i), x.row(i));
            let (l, r) = (left.row_mut(i), right.row_mut(i));
            l[..k].copy_from_slice(y.row(i));
            r[..k].iter_mut().zip(x.row(i)).for_each(|(r, v)| *r = -2.0 * v);
            l[k..].copy_from_slice(&[norm, 1.0]);
            r[k..].copy_from_slice(&[1.0, norm]);
        }
        Self { left, right, careful: None, made, screen: OnceLock::new() }
    }

    /// The squared distance of two points, from their difference (no cancellation).
    pub(crate) fn squared_distance(&self, i: usize, j: usize) -> f64 {
        if let Some(careful) = &self.careful {
            return careful.squared_distance(i, j);
        }
        let k = self.left.cols() - 2;
        let left = self.left.row(i)[..k].iter().zip(&self.left.row(j)[..k]);
        let right = self.right.row(i)[..k].iter().zip(&self.right.row(j)[..k]);
        -0.5 * left.zip(right).map(|((a, b), (c, d))| (a - b) * (c - d)).sum::<f64>()
    }

    /// `length - rho_ij`; where the embedding is careful, without cancellation.
    pub(crate) fn lacking(&self, length: f64, i: usize, j: usize) -> f64 {
        match &self.careful {
            Some(careful) => careful.less(Twofold::from(length), i, j).value(),
            None => length - self.squared_distance(i, j),
        }
    }

    /// `rho_ij`; where the embedding is careful, in twice the usual precision.
    pub(crate) fn exactly(&self, i: usize, j: usize) -> Twofold {
        match &self.careful {
            Some(careful) => -careful.less(Twofold::ZERO, i, j),
            None => Twofold::from(self.squared_distance(i, j)),
        }
    }

    /// Bounds on the lengths of tiles, where there are so many points of so few coordinates that they pay.
    pub(super) fn screen(&self, cloud: &Cloud) -> Option<&Screen> {
        if cloud.len() < SCREENED || self.careful.is_some() || self.left.cols() > COORDINATES + 2 {
            return None;
        }
        self.screen.get_or_init(|| self.screened(cloud).map(Arc::new)).as_deref()
    }

    fn screened(&self, cloud: &Cloud) -> Option<Screen> {
        let (n, k) = (self.left.rows(), self.left.cols() - 2);
        let (how, map) = (self.made.0, &self.made.1);
        let longest = |x: &Matrix| (0..x.rows()).map(|i| linalg::dot(x.row(i), x.row(i))).fold(0.0, f64::max);
        let unit = ROUNDING * (map.rows() + k + 4) as f64 * f64::EPSILON;
        if how != SYMMETRIC {
            let mut z = Matrix::zeros(n, k);
            (0..n).for_each(|i| z.row_mut(i).copy_from_slice(&self.left.row(i)[..k]));
            let off = unit * longest(&z);
            return Screen::new(cloud, z, k, off);
        }
        let eigen = linalg::symmetric_eigen(map).ok()?;
        let below = eigen.values.iter().take_while(|v| **v < 0.0).count();
        // Those of positive eigenvalues first.
        let order: Vec<usize> = (below..k).chain(0..below).collect();
        let axes = eigen.scaled(0..k, |v| v.abs().sqrt()).select_cols(order.into_iter());
        let off = unit * longest(&cloud.x) * linalg::inner(map, map).sqrt();
        Screen::new(cloud, linalg::product(&cloud.x, &axes), k - below, off)
    }

    /// The squared distances between some points and a range of points, row by row; `room` is to work in.
    pub(super) fn distances_of(&self, out: &mut [f64], some: &[usize], right: &Range<usize>, room: &mut Vec<f64>) {
        let k = self.left.cols();
        room.clear();
        some.iter().for_each(|&i| room.extend_from_slice(self.left.row(i)));
        linalg::gemm_nt(out, room, &self.right.as_slice()[right.start * k..], some.len(), right.len(), k);
    }

    /// The squared distances between two ranges of points, row by row.
    pub(crate) fn distances(&self, out: &mut [f64], left: &Range<usize>, right: &Range<usize>) {
        if let Some(careful) = &self.careful {
            return careful.distances(out, left, right);
        }
        let k = self.left.cols();
        let (a, b) = (&self.left.as_slice()[left.start * k..], &self.right.as_slice()[right.start * k..]);
        linalg::gemm_nt(out, a, b, left.len(), right.len(), k);
    }
}
