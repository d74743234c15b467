use super::{Cloud, Embedding, map_tiles};
use crate::{Matrix, linalg};

/// Differences that are gathered at a time.
const CHUNK: usize = 256;

/// `sum of coefficient * (x_i - x_j)(x_i - x_j)^T` over listed pairs: differences are gathered in chunks, each of which
/// is one matrix product.
pub(crate) fn weighted_outer(x: &Matrix, pairs: impl Iterator<Item = (usize, usize, f64)>) -> Matrix {
    let p = x.cols();
    let mut out = Matrix::zeros(p, p);
    let mut plain = vec![0.0; CHUNK * p];
    let mut scaled = vec![0.0; CHUNK * p];
    let mut filled = 0;
    for (i, j, t) in pairs.filter(|pair| pair.2 != 0.0) {
        let (d, s) = (&mut plain[filled * p..(filled + 1) * p], &mut scaled[filled * p..(filled + 1) * p]);
        for (((d, s), a), b) in d.iter_mut().zip(s).zip(x.row(i)).zip(x.row(j)) {
            *d = a - b;
            *s = t * *d;
        }
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

/// `sum of w_i w_j (x_i - x_j)(x_i - x_j)^T` and the number (by weight) over the pairs for which `take` holds, of their
/// distance and of whether their labels are equal, streamed: each tile adds `X^T (diag(W 1) - W) X` of its own.
pub(crate) fn spread(cloud: &Cloud, embedding: &Embedding, take: impl Fn(f64, bool) -> bool + Sync) -> (Matrix, f64) {
    let p = cloud.x.cols();
    let parts = map_tiles(
        cloud,
        &[embedding],
        |_| true,
        |tile| {
            let mut weights = vec![0.0; tile.rows * tile.cols];
            let (mut left, mut right, mut any) = (vec![0.0; tile.rows], vec![0.0; tile.cols], false);
            for a in 0..tile.rows {
                let i = tile.i0 + a;
                let (from, rho) = tile.row(0, a);
                for (k, &r) in rho.iter().enumerate() {
                    let j = tile.j0 + from + k;
                    if take(r, cloud.class[i] == cloud.class[j]) {
                        let w = cloud.pair_weight(i, j);
                        weights[a * tile.cols + from + k] = w;
                        left[a] += w;
                        right[from + k] += w;
                        any = true;
                    }
                }
            }
            let mut sum = vec![0.0; p * p];
            if any {
                let rows_of = |from: usize, count: usize| &cloud.x.as_slice()[from * p..(from + count) * p];
                let (xi, xj) = (rows_of(tile.i0, tile.rows), rows_of(tile.j0, tile.cols));
                let scaled = |x: &[f64], by: &[f64]| -> Vec<f64> {
                    x.chunks_exact(p).zip(by).flat_map(|(row, &t)| row.iter().map(move |v| v * t)).collect()
                };
                linalg::gemm_tn_add(&mut sum, xi, &scaled(xi, &left), p, p, tile.rows);
                linalg::gemm_tn_add(&mut sum, xj, &scaled(xj, &right), p, p, tile.cols);
                let mut cross = vec![0.0; tile.rows * p];
                linalg::gemm_nn(&mut cross, &weights, xj, tile.rows, p, tile.cols);
                cross.iter_mut().for_each(|v| *v = -*v);
                let mut mixed = vec![0.0; p * p];
                linalg::gemm_tn_add(&mut mixed, xi, &cross, p, p, tile.rows);
                for a in 0..p {
                    for b in 0..p {
                        sum[a * p + b] += mixed[a * p + b] + mixed[b * p + a];
                    }
                }
            }
            (sum, left.iter().sum::<f64>())
        },
    );
    let mut out = Matrix::zeros(p, p);
    let mut count = 0.0;
    for (part, weight) in parts {
        for (o, v) in out.as_mut_slice().iter_mut().zip(&part) {
            *o += v;
        }
        count += weight;
    }
    linalg::symmetrise(&mut out);
    (out, count)
}
