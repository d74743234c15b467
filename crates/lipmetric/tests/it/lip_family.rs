//! The family around Lip: other diameters, an anchor, a first point, limits, and every trade-off.

use crate::lip_common::{blobs, dual_value, dual_value_of, load, objective, pairwise};
use lipmetric::method::{Method, Training};
use lipmetric::problem::{Anchor, Diameter, Slack, Towards, Variant};
use lipmetric::solver::{Silent, Status};
use lipmetric::{Error, Metric};

const VARIANTS: [Variant; 2] = [Variant::Diameter, Variant::Intra];
const SLACKS: [Slack; 2] = [Slack::Pair, Slack::Instance];

#[test]
fn other_diameters_are_certified_and_lie_between_mean_and_maximum() {
    let (x, y) = load("echo");
    let data = Training::new(&x, &y).unwrap();
    let family = [Diameter::Maximum, Diameter::Cvar(0.02), Diameter::Cvar(0.2), Diameter::Cvar(0.8), Diameter::Mean];
    for variant in VARIANTS {
        for slack in SLACKS {
            let c = if slack == Slack::Pair { 20.0 } else { 0.5 };
            let mut last = f64::INFINITY;
            for diameter in family {
                let at = format!("{variant:?} {slack:?} {diameter:?}");
                let fit = pairwise(variant).slack(slack).c(c).diameter(diameter).fit(&data, &mut Silent).unwrap();
                let outcome = &fit.outcome;
                assert_eq!(outcome.status, Status::Optimal, "{at}");
                let (primal, dual) = (outcome.objective.unwrap(), outcome.dual.unwrap());
                assert!(dual <= primal && primal - dual <= 1e-6 * primal, "{at}: {dual} {primal}");
                let plain = dual_value_of(&data, &fit, variant, slack, diameter, c);
                assert!((plain / dual - 1.0).abs() < 1e-8, "{at}: {plain} {dual}");
                if slack == Slack::Pair {
                    // The objective was evaluated at the solver's own edge of the tail, so that it is an upper bound.
                    let value = objective(&data, &fit.metric, variant, diameter, c);
                    assert!(value <= primal * (1.0 + 1e-9) && value >= dual * (1.0 - 1e-9), "{at}: {value} {primal}");
                }
                assert!(primal <= last * (1.0 + 1e-6), "{at}: {primal} after {last}");
                last = primal;
            }
        }
    }
}

#[test]
fn the_ceiling_of_a_tail_of_one_pair_is_that_of_the_maximum_and_of_all_pairs_that_of_the_mean() {
    for set in ["echo", "haberman"] {
        let (x, y) = load(set);
        let data = Training::new(&x, &y).unwrap();
        for variant in VARIANTS {
            let of = |diameter| pairwise(variant).diameter(diameter).c_max(&data, &mut Silent).unwrap();
            for (level, other) in [(1e-5, Diameter::Maximum), (1.0 - 1e-9, Diameter::Mean)] {
                let (a, b) = (of(Diameter::Cvar(level)), of(other));
                assert!((a / b - 1.0).abs() < 1e-4, "{set} {variant:?} {level}: {a} {b}");
            }
        }
    }
}

#[test]
fn the_ceiling_of_every_diameter_is_where_nothing_is_gained() {
    let (x, y) = load("echo");
    let data = Training::new(&x, &y).unwrap();
    for slack in SLACKS {
        for diameter in [Diameter::Cvar(0.2), Diameter::Mean] {
            let lip = pairwise(Variant::Intra).slack(slack).diameter(diameter);
            let ceiling = lip.c_max(&data, &mut Silent).unwrap();
            assert!(lip.clone().c(0.99 * ceiling).fit(&data, &mut Silent).is_ok(), "{slack:?} {diameter:?}");
            let refused = lip.c(1.01 * ceiling).fit(&data, &mut Silent);
            assert!(matches!(refused, Err(Error::Parameter { .. })), "{slack:?} {diameter:?}: {refused:?}");
        }
    }
}

/// How far two metrics differ, relative to the first.
fn apart(first: &Metric, second: &Metric) -> f64 {
    let (a, b) = (first.matrix(), second.matrix());
    let square = |f: &dyn Fn(usize) -> f64| (0..a.as_slice().len()).map(f).map(|v| v * v).sum::<f64>().sqrt();
    square(&|k| a.as_slice()[k] - b.as_slice()[k]) / square(&|k| a.as_slice()[k])
}

#[test]
fn an_anchor_makes_the_optimum_unique_and_draws_it_in() {
    // Unit scale in every direction, so that the Euclidean distance is a sensible anchor.
    let (x, y) = blobs(80, 4, 3, 11);
    let data = Training::new(&x, &y).unwrap();
    for slack in SLACKS {
        for towards in [Towards::Euclid, Towards::Within] {
            let lip = |weight: f64| {
                pairwise(Variant::Intra).slack(slack).c_rel(0.05).tolerance(1e-9).anchor(Anchor { towards, weight })
            };
            let fit = lip(0.5).fit(&data, &mut Silent).unwrap();
            assert_eq!(fit.outcome.status, Status::Optimal);
            // Whatever it starts from.
            let other = lip(0.5).fit(&data.with_start(&Metric::euclidean(4)), &mut Silent).unwrap();
            assert!(apart(&fit.metric, &other.metric) < 1e-3, "{}", apart(&fit.metric, &other.metric));
            // Up to its scale the anchor's metric at a great weight.
            let near = lip(1e4).fit(&data, &mut Silent).unwrap().metric;
            let nearer = lip(1e6).fit(&data, &mut Silent).unwrap().metric;
            assert!(apart(&near, &nearer) < 1e-2);
            if towards == Towards::Euclid {
                let m = near.matrix();
                for a in 0..4 {
                    for b in 0..4 {
                        let wanted = if a == b { m[(0, 0)] } else { 0.0 };
                        assert!((m[(a, b)] - wanted).abs() < 1e-2 * m[(0, 0)], "{m:?}");
                    }
                }
            }
        }
    }
    let wrong =
        pairwise(Variant::Intra).anchor(Anchor { towards: Towards::Euclid, weight: -1.0 }).fit(&data, &mut Silent);
    assert!(wrong.unwrap_err().to_string().contains("anchor.weight"));
}

#[test]
fn an_anchored_optimum_cannot_be_improved_by_small_changes() {
    let (x, y) = blobs(60, 2, 2, 3);
    let data = Training::new(&x, &y).unwrap();
    let fit = pairwise(Variant::Diameter)
        .c(30.0)
        .tolerance(1e-9)
        .anchor(Anchor { towards: Towards::Euclid, weight: 0.3 })
        .fit(&data, &mut Silent)
        .unwrap();
    // The anchor's term from its own definition: M - M_0 in coordinates of unit covariance, with M_0 = t I where t is the
    // multiple with the smallest objective. `gamma` and `t` are not told, so that only differences are looked at: the
    // optimum of a strongly convex problem lies between its two ends.
    let free = pairwise(Variant::Diameter).c(30.0).fit(&data, &mut Silent).unwrap();
    let value = |m: &Metric| objective(&data, m, Variant::Diameter, Diameter::Maximum, 30.0);
    let euclid = (1..400).map(|k| {
        let t = 0.01 * f64::from(k);
        let factor = lipmetric::Matrix::from_rows(&[[t.sqrt(), 0.0], [0.0, t.sqrt()]]);
        value(&Metric::new(factor).unwrap())
    });
    let best = euclid.fold(f64::INFINITY, f64::min);
    assert!(value(&free.metric) <= value(&fit.metric) * (1.0 + 1e-6));
    assert!(value(&fit.metric) <= best * (1.0 + 1e-3), "{} {best}", value(&fit.metric));
}

#[test]
fn a_first_metric_changes_the_way_not_the_optimum() {
    let (x, y) = load("haberman");
    let data = Training::new(&x, &y).unwrap();
    for slack in SLACKS {
        let lip = pairwise(Variant::Diameter).slack(slack).c_rel(0.1);
        let cold = lip.fit(&data, &mut Silent).unwrap();
        let warm = lip.clone().fit(&data.with_start(&cold.metric), &mut Silent).unwrap();
        let bad = lip.fit(&data.with_start(&Metric::euclidean(x.cols())), &mut Silent).unwrap();
        for fit in [&warm, &bad] {
            assert_eq!(fit.outcome.status, Status::Optimal);
            let ratio = fit.outcome.objective.unwrap() / cold.outcome.objective.unwrap();
            assert!((ratio - 1.0).abs() < 2e-6, "{slack:?} {ratio}");
        }
    }
    let wrong = pairwise(Variant::Diameter).fit(&data.with_start(&Metric::euclidean(2)), &mut Silent);
    assert!(matches!(wrong, Err(Error::Shape { .. })));
}

#[test]
fn a_memory_limit_is_told_and_leaves_a_usable_metric() {
    let (x, y) = load("cancer");
    let data = Training::new(&x, &y).unwrap();
    let fit = pairwise(Variant::Intra).slack(Slack::Instance).c(1.0).memory(1 << 20).fit(&data, &mut Silent).unwrap();
    assert_eq!(fit.outcome.status, Status::MemoryLimit);
    assert!(fit.outcome.gap.unwrap() > 0.0 && fit.metric.factor().first_non_finite().is_none());
}

#[test]
fn features_of_few_values_and_a_large_trade_off() {
    // The optimum has rank one and thousands of pairs of equal length.
    for name in ["voting", "australian"] {
        let (x, y) = load(name);
        let data = Training::new(&x, &y).unwrap();
        for variant in VARIANTS {
            let fit = pairwise(variant).c_rel(0.9).fit(&data, &mut Silent).unwrap();
            assert_eq!(fit.outcome.status, Status::Optimal, "{name} {variant:?}");
            let dual = dual_value(&data, &fit, variant, Slack::Pair, fit.outcome.c.unwrap());
            assert!((dual / fit.outcome.dual.unwrap() - 1.0).abs() < 1e-7, "{name} {variant:?}");
        }
    }
}

#[test]
fn the_bound_of_a_tail_is_below_the_objective_where_many_pairs_are_equally_long() {
    let (x, y) = load("haberman");
    let data = Training::new(&x, &y).unwrap();
    for variant in [Variant::Diameter, Variant::Intra] {
        for level in [0.02, 0.1, 0.5, 0.9] {
            let lip = pairwise(variant).diameter(Diameter::Cvar(level)).c_rel(0.3);
            let outcome = lip.fit(&data, &mut Silent).unwrap().outcome;
            let (objective, dual) = (outcome.objective.unwrap(), outcome.dual.unwrap());
            assert_eq!(outcome.status, Status::Optimal, "{variant:?} {level}");
            assert!(dual <= objective * (1.0 + 1e-12), "{variant:?} {level}: {dual} above {objective}");
        }
    }
}
