use serde::{Deserialize, Serialize};

/// How a fit ended. It never claims more than was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Status {
    /// There was nothing to optimise: the result is known in closed form.
    ClosedForm,
    /// The stopping tolerance was reached (a certified gap where the method has one).
    Optimal,
    /// The search ended where it served rows best that it did not see.
    HeldOut,
    /// The search has converged under a limit on the rank of the metric. The gap is to the best metric of any rank, and above the
    /// tolerance.
    RankLimited,
    /// No further progress was possible in floating point before the tolerance was reached.
    Stalled,
    /// The iteration limit came first.
    IterationLimit,
    /// The time limit came first.
    TimeLimit,
    /// The memory limit came first.
    MemoryLimit,
    /// The user interrupted the fit.
    Interrupted,
    /// The lower bound came out above the objective, which is impossible: the figures cannot be trusted, and there is no gap.
    Inconsistent,
}

impl From<super::Halt> for Status {
    fn from(halt: super::Halt) -> Self {
        match halt {
            super::Halt::TimeLimit => Self::TimeLimit,
            super::Halt::Interrupted => Self::Interrupted,
        }
    }
}

impl Status {
    /// Whether the fit did what was asked of it.
    #[must_use]
    pub fn converged(self) -> bool {
        matches!(self, Self::ClosedForm | Self::Optimal | Self::HeldOut | Self::RankLimited)
    }

    /// The status in words, for a sentence such as "the fit ended: ...".
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::ClosedForm => "closed form, no optimisation needed",
            Self::Optimal => "optimal to the tolerance",
            Self::HeldOut => "stopped where held-out rows were predicted best",
            Self::RankLimited => "converged under the limit on the rank; the gap is to the best metric of any rank",
            Self::Stalled => "stalled before the tolerance was reached",
            Self::IterationLimit => "stopped at the iteration limit",
            Self::TimeLimit => "stopped at the time limit",
            Self::MemoryLimit => "stopped at the memory limit",
            Self::Interrupted => "interrupted",
            Self::Inconsistent => "the bound came out above the objective: these figures cannot be trusted",
        }
    }
}
