//! What can be typed.

use crate::commands::{
    compare, completions, datasets, evaluate, export, fit, inspect, man, margins, neighbours, path, plot, predict,
    transform, verify,
};
use clap::error::{ContextKind, ErrorKind};
use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::error::Error;
use std::time::Duration;

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
    /// Print more about what is done: how a fit goes on; -vv: every step of it
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

/// What was typed; ends the program where that is no command, or help.
pub(crate) fn parsed() -> Cli {
    let mut command = command();
    match command.try_get_matches_from_mut(std::env::args_os()).and_then(|found| Cli::from_arg_matches(&found)) {
        Ok(cli) => cli,
        Err(error) => in_words(error).exit(),
    }
}

/// The command line, whose options take numbers below zero as values, so that they are refused as such.
fn command() -> clap::Command {
    fn with_numbers(command: clap::Command) -> clap::Command {
        let named = |arg: clap::Arg| {
            let takes = !arg.is_positional() && arg.get_action().takes_values();
            if takes { arg.allow_negative_numbers(true) } else { arg }
        };
        command.mut_args(named).mut_subcommands(with_numbers)
    }
    with_numbers(Cli::command())
}

/// A value that is no number is refused in words of ours, not in those of Rust's readers of numbers.
fn in_words(error: clap::Error) -> clap::Error {
    let (Some(value), Some(option)) = (error.get(ContextKind::InvalidValue), error.get(ContextKind::InvalidArg)) else {
        return error;
    };
    let told = error.source().map(ToString::to_string).filter(|_| error.kind() == ErrorKind::ValueValidation);
    let words = match told.as_deref() {
        Some("invalid digit found in string" | "cannot parse integer from empty string") => "give a whole number",
        Some("number too large to fit in target type") => "give a smaller number",
        Some("invalid float literal" | "cannot parse float from empty string") => "give a number such as 0.5",
        Some("cannot parse char from empty string" | "too many characters in string") => "give one character",
        // The library's own name of the parameter.
        Some(told) => match told.strip_prefix("parameter `").and_then(|rest| rest.split_once("`: ")) {
            Some((_, told)) => told,
            None => return error,
        },
        None => return error,
    };
    let told = format!("invalid value '{value}' for '{option}': {words}\n\nFor more information, try '--help'.\n");
    clap::Error::raw(ErrorKind::ValueValidation, told)
}

/// Seconds, such as `90`, `90s`, `5m` or `2h`.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.char_indices().last() {
        Some((at, 's')) => (&text[..at], 1.0),
        Some((at, 'm')) => (&text[..at], 60.0),
        Some((at, 'h')) => (&text[..at], 3600.0),
        _ => (text, 1.0),
    };
    let seconds = number.trim().parse::<f64>().ok().map(|number| number * unit);
    let some = seconds.filter(|s| *s > 0.0 && Duration::try_from_secs_f64(*s).is_ok());
    some.ok_or_else(|| "give a number of seconds above zero, such as 90, or 90s, 5m, 2h".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{command, in_words, seconds};
    use clap::CommandFactory;

    #[test]
    fn every_option_refuses_what_is_no_value_of_it_in_words() {
        let command = command();
        let mut seen = 0;
        for of in command.get_subcommands() {
            for option in of.get_arguments().filter(|arg| arg.get_action().takes_values()) {
                let Some(long) = option.get_long().filter(|_| !option.is_require_equals_set()) else { continue };
                for value in ["x1", "-7", "", "99999999999999999999999"] {
                    let args = ["lipmetric", of.get_name(), &format!("--{long}"), value, "a", "b"];
                    let Err(error) = command.clone().try_get_matches_from(args) else { continue };
                    let told = in_words(error).to_string();
                    for foreign in
                        ["digit", "literal", "target type", "parse", "parameter `", "unexpected argument '-7'"]
                    {
                        assert!(!told.contains(foreign), "{args:?}: {told}");
                    }
                    seen += 1;
                }
            }
        }
        assert!(seen > 400, "{seen}");
    }

    #[test]
    fn seconds_may_have_a_unit() {
        for (text, expected) in [("90", 90.0), ("1.5s", 1.5), ("5m", 300.0), ("2h", 7200.0), ("1e3", 1000.0)] {
            assert_eq!(seconds(text), Ok(expected));
        }
        for text in ["0", "-1", "", "s", "10 minutes", "nan", "inf", "1e300"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_command_line_is_well_formed() {
        super::Cli::command().debug_assert();
    }
}
