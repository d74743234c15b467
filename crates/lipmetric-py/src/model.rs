//! A fitted model, as Python holds it.

use crate::failure::{raise, raise_io};
use crate::fit::pair;
use crate::pages::{Places, about, written};
use crate::plain::{array, plain};
use crate::rows::Frame;
use crate::run::released;
use lipmetric::classify::{Neighbour, Prediction};
use lipmetric::lipschitz::{Mahalanobis, Margins};
use lipmetric::model::{Counterfactual, Predictor, Rows};
use lipmetric::prepare::{Preparation, Unseen};
use lipmetric::robust::{Norm, Radius, Space};
use lipmetric::solver::{Observer, Progress};
use lipmetric::verify::{USUAL_LIMIT, Verified};
use lipmetric::view::{History, ModelView};
use lipmetric::{Matrix, Result};
use lipmetric_io::map::MapFile;
use lipmetric_io::model::{load_model, model_from_bytes, model_to_bytes, save_model};
use lipmetric_report::model_page;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// A fitted model: everything between a raw row and its predicted class.
#[pyclass(frozen, module = "lipmetric._lipmetric")]
pub(crate) struct Model {
    model: Arc<lipmetric::Model>,
    /// Made when something is first predicted.
    predictor: OnceLock<Predictor>,
    history: Vec<Progress>,
}

/// What of a model is no array.
#[derive(Serialize)]
struct Description<'a> {
    spec: &'a lipmetric::method::Spec,
    used: &'a lipmetric::method::Spec,
    method: &'a str,
    task: lipmetric::Task,
    classifier: &'a lipmetric::model::Classifier,
    prediction: String,
    outcome: &'a lipmetric::method::Outcome,
    ended: &'a str,
    converged: bool,
    classes: &'a [String],
    class_counts: &'a [usize],
    feature_names: Vec<String>,
    preparation: &'a Preparation,
    rank: usize,
}

impl Model {
    pub(crate) fn fitted(model: lipmetric::Model, history: Vec<Progress>) -> Self {
        Self { model: Arc::new(model), predictor: OnceLock::new(), history }
    }

    fn predictor(&self) -> Result<&Predictor> {
        if let Some(made) = self.predictor.get() {
            return Ok(made);
        }
        let made = Predictor::new(Arc::clone(&self.model))?;
        Ok(self.predictor.get_or_init(|| made))
    }

    fn training(&self) -> PyResult<&lipmetric::model::TrainingRows> {
        self.model.training_rows().map_err(raise)
    }
}

/// The radius in a norm, measured somewhere; the learned distance has but one norm.
pub(crate) fn radius(norm: &str, space: &str) -> PyResult<Radius> {
    let (norm, space): (Norm, Space) = (norm.parse().map_err(raise)?, space.parse().map_err(raise)?);
    if space == Space::Learned && norm != Norm::L2 {
        return Err(PyValueError::new_err(format!(
            "`norm`: the learned distance has the norm l2, not {norm}; give `space=\"prepared\"` or `space=\"input\"` with it"
        )));
    }
    Ok(Radius::new(norm, space))
}

/// What becomes of a level that training did not have.
fn unseen(rule: &str) -> PyResult<Unseen> {
    match rule {
        "error" => Ok(Unseen::Error),
        "ignore" => Ok(Unseen::Ignore),
        _ => Err(PyValueError::new_err(format!("`unseen`: `{rule}` is not one of error, ignore"))),
    }
}

#[pymethods]
impl Model {
    /// Reads a model's file.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        Ok(Self::fitted(load_model(path).map_err(raise_io)?.model, Vec::new()))
    }

    /// A model from the bytes of its file.
    #[staticmethod]
    fn from_bytes(data: &[u8]) -> PyResult<Self> {
        Ok(Self::fitted(model_from_bytes("the bytes", data).map_err(raise_io)?.model, Vec::new()))
    }

    /// The bytes of the model's file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &py.detach(|| model_to_bytes(&self.model)).map_err(raise_io)?))
    }

    /// Writes the model's file: whole, or not at all.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| save_model(&self.model, path)).map_err(raise_io)
    }

    /// What of the model is no array.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        use lipmetric::method::Method;
        let model = &self.model;
        let description = Description {
            spec: &model.spec,
            used: &model.used,
            method: model.spec.name(),
            task: model.task,
            classifier: &model.classifier,
            prediction: model.classifier.describe(model.task),
            outcome: &model.outcome,
            ended: model.outcome.status.describe(),
            converged: model.outcome.status.converged(),
            classes: &model.classes,
            class_counts: &model.class_counts,
            feature_names: model.preparation.feature_names(),
            preparation: &model.preparation,
            rank: model.metric.rank(),
        };
        plain(py, &description)
    }

    /// The class of each row, as an index into the classes.
    #[pyo3(signature = (rows, unseen="error", threads=None))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        rows: Frame,
        unseen: &str,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let unseen = self::unseen(unseen)?;
        let codes = released(py, threads, || self.predictor()?.predict(Rows::Table(&rows.table, unseen)))?;
        Ok(PyArray1::from_vec(py, codes))
    }

    /// The number of each row, of a model of numbers.
    #[pyo3(signature = (rows, unseen="error", threads=None))]
    fn estimate<'py>(
        &self,
        py: Python<'py>,
        rows: Frame,
        unseen: &str,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let unseen = self::unseen(unseen)?;
        let numbers = released(py, threads, || self.predictor()?.estimate(Rows::Table(&rows.table, unseen)))?;
        Ok(PyArray1::from_vec(py, numbers))
    }

    /// The least and the largest number of any row that is less than this far from each row: in which norm, measured where.
    #[pyo3(signature = (rows, ball, within, unseen="error", threads=None))]
    #[expect(clippy::type_complexity, reason = "two arrays")]
    fn ranges<'py>(
        &self,
        py: Python<'py>,
        rows: Frame,
        ball: (String, String),
        within: f64,
        unseen: &str,
        threads: Option<usize>,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
        let unseen = self::unseen(unseen)?;
        let asked = radius(&ball.0, &ball.1)?;
        let told = released(py, threads, || self.predictor()?.ranges(Rows::Table(&rows.table, unseen), asked, within))?;
        let (low, high) = told.into_iter().unzip();
        Ok((PyArray1::from_vec(py, low), PyArray1::from_vec(py, high)))
    }

    /// The class of each row and what it rests on, as arrays.
    #[pyo3(signature = (rows, unseen="error", threads=None))]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        rows: Frame,
        unseen: &str,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let unseen = self::unseen(unseen)?;
        let told = released(py, threads, || self.predictor()?.explain(Rows::Table(&rows.table, unseen)))?;
        explained(py, &told.iter().collect::<Vec<_>>())
    }

    /// The class of each row, and how far the row may move before it can change: in which norm, measured where, how closely.
    #[pyo3(signature = (rows, ball, unseen="error", threads=None))]
    #[expect(clippy::type_complexity, reason = "two arrays")]
    fn radii<'py>(
        &self,
        py: Python<'py>,
        rows: Frame,
        ball: (String, String, String),
        unseen: &str,
        threads: Option<usize>,
    ) -> PyResult<(Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f64>>)> {
        let unseen = self::unseen(unseen)?;
        let asked = radius(&ball.0, &ball.1)?;
        let asked = asked.kind(ball.2.parse().map_err(raise)?);
        let told = released(py, threads, || self.predictor()?.certify(Rows::Table(&rows.table, unseen), asked))?;
        let (codes, radii) = told.into_iter().unzip();
        Ok((PyArray1::from_vec(py, codes), PyArray1::from_vec(py, radii)))
    }

    /// The nearest row of another class for each row: its class, its distance, its numbers and by how much they differ. NaN
    /// stands for what is no number, and for rows that no change of the numbers gives another class.
    #[pyo3(signature = (rows, ball, unseen="error", threads=None))]
    fn counterfactuals<'py>(
        &self,
        py: Python<'py>,
        rows: Frame,
        ball: (String, String),
        unseen: &str,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (norm, space) = (ball.0.parse().map_err(raise)?, ball.1.parse().map_err(raise)?);
        let unseen = self::unseen(unseen)?;
        let rows = || Rows::Table(&rows.table, unseen);
        let found = released(py, threads, || self.predictor()?.counterfactuals(rows(), norm, space))?;
        let features = self.model.preparation.schema().features.len();
        let table = |of: &dyn Fn(&Counterfactual) -> &[Option<f64>]| {
            let row = |f: &Option<Counterfactual>| match f {
                Some(found) => of(found).iter().map(|v| v.unwrap_or(f64::NAN)).collect(),
                None => vec![f64::NAN; features],
            };
            let cells: Vec<f64> = found.iter().flat_map(row).collect();
            array(py, Matrix::from_vec(found.len(), features, cells).map_err(raise)?)
        };
        let out = PyDict::new(py);
        let codes = found.iter().map(|f| f.as_ref().map_or(-1, |f| i64::from(f.other))).collect();
        out.set_item("code", PyArray1::from_vec(py, codes))?;
        let distances = found.iter().map(|f| f.as_ref().map_or(f64::INFINITY, |f| f.distance)).collect();
        out.set_item("distance", PyArray1::from_vec(py, distances))?;
        out.set_item("rows", table(&|f| &f.numbers)?)?;
        out.set_item("changes", table(&|f| &f.changes)?)?;
        Ok(out)
    }

    /// The nearest training rows of each row: their numbers, the codes of their classes, and their distances.
    #[pyo3(signature = (rows, k, unseen="error", threads=None))]
    fn neighbours<'py>(
        &self,
        py: Python<'py>,
        rows: Frame,
        k: usize,
        unseen: &str,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let unseen = self::unseen(unseen)?;
        let labels = &self.training()?.y;
        let codes = labels.codes();
        let found = released(py, threads, || self.predictor()?.neighbours(Rows::Table(&rows.table, unseen), k))?;
        let shape = [found.len(), k];
        let near = || (0..found.len()).flat_map(|i| found.indices(i).iter().copied());
        let distances = (0..found.len()).flat_map(|i| found.squared_distances(i).iter().map(|d| d.sqrt())).collect();
        let out = PyDict::new(py);
        out.set_item("rows", PyArray1::from_vec(py, near().map(|row| row as i64).collect()).reshape(shape)?)?;
        out.set_item("codes", PyArray1::from_vec(py, near().map(|row| codes[row]).collect()).reshape(shape)?)?;
        if let Some(numbers) = labels.numbers() {
            out.set_item("numbers", PyArray1::from_vec(py, near().map(|row| numbers[row]).collect()).reshape(shape)?)?;
        }
        out.set_item("distances", PyArray1::from_vec(py, distances).reshape(shape)?)?;
        Ok(out)
    }

    /// The rows as the learned map gives them.
    #[pyo3(signature = (rows, unseen="error", threads=None))]
    fn transform<'py>(
        &self,
        py: Python<'py>,
        rows: Frame,
        unseen: &str,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let unseen = self::unseen(unseen)?;
        array(py, released(py, threads, || self.model.transform(Rows::Table(&rows.table, unseen)))?)
    }

    /// The learned map as any program can apply it: how each column becomes numbers, and the matrix.
    fn map<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        plain(py, &MapFile::new(&self.model))
    }

    /// A page with pictures; it, and its pictures one by one, are also written where a file or a folder is named.
    fn report(&self, py: Python<'_>, source: String, places: Places) -> PyResult<String> {
        let mut history = History::default();
        for at in &self.history {
            let _ = history.progress(at);
        }
        written(places, || {
            let view = released(py, None, || ModelView::of(&self.model, source, history))?;
            Ok(model_page(&view, &about()))
        })
    }

    /// The factor `L`, rank x prepared features.
    fn factor<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        array(py, self.model.metric.factor().clone())
    }

    /// The same on the features before they are scaled: what the map does to them, but for a shift.
    fn components<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        array(py, self.model.components())
    }

    /// What was subtracted from each encoded column, and what it was divided by.
    fn scaling<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>) {
        let (offsets, scales) = self.model.preparation.scales().into_iter().unzip();
        (PyArray1::from_vec(py, offsets), PyArray1::from_vec(py, scales))
    }

    /// The eigenvalues of `M`, largest first.
    fn spectrum(&self) -> PyResult<Vec<f64>> {
        self.model.metric.spectrum().map_err(raise)
    }

    /// The prepared training rows, their classes, and the values of the learned function on them where there is one.
    fn training_rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rows = self.training()?;
        let out = PyDict::new(py);
        out.set_item("x", array(py, rows.x.clone())?)?;
        out.set_item("y", PyArray1::from_vec(py, rows.y.codes().to_vec()))?;
        out.set_item("values", rows.values.as_ref().map(|v| PyArray1::from_vec(py, v.clone())))?;
        Ok(out)
    }

    /// Margins, diameters and ratios of the training rows under the learned distance.
    fn margins<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let rows = self.training()?;
        let measured = released(py, None, || Margins::new(&Mahalanobis::new(&self.model.metric, &rows.x)?, &rows.y))?;
        plain(py, &measured)
    }

    /// The pairs that determine the optimum, with their multipliers; none where the certificate was not kept.
    fn support_pairs<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let pairs = self.model.certificate.as_ref().map(lipmetric::problem::Certificate::support);
        pairs.map(|pairs| plain(py, &pairs.iter().map(pair).collect::<Vec<_>>())).transpose()
    }

    /// Checks the certificate in exact arithmetic, by at most so many multiplications.
    #[pyo3(signature = (limit=USUAL_LIMIT))]
    fn verify<'py>(&self, py: Python<'py>, limit: f64) -> PyResult<Bound<'py, PyAny>> {
        plain(py, &released(py, None, || Verified::of(&self.model, limit))?)
    }

    /// The steps of the fit: a list of figures for each kind of figure.
    fn history<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        let of = |figure: &dyn Fn(&Progress) -> Option<f64>| {
            PyArray1::from_vec(py, self.history.iter().map(|at| figure(at).unwrap_or(f64::NAN)).collect())
        };
        let iterations = self.history.iter().map(|at| at.iteration as i64).collect();
        out.set_item("iteration", PyArray1::from_vec(py, iterations))?;
        out.set_item("objective", of(&|at| at.primal))?;
        out.set_item("bound", of(&|at| at.dual))?;
        out.set_item("gap", of(&|at| at.gap))?;
        out.set_item("seconds", of(&|at| Some(at.seconds)))?;
        Ok(out)
    }
}

/// Predictions as arrays, a row for each.
fn explained<'py>(py: Python<'py>, told: &[&Prediction]) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    let table = |of: &dyn Fn(&Prediction) -> Vec<f64>| -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let rows: Vec<Vec<f64>> = told.iter().map(|p| of(p)).collect();
        match rows.first().map_or(0, Vec::len) {
            0 => Ok(None),
            width => {
                let matrix = Matrix::from_vec(rows.len(), width, rows.concat()).map_err(raise)?;
                array(py, matrix).map(Some)
            }
        }
    };
    out.set_item("code", PyArray1::from_vec(py, told.iter().map(|p| p.label).collect()))?;
    out.set_item("shares", table(&|p| p.shares.clone())?)?;
    out.set_item("values", table(&|p| p.values.clone())?)?;
    out.set_item("distances", table(&|p| p.neighbours.iter().map(|n| n.distance).collect())?)?;
    let row = |n: &Neighbour| n.row as f64;
    out.set_item("neighbours", table(&|p| p.neighbours.iter().map(row).collect())?)?;
    out.set_item("nearest", PyArray1::from_vec(py, told.iter().map(|p| p.nearest()).collect()))?;
    out.set_item("margin", PyArray1::from_vec(py, told.iter().map(|p| p.margin()).collect()))?;
    Ok(out)
}
