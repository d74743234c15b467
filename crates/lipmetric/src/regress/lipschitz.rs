use crate::neighbours::{check_finite, squared_distance};
use crate::{Error, Matrix, Result};
use rayon::prelude::*;

/// A function with a Lipschitz constant that is near to the numbers of some rows (Theorem 1 of the paper, which says nothing about
/// classes):
///
/// `f(x) = alpha min_i (v_i + L d(x, x_i)) + (1 - alpha) max_i (v_i - L d(x, x_i))`.
///
/// The values `v` are those of least squared distance to the numbers among all that differ by `L d` at most: noise is smoothed as
/// much as the constant asks for. Minimum and maximum are of functions with the constant `L`, so that `f` has it everywhere: it
/// cannot change by more than `L r` within `r`.
///
/// ```
/// use lipmetric::{Matrix, regress::LipschitzFunction};
/// let rows = Matrix::from_rows(&[[0.0], [2.0], [3.0]]);
/// let f = LipschitzFunction::fit(&rows, &[0.0, 2.0, 5.0], 2.0, 0.5)?;
/// // The last two numbers differ by 3, one apart: with the constant 2 by 2 at most.
/// assert!((f.values()[1] - 2.5).abs() < 1e-6 && (f.values()[2] - 4.5).abs() < 1e-6);
/// assert!((f.predict(&Matrix::from_rows(&[[1.0]]))?[0] - 1.25).abs() < 1e-6);
/// # Ok::<(), lipmetric::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct LipschitzFunction {
    rows: Matrix,
    values: Vec<f64>,
    constant: f64,
    alpha: f64,
}

/// Rows that are smoothed together, at most: the work grows with the square of their number. The values of more rows are those of the
/// function of so many.
pub(crate) const SMOOTHED: usize = 2000;
/// Violations of the constant that are left, as a part of the numbers' range: `f` has the constant whatever is left.
const LEFT: f64 = 1e-4;
/// How often all pairs are looked at, at most, and how often those that have been in conflict are between two looks.
const LOOKS: usize = 20;
const SWEEPS: usize = 20;

impl LipschitzFunction {
    /// The function of these rows whose values are as near to the numbers as the constant allows.
    ///
    /// # Errors
    /// If there is no row or not one number per row, the constant is not positive, or `alpha` is outside 0 to 1.
    pub fn fit(rows: &Matrix, numbers: &[f64], constant: f64, alpha: f64) -> Result<Self> {
        let f = Self::new(rows.clone(), numbers.to_vec(), constant, alpha)?;
        if rows.rows() <= SMOOTHED {
            return Ok(Self { values: smoothed(rows, numbers, constant), ..f });
        }
        let every: Vec<usize> = (0..SMOOTHED).map(|i| i * rows.rows() / SMOOTHED).collect();
        let some: Vec<f64> = every.iter().map(|&i| numbers[i]).collect();
        let few = Self::fit(&rows.select_rows(&every), &some, constant, alpha)?;
        Ok(Self { values: few.predict(rows)?, ..f })
    }

    /// The function that extends these values, as they are.
    ///
    /// # Errors
    /// As [`Self::fit`].
    pub fn new(rows: Matrix, values: Vec<f64>, constant: f64, alpha: f64) -> Result<Self> {
        if values.len() != rows.rows() || values.is_empty() {
            return Err(Error::shape("numbers of the rows", rows.rows().max(1), values.len()));
        }
        check_finite(&rows, "row")?;
        if let Some(i) = values.iter().position(|v| !v.is_finite()) {
            return Err(Error::data(format!("number {i} is {}: it must be finite", values[i])));
        }
        if !(constant > 0.0 && constant.is_finite()) {
            return Err(Error::data(format!("the function's constant is {constant}: it must be positive")));
        }
        if !(0.0..=1.0).contains(&alpha) {
            return Err(Error::parameter("alpha", format!("{alpha} is outside 0 to 1")));
        }
        Ok(Self { rows, values, constant, alpha })
    }

    /// Its values on the rows, before they are extended.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Its Lipschitz constant.
    #[must_use]
    pub fn constant(&self) -> f64 {
        self.constant
    }

    /// The number of each query.
    ///
    /// # Errors
    /// If the queries have another number of columns than the rows, or one is not finite.
    pub fn predict(&self, queries: &Matrix) -> Result<Vec<f64>> {
        if queries.cols() != self.rows.cols() {
            return Err(Error::shape("columns of the queries", self.rows.cols(), queries.cols()));
        }
        check_finite(queries, "query")?;
        let one = |q: usize| {
            let (mut upper, mut lower) = (f64::INFINITY, f64::NEG_INFINITY);
            for (i, value) in self.values.iter().enumerate() {
                let reach = self.constant * squared_distance(self.rows.row(i), queries.row(q)).sqrt();
                upper = upper.min(value + reach);
                lower = lower.max(value - reach);
            }
            self.alpha * upper + (1.0 - self.alpha) * lower
        };
        Ok((0..queries.rows()).into_par_iter().map(one).collect())
    }
}

/// Two rows that have been in conflict: their values may differ by `most`.
struct Conflict {
    i: usize,
    j: usize,
    most: f64,
    /// By how much the first was lowered and the second raised.
    moved: f64,
}

/// The values of least squared distance to the numbers that differ by `constant` times the distance at most: projections on one pair
/// after the other, with what each has moved taken back first (Dykstra's method), for the pairs that have been in conflict.
fn smoothed(rows: &Matrix, numbers: &[f64], constant: f64) -> Vec<f64> {
    let n = rows.rows();
    let range = |v: &[f64]| {
        v.iter().copied().fold(f64::NEG_INFINITY, f64::max) - v.iter().copied().fold(f64::INFINITY, f64::min)
    };
    let (mut values, left) = (numbers.to_vec(), LEFT * range(numbers));
    let mut known = vec![false; n * n];
    let mut conflicts: Vec<Conflict> = Vec::new();
    for _ in 0..LOOKS {
        let known_now = &known;
        let at = |i: usize| -> Vec<Conflict> {
            let mut found = Vec::new();
            for j in i + 1..n {
                let apart = (values[i] - values[j]).abs();
                if apart <= left || known_now[i * n + j] {
                    continue;
                }
                let most = constant * squared_distance(rows.row(i), rows.row(j)).sqrt();
                if apart > most + left {
                    found.push(Conflict { i, j, most, moved: 0.0 });
                }
            }
            found
        };
        let new: Vec<Conflict> = (0..n).into_par_iter().map(at).collect::<Vec<_>>().into_iter().flatten().collect();
        let (none, mut worst) = (new.is_empty(), 0.0_f64);
        new.iter().for_each(|c| known[c.i * n + c.j] = true);
        conflicts.extend(new);
        for _ in 0..SWEEPS {
            worst = 0.0;
            for conflict in &mut conflicts {
                let apart = values[conflict.i] - values[conflict.j];
                let before = apart + 2.0 * conflict.moved;
                let moved = 0.5 * (before.abs() - conflict.most).max(0.0).copysign(before);
                let by = moved - conflict.moved;
                worst = worst.max(by.abs());
                values[conflict.i] -= by;
                values[conflict.j] += by;
                conflict.moved = moved;
            }
            if worst <= left {
                break;
            }
        }
        if none && worst <= left {
            break;
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> (Matrix, Vec<f64>) {
        let x = Matrix::from_vec(60, 2, (0..120).map(|k| ((7 * k * k + k) % 29) as f64 / 7.0).collect()).unwrap();
        let y = (0..60).map(|i| x[(i, 0)].sin() + 0.3 * ((i * i) % 7) as f64).collect();
        (x, y)
    }

    #[test]
    fn the_function_has_its_constant_everywhere_and_the_values_are_the_nearest_that_have_it() {
        let (x, y) = rows();
        for constant in [0.2, 1.0, 5.0] {
            let f = LipschitzFunction::fit(&x, &y, constant, 0.5).unwrap();
            let queries = Matrix::from_vec(50, 2, (0..100).map(|k| ((11 * k) % 47) as f64 / 9.0).collect()).unwrap();
            let told = f.predict(&queries).unwrap();
            for i in 0..50 {
                for j in 0..i {
                    let d = squared_distance(queries.row(i), queries.row(j)).sqrt();
                    assert!((told[i] - told[j]).abs() <= constant * d + 1e-9);
                }
            }
            // Of least squares among the feasible: no feasible direction leads nearer. The mean is feasible, and so is any other
            // Lipschitz function, such as a multiple of the first coordinate.
            let v = f.values();
            let toward =
                |other: &dyn Fn(usize) -> f64| -> f64 { (0..60).map(|i| (y[i] - v[i]) * (other(i) - v[i])).sum() };
            for (slope, shift) in [(0.0, 0.0), (0.1, 1.0), (-0.19, 2.0), (0.19, -1.0)] {
                assert!(toward(&|i| slope * x[(i, 0)] + shift) <= 0.1, "{constant} {slope}");
            }
            let v_feasible = (0..60).all(|i| {
                (0..i).all(|j| (v[i] - v[j]).abs() <= constant * squared_distance(x.row(i), x.row(j)).sqrt() + 2e-3)
            });
            assert!(v_feasible);
        }
    }

    #[test]
    fn a_large_constant_keeps_the_numbers_and_equal_rows_get_their_mean() {
        let x = Matrix::from_rows(&[[0.0], [0.0], [1.0]]);
        let f = LipschitzFunction::fit(&x, &[1.0, 3.0, 7.0], 1e6, 0.5).unwrap();
        assert!((f.values()[0] - 2.0).abs() < 1e-5 && (f.values()[1] - 2.0).abs() < 1e-5 && f.values()[2] == 7.0);
        assert!(LipschitzFunction::fit(&x, &[1.0, 3.0], 1.0, 0.5).is_err());
        assert!(LipschitzFunction::fit(&x, &[1.0, 3.0, f64::NAN], 1.0, 0.5).is_err());
        assert!(LipschitzFunction::fit(&x, &[1.0, 3.0, 2.0], 0.0, 0.5).is_err());
    }
}
