//! The function for given rows and settings.

use super::kernel::{Decay, Kernel, Points};
use super::ridge::{Ridge, Wanted, counted};
use super::{Landmarks, Reading, SmoothFunction, draw};
use crate::{Error, Labels, Matrix, Result};
use serde::{Deserialize, Serialize};

/// How smooth a function is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Smoothness {
    /// The bandwidth, as a part of the root of the mean squared distance between the rows.
    pub width: f64,
    /// The ridge: how much the size of the function counts against its errors.
    pub ridge: f64,
    /// How terms fall with the distance.
    #[serde(default, skip_serializing_if = "Kernel::is_laplace")]
    pub kernel: Kernel,
    /// How a class is told from the values of all classes.
    #[serde(default, skip_serializing_if = "Reading::is_largest")]
    pub reading: Reading,
}

impl Smoothness {
    /// A width and a ridge, of the Laplace kernel.
    #[must_use]
    pub const fn new(width: f64, ridge: f64) -> Self {
        Self { width, ridge, kernel: Kernel::Laplace, reading: Reading::Largest }
    }

    /// The same with another kernel.
    #[must_use]
    pub const fn with_kernel(self, kernel: Kernel) -> Self {
        Self { kernel, ..self }
    }

    /// The same with another reading of the values.
    #[must_use]
    pub const fn with_reading(self, reading: Reading) -> Self {
        Self { reading, ..self }
    }

    /// Checks that both are positive.
    ///
    /// # Errors
    /// If one is not.
    pub fn check(&self) -> Result<()> {
        for (name, value) in [("width", self.width), ("ridge", self.ridge)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(Error::parameter(name, format!("{value} is not a positive number")));
            }
        }
        Ok(())
    }
}

/// Which kernels a smooth function may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum KernelChoice {
    /// The one that predicts held-out rows better; of equally good settings the one with the larger radius.
    Auto,
    /// `exp(-d / l)`.
    #[default]
    Laplace,
    /// `exp(-d^2 / (2 l^2))`.
    Gaussian,
}

impl KernelChoice {
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// What is asked of a smooth function.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SmoothSpec {
    /// The bandwidth as a part of the root of the mean squared distance between the rows; chosen where there is none.
    pub width: Option<f64>,
    /// The ridge; chosen where there is none.
    pub ridge: Option<f64>,
    /// The kernel.
    #[serde(skip_serializing_if = "KernelChoice::is_usual")]
    pub kernel: KernelChoice,
    /// Whether every class counts as much as any other, whatever its number of rows.
    pub balanced: bool,
}

impl SmoothSpec {
    /// Checks that what is given is positive.
    ///
    /// # Errors
    /// If it is not.
    pub fn check(&self) -> Result<()> {
        Smoothness::new(self.width.unwrap_or(1.0), self.ridge.unwrap_or(1.0)).check()
    }

    fn kernels(&self) -> &'static [Kernel] {
        match self.kernel {
            KernelChoice::Auto => &Kernel::ALL,
            KernelChoice::Gaussian => &[Kernel::Gaussian],
            KernelChoice::Laplace => &[Kernel::Laplace],
        }
    }

    /// The settings to judge, the smoothest of each kernel first.
    pub(crate) fn tried(&self) -> Vec<Smoothness> {
        super::usual(self.kernels(), self.width, self.ridge)
    }

    /// The same for one kernel and width.
    pub(crate) fn near(&self, near: Smoothness) -> Vec<Smoothness> {
        super::usual(&[near.kernel], Some(near.width), self.ridge)
    }

    /// What is taken where nothing could be judged: in the middle of what is tried.
    pub(crate) fn unjudged(&self) -> Smoothness {
        Smoothness::new(self.width.unwrap_or(0.7), self.ridge.unwrap_or(0.1)).with_kernel(self.kernels()[0])
    }
}

/// Up to this many rows each has a term of its own.
pub(crate) const EXACT_ROWS: usize = 4000;
/// Of more rows, so many have one, about.
pub(crate) const LANDMARKS: usize = 3000;
/// Decides which.
pub(crate) const SEED: u64 = 0;

/// What a function rests on.
#[derive(Debug, Clone)]
pub(crate) struct Fitted {
    /// The rows that have a term.
    pub(crate) centres: Vec<usize>,
    pub(crate) function: SmoothFunction,
}

/// The function of mapped rows, with a term for each row that counts or, where landmarks are asked for, for about so many of them.
///
/// # Errors
/// If the settings are not positive, labels or weights are not one per row, or the system is singular.
pub(crate) fn fit(
    mapped: &Matrix,
    labels: &Labels,
    weights: Option<&[f64]>,
    smoothness: Smoothness,
    landmarks: Option<(usize, u64)>,
) -> Result<Fitted> {
    smoothness.check()?;
    if labels.len() != mapped.rows() {
        return Err(Error::shape("labels of the rows", mapped.rows(), labels.len()));
    }
    if let Some((count, seed)) = landmarks.filter(|(count, _)| *count < mapped.rows()) {
        let centres = draw(labels, count, seed)?;
        let found = fit_landmarks(mapped, labels, weights, &[smoothness], (count, seed))?;
        let function = found.into_iter().next().ok_or_else(|| Error::data("there is no setting to fit with"))?;
        return Ok(Fitted { centres, function });
    }
    let bandwidth = smoothness.width * Points::new(mapped).spread();
    let centres = counted(weights).unwrap_or_else(|| (0..mapped.rows()).collect());
    let weights: Option<Vec<f64>> = weights.map(|w| centres.iter().map(|&i| w[i]).collect());
    let (rows, labels) = (mapped.select_rows(&centres), labels.select(&centres));
    let kernel = Decay::new(smoothness.kernel, bandwidth).of(&Points::new(&rows).squared_within());
    let wanted = Wanted::new(&labels, weights.as_deref());
    let solved = Ridge::new(&kernel, &wanted.targets, weights.as_deref(), smoothness.ridge)?;
    let coefficients = wanted.per_class(solved.coefficients);
    let function = SmoothFunction::new(&rows, coefficients, bandwidth)?.with_kernel(smoothness.kernel);
    Ok(Fitted { function: function.above(wanted.offset), centres })
}

/// The functions for settings of one kernel and width and several ridges, with landmarks where there are many rows.
///
/// # Errors
/// As [`fit`].
pub(crate) fn fit_all(
    mapped: &Matrix,
    labels: &Labels,
    weights: Option<&[f64]>,
    tried: &[Smoothness],
) -> Result<Vec<SmoothFunction>> {
    if mapped.rows() > EXACT_ROWS {
        return fit_landmarks(mapped, labels, weights, tried, (LANDMARKS, SEED));
    }
    tried.iter().map(|&s| fit(mapped, labels, weights, s, None).map(|fitted| fitted.function)).collect()
}

/// The functions of about so many landmarks, drawn with this seed, for settings of one width and several ridges.
///
/// # Errors
/// If the settings have several widths, or a system is singular.
pub(crate) fn fit_landmarks(
    mapped: &Matrix,
    labels: &Labels,
    weights: Option<&[f64]>,
    tried: &[Smoothness],
    (count, seed): (usize, u64),
) -> Result<Vec<SmoothFunction>> {
    let Some(first) = tried.first() else { return Ok(Vec::new()) };
    if tried.iter().any(|s| (s.kernel, s.width) != (first.kernel, first.width)) {
        return Err(Error::parameter("width", "landmarks are fitted for one kernel and width at a time"));
    }
    let wanted = Wanted::new(labels, weights);
    let rows = mapped.select_rows(&draw(labels, count, seed)?);
    let bandwidth = first.width * Points::new(mapped).spread();
    let decay = Decay::new(first.kernel, bandwidth);
    let system = Landmarks::new(&Points::new(&rows), mapped, &wanted.targets, weights, decay);
    let one = |s: &Smoothness| {
        let coefficients = wanted.per_class(system.solve(s.ridge)?);
        Ok(SmoothFunction::new(&rows, coefficients, bandwidth)?.with_kernel(first.kernel).above(wanted.offset))
    };
    tried.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_weight_have_no_term_and_landmarks_are_some_of_the_rows() {
        let x = Matrix::from_vec(60, 2, (0..120).map(|k| ((k * k + 7) % 23) as f64).collect()).unwrap();
        let y = Labels::from_names((0..60).map(|i| if x[(i, 0)] > 10.0 { "b" } else { "a" }));
        let weights: Vec<f64> = (0..60).map(|i| f64::from(u8::from(i % 4 != 0))).collect();
        let settings = Smoothness::new(0.5, 0.01);
        let fitted = fit(&x, &y, Some(&weights), settings, None).unwrap();
        assert_eq!(fitted.centres.len(), 45);
        let kept = fit(&x.select_rows(&fitted.centres), &y.select(&fitted.centres), None, settings, None).unwrap();
        assert_eq!(kept.centres.len(), 45);
        let right = |f: &SmoothFunction| f.predict(&x).unwrap().iter().zip(y.codes()).filter(|(a, b)| a == b).count();
        assert!(right(&fitted.function) >= 54, "{}", right(&fitted.function));
        let few = fit(&x, &y, None, settings, Some((20, 0))).unwrap();
        assert!(few.centres.len() < 25 && right(&few.function) >= 50);
        assert!(fit(&x, &y, None, Smoothness::new(0.0, 1.0), None).is_err());
        assert!(fit(&x, &y.select(&[0, 1]), None, settings, None).is_err());
    }

    #[test]
    fn rows_that_all_coincide_have_a_function_all_the_same() {
        let x = Matrix::zeros(4, 2);
        let y = Labels::from_names(["a", "b", "b", "b"]);
        let fitted = fit(&x, &y, None, Smoothness::new(1.0, 0.1), None).unwrap();
        assert_eq!(fitted.function.predict(&x).unwrap(), [1, 1, 1, 1]);
    }
}
