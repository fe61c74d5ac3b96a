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
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::Format;
use super::schema::NAMES;
use crate::data::dataset::RankingDataset;
use crate::data::dataset::inconsistent;
use crate::data::error::DataError;

/// The largest number of rows that are given to the writer of a Parquet file at a time.
const ROWS: usize = 1 << 16;

/// The largest number of cells (documents x features) that the Parquet writer receives at a time; they take 64 MiB.
const CELLS: usize = 1 << 24;

/// The number of bytes that the writer of a Parquet file may hold before it ends a row group.
const GROUP: usize = 256 << 20;

impl RankingDataset {
    /// Writes a table that [`data::read`](crate::data::read) reads back as the same dataset, bit for bit. Weights, a
    /// teacher and positions, if any, go to the columns `weight`, `query_weight`, `teacher` and `position`. A missing value is written as NaN. The
    /// names of the features go to the metadata of the column `features`.
    ///
    /// An Arrow file has one batch, which uses the dataset's own memory. A Parquet file is compressed with Zstandard.
    ///
    /// # Errors
    /// Returns [`DataError::Inconsistent`] if [`RankingDataset::check`] fails, if a list cannot hold that many
    /// features, or if data for a Parquet file have no features. Returns [`DataError::Io`], with an empty path, if a
    /// write fails.
    pub fn write_columnar(self, format: Format, output: &mut dyn Write) -> Result<(), DataError> {
        TableWriter::create(self, format, output)?.finish()
    }
    fn schema(&self, width: i32) -> Schema {
        let item = Arc::new(Field::new("item", DataType::Float32, false));
        let mut fields =
            vec![Field::new("label", DataType::Float32, false), Field::new("query", DataType::LargeUtf8, false)];
        if !self.document_ids.is_empty() {
            fields.push(Field::new("document", DataType::LargeUtf8, true));
        }
        if !self.document_weights.is_empty() {
            fields.push(Field::new("weight", DataType::Float32, false));
        }
        if !self.query_weights.is_empty() {
            fields.push(Field::new("query_weight", DataType::Float32, false));
        }
        if !self.teacher.is_empty() {
            fields.push(Field::new("teacher", DataType::Float32, true));
        }
        if !self.positions.is_empty() {
            fields.push(Field::new("position", DataType::LargeUtf8, false));
        }
        let mut features = Field::new("features", DataType::FixedSizeList(item, width), false);
        if !self.feature_names.is_empty() {
            let names = serde_json::Value::from(self.feature_names.clone());
            features = features.with_metadata(HashMap::from([(NAMES.to_owned(), names.to_string())]));
        }
        fields.push(features);
        Schema::new(fields)
    }

    /// Builds a record batch for the documents in `rows`, whose features are given in `features`.
    fn batch(
        &self,
        schema: &Arc<Schema>,
        width: i32,
        rows: Range<usize>,
        features: ScalarBuffer<f32>,
    ) -> Result<RecordBatch, ArrowError> {
        let query_of = |row: usize| self.offsets.partition_point(|&offset| offset <= row) - 1;
        let queries = query_of(rows.start)..query_of(rows.end - 1) + 1;
        let rows_of = |query: usize| self.range(query).start.max(rows.start)..self.range(query).end.min(rows.end);
        let ids = queries.clone().flat_map(|query| rows_of(query).map(move |_| self.query_ids[query].as_str()));
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(Float32Array::from(self.labels[rows.clone()].to_vec())),
            Arc::new(LargeStringArray::from_iter_values(ids)),
        ];
        if !self.document_ids.is_empty() {
            let id = |id: &String| (!id.is_empty()).then(|| id.clone());
            columns.push(Arc::new(self.document_ids[rows.clone()].iter().map(id).collect::<LargeStringArray>()));
        }
        if !self.document_weights.is_empty() {
            columns.push(Arc::new(Float32Array::from(self.document_weights[rows.clone()].to_vec())));
        }
        if !self.query_weights.is_empty() {
            let weights = queries.flat_map(|query| rows_of(query).map(move |_| self.query_weights[query]));
            columns.push(Arc::new(Float32Array::from_iter_values(weights)));
        }
        if !self.teacher.is_empty() {
            let scores = self.teacher[rows.clone()].iter().map(|&score| (!score.is_nan()).then_some(score));
            columns.push(Arc::new(scores.collect::<Float32Array>()));
        }
        if !self.positions.is_empty() {
            let positions = self.positions.of_each().skip(rows.start).take(rows.len());
            columns.push(Arc::new(LargeStringArray::from_iter_values(positions)));
        }
        let item = Arc::new(Field::new("item", DataType::Float32, false));
        let features = Arc::new(Float32Array::new(features, None));
        columns.push(Arc::new(FixedSizeListArray::try_new_with_length(item, width, features, None, rows.len())?));
        RecordBatch::try_new(schema.clone(), columns)
    }
}

/// Writes a table part by part.
pub(in crate::data) struct TableWriter<'a> {
    schema: Arc<Schema>,
    width: i32,
    writer: Writer<'a>,
}

/// The writer for the chosen file format.
enum Writer<'a> {
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
        if format == Format::Parquet && data.feature_count == 0 {
            return Err(inconsistent("number of features", 0, "at least 1 in a Parquet file"));
        }
        let width = i32::try_from(data.feature_count).ok();
        let width = width.ok_or_else(|| inconsistent("number of features", data.feature_count, "at most 2^31 - 1"))?;
        let schema = Arc::new(data.schema(width));
        let writer = match format {
            Format::Arrow => Writer::Arrow(FileWriter::try_new(output, &schema).map_err(failed)?),
            Format::Parquet => {
                let failed = |error: ParquetError| failed(error.into());
                let level = ZstdLevel::try_new(1).map_err(failed)?;
                let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
                let written = Written::default();
                let writer = ArrowWriter::try_new(written.clone(), schema.clone(), Some(properties)).map_err(failed)?;
                Writer::Parquet { writer, written, output }
            }
        };
        let mut table = Self { schema, width, writer };
        table.write(data)?;
        Ok(table)
    }

    /// Appends rows, which must have the columns of the first rows.
    ///
    /// # Errors
    /// Returns the same errors as [`RankingDataset::write_columnar`].
    pub fn write(&mut self, mut data: RankingDataset) -> Result<(), DataError> {
        let Self { schema, width, writer } = self;
        match writer {
            Writer::Arrow(writer) => {
                let features = std::mem::take(&mut data.features).into();
                let batch = data.batch(schema, *width, 0..data.documents(), features).map_err(failed)?;
                writer.write(&batch).map_err(failed)
            }
            Writer::Parquet { writer, written, output } => {
                let at_once = (CELLS / data.feature_count).clamp(1, ROWS);
                for start in (0..data.documents()).step_by(at_once) {
                    let rows = start..data.documents().min(start + at_once);
                    let mut features = Vec::with_capacity(rows.len() * data.feature_count);
                    data.features.append_to(data.feature_count, rows.clone(), &mut features);
                    let batch = data.batch(schema, *width, rows, features.into()).map_err(failed)?;
                    writer.write(&batch).map_err(|error| failed(error.into()))?;
                    if writer.in_progress_size() > GROUP {
                        writer.flush().map_err(|error| failed(error.into()))?;
                    }
                    written.pass_on(*output)?;
                }
                Ok(())
            }
        }
    }

    /// Finishes the table by writing its end, such as the footer of an Arrow file.
    ///
    /// # Errors
    /// Returns [`DataError::Io`], with an empty path, if a write fails.
    pub fn finish(self) -> Result<(), DataError> {
        match self.writer {
            Writer::Arrow(mut writer) => writer.finish().map_err(failed),
            Writer::Parquet { writer, written, output } => {
                writer.close().map_err(|error| failed(error.into()))?;
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
    let number = |name: &str| Field::new(name, DataType::Int64, false);
    let schema = Arc::new(Schema::new(vec![
        Field::new("query", DataType::LargeUtf8, false),
        Field::new("document", DataType::LargeUtf8, true),
        number("row"),
        number("fold"),
        Field::new("score", DataType::Float32, false),
    ]));
    let documents = rows.iter().map(|row| (!row.document.is_empty()).then_some(row.document));
    let numbers = |of: fn(&ScoreRow) -> usize| Int64Array::from_iter_values(rows.iter().map(|row| of(row) as i64));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(LargeStringArray::from_iter_values(rows.iter().map(|row| row.query))),
        Arc::new(documents.collect::<LargeStringArray>()),
        Arc::new(numbers(|row| row.row)),
        Arc::new(numbers(|row| row.fold)),
        Arc::new(Float32Array::from_iter_values(rows.iter().map(|row| row.score))),
    ];
    let batch = RecordBatch::try_new(schema.clone(), columns).map_err(failed)?;
    if format == "arrow" {
        let mut writer = FileWriter::try_new(output, &schema).map_err(failed)?;
        return writer.write(&batch).and_then(|()| writer.finish()).map_err(failed);
    }
    let of_parquet = |error: ParquetError| failed(error.into());
    let written = Written::default();
    let mut writer = ArrowWriter::try_new(written.clone(), schema, None).map_err(of_parquet)?;
    writer.write(&batch).map_err(of_parquet)?;
    writer.close().map_err(of_parquet)?;
    written.pass_on(output)
}

/// Bytes that the Parquet writer has produced but that have not yet been passed to the output. This buffer stands in
/// for the output, because the Parquet writer needs an output that can move to another thread.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    fn pass_on(&self, output: &mut dyn Write) -> Result<(), DataError> {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        output.write_all(&bytes).map_err(|source| DataError::Io { path: "".into(), source })
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
fn failed(error: ArrowError) -> DataError {
    let source = match error {
        ArrowError::IoError(_, source) => source,
        other => io::Error::other(other),
    };
    DataError::Io { path: "".into(), source }
}
