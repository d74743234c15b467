use super::Model;
use super::classifier::{Asked, Decide, Mapped};
use crate::classify::{KnnClassifier, Prediction, Weights};
use crate::neighbours::NeighbourIndex;
use crate::robust::{Ball, Kind, Sites, Supporting, View, crossing, step_across, vote_radius};
use crate::{Error, Matrix, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// The vote of the nearest training rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Voting {
    /// How many neighbours vote.
    pub k: usize,
    /// How much each vote counts.
    pub weights: Weights,
}

impl std::fmt::Display for Voting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let votes = match self.weights {
            Weights::Uniform => "",
            Weights::Distance => ", weighted by inverse distance",
        };
        match self.k {
            1 => write!(f, "the nearest training row"),
            k => write!(f, "majority vote of the {k} nearest training rows{votes}"),
        }
    }
}

impl Voting {
    /// In words, where numbers are predicted.
    pub(super) fn describe_mean(self) -> String {
        let weighted = match self.weights {
            Weights::Uniform => "",
            Weights::Distance => ", weighted by the inverse of their distances",
        };
        match self.k {
            1 => "the number of the nearest training row".to_owned(),
            k => format!("the mean of the {k} nearest training rows{weighted}"),
        }
    }

    /// The nearest row alone.
    pub(crate) fn nearest() -> Self {
        Self { k: 1, weights: Weights::Uniform }
    }
}

/// The training rows of a model, mapped and indexed.
#[derive(Debug)]
pub(super) struct Vote {
    knn: KnnClassifier,
}

impl Vote {
    pub(super) fn new(model: &Model, voting: Voting) -> Result<Self> {
        let rows = model.training_rows()?;
        let index = NeighbourIndex::new(model.metric.transform(&rows.x)?)?;
        let knn = KnnClassifier::new(index, rows.y.clone(), voting.k, voting.weights)?;
        Ok(Self { knn })
    }

    /// What is asked of each row among the training rows, in parallel.
    fn each<T: Send>(
        &self,
        rows: &Mapped<'_>,
        labels: &[u32],
        ball: &Ball,
        ask: impl Fn(&View<'_>, u32) -> T + Sync,
    ) -> Result<Vec<T>> {
        let training = rows.model.training_rows()?;
        let sites = Sites::new(ball, &rows.model.metric, &training.x, self.knn.index().rows().clone())?;
        let one = |q: usize| Ok(ask(&sites.see(rows.prepared.row(q), rows.mapped.row(q), None)?, labels[q]));
        (0..labels.len()).into_par_iter().map(one).collect()
    }

    /// The rows of this class, and those of all others.
    fn sides(&self, label: u32) -> (Supporting, Vec<u32>) {
        let all = 0..self.knn.labels().len() as u32;
        let (own, others) = all.partition(|&i| self.knn.labels().codes()[i as usize] == label);
        (Supporting::new(own), others)
    }

    /// Whether row `j` never is the nearest because row `i` is the same and comes before it.
    fn passes(&self, i: usize, j: usize) -> bool {
        let rows = self.knn.index().rows();
        i < j && rows.row(i) == rows.row(j)
    }

    /// Refuses votes that hyperplanes say nothing about.
    fn check_votes(&self) -> Result<()> {
        if self.knn.k() == 1 || self.knn.weights() == Weights::Uniform {
            return Ok(());
        }
        Err(Error::parameter(
            "radius",
            "votes that are weighted by distance change with every step, not only where a row enters or leaves the neighbours, \
             so that no radius is certified; fit the model with `weights = uniform` or `k = 1`",
        ))
    }
}

impl Decide for Vote {
    fn predict(&self, rows: &Mapped<'_>) -> Result<Vec<u32>> {
        self.knn.predict(&rows.mapped)
    }

    fn explain(&self, rows: &Mapped<'_>) -> Result<Vec<Prediction>> {
        self.knn.explain(&rows.mapped)
    }

    fn shares(&self, rows: &Mapped<'_>) -> Result<Option<Matrix>> {
        self.knn.predict_proba(&rows.mapped).map(Some)
    }

    fn index<'a>(&'a self, _: &Model) -> Result<&'a NeighbourIndex> {
        Ok(self.knn.index())
    }

    fn radii(&self, rows: &Mapped<'_>, labels: &[u32], asked: &Asked) -> Result<Vec<f64>> {
        self.check_votes()?;
        if self.knn.k() > 1 {
            asked.bound_only(&format!("a vote of {} neighbours", self.knn.k()))?;
        }
        let y = self.knn.labels();
        let members = y.members();
        self.each(rows, labels, &asked.ball, |view, label| match asked.kind {
            Kind::Exact => {
                let (mut supporting, others) = self.sides(label);
                crossing(view, &mut supporting, &others, &|i, j| self.passes(i, j)).radius
            }
            _ => vote_radius(view, y, &members, label, self.knn.k()),
        })
    }

    fn crossings(&self, rows: &Mapped<'_>, labels: &[u32], ball: &Ball, beyond: f64) -> Result<Vec<Option<Vec<f64>>>> {
        if self.knn.k() > 1 {
            return Err(Error::parameter(
                "counterfactual",
                format!(
                    "the nearest row of another class is told for one nearest neighbour, and this model uses {}; fit it with \
                     `k = 1`",
                    self.knn.k()
                ),
            ));
        }
        self.each(rows, labels, ball, |view, label| {
            let (mut supporting, others) = self.sides(label);
            let passes = |i, j| self.passes(i, j);
            step_across(view, &mut supporting, &others, beyond, &passes).map(|(_, step)| step)
        })
    }
}
