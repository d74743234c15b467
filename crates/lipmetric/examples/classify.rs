//! Learn a distance from labelled rows, and classify new rows with it: `cargo run --example classify`.
#![expect(clippy::print_stdout, reason = "an example prints")]

use lipmetric::Matrix;
use lipmetric::data::{Column, Table};
use lipmetric::method::Lip;
use lipmetric::model::{Predictor, Recipe};
use lipmetric::prepare::{Dataset, Roles};
use lipmetric::solver::Silent;

fn main() -> lipmetric::Result<()> {
    // 60 flowers: the kind depends on the length alone, the weight is noise.
    let noise = |i: usize, step: usize| (i * step % 61) as f64 / 61.0;
    let length = (0..60).map(|i| if i < 30 { 1.0 } else { 2.2 } + noise(i, 17)).collect();
    let weight = (0..60).map(|i| noise(i, 23)).collect();
    let kind = (0..60).map(|i| if i < 30 { "short" } else { "long" });
    let columns = [Column::numbers("length", length), Column::numbers("weight", weight), Column::texts("kind", kind)];
    // The label is the last column, unless `Roles` says otherwise.
    let data = Dataset::read(&Table::new("flowers", columns.into()), &Roles::default())?;

    // Missing values are filled and features scaled, here and again in every prediction.
    let model = Recipe::new(&Lip::intra().into()).fit(&data, None, &mut Silent)?;
    println!("weights of length and weight in the distance: {:.3?}", model.metric.diagonal());
    println!("ended: {}, certified gap: {:?}", model.outcome.status.describe(), model.outcome.gap);

    let predictor = Predictor::new(model)?; // ready for any number of batches
    let labels = predictor.predict(&Matrix::from_rows(&[[1.1, 0.9], [2.9, 0.1]]))?;
    println!("a length of 1.1: {}; of 2.9: {}", predictor.class(labels[0]), predictor.class(labels[1]));
    Ok(())
}
