//! Algorithm 1 of the paper, update by update, without its large matrices.
//!
//! Three facts make it cheap, and change no iterate:
//! - After eq. (update_p), `p + alpha_3 / mu - 2 = -A_1 m_1 - lambda / mu`, where `lambda` in `[0, 1]` is the hinge's
//!   multiplier; so the next one is `lambda + mu (2 - A_1 (2 m_1 - m_1 before))`, clipped, and `p` and `alpha_3` need not
//!   be kept. The same holds for `q`, `alpha_4` and `eta`, the maximum's multipliers, nearly all of which are zero.
//! - `A_1^T A_1` and `A_2^T A_2` are fourth moments in closed form, on `p (p + 1) / 2` coordinates, factorised once.
//! - What is left over pairs is `rho` by Gram tiles and one Laplacian product.
//!
//! Pairs are unordered and counted once. The signs that the paper's appendix misprints are mended.

use crate::linalg::proximal::{Positive, hinge_multiplier, simplex_threshold};
use crate::linalg::{self, Cholesky};
use crate::linalg::{pack, packed_len, unpack};
use crate::pairs::pass::{Among, objective};
use crate::pairs::{Cloud, Embedding, Kind, Pass, Run, Threads, scan, weighted_outer};
use crate::problem::moments::gram;
use crate::problem::{Bound, Multipliers, SUMMED, Variant, certify_mapped, relative_gap};
use crate::solver::working_set::Settings;
use crate::solver::{Observer, Progress, Solution, Termination};
use crate::{Error, Matrix, Result};
use serde::{Deserialize, Serialize};
use std::sync::Mutex;

/// The objective and the bound are computed at each of the first iterations, and then at every so many.
const EACH: usize = 10;

/// Pairs of different label up to which their multipliers, each of which depends on all iterates, are kept.
const MOST_PAIRS: usize = 1 << 29;

fn different_pairs(cloud: &Cloud) -> usize {
    let n = cloud.len();
    let same: usize = cloud.classes().iter().map(|g| g.len() * g.len()).sum();
    (n * n - same) / 2
}

/// The update of the multipliers of the hinges, which stay with their rows of tiles.
struct Ascend<'a> {
    cloud: &'a Cloud,
    mu: f64,
    /// The multipliers of each row of tiles, empty at first; taken out by whoever updates them, so that they are held once.
    before: Vec<Mutex<Vec<f64>>>,
}

/// Multipliers of the different-label pairs for each row of tiles, and their sum.
#[derive(Default, Serialize, Deserialize)]
struct Lambda {
    rows: Vec<Vec<f64>>,
    total: f64,
    /// How many pairs of the row of tiles are updated.
    done: usize,
}

impl Pass for Ascend<'_> {
    type Part = Lambda;

    fn wanted(&self, kind: Kind) -> bool {
        kind != Kind::Same
    }

    fn weighted(&self) -> bool {
        true
    }

    fn begin(&self, row: usize) -> Lambda {
        let own = self.before[row].lock().map(|mut own| std::mem::take(&mut *own)).unwrap_or_default();
        Lambda { rows: vec![own], total: 0.0, done: 0 }
    }

    fn visit(&self, part: &mut Lambda, run: Run<'_>) {
        if run.same {
            return;
        }
        let (stored, at) = (&mut part.rows[0], part.done);
        part.done += run.rho.len();
        if stored.len() < part.done {
            stored.resize(part.done, 0.0);
        }
        let left = self.cloud.weight[run.i];
        let weights = &self.cloud.weight[run.j0..run.j0 + run.rho.len()];
        for (((l, r), w), out) in stored[at..part.done].iter_mut().zip(run.rho).zip(weights).zip(run.weight) {
            *l = hinge_multiplier(*l + self.mu * (2.0 - r), left * w);
            *out = *l;
            part.total += *l;
        }
    }

    fn merge(&self, into: &mut Lambda, mut next: Lambda) {
        into.rows.append(&mut next.rows);
        into.total += next.total;
    }
}

/// The pairs that bound the diameter and are not far below the longest of them.
struct Near {
    among: Among,
    reach: f64,
}

/// The longest length so far, and pairs that were not far below it.
#[derive(Default, Serialize, Deserialize)]
struct Longest {
    most: Option<f64>,
    pairs: Vec<(u32, u32, f64)>,
}

impl Pass for Near {
    type Part = Longest;

    fn wanted(&self, kind: Kind) -> bool {
        self.among.may_hold(kind)
    }

    fn visit(&self, part: &mut Longest, run: Run<'_>) {
        if !self.among.holds(run.same) {
            return;
        }
        let known = part.most.unwrap_or(f64::NEG_INFINITY);
        let most = run.rho.iter().fold(known, |m, &r| if r > m { r } else { m });
        part.most = Some(most);
        let near = run.rho.iter().enumerate().filter(|(_, r)| **r >= most - self.reach);
        part.pairs.extend(near.map(|(k, &r)| (run.i as u32, (run.j0 + k) as u32, r)));
    }

    fn merge(&self, into: &mut Longest, mut next: Longest) {
        into.most = into.most.into_iter().chain(next.most).reduce(f64::max);
        into.pairs.append(&mut next.pairs);
    }
}

/// One of the two least-squares blocks, `m_1` or `m_2`.
struct Block {
    gram: Matrix,
    inverse: Cholesky,
    m: Matrix,
    before: Matrix,
    /// `alpha / mu`.
    alpha: Matrix,
}

impl Block {
    fn new(gram: Matrix) -> Result<Self> {
        let q = gram.rows();
        let mut shifted = gram.clone();
        (0..q).for_each(|k| shifted[(k, k)] += 1.0);
        let inverse = Cholesky::of(&shifted).ok_or_else(|| Error::Numerical {
            place: "the ADMM's least-squares system",
            message: "it could not be factorised: scale the features".to_owned(),
        })?;
        let p = (((8 * q + 1) as f64).sqrt() as usize - 1) / 2;
        let m = Matrix::identity(p);
        Ok(Self { gram, inverse, before: m.clone(), m, alpha: Matrix::zeros(p, p) })
    }

    /// `2 m - m before`: the point at which the multipliers are updated.
    fn ahead(&self) -> Matrix {
        let mut out = self.before.clone();
        out.as_mut_slice().iter_mut().zip(self.m.as_slice()).for_each(|(b, m)| *b = 2.0 * m - *b);
        out
    }

    /// Eqs. (update_m1), (update_m2): `m <- (A^T A + I)^-1 (centre - alpha / mu + A^T A m + sum)`.
    fn update(&mut self, centre: &Matrix, sum: &Matrix, t: f64) {
        let p = self.m.rows();
        let now = pack(&self.m);
        let (centre, alpha, sum) = (pack(centre), pack(&self.alpha), pack(sum));
        let mut rhs: Vec<f64> = (0..packed_len(p)).map(|k| linalg::dot(self.gram.row(k), &now)).collect();
        for (k, r) in rhs.iter_mut().enumerate() {
            *r += centre[k] - alpha[k] + t * sum[k];
        }
        self.inverse.solve(&mut rhs);
        self.before = std::mem::replace(&mut self.m, unpack(&rhs, p));
    }

    /// Eq. (update_alpha).
    fn ascend(&mut self, centre: &Matrix) {
        linalg::add_scaled(&mut self.alpha, 1.0, &self.m);
        linalg::add_scaled(&mut self.alpha, -1.0, centre);
    }
}

/// The iteration of Algorithm 1.
pub(crate) struct Faithful<'a> {
    cloud: &'a Cloud,
    settings: Settings,
    /// The penalty.
    mu: f64,
    first: Block,
    second: Block,
    m: Positive,
    /// `lambda` of the different-label pairs, for each row of tiles.
    lambda: Vec<Vec<f64>>,
    /// `eta` of the pairs where it is not zero, by pair.
    eta: Vec<(u32, u32, f64)>,
    /// `sum lambda A` and `sum lambda`.
    push: (Matrix, f64),
    /// `sum eta A`.
    pull: Matrix,
}

impl<'a> Faithful<'a> {
    /// The paper's start: `M = I`, multipliers zero.
    pub(crate) fn new(cloud: &'a Cloud, settings: Settings, mu: f64) -> Result<Self> {
        let p = cloud.x.cols();
        let pairs = different_pairs(cloud);
        if pairs > MOST_PAIRS {
            return Err(Error::parameter(
                "solver",
                format!(
                    "`paper` keeps a multiplier for each of the {pairs} pairs of different label, and takes at most \
                     {MOST_PAIRS} (4 GiB); use `augmented` or `admm`, which keep none, or fewer rows"
                ),
            ));
        }
        let all = gram(cloud, Variant::Diameter)?;
        let same = gram(cloud, Variant::Intra)?;
        let mut different = all.clone();
        linalg::add_scaled(&mut different, -1.0, &same);
        let pulling = if settings.variant == Variant::Diameter { all } else { same };
        Ok(Self {
            cloud,
            settings,
            mu,
            first: Block::new(different)?,
            second: Block::new(pulling)?,
            m: Positive::part(&Matrix::identity(p))?,
            lambda: vec![Vec::new(); cloud.tile_rows()],
            eta: Vec::new(),
            push: (Matrix::zeros(p, p), 0.0),
            pull: Matrix::zeros(p, p),
        })
    }

    /// Eq. (update_p), as an update of `lambda`.
    fn update_lambda(&mut self) {
        let embedding = Embedding::symmetric(self.cloud, &self.first.ahead());
        let before = std::mem::take(&mut self.lambda).into_iter().map(Mutex::new).collect();
        let (after, sum) =
            scan(self.cloud, &[&embedding], &Ascend { cloud: self.cloud, mu: self.mu, before }, &Threads);
        self.push = (sum.unwrap_or_else(|| self.push.0.clone()), after.total);
        self.lambda = after.rows;
    }

    /// Eq. (update_q), as an update of `eta`.
    fn update_eta(&mut self) {
        let (cloud, mu, Settings { variant, c, .. }) = (self.cloud, self.mu, self.settings);
        let embedding = Embedding::symmetric(cloud, &self.second.ahead());
        // No pair further than c / mu below the longest can carry a multiplier.
        let reach = c / mu;
        let (found, _) = scan(cloud, &[&embedding], &Near { among: variant.bounding(), reach }, &Threads);
        let most = found.most.unwrap_or(f64::NEG_INFINITY);
        let mut values: Vec<(u32, u32, f64)> = found.pairs.into_iter().filter(|f| f.2 >= most - reach).collect();
        values.sort_unstable_by_key(|f| (f.0, f.1));
        let mut missing = Vec::new();
        for &(i, j, e) in &self.eta {
            match values.binary_search_by_key(&(i, j), |f| (f.0, f.1)) {
                Ok(k) => values[k].2 += e / mu,
                Err(_) => missing.push((i, j, embedding.squared_distance(i as usize, j as usize) + e / mu)),
            }
        }
        values.extend(missing);
        let t = simplex_threshold(values.iter().map(|f| f.2), reach);
        self.eta = values.into_iter().filter(|f| f.2 > t).map(|(i, j, v)| (i, j, mu * (v - t))).collect();
        self.eta.sort_unstable_by_key(|f| (f.0, f.1));
        self.pull = weighted_outer(&cloud.x, self.eta.iter().map(|&(i, j, e)| (i as usize, j as usize, e)));
    }

    /// One sweep of Algorithm 1.
    pub(crate) fn step(&mut self) -> Result<()> {
        let mu = self.mu;
        self.update_lambda();
        self.update_eta();
        self.first.update(&self.m.matrix, &self.push.0, 1.0 / mu);
        self.second.update(&self.m.matrix, &self.pull, -1.0 / mu);
        let mut centre = self.first.m.clone();
        for part in [&self.second.m, &self.first.alpha, &self.second.alpha] {
            linalg::add_scaled(&mut centre, 1.0, part);
        }
        centre.as_mut_slice().iter_mut().for_each(|v| *v *= 0.5);
        self.m = Positive::part(&centre)?;
        self.first.ascend(&self.m.matrix);
        self.second.ascend(&self.m.matrix);
        Ok(())
    }

    /// `F(M)` of the current iterate.
    pub(crate) fn objective(&self) -> f64 {
        let embedding = Embedding::new(self.cloud, &self.m.factor);
        let (hinges, longest) = objective(self.cloud, &embedding, self.settings.variant.bounding());
        self.settings.c * longest + hinges
    }

    /// A certified bound from the current multipliers; `to_space` maps sums to coordinates where the rows' covariance is
    /// the identity, `mean` is the mean pair there, `reach` what each coordinate would be if nothing cancelled in it.
    pub(crate) fn bound(
        &self,
        to_space: impl Fn(&Matrix) -> Matrix,
        (mean, reach): (&Matrix, &[f64]),
    ) -> Result<Bound> {
        let (push, mut pull) = (to_space(&self.push.0), to_space(&self.pull));
        // Differences of numbers much larger than c need not add up to it.
        let total = self.eta.iter().map(|e| e.2).sum::<f64>() * (1.0 + SUMMED);
        if total > self.settings.c {
            pull.as_mut_slice().iter_mut().for_each(|v| *v *= self.settings.c / total);
        }
        let multipliers = Multipliers { push: &push, total: self.push.1, pull: &pull, most: 1.0 };
        certify_mapped(&multipliers, mean, self.settings.c, reach)
    }

    /// Iterates until the certified gap is below the tolerance or the observer says stop.
    pub(crate) fn run(
        mut self,
        to_space: impl Fn(&Matrix) -> Matrix,
        known: (&Matrix, &[f64]),
        observer: &mut dyn Observer,
    ) -> Result<Solution> {
        let (mut best, mut iterations) = (0.0f64, 0);
        let mut current: Option<f64>;
        let status = loop {
            self.step()?;
            iterations += 1;
            let last = iterations >= self.settings.stop.max_iterations;
            current = None;
            if last || iterations <= EACH || iterations % EACH == 0 {
                best = best.max(self.bound(&to_space, known)?.value);
                current = Some(self.objective());
            }
            let gap = current.map(|f| relative_gap(f, best));
            let at = Progress {
                iteration: iterations,
                primal: current,
                dual: Some(best),
                gap,
                working_set: Some(self.eta.len()),
                ..Progress::default()
            };
            let halt = observer.progress(&at).break_value();
            let mut over = Termination { gap, halt, exhausted: last, ..Termination::default() };
            if halt.is_some() && gap.is_none() {
                // What the last iterate is worth may be enough.
                best = best.max(self.bound(&to_space, known)?.value);
                over.gap = Some(relative_gap(*current.get_or_insert_with(|| self.objective()), best));
            }
            if let Some(status) = over.status(self.settings.stop.tolerance) {
                break status;
            }
        };
        let objective = current.unwrap_or_else(|| self.objective());
        Ok(Solution {
            slack: Vec::new(),
            factor: self.m.factor.transpose(),
            objective,
            bound: best,
            status,
            iterations,
            certificate: None,
        })
    }
}

#[cfg(test)]
mod tests;
