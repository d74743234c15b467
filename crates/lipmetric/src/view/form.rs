use crate::{Metric, Result};
use serde::{Deserialize, Serialize};

/// Features in the picture of the matrix.
const HEATED: usize = 24;
/// Eigenvalues that are drawn.
const DRAWN: usize = 60;

/// A metric, as it can be looked at: `M = L^T L` on the prepared features.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Form {
    /// The largest eigenvalues of `M`, descending.
    pub spectrum: Vec<f64>,
    /// How many there are that are not zero by construction.
    pub rank: usize,
    /// The exponential of the entropy of the eigenvalues' shares: as many equal eigenvalues would be as evenly spread.
    pub effective_rank: f64,
    /// The features and the diagonal of `M`: how much each counts by itself, the largest first.
    pub weights: Vec<(String, f64)>,
    /// The elements of `M`.
    pub heat: Heat,
}

/// The elements of a symmetric matrix, of its most important features.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Heat {
    /// The features, by weight.
    pub names: Vec<String>,
    /// Row by row.
    pub values: Vec<Vec<f64>>,
    /// How many features there are in all.
    pub of: usize,
}

impl Form {
    /// Of a metric on features of these names.
    pub(super) fn of(metric: &Metric, names: &[String]) -> Result<Self> {
        let mut spectrum = metric.spectrum()?;
        let total: f64 = spectrum.iter().sum();
        let entropy: f64 =
            spectrum.iter().filter(|v| **v > 0.0).map(|v| v / total).map(|share| -share * share.ln()).sum();
        let diagonal = metric.diagonal();
        let mut order: Vec<usize> = (0..diagonal.len()).collect();
        order.sort_by(|&a, &b| diagonal[b].total_cmp(&diagonal[a]).then(a.cmp(&b)));
        let name = |j: usize| names.get(j).cloned().unwrap_or_else(|| format!("feature {}", j + 1));
        let top: Vec<usize> = order.iter().copied().take(HEATED).collect();
        let element = |a: usize, b: usize| -> f64 {
            if metric.is_euclidean() {
                return f64::from(u8::from(a == b));
            }
            (0..metric.rank()).map(|k| metric.factor()[(k, a)] * metric.factor()[(k, b)]).sum()
        };
        let heat = Heat {
            names: top.iter().map(|&j| name(j)).collect(),
            values: top.iter().map(|&a| top.iter().map(|&b| element(a, b)).collect()).collect(),
            of: diagonal.len(),
        };
        spectrum.truncate(DRAWN);
        Ok(Self {
            spectrum,
            rank: metric.rank(),
            effective_rank: if total > 0.0 { entropy.exp() } else { 0.0 },
            weights: order.iter().map(|&j| (name(j), diagonal[j])).collect(),
            heat,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matrix;

    #[test]
    fn equal_eigenvalues_have_their_number_as_effective_rank() {
        let names: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
        let form = Form::of(&Metric::euclidean(3), &names).unwrap();
        assert!((form.effective_rank - 3.0).abs() < 1e-12);
        let one = Form::of(&Metric::new(Matrix::from_rows(&[[0.0, 2.0, 1.0]])).unwrap(), &names).unwrap();
        assert!((one.effective_rank - 1.0).abs() < 1e-12);
        assert_eq!(one.weights, [("b".to_owned(), 4.0), ("c".to_owned(), 1.0), ("a".to_owned(), 0.0)]);
        assert_eq!(one.heat.values[0], [4.0, 2.0, 0.0]);
        let zero = Form::of(&Metric::new(Matrix::zeros(1, 3)).unwrap(), &names).unwrap();
        assert_eq!(zero.effective_rank, 0.0);
    }
}
