//! The parts of the interior-point solver against plain loops over pairs and rows.

#![allow(clippy::unwrap_used)]

use super::assemble::Scaled;
use super::engine::{Engine, Settings};
use super::factor::Parts;
use super::newton::Scaling;
use super::rows::{AGGREGATE, Row, Rows, packed};
use super::scan::{Look, survey};
use super::{NOWHERE, Shape, State};
use crate::linalg::{self, Cholesky};
use crate::linalg::{pack_lower, packed_len, unpack_lower};
use crate::pairs::pass::{Beyond, Query, same_length};
use crate::pairs::tests::{
    Noise, all_pairs, assert_near, assert_travels, cloud_of, clouds, different, factor_for, plain_distance, plain_outer,
};
use crate::pairs::{Cloud, Embedding};
use crate::problem::{Diameter, Slack, Variant};
use crate::solver::{Silent, Stop};
use crate::{Matrix, Result};

pub(super) fn settings(variant: Variant, slack: Slack, diameter: Diameter) -> Settings<'static> {
    Settings { variant, slack, diameter, anchor: None, c: 1.0, stop: Stop::new(1e-6, 200) }
}

/// The pairs that bound the diameter, with their lengths.
fn bounding(cloud: &Cloud, factor: &Matrix, variant: Variant) -> Vec<(f64, usize, usize)> {
    all_pairs(cloud.len())
        .filter(|&(i, j)| variant.bounding().holds(cloud.class[i] == cloud.class[j]))
        .map(|(i, j)| (plain_distance(&cloud.x, factor, i, j), i, j))
        .collect()
}

const VARIANTS: [Variant; 2] = [Variant::Diameter, Variant::Intra];

#[test]
fn a_survey_finds_hinges_the_longest_pair_and_those_that_crossed_the_kink() {
    for cloud in clouds() {
        let (new, old) = (factor_for(&cloud, 1), factor_for(&cloud, 2));
        let (now, before) = (Embedding::new(&cloud, &new), Embedding::new(&cloud, &old));
        for variant in VARIANTS {
            let query = Query { window: (1.8, 2.3), ..Query::plain(variant.bounding()) };
            let found = survey(&cloud, &now, Some(&before), &query, None);
            let (mut hinge, mut near) = (0.0, Vec::new());
            for (i, j) in different(&cloud) {
                let (r, o) = (plain_distance(&cloud.x, &new, i, j), plain_distance(&cloud.x, &old, i, j));
                hinge += cloud.weight[i] * cloud.weight[j] * (2.0 - r).max(0.0);
                if ((r < 2.0) != (o < 2.0) || (r > 1.8 && r < 2.3)) && cloud.weight[i] * cloud.weight[j] > 0.0 {
                    near.push((i as u32, j as u32));
                }
            }
            assert!(hinge > 0.0 && (found.hinge - hinge).abs() <= 1e-10 * hinge, "{} {hinge}", found.hinge);
            let mut listed = found.near.clone();
            listed.sort_unstable();
            assert_eq!(listed, near);
            let longest = bounding(&cloud, &new, variant).iter().fold(0.0, |m: f64, b| m.max(b.0));
            assert!((found.longest - longest).abs() <= 1e-11 * longest);
            assert!(found.far.is_empty() && found.tight.is_empty());
        }
    }
}

#[test]
fn a_survey_lists_the_longest_pair_of_every_point() {
    for cloud in clouds() {
        let factor = factor_for(&cloud, 3);
        let now = Embedding::new(&cloud, &factor);
        for variant in VARIANTS {
            let all = bounding(&cloud, &factor, variant);
            let longest = all.iter().fold(0.0, |m: f64, b| m.max(b.0));
            let beyond = 0.6 * longest;
            let query = Query { beyond: Beyond::Length(beyond), most: usize::MAX, ..Query::plain(variant.bounding()) };
            let far = survey(&cloud, &now, None, &query, None).far;
            assert!(far.is_sorted_by(|a, b| a.0 > b.0 && !same_length(a.0, b.0)));
            for &(r, i, j) in &far {
                assert!(
                    r > beyond && i < j && variant.bounding().holds(cloud.class[i as usize] == cloud.class[j as usize])
                );
                assert!((r - plain_distance(&cloud.x, &factor, i as usize, j as usize)).abs() < 1e-10);
            }
            for point in 0..cloud.len() {
                let own = all.iter().filter(|b| b.1 == point || b.2 == point).fold(0.0, |m: f64, b| m.max(b.0));
                assert!(own <= beyond || far.iter().any(|f| (f.0 - own).abs() < 1e-9), "point {point}: {own}");
            }
            let few = survey(&cloud, &now, None, &Query { most: 3, ..query }, None).far;
            assert_eq!(few, far[..3.min(far.len())]);
        }
    }
}

#[test]
fn what_a_survey_finds_may_be_computed_elsewhere() {
    for cloud in clouds() {
        let (now, before) = (factor_for(&cloud, 1), factor_for(&cloud, 2));
        let (now, before) = (Embedding::new(&cloud, &now), Embedding::new(&cloud, &before));
        let query = Query { beyond: Beyond::Length(1.0), most: 50, ..Query::plain(Variant::Intra.bounding()) };
        let slack = vec![0.1; cloud.len()];
        assert_travels(&cloud, &[&now, &before], &Look { cloud: &cloud, query: &query, slack: None });
        assert_travels(&cloud, &[&now], &Look { cloud: &cloud, query: &query, slack: Some((&slack, 0.5)) });
    }
}

#[test]
fn with_a_slack_per_row_the_tightest_pair_of_every_point_is_listed() {
    for cloud in clouds() {
        let factor = factor_for(&cloud, 4);
        let now = Embedding::new(&cloud, &factor);
        let slack: Vec<f64> = (0..cloud.len()).map(|i| 0.1 * (i % 7) as f64).collect();
        let query = Query::plain(Variant::Intra.bounding());
        let margin = 0.4;
        let tight = survey(&cloud, &now, None, &query, Some((&slack, margin))).tight;
        let z = |i: usize, j: usize| plain_distance(&cloud.x, &factor, i, j) + slack[i] + slack[j] - 2.0;
        assert!(tight.is_sorted_by(|a, b| a.0 <= b.0));
        for (at, &(v, i, j)) in tight.iter().enumerate() {
            assert!(v < margin && cloud.class[i as usize] != cloud.class[j as usize]);
            assert!((v - z(i as usize, j as usize)).abs() < 1e-11);
            assert!(tight[..at].iter().all(|t| (t.1, t.2) != (i, j)), "{i}, {j} twice");
        }
        let mut least = vec![f64::INFINITY; cloud.len()];
        for (i, j) in different(&cloud).filter(|&(i, j)| cloud.weight[i] * cloud.weight[j] > 0.0) {
            least[i] = least[i].min(z(i, j));
            least[j] = least[j].min(z(i, j));
        }
        for (point, &least) in least.iter().enumerate().filter(|(_, z)| **z < margin) {
            let own = tight.iter().filter(|t| t.1 as usize == point || t.2 as usize == point);
            let found = own.fold(f64::INFINITY, |m: f64, t| m.min(t.0));
            assert!((found - least).abs() < 1e-11, "point {point}: {found} instead of {least}");
        }
    }
}

/// A state with rows of all sorts on random pairs; with slacks per row where asked for.
fn made_up(cloud: &Cloud, count: usize, instance: bool, seed: u64) -> State {
    let mut noise = Noise(seed);
    let (n, p) = (cloud.len(), cloud.x.cols());
    let mut rows = Rows::default();
    let mut pick = |k: usize| ((noise.unit() * n as f64) as usize, !k.is_multiple_of(3));
    let mut at = 0;
    while rows.len() < count {
        let ((i, push), (j, _)) = (pick(at), pick(at));
        at += 1;
        let fits = i != j && (!push || cloud.class[i] != cloud.class[j]);
        if !fits || rows.held.contains(&packed(i, j, push)) {
            continue;
        }
        let soft = push && !instance;
        let cap = if soft { 1.0 + (at % 3) as f64 } else { f64::INFINITY };
        let (b, g) = if push { (0.0, 2.0) } else { (1.0, 0.0) };
        let lambda = 0.2 + 0.5 * (at % 7) as f64 / 7.0;
        rows.add(Row { i: i as u32, j: j as u32, push, cap, b, g }, 0.3 + (at % 5) as f64, Some(lambda), 0.1);
    }
    for push in [true, false] {
        let sum = plain_outer(&cloud.x, all_pairs(n).step_by(5).map(|(i, j)| (i, j, 0.01 * (1 + i % 3) as f64)));
        let place = rows.place_sum(sum, Vec::new());
        let b = if push { 0.0 } else { 1.0 };
        rows.add(Row { i: AGGREGATE, j: place, push, cap: 1.0, b, g: 0.5 }, 0.7, Some(0.4), 0.1);
    }
    let everyone = if instance { n } else { 0 };
    let square = Noise(seed + 1).matrix(p, p + 2);
    let mut m = linalg::product_transposed(&square, &square);
    (0..p).for_each(|k| m[(k, k)] += 0.5);
    let square = Noise(seed + 2).matrix(p, p + 2);
    let mut z = linalg::product_transposed(&square, &square);
    (0..p).for_each(|k| z[(k, k)] += 0.5);
    State {
        m,
        z,
        scalar: 5.0,
        rows,
        fixed: Matrix::zeros(p, p),
        drawn: Matrix::zeros(p, p),
        anchor: None,
        active: (0..everyone as u32).collect(),
        place: if instance { (0..n as u32).collect() } else { vec![NOWHERE; n] },
        slack: (0..everyone).map(|i| 0.2 + 0.1 * (i % 4) as f64).collect(),
        reduced: (0..everyone).map(|i| 0.3 + 0.1 * (i % 5) as f64).collect(),
    }
}

/// `A_k` of a row: the pair's, or what the row stands for.
pub(super) fn plain_row(cloud: &Cloud, rows: &Rows, k: usize) -> Matrix {
    match rows.pair(k) {
        Some((i, j)) => plain_outer(&cloud.x, std::iter::once((i, j, 1.0))),
        None => rows.sums[rows.j[k] as usize].clone(),
    }
}

pub(super) fn plain_inner(a: &Matrix, b: &Matrix) -> f64 {
    a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| a * b).sum()
}

/// `G^T A G`, number by number.
fn plain_congruence(a: &Matrix, g: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(g.cols(), g.cols());
    for r in 0..g.cols() {
        for c in 0..g.cols() {
            for i in 0..g.rows() {
                for j in 0..g.rows() {
                    out[(r, c)] += g[(i, r)] * a[(i, j)] * g[(j, c)];
                }
            }
        }
    }
    out
}

#[test]
fn packing_is_an_isometry() {
    let mut noise = Noise(1);
    let square = noise.matrix(4, 4);
    let a = linalg::product_transposed(&square, &square);
    let mut packed = vec![0.0; packed_len(4)];
    pack_lower(&a, &mut packed);
    assert!((packed.iter().map(|v| v * v).sum::<f64>() - plain_inner(&a, &a)).abs() < 1e-12);
    assert_near(&unpack_lower(&packed, 4), &a, 1e-15);
}

/// A cloud of few features and many rows, and one with so many features that the Newton matrix has several blocks.
fn assembled() -> Vec<(Cloud, usize)> {
    vec![
        (cloud_of(&[40, 30, 5], 3, |i| 1.0 + (i % 2) as f64, 7), 700),
        (cloud_of(&[60, 50], 4, |_| 1.0, 8), 2500),
        (cloud_of(&[20, 15], 28, |_| 1.0, 9), 60),
    ]
}

#[test]
fn products_and_combinations_of_rows_are_those_of_a_loop() {
    for (cloud, count) in assembled() {
        let p = cloud.x.cols();
        let state = made_up(&cloud, count, false, 3);
        let g = Noise(5).matrix(p, p);
        let scaled = Scaled::new(&cloud, &state, &g);
        let square = Noise(6).matrix(p, p);
        let d = linalg::product_transposed(&square, &square);
        let found = scaled.products(&d, 0.7);
        let coefficient: Vec<f64> = (0..state.rows.len()).map(|k| 0.3 * (k % 11) as f64 - 1.0).collect();
        let (mut sum, mut scalar) = (Matrix::zeros(p, p), 0.0);
        for k in 0..state.rows.len() {
            let sign = if state.rows.push[k] { 1.0 } else { -1.0 };
            let a = linalg::congruence(&plain_row(&cloud, &state.rows, k), &g);
            let wanted = sign * plain_inner(&a, &d) + 0.7 * state.rows.b[k];
            assert!((found[k] - wanted).abs() <= 1e-10 * wanted.abs().max(1.0), "row {k}: {} {wanted}", found[k]);
            linalg::add_scaled(&mut sum, sign * coefficient[k], &a);
            scalar += coefficient[k] * state.rows.b[k];
        }
        let combined = scaled.combination(&coefficient);
        assert_near(&unpack_lower(&combined[..packed_len(p)], p), &sum, 1e-10);
        assert!((combined[packed_len(p)] - scalar).abs() <= 1e-10 * scalar.abs().max(1.0));
    }
    // What the loop above uses is itself that of plain sums.
    let (a, g) = (Noise(2).matrix(3, 3), Noise(3).matrix(3, 3));
    let mut symmetric = a.clone();
    linalg::symmetrise(&mut symmetric);
    assert_near(&linalg::congruence(&symmetric, &g), &plain_congruence(&symmetric, &g), 1e-12);
}

/// `f (+-A, b)` of every row, packed.
fn expanded(scaled: &Scaled<'_>, cloud: &Cloud, rows: &Rows, g: &Matrix) -> Vec<Vec<f64>> {
    let q = packed_len(cloud.x.cols());
    (0..rows.len())
        .map(|k| {
            let mut row = vec![0.0; q + 1];
            pack_lower(&linalg::congruence(&plain_row(cloud, rows, k), g), &mut row[..q]);
            row[..q].iter_mut().for_each(|v| *v *= scaled.rows.sign(k));
            row[q] = rows.b[k];
            row
        })
        .collect()
}

#[test]
fn the_newton_matrix_of_the_rows_is_that_of_a_loop() {
    for (cloud, count) in assembled() {
        let p = cloud.x.cols();
        let state = made_up(&cloud, count, false, 4);
        let g = Noise(5).matrix(p, p);
        let scaled = Scaled::new(&cloud, &state, &g);
        let h: Vec<f64> = (0..state.rows.len()).map(|k| 0.1 + (k % 7) as f64).collect();
        let found = scaled.gram(&h);
        let rows = expanded(&scaled, &cloud, &state.rows, &g);
        let width = packed_len(p) + 1;
        let size: f64 = rows.iter().zip(&h).map(|(r, h)| h * linalg::dot(r, r)).sum();
        for c in 0..width {
            for r in c..width {
                let wanted: f64 = rows.iter().zip(&h).map(|(v, h)| h * v[r] * v[c]).sum();
                assert!((found[c * width + r] - wanted).abs() <= 1e-12 * size, "{r}, {c}");
            }
        }
    }
}

/// Solves by Gaussian elimination with pivoting.
fn plain_solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for c in 0..n {
        let pivot = (c..n).max_by(|&i, &j| a[i][c].abs().total_cmp(&a[j][c].abs())).unwrap();
        a.swap(c, pivot);
        b.swap(c, pivot);
        for r in c + 1..n {
            let f = a[r][c] / a[c][c];
            for k in c..n {
                let v = a[c][k];
                a[r][k] -= f * v;
            }
            b[r] -= f * b[c];
        }
    }
    for c in (0..n).rev() {
        let known: f64 = (c + 1..n).map(|k| a[c][k] * b[k]).sum();
        b[c] = (b[c] - known) / a[c][c];
    }
    b
}

#[test]
fn the_factored_newton_matrix_solves_the_dense_system() {
    let cloud = cloud_of(&[12, 9, 4], 3, |_| 1.0, 11);
    let p = 3;
    for (instance, anchored) in [(false, false), (true, false), (false, true), (true, true)] {
        let state = made_up(&cloud, 120, instance, 12);
        let g = Noise(5).matrix(p, p);
        let scaled = Scaled::new(&cloud, &state, &g);
        let h: Vec<f64> = (0..state.rows.len()).map(|k| 0.1 + (k % 7) as f64).collect();
        let (slacks, q) = (state.active.len(), packed_len(p));
        let n = slacks + q + 1;
        let diagonal: Vec<f64> = (0..n).map(|k| 0.5 + (k % 3) as f64).collect();
        let square = Noise(7).matrix(p, p);
        let quadratic = anchored.then(|| (0.8, linalg::product_transposed(&square, &square)));
        let parts = Parts { scaled: &scaled, state: &state, h: &h, diagonal: &diagonal, quadratic: quadratic.as_ref() };
        let mut matrix = vec![vec![0.0; n]; n];
        for (k, row) in expanded(&scaled, &cloud, &state.rows, &g).iter().enumerate() {
            let mut whole = vec![0.0; slacks];
            if let (true, true, Some((i, j))) = (instance, state.rows.push[k], state.rows.pair(k)) {
                whole[i] = 1.0;
                whole[j] = 1.0;
            }
            whole.extend(row);
            for r in 0..n {
                for c in 0..n {
                    matrix[r][c] += h[k] * whole[r] * whole[c];
                }
            }
        }
        (0..n).for_each(|k| matrix[k][k] += diagonal[k]);
        if let Some((gamma, w)) = &quadratic {
            // A column of the map `D -> gamma W D W` for each element of the packed `D`.
            for c in 0..q {
                let mut unit = vec![0.0; q];
                unit[c] = 1.0;
                let mut image = vec![0.0; q];
                pack_lower(&linalg::congruence(&unpack_lower(&unit, p), w), &mut image);
                (0..q).for_each(|r| matrix[slacks + r][slacks + c] += gamma * image[r]);
            }
        }
        let wanted: Vec<f64> = (0..n).map(|k| (k as f64).sin()).collect();
        let solution = plain_solve(matrix, wanted.clone());
        let careful = parts.factor_carefully();
        assert_eq!(careful.is_none(), anchored, "the careful way has no anchor");
        for factor in std::iter::once(parts.factor(&cloud.class).unwrap()).chain(careful) {
            let mut found = wanted.clone();
            factor.solve(&mut found);
            for (f, s) in found.iter().zip(&solution) {
                assert!((f - s).abs() < 1e-9, "{f} instead of {s}");
            }
        }
    }
}

/// The value of row `k` at the state's point.
fn plain_value(cloud: &Cloud, state: &State, k: usize) -> f64 {
    let rows = &state.rows;
    let product = plain_inner(&plain_row(cloud, rows, k), &state.m);
    let slacks = match rows.pair(k) {
        Some((i, j)) if rows.push[k] => state.slack_of(i) + state.slack_of(j),
        _ => 0.0,
    };
    rows.sign(k) * product + rows.b[k] * state.scalar - rows.g[k] + slacks
}

/// Every row's variables agree with the point and are inside their ranges.
fn assert_rows_hold(cloud: &Cloud, state: &State) {
    let rows = &state.rows;
    for k in 0..rows.len() {
        let (z, held) = (plain_value(cloud, state, k), rows.s[k] - rows.xi[k]);
        assert!((z - held).abs() <= 1e-8 * (1.0 + z.abs()), "row {k}: {held} instead of {z}");
        assert!(rows.s[k] >= 0.0 && rows.xi[k] >= 0.0 && rows.lambda[k] >= 0.0 && rows.lambda[k] <= rows.cap[k]);
    }
}

/// `Z` less what the multipliers make of it.
fn dual_error(cloud: &Cloud, state: &State) -> Matrix {
    let mut error = state.z.clone();
    linalg::add_scaled(&mut error, 1.0, &state.fixed);
    linalg::add_scaled(&mut error, -1.0, &state.drawn);
    for k in 0..state.rows.len() {
        linalg::add_scaled(&mut error, state.rows.sign(k) * state.rows.lambda[k], &plain_row(cloud, &state.rows, k));
    }
    error
}

/// With a slack per row: a point's weight is what its rows carry and what is left of it.
fn assert_weights_are_shared(cloud: &Cloud, state: &State) {
    let mut load: Vec<f64> = state.reduced.clone();
    for k in (0..state.rows.len()).filter(|&k| state.rows.push[k] && !state.active.is_empty()) {
        let (i, j) = state.rows.pair(k).unwrap();
        load[state.place[i] as usize] += state.rows.lambda[k];
        load[state.place[j] as usize] += state.rows.lambda[k];
    }
    for (&point, load) in state.active.iter().zip(&load) {
        assert!((load - cloud.weight[point as usize]).abs() < 1e-8, "{load}");
    }
}

fn size(a: &Matrix) -> f64 {
    plain_inner(a, a).sqrt()
}

fn is_definite(a: &Matrix) -> bool {
    Cholesky::of(a).is_some()
}

/// Problems of every form, on clouds of every sort.
fn each_form(mut f: impl FnMut(&Cloud, Settings<'static>)) {
    for cloud in [&clouds()[1], &clouds()[3]] {
        for variant in VARIANTS {
            for slack in [Slack::Pair, Slack::Instance] {
                f(cloud, settings(variant, slack, Diameter::Maximum));
            }
        }
        f(cloud, settings(Variant::Diameter, Slack::Pair, Diameter::Cvar(0.2)));
        f(cloud, settings(Variant::Intra, Slack::Instance, Diameter::Mean));
    }
}

fn begun<'a>(cloud: &'a Cloud, settings: Settings<'a>) -> Engine<'a> {
    Engine::begin(cloud, settings, Matrix::identity(cloud.x.cols())).unwrap()
}

/// The same after some steps of the whole loop.
fn under_way<'a>(cloud: &'a Cloud, settings: Settings<'a>, gap: f64) -> Engine<'a> {
    let mut engine = begun(cloud, settings);
    engine.run(gap, &mut 0, &mut Silent).unwrap();
    engine
}

#[test]
fn the_first_point_is_feasible_on_both_sides() {
    each_form(|cloud, settings| {
        let engine = begun(cloud, settings);
        assert_rows_hold(cloud, &engine.state);
        assert!(is_definite(&engine.state.m) && is_definite(&engine.state.z));
        assert!(size(&dual_error(cloud, &engine.state)) <= 1e-9 * size(&engine.state.z));
    });
}

#[test]
fn a_step_keeps_the_rows_and_shrinks_what_is_missing_to_dual_feasibility() {
    each_form(|cloud, settings| {
        let mut engine = begun(cloud, settings);
        // An error on the dual side, of which a step leaves the part that it does not go.
        engine.state.z[(0, 0)] += 0.05 * engine.state.z[(0, 0)];
        for careful in [false, true] {
            let before = dual_error(cloud, &engine.state);
            let products = engine.state.complementarity();
            let (primal, dual) = engine.state.step_with(cloud, &engine.shape, 0.0, careful).unwrap();
            assert!(primal > 0.0 && primal <= 1.0 && dual > 0.0 && dual <= 1.0);
            assert_rows_hold(cloud, &engine.state);
            assert!(is_definite(&engine.state.m) && is_definite(&engine.state.z));
            assert!(engine.state.slack.iter().chain(&engine.state.reduced).all(|&v| v > 0.0));
            let mut left = dual_error(cloud, &engine.state);
            linalg::add_scaled(&mut left, dual - 1.0, &before);
            assert!(size(&left) <= 1e-8 * size(&engine.state.z), "{}", size(&left));
            assert!(engine.state.complementarity() < products);
        }
    });
}

#[test]
fn a_step_keeps_what_is_left_of_every_row_s_weight() {
    let cloud = &clouds()[3];
    let mut engine = begun(cloud, settings(Variant::Intra, Slack::Instance, Diameter::Maximum));
    for _ in 0..3 {
        engine.state.step(cloud, &engine.shape, 0.0).unwrap();
    }
    assert_weights_are_shared(cloud, &engine.state);
}

fn now_of(engine: &Engine<'_>) -> Embedding {
    Embedding::new(engine.cloud, &Cholesky::of(&engine.state.m).unwrap().lower())
}

/// Different-label pairs without a row, of which the metric says that they satisfy `take`.
fn without_row(engine: &Engine<'_>, take: impl Fn(f64) -> bool, most: usize) -> Vec<(u32, u32)> {
    let now = now_of(engine);
    different(engine.cloud)
        .filter(|&(i, j)| engine.cloud.pair_weight(i, j) > 0.0)
        .filter(|&(i, j)| !engine.state.rows.held.contains(&packed(i, j, true)) && take(now.squared_distance(i, j)))
        .take(most)
        .map(|(i, j)| (i as u32, j as u32))
        .collect()
}

/// What the band stands for: the pairs below the kink, under the metric whose sides are remembered, without a row.
fn plain_band(engine: &Engine<'_>) -> (Matrix, f64) {
    let pairs: Vec<(usize, usize, f64)> = without_row(engine, |_| true, usize::MAX)
        .into_iter()
        .map(|(i, j)| (i as usize, j as usize))
        .filter(|&(i, j)| plain_distance(&engine.cloud.x, &engine.sides_factor, i, j) < 2.0)
        .map(|(i, j)| (i, j, engine.cloud.pair_weight(i, j)))
        .collect();
    let weight = pairs.iter().map(|p| p.2).sum();
    (plain_outer(&engine.cloud.x, pairs.into_iter()), weight)
}

fn assert_band_is_true(engine: &Engine<'_>) {
    let rows = &engine.state.rows;
    let band = (0..rows.len()).find(|&k| rows.push[k] && rows.pair(k).is_none()).unwrap();
    let (sum, weight) = plain_band(engine);
    assert!(weight > 0.0 && (rows.g[band] - 2.0 * weight).abs() <= 1e-9 * weight);
    assert_near(&rows.sums[rows.j[band] as usize], &sum, 1e-9);
}

#[test]
fn admitted_pairs_leave_the_band_or_enter_with_what_keeps_the_dual_point_feasible() {
    for cloud in [&clouds()[1], &clouds()[3]] {
        // A good part of the pairs stays inside the margin: they are what the band stands for.
        let crowded = Settings { c: 2000.0, ..settings(Variant::Diameter, Slack::Pair, Diameter::Maximum) };
        let mut engine = begun(cloud, crowded);
        assert_band_is_true(&engine);
        let now = now_of(&engine);
        let (below, above) = (without_row(&engine, |r| r < 2.0, 30), without_row(&engine, |r| r >= 2.0, 40));
        assert!(below.len() == 30 && above.len() == 40);
        let (held, mu) = (engine.state.rows.len(), engine.state.mu());
        let before = engine.state.clone();
        // A pair that has a row is not given another.
        let known = before.rows.pair(0).map(|(i, j)| (i as u32, j as u32)).unwrap();
        let near: Vec<(u32, u32)> = below.iter().chain(&above).copied().chain([known]).collect();
        engine.admit_push(&near, &now, mu, f64::INFINITY).unwrap();
        let rows = &engine.state.rows;
        assert_eq!(rows.len(), held + 70);
        assert_rows_hold(cloud, &engine.state);
        assert_band_is_true(&engine);
        assert!(is_definite(&engine.state.z));
        // Those from above enter with multipliers that `Z` pays for.
        let entered = (held..rows.len()).filter(|&k| above.contains(&(rows.i[k], rows.j[k])));
        let mut z = before.z.clone();
        let cost = plain_outer(&cloud.x, entered.map(|k| (rows.i[k] as usize, rows.j[k] as usize, rows.lambda[k])));
        linalg::add_scaled(&mut z, -1.0, &cost);
        assert_near(&engine.state.z, &z, 1e-10);
    }
}

#[test]
fn tight_pairs_enter_with_what_is_left_of_their_rows_weights() {
    for cloud in [&clouds()[1], &clouds()[3]] {
        let mut engine = begun(cloud, settings(Variant::Intra, Slack::Instance, Diameter::Maximum));
        let now = now_of(&engine);
        let tight: Vec<(f64, u32, u32)> =
            without_row(&engine, |_| true, 200).into_iter().map(|(i, j)| (0.0, i, j)).collect();
        let (held, mu, before) = (engine.state.rows.len(), engine.state.mu(), engine.state.clone());
        engine.admit_tight(&tight, &now, mu).unwrap();
        let rows = &engine.state.rows;
        assert_eq!(rows.len(), held + 200);
        assert_rows_hold(cloud, &engine.state);
        assert!(is_definite(&engine.state.z));
        assert!(size(&dual_error(cloud, &engine.state)) <= 1e-9 * size(&before.z));
        let mut reduced = before.reduced.clone();
        for k in held..rows.len() {
            let (i, j) = rows.pair(k).unwrap();
            reduced[i] -= rows.lambda[k];
            reduced[j] -= rows.lambda[k];
        }
        for (found, wanted) in engine.state.reduced.iter().zip(&reduced) {
            assert!(*found > 0.0 && (found - wanted).abs() < 1e-10);
        }
    }
}

#[test]
fn long_pairs_enter_and_the_diameter_makes_room_for_them() {
    for cloud in [&clouds()[1], &clouds()[3]] {
        let mut engine = begun(cloud, settings(Variant::Diameter, Slack::Pair, Diameter::Maximum));
        let now = now_of(&engine);
        let query = Query {
            beyond: Beyond::Length(0.3 * engine.state.scalar),
            most: 1000,
            ..Query::plain(Variant::Diameter.bounding())
        };
        let found = survey(cloud, &now, None, &query, None);
        // No pair has a row yet, and the diameter is hardly more than the longest.
        let rows = &engine.state.rows;
        let mut kept = Rows { sums: rows.sums.clone(), members: rows.members.clone(), ..Rows::default() };
        (0..rows.len()).filter(|&k| rows.push[k] || rows.pair(k).is_none()).for_each(|k| kept.copy(rows, k));
        let less = engine.state.scalar - found.longest * (1.0 + 1e-6);
        engine.state.scalar -= less;
        kept.s.iter_mut().zip(&kept.b).for_each(|(s, b)| *s -= less * b);
        engine.state.rows = kept;
        let (held, mu, before) = (engine.state.rows.len(), engine.state.mu(), engine.state.clone());
        engine.admit_pull(&found, &now, mu).unwrap();
        let rows = &engine.state.rows;
        assert!(rows.len() > held);
        assert!(engine.state.scalar > before.scalar);
        assert_rows_hold(cloud, &engine.state);
        let mut moved = dual_error(cloud, &engine.state);
        linalg::add_scaled(&mut moved, -1.0, &dual_error(cloud, &before));
        assert!(size(&moved) <= 1e-9 * size(&before.z), "{}", size(&moved));
        // A length that has a row is not given another.
        let lengths: Vec<f64> = (held..rows.len()).map(|k| engine.state.scalar - rows.s[k]).collect();
        for (at, r) in lengths.iter().enumerate() {
            assert!(lengths[..at].iter().all(|l| !same_length(*l, *r)));
        }
    }
}

#[test]
fn pruning_gives_up_settled_pairs_and_keeps_the_dual_point() {
    let mut pruned = 0;
    for cloud in [&clouds()[1], &clouds()[3]] {
        for (slack, diameter) in [(Slack::Pair, Diameter::Maximum), (Slack::Pair, Diameter::Cvar(0.2))] {
            // With a large trade-off there is a band that settled pairs join.
            let crowded = Settings { c: 500.0, ..settings(Variant::Diameter, slack, diameter) };
            let mut engine = under_way(cloud, crowded, 0.02);
            let before = engine.state.clone();
            let error = dual_error(cloud, &before);
            // `Z` is a small difference of large sums.
            let summed = size(&before.sums(cloud).0);
            engine.prune(0.0).unwrap();
            let state = &engine.state;
            assert!(state.rows.len() <= before.rows.len());
            pruned += before.rows.len() - state.rows.len();
            assert_rows_hold(cloud, state);
            assert!(is_definite(&state.z));
            let mut moved = dual_error(cloud, state);
            linalg::add_scaled(&mut moved, -1.0, &error);
            assert!(size(&moved) <= 1e-12 * summed, "{} of {summed}", size(&moved));
            for k in 0..before.rows.len() {
                let Some((i, j)) = before.rows.pair(k) else { continue };
                if state.rows.held.contains(&packed(i, j, before.rows.push[k])) {
                    continue;
                }
                let (z, share) = (before.rows.s[k] - before.rows.xi[k], before.rows.lambda[k] / before.rows.cap[k]);
                let clear = if before.rows.push[k] { 0.2 } else { 0.1 * before.scalar };
                assert!((z > clear && share < 0.1) || (z < -clear && share > 0.9), "row {k}: {z}, {share}");
            }
        }
    }
    assert!(pruned > 100, "{pruned}");
}

#[test]
fn pairs_well_above_the_kink_go_whatever_their_multipliers_and_leave_it_without_a_row_on_a_path() {
    for cloud in [&clouds()[1], &clouds()[3]] {
        let crowded = Settings { c: 500.0, ..settings(Variant::Diameter, Slack::Pair, Diameter::Maximum) };
        let mut engine = under_way(cloud, crowded, 0.2);
        let (before, error) = (engine.state.clone(), dual_error(cloud, &engine.state));
        let summed = size(&before.sums(cloud).0);
        let free = |state: &State| {
            let above = |k: &usize| state.rows.push[*k] && state.rows.s[*k] - state.rows.xi[*k] > 0.3;
            (0..state.rows.len()).filter(|k| state.rows.pair(*k).is_some() && above(k)).count()
        };
        assert!(free(&before) > 10);
        engine.prune_free(None).unwrap();
        assert_eq!(engine.state.rows.len() + free(&before), before.rows.len());
        assert_rows_hold(cloud, &engine.state);
        assert_band_is_true(&engine);
        let mut moved = dual_error(cloud, &engine.state);
        linalg::add_scaled(&mut moved, -1.0, &error);
        assert!(size(&moved) <= 1e-12 * summed && is_definite(&engine.state.z));
        // A longer metric brings pairs out of the band.
        let mut engine = begun(cloud, Settings { c: 2000.0, ..crowded });
        engine.state.m.as_mut_slice().iter_mut().for_each(|v| *v *= 1.5);
        let now = now_of(&engine);
        let longer = engine.state.clone();
        let crossed: Vec<(u32, u32)> = without_row(&engine, |r| (2.0..3.0).contains(&r), usize::MAX);
        let leapt: Vec<(u32, u32)> =
            crossed.iter().copied().filter(|&(i, j)| now.squared_distance(i as usize, j as usize) > 2.2).collect();
        assert!(!leapt.is_empty() && leapt.len() < crossed.len());
        assert!(engine.admit_push(&crossed, &now, longer.mu(), 0.2).unwrap());
        assert_eq!(engine.state.rows.len(), longer.rows.len() + crossed.len() - leapt.len());
        assert!(leapt.iter().all(|&(i, j)| !engine.state.rows.held.contains(&packed(i as usize, j as usize, true))));
        (engine.sides_factor, engine.sides) = (Cholesky::of(&engine.state.m).unwrap().lower(), now);
        assert_band_is_true(&engine);
    }
}

#[test]
fn on_a_path_turning_to_another_trade_off_keeps_what_is_missing_to_dual_feasibility() {
    each_form(|cloud, settings| {
        for ratio in [0.5, 2.0] {
            let mut engine = under_way(cloud, settings, 0.05);
            engine.keep = true;
            let summed = size(&engine.state.sums(cloud).0);
            let before = size(&dual_error(cloud, &engine.state));
            engine.turn_to(Settings { c: ratio * settings.c, ..settings });
            let after = size(&dual_error(cloud, &engine.state));
            assert!(after <= ratio.max(1.0) * before + 1e-10 * summed, "{settings:?} {ratio}: {before}, {after}");
            assert!(is_definite(&engine.state.z));
            assert_weights_are_shared(cloud, &engine.state);
        }
    });
}

#[test]
fn idle_rows_are_those_far_from_the_diameter_or_their_margin() {
    let cloud = &clouds()[3];
    let engine = under_way(cloud, settings(Variant::Intra, Slack::Instance, Diameter::Maximum), 0.05);
    let mut state = engine.state.clone();
    state.drop_idle(cloud);
    let before = &engine.state;
    let mut dropped = 0;
    for k in 0..before.rows.len() {
        let Some((i, j)) = before.rows.pair(k) else { continue };
        let far = before.rows.s[k] > if before.rows.push[k] { 0.2 } else { 0.2 * before.scalar };
        assert_eq!(state.rows.held.contains(&packed(i, j, before.rows.push[k])), !far, "row {k}");
        dropped += usize::from(far);
    }
    assert!(dropped > 0);
    assert_eq!(state.rows.len(), before.rows.len() - dropped);
}

#[test]
fn restoring_leads_the_multipliers_back_to_where_they_agree_with_z() -> Result<()> {
    for cloud in [&clouds()[1], &clouds()[3]] {
        for slack in [Slack::Pair, Slack::Instance] {
            let mut engine = under_way(cloud, settings(Variant::Diameter, slack, Diameter::Maximum), 0.05);
            // The loop may leave some dual infeasibility: a full restoration first.
            engine.state.restore(cloud, &engine.shape)?;
            let before = engine.state.clone();
            for (k, l) in engine.state.rows.lambda.iter_mut().enumerate() {
                *l *= 1.0 + 1e-5 * (k as f64).sin();
            }
            let broken = size(&dual_error(cloud, &engine.state));
            assert!(broken > 1e-9 * size(&before.z), "{broken}");
            engine.state.restore(cloud, &engine.shape)?;
            let mended = size(&dual_error(cloud, &engine.state));
            assert!(mended <= 1e-11 * size(&before.z).max(1.0), "{mended} after {broken}");
            let total: f64 = linalg::dot(&engine.state.rows.lambda, &engine.state.rows.b);
            assert_weights_are_shared(cloud, &engine.state);
            assert!((total - engine.shape.cost).abs() < 1e-9, "the multipliers of the diameter add up to {total}");
            for (now, then) in engine.state.rows.lambda.iter().zip(&before.rows.lambda) {
                assert!((now - then).abs() <= 0.5 * then);
            }
        }
    }
    Ok(())
}

#[test]
fn the_scaling_makes_both_sides_look_alike() {
    let cloud = &clouds()[2];
    let state = made_up(cloud, 50, false, 3);
    let scaling = Scaling::new(&state.m, &state.z).unwrap();
    let mut diagonal = Matrix::zeros(scaling.v.len(), scaling.v.len());
    scaling.v.iter().enumerate().for_each(|(k, &v)| diagonal[(k, k)] = v);
    assert_near(&plain_congruence(&state.z, &scaling.g), &diagonal, 1e-10);
    assert_near(&plain_congruence(&diagonal, &scaling.g.transpose()), &state.m, 1e-10);
}

#[test]
fn the_scalar_can_be_absent() {
    let shape = Shape { scalar: false, cost: 1.0 };
    let cloud = &clouds()[1];
    let mut engine = begun(cloud, settings(Variant::Intra, Slack::Pair, Diameter::Mean));
    assert!(!engine.shape.scalar);
    let scalar = engine.state.scalar;
    engine.state.step(cloud, &shape, 0.0).unwrap();
    assert!((engine.state.scalar - scalar).abs() < 1e-12);
}
