//! Near pairs for certified robustness: the Lipschitz margin where it decides.

use super::arml::check_steps;
use super::climb::{Aim, Climb};
use super::parameters::parameters;
use super::start::Init;
use super::{Fit, Method, Training};
use crate::solver::{Observer, Timed};
use crate::{Error, Result};

parameters! {
    /// A metric for certified accuracy: makes the certified distances of the training rows large, up to `robust`.
    ///
    /// The certified distance `eps` of a row is how far it may move, as a Euclidean distance on the features, before its class can
    /// change: over near rows of other classes the least, and over near rows of its own class the largest distance to the
    /// hyperplane between the two. The objective is the mean of `[tau - eps]_+`, with `tau` given by `robust`. For a correct row
    /// `[tau - eps]_+` is the part of the radii from 0 to `tau` at which it is not certified, so that the objective is the area
    /// above the curve of certified accuracy. Rows that hold beyond `tau` do not count any more, which leaves the
    /// freedom to those that do not.
    ///
    /// Over near rows of other classes the minimum is a soft one. A fifth of each class is held out to choose the number of steps;
    /// then all rows are learned from. Not convex, and there is no
    /// certificate of the optimum; the radii of its predictions are certified as those of any metric. The objective that is
    /// reported is `-mean min(eps, tau)`. From 100 dimensions on the metric lives in the 100 directions of largest variance.
    /// Of more than 2,000 rows, another 2,000 at random are learned from after every ten steps.
    ///
    /// ```
    /// use lipmetric::method::{LipRobust, Method, Training};
    /// use lipmetric::{Labels, Matrix, solver::Silent};
    /// let x = Matrix::from_rows(&[[0.0, 0.1], [0.2, 0.9], [1.0, 0.2], [1.1, 0.8]]);
    /// let y = Labels::from_names(["a", "a", "b", "b"]);
    /// let fit = LipRobust::new().robust(0.5).fit(&Training::new(&x, &y)?, &mut Silent)?;
    /// assert!(fit.outcome.objective.unwrap() < 0.0);
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    pub struct LipRobust = "lip-robust" {
        /// The certified distance `tau` up to which more is better, in units of the prepared features; unless it is given, twice the
        /// median at the start.
        robust: Option<f64> as impl Into<Option<f64>> = None,
        /// The number of rows of `L`, all unless it is given.
        n_components: Option<usize> as impl Into<Option<usize>> = None,
        /// Where the search begins, unless a metric to start from is given.
        init: Init = Init::Auto,
        /// Decides the held-out rows.
        triplet_seed: u64 = 0,
        /// Steps, at most.
        max_iterations: usize = 500,
    }
}

impl Method for LipRobust {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn check(&self) -> Result<()> {
        if let Some(wrong) = self.robust.filter(|tau| !(*tau > 0.0 && tau.is_finite())) {
            return Err(Error::parameter("robust", format!("{wrong} is not a distance above 0, such as 0.5")));
        }
        check_steps(self.max_iterations)
    }

    fn fit(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        self.check()?;
        data.check_for(self)?;
        let climb = Climb {
            aim: Aim::Deciding(self.robust),
            init: self.init,
            components: self.n_components,
            seed: self.triplet_seed,
            max_iterations: self.max_iterations,
        };
        climb.fit(data, &mut Timed::new(observer))
    }
}
