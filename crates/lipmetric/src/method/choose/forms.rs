use super::super::{Fit, Learner, Lip, LipAdmm, LipAuto, Solver, TradeOff, Training};
use super::family::{Member, Traits};
use super::mix::{leading, principal};
use crate::problem::{Diameter, Slack, Variant};
use crate::solver::Observer;
use crate::{Error, Result};
use std::collections::BTreeMap;

/// What of Lip^D and Lip^I can be chosen on held-out rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Aspect {
    /// `c`, as a fraction of `c_max`.
    TradeOff,
    /// A slack per pair or per row.
    Slack,
    /// The diameter: the largest distance, the mean, and, up to 150 rows, the mean of the longest tenth.
    Diameter,
    /// Lip^D or Lip^I.
    Variant,
    /// The number of directions that the metric measures: those in which the mapped rows vary most. Among ranks that
    /// predict equally well, the lowest.
    Rank,
}

/// Lip^D and Lip^I in several forms: each a warm-started path of trade-offs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Forms {
    lip: Lip,
    large: Option<LipAdmm>,
    aspects: Vec<Aspect>,
    /// The forms of the problem that are tried, the usual one first.
    tried: Vec<Form>,
}

type Form = (Variant, Slack, Diameter);

/// Trade-offs where nothing else is chosen, and where the form of the problem is.
const WIDE: [f64; 7] = [0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.002];
const FEW: [f64; 4] = [0.5, 0.1, 0.02, 0.002];
const USUAL: f64 = 0.1;
/// The gap at which a metric is good enough to be judged.
const GAP: f64 = 1e-2;
/// The mean of this part of the distances, the longest, is tried as the diameter ...
const LONGEST: f64 = 0.1;
/// ... up to this many rows: its solver is slow.
const LONGEST_ROWS: usize = 150;
/// Ranks that are tried, where there are more features.
const RANKS: [usize; 13] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96];

impl Forms {
    pub(super) fn new(lip: Lip, large: Option<LipAdmm>, aspects: &[Aspect]) -> Self {
        let mut aspects = aspects.to_vec();
        aspects.sort_unstable();
        aspects.dedup();
        let tried = vec![lip.form()];
        Self { lip, large, aspects, tried }
    }

    fn chooses(&self, aspect: Aspect) -> bool {
        self.aspects.contains(&aspect)
    }

    /// Whether the problem itself is chosen, not only its trade-off or what is kept of its solution.
    fn several(&self) -> bool {
        [Aspect::Slack, Aspect::Diameter, Aspect::Variant].into_iter().any(|a| self.chooses(a))
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.several() && !self.chooses(Aspect::TradeOff) && matches!(self.lip.asked(), TradeOff::Absolute(_)) {
            return Err(Error::parameter(
                "c",
                "one c means different things for different slacks, diameters or variants; to choose among them give a \
                 fraction of c_max, or let c be chosen too",
            ));
        }
        Ok(())
    }

    pub(super) fn name(&self) -> &'static str {
        if self.chooses(Aspect::Variant) { "lip" } else { self.lip.name() }
    }

    pub(super) fn parameters(&self) -> BTreeMap<String, serde_json::Value> {
        let mut out = self.lip.parameters();
        for aspect in &self.aspects {
            let name = match aspect {
                Aspect::TradeOff => {
                    out.remove("c");
                    "c_rel"
                }
                Aspect::Slack => "slack",
                Aspect::Diameter => "diameter",
                Aspect::Variant => "variant",
                Aspect::Rank => "rank",
            };
            out.insert(name.to_owned(), serde_json::json!("auto"));
        }
        out
    }

    /// Rows to choose by, at most, and how many predictions are enough.
    pub(super) fn effort(&self) -> (usize, usize) {
        if self.several() { (300, 300) } else { (600, 1000) }
    }

    /// The same for these rows: where they are many, without what would be slow to solve. A slack per row that is not to be
    /// chosen is refused where only another slack could be solved.
    pub(super) fn settled(&self, data: &Training<'_>) -> Result<Self> {
        if let Some(large) = &self.large
            && !self.chooses(Aspect::Slack)
            && !self.lip.is_exact_only()
        {
            LipAuto::new(self.lip.clone(), large.clone()).check_slack(data)?;
        }
        let (rows, features, classes) = (data.x.rows(), data.x.cols(), data.y.classes().len());
        // Whether the last fit will need the large solver, which has a slack per pair and the maximum.
        let large = self.large.is_some() && Solver::automatic(rows, features, classes) != Solver::Exact;
        let row_slack = !large && (self.large.is_none() || rows <= Solver::EXACT_ROWS_WITH_SLACK);
        let (variant, slack, diameter) = self.lip.form();
        let mut variants = vec![variant];
        if self.chooses(Aspect::Variant) {
            variants.extend([Variant::Intra, Variant::Diameter].into_iter().filter(|v| *v != variant));
        }
        let mut slacks = vec![slack];
        if self.chooses(Aspect::Slack) {
            slacks.extend([Slack::Instance, Slack::Pair].into_iter().filter(|s| *s != slack));
            slacks.retain(|s| row_slack || *s == Slack::Pair);
        }
        let mut diameters = vec![diameter];
        if self.chooses(Aspect::Diameter) && !large {
            let longest = (rows <= LONGEST_ROWS).then_some(Diameter::Cvar(LONGEST));
            let others = [Diameter::Maximum, Diameter::Mean].into_iter().chain(longest);
            diameters.extend(others.filter(|d| *d != diameter));
        }
        let mut tried = Vec::new();
        for v in &variants {
            for s in &slacks {
                tried.extend(diameters.iter().map(|d| (*v, *s, *d)));
            }
        }
        Ok(Self { tried, ..self.clone() })
    }

    fn fractions(&self) -> Vec<f64> {
        match self.lip.asked() {
            _ if self.chooses(Aspect::TradeOff) => if self.several() { &FEW[..] } else { &WIDE[..] }.to_vec(),
            TradeOff::Relative(fraction) => vec![fraction],
            TradeOff::Absolute(_) => Vec::new(),
        }
    }

    /// What is tried, in a sentence.
    pub(super) fn describe(&self) -> String {
        let has = |found: fn(&Form) -> bool| self.tried.iter().any(found);
        let mut left_out = Vec::new();
        if self.chooses(Aspect::Slack) && !has(|f| f.1 == Slack::Instance) {
            left_out.push("a slack per row");
        }
        if self.chooses(Aspect::Diameter) && !has(|f| f.2 == Diameter::Mean) {
            left_out.push("the mean as the diameter");
        }
        if self.chooses(Aspect::Diameter) && !has(|f| f.2 == Diameter::Cvar(LONGEST)) {
            left_out.push("the mean of the longest distances as the diameter");
        }
        let (forms, trade_offs) = (self.tried.len(), self.fractions().len().max(1));
        let mut told = format!("to choose from: {forms} forms of the problem, {trade_offs} trade-offs each");
        if !left_out.is_empty() {
            told += &format!("; not tried at this size: {}", left_out.join(", "));
        }
        told
    }

    fn traits(&self, form: Form, c_rel: Option<f64>) -> Traits {
        let (variant, slack, diameter) = form;
        Traits {
            what: Lip::new(variant).name(),
            c_rel,
            slack: self.chooses(Aspect::Slack).then_some(slack),
            diameter: self.chooses(Aspect::Diameter).then_some(diameter),
            rank: None,
        }
    }

    /// What is taken unless another one is shown to be better.
    pub(super) fn usual(&self) -> Traits {
        let fraction = match self.lip.asked() {
            _ if self.chooses(Aspect::TradeOff) => Some(USUAL),
            TradeOff::Relative(fraction) => Some(fraction),
            TradeOff::Absolute(_) => None,
        };
        self.traits(self.tried[0], fraction)
    }

    /// All members, learned from these rows.
    pub(super) fn members(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Vec<Member>> {
        let fractions = self.fractions();
        let mut out = Vec::new();
        for &form in &self.tried {
            let lip = self.lip.clone().in_form(form).roughly(GAP);
            if fractions.is_empty() {
                self.admit(self.traits(form, None), lip.fit(data, observer)?, data, &mut out)?;
                continue;
            }
            let fits = lip.path(data, &fractions, observer)?;
            for (&fraction, fit) in fractions.iter().zip(fits) {
                self.admit(self.traits(form, Some(fraction)), fit.fit, data, &mut out)?;
            }
        }
        Ok(out)
    }

    /// The metric, and where the rank is chosen, its leading directions.
    fn admit(&self, traits: Traits, fit: Fit, data: &Training<'_>, out: &mut Vec<Member>) -> Result<()> {
        if !self.chooses(Aspect::Rank) {
            out.push(Member { traits, metric: fit.metric });
            return Ok(());
        }
        let turned = principal(&fit.metric, data.x)?;
        for &rank in RANKS.iter().filter(|r| **r < data.x.cols()) {
            out.push(Member { traits: Traits { rank: Some(rank), ..traits }, metric: leading(&turned, rank)? });
        }
        out.push(Member { traits, metric: turned });
        Ok(())
    }

    /// Learns what was chosen, from all rows.
    pub(super) fn finish(&self, traits: Traits, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        let (variant, slack, diameter) = self.lip.form();
        let variant = [Variant::Intra, Variant::Diameter]
            .into_iter()
            .find(|v| Lip::new(*v).name() == traits.what)
            .unwrap_or(variant);
        let form = (variant, traits.slack.unwrap_or(slack), traits.diameter.unwrap_or(diameter));
        let trade_off = traits.c_rel.map_or(self.lip.asked(), TradeOff::Relative);
        let exact = self.lip.clone().in_form(form).trade_off(trade_off);
        // A slack per row that was chosen is kept; one that was not is refused where there are many rows.
        let bound = exact.is_exact_only() || (self.chooses(Aspect::Slack) && exact.has_row_slack());
        let mut fit = match self.large.clone().filter(|_| !bound) {
            Some(large) => LipAuto::new(exact, large.variant(variant).trade_off(trade_off)).fit(data, observer)?,
            None => exact.fit(data, observer)?,
        };
        if let Some(rank) = traits.rank.filter(|r| *r < fit.metric.rank()) {
            fit.outcome.notes.push(format!(
                "cut to rank {rank} of {}, the directions in which the mapped rows vary most; objective and gap are those of \
                 the whole",
                fit.metric.rank()
            ));
            fit.metric = leading(&principal(&fit.metric, data.x)?, rank)?;
        }
        Ok(fit)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Labels, Matrix};

    #[test]
    fn what_the_last_fit_would_take_long_for_is_not_tried() {
        let tried = |rows: usize, large: Option<LipAdmm>| {
            let (x, names) = (Matrix::zeros(rows, 2), (0..rows).map(|i| if i % 2 == 0 { "a" } else { "b" }));
            let y = Labels::from_names(names);
            let lip = Lip::intra().slack(Slack::Instance);
            let forms = Forms::new(lip, large, &[Aspect::Slack, Aspect::Diameter]);
            let settled = forms.settled(&Training::new(&x, &y).unwrap()).unwrap();
            (settled.tried.clone(), settled.describe())
        };
        let large = Some(LipAdmm::intra());
        assert_eq!(tried(150, large.clone()).0.len(), 6);
        assert_eq!(tried(151, large.clone()).0.len(), 4);
        let (some, told) = tried(1600, large.clone());
        assert!(some.len() == 2 && some.iter().all(|f| f.1 == Slack::Pair), "{some:?}");
        assert!(told.contains("a slack per row"), "{told}");
        assert_eq!(tried(3100, large).0, [(Variant::Intra, Slack::Pair, Diameter::Maximum)]);
        assert_eq!(tried(3100, None).0.len(), 4, "the exact solver was asked for");
    }
}
