//! What a choice keeps of its work: the metrics of every fold that is done, and those that were learned from all rows. Another run
//! takes them as they are, so that it comes to the same choice, bit for bit.

use super::family::{Family, Member, Traits};
use super::{Fit, Part, Training, Watch};
use crate::method::Outcome;
use crate::solver::{Kept, Status, row};
use crate::{Matrix, Metric, Result};
use serde::{Deserialize, Serialize};

/// What of a member is no number.
#[derive(Serialize, Deserialize)]
struct Told {
    traits: Traits,
    euclidean: bool,
    unit_c: Option<f64>,
    slack: bool,
}

/// Numbers of a member: factor, slacks, weights.
const PARTS: usize = 3;

/// The rows of a fold that are learned from, and what is learned from them, in this run or an earlier one.
pub(super) fn learned<'a>(
    part: &'a Part,
    (repeat, fold): (usize, usize),
    watch: &mut Watch<'_>,
    learn: impl FnOnce(&Training<'_>, &mut Watch<'_>) -> Result<Vec<Member>>,
) -> Result<(Training<'a>, Vec<Member>)> {
    let training = part.training()?;
    let part = format!("round {}, fold {}", repeat + 1, fold + 1);
    if let Some(known) = watch.inner.kept(&part).and_then(|kept| revived(kept, &training)) {
        return Ok((training, known));
    }
    let members = learn(&training, watch)?;
    if watch.stop.is_none()
        && let Some(kept) = kept(&members)
    {
        watch.inner.finished(&part, &kept);
    }
    Ok((training, members))
}

fn kept(members: &[Member]) -> Option<Kept> {
    let told = |m: &Member| Told {
        traits: m.traits,
        euclidean: m.metric.is_euclidean(),
        unit_c: m.unit_c,
        slack: m.slack.is_some(),
    };
    let text = serde_json::to_string(&members.iter().map(told).collect::<Vec<_>>()).ok()?;
    let numbers = members.iter().flat_map(|m| {
        let slack = m.slack.clone().unwrap_or_default();
        [factor(&m.metric), row(slack), row(m.weights.clone())]
    });
    Some(Kept::new(text, numbers.collect()))
}

fn revived(kept: Kept, training: &Training<'_>) -> Option<Vec<Member>> {
    let told: Vec<Told> = serde_json::from_str(&kept.text).ok()?;
    if kept.numbers.len() != PARTS * told.len() {
        return None;
    }
    let n = training.x.rows();
    let member = |(told, numbers): (&Told, &[Matrix])| {
        let long = |m: &Matrix| [0, n].contains(&m.as_slice().len()) && m.first_non_finite().is_none();
        if !numbers[1..].iter().all(long) {
            return None;
        }
        let slack = told.slack.then(|| numbers[1].as_slice().to_vec());
        let weights = numbers[2].as_slice().to_vec();
        let metric = metric(&numbers[0], told.euclidean, training.x.cols())?;
        Some(Member { traits: told.traits, metric, slack, weights, unit_c: told.unit_c })
    };
    told.iter().zip(kept.numbers.chunks_exact(PARTS)).map(member).collect()
}

/// The fit that `learn` would come to, by an earlier run or by this one. A fit that was stopped is not kept.
pub(super) fn fit(
    (part, family): (&str, &Family),
    data: &Training<'_>,
    watch: &mut Watch<'_>,
    learn: impl FnOnce(&mut Watch<'_>) -> Result<Fit>,
) -> Result<Fit> {
    let revive = |kept: Kept| {
        let (euclidean, outcome): (bool, Outcome) = serde_json::from_str(&kept.text).ok()?;
        let [factor, slack] = kept.numbers.as_slice() else { return None };
        let slack = Some(slack.as_slice().to_vec()).filter(|s| s.len() == data.x.rows());
        Some(Fit { slack, ..Fit::new(metric(factor, euclidean, data.x.cols())?, outcome) })
    };
    if let Some(known) = watch.inner.kept(part).and_then(revive) {
        return Ok(known);
    }
    watch.within = matches!(family, Family::Forms(_)).then(|| format!("{part}/"));
    let fit = learn(watch);
    watch.within = None;
    let fit = fit?;
    let stopped = matches!(fit.outcome.status, Status::TimeLimit | Status::Interrupted);
    // Multipliers are not kept: a fit that has some goes on from what it has kept itself.
    if !stopped
        && fit.certificate.is_none()
        && let Ok(text) = serde_json::to_string(&(fit.metric.is_euclidean(), &fit.outcome))
    {
        let numbers = vec![factor(&fit.metric), row(fit.slack.clone().unwrap_or_default())];
        watch.inner.finished(part, &Kept::new(text, numbers));
    }
    Ok(fit)
}

/// The factor; nothing for the Euclidean metric, whose factor may be large.
fn factor(metric: &Metric) -> Matrix {
    if metric.is_euclidean() { Matrix::default() } else { metric.factor().clone() }
}

fn metric(factor: &Matrix, euclidean: bool, features: usize) -> Option<Metric> {
    if euclidean {
        return Some(Metric::euclidean(features));
    }
    Metric::new(factor.clone()).ok().filter(|metric| metric.features() == features)
}
