//! The paper's appendix in numbers: what the penalties of LMML and LMNN have to do with the Lipschitz margin ratios.
//!
//! Distances here are the appendix's, the *squared* Mahalanobis distance `rho_M`, and the classifier is
//! `f(x) = rho_M(x, nearest of S_-1) - rho_M(x, nearest of S_1)`. The inequalities that are stated hold for any `M` and do
//! not need the triangle inequality, which `rho_M` does not have.

use super::distance::{Square, Vectors};
use super::local::LocalRatios;
use super::pair::{diameter, margin};
use crate::neighbours::NeighbourIndex;
use crate::{Error, Labels, Matrix, Metric, Result};
use serde::Serialize;

/// The penalty of LMML against 1/L-Ratio^Diam.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LmmlPenalty {
    /// `1 / L-Ratio^Diam`: the diameter over the margin. Infinite if rows of different classes are at distance zero.
    pub inverse_ratio: f64,
    /// The smallest `rho_M` between rows of different classes.
    pub margin: f64,
    /// The largest `rho_M` between any rows.
    pub diameter: f64,
    /// `||M||_F`.
    pub frobenius: f64,
    /// `C = 2 max ||x_n - x_m||^2`.
    pub constant: f64,
    /// `C ||M||_F / (2 margin)`: never less than the inverse ratio.
    pub bound: f64,
    /// `C ||M||_F`, the appendix's bound: never less than the inverse ratio where no slack is needed, that is, where every
    /// `t_i f(x_i)` is at least 1, and so the margin.
    pub penalty: f64,
}

/// The pull of LMNN against the sum of 1/Local-Ratio^Intra.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LmnnPull {
    /// `1 / Local-Ratio^Intra` of each row; zero for the only row of a class.
    pub inverse_ratios: Vec<f64>,
    /// `rho_M(x_i, x_j)` of each row to its target, its nearest of the same class in the *Euclidean* distance.
    pub pulls: Vec<f64>,
    /// The local margin of each row, `min(rho_M(x_i, x_n), rho_M(x_m, x_n))`.
    pub margins: Vec<f64>,
    /// The sum of the inverse ratios.
    pub inverse_ratio: f64,
    /// `sum of rho_M(x_i, x_j) / margin_i`: never less than the sum of the inverse ratios.
    pub bound: f64,
    /// `sum of rho_M(x_i, x_j)`, LMNN's pull: never less than the sum of the inverse ratios where every local margin is at
    /// least 1.
    pub pull: f64,
}

/// Measures the appendix's bound for LMML.
///
/// ```
/// use lipmetric::{Labels, Matrix, Metric, lipschitz::appendix::lmml_penalty};
/// let x = Matrix::from_rows(&[[0.0], [1.0], [4.0], [6.0]]);
/// let y = Labels::from_names(["a", "a", "b", "b"]);
/// let told = lmml_penalty(&Metric::euclidean(1), &x, &y)?;
/// assert_eq!(told.inverse_ratio, 36.0 / 9.0);
/// assert_eq!((told.bound, told.penalty), (36.0 / 9.0, 72.0));
/// # Ok::<(), lipmetric::Error>(())
/// ```
///
/// # Errors
/// If sizes do not agree or there is one class only.
pub fn lmml_penalty(metric: &Metric, x: &Matrix, labels: &Labels) -> Result<LmmlPenalty> {
    let rho = Vectors::<Square>::new(metric, x)?;
    let (near, far) = (margin(&rho, labels)?.distance, diameter(&rho)?.distance);
    let constant = 2.0 * diameter(&Vectors::<Square>::euclidean(x)?)?.distance;
    let frobenius = metric.spectrum()?.iter().map(|v| v * v).sum::<f64>().sqrt();
    let over = |v: f64| if v == 0.0 { 0.0 } else { v / near };
    Ok(LmmlPenalty {
        inverse_ratio: over(far),
        margin: near,
        diameter: far,
        frobenius,
        constant,
        bound: over(0.5 * constant * frobenius),
        penalty: constant * frobenius,
    })
}

/// Measures the appendix's bound for LMNN.
///
/// ```
/// use lipmetric::{Labels, Matrix, Metric, lipschitz::appendix::lmnn_pull};
/// let x = Matrix::from_rows(&[[0.0], [1.0], [4.0], [6.0]]);
/// let y = Labels::from_names(["a", "a", "b", "b"]);
/// let told = lmnn_pull(&Metric::euclidean(1), &x, &y)?;
/// assert_eq!(told.inverse_ratios, [1.0 / 9.0, 1.0 / 9.0, 4.0 / 9.0, 4.0 / 9.0]);
/// assert_eq!(told.pull, 10.0);
/// # Ok::<(), lipmetric::Error>(())
/// ```
///
/// # Errors
/// If sizes do not agree or there is one class only.
pub fn lmnn_pull(metric: &Metric, x: &Matrix, labels: &Labels) -> Result<LmnnPull> {
    let rho = Vectors::<Square>::new(metric, x)?;
    let local = LocalRatios::new(&rho, labels)?;
    let n = x.rows();
    let mut pulls = vec![0.0; n];
    for rows in labels.members() {
        if rows.len() < 2 {
            continue;
        }
        let found = NeighbourIndex::new(x.select_rows(&rows))?.query_excluding_self(1)?;
        for (k, &i) in rows.iter().enumerate() {
            let j = found.indices(k).first().map_or(i, |&j| rows[j]);
            pulls[i] = metric.squared_distance(x.row(i), x.row(j));
        }
    }
    if pulls.iter().any(|v| !v.is_finite()) {
        return Err(Error::data("a distance is too large for floating point: scale the features first"));
    }
    let over = |v: f64, margin: f64| if v == 0.0 { 0.0 } else { v / margin };
    let margins: Vec<f64> = local.ratios.iter().map(|r| r.margin).collect();
    let inverse_ratios: Vec<f64> = local.ratios.iter().map(|r| over(r.intra, r.margin)).collect();
    Ok(LmnnPull {
        inverse_ratio: inverse_ratios.iter().sum(),
        bound: pulls.iter().zip(&margins).map(|(&p, &m)| over(p, m)).sum(),
        pull: pulls.iter().sum(),
        inverse_ratios,
        pulls,
        margins,
    })
}
