//! Methods against each other on the same splits.

use crate::failure::{raise, raise_json};
use crate::fit::Asked;
use crate::model::radius;
use crate::pages::View;
use crate::plain::plain;
use crate::rows::{Coded, Frame};
use crate::run::{Messenger, Watching};
use lipmetric::Error;
use lipmetric::evaluate::{Advance, Analysis, Cell, Certification, Comparison, Entry, Protocol, Supervisor, Trial};
use lipmetric::model::Recipe;
use lipmetric::solver::Observer;
use lipmetric::view::ComparisonView;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

/// How the methods are compared.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Terms {
    train_fraction: f64,
    repeats: usize,
    seed: u64,
    /// The method that the others are held against; the first one if not given.
    against: Option<String>,
    level: f64,
    threads: Option<usize>,
    time_limit: Option<f64>,
    certified: Option<Certified>,
}

/// Certified accuracies that are asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Certified {
    radii: Vec<f64>,
    norm: String,
    space: String,
    /// The radius, one of these, by whose accuracy methods are judged.
    rank_by: Option<f64>,
}

impl Certified {
    fn asked(&self) -> PyResult<Certification> {
        let asked = Certification::new(radius(&self.norm, &self.space)?, self.radii.clone()).map_err(raise)?;
        let Some(rank_by) = self.rank_by else { return Ok(asked) };
        let at = self.radii.iter().position(|r| *r == rank_by);
        let none = || PyValueError::new_err(format!("`rank_by`: {rank_by} is none of `radii`"));
        Ok(asked.judged_at(Some(at.ok_or_else(none)?)))
    }
}

#[derive(Serialize)]
struct Results {
    subjects: Vec<String>,
    methods: Vec<String>,
    repeats: usize,
    /// For each data set and method, what each split is judged by; the reason where one could not be fitted.
    cells: Vec<Vec<Column>>,
    average_ranks: Option<Vec<f64>>,
    best: Vec<Vec<bool>>,
    analysis: Option<Analysis>,
}

#[derive(Serialize)]
struct Column {
    accuracy: Vec<f64>,
    /// For each split, the accuracy at each radius that was asked for.
    certified: Vec<Vec<f64>>,
    mean: Option<f64>,
    sd: Option<f64>,
    fit_seconds: Option<f64>,
    refusal: Option<String>,
}

fn column(cell: &Cell) -> Column {
    let summary = cell.accuracy();
    Column {
        accuracy: cell.trials.iter().flatten().map(Trial::score).collect(),
        certified: cell.trials.iter().flatten().map(|t| t.certified.clone()).collect(),
        mean: summary.map(|s| s.mean),
        sd: summary.map(|s| s.sd),
        fit_seconds: cell.fit_seconds(),
        refusal: cell.refusal().map(Error::to_string),
    }
}

/// Watches many fits.
struct Many<'a>(&'a Messenger, Option<std::time::Instant>);

/// One of them: only whether to stop.
struct One(Messenger);

impl Observer for One {
    fn progress(&mut self, _: &lipmetric::solver::Progress) -> std::ops::ControlFlow<lipmetric::solver::Halt> {
        match self.0.stopped() {
            true => std::ops::ControlFlow::Break(lipmetric::solver::Halt::Interrupted),
            false => std::ops::ControlFlow::Continue(()),
        }
    }
}

impl Supervisor for Many<'_> {
    fn observer(&self) -> Box<dyn Observer> {
        Box::new(One(self.0.clone()))
    }

    fn advanced(&self, at: &Advance) {
        self.0.advanced(at.done, at.total);
    }

    fn cancelled(&self) -> bool {
        self.0.stopped() || self.1.is_some_and(|end| std::time::Instant::now() >= end)
    }
}

/// A method under its name.
fn entry<'a>(name: &str, asked: &'a Asked) -> Option<Entry<'a>> {
    let recipe = Recipe::new(asked.spec.as_ref()?).prepared(asked.fill, asked.scaling);
    let recipe = recipe.predicting(asked.classifier).reduced_to(asked.dims);
    Some(Entry { name: name.to_owned(), recipe })
}

/// Fits every method on the same splits of every data set, and tests the differences.
#[pyfunction]
#[pyo3(signature = (subjects, methods, terms, listener=None))]
pub(crate) fn compare<'py>(
    py: Python<'py>,
    subjects: Vec<(String, Frame, Coded)>,
    methods: Vec<(String, String)>,
    terms: &str,
    listener: Option<Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, View)> {
    let begun = std::time::Instant::now();
    let terms: Terms = serde_json::from_str(terms).map_err(raise_json)?;
    let asked = methods.iter().map(|(_, asked)| Asked::read(asked)).collect::<PyResult<Vec<_>>>()?;
    let data = subjects
        .into_iter()
        .map(|(name, frame, labels)| Ok(frame.labelled("label", labels.0)?.named(name)))
        .collect::<PyResult<Vec<_>>>()?;
    if asked.iter().any(|asked| asked.spec.is_none()) {
        return Err(PyValueError::new_err("no method is given"));
    }
    let (train_fraction, repeats, seed) = (terms.train_fraction, terms.repeats, terms.seed);
    let protocol = Protocol { train_fraction, repeats, seed, ..Protocol::default() };
    let end = terms.time_limit.and_then(|s| std::time::Duration::try_from_secs_f64(s).ok());
    let end = end.and_then(|limit| std::time::Instant::now().checked_add(limit));
    let certified = terms.certified.as_ref().map(Certified::asked).transpose()?;
    let watching = Watching { threads: terms.threads, time_limit: None, listener };
    let compared = watching
        .run(py, move |_, messenger| {
            let entries: Vec<Entry<'_>> = methods.iter().zip(&asked).filter_map(|(m, a)| entry(&m.0, a)).collect();
            Comparison::certified(&data, &entries, &protocol, certified.as_ref(), &Many(messenger, end))
        })?
        .unless_raised()?;
    let against = terms.against.as_deref().unwrap_or(&compared.methods[0]);
    let analysis = match compared.methods.len() {
        1 => None,
        _ => Some(Analysis::of(&compared, against, terms.level).map_err(raise)?),
    };
    let mut view = ComparisonView::of(&compared, analysis.as_ref());
    (view.train_fraction, view.seconds) = (train_fraction, begun.elapsed().as_secs_f64());
    let results = Results {
        repeats: compared.repeats(),
        cells: compared.cells.iter().map(|row| row.iter().map(column).collect()).collect(),
        average_ranks: compared.average_ranks(),
        best: compared.best(),
        analysis,
        subjects: compared.subjects,
        methods: compared.methods,
    };
    Ok((plain(py, &results)?, View::comparison(view)))
}
