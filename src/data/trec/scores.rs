//! Reads scores of a dataset's documents from a run.

use std::collections::HashMap;
use std::path::Path;

use super::run::{RunQuery, read_run_from};
use super::write::document_names;
use crate::data::dataset::RankingDataset;
use crate::data::error::DataError;
use crate::data::input::Input;

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
    let of_query = |run: RunQuery| -> Result<Vec<(usize, f32)>, DataError> {
        let Some(&query) = queries.get(run.query) else { return Ok(Vec::new()) };
        let names = document_names(dataset, query);
        let documents: HashMap<&str, usize> = names.iter().map(AsRef::as_ref).zip(dataset.range(query)).collect();
        let place = |id: &str| {
            documents.get(id).copied().ok_or_else(|| DataError::Inconsistent {
                what: format!("a document of query `{}` in the run", run.query),
                found: format!("`{id}`"),
                expected: "a document of that query in the data".to_owned(),
            })
        };
        run.documents.iter().map(|document| Ok((place(document.id)?, document.score))).collect()
    };
    let mut scores = vec![f32::NEG_INFINITY; dataset.documents()];
    for (document, score) in read_run_from(input, of_query)?.queries.into_iter().flatten() {
        scores[document] = score;
    }
    Ok(scores)
}

#[cfg(test)]
mod tests {
    use super::super::write_run;
    use super::*;

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
