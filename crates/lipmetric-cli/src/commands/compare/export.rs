//! The table for a paper or a page: LaTeX and Markdown.

use super::certified;
use super::table::{judged, splits};
use super::{Args, Outcome};
use crate::output::short;
use lipmetric::evaluate::Comparison;

/// Cells of the table: a row of titles, then one per data set, with the best of each row marked by `bold`.
fn cells(comparison: &Comparison, plus_minus: &str, bold: impl Fn(&str) -> String) -> Vec<Vec<String>> {
    let best = comparison.best();
    let several = comparison.methods.len() > 1;
    let mut rows = vec![std::iter::once("data".to_owned()).chain(comparison.methods.iter().cloned()).collect()];
    for (s, name) in comparison.subjects.iter().enumerate() {
        let cell = |(m, cell): (usize, &lipmetric::evaluate::Cell)| match cell.accuracy() {
            Some(a) => {
                let text = match comparison.repeats() {
                    1 => format!("{:.2}", 100.0 * a.mean),
                    _ => format!("{:.2} {plus_minus} {:.2}", 100.0 * a.mean, 100.0 * a.sd),
                };
                if several && best[s][m] { bold(&text) } else { text }
            }
            None => "--".to_owned(),
        };
        let row = comparison.cells[s].iter().enumerate().map(cell);
        rows.push(std::iter::once(name.clone()).chain(row).collect());
    }
    rows
}

/// The certified accuracies in the same form: a row per data set and method, a column per radius. Nothing without radii.
fn certified_cells(outcome: &Outcome<'_>, args: &Args, bold: impl Fn(&str) -> String) -> Option<Vec<Vec<String>>> {
    let radii = &args.certified.radius;
    if radii.is_empty() {
        return None;
    }
    let head = ["data".to_owned(), "method".to_owned()].into_iter().chain(radii.iter().map(|r| short(*r)));
    let mut rows = vec![head.collect()];
    for block in certified::blocks(&outcome.comparison, radii.len()) {
        for (m, method) in outcome.comparison.methods.iter().enumerate() {
            let cells = (0..radii.len()).map(|at| match block.cell(m, at) {
                Some((text, true)) => bold(&text),
                Some((text, false)) => text,
                None => "--".to_owned(),
            });
            rows.push([block.title.clone(), method.clone()].into_iter().chain(cells).collect());
        }
    }
    Some(rows)
}

fn caption(outcome: &Outcome<'_>, args: &Args) -> String {
    let over = if outcome.comparison.repeats() == 1 { "of" } else { "mean and standard deviation over" };
    format!(
        "{} in per cent, {over} {} (seed {}); the best of each row is bold.",
        sentence(&judged(args)),
        splits(outcome, args.task.task()),
        outcome.protocol.seed
    )
}

fn certified_caption(args: &Args) -> String {
    sentence(&certified::caption(&args.certified)) + ". The best of each data set is bold."
}

/// With a capital letter.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Tables of the package `booktabs`.
pub(super) fn latex(outcome: &Outcome<'_>, args: &Args) -> String {
    let bold = |text: &str| format!(r"\textbf{{{text}}}");
    let rows = cells(&outcome.comparison, r"$\pm$", bold);
    let mut text = "% needs \\usepackage{booktabs}\n".to_owned() + &latex_table(&rows, &caption(outcome, args), 1);
    if let Some(rows) = certified_cells(outcome, args, bold) {
        text += &latex_table(&rows, &certified_caption(args), 2);
    }
    text
}

/// One of them; marks of our own stand only in cells behind the columns of names.
fn latex_table(rows: &[Vec<String>], caption: &str, names: usize) -> String {
    let line = |row: &[String], first: bool| {
        let cells = row.iter().enumerate().map(|(j, c)| if first || j < names { tex(c) } else { c.clone() });
        format!("{} \\\\\n", cells.collect::<Vec<_>>().join(" & "))
    };
    let mut text = format!(
        "\\begin{{table}}\n\\centering\n\\caption{{{}}}\n\\begin{{tabular}}{{{}{}}}\n\\toprule\n",
        tex(caption),
        "l".repeat(names),
        "r".repeat(rows[0].len() - names)
    );
    text += &line(&rows[0], true);
    text += "\\midrule\n";
    for row in &rows[1..] {
        text += &line(row, false);
    }
    text + "\\bottomrule\n\\end{tabular}\n\\end{table}\n"
}

/// Text with LaTeX's own characters as letters.
fn tex(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            '^' => out += "\\textasciicircum{}",
            '~' => out += "\\textasciitilde{}",
            '\\' => out += "\\textbackslash{}",
            c => out.push(c),
        }
    }
    out
}

/// Tables of GitHub's Markdown.
pub(super) fn markdown(outcome: &Outcome<'_>, args: &Args) -> String {
    let bold = |text: &str| format!("**{text}**");
    let rows = cells(&outcome.comparison, "±", bold);
    let mut text = markdown_table(&rows, &caption(outcome, args), 1);
    if let Some(rows) = certified_cells(outcome, args, bold) {
        text += &("\n".to_owned() + &markdown_table(&rows, &certified_caption(args), 2));
    }
    text
}

fn markdown_table(rows: &[Vec<String>], caption: &str, names: usize) -> String {
    let line = |row: &[String]| {
        let cells: Vec<String> = row.iter().map(|c| c.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut text = line(&rows[0]) + &"|---".repeat(names) + &"|---:".repeat(rows[0].len() - names) + "|\n";
    for row in &rows[1..] {
        text += &line(row);
    }
    text + "\n" + caption + "\n"
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_are_letters_in_latex() {
        assert_eq!(super::tex("Lip^D_1 50 % {a}\\"), "Lip\\textasciicircum{}D\\_1 50 \\% \\{a\\}\\textbackslash{}");
    }
}
