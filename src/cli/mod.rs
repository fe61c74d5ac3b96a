//! The command line: parse, validate, call the library, print. One file or folder per command.

mod bench;
mod clicks;
mod compare;
mod convert;
mod cv;
mod devices;
mod eval;
mod execution_args;
mod failure;
mod importance;
mod input;
mod judged;
mod loss;
mod manual;
mod models;
mod panics;
mod predict;
mod processes;
mod progress;
mod report;
mod run_args;
mod scored;
mod study;
mod synth;
mod table;
mod train;
mod warnings;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use failure::Context;
pub use failure::Failure;
pub(crate) use table::Table;

const EXIT_CODES: &str = "0 done, 1 failed, 2 bad usage or bad input.";

/// Learning to rank on burn: optimise NDCG, MAP and MRR directly.
#[derive(Debug, Parser)]
#[command(
    name = "burn-rank",
    version,
    max_term_width = 100,
    after_help = format!("Exit codes: {EXIT_CODES}")
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Fit one ranker from a configuration file: model, log, report
    Train(train::TrainArgs),
    /// Folds x grid x seeds: a table with standard errors
    Cv(cv::CvArgs),
    /// The page of a finished run, made again from its folder
    Report(report::ReportArgs),
    /// A score for every document, or a TREC run
    Predict(predict::PredictArgs),
    /// Exact measures of a ranker, of scores, or of a TREC run
    Eval(eval::EvalArgs),
    /// Whether one system is better than another: tests on the same queries
    Compare(compare::CompareArgs),
    /// What a ranker looks at: the measure lost when a feature is shuffled, with intervals over queries
    Importance(importance::ImportanceArgs),
    /// A ranker in another system's format (ONNX, XGBoost, LightGBM, RankLib, Solr), or another system's in ours
    Convert(convert::ConvertArgs),
    /// Value, loss and gradient of a loss for lists given as JSON lines
    Loss(loss::LossArgs),
    /// What a paper proves about its surrogate, computed on a ranking and checked
    Study(study::StudyArgs),
    /// Generated LETOR text in the shape of MSLR-WEB
    Synth(synth::SynthArgs),
    /// Generated clicks on logged rankings, with inverse propensities as weights
    Clicks(clicks::ClicksArgs),
    /// Time of losses and of training on this machine
    Bench(bench::BenchArgs),
    /// What can be trained, and what a saved ranker is
    Models(models::ModelsArgs),
    /// Devices that this build has and finds
    Devices(devices::DevicesArgs),
    /// The script that completes commands and options in a shell
    Completions(manual::CompletionsArgs),
    /// The manual: a page for each command
    Man(manual::ManArgs),
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    ExitCode::from(run(std::env::args_os()))
}

/// Runs a command line, whose first argument is the name of the program, and returns its exit code. For programs that
/// hold the command, as the Python package does: it takes over standard streams, the panic hook and, where a command
/// stops on Ctrl-C, that signal.
pub fn run(arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> u8 {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        // Help and the version are printed like errors, with code 0.
        Err(error) => {
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    warnings::show();
    panics::install();
    // Not locked, because the dashboard draws on standard output from a thread of its own.
    let mut out = io::BufWriter::new(io::stdout());
    let done = match cli.command {
        Command::Train(args) => args.run(&mut out),
        Command::Cv(args) => args.run(&mut out),
        Command::Report(args) => args.run(&mut out),
        Command::Predict(args) => args.run(&mut out),
        Command::Eval(args) => args.run(&mut out),
        Command::Compare(args) => args.run(&mut out),
        Command::Importance(args) => args.run(&mut out),
        Command::Convert(args) => args.run(&mut out),
        Command::Loss(args) => args.run(&mut out),
        Command::Study(args) => args.run(&mut out),
        Command::Synth(args) => args.run(&mut out),
        Command::Clicks(args) => args.run(&mut out),
        Command::Bench(args) => args.run(&mut out),
        Command::Models(args) => args.run(&mut out),
        Command::Devices(args) => args.run(&mut out),
        Command::Completions(args) => args.run(&mut out),
        Command::Man(args) => args.run(&mut out),
    };
    let done = done.and_then(|()| out.flush().map_err(Failure::from));
    match done {
        Ok(()) | Err(Failure::ClosedPipe) => 0,
        Err(Failure::Input(error)) => report(&error, 2),
        Err(Failure::Work(error)) => report(&error, 1),
    }
}

/// Makes the calling thread one of rayon's, so that short parallel work starts on it at once instead of waiting for
/// another thread to wake. Only for commands that start no threads of their own: those would have to share the
/// remaining ones.
fn work_on_this_thread() {
    // An error means that the pool exists already, which is fine.
    let _ = rayon::ThreadPoolBuilder::new().use_current_thread().build_global();
}

/// Prints the error in one line, without a backtrace whatever `RUST_BACKTRACE` says: the user needs to know what to
/// correct, not where in our code it was found.
fn report(error: &anyhow::Error, code: u8) -> u8 {
    // Written at once: what ends all processes of an MPI program may cut off the rest of a line.
    let line = format!("error: {}\n", failure::one_line(error));
    eprint!("{line}");
    code
}
