//! JSON lines, a document a line: `{"query_id", "doc_id", "query", "text", "relevance", "score"}`.

use std::io::{self, Write};
use std::path::Path;

use burn_rank::json::{Value, from_value};
use burn_rank::workbench::json::json;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::{Lists, TextDocument, TextList, each_line};
use crate::error::TextError;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(deserialize_with = "identifier")]
    query_id: String,
    #[serde(deserialize_with = "identifier")]
    doc_id: String,
    query: String,
    text: String,
    #[serde(default)]
    relevance: f32,
    #[serde(default)]
    score: Option<f32>,
}

/// An identifier may be a number.
pub(super) fn identifier<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) if !text.is_empty() => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(D::Error::custom("expected a string that is not empty, or a number")),
    }
}

/// Decodes a line of JSON.
pub(super) fn decoded<T: serde::de::DeserializeOwned>(path: &Path, line: usize, text: &str) -> Result<T, TextError> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| TextError::line(path, line, format!("column {}: found no JSON: {error}", error.column())))?;
    from_value(value).map_err(|refusal| TextError::line(path, line, refusal))
}

/// Reads a file, which may be compressed by gzip.
///
/// # Errors
/// Returns an error with file and line.
pub fn read_lines(path: &Path, lists: &mut Lists) -> Result<(), TextError> {
    let mut count = 0;
    each_line(path, |number, line| {
        let Line { query_id, doc_id, query, text, relevance, score } = decoded(path, number, line)?;
        if !(relevance.is_finite() && relevance >= 0.0) {
            return Err(TextError::line(
                path,
                number,
                format!("relevance = {relevance}: expected a number of at least 0"),
            ));
        }
        if let Some(score) = score.filter(|score| !score.is_finite()) {
            return Err(TextError::line(path, number, format!("score = {score}: expected a finite number")));
        }
        count += 1;
        lists.add(path, Some(number), (&query_id, &query), TextDocument { id: doc_id, text, relevance, score })
    })?;
    match count {
        0 => Err(TextError::model(path, "found no document, expected a line of JSON for each")),
        _ => Ok(()),
    }
}

/// Writes lists as [`read_lines`] reads them.
///
/// # Errors
/// Returns the error of the output.
pub fn write_lines(lists: &[TextList], output: &mut dyn Write) -> io::Result<()> {
    for list in lists {
        for document in &list.documents {
            let mut line = json!({
                "query_id": list.id, "doc_id": document.id, "query": list.query, "text": document.text,
                "relevance": document.relevance,
            });
            if let Some(score) = document.score {
                line["score"] = json!(score);
            }
            writeln!(output, "{line}")?;
        }
    }
    Ok(())
}
