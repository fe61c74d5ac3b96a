//! Reads Arrow's IPC file format, in which a footer states where the batches are. Record batches use the bytes of the
//! file without copying them.
//!
//! The decoder of the crate `arrow-ipc` trusts offsets and lengths, so this module first compares them with the file.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, Message, MessageHeader, RecordBatch as Header, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, Schema};
use bytes::Bytes;

/// A file with a known schema whose rows are not decoded yet.
pub(super) struct Table {
    pub(super) schema: Arc<Schema>,
    /// The number of rows according to the file's metadata.
    pub(super) rows: usize,
    /// The number of bytes that compressed buffers or columns need once they are decompressed.
    pub(super) decompressed: u64,
    /// Decodes the columns with the given indices, in ascending order, part by part.
    pub(super) decode: Box<dyn FnOnce(Vec<usize>) -> Result<Batches, ArrowError>>,
}

pub(super) type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>;

/// The number of bytes after the footer: four for its length, and six for `ARROW1`.
const TRAILER: usize = 10;

/// Reads the footer of an Arrow file, and checks all sizes against the size of the file.
///
/// # Errors
/// Returns [`ArrowError::NotYetImplemented`] if the file is intact but includes columns that cannot be read.
pub(super) fn open(bytes: Bytes) -> Result<Table, ArrowError> {
    let bytes = Buffer::from(bytes);
    let footer_end = bytes.len().checked_sub(TRAILER).ok_or_else(|| damaged("it is too short"))?;
    let trailer: [u8; TRAILER] = bytes[footer_end..].try_into().map_err(|_| damaged("it is too short"))?;
    let length =
        read_footer_length(trailer).map_err(|_| damaged("it does not end with `ARROW1`: it may be cut off"))?;
    let footer_start = footer_end.checked_sub(length).ok_or_else(|| damaged("its footer is longer than the file"))?;
    let footer = root_as_footer(&bytes[footer_start..footer_end]).map_err(|error| damaged(error.to_string()))?;
    let schema = footer.schema().ok_or_else(|| damaged("its footer has no schema"))?;
    if !schema.endianness().equals_to_target_endianness() {
        return Err(ArrowError::NotYetImplemented("numbers in the byte order of another processor".to_owned()));
    }
    let unread = |error| ArrowError::NotYetImplemented(type_in_words(error));
    let schema = Arc::new(try_fb_to_schema(schema).map_err(unread)?);
    let mut decoder = FileDecoder::new(schema.clone(), footer.version());
    let mut checked = Checked { bytes: &bytes, rows: 0, decompressed: 0 };
    let dictionaries: Vec<Block> = footer.dictionaries().iter().flatten().copied().collect();
    dictionaries.iter().try_for_each(|block| checked.check(block, true)).map_err(damaged)?;
    let batches: Vec<Block> = footer.recordBatches().iter().flatten().copied().collect();
    checked.rows = 0;
    batches.iter().try_for_each(|block| checked.check(block, false)).map_err(damaged)?;
    let Checked { rows, decompressed, .. } = checked;
    // Dictionaries are decoded only after the decompressed size was checked.
    let decode = move |columns: Vec<usize>| -> Result<Batches, ArrowError> {
        for block in &dictionaries {
            decoder.read_dictionary(block, &of_block(&bytes, block))?;
        }
        let decoder = decoder.with_projection(columns);
        let batch = move |block| decoder.read_record_batch(&block, &of_block(&bytes, &block)).transpose();
        Ok(Box::new(batches.into_iter().filter_map(batch)))
    };
    Ok(Table { schema, rows, decompressed, decode: Box::new(decode) })
}

/// Returns the error for a damaged file.
fn damaged(reason: impl Into<String>) -> ArrowError {
    ArrowError::IpcError(reason.into())
}

/// Returns, in words, the type of a column that the decoder does not know.
fn type_in_words(error: ArrowError) -> String {
    match error {
        ArrowError::ParseError(words) | ArrowError::NotYetImplemented(words) => format!("a type of column ({words})"),
        error => format!("a type of column ({error})"),
    }
}

/// Returns the bytes of a checked block, which holds a message and its body.
fn of_block(bytes: &Buffer, block: &Block) -> Buffer {
    bytes.slice_with_length(block.offset() as usize, block.metaDataLength() as usize + block.bodyLength() as usize)
}

/// The numbers of rows and of decompressed bytes, summed over the messages checked so far.
struct Checked<'a> {
    bytes: &'a [u8],
    rows: usize,
    decompressed: u64,
}

impl Checked<'_> {
    /// Rejects a message whose position, buffers or lengths do not fit into the file.
    fn check(&mut self, block: &Block, is_dictionary: bool) -> Result<(), String> {
        let size = |value: i64| usize::try_from(value).map_err(|_| "a size in its footer is negative");
        let (start, header) = (size(block.offset())?, size(block.metaDataLength().into())?);
        let body_start = start.checked_add(header).ok_or("a batch lies beyond its end")?;
        let end = body_start.checked_add(size(block.bodyLength())?).ok_or("a batch lies beyond its end")?;
        let body = self.bytes.get(body_start..end).ok_or("a batch lies beyond its end: it may be cut off")?;
        let message = message(&self.bytes[start..body_start])?;
        let header = match (message.header_type(), is_dictionary) {
            (MessageHeader::RecordBatch, false) => message.header_as_record_batch(),
            (MessageHeader::DictionaryBatch, true) => {
                message.header_as_dictionary_batch().and_then(|batch| batch.data())
            }
            _ => None,
        };
        self.check_batch(header.ok_or("a message does not have the kind that its footer says")?, body)
    }

    fn check_batch(&mut self, batch: Header, body: &[u8]) -> Result<(), String> {
        let is_compressed = batch.compression().is_some();
        let mut bytes = 0u64;
        for buffer in batch.buffers().iter().flatten() {
            let place = |value: i64| usize::try_from(value).ok();
            let range = place(buffer.offset()).zip(place(buffer.length()));
            let range = range.and_then(|(start, length)| Some(start..start.checked_add(length)?));
            let buffer = range.and_then(|range| body.get(range)).ok_or("a buffer lies beyond its batch")?;
            let size = match (is_compressed, buffer.split_first_chunk::<8>()) {
                (true, Some((prefix, rest))) => match i64::from_le_bytes(*prefix) {
                    -1 => rest.len() as u64,
                    size => u64::try_from(size).map_err(|_| "the size of a buffer is negative")?,
                },
                (true, None) if !buffer.is_empty() => return Err("a compressed buffer has no size".to_owned()),
                _ => buffer.len() as u64,
            };
            bytes = bytes.saturating_add(size);
        }
        if is_compressed {
            self.decompressed = self.decompressed.saturating_add(bytes);
        }
        // A value of a column takes at least a bit.
        let most = bytes.saturating_mul(8);
        let fits = |count: i64| u64::try_from(count).is_ok_and(|count| count <= most);
        let nodes = batch.nodes();
        let mut nodes = nodes.iter().flatten();
        if !fits(batch.length())
            || !nodes.all(|node| fits(node.length()) && (0..=node.length()).contains(&node.null_count()))
        {
            return Err("a batch states more rows than it has bytes for".to_owned());
        }
        self.rows = self.rows.saturating_add(batch.length() as usize);
        Ok(())
    }
}

/// Parses the message in the header of a block, after the bytes that hold the message's length.
fn message(header: &[u8]) -> Result<Message<'_>, String> {
    let skipped = if header.starts_with(&[0xff; 4]) { 8 } else { 4 };
    let message = header.get(skipped..).ok_or("a message is too short")?;
    root_as_message(message).map_err(|error| error.to_string())
}
