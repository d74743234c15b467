use super::Histogram;
use crate::classify::PairScores;
use crate::data::Pair;
use crate::model::{Classifier, TrainingRows};
use crate::{Metric, Model, Result};
use serde::{Deserialize, Serialize};

/// How well a model that was learned from rows without labels tells similar pairs from dissimilar ones.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PairsView {
    /// The distance up to which two rows are told similar, if there is one.
    pub threshold: Option<f64>,
    /// Which pairs it was chosen on, in words.
    pub chosen: String,
    /// What it is worth on them.
    pub scores: Option<PairScores>,
    /// The distances of the training pairs under the Euclidean distance and under the learned one.
    pub distances: Vec<PairDistances>,
}

/// Distances of similar and of dissimilar pairs, in units of their mean.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PairDistances {
    /// Of the similar ones: how many fall into each bin.
    pub similar: Histogram,
    /// Of the dissimilar ones.
    pub dissimilar: Histogram,
    /// The mean distance.
    pub mean: f64,
}

impl PairsView {
    /// Of a model of rows without labels; nothing of others.
    #[must_use]
    pub(super) fn of(model: &Model) -> Option<Self> {
        let Classifier::Pairs(pairing) = &model.classifier else { return None };
        Some(Self {
            threshold: pairing.threshold,
            chosen: pairing.chosen.to_string(),
            scores: pairing.scores,
            distances: Vec::new(),
        })
    }

    /// With the distances of these pairs of rows.
    pub(super) fn see(&mut self, rows: &TrainingRows, metric: &Metric, pairs: &[Pair]) -> Result<()> {
        let plain = Metric::euclidean(rows.x.cols());
        let sides = [Some(&plain), Some(metric).filter(|m| !m.is_euclidean())];
        let known: Vec<Pair> = pairs.iter().filter(|p| p.rows().iter().all(|&i| i < rows.x.rows())).copied().collect();
        for metric in sides.into_iter().flatten() {
            let mapped = metric.transform(&rows.x)?;
            let apart = |p: &Pair| {
                let cells = mapped.row(p.first).iter().zip(mapped.row(p.second));
                cells.map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
            };
            self.distances.push(PairDistances::new(&known, &known.iter().map(apart).collect::<Vec<f64>>()));
        }
        Ok(())
    }
}

impl PairDistances {
    fn new(pairs: &[Pair], distances: &[f64]) -> Self {
        /// Bins of a histogram.
        const BINS: usize = 30;
        /// Distances up to this many times their mean have bins of their own; the last bin holds those beyond.
        const REACH: f64 = 3.0;
        let mean = distances.iter().sum::<f64>() / distances.len().max(1) as f64;
        let unit = if mean > 0.0 { mean } else { 1.0 };
        let of = |similar: bool| {
            let mut all = Histogram::from_zero(REACH, BINS);
            let those = pairs.iter().zip(distances).filter(|(pair, _)| pair.similar == similar);
            those.for_each(|(_, d)| all.add(d / unit));
            all
        };
        Self { similar: of(true), dissimilar: of(false), mean }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Labels, Matrix};

    #[test]
    fn every_pair_is_counted_once_on_its_side() {
        let rows = TrainingRows::new(Matrix::from_rows(&[[0.0], [1.0], [4.0], [9.0]]), Labels::none(4));
        let pairs = [Pair::similar(0, 1), Pair::similar(2, 3), Pair::dissimilar(0, 3)];
        let metric = Metric::new(Matrix::from_rows(&[[2.0]])).unwrap();
        let mut view = PairsView::default();
        view.see(&rows, &metric, &pairs).unwrap();
        assert_eq!(view.distances.len(), 2);
        for (side, mean) in view.distances.iter().zip([5.0, 10.0]) {
            let count = |h: &Histogram| h.counts.iter().sum::<usize>();
            assert_eq!((count(&side.similar), count(&side.dissimilar), side.mean), (2, 1, mean));
        }
        assert_eq!(view.distances[0].similar, view.distances[1].similar, "in units of the mean");
    }
}
