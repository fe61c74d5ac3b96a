//! Writes datasets as TREC files: scores as a run, labels as judgements.
//!
//! Both name documents in the same way: by their identifiers, or, in a query where an identifier is absent, has blanks
//! or occurs twice, by their numbers in the query, from 1.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::Write;
use std::path::PathBuf;

use crate::data::{DataError, RankingDataset};

/// Writes scores of a dataset as a run: the documents of each query by descending score, with ties broken by position
/// in the dataset.
///
/// # Errors
/// [`DataError::Inconsistent`] if the scores are not one per document, or the tag or a query has blanks;
/// [`DataError::Io`], with an empty path, for a failed write.
pub fn write_run(
    output: &mut impl Write,
    dataset: &RankingDataset,
    scores: &[f32],
    tag: &str,
) -> Result<(), DataError> {
    if scores.len() != dataset.documents() {
        return Err(DataError::Inconsistent {
            what: "number of scores".to_owned(),
            found: scores.len().to_string(),
            expected: format!("{}, the documents", dataset.documents()),
        });
    }
    check_name("run identifier", tag)?;
    for q in 0..dataset.queries() {
        let (query, names, start) = (query_name(dataset, q)?, document_names(dataset, q), dataset.range(q).start);
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by(|&a, &b| scores[start + b].total_cmp(&scores[start + a]));
        for (rank, d) in (1..).zip(order) {
            writeln!(output, "{query} Q0 {} {rank} {} {tag}", names[d], scores[start + d]).map_err(failed)?;
        }
    }
    output.flush().map_err(failed)
}

/// Writes the labels of a dataset as judgements, in the order of the dataset.
///
/// # Errors
/// [`DataError::Label`] for a label that is not an integer; [`DataError::Inconsistent`] if a query has blanks;
/// [`DataError::Io`], with an empty path, for a failed write.
pub fn write_qrels(output: &mut impl Write, dataset: &RankingDataset) -> Result<(), DataError> {
    dataset.check_integer_labels(i32::MAX as u32)?;
    for q in 0..dataset.queries() {
        let query = query_name(dataset, q)?;
        for (name, label) in document_names(dataset, q).iter().zip(dataset.query_labels(q)) {
            writeln!(output, "{query} 0 {name} {label}").map_err(failed)?;
        }
    }
    output.flush().map_err(failed)
}

fn failed(source: std::io::Error) -> DataError {
    DataError::Io { path: PathBuf::new(), source }
}

fn query_name(dataset: &RankingDataset, q: usize) -> Result<&str, DataError> {
    let name = &dataset.query_ids[q];
    check_name("query identifier", name).map(|()| name.as_str())
}

/// Returns the names of the documents of a query.
pub(super) fn document_names(dataset: &RankingDataset, q: usize) -> Vec<Cow<'_, str>> {
    let ids = dataset.document_ids.get(dataset.range(q)).unwrap_or_default();
    let mut seen = HashSet::new();
    if !ids.is_empty() && ids.iter().all(|id| is_name(id) && seen.insert(id)) {
        return ids.iter().map(|id| Cow::from(id.as_str())).collect();
    }
    (1..=dataset.range(q).len()).map(|number| Cow::from(number.to_string())).collect()
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(char::is_whitespace)
}

fn check_name(what: &str, name: &str) -> Result<(), DataError> {
    if is_name(name) {
        return Ok(());
    }
    Err(DataError::Inconsistent {
        what: what.to_owned(),
        found: format!("{name:?}"),
        expected: "a name without blanks".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl Fn(&mut Vec<u8>) -> Result<(), DataError>) -> String {
        let mut text = Vec::new();
        write(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn scores_and_labels_are_written() {
        let data = RankingDataset::from_groups(vec![0.0; 3], 1, vec![0.0, 2.0, 1.0], &[2, 1]).unwrap();
        let run = text(|out| write_run(out, &data, &[0.5, 2.0, -1.0], "ours"));
        assert_eq!(run, "1 Q0 2 1 2 ours\n1 Q0 1 2 0.5 ours\n2 Q0 1 1 -1 ours\n");
        assert_eq!(text(|out| write_qrels(out, &data)), "1 0 1 0\n1 0 2 2\n2 0 1 1\n");
    }

    #[test]
    fn documents_without_usable_identifiers_are_numbered() {
        let mut data = RankingDataset::from_groups(vec![0.0; 8], 1, vec![0.0; 8], &[2, 2, 2, 2]).unwrap();
        data.document_ids = ["x", "y", "a b", "c", "x", "x", "", "z"].map(String::from).to_vec();
        assert_eq!(
            text(|out| write_qrels(out, &data)),
            "1 0 x 0\n1 0 y 0\n2 0 1 0\n2 0 2 0\n3 0 1 0\n3 0 2 0\n4 0 1 0\n4 0 2 0\n"
        );
    }

    #[test]
    fn data_that_cannot_be_written_are_refused() {
        let mut data = RankingDataset::from_groups(vec![0.0; 2], 1, vec![0.0, 0.5], &[2]).unwrap();
        let message = |result: Result<(), DataError>| result.unwrap_err().to_string();
        assert!(message(write_run(&mut Vec::new(), &data, &[0.0], "t")).contains("number of scores is 1, expected 2"));
        assert!(message(write_run(&mut Vec::new(), &data, &[0.0; 2], "my run")).contains("without blanks"));
        assert!(message(write_qrels(&mut Vec::new(), &data)).contains("label 0.5"));
        data.query_ids = vec!["a b".to_owned()];
        assert!(message(write_run(&mut Vec::new(), &data, &[0.0; 2], "t")).contains("query identifier"));
    }
}
