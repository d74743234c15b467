//! Everything that the toolbox says of a labelled sample, in one structure.

use super::bounds::{FatShattering, LearningBound, fat_shattering_bound, learning_bound};
use super::distance::TrueMetric;
use super::doubling::{DoublingDimension, DoublingOptions, doubling_dimension};
use super::local::{LocalRatios, LocalSummary};
use super::margins::{Margins, Surrogates};
use super::trade_off::{TradeOffCurve, TradeOffOptions, minimum_cover, trade_off};
use crate::neighbours::Distance;
use crate::{Labels, Result};
use serde::Serialize;

/// What a [`Report`] is computed with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReportOptions {
    /// The learning bounds hold with probability `1 - delta`.
    pub delta: f64,
    /// Bins of the histograms of local ratios.
    pub bins: usize,
    /// The most rows to give up in the trade-off.
    pub max_drop: usize,
    /// How the doubling dimension is estimated.
    pub doubling: DoublingOptions,
}

impl Default for ReportOptions {
    fn default() -> Self {
        let trade_off = TradeOffOptions::default();
        Self { delta: trade_off.delta, bins: 10, max_drop: trade_off.max_drop, doubling: DoublingOptions::default() }
    }
}

/// The learning bounds of a sample of two classes without errors, by the whole diameter and by the class diameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SampleBounds {
    /// With `D <= (16 L diam)^ddim`.
    pub diameter: LearningBound,
    /// With `D <= (16 L intra + 32)^ddim`.
    pub intra: LearningBound,
}

/// Margins, ratios, dimension and bounds of a labelled sample under a true metric.
///
/// ```
/// use lipmetric::{Labels, Matrix, lipschitz::{Mahalanobis, Report, ReportOptions}};
/// let x = Matrix::from_rows(&[[0.0], [1.0], [4.0], [9.0]]);
/// let y = Labels::from_names(["a", "a", "b", "b"]);
/// let report = Report::new(&Mahalanobis::euclidean(&x).unwrap(), &y, &ReportOptions::default()).unwrap();
/// assert_eq!(report.surrogates.diameter, report.margins.ratio_diameter);
/// assert_eq!(report.bounds.unwrap().diameter.best().to_string(), "1 or more, so it says nothing here");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Margin, constant, diameters and ratios.
    pub margins: Margins,
    /// The surrogates of the ratios at the labels' own constant.
    pub surrogates: Surrogates,
    /// The distribution of the local ratios over the diameter.
    pub local_diameter: LocalSummary,
    /// The distribution of the local ratios over the intra-class dispersion.
    pub local_intra: LocalSummary,
    /// The doubling dimension; its upper estimate enters the bounds.
    pub doubling: DoublingDimension,
    /// The bounds without errors; none for more than two classes (see the first point of the trade-off).
    pub bounds: Option<SampleBounds>,
    /// What giving up rows does to the bound.
    pub trade_off: TradeOffCurve,
    /// The rows to give up at the best point of the trade-off.
    pub best_drop: Vec<usize>,
}

impl Report {
    /// Computes all of it.
    ///
    /// # Errors
    /// If the labels do not fit the sample or are of one class only, an option is out of range, or a distance is not a
    /// finite number of at least 0.
    pub fn new<D>(distance: &D, labels: &Labels, options: &ReportOptions) -> Result<Self>
    where
        D: Distance + TrueMetric + ?Sized,
    {
        let margins = Margins::new(distance, labels)?;
        let local = LocalRatios::new(distance, labels)?;
        let doubling = doubling_dimension(distance, &options.doubling)?;
        let constant = margins.constant.constant;
        let bounds = if margins.class_diameters.len() == 2 {
            let diameter = fat_shattering_bound(constant, margins.diameter.distance, doubling.upper)?;
            let intra = FatShattering::from_intra(constant, margins.intra_sum, doubling.upper)?;
            let bound = |fat| learning_bound(margins.rows, 0, fat, options.delta);
            Some(SampleBounds { diameter: bound(diameter)?, intra: bound(intra)? })
        } else {
            None
        };
        let trade_off_options = TradeOffOptions {
            ddim: doubling.upper,
            delta: options.delta,
            max_drop: options.max_drop,
            ..TradeOffOptions::default()
        };
        let trade_off = trade_off(distance, labels, &trade_off_options)?;
        let best_drop = minimum_cover(distance, labels, trade_off.best_point().margin)?.rows;
        Ok(Self {
            surrogates: margins.surrogates(constant),
            margins,
            local_diameter: local.summary_diameter(options.bins),
            local_intra: local.summary_intra(options.bins),
            doubling,
            bounds,
            trade_off,
            best_drop,
        })
    }
}
