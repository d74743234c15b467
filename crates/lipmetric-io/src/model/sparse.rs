//! Models of sparse rows: format 4 of the model file.
//!
//! | tensor | type and shape | what |
//! |---|---|---|
//! | `train.end` | f64, rows | where each row ends among the next two |
//! | `train.column` | u32, values | the column (from 0) of each value, ascending within a row |
//! | `train.value` | f64, values | the values, divided as `divisors` says |
//! | `train.y` | u32, rows | the classes of the rows |
//! | `train.line` | u32, rows | the lines that they stood on, where the source has lines |
//! | `scale.column`, `scale.by` | u32, f64, columns | the columns that were divided, ascending, and what by |

use super::tensors::{Tensors, Written, codes, vector};
use super::{Header, KEY, checked, damaged, packed, whole};
use crate::write::write_whole;
use crate::{Result, Source, Target};
use lipmetric::Labels;
use lipmetric::data::SparseRows;
use lipmetric::model::{Divisor, Origin, SparseModel, Voting};
use lipmetric::prepare::Scaling;
use safetensors::tensor::{SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The format of these files.
pub(super) const FORMAT: u32 = 4;

#[derive(Serialize, Deserialize)]
struct Description<'a> {
    /// Always set, so that a reader can tell.
    sparse: bool,
    width: usize,
    classes: Cow<'a, [String]>,
    scaling: Scaling,
    voting: Voting,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<Cow<'a, Origin>>,
}

/// Writes a model of sparse rows to a file or to standard output.
///
/// # Errors
/// If the system refuses.
pub fn save_sparse_model(model: &SparseModel, target: &Target) -> Result<()> {
    let description = Description {
        sparse: true,
        width: model.rows.width(),
        classes: Cow::Borrowed(model.labels.classes()),
        scaling: model.scaling,
        voting: model.voting,
        origin: model.origin.as_ref().map(Cow::Borrowed),
    };
    let mut tensors = Written::new();
    let rows = &model.rows;
    tensors.insert("train.end", vector(rows.ends().iter().map(|&end| end as f64)));
    tensors.insert("train.column", codes(vec![rows.columns().len()], rows.columns().iter().copied()));
    tensors.insert("train.value", vector(rows.values().iter().copied()));
    tensors.insert("train.y", codes(vec![rows.len()], model.labels.codes().iter().copied()));
    let lines: Option<Vec<u32>> = model.lines.iter().map(|&line| line.try_into().ok()).collect();
    if let Some(lines) = lines.filter(|lines| !lines.is_empty()) {
        tensors.insert("train.line", codes(vec![lines.len()], lines.into_iter()));
    }
    let divisors = &model.divisors;
    tensors.insert("scale.column", codes(vec![divisors.len()], divisors.iter().map(|d| d.column)));
    tensors.insert("scale.by", vector(divisors.iter().map(|d| d.by)));
    let bytes = packed(&description, &tensors, FORMAT)?;
    write_whole(target, |w| w.write_all(&bytes))
}

/// Reads a model of sparse rows; nothing if the file is of another kind, whatever it is.
///
/// # Errors
/// If the system refuses, or it is such a model and damaged.
pub fn load_sparse_model(source: &Source) -> Result<Option<SparseModel>> {
    sparse_model_from_bytes(&source.name(), &whole(source)?)
}

/// The same of the bytes of a file.
///
/// # Errors
/// As [`load_sparse_model`].
pub fn sparse_model_from_bytes(origin: &str, bytes: &[u8]) -> Result<Option<SparseModel>> {
    let Ok((_, metadata)) = SafeTensors::read_metadata(bytes) else { return Ok(None) };
    let Some(text) = metadata.metadata().as_ref().and_then(|m| m.get(KEY)) else { return Ok(None) };
    let Ok(header) = serde_json::from_str::<Header>(text) else { return Ok(None) };
    if header.format_version != FORMAT {
        return Ok(None);
    }
    let views = checked(origin, bytes, &header)?;
    let told: Description<'_> =
        serde_json::from_str(header.model.get()).map_err(|e| damaged(origin, &e.to_string()))?;
    assemble(told, &views).map(Some).map_err(|what| damaged(origin, &what))
}

fn assemble(told: Description<'_>, views: &[(String, TensorView<'_>)]) -> Result<SparseModel, String> {
    let tensors = Tensors(views);
    let absent = |name: &str| format!("tensor `{name}` is absent");
    let numbers = |name: &str| tensors.vector(name)?.ok_or_else(|| absent(name));
    let whole = |name: &str| tensors.codes(name)?.map(|(_, codes)| codes).ok_or_else(|| absent(name));
    let ends: Vec<usize> = numbers("train.end")?.into_iter().map(|end| end as usize).collect();
    let rows = SparseRows::from_parts(&ends, &whole("train.column")?, &numbers("train.value")?, told.width);
    let labels = Labels::from_codes(told.classes.into_owned(), whole("train.y")?).map_err(|e| e.to_string())?;
    let (columns, by) = (whole("scale.column")?, numbers("scale.by")?);
    if columns.len() != by.len() {
        return Err("the columns that were divided and their divisors do not fit together".to_owned());
    }
    let divisors = columns.into_iter().zip(by).map(|(column, by)| Divisor { column, by }).collect();
    let lines = tensors.codes("train.line")?.map_or_else(Vec::new, |(_, lines)| lines);
    let mut model = SparseModel::new(rows.map_err(|e| e.to_string())?, labels, told.scaling, divisors, told.voting);
    model.lines = lines.into_iter().map(u64::from).collect();
    model.origin = told.origin.map(Cow::into_owned);
    model.checked().map_err(|e| e.to_string())
}
