//! Reads Parquet files, decoding one part at a time.

use std::sync::Arc;

use arrow_schema::ArrowError;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::Compression;
use parquet::column::page::{Page, PageReader};
use parquet::file::serialized_reader::SerializedPageReader;

use super::arrow::{Batches, Table};

/// The number of rows that are decoded at a time.
const ROWS: usize = 8192;

/// Reads the footer of a Parquet file. The Arrow types noted there may be ignored; Parquet has fewer types.
///
/// # Errors
/// Returns [`ArrowError::NotYetImplemented`] if the file is intact but holds unsupported content.
pub(super) fn open(bytes: Bytes, ignores_arrow: bool) -> Result<Table, ArrowError> {
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(ignores_arrow);
    let size = bytes.len() as u64;
    let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(bytes.clone(), options)?;
    let schema = builder.schema().clone();
    let metadata = builder.metadata();
    let rows = usize::try_from(metadata.file_metadata().num_rows())
        .map_err(|_| ArrowError::ParquetError("its number of rows is negative".to_owned()))?;
    let mut decompressed = 0u64;
    let mut rows_of_groups = 0usize;
    for group in metadata.row_groups() {
        let group_rows = usize::try_from(group.num_rows()).unwrap_or(usize::MAX);
        rows_of_groups = rows_of_groups.saturating_add(group_rows);
        for column in group.columns() {
            // A page of a dictionary, if there is one, comes first and counts.
            let pages = [Some(column.data_page_offset()), column.dictionary_page_offset().filter(|&at| at > 0)];
            let start = pages.into_iter().flatten().min().unwrap_or(0);
            let length = column.compressed_size();
            let end = u64::try_from(start).ok().zip(u64::try_from(length).ok());
            if end.is_none_or(|(start, length)| start.saturating_add(length) > size) {
                return Err(ArrowError::ParquetError("a column lies beyond its end".to_owned()));
            }
            if let Some(codec) = unread(column.compression()) {
                return Err(ArrowError::NotYetImplemented(format!("columns compressed by {codec}")));
            }
            let uncompressed = u64::try_from(column.uncompressed_size()).unwrap_or(u64::MAX);
            decompressed = decompressed.saturating_add(uncompressed);
        }
    }
    if rows != rows_of_groups {
        return Err(ArrowError::ParquetError(format!("it states {rows} rows and has {rows_of_groups}")));
    }
    let decode = move |columns: Vec<usize>| -> Result<Batches, ArrowError> {
        let mask = ProjectionMask::roots(builder.parquet_schema(), columns);
        check_dictionaries(&builder, &bytes, rows, &mask)?;
        Ok(Box::new(builder.with_projection(mask).with_batch_size(ROWS.min(rows)).build()?))
    };
    Ok(Table { schema, rows, decompressed, decode: Box::new(decode) })
}

/// Rejects a dictionary that claims more values than it has bytes, because the decoder would allocate memory for all of
/// them.
fn check_dictionaries(
    builder: &ParquetRecordBatchReaderBuilder<Bytes>,
    bytes: &Bytes,
    rows: usize,
    columns: &ProjectionMask,
) -> Result<(), ArrowError> {
    for group in builder.metadata().row_groups() {
        let decoded = group.columns().iter().enumerate().filter(|(leaf, _)| columns.leaf_included(*leaf));
        for (_, column) in decoded {
            let file = Arc::new(bytes.clone());
            let mut pages = SerializedPageReader::new(file, column, rows, None)?;
            while let Some(page) = pages.peek_next_page()? {
                if !page.is_dict {
                    pages.skip_next_page()?;
                } else if let Some(Page::DictionaryPage { buf, num_values, .. }) = pages.get_next_page()?
                    && num_values as usize > buf.len()
                {
                    let found = format!("a dictionary of {} bytes states {num_values} values", buf.len());
                    return Err(ArrowError::ParquetError(found));
                }
            }
        }
    }
    Ok(())
}

/// Returns the name of a codec that this crate does not read.
fn unread(codec: Compression) -> Option<&'static str> {
    match codec {
        Compression::BROTLI(_) => Some("Brotli"),
        Compression::LZO => Some("LZO"),
        _ => None,
    }
}
