use super::family::{Family, Member, Traits};
use super::forms::Common;
use super::kept;
use super::mix::{distances, unit};
use super::{Part, Serves, Training, Watch};
use crate::classify::{ExtensionFunction, Poll, Weights};
use crate::data::folds;
use crate::{Labels, Matrix, Result};
use rayon::prelude::*;

/// A metric that is judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    /// Which member of the family; the Euclidean metric is none.
    pub(super) member: Option<usize>,
    pub(super) traits: Traits,
    /// The share of the Euclidean metric.
    pub(super) euclid: f64,
    /// The mean over the folds of [`Member::unit_c`], where every fold has one.
    pub(super) unit_c: Option<f64>,
}

/// How often each row was predicted correctly by metrics that had not seen it.
pub(super) struct Scores {
    pub(super) candidates: Vec<Candidate>,
    /// The numbers of neighbours that vote; a single `None` where a function predicts.
    pub(super) rules: Vec<Option<usize>>,
    /// The fold that each row was in at first.
    pub(super) fold: Vec<usize>,
    /// How much each row counts: zero if it was never held out.
    pub(super) weight: Vec<f64>,
    /// `right[candidate * rules.len() + rule][row]`, a share of the times that the row was held out.
    pub(super) right: Vec<Vec<f64>>,
    pub(super) folds: usize,
    pub(super) repeats: usize,
    /// Which candidates were given up, ...
    pub(super) given_up: Vec<bool>,
    /// ... and how much each row counts for these: zero if it was not held out until then.
    pub(super) early: Vec<f64>,
}

/// Held-out rows after which a trade-off that is no better than the usual one is given up: it would have to become better by more
/// than a standard error on the others.
const ENOUGH: f64 = 100.0;

impl Scores {
    fn new(candidates: Vec<Candidate>, rules: &[Option<usize>], rows: usize, (folds, repeats): (usize, usize)) -> Self {
        Self {
            right: vec![vec![0.0; rows]; candidates.len() * rules.len()],
            given_up: vec![false; candidates.len()],
            candidates,
            rules: rules.to_vec(),
            fold: Vec::new(),
            weight: Vec::new(),
            early: Vec::new(),
            folds,
            repeats,
        }
    }

    /// The candidates that are still tried.
    fn tried(&self) -> Vec<usize> {
        (0..self.candidates.len()).filter(|c| !self.given_up[*c]).collect()
    }

    /// Takes in one more fold: what its candidates have for `c`, into the mean over the folds, and which rows they predict
    /// correctly.
    fn count(&mut self, of_fold: &[Candidate], folds: f64, test: &[usize], hits: Vec<Vec<bool>>) {
        let (tried, rules) = (self.tried(), self.rules.len());
        for (&at, new) in tried.iter().zip(of_fold) {
            let known = &mut self.candidates[at].unit_c;
            *known = known.zip(new.unit_c).map(|(mean, c)| mean + (c - mean) / folds);
        }
        for (&row, hits) in test.iter().zip(hits) {
            let places = tried.iter().flat_map(|at| at * rules..(at + 1) * rules);
            places.zip(hits).for_each(|(place, hit)| self.right[place][row] += f64::from(u8::from(hit)));
        }
    }

    /// Gives up what has not been better than the usual so far, once there are enough rows to tell; `counts` is how much each
    /// row counts that was held out.
    fn screen(&mut self, usual: Traits, counts: Vec<f64>) {
        let Some(reference) = self.candidates.iter().position(|c| c.traits == usual) else { return };
        let right = |at: usize| self.right[at].iter().zip(&counts).map(|(r, w)| r * w).sum::<f64>();
        let least = right(reference);
        self.given_up = (0..self.candidates.len()).map(|at| at != reference && right(at) <= least).collect();
        self.early = counts;
    }

    /// Shares of the times that each row was held out, from the numbers of those.
    fn settle(&mut self, times: &[f64], early: &[f64], fold: Vec<usize>, counts: impl Fn(&[f64]) -> Vec<f64>) {
        let rules = self.rules.len();
        for (place, row) in self.right.iter_mut().enumerate() {
            let times = if self.given_up[place / rules] { early } else { times };
            row.iter_mut().zip(times).for_each(|(r, t)| *r /= t.max(1.0));
        }
        self.weight = counts(times);
        self.fold = fold;
    }
}

/// Learns from all folds but one and predicts that one, in turn. Inside, why nothing could be judged: no fold could be
/// learned from the others, or the watch was told to stop.
pub(super) fn judge(
    family: &Family,
    data: &Training<'_>,
    serves: Serves<'_>,
    (number, repeats, seed): (usize, usize, u64),
    watch: &mut Watch<'_>,
) -> Result<std::result::Result<Scores, String>> {
    let n = data.x.rows();
    let number = number.min(n);
    if number < 2 {
        return Ok(Err("there is a single row".to_owned()));
    }
    let rules = match serves {
        Serves::Votes { neighbours, .. } => neighbours.iter().copied().map(Some).collect(),
        Serves::Extension { .. } | Serves::Function { .. } => vec![None],
    };
    let counts = |times: &[f64]| -> Vec<f64> {
        (0..n).map(|i| data.weights.map_or(1.0, |w| w[i]) * f64::from(u8::from(times[i] > 0.0))).collect()
    };
    let mut why = String::new();
    let mut scores: Option<Scores> = None;
    let (mut times, mut early) = (vec![0.0_f64; n], Vec::new());
    let mut learned_folds = 0.0;
    let mut fold = vec![0; n];
    let mut common = family.common(data, watch);
    for repeat in 0..repeats {
        for (at, split) in folds(data.y, number, seed.wrapping_add(repeat as u64))?.into_iter().enumerate() {
            if repeat == 0 {
                split.test.iter().for_each(|&i| fold[i] = at);
            }
            watch.folds = Some((repeat * number + at, repeats * number));
            let part = Part::of(data, &split.train);
            // A fold whose removal leaves nothing to learn from tells nothing.
            let learned =
                kept::learned(&part, (repeat, at), watch, |training, watch| family.learn(training, &common, watch));
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
            learned_folds += 1.0;
            let scores = scores.get_or_insert_with(|| Scores::new(candidates.clone(), &rules, n, (number, repeats)));
            let held_out = HeldOut { data, training: &training, members: &members, test: &split.test };
            let hits = match serves {
                Serves::Votes { weights, .. } => held_out.by_votes(scores, weights)?,
                Serves::Extension { alpha } => held_out.by_extension(alpha)?,
                Serves::Function { weights, .. } => held_out.by_votes(scores, weights)?,
            };
            scores.count(&candidates, learned_folds, &split.test, hits);
            split.test.iter().for_each(|&i| times[i] += 1.0);
            if common.screens && early.is_empty() && times.iter().sum::<f64>() >= ENOUGH {
                scores.screen(family.usual(), counts(&times));
                common.given_up.clone_from(&scores.given_up);
                early.clone_from(&times);
            }
            watch.inner.decided(&format!(
                "cross-validation: {} distances have predicted {} held-out rows",
                candidates.len(),
                split.test.len()
            ));
        }
    }
    if let Some(scores) = &mut scores {
        scores.settle(&times, &early, fold, counts);
    }
    Ok(scores.ok_or(why))
}

impl Family {
    /// What is the same for all folds of these rows.
    fn common(&self, data: &Training<'_>, watch: &mut Watch<'_>) -> Common {
        match self {
            Self::Forms(forms) => forms.common(data, watch),
            Self::Local(..) => Common::default(),
        }
    }

    fn learn(&self, data: &Training<'_>, common: &Common, watch: &mut Watch<'_>) -> Result<Vec<Member>> {
        match self {
            Self::Forms(forms) => forms.members(data, common, watch),
            Self::Local(..) => self.members(data, watch),
        }
    }
}

pub(super) fn candidates(family: &Family, members: &[Member]) -> Vec<Candidate> {
    let mut out = Vec::new();
    if matches!(family, Family::Local(..)) {
        out.push(Candidate { member: None, traits: Traits::euclidean(), euclid: 1.0, unit_c: None });
    }
    for (at, member) in members.iter().enumerate() {
        for &euclid in family.shares(member) {
            out.push(Candidate { member: Some(at), traits: member.traits, euclid, unit_c: member.unit_c });
        }
    }
    out
}

/// Votes of the nearest rows, by the distances to all of them.
pub(super) struct Ballot<'a> {
    codes: &'a [u32],
    poll: Poll,
    ranking: Ranking,
}

/// The nearest rows of a query, in memory that is used again.
#[derive(Default)]
pub(super) struct Ranking {
    order: Vec<(f64, u32)>,
    squared: Vec<f64>,
}

impl Ranking {
    /// Hands the nearest rows, nearest first, and their squared distances to `told`, for each number of neighbours.
    pub(super) fn each(&mut self, squared: &[f64], ks: &[usize], mut told: impl FnMut(&[(f64, u32)], &[f64])) {
        let most = ks.iter().copied().max().unwrap_or(1).min(squared.len());
        let order = &mut self.order;
        order.clear();
        order.extend(squared.iter().zip(0u32..).map(|(&d, j)| (d, j)));
        let nearer = |a: &(f64, u32), b: &(f64, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        if most < order.len() {
            order.select_nth_unstable_by(most - 1, nearer);
            order.truncate(most);
        }
        order.sort_unstable_by(nearer);
        self.squared.clear();
        self.squared.extend(order.iter().map(|o| o.0));
        for &k in ks {
            let k = k.min(order.len());
            told(&order[..k], &self.squared[..k]);
        }
    }
}

impl<'a> Ballot<'a> {
    pub(super) fn new(labels: &'a Labels, weights: Weights) -> Self {
        Self { codes: labels.codes(), poll: Poll::new(labels.classes().len(), weights), ranking: Ranking::default() }
    }

    /// Hands the winner for each number of neighbours to `told`, with the votes.
    pub(super) fn each(&mut self, squared: &[f64], ks: &[usize], mut told: impl FnMut(u32, &Poll)) {
        let (codes, poll) = (self.codes, &mut self.poll);
        self.ranking.each(squared, ks, |nearest, squared| {
            let winner = poll.winner(nearest.iter().map(|o| codes[o.1 as usize]), squared);
            told(winner, poll);
        });
    }
}

/// Rows that were held out, and what was learned from the others.
struct HeldOut<'a> {
    data: &'a Training<'a>,
    training: &'a Training<'a>,
    members: &'a [Member],
    test: &'a [usize],
}

impl HeldOut<'_> {
    fn queries(&self) -> Matrix {
        self.data.x.select_rows(self.test)
    }

    fn truth(&self, q: usize) -> u32 {
        self.data.y.codes()[self.test[q]]
    }

    /// For each held-out row, which candidates predict it correctly by their functions.
    fn by_extension(&self, alpha: f64) -> Result<Vec<Vec<bool>>> {
        let queries = self.queries();
        let mut hits = vec![Vec::with_capacity(self.members.len()); self.test.len()];
        for member in self.members {
            let margins = member.margins(self.training)?;
            let rows = member.metric.transform(self.training.x)?;
            let function = ExtensionFunction::new(rows, self.training.y.clone(), margins, alpha)?;
            let predicted = function.predict(&member.metric.transform(&queries)?)?;
            for (q, class) in predicted.into_iter().enumerate() {
                hits[q].push(class == self.truth(q));
            }
        }
        Ok(hits)
    }

    /// For each held-out row, which candidates and numbers of neighbours predict it correctly.
    fn by_votes(&self, scores: &Scores, votes: Weights) -> Result<Vec<Vec<bool>>> {
        let (queries, training) = (self.queries(), self.training);
        let plain = distances(&queries, training.x, unit(training.x));
        let mut learned = Vec::with_capacity(self.members.len());
        for member in self.members {
            let rows = member.metric.transform(training.x)?;
            learned.push(distances(&member.metric.transform(&queries)?, &rows, unit(&rows)));
        }
        let ks: Vec<usize> = scores.rules.iter().map(|k| k.unwrap_or(1)).collect();
        let judge_row = |q: usize| -> Vec<bool> {
            let truth = self.truth(q);
            let mut hits = Vec::with_capacity(scores.right.len());
            let mut ballot = Ballot::new(training.y, votes);
            for candidate in &scores.candidates {
                let mixed = |row: &[f64]| -> Vec<f64> {
                    let both = row.iter().zip(plain.row(q));
                    both.map(|(&l, &e)| (1.0 - candidate.euclid) * l + candidate.euclid * e).collect()
                };
                let from = candidate.member.map(|m| mixed(learned[m].row(q)));
                let from = from.as_deref().unwrap_or_else(|| plain.row(q));
                ballot.each(from, &ks, |winner, _| hits.push(winner == truth));
            }
            hits
        };
        Ok((0..self.test.len()).into_par_iter().map(judge_row).collect())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::{Forms, rule};
    use super::*;
    use crate::method::{Choose, Lip};
    use crate::solver::Silent;

    fn rows(n: usize) -> Matrix {
        let mut x = Matrix::zeros(n, 3);
        for i in 0..n {
            for (k, v) in x.row_mut(i).iter_mut().enumerate() {
                *v = (1.7 * i as f64 + 2.3 * k as f64).sin() + 0.1 * ((i * i + k) % 7) as f64;
            }
        }
        x
    }

    /// What is learned from all rows but these, and which of them it predicts correctly.
    fn held_out(family: &Family, x: &Matrix, codes: &[u32], test: &[usize]) -> Vec<Vec<bool>> {
        let y = Labels::from_codes(vec!["a".to_owned(), "b".to_owned()], codes.to_vec()).unwrap();
        let data = Training::new(x, &y).unwrap();
        let train: Vec<usize> = (0..x.rows()).filter(|i| !test.contains(i)).collect();
        let part = Part::of(&data, &train);
        let training = part.training().unwrap();
        let members = family.members(&training, &mut Silent).unwrap();
        let candidates = candidates(family, &members);
        let held_out = HeldOut { data: &data, training: &training, members: &members, test };
        let scores = Scores::new(candidates, &[Some(1), Some(3)], x.rows(), (5, 1));
        let mut hits = held_out.by_votes(&scores, Weights::Uniform).unwrap();
        if matches!(family, Family::Forms(_)) {
            let more = held_out.by_extension(0.5).unwrap();
            hits.iter_mut().zip(more).for_each(|(row, more)| row.extend(more));
        }
        hits
    }

    #[test]
    fn what_has_not_been_better_than_the_usual_is_given_up_and_keeps_what_it_showed() {
        let traits = |c| Traits { c_rel: Some(c), ..Traits::euclidean() };
        let candidate = |c| Candidate { member: Some(0), traits: traits(c), euclid: 0.0, unit_c: Some(1.0) };
        let all = [0.8, 0.5, 0.2, 0.05].map(candidate);
        let mut scores = Scores::new(all.to_vec(), &[None], 4, (2, 1));
        let hits = |rows: [&[bool]; 2]| rows.map(<[bool]>::to_vec).to_vec();
        scores.count(&all, 1.0, &[0, 1], hits([&[true, false, false, false], &[true, true, true, false]]));
        scores.screen(traits(0.2), vec![1.0, 1.0, 0.0, 0.0]);
        assert_eq!(scores.given_up, [false, true, false, true]);
        // The next fold has only what is left, in the same order.
        let left = [0.8, 0.2].map(|c| Candidate { unit_c: Some(0.5), ..candidate(c) });
        scores.count(&left, 2.0, &[2, 3], hits([&[true, false], &[true, true]]));
        let (times, early) = ([1.0; 4], [1.0, 1.0, 0.0, 0.0]);
        scores.settle(&times, &early, vec![0, 0, 1, 1], <[f64]>::to_vec);
        let (chosen, choice) = rule::choose(&scores, traits(0.2));
        assert_eq!((chosen.traits.c_rel, choice.chosen.accuracy, choice.reference), (Some(0.8), 1.0, 0.5));
        assert_eq!(chosen.unit_c, Some(0.75), "the mean over the folds");
        let shown: Vec<f64> = choice.tried.iter().map(|t| t.accuracy).collect();
        assert_eq!(shown, [1.0, 0.5, 0.5, 0.0]);
    }

    #[test]
    fn a_held_out_label_has_no_part_in_any_prediction() {
        let (x, test) = (rows(40), [3, 17, 22, 31]);
        let codes: Vec<u32> = (0..40).map(|i| u32::from(x[(i, 0)] + 0.3 * x[(i, 1)] > 0.3)).collect();
        let y = Labels::from_codes(vec!["a".to_owned(), "b".to_owned()], codes.clone()).unwrap();
        let all = Lip::chosen().slack(Choose::Auto).diameter(Choose::Auto).rank(Choose::Auto);
        let forms = Forms::new(all, &Training::new(&x, &y).unwrap()).unwrap();
        let forms = Family::Forms(Box::new(forms));
        for family in [Family::local(&[], &Training::new(&x, &y).unwrap()).unwrap(), forms] {
            let before = held_out(&family, &x, &codes, &test);
            for (at, &row) in test.iter().enumerate() {
                let mut other = codes.clone();
                other[row] = 1 - other[row];
                let after = held_out(&family, &x, &other, &test);
                for (q, (was, is)) in before.iter().zip(&after).enumerate() {
                    // The same class is predicted: right becomes wrong, and wrong right, of this row alone.
                    assert!(was.iter().zip(is).all(|(was, is)| (was != is) == (q == at)), "row {row}");
                }
            }
        }
    }
}
