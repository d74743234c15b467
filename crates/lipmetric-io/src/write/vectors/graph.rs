//! The files of the graph indexes hnswlib and usearch, with a graph that is built here. Everything is little-endian. `M` is the number
//! of links in the layers above the first, which has twice as many; a list of links is their number (u32) and room for as many as
//! there may be (u32 each).
//!
//! hnswlib (`Index.load_index`):
//!
//! * where the links of a point are (u64, 0), points that there is room for and points (u64), bytes of a point, where its label and its
//!   vector are in them (u64 each); the highest layer and the point that a search begins at (u32); `M`, `2 M`, `M` (u64), `1 / ln M` (f64),
//!   and how many points were looked at for the links of one (u64);
//! * of each point: the links of the first layer, the vector (f32), the label (u64);
//! * of each point: the bytes of its other layers (u32), and their links.
//!
//! usearch (`Index.restore`), version 2 of its format:
//!
//! * the number of vectors and the bytes of one (u32), and the vectors (f32);
//! * 64 bytes: `usearch`, the version (three u16), the kinds of metric, numbers, keys and links (u8 each), vectors that are there and that
//!   were deleted, elements of a vector (u64), whether a key may be there more than once (u8), and zeros;
//! * vectors, `M`, `2 M`, the highest layer, and where a search begins (u64 each); the highest layer of each point (i16);
//! * of each point: its key (u64), its highest layer (i16), and the links of all its layers.

use std::io::{self, Write};
use std::ops::ControlFlow;

use lipmetric::data::excerpt;
use lipmetric::neighbours::Graph;

use super::super::atomic::Sink;
use super::ids::Ids;
use super::{Batch, GoOn, WriteVectors, bytes};
use crate::numbers::as_whole;
use crate::{Error, Result};

/// Links of a point in the layers above the first, and points that are looked at for them: the usual ones of both.
const CONNECTIVITY: usize = 16;
const EFFORT: usize = 200;
/// The layers are drawn from it.
const SEED: u64 = 0;

/// Whose file it is.
#[derive(Clone, Copy)]
pub(super) enum Whose {
    Hnswlib,
    Usearch,
}

impl Whose {
    fn name(self) -> &'static str {
        match self {
            Self::Hnswlib => "hnswlib",
            Self::Usearch => "usearch",
        }
    }
}

/// Vectors that are kept until all are there.
pub(super) struct Linked {
    sink: Sink,
    whose: Whose,
    all: Vectors,
    graph: Option<Graph>,
}

/// Vectors, one after the other.
struct Vectors {
    width: usize,
    values: Vec<f32>,
}

/// An id as these indexes have them.
fn label(id: &str) -> Option<u64> {
    as_whole(id).and_then(|id| u64::try_from(id).ok())
}

impl Linked {
    pub(super) fn new(sink: Sink, width: usize, whose: Whose) -> Self {
        Self { sink, whose, all: Vectors { width, values: Vec::new() }, graph: None }
    }
}

impl Vectors {
    fn write_hnswlib(&self, graph: &Graph, labels: &[u64], out: &mut dyn Write) -> io::Result<()> {
        let (n, m) = (labels.len() as u64, graph.connectivity);
        let links = 4 + 4 * 2 * m;
        let vector = 4 * self.width;
        put(out, &[0, n, n, (links + vector + 8) as u64, (links + vector) as u64, links as u64])?;
        out.write_all(&(graph.top() as u32).to_le_bytes())?;
        out.write_all(&graph.entry.to_le_bytes())?;
        put(out, &[m as u64, 2 * m as u64, m as u64])?;
        out.write_all(&(1.0 / (m as f64).ln()).to_le_bytes())?;
        put(out, &[graph.effort as u64])?;
        for ((layers, vector), label) in graph.links.iter().zip(self.values.chunks_exact(self.width)).zip(labels) {
            out.write_all(&list(&layers[0], 2 * m))?;
            out.write_all(&bytes(vector))?;
            put(out, &[*label])?;
        }
        for layers in &graph.links {
            let above: Vec<u8> = layers[1..].iter().flat_map(|links| list(links, m)).collect();
            out.write_all(&(above.len() as u32).to_le_bytes())?;
            out.write_all(&above)?;
        }
        Ok(())
    }

    fn write_usearch(&self, graph: &Graph, keys: &[u64], out: &mut dyn Write) -> io::Result<()> {
        let (n, m) = (keys.len(), graph.connectivity);
        out.write_all(&(n as u32).to_le_bytes())?;
        out.write_all(&(4 * self.width as u32).to_le_bytes())?;
        for vector in self.values.chunks_exact(self.width) {
            out.write_all(&bytes(vector))?;
        }
        let mut head = b"usearch".to_vec();
        head.extend([2_u16, 16, 0].iter().flat_map(|v| v.to_le_bytes()));
        // Squared Euclidean distances, numbers of 32 bits, keys of 64 bits, links of 32 bits.
        head.extend([b'e', 11, 14, 15]);
        head.extend([n as u64, 0, self.width as u64].iter().flat_map(|v| v.to_le_bytes()));
        head.resize(64, 0);
        out.write_all(&head)?;
        put(out, &[n as u64, m as u64, 2 * m as u64, graph.top() as u64, u64::from(graph.entry)])?;
        let highest = |layers: &Vec<Vec<u32>>| ((layers.len() - 1) as i16).to_le_bytes();
        for layers in &graph.links {
            out.write_all(&highest(layers))?;
        }
        for (layers, key) in graph.links.iter().zip(keys) {
            put(out, &[*key])?;
            out.write_all(&highest(layers))?;
            for (layer, links) in layers.iter().enumerate() {
                out.write_all(&list(links, if layer == 0 { 2 * m } else { m }))?;
            }
        }
        Ok(())
    }
}

fn put(out: &mut dyn Write, values: &[u64]) -> io::Result<()> {
    values.iter().try_for_each(|v| out.write_all(&v.to_le_bytes()))
}

/// The number of links, and room for as many as there may be.
fn list(links: &[u32], most: usize) -> Vec<u8> {
    let mut out = (links.len() as u32).to_le_bytes().to_vec();
    out.extend(links.iter().flat_map(|l| l.to_le_bytes()));
    out.resize(4 + 4 * most, 0);
    out
}

impl WriteVectors for Linked {
    fn write(&mut self, batch: &Batch<'_>) -> Result<()> {
        if let Some(id) = batch.ids.iter().find(|id| batch.given && label(id).is_none()) {
            return Err(Error::usage(format!(
                "the ids of {} are whole numbers from 0 on, and `{}` is none; take another column, or none and keep the order of the \
                 rows: the index then numbers them from 0",
                self.whose.name(),
                excerpt(id)
            )));
        }
        let most = u32::MAX as usize;
        if self.all.values.len() / self.all.width + batch.ids.len() > most {
            return Err(Error::usage(format!("{} takes {most} vectors at most", self.whose.name())));
        }
        self.all.values.extend_from_slice(batch.vectors);
        Ok(())
    }

    fn link(&mut self, go_on: GoOn<'_>) -> Result<()> {
        let ask = |done: usize| if go_on(done) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
        let (vectors, sizes) = ((&self.all.values[..], self.all.width), (CONNECTIVITY, EFFORT));
        let given_up = || Error::usage("the graph was given up before it was complete, and nothing was written");
        self.graph = Some(Graph::of(vectors, sizes, SEED, ask).ok_or_else(given_up)?);
        Ok(())
    }

    fn finish(self: Box<Self>, ids: &Ids) -> Result<()> {
        let Self { mut sink, all, whose, graph } = *self;
        let Some(graph) = graph else { return Err(Error::usage("the vectors have no links yet")) };
        let labels: Vec<u64> = (0..ids.len()).filter_map(|i| label(&ids.get(i))).collect();
        let written = match whose {
            Whose::Hnswlib => all.write_hnswlib(&graph, &labels, &mut sink),
            Whose::Usearch => all.write_usearch(&graph, &labels, &mut sink),
        };
        written.map_err(|e| sink.fail(e))?;
        sink.finish()
    }
}
