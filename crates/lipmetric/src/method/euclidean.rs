use super::parameters::parameters;
use super::{Fit, Method, Outcome, Training};
use crate::solver::{Observer, Status};
use crate::{Error, Metric, Result};

parameters! {
    /// The Euclidean metric: learns nothing, and is what every other method is measured against.
    ///
    /// ```
    /// use lipmetric::method::{Euclidean, Method, Training};
    /// use lipmetric::{Labels, Matrix, solver::Silent};
    /// let x = Matrix::from_rows(&[[0.0, 0.0], [3.0, 4.0]]);
    /// let y = Labels::from_names(["a", "b"]);
    /// let fit = Euclidean::new().fit(&Training::new(&x, &y)?, &mut Silent)?;
    /// assert_eq!(fit.metric.squared_distance(x.row(0), x.row(1)), 25.0);
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    pub struct Euclidean = "euclidean" {}
}

impl Method for Euclidean {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn takes_start(&self) -> bool {
        false
    }

    fn takes_numbers(&self) -> bool {
        true
    }

    /// Of rows without labels, where a threshold is chosen by them.
    fn takes_pairs(&self) -> bool {
        true
    }

    fn fit(&self, data: &Training<'_>, _: &mut dyn Observer) -> Result<Fit> {
        data.check_for(self)?;
        if data.pairs.is_some() && !data.y.are_none() {
            let message = "euclidean learns nothing of pairs; use lip-pairs or itml, or leave them out";
            return Err(Error::parameter("pairs", message));
        }
        Ok(Fit::new(Metric::euclidean(data.x.cols()), Outcome::new(Status::ClosedForm, 0)))
    }
}
