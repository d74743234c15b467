//! What a comparison shows, by tests that allow for chance.

use super::statistics::{
    Friedman, ResampledT, Verdict, Wilcoxon, critical_difference, friedman, holm, resampled_t, wilcoxon,
};
use super::{Cell, Comparison};
use crate::{Error, Result};
use serde::Serialize;

/// A comparison's differences and which of them can be called.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Analysis {
    /// The chance of a false call that is allowed.
    pub level: f64,
    /// The method that the others are held against.
    pub against: String,
    /// The other methods, in the order of the comparison.
    pub methods: Vec<Against>,
    /// How many tests on single data sets there are; Holm's correction is over all of them.
    pub tests: usize,
    /// All methods together, over the data sets where each has a result; `None` with fewer than two of those.
    pub friedman: Option<Friedman>,
    /// Nemenyi's critical difference of the average ranks.
    pub critical_difference: Option<f64>,
    /// Pairs of methods whose average ranks are further apart than that, the better one first; none unless Friedman's test
    /// shows that the methods differ at all.
    pub apart: Vec<(String, String)>,
    /// Data sets where some method has no result: they are not in the ranks.
    pub left_out: Vec<String>,
}

/// One method against the one that all are held against.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Against {
    /// Its name.
    pub method: String,
    /// For each data set; `None` where one of the two has no result.
    pub data: Vec<Option<OnOne>>,
    /// Mean difference over the data sets where both have results.
    pub mean_difference: Option<f64>,
    /// Over the data sets.
    pub wilcoxon: Option<Wilcoxon>,
    /// Its p-value after Holm's correction over the methods.
    pub wilcoxon_p_holm: Option<f64>,
    /// What that allows to say.
    pub verdict: Verdict,
}

impl Against {
    /// On how many data sets it is better, worse, and no difference is shown.
    #[must_use]
    pub fn counts(&self) -> (usize, usize, usize) {
        let count = |v: Verdict| self.data.iter().flatten().filter(|d| d.verdict == v).count();
        (count(Verdict::Better), count(Verdict::Worse), count(Verdict::NoDifferenceShown))
    }
}

/// A method against another on one data set.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OnOne {
    /// The corrected resampled t-test.
    #[serde(flatten)]
    pub test: ResampledT,
    /// Its p-value after Holm's correction over all methods and data sets.
    pub p_holm: Option<f64>,
    /// What that allows to say.
    pub verdict: Verdict,
}

fn accuracies(cell: &Cell) -> Option<Vec<f64>> {
    cell.trials.iter().map(|t| Some(t.as_ref().ok()?.score())).collect()
}

impl Analysis {
    /// Of a comparison, every method held against this one.
    ///
    /// # Errors
    /// If the comparison has no method of that name, or the level is not between 0 and 1.
    pub fn of(comparison: &Comparison, against: &str, level: f64) -> Result<Self> {
        if !(level > 0.0 && level < 1.0) {
            return Err(Error::parameter("level", format!("{level} is not between 0 and 1, such as 0.05")));
        }
        let Some(reference) = comparison.methods.iter().position(|m| m == against) else {
            let known = comparison.methods.join(", ");
            return Err(Error::parameter("against", format!("`{against}` is none of the columns: {known}")));
        };
        let scores: Vec<Vec<Option<Vec<f64>>>> =
            comparison.cells.iter().map(|row| row.iter().map(accuracies).collect()).collect();
        let others: Vec<usize> = (0..comparison.methods.len()).filter(|&m| m != reference).collect();
        let mut methods: Vec<Against> = others.iter().map(|&m| hold(comparison, &scores, m, reference)).collect();
        let tests = correct_single(&mut methods, level);
        correct_overall(&mut methods, level);
        let mut analysis = Self {
            level,
            against: against.to_owned(),
            methods,
            tests,
            friedman: None,
            critical_difference: None,
            apart: Vec::new(),
            left_out: Vec::new(),
        };
        analysis.rank(comparison);
        Ok(analysis)
    }

    fn rank(&mut self, comparison: &Comparison) {
        let mut complete = Vec::new();
        for (name, row) in comparison.subjects.iter().zip(&comparison.cells) {
            match row.iter().map(|c| c.accuracy().map(|s| s.mean)).collect::<Option<Vec<f64>>>() {
                Some(means) => complete.push(means),
                None => self.left_out.push(name.clone()),
            }
        }
        self.friedman = friedman(&complete);
        let Some(test) = &self.friedman else { return };
        let distance = critical_difference(comparison.methods.len(), test.n, self.level);
        self.critical_difference = Some(distance);
        if test.p > self.level {
            return;
        }
        for (better, ahead) in test.average_ranks.iter().enumerate() {
            for (worse, behind) in test.average_ranks.iter().enumerate() {
                if behind - ahead > distance {
                    self.apart.push((comparison.methods[better].clone(), comparison.methods[worse].clone()));
                }
            }
        }
    }
}

/// Differences and raw tests of one method; verdicts wait for the correction.
fn hold(comparison: &Comparison, scores: &[Vec<Option<Vec<f64>>>], method: usize, reference: usize) -> Against {
    let data: Vec<Option<OnOne>> = scores
        .iter()
        .zip(&comparison.splits)
        .map(|(row, splits)| {
            let (own, other) = (row[method].as_ref()?, row[reference].as_ref()?);
            let differences: Vec<f64> = own.iter().zip(other).map(|(a, b)| a - b).collect();
            let split = splits.first()?;
            let test = resampled_t(&differences, split.train.len(), split.test.len())?;
            Some(OnOne { test, p_holm: None, verdict: Verdict::NoDifferenceShown })
        })
        .collect();
    let differences: Vec<f64> = data.iter().flatten().map(|d| d.test.difference).collect();
    Against {
        method: comparison.methods[method].clone(),
        data,
        mean_difference: (!differences.is_empty()).then(|| differences.iter().sum::<f64>() / differences.len() as f64),
        wilcoxon: wilcoxon(&differences),
        wilcoxon_p_holm: None,
        verdict: Verdict::NoDifferenceShown,
    }
}

/// Corrects the tests on single data sets for their number, which it returns.
fn correct_single(methods: &mut [Against], level: f64) -> usize {
    let mut tested: Vec<&mut OnOne> =
        methods.iter_mut().flat_map(|m| m.data.iter_mut().flatten()).filter(|d| d.test.p.is_some()).collect();
    let raw: Vec<f64> = tested.iter().filter_map(|d| d.test.p).collect();
    for (one, p) in tested.iter_mut().zip(holm(&raw)) {
        one.p_holm = Some(p);
        one.verdict = Verdict::of(one.test.difference, one.p_holm, level);
    }
    raw.len()
}

fn correct_overall(methods: &mut [Against], level: f64) {
    let mut tested: Vec<&mut Against> = methods.iter_mut().filter(|m| m.wilcoxon.is_some()).collect();
    let raw: Vec<f64> = tested.iter().filter_map(|m| m.wilcoxon.map(|w| w.p)).collect();
    for (one, p) in tested.iter_mut().zip(holm(&raw)) {
        one.wilcoxon_p_holm = Some(p);
        let sign = one.wilcoxon.map_or(0.0, |w| w.positive - w.negative);
        one.verdict = Verdict::of(sign, Some(p), level);
    }
}
