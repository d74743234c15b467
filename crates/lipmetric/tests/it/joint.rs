//! Distance and function chosen together: what is promised of the choice, and that it holds.

use lipmetric::classify::{KernelChoice, Reading, SmoothSpec};
use lipmetric::data::{Column, Table};
use lipmetric::method::{Auto, Euclidean, MetricKind, Score, Spec};
use lipmetric::model::{Classifier, ClassifierSpec, Recipe, Rows};
use lipmetric::prepare::{Dataset, Fill, Roles, Scaling};
use lipmetric::robust::Radius;
use lipmetric::solver::{Halt, Observer, Progress, Silent};
use lipmetric::{Error, Model};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::ops::ControlFlow;

/// Uniform rows in [-1, 1]^p and a class each.
fn data(n: usize, p: usize, seed: u64, class: impl Fn(&[f64], &mut ChaCha8Rng) -> u32) -> Dataset {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let rows: Vec<Vec<f64>> = (0..n).map(|_| (0..p).map(|_| 2.0 * rng.random::<f64>() - 1.0).collect()).collect();
    let classes: Vec<String> = rows.iter().map(|row| class(row, &mut rng).to_string()).collect();
    let column = |k: usize| Column::numbers(format!("x{k}"), rows.iter().map(|row| row[k]).collect());
    let mut columns: Vec<Column> = (0..p).map(column).collect();
    columns.push(Column::texts("class", classes));
    Dataset::read(&Table::new("rows", columns), &Roles::default()).unwrap()
}

fn fit(spec: &Spec, classifier: ClassifierSpec, data: &Dataset) -> Model {
    Recipe::new(spec).predicting(classifier).fit(data, None, &mut Silent).unwrap()
}

fn few() -> Spec {
    Auto::new().metrics(vec![MetricKind::Within]).into()
}

#[test]
fn what_is_expected_of_labels_that_are_noise_is_chance_however_much_is_tried() {
    let mut mean = 0.0;
    for seed in 0..6 {
        let noise = data(120, 4, seed, |_, rng| rng.random_range(0..2));
        let choice = fit(&few(), ClassifierSpec::Auto, &noise).outcome.choice.unwrap();
        assert!(choice.chosen.accuracy >= choice.reference - 0.1);
        mean += choice.estimate.unwrap() / 6.0;
    }
    assert!((mean - 0.5).abs() < 0.06, "{mean}");
}

#[test]
fn the_same_model_comes_from_any_number_of_threads() {
    let rows = data(150, 3, 5, |x, _| u32::from(x[0] * x[1] > 0.0));
    let spec = Auto::new().into();
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fit(&spec, ClassifierSpec::Auto, &rows))
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn a_smooth_border_is_found_by_a_smooth_function_and_its_probabilities_are_honest() {
    // A noisy border: votes and smooth functions can both learn it; the probability of the class is known.
    let noisy = |x: &[f64], rng: &mut ChaCha8Rng| u32::from(1.5 * (x[0] + x[1]) + rng.random::<f64>() - 0.5 > 0.0);
    let (train, test) = (data(300, 4, 1, noisy), data(1000, 4, 2, noisy));
    let model = fit(&few(), ClassifierSpec::Auto, &train);
    assert!(matches!(model.classifier, Classifier::Smooth(_)), "{}", model.classifier);
    let prepared = model.preparation.apply(&test.columns).unwrap();
    let shares = model.shares(lipmetric::model::Rows::Prepared(&prepared)).unwrap().unwrap();
    let told = lipmetric::evaluate::Reliability::of(&shares, test.labels.codes()).unwrap();
    assert!(told.calibration_error < 0.06 && told.auc.unwrap() > 0.9, "{told:?}");
}

#[test]
fn a_class_between_others_is_found_and_its_radii_hold() {
    // Three shells around the same place: the middle one's function is large nowhere.
    let data = data(240, 5, 8, |z, _| {
        let far: f64 = z.iter().map(|v| v * v).sum();
        if far < 1.2 {
            0
        } else if far < 2.0 {
            1
        } else {
            2
        }
    });
    let euclid: Spec = Euclidean::new().into();
    for kernel in [KernelChoice::Laplace, KernelChoice::Gaussian] {
        let mut smooth = SmoothSpec::default();
        smooth.kernel = kernel;
        let model = fit(&euclid, ClassifierSpec::Smooth(smooth), &data);
        let Classifier::Smooth(smoothing) = &model.classifier else { panic!() };
        assert_eq!((smoothing.smoothness.reading, smoothing.offsets.len()), (Reading::Discriminant, 3));
        let rows = model.training.as_ref().unwrap().x.clone();
        let certified = model.certify(Rows::Prepared(&rows), Radius::default()).unwrap();
        assert!(certified.iter().filter(|c| c.1 > 0.01).count() > 120, "{kernel:?}");
        let right = certified.iter().zip(data.labels.codes()).filter(|((label, _), code)| label == *code).count();
        assert!(right > 200, "{kernel:?}: {right}");
        for k in 0..10 {
            let mut moved = rows.clone();
            for (i, (_, radius)) in certified.iter().enumerate() {
                moved.row_mut(i)[k / 2] += if k % 2 == 0 { 0.999 } else { -0.999 } * radius.min(100.0);
            }
            let again = model.predict(Rows::Prepared(&moved)).unwrap();
            again.iter().zip(&certified).for_each(|(a, b)| assert_eq!(*a, b.0, "{kernel:?}, step {k}"));
        }
    }
}

#[test]
fn every_score_can_be_chosen_by_and_a_rare_class_counts_where_it_is_asked_for() {
    let rare = |x: &[f64], rng: &mut ChaCha8Rng| u32::from(x[0] > 0.6 && rng.random::<f64>() < 0.6);
    let rows = data(200, 3, 3, rare);
    for score in [Score::Balanced, Score::LogLoss, Score::Auc] {
        let spec = Auto::new().score(score).metrics(vec![MetricKind::Within]).into();
        let choice = fit(&spec, ClassifierSpec::Auto, &rows).outcome.choice.unwrap();
        let estimate = choice.estimate.unwrap();
        assert!(estimate > 0.6 && estimate < 1.0, "{score}: {estimate}");
        let range = if score == Score::LogLoss { -0.7..0.0 } else { 0.5..1.0 };
        assert!(range.contains(&choice.score.unwrap()), "{score}: {:?}", choice.score);
    }
    assert_eq!(fit(&few(), ClassifierSpec::Auto, &rows).outcome.choice.unwrap().score, None);
}

#[test]
fn rows_that_do_not_count_have_no_part_in_a_smooth_function() {
    let right = |x: &[f64]| u32::from(x[0] > 0.0);
    // The same rows twice; in one third of the square the labels are wrong.
    let clean = data(200, 2, 8, |x, _| right(x));
    let wrong = data(200, 2, 8, |x, _| if x[1] > 0.3 { 1 - right(x) } else { right(x) });
    let test = data(300, 2, 9, |x, _| right(x));
    let names = |data: &Dataset, codes: &[u32]| -> Vec<String> {
        codes.iter().map(|&c| data.labels.classes()[c as usize].clone()).collect()
    };
    let (a, b) = (names(&clean, clean.labels.codes()), names(&wrong, wrong.labels.codes()));
    let weights: Vec<f64> = a.iter().zip(&b).map(|(a, b)| f64::from(u8::from(a == b))).collect();
    for spec in [Euclidean::new().into(), few()] {
        let smooth = ClassifierSpec::Smooth(SmoothSpec::default());
        let accuracy = |weights: Option<&[f64]>| {
            let recipe = Recipe::new(&spec).predicting(smooth).weighing(weights);
            let model = recipe.fit(&wrong, None, &mut Silent).unwrap();
            let prepared = model.preparation.apply(&test.columns).unwrap();
            let told = model.predict(lipmetric::model::Rows::Prepared(&prepared)).unwrap();
            let told: Vec<String> = told.iter().map(|&c| model.classes[c as usize].clone()).collect();
            let truth = names(&test, test.labels.codes());
            told.iter().zip(&truth).filter(|(a, b)| a == b).count() as f64 / 300.0
        };
        let (counted, all) = (accuracy(Some(&weights)), accuracy(None));
        assert!(counted > 0.9 && all < 0.8, "{counted} and {all}");
    }
}

#[test]
fn a_spec_of_an_older_file_is_read_and_a_wrong_family_refused() {
    let old: Spec = serde_json::from_str(r#"{"method": "auto", "seed": 3}"#).unwrap();
    assert_eq!(old, Auto::new().seed(3).into());
    let wrong = Auto::new().metrics(vec![MetricKind::LipD]).into();
    let rows = data(40, 2, 1, |x, _| u32::from(x[0] > 0.0));
    let refused = Recipe::new(&wrong).predicting(ClassifierSpec::Auto).fit(&rows, None, &mut Silent).unwrap_err();
    assert!(matches!(&refused, Error::Parameter { .. }), "{refused}");
}

/// Stops a fit after some steps.
struct Impatient(usize);

impl Observer for Impatient {
    fn progress(&mut self, _: &Progress) -> ControlFlow<Halt> {
        self.0 = self.0.saturating_sub(1);
        if self.0 == 0 { ControlFlow::Break(Halt::TimeLimit) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn a_fit_that_is_stopped_has_a_model_that_predicts() {
    let rows = data(90, 3, 4, |x, _| u32::from(x[0] > 0.1));
    let spec: Spec = Auto::new().into();
    for steps in [1, 200] {
        for classifier in
            [ClassifierSpec::Auto, ClassifierSpec::Smooth(SmoothSpec::default()), ClassifierSpec::default()]
        {
            let recipe = Recipe::new(&spec).predicting(classifier);
            let model = recipe.fit(&rows, None, &mut Impatient(steps)).unwrap();
            let prepared = model.preparation.apply(&rows.columns).unwrap();
            let told = model.predict(lipmetric::model::Rows::Prepared(&prepared)).unwrap();
            let right = told.iter().zip(rows.labels.codes()).filter(|(a, b)| a == b).count();
            assert!(right > 70, "{right} of 90 after {steps} steps");
        }
    }
}

#[test]
fn of_many_rows_the_choice_is_judged_again_with_all_of_them() {
    let cells = |x: &[f64], _: &mut ChaCha8Rng| ((6.0 * (x[0] + 1.0)) as u32 + (6.0 * (x[1] + 1.0)) as u32) % 2;
    let (train, test) = (data(2500, 2, 7, cells), data(1500, 2, 8, cells));
    let model = fit(&few(), ClassifierSpec::Auto, &train);
    let choice = model.outcome.choice.as_ref().unwrap();
    assert_eq!((choice.folds, choice.rows), (1, 500));
    let prepared = model.preparation.apply(&test.columns).unwrap();
    let told = model.predict(lipmetric::model::Rows::Prepared(&prepared)).unwrap();
    let right = told.iter().zip(test.labels.codes()).filter(|(a, b)| a == b).count() as f64 / 1500.0;
    let expected = choice.estimate.unwrap();
    assert!((right - expected).abs() < 0.05, "expected {expected}, found {right}");
}

#[test]
fn a_choice_that_ends_before_two_folds_are_done_has_no_estimate() {
    let rows = data(90, 3, 4, |x, _| u32::from(x[0] > 0.1));
    let spec: Spec = Auto::new().metrics(vec![MetricKind::LipLocal]).into();
    let (mut with, mut without) = (0, 0);
    for steps in (30..1500).step_by(30) {
        let recipe = Recipe::new(&spec).predicting(ClassifierSpec::Auto);
        let model = recipe.fit(&rows, None, &mut Impatient(steps)).unwrap();
        match model.outcome.choice.as_ref().filter(|choice| choice.rows > 0).map(|choice| choice.estimate) {
            Some(Some(estimate)) => {
                assert!(estimate > 0.5, "{estimate} after {steps} steps");
                with += 1;
            }
            Some(None) => without += 1,
            None => {}
        }
    }
    assert!(with > 0 && without > 0, "{with} {without}");
}

/// The same rows with every feature bent by a function, and the classes of the rows before that.
fn bent(n: usize, seed: u64, bend: impl Fn(f64) -> f64) -> Dataset {
    let class =
        |x: &[f64], rng: &mut ChaCha8Rng| u32::from(x[0] + x[1] - x[2] * x[3] + 0.3 * rng.random::<f64>() > 0.1);
    let plain = data(n, 5, seed, class);
    let numbers = |cells: &lipmetric::prepare::Cells| match cells {
        lipmetric::prepare::Cells::Number(values) => values.iter().map(|v| bend(*v)).collect(),
        _ => Vec::new(),
    };
    let mut columns: Vec<Column> =
        plain.columns.cells().iter().enumerate().map(|(k, c)| Column::numbers(format!("x{k}"), numbers(c))).collect();
    let names = plain.labels.codes().iter().map(|&c| plain.labels.classes()[c as usize].clone());
    columns.push(Column::texts("class", names));
    Dataset::read(&Table::new("rows", columns), &Roles::default()).unwrap()
}

#[test]
fn ranks_are_taken_where_tails_are_heavy_and_not_where_they_are_not() {
    let model = fit(&few(), ClassifierSpec::Auto, &bent(240, 4, |v| (7.0 * v).exp()));
    let choice = model.outcome.choice.as_ref().unwrap().scaling.clone().unwrap();
    assert_eq!((choice.scaling, model.preparation.scaling()), (Scaling::Quantile, Scaling::Quantile));
    assert!(choice.quantile > choice.standard + choice.standard_error, "{choice:?}");
    // The estimate is of the model that is delivered.
    let fresh = bent(600, 5, |v| (7.0 * v).exp());
    let prepared = model.preparation.apply(&fresh.columns).unwrap();
    let told = model.predict(lipmetric::model::Rows::Prepared(&prepared)).unwrap();
    let named = |codes: &[u32], names: &[String]| codes.iter().map(|&c| names[c as usize].clone()).collect::<Vec<_>>();
    let (told, truth) = (named(&told, &model.classes), named(fresh.labels.codes(), fresh.labels.classes()));
    let right = told.iter().zip(&truth).filter(|(a, b)| a == b).count() as f64 / 600.0;
    let estimate = model.outcome.choice.as_ref().unwrap().estimate.unwrap();
    assert!((right - estimate).abs() < 0.08, "{right} and {estimate}");

    let plain = bent(240, 4, |v| v);
    let chosen = fit(&few(), ClassifierSpec::Auto, &plain);
    let mut named = Recipe::new(&few())
        .predicting(ClassifierSpec::Auto)
        .prepared(Fill::Median, Scaling::Standard)
        .fit(&plain, None, &mut Silent)
        .unwrap();
    let scaling = chosen.outcome.choice.as_ref().unwrap().scaling.clone();
    assert_eq!(scaling.as_ref().unwrap().scaling, Scaling::Standard);
    // What was named is not chosen; else it is the same model.
    assert_eq!(named.outcome.choice.as_ref().unwrap().scaling, None);
    named.outcome.choice.as_mut().unwrap().scaling = scaling;
    assert_eq!(chosen, named);
}

#[test]
fn votes_judge_scalings_where_votes_alone_are_wanted() {
    let vote = ClassifierSpec::Vote { k: lipmetric::classify::K::Auto, weights: lipmetric::classify::Weights::Uniform };
    let model = fit(&few(), vote, &bent(240, 4, |v| (7.0 * v).exp()));
    assert_eq!(model.preparation.scaling(), Scaling::Quantile);
    assert!(matches!(model.classifier, Classifier::Vote(_)));
    // Other methods do not choose.
    let model = fit(&Euclidean::new().into(), vote, &bent(60, 4, |v| (7.0 * v).exp()));
    assert_eq!(model.preparation.scaling(), Scaling::Standard);
}

#[test]
fn rows_that_are_not_fitted_have_no_part_in_the_choice_of_a_scaling() {
    let all = bent(160, 6, |v| (5.0 * v).exp());
    let rows: Vec<usize> = (0..160).filter(|i| i % 3 != 0).collect();
    let other = |i: usize, v: f64| if i.is_multiple_of(3) { -1e6 * v } else { v };
    let mut columns: Vec<Column> = Vec::new();
    for (k, cells) in all.columns.cells().iter().enumerate() {
        let lipmetric::prepare::Cells::Number(values) = cells else { continue };
        columns.push(Column::numbers(format!("x{k}"), values.iter().enumerate().map(|(i, v)| other(i, *v)).collect()));
    }
    let names = all.labels.codes().iter().map(|&c| all.labels.classes()[c as usize].clone());
    columns.push(Column::texts("class", names));
    let moved = Dataset::read(&Table::new("rows", columns), &Roles::default()).unwrap();
    let spec = few();
    let fitted = |data: &Dataset| {
        Recipe::new(&spec).predicting(ClassifierSpec::Auto).fit(data, Some(&rows), &mut Silent).unwrap()
    };
    let (a, b) = (fitted(&all), fitted(&moved));
    assert_eq!(a.outcome, b.outcome);
    assert_eq!(a.preparation.steps(), b.preparation.steps());
}
