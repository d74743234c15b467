//! Which comparisons are listed: every one that is violated, and some more, so that the lists last for a while.

use super::Problem;
use super::measure::squared;
use crate::pairs::{Cloud, Embedding, Kind, Pass, Run, Threads, scan};
use crate::{Matrix, linalg};

// Wide lists last for many steps, narrow ones cost less in each: these trade one for the other.

/// How much farther than the farthest target, relatively, rows are listed at first, ...
const MARGIN: f64 = 0.1;
/// ... at the least and at the most.
const MARGINS: (f64, f64) = (0.02, 1.0);
/// What the margin is multiplied by where the lists cost more than a scan of all pairs.
const HALVED: f64 = 0.5;
/// Lists that were used more often than this are made narrower, by this factor; ...
const NARROWER: (usize, f64) = (12, 0.7);
/// ... those that were worn out after this many uses wider, by this one.
const WIDER: (usize, f64) = (3, 1.5);
/// Pairs are scanned this many times as fast as listed rows are measured, about.
const PER_SCAN: usize = 64;
/// What distances may be off by when the lists are said to be complete: many times their rounding.
const ROUNDING: f64 = 1e-9;

/// For each anchor the rows that it is compared with, ascending, and the multipliers of the round before.
pub(crate) struct Lists {
    start: Vec<usize>,
    others: Vec<u32>,
    /// A multiplier for each target of each listed row.
    nu: Vec<f64>,
    /// Where the multipliers of an anchor begin.
    nu_start: Vec<usize>,
    /// How the lists were made; none where they are given and complete.
    made: Option<Made>,
    margin: f64,
    uses: usize,
    complete: bool,
}

struct Made {
    z: Matrix,
    /// Its squared length.
    size: f64,
    /// No row farther than this from the anchor under `z` need be listed.
    radius: Vec<f64>,
}

impl Lists {
    /// Lists of all rows of another class, made as they are needed.
    pub(crate) fn by_label() -> Self {
        Self {
            start: Vec::new(),
            others: Vec::new(),
            nu: Vec::new(),
            nu_start: Vec::new(),
            made: None,
            margin: MARGIN,
            uses: 0,
            complete: false,
        }
    }

    /// Exactly these rows for each anchor.
    pub(crate) fn given(problem: &Problem<'_>, others: Vec<Vec<u32>>) -> Self {
        let mut lists = Self { complete: true, ..Self::by_label() };
        lists.replace(problem, others);
        lists
    }

    /// Whether they were given, and are all there is to compare.
    pub(super) fn are_complete(&self) -> bool {
        self.complete
    }

    /// Number of listed rows.
    pub(crate) fn len(&self) -> usize {
        self.others.len()
    }

    /// The rows that anchor `k` is compared with, and the kept multipliers.
    pub(super) fn of(&self, k: usize) -> (&[u32], &[f64]) {
        if self.start.is_empty() {
            return (&[], &[]);
        }
        (&self.others[self.start[k]..self.start[k + 1]], &self.nu[self.nu_start[k]..self.nu_start[k + 1]])
    }

    /// Keeps the multipliers for the next round.
    pub(super) fn keep(&mut self, multipliers: Vec<f64>) {
        if multipliers.len() == self.nu.len() {
            self.nu = multipliers;
        }
    }

    /// So many listed rows cost about as much to measure as all pairs cost to scan.
    fn dear(&self, problem: &Problem<'_>) -> usize {
        problem.cloud.len() * problem.cloud.len() / PER_SCAN + 1
    }

    /// Makes narrower lists at the next use, if these are worth replacing.
    pub(super) fn review(&mut self, problem: &Problem<'_>) {
        if !self.complete && self.others.len() > self.dear(problem) {
            self.margin = (self.margin * HALVED).max(MARGINS.0);
            self.made = None;
        }
    }

    fn replace(&mut self, problem: &Problem<'_>, fresh: Vec<Vec<u32>>) {
        let (mut start, mut nu_start, mut others, mut nu) = (vec![0], vec![0], Vec::new(), Vec::new());
        for (k, (anchor, mut list)) in problem.anchors.iter().zip(fresh).enumerate() {
            let count = anchor.targets.len();
            let (old, kept) = self.of(k);
            // What still has a multiplier stays, however far.
            let carried: Vec<(u32, &[f64])> = old
                .iter()
                .zip(kept.chunks_exact(count.max(1)))
                .filter(|(_, nu)| nu.iter().any(|&v| v > 0.0))
                .map(|(&l, nu)| (l, nu))
                .collect();
            list.extend(carried.iter().map(|(l, _)| *l));
            list.sort_unstable();
            list.dedup();
            let mut next = carried.into_iter().peekable();
            for &l in &list {
                match next.peek() {
                    Some((c, values)) if *c == l => {
                        nu.extend_from_slice(values);
                        next.next();
                    }
                    _ => nu.extend(std::iter::repeat_n(0.0, count)),
                }
            }
            others.extend_from_slice(&list);
            start.push(others.len());
            nu_start.push(nu.len());
        }
        (self.start, self.nu_start, self.others, self.nu) = (start, nu_start, others, nu);
    }

    /// Makes sure that every violated comparison under `z = x L^T` is listed.
    ///
    /// A row that is not listed was at least `radius` away when the lists were made. Since then the points have been scaled
    /// by some `s` and have moved by `e_i` besides, so that it is at least `s radius - e_i - max e` away now: as long as that
    /// is enough for every anchor, nothing is missing.
    pub(super) fn ensure(&mut self, problem: &Problem<'_>, z: &Matrix, factor: &Matrix) {
        if self.complete {
            return;
        }
        self.uses += 1;
        if self.made.as_ref().is_some_and(|made| lasts(problem, made, z)) {
            return;
        }
        // Soon worn out: wider lists, unless going through them costs more than making them; long in use: narrower ones.
        if self.made.is_some() {
            let factor = if self.others.len() > self.dear(problem) || self.uses > NARROWER.0 {
                NARROWER.1
            } else if self.uses <= WIDER.0 {
                WIDER.1
            } else {
                1.0
            };
            self.margin = (self.margin * factor).clamp(MARGINS.0, MARGINS.1);
        }
        self.uses = 0;
        let radius: Vec<f64> = problem
            .anchors
            .iter()
            .map(|a| (1.0 + farthest(z, a.point, &a.targets)).sqrt() * (1.0 + self.margin))
            .collect();
        let embedding = Embedding::new(problem.cloud, &factor.transpose());
        self.replace(problem, within(problem, (problem.cloud, &embedding), &radius));
        self.made = Some(Made { z: z.clone(), size: linalg::inner(z, z), radius });
    }
}

#[inline(always)]
fn farthest(z: &Matrix, point: usize, targets: &[u32]) -> f64 {
    targets.iter().map(|&j| squared(z.row(point), z.row(j as usize))).fold(0.0, f64::max)
}

fn lasts(problem: &Problem<'_>, made: &Made, z: &Matrix) -> bool {
    pulp::Arch::new().dispatch(Lasting { problem, made, z })
}

/// Whether lists are still complete, compiled for the widest vectors that the processor has.
struct Lasting<'a, 'b> {
    problem: &'a Problem<'b>,
    made: &'a Made,
    z: &'a Matrix,
}

impl pulp::WithSimd for Lasting<'_, '_> {
    type Output = bool;
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> bool {
        let Self { problem, made, z } = self;
        let both = linalg::inner(z, &made.z);
        let s = if made.size > 0.0 { (both / made.size).max(0.0) } else { 0.0 };
        let r = z.cols();
        let moved: Vec<f64> = (0..z.rows())
            .map(|i| {
                let (now, then) = (&z.row(i)[..r], &made.z.row(i)[..r]);
                let mut d = 0.0;
                for k in 0..r {
                    let e = now[k] - s * then[k];
                    d += e * e;
                }
                d.sqrt()
            })
            .collect();
        let most = moved.iter().fold(0.0f64, |m, &v| m.max(v));
        problem.anchors.iter().zip(&made.radius).all(|(a, radius)| {
            s * radius - moved[a.point] - most >= (1.0 + farthest(z, a.point, &a.targets)).sqrt() * (1.0 + ROUNDING)
        })
    }
}

/// The rows of another class within the squared reach of a point.
struct Within<'a> {
    reach: &'a [f64],
}

impl Pass for Within<'_> {
    type Part = Vec<(u32, u32)>;

    fn wanted(&self, kind: Kind) -> bool {
        kind != Kind::Same
    }

    fn visit(&self, hits: &mut Self::Part, run: Run<'_>) {
        if run.same {
            return;
        }
        let own = self.reach[run.i];
        let right = &self.reach[run.j0..run.j0 + run.rho.len()];
        for (k, (&r, &other)) in run.rho.iter().zip(right).enumerate() {
            if r < own || r < other {
                let (i, j) = (run.i as u32, (run.j0 + k) as u32);
                if r < own {
                    hits.push((i, j));
                }
                if r < other {
                    hits.push((j, i));
                }
            }
        }
    }

    fn merge(&self, into: &mut Self::Part, mut next: Self::Part) {
        into.append(&mut next);
    }
}

/// The rows of another class within each anchor's radius.
pub(super) fn within(problem: &Problem<'_>, (cloud, embedding): (&Cloud, &Embedding), radius: &[f64]) -> Vec<Vec<u32>> {
    // Squared, per point; a point that is no anchor finds none, however far below zero rounding brings a distance.
    let mut reach = vec![f64::NEG_INFINITY; cloud.len()];
    let mut anchor_of = vec![usize::MAX; cloud.len()];
    for (k, (a, r)) in problem.anchors.iter().zip(radius).enumerate() {
        reach[a.point] = r * r;
        anchor_of[a.point] = k;
    }
    let (found, _) = scan(cloud, &[embedding], &Within { reach: &reach }, &Threads);
    let mut lists = vec![Vec::new(); problem.anchors.len()];
    for (i, j) in found {
        lists[anchor_of[i as usize]].push(j);
    }
    lists
}
