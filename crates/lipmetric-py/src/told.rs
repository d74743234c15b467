//! A fit of rows without labels, and the threshold of pairs.

use crate::failure::raise;
use crate::fit::Asked;
use crate::model::Model;
use crate::plain::plain;
use crate::rows::Given;
use lipmetric::Labels;
use lipmetric::classify::{JudgedPairs, ThresholdRule};
use lipmetric::data::{Pair, Quadruplet, Triplet};
use lipmetric::model::Recipe;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// What is known of the rows: pairs with whether they are similar and their strength, triplets, or quadruplets.
#[derive(FromPyObject)]
pub(crate) struct Told {
    #[pyo3(item)]
    pairs: Option<Vec<(usize, usize, bool, f64)>>,
    #[pyo3(item)]
    triplets: Option<Vec<Triplet>>,
    #[pyo3(item)]
    quadruplets: Option<Vec<Quadruplet>>,
    /// Whether a threshold is chosen on held-out pairs.
    #[pyo3(item)]
    calibrate: bool,
}

/// Learns a metric from rows without labels. What Ctrl-C raises has the best model so far as its `model`.
#[pyfunction]
#[pyo3(signature = (rows, told, asked, listener=None))]
pub(crate) fn fit_told<'py>(
    py: Python<'py>,
    rows: Bound<'py, PyAny>,
    told: Told,
    asked: &str,
    listener: Option<Bound<'py, PyAny>>,
) -> PyResult<Model> {
    let asked = Asked::read(asked)?;
    let spec = asked.spec()?;
    // Read once more where the fit is not waited for.
    let read = || {
        let rows = rows.extract::<Given<'_>>()?;
        let labels = Labels::none(rows.shape().0);
        rows.prepared(&asked.label, labels, (asked.fill, asked.scaling))
    };
    let (preparation, prepared) = read()?;
    let pair = |(first, second, similar, strength): (usize, usize, bool, f64)| {
        let pair = if similar { Pair::similar(first, second) } else { Pair::dissimilar(first, second) };
        pair.with_strength(strength)
    };
    let pairs: Option<Vec<Pair>> = told.pairs.map(|pairs| pairs.into_iter().map(pair).collect());
    let rule = told.calibrate.then(ThresholdRule::default);
    let (learned, known, certificate) = (spec.clone(), pairs.clone(), asked.certificate);
    let watched = asked.watching(listener).run(py, move |observer, _| {
        Recipe::new(&learned)
            .pairing(known.as_deref())
            .comparing(told.triplets.as_deref())
            .comparing_pairs(told.quadruplets.as_deref())
            .thresholding(rule)
            .keeping_certificate(certificate)
            .fit_prepared(preparation, prepared, observer)
    })?;
    watched.model(py, |left| {
        let (preparation, rows) = read()?;
        let recipe = Recipe::new(spec).prepared(asked.fill, asked.scaling).pairing(pairs.as_deref()).thresholding(rule);
        recipe.stopped(preparation, rows, left).map_err(raise)
    })
}

/// The threshold that a rule chooses on pairs (none: no rule, but this threshold), and what it is worth there.
#[pyfunction]
#[pyo3(signature = (distances, similar, strategy=None, number=None, threshold=None))]
pub(crate) fn judge_pairs<'py>(
    py: Python<'py>,
    distances: Vec<f64>,
    similar: Vec<bool>,
    strategy: Option<&str>,
    number: Option<f64>,
    threshold: Option<f64>,
) -> PyResult<Bound<'py, PyAny>> {
    let judged = JudgedPairs::new(&distances, &similar).map_err(raise)?;
    let needed =
        || number.ok_or_else(|| PyValueError::new_err("`min_rate`: give the share that is to be kept, such as 0.9"));
    let rule = match strategy {
        None => None,
        Some("accuracy") => Some(ThresholdRule::Accuracy),
        Some("f_beta") => Some(ThresholdRule::FBeta(number.unwrap_or(1.0))),
        Some("max_tpr") => Some(ThresholdRule::MaxTpr(needed()?)),
        Some("max_tnr") => Some(ThresholdRule::MaxTnr(needed()?)),
        Some(other) => {
            return Err(PyValueError::new_err(format!(
                "`strategy`: `{other}` is none of accuracy, f_beta, max_tpr and max_tnr"
            )));
        }
    };
    let threshold = match rule {
        Some(rule) => Some(judged.threshold(rule).map_err(raise)?),
        None => threshold,
    };
    plain(py, &judged.scores(threshold))
}
