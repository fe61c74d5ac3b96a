//! The command line, which parses and validates arguments, calls the library and prints results. Each command is in its
//! own file or folder.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod check;
mod clicks;
mod compare;
mod convert;
mod cv;
mod devices;
mod ensemble;
mod eval;
mod failure;
mod files;
mod help;
mod importance;
mod init;
mod input;
mod judged;
mod loss;
mod manual;
mod models;
mod predict;
mod process;
mod progress;
mod report;
mod run_args;
mod scored;
mod study;
mod synth;
mod terminal;
mod train;

use std::ffi::OsString;

use clap::{CommandFactory, Parser};

use failure::EXIT_CODES;

pub use failure::{Failure, Result};
pub use input::not_over;
pub use process::interrupt_on_signal;
pub use progress::Work;
pub use run_args::{start_threads, written_to};
pub use terminal::say;

// Imports for the commands and for some files that they share, which take them with `use super::*`.
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use burn_rank::data::RankingDataset;
use burn_rank::json::{Map, Value};
use burn_rank::measure::{Convention, Evaluation, Evaluator, Measure, QueryValues};
use burn_rank::ranker::Ranker;
use burn_rank::workbench::FileKind;
use burn_rank::workbench::json::json;
use burn_rank::workbench::text::{counted, did_you_mean, harmless, is_standard_stream, nearest, shown};
use clap::{Args, Subcommand, ValueEnum, value_parser};

use failure::{bail, ensure};
use files::Outputs;
use judged::{JudgingArgs, Judgments};
use process::together;
use progress::{Rounds, during};
use report::{is_stopped, read_report};
use run_args::{ExecutionArgs, FolderArgs, Opened, RunArgs, open_device};
use scored::{Common, Loaded, Scored};

use crate::experiment::{Claim, Document, Experiment, Identity, OutputFolder, PAGE, Place, RANKER, REPORT, RunKind};
use crate::page::{COLUMNS, Cell, Table, indented, marked, measured, paragraph};

/// The commands that a new user runs first.
const FIRST_STEPS: &str = include_str!("texts/first_steps.txt").trim_ascii_end();

/// Learning to rank: train, evaluate and compare search rankers.
#[derive(Debug, Parser)]
#[command(
    name = "burn-rank",
    version,
    max_term_width = 100,
    disable_help_subcommand = true,
    after_help = format!("{FIRST_STEPS}\n\nExit codes: {EXIT_CODES}")
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Look for faults in data before training
    Check(check::CheckArgs),
    /// Write a first configuration for data
    Init(init::InitArgs),
    /// Train one ranker from a config file
    Train(train::TrainArgs),
    /// Cross-validate, with an optional grid or search
    Cv(cv::CvArgs),
    /// Rebuild the HTML report of a finished run
    Report(report::ReportArgs),
    /// Score documents with a saved ranker
    Predict(predict::PredictArgs),
    /// Compute NDCG, MAP and other measures
    Eval(eval::EvalArgs),
    /// Compare systems with significance tests
    Compare(compare::CompareArgs),
    /// Measure the permutation importance of features
    Importance(importance::ImportanceArgs),
    /// Join rankers to one that averages their scores
    Ensemble(ensemble::EnsembleArgs),
    /// Convert rankers (ONNX, LightGBM, XGBoost, Solr, ...) and data (CSV, Arrow, Parquet, LETOR)
    Convert(convert::ConvertArgs),
    /// Evaluate a loss and its gradient on given lists
    Loss(loss::LossArgs),
    /// Check the theorems of a paper on your data
    Study(study::StudyArgs),
    /// Generate a synthetic data set
    Synth(synth::SynthArgs),
    /// Simulate biased clicks on rankings
    Clicks(clicks::ClicksArgs),
    /// Benchmark losses, training and serving
    Bench(bench::BenchArgs),
    /// List losses, learners and measures, or inspect a ranker
    Models(models::ModelsArgs),
    /// List available devices, or compare them on one experiment
    Devices(devices::DevicesArgs),
    /// Print a shell completion script
    Completions(manual::CompletionsArgs),
    /// Print or write man pages
    Man(manual::ManArgs),
    /// Print the help of a command, or the keys of configuration files
    Help(help::HelpArgs),
}

/// Runs a command line, whose first argument is the name of the program, and returns its exit code. Programs that embed
/// the command, such as the Python package, call this function. The command uses the standard streams and sets the
/// panic hook; commands that stop on Ctrl-C also handle that signal.
pub fn run(arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let (cli, mut out) = match parse::<Cli>(&arguments) {
        Ok(parsed) => parsed,
        Err(code) => return code,
    };
    // These start threads themselves, or need none.
    if !matches!(cli.command, Command::Train(_) | Command::Bench(_) | Command::Devices(_) | Command::Models(_)) {
        start_threads(false);
    }
    let done = match cli.command {
        Command::Check(args) => args.run(&mut *out),
        Command::Init(args) => args.run(&mut *out),
        Command::Train(args) => args.run(&mut *out),
        Command::Cv(args) => args.run(&mut *out),
        Command::Report(args) => args.run(&mut *out),
        Command::Predict(args) => args.scoring.execution.scope(|| args.run(&mut *out)),
        Command::Eval(args) => args.run(&mut *out),
        Command::Compare(args) => args.run(&mut *out),
        Command::Importance(args) => args.scoring.execution.scope(|| args.run(&mut *out)),
        Command::Ensemble(args) => args.scoring.execution.scope(|| args.run(&mut *out)),
        Command::Convert(args) => args.run(&mut *out),
        Command::Loss(args) => args.execution.scope(|| args.run(&mut *out)),
        Command::Study(args) => args.scoring.execution.scope(|| args.run(&mut *out)),
        Command::Synth(args) => args.run(&mut *out),
        Command::Clicks(args) => args.scoring.execution.scope(|| args.run(&mut *out)),
        Command::Bench(args) => args.run(&mut *out),
        Command::Models(args) => args.run(&mut *out),
        Command::Devices(args) => args.run(&mut *out),
        Command::Completions(args) => args.run(Cli::command(), &mut *out),
        Command::Man(args) => args.run(Cli::command(), &mut *out),
        Command::Help(args) => args.run(Cli::command(), &mut *out),
    };
    end(done, &mut *out)
}

/// Parses the command line of this command, or of another program of this workspace that prints in the same way. Makes
/// the process ready to print messages.
///
/// # Errors
/// Returns the exit code after printing the help, the version or what is wrong.
pub fn parse<C: Parser>(arguments: &[OsString]) -> Result<(C, Box<dyn Write>), u8> {
    // Help and the version are printed like errors, but with code 0.
    let parsed = C::try_parse_from(arguments).map_err(|error| terminal::refuse::<C>(error, arguments))?;
    terminal::show_warnings();
    process::install_panic_hook();
    Ok((parsed, terminal::output()))
}

/// Prints the rest of the results and then the failure. Returns the exit code.
pub fn end(done: Result, out: &mut dyn Write) -> u8 {
    // Results come before messages about them.
    let flushed = out.flush().map_err(Failure::from);
    match done.and(flushed) {
        Ok(()) | Err(Failure::ClosedPipe) => 0,
        Err(Failure::Input(error)) => terminal::report(&error, 2),
        Err(Failure::Work(error)) => terminal::report(&error, 1),
    }
}
