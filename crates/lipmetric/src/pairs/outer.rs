use super::Differences;
use crate::{Matrix, linalg};

/// Differences that are gathered at a time.
const CHUNK: usize = 256;

/// `sum of coefficient * (x_i - x_j)(x_i - x_j)^T` over listed pairs: differences are gathered in chunks, each of which
/// is one matrix product.
pub(crate) fn weighted_outer(x: &impl Differences, pairs: impl Iterator<Item = (usize, usize, f64)>) -> Matrix {
    let p = x.side();
    let mut out = Matrix::zeros(p, p);
    let mut plain = vec![0.0; CHUNK * p];
    let mut scaled = vec![0.0; CHUNK * p];
    let mut filled = 0;
    for (i, j, t) in pairs.filter(|pair| pair.2 != 0.0) {
        let (d, s) = (&mut plain[filled * p..(filled + 1) * p], &mut scaled[filled * p..(filled + 1) * p]);
        x.difference(i, j, d);
        s.iter_mut().zip(d).for_each(|(s, d)| *s = t * *d);
        filled += 1;
        if filled == CHUNK {
            linalg::gemm_tn_add(out.as_mut_slice(), &plain, &scaled, p, p, filled);
            filled = 0;
        }
    }
    if filled > 0 {
        linalg::gemm_tn_add(out.as_mut_slice(), &plain, &scaled, p, p, filled);
    }
    linalg::symmetrise(&mut out);
    out
}
