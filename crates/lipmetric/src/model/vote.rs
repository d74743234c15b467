use super::Model;
use super::classifier::{Asked, Decide, Mapped};
use crate::classify::{KnnClassifier, Prediction, Weights};
use crate::lipschitz::Certifier;
use crate::neighbours::NeighbourIndex;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

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

/// The training rows of a model, mapped and indexed.
#[derive(Debug)]
pub(super) struct Vote {
    knn: KnnClassifier,
    /// Made when the first radius is asked for.
    certifier: OnceLock<Certifier>,
}

impl Vote {
    pub(super) fn new(model: &Model, voting: Voting) -> Result<Self> {
        let rows = model.training_rows()?;
        let index = NeighbourIndex::new(model.metric.transform(&rows.x)?)?;
        let knn = KnnClassifier::new(index, rows.y.clone(), voting.k, voting.weights)?;
        Ok(Self { knn, certifier: OnceLock::new() })
    }

    fn certifier(&self, model: &Model) -> Result<&Certifier> {
        if self.knn.k() != 1 {
            return Err(Error::parameter(
                "radius",
                format!(
                    "radii can be certified for one nearest neighbour only, and this model uses {}; fit it with `k = 1`",
                    self.knn.k()
                ),
            ));
        }
        if let Some(made) = self.certifier.get() {
            return Ok(made);
        }
        let made = Certifier::new(&model.metric, &model.training_rows()?.x, self.knn.index().rows())?;
        Ok(self.certifier.get_or_init(|| made))
    }
}

impl Decide for Vote {
    fn predict(&self, rows: &Mapped<'_>) -> Result<Vec<u32>> {
        self.knn.predict(&rows.mapped)
    }

    fn explain(&self, rows: &Mapped<'_>) -> Result<Vec<Prediction>> {
        self.knn.explain(&rows.mapped)
    }

    fn radii(&self, rows: &Mapped<'_>, labels: &[u32], asked: &Asked) -> Result<Vec<f64>> {
        asked.bound_only("a vote of neighbours")?;
        let certifier = self.certifier(rows.model)?;
        let told = self.knn.explain_as(&rows.mapped, labels)?;
        let distances = told.iter().map(|p| (p.nearest(), p.other.map(|n| n.distance)));
        let radii = certifier.radii(&rows.model.metric, &rows.prepared, &rows.mapped, distances)?;
        Ok(radii.into_iter().map(|(learned, _)| asked.ball.of_learned(learned)).collect())
    }
}
