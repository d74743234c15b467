use super::view;
use crate::Matrix;

/// Singular values, largest first. `None` if the iteration does not converge.
pub(crate) fn singular_values(m: &Matrix) -> Option<Vec<f64>> {
    if m.rows() == 0 || m.cols() == 0 {
        return Some(Vec::new());
    }
    // Scaled, so that squares of very large or very small elements neither overflow nor vanish.
    let size = m.as_slice().iter().fold(0.0_f64, |s, v| s.max(v.abs()));
    if size == 0.0 {
        return Some(vec![0.0; m.rows().min(m.cols())]);
    }
    let mut scaled = m.clone();
    scaled.as_mut_slice().iter_mut().for_each(|v| *v /= size);
    let mut values = view(&scaled).singular_values().ok()?;
    values.iter_mut().for_each(|v| *v *= size);
    values.sort_by(|a, b| b.total_cmp(a));
    Some(values)
}
