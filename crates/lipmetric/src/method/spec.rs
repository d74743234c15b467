//! The one description of a method and its parameters.

use super::{
    Agop, Arml, Auto, Discriminant, Euclidean, Field, Fit, Itml, Lip, LipLocal, LipPairs, LipRobust, Lmml, Lmnn, Mcml,
    Method, Mlkr, Nca, Outcome, Solver, TradeOff, Training,
};
use crate::prepare::Scaling;
use crate::problem::{Diameter, Slack, Variant};
use crate::solver::Observer;
use crate::{Error, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A method and all its parameters: what a program, a model file and another language say alike.
///
/// As JSON it is an object with the method's name and its parameters; those that are left out have their defaults. A field
/// that the method does not have is refused.
///
/// ```
/// use lipmetric::method::{Lmnn, Spec};
/// let spec: Spec = serde_json::from_str(r#"{"method": "lmnn", "targets": 2}"#)?;
/// assert_eq!(spec, Lmnn::new().targets(2).into());
/// let wrong = serde_json::from_str::<Spec>(r#"{"method": "lmnn", "target": 2}"#).unwrap_err();
/// assert!(wrong.to_string().starts_with("`target` is no parameter of lmnn; it has targets, push"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Spec {
    /// The Euclidean metric, unless another one is better by cross-validation.
    Auto(Auto),
    /// Lip^D or Lip^I.
    Lip(Lip),
    /// Lip^I by near pairs.
    LipLocal(LipLocal),
    /// Lip^I from pairs.
    LipPairs(LipPairs),
    /// Large margin nearest neighbours.
    Lmnn(Lmnn),
    /// Large margin metric learning.
    Lmml(Lmml),
    /// Neighbourhood components analysis.
    Nca(Nca),
    /// Maximally collapsing metric learning.
    Mcml(Mcml),
    /// Metric learning for kernel regression.
    Mlkr(Mlkr),
    /// The metric from the gradients of a smooth function.
    Agop(Agop),
    /// Information-theoretic metric learning.
    Itml(Itml),
    /// A metric for certified accuracy.
    LipRobust(LipRobust),
    /// Fisher's discriminant directions.
    Discriminant(Discriminant),
    /// Adversarially robust metric learning.
    Arml(Arml),
    /// The Euclidean metric.
    Euclidean(Euclidean),
}

macro_rules! each {
    ($($variant:ident),*) => {
        $(impl From<$variant> for Spec {
            fn from(method: $variant) -> Self {
                Self::$variant(method)
            }
        })*

        impl Spec {
            /// Every method, each with its defaults.
            #[must_use]
            pub fn all() -> Vec<Self> {
                vec![$(Self::$variant($variant::new())),*]
            }

            /// The parameters of the method, in the order of its declaration.
            #[must_use]
            pub fn fields(&self) -> &'static [Field] {
                match self {
                    $(Self::$variant(_) => $variant::FIELDS,)*
                }
            }

            fn method(&self) -> &dyn Method {
                match self {
                    $(Self::$variant(method) => method,)*
                }
            }
        }
    };
}
each!(Auto, Lip, LipLocal, LipRobust, LipPairs, Lmnn, Lmml, Nca, Mcml, Mlkr, Agop, Discriminant, Arml, Itml, Euclidean);

impl Spec {
    /// The same as a fit on these rows has it: with the solver that is taken for them, and its tolerance and limit.
    ///
    /// # Errors
    /// If the method cannot be fitted on so many rows or features.
    pub fn used(&self, data: &Training<'_>) -> Result<Self> {
        match self {
            Self::Lip(lip) => lip.used(data).map(Self::Lip),
            other => Ok(other.clone()),
        }
    }

    /// Checks that a fit on these rows gives a certificate ([`Fit::certificate`]) of the metric that it gives.
    ///
    /// # Errors
    /// If not: the message says why, and what to do.
    pub fn check_certificate(&self, data: &Training<'_>) -> Result<()> {
        let refused = |why: String| Err(Error::parameter("certificate", why));
        let lip = match self {
            Self::Lip(lip) => lip,
            Self::LipPairs(_) => return Ok(()),
            other => {
                let proved = matches!(other, Self::Lmnn(_) | Self::Lmml(_) | Self::Mcml(_) | Self::LipLocal(_));
                let why = match proved {
                    true => "its bound is proved by other means than multipliers of pairs",
                    false => "it proves no bound",
                };
                let name = other.name();
                return refused(format!("{name} gives none: {why}; lip-d, lip-i, lip and lip-pairs give one"));
            }
        };
        if lip.anchor.is_some() {
            return refused(
                "with an anchor there is none that could be checked; leave out the parameter `anchor`".to_owned(),
            );
        }
        if lip.rank.is_auto() {
            return refused(
                "it is one of the whole metric, of which `rank = auto` keeps a part; leave that out".to_owned(),
            );
        }
        let solver = match lip.solver {
            Solver::Auto if lip.chooses() => Solver::automatic(data.x.rows(), data.x.cols()),
            Solver::Auto => match self.used(data)? {
                Self::Lip(used) => used.solver,
                _ => Solver::Auto,
            },
            given => given,
        };
        // With a slack per row few pairs carry a multiplier, and every solver that has it keeps them.
        if solver != Solver::Exact && lip.slack != Choose::Value(Slack::Instance) {
            let name = solver.name();
            return refused(format!(
                "with a slack per pair the solver `{name}` keeps no multipliers; the exact one does: `solver = exact`"
            ));
        }
        Ok(())
    }

    /// The same with what a fit of it has chosen and its `c`, for a part of the rows, to an accuracy that is enough for
    /// predictions.
    pub(crate) fn settled(&self, outcome: &Outcome, part: f64) -> Self {
        match (self, outcome.c) {
            (Self::Lip(lip), Some(c)) if !lip.rank.is_auto() => lip.settled(outcome.choice.as_ref(), c, part).into(),
            _ => self.clone(),
        }
    }

    /// How much each row counts.
    pub(crate) fn row_weights(&self, data: &Training<'_>) -> Result<Vec<f64>> {
        match self {
            Self::Lip(lip) => lip.class_weights.of_rows(data),
            _ => Ok(data.weights.map_or_else(|| vec![1.0; data.x.rows()], <[f64]>::to_vec)),
        }
    }

    /// Whether something is chosen by cross-validation.
    #[must_use]
    pub fn chooses(&self) -> bool {
        match self {
            Self::Auto(_) => true,
            Self::Lip(lip) => lip.chooses(),
            _ => false,
        }
    }
}

impl Method for Spec {
    fn name(&self) -> &'static str {
        self.method().name()
    }

    fn check(&self) -> Result<()> {
        self.method().check()
    }

    fn takes_start(&self) -> bool {
        self.method().takes_start()
    }

    fn takes_triplets(&self) -> bool {
        self.method().takes_triplets()
    }

    fn takes_pairs(&self) -> bool {
        self.method().takes_pairs()
    }

    fn takes_numbers(&self) -> bool {
        self.method().takes_numbers()
    }

    fn fit(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        self.method().fit(data, observer)
    }
}

/// A value, or the wish that it be chosen by cross-validation: `"auto"` in a file.
///
/// ```
/// use lipmetric::method::Choose;
/// use lipmetric::problem::Slack;
/// let read = |text: &str| serde_json::from_str::<Choose<Slack>>(text);
/// assert_eq!(read(r#""auto""#)?, Choose::Auto);
/// assert_eq!(read(r#""pair""#)?, Slack::Pair.into());
/// assert!(read(r#""both""#).unwrap_err().to_string().contains("or \"auto\""));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choose<T> {
    /// Chosen by cross-validation.
    Auto,
    /// This one.
    Value(T),
}

impl<T> Choose<T> {
    /// Whether it is to be chosen.
    #[must_use]
    pub const fn is_auto(&self) -> bool {
        matches!(self, Self::Auto)
    }

    /// The value, if there is one.
    #[must_use]
    pub fn value(self) -> Option<T> {
        match self {
            Self::Auto => None,
            Self::Value(value) => Some(value),
        }
    }

    /// The value, or this one where it is to be chosen.
    #[must_use]
    pub fn unwrap_or(self, usual: T) -> T {
        self.value().unwrap_or(usual)
    }

    /// The value, or the usual one where it is to be chosen.
    #[must_use]
    pub fn unwrap_or_default(self) -> T
    where
        T: Default,
    {
        self.value().unwrap_or_default()
    }
}

macro_rules! choosable {
    ($($type:ty => $into:ty),*) => {
        $(impl From<$type> for Choose<$into> {
            fn from(value: $type) -> Self {
                Self::Value(value.into())
            }
        })*
    };
}
choosable!(Variant => Variant, Slack => Slack, Diameter => Diameter, TradeOff => TradeOff, Scaling => Scaling);
choosable!(usize => Option<usize>, Option<usize> => Option<usize>);

const AUTO: &str = "auto";

impl<T: Serialize> Serialize for Choose<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => AUTO.serialize(serializer),
            Self::Value(value) => value.serialize(serializer),
        }
    }
}

impl<'de, T: serde::de::DeserializeOwned> Deserialize<'de> for Choose<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Held as a value until it is known which of the two it is.
        let held = serde_json::Value::deserialize(deserializer)?;
        if held == AUTO {
            return Ok(Self::Auto);
        }
        let other = |e: serde_json::Error| serde::de::Error::custom(format_args!("{e}, or \"{AUTO}\""));
        T::deserialize(held).map(Self::Value).map_err(other)
    }
}

impl<T: std::str::FromStr> std::str::FromStr for Choose<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, T::Err> {
        if text == AUTO { Ok(Self::Auto) } else { text.parse().map(Self::Value) }
    }
}

/// The solvers have defaults of their own where the method's parameters leave them open.
impl Solver {
    /// The certified relative gap that is reached unless another one is asked for.
    #[must_use]
    pub const fn usual_tolerance(self) -> f64 {
        match self {
            Self::Auto | Self::Exact => 1e-6,
            Self::Augmented | Self::Admm | Self::Paper => 1e-3,
        }
    }

    /// Steps, at most, unless another limit is asked for.
    #[must_use]
    pub const fn usual_iterations(self) -> usize {
        match self {
            Self::Auto | Self::Exact => 500,
            Self::Augmented | Self::Admm | Self::Paper => 100_000,
        }
    }
}

/// Checks a parameter that has to be positive, such as `usual`.
pub(super) fn check_positive(name: &'static str, value: f64, usual: f64) -> Result<()> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(Error::parameter(name, format!("{value} is not positive and finite, for example {usual}")))
}

/// Checks what most methods have: a tolerance and a limit on the steps.
pub(super) fn check_limits(tolerance: f64, max_iterations: usize) -> Result<()> {
    if !(1e-12..1.0).contains(&tolerance) {
        return Err(Error::parameter("tolerance", format!("{tolerance} is not from 1e-12 to below 1")));
    }
    if max_iterations == 0 {
        return Err(Error::parameter("max_iterations", "0 steps: give at least 1"));
    }
    Ok(())
}
