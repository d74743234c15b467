use super::{Fit, Learner, Outcome, Training};
use crate::solver::{Observer, Status};
use crate::{Metric, Result};

/// The Euclidean metric: learns nothing, and is what every other method is measured against.
///
/// ```
/// use lipmetric::method::{Euclidean, Learner, Training};
/// use lipmetric::{Labels, Matrix, solver::Silent};
/// let x = Matrix::from_rows(&[[0.0, 0.0], [3.0, 4.0]]);
/// let y = Labels::from_names(["a", "b"]);
/// let fit = Euclidean.fit(&Training::new(&x, &y)?, &mut Silent)?;
/// assert_eq!(fit.metric.squared_distance(x.row(0), x.row(1)), 25.0);
/// # Ok::<(), lipmetric::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Euclidean;

impl Learner for Euclidean {
    fn name(&self) -> &'static str {
        "euclidean"
    }

    fn fit(&self, data: &Training<'_>, _: &mut dyn Observer) -> Result<Fit> {
        Ok(Fit { metric: Metric::euclidean(data.x.cols()), outcome: Outcome::new(Status::ClosedForm, 0) })
    }
}
