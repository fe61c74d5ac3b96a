//! Reads a run together with its judgments.

use std::path::Path;

use super::qrels::Qrels;
use super::run::{RunQuery, read_run_from};
use crate::data::error::DataError;
use crate::data::input::Input;
use crate::measure::trec_eval::TrecQuery;

/// The results for the judged queries of a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct JudgedRun<T> {
    /// The name of the run.
    pub tag: String,
    /// Each query with its result, sorted by the bytes of the query's name, as in trec_eval.
    pub queries: Vec<(String, T)>,
    /// The judged queries for which the run has no documents.
    pub missing: Vec<String>,
    /// The number of queries in the run that have no judgments and are left out.
    pub unjudged: usize,
}

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
) -> Result<JudgedRun<T>, E>
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
) -> Result<JudgedRun<T>, E>
where
    T: Send,
    E: From<DataError> + Send,
{
    let judge = |query: RunQuery| {
        let Some(place) = qrels.place(query.query) else { return Ok(None) };
        let judged = TrecQuery { run: &query.documents, qrels: &qrels.judgments(query.query) };
        of_query(query.query, &judged).map(|value| Some((place, value)))
    };
    let run = read_run_from(run, judge)?;
    let unjudged = run.queries.iter().filter(|query| query.is_none()).count();
    let mut values: Vec<Option<T>> = qrels.queries.iter().map(|_| None).collect();
    for (place, value) in run.queries.into_iter().flatten() {
        values[place] = Some(value);
    }
    let mut judged = JudgedRun { tag: run.tag, queries: Vec::new(), missing: Vec::new(), unjudged };
    for (query, value) in qrels.queries.iter().zip(values) {
        let value = match value {
            Some(value) => value,
            None => {
                judged.missing.push(query.clone());
                if !complete {
                    continue;
                }
                of_query(query, &TrecQuery { run: &[], qrels: &qrels.judgments(query) })?
            }
        };
        judged.queries.push((query.clone(), value));
    }
    judged.queries.sort_by(|a, b| a.0.cmp(&b.0));
    judged.missing.sort_unstable();
    Ok(judged)
}

#[cfg(test)]
mod tests {
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
        let expected = JudgedRun {
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
}
