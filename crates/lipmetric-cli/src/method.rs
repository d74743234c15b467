//! From what was typed to a method, ready to fit.

use crate::failure::{Failure, Result};
use clap::{Args, ValueEnum};
use lipmetric::classify::Weights;
use lipmetric::learner::{Euclidean, Learner, Lip, TradeOff};
use lipmetric::model::Voting;
use lipmetric::problem::{Slack, Variant};
use std::time::Duration;

/// The methods that there are.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Method {
    /// Lip^D: maximises the margin's ratio to the diameter of all rows
    LipD,
    /// Lip^I: maximises the margin's ratio to the diameter of the classes
    LipI,
    /// The Euclidean distance on the prepared features: nothing is learned
    #[value(alias = "nn")]
    Euclidean,
}

impl Method {
    /// What a table's column is called.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::LipD => "Lip^D",
            Self::LipI => "Lip^I",
            Self::Euclidean => "NN",
        }
    }

    fn variant(self) -> Option<Variant> {
        match self {
            Self::LipD => Some(Variant::Diameter),
            Self::LipI => Some(Variant::Intra),
            Self::Euclidean => None,
        }
    }
}

/// The method and its parameters.
#[derive(Args)]
#[command(next_help_heading = "Method")]
pub(crate) struct MethodArgs {
    /// How the distance is learned
    #[arg(long, value_enum, default_value_t = Method::LipI)]
    pub(crate) method: Method,
    #[command(flatten)]
    pub(crate) lip: LipArgs,
    #[command(flatten)]
    pub(crate) voting: VotingArgs,
}

impl MethodArgs {
    pub(crate) fn learner(&self) -> Result<Box<dyn Learner>> {
        if self.method.variant().is_none() && self.lip.given() {
            return Err(Failure::Usage(
                "--slack, --c, --c-rel, --tol and --max-iter belong to the methods lip-d and lip-i; leave them out"
                    .to_owned(),
            ));
        }
        Ok(self.lip.learner(self.method, TradeOff::Relative(0.1)))
    }
}

/// Parameters of Lip^D and Lip^I. What is not given takes the learner's default.
#[derive(Args)]
pub(crate) struct LipArgs {
    /// Whether each pair of rows or each row has a slack of its own (lip-d, lip-i) [default: instance]
    #[arg(long, value_enum, value_name = "RULE")]
    slack: Option<SlackRule>,
    /// The trade-off between the diameter and violated margins: larger is smoother (lip-d, lip-i)
    /// [default: 1, as in the paper, in `compare`; else see --c-rel]
    #[arg(long, value_name = "VALUE", conflicts_with = "c_rel")]
    c: Option<f64>,
    /// The same as a fraction of the c from which on nothing is learned (lip-d, lip-i)
    /// [default: 0.1; `compare` has --c 1]
    #[arg(long, value_name = "FRACTION")]
    c_rel: Option<f64>,
    /// Stop at this certified relative gap (lip-d, lip-i) [default: 1e-6]
    #[arg(long, value_name = "GAP")]
    tol: Option<f64>,
    /// Stop after this many steps (lip-d, lip-i) [default: 500]
    #[arg(long, value_name = "N")]
    max_iter: Option<usize>,
}

#[derive(Clone, Copy, ValueEnum)]
enum SlackRule {
    /// A slack per pair of rows
    Pair,
    /// A slack per row: a mislabelled row pays once
    Instance,
}

impl LipArgs {
    fn given(&self) -> bool {
        self.slack.is_some()
            || self.c.is_some()
            || self.c_rel.is_some()
            || self.tol.is_some()
            || self.max_iter.is_some()
    }

    /// The method with these parameters, where it has them; `usual` is the trade-off if none is given.
    pub(crate) fn learner(&self, method: Method, usual: TradeOff) -> Box<dyn Learner> {
        let Some(variant) = method.variant() else { return Box::new(Euclidean) };
        let mut lip = Lip::new(variant)
            .slack(match self.slack {
                Some(SlackRule::Pair) => Slack::Pair,
                Some(SlackRule::Instance) | None => Slack::Instance,
            })
            .trade_off(match (self.c, self.c_rel) {
                (Some(c), _) => TradeOff::Absolute(c),
                (None, Some(fraction)) => TradeOff::Relative(fraction),
                (None, None) => usual,
            });
        if let Some(tol) = self.tol {
            lip = lip.tolerance(tol);
        }
        if let Some(max_iter) = self.max_iter {
            lip = lip.max_iterations(max_iter);
        }
        Box::new(lip)
    }
}

/// A limit on the time of a fit.
pub(crate) fn time_limit(seconds: Option<f64>) -> Result<Option<Duration>> {
    seconds
        .map(|s| {
            Duration::try_from_secs_f64(s)
                .ok()
                .filter(|d| !d.is_zero())
                .ok_or_else(|| Failure::Usage(format!("--time-limit: {s} is not a number of seconds above zero")))
        })
        .transpose()
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
