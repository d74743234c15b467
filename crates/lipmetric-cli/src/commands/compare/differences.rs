//! What the differences between the columns are worth.

use super::grid::{Grid, bold, wrap};
use crate::output::{Align, TextTable, counted};
use lipmetric::evaluate::statistics::Verdict;
use lipmetric::evaluate::{Analysis, Comparison};

/// The few lines that always follow the table.
pub(super) fn brief(analysis: &Analysis, width: usize) -> String {
    let sets = analysis.methods.first().map_or(0, |m| m.data.len());
    if sets == 1 { on_one(analysis, width) } else { over_many(analysis, sets, width) }
}

/// A single data set: there is nothing to test over data sets.
fn on_one(analysis: &Analysis, width: usize) -> String {
    let mut table = TextTable::new([vec![Align::Left], vec![Align::Right; 3], vec![Align::Left]].concat());
    table.row([&format!("against {}", analysis.against), "difference", "p", "Holm", ""]);
    for method in &analysis.methods {
        let one = method.data.first().and_then(Option::as_ref);
        let figure = |p: Option<f64>| p.map_or("-".to_owned(), chance);
        table.row([
            method.method.clone(),
            one.map_or("-".to_owned(), |d| points(d.test.difference)),
            figure(one.and_then(|d| d.test.p)),
            figure(one.and_then(|d| d.p_holm)),
            one.map_or(String::new(), |d| d.verdict.describe().to_owned()),
        ]);
    }
    let note = format!(
        "difference in percentage points; p: corrected resampled t-test; Holm: the same p corrected over {}; significant at {} %",
        counted(analysis.tests, "test", "tests"),
        100.0 * analysis.level
    );
    table.render() + &wrap(&note, 0, width.min(100))
}

fn over_many(analysis: &Analysis, sets: usize, width: usize) -> String {
    let mut table = TextTable::new([vec![Align::Left], vec![Align::Right; 6], vec![Align::Left]].concat());
    table.row([
        &format!("against {}", analysis.against),
        "better",
        "worse",
        "undecided",
        "mean",
        "p",
        "Holm",
        "over the data sets",
    ]);
    for method in &analysis.methods {
        let (better, worse, neither) = method.counts();
        table.row([
            method.method.clone(),
            better.to_string(),
            worse.to_string(),
            neither.to_string(),
            method.mean_difference.map_or("-".to_owned(), points),
            method.wilcoxon.map_or("-".to_owned(), |w| chance(w.p)),
            method.wilcoxon_p_holm.map_or("-".to_owned(), chance),
            if method.wilcoxon.is_some() { method.verdict.describe().to_owned() } else { String::new() },
        ]);
    }
    let level = 100.0 * analysis.level;
    let mut text = table.render();
    let mut notes = format!(
        "better, worse: number of data sets on which the difference is significant at {level} % (corrected resampled t-test, \
         Holm-corrected over {}); undecided: the others; mean: mean difference in percentage points; p: exact Wilcoxon \
         signed-rank test over the data sets; Holm: the same p corrected over {}",
        counted(analysis.tests, "test", "tests"),
        counted(analysis.methods.len(), "method", "methods")
    );
    let least = analysis.methods.iter().filter_map(|m| m.wilcoxon.map(|w| w.least_p)).fold(f64::INFINITY, f64::min);
    if least.is_finite() && least * analysis.methods.len() as f64 > analysis.level {
        notes += &format!(
            "; {sets} data sets are too few for any result over the data sets to be significant at {level} % with so many methods"
        );
    }
    text += &wrap(&notes, 0, width.min(100));
    text += &wrap(&ranks(analysis), 0, width.min(100));
    text
}

fn ranks(analysis: &Analysis) -> String {
    let out = match &analysis.left_out[..] {
        [] => String::new(),
        names => format!(" ({} left out: a column has no result there)", names.join(", ")),
    };
    let (Some(test), Some(distance)) = (&analysis.friedman, analysis.critical_difference) else {
        return format!("mean ranks: too few data sets with a result in every column to test them{out}");
    };
    let level = 100.0 * analysis.level;
    let mut text = format!("mean ranks over {} data sets{out}: Friedman's test p = {}", test.n, chance(test.p));
    if test.p > analysis.level {
        text += ", no difference shown";
    } else {
        text +=
            &format!("; significantly different at {level} % (Nemenyi, mean ranks more than {distance:.2} apart): ");
        let pairs: Vec<String> = analysis.apart.iter().map(|(a, b)| format!("{a} before {b}")).collect();
        text += &if pairs.is_empty() { "no pair".to_owned() } else { pairs.join(", ") };
        return text;
    }
    text + &format!(" (critical difference, Nemenyi at {level} %: {distance:.2})")
}

/// A difference in points; what rounds to nothing has no sign.
fn points(difference: f64) -> String {
    let text = format!("{:+.2}", 100.0 * difference);
    if matches!(text.as_str(), "+0.00" | "-0.00") { "0.00".to_owned() } else { text }
}

fn chance(p: f64) -> String {
    if p < 0.001 { "<0.001".to_owned() } else { format!("{p:.3}") }
}

/// Every difference on every data set.
pub(super) fn in_full(analysis: &Analysis, comparison: &Comparison, width: usize) -> String {
    let mut grid = Grid::new(analysis.methods.iter().map(|m| m.method.as_str()));
    for (s, name) in comparison.subjects.iter().enumerate() {
        let cells = analysis.methods.iter().map(|method| match &method.data[s] {
            None => "- ".to_owned(),
            Some(one) => {
                let mark = match one.verdict {
                    Verdict::Better => "+",
                    Verdict::Worse => "-",
                    Verdict::NoDifferenceShown => " ",
                };
                let difference = format!("{}{mark}", points(one.test.difference));
                let p = one.test.p.map_or("-".to_owned(), |p| chance(p).trim_start_matches('0').to_owned());
                format!("{}\np {p} ", if mark == " " { difference } else { bold(&difference) })
            }
        });
        grid.row(name, cells);
    }
    let head = format!(
        "difference to {} in percentage points, with the p-value of the corrected resampled t-test before Holm's correction; \
         + significantly better, - significantly worse after it",
        analysis.against
    );
    wrap(&head, 0, width.min(100)) + "\n" + &grid.render(width)
}
