//! Files that appear complete or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::NamedTempFile;

use super::Target;
use crate::{Error, Result};

const BUFFER: usize = 128 << 10;

/// Writes a file so that it appears complete or not at all: into a temporary file in the same folder, which is
/// flushed to disk and then renamed. On Linux that file has no name until it is complete, so that nothing is left of it even where
/// the program is killed. An existing file keeps its permissions; a device or pipe is written through.
///
/// ```
/// use std::io::Write;
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("note.txt");
/// lipmetric_io::atomic_write(&path, |w| w.write_all(b"hello"))?;
/// assert_eq!(std::fs::read_to_string(&path).unwrap(), "hello");
/// # Ok::<(), lipmetric_io::Error>(())
/// ```
///
/// # Errors
/// If the file cannot be created, written or renamed, or `write` fails; the old file, if any, is then untouched.
pub fn atomic_write(path: impl AsRef<Path>, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    write_whole(&Target::Path(path.as_ref().to_path_buf()), write)
}

/// As [`atomic_write`], to any target.
pub(crate) fn write_whole(target: &Target, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut sink = Sink::open(target)?;
    write(&mut sink).map_err(|e| sink.fail(e))?;
    sink.finish()
}

/// Checks that a target can be written, before the work that it is for: that its folder is there, and that one may write to it.
/// Nothing is left behind.
///
/// # Errors
/// If the system would refuse.
pub fn check_target(target: &Target) -> Result<()> {
    match target {
        // Opening a pipe would wait for its reader.
        Target::Path(path) if fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir()) => Ok(()),
        Target::Path(_) => Sink::open(target).map(drop),
        Target::Stdout => Ok(()),
    }
}

/// The temporary files that are being written.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the files that are not complete yet, for a program that is about to end without going through its destructors.
pub fn remove_unfinished() {
    for path in UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        // It may be gone already, and there is nobody left to tell.
        let _ = fs::remove_file(path);
    }
}

/// A temporary file's entry among the unfinished ones.
struct Unfinished(PathBuf);

impl Unfinished {
    fn new(path: &Path) -> Self {
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_path_buf());
        Self(path.to_path_buf())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).retain(|p| *p != self.0);
    }
}

/// Where a symbolic link leads in the end, also if nothing is there yet.
fn followed(path: &Path) -> PathBuf {
    let mut at = path.to_path_buf();
    // As many links as Linux follows.
    for _ in 0..40 {
        match fs::read_link(&at) {
            Ok(to) => at = at.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => break,
        }
    }
    at
}

/// What is written before it takes its place.
enum Draft {
    /// A file without a name in this folder: nothing is left of it, whenever and however the program ends.
    #[cfg(target_os = "linux")]
    Nameless(File, PathBuf),
    Named(NamedTempFile, Unfinished),
}

/// A builder of names for files that are not complete.
fn named() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".lipmetric-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // What any program's new file would get: the umask takes its part away.
        builder.permissions(fs::Permissions::from_mode(NEW_FILE));
    }
    builder
}

/// The rights of a new file, before the umask.
#[cfg(unix)]
const NEW_FILE: u32 = 0o666;

#[cfg(target_os = "linux")]
mod nameless {
    use super::{Draft, File, NEW_FILE, Path, fs, io, named};
    use rustix::fs::{AtFlags, CWD, Mode, OFlags};
    use std::os::fd::AsRawFd;

    /// Where the system knows an open file without a name.
    fn place(file: &File) -> String {
        format!("/proc/self/fd/{}", file.as_raw_fd())
    }

    /// A file without a name; none where the system or this folder's file system has no such thing.
    pub(super) fn create(folder: &Path) -> Option<Draft> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(folder, flags, Mode::from_raw_mode(NEW_FILE)).ok()?);
        fs::symlink_metadata(place(&file)).ok()?;
        Some(Draft::Nameless(file, folder.to_path_buf()))
    }

    /// Gives it a name, and that of the target at once.
    pub(super) fn persist(file: &mut File, folder: &Path, path: &Path) -> io::Result<()> {
        let from = place(file);
        let linked =
            named().make_in(folder, |to| Ok(rustix::fs::linkat(CWD, &from, CWD, to, AtFlags::SYMLINK_FOLLOW)?));
        match linked {
            Ok(linked) => linked.persist(path).map(drop).map_err(|e| e.error),
            // Some file systems give no name to what had none.
            Err(_) => {
                use std::io::Seek;
                let mut copy = named().tempfile_in(folder)?;
                copy.as_file().set_permissions(file.metadata()?.permissions())?;
                file.rewind()?;
                io::copy(file, &mut copy)?;
                copy.as_file().sync_all()?;
                copy.persist(path).map(drop).map_err(|e| e.error)
            }
        }
    }
}

impl Draft {
    fn create(folder: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(nameless) = nameless::create(folder) {
            return Ok(nameless);
        }
        let temp = named().tempfile_in(folder)?;
        let listed = Unfinished::new(temp.path());
        Ok(Self::Named(temp, listed))
    }

    fn file(&self) -> &File {
        match self {
            #[cfg(target_os = "linux")]
            Self::Nameless(file, _) => file,
            Self::Named(temp, _) => temp.as_file(),
        }
    }

    fn persist(self, path: &Path) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Nameless(mut file, folder) => nameless::persist(&mut file, &folder, path),
            Self::Named(temp, listed) => {
                temp.persist(path).map_err(|e| e.error)?;
                drop(listed);
                Ok(())
            }
        }
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

impl Seek for Draft {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file().seek(to)
    }
}

/// A temporary file that becomes the target.
pub(super) struct AtomicFile {
    temp: BufWriter<Draft>,
    path: PathBuf,
    shown: String,
}

impl AtomicFile {
    fn create(path: &Path, existing: Option<&fs::Metadata>) -> io::Result<Self> {
        // Through a symbolic link, so that the link stays and its target is replaced.
        let real = if existing.is_some() { fs::canonicalize(path)? } else { followed(path) };
        let folder = match real.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let temp = Draft::create(folder)?;
        if let Some(about) = existing {
            temp.file().set_permissions(about.permissions())?;
        }
        let shown = path.display().to_string();
        Ok(Self { temp: BufWriter::with_capacity(BUFFER, temp), path: real, shown })
    }

    /// Flushes, syncs and renames.
    fn commit(self) -> io::Result<()> {
        let temp = self.temp.into_inner().map_err(io::IntoInnerError::into_error)?;
        temp.file().sync_all()?;
        temp.persist(&self.path)?;
        // The rename itself reaches the disk with the folder; some file systems cannot sync one, and the file is
        // complete either way.
        if let Some(folder) = self.path.parent().filter(|f| !f.as_os_str().is_empty()) {
            let _ = File::open(folder).and_then(|f| f.sync_all());
        }
        Ok(())
    }
}

/// Where bytes go: a file that is replaced atomically, or something that is written through.
pub(super) enum Sink {
    Atomic(AtomicFile),
    Through { name: String, writer: BufWriter<Box<dyn Write + Send>> },
}

impl Sink {
    pub(super) fn open(target: &Target) -> Result<Self> {
        let through = |writer: Box<dyn Write + Send>| Self::Through {
            name: target.name(),
            writer: BufWriter::with_capacity(BUFFER, writer),
        };
        let path = match target {
            Target::Stdout if io::stdout().is_terminal() => return Ok(through(Box::new(Shown(io::stdout())))),
            Target::Stdout => return Ok(through(Box::new(io::stdout()))),
            Target::Path(path) => path,
        };
        let fail = |e| Error::io_path("write", path, e);
        let existing = match fs::metadata(path) {
            Ok(about) => Some(about),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(fail(e)),
        };
        if let Some(about) = &existing {
            if about.is_dir() {
                return Err(fail(io::ErrorKind::IsADirectory.into()));
            }
            // Opening for writing asks for the right to do so, which a rename would not.
            let file = OpenOptions::new().write(true).open(path).map_err(fail)?;
            if !about.is_file() || path.starts_with("/dev") {
                return Ok(through(Box::new(file)));
            }
        }
        AtomicFile::create(path, existing.as_ref()).map(Self::Atomic).map_err(fail)
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Self::Atomic(file) => &file.shown,
            Self::Through { name, .. } => name,
        }
    }

    pub(super) fn fail(&self, error: io::Error) -> Error {
        Error::io("write", self.name(), error)
    }

    pub(super) fn finish(self) -> Result<()> {
        let name = self.name().to_owned();
        let result = match self {
            Self::Atomic(file) => file.commit(),
            Self::Through { mut writer, .. } => writer.flush(),
        };
        result.map_err(|e| Error::io("write", name, e))
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Atomic(file) => file.temp.write(bytes),
            Self::Through { writer, .. } => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Atomic(file) => file.temp.flush(),
            Self::Through { writer, .. } => writer.flush(),
        }
    }
}

/// A terminal, which obeys control characters: those of a file's text are shown instead.
struct Shown<W>(W);

impl<W: Write> Write for Shown<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut shown = Vec::with_capacity(bytes.len());
        let mut before = 0;
        for &byte in bytes {
            let second_of_c1 = before == 0xc2 && (0x80..0xa0).contains(&byte);
            if (byte < 0x20 && !matches!(byte, b'\n' | b'\t' | b'\r')) || byte == 0x7f {
                shown.extend_from_slice(format!("\\x{byte:02x}").as_bytes());
            } else if second_of_c1 {
                shown.pop();
                shown.extend_from_slice(format!("\\u{{{byte:x}}}").as_bytes());
            } else {
                shown.push(byte);
            }
            before = byte;
        }
        self.0.write_all(&shown)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A sink in which one can go back: a pipe's content is kept in a nameless temporary file until it is complete.
pub(super) enum SeekSink {
    Atomic(AtomicFile),
    Spooled { spool: BufWriter<File>, sink: Sink },
}

impl SeekSink {
    pub(super) fn new(sink: Sink) -> Result<Self> {
        match sink {
            Sink::Atomic(file) => Ok(Self::Atomic(file)),
            sink => {
                let spool = tempfile::tempfile().map_err(|e| Error::io("write", "a temporary file", e))?;
                Ok(Self::Spooled { spool: BufWriter::with_capacity(BUFFER, spool), sink })
            }
        }
    }

    pub(super) fn fail(&self, error: io::Error) -> Error {
        match self {
            Self::Atomic(file) => Error::io("write", &file.shown, error),
            Self::Spooled { sink, .. } => sink.fail(error),
        }
    }

    pub(super) fn finish(self) -> Result<()> {
        match self {
            Self::Atomic(file) => Sink::Atomic(file).finish(),
            Self::Spooled { spool, mut sink } => {
                let copy = |sink: &mut Sink| {
                    let mut file = spool.into_inner().map_err(io::IntoInnerError::into_error)?;
                    file.rewind()?;
                    io::copy(&mut file, sink)
                };
                copy(&mut sink).map_err(|e| sink.fail(e))?;
                sink.finish()
            }
        }
    }
}

impl Write for SeekSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Atomic(file) => file.temp.write(bytes),
            Self::Spooled { spool, .. } => spool.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Atomic(file) => file.temp.flush(),
            Self::Spooled { spool, .. } => spool.flush(),
        }
    }
}

impl Seek for SeekSink {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Atomic(file) => file.temp.seek(to),
            Self::Spooled { spool, .. } => spool.seek(to),
        }
    }
}

/// A sink for text, compressed or not.
pub(super) enum TextSink {
    Plain(Sink),
    Gzip(flate2::write::GzEncoder<Sink>),
}

impl TextSink {
    pub(super) fn new(sink: Sink, gzip: bool) -> Self {
        if gzip {
            Self::Gzip(flate2::write::GzEncoder::new(sink, flate2::Compression::default()))
        } else {
            Self::Plain(sink)
        }
    }

    pub(super) fn fail(&self, error: io::Error) -> Error {
        match self {
            Self::Plain(sink) => sink.fail(error),
            Self::Gzip(encoder) => encoder.get_ref().fail(error),
        }
    }

    pub(super) fn finish(self) -> Result<()> {
        match self {
            Self::Plain(sink) => sink.finish(),
            Self::Gzip(encoder) => {
                let name = encoder.get_ref().name().to_owned();
                encoder.finish().map_err(|e| Error::io("write", name, e))?.finish()
            }
        }
    }
}

impl Write for TextSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(sink) => sink.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(sink) => sink.flush(),
            Self::Gzip(encoder) => encoder.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_shown_control_characters_instead_of_obeying_them() {
        let mut out = Shown(Vec::new());
        out.write_all("a\x1b[2J\u{9b}b\tü\x7f\n".as_bytes()).unwrap();
        assert_eq!(String::from_utf8(out.0).unwrap(), "a\\x1b[2J\\u{9b}b\tü\\x7f\n");
    }
}
