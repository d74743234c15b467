//! A path over c against separate fits.

use crate::options::Options;
use crate::{Result, data, method, system, tell};
use lipmetric::method::{Method, Training};
use lipmetric::solver::Silent;
use serde_json::json;

/// The path to the gap `tol`, each of its points also alone to the usual one.
pub(crate) fn run(source: &str, name: &str, mut options: Options) -> Result {
    let (x, y) = data::labelled(source)?;
    let training = Training::new(&x, &y)?;
    let lip = method::problem(name, &mut options)?;
    let points: usize = options.get("points")?.unwrap_or(25);
    let tolerance: Option<f64> = options.get("tol")?;
    let alone: bool = options.get("alone")?.unwrap_or(true);
    options.finish()?;
    let start = system::cpu_seconds();
    let c_max = lip.c_max(&training, &mut Silent)?;
    let ceiling = system::cpu_seconds() - start;
    let fractions: Vec<f64> = (0..points).map(|k| 0.9 * 1e-6f64.powf(k as f64 / (points.max(2) - 1) as f64)).collect();
    let start = system::cpu_seconds();
    let path = lip.clone().tolerance(tolerance).path(&training, &fractions, &mut Silent)?;
    let together = system::cpu_seconds() - start;
    let mut separate = 0.0;
    for (fraction, point) in fractions.iter().zip(&path) {
        let told = |o: &lipmetric::method::Outcome| {
            format!("{:?} {:.1e} {} steps", o.status, o.gap.unwrap_or(f64::NAN), o.iterations)
        };
        let on_path = told(&point.outcome);
        if !alone {
            tell(&format!("{fraction:9.2e} {on_path}"));
            continue;
        }
        let start = system::cpu_seconds();
        let single = lip.clone().c(fraction * c_max).fit(&training, &mut Silent)?;
        let seconds = system::cpu_seconds() - start;
        separate += seconds;
        tell(&format!("{fraction:9.2e} {on_path}; alone {} {seconds:.3} s", told(&single.outcome)));
    }
    let fits = together / (separate / points as f64);
    tell(&format!(
        "path {together:.3} s (c_max included, which takes {ceiling:.3} s), separately {separate:.3} s: {fits:.1} single fits"
    ));
    tell(&json!({ "path_s": together, "single_s": separate, "c_max_s": ceiling, "fits": fits }));
    Ok(())
}
