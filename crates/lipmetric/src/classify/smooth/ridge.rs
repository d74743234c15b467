//! Kernel ridge: the coefficients for a given kernel and ridge, and what each row would get from the others.

use super::kernel::Decay;
use super::radius::Seen;
use crate::linalg::Cholesky;
use crate::{Error, Labels, Matrix, Result};

/// What the function is fitted to: 1 for a row's own class and -1 for every other. With two classes there is one column, for the
/// second class; that of the first is its negative.
pub(super) fn targets(codes: &[u32], classes: usize) -> Matrix {
    let columns = columns(classes);
    let mut out = Matrix::zeros(codes.len(), columns);
    for (i, &code) in codes.iter().enumerate() {
        for (c, t) in out.row_mut(i).iter_mut().enumerate() {
            let class = if columns == 1 { 1 } else { c };
            *t = if code as usize == class { 1.0 } else { -1.0 };
        }
    }
    out
}

/// Columns of [`targets`].
fn columns(classes: usize) -> usize {
    if classes == 2 { 1 } else { classes }
}

/// A column per class, from the columns of [`targets`].
fn per_class(values: Matrix, classes: usize) -> Matrix {
    if columns(classes) != 1 {
        return values;
    }
    let mut out = Matrix::zeros(values.rows(), 2);
    for i in 0..values.rows() {
        out.row_mut(i).copy_from_slice(&[-values[(i, 0)], values[(i, 0)]]);
    }
    out
}

/// What a function is fitted to, and how what it says is told.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    /// A row per row.
    pub(crate) targets: Matrix,
    /// None where numbers are wanted.
    classes: Option<usize>,
    /// What the function is added to: the mean of numbers.
    pub(crate) offset: f64,
    /// A small change of the numbers: a tenth of their standard deviation.
    pub(crate) change: f64,
}

/// A small change, as a part of the standard deviation.
const SMALL: f64 = 0.1;

impl Wanted {
    /// Of labels, of which rows count by these weights.
    pub(crate) fn new(labels: &Labels, weights: Option<&[f64]>) -> Self {
        let Some(numbers) = labels.numbers() else {
            let classes = labels.classes().len();
            return Self {
                targets: targets(labels.codes(), classes),
                classes: Some(classes),
                offset: 0.0,
                change: 0.0,
            };
        };
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        let total: f64 = (0..numbers.len()).map(weight).sum::<f64>().max(f64::MIN_POSITIVE);
        let offset = numbers.iter().enumerate().map(|(i, v)| weight(i) * v).sum::<f64>() / total;
        let mut targets = Matrix::zeros(numbers.len(), 1);
        targets.as_mut_slice().iter_mut().zip(numbers).for_each(|(t, v)| *t = v - offset);
        let squares: f64 = targets.as_slice().iter().enumerate().map(|(i, t)| weight(i) * t * t).sum();
        Self { targets, classes: None, offset, change: SMALL * (squares / total).sqrt() }
    }

    /// A column per class, of what has the targets' columns; of numbers it is the one column.
    pub(crate) fn per_class(&self, values: Matrix) -> Matrix {
        match self.classes {
            Some(classes) => per_class(values, classes),
            None => values,
        }
    }

    /// What functions say: a column per class, or the numbers.
    pub(crate) fn told(&self, values: Matrix) -> Matrix {
        let mut told = self.per_class(values);
        if self.offset != 0.0 {
            told.as_mut_slice().iter_mut().for_each(|v| *v += self.offset);
        }
        told
    }

    /// How far rows may move: before the class of each can change, or its number by a little. Of the Gaussian kernel, whose radii take
    /// longer, those of some rows, to the nearest rival class.
    pub(crate) fn radii(&self, told: &Seen<'_>, coefficients: &Matrix, decay: Decay) -> Vec<f64> {
        match self.classes {
            Some(_) => told.radii(coefficients, decay),
            None => told.steps(coefficients, decay, self.change),
        }
    }
}

/// The class of the largest value; of equal ones the first.
pub(crate) fn largest(values: &[f64]) -> u32 {
    (0..values.len()).fold(0, |top, c| if values[c] > values[top] { c } else { top }) as u32
}

/// The function that minimises `sum_i w_i |f(x_i) - t_i|^2 + ridge |f|^2` in the kernel's space: `(K + ridge W^-1) A = T`.
#[derive(Debug)]
pub(crate) struct Ridge {
    factor: Cholesky,
    /// A row per row, a column per column of the targets.
    pub(crate) coefficients: Matrix,
}

impl Ridge {
    /// Solves for one kernel matrix. Weights, where there are some, are not negative.
    ///
    /// # Errors
    /// If the ridge is so small that rounding makes the system singular.
    pub(crate) fn new(kernel: &Matrix, targets: &Matrix, weights: Option<&[f64]>, ridge: f64) -> Result<Self> {
        Self::in_memory(Vec::new(), kernel, targets, weights, ridge)
    }

    /// The same in memory that [`Self::into_parts`] of another has given back: fresh pages take as long as the copy itself.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn in_memory(
        memory: Vec<f64>,
        kernel: &Matrix,
        targets: &Matrix,
        weights: Option<&[f64]>,
        ridge: f64,
    ) -> Result<Self> {
        let n = kernel.rows();
        let mut system = memory;
        system.clear();
        system.extend_from_slice(kernel.as_slice());
        for i in 0..n {
            system[i * n + i] += ridge / weights.map_or(1.0, |w| w[i].max(LEAST_WEIGHT));
        }
        let factor = Cholesky::factor(system, n).ok_or_else(|| Error::Numerical {
            place: "kernel ridge",
            message: format!("with a ridge of {ridge} the system is singular to rounding; use a larger one"),
        })?;
        let mut coefficients = targets.clone();
        factor.solve_rows(&mut coefficients);
        Ok(Self { factor, coefficients })
    }

    /// The coefficients, and the memory of the system for the next one.
    pub(crate) fn into_parts(self) -> (Matrix, Vec<f64>) {
        (self.coefficients, self.factor.into_memory())
    }

    /// What the function that is fitted to all other rows says of each row, a column per column of the targets. In closed form:
    /// `t_i - a_i / (G^-1)_ii` with `G = K + ridge W^-1`.
    pub(crate) fn left_out(&self, targets: &Matrix) -> Matrix {
        let mut out = targets.clone();
        for (i, inverse) in self.factor.inverse_diagonal().into_iter().enumerate() {
            let coefficients = self.coefficients.row(i);
            out.row_mut(i).iter_mut().zip(coefficients).for_each(|(t, a)| *t -= a / inverse);
        }
        out
    }
}

/// A row that counts less has next to no coefficient.
const LEAST_WEIGHT: f64 = 1e-9;

/// The rows that count, where weights leave some out; nothing where all do.
pub(crate) fn counted(weights: Option<&[f64]>) -> Option<Vec<usize>> {
    let weights = weights?;
    let kept: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0.0).collect();
    (kept.len() < weights.len()).then_some(kept)
}

/// Weights by which every class counts as much as any other, with a mean of one.
pub(crate) fn balanced(labels: &Labels) -> Vec<f64> {
    equalised(labels, &vec![1.0; labels.len()])
}

/// How much each row counts: what is given, and where it is asked for every class as much as any other; nothing where all rows count
/// the same.
pub(crate) fn row_weights(labels: &Labels, given: Option<&[f64]>, equal_classes: bool) -> Option<Vec<f64>> {
    match given {
        Some(given) if equal_classes => Some(equalised(labels, given)),
        Some(given) => Some(given.to_vec()),
        None => equal_classes.then(|| balanced(labels)),
    }
}

/// Weights by which every class counts as much as any other, and within a class each row as given; their sum stays.
fn equalised(labels: &Labels, given: &[f64]) -> Vec<f64> {
    let mut mass = vec![0.0; labels.classes().len()];
    labels.codes().iter().zip(given).for_each(|(&c, w)| mass[c as usize] += w);
    let present = mass.iter().filter(|m| **m > 0.0).count() as f64;
    let total: f64 = mass.iter().sum();
    let one = |(&c, &w): (&u32, &f64)| if w > 0.0 { w * total / (present * mass[c as usize]) } else { 0.0 };
    labels.codes().iter().zip(given).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::super::kernel::{Decay, Kernel, Points};
    use super::*;
    use crate::linalg;

    fn rows(n: usize) -> Matrix {
        let value = |k: usize| (1.3 * k as f64).sin() + 0.2 * ((k * k) % 5) as f64;
        Matrix::from_vec(n, 2, (0..2 * n).map(value).collect()).unwrap()
    }

    #[test]
    fn what_a_row_gets_from_the_others_is_what_a_fit_without_it_says() {
        let (n, ridge) = (25, 0.05);
        let x = rows(n);
        let codes: Vec<u32> = (0..n).map(|i| (i % 3) as u32).collect();
        let weights: Vec<f64> = (0..n).map(|i| 0.5 + (i % 4) as f64).collect();
        let kernel = Decay::new(Kernel::Laplace, 0.8).of(&Points::new(&x).squared_within());
        let t = targets(&codes, 3);
        let all = Ridge::new(&kernel, &t, Some(&weights), ridge).unwrap().left_out(&t);
        for left in [0, 7, 24] {
            let others: Vec<usize> = (0..n).filter(|&i| i != left).collect();
            let part = kernel.select_rows(&others);
            let part = part.select_cols(others.iter().copied());
            let w: Vec<f64> = others.iter().map(|&i| weights[i]).collect();
            let fit = Ridge::new(&part, &t.select_rows(&others), Some(&w), ridge).unwrap();
            let to = kernel.select_rows(&[left]).select_cols(others.iter().copied());
            let said = linalg::product(&to, &fit.coefficients);
            for c in 0..3 {
                assert!((said[(0, c)] - all[(left, c)]).abs() < 1e-9, "{} and {}", said[(0, c)], all[(left, c)]);
            }
        }
    }

    #[test]
    fn a_weight_of_two_is_two_equal_rows() {
        let x = rows(12);
        let twice: Vec<usize> = (0..12).chain([4]).collect();
        let codes: Vec<u32> = (0..12).map(|i| (i % 2) as u32).collect();
        let weights: Vec<f64> = (0..12).map(|i| if i == 4 { 2.0 } else { 1.0 }).collect();
        let t = targets(&codes, 2);
        let (a, b) = (Points::new(&x), Points::new(&x.select_rows(&twice)));
        let decay = Decay::new(Kernel::Laplace, 1.0);
        let weighted = Ridge::new(&decay.of(&a.squared_within()), &t, Some(&weights), 0.1).unwrap();
        let kernel = decay.of(&b.squared_within());
        let doubled = Ridge::new(&kernel, &t.select_rows(&twice), None, 0.1).unwrap();
        assert!((weighted.coefficients[(4, 0)] - 2.0 * doubled.coefficients[(4, 0)]).abs() < 1e-7);
        assert!((weighted.coefficients[(7, 0)] - doubled.coefficients[(7, 0)]).abs() < 1e-7);
    }

    #[test]
    fn targets_of_two_classes_are_one_column() {
        let t = targets(&[0, 1], 2);
        assert_eq!(t, Matrix::from_rows(&[[-1.0], [1.0]]));
        assert_eq!(per_class(t, 2), Matrix::from_rows(&[[1.0, -1.0], [-1.0, 1.0]]));
        assert_eq!(targets(&[2], 3), Matrix::from_rows(&[[-1.0, -1.0, 1.0]]));
        let labels = Labels::from_names(["a", "a", "a", "b"]);
        assert_eq!(balanced(&labels), [2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0, 2.0]);
        assert_eq!(row_weights(&labels, None, false), None);
        assert_eq!(row_weights(&labels, Some(&[1.0, 0.0, 3.0, 8.0]), true).unwrap(), [1.5, 0.0, 4.5, 6.0]);
        assert_eq!(row_weights(&labels, Some(&[1.0, 0.0, 3.0, 8.0]), false).unwrap(), [1.0, 0.0, 3.0, 8.0]);
    }
}
