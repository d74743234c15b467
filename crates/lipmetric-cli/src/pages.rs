//! Pages with pictures: where they go.

use crate::failure::{Failure, Result};
use crate::outputs;
use crate::session::Session;
use lipmetric_io::write::check_target;
use lipmetric_io::{Target, atomic_write};
use lipmetric_report::{About, Next, Page, Picture, PictureError};
use std::path::{Path, PathBuf};

/// Whether pictures are wanted, and where.
#[derive(clap::Args)]
#[command(next_help_heading = "Pictures")]
pub(crate) struct PageArgs {
    /// Also write a page with pictures: one HTML file that needs no other
    #[arg(long, value_name = "OUT")]
    report: Option<PathBuf>,
    /// Also write each picture of that page as a file into this folder
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
    /// The kind of these files: `svg`, or `png` if the program was built with it [default: svg]
    #[arg(long, value_name = "KIND", requires = "plots", value_parser = ["svg", "png"])]
    plot_format: Option<String>,
}

/// Refuses a file whose name says that it is something else than what is written into it.
pub(crate) fn ending(option: &str, path: &Path, known: &[&str]) -> Result {
    let Some(ending) = path.extension().map(|e| e.to_string_lossy()) else { return Ok(()) };
    if known.iter().any(|known| ending.eq_ignore_ascii_case(known)) {
        return Ok(());
    }
    let shown = known.iter().map(|e| format!(".{e}")).collect::<Vec<_>>().join(" or ");
    Err(Failure::Usage(format!("{option}: {}: `.{ending}` is not what is written; choose {shown}", path.display())))
}

impl PageArgs {
    pub(crate) fn wanted(&self) -> bool {
        self.report.is_some() || self.plots.is_some()
    }

    /// Finds what is wrong with the outputs before the work.
    pub(crate) fn check(&self, inputs: &[Option<&Path>]) -> Result {
        if let Some(path) = &self.report {
            if Target::new(path) == Target::Stdout {
                return Err(Failure::Usage(
                    "--report: a page is written to a file; name one, such as out.html".to_owned(),
                ));
            }
            outputs::check("--report", path, inputs)?;
            ending("--report", path, &["html", "htm"])?;
        }
        let Some(folder) = &self.plots else { return Ok(()) };
        drawable("--plot-format", self.kind())?;
        if folder.exists() && !folder.is_dir() {
            return Err(Failure::Usage(format!("--plots: {} is a file; name a folder", folder.display())));
        }
        let place = if folder.is_dir() { folder.as_path() } else { folder.parent().unwrap_or(Path::new("")) };
        Ok(check_target(&Target::new(place.join("picture.svg")))?)
    }

    fn kind(&self) -> Picture {
        self.plot_format.as_deref().and_then(|name| name.parse().ok()).unwrap_or_default()
    }

    /// Writes what is wanted of a page.
    pub(crate) fn write(&self, page: &Page, session: &Session) -> Result {
        if let Some(path) = &self.report {
            atomic_write(path, |w| w.write_all(page.html().as_bytes()))?;
            session.detail(format!("wrote {}", path.display()));
        }
        let Some(folder) = &self.plots else { return Ok(()) };
        std::fs::create_dir_all(folder)
            .map_err(|e| Failure::Failed(format!("--plots: {} cannot be made: {e}", folder.display())))?;
        for file in page.files(self.kind()) {
            let (name, bytes) = file.map_err(|e| Failure::Failed(format!("--plots: {e}")))?;
            let path = folder.join(name);
            atomic_write(&path, |w| w.write_all(&bytes))?;
            session.detail(format!("wrote {}", path.display()));
        }
        Ok(())
    }
}

/// Refuses, before the work, a kind of picture that this program cannot draw.
pub(crate) fn drawable(option: &str, kind: Picture) -> Result {
    kind.check().map_err(|e| {
        let remedy = match e {
            PictureError::NoPng => {
                "this program was built without PNG; ask for svg, or build it with `cargo build --release --features png`".to_owned()
            }
            _ => e.to_string(),
        };
        Failure::Usage(format!("{option}: {remedy}"))
    })
}

/// What a page says about itself, with what to do next: why, and what to type.
pub(crate) fn about(next: impl IntoIterator<Item = (String, Option<String>)>) -> About {
    About {
        program: format!("lipmetric {}", env!("CARGO_PKG_VERSION")),
        next: next.into_iter().map(|(why, command)| Next { why, command }).collect(),
    }
}
