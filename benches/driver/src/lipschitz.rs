//! Margins and diameters of a large sample: time and peak memory.

use crate::options::Options;
use crate::{Result, system, tell};
use lipmetric::lipschitz::{LocalRatios, Mahalanobis, Margins, certified_radii, diameter, margin};
use lipmetric::{Labels, Matrix};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::time::Instant;

pub(crate) fn run(mut options: Options) -> Result {
    let rows = options.get("rows")?.unwrap_or(100_000_usize).max(4);
    let columns = options.get("columns")?.unwrap_or(10_usize).max(1);
    options.finish()?;
    [Shape::Normal, Shape::Cube, Shape::Sphere].into_iter().try_for_each(|shape| measure(shape, rows, columns))
}

#[derive(Debug, Clone, Copy)]
enum Shape {
    Normal,
    Cube,
    Sphere,
}

fn measure(shape: Shape, rows: usize, columns: usize) -> Result {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let x = sample(shape, rows, columns, &mut rng);
    let y = Labels::from_names((0..rows).map(|_| if rng.random::<bool>() { "a" } else { "b" }));
    let distance = Mahalanobis::euclidean(&x)?;
    let report = |what: &str, start: Instant, result: String| {
        tell(&format!("{shape:?} {rows} x {columns}: {what:14} {:8.3} s  {result}", start.elapsed().as_secs_f64()));
    };
    let start = Instant::now();
    let d = diameter(&distance)?;
    report("diameter", start, format!("{:.4} at ({}, {})", d.distance, d.i, d.j));
    let start = Instant::now();
    let m = margin(&distance, &y)?;
    report("margin", start, format!("{:.4} at ({}, {})", m.distance, m.i, m.j));
    let start = Instant::now();
    let all = Margins::new(&distance, &y)?;
    report("all margins", start, format!("diam {:.5}, intra {:.5}", all.ratio_diameter, all.ratio_intra));
    let start = Instant::now();
    let local = LocalRatios::new(&distance, &y)?.summary_intra(10);
    report("local ratios", start, format!("median {:.4}", local.quantiles[2]));
    let queries = sample(shape, rows.min(10_000), columns, &mut rng);
    let start = Instant::now();
    let radii = certified_radii(&distance.to(&queries)?, &y)?;
    let mean = radii.iter().map(|r| r.radius).sum::<f64>() / radii.len() as f64;
    report("10,000 radii", start, format!("mean {mean:.4}"));
    tell(&format!("peak memory {:.0} MB", system::peak_megabytes()));
    Ok(())
}

/// Normal, uniform in a cube, or on a sphere (the hard case for a diameter: no point is nearer to the centre).
fn sample(shape: Shape, rows: usize, columns: usize, rng: &mut ChaCha8Rng) -> Matrix {
    let mut uniform = || rng.random::<f64>();
    let mut x = Matrix::zeros(rows, columns);
    for i in 0..rows {
        for v in x.row_mut(i) {
            *v = match shape {
                Shape::Cube => uniform(),
                _ => (-2.0 * (1.0 - uniform()).ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos(),
            };
        }
        if matches!(shape, Shape::Sphere) {
            let length = x.row(i).iter().map(|v| v * v).sum::<f64>().sqrt();
            x.row_mut(i).iter_mut().for_each(|v| *v /= length);
        }
    }
    x
}
