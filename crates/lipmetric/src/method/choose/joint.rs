//! Metric and function together: votes and smooth functions of every distance, judged on rows that they have not seen.

use super::family::{Family, Member, Traits};
use super::judge::{Ballot, Candidate, Ranking, candidates};
use super::kept;
use super::mix::unit;
use super::score::{Score, Told, goodness};
use super::{Part, Training, Watch};
use crate::classify::smooth::{self, Points, Sample};
use crate::classify::{Reading, SmoothSpec, Smoothness, Weights};
use crate::data::folds;
use crate::{Labels, Matrix, Result};
use rayon::prelude::*;
use std::borrow::Cow;

/// What predicts by a distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum How {
    Votes(usize),
    Smooth(Smoothness),
}

/// A distance and what predicts by it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Arm {
    pub(super) candidate: usize,
    pub(super) how: How,
}

impl Arm {
    pub(super) fn smooth(&self) -> bool {
        matches!(self.how, How::Smooth(_))
    }
}

/// What may predict, and what counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ask<'a> {
    /// None where votes are not wanted.
    pub(super) neighbours: &'a [usize],
    pub(super) weights: Weights,
    /// None where smooth functions are not wanted.
    pub(super) smooth: Option<SmoothSpec>,
    pub(super) score: Score,
}

impl Ask<'_> {
    /// How many neighbours vote where nothing could be judged; none where a smooth function may predict.
    pub(super) fn fallback(&self) -> Option<usize> {
        self.neighbours.first().copied().filter(|_| self.smooth.is_none())
    }
}

/// How each arm did on each row.
pub(super) struct Race {
    /// The learned distances, by the number that candidates call them by.
    roster: Vec<Traits>,
    pub(super) candidates: Vec<Candidate>,
    pub(super) arms: Vec<Arm>,
    /// Which arms have been judged on all folds.
    pub(super) alive: Vec<bool>,
    /// Which have been judged in some rounds and then given up: their figures are of these rounds.
    pub(super) given_up: Vec<bool>,
    /// `good[arm][row]`, in the mean over the times that the row was held out.
    pub(super) good: Vec<Vec<f64>>,
    /// The same by the predicted class alone.
    pub(super) right: Vec<Vec<f64>>,
    /// How far from the truth each row was predicted, where numbers are.
    pub(super) off: Vec<Vec<f64>>,
    /// The median certified radius of each arm, in the mean over the folds.
    pub(super) radius: Vec<f64>,
    /// What a smooth arm said of each row at first, ...
    pub(super) values: Vec<Option<Matrix>>,
    /// ... and what its functions did, where that is read by discriminants.
    pub(super) unread: Vec<Option<Matrix>>,
    pub(super) fold: Vec<usize>,
    /// How often each row was held out.
    pub(super) times: Vec<f64>,
    pub(super) folds: usize,
    pub(super) repeats: usize,
    /// Whether arms were given up after the first fold.
    pub(super) dropped: bool,
}

/// Smooth functions that are fitted on a fold, times the third power of the number of rows: a second's work, about. On the first
/// fold it is [`FIRST`] times as much. Found on 1,000 rows, where a default fit shall take less than five seconds.
const WORK: f64 = 3e10;
const FIRST: usize = 4;
/// Of many rows at least so many are kept, and so many of the Euclidean distance.
const KEPT: usize = 8;
const KEPT_PLAIN: usize = 4;
/// Standard errors of the paired difference to the best, beyond which an arm has no part in further rounds of folds: as many as
/// decide in the end.
const BEHIND: f64 = 1.0;
/// Settings by which other distances than the Euclidean are tried: its best.
const SETTINGS: usize = 8;
/// Shares of the Euclidean distance that smooth functions are tried with: fewer than votes, as each takes longer.
const SHARES: [f64; 3] = [0.5, 0.15, 0.0];

/// How a class is told from the values of all classes.
const READINGS: [Reading; 2] = [Reading::Largest, Reading::Discriminant];
/// Parts of the first fold's rows, each of which is read by discriminants of the others.
pub(super) const PARTS: usize = 5;

/// Squared distances of unit mean: between the rows, and from queries to the rows.
struct Distances {
    within: Matrix,
    to: Matrix,
}

impl Distances {
    fn new(rows: &Matrix, queries: &Matrix, smooth: bool) -> Self {
        let (points, scale) = (Points::new(rows), unit(rows));
        let scaled = |mut m: Matrix| {
            m.as_mut_slice().iter_mut().for_each(|v| *v *= scale);
            m
        };
        let within = if smooth { scaled(points.squared_within()) } else { Matrix::default() };
        Self { within, to: scaled(points.squared_distances(queries)) }
    }
}

/// All distances of a fold.
pub(super) struct Fold<'a> {
    plain: Distances,
    /// By member; none where it is not needed any more.
    learned: Vec<Option<Distances>>,
    labels: &'a Labels,
    weights: Option<Vec<f64>>,
}

impl<'a> Fold<'a> {
    pub(super) fn new(
        training: &Training<'a>,
        (roster, members): (&[Traits], &[Member]),
        queries: &Matrix,
        ask: &Ask<'_>,
    ) -> Result<Self> {
        let plain = Distances::new(training.x, queries, ask.smooth.is_some());
        let of = |traits: &Traits| -> Result<Option<Distances>> {
            let Some(member) = members.iter().find(|m| m.traits == *traits) else { return Ok(None) };
            let rows = member.metric.transform(training.x)?;
            Ok(Some(Distances::new(&rows, &member.metric.transform(queries)?, ask.smooth.is_some())))
        };
        let learned = roster.iter().map(of).collect::<Result<_>>()?;
        let weights = smooth::row_weights(training.y, training.weights, ask.smooth.is_some_and(|s| s.balanced));
        Ok(Self { plain, learned, labels: training.y, weights })
    }

    fn mixed(&self, candidate: &Candidate, part: fn(&Distances) -> &Matrix) -> Cow<'_, Matrix> {
        let plain = part(&self.plain);
        let Some(learned) = candidate.member.and_then(|m| self.learned[m].as_ref()) else {
            return Cow::Borrowed(plain);
        };
        let share = candidate.euclid;
        let mut out = part(learned).clone();
        let both = out.as_mut_slice().iter_mut().zip(plain.as_slice());
        both.for_each(|(l, e)| *l = (1.0 - share) * *l + share * e);
        Cow::Owned(out)
    }

    /// What votes under a distance say of the queries, for each number of neighbours.
    pub(super) fn votes(&self, candidate: &Candidate, ask: &Ask<'_>) -> Vec<Told> {
        let to = self.mixed(candidate, |d| &d.to);
        if let Some(numbers) = self.labels.numbers() {
            return means(numbers, &to, ask);
        }
        let classes = self.labels.classes().len();
        let one = |q: usize| -> Vec<(u32, Vec<f64>)> {
            let mut out = Vec::with_capacity(ask.neighbours.len());
            Ballot::new(self.labels, ask.weights).each(to.row(q), ask.neighbours, |winner, poll| {
                let mut shares = Vec::new();
                if ask.score.needs_values() {
                    shares.resize(classes, 0.0);
                    poll.shares(&mut shares);
                }
                out.push((winner, shares));
            });
            out
        };
        let rows: Vec<Vec<(u32, Vec<f64>)>> = (0..to.rows()).into_par_iter().map(one).collect();
        let told = |k: usize| {
            let labels = rows.iter().map(|row| row[k].0).collect();
            let values: Vec<f64> = rows.iter().flat_map(|row| row[k].1.iter().copied()).collect();
            Told { labels, values: Matrix::from_vec(rows.len(), classes, values).ok(), shares: true }
        };
        (0..ask.neighbours.len()).map(told).collect()
    }

    /// What smooth functions of a distance say of the queries, for each setting, and their median radii.
    pub(super) fn smooth(&self, candidate: &Candidate, tried: &[Smoothness]) -> Result<Vec<(Told, f64)>> {
        let within = self.mixed(candidate, |d| &d.within);
        let weights = self.weights.as_deref();
        let sample = Sample { within: &within, spread: 1.0, labels: self.labels, weights };
        let said = sample.at(&self.mixed(candidate, |d| &d.to), tried)?;
        let told = |said: smooth::Said| {
            let labels = (0..said.values.rows()).map(|i| smooth::largest(said.values.row(i))).collect();
            (Told { labels, values: Some(said.values), shares: false }, smooth::median(&said.radii))
        };
        Ok(said.into_iter().map(told).collect())
    }
}

/// The means of the nearest rows' numbers, for each number of neighbours.
fn means(numbers: &[f64], to: &Matrix, ask: &Ask<'_>) -> Vec<Told> {
    let one = |q: usize| -> Vec<f64> {
        let mut out = Vec::with_capacity(ask.neighbours.len());
        Ranking::default().each(to.row(q), ask.neighbours, |near, squared| {
            out.push(ask.weights.mean(near.iter().map(|o| numbers[o.1 as usize]), squared));
        });
        out
    };
    let rows: Vec<Vec<f64>> = (0..to.rows()).into_par_iter().map(one).collect();
    let told = |k: usize| {
        let values = rows.iter().map(|row| row[k]).collect();
        Told { labels: vec![0; rows.len()], values: Matrix::from_vec(rows.len(), 1, values).ok(), shares: false }
    };
    (0..ask.neighbours.len()).map(told).collect()
}

/// What is told of all rows in one round of folds, arm by arm.
pub(super) struct Round {
    pub(super) told: Vec<Told>,
    pub(super) held: Vec<bool>,
    /// The fold of each row that is held out.
    pub(super) fold: Vec<usize>,
    classes: usize,
}

impl Round {
    pub(super) fn new(rows: usize, classes: usize) -> Self {
        Self { told: Vec::new(), held: vec![false; rows], fold: vec![0; rows], classes }
    }

    pub(super) fn put(&mut self, arm: usize, rows: &[usize], told: Told) {
        let n = self.held.len();
        if arm >= self.told.len() {
            self.told.resize(arm + 1, Told::default());
        }
        let all = &mut self.told[arm];
        all.labels.resize(n, 0);
        all.shares = told.shares;
        rows.iter().zip(&told.labels).for_each(|(&i, &label)| all.labels[i] = label);
        if let Some(values) = told.values {
            let out = all.values.get_or_insert_with(|| Matrix::zeros(n, self.classes));
            rows.iter().enumerate().for_each(|(q, &i)| out.row_mut(i).copy_from_slice(values.row(q)));
        }
    }
}

/// Learns from all folds but one and lets every arm predict that one, in turn. Inside, why nothing could be judged.
pub(super) fn judge(
    family: &Family,
    data: &Training<'_>,
    ask: &Ask<'_>,
    (number, repeats, seed): (usize, usize, u64),
    watch: &mut Watch<'_>,
) -> Result<std::result::Result<Race, String>> {
    let n = data.x.rows();
    let number = number.min(n);
    if number < 2 {
        return Ok(Err("there is a single row".to_owned()));
    }
    let mut race = Race::new(n, number, repeats);
    let mut why = "the fit was stopped before a choice was made".to_owned();
    'rounds: for repeat in 0..repeats {
        let classes = if data.y.numbers().is_some() { 1 } else { data.y.classes().len() };
        let mut round = Round::new(n, classes);
        for (at, split) in folds(data.y, number, seed.wrapping_add(repeat as u64))?.into_iter().enumerate() {
            if repeat == 0 {
                split.test.iter().for_each(|&i| race.fold[i] = at);
            }
            watch.folds = Some((repeat * number + at, repeats * number));
            let part = Part::of(data, &split.train);
            let learned = kept::learned(&part, (repeat, at), watch, |training, watch| {
                family.members_of(training, &|traits| race.needs(traits), watch)
            });
            if watch.stop.is_some() {
                race.take(&round, data, ask)?;
                break 'rounds;
            }
            let (training, members) = match learned {
                Ok(learned) => learned,
                Err(error) => {
                    why = error.to_string();
                    continue;
                }
            };
            if race.candidates.is_empty() {
                race.candidates = candidates(family, &members);
                race.roster = members.iter().map(|member| member.traits).collect();
            }
            let queries = data.x.select_rows(&split.test);
            let fold = Fold::new(&training, (&race.roster, &members), &queries, ask)?;
            race.run(&fold, &split.test, ask, &mut round, data)?;
            split.test.iter().for_each(|&i| (round.held[i], round.fold[i]) = (true, at));
            let arms = race.alive.iter().filter(|a| **a).count();
            watch.inner.decided(&format!(
                "cross-validation, fold {} of {}: {arms} combinations of a distance and a function have predicted {} rows",
                repeat * number + at + 1,
                repeats * number,
                split.test.len()
            ));
        }
        race.take(&round, data, ask)?;
        if repeat + 1 < repeats {
            race.winnow(&row_weights(data, ask.score));
        }
    }
    let judged = race.times.iter().any(|t| *t > 0.0);
    Ok(if judged { Ok(race.averaged()) } else { Err(why) })
}

impl Race {
    fn new(n: usize, folds: usize, repeats: usize) -> Self {
        Self {
            roster: Vec::new(),
            candidates: Vec::new(),
            arms: Vec::new(),
            alive: Vec::new(),
            given_up: Vec::new(),
            good: Vec::new(),
            right: Vec::new(),
            off: Vec::new(),
            radius: Vec::new(),
            values: Vec::new(),
            unread: Vec::new(),
            fold: vec![0; n],
            times: vec![0.0; n],
            folds,
            repeats,
            dropped: false,
        }
    }

    fn add(&mut self, candidate: usize, how: How) -> usize {
        let n = self.fold.len();
        self.arms.push(Arm { candidate, how });
        self.alive.push(true);
        self.given_up.push(false);
        self.good.push(vec![0.0; n]);
        self.right.push(vec![0.0; n]);
        self.off.push(vec![0.0; n]);
        self.radius.push(0.0);
        self.values.push(None);
        self.unread.push(None);
        self.arms.len() - 1
    }

    /// Lets the arms predict a fold; the first fold decides which arms there are.
    fn run(
        &mut self,
        fold: &Fold<'_>,
        rows: &[usize],
        ask: &Ask<'_>,
        round: &mut Round,
        data: &Training<'_>,
    ) -> Result<()> {
        let first = self.arms.is_empty();
        for candidate in 0..if ask.neighbours.is_empty() { 0 } else { self.candidates.len() } {
            if first {
                ask.neighbours.iter().for_each(|&k| _ = self.add(candidate, How::Votes(k)));
            }
            if self.of(candidate, false).is_empty() {
                continue;
            }
            let told = fold.votes(&self.candidates[candidate], ask);
            let from = candidate * ask.neighbours.len();
            told.into_iter().enumerate().for_each(|(k, told)| round.put(from + k, rows, told));
        }
        let Some(spec) = ask.smooth else { return Ok(()) };
        if !first {
            for candidate in 0..self.candidates.len() {
                self.say(fold, rows, round, &self.of(candidate, true))?;
            }
            return Ok(());
        }
        let train = fold.labels.len() as f64;
        // With several classes each function is read in two ways.
        let readings =
            if data.y.numbers().is_none() && data.y.classes().len() > 2 { &READINGS[..] } else { &READINGS[..1] };
        let kept = ((WORK / train.powi(3)) as usize).max(KEPT) * readings.len();
        let tried = readings.iter().flat_map(|reading| spec.tried().into_iter().map(|s| s.with_reading(*reading)));
        let plain: Vec<usize> = tried.map(|s| self.add(0, How::Smooth(s))).collect();
        self.say(fold, rows, round, &plain)?;
        let best = self.ranked(&plain, rows, ask, round, data)?;
        let others: Vec<usize> = (0..self.candidates.len())
            .filter(|&c| self.candidates[c].member.is_some() && SHARES.contains(&self.candidates[c].euclid))
            .collect();
        let room = (FIRST * kept).saturating_sub(plain.len()) / others.len().max(1);
        for candidate in others {
            let tried = best
                .iter()
                .take(room.clamp(1, SETTINGS * readings.len()))
                .map(|&a| self.arms[a].how)
                .collect::<Vec<_>>();
            let arms: Vec<usize> = tried.into_iter().map(|how| self.add(candidate, how)).collect();
            self.say(fold, rows, round, &arms)?;
        }
        let smooth: Vec<usize> = (0..self.arms.len()).filter(|&a| self.arms[a].smooth()).collect();
        if smooth.len() > kept {
            let order = self.ranked(&smooth, rows, ask, round, data)?;
            order[kept..].iter().for_each(|&a| self.alive[a] = false);
            best.iter().take(KEPT_PLAIN).for_each(|&a| self.alive[a] = true);
            self.dropped = true;
        }
        Ok(())
    }

    /// The arms of a distance that are still judged.
    fn of(&self, candidate: usize, smooth: bool) -> Vec<usize> {
        self.alive(|arm| arm.candidate == candidate && arm.smooth() == smooth)
    }

    /// Whether a learned distance is still judged.
    fn needs(&self, traits: &Traits) -> bool {
        let own = |arm: &Arm| self.candidates[arm.candidate].traits == *traits;
        self.arms.is_empty() || !self.alive(own).is_empty()
    }

    /// Gives up, after a round, what is worse than the best by more than [`BEHIND`] standard errors: it would not be chosen after
    /// further rounds. Of what is taken unless another one is better, some are kept.
    fn winnow(&mut self, weight: &[f64]) {
        let alive = self.alive(|_| true);
        let standing = self.standing(&self.good);
        let best = standing.best(alive.iter().copied(), weight);
        let behind = |arm: &usize| {
            let (gap, error) = standing.difference(best, *arm, weight);
            gap > BEHIND * error
        };
        let mut lost: Vec<usize> = alive.into_iter().filter(behind).collect();
        let mut usual = self.usual(true);
        usual.sort_by(|&a, &b| standing.mean(b, weight).total_cmp(&standing.mean(a, weight)));
        usual.truncate(KEPT_PLAIN);
        usual.extend(self.usual(false));
        lost.retain(|arm| !usual.contains(arm));
        for arm in lost {
            (self.alive[arm], self.given_up[arm]) = (false, true);
            self.average(arm);
        }
    }

    /// Turns what an arm has gathered into means over the times that each row was held out.
    fn average(&mut self, arm: usize) {
        for row in [&mut self.good[arm], &mut self.right[arm], &mut self.off[arm]] {
            row.iter_mut().zip(&self.times).for_each(|(g, t)| *g /= t.max(1.0));
        }
    }

    /// Lets smooth arms of one distance predict a fold.
    fn say(&mut self, fold: &Fold<'_>, rows: &[usize], round: &mut Round, arms: &[usize]) -> Result<()> {
        let Some(&first) = arms.first() else { return Ok(()) };
        let setting = |a: &usize| match self.arms[*a].how {
            How::Smooth(smoothness) => Some(smoothness),
            How::Votes(_) => None,
        };
        let asked: Vec<Smoothness> = arms.iter().filter_map(setting).collect();
        let mut tried: Vec<Smoothness> = Vec::new();
        for one in asked.iter().map(|s| s.with_reading(Reading::Largest)) {
            if !tried.contains(&one) {
                tried.push(one);
            }
        }
        let said = fold.smooth(&self.candidates[self.arms[first].candidate], &tried)?;
        for (&arm, asked) in arms.iter().zip(&asked) {
            let same = tried.iter().zip(&said).find(|(s, _)| **s == asked.with_reading(Reading::Largest));
            let Some((_, (told, radius))) = same else { continue };
            round.put(arm, rows, told.clone());
            self.radius[arm] += radius;
        }
        Ok(())
    }

    /// What an arm tells of some rows in parts: where it is read by discriminants, these are of the other parts.
    fn read<'b>(
        &self,
        arm: usize,
        told: &'b Told,
        (rows, part): (&[usize], &[usize]),
        ask: &Ask<'_>,
        data: &Training<'_>,
    ) -> Cow<'b, Told> {
        let (How::Smooth(Smoothness { reading: Reading::Discriminant, .. }), Some(values)) =
            (self.arms[arm].how, &told.values)
        else {
            return Cow::Borrowed(told);
        };
        let codes: Vec<u32> = rows.iter().map(|&i| data.y.codes()[i]).collect();
        let all = reading_weights(data, ask);
        let weights: Vec<f64> = rows.iter().map(|&i| all[i]).collect();
        let mut out = told.clone();
        // Where a part cannot be had the values stay as they are.
        if let (Some(scores), Some(values)) =
            (smooth::crossed(&values.select_rows(rows), &codes, &weights, part), &mut out.values)
        {
            for (row, &i) in rows.iter().enumerate() {
                values.row_mut(i).copy_from_slice(scores.row(row));
                out.labels[i] = smooth::largest(scores.row(row));
            }
        }
        Cow::Owned(out)
    }

    /// These arms, the best on some rows first; of equally good ones the one that comes first.
    fn ranked(
        &self,
        arms: &[usize],
        rows: &[usize],
        ask: &Ask<'_>,
        round: &Round,
        data: &Training<'_>,
    ) -> Result<Vec<usize>> {
        let weight = row_weights(data, ask.score);
        let mut scored = Vec::with_capacity(arms.len());
        let part: Vec<usize> = (0..rows.len()).map(|row| row % PARTS).collect();
        for &arm in arms {
            let told = self.read(arm, &round.told[arm], (rows, &part), ask, data);
            let good = part_goodness(ask.score, &told, data.y, rows)?;
            scored.push((good.iter().zip(rows).map(|(g, &i)| g * weight[i]).sum::<f64>(), arm));
        }
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        Ok(scored.into_iter().map(|(_, arm)| arm).collect())
    }

    /// Adds what was told in a round.
    fn take(&mut self, round: &Round, data: &Training<'_>, ask: &Ask<'_>) -> Result<()> {
        let rows: Vec<usize> = (0..round.held.len()).filter(|&i| round.held[i]).collect();
        if rows.is_empty() {
            return Ok(());
        }
        let part: Vec<usize> = rows.iter().map(|&i| round.fold[i]).collect();
        for arm in (0..self.arms.len()).filter(|&a| self.alive[a]) {
            let raw = &round.told[arm];
            let told = &*self.read(arm, raw, (&rows, &part), ask, data);
            let good = part_goodness(ask.score, told, data.y, &rows)?;
            for (&i, g) in rows.iter().zip(good) {
                self.good[arm][i] += g;
                match (data.y.numbers(), &told.values) {
                    (Some(numbers), Some(values)) => {
                        self.right[arm][i] += g;
                        self.off[arm][i] += (values[(i, 0)] - numbers[i]).abs();
                    }
                    _ => self.right[arm][i] += f64::from(u8::from(told.labels[i] == data.y.codes()[i])),
                }
            }
            if self.arms[arm].smooth() && self.values[arm].is_none() {
                self.values[arm].clone_from(&told.values);
                self.unread[arm].clone_from(&raw.values);
            }
        }
        rows.iter().for_each(|&i| self.times[i] += 1.0);
        Ok(())
    }

    fn averaged(mut self) -> Self {
        for arm in 0..self.arms.len() {
            if !self.given_up[arm] {
                self.average(arm);
            }
        }
        self.radius.iter_mut().for_each(|r| *r /= (self.folds * self.repeats) as f64);
        self
    }
}

/// How good what is told of these rows is.
pub(super) fn part_goodness(score: Score, told: &Told, truth: &Labels, rows: &[usize]) -> Result<Vec<f64>> {
    let truth = truth.select(rows);
    let labels = rows.iter().map(|&i| told.labels[i]).collect();
    let values =
        told.values.as_ref().filter(|_| score.needs_values() || truth.numbers().is_some()).map(|v| v.select_rows(rows));
    goodness(score, &Told { labels, values, shares: told.shares }, &truth)
}

/// How much each row counts where discriminants are learned.
pub(super) fn reading_weights(data: &Training<'_>, ask: &Ask<'_>) -> Vec<f64> {
    let balanced = ask.score.balances() || ask.smooth.is_some_and(|s| s.balanced);
    smooth::row_weights(data.y, data.weights, balanced).unwrap_or_else(|| vec![1.0; data.x.rows()])
}

/// How much each row counts.
pub(super) fn row_weights(data: &Training<'_>, score: Score) -> Vec<f64> {
    let given = |i: usize| data.weights.map_or(1.0, |w| w[i]);
    if !score.balances() {
        return (0..data.x.rows()).map(given).collect();
    }
    smooth::balanced(data.y).into_iter().enumerate().map(|(i, w)| w * given(i)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::rule::MetricKind;
    use super::*;

    /// Votes and five smooth functions of the Euclidean distance and two smooth functions of a learned one, each wrong on these rows of
    /// a hundred.
    fn race(wrong: &[&[usize]]) -> Race {
        let mut race = Race::new(100, 5, 2);
        let learned = Traits { what: MetricKind::Within, ..Traits::euclidean() };
        let candidate = |member, traits| Candidate { member, traits, euclid: 0.0, unit_c: None };
        race.candidates = vec![candidate(None, Traits::euclidean()), candidate(Some(0), learned)];
        race.roster = vec![learned];
        race.add(0, How::Votes(1));
        (1..=5).for_each(|k| _ = race.add(0, How::Smooth(Smoothness::new(f64::from(k), 0.1))));
        (1..=2).for_each(|k| _ = race.add(1, How::Smooth(Smoothness::new(f64::from(k), 0.1))));
        for (good, wrong) in race.good.iter_mut().zip(wrong) {
            good.fill(1.0);
            wrong.iter().for_each(|&i| good[i] = 0.0);
        }
        race
    }

    #[test]
    fn what_is_far_behind_is_given_up_but_for_some_of_the_reference() {
        let many: Vec<usize> = (0..30).collect();
        let more: Vec<usize> = (0..40).collect();
        let mut race = race(&[&many, &many, &many, &more, &many, &many, &[0], &[1, 2]]);
        let learned = race.roster[0];
        race.winnow(&[1.0; 100]);
        // One error more on three rows that differ is less than one standard error. The reference keeps its votes and its best four.
        assert_eq!(race.alive, [true, true, true, false, true, true, true, true]);
        assert!(race.needs(&learned));
    }

    #[test]
    fn a_distance_that_is_given_up_is_not_learned_again() {
        let many: Vec<usize> = (0..30).collect();
        let mut race = race(&[&[0], &[0], &[1], &[2], &[3], &[4], &many, &many]);
        let learned = race.roster[0];
        assert!(race.needs(&learned));
        race.winnow(&[1.0; 100]);
        assert_eq!(race.alive, [true, true, true, true, true, true, false, false]);
        assert!(!race.needs(&learned));
    }
}
