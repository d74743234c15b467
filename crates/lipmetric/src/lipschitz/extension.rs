//! McShane-Whitney extensions (Theorem 1) and the classifiers that they make.

use super::constant::{constant_of_margins, lipschitz_constant_of};
use super::pair::Groups;
use super::{check_labels, check_values};
use crate::neighbours::{Best, Cross, Distance, Index, Score, rooted, squared_distance};
use crate::{Error, Labels, Result};

/// Queries that are answered at a time: what bounds the memory.
const BATCH: usize = 4096;

/// The extension of a function from the sample to everywhere, with the same Lipschitz constant (Theorem 1):
///
/// `U_alpha = alpha U_1 + (1 - alpha) U_2`, `U_1(x) = min_i (u_i + L rho(x, x_i))`,
/// `U_2(x) = max_i (u_i - L rho(x, x_i))`.
///
/// On the sample it takes the given values, up to rounding; under a true metric its constant is `L` everywhere.
///
/// ```
/// use lipmetric::{Matrix, lipschitz::{Extension, Mahalanobis}};
/// let sample = Mahalanobis::euclidean(&Matrix::from_rows(&[[0.0], [2.0]])).unwrap();
/// let u = Extension::new(&sample, &[1.0, 5.0]).unwrap();
/// assert_eq!(u.constant(), 2.0);
/// let at = sample.to(&Matrix::from_rows(&[[0.0], [0.5], [3.0]])).unwrap();
/// assert_eq!(u.values(&at, 1.0).unwrap(), [1.0, 2.0, 7.0]); // U_1
/// assert_eq!(u.values(&at, 0.0).unwrap(), [1.0, 2.0, 3.0]); // U_2
/// assert_eq!(u.values(&at, 0.5).unwrap(), [1.0, 2.0, 5.0]);
/// ```
#[derive(Debug)]
pub struct Extension<'a, D> {
    sample: &'a D,
    index: Index,
    constant: f64,
    least: f64,
}

impl<'a, D: Distance> Extension<'a, D> {
    /// Extends the function with these values on the sample, with its own Lipschitz constant.
    ///
    /// # Errors
    /// If a value per row is missing or not finite, or two rows coincide but their values differ.
    pub fn new(sample: &'a D, values: &[f64]) -> Result<Self> {
        check_values(sample, values)?;
        let least = match sample.len() {
            0 => return Err(Error::data("an extension needs one row at least")),
            1 => 0.0,
            _ => {
                let top = lipschitz_constant_of(sample, values)?;
                finite_constant(top.constant, top.i, top.j)?
            }
        };
        let index = Index::new(sample, (0..sample.len()).collect(), values.to_vec());
        Ok(Self { sample, index, constant: least, least })
    }

    /// `U_alpha` at the queries, in memory that grows with their number only.
    ///
    /// # Errors
    /// If `alpha` is outside 0 to 1, the queries are not measured against this sample, or a distance is not a finite
    /// number of at least 0.
    pub fn values<C: Cross + ?Sized>(&self, queries: &C, alpha: f64) -> Result<Vec<f64>> {
        check_query(self.sample, queries, alpha)?;
        let (upper, lower) = scores(queries, self.constant);
        let mut out = Vec::with_capacity(queries.queries());
        for batch in batches(queries.queries()) {
            let (mut u1, mut u2) = (vec![Best::NONE; batch.len()], vec![Best::NONE; batch.len()]);
            self.index.search(queries, &batch, false, &upper, &mut u1, None)?;
            self.index.search(queries, &batch, false, &lower, &mut u2, None)?;
            out.extend(u1.iter().zip(&u2).map(|(u1, u2)| mixed(alpha, -u1.score, u2.score)));
        }
        Ok(out)
    }
}

/// What the classifier says of a query.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Decision {
    /// The class, as an index into the classes of the labels.
    pub code: u32,
    /// With two classes `U_alpha` itself, positive for the second class. With more, the winning class's one-versus-rest
    /// value.
    pub value: f64,
}

/// Classification by `sign(U_alpha)`; with more than two classes one versus rest.
///
/// With two classes the second one in the list of classes is `+1`. With more, `U_alpha^c` extends the function that is
/// `+1` on class `c` and `-1` elsewhere, all with the same constant, and the class of the largest value wins. **Ties**
/// (`U_alpha = 0`, or equal largest values) go to the class that has the nearer attaining row, then to the class that
/// comes first. With labels as values, at `alpha = 1/2`, the decisions are those of the nearest neighbour
/// (Proposition 1), where of two classes at exactly the same distance the first one wins.
///
/// ```
/// use lipmetric::{Labels, Matrix, lipschitz::{ExtensionClassifier, Mahalanobis}};
/// let sample = Mahalanobis::euclidean(&Matrix::from_rows(&[[0.0], [2.0]])).unwrap();
/// let classifier = ExtensionClassifier::new(&sample, &Labels::from_names(["a", "b"])).unwrap();
/// let at = sample.to(&Matrix::from_rows(&[[0.9], [1.0], [1.5]])).unwrap();
/// let codes: Vec<u32> = classifier.decide(&at, 0.5).unwrap().iter().map(|d| d.code).collect();
/// assert_eq!(codes, [0, 0, 1]);
/// ```
#[derive(Debug)]
pub struct ExtensionClassifier<'a, D> {
    sample: &'a D,
    groups: Groups,
    indices: Vec<Index>,
    constant: f64,
    least: f64,
}

impl<'a, D: Distance> ExtensionClassifier<'a, D> {
    /// Extends the labels, with their own constant `L_0`.
    ///
    /// # Errors
    /// If the labels do not fit the sample or are of one class only, or rows of different classes coincide (give such
    /// rows smaller margins, or leave them out).
    pub fn new(sample: &'a D, labels: &Labels) -> Result<Self> {
        Self::from_margins(sample, labels, &vec![1.0; labels.len()])
    }

    /// Extends learned values: row `i` has the value `margins[i]` for its own class and `-margins[i]` for the others.
    /// From the slacks of a fit, `t_i a_i = 1 - xi_i`, the margin of row `i` is `1 - xi_i`.
    ///
    /// # Errors
    /// As [`Self::new`], and if a margin per row is missing or not finite.
    pub fn from_margins(sample: &'a D, labels: &Labels, margins: &[f64]) -> Result<Self> {
        let groups = check_labels(sample, labels)?;
        check_values(sample, margins)?;
        let top = constant_of_margins(sample, &groups, margins)?;
        let least = finite_constant(top.constant, top.i, top.j)?;
        let indices = (groups.rows.iter())
            .map(|rows| Index::new(sample, rows.clone(), rows.iter().map(|&i| margins[i]).collect()))
            .collect();
        Ok(Self { sample, groups, indices, constant: least, least })
    }

    /// Classifies the queries.
    ///
    /// # Errors
    /// If `alpha` is outside 0 to 1, the queries are not measured against this sample, or a distance is not a finite
    /// number of at least 0.
    pub fn decide<C: Cross + ?Sized>(&self, queries: &C, alpha: f64) -> Result<Vec<Decision>> {
        check_query(self.sample, queries, alpha)?;
        let (upper, lower) = scores(queries, self.constant);
        let mut out = Vec::with_capacity(queries.queries());
        for batch in batches(queries.queries()) {
            let none = || vec![vec![Best::NONE; batch.len()]; self.indices.len()];
            // Per class, the least of `m + L rho` and of `-m + L rho`, negated.
            let (mut own, mut rest) = (none(), none());
            for (k, index) in self.indices.iter().enumerate() {
                index.search(queries, &batch, false, &upper, &mut own[k], None)?;
                index.search(queries, &batch, false, &lower, &mut rest[k], None)?;
            }
            for (at, &q) in batch.iter().enumerate() {
                let own: Vec<Best> = own.iter().map(|b| b[at]).collect();
                let rest: Vec<Best> = rest.iter().map(|b| b[at]).collect();
                out.push(self.choose(queries, q, alpha, &own, &rest));
            }
        }
        Ok(out)
    }

    fn choose<C: Cross + ?Sized>(&self, queries: &C, q: usize, alpha: f64, own: &[Best], rest: &[Best]) -> Decision {
        let value = |c: usize| {
            // U_1 is the least over the own rows' `m + L rho` and the others' `-m + L rho`; U_2 likewise, mirrored.
            let (mut u1, mut u2) = (-own[c].score, rest[c].score);
            for k in (0..own.len()).filter(|&k| k != c) {
                u1 = u1.min(-rest[k].score);
                u2 = u2.max(own[k].score);
            }
            mixed(alpha, u1, u2)
        };
        let nearest = |c: usize| raw(queries, q, own[c].at).min(raw(queries, q, rest[c].at));
        if own.len() == 2 {
            let value = value(1);
            let second = value > 0.0 || (value == 0.0 && nearest(1) < nearest(0));
            return Decision { code: self.groups.codes[usize::from(second)], value };
        }
        let values: Vec<f64> = (0..own.len()).map(value).collect();
        let mut top = 0;
        for c in 1..own.len() {
            if values[c] > values[top] || (values[c] == values[top] && nearest(c) < nearest(top)) {
                top = c;
            }
        }
        Decision { code: self.groups.codes[top], value: values[top] }
    }
}

fn raw<C: Cross + ?Sized>(queries: &C, q: usize, i: usize) -> f64 {
    match queries.coordinates() {
        Some(c) => squared_distance(c.queries.row(q), c.points.row(i)),
        None => queries.get(q, i),
    }
}

fn mixed(alpha: f64, u1: f64, u2: f64) -> f64 {
    // At 1/2 the sum is exactly zero where it should be; the ends ignore the other function.
    alpha * u1 + (1.0 - alpha) * u2
}

fn batches(n: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..n).step_by(BATCH).map(move |start| (start..n.min(start + BATCH)).collect())
}

fn finite_constant(constant: f64, i: usize, j: usize) -> Result<f64> {
    if constant.is_finite() {
        return Ok(constant);
    }
    Err(Error::data(format!(
        "rows {i} and {j} coincide but their values differ: no Lipschitz function takes these values (leave one of \
         the rows out, or give both the same value)"
    )))
}

/// What an extension's constant can be, the same for a function and for a classifier.
macro_rules! constant {
    ($($extension:ident),+) => {$(
        impl<D> $extension<'_, D> {
            /// The constant `L`.
            #[must_use]
            pub fn constant(&self) -> f64 {
                self.constant
            }

            /// The same with a larger constant.
            ///
            /// # Errors
            /// If `constant` is not finite or is below the least that is admissible, the function's own on the sample: then
            /// the extension would not take the values there.
            pub fn with_constant(mut self, constant: f64) -> Result<Self> {
                self.constant = raised(constant, self.least)?;
                Ok(self)
            }
        }
    )+};
}
constant!(Extension, ExtensionClassifier);

fn raised(constant: f64, least: f64) -> Result<f64> {
    if constant.is_finite() && constant >= least {
        return Ok(constant);
    }
    Err(Error::parameter(
        "constant",
        format!("the Lipschitz constant {constant} must be finite and at least the function's own, {least}"),
    ))
}

fn check_query<D: Distance, C: Cross + ?Sized>(sample: &D, queries: &C, alpha: f64) -> Result<()> {
    if !(0.0..=1.0).contains(&alpha) {
        return Err(Error::parameter("alpha", format!("{alpha} is outside 0 to 1")));
    }
    if queries.points() != sample.len() {
        return Err(Error::shape(
            "sample points that the queries are measured against",
            sample.len(),
            queries.points(),
        ));
    }
    match (sample.coordinates(), queries.coordinates()) {
        (Some(a), Some(b)) if a.squared == b.squared && a.points.cols() == b.queries.cols() => Ok(()),
        (None, None) => Ok(()),
        _ => Err(Error::data("the queries are not measured by the same distance as the sample")),
    }
}

fn scores<C: Cross + ?Sized>(queries: &C, constant: f64) -> (Upper, Lower) {
    let rooted = rooted(queries);
    (Upper { constant, rooted }, Lower { constant, rooted })
}

/// The least `u + L rho` wins: the score is its negative.
pub(super) struct Upper {
    pub(super) constant: f64,
    pub(super) rooted: bool,
}

impl Score for Upper {
    #[inline(always)]
    fn bound(&self, _: usize, lo: f64, _: f64, raw: f64) -> f64 {
        -(lo + self.constant * if self.rooted { raw.sqrt() } else { raw })
    }
}

/// The largest `u - L rho` wins.
struct Lower {
    constant: f64,
    rooted: bool,
}

impl Score for Lower {
    #[inline(always)]
    fn bound(&self, _: usize, _: f64, hi: f64, raw: f64) -> f64 {
        hi - self.constant * if self.rooted { raw.sqrt() } else { raw }
    }
}
