//! Records of delimited text: cells of one row, with the true line it begins on and a bounded length.

use std::io::ErrorKind;

use csv_core::ReadRecordResult;

use super::MAX_RECORD;
use super::lines::{Lines, too_long};
use crate::source::Input;
use crate::{Error, Result};

/// The cells of one row, stored end to end.
#[derive(Debug, Clone, Default)]
pub(super) struct Record {
    /// The line it begins on.
    pub(super) line: u64,
    /// The line it ends on, if that is another (a quoted cell may hold line ends).
    pub(super) last_line: u64,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Record {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn size(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn cell(&self, j: usize) -> &[u8] {
        let start = if j == 0 { 0 } else { self.ends[j - 1] };
        &self.bytes[start..self.ends[j]]
    }

    /// The cell as text for looking at types; damage shows up later, when the row is taken in.
    pub(super) fn lossy(&self, j: usize) -> String {
        String::from_utf8_lossy(self.cell(j)).trim().to_owned()
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

/// Reads records with one delimiter; `b' '` stands for runs of blanks.
pub(super) enum Records {
    Delimited(Box<Delimited>),
    Blanks(Lines),
}

impl Records {
    pub(super) fn new(input: Input, delimiter: u8) -> Self {
        if delimiter == b' ' {
            Self::Blanks(Lines::new(input))
        } else {
            Self::Delimited(Box::new(Delimited::new(input, delimiter)))
        }
    }

    pub(super) fn input(&self) -> &Input {
        match self {
            Self::Delimited(d) => &d.input,
            Self::Blanks(lines) => &lines.input,
        }
    }

    /// Reads the next record; `false` at the end.
    pub(super) fn read(&mut self, record: &mut Record) -> Result<bool> {
        match self {
            Self::Delimited(d) => d.read(record),
            Self::Blanks(lines) => {
                while let Some((number, line)) = lines.next()? {
                    record.clear();
                    record.line = number;
                    record.last_line = number;
                    split_blanks(line, record);
                    if record.len() > 0 {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }
}

/// Cuts a line at runs of blanks; a cell that begins with a quote ends at the next lone quote.
fn split_blanks(line: &[u8], record: &mut Record) {
    let mut rest = line.trim_ascii_start();
    while !rest.is_empty() {
        if rest[0] == b'"' {
            let mut at = 1;
            while at < rest.len() {
                if rest[at] == b'"' {
                    if rest.get(at + 1) != Some(&b'"') {
                        break;
                    }
                    at += 1;
                }
                record.bytes.push(rest[at]);
                at += 1;
            }
            rest = rest.get(at + 1..).unwrap_or_default();
        }
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        record.bytes.extend_from_slice(&rest[..end]);
        record.ends.push(record.bytes.len());
        rest = rest[end..].trim_ascii_start();
    }
}

/// Drives `csv-core` by hand rather than through `csv::Reader`, to bound the length of a record and to know
/// its line when blank lines came before it.
pub(super) struct Delimited {
    input: Input,
    core: csv_core::Reader,
    tab: bool,
    line: u64,
    after_cr: bool,
}

impl Delimited {
    fn new(input: Input, delimiter: u8) -> Self {
        let core = csv_core::ReaderBuilder::new().delimiter(delimiter).build();
        Self { input, core, tab: delimiter == b'\t', line: 1, after_cr: false }
    }

    /// Counts the line ends (LF, CR LF or CR) among consumed bytes.
    fn count_lines(line: &mut u64, after_cr: &mut bool, bytes: &[u8]) {
        let Some(&last) = bytes.last() else { return };
        let mut ends = bytes.iter().filter(|&&b| b == b'\n').count();
        if *after_cr && bytes[0] == b'\n' {
            ends -= 1;
        }
        if bytes.contains(&b'\r') {
            ends += bytes.iter().filter(|&&b| b == b'\r').count();
            ends -= bytes.windows(2).filter(|w| *w == b"\r\n").count();
        }
        *line += ends as u64;
        *after_cr = last == b'\r';
    }

    fn read(&mut self, record: &mut Record) -> Result<bool> {
        loop {
            self.skip_line_ends()?;
            match self.read_raw(record)? {
                None => return Ok(false),
                Some(blank) if blank => {}
                Some(_) => return Ok(true),
            }
        }
    }

    fn skip_line_ends(&mut self) -> Result<()> {
        loop {
            let chunk = match self.input.reader.fill_buf() {
                Ok(chunk) => chunk,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => return Err(self.input.fail(e)),
            };
            let ends = chunk.iter().take_while(|b| matches!(b, b'\n' | b'\r')).count();
            if ends == 0 {
                return Ok(());
            }
            Self::count_lines(&mut self.line, &mut self.after_cr, &chunk[..ends]);
            self.input.reader.consume(ends);
        }
    }

    /// Reads one record and tells whether its line was nothing but blanks.
    fn read_raw(&mut self, record: &mut Record) -> Result<Option<bool>> {
        record.clear();
        record.line = self.line;
        let is_blank = |b: &u8| matches!(b, b' ' | b'\n' | b'\r') || (*b == b'\t' && !self.tab);
        let (mut filled, mut ended, mut consumed, mut quotes, mut blank) = (0, 0, 0, 0, true);
        record.bytes.resize(record.bytes.capacity().max(1024), 0);
        record.ends.resize(record.ends.capacity().max(32), 0);
        loop {
            let chunk = match self.input.reader.fill_buf() {
                Ok(chunk) => chunk,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => return Err(self.input.fail(e)),
            };
            let at_end = chunk.is_empty();
            let (result, taken, wrote, cells) =
                self.core.read_record(chunk, &mut record.bytes[filled..], &mut record.ends[ended..]);
            let taken_bytes = &chunk[..taken];
            quotes += taken_bytes.iter().filter(|&&b| b == b'"').count();
            blank = blank && taken_bytes.iter().all(is_blank);
            Self::count_lines(&mut self.line, &mut self.after_cr, taken_bytes);
            self.input.reader.consume(taken);
            filled += wrote;
            ended += cells;
            consumed += taken;
            if consumed > MAX_RECORD {
                return Err(too_long(&self.input.origin, record.line));
            }
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => record.bytes.resize(record.bytes.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => record.ends.resize(record.ends.len() * 2, 0),
                ReadRecordResult::Record => {
                    record.bytes.truncate(filled);
                    record.ends.truncate(ended);
                    // Only an open quote lets a record run over a line end and up to the end of the file; taking it
                    // in would swallow the rows below it without a word.
                    if at_end && quotes % 2 == 1 && self.line > record.line {
                        let message = "a quote that opens in this row is never closed; close it, or double it if it \
                                       is part of the text";
                        return Err(Error::data_at_line(&self.input.origin, record.line, message));
                    }
                    record.last_line = self.line.saturating_sub(1).max(record.line);
                    return Ok(Some(blank));
                }
                ReadRecordResult::End => return Ok(None),
            }
        }
    }
}
