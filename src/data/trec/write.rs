//! Writes datasets as TREC files: scores as a run, labels as judgments.
//!
//! Runs and judgments name documents by their identifiers. If an identifier in a query is absent or repeated, or has
//! blanks or control characters, the query's documents are named by number, from 1. Names are checked before the first
//! line is written, so the file can be read back.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::Write;

use crate::data::dataset::RankingDataset;
use crate::data::error::{DataError, inconsistent};
use crate::text::shown;

/// Writes scores of a dataset as a run. The documents of each query are sorted by descending score; documents with
/// equal scores keep the order of the dataset.
///
/// # Errors
/// Returns [`DataError::Inconsistent`] if the numbers of scores and documents differ, or if [`check_names`] or
/// [`check_tag`] fails. Returns [`DataError::Io`], with an empty path, if a write fails.
pub fn write_run(
    output: &mut impl Write,
    dataset: &RankingDataset,
    scores: &[f32],
    tag: &str,
) -> Result<(), DataError> {
    if scores.len() != dataset.documents() {
        let expected = format!("{}, the documents", dataset.documents());
        return Err(inconsistent("number of scores", scores.len(), expected));
    }
    check_tag(tag)?;
    check_names(dataset)?;
    for q in 0..dataset.queries() {
        let (query, names, start) = (&dataset.query_ids[q], document_names(dataset, q), dataset.range(q).start);
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by(|&a, &b| scores[start + b].total_cmp(&scores[start + a]));
        for (rank, d) in (1..).zip(order) {
            writeln!(output, "{query} Q0 {} {rank} {} {tag}", names[d], scores[start + d])
                .map_err(DataError::of_output)?;
        }
    }
    output.flush().map_err(DataError::of_output)
}

/// Writes the labels of a dataset as judgments, in the order of the dataset.
///
/// # Errors
/// Returns [`DataError::Label`] if a label is not an integer, and [`DataError::Inconsistent`] if [`check_names`] fails.
/// Returns [`DataError::Io`], with an empty path, if a write fails.
pub fn write_qrels(output: &mut impl Write, dataset: &RankingDataset) -> Result<(), DataError> {
    dataset.check_integer_labels(i32::MAX as u32)?;
    check_names(dataset)?;
    for q in 0..dataset.queries() {
        let query = &dataset.query_ids[q];
        for (name, label) in document_names(dataset, q).iter().zip(dataset.query_labels(q)) {
            writeln!(output, "{query} 0 {name} {label}").map_err(DataError::of_output)?;
        }
    }
    output.flush().map_err(DataError::of_output)
}

/// Checks that TREC files can hold every query of a dataset. A TREC file cannot hold an identifier that is empty, has
/// blanks or control characters, or begins with `#`, which starts a comment.
///
/// # Errors
/// Returns [`DataError::Inconsistent`] for the first query that no TREC file can hold.
pub fn check_names(dataset: &RankingDataset) -> Result<(), DataError> {
    dataset.query_ids.iter().try_for_each(|query| check_query(query))
}

/// Checks that TREC files can hold a query with this identifier.
pub fn check_query(query: &str) -> Result<(), DataError> {
    // A reader takes `#` for a comment, and a byte order mark at the beginning of a file away.
    let is_read_back = !query.starts_with(['#', '\u{feff}']);
    let expected =
        "a name without blanks and control characters that does not begin with `#`, since a TREC file holds no other";
    refuse_unless(is_name(query) && is_read_back, "query identifier", query, expected)
}

/// Checks that TREC files can hold the tag of a run. A TREC file cannot hold a tag that is empty, or has blanks or
/// control characters.
///
/// # Errors
/// Returns [`DataError::Inconsistent`] for a tag that no TREC file can hold.
pub fn check_tag(tag: &str) -> Result<(), DataError> {
    check_field("run identifier", tag)
}

/// Checks that text can be a field of a line. Text cannot be a field if it is empty, or has blanks or control
/// characters.
pub fn check_field(what: &str, text: &str) -> Result<(), DataError> {
    refuse_unless(is_name(text), what, text, "a name without blanks and control characters")
}

/// Returns the names under which TREC files list the documents of a query.
pub(super) fn document_names(dataset: &RankingDataset, q: usize) -> Vec<Cow<'_, str>> {
    let ids = dataset.document_ids.get(dataset.range(q)).unwrap_or_default();
    let mut seen = HashSet::new();
    if !ids.is_empty() && ids.iter().all(|id| is_name(id) && seen.insert(id)) {
        return ids.iter().map(|id| Cow::from(id.as_str())).collect();
    }
    (1..=dataset.range(q).len()).map(|number| Cow::from(number.to_string())).collect()
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control())
}

fn refuse_unless(fits: bool, what: &str, name: &str, expected: &str) -> Result<(), DataError> {
    if fits { Ok(()) } else { Err(inconsistent(what, format!("{:?}", shown(name)), expected)) }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::super::{Qrels, read_run_scores_from};
    use super::*;
    use crate::data::Input;

    fn text(write: impl Fn(&mut Vec<u8>) -> Result<(), DataError>) -> String {
        let mut text = Vec::new();
        write(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn scores_and_labels_are_written() {
        let data = RankingDataset::builder()
            .features(vec![0.0; 3], 1)
            .labels(vec![0.0, 2.0, 1.0])
            .query_sizes(&[2, 1])
            .build()
            .unwrap();
        let run = text(|out| write_run(out, &data, &[0.5, 2.0, -1.0], "ours"));
        assert_eq!(run, "1 Q0 2 1 2 ours\n1 Q0 1 2 0.5 ours\n2 Q0 1 1 -1 ours\n");
        assert_eq!(text(|out| write_qrels(out, &data)), "1 0 1 0\n1 0 2 2\n2 0 1 1\n");
    }

    #[test]
    fn documents_without_usable_identifiers_are_numbered() {
        let mut data = RankingDataset::builder()
            .features(vec![0.0; 8], 1)
            .labels(vec![0.0; 8])
            .query_sizes(&[2, 2, 2, 2])
            .build()
            .unwrap();
        data.document_ids = ["x", "y", "a b", "c", "x", "x", "", "\u{1b}z"].map(String::from).to_vec();
        assert_eq!(
            text(|out| write_qrels(out, &data)),
            "1 0 x 0\n1 0 y 0\n2 0 1 0\n2 0 2 0\n3 0 1 0\n3 0 2 0\n4 0 1 0\n4 0 2 0\n"
        );
    }

    #[test]
    fn data_that_cannot_be_written_are_refused() {
        let mut data = RankingDataset::builder()
            .features(vec![0.0; 2], 1)
            .labels(vec![0.0, 0.5])
            .query_sizes(&[2])
            .build()
            .unwrap();
        let message = |result: Result<(), DataError>| result.unwrap_err().to_string();
        assert!(message(write_run(&mut Vec::new(), &data, &[0.0], "t")).contains("number of scores is 1, expected 2"));
        assert!(message(write_run(&mut Vec::new(), &data, &[0.0; 2], "my run")).contains("without blanks"));
        assert!(message(write_qrels(&mut Vec::new(), &data)).contains("label 0.5"));
        data.query_ids = vec!["a b".to_owned()];
        assert!(message(write_run(&mut Vec::new(), &data, &[0.0; 2], "t")).contains("query identifier"));
    }

    #[test]
    fn defect_5_what_is_written_is_read_back_and_what_would_not_be_is_refused_before_the_first_line() {
        let mut data = RankingDataset::builder()
            .features(vec![0.0; 4], 1)
            .labels(vec![1.0, 0.0, 2.0, 0.0])
            .query_sizes(&[2, 2])
            .build()
            .unwrap();
        data.document_ids = ["#a", "b", "q#", "\u{feff}c"].map(String::from).to_vec();
        let scores = [0.5, 2.0, -1.0, 3.0];
        for query in ["q", "q#1", "1:2", "\u{e9}", "Q0", "-"] {
            data.query_ids[1] = query.to_owned();
            let run = text(|out| write_run(out, &data, &scores, "#t"));
            let back = read_run_scores_from(Input::from_reader("run", Cursor::new(run)), &data).unwrap();
            assert_eq!(back, scores, "{query}");
            let qrels = text(|out| write_qrels(out, &data));
            let qrels = Qrels::read_from(Input::from_reader("qrels", Cursor::new(qrels))).unwrap();
            assert_eq!((qrels.queries.len(), qrels.relevance(query, "q#")), (2, Some(2)), "{query}");
        }
        for query in ["#q", "#", "", "a b", "a\u{a0}b", "a\tb", "a\nb", "\u{1b}[31mq", "a\0", "\u{feff}q"] {
            data.query_ids[1] = query.to_owned();
            let mut written = Vec::new();
            for refused in [write_run(&mut written, &data, &scores, "t"), write_qrels(&mut written, &data)] {
                let message = refused.unwrap_err().to_string();
                assert!(message.starts_with(&format!("dataset: query identifier is {query:?}, expected a name")));
                assert!(message.contains("does not begin with `#`"), "{message}");
            }
            assert!(written.is_empty(), "{query}");
        }
        data.query_ids[1] = "q".to_owned();
        for tag in ["", "a b", "\u{1b}[31m", "a\n"] {
            let mut written = Vec::new();
            assert!(write_run(&mut written, &data, &scores, tag).is_err() && written.is_empty(), "{tag}");
        }
    }
}
