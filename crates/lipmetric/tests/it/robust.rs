//! Certified radii by hyperplanes: against the formulas written out, and attacked.

use lipmetric::classify::{K, SmoothSpec, Weights};
use lipmetric::data::{Column, Table};
use lipmetric::method::Euclidean;
use lipmetric::model::{ClassifierSpec, Model, Predictor, Recipe, Rows};
use lipmetric::prepare::{Dataset, Roles};
use lipmetric::robust::{Norm, Radius, Space};
use lipmetric::solver::Silent;
use lipmetric::{Matrix, Metric};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub(crate) const NORMS: [Norm; 3] = [Norm::L2, Norm::Linf, Norm::L1];

pub(crate) fn random(rows: usize, cols: usize, rng: &mut ChaCha8Rng) -> Matrix {
    Matrix::from_vec(rows, cols, (0..rows * cols).map(|_| rng.random::<f64>() * 4.0 - 2.0).collect()).unwrap()
}

/// Rows of several classes that overlap a little, in columns of different scale, and a metric that is not Euclid's.
pub(crate) fn fitted(n: usize, classes: usize, classifier: ClassifierSpec, rng: &mut ChaCha8Rng) -> Model {
    let x = random(n, 3, rng);
    let scale = [1.0, 30.0, 0.1];
    let column = |k: usize| Column::numbers(["a", "b", "c"][k], (0..n).map(|i| x[(i, k)] * scale[k] + 7.0).collect());
    let mut columns: Vec<Column> = (0..3).map(column).collect();
    let kind = |i: usize| {
        let angle = x[(i, 1)].atan2(x[(i, 0)]) + 0.3 * x[(i, 2)] + 3.5;
        format!("k{}", (angle / 7.01 * classes as f64) as usize % classes)
    };
    columns.push(Column::texts("kind", (0..n).map(kind)));
    let data = Dataset::read(&Table::new("rows", columns), &Roles::default()).unwrap();
    let mut model = Recipe::new(&Euclidean::new().into()).predicting(classifier).fit(&data, None, &mut Silent).unwrap();
    model.metric = Metric::new(Matrix::from_rows(&[[2.0, 0.3, 0.0], [0.1, 0.7, -0.5]])).unwrap();
    model
}

pub(crate) fn vote(k: usize) -> ClassifierSpec {
    ClassifierSpec::Vote { k: K::Fixed(k), weights: Weights::Uniform }
}

pub(crate) fn extension() -> ClassifierSpec {
    ClassifierSpec::Extension { alpha: 0.5, calibrate: false }
}

fn length(norm: Norm, v: &[f64]) -> f64 {
    match norm {
        Norm::Linf => v.iter().fold(0.0, |m, a| a.abs().max(m)),
        Norm::L1 => v.iter().map(|a| a.abs()).sum(),
        _ => v.iter().map(|a| a * a).sum::<f64>().sqrt(),
    }
}

/// The nearest flip that an attack finds, in lengths of the radius: random directions, corners of the ball, towards rows.
pub(crate) fn attack(
    predictor: &Predictor,
    row: &[f64],
    label: u32,
    norm: Norm,
    radius: f64,
    rng: &mut ChaCha8Rng,
) -> f64 {
    let train = &predictor.model().training.as_ref().unwrap().x;
    let gram = predictor.model().metric.matrix();
    let mut directions: Vec<Vec<f64>> = (0..40).map(|_| random(1, row.len(), rng).into_vec()).collect();
    for i in 0..train.rows() {
        let to: Vec<f64> = train.row(i).iter().zip(row).map(|(a, b)| a - b).collect();
        // The gradient of the distance to the row, and its steepest step in the norm.
        let gradient: Vec<f64> =
            (0..row.len()).map(|k| gram.row(k).iter().zip(&to).map(|(g, t)| g * t).sum()).collect();
        directions.push(gradient.iter().map(|g| g.signum()).collect());
        let top = gradient.iter().fold(0.0, |m: f64, g| m.max(g.abs()));
        directions.push(gradient.iter().map(|g| if g.abs() == top { *g } else { 0.0 }).collect());
        directions.push(gradient);
        directions.push(to);
    }
    let steps = [0.5, 0.999_999, 1.05, 1.2, 1.5, 2.0, 3.0];
    let mut attacks = Vec::new();
    for direction in directions.iter().filter(|d| length(norm, d) > 1e-9) {
        for step in steps {
            let scale = step * radius / length(norm, direction);
            attacks.extend(row.iter().zip(direction).map(|(v, d)| v + d * scale));
        }
    }
    let attacks = Matrix::from_vec(attacks.len() / row.len(), row.len(), attacks).unwrap();
    let after = predictor.predict(Rows::Prepared(&attacks)).unwrap();
    let flips = after.iter().enumerate().filter(|(_, l)| **l != label).map(|(at, _)| steps[at % steps.len()]);
    flips.fold(f64::INFINITY, f64::min)
}

#[test]
fn no_attack_inside_a_radius_succeeds_for_any_classifier_and_norm() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let votes = [1, 2, 3, 4, 5, 8, 11].map(vote);
    let smooth = ClassifierSpec::Smooth(SmoothSpec::default());
    for classifier in votes.into_iter().chain([extension(), smooth]) {
        for classes in [2, 3, 5] {
            let predictor = Predictor::new(fitted(70, classes, classifier, &mut rng)).unwrap();
            let queries = random(8, 3, &mut rng);
            for norm in NORMS {
                let told = predictor.certify(Rows::Prepared(&queries), Radius::new(norm, Space::Prepared)).unwrap();
                let mut nearest = f64::INFINITY;
                for (q, (label, radius)) in told.iter().enumerate().filter(|(_, t)| t.1 > 0.0) {
                    let flip = attack(&predictor, queries.row(q), *label, norm, *radius, &mut rng);
                    assert!(
                        flip > 1.0,
                        "{classifier:?}, {classes} classes, {norm}: query {q} flips at {flip} of {radius}"
                    );
                    nearest = nearest.min(flip);
                }
                assert!(told.iter().any(|t| t.1 > 0.0));
                // What is certified of a smooth function is a worst case over all of its terms.
                assert!(nearest <= 3.0 || classifier == smooth, "{classifier:?} {norm}: far from attained");
            }
        }
    }
}

/// The distance to the hyperplane between two rows, on the prepared features.
fn hyperplane(model: &Model, x: &[f64], i: usize, j: usize, norm: Norm) -> f64 {
    let train = &model.training.as_ref().unwrap().x;
    let gram = model.metric.matrix();
    let gap = model.metric.squared_distance(x, train.row(j)) - model.metric.squared_distance(x, train.row(i));
    let between: Vec<f64> = train.row(i).iter().zip(train.row(j)).map(|(a, b)| a - b).collect();
    let normal: Vec<f64> = (0..x.len()).map(|k| gram.row(k).iter().zip(&between).map(|(g, t)| g * t).sum()).collect();
    let dual = match norm {
        Norm::Linf => length(Norm::L1, &normal),
        Norm::L1 => length(Norm::Linf, &normal),
        _ => length(Norm::L2, &normal),
    };
    gap.max(0.0) / (2.0 * dual)
}

fn ranked(mut values: Vec<f64>, rank: usize, largest: bool) -> f64 {
    values.sort_by(|a, b| if largest { b.total_cmp(a) } else { a.total_cmp(b) });
    values[rank - 1]
}

#[test]
fn a_radius_is_that_of_the_formula_over_all_pairs_of_rows() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    for k in [1, 3, 5, 9] {
        let model = fitted(90, 2, vote(k), &mut rng);
        let codes = model.training.as_ref().unwrap().y.codes().to_vec();
        let queries = random(12, 3, &mut rng);
        let s = k.div_ceil(2);
        for norm in NORMS {
            let told = model.certify(Rows::Prepared(&queries), Radius::new(norm, Space::Prepared)).unwrap();
            for (q, (label, radius)) in told.iter().enumerate() {
                let (own, others): (Vec<usize>, Vec<usize>) = (0..90).partition(|&i| codes[i] == *label);
                let of = |j: usize| {
                    let all = own.iter().map(|&i| hyperplane(&model, queries.row(q), i, j, norm)).collect();
                    ranked(all, s, true)
                };
                let expected = ranked(others.into_iter().map(of).collect(), s, false);
                assert!((radius - expected).abs() <= 1e-9 * (1.0 + expected), "k {k} {norm}: {radius} {expected}");
            }
        }
    }
}

#[test]
fn two_neighbours_with_ties_to_the_nearer_hold_as_far_as_one() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let one = fitted(60, 3, vote(1), &mut rng);
    let mut two = one.clone();
    two.classifier =
        lipmetric::model::Classifier::Vote(serde_json::from_str(r#"{"k": 2, "weights": "uniform"}"#).unwrap());
    let queries = random(20, 3, &mut rng);
    let radii = |model: &Model| model.certify(Rows::Prepared(&queries), Radius::default()).unwrap();
    for (one, two) in radii(&one).iter().zip(radii(&two)) {
        assert_eq!(one.0, two.0);
        assert!((one.1 - two.1).abs() <= 1e-12 * one.1, "{one:?} {two:?}");
    }
}

#[test]
fn radii_in_input_units_are_those_of_the_columns_and_categories_stay() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let n = 60;
    let x = random(n, 2, &mut rng);
    let columns = vec![
        Column::numbers("pressure", (0..n).map(|i| 20.0 * x[(i, 0)] + 100.0).collect()),
        Column::texts("colour", (0..n).map(|i| ["red", "green", "blue"][i % 3])),
        Column::numbers("age", (0..n).map(|i| 5.0 * x[(i, 1)] + 40.0).collect()),
        Column::texts("kind", (0..n).map(|i| if x[(i, 0)] + x[(i, 1)] > 0.1 { "p" } else { "n" })),
    ];
    let table = Table::new("rows", columns.clone());
    let data = Dataset::read(&table, &Roles::default()).unwrap();
    let model = Recipe::new(&Euclidean::new().into()).fit(&data, None, &mut Silent).unwrap();
    let predictor = Predictor::new(model).unwrap();
    let told = predictor.certify(&table, Radius::new(Norm::Linf, Space::Input)).unwrap();
    for (sign_a, sign_b) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
        for part in [0.5, 0.999_99] {
            let mut moved = table.clone();
            let shift = |column: &mut Column, sign: f64| {
                let lipmetric::data::Values::Number(values) = &mut column.values else { panic!("numbers") };
                values.iter_mut().zip(&told).for_each(|(v, (_, r))| *v += sign * part * r);
            };
            shift(&mut moved.columns[0], sign_a);
            shift(&mut moved.columns[2], sign_b);
            let after = predictor.predict(&moved).unwrap();
            assert!(after.iter().zip(&told).all(|(a, t)| *a == t.0));
        }
    }
    // The scale of the columns is 20 and 5 times that of the numbers, so that the radius is, too.
    let prepared = predictor.certify(&table, Radius::new(Norm::Linf, Space::Prepared)).unwrap();
    assert!(told.iter().zip(prepared).all(|(a, b)| a.1 > b.1));
    let all = Table::new("rows", vec![columns[1].clone(), columns[3].clone()]);
    let data = Dataset::read(&all, &Roles::default()).unwrap();
    let model = Recipe::new(&Euclidean::new().into()).fit(&data, None, &mut Silent).unwrap();
    let error = model.certify(&all, Radius::new(Norm::L2, Space::Input)).unwrap_err().to_string();
    assert!(error.contains("no column of the model is a number"), "{error}");
}
