use super::family::{Family, Member};
use super::mix::{distances, unit};
use super::{Part, Training, Watch};
use crate::Result;
use crate::classify::{Weights, vote};
use crate::evaluate::folds;
use rayon::prelude::*;

/// A metric that is judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    /// Which member of the family; the Euclidean metric is none.
    pub(super) member: Option<usize>,
    pub(super) what: &'static str,
    pub(super) c_rel: Option<f64>,
    /// The share of the Euclidean metric.
    pub(super) euclid: f64,
}

/// How often each row was predicted rightly by metrics that had not seen it.
pub(super) struct Scores {
    pub(super) candidates: Vec<Candidate>,
    pub(super) ks: Vec<usize>,
    /// The fold that each row was in at first.
    pub(super) fold: Vec<usize>,
    /// How much each row counts: zero if it was never held out.
    pub(super) weight: Vec<f64>,
    /// `right[candidate * ks.len() + k][row]`, a share of the times that the row was held out.
    pub(super) right: Vec<Vec<f64>>,
    pub(super) folds: usize,
    pub(super) repeats: usize,
}

/// Learns from all folds but one and predicts that one, in turn. Inside, why nothing could be judged: no fold could be
/// learned from the others, or the watch was told to stop.
#[expect(clippy::too_many_arguments, reason = "the settings of one function, used once")]
pub(super) fn judge(
    family: &Family,
    data: &Training<'_>,
    ks: &[usize],
    votes: Weights,
    number: usize,
    repeats: usize,
    seed: u64,
    watch: &mut Watch<'_>,
) -> Result<std::result::Result<Scores, String>> {
    let n = data.x.rows();
    let number = number.min(n);
    if number < 2 {
        return Ok(Err("there is a single row".to_owned()));
    }
    let mut why = String::new();
    let mut scores: Option<Scores> = None;
    let mut times = vec![0.0_f64; n];
    let mut fold = vec![0; n];
    for repeat in 0..repeats {
        for (at, split) in folds(data.y, number, seed.wrapping_add(repeat as u64))?.into_iter().enumerate() {
            if repeat == 0 {
                split.test.iter().for_each(|&i| fold[i] = at);
            }
            let part = Part::of(data, &split.train);
            // A fold whose removal leaves nothing to learn from tells nothing.
            let learned = part.training().and_then(|training| Ok((training, family.members(&training, watch)?)));
            if watch.stop.is_some() {
                return Ok(Err("the fit was stopped before a choice was made".to_owned()));
            }
            let (training, members) = match learned {
                Ok(learned) => learned,
                Err(error) => {
                    why = error.to_string();
                    continue;
                }
            };
            let candidates = candidates(family, &members);
            let scores = scores.get_or_insert_with(|| Scores {
                right: vec![vec![0.0; n]; candidates.len() * ks.len()],
                candidates,
                ks: ks.to_vec(),
                fold: Vec::new(),
                weight: Vec::new(),
                folds: number,
                repeats,
            });
            for (&i, hits) in split.test.iter().zip(predict(data, &training, &members, &split.test, scores, votes)?) {
                times[i] += 1.0;
                scores.right.iter_mut().zip(hits).for_each(|(row, hit)| row[i] += f64::from(u8::from(hit)));
            }
            let tried = scores.candidates.len();
            watch.inner.decided(&format!("{tried} distances have predicted {} held-out rows", split.test.len()));
        }
    }
    if let Some(scores) = &mut scores {
        for row in &mut scores.right {
            row.iter_mut().zip(&times).for_each(|(r, t)| *r /= t.max(1.0));
        }
        let counts = |i: usize| data.weights.map_or(1.0, |w| w[i]) * f64::from(u8::from(times[i] > 0.0));
        scores.weight = (0..n).map(counts).collect();
        scores.fold = fold;
    }
    Ok(scores.ok_or(why))
}

fn candidates(family: &Family, members: &[Member]) -> Vec<Candidate> {
    let mut out = Vec::new();
    if family.shares().len() > 1 {
        out.push(Candidate { member: None, what: "euclidean", c_rel: None, euclid: 1.0 });
    }
    for (at, member) in members.iter().enumerate() {
        for &euclid in family.shares() {
            out.push(Candidate { member: Some(at), what: member.what, c_rel: member.c_rel, euclid });
        }
    }
    out
}

/// For each held-out row, which candidates and numbers of neighbours predict it rightly.
fn predict(
    data: &Training<'_>,
    training: &Training<'_>,
    members: &[Member],
    test: &[usize],
    scores: &Scores,
    votes: Weights,
) -> Result<Vec<Vec<bool>>> {
    let queries = data.x.select_rows(test);
    let plain = distances(&queries, training.x, unit(training.x));
    let mut learned = Vec::with_capacity(members.len());
    for member in members {
        let rows = member.fit.metric.transform(training.x)?;
        learned.push(distances(&member.fit.metric.transform(&queries)?, &rows, unit(&rows)));
    }
    let codes = training.y.codes();
    let most = scores.ks.iter().copied().max().unwrap_or(1).min(codes.len());
    let judge_row = |q: usize| -> Vec<bool> {
        let truth = data.y.codes()[test[q]];
        let mut hits = Vec::with_capacity(scores.right.len());
        let mut order: Vec<(f64, u32)> = Vec::with_capacity(codes.len());
        for candidate in &scores.candidates {
            order.clear();
            let share = candidate.euclid;
            match candidate.member {
                None => order.extend(plain.row(q).iter().zip(0u32..).map(|(&d, j)| (d, j))),
                Some(m) => {
                    let both = learned[m].row(q).iter().zip(plain.row(q)).zip(0u32..);
                    order.extend(both.map(|((&l, &e), j)| ((1.0 - share) * l + share * e, j)));
                }
            }
            let nearer = |a: &(f64, u32), b: &(f64, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
            if most < order.len() {
                order.select_nth_unstable_by(most - 1, nearer);
                order.truncate(most);
            }
            order.sort_unstable_by(nearer);
            let classes: Vec<u32> = order.iter().map(|o| codes[o.1 as usize]).collect();
            let squared: Vec<f64> = order.iter().map(|o| o.0).collect();
            for &k in &scores.ks {
                let k = k.min(classes.len());
                hits.push(vote(&classes[..k], &squared[..k], votes) == truth);
            }
        }
        hits
    };
    Ok((0..test.len()).into_par_iter().map(judge_row).collect())
}
