//! Lip^D and Lip^I by whichever solver suits the size.

use super::{Fit, Learner, Lip, LipAdmm, Solver, Training};
use crate::Result;
use crate::solver::Observer;
use std::collections::BTreeMap;

/// With a slack per row the Newton system has an unknown per row: up to this many.
const ROWS_WITH_SLACK: usize = 1_500;

/// Lip^D or Lip^I by the exact solver where that serves, else by the one for large problems: see [`Solver::automatic`]; with
/// a slack per row the exact one serves up to 1,500 rows.
///
/// ```
/// use lipmetric::learner::{Learner, Lip, LipAdmm, LipAuto, Solver, Training};
/// use lipmetric::{Labels, Matrix, solver::Silent};
/// let x = Matrix::from_rows(&[[0.0, 0.1], [0.2, 0.9], [1.0, 0.2], [1.1, 0.8]]);
/// let y = Labels::from_names(["a", "a", "b", "b"]);
/// let auto = LipAuto::new(Lip::diameter().c(0.1), LipAdmm::diameter().c(0.1).solver(Solver::Augmented));
/// let fit = auto.fit(&Training::new(&x, &y)?, &mut Silent)?;
/// assert!(fit.outcome.gap.unwrap() <= 1e-6);
/// # Ok::<(), lipmetric::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LipAuto {
    exact: Lip,
    large: LipAdmm,
}

impl LipAuto {
    /// Either of the two: the same problem, as far as the second can have it (it has a slack per pair only).
    #[must_use]
    pub fn new(exact: Lip, large: LipAdmm) -> Self {
        Self { exact, large }
    }

    /// The solver for these rows.
    fn choose(&self, data: &Training<'_>) -> Solver {
        let rows = data.x.rows();
        match Solver::automatic(rows, data.x.cols(), data.y.classes().len()) {
            Solver::Exact if self.exact.has_row_slack() && rows > ROWS_WITH_SLACK => Solver::Augmented,
            solver => solver,
        }
    }
}

impl Learner for LipAuto {
    fn name(&self) -> &'static str {
        self.exact.name()
    }

    fn parameters(&self) -> BTreeMap<String, serde_json::Value> {
        let mut out = self.exact.parameters();
        out.insert("solver".to_owned(), serde_json::json!("auto"));
        out
    }

    fn parameters_for(&self, data: &Training<'_>) -> BTreeMap<String, serde_json::Value> {
        let solver = self.choose(data);
        let mut out = match solver {
            Solver::Exact => self.exact.parameters(),
            _ => self.large.parameters(),
        };
        out.insert("solver".to_owned(), serde_json::json!(solver));
        out
    }

    fn fit(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        let (rows, features) = (data.x.rows(), data.x.cols());
        match self.choose(data) {
            Solver::Exact => self.exact.fit(data, observer),
            other => {
                let mut fit = self.large.fit(data, observer)?;
                fit.outcome.notes.push(format!(
                    "{rows} rows of {features} features are many for the exact solver: solved by `{}`, with a slack per \
                     pair; ask for the exact one to have that",
                    other.name()
                ));
                Ok(fit)
            }
        }
    }
}
