//! The function that the paper selects: its values come with the metric or are learned for it, and a model predicts by it.

use crate::lip_common::blobs;
use lipmetric::classify::{K, Weights};
use lipmetric::data::{Column, Table};
use lipmetric::method::{ClassWeights, Euclidean, Lip, Lmnn, Method, Spec, Training};
use lipmetric::model::{Classifier, ClassifierSpec, Predictor, Recipe};
use lipmetric::prepare::{Dataset, Roles, Scaling};
use lipmetric::problem::Slack;
use lipmetric::solver::Silent;
use lipmetric::{Labels, Matrix, Metric, Model};

fn squared(metric: &Metric, x: &Matrix, i: usize, j: usize) -> f64 {
    let mapped = metric.transform(x).unwrap();
    mapped.row(i).iter().zip(mapped.row(j)).map(|(a, b)| (a - b) * (a - b)).sum()
}

fn dataset(x: &Matrix, y: &Labels) -> Dataset {
    let column = |k: usize| Column::numbers(format!("x{k}"), (0..x.rows()).map(|i| x[(i, k)]).collect());
    let mut columns: Vec<Column> = (0..x.cols()).map(column).collect();
    columns.push(Column::texts("kind", y.codes().iter().map(|&c| &y.classes()[c as usize])));
    Dataset::read(&Table::new("rows", columns), &Roles::default()).unwrap()
}

fn model(spec: &Spec, data: &Dataset, calibrate: bool) -> Model {
    let recipe = Recipe::new(spec).predicting(ClassifierSpec::Extension { alpha: 0.5, calibrate });
    recipe.fit(data, None, &mut Silent).unwrap()
}

/// `f_k` by the formula, for each class.
fn plainly(model: &Model, query: &[f64], alpha: f64) -> Vec<f64> {
    let Classifier::Extension(extending) = &model.classifier else { panic!("it predicts by the extension") };
    let rows = model.training.as_ref().unwrap();
    let (sample, values) = (model.metric.transform(&rows.x).unwrap(), rows.values.as_ref().unwrap());
    let of_class = |k: usize| {
        let (mut upper, mut lower) = (f64::INFINITY, f64::NEG_INFINITY);
        for i in 0..sample.rows() {
            let rho: f64 = sample.row(i).iter().zip(query).map(|(a, b)| (a - b) * (a - b)).sum();
            let a = if rows.y.codes()[i] as usize == k { values[i] } else { -values[i] };
            upper = upper.min(a + extending.constant * rho);
            lower = lower.max(a - extending.constant * rho);
        }
        alpha * upper + (1.0 - alpha) * lower
    };
    (0..model.classes.len()).map(of_class).collect()
}

#[test]
fn a_slack_per_row_comes_with_the_metric_and_makes_up_the_objective() {
    for (classes, lip) in
        [(2, Lip::intra()), (3, Lip::overall()), (2, Lip::intra().class_weights(ClassWeights::Given(vec![2.0, 1.0])))]
    {
        let (x, y) = blobs(60, 3, classes, 5);
        let fit = lip.fit(&Training::new(&x, &y).unwrap(), &mut Silent).unwrap();
        let slack = fit.slack.as_ref().unwrap();
        assert!(slack.len() == 60 && slack.iter().all(|xi| *xi >= 0.0));
        let weight = |i: usize| match &lip.class_weights {
            ClassWeights::Given(w) => w[y.codes()[i] as usize],
            _ => 1.0,
        };
        let mut diameter = 0.0_f64;
        for i in 0..60 {
            for j in 0..i {
                let (rho, same) = (squared(&fit.metric, &x, i, j), y.codes()[i] == y.codes()[j]);
                if !same {
                    assert!(rho + slack[i] + slack[j] >= 2.0 - 1e-9, "{i} {j}");
                }
                if same || lip.name() == "lip-d" {
                    diameter = diameter.max(rho);
                }
            }
        }
        let loss: f64 = (0..60).map(|i| weight(i) * slack[i]).sum();
        let objective = fit.outcome.objective.unwrap();
        assert!((fit.outcome.c.unwrap() * diameter + loss - objective).abs() < 1e-9 * objective);
        assert!(slack.iter().any(|xi| *xi > 0.0), "the classes overlap");
    }
    let (x, y) = blobs(40, 2, 2, 1);
    let pair = Lip::intra().slack(Slack::Pair).fit(&Training::new(&x, &y).unwrap(), &mut Silent).unwrap();
    assert_eq!(pair.slack, None);
}

#[test]
fn a_model_predicts_by_the_formula_for_every_share() {
    for classes in [2, 4] {
        let (x, y) = blobs(70, 3, classes, 11);
        let mut fitted = model(&Lip::intra().into(), &dataset(&x, &y), false);
        let (queries, _) = blobs(50, 3, classes, 12);
        for alpha in [0.5, 0.0, 0.3, 1.0] {
            let Classifier::Extension(extending) = &mut fitted.classifier else { panic!() };
            extending.alpha = alpha;
            let predictor = Predictor::new(fitted.clone()).unwrap();
            let told = predictor.explain(&queries).unwrap();
            let mapped = fitted.transform(&queries).unwrap();
            for (q, row) in told.iter().enumerate() {
                let values = plainly(&fitted, mapped.row(q), alpha);
                let last = values.len() - 1;
                assert!((row.values[last] - values[last]).abs() < 1e-9, "{:?} {values:?}", row.values);
                if classes > 2 {
                    assert!(row.values.iter().zip(&values).all(|(a, b)| (a - b).abs() < 1e-9));
                } else {
                    assert_eq!(row.values[0], -row.values[1]);
                    assert_eq!(row.label, u32::from(row.values[1] > 0.0));
                }
                let won = row.values[row.label as usize];
                assert!(row.values.iter().all(|v| *v <= won));
                assert!(row.shares.is_empty(), "not calibrated");
            }
            let labels: Vec<u32> = told.iter().map(|t| t.label).collect();
            assert_eq!(predictor.predict(&queries).unwrap(), labels);
        }
    }
}

#[test]
fn without_slacks_it_is_the_nearest_neighbour() {
    // Far apart: the optimum needs no slack.
    let (mut x, y) = blobs(40, 2, 2, 3);
    (0..40).for_each(|i| x[(i, 0)] = 0.1 * x[(i, 0)] + 50.0 * f64::from(y.codes()[i]));
    let data = dataset(&x, &y);
    let spec = Spec::from(Lip::overall().c_rel(0.01));
    let function = model(&spec, &data, false);
    assert!(function.training.as_ref().unwrap().slack().unwrap().iter().all(|xi| *xi < 1e-3));
    let votes = Recipe::new(&spec).fit(&data, None, &mut Silent).unwrap();
    let (mut queries, _) = blobs(200, 2, 2, 4);
    (0..200).for_each(|i| queries[(i, 0)] = 50.0 * i as f64 / 200.0);
    let (told, voted) = (function.explain(&queries).unwrap(), votes.predict(&queries).unwrap());
    // What is left of the slacks can only decide where both classes are equally near.
    let decided: Vec<usize> = (0..200).filter(|&q| told[q].values[1].abs() > 1e-3).collect();
    assert!(decided.len() > 190 && decided.iter().all(|&q| told[q].label == voted[q]));
}

#[test]
fn values_are_learned_for_a_metric_that_has_none() {
    let (x, y) = blobs(90, 2, 2, 7);
    let data = dataset(&x, &y);
    for spec in [
        Spec::from(Euclidean::new()),
        Lmnn::new().into(),
        Lip::intra().slack(Slack::Pair).into(),
        Lip::intra().slack(Slack::Pair).class_weights(ClassWeights::Balanced).into(),
    ] {
        let fitted = model(&spec, &data, true);
        let Classifier::Extension(extending) = &fitted.classifier else { panic!() };
        assert_eq!(matches!(spec, Spec::Lip(_)), extending.constant == 1.0, "{}", spec.name());
        let rows = fitted.training.as_ref().unwrap();
        let slack = rows.slack().unwrap();
        for i in 0..90 {
            for j in (0..i).filter(|&j| rows.y.codes()[i] != rows.y.codes()[j]) {
                let rho = extending.constant * squared(&fitted.metric, &rows.x, i, j);
                assert!(rho + slack[i] + slack[j] >= 2.0 - 1e-9);
            }
        }
        assert!(fitted.outcome.notes.iter().any(|n| n.contains("linear program")), "{:?}", fitted.outcome.notes);
        for told in fitted.explain(&x).unwrap() {
            assert!((told.shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(told.shares.iter().all(|p| *p > 0.0 && *p < 1.0));
        }
    }
}

#[test]
fn a_wrong_label_is_found_and_overruled() {
    let (mut x, y) = blobs(80, 2, 2, 9);
    (0..80).for_each(|i| x[(i, 0)] += 12.0 * f64::from(y.codes()[i]));
    let mut codes = y.codes().to_vec();
    codes[17] = 1 - codes[17];
    let wrong = Labels::from_codes(y.classes().to_vec(), codes).unwrap();
    let spec = Spec::from(Lip::intra().c_rel(0.3));
    let fitted = model(&spec, &dataset(&x, &wrong), false);
    let slack = fitted.training.as_ref().unwrap().slack().unwrap();
    let largest = (0..80).max_by(|&a, &b| slack[a].total_cmp(&slack[b])).unwrap();
    assert!(largest == 17 && slack[17] > 1.0, "{} {}", largest, slack[17]);
    let query = Matrix::from_vec(1, 2, x.row(17).to_vec()).unwrap();
    assert_eq!(fitted.predict(&query).unwrap(), [y.codes()[17]], "the function knows better than the label");
    let votes = Recipe::new(&spec).fit(&dataset(&x, &wrong), None, &mut Silent).unwrap();
    assert_eq!(votes.predict(&query).unwrap(), [wrong.codes()[17]], "the nearest row is itself");
    assert_eq!(fitted.training.as_ref().unwrap().place(17), "row 18");
}

#[test]
fn what_is_chosen_is_chosen_by_the_function() {
    let (x, y) = blobs(60, 2, 2, 21);
    let data = Training::new(&x, &y).unwrap();
    let lip = Lip::intra().trade_off(lipmetric::method::Choose::Auto);
    let function = lip.fit(&data.with_extension(0.5), &mut Silent).unwrap().outcome.choice.unwrap();
    let votes = lip.fit(&data, &mut Silent).unwrap().outcome.choice.unwrap();
    assert_eq!((function.chosen.k, votes.chosen.k), (None, Some(1)));
    assert!(function.rows == 60 && function.tried.iter().all(|t| t.k.is_none()));
    let scores = |choice: &lipmetric::method::Choice| choice.tried.iter().map(|t| t.accuracy).collect::<Vec<_>>();
    assert_ne!(scores(&function), scores(&votes));
}

#[test]
fn what_the_function_cannot_do_is_refused() {
    let (x, y) = blobs(30, 2, 2, 2);
    let data = dataset(&x, &y);
    let recipe = |classifier| {
        Recipe::new(&Lip::intra().into())
            .prepared(lipmetric::prepare::Fill::Mean, Scaling::None)
            .predicting(classifier)
            .fit(&data, None, &mut Silent)
    };
    let outside = recipe(ClassifierSpec::Extension { alpha: 1.5, calibrate: false }).unwrap_err();
    assert!(outside.to_string().contains("alpha"), "{outside}");
    let fitted = recipe(ClassifierSpec::Extension { alpha: 0.5, calibrate: false }).unwrap();
    let skewed = recipe(ClassifierSpec::Extension { alpha: 0.2, calibrate: false }).unwrap();
    assert!(skewed.radii(&x).unwrap_err().to_string().contains("alpha"));
    let mut bare = fitted.clone();
    bare.training.as_mut().unwrap().values = None;
    assert!(bare.predict(&x).unwrap_err().to_string().contains("no values"));
    let mut rows = fitted.training.clone().unwrap();
    rows.values = Some(vec![f64::NAN; 30]);
    assert!(fitted.clone().with_training(rows).is_err());
    let votes = recipe(ClassifierSpec::Vote { k: K::Fixed(1), weights: Weights::Uniform }).unwrap();
    assert!(votes.training.unwrap().values.is_some(), "kept for those who look for wrong labels");
}
