//! Input for readers, a file or any reader with a name, and its text in blocks of whole lines, plain or
//! gzip-compressed.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::GzDecoder;

use super::options::ReadOptions;
use crate::data::error::DataError;
use crate::file_kind::FileKind;

/// The size of a block in bytes. The block size is fixed, so blocks do not depend on the number of threads.
pub(crate) const BLOCK: usize = 2 << 20;

/// A compressed file may always grow to this many bytes; only beyond this size is the compression ratio limited.
const UNSUSPICIOUS: u64 = 64 << 20;

/// For limits that depend on the size of the text, a compressed file is taken to hold at most this many times its own
/// size.
pub(crate) const COUNTED_RATIO: u64 = 4;

/// Returns the number of bytes to which a file of `size` bytes may be decompressed, and the option that limits it.
pub(crate) fn most_decompressed(size: u64, most_ratio: u64, most_bytes: u64) -> (u64, &'static str) {
    let by_ratio = size.saturating_mul(most_ratio).max(UNSUSPICIOUS);
    if by_ratio < most_bytes { (by_ratio, "max_compression_ratio") } else { (most_bytes, "max_decompressed_bytes") }
}

/// The text of a file or a reader, cut into blocks of whole lines.
pub struct Source {
    path: PathBuf,
    reader: Box<dyn Read + Send>,
    /// The text that was read and is in no block yet: the line at the end of the last block, and lines put back.
    rest: Vec<u8>,
    /// The number of bytes of text read so far.
    bytes: u64,
    /// The size of the file if it is compressed.
    compressed: Option<Size>,
    options: ReadOptions,
    at_start: bool,
    at_end: bool,
}

impl Source {
    /// Opens a file or a reader.
    ///
    /// # Errors
    /// Returns [`DataError`] if a file cannot be opened.
    pub fn open(input: Input, options: &ReadOptions) -> Result<Self, DataError> {
        let path = input.name().to_path_buf();
        let (reader, compressed) = open(input)?;
        let (rest, options) = (Vec::new(), options.clone());
        Ok(Self { path, reader, rest, bytes: 0, compressed, options, at_start: true, at_end: false })
    }

    /// Replaces `block` with the next whole lines, each with its line end. The block is empty at the end of the text.
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
            let first = memchr::memchr(b'\n', &block[searched..]).map_or(block.len(), |end| searched + end);
            if first > self.options.max_line_bytes {
                let at_least = if first < block.len() || self.at_end { "" } else { "at least " };
                return Err(self.long_line(format!("a line of {at_least}{first} bytes")));
            }
            if let Some(end) = memchr::memrchr(b'\n', &block[searched..]) {
                if !self.at_end {
                    self.rest.extend_from_slice(&block[searched + end + 1..]);
                    block.truncate(searched + end + 1);
                }
                break;
            }
            searched = block.len();
        }
        if self.at_end && block.last().is_some_and(|&last| last != b'\n') {
            block.push(b'\n');
        }
        if std::mem::take(&mut self.at_start) && block.starts_with(b"\xef\xbb\xbf") {
            block.drain(..3);
        }
        Ok(())
    }

    /// Returns whole lines to the source: the next block begins with them.
    pub(crate) fn put_back(&mut self, mut lines: Vec<u8>) {
        lines.append(&mut self.rest);
        self.rest = lines;
    }

    /// Rejects lines of a block that are longer than the options allow. [`next_block`](Self::next_block) checks the
    /// first line, and the other lines are shorter than a block.
    ///
    /// # Errors
    /// Returns [`DataError::Limit`] for the first line that is too long.
    pub fn check_lines(&self, block: &[u8]) -> Result<(), DataError> {
        if self.options.max_line_bytes >= BLOCK {
            return Ok(());
        }
        match block.split(|&byte| byte == b'\n').find(|line| line.len() > self.options.max_line_bytes) {
            Some(line) => Err(self.long_line(format!("a line of {} bytes", line.len()))),
            None => Ok(()),
        }
    }

    /// Returns the path of the file or the name of the reader.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn long_line(&self, found: String) -> DataError {
        DataError::limit(&self.path, found, format!("{} bytes", self.options.max_line_bytes), "max_line_bytes")
    }

    /// Returns the number of bytes of text read so far. The count for a compressed file is at most [`COUNTED_RATIO`]
    /// times the file's own size.
    pub fn bytes_that_count(&self) -> u64 {
        let counted = self.compressed.as_ref().map(|size| size.load(Ordering::Relaxed).saturating_mul(COUNTED_RATIO));
        counted.map_or(self.bytes, |most| self.bytes.min(most))
    }

    fn check_limit(&self) -> Result<(), DataError> {
        let Some(size) = &self.compressed else { return Ok(()) };
        let ReadOptions { max_compression_ratio, max_decompressed_bytes, .. } = self.options;
        let size = size.load(Ordering::Relaxed);
        let (limit, option) = most_decompressed(size, max_compression_ratio, max_decompressed_bytes);
        if self.bytes <= limit {
            return Ok(());
        }
        let found = format!("more than {limit} bytes of decompressed text");
        Err(DataError::limit(&self.path, found, format!("{limit} bytes"), option))
    }
}

/// The compressed size of an input, in bytes: the size of the file or, for a stream, the number of bytes read so far.
pub(crate) type Size = Arc<AtomicU64>;

/// Counts the bytes read from a reader.
struct Counted<R> {
    reader: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Opens an input. A gzip input is recognized by its first bytes and decompressed; its compressed size is then also
/// returned.
///
/// # Errors
/// Returns [`DataError::Io`] if the input cannot be opened or read.
pub(crate) fn open(input: Input) -> Result<(Box<dyn Read + Send>, Option<Size>), DataError> {
    let Input { name: path, reader } = input;
    if let Some(reader) = reader {
        return sniff(&path, reader, None);
    }
    let file = File::open(&path).map_err(DataError::io(&path))?;
    let about = file.metadata().map_err(DataError::io(&path))?;
    sniff(&path, file, about.is_file().then_some(about.len()))
}

fn sniff(
    path: &Path,
    mut reader: impl Read + Send + 'static,
    size: Option<u64>,
) -> Result<(Box<dyn Read + Send>, Option<Size>), DataError> {
    let mut magic = Vec::new();
    reader.by_ref().take(GZIP.len() as u64).read_to_end(&mut magic).map_err(DataError::io(path))?;
    let is_gzip = magic == GZIP;
    let whole = Cursor::new(magic).chain(reader);
    if !is_gzip {
        return Ok((Box::new(whole), None));
    }
    let bytes = Arc::new(AtomicU64::new(0));
    let counted = Counted { reader: whole, bytes: bytes.clone() };
    let size = size.map_or(bytes, |whole| Arc::new(AtomicU64::new(whole)));
    let member = Some(GzDecoder::new(BufReader::with_capacity(1 << 16, counted)));
    Ok((Box::new(Gunzip { member, at_start: true }), Some(size)))
}

/// The first bytes of gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

const TWICE: &str = "found a file compressed by gzip twice, expected once: decompress it with `gunzip`";

/// Decompresses gzip text, which may have several members.
struct Gunzip<R> {
    /// The reader of the current member; `None` at the end.
    member: Option<GzDecoder<BufReader<R>>>,
    at_start: bool,
}

impl<R: Read> Read for Gunzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            match member.read(buffer) {
                Ok(0) if !buffer.is_empty() => {}
                Err(error) => return Err(damage(error)),
                Ok(read) if std::mem::take(&mut self.at_start) && buffer[..read].starts_with(&GZIP) => {
                    return Err(io::Error::new(ErrorKind::InvalidData, TWICE));
                }
                read => return read,
            }
            let Some(mut reader) = self.member.take().map(GzDecoder::into_inner) else { break };
            match reader.fill_buf()? {
                [] => break,
                [0x1f, ..] => self.member = Some(GzDecoder::new(reader)),
                // Zeros are padding, as on tapes.
                _ => {
                    if let Some(byte) = reader.bytes().find(|byte| !matches!(byte, Ok(0))) {
                        byte?;
                        let words =
                            "found other bytes behind the text compressed by gzip, expected the end of the file";
                        return Err(io::Error::new(ErrorKind::InvalidData, words));
                    }
                    break;
                }
            }
        }
        Ok(0)
    }
}

/// Explains in words an error that the decoder returned.
fn damage(error: io::Error) -> io::Error {
    let words = match error.kind() {
        ErrorKind::UnexpectedEof => "the file compressed by gzip is cut off".to_owned(),
        ErrorKind::InvalidData | ErrorKind::InvalidInput => {
            format!("the file compressed by gzip is damaged ({error})")
        }
        _ => return error,
    };
    io::Error::new(error.kind(), words)
}

/// Text to be read from a file, or from a reader with a name. The text may be gzip-compressed, which is recognized by
/// its first bytes.
///
/// This library never opens standard input itself. A program can pass standard input explicitly, as in this example.
///
/// ```no_run
/// use burn_rank::data::{Input, letor};
///
/// let input = Input::from_reader("standard input", std::io::stdin());
/// let data = letor::read_from([input], &letor::ReadOptions::default())?;
/// # Ok::<(), burn_rank::data::DataError>(())
/// ```
pub struct Input {
    pub(super) name: PathBuf,
    /// `None` for a file.
    pub(super) reader: Option<Box<dyn Read + Send>>,
}

impl Input {
    /// Returns an input for the file at `path`, which may have any name, even `-`. The file is opened when it is read.
    pub fn from_path(path: impl Into<PathBuf>) -> Self {
        Self { name: path.into(), reader: None }
    }

    /// Returns an input that reads the text of `reader`. Messages refer to the input as `name`.
    pub fn from_reader(name: impl Into<PathBuf>, reader: impl Read + Send + 'static) -> Self {
        Self { name: name.into(), reader: Some(Box::new(reader)) }
    }

    /// Returns the path of a file or the name of a reader.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Returns whether the input is a file on disk, so companion files may be in the same folder.
    pub(crate) fn is_file(&self) -> bool {
        self.reader.is_none()
    }

    /// Returns a function that names the kind of a file in an error about its text ([`DataError::or_kind`]).
    pub(super) fn or_kind(&self, fits: FileKind, expected: String) -> impl Fn(DataError) -> DataError + Sync + use<> {
        let file = self.is_file().then(|| self.name.clone());
        move |error| match &file {
            Some(file) => error.or_kind(file, fits, &expected),
            None => error,
        }
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let kind = if self.is_file() { "Input::from_path" } else { "Input::from_reader" };
        formatter.debug_tuple(kind).field(&self.name).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        io::Write::write_all(&mut encoder, text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_compressed_stream_is_limited_by_the_bytes_read_of_it() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        io::copy(&mut io::repeat(b'1').take(UNSUSPICIOUS + (8 << 20)), &mut encoder).unwrap();
        let compressed = encoder.finish().unwrap();
        let stream = |max_compression_ratio| {
            let (max_decompressed_bytes, max_line_bytes) = (u64::MAX, usize::MAX);
            let options =
                ReadOptions { max_compression_ratio, max_decompressed_bytes, max_line_bytes, ..ReadOptions::default() };
            let input = Input::from_reader("stream", Cursor::new(compressed.clone()));
            let mut source = Source::open(input, &options).unwrap();
            let mut block = Vec::new();
            source.next_block(&mut block).map(|()| (block.len() as u64, source.bytes_that_count()))
        };
        let error = stream(100).unwrap_err().to_string();
        assert!(error.contains("max_compression_ratio"), "{error}");
        let (bytes, counted) = stream(10_000).unwrap();
        assert_eq!(bytes, UNSUSPICIOUS + (8 << 20) + 1);
        assert_eq!(counted, COUNTED_RATIO * compressed.len() as u64);
    }

    #[test]
    fn no_line_is_longer_than_the_options_allow() {
        let most = 2 * BLOCK + 7;
        let options = ReadOptions { max_line_bytes: most, ..ReadOptions::default() };
        // The long line begins with a block, within one, and ends with the text.
        for (before, end) in [("", "\nx\n"), ("x\nyy\n", "\nx\n"), ("x\n", ""), ("x\n", "\n")] {
            let read = |length: usize| {
                let text = [before.as_bytes(), &vec![b'1'; length], end.as_bytes()].concat();
                let mut source = Source::open(Input::from_reader("text", Cursor::new(text)), &options).unwrap();
                let (mut block, mut lines) = (Vec::new(), 0);
                loop {
                    source.next_block(&mut block)?;
                    source.check_lines(&block)?;
                    lines += memchr::memchr_iter(b'\n', &block).count();
                    if block.is_empty() {
                        return Ok::<_, DataError>(lines);
                    }
                }
            };
            assert!(read(most).is_ok(), "{before:?} {end:?}");
            let message = read(most + 1).unwrap_err().to_string();
            let expected = format!("text: found a line of {} bytes, expected at most {most} bytes", most + 1);
            assert!(message.starts_with(&expected), "{before:?} {end:?} {message}");
        }
    }

    #[test]
    fn a_text_that_is_compressed_twice_is_refused() {
        let twice = gzip(&gzip(b"1 qid:1 1:0.5\n"));
        let (mut reader, _) = sniff(Path::new("data.gz"), Cursor::new(twice), None).unwrap();
        let message = reader.read_to_end(&mut Vec::new()).unwrap_err().to_string();
        assert_eq!(message, TWICE);
    }

    #[test]
    fn defect_18_a_compressed_text_that_is_cut_off_or_followed_by_something_else_says_so() {
        let read = |bytes: Vec<u8>| {
            let mut text = Vec::new();
            let (mut reader, _) = sniff(Path::new("data.gz"), Cursor::new(bytes), None).unwrap();
            reader.read_to_end(&mut text).map(|_| text).map_err(|error| error.to_string())
        };
        let whole = gzip(&b"1 qid:1 1:0.5\n".repeat(1000));
        let two = [whole.clone(), gzip(b"last")].concat();
        assert_eq!(read(two).unwrap().len(), 14_004);
        assert_eq!(read([whole.clone(), vec![0; 700]].concat()).unwrap().len(), 14_000);
        for length in [3, 9, 11, 40, whole.len() - 8, whole.len() - 1] {
            let found = read(whole[..length].to_vec());
            assert_eq!(found, Err("the file compressed by gzip is cut off".to_owned()), "{length} bytes");
        }
        for behind in [&b"x"[..], b"garbage that is longer than a header", b"\0\0x"] {
            let message = read([&whole, behind].concat()).unwrap_err();
            assert!(message.starts_with("found other bytes behind the text compressed by gzip"), "{message}");
        }
        let mut damaged = whole.clone();
        let at = damaged.len() - 6;
        damaged[at] ^= 1;
        assert!(read(damaged).unwrap_err().contains("is damaged ("));
    }
}
