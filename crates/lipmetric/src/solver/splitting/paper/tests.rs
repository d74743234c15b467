//! Algorithm 1 with materialised `A_1` and `A_2`, and the comparison with it.

use super::*;
use crate::problem::{Slack, mean_pair};
use crate::solver::Stop;

/// Plain dense vectors and matrices, as the paper writes them.
struct Naive {
    a1: Vec<Vec<f64>>,
    a2: Vec<Vec<f64>>,
    inverse1: Vec<Vec<f64>>,
    inverse2: Vec<Vec<f64>>,
    p: Vec<f64>,
    q: Vec<f64>,
    m1: Vec<f64>,
    m2: Vec<f64>,
    m: Vec<f64>,
    alpha: [Vec<f64>; 4],
    c: f64,
    mu: f64,
}

fn times(a: &[Vec<f64>], v: &[f64]) -> Vec<f64> {
    a.iter().map(|row| row.iter().zip(v).map(|(x, y)| x * y).sum()).collect()
}

fn transposed_times(a: &[Vec<f64>], v: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; a[0].len()];
    for (row, t) in a.iter().zip(v) {
        out.iter_mut().zip(row).for_each(|(o, x)| *o += t * x);
    }
    out
}

/// `(A^T A + I)^-1` by Gauss-Jordan elimination.
fn inverse(a: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let n = a[0].len();
    let mut work = vec![vec![0.0; 2 * n]; n];
    for (r, row) in work.iter_mut().enumerate() {
        row[r] = 1.0;
        row[n + r] = 1.0;
        for pair in a {
            for k in 0..n {
                row[k] += pair[r] * pair[k];
            }
        }
    }
    for k in 0..n {
        let pivot = (k..n).max_by(|&a, &b| work[a][k].abs().total_cmp(&work[b][k].abs())).unwrap();
        work.swap(k, pivot);
        let scale = work[k][k];
        work[k].iter_mut().for_each(|v| *v /= scale);
        let row = work[k].clone();
        for (r, other) in work.iter_mut().enumerate() {
            if r != k {
                let t = other[k];
                other.iter_mut().zip(&row).for_each(|(o, v)| *o -= t * v);
            }
        }
    }
    work.into_iter().map(|row| row[n..].to_vec()).collect()
}

impl Naive {
    fn new(cloud: &Cloud, variant: Variant, c: f64, mu: f64) -> Self {
        let f = cloud.x.cols();
        let (mut a1, mut a2) = (Vec::new(), Vec::new());
        for i in 0..cloud.len() {
            for j in i + 1..cloud.len() {
                let d: Vec<f64> = (0..f).map(|k| cloud.x[(i, k)] - cloud.x[(j, k)]).collect();
                let row: Vec<f64> = d.iter().flat_map(|a| d.iter().map(move |b| a * b)).collect();
                let same = cloud.class[i] == cloud.class[j];
                if !same {
                    a1.push(row.clone());
                }
                if same || variant == Variant::Diameter {
                    a2.push(row);
                }
            }
        }
        let m = Matrix::identity(f).into_vec();
        let p: Vec<f64> = times(&a1, &m).iter().map(|r| 2.0 - r).collect();
        let q = times(&a2, &m);
        let alpha = [vec![0.0; f * f], vec![0.0; f * f], vec![0.0; a1.len()], vec![0.0; a2.len()]];
        let (inverse1, inverse2) = (inverse(&a1), inverse(&a2));
        Self { a1, a2, inverse1, inverse2, p, q, m1: m.clone(), m2: m.clone(), m, alpha, c, mu }
    }

    fn step(&mut self) {
        let (c, mu) = (self.c, self.mu);
        let [alpha1, alpha2, alpha3, alpha4] = &mut self.alpha;
        for ((p, r), a) in self.p.iter_mut().zip(times(&self.a1, &self.m1)).zip(&*alpha3) {
            let v = 2.0 - r - a / mu;
            *p = if v > 1.0 / mu {
                2.0 - r - (a + 1.0) / mu
            } else if v >= 0.0 {
                0.0
            } else {
                v
            };
        }
        let v: Vec<f64> = times(&self.a2, &self.m2).iter().zip(&*alpha4).map(|(r, a)| r - a / mu).collect();
        let excess = |t: f64| v.iter().map(|x| mu / c * (x - t).max(0.0)).sum::<f64>();
        let most = v.iter().fold(f64::NEG_INFINITY, |m, &x| m.max(x));
        let (mut low, mut high) = (most - c / mu, most);
        for _ in 0..200 {
            let t = 0.5 * (low + high);
            if excess(t) > 1.0 { low = t } else { high = t }
        }
        let t = 0.5 * (low + high);
        self.q = v.iter().map(|x| x.min(t)).collect();
        let inner: Vec<f64> = alpha3.iter().zip(&self.p).map(|(a, p)| a + mu * p - 2.0 * mu).collect();
        let sum = transposed_times(&self.a1, &inner);
        let rhs: Vec<f64> = (0..self.m.len()).map(|k| self.m[k] - (alpha1[k] + sum[k]) / mu).collect();
        self.m1 = times(&self.inverse1, &rhs);
        let inner: Vec<f64> = alpha4.iter().zip(&self.q).map(|(a, q)| a + mu * q).collect();
        let sum = transposed_times(&self.a2, &inner);
        let rhs: Vec<f64> = (0..self.m.len()).map(|k| self.m[k] + (sum[k] - alpha2[k]) / mu).collect();
        self.m2 = times(&self.inverse2, &rhs);
        let f = (self.m.len() as f64).sqrt() as usize;
        let mean: Vec<f64> =
            (0..self.m.len()).map(|k| 0.5 * (self.m1[k] + self.m2[k]) + 0.5 * (alpha1[k] + alpha2[k]) / mu).collect();
        let mut matrix = Matrix::from_vec(f, f, mean).unwrap();
        linalg::symmetrise(&mut matrix);
        self.m = Positive::part(&matrix).unwrap().matrix.into_vec();
        for k in 0..self.m.len() {
            alpha1[k] += mu * (self.m1[k] - self.m[k]);
            alpha2[k] += mu * (self.m2[k] - self.m[k]);
        }
        for ((a, p), r) in alpha3.iter_mut().zip(&self.p).zip(times(&self.a1, &self.m1)) {
            *a += mu * (p + r - 2.0);
        }
        for ((a, q), r) in alpha4.iter_mut().zip(&self.q).zip(times(&self.a2, &self.m2)) {
            *a += mu * (q - r);
        }
    }
}

fn points(rows: usize, features: usize, classes: u32) -> Cloud {
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1u64 << 31) as f64 - 0.5
    };
    let class: Vec<u32> = (0..rows as u32).map(|i| i % classes).collect();
    let mut x = Matrix::zeros(rows, features);
    for i in 0..rows {
        for k in 0..features {
            x[(i, k)] = next() + next() + f64::from(class[i]) * 0.3 * (k % 2) as f64;
        }
    }
    Cloud::new(&x, &class, &vec![1.0; rows])
}

fn close(name: &str, iteration: usize, ours: &[f64], theirs: &[f64]) {
    let size = theirs.iter().fold(1.0f64, |m, v| m.max(v.abs()));
    for (a, b) in ours.iter().zip(theirs) {
        assert!((a - b).abs() <= 1e-10 * size, "{name} after {iteration} iterations: {a} {b}");
    }
}

#[test]
fn every_iterate_is_that_of_the_naive_dense_form() {
    for (variant, classes, c, mu) in [
        (Variant::Diameter, 2, 1.0, 1.0),
        (Variant::Intra, 2, 1.0, 1.0),
        (Variant::Diameter, 3, 5.0, 0.05),
        (Variant::Intra, 3, 0.2, 0.3),
    ] {
        // A single tile, so that multipliers are stored pair by pair in the naive form's order.
        let cloud = points(33, 4, classes);
        assert_eq!(cloud.tile_rows(), 1);
        let mut naive = Naive::new(&cloud, variant, c, mu);
        let settings = Settings { variant, slack: Slack::Pair, c, rank: None, stop: Stop::new(1e-6, 1) };
        let mut ours = Faithful::new(&cloud, settings, mu).unwrap();
        let (push, pull) = (pairs(&cloud, |same| !same), pairs(&cloud, |same| same || variant == Variant::Diameter));
        let (mut alpha3, mut alpha4) = (vec![0.0; push.len()], vec![0.0; pull.len()]);
        for iteration in 1..=60 {
            naive.step();
            ours.step().unwrap();
            compare_matrices(&ours, &naive, iteration);
            // What is not kept follows from the multipliers: p = 2 - A_1 m_1 - (alpha_3 + lambda) / mu with m_1 and
            // alpha_3 from before the sweep, then alpha_3 = mu A_1 (m_1 - m_1 before) - lambda; q and alpha_4 alike.
            let lambda = ours.lambda.concat();
            let (before, now) = lengths(&cloud, &ours.first, &push);
            let p: Vec<f64> = (0..push.len()).map(|k| 2.0 - before[k] - (alpha3[k] + lambda[k]) / mu).collect();
            alpha3 = (0..push.len()).map(|k| mu * (now[k] - before[k]) - lambda[k]).collect();
            close("p", iteration, &p, &naive.p);
            close("alpha_3", iteration, &alpha3, &naive.alpha[2]);
            let mut eta = vec![0.0; pull.len()];
            for &(i, j, e) in &ours.eta {
                eta[pull.iter().position(|&x| x == (i as usize, j as usize)).unwrap()] = e;
            }
            let (before, now) = lengths(&cloud, &ours.second, &pull);
            let q: Vec<f64> = (0..pull.len()).map(|k| before[k] - (alpha4[k] + eta[k]) / mu).collect();
            alpha4 = (0..pull.len()).map(|k| mu * (before[k] - now[k]) - eta[k]).collect();
            close("q", iteration, &q, &naive.q);
            close("alpha_4", iteration, &alpha4, &naive.alpha[3]);
        }
    }
}

#[test]
fn several_tiles_give_the_same_iterates() {
    let cloud = points(70, 3, 2);
    assert!(cloud.tile_rows() > 1);
    let mut naive = Naive::new(&cloud, Variant::Diameter, 1.0, 1.0);
    let settings =
        Settings { variant: Variant::Diameter, slack: Slack::Pair, c: 1.0, rank: None, stop: Stop::new(1e-6, 1) };
    let mut ours = Faithful::new(&cloud, settings, 1.0).unwrap();
    for iteration in 1..=40 {
        naive.step();
        ours.step().unwrap();
        compare_matrices(&ours, &naive, iteration);
    }
}

fn compare_matrices(ours: &Faithful<'_>, naive: &Naive, iteration: usize) {
    close("m_1", iteration, ours.first.m.as_slice(), &naive.m1);
    close("m_2", iteration, ours.second.m.as_slice(), &naive.m2);
    close("m", iteration, ours.m.matrix.as_slice(), &naive.m);
    let scaled = |m: &Matrix| m.as_slice().iter().map(|v| v * naive.mu).collect::<Vec<f64>>();
    close("alpha_1", iteration, &scaled(&ours.first.alpha), &naive.alpha[0]);
    close("alpha_2", iteration, &scaled(&ours.second.alpha), &naive.alpha[1]);
}

/// Lengths before the sweep and after it.
fn lengths(cloud: &Cloud, block: &Block, pairs: &[(usize, usize)]) -> (Vec<f64>, Vec<f64>) {
    let under = |m: &Matrix| {
        let embedding = Embedding::symmetric(cloud, m);
        pairs.iter().map(|&(i, j)| embedding.squared_distance(i, j)).collect::<Vec<f64>>()
    };
    (under(&block.before), under(&block.m))
}

fn pairs(cloud: &Cloud, wanted: impl Fn(bool) -> bool) -> Vec<(usize, usize)> {
    let all = (0..cloud.len()).flat_map(|i| (i + 1..cloud.len()).map(move |j| (i, j)));
    all.filter(|&(i, j)| wanted(cloud.class[i] == cloud.class[j])).collect()
}

#[test]
fn the_bound_stays_below_every_objective_and_both_meet() {
    let cloud = points(40, 3, 2);
    let settings =
        Settings { variant: Variant::Diameter, slack: Slack::Pair, c: 20.0, rank: None, stop: Stop::new(1e-6, 1) };
    let mut ours = Faithful::new(&cloud, settings, 0.05).unwrap();
    let mean = mean_pair(&cloud, Variant::Diameter);
    let (mut best, mut least) = (0.0f64, f64::INFINITY);
    for _ in 0..3000 {
        ours.step().unwrap();
        best = best.max(ours.bound(Matrix::clone, (&mean, &[])).unwrap().value);
        least = least.min(ours.objective());
        assert!(best <= least * (1.0 + 1e-12));
    }
    assert!(relative_gap(least, best) < 1e-2, "{least} {best}");
}
