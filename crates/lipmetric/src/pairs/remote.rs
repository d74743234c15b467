//! Passes whose parts are computed in other processes.
//!
//! A [`Question`] is the plain data of a pass. [`ask`] puts it to a cloud: by the threads of this process or, where the cloud has
//! [`Helpers`], by theirs. Helpers hold the same rows, and are told how the cloud is made of them (its [`Lineage`]: centred and
//! mapped so, these of the points), by which factors the points are mapped, and the question. They send back the parts that the
//! threads here would have computed, to the last bit; these are merged in the same order. What helpers leave undone is computed
//! here.

use super::executor::{Executor, Plain, Threads};
use super::scan::{Division, Parcel, Total, parcel, scan, screen_of};
use super::{Cloud, Embedding, Pass};
use crate::{Error, Matrix, Result, linalg};
use rayon::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Other processes that hold the same rows, and compute parts of passes over their pairs.
pub trait Helpers: std::fmt::Debug + Send + Sync {
    /// Whether a pass over the pairs of so many points is worth the way.
    fn worthwhile(&self, points: usize) -> bool;

    /// Has the parts of a pass computed, and hands them over in their order, from the first one on.
    ///
    /// # Errors
    /// If no more parts will come: those that are missing are then computed here.
    fn run(&self, errand: &Errand<'_>, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>;
}

/// What helpers are asked; see [`Share::answer`](crate::helpers::Share::answer).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Errand<'a> {
    /// Which question it is.
    pub name: &'static str,
    /// The number of the cloud of points, ...
    pub cloud: u64,
    /// ... and how it is made of the rows; helpers need it once.
    pub lineage: &'a [u8],
    /// How the points are mapped.
    pub maps: &'a [u8],
    /// The question.
    pub question: &'a [u8],
    /// About what each part costs: its tiles.
    pub costs: &'a [usize],
}

/// The plain data of a pass.
pub(crate) trait Question: Plain + Sync {
    /// By which other processes know it.
    const NAME: &'static str;
    type Part: Plain + Default;
    type Pass<'a>: Pass<Part = Self::Part>
    where
        Self: 'a;

    /// The pass over the pairs of a cloud.
    fn pass<'a>(&'a self, cloud: &'a Cloud, embeddings: &[&'a Embedding]) -> Self::Pass<'a>;
}

/// Puts a question to all pairs; see [`scan`].
pub(crate) fn ask<Q: Question>(cloud: &Cloud, embeddings: &[&Embedding], question: &Q) -> (Q::Part, Option<Matrix>) {
    let pass = question.pass(cloud, embeddings);
    let source = cloud.source.as_ref().filter(|source| source.helpers.worthwhile(cloud.len()));
    let Some(source) = source else { return scan(cloud, embeddings, &pass, &Threads) };
    let division = Division::of(cloud);
    let mut total = Total::new(cloud, &pass);
    // Helpers that fail have said why: what they leave is done here.
    let _ = source.run(division, embeddings, question, &mut total);
    let done = total.taken();
    if done < division.parts() {
        screen_of(cloud, embeddings, &pass);
    }
    let rest = |(): &mut (), k: usize| parcel(cloud, embeddings, &pass, division.rows(done + k));
    Threads.run(division.parts() - done, rest, |parcel| total.take(parcel));
    total.finish()
}

/// The parts of a question, as another process is asked for them.
pub(crate) fn reply<Q: Question>(
    cloud: &Cloud,
    embeddings: &[Embedding],
    question: &[u8],
    parts: &[usize],
) -> Result<Vec<Vec<u8>>> {
    let (question, embeddings): (Q, Vec<&Embedding>) = (decode(question)?, embeddings.iter().collect());
    let (pass, division) = (question.pass(cloud, &embeddings), Division::of(cloud));
    if let Some(part) = parts.iter().find(|part| **part >= division.parts()) {
        return Err(Error::data(format!("part {part} of a pass of {} parts is asked for", division.parts())));
    }
    screen_of(cloud, &embeddings, &pass);
    parts.par_iter().map(|&part| encode(&parcel(cloud, &embeddings, &pass, division.rows(part)))).collect()
}

fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    postcard::to_allocvec(value).map_err(|e| Error::data(format!("a part of a pass cannot be written: {e}")))
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    postcard::from_bytes(bytes).map_err(|e| {
        Error::data(format!(
            "{} bytes are no part of a pass ({e}): is the same version installed everywhere?",
            bytes.len()
        ))
    })
}

/// A matrix as it travels.
#[derive(Clone, Serialize, Deserialize)]
struct Sheet {
    cols: usize,
    values: Vec<f64>,
}

impl From<&Matrix> for Sheet {
    fn from(matrix: &Matrix) -> Self {
        Self { cols: matrix.cols(), values: matrix.as_slice().to_vec() }
    }
}

impl Sheet {
    fn matrix(self) -> Result<Matrix> {
        let rows = self.values.len().checked_div(self.cols).unwrap_or(0);
        Matrix::from_vec(rows, self.cols, self.values)
    }
}

/// How rows become the points of a first cloud: `x -> ((x - mean) * scale) map`; a feature of scale zero is left out.
#[derive(Debug, Clone)]
pub(crate) struct Affine {
    pub(crate) mean: Vec<f64>,
    pub(crate) scale: Vec<f64>,
    pub(crate) map: Matrix,
}

impl Affine {
    /// The rows in these coordinates.
    pub(crate) fn apply(&self, x: &Matrix) -> Matrix {
        let mut moved = x.clone();
        for i in 0..x.rows() {
            for ((v, m), s) in moved.row_mut(i).iter_mut().zip(&self.mean).zip(&self.scale) {
                *v = if *s == 0.0 { 0.0 } else { (*v - m) * s };
            }
        }
        linalg::product(&moved, &self.map)
    }
}

/// A step on the way from rows to a cloud.
#[derive(Serialize, Deserialize)]
enum Step {
    /// The first: which weights the rows have, none where all count once, and what is done with them.
    Rows { weight: Vec<f64>, affine: Option<(Vec<f64>, Vec<f64>, Sheet)> },
    /// [`Cloud::mapped`].
    Mapped(Sheet),
    /// [`Cloud::part`], or a part whose points keep their weights.
    Part { keep: Vec<u32>, weight: Vec<f64>, uniform: bool },
}

/// Who else holds the rows that a cloud is made of, and how it is made of them.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    helpers: Arc<dyn Helpers>,
    /// Steps, one after the other.
    lineage: Arc<[u8]>,
    id: u64,
}

impl Source {
    fn new(helpers: Arc<dyn Helpers>, lineage: Vec<u8>) -> Self {
        let mut hasher = DefaultHasher::new();
        lineage.hash(&mut hasher);
        Self { helpers, lineage: lineage.into(), id: hasher.finish() }
    }

    /// The source of a cloud that is made of this one's; none where the step cannot travel.
    fn then(&self, step: &Step) -> Option<Self> {
        let step = encode(step).ok()?;
        Some(Self::new(Arc::clone(&self.helpers), [&*self.lineage, &step].concat()))
    }

    fn run<Q: Question>(
        &self,
        division: Division,
        embeddings: &[&Embedding],
        question: &Q,
        total: &mut Total<'_, Q::Pass<'_>>,
    ) -> Result<()> {
        let maps: Vec<(u8, Sheet)> = embeddings.iter().map(|e| e.made()).map(|(how, m)| (how, m.into())).collect();
        let (maps, question) = (encode(&maps)?, encode(question)?);
        let costs: Vec<usize> = (0..division.parts()).map(|part| division.cost(part)).collect();
        let errand = Errand {
            name: Q::NAME,
            cloud: self.id,
            lineage: &self.lineage,
            maps: &maps,
            question: &question,
            costs: &costs,
        };
        self.helpers.run(&errand, &mut |bytes| {
            total.take(decode::<Parcel<Q::Part>>(bytes)?);
            Ok(())
        })
    }
}

impl Cloud {
    /// The same, whose passes these helpers compute: they hold the rows that it was made of by [`Cloud::new`], after they were
    /// mapped so, and with these weights.
    pub(crate) fn helped_by(
        mut self,
        helpers: Option<&Arc<dyn Helpers>>,
        weight: &[f64],
        affine: Option<&Affine>,
    ) -> Self {
        let plain = weight.iter().all(|&w| w == 1.0);
        let first = |helpers: &Arc<dyn Helpers>| {
            let weight = if plain { Vec::new() } else { weight.to_vec() };
            let affine = affine.map(|a| (a.mean.clone(), a.scale.clone(), (&a.map).into()));
            Source::new(Arc::clone(helpers), Vec::new()).then(&Step::Rows { weight, affine })
        };
        self.source = helpers.and_then(first);
        self
    }

    /// The source of the points mapped, and of some of them with other weights.
    pub(super) fn source_of_mapped(&self, map: &Matrix) -> Option<Source> {
        self.source.as_ref()?.then(&Step::Mapped(map.into()))
    }

    pub(super) fn source_of_part(&self, keep: &[usize], weight: &[f64], uniform: bool) -> Option<Source> {
        let source = self.source.as_ref()?;
        let keep = keep.iter().map(|&i| i as u32).collect();
        source.then(&Step::Part { keep, weight: weight.to_vec(), uniform })
    }

    /// A cloud made of rows as a lineage says.
    pub(crate) fn descended(x: &Matrix, class: &[u32], lineage: &[u8]) -> Result<Self> {
        let strange = || Error::data("a cloud of points is not described from its rows on");
        let mut cloud: Option<Self> = None;
        let mut left = lineage;
        while !left.is_empty() {
            let (step, rest) = postcard::take_from_bytes::<Step>(left).map_err(|_| strange())?;
            left = rest;
            cloud = Some(match (step, cloud) {
                (Step::Rows { weight, affine }, None) => {
                    let weight = if weight.is_empty() { vec![1.0; x.rows()] } else { weight };
                    if weight.len() != x.rows() || class.len() != x.rows() {
                        return Err(Error::shape("weights and classes of the rows", x.rows(), weight.len()));
                    }
                    match affine {
                        None => Self::new(x, class, &weight),
                        Some((mean, scale, map)) => {
                            let affine = Affine { mean, scale, map: map.matrix()? };
                            if affine.map.rows() != x.cols() {
                                return Err(Error::shape("features of the rows", affine.map.rows(), x.cols()));
                            }
                            Self::new(&affine.apply(x), class, &weight)
                        }
                    }
                }
                (Step::Mapped(map), Some(cloud)) => cloud.mapped(&map.matrix()?),
                (Step::Part { keep, weight, uniform }, Some(cloud)) => {
                    let keep: Vec<usize> = keep.into_iter().map(|i| i as usize).collect();
                    if keep.iter().any(|&i| i >= cloud.len()) {
                        return Err(strange());
                    }
                    Self { uniform, ..cloud.part(&keep, weight) }
                }
                _ => return Err(strange()),
            });
        }
        cloud.ok_or_else(strange)
    }
}

/// The points of a cloud as the maps of an errand say.
pub(crate) fn embedded(cloud: &Cloud, maps: &[u8]) -> Result<Vec<Embedding>> {
    let maps: Vec<(u8, Sheet)> = decode(maps)?;
    maps.into_iter().map(|(how, map)| Embedding::remade(cloud, how, map.matrix()?)).collect()
}
