//! The rules by which neighbours vote.

use lipmetric::classify::{KnnClassifier, Weights};
use lipmetric::neighbours::NeighbourIndex;
use lipmetric::{Labels, Matrix};
use proptest::prelude::*;

fn classifier(rows: &[f64], names: &[&str], k: usize, weights: Weights) -> KnnClassifier {
    let index = NeighbourIndex::new(Matrix::from_vec(rows.len(), 1, rows.to_vec()).unwrap()).unwrap();
    KnnClassifier::new(index, Labels::from_names(names), k, weights).unwrap()
}

fn at(x: f64) -> Matrix {
    Matrix::from_rows(&[[x]])
}

#[test]
fn the_majority_wins() {
    let knn = classifier(&[0.0, 1.0, 1.5], &["a", "b", "b"], 3, Weights::Uniform);
    assert_eq!(knn.predict(&at(0.0)).unwrap(), [1]);
    assert_eq!(knn.predict_proba(&at(0.0)).unwrap().row(0), [1.0 / 3.0, 2.0 / 3.0]);
}

#[test]
fn among_equal_votes_the_class_with_the_nearest_member_wins() {
    let knn = classifier(&[4.0, 2.0], &["a", "b"], 2, Weights::Uniform);
    assert_eq!(knn.predict(&at(3.5)).unwrap(), [0]);
    assert_eq!(knn.predict(&at(2.9)).unwrap(), [1]);
    // Equal sums of inverse distances, 1 against 1/2 + 1/2.
    let knn = classifier(&[2.0, -2.0, 1.0], &["a", "a", "b"], 3, Weights::Distance);
    assert_eq!(knn.predict(&at(0.0)).unwrap(), [1]);
}

#[test]
fn among_equally_near_classes_the_lower_code_wins() {
    for weights in [Weights::Uniform, Weights::Distance] {
        // The row of class b comes first, so that only the code can decide.
        let knn = classifier(&[1.0, -1.0], &["b", "a"], 2, weights);
        assert_eq!(knn.predict(&at(0.0)).unwrap(), [0]);
    }
}

#[test]
fn among_equally_near_rows_the_lower_index_votes() {
    let knn = classifier(&[1.0, -1.0], &["b", "a"], 1, Weights::Uniform);
    assert_eq!(knn.predict(&at(0.0)).unwrap(), [1]);
}

#[test]
fn distance_weights_are_inverse_distances() {
    let knn = classifier(&[0.0, 3.0, 4.0], &["a", "b", "b"], 3, Weights::Distance);
    assert_eq!(knn.predict(&at(1.0)).unwrap(), [0]);
    let proba = knn.predict_proba(&at(1.0)).unwrap();
    let (a, b) = (1.0, 1.0 / 2.0 + 1.0 / 3.0);
    assert!((proba[(0, 0)] - a / (a + b)).abs() < 1e-15);
}

#[test]
fn neighbours_at_distance_zero_outvote_all_others() {
    let knn = classifier(&[0.0, 1e-9, 2e-9], &["a", "b", "b"], 3, Weights::Distance);
    assert_eq!(knn.predict(&at(0.0)).unwrap(), [0]);
    assert_eq!(knn.predict_proba(&at(0.0)).unwrap().row(0), [1.0, 0.0]);
}

#[test]
fn infinitely_far_neighbours_share_the_vote() {
    let knn = classifier(&[1e200, -1e200], &["a", "b"], 2, Weights::Distance);
    assert_eq!(knn.predict_proba(&at(0.0)).unwrap().row(0), [0.5, 0.5]);
    assert_eq!(knn.explain(&at(0.0)).unwrap()[0].margin(), 0.0);
}

#[test]
fn the_margin_compares_nearest_rows_of_the_predicted_and_of_other_classes() {
    let knn = classifier(&[0.0, 2.0, 2.5, 9.0], &["a", "b", "b", "c"], 3, Weights::Uniform);
    let told = &knn.explain(&at(0.5)).unwrap()[0];
    assert_eq!(told.label, 1);
    let neighbours: Vec<(usize, f64)> = told.neighbours.iter().map(|n| (n.row, n.distance)).collect();
    assert_eq!(neighbours, [(0, 0.5), (1, 1.5), (2, 2.0)]);
    assert_eq!((told.same.unwrap().row, told.other.unwrap().row), (1, 0));
    assert_eq!((told.nearest(), told.margin()), (0.5, 0.5 - 1.5));
    assert_eq!(knn.explain(&at(2.25)).unwrap()[0].margin(), 2.25 - 0.25);
}

#[test]
fn the_margin_is_infinite_when_no_other_class_has_rows() {
    let index = NeighbourIndex::new(Matrix::from_rows(&[[0.0], [1.0]])).unwrap();
    let labels = Labels::from_codes(vec!["a".into(), "b".into()], vec![0, 0]).unwrap();
    let knn = KnnClassifier::new(index, labels, 1, Weights::Uniform).unwrap();
    assert_eq!(knn.explain(&at(0.2)).unwrap()[0].margin(), f64::INFINITY);
    assert_eq!(knn.predict_proba(&at(0.2)).unwrap().row(0), [1.0, 0.0]);
}

#[test]
fn a_classifier_needs_a_label_per_row_and_a_possible_k() {
    let index = || NeighbourIndex::new(Matrix::from_rows(&[[0.0], [1.0]])).unwrap();
    let error = KnnClassifier::new(index(), Labels::from_names(["a"]), 1, Weights::Uniform).unwrap_err();
    assert_eq!(error.to_string(), "labels of the indexed rows: expected 2, found 1");
    assert!(KnnClassifier::new(index(), Labels::from_names(["a", "b"]), 3, Weights::Uniform).is_err());
    assert!(KnnClassifier::new(index(), Labels::from_names(["a", "b"]), 0, Weights::Uniform).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn shares_add_up_predictions_lead_them_and_class_distances_are_minima(
        rows in prop::collection::vec((-4i32..4, -4i32..4, 0u32..5), 1..60),
        query in (-5i32..5, -5i32..5),
        k in any::<prop::sample::Index>(),
        by_distance in any::<bool>(),
    ) {
        let weights = if by_distance { Weights::Distance } else { Weights::Uniform };
        let values = rows.iter().flat_map(|r| [f64::from(r.0), f64::from(r.1)]).collect();
        let matrix = Matrix::from_vec(rows.len(), 2, values).unwrap();
        let classes = (0..5).map(|c| c.to_string()).collect();
        let labels = Labels::from_codes(classes, rows.iter().map(|r| r.2).collect()).unwrap();
        let queries = Matrix::from_rows(&[[f64::from(query.0), f64::from(query.1)]]);
        let index = NeighbourIndex::new(matrix).unwrap();
        let per_class = index.nearest_per_class(&queries, &labels).unwrap();
        for class in 0..5 {
            let squares = rows.iter().filter(|r| r.2 == class).map(|r| (r.0 - query.0).pow(2) + (r.1 - query.1).pow(2));
            let expected = squares.min().map_or(f64::INFINITY, f64::from);
            prop_assert_eq!(per_class[(0, class as usize)], expected);
        }
        let knn = KnnClassifier::new(index, labels, k.index(rows.len()) + 1, weights).unwrap();
        let proba = knn.predict_proba(&queries).unwrap();
        prop_assert!((proba.row(0).iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let label = knn.predict(&queries).unwrap()[0];
        let most = proba.row(0).iter().copied().fold(0.0, f64::max);
        prop_assert_eq!(proba[(0, label as usize)], most);
        prop_assert_eq!(knn.explain(&queries).unwrap()[0].label, label);
    }
}
