//! Everything that can be wrong about an output is found before the work starts.

use crate::failure::{Failure, Result};
use lipmetric_io::Target;
use lipmetric_io::write::check_target;
use std::io::IsTerminal;
use std::path::Path;

/// Checks a file that is to be written after the work: it can be, and is none of those that are read.
pub(crate) fn check(option: &str, output: &Path, inputs: &[Option<&Path>]) -> Result {
    for input in inputs.iter().flatten() {
        if is_same(output, input) {
            return Err(Failure::Usage(format!(
                "{option}: {} is read by this command and would be overwritten; choose another name",
                output.display()
            )));
        }
    }
    Ok(check_target(&Target::new(output))?)
}

/// Refuses to write a binary file to a terminal.
pub(crate) fn refuse_terminal(option: &str) -> Result {
    if std::io::stdout().is_terminal() {
        return Err(Failure::Usage(format!(
            "{option}: standard output is a terminal, and the file is binary; redirect it with `> FILE`"
        )));
    }
    Ok(())
}

/// Whether two names are of one file that is there.
fn is_same(a: &Path, b: &Path) -> bool {
    if a == Path::new("-") || b == Path::new("-") {
        return false;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let place = |path: &Path| std::fs::metadata(path).ok().filter(|m| m.is_file()).map(|m| (m.dev(), m.ino()));
        place(a).is_some_and(|place_of_a| place(b) == Some(place_of_a))
    }
    #[cfg(not(unix))]
    {
        std::fs::canonicalize(a).ok().is_some_and(|a| std::fs::canonicalize(b).ok() == Some(a))
    }
}
