//! Every parameter of every method, at values other than its default.

use crate::lip_common::blobs;
use lipmetric::Labels;
use lipmetric::method::{ClassWeights, Init, Method, Solver, Spec, TradeOff, Training};
use lipmetric::problem::{Anchor, Diameter, Slack, Towards, Variant};
use lipmetric::solver::{Silent, Status};
use serde_json::{Value, json};

/// Values to try of a parameter, each with what it needs of the others.
fn values(name: &str) -> Vec<(Value, Value)> {
    let alone = |values: Vec<Value>| values.into_iter().map(|v| (v, json!({}))).collect();
    match name {
        "alpha" => alone(vec![json!(0.3)]),
        "anchor" => {
            alone([Towards::Euclid, Towards::Within].map(|towards| json!(Anchor { towards, weight: 0.2 })).to_vec())
        }
        "c_rel" => alone(vec![json!(0.5)]),
        "bounds" => alone(vec![json!([0.5, 2.0])]),
        "class_weights" => alone(vec![json!(ClassWeights::Balanced), json!(ClassWeights::Given(vec![1.0, 2.0]))]),
        "diameter" => alone(vec![json!(Diameter::Mean), json!(Diameter::Cvar(0.3)), json!("auto")]),
        "euclid" => alone(vec![json!(0.0), json!(0.6)]),
        "gamma" => alone(vec![json!(0.5)]),
        "held_out" => alone(vec![json!(0), json!(1)]),
        "init" => alone([Init::Identity, Init::Pca, Init::Lda, Init::Random(4)].map(|i| json!(i)).to_vec()),
        "loss" => alone(vec![json!("log")]),
        "max_iterations" => alone(vec![json!(5)]),
        "memory" => alone(vec![json!(1 << 24)]),
        "metrics" => alone(vec![json!(["within", "agop"])]),
        "mu" => vec![(json!(0.5), json!({ "solver": Solver::Paper, "slack": Slack::Pair }))],
        "n_components" => alone(vec![json!(1)]),
        "n_constraints" => alone(vec![json!(12)]),
        "neighbours" => alone(vec![json!(2)]),
        "penalty" => alone(vec![json!(0.1)]),
        "push" => alone(vec![json!(0.3)]),
        "rank" => vec![(json!("auto"), json!({})), (json!(1), json!({ "solver": Solver::Augmented }))],
        "ridge" => alone(vec![json!(0.1)]),
        "robust" => alone(vec![json!(0.2)]),
        "rounds" => alone(vec![json!(1)]),
        "score" => alone(["balanced", "log-loss", "auc"].map(|s| json!(s)).to_vec()),
        "seed" | "triplet_seed" => alone(vec![json!(7)]),
        "shrinkage" => alone(vec![json!(0.5)]),
        // With a slack per row there are fewer hinges, and LMNN must push more.
        "slack" => [Slack::Pair, Slack::Instance].map(|s| (json!(s), json!({ "push": 0.9 }))).to_vec(),
        "solver" => {
            let mut all = alone([Solver::Exact, Solver::Augmented, Solver::Admm].map(|s| json!(s)).to_vec());
            all.push((json!(Solver::Paper), json!({ "slack": Slack::Pair })));
            all
        }
        "targets" => alone(vec![json!(1)]),
        "tolerance" => alone(vec![json!(1e-2)]),
        "trade_off" => alone(vec![json!(TradeOff::Relative(0.3)), json!(TradeOff::Absolute(0.02)), json!("auto")]),
        "variant" => alone(vec![json!(Variant::Diameter), json!("auto")]),
        "width" => alone(vec![json!(0.7)]),
        other => panic!("`{other}` is new: give it values here"),
    }
}

#[test]
fn every_parameter_of_every_method_is_read_kept_and_fitted() {
    let (x, y) = blobs(24, 2, 2, 5);
    let numbers = Labels::from_numbers((0..24).map(|i| x[(i, 0)] - x[(i, 1)]).collect()).unwrap();
    for plain in Spec::all() {
        let data = Training::new(&x, if plain.name() == "mlkr" { &numbers } else { &y }).unwrap();
        let defaults = serde_json::to_value(&plain).unwrap();
        for field in plain.fields() {
            for (value, others) in values(field.name) {
                // Of pairs the diameter is their mean or the longest, and some of it is Euclidean.
                if plain.name() == "lip-pairs"
                    && [json!("auto"), json!(Diameter::Cvar(0.3)), json!(0.0)].contains(&value)
                {
                    continue;
                }
                let mut given = defaults.clone();
                for (other, value) in others.as_object().unwrap() {
                    if given.get(other).is_some() {
                        given[other] = value.clone();
                    }
                }
                given[field.name] = value.clone();
                let told = format!("{} with {} = {value}", plain.name(), field.name);
                let spec: Spec = serde_json::from_value(given).unwrap_or_else(|e| panic!("{told}: {e}"));
                spec.check().unwrap_or_else(|e| panic!("{told}: {e}"));
                assert_eq!(serde_json::to_value(&spec).unwrap()[field.name], value, "{told}");
                let fit = spec.fit(&data, &mut Silent).unwrap_or_else(|e| panic!("{told}: {e}"));
                let outcome = &fit.outcome;
                assert!(fit.metric.factor().first_non_finite().is_none() && fit.metric.features() == 2, "{told}");
                assert_ne!(outcome.status, Status::Inconsistent, "{told}");
                if let (Some(objective), Some(bound)) = (outcome.objective, outcome.dual) {
                    assert!(bound <= objective * (1.0 + 1e-12), "{told}: {objective} {bound}");
                }
                if field.name == "n_components" || value == json!(1) && field.name == "rank" {
                    assert_eq!(fit.metric.rank(), 1, "{told}");
                }
            }
        }
    }
}
