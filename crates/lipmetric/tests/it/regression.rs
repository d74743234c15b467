//! Numbers in place of classes: what is predicted, certified, expected and refused.

use lipmetric::classify::{K, SmoothSpec, Weights};
use lipmetric::data::{Column, Table, Task, folds};
use lipmetric::evaluate::Trial;
use lipmetric::method::{Agop, Auto, Euclidean, Lmnn, Method, MetricKind, Mlkr, Nca, Score, Spec, Training};
use lipmetric::model::{Classifier, ClassifierSpec, Predictor, Recipe};
use lipmetric::prepare::{ColumnRef, Dataset, Roles};
use lipmetric::robust::{Norm, Radius, Space};
use lipmetric::solver::Silent;
use lipmetric::{Labels, Matrix, Model};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const VOTE: ClassifierSpec = ClassifierSpec::Vote { k: K::Auto, weights: Weights::Uniform };
const EXTENSION: ClassifierSpec = ClassifierSpec::Extension { alpha: 0.5, calibrate: true };

fn smooth() -> ClassifierSpec {
    ClassifierSpec::Smooth(SmoothSpec::default())
}

fn roles() -> Roles {
    Roles { task: Task::Regression, ..Roles::default() }
}

/// Uniform rows in [-1, 1]^p and a number each.
fn table(n: usize, p: usize, seed: u64, number: impl Fn(&[f64], &mut ChaCha8Rng) -> f64) -> Table {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let rows: Vec<Vec<f64>> = (0..n).map(|_| (0..p).map(|_| 2.0 * rng.random::<f64>() - 1.0).collect()).collect();
    let numbers = rows.iter().map(|row| number(row, &mut rng)).collect();
    let column = |k: usize| Column::numbers(format!("x{k}"), rows.iter().map(|row| row[k]).collect());
    let mut columns: Vec<Column> = (0..p).map(column).collect();
    columns.push(Column::numbers("y", numbers));
    Table::new("rows", columns)
}

/// A function of one of several features, and noise.
fn wave(x: &[f64], rng: &mut ChaCha8Rng) -> f64 {
    50.0 + 3.0 * (3.0 * x[0]).sin() + 0.5 * (rng.random::<f64>() - 0.5)
}

fn data(n: usize, p: usize, seed: u64) -> Dataset {
    Dataset::read(&table(n, p, seed, wave), &roles()).unwrap()
}

fn fit(spec: impl Into<Spec>, classifier: ClassifierSpec, data: &Dataset) -> Model {
    Recipe::new(&spec.into()).predicting(classifier).fit(data, None, &mut Silent).unwrap()
}

/// R2 on other rows of the same kind.
fn r2(model: &Model, p: usize) -> f64 {
    let test = table(400, p, 999, wave);
    let truth = Dataset::read(&test, &roles()).unwrap().labels.numbers().unwrap().to_vec();
    let said = model.estimate(&test).unwrap();
    let mean = truth.iter().sum::<f64>() / 400.0;
    let squares = |of: &dyn Fn(usize) -> f64| (0..400).map(|i| (truth[i] - of(i)).powi(2)).sum::<f64>();
    1.0 - squares(&|i| said[i]) / squares(&|_| mean)
}

#[test]
fn learned_distances_predict_a_function_of_one_feature_among_many_better_than_the_euclidean() {
    let rows = data(200, 5, 1);
    for classifier in [VOTE, EXTENSION, smooth()] {
        let plain = r2(&fit(Euclidean::new(), classifier, &rows), 5);
        for spec in [Spec::from(Agop::new()), Mlkr::new().max_iterations(40).into()] {
            let learned = r2(&fit(spec.clone(), classifier, &rows), 5);
            assert!(learned > plain + 0.1 && learned > 0.85, "{classifier:?} {spec:?}: {plain} {learned}");
        }
    }
}

#[test]
fn auto_learns_a_distance_and_says_what_to_expect() {
    let rows = data(300, 6, 1);
    let model = fit(Auto::new(), ClassifierSpec::Auto, &rows);
    let choice = model.outcome.choice.clone().unwrap();
    assert_eq!((model.task, choice.chosen.metric == MetricKind::Euclidean), (Task::Regression, false));
    let found = r2(&model, 6);
    let expected = choice.estimate.unwrap();
    assert!(found > 0.95 && (found - expected).abs() < 0.03, "{found} {expected}");
    let mae = choice.absolute_error.unwrap();
    assert!((0.12..0.3).contains(&mae), "{mae}");
    // Noise is not to be explained, however much is tried.
    let noise = table(150, 4, 3, |_, rng| rng.random::<f64>());
    let choice = fit(Auto::new(), ClassifierSpec::Auto, &Dataset::read(&noise, &roles()).unwrap()).outcome.choice;
    let estimate = choice.unwrap().estimate.unwrap();
    assert!(estimate < 0.1, "{estimate}");
}

#[test]
fn no_row_within_the_length_leaves_the_certified_range() {
    let rows = data(120, 3, 5);
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let classifiers = [VOTE, ClassifierSpec::Vote { k: K::Fixed(3), weights: Weights::Distance }, EXTENSION, smooth()];
    for classifier in classifiers {
        let predictor = Predictor::new(fit(Agop::new(), classifier, &rows)).unwrap();
        let model = predictor.model();
        let at = Matrix::from_rows(&[[0.1, -0.3, 0.7], [0.8, 0.2, -0.5]]);
        for (norm, space) in [(Norm::L2, Space::Prepared), (Norm::Linf, Space::Input), (Norm::L2, Space::Learned)] {
            let length = 0.2;
            let ranges = predictor.ranges(&at, Radius::new(norm, space), length).unwrap();
            let units = model.preparation.units();
            for (i, (low, high)) in ranges.into_iter().enumerate() {
                for _ in 0..60 {
                    let mut step: Vec<f64> = (0..3).map(|_| 2.0 * rng.random::<f64>() - 1.0).collect();
                    // In the units of the input, a step of this norm; in the learned distance, scaled to its length.
                    let per = |k: usize| if space == Space::Input { 1.0 } else { 1.0 / units[k].unwrap() };
                    let size = match space {
                        Space::Learned => {
                            let mapped = |by: &[f64]| {
                                let row: Vec<f64> = (0..3).map(|k| at[(i, k)] + by[k]).collect();
                                model.transform(&Matrix::from_vec(1, 3, row).unwrap()).unwrap()
                            };
                            let (a, b) = (mapped(&[0.0; 3]), mapped(&step));
                            let d = a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).powi(2));
                            d.sum::<f64>().sqrt()
                        }
                        _ if norm == Norm::Linf => step.iter().fold(0.0, |m: f64, v| m.max(v.abs())),
                        _ => step.iter().enumerate().map(|(k, v)| (v * per(k)).powi(2)).sum::<f64>().sqrt(),
                    };
                    step.iter_mut().for_each(|v| *v *= 0.999 * length / size);
                    let row: Vec<f64> = (0..3).map(|k| at[(i, k)] + step[k]).collect();
                    let found = predictor.estimate(&Matrix::from_vec(1, 3, row).unwrap()).unwrap()[0];
                    assert!(
                        low - 1e-9 <= found && found <= high + 1e-9,
                        "{classifier:?} {space:?}: {low} {found} {high}"
                    );
                }
            }
        }
        assert!(predictor.ranges(&at, Radius::new(Norm::L2, Space::Prepared), -1.0).is_err());
    }
}

#[test]
fn the_extension_has_its_constant_and_a_chosen_one_smooths_noise() {
    let noisy = table(300, 1, 2, |x, rng| 2.0 * x[0] + 2.0 * (rng.random::<f64>() - 0.5));
    let model = fit(Euclidean::new(), EXTENSION, &Dataset::read(&noisy, &roles()).unwrap());
    let Classifier::Extension(extending) = &model.classifier else { panic!("{:?}", model.classifier) };
    let queries = Matrix::from_vec(200, 1, (0..200).map(|i| f64::from(i) / 100.0 - 1.0).collect()).unwrap();
    let (said, mapped) = (model.estimate(&queries).unwrap(), model.transform(&queries).unwrap());
    for i in 1..200 {
        let apart = (mapped[(i, 0)] - mapped[(i - 1, 0)]).abs();
        assert!((said[i] - said[i - 1]).abs() <= extending.constant * apart + 1e-9);
    }
    let worst = (0..200).map(|i| (said[i] - 2.0 * queries[(i, 0)]).abs()).fold(0.0, f64::max);
    assert!(worst < 0.8, "noise of up to 1 is smoothed: {worst}");
}

#[test]
fn numbers_are_judged_on_rows_that_were_not_seen() {
    let rows = data(150, 3, 4);
    let spec = Spec::from(Agop::new());
    let recipe = Recipe::new(&spec).predicting(smooth());
    for split in folds(&rows.labels, 3, 0).unwrap() {
        let trial = Trial::run(&recipe, &rows, &split, &mut Silent).unwrap();
        let errors = trial.errors.unwrap();
        assert_eq!((errors.n, trial.score()), (50, errors.r2));
        assert!(errors.r2 > 0.9 && errors.mae < errors.rmse && errors.rmse < errors.mean_rmse, "{errors:?}");
    }
}

#[test]
fn many_rows_are_chosen_for_on_a_sample_and_predicted_by_all() {
    let rows = data(2600, 4, 6);
    let model = fit(Auto::new(), ClassifierSpec::Auto, &rows);
    let choice = model.outcome.choice.as_ref().unwrap();
    assert!(r2(&model, 4) > 0.97, "{}", r2(&model, 4));
    assert!((r2(&model, 4) - choice.estimate.unwrap()).abs() < 0.03 && choice.absolute_error.is_some());
}

#[test]
fn what_numbers_cannot_be_used_for_is_refused_with_the_remedy() {
    let rows = data(60, 2, 1);
    let refused =
        |spec: Spec| Recipe::new(&spec).predicting(VOTE).fit(&rows, None, &mut Silent).unwrap_err().to_string();
    for spec in [Spec::from(Lmnn::new()), Nca::new().into()] {
        let said = refused(spec);
        assert!(said.contains("learns from classes") && said.contains("agop"), "{said}");
    }
    assert!(refused(Auto::new().score(Score::Balanced).into()).contains("score of classes"));
    assert!(refused(Auto::new().metrics(vec![MetricKind::Within]).into()).contains("agop, mlkr"));
    let x = Matrix::from_rows(&[[0.0], [1.0]]);
    let y = Labels::from_names(["a", "b"]);
    let said = Mlkr::new().fit(&Training::new(&x, &y).unwrap(), &mut Silent).unwrap_err().to_string();
    assert!(said.contains("numbers"), "{said}");
    // A model of numbers has no classes, and the other way round.
    let model = fit(Euclidean::new(), VOTE, &rows);
    let query = Matrix::from_rows(&[[0.0, 0.0]]);
    assert!(model.predict(&query).unwrap_err().to_string().contains("numbers"));
    assert!(model.radii(&query).is_err() && model.shares(&query).is_err());
    assert_eq!(model.neighbours(&query, 2).unwrap().len(), 1);
}

#[test]
fn a_target_that_is_no_class_is_recognised_and_one_that_is_no_number_refused() {
    let numbers = table(60, 2, 1, wave);
    let said = Dataset::read(&numbers, &Roles::default()).unwrap_err().to_string();
    assert!(said.contains("hardly a class") && said.contains("task = regression"), "{said}");
    let text = Table::new("t", vec![Column::numbers("x", vec![1.0, 2.0]), Column::texts("y", ["3.5", "red"])]);
    let said = Dataset::read(&text, &roles()).unwrap_err().to_string();
    assert!(said.contains("`red` is not a number") && said.contains("row 2"), "{said}");
    let same = Table::new("t", vec![Column::numbers("x", vec![1.0, 2.0]), Column::numbers("y", vec![3.0, 3.0])]);
    assert!(Dataset::read(&same, &roles()).unwrap_err().to_string().contains("the same target"));
    let by_name = Roles { label: Some(ColumnRef::new("x0")), ..roles() };
    assert_eq!(Dataset::read(&numbers, &by_name).unwrap().labels.len(), 60);
}
