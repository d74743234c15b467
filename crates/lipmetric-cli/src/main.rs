//! The `lipmetric` program: a thin shell around the libraries.

mod cli;
mod commands;
mod draw;
mod failure;
mod input;
mod memory;
mod method;
mod origin;
mod output;
mod outputs;
mod pages;
mod progress;
mod radius;
mod resources;
mod rivals;
mod session;
mod signals;

use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = cli::parsed();
    let session = match session::Session::start(&cli.global) {
        Ok(session) => session,
        Err(failure) => return failure.report(),
    };
    match commands::run(cli.command, &session) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of our output has what it wanted.
        Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
