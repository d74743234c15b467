//! Lip against certified optima, and its certificate against plain code.

use crate::lip_common::{dual_value, load, optima, pair_objective, pairwise};
use lipmetric::method::{Method, Training};
use lipmetric::problem::{Slack, Variant};
use lipmetric::solver::{Silent, Status};

#[test]
fn the_reference_optima_are_reached_and_certified() {
    for (name, variant, lower, upper) in optima() {
        let (x, y) = load(&name);
        let data = Training::new(&x, &y).unwrap();
        let fit = pairwise(variant).fit(&data, &mut Silent).unwrap();
        let outcome = &fit.outcome;
        assert_eq!(outcome.status, Status::Optimal, "{name}");
        assert!(outcome.gap.unwrap() <= 1e-6, "{name}");
        let objective = pair_objective(&data, &fit.metric, variant, 1.0);
        assert!((objective / outcome.objective.unwrap() - 1.0).abs() < 1e-9, "{name}: reported and true objective");
        assert!(objective >= lower * (1.0 - 1e-9) && objective <= upper * (1.0 + 1e-6), "{name}: {objective}");
        let dual = dual_value(&data, &fit, variant, Slack::Pair, 1.0);
        assert!((dual / outcome.dual.unwrap() - 1.0).abs() < 1e-8, "{name}: reported and true dual value");
        assert!(dual <= upper * (1.0 + 1e-9), "{name}: {dual}");
    }
}

#[test]
fn a_gap_of_1e_9_is_reached_on_request() {
    for (name, variant, lower, upper) in optima() {
        let (x, y) = load(&name);
        let data = Training::new(&x, &y).unwrap();
        for slack in [Slack::Pair, Slack::Instance] {
            let lip = pairwise(variant).slack(slack).tolerance(1e-9);
            // Lip^D of Haberman: with a slack per row the zero metric is the best one at c = 1.
            if slack == Slack::Instance && lip.c_max(&data, &mut Silent).unwrap() <= 1.0 {
                continue;
            }
            let fit = lip.fit(&data, &mut Silent).unwrap();
            let outcome = &fit.outcome;
            assert_eq!(outcome.status, Status::Optimal, "{name} {variant:?} {slack:?}");
            assert!(outcome.gap.unwrap() <= 1e-9, "{name} {variant:?} {slack:?}");
            let dual = dual_value(&data, &fit, variant, slack, 1.0);
            assert!((dual / outcome.dual.unwrap() - 1.0).abs() < 1e-9, "{name} {variant:?} {slack:?}");
            if slack == Slack::Pair {
                let objective = pair_objective(&data, &fit.metric, variant, 1.0);
                assert!(objective <= dual * (1.0 + 2e-9), "{name} {variant:?}: {objective} {dual}");
                assert!(objective >= lower * (1.0 - 1e-10) && dual <= upper * (1.0 + 1e-10), "{name} {variant:?}");
            }
        }
    }
}

#[test]
fn every_trade_off_is_certified_in_both_forms() {
    let all: &[f64] = &[1e-6, 1e-4, 1e-2, 0.3, 0.9, 0.99];
    for (name, fractions) in [("echo", all), ("fertility", all), ("haberman", all), ("diabetes", &[1e-6, 0.99])] {
        let (x, y) = load(name);
        let data = Training::new(&x, &y).unwrap();
        for variant in [Variant::Diameter, Variant::Intra] {
            for slack in [Slack::Pair, Slack::Instance] {
                let lip = pairwise(variant).slack(slack);
                let c_max = lip.c_max(&data, &mut Silent).unwrap();
                for &fraction in fractions {
                    let c = fraction * c_max;
                    let fit = lip.clone().c(c).fit(&data, &mut Silent).unwrap();
                    let outcome = &fit.outcome;
                    assert_eq!(outcome.status, Status::Optimal, "{name} {variant:?} {slack:?} {fraction}");
                    let dual = dual_value(&data, &fit, variant, slack, c);
                    assert!(
                        (dual / outcome.dual.unwrap() - 1.0).abs() < 1e-7,
                        "{name} {variant:?} {slack:?} {fraction}"
                    );
                    assert!(outcome.objective.unwrap() <= dual * (1.0 + 1.1e-6));
                }
            }
        }
    }
}
