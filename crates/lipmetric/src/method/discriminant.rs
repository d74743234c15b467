//! The few directions that tell classes apart, relative to the spread within them, from more features than rows could span.

use super::near_discriminant::near_discriminant;
use super::parameters::parameters;
use super::start::weights;
use super::{Fit, Method, Outcome, Training};
use crate::linalg::{self, Cholesky};
use crate::solver::{Observer, Progress, Status};
use crate::{Error, Matrix, Metric, Result};

parameters! {
    /// Fisher's discriminant directions: those that tell the classes' means apart, relative to the spread within the classes.
    ///
    /// There is one fewer than there are classes at most. The covariance within the classes is shrunk as Ledoit and Wolf (2004)
    /// estimate, so that more features than rows do no harm. A closed form, without steps; two or three directions are a map to look at.
    ///
    /// ```
    /// use lipmetric::method::{Discriminant, Method, Training};
    /// use lipmetric::{Labels, Matrix, solver::Silent};
    /// let x = Matrix::from_rows(&[[0.0, 9.0], [0.5, 1.0], [2.0, 8.0], [2.5, 2.0]]);
    /// let y = Labels::from_names(["a", "a", "b", "b"]);
    /// let fit = Discriminant::new().fit(&Training::new(&x, &y)?, &mut Silent)?;
    /// assert_eq!(fit.metric.rank(), 1);
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    pub struct Discriminant = "discriminant" {
        /// The number of directions, the best first; all unless it is given: one fewer than there are classes.
        n_components: Option<usize> as impl Into<Option<usize>> = None,
        /// How far the covariance within the classes is drawn to its mean variance, from 0 to 1; as Ledoit and Wolf estimate, and a
        /// tenth at the least, unless it is given.
        shrinkage: Option<f64> as impl Into<Option<f64>> = None,
        /// In place of the means, compare each row with so many of the nearest rows of its own class and of others, which also tells
        /// classes apart that lie in several places. A quarter as many directions as features then, unless `n_components` is given.
        neighbours: Option<usize> as impl Into<Option<usize>> = None,
    }
}

impl Method for Discriminant {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn takes_start(&self) -> bool {
        false
    }

    fn check(&self) -> Result<()> {
        if let Some(wrong) = self.shrinkage.filter(|s| !(*s > 0.0 && *s <= 1.0)) {
            return Err(Error::parameter("shrinkage", format!("{wrong} is not above 0 and up to 1, for example 0.5")));
        }
        if self.neighbours == Some(0) {
            return Err(Error::parameter("neighbours", "0 neighbours: give at least 1, usually 8"));
        }
        if self.neighbours.is_some() && self.shrinkage.is_some() {
            let message =
                "is of the covariance within the classes, and with `neighbours` there is none: give one of the two";
            return Err(Error::parameter("shrinkage", message));
        }
        Ok(())
    }

    fn fit(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        self.check()?;
        data.check_for(self)?;
        data.y.check_two_classes()?;
        if let Some(neighbours) = self.neighbours {
            return self.by_near_rows(data, neighbours, observer);
        }
        let fit = discriminant(data, self.shrinkage, observer)?;
        let (Some(asked), rank) = (self.n_components, fit.metric.rank()) else { return Ok(fit) };
        if asked == 0 || asked > rank {
            let message = format!(
                "{asked} directions of {} classes: there is one fewer than there are classes at most, and here {rank}; give 1 to {rank}, \
                 or leave it out for all",
                data.y.counts().iter().filter(|&&n| n > 0).count()
            );
            return Err(Error::parameter("n_components", message));
        }
        let first: Vec<usize> = (0..asked).collect();
        Ok(Fit { metric: Metric::new(fit.metric.factor().select_rows(&first))?, ..fit })
    }
}

impl Discriminant {
    fn by_near_rows(&self, data: &Training<'_>, neighbours: usize, observer: &mut dyn Observer) -> Result<Fit> {
        let few = |asked: usize, most: usize| {
            Error::parameter("n_components", format!("{asked} directions: these rows allow for 1 to {most}"))
        };
        if self.n_components == Some(0) {
            return Err(few(0, data.x.cols()));
        }
        let fit = near_discriminant(data, neighbours, self.n_components, observer)?;
        match self.n_components {
            Some(asked) if asked > fit.metric.rank() => Err(few(asked, fit.metric.rank())),
            _ => Ok(fit),
        }
    }
}

/// How much of the within-class covariance is its mean variance at the least, the same in all directions.
const SHRUNK: f64 = 0.1;
/// A direction whose part of the spread between classes is less than this of the largest is rounding.
const ROUNDED: f64 = 1e-10;

/// Fisher's discriminant directions, one fewer than there are classes at most, each of unit spread within the classes.
///
/// The covariance within the classes is shrunk to its mean variance as Ledoit and Wolf (2004) estimate it, so that more features
/// than rows do no harm. It is factored, never decomposed: a step takes the time of `p^2 (n + p / 3)` multiplications and the
/// memory of one copy of the rows and two matrices of `p x p`. Where there are more features than rows these two change places.
pub(super) fn discriminant(data: &Training<'_>, asked: Option<f64>, observer: &mut dyn Observer) -> Result<Fit> {
    // There are no steps: who watches is asked once. Where he says no, the caller knows, and what is begun is ended.
    let _ = observer.progress(&Progress::default());
    let groups = Groups::new(data);
    let between = groups.between();
    let solved = Within::new(&groups, data).divide(&between, asked)?;
    let mut spread = linalg::product(&between, &solved);
    linalg::symmetrise(&mut spread);
    let eigen = linalg::symmetric_eigen(&spread)?;
    let top = eigen.values.last().copied().unwrap_or(0.0);
    let most = between.rows().saturating_sub(1);
    let kept: Vec<usize> =
        (0..eigen.values.len()).rev().filter(|&k| eigen.values[k] > ROUNDED * top).take(most).collect();
    if kept.is_empty() {
        return Err(Error::data("the classes have the same mean: no direction tells them apart"));
    }
    let mut turn = eigen.vectors.select_cols(kept.iter().copied());
    for i in 0..turn.rows() {
        turn.row_mut(i).iter_mut().zip(&kept).for_each(|(v, &k)| *v /= eigen.values[k].sqrt());
    }
    let factor = linalg::product_transposed(&turn.transpose(), &solved);
    Ok(Fit::new(Metric::new(factor)?, Outcome::new(Status::ClosedForm, 0)))
}

/// The covariance within the classes, by the rows relative to their classes' means.
struct Within {
    centred: Matrix,
    /// The covariance or, where there are fewer rows than features, the products of the rows.
    gram: Matrix,
    /// The mean of the fourth powers of the distances to the classes' means.
    fourth: f64,
    total: f64,
}

impl Within {
    fn new(groups: &Groups, data: &Training<'_>) -> Self {
        let (centred, fourth) = groups.centred(data);
        let mut gram = match centred.rows() < centred.cols() {
            true => linalg::product_transposed(&centred, &centred),
            false => linalg::transposed_product(&centred, &centred),
        };
        linalg::symmetrise(&mut gram);
        Self { centred, gram, fourth, total: groups.total }
    }

    /// The rows divided by the covariance, shrunk as far as is asked or estimated: features x rows.
    fn divide(self, rows: &Matrix, asked: Option<f64>) -> Result<Matrix> {
        let Self { centred, mut gram, fourth, total } = self;
        let p = centred.cols();
        let level = trace(&gram) / p as f64;
        let shrunk = asked.unwrap_or_else(|| shrinkage(&gram, p, fourth, total));
        // Classes of equal rows leave nothing to divide by.
        let (part, level) = if level > 0.0 { (1.0 - shrunk, shrunk * level) } else { (0.0, 1.0) };
        gram.as_mut_slice().iter_mut().for_each(|v| *v *= part);
        (0..gram.rows()).for_each(|k| gram[(k, k)] += level);
        let cholesky = Cholesky::of(&gram).ok_or_else(|| Error::data("the features vary too little or too much"))?;
        if gram.rows() == p {
            let mut solved = rows.transpose();
            cholesky.solve_rows(&mut solved);
            return Ok(solved);
        }
        // (part C^T C + level)^-1 = (1 - part C^T (part C C^T + level)^-1 C) / level.
        let mut along = linalg::product_transposed(&centred, rows);
        cholesky.solve_rows(&mut along);
        let mut solved = rows.transpose();
        linalg::add_scaled(&mut solved, -part, &linalg::transposed_product(&centred, &along));
        solved.as_mut_slice().iter_mut().for_each(|v| *v /= level);
        Ok(solved)
    }
}

fn trace(m: &Matrix) -> f64 {
    (0..m.rows()).map(|k| m[(k, k)]).sum()
}

/// The classes that count: their means and weights.
struct Groups {
    weight: Vec<f64>,
    mass: Vec<f64>,
    total: f64,
    means: Matrix,
    overall: Vec<f64>,
}

impl Groups {
    fn new(data: &Training<'_>) -> Self {
        let (weight, p, classes) = (weights(data), data.x.cols(), data.y.classes().len());
        let (mut mass, mut means, mut overall) = (vec![0.0; classes], Matrix::zeros(classes, p), vec![0.0; p]);
        for (i, (&code, &w)) in data.y.codes().iter().zip(&weight).enumerate() {
            mass[code as usize] += w;
            means.row_mut(code as usize).iter_mut().zip(data.x.row(i)).for_each(|(m, v)| *m += w * v);
        }
        let total: f64 = mass.iter().sum();
        for (class, &m) in mass.iter().enumerate() {
            overall.iter_mut().zip(means.row(class)).for_each(|(o, v)| *o += v / total);
            if m > 0.0 {
                means.row_mut(class).iter_mut().for_each(|v| *v /= m);
            }
        }
        Self { weight, mass, total, means, overall }
    }

    /// The rows relative to their classes' means, so that their products add up to the covariance, and the mean of the fourth powers
    /// of the distances to the classes' means.
    fn centred(&self, data: &Training<'_>) -> (Matrix, f64) {
        let mut centred = Matrix::zeros(data.x.rows(), data.x.cols());
        let mut fourth = 0.0;
        for (i, (&code, &w)) in data.y.codes().iter().zip(&self.weight).enumerate() {
            let root = (w / self.total).sqrt();
            let mean = self.means.row(code as usize);
            let cells = centred.row_mut(i).iter_mut().zip(data.x.row(i)).zip(mean);
            let mut squared = 0.0;
            cells.for_each(|((c, v), m)| {
                squared += (v - m) * (v - m);
                *c = root * (v - m);
            });
            fourth += w / self.total * squared * squared;
        }
        (centred, fourth)
    }

    /// The means, relative to the mean of all rows and weighted: the square of this is the covariance between the classes.
    fn between(&self) -> Matrix {
        let counted: Vec<usize> = (0..self.mass.len()).filter(|&c| self.mass[c] > 0.0).collect();
        let mut out = self.means.select_rows(&counted);
        for (r, &class) in counted.iter().enumerate() {
            let root = (self.mass[class] / self.total).sqrt();
            out.row_mut(r).iter_mut().zip(&self.overall).for_each(|(v, o)| *v = root * (*v - o));
        }
        out
    }
}

/// How far to draw the covariance of `p` features to its mean variance, by Ledoit and Wolf: as far as its elements scatter over samples
/// of `n` rows, compared with how far they are from there. `gram` is the covariance, or the products of the rows that it is made of.
pub(super) fn shrinkage(gram: &Matrix, p: usize, fourth: f64, n: f64) -> f64 {
    let squares = linalg::inner(gram, gram);
    let level = trace(gram) / p as f64;
    let apart = squares - p as f64 * level * level;
    if apart <= 0.0 {
        return 1.0;
    }
    ((fourth - squares) / n / apart).clamp(SHRUNK, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Labels;
    use crate::solver::Silent;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn rows(n: usize, p: usize, seed: u64) -> (Matrix, Labels) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut x = Matrix::zeros(n, p);
        x.as_mut_slice().iter_mut().for_each(|v| *v = rng.random::<f64>() - 0.5);
        (0..n).for_each(|i| x[(i, i % 3)] += 0.8);
        (x, Labels::from_names((0..n).map(|i| ["a", "b", "c"][i % 3])))
    }

    #[test]
    fn directions_have_unit_spread_within_and_are_orthogonal_between_the_classes() {
        for (n, p) in [(90, 6), (30, 50)] {
            let (x, y) = rows(n, p, 7);
            let data = Training::new(&x, &y).unwrap();
            let fit = discriminant(&data, None, &mut Silent).unwrap();
            let l = fit.metric.factor();
            assert_eq!((l.rows(), l.cols()), (2, p));
            // By the definition, not by the way it is computed: L S L^T = 1 for the shrunk covariance, L B L^T diagonal.
            let groups = Groups::new(&data);
            let (centred, fourth) = groups.centred(&data);
            let mut s = linalg::transposed_product(&centred, &centred);
            let shrunk = shrinkage(&s, p, fourth, n as f64);
            let level = (0..p).map(|k| s[(k, k)]).sum::<f64>() / p as f64;
            s.as_mut_slice().iter_mut().for_each(|v| *v *= 1.0 - shrunk);
            (0..p).for_each(|k| s[(k, k)] += shrunk * level);
            let (b, one) = (groups.between(), |m: &Matrix| linalg::product_transposed(&linalg::product(l, m), l));
            let (within, between) = (one(&s), one(&linalg::transposed_product(&b, &b)));
            for i in 0..2 {
                for j in 0..2 {
                    assert!((within[(i, j)] - f64::from(u8::from(i == j))).abs() < 1e-9, "{within:?}");
                }
            }
            assert!(between[(0, 1)].abs() < 1e-9 && between[(0, 0)] >= between[(1, 1)] - 1e-9, "{between:?}");
        }
    }

    #[test]
    fn shrinkage_is_the_estimate_of_its_authors_by_the_plain_double_loop() {
        let (x, y) = rows(60, 5, 3);
        let data = Training::new(&x, &y).unwrap();
        let groups = Groups::new(&data);
        let (centred, fourth) = groups.centred(&data);
        let s = linalg::transposed_product(&centred, &centred);
        let (n, p) = (60.0, 5);
        let level = (0..p).map(|k| s[(k, k)]).sum::<f64>() / p as f64;
        let (mut scatter, mut apart) = (0.0, 0.0);
        for j in 0..p {
            for k in 0..p {
                apart += (s[(j, k)] - if j == k { level } else { 0.0 }).powi(2);
                for i in 0..60 {
                    let mean = groups.means.row(y.codes()[i] as usize);
                    scatter += ((x[(i, j)] - mean[j]) * (x[(i, k)] - mean[k]) - s[(j, k)]).powi(2) / (n * n);
                }
            }
        }
        assert!((shrinkage(&s, p, fourth, n) - (scatter / apart).clamp(SHRUNK, 1.0)).abs() < 1e-12);
    }

    #[test]
    fn a_row_of_weight_two_is_the_row_twice() {
        let (x, y) = rows(40, 4, 5);
        let twice: Vec<usize> = (0..40).chain(0..10).collect();
        let (more, labels) = (x.select_rows(&twice), y.select(&twice));
        let weights: Vec<f64> = (0..40).map(|i| if i < 10 { 2.0 } else { 1.0 }).collect();
        let weighted = discriminant(&Training::new(&x, &y).unwrap().with_weights(&weights).unwrap(), None, &mut Silent);
        let repeated = discriminant(&Training::new(&more, &labels).unwrap(), None, &mut Silent).unwrap();
        let (a, b) = (weighted.unwrap().metric, repeated.metric);
        for i in 0..10 {
            let (u, v) = (x.row(i), x.row(i + 20));
            let (one, other) = (a.squared_distance(u, v), b.squared_distance(u, v));
            assert!((one - other).abs() < 1e-9 * other.max(1.0), "{one} and {other}");
        }
    }

    #[test]
    fn classes_of_one_mean_are_refused_and_equal_rows_are_not() {
        let x = Matrix::from_rows(&[[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]);
        let y = Labels::from_names(["a", "a", "b", "b"]);
        let refused = discriminant(&Training::new(&x, &y).unwrap(), None, &mut Silent).unwrap_err().to_string();
        assert!(refused.contains("the same mean"), "{refused}");
        let x = Matrix::from_rows(&[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]);
        let fit = discriminant(&Training::new(&x, &y).unwrap(), None, &mut Silent).unwrap();
        assert!(fit.metric.squared_distance(x.row(0), x.row(2)) > 0.0);
    }
}
