//! The table that a person reads.

use super::grid::{Grid, bold, wrap};
use super::report::refusal;
use super::{Args, Outcome};
use crate::method::options;
use crate::output::{counted, short};
use lipmetric::Task;
use lipmetric::classify::K;
use lipmetric::evaluate::{Comparison, Summary};
use lipmetric::method::Spec;
use lipmetric::model::ClassifierSpec;
use lipmetric::solver::Status;

/// How much of a cell is in a line.
#[derive(Clone, Copy)]
enum Form {
    /// `79.57 ± 2.72`
    OneLine,
    /// The deviation below the mean.
    TwoLines,
    /// The mean alone: of a single split there is no deviation.
    Mean,
}

pub(super) fn describe(outcome: &Outcome<'_>, args: &Args, width: usize) -> String {
    let comparison = &outcome.comparison;
    let single = comparison.repeats() == 1;
    let wide = grid(comparison, if single { Form::Mean } else { Form::OneLine });
    let grid = if single || wide.width() <= width { wide } else { grid(comparison, Form::TwoLines) };
    let mut text = grid.render(width) + "\n";
    text += &wrap(&caption(outcome, args), 0, width.min(100));
    text += &settings(outcome, args.task.task(), width);
    for line in troubles(comparison) {
        text += &wrap(&line, 2, width.min(100));
    }
    text
}

fn cell(accuracy: Summary, best: bool, form: Form) -> String {
    let (mean, sd) = (100.0 * accuracy.mean, 100.0 * accuracy.sd);
    let mark = if best { "*" } else { " " };
    match form {
        Form::OneLine => {
            let text = format!("{mean:.2} ± {sd:.2}{mark}");
            if best { bold(&text) } else { text }
        }
        Form::TwoLines => {
            let text = format!("{mean:.2}{mark}");
            format!("{}\n±{sd:.2} ", if best { bold(&text) } else { text })
        }
        Form::Mean => {
            let text = format!("{mean:.2}{mark}");
            if best { bold(&text) } else { text }
        }
    }
}

fn grid(comparison: &Comparison, form: Form) -> Grid {
    let best = comparison.best();
    let methods = comparison.methods.len();
    let mut grid = Grid::new(comparison.methods.iter().map(String::as_str));
    for (s, name) in comparison.subjects.iter().enumerate() {
        let cells = comparison.cells[s].iter().zip(&best[s]);
        let cells = cells.map(|(c, best)| match c.accuracy() {
            Some(accuracy) => cell(accuracy, *best && methods > 1, form),
            None => "- ".to_owned(),
        });
        grid.row(name, cells);
    }
    if methods > 1 && comparison.subjects.len() > 1 {
        grid.row("# of best", (0..methods).map(|m| format!("{} ", best.iter().filter(|b| b[m]).count())));
        let rank = |r: Option<f64>| r.map_or("- ".to_owned(), |r| format!("{r:.2} "));
        let ranks = comparison.average_ranks();
        grid.row("mean rank", (0..methods).map(|m| rank(ranks.as_ref().map(|r| r[m]))));
    }
    let seconds =
        |m: usize| Summary::of(&comparison.cells.iter().filter_map(|row| row[m].fit_seconds()).collect::<Vec<_>>());
    grid.row(
        "fit seconds",
        (0..methods).map(|m| seconds(m).map_or("- ".to_owned(), |s| format!("{} ", duration(s.mean)))),
    );
    grid
}

/// Always as wide: the table's layout must not depend on the clock.
fn duration(seconds: f64) -> String {
    if seconds < 1e-4 {
        return "<.0001".to_owned();
    }
    let digits = if seconds < 0.01 {
        4
    } else if seconds < 10.0 {
        3
    } else {
        1
    };
    format!("{seconds:6.digits$}")
}

/// What the figures are over: `10 stratified splits, 0.6 of each class to train`.
pub(super) fn splits(outcome: &Outcome<'_>, task: Task) -> String {
    let (done, protocol) = (outcome.comparison.repeats(), &outcome.protocol);
    let first = if done < protocol.count() { format!("the first {done} of ") } else { String::new() };
    match protocol.folds {
        Some(k) => format!("{first}{k} folds of a stratified cross-validation"),
        None => {
            let splits = counted(protocol.repeats, "stratified split", "stratified splits");
            let each = if task == Task::Regression { "the rows" } else { "each class" };
            format!("{first}{splits}, {} of {each} to train", protocol.train_fraction)
        }
    }
}

/// What the methods are judged by: `accuracy`.
pub(super) fn judged(args: &Args) -> String {
    let plain = if args.task.task() == Task::Regression { "explained variance (R2)" } else { "accuracy" };
    args.rank_by.map_or(plain.to_owned(), |radius| {
        format!("certified accuracy at radius {} ({})", short(radius), args.certified.describe())
    })
}

fn caption(outcome: &Outcome<'_>, args: &Args) -> String {
    let comparison = &outcome.comparison;
    let splits = splits(outcome, args.task.task());
    let over = if outcome.comparison.repeats() == 1 { "of" } else { "mean ± standard deviation over" };
    let usual = usual(outcome);
    let voting = match usual {
        K::Auto => "k nearest neighbours, k chosen by leave-one-out".to_owned(),
        K::Fixed(1) => "1 nearest neighbour".to_owned(),
        K::Fixed(k) => format!("{k} nearest neighbours"),
    };
    let others = outcome.classifiers.iter().any(|c| !is_usual(c, usual));
    let unless = if others { " unless a line below says otherwise" } else { "" };
    let mut text = format!(
        "{} in per cent, {over} {splits} (seed {}); missing \
         values: {}, scaling: {}, {voting}{unless}",
        judged(args),
        outcome.protocol.seed,
        args.prepare.fill,
        scaling(outcome, args),
    );
    if comparison.methods.len() > 1 {
        text += "; * highest mean of its row, not necessarily significant";
    }
    text
}

/// How features are scaled.
fn scaling(outcome: &Outcome<'_>, args: &Args) -> String {
    let scale = args.prepare.scale;
    let classes = args.task.task() != Task::Regression;
    let chooses = classes && scale.0.is_auto() && outcome.specs.iter().any(|spec| matches!(spec, Spec::Auto(_)));
    let unless = if chooses { " (auto may take minmax or quantile)" } else { "" };
    format!("{}{unless}", scale.usual())
}

/// What each method was told, methods with the same settings together.
fn settings(outcome: &Outcome<'_>, task: Task, width: usize) -> String {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    let columns = outcome.comparison.methods.iter().zip(outcome.specs);
    let usual = usual(outcome);
    for ((name, spec), classifier) in columns.zip(&outcome.classifiers) {
        let own = if is_usual(classifier, usual) { String::new() } else { prediction(classifier, spec) };
        let told: Vec<String> = [parameters(spec, task), own].into_iter().filter(|p| !p.is_empty()).collect();
        let parameters = told.join("; ");
        match groups.iter_mut().find(|g| g.0 == parameters) {
            Some(group) => group.1.push(name),
            None => groups.push((parameters, vec![name])),
        }
    }
    let lines = groups.into_iter().filter(|g| !g.0.is_empty());
    lines.map(|(parameters, names)| wrap(&format!("{}: {parameters}", names.join(", ")), 2, width.min(100))).collect()
}

/// How many neighbours vote in the first column that votes: what the caption says of all.
fn usual(outcome: &Outcome<'_>) -> K {
    let votes = outcome.classifiers.iter().find_map(|c| match c {
        ClassifierSpec::Vote { k, .. } => Some(*k),
        _ => None,
    });
    votes.unwrap_or_default()
}

fn is_usual(classifier: &ClassifierSpec, usual: K) -> bool {
    matches!(classifier, ClassifierSpec::Vote { k, .. } if *k == usual)
}

/// What predicts, in the words of the help.
fn prediction(classifier: &ClassifierSpec, spec: &Spec) -> String {
    match classifier {
        ClassifierSpec::Vote { k: K::Fixed(1), .. } => "1 nearest neighbour".to_owned(),
        ClassifierSpec::Vote { k: K::Fixed(k), .. } => format!("{k} nearest neighbours"),
        ClassifierSpec::Vote { k: K::Auto, .. } if spec.chooses() => "k chosen by cross-validation".to_owned(),
        ClassifierSpec::Vote { k: K::Auto, .. } => "k chosen by leave-one-out".to_owned(),
        ClassifierSpec::Auto => "distance and function chosen by cross-validation".to_owned(),
        ClassifierSpec::Smooth(_) if spec.chooses() => "smooth function of the chosen distance".to_owned(),
        ClassifierSpec::Smooth(_) => "smooth function of the distances, its bandwidth and ridge chosen".to_owned(),
        _ => "Lipschitz extension of the learned values".to_owned(),
    }
}

/// `slack instance, c 1`.
fn parameters(spec: &Spec, task: Task) -> String {
    let shown = options::worded_parameters(spec, task).into_iter();
    shown.map(|(name, value)| format!("{} {value}", name.replace('_', "-"))).collect::<Vec<_>>().join(", ")
}

/// Cells without a result, and fits that ended before their tolerance.
fn troubles(comparison: &Comparison) -> Vec<String> {
    let mut lines = Vec::new();
    for (subject, row) in comparison.subjects.iter().zip(&comparison.cells) {
        for (method, cell) in comparison.methods.iter().zip(row) {
            let Some(reason) = cell.refusal() else { continue };
            let count = cell.trials.iter().filter(|t| t.is_err()).count();
            lines.push(format!("- {subject}, {method} ({count} of {} splits): {}", cell.trials.len(), refusal(reason)));
        }
    }
    let mut early: Vec<(Status, Vec<String>)> = Vec::new();
    for (m, method) in comparison.methods.iter().enumerate() {
        let trials = || comparison.cells.iter().flat_map(|row| row[m].trials.iter().flatten());
        let mut left: Vec<Status> = trials().map(|t| t.outcome.status).filter(|s| !s.converged()).collect();
        while let Some(&status) = left.first() {
            let count = left.iter().filter(|s| **s == status).count();
            left.retain(|s| *s != status);
            let text = format!("{method} {count} of {} fits", trials().count());
            match early.iter_mut().find(|e| e.0 == status) {
                Some(known) => known.1.push(text),
                None => early.push((status, vec![text])),
            }
        }
    }
    lines.extend(early.into_iter().map(|(status, texts)| format!("{}: {}", status.describe(), texts.join(", "))));
    lines
}
