//! Certified radii by hyperplanes: against the formulas written out, and attacked.

use lipmetric::classify::{K, KernelChoice, SmoothSpec, Weights};
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

/// How long a step on the prepared features is, as a radius is measured.
fn measured(model: &Model, asked: Radius, step: &[f64]) -> f64 {
    match asked.space {
        Space::Learned => {
            let factor = model.metric.factor();
            let mapped = |r: usize| factor.row(r).iter().zip(step).map(|(l, s)| l * s).sum();
            length(Norm::L2, &(0..factor.rows()).map(mapped).collect::<Vec<f64>>())
        }
        Space::Input => {
            let units = model.preparation.units();
            length(asked.norm, &step.iter().zip(units).map(|(s, unit)| s * unit.unwrap()).collect::<Vec<_>>())
        }
        _ => length(asked.norm, step),
    }
}

/// How far each prepared feature moves with a step of 1 as a radius is measured.
fn moves(model: &Model, space: Space) -> Vec<f64> {
    let units = model.preparation.units();
    units.into_iter().map(|unit| if space == Space::Input { 1.0 / unit.unwrap() } else { 1.0 }).collect()
}

fn times(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(x, y)| x * y).collect()
}

/// Steps that an attack tries: random ones, towards rows, and the steepest ones of each norm.
fn directions(model: &Model, row: &[f64], space: Space, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
    let moves = moves(model, space);
    let train = &model.training.as_ref().unwrap().x;
    let gram = model.metric.matrix();
    let mut directions: Vec<Vec<f64>> = (0..40).map(|_| times(random(1, row.len(), rng).row(0), &moves)).collect();
    for i in 0..train.rows() {
        let to: Vec<f64> = train.row(i).iter().zip(row).map(|(a, b)| a - b).collect();
        // The gradient of the distance to the row over such steps, and its steepest step in each norm.
        let gradient = |k: usize| moves[k] * gram.row(k).iter().zip(&to).map(|(g, t)| g * t).sum::<f64>();
        let gradient: Vec<f64> = (0..row.len()).map(gradient).collect();
        let top = length(Norm::Linf, &gradient);
        directions.push(times(&gradient.iter().map(|g| g.signum()).collect::<Vec<_>>(), &moves));
        directions.push(
            (0..row.len()).map(|k| if gradient[k].abs() == top { gradient[k] * moves[k] } else { 0.0 }).collect(),
        );
        directions.push(times(&gradient, &moves));
        directions.push(to);
    }
    directions
}

/// How far the opposing rows are ahead: a search makes this small. Of `k` rows, about half have to change.
fn lead(model: &Model, label: u32, k: usize, row: &[f64]) -> f64 {
    let training = model.training.as_ref().unwrap();
    let far = |i: usize| model.metric.squared_distance(row, training.x.row(i));
    let (own, others): (Vec<usize>, Vec<usize>) = (0..training.x.rows()).partition(|&i| training.y.codes()[i] == label);
    let half = |rows: Vec<usize>| {
        let at = k.div_ceil(2).min(rows.len());
        ranked(rows.into_iter().map(far).collect(), at, false)
    };
    half(others) - half(own)
}

/// Points just inside the radius to which a random search with smaller and smaller moves gets that brings opposing rows nearer.
fn searched(model: &Model, row: &[f64], (label, radius): (u32, f64), asked: Radius, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let k = model.classifier.voting().map_or(1, |voting| voting.k);
    let moves = moves(model, asked.space);
    let inside = |step: &[f64]| {
        let step = times(step, &moves);
        let scale = 0.999_999 * radius / measured(model, asked, &step);
        row.iter().zip(&step).map(|(v, s)| v + s * scale).collect::<Vec<f64>>()
    };
    let mut found = Vec::new();
    for _ in 0..3 {
        let mut step = random(1, row.len(), rng).into_vec();
        let mut best = lead(model, label, k, &inside(&step));
        for round in 0..60 {
            let size = length(Norm::L2, &step) * 0.93_f64.powi(round);
            let moved: Vec<f64> = step.iter().map(|s| s + size * (rng.random::<f64>() - 0.5)).collect();
            let now = lead(model, label, k, &inside(&moved));
            if now < best {
                (best, step) = (now, moved);
            }
        }
        found.extend(inside(&step));
    }
    found
}

/// The nearest flip that an attack finds, in lengths of the radius; 1 where it is just inside of it.
pub(crate) fn attack(
    predictor: &Predictor,
    row: &[f64],
    (label, radius): (u32, f64),
    asked: Radius,
    rng: &mut ChaCha8Rng,
) -> f64 {
    let model = predictor.model();
    let steps = [0.5, 0.999_999, 1.05, 1.2, 1.5, 2.0, 3.0];
    let mut attacks = searched(model, row, (label, radius), asked, rng);
    let first = attacks.len() / row.len();
    for direction in directions(model, row, asked.space, rng) {
        let long = measured(model, asked, &direction);
        if long > 1e-9 {
            for step in steps {
                attacks.extend(row.iter().zip(&direction).map(|(v, d)| v + d * step * radius / long));
            }
        }
    }
    let attacks = Matrix::from_vec(attacks.len() / row.len(), row.len(), attacks).unwrap();
    let after = predictor.predict(Rows::Prepared(&attacks)).unwrap();
    let flips = after.iter().enumerate().filter(|(_, l)| **l != label);
    let far = |at: usize| if at < first { 1.0 } else { steps[(at - first) % steps.len()] };
    flips.fold(f64::INFINITY, |least, (at, _)| least.min(far(at)))
}

/// Every radius that can be asked for.
pub(crate) fn every_radius() -> Vec<Radius> {
    let placed = [Space::Prepared, Space::Input].into_iter().flat_map(|s| NORMS.map(|n| Radius::new(n, s)));
    std::iter::once(Radius::default()).chain(placed).collect()
}

#[test]
fn no_attack_inside_a_radius_succeeds_for_any_classifier_norm_and_space() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    assert_eq!(Radius::default().space, Space::Learned);
    let votes = [1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 69].map(vote);
    let smooth = ClassifierSpec::Smooth(SmoothSpec::default());
    let mut gaussian = SmoothSpec::default();
    gaussian.kernel = KernelChoice::Gaussian;
    for classifier in votes.into_iter().chain([extension(), smooth, ClassifierSpec::Smooth(gaussian)]) {
        for classes in [2, 3, 5] {
            let predictor = Predictor::new(fitted(70, classes, classifier, &mut rng)).unwrap();
            let queries = random(4, 3, &mut rng);
            for asked in every_radius() {
                let what = format!("{classifier:?}, {classes} classes, {}, {}", asked.space, asked.norm);
                let told = predictor.certify(Rows::Prepared(&queries), asked).unwrap();
                let mut nearest = f64::INFINITY;
                for (q, (label, radius)) in told.iter().enumerate().filter(|(_, t)| t.1 > 0.0) {
                    // Where no row of another class can win, any step is inside.
                    let tried = radius.min(100.0);
                    let flip = attack(&predictor, queries.row(q), (*label, tried), asked, &mut rng);
                    let holds = flip > 1.0 && (radius.is_finite() || flip.is_infinite());
                    assert!(holds, "{what}: query {q} flips at {flip} of {radius}");
                    nearest = nearest.min(flip);
                }
                assert!(told.iter().any(|t| t.1 > 0.0), "{what}: nothing is certified");
                // What is certified of a smooth function is a worst case over all of its terms.
                let tight = nearest <= 3.0 || matches!(classifier, ClassifierSpec::Smooth(_)) || classifier == vote(69);
                assert!(tight, "{what}: far from attained");
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
