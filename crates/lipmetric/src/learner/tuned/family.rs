use super::super::frame::{Frame, roots};
use super::super::{Euclidean, Fit, Learner, Lip, LipAdmm, LipAuto, LipLocal, Training};
use crate::solver::Observer;
use crate::{Matrix, Result, linalg};
use std::collections::BTreeMap;

/// What is chosen from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Family {
    /// The within-class Mahalanobis metric and Lip^I by near pairs, by themselves and mixed with the Euclidean metric.
    Local,
    /// Lip^D or Lip^I for several `c`.
    TradeOff(Box<(Lip, Option<LipAdmm>)>),
}

/// A metric of the family, learned from some rows.
pub(super) struct Member {
    pub(super) what: &'static str,
    pub(super) c_rel: Option<f64>,
    pub(super) fit: Fit,
}

/// Which of the judged is taken unless another one is shown to be better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Reference {
    Euclid,
    /// The member of this `c_rel`.
    Fraction(f64),
}

/// Trade-offs of the near pairs, largest first.
const NEAR: [f64; 4] = [0.5, 0.2, 0.05, 0.01];
/// Trade-offs of Lip^D and Lip^I.
const WIDE: [f64; 7] = [0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.002];
const USUAL: f64 = 0.1;
/// Shares of the Euclidean metric, largest first.
const SHARES: [f64; 5] = [0.7, 0.5, 0.3, 0.15, 0.0];
/// The gap at which a metric is good enough to be judged.
const GAP: f64 = 3e-2;
const STEPS: usize = 300;
/// How much of the within-class covariance is its mean variance, the same in all directions.
const SHRUNK: f64 = 0.1;

fn near() -> LipLocal {
    LipLocal::new().tolerance(GAP).max_iterations(STEPS)
}

impl Family {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Local => "auto",
            Self::TradeOff(lip) => lip.0.name(),
        }
    }

    pub(super) fn parameters(&self) -> BTreeMap<String, serde_json::Value> {
        match self {
            Self::Local => BTreeMap::new(),
            Self::TradeOff(lip) => {
                let mut out = lip.0.parameters();
                out.remove("c");
                out.insert("c_rel".to_owned(), serde_json::json!("auto"));
                out
            }
        }
    }

    pub(super) fn reference(&self) -> Reference {
        match self {
            Self::Local => Reference::Euclid,
            Self::TradeOff(_) => Reference::Fraction(USUAL),
        }
    }

    /// Rows to choose by, at most, where the family has a limit of its own.
    pub(super) fn rows(&self) -> Option<usize> {
        match self {
            Self::Local => None,
            Self::TradeOff(_) => Some(600),
        }
    }

    /// The shares of the Euclidean metric that each member is mixed with.
    pub(super) fn shares(&self) -> &'static [f64] {
        match self {
            Self::Local => &SHARES,
            Self::TradeOff(_) => &[0.0],
        }
    }

    /// All members, learned from these rows.
    pub(super) fn members(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Vec<Member>> {
        match self {
            Self::Local => {
                let mut out = vec![within(data)?];
                let fits = near().path(data, &NEAR, observer)?;
                out.extend(NEAR.iter().zip(fits).map(|(&c, fit)| local(c, fit)));
                Ok(out)
            }
            Self::TradeOff(lip) => {
                let fits = lip.0.path(data, &WIDE, observer)?;
                let member = |(&c, fit): (&f64, _)| {
                    let fit: super::super::LipFit = fit;
                    Member { what: lip.0.name(), c_rel: Some(c), fit: fit.fit }
                };
                Ok(WIDE.iter().zip(fits).map(member).collect())
            }
        }
    }

    /// One member, learned as it was judged.
    pub(super) fn member(&self, at: usize, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Member> {
        match (self, at) {
            (Self::Local, 0) => within(data),
            (Self::Local, at) => {
                let c = NEAR[at - 1];
                Ok(local(c, near().c_relative(c).fit(data, observer)?))
            }
            (Self::TradeOff(lip), at) => {
                let fit = lip.0.clone().c_relative(WIDE[at]).fit(data, observer)?;
                Ok(Member { what: lip.0.name(), c_rel: Some(WIDE[at]), fit })
            }
        }
    }

    /// The learner of the last fit at this (or else the usual) trade-off, where it is not a member's own.
    pub(super) fn finish(&self, fraction: Option<f64>) -> Option<Box<dyn Learner>> {
        let Self::TradeOff(lip) = self else { return None };
        let (exact, large) = lip.as_ref();
        let fraction = fraction.unwrap_or(USUAL);
        let exact = exact.clone().c_relative(fraction);
        Some(match large {
            Some(large) => Box::new(LipAuto::new(exact, large.clone().c_relative(fraction))),
            None => Box::new(exact),
        })
    }
}

fn local(c: f64, fit: Fit) -> Member {
    Member { what: "lip-local", c_rel: Some(c), fit }
}

/// The Mahalanobis metric of the covariance within the classes, shrunk a little.
fn within(data: &Training<'_>) -> Result<Member> {
    let frame = Frame::new(data)?;
    let (x, p) = (&frame.cloud.x, frame.rank());
    let mut centred = Matrix::zeros(x.rows(), p);
    let mut at = 0;
    while at < x.rows() {
        let range = frame.same[at].clone();
        let weight = &frame.cloud.weight;
        let mass: f64 = range.clone().map(|i| weight[i]).sum();
        let mut mean = vec![0.0; p];
        for i in range.clone() {
            mean.iter_mut().zip(x.row(i)).for_each(|(m, v)| *m += v * weight[i] / mass);
        }
        for i in range.clone() {
            let root = weight[i].sqrt();
            let row = centred.row_mut(i).iter_mut().zip(x.row(i)).zip(&mean);
            row.for_each(|((c, v), m)| *c = root * (v - m));
        }
        at = range.end;
    }
    let mut covariance = linalg::transposed_product(&centred, &centred);
    let trace: f64 = (0..p).map(|k| covariance[(k, k)]).sum();
    // Classes of equal rows leave nothing to divide by.
    let level = if trace > 0.0 { SHRUNK * trace / p as f64 } else { 1.0 };
    covariance.as_mut_slice().iter_mut().for_each(|v| *v *= 1.0 - SHRUNK);
    (0..p).for_each(|k| covariance[(k, k)] += level);
    linalg::symmetrise(&mut covariance);
    let (root, _) = roots(&covariance, 1e-14)?;
    let outcome = Euclidean.fit(data, &mut crate::solver::Silent)?.outcome;
    Ok(Member { what: "within", c_rel: None, fit: Fit { metric: frame.metric(&root)?, outcome } })
}
