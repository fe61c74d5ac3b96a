//! Writes datasets as Arrow and Parquet files.

use std::io::{self, Write};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, LargeStringArray, RecordBatch};
use arrow_buffer::ScalarBuffer;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::Format;
use crate::data::dataset::inconsistent;
use crate::data::{DataError, RankingDataset};

/// Number of rows that are handed to the writer of a Parquet file at a time.
const ROWS: usize = 1 << 16;

impl RankingDataset {
    /// Writes a table that [`data::read`](crate::data::read) reads back as the same dataset, bit for bit, with weights in
    /// the columns `weight` and `query_weight` where there are any. A missing value is written as NaN.
    ///
    /// An Arrow file has one batch, of the dataset's own memory; a Parquet file is compressed by Zstandard.
    ///
    /// # Errors
    /// [`DataError::Inconsistent`] for what [`RankingDataset::check`] refuses, for more features than a list may have, and
    /// for data without features in a Parquet file; [`DataError::Io`], with an empty path, for a failed write.
    pub fn write_columnar(mut self, format: Format, output: &mut dyn Write) -> Result<(), DataError> {
        self.check()?;
        if format == Format::Parquet && self.feature_count == 0 {
            return Err(inconsistent("number of features", 0, "at least 1 in a Parquet file"));
        }
        let width = i32::try_from(self.feature_count).ok();
        let width = width.ok_or_else(|| inconsistent("number of features", self.feature_count, "at most 2^31 - 1"))?;
        let schema = Arc::new(self.schema(width));
        match format {
            Format::Arrow => {
                let features = std::mem::take(&mut self.features).into();
                let batch = self.batch(&schema, width, 0..self.documents(), features).map_err(failed)?;
                let mut writer = FileWriter::try_new(output, &schema).map_err(failed)?;
                writer.write(&batch).and_then(|()| writer.finish()).map_err(failed)
            }
            Format::Parquet => self.write_parquet(&schema, width, output),
        }
    }

    fn write_parquet(&self, schema: &Arc<Schema>, width: i32, output: &mut dyn Write) -> Result<(), DataError> {
        let failed = |error: ParquetError| failed(error.into());
        let level = ZstdLevel::try_new(1).map_err(failed)?;
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
        let written = Written::default();
        let mut writer = ArrowWriter::try_new(written.clone(), schema.clone(), Some(properties)).map_err(failed)?;
        for start in (0..self.documents()).step_by(ROWS) {
            let rows = start..self.documents().min(start + ROWS);
            let cells = rows.start * self.feature_count..rows.end * self.feature_count;
            let features = self.features[cells].to_vec().into();
            let batch = self.batch(schema, width, rows, features).map_err(self::failed)?;
            writer.write(&batch).map_err(failed)?;
            written.pass_on(output)?;
        }
        writer.close().map_err(failed)?;
        written.pass_on(output)
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
        fields.push(Field::new("features", DataType::FixedSizeList(item, width), false));
        Schema::new(fields)
    }

    /// The rows of some documents, whose features are given.
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
        let item = Arc::new(Field::new("item", DataType::Float32, false));
        let features = Arc::new(Float32Array::new(features, None));
        columns.push(Arc::new(FixedSizeListArray::try_new_with_length(item, width, features, None, rows.len())?));
        RecordBatch::try_new(schema.clone(), columns)
    }
}

/// What a writer has written and the output has not got yet: the writer needs an output that may go to another thread.
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

/// The error of a failed write: that of the output, if it was its.
fn failed(error: ArrowError) -> DataError {
    let source = match error {
        ArrowError::IoError(_, source) => source,
        other => io::Error::other(other),
    };
    DataError::Io { path: "".into(), source }
}
