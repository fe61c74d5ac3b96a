//! Reads a run together with its judgments, or with the documents of a dataset.

use std::collections::HashMap;
use std::path::Path;

use super::qrels::Qrels;
use super::run::{Run, read_run_from};
use super::write::document_names;
use crate::data::dataset::RankingDataset;
use crate::data::error::{DataError, inconsistent};
use crate::data::source::Input;
use crate::measure::trec_eval::TrecQuery;

/// Calls `of_query` for each query that has both documents and judgments, on all threads, as
/// [`read_run`](super::read_run) does. If `complete` is true, `of_query` is also called for judged queries without
/// documents.
///
/// # Errors
/// Returns the same errors as [`read_run`](super::read_run).
pub fn read_judged<T, E>(
    run: &Path,
    qrels: &Qrels,
    complete: bool,
    of_query: impl Fn(&str, &TrecQuery) -> Result<T, E> + Sync,
) -> Result<Run<T>, E>
where
    T: Send,
    E: From<DataError> + Send,
{
    read_judged_from(Input::from_path(run), qrels, complete, of_query)
}

/// Reads a run from a file or a reader, and passes its judged queries to `of_query`, as [`read_judged`] does.
///
/// # Errors
/// Returns the same errors as [`read_run`](super::read_run).
pub fn read_judged_from<T, E>(
    run: Input,
    qrels: &Qrels,
    complete: bool,
    of_query: impl Fn(&str, &TrecQuery) -> Result<T, E> + Sync,
) -> Result<Run<T>, E>
where
    T: Send,
    E: From<DataError> + Send,
{
    let judge = |query: &str, documents: &[(&str, f32)]| {
        let Some(place) = qrels.place(query) else { return Ok(None) };
        let judged = TrecQuery { run: documents, qrels: &qrels.judgments(query) };
        of_query(query, &judged).map(|value| Some((place, value)))
    };
    let run = read_run_from(run, judge)?;
    let mut judged = Run { tag: run.tag, queries: Vec::new(), missing: Vec::new(), unjudged: 0 };
    let mut values: Vec<Option<T>> = qrels.queries.iter().map(|_| None).collect();
    for (_, value) in run.queries {
        match value {
            Some((place, value)) => values[place] = Some(value),
            None => judged.unjudged += 1,
        }
    }
    for (query, value) in qrels.queries.iter().zip(values) {
        if value.is_none() {
            judged.missing.push(query.clone());
        }
        let value = match value {
            None if complete => Some(of_query(query, &TrecQuery { run: &[], qrels: &qrels.judgments(query) })?),
            value => value,
        };
        judged.queries.extend(value.map(|value| (query.clone(), value)));
    }
    judged.queries.sort_by(|a, b| a.0.cmp(&b.0));
    judged.missing.sort_unstable();
    Ok(judged)
}

/// Reads the score of each document of a dataset from a run; documents that the run did not retrieve get `-inf`.
/// Documents have the names that [`write_run`](super::write_run) gives them. Queries of the run that the dataset lacks
/// are ignored.
///
/// # Errors
/// Returns the same errors as [`read_run`](super::read_run). Returns [`DataError::Inconsistent`] if the run retrieved a
/// document for a query that does not have this document in the dataset.
pub fn read_run_scores(path: &Path, dataset: &RankingDataset) -> Result<Vec<f32>, DataError> {
    read_run_scores_from(Input::from_path(path), dataset)
}

/// Reads scores as [`read_run_scores`] does, from a file or a reader.
///
/// # Errors
/// Returns the same errors as [`read_run_scores`].
pub fn read_run_scores_from(input: Input, dataset: &RankingDataset) -> Result<Vec<f32>, DataError> {
    let queries: HashMap<&str, usize> = dataset.query_ids.iter().map(String::as_str).zip(0..).collect();
    let of_query = |name: &str, documents: &[(&str, f32)]| -> Result<Vec<(usize, f32)>, DataError> {
        let Some(&query) = queries.get(name) else { return Ok(Vec::new()) };
        let names = document_names(dataset, query);
        let places: HashMap<&str, usize> = names.iter().map(AsRef::as_ref).zip(dataset.range(query)).collect();
        let place = |id: &str| {
            places.get(id).copied().ok_or_else(|| {
                let what = format!("a document of query `{name}` in the run");
                inconsistent(what, format!("`{id}`"), "a document of that query in the data")
            })
        };
        documents.iter().map(|(id, score)| Ok((place(id)?, *score))).collect()
    };
    let mut scores = vec![f32::NEG_INFINITY; dataset.documents()];
    for (document, score) in read_run_from(input, of_query)?.queries.into_iter().flat_map(|(_, scores)| scores) {
        scores[document] = score;
    }
    Ok(scores)
}

#[cfg(test)]
mod tests {
    use super::super::write_run;
    use super::*;

    #[test]
    fn queries_are_those_of_both_files_or_of_all_judgments() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let qrels = Qrels::read(&write("qrels", "9 0 a 1\n10 0 a 0\n10 0 b 2\n1 0 a 1\n")).unwrap();
        let run = write("run", "9 Q0 a 1 3 t\n10 Q0 b 1 3 t\n10 Q0 c 2 1 t\n7 Q0 a 1 1 t\n");
        let sizes = |complete| {
            let of_query = |_: &str, query: &TrecQuery| Ok::<_, DataError>((query.run.len(), query.qrels.len()));
            read_judged(&run, &qrels, complete, of_query).unwrap()
        };
        let expected = Run {
            tag: "t".to_owned(),
            queries: vec![("10".to_owned(), (2, 2)), ("9".to_owned(), (1, 1))],
            missing: vec!["1".to_owned()],
            unjudged: 1,
        };
        assert_eq!(sizes(false), expected);
        let complete = sizes(true);
        assert_eq!(complete.queries[0], ("1".to_owned(), (0, 1)));
        assert_eq!((complete.queries.len(), complete.missing.len()), (3, 1));
    }

    fn read(text: &str, data: &RankingDataset) -> Result<Vec<f32>, DataError> {
        read_run_scores_from(Input::from_reader("a run", std::io::Cursor::new(text.to_owned())), data)
    }

    #[test]
    fn scores_that_were_written_are_read_back() {
        let mut data = RankingDataset::builder()
            .features(vec![0.0; 4], 1)
            .labels(vec![0.0; 4])
            .query_sizes(&[2, 2])
            .build()
            .unwrap();
        let mut run = Vec::new();
        data.document_ids = ["x", "y", "", "z"].map(String::from).to_vec();
        write_run(&mut run, &data, &[0.5, 2.0, -1.0, 3.0], "ours").unwrap();
        let run = String::from_utf8(run).unwrap();
        assert_eq!(read(&run, &data).unwrap(), [0.5, 2.0, -1.0, 3.0]);
        let some = read("2 Q0 2 1 0.25 t\nother Q0 d 1 1 t\n", &data).unwrap();
        assert_eq!(some, [f32::NEG_INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY, 0.25]);
        let message = read("1 Q0 z 1 0.25 t\n", &data).unwrap_err().to_string();
        assert_eq!(
            message,
            "dataset: a document of query `1` in the run is `z`, expected a document of that query in the data"
        );
    }
}
