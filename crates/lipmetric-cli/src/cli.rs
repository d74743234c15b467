//! What can be typed.

use crate::commands::{
    compare, completions, datasets, evaluate, export, fit, inspect, man, margins, neighbours, path, plot, predict,
    transform, verify,
};
use clap::{ArgAction, Args, Parser, Subcommand};

/// Learn a distance from labelled rows; classify, map and evaluate with it.
///
/// Results go to standard output, everything else to standard error.
#[derive(Parser)]
#[command(name = "lipmetric", version, max_term_width = 100, subcommand_required = true, arg_required_else_help = true)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES_AND_CODES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  lipmetric compare                              methods on the bundled data
  lipmetric datasets export echo -o echo.csv     a data set to play with
  lipmetric fit echo.csv --model echo.lip        label in the last column
  lipmetric predict --model echo.lip echo.csv    the class of each row";

const EXAMPLES_AND_CODES: &str = "\
Examples:
  lipmetric compare                              methods on the bundled data
  lipmetric datasets export echo -o echo.csv     a data set to play with
  lipmetric fit echo.csv --model echo.lip        label in the last column
  lipmetric predict --model echo.lip echo.csv    the class of each row

Exit codes:
  0    done
  1    failed: a file cannot be opened or written, memory is short, no result in floating point
  2    usage: wrong command line
  3    bad data: a table or a model cannot be used, or has no such column; the message says where
  4    not converged: the best result is still written; of `verify`: a claim does not hold
  130  interrupted by Ctrl-C or SIGTERM: a model that was asked for is still written

Environment:
  NO_COLOR            no colours
  LIPMETRIC_DATA_DIR  folder of fetched data sets (default: the platform's)";

/// Behind a command's own options.
const LAST: usize = 900;

/// Options of every command.
#[derive(Args)]
pub(crate) struct Global {
    /// Print only results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose", display_order = LAST)]
    pub(crate) quiet: bool,
    /// Print more about what is done
    #[arg(short, long, global = true, action = ArgAction::Count, display_order = LAST + 1)]
    pub(crate) verbose: u8,
    /// Number of threads (default: one per core); the results do not depend on it
    #[arg(long, global = true, value_name = "N", value_parser = threads, display_order = LAST + 2)]
    pub(crate) threads: Option<usize>,
}

fn threads(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&n| n > 0).ok_or_else(|| "give a whole number from 1 on".to_owned())
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Fit(fit::Args),
    Predict(predict::Args),
    Neighbours(neighbours::Args),
    Transform(transform::Args),
    Export(export::Args),
    Evaluate(evaluate::Args),
    Compare(compare::Args),
    Margins(margins::Args),
    Path(path::Args),
    Inspect(inspect::Args),
    Plot(plot::Args),
    Verify(verify::Args),
    Datasets(datasets::Args),
    Completions(completions::Args),
    Man(man::Args),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Cli::command().debug_assert();
    }
}
