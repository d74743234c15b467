use crate::{Matrix, Result};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::qr::no_pivoting::factor as qr;
use faer::linalg::triangular_inverse::invert_lower_triangular;
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{MatMut, MatRef, Par, Spec};

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
        let params = Spec::default();
        let mut memory = MemBuffer::new(llt::factor::cholesky_in_place_scratch::<f64>(n, Par::Seq, params));
        let stack = MemStack::new(&mut memory);
        llt::factor::cholesky_in_place(a, Default::default(), Par::Seq, stack, params).ok()?;
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

/// The largest eigenvalue of `B^-1 A`, raised to a positive number; infinite where `B` is not positive definite.
pub(crate) fn largest_generalised(a: &Matrix, b: &Matrix) -> Result<f64> {
    let Some(factor) = Cholesky::of(b) else { return Ok(f64::INFINITY) };
    Ok(super::symmetric_eigenvalues(&factor.whiten(a))?.last().copied().unwrap_or(0.0).max(f64::MIN_POSITIVE))
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
    fn both_factors_solve_the_same_system() {
        let rows = Matrix::from_rows(&[[1.0, 2.0], [-3.0, 0.5], [0.2, -1.0]]);
        let square = crate::linalg::transposed_product(&rows, &rows);
        let (mut a, mut b) = ([0.3, -0.7], [0.3, -0.7]);
        Cholesky::of(&square).unwrap().solve(&mut a);
        Cholesky::of_rows(&rows).unwrap().solve(&mut b);
        assert!(a.iter().zip(&b).all(|(x, y)| (x - y).abs() < 1e-12), "{a:?} {b:?}");
    }
}
