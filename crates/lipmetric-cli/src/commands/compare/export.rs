//! The table for a paper or a page: LaTeX and Markdown.

use super::Outcome;
use super::table::splits;
use lipmetric::evaluate::Comparison;

/// Cells of the table: a row of titles, then one per data set, with the best of each row marked by `bold`.
fn cells(comparison: &Comparison, plus_minus: &str, bold: impl Fn(&str) -> String) -> Vec<Vec<String>> {
    let best = comparison.best();
    let several = comparison.methods.len() > 1;
    let mut rows = vec![std::iter::once("data".to_owned()).chain(comparison.methods.iter().cloned()).collect()];
    for (s, name) in comparison.subjects.iter().enumerate() {
        let cell = |(m, cell): (usize, &lipmetric::evaluate::Cell)| match cell.accuracy() {
            Some(a) => {
                let text = format!("{:.2} {plus_minus} {:.2}", 100.0 * a.mean, 100.0 * a.sd);
                if several && best[s][m] { bold(&text) } else { text }
            }
            None => "--".to_owned(),
        };
        let row = comparison.cells[s].iter().enumerate().map(cell);
        rows.push(std::iter::once(name.clone()).chain(row).collect());
    }
    rows
}

fn caption(outcome: &Outcome<'_>) -> String {
    format!(
        "Accuracy in per cent, mean and standard deviation over {} (seed {}); the best of each row is bold.",
        splits(outcome),
        outcome.protocol.seed
    )
}

/// A table of the package `booktabs`.
pub(super) fn latex(outcome: &Outcome<'_>) -> String {
    let rows = cells(&outcome.comparison, r"$\pm$", |text| format!(r"\textbf{{{text}}}"));
    let line = |row: &[String], first: bool| {
        // Marks of our own stand only in cells that are not names.
        let cells = row.iter().enumerate().map(|(j, c)| if first || j == 0 { tex(c) } else { c.clone() });
        format!("{} \\\\\n", cells.collect::<Vec<_>>().join(" & "))
    };
    let mut text = format!(
        "% needs \\usepackage{{booktabs}}\n\\begin{{table}}\n\\centering\n\\caption{{{}}}\n\\begin{{tabular}}{{l{}}}\n\\toprule\n",
        tex(&caption(outcome)),
        "r".repeat(outcome.comparison.methods.len())
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

/// A table of GitHub's Markdown.
pub(super) fn markdown(outcome: &Outcome<'_>) -> String {
    let rows = cells(&outcome.comparison, "±", |text| format!("**{text}**"));
    let line = |row: &[String]| {
        let cells: Vec<String> = row.iter().map(|c| c.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut text = line(&rows[0]) + "|---" + &"|---:".repeat(outcome.comparison.methods.len()) + "|\n";
    for row in &rows[1..] {
        text += &line(row);
    }
    text + "\n" + &caption(outcome) + "\n"
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_are_letters_in_latex() {
        assert_eq!(super::tex("Lip^D_1 50 % {a}\\"), "Lip\\textasciicircum{}D\\_1 50 \\% \\{a\\}\\textbackslash{}");
    }
}
