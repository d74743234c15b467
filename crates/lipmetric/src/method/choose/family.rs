use super::super::discriminant::discriminant;
use super::super::near_discriminant::near_discriminant;
use super::super::start::coordinates;
use super::super::{Agop, Euclidean, Fit, LipLocal, Lmnn, Loss, Method, MetricKind, Mlkr, Nca, Training, values};
use super::forms::{Common, Forms};
use super::mix::{mixed, of_few_directions};
use crate::problem::{Diameter, Slack};
use crate::solver::Observer;
use crate::{Error, Matrix, Metric, Result, Task, linalg};
use serde::{Deserialize, Serialize};

/// What is chosen from.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::method) enum Family {
    /// The within-class Mahalanobis metric, Lip^I by near pairs, the metric of a smooth function's gradients and, where they are
    /// cheap, NCA by the likelihood and LMNN; of wide rows the discriminant directions: by themselves and mixed with the Euclidean
    /// metric. Of these the listed ones.
    Local(Vec<MetricKind>),
    /// Lip^D or Lip^I in several forms.
    Forms(Box<Forms>),
}

/// What a metric is called, and what tells it from the others of its family.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Traits {
    pub(super) what: MetricKind,
    pub(super) c_rel: Option<f64>,
    /// How often gradients are taken.
    pub(super) rounds: Option<usize>,
    /// How far a covariance is drawn to its mean variance, where not as it is estimated.
    pub(super) shrinkage: Option<f64>,
    /// These, where they are chosen.
    pub(super) slack: Option<Slack>,
    pub(super) diameter: Option<Diameter>,
    /// Nothing where all directions count.
    pub(super) rank: Option<usize>,
}

impl Traits {
    fn plain(what: MetricKind, c_rel: Option<f64>) -> Self {
        Self { what, c_rel, rounds: None, shrinkage: None, slack: None, diameter: None, rank: None }
    }

    /// Those of the Euclidean metric.
    pub(super) fn euclidean() -> Self {
        Self::plain(MetricKind::Euclidean, None)
    }
}

/// A metric of the family, learned from some rows.
pub(super) struct Member {
    pub(super) traits: Traits,
    pub(super) metric: Metric,
    /// The slack of each row, where they were learned with the metric.
    pub(super) slack: Option<Vec<f64>>,
    /// How much each row counts where slacks are learned for it.
    pub(super) weights: Vec<f64>,
    /// `c` for each row of weight one, where a slack per row is learned: it grows with their number.
    pub(super) unit_c: Option<f64>,
}

impl Member {
    /// The values of its function on the rows that it was learned from, each for the row's own class.
    pub(super) fn margins(&self, data: &Training<'_>) -> Result<Vec<f64>> {
        match &self.slack {
            Some(slack) => Ok(slack.iter().map(|xi| 1.0 - xi).collect()),
            None => Ok(values::learned(&self.metric, data, self.weights.clone(), 1.0)?.margins()),
        }
    }
}

/// Trade-offs of the near pairs, largest first.
const NEAR: [f64; 4] = [0.5, 0.2, 0.05, 0.01];
/// Shares of the Euclidean metric, largest first.
const SHARES: [f64; 5] = [0.7, 0.5, 0.3, 0.15, 0.0];
/// Features, at most, of metrics that are mixed with the Euclidean one, unless they have few directions: the factor of a mixture takes
/// the time of the third power.
const MIXED: usize = 1000;
/// Features, at most, of rows that are not wide. On wide ones, near pairs take longer than all else: 16 of 22 s on 1,120 x 384.
const NARROW: usize = 200;
/// How often gradients are taken.
const ROUNDS: usize = 2;
/// The gap at which a metric is good enough to be judged.
const GAP: f64 = 3e-2;
const STEPS: usize = 300;
/// How much of the within-class covariance is its mean variance, the same in all directions.
const SHRUNK: f64 = 0.1;

/// A discriminant's covariance is also drawn half of the way: what is estimated makes its elements as right as can be, and it is its
/// inverse that counts, which of a thousand rows is far less right in hundreds of directions.
const HALF: f64 = 0.5;
/// Near rows of the same class and of others that a row is compared with. Of 3, 5 and 8 none was better than the others throughout.
const NEIGHBOURS: usize = 8;

/// NCA and LMNN are tried where the squared number of rows times that of features is at most this: a step takes about so many
/// multiplications, and learning both shall take some tenths of a second.
const CHEAP: usize = 3_000_000;
const LMNN_STEPS: usize = 100;

fn likely() -> Nca {
    Nca::new().loss(Loss::Log)
}

fn near() -> LipLocal {
    // The mixtures bring the Euclidean metric in.
    LipLocal::new().euclid(0.0).tolerance(GAP).max_iterations(STEPS)
}

impl Family {
    /// The listed metrics, or where none are listed all that rows of this number and width allow for.
    ///
    /// # Errors
    /// If one is listed that does not learn from such labels.
    pub(in crate::method) fn local(wanted: &[MetricKind], data: &Training<'_>) -> Result<Self> {
        let numbers = data.y.task() == Task::Regression;
        let learns = |kind: &MetricKind| {
            if numbers { MetricKind::TRIED_FOR_NUMBERS.contains(kind) } else { *kind != MetricKind::Mlkr }
        };
        let known: Vec<MetricKind> = MetricKind::KNOWN.iter().copied().filter(learns).collect();
        if let Some(other) = wanted.iter().find(|m| !known.contains(m)) {
            let names: Vec<&str> = known.iter().map(|m| m.name()).collect();
            let message = format!("{} is none for {}; give some of {}", other.name(), data.y.task(), names.join(", "));
            return Err(Error::parameter("metrics", message));
        }
        if !wanted.is_empty() {
            return Ok(Self::Local(wanted.to_vec()));
        }
        let usual = if numbers {
            MetricKind::TRIED_FOR_NUMBERS
        } else if data.x.cols() <= NARROW {
            MetricKind::TRIED
        } else {
            MetricKind::TRIED_WIDE
        };
        let work = data.x.rows().saturating_mul(data.x.rows()).saturating_mul(data.x.cols());
        let slow = |kind: &MetricKind| matches!(kind, MetricKind::Nca | MetricKind::Lmnn | MetricKind::Mlkr);
        Ok(Self::Local(usual.iter().copied().filter(|kind| work <= CHEAP || !slow(kind)).collect()))
    }

    /// What is tried, where an option decides it.
    pub(super) fn describe(&self) -> Option<String> {
        match self {
            Self::Local(..) => None,
            Self::Forms(forms) => Some(forms.describe()),
        }
    }

    /// What is taken unless another one is shown to be better.
    pub(super) fn usual(&self) -> Traits {
        match self {
            Self::Local(..) => Traits::euclidean(),
            Self::Forms(forms) => forms.usual(),
        }
    }

    /// The same of classes and distances that are blended.
    pub(super) const EFFORT: (usize, usize) = (2000, 1000);

    /// Rows to choose by, at most, and about how many predictions are enough: small tables are dealt to folds several times.
    pub(super) fn effort(&self) -> (usize, usize) {
        match self {
            Self::Local(..) => Self::EFFORT,
            Self::Forms(forms) => forms.effort(),
        }
    }

    /// The shares of the Euclidean metric that a member is mixed with.
    pub(super) fn shares(&self, member: &Member) -> &'static [f64] {
        match self {
            Self::Local(_) if member.metric.features() <= MIXED || of_few_directions(&member.metric) => &SHARES,
            Self::Local(_) | Self::Forms(_) => &[0.0],
        }
    }

    /// All members, learned from these rows.
    pub(super) fn members(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Vec<Member>> {
        self.members_of(data, &|_| true, observer)
    }

    /// The members that are still needed; of forms of Lip always all, as they are found along one path.
    pub(super) fn members_of(
        &self,
        data: &Training<'_>,
        needed: &dyn Fn(&Traits) -> bool,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Member>> {
        let wanted = match self {
            Self::Local(wanted) => wanted,
            Self::Forms(forms) => return forms.members(data, &Common::default(), observer),
        };
        let mut out = Vec::new();
        for &kind in MetricKind::KNOWN.iter().filter(|kind| wanted.contains(kind)) {
            let roster: Vec<Traits> = roster(kind).into_iter().filter(needed).collect();
            if roster.is_empty() {
                continue;
            }
            let metrics = learned(kind, &roster, data, observer)?;
            let member = |(traits, metric)| Member { traits, metric, slack: None, weights: Vec::new(), unit_c: None };
            out.extend(roster.into_iter().zip(metrics).map(member));
        }
        Ok(out)
    }

    /// The chosen metric, with this share of the Euclidean one, learned from all rows.
    pub(super) fn finish(
        &self,
        traits: Traits,
        (euclid, unit_c): (f64, Option<f64>),
        data: &Training<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Fit> {
        let fit = match (self, traits.c_rel) {
            (Self::Forms(forms), _) => return forms.finish(traits, unit_c, data, observer),
            (Self::Local(..), Some(c)) => near().c_rel(c).fit(data, observer)?,
            (Self::Local(..), None) if traits.what == MetricKind::Within => within(data)?,
            (Self::Local(..), None) if traits.what == MetricKind::Discriminant => {
                discriminant(data, traits.shrinkage, observer)?
            }
            (Self::Local(..), None) if traits.what == MetricKind::NearDiscriminant => {
                near_discriminant(data, NEIGHBOURS, None, observer)?
            }
            (Self::Local(..), None) if traits.what == MetricKind::Agop => {
                let rounds = traits.rounds.unwrap_or(ROUNDS);
                let fits = Agop::new().rounds(rounds).path(data, observer)?;
                fits.into_iter().next_back().ok_or_else(|| Error::data("no gradients could be taken"))?
            }
            (Self::Local(..), None) if traits.what == MetricKind::Nca => likely().fit(data, observer)?,
            (Self::Local(..), None) if traits.what == MetricKind::Lmnn => Lmnn::new().fit(data, observer)?,
            (Self::Local(..), None) if traits.what == MetricKind::Mlkr => Mlkr::new().fit(data, observer)?,
            (Self::Local(..), None) => return Euclidean::new().fit(data, observer),
        };
        if euclid == 0.0 {
            return Ok(Fit::new(fit.metric, fit.outcome));
        }
        // What was shown of the learned metric does not hold for the mixture.
        let mut outcome = fit.outcome;
        if let Some(gap) = outcome.gap {
            outcome.notes.push(format!(
                "the learned metric was certified to a relative gap of {gap:.1e} before it was mixed with the Euclidean one; \
                 nothing is certified of the mixture"
            ));
        }
        (outcome.objective, outcome.dual, outcome.gap) = (None, None, None);
        Ok(Fit::new(mixed(&fit.metric, euclid, data.x)?, outcome))
    }
}

/// The members of a kind.
fn roster(kind: MetricKind) -> Vec<Traits> {
    match kind {
        MetricKind::LipLocal => NEAR.iter().map(|&c| Traits::plain(kind, Some(c))).collect(),
        MetricKind::Agop => {
            (1..=ROUNDS).map(|rounds| Traits { rounds: Some(rounds), ..Traits::plain(kind, None) }).collect()
        }
        MetricKind::Discriminant => {
            [None, Some(HALF)].map(|shrinkage| Traits { shrinkage, ..Traits::plain(kind, None) }).to_vec()
        }
        _ => vec![Traits::plain(kind, None)],
    }
}

/// These members of a kind, learned from these rows.
fn learned(
    kind: MetricKind,
    roster: &[Traits],
    data: &Training<'_>,
    observer: &mut dyn Observer,
) -> Result<Vec<Metric>> {
    // A fold in which a class has a single row may leave nothing to learn.
    let or_plain = |fit: Result<Fit>| vec![fit.map_or_else(|_| Metric::euclidean(data.x.cols()), |fit| fit.metric)];
    Ok(match kind {
        MetricKind::LipLocal => {
            let trade_offs: Vec<f64> = roster.iter().filter_map(|traits| traits.c_rel).collect();
            let fits = near().along(data, &trade_offs, false, observer)?;
            fits.into_iter().map(|fit| fit.metric).collect()
        }
        MetricKind::Agop => {
            let rounds: Vec<usize> = roster.iter().filter_map(|traits| traits.rounds).collect();
            by_gradients(data, &rounds, observer)
        }
        // The folds average over what one part of the rows says of the number of steps.
        MetricKind::Nca => or_plain(likely().fit_by(data, 1, observer)),
        MetricKind::Discriminant => {
            roster.iter().flat_map(|traits| or_plain(discriminant(data, traits.shrinkage, observer))).collect()
        }
        MetricKind::NearDiscriminant => or_plain(near_discriminant(data, NEIGHBOURS, None, observer)),
        MetricKind::Lmnn => or_plain(Lmnn::new().tolerance(GAP).max_iterations(LMNN_STEPS).fit(data, observer)),
        MetricKind::Mlkr => or_plain(Mlkr::new().fit_by(data, 1, observer)),
        _ => vec![within(data)?.metric],
    })
}

/// The metrics of a smooth function's gradients after these numbers of rounds, ascending. Where the function changes nowhere it is
/// the last one that there was, the Euclidean one at first.
fn by_gradients(data: &Training<'_>, rounds: &[usize], observer: &mut dyn Observer) -> Vec<Metric> {
    let most = rounds.last().copied().unwrap_or(1);
    let fits = Agop::new().rounds(most).path(data, observer).unwrap_or_default();
    let after = |&round: &usize| {
        let fit = fits.get(round - 1).or(fits.last());
        fit.map_or_else(|| Metric::euclidean(data.x.cols()), |fit| fit.metric.clone())
    };
    rounds.iter().map(after).collect()
}

/// The Mahalanobis metric of the covariance within the classes, shrunk a little.
fn within(data: &Training<'_>) -> Result<Fit> {
    let frame = coordinates(data)?;
    let (x, p) = (&frame.cloud.x, frame.rank());
    let mut centred = Matrix::zeros(x.rows(), p);
    for class in frame.cloud.classes() {
        let mean = frame.cloud.weighted_mean(class.clone());
        for i in class {
            let root = frame.cloud.weight[i].sqrt();
            let row = centred.row_mut(i).iter_mut().zip(x.row(i)).zip(&mean);
            row.for_each(|((c, v), m)| *c = root * (v - m));
        }
    }
    let mut covariance = linalg::transposed_product(&centred, &centred);
    let trace: f64 = (0..p).map(|k| covariance[(k, k)]).sum();
    // Classes of equal rows leave nothing to divide by.
    let level = if trace > 0.0 { SHRUNK * trace / p as f64 } else { 1.0 };
    covariance.as_mut_slice().iter_mut().for_each(|v| *v *= 1.0 - SHRUNK);
    (0..p).for_each(|k| covariance[(k, k)] += level);
    linalg::symmetrise(&mut covariance);
    let (root, _) = linalg::roots(&covariance, 1e-14)?;
    let outcome = Euclidean::new().fit(data, &mut crate::solver::Silent)?.outcome;
    Ok(Fit::new(frame.metric(&root)?, outcome))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Labels;
    use crate::solver::Silent;

    #[test]
    fn members_that_are_not_needed_are_left_out_and_the_others_are_the_same() {
        let x = Matrix::from_vec(40, 3, (0..120).map(|k| (1.7 * f64::from(k)).sin()).collect()).unwrap();
        let y = Labels::from_names((0..40).map(|i| if x[(i, 0)] + x[(i, 1)] > 0.2 { "a" } else { "b" }));
        let data = Training::new(&x, &y).unwrap();
        let family = Family::local(&[], &data).unwrap();
        let all = family.members(&data, &mut Silent).unwrap();
        assert_eq!(all.len(), 1 + NEAR.len() + ROUNDS + 2);
        let needed = |t: &Traits| t.rounds == Some(2) || matches!(t.what, MetricKind::Within | MetricKind::Lmnn);
        let some = family.members_of(&data, &needed, &mut Silent).unwrap();
        assert_eq!(some.len(), 3);
        for member in some {
            let same = all.iter().find(|m| m.traits == member.traits).unwrap();
            assert_eq!(same.metric, member.metric);
        }
    }
}
