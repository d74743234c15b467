//! Classification by the function that the paper selects: the extension of learned values.

use super::knn::Neighbour;
use crate::neighbours::{Least, OffsetIndex, check_finite, lifted, squared_distance};
use crate::{Error, Labels, Matrix, Result};
use std::sync::OnceLock;

/// Queries that are answered at a time: what bounds the memory.
const BATCH: usize = 4096;

/// How far the function may be from a row's value by rounding alone, relative to the value.
const ROUNDING: f64 = 1e-12;

/// The function that extends values of the training rows to everywhere (Section IV-C of the paper), and its decisions.
///
/// Row `i` has the value `a_i = m_i` for its own class and `-m_i` for all others; from the slacks of a fit, or of
/// [`learned_values`](crate::lipschitz::values::learned_values), the margin is `m_i = 1 - xi_i`. Each class has the function
///
/// `f_k(x) = alpha min_i (a_i + rho(x, x_i)) + (1 - alpha) max_i (a_i - rho(x, x_i))`
///
/// where `rho` is the *squared* Euclidean distance of the mapped rows, scaled so that its constant is 1. A row with a negative
/// margin speaks against its own label.
///
/// **Decisions.** The class of the largest `f_k` wins. The winner's minimum and its maximum are both at least those of the other
/// classes, so that it is the same for every `alpha`. With **two classes** there is one function, that of the second
/// class, and that of the first is its negative; `alpha` then moves the border. At `alpha = 1/2` this is what the formula
/// gives, bit for bit. **Ties** (a function of zero; equal minima and maxima) go to the class that has
/// the nearer attaining row (of those of its own rows with the least `rho + m` and `rho - m`), then to the class that
/// comes first. With all margins 1 and `alpha = 1/2` decisions are those of the nearest row (Proposition 1).
///
/// **What is not promised.** `rho` is the square of a metric and has no triangle inequality. So the function need not have the
/// constant 1 beyond the sample, and on the sample it takes the given values only where `|a_i - a_j| <= rho_ij`; see
/// [`Self::on_sample`]. [`Extension`](crate::lipschitz::Extension) is for true metrics.
///
/// Answers are the same bits for any number of threads and any division of the queries.
///
/// ```
/// use lipmetric::{Labels, Matrix, classify::ExtensionFunction};
/// let rows = Matrix::from_rows(&[[0.0], [0.5], [1.0], [3.0]]);
/// let labels = Labels::from_names(["a", "b", "a", "b"]);
/// let f = ExtensionFunction::new(rows, labels, vec![1.0, -0.75, 1.0, 1.0], 0.5)?;
/// let queries = Matrix::from_rows(&[[0.5], [2.5]]);
/// assert_eq!(f.values(&queries)?, Matrix::from_rows(&[[0.75, -0.75], [-1.0, 1.0]]));
/// assert_eq!(f.predict(&queries)?, [0, 1]); // the nearest row of the first query is of class b
/// let told = &f.decide(&queries)?[0];
/// assert_eq!((told.supporting.row, told.opposing.row), (0, 1));
/// # Ok::<(), lipmetric::Error>(())
/// ```
#[derive(Debug)]
pub struct ExtensionFunction {
    rows: Matrix,
    labels: Labels,
    margins: Vec<f64>,
    alpha: f64,
    /// The classes that have rows.
    classes: Vec<Class>,
    class_of: Vec<usize>,
    by_class: OnceLock<Vec<Sides>>,
    quick: OnceLock<Quick>,
}

#[derive(Debug)]
struct Class {
    code: u32,
    rows: Vec<usize>,
}

/// The rows of a class with the offsets `m` and `-m`.
#[derive(Debug)]
struct Sides {
    plus: OffsetIndex,
    minus: OffsetIndex,
}

/// What mostly tells the winner without a search in each class.
#[derive(Debug)]
struct Quick {
    /// All rows with the offset `-m`.
    minus: OffsetIndex,
    /// The rows whose margin is not positive, with the offset `m`.
    plus: Option<OffsetIndex>,
}

/// The least rows of each class for one query.
struct View {
    plus: Vec<Least>,
    minus: Vec<Least>,
}

/// For one class, the row of its least `a + rho` and the row of its largest `a - rho`, the latter with its sign turned.
#[derive(Clone, Copy)]
struct Attained {
    upper: Least,
    lower: Least,
}

impl Attained {
    fn value(&self, alpha: f64) -> f64 {
        // At 1/2 the halves are exact, and the sum is zero exactly where it should be.
        alpha * self.upper.value - (1.0 - alpha) * self.lower.value
    }
}

/// The predicted class of a query, and the two rows that it rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ExtensionDecision {
    /// Code of the class.
    pub label: u32,
    /// The value of its function.
    pub value: f64,
    /// The row that holds the winner's function up: that of the largest `a - rho`.
    pub supporting: Neighbour,
    /// The row that holds it down: that of the least `a + rho`.
    pub opposing: Neighbour,
}

/// How well the function keeps the values of the training rows.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct OnSample {
    /// The number of rows where it differs from the row's value by more than rounding.
    pub differing: usize,
    /// The largest difference.
    pub largest: f64,
}

impl ExtensionFunction {
    /// The function for rows that the metric has mapped, so that squared Euclidean distances are `rho`.
    ///
    /// # Errors
    /// If labels or margins are of another number of rows or only one class has rows, a number is not finite, or `alpha` is
    /// outside 0 to 1.
    pub fn new(rows: Matrix, labels: Labels, margins: Vec<f64>, alpha: f64) -> Result<Self> {
        for (what, found) in [("labels of the rows", labels.len()), ("margins of the rows", margins.len())] {
            if found != rows.rows() {
                return Err(Error::shape(what, rows.rows(), found));
            }
        }
        labels.check_two_classes()?;
        check_finite(&rows, "row")?;
        if let Some(i) = margins.iter().position(|m| !m.is_finite()) {
            return Err(Error::parameter("margins", format!("that of row {i} is {}; it must be finite", margins[i])));
        }
        if !(0.0..=1.0).contains(&alpha) {
            return Err(Error::parameter("alpha", format!("{alpha} is outside 0 to 1")));
        }
        let members = (0..).zip(labels.members()).filter(|(_, rows)| !rows.is_empty());
        let classes: Vec<Class> = members.map(|(code, rows)| Class { code, rows }).collect();
        let mut class_of = vec![0; rows.rows()];
        for (k, class) in classes.iter().enumerate() {
            class.rows.iter().for_each(|&i| class_of[i] = k);
        }
        let (by_class, quick) = (OnceLock::new(), OnceLock::new());
        Ok(Self { rows, labels, margins, alpha, classes, class_of, by_class, quick })
    }

    /// The mapped rows.
    #[must_use]
    pub fn rows(&self) -> &Matrix {
        &self.rows
    }

    /// Their classes.
    #[must_use]
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Their margins.
    #[must_use]
    pub fn margins(&self) -> &[f64] {
        &self.margins
    }

    /// The share of the minimum in the function.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The functions at the mapped queries: a row per query, a column per class of [`Self::labels`]. A class without rows
    /// has the least value of the others.
    ///
    /// # Errors
    /// If the queries have another number of columns than the rows, a number is not finite, or a squared distance
    /// is too large for `f64`.
    pub fn values(&self, queries: &Matrix) -> Result<Matrix> {
        let mut out = Matrix::zeros(queries.rows(), self.labels.classes().len());
        self.each(queries, |q, view| {
            let values = self.functions(&view.attained());
            out.row_mut(q).fill(values.iter().fold(f64::INFINITY, |least, &f| least.min(f)));
            for (class, &value) in self.classes.iter().zip(&values) {
                out[(q, class.code as usize)] = value;
            }
        })?;
        Ok(out)
    }

    /// The class of each mapped query, with the value and the two rows behind it.
    ///
    /// # Errors
    /// As [`Self::values`].
    pub fn decide(&self, queries: &Matrix) -> Result<Vec<ExtensionDecision>> {
        let mut out = Vec::with_capacity(queries.rows());
        self.each(queries, |q, view| {
            let all = view.attained();
            let winner = self.winner(queries.row(q), &view, &all);
            let neighbour = |least: Least| Neighbour {
                row: least.row,
                distance: squared_distance(queries.row(q), self.rows.row(least.row)).sqrt(),
            };
            out.push(ExtensionDecision {
                label: self.classes[winner].code,
                value: self.functions(&all)[winner],
                supporting: neighbour(all[winner].lower),
                opposing: neighbour(all[winner].upper),
            });
        })?;
        Ok(out)
    }

    /// The class of each mapped query, as a code of [`Self::labels`]. The same as by [`Self::decide`], and faster.
    ///
    /// # Errors
    /// As [`Self::values`].
    pub fn predict(&self, queries: &Matrix) -> Result<Vec<u32>> {
        if self.classes.len() == 2 && self.alpha != 0.5 {
            return Ok(self.decide(queries)?.into_iter().map(|d| d.label).collect());
        }
        self.check_queries(queries)?;
        let quick = self.quick()?;
        let mut codes = vec![0; queries.rows()];
        let mut open = Vec::new();
        for batch in batches(queries.rows()) {
            let points = lifted(&queries.select_rows(&batch));
            let minus = quick.minus.two_least(&points);
            let plus = quick.plus.as_ref().map(|index| index.least(&points));
            for (at, &q) in batch.iter().enumerate() {
                let [least, next] = minus[at];
                check_least(&least, q)?;
                // Where the least of all is a row's `rho - m`, alone, its class has the largest functions.
                let own = squared_distance(queries.row(q), self.rows.row(least.row)) + self.margins[least.row];
                let against = plus.as_ref().map_or(f64::INFINITY, |plus| plus[at].value);
                if next.value.min(own).min(against) > least.value {
                    codes[q] = self.classes[self.class_of[least.row]].code;
                } else {
                    open.push(q);
                }
            }
        }
        let decided = self.decide(&queries.select_rows(&open))?;
        open.iter().zip(decided).for_each(|(&q, d)| codes[q] = d.label);
        Ok(codes)
    }

    /// Where the function differs from the values of the training rows: the distances between rows of equal label, and
    /// rounding, may not admit them.
    ///
    /// # Errors
    /// As [`Self::values`].
    pub fn on_sample(&self) -> Result<OnSample> {
        let mut report = OnSample { differing: 0, largest: 0.0 };
        self.each(&self.rows, |i, view| {
            let mut difference = 0.0_f64;
            for (k, found) in self.functions(&view.attained()).into_iter().enumerate() {
                let value = if self.class_of[i] == k { self.margins[i] } else { -self.margins[i] };
                difference = difference.max((found - value).abs());
            }
            report.differing += usize::from(difference > ROUNDING * self.margins[i].abs().max(1.0));
            report.largest = report.largest.max(difference);
        })?;
        Ok(report)
    }

    /// Calls `tell` for each query in order, with the least rows of each class.
    fn each(&self, queries: &Matrix, mut tell: impl FnMut(usize, View)) -> Result<()> {
        self.check_queries(queries)?;
        let sides = self.by_class()?;
        for batch in batches(queries.rows()) {
            let points = lifted(&queries.select_rows(&batch));
            let plus: Vec<Vec<Least>> = sides.iter().map(|s| s.plus.least(&points)).collect();
            let minus: Vec<Vec<Least>> = sides.iter().map(|s| s.minus.least(&points)).collect();
            for (at, &q) in batch.iter().enumerate() {
                let of = |found: &[Vec<Least>]| found.iter().map(|f| f[at]).collect::<Vec<Least>>();
                let view = View { plus: of(&plus), minus: of(&minus) };
                view.plus.iter().chain(&view.minus).try_for_each(|least| check_least(least, q))?;
                tell(q, view);
            }
        }
        Ok(())
    }

    /// The value of each class that has rows.
    fn functions(&self, all: &[Attained]) -> Vec<f64> {
        match all {
            [_, second] => vec![-second.value(self.alpha), second.value(self.alpha)],
            _ => all.iter().map(|attained| attained.value(self.alpha)).collect(),
        }
    }

    /// The position of the class that wins.
    fn winner(&self, query: &[f64], view: &View, all: &[Attained]) -> usize {
        let nearest = |k: usize| {
            let squared = |least: Least| squared_distance(query, self.rows.row(least.row));
            squared(view.plus[k]).min(squared(view.minus[k]))
        };
        if all.len() == 2 {
            let value = all[1].value(self.alpha);
            return usize::from(value > 0.0 || (value == 0.0 && nearest(1) < nearest(0)));
        }
        // No other class has a larger minimum or a larger maximum than the winner, hence none a larger mean of them.
        let key = |k: usize| (all[k].upper.value, -all[k].lower.value);
        let mut top = 0;
        for k in 1..all.len() {
            if key(k) > key(top) || (key(k) == key(top) && nearest(k) < nearest(top)) {
                top = k;
            }
        }
        top
    }

    fn check_queries(&self, queries: &Matrix) -> Result<()> {
        if queries.cols() != self.rows.cols() {
            return Err(Error::shape("columns of the queries", self.rows.cols(), queries.cols()));
        }
        check_finite(queries, "query row")
    }

    /// An index over some rows, by their margins times `sign`.
    fn index(&self, rows: Vec<usize>, sign: f64) -> Result<OffsetIndex> {
        let offsets = rows.iter().map(|&i| sign * self.margins[i]).collect();
        OffsetIndex::new(&self.rows, rows, offsets)
    }

    fn by_class(&self) -> Result<&[Sides]> {
        let build = |class: &Class| {
            Ok(Sides { plus: self.index(class.rows.clone(), 1.0)?, minus: self.index(class.rows.clone(), -1.0)? })
        };
        built(&self.by_class, || self.classes.iter().map(build).collect()).map(Vec::as_slice)
    }

    fn quick(&self) -> Result<&Quick> {
        built(&self.quick, || {
            let n = self.rows.rows();
            let against: Vec<usize> = (0..n).filter(|&i| self.margins[i] <= 0.0).collect();
            let plus = if against.is_empty() { None } else { Some(self.index(against, 1.0)?) };
            Ok(Quick { minus: self.index((0..n).collect(), -1.0)?, plus })
        })
    }
}

impl View {
    /// For each class, what its function rests on.
    fn attained(&self) -> Vec<Attained> {
        let (plus, minus) = (TwoLeast::of(&self.plus), TwoLeast::of(&self.minus));
        let one = |k: usize| Attained {
            upper: self.plus[k].min(minus.without(k)),
            lower: self.minus[k].min(plus.without(k)),
        };
        (0..self.plus.len()).map(one).collect()
    }
}

/// The least of some rows, one per class, and the least of the other classes'.
struct TwoLeast {
    class: usize,
    least: Least,
    next: Least,
}

impl TwoLeast {
    fn of(all: &[Least]) -> Self {
        let none = Least { value: f64::INFINITY, row: usize::MAX };
        let mut two = Self { class: 0, least: none, next: none };
        for (k, &one) in all.iter().enumerate() {
            if one.min(two.least) == one {
                two = Self { class: k, least: one, next: two.least };
            } else {
                two.next = two.next.min(one);
            }
        }
        two
    }

    fn without(&self, class: usize) -> Least {
        if class == self.class { self.next } else { self.least }
    }
}

fn check_least(least: &Least, query: usize) -> Result<()> {
    if least.value.is_finite() {
        return Ok(());
    }
    Err(Error::Numerical {
        place: "distances",
        message: format!("query row {query} is so far from the rows that the square leaves the range of f64"),
    })
}

fn batches(n: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..n).step_by(BATCH).map(move |start| (start..n.min(start + BATCH)).collect())
}

/// What a lock holds, made first if need be.
fn built<T>(lock: &OnceLock<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(built) = lock.get() {
        return Ok(built);
    }
    let made = make()?;
    Ok(lock.get_or_init(|| made))
}
