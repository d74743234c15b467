//! The cheapest values on a fixed metric, against enumeration and by their own certificate.

use lipmetric::lipschitz::{
    Distance, Mahalanobis, SquaredMahalanobis,
    distances::Precomputed,
    values::{ValueOptions, Values, learned_values},
};
use lipmetric::{Error, Labels, Matrix};
use proptest::prelude::*;

fn labels(codes: &[usize]) -> Labels {
    Labels::from_names(codes.iter().map(|c| c.to_string()))
}

/// The certificate: slacks that are feasible, multipliers that are, and one value.
fn check<D: Distance>(rho: &D, y: &Labels, weights: &[f64], values: &Values) {
    let n = rho.len();
    assert_eq!(values.slack.len(), n);
    let mut worst = 0.0_f64;
    for i in 0..n {
        assert!((0.0..=2.0).contains(&values.slack[i]));
        for j in (0..i).filter(|&j| y.codes()[i] != y.codes()[j]) {
            worst = worst.max(2.0 - values.constant * rho.get(i, j) - values.slack[i] - values.slack[j]);
        }
    }
    assert!(worst <= 1e-14, "a pair lacks {worst}");
    let mut used = vec![0.0; n];
    let mut bound = 0.0;
    for m in &values.multipliers {
        assert!(m.value > 0.0 && m.i < m.j && y.codes()[m.i] != y.codes()[m.j]);
        used[m.i] += m.value;
        used[m.j] += m.value;
        bound += m.value * (2.0 - values.constant * rho.get(m.i, m.j));
    }
    assert!(used.iter().zip(weights).all(|(u, w)| *u <= w * (1.0 + 1e-12)));
    let objective: f64 = values.slack.iter().zip(weights).map(|(xi, w)| xi * w).sum();
    assert!((objective - values.objective).abs() <= 1e-12 * (1.0 + objective));
    assert!((bound - values.bound).abs() <= 1e-12 * (1.0 + bound));
    assert!(values.objective == 0.0 || values.relative_gap() <= 1e-12, "{} {}", objective, bound);
}

/// The least cost by enumeration, for distances in whole numbers: there is an optimum in halves.
fn enumerated(rho: &impl Distance, y: &Labels, weights: &[f64]) -> f64 {
    let n = rho.len();
    let mut best = f64::INFINITY;
    for code in 0..5_usize.pow(n as u32) {
        let slack: Vec<f64> = (0..n).map(|i| (code / 5_usize.pow(i as u32) % 5) as f64 / 2.0).collect();
        let feasible =
            (0..n).all(|i| (0..i).all(|j| y.codes()[i] == y.codes()[j] || rho.get(i, j) + slack[i] + slack[j] >= 2.0));
        if feasible {
            best = best.min(slack.iter().zip(weights).map(|(xi, w)| xi * w).sum());
        }
    }
    best
}

/// Points on a line, at whole numbers.
fn grid(at: &[i32]) -> Precomputed {
    let apart = at.iter().flat_map(|a| at.iter().map(move |b| f64::from((a - b).abs())));
    Precomputed::new(Matrix::from_vec(at.len(), at.len(), apart.collect()).unwrap()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_cost_is_the_least_there_is(
        at in prop::collection::vec(0_i32..4, 6), codes in prop::collection::vec(0_usize..3, 6),
        weights in prop::collection::vec(0_u8..4, 6), classes in 2_usize..4,
    ) {
        let mut codes: Vec<usize> = codes.iter().map(|c| c % classes).collect();
        (0..classes).for_each(|k| codes[k] = k);
        let (rho, y) = (grid(&at), labels(&codes));
        let weights: Vec<f64> = weights.iter().map(|&w| f64::from(w) / 2.0).collect();
        let options = ValueOptions { weights: Some(weights.clone()), ..ValueOptions::default() };
        let values = learned_values(&rho, &y, &options).unwrap();
        check(&rho, &y, &weights, &values);
        prop_assert!((values.objective - enumerated(&rho, &y, &weights)).abs() < 1e-12);
    }

    #[test]
    fn the_values_do_not_depend_on_the_order_nor_on_how_pairs_are_found(
        n in 4_usize..60, p in 1_usize..20, classes in 2_usize..5, coarse in any::<bool>(), seed in 0_u64..1000,
        constant in 0.01_f64..2.0, max_pairs in 0_usize..40,
    ) {
        let (x, codes, weights) = sample(n, p, classes, seed, coarse);
        let y = labels(&codes);
        let rho = SquaredMahalanobis::euclidean(&x).unwrap();
        let options = ValueOptions { constant: constant / p as f64, weights: Some(weights.clone()), ..Default::default() };
        let values = learned_values(&rho, &y, &options).unwrap();
        check(&rho, &y, &weights, &values);
        let few = learned_values(&rho, &y, &ValueOptions { max_pairs, ..options.clone() }).unwrap();
        // Searches compare in floating point, which may miss the last unit.
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-14;
        prop_assert!(few.slack.iter().zip(&values.slack).all(|(&a, &b)| near(a, b)));
        check(&rho, &y, &weights, &few);
        let back: Vec<usize> = (0..n).rev().collect();
        let turned = ValueOptions { weights: Some(back.iter().map(|&i| weights[i]).collect()), ..options };
        let rho = SquaredMahalanobis::euclidean(&x.select_rows(&back)).unwrap();
        // The names sort the other way round, too.
        let y = labels(&back.iter().map(|&i| 9 - codes[i]).collect::<Vec<_>>());
        let other = learned_values(&rho, &y, &turned).unwrap();
        for (at, &i) in back.iter().enumerate() {
            let (a, b) = (other.slack[at], values.slack[i]);
            prop_assert!(a == b || (weights[i] == 0.0 && near(a, b)), "row {}: {} {}", i, a, b);
        }
    }
}

/// Rows, classes and weights from a simple generator.
fn sample(n: usize, p: usize, classes: usize, seed: u64, coarse: bool) -> (Matrix, Vec<usize>, Vec<f64>) {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 31) as f64
    };
    let number = |v: f64| if coarse { (v * 3.0).floor() } else { 4.0 * v - 2.0 };
    let x = Matrix::from_vec(n, p, (0..n * p).map(|_| number(next())).collect()).unwrap();
    let codes = (0..n).map(|i| if i < classes { i } else { (next() * classes as f64) as usize }).collect();
    let weights = (0..n).map(|_| (next() * 4.0).floor() * if coarse { 1.0 } else { 0.3 }).collect();
    (x, codes, weights)
}

#[test]
fn rows_that_coincide_share_a_slack_of_two() {
    let rho = Mahalanobis::euclidean(&Matrix::from_rows(&[[1.0], [1.0], [50.0], [90.0]])).unwrap();
    let values = learned_values(&rho, &labels(&[0, 1, 0, 1]), &ValueOptions::default()).unwrap();
    assert_eq!(values.slack, [1.0, 1.0, 0.0, 0.0]);
    assert_eq!(values.margins(), [0.0, 0.0, 1.0, 1.0]);
    let weights = Some(vec![1.0, 3.0, 1.0, 1.0]);
    let options = ValueOptions { weights, ..Default::default() };
    assert_eq!(learned_values(&rho, &labels(&[0, 1, 0, 1]), &options).unwrap().slack, [2.0, 0.0, 0.0, 0.0]);
}

#[test]
fn three_classes_at_one_place_take_one_each() {
    let rho = grid(&[0, 0, 0]);
    let values = learned_values(&rho, &labels(&[0, 1, 2]), &ValueOptions::default()).unwrap();
    assert_eq!(values.slack, [1.0, 1.0, 1.0]);
    assert_eq!((values.objective, values.bound), (3.0, 3.0));
}

#[test]
fn classes_that_are_far_apart_cost_nothing() {
    let rho = Mahalanobis::euclidean(&Matrix::from_rows(&[[0.0], [1.0], [5.0]])).unwrap();
    let options = ValueOptions { constant: 0.5, ..Default::default() };
    let values = learned_values(&rho, &labels(&[0, 0, 1]), &options).unwrap();
    assert_eq!((values.slack, values.objective, values.multipliers.len()), (vec![0.0; 3], 0.0, 0));
}

#[test]
fn rows_without_a_weight_take_what_the_others_leave() {
    let rho = grid(&[0, 1, 0, 0]);
    let options = ValueOptions { weights: Some(vec![0.0, 2.0, 0.0, 0.0]), ..Default::default() };
    let values = learned_values(&rho, &labels(&[0, 1, 1, 1]), &options).unwrap();
    // Row 0 shares the 2 with rows 2 and 3, which coincide with it.
    assert_eq!(values.slack, [1.0, 0.0, 1.0, 1.0]);
    assert_eq!((values.objective, values.bound), (0.0, 0.0));
}

#[test]
fn the_certificate_holds_at_the_size_of_the_bundled_data() {
    for (n, p, classes, constant) in [(690, 14, 2, 0.05), (690, 14, 2, 0.3), (300, 9, 6, 0.2), (400, 3, 3, 1.0)] {
        let (x, codes, _) = sample(n, p, classes, 7, false);
        let (rho, y) = (SquaredMahalanobis::euclidean(&x).unwrap(), labels(&codes));
        let values = learned_values(&rho, &y, &ValueOptions { constant, ..Default::default() }).unwrap();
        check(&rho, &y, &vec![1.0; n], &values);
        assert!(values.objective > 0.0);
    }
}

#[test]
fn weights_of_very_different_size_are_all_counted() {
    let (x, codes, _) = sample(80, 3, 2, 3, false);
    let weights: Vec<f64> = (0..80).map(|i| 10.0_f64.powi(i % 13 - 6)).collect();
    let (rho, y) = (SquaredMahalanobis::euclidean(&x).unwrap(), labels(&codes));
    let options = ValueOptions { weights: Some(weights.clone()), ..Default::default() };
    check(&rho, &y, &weights, &learned_values(&rho, &y, &options).unwrap());
}

#[test]
fn what_cannot_be_asked_is_refused_with_its_name() {
    let rho = grid(&[0, 1, 5]);
    let y = labels(&[0, 1, 1]);
    let ask = |constant: f64, weights: Option<Vec<f64>>| {
        learned_values(&rho, &y, &ValueOptions { constant, weights, ..Default::default() })
    };
    for constant in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(ask(constant, None), Err(Error::Parameter { name: "constant", .. })));
    }
    assert!(matches!(ask(1.0, Some(vec![1.0, -1.0, 1.0])), Err(Error::Parameter { name: "weights", .. })));
    assert!(matches!(ask(1.0, Some(vec![1.0, f64::NAN, 1.0])), Err(Error::Parameter { name: "weights", .. })));
    assert!(ask(1.0, Some(vec![1.0])).is_err());
    assert!(learned_values(&rho, &labels(&[0, 0, 0]), &ValueOptions::default()).is_err());
    assert!(learned_values(&rho, &labels(&[0, 1]), &ValueOptions::default()).is_err());
}
