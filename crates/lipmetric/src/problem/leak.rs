use crate::pairs::Cloud;
use crate::{Matrix, Result, linalg};

/// Within-class scatter below this (in coordinates of unit total variance) counts as none.
const NONE: f64 = 1e-10;
/// How much longer than needed the least distance is made: more than rounding takes away.
const STAY_ABOVE: f64 = 1e-12;

/// Directions without within-class scatter that separate the classes: Lip^I is then unbounded in its favour.
///
/// Returns a factor (coordinates x directions) under which every pair of different label has a squared distance of at
/// least 2 and every pair of equal label none, where there is one.
pub(super) fn leak(cloud: &Cloud) -> Result<Option<Matrix>> {
    let p = cloud.x.cols();
    let (within, centres) = scatter(cloud);
    let eigen = linalg::symmetric_eigen(&within)?;
    let free = eigen.values.iter().take_while(|&&v| v <= NONE).count();
    if free == 0 {
        return Ok(None);
    }
    let mut basis = eigen.vectors.select_cols(0..free);
    let mut least = f64::INFINITY;
    for (a, first) in centres.iter().enumerate() {
        for second in &centres[..a] {
            let distance: f64 = (0..free)
                .map(|k| {
                    let t: f64 = (0..p).map(|d| basis[(d, k)] * (first[d] - second[d])).sum();
                    t * t
                })
                .sum();
            least = least.min(distance);
        }
    }
    if least <= NONE.sqrt() {
        return Ok(None);
    }
    let scale = (2.0 / least).sqrt() * (1.0 + STAY_ABOVE);
    basis.as_mut_slice().iter_mut().for_each(|v| *v *= scale);
    Ok(Some(basis))
}

/// The covariance within the classes.
pub(super) fn within(cloud: &Cloud) -> Matrix {
    scatter(cloud).0
}

/// The covariance within the classes, and their centres.
fn scatter(cloud: &Cloud) -> (Matrix, Vec<Vec<f64>>) {
    let p = cloud.x.cols();
    let mut within = Matrix::zeros(p, p);
    let mut centres: Vec<Vec<f64>> = Vec::new();
    for class in cloud.classes() {
        let mean = cloud.mean(class.clone());
        for i in class {
            for a in 0..p {
                for b in 0..p {
                    within[(a, b)] += (cloud.x[(i, a)] - mean[a]) * (cloud.x[(i, b)] - mean[b]) / cloud.len() as f64;
                }
            }
        }
        centres.push(mean);
    }
    (within, centres)
}
