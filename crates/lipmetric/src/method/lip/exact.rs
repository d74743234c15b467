//! Lip^D and Lip^I, solved to a certified optimum.

use super::super::{Fit, Outcome, Training, settle};
use super::{Plain, TradeOff};
use crate::pairs::Cloud;
use crate::problem::{
    Certificate, Coordinates, Diameter, Problem, Slack, SupportPair, Variant, relative_gap, value_at_zero,
};
use crate::solver::interior::{Ceiling, PART, Settings, Start, bent, ceiling, fitted, path, solve, solve_near};
use crate::solver::{Kept, Observer, Solution, Status, Stop, Timed, Translated, row};
use crate::{Error, Matrix, Metric, Result, linalg};

/// What an observer keeps `c_max` by.
pub(super) const C_MAX: &str = "c_max";
/// The fraction of `c_max` that a message gives as an example.
pub(super) const EXAMPLE: f64 = 0.1;

impl Fit {
    /// The pairs that the optimum rests on, those with the largest multipliers first. Pairs far inside the margin all have
    /// the largest possible multiplier and are not listed. None where there is no certificate.
    #[must_use]
    pub fn support(&self) -> Vec<SupportPair> {
        self.certificate.as_ref().map_or_else(Vec::new, Certificate::support)
    }
}

impl Plain {
    /// The data as the solver wants them, after the checks that do not depend on `c`.
    pub(super) fn prepare(&self, data: &Training<'_>) -> Result<Coordinates> {
        let weights = self.class_weights.of_rows(data)?;
        let space = Coordinates::whitened(data.x, data.y.codes(), &weights, data.helpers)?;
        let (different, same) = space.cloud.pair_totals();
        if different <= 0.0 {
            return Err(Error::data("all rows have the same label: at least two classes are needed"));
        }
        if self.variant == Variant::Intra && same <= 0.0 {
            return Err(Error::data(
                "no two rows have the same label, so that Lip^I has no diameter to bound; use Lip^D instead",
            ));
        }
        space.check()
    }

    fn settings(&self, cloud: &Cloud, c: f64) -> Settings<'static> {
        let (different, same) = cloud.pair_totals();
        let all = if self.variant == Variant::Diameter { different + same } else { same };
        let least = cloud.weight.iter().fold(f64::INFINITY, |m: f64, w| m.min(*w)).powi(2);
        // The mean of the longest distances, where these are not even one pair, is the longest.
        let longest = matches!(self.diameter, Diameter::Cvar(level) if level * all <= least);
        Settings {
            variant: self.variant,
            slack: self.slack,
            diameter: if longest { Diameter::Maximum } else { self.diameter },
            anchor: None,
            c,
            stop: Stop { tolerance: self.tolerance, max_iterations: self.max_iterations, memory: self.memory },
        }
    }

    /// The anchor's metric, its scale fitted, and `gamma`.
    fn anchored(&self, space: &Coordinates, c: f64) -> Result<Option<(f64, Matrix)>> {
        let Some(anchor) = self.anchor else { return Ok(None) };
        let (reference, diameter) =
            fitted(&space.cloud, self.settings(&space.cloud, c), space.reference(anchor.towards)?)?;
        let size: f64 = reference.as_slice().iter().map(|v| v * v).sum();
        Ok(Some((anchor.weight * c * diameter / size, reference)))
    }

    /// `c_max` as the exact solver has it.
    pub(super) fn ceiling(&self, space: &Coordinates, observer: &mut dyn Observer) -> Result<Ceiling> {
        self.ceiling_and_start(space, &mut None, observer)
    }

    /// The same, and where it has one a point from which a path may start.
    fn ceiling_and_start<'a>(
        &self,
        space: &'a Coordinates,
        start: &mut Option<Start<'a>>,
        observer: &mut dyn Observer,
    ) -> Result<Ceiling> {
        if let Some(value) = observer.kept(C_MAX).and_then(|kept| kept.single(1, 1)) {
            return Ok(Ceiling { value: value[(0, 0)], known: true });
        }
        let found = ceiling(&space.cloud, self.settings(&space.cloud, 1.0), self.rough, start, observer)?;
        if found.known {
            observer.finished(C_MAX, &Kept::new("", vec![row(vec![found.value])]));
        }
        Ok(found)
    }

    pub(in crate::method) fn c_max(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<f64> {
        let observer = &mut Timed::new(observer);
        let space = self.prepare(data)?;
        if space.leak(self.variant)?.is_some() {
            return Ok(f64::INFINITY);
        }
        match self.ceiling(&space, observer)? {
            Ceiling { value, known: true } => Ok(value),
            Ceiling { .. } => Err(Error::before_c_max()),
        }
    }

    pub(in crate::method) fn path(
        &self,
        data: &Training<'_>,
        fractions: &[f64],
        observer: &mut dyn Observer,
    ) -> Result<Vec<Fit>> {
        if let Some(&wrong) = fractions.iter().find(|f| !(**f > 0.0 && **f < 1.0)) {
            return Err(Error::parameter("fractions", format!("{wrong} is not between 0 and 1")));
        }
        let observer = &mut Timed::new(observer);
        let space = self.prepare(data)?;
        if let Some(leak) = space.leak(self.variant)? {
            return fractions.iter().map(|&f| self.closed_form(data, &leak, TradeOff::Relative(f))).collect();
        }
        let mut start = None;
        let c_max = self.ceiling_and_start(&space, &mut start, observer)?;
        let solutions = self.along(&space, fractions, (c_max.value, start), observer)?;
        solutions.into_iter().map(|(c, solution)| self.finish(data, &space, solution, c, Some(c_max))).collect()
    }

    /// The same for distances that are only tried: nothing is proved about them. `c_max` is computed unless it is known.
    pub(in crate::method) fn tried(
        &self,
        data: &Training<'_>,
        fractions: &[f64],
        c_max: Option<f64>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Fit>> {
        let observer = &mut Timed::new(observer);
        let space = self.prepare(data)?;
        if let Some(leak) = space.leak(self.variant)? {
            return fractions.iter().map(|&f| self.closed_form(data, &leak, TradeOff::Relative(f))).collect();
        }
        let mut start = None;
        let c_max = match c_max {
            Some(c_max) => c_max,
            None => self.ceiling_and_start(&space, &mut start, observer)?.value,
        };
        let unproved = |(c, solution): (f64, Solution)| {
            let metric = space.metric(&solution.factor)?;
            let slack = match self.slack {
                Slack::Pair => None,
                Slack::Instance => {
                    Some(self.problem(data, c)?.measure(&metric, &by_row(data, &space, &solution.slack)).slack)
                }
            };
            let outcome = Outcome::of(&solution).with_trade_off(Some(c), None);
            Ok(Fit { slack, ..Fit::new(metric, outcome) })
        };
        self.along(&space, fractions, (c_max, start), observer)?.into_iter().map(unproved).collect()
    }

    /// Solves the problem for each of these parts of `c_max`; tells each `c`.
    fn along<'a>(
        &self,
        space: &'a Coordinates,
        fractions: &[f64],
        (c_max, start): (f64, Option<Start<'a>>),
        observer: &mut dyn Observer,
    ) -> Result<Vec<(f64, Solution)>> {
        let trade_offs = fractions.iter().map(|f| usable(f * c_max, c_max)).collect::<Result<Vec<f64>>>()?;
        let solutions = if self.anchor.is_some() {
            // The anchor depends on c: each fit has its own.
            trade_offs.iter().map(|c| self.at(space, *c, None, observer)).collect::<Result<_>>()?
        } else {
            path(&space.cloud, self.settings(&space.cloud, c_max), &trade_offs, start, observer)?
        };
        Ok(trade_offs.into_iter().zip(solutions).collect())
    }

    /// Solves the problem for one `c`.
    fn at(&self, space: &Coordinates, c: f64, start: Option<&Metric>, observer: &mut dyn Observer) -> Result<Solution> {
        let anchor = self.anchored(space, c)?;
        let anchor = anchor.as_ref().map(|(gamma, reference)| (*gamma, reference));
        let settings = Settings { anchor, ..self.settings(&space.cloud, c) };
        let metric = |kept: &Kept| space.metric_of(kept.numbers.first()?).ok();
        let observer = &mut Translated { inner: observer, metric: &metric };
        let p = space.rank();
        let near = match (observer.kept(PART).and_then(|kept| kept.single(p, p)), start) {
            (Some(m), _) => m,
            (None, None) => return solve(&space.cloud, settings, observer),
            (None, Some(metric)) => {
                let inner = space.inner(metric.factor())?;
                linalg::transposed_product(&inner, &inner)
            }
        };
        solve_near(&space.cloud, settings, near, observer)
    }

    /// Learns a metric, and tells the pairs that it rests on.
    pub(in crate::method) fn fit_exactly(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        let observer = &mut Timed::new(observer);
        let space = self.prepare(data)?;
        if let Some(leak) = space.leak(self.variant)? {
            return self.closed_form(data, &leak, self.trade_off);
        }
        let (c, c_max) = match self.trade_off {
            TradeOff::Absolute(c) => (c, None),
            TradeOff::Relative(fraction) => {
                let c_max = self.ceiling(&space, observer)?;
                (usable(fraction * c_max.value, c_max.value)?, Some(c_max))
            }
        };
        let solution = self.at(&space, c, data.start, observer)?;
        let zero = value_at_zero(&space.cloud, self.slack);
        if c_max.is_none() && self.anchor.is_none() && solution.bound >= zero * (1.0 - self.tolerance) {
            let c_max = self.ceiling(&space, observer)?.value;
            return Err(Error::parameter(
                "c",
                format!(
                    "{c} is too large: at c_max = {c_max:.6} and above, all learned distances become 0; use a smaller c, for \
                     example {:.6}",
                    EXAMPLE * c_max
                ),
            ));
        }
        self.finish(data, &space, solution, c, c_max)
    }

    /// The problem on the given rows.
    pub(super) fn problem(&self, data: &Training<'_>, c: f64) -> Result<Problem> {
        let weights = self.class_weights.of_rows(data)?;
        Ok(Problem::new((data.x, data.y.codes(), &weights), self.form(), c).helped_by(data.helpers, &weights))
    }

    /// The metric in the user's coordinates, and the figures: its objective measured on the given rows, and the bound that the
    /// multipliers prove there.
    pub(super) fn finish(
        &self,
        data: &Training<'_>,
        space: &Coordinates,
        mut solution: Solution,
        c: f64,
        c_max: Option<Ceiling>,
    ) -> Result<Fit> {
        let mut notes = Vec::new();
        notes.extend(c_max.filter(|c_max| !c_max.known).map(|_| note_guess(c)));
        notes.extend(note_duplicates(data.x, &space.cloud));
        notes.extend(space.note_faint());
        let mut metric = space.metric(&solution.factor)?;
        let mut certificate = match solution.certificate.take() {
            Some(certificate) => space.certificate(certificate)?,
            None => Certificate::nothing(metric.clone()),
        };
        let problem = self.problem(data, c)?;
        let weights = self.class_weights.of_rows(data)?;
        if weights.iter().any(|w| *w != 1.0) {
            certificate.weights = weights;
        }
        let slack = by_row(data, space, &solution.slack);
        let mut measured = problem.measure(&metric, &slack);
        match self.anchored(space, c)? {
            None => {
                let basis = space.basis();
                solution.bound = problem.prove(&mut certificate, &basis);
                if solution.bound > measured.objective - measured.off {
                    measured = problem.measure_carefully(&metric, &slack);
                }
                if space.is_very_weak() && relative_gap(measured.objective, solution.bound) > self.tolerance {
                    for longer in LONGER {
                        let other = space.metric(&scaled(&solution.factor, (1.0 + longer).sqrt()))?;
                        let found = problem.measure(&other, &slack);
                        if found.objective < measured.objective {
                            (metric, measured) = (other, found);
                        }
                    }
                }
                solution.objective = measured.objective;
                certificate.basis = (basis.rows() < data.x.cols()).then_some(basis);
                certificate.slack.clone_from(&measured.slack);
            }
            // The pull towards the anchor is a term of its own, in the solver's coordinates.
            Some((gamma, reference)) => {
                let anchor = (gamma, &reference);
                solution.objective = measured.objective + bent(Some(anchor), &space.seen(&metric)?);
                solution.bound = 0.0;
                if space.is_partial() {
                    notes.push("with an anchor no bound is proved where directions are left out".to_owned());
                } else {
                    solution.bound = problem.prove_anchored(&mut certificate, &space.basis(), anchor)?;
                }
            }
        }
        notes.extend(settle(&mut solution, self.tolerance).filter(|_| !space.is_partial()));
        let known = c_max.filter(|c_max| c_max.known).map(|c_max| c_max.value);
        let outcome = Outcome::of(&solution).with_trade_off(Some(c), known).with_notes(notes);
        Ok(Fit { certificate: Some(certificate), slack: self.learned(measured.slack), ..Fit::new(metric, outcome) })
    }

    /// The slacks, where each row has one.
    pub(super) fn learned(&self, slack: Vec<f64>) -> Option<Vec<f64>> {
        (self.slack == Slack::Instance).then_some(slack)
    }

    /// The figures of a fit whose metric was cut to a lower rank afterwards: its objective, the gap that is left to the bound, and
    /// the status that follows from it.
    pub(in crate::method) fn measure_again(&self, data: &Training<'_>, fit: &mut Fit) -> Result<()> {
        let (Some(c), Some(bound)) = (fit.outcome.c, fit.outcome.dual) else { return Ok(()) };
        let slack = fit.certificate.as_ref().map_or(&[][..], |certificate| &certificate.slack);
        let measured = self.problem(data, c)?.measure(&fit.metric, slack);
        let outcome = &mut fit.outcome;
        let within = relative_gap(measured.objective, bound) <= self.tolerance;
        if !within && outcome.status.converged() {
            outcome.status = Status::RankLimited;
        }
        *outcome = outcome.clone().with_figures(measured.objective, bound);
        if let Some(certificate) = &mut fit.certificate {
            certificate.slack.clone_from(&measured.slack);
        }
        fit.slack = self.learned(measured.slack);
        Ok(())
    }

    /// Lip^I where directions without any within-class scatter separate the classes: the infimum is zero.
    pub(super) fn closed_form(&self, data: &Training<'_>, metric: &Metric, trade_off: TradeOff) -> Result<Fit> {
        let c = match trade_off {
            TradeOff::Absolute(c) => Some(c),
            TradeOff::Relative(_) => None,
        };
        let note = "some directions separate the classes with no variation within them (a leaked label, or as many features as \
                    rows): the optimal objective is zero, and the metric uses only these directions";
        let mut outcome = Outcome::new(Status::ClosedForm, 0).with_trade_off(c, None).with_notes(vec![note.to_owned()]);
        let measured = self.problem(data, c.unwrap_or(1.0))?.measure(metric, &[]);
        (outcome.objective, outcome.dual) = (Some(measured.objective), Some(0.0));
        outcome.gap = (measured.objective == 0.0).then_some(0.0);
        let weights =
            Some(self.class_weights.of_rows(data)?).filter(|w| w.iter().any(|w| *w != 1.0)).unwrap_or_default();
        let certificate =
            Certificate { slack: measured.slack.clone(), weights, ..Certificate::nothing(metric.clone()) };
        let slack = self.learned(measured.slack);
        Ok(Fit { certificate: Some(certificate), slack, ..Fit::new(metric.clone(), outcome) })
    }
}

/// Where rounding a factor has brought pairs inside the margin, which costs much where `c` is small, a distance that is longer by
/// one of these parts is tried, too.
const LONGER: [f64; 12] = [1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 3e-9, 1e-8, 3e-8, 1e-7, 3e-7, 1e-6];

/// The slack of each given row; zero where the solver has none.
fn by_row(data: &Training<'_>, space: &Coordinates, slack: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; data.x.rows()];
    space.cloud.origin.iter().zip(slack).for_each(|(&i, s)| out[i] = *s);
    out
}

fn scaled(factor: &Matrix, by: f64) -> Matrix {
    let mut out = factor.clone();
    out.as_mut_slice().iter_mut().for_each(|v| *v *= by);
    out
}

/// A note where `c` is a part of a `c_max` that is not known.
pub(super) fn note_guess(c: f64) -> String {
    format!("the time limit was reached before c_max was computed; c = {c} is based on an estimate of c_max")
}

/// Refuses a trade-off that is beyond floating point.
pub(super) fn usable(c: f64, c_max: f64) -> Result<f64> {
    if c > 0.0 && c.is_finite() {
        return Ok(c);
    }
    let message = format!("it is {c_max}: the features may be of very different magnitude, scale them first");
    Err(Error::Numerical { place: "c_max", message })
}

/// A note where equal rows have different labels.
pub(super) fn note_duplicates(x: &Matrix, cloud: &Cloud) -> Option<String> {
    let mut order: Vec<(usize, u32)> = cloud.origin.iter().copied().zip(cloud.class.iter().copied()).collect();
    let compare = |a: &(usize, u32), b: &(usize, u32)| {
        let differ = x.row(a.0).iter().zip(x.row(b.0)).map(|(p, q)| p.total_cmp(q)).find(|o| o.is_ne());
        differ.unwrap_or(std::cmp::Ordering::Equal)
    };
    // Points come by class, and stay so among equal rows.
    order.sort_by(compare);
    let pairs = |run: &[(usize, u32)]| {
        let same: usize = run.chunk_by(|a, b| a.1 == b.1).map(|class| class.len() * class.len()).sum();
        (run.len() * run.len() - same) / 2
    };
    let count: usize = order.chunk_by(|a, b| compare(a, b).is_eq()).map(pairs).sum();
    (count > 0).then(|| format!("pairs of equal rows with different labels: {count}; no metric can separate them"))
}
