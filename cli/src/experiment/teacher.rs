//! The scores of a teacher for the training queries: from a file, or computed by a saved ranker.
//!
//! A file of scores belongs to the data as given. Its rows are those of `data.train` in order, or of the parts of
//! `data.folds` in order. Scores reach the training queries of a split by query and by the place of a document in it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use burn_rank::data::letor::{Missing, ReadOptions};
use burn_rank::data::trec::read_run_scores;
use burn_rank::data::{Columns, DataError, Input, RankingDataset};
use burn_rank::ranker::Ranker;
use burn_rank::refusal::Refusal;
use burn_rank::workbench::text::{counted, shortened};
use burn_rank::workbench::{self, FileKind, Like, read_like};

use super::start::ranker_file;

/// The configuration key of a teacher.
const KEY: &str = "data.teacher";

/// The number of rows up to which their numbers are read exactly, since a table is read as 32-bit floats.
const MOST_ROWS: usize = 1 << 24;

/// The rows of the data as given, from 0, and the documents that they hold.
#[derive(Debug, Default)]
pub(super) struct Rows {
    names: Vec<String>,
    /// The index of each row's query.
    query_of: Vec<usize>,
    /// For each query, the rows of its documents.
    of_query: HashMap<String, Vec<usize>>,
}

impl Rows {
    /// Returns the rows of one dataset.
    pub(super) fn of(data: &RankingDataset) -> Self {
        let mut rows = Self::default();
        rows.append(data);
        rows
    }

    /// Adds the rows of another dataset after those so far.
    pub(super) fn append(&mut self, data: &RankingDataset) {
        let before = self.count();
        self.query_of.resize(before + data.documents(), 0);
        for (query, name) in data.query_ids.iter().enumerate() {
            let row = |document: usize| before + data.read_order.get(document).copied().unwrap_or(document);
            let rows: Vec<usize> = data.range(query).map(row).collect();
            rows.iter().for_each(|&row| self.query_of[row] = self.names.len());
            self.names.push(name.clone());
            self.of_query.insert(name.clone(), rows);
        }
    }

    /// Returns the number of rows.
    pub(super) fn count(&self) -> usize {
        self.query_of.len()
    }

    /// Returns the rows of a query's documents.
    pub(super) fn query(&self, name: &str) -> Option<&[usize]> {
        self.of_query.get(name).map(Vec::as_slice)
    }
}

/// Where the scores of a teacher come from.
pub(super) enum Teacher {
    /// A score for each row of the data, NaN where there is none.
    Rows { rows: Rows, scores: Vec<f32> },
    /// A TREC run, which names queries and documents.
    Run(PathBuf),
    /// A saved ranker.
    Ranker(Box<Ranker>, PathBuf),
}

impl Teacher {
    /// Opens a file of scores or a ranker. `rows` returns the rows of the data, which only a file of rows needs.
    ///
    /// # Errors
    /// Returns a [`DataError`] for a file that cannot be read, or whose scores do not fit the data.
    pub(super) fn open(path: &Path, rows: impl FnOnce() -> Result<Rows, DataError>) -> Result<Self, DataError> {
        let kind = if path.is_dir() { Some(FileKind::Ranker) } else { FileKind::of_file(path) };
        let refused = |message: String| refuse(path, message);
        match kind {
            Some(kind) if kind.is_ranker() => {
                let file = ranker_file(path).map_err(|error| refused(error.to_string()))?;
                let ranker = Ranker::open(&file, &workbench::host()).map_err(|error| refused(error.to_string()))?;
                Ok(Self::Ranker(Box::new(ranker), path.to_path_buf()))
            }
            Some(FileKind::TrecRun) => Ok(Self::Run(path.to_path_buf())),
            Some(FileKind::Numbers) => {
                let rows = rows()?;
                Ok(Self::Rows { scores: of_lines(path, &rows)?, rows })
            }
            Some(FileKind::Separated { .. } | FileKind::Columnar(_)) => {
                let rows = rows()?;
                Ok(Self::Rows { scores: of_table(path, &rows)?, rows })
            }
            other => {
                let found = other.map_or("no file that can be read", FileKind::in_words);
                let expected = "a table of `cv --scores`, one score per line, a TREC run or a ranker";
                Err(refused(format!("found {found}, expected {expected}")))
            }
        }
    }

    /// Gives training queries the scores of the teacher. Also returns a warning if the teacher is known to have seen
    /// them.
    ///
    /// # Errors
    /// Returns a [`DataError`] if the scores do not fit the queries.
    pub(super) fn teach(&self, data: RankingDataset) -> Result<(RankingDataset, Option<String>), DataError> {
        let (mut scores, mut warning) = (Vec::new(), None);
        match self {
            Self::Rows { rows, scores: given } => {
                for (query, name) in data.query_ids.iter().enumerate() {
                    let documents = data.range(query).len();
                    let found = rows.query(name).filter(|found| found.len() == documents).ok_or_else(|| {
                        let found = rows.query(name).map_or("none".to_owned(), |rows| counted(rows.len(), "row"));
                        let expected = format!("{}, those of the training data", counted(documents, "row"));
                        Refusal::new(KEY, format!("{found} of query `{}`", shortened(name, 40)), expected)
                    })?;
                    scores.extend(found.iter().map(|&row| given[row]));
                }
            }
            Self::Run(path) => {
                scores = read_run_scores(path, &data)?;
                scores.iter_mut().filter(|score| score.is_infinite()).for_each(|score| *score = f32::NAN);
            }
            Self::Ranker(ranker, path) => {
                let named = ranker.metadata().feature_names.as_ref().filter(|_| !data.feature_names.is_empty());
                if named.is_some_and(|names| *names != data.feature_names) {
                    let expected = "a ranker with the features of the data, in their order";
                    return Err(refuse(path, format!("found a ranker with other features, expected {expected}")));
                }
                scores = ranker.predict(&data, &workbench::host()).map_err(|error| refuse(path, error.to_string()))?;
                if ranker.metadata().data_hash == data.data_hash() {
                    warning = Some(format!(
                        "the teacher {} was trained on these queries, so its scores know their labels; `cv --scores` \
                         makes scores of rankers that do not",
                        path.display()
                    ));
                }
            }
        }
        if scores.iter().all(|score| score.is_nan()) {
            return Err(Refusal::new(KEY, "no score of a training query", "a score for some document").into());
        }
        Ok((data.with_teacher(scores)?, warning))
    }
}

fn refuse(path: &Path, message: String) -> DataError {
    Refusal::fault(KEY, format!("{}: {message}", path.display())).into()
}

/// Reads one score per line, in the order of the data.
fn of_lines(path: &Path, rows: &Rows) -> Result<Vec<f32>, DataError> {
    let text = std::fs::read_to_string(path).map_err(|error| refuse(path, error.to_string()))?;
    let mut scores = Vec::with_capacity(rows.count());
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let score = line.trim().parse::<f32>().ok().filter(|score| score.is_finite());
        scores.push(score.ok_or_else(|| {
            refuse(
                path,
                format!("line {}: found `{}`, expected a finite number", number + 1, shortened(line.trim(), 40)),
            )
        })?);
    }
    if scores.len() != rows.count() {
        let expected = format!("{}, one for each document of the data in order", rows.count());
        return Err(refuse(path, format!("found {}, expected {expected}", counted(scores.len(), "score"))));
    }
    Ok(scores)
}

/// Reads a table with the columns `query`, `row` and `score`, as `cv --scores` writes it.
fn of_table(path: &Path, rows: &Rows) -> Result<Vec<f32>, DataError> {
    let options = ReadOptions { missing: Missing::Keep, columns: Columns::default(), ..ReadOptions::default() };
    let like = Like { ignores_labels: true, ..Like::default() };
    let table = read_like([Input::from_path(path)], &options, &like)
        .map_err(|error| DataError::Key { key: KEY, source: Box::new(error) })?
        .data;
    let place = |name: &str| {
        table.feature_names.iter().position(|other| other == name).ok_or_else(|| {
            refuse(
                path,
                format!("found no column `{name}`, expected `query`, `row` and `score`, as `cv --scores` writes"),
            )
        })
    };
    let (row, score) = (place("row")?, place("score")?);
    if table.documents() > MOST_ROWS {
        let found = counted(table.documents(), "row");
        return Err(refuse(path, format!("found {found}, expected at most {MOST_ROWS}, or one score per line")));
    }
    let mut scores = vec![f32::NAN; rows.count()];
    for (query, name) in table.query_ids.iter().enumerate() {
        let values = table.query_features(query).chunks_exact(table.feature_count);
        for values in values {
            let (number, score) = (values[row], values[score]);
            let refused = |message: String| Err(refuse(path, format!("row {number}: {message}")));
            let name = shortened(name, 40);
            if !(number >= 1.0 && number <= rows.count() as f32 && number.fract() == 0.0) {
                let expected = format!("a row from 1 to {}, the documents of the data", rows.count());
                return refused(format!("found query `{name}`, expected {expected}"));
            }
            let at = number as usize - 1;
            let expected = &rows.names[rows.query_of[at]];
            if *expected != table.query_ids[query] {
                let of_data = format!("`{}`, which this row of the data has", shortened(expected, 40));
                return refused(format!("found query `{name}`, expected {of_data}"));
            }
            if !score.is_finite() {
                let expected = "a finite number; leave out the rows of documents without one";
                return refused(format!("found the score {score} of query `{name}`, expected {expected}"));
            }
            if !scores[at].is_nan() {
                return refused(format!("found it twice in query `{name}`, expected one score for each row"));
            }
            scores[at] = score;
        }
    }
    Ok(scores)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn data() -> RankingDataset {
        RankingDataset::builder()
            .features(vec![1.0, 2.0, 3.0, 4.0], 1)
            .labels(vec![0.0, 1.0, 0.0, 1.0])
            .query_ids(["a", "b"].map(String::from).to_vec())
            .query_sizes(&[3, 1])
            .build()
            .unwrap()
    }

    fn taught(name: &str, text: &str) -> Result<Vec<f32>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let teacher = Teacher::open(&path, || Ok(Rows::of(&data())));
        let taught = teacher.and_then(|teacher| teacher.teach(data()));
        let place = format!("{}/", folder.path().display());
        taught.map(|(data, _)| data.teacher).map_err(|error| error.to_string().replace(&place, ""))
    }

    #[test]
    fn rows_meet_their_documents() {
        assert_eq!(taught("t.txt", "0.5\n-1\n\n2\n3\n").unwrap(), [0.5, -1.0, 2.0, 3.0]);
        let table = "query,document,row,fold,score\nb,,4,1,-2\na,,1,2,0.5\na,,3,2,1.5\n";
        let found = taught("t.csv", table).unwrap();
        assert_eq!((found[0], found[1].is_nan(), found[2], found[3]), (0.5, true, 1.5, -2.0));
        let run = taught("t.run", "a Q0 3 1 0.25 t\na Q0 1 2 0.125 t\nother Q0 1 1 9 t\n").unwrap();
        assert_eq!((run[0], run[1].is_nan(), run[2], run[3].is_nan()), (0.125, true, 0.25, true));
    }

    #[test]
    fn scores_that_do_not_fit_say_which_where_and_what_was_expected() {
        let head = "query,document,row,fold,score\n";
        for (name, text, expected) in [
            ("t.txt", "1\nNaN\n2\n3\n".to_owned(), "t.txt: line 2: found `NaN`, expected a finite number"),
            (
                "t.txt",
                "1\n2\n3\n".to_owned(),
                "t.txt: found 3 scores, expected 4, one for each document of the data in order",
            ),
            (
                "t.csv",
                format!("{head}zz,,4,1,-2\n"),
                "t.csv: row 4: found query `zz`, expected `b`, which this row of the data has",
            ),
            (
                "t.csv",
                format!("{head}a,,9,1,-2\n"),
                "t.csv: row 9: found query `a`, expected a row from 1 to 4, the documents of the data",
            ),
            (
                "t.csv",
                format!("{head}a,,1,1,NaN\n"),
                "t.csv: row 1: found the score NaN of query `a`, expected a finite",
            ),
            ("t.csv", format!("{head}a,,1,1,2\na,,1,1,3\n"), "t.csv: row 1: found it twice in query `a`"),
            (
                "t.csv",
                "query,score\na,2\n".to_owned(),
                "t.csv: found no column `row`, expected `query`, `row` and `score`",
            ),
            ("t.run", "zz Q0 1 1 9 t\n".to_owned(), "data.teacher = no score of a training query: expected a score"),
        ] {
            let message = taught(name, &text).unwrap_err();
            assert!(message.contains(expected), "{message}\n{expected}");
        }
    }
}
