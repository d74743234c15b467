use crate::Matrix;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
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

    /// Factors a symmetric [`Matrix`].
    pub(crate) fn of(a: &Matrix) -> Option<Self> {
        Self::factor(a.as_slice().to_vec(), a.rows())
    }

    /// `x <- A^-1 x`.
    pub(crate) fn solve(&self, x: &mut [f64]) {
        let l = MatRef::from_column_major_slice(&self.data, self.n, self.n);
        let mut rhs = MatMut::from_column_major_slice_mut(x, self.n, 1);
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
