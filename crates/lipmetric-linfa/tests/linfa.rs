//! What linfa users rely on: the same results as the library itself, through linfa's traits.

use linfa::prelude::*;
use linfa_nn::distance::{Distance, L2Dist};
use linfa_nn::{BallTree, KdTree, LinearSearch, NearestNeighbour};
use lipmetric_linfa::lipmetric::classify::{K, Weights};
use lipmetric_linfa::lipmetric::data::Table;
use lipmetric_linfa::lipmetric::method::{Euclidean, Lip, Lmnn, Nca, Spec};
use lipmetric_linfa::lipmetric::model::{ClassifierSpec, Recipe};
use lipmetric_linfa::lipmetric::prepare::{Dataset as Prepared, Fill, Roles, Scaling};
use lipmetric_linfa::lipmetric::robust::{Norm, Radius, Space};
use lipmetric_linfa::lipmetric::solver::{Budget, Silent};
use lipmetric_linfa::lipmetric::{Labels, Matrix};
use lipmetric_linfa::{Learned, MetricLearner};
use ndarray::{Array, Array1, Array2, array};
use std::time::Duration;

const ROWS: usize = 96;

/// Features on several scales; the class depends on two of them.
fn records() -> Array2<f64> {
    Array::from_shape_fn((ROWS, 4), |(i, j)| ((i + 1) * [31, 47, 59, 67][j] % 97) as f64 * [1.0, 1.0, 20.0, 0.1][j])
}

fn dataset() -> Dataset<f64, usize, ndarray::Ix1> {
    let records = records();
    let targets = records.rows().into_iter().map(|r| usize::from(r[0] > r[1]) + 2 * usize::from(r[0] + r[1] > 97.0));
    let targets: Array1<usize> = targets.collect();
    Dataset::new(records, targets)
}

#[test]
fn predictions_and_maps_are_those_of_the_library_to_the_last_bit() {
    let data = dataset();
    let x = Matrix::from_vec(ROWS, 4, data.records().iter().copied().collect()).unwrap();
    let y = Labels::from_names(data.targets().iter().map(ToString::to_string));
    let prepared = Prepared::labelled(&Table::from_matrix(&x), "label", y, &Roles::default()).unwrap();
    let specs: [Spec; 4] = [Lip::intra().into(), Lmnn::new().into(), Nca::new().into(), Euclidean::new().into()];
    for spec in specs {
        let model = Recipe::new(&spec).fit(&prepared, None, &mut Silent).unwrap();
        let learned = MetricLearner::params(spec).fit(&data).unwrap();
        let classes: Vec<usize> =
            model.predict(&x).unwrap().iter().map(|&c| model.classes[c as usize].parse().unwrap()).collect();
        assert_eq!(learned.predict(&data).to_vec(), classes);
        let mapped: Array2<f64> = learned.transform(data.records());
        assert_eq!(mapped.iter().copied().collect::<Vec<_>>(), model.transform(&x).unwrap().into_vec());
        assert_eq!(learned.outcome().objective, model.outcome.objective);
    }
}

#[test]
fn every_index_that_may_take_the_distance_finds_the_same_neighbours() {
    let data = dataset();
    let learned = MetricLearner::params(Lmnn::new()).fit(&data).unwrap();
    let mapped: Array2<f64> = learned.transform(data.records());
    let ball = BallTree::new().from_batch_with_leaf_size(data.records(), 4, learned.distance()).unwrap();
    let linear = LinearSearch::new().from_batch(data.records(), learned.distance()).unwrap();
    // In mapped coordinates the learned distance is Euclidean.
    let tree = KdTree::new().from_batch_with_leaf_size(&mapped, 4, L2Dist).unwrap();
    let distance = learned.distance();
    for (row, image) in data.records().rows().into_iter().zip(mapped.rows()) {
        // Several rows may be equally far: the distances are compared, not the rows.
        let distances = |found: Vec<(_, usize)>| -> Vec<f64> {
            found.into_iter().map(|(_, i)| distance.distance(row, data.records().row(i))).collect()
        };
        let expected = distances(linear.k_nearest(row, 5).unwrap());
        for found in [ball.k_nearest(row, 5).unwrap(), tree.k_nearest(image, 5).unwrap()] {
            let found = distances(found);
            assert!(expected.iter().zip(&found).all(|(a, b)| (a - b).abs() <= 1e-9), "{expected:?}, {found:?}");
        }
    }
}

#[test]
fn the_distance_is_that_of_the_mapped_rows_and_a_metric() {
    let data = dataset();
    let learned = MetricLearner::params(Lip::intra()).fit(&data).unwrap();
    let (distance, mapped): (_, Array2<f64>) = (learned.distance(), learned.transform(data.records()));
    let of = |i: usize, j: usize| distance.distance(data.records().row(i), data.records().row(j));
    for i in 0..20 {
        for j in 0..20 {
            let between = L2Dist.distance(mapped.row(i), mapped.row(j));
            assert!((of(i, j) - between).abs() <= 1e-9 * between.max(1.0));
            let (a, b) = (data.records().row(i), data.records().row(j));
            assert_eq!(distance.rdist_to_dist(distance.rdistance(a, b)), of(i, j));
            assert!((distance.dist_to_rdist(of(i, j)) - distance.rdistance(a, b)).abs() <= 1e-12);
            assert!((0..20).all(|k| of(i, j) <= of(i, k) + of(k, j) + 1e-12));
        }
    }
}

#[test]
fn datasets_keep_targets_and_weights_when_they_are_mapped() {
    let data = dataset().with_weights(Array1::from_elem(ROWS, 2.0));
    let learned = MetricLearner::params(Nca::new()).fit(&data).unwrap();
    let mapped = learned.transform(data.clone());
    assert_eq!(mapped.targets(), data.targets());
    assert_eq!(mapped.weights(), data.weights());
    let confusion = learned.predict(&data).confusion_matrix(&data).unwrap();
    assert!(confusion.accuracy() > 0.99, "one neighbour knows the rows that it has learned");
    let predicted: Dataset<f64, usize, ndarray::Ix1> = learned.predict(data.clone());
    assert_eq!(predicted.records(), data.records());
}

#[test]
fn weights_of_the_dataset_count() {
    let learn = |weights: Array1<f32>| {
        let lip = Lip::intra().c(1.0);
        MetricLearner::params(lip).fit(&dataset().with_weights(weights)).unwrap().components()
    };
    let same = learn(Array1::ones(ROWS));
    assert_eq!(same, MetricLearner::params(Lip::intra().c(1.0)).fit(&dataset()).unwrap().components());
    let tilted = (0..ROWS).map(|i| if i < ROWS / 2 { 1.0 } else { 0.1 }).collect();
    assert_ne!(same, learn(tilted));
    let wrong = dataset().with_weights((0..ROWS).map(|i| if i == 3 { -1.0 } else { 1.0 }).collect());
    let said = MetricLearner::params(Lip::intra()).fit(&wrong).unwrap_err().to_string();
    assert_eq!(said, "weight 3 is -1: weights must be finite and not negative");
}

#[test]
fn labels_of_every_kind_come_back() {
    let records = records();
    let above = |r: ndarray::ArrayView1<'_, f64>| r[0] > r[1];
    let truths: Array1<bool> = records.rows().into_iter().map(above).collect();
    let texts = truths.mapv(|t| if t { "over \"1\"" } else { "under" });
    let owned = texts.mapv(str::to_owned);
    let learner = MetricLearner::params(Euclidean::new());
    assert_eq!(learner.fit(&Dataset::new(records.clone(), truths.clone())).unwrap().predict(&records), truths);
    assert_eq!(learner.fit(&Dataset::new(records.clone(), owned.clone())).unwrap().predict(&records), owned);
    let learned: Learned<f64, &str> = learner.fit(&Dataset::new(records.clone(), texts.clone())).unwrap();
    assert_eq!(learned.predict(&records), texts);
    assert_eq!(learned.classes(), ["over \"1\"", "under"]);
}

#[test]
fn single_precision_and_missing_numbers_are_taken() {
    let mut records = records().mapv(|v| v as f32);
    records[[5, 2]] = f32::NAN;
    let data = Dataset::new(records, dataset().targets().clone());
    let learned = MetricLearner::params(Lmnn::new()).neighbours(3).fit(&data).unwrap();
    let mapped: Array2<f32> = learned.transform(data.records());
    assert!(mapped.iter().all(|v| v.is_finite()));
    let shares = learned.probabilities(data.records()).unwrap().unwrap();
    assert!(shares.rows().into_iter().all(|r| (r.sum() - 1.0).abs() < 1e-6));
    let refused = MetricLearner::params(Lmnn::new()).fill(Fill::Error).fit(&data).unwrap_err();
    assert!(refused.to_string().contains("column `x3` has 1 missing value"), "{refused}");
}

#[test]
fn a_row_that_moves_by_less_than_its_radius_keeps_its_class() {
    let data = dataset();
    let learned = MetricLearner::params(Lip::intra()).scaling(Scaling::None).fit(&data).unwrap();
    let radii = learned.radii(data.records(), Radius::new(Norm::L2, Space::Prepared)).unwrap();
    assert!(radii.iter().all(|r| *r > 0.0));
    let mut moved = data.records().clone();
    moved.rows_mut().into_iter().zip(&radii).for_each(|(mut row, r)| row[1] += 0.999 * r);
    assert_eq!(learned.predict(&moved), learned.predict(data.records()));
}

#[test]
fn what_is_wrong_is_named() {
    let said = |error: lipmetric_linfa::Error| error.to_string();
    let params = MetricLearner::params(Lmnn::new().targets(0));
    assert!(said(params.clone().check().unwrap_err()).starts_with("parameter `targets`"));
    assert!(said(params.fit(&dataset()).unwrap_err()).starts_with("parameter `targets`"));
    let one = Dataset::new(records(), Array1::from_elem(ROWS, 1_usize));
    assert!(said(MetricLearner::params(Lip::intra()).fit(&one).unwrap_err()).contains("class"));
    let learned = MetricLearner::params(Euclidean::new()).fit(&dataset()).unwrap();
    assert!(said(learned.try_predict(&array![[1.0, 2.0]]).unwrap_err()).contains('4'));
    let infinite = array![[1.0, 2.0, f64::INFINITY, 0.0]];
    assert!(learned.try_transform(&infinite).is_err() && learned.try_predict(&infinite).is_err());
    let many = MetricLearner::params(Euclidean::new()).neighbours(1000).fit(&dataset()).unwrap_err();
    assert!(said(many).starts_with("parameter `k`"));
}

#[test]
#[should_panic(expected = "4")]
fn the_traits_of_linfa_panic_where_they_cannot_say_it() {
    let learned = MetricLearner::params(Euclidean::new()).fit(&dataset()).unwrap();
    let _: Array1<usize> = learned.predict(&array![[1.0, 2.0]]);
}

#[test]
fn the_default_chooses_what_predicts_and_a_fit_can_be_watched() {
    let learned = MetricLearner::auto().fit(&dataset()).unwrap();
    assert!(learned.outcome().choice.is_some());
    let votes = ClassifierSpec::Vote { k: K::Auto, weights: Weights::Distance };
    let learner = MetricLearner::params(Lmnn::new()).classifier(votes).check().unwrap();
    let learned = learner.fit_observed(&dataset(), &mut Budget::new(Some(Duration::from_secs(3600)), Silent)).unwrap();
    assert!(learned.outcome().status.converged());
}
