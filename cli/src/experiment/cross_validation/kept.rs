//! The files that a cross-validation keeps for its selected fits, if the user asks for them: rankers, scores of test
//! documents and TREC runs.
//!
//! Every fit saves its ranker, because the selected fits are known only after all fits are done. Scores and TREC runs
//! are computed from the saved ranker, so all three files agree. [`KeptRun`] reads them again. A fourth file has the
//! scores of the test documents of all folds, in the order of the data.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use burn_rank::data::trec::write_run;
use burn_rank::data::{DataError, RankingDataset};
use burn_rank::measure::{Convention, Evaluation, Evaluator, Measure, mean};
use burn_rank::ranker::Ranker;
use burn_rank::refusal::Refusal;
use burn_rank::workbench::{ScoreRow, atomic_file, write_scores_as};

use super::jobs::{Job, JobResult, Pass};
use super::{CrossValidationOptions, KEPT, PlannedFits, RANKERS, SCORES, kept_file};
use crate::experiment::config::{Document, Experiment};
use crate::experiment::error::{ExperimentError, OutputError, to_io};
use crate::experiment::folder::{CONFIG, RANKER, REPORT};
use crate::experiment::record::{CrossValidationReport, Report, over_seeds};
use crate::experiment::split::Split;
use crate::experiment::teacher::Rows;

impl PlannedFits<'_> {
    /// Keeps the files that the options ask for, and writes the file of all test scores. If a selected fit finished in
    /// an earlier run without saving its ranker, the fit is repeated. The result of the repeated fit replaces the
    /// earlier result.
    pub(super) fn keep_files(
        &self,
        results: &mut [JobResult],
        options: &CrossValidationOptions,
    ) -> Result<(), ExperimentError> {
        let Some(folder) = options.output.filter(|_| options.keep.needs_rankers()) else { return Ok(()) };
        let mut fold_scores = self.rows.as_ref().map(|rows| FoldScores { rows, found: BTreeMap::new() });
        // A repeated fit may measure differently on a GPU, and another point may be selected.
        let rankers = loop {
            let chosen = self.chosen(results);
            let load = |number: usize| Ranker::load(&folder.file(&self.job(number).file(RANKER)), options.device);
            let rankers: BTreeMap<usize, Ranker> =
                chosen.iter().filter_map(|&number| Some((number, load(number).ok()?))).collect();
            let lacking: Vec<usize> = chosen.into_iter().filter(|number| !rankers.contains_key(number)).collect();
            if lacking.is_empty() {
                break rankers;
            }
            let made = self.run_pass(&Pass { is_repeated: true, ..Pass::new(&lacking) }, options)?;
            lacking.into_iter().zip(made).for_each(|(number, result)| results[number] = result);
        };
        let kept = folder.file(KEPT);
        if options.keep.any() {
            fs::create_dir_all(&kept).map_err(OutputError::unwritable(&kept))?;
        }
        let tag = tag(&self.config.name);
        for (number, ranker) in rankers {
            let Job { split, seed, .. } = self.job(number);
            let split = self.splits.read(split, self.seeds.len() > 1)?;
            let Some(test) = &split.test else { continue };
            let scores = ranker.predict(test, options.device)?;
            if let Some(all) = &mut fold_scores {
                all.add(split.fold, test, &scores)?;
            }
            for ending in options.keep.endings() {
                let name = kept_file(ending, split.fold, seed);
                // A finished run keeps what it has.
                if folder.is_finished() && folder.file(&name).exists() {
                    continue;
                }
                folder.write_with(&name, |mut file| match ending {
                    RANKERS => file.write_all(&ranker.to_bytes()),
                    SCORES => test.in_read_order(&scores).iter().try_for_each(|score| writeln!(file, "{score}")),
                    _ => write_run(&mut file, test, &scores, &tag).map_err(to_io),
                })?;
            }
        }
        let Some((all, path)) = fold_scores.zip(options.scores) else { return Ok(()) };
        all.write(path, &tag)
    }
}

/// Returns the tag of TREC runs: the words of the experiment's name, joined by hyphens.
fn tag(name: &str) -> String {
    let words = name.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    match words.collect::<Vec<_>>().join("-") {
        tag if tag.is_empty() => "burn-rank".to_string(),
        tag => tag,
    }
}

/// The formats of a file of scores, as the endings of its name.
const FORMATS: [&str; 5] = ["csv", "tsv", "arrow", "parquet", "run"];

/// Returns the format that the name of a file asks for.
///
/// # Errors
/// Returns a [`Refusal`] for a name with another ending.
pub(crate) fn format_of(path: &Path) -> Result<&'static str, Refusal> {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    FORMATS.into_iter().find(|format| *format == ending).ok_or_else(|| {
        let expected = "a name that ends in .csv, .tsv, .arrow, .parquet or .run";
        Refusal::new("scores", path.display(), expected)
    })
}

/// The scores of all test documents, by the row of the data. Each query is scored by the selected fits that had it in
/// their test part, so no score comes from a fit that has seen its query.
struct FoldScores<'a> {
    rows: &'a Rows,
    found: BTreeMap<usize, Scored>,
}

/// A scored document.
struct Scored {
    query: String,
    /// The identifier of the document; empty if the data have none.
    document: String,
    fold: usize,
    /// The sum of its scores over the seeds, and their number.
    sum: f64,
    seeds: usize,
}

impl FoldScores<'_> {
    /// Adds the scores of one fit for the test queries of its fold.
    ///
    /// # Errors
    /// Returns [`DataError::Changed`] if the rows have other queries.
    fn add(&mut self, fold: usize, test: &RankingDataset, scores: &[f32]) -> Result<(), DataError> {
        for (query, name) in test.query_ids.iter().enumerate() {
            let (documents, rows) = (test.range(query), self.rows.query(name).unwrap_or_default());
            if rows.len() != documents.len() {
                return Err(DataError::Changed { fold });
            }
            for (document, &row) in documents.zip(rows) {
                let scored = self.found.entry(row).or_insert_with(|| {
                    let document = test.document_ids.get(document).cloned().unwrap_or_default();
                    Scored { query: name.clone(), document, fold, sum: 0.0, seeds: 0 }
                });
                scored.sum += f64::from(scores[document]);
                scored.seeds += 1;
            }
        }
        Ok(())
    }

    /// Writes the file, in the format that its name asks for. `tag` names a TREC run.
    ///
    /// # Errors
    /// Returns an [`ExperimentError`] if the file cannot be written, or if names do not fit a TREC run.
    fn write(&self, path: &Path, tag: &str) -> Result<(), ExperimentError> {
        let format = format_of(path)?;
        let fill = |mut out: &mut dyn Write| match format {
            "csv" => self.write_text(out, ','),
            "tsv" => self.write_text(out, '\t'),
            "run" => self.run().and_then(|(data, scores)| write_run(&mut out, &data, &scores, tag)).map_err(to_io),
            format => write_scores_as(format, &self.table(), out).map_err(to_io),
        };
        Ok(atomic_file::write_with(path, fill).map_err(OutputError::unwritable(path))?)
    }

    fn table(&self) -> Vec<ScoreRow<'_>> {
        let rows = self.found.iter().map(|(&row, scored)| ScoreRow {
            query: &scored.query,
            document: &scored.document,
            row: row + 1,
            fold: scored.fold,
            score: (scored.sum / scored.seeds as f64) as f32,
        });
        rows.collect()
    }

    fn write_text(&self, out: &mut dyn Write, separator: char) -> io::Result<()> {
        let names = ["query", "document", "row", "fold", "score"];
        writeln!(out, "{}", names.join(&separator.to_string()))?;
        for ScoreRow { query, document, row, fold, score } in self.table() {
            let [query, document] = [query, document].map(|text| quoted(text, separator));
            writeln!(out, "{query}{separator}{document}{separator}{row}{separator}{fold}{separator}{score}")?;
        }
        Ok(())
    }

    /// Returns the scored documents as a dataset without features, and their scores.
    fn run(&self) -> Result<(RankingDataset, Vec<f32>), DataError> {
        let mut queries: BTreeMap<usize, Vec<ScoreRow>> = BTreeMap::new();
        for row in self.table() {
            let first = self.rows.query(row.query).and_then(|rows| rows.iter().min()).copied().unwrap_or_default();
            queries.entry(first).or_default().push(row);
        }
        let rows = || queries.values().flatten();
        let sizes: Vec<usize> = queries.values().map(Vec::len).collect();
        let data = RankingDataset::builder()
            .features(vec![0.0; rows().count()], 1)
            .labels(vec![0.0; rows().count()])
            .query_ids(queries.values().map(|rows| rows[0].query))
            .query_sizes(&sizes);
        let data = match rows().any(|row| !row.document.is_empty()) {
            true => data.document_ids(rows().map(|row| row.document)),
            false => data,
        };
        Ok((data.build()?, rows().map(|row| row.score).collect()))
    }
}

/// Quotes a field that holds the separator, a quote or a line break.
fn quoted(text: &str, separator: char) -> String {
    let is_special = text.contains([separator, '"', '\n', '\r']);
    if is_special { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

/// A finished cross-validation that kept the scores or the rankers of its selected fits.
#[derive(Debug, Clone)]
pub struct KeptRun {
    /// The folder of the run.
    pub folder: PathBuf,
    /// The configuration of the run.
    pub config: Experiment,
    /// The configuration with the setting that all folds selected; `None` if they selected different ones.
    pub selected: Option<Experiment>,
    /// The report of the run.
    pub report: CrossValidationReport,
    /// The folds of the run, in the order of the report.
    pub folds: Vec<KeptFold>,
}

/// The test queries of one fold, with the scores of its selected fit.
#[derive(Debug, Clone)]
pub struct KeptFold {
    /// The test queries of the fold, before normalization.
    pub test: RankingDataset,
    /// The scores of the test documents, one list per seed.
    pub scores: Vec<Vec<f32>>,
}

impl KeptRun {
    /// Returns whether the folder holds a report and kept files.
    pub fn is_in(folder: &Path) -> bool {
        folder.join(REPORT).is_file() && folder.join(KEPT).is_dir()
    }

    /// Reads a run and its data files, which must not have moved or changed. If the scores were not kept, they are
    /// computed from the kept rankers on the device.
    ///
    /// # Errors
    /// Returns an [`ExperimentError`] if files are absent or malformed, or if the data have changed.
    pub fn read(folder: &Path, device: &Device) -> Result<Self, ExperimentError> {
        let path = folder.join(REPORT);
        let refuse = |found: String| ExperimentError::Input(format!("{}: {found}", path.display()));
        let bytes = fs::read(&path).map_err(|error| refuse(error.to_string()))?;
        let Report::Cv(report) = serde_json::from_slice(&bytes).map_err(|error| refuse(error.to_string()))? else {
            return Err(refuse("found the report of a `train` run, expected one of `cv`".into()));
        };
        let document = Document::read(&folder.join(CONFIG), &[])?;
        let config = Experiment::from_document(&document)?;
        let selected = match report.result.folds.as_slice() {
            [first, others @ ..] if others.iter().all(|fold| fold.selected == first.selected) => {
                config.at_label(&document, first.fold, &first.selected)?
            }
            _ => None,
        };
        let splits = config.data.splits(&config.cv, config.seed)?;
        let mut folds = Vec::new();
        for (result, details) in report.result.folds.iter().zip(&report.details) {
            let changed = || {
                let (folder, fold) = (folder.display(), result.fold);
                let reason = format!("the test queries of fold {fold} are not those of the run");
                ExperimentError::Input(format!("{folder}: {reason}; its data have changed or moved"))
            };
            let at = splits.folds().position(|fold| fold == result.fold).ok_or_else(changed)?;
            let test = splits.read(at, false)?.test.ok_or_else(changed)?;
            if details.data.test.as_ref().is_none_or(|data| data.hash != test.data_hash()) {
                return Err(changed());
            }
            let of_seed = |seed: &u64| scores(folder, result.fold, *seed, &test, device);
            let scores = report.result.seeds.iter().map(of_seed).collect::<Result<_, _>>()?;
            folds.push(KeptFold { test, scores });
        }
        Ok(Self { folder: folder.to_path_buf(), config, selected, report, folds })
    }

    /// Reads the data of the first fold, without normalizing them.
    ///
    /// # Errors
    /// Returns a [`DataError`] if a file is invalid.
    pub fn first_split(&self) -> Result<Split, DataError> {
        self.config.data.splits(&self.config.cv, self.config.seed)?.read(0, false)
    }

    /// Computes measures on the test queries of all folds, averaged over seeds.
    ///
    /// # Errors
    /// Returns [`ExperimentError::Measure`] if a measure does not accept the labels.
    pub fn evaluate(&self, measures: &[Measure], convention: &Convention) -> Result<Evaluation, ExperimentError> {
        let evaluator = Evaluator::new(measures, convention)?;
        let mut per_query: Vec<Vec<Option<f64>>> = vec![Vec::new(); measures.len()];
        let (mut queries, mut empty_queries) = (0, 0);
        for fold in &self.folds {
            let test = &fold.test;
            let of_seed = |scores: &Vec<f32>| evaluator.evaluate(&test.rankings(scores));
            let of_seeds = fold.scores.iter().map(of_seed).collect::<Result<Vec<Evaluation>, _>>()?;
            for (m, values) in per_query.iter_mut().enumerate() {
                values.extend(over_seeds(of_seeds.iter().map(|of| &of.per_query[m])));
            }
            queries += test.queries();
            empty_queries += of_seeds.first().map_or(0, |of| of.empty_queries);
        }
        let means = measures.iter().copied().zip(per_query.iter().map(|of| mean(of).unwrap_or(f64::NAN))).collect();
        Ok(Evaluation { convention: convention.clone(), queries, empty_queries, means, per_query })
    }
}

/// Reads the scores of one fit, or computes them with its ranker.
fn scores(
    folder: &Path,
    fold: usize,
    seed: u64,
    test: &RankingDataset,
    device: &Device,
) -> Result<Vec<f32>, ExperimentError> {
    let path = folder.join(kept_file(SCORES, fold, seed));
    let refuse = |found: String| ExperimentError::Input(format!("{}: {found}", path.display()));
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let ranker = folder.join(kept_file(RANKERS, fold, seed));
            if ranker.is_file() {
                return Ok(Ranker::load(&ranker, device)?.predict(test, device)?);
            }
            let found = format!("neither scores nor a ranker of fold {fold}, seed {seed}");
            let advice = "`cv --resume --keep scores` keeps them";
            return Err(ExperimentError::Input(format!("{}: found {found}; {advice}", folder.display())));
        }
        text => text.map_err(|error| refuse(error.to_string()))?,
    };
    let number = |line: &str| line.parse::<f32>().map_err(|_| refuse(format!("found `{line}`, expected a score")));
    let scores = text.lines().map(number).collect::<Result<Vec<f32>, _>>()?;
    if scores.len() != test.documents() {
        return Err(refuse(format!("found {} scores, expected {}", scores.len(), test.documents())));
    }
    Ok(test.from_read_order(&scores))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_have_no_blanks() {
        assert_eq!([tag("rank svm,  C = 1"), tag(" ")], ["rank-svm,-C-=-1", "burn-rank"]);
    }
}
