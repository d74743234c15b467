//! Lines of a bounded length.

use super::MAX_RECORD;
use crate::source::Input;
use crate::{Error, Result};

/// Reads line by line; a line that is too long is refused before it fills the memory.
pub(super) struct Lines {
    pub(super) input: Input,
    buffer: Vec<u8>,
    number: u64,
}

impl Lines {
    pub(super) fn new(input: Input) -> Self {
        Self { input, buffer: Vec::new(), number: 0 }
    }

    /// The next line and its number, without its end.
    pub(super) fn next(&mut self) -> Result<Option<(u64, &[u8])>> {
        self.buffer.clear();
        self.number += 1;
        loop {
            let chunk = match self.input.reader.fill_buf() {
                Ok(chunk) => chunk,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(self.input.fail(e)),
            };
            let end = chunk.iter().position(|&b| b == b'\n');
            let taken = end.unwrap_or(chunk.len());
            if self.buffer.len() + taken > MAX_RECORD {
                return Err(too_long(&self.input.origin, self.number));
            }
            self.buffer.extend_from_slice(&chunk[..taken]);
            let at_end = chunk.is_empty();
            self.input.reader.consume(taken + usize::from(end.is_some()));
            if end.is_some() || at_end {
                if at_end && self.buffer.is_empty() {
                    return Ok(None);
                }
                let line = self.buffer.strip_suffix(b"\r").unwrap_or(&self.buffer);
                return Ok(Some((self.number, line)));
            }
        }
    }
}

pub(super) fn too_long(origin: &str, line: u64) -> Error {
    let message = format!(
        "the row that begins here is longer than {} MiB; check that lines end in a newline and that every \
         quote is closed",
        MAX_RECORD >> 20
    );
    Error::data_at_line(origin, line, message)
}

/// Where the first invalid byte stands and what it is, for text that is not UTF-8.
pub(super) fn not_utf8(bytes: &[u8], error: std::str::Utf8Error) -> String {
    let byte = bytes.get(error.valid_up_to()).copied().unwrap_or(0);
    format!("byte 0x{byte:02x} is not valid UTF-8; save the file as UTF-8, or say what it is with `encoding = latin-1`")
}
