//! One NumPy array of floats, in C order.

use std::io::{Seek, SeekFrom, Write};

use super::super::atomic::{SeekSink, Sink};
use super::ids::Ids;
use super::{Batch, WriteVectors, bytes};
use crate::Result;
use crate::npy::header_bytes;

pub(super) struct Npy {
    sink: SeekSink,
    width: usize,
}

impl Npy {
    pub(super) fn new(sink: Sink, width: usize) -> Result<Self> {
        let mut sink = SeekSink::new(sink)?;
        sink.write_all(&header_bytes("<f4", 0, Some(width))).map_err(|e| sink.fail(e))?;
        Ok(Self { sink, width })
    }
}

impl WriteVectors for Npy {
    fn write(&mut self, batch: &Batch<'_>) -> Result<()> {
        self.sink.write_all(&bytes(batch.vectors)).map_err(|e| self.sink.fail(e))
    }

    fn finish(mut self: Box<Self>, ids: &Ids) -> Result<()> {
        // Only now is the number of rows known; the header has room for it.
        let header = header_bytes("<f4", ids.len(), Some(self.width));
        let patched = self.sink.seek(SeekFrom::Start(0)).and_then(|_| self.sink.write_all(&header));
        patched.map_err(|e| self.sink.fail(e))?;
        self.sink.finish()
    }
}
