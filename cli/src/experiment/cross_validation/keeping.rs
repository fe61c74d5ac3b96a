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
    folder.clear_kept()?;
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
            write(folder, &name, kind, (&ranker, test, &scores), &tag)?;
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
    use std::fs;
    use std::path::Path;

    use burn::tensor::Device;

    use super::*;
    use crate::experiment::cross_validation::{JobDone, JobProgress};
    use crate::experiment::keep::Keep;
    use crate::experiment::{Claim, Document, Experiment, REPORT, Report, RunKind, cross_validate};
    use burn_rank::learner::Interrupt;

    struct Silent;

    impl JobProgress for Silent {
        fn done(&self, _: &JobDone) {}
        fn warn(&self, _: &str, _: &str) {}
    }

    /// A run on new data must delete the scores kept from other data. Otherwise, they would be evaluated as part of the
    /// new report.
    #[test]
    fn what_was_kept_of_other_data_does_not_stay() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data.txt");
        let write = |feature: f32| {
            let query = |number: usize| format!("0 qid:{number} 1:{feature}\n1 qid:{number} 1:2\n");
            fs::write(&data, (1..=6).map(query).collect::<String>()).unwrap();
        };
        let text =
            format!("learner = {{ kind = \"regression\" }}\ncv = {{ split = 3 }}\ndata = {{ train = [{data:?}] }}\n");
        let document = Document::parse(Path::new("a.toml"), text, &[]).unwrap();
        let config = Experiment::from_document(&document).unwrap();
        let run = |claim, keep: Keep| {
            let path = folder.path().join("run");
            let mut output = OutputFolder::open(&path, RunKind::CrossValidation, "a", claim).unwrap();
            let options = CrossValidationOptions {
                device: &Device::flex(),
                output: Some(&output),
                resume: false,
                keep,
                jobs: Some(1),
                threads: 1,
                progress: &Silent,
                interrupt: Interrupt::default(),
            };
            let report = cross_validate(&document, &config, &options).map_err(|error| error.to_string())?;
            output.write_json(REPORT, &Report::Cv(report)).unwrap();
            output.finish().unwrap();
            Ok::<_, String>(output.file(KEPT).read_dir().map_or(0, Iterator::count))
        };
        let scores: Keep = "scores".parse().unwrap();
        write(0.5);
        assert_eq!(run(Claim::New, scores), Ok(3));
        assert_eq!(run(Claim::New, Keep::default()), Ok(3), "of the same data");
        write(0.25);
        for claim in [Claim::New, Claim::Resume] {
            assert!(run(claim, Keep::default()).unwrap_err().contains("holds a run on other data"));
        }
        assert_eq!(run(Claim::Overwrite, Keep::default()), Ok(0));
        assert_eq!(run(Claim::New, scores), Ok(3));
        write(0.5);
        assert_eq!(run(Claim::Overwrite, "rankers".parse().unwrap()), Ok(3), "no scores of the data before");
    }

    #[test]
    fn tags_have_no_blanks() {
        assert_eq!([tag("rank svm,  C = 1"), tag(" ")], ["rank-svm,-C-=-1", "burn-rank"]);
    }
}
