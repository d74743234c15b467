//! The model file: one safetensors file, readable from the command line, Rust and Python alike.
//!
//! | tensor | type and shape | what |
//! |---|---|---|
//! | `L` | f64, rank x features | the metric's factor: `rho(x, y) = ||L (x - y)||^2` on prepared features (absent where `euclidean` is set: format 3) |
//! | `train.x` | f64, rows x features | the prepared training rows (absent if the model was stored without them) |
//! | `train.y` | u32, rows | their classes, as indices into `classes` |
//! | `train.number` | f64, rows | in its place, the numbers that the model predicts (`task` is `regression`: format 5) |
//! | `train.value` | f64, rows | the values of the learned function on them, where there is one |
//! | `smooth.coefficients` | f64, terms x classes | the coefficients of the smooth function, where there is one |
//! | `smooth.rows` | u32, terms | the training rows that have a term; absent where all have |
//! | `train.line` | u32, rows | the lines that they stood on, where the source has lines |
//! | `certificate.*` | | the multipliers that prove the bound, where they were kept (docs/model-file.md) |
//!
//! A model of sparse rows has tensors of its own (`sparse`, format 4). One of rows without labels (`task` is `pairs`) has one class
//! without a name, and format 6.
//!
//! The metadata entry `lipmetric` is a JSON object: `format_version`, `program_version`, `checksum`, and `model`, which
//! holds the method and its parameters (`spec` as given, `used` as the fit had them), the preparation steps, the columns' names,
//! the classes and how the fit ended. Format 1 had the method's name and a map of parameters; it is read, too.
//! The checksum is the SHA-256 of the model's JSON text and every tensor, so that a file that was changed or damaged is
//! never used. No time or place of writing is stored: the same fit gives the same bytes.

mod certificate;
mod first;
mod sparse;
mod tensors;

pub use sparse::{load_sparse_model, save_sparse_model, sparse_model_from_bytes};

use crate::write::write_whole;
use crate::{Error, Result, Source, Target};
use lipmetric::classify::Kernel;
use lipmetric::method::{Outcome, Spec};
use lipmetric::model::{Classifier, Model, Origin, Provenance, Smoothing, Terms, TrainingRows};
use lipmetric::prepare::Preparation;
use lipmetric::{Labels, Matrix, Metric, Task};
use safetensors::tensor::{SafeTensorError, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use tensors::{Tensor, Tensors, Written, codes, matrix, vector};

/// The format that this program writes, and the newest that it reads.
pub const FORMAT_VERSION: u32 = 7;

/// From this many features on, the Euclidean metric is stored as what it is instead of as its factor `L`. Only such files have
/// format 3; all others are readable by programs that know format 2.
const WIDE: usize = 1000;

/// The oldest format that has all that a model has.
fn format_of(model: &Model, euclidean: bool) -> u32 {
    // An older program would take a Gaussian kernel for the other one, and leave out what is added to the values.
    let newer = |s: &Smoothing| s.smoothness.kernel != Kernel::Laplace || !s.offsets.is_empty();
    if matches!(&model.classifier, Classifier::Smooth(smoothing) if newer(smoothing)) {
        return FORMAT_VERSION;
    }
    match (model.task, euclidean) {
        (Task::Classification, false) => 2,
        (Task::Classification, true) => 3,
        (Task::Regression, _) => 5,
        _ => 6,
    }
}

const KEY: &str = "lipmetric";

#[derive(Serialize, Deserialize)]
struct Header {
    format_version: u32,
    program_version: String,
    checksum: String,
    model: Box<RawValue>,
}

/// As [`Header`], but leaving everything open that a later format may change.
#[derive(Deserialize)]
struct AnyHeader {
    format_version: u32,
    #[serde(default)]
    program_version: String,
}

#[derive(Serialize, Deserialize)]
struct Description<'a> {
    spec: Cow<'a, Spec>,
    used: Cow<'a, Spec>,
    classifier: Cow<'a, Classifier>,
    outcome: Cow<'a, Outcome>,
    /// What is predicted, where it is no class.
    #[serde(default, skip_serializing_if = "Task::is_classification")]
    task: Task,
    classes: Cow<'a, [String]>,
    class_counts: Cow<'a, [usize]>,
    feature_names: Vec<String>,
    preparation: Cow<'a, Preparation>,
    /// Set where the metric is the Euclidean one and its factor, the identity, is not written out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    euclidean: bool,
    /// What of a certificate is no tensor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    certificate: Option<certificate::Shared>,
    /// Where it comes from, where that was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<Cow<'a, Origin>>,
}

/// A model as a file holds it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StoredModel {
    /// The model.
    pub model: Model,
    /// The version of the program that wrote it.
    pub program_version: String,
    /// The version of the format.
    pub format_version: u32,
    /// SHA-256 of its content, in hexadecimal.
    pub checksum: String,
}

/// The bytes of a model's file.
///
/// # Errors
/// If the model cannot be written down (a size beyond the format's limits).
pub fn model_to_bytes(model: &Model) -> Result<Vec<u8>> {
    let fail = |e: &dyn std::fmt::Display| Error::data("the model", format!("it cannot be stored: {e}"));
    if model.certificate.is_some() && model.training.is_none() {
        return Err(fail(&"a certificate is one of the training rows, which are not there"));
    }
    let euclidean = model.metric.is_euclidean() && model.metric.features() >= WIDE;
    let description = Description {
        euclidean,
        spec: Cow::Borrowed(&model.spec),
        used: Cow::Borrowed(&model.used),
        classifier: Cow::Borrowed(&model.classifier),
        outcome: Cow::Borrowed(&model.outcome),
        task: model.task,
        classes: Cow::Borrowed(&model.classes),
        class_counts: Cow::Borrowed(&model.class_counts),
        feature_names: model.preparation.feature_names(),
        preparation: Cow::Borrowed(&model.preparation),
        certificate: model.certificate.as_ref().map(certificate::Shared::of),
        origin: model.origin.as_ref().map(Cow::Borrowed),
    };
    let mut tensors = Written::new();
    if !euclidean {
        tensors.insert("L", matrix(model.metric.factor()));
    }
    if let Some(rows) = &model.training {
        tensors.insert("train.x", matrix(&rows.x));
        match rows.y.numbers() {
            Some(numbers) => tensors.insert("train.number", vector(numbers.iter().copied())),
            None => tensors.insert("train.y", codes(vec![rows.y.len()], rows.y.codes().iter().copied())),
        };
        if let Some(values) = &rows.values {
            tensors.insert("train.value", vector(values.iter().copied()));
        }
        if let Some(terms) = &rows.terms {
            tensors.insert("smooth.coefficients", matrix(&terms.coefficients));
            if terms.rows.len() < rows.x.rows() {
                tensors.insert("smooth.rows", codes(vec![terms.rows.len()], terms.rows.iter().map(|&i| i as u32)));
            }
        }
        // Lines beyond what a tensor of 32 bits holds are not worth a wider one.
        let lines: Option<Vec<u32>> = rows.lines.iter().map(|&line| line.try_into().ok()).collect();
        if let Some(lines) = lines.filter(|lines| !lines.is_empty()) {
            tensors.insert("train.line", codes(vec![lines.len()], lines.into_iter()));
        }
    }
    if let Some(certificate) = &model.certificate {
        certificate::write(certificate, &mut tensors);
    }
    packed(&description, &tensors, format_of(model, euclidean))
}

/// The bytes of a file with this description and these tensors.
fn packed(description: &impl Serialize, tensors: &Written, format_version: u32) -> Result<Vec<u8>> {
    let fail = |e: &dyn std::fmt::Display| Error::data("the model", format!("it cannot be stored: {e}"));
    let text = serde_json::to_string(description).map_err(|e| fail(&e))?;
    let views = tensors
        .iter()
        .map(|(name, (dtype, shape, bytes))| Ok((*name, TensorView::new(*dtype, shape.clone(), bytes)?)))
        .collect::<Result<Vec<_>, SafeTensorError>>()
        .map_err(|e| fail(&e))?;
    let header = Header {
        format_version,
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        checksum: checksum(&text, &views),
        model: RawValue::from_string(text).map_err(|e| fail(&e))?,
    };
    let header = serde_json::to_string(&header).map_err(|e| fail(&e))?;
    // One entry only: the order of several would vary from run to run.
    let metadata = HashMap::from([(KEY.to_owned(), header)]);
    safetensors::serialize(views, Some(metadata)).map_err(|e| fail(&e))
}

/// Writes a model's file, atomically: there is the whole new file in the end, or what was there before.
///
/// # Errors
/// If the system refuses.
pub fn save_model(model: &Model, path: impl AsRef<Path>) -> Result<()> {
    save_model_to(model, &Target::Path(path.as_ref().to_path_buf()))
}

/// Writes a model to a file, as [`save_model`] does, or to standard output.
///
/// # Errors
/// If the system refuses.
pub fn save_model_to(model: &Model, target: &Target) -> Result<()> {
    let bytes = model_to_bytes(model)?;
    write_whole(target, |w| w.write_all(&bytes))
}

/// Reads a model's file.
///
/// # Errors
/// If the system refuses, or the file is no model, cut short, changed, or of a newer format: the message says which.
pub fn load_model(path: impl AsRef<Path>) -> Result<StoredModel> {
    load_model_from(&Source::Path(path.as_ref().to_path_buf()))
}

/// Reads a model from anywhere: a file, standard input, memory.
///
/// # Errors
/// As [`load_model`].
pub fn load_model_from(source: &Source) -> Result<StoredModel> {
    model_from_bytes(&source.name(), &whole(source)?)
}

/// The longest description that a file of tensors may have.
const MAX_HEADER: u64 = 100_000_000;

/// The bytes of a file of tensors. It says itself how long it is, so that no more is read, were there more without end.
pub(crate) fn whole(source: &Source) -> Result<Vec<u8>> {
    let mut reader = source.reader()?;
    let mut bytes = Vec::new();
    let mut read_to = |bytes: &mut Vec<u8>, length: u64| {
        let more = length.saturating_sub(bytes.len() as u64);
        (&mut reader).take(more).read_to_end(bytes).map_err(|e| Error::io("read", source.name(), e))
    };
    read_to(&mut bytes, 9)?;
    let Some((length, _)) = bytes.split_first_chunk::<8>() else { return Ok(bytes) };
    let header = u64::from_le_bytes(*length);
    if bytes.get(8) != Some(&b'{') || header > MAX_HEADER {
        return Ok(bytes);
    }
    read_to(&mut bytes, 8 + header)?;
    let Ok(Value::Object(told)) = serde_json::from_slice(&bytes[8..]) else { return Ok(bytes) };
    let end = |entry: &Value| entry.get("data_offsets").and_then(|o| o.get(1)).and_then(Value::as_u64);
    let tensors = told.values().filter_map(end).max().unwrap_or(0);
    // One byte too many tells of a file that has grown.
    read_to(&mut bytes, (9 + header).saturating_add(tensors))?;
    Ok(bytes)
}

/// A model from the bytes of its file; `origin` is what messages call it.
///
/// # Errors
/// As [`load_model`].
pub fn model_from_bytes(origin: &str, bytes: &[u8]) -> Result<StoredModel> {
    let foreign = || Error::data(origin, "this is not a lipmetric model; `save_model(FILE)` writes one");
    let damaged = |what: &str| damaged(origin, what);
    if bytes.len() < 9 || bytes[8] != b'{' {
        return Err(if bytes.is_empty() { damaged("it is empty") } else { foreign() });
    }
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|e| match e {
        SafeTensorError::InvalidHeaderLength
        | SafeTensorError::MetadataIncompleteBuffer
        | SafeTensorError::HeaderTooSmall => damaged("it is cut short or has grown"),
        SafeTensorError::HeaderTooLarge => foreign(),
        e => damaged(&e.to_string()),
    })?;
    let text = metadata.metadata().as_ref().and_then(|m| m.get(KEY)).ok_or_else(foreign)?;
    let any: AnyHeader = serde_json::from_str(text).map_err(|e| damaged(&e.to_string()))?;
    if any.format_version == sparse::FORMAT {
        return Err(Error::data(
            origin,
            "the model holds sparse rows, which only prediction takes; for anything else fit it on fewer features, which then are \
             stored with their zeros",
        ));
    }
    if any.format_version > FORMAT_VERSION {
        return Err(Error::data(
            origin,
            format!(
                "the model file has format {}, written by lipmetric {}; this program reads up to format \
                 {FORMAT_VERSION}: update it",
                any.format_version, any.program_version
            ),
        ));
    }
    let header: Header = serde_json::from_str(text).map_err(|e| damaged(&e.to_string()))?;
    let views = checked(origin, bytes, &header)?;
    let description = if header.format_version == 1 {
        let mut old = serde_json::from_str(header.model.get()).map_err(|e| damaged(&e.to_string()))?;
        first::upgrade(&mut old);
        serde_json::from_value(serde_json::Value::Object(old))
    } else {
        serde_json::from_str::<Description<'_>>(header.model.get())
    };
    let description = description.map_err(|e| damaged(&e.to_string()))?;
    let model = assemble(description, &views).map_err(|what| damaged(&what))?;
    Ok(StoredModel {
        model,
        program_version: header.program_version,
        format_version: header.format_version,
        checksum: header.checksum,
    })
}

fn damaged(origin: &str, what: &str) -> Error {
    Error::data(origin, format!("the model file is damaged: {what}; fit the model again"))
}

/// The tensors of a file, in the order of their names, if they are those that the header was written with.
fn checked<'a>(origin: &str, bytes: &'a [u8], header: &Header) -> Result<Vec<(String, TensorView<'a>)>> {
    let tensors = SafeTensors::deserialize(bytes).map_err(|e| damaged(origin, &e.to_string()))?;
    let mut views: Vec<(String, TensorView<'_>)> = tensors.tensors();
    views.sort_by(|a, b| a.0.cmp(&b.0));
    if checksum(header.model.get(), &views) != header.checksum {
        let what = "its content does not match its checksum, so it was changed after it was written";
        return Err(damaged(origin, what));
    }
    Ok(views)
}

fn assemble(d: Description<'_>, views: &[(String, TensorView<'_>)]) -> Result<Model, String> {
    let tensors = Tensors(views);
    let metric = match tensors.matrix("L")? {
        Some(factor) => Metric::new(factor).map_err(|e| e.to_string())?,
        None if d.euclidean => Metric::euclidean(d.preparation.schema().prepared_width()),
        None => return Err("the factor L is absent".to_owned()),
    };
    let training = match (tensors.matrix("train.x")?, tensors.codes("train.y")?, tensors.vector("train.number")?) {
        (None, None, None) => None,
        (Some(x), Some((shape, codes)), None) if shape == [x.rows()] && d.task != Task::Regression => {
            Some((x, Labels::from_codes(d.classes.to_vec(), codes)))
        }
        (Some(x), None, Some(numbers)) if numbers.len() == x.rows() && d.task == Task::Regression => {
            Some((x, Labels::from_numbers(numbers)))
        }
        _ => return Err("the training rows and their labels do not fit together".to_owned()),
    };
    let values = tensors.vector("train.value")?;
    let terms = tensors.matrix("smooth.coefficients")?.map(|coefficients| {
        let rows = tensors.codes("smooth.rows")?.map(|(_, rows)| rows.into_iter().map(|i| i as usize).collect());
        Ok::<_, String>(Terms::new(rows.unwrap_or_else(|| (0..coefficients.rows()).collect()), coefficients))
    });
    let terms = terms.transpose()?;
    let lines = tensors.codes("train.line")?.map_or_else(Vec::new, |(_, lines)| lines);
    let lines = lines.into_iter().map(u64::from).collect();
    let certificate = d.certificate.map(|shared| certificate::read(&shared, &tensors)).transpose()?;
    let origin = d.origin.map(Cow::into_owned);
    let model = || -> lipmetric::Result<Model> {
        let labels =
            training.map(|(x, labels)| Ok::<_, lipmetric::Error>(TrainingRows::new(x, labels?))).transpose()?;
        let learned =
            Provenance { spec: d.spec.into_owned(), used: d.used.into_owned(), outcome: d.outcome.into_owned() };
        let classes = (d.classes.into_owned(), d.class_counts.into_owned());
        let classifier = d.classifier.into_owned();
        if (d.task == Task::Pairs) != matches!(classifier, Classifier::Pairs(_)) {
            return Err(lipmetric::Error::data("its task and its classifier do not fit together"));
        }
        if let (Some(voting), Some(rows)) = (classifier.voting(), &labels)
            && !(1..=rows.x.rows()).contains(&voting.k)
        {
            return Err(lipmetric::Error::data(format!("{} of its {} rows vote", voting.k, rows.x.rows())));
        }
        let mut model = Model::new(learned, metric, d.preparation.into_owned(), classes, classifier)?;
        (model.origin, model.task) = (origin, d.task);
        let model = match labels {
            Some(mut rows) => {
                (rows.values, rows.terms, rows.lines) = (values, terms, lines);
                model.with_training(rows)?
            }
            None => model,
        };
        match certificate {
            Some(certificate) => model.with_certificate(certificate),
            None => Ok(model),
        }
    };
    model().map_err(|e| e.to_string())
}

/// A matrix as a tensor of any file of this crate.
pub(crate) fn matrix_tensor(m: &Matrix) -> Tensor {
    matrix(m)
}

/// A matrix among the tensors of a file.
pub(crate) fn tensor_matrix(views: &[(String, TensorView<'_>)], name: &str) -> Result<Matrix, String> {
    Tensors(views).matrix(name)?.ok_or_else(|| format!("tensor `{name}` is absent"))
}

/// SHA-256 of the description and of each tensor's name, shape and bytes, in the order of the names.
pub(crate) fn checksum<S: AsRef<str>>(text: &str, views: &[(S, TensorView<'_>)]) -> String {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(text.as_bytes());
    for (name, view) in views {
        part(name.as_ref().as_bytes());
        let shape: Vec<u8> = view.shape().iter().flat_map(|&n| (n as u64).to_le_bytes()).collect();
        part(&shape);
        part(view.data());
    }
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}
