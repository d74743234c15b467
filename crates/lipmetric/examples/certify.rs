//! What a prediction rests on, and how far a row can move before its class changes: `cargo run --example certify`.
#![expect(clippy::print_stdout, reason = "an example prints")]

use lipmetric::Matrix;
use lipmetric::data::{Column, Table};
use lipmetric::method::Lip;
use lipmetric::model::Recipe;
use lipmetric::prepare::{Dataset, Roles};
use lipmetric::solver::Silent;

fn main() -> lipmetric::Result<()> {
    let x = vec![0.1, 0.7, 1.2, 1.9, 3.1, 3.6, 4.2, 4.9];
    let y = vec![0.9, 0.2, 0.6, 0.4, 0.3, 0.8, 0.1, 0.7];
    let label = ["low", "low", "low", "low", "high", "high", "high", "high"];
    let columns = vec![Column::numbers("x", x), Column::numbers("y", y), Column::texts("label", label)];
    let data = Dataset::read(&Table::new("rows", columns), &Roles::default())?;
    let model = Recipe::new(&Lip::overall().into()).fit(&data, None, &mut Silent)?; // predicts by one neighbour

    let new = Matrix::from_rows(&[[0.5, 0.5], [2.4, 0.5], [4.0, 0.5]]);
    for told in model.radii(&new)? {
        let class = &model.classes[told.prediction.label as usize];
        let nearest = told.prediction.neighbours[0].row + 1;
        println!("{class}: the nearest training row is row {nearest}, {:.3} away;", told.prediction.nearest());
        println!(
            "  another class is {:.3} farther; a row that moves by less than {:.3} keeps its class",
            told.prediction.margin(),
            told.radius
        );
    }
    Ok(())
}
