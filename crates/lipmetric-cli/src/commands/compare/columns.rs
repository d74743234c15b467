//! From `--methods` to the columns of the table.

use crate::failure::{Failure, Result};
use crate::method::options::{self, Given};
use crate::method::{LipArgs, Method, PredictionArgs, start_from};
use crate::rivals::RivalArgs;
use clap::{Parser, ValueEnum};
use lipmetric::data::similar;
use lipmetric::method::{Choose, Solver, Spec, TradeOff};
use lipmetric::model::ClassifierSpec;
use lipmetric::problem::Slack;
use lipmetric::{Metric, Task};
use std::path::PathBuf;

/// The columns without `--methods`: the paper's, Lip^D and Lip^I by the paper's classifier, and what `fit` does by default.
pub(super) const USUAL: [&str; 11] =
    ["lip-d", "lip-d-p", "lip-i", "lip-i-p", "nn", "lmnn", "mcml", "nca", "lip-d-f", "lip-i-f", "auto"];

/// The same with `--task regression`.
pub(super) const USUAL_FOR_NUMBERS: [&str; 4] = ["nn", "mlkr", "agop", "auto"];

/// After how many iterations the paper's ADMM is stopped: see docs/paper.md.
const PAPER_STEPS: usize = 10;

/// What to do with an option that no column has.
const COLUMN: &str = "use the column";

/// Columns that a suffix makes of Lip^D and Lip^I.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Suffix {
    None,
    /// `-p`: as the paper solves them.
    Paper,
    /// `-f`: by the function that the paper selects, with c chosen.
    Function,
}

/// What can be said about a (P) column.
const OF_THE_PAPER: [&str; 5] = ["c", "c_rel", "mu", "tol", "max_iter"];

/// A method, and what was said about it alone.
#[derive(Clone)]
pub(crate) struct Column {
    /// As typed.
    pub(super) text: String,
    /// What the table calls it: a method's name, and what was said about it after colons.
    pub(super) title: String,
    method: Method,
    suffix: Suffix,
    own: Own,
}

/// What can be said about one column, or about all.
#[derive(clap::Args, Clone)]
pub(super) struct Own {
    #[command(flatten)]
    lip: LipArgs,
    #[command(flatten)]
    rivals: RivalArgs,
    #[command(flatten)]
    pub(super) prediction: PredictionArgs,
}

/// The same as words by themselves.
#[derive(Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Words {
    #[command(flatten)]
    own: Own,
}

impl Own {
    fn given(&self) -> Given {
        let mut given = self.lip.given();
        given.extend(self.rivals.given());
        given
    }
}

/// Options that all columns share where they have no own.
pub(super) struct Shared {
    given: Given,
    warm_start: Option<PathBuf>,
}

impl Shared {
    /// What was given for all columns; each option must belong to one of them.
    pub(super) fn new(own: &Own, columns: &[Column]) -> Result<Self> {
        let (given, start) = (own.given(), own.rivals.warm_start());
        for option in given.keys().map(String::as_str).chain(start.map(|_| "warm_start")) {
            if let Some(first) = columns.first()
                && !columns.iter().any(|c| options::has(&c.method.base(), option))
            {
                options::check(option, first.method, COLUMN)?;
            }
        }
        Ok(Self { given, warm_start: start.map(Into::into) })
    }
}

/// `METHOD` or `METHOD:OPTION=VALUE:...`, such as `lip-i:c=0.1:slack=pair`.
pub(super) fn column(text: &str) -> std::result::Result<Column, String> {
    let mut parts = text.split(':');
    let name = parts.next().unwrap_or_default();
    let suffixed = |end: &str| name.strip_suffix(end).filter(|lip| ["lip-d", "lip-i"].contains(lip));
    let (plain, suffix) = match (suffixed("-p"), suffixed("-f")) {
        (Some(lip), _) => (lip, Suffix::Paper),
        (_, Some(lip)) => (lip, Suffix::Function),
        _ => (name, Suffix::None),
    };
    let method = Method::from_str(plain, true).map_err(|_| {
        let known = Method::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let known: Vec<String> = known.map(|v| v.get_name().to_owned()).collect();
        let others = ["nn", "lip-d-p", "lip-i-p", "lip-d-f", "lip-i-f"];
        let meant = similar(name, known.iter().map(String::as_str).chain(others));
        let meant = meant.map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
        format!(
            "`{name}` is no method; there are {}, nn (the same as euclidean), lip-d-p, lip-i-p, lip-d-f and lip-i-f{meant}",
            known.join(", ")
        )
    })?;
    let mut options: Vec<String> = Vec::new();
    for part in parts {
        match options.last_mut() {
            // `diameter=cvar:0.1` and `init=random:7` have colons of their own.
            Some(last) if part.starts_with(|c: char| c.is_ascii_digit()) => *last += &format!(":{part}"),
            _ => options.push(format!("--{part}")),
        }
    }
    let own = Words::try_parse_from(&options).map(|words| words.own).map_err(|e| {
        let first = e.to_string();
        let first = first.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        format!("{first}; give options as in `lip-i:c=0.1:slack=pair`")
    })?;
    let mut title = method.title().to_owned();
    title += match suffix {
        Suffix::None => "",
        Suffix::Paper => "(P)",
        Suffix::Function => "(f)",
    };
    for option in &options {
        title += &format!(":{}", option.trim_start_matches("--"));
    }
    Ok(Column { text: text.to_owned(), title, method, suffix, own })
}

impl Column {
    /// Whether a name given by the user means this column.
    pub(super) fn is(&self, name: &str) -> bool {
        self.text.eq_ignore_ascii_case(name)
            || self.title.eq_ignore_ascii_case(name)
            || column(name).is_ok_and(|c| c.title == self.title)
    }

    /// The method with its parameters: its own, and those given for all columns that it has.
    pub(super) fn spec(&self, shared: &Shared) -> Result<Spec> {
        let own = self.own.given();
        for option in own.keys() {
            options::check(option, self.method, COLUMN).map_err(|e| self.wrong(&e))?;
        }
        if self.own.rivals.warm_start().is_some() {
            options::check("warm_start", self.method, COLUMN).map_err(|e| self.wrong(&e))?;
        }
        let mut given = options::merged(&own, &shared.given);
        if self.suffix == Suffix::Paper {
            if own.keys().any(|option| !OF_THE_PAPER.contains(&option.as_str())) {
                return Err(
                    self.wrong(&"its slack and solver are fixed to the paper's; use `lip-d` or `lip-i` for others")
                );
            }
            given.retain(|option, _| OF_THE_PAPER.contains(&option.as_str()));
        } else if !own.contains_key("mu") && given.get("solver").is_none_or(|solver| solver != "paper") {
            // A penalty that is meant for the paper's columns does not trouble the others.
            given.remove("mu");
        }
        options::apply(&self.preset(&given), &given).map_err(|e| self.wrong(&e))
    }

    /// What the column is unless something else is said: Lip^D and Lip^I have the paper's `c = 1`, and its (P) columns are
    /// solved as it does.
    fn preset(&self, given: &Given) -> Spec {
        let chooses = given.values().any(|value| value == "auto");
        match self.method.base() {
            Spec::Lip(lip) if self.suffix == Suffix::Function => lip.trade_off(Choose::Auto).into(),
            Spec::Lip(lip) if self.suffix == Suffix::Paper => {
                let lip = lip.trade_off(TradeOff::PAPER).slack(Slack::Pair).solver(Solver::Paper);
                lip.max_iterations(PAPER_STEPS).into()
            }
            Spec::Lip(lip) if !lip.chooses() && !chooses => lip.trade_off(TradeOff::PAPER).into(),
            other => other,
        }
    }

    /// The distance to begin from.
    pub(super) fn start(&self, shared: &Shared) -> Result<Option<Metric>> {
        let own = self.own.given().contains_key("init");
        let path = self.own.rivals.warm_start().or(shared.warm_start.as_deref().filter(|_| !own));
        let takes = self.suffix != Suffix::Paper && options::has(&self.method.base(), "warm_start");
        path.filter(|_| takes).map(start_from).transpose()
    }

    fn wrong(&self, why: &dyn std::fmt::Display) -> Failure {
        Failure::Usage(format!("--methods {}: {why}", self.text))
    }

    /// How many directions of its distance are kept.
    pub(super) fn dims(&self, shared: &PredictionArgs) -> Option<usize> {
        self.own.prediction.or(shared).dims()
    }

    /// How the column predicts.
    pub(super) fn classifier(&self, spec: &Spec, task: Task, shared: &PredictionArgs) -> Result<ClassifierSpec> {
        let own = match self.suffix {
            Suffix::Function => self.own.prediction.or(&PredictionArgs::extension()),
            _ => self.own.prediction.or(shared),
        };
        own.classifier(spec, task, false).map_err(|e| self.wrong(&e))
    }
}
