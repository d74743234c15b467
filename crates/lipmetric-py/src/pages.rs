//! Pages with pictures, and where they go.

use crate::failure::{raise_io, raise_json};
use crate::lipschitz::Sample;
use crate::run::released;
use lipmetric::lipschitz::{Mahalanobis, Report, ReportOptions};
use lipmetric::model::TrainingRows;
use lipmetric::view::{ComparisonView, PathView, RowsView};
use lipmetric_io::atomic_write;
use lipmetric_report::{About, MarginsPage, Page, Picture, compare_page, margins_page, path_page};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Where a page and its pictures are written, and as what.
pub(crate) type Places = (Option<PathBuf>, Option<PathBuf>, String);

/// What a page says about itself.
pub(crate) fn about() -> About {
    About { program: format!("lipmetric {}", env!("CARGO_PKG_VERSION")), next: Vec::new() }
}

/// The kind of the pictures, which must be one that can be drawn.
fn kind(name: &str) -> PyResult<Picture> {
    let kind: Picture = name.parse().map_err(|e| PyValueError::new_err(format!("`plot_format`: {e}")))?;
    kind.check().map_err(|e| PyRuntimeError::new_err(format!("`plot_format`: {e}")))?;
    Ok(kind)
}

/// A page; it, and its pictures one by one, are also written where a file or a folder is named.
pub(crate) fn written((path, plots, format): Places, draw: impl FnOnce() -> PyResult<Page>) -> PyResult<String> {
    let kind = kind(&format)?;
    let page = draw()?;
    if let Some(path) = path {
        atomic_write(path, |w| w.write_all(page.html().as_bytes())).map_err(raise_io)?;
    }
    if let Some(folder) = plots {
        std::fs::create_dir_all(&folder)?;
        for file in page.files(kind) {
            let (name, bytes) = file.map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
            atomic_write(folder.join(name), |w| w.write_all(&bytes)).map_err(raise_io)?;
        }
    }
    Ok(page.html().to_owned())
}

/// What a page shows, kept beside the figures that Python gets.
#[pyclass(frozen, module = "lipmetric._lipmetric")]
pub(crate) struct View(Kind);

#[derive(Serialize, Deserialize)]
enum Kind {
    Path(PathView),
    Comparison(ComparisonView),
}

impl View {
    /// Of a path. JSON, which pickles hold, has no infinite ratio.
    pub(crate) fn path(mut view: PathView) -> Self {
        for point in &mut view.points {
            point.ratio_diameter = point.ratio_diameter.min(f64::MAX);
            point.ratio_intra = point.ratio_intra.min(f64::MAX);
        }
        Self(Kind::Path(view))
    }

    pub(crate) fn comparison(view: ComparisonView) -> Self {
        Self(Kind::Comparison(view))
    }
}

#[pymethods]
impl View {
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.0).map_err(raise_json)
    }

    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        serde_json::from_str(text).map(Self).map_err(raise_json)
    }

    /// A page with pictures.
    fn report(&self, places: Places) -> PyResult<String> {
        written(places, || {
            Ok(match &self.0 {
                Kind::Path(view) => path_page(view, &about()),
                Kind::Comparison(view) => compare_page(view, &about()),
            })
        })
    }
}

/// A page about the margins of labelled rows, as they are, under the metric of a factor `L` or Euclid's.
#[pyfunction]
pub(crate) fn margins_report(
    py: Python<'_>,
    sample: Sample,
    names: Vec<String>,
    source: String,
    places: Places,
) -> PyResult<String> {
    let Sample { x, labels, metric } = sample;
    let distance = if metric.is_euclidean() { "the Euclidean distance" } else { "the learned distance" };
    written(places, || {
        released(py, None, || {
            let report = Report::new(&Mahalanobis::new(&metric, &x)?, &labels, &ReportOptions::default())?;
            let rows = TrainingRows::new(x, labels);
            let view = RowsView::of(&rows, &metric, &names)?;
            Ok(margins_page(&MarginsPage::of(source, distance, &rows.y, view, &report), &about()))
        })
    })
}
