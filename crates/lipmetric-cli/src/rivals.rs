//! Parameters of the methods other than Lip: LMNN, LMML, NCA, MCML, ARML and the metric for certified accuracy.

use crate::method::options::{Given, help};
use clap::{Args, ValueEnum};
use lipmetric::method::Init;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Parameters of LMNN, LMML, NCA and MCML. What is not given takes the method's default.
#[derive(Args, Clone, Serialize)]
#[command(next_help_heading = "Other methods")]
pub(crate) struct RivalArgs {
    #[arg(long, value_name = "N", help = help("n_components", "Rank of the metric: the number of dimensions that rows are mapped to", "all"))]
    n_components: Option<usize>,
    #[arg(long, value_name = "START", value_parser = start, conflicts_with = "warm_start", help = help("init", "Starting point of the optimisation: auto, identity, pca, lda, random or random:SEED", ""))]
    init: Option<Init>,
    #[arg(long, value_name = "MODEL", help = help("warm_start", "Start the optimisation from the metric of this model", ""))]
    #[serde(skip)]
    warm_start: Option<PathBuf>,
    #[arg(long, value_name = "N", help = help("targets", "Target neighbours: the number of nearest rows of its class that each row is pulled to", ""))]
    targets: Option<usize>,
    #[arg(long, value_name = "WEIGHT", value_parser = crate::method::real, help = help("push", "Weight of the push term, between 0 and 1; the pull term has one minus this", ""))]
    push: Option<f64>,
    #[arg(long, value_name = "VALUE", value_parser = crate::method::real, help = help("alpha", "Weight of violated margins", ""))]
    alpha: Option<f64>,
    #[arg(long, value_enum, value_name = "LOSS", help = help("loss", "What a row costs whose neighbours are of other classes", ""))]
    loss: Option<LossRule>,
    #[arg(long, value_name = "WEIGHT", value_parser = crate::method::real, help = help("penalty", "What it costs to leave the start of the optimisation: larger keeps the distance nearer to it", "0 with --loss errors, 0.3 with --loss log"))]
    penalty: Option<f64>,
    #[arg(long, value_name = "TAU", value_parser = crate::method::real, help = help("robust", "The certified radius up to which more is better, as a Euclidean distance on the prepared features", "twice the median radius under the starting metric"))]
    robust: Option<f64>,
    #[arg(long, value_name = "SEED", help = help("triplet_seed", "Seed of the held-out rows and of the random triplets", "0"))]
    triplet_seed: Option<u64>,
}

#[derive(Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
enum LossRule {
    /// The probability of picking one of them: the expected number of errors
    Errors,
    /// Minus the logarithm of the probability of picking one of its own class; stops where held-out rows are predicted best
    Log,
}

fn start(text: &str) -> std::result::Result<Init, String> {
    match text {
        "auto" => Ok(Init::Auto),
        "identity" => Ok(Init::Identity),
        "pca" => Ok(Init::Pca),
        "lda" => Ok(Init::Lda),
        "random" => Ok(Init::Random(0)),
        _ => match text.strip_prefix("random:").map(str::parse) {
            Some(Ok(seed)) => Ok(Init::Random(seed)),
            _ => Err("give auto, identity, pca, lda, random or random:SEED, such as random:7".to_owned()),
        },
    }
}

impl RivalArgs {
    /// What was given, but for the model to start from.
    pub(crate) fn given(&self) -> Given {
        crate::method::given(self)
    }

    /// The model to start from.
    pub(crate) fn warm_start(&self) -> Option<&Path> {
        self.warm_start.as_deref()
    }
}
