//! From what was typed to a method, ready to fit.

pub(crate) mod options;

use crate::failure::{Failure, Result};
use crate::rivals::RivalArgs;
use clap::{Args, ValueEnum};
use lipmetric::Metric;
use lipmetric::classify::{K, Weights};
use lipmetric::method::{Auto, Choose, Euclidean, Lip, LipLocal, Lmml, Lmnn, Mcml, Method as _, Nca, Spec};
use lipmetric::model::ClassifierSpec;
use lipmetric::problem::Diameter;
use lipmetric_io::model::load_model;
use options::{Given, help};
use serde::Serialize;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The methods that there are.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Method {
    /// The Euclidean distance, unless another one predicts held-out rows better
    Auto,
    /// Lip^D: maximises the margin's ratio to the diameter of all rows
    LipD,
    /// Lip^I: maximises the margin's ratio to the diameter of the classes
    LipI,
    /// Lip^D or Lip^I, and its c, chosen by cross-validation
    Lip,
    /// Lip^I by near pairs: the local form of the margin ratio
    LipLocal,
    /// Large margin nearest neighbours: near targets, impostors pushed away
    Lmnn,
    /// Large margin metric learning: the smallest metric with margins
    Lmml,
    /// Neighbourhood components analysis: the best chances of a right neighbour
    Nca,
    /// Maximally collapsing metric learning: classes drawn to points
    Mcml,
    /// The Euclidean distance on the prepared features: nothing is learned
    #[value(alias = "nn")]
    Euclidean,
}

impl Method {
    /// What a table's column is called.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::LipD => "Lip^D",
            Self::LipI => "Lip^I",
            Self::Lip => "Lip",
            Self::LipLocal => "Lip^loc",
            Self::Lmnn => "LMNN",
            Self::Lmml => "LMML",
            Self::Nca => "NCA",
            Self::Mcml => "MCML",
            Self::Euclidean => "NN",
        }
    }

    /// How it is typed.
    pub(crate) fn typed(self) -> String {
        self.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default()
    }

    /// The method with its defaults.
    pub(crate) fn base(self) -> Spec {
        match self {
            Self::Auto => Auto::new().into(),
            Self::LipD => Lip::overall().into(),
            Self::LipI => Lip::intra().into(),
            Self::Lip => Lip::chosen().into(),
            Self::LipLocal => LipLocal::new().into(),
            Self::Lmnn => Lmnn::new().into(),
            Self::Lmml => Lmml::new().into(),
            Self::Nca => Nca::new().into(),
            Self::Mcml => Mcml::new().into(),
            Self::Euclidean => Euclidean::new().into(),
        }
    }
}

/// The method and its parameters.
#[derive(Args)]
#[command(next_help_heading = "Method")]
pub(crate) struct MethodArgs {
    /// How the distance is learned [default: auto]
    #[arg(long, value_enum)]
    method: Option<Method>,
    /// The method and its parameters from a JSON file, such as `inspect --spec` prints; `-` is standard input
    #[arg(long, value_name = "FILE")]
    spec: Option<PathBuf>,
    #[command(flatten)]
    lip: LipArgs,
    #[command(flatten)]
    rivals: RivalArgs,
    #[command(flatten)]
    pub(crate) voting: VotingArgs,
}

impl MethodArgs {
    /// The method, with its parameters checked as far as that needs no data.
    pub(crate) fn spec(&self) -> Result<Spec> {
        let mut given = self.lip.given();
        given.extend(self.rivals.given());
        if let Some(path) = &self.spec {
            let method = self.method.map(|_| "method".to_owned());
            if let Some(option) = method.or_else(|| given.keys().next().cloned()) {
                return Err(Failure::Usage(format!(
                    "{}: --spec has the method and all its parameters; leave out the one or the other",
                    options::flag(&option)
                )));
            }
            return read_spec(path);
        }
        let method = self.method.unwrap_or(Method::Auto);
        for option in given.keys() {
            options::check(option, method, "add --method")?;
        }
        if self.rivals.warm_start().is_some() {
            options::check("warm_start", method, "add --method")?;
        }
        options::apply(&method.base(), &given)
    }

    /// The distance to begin from.
    pub(crate) fn start(&self) -> Result<Option<Metric>> {
        self.rivals.warm_start().map(start_from).transpose()
    }
}

/// The distance of a model.
pub(crate) fn start_from(path: &Path) -> Result<Metric> {
    Ok(load_model(path)?.model.metric)
}

/// A method from a JSON file.
fn read_spec(path: &Path) -> Result<Spec> {
    let place = if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() };
    let cannot = |e: std::io::Error| Failure::Failed(format!("cannot read {place}: {e}"));
    let mut text = String::new();
    if path == Path::new("-") {
        std::io::stdin().read_to_string(&mut text).map_err(cannot)?;
    } else {
        text = std::fs::read_to_string(path).map_err(cannot)?;
    }
    let spec: Spec = serde_json::from_str(&text).map_err(|e| Failure::Usage(format!("--spec {place}: {e}")))?;
    // In a file the parameters have the names that the message gives them.
    spec.check().map_err(|e| Failure::Usage(format!("--spec {place}: {e}")))?;
    Ok(spec)
}

/// Parameters of Lip^D and Lip^I, and of whichever method has the same. What is not given takes the method's default.
#[derive(Args, Clone, Serialize)]
pub(crate) struct LipArgs {
    #[arg(long, value_enum, value_name = "RULE", help = help("slack", "Whether each pair of rows or each row has a slack of its own; for lmnn, a pair is a target and an impostor", ""))]
    slack: Option<SlackRule>,
    #[arg(long, value_name = "VALUE", value_parser = real_or_auto, conflicts_with = "c_rel", help = help("c", "The trade-off between the diameter and violated margins: larger is smoother. `auto` chooses it by cross-validation, together with whatever else is `auto`. See --c-rel for what it is unless given; in `compare` it is 1, as in the paper", ""))]
    c: Option<Choose<f64>>,
    #[arg(long, value_name = "FRACTION", value_parser = real, help = help("c_rel", "c as a fraction of c_max, the value at which the learned metric becomes zero", ""))]
    c_rel: Option<f64>,
    #[arg(long, value_name = "RULE", value_parser = diameter, help = help("diameter", "What the diameter is: `max`, the largest distance, as in the paper; `mean`; or `cvar:0.1`, the mean of the longest tenth; `auto` chooses among them by cross-validation, the last up to 150 rows", ""))]
    diameter: Option<Choose<Diameter>>,
    #[arg(long, value_enum, value_name = "METRIC", help = help("anchor", "Draw the distance towards a simple one", ""))]
    anchor: Option<AnchorTo>,
    #[arg(long, value_name = "WEIGHT", value_parser = real, requires = "anchor", help = help("anchor_weight", "How much the anchor counts: at 1 about as much as the diameter", "0.1"))]
    anchor_weight: Option<f64>,
    #[arg(long, value_enum, value_name = "SOLVER", help = help("solver", "How the problem is solved", ""))]
    solver: Option<SolverChoice>,
    #[arg(long, value_name = "VALUE", value_parser = real, help = help("mu", "The penalty of `--solver paper`", "1"))]
    mu: Option<f64>,
    #[arg(long, value_name = "N", value_parser = whole_or_auto, help = help("rank", "The largest rank of the distance, for --solver admm or augmented. `auto`: smallest rank with the best cross-validated accuracy (exact solver only)", "any"))]
    rank: Option<Choose<usize>>,
    #[arg(long, help = help("balanced", "Let every class count the same, whatever its size", ""))]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    balanced: bool,
    #[arg(long, value_name = "GAP", value_parser = real, help = help("tol", "Stop at this certified relative gap. nca has no certificate: it stops when the objective improves by less than this times the number of rows", ""))]
    tol: Option<f64>,
    #[arg(long, value_name = "N", help = help("max_iter", "Stop after this many steps", ""))]
    max_iter: Option<usize>,
}

impl LipArgs {
    /// What was given.
    pub(crate) fn given(&self) -> Given {
        given(self)
    }
}

/// The options that have a value.
pub(crate) fn given(args: &impl Serialize) -> Given {
    let Ok(serde_json::Value::Object(mut all)) = serde_json::to_value(args) else { return Given::new() };
    all.retain(|_, value| !value.is_null());
    all
}

/// A number that is one: a file cannot hold the others.
pub(crate) fn real(text: &str) -> std::result::Result<f64, String> {
    text.parse().ok().filter(|v: &f64| v.is_finite()).ok_or_else(|| "give a number such as 0.1".to_owned())
}

fn real_or_auto(text: &str) -> std::result::Result<Choose<f64>, String> {
    if text == "auto" { Ok(Choose::Auto) } else { real(text).map(Choose::Value).map_err(|e| format!("{e}, or `auto`")) }
}

fn whole_or_auto(text: &str) -> std::result::Result<Choose<usize>, String> {
    text.parse().map_err(|_| "give a number such as 1, or `auto`".to_owned())
}

#[derive(Clone, Copy, PartialEq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
enum SlackRule {
    /// A slack per pair of rows
    Pair,
    /// A slack per row: a mislabelled row pays once
    Instance,
    /// Chosen by cross-validation (not lmnn)
    Auto,
}

#[derive(Clone, Copy, PartialEq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
enum SolverChoice {
    /// Exact up to 36 features and 3,000 rows, above that augmented; a slack per row, which only exact has, is refused above
    /// 1,500 rows
    Auto,
    /// The certified interior-point method
    Exact,
    /// The method of multipliers with Newton steps, for large problems
    Augmented,
    /// ADMM on a working set of pairs, for large problems
    Admm,
    /// The paper's Algorithm 1, iterate for iterate
    Paper,
}

#[derive(Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
enum AnchorTo {
    /// The Euclidean distance on the prepared features
    Euclid,
    /// The Mahalanobis distance of the covariance within the classes
    Within,
}

fn diameter(text: &str) -> std::result::Result<Choose<Diameter>, String> {
    match text.split_once(':') {
        None if text == "auto" => Ok(Choose::Auto),
        None if text == "max" => Ok(Diameter::Maximum.into()),
        None if text == "mean" => Ok(Diameter::Mean.into()),
        Some(("cvar", level)) => match level.parse::<f64>() {
            Ok(level) if level > 0.0 && level < 1.0 => Ok(Diameter::Cvar(level).into()),
            _ => Err(format!("`{level}` is not a level between 0 and 1, such as 0.1")),
        },
        _ => Err("give max, mean, cvar:LEVEL, such as cvar:0.1, or auto".to_owned()),
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
    /// How many neighbours vote in a prediction; `auto` chooses: by leave-one-out on the training rows, or together with
    /// the distance where the method chooses one [default: auto for the method auto, else 1; `compare`: 1]
    #[arg(long, value_name = "K", value_parser = neighbours)]
    k: Option<K>,
    /// How much each neighbour's vote counts
    #[arg(long, value_enum, value_name = "RULE", default_value_t = Votes::Uniform)]
    weights: Votes,
}

pub(crate) fn neighbours(text: &str) -> std::result::Result<K, String> {
    text.parse().map_err(|_| "give a number such as 3, or `auto`".to_owned())
}

#[derive(Clone, Copy, ValueEnum)]
enum Votes {
    /// All the same
    Uniform,
    /// By the inverse of the distance
    Distance,
}

impl Default for VotingArgs {
    fn default() -> Self {
        Self { k: None, weights: Votes::Uniform }
    }
}

impl VotingArgs {
    /// The number of neighbours where a column of a comparison names none.
    pub(crate) fn k(&self) -> K {
        self.k.unwrap_or_default()
    }

    /// The vote of so many neighbours.
    pub(crate) fn of(&self, k: K) -> ClassifierSpec {
        let weights = match self.weights {
            Votes::Uniform => Weights::Uniform,
            Votes::Distance => Weights::Distance,
        };
        ClassifierSpec::Vote { k, weights }
    }

    /// The vote of the neighbours, where the method decides how many are usual.
    pub(crate) fn settings_for(&self, spec: &Spec) -> ClassifierSpec {
        let usual = if matches!(spec, Spec::Auto(_)) { K::Auto } else { K::default() };
        self.of(self.k.unwrap_or(usual))
    }
}
