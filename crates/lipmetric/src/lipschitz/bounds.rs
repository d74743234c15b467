//! Learning bounds: Proposition 6, Theorem 2 and its Corollary, in logarithms so that nothing overflows.

pub use super::doubling::{DoublingDimension, DoublingOptions, doubling_dimension};
pub use super::report::SampleBounds;
use crate::{Error, Result};
use serde::Serialize;
use std::f64::consts::E;

/// An upper bound of the fat-shattering dimension `D = fat_{1/16}` of the `L`-Lipschitz functions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FatShattering {
    /// `log_2` of the bound; `-inf` stands for a bound of 0, `inf` for none at all (an infinite constant).
    pub log2: f64,
}

impl FatShattering {
    /// Proposition 6, second inequality: `D <= (16 L intra + 32)^ddim`, where `intra` is the sum of the class
    /// diameters. Valid for two classes with `L = 2 / L-Margin`, and never below the first inequality's.
    ///
    /// # Errors
    /// As [`fat_shattering_bound`].
    pub fn from_intra(constant: f64, intra: f64, ddim: f64) -> Result<Self> {
        check(constant, intra, ddim)?;
        // log2(a + 2) for a = L intra, from log2 a, without forming a.
        let log2 = log2_product(constant, intra);
        let with_two = if log2 > 60.0 { log2 } else { (log2.exp2() + 2.0).log2() };
        Ok(Self { log2: power(4.0 + with_two, ddim) })
    }

    /// The bound itself; infinite where it exceeds the range of `f64`.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.log2.exp2()
    }
}

/// Proposition 6: `D <= (16 L diam)^ddim` for the functions of Lipschitz constant `L` on a metric space of this diameter
/// and doubling dimension.
///
/// ```
/// use lipmetric::lipschitz::bounds::fat_shattering_bound;
/// assert_eq!(fat_shattering_bound(0.5, 4.0, 2.0).unwrap().value(), 1024.0); // 32^2
/// assert_eq!(fat_shattering_bound(1e300, 1e300, 50.0).unwrap().log2.round(), 99858.0);
/// ```
///
/// # Errors
/// If a number is negative or NaN, or the diameter or the dimension is infinite. An infinite constant is allowed.
pub fn fat_shattering_bound(constant: f64, diameter: f64, ddim: f64) -> Result<FatShattering> {
    check(constant, diameter, ddim)?;
    Ok(FatShattering { log2: power(4.0 + log2_product(constant, diameter), ddim) })
}

fn check(constant: f64, diameter: f64, ddim: f64) -> Result<()> {
    if constant.is_nan() || constant < 0.0 {
        return Err(Error::parameter("constant", format!("the Lipschitz constant is {constant}; it is at least 0")));
    }
    for (name, v) in [("diameter", diameter), ("ddim", ddim)] {
        if !(v.is_finite() && v >= 0.0) {
            return Err(Error::parameter(name, format!("it is {v}; it must be finite and at least 0")));
        }
    }
    Ok(())
}

/// `log2(a b)`, where an infinite constant stays infinite even over a zero diameter.
fn log2_product(constant: f64, diameter: f64) -> f64 {
    if constant.is_infinite() { f64::INFINITY } else { constant.log2() + diameter.log2() }
}

/// `ddim * log2`, with a power of 0 being 1.
fn power(log2: f64, ddim: f64) -> f64 {
    if ddim == 0.0 { 0.0 } else { ddim * log2 }
}

/// A bound of a probability of error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Bound {
    /// The right-hand side of the inequality. It may exceed 1; where `D` exceeds `34 n` it is evaluated at `34 n`, where
    /// it is largest.
    pub value: f64,
    /// Whether it is at least 1 and hence says nothing.
    pub vacuous: bool,
}

impl Bound {
    fn new(value: f64) -> Self {
        Self { value, vacuous: value >= 1.0 }
    }
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.vacuous { write!(f, "1 or more, so it says nothing here") } else { write!(f, "{:.4}", self.value) }
    }
}

/// Theorem 2 and its Corollary, evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LearningBound {
    /// Size of the sample.
    pub n: usize,
    /// Rows of the sample that are classified wrongly.
    pub errors: usize,
    /// The bound holds with probability `1 - delta`.
    pub delta: f64,
    /// The bound of `D` that was put in.
    pub fat: FatShattering,
    /// Whether `n >= D / 34`. Below, `D log2(34 e n / D)` no longer grows with `D`, so that a bound of `D` may not be put in
    /// its place; the Corollary's own condition, `n >= D / (34 e)`, is too weak for that. Every such bound is vacuous.
    pub condition: bool,
    /// The first inequality, for a sample without errors; none if there are errors.
    pub consistent: Option<Bound>,
    /// The second inequality, which allows errors.
    pub with_errors: Bound,
}

impl LearningBound {
    /// The smaller of the two bounds.
    #[must_use]
    pub fn best(&self) -> Bound {
        match self.consistent {
            Some(b) if b.value < self.with_errors.value => b,
            _ => self.with_errors,
        }
    }
}

/// Theorem 2 with an upper bound in place of `D` (the Corollary):
///
/// `P(error) <= B` if the sample has no errors, `P(error) <= k / n + sqrt(B)` if it has `k`, each with probability
/// `1 - delta`, where `B = (2 / n) (D log2(34 e n / D) log2(578 n) + log2(4 / delta))`.
///
/// The theorem is about functions whose constant is fixed before the sample is seen. With a constant that was read off
/// the sample the number is the paper's, an indication rather than a promise.
///
/// ```
/// use lipmetric::lipschitz::bounds::{fat_shattering_bound, learning_bound};
/// let fat = fat_shattering_bound(0.25, 1.0, 1.0).unwrap(); // D <= 4
/// let bound = learning_bound(1_000_000, 0, fat, 0.05).unwrap();
/// assert!(!bound.best().vacuous && bound.best().value < 0.01);
/// let hopeless = learning_bound(100, 3, fat_shattering_bound(1e9, 1.0, 20.0).unwrap(), 0.05).unwrap();
/// assert_eq!(hopeless.best().to_string(), "1 or more, so it says nothing here");
/// ```
///
/// # Errors
/// If `n` is 0, `errors` exceeds `n`, or `delta` is not between 0 and 1.
pub fn learning_bound(n: usize, errors: usize, fat: FatShattering, delta: f64) -> Result<LearningBound> {
    if n == 0 || errors > n {
        return Err(Error::parameter("errors", format!("{errors} errors in a sample of {n}")));
    }
    if !(delta > 0.0 && delta < 1.0) {
        return Err(Error::parameter("delta", format!("{delta} is not between 0 and 1")));
    }
    if fat.log2.is_nan() {
        return Err(Error::parameter("fat", "the fat-shattering bound is NaN"));
    }
    let size = n as f64;
    let log2_d = fat.log2.min((34.0 * size).log2());
    let d = log2_d.exp2();
    let dimension = if d == 0.0 { 0.0 } else { d * ((34.0 * E * size).log2() - log2_d) * (578.0 * size).log2() };
    let b = 2.0 / size * (dimension + (4.0 / delta).log2());
    Ok(LearningBound {
        n,
        errors,
        delta,
        fat,
        condition: fat.log2 <= (34.0 * size).log2(),
        consistent: (errors == 0).then(|| Bound::new(b)),
        with_errors: Bound::new(errors as f64 / size + b.sqrt()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_the_formula_where_the_formula_can_be_computed() {
        let (n, d, delta) = (5000.0_f64, 7.0_f64, 0.1_f64);
        let fat = FatShattering { log2: d.log2() };
        let b = 2.0 / n * (d * (34.0 * E * n / d).log2() * (578.0 * n).log2() + (4.0 / delta).log2());
        let bound = learning_bound(5000, 0, fat, delta).unwrap();
        assert!((bound.consistent.unwrap().value - b).abs() < 1e-12 * b);
        let bound = learning_bound(5000, 50, fat, delta).unwrap();
        assert!((bound.with_errors.value - (0.01 + b.sqrt())).abs() < 1e-12);
        assert!(bound.consistent.is_none() && bound.condition);
    }

    #[test]
    fn the_bound_grows_with_the_dimension_and_is_vacuous_beyond_the_condition() {
        let mut last = 0.0;
        for k in 0..400 {
            let bound = learning_bound(1000, 0, FatShattering { log2: f64::from(k) * 0.1 - 5.0 }, 0.05).unwrap();
            assert!(bound.with_errors.value >= last);
            assert!(bound.condition || bound.best().vacuous);
            last = bound.with_errors.value;
        }
        let top = learning_bound(1000, 0, FatShattering { log2: f64::INFINITY }, 0.05).unwrap();
        assert_eq!(top.with_errors.value, last);
    }

    #[test]
    fn the_intra_form_is_the_power_of_its_sum() {
        let fat = FatShattering::from_intra(0.5, 6.0, 2.0).unwrap();
        assert!((fat.value() - 6400.0).abs() < 1e-9); // (16 * 3 + 32)^2
        assert_eq!(FatShattering::from_intra(3.0, 0.0, 1.0).unwrap().value(), 32.0);
        assert_eq!(FatShattering::from_intra(f64::INFINITY, 0.0, 1.0).unwrap().log2, f64::INFINITY);
    }

    #[test]
    fn impossible_arguments_are_refused() {
        assert!(fat_shattering_bound(f64::NAN, 1.0, 1.0).is_err());
        assert!(fat_shattering_bound(1.0, -1.0, 1.0).is_err());
        assert!(fat_shattering_bound(1.0, 1.0, f64::INFINITY).is_err());
        let fat = FatShattering { log2: 1.0 };
        assert!(learning_bound(0, 0, fat, 0.1).is_err());
        assert!(learning_bound(5, 6, fat, 0.1).is_err());
        assert!(learning_bound(5, 0, fat, 0.0).is_err());
        assert!(learning_bound(5, 0, fat, 1.0).is_err());
    }
}
