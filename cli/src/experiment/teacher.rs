//! The scores of a teacher for the training queries: from a file, or computed by a saved ranker.
//!
//! A file of scores belongs to the data as given. Its rows are those of `data.train` in order, or of the parts of
//! `data.folds` in order. Scores reach the training queries of a split by query and by the place of a document in it.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader};
use std::path::Path;

use burn_rank::data::letor::{Missing, ReadOptions};
use burn_rank::data::trec::{read_run, read_run_scores};
use burn_rank::data::{Columns, DataError, Input, RankingDataset};
use burn_rank::ranker::Ranker;
use burn_rank::refusal::Refusal;
use burn_rank::workbench::text::{counted, shortened};
use burn_rank::workbench::{self, FileKind, Like, check_missing, has_features, read_like};

use super::folder::ranker_file;

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

    /// Returns the scores of the documents of a dataset, given one score for each row; NaN where there is none.
    fn meet(&self, data: &RankingDataset, scores: &[f32]) -> Result<Vec<f32>, DataError> {
        let mut found = Vec::with_capacity(data.documents());
        for (query, name) in data.query_ids.iter().enumerate() {
            let (rows, documents) = (self.query(name), data.range(query).len());
            let rows = rows.filter(|rows| rows.len() == documents).ok_or_else(|| {
                let count = rows.map_or("none".to_owned(), |rows| counted(rows.len(), "row"));
                let expected = format!("{}, as in the training data", counted(documents, "row"));
                Refusal::new(KEY, format!("{count} of query `{}`", shortened(name, 40)), expected)
            })?;
            found.extend(rows.iter().map(|&row| scores[row]));
        }
        Ok(found)
    }

    /// Returns the rows of a query's documents.
    pub(super) fn query(&self, name: &str) -> Option<&[usize]> {
        self.of_query.get(name).map(Vec::as_slice)
    }
}

/// Gives queries the scores of the teacher at `path`. Also returns a warning if the teacher is known to have seen all
/// of them, or all of those in `share`. A TREC run may also have queries of `others` and of other folds. The rows of a
/// file count through all folds, whose rows `of_folds` reads. Without folds, `of_folds` returns `None`, and the file
/// has the rows of `data`, which was read with the options `read`.
///
/// # Errors
/// Returns a [`DataError`] for a file that cannot be read, or whose scores do not fit the data or the queries.
pub(super) fn teach(
    path: &Path,
    data: RankingDataset,
    share: &[usize],
    others: [&Option<RankingDataset>; 2],
    of_folds: impl FnOnce() -> Result<Option<Rows>, DataError>,
    read: &ReadOptions,
) -> Result<(RankingDataset, Option<String>), DataError> {
    let kind = if path.is_dir() { Some(FileKind::Ranker) } else { FileKind::of_file(path) };
    let mut warning = None;
    let scores = match kind {
        Some(kind) if kind.is_ranker() => {
            let file = ranker_file(path).map_err(|error| Refusal::fault(KEY, error))?;
            let ranker = Ranker::open(&file, &workbench::host()).map_err(|error| refuse(path, error.to_string()))?;
            if !has_features(&ranker, &data.feature_names) {
                let expected = "a ranker with the features of the data, in the same order";
                return Err(refuse(path, format!("found a ranker with other features, expected {expected}")));
            }
            check_missing(&ranker, read).map_err(|refusal| refuse(path, refusal.message()))?;
            let is_of = |data: &RankingDataset| ranker.metadata().data_hash == data.data_hash();
            if is_of(&data) || (!share.is_empty() && is_of(&data.select(share))) {
                warning = Some(format!(
                    "the teacher {} was trained on these queries, so its scores depend on their labels; `cv --scores` \
                     writes scores of rankers that were not trained on them",
                    path.display()
                ));
            }
            ranker.predict(&data, &workbench::host()).map_err(|error| refuse(path, error.to_string()))?
        }
        Some(FileKind::TrecRun) => {
            let run = read_run(path, |_, _| Ok::<_, DataError>(()))?;
            let known: HashSet<&String> =
                others.into_iter().flatten().chain([&data]).flat_map(|set| &set.query_ids).collect();
            let names = run.queries.into_iter().map(|(name, ())| name);
            let mut unknown = names.filter(|name| !known.contains(name)).peekable();
            // A run may score the queries of other folds too.
            let rows = if unknown.peek().is_some() { of_folds()?.unwrap_or_default() } else { Rows::default() };
            if let Some(name) = unknown.find(|name| rows.query(name).is_none()) {
                return Err(refuse_query(path, &name));
            }
            let scores = read_run_scores(path, &data)?;
            scores.into_iter().map(|score| if score.is_infinite() { f32::NAN } else { score }).collect()
        }
        Some(FileKind::Numbers | FileKind::Separated { .. } | FileKind::Columnar(_)) => {
            let rows = of_folds()?.unwrap_or_else(|| Rows::of(&data));
            let of_rows = if kind == Some(FileKind::Numbers) { of_lines(path, &rows)? } else { of_table(path, &rows)? };
            rows.meet(&data, &of_rows)?
        }
        other => {
            let found = other.map_or("no file that can be read", FileKind::in_words);
            let expected = "a table of `cv --scores`, one score per line, a TREC run or a ranker";
            return Err(refuse(path, format!("found {found}, expected {expected}")));
        }
    };
    if scores.iter().all(|score| score.is_nan()) {
        let message = "found no score of a training query, expected one for at least one training document";
        return Err(refuse(path, message.to_owned()));
    }
    Ok((data.with_teacher(scores)?, warning))
}

fn refuse(path: &Path, message: String) -> DataError {
    Refusal::fault(KEY, format!("{}: {message}", path.display())).into()
}

/// Rejects a query of a run, at its first line there.
fn refuse_query(path: &Path, name: &str) -> DataError {
    let lines = std::fs::File::open(path).map(|file| BufReader::new(file).lines().map_while(Result::ok));
    let is_first = |line: &String| line.split_ascii_whitespace().next() == Some(name);
    let number = lines.ok().and_then(|mut lines| lines.position(|line| is_first(&line))).map_or(1, |at| at + 1);
    let found = format!("found query `{}`", shortened(name, 40));
    let message =
        format!("{}:{number}:1: {found}, expected a query of the training, validation or test data", path.display());
    Refusal::fault(KEY, message).into()
}

/// Returns whether a teacher's scores belong to rows of the data, and not to names of queries.
pub(super) fn is_by_rows(path: &Path) -> bool {
    matches!(FileKind::of_file(path), Some(FileKind::Numbers | FileKind::Separated { .. } | FileKind::Columnar(_)))
}

/// Reads one score per line, in the order of the data.
fn of_lines(path: &Path, rows: &Rows) -> Result<Vec<f32>, DataError> {
    let text = std::fs::read_to_string(path).map_err(|error| refuse(path, error.to_string()))?;
    let mut scores = Vec::with_capacity(rows.count());
    let lines = text.trim_start_matches('\u{feff}').lines().enumerate();
    for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let score = line.trim().parse::<f32>().ok().filter(|score| score.is_finite());
        scores.push(score.ok_or_else(|| {
            let (column, found) = (line.len() - line.trim_start().len() + 1, shortened(line.trim(), 40));
            let place = format!("{}:{}:{column}", path.display(), number + 1);
            Refusal::fault(KEY, format!("{place}: found `{found}`, expected a teacher's score (a finite number)"))
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
    let mut options = ReadOptions { missing: Missing::Keep, columns: Columns::default(), ..ReadOptions::default() };
    options.columns.teacher = Some("score".to_owned());
    let like = Like { ignores_labels: true, has_exact_queries: true, ..Like::default() };
    let table = read_like([Input::from_path(path)], &options, &like)
        .map_err(|error| DataError::Key { key: KEY, source: Box::new(error) })?
        .data;
    let row = table.feature_names.iter().position(|other| other == "row").ok_or_else(|| {
        refuse(path, "found no column `row`, expected `query`, `row` and `score`, as `cv --scores` writes".into())
    })?;
    if table.documents() > MOST_ROWS {
        let found = counted(table.documents(), "row");
        return Err(refuse(path, format!("found {found}, expected at most {MOST_ROWS}, or one score per line")));
    }
    let mut scores = vec![f32::NAN; rows.count()];
    for (query, name) in table.query_ids.iter().enumerate() {
        let values = table.query_features(query).chunks_exact(table.feature_count);
        for (values, document) in values.zip(table.range(query)) {
            let (number, score) = (values[row], table.teacher[document]);
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
    use crate::experiment::{Document, Experiment};

    fn data() -> RankingDataset {
        RankingDataset::builder()
            .features(vec![1.0, 2.0, 3.0, 4.0], 1)
            .labels(vec![0.0, 1.0, 0.0, 1.0])
            .query_ids(["a", "b"].map(String::from).to_vec())
            .query_sizes(&[3, 1])
            .build()
            .unwrap()
    }

    /// Validation queries.
    fn other() -> RankingDataset {
        let data = RankingDataset::builder().features(vec![1.0], 1).labels(vec![1.0]);
        data.query_ids(["other"].map(String::from).to_vec()).query_sizes(&[1]).build().unwrap()
    }

    fn taught(name: &str, text: &str) -> Result<Vec<f32>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let taught = teach(&path, data(), &[], [&Some(other()), &None], || Ok(None), &ReadOptions::default());
        let place = format!("{}/", folder.path().display());
        taught.map(|(data, _)| data.teacher).map_err(|error| error.to_string().replace(&place, ""))
    }

    #[test]
    fn rows_meet_their_documents() {
        for mark in ["", "\u{feff}"] {
            let text = format!("{mark}0.5\n-1\n\n2\n3\n");
            assert_eq!(taught("t.txt", &text).unwrap(), [0.5, -1.0, 2.0, 3.0]);
        }
        let table = "query,document,row,fold,score\nb,,4,1,-2\na,,1,2,0.5\na,,2,2,\na,,3,2,1.5\n";
        let found = taught("t.csv", table).unwrap();
        assert_eq!((found[0], found[1].is_nan(), found[2], found[3]), (0.5, true, 1.5, -2.0));
        let run = taught("t.run", "a Q0 3 1 0.25 t\na Q0 1 2 0.125 t\nother Q0 1 1 9 t\n").unwrap();
        assert_eq!((run[0], run[1].is_nan(), run[2], run[3].is_nan()), (0.125, true, 0.25, true));
    }

    #[test]
    fn a_table_of_scores_has_the_names_of_queries_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        fs::write(&path, "query,document,row,fold,score\n1.5,,1,1,0.5\nNA,,2,1,1\n1.0,,3,1,2\n").unwrap();
        let data = RankingDataset::builder().features(vec![1.0, 2.0, 3.0], 1).labels(vec![1.0; 3]);
        let ids = ["1.5", "NA", "1.0"].map(String::from).to_vec();
        let data = data.query_ids(ids).query_sizes(&[1; 3]).build().unwrap();
        assert_eq!(of_table(&path, &Rows::of(&data)).unwrap(), [0.5, 1.0, 2.0]);
    }

    #[test]
    fn scores_that_do_not_fit_say_which_where_and_what_was_expected() {
        let head = "query,document,row,fold,score\n";
        for (name, text, expected) in [
            (
                "t.txt",
                "1\n nan\n2\n3\n".to_owned(),
                "t.txt:2:2: found `nan`, expected a teacher's score (a finite number)",
            ),
            ("t.txt", "-inf\n1\n2\n3\n".to_owned(), "t.txt:1:1: found `-inf`, expected a teacher's score"),
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
                format!("{head}a,,1,1,2\na,,2,1,NaN\n"),
                "t.csv: row 2, column `score`: found `NaN`, expected a teacher's score (a finite number), or an empty",
            ),
            ("t.csv", format!("{head}a,,1,1,-INF\n"), "t.csv: row 1, column `score`: found -INF, expected a teacher's"),
            ("t.csv", format!("{head}a,,1,1,\n"), "teacher = no score: expected a score for some document"),
            ("t.csv", "query,row\na,1\n".to_owned(), "expected a column `score`"),
            ("t.csv", format!("{head}a,,1,1,2\na,,1,1,3\n"), "t.csv: row 1: found it twice in query `a`"),
            (
                "t.csv",
                "query,fold,score\na,1,2\n".to_owned(),
                "t.csv: found no column `row`, expected `query`, `row` and `score`",
            ),
            (
                "t.run",
                "other Q0 1 1 9 t\n".to_owned(),
                "data.teacher: t.run: found no score of a training query, expected one for at least one training document",
            ),
            (
                "t.run",
                "a Q0 1 1 9 t\nother Q0 1 1 9 t\nzz Q0 1 1 9 t\n".to_owned(),
                "data.teacher: t.run:3:1: found query `zz`, expected a query of the training, validation or test data",
            ),
            ("t.run", "a Q0 1 1 9 t\na Q0 2 2 NaN t\n".to_owned(), "t.run:2:10: found `NaN`, expected a finite score"),
            ("t.run", "a Q0 7 1 9 t\n".to_owned(), "expected a document of that query in the data"),
        ] {
            let message = taught(name, &text).unwrap_err();
            assert!(message.contains(expected), "{message}\n{expected}");
        }
    }

    #[test]
    fn rows_of_folds_meet_their_documents_in_each_fold_and_in_a_refit() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: String| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        // The only feature of each document is what the teacher scores it.
        let part = |number: usize| format!("0 qid:{number} 1:{number}1\n1 qid:{number} 1:{number}2\n");
        for fold in 1..=3 {
            for (name, number) in [("test", fold), ("vali", fold % 3 + 1), ("train", (fold + 1) % 3 + 1)] {
                write(&format!("folds/Fold{fold}/{name}.txt"), part(number));
            }
        }
        write("scores.txt", "11\n12\n21\n22\n31\n32\n".into());
        write("run.txt", (1..=3).map(|n| format!("{n} Q0 2 1 {n}2 t\n{n} Q0 1 2 {n}1 t\n")).collect());
        for teacher in ["scores.txt", "run.txt"] {
            let text = format!(
                "loss = {{ name = \"teacher_mse\" }}\nlearner = {{ kind = \"gradient\" }}\n[data]\nfolds = {:?}\nteacher = {:?}\n",
                folder.path().join("folds"),
                folder.path().join(teacher),
            );
            let document = Document::parse(Path::new("a.toml"), text, &[]).unwrap();
            let config = Experiment::from_document(&document).unwrap();
            let splits = config.data.splits(&config.cv, config.seed).unwrap();
            for at in 0..3 {
                let train = splits.read(at, false).unwrap().train;
                assert_eq!(train.teacher, train.features.to_slice(), "{teacher}");
            }
            let of_all = config.refit_data().unwrap().split(1).unwrap().train;
            assert_eq!((of_all.queries(), of_all.teacher.as_slice()), (3, of_all.features.to_slice()), "{teacher}");
        }
    }
}
