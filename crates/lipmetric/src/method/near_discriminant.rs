//! The directions in which near rows of different classes differ, relative to near rows of the same class.
//!
//! Means tell nothing of a class that lies in several places. Here each row is compared with its nearest rows of its own class and
//! with its nearest rows of others, and what counts is how much the ones differ beside the others, direction by direction.

use super::discriminant::shrinkage;
use super::start::{coordinates, notes_on};
use super::{Fit, Outcome, Training};
use crate::linalg;
use crate::pairs::{Cloud, weighted_outer};
use crate::solver::{Observer, Progress, Status};
use crate::{Error, Matrix, Result};
use rayon::prelude::*;

/// The metric lives in this many directions of largest variance, at most: two decompositions of it take some tenths of a second.
const DIMENSIONS: usize = 512;
/// Rows that are compared with their nearest, at most: some ten for each unknown of a covariance of few directions.
const CENTRES: usize = 4000;
/// Rows whose nearest are searched for at a time.
const BLOCK: usize = 64;
/// The part of the directions that is kept, the best of them, unless their number is given. A blend with the Euclidean distance
/// costs little up to here.
const KEPT: usize = 4;

/// Pairs of points, each first the one that the other is near to, and how much they count: one in all.
type Pairs = Vec<(usize, usize, f64)>;

/// The metric of the directions in which the `neighbours` nearest rows of other classes differ most from a row, each of unit spread
/// among the nearest rows of the same class and then stretched by how much more the others differ.
pub(super) fn near_discriminant(
    data: &Training<'_>,
    neighbours: usize,
    components: Option<usize>,
    observer: &mut dyn Observer,
) -> Result<Fit> {
    // As for the other discriminant there are no steps.
    let _ = observer.progress(&Progress::default());
    let frame = coordinates(data)?;
    let p = frame.rank().min(DIMENSIONS);
    let x = frame.cloud.x.select_cols(0..p);
    let (same, others) = nearest(&x, &frame.cloud, neighbours);
    if same.is_empty() {
        return Err(Error::data("no two rows have the same label: no row has a neighbour of its own class"));
    }
    let mut within = weighted_outer(&x, same.iter().copied());
    let level = (0..p).map(|k| within[(k, k)]).sum::<f64>() / p as f64;
    // Equal rows leave nothing to divide by.
    let (part, level) = if level > 0.0 {
        let fourth = same.iter().map(|&(i, j, w)| w * squared(&x, i, j).powi(2)).sum();
        let shrunk = shrinkage(&within, p, fourth, x.rows().min(CENTRES) as f64);
        (1.0 - shrunk, shrunk * level)
    } else {
        (0.0, 1.0)
    };
    within.as_mut_slice().iter_mut().for_each(|v| *v *= part);
    (0..p).for_each(|k| within[(k, k)] += level);
    let (unit, _) = linalg::roots(&within, 0.0)?;
    let eigen = linalg::symmetric_eigen(&linalg::congruence(&weighted_outer(&x, others.iter().copied()), &unit))?;
    let count = components.unwrap_or((data.x.cols() / KEPT).max(1)).min(p);
    let mut factor = Matrix::zeros(count, frame.rank());
    let turned = linalg::product(&eigen.vectors.select_cols((0..p).rev().take(count)).transpose(), &unit);
    for (r, k) in (0..p).rev().take(count).enumerate() {
        let stretch = eigen.values[k].max(0.0).sqrt();
        factor.row_mut(r)[..p].iter_mut().zip(turned.row(r)).for_each(|(f, t)| *f = stretch * t);
    }
    if factor.as_slice().iter().all(|v| *v == 0.0) {
        return Err(Error::data("near rows of different labels are all equal: no metric can separate them"));
    }
    Ok(Fit::new(frame.metric(&factor)?, Outcome::new(Status::ClosedForm, 0).with_notes(notes_on(&frame))))
}

fn squared(x: &Matrix, i: usize, j: usize) -> f64 {
    x.row(i).iter().zip(x.row(j)).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// The nearest points of the same class and of other classes.
fn nearest(x: &Matrix, cloud: &Cloud, neighbours: usize) -> (Pairs, Pairs) {
    let n = x.rows();
    let centres: Vec<usize> = (0..n.min(CENTRES)).map(|k| k * n / n.min(CENTRES)).collect();
    let half: Vec<f64> = (0..n).map(|i| 0.5 * linalg::dot(x.row(i), x.row(i))).collect();
    let block = |centres: &[usize]| -> [Vec<(usize, usize)>; 2] {
        let products = linalg::product_transposed(&x.select_rows(centres), x);
        let mut out = [Vec::new(), Vec::new()];
        for (c, &i) in centres.iter().enumerate() {
            let mut of: [Vec<(f64, usize)>; 2] = [Vec::new(), Vec::new()];
            for j in (0..n).filter(|&j| j != i) {
                // Half the squared distance, but for what all have in common.
                of[usize::from(cloud.class[j] != cloud.class[i])].push((half[j] - products[(c, j)], j));
            }
            for (near, out) in of.iter_mut().zip(&mut out) {
                let order = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
                if near.len() > neighbours {
                    near.select_nth_unstable_by(neighbours, order);
                    near.truncate(neighbours);
                }
                near.sort_unstable_by(order);
                out.extend(near.iter().map(|&(_, j)| (i, j)));
            }
        }
        out
    };
    let blocks: Vec<[Vec<(usize, usize)>; 2]> = centres.par_chunks(BLOCK).map(block).collect();
    let weighted = |which: usize| -> Pairs {
        let pairs = || blocks.iter().flat_map(|b| b[which].iter().copied());
        let weight = |(i, j): (usize, usize)| cloud.weight[i] * cloud.weight[j];
        let total: f64 = pairs().map(weight).sum();
        pairs().map(|pair| (pair.0, pair.1, weight(pair) / total)).collect()
    };
    (weighted(0), weighted(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Labels;
    use crate::solver::Silent;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Two classes of two places each, told apart by the first two features together: their means are the same.
    fn corners(n: usize, p: usize) -> (Matrix, Labels) {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut x = Matrix::zeros(n, p);
        x.as_mut_slice().iter_mut().for_each(|v| *v = rng.random::<f64>() - 0.5);
        for i in 0..n {
            x[(i, 0)] += if i % 4 < 2 { 1.0 } else { -1.0 };
            x[(i, 1)] += if i % 2 == 0 { 1.0 } else { -1.0 };
        }
        (x, Labels::from_names((0..n).map(|i| if (i % 4 < 2) == (i % 2 == 0) { "a" } else { "b" })))
    }

    #[test]
    fn classes_of_one_mean_are_told_apart_by_their_near_rows() {
        let (x, y) = corners(200, 12);
        let fit = near_discriminant(&Training::new(&x, &y).unwrap(), 5, None, &mut Silent).unwrap();
        let m = fit.metric.matrix();
        assert_eq!((fit.metric.rank(), fit.metric.features()), (3, 12));
        let rest = (2..12).map(|k| m[(k, k)]).fold(0.0, f64::max);
        assert!(m[(0, 0)] > 3.0 * rest && m[(1, 1)] > 3.0 * rest, "{m:?}");
        let fit = near_discriminant(&Training::new(&x, &y).unwrap(), 5, Some(2), &mut Silent).unwrap();
        assert_eq!(fit.metric.rank(), 2);
    }

    #[test]
    fn the_nearest_are_those_of_a_double_loop_and_threads_change_nothing() {
        let (x, y) = corners(150, 4);
        let data = Training::new(&x, &y).unwrap();
        let frame = coordinates(&data).unwrap();
        let cloud = &frame.cloud;
        let found = nearest(&cloud.x, cloud, 3);
        for (which, pairs) in [&found.0, &found.1].into_iter().enumerate() {
            assert_eq!(pairs.len(), 450);
            for i in 0..150 {
                let other = |j: &usize| *j != i && usize::from(cloud.class[*j] != cloud.class[i]) == which;
                let mut all: Vec<usize> = (0..150).filter(other).collect();
                all.sort_by(|&a, &b| squared(&cloud.x, i, a).total_cmp(&squared(&cloud.x, i, b)));
                let own: Vec<usize> = pairs.iter().filter(|p| p.0 == i).map(|p| p.1).collect();
                assert_eq!(own, all[..3]);
            }
        }
        let fit = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| near_discriminant(&data, 3, None, &mut Silent).unwrap().metric)
        };
        assert_eq!(fit(1), fit(4));
    }

    #[test]
    fn more_features_than_rows_equal_rows_and_lonely_ones_are_taken_as_they_come() {
        let (x, y) = corners(20, 40);
        let fit = near_discriminant(&Training::new(&x, &y).unwrap(), 3, None, &mut Silent).unwrap();
        assert!(fit.metric.factor().first_non_finite().is_none() && fit.metric.rank() == 10);
        let x = Matrix::from_rows(&[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.5, 3.0]]);
        let y = Labels::from_names(["a", "a", "b", "b", "c"]);
        let fit = near_discriminant(&Training::new(&x, &y).unwrap(), 3, None, &mut Silent).unwrap();
        assert!(fit.metric.squared_distance(x.row(0), x.row(2)) > 0.0);
        let alone = Labels::from_names(["a", "b", "c", "d", "e"]);
        let refused = near_discriminant(&Training::new(&x, &alone).unwrap(), 3, None, &mut Silent).unwrap_err();
        assert!(refused.to_string().contains("no two rows have the same label"), "{refused}");
    }
}
