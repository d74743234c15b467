//! The nearest point of another class, exactly: for each opposing row that the hyperplanes leave, the nearest point of its cell.

use super::ball::Norm;
use super::linear::Linear;
use super::program::{Added, Program};
use super::search::{Supporting, Tally, search};
use super::sites::{View, ratio};

/// How far a supporting row may have the lesser term at the point that is found, as a part of the step to it.
const TOLERANCE: f64 = 1e-11;

/// Inequalities that have no common point within this many times the distance of the farthest of them contradict each other.
const CONTRADICTED: f64 = 1e9;

/// The nearest point at which a row of another class has the least term.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crossing {
    /// How far it is, from below: infinitely far where there is none.
    pub(crate) radius: f64,
    /// The row that has the least term at the nearest point that was reached.
    pub(crate) row: Option<usize>,
}

/// The nearest crossing of a query, in the steps of the ball. `passes(i, j)` says whether the supporting row `i`
/// coincides with the opposing row `j` and is preferred to it: then `j` never decides.
///
/// The points where row `j` has the least term are a polyhedron: `2 (w_j - w_i) . v >= term_j - term_i` for all supporting rows
/// `i`, where `v` is the step. Its nearest point is a small program, quadratic in `l2` and linear in `linf` and `l1`; its
/// multipliers add up some of the inequalities to one hyperplane that is as far away, which makes the radius a certified one.
pub(crate) fn crossing(
    view: &View<'_>,
    supporting: &mut Supporting,
    opposing: &[u32],
    passes: &dyn Fn(usize, usize) -> bool,
) -> Crossing {
    Nearest::among(view, supporting, opposing, 0.0, passes).best
}

struct Nearest<'a> {
    best: Crossing,
    /// The nearest cell that was reached and its nearest point. A cell that can be neither reached nor ruled out, by rounding,
    /// counts for the radius alone.
    reached: (f64, Option<(usize, Vec<f64>)>),
    beyond: f64,
    passes: &'a dyn Fn(usize, usize) -> bool,
}

impl<'a> Nearest<'a> {
    /// The nearest of the cells, `beyond` their borders by this length.
    fn among(
        view: &View<'_>,
        supporting: &mut Supporting,
        opposing: &[u32],
        beyond: f64,
        passes: &'a dyn Fn(usize, usize) -> bool,
    ) -> Self {
        let best = Crossing { radius: f64::INFINITY, row: None };
        let mut nearest = Self { best, reached: (f64::INFINITY, None), beyond, passes };
        search(view, supporting, opposing, &mut nearest);
        nearest.best.row = nearest.reached.1.as_ref().map(|found| found.0);
        nearest
    }
}

impl Tally for Nearest<'_> {
    fn depth(&self) -> usize {
        1
    }

    fn level(&self) -> f64 {
        self.reached.0
    }

    fn add(&mut self, j: usize, farthest: &[f64], supporting: &mut Supporting, view: &View<'_>) {
        let cell = Cell { view, j, beyond: self.beyond, passes: self.passes };
        let (radius, point) = cell.solve(supporting, self.reached.0);
        let radius = radius.max(farthest[0]);
        self.best.radius = self.best.radius.min(radius);
        if let Some(point) = point
            && radius < self.reached.0
        {
            self.reached = (radius, Some((j, point)));
        }
    }
}

/// How far the nearest crossing is, and a step to it that goes beyond the border by this part of that; where its cell is not so
/// wide, into the next that is.
pub(crate) fn step_across(
    view: &View<'_>,
    supporting: &mut Supporting,
    opposing: &[u32],
    beyond: f64,
    passes: &dyn Fn(usize, usize) -> bool,
) -> Option<(f64, Vec<f64>)> {
    let found = crossing(view, supporting, opposing, passes);
    let beyond = beyond * found.radius;
    if let Some(step) = (Cell { view, j: found.row?, beyond, passes }).solve(supporting, f64::INFINITY).1 {
        return Some((found.radius, step));
    }
    let (radius, next) = Nearest::among(view, supporting, opposing, beyond, passes).reached;
    next.map(|(_, step)| (radius, step))
}

/// The nearest point to some inequalities, in each norm.
enum Nearby {
    Squares(Program),
    Sums(Linear),
}

impl Nearby {
    fn new(norm: Norm, dimension: usize) -> Self {
        match norm {
            Norm::L2 => Self::Squares(Program::new(dimension)),
            Norm::Linf | Norm::L1 => Self::Sums(Linear::new(norm, dimension)),
        }
    }

    fn point(&self) -> &[f64] {
        match self {
            Self::Squares(program) => &program.point,
            Self::Sums(program) => &program.point,
        }
    }

    fn multipliers(&self) -> Vec<(usize, f64)> {
        match self {
            Self::Squares(program) => program.multipliers(),
            Self::Sums(program) => program.multipliers(),
        }
    }

    fn holds(&self, id: usize) -> bool {
        match self {
            Self::Squares(program) => program.holds(id),
            Self::Sums(program) => program.holds(id),
        }
    }

    fn add(&mut self, id: usize, normal: Vec<f64>, bound: f64) -> Added {
        match self {
            Self::Squares(program) => program.add(id, normal, bound),
            Self::Sums(program) => program.add(id, normal, bound),
        }
    }
}

/// The points where row `j` has a term below those of all supporting rows, by so much that the border is `beyond` away.
struct Cell<'a> {
    view: &'a View<'a>,
    j: usize,
    beyond: f64,
    passes: &'a dyn Fn(usize, usize) -> bool,
}

impl Cell<'_> {
    fn norm(&self) -> Norm {
        self.view.sites().ball().norm()
    }

    /// How far the cell is, from below, and its nearest point; none where it was not reached or is at least `enough` away.
    fn solve(&self, supporting: &mut Supporting, enough: f64) -> (f64, Option<Vec<f64>>) {
        let dimension = self.view.sites().gradient(self.j).len();
        let norm = self.norm();
        let mut program = Nearby::new(norm, dimension);
        let mut left_out = Vec::new();
        for _ in 0..50 + 20 * dimension {
            let length = norm.length(program.point());
            if length >= enough * (1.0 + TOLERANCE) {
                return (self.certified(&program.multipliers()), None);
            }
            let Some(i) = self.least(supporting, program.point(), &left_out) else { break };
            let (normal, bound, size) = self.constraint(i);
            if size == 0.0 {
                if (self.passes)(i, self.j) {
                    return (f64::INFINITY, None);
                }
                left_out.push(i);
                continue;
            }
            let short = bound - dot(&normal, program.point());
            if program.holds(i) || short <= TOLERANCE * length.max(f64::MIN_POSITIVE) {
                // The least term is not below that of row `j`: the point is in the cell.
                let radius = self.certified(&program.multipliers());
                return (radius, radius.is_finite().then(|| program.point().to_vec()));
            }
            if let Added::Impossible(proof) = program.add(i, normal, bound) {
                return (self.certified(&proof), None);
            }
        }
        (self.certified(&program.multipliers()), None)
    }

    /// The supporting row of the least term after a step, but for those left out.
    fn least(&self, supporting: &mut Supporting, step: &[f64], left_out: &[usize]) -> Option<usize> {
        let by = self.view.sites().ball().moved(step);
        let far = Norm::L2.length(&by);
        let mut best: Option<(f64, usize)> = None;
        let mut at = 0;
        while let Some(i) = supporting.get(at, self.view) {
            at += 1;
            // No later row is nearer now than its old term allows.
            let most = self.view.low[i] + self.view.heaviest;
            if let Some((least, _)) = best
                && most > far * far
                && self.view.low[i] - 2.0 * far * most.sqrt() + far * far > least
            {
                break;
            }
            let term = self.view.term(i, &by);
            if best.is_none_or(|b| term < b.0) && !left_out.contains(&i) {
                best = Some((term, i));
            }
        }
        best.map(|b| b.1)
    }

    /// The inequality of row `i`: a normal of dual length 1, its bound, and the length that it was divided by.
    fn constraint(&self, i: usize) -> (Vec<f64>, f64, f64) {
        let (own, other) = (self.view.sites().gradient(i), self.view.sites().gradient(self.j));
        let mut normal: Vec<f64> = own.iter().zip(other).map(|(a, b)| 2.0 * (b - a)).collect();
        let size = self.norm().dual(normal.iter().copied());
        // Rows that cannot be told apart but for rounding make no hyperplane.
        if size <= 8.0 * self.view.normal_off() {
            return (normal, 0.0, 0.0);
        }
        normal.iter_mut().for_each(|v| *v /= size);
        (normal, self.view.gap(i, self.j) / size + self.beyond, size)
    }

    /// The distance to the sum of the inequalities with these multipliers, from below. Where they contradict each other the normals add
    /// up to zero but for rounding, and the cell has no points: it is infinitely far.
    fn certified(&self, multipliers: &[(usize, f64)]) -> f64 {
        let view = self.view;
        let mut sum = vec![0.0; view.sites().gradient(self.j).len()];
        let (mut bound, mut size_of_terms, mut off, mut farthest) = (0.0, 0.0, 0.0, 0.0_f64);
        for &(i, multiplier) in multipliers {
            let (normal, distance, size) = self.constraint(i);
            farthest = farthest.max(distance.abs());
            let scaled = multiplier / size;
            let term = scaled * (view.low[self.j] - view.high[i]);
            bound += term;
            size_of_terms += term.abs();
            off += scaled * 2.0 * view.normal_off() + multiplier * (multipliers.len() + 8) as f64 * f64::EPSILON;
            sum.iter_mut().zip(&normal).for_each(|(s, n)| *s += multiplier * n);
        }
        let terms = (multipliers.len() + sum.len() + 8) as f64;
        let bound = bound - terms * f64::EPSILON * size_of_terms;
        if bound <= 0.0 {
            return 0.0;
        }
        let far = ratio(bound, self.norm().dual(sum.iter().copied()) * (1.0 + terms * f64::EPSILON) + off);
        if far > CONTRADICTED * farthest { f64::INFINITY } else { far }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
