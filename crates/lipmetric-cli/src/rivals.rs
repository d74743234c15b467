//! Parameters of the methods other than Lip: LMNN, LMML, NCA, MCML.

use crate::failure::{Failure, Result};
use crate::method::Method;
use clap::Args;
use lipmetric::Metric;
use lipmetric::method::{Init, Learner, Lmml, Lmnn, Mcml, Nca, Triplet};
use lipmetric_io::model::load_model;
use std::path::PathBuf;

/// Options that Lip has as well.
pub(crate) struct Shared {
    pub(crate) tol: Option<f64>,
    pub(crate) max_iter: Option<usize>,
    /// Whether the slack belongs to the row, where it was said.
    pub(crate) row_slack: Option<bool>,
}

/// Parameters of LMNN, LMML, NCA and MCML. What is not given takes the learner's default.
#[derive(Args, Clone)]
#[command(next_help_heading = "Other methods")]
pub(crate) struct RivalArgs {
    /// How many directions the distance looks at (lmnn, lmml, nca, mcml) [default: all]
    #[arg(long, value_name = "N")]
    n_components: Option<usize>,
    /// Where the search begins: auto, identity, pca, lda, random or random:SEED (lmnn, lmml, nca, mcml)
    /// [default: auto]
    #[arg(long, value_name = "START", value_parser = start, conflicts_with = "warm_start")]
    init: Option<Init>,
    /// Begin from the distance of this model (lip-d, lip-i, lmnn, lmml, nca, mcml)
    #[arg(long, value_name = "MODEL")]
    warm_start: Option<PathBuf>,
    /// How many rows of its own class a row is drawn to (lmnn) [default: 3]
    #[arg(long, value_name = "N")]
    targets: Option<usize>,
    /// How much the push counts, between 0 and 1; the pull has the rest (lmnn) [default: 0.5]
    #[arg(long, value_name = "PART")]
    push: Option<f64>,
    /// The cost of a violated margin (lmml) [default: 1]
    #[arg(long, value_name = "VALUE")]
    alpha: Option<f64>,
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

/// Sets what was given.
macro_rules! with {
    ($learner:ident, $($method:ident($value:expr)),*) => {{
        let mut learner = $learner;
        $(if let Some(value) = $value { learner = learner.$method(value); })*
        Box::new(learner)
    }};
}

impl RivalArgs {
    /// These, and where nothing is said, the others.
    pub(crate) fn or(&self, others: &Self) -> Self {
        let start = if self.init.is_some() || self.warm_start.is_some() { self } else { others };
        Self {
            n_components: self.n_components.or(others.n_components),
            init: start.init.clone(),
            warm_start: start.warm_start.clone(),
            targets: self.targets.or(others.targets),
            push: self.push.or(others.push),
            alpha: self.alpha.or(others.alpha),
        }
    }

    /// Refuses options that the method does not have.
    pub(crate) fn check(&self, method: Method) -> Result {
        let all = &[Method::Lmnn, Method::Lmml, Method::Nca, Method::Mcml][..];
        let learned =
            &[Method::LipD, Method::LipI, Method::Lip, Method::Lmnn, Method::Lmml, Method::Nca, Method::Mcml][..];
        let options = [
            ("--n-components", self.n_components.is_some(), all),
            ("--init", self.init.is_some(), all),
            ("--warm-start", self.warm_start.is_some(), learned),
            ("--targets", self.targets.is_some(), &[Method::Lmnn]),
            ("--push", self.push.is_some(), &[Method::Lmnn]),
            ("--alpha", self.alpha.is_some(), &[Method::Lmml]),
        ];
        for (name, given, methods) in options {
            if given && !methods.contains(&method) {
                let names: Vec<String> = methods.iter().map(|m| m.title().to_lowercase()).collect();
                return Err(Failure::Usage(format!("{name} belongs to {}; leave it out", names.join(", "))));
            }
        }
        Ok(())
    }

    /// The distance to begin from.
    pub(crate) fn metric(&self) -> Result<Option<Metric>> {
        self.warm_start.as_ref().map(|path| Ok(load_model(path)?.model.metric)).transpose()
    }

    /// The method with these parameters, if it is one of these.
    pub(crate) fn learner(
        &self,
        method: Method,
        shared: &Shared,
        triplets: Option<Vec<Triplet>>,
    ) -> Result<Option<Box<dyn Learner>>> {
        let init = match self.metric()? {
            Some(metric) => Some(Init::Given(metric)),
            None => self.init.clone(),
        };
        let (tol, steps, components) = (shared.tol, shared.max_iter, self.n_components);
        Ok(Some(match method {
            Method::Lmnn => {
                let learner = Lmnn::new();
                with!(
                    learner,
                    k(self.targets),
                    push(self.push),
                    row_slack(shared.row_slack),
                    n_components(components),
                    init(init),
                    tolerance(tol),
                    max_iterations(steps)
                )
            }
            Method::Lmml => {
                let learner = Lmml::new();
                with!(
                    learner,
                    alpha(self.alpha),
                    triplets(triplets),
                    n_components(components),
                    init(init),
                    tolerance(tol),
                    max_iterations(steps)
                )
            }
            Method::Nca => {
                let learner = Nca::new();
                with!(learner, n_components(components), init(init), tolerance(tol), max_iterations(steps))
            }
            Method::Mcml => {
                let learner = Mcml::new();
                with!(learner, n_components(components), init(init), tolerance(tol), max_iterations(steps))
            }
            Method::Auto | Method::LipD | Method::LipI | Method::Lip | Method::LipLocal | Method::Euclidean => {
                return Ok(None);
            }
        }))
    }
}
