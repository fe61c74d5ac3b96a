//! Converts data into a table or into text.

use std::io::Write;
use std::path::Path;

use burn_rank::data::columnar::Format;
use burn_rank::workbench::text::{counted, harmless, is_standard_stream};
use burn_rank::workbench::{FileKind, separator_of_name};

use super::ConvertArgs;
use super::ranker::names;
use crate::cli::{Failure, Result, files, input, to_io};
use crate::experiment::RANKER;

impl ConvertArgs {
    /// Writes data as a table in `format`, or as LETOR text if `format` is `None`.
    pub(super) fn convert_data(&self, format: Option<Format>, out: &mut dyn Write) -> Result {
        let place = self.out.display();
        input::not_over("convert", &self.out, &[&self.from], "is read")?;
        let (from, extension) = (self.from.display(), self.out.extension());
        if !is_standard_stream(&self.from) && is_ranker(&self.from) {
            let found = "found a name for a table";
            return Err(Failure::input(format!("{place}: {found}, expected one for the ranker {from}: {}", names())));
        }
        let is_table = FileKind::of_file(&self.from)
            .is_none_or(|kind| !matches!(kind, FileKind::Letor | FileKind::Gzip))
            || separator_of_name(&self.from).is_some();
        let names = if is_table { ".arrow, .parquet or .txt" } else { ".arrow or .parquet" };
        if format.is_none() && !(is_table && extension.is_some_and(|extension| extension == "txt")) {
            let what = if is_table { "the table" } else { "the text" };
            return Err(Failure::input(format!("{place}: expected a name that ends in {names} for {what} {from}")));
        }
        let data = self.reading.read(std::slice::from_ref(&self.from), None)?;
        if format.is_none() && !(data.query_weights.is_empty() && data.document_weights.is_empty()) {
            let expected = "a name that ends in .arrow or .parquet: text has its weights in files next to it";
            return Err(Failure::input(format!("{place}: expected {expected}")));
        }
        let counts = [(data.queries(), "query"), (data.documents(), "document"), (data.feature_count, "feature")];
        let shape = counts.map(|(count, what)| counted(count, what)).join(", ");
        files::write(&self.out, |mut file| {
            let written = match format {
                Some(format) => data.write_columnar(format, file),
                None => data.write_letor(&mut file),
            };
            written.map_err(to_io)
        })?;
        let bytes = self.out.metadata().map_or(0, |about| about.len());
        let format = format.map_or_else(|| "LETOR text".to_owned(), |format| format.to_string());
        let place = place.to_string();
        Ok(writeln!(out, "{}: {format}, {shape}, {bytes} bytes", harmless(&place))?)
    }
}

/// Returns whether a file holds data, judging by its name or else by its first bytes.
pub(super) fn is_data(path: &Path) -> bool {
    let begins = || FileKind::of_file(path).is_some_and(FileKind::is_data);
    let is_named = || Format::from_path(path).is_some() || separator_of_name(path).is_some();
    !is_standard_stream(path) && (is_named() || begins())
}

/// Returns whether a file or folder holds a ranker.
fn is_ranker(path: &Path) -> bool {
    path.join(RANKER).is_file() || FileKind::of_file(path).is_some_and(FileKind::is_ranker)
}
