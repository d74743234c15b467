//! Data and plain-code checks for the tests of Lip: nothing here uses the solver.
#![allow(dead_code)]

use lipmetric::method::{Fit, Lip, Solver, TradeOff, Training};
use lipmetric::problem::{Diameter, Slack, Variant};
use lipmetric::{Labels, Matrix, Metric};

pub(crate) fn load(name: &str) -> (Matrix, Labels) {
    let path = format!("{}/tests/data/lip/{name}.csv", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let (mut values, mut names) = (Vec::new(), Vec::new());
    for line in text.lines().skip(1) {
        let mut cells: Vec<&str> = line.split(',').collect();
        names.push(cells.pop().unwrap().to_owned());
        values.extend(cells.iter().map(|c| c.parse::<f64>().unwrap()));
    }
    (Matrix::from_vec(names.len(), values.len() / names.len(), values).unwrap(), Labels::from_names(&names))
}

/// A small deterministic generator (SplitMix64), so that the data do not depend on a crate's version.
pub(crate) struct Noise(pub(crate) u64);

impl Noise {
    pub(crate) fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

/// Overlapping classes around random centres.
pub(crate) fn blobs(rows: usize, features: usize, classes: usize, seed: u64) -> (Matrix, Labels) {
    let mut noise = Noise(seed);
    let centres: Vec<f64> = (0..classes * features).map(|_| 1.5 * noise.normal()).collect();
    let mut x = Matrix::zeros(rows, features);
    let mut names = Vec::new();
    for i in 0..rows {
        let class = i % classes;
        for k in 0..features {
            x[(i, k)] = centres[class * features + k] + noise.normal();
        }
        names.push(format!("c{class}"));
    }
    (x, Labels::from_names(names))
}

pub(crate) fn weight(data: &Training<'_>, i: usize) -> f64 {
    data.weights.map_or(1.0, |w| w[i])
}

/// `c max_P rho + sum_D w max(0, 2 - rho)`, pair by pair.
pub(crate) fn pair_objective(data: &Training<'_>, metric: &Metric, variant: Variant, c: f64) -> f64 {
    objective(data, metric, variant, Diameter::Maximum, c)
}

/// The diameter of a list of distances with weights.
pub(crate) fn diameter_of(mut lengths: Vec<(f64, f64)>, diameter: Diameter) -> f64 {
    let total: f64 = lengths.iter().map(|l| l.1).sum();
    lengths.sort_by(|a, b| b.0.total_cmp(&a.0));
    let level = match diameter {
        Diameter::Maximum => return lengths[0].0,
        Diameter::Cvar(level) => level,
        Diameter::Mean => 1.0,
        other => panic!("{other:?} has no plain loop here"),
    };
    // The mean of the longest, up to a total weight of `level total`.
    let (mut left, mut sum) = (level * total, 0.0);
    for (rho, w) in lengths {
        let part = w.min(left);
        sum += part * rho;
        left -= part;
    }
    sum / (level * total)
}

/// `c diameter_P(rho) + sum_D w max(0, 2 - rho)`, pair by pair.
pub(crate) fn objective(data: &Training<'_>, metric: &Metric, variant: Variant, diameter: Diameter, c: f64) -> f64 {
    let (mut lengths, mut loss) = (Vec::new(), 0.0);
    let codes = data.y.codes();
    for i in 0..codes.len() {
        for j in 0..i {
            let rho = metric.squared_distance(data.x.row(i), data.x.row(j));
            if codes[i] != codes[j] {
                loss += weight(data, i) * weight(data, j) * (2.0 - rho).max(0.0);
            }
            if variant == Variant::Diameter || codes[i] == codes[j] {
                lengths.push((rho, weight(data, i) * weight(data, j)));
            }
        }
    }
    c * diameter_of(lengths, diameter) + loss
}

/// Checks the certificate of a fit in plain code: signs, caps, sums, and that `v^T (sum eta A - sum lambda A) v >= 0` for
/// all `v` (by a Cholesky factorisation with a tiny shift). Returns the dual value.
pub(crate) fn dual_value(data: &Training<'_>, fit: &Fit, variant: Variant, slack: Slack, c: f64) -> f64 {
    dual_value_of(data, fit, variant, slack, Diameter::Maximum, c)
}

/// The same for any diameter.
pub(crate) fn dual_value_of(
    data: &Training<'_>,
    fit: &Fit,
    variant: Variant,
    slack: Slack,
    diameter: Diameter,
    c: f64,
) -> f64 {
    let (n, p) = (data.x.rows(), data.x.cols());
    let codes = data.y.codes();
    let mut lambda = vec![0.0; n * n];
    let mut eta = vec![0.0; n * n];
    let mut listed = vec![false; n * n];
    let mut pulls = vec![false; n * n];
    let pairs_total: f64 = (0..n)
        .flat_map(|i| (0..i).map(move |j| (i, j)))
        .filter(|&(i, j)| variant == Variant::Diameter || codes[i] == codes[j])
        .map(|(i, j)| weight(data, i) * weight(data, j))
        .sum();
    let certificate = fit.certificate.as_ref().unwrap();
    for pair in &certificate.pairs {
        let at = pair.first.max(pair.second) * n + pair.first.min(pair.second);
        assert!(pair.multiplier >= 0.0);
        if pair.pushes {
            assert_ne!(codes[pair.first], codes[pair.second]);
            lambda[at] += pair.multiplier;
            listed[at] = true;
        } else {
            eta[at] += pair.multiplier;
            pulls[at] = true;
        }
    }
    for i in 0..n {
        for j in 0..i {
            let w = weight(data, i) * weight(data, j);
            if variant == Variant::Diameter || codes[i] == codes[j] {
                eta[i * n + j] += certificate.mean * w / pairs_total;
                let long = || certificate.sides.squared_distance(data.x.row(i), data.x.row(j)) > certificate.edge;
                if certificate.beyond > 0.0 && !pulls[i * n + j] && long() {
                    eta[i * n + j] += certificate.beyond * w;
                }
                let most = match diameter {
                    Diameter::Maximum => c,
                    Diameter::Cvar(level) => c * w / (level * pairs_total),
                    Diameter::Mean => c * w / pairs_total,
                    other => panic!("{other:?} has no plain loop here"),
                };
                assert!(eta[i * n + j] <= most * (1.0 + 1e-9), "eta of ({i}, {j}) is {}", eta[i * n + j]);
            } else {
                assert_eq!(eta[i * n + j], 0.0);
            }
            let close = || certificate.sides.squared_distance(data.x.row(i), data.x.row(j)) < 2.0;
            if codes[i] != codes[j] && !listed[i * n + j] && certificate.below > 0.0 && close() {
                lambda[i * n + j] = certificate.below * w;
            }
            if slack == Slack::Pair {
                assert!(lambda[i * n + j] <= w * (1.0 + 1e-12), "lambda of ({i}, {j}) is {}", lambda[i * n + j]);
            }
        }
    }
    if slack == Slack::Instance {
        for i in 0..n {
            let load: f64 = (0..n).map(|j| lambda[i.max(j) * n + i.min(j)]).sum();
            assert!(load <= weight(data, i) * (1.0 + 1e-9), "row {i} carries {load}");
        }
    }
    let total = eta.iter().sum::<f64>() / c;
    assert!((total - 1.0).abs() < 1e-9, "the multipliers of the diameter add up to {total} c");
    // Columns scaled to unit spread: the check must not depend on the units of the features.
    let spread: Vec<f64> = (0..p)
        .map(|k| {
            let mean = (0..n).map(|i| data.x[(i, k)]).sum::<f64>() / n as f64;
            ((0..n).map(|i| (data.x[(i, k)] - mean).powi(2)).sum::<f64>() / n as f64).sqrt().max(1e-300)
        })
        .collect();
    let mut dual = vec![0.0; p * p];
    for i in 0..n {
        for j in 0..i {
            let t = eta[i * n + j] - lambda[i * n + j];
            for a in 0..p {
                let da = (data.x[(i, a)] - data.x[(j, a)]) / spread[a];
                for b in 0..p {
                    dual[a * p + b] += t * da * (data.x[(i, b)] - data.x[(j, b)]) / spread[b];
                }
            }
        }
    }
    let size = c * (0..p).map(|a| dual[a * p + a].abs()).sum::<f64>().max(c) / c;
    assert!(is_positive(&dual, p, 1e-9 * size), "the dual matrix is not positive semidefinite");
    2.0 * lambda.iter().sum::<f64>()
}

/// Whether `a + shift I` has a Cholesky factorisation.
pub(crate) fn is_positive(a: &[f64], p: usize, shift: f64) -> bool {
    let mut l = vec![0.0; p * p];
    for i in 0..p {
        for j in 0..=i {
            let mut t = a[i * p + j] + if i == j { shift } else { 0.0 };
            for k in 0..j {
                t -= l[i * p + k] * l[j * p + k];
            }
            if i == j {
                if t <= 0.0 {
                    return false;
                }
                l[i * p + i] = t.sqrt();
            } else {
                l[i * p + j] = t / l[j * p + j];
            }
        }
    }
    true
}

/// The problem of the reference optima: a slack per pair and `c = 1`, by the exact solver.
pub(crate) fn pairwise(variant: Variant) -> Lip {
    Lip::new().variant(variant).slack(Slack::Pair).trade_off(TradeOff::PAPER).solver(Solver::Exact)
}

/// The certified optima of the reference problems: data set, variant, lower and upper bound.
pub(crate) fn optima() -> Vec<(String, Variant, f64, f64)> {
    let path = format!("{}/tests/data/lip/optima.csv", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let variant = if cells[1] == "D" { Variant::Diameter } else { Variant::Intra };
            (cells[0].to_owned(), variant, cells[2].parse().unwrap(), cells[3].parse().unwrap())
        })
        .collect()
}
