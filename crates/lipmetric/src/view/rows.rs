use super::map::Seen;
use super::{Map, Separation, Shown};
use crate::model::TrainingRows;
use crate::{Matrix, Metric, Result};
use serde::{Deserialize, Serialize};

/// Rows that are drawn.
const SHOWN: usize = 2000;

/// Labelled rows before and after a metric.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RowsView {
    /// The rows that are drawn.
    pub shown: Shown,
    /// Them under the Euclidean distance on the prepared features.
    pub before: Map,
    /// Them under the metric, where it is another one.
    pub after: Option<Map>,
    /// The classes' separation under the Euclidean distance and, where it is another one, under the metric; nothing of rows that
    /// are all of one class.
    pub separation: Vec<Separation>,
}

impl RowsView {
    /// Of rows, of a metric, and of the features' names.
    ///
    /// # Errors
    /// If a decomposition fails or the rows cannot be measured.
    pub fn of(rows: &TrainingRows, metric: &Metric, names: &[String]) -> Result<Self> {
        Self::along(rows, metric, names, &rows.x)
    }

    /// The same in the directions in which other rows spread most, such as those that the metric was learned from: each new row is
    /// then drawn at a place of its own, whatever other rows are drawn.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub fn along(rows: &TrainingRows, metric: &Metric, names: &[String], from: &Matrix) -> Result<Self> {
        let plain = Metric::euclidean(rows.x.cols());
        let mut separation = Vec::new();
        if rows.y.check_two_classes().is_ok() {
            separation.push(Separation::of(&plain, &rows.x, &rows.y)?);
            if !metric.is_euclidean() {
                separation.push(Separation::of(metric, &rows.x, &rows.y)?);
            }
        }
        let pairs = separation.iter().flat_map(|s| [s.margins.margin, s.margins.diameter]);
        let must: Vec<usize> = pairs.flat_map(|p| [p.first, p.second]).collect();
        let shown = Shown::of(rows, SHOWN, &must);
        let seen = |of| Seen { x: &rows.x, y: &rows.y, from, metric: of, learned: metric, names };
        let before = Map::of(&seen(&plain), &shown.rows)?;
        let after = match metric.is_euclidean() {
            true => None,
            false => Some(Map::of(&seen(metric), &shown.rows)?),
        };
        Ok(Self { shown, before, after, separation })
    }
}
