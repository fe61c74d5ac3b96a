//! Keeps files of the selected fits of a cross-validation: rankers, scores of test documents and TREC runs.
//!
//! Every fit saves its ranker, because the selected fits are known only after all fits are done. Scores and TREC runs
//! are computed from the saved ranker, so all three files agree.

use std::io;

use burn_rank::data::trec::write_run;
use burn_rank::data::{DataError, RankingDataset};
use burn_rank::ranker::Ranker;

use super::jobs::{JobResult, Jobs, Pass};
use super::options::CrossValidationOptions;
use crate::experiment::config::ExperimentConfig;
use crate::experiment::error::{ExperimentError, OutputError};
use crate::experiment::folder::OutputFolder;
use crate::experiment::folder::RANKER;
use crate::experiment::keep::{KEPT, KeptKind, kept_file};

/// Keeps the files that the options ask for, and removes the files of other fits. If a selected fit finished in an
/// earlier run without saving its ranker, the fit is repeated. The result of the repeated fit replaces the earlier
/// result.
pub(super) fn keep(
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
        let load = |number: &usize| {
            Ranker::load(&folder.file(&format!("{}/{RANKER}", jobs.folder(*number))), options.device).ok()
        };
        let rankers: Vec<(usize, Option<Ranker>)> = chosen.iter().map(|number| (*number, load(number))).collect();
        let lacking: Vec<usize> =
            rankers.iter().filter(|(_, ranker)| ranker.is_none()).map(|(number, _)| *number).collect();
        if lacking.is_empty() {
            break rankers;
        }
        let (resume, all) = (options.resume, lacking.len());
        let pass = Pass { numbers: &lacking, rounds: None, finished_count: false, resume, before: 0, all };
        let made = jobs.run(&pass, options)?;
        for (number, result) in lacking.into_iter().zip(made) {
            results[number] = result;
        }
    };
    let kept = folder.file(KEPT);
    std::fs::create_dir_all(&kept).map_err(|source| OutputError::Unwritable { path: kept, source })?;
    let tag = tag(&config.name);
    for (number, ranker) in rankers {
        let (at, seed) = jobs.split_and_seed(number);
        let split = jobs.splits.read(at, jobs.seeds.len() > 1)?;
        let (Some(ranker), Some(test)) = (ranker, &split.test) else { continue };
        let scores = ranker.predict(test, options.device)?;
        for kind in options.keep.kinds() {
            let name = kept_file(kind, split.fold, seed);
            // A finished run keeps what it has.
            if !(folder.is_finished() && folder.file(&name).exists()) {
                write(folder, &name, kind, (&ranker, test, &scores), &tag)?;
            }
        }
    }
    Ok(())
}

fn write(
    folder: &OutputFolder,
    name: &str,
    kind: KeptKind,
    (ranker, test, scores): (&Ranker, &RankingDataset, &[f32]),
    tag: &str,
) -> Result<(), OutputError> {
    folder.write_with(name, |mut file| match kind {
        KeptKind::Ranker => file.write_all(&ranker.to_bytes()),
        KeptKind::Scores => scores.iter().try_for_each(|score| writeln!(file, "{score}")),
        KeptKind::Run => write_run(&mut file, test, scores, tag).map_err(|error| match error {
            DataError::Io { source, .. } => source,
            error => io::Error::other(error),
        }),
    })
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
    fn tags_have_no_blanks() {
        assert_eq!([tag("rank svm,  C = 1"), tag(" ")], ["rank-svm,-C-=-1", "burn-rank"]);
    }
}
