//! Lip on random tables: the figures that it reports are those of plain code, and nothing found by chance is better.

use crate::lip_common::{blobs, dual_value, pair_objective};
use lipmetric::method::{Lip, Method, Solver, TradeOff, Training};
use lipmetric::problem::{Slack, Variant};
use lipmetric::solver::{Silent, Status};
use lipmetric::{Matrix, Metric};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn figures_are_those_of_plain_code_and_no_metric_is_below_the_bound(
        rows in 9_usize..20, features in 1_usize..4, classes in 2_usize..4, seed in any::<u64>(),
        all in any::<bool>(), per_row in any::<bool>(), fraction in 0.01..0.95_f64,
        weights in prop::collection::vec(0.5..3.0_f64, 20),
        factors in prop::collection::vec(prop::collection::vec(-2.0..2.0_f64, 9), 8),
    ) {
        let (x, y) = blobs(rows, features, classes, seed);
        let data = Training::new(&x, &y).unwrap().with_weights(&weights[..rows]).unwrap();
        let variant = if all { Variant::Diameter } else { Variant::Intra };
        let slack = if per_row { Slack::Instance } else { Slack::Pair };
        let lip = Lip::new().variant(variant).slack(slack).trade_off(TradeOff::Relative(fraction)).solver(Solver::Exact);
        let fit = lip.fit(&data, &mut Silent).unwrap();
        let outcome = &fit.outcome;
        let (c, objective, bound) = (outcome.c.unwrap(), outcome.objective.unwrap(), outcome.dual.unwrap());
        prop_assert_eq!(outcome.status, Status::Optimal);
        prop_assert!(bound <= objective && outcome.gap.unwrap() <= 1e-6, "{} {}", objective, bound);
        let dual = dual_value(&data, &fit, variant, slack, c);
        prop_assert!((dual / bound - 1.0).abs() < 1e-7, "{} {}", dual, bound);
        if !per_row {
            let true_objective = pair_objective(&data, &fit.metric, variant, c);
            prop_assert!((true_objective / objective - 1.0).abs() < 1e-9, "{} {}", true_objective, objective);
            for factor in factors {
                let factor = Matrix::from_vec(features, features, factor[..features * features].to_vec()).unwrap();
                let other = pair_objective(&data, &Metric::new(factor).unwrap(), variant, c);
                prop_assert!(other >= bound, "{} {}", other, bound);
            }
        }
    }
}
