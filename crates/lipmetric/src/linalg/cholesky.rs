use super::lanczos;
use crate::{Matrix, Result};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::matmul::matmul;
use faer::linalg::qr::no_pivoting::factor as qr;
use faer::linalg::triangular_inverse::invert_lower_triangular;
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::prelude::{Reborrow, ReborrowMut};
use faer::{Accum, MatMut, MatRef, Par, Spec};
use rayon::prelude::*;

/// From this size on the factor is computed by blocks, which the threads share ...
const SHARED: usize = 512;
/// ... of so many columns.
const BLOCK: usize = 128;

/// `A = L L^T` of a symmetric positive definite matrix. The lower triangle of the column-major storage holds `L`.
#[derive(Debug, Clone)]
pub(crate) struct Cholesky {
    n: usize,
    data: Vec<f64>,
}

impl Cholesky {
    /// Factors a column-major matrix of which the lower triangle is given; `None` where it is not positive definite.
    pub(crate) fn factor(mut data: Vec<f64>, n: usize) -> Option<Self> {
        let a = MatMut::from_column_major_slice_mut(&mut data[..n * n], n, n);
        if n < SHARED { factor_in_place(a) } else { factor_by_blocks(a) }?;
        (0..n).all(|k| data[k * n + k].is_finite() && data[k * n + k] > 0.0).then_some(Self { n, data })
    }

    /// Gives the memory of the factor back.
    pub(crate) fn into_memory(self) -> Vec<f64> {
        self.data
    }

    /// Factors a symmetric [`Matrix`].
    pub(crate) fn of(a: &Matrix) -> Option<Self> {
        Self::factor(a.as_slice().to_vec(), a.rows())
    }

    /// The factor of `B^T B` by an orthogonal transformation of `B`: accurate where `B^T B` itself would be rounded away.
    /// `None` where the columns are dependent.
    pub(crate) fn of_rows(b: &Matrix) -> Option<Self> {
        let (m, n) = (b.rows(), b.cols());
        if m < n {
            return None;
        }
        let mut columns = b.transpose();
        let a = MatMut::from_column_major_slice_mut(columns.as_mut_slice(), m, n);
        let block = qr::recommended_block_size::<f64>(m, n);
        let mut reflections = vec![0.0; block * n];
        let reflections = MatMut::from_column_major_slice_mut(&mut reflections, block, n);
        let params = Spec::default();
        let mut memory = MemBuffer::new(qr::qr_in_place_scratch::<f64>(m, n, block, Par::Seq, params));
        qr::qr_in_place(a, reflections, Par::Seq, MemStack::new(&mut memory), params);
        let mut data = vec![0.0; n * n];
        for j in 0..n {
            // Rows of the upper factor are columns of the lower one; its diagonal is made positive.
            let sign = columns[(j, j)].signum();
            (j..n).for_each(|i| data[j * n + i] = sign * columns[(i, j)]);
        }
        (0..n).all(|k| data[k * n + k].is_finite() && data[k * n + k] > 0.0).then_some(Self { n, data })
    }

    /// `x <- A^-1 x`.
    pub(crate) fn solve(&self, x: &mut [f64]) {
        let l = MatRef::from_column_major_slice(&self.data, self.n, self.n);
        let mut rhs = MatMut::from_column_major_slice_mut(x, self.n, 1);
        solve_lower_triangular_in_place(l, rhs.as_mut(), Par::Seq);
        solve_upper_triangular_in_place(l.transpose(), rhs, Par::Seq);
    }

    /// `x <- L^-1 x`.
    fn forward(&self, x: &mut [f64]) {
        let n = self.n;
        for j in 0..n {
            let column = &self.data[j * n + j..(j + 1) * n];
            x[j] /= column[0];
            let v = x[j];
            x[j + 1..].iter_mut().zip(&column[1..]).for_each(|(x, l)| *x -= l * v);
        }
    }

    /// `x <- L^-T x`.
    fn backward(&self, x: &mut [f64]) {
        let n = self.n;
        for j in (0..n).rev() {
            let column = &self.data[j * n + j..(j + 1) * n];
            x[j] = (x[j] - super::dot(&column[1..], &x[j + 1..])) / column[0];
        }
    }

    /// The largest eigenvalue of `L^-1 B L^-T`, from products.
    fn largest_whitened(&self, b: &Matrix) -> f64 {
        let mut inside = vec![0.0; self.n];
        lanczos::largest(self.n, |v, out| {
            inside.copy_from_slice(v);
            self.backward(&mut inside);
            (0..self.n).for_each(|i| out[i] = super::dot(b.row(i), &inside));
            self.forward(out);
        })
    }

    /// `X <- A^-1 X`, a row of `X` for each unknown.
    pub(crate) fn solve_rows(&self, x: &mut Matrix) {
        let l = MatRef::from_column_major_slice(&self.data, self.n, self.n);
        let columns = x.cols();
        let mut rhs = MatMut::from_row_major_slice_mut(x.as_mut_slice(), self.n, columns);
        solve_lower_triangular_in_place(l, rhs.as_mut(), Par::Seq);
        solve_upper_triangular_in_place(l.transpose(), rhs, Par::Seq);
    }

    /// `x^T A^-1 x` of every row of a matrix.
    pub(crate) fn lengths(&self, rows: &Matrix) -> Vec<f64> {
        let l = MatRef::from_column_major_slice(&self.data, self.n, self.n);
        let mut out = rows.clone();
        // Row-major rows are columns for the solver.
        let view = MatMut::from_column_major_slice_mut(out.as_mut_slice(), self.n, rows.rows());
        solve_lower_triangular_in_place(l, view, Par::Seq);
        (0..out.rows()).map(|i| super::dot(out.row(i), out.row(i))).collect()
    }

    /// The diagonal of `A^-1`. It takes as long again as the factor.
    pub(crate) fn inverse_diagonal(&self) -> Vec<f64> {
        let n = self.n;
        let mut inverse = vec![0.0; n * n];
        let l = MatRef::from_column_major_slice(&self.data, n, n);
        invert_lower_triangular(MatMut::from_column_major_slice_mut(&mut inverse, n, n), l, Par::Seq);
        let column = |k: usize| &inverse[k * n + k..(k + 1) * n];
        (0..n).map(|k| super::dot(column(k), column(k))).collect()
    }

    /// The factor `L`, zero above the diagonal.
    pub(crate) fn lower(&self) -> Matrix {
        let mut l = Matrix::zeros(self.n, self.n);
        for j in 0..self.n {
            for i in j..self.n {
                l[(i, j)] = self.data[j * self.n + i];
            }
        }
        l
    }

    /// `L^-T B L^-1` of a symmetric `B`.
    pub(crate) fn unwhiten(&self, b: &Matrix) -> Matrix {
        let l = MatRef::from_column_major_slice(&self.data, self.n, self.n);
        let mut out = b.clone();
        for _ in 0..2 {
            let view = MatMut::from_row_major_slice_mut(out.as_mut_slice(), self.n, self.n);
            solve_upper_triangular_in_place(l.transpose(), view, Par::Seq);
            out = out.transpose();
        }
        super::symmetrise(&mut out);
        out
    }

    /// `L^-1 B L^-T` of a symmetric `B`.
    pub(crate) fn whiten(&self, b: &Matrix) -> Matrix {
        let l = MatRef::from_column_major_slice(&self.data, self.n, self.n);
        let mut out = b.clone();
        for _ in 0..2 {
            let view = MatMut::from_row_major_slice_mut(out.as_mut_slice(), self.n, self.n);
            solve_lower_triangular_in_place(l, view, Par::Seq);
            out = out.transpose();
        }
        super::symmetrise(&mut out);
        out
    }
}

/// Replaces the lower triangle by that of the factor.
fn factor_in_place(a: MatMut<'_, f64>) -> Option<()> {
    let params = Spec::default();
    let mut memory = MemBuffer::new(llt::factor::cholesky_in_place_scratch::<f64>(a.nrows(), Par::Seq, params));
    let stack = MemStack::new(&mut memory);
    llt::factor::cholesky_in_place(a, Default::default(), Par::Seq, stack, params).ok().map(|_| ())
}

/// The same, block by block: each block of columns is factored, and what it takes off those after it is shared out among the threads.
/// The blocks do not depend on their number, nor do the bits.
fn factor_by_blocks(mut a: MatMut<'_, f64>) -> Option<()> {
    let n = a.nrows();
    for start in (0..n).step_by(BLOCK) {
        let (left, wide) = (n - start, BLOCK.min(n - start));
        let (mut own, _, mut below, rest) = a.rb_mut().submatrix_mut(start, start, left, left).split_at_mut(wide, wide);
        factor_in_place(own.rb_mut())?;
        let own = own.rb();
        below.rb_mut().par_row_chunks_mut(BLOCK).for_each(|rows| {
            solve_lower_triangular_in_place(own, rows.transpose_mut(), Par::Seq);
        });
        let below = below.rb();
        rest.par_col_chunks_mut(BLOCK).enumerate().for_each(|(c, columns)| {
            let (from, wide) = (c * BLOCK, columns.ncols());
            let high = columns.nrows() - from;
            let right = below.subrows(from, wide).transpose();
            matmul(columns.subrows_mut(from, high), Accum::Add, below.subrows(from, high), right, -1.0, Par::Seq);
        });
    }
    Some(())
}

/// With more coordinates than this all eigenvalues take far longer than some dozens of products.
const MANY: usize = 150;
/// What is added to an eigenvalue that is approached from below.
const ABOVE: f64 = 1e-8;

/// The largest eigenvalue of `B^-1 A`, raised to a positive number; infinite where `B` is not positive definite. With many coordinates it
/// is known to eight digits.
pub(crate) fn largest_generalised(a: &Matrix, b: &Matrix) -> Result<f64> {
    let Some(factor) = Cholesky::of(b) else { return Ok(f64::INFINITY) };
    let found = if b.rows() > MANY {
        let largest = factor.largest_whitened(a);
        largest + ABOVE * largest.abs()
    } else {
        super::symmetric_eigenvalues(&factor.whiten(a))?.last().copied().unwrap_or(0.0)
    };
    Ok(found.max(f64::MIN_POSITIVE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factor_of_rows_keeps_what_their_sum_of_squares_loses() {
        // The second and third columns differ by one row of weight 1 beside rows of weight 1e9.
        let rows = Matrix::from_rows(&[[1e9, 1e9, 1e9], [0.0, 2e9, 2e9], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]);
        let mut x = [0.0, 0.0, 1.0];
        Cholesky::of_rows(&rows).unwrap().solve(&mut x);
        // B^T B x = e_3 has x_3 = 1, up to what the last row adds.
        assert!((x[2] - 1.0).abs() < 1e-6, "{x:?}");
        assert!(Cholesky::of_rows(&Matrix::from_rows(&[[1.0, 2.0]])).is_none());
    }

    #[test]
    fn a_factor_by_blocks_is_the_factor() {
        let n = SHARED + BLOCK + 37;
        let value = |k: usize| ((k * 7919 + 13) % 10_007) as f64 / 10_007.0 - 0.5;
        let half = Matrix::from_vec(n + 9, n, (0..(n + 9) * n).map(|k| value(3 * k + k / n)).collect()).unwrap();
        let mut square = crate::linalg::transposed_product(&half, &half);
        (0..n).for_each(|k| square[(k, k)] += 1.0);
        let lower = Cholesky::of(&square).unwrap().lower();
        let back = crate::linalg::product_transposed(&lower, &lower);
        let off = back.as_slice().iter().zip(square.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 1e-10, "{off}");
        square[(n - 3, n - 3)] = -1.0;
        assert!(Cholesky::of(&square).is_none());
    }

    #[test]
    fn products_find_the_largest_generalised_eigenvalue() {
        let value = |k: usize| ((k * 7919 + 13) % 10_007) as f64 / 10_007.0 - 0.5;
        let n = 180;
        let square = |rows: usize, from: usize| {
            let half = Matrix::from_vec(rows, n, (0..rows * n).map(|k| value(from + 3 * k + k / n)).collect()).unwrap();
            crate::linalg::transposed_product(&half, &half)
        };
        let (few, mut full) = (square(40, 5), square(250, 77));
        (0..n).for_each(|k| full[(k, k)] += 0.01);
        let factor = Cholesky::of(&full).unwrap();
        for a in [few, full.clone()] {
            let all = crate::linalg::symmetric_eigenvalues(&factor.whiten(&a)).unwrap();
            let (wanted, found) = (all[n - 1], largest_generalised(&a, &full).unwrap());
            assert!(found >= wanted * (1.0 - 1e-12) && found <= wanted * (1.0 + 2e-8), "{found} {wanted}");
        }
        let mut less = full.clone();
        less.as_mut_slice().iter_mut().for_each(|v| *v *= -1.0);
        assert_eq!(largest_generalised(&less, &full).unwrap(), f64::MIN_POSITIVE);
    }

    #[test]
    fn both_factors_solve_the_same_system() {
        let rows = Matrix::from_rows(&[[1.0, 2.0], [-3.0, 0.5], [0.2, -1.0]]);
        let square = crate::linalg::transposed_product(&rows, &rows);
        let (mut a, mut b) = ([0.3, -0.7], [0.3, -0.7]);
        Cholesky::of(&square).unwrap().solve(&mut a);
        Cholesky::of_rows(&rows).unwrap().solve(&mut b);
        assert!(a.iter().zip(&b).all(|(x, y)| (x - y).abs() < 1e-12), "{a:?} {b:?}");
    }
}
