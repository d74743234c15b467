//! Margins and diameters of a large sample: time and peak memory.
//!
//! `cargo run --release --example lipschitz_scale -- [rows] [columns]` (100,000 x 10 if not given).

use lipmetric::lipschitz::{LocalRatios, Mahalanobis, Margins, certified_radii, diameter, margin};
use lipmetric::{Labels, Matrix, Result};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::time::Instant;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).map(|a| a.parse().unwrap_or(0));
    let rows = arguments.next().unwrap_or(100_000).max(4);
    let cols = arguments.next().unwrap_or(10).max(1);
    for shape in [Shape::Normal, Shape::Cube, Shape::Sphere] {
        measure(shape, rows, cols)?;
    }
    Ok(())
}

#[derive(Debug, Clone, Copy)]
enum Shape {
    Normal,
    Cube,
    Sphere,
}

fn measure(shape: Shape, rows: usize, cols: usize) -> Result<()> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let x = sample(shape, rows, cols, &mut rng);
    let y = Labels::from_names((0..rows).map(|_| if rng.random::<bool>() { "a" } else { "b" }));
    let distance = Mahalanobis::euclidean(&x)?;
    let report = |what: &str, start: Instant, result: String| {
        print(&format!("{shape:?} {rows} x {cols}: {what:14} {:8.3} s  {result}", start.elapsed().as_secs_f64()));
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
    let queries = sample(shape, rows.min(10_000), cols, &mut rng);
    let start = Instant::now();
    let radii = certified_radii(&distance.to(&queries)?, &y)?;
    let mean = radii.iter().map(|r| r.radius).sum::<f64>() / radii.len() as f64;
    report("10,000 radii", start, format!("mean {mean:.4}"));
    print(&format!("peak memory {}", peak_memory()));
    Ok(())
}

/// Normal, uniform in a cube, or on a sphere (the hard case for a diameter: no point is nearer to the centre).
fn sample(shape: Shape, rows: usize, cols: usize, rng: &mut ChaCha8Rng) -> Matrix {
    let mut uniform = || rng.random::<f64>();
    let mut x = Matrix::zeros(rows, cols);
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

fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap_or("unknown");
    line.trim().to_owned()
}

#[allow(clippy::print_stdout)]
fn print(line: &str) {
    println!("{line}");
}
