//! A learned distance in linfa: classify, map, and search neighbours: `cargo run -p lipmetric-linfa --example linfa`.
#![expect(clippy::print_stdout, reason = "an example prints")]

use linfa::prelude::*;
use linfa_nn::{BallTree, NearestNeighbour};
use lipmetric_linfa::{MetricLearner, lipmetric::method::Lmnn};
use ndarray::{Array, Array1};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // 150 songs: the genre depends on tempo and loudness; the year says nothing, and its numbers are the largest.
    let song = |(i, j): (usize, usize)| ((i + 1) * [31, 47, 59][j] % 151) as f64 * [0.8, 0.2, 10.0][j];
    let songs = Array::from_shape_fn((150, 3), song);
    let genre: Array1<&str> =
        songs.rows().into_iter().map(|s| if s[0] > 4.0 * s[1] { "dance" } else { "rock" }).collect();
    let data = Dataset::new(songs, genre).with_feature_names(vec!["tempo", "loudness", "year"]);
    let (train, test) = data.split_with_ratio(0.8);

    // Parameters are checked, features scaled; one neighbour votes.
    let learned = MetricLearner::params(Lmnn::new().targets(2)).fit(&train)?;
    let plain = MetricLearner::params(lipmetric_linfa::lipmetric::method::Euclidean::new()).fit(&train)?;
    println!("the map, for tempo, loudness and year:\n{:.3}", learned.components());
    println!("accuracy: {:.2}", learned.predict(&test).confusion_matrix(&test)?.accuracy());
    println!("accuracy without learning: {:.2}", plain.predict(&test).confusion_matrix(&test)?.accuracy());

    // The same distance in an index of linfa-nn, between songs as they are.
    let index = BallTree::new().from_batch(train.records(), learned.distance())?;
    let like: Vec<usize> = index.k_nearest(test.records().row(0), 3)?.into_iter().map(|(_, i)| i).collect();
    println!("songs most like the first of the others: {like:?}");
    Ok(())
}
