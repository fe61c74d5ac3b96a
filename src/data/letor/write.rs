//! Writes datasets as LETOR text.

use std::io::Write;

use super::parse::document_id;
use crate::data::dataset::RankingDataset;
use crate::data::error::{DataError, inconsistent};

impl RankingDataset {
    /// Writes LETOR text that [`letor::read`](crate::data::letor::read) reads back as the same dataset, bit for bit.
    /// Every feature is written with the fewest digits that round to its value. Weights and positions are not
    /// written.
    ///
    /// # Errors
    /// Returns [`DataError::Inconsistent`] if LETOR text cannot hold an identifier, such as a query identifier with
    /// blanks or a document identifier with a line end. Returns [`DataError::Io`], with an empty path, if a write
    /// fails.
    pub fn write_letor(&self, output: &mut impl Write) -> Result<(), DataError> {
        let mut line = Vec::new();
        for q in 0..self.queries() {
            let query = &self.query_ids[q];
            if query.is_empty() || query.bytes().any(|byte| byte.is_ascii_whitespace() || byte == b'#') {
                return Err(inconsistent("query identifier", format!("{query:?}"), "text without blanks or `#`"));
            }
            for d in self.range(q) {
                line.clear();
                write!(line, "{} qid:{query}", self.labels[d]).map_err(DataError::of_output)?;
                for (index, value) in self.row(d).iter().enumerate() {
                    write!(line, " {}:{value}", index + 1).map_err(DataError::of_output)?;
                }
                if let Some(id) = self.document_ids.get(d).filter(|id| !id.is_empty()) {
                    write_id(&mut line, id)?;
                }
                line.push(b'\n');
                output.write_all(&line).map_err(DataError::of_output)?;
            }
        }
        Ok(())
    }

    /// Writes the position of each document, one per line, as they are read from `FILE.position`. Without positions,
    /// writes nothing.
    ///
    /// # Errors
    /// Returns [`DataError::Io`], with an empty path, if a write fails.
    pub fn write_positions(&self, output: &mut impl Write) -> Result<(), DataError> {
        for position in self.positions.of_each() {
            writeln!(output, "{position}").map_err(DataError::of_output)?;
        }
        Ok(())
    }

    /// Writes the weight of each document, one per line, as [`Weights::File`](crate::data::letor::Weights) reads them
    /// from `FILE.weight`. Without weights, each line is 1.
    ///
    /// # Errors
    /// Returns [`DataError::Io`], with an empty path, if a write fails.
    pub fn write_document_weights(&self, output: &mut impl Write) -> Result<(), DataError> {
        for document in 0..self.documents() {
            let weight = self.document_weights.get(document).copied().unwrap_or(1.0);
            writeln!(output, "{weight}").map_err(DataError::of_output)?;
        }
        Ok(())
    }
}

/// Writes a document identifier in a form that is read back unchanged.
fn write_id(line: &mut Vec<u8>, id: &str) -> Result<(), DataError> {
    let start = line.len() + 2;
    line.extend_from_slice(b" #docid = ");
    line.extend_from_slice(id.as_bytes());
    if document_id(&line[start..]) != id.as_bytes() {
        line.truncate(start);
        line.extend_from_slice(id.as_bytes());
    }
    if document_id(&line[start..]) != id.as_bytes() || id.contains('\n') {
        let expected =
            "one line without blanks at its ends that does not begin with `docid =`; tables hold every identifier";
        return Err(inconsistent("document identifier", format!("{id:?}"), expected));
    }
    Ok(())
}
