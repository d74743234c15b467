//! Certified accuracies: a block per data set, a row per method, a column per radius.

use super::grid::{Grid, bold, wrap};
use crate::output::short;
use crate::radius::CertifiedArgs;
use lipmetric::evaluate::Comparison;

/// The accuracies of all methods on one data set, or in the mean of all.
pub(super) struct Block {
    pub(super) title: String,
    /// A row per method and a mean in per cent per radius; nothing where a fit was refused.
    means: Vec<Vec<Option<f64>>>,
}

impl Block {
    /// The figure of a method at a radius and whether it is, as printed, the best one of several.
    pub(super) fn cell(&self, method: usize, at: usize) -> Option<(String, bool)> {
        let shown = |mean: f64| format!("{mean:.2}");
        let top = self.means.iter().filter_map(|row| row[at]).fold(f64::NEG_INFINITY, f64::max);
        self.means[method][at].map(|mean| (shown(mean), self.means.len() > 1 && shown(mean) == shown(top)))
    }
}

/// A block per data set and, where they are several, one of the means over those that no method refused.
pub(super) fn blocks(comparison: &Comparison, radii: usize) -> Vec<Block> {
    let of = |row: &Vec<lipmetric::evaluate::Cell>| -> Vec<Vec<Option<f64>>> {
        row.iter().map(|c| (0..radii).map(|at| c.certified(at).map(|s| 100.0 * s.mean)).collect()).collect()
    };
    let mut blocks: Vec<Block> = comparison
        .subjects
        .iter()
        .zip(&comparison.cells)
        .map(|(title, row)| Block { title: title.clone(), means: of(row) })
        .collect();
    let whole: Vec<&Block> = blocks.iter().filter(|b| b.means.iter().flatten().all(Option::is_some)).collect();
    if whole.len() > 1 {
        let mean = |m: usize, at: usize| whole.iter().filter_map(|b| b.means[m][at]).sum::<f64>() / whole.len() as f64;
        let row = |m: usize| (0..radii).map(|at| Some(mean(m, at))).collect();
        let means = (0..comparison.methods.len()).map(row).collect();
        let left = if whole.len() < blocks.len() { " without a dash" } else { "" };
        let title = format!("mean of the {} data sets{left}", whole.len());
        blocks.push(Block { title, means });
    }
    blocks
}

/// The figures of all methods for a person.
pub(super) fn describe(comparison: &Comparison, asked: &CertifiedArgs, width: usize) -> String {
    let titles: Vec<String> = asked.radius.iter().map(|radius| short(*radius)).collect();
    let mut grid = Grid::new(titles.iter().map(String::as_str));
    for block in blocks(comparison, titles.len()) {
        grid.row(&block.title, titles.iter().map(|_| " ".to_owned()));
        for (m, method) in comparison.methods.iter().enumerate() {
            let cells = (0..titles.len()).map(|at| match block.cell(m, at) {
                Some((text, true)) => bold(&format!("{text}*")),
                Some((text, false)) => text + " ",
                None => "- ".to_owned(),
            });
            grid.row(&format!("  {method}"), cells);
        }
    }
    let told = format!("{}; * highest mean of its block, not necessarily significant", caption(asked));
    grid.render(width) + "\n" + &wrap(&told, 0, width.min(100))
}

/// What the figures are.
pub(super) fn caption(asked: &CertifiedArgs) -> String {
    format!(
        "certified accuracy in per cent at each radius ({}), mean over the splits: the test rows that are predicted correctly and \
         stay so, whatever is done to them within the radius",
        asked.describe()
    )
}
