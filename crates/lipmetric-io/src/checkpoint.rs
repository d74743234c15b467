//! Checkpoints: what a fit has come to, in a file, so that the same fit goes on from there after it was killed.
//!
//! A [`Checkpoint`] is an observer. Solvers offer it their state between steps; about once a second it writes what it has, atomically.
//! A later run of the same fit finds it there. The file belongs to one fit: the rows, the method and everything else that decides
//! the result are part of it, and it is refused for any other.
//!
//! ```
//! use lipmetric::method::{Nca, Spec};
//! use lipmetric::model::Recipe;
//! use lipmetric::prepare::{Dataset, Roles};
//! use lipmetric::solver::Silent;
//! use lipmetric_io::checkpoint::{Checkpoint, Identity};
//! use lipmetric_io::datasets;
//!
//! let data = Dataset::read(&datasets::load("echo")?, &Roles::default())?;
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("echo.checkpoint");
//! let spec: Spec = Nca::new().into();
//! let recipe = Recipe::new(&spec);
//! let mut checkpoint = Checkpoint::open(&path, &Identity::of(&recipe, &data), Silent)?;
//! let model = recipe.fit(&data, None, &mut checkpoint)?;
//! checkpoint.remove()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::model::{checksum, matrix_tensor, tensor_matrix, whole};
use crate::{Error, Result, Source, atomic_write, fingerprint, fingerprint_of_text};
use lipmetric::Metric;
use lipmetric::model::Recipe;
use lipmetric::prepare::Dataset;
use lipmetric::solver::{Halt, Kept, Observer, Progress};
use safetensors::tensor::{SafeTensorError, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The format that this program writes and reads. What solvers keep may change with it and with the program.
const FORMAT_VERSION: u32 = 1;

const KEY: &str = "lipmetric-checkpoint";

/// At least so long between two writings, ...
const EVERY: Duration = Duration::from_secs(1);
/// ... and so many times as long as the last one took: a twentieth of the time, at most, goes into them.
const REST: u32 = 20;

/// The fit that a checkpoint belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The data's fingerprint.
    data: String,
    /// Everything else that decides the result, in words.
    settings: String,
}

impl Identity {
    /// That of a recipe on a data set.
    #[must_use]
    pub fn of(recipe: &Recipe<'_>, data: &Dataset) -> Self {
        let bits = |values: &[f64]| {
            let text: Vec<String> = values.iter().map(|v| format!("{:x}", v.to_bits())).collect();
            fingerprint_of_text(&text.join(","))
        };
        let mut settings = serde_json::json!({
            "spec": recipe.spec,
            "classifier": recipe.classifier,
            "fill": format!("{:?}", recipe.fill),
            "scaling": format!("{:?}", recipe.scaling),
            "weights": recipe.weights.map(bits),
            "start": recipe.start.map(|metric| bits(metric.factor().as_slice())),
            "triplets": recipe.triplets.map(|triplets| fingerprint_of_text(&format!("{triplets:?}"))),
        });
        // What older checkpoints know nothing of is named only where it is there.
        let later = [
            ("dims", recipe.dims.map(|dims| dims.to_string())),
            ("pairs", recipe.pairs.map(|pairs| fingerprint_of_text(&format!("{pairs:?}")))),
            ("quadruplets", recipe.quadruplets.map(|all| fingerprint_of_text(&format!("{all:?}")))),
        ];
        for (name, told) in later.into_iter().filter_map(|(name, told)| Some((name, told?))) {
            settings[name] = told.into();
        }
        Self { data: fingerprint(data), settings: settings.to_string() }
    }
}

/// The description in a file.
#[derive(Serialize, Deserialize)]
struct Header {
    format_version: u32,
    program_version: String,
    /// SHA-256 of all that follows and of the tensors.
    checksum: String,
    identity: Identity,
    /// The parts in order: name, text, and the number of matrices.
    parts: Vec<(String, String, usize)>,
}

/// As [`Header`], but leaving everything open that a later format may change.
#[derive(Deserialize)]
struct AnyHeader {
    format_version: u32,
    #[serde(default)]
    program_version: String,
}

/// Keeps what a fit has come to in a file, and passes everything on to another observer.
#[derive(Debug)]
pub struct Checkpoint<O> {
    inner: O,
    path: PathBuf,
    identity: Identity,
    parts: BTreeMap<String, Kept>,
    taken_up: bool,
    /// Whether there is something that the file does not have.
    unwritten: bool,
    every: Duration,
    next: Instant,
    failure: Option<Error>,
}

impl<O: Observer> Checkpoint<O> {
    /// A checkpoint of this fit in a file, and what an earlier run has left there.
    ///
    /// # Errors
    /// If there is a file that is no checkpoint, is damaged, or belongs to another fit.
    pub fn open(path: impl AsRef<Path>, identity: &Identity, inner: O) -> Result<Self> {
        let path = path.as_ref().to_path_buf();
        let parts = match fs::metadata(&path) {
            Ok(_) => read(&path, identity)?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(e) => return Err(Error::io_path("read", &path, e)),
        };
        let taken_up = !parts.is_empty();
        let (identity, every, next) = (identity.clone(), EVERY, Instant::now() + EVERY);
        Ok(Self { inner, path, identity, parts, taken_up, unwritten: false, every, next, failure: None })
    }

    /// The same with another time between two writings, at least; a second by default.
    #[must_use]
    pub fn every(self, every: Duration) -> Self {
        Self { every, next: Instant::now() + every, ..self }
    }

    /// Whether an earlier run has left something to go on from.
    #[must_use]
    pub fn taken_up(&self) -> bool {
        self.taken_up
    }

    /// Why the file could not be written, if that was so. The fit goes on without it.
    #[must_use]
    pub fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    /// Removes the file: the fit is done.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn remove(self) -> Result<()> {
        remove(&self.path)
    }

    fn write(&mut self) {
        let begun = Instant::now();
        let written =
            bytes(&self.identity, &self.parts).and_then(|bytes| atomic_write(&self.path, |w| w.write_all(&bytes)));
        self.unwritten = written.is_err();
        self.failure = written.err();
        let now = Instant::now();
        self.next = now + self.every.max(REST * (now - begun));
    }
}

impl<O: Observer> Observer for Checkpoint<O> {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Halt> {
        let told = self.inner.progress(at);
        if told.is_break() && self.unwritten {
            self.write();
        }
        told
    }

    fn decided(&mut self, what: &str) {
        self.inner.decided(what);
    }

    fn kept(&mut self, part: &str) -> Option<Kept> {
        self.parts.get(part).cloned()
    }

    fn keep(&mut self, part: &str, state: &mut dyn FnMut() -> Kept) {
        if Instant::now() >= self.next {
            self.parts.insert(part.to_owned(), state());
            self.write();
        }
    }

    fn reached(&mut self, metric: &mut dyn FnMut() -> Option<Metric>) {
        self.inner.reached(metric);
    }

    fn finished(&mut self, part: &str, result: &Kept) {
        let inside = format!("{part}/");
        self.parts.retain(|name, _| !name.starts_with(&inside));
        self.parts.insert(part.to_owned(), result.clone());
        self.unwritten = true;
        if Instant::now() >= self.next {
            self.write();
        }
    }
}

/// Removes a checkpoint; it is no error if there is none.
///
/// # Errors
/// If the system refuses.
pub fn remove(path: impl AsRef<Path>) -> Result<()> {
    match fs::remove_file(&path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io_path("remove", path.as_ref(), e)),
        _ => Ok(()),
    }
}

/// The name of a part's matrix.
fn tensor(part: usize, at: usize) -> String {
    format!("{part}.{at}")
}

fn bytes(identity: &Identity, parts: &BTreeMap<String, Kept>) -> Result<Vec<u8>> {
    let fail = |e: &dyn std::fmt::Display| Error::data("the checkpoint", format!("it cannot be stored: {e}"));
    let mut tensors = BTreeMap::new();
    for (at, kept) in parts.values().enumerate() {
        for (k, matrix) in kept.numbers.iter().enumerate() {
            tensors.insert(tensor(at, k), matrix_tensor(matrix));
        }
    }
    let views = tensors
        .iter()
        .map(|(name, (dtype, shape, bytes))| Ok((name.as_str(), TensorView::new(*dtype, shape.clone(), bytes)?)))
        .collect::<Result<Vec<_>, SafeTensorError>>()
        .map_err(|e| fail(&e))?;
    let parts = parts.iter().map(|(name, kept)| (name.clone(), kept.text.clone(), kept.numbers.len())).collect();
    let mut header = Header {
        format_version: FORMAT_VERSION,
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        checksum: String::new(),
        identity: identity.clone(),
        parts,
    };
    header.checksum = checksum(&told(&header).map_err(|e| fail(&e))?, &views);
    let text = serde_json::to_string(&header).map_err(|e| fail(&e))?;
    safetensors::serialize(views, Some(HashMap::from([(KEY.to_owned(), text)]))).map_err(|e| fail(&e))
}

/// What the checksum is of, beside the tensors.
fn told(header: &Header) -> serde_json::Result<String> {
    serde_json::to_string(&(&header.identity, &header.parts))
}

fn read(path: &Path, identity: &Identity) -> Result<BTreeMap<String, Kept>> {
    let origin = path.display().to_string();
    let refuse = |what: &str| Err(Error::data(&origin, what));
    let damaged = |what: &str| {
        Error::data(&origin, format!("the checkpoint is damaged: {what}; remove the file to begin the fit anew"))
    };
    let foreign = || Error::data(&origin, "this is not a checkpoint of lipmetric; choose another name for it");
    let bytes = whole(&Source::Path(path.to_path_buf()))?;
    let (_, metadata) = SafeTensors::read_metadata(&bytes).map_err(|_| foreign())?;
    let text = metadata.metadata().as_ref().and_then(|m| m.get(KEY)).ok_or_else(foreign)?;
    let any: AnyHeader = serde_json::from_str(text).map_err(|e| damaged(&e.to_string()))?;
    let program = env!("CARGO_PKG_VERSION");
    if any.format_version != FORMAT_VERSION || any.program_version != program {
        return Err(Error::data(
            &origin,
            format!(
                "the checkpoint was written by lipmetric {} (format {}), and this is {program} (format {FORMAT_VERSION}); go on \
                 with that version, or remove the file to begin the fit anew",
                any.program_version, any.format_version
            ),
        ));
    }
    let header: Header = serde_json::from_str(text).map_err(|e| damaged(&e.to_string()))?;
    let tensors = SafeTensors::deserialize(&bytes).map_err(|e| damaged(&e.to_string()))?;
    let mut views: Vec<(String, TensorView<'_>)> = tensors.tensors();
    views.sort_by(|a, b| a.0.cmp(&b.0));
    if told(&header).ok().is_none_or(|told| checksum(&told, &views) != header.checksum) {
        return Err(damaged("its content does not match its checksum"));
    }
    if header.identity.data != identity.data {
        return refuse(
            "the checkpoint belongs to a fit of other rows; fit those, give another name, or remove the file to begin anew",
        );
    }
    if header.identity.settings != identity.settings {
        return refuse(
            "the checkpoint belongs to a fit of these rows with other options; give those, another name, or remove the file to \
             begin anew",
        );
    }
    let mut parts = BTreeMap::new();
    for (at, (name, text, count)) in header.parts.into_iter().enumerate() {
        let one = |k| tensor_matrix(&views, &tensor(at, k)).map_err(|what| damaged(&what));
        let numbers = (0..count).map(one).collect::<Result<_>>()?;
        parts.insert(name, Kept::new(text, numbers));
    }
    Ok(parts)
}
