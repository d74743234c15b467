//! The paper's printed results beside ours.

use super::grid::{Grid, bold, wrap};
use super::paper::{ASSUMPTIONS, Beside, printed};
use lipmetric::evaluate::Comparison;
use serde::Serialize;

/// One cell that the paper has, too.
#[derive(Serialize)]
pub(super) struct BesideReport<'a> {
    data: &'a str,
    method: &'a str,
    ours: Option<f64>,
    printed: f64,
    printed_sd: f64,
    difference: Option<f64>,
    standard_errors: Option<f64>,
    within_sd: Option<bool>,
}

#[derive(Serialize)]
pub(super) struct PaperReport<'a> {
    within_sd: usize,
    compared: usize,
    cells: Vec<BesideReport<'a>>,
    assumptions: Vec<Assumption>,
}

#[derive(Serialize)]
struct Assumption {
    about: &'static str,
    text: &'static str,
}

impl<'a> PaperReport<'a> {
    pub(super) fn new(comparison: &'a Comparison) -> Self {
        let mut cells = Vec::new();
        for (data, row) in comparison.subjects.iter().zip(&comparison.cells) {
            for (method, cell) in comparison.methods.iter().zip(row) {
                let Some(theirs) = printed(data, method) else { continue };
                let ours = cell.accuracy();
                let beside = ours.map(|o| Beside::of(theirs, o, comparison.repeats()));
                cells.push(BesideReport {
                    data,
                    method,
                    ours: ours.map(|o| o.mean),
                    printed: theirs.mean,
                    printed_sd: theirs.sd,
                    difference: beside.map(|b| b.difference),
                    standard_errors: beside.and_then(|b| b.standard_errors),
                    within_sd: beside.map(|b| b.within_sd),
                });
            }
        }
        Self {
            within_sd: cells.iter().filter(|c| c.within_sd == Some(true)).count(),
            compared: cells.iter().filter(|c| c.within_sd.is_some()).count(),
            cells,
            assumptions: ASSUMPTIONS.iter().map(|&(about, text)| Assumption { about, text }).collect(),
        }
    }

    pub(super) fn describe(&self, width: usize) -> String {
        if self.cells.is_empty() {
            return "the paper has none of these data sets and methods\n".to_owned();
        }
        let mut methods: Vec<&str> = Vec::new();
        let mut data: Vec<&str> = Vec::new();
        for cell in &self.cells {
            if !methods.contains(&cell.method) {
                methods.push(cell.method);
            }
            if !data.contains(&cell.data) {
                data.push(cell.data);
            }
        }
        let mut grid = Grid::new(methods.iter().copied());
        for name in data {
            let cells = methods.iter().map(|method| {
                let Some(cell) = self.cells.iter().find(|c| c.data == name && c.method == *method) else {
                    return "- ".to_owned();
                };
                let theirs = format!("{:.2} ", 100.0 * cell.printed);
                match (cell.ours, cell.standard_errors) {
                    (Some(ours), z) => {
                        let ours =
                            format!("{:.2}{}", 100.0 * ours, if cell.within_sd == Some(true) { "=" } else { " " });
                        let ours = if cell.within_sd == Some(true) { bold(&ours) } else { ours };
                        format!("{ours}\n{theirs}\n{} ", z.map_or("-".to_owned(), |z| format!("{z:+.1}")))
                    }
                    (None, _) => format!("- \n{theirs}"),
                }
            });
            grid.row(name, cells);
        }
        let head = format!(
            "comparison with the paper: ours, the paper's, the difference in standard errors; = marks a difference within the paper's \
             standard deviation ({} of {})",
            self.within_sd, self.compared
        );
        let mut text = wrap(&head, 0, width.min(100))
            + "\n"
            + &grid.render(width)
            + "\nwhat the paper leaves open, and what is assumed here\n";
        for assumption in &self.assumptions {
            text += &wrap(&format!("- {}: {}", assumption.about, assumption.text), 2, width.min(100));
        }
        text
    }
}
