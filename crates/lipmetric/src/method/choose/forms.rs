use super::super::lip::{JUDGED, Plain};
use super::super::{Fit, Lip, MetricKind, Serves, Solver, TradeOff, Training};
use super::family::{Member, Traits};
use super::mix::{leading, principal};
use crate::problem::{Diameter, Slack, Variant};
use crate::solver::Observer;
use crate::{Error, Result};

/// Lip^D and Lip^I in several forms: each a warm-started path of trade-offs.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::method) struct Forms {
    lip: Lip,
    /// The same with its usual values for what is chosen.
    plain: Plain,
    /// The forms of the problem that are tried, the usual one first.
    tried: Vec<Form>,
    /// What would be slow to solve for so many rows and is not tried.
    left_out: Vec<&'static str>,
    /// Whether they are judged by their functions.
    function: bool,
}

type Form = (Variant, Slack, Diameter);

/// What folds have in common where the trade-off of a function is chosen.
#[derive(Debug, Default)]
pub(super) struct Common {
    /// `c_max` of each form, from all rows, by the sum of their weights: with a slack per row it takes longer than a fit.
    ceilings: Vec<Option<f64>>,
    /// Whether each member has a trade-off of its own, so that some can be given up, ...
    pub(super) screens: bool,
    /// ... and which of them were.
    pub(super) given_up: Vec<bool>,
}

/// Trade-offs where nothing else is chosen, and where the form of the problem is.
const WIDE: [f64; 7] = [0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.002];
const FEW: [f64; 4] = [0.5, 0.1, 0.02, 0.002];
/// Trade-offs where a function predicts: it may be simpler than a metric for votes, because it can overrule a row's label.
const SIMPLE: [f64; 4] = [0.8, 0.5, 0.2, 0.05];
/// The one of them that is taken unless another one is shown to be better.
const USUAL_OF_FUNCTION: f64 = 0.2;
/// The gap at which a metric is good enough to be judged, and the accuracy of the `c_max` that its `c` is a part of.
const GAP: f64 = JUDGED;
/// The same where a function predicts, whose trade-offs are farther apart: a gap, ...
const FUNCTION_GAP: f64 = 5e-2;
/// ... and an accuracy of `c_max`, which with a slack per row takes longer than a fit.
const FUNCTION_ROUGH: f64 = 0.1;
/// The mean of this part of the distances, the longest, is tried as the diameter ...
const LONGEST: f64 = 0.1;
/// ... up to this many rows: its solver is slow.
const LONGEST_ROWS: usize = 150;
/// Ranks that are tried, where there are more features.
const RANKS: [usize; 13] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96];

/// The kind of metric that a variant learns.
fn kind(variant: Variant) -> MetricKind {
    match variant {
        Variant::Diameter => MetricKind::LipD,
        Variant::Intra => MetricKind::LipI,
    }
}

impl Forms {
    /// The forms for these rows: where they are many, without what would be slow to solve.
    pub(in crate::method) fn new(lip: Lip, data: &Training<'_>) -> Result<Self> {
        let rows = data.x.rows();
        let plain = lip.plain(Solver::Exact);
        let (variant, slack, diameter) = plain.form();
        // Whether the last fit will need the large solver, which has only the maximum.
        let large = |slack: Slack| lip.solver_for(slack, diameter, data) != Solver::Exact;
        let mut left_out = Vec::new();
        let mut variants = vec![variant];
        if lip.variant.is_auto() {
            variants.extend([Variant::Intra, Variant::Diameter].into_iter().filter(|v| *v != variant));
        }
        let mut slacks = vec![slack];
        if lip.slack.is_auto() {
            slacks = vec![Slack::Instance, Slack::Pair];
        }
        let mut diameters = vec![(diameter, &slacks[..0])];
        let small: Vec<Slack> = slacks.iter().copied().filter(|s| !large(*s)).collect();
        if lip.diameter.is_auto() {
            diameters.push((Diameter::Mean, &small));
            match small.len() {
                n if n == slacks.len() => {}
                0 => left_out.push("the mean as the diameter"),
                _ => left_out.push("the mean as the diameter with a slack per row"),
            }
            if small.is_empty() || rows > LONGEST_ROWS {
                left_out.push("the mean of the longest distances as the diameter");
            } else {
                diameters.push((Diameter::Cvar(LONGEST), &small));
            }
        }
        diameters[0].1 = &slacks;
        let mut tried = Vec::new();
        for v in &variants {
            for s in &slacks {
                tried.extend(diameters.iter().filter(|d| d.1.contains(s)).map(|d| (*v, *s, d.0)));
            }
        }
        let function = matches!(data.serves, Serves::Extension { .. });
        Ok(Self { lip, plain, tried, left_out, function })
    }

    /// Rows to choose by, at most, and how many predictions are enough.
    pub(super) fn effort(&self) -> (usize, usize) {
        match (self.lip.chooses_form(), self.function) {
            (true, _) => (300, 300),
            (false, true) => (400, 250),
            (false, false) => (600, 1000),
        }
    }

    fn fractions(&self) -> Vec<f64> {
        match self.plain.trade_off {
            _ if self.lip.trade_off.is_auto() => match (self.function, self.lip.chooses_form()) {
                (true, _) => SIMPLE.to_vec(),
                (false, true) => FEW.to_vec(),
                (false, false) => WIDE.to_vec(),
            },
            TradeOff::Relative(fraction) => vec![fraction],
            TradeOff::Absolute(_) => Vec::new(),
        }
    }

    /// What is tried, in a sentence.
    pub(super) fn describe(&self) -> String {
        let (forms, trade_offs) = (self.tried.len(), self.fractions().len().max(1));
        let mut told = format!("cross-validation: forms of the problem: {forms}, values of c for each: {trade_offs}");
        if !self.left_out.is_empty() {
            told += &format!("; {}", self.not_tried());
        }
        told
    }

    fn not_tried(&self) -> String {
        format!("not tried at this size: {}", self.left_out.join(", "))
    }

    fn traits(&self, form: Form, c_rel: Option<f64>) -> Traits {
        let (variant, slack, diameter) = form;
        Traits {
            what: kind(variant),
            c_rel,
            rounds: None,
            shrinkage: None,
            slack: self.lip.slack.is_auto().then_some(slack),
            diameter: self.lip.diameter.is_auto().then_some(diameter),
            rank: None,
        }
    }

    /// What is taken unless another one is shown to be better.
    pub(super) fn usual(&self) -> Traits {
        let fraction = match self.plain.trade_off {
            _ if self.function && self.lip.trade_off.is_auto() => Some(USUAL_OF_FUNCTION),
            TradeOff::Relative(fraction) => Some(fraction),
            TradeOff::Absolute(_) => None,
        };
        self.traits(self.tried[0], fraction)
    }

    /// A form, solved as well as it takes to judge it.
    fn rough(&self, form: Form) -> Plain {
        let (gap, rough) = if self.function { (FUNCTION_GAP, FUNCTION_ROUGH) } else { (GAP, GAP) };
        Plain { tolerance: self.plain.tolerance.max(gap), rough, ..self.plain.clone() }.in_form(form)
    }

    fn is_large(&self, form: Form, data: &Training<'_>) -> bool {
        form.1 == Slack::Instance && self.lip.solver_for(form.1, form.2, data) == Solver::Augmented
    }

    /// What is the same for all folds of these rows.
    pub(super) fn common(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Common {
        let chosen = self.function && self.lip.trade_off.is_auto();
        let ceilings = if chosen {
            self.tried.iter().map(|form| self.ceiling(*form, data, observer)).collect()
        } else {
            Vec::new()
        };
        let alone = self.tried.len() == 1 && !self.is_large(self.tried[0], data) && !self.lip.rank.is_auto();
        Common { ceilings, screens: chosen && alone, given_up: Vec::new() }
    }

    /// `c_max` by the sum of the rows' weights, where there is a slack per row. Where it cannot be had, the folds say why.
    fn ceiling(&self, form: Form, data: &Training<'_>, observer: &mut dyn Observer) -> Option<f64> {
        if form.1 == Slack::Pair || self.is_large(form, data) {
            return None;
        }
        let total: f64 = self.plain.class_weights.of_rows(data).ok()?.iter().sum();
        let c_max = self.rough(form).c_max(data, observer).ok()?;
        c_max.is_finite().then_some(c_max / total)
    }

    /// All members but those that were given up, learned from these rows.
    pub(super) fn members(
        &self,
        data: &Training<'_>,
        common: &Common,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Member>> {
        let given_up = |at: usize| common.given_up.get(at).is_some_and(|gone| *gone);
        let fractions: Vec<f64> =
            self.fractions().into_iter().enumerate().filter(|(at, _)| !given_up(*at)).map(|(_, f)| f).collect();
        let total: f64 = self.plain.class_weights.of_rows(data)?.iter().sum();
        let mut out = Vec::new();
        for (at, &form) in self.tried.iter().enumerate() {
            let lip = self.rough(form);
            if self.is_large(form, data) {
                // The exact solver has an unknown for each row and each pair of features.
                let usual = self.lip.plain(Solver::Augmented);
                let lip = Plain { solver: Solver::Augmented, max_iterations: usual.max_iterations, ..lip };
                for (c_rel, fit) in lip.path_large(data, &fractions, observer)? {
                    self.admit(self.traits(form, c_rel), fit, data, &mut out)?;
                }
                continue;
            }
            if fractions.is_empty() {
                self.admit(self.traits(form, None), lip.fit_exactly(data, observer)?, data, &mut out)?;
                continue;
            }
            let c_max = common.ceilings.get(at).copied().flatten().map(|unit| unit * total);
            let fits = lip.tried(data, &fractions, c_max, observer)?;
            for (&fraction, fit) in fractions.iter().zip(fits) {
                self.admit(self.traits(form, Some(fraction)), fit, data, &mut out)?;
            }
        }
        Ok(out)
    }

    /// The metric, and where the rank is chosen, its leading directions.
    fn admit(&self, traits: Traits, fit: Fit, data: &Training<'_>, out: &mut Vec<Member>) -> Result<()> {
        let weights = self.plain.class_weights.of_rows(data)?;
        let per_row = fit.slack.is_some() && self.function;
        let unit_c = fit.outcome.c.filter(|_| per_row).map(|c| c / weights.iter().sum::<f64>());
        if !self.lip.rank.is_auto() {
            out.push(Member { traits, metric: fit.metric, slack: fit.slack, weights, unit_c });
            return Ok(());
        }
        let turned = principal(&fit.metric, data.x)?;
        for &rank in RANKS.iter().filter(|r| **r < data.x.cols()) {
            // With fewer directions the rows are nearer to each other: their slacks are others.
            let (traits, metric) = (Traits { rank: Some(rank), ..traits }, leading(&turned, rank)?);
            out.push(Member { traits, metric, slack: None, weights: weights.clone(), unit_c });
        }
        out.push(Member { traits, metric: turned, slack: fit.slack, weights, unit_c });
        Ok(())
    }

    /// Learns what was chosen, from all rows. `unit_c` is what `c` was for each row, where that is known: computing `c_max` may
    /// take longer than the fit.
    pub(super) fn finish(
        &self,
        traits: Traits,
        unit_c: Option<f64>,
        data: &Training<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Fit> {
        let (variant, slack, diameter) = self.plain.form();
        let variant =
            [Variant::Intra, Variant::Diameter].into_iter().find(|v| kind(*v) == traits.what).unwrap_or(variant);
        let form = (variant, traits.slack.unwrap_or(slack), traits.diameter.unwrap_or(diameter));
        let trade_off = traits.c_rel.map_or(self.plain.trade_off, TradeOff::Relative);
        let mut plain = Plain { trade_off, ..self.lip.plain(self.lip.solver) }.in_form(form);
        if let Some(unit_c) = unit_c.filter(|_| self.lip.trade_off.is_auto()) {
            let total: f64 = plain.class_weights.of_rows(data)?.iter().sum();
            plain.trade_off = TradeOff::Absolute(unit_c * total);
        }
        let mut fit = match self.lip.fit_plain(plain.clone(), data, observer) {
            // More than all rows allow: then their own c_max decides.
            Err(Error::Parameter { .. }) if unit_c.is_some() => {
                plain.trade_off = trade_off;
                self.lip.fit_plain(plain.clone(), data, observer)?
            }
            other => other?,
        };
        if !self.left_out.is_empty() {
            fit.outcome.notes.push(self.not_tried());
        }
        if let Some(rank) = traits.rank.filter(|r| *r < fit.metric.rank()) {
            fit.outcome.notes.push(format!(
                "cut to rank {rank} of {}: the directions of largest variance of the mapped rows; the gap is to the best metric of \
                 any rank",
                fit.metric.rank()
            ));
            fit.metric = leading(&principal(&fit.metric, data.x)?, rank)?;
            plain.measure_again(data, &mut fit)?;
        }
        Ok(fit)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::super::Choose;
    use super::*;
    use crate::{Labels, Matrix};

    #[test]
    fn what_the_last_fit_would_take_long_for_is_not_tried() {
        let forms = |rows: usize, lip: Lip| {
            let (x, names) = (Matrix::zeros(rows, 2), (0..rows).map(|i| if i % 2 == 0 { "a" } else { "b" }));
            let y = Labels::from_names(names);
            Forms::new(lip.diameter(Choose::Auto), &Training::new(&x, &y).unwrap())
        };
        let open = || Lip::intra().slack(Choose::Auto);
        let tried = |rows: usize, lip: Lip| forms(rows, lip).unwrap().tried;
        assert_eq!(tried(150, open()).len(), 6);
        assert_eq!(tried(151, open()).len(), 4);
        let some = forms(1600, open()).unwrap();
        let per_row: Vec<_> = some.tried.iter().filter(|f| f.1 == Slack::Instance).collect();
        assert!(
            some.tried.len() == 3 && per_row == [&(Variant::Intra, Slack::Instance, Diameter::Maximum)],
            "{some:?}"
        );
        assert!(some.describe().contains("the mean as the diameter with a slack per row"), "{}", some.describe());
        let most = tried(3100, open());
        assert!(most.len() == 2 && most.iter().all(|f| f.2 == Diameter::Maximum), "{most:?}");
        assert_eq!(tried(3100, open().solver(Solver::Exact)).len(), 4, "the exact solver was asked for");
        // A slack per row that is not to be chosen is not given up.
        assert_eq!(tried(1600, Lip::intra()), [(Variant::Intra, Slack::Instance, Diameter::Maximum)]);
    }
}
