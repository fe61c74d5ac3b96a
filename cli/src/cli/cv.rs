//! `burn-rank cv CONFIG` cross-validates, with a fit for each fold, setting and seed, and prints one table.

use std::fs;
use std::time::Instant;

use burn_rank::learner::StopReason;
use burn_rank::ranker::Estimate;
use burn_rank::workbench::distributed::ProcessGroup;

use super::progress::Fits;
use super::*;
use crate::experiment::{
    Chosen, CrossValidation, CrossValidationOptions, CrossValidationReport, DataConfig, Destination, ExperimentError,
    FinishedRun, FoldResult, KEPT, Keep, Measures, OutputError, Part, PlannedFits, Report, RunRecord, TrainRun,
    add_page, agree, format_of, json_bytes,
};
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
    #[command(flatten)]
    folder: FolderArgs,
    /// Keep nothing, and only print the result
    #[arg(long, conflicts_with_all = ["out", "keep", "part", "merge"])]
    no_out: bool,
    /// Keep files of each fold's selected fit in the subfolder kept/: `rankers`, `scores` of the test documents, or
    /// `runs` in TREC form, separated by commas
    #[arg(long, value_name = "WHAT")]
    keep: Option<String>,
    /// Write the score of each test document from the selected fits that did not train on its query, averaged over
    /// seeds. The file is a table (.csv, .tsv, .arrow or .parquet) with the columns query, document, row, fold and
    /// score, in the order of the data, or a TREC run (.run). It can be used as `data.teacher`
    #[arg(long, value_name = "OUT", conflicts_with = "no_out")]
    scores: Option<PathBuf>,
    /// Run every N-th fit, starting with the I-th, and write no report. Meant for scheduler jobs that share one --out
    /// folder; run the same command again to resume
    #[arg(long, value_name = "I/N", conflicts_with_all = ["overwrite", "merge"])]
    part: Option<String>,
    /// Merge the results of all parts, which are in the folder --out
    #[arg(long, conflicts_with = "overwrite")]
    merge: bool,
    /// Afterwards train a final ranker on the queries of all folds. The final ranker's setting has the best mean
    /// validation value over folds and seeds. Its number of rounds is the median of that setting's best rounds. The run
    /// goes to DIR, under the same rules as for --out
    #[arg(long, value_name = "DIR", conflicts_with = "part")]
    refit: Option<PathBuf>,
    /// Number of fits that run at the same time [default: as many as cores and memory allow]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Print only warnings, errors and what --json asks for, without progress or a table
    #[arg(long, short)]
    quiet: bool,
    /// Print one JSON object instead of the table
    #[arg(long)]
    json: bool,
}

impl CvArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        let start = Instant::now();
        if self.no_out && self.refit.is_none() && self.folder.claim() != Claim::New {
            bail!("--no-out: found --resume or --overwrite, which need the folder of a run");
        }
        if self.folder.out.is_none() && (self.part.is_some() || self.merge) {
            bail!("--part and --merge need the folder that the parts share: --out DIR");
        }
        let part: Option<Part> = self.part.as_deref().map(str::parse).transpose()?;
        if self.quiet && self.no_out && self.refit.is_none() && !self.json {
            bail!("--quiet needs a place for the result: leave out --no-out, or add --json");
        }
        if let (Some(out), Some(refit)) = (&self.folder.out, &self.refit)
            && std::path::absolute(out).ok() == std::path::absolute(refit).ok()
        {
            bail!("--refit: found the folder of --out, expected another one");
        }
        // Bad values of --keep and --scores are refused before the configuration is read.
        self.keep()?;
        together(|group| {
            let opened = self.run.open(None, Experiment::before_grid)?;
            // Checks the folds before a folder is made.
            opened.config.check_folds().map_err(ExperimentError::from)?;
            let several = group.count() > 1;
            if part.is_some() || self.merge || several {
                opened.config.check_parts().map_err(ExperimentError::from)?;
            }
            let work = match part {
                _ if several => return opened.execution.scope(|| self.in_parts(&opened, group, start, out)),
                Some(part) => Work::Part(part),
                None if self.merge => Work::Merge,
                None => Work::Whole,
            };
            opened.execution.scope(|| {
                let run = self.read(&opened, Some(self.claim(work)))?;
                self.cross_validate(&run, work, start, out)
            })
        })
    }

    /// Returns which files of the fits are kept, and the format of the file of all test scores.
    fn keep(&self) -> Result<Keep> {
        let keep: Keep = self.keep.as_deref().map(str::parse).transpose()?.unwrap_or_default();
        let format = self.scores.as_deref().map(format_of).transpose();
        Ok(Keep { fold_scores: format.map_err(|refusal| Failure::input(format!("--{refusal}")))?, ..keep })
    }

    /// Runs a part of the fits in each process, and merges all results in the first process.
    fn in_parts(&self, opened: &Opened, group: &ProcessGroup, start: Instant, out: &mut dyn Write) -> Result {
        let (rank, count) = (group.rank(), group.count());
        if self.folder.out.is_none() || self.part.is_some() || self.merge {
            let what = "--out DIR, the folder that they share; it divides the fits itself, without --part and --merge";
            bail!("cv in {count} processes needs {what}");
        }
        agree(group, &opened.config, None)?;
        let run = self.read(opened, group.leads().then(|| self.folder.claim()))?;
        if group.leads() {
            // Rejects an occupied folder, and creates the folder that the parts share.
            drop(run.open(self.folder.claim())?);
        }
        group.wait();
        let part = Part::of_fit(rank, count);
        let of_part = Self { quiet: self.quiet || !group.leads(), json: false, ..self.clone() };
        of_part.cross_validate(&run, Work::Part(part), start, &mut std::io::sink())?;
        group.wait();
        if group.leads() { self.cross_validate(&run, Work::Merge, start, out) } else { Ok(()) }
    }

    /// Checks the folders, then reads the data. So an occupied folder is reported before the data are read, and data
    /// that cannot be read leave no folder behind. Without a `claim`, another process looks after the folders.
    fn read<'a>(&self, opened: &'a Opened, claim: Option<Claim>) -> Result<Reading<'a>> {
        let Opened { document, config, .. } = opened;
        let keep = self.keep()?;
        if let Some(path) = &self.scores {
            not_over("--scores", path, &config.data.files()?, "is read")?;
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir());
            if let Some(folder) = folder {
                bail!("--scores {}: found no folder {}, expected one that exists", path.display(), folder.display());
            }
            let whole = |path: &Path| std::path::absolute(path).unwrap_or_default();
            let mut replaced = self.folder.out.iter().chain(&self.refit).filter(|_| self.folder.overwrite);
            if replaced.any(|home| whole(path).starts_with(whole(home))) {
                bail!("--scores {}: found a folder that --overwrite replaces, expected another one", path.display());
            }
        }
        let resolved = config.toml_for_points(document)?;
        let run = Identity::new(RunKind::CrossValidation, &resolved);
        let place = (!self.no_out).then(|| self.folder.place(&config.name));
        if let (Some(place), Some(claim)) = (&place, claim) {
            OutputFolder::check(place, &run, claim)?;
        }
        let refit = self.refit.as_deref().filter(|_| claim.is_some());
        let refit_claim = refit.map(|path| check_refit(path, &run, self.folder.claim())).transpose()?;
        let fits = Fits::new(self.quiet, config.measure.select);
        let plan = PlannedFits::read(document, config, keep, &|event| fits.show(event));
        fits.end();
        let plan = plan?;
        let run = run.on(plan.data());
        let refit = refit.zip(refit_claim).map(|(path, claim)| {
            let data = during("reading the data", || config.refit_data())?;
            Ok::<_, Failure>(Refit { path: path.to_path_buf(), data, to: Destination::of_refit(path, claim, &run) })
        });
        Ok(Reading { opened, resolved, place, run, keep, plan, refit: refit.transpose()? })
    }

    fn cross_validate(&self, run: &Reading, work: Work, start: Instant, out: &mut dyn Write) -> Result {
        let Opened { config, device, .. } = run.opened;
        let mut folder = run.open(self.claim(work))?;
        let is_finished = folder.as_ref().is_some_and(OutputFolder::is_finished);
        let is_silent = is_finished || self.quiet || self.json || matches!(work, Work::Merge);
        if let Some(folder) = folder.as_ref().filter(|_| !is_silent) {
            terminal::say(format_args!("writing to {}", folder.home().display()));
        }
        let on_cpu = matches!(config.device.as_str(), "flex" | "ndarray");
        let fits = Fits::new(self.quiet, config.measure.select);
        let options = CrossValidationOptions {
            device,
            output: folder.as_ref(),
            keep: run.keep,
            scores: self.scores.as_deref(),
            jobs: self.jobs.map(usize::from),
            threads: if on_cpu { rayon::current_num_threads() } else { 1 },
            progress: &|event| fits.show(event),
            interrupt: interrupt_on_signal()?,
        };
        let fitting = Instant::now();
        if let Work::Part(part) = work {
            let done = run.plan.run_part(part, &options);
            fits.end();
            let (fits, all) = (done?, run.plan.count());
            if self.json {
                writeln!(out, "{}", json!({"part": part.to_string(), "fits": fits, "all": all}))?;
            } else if !self.quiet {
                let next = "when all parts are done, --merge puts them together";
                writeln!(out, "part {part} is done: {fits} of the {all} fits; {next}")?;
            }
            return Ok(());
        }
        let earlier = folder.as_ref().filter(|_| is_finished).map(|folder| read_report(folder.home())).transpose()?;
        let of_cv = |(report, chosen)| (Report::Cv(report), Some(chosen));
        let done = match (&earlier, &folder, work) {
            (Some(report), ..) if !run.keep.needs_rankers() && run.refit.is_none() => Ok((report.clone(), None)),
            (_, Some(folder), Work::Merge) => run.plan.merge(folder, &options).map(of_cv),
            _ => run.plan.run(&options).map(of_cv),
        };
        fits.end();
        let (mut report, chosen) = done.map_err(|error| match OutputFolder::give_up(folder.as_ref(), error) {
            error @ ExperimentError::Interrupted { .. } if folder.is_none() => {
                Failure::work(format!("{error}; with --no-out, nothing is saved"))
            }
            error => Failure::from(error),
        })?;
        if let (Some(Report::Cv(earlier)), Report::Cv(report)) = (earlier, &mut report) {
            // A finished run stays as it is, even if its description or the way to its files is another one now.
            report.config = earlier.config;
        }
        if let Some(folder) = &mut folder {
            // A fit that was repeated for its ranker may measure differently on a GPU.
            if is_finished && fs::read(folder.file(REPORT))? == json_bytes(&report)? {
                add_page(folder, &report, &write_reports)?;
            } else {
                let record = RunRecord::new(&config.device, fitting.elapsed(), start.elapsed());
                write_reports(folder, &report, &record)?;
            }
            if !is_finished || run.keep.needs_rankers() {
                folder.finish()?;
            }
        }
        let Report::Cv(report) = &report else { return Ok(()) };
        self.print_and_refit(report, run, folder.as_ref(), chosen.as_ref(), out)
    }

    /// Returns what this work may do with the folder of the cross-validation.
    fn claim(&self, work: Work) -> Claim {
        match work {
            Work::Whole => self.folder.claim(),
            Work::Part(part) => Claim::Part { of: part.of },
            Work::Merge => Claim::Merge,
        }
    }

    /// Prints the result, and makes the refit. A terminal shows the result before the refit begins; JSON is one object
    /// at the end, which lacks a refit that failed.
    fn print_and_refit(
        &self,
        report: &CrossValidationReport,
        run: &Reading,
        folder: Option<&OutputFolder>,
        chosen: Option<&Chosen>,
        out: &mut dyn Write,
    ) -> Result {
        let result = &report.result;
        let kept = folder.filter(|_| run.keep.any()).map(|folder| (kept(result, run.keep, folder), folder.file(KEPT)));
        let refit = run.refit.as_ref().zip(chosen);
        let home = folder.map(OutputFolder::home);
        let estimate = || result.estimate(home.map(|home| home.join(REPORT).display().to_string()));
        if self.json {
            let mut record = json!(result);
            record["out"] = json!(home);
            record["query_means"] = json!(report.query_means());
            let grid = report.standings();
            if !grid.is_empty() {
                record["grid"] = json!(grid);
            }
            if let Some(((files, bytes), _)) = kept {
                record["kept"] = json!({"files": files, "bytes": bytes});
            }
            if let Some((refit, chosen)) = refit {
                // Without a folder, the result of the cross-validation would be lost with the refit.
                if let Err(failure) = self.refit(refit, chosen, run, estimate()) {
                    writeln!(out, "{record}")?;
                    return Err(failure);
                }
                record["refit"] = Value::from(chosen);
                record["refit"]["out"] = json!(refit.path);
            }
            return Ok(writeln!(out, "{record}")?);
        }
        if !self.quiet {
            write!(out, "{}", render(report))?;
            if let Some(((files, bytes), place)) = kept {
                writeln!(out, "kept {}, {bytes} bytes, in {}", counted(files.len(), "file"), place.display())?;
            }
            if let Some(path) = &self.scores {
                writeln!(out, "scores of the test documents are in {}", path.display())?;
            }
            out.flush()?;
        }
        if let Some((refit, chosen)) = refit {
            let done = self.refit(refit, chosen, run, estimate())?;
            if !self.quiet {
                write!(out, "{}", refitted(chosen, report, &done, &refit.path))?;
            }
        }
        if let Some(folder) = folder.filter(|_| !self.quiet) {
            writeln!(out, "{}", written_to(folder.home(), PAGE, !folder.is_finished()))?;
        }
        Ok(())
    }

    /// Trains the chosen setting on all queries. `estimate` is the ranker's quality as the cross-validation estimates
    /// it.
    fn refit(&self, refit: &Refit, chosen: &Chosen, run: &Reading, estimate: Estimate) -> Result<FinishedRun> {
        let (document, config) = chosen.configuration(&refit.data)?;
        let rounds = Rounds::new(self.quiet, config.measure.select);
        let (device, group) = (&run.opened.device, ProcessGroup::default());
        let fit = TrainRun::open(Instant::now(), &document, config, device, &refit.to, &group)?;
        rounds.read();
        let done = fit.with_estimate(estimate).fit(&rounds, interrupt_on_signal()?, &write_reports)?;
        if done.report.fit.stop == StopReason::Interrupted {
            let place = format!("the model so far is in {}", done.folder.unwrap_or_default().display());
            let instead = if self.folder.overwrite { " in place of --overwrite" } else { "" };
            return Err(Failure::work(format!(
                "interrupted; {place}, the same command with --resume{instead} continues"
            )));
        }
        Ok(done)
    }
}

/// A cross-validation whose data are read, and the folders for its results.
struct Reading<'a> {
    opened: &'a Opened,
    /// The resolved configuration.
    resolved: String,
    /// Where the run goes; `None` keeps nothing.
    place: Option<Place>,
    run: Identity,
    keep: Keep,
    plan: PlannedFits<'a>,
    refit: Option<Refit>,
}

/// Where the best setting is trained on all queries, and these queries.
struct Refit {
    path: PathBuf,
    to: Destination,
    data: DataConfig,
}

impl Reading<'_> {
    /// Opens the folder of the run, if there is one.
    fn open(&self, claim: Claim) -> Result<Option<OutputFolder>> {
        let Some(place) = &self.place else { return Ok(None) };
        let folder = OutputFolder::open(place, &self.run, &self.resolved, claim)?;
        let whole = |path: &Path| path.canonicalize().ok();
        if self.refit.as_ref().is_some_and(|refit| whole(&refit.path) == whole(folder.home())) {
            folder.abandon();
            bail!("--refit: found {}, the folder of the cross-validation itself", folder.home().display());
        }
        Ok(Some(folder))
    }
}

/// Checks, before any work starts, that a refit may write to the folder. Returns what may happen to a run in it: with
/// `--resume`, a refit that has not begun is new.
fn check_refit(path: &Path, run: &Identity, claim: Claim) -> Result<Claim> {
    let check = |claim| OutputFolder::check(&Place::Folder(path.to_path_buf()), &run.refit(), claim);
    match check(claim) {
        Ok(()) => Ok(claim),
        Err(OutputError::NothingToResume(_)) => Ok(Claim::New),
        Err(error) => Err(Failure::from(error).context("--refit")),
    }
}

/// Describes, for the terminal, which setting a refit used and where its ranker is.
fn refitted(chosen: &Chosen, report: &CrossValidationReport, done: &FinishedRun, path: &Path) -> String {
    let name = report.standings().into_iter().find(|standing| standing.setting == chosen.setting);
    let name = name.map(|standing| format!(": {}", harmless(&standing.name))).unwrap_or_default();
    let rounds = counted(chosen.round(), "round");
    let long = match (chosen.best_rounds.iter().min(), chosen.best_rounds.iter().max()) {
        _ if chosen.is_ensemble() => "the median best rounds of each member".to_string(),
        (Some(least), Some(most)) if least != most => format!("{rounds}, the median of {least} to {most}"),
        _ => rounds,
    };
    let line = format!(
        "refit{name}, trained on {} for {long}; {} {}. It has no test value; the means above are its estimate.",
        counted(done.report.data.train.statistics.queries, "query"),
        if done.is_new { "written to" } else { "finished before, in" },
        path.display()
    );
    paragraph(&line)
}

/// Returns the files that a cross-validation kept, relative to the folder of the run, and their bytes.
fn kept(result: &CrossValidation, keep: Keep, folder: &OutputFolder) -> (Vec<String>, u64) {
    let of_fold = |fold: &FoldResult| {
        let fold = fold.fold;
        result.seeds.iter().flat_map(move |seed| keep.files(fold, *seed))
    };
    let files: Vec<String> = result.folds.iter().flat_map(of_fold).collect();
    let bytes = files.iter().map(|name| fs::metadata(folder.file(name)).map_or(0, |there| there.len())).sum();
    (files, bytes)
}

/// The number of trials that are printed for each fold.
const TRIALS: usize = 5;

/// Formats the best trials of each fold of a hyperparameter search.
fn trials(result: &CrossValidation) -> String {
    let mut text = String::new();
    for fold in result.folds.iter().filter(|fold| !fold.trials.is_empty()) {
        let (all, shown) = (fold.trials.len(), fold.trials.len().min(TRIALS));
        text += &format!("\nfold {}, the best {shown} of {all} trials, the first selected\n", fold.fold);
        let keys: Vec<&str> = fold.trials[0].values.keys().map(String::as_str).collect();
        let trials = fold.ranked_trials().into_iter().take(TRIALS).map(|trial| {
            let value = move |key: &&str| trial.values.get(*key).map(ToString::to_string).unwrap_or_default().into();
            let first = [measured(trial.validation), trial.rounds.to_string().into()];
            (trial.trial.to_string(), first.into_iter().chain(keys.iter().map(value)))
        });
        let columns = ["validation", "rounds"].into_iter().chain(keys.iter().copied());
        text += &Table::new("trial", columns).with(trials).within(COLUMNS);
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
    text + "\n" + &marked("verdict", &harmless(&verdict))
}

fn render(report: &CrossValidationReport) -> String {
    let result = &report.result;
    let CrossValidation { convention, empty_queries: empty, .. } = result;
    let (queries, seeds) = (counted(result.queries, "test query"), counted(result.seeds.len(), "seed"));
    let name = harmless(&result.name);
    let mut text = format!("{name}: {} convention, {queries}, {empty} empty, {seeds}\n", convention.name);
    let names: Vec<&str> = result.measures.keys().map(String::as_str).collect();
    let mut table = Table::new("fold", [result.selected_on.as_str()].into_iter().chain(names.iter().copied()));
    let cells =
        |measures: &Measures| -> Vec<Cell> { names.iter().map(|name| measured(measures[*name].as_f64())).collect() };
    for fold in &result.folds {
        let cells = cells(&fold.measures);
        table.row(fold.fold.to_string(), [measured(Some(fold.validation))].into_iter().chain(cells));
    }
    let mut mean = |name: &str, cells: Vec<Cell>| table.row(name, [Cell::default()].into_iter().chain(cells));
    let (of_folds, of_queries) = (cells(&result.measures), cells(&report.query_means()));
    let differ = of_folds != of_queries;
    mean(if differ { "mean of folds" } else { "mean" }, of_folds);
    if differ {
        mean("mean of queries", of_queries);
    }
    mean("std. error", cells(&result.standard_errors));
    text += &table.within(COLUMNS);
    text += &trials(result);
    let unfinished = result.folds.iter().filter(|fold| fold.stops.contains(&StopReason::NotConverged));
    let unfinished: Vec<String> = unfinished.map(|fold| fold.fold.to_string()).collect();
    if !unfinished.is_empty() {
        text += &format!("not converged (the best iterate is used): fold {}\n", unfinished.join(", "));
    }
    text + &points(report)
}
