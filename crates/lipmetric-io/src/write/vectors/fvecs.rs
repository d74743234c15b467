//! The length of each vector as a 32-bit whole number, and its elements.

use std::io::Write;

use super::super::atomic::Sink;
use super::ids::Ids;
use super::{Batch, WriteVectors, bytes};
use crate::Result;

pub(super) struct Fvecs {
    sink: Sink,
    width: usize,
}

impl Fvecs {
    pub(super) fn new(sink: Sink, width: usize) -> Self {
        Self { sink, width }
    }
}

impl WriteVectors for Fvecs {
    fn write(&mut self, batch: &Batch<'_>) -> Result<()> {
        let length = (self.width as i32).to_le_bytes();
        for vector in batch.vectors.chunks_exact(self.width) {
            let written = self.sink.write_all(&length).and_then(|()| self.sink.write_all(&bytes(vector)));
            written.map_err(|e| self.sink.fail(e))?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>, _: &Ids) -> Result<()> {
        self.sink.finish()
    }
}
