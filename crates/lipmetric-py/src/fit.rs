//! A fit of labelled rows, and a regularisation path.

use crate::failure::{raise, raise_json};
use crate::helpers::Reached;
use crate::model::Model;
use crate::pages::View;
use crate::plain::{array, plain};
use crate::rows::{Coded, Frame, Given, Numbers};
use crate::run::Watching;
use lipmetric::data;
use lipmetric::evaluate::accuracy_along;
use lipmetric::helpers::Helpers;
use lipmetric::method::{Fit, Method, Spec, Training, Triplet};
use lipmetric::model::{ClassifierSpec, Recipe};
use lipmetric::prepare::{Dataset, Fill, Preparation, Scaling};
use lipmetric::solver::Observer;
use lipmetric::view::PathView;
use lipmetric::{Matrix, Metric, Result};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::Deserialize;
use std::sync::Arc;

/// What is asked for: everything of a fit but the rows.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Asked {
    pub(crate) spec: Option<Spec>,
    pub(crate) classifier: ClassifierSpec,
    pub(crate) fill: Fill,
    pub(crate) scaling: Scaling,
    /// How many directions of the metric are kept.
    pub(crate) dims: Option<usize>,
    /// Whether the multipliers that prove the bound are kept.
    pub(crate) certificate: bool,
    /// What the labels' column is called.
    pub(crate) label: String,
    /// Threads, as many as usual if not given.
    threads: Option<usize>,
    /// Seconds, at most.
    time_limit: Option<f64>,
}

impl Default for Asked {
    fn default() -> Self {
        Self {
            spec: None,
            classifier: ClassifierSpec::default(),
            fill: Fill::default(),
            scaling: Scaling::default(),
            dims: None,
            certificate: false,
            label: "label".to_owned(),
            threads: None,
            time_limit: None,
        }
    }
}

impl Asked {
    pub(crate) fn read(text: &str) -> PyResult<Self> {
        serde_json::from_str(text).map_err(raise_json)
    }

    /// The method, its parameters checked.
    pub(crate) fn spec(&self) -> PyResult<&Spec> {
        let spec = self.spec.as_ref().ok_or_else(|| PyValueError::new_err("no method is given"))?;
        spec.check().map_err(raise)?;
        if self.scaling == Scaling::Unit {
            return Err(PyValueError::new_err(
                "`scaling`: rows divided by their lengths are no linear map of the features, as `components_` is; put scikit-learn's \
                 Normalizer() before the estimator, or divide them first, and say scaling=\"none\"",
            ));
        }
        if self.scaling == Scaling::Quantile {
            return Err(PyValueError::new_err(
                "`scaling`: quantiles of ranks are no linear map of the features, as `components_` is; put scikit-learn's \
                 QuantileTransformer(output_distribution=\"normal\") before the estimator",
            ));
        }
        Ok(spec)
    }

    pub(crate) fn watching<'py>(&self, listener: Option<Bound<'py, PyAny>>) -> Watching<'py> {
        Watching { threads: self.threads, time_limit: self.time_limit, listener }
    }

    pub(crate) fn prepare(&self, data: &Dataset) -> PyResult<Preparation> {
        Preparation::fit(data.schema.clone(), &data.columns, None, self.fill, self.scaling).map_err(raise)
    }
}

/// A metric on the encoded columns, before they are scaled, as one on the prepared columns.
fn start_on(preparation: &Preparation, mut factor: Matrix) -> PyResult<Metric> {
    let scales = preparation.scales();
    if factor.cols() != scales.len() {
        return Err(PyValueError::new_err(format!(
            "`init`: an array of {} columns, but the rows have {} features",
            factor.cols(),
            scales.len()
        )));
    }
    for i in 0..factor.rows() {
        factor.row_mut(i).iter_mut().zip(&scales).for_each(|(v, (_, scale))| *v *= scale);
    }
    Metric::new(factor).map_err(raise)
}

/// Learns a metric and how to predict by it. `start` is a map of the raw columns to begin from, `triplets` are comparisons of
/// rows to learn from, `weights` how much each row counts; `listener(kind, figures)` hears how the fit goes on and ends it by saying `True`.
///
/// `helpers` are other processes that hold the rows and compute passes over their pairs ([`Reached`]).
///
/// Where Ctrl-C or the listener raises something, the best model so far is the exception's `model` ([`Watched::model`]).
///
/// [`Watched::model`]: crate::run::Watched::model
#[pyfunction]
#[pyo3(signature = (rows, labels, asked, start=None, triplets=None, listener=None, weights=None, helpers=None))]
#[expect(clippy::too_many_arguments, reason = "called by the package alone")]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    rows: Bound<'py, PyAny>,
    labels: Coded,
    asked: &str,
    start: Option<Numbers>,
    triplets: Option<Vec<Triplet>>,
    listener: Option<Bound<'py, PyAny>>,
    weights: Option<Vec<f64>>,
    helpers: Option<Py<PyAny>>,
) -> PyResult<Model> {
    let asked = Asked::read(asked)?;
    let spec = asked.spec()?;
    // Read once more where the fit is not waited for.
    let read = || rows.extract::<Given<'_>>()?.prepared(&asked.label, labels.0.clone(), (asked.fill, asked.scaling));
    let (preparation, prepared) = read()?;
    let start = start.map(|start| start_on(&preparation, start.0)).transpose()?;
    let helpers = helpers.map(|crew| Reached::new(py, crew)).transpose()?;
    let helpers = helpers.map(|reached| -> Arc<dyn Helpers> { Arc::new(reached) });
    let (fill, scaling, classifier) = (asked.fill, asked.scaling, asked.classifier);
    let (certificate, dims) = (asked.certificate, asked.dims);
    let learned = spec.clone();
    let watched = asked.watching(listener).run(py, move |observer, _| {
        Recipe::new(&learned)
            .prepared(fill, scaling)
            .predicting(classifier)
            .starting_from(start.as_ref())
            .comparing(triplets.as_deref())
            .weighing(weights.as_deref())
            .reduced_to(dims)
            .keeping_certificate(certificate)
            .helped_by(helpers.as_ref())
            .fit_prepared(preparation, prepared, observer)
    })?;
    watched.model(py, |left| {
        let (preparation, rows) = read()?;
        let recipe = Recipe::new(spec).prepared(fill, scaling).predicting(classifier).reduced_to(dims);
        recipe.stopped(preparation, rows, left).map_err(raise)
    })
}

/// Metrics for a sequence of trade-offs, each given as a fraction of `c_max`, with the accuracy on rows that were held out in so
/// many folds (0: not judged); and what a page shows of them, where the rows can be measured.
#[pyfunction]
#[pyo3(signature = (rows, labels, asked, fractions, folds, source, listener=None))]
#[expect(clippy::too_many_arguments, reason = "called by the package alone")]
pub(crate) fn path<'py>(
    py: Python<'py>,
    rows: Frame,
    labels: Coded,
    asked: &str,
    fractions: Vec<f64>,
    folds: (usize, u64),
    source: String,
    listener: Option<Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyList>, Option<View>)> {
    let asked = Asked::read(asked)?;
    let spec = asked.spec()?;
    let data = rows.labelled(&asked.label, labels.0)?;
    let preparation = asked.prepare(&data)?;
    let x = preparation.apply(&data.columns).map_err(raise)?;
    let (name, spec, watching) = (spec.name().to_owned(), spec.clone(), asked.watching(listener));
    let (rules, along) = ((asked.fill, asked.scaling), fractions.clone());
    let (folds, seed) = folds;
    let work = move |observer: &mut dyn Observer| {
        let fits = fits(&spec, &Training::new(&x, &data.labels)?, &along, observer)?;
        let held_out = match &spec {
            Spec::Lip(lip) if folds > 0 => {
                let splits = data::folds(&data.labels, folds, seed)?;
                accuracy_along(lip, &data, &splits, rules, &along, observer)?
            }
            _ => Vec::new(),
        };
        let view = PathView::of(&fits, &along, (&x, &data.labels), &held_out).ok();
        Ok((fits, view))
    };
    let (fits, view) = watching.run(py, move |observer, _| work(observer))?.unless_raised()?;
    let view = view.map(|mut view| {
        (view.source, view.method) = (source, name);
        view
    });
    let out = PyList::empty(py);
    for (at, (fit, fraction)) in fits.iter().zip(fractions).enumerate() {
        let point = point(py, fit, fraction, &preparation)?;
        point.set_item("held_out_accuracy", view.as_ref().and_then(|v| v.points[at].accuracy))?;
        out.append(point)?;
    }
    Ok((out, view.map(View::path)))
}

fn fits(spec: &Spec, training: &Training<'_>, fractions: &[f64], observer: &mut dyn Observer) -> Result<Vec<Fit>> {
    match spec {
        Spec::Lip(lip) => lip.path(training, fractions, observer),
        Spec::LipLocal(local) => local.path(training, fractions, observer),
        other => {
            let name = other.name();
            let message = format!("{name} has no regularisation path; lip-d, lip-i and lip-local have one");
            Err(lipmetric::Error::parameter("method", message))
        }
    }
}

fn point<'py>(py: Python<'py>, fit: &Fit, fraction: f64, preparation: &Preparation) -> PyResult<Bound<'py, PyDict>> {
    let point = PyDict::new(py);
    point.set_item("c_rel", fraction)?;
    point.set_item("outcome", plain(py, &fit.outcome)?)?;
    point.set_item("components", array(py, preparation.unscaled(fit.metric.factor()))?)?;
    point.set_item("support", plain(py, &fit.support().iter().map(pair).collect::<Vec<_>>())?)?;
    Ok(point)
}

/// The rows of a support pair, what it determines, and its multiplier.
pub(crate) fn pair(pair: &lipmetric::problem::SupportPair) -> (usize, usize, &'static str, f64) {
    (pair.first, pair.second, if pair.pushes { "margin" } else { "diameter" }, pair.multiplier)
}
