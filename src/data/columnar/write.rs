//! Writes datasets as Arrow and Parquet files.

use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, Int64Array, LargeStringArray, RecordBatch};
use arrow_buffer::ScalarBuffer;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::Format;
use super::schema::NAMES;
use crate::data::dataset::RankingDataset;
use crate::data::error::{DataError, inconsistent};

/// The largest number of rows that are given to the writer of a Parquet file at a time.
const ROWS: usize = 1 << 16;

/// The largest number of cells (documents x features) that the Parquet writer receives at a time; they take 64 MiB.
const CELLS: usize = 1 << 24;

/// The number of bytes that the writer of a Parquet file may hold before it ends a row group.
const GROUP: usize = 256 << 20;

impl RankingDataset {
    /// Writes a table that [`data::read`](crate::data::read) reads back as the same dataset, bit for bit. Weights, a
    /// teacher and positions, if any, go to the columns `weight`, `query_weight`, `teacher` and `position`. A missing
    /// value is written as NaN. The names of the features go to the metadata of the column `features`.
    ///
    /// An Arrow file has one batch, which uses the dataset's own memory. A Parquet file is compressed with Zstandard.
    ///
    /// # Errors
    /// Returns an error if [`RankingDataset::check`] does. Returns [`DataError::Inconsistent`] if there are no
    /// documents, if a list cannot hold that many features, or if data for a Parquet file have no features. Returns
    /// [`DataError::Io`], with an empty path, if a write fails.
    pub fn write_columnar(self, format: Format, output: &mut dyn Write) -> Result<(), DataError> {
        TableWriter::create(self, format, output)?.finish()
    }

    /// Returns a batch of the documents in `rows`, whose features are given in `features`.
    fn batch(&self, rows: Range<usize>, features: ScalarBuffer<f32>) -> Result<RecordBatch, DataError> {
        let query_of = |row: usize| self.offsets.partition_point(|&offset| offset <= row) - 1;
        let queries = query_of(rows.start)..query_of(rows.end - 1) + 1;
        let rows_of = |query: usize| self.range(query).start.max(rows.start)..self.range(query).end.min(rows.end);
        let ids = queries.clone().flat_map(|query| rows_of(query).map(move |_| self.query_ids[query].as_str()));
        let numbers = |values: &[f32]| -> ArrayRef { Arc::new(Float32Array::from(values[rows.clone()].to_vec())) };
        let names = |names: LargeStringArray| -> ArrayRef { Arc::new(names) };
        // Each column has a name, and a flag that tells whether it may have nulls.
        let mut columns = vec![
            ("label", numbers(&self.labels), false),
            ("query", names(LargeStringArray::from_iter_values(ids)), false),
        ];
        if !self.document_ids.is_empty() {
            let id = |id: &String| (!id.is_empty()).then(|| id.clone());
            columns.push(("document", names(self.document_ids[rows.clone()].iter().map(id).collect()), true));
        }
        if !self.document_weights.is_empty() {
            columns.push(("weight", numbers(&self.document_weights), false));
        }
        if !self.query_weights.is_empty() {
            let weights = queries.flat_map(|query| rows_of(query).map(move |_| self.query_weights[query]));
            columns.push(("query_weight", Arc::new(Float32Array::from_iter_values(weights)), false));
        }
        if !self.teacher.is_empty() {
            let scores = self.teacher[rows.clone()].iter().map(|&score| (!score.is_nan()).then_some(score));
            columns.push(("teacher", Arc::new(scores.collect::<Float32Array>()), true));
        }
        if !self.positions.is_empty() {
            let positions = self.positions.of_each().skip(rows.start).take(rows.len());
            columns.push(("position", names(LargeStringArray::from_iter_values(positions)), false));
        }
        let width = i32::try_from(self.feature_count)
            .map_err(|_| inconsistent("number of features", self.feature_count, "at most 2^31 - 1"))?;
        let item = Arc::new(Field::new("item", DataType::Float32, false));
        let features = Arc::new(Float32Array::new(features, None));
        let features = FixedSizeListArray::try_new_with_length(item, width, features, None, rows.len());
        columns.push(("features", Arc::new(features.map_err(failed)?), false));
        let field = |(name, column, has_nulls): &(&str, ArrayRef, bool)| {
            Field::new(*name, column.data_type().clone(), *has_nulls)
        };
        let mut fields: Vec<Field> = columns.iter().map(field).collect();
        if let Some(features) = fields.last_mut().filter(|_| !self.feature_names.is_empty()) {
            let names = serde_json::Value::from(self.feature_names.clone());
            features.set_metadata(HashMap::from([(NAMES.to_owned(), names.to_string())]));
        }
        let columns = columns.into_iter().map(|(_, column, _)| column).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(failed)
    }

    /// Returns a batch of the documents in `rows`, with a copy of their features.
    fn copied(&self, rows: Range<usize>) -> Result<RecordBatch, DataError> {
        let mut features = Vec::with_capacity(rows.len() * self.feature_count);
        self.features.append_to(self.feature_count, rows.clone(), &mut features);
        self.batch(rows, features.into())
    }
}

/// Writes a table part by part, in the chosen file format.
pub(in crate::data) enum TableWriter<'a> {
    Arrow(FileWriter<&'a mut dyn Write>),
    Parquet { writer: ArrowWriter<Written>, written: Written, output: &'a mut dyn Write },
}

impl<'a> TableWriter<'a> {
    /// Begins a table with its first rows, which determine the columns.
    ///
    /// # Errors
    /// Returns the same errors as [`RankingDataset::write_columnar`].
    pub fn create(data: RankingDataset, format: Format, output: &'a mut dyn Write) -> Result<Self, DataError> {
        data.check()?;
        if data.documents() == 0 {
            return Err(inconsistent("number of documents", 0, "at least 1 in a table"));
        }
        if format == Format::Parquet && data.feature_count == 0 {
            return Err(inconsistent("number of features", 0, "at least 1 in a Parquet file"));
        }
        let level = ZstdLevel::try_new(1).map_err(failed)?;
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
        let mut table = Self::of(&data.copied(0..1)?, format, Some(properties), output)?;
        table.write(data)?;
        Ok(table)
    }

    /// Begins a table with the columns of a batch.
    fn of(
        columns: &RecordBatch,
        format: Format,
        properties: Option<WriterProperties>,
        output: &'a mut dyn Write,
    ) -> Result<Self, DataError> {
        if format == Format::Arrow {
            return FileWriter::try_new(output, columns.schema_ref()).map(Self::Arrow).map_err(failed);
        }
        let written = Written::default();
        let writer = ArrowWriter::try_new(written.clone(), columns.schema(), properties).map_err(failed)?;
        Ok(Self::Parquet { writer, written, output })
    }

    /// Appends rows, which must have the columns of the first rows.
    ///
    /// # Errors
    /// Returns the same errors as [`RankingDataset::write_columnar`].
    pub fn write(&mut self, mut data: RankingDataset) -> Result<(), DataError> {
        let documents = data.documents();
        if let Self::Arrow(_) = self {
            let features = std::mem::take(&mut data.features).into();
            return self.append(&data.batch(0..documents, features)?);
        }
        let at_once = (CELLS / data.feature_count).clamp(1, ROWS);
        let mut starts = (0..documents).step_by(at_once);
        starts.try_for_each(|start| self.append(&data.copied(start..documents.min(start + at_once))?))
    }

    fn append(&mut self, batch: &RecordBatch) -> Result<(), DataError> {
        match self {
            Self::Arrow(writer) => writer.write(batch).map_err(failed),
            Self::Parquet { writer, written, output } => {
                writer.write(batch).map_err(failed)?;
                if writer.in_progress_size() > GROUP {
                    writer.flush().map_err(failed)?;
                }
                written.pass_on(*output)
            }
        }
    }

    /// Finishes the table by writing its end, such as the footer of an Arrow file.
    ///
    /// # Errors
    /// Returns [`DataError::Io`], with an empty path, if a write fails.
    pub fn finish(self) -> Result<(), DataError> {
        match self {
            Self::Arrow(mut writer) => writer.finish().map_err(failed),
            Self::Parquet { writer, written, output } => {
                writer.close().map_err(failed)?;
                written.pass_on(output)
            }
        }
    }
}

/// One row of a table of scores.
#[derive(Debug, Clone, Copy)]
pub struct ScoreRow<'a> {
    /// The identifier of the query.
    pub query: &'a str,
    /// The identifier of the document; empty if it has none.
    pub document: &'a str,
    /// The row of the document in the data, from 1.
    pub row: usize,
    /// The fold in whose test part the query is.
    pub fold: usize,
    /// The score.
    pub score: f32,
}

/// Writes a table of scores with the columns `query`, `document`, `row`, `fold` and `score`. `format` is `arrow` or
/// `parquet`.
///
/// # Errors
/// Returns [`DataError::Io`], with an empty path, if a write fails.
pub fn write_scores_as(format: &str, rows: &[ScoreRow], output: &mut dyn Write) -> Result<(), DataError> {
    let documents = rows.iter().map(|row| (!row.document.is_empty()).then_some(row.document));
    let numbers = |of: fn(&ScoreRow) -> usize| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| of(row) as i64)))
    };
    let queries: ArrayRef = Arc::new(LargeStringArray::from_iter_values(rows.iter().map(|row| row.query)));
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("query", queries, false),
        ("document", Arc::new(documents.collect::<LargeStringArray>()), true),
        ("row", numbers(|row| row.row), false),
        ("fold", numbers(|row| row.fold), false),
        ("score", Arc::new(Float32Array::from_iter_values(rows.iter().map(|row| row.score))), false),
    ]);
    let batch = batch.map_err(failed)?;
    let format = if format == "arrow" { Format::Arrow } else { Format::Parquet };
    let mut table = TableWriter::of(&batch, format, None, output)?;
    table.append(&batch)?;
    table.finish()
}

/// Bytes that the Parquet writer has produced but that have not yet been passed to the output. This buffer stands in
/// for the output, because the Parquet writer needs an output that can move to another thread.
#[derive(Clone, Default)]
pub(in crate::data) struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    fn pass_on(&self, output: &mut dyn Write) -> Result<(), DataError> {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        output.write_all(&bytes).map_err(DataError::of_output)
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the error of a failed write, or the output's own error if the output caused it.
fn failed(error: impl Into<ArrowError>) -> DataError {
    DataError::of_output(match error.into() {
        ArrowError::IoError(_, source) => source,
        other => io::Error::other(other),
    })
}
