//! Gradients of the function with respect to the mapped rows.

use super::SmoothFunction;
use super::kernel::{BLOCK, Kernel};
use crate::{Matrix, Result, linalg};
use rayon::prelude::*;

/// Blocks of queries whose sums are added up by one task: fixed, so that sums do not depend on the threads.
const TASK: usize = 4;

impl SmoothFunction {
    /// The mean over the queries of `sum_c g_c g_c^T`, where `g_c` is the gradient of class `c`'s function at the query, in the
    /// coordinates of the mapped rows. A term whose centre is the query itself has no gradient there and is left out. With two
    /// classes, whose functions are opposite, the first one counts alone.
    ///
    /// # Errors
    /// As [`SmoothFunction::values`].
    pub fn gradient_products(&self, queries: &Matrix) -> Result<Matrix> {
        self.check(queries)?;
        let p = queries.cols();
        let blocks = queries.rows().div_ceil(BLOCK);
        let parts: Vec<Vec<f64>> = (0..blocks.div_ceil(TASK))
            .into_par_iter()
            .map(|task| {
                let mut sum = vec![0.0; p * p];
                for at in task * TASK..((task + 1) * TASK).min(blocks) {
                    self.add_block(queries, at * BLOCK, &mut sum);
                }
                sum
            })
            .collect();
        let mut out = Matrix::zeros(p, p);
        for part in parts {
            out.as_mut_slice().iter_mut().zip(part).for_each(|(o, v)| *o += v / queries.rows().max(1) as f64);
        }
        linalg::symmetrise(&mut out);
        Ok(out)
    }

    fn add_block(&self, queries: &Matrix, from: usize, sum: &mut [f64]) {
        let (n, p, classes) = (self.points.len(), queries.cols(), self.coefficients.cols());
        let count = BLOCK.min(queries.rows() - from);
        let block = self.points.queries(queries, from);
        let mut slopes = self.points.squared(&block);
        let l = self.decay.bandwidth;
        // `-exp(-d / l) / (l d)`, or `-exp(-d^2 / (2 l^2)) / l^2`: the gradient of a term is this times the difference of the two rows.
        match self.decay.kernel {
            Kernel::Laplace => {
                let apart: Vec<f64> = slopes.iter().map(|v| v.sqrt()).collect();
                self.decay.apply(&mut slopes);
                slopes.iter_mut().zip(&apart).for_each(|(s, d)| *s = if *d > 0.0 { -*s / (l * d) } else { 0.0 });
            }
            Kernel::Gaussian => {
                self.decay.apply(&mut slopes);
                slopes.iter_mut().for_each(|s| *s /= -(l * l));
            }
        }
        let mut weighted = vec![0.0; BLOCK * n];
        let mut gradients = vec![0.0; BLOCK * p];
        for class in 0..if classes == 2 { 1 } else { classes } {
            let mut totals = [0.0; BLOCK];
            for ((out, slopes), total) in weighted.chunks_exact_mut(n).zip(slopes.chunks_exact(n)).zip(&mut totals) {
                for ((w, s), j) in out.iter_mut().zip(slopes).zip(0..) {
                    *w = s * self.coefficients[(j, class)];
                }
                *total = out.iter().sum();
            }
            linalg::gemm_nn(&mut gradients, &weighted, self.points.centred().as_slice(), BLOCK, p, n);
            for (q, (g, x)) in gradients.chunks_exact_mut(p).zip(block.chunks_exact(p)).enumerate() {
                let total = if q < count { totals[q] } else { 0.0 };
                let keep = f64::from(u8::from(q < count));
                g.iter_mut().zip(x).for_each(|(g, x)| *g = total * x - keep * *g);
            }
            linalg::gemm_tn_add(sum, &gradients, &gradients, p, p, BLOCK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_gradients_are_those_of_differences_of_the_function() {
        for (classes, kernel) in [(2, Kernel::Laplace), (3, Kernel::Laplace), (3, Kernel::Gaussian)] {
            let centres = Matrix::from_vec(12, 3, (0..36).map(|k| ((5 * k * k + k) % 17) as f64 / 6.0).collect());
            let mut a = Matrix::zeros(12, classes);
            for j in 0..12 {
                for c in 0..classes {
                    a[(j, c)] = if classes == 2 && c == 0 { 0.0 } else { ((3 * j * j + c) % 7) as f64 - 3.0 };
                }
                if classes == 2 {
                    a[(j, 0)] = -a[(j, 1)];
                }
            }
            let f = SmoothFunction::new(&centres.unwrap(), a, 1.2).unwrap().with_kernel(kernel);
            let queries = Matrix::from_vec(70, 3, (0..210).map(|k| ((11 * k) % 53) as f64 / 19.0).collect()).unwrap();
            let found = f.gradient_products(&queries).unwrap();
            let mut expected = Matrix::zeros(3, 3);
            let step = 1e-5;
            for i in 0..70 {
                let mut moved = Matrix::zeros(6, 3);
                for k in 0..6 {
                    moved.row_mut(k).copy_from_slice(queries.row(i));
                    moved[(k, k / 2)] += if k % 2 == 0 { step } else { -step };
                }
                let values = f.values(&moved).unwrap();
                for c in 0..if classes == 2 { 1 } else { 3 } {
                    let g = |k: usize| (values[(2 * k, c)] - values[(2 * k + 1, c)]) / (2.0 * step);
                    for (r, s) in [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)] {
                        expected[(r, s)] += g(r) * g(s) / 70.0;
                        expected[(s, r)] = expected[(r, s)];
                    }
                }
            }
            for (a, b) in found.as_slice().iter().zip(expected.as_slice()) {
                assert!((a - b).abs() < 1e-4 * (1.0 + b.abs()), "{a} and {b}");
            }
        }
    }
}
