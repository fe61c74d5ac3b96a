//! `burn-rank cv CONFIG` cross-validates, with a fit for each fold, setting and seed, and prints one table.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use burn::tensor::Device;
use burn_rank::distributed::ProcessGroup;
use burn_rank::json::Value;
use burn_rank::learner::StopReason;
use burn_rank::workbench::json::json;
use burn_rank::workbench::text::{counted, harmless};
use clap::Args;

use super::failure::Failure;
use super::processes::together;
use super::progress::{Fits, Rounds, during};
use super::run_args::{FolderArgs, Opened, RunArgs};
use super::signals::interrupt_on_signal;
use crate::experiment::{
    CONFIG, Chosen, Claim, CrossValidation, CrossValidationOptions, CrossValidationReport, DataConfig, ExperimentError,
    FoldResult, KEPT, Keep, Measures, OutputFolder, Part, PartDone, RANKER, REPORT, Report, RunKind, RunRecord,
    TrainRun, agree, cross_validate_and_choose, cross_validate_part, merge_parts_and_choose, resolved_toml,
};
use crate::page::{Table, indented, wrapped};
use crate::report::write_reports;

/// Which fits this process runs.
#[derive(Debug, Clone, Copy)]
enum Work {
    /// Every fit.
    Whole,
    /// Runs only the fits of this part, and leaves their results in the folder for a later merge.
    Part(Part),
    /// Runs no fits, and merges the results of all parts.
    Merge,
}

/// Arguments of `cv`.
#[derive(Debug, Clone, Args)]
pub struct CvArgs {
    #[command(flatten)]
    run: RunArgs,
    /// Folder for the results: new, empty, or the folder of an earlier run; without --out, nothing is saved
    #[arg(long)]
    out: Option<PathBuf>,
    #[command(flatten)]
    folder: FolderArgs,
    /// Keep files of each fold's selected fit in the subfolder kept/: `rankers`, `scores` of the test documents, or
    /// `runs` in TREC form, separated by commas
    #[arg(long, value_name = "WHAT")]
    keep: Option<String>,
    /// Run every N-th fit, starting with the I-th, and write no report. Meant for scheduler jobs that share one --out
    /// folder; run the same command again to resume
    #[arg(long, value_name = "I/N", conflicts_with_all = ["overwrite", "merge"])]
    part: Option<String>,
    /// Merge the results of all parts, which are in the folder --out
    #[arg(long, conflicts_with = "overwrite")]
    merge: bool,
    /// Afterwards train a final ranker on the queries of all folds. The final ranker's setting has the best mean
    /// validation value over folds and seeds. Its number of rounds is the median of that setting's best rounds. The run
    /// goes to OUT: a new or empty folder or, with --resume or --overwrite, the folder of an earlier refit
    #[arg(long, value_name = "OUT", conflicts_with = "part")]
    refit: Option<PathBuf>,
    /// Number of fits that run at the same time [default: as many as cores and memory allow]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Print only warnings, errors and what --json asks for, without progress or a table. The result goes to --out or
    /// --json
    #[arg(long, short)]
    quiet: bool,
    /// Print one JSON object instead of the table
    #[arg(long)]
    json: bool,
}

impl CvArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let start = Instant::now();
        if self.out.is_none() && self.refit.is_none() && self.folder.claim() != Claim::New {
            return Err(Failure::input("--resume and --overwrite need the folder of the run: --out DIR"));
        }
        if self.out.is_none() && (self.part.is_some() || self.merge) {
            return Err(Failure::input("--part and --merge need the folder that the parts share: --out DIR"));
        }
        let part: Option<Part> = self.part.as_deref().map(str::parse).transpose()?;
        if self.quiet && self.out.is_none() && self.refit.is_none() && !self.json {
            return Err(Failure::input("--quiet needs a place for the result: --out DIR or --json"));
        }
        if let (Some(out), Some(refit)) = (&self.out, &self.refit)
            && [out, refit].map(|path| std::path::absolute(path).ok()).windows(2).all(|both| both[0] == both[1])
        {
            return Err(Failure::input("--refit: found the folder of --out, expected another one"));
        }
        let keep: Keep = self.keep.as_deref().map(str::parse).transpose()?.unwrap_or_default();
        if keep.any() && self.out.is_none() {
            return Err(Failure::input("--keep needs the folder of the run: --out DIR"));
        }
        together(|group| {
            let opened = self.run.open()?;
            // Checks the folds before a folder is made.
            opened.config.check_folds().map_err(ExperimentError::from)?;
            if let Some(refit) = self.refit.as_ref().filter(|_| group.leads()) {
                check_folder(refit, self.folder.claim())?;
            }
            let several = group.count() > 1;
            if part.is_some() || self.merge || several {
                opened.config.check_parts().map_err(ExperimentError::from)?;
            }
            let work = match part {
                _ if several => return opened.execution.scope(|| self.in_parts(&opened, group, keep, start, out)),
                Some(part) => Work::Part(part),
                None if self.merge => Work::Merge,
                None => Work::Whole,
            };
            opened.execution.scope(|| self.cross_validate(&opened, work, keep, start, out))
        })
    }

    /// Runs a part of the fits in each process, and merges all results in the first process.
    fn in_parts(
        &self,
        opened: &Opened,
        group: &ProcessGroup,
        keep: Keep,
        start: Instant,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let (rank, count) = (group.rank(), group.count());
        if self.out.is_none() || self.part.is_some() || self.merge {
            let what = "the folder that they share, and makes its parts itself: --out DIR, without --part and --merge";
            return Err(Failure::input(format!("cv in {count} processes needs {what}")));
        }
        agree(group, &opened.config, &[]).map_err(Failure::from)?;
        if group.leads() {
            // Rejects an occupied folder, and creates the folder that the parts share.
            let resolved = resolved_toml(&opened.document, &opened.config)?;
            drop(self.open(&resolved, self.folder.claim())?);
        }
        group.wait();
        let part = Part::new(rank + 1, count).map_err(Failure::from)?;
        let quiet = Self { quiet: true, json: false, ..self.clone() };
        let of_part = if group.leads() { &Self { json: false, ..self.clone() } } else { &quiet };
        of_part.cross_validate(opened, Work::Part(part), keep, start, &mut std::io::sink())?;
        group.wait();
        if group.leads() { self.cross_validate(opened, Work::Merge, keep, start, out) } else { Ok(()) }
    }

    /// Opens the folder given by `--out`, or returns `None` without this option.
    fn open(&self, resolved: &str, claim: Claim) -> Result<Option<OutputFolder>, Failure> {
        let Some(path) = &self.out else { return Ok(None) };
        Ok(Some(OutputFolder::open(path, RunKind::CrossValidation, resolved, claim)?))
    }

    fn cross_validate(
        &self,
        opened: &Opened,
        work: Work,
        keep: Keep,
        start: Instant,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let Opened { document, config, device, .. } = opened;
        let claim = self.claim(work);
        // An occupied folder is reported before the data are read, and data that cannot be read leave no folder behind.
        let resolved = resolved_toml(document, config)?;
        if let (Some(path), Some(_)) = (&self.out, &self.refit) {
            OutputFolder::check(path, RunKind::CrossValidation, &resolved, claim)?;
        }
        let refit_data = match (&self.refit, work) {
            (Some(_), Work::Whole | Work::Merge) => Some(during("reading the data", || config.refit_data())?),
            _ => None,
        };
        let mut folder = self.open(&resolved, claim)?;
        let on_cpu = matches!(config.device.as_str(), "flex" | "ndarray");
        let threads = if on_cpu { rayon::current_num_threads() } else { 1 };
        let fits = Fits::new(self.quiet, config.measure.select);
        let options = CrossValidationOptions {
            device,
            output: folder.as_ref(),
            resume: self.folder.resume || matches!(work, Work::Merge),
            keep,
            jobs: self.jobs.map(usize::from),
            threads,
            progress: &fits,
            interrupt: interrupt_on_signal()?,
        };
        let fitting = Instant::now();
        if let Work::Part(part) = work {
            let done = cross_validate_part(document, config, part, &options);
            fits.end();
            return self.print_part(part, done?, out);
        }
        let report = match (&folder, work) {
            (Some(folder), Work::Merge) => merge_parts_and_choose(document, config, folder, &options),
            _ => cross_validate_and_choose(document, config, &options),
        };
        fits.end();
        let (report, chosen) = report.map_err(|error| match &folder {
            Some(folder) => folder.give_up(error),
            None => error,
        })?;
        let fit_time = fitting.elapsed();
        let report = Report::Cv(report);
        if let Some(folder) = &mut folder {
            let record = RunRecord::new(&config.device, fit_time, start.elapsed());
            write_reports(folder, &report, &record)?;
            folder.finish()?;
        }
        let Report::Cv(report) = &report else { return Ok(()) };
        let kept = folder.as_ref().filter(|_| keep.any()).map(|folder| Kept::of(&report.result, keep, folder));
        let refit = match (&self.refit, refit_data) {
            (Some(path), Some(data)) => Some((path.as_path(), &chosen, data)),
            _ => None,
        };
        self.print_and_refit(report, kept, refit, device, out)
    }

    /// Returns what this work may do with the folder of the cross-validation.
    fn claim(&self, work: Work) -> Claim {
        match work {
            Work::Whole => self.folder.claim(),
            Work::Part(part) => Claim::Part { of: part.of() },
            Work::Merge => Claim::Merge,
        }
    }

    /// Prints the result, and makes the refit. A terminal shows the result before the refit begins; JSON is one object
    /// at the end.
    fn print_and_refit(
        &self,
        report: &CrossValidationReport,
        kept: Option<Kept>,
        refit: Option<(&Path, &Chosen, DataConfig)>,
        device: &Device,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let Some((path, chosen, data)) = refit else { return self.print(report, kept, None, out) };
        if self.json {
            self.refit(&report.result, path, chosen, &data, device)?;
            let mut record = Value::from(chosen);
            record["out"] = json!(path);
            return self.print(report, kept, Some(record), out);
        }
        self.print(report, kept, None, out)?;
        out.flush()?;
        let queries = self.refit(&report.result, path, chosen, &data, device)?;
        if !self.quiet {
            write!(out, "{}", refitted(chosen, report, queries, path))?;
        }
        Ok(())
    }

    /// Trains the chosen setting on all queries and returns the number of queries.
    fn refit(
        &self,
        result: &CrossValidation,
        path: &Path,
        chosen: &Chosen,
        data: &DataConfig,
        device: &Device,
    ) -> Result<usize, Failure> {
        let (document, config) = chosen.configuration(data)?;
        let rounds = Rounds::new(self.quiet, config.measure.select);
        let claim = self.folder.claim();
        let run = TrainRun::open(
            Instant::now(),
            &document,
            config,
            device,
            Some(path.into()),
            claim,
            &ProcessGroup::default(),
        )?;
        rounds.read();
        let report = self.out.as_ref().map(|out| out.join(REPORT).display().to_string());
        let run = run.with_estimate(result.estimate(report));
        let done = run.fit(false, &rounds, interrupt_on_signal()?, &write_reports)?;
        match (done.fit.stop, &done.report) {
            (StopReason::Interrupted, _) => Err(Failure::work(format!(
                "interrupted; the model so far is in {}, the same command with --resume continues",
                path.display()
            ))),
            (_, Report::Train(report)) => Ok(report.data.train.statistics.queries),
            _ => Ok(0),
        }
    }

    /// Prints the result of the cross-validation, and which files were kept.
    fn print(
        &self,
        report: &CrossValidationReport,
        kept: Option<Kept>,
        refit: Option<Value>,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        if self.json {
            let mut record = json!(report.result);
            record["query_means"] = json!(report.query_means());
            let grid = report.standings();
            if !grid.is_empty() {
                record["grid"] = json!(grid);
            }
            if let Some(kept) = kept {
                record["kept"] = json!({"files": kept.files, "bytes": kept.bytes});
            }
            if let Some(refit) = refit {
                record["refit"] = refit;
            }
            writeln!(out, "{record}")?;
        } else if !self.quiet {
            write!(out, "{}", render(report))?;
            if let Some(kept) = kept {
                let files = counted(kept.files.len(), "file");
                writeln!(out, "kept {files}, {} bytes, in {}", kept.bytes, kept.place.display())?;
            }
        }
        Ok(())
    }

    /// Prints how many fits of a part are finished.
    fn print_part(&self, part: Part, done: PartDone, out: &mut dyn Write) -> Result<(), Failure> {
        let PartDone { fits, all } = done;
        if self.json {
            writeln!(out, "{}", json!({"part": part.to_string(), "fits": fits, "all": all}))?;
        } else if !self.quiet {
            writeln!(
                out,
                "part {part} is done: {fits} of the {all} fits; when all parts are done, --merge puts them together"
            )?;
        }
        Ok(())
    }
}

/// Checks, before any work starts, that a refit may write to the folder.
fn check_folder(path: &Path, claim: Claim) -> Result<(), Failure> {
    // The configuration is known when the fits are made. A run that is resumed must have the configuration of the
    // folder.
    let there = match claim {
        Claim::Resume => std::fs::read_to_string(path.join(CONFIG)).unwrap_or_default(),
        _ => String::new(),
    };
    OutputFolder::check(path, RunKind::Train, &there, claim).map_err(|error| match claim {
        Claim::New if path.join(RANKER).exists() => Failure::input(format!(
            "--refit: {}: holds a run; --resume keeps it if its configuration is the same, --overwrite replaces it",
            path.display()
        )),
        _ => Failure::from(error).context("--refit"),
    })
}

/// Describes, for the terminal, which setting a refit used and where its ranker is.
fn refitted(chosen: &Chosen, report: &CrossValidationReport, queries: usize, path: &Path) -> String {
    let (least, most) = (chosen.best_rounds.iter().min(), chosen.best_rounds.iter().max());
    let rounds = match (least, most) {
        (Some(least), Some(most)) if least != most => format!(", the median of {least} to {most}"),
        _ => String::new(),
    };
    let name = report.standings().into_iter().find(|standing| standing.setting == chosen.setting);
    let name = name.map(|standing| format!(": {}", harmless(&standing.name))).unwrap_or_default();
    let line = format!(
        "refit{name}, trained on {} for {}{rounds}; written to {}. It has no test value of its own: the means above are its \
         estimate.",
        counted(queries, "query"),
        counted(chosen.round(), "round"),
        path.display()
    );
    wrapped(&line, 80).join("\n") + "\n"
}

/// The files that a cross-validation kept.
struct Kept {
    /// The paths of the kept files, relative to the folder of the run.
    files: Vec<String>,
    bytes: u64,
    /// The folder that contains the kept files.
    place: PathBuf,
}

impl Kept {
    fn of(result: &CrossValidation, keep: Keep, folder: &OutputFolder) -> Self {
        let of_fold = |fold: &FoldResult| -> Vec<String> {
            result.seeds.iter().flat_map(|seed| keep.files(fold.fold, *seed)).collect()
        };
        let files: Vec<String> = result.folds.iter().flat_map(of_fold).collect();
        let size = |name: &String| std::fs::metadata(folder.file(name)).map_or(0, |there| there.len());
        Self { bytes: files.iter().map(size).sum(), files, place: folder.file(KEPT) }
    }
}

/// The number of trials that are printed for each fold.
const TRIALS: usize = 5;

/// Formats the best trials of each fold of a hyperparameter search.
fn trials(result: &CrossValidation) -> String {
    let mut text = String::new();
    for fold in result.folds.iter().filter(|fold| !fold.trials.is_empty()) {
        let (all, shown) = (fold.trials.len(), fold.trials.len().min(TRIALS));
        text += &format!("\nfold {}, the best {shown} of {all} trials, the first selected\n", fold.fold);
        let keys: Vec<&String> = fold.trials[0].values.keys().collect();
        let first = ["trial", "validation", "rounds"].map(String::from);
        let mut table = Table::new(first.into_iter().chain(keys.iter().map(|key| key.to_string())));
        for trial in fold.ranked_trials().into_iter().take(TRIALS) {
            let validation = trial.validation.map_or("-".to_string(), |value| format!("{value:.4}"));
            let values = keys.iter().map(|key| trial.values.get(*key).map(ToString::to_string).unwrap_or_default());
            table.row(trial.trial.to_string(), [validation, trial.rounds.to_string()].into_iter().chain(values));
        }
        text += &table.text();
    }
    text
}

/// The number of points of a grid that are printed.
const POINTS: usize = 20;

/// The number of terminal columns in front of the name of a point.
const INDENT: usize = "validation   error  folds  ".len();

/// Formats the points of a grid, the best first.
fn points(report: &CrossValidationReport) -> String {
    let standings = report.standings();
    let Some((verdict, _)) = report.verdict() else { return String::new() };
    let (on, folds) = (&report.result.selected_on, report.result.folds.len());
    let mut text = format!("\n{on:>10}   error  folds  {} points, the best first\n", standings.len());
    for standing in standings.iter().take(POINTS) {
        let [mean, error] = [standing.validation, standing.standard_error]
            .map(|value| if value.is_finite() { format!("{value:.4}") } else { "-".to_string() });
        let name = indented(&harmless(&standing.name), INDENT);
        text += &format!("{mean:>10}  {error:>6}  {:>2}/{folds:<2}  {name}\n", standing.folds.len());
    }
    if standings.len() > POINTS {
        text += &format!("{} more points\n", standings.len() - POINTS);
    }
    text + &format!("\nverdict  {}\n", indented(&harmless(&verdict), "verdict  ".len()))
}

fn render(report: &CrossValidationReport) -> String {
    let result = &report.result;
    let mut text = format!(
        "{}: {} convention, {}, {} empty, {}\n",
        harmless(&result.name),
        result.convention.name,
        counted(result.queries, "test query"),
        result.empty_queries,
        counted(result.seeds.len(), "seed")
    );
    let names: Vec<&String> = result.measures.keys().collect();
    let mut table = Table::new(
        ["fold".to_string(), result.selected_on.clone()].into_iter().chain(names.iter().map(|n| n.to_string())),
    );
    let cells = |measures: &Measures| -> Vec<String> {
        names
            .iter()
            .map(|name| measures[*name].as_f64().map_or("-".to_string(), |value| format!("{value:.4}")))
            .collect()
    };
    for fold in &result.folds {
        table.row(fold.fold.to_string(), [format!("{:.4}", fold.validation)].into_iter().chain(cells(&fold.measures)));
    }
    let mut mean = |name: &str, cells: Vec<String>| table.row(name, [String::new()].into_iter().chain(cells));
    let (of_folds, of_queries) = (cells(&result.measures), cells(&report.query_means()));
    let differ = of_folds != of_queries;
    mean(if differ { "mean of folds" } else { "mean" }, of_folds);
    if differ {
        mean("mean of queries", of_queries);
    }
    mean("std. error", cells(&result.standard_errors));
    text += &table.text();
    text += &trials(result);
    let unfinished: Vec<String> = result
        .folds
        .iter()
        .filter(|fold| fold.stops.contains(&StopReason::NotConverged))
        .map(|fold| fold.fold.to_string())
        .collect();
    if !unfinished.is_empty() {
        text += &format!("not converged, the best iterate counts: fold {}\n", unfinished.join(", "));
    }
    text + &points(report)
}
