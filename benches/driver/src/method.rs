//! A method's name and options as a learner.

use crate::Result;
use crate::options::Options;
use lipmetric::method::{Euclidean, Init, Learner, Lip, LipAdmm, Lmml, Lmnn, Mcml, Nca, Solver, TradeOff};
use lipmetric::problem::{Anchor, Diameter, Slack, Towards, Variant};

pub(crate) fn learner(method: &str, options: &mut Options) -> Result<Box<dyn Learner>> {
    // Sets what was given.
    macro_rules! with {
        ($learner:expr, $($setter:ident = $name:literal),*) => {{
            let mut learner = $learner;
            $(if let Some(value) = options.get($name)? {
                learner = learner.$setter(value);
            })*
            learner
        }};
    }
    let init = |options: &mut Options| -> Result<Init> {
        Ok(match options.text("init").as_deref() {
            None => Init::Auto,
            Some("identity") => Init::Identity,
            Some("pca") => Init::Pca,
            Some("lda") => Init::Lda,
            Some(seed) => Init::Random(seed.parse()?),
        })
    };
    Ok(match method {
        "lip-d" | "lip-i" => match options.text("solver").as_deref().unwrap_or("exact") {
            "exact" => {
                let mut lip = with!(exact(method, options)?, tolerance = "tol", max_iterations = "max_iter");
                if let Some(c) = trade_off(options)? {
                    lip = lip.trade_off(c);
                }
                if let Some(weight) = options.get("anchor")? {
                    lip = lip.anchor(Anchor { towards: Towards::Euclid, weight });
                }
                Box::new(lip)
            }
            name => {
                let large = LipAdmm::new(variant(method)?).solver(solver(name)?);
                let mut large = with!(large, tolerance = "tol", max_iterations = "max_iter", mu = "mu", rank = "rank");
                if let Some(c) = trade_off(options)? {
                    large = large.trade_off(c);
                }
                Box::new(large)
            }
        },
        "nca" => Box::new(with!(
            Nca::new().init(init(options)?),
            tolerance = "tol",
            max_iterations = "max_iter",
            n_components = "n_components"
        )),
        "lmnn" => Box::new(with!(
            Lmnn::new().init(init(options)?),
            tolerance = "tol",
            max_iterations = "max_iter",
            n_components = "n_components",
            k = "k",
            push = "push",
            row_slack = "row_slack"
        )),
        "mcml" => Box::new(with!(Mcml::new(), tolerance = "tol", max_iterations = "max_iter")),
        "lmml" => Box::new(with!(Lmml::new(), tolerance = "tol", max_iterations = "max_iter", alpha = "alpha")),
        "nn" => Box::new(Euclidean),
        other => return Err(format!("no method `{other}`").into()),
    })
}

fn variant(method: &str) -> Result<Variant> {
    match method {
        "lip-d" => Ok(Variant::Diameter),
        "lip-i" => Ok(Variant::Intra),
        other => Err(format!("`{other}` is neither lip-d nor lip-i").into()),
    }
}

fn solver(name: &str) -> Result<Solver> {
    match name {
        "augmented" => Ok(Solver::Augmented),
        "admm" => Ok(Solver::Admm),
        "paper" => Ok(Solver::Paper),
        other => Err(format!("no solver `{other}`").into()),
    }
}

fn trade_off(options: &mut Options) -> Result<Option<TradeOff>> {
    let relative = options.get("c_rel")?.map(TradeOff::Relative);
    Ok(options.get("c")?.map(TradeOff::Absolute).or(relative))
}

/// Lip^D or Lip^I by the exact solver, its form read from the options.
pub(crate) fn exact(method: &str, options: &mut Options) -> Result<Lip> {
    let slack = match options.text("slack").as_deref() {
        None | Some("pair") => Slack::Pair,
        Some("instance") => Slack::Instance,
        Some(other) => return Err(format!("no slack `{other}`").into()),
    };
    let diameter = match options.text("diameter").as_deref() {
        None | Some("max") => Diameter::Maximum,
        Some("mean") => Diameter::Mean,
        Some(level) => Diameter::Cvar(level.parse()?),
    };
    Ok(Lip::new(variant(method)?).slack(slack).diameter_as(diameter))
}
