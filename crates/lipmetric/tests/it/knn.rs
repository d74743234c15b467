//! Nearest neighbours against a naive double loop.

use lipmetric::Matrix;
use lipmetric::neighbours::{Algorithm, NeighbourIndex, Neighbours};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const ALGORITHMS: [Algorithm; 3] = [Algorithm::Auto, Algorithm::Brute, Algorithm::Tree];

fn squared_distance(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).fold(0.0, |sum, (a, b)| sum + (a - b) * (a - b))
}

/// All rows but `excluded`, sorted by distance and then by index.
fn naive(rows: &Matrix, query: &[f64], excluded: Option<usize>) -> Vec<(f64, usize)> {
    let mut all: Vec<(f64, usize)> =
        (0..rows.rows()).filter(|&i| Some(i) != excluded).map(|i| (squared_distance(query, rows.row(i)), i)).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    all
}

fn assert_matches(found: &Neighbours, i: usize, expected: &[(f64, usize)], context: &str) {
    let indices: Vec<usize> = expected[..found.k()].iter().map(|e| e.1).collect();
    assert_eq!(found.indices(i), indices, "rows of query {i}, {context}");
    for (a, b) in found.squared_distances(i).iter().zip(expected) {
        assert_eq!(a.to_bits(), b.0.to_bits(), "distance of query {i}: {a} against {}, {context}", b.0);
    }
}

fn check(rows: &Matrix, queries: &Matrix, ks: &[usize]) {
    let expected: Vec<_> = (0..queries.rows()).map(|i| naive(rows, queries.row(i), None)).collect();
    for algorithm in ALGORITHMS {
        let index = NeighbourIndex::with_algorithm(rows.clone(), algorithm).unwrap();
        for &k in ks {
            let found = index.query(queries, k).unwrap();
            assert_eq!(found.len(), queries.rows());
            for (i, expected) in expected.iter().enumerate() {
                assert_matches(&found, i, expected, &format!("{algorithm:?}, k = {k}"));
            }
        }
    }
}

/// Kinds of data that could break a search that screens in low precision.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Smooth,
    /// Small integers: ties and duplicates everywhere.
    Grid,
    /// Far from the origin with tiny differences.
    Offset,
    /// Tight clusters far apart: single precision about a common centre cannot tell members apart.
    Clusters,
    ConstantColumns,
    /// Each column on its own scale.
    MixedScales,
    /// A few rows far larger than the rest.
    Outliers,
}

const KINDS: [Kind; 7] =
    [Kind::Smooth, Kind::Grid, Kind::Offset, Kind::Clusters, Kind::ConstantColumns, Kind::MixedScales, Kind::Outliers];

fn sample(kind: Kind, rows: usize, cols: usize, scale: f64, seed: u64) -> Matrix {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut data = Vec::with_capacity(rows * cols);
    for i in 0..rows {
        let cluster = f64::from(rng.random_range(0u8..4));
        for j in 0..cols {
            let u: f64 = rng.random_range(-1.0..1.0);
            let value = match kind {
                Kind::Smooth => u,
                Kind::Grid => (u * 2.0).round(),
                Kind::Offset => 1e6 + 1e-6 * u,
                Kind::Clusters => cluster * 1e6 + 1e-4 * u,
                Kind::ConstantColumns => [u, 3.0][j % 2],
                Kind::MixedScales => u * 10f64.powi((j % 13) as i32 * 3 - 18),
                Kind::Outliers => u * if i % 17 == 0 { 1e9 } else { 1.0 },
            };
            data.push(scale * value);
        }
    }
    Matrix::from_vec(rows, cols, data).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_algorithm_finds_what_a_double_loop_finds(
        kind in 0..KINDS.len(),
        rows in 1usize..400,
        cols in 1usize..=70,
        exponent in prop_oneof![4 => Just(0), 1 => -170i32..150],
        k in any::<prop::sample::Index>(),
        seed in any::<u64>(),
    ) {
        let scale = 10f64.powi(exponent);
        let reference = sample(KINDS[kind], rows, cols, scale, seed);
        let mut queries = sample(KINDS[kind], 20, cols, scale, seed ^ 1);
        // Rows of the reference itself are queries too: distances of exactly zero.
        for i in 0..5 {
            queries.row_mut(i).copy_from_slice(reference.row((i * 37) % rows));
        }
        check(&reference, &queries, &[1, k.index(rows) + 1]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_few_columns_in_a_deep_tree_are_searched_exactly(
        kind in 0..KINDS.len(),
        rows in 3000usize..6000,
        cols in 1usize..=4,
        k in 1usize..40,
        seed in any::<u64>(),
    ) {
        let reference = sample(KINDS[kind], rows, cols, 1.0, seed);
        check(&reference, &sample(KINDS[kind], 8, cols, 1.0, seed ^ 1), &[1, k]);
    }
}

#[test]
fn auto_agrees_on_batches_large_enough_to_choose_the_tree() {
    for kind in KINDS {
        let reference = sample(kind, 2000, 3, 1.0, 5);
        check(&reference, &sample(kind, 300, 3, 1.0, 6), &[1, 5]);
    }
}

#[test]
fn the_query_itself_can_be_left_out_but_not_its_duplicates() {
    for kind in KINDS {
        let rows = sample(kind, 300, 3, 1.0, 11);
        for algorithm in ALGORITHMS {
            let index = NeighbourIndex::with_algorithm(rows.clone(), algorithm).unwrap();
            for k in [1, 7, 299] {
                let found = index.query_excluding_self(k).unwrap();
                for i in 0..rows.rows() {
                    assert_matches(&found, i, &naive(&rows, rows.row(i), Some(i)), &format!("{algorithm:?} {kind:?}"));
                }
            }
        }
    }
}

#[test]
fn identical_rows_are_found_in_their_order() {
    let rows = Matrix::from_vec(3000, 2, vec![0.1; 6000]).unwrap();
    check(&rows, &Matrix::from_rows(&[[0.1, 0.1], [0.3, -4.0]]), &[1, 10, 3000]);
}

#[test]
fn distances_beyond_the_range_are_infinite_ties() {
    let rows =
        Matrix::from_rows(&[[1e200, 0.0], [-1e200, 1.0], [1e308, -1e308], [0.0, 0.0], [1e-200, 0.0], [1e200, 0.0]]);
    let queries = Matrix::from_rows(&[[0.0, 0.0], [1e200, 0.0], [-1.7e308, 1.7e308], [1e-200, 0.0], [5e-324, 0.0]]);
    check(&rows, &queries, &[1, 3, 6]);
    let found = NeighbourIndex::new(rows).unwrap().query(&queries, 6).unwrap();
    assert_eq!(found.indices(0), [3, 4, 0, 1, 2, 5]);
    assert_eq!(found.squared_distances(0)[2], f64::INFINITY);
}

#[test]
fn squares_that_underflow_are_ties_at_zero() {
    for scale in [1e-155, 1e-162, 1e-200, 1e-310] {
        let rows = sample(Kind::Smooth, 500, 3, scale, 3);
        check(&rows, &sample(Kind::Smooth, 20, 3, scale, 4), &[1, 5, 500]);
    }
    // A tight knot inside data of ordinary extent.
    let mut rows = sample(Kind::Smooth, 500, 3, 1.0, 3);
    let knot = sample(Kind::Smooth, 200, 3, 1e-190, 9);
    for i in 0..200 {
        rows.row_mut(2 * i).copy_from_slice(knot.row(i));
    }
    check(&rows, &sample(Kind::Smooth, 20, 3, 1e-190, 4), &[1, 5, 250]);
}

#[test]
fn queries_far_outside_the_rows_are_searched_exactly() {
    let rows = sample(Kind::Smooth, 700, 5, 1.0, 1);
    for scale in [1e3, 1e5, 1e7, 1e20, 1e200] {
        check(&rows, &sample(Kind::Smooth, 10, 5, scale, 2), &[1, 4]);
    }
}

#[test]
fn a_query_that_overflows_does_not_disturb_its_neighbours_in_the_batch() {
    let rows = sample(Kind::Smooth, 700, 5, 1.0, 1);
    let mut queries = sample(Kind::Smooth, 60, 5, 1.0, 2);
    for i in (0..60).step_by(4) {
        queries.row_mut(i).fill([1e200, 1e60, -1e39, 1e308][i % 16 / 4]);
    }
    check(&rows, &queries, &[1, 4]);
}

#[test]
fn threads_and_batches_do_not_change_a_bit() {
    let (rows, queries) = (sample(Kind::Smooth, 3000, 6, 1.0, 1), sample(Kind::Smooth, 500, 6, 1.0, 2));
    let run = |threads: usize, algorithm| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| NeighbourIndex::with_algorithm(rows.clone(), algorithm).unwrap().query(&queries, 5).unwrap())
    };
    let reference = run(1, Algorithm::Brute);
    for algorithm in ALGORITHMS {
        for threads in [1, 2, 5] {
            assert_eq!(run(threads, algorithm), reference);
        }
        let index = NeighbourIndex::with_algorithm(rows.clone(), algorithm).unwrap();
        for first in (0..500).step_by(70) {
            let batch: Vec<usize> = (first..500.min(first + 70)).collect();
            let found = index.query(&queries.select_rows(&batch), 5).unwrap();
            for (b, &i) in batch.iter().enumerate() {
                assert_eq!(found.indices(b), reference.indices(i));
                assert_eq!(found.squared_distances(b), reference.squared_distances(i));
            }
        }
    }
}

#[test]
fn rows_without_columns_are_all_at_distance_zero() {
    check(&Matrix::zeros(5, 0), &Matrix::zeros(2, 0), &[1, 5]);
}

#[test]
fn no_query_no_answer() {
    for algorithm in ALGORITHMS {
        let index = NeighbourIndex::with_algorithm(sample(Kind::Smooth, 2000, 2, 1.0, 1), algorithm).unwrap();
        assert!(index.query(&Matrix::zeros(0, 2), 3).unwrap().is_empty());
    }
}

#[test]
fn wrong_questions_are_refused_with_the_numbers() {
    let index = NeighbourIndex::new(Matrix::from_rows(&[[0.0, 1.0], [2.0, 3.0]])).unwrap();
    let query = Matrix::from_rows(&[[0.0, 0.0]]);
    let message = |result: lipmetric::Result<Neighbours>| result.unwrap_err().to_string();
    assert_eq!(message(index.query(&query, 0)), "parameter `k`: must be at least 1, found 0");
    assert_eq!(message(index.query(&query, 3)), "parameter `k`: 3 neighbours asked for, but the number of rows is 2");
    assert_eq!(
        message(index.query_excluding_self(2)),
        "parameter `k`: 2 neighbours asked for, but the number of other rows is 1"
    );
    assert_eq!(message(index.query(&Matrix::zeros(1, 3), 1)), "columns of the queries: expected 2, found 3");
    let bad = message(index.query(&Matrix::from_rows(&[[0.0, 0.0], [0.0, f64::NAN]]), 1));
    assert!(bad.starts_with("query row 1, column 1 is NaN"), "{bad}");
    assert!(NeighbourIndex::new(Matrix::zeros(0, 2)).is_err());
    let bad = NeighbourIndex::new(Matrix::from_rows(&[[f64::INFINITY]])).unwrap_err().to_string();
    assert!(bad.starts_with("indexed row 0, column 0 is inf"), "{bad}");
}
