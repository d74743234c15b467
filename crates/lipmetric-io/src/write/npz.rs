//! NumPy arrays in a zip archive: `X`, `y` and `columns`.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};

use lipmetric::data::{Table, Texts, Values};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::atomic::{SeekSink, Sink};
use super::npy::write_rows;
use super::{WriteBatches, numbers};
use crate::npy::header_bytes;
use crate::numbers::{as_whole, shortest};
use crate::{Error, Format, Result};

pub(super) struct Npz {
    sink: SeekSink,
    label: String,
    /// The features, whose number must be known before they go into the archive.
    spool: BufWriter<File>,
    rows: usize,
    columns: usize,
    names: Option<Texts>,
    labels: Option<Texts>,
}

fn spool_failure(error: io::Error) -> Error {
    Error::io("write", "a temporary file", error)
}

impl Npz {
    pub(super) fn new(sink: Sink, label: String) -> Result<Self> {
        let spool = BufWriter::new(tempfile::tempfile().map_err(spool_failure)?);
        Ok(Self { sink: SeekSink::new(sink)?, label, spool, rows: 0, columns: 0, names: None, labels: None })
    }
}

impl WriteBatches for Npz {
    fn write(&mut self, table: &Table) -> Result<()> {
        let at = table.position(&self.label);
        let others = || table.columns.iter().enumerate().filter(|(j, _)| Some(*j) != at).map(|(_, c)| c);
        if self.rows == 0 {
            self.names = table.named.then(|| others().map(|c| &c.name).collect());
            self.labels = at.map(|_| Texts::new());
        }
        let features = others().map(|c| numbers(table, c, Format::Npz)).collect::<Result<Vec<_>>>()?;
        self.columns = features.len();
        write_rows(&mut self.spool, &features, table.rows()).map_err(spool_failure)?;
        if let (Some(labels), Some(j)) = (&mut self.labels, at) {
            match &table.columns[j].values {
                Values::Text(t) => t.iter().for_each(|cell| labels.push(cell)),
                Values::Number(v) => {
                    v.iter().for_each(|&v| labels.push(&if v.is_nan() { String::new() } else { shortest(v) }));
                }
            }
        }
        self.rows += table.rows();
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self { mut sink, spool, rows, columns, names, labels, .. } = *self;
        let fill = |sink: &mut SeekSink| -> io::Result<()> {
            let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
            let mut zip = ZipWriter::new(sink);
            zip.start_file("X.npy", options.large_file(true))?;
            zip.write_all(&header_bytes("<f8", rows, Some(columns)))?;
            let mut features = spool.into_inner().map_err(io::IntoInnerError::into_error)?;
            features.rewind()?;
            io::copy(&mut features, &mut zip)?;
            if let Some(labels) = labels {
                zip.start_file("y.npy", options.large_file(true))?;
                write_texts(&mut zip, &labels)?;
            }
            if let Some(names) = names {
                zip.start_file("columns.npy", options)?;
                write_unicode(&mut zip, &names)?;
            }
            zip.finish()?;
            Ok(())
        };
        fill(&mut sink).map_err(|e| sink.fail(e))?;
        sink.finish()
    }
}

/// Text as whole numbers if that is what all of it is, else as Unicode.
pub(super) fn write_texts(out: &mut impl Write, texts: &Texts) -> io::Result<()> {
    let Some(numbers) = texts.iter().map(as_whole).collect::<Option<Vec<i64>>>() else {
        return write_unicode(out, texts);
    };
    out.write_all(&header_bytes("<i8", numbers.len(), None))?;
    numbers.iter().try_for_each(|v| out.write_all(&v.to_le_bytes()))
}

fn write_unicode(out: &mut impl Write, texts: &Texts) -> io::Result<()> {
    let width = texts.iter().map(|t| t.chars().count()).max().unwrap_or(0).max(1);
    out.write_all(&header_bytes(&format!("<U{width}"), texts.len(), None))?;
    for text in texts.iter() {
        let mut left = width;
        for c in text.chars() {
            out.write_all(&u32::from(c).to_le_bytes())?;
            left -= 1;
        }
        io::copy(&mut io::Read::take(io::repeat(0), 4 * left as u64), out)?;
    }
    Ok(())
}
