//! Which function of the mapped rows predicts, and what any such function must answer.

use super::Model;
use super::extension::{Extend, Extending};
use super::nearest::Nearest;
use super::number::{Estimate, Extended, Mean, Smoothed};
use super::pairing::Pairing;
use super::smooth::{Smooth, Smoothing};
use super::vote::{Vote, Voting};
use crate::classify::{K, Prediction, SmoothSpec, Weights};
use crate::neighbours::NeighbourIndex;
use crate::robust::{Ball, Kind, Norm, Radius, Space};
use crate::{Error, Matrix, Result, Task};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt::Debug;

/// How a fitted model predicts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Classifier {
    /// By a vote of the nearest training rows.
    Vote(Voting),
    /// By the Lipschitz extension of the values on the training rows.
    Extension(Extending),
    /// By a smooth function of the distances to the training rows.
    Smooth(Smoothing),
    /// Not of one row, but of two: whether they are similar, by their distance.
    Pairs(Pairing),
}

/// How a model shall predict, before it is fitted.
///
/// As JSON it is an object with the classifier's name and its parameters; those that are left out have their defaults.
///
/// ```
/// use lipmetric::classify::{K, Weights};
/// use lipmetric::model::ClassifierSpec;
/// let read = |text: &str| serde_json::from_str::<ClassifierSpec>(text);
/// assert_eq!(read(r#"{"classifier": "nearest"}"#)?, ClassifierSpec::default());
/// assert_eq!(
///     read(r#"{"classifier": "nearest", "k": "auto", "weights": "distance"}"#)?,
///     ClassifierSpec::Vote { k: K::Auto, weights: Weights::Distance }
/// );
/// assert_eq!(read(r#"{"classifier": "extension"}"#)?, ClassifierSpec::Extension { alpha: 0.5, calibrate: true });
/// assert_eq!(read(r#"{"classifier": "smooth"}"#)?, ClassifierSpec::Smooth(Default::default()));
/// assert!(read(r#"{"classifier": "smooth", "kernel": "gaussian", "width": 0.7}"#).is_ok());
/// assert!(read(r#"{"classifier": "nearest", "alpha": 1}"#).is_err());
/// assert!(read(r#"{"classifier": "smooth", "alpha": 1}"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "classifier", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum ClassifierSpec {
    /// By a vote of the nearest training rows.
    #[serde(rename = "nearest")]
    Vote {
        /// How many of them.
        #[serde(default)]
        k: K,
        /// How much each vote counts.
        #[serde(default)]
        weights: Weights,
    },
    /// By the Lipschitz extension of values that are learned with the metric or, where the method has none, for it.
    Extension {
        /// The share of the upper extension, 0 to 1; the paper has one half.
        #[serde(default = "half")]
        alpha: f64,
        /// Whether probabilities are calibrated on rows that the function has not seen. It takes five more fits, on up to 600
        /// rows.
        #[serde(default = "yes")]
        calibrate: bool,
    },
    /// By a smooth function of the distances to the training rows.
    Smooth(SmoothSpec),
    /// By whichever of votes and a smooth function predicts better, chosen together with the metric; of the method
    /// [`Auto`](crate::method::Auto) alone.
    Auto,
}

fn half() -> f64 {
    0.5
}

fn yes() -> bool {
    true
}

impl Default for ClassifierSpec {
    /// The nearest row alone.
    fn default() -> Self {
        Self::Vote { k: K::default(), weights: Weights::default() }
    }
}

impl Classifier {
    /// The vote of neighbours, where it is one.
    #[must_use]
    pub fn voting(&self) -> Option<Voting> {
        match self {
            Self::Vote(voting) => Some(*voting),
            Self::Extension(_) | Self::Smooth(_) | Self::Pairs(_) => None,
        }
    }

    /// Makes a model of this classifier ready to predict.
    pub(super) fn ready(&self, model: &Model) -> Result<Ready> {
        let number = model.task == Task::Regression;
        Ok(match self {
            Self::Pairs(_) => Ready::Pairs(Box::default()),
            Self::Vote(voting) if number => Ready::Numbers(Box::new(Mean::new(model, *voting)?)),
            Self::Extension(extending) if number => Ready::Numbers(Box::new(Extended::new(model, extending)?)),
            Self::Smooth(smoothing) if number => Ready::Numbers(Box::new(Smoothed::new(model, smoothing)?)),
            Self::Vote(voting) => Ready::Classes(Box::new(Vote::new(model, *voting)?)),
            Self::Extension(extending) => Ready::Classes(Box::new(Extend::new(model, extending)?)),
            Self::Smooth(smoothing) => Ready::Classes(Box::new(Smooth::new(model, smoothing)?)),
        })
    }

    /// In words, for a line such as "prediction: ...".
    #[must_use]
    pub fn describe(&self, task: Task) -> String {
        match (task, self) {
            (Task::Regression, Self::Vote(voting)) => voting.describe_mean(),
            (Task::Regression, Self::Extension(extending)) => extending.describe_numbers(),
            _ => self.to_string(),
        }
    }
}

/// A classifier made ready: for classes, or for numbers.
#[derive(Debug)]
pub(super) enum Ready {
    Classes(Box<dyn Decide>),
    Numbers(Box<dyn Estimate>),
    /// Distances alone.
    Pairs(Box<Nearest>),
}

impl Ready {
    /// What predicts classes.
    pub(super) fn classes(&self) -> Result<&dyn Decide> {
        match self {
            Self::Classes(decide) => Ok(&**decide),
            Self::Numbers(_) => Err(Error::data("the model predicts numbers, and has no classes")),
            Self::Pairs(_) => Err(unlabelled()),
        }
    }

    /// What predicts numbers.
    pub(super) fn numbers(&self) -> Result<&dyn Estimate> {
        match self {
            Self::Numbers(estimate) => Ok(&**estimate),
            Self::Classes(_) => Err(Error::data("the model predicts classes, and no numbers")),
            Self::Pairs(_) => Err(unlabelled()),
        }
    }

    /// The training rows of the model, mapped and indexed.
    pub(super) fn index<'a>(&'a self, model: &Model) -> Result<&'a NeighbourIndex> {
        match self {
            Self::Classes(decide) => decide.index(model),
            Self::Numbers(estimate) => estimate.index(model),
            Self::Pairs(nearest) => nearest.index(model),
        }
    }
}

/// What is said where a model of rows without labels is asked for one.
fn unlabelled() -> Error {
    Error::data(
        "the model was learned from rows without labels: it tells how far two rows are apart and whether they are similar (ask \
         about `pairs = FILE`), and predicts nothing of one row",
    )
}

impl std::fmt::Display for Classifier {
    /// In words, for a line such as "prediction: ...".
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Vote(voting) => std::fmt::Display::fmt(voting, f),
            Self::Extension(extending) => std::fmt::Display::fmt(extending, f),
            Self::Smooth(smoothing) => std::fmt::Display::fmt(smoothing, f),
            Self::Pairs(pairing) => std::fmt::Display::fmt(pairing, f),
        }
    }
}

/// A predicted class that holds for all rows near by.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Certified {
    /// The class and what it rests on.
    pub prediction: Prediction,
    /// Every row nearer than this, in the learned metric, is predicted as the same class.
    pub radius: f64,
    /// The same as a Euclidean distance on the prepared features.
    pub radius_prepared: f64,
}

/// Rows that a model is asked about, before and after its metric's map.
#[derive(Debug)]
pub(super) struct Mapped<'a> {
    pub(super) model: &'a Model,
    pub(super) prepared: Cow<'a, Matrix>,
    pub(super) mapped: Matrix,
}

/// A classifier made ready: what any of them must answer. The rows are of the model that it was made from.
pub(super) trait Decide: Debug + Send + Sync {
    /// The class of each row.
    fn predict(&self, rows: &Mapped<'_>) -> Result<Vec<u32>>;

    /// The class of each row and what it rests on.
    fn explain(&self, rows: &Mapped<'_>) -> Result<Vec<Prediction>>;

    /// The probability of each class, a row per row; nothing where the classifier has none.
    fn shares(&self, rows: &Mapped<'_>) -> Result<Option<Matrix>>;

    /// The training rows of the model, mapped and indexed.
    fn index<'a>(&'a self, model: &Model) -> Result<&'a NeighbourIndex>;

    /// How far each row may move, in steps of the ball, while its class stays as `labels` has it (what [`Self::predict`] gave):
    /// infinitely far where no other class has rows. An error where nothing can be certified.
    ///
    /// A classifier that knows a radius in the learned distance alone has one in every ball by [`Ball::of_learned`].
    fn radii(&self, rows: &Mapped<'_>, labels: &[u32], asked: &Asked) -> Result<Vec<f64>>;

    /// The shortest step of the ball that changes the class of each row, and goes `beyond` the border by this part of
    /// its length; none where no step does. An error where the classifier cannot tell.
    fn crossings(&self, rows: &Mapped<'_>, labels: &[u32], ball: &Ball, beyond: f64) -> Result<Vec<Option<Vec<f64>>>> {
        let _ = (rows, labels, ball, beyond);
        Err(Error::parameter(
            "counterfactual",
            "the nearest row of another class is told for one nearest neighbour and for the Lipschitz extension; fit the model with \
             `classifier = nearest` or `classifier = extension`",
        ))
    }
}

/// A radius that is asked for, ready for a model.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) ball: Ball,
    pub(super) kind: Kind,
}

impl Asked {
    pub(super) fn new(model: &Model, radius: Radius) -> Result<Self> {
        let moves: Vec<f64> = match radius.space {
            Space::Learned if radius.norm == Norm::L2 => {
                return Ok(Self { ball: Ball::learned(), kind: radius.kind });
            }
            Space::Learned => {
                return Err(Error::parameter(
                    "radius_norm",
                    format!("the learned distance has the norm l2, not {}", radius.norm),
                ));
            }
            Space::Prepared => vec![1.0; model.metric.features()],
            Space::Input if model.preparation.is_unit() => {
                return Err(Error::parameter(
                    "radius",
                    "rows that were divided by their lengths have radii on the prepared features, not in the input's units; ask for \
                     those, or leave `scaling = unit` out",
                ));
            }
            Space::Input if radius.kind == Kind::Exact && !model.preparation.is_linear() => {
                return Err(Error::parameter(
                    "radius",
                    "features that became quantiles of ranks have bounds of the radius in the input's units, but no exact radii; \
                     leave `exact` out, or ask for the prepared features",
                ));
            }
            Space::Input => model.preparation.units().into_iter().map(|unit| unit.map_or(0.0, |u| 1.0 / u)).collect(),
        };
        Ok(Self { ball: Ball::new(&model.metric, radius.norm, &moves)?, kind: radius.kind })
    }

    /// Refuses exact radii, for a classifier that has bounds alone.
    pub(super) fn bound_only(&self, who: &str) -> Result<()> {
        match self.kind {
            Kind::Exact => Err(Error::parameter(
                "radius",
                format!("{who} has certified bounds of the radius, but no exact radii; leave `exact` out"),
            )),
            _ => Ok(()),
        }
    }
}

impl ClassifierSpec {
    /// Checks the parameters against the number of training rows.
    ///
    /// # Errors
    /// If there are fewer rows than neighbours, or no neighbour is asked for.
    pub(super) fn check(&self, rows: usize) -> Result<()> {
        match self {
            Self::Vote { k: K::Fixed(k), .. } if *k == 0 || *k > rows => {
                Err(Error::parameter("k", format!("{k} neighbours of {rows} training rows: give 1 to {rows}")))
            }
            Self::Extension { alpha, .. } if !(0.0..=1.0).contains(alpha) => {
                Err(Error::parameter("alpha", format!("{alpha} is outside 0 to 1")))
            }
            Self::Smooth(smooth) => smooth.check(),
            Self::Vote { .. } | Self::Extension { .. } | Self::Auto => Ok(()),
        }
    }
}
