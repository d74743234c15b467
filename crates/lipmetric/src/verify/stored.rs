//! What is to be checked: whether the parts fit together, and where a model has them.

use super::{Claims, PairStatement, Statement, Verified, verify, verify_pairs};
use crate::method::{Choice, Choose, Method, MetricKind, Spec};
use crate::problem::{Diameter, Slack, Variant};
use crate::{Error, Matrix, Model, Result, Task};

impl<'a> Statement<'a> {
    /// Refuses parts that do not fit together, and numbers that are none.
    pub(super) fn check(&self) -> Result<()> {
        let (n, p) = (self.x.rows(), self.x.cols());
        let certificate = self.certificate;
        if self.y.len() != n {
            return Err(Error::shape("labels", n, self.y.len()));
        }
        if self.metric.features() != p {
            return Err(Error::shape("features of the metric", p, self.metric.features()));
        }
        certificate.check(n, p)?;
        check_numbers(self.x, self.c)?;
        match self.diameter {
            Diameter::Cvar(level) if !(level > 0.0 && level <= 1.0) => {
                Err(Error::parameter("diameter", format!("the level {level} is not above 0 and at most 1")))
            }
            _ => Ok(()),
        }
    }

    /// The statement that a model makes of itself.
    ///
    /// # Errors
    /// If the model has no certificate or no training rows, or its method is not one that a certificate belongs to.
    pub fn of(model: &'a Model) -> Result<Self> {
        let (variant, slack, diameter) = form(&model.used, model.outcome.choice.as_ref())?;
        let Some(certificate) = &model.certificate else { return Err(without()) };
        let rows = model.training_rows()?;
        // Where the objective comes down to zero for every trade-off, a fraction of c_max is none: figures are those of 1.
        let c = model.outcome.c.unwrap_or(1.0);
        Ok(Self { x: &rows.x, y: &rows.y, metric: &model.metric, variant, slack, diameter, c, certificate })
    }
}

impl Verified {
    /// Checks what a stored model claims of itself; see [`verify`].
    ///
    /// # Errors
    /// As [`Statement::of`] and [`verify`].
    pub fn of(model: &Model, limit: f64) -> Result<Self> {
        let outcome = &model.outcome;
        let claims = Claims { objective: outcome.objective, bound: outcome.dual, gap: outcome.gap };
        match is_of_pairs(model) {
            true => verify_pairs(&PairStatement::of(model)?, &claims, limit),
            false => verify(&Statement::of(model)?, &claims, limit),
        }
    }
}

/// Whether a model's problem is one of pairs; then [`PairStatement::of`] has its statement, else [`Statement::of`].
#[must_use]
pub fn is_of_pairs(model: &Model) -> bool {
    model.task == Task::Pairs || matches!(model.used, Spec::LipPairs(_))
}

pub(super) fn without() -> Error {
    Error::data("the model holds no certificate; fit it again with the parameter `certificate`")
}

/// Refuses rows and a trade-off that are no numbers.
pub(super) fn check_numbers(x: &Matrix, c: f64) -> Result<()> {
    if let Some((i, k)) = x.first_non_finite() {
        return Err(Error::data(format!("row {i}, feature {k} is {}: values must be finite", x[(i, k)])));
    }
    if !(c.is_finite() && c > 0.0) {
        return Err(Error::parameter("c", format!("{c} is not a positive number")));
    }
    Ok(())
}

/// The form of the problem: as the method had it, or as it was chosen.
fn form(used: &Spec, choice: Option<&Choice>) -> Result<(Variant, Slack, Diameter)> {
    let Spec::Lip(lip) = used else {
        let name = used.name();
        return Err(Error::data(format!(
            "the model was learned by {name}, which keeps no certificate; lip-d, lip-i, lip and lip-pairs can keep one"
        )));
    };
    if lip.anchor.is_some() {
        return Err(Error::data("the metric was drawn towards an anchor: its certificate is not one of this problem"));
    }
    let chosen = choice.map(|c| &c.chosen);
    let variant = match (lip.variant, chosen.map(|c| c.metric)) {
        (Choose::Value(variant), _) => Some(variant),
        (Choose::Auto, Some(MetricKind::LipD)) => Some(Variant::Diameter),
        (Choose::Auto, Some(MetricKind::LipI)) => Some(Variant::Intra),
        _ => None,
    };
    let slack = lip.slack.value().or_else(|| chosen.and_then(|c| c.slack));
    let diameter = lip.diameter.value().or_else(|| chosen.and_then(|c| c.diameter));
    match (variant, slack, diameter) {
        (Some(variant), Some(slack), Some(diameter)) => Ok((variant, slack, diameter)),
        _ => Err(Error::data("the model does not say which form of the problem was chosen")),
    }
}
