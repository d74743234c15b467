//! The file of a `faiss.IndexFlatL2`, within an `IndexIDMap` where there are ids. Everything is little-endian:
//!
//! * an index: four letters that name it (`IxF2`, `IxMp`), then a header: dimensions (i32), number of vectors (i64), two
//!   numbers without a meaning (i64), whether it is trained (u8), and the metric (i32; 1 for squared Euclidean distances);
//! * the flat index goes on with the number of floats (u64), and the floats;
//! * the map of ids goes on with the index that it is around, the number of ids (u64), and the ids (i64).

use std::io::{Seek, SeekFrom, Write};

use super::super::atomic::{SeekSink, Sink};
use super::ids::Ids;
use super::{Batch, WriteVectors, bytes};
use crate::numbers::as_whole;
use crate::{Error, Result};
use lipmetric::data::excerpt;

pub(super) struct Flat {
    sink: SeekSink,
    width: usize,
    mapped: bool,
}

impl Flat {
    pub(super) fn new(sink: Sink, width: usize, mapped: bool) -> Result<Self> {
        let mut flat = Self { sink: SeekSink::new(sink)?, width, mapped };
        let room = flat.head(0);
        flat.sink.write_all(&room).map_err(|e| flat.sink.fail(e))?;
        Ok(flat)
    }

    /// Everything before the floats.
    fn head(&self, rows: usize) -> Vec<u8> {
        let header = |name: &[u8; 4]| {
            let mut out = name.to_vec();
            out.extend((self.width as i32).to_le_bytes());
            out.extend((rows as i64).to_le_bytes());
            out.extend([(1_i64 << 20).to_le_bytes(); 2].concat());
            out.push(1);
            out.extend(1_i32.to_le_bytes());
            out
        };
        let mut out = if self.mapped { header(b"IxMp") } else { Vec::new() };
        out.extend(header(b"IxF2"));
        out.extend(((rows * self.width) as u64).to_le_bytes());
        out
    }
}

impl WriteVectors for Flat {
    fn write(&mut self, batch: &Batch<'_>) -> Result<()> {
        if batch.given
            && let Some(id) = batch.ids.iter().find(|id| as_whole(id).is_none())
        {
            return Err(Error::usage(format!(
                "the ids of a Faiss index are whole numbers, and `{}` is none; take another column, or none and keep the order \
                 of the rows: the index then numbers them from 0",
                excerpt(id)
            )));
        }
        self.sink.write_all(&bytes(batch.vectors)).map_err(|e| self.sink.fail(e))
    }

    fn finish(mut self: Box<Self>, ids: &Ids) -> Result<()> {
        let mut tail = Vec::new();
        if self.mapped {
            tail.extend((ids.len() as u64).to_le_bytes());
            let whole = (0..ids.len()).filter_map(|i| as_whole(&ids.get(i)));
            tail.extend(whole.flat_map(i64::to_le_bytes));
        }
        let head = self.head(ids.len());
        let sink = &mut self.sink;
        let mut patch = || {
            sink.write_all(&tail)?;
            sink.seek(SeekFrom::Start(0))?;
            sink.write_all(&head)
        };
        patch().map_err(|e| self.sink.fail(e))?;
        self.sink.finish()
    }
}
