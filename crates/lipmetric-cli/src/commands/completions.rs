use crate::cli::Cli;
use crate::failure::Result;
use crate::output;
use clap::CommandFactory;
use clap_complete::Shell;

/// Print a shell's completion script
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lipmetric completions bash > lipmetric.bash
  lipmetric completions zsh > _lipmetric")]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Result {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "lipmetric", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
