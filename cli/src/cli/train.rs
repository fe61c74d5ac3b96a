//! `burn-rank train CONFIG` runs one fit, and writes its ranker, log and report.

use std::time::Instant;

use burn_rank::learner::{Progress, StopReason};
use burn_rank::workbench::distributed::ProcessGroup;
use burn_rank::workbench::learner::in_words;

use super::*;
use crate::experiment::{
    Destination, ExperimentConfig, FinishedRun, Measures, MemberReport, SetMeasures, TrainReport, TrainRun,
};
use crate::report::{measures_table, write_reports};

/// Arguments of `train`.
#[derive(Debug, Args)]
pub struct TrainArgs {
    #[command(flatten)]
    run: RunArgs,
    /// Continue from a saved tree ranker or `train` folder and add trees to it (same as the key `start`)
    #[arg(long = "continue", value_name = "RANKER")]
    start: Option<PathBuf>,
    #[command(flatten)]
    folder: FolderArgs,
    /// Keep nothing, and only print the result
    #[arg(long, conflicts_with_all = ["out", "resume", "overwrite"])]
    no_out: bool,
    /// Print only warnings, errors, and what --json asks for, without progress or table
    #[arg(long, short)]
    quiet: bool,
    /// Print one JSON object instead of the table
    #[arg(long)]
    json: bool,
}

impl TrainArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        let start = Instant::now();
        if self.quiet && self.no_out && !self.json {
            bail!("--quiet needs a place for the result: leave out --no-out, or add --json");
        }
        start_threads(true);
        let option = self.start.as_ref().map(|path| ("start", "--continue", path.display().to_string()));
        together(|group| {
            let opened = self.run.open(option, Experiment::from_document)?;
            opened.execution.scope(|| self.train(opened, group, start, out))
        })
    }

    fn train(&self, opened: Opened, group: &ProcessGroup, start: Instant, out: &mut dyn Write) -> Result {
        let Opened { document, config, device, .. } = opened;
        let mut to = Destination::new(self.folder.out.clone(), &config.name, self.folder.claim());
        to.place = to.place.filter(|_| !self.no_out);
        let rounds = Rounds::new(self.quiet || !group.leads(), config.measure.select);
        let run = TrainRun::open(start, &document, config, &device, &to, group)?;
        rounds.read();
        if group.leads() && !self.quiet {
            note_unread(run.config());
        }
        let name = run.config().name.clone();
        if let Some(home) = run.home().filter(|_| !(self.quiet || self.json || run.is_finished())) {
            terminal::say(format_args!("writing to {}", home.display()));
        }
        let progress: &dyn Progress = if group.leads() { &rounds } else { &() };
        let done = run.fit(progress, interrupt_on_signal()?, &write_reports)?;
        if group.leads() {
            self.print(&done, &name, start, out)?;
        }
        match done.report.fit.stop {
            StopReason::Interrupted if done.folder.is_some() => {
                Err(Failure::work("interrupted; the best model so far is saved, --resume continues"))
            }
            StopReason::Interrupted => Err(Failure::work("interrupted; with --no-out, nothing is saved")),
            _ => Ok(()),
        }
    }

    /// Prints the result.
    fn print(&self, done: &FinishedRun, name: &str, start: Instant, out: &mut dyn Write) -> Result {
        let FinishedRun { folder, is_new, report, .. } = done;
        let TrainReport { fit, convention, cautions, .. } = report;
        if self.json {
            let measures = report.measures.iter().map(|(set, SetMeasures { queries, empty_queries, measures, .. })| {
                let value = json!({
                    "convention": convention, "queries": queries, "empty_queries": empty_queries, "measures": measures,
                });
                (set.to_string(), value)
            });
            let mut summary = json!({
                "out": folder, "best_round": fit.best_round, "rounds": fit.rounds, "stop": fit.stop,
                "measures": measures.collect::<Measures>(), "seconds": start.elapsed().as_secs_f64(),
            });
            if !cautions.is_empty() {
                summary["cautions"] = json!(cautions);
            }
            if !fit.members.is_empty() {
                let row = |of: &MemberReport| {
                    json!({
                        "name": of.name, "weight": of.weight, "seed": of.seed, "best_round": of.best_round,
                        "rounds": of.rounds, "stop": of.stop, "measures": of.measures,
                    })
                };
                summary["members"] = fit.members.iter().map(row).collect();
            }
            if let Some(importance) = &fit.importance {
                summary["importance"] = json!(importance);
                summary["partial_dependence"] = json!(report.partial_dependence);
            }
            writeln!(out, "{summary}")?;
        } else if !self.quiet {
            let seconds = if *is_new { format!(", {:.1} s", start.elapsed().as_secs_f64()) } else { String::new() };
            let (name, best, rounds, stop) = (harmless(name), fit.best_round, fit.rounds, in_words(fit.stop));
            match fit.members.len() {
                0 => writeln!(out, "{name}: round {best} of {rounds} selected, {stop}{seconds}")?,
                members => writeln!(out, "{name}: {} joined, {stop}{seconds}", counted(members, "member"))?,
            }
            for MemberReport { name, best_round, rounds, stop, .. } in &fit.members {
                writeln!(out, "  {}: round {best_round} of {rounds} selected, {}", harmless(name), in_words(*stop))?;
            }
            let measures: Vec<&String> = report.measures.train.measures.keys().collect();
            let table = measures_table(report, &format!("{} convention", convention.name), &measures);
            write!(out, "{}", table.within(COLUMNS))?;
            cautions.iter().try_for_each(|caution| write!(out, "{}", paragraph(&harmless(caution))))?;
            if let Some(folder) = folder {
                writeln!(out, "{}", written_to(folder, PAGE, *is_new))?;
            }
        }
        Ok(())
    }
}

/// Names the sections of the configuration that `train` does not read.
fn note_unread(config: &ExperimentConfig) {
    let grid = (!config.grid.is_empty()).then_some("[grid]");
    let search = config.search.as_ref().map(|_| "[search]");
    let cv = (config.cv != Default::default()).then_some("[cv]");
    let given: Vec<&str> = [grid, search, cv].into_iter().flatten().collect();
    if !given.is_empty() {
        terminal::say(format_args!("note: train ignores {}; only cv reads them", given.join(" and ")));
    }
}
