//! Where bytes come from: a path, standard input or memory; gzip is undone on the way.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

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

    /// Every byte, as it is.
    pub(crate) fn read_all(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.raw()?.0.read_to_end(&mut bytes).map_err(|e| Error::io("read", self.name(), e))?;
        Ok(bytes)
    }

    pub(crate) fn open(&self) -> Result<Opened> {
        let (raw, file) = self.raw()?;
        Opened::new(self.name(), raw, file)
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
    pub(crate) reader: Box<dyn io::BufRead + Send>,
}

impl Input {
    /// Tells damaged compression (the file's fault) from a failing disk or pipe (the system's).
    pub(crate) fn fail(&self, error: io::Error) -> Error {
        read_failure(&self.origin, self.gzip, error)
    }

    /// Everything that is left.
    pub(crate) fn slurp(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.reader.read_to_end(&mut bytes).map_err(|e| read_failure(&self.origin, self.gzip, e))?;
        Ok(bytes)
    }
}

pub(crate) fn read_failure(origin: &str, gzip: bool, error: io::Error) -> Error {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    if gzip && matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof) {
        let message = format!("the gzip compression is damaged or cut short ({error}); get the file again");
        return Error::data(origin, message);
    }
    Error::io("read", origin, error)
}

/// Reads until `buffer` has `want` bytes or the input ends.
fn fill(reader: &mut impl Read, buffer: &mut Vec<u8>, want: usize) -> io::Result<()> {
    let more = want.saturating_sub(buffer.len());
    reader.take(more as u64).read_to_end(buffer).map(|_| ())
}

impl Opened {
    pub(crate) fn new(origin: String, mut raw: Box<dyn Read + Send>, file: Option<File>) -> Result<Self> {
        let mut head = Vec::new();
        fill(&mut raw, &mut head, 2).map_err(|e| read_failure(&origin, false, e))?;
        let gzip = head == [0x1f, 0x8b];
        let raw = Cursor::new(head).chain(raw);
        let mut plain: Box<dyn Read + Send> =
            if gzip { Box::new(MultiGzDecoder::new(BufReader::with_capacity(SAMPLE, raw))) } else { Box::new(raw) };
        let mut sample = Vec::new();
        fill(&mut plain, &mut sample, SAMPLE).map_err(|e| read_failure(&origin, gzip, e))?;
        let complete = sample.len() < SAMPLE;
        let reader = Box::new(BufReader::with_capacity(SAMPLE, Cursor::new(sample.clone()).chain(plain)));
        Ok(Self { input: Input { origin, gzip, reader }, sample, complete, file: if gzip { None } else { file } })
    }
}
