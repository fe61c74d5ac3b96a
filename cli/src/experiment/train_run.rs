//! `TrainRun`, a fit that writes its results into a folder. Both `burn-rank train` and the Python package use it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use burn::tensor::Device;
use burn_rank::distributed::ProcessGroup;
use burn_rank::learner::{Interrupt, Progress, StopReason};
use burn_rank::ranker::{Estimate, Ranker};

use super::agreement::agree;
use super::config::{Document, Experiment, ExperimentConfig, resolved_toml};
use super::error::{ExperimentError, OutputError};
use super::fit::{Fit, FitOptions, fit_in_place};
use super::folder::{CARD, Claim, OutputFolder, RANKER, RunKind, START};
use super::record::{DataReport, Report, RunRecord, Sets, TrainReport};
use super::split::{Split, Told};

/// A function that writes the report and the record of a finished run into its folder.
/// `report::write_reports` also writes the page.
pub type WriteReports = dyn Fn(&OutputFolder, &Report, &RunRecord) -> Result<(), OutputError>;

/// A run that is ready to start: its configuration is checked, its data are read, and its folder is open.
pub struct TrainRun {
    start: Instant,
    config: Experiment,
    device: Device,
    start_ranker: Option<Ranker>,
    split: Split,
    warnings: Vec<String>,
    /// What qualifies the values of the run.
    cautions: Vec<String>,
    data: Sets<DataReport>,
    path: PathBuf,
    /// The folder, which only the first process opens.
    folder: Option<OutputFolder>,
    resume: bool,
    estimate: Option<Estimate>,
}

/// A finished run, whose files are written.
#[derive(Debug)]
pub struct FinishedRun {
    /// The folder with the files of the run. If the run was stopped before it could replace an older one, this is the
    /// subfolder [`NEXT`](super::NEXT).
    pub folder: PathBuf,
    /// The fitted ranker, with its rounds and measures.
    pub fit: Fit,
    /// The contents of `report.json`.
    pub report: Report,
}

impl TrainRun {
    /// Reads the data and opens the folder `out`, by default `runs/NAME`. The run's total time is measured from
    /// `start`. If a group shares the run, only its first process opens the folder.
    ///
    /// # Errors
    /// Returns an [`ExperimentError`] if the starting ranker, the data or the folder cannot be used. The folder is
    /// checked first, because reading the data may take a long time. It is created only after the data have been read,
    /// so invalid data leave nothing behind. Also returns an error if the group cannot share the work, or if one of its
    /// processes would run a different fit.
    pub fn open(
        start: Instant,
        document: &Document,
        mut config: Experiment,
        device: &Device,
        out: Option<PathBuf>,
        claim: Claim,
        group: &ProcessGroup,
    ) -> Result<Self, ExperimentError> {
        config.check_processes(group.count())?;
        let path = out.unwrap_or_else(|| PathBuf::from("runs").join(&config.name));
        let own_start = config.config.start_from_copy(&path, claim);
        let resolved = resolved_toml(document, &config)?;
        let loaded = match &own_start {
            Some(path) => config.load_start(path, device).map(Some),
            None => config.start_ranker(device),
        };
        let start_ranker = loaded.map_err(|error| match error {
            ExperimentError::Refused(refusal) => document.place(&refusal).into(),
            error => error,
        })?;
        let leads = group.leads();
        if leads {
            OutputFolder::check(&path, RunKind::Train, &resolved, claim)?;
        }
        let Told { mut split, warnings } = config.data.unchecked_split(config.seed)?;
        let cautions = config.cautions(&split);
        if let Some(ranker) = &start_ranker {
            config.check_start_ranker(ranker, &split).map_err(|refusal| document.place(&refusal))?;
        }
        split.cut(config.shards())?;
        split.sets_mut().for_each(|data| data.share_with(group));
        let sets = [Some(&split.train), split.validation.as_ref(), split.test.as_ref()];
        agree(group, &config, &sets)?;
        split.check()?;
        // Read now, because the file may move when the folder is opened.
        let own_start = own_start.filter(|_| leads).map(|path| read_start(&path)).transpose()?;
        let data = Sets::from_split(&split);
        let open = || {
            let folder = OutputFolder::open(&path, RunKind::Train, &resolved, claim)?;
            let begun = folder.check_data([(split.fold, &data)]).and_then(|()| match &own_start {
                Some(ranker) => folder.write(START, ranker),
                None => Ok(()),
            });
            match begun {
                Ok(()) => Ok(folder),
                Err(error) => Err(folder.give_up(error.into())),
            }
        };
        let folder = leads.then(open).transpose()?;
        let resume = matches!(claim, Claim::Resume);
        let device = device.clone();
        Ok(Self {
            start,
            config,
            device,
            start_ranker,
            split,
            data,
            warnings,
            cautions,
            path,
            folder,
            resume,
            estimate: None,
        })
    }

    /// Returns the configuration of the run.
    pub fn config(&self) -> &ExperimentConfig {
        &self.config
    }

    /// Stores the results of a cross-validation as the expected quality of the ranker. They are recorded in the
    /// ranker's file and its card. Drops the warnings about the data, because the cross-validation has already reported
    /// them.
    #[must_use]
    pub fn with_estimate(self, estimate: Estimate) -> Self {
        Self { estimate: Some(estimate), warnings: Vec::new(), cautions: Vec::new(), ..self }
    }

    /// Fits the ranker, and writes it with its card; then calls `write_reports`. Only the first process writes files. A
    /// stopped fit is also written and can be resumed. Its [`stop`](Fit::stop) says that it was stopped.
    ///
    /// # Errors
    /// Returns an [`ExperimentError`] if the fit fails or a file cannot be written.
    pub fn fit(
        self,
        dashboard: bool,
        progress: &dyn Progress,
        interrupt: Interrupt,
        write_reports: &WriteReports,
    ) -> Result<FinishedRun, ExperimentError> {
        let fitting = Instant::now();
        let Self {
            start,
            config,
            device,
            start_ranker,
            mut split,
            data,
            warnings,
            mut cautions,
            path,
            mut folder,
            resume,
            estimate,
        } = self;
        warnings.iter().chain(&cautions).for_each(|warning| progress.warn(warning));
        let options = FitOptions {
            start: start_ranker.as_ref(),
            device: &device,
            directory: folder.as_ref().map(OutputFolder::path),
            resume,
            dashboard,
            progress,
            interrupt,
        };
        let fitted = fit_in_place(&config, &mut split, config.seed, &options);
        let mut fit = fitted.map_err(|error| match &folder {
            Some(folder) => folder.give_up(error),
            None => error,
        })?;
        if let Some(estimate) = estimate {
            fit.ranker = fit.ranker.with_estimate(estimate);
        }
        let fit_time = fitting.elapsed();
        cautions.extend(fit.caution(&config));
        let report = Report::Train(TrainReport { cautions, ..TrainReport::new(&config, data, &split, &fit) });
        let mut written = path;
        if let Some(folder) = &mut folder {
            folder.write(RANKER, &fit.ranker.to_bytes())?;
            folder.write(CARD, fit.ranker.card(&config.name).as_bytes())?;
            write_reports(folder, &report, &RunRecord::new(&config.device, fit_time, start.elapsed()))?;
            if fit.stop != StopReason::Interrupted {
                folder.finish()?;
            }
            written = folder.path().to_path_buf();
        }
        Ok(FinishedRun { folder: written, fit, report })
    }
}

/// Reads the bytes of a ranker, to copy them into the folder.
fn read_start(path: &Path) -> Result<Vec<u8>, ExperimentError> {
    fs::read(path).map_err(|source| OutputError::Unwritable { path: path.to_path_buf(), source }.into())
}
