//! Which class the values of a function speak for.
//!
//! Each class has a function that is fitted to 1 on its own rows and to -1 on all others. Where a class lies between two others, as the
//! middle one of three rings, its function is large nowhere: the others *mask* it, whatever the kernel. Together the values still tell
//! where a row lies. A linear discriminant analysis of them, on rows that the functions have not seen, finds the class again (Hastie,
//! Tibshirani and Buja, *Flexible discriminant analysis by optimal scoring*, 1994). Its scores are sums of the values, so that they are
//! functions of the same kind, with other coefficients and a number added for each class.

use crate::linalg::Cholesky;
use crate::{Error, Matrix, Result, linalg};
use serde::{Deserialize, Serialize};

/// How a class is told from the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reading {
    /// The class of the largest value.
    #[default]
    Largest,
    /// The class of the largest discriminant of the values, by rows that the functions have not seen.
    Discriminant,
}

impl Reading {
    pub(crate) fn is_largest(&self) -> bool {
        matches!(self, Self::Largest)
    }
}

/// What is added to the covariance of the values within the classes, as a part of its mean variance: the values of all classes add up
/// to the same, nearly, so that without it there would be no inverse.
const SHRUNK: f64 = 1e-3;
/// The score of a class without rows, less than that of any other.
const NEVER: f64 = -1e6;

/// Scores of the classes from the values of their functions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Discriminant {
    /// A row per value, a column per class.
    factors: Matrix,
    /// What is added for each class.
    offsets: Vec<f64>,
}

impl Discriminant {
    /// Of values, a column per class, on rows of these classes that count so much.
    ///
    /// # Errors
    /// If there are no rows that count.
    pub(crate) fn fit(values: &Matrix, codes: &[u32], weights: &[f64]) -> Result<Self> {
        let (n, k) = (values.rows(), values.cols());
        let (mut means, mut mass) = (Matrix::zeros(k, k), vec![0.0; k]);
        for i in 0..n {
            let class = codes[i] as usize;
            mass[class] += weights[i];
            means.row_mut(class).iter_mut().zip(values.row(i)).for_each(|(m, v)| *m += weights[i] * v);
        }
        let total: f64 = mass.iter().sum();
        if total <= 0.0 {
            return Err(Error::data("there is no row to tell classes from the values by"));
        }
        for class in 0..k {
            let all = mass[class];
            means.row_mut(class).iter_mut().for_each(|m| *m /= if all > 0.0 { all } else { 1.0 });
        }
        let mut rest = Matrix::zeros(n, k);
        for i in 0..n {
            let root = (weights[i] / total).sqrt();
            let mean = means.row(codes[i] as usize);
            rest.row_mut(i).iter_mut().zip(values.row(i).iter().zip(mean)).for_each(|(r, (v, m))| *r = root * (v - m));
        }
        let mut covariance = linalg::transposed_product(&rest, &rest);
        let level = (0..k).map(|c| covariance[(c, c)]).sum::<f64>() / k as f64;
        // Values that are the same in all rows of a class say as much as any small spread of them.
        let level = if level > 0.0 { SHRUNK * level } else { SHRUNK };
        (0..k).for_each(|c| covariance[(c, c)] += level);
        let factor = Cholesky::factor(covariance.into_vec(), k).ok_or_else(|| Error::Numerical {
            place: "the discriminants of the values",
            message: "the covariance of the values cannot be inverted".to_owned(),
        })?;
        let mut factors = means.transpose();
        factor.solve_rows(&mut factors);
        let offset = |c: usize| {
            let length: f64 = (0..k).map(|v| means[(c, v)] * factors[(v, c)]).sum();
            if mass[c] > 0.0 { (mass[c] / total).ln() - 0.5 * length } else { NEVER }
        };
        let offsets = (0..k).map(offset).collect();
        Ok(Self { factors, offsets })
    }

    /// The scores of rows with these values.
    pub(crate) fn of(&self, values: &Matrix) -> Matrix {
        let mut out = linalg::product(values, &self.factors);
        for i in 0..out.rows() {
            out.row_mut(i).iter_mut().zip(&self.offsets).for_each(|(s, b)| *s += b);
        }
        out
    }

    /// The coefficients of the scores, by those of the values.
    pub(crate) fn coefficients(&self, of_values: &Matrix) -> Matrix {
        linalg::product(of_values, &self.factors)
    }

    pub(crate) fn offsets(&self) -> &[f64] {
        &self.offsets
    }
}

/// The scores of each part of the rows by the discriminants of all other parts. Nothing where one of these cannot be had.
pub(crate) fn crossed(values: &Matrix, codes: &[u32], weights: &[f64], part: &[usize]) -> Option<Matrix> {
    let mut parts = part.to_vec();
    parts.sort_unstable();
    parts.dedup();
    let mut out = Matrix::zeros(values.rows(), values.cols());
    for &at in &parts {
        let outside: Vec<f64> = weights.iter().zip(part).map(|(w, p)| if *p == at { 0.0 } else { *w }).collect();
        let inside: Vec<usize> = (0..part.len()).filter(|&i| part[i] == at).collect();
        let told = Discriminant::fit(values, codes, &outside).ok()?.of(&values.select_rows(&inside));
        inside.iter().enumerate().for_each(|(row, &i)| out.row_mut(i).copy_from_slice(told.row(row)));
    }
    out.first_non_finite().is_none().then_some(out)
}

#[cfg(test)]
mod tests {
    use super::super::largest;
    use super::*;

    /// Values as three functions have them whose classes lie on a line: the middle one's is large nowhere.
    fn masked(n: usize) -> (Matrix, Vec<u32>) {
        let codes: Vec<u32> = (0..n).map(|i| (i % 3) as u32).collect();
        let value = |i: usize| {
            let t = f64::from(codes[i]) - 1.0 + 0.3 * (1.7 * i as f64).sin();
            [-0.3 - 0.5 * t, -0.35 + 0.01 * (2.3 * i as f64).sin(), -0.3 + 0.5 * t]
        };
        (Matrix::from_vec(n, 3, (0..n).flat_map(value).collect()).unwrap(), codes)
    }

    fn right(values: &Matrix, codes: &[u32]) -> usize {
        codes.iter().enumerate().filter(|(i, c)| largest(values.row(*i)) == **c).count()
    }

    #[test]
    fn a_class_between_two_others_is_found_though_its_value_is_never_large() {
        let (values, codes) = masked(90);
        assert!(right(&values, &codes) < 75);
        let part: Vec<usize> = (0..90).map(|i| i / 18).collect();
        let scores = crossed(&values, &codes, &[1.0; 90], &part).unwrap();
        assert_eq!(right(&scores, &codes), 90);
    }

    #[test]
    fn a_row_has_no_part_in_its_own_score() {
        let (mut values, mut codes) = masked(30);
        let part: Vec<usize> = (0..30).map(|i| i % 5).collect();
        let before = crossed(&values, &codes, &[1.0; 30], &part).unwrap();
        codes[5] = (codes[5] + 1) % 3;
        values.row_mut(10).iter_mut().for_each(|v| *v += 3.0);
        let after = crossed(&values, &codes, &[1.0; 30], &part).unwrap();
        for i in (0..30).filter(|i| i % 5 == 0 && *i != 10) {
            assert_eq!(before.row(i), after.row(i));
        }
    }

    #[test]
    fn a_class_without_rows_is_never_told_and_values_that_are_all_the_same_do_no_harm() {
        let (values, codes) = masked(30);
        let weights: Vec<f64> = codes.iter().map(|c| f64::from(u8::from(*c != 1))).collect();
        let scores = Discriminant::fit(&values, &codes, &weights).unwrap().of(&values);
        assert!((0..30).all(|i| largest(scores.row(i)) != 1));
        let same = Matrix::zeros(30, 3);
        let scores = Discriminant::fit(&same, &codes, &[1.0; 30]).unwrap().of(&same);
        assert!(scores.first_non_finite().is_none());
        assert!(Discriminant::fit(&same, &codes, &[0.0; 30]).is_err());
    }
}
