//! What must hold of Lip whatever the data: invariances, weights, degenerate cases, determinism.

use crate::lip_common::{Noise, blobs, dual_value, load, pair_objective, pairwise};
use lipmetric::method::{ClassWeights, Lip, Method, Training};
use lipmetric::problem::{Slack, Variant};
use lipmetric::solver::{Budget, Silent, Status};
use lipmetric::{Error, Labels, Matrix};
use std::time::Duration;

const VARIANTS: [Variant; 2] = [Variant::Diameter, Variant::Intra];
const SLACKS: [Slack; 2] = [Slack::Pair, Slack::Instance];

fn objective(x: &Matrix, y: &Labels, lip: &Lip) -> f64 {
    let fit = lip.fit(&Training::new(x, y).unwrap(), &mut Silent).unwrap();
    assert_eq!(fit.outcome.status, Status::Optimal);
    fit.outcome.objective.unwrap()
}

#[test]
fn the_optimum_does_not_depend_on_an_affine_map_of_the_features() {
    let (x, y) = load("echo");
    let mut noise = Noise(5);
    let p = x.cols();
    let map: Vec<f64> = (0..p * p).map(|_| noise.normal()).collect();
    let mut mapped = Matrix::zeros(x.rows(), p);
    for i in 0..x.rows() {
        for a in 0..p {
            // Scales from 1e-6 to 1e6, on top of the mixing.
            let scale = 10f64.powi(2 * a as i32 - 6);
            mapped[(i, a)] = scale * (3.0 + (0..p).map(|b| map[a * p + b] * x[(i, b)]).sum::<f64>());
        }
    }
    for variant in VARIANTS {
        for slack in SLACKS {
            let lip = pairwise(variant).slack(slack).c(0.5);
            let (first, second) = (objective(&x, &y, &lip), objective(&mapped, &y, &lip));
            assert!((first / second - 1.0).abs() < 2e-6, "{variant:?} {slack:?}: {first} and {second}");
        }
    }
}

#[test]
fn features_of_very_different_scale_keep_their_distances() {
    let (mut x, y) = load("haberman");
    for i in 0..x.rows() {
        x[(i, 0)] *= 1e-6;
        x[(i, 2)] *= 1e6;
    }
    let data = Training::new(&x, &y).unwrap();
    let fit = pairwise(Variant::Diameter).fit(&data, &mut Silent).unwrap();
    assert!((pair_objective(&data, &fit.metric, Variant::Diameter, 1.0) / 303.292_764_5 - 1.0).abs() < 1e-6);
}

#[test]
fn the_optimum_does_not_depend_on_the_order_of_the_rows() {
    let (x, y) = blobs(60, 4, 3, 1);
    let order: Vec<usize> = (0..60).map(|k| k * 37 % 60).collect();
    for variant in VARIANTS {
        let lip = pairwise(variant).c(2.0);
        let (first, second) = (objective(&x, &y, &lip), objective(&x.select_rows(&order), &y.select(&order), &lip));
        assert!((first / second - 1.0).abs() < 2e-6);
    }
}

#[test]
fn constant_and_dependent_features_change_nothing() {
    let (x, y) = blobs(50, 3, 2, 2);
    let mut wide = Matrix::zeros(50, 5);
    for i in 0..50 {
        let r = x.row(i);
        wide.row_mut(i).copy_from_slice(&[r[0], 7.0, r[1], r[0] - 2.0 * r[1], r[2]]);
    }
    let lip = pairwise(Variant::Diameter).c(3.0);
    assert!((objective(&x, &y, &lip) / objective(&wide, &y, &lip) - 1.0).abs() < 2e-6);
}

#[test]
fn a_weight_counts_as_that_many_equal_rows() {
    let (x, y) = blobs(30, 3, 3, 3);
    let weights: Vec<f64> = (0..30).map(|i| f64::from(i % 3)).collect();
    let repeated: Vec<usize> = (0..30).flat_map(|i| vec![i; i % 3]).collect();
    let (xr, yr) = (x.select_rows(&repeated), y.select(&repeated));
    for variant in VARIANTS {
        for slack in SLACKS {
            let lip = pairwise(variant).slack(slack).c(0.7);
            let data = Training::new(&x, &y).unwrap().with_weights(&weights).unwrap();
            let weighted = lip.fit(&data, &mut Silent).unwrap().outcome.objective.unwrap();
            let plain = objective(&xr, &yr, &lip);
            assert!((weighted / plain - 1.0).abs() < 2e-6, "{variant:?} {slack:?}: {weighted} and {plain}");
        }
    }
}

#[test]
fn class_weights_multiply_the_rows_weights() {
    let (x, y) = blobs(40, 3, 2, 4);
    let weights: Vec<f64> = y.codes().iter().map(|&c| if c == 0 { 2.0 } else { 0.5 }).collect();
    let data = Training::new(&x, &y).unwrap();
    let lip = pairwise(Variant::Intra).c(1.0);
    let by_class = lip.clone().class_weights(ClassWeights::Given(vec![2.0, 0.5])).fit(&data, &mut Silent).unwrap();
    let by_row = lip.fit(&data.with_weights(&weights).unwrap(), &mut Silent).unwrap();
    assert_eq!(by_class.outcome.objective, by_row.outcome.objective);
    let balanced = lip.clone().class_weights(ClassWeights::Balanced).fit(&data, &mut Silent).unwrap();
    let plain = lip.fit(&data, &mut Silent).unwrap();
    assert_eq!(balanced.outcome.objective, plain.outcome.objective);
}

#[test]
fn many_classes_with_certificate() {
    let (x, y) = blobs(63, 4, 7, 6);
    let data = Training::new(&x, &y).unwrap();
    for variant in VARIANTS {
        for slack in SLACKS {
            let fit = pairwise(variant).slack(slack).c(0.3).fit(&data, &mut Silent).unwrap();
            let dual = dual_value(&data, &fit, variant, slack, 0.3);
            assert!(fit.outcome.objective.unwrap() <= dual * (1.0 + 1.1e-6));
            assert!(!fit.support().is_empty());
        }
    }
}

/// One feature: `F` is piecewise linear in the one number `m`, and its minimum is at a kink `2 / (x_i - x_j)^2` (or 0).
#[test]
fn one_feature_agrees_with_trying_every_kink() {
    let (x, y) = blobs(40, 1, 2, 7);
    let data = Training::new(&x, &y).unwrap();
    for variant in VARIANTS {
        for c in [0.01, 1.0, 30.0] {
            let mut best = f64::INFINITY;
            for i in 0..40 {
                for j in 0..i {
                    let d = x[(i, 0)] - x[(j, 0)];
                    let metric = lipmetric::Metric::new(Matrix::from_rows(&[[(2.0f64).sqrt() / d.abs()]])).unwrap();
                    best = best.min(pair_objective(&data, &metric, variant, c));
                }
            }
            let found = objective(&x, &y, &pairwise(variant).c(c));
            assert!((found / best - 1.0).abs() < 2e-6, "{variant:?} {c}: {found} and {best}");
        }
    }
}

/// Two features: a long random search around the best metric finds nothing better than the certified optimum.
#[test]
fn two_features_agree_with_a_random_search() {
    let (x, y) = blobs(24, 2, 2, 8);
    let data = Training::new(&x, &y).unwrap();
    for variant in VARIANTS {
        let found = objective(&x, &y, &pairwise(variant).c(2.0));
        let mut noise = Noise(9);
        let mut best = ([1.0, 0.0, 1.0], f64::INFINITY);
        let mut width = 1.0;
        for k in 0..6000 {
            if k % 300 == 299 {
                width *= 0.6;
            }
            let l: [f64; 3] = std::array::from_fn(|a| best.0[a] + width * noise.normal());
            let metric = lipmetric::Metric::new(Matrix::from_rows(&[[l[0], l[1]], [0.0, l[2]]])).unwrap();
            let value = pair_objective(&data, &metric, variant, 2.0);
            if value < best.1 {
                best = (l, value);
            }
        }
        assert!(found <= best.1 * (1.0 + 1e-6), "{found} and {}", best.1);
        assert!(found >= best.1 * 0.98, "{found} and {}", best.1);
    }
}

#[test]
fn more_features_than_rows_is_an_equidistant_simplex() {
    let (x, y) = blobs(6, 10, 2, 10);
    assert!((objective(&x, &y, &pairwise(Variant::Diameter).c(0.5)) - 1.0).abs() < 2e-6);
    let fit = pairwise(Variant::Intra).fit(&Training::new(&x, &y).unwrap(), &mut Silent).unwrap();
    assert_eq!(fit.outcome.status, Status::ClosedForm);
    assert!(fit.outcome.objective.unwrap() < 1e-20 && fit.outcome.dual == Some(0.0));
    assert!(pair_objective(&Training::new(&x, &y).unwrap(), &fit.metric, Variant::Intra, 1.0) < 1e-9);
}

#[test]
fn a_leaked_label_is_told() {
    let (x, y) = blobs(30, 3, 2, 11);
    let mut leaked = Matrix::zeros(30, 4);
    for i in 0..30 {
        let r = x.row(i);
        leaked.row_mut(i).copy_from_slice(&[r[0], r[1], r[2], f64::from(y.codes()[i])]);
    }
    let fit = pairwise(Variant::Intra).fit(&Training::new(&leaked, &y).unwrap(), &mut Silent).unwrap();
    assert_eq!(fit.outcome.status, Status::ClosedForm);
    assert!(fit.outcome.notes[0].contains("leaked"));
}

#[test]
fn equal_rows_of_different_label_cost_two_each_and_are_told() {
    let (x, y) = load("fertility");
    let fit = pairwise(Variant::Diameter).fit(&Training::new(&x, &y).unwrap(), &mut Silent).unwrap();
    assert!(
        fit.outcome.notes.iter().any(|n| n.starts_with("pairs of equal rows with different labels: 1;")),
        "{:?}",
        fit.outcome.notes
    );
}

#[test]
fn data_without_a_problem_are_refused() {
    let x = Matrix::from_rows(&[[0.0], [1.0], [2.0]]);
    let fit = |lip: Lip, x: &Matrix, names: [&str; 3]| {
        lip.fit(&Training::new(x, &Labels::from_names(names)).unwrap(), &mut Silent)
    };
    assert!(matches!(fit(pairwise(Variant::Diameter), &x, ["a", "a", "a"]), Err(Error::Data(_))));
    assert!(matches!(fit(pairwise(Variant::Intra), &x, ["a", "b", "c"]), Err(Error::Data(_))));
    assert!(matches!(fit(pairwise(Variant::Diameter), &Matrix::zeros(3, 2), ["a", "b", "a"]), Err(Error::Data(_))));
    assert!(fit(pairwise(Variant::Diameter).c(0.1), &x, ["a", "b", "b"]).is_ok());
}

#[test]
fn a_trade_off_above_its_ceiling_is_refused_with_the_number() {
    let (x, y) = load("haberman");
    let data = Training::new(&x, &y).unwrap();
    for slack in SLACKS {
        let lip = pairwise(Variant::Diameter).slack(slack);
        let c_max = lip.c_max(&data, &mut Silent).unwrap();
        assert!(lip.clone().c(0.999 * c_max).fit(&data, &mut Silent).is_ok());
        let refused = lip.clone().c(1.001 * c_max).fit(&data, &mut Silent).unwrap_err();
        assert!(refused.to_string().contains(&format!("{c_max:.6}")), "{refused}");
    }
    for wrong in [
        pairwise(Variant::Diameter).c(0.0),
        pairwise(Variant::Diameter).c(f64::NAN),
        pairwise(Variant::Diameter).c_rel(1.0),
    ] {
        assert!(matches!(wrong.fit(&data, &mut Silent), Err(Error::Parameter { .. })));
    }
}

#[test]
fn an_early_stop_is_told_and_leaves_a_usable_metric() {
    let (x, y) = load("voting");
    let data = Training::new(&x, &y).unwrap();
    let limited = pairwise(Variant::Diameter).max_iterations(3).fit(&data, &mut Silent).unwrap();
    assert_eq!(limited.outcome.status, Status::IterationLimit);
    assert!(limited.outcome.gap.unwrap() > 1e-6);
    let mut budget = Budget::new(Some(Duration::ZERO), Silent);
    let stopped = pairwise(Variant::Diameter).fit(&data, &mut budget).unwrap();
    assert_eq!(stopped.outcome.status, Status::TimeLimit);
    let value = pair_objective(&data, &stopped.metric, Variant::Diameter, 1.0);
    assert!((value / stopped.outcome.objective.unwrap() - 1.0).abs() < 1e-9);
    // Even where the time is over before c_max is known.
    for slack in SLACKS {
        let mut budget = Budget::new(Some(Duration::ZERO), Silent);
        let lip = pairwise(Variant::Diameter).slack(slack).c_rel(0.1);
        let stopped = lip.fit(&data, &mut budget).unwrap();
        assert_eq!(stopped.outcome.status, Status::TimeLimit);
        assert_eq!(stopped.outcome.c_max, None);
        assert!(stopped.outcome.notes.iter().any(|n| n.contains("c_max")), "{:?}", stopped.outcome.notes);
        assert!(stopped.metric.factor().as_slice().iter().all(|v| v.is_finite()));
        assert!(lip.c_max(&data, &mut Budget::new(Some(Duration::ZERO), Silent)).is_err());
    }
}

#[test]
fn results_are_identical_for_any_number_of_threads() {
    let (x, y) = load("cancer");
    let fit = |threads: usize, slack: Slack| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            pairwise(Variant::Intra).slack(slack).c(20.0).fit(&Training::new(&x, &y).unwrap(), &mut Silent).unwrap()
        })
    };
    for slack in SLACKS {
        assert_eq!(fit(1, slack), fit(2, slack));
    }
}

#[test]
fn a_path_agrees_with_separate_fits() {
    let (x, y) = load("haberman");
    let data = Training::new(&x, &y).unwrap();
    for slack in SLACKS {
        for variant in [Variant::Diameter, Variant::Intra] {
            let lip = pairwise(variant).slack(slack);
            let c_max = lip.c_max(&data, &mut Silent).unwrap();
            let falling = [0.9, 0.5, 0.1, 0.05, 0.004, 1e-5];
            let rising = [1e-5, 0.004, 0.05, 0.1, 0.5, 0.9];
            let alone = falling.map(|f| lip.clone().c(f * c_max).fit(&data, &mut Silent).unwrap());
            for (fractions, back) in [(falling, false), (rising, true)] {
                let path = lip.path(&data, &fractions, &mut Silent).unwrap();
                assert_eq!(path.len(), fractions.len());
                for (at, (fraction, point)) in fractions.iter().zip(&path).enumerate() {
                    let alone = &alone[if back { falling.len() - 1 - at } else { at }];
                    let place = format!("{slack:?} {variant:?} {fraction}");
                    assert_eq!(point.outcome.status, Status::Optimal, "{place}");
                    assert!(point.outcome.gap.unwrap() <= 1e-6, "{place}");
                    let (first, second) = (point.outcome.objective.unwrap(), alone.outcome.objective.unwrap());
                    assert!((first / second - 1.0).abs() < 2e-6, "{place}: {first} and {second}");
                    let dual = dual_value(&data, point, variant, slack, fraction * c_max);
                    assert!((dual / point.outcome.dual.unwrap() - 1.0).abs() < 1e-8, "{place}");
                }
            }
        }
    }
}

#[test]
fn a_path_to_a_looser_gap_is_certified_and_repeatable() {
    let (x, y) = load("diabetes");
    let data = Training::new(&x, &y).unwrap();
    for slack in SLACKS {
        let lip = pairwise(Variant::Intra).slack(slack).tolerance(1e-3);
        let fractions = [0.5, 0.2, 0.1, 0.03, 0.01];
        let path = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| lip.path(&data, &fractions, &mut Silent).unwrap())
        };
        let found = path(1);
        for (fraction, point) in fractions.iter().zip(&found) {
            let outcome = &point.outcome;
            assert_eq!(outcome.status, Status::Optimal, "{slack:?} {fraction}");
            let (objective, dual) = (outcome.objective.unwrap(), outcome.dual.unwrap());
            assert!(objective - dual <= 1e-3 * objective && objective >= dual, "{slack:?} {fraction}");
            let fine = lip.clone().tolerance(1e-6).c(outcome.c.unwrap()).fit(&data, &mut Silent).unwrap().outcome;
            assert!(fine.objective.unwrap() >= dual && fine.dual.unwrap() <= objective, "{slack:?} {fraction}");
        }
        assert_eq!(found, path(2));
    }
}
