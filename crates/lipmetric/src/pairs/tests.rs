//! Clouds, and the kernels over their pairs against plain double loops.

#![allow(clippy::unwrap_used)]

use super::executor::Posted;
use super::{Cloud, Embedding, Kind, Pass, Run, Threads, scan, weighted_outer};
use crate::Matrix;
use std::collections::BTreeMap;

/// Numbers between 0 and 1 that do not depend on a crate's version.
pub(crate) struct Noise(pub(crate) u64);

impl Noise {
    pub(crate) fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / f64::from(1u32 << 31)
    }

    pub(crate) fn matrix(&mut self, rows: usize, cols: usize) -> Matrix {
        Matrix::from_vec(rows, cols, (0..rows * cols).map(|_| 2.0 * self.unit() - 1.0).collect()).unwrap()
    }
}

/// Classes of these sizes around centres of their own, in an order that is not that of the classes.
pub(crate) fn cloud_of(sizes: &[usize], features: usize, weight: impl Fn(usize) -> f64, seed: u64) -> Cloud {
    let mut noise = Noise(seed);
    let mut class: Vec<u32> = sizes.iter().enumerate().flat_map(|(c, &s)| vec![c as u32; s]).collect();
    let n = class.len();
    (0..n).for_each(|k| class.swap(k, (k + (noise.unit() * (n - k) as f64) as usize).min(n - 1)));
    let mut x = noise.matrix(n, features);
    for i in 0..n {
        x.row_mut(i).iter_mut().enumerate().for_each(|(k, v)| *v += 0.4 * f64::from(class[i] * (k as u32 + 1) % 3));
    }
    let weight: Vec<f64> = (0..n).map(weight).collect();
    Cloud::new(&x, &class, &weight)
}

/// One block; several blocks of one class; small classes that share a block; weights; points that only bound the
/// diameter.
pub(crate) fn clouds() -> Vec<Cloud> {
    let weighted = |i: usize| [1.0, 0.5, 3.0][i % 3];
    let shared = [140, 3, 5, 30, 7, 2, 150];
    vec![
        cloud_of(&[4, 6], 2, |_| 1.0, 1),
        cloud_of(&[150, 40, 300], 3, |_| 1.0, 2),
        cloud_of(&shared, 4, |_| 1.0, 3),
        cloud_of(&shared, 4, weighted, 4),
        cloud_of(&shared, 3, weighted, 5).coarse(90, 200),
    ]
}

/// The squared distance under `M = L L^T`, number by number.
pub(crate) fn plain_distance(x: &Matrix, factor: &Matrix, i: usize, j: usize) -> f64 {
    (0..factor.cols())
        .map(|r| (0..x.cols()).map(|k| (x[(i, k)] - x[(j, k)]) * factor[(k, r)]).sum::<f64>().powi(2))
        .sum()
}

/// `sum of t (x_i - x_j)(x_i - x_j)^T`, number by number.
pub(crate) fn plain_outer(x: &Matrix, pairs: impl Iterator<Item = (usize, usize, f64)>) -> Matrix {
    let p = x.cols();
    let mut out = Matrix::zeros(p, p);
    for (i, j, t) in pairs {
        for a in 0..p {
            for b in 0..p {
                out[(a, b)] += t * (x[(i, a)] - x[(j, a)]) * (x[(i, b)] - x[(j, b)]);
            }
        }
    }
    out
}

/// All unordered pairs.
pub(crate) fn all_pairs(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(move |i| (i + 1..n).map(move |j| (i, j)))
}

/// Those of different label.
pub(crate) fn different(cloud: &Cloud) -> impl Iterator<Item = (usize, usize)> {
    all_pairs(cloud.len()).filter(|&(i, j)| cloud.class[i] != cloud.class[j])
}

/// A factor under which the kink `rho = 2` is among the distances.
pub(crate) fn factor_for(cloud: &Cloud, seed: u64) -> Matrix {
    let p = cloud.x.cols();
    let mut factor = Noise(seed).matrix(p, p);
    (0..p).for_each(|k| factor[(k, k)] += 1.0);
    factor
}

pub(crate) fn assert_near(found: &Matrix, wanted: &Matrix, within: f64) {
    let size = wanted.as_slice().iter().fold(1e-300, |m: f64, v| m.max(v.abs()));
    assert_eq!((found.rows(), found.cols()), (wanted.rows(), wanted.cols()));
    for (f, w) in found.as_slice().iter().zip(wanted.as_slice()) {
        assert!((f - w).abs() <= within * size, "{f} instead of {w}, of a size of {size}");
    }
}

#[test]
fn points_are_sorted_by_class_and_those_without_weight_left_out() {
    let x = Matrix::from_vec(5, 1, vec![0.0, 1.0, 2.0, 3.0, 4.0]).unwrap();
    let cloud = Cloud::new(&x, &[2, 0, 2, 1, 0], &[1.0, 2.0, 0.0, 1.0, 1.0]);
    assert_eq!(cloud.origin, [1, 4, 3, 0]);
    assert_eq!(cloud.class, [0, 0, 1, 2]);
    assert_eq!(cloud.weight, [2.0, 1.0, 1.0, 1.0]);
    assert_eq!(cloud.x.as_slice(), [1.0, 4.0, 3.0, 0.0]);
    assert!(!cloud.uniform);
    assert!(Cloud::new(&x, &[2, 0, 2, 1, 0], &[1.0; 5]).uniform);
}

#[test]
fn blocks_cover_the_points_in_order_and_say_the_truth_about_their_class() {
    for cloud in clouds() {
        let mut next = 0;
        for (range, label) in &cloud.blocks {
            assert_eq!(range.start, next);
            assert!(!range.is_empty() && range.len() <= super::cloud::BLOCK);
            if let Some(label) = label {
                assert!(range.clone().all(|i| cloud.class[i] == *label));
            }
            next = range.end;
        }
        assert_eq!(next, cloud.len());
    }
    // Classes of 3 and 5 points share a block, and so do those of 7 and 2.
    let lengths: Vec<usize> = clouds()[2].blocks.iter().map(|b| b.0.len()).collect();
    assert_eq!(lengths, [70, 70, 8, 30, 9, 75, 75]);
}

#[test]
fn a_thinned_cloud_is_an_even_part_of_each_class() {
    for cloud in clouds() {
        let part = cloud.thinned(cloud.len() / 3);
        let count = |c: &Cloud, class: u32| c.class.iter().filter(|&&k| k == class).count();
        for class in 0..=*cloud.class.last().unwrap() {
            let (all, some) = (count(&cloud, class), count(&part, class));
            assert!(some >= all.min(2) && some <= (all / 3 + 2).max(2), "{some} of {all}");
        }
        for i in 0..part.len() {
            let from = cloud.origin.iter().position(|&o| o == part.origin[i]).unwrap();
            assert_eq!((part.class[i], part.weight[i]), (cloud.class[from], cloud.weight[from]));
            assert_eq!(part.x.row(i), cloud.x.row(from));
        }
    }
}

#[test]
fn the_points_of_a_coarse_cloud_that_do_not_push_are_the_farthest() {
    let cloud = &clouds()[3];
    let coarse = cloud.coarse(60, 150);
    let norm = |i: usize| cloud.x.row(i).iter().map(|v| v * v).sum::<f64>();
    let place = |origin: usize| cloud.origin.iter().position(|&o| o == origin).unwrap();
    let kept: Vec<usize> = coarse.origin.iter().map(|&o| place(o)).collect();
    let pushing = coarse.weight.iter().filter(|w| **w > 0.0).count();
    assert_eq!(pushing, cloud.thinned(60).len());
    assert_eq!(coarse.len(), 150);
    let idle = kept.iter().zip(&coarse.weight).filter(|(_, w)| **w == 0.0).map(|(&i, _)| norm(i));
    let nearest = idle.fold(f64::INFINITY, f64::min);
    assert!((0..cloud.len()).filter(|i| !kept.contains(i)).all(|i| norm(i) <= nearest));
}

#[test]
fn the_weights_of_all_pairs_add_up() {
    for cloud in clouds() {
        let (mut different, mut same) = (0.0, 0.0);
        for (i, j) in all_pairs(cloud.len()) {
            let sum = if cloud.class[i] == cloud.class[j] { &mut same } else { &mut different };
            *sum += cloud.weight[i] * cloud.weight[j];
        }
        let found = cloud.pair_totals();
        assert!((found.0 - different).abs() <= 1e-9 * different, "{found:?} {different}");
        assert!((found.1 - same).abs() <= 1e-9 * (same + different), "{found:?} {same}");
    }
}

#[test]
fn distances_are_those_of_the_metric() {
    for (at, cloud) in clouds().iter().enumerate() {
        let p = cloud.x.cols();
        let factor = Noise(9 + at as u64).matrix(p, p - 1);
        let m = crate::linalg::product_transposed(&factor, &factor);
        for embedding in [Embedding::new(cloud, &factor), Embedding::symmetric(cloud, &m)] {
            for (i, j) in all_pairs(cloud.len()).step_by(7) {
                let wanted = plain_distance(&cloud.x, &factor, i, j);
                assert!((embedding.squared_distance(i, j) - wanted).abs() < 1e-12);
            }
        }
    }
}

/// What a pass saw of each pair: how often, whether the labels were said to be the same, the lengths.
type Seen = BTreeMap<(usize, usize), (usize, bool, Vec<f64>)>;

/// Every wanted pair once, with its right label and lengths.
fn assert_all_seen(cloud: &Cloud, factors: &[&Matrix], wanted: impl Fn(bool) -> bool, seen: &Seen) {
    let mut count = 0;
    for (i, j) in all_pairs(cloud.len()) {
        let same = cloud.class[i] == cloud.class[j];
        if !wanted(same) {
            continue;
        }
        let (times, said, lengths) = &seen[&(i, j)];
        assert_eq!((*times, *said), (1, same), "pair {i}, {j}");
        for (length, factor) in lengths.iter().zip(factors) {
            assert!((length - plain_distance(&cloud.x, factor, i, j)).abs() < 1e-11);
        }
        assert_eq!(lengths.len(), factors.len());
        count += 1;
    }
    assert!(count > 0 && seen.keys().all(|(i, j)| i < j));
}

/// Lists every pair that it sees.
struct List {
    left_out: Option<Kind>,
}

impl Pass for List {
    type Part = Vec<((usize, usize), bool, Vec<f64>)>;

    fn wanted(&self, kind: Kind) -> bool {
        Some(kind) != self.left_out
    }

    fn visit(&self, part: &mut Self::Part, run: Run<'_>) {
        assert!(run.weight.is_empty());
        let lengths = |k: usize| run.rho[k..].iter().take(1).chain(run.other.get(k)).copied().collect();
        part.extend((0..run.rho.len()).map(|k| ((run.i, run.j0 + k), run.same, lengths(k))));
    }

    fn merge(&self, into: &mut Self::Part, next: Self::Part) {
        // In the order of the rows of tiles.
        assert!(into.last().is_none_or(|p| next.first().is_none_or(|q| p.0.0 < q.0.0)));
        into.extend(next);
    }
}

#[test]
fn a_scan_visits_every_wanted_pair_once() {
    for cloud in clouds() {
        let p = cloud.x.cols();
        let factors = [Noise(3).matrix(p, p), Noise(4).matrix(p, 2)];
        let embeddings = factors.clone().map(|f| Embedding::new(&cloud, &f));
        for count in [1, 2] {
            for left_out in [None, Some(Kind::Same), Some(Kind::Different)] {
                let embeddings = &embeddings.each_ref()[..count];
                let (found, sum) = scan(&cloud, embeddings, &List { left_out }, &Threads);
                assert!(sum.is_none());
                let mut seen = Seen::new();
                for (pair, same, lengths) in found {
                    seen.entry(pair).or_insert((0, same, lengths)).0 += 1;
                }
                let needed = |same| left_out != Some(if same { Kind::Same } else { Kind::Different });
                assert_all_seen(&cloud, &factors.each_ref()[..count], needed, &seen);
            }
        }
    }
}

/// Gives different-label pairs a weight that depends on both points and the length; some get none. Adds up the lengths.
struct Weigh;

fn weigh(i: usize, j: usize, r: f64) -> f64 {
    if (i + 2 * j).is_multiple_of(5) { 0.0 } else { r + 0.1 * (i % 3 + j % 2) as f64 }
}

impl Pass for Weigh {
    type Part = f64;

    fn weighted(&self) -> bool {
        true
    }

    fn visit(&self, part: &mut f64, run: Run<'_>) {
        if !run.same {
            for (k, w) in run.weight.iter_mut().enumerate() {
                assert_eq!(*w, 0.0);
                *w = weigh(run.i, run.j0 + k, run.rho[k]);
                *part += run.rho[k];
            }
        }
    }

    fn merge(&self, into: &mut f64, next: f64) {
        *into += next;
    }
}

#[test]
fn the_weighted_sum_of_a_scan_is_that_of_the_weights_given() {
    for cloud in clouds() {
        let factor = Noise(8).matrix(cloud.x.cols(), 3);
        let (_, sum) = scan(&cloud, &[&Embedding::new(&cloud, &factor)], &Weigh, &Threads);
        let pairs = all_pairs(cloud.len()).filter(|&(i, j)| cloud.class[i] != cloud.class[j]);
        let pairs = pairs.map(|(i, j)| (i, j, weigh(i, j, plain_distance(&cloud.x, &factor, i, j))));
        assert_near(&sum.unwrap(), &plain_outer(&cloud.x, pairs), 1e-11);
    }
}

/// The same bits, whether parts stay in the process or are sent away and back.
pub(crate) fn assert_travels<P: Pass>(cloud: &Cloud, embeddings: &[&Embedding], pass: &P) {
    let text = |(part, sum): &(P::Part, Option<Matrix>)| {
        (serde_json::to_string(part).unwrap(), sum.as_ref().map(|s| serde_json::to_string(s.as_slice()).unwrap()))
    };
    let (here, away) = (scan(cloud, embeddings, pass, &Threads), scan(cloud, embeddings, pass, &Posted));
    assert_eq!(text(&here), text(&away));
}

#[test]
fn parts_that_were_sent_away_and_back_give_the_same_bits() {
    // More rows of tiles than are held at a time.
    let many = cloud_of(&[1500, 2900, 7], 2, |i| 1.0 + (i % 2) as f64, 6);
    for cloud in clouds().into_iter().chain([many]) {
        assert_travels(&cloud, &[&Embedding::new(&cloud, &Noise(8).matrix(cloud.x.cols(), 3))], &Weigh);
    }
}

#[test]
fn classes_are_ranges_and_have_means() {
    for cloud in clouds() {
        let classes = cloud.classes();
        assert_eq!(classes.iter().map(|c| c.len()).sum::<usize>(), cloud.len());
        for (at, class) in classes.iter().enumerate() {
            assert!(class.clone().all(|i| cloud.class[i] == cloud.class[class.start]));
            assert!(at == 0 || cloud.class[class.start - 1] < cloud.class[class.start]);
            let total: f64 = cloud.weight[class.clone()].iter().sum();
            let (plain, weighted) = (cloud.mean(class.clone()), cloud.weighted_mean(class.clone()));
            for k in 0..cloud.x.cols() {
                let sum: f64 = class.clone().map(|i| cloud.x[(i, k)]).sum();
                assert!((plain[k] - sum / class.len() as f64).abs() < 1e-12);
                let sum: f64 = class.clone().map(|i| cloud.weight[i] * cloud.x[(i, k)]).sum();
                assert!((weighted[k] - sum / total).abs() < 1e-12 || total == 0.0);
            }
        }
    }
}

#[test]
fn sums_over_listed_pairs_are_those_of_a_loop() {
    for cloud in clouds() {
        // More than are gathered at a time, and some of coefficient zero.
        let listed: Vec<(usize, usize, f64)> =
            all_pairs(cloud.len()).step_by(3).map(|(i, j)| (i, j, (i as f64 - 3.0) * (j % 4) as f64)).collect();
        let found = weighted_outer(&cloud.x, listed.iter().copied());
        assert_near(&found, &plain_outer(&cloud.x, listed.into_iter()), 1e-12);
    }
    let none = weighted_outer(&clouds()[0].x, std::iter::empty());
    assert_eq!(none.as_slice(), [0.0; 4]);
}

#[test]
fn distances_about_the_centre_are_off_by_no_more_than_is_said() {
    for (about, far) in [(0.0, 1.0), (1e3, 1.0), (1e8, 1.0), (0.0, 1e6), (1e300, 1.0)] {
        let n = 60;
        let value =
            |i: usize, f: usize| about + ((i * 29 + f * 13 + i * i) % 41) as f64 * if i == 3 { far } else { 0.1 };
        let x = Matrix::from_vec(n, 4, (0..4 * n).map(|k| value(k / 4, k % 4)).collect()).unwrap();
        let cloud = Cloud::new(&x, &vec![0; n], &vec![1.0; n]);
        let factor = Matrix::from_vec(4, 3, (0..12).map(|k| ((k * 7 % 5) as f64 - 2.0) * 0.3).collect()).unwrap();
        let (fast, off) = Embedding::about_centre(&cloud, &factor);
        let careful = Embedding::careful(&cloud, &factor);
        let all = 0..n;
        let (mut found, mut exact) = (vec![0.0; n * n], vec![0.0; n * n]);
        fast.distances(&mut found, &all, &all);
        careful.distances(&mut exact, &all, &all);
        let most = found.iter().zip(&exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(most <= off, "{about} {far}: {most} and {off}");
        let largest = exact.iter().fold(0.0, |m: f64, r| m.max(*r));
        assert!(off < 1e-12 * largest || about > 1e200, "{about} {far}: {off} of {largest}");
    }
}
