//! Adversarially robust metric learning (Wang, Liu, Yi, Jordan, Hsieh 2020).

use super::climb::{Aim, Climb};
use super::parameters::parameters;
use super::start::Init;
use super::{Fit, Method, Training};
use crate::solver::{Observer, Timed};
use crate::{Error, Result};

parameters! {
    /// Adversarially robust metric learning: makes the mean certified distance of near triplets large.
    ///
    /// In each step every row gets one random row of its ten nearest of its own class and one of its ten nearest of other classes.
    /// The hyperplane between the two lies at the certified distance; its mean is increased by a step of Adam, smaller and smaller ones. A
    /// fifth of each class is held out: the number of steps is the one after which these rows have the largest area under the curve of
    /// certified accuracy, and all rows are then learned from. Not convex, and there is no certificate of the optimum. The
    /// objective that is reported is the negative area. Of more than 200 dimensions the 200 directions of largest variance have a factor
    /// of their own, and all others share one stretch, which is learned with it; with `n_components` the others are left out. Of more
    /// than 2,000 rows, another 2,000 at random are learned from after every ten steps.
    ///
    /// ```
    /// use lipmetric::method::{Arml, Method, Training};
    /// use lipmetric::{Labels, Matrix, solver::Silent};
    /// let x = Matrix::from_rows(&[[0.0, 0.1], [0.2, 0.9], [1.0, 0.2], [1.1, 0.8]]);
    /// let y = Labels::from_names(["a", "a", "b", "b"]);
    /// let fit = Arml::new().max_iterations(50).fit(&Training::new(&x, &y)?, &mut Silent)?;
    /// assert!(fit.outcome.objective.unwrap() < 0.0);
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    pub struct Arml = "arml" {
        /// The number of rows of `L`, all unless it is given.
        n_components: Option<usize> as impl Into<Option<usize>> = None,
        /// Where the search begins, unless a metric to start from is given.
        init: Init = Init::Auto,
        /// Decides the held-out rows and the random triplets.
        triplet_seed: u64 = 0,
        /// Steps, at most; they get smaller towards the last one.
        max_iterations: usize = 300,
    }
}

/// Refuses a search without steps.
pub(super) fn check_steps(steps: usize) -> Result<()> {
    if steps == 0 { Err(Error::parameter("max_iterations", "0 steps: give at least 1")) } else { Ok(()) }
}

impl Method for Arml {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn check(&self) -> Result<()> {
        check_steps(self.max_iterations)
    }

    fn fit(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        self.check()?;
        data.check_for(self)?;
        let climb = Climb {
            aim: Aim::Mean,
            init: self.init,
            components: self.n_components,
            seed: self.triplet_seed,
            max_iterations: self.max_iterations,
        };
        climb.fit(data, &mut Timed::new(observer))
    }
}
