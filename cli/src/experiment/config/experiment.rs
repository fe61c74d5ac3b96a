//! `ExperimentConfig`, the checked values of a configuration file. Unknown keys are rejected in every section.

use std::fmt::Display;
use std::ops::Deref;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use burn_rank::data::letor::{Missing, ReadOptions, Weights};
use burn_rank::data::{Columns, NormalizerKind};
use burn_rank::json::{Map, Value, from_value};
use burn_rank::learner::{LearnerError, Parts, RankingLearner, Selection, build};
use burn_rank::loss::{LossError, LossSpec};
use burn_rank::measure::Measure;
use burn_rank::op::Instructions;
use burn_rank::ranker::{Model, TreeEnsemble};
use burn_rank::refusal::Refusal;
use burn_rank::scorer::{
    AttentionScorerConfig, LatentCrossScorerConfig, LinearScorerConfig, MlpScorerConfig, ScorerConfig,
};
use burn_rank::workbench::json::keys_of;
use burn_rank::workbench::registry::{self, LearnerEntry};
use burn_rank::workbench::text::counted;
use burn_rank::workbench::{has_role, name_unread};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::document::{ConfigError, Document, check_writable};
use super::grid::section_of;
use super::members::of_one_seed;
use super::search::SearchConfig;
use super::sections::{
    CrossValidationConfig, DataConfig, FoldsConfig, MeasureConfig, MemberConfig, SplitBy, Standardize,
};

/// The configuration of one experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperimentConfig {
    /// The experiment's name in tables and reports; by default the file name without its extension.
    #[serde(default)]
    pub name: String,
    /// The purpose of the experiment.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The seed of the experiment's random choices.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// The name of the device, in the form that `--device` accepts.
    #[serde(default = "default_device")]
    pub device: String,
    /// The instruction set that the fused CPU kernels use, in the form that `--instructions` accepts. The default is
    /// the best that the processor supports. The caller applies the instructions and the device by entering an
    /// [`Execution`](burn_rank::op::Execution).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Instructions>,
    /// The source of the queries.
    pub data: DataConfig,
    /// The normalizer of the features, which is fitted on training data.
    #[serde(default)]
    pub normalizer: NormalizerKind,
    /// The ranker from which the fit starts: either a saved tree ranker or the folder of a `train` run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<PathBuf>,
    /// The model that turns features into scores, for learners that use a scorer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scorer: Option<ScorerConfig>,
    /// The loss to minimize, for learners that use a loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossSpec>,
    /// The `kind` of the learner, and its parameters.
    pub learner: Map,
    /// The members of an ensemble. The sections of the learner, the loss, the scorer and the normalizer then belong to
    /// the first member.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MemberConfig>,
    /// How the scores of the members are standardized.
    #[serde(default, skip_serializing_if = "Standardize::is_default")]
    pub standardize: Standardize,
    /// The measures to compute, and their convention.
    #[serde(default)]
    pub measure: MeasureConfig,
    /// The folds and seeds of cross-validation.
    #[serde(default)]
    pub cv: CrossValidationConfig,
    /// The values that cross-validation tries for each dotted key, in every combination. For each fold, the combination
    /// with the best selection measure on the fold's validation queries is selected.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub grid: Map,
    /// The search that draws trials for cross-validation, in place of a grid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchConfig>,
}

/// A configuration, and its learner, which was built when the configuration was checked.
#[derive(Debug, Clone)]
pub struct Experiment {
    pub(crate) config: ExperimentConfig,
    pub(in crate::experiment) built: Arc<dyn RankingLearner>,
    /// The configuration without the defaults that depend on other sections; the settings of a grid or a search change
    /// this one.
    pub(super) written: Arc<ExperimentConfig>,
    /// The experiments of the members; empty without `[[members]]`.
    pub(in crate::experiment) member_experiments: Arc<[Experiment]>,
}

impl Deref for Experiment {
    type Target = ExperimentConfig;

    fn deref(&self) -> &ExperimentConfig {
        &self.config
    }
}

fn default_seed() -> u64 {
    1
}

fn default_device() -> String {
    "flex".to_string()
}

impl Experiment {
    /// Builds the learner of a configuration and checks its parameters.
    ///
    /// # Errors
    /// Returns a [`LearnerError`] that names the invalid parameter.
    pub(crate) fn new(config: ExperimentConfig) -> Result<Self, LearnerError> {
        Self::build(config.clone(), Arc::new(config))
    }

    /// Builds the learner of a configuration, which settings of a grid change in its form `written`.
    pub(super) fn build(mut config: ExperimentConfig, written: Arc<ExperimentConfig>) -> Result<Self, LearnerError> {
        config.data.read.positions |= config.data.columns.position.is_some() || config.names_positions();
        config.data.unread = config.split_column();
        let built = build(&config.learner, &config.parts())?.into();
        Ok(Self { config, built, written, member_experiments: Arc::default() })
    }

    /// Decodes a document, and checks the configuration that results from every grid point or trial.
    ///
    /// # Errors
    /// Returns a `ConfigError` that names the invalid key and the place where it was written.
    pub fn from_document(document: &Document) -> Result<Self, ConfigError> {
        let experiment = Self::before_grid(document)?;
        experiment.check_grid(document)?;
        Ok(experiment)
    }

    /// Decodes a document without its grid, whose points [`grid_candidates`](Self::grid_candidates) decodes and checks.
    ///
    /// # Errors
    /// As [`from_document`](Self::from_document).
    pub(crate) fn before_grid(document: &Document) -> Result<Self, ConfigError> {
        let experiment = Self::read(document).map_err(|refusal| document.place(&refusal))?;
        for with_null in document.removed() {
            if let Err(refusal) = Self::read(&with_null?)
                && refusal.unknown_name().is_some()
            {
                return Err(document.place(&refusal));
            }
        }
        experiment.check_trials(document)?;
        Ok(experiment)
    }

    /// Decodes a document without members.
    pub(super) fn read_one(document: &Document) -> Result<Self, Refusal> {
        let mut config: ExperimentConfig = document.decode().map_err(advise)?;
        if config.name.is_empty() {
            config.name = document.stem();
        }
        // A folder of this name is made below `runs`.
        if Path::new(&config.name).components().any(|part| !matches!(part, Component::Normal(_))) {
            return Err(Refusal::new("name", format!("{:?}", config.name), "a name, not a path"));
        }
        for (key, path) in config.paths_mut() {
            *path = document.resolved(key, path);
        }
        config.check_data()?;
        config.check_cross_validation()?;
        config.check_search()?;
        if config.measure.round == Some(0) {
            return Err(Refusal::new("measure.round", 0, "at least 1"));
        }
        Self::completed(config.clone(), Arc::new(config), document)
    }

    /// Fills in what the document leaves out, builds the learner, and checks what the learner takes.
    fn completed(
        mut config: ExperimentConfig,
        written: Arc<ExperimentConfig>,
        document: &Document,
    ) -> Result<Self, Refusal> {
        // A learner that is tried may not read [scorer] or [loss]. A section whose own values are varied stays, so that
        // a learner that does not read it is refused.
        if document.tries("learner") {
            config.leave_out_unread(|section| document.varies(section));
        }
        config.complete(document);
        let experiment = Self::build(config, written).map_err(refusal_of)?;
        experiment.data.check_streaming()?;
        experiment.check_given()?;
        experiment.check_teacher()?;
        experiment.check_start()?;
        Ok(experiment)
    }

    /// Returns the experiment at a grid point or trial. Only the sections that the point changes are decoded.
    pub(super) fn changed(&self, at_point: &Document) -> Result<Self, Refusal> {
        let mut config = ExperimentConfig::clone(&self.written);
        for (section, value) in at_point.changed() {
            match section {
                "normalizer" => config.normalizer = decoded(section, value)?,
                "scorer" => config.scorer = decoded(section, value)?,
                "loss" => config.loss = decoded(section, value)?,
                "learner" => config.learner = decoded(section, &of_one_seed(value)?)?,
                section => return Err(Refusal::fault(section, "expected a section that a grid may vary")),
            }
        }
        Self::completed(config, self.written.clone(), at_point)
    }

    /// Before any file is read, rejects a starting ranker if the learner cannot continue training it.
    fn check_start(&self) -> Result<(), Refusal> {
        let Some(start) = &self.start else { return Ok(()) };
        let refused = self.built.starting_from(&Model::Trees(TreeEnsemble::default())).map_err(refusal_of);
        refused.map(drop).map_err(|refusal| Refusal::new("start", format!("{start:?}"), refusal.expected))
    }
}

impl ExperimentConfig {
    /// Removes `[scorer]` and `[loss]` if the learner does not read them. A section that `stays` is kept.
    pub(in crate::experiment) fn leave_out_unread(&mut self, stays: impl Fn(&str) -> bool) {
        let Some(entry) = self.learner_entry() else { return };
        if !entry.takes_scorer && !stays("scorer") {
            self.scorer = None;
        }
        if !entry.takes_loss && !stays("loss") {
            self.loss = None;
        }
    }

    /// Returns every path in the configuration, with the key that holds it.
    pub(in crate::experiment) fn paths_mut(&mut self) -> impl Iterator<Item = (&'static str, &mut PathBuf)> {
        self.data.paths_mut().chain(self.start.iter_mut().map(|path| ("start", path)))
    }

    fn check_data(&self) -> Result<(), Refusal> {
        let data = &self.data;
        let sources = [data.folds.is_some(), !data.train.is_empty(), data.synthetic.is_some()];
        if sources.iter().filter(|given| **given).count() != 1 {
            let fault =
                "expected exactly one of `folds`, `train` and `synthetic`; for one run, as in --set data.folds=FOLDER";
            return Err(Refusal::fault("data", fault));
        }
        for (key, files) in [("data.validation", &data.validation), ("data.test", &data.test)] {
            if data.train.is_empty() && !files.is_empty() {
                return Err(Refusal::fault(key, "requires data.train"));
            }
            if data.split.is_some() && !files.is_empty() {
                return Err(Refusal::new(key, counted(files.len(), "file"), "none with data.split"));
            }
        }
        if let Some(synthetic) = &data.synthetic {
            synthetic.check()?;
        }
        data.read.check().map_err(|refusal| refusal.under("data.read"))?;
        if let Some(split) = &data.split {
            if data.train.is_empty() {
                return Err(Refusal::fault("data.split", "requires data.train"));
            }
            split.check().map_err(|refusal| refusal.under("data.split"))?;
        }
        let expected = match data.fold {
            0 => "at least 1",
            2.. if data.folds.is_none() => "`data.folds` to choose it from",
            _ => return Ok(()),
        };
        Err(Refusal::new("data.fold", data.fold, expected))
    }

    /// Rejects what a learner makes no use of, and weights, teachers and positions of generated queries, since these
    /// are read from files. An error about the learner lists those that would do.
    fn check_given(&self) -> Result<(), Refusal> {
        type Takes = fn(&LearnerEntry) -> bool;
        let DataConfig { columns, read, teacher, memory, .. } = &self.data;
        let column = |name: &Option<String>| name.as_ref().map(|name| format!("{name:?}"));
        let file = |weights: Weights| (!weights.is_none()).then(|| "\"file\"".to_owned());
        let path = teacher.as_ref().map(|path| format!("{path:?}"));
        let kept = (read.missing == Missing::Keep).then(|| "\"keep\"".to_owned());
        let memory = memory.map(|memory| memory.to_string());
        let (no, filled) = ("\"none\"", "\"indicator\", \"zero\" or \"query-min\"");
        let queries: (Takes, _) = (|entry| entry.takes_query_weights, "does not use query weights");
        let documents: (Takes, _) = (|entry| entry.takes_document_weights, "does not use document weights");
        let teachers: (Takes, _) = (|entry| entry.takes_teacher, "learns from no teacher");
        let positions: (Takes, _) = (|entry| entry.takes_positions, "does not use positions");
        let missing: (Takes, _) = (|entry| entry.takes_missing, "does not accept missing values");
        let streams: (Takes, _) = (|entry| entry.streams, "does not stream data");
        for (key, found, instead, (takes, lacks)) in [
            ("data.read.query_weights", file(read.query_weights), no, queries),
            ("data.columns.weight", column(&columns.weight), "none", documents),
            ("data.read.document_weights", file(read.document_weights), no, documents),
            ("data.teacher", path, "none", teachers),
            ("data.columns.teacher", column(&columns.teacher), "none", teachers),
            ("data.columns.position", column(&columns.position), "no such column", positions),
            ("data.read.missing", kept, filled, missing),
            ("data.memory", memory, "none", streams),
        ] {
            let Some(found) = found else { continue };
            let is_of_files = key.starts_with("data.columns.") || key.ends_with("_weights");
            if is_of_files && self.data.synthetic.is_some() {
                return Err(Refusal::new(key, found, format!("{instead}: generated queries have no files")));
            }
            if !self.learner_entry().is_some_and(takes) {
                let names: Vec<String> = learners_that(takes);
                let (names, verb) = (names.join(" and "), if names.len() == 1 { "does" } else { "do" });
                let expected = format!("{instead}: the learner `{}` {lacks}; {names} {verb}", self.learner_kind());
                return Err(Refusal::new(key, found, expected));
            }
        }
        // A loss that cannot be built has been refused with its learner.
        if !self.data.read_options().document_weights.is_none()
            && let Some(Ok(loss)) = self.loss.as_ref().map(LossSpec::build)
            && let Err(error) = loss.about().check_document_weights()
        {
            return Err(Refusal::new("data.read.document_weights", "\"file\"", format!("\"none\": {error}")));
        }
        Ok(())
    }

    /// Rejects a teacher that the loss does not read, and the loss of a teacher without one.
    fn check_teacher(&self) -> Result<(), Refusal> {
        let DataConfig { teacher, columns, .. } = &self.data;
        let (key, found) = match (teacher, &columns.teacher) {
            (Some(path), None) => ("data.teacher", format!("{path:?}")),
            (None, Some(column)) => ("data.columns.teacher", format!("{column:?}")),
            (Some(path), Some(_)) => {
                return Err(Refusal::new("data.teacher", format!("{path:?}"), "none with data.columns.teacher"));
            }
            (None, None) if self.loss.as_ref().is_some_and(|loss| loss.params.contains_key("teacher")) => {
                return Err(Refusal::described("loss.teacher", "no teacher", "data.teacher or data.columns.teacher"));
            }
            (None, None) => return Ok(()),
        };
        // A loss that cannot be built has been refused with its learner.
        let Some(Ok(loss)) = self.loss.as_ref().map(LossSpec::build) else { return Ok(()) };
        let about = loss.about();
        if about.needs_teacher || about.reads_teacher {
            return Ok(());
        }
        let expected = format!("a section [loss.teacher] with it: the loss `{}` reads labels only", about.name);
        Err(Refusal::new(key, found, expected))
    }

    /// Returns whether missing values are replaced with the feature's mean and marked in an additional column, because
    /// the learner does not accept them.
    pub(crate) fn indicates_missing(&self) -> bool {
        let takes = |entry: &LearnerEntry| entry.takes_missing;
        self.data.read.missing == Missing::Indicator && !self.learner_entry().is_some_and(takes)
    }

    fn check_cross_validation(&self) -> Result<(), Refusal> {
        let CrossValidationConfig { folds, seeds, split } = &self.cv;
        if let Some(FoldsConfig { folds, by }) = split {
            let unfit = match &self.data {
                _ if *folds < 3 => Some("at least 3"),
                DataConfig { folds: Some(_), .. } => Some("none with data.folds, which is already split"),
                DataConfig { split: Some(_), .. } => Some("none with data.split: only one of them can split the data"),
                _ => None,
            };
            if let Some(expected) = unfit {
                return Err(Refusal::new("cv.split", folds, expected));
            }
            if self.data.synthetic.is_some() && *by != SplitBy::Query {
                return Err(Refusal::fault("cv.split.by", "expected \"query\": generated queries have no columns"));
            }
        }
        if let Some(at) = folds.iter().position(|fold| *fold == 0) {
            return Err(Refusal::new(format!("cv.folds[{at}]"), 0, "at least 1"));
        }
        check_once("fold", folds)?;
        check_once("seed", seeds)
    }

    /// Returns the column that divides the queries, unless it has a role. It must not be read as a feature.
    pub(in crate::experiment) fn split_column(&self) -> Option<String> {
        let by = [self.data.split.as_ref().map(|split| &split.by), self.cv.split.as_ref().map(|split| &split.by)];
        let (SplitBy::Group(name) | SplitBy::Time(name)) = by.into_iter().flatten().next()? else { return None };
        let columns = &self.data.columns;
        (!has_role(columns, name) && !columns.drop.contains(name)).then(|| name.clone())
    }

    fn check_search(&self) -> Result<(), Refusal> {
        let Some(search) = &self.search else { return Ok(()) };
        if !self.grid.is_empty() {
            return Err(Refusal::fault("search", "expected either [grid] or [search], found both"));
        }
        search.check()
    }

    /// Returns the registry entry of the learner, or `None` for an unknown name.
    pub(crate) fn learner_entry(&self) -> Option<&'static LearnerEntry> {
        registry::LEARNERS.iter().find(|entry| entry.name == self.learner_kind())
    }

    /// Returns the name of the learner, or an empty string if none is given.
    pub(crate) fn learner_kind(&self) -> &str {
        self.learner.get("kind").and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the dotted keys that the grid or the search varies, each with its values.
    pub(super) fn tried(&self) -> impl Iterator<Item = (&String, &Value)> {
        let searched = self.search.as_ref().map(SearchConfig::space);
        [Some(&self.grid), searched].into_iter().flatten().flatten()
    }

    /// Returns whether the learner, or one that the grid or the search tries, has a table `position`.
    fn names_positions(&self) -> bool {
        let names = |learner: &Map| learner.get("position").is_some_and(|table| !table.is_null());
        let names_one = |(key, values): (&String, &Value)| match key.as_str() {
            "learner" => values.as_array().into_iter().flatten().filter_map(Value::as_object).any(names),
            key => key.starts_with("learner.position"),
        };
        names(&self.learner) || self.tried().any(names_one)
    }

    /// Returns the sections that a learner reads in addition to `[learner]`.
    pub(super) fn parts(&self) -> Parts<'_> {
        let tries_learners = self.tried().any(|(key, _)| key == "learner");
        // If several learners are tried, one that does not read a section ignores it, unless the section's keys are
        // varied.
        let is_read = |section: &str, takes: fn(&LearnerEntry) -> bool| {
            !tries_learners
                || self.tried().any(|(key, _)| section_of(key) == section)
                || self.learner_entry().is_none_or(takes)
        };
        Parts {
            loss: self.loss.as_ref().filter(|_| is_read("loss", |entry| entry.takes_loss)).map(Into::into),
            scorer: self.scorer.as_ref().filter(|_| is_read("scorer", |entry| entry.takes_scorer)),
        }
    }

    /// Returns the measure for the selection of rounds and grid points, together with its convention.
    pub fn selection(&self) -> Selection {
        let MeasureConfig { convention, select, round, .. } = &self.measure;
        Selection { measure: *select, convention: convention.clone(), round: *round }
    }

    /// Returns the measures to report, without duplicates; the selection measure comes first.
    pub fn measures(&self) -> Vec<Measure> {
        let mut measures = vec![self.measure.select];
        for measure in &self.measure.report {
            if !measures.contains(measure) {
                measures.push(*measure);
            }
        }
        measures
    }
}

/// Returns the names of the learners with a property, in backticks.
pub(super) fn learners_that(has: fn(&LearnerEntry) -> bool) -> Vec<String> {
    registry::LEARNERS.iter().filter(|entry| has(entry)).map(|entry| format!("`{}`", entry.name)).collect()
}

/// Converts a learner's error to a [`Refusal`] that names the configuration key that caused it.
pub(in crate::experiment) fn refusal_of(error: LearnerError) -> Refusal {
    match error {
        LearnerError::Refused(refusal) => refusal,
        LearnerError::Loss(LossError::Parameter { refusal, .. }) => refusal.under("loss"),
        LearnerError::Loss(error) => Refusal::fault("loss.name", error),
        error => Refusal::fault("learner", error),
    }
}

/// Rejects a number that a list of `[cv]` repeats; `what` is one of the list.
fn check_once<T: PartialEq + Display>(what: &str, numbers: &[T]) -> Result<(), Refusal> {
    let Some(at) = (0..numbers.len()).find(|&at| numbers[..at].contains(&numbers[at])) else { return Ok(()) };
    Err(Refusal::new(format!("cv.{what}s[{at}]"), format!("{} again", numbers[at]), format!("each {what} once")))
}

/// Decodes a section that a grid or a search varies.
fn decoded<T: DeserializeOwned>(section: &str, value: &Value) -> Result<T, Refusal> {
    check_writable(value, section)?;
    from_value(value.clone()).map_err(|refusal| advise(refusal.under(section)))
}

/// Adds to an error what the missing section may hold, or where the unknown key belongs.
fn advise(mut refusal: Refusal) -> Refusal {
    let missing = refusal.missing_name().filter(|_| refusal.key.is_empty());
    let unknown = refusal.unknown_name().unwrap_or_default();
    let advice = match (missing, refusal.key.strip_suffix(unknown)) {
        (Some("data"), _) => "[data] with folds = \"FOLDER\" or train = [\"FILE\"]".to_string(),
        (Some(section), _) => format!("[{section}] with kind = \"gradient\""),
        (_, Some("scorer.")) => scorers_with(unknown),
        (_, Some("data." | "data.columns." | "data.read.")) => {
            let sections = [
                ("data", keys_of::<DataConfig>()),
                ("data.columns", keys_of::<Columns>()),
                ("data.read", keys_of::<ReadOptions>()),
            ];
            let section = sections.iter().find(|(_, keys)| keys.contains(&unknown));
            section.map(|(section, _)| format!("; [{section}] has it")).unwrap_or_default()
        }
        _ => String::new(),
    };
    refusal.expected += &advice;
    name_unread(refusal)
}

/// Says which kinds of scorer have a key.
fn scorers_with(key: &str) -> String {
    let kinds = [
        ("linear", keys_of::<LinearScorerConfig>()),
        ("mlp", keys_of::<MlpScorerConfig>()),
        ("attention", keys_of::<AttentionScorerConfig>()),
        ("latent_cross", keys_of::<LatentCrossScorerConfig>()),
    ];
    let with = kinds.iter().filter(|(_, keys)| keys.contains(&key));
    let with: Vec<String> = with.map(|(kind, _)| format!("kind = {kind:?}")).collect();
    if with.is_empty() { String::new() } else { format!("; a scorer of {} has it", with.join(" or ")) }
}

#[cfg(test)]
mod tests {
    use burn_rank::workbench::json::json;

    use super::*;
    use crate::experiment::config::document::tests::DECODED;

    const BASE: &str = "[data]\ntrain = [\"a\"]\n[learner]\nkind = \"gradient\"\n[loss]\nname = \"approx_ndcg\"\n";

    fn read(text: &str, overrides: &[&str]) -> Result<Experiment, String> {
        let overrides: Vec<String> = overrides.iter().map(|set| set.to_string()).collect();
        let document = Document::parse(Path::new("a.toml"), format!("{BASE}{text}"), &overrides);
        document.and_then(|document| Experiment::from_document(&document)).map_err(|error| error.to_string())
    }

    #[test]
    fn the_advice_about_a_key_of_a_grid_works_as_an_override() {
        let found = read("", &["grid.learner.epochs=[1, 2]"]).unwrap_err();
        assert!(found.ends_with("as in grid = { \"learner.epochs\" = [..] }"), "{found}");
        read("", &["grid = { \"learner.epochs\" = [1, 2] }"]).unwrap();
    }

    #[test]
    fn errors_name_the_key_and_its_place() {
        for (text, expected) in [
            (
                "[scorer]\nkind = \"mlp\"\nhidden = [0]",
                "a.toml:9:1: scorer.hidden[0]: found 0, expected at least 1 neuron",
            ),
            (
                "[scorer]\nkind = \"linear\"\nhidden = [3]",
                "a.toml:9:1: scorer.hidden: unknown field `hidden`, expected `bias`; a scorer of kind = \"mlp\" or \
                 kind = \"latent_cross\" has it",
            ),
            ("[measure]\nselect = \"map\"\nreport = [\"mpa\"]", "a.toml:9:1: measure.report[0]: unknown measure `mpa`"),
            ("[cv]\nsplit = 1", "a.toml:8:1: cv.split: found 1, expected at least 3"),
            ("[cv]\nfolds = [2, 2]", "a.toml:8:1: cv.folds[1]: found 2 again, expected each fold once"),
            ("[cv]\nseeds = [1, 2, 1]", "a.toml:8:1: cv.seeds[2]: found 1 again, expected each seed once"),
            ("[data.read]\nmax_cells = 0", "a.toml:8:1: data.read.max_cells: found 0, expected at least 1"),
            ("[grid]\n\"data.fold\" = [1, 2]", "a.toml:8:1: grid.data.fold: expected a key that begins with"),
            (
                "[grid]\n\"loss.alpha\" = [1.0]\n\"learner.epochs\" = [1, 0]",
                "a.toml:9:1: grid, at learner.epochs=0 loss.alpha=1.0: learner.epochs: found 0, expected at least 1",
            ),
            (
                "[grid]\n\"learner.epoch\" = [1]",
                "a.toml:8:1: grid, at learner.epoch=1: learner.epoch: unknown field `epoch`",
            ),
        ] {
            let error = read(text, &[]).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
        for (set, expected) in [
            ("data.fold=9", "data.fold: found 9, expected `data.folds` to choose it from"),
            ("scorer={kind=\"mlp\",hiden=[3]}", "scorer.hiden: unknown field `hiden`"),
            ("loss.alpha=-1", "loss.alpha: found -1, expected a finite number above 0"),
            ("learner.optimizer=\"sgd\"", "learner.optimizer: found \"sgd\", expected a table with a kind, as in"),
            (
                "learner.optimizer={kind=\"sgd\",momentum=\"a\"}",
                "learner.optimizer.momentum: found \"a\", expected a number",
            ),
            ("learner.schedule={kind=\"constant\",floor=0.1}", "learner.schedule.floor: unknown field `floor`"),
            ("data={folds=\"d\",test=[\"b\"]}", "data.test: requires data.train"),
            ("learner.epochs=1\nseed=5", "learner.epochs: found \"1\\nseed=5\", expected a whole number"),
            ("learner.patiense=null", "learner.patiense: unknown field `patiense`"),
            ("loss.alhpa=", "loss.alhpa: approx_ndcg: unknown parameter `alhpa`, expected one of `alpha`, "),
        ] {
            let error = read("", &[set]).unwrap_err();
            assert!(error.starts_with(&format!("--set {set}: {expected}")), "{error}");
        }
    }

    #[test]
    fn a_key_of_another_section_of_the_data_names_that_section() {
        for (text, expected) in [
            ("[data.read]\nlabel = \"rating\"", "; [data.columns] has it"),
            ("[data.read]\nwindow = 2", "; [data] has it"),
            ("[data.columns]\nsort = true", "; [data.read] has it"),
        ] {
            let error = read(text, &[]).unwrap_err();
            assert!(error.starts_with("a.toml:8:1: data.") && error.contains(expected), "{error}");
        }
        let error = read("[data.read]\nalpha = 2", &[]).unwrap_err();
        assert!(!error.contains("has it"), "{error}");
    }

    #[test]
    fn query_weights_need_files_and_a_learner_that_takes_them() {
        let weights = "data.read.query_weights=file";
        assert!(read("", &[weights]).is_ok());
        for (set, expected) in [
            ("data={synthetic={}}", "\"none\": generated queries have no files"),
            (
                "learner={kind=\"smooth_rank\"}",
                "\"none\": the learner `smooth_rank` does not use query weights; `gradient` does",
            ),
        ] {
            let error = read("", &[set, weights, "loss.name=smooth_ndcg"]).unwrap_err();
            let expected = format!("data.read.query_weights: found \"file\", expected {expected}");
            assert_eq!(error, format!("--set {weights}: {expected}"));
        }
    }

    #[test]
    fn document_weights_need_a_learner_and_a_loss_that_take_them() {
        let weights = "data.read.document_weights=file";
        assert!(read("", &[weights]).is_ok());
        let refused = |set: &str, loss: &str| read("", &[set, weights, loss]).unwrap_err();
        let learner = refused("learner={kind=\"smooth_rank\"}", "loss.name=smooth_ndcg");
        let expected =
            "\"none\": the learner `smooth_rank` does not use document weights; `boosted_trees` and `gradient` do";
        assert_eq!(
            learner,
            format!("--set {weights}: data.read.document_weights: found \"file\", expected {expected}")
        );
        let loss = refused("seed=1", "loss.name=approx_ap");
        let expected = "\"none\": approx_ap does not accept document weights: its measure is not a sum over documents";
        assert!(loss.contains(expected), "{loss}");
    }

    #[test]
    fn a_temperature_that_nothing_names_is_the_learners() {
        let loss = |sets: &[&str]| read("", sets).unwrap().resolved()["loss"].clone();
        let default = json!({"sigma": 0.1, "temperature_unit": "spread"});
        let paper = json!({"sigma": 1.0, "temperature_unit": "score"});
        let warm = json!({"sigma": 0.5, "temperature_unit": "spread"});
        let named = json!({"sigma": 0.5, "temperature_unit": "score"});
        let trees = "learner={kind=\"boosted_trees\"}";
        for (sets, expected) in [
            (&[][..], &default),
            (&["loss.temperature_unit=spread"], &default),
            (&["grid={\"loss.k\"=[1, 10]}"], &default),
            (&["loss.sigma=0.5"], &named),
            (&[trees], &warm),
            (&[trees, "loss.temperature_unit=spread"], &warm),
            (&[trees, "loss.sigma=0.5"], &named),
            // In scores where something moves it, and for learners whose temperature is not found.
            (&["loss.temperature_unit=score"], &paper),
            (&["learner.anneal={kind=\"linear\", from=1.0, to=0.1}"], &paper),
            (&["grid={\"loss.sigma\"=[1.0, 0.1]}"], &paper),
            (&["learner={kind=\"boosted_trees\", steps=\"line_search\"}"], &paper),
            (&["learner={kind=\"boosted_trees\", anneal={kind=\"linear\", from=1.0, to=0.1}}"], &paper),
            (&["learner={kind=\"smooth_rank\"}"], &paper),
            // A unit without a temperature takes the default of that unit.
            (&["learner={kind=\"smooth_rank\"}", "loss.temperature_unit=spread"], &default),
            (&["learner={kind=\"boosted_trees\", steps=\"line_search\"}", "loss.temperature_unit=spread"], &default),
        ] {
            let found = loss(&[&["loss.name=soft_ndcg"], sets].concat());
            for key in ["sigma", "temperature_unit"] {
                assert_eq!(found[key], expected[key], "{sets:?}");
            }
        }
        assert_eq!(loss(&["loss.name=list_net"]), json!({"name": "list_net"}));
        assert_eq!(loss(&["loss.name=neural_ndcg"])["temperature_unit"], json!("score"));
        let other = "learner.anneal={kind=\"linear\", parameter=\"beta\", from=1.0, to=5.0}";
        assert_eq!(loss(&["loss={name=\"approx_ndcg\", k=10}", other])["alpha"], json!(20.0));
    }

    #[test]
    fn missing_values_are_kept_for_a_learner_that_takes_them() {
        let keep = "data.read.missing=keep";
        assert!(read("", &[keep, "learner={kind=\"boosted_trees\"}"]).is_ok());
        let expected = "\"indicator\", \"zero\" or \"query-min\": the learner `gradient` does not accept missing \
            values; `boosted_trees` does";
        assert_eq!(
            read("", &[keep]).unwrap_err(),
            format!("--set {keep}: data.read.missing: found \"keep\", expected {expected}")
        );
        let absent = read("", &["data.read.absent=missing"]).unwrap_err();
        assert!(absent.contains("data.read.absent: found missing, expected `zero`, or `keep`"), "{absent}");
    }

    #[test]
    fn a_start_needs_a_learner_that_takes_one() {
        let start = "start=first";
        let config = read("", &[start, "learner={kind=\"boosted_trees\"}"]).unwrap();
        assert_eq!(config.start, Some("first".into()));
        let expected = "nothing: the learner `gradient` does not start from a ranker; `boosted_trees` does";
        assert_eq!(
            read("", &[start]).unwrap_err(),
            format!("--set {start}: start: found \"first\", expected {expected}")
        );
    }

    #[test]
    fn learners_that_are_tried_leave_out_what_they_do_not_read() {
        let learners = r#"[{ kind = "gradient" }, { kind = "boosted_trees" }, { kind = "rank_svm" }]"#;
        let text = |more: &str| format!("[scorer]\nkind = \"mlp\"\n[grid]\nlearner = {learners}\n{more}");
        let whole = format!("{BASE}{}", text("")).replace("approx_ndcg", "lambda_ndcg");
        let document = Document::parse(Path::new("a.toml"), whole, &[]).unwrap();
        let points = Experiment::from_document(&document).unwrap().grid_candidates(&document).unwrap();
        let read_by: Vec<(bool, bool)> =
            points.iter().map(|point| (point.config.scorer.is_some(), point.config.loss.is_some())).collect();
        assert_eq!(read_by, [(true, true), (false, true), (false, false)]);
        let lambda = "loss.name=lambda_ndcg";
        let unread = "`boosted_trees` does not read the section [scorer]";
        let error = read(&text("\"scorer.hidden\" = [[3], [4]]"), &[lambda]).unwrap_err();
        assert!(error.contains(unread), "a key that no learner would read is tried: {error}");
        let kinds = "[scorer]\nkind = \"mlp\"\n[grid]\n\"learner.kind\" = [\"gradient\", \"boosted_trees\"]";
        let error = read(kinds, &[lambda]).unwrap_err();
        assert!(error.contains(unread), "a kind has the other keys of the section: {error}");
    }

    #[test]
    fn a_grid_decodes_the_file_once_for_all_points() {
        let numbers: Vec<String> = (1..=10).map(|number| number.to_string()).collect();
        let numbers = numbers.join(", ");
        let before = DECODED.get();
        let grid = format!("[grid]\n\"learner.epochs\" = [{numbers}]\n\"loss.alpha\" = [{numbers}]\n");
        let removed = ["learner.patience=", "seed=null"].map(String::from);
        let document = Document::parse(Path::new("a.toml"), format!("{BASE}{grid}"), &removed).unwrap();
        let points = Experiment::before_grid(&document).unwrap().grid_candidates(&document).unwrap();
        // Once more for each key that is removed.
        assert_eq!((points.len(), DECODED.get() - before), (100, 3));
        assert_eq!(
            (&points[99].config.learner["epochs"], &points[11].config.learner["epochs"]),
            (&json!(10), &json!(2))
        );
        assert_eq!(points[11].config.loss.as_ref().unwrap().params["alpha"], json!(2));
    }

    #[test]
    fn folds_are_not_split_again() {
        let error = read("[cv]\nsplit = 3", &["data={folds=\"d\"}"]).unwrap_err();
        assert_eq!(error, "a.toml:8:1: cv.split: found 3, expected none with data.folds, which is already split");
    }

    #[test]
    fn optional_keys_are_removed_by_hand() {
        let config = read("[learner.clip]\nnorm = 1.0\n", &["learner.clip=", "learner.patience=null"]).unwrap();
        assert_eq!(config.learner, *json!({"kind": "gradient"}).as_object().unwrap());
    }

    #[test]
    fn a_measure_is_reported_once() {
        let config = read("[measure]\nselect = \"map\"\nreport = [\"p@1\", \"map\", \"p@1\"]\n", &[]).unwrap();
        assert_eq!(config.measures(), [Measure::Ap(None), Measure::Precision(Some(1))]);
    }

    #[test]
    fn generated_queries_are_checked_before_they_are_made() {
        let synthetic = |key: &str, value: u64| {
            let set = format!("data={{synthetic={{{key}={value}}}}}");
            read("", &[&set]).unwrap_err().split_once(": ").unwrap().1.to_string()
        };
        assert_eq!(synthetic("features", 0), "data.synthetic.features: found 0, expected from 1 to 100000");
        assert_eq!(synthetic("train_queries", 0), "data.synthetic.train_queries: found 0, expected at least 1");
        let most = "data.synthetic.test_queries: found 1000000000000, expected at most 10000000";
        assert_eq!(synthetic("test_queries", 1_000_000_000_000), most);
    }
}
