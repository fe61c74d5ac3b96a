//! A training from a configuration to a folder: the model, its report and the page.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use burn::tensor::Device;
use burn_rank::data::RankingDataset;
use burn_rank::learner::Interrupt;
use burn_rank::measure::{Evaluation, evaluate};
use burn_rank::refusal::Refusal;
use burn_rank::workbench::json::json;
use burn_rank::workbench::ranker::Versions;
use burn_rank_cli::workbench::{
    DataReport, ExtremeQueries, FitReport, Identity, OutputError, OutputFolder, PerQuery, Place, RunKind, RunRecord,
    SetMeasures, Sets, TrainReport,
};
use burn_rank_cli::{Claim, Report, write_reports};

use crate::data::{self, Lists, TextList};
use crate::error::TextError;
use crate::folder::{Loaded, ModelFolder, WEIGHTS};
use crate::lists::{TokenLists, score_lists};
use crate::scorer::{Kind, TextScorer};
use crate::settings::TextConfig;
use crate::tokens::TextTokenizer;
use crate::train::{Event, TextSet, TrainedText, Training, train};

/// The reason why a run failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A model, texts or a setting that cannot be used.
    #[error(transparent)]
    Text(#[from] TextError),
    /// A folder that cannot be used or written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl From<Refusal> for RunError {
    fn from(refusal: Refusal) -> Self {
        TextError::from(refusal).into()
    }
}

/// Training lists that are measured for the report, at most: the measure of all would cost as much as a fourth of an
/// epoch.
const MEASURED_OF_TRAINING: usize = 500;

/// A run whose configuration is checked and whose model and texts are read.
pub struct TextRun {
    begun: Instant,
    config: TextConfig,
    kind: Kind,
    folder: OutputFolder,
    model: ModelFolder,
    tokenizer: TextTokenizer,
    sets: Vec<(&'static str, Vec<TextList>)>,
    /// What qualifies the measures of the sets.
    cautions: Vec<String>,
    device: Device,
}

/// A finished run.
#[derive(Debug)]
#[non_exhaustive]
pub struct FinishedText {
    /// The folder with the model. If the run was stopped before it could replace an older one, this is the folder in
    /// which it grows.
    pub folder: PathBuf,
    /// The results.
    pub report: TrainReport,
    /// Trained tokens a second.
    pub tokens_per_second: f64,
    /// Whether the model was trained now; otherwise the folder had it.
    pub is_new: bool,
}

impl TextRun {
    /// Reads the model and the texts, and opens the folder of the run. A run in it that was stopped begins anew.
    ///
    /// # Errors
    /// Returns an error for a model, texts, a setting or a folder that cannot be used.
    pub fn open(config: TextConfig, device: Device, out: &Path, overwrite: bool) -> Result<Self, RunError> {
        let begun = Instant::now();
        let model = ModelFolder::open(&config.model)?;
        let kind = model.kind(config.kind)?;
        config.check(kind)?;
        let tokenizer = model.tokenizer(config.max_tokens)?;
        let mut config = config;
        (config.kind, config.max_tokens) = (Some(kind), Some(tokenizer.max_tokens()));
        let resolved = toml::to_string(&config.with_absolute_paths()).map_err(|error| Refusal::fault("", error))?;
        let place = Place::Folder(out.to_path_buf());
        let run = Identity::new(RunKind::Text, &resolved);
        let claim = if overwrite { Claim::Overwrite } else { Claim::New };
        or_again(out, OutputFolder::check(&place, &run, claim), || {
            OutputFolder::check(&place, &run, Claim::Overwrite)
        })?;
        let (mut sets, mut cautions) = (Vec::new(), Vec::new());
        for (name, sources) in config.data.sets() {
            let Lists { found, relevant, absent, .. } = data::read_all(sources)?;
            if absent > 0 {
                let lack = format!("the candidates lack {absent}, which no measure counts");
                cautions.push(format!("Of {relevant} relevant documents of the set {name}, {lack}."));
            }
            sets.push((name, found));
        }
        let hashes = sets.iter().map(|(_, lists)| data::hash(lists)).chain([model.hash()]);
        let run = run.on(hashes.collect::<Vec<_>>());
        let open = |claim| OutputFolder::open(&place, &run, &resolved, claim);
        let folder = or_again(out, open(claim), || open(Claim::Overwrite))?;
        Ok(Self { begun, config, kind, folder, model, tokenizer, sets, cautions, device })
    }

    /// The configuration, with what the model decides filled in.
    pub fn config(&self) -> &TextConfig {
        &self.config
    }

    /// Trains the model, keeps the best one, measures it and writes the reports. A folder that has the finished run is
    /// left as it is.
    ///
    /// # Errors
    /// Returns an error if the training fails or a file cannot be written.
    pub fn train(mut self, interrupt: Interrupt, tell: &dyn Fn(Event<'_>)) -> Result<FinishedText, RunError> {
        let done = self.fit(interrupt, tell);
        // Without a model there is nothing to keep, and the corrected command finds the folder free.
        if done.is_err() && !self.folder.file(WEIGHTS).exists() {
            self.folder.abandon();
        }
        done
    }

    fn fit(&mut self, interrupt: Interrupt, tell: &dyn Fn(Event<'_>)) -> Result<FinishedText, RunError> {
        if self.folder.is_finished() {
            let path = self.folder.file("report.json");
            let read = std::fs::read(&path).map_err(|error| TextError::model(&path, error))?;
            return match serde_json::from_slice(&read) {
                Ok(Report::Train(report)) => Ok(FinishedText {
                    folder: self.folder.path().into(),
                    report,
                    tokens_per_second: 0.0,
                    is_new: false,
                }),
                _ => Err(TextError::model(&path, "damaged; --overwrite makes the run again").into()),
            };
        }
        self.device.seed(burn_rank::seed::seed_for(self.config.seed, "weights", 0));
        let trainable = self.device.clone().autodiff();
        match self.kind {
            Kind::Towers => {
                let loaded = self.model.towers(self.config.scale, &trainable)?;
                let reload = |saved: &ModelFolder, device: &Device| saved.towers(None, device);
                self.with(loaded, reload, &trainable, interrupt, tell)
            }
            Kind::CrossEncoder => {
                let loaded = self.model.cross_encoder(&trainable)?;
                let reload = |saved: &ModelFolder, device: &Device| saved.cross_encoder(device);
                self.with(loaded, reload, &trainable, interrupt, tell)
            }
        }
    }

    fn with<S: TextScorer>(
        &mut self,
        loaded: Loaded<S>,
        reload: impl Fn(&ModelFolder, &Device) -> Result<Loaded<S>, TextError>,
        trainable: &Device,
        interrupt: Interrupt,
        tell: &dyn Fn(Event<'_>),
    ) -> Result<FinishedText, RunError> {
        let fitting = Instant::now();
        if !loaded.new.is_empty() {
            tell(Event::Warning(format!(
                "{} has no {}: made anew",
                self.config.model.display(),
                loaded.new.join(", ")
            )));
        }
        self.model.forget_weights();
        let pad = self.model.config().pad_token_id;
        let mut texts = BTreeMap::new();
        for (name, lists) in &self.sets {
            let tokens = TokenLists::new(lists, &self.tokenizer, self.kind, pad)?;
            texts.insert(*name, TextSet::new(lists, tokens)?);
        }
        let loss = self.config.loss.build().map_err(TextError::from)?;
        for (name, set) in &texts {
            self.check_set(name, set)?;
        }
        let measure = &self.config.measure;
        let training = Training {
            train: &texts["train"],
            validation: texts.get("validation"),
            loss: &*loss,
            learner: &self.config.learner,
            selection: (measure.select, &measure.convention),
            seed: self.config.seed,
            device: trainable,
            interrupt,
            tell,
        };
        let keep = |best: &S| -> Result<(), RunError> {
            Ok(self.model.save(best, self.tokenizer.max_tokens(), self.folder.path())?)
        };
        let trained = train(loaded.model, &training, keep)?;
        // The best one, as whoever opens the folder will have it.
        let saved = ModelFolder::open(self.folder.path())?;
        let best = reload(&saved, &self.device)?.model;
        drop(saved);
        let report = self.report(&best, &texts, &trained)?;
        let record = RunRecord::new(&self.config.device, fitting.elapsed(), self.begun.elapsed());
        write_reports(&self.folder, &Report::Train(report.clone()), &record)?;
        if trained.stop != burn_rank::learner::StopReason::Interrupted {
            self.folder.finish()?;
        }
        let folder = self.folder.path().to_path_buf();
        Ok(FinishedText { folder, report, tokens_per_second: trained.tokens_per_second, is_new: true })
    }

    /// Finds labels and identifiers that a measure rejects before the training.
    fn check_set(&self, name: &str, set: &TextSet) -> Result<(), TextError> {
        let rankings = set.dataset.rankings(&set.dataset.labels);
        let checked = evaluate(&rankings, &self.config.measures(), &self.config.measure.convention);
        if let Err(error) = checked {
            return Err(Refusal::fault(format!("data.{name}"), error).into());
        }
        Ok(())
    }

    /// The measures of the model on each set; of the training lists, on the first ones.
    fn measured<S: TextScorer>(&self, model: &S, texts: &Texts) -> Result<BTreeMap<&'static str, Measured>, TextError> {
        let of_set = |(&name, set): (&&'static str, &TextSet)| {
            let most = if name == "train" { MEASURED_OF_TRAINING } else { usize::MAX };
            let chosen: Vec<usize> = (0..set.tokens.len().min(most)).collect();
            let scores =
                score_lists(model, &set.tokens, &chosen, self.config.learner.chunk_tokens, &self.device, |_| {});
            let dataset = set.dataset.select(&chosen);
            let found = evaluate(&dataset.rankings(&scores), &self.config.measures(), &self.config.measure.convention)?;
            Ok((name, Measured { dataset, found, scores }))
        };
        texts.iter().map(of_set).collect()
    }

    fn report<S: TextScorer>(&self, model: &S, texts: &Texts, trained: &TrainedText) -> Result<TrainReport, TextError> {
        let (measure, measured) = (&self.config.measure, self.measured(model, texts)?);
        let of = |name: &str| measured.get(name).map(|set| SetMeasures::from_evaluation(&set.found));
        let data = |name: &str| {
            let (_, lists) = self.sets.iter().find(|(set, _)| *set == name)?;
            Some(DataReport { statistics: texts.get(name)?.dataset.statistics(), hash: data::hash(lists) })
        };
        let last =
            ["test", "validation", "train"].into_iter().find(|name| measured.contains_key(name)).unwrap_or("train");
        let Measured { dataset, found, scores } = &measured[last];
        let values = found.means.iter().zip(&found.per_query);
        let mut versions = Versions::current();
        versions.format = 0;
        Ok(TrainReport {
            name: self.config.name.clone(),
            config: json!(self.config),
            convention: measure.convention.clone(),
            selection: measure.select,
            fold: 1,
            data: Sets {
                train: data("train").expect("there are training lists"),
                validation: data("validation"),
                test: data("test"),
            },
            measures: Sets {
                train: of("train").expect("the training lists are measured"),
                validation: of("validation"),
                test: of("test"),
            },
            cautions: [cautions(texts), self.cautions.clone()].concat(),
            fit: FitReport {
                seed: self.config.seed,
                rounds: trained.history.len(),
                best_round: trained.best_round,
                stop: trained.stop,
                approximation: None,
                feature_names: Vec::new(),
                indicated: Vec::new(),
                weights: None,
                importance: None,
                positions: Vec::new(),
                history: trained.history.clone(),
                members: Vec::new(),
            },
            partial_dependence: Vec::new(),
            per_query: PerQuery {
                set: last.to_string(),
                queries: dataset.query_ids.clone(),
                values: values.map(|((measure, _), values)| (measure.to_string(), values.clone())).collect(),
            },
            extremes: Some(ExtremeQueries::of_report(measure.select, dataset, scores, &found.per_query[0])),
            estimate: None,
            versions,
        })
    }
}

type Texts = BTreeMap<&'static str, TextSet>;

/// The lists of a set with their scores and measures.
struct Measured {
    dataset: RankingDataset,
    found: Evaluation,
    scores: Vec<f32>,
}

/// What qualifies the measures.
fn cautions(texts: &Texts) -> Vec<String> {
    let all = texts["train"].tokens.len();
    let sample = format!("Of {all} training queries, the first {MEASURED_OF_TRAINING} were measured.");
    let last = "There are no validation queries, so the last epoch was kept.".to_string();
    let cautions = [(all > MEASURED_OF_TRAINING, sample), (!texts.contains_key("validation"), last)];
    cautions.into_iter().filter(|(holds, _)| *holds).map(|(_, words)| words).collect()
}

/// A run that was killed in its own folder left nothing that could go on, so the folder begins anew. One that was to
/// take the place of another run does so only with `--overwrite`.
fn or_again<T>(
    home: &Path,
    opened: Result<T, OutputError>,
    again: impl FnOnce() -> Result<T, OutputError>,
) -> Result<T, OutputError> {
    match opened {
        Err(OutputError::Unfinished(path)) if path == home => again(),
        opened => opened,
    }
}
