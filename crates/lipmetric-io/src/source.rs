//! Where bytes come from: a path, standard input or memory; gzip is undone on the way.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use crate::encoding::{Decoded, Encoding};
use crate::{Error, Result};

/// How much is read ahead to tell formats, delimiters and headers apart.
const SAMPLE: usize = 64 << 10;

/// Where to read from.
///
/// ```
/// use lipmetric_io::Source;
/// assert_eq!(Source::new("-"), Source::Stdin);
/// assert_eq!(Source::new("a.csv").name(), "a.csv");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// A file.
    Path(PathBuf),
    /// Standard input.
    Stdin,
    /// Bytes in memory under a name, whose ending tells the format like a file's.
    Bytes {
        /// What messages call it.
        name: String,
        /// The content.
        bytes: Cow<'static, [u8]>,
    },
}

impl Source {
    /// A source as a user names it on a command line: a path, or `-` for standard input.
    pub fn new(name: impl AsRef<OsStr>) -> Self {
        let name = name.as_ref();
        if name == "-" { Self::Stdin } else { Self::Path(PathBuf::from(name)) }
    }

    /// Static bytes under a name.
    pub fn bytes<B: AsRef<[u8]> + ?Sized>(name: impl Into<String>, bytes: &'static B) -> Self {
        Self::Bytes { name: name.into(), bytes: Cow::Borrowed(bytes.as_ref()) }
    }

    /// Owned bytes under a name.
    pub fn buffer(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self::Bytes { name: name.into(), bytes: Cow::Owned(bytes) }
    }

    /// What messages call the source.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Stdin => "standard input".to_owned(),
            Self::Bytes { name, .. } => name.clone(),
        }
    }

    /// The name that may tell the format.
    pub(crate) fn file_name(&self) -> Option<&Path> {
        match self {
            Self::Path(path) => Some(path),
            Self::Stdin => None,
            Self::Bytes { name, .. } => Some(Path::new(name)),
        }
    }

    /// The raw bytes, and the file itself where one can jump about in it.
    fn raw(&self) -> Result<(Box<dyn Read + Send>, Option<File>)> {
        match self {
            Self::Stdin => Ok((Box::new(io::stdin()), None)),
            Self::Bytes { bytes, .. } => Ok((Box::new(Cursor::new(bytes.clone())), None)),
            Self::Path(path) => {
                let fail = |e| Error::io_path("read", path, e);
                let file = File::open(path).map_err(fail)?;
                let about = file.metadata().map_err(fail)?;
                if about.is_dir() {
                    return Err(fail(io::ErrorKind::IsADirectory.into()));
                }
                let random = if about.is_file() { Some(file.try_clone().map_err(fail)?) } else { None };
                Ok((Box::new(file), random))
            }
        }
    }

    /// The bytes as they are, for formats that say themselves how many there are.
    pub(crate) fn reader(&self) -> Result<Box<dyn Read + Send>> {
        Ok(self.raw()?.0)
    }

    /// Whether rows may come one by one, with pauses.
    fn may_pause(&self) -> bool {
        match self {
            Self::Stdin => true,
            Self::Path(path) => std::fs::metadata(path).is_ok_and(|about| !about.is_file()),
            Self::Bytes { .. } => false,
        }
    }

    /// Opens the source; `streaming` if rows are wanted as soon as they come.
    pub(crate) fn open(&self, streaming: bool) -> Result<Opened> {
        let live = streaming && self.may_pause();
        let (raw, file) = self.raw()?;
        Opened::new(self.name(), raw, file, live)
    }
}

/// A source that is open, gunzipped, and whose beginning has been looked at.
pub(crate) struct Opened {
    pub(crate) input: Input,
    /// The first bytes; they are read again through `input`.
    pub(crate) sample: Vec<u8>,
    /// Whether the sample is everything.
    pub(crate) complete: bool,
    /// The file itself if it is a regular one that is not compressed.
    pub(crate) file: Option<File>,
}

/// Bytes of a source together with what is needed to tell its failures.
pub(crate) struct Input {
    pub(crate) origin: String,
    pub(crate) gzip: bool,
    pub(crate) reader: Box<dyn Ahead>,
    /// Whether rows may come one by one, and are wanted as they come.
    pub(crate) live: bool,
}

/// A reader that tells what it has read ahead.
pub(crate) trait Ahead: io::BufRead + Send {
    /// What can be had without waiting for the source.
    fn ahead(&self) -> &[u8];
}

impl<R: Read + Send> Ahead for BufReader<R> {
    fn ahead(&self) -> &[u8] {
        self.buffer()
    }
}

impl Ahead for Cursor<Vec<u8>> {
    fn ahead(&self) -> &[u8] {
        self.get_ref().get(self.position() as usize..).unwrap_or_default()
    }
}

impl Input {
    /// Tells damaged compression (the file's fault) from a failing disk or pipe (the system's).
    pub(crate) fn fail(&self, error: io::Error) -> Error {
        read_failure(&self.origin, self.gzip, error)
    }

    /// Whether the next row would have to be waited for, so that those before it should be given out (unless all are wanted).
    pub(crate) fn would_wait(&self, max_rows: usize) -> bool {
        self.live && max_rows < usize::MAX && self.reader.ahead().iter().all(|b| matches!(b, b'\n' | b'\r'))
    }

    /// Everything that is left, up to a limit.
    pub(crate) fn slurp(&mut self, limit: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut limited = (&mut self.reader).take(limit.saturating_add(1));
        limited.read_to_end(&mut bytes).map_err(|e| read_failure(&self.origin, self.gzip, e))?;
        if bytes.len() as u64 > limit {
            return Err(too_large(&self.origin, limit));
        }
        Ok(bytes)
    }
}

/// A source that holds more than may be in memory at once.
pub(crate) fn too_large(origin: &str, limit: u64) -> Error {
    let message = format!(
        "it takes more than {} MiB of memory, which is the limit; read fewer rows or columns, or raise it with the parameter \
         `max_memory`",
        limit >> 20
    );
    Error::data(origin, message)
}

pub(crate) fn read_failure(origin: &str, gzip: bool, error: io::Error) -> Error {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    if gzip && matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof) {
        let message = format!("the gzip compression is damaged or cut short ({error}); get the file again");
        return Error::data(origin, message);
    }
    if error.kind() == InvalidData {
        return Error::data(origin, error.to_string());
    }
    Error::io("read", origin, error)
}

/// Reads until `buffer` has `want` bytes or the input ends.
fn fill(reader: &mut impl Read, buffer: &mut Vec<u8>, want: usize) -> io::Result<()> {
    let more = want.saturating_sub(buffer.len());
    reader.take(more as u64).read_to_end(buffer).map(|_| ())
}

/// Reads until there are two lines, or `want` bytes, or the input ends; tells whether it ended.
fn fill_lines(reader: &mut impl Read, buffer: &mut Vec<u8>, want: usize) -> io::Result<bool> {
    let mut chunk = vec![0; want];
    while buffer.len() < want && buffer.iter().filter(|&&b| b == b'\n').count() < 2 {
        let room = want - buffer.len();
        match reader.read(&mut chunk[..room]) {
            Ok(0) => return Ok(true),
            Ok(n) => buffer.extend_from_slice(&chunk[..n]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(false)
}

impl Opened {
    pub(crate) fn new(origin: String, mut raw: Box<dyn Read + Send>, file: Option<File>, live: bool) -> Result<Self> {
        let mut head = Vec::new();
        fill(&mut raw, &mut head, 2).map_err(|e| read_failure(&origin, false, e))?;
        let gzip = head == [0x1f, 0x8b];
        let raw = Cursor::new(head).chain(raw);
        let plain: Box<dyn Read + Send> =
            if gzip { Box::new(MultiGzDecoder::new(BufReader::with_capacity(SAMPLE, raw))) } else { Box::new(raw) };
        Self::sampled(origin, plain, if gzip { None } else { file }, (gzip, live))
    }

    /// Looks at the beginning of the bytes.
    fn sampled(
        origin: String,
        mut plain: Box<dyn Read + Send>,
        file: Option<File>,
        (gzip, live): (bool, bool),
    ) -> Result<Self> {
        let mut sample = Vec::new();
        let complete = if live {
            fill_lines(&mut plain, &mut sample, SAMPLE)
        } else {
            fill(&mut plain, &mut sample, SAMPLE).map(|()| sample.len() < SAMPLE)
        }
        .map_err(|e| read_failure(&origin, gzip, e))?;
        let reader = Box::new(BufReader::with_capacity(SAMPLE, Cursor::new(sample.clone()).chain(plain)));
        Ok(Self { input: Input { origin, gzip, reader, live }, sample, complete, file })
    }

    /// The same with its text turned into UTF-8.
    pub(crate) fn decoded(self, encoding: Encoding) -> Result<Self> {
        let Input { origin, gzip, reader, live } = self.input;
        let fail = |e: io::Error| read_failure(&origin, gzip, e);
        let mut plain = Decoded::new(reader, encoding);
        // Damage at the very beginning is told here, in words of its own.
        let mut first = vec![0; SAMPLE];
        let got = plain.read(&mut first).map_err(fail)?;
        first.truncate(got);
        Self::sampled(origin, Box::new(Cursor::new(first).chain(plain)), None, (gzip, live))
    }
}
