//! Data as a table or as text.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use super::super::predict::to_io;
use super::super::{Context, Failure, input};
use super::ConvertArgs;
use crate::atomic_file;
use crate::data::RankingDataset;
use crate::data::columnar::Format;
use crate::text::is_standard_stream;

impl ConvertArgs {
    /// Writes data as a table of a format, or as text without one.
    pub(super) fn convert_data(&self, format: Option<Format>, out: &mut dyn Write) -> Result<(), Failure> {
        let place = self.out.display();
        input::not_over("convert", &self.out, &[&self.from], "is read")?;
        let is_text = self.out.extension().is_some_and(|extension| extension == "txt");
        if format.is_none() && !is_text {
            return Err(Failure::input(format!("{place}: expected a name that ends in .arrow, .parquet or .txt")));
        }
        let data = self.reading.read(std::slice::from_ref(&self.from), None)?;
        if format.is_none() && !(data.query_weights.is_empty() && data.document_weights.is_empty()) {
            let expected = "a name that ends in .arrow or .parquet: text has its weights in files beside it";
            return Err(Failure::input(format!("{place}: expected {expected}")));
        }
        let shape =
            format!("{} queries, {} documents, {} features", data.queries(), data.documents(), data.feature_count);
        write_data(data, format, &self.out)?;
        let bytes = self.out.metadata().map_or(0, |about| about.len());
        let format = format.map_or_else(|| "LETOR text".to_owned(), |format| format.to_string());
        writeln!(out, "{place}: {format}, {shape}, {bytes} bytes")?;
        Ok(())
    }
}

/// Writes data as a table of a format, or as text without one; the file is whole or as it was.
pub(in crate::cli) fn write_data(data: RankingDataset, format: Option<Format>, path: &Path) -> Result<(), Failure> {
    let written = atomic_file::write_with(path, |file| match format {
        Some(format) => data.write_columnar(format, file).map_err(to_io),
        None => {
            let mut file = BufWriter::new(file);
            data.write_letor(&mut file).map_err(to_io)?;
            file.flush()
        }
    });
    let failure = |error: io::Error| match error.kind() {
        io::ErrorKind::InvalidData => Failure::Input(error.into()),
        _ => Failure::unwritable(error),
    };
    written.map_err(failure).context(format!("{}: cannot write", path.display()))
}

/// Returns whether a file is named as a table is, or begins as one does.
pub(super) fn is_table(path: &Path) -> bool {
    let begins = || {
        let mut beginning = [0; 4];
        path.is_file()
            && File::open(path).and_then(|mut file| file.read_exact(&mut beginning)).is_ok()
            && matches!(&beginning, b"ARRO" | b"PAR1")
    };
    !is_standard_stream(path) && (Format::from_path(path).is_some() || begins())
}
