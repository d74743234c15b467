//! From `--methods` to the columns of the table.

use crate::failure::{Failure, Result};
use crate::method::{LipArgs, Method, MethodArgs, VotingArgs, neighbours};
use crate::rivals::RivalArgs;
use clap::{Parser, ValueEnum};
use lipmetric::classify::K;
use lipmetric::method::{Learner, TradeOff};

/// The columns without `--methods`: the paper's, and what `fit` does by default.
pub(super) const USUAL: [&str; 9] = ["lip-d", "lip-d-p", "lip-i", "lip-i-p", "nn", "lmnn", "mcml", "nca", "auto"];

/// After how many iterations the paper's ADMM is stopped: see docs/paper.md.
const PAPER_STEPS: usize = 10;

/// A method, and what was said about it alone.
#[derive(Clone)]
pub(crate) struct Column {
    /// As typed.
    pub(super) text: String,
    /// What the table calls it: a method's name, and what was said about it after colons.
    pub(super) title: String,
    method: Method,
    /// Whether it is one of the paper's (P) columns.
    by_the_paper: bool,
    own: Own,
}

/// What can be said about one column.
#[derive(Parser, Clone)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Own {
    #[command(flatten)]
    lip: LipArgs,
    #[command(flatten)]
    rivals: RivalArgs,
    #[arg(long, value_parser = neighbours)]
    k: Option<K>,
}

/// Options that all columns share where they have no own.
pub(super) struct Shared<'a> {
    pub(super) lip: &'a LipArgs,
    pub(super) rivals: &'a RivalArgs,
    pub(super) voting: &'a VotingArgs,
}

/// `METHOD` or `METHOD:OPTION=VALUE:...`, such as `lip-i:c=0.1:slack=pair`.
pub(super) fn column(text: &str) -> std::result::Result<Column, String> {
    let mut parts = text.split(':');
    let name = parts.next().unwrap_or_default();
    let (plain, by_the_paper) = match name.strip_suffix("-p") {
        Some(lip) if lip.starts_with("lip-") => (lip, true),
        _ => (name, false),
    };
    let method = Method::from_str(plain, true).map_err(|_| {
        let known = Method::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let known: Vec<String> = known.map(|v| v.get_name().to_owned()).collect();
        format!(
            "`{name}` is no method; there are {}, nn (the same as euclidean), lip-d-p and lip-i-p",
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
    let own = Own::try_parse_from(&options).map_err(|e| {
        let first = e.to_string();
        let first = first.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        format!("{first}; give options as in `lip-i:c=0.1:slack=pair`")
    })?;
    let mut title = method.title().to_owned();
    if by_the_paper {
        title += "(P)";
    }
    for option in &options {
        title += &format!(":{}", option.trim_start_matches("--"));
    }
    Ok(Column { text: text.to_owned(), title, method, by_the_paper, own })
}

impl Column {
    /// Whether a name given by the user means this column.
    pub(super) fn is(&self, name: &str) -> bool {
        self.text.eq_ignore_ascii_case(name)
            || self.title.eq_ignore_ascii_case(name)
            || column(name).is_ok_and(|c| c.title == self.title)
    }

    /// The method with its parameters. A penalty that is meant for the (P) columns does not trouble the others.
    pub(super) fn learner(&self, shared: &Shared<'_>, some_by_the_paper: bool) -> Result<Box<dyn Learner>> {
        let lip = self.own.lip.or(shared.lip);
        if self.by_the_paper {
            if self.own.lip.beyond_the_paper() {
                return Err(self.wrong("its slack and its solver are the paper's; say `lip-d` or `lip-i` for others"));
            }
            let learner = lip.by_the_paper(PAPER_STEPS).learner(self.method, TradeOff::Absolute(1.0), None)?;
            self.check(&self.own.lip.by_the_paper(PAPER_STEPS))?;
            return Ok(learner);
        }
        self.check(&self.own.lip)?;
        let lip = if some_by_the_paper && !self.own.lip.has_mu() { lip.without_idle_mu() } else { lip };
        let rivals = self.own.rivals.or(shared.rivals);
        match rivals.learner(self.method, &lip.shared(), None)? {
            Some(rival) => Ok(rival),
            None => lip.learner(self.method, TradeOff::Absolute(1.0), rivals.metric()?),
        }
    }

    /// Refuses what the method does not have.
    fn check(&self, lip: &LipArgs) -> Result {
        let voting = VotingArgs::default();
        let alone = MethodArgs { method: self.method, lip: lip.clone(), rivals: self.own.rivals.clone(), voting };
        alone.learner().map(|_| ()).map_err(|e| self.wrong(&e.to_string()))
    }

    fn wrong(&self, why: &str) -> Failure {
        Failure::Usage(format!("--methods {}: {why}", self.text))
    }

    /// How many neighbours vote.
    pub(super) fn k(&self, shared: &Shared<'_>) -> K {
        self.own.k.unwrap_or(shared.voting.k())
    }

    pub(super) fn is_by_the_paper(&self) -> bool {
        self.by_the_paper
    }
}
