//! Blocks of whole lines from plain or gzip-compressed files.

use std::fs::File;
use std::io::{Chain, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use super::ReadOptions;
use crate::data::DataError;

/// Bytes of a block. Fixed, so that blocks do not depend on the number of threads.
pub(super) const BLOCK: usize = 2 << 20;

/// A compressed file may always grow to this size; beyond it, the ratio counts.
const UNSUSPICIOUS: u64 = 64 << 20;

/// Bytes of text that a byte of a compressed file counts for, at most, where memory is granted by the size of a text.
const COUNTED_RATIO: u64 = 4;

/// A file, cut into blocks of whole lines.
pub(crate) struct Source {
    path: PathBuf,
    reader: Box<dyn Read + Send>,
    /// What follows the last line end of the last block.
    rest: Vec<u8>,
    /// Bytes of text so far.
    bytes: u64,
    /// Size of the file, if it is compressed.
    compressed: Option<u64>,
    limit: Option<(u64, &'static str)>,
    most_line_bytes: usize,
    at_start: bool,
    at_end: bool,
}

impl Source {
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self, DataError> {
        let (reader, compressed) = open(path)?;
        let limit = compressed.map(|bytes| {
            let by_ratio = bytes.saturating_mul(options.max_compression_ratio).max(UNSUSPICIOUS);
            if by_ratio < options.max_decompressed_bytes {
                (by_ratio, "max_compression_ratio")
            } else {
                (options.max_decompressed_bytes, "max_decompressed_bytes")
            }
        });
        Ok(Self {
            path: path.to_path_buf(),
            reader,
            rest: Vec::new(),
            bytes: 0,
            compressed,
            limit,
            most_line_bytes: options.max_line_bytes,
            at_start: true,
            at_end: false,
        })
    }

    /// Replaces `block` with the next whole lines, each with its line end; empty at the end of the file.
    pub fn next_block(&mut self, block: &mut Vec<u8>) -> Result<(), DataError> {
        block.clear();
        block.append(&mut self.rest);
        let mut searched = 0;
        while !self.at_end {
            let wanted = if block.len() < BLOCK { BLOCK - block.len() } else { BLOCK };
            let read =
                self.reader.by_ref().take(wanted as u64).read_to_end(block).map_err(DataError::io(&self.path))?;
            self.bytes += read as u64;
            self.at_end = read < wanted;
            self.check_limit()?;
            if let Some(end) = memchr::memrchr(b'\n', &block[searched..]) {
                if !self.at_end {
                    self.rest.extend_from_slice(&block[searched + end + 1..]);
                    block.truncate(searched + end + 1);
                }
                break;
            }
            searched = block.len();
            if searched > self.most_line_bytes {
                return Err(DataError::Limit {
                    path: self.path.clone(),
                    found: format!("a line of more than {searched} bytes"),
                    limit: format!("{} bytes", self.most_line_bytes),
                    option: "max_line_bytes",
                });
            }
        }
        if self.at_end && block.last().is_some_and(|&last| last != b'\n') {
            block.push(b'\n');
        }
        if std::mem::take(&mut self.at_start) && block.starts_with(b"\xef\xbb\xbf") {
            block.drain(..3);
        }
        Ok(())
    }

    /// Bytes of text so far, of those that a compressed file blows up to few.
    pub fn bytes_that_count(&self) -> u64 {
        self.compressed.map_or(self.bytes, |size| self.bytes.min(size.saturating_mul(COUNTED_RATIO)))
    }

    fn check_limit(&self) -> Result<(), DataError> {
        match self.limit {
            Some((limit, option)) if self.bytes > limit => Err(DataError::Limit {
                path: self.path.clone(),
                found: format!("more than {limit} bytes of decompressed text"),
                limit: format!("{limit} bytes"),
                option,
            }),
            _ => Ok(()),
        }
    }
}

/// Opens a file, decompressing where it begins as gzip does; with the compressed size in that case.
pub(crate) fn open(path: &Path) -> Result<(Box<dyn Read + Send>, Option<u64>), DataError> {
    let mut file = File::open(path).map_err(DataError::io(path))?;
    let size = file.metadata().map_err(DataError::io(path))?.len();
    let mut magic = [0; 2];
    let mut length = 0;
    while length < magic.len() {
        match file.read(&mut magic[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(DataError::io(path)(error)),
        }
    }
    let whole: Chain<_, _> = Cursor::new(magic[..length].to_vec()).chain(file);
    if magic[..length] == [0x1f, 0x8b] {
        Ok((Box::new(MultiGzDecoder::new(std::io::BufReader::with_capacity(1 << 16, whole))), Some(size)))
    } else {
        Ok((Box::new(whole), None))
    }
}
