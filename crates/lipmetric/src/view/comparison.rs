use crate::evaluate::{Analysis, Cell, Comparison, Trial};
use serde::{Deserialize, Serialize};

/// Methods on data sets, split by split.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ComparisonView {
    /// The data sets.
    pub subjects: Vec<String>,
    /// The methods.
    pub methods: Vec<String>,
    /// `cells[subject][method]`.
    pub cells: Vec<Vec<ComparisonCell>>,
    /// The share of the largest class of each data set, where it is known.
    pub majority: Vec<Option<f64>>,
    /// How many splits.
    pub repeats: usize,
    /// The part of each class to train on.
    pub train_fraction: f64,
    /// The methods' ranks over the data sets, where there are some.
    pub ranks: Option<Ranks>,
    /// The method that the others are held against.
    pub against: Option<String>,
    /// For each of the others: its name, on how many data sets it is better, worse and neither, its mean difference, and what the
    /// test over all data sets says.
    pub verdicts: Vec<(String, [usize; 3], Option<f64>, String)>,
    /// The chance of a false call that is allowed.
    pub level: f64,
    /// Of the whole comparison.
    pub seconds: f64,
}

/// A method on a data set.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ComparisonCell {
    /// The mean over the splits, where every split was fitted.
    pub mean: Option<f64>,
    /// The standard deviation.
    pub sd: Option<f64>,
    /// Every split that was fitted.
    pub splits: Vec<f64>,
    /// Whether no method is better here.
    pub best: bool,
    /// Mean seconds of a fit.
    pub fit_seconds: Option<f64>,
    /// Why a split was not fitted.
    pub refused: Option<String>,
}

/// Average ranks, and which of them can be told apart.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Ranks {
    /// Of each method, 1 being the best.
    pub average: Vec<f64>,
    /// Nemenyi's critical difference.
    pub critical_difference: f64,
    /// Of how many data sets.
    pub data_sets: usize,
    /// Friedman's p-value that the methods do not differ at all.
    pub p: f64,
    /// Those that no data set has all methods of.
    pub left_out: Vec<String>,
}

impl ComparisonView {
    /// Of a comparison, and of what its differences are worth.
    #[must_use]
    pub fn of(comparison: &Comparison, analysis: Option<&Analysis>) -> Self {
        let best = comparison.best();
        let row = |(s, row): (usize, &Vec<Cell>)| {
            row.iter().enumerate().map(|(m, cell)| ComparisonCell::of(cell, best[s][m])).collect()
        };
        let majority = |row: &Vec<Cell>| {
            let mut trials = row.iter().flat_map(|c| c.trials.iter().flatten());
            trials.next().map(|t: &Trial| t.confusion.majority())
        };
        let ranks = analysis.and_then(|a| {
            Some(Ranks {
                average: a.friedman.as_ref()?.average_ranks.clone(),
                critical_difference: a.critical_difference?,
                data_sets: a.friedman.as_ref()?.n,
                p: a.friedman.as_ref()?.p,
                left_out: a.left_out.clone(),
            })
        });
        let verdict = |m: &crate::evaluate::Against| {
            let (better, worse, neither) = m.counts();
            let said = match (m.data.len(), m.data.first()) {
                (1, Some(Some(one))) => one.verdict.describe(),
                _ if m.wilcoxon.is_some() => m.verdict.describe(),
                _ => "",
            };
            (m.method.clone(), [better, worse, neither], m.mean_difference, said.to_owned())
        };
        Self {
            subjects: comparison.subjects.clone(),
            methods: comparison.methods.clone(),
            cells: comparison.cells.iter().enumerate().map(row).collect(),
            majority: comparison.cells.iter().map(majority).collect(),
            repeats: comparison.repeats(),
            ranks,
            against: analysis.map(|a| a.against.clone()),
            verdicts: analysis.map_or_else(Vec::new, |a| a.methods.iter().map(verdict).collect()),
            level: analysis.map_or(0.05, |a| a.level),
            ..Self::default()
        }
    }
}

impl ComparisonCell {
    fn of(cell: &Cell, best: bool) -> Self {
        let summary = cell.accuracy();
        Self {
            mean: summary.map(|s| s.mean),
            sd: summary.map(|s| s.sd),
            splits: cell.trials.iter().flatten().map(Trial::score).collect(),
            best,
            fit_seconds: cell.fit_seconds(),
            refused: cell.refusal().map(ToString::to_string),
        }
    }
}
