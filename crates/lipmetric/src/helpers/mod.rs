//! Fits whose passes over the pairs are computed in other processes.
//!
//! The process that fits has [`Helpers`], given to [`Recipe::helped_by`](crate::model::Recipe::helped_by): whatever carries bytes to
//! other processes and back. Each of those holds a [`Share`], all the rows, prepared as in the fit, and answers errands. The solver runs
//! in the first process alone; what it asks of all pairs, where nearly all of the time goes, it asks its helpers. The parts are the same
//! bits as those that its own threads would have computed and are merged in the same order, so that the fit and its certificate are the
//! same bits as without helpers. How a question travels is in `pairs/remote.rs`.
//!
//! A new question is a line in [`Share::answer`].

use crate::data::Labels;
use crate::pairs::pass::{Around, Hinges, Longer, RoundedHinges, Shorter};
use crate::pairs::{Cloud, Embedding, Question, embedded, reply};
use crate::problem::Figures;
use crate::solver::multipliers::TightestMargins;
use crate::solver::working_set::rows::TightMargins;
use crate::solver::working_set::survey::Surveyed;
use crate::{Error, Matrix, Result};
use std::sync::{Arc, Mutex, PoisonError};

pub use crate::pairs::{Errand, Helpers};

/// A cloud by its number, and the points mapped as was asked for last.
#[derive(Debug)]
struct Ready {
    id: u64,
    cloud: Arc<Cloud>,
    maps: Vec<u8>,
    embeddings: Arc<Vec<Embedding>>,
}

/// The rows of a fit in another process than the one that fits.
///
/// Memory: the rows, one cloud of points made of them, and these mapped: at most `8 N (2 p + 2 (r + 2))` bytes for N rows of p features
/// under a metric of rank r, besides what the preparation of the rows takes for a while.
#[derive(Debug)]
pub struct Share {
    x: Matrix,
    y: Labels,
    ready: Mutex<Option<Ready>>,
}

impl Share {
    /// All rows of a fit as it has prepared them, and their classes.
    ///
    /// # Errors
    /// If there is not one label per row.
    pub fn new(x: Matrix, y: Labels) -> Result<Self> {
        if x.rows() != y.len() {
            return Err(Error::shape("labels", x.rows(), y.len()));
        }
        Ok(Self { x, y, ready: Mutex::new(None) })
    }

    /// Bytes of the rows and of what is made ready.
    #[must_use]
    pub fn bytes(&self) -> usize {
        // The rows, the points, and these mapped on either side of a product.
        4 * self.x.rows() * self.x.cols() * size_of::<f64>()
    }

    /// The given parts of a pass, as [`Errand`] names it; `None` where the cloud's lineage is needed and is not given.
    ///
    /// # Errors
    /// If the errand is of another version, or of other rows.
    pub fn answer(
        &self,
        name: &str,
        (cloud, lineage): (u64, Option<&[u8]>),
        (maps, question): (&[u8], &[u8]),
        parts: &[usize],
    ) -> Result<Option<Vec<Vec<u8>>>> {
        let Some((cloud, embeddings)) = self.ready(cloud, lineage, maps)? else { return Ok(None) };
        let (cloud, embeddings) = (&*cloud, &**embeddings);
        match name {
            Hinges::NAME => reply::<Hinges>(cloud, embeddings, question, parts),
            RoundedHinges::NAME => reply::<RoundedHinges>(cloud, embeddings, question, parts),
            Around::NAME => reply::<Around>(cloud, embeddings, question, parts),
            Longer::NAME => reply::<Longer>(cloud, embeddings, question, parts),
            Shorter::NAME => reply::<Shorter>(cloud, embeddings, question, parts),
            Surveyed::NAME => reply::<Surveyed>(cloud, embeddings, question, parts),
            TightMargins::NAME => reply::<TightMargins>(cloud, embeddings, question, parts),
            TightestMargins::NAME => reply::<TightestMargins>(cloud, embeddings, question, parts),
            Figures::NAME => reply::<Figures>(cloud, embeddings, question, parts),
            _ => Err(Error::data(format!(
                "a pass `{name}` is not known here: is the same version installed everywhere?"
            ))),
        }
        .map(Some)
    }

    /// The cloud and its points mapped, made where they are not there yet.
    #[expect(clippy::type_complexity, reason = "two things that are shared")]
    fn ready(&self, id: u64, lineage: Option<&[u8]>, maps: &[u8]) -> Result<Option<(Arc<Cloud>, Arc<Vec<Embedding>>)>> {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let known = ready.as_ref().filter(|known| known.id == id);
        if let Some(known) = known.filter(|known| known.maps == maps) {
            return Ok(Some((Arc::clone(&known.cloud), Arc::clone(&known.embeddings))));
        }
        let cloud = match (known, lineage) {
            (Some(known), _) => Arc::clone(&known.cloud),
            (None, None) => return Ok(None),
            (None, Some(lineage)) => {
                *ready = None;
                Arc::new(Cloud::descended(&self.x, self.y.codes(), lineage)?)
            }
        };
        // What was mapped before goes first: both would not fit where memory is short.
        *ready = None;
        let embeddings = Arc::new(embedded(&cloud, maps)?);
        *ready =
            Some(Ready { id, cloud: Arc::clone(&cloud), maps: maps.to_vec(), embeddings: Arc::clone(&embeddings) });
        Ok(Some((cloud, embeddings)))
    }
}

#[cfg(test)]
mod tests;
