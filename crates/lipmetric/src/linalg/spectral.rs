//! The spectral norm, from above.

use crate::{Error, Matrix, Result};
use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::svd::{ComputeSvdVectors, svd, svd_scratch};
use faer::{MatRef, Par, Spec};

/// A computed norm that is outside its bounds by this part is wrong, not rounded.
const SOUND: f64 = 1e-6;
/// What the computed norm is raised by: thousands of roundings, and still twelve digits.
const RAISED: f64 = 1e-12;

/// An upper bound of the largest singular value that is tight to about twelve digits: the computed value, raised by
/// more than a backward-stable decomposition can be off by. Zero for a matrix without elements or of zeros only.
pub(crate) fn spectral_norm_above(a: &Matrix) -> Result<f64> {
    let largest = a.as_slice().iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    if largest == 0.0 {
        return Ok(0.0);
    }
    // Divided by its largest element the matrix can neither overflow nor underflow in squares.
    let scaled: Vec<f64> = a.as_slice().iter().map(|v| v / largest).collect();
    let (m, n) = (a.rows(), a.cols());
    let mut values = vec![0.0; m.min(n)];
    let (none, params) = (ComputeSvdVectors::No, Spec::default());
    let mut memory = MemBuffer::new(svd_scratch::<f64>(m, n, none, none, Par::Seq, params));
    let view = MatRef::from_row_major_slice(&scaled, m, n);
    svd(view, DiagMut::from_slice_mut(&mut values), None, None, Par::Seq, MemStack::new(&mut memory), params)
        .map_err(|_| failed("the decomposition did not converge"))?;
    let top = values.iter().fold(0.0_f64, |m, &v| m.max(v));
    // The norm lies between the largest element (1 after scaling) and the Frobenius norm.
    let frobenius = scaled.iter().map(|v| v * v).sum::<f64>().sqrt();
    if !(top >= 1.0 - SOUND && top <= frobenius * (1.0 + SOUND)) {
        return Err(failed("the decomposition gave a norm outside its bounds"));
    }
    Ok(largest * top.max(1.0) * (1.0 + RAISED + 8.0 * f64::EPSILON * (m + n) as f64))
}

fn failed(message: &str) -> Error {
    Error::Numerical { place: "the largest singular value of the metric's factor", message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_norm_of_a_diagonal_matrix_is_its_largest_element_at_any_scale() {
        for scale in [1e-200, 1.0, 1e200] {
            let a = Matrix::from_rows(&[[3.0 * scale, 0.0], [0.0, -5.0 * scale], [0.0, 0.0]]);
            let norm = spectral_norm_above(&a).unwrap();
            assert!(norm >= 5.0 * scale && norm <= 5.0 * scale * (1.0 + 1e-11), "{norm}");
        }
        assert_eq!(spectral_norm_above(&Matrix::zeros(2, 3)).unwrap(), 0.0);
        assert_eq!(spectral_norm_above(&Matrix::zeros(0, 3)).unwrap(), 0.0);
    }

    #[test]
    fn the_norm_bounds_the_stretch_of_every_vector() {
        let a = Matrix::from_rows(&[[1.0, 2.0, -1.0], [0.5, -3.0, 4.0]]);
        let norm = spectral_norm_above(&a).unwrap();
        let mut best = 0.0_f64;
        for i in 0..200 {
            for j in 0..200 {
                let (t, s) = (f64::from(i) * 0.0157, f64::from(j) * 0.0315);
                let v = [t.sin() * s.cos(), t.sin() * s.sin(), t.cos()];
                let image: f64 = (0..2).map(|r| a.row(r).iter().zip(v).map(|(x, y)| x * y).sum::<f64>().powi(2)).sum();
                best = best.max(image.sqrt());
            }
        }
        assert!(best <= norm && best >= norm * 0.999, "{best} {norm}");
    }
}
