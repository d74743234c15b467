//! From what was typed to a method, ready to fit.

use crate::failure::{Failure, Result};
use crate::rivals::{RivalArgs, Shared};
use clap::{Args, ValueEnum};
use lipmetric::Metric;
use lipmetric::classify::Weights;
use lipmetric::learner::{
    ClassWeights, Euclidean, Learner, Lip, LipAdmm, LipAuto, LipLocal, Solver, TradeOff, Triplet, Tuned,
};
use lipmetric::model::Voting;
use lipmetric::problem::{Anchor, Diameter, Slack, Towards, Variant};
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
            Self::LipLocal => "Lip^loc",
            Self::Lmnn => "LMNN",
            Self::Lmml => "LMML",
            Self::Nca => "NCA",
            Self::Mcml => "MCML",
            Self::Euclidean => "NN",
        }
    }

    fn variant(self) -> Option<Variant> {
        match self {
            Self::LipD => Some(Variant::Diameter),
            Self::LipI => Some(Variant::Intra),
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
                    "--c, --c-rel, --diameter, --anchor, --solver, --mu, --rank and --balanced belong to the methods lip-d and lip-i; \
                     leave them out"
                        .to_owned(),
                ));
            }
            if self.lip.slack.is_some() && self.method != Method::Lmnn {
                return Err(Failure::Usage(
                    "--slack belongs to the methods lip-d, lip-i and lmnn; leave it out".to_owned(),
                ));
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
                "--slack, --c, --c-rel, --diameter, --anchor, --solver, --balanced, --tol and --max-iter belong to the methods \
                 lip-d and lip-i; add --method lip-i, or leave them out"
                    .to_owned(),
            ));
        }
        self.lip.learner(self.method, TradeOff::Relative(0.1), self.rivals.metric()?)
    }
}

/// Parameters of Lip^D and Lip^I. What is not given takes the learner's default.
#[derive(Args, Clone)]
pub(crate) struct LipArgs {
    /// Whether each pair of rows or each row has a slack of its own (lip-d, lip-i; lmnn, where a pair
    /// is a target and an impostor) [default: instance; lmnn: pair]
    #[arg(long, value_enum, value_name = "RULE")]
    slack: Option<SlackRule>,
    /// The trade-off between the diameter and violated margins: larger is smoother (lip-d, lip-i)
    /// [default: 1, as in the paper, in `compare`; else see --c-rel]
    /// `auto` chooses it on held-out rows.
    #[arg(long, value_name = "VALUE", value_parser = trade_off, conflicts_with = "c_rel")]
    c: Option<C>,
    /// The same as a fraction of the c from which on nothing is learned (lip-d, lip-i, lip-local)
    /// [default: 0.1; lip-local: 0.2; lip-d and lip-i in `compare` have --c 1]
    #[arg(long, value_name = "FRACTION")]
    c_rel: Option<f64>,
    /// What the diameter is: `max`, the largest distance, as in the paper; `mean`; or `cvar:0.1`, the mean of
    /// the longest tenth (lip-d, lip-i) [default: max]
    #[arg(long, value_name = "RULE", value_parser = diameter)]
    diameter: Option<Diameter>,
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
    /// The largest rank of the distance, for --solver admm or augmented (lip-d, lip-i) [default: any]
    #[arg(long, value_name = "N")]
    rank: Option<usize>,
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

/// A trade-off as it is typed.
#[derive(Clone, Copy, PartialEq)]
enum C {
    Auto,
    Value(f64),
}

fn trade_off(text: &str) -> std::result::Result<C, String> {
    if text == "auto" {
        return Ok(C::Auto);
    }
    text.parse().map(C::Value).map_err(|_| "give a number such as 1, or `auto`".to_owned())
}

#[derive(Clone, Copy, ValueEnum)]
enum SlackRule {
    /// A slack per pair of rows
    Pair,
    /// A slack per row: a mislabelled row pays once
    Instance,
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

fn diameter(text: &str) -> std::result::Result<Diameter, String> {
    match text.split_once(':') {
        None if text == "max" => Ok(Diameter::Maximum),
        None if text == "mean" => Ok(Diameter::Mean),
        Some(("cvar", level)) => match level.parse::<f64>() {
            Ok(level) if level > 0.0 && level < 1.0 => Ok(Diameter::Cvar(level)),
            _ => Err(format!("`{level}` is not a level between 0 and 1, such as 0.1")),
        },
        _ => Err("give max, mean, or cvar:LEVEL, such as cvar:0.1".to_owned()),
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
        let row_slack = self.slack.map(|s| matches!(s, SlackRule::Instance));
        Shared { tol: self.tol, max_iter: self.max_iter, row_slack }
    }

    /// The exact learner with these parameters, but for the trade-off.
    fn exact(&self, variant: Variant) -> Lip {
        let mut lip = Lip::new(variant).slack(match self.slack {
            Some(SlackRule::Pair) => Slack::Pair,
            Some(SlackRule::Instance) | None => Slack::Instance,
        });
        if let Some(tol) = self.tol {
            lip = lip.tolerance(tol);
        }
        if let Some(max_iter) = self.max_iter {
            lip = lip.max_iterations(max_iter);
        }
        if let Some(diameter) = self.diameter {
            lip = lip.diameter_as(diameter);
        }
        if let Some(anchor) = self.anchor {
            let towards = match anchor {
                AnchorTo::Euclid => Towards::Euclid,
                AnchorTo::Within => Towards::Within,
            };
            lip = lip.anchor(Anchor { towards, weight: self.anchor_weight.unwrap_or(0.1) });
        }
        if self.balanced {
            lip = lip.class_weights(ClassWeights::Balanced);
        }
        lip
    }

    /// The exact learner for many trade-offs.
    pub(crate) fn along_a_path(&self, method: Method) -> Result<Lip> {
        let Some(variant) = method.variant() else {
            return Err(Failure::Usage("--method: a path is of lip-d or lip-i; give one of them".to_owned()));
        };
        if self.c.is_some() || self.c_rel.is_some() {
            return Err(Failure::Usage(
                "--c and --c-rel: a path has many of them; give --points and --least".to_owned(),
            ));
        }
        if self.mu.is_some() || self.rank.is_some() || !matches!(self.solver, None | Some(SolverChoice::Exact)) {
            return Err(Failure::Usage(
                "--solver, --mu and --rank: a path is solved exactly; leave them out".to_owned(),
            ));
        }
        Ok(self.exact(variant))
    }

    /// The method with these parameters, where it has them; `usual` is the trade-off if none is given.
    pub(crate) fn learner(&self, method: Method, usual: TradeOff, start: Option<Metric>) -> Result<Box<dyn Learner>> {
        let variant = match (method, method.variant()) {
            (_, Some(variant)) => variant,
            (Method::Auto, _) => return Ok(Box::new(Tuned::new())),
            (Method::LipLocal, _) => return Ok(Box::new(self.local())),
            _ => return Ok(Box::new(Euclidean)),
        };
        let trade_off = match (self.c, self.c_rel) {
            (Some(C::Value(c)), _) => TradeOff::Absolute(c),
            (Some(C::Auto), _) => TradeOff::Relative(0.1),
            (None, Some(fraction)) => TradeOff::Relative(fraction),
            (None, None) => usual,
        };
        let choose = self.c == Some(C::Auto);
        let mut lip = self.exact(variant).trade_off(trade_off);
        if let Some(metric) = &start {
            lip = lip.start_from(metric);
        }
        // What only the exact solver has.
        let exact_only = self.diameter.is_some_and(|d| d != Diameter::Maximum) || self.anchor.is_some();
        let solver = match self.solver.unwrap_or(SolverChoice::Auto) {
            SolverChoice::Exact => None,
            SolverChoice::Auto => Some(Solver::Augmented),
            SolverChoice::Augmented => Some(Solver::Augmented),
            SolverChoice::Admm => Some(Solver::Admm),
            SolverChoice::Paper => Some(Solver::Paper),
        };
        let automatic = matches!(self.solver, None | Some(SolverChoice::Auto));
        if self.mu.is_some() && self.solver != Some(SolverChoice::Paper) {
            return Err(Failure::Usage("--mu belongs to --solver paper; leave it out, or add that".to_owned()));
        }
        if self.rank.is_some() && !matches!(self.solver, Some(SolverChoice::Admm | SolverChoice::Augmented)) {
            return Err(Failure::Usage("--rank belongs to --solver admm or augmented; add one of them".to_owned()));
        }
        let exact = |lip: Lip| -> Box<dyn Learner> {
            if choose { Box::new(Tuned::trade_off(lip, None)) } else { Box::new(lip) }
        };
        let Some(solver) = solver else { return Ok(exact(lip)) };
        if automatic && (exact_only || matches!(self.slack, Some(SlackRule::Instance))) {
            return Ok(if choose { exact(lip) } else { Box::new(LipAuto::only_exact(lip)) });
        }
        if choose && !automatic {
            return Err(Failure::Usage(
                "--c auto chooses by the exact solver: leave out --solver, or give --solver exact or auto".to_owned(),
            ));
        }
        if exact_only {
            return Err(Failure::Usage(
                "--diameter and --anchor need --solver exact; leave out the one or the other".to_owned(),
            ));
        }
        let slack = if matches!(self.slack, Some(SlackRule::Instance)) { Slack::Instance } else { Slack::Pair };
        let mut large = LipAdmm::new(variant).solver(solver).slack(slack).trade_off(trade_off);
        if self.balanced {
            large = large.class_weights(ClassWeights::Balanced);
        }
        if let Some(metric) = &start {
            large = large.start_from(metric);
        }
        if let Some(mu) = self.mu {
            large = large.mu(mu);
        }
        if let Some(rank) = self.rank {
            large = large.rank(rank);
        }
        if let Some(tol) = self.tol {
            large = large.tolerance(tol);
        }
        if let Some(max_iter) = self.max_iter {
            large = large.max_iterations(max_iter);
        }
        Ok(match (choose, automatic) {
            (true, _) => Box::new(Tuned::trade_off(lip, Some(large))),
            (false, true) => Box::new(LipAuto::new(lip, large)),
            (false, false) => Box::new(large),
        })
    }

    /// Lip^I by near pairs, with what it has of these parameters.
    fn local(&self) -> LipLocal {
        let mut local = LipLocal::new();
        if let Some(fraction) = self.c_rel {
            local = local.c_relative(fraction);
        }
        if let Some(tol) = self.tol {
            local = local.tolerance(tol);
        }
        if let Some(max_iter) = self.max_iter {
            local = local.max_iterations(max_iter);
        }
        local
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
    k: Option<usize>,
    /// How much each neighbour's vote counts
    #[arg(long, value_enum, value_name = "RULE", default_value_t = Votes::Uniform)]
    weights: Votes,
}

pub(crate) fn neighbours(text: &str) -> std::result::Result<usize, String> {
    if text == "auto" {
        return Ok(Voting::CHOOSE);
    }
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
    pub(crate) fn settings(&self) -> Voting {
        let weights = match self.weights {
            Votes::Uniform => Weights::Uniform,
            Votes::Distance => Weights::Distance,
        };
        Voting { k: self.k.unwrap_or(1), weights }
    }

    /// The same where the method decides what is usual.
    pub(crate) fn settings_for(&self, method: Method) -> Voting {
        let usual = if method == Method::Auto { Voting::CHOOSE } else { 1 };
        Voting { k: self.k.unwrap_or(usual), ..self.settings() }
    }
}
