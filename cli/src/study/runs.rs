//! Finished cross-validations that serve as input for studies. They provide the test queries of all folds, together
//! with their scores.
//!
//! The documents of every query are scored by the ranker of the fold that tested the query. So no ranker is judged by
//! its training queries. If a run has several seeds, only the first one is used.

use std::path::Path;

use burn_rank::json::Value;

use super::{Result, StudyError, Subject, Training};
use crate::experiment::{ExperimentError, KeptRun};

const NO_RUNS: &str = "found no run with a fold, expected folders of finished `cv` runs that kept scores or rankers";

/// Cross-validations with the same test queries.
#[derive(Debug, Clone)]
pub struct Runs {
    runs: Vec<RunSubject>,
    /// The data of the first fold in the first run.
    training: Training,
}

/// One run: its learner and its loss, and the test queries with the run's scores.
#[derive(Debug, Clone)]
pub struct RunSubject {
    /// The name of the run in tables, which is the name of its folder.
    pub name: String,
    /// The kind of learner that was trained.
    pub learner: String,
    /// The name of the loss, if the learner uses one.
    pub loss: Option<String>,
    /// The cut-off `k` of the loss, if it has one.
    pub cut_off: Option<usize>,
    /// The test queries of all folds.
    pub subject: Subject,
}

impl Runs {
    /// Makes an input for studies from runs that kept their scores or rankers.
    ///
    /// # Errors
    /// Returns an error if there is no run, if the test queries of two runs differ, or if data cannot be read.
    pub fn new(kept: Vec<KeptRun>) -> Result<Self> {
        let first = kept.first().ok_or_else(|| StudyError::Input(NO_RUNS.to_string()))?;
        let tests = |run: &KeptRun| -> Vec<String> {
            run.report.details.iter().filter_map(|fold| Some(fold.data.test.as_ref()?.hash.clone())).collect()
        };
        let expected = tests(first);
        if let Some(other) = kept.iter().find(|run| tests(run) != expected) {
            let (found, expected) = (other.folder.display(), first.folder.display());
            let message = format!("{found}: tested on other queries, features or folds than {expected}");
            return Err(StudyError::Input(message));
        }
        let origin = first.folder.display().to_string();
        let split = first.first_split().map_err(ExperimentError::from)?;
        let training = Training { origin, config: first.config.clone(), split };
        Ok(Self { runs: kept.into_iter().map(RunSubject::of).collect(), training })
    }

    /// Returns the runs in the order in which they were given.
    pub fn runs(&self) -> &[RunSubject] {
        &self.runs
    }

    /// Returns the data of the first fold in the first run.
    pub(super) fn training(&self) -> &Training {
        &self.training
    }

    /// Returns the first run that was trained with one of these losses; if there is none, the first run.
    pub(super) fn trained_by(&self, losses: &[&str]) -> &RunSubject {
        let of = |run: &&RunSubject| run.loss.as_deref().is_some_and(|loss| losses.contains(&loss));
        self.runs.iter().find(of).unwrap_or(&self.runs[0])
    }

    /// Returns the first run with this learner.
    pub(super) fn of_learner(&self, learner: &str) -> Option<&RunSubject> {
        self.runs.iter().find(|run| run.learner == learner)
    }
}

impl RunSubject {
    fn of(run: KeptRun) -> Self {
        let (folder, folds) = (name(&run.folder), run.folds.len());
        let seed = run.report.result.seeds.first().copied().unwrap_or(run.config.seed);
        let seeds = if run.report.result.seeds.len() > 1 { format!(", seed {seed}") } else { String::new() };
        let mut subject =
            Subject { origin: format!("{folder}, test queries of {folds} folds{seeds}"), queries: Vec::new() };
        for fold in &run.folds {
            if let Some(scores) = fold.scores.first() {
                subject.queries.extend(Subject::new(String::new(), &fold.test, scores).queries);
            }
        }
        let learner = run.config.learner.get("kind").and_then(Value::as_str).unwrap_or_default().to_string();
        let loss = run.config.loss.as_ref();
        let cut_off = loss.and_then(|loss| loss.params.get("k")).and_then(Value::as_u64).map(|k| k as usize);
        Self { name: folder, learner, loss: loss.map(|loss| loss.name.clone()), cut_off, subject }
    }
}

/// Returns the name of the run's folder.
fn name(folder: &Path) -> String {
    folder.file_name().map_or_else(|| folder.display().to_string(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::experiment::{Experiment, Split};
    use burn_rank::data::SynthConfig;
    use burn_rank::json::from_value;
    use burn_rank::workbench::json::json;

    /// Returns runs with the given learners, losses, cut-offs and scored test queries.
    pub(in crate::study) fn runs(of: &[(&str, Option<&str>, Option<usize>, Subject)]) -> Runs {
        let data = SynthConfig { queries: 4, features: 3, ..SynthConfig::default() }.generate().unwrap();
        let config = from_value(json!({"data": {"synthetic": {}}, "learner": {"kind": "regression"}})).unwrap();
        let config = Experiment::new(config).unwrap();
        let split = Split { fold: 1, train: data.clone(), validation: Some(data.clone()), test: Some(data) };
        let run = |(learner, loss, cut_off, subject): &(&str, Option<&str>, Option<usize>, Subject)| RunSubject {
            name: format!("{learner} {}", loss.unwrap_or_default()),
            learner: (*learner).to_string(),
            loss: loss.map(str::to_string),
            cut_off: *cut_off,
            subject: subject.clone(),
        };
        Runs { runs: of.iter().map(run).collect(), training: Training { origin: "a test".into(), config, split } }
    }

    #[test]
    fn a_study_finds_the_run_that_it_is_about() {
        let subject = Subject::generated(2, 1);
        let runs = runs(&[
            ("rank_svm", None, None, subject.clone()),
            ("gradient", Some("approx_ap"), None, subject.clone()),
            ("gradient", Some("soft_ndcg"), None, subject),
        ]);
        assert_eq!(runs.trained_by(&["soft_ndcg"]).loss.as_deref(), Some("soft_ndcg"));
        assert_eq!(runs.trained_by(&["approx_ndcg"]).learner, "rank_svm", "the first, for want of one");
        assert_eq!(runs.of_learner("gradient").unwrap().loss.as_deref(), Some("approx_ap"));
        assert!(runs.of_learner("ada_rank").is_none());
    }
}
