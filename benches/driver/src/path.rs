//! A path over c against separate fits.

use crate::options::Options;
use crate::{Result, data, method, system, tell};
use lipmetric::method::{Method, Training};
use lipmetric::solver::Silent;
use serde_json::json;

pub(crate) fn run(source: &str, name: &str, mut options: Options) -> Result {
    let (x, y) = data::labelled(source)?;
    let training = Training::new(&x, &y)?;
    let lip = method::problem(name, &mut options)?;
    let points: usize = options.get("points")?.unwrap_or(25);
    options.finish()?;
    let c_max = lip.c_max(&training, &mut Silent)?;
    let fractions: Vec<f64> = (0..points).map(|k| 0.9 * 1e-6f64.powf(k as f64 / (points.max(2) - 1) as f64)).collect();
    let start = system::cpu_seconds();
    let path = lip.path(&training, &fractions, &mut Silent)?;
    let together = system::cpu_seconds() - start;
    let mut separate = 0.0;
    for (fraction, point) in fractions.iter().zip(&path) {
        let start = system::cpu_seconds();
        let single = lip.clone().c(fraction * c_max).fit(&training, &mut Silent)?;
        let seconds = system::cpu_seconds() - start;
        separate += seconds;
        let [on_path, alone] = [&point.outcome, &single.outcome]
            .map(|o| format!("{:?} {:.1e} {} steps", o.status, o.gap.unwrap_or(f64::NAN), o.iterations));
        tell(&format!("{fraction:9.2e} {on_path}; alone {alone} {seconds:.3} s"));
    }
    let fits = together / (separate / points as f64);
    tell(&format!("path {together:.3} s (c_max included), separately {separate:.3} s: {fits:.1} single fits"));
    tell(&json!({ "path_s": together, "single_s": separate, "fits": fits }));
    Ok(())
}
