//! `TrainRun`, a fit that writes its results into a folder, and the saved ranker from which it may start. Both
//! `burn-rank train` and the Python package use it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use burn::tensor::Device;
use burn_rank::data::NormalizerKind;
use burn_rank::learner::{Interrupt, Progress, StopReason};
use burn_rank::ranker::{Estimate, Ranker};
use burn_rank::refusal::Refusal;
use burn_rank::workbench::distributed::ProcessGroup;
use burn_rank::workbench::json::json;
use burn_rank::workbench::text::counted;
use burn_rank::workbench::{check_missing, has_features};

use super::agreement::agree;
use super::cautions::rising;
use super::config::{Document, Experiment, ExperimentConfig, refusal_of};
use super::error::{ExperimentError, OutputError};
use super::fit::{FitOptions, fit_in_place};
use super::folder::{
    CARD, Claim, Identity, OutputFolder, PAGE, Place, RANKER, RECORD, REPORT, RunKind, START, ranker_file,
    successor_file,
};
use super::record::{DataReport, Report, RunRecord, Sets, TrainReport};
use super::split::Split;

/// A function that writes the report and the record of a finished run into its folder.
/// `report::write_reports` also writes the page.
pub type WriteReports = dyn Fn(&OutputFolder, &Report, &RunRecord) -> Result<(), OutputError>;

/// The folder of a run, and what may happen to an earlier run there.
#[derive(Debug, Clone)]
pub struct Destination {
    /// Where the run goes; `None` keeps nothing.
    pub place: Option<Place>,
    /// What may happen to an earlier run.
    pub claim: Claim,
    /// The identity of the run, if its configuration and data do not define it.
    run: Option<Identity>,
}

impl Destination {
    /// Returns the folder `out`, by default the first of `runs/NAME`, `runs/NAME-2`, .. that is free or holds the run.
    pub fn new(out: Option<PathBuf>, name: &str, claim: Claim) -> Self {
        Self { place: Some(Place::new(out, name, claim)), claim, run: None }
    }

    /// Returns the folder for the ranker that a cross-validation trains at its end.
    pub(crate) fn of_refit(path: &Path, claim: Claim, cross_validation: &Identity) -> Self {
        let run = Some(cross_validation.refit());
        Self { place: Some(Place::Folder(path.to_path_buf())), claim, run }
    }
}

/// A run that is ready to start: its configuration is checked, its data are read, and its folder is open.
pub struct TrainRun {
    begun: Instant,
    config: Experiment,
    device: Device,
    start_ranker: Option<Ranker>,
    split: Split,
    warnings: Vec<String>,
    /// What qualifies the values of the run.
    cautions: Vec<String>,
    data: Sets<DataReport>,
    /// The folder, which only the first process opens.
    folder: Option<OutputFolder>,
    /// The finished run of the same configuration and data that the folder holds.
    earlier: Option<(Ranker, TrainReport)>,
    estimate: Option<Estimate>,
}

/// A finished run, whose files are written.
#[derive(Debug)]
pub struct FinishedRun {
    /// The folder with the files of the run; `None` if nothing is kept. If the run was stopped before it could replace
    /// an older one, this is the folder in which it grows.
    pub folder: Option<PathBuf>,
    /// Whether the run was fitted now. Otherwise, the folder held it already.
    pub is_new: bool,
    /// The trained ranker.
    pub ranker: Ranker,
    /// The results of the run.
    pub report: TrainReport,
}

impl TrainRun {
    /// Reads the data and opens the folder. The run's total time is measured from `begun`. If a group shares the run,
    /// only its first process opens the folder.
    ///
    /// # Errors
    /// Returns an [`ExperimentError`] if the starting ranker, the data or the folder cannot be used. The folder is
    /// checked first, because reading the data may take a long time. It is created only after the data have been read,
    /// so invalid data leave nothing behind. Also returns an error if the group cannot share the work, or if one of its
    /// processes would run a different fit.
    pub fn open(
        begun: Instant,
        document: &Document,
        mut config: Experiment,
        device: &Device,
        to: &Destination,
        group: &ProcessGroup,
    ) -> Result<Self, ExperimentError> {
        config.check_processes(group.count())?;
        let own_start = match &to.place {
            Some(Place::Folder(path)) => config.config.start_from_copy(path, to.claim),
            _ => None,
        };
        let resolved = config.resolved_toml(document)?;
        let start_ranker = config.start_ranker(own_start.as_ref(), device).map_err(|error| match error {
            ExperimentError::Refused(refusal) => document.place(&refusal).into(),
            error => error,
        })?;
        let run = Identity::new(RunKind::Train, &resolved);
        let place = to.place.as_ref().filter(|_| group.leads());
        if let Some(place) = place {
            OutputFolder::check(place, to.run.as_ref().unwrap_or(&run), to.claim)?;
        }
        let mut warnings = Vec::new();
        let mut split = config.data.unchecked_split(config.seed, &mut warnings)?;
        let cautions = config.cautions(&split);
        if let Some(ranker) = &start_ranker {
            config.check_start_ranker(ranker, &split).map_err(|refusal| document.place(&refusal))?;
        }
        split.cut(config.shards())?;
        split.sets_mut().for_each(|data| burn_rank::workbench::dataset::share_with(data, group));
        agree(group, &config, Some(&split))?;
        split.check()?;
        // Read now, because the file may move when the folder is opened.
        let own_start = own_start.filter(|_| group.leads()).map(|path| read(&path)).transpose()?;
        let data = Sets::from_split(&split);
        let started = start_ranker.iter().map(Ranker::to_bytes);
        let of_data = data.identity(&split.train.feature_names).into_iter().map(String::into_bytes);
        let run = run.on(of_data.chain(started));
        let run = to.run.as_ref().unwrap_or(&run);
        let folder = place.map(|place| OutputFolder::open(place, run, &resolved, to.claim)).transpose()?;
        let is_finished = folder.as_ref().is_some_and(OutputFolder::is_finished);
        if let (Some(folder), Some(ranker), false) = (&folder, &own_start, is_finished) {
            folder.write(START, ranker).map_err(|error| OutputFolder::give_up(Some(folder), error.into()))?;
        }
        let earlier = group.agree(is_finished).then(|| earlier(folder.as_ref(), device, group)).transpose()?;
        Ok(Self {
            begun,
            config,
            device: device.clone(),
            start_ranker,
            split,
            data,
            warnings,
            cautions,
            folder,
            earlier,
            estimate: None,
        })
    }

    /// Returns the configuration of the run.
    pub fn config(&self) -> &ExperimentConfig {
        &self.config
    }

    /// Returns the folder that was asked for, if this process writes the run.
    pub fn home(&self) -> Option<&Path> {
        self.folder.as_ref().map(OutputFolder::home)
    }

    /// Returns whether the folder already holds the finished run.
    pub fn is_finished(&self) -> bool {
        self.earlier.is_some()
    }

    /// Stores the results of a cross-validation as the expected quality of the ranker. They are recorded in the
    /// ranker's file and its card. Drops the warnings about the data, because the cross-validation has already reported
    /// them.
    #[must_use]
    pub fn with_estimate(self, estimate: Estimate) -> Self {
        Self { estimate: Some(estimate), warnings: Vec::new(), cautions: Vec::new(), ..self }
    }

    /// Fits the ranker, and writes it with its card; then calls `write_reports`. Only the first process writes files. A
    /// stopped fit is also written and can be resumed. The stop in its report says that it was stopped. If the folder
    /// already holds the finished run, nothing is fitted.
    ///
    /// # Errors
    /// Returns an [`ExperimentError`] if the fit fails or a file cannot be written.
    pub fn fit(
        mut self,
        progress: &dyn Progress,
        interrupt: Interrupt,
        write_reports: &WriteReports,
    ) -> Result<FinishedRun, ExperimentError> {
        let fitting = Instant::now();
        self.warnings.iter().chain(&self.cautions).for_each(|warning| progress.warn(warning));
        if let Some((ranker, report)) = self.earlier {
            if let Some(folder) = &mut self.folder {
                add_page(folder, &Report::Train(report.clone()), write_reports)?;
            }
            let folder = self.folder.map(|folder| folder.path().to_path_buf());
            return Ok(FinishedRun { folder, is_new: false, ranker, report });
        }
        let Self { config, mut split, mut folder, mut cautions, .. } = self;
        let options = FitOptions {
            start: self.start_ranker.as_ref(),
            device: &self.device,
            directory: folder.as_ref().map(OutputFolder::path),
            progress,
            interrupt,
        };
        let fitted = fit_in_place(&config, &mut split, config.seed, &options);
        let mut fit = fitted.map_err(|error| OutputFolder::give_up(folder.as_ref(), error))?;
        if let Some(estimate) = self.estimate {
            fit.ranker = fit.ranker.with_estimate(estimate);
        }
        let fit_time = fitting.elapsed();
        cautions.extend(rising(&fit.history, fit.best_round).filter(|_| config.learner_kind() == "gradient"));
        let report = TrainReport { cautions, ..TrainReport::new(&config, self.data, &split, &fit) };
        if let Some(folder) = &mut folder {
            folder.write(RANKER, &fit.ranker.to_bytes())?;
            folder.write(CARD, fit.ranker.card(&config.name).as_bytes())?;
            let record = RunRecord::new(&config.device, fit_time, self.begun.elapsed());
            write_reports(folder, &Report::Train(report.clone()), &record)?;
            if fit.stop != StopReason::Interrupted {
                folder.finish()?;
            }
        }
        let folder = folder.map(|folder| folder.path().to_path_buf());
        Ok(FinishedRun { folder, is_new: true, ranker: fit.ranker, report })
    }
}

impl Experiment {
    /// Rejects a ranker that the learner cannot continue, or that knows other features or missing values than the data.
    ///
    /// # Errors
    /// Returns a [`Refusal`] for the key `start`.
    fn check_start_ranker(&self, ranker: &Ranker, split: &Split) -> Result<(), Refusal> {
        self.built.starting_from(ranker.model()).map_err(refusal_of)?;
        check_missing(ranker, &self.data.read).map_err(|refusal| refusal.at("start"))?;
        let (found, expected) = (ranker.features(), split.train.feature_count);
        if found == expected {
            let is_same = has_features(ranker, &split.train.feature_names);
            let expected = "one with the features of the training data, in the same order";
            return if is_same { Ok(()) } else { Err(Refusal::new("start", "a ranker with other features", expected)) };
        }
        let more = if found > expected { format!(", or data.read.features = {found}") } else { String::new() };
        let expected = format!("one of the {} of the training data{more}", counted(expected, "feature"));
        Err(Refusal::new("start", format!("a ranker of {}", counted(found, "feature")), expected))
    }
}

impl ExperimentConfig {
    /// If a run starts from the ranker in its own folder, makes it start from a copy instead. The copy is kept in the
    /// folder. Without the copy, the run could not be resumed or repeated, because its own ranker would replace the one
    /// from which it started.
    ///
    /// Sets `start` to the path of the copy, and returns the path to copy from. Returns `None` if the ranker is
    /// elsewhere.
    fn start_from_copy(&mut self, folder: &Path, claim: Claim) -> Option<PathBuf> {
        let start = self.start.as_ref()?;
        let file = if start.is_dir() { start.join(RANKER) } else { start.clone() };
        let is_in_folder = file.parent()?.canonicalize().ok()? == folder.canonicalize().ok()?;
        let name = file.file_name().filter(|name| is_in_folder && (*name == RANKER || *name == START))?;
        let (given, copy) = (folder.join(name), folder.join(START));
        let copies = match claim {
            Claim::Overwrite => [None, None],
            _ => [successor_file(folder, START), Some(copy.clone())],
        };
        self.start = Some(copy);
        Some(copies.into_iter().flatten().find(|copy| copy.exists()).unwrap_or(given))
    }

    /// Loads the ranker from which the fit starts, or returns `None` if no ranker is configured. The fit then uses this
    /// ranker's normalizer. `copied` is the path from which [`start_from_copy`](Self::start_from_copy) copies.
    ///
    /// # Errors
    /// Returns [`ExperimentError::Ranker`] for a file that is not a ranker. Returns [`ExperimentError::Refused`] if the
    /// ranker's normalizer is not of the configured kind.
    pub(crate) fn start_ranker(
        &self,
        copied: Option<&PathBuf>,
        device: &Device,
    ) -> Result<Option<Ranker>, ExperimentError> {
        let Some(path) = copied.or(self.start.as_ref()) else { return Ok(None) };
        let ranker = Ranker::load(&ranker_file(path)?, device)?;
        let kind = ranker.normalizer().kind();
        if kind != self.normalizer && self.normalizer != NormalizerKind::Auto {
            let name = |kind: NormalizerKind| json!(kind).as_str().unwrap_or_default().to_string();
            let found = format!("a ranker with the normalizer {}", name(kind));
            let expected = format!("{}, as in the configuration", name(self.normalizer));
            return Err(Refusal::new("start", found, expected).into());
        }
        Ok(Some(ranker))
    }
}

/// Reads the ranker and the report of a finished run in the first process, and sends them to all.
fn earlier(
    folder: Option<&OutputFolder>,
    device: &Device,
    group: &ProcessGroup,
) -> Result<(Ranker, TrainReport), ExperimentError> {
    let of = |name: &str| folder.map_or(Ok(Vec::new()), |folder| read(&folder.file(name)));
    let (ranker, report) = (group.broadcast(of(RANKER)?), group.broadcast(of(REPORT)?));
    let ranker = Ranker::from_bytes(&ranker, Path::new(RANKER), device)?;
    let Ok(Report::Train(report)) = serde_json::from_slice(&report) else {
        let home = folder.map_or(Path::new("."), OutputFolder::home);
        let reason = format!("holds a damaged {REPORT}; --overwrite makes the run again");
        return Err(OutputError::occupied(home, reason).into());
    };
    Ok((ranker, report))
}

/// Writes the page of a finished run if it is absent.
///
/// # Errors
/// [`OutputError::Unwritable`]
pub(crate) fn add_page(
    folder: &mut OutputFolder,
    report: &Report,
    write_reports: &WriteReports,
) -> Result<(), OutputError> {
    let record = || serde_json::from_slice::<RunRecord>(&fs::read(folder.file(RECORD)).ok()?).ok();
    let Some(record) = record().filter(|_| !folder.file(PAGE).exists()) else { return Ok(()) };
    write_reports(folder, report, &record)?;
    folder.finish()
}

/// Reads a file of a run.
fn read(path: &Path) -> Result<Vec<u8>, ExperimentError> {
    fs::read(path).map_err(|source| OutputError::unwritable(path)(source).into())
}
