//! What a model says is what its parts say one after another.

use lipmetric::classify::{K, Weights};
use lipmetric::data::{Column, MatrixRef, Table};
use lipmetric::lipschitz::{Mahalanobis, certified_radii, input_radius_factor};
use lipmetric::method::Lip;
use lipmetric::model::{Certified, ClassifierSpec, Predictor, Recipe, Rows, SparseModel};
use lipmetric::prepare::{Dataset, Roles, Scaling};
use lipmetric::problem::Slack;
use lipmetric::solver::Silent;
use lipmetric::{Error, Labels, Matrix, Model};

const NAMES: [&str; 3] = ["size", "weight", "age"];

fn rows(n: usize, shift: f64) -> Matrix {
    let mut x = Matrix::zeros(n, 3);
    for i in 0..n {
        for (k, v) in x.row_mut(i).iter_mut().enumerate() {
            *v = (1.7 * i as f64 + 2.3 * k as f64 + shift).sin() * [1.0, 30.0, 0.1][k] + 5.0;
        }
    }
    x
}

fn table(x: &Matrix) -> Table {
    let column = |k: usize| Column::numbers(NAMES[k], (0..x.rows()).map(|i| x[(i, k)]).collect());
    Table::new("rows", (0..3).map(column).collect())
}

fn model(classifier: ClassifierSpec) -> Model {
    let x = rows(40, 0.0);
    let mut table = table(&x);
    let kinds = (0..40).map(|i| if x[(i, 0)] > 5.2 { "large" } else { "small" });
    table.columns.push(Column::texts("kind", kinds));
    let lip = Lip::intra().slack(Slack::Pair).into();
    let data = Dataset::read(&table, &Roles::default()).unwrap();
    Recipe::new(&lip).predicting(classifier).fit(&data, None, &mut Silent).unwrap()
}

fn vote(k: K) -> ClassifierSpec {
    ClassifierSpec::Vote { k, weights: Weights::Uniform }
}

#[test]
fn sparse_rows_refuse_labels_that_they_cannot_vote_for() {
    let mut rows = lipmetric::data::SparseRows::new();
    for i in 0..12 {
        rows.push([(i, 1.0), (100, f64::from(i))]).unwrap();
    }
    let fit = |labels: &Labels, k| SparseModel::fit(&rows, labels, Scaling::Standard, (k, Weights::Uniform));
    let numbers = Labels::from_numbers((0..12).map(f64::from).collect()).unwrap();
    let few = Labels::from_names(["a", "b"]);
    for k in [K::Auto, K::Fixed(1)] {
        let error = fit(&numbers, k).unwrap_err().to_string();
        assert!(error.contains("the labels are numbers"), "{error}");
        assert!(fit(&few, k).unwrap_err().to_string().contains("labels"));
    }
}

#[test]
fn a_prediction_is_preparation_map_and_vote_one_after_another() {
    let model = model(vote(K::Fixed(3)));
    let queries = rows(17, 0.4);
    let prepared = model.preparation.read(&table(&queries), lipmetric::prepare::Unseen::Error).unwrap();
    let mapped = model.metric.transform(&prepared).unwrap();
    let training = model.training.as_ref().unwrap();
    let sample = model.metric.transform(&training.x).unwrap();
    let squared =
        |q: usize, i: usize| -> f64 { mapped.row(q).iter().zip(sample.row(i)).map(|(a, b)| (a - b) * (a - b)).sum() };
    assert_eq!(model.transform(&table(&queries)).unwrap(), mapped);
    for (q, told) in model.explain(&table(&queries)).unwrap().iter().enumerate() {
        let mut order: Vec<usize> = (0..40).collect();
        order.sort_by(|&a, &b| squared(q, a).total_cmp(&squared(q, b)));
        let voters: Vec<usize> = told.neighbours.iter().map(|n| n.row).collect();
        assert_eq!(voters, order[..3]);
        assert_eq!(told.neighbours[2].distance, squared(q, order[2]).sqrt());
        let large = order[..3].iter().filter(|&&i| training.y.name(i) == "large").count();
        assert_eq!(model.classes[told.label as usize], if large > 1 { "large" } else { "small" });
        let nearest = |own: bool| order.iter().find(|&&i| (training.y.codes()[i] == told.label) == own).copied();
        assert_eq!(told.same.map(|n| n.row), nearest(true));
        assert_eq!(told.other.map(|n| n.row), nearest(false));
    }
}

#[test]
fn a_table_a_matrix_a_view_and_prepared_rows_are_predicted_alike() {
    let predictor = Predictor::new(model(vote(K::Auto))).unwrap();
    let x = rows(23, 0.9);
    let expected = predictor.predict(&table(&x)).unwrap();
    assert!(expected.contains(&0) && expected.contains(&1));
    assert_eq!(predictor.predict(&x).unwrap(), expected);
    assert_eq!(predictor.predict(MatrixRef::new(23, 3, x.as_slice()).unwrap()).unwrap(), expected);
    let read = |t: &Table| predictor.model().preparation.read(t, lipmetric::prepare::Unseen::Error).unwrap();
    assert_eq!(predictor.predict(Rows::Prepared(&read(&table(&x)))).unwrap(), expected);
    assert_eq!(predictor.model().predict(&x).unwrap(), expected);
    assert!(matches!(predictor.predict(&Matrix::zeros(1, 9)), Err(Error::Data(_))));
}

#[test]
fn radii_are_never_below_those_of_the_triangle_inequality_and_alone_the_same_up_to_rounding() {
    let predictor = Predictor::new(model(vote(K::default()))).unwrap();
    let model = predictor.model();
    let training = model.training.as_ref().unwrap();
    let sample = Mahalanobis::new(&model.metric, &training.x).unwrap();
    let factor = input_radius_factor(&model.metric).unwrap();
    let x = rows(30, 0.2);
    let whole = predictor.radii(&x).unwrap();
    assert_eq!(model.radii(&x).unwrap(), whole);
    let prepared = model.preparation.read(&table(&x), lipmetric::prepare::Unseen::Error).unwrap();
    let by_hand = certified_radii(&sample.to(&prepared).unwrap(), &training.y).unwrap();
    for (i, (told, by_hand)) in whole.iter().zip(by_hand).enumerate() {
        let alone = &predictor.radii(&x.select_rows(&[i])).unwrap()[0];
        assert_eq!(alone.prediction.label, told.prediction.label);
        assert!((alone.radius - told.radius).abs() <= 1e-12 * told.radius);
        let Certified { prediction, radius, radius_prepared, .. } = told;
        assert_eq!(prediction.label, by_hand.code);
        assert!(*radius >= by_hand.radius && *radius_prepared >= by_hand.in_input_units(factor));
        assert_eq!(prediction.other.map(|n| (n.row, n.distance)), Some((by_hand.other, by_hand.other_distance)));
        assert!(*radius <= by_hand.other_distance && *radius >= 0.999_999 * prediction.margin() / 2.0);
    }
}

#[test]
fn what_cannot_be_answered_is_refused() {
    let weighted = model(ClassifierSpec::Vote { k: K::Fixed(3), weights: Weights::Distance });
    let error = weighted.radii(&rows(1, 0.0)).unwrap_err().to_string();
    assert!(error.contains("weighted by distance"), "{error}");
    let voting = model(vote(K::Fixed(3)));
    let mut bare = voting.clone();
    bare.training = None;
    assert!(bare.transform(&rows(2, 0.0)).is_ok());
    let error = Predictor::new(bare).unwrap_err().to_string();
    assert!(error.contains("without its training rows"), "{error}");
    let mut rows = voting.training.clone().unwrap();
    rows.x = Matrix::zeros(40, 2);
    assert!(voting.with_training(rows).is_err());
}

#[test]
fn labels_that_are_no_classes_are_refused() {
    let read = |cells: Vec<String>| {
        let numbers = Column::numbers("x", (0..cells.len()).map(|i| i as f64).collect());
        Dataset::read(&Table::new("rows", vec![numbers, Column::texts("y", cells)]), &Roles::default())
    };
    let error = read(vec!["u".into(); 5]).unwrap_err().to_string();
    assert!(error.contains("only one class (`u`, on all 5 rows)"), "{error}");
    let error = read((0..21).map(|i| format!("{i}.5")).collect()).unwrap_err().to_string();
    assert!(error.contains("column `y` has 21 different values on 21 rows"), "{error}");
}
