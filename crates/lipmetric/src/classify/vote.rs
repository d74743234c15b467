//! How neighbours vote, and how many of them.

use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// How much each neighbour's vote counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Weights {
    /// All the same.
    #[default]
    Uniform,
    /// One over the distance (not squared). If neighbours are at distance zero, only these count; infinitely far
    /// ones count only if there are no others.
    Distance,
}

/// How many neighbours vote. In a file it is a number, or `"auto"`.
///
/// ```
/// use lipmetric::classify::K;
/// assert_eq!("auto".parse::<K>()?, K::Auto);
/// assert_eq!("3".parse::<K>()?.to_string(), "3");
/// # Ok::<(), lipmetric::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Written", try_from = "Written")]
pub enum K {
    /// So many.
    Fixed(usize),
    /// One of [`usual_ks`](super::usual_ks), by leave-one-out on the mapped training rows, or by cross-validation where the
    /// method chooses its metric so.
    Auto,
}

/// As a file has it.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "give a number of neighbours such as 3, or \"auto\"")]
enum Written {
    Number(usize),
    Word(String),
}

impl From<K> for Written {
    fn from(k: K) -> Self {
        match k {
            K::Fixed(k) => Self::Number(k),
            K::Auto => Self::Word(k.to_string()),
        }
    }
}

impl TryFrom<Written> for K {
    type Error = Error;

    fn try_from(written: Written) -> Result<Self> {
        match written {
            Written::Number(k) => Ok(Self::Fixed(k)),
            Written::Word(word) => word.parse(),
        }
    }
}

impl Default for K {
    /// The nearest row alone.
    fn default() -> Self {
        Self::Fixed(1)
    }
}

impl std::str::FromStr for K {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            _ => match text.parse() {
                Ok(k) => Ok(Self::Fixed(k)),
                Err(_) => Err(Error::parameter("k", format!("`{text}` is not a number such as 3, nor `auto`"))),
            },
        }
    }
}

impl std::fmt::Display for K {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fixed(k) => k.fmt(f),
            Self::Auto => f.write_str("auto"),
        }
    }
}

/// Counts votes. Only the classes of the neighbours are touched, however many there are.
#[derive(Debug)]
pub(crate) struct Poll {
    weights: Weights,
    votes: Vec<f64>,
    /// Squared distance of a class's nearest member among the neighbours; negative if it has none.
    nearest: Vec<f64>,
    /// Classes with a vote, nearest member first.
    polled: Vec<u32>,
}

impl Poll {
    pub(crate) fn new(classes: usize, weights: Weights) -> Self {
        Self { weights, votes: vec![0.0; classes], nearest: vec![-1.0; classes], polled: Vec::new() }
    }

    /// Counts the votes of some neighbours, nearest first, given their classes and squared distances. The winner is the
    /// class with most votes; among equals the one whose nearest member is nearest; then the one with the lower code.
    pub(crate) fn winner(&mut self, classes: impl IntoIterator<Item = u32>, squared: &[f64]) -> u32 {
        for class in self.polled.drain(..) {
            self.votes[class as usize] = 0.0;
            self.nearest[class as usize] = -1.0;
        }
        let first = squared.first().copied().unwrap_or(0.0);
        let weight = |d2: f64| match self.weights {
            Weights::Uniform => 1.0,
            Weights::Distance if first == 0.0 => f64::from(u8::from(d2 == 0.0)),
            // Sorted, so that then all are infinitely far.
            Weights::Distance if first == f64::INFINITY => 1.0,
            Weights::Distance => 1.0 / d2.sqrt(),
        };
        for (class, &d2) in classes.into_iter().zip(squared) {
            if self.nearest[class as usize] < 0.0 {
                self.polled.push(class);
                self.nearest[class as usize] = d2;
            }
            self.votes[class as usize] += weight(d2);
        }
        let rank = |&class: &u32| (self.votes[class as usize], self.nearest[class as usize], class);
        let ranked = self.polled.iter().map(rank);
        let best = ranked.min_by(|a, b| b.0.total_cmp(&a.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        best.map_or(0, |(_, _, class)| class)
    }

    /// Each class's share of the votes that were counted last, into a row of zeros.
    pub(crate) fn shares(&self, row: &mut [f64]) {
        let total: f64 = self.polled.iter().map(|&class| self.votes[class as usize]).sum();
        for &class in &self.polled {
            row[class as usize] = self.votes[class as usize] / total;
        }
    }
}
