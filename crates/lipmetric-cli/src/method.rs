//! From what was typed to a method, ready to fit.

mod build;

use crate::failure::{Failure, Result};
use crate::rivals::{RivalArgs, Shared};
use clap::{Args, ValueEnum};
use lipmetric::classify::{K, Weights};
use lipmetric::method::{Learner, TradeOff, Triplet};
use lipmetric::model::ClassifierSpec;
use lipmetric::problem::{Diameter, Variant};
use std::time::Duration;

/// The methods that there are.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Method {
    /// The Euclidean distance, unless another one is shown to be better on held-out rows
    Auto,
    /// Lip^D: maximises the margin's ratio to the diameter of all rows
    LipD,
    /// Lip^I: maximises the margin's ratio to the diameter of the classes
    LipI,
    /// Lip^D or Lip^I, and its c, chosen on held-out rows
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

    /// The variant; that of `lip` unless the other one is chosen.
    fn variant(self) -> Option<Variant> {
        match self {
            Self::LipD => Some(Variant::Diameter),
            Self::LipI | Self::Lip => Some(Variant::Intra),
            _ => None,
        }
    }
}

/// The method and its parameters.
#[derive(Args)]
#[command(next_help_heading = "Method")]
pub(crate) struct MethodArgs {
    /// How the distance is learned
    #[arg(long, value_enum, default_value_t = Method::Auto)]
    pub(crate) method: Method,
    #[command(flatten)]
    pub(crate) lip: LipArgs,
    #[command(flatten)]
    pub(crate) rivals: RivalArgs,
    #[command(flatten)]
    pub(crate) voting: VotingArgs,
}

impl MethodArgs {
    pub(crate) fn learner(&self) -> Result<Box<dyn Learner>> {
        self.learner_from(None)
    }

    /// The method, with comparisons to learn from where there are some.
    pub(crate) fn learner_from(&self, triplets: Option<Vec<Triplet>>) -> Result<Box<dyn Learner>> {
        if triplets.is_some() && self.method != Method::Lmml {
            return Err(Failure::Usage("--triplets belongs to the method lmml; leave it out".to_owned()));
        }
        self.rivals.check(self.method)?;
        if let Some(learner) = self.rivals.learner(self.method, &self.lip.shared(), triplets)? {
            if self.lip.c.is_some() || self.lip.c_rel.is_some() || self.lip.given_extras() {
                return Err(Failure::Usage(
                    "--c, --c-rel, --diameter, --anchor, --solver, --mu, --rank and --balanced belong to the methods lip, lip-d and lip-i; \
                     leave them out"
                        .to_owned(),
                ));
            }
            if self.lip.slack.is_some() && self.method != Method::Lmnn {
                return Err(Failure::Usage(
                    "--slack belongs to the methods lip, lip-d, lip-i and lmnn; leave it out".to_owned(),
                ));
            }
            if self.lip.slack == Some(SlackRule::Auto) {
                return Err(Failure::Usage("--slack auto: the slack of lmnn is pair or instance".to_owned()));
            }
            return Ok(learner);
        }
        if self.method == Method::LipLocal
            && (self.lip.slack.is_some() || self.lip.c.is_some() || self.lip.given_extras())
        {
            return Err(Failure::Usage(
                "of the parameters of lip-d and lip-i, lip-local has --c-rel, --tol and --max-iter; leave the others out"
                    .to_owned(),
            ));
        }
        if self.method.variant().is_none() && self.method != Method::LipLocal && self.lip.given() {
            return Err(Failure::Usage(
                "--slack, --c, --c-rel, --diameter, --anchor, --solver, --rank, --balanced, --tol and --max-iter belong to the \
                 methods lip, lip-d and lip-i; add --method lip-i, or leave them out"
                    .to_owned(),
            ));
        }
        self.lip.learner(self.method, TradeOff::Relative(0.1), self.rivals.metric()?)
    }
}

/// Parameters of Lip^D and Lip^I. What is not given takes the learner's default.
#[derive(Args, Clone)]
pub(crate) struct LipArgs {
    /// Whether each pair of rows or each row has a slack of its own (lip-d, lip-i, lip; lmnn, where a
    /// pair is a target and an impostor) [default: instance; lmnn: pair]
    #[arg(long, value_enum, value_name = "RULE")]
    slack: Option<SlackRule>,
    /// The trade-off between the diameter and violated margins: larger is smoother (lip-d, lip-i, lip)
    /// [default: 1, as in the paper, in `compare`; lip: auto; else see --c-rel]
    /// `auto` chooses it on held-out rows, together with whatever else is `auto`.
    #[arg(long, value_name = "VALUE", value_parser = number::<f64>, conflicts_with = "c_rel")]
    c: Option<Asked<f64>>,
    /// The same as a fraction of the c from which on nothing is learned (lip-d, lip-i, lip-local)
    /// [default: 0.1; lip-local: 0.2; lip-d and lip-i in `compare` have --c 1]
    #[arg(long, value_name = "FRACTION")]
    c_rel: Option<f64>,
    /// What the diameter is: `max`, the largest distance, as in the paper; `mean`; or `cvar:0.1`, the mean of
    /// the longest tenth; `auto` chooses among them on held-out rows, the last up to 150 rows (lip-d, lip-i, lip)
    /// [default: max]
    #[arg(long, value_name = "RULE", value_parser = diameter)]
    diameter: Option<Asked<Diameter>>,
    /// Draw the distance towards a simple one (lip-d, lip-i)
    #[arg(long, value_enum, value_name = "METRIC")]
    anchor: Option<AnchorTo>,
    /// How much the anchor counts: at 1 about as much as the diameter (lip-d, lip-i) [default: 0.1]
    #[arg(long, value_name = "WEIGHT", requires = "anchor")]
    anchor_weight: Option<f64>,
    /// How the problem is solved (lip-d, lip-i) [default: auto]
    #[arg(long, value_enum, value_name = "SOLVER")]
    solver: Option<SolverChoice>,
    /// The penalty of `--solver paper` (lip-d, lip-i) [default: 1]
    #[arg(long, value_name = "VALUE")]
    mu: Option<f64>,
    /// The largest rank of the distance, for --solver admm or augmented; or `auto`: as many of the leading directions
    /// as held-out rows need, for the exact solver (lip-d, lip-i, lip) [default: any]
    #[arg(long, value_name = "N", value_parser = number::<usize>)]
    rank: Option<Asked<usize>>,
    /// Let every class count the same, whatever its size (lip-d, lip-i)
    #[arg(long)]
    balanced: bool,
    /// Stop at this certified relative gap [default: 1e-6; lip-d and lip-i by other solvers than the exact one,
    /// lmnn, mcml: 1e-3; nca, which has none, stops
    /// where a step gains less than this part of the rows: 1e-5]
    #[arg(long, value_name = "GAP")]
    tol: Option<f64>,
    /// Stop after this many steps [default: 500; lmnn, mcml: 2000; lmml: 20000; nca: 200]
    #[arg(long, value_name = "N")]
    max_iter: Option<usize>,
}

/// A value as it is typed.
#[derive(Clone, Copy, PartialEq)]
enum Asked<T> {
    /// To be chosen on held-out rows
    Auto,
    Value(T),
}

fn number<T: std::str::FromStr>(text: &str) -> std::result::Result<Asked<T>, String> {
    match text {
        "auto" => Ok(Asked::Auto),
        _ => text.parse().map(Asked::Value).map_err(|_| "give a number such as 1, or `auto`".to_owned()),
    }
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum SlackRule {
    /// A slack per pair of rows
    Pair,
    /// A slack per row: a mislabelled row pays once
    Instance,
    /// Chosen on held-out rows (not lmnn)
    Auto,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum SolverChoice {
    /// Exact up to 36 features and 3,000 rows (a slack per row: 1,500), above that augmented
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

#[derive(Clone, Copy, ValueEnum)]
enum AnchorTo {
    /// The Euclidean distance on the prepared features
    Euclid,
    /// The Mahalanobis distance of the covariance within the classes
    Within,
}

fn diameter(text: &str) -> std::result::Result<Asked<Diameter>, String> {
    match text.split_once(':') {
        None if text == "auto" => Ok(Asked::Auto),
        None if text == "max" => Ok(Asked::Value(Diameter::Maximum)),
        None if text == "mean" => Ok(Asked::Value(Diameter::Mean)),
        Some(("cvar", level)) => match level.parse::<f64>() {
            Ok(level) if level > 0.0 && level < 1.0 => Ok(Asked::Value(Diameter::Cvar(level))),
            _ => Err(format!("`{level}` is not a level between 0 and 1, such as 0.1")),
        },
        _ => Err("give max, mean, cvar:LEVEL, such as cvar:0.1, or auto".to_owned()),
    }
}

impl LipArgs {
    fn given(&self) -> bool {
        self.slack.is_some()
            || self.c.is_some()
            || self.c_rel.is_some()
            || self.tol.is_some()
            || self.max_iter.is_some()
            || self.given_extras()
    }

    /// Options that only Lip^D and Lip^I have.
    fn given_extras(&self) -> bool {
        self.diameter.is_some()
            || self.anchor.is_some()
            || self.balanced
            || self.solver.is_some()
            || self.mu.is_some()
            || self.rank.is_some()
    }

    /// These, and where nothing is said, the others.
    pub(crate) fn or(&self, others: &Self) -> Self {
        let trade_off = if self.c.is_some() || self.c_rel.is_some() { self } else { others };
        let anchor = if self.anchor.is_some() { self } else { others };
        Self {
            slack: self.slack.or(others.slack),
            c: trade_off.c,
            c_rel: trade_off.c_rel,
            diameter: self.diameter.or(others.diameter),
            anchor: anchor.anchor,
            anchor_weight: self.anchor_weight.or(anchor.anchor_weight),
            solver: self.solver.or(others.solver),
            mu: self.mu.or(others.mu),
            rank: self.rank.or(others.rank),
            balanced: self.balanced || others.balanced,
            tol: self.tol.or(others.tol),
            max_iter: self.max_iter.or(others.max_iter),
        }
    }

    /// The same trade-off and penalty by the paper's algorithm, which has a slack per pair; stopped after so many steps
    /// where their number was not said.
    pub(crate) fn by_the_paper(&self, steps: usize) -> Self {
        Self {
            slack: Some(SlackRule::Pair),
            solver: Some(SolverChoice::Paper),
            max_iter: self.max_iter.or(Some(steps)),
            diameter: None,
            anchor: None,
            anchor_weight: None,
            rank: None,
            balanced: false,
            ..self.clone()
        }
    }

    /// Whether something is said that [`LipArgs::by_the_paper`] would not heed.
    pub(crate) fn beyond_the_paper(&self) -> bool {
        let without = Self { mu: None, ..self.clone() };
        self.slack.is_some() || without.given_extras()
    }

    /// Whether a penalty is given.
    pub(crate) fn has_mu(&self) -> bool {
        self.mu.is_some()
    }

    /// The same without a penalty, if that is for another solver than this one.
    pub(crate) fn without_idle_mu(mut self) -> Self {
        if self.solver != Some(SolverChoice::Paper) {
            self.mu = None;
        }
        self
    }

    /// What other methods have as well.
    pub(crate) fn shared(&self) -> Shared {
        let row_slack = self.slack.filter(|s| *s != SlackRule::Auto).map(|s| s == SlackRule::Instance);
        Shared { tol: self.tol, max_iter: self.max_iter, row_slack }
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
    pub(crate) fn settings_for(&self, method: Method) -> ClassifierSpec {
        let usual = if method == Method::Auto { K::Auto } else { K::default() };
        self.of(self.k.unwrap_or(usual))
    }
}
