use crate::cli::Cli;
use crate::failure::{Failure, Result};
use crate::output;
use clap::CommandFactory;
use clap_mangen::Man;
use lipmetric_io::atomic_write;
use std::path::PathBuf;

/// Print a manual page, or write them all
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lipmetric man > lipmetric.1
  lipmetric man fit > lipmetric-fit.1
  lipmetric man --out .")]
pub(crate) struct Args {
    /// The command whose page to print (default: the program's own)
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    command: Option<String>,
    /// Write every page into this folder instead
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result {
    let mut cli = Cli::command().disable_help_subcommand(true);
    cli.build();
    if let Some(folder) = &args.out {
        let pages = std::iter::once(&cli).chain(cli.get_subcommands());
        for command in pages {
            let (name, page) = page(command)?;
            atomic_write(folder.join(format!("{name}.1")), |w| w.write_all(&page))?;
        }
        return Ok(());
    }
    let command = match &args.command {
        None => &cli,
        Some(name) => cli.get_subcommands().find(|c| c.get_name() == name).ok_or_else(|| {
            let names: Vec<&str> = cli.get_subcommands().map(clap::Command::get_name).collect();
            Failure::Usage(format!("no command `{name}`; there are: {}", names.join(", ")))
        })?,
    };
    output::print(&String::from_utf8_lossy(&page(command)?.1))
}

fn page(command: &clap::Command) -> Result<(String, Vec<u8>)> {
    let name = match command.get_name() {
        "lipmetric" => "lipmetric".to_owned(),
        other => format!("lipmetric-{other}"),
    };
    let mut page = Vec::new();
    Man::new(command.clone().name(name.clone()).bin_name(command.get_bin_name().unwrap_or(&name)))
        .render(&mut page)
        .map_err(|e| Failure::Failed(e.to_string()))?;
    Ok((name, with_examples(&String::from_utf8_lossy(&page)).into_bytes()))
}

/// A page whose last words, the examples, have a heading of their own and keep their lines.
fn with_examples(page: &str) -> String {
    let Some((before, after)) = page.split_once("\n.SH EXTRA\n") else { return page.to_owned() };
    let (examples, rest) = match after.split_once("\n.SH ") {
        Some((examples, rest)) => (examples, format!("\n.SH {rest}")),
        None => (after.trim_end_matches('\n'), "\n".to_owned()),
    };
    let examples = examples.strip_prefix("Examples:\n").unwrap_or(examples);
    format!("{before}\n.SH EXAMPLES\n.nf\n{examples}\n.fi{rest}")
}
