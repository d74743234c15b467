//! Describe methods in JSON, and choose one by cross-validation: `cargo run --example choose`.
#![expect(clippy::print_stdout, reason = "an example prints")]

use lipmetric::data::{Column, Table, folds};
use lipmetric::evaluate::Trial;
use lipmetric::method::{Method, Spec};
use lipmetric::model::Recipe;
use lipmetric::prepare::{Dataset, Roles};
use lipmetric::solver::Silent;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // 80 rows: the class depends on a sum of the first two columns, the third is noise.
    let column = |step: usize| (0..80).map(|i| ((i + 1) * step % 83) as f64 / 83.0).collect::<Vec<f64>>();
    let (a, b, c) = (column(31), column(47), column(59));
    let label: Vec<&str> = a.iter().zip(&b).map(|(a, b)| if a + b > 1.0 { "above" } else { "below" }).collect();
    let mut columns = [("a", a), ("b", b), ("c", c)].map(|(name, values)| Column::numbers(name, values)).to_vec();
    columns.push(Column::texts("label", label));
    let data = Dataset::read(&Table::new("rows", columns), &Roles::default())?;

    // The same JSON is what `lipmetric fit --spec` reads, and what `lipmetric inspect --spec` prints.
    for json in [
        r#"{"method": "euclidean"}"#,
        r#"{"method": "lmnn", "targets": 2}"#,
        r#"{"method": "lip", "variant": "intra"}"#,
    ] {
        let spec: Spec = serde_json::from_str(json)?; // what is left out has its default
        spec.check()?;
        let mut accuracy = 0.0;
        for split in folds(&data.labels, 5, 0)? {
            accuracy += Trial::run(&Recipe::new(&spec), &data, &split, &mut Silent)?.confusion.accuracy() / 5.0;
        }
        println!("{}: {:.1} %\n  {}", spec.name(), 100.0 * accuracy, serde_json::to_string(&spec)?);
    }
    Ok(())
}
