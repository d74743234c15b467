//! From what was typed to a method, ready to fit.

use crate::failure::Result;
use clap::{Args, ValueEnum};
use lipmetric::classify::Weights;
use lipmetric::learner::{Euclidean, Learner};
use lipmetric::model::Voting;

/// The methods that there are.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Method {
    /// The Euclidean distance on the prepared features: nothing is learned
    #[value(alias = "nn")]
    Euclidean,
}

impl Method {
    /// What a table's column is called.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Euclidean => "NN",
        }
    }

    pub(crate) fn learner(self) -> Result<Box<dyn Learner>> {
        match self {
            Self::Euclidean => Ok(Box::new(Euclidean)),
        }
    }
}

/// The method and its parameters.
#[derive(Args)]
#[command(next_help_heading = "Method")]
pub(crate) struct MethodArgs {
    /// How the distance is learned
    #[arg(long, value_enum, default_value_t = Method::Euclidean)]
    pub(crate) method: Method,
    #[command(flatten)]
    pub(crate) voting: VotingArgs,
}

/// How classes are predicted.
#[derive(Args)]
pub(crate) struct VotingArgs {
    /// How many neighbours vote in a prediction
    #[arg(long, value_name = "K", default_value_t = 1)]
    k: usize,
    /// How much each neighbour's vote counts
    #[arg(long, value_enum, value_name = "RULE", default_value_t = Votes::Uniform)]
    weights: Votes,
}

#[derive(Clone, Copy, ValueEnum)]
enum Votes {
    /// All the same
    Uniform,
    /// By the inverse of the distance
    Distance,
}

impl VotingArgs {
    pub(crate) fn settings(&self) -> Voting {
        let weights = match self.weights {
            Votes::Uniform => Weights::Uniform,
            Votes::Distance => Weights::Distance,
        };
        Voting { k: self.k, weights }
    }
}
