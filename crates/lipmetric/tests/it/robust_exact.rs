//! Exact radii and the rows that attain them.

use crate::robust::{NORMS, attack, extension, fitted, random, vote};
use lipmetric::data::{Column, Table};
use lipmetric::method::Euclidean;
use lipmetric::model::{ClassifierSpec, Predictor, Recipe, Rows};
use lipmetric::prepare::{Dataset, Roles};
use lipmetric::robust::{Kind, Norm, Radius, Space};
use lipmetric::solver::Silent;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

fn classifiers() -> [ClassifierSpec; 2] {
    [vote(1), extension()]
}

#[test]
fn exact_radii_are_at_least_the_bounds_and_are_attained_by_a_row_of_another_class() {
    let mut rng = ChaCha8Rng::seed_from_u64(21);
    for classifier in classifiers() {
        for classes in [2, 3, 4] {
            let mut model = fitted(80, classes, classifier, &mut rng);
            if classes > 2 {
                // Where rows are overruled, several classes may tie in whole regions.
                let values = (0..80).map(|i| 0.3 + 0.01 * f64::from(i * i % 71)).collect();
                model.training.as_mut().unwrap().values = Some(values);
            }
            let predictor = Predictor::new(model).unwrap();
            let queries = random(25, 3, &mut rng);
            let rows = Rows::Prepared(&queries);
            for (space, norm) in [Space::Prepared, Space::Input].into_iter().flat_map(|s| NORMS.map(|n| (s, n))) {
                let asked = Radius::new(norm, space);
                let bound = predictor.certify(rows, asked).unwrap();
                let exact = predictor.certify(rows, asked.kind(Kind::Exact)).unwrap();
                let witness = predictor.counterfactuals(rows, norm, space).unwrap();
                for q in 0..queries.rows() {
                    let (label, radius) = exact[q];
                    assert!(radius >= bound[q].1, "{radius} {:?}", bound[q]);
                    let found = witness[q]
                        .as_ref()
                        .unwrap_or_else(|| panic!("{classifier:?} {classes} {space} {norm}: {radius}, row {q}"));
                    assert!(found.label == label && found.other != label);
                    assert!(
                        (found.distance - radius).abs() <= 1e-7 * radius + 1e-12,
                        "{classifier:?} {classes} {space} {norm}: {} is not attained: {radius}",
                        found.distance
                    );
                    if radius > 0.0 && q % 5 == 0 {
                        let asked = asked.kind(Kind::Exact);
                        assert!(attack(&predictor, queries.row(q), (label, radius), asked, &mut rng) > 1.0);
                    }
                }
                assert!(exact.iter().zip(&bound).any(|(e, b)| e.1 > 1.001 * b.1), "exact adds nothing");
            }
            // In the learned distance, too.
            let bound = predictor.certify(rows, Radius::default()).unwrap();
            let exact = predictor.certify(rows, Radius::default().kind(Kind::Exact)).unwrap();
            assert!(exact.iter().zip(&bound).all(|(e, b)| e.1 >= b.1 && e.1.is_finite()));
            for (q, told) in exact.iter().enumerate().filter(|(q, told)| q % 5 == 0 && told.1 > 0.0) {
                assert!(attack(&predictor, queries.row(q), *told, Radius::default(), &mut rng) > 1.0);
            }
        }
    }
}

#[test]
fn a_counterfactual_changes_numbers_alone_and_says_by_how_much() {
    let table = Table::new(
        "rows",
        vec![
            Column::numbers("size", vec![1.0, 2.0, 8.0, 9.0]),
            Column::texts("colour", ["red", "blue", "red", "blue"]),
            Column::texts("kind", ["a", "a", "b", "b"]),
        ],
    );
    let data = Dataset::read(&table, &Roles::default()).unwrap();
    let model = Recipe::new(&Euclidean::new().into()).fit(&data, None, &mut Silent).unwrap();
    let found = model.counterfactuals(&table, Norm::L2, Space::Input).unwrap();
    let first = found[0].as_ref().unwrap();
    assert_eq!((first.label, first.other), (0, 1));
    // Red rows are at 1 and 8: the border between them is at 4.5; blue ones are farther by the colour.
    assert!((first.numbers[0].unwrap() - 4.5).abs() < 1e-6 && first.numbers[1].is_none(), "{first:?}");
    assert!((first.changes[0].unwrap() - 3.5).abs() < 1e-6);
    assert!((first.distance - 3.5).abs() < 1e-6);
    assert_eq!(first.prepared[1..], model.training.as_ref().unwrap().x.row(0)[1..]);
    let error = model.counterfactuals(&table, Norm::L2, Space::Learned).unwrap_err().to_string();
    assert!(error.contains("prepared features"), "{error}");
    let votes = Recipe::new(&Euclidean::new().into()).predicting(vote(3)).fit(&data, None, &mut Silent).unwrap();
    let error = votes.counterfactuals(&table, Norm::L2, Space::Input).unwrap_err().to_string();
    assert!(error.contains("this model uses 3"), "{error}");
    let error = votes.certify(&table, Radius::default().kind(Kind::Exact)).unwrap_err().to_string();
    assert!(error.contains("3 neighbours"), "{error}");
}

#[test]
fn classes_that_tie_in_whole_regions_have_bounds_alone() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let mut model = fitted(40, 3, extension(), &mut rng);
    model.training.as_mut().unwrap().values = Some((0..40).map(|i| if i % 9 == 0 { -0.2 } else { 0.9 }).collect());
    let queries = random(3, 3, &mut rng);
    assert!(model.certify(Rows::Prepared(&queries), Radius::default()).is_ok());
    let exact = model.certify(Rows::Prepared(&queries), Radius::default().kind(Kind::Exact));
    assert!(exact.unwrap_err().to_string().contains("5 training rows that the function overrules"));
    assert!(model.counterfactuals(Rows::Prepared(&queries), Norm::L2, Space::Prepared).is_err());
    let lipmetric::model::Classifier::Extension(extending) = &mut model.classifier else { panic!("an extension") };
    extending.alpha = 0.2;
    assert!(
        model.certify(Rows::Prepared(&queries), Radius::default()).is_ok(),
        "three classes: alpha has no part in it"
    );
    let mut two = fitted(40, 2, extension(), &mut rng);
    let lipmetric::model::Classifier::Extension(extending) = &mut two.classifier else { panic!("an extension") };
    extending.alpha = 0.2;
    let error = two.certify(Rows::Prepared(&queries), Radius::default()).unwrap_err().to_string();
    assert!(error.contains("`alpha = 0.5` only"), "{error}");
}

#[test]
fn rows_of_two_classes_that_coincide_have_radii_and_counterfactuals_that_flip() {
    // The row at 2 is there twice, first as `b`: it is predicted so. That at 5 is there twice, first as `a`.
    let x = vec![0.0, 1.0, 2.0, 2.0, 5.0, 5.0, 9.0, 10.0];
    let kinds = ["a", "a", "b", "a", "a", "b", "b", "b"];
    let table = Table::new("rows", vec![Column::numbers("x", x), Column::texts("kind", kinds)]);
    let data = Dataset::read(&table, &Roles::default()).unwrap();
    let model = Recipe::new(&Euclidean::new().into()).fit(&data, None, &mut Silent).unwrap();
    let queries = lipmetric::Matrix::from_rows(&[[0.2], [5.1], [9.5], [2.0]]);
    let found = model.counterfactuals(&queries, Norm::L2, Space::Input).unwrap();
    let at: Vec<f64> = found.iter().map(|f| f.as_ref().unwrap().numbers[0].unwrap()).collect();
    for (at, expected) in at.iter().zip([1.5, 3.5, 7.0, 1.5]) {
        assert!((at - expected).abs() < 1e-6, "{at} {expected}");
    }
    let exact = model.certify(&queries, Radius::new(Norm::L2, Space::Input).kind(Kind::Exact)).unwrap();
    assert!((exact[1].1 - 1.6).abs() < 1e-6, "{exact:?}");
}

#[test]
fn where_no_point_is_of_another_class_the_radius_is_infinite_and_there_is_no_counterfactual() {
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    // Rows of class `b` amid those of class `a`, whose values are so large that no `b` decides anywhere: where features are whole
    // numbers, rows lie on lines through it.
    for (features, whole) in [(1, true), (2, true), (2, false), (4, false)] {
        let rows = 60;
        let mut x = random(rows, features, &mut rng);
        if whole {
            x.as_mut_slice().iter_mut().for_each(|v| *v = (3.0 * *v).round());
        }
        let is_b = |i: usize| i % 5 == 2;
        (0..rows)
            .filter(|&i| is_b(i))
            .for_each(|i| x.row_mut(i).iter_mut().for_each(|v| *v *= f64::from(!whole) / 20.0));
        let column = |k: usize| Column::numbers(format!("c{k}"), (0..rows).map(|i| 1.3 * x[(i, k)] + 40.0).collect());
        let mut columns: Vec<Column> = (0..features).map(column).collect();
        columns.push(Column::texts("kind", (0..rows).map(|i| if is_b(i) { "b" } else { "a" })));
        let data = Dataset::read(&Table::new("rows", columns), &Roles::default()).unwrap();
        let mut model =
            Recipe::new(&Euclidean::new().into()).predicting(extension()).fit(&data, None, &mut Silent).unwrap();
        let values = (0..rows).map(|i| if is_b(i) { 0.01 } else { 30.0 }).collect();
        model.training.as_mut().unwrap().values = Some(values);
        let predictor = Predictor::new(model).unwrap();
        let queries = random(6, features, &mut rng);
        let asked = Rows::Prepared(&queries);
        for radius in crate::robust::every_radius() {
            let told = predictor.certify(asked, radius.kind(Kind::Exact)).unwrap();
            let what = format!("{features} {whole} {} {}", radius.space, radius.norm);
            assert!(told.iter().all(|(label, far)| *label == 0 && *far == f64::INFINITY), "{what}: {told:?}");
            if radius.space != Space::Learned {
                let found = predictor.counterfactuals(asked, radius.norm, radius.space).unwrap();
                assert!(found.iter().all(Option::is_none), "{what}: {found:?}");
            }
        }
    }
}
