//! The learned map of a model as a small JSON file that any program can apply: how each column becomes numbers, and the matrix
//! that the numbers are multiplied by. docs/export.md describes it.

use lipmetric::prepare::{Encoding, Notation, Step};
use lipmetric::{Matrix, Model};
use serde::Serialize;
use std::path::Path;

use crate::npy::header_bytes;
use crate::{Result, atomic_write};

/// The version of the format.
const VERSION: u32 = 1;
/// The version of a map with columns that are not scaled linearly, which readers of the first do not know.
const BENT: u32 = 2;
/// The version of a map of rows that are divided by their lengths.
const UNIT: u32 = 3;

/// Everything between a raw row and its place in the learned space.
#[derive(Debug, Serialize)]
pub struct MapFile<'a> {
    format: &'static str,
    version: u32,
    method: String,
    dimensions: usize,
    columns: Vec<MapColumn<'a>>,
    /// Whether the numbers of a row are divided by their length.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unit: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    notation: Option<&'a Notation>,
    /// Row by row; the identity where there is none.
    matrix: Option<Vec<&'a [f64]>>,
}

/// How one column becomes numbers.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum MapColumn<'a> {
    Number { name: &'a str, missing: f64, offset: f64, scale: f64 },
    Boolean { name: &'a str, missing: f64, offset: f64, scale: f64 },
    Quantiles { name: &'a str, missing: f64, knots: &'a [[f64; 2]] },
    Category { name: &'a str, missing: &'a str, levels: &'a [String] },
}

impl<'a> MapFile<'a> {
    /// The map of a model.
    #[must_use]
    pub fn new(model: &'a Model) -> Self {
        use lipmetric::method::Method;
        let schema = model.preparation.schema();
        let column = |(feature, step): (&'a lipmetric::prepare::Feature, &'a Step)| {
            let name = feature.name.as_str();
            match (&feature.encoding, step) {
                (Encoding::Category { levels }, Step::Level { fill, .. }) => {
                    Some(MapColumn::Category { name, missing: &levels[*fill as usize], levels })
                }
                (Encoding::Boolean, &Step::Number { fill: missing, offset, scale, .. }) => {
                    Some(MapColumn::Boolean { name, missing, offset, scale })
                }
                (_, Step::Quantiles { fill, knots, .. }) => {
                    Some(MapColumn::Quantiles { name, missing: *fill, knots: knots.pairs() })
                }
                (_, &Step::Number { fill: missing, offset, scale, .. }) => {
                    Some(MapColumn::Number { name, missing, offset, scale })
                }
                _ => None,
            }
        };
        let factor: Option<&Matrix> = (!model.metric.is_euclidean()).then(|| model.metric.factor());
        Self {
            format: "lipmetric-map",
            version: version(model),
            method: model.spec.name().to_owned(),
            dimensions: model.metric.rank(),
            columns: schema.features.iter().zip(model.preparation.steps()).filter_map(column).collect(),
            unit: model.preparation.is_unit(),
            notation: (!schema.notation.is_usual()).then_some(&schema.notation),
            matrix: factor.map(|factor| (0..factor.rows()).map(|i| factor.row(i)).collect()),
        }
    }
}

/// The oldest version that can say what the model does.
fn version(model: &Model) -> u32 {
    match &model.preparation {
        unit if unit.is_unit() => UNIT,
        linear if linear.is_linear() => VERSION,
        _ => BENT,
    }
}

/// Writes the map as JSON, and its matrix as an array of NumPy.
///
/// # Errors
/// If a file cannot be written.
pub fn save_map(model: &Model, json: impl AsRef<Path>, npy: impl AsRef<Path>) -> Result<()> {
    atomic_write(json, |out| {
        serde_json::to_writer(&mut *out, &MapFile::new(model))?;
        out.write_all(b"\n")
    })?;
    let factor = model.metric.factor();
    atomic_write(npy, |out| {
        out.write_all(&header_bytes("<f8", factor.rows(), Some(factor.cols())))?;
        factor.as_slice().iter().try_for_each(|v| out.write_all(&v.to_le_bytes()))
    })
}
