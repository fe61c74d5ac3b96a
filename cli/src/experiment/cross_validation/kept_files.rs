//! The files that a cross-validation keeps for its selected fits, if the user asks for them: rankers, scores of test
//! documents and TREC runs.
//!
//! Every fit saves its ranker, because the selected fits are known only after all fits are done. Scores and TREC runs
//! are computed from the saved ranker, so all three files agree.

use std::io;
use std::str::FromStr;

use burn_rank::data::DataError;
use burn_rank::data::trec::write_run;
use burn_rank::ranker::Ranker;
use burn_rank::refusal::Refusal;
use burn_rank::workbench::text::{did_you_mean, nearest};

use super::CrossValidationOptions;
use super::jobs::{Job, JobResult, Jobs, Pass};
use crate::experiment::config::ExperimentConfig;
use crate::experiment::error::{ExperimentError, OutputError};
use crate::experiment::folder::RANKER;

/// The folder of the kept files, inside the folder of the run.
pub const KEPT: &str = "kept";

/// Which files to keep for each fold's selected fit, for every seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Keep {
    /// Whether to keep the rankers.
    pub rankers: bool,
    /// Whether to keep the scores of the test documents, one per line.
    pub scores: bool,
    /// Whether to keep the ranked test queries as a TREC run.
    pub runs: bool,
}

/// The endings of the names of kept files.
pub(in crate::experiment) const RANKERS: &str = ".safetensors";
pub(in crate::experiment) const SCORES: &str = ".scores.txt";
/// All endings, in the order of the fields of [`Keep`].
pub(in crate::experiment) const ENDINGS: [&str; 3] = [RANKERS, SCORES, ".run.txt"];

impl Keep {
    /// The words for the fields, in the order of the struct. [`from_str`](Self::from_str) reads the same words.
    pub const NAMES: [&str; 3] = ["rankers", "scores", "runs"];

    /// Returns whether any files are kept.
    pub fn any(self) -> bool {
        self.rankers || self.scores || self.runs
    }

    /// Returns the endings of the files to keep.
    fn endings(self) -> impl Iterator<Item = &'static str> {
        let asked = [self.rankers, self.scores, self.runs];
        ENDINGS.into_iter().zip(asked).filter_map(|(ending, asked)| asked.then_some(ending))
    }

    /// Returns the files to keep for a fit, as paths relative to the folder of the run.
    pub fn files(self, fold: usize, seed: u64) -> Vec<String> {
        self.endings().map(|ending| kept_file(ending, fold, seed)).collect()
    }
}

impl FromStr for Keep {
    type Err = Refusal;

    /// Reads words separated by commas, as in `rankers,scores`.
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let mut keep = Self::default();
        for word in text.split(',').map(str::trim) {
            match word {
                "rankers" => keep.rankers = true,
                "scores" => keep.scores = true,
                "runs" => keep.runs = true,
                _ => {
                    let near = did_you_mean(&nearest(word, Self::NAMES));
                    let expected = format!("{}, separated by commas{near}", Self::NAMES.join(", "));
                    return Err(Refusal::new("keep", format!("`{word}`"), expected));
                }
            }
        }
        Ok(keep)
    }
}

/// Returns the path of a kept file with one of the [`ENDINGS`], relative to the folder of the run.
pub(in crate::experiment) fn kept_file(ending: &str, fold: usize, seed: u64) -> String {
    format!("{KEPT}/fold{fold}-seed{seed}{ending}")
}

/// Keeps the files that the options ask for. If a selected fit finished in an earlier run without saving its ranker, the
/// fit is repeated. The result of the repeated fit replaces the earlier result.
pub(super) fn keep_files(
    config: &ExperimentConfig,
    jobs: &Jobs,
    results: &mut [JobResult],
    options: &CrossValidationOptions,
) -> Result<(), ExperimentError> {
    let Some(folder) = options.output else { return Ok(()) };
    if !options.keep.any() {
        return Ok(());
    }
    // A repeated fit may measure differently on a GPU, and another point may be selected.
    let rankers = loop {
        let chosen = jobs.chosen(results);
        let load = |number: &usize| Ranker::load(&folder.file(&jobs.job(*number).file(RANKER)), options.device).ok();
        let rankers: Vec<(usize, Option<Ranker>)> = chosen.iter().map(|number| (*number, load(number))).collect();
        let lacking: Vec<usize> =
            rankers.iter().filter(|(_, ranker)| ranker.is_none()).map(|(number, _)| *number).collect();
        if lacking.is_empty() {
            break rankers;
        }
        let made = jobs.run(&Pass { is_repeated: true, ..Pass::new(&lacking) }, options)?;
        for (number, result) in lacking.into_iter().zip(made) {
            results[number] = result;
        }
    };
    let kept = folder.file(KEPT);
    std::fs::create_dir_all(&kept).map_err(OutputError::unwritable(&kept))?;
    let tag = tag(&config.name);
    for (number, ranker) in rankers {
        let Job { split, seed, .. } = jobs.job(number);
        let split = jobs.splits.read(split, jobs.seeds.len() > 1)?;
        let (Some(ranker), Some(test)) = (ranker, &split.test) else { continue };
        let scores = ranker.predict(test, options.device)?;
        for ending in options.keep.endings() {
            let name = kept_file(ending, split.fold, seed);
            // A finished run keeps what it has.
            if folder.is_finished() && folder.file(&name).exists() {
                continue;
            }
            folder.write_with(&name, |mut file| match ending {
                RANKERS => file.write_all(&ranker.to_bytes()),
                SCORES => scores.iter().try_for_each(|score| writeln!(file, "{score}")),
                _ => write_run(&mut file, test, &scores, &tag).map_err(|error| match error {
                    DataError::Io { source, .. } => source,
                    error => io::Error::other(error),
                }),
            })?;
        }
    }
    Ok(())
}

/// Returns the tag of TREC runs: the words of the experiment's name, joined by hyphens.
fn tag(name: &str) -> String {
    let words = name.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    match words.collect::<Vec<_>>().join("-") {
        tag if tag.is_empty() => "burn-rank".to_string(),
        tag => tag,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_is_kept() {
        let keep: Keep = "scores, rankers".parse().unwrap();
        assert_eq!(keep, Keep { rankers: true, scores: true, runs: false });
        assert_eq!(keep.files(2, 7), ["kept/fold2-seed7.safetensors", "kept/fold2-seed7.scores.txt"]);
        let message = "ranker".parse::<Keep>().unwrap_err().to_string();
        assert!(message.contains("`ranker`") && message.ends_with("did you mean `rankers`?"), "{message}");
        assert!("".parse::<Keep>().is_err());
    }

    #[test]
    fn tags_have_no_blanks() {
        assert_eq!([tag("rank svm,  C = 1"), tag(" ")], ["rank-svm,-C-=-1", "burn-rank"]);
    }
}
