//! Refitting after a cross-validation: the best setting is trained again, on the queries of all folds together.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use burn_rank::data::DataError;
use burn_rank::data::folds::Fold;
use burn_rank::json::Map;
use burn_rank::ranker::Estimate;
use burn_rank::refusal::Refusal;
use burn_rank::workbench::check::{are_counted, document_hashes};
use burn_rank::workbench::json::json;

use super::config::{
    ConfigError, CrossValidationConfig, DataConfig, Document, Experiment, ExperimentConfig, Standardize,
};
use super::error::ExperimentError;
use super::record::{CrossValidation, Measures};
use super::split::Split;
use super::splits::Splits;
use super::teacher::is_by_rows;

/// The setting with the best selection measure in a cross-validation, averaged over folds and seeds.
#[derive(Debug, Clone)]
pub struct Chosen {
    /// The configuration with this setting, in the form in which it was fitted in one fold.
    pub(super) config: ExperimentConfig,
    /// The label of the grid point, or `-` without a grid.
    pub setting: String,
    /// The selection measure of the setting, averaged over folds and seeds.
    pub validation: f64,
    /// The best round of each fit with this setting.
    pub best_rounds: Vec<usize>,
    /// The best rounds of each member of an ensemble, one for each fit.
    pub(super) member_rounds: Vec<Vec<usize>>,
}

impl Chosen {
    /// Returns the median of the best rounds. For an even number of rounds, returns the lower of the two middle values.
    pub fn round(&self) -> usize {
        median(&self.best_rounds)
    }

    /// Returns whether the setting has members. Each member has its own best round.
    pub fn is_ensemble(&self) -> bool {
        !self.member_rounds.is_empty()
    }

    /// Returns the configuration that trains the setting on `data`. The number of rounds is the median of the best
    /// rounds.
    ///
    /// # Errors
    /// Returns a [`ConfigError`] if a key is invalid for these data.
    pub fn configuration(&self, data: &DataConfig) -> Result<(Document, Experiment), ConfigError> {
        let mut config = ExperimentConfig { data: data.clone(), ..self.config.clone().without_choice() };
        if config.members.is_empty() {
            config.measure.round = Some(self.round());
        }
        for (member, rounds) in config.members.iter_mut().zip(&self.member_rounds) {
            member.round = Some(median(rounds));
        }
        again(&config)
    }
}

/// Returns the lower median of numbers of rounds.
fn median(rounds: &[usize]) -> usize {
    let mut rounds = rounds.to_vec();
    rounds.sort_unstable();
    rounds.get(rounds.len().saturating_sub(1) / 2).copied().unwrap_or(1)
}

/// Formats a configuration as TOML and parses it again, so that all checks apply.
fn again(config: &ExperimentConfig) -> Result<(Document, Experiment), ConfigError> {
    let place = Path::new("--refit");
    let empty = Document::parse(place, String::new(), &[])?;
    let document = Document::parse(place, config.resolved_toml(&empty)?, &[])?;
    let config = Experiment::from_document(&document)?;
    Ok((document, config))
}

impl ExperimentConfig {
    /// Returns the configuration of a single fit, without `[grid]`, `[search]` and `[cv]`.
    pub(crate) fn without_choice(self) -> Self {
        Self { grid: Map::new(), search: None, cv: CrossValidationConfig::default(), ..self }
    }

    /// Returns a `[data]` section in which all folds together are the training data. All files are read once, so that
    /// an unreadable file is found before any fit.
    ///
    /// # Errors
    /// Returns an [`ExperimentError`] if the data are invalid, if members have fixed constants, if a search has several
    /// folds, if other folds contain only some of a file's queries, or if other queries have the same name.
    pub fn refit_data(&self) -> Result<DataConfig, ExperimentError> {
        if self.standardize == Standardize::Fixed {
            let expected = "\"query\" for --refit: it trains on all queries, and constants need validation queries";
            return Err(Refusal::new("standardize", "\"fixed\"", expected).into());
        }
        let splits = self.data.splits(&self.cv, self.seed)?;
        if self.search.is_some() && splits.count() > 1 {
            let reason = "a search draws different trials in each fold, so no trial has a mean over folds";
            return Err(Refusal::fault("search", format!("expected [grid] for --refit: {reason}")).into());
        }
        let mut data = self.data.of_all(&splits)?;
        data.columns.drop.extend(self.split_column());
        let mut config = Self { data: data.clone(), ..self.clone().without_choice() };
        config.leave_out_unread(|_| false);
        let (_, config) = again(&config)?;
        drop(splits);
        let joined = config.data.told_split(config.seed, &mut Vec::new()).map_err(ExperimentError::from);
        drop(joined.map_err(ExperimentError::job("--refit, which trains on all of these files".to_string()))?);
        Ok(data)
    }
}

impl DataConfig {
    /// Returns the `[data]` section, with the queries of all splits as training queries.
    fn of_all(&self, splits: &Splits) -> Result<Self, DataError> {
        let mut data =
            Self { folds: None, fold: 1, validation: Vec::new(), test: Vec::new(), split: None, ..self.clone() };
        if let Some(folds) = splits.files() {
            // The scores of a teacher belong to rows, which stay in their order.
            data.train = match self.teacher.as_deref().is_some_and(is_by_rows) {
                true => self.test_files()?.into_iter().flatten().collect(),
                false => self.files_of_all(splits, folds)?,
            };
            return Ok(data);
        }
        if let Some(synthetic) = &mut data.synthetic {
            let others = [&mut synthetic.validation_queries, &mut synthetic.test_queries].map(std::mem::take);
            // Folds that are cut hold only training queries.
            synthetic.train_queries += if splits.cuts() { 0 } else { others.iter().sum() };
        } else if !splits.cuts() {
            data.train.extend(self.validation.iter().chain(&self.test).cloned());
        }
        Ok(data)
    }

    /// Returns the files of all folds that hold each query once. A query is known by its name and its documents. Where
    /// queries have only numbers, which differ between folds, it is known by its documents, and queries with equal
    /// documents are counted. Parts that are the same files in all folds are not compared.
    fn files_of_all(&self, splits: &Splits, folds: &[Fold]) -> Result<Vec<PathBuf>, DataError> {
        let files_of = |fold: &Fold| [&fold.train[..], &fold.validation, &fold.test].concat();
        let first = folds.first().map(files_of).unwrap_or_default();
        if folds.len() > 1 && folds.iter().all(|fold| files_of(fold).iter().all(|file| first.contains(file))) {
            return Ok(first);
        }
        let (mut all, mut seen) = (self.train.clone(), HashMap::<_, Vec<(usize, String)>>::new());
        for (at, fold) in folds.iter().enumerate() {
            let files = [&fold.train, &fold.validation, &fold.test];
            let Split { train, validation, test, .. } = splits.read(at, false)?;
            for (files, set) in files.into_iter().zip([Some(train), validation, test].into_iter().flatten()) {
                let queries = set.queries();
                let (is_numbered, hashes) = (are_counted(&set.query_ids), document_hashes(&set));
                let of_query = |query| set.range(query).map(|at| (set.labels[at].to_bits(), hashes[at])).collect();
                let mut documents: Vec<Vec<(u32, u64)>> = (0..queries).map(of_query).collect();
                // Folds may have the documents of a query in different orders.
                documents.iter_mut().for_each(|of| of.sort_unstable());
                let mut counts: HashMap<&Vec<_>, usize> = HashMap::new();
                let known_in = |(of, name): (_, &String)| {
                    let (count, known) = (counts.entry(of).or_default(), seen.get(of)?);
                    *count += 1;
                    let same = if is_numbered { known.get(*count - 1) } else { known.iter().find(|of| of.1 == *name) };
                    same.map(|(fold, _)| *fold)
                };
                let found: Vec<usize> = documents.iter().zip(&set.query_ids).filter_map(known_in).collect();
                let known = found.len();
                // Two sets of one fold may have numbered queries with equal documents.
                if known < queries && found.iter().any(|fold| *fold < at || !is_numbered) {
                    let file = files.first().map(|file| file.display().to_string()).unwrap_or_default();
                    let found = format!("{file}, {known} of whose {queries} queries are in earlier folds");
                    let expected = "files whose queries are all in earlier folds or all new, to train on each query \
                        once";
                    return Err(Refusal::new("data.folds", found, expected).into());
                }
                if known < queries {
                    let new = documents.into_iter().zip(set.query_ids);
                    new.for_each(|(of, name)| seen.entry(of).or_default().push((at, name)));
                    all.extend(files.iter().cloned());
                }
            }
        }
        Ok(all)
    }
}

impl CrossValidation {
    /// Returns the expected quality of a ranker trained on all queries: the results of this cross-validation. `report`
    /// is the path of the cross-validation's report.
    pub fn estimate(&self, report: Option<String>) -> Estimate {
        let numbers = |measures: &Measures| {
            measures.iter().filter_map(|(name, value)| Some((name.to_string(), value.as_f64()?))).collect()
        };
        Estimate {
            measures: numbers(&self.measures),
            standard_errors: numbers(&self.standard_errors),
            queries: self.queries,
            folds: self.folds.len(),
            seeds: self.seeds.len(),
            report,
        }
    }
}

impl From<&Chosen> for burn_rank::json::Value {
    fn from(chosen: &Chosen) -> Self {
        let mut value = json!({"setting": chosen.setting, "validation": chosen.validation});
        if chosen.is_ensemble() {
            value["member_rounds"] = chosen.member_rounds.iter().map(|rounds| json!(median(rounds))).collect();
        } else {
            value["round"] = json!(chosen.round());
            value["best_rounds"] = json!(chosen.best_rounds);
        }
        value
    }
}
