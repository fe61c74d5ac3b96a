//! The command `burn-rank`, which adds experiments, reports, studies and benchmarks to the library
//! [burn-rank](burn_rank).
//!
//! [`run`] is the whole command. Programs that train as the command does, such as the Python package, open a
//! configuration and its run themselves:
//!
//! * A [`Document`] is the text of a configuration with its overrides. An [`Experiment`] is a checked configuration,
//!   with the learner that it describes; `docs/reference/configuration` lists the keys.
//! * [`fit()`] runs an experiment on one split of the data. [`TrainRun`] does so in the folder of a run, reports its
//!   progress to a [`Progress`](burn_rank::learner::Progress), and stops on an
//!   [`Interrupt`](burn_rank::learner::Interrupt). [`write_reports`] writes its [`Report`] with the page.
//!
//! ```
//! use std::path::Path;
//!
//! use burn::tensor::Device;
//! use burn_rank_cli::{Document, Experiment, FitOptions, fit};
//!
//! let text = r#"
//!     data = { synthetic = { train_queries = 20, validation_queries = 10, test_queries = 10, features = 6 } }
//!     learner = { kind = "regression" }
//! "#;
//! let document = Document::parse(Path::new("ridge.toml"), text.to_string(), &["seed=2".to_string()])?;
//! let experiment = Experiment::from_document(&document)?;
//! let split = experiment.data.split(experiment.seed)?;
//! let fitted = fit(&experiment, &split, experiment.seed, &FitOptions::new(&Device::flex()))?;
//! println!("{:?}", fitted.ranker.metadata().measures);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Modules
//! The modules form layers. Each module uses only the modules below it, and all of them use the library:
//!
//! | module | contents |
//! |---|---|
//! | `cli` | the command line |
//! | `report` | the page of a run |
//! | `device_comparison` | one experiment on several devices |
//! | `study` | what papers prove about their surrogates, checked on a ranking |
//! | `bench` | time and memory of losses, speed of training epochs |
//! | `experiment` | configuration files, folds, grids, reports |

#![warn(missing_docs)]
// Only the command changes its process, and prints.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::print_stdout, clippy::print_stderr))]

mod bench;
#[allow(clippy::disallowed_methods, clippy::print_stdout, clippy::print_stderr)]
mod cli;
mod device_comparison;
mod experiment;
mod number;
mod page;
mod plot;
mod report;
mod study;
#[cfg(test)]
mod testing;

/// What `burn-rank-text` shares with the command. Users of the crate need none of it.
#[doc(hidden)]
pub mod workbench {
    pub use crate::cli::{
        Failure, Result, Work, end, interrupt_on_signal, not_over, parse, say, start_threads, written_to,
    };
    pub use crate::experiment::{
        DataReport, ExtremeQueries, FitReport, Identity, MeasureConfig, OutputError, OutputFolder, PAGE, PerQuery,
        Place, RunKind, RunRecord, SetMeasures, Sets, TrainReport, absolute_path,
    };

    /// Returns the measures of each set of queries as a table of text.
    pub fn measures_text(report: &TrainReport) -> String {
        let names: Vec<&String> = report.measures.train.measures.keys().collect();
        crate::report::measures_table(report, &format!("{} convention", report.convention.name), &names).text()
    }
}

pub use cli::run;
pub use experiment::{
    Claim, Destination, Document, Experiment, ExperimentConfig, ExperimentError, Fit, FitOptions, RANKER, Report,
    Split, TrainRun, fit,
};
pub use report::write_reports;
