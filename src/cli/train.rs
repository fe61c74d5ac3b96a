//! `burn-rank train CONFIG`: one fit, with its ranker, log and report.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Instant;

use crate::json::json;
use clap::Args;

use super::progress::{Bar, interrupt_on_signal};
use super::report::write_reports;
use super::run_args::{FolderArgs, Opened, RunArgs};
use super::{Failure, Table, work_on_this_thread};
use crate::experiment::{
    CARD, Evaluations, FitOptions, OutputFolder, RANKER, Report, RunKind, RunRecord, Sets, TrainReport, fit_in_place,
    resolved_toml,
};
use crate::learner::StopReason;

/// Arguments of `train`.
#[derive(Debug, Args)]
pub struct TrainArgs {
    #[command(flatten)]
    run: RunArgs,
    /// Starts from the scores of a saved ranker of trees, or of that in the folder of a `train` run, and adds to it: the
    /// key `start`
    #[arg(long = "continue", value_name = "RANKER")]
    start: Option<PathBuf>,
    /// Folder of the results: a new or empty one, or that of an earlier run [default: runs/NAME]
    #[arg(long)]
    out: Option<PathBuf>,
    #[command(flatten)]
    folder: FolderArgs,
    /// No terminal dashboard
    #[arg(long)]
    no_tui: bool,
    /// Only warnings, errors, and what --json asks for: no progress, no dashboard, no table
    #[arg(long, short)]
    quiet: bool,
    /// One JSON object instead of the table
    #[arg(long)]
    json: bool,
}

impl TrainArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let start = Instant::now();
        work_on_this_thread();
        let option = self.start.as_ref().map(|path| ("start", path.display().to_string()));
        let opened = self.run.open_with(option)?;
        opened.execution.scope(|| self.train(&opened, start, out))
    }

    fn train(&self, opened: &Opened, start: Instant, out: &mut dyn Write) -> Result<(), Failure> {
        let Opened { document, config, device, .. } = opened;
        let path = self.out.clone().unwrap_or_else(|| PathBuf::from("runs").join(&config.name));
        let resolved = resolved_toml(document, config)?;
        let start_ranker = config.start_ranker(device)?;
        // The folder is checked before the data are read, which may take long. It is made only afterwards, so that data
        // that cannot be read leave nothing behind.
        OutputFolder::check(&path, RunKind::Train, &resolved, self.folder.claim())?;
        let mut split = config.data.split()?;
        let folder = OutputFolder::open(&path, RunKind::Train, &resolved, self.folder.claim())?;

        let dashboard = !self.no_tui
            && !self.quiet
            && !self.json
            && std::io::stdout().is_terminal()
            && std::io::stderr().is_terminal();
        let dashboard = dashboard && config.learner().is_ok_and(|learner| learner.draws_dashboard());
        let bar = Bar::new(dashboard || self.quiet, config.measure.select);
        let interrupt = interrupt_on_signal()?;
        let fitting = Instant::now();
        let options = FitOptions {
            start: start_ranker.as_ref(),
            device,
            directory: Some(folder.path()),
            resume: self.folder.resume,
            dashboard,
            progress: &bar,
            interrupt,
        };
        let data = Sets::from_split(&split);
        let fit = fit_in_place(config, &mut split, config.seed, &options)?;
        let fit_time = fitting.elapsed();

        folder.write(RANKER, &fit.ranker.to_bytes())?;
        folder.write(CARD, fit.ranker.card(&config.name).as_bytes())?;
        let report = TrainReport::new(config, data, &split, &fit);
        let partial_dependence = json!(report.partial_dependence);
        write_reports(&folder, &Report::Train(report), &RunRecord::new(&config.device, fit_time, start.elapsed()))?;

        if self.json {
            let mut summary = json!({
                "out": path, "best_round": fit.best_round, "rounds": fit.history.len(), "stop": fit.stop,
                "measures": fit.evaluations, "seconds": start.elapsed().as_secs_f64(),
            });
            if let Some(importance) = &fit.importance {
                summary["importance"] = json!(importance);
                summary["partial_dependence"] = partial_dependence;
            }
            writeln!(out, "{summary}")?;
        } else if !self.quiet {
            writeln!(
                out,
                "{}: round {} of {} selected, {:.1} s, written to {}",
                config.name,
                fit.best_round,
                fit.history.len(),
                start.elapsed().as_secs_f64(),
                path.display()
            )?;
            write!(out, "{}", table(&fit.evaluations))?;
        }
        match fit.stop {
            StopReason::Interrupted => {
                Err(Failure::work("interrupted; the best model so far is saved, --resume continues"))
            }
            _ => Ok(()),
        }
    }
}

/// Formats the measures of each set as a table.
fn table(evaluations: &Evaluations) -> String {
    let Some(first) = evaluations.values().next() else { return String::new() };
    let header = format!("{} convention", first.convention.name);
    let names = first.means.iter().map(|(measure, _)| measure.to_string());
    let mut table = Table::new([header, "queries".to_string(), "empty".to_string()].into_iter().chain(names));
    for (set, evaluation) in evaluations {
        let counts = [set.to_string(), evaluation.queries.to_string(), evaluation.empty_queries.to_string()];
        table.row(counts.into_iter().chain(evaluation.means.iter().map(|(_, mean)| format!("{mean:.4}"))));
    }
    table.render()
}
