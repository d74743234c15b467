//! Lip^D and Lip^I by whichever solver suits the size.

use super::{Fit, Learner, Lip, LipAdmm, Solver, Training};
use crate::solver::Observer;
use crate::{Error, Result};
use std::collections::BTreeMap;

/// Lip^D or Lip^I by the exact solver where that serves, else by the one for large problems: see [`Solver::automatic`]; with
/// a slack per row the exact one serves up to [`Solver::EXACT_ROWS_WITH_SLACK`] rows. The choice and its reason are told to
/// the [`Observer`].
///
/// ```
/// use lipmetric::method::{Learner, Lip, LipAdmm, LipAuto, Solver, Training};
/// use lipmetric::{Labels, Matrix, solver::Silent};
/// let x = Matrix::from_rows(&[[0.0, 0.1], [0.2, 0.9], [1.0, 0.2], [1.1, 0.8]]);
/// let y = Labels::from_names(["a", "a", "b", "b"]);
/// let auto = LipAuto::new(Lip::diameter().c(0.1), LipAdmm::diameter().c(0.1).solver(Solver::Augmented));
/// let data = Training::new(&x, &y)?;
/// assert_eq!(auto.choose(&data), Solver::Exact);
/// assert!(auto.fit(&data, &mut Silent)?.outcome.gap.unwrap() <= 1e-6);
/// # Ok::<(), lipmetric::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LipAuto {
    exact: Lip,
    large: Option<LipAdmm>,
}

impl LipAuto {
    /// Either of the two, for the same problem. The second has a slack per pair only, so that a problem with a slack per row
    /// that is too large for the first is refused; another problem is never solved instead.
    #[must_use]
    pub fn new(exact: Lip, large: LipAdmm) -> Self {
        Self { exact, large: Some(large) }
    }

    /// The exact solver whatever the size, for a problem that no other solver has.
    #[must_use]
    pub fn only_exact(exact: Lip) -> Self {
        Self { exact, large: None }
    }

    /// The solver for these rows.
    #[must_use]
    pub fn choose(&self, data: &Training<'_>) -> Solver {
        let rows = data.x.rows();
        match Solver::automatic(rows, data.x.cols(), data.y.classes().len()) {
            _ if self.large.is_none() => Solver::Exact,
            Solver::Exact if rows > self.rows() => Solver::Augmented,
            solver => solver,
        }
    }

    /// Rows that the exact solver serves.
    fn rows(&self) -> usize {
        if self.exact.has_row_slack() { Solver::EXACT_ROWS_WITH_SLACK } else { Solver::EXACT_ROWS }
    }

    /// The refusal of a slack per row where only the other solver would serve.
    pub(super) fn check_slack(&self, data: &Training<'_>) -> Result<()> {
        if self.choose(data) == Solver::Exact || !self.exact.has_row_slack() {
            return Ok(());
        }
        let (rows, features) = (data.x.rows(), data.x.cols());
        let (most, wide) = (Solver::EXACT_ROWS_WITH_SLACK, Solver::EXACT_FEATURES);
        Err(Error::parameter(
            "slack",
            format!(
                "a slack per row is solved for up to {most} rows and {wide} features; there are {rows} rows and {features} \
                 features. Take a slack per pair (`pair`), or name the solver `exact`, which keeps the slack per row and may \
                 take long"
            ),
        ))
    }

    /// The choice and what it rests on, in a sentence.
    #[must_use]
    pub fn explain(&self, data: &Training<'_>) -> String {
        let (rows, features, classes) = (data.x.rows(), data.x.cols(), data.y.classes().len());
        let solver = self.choose(data).name();
        let why = match &self.large {
            None => "no other solver has this form of the problem".to_owned(),
            Some(_) => {
                let slack = if self.exact.has_row_slack() { " with a slack per row" } else { "" };
                let (most, wide) = (self.rows(), Solver::EXACT_FEATURES);
                format!("the exact solver serves up to {most} rows{slack} and {wide} features")
            }
        };
        format!("solver auto: {solver} for {rows} rows, {features} features, {classes} classes; {why}")
    }
}

impl Learner for LipAuto {
    fn name(&self) -> &'static str {
        self.exact.name()
    }

    fn parameters(&self) -> BTreeMap<String, serde_json::Value> {
        let mut out = self.exact.parameters();
        let solver = if self.large.is_some() { "auto" } else { "exact" };
        out.insert("solver".to_owned(), serde_json::json!(solver));
        out
    }

    fn parameters_for(&self, data: &Training<'_>) -> BTreeMap<String, serde_json::Value> {
        let solver = self.choose(data);
        let mut out = match (&self.large, solver) {
            (Some(large), Solver::Augmented) => large.parameters(),
            _ => self.exact.parameters(),
        };
        out.insert("solver".to_owned(), serde_json::json!(solver));
        out
    }

    fn fit(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        self.check_slack(data)?;
        observer.decided(&self.explain(data));
        match (&self.large, self.choose(data)) {
            (Some(large), Solver::Augmented) => {
                let mut fit = large.fit(data, observer)?;
                let (rows, features) = (data.x.rows(), data.x.cols());
                fit.outcome.notes.push(format!(
                    "{rows} rows of {features} features are many for the exact solver: solved by `{}`",
                    Solver::Augmented.name()
                ));
                Ok(fit)
            }
            _ => self.exact.fit(data, observer),
        }
    }
}
