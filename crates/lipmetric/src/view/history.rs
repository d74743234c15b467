use crate::solver::{Halt, Observer, Progress};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// Steps that are kept: of more, every other one is given up.
const KEPT: usize = 2000;

/// Where a fit stood.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Step {
    /// Iterations done.
    pub iteration: usize,
    /// Seconds since the fit began.
    pub seconds: f64,
    /// Objective of the best point so far.
    pub objective: Option<f64>,
    /// Best certified lower bound so far.
    pub bound: Option<f64>,
    /// Relative gap between the two.
    pub gap: Option<f64>,
}

/// The course of a fit. A fit that runs others inside, as a choice does, has the course of the last one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// In the order of time.
    pub steps: Vec<Step>,
    /// One of how many steps is kept.
    every: usize,
    seen: usize,
}

impl Default for History {
    fn default() -> Self {
        Self { steps: Vec::new(), every: 1, seen: 0 }
    }
}

impl History {
    fn keep(&mut self, at: &Progress) {
        // Steps of trials and of choices have no figures.
        if at.primal.is_none() && at.gap.is_none() {
            return;
        }
        if self.steps.last().is_some_and(|last| last.iteration > at.iteration) {
            *self = Self::default();
        }
        self.seen += 1;
        if !(self.seen - 1).is_multiple_of(self.every) {
            return;
        }
        self.steps.push(Step {
            iteration: at.iteration,
            seconds: at.seconds,
            objective: at.primal,
            bound: at.dual,
            gap: at.gap,
        });
        if self.steps.len() > KEPT {
            let mut at = 0;
            self.steps.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.every *= 2;
        }
    }
}

impl Observer for History {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Halt> {
        self.keep(at);
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(iteration: usize, primal: Option<f64>) -> Progress {
        Progress { iteration, primal, ..Progress::default() }
    }

    #[test]
    fn a_long_course_is_thinned_and_a_new_one_begins_anew() {
        let mut history = History::default();
        let _ = history.progress(&at(1, None));
        assert!(history.steps.is_empty());
        for i in 0..10_000 {
            let _ = history.progress(&at(i, Some(1.0)));
        }
        assert!(history.steps.len() <= KEPT + 1 && history.steps.len() > KEPT / 3);
        assert_eq!(history.steps[0].iteration, 0);
        let _ = history.progress(&at(0, Some(2.0)));
        assert_eq!(history.steps.len(), 1);
    }
}
