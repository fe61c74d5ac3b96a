//! The command line: parse, validate, call the library, print. One file a command.

mod devices;
mod failure;
mod table;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use failure::Failure;
pub(crate) use table::Table;

/// Learning to rank on burn: optimise NDCG, MAP and MRR directly.
#[derive(Debug, Parser)]
#[command(
    name = "burn-rank",
    version,
    max_term_width = 100,
    after_help = "Exit codes: 0 done, 1 failed, 2 bad usage or bad input."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Devices that this build has and finds
    Devices(devices::DevicesArgs),
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut out = io::BufWriter::new(io::stdout().lock());
    let done = match cli.command {
        Command::Devices(args) => args.run(&mut out),
    };
    let done = done.and_then(|()| out.flush().map_err(Failure::from));
    match done {
        Ok(()) | Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Err(Failure::Input(message)) => report(&message, 2),
        Err(Failure::Work(message)) => report(&message, 1),
    }
}

fn report(message: &str, code: u8) -> ExitCode {
    eprintln!("error: {message}");
    ExitCode::from(code)
}
