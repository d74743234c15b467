use super::Differences;
use crate::{Matrix, linalg};

/// Differences that are gathered at a time.
const CHUNK: usize = 256;

/// `sum of coefficient * (x_i - x_j)(x_i - x_j)^T` over listed pairs: differences are gathered in chunks, each of which
/// is one matrix product.
pub(crate) fn weighted_outer(x: &impl Differences, pairs: impl Iterator<Item = (usize, usize, f64)>) -> Matrix {
    let p = x.side();
    let mut out = Matrix::zeros(p, p);
    // Room that is not set to zero first: for few pairs that would take longer than the sum.
    let (mut plain, mut scaled) = (Vec::with_capacity(CHUNK * p), Vec::with_capacity(CHUNK * p));
    for (i, j, t) in pairs.filter(|pair| pair.2 != 0.0) {
        let start = plain.len();
        plain.resize(start + p, 0.0);
        x.difference(i, j, &mut plain[start..]);
        scaled.extend(plain[start..].iter().map(|d| t * *d));
        if plain.len() == CHUNK * p {
            linalg::gemm_tn_add(out.as_mut_slice(), &plain, &scaled, p, p, CHUNK);
            plain.clear();
            scaled.clear();
        }
    }
    if !plain.is_empty() {
        linalg::gemm_tn_add(out.as_mut_slice(), &plain, &scaled, p, p, plain.len() / p);
    }
    linalg::symmetrise(&mut out);
    out
}
