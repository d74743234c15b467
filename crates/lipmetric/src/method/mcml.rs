//! Maximally collapsing metric learning (Globerson and Roweis 2005).
//!
//! As in NCA every row picks a neighbour, `j` with a chance `p_ij` proportional to `exp(-rho_M(x_i, x_j))`. The ideal is that
//! it picks every other row of its class equally often and no row of another class. The objective is the distance to this
//! ideal, `sum_i KL(ideal_i, p_i)`, which is convex in `M`.
//!
//! **The certificate.** The dual problem is to find, for each row, probabilities `q_i` of largest entropy whose spread
//! `sum q_ij A_ij` nowhere exceeds the spread within classes `S = sum ideal_ij A_ij`: if `S - sum q_ij A_ij` is positive
//! semidefinite, the entropies of `q` less those of the ideal are a lower bound of the objective. The chances `p` of a nearly
//! optimal `M` are nearly feasible; mixed with a little of very concentrated ones, whose spread is small, they are feasible,
//! and since entropy is concave the mixture's is at least the mean of both.

use super::lip::centred;
use super::nca::finite;
use super::parameters::parameters;
use super::start::{Begin, Init, coordinates, note_collapse, notes_on, weights};
use super::{Fit, Method, Outcome, Training, check_limits, settle};
use crate::pairs::{Row, Softmax};
use crate::problem::{Coordinates, Known, distance_to_ideal, is_surely_positive, relative_gap};
use crate::solver::lbfgs::{End, Lbfgs, Steps};
use crate::solver::{Kept, Observer, Progress, Solution, Status, Stop, Termination, Timed, Translated, row};
use crate::{Error, Matrix, Metric, Result, linalg};

parameters! {
    /// Maximally collapsing metric learning, to a certified gap.
    ///
    /// With weights, row `i` counts `w_i` times, as a row and as a neighbour, but never as its own.
    ///
    /// ```
    /// use lipmetric::method::{Method, Mcml, Training};
    /// use lipmetric::{Labels, Matrix, solver::Silent};
    /// let x = Matrix::from_rows(&[[0.0, 9.0], [0.5, 1.0], [0.2, 4.0], [2.0, 8.0], [2.5, 2.0], [2.2, 5.0]]);
    /// let y = Labels::from_names(["a", "a", "a", "b", "b", "b"]);
    /// let fit = Mcml::new().fit(&Training::new(&x, &y)?, &mut Silent)?;
    /// assert!(fit.outcome.gap.unwrap() <= 1e-3);
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    pub struct Mcml = "mcml" {
        /// Keep only this many directions, those of the largest eigenvalues of the optimal `M`, as the paper does. The objective
        /// is then that of what is kept, and the gap is to the best metric of any rank.
        n_components: Option<usize> as impl Into<Option<usize>> = None,
        /// Where the search begins, unless a metric to start from is given; the optimum does not depend on it.
        init: Init = Init::Auto,
        /// The certified relative gap to reach.
        tolerance: f64 = 1e-3,
        /// Steps, at most.
        max_iterations: usize = 2000,
    }
}

/// Steps that are remembered.
const MEMORY: usize = 20;
/// Rounds between certificates, at most.
const ROUNDS: usize = 40;
/// The gradient that the first round may leave, relative to that of the squared length of `L`, ...
const ACCURACY: f64 = 0.03;
/// ... what it is multiplied by after each round, ...
const FINER: f64 = 0.3;
/// ... and the one after which the search gives up.
const FINEST: f64 = 1e-9;
/// A round also ends where a step lowers the value by less than this part of it: rounding.
const DECREASE: f64 = 1e-14;
/// Metrics `t I` that are tried for concentrated chances, `t` four times as large each: the last sees nearest rows only.
const CONCENTRATIONS: i32 = 7;
/// Chances are concentrated where `S` less their spread has no eigenvalue below this (`S` is the identity) ...
const LEAST_ROOM: f64 = 1e-6;
/// ... and no more concentrated ones are looked for from this on: a mixture then takes little of them.
const MUCH_ROOM: f64 = 0.3;
/// The least eigenvalue of the spread within classes, as a part of the largest: whitening divides by it.
const FLAT: f64 = 1e-10;
/// A start of lower rank gets this part of its mean eigenvalue in all directions: little, but enough to leave that rank.
const LIFT: f64 = 1e-3;
/// The same for a start that is zero.
const LEAST_LIFT: f64 = 1e-12;

impl Mcml {
    /// The objective of any metric on labelled rows: `sum_i w_i KL(ideal_i, p_i)`.
    ///
    /// # Errors
    /// If the metric has another number of features, or the data do not allow a fit.
    pub fn objective(data: &Training<'_>, metric: &Metric) -> Result<f64> {
        let frame = coordinates(data)?;
        Ok(Collapse::new(&frame, data.x)?.value(&frame.inner(metric.factor())?, false).0)
    }

    /// The gradient of [`Self::objective`] in the elements of the metric's factor.
    ///
    /// # Errors
    /// As there.
    pub fn gradient(data: &Training<'_>, metric: &Metric) -> Result<Matrix> {
        let frame = coordinates(data)?;
        let (_, mut half, _) = Collapse::new(&frame, data.x)?.value(&frame.inner(metric.factor())?, false);
        half.as_mut_slice().iter_mut().for_each(|v| *v *= 2.0);
        Ok(frame.metric(&half)?.factor().clone())
    }
}

/// What is dropped of chances, and what sums of logarithms are off by, for each row of the others.
const LOST: f64 = 1e-12;
/// What more of the concentrated chances is mixed in until the mixture is feasible beyond doubt.
const MORE: [f64; 12] = [0.0, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3];

/// The objective on given coordinates.
struct Collapse<'a> {
    frame: &'a Coordinates,
    /// The largest size of each coordinate if nothing cancelled in it, times what a product of so many terms is off by.
    reach: Vec<f64>,
    softmax: Softmax<'a>,
    /// `S`, the spread within classes.
    within: Matrix,
    /// The entropies of the ideal.
    ideal: f64,
}

/// Chances whose spread is well within the classes'.
struct Concentrated {
    /// `S` less their spread, ...
    room: Matrix,
    /// ... and its Cholesky factor.
    factor: linalg::Cholesky,
    entropy: f64,
}

impl<'a> Collapse<'a> {
    fn new(frame: &'a Coordinates, x: &Matrix) -> Result<Self> {
        let terms = 1.0 + 0.25 * x.cols() as f64;
        let reach = frame.reach_of(&centred(x)).into_iter().map(|r| terms * r).collect();
        let (within, ideal) = spread_within(frame);
        if frame.cloud.classes().iter().all(|s| s.len() == 1) {
            return Err(Error::data("no two rows have the same label: there is no class to collapse"));
        }
        Ok(Self { frame, reach, softmax: Softmax::new(&frame.cloud), within, ideal })
    }

    fn coefficients(&self, row: &Row<'_>, coefficients: &mut [f64]) -> f64 {
        let weight = if row.same.len() > 1 { self.frame.cloud.weight[row.i] } else { 0.0 };
        coefficients.iter_mut().zip(row.chances).for_each(|(c, p)| *c = -weight * p);
        weight * row.log_total
    }

    /// The objective, half its gradient in `L` (or, for `outer`, its gradient in `M`), and the entropies of the chances.
    fn value(&self, factor: &Matrix, outer: bool) -> (f64, Matrix, f64) {
        let f = |row: &Row<'_>, c: &mut [f64]| self.coefficients(row, c);
        let total = if outer { self.softmax.outer(factor, f) } else { self.softmax.sum(factor, f) };
        let pulled = linalg::product(factor, &self.within);
        let pull = linalg::inner(&pulled, factor);
        let mut gradient = total.gradient;
        linalg::add_scaled(&mut gradient, 1.0, if outer { &self.within } else { &pulled });
        // Rows of one class only are not far from the ideal: rounding must not make it negative.
        ((pull + total.value - self.ideal).max(0.0), gradient, total.entropy - self.ideal)
    }

    /// Looks for concentrated chances: those of the metric `t I`, `t` growing.
    fn concentrated(&self) -> Result<Option<Concentrated>> {
        let p = self.within.rows();
        let mass: f64 = self.frame.cloud.weight.iter().sum();
        let mut best: Option<(f64, Concentrated)> = None;
        for power in 0..CONCENTRATIONS {
            let scale = (mass / p as f64).sqrt() * 2.0f64.powi(power);
            let mut factor = Matrix::identity(p);
            factor.as_mut_slice().iter_mut().for_each(|v| *v *= scale);
            let (_, gradient, entropy) = self.value(&factor, true);
            let low = linalg::symmetric_eigenvalues(&gradient)?.first().copied().unwrap_or(0.0);
            if low > LEAST_ROOM
                && best.as_ref().is_none_or(|(b, _)| low > *b)
                && let Some(factor) = linalg::Cholesky::of(&gradient)
            {
                best = Some((low, Concentrated { room: gradient, factor, entropy }));
            }
            if low > MUCH_ROOM {
                break;
            }
        }
        Ok(best.map(|(_, c)| c))
    }

    /// The lower bound that the chances under a metric prove, whatever rounding has done to their sums. Zero where it is none.
    fn bound(&self, gradient: &Matrix, entropy: f64, concentrated: Option<&Concentrated>) -> Result<f64> {
        if self.frame.is_partial() {
            return Ok(0.0);
        }
        let mass: f64 = self.frame.cloud.weight.iter().sum();
        let lost = LOST * self.frame.cloud.len() as f64 * mass;
        if self.is_feasible(gradient) {
            return Ok((entropy - lost).max(0.0));
        }
        let Some(other) = concentrated else { return Ok(0.0) };
        let low = linalg::symmetric_eigenvalues(&other.factor.whiten(gradient))?.first().copied().unwrap_or(0.0);
        let low = low.min(0.0);
        let least = -low / (1.0 - low);
        let part = MORE.iter().map(|more| least + more * (1.0 - least)).find(|part| {
            let mut mixed = other.room.clone();
            mixed.as_mut_slice().iter_mut().for_each(|v| *v *= part);
            linalg::add_scaled(&mut mixed, 1.0 - part, gradient);
            self.is_feasible(&mixed)
        });
        Ok(part.map_or(0.0, |part| ((1.0 - part) * entropy + part * other.entropy - lost).max(0.0)))
    }

    /// Whether the spread within classes exceeds another one, the first less the second being given, beyond doubt.
    fn is_feasible(&self, left: &Matrix) -> bool {
        let mut spread = self.within.clone();
        linalg::add_scaled(&mut spread, -1.0, left);
        let weight = 2.0 * self.frame.cloud.weight.iter().sum::<f64>();
        is_surely_positive(&self.within, &spread, 1.0, weight, Known { reach: &self.reach, mapped: true })
    }

    /// Minimises from a factor: L-BFGS, ever more accurately, with a certificate between the runs.
    fn solve(&self, first: Matrix, stop: &Stop, observer: &mut dyn Observer) -> Result<Solution> {
        let (r, p) = (first.rows(), first.cols());
        let mut factor = Matrix::zeros(r, p);
        let mut function = |x: &[f64], g: &mut [f64]| {
            factor.as_mut_slice().copy_from_slice(x);
            let (value, half, _) = self.value(&factor, false);
            g.iter_mut().zip(half.as_slice()).for_each(|(o, v)| *o = 2.0 * v);
            value
        };
        let concentrated = self.concentrated()?;
        let (mut accuracy, mut status, mut bound) = (ACCURACY, Status::Stalled, 0.0f64);
        let mut state = match revived(observer.kept(Mcml::NAME), r * p) {
            Some((figures, state)) => {
                [accuracy, bound] = figures;
                state
            }
            None => Lbfgs::new(first.into_vec(), &mut function),
        };
        let (mut factor, mut objective) = (Matrix::zeros(r, p), f64::NAN);
        for _ in 0..ROUNDS {
            let resistance = 2.0 * linalg::dot(&state.x, &state.x).sqrt();
            let steps = Steps {
                memory: MEMORY,
                decrease: DECREASE,
                scale: 0.0,
                gradient: accuracy * resistance,
                max_iterations: stop.max_iterations,
            };
            let figures = |iteration: usize, value: f64, bound: f64| Progress {
                iteration,
                primal: Some(value),
                dual: Some(bound),
                gap: Some(relative_gap(value, bound)),
                ..Progress::default()
            };
            let end = state.run(&mut function, &steps, &mut |told| {
                if let Some(state) = told.state {
                    let numbers = || std::iter::once(row(vec![accuracy, bound])).chain(state.numbers()).collect();
                    observer.keep(Mcml::NAME, &mut || Kept::new("", numbers()));
                }
                observer.progress(&figures(told.iteration, told.value, bound))
            });
            factor = Matrix::from_vec(r, p, state.x.clone())?;
            let (value, gradient, entropy) = self.value(&factor, true);
            bound = bound.max(self.bound(&gradient, entropy, concentrated.as_ref())?);
            objective = finite(value)?;
            let told = observer.progress(&figures(state.iterations, value, bound));
            let over = Termination {
                gap: Some(relative_gap(value, bound)),
                halt: end.halt().or(told.break_value()),
                stalled: accuracy <= FINEST && end != End::IterationLimit,
                exhausted: end == End::IterationLimit,
                ..Termination::default()
            };
            if let Some(ended) = over.status(stop.tolerance) {
                status = ended;
                break;
            }
            accuracy *= FINER;
        }
        Ok(Solution {
            factor,
            objective,
            bound,
            slack: Vec::new(),
            status,
            iterations: state.iterations,
            certificate: None,
        })
    }
}

/// Accuracy and bound of the round that an earlier run was in, and its state there.
fn revived(kept: Option<Kept>, variables: usize) -> Option<([f64; 2], Lbfgs)> {
    let kept = kept?;
    let (figures, state) = kept.numbers.split_first()?;
    let figures: [f64; 2] = figures.as_slice().try_into().ok()?;
    Some((figures, Lbfgs::revived(state, variables)?))
}

/// `sum_i w_i sum_j ideal_ij A_ij` with `ideal_ij = w_j / (W - w_i)` over the other rows of the class, `W` its weight; and
/// `sum_i w_i log(W - w_i)`.
fn spread_within(frame: &Coordinates) -> (Matrix, f64) {
    let (x, weight, p) = (&frame.cloud.x, &frame.cloud.weight, frame.rank());
    let mut within = Matrix::zeros(p, p);
    let mut entropy = 0.0;
    for range in frame.cloud.classes().into_iter().filter(|class| class.len() > 1) {
        let mass: f64 = weight[range.clone()].iter().sum();
        let mean = frame.cloud.weighted_mean(range.clone());
        // About the mean the cross terms vanish: sum_j w_j d_j = 0.
        let share: f64 = range.clone().map(|i| weight[i] / (mass - weight[i])).sum();
        let (mut plain, mut scaled) = (Vec::new(), Vec::new());
        for i in range.clone() {
            let t = weight[i] / (mass - weight[i]) * mass + share * weight[i];
            for (v, m) in x.row(i).iter().zip(&mean) {
                plain.push(v - m);
                scaled.push(t * (v - m));
            }
            entropy += weight[i] * (mass - weight[i]).ln();
        }
        linalg::gemm_tn_add(within.as_mut_slice(), &plain, &scaled, p, p, range.len());
    }
    linalg::symmetrise(&mut within);
    (within, entropy)
}

impl Method for Mcml {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn check(&self) -> Result<()> {
        check_limits(self.tolerance, self.max_iterations)
    }

    fn fit(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        self.check()?;
        data.check_for(self)?;
        let observer = &mut Timed::new(observer);
        let frame = coordinates(data)?;
        // Checked here, used at the end.
        frame.start(Begin::Rule(Init::Pca), self.n_components)?;
        let mut notes = notes_on(&frame);
        let lonely = frame.cloud.classes().iter().filter(|s| s.len() == 1).count();
        if lonely > 0 {
            notes.push(format!("classes of a single row: {lonely}; these rows have nothing to collapse to"));
        }
        let begin = Begin::new(self.init, data);
        let start = frame.start(begin, None)?;
        let (map, inverse) = linalg::roots(&spread_within(&frame).0, FLAT)?;
        let frame = frame.changed(&map, &inverse);
        let collapse = Collapse::new(&frame, data.x)?;
        let p = frame.rank();
        let mass: f64 = frame.cloud.weight.iter().sum();
        let mut first = linalg::product(&start, &inverse);
        if begin.is_auto() {
            // The spread within classes is the identity here: rows see about all others at this scale.
            first = Matrix::identity(p);
            first.as_mut_slice().iter_mut().for_each(|v| *v *= (mass / p as f64).sqrt());
        } else if first.rows() < p {
            // A start of lower rank could never leave it.
            let mut m = linalg::transposed_product(&first, &first);
            let lift = LIFT * (0..p).map(|k| m[(k, k)]).sum::<f64>() / p as f64 + LEAST_LIFT;
            (0..p).for_each(|k| m[(k, k)] += lift);
            first = linalg::root(&m)?;
        }
        let reached = |kept: &Kept| {
            let factor = Matrix::from_vec(p, p, kept.numbers.get(2)?.as_slice().to_vec()).ok()?;
            frame.metric_of(&linalg::transposed_product(&factor, &factor)).ok()
        };
        let watched = &mut Translated { inner: observer, metric: &reached };
        let mut solution = collapse.solve(first, &Stop::new(self.tolerance, self.max_iterations), watched)?;
        let factor = &solution.factor;
        let mut metric = frame.metric_of(&linalg::transposed_product(factor, factor))?;
        if let Some(count) = self.n_components
            && count < metric.rank()
        {
            metric = leading(&metric, count)?;
        }
        let converged = solution.status == Status::Optimal;
        solution.objective = finite(distance_to_ideal((data.x, data.y.codes(), &weights(data)), &metric))?;
        notes.extend(frame.note_no_bound());
        if self.n_components.is_some() && converged && solution.gap() > self.tolerance {
            solution.status = Status::RankLimited;
        }
        notes.extend(settle(&mut solution, self.tolerance).filter(|_| !frame.is_partial()));
        note_collapse(&metric, data.x, &mut notes)?;
        Ok(Fit::new(metric, Outcome::of(&solution).with_notes(notes)))
    }
}

/// The directions of the largest eigenvalues of `M`, on the features.
fn leading(metric: &Metric, count: usize) -> Result<Metric> {
    let factor = linalg::root(&metric.matrix())?;
    let rows: Vec<usize> = (0..count.min(factor.rows())).collect();
    Metric::new(factor.select_rows(&rows))
}
