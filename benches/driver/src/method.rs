//! A method from its name and options.

use crate::Result;
use crate::options::Options;
use lipmetric::method::{Euclidean, Init, Lip, Lmml, Lmnn, Mcml, Method, Nca, Solver, TradeOff};
use lipmetric::problem::{Anchor, Diameter, Slack, Towards, Variant};

pub(crate) fn learner(method: &str, options: &mut Options) -> Result<Box<dyn Method>> {
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
        "lip-d" | "lip-i" => {
            let solver = solver(options.text("solver").as_deref().unwrap_or("exact"))?;
            let lip = problem(method, options)?.solver(solver);
            let (tolerance, mu): (Option<f64>, Option<f64>) = (options.get("tol")?, options.get("mu")?);
            let (steps, rank): (Option<usize>, Option<usize>) = (options.get("max_iter")?, options.get("rank")?);
            let mut lip = lip.tolerance(tolerance).mu(mu).max_iterations(steps).rank(rank);
            if let Some(c) = trade_off(options)? {
                lip = lip.trade_off(c);
            }
            if let Some(weight) = options.get("anchor")? {
                lip = lip.anchor(Anchor { towards: Towards::Euclid, weight });
            }
            Box::new(lip)
        }
        "nca" => Box::new(with!(
            Nca::new().init(init(options)?).n_components(components(options)?),
            tolerance = "tol",
            max_iterations = "max_iter"
        )),
        "lmnn" => {
            let row_slack: Option<bool> = options.get("row_slack")?;
            let slack = if row_slack.unwrap_or(false) { Slack::Instance } else { Slack::Pair };
            Box::new(with!(
                Lmnn::new().init(init(options)?).slack(slack).n_components(components(options)?),
                tolerance = "tol",
                max_iterations = "max_iter",
                targets = "k",
                push = "push"
            ))
        }
        "mcml" => Box::new(with!(Mcml::new(), tolerance = "tol", max_iterations = "max_iter")),
        "lmml" => Box::new(with!(Lmml::new(), tolerance = "tol", max_iterations = "max_iter", alpha = "alpha")),
        "nn" => Box::new(Euclidean::new()),
        other => return Err(format!("no method `{other}`").into()),
    })
}

fn components(options: &mut Options) -> Result<Option<usize>> {
    options.get("n_components")
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
        "auto" => Ok(Solver::Auto),
        "exact" => Ok(Solver::Exact),
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

/// Lip^D or Lip^I by the exact solver, its form read from the options: a slack per pair and `c = 1` unless they say so.
pub(crate) fn problem(method: &str, options: &mut Options) -> Result<Lip> {
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
    let lip = Lip::new().variant(variant(method)?).slack(slack).diameter(diameter);
    Ok(lip.trade_off(TradeOff::PAPER).solver(Solver::Exact))
}
