//! When a solver stops, and how it has ended then: one rule for all of them.

use super::{Halt, Status};

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stop {
    /// The certified relative gap to reach.
    pub(crate) tolerance: f64,
    /// Iterations, at most.
    pub(crate) max_iterations: usize,
    /// Bytes that the largest matrices may take. Only the exact solver has matrices that grow with its working set.
    pub(crate) memory: usize,
}

impl Stop {
    /// Bytes that the largest matrices may take unless told otherwise: 4 GiB.
    pub(crate) const MEMORY: usize = 4 << 30;

    /// At a gap or after so many iterations.
    pub(crate) fn new(tolerance: f64, max_iterations: usize) -> Self {
        Self { tolerance, max_iterations, memory: Self::MEMORY }
    }

    /// At another gap.
    pub(crate) fn at_gap(self, tolerance: f64) -> Self {
        Self { tolerance, ..self }
    }

    /// After so many iterations.
    pub(crate) fn after(self, max_iterations: usize) -> Self {
        Self { max_iterations, ..self }
    }
}

/// What may end a run, as a solver finds it after a round.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Termination {
    /// The certified relative gap, where it is known.
    pub(crate) gap: Option<f64>,
    /// What the observer wants.
    pub(crate) halt: Option<Halt>,
    /// Whether no progress is left in floating point.
    pub(crate) stalled: bool,
    /// Whether the iterations are used up.
    pub(crate) exhausted: bool,
    /// Whether the next step would need more memory than there is.
    pub(crate) crowded: bool,
}

impl Termination {
    /// How the run has ended; `None` where it goes on. A gap that was reached counts before anything else: what was shown
    /// stays shown, whoever wants to stop.
    pub(crate) fn status(self, tolerance: f64) -> Option<Status> {
        if self.gap.is_some_and(|gap| gap <= tolerance) {
            return Some(Status::Optimal);
        }
        if let Some(halt) = self.halt {
            return Some(halt.into());
        }
        let rest = [
            (self.stalled, Status::Stalled),
            (self.exhausted, Status::IterationLimit),
            (self.crowded, Status::MemoryLimit),
        ];
        rest.into_iter().find(|(ended, _)| *ended).map(|(_, status)| status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reached_gap_counts_before_a_wish_to_stop_and_that_before_all_limits() {
        let all = Termination {
            gap: Some(1e-7),
            halt: Some(Halt::Interrupted),
            stalled: true,
            exhausted: true,
            crowded: true,
        };
        assert_eq!(all.status(1e-6), Some(Status::Optimal));
        assert_eq!(all.status(1e-8), Some(Status::Interrupted));
        assert_eq!(Termination { halt: Some(Halt::TimeLimit), ..all }.status(1e-8), Some(Status::TimeLimit));
        assert_eq!(Termination { halt: None, ..all }.status(1e-8), Some(Status::Stalled));
        assert_eq!(Termination { halt: None, stalled: false, ..all }.status(1e-8), Some(Status::IterationLimit));
        let crowded = Termination { crowded: true, ..Termination::default() };
        assert_eq!(crowded.status(1e-8), Some(Status::MemoryLimit));
    }

    #[test]
    fn a_run_without_a_reason_to_end_goes_on() {
        assert_eq!(Termination::default().status(0.5), None);
        assert_eq!(Termination { gap: Some(0.6), ..Termination::default() }.status(0.5), None);
        // A gap that is not a number shows nothing.
        assert_eq!(Termination { gap: Some(f64::NAN), ..Termination::default() }.status(0.5), None);
    }
}
