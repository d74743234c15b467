use super::MarginsView;
use crate::evaluate::Summary;
use crate::method::Fit;
use crate::{Labels, Matrix, Result};
use serde::{Deserialize, Serialize};

/// What changes along a regularisation path.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PathView {
    /// Where the rows come from.
    pub source: String,
    /// The method, in words.
    pub method: String,
    /// `c_max`.
    pub c_max: Option<f64>,
    /// Rows.
    pub rows: usize,
    /// Prepared features.
    pub features: usize,
    /// From the largest `c` to the least.
    pub points: Vec<PathPoint>,
    /// The point of the highest held-out accuracy; of equals the one of the largest `c`.
    pub chosen: Option<usize>,
    /// Folds that the accuracy is over.
    pub folds: usize,
    /// Rows whose margins were measured: fewer than all of many.
    pub measured: usize,
    /// What should be known.
    pub notes: Vec<String>,
}

/// One distance of the path.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PathPoint {
    /// `c` as a fraction of `c_max`.
    pub c_rel: f64,
    /// `c` itself.
    pub c: Option<f64>,
    /// Objective.
    pub objective: Option<f64>,
    /// Certified lower bound.
    pub bound: Option<f64>,
    /// Relative gap.
    pub gap: Option<f64>,
    /// Rank of the metric.
    pub rank: usize,
    /// Margin over diameter.
    pub ratio_diameter: f64,
    /// Margin over the sum of the class diameters.
    pub ratio_intra: f64,
    /// Pairs of different classes that determine the optimum.
    pub margin_pairs: usize,
    /// Pairs that determine the diameter.
    pub diameter_pairs: usize,
    /// Held-out accuracy of the nearest row, in the mean over the folds.
    pub accuracy: Option<f64>,
    /// Its standard error over the folds.
    pub standard_error: Option<f64>,
}

impl PathView {
    /// Of the fits of a path on these rows; `accuracies[fold][point]` of held-out rows, where they were judged.
    ///
    /// # Errors
    /// If the rows cannot be measured.
    pub fn of(fits: &[Fit], fractions: &[f64], (x, y): (&Matrix, &Labels), accuracies: &[Vec<f64>]) -> Result<Self> {
        let mut view = Self { rows: x.rows(), features: x.cols(), folds: accuracies.len(), ..Self::default() };
        for (k, (fit, &c_rel)) in fits.iter().zip(fractions).enumerate() {
            let (measured, margins) = MarginsView::of(&fit.metric, x, y)?;
            let support = fit.support();
            let held_out: Option<Vec<f64>> = accuracies.iter().map(|fold| fold.get(k).copied()).collect();
            let summary = held_out.as_deref().and_then(Summary::of);
            let margin_pairs = support.iter().filter(|s| s.pushes).count();
            view.measured = measured;
            view.points.push(PathPoint {
                c_rel,
                c: fit.outcome.c,
                objective: fit.outcome.objective,
                bound: fit.outcome.dual,
                gap: fit.outcome.gap,
                rank: fit.metric.rank(),
                ratio_diameter: margins.ratio_diameter,
                ratio_intra: margins.ratio_intra,
                margin_pairs,
                diameter_pairs: support.len() - margin_pairs,
                accuracy: summary.map(|s| s.mean),
                standard_error: summary.map(|s| s.sd / (accuracies.len() as f64).sqrt()),
            });
        }
        view.c_max = fits.first().and_then(|f| f.outcome.c_max);
        view.chosen = best(&view.points);
        Ok(view)
    }
}

fn best(points: &[PathPoint]) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for (k, accuracy) in points.iter().enumerate().filter_map(|(k, p)| Some((k, p.accuracy?))) {
        if best.is_none_or(|(_, top)| accuracy > top + 1e-12) {
            best = Some((k, accuracy));
        }
    }
    best.map(|(k, _)| k)
}
