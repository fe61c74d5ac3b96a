//! `burn-rank train CONFIG` runs one fit, and writes its ranker, log and report.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Instant;

use burn_rank::distributed::ProcessGroup;
use burn_rank::learner::{NoProgress, Progress, StopReason};
use burn_rank::workbench::json::json;
use burn_rank::workbench::learner::in_words;
use burn_rank::workbench::text::harmless;
use clap::Args;

use super::execution_args::work_on_this_thread;
use super::failure::Failure;
use super::processes::together;
use super::progress::Rounds;
use super::run_args::{FolderArgs, Opened, RunArgs};
use super::signals::interrupt_on_signal;
use super::terminal;
use crate::experiment::{Evaluations, ExperimentConfig, FinishedRun, Report, TrainRun};
use crate::page::{Table, wrapped};
use crate::report::write_reports;

/// Arguments of `train`.
#[derive(Debug, Args)]
pub struct TrainArgs {
    #[command(flatten)]
    run: RunArgs,
    /// Continue from a saved tree ranker or `train` folder and add trees to it (same as the key `start`)
    #[arg(long = "continue", value_name = "RANKER")]
    start: Option<PathBuf>,
    /// Folder for the results: new, empty, or the folder of an earlier run [default: runs/NAME]
    #[arg(long)]
    out: Option<PathBuf>,
    #[command(flatten)]
    folder: FolderArgs,
    /// Instead of progress lines, draw a dashboard with curves that fills the terminal; only for the learner `gradient`
    #[arg(long, conflicts_with_all = ["quiet", "json"])]
    dashboard: bool,
    /// Print only warnings, errors, and what --json asks for, without progress or table
    #[arg(long, short)]
    quiet: bool,
    /// Print one JSON object instead of the table
    #[arg(long)]
    json: bool,
}

impl TrainArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let start = Instant::now();
        work_on_this_thread();
        let option = self.start.as_ref().map(|path| ("start", "--continue", path.display().to_string()));
        together(|group| {
            let opened = self.run.open_with(option)?;
            opened.execution.scope(|| self.train(opened, group, start, out))
        })
    }

    fn train(&self, opened: Opened, group: &ProcessGroup, start: Instant, out: &mut dyn Write) -> Result<(), Failure> {
        let Opened { document, config, device, .. } = opened;
        self.check_dashboard(&config)?;
        let (path, claim) = (self.out.clone(), self.folder.claim());
        let rounds = Rounds::new(self.dashboard || self.quiet || !group.leads(), config.measure.select);
        let run = TrainRun::open(start, &document, config, &device, path, claim, group)?;
        rounds.read();
        if group.leads() && !self.quiet {
            note_unread(run.config());
        }
        let name = run.config().name.clone();
        let progress: &dyn Progress = if group.leads() { &rounds } else { &NoProgress };
        let done = run.fit(self.dashboard, progress, interrupt_on_signal()?, &write_reports)?;
        let FinishedRun { folder: path, fit, report } = done;

        let cautions = match &report {
            Report::Train(report) => &*report.cautions,
            Report::Cv(_) => &[],
        };
        if !group.leads() {
            // Only the first process prints the result.
        } else if self.json {
            let mut summary = json!({
                "out": path, "best_round": fit.best_round, "rounds": fit.history.len(), "stop": fit.stop,
                "measures": fit.evaluations, "seconds": start.elapsed().as_secs_f64(),
            });
            if !cautions.is_empty() {
                summary["cautions"] = json!(cautions);
            }
            if let Some(importance) = &fit.importance {
                summary["importance"] = json!(importance);
                if let Report::Train(report) = &report {
                    summary["partial_dependence"] = json!(report.partial_dependence);
                }
            }
            writeln!(out, "{summary}")?;
        } else if !self.quiet {
            writeln!(
                out,
                "{}: round {} of {} selected, {}, {:.1} s, written to {}",
                harmless(&name),
                fit.best_round,
                fit.history.len(),
                in_words(fit.stop),
                start.elapsed().as_secs_f64(),
                path.display()
            )?;
            write!(out, "{}", table(&fit.evaluations))?;
            for line in cautions.iter().flat_map(|caution| wrapped(caution, 80)) {
                writeln!(out, "{}", harmless(&line))?;
            }
        }
        match fit.stop {
            StopReason::Interrupted => {
                Err(Failure::work("interrupted; the best model so far is saved, --resume continues"))
            }
            _ => Ok(()),
        }
    }
}

impl TrainArgs {
    /// Returns an error if `--dashboard` is given but no dashboard can be drawn.
    fn check_dashboard(&self, config: &ExperimentConfig) -> Result<(), Failure> {
        if !self.dashboard {
            return Ok(());
        }
        if !config.learner_entry().is_some_and(|entry| entry.draws_dashboard) {
            let found = config.learner_kind();
            return Err(Failure::input(format!("--dashboard: found the learner `{found}`, expected `gradient`")));
        }
        if !(std::io::stdout().is_terminal() && std::io::stderr().is_terminal()) {
            return Err(Failure::input("--dashboard: expected a terminal on standard output and standard error"));
        }
        Ok(())
    }
}

/// Names the sections of the configuration that `train` does not read.
fn note_unread(config: &ExperimentConfig) {
    let given = [
        ("[grid]", !config.grid.is_empty()),
        ("[search]", config.search.is_some()),
        ("[cv]", config.cv != Default::default()),
    ];
    let given: Vec<&str> = given.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect();
    if !given.is_empty() {
        terminal::say(format_args!("note: train ignores {}; only cv reads them", given.join(" and ")));
    }
}

/// The sets of queries, in the order of their use.
const SETS: [&str; 3] = ["train", "validation", "test"];

/// Formats the measures of each set as a table.
fn table(evaluations: &Evaluations) -> String {
    let Some(first) = evaluations.values().next() else { return String::new() };
    let header = format!("{} convention", first.convention.name);
    let names = first.means.iter().map(|(measure, _)| measure.to_string());
    let mut table = Table::new([header, "queries".to_string(), "empty".to_string()].into_iter().chain(names));
    for (set, evaluation) in SETS.iter().filter_map(|set| Some((*set, evaluations.get(set)?))) {
        let counts = [evaluation.queries, evaluation.empty_queries].map(|count| count.to_string());
        table.row(set, counts.into_iter().chain(evaluation.means.iter().map(|(_, mean)| format!("{mean:.4}"))));
    }
    table.text()
}
