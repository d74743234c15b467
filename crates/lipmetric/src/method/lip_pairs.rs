//! Lip^I from pairs that are given: the Lipschitz margin ratio needs no more than "same or not".

use super::parameters::parameters;
use super::start::notes_on;
use super::told::pairs_of;
use super::{Fit, Method, Outcome, Training, check_limits, check_positive, settle};
use crate::data::{Pair, notes_on_pairs};
use crate::pairs::weighted_outer;
use crate::problem::{Certificate, Coordinates, Diameter, GivenPairs, Listed, SUMMED, SupportPair, Under, Weighed};
use crate::solver::multipliers::{NARROW, Proof, solve_given, solve_narrow};
use crate::solver::working_set::model::{Model, Push};
use crate::solver::{Fleeting, Kept, Observer, Solution, Status, Stop, Timed, Translated};
use crate::{Error, Matrix, Metric, Result, linalg};
use std::collections::BTreeMap;

parameters! {
    /// Lip^I from pairs: dissimilar pairs are pushed apart, similar ones bound the diameter.
    ///
    /// `F(M) = c diameter(M) + sum over dissimilar pairs of strength max(0, 2 - rho_M)`. The diameter is the mean of `rho_M` over
    /// the similar pairs and, so that directions in which none of them differ do not count as free, a part of the Euclidean
    /// metric's size; or the longest similar pair, where that is longer. `c` is a fraction of `c_max`, at and above which the best
    /// metric is zero. The problem is convex, and the certified gap is reported.
    ///
    /// Rows with labels and without pairs have pairs drawn from the labels.
    ///
    /// ```
    /// use lipmetric::data::Pair;
    /// use lipmetric::method::{LipPairs, Method, Training};
    /// use lipmetric::{Labels, Matrix, solver::Silent};
    /// let x = Matrix::from_rows(&[[0.0, 9.0], [0.5, 1.0], [2.0, 8.0], [2.5, 2.0]]);
    /// let pairs = [Pair::similar(0, 1), Pair::similar(2, 3), Pair::dissimilar(0, 2), Pair::dissimilar(1, 3)];
    /// let y = Labels::none(4);
    /// let fit = LipPairs::new().fit(&Training::new(&x, &y)?.with_pairs(&pairs), &mut Silent)?;
    /// assert!(fit.outcome.gap.unwrap() <= 1e-4);
    /// let rho = |i, j| fit.metric.squared_distance(x.row(i), x.row(j));
    /// assert!(rho(0, 1) < rho(0, 2) && rho(2, 3) < rho(1, 3));
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    pub struct LipPairs = "lip-pairs" {
        /// The trade-off, as a fraction of `c_max`, at and above which the best metric is zero.
        c_rel: f64 = 0.2,
        /// The mean distance of the similar pairs, or the longest of them (`maximum`).
        diameter: Diameter = Diameter::Mean,
        /// How much the Euclidean part of the diameter counts, relative to the mean over the similar pairs: above 0.
        euclid: f64 = 0.3,
        /// Where the rows have labels and no pairs are given: so many pairs of each kind are drawn, 20 for each pair of classes
        /// unless it is said.
        n_constraints: Option<usize> as impl Into<Option<usize>> = None,
        /// Decides which pairs are drawn.
        seed: u64 = 0,
        /// The certified relative gap to reach.
        tolerance: f64 = 1e-4,
        /// Steps, at most.
        max_iterations: usize = 2000,
    }
}

/// Where similar pairs differ by less than this part of the rows' own variance, they count as that far: they may all be equal.
const LEAST_SPREAD: f64 = 1e-3;
/// The least eigenvalue of the diameter, as a part of its largest, so that it can be divided by.
const FLAT: f64 = 1e-12;
/// How exactly `c_max` is known where the longest pair is the diameter.
const CEILING: Stop = Stop { tolerance: 1e-3, max_iterations: 1000, memory: Stop::MEMORY };

/// The pairs in coordinates where the mean that bounds the diameter is a multiple of the squared length of the factor, and where
/// dissimilar pairs keep their margin in the mean under the identity.
struct Ground {
    frame: Coordinates,
    /// Similar pairs by point, their weights adding up to one; sorted, each once.
    similar: Vec<Weighed>,
    /// Dissimilar pairs and their strengths; sorted, each once.
    dissimilar: Vec<Weighed>,
    /// What the squared length of the factor counts in the diameter, in the frame's coordinates.
    plain: f64,
    map: Matrix,
    x: Matrix,
    /// The mean that bounds the diameter, as a multiple of the squared length of the factor.
    unit: f64,
    /// The problem by row: each pair once.
    given: GivenPairs,
}

impl Ground {
    fn new(data: &Training<'_>, pairs: &[Pair], euclid: f64) -> Result<Self> {
        let counts = named(data.x.rows(), pairs);
        let frame = Coordinates::rotated(data.x, data.y.codes(), &counts)?.check()?;
        let mut place = vec![0u32; data.x.rows()];
        frame.cloud.origin.iter().enumerate().for_each(|(point, &row)| place[row] = point as u32);
        let merged = |similar: bool| -> Vec<Weighed> {
            let mut all: BTreeMap<(u32, u32), f64> = BTreeMap::new();
            for pair in pairs.iter().filter(|p| p.similar == similar) {
                let [i, j] = pair.rows().map(|row| place[row]);
                *all.entry((i.min(j), i.max(j))).or_default() += pair.strength;
            }
            all.into_iter().map(|((i, j), w)| (i, j, w)).collect()
        };
        let (mut similar, dissimilar) = (merged(true), merged(false));
        let row = |point: u32| frame.cloud.origin[point as usize];
        let named = |kind: fn(usize, usize) -> Pair| move |&(i, j, w): &Weighed| kind(row(i), row(j)).with_strength(w);
        let given = similar.iter().map(named(Pair::similar)).chain(dissimilar.iter().map(named(Pair::dissimilar)));
        let given = given.collect();
        let total: f64 = similar.iter().map(|pair| pair.2).sum();
        similar.iter_mut().for_each(|pair| pair.2 /= total);
        let points: &Matrix = &frame.cloud.x;
        let p = points.cols();
        let mut spread = weighted_outer(points, each(&similar));
        let trace: f64 = (0..p).map(|k| spread[(k, k)]).sum();
        let variance = 2.0 * linalg::inner(points, points) / points.rows() as f64;
        let plain = euclid * trace.max(LEAST_SPREAD * variance) / p as f64;
        (0..p).for_each(|k| spread[(k, k)] += plain);
        let (mut map, _) = linalg::roots(&spread, FLAT)?;
        let push = weighted_outer(&linalg::product(points, &map), each(&dissimilar));
        let size: f64 = (0..p).map(|k| push[(k, k)]).sum();
        if size <= 0.0 {
            return Err(Error::data("all dissimilar pairs are of equal rows: no metric can separate them"));
        }
        let unit = 2.0 * dissimilar.iter().map(|d| d.2).sum::<f64>() / size;
        map.as_mut_slice().iter_mut().for_each(|v| *v *= unit.sqrt());
        let x = linalg::product(points, &map);
        Ok(Self { given: GivenPairs::new(given, plain), similar, dissimilar, plain, map, x, unit, frame })
    }

    /// The problem, without any row that pushes.
    fn model(&self, c: f64, diameter: Diameter) -> Model {
        let pull = match diameter {
            Diameter::Maximum => self.similar.iter().map(|&(i, j, _)| (i, j)).collect(),
            _ => Vec::new(),
        };
        let mut mean = Matrix::identity(self.x.cols());
        mean.as_mut_slice().iter_mut().for_each(|v| *v *= self.unit);
        Model { pull, ..Model::empty(c, mean) }
    }

    /// `c_max`, from below.
    fn ceiling(&self, diameter: Diameter, observer: &mut dyn Observer) -> Result<f64> {
        let mut push = weighted_outer(&self.x, each(&self.dissimilar));
        if diameter != Diameter::Maximum {
            return Ok(linalg::symmetric_eigenvalues(&push)?.last().copied().unwrap_or(0.0) / self.unit);
        }
        // One over the smallest diameter of a metric under which the dissimilar pairs are apart in the mean.
        let p = self.x.cols();
        let trace: f64 = (0..p).map(|k| push[(k, k)]).sum();
        push.as_mut_slice().iter_mut().for_each(|v| *v *= 2.0 / trace);
        let mut model = self.model(1.0, diameter);
        let start = Matrix::identity(p);
        // No multiplier is as large as the objective of the first metric.
        let cap = model.lengths(&self.x, &start).pull.into_iter().fold(0.0, f64::max);
        model.sums.push((push, cap));
        let (solution, _) = solve_given(&model, &self.x, start, &CEILING, &mut Fleeting(observer))?;
        match solution.status {
            Status::Interrupted => Err(Error::Interrupted),
            _ => Ok(trace / solution.objective),
        }
    }

    /// The metric of a factor in the coordinates of the problem.
    fn metric(&self, factor: &Matrix) -> Result<Metric> {
        self.frame.metric(&linalg::product(factor, &self.map))
    }

    /// Objective and bound on the rows as they were given, with the multipliers that prove it; a note where no bound is proved.
    fn audit(
        &self,
        rows: &Under,
        metric: &Metric,
        model: &Model,
        proof: &Proof,
        out: &mut Solution,
    ) -> (Certificate, Option<String>) {
        let length = |&(i, j, _): &Weighed| rows.length(i as usize, j as usize);
        let size = linalg::inner(metric.factor(), metric.factor());
        let mean = self.similar.iter().map(|pair| pair.2 * length(pair)).sum::<f64>() + self.plain * size;
        let longest = if model.pull.is_empty() { 0.0 } else { self.similar.iter().map(length).fold(0.0, f64::max) };
        let hinge = |&(i, j, w): &Weighed| w * rows.lacking(2.0, i as usize, j as usize).max(0.0);
        out.objective = model.c * mean.max(longest) + self.dissimilar.iter().map(hinge).sum::<f64>();
        out.bound = 0.0;
        let mut proved = Certificate { given: Some(self.given.clone()), ..Certificate::nothing(metric.clone()) };
        let Some((&shared, own)) = proof.pull.split_last() else { return (proved, None) };
        if self.frame.is_partial() {
            return (proved, self.frame.note_no_bound());
        }
        // Together they may be c at most, whatever rounding did.
        let most = model.c * if own.is_empty() { 1.0 } else { 1.0 - SUMMED };
        let part = (most / (shared + own.iter().sum::<f64>())).min(1.0);
        let (shared, own) = (part * shared, |k: usize| part * own.get(k).copied().unwrap_or(0.0));
        let pull: Vec<Weighed> =
            self.similar.iter().enumerate().map(|(k, &(i, j, w))| (i, j, own(k) + shared * w)).collect();
        // No multiplier above its strength, whatever rounding did.
        let lambda = |(pair, m): (&Weighed, &f64)| (pair.0, pair.1, -m.min(pair.2 * (1.0 - SUMMED)));
        let push: Vec<Weighed> = self.dissimilar.iter().zip(&proof.push).map(lambda).collect();
        let total: f64 = -push.iter().map(|p| p.2).sum::<f64>();
        let listed = Listed { cloud: &rows.cloud, basis: self.frame.axes() };
        let part = listed.proved_part(&pull, shared * self.plain, &push, 1.0);
        out.bound = 2.0 * part * total * (1.0 - SUMMED);
        let (similar, dissimilar) = self.given.pairs.split_at(self.similar.len());
        let support = |pair: &Pair, m: f64| SupportPair::new(pair.first, pair.second, !pair.similar, m);
        let pulls = similar.iter().enumerate().map(|(k, pair)| support(pair, own(k)));
        let pushes = dissimilar.iter().zip(&push).map(|(pair, m)| support(pair, -part * m.2));
        proved.pairs = pulls.chain(pushes).filter(|pair| pair.multiplier > 0.0).collect();
        proved.mean = shared;
        (proved, None)
    }
}

/// One for each row that a pair names, else zero.
fn named(rows: usize, pairs: &[Pair]) -> Vec<f64> {
    let mut counts = vec![0.0; rows];
    pairs.iter().flat_map(Pair::rows).for_each(|row| counts[row] = 1.0);
    counts
}

fn each(pairs: &[Weighed]) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
    pairs.iter().map(|&(i, j, w)| (i as usize, j as usize, w))
}

impl Method for LipPairs {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn check(&self) -> Result<()> {
        check_limits(self.tolerance, self.max_iterations)?;
        if !(self.c_rel > 0.0 && self.c_rel < 1.0) {
            return Err(Error::parameter("c_rel", format!("{} is not between 0 and 1, for example 0.2", self.c_rel)));
        }
        check_positive("euclid", self.euclid, 0.3)?;
        if matches!(self.diameter, Diameter::Cvar(_)) {
            let message = "of pairs it is their mean or the longest: `diameter = mean` or `diameter = max`";
            return Err(Error::parameter("diameter", message));
        }
        Ok(())
    }

    fn takes_start(&self) -> bool {
        false
    }

    fn takes_pairs(&self) -> bool {
        true
    }

    fn fit(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        self.check()?;
        data.check_for(self)?;
        let observer = &mut Timed::new(observer);
        let pairs = pairs_of(data, self.n_constraints, self.seed)?;
        let ground = Ground::new(data, &pairs, self.euclid)?;
        let mut notes = notes_on(&ground.frame);
        notes.extend(notes_on_pairs(&pairs, data.x));
        if pairs.iter().filter(|p| p.similar).all(|p| data.x.row(p.first) == data.x.row(p.second)) {
            notes.push(
                "all similar rows are equal, so that they do not say which directions may be wide: the distance is learned from the \
                 dissimilar pairs alone, as few directions as the `euclid` part of the diameter asks for"
                    .to_owned(),
            );
        }
        if self.diameter == Diameter::Maximum && pairs.iter().any(|p| p.similar && p.strength != 1.0) {
            notes.push("the longest similar pair is the diameter, whatever its strength".to_owned());
        }
        let c_max = ground.ceiling(self.diameter, observer)?;
        let mut model = ground.model(self.c_rel * c_max, self.diameter);
        model.push = ground.dissimilar.iter().map(|&(i, j, cap)| Push { i, j, cap }).collect();
        let p = ground.x.cols();
        let stop = Stop::new(self.tolerance, self.max_iterations);
        let reached = |kept: &Kept| {
            let factor = kept.numbers.first().filter(|factor| factor.rows() == p)?;
            ground.metric(&factor.transpose()).ok()
        };
        let watched = &mut Translated { inner: observer, metric: &reached };
        let (mut solution, proof) = match p > NARROW {
            true => solve_narrow(&model, &ground.x, &stop, watched)?,
            false => solve_given(&model, &ground.x, Matrix::identity(p), &stop, watched)?,
        };
        let metric = ground.metric(&solution.factor)?;
        let rows = Under::new((data.x, data.y.codes(), &named(data.x.rows(), &pairs)), &metric);
        let (certificate, note) = ground.audit(&rows, &metric, &model, &proof, &mut solution);
        notes.extend(note);
        notes.extend(settle(&mut solution, self.tolerance).filter(|_| !ground.frame.is_partial()));
        let outcome = Outcome::of(&solution).with_trade_off(Some(model.c), Some(c_max)).with_notes(notes);
        Ok(Fit { certificate: Some(certificate), ..Fit::new(metric, outcome) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Labels;
    use crate::solver::Silent;

    /// Twenty rows, each there twice: similar pairs are equal rows.
    fn twins() -> (Matrix, Vec<Pair>) {
        let value = |k: usize| ((k * 7919 + 13) % 1009) as f64 / 1009.0 - 0.5;
        let x = Matrix::from_vec(40, 3, (0..120).map(|k| value(3 * (k / 6) + k % 3)).collect()).unwrap();
        let similar = (0..20).map(|i| Pair::similar(2 * i, 2 * i + 1));
        let dissimilar = (0..20).map(|i| Pair::dissimilar(2 * i, 2 * ((i + 3) % 20)));
        (x.clone(), similar.chain(dissimilar).collect())
    }

    #[test]
    fn where_all_similar_rows_are_equal_the_euclidean_part_bounds_the_diameter_and_the_gap_is_certified() {
        let (x, pairs) = twins();
        let y = Labels::none(40);
        for diameter in [Diameter::Mean, Diameter::Maximum] {
            for c_rel in [0.05, 0.2, 0.5] {
                let method = LipPairs::new().c_rel(c_rel).diameter(diameter);
                let fit = method.fit(&Training::new(&x, &y).unwrap().with_pairs(&pairs), &mut Silent).unwrap();
                assert_eq!(fit.outcome.status, Status::Optimal, "{diameter}, {c_rel}: {:?}", fit.outcome);
                assert!(
                    fit.outcome.notes.iter().any(|n| n.contains("similar rows are equal")),
                    "{:?}",
                    fit.outcome.notes
                );
                let near: Vec<f64> = pairs
                    .iter()
                    .filter(|p| p.similar)
                    .map(|p| fit.metric.squared_distance(x.row(p.first), x.row(p.second)))
                    .collect();
                assert!(near.iter().all(|d| *d == 0.0) && fit.metric.rank() > 0);
            }
        }
    }
}
