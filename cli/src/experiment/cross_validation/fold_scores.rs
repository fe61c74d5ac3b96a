//! The scores of all test documents of a cross-validation in one file, in the order of the data. Each query is scored by
//! the selected fits that had it in their test part, so no score comes from a fit that has seen its query.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use burn_rank::data::trec::write_run;
use burn_rank::data::{DataError, RankingDataset};
use burn_rank::refusal::Refusal;
use burn_rank::workbench::{ScoreRow, write_scores_as};

use crate::experiment::error::{ExperimentError, OutputError};
use crate::experiment::teacher::Rows;

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

/// The scores of test documents, by the row of the data.
pub(super) struct FoldScores {
    rows: Rows,
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

impl FoldScores {
    /// Creates an empty table for these rows.
    pub(super) fn new(rows: Rows) -> Self {
        Self { rows, found: BTreeMap::new() }
    }

    /// Adds the scores of one fit for the test queries of its fold.
    ///
    /// # Errors
    /// Returns [`DataError::Changed`] if the queries are not those of the rows.
    pub(super) fn add(&mut self, fold: usize, test: &RankingDataset, scores: &[f32]) -> Result<(), DataError> {
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
    pub(super) fn write(&self, path: &Path, tag: &str) -> Result<(), ExperimentError> {
        let format = format_of(path)?;
        let fill = |mut out: &mut dyn Write| match format {
            "csv" => self.write_text(out, ','),
            "tsv" => self.write_text(out, '\t'),
            "run" => self.run().and_then(|(data, scores)| write_run(&mut out, &data, &scores, tag)).map_err(as_io),
            format => write_scores_as(format, &self.table(), out).map_err(as_io),
        };
        burn_rank::workbench::atomic_file::write_with(path, fill)
            .map_err(|source| OutputError::unwritable(path)(source).into())
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
    match text.contains([separator, '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

fn as_io(error: DataError) -> io::Error {
    match error {
        DataError::Io { source, .. } => source,
        error => io::Error::other(error),
    }
}
