//! Reads CSV and TSV files with a header. Blocks of whole rows are decoded in parallel.
//!
//! A block of plain rows, without quotes and with decimal numbers, is read in one pass. The fields of all other blocks
//! are separated by the crate `csv`.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use ::csv::{ByteRecord, ReaderBuilder, StringRecord};
use arrow_array::builder::{Float32Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};

use super::append::{Appender, TEACHER_SCORE, or_largest};
use super::schema::{self, Layout};
use super::values::{SHOWN, is_missing};
use crate::data::assembly::Assembly;
use crate::data::error::{DataError, comma_in_words, quoted, unfit};
use crate::data::letor::{ReadOptions, parse_f32};
use crate::data::source::{BLOCK, Input, Source};
use crate::parallel;
use crate::text::{counted, shortened};

/// The number of rows that decide whether a column holds numbers or text.
const SAMPLE: usize = 1000;

/// Reads a file or reader whose columns are separated by `separator`, and appends its rows to the dataset.
pub(in crate::data) fn read_csv(assembly: &mut Assembly, input: Input, separator: u8) -> Result<(), DataError> {
    let path = &input.name().to_path_buf();
    let options = assembly.options;
    assembly.begin_file(path, true);
    let mut source = Source::open(input, options)?;
    let mut next = Vec::new();
    next_rows(&mut source, &mut next, separator, options)?;
    let names = take_header(&mut next, separator, path)?;
    check_columns(names.len(), path, assembly)?;
    if next.is_empty() {
        next_rows(&mut source, &mut next, separator, options)?;
    }
    let types = types(&names, &next, separator, path, assembly)?;
    let layout = Layout::of(&types, path, assembly)?;
    let (before, teacher) = (assembly.bytes, layout.teacher);
    let most = options.most_cells(before + source.bytes_that_count());
    let are_exact = assembly.like.has_exact_queries;
    let mut appender = Appender::new(assembly, path, layout, most);
    if !are_exact {
        appender.query_of = query_of;
        appender.has_missing_words = true;
    }
    appender.check_columns()?;
    let columns = appender.layout.project();
    let decoder = Decoder { path, types: Arc::new(types), columns, separator, teacher };
    let mut rows = 0;
    while !next.is_empty() {
        // Twice the threads, so that all have work until the last block.
        let mut blocks = vec![std::mem::take(&mut next)];
        while blocks.len() < 2 * rayon::current_num_threads() {
            next_rows(&mut source, &mut next, separator, options)?;
            if next.is_empty() {
                break;
            }
            blocks.push(std::mem::take(&mut next));
        }
        let decoded: Vec<Result<RecordBatch, DataError>> = parallel::map(&blocks, |block| decoder.decode(block));
        appender.most_cells = options.most_cells(before + source.bytes_that_count());
        let bytes: usize = blocks.iter().map(Vec::len).sum();
        let of_blocks: usize = decoded.iter().flatten().map(RecordBatch::num_rows).sum();
        appender.make_room(of_blocks, bytes)?;
        for (batch, block) in decoded.into_iter().zip(&blocks) {
            let batch = batch.map_err(|error| behind(rows, error))?;
            appender.append(&batch).map_err(|error| decoder.as_written(error, block, rows))?;
            rows += batch.num_rows();
        }
        if next.is_empty() {
            next_rows(&mut source, &mut next, separator, options)?;
        }
    }
    if rows == 0 {
        return Err(unfit(path, "no document", "at least one row below the names of the columns"));
    }
    appender.finish(None)?;
    assembly.bytes += source.bytes_that_count();
    Ok(())
}

/// Returns the identifier of a query without the decimal places of a whole number, as `1` for `1.0`, which a program
/// writes that holds the identifiers as floats. Returns `None` for any other decimal number, and for the words that
/// stand for a missing value.
fn query_of(text: &str) -> Option<&str> {
    if is_missing(text) {
        return None;
    }
    match text.split_once('.') {
        Some((whole, places)) if text.parse::<f64>().is_ok() => {
            Some(whole).filter(|_| !whole.is_empty() && places.bytes().all(|digit| digit == b'0'))
        }
        _ => Some(text),
    }
}

/// Returns a function of the bytes of a table, one after another. It returns whether the text after the byte is within
/// quotes. As for the crate `csv`, only a quote at the beginning of a field opens one.
fn quoting(separator: u8) -> impl FnMut(u8) -> bool {
    let (mut is_open, mut at_edge) = (false, true);
    move |byte| {
        let closes = is_open && byte == b'"';
        is_open = if byte == b'"' { at_edge && !is_open } else { is_open };
        // A quote right behind the one that closes opens again: the two stand for a quote in the text.
        at_edge = closes || (!is_open && [separator, b'\n', b'\r'].contains(&byte));
        is_open
    }
}

/// Replaces the contents of `block` with the next whole rows, or leaves it empty at the end of the input. A row ends at
/// a line end outside quotes. The source keeps the text behind the last of these rows for the next call.
fn next_rows(source: &mut Source, block: &mut Vec<u8>, separator: u8, options: &ReadOptions) -> Result<(), DataError> {
    source.next_block(block)?;
    source.check_lines(block)?;
    if memchr::memchr(b'"', block).is_none() {
        return Ok(());
    }
    let (mut more, mut is_quoted, most) = (Vec::new(), quoting(separator), options.max_line_bytes);
    let mut searched = 0;
    loop {
        let mut end = 0;
        for (place, &byte) in block.iter().enumerate().skip(searched) {
            if !is_quoted(byte) && byte == b'\n' {
                end = place + 1;
            }
        }
        if end > 0 {
            source.put_back(block.split_off(end));
            return Ok(());
        }
        searched = block.len();
        if searched > most.max(2 * BLOCK) {
            let found = format!("a quote that does not end within {searched} bytes");
            return Err(DataError::limit(source.path(), found, format!("{most} bytes"), "max_line_bytes"));
        }
        source.next_block(&mut more)?;
        if more.is_empty() {
            // The decoder names the row of the quote without an end.
            return Ok(());
        }
        block.append(&mut more);
    }
}

/// Removes the first row from a block and returns the names of the columns that it holds.
fn take_header(block: &mut Vec<u8>, separator: u8, path: &Path) -> Result<Vec<String>, DataError> {
    let mut is_quoted = quoting(separator);
    let end = block.iter().position(|&byte| !is_quoted(byte) && byte == b'\n');
    let header: Vec<u8> = block.drain(..end.map_or(block.len(), |end| end + 1)).collect();
    let expected = "names of columns, in UTF-8, in the first line";
    if row_of_lone_return(&header, separator).is_some() {
        return Err(unfit(path, format!("{LONE_RETURN} in the first line"), LINE_ENDS));
    }
    let names = fields(&header, separator).ok_or_else(|| unfit(path, quoted(header.trim_ascii_end()), expected))?;
    if header.trim_ascii().is_empty() {
        let found = if header.is_empty() { "an empty file" } else { "no text in the first line" };
        return Err(unfit(path, found, expected));
    }
    if let [only] = &names[..] {
        if let Some(other) = [';', '|'].into_iter().find(|other| only.contains(*other)) {
            let found = format!("columns separated by `{other}` in the first line {}", quoted(only.as_bytes()));
            return Err(unfit(path, found, "commas or tabs: save the table with one of these as its separator"));
        }
        let by = if separator == b'\t' { "tabs" } else { "commas" };
        let expected = format!("names of several columns, separated by {by}");
        return Err(unfit(path, format!("the first line {}", quoted(only.as_bytes())), expected));
    }
    if names.iter().all(|name| name.trim().parse::<f64>().is_ok()) {
        return Err(unfit(path, format!("numbers in the first line {}", quoted(header.trim_ascii_end())), expected));
    }
    Ok(names)
}

/// Rejects a header with more columns than the roles, the dropped columns and the allowed features can have, before
/// memory is taken for each column.
fn check_columns(columns: usize, path: &Path, assembly: &Assembly) -> Result<(), DataError> {
    let most = assembly.options.max_feature_index;
    let others = schema::ROLES.len() + 1 + assembly.options.columns.drop.len();
    if columns <= most.saturating_add(others) {
        return Ok(());
    }
    let limit = format!("at most {most} features (option `max_feature_index`)");
    Err(unfit(path, counted(columns, "column"), limit))
}

/// Returns the fields of a row; `None` if the row is not valid text.
fn fields(row: &[u8], separator: u8) -> Option<Vec<String>> {
    let mut fields = StringRecord::new();
    reader(row, separator).read_record(&mut fields).ok()?;
    Some(fields.iter().map(str::to_owned).collect())
}

/// Returns a reader of rows of any number of fields.
fn reader<R: Read>(text: R, separator: u8) -> ::csv::Reader<R> {
    ReaderBuilder::new().delimiter(separator).has_headers(false).flexible(true).from_reader(text)
}

/// Returns the types of the columns. A column holds text if its role requires text, or if its first value is not a
/// number.
fn types(names: &[String], block: &[u8], separator: u8, path: &Path, assembly: &Assembly) -> Result<Schema, DataError> {
    let all = names.iter().map(|name| Field::new(name, DataType::Utf8, true)).collect::<Vec<_>>();
    let decoder = Decoder { path, types: Arc::new(Schema::new(all)), columns: Vec::new(), separator, teacher: None };
    if let Some(row) = row_of_lone_return(block, separator) {
        return Err(decoder.lone_return(row));
    }
    let mut first: Vec<Option<(usize, String)>> = vec![None; names.len()];
    decoder.each_row(block, SAMPLE, |row, fields| {
        for (first, text) in first.iter_mut().zip(fields) {
            if first.is_none() && !is_missing(text) {
                *first = Some((row + 1, text.to_owned()));
            }
        }
    })?;
    let typed = |(first, name): (Option<(usize, String)>, &String)| match first {
        Some((row, text)) if number(&text).is_none() => {
            schema::with_example(Field::new(name, DataType::Utf8, true), row, &text)
        }
        _ if schema::is_read_as_text(name, assembly) => Field::new(name, DataType::Utf8, true),
        _ => Field::new(name, DataType::Float32, true),
    };
    Ok(Schema::new(first.into_iter().zip(names).map(typed).collect::<Vec<_>>()))
}

const LONE_RETURN: &str = "a carriage return without a line feed";
const LINE_ENDS: &str = "lines that end in LF or CRLF";

/// Returns the row, counted from 0, with the first carriage return outside quotes that no line feed follows.
fn row_of_lone_return(block: &[u8], separator: u8) -> Option<usize> {
    let is_lone = |at: usize| block.get(at + 1) != Some(&b'\n');
    memchr::memchr_iter(b'\r', block).find(|&at| is_lone(at))?;
    let (mut row, mut start, mut is_quoted) = (0, 0, quoting(separator));
    for (at, &byte) in block.iter().enumerate() {
        match (is_quoted(byte), byte) {
            (false, b'\r') if is_lone(at) => return Some(row),
            (false, b'\n') => {
                row += usize::from(!block[start..at].trim_ascii().is_empty());
                start = at + 1;
            }
            _ => {}
        }
    }
    None
}

/// Turns an error about a row of a block into one about a row of the file. The block begins after `rows` rows.
fn behind(rows: usize, mut error: DataError) -> DataError {
    if let DataError::Cell { row, .. } | DataError::Row { row, .. } = &mut error {
        *row += rows;
    }
    error
}

/// Decodes blocks of rows. Its errors count the rows of the block, from 1.
struct Decoder<'a> {
    path: &'a Path,
    types: Arc<Schema>,
    /// The columns to decode, in ascending order.
    columns: Vec<usize>,
    separator: u8,
    /// The column of a teacher's scores, in which only an empty cell is a missing value.
    teacher: Option<usize>,
}

impl Decoder<'_> {
    /// Decodes a block of whole rows.
    fn decode(&self, block: &[u8]) -> Result<RecordBatch, DataError> {
        let rows = memchr::memchr_iter(b'\n', block).count();
        if let Some(batch) = self.plain(block, rows) {
            return Ok(batch);
        }
        // The reader would end a row there, so it would read more rows than there are line feeds.
        let lone = row_of_lone_return(block, self.separator);
        lone.map_or_else(|| self.by_fields(block, rows), |row| Err(self.lone_return(row)))
    }

    /// Returns the error for a row with a carriage return that does not end a line.
    fn lone_return(&self, row: usize) -> DataError {
        self.fault(row, None, LONE_RETURN.to_owned(), LINE_ENDS.to_owned())
    }

    /// Returns the error for a row, or for a field of it; rows are counted from 0.
    fn fault(&self, row: usize, column: Option<usize>, found: String, expected: String) -> DataError {
        let (path, row) = (self.path.to_path_buf(), row + 1);
        match column.and_then(|column| self.types.fields().get(column)) {
            Some(field) => DataError::Cell { path, row, column: field.name().clone(), found, expected },
            None => DataError::Row { path, row, found, expected },
        }
    }

    /// Decodes a block of at most `rows` rows in one pass. Returns `None` if the block is not plain: it has a quote,
    /// or a number that is neither decimal nor left out.
    fn plain(&self, block: &[u8], rows: usize) -> Option<RecordBatch> {
        let text = std::str::from_utf8(block).ok().filter(|_| memchr::memchr(b'"', block).is_none())?;
        let mut columns = self.empty_columns(rows);
        let (last, mut at) = (columns.len() - 1, 0);
        while at < block.len() {
            for (index, column) in columns.iter_mut().enumerate() {
                let end = column.read(text, at, self.separator)?;
                at = match &block[end..] {
                    [byte, ..] if *byte == self.separator && index < last => end + 1,
                    [b'\n', ..] if index == last => end + 1,
                    [b'\r', b'\n', ..] if index == last => end + 2,
                    _ => return None,
                };
            }
        }
        Some(self.batch(columns))
    }

    /// Returns columns for `rows` rows.
    fn empty_columns(&self, rows: usize) -> Vec<Column> {
        let mut columns: Vec<Column> = self.types.fields().iter().map(|_| Column::Skipped).collect();
        for &column in &self.columns {
            columns[column] = match self.types.field(column).data_type() {
                DataType::Utf8 => Column::Texts(StringBuilder::new()),
                _ => Column::Numbers(Float32Builder::with_capacity(rows)),
            };
        }
        columns
    }

    fn batch(&self, mut columns: Vec<Column>) -> RecordBatch {
        let types = self.types.project(&self.columns).expect("columns of the file");
        let arrays = columns.iter_mut().filter_map(Column::finish).collect();
        RecordBatch::try_new(Arc::new(types), arrays).expect("columns of one length")
    }

    /// Decodes a block of at most `rows` rows field by field. If the rows have their fields, the first field that is
    /// not of its column's type is at fault.
    fn by_fields(&self, block: &[u8], rows: usize) -> Result<RecordBatch, DataError> {
        let mut columns = self.empty_columns(rows);
        let mut first = None;
        self.each_row(block, usize::MAX, |row, fields| {
            for &column in &self.columns {
                let text = &fields[column];
                let is_teacher = self.teacher == Some(column);
                let is_word = is_teacher && !text.trim().is_empty() && is_missing(text);
                if (!columns[column].push(text) || is_word) && first.is_none() {
                    let expected = if is_teacher { TEACHER_SCORE } else { "a number" };
                    let (found, expected) = (quoted(text.as_bytes()), format!("{expected}{}", comma_in_words(text)));
                    first = Some(self.fault(row, Some(column), found, expected));
                }
            }
        })?;
        first.map_or_else(|| Ok(self.batch(columns)), Err)
    }

    /// Calls `of_row` with the fields of the first rows of a block, at most `most`.
    fn each_row(
        &self,
        block: &[u8],
        most: usize,
        mut of_row: impl FnMut(usize, &StringRecord),
    ) -> Result<(), DataError> {
        // A quote without an end would reach into this row.
        const END: &str = ".";
        let mut reader = reader(block.chain(END.as_bytes()), self.separator);
        let mut bytes = ByteRecord::new();
        for row in 0..most {
            let start = reader.position().byte() as usize;
            let fault = |found: String, expected: &str| self.fault(row, None, found, expected.to_owned());
            reader.read_byte_record(&mut bytes).map_err(|error| fault(error.to_string(), "rows that can be read"))?;
            let end = reader.position().byte() as usize;
            let is_last = end > block.len();
            if is_last && bytes == [END][..] {
                break;
            }
            let (there, count) = (bytes.len(), self.types.fields().len());
            let fields = StringRecord::from_byte_record(bytes).map_err(|error| {
                let (place, at) = (error.utf8_error().field(), error.utf8_error().valid_up_to());
                let found = format!("bytes such as 0x{:02x}", error.into_byte_record()[place][at]);
                self.fault(row, Some(place), found, "text in UTF-8".to_owned())
            })?;
            if there != count {
                let line = quoted(block[start..end.min(block.len())].trim_ascii());
                let expected = format!("{count}, as the first line has");
                return Err(fault(format!("{} in {line}", counted(there, "field")), &expected));
            }
            if is_last {
                return Err(fault("a quote without an end".to_owned(), "rows that can be read"));
            }
            of_row(row, &fields);
            bytes = fields.into_byte_record();
        }
        Ok(())
    }

    /// Replaces an infinite number in an error with its text in the file. The number may be finite but beyond the range
    /// of 32-bit floats. The block begins after `rows` rows of the file.
    fn as_written(&self, error: DataError, block: &[u8], rows: usize) -> DataError {
        let DataError::Cell { path, row, column, found, expected } = error else { return error };
        let written = || {
            let at = row.checked_sub(rows + 1)?;
            let place = self.columns.iter().copied().find(|&place| *self.types.field(place).name() == column)?;
            let mut written = None;
            let keep = |row, fields: &StringRecord| {
                written = (row == at).then(|| shortened(fields[place].trim(), SHOWN));
            };
            self.each_row(block, at + 1, keep).ok()?;
            written
        };
        let found = if found.trim_start_matches('-') == "inf" { written().unwrap_or(found) } else { found };
        DataError::Cell { path, row, column, expected: or_largest(&found, &expected), found }
    }
}

/// A column of a block.
enum Column {
    Skipped,
    Numbers(Float32Builder),
    Texts(StringBuilder),
}

impl Column {
    /// Reads the field at a position, and returns the position after the field; `None` if the field is not plain.
    #[inline(always)]
    fn read(&mut self, text: &str, at: usize, separator: u8) -> Option<usize> {
        let bytes = text.as_bytes();
        if let Self::Numbers(numbers) = self {
            if bytes.get(at).is_none_or(|byte| [separator, b'\n', b'\r'].contains(byte)) {
                numbers.append_null();
                return Some(at);
            }
            let (number, end) = parse_f32(bytes, at)?;
            numbers.append_value(number);
            return Some(end);
        }
        let mut end = memchr::memchr2(separator, b'\n', &bytes[at..]).map_or(bytes.len(), |length| at + length);
        end -= usize::from(bytes[at..end].ends_with(b"\r") && bytes.get(end) == Some(&b'\n'));
        if memchr::memchr(b'\r', &bytes[at..end]).is_some() {
            return None;
        }
        if let Self::Texts(texts) = self {
            texts.append_option(Some(&text[at..end]).filter(|text| !text.is_empty()));
        }
        Some(end)
    }

    /// Appends a field. Returns false if the column holds numbers, and the field is neither a number nor missing.
    fn push(&mut self, text: &str) -> bool {
        match self {
            Self::Skipped => {}
            Self::Texts(texts) => texts.append_option(Some(text).filter(|text| !text.is_empty())),
            Self::Numbers(numbers) => {
                let number = number(text);
                numbers.append_option(number);
                return number.is_some() || is_missing(text);
            }
        }
        true
    }

    /// Returns the values of a column that was read.
    fn finish(&mut self) -> Option<ArrayRef> {
        match self {
            Self::Skipped => None,
            Self::Numbers(numbers) => Some(Arc::new(numbers.finish())),
            Self::Texts(texts) => Some(Arc::new(texts.finish())),
        }
    }
}

/// Reads a number; a truth value becomes 0 or 1.
fn number(text: &str) -> Option<f32> {
    let text = text.trim();
    if let Some((number, end)) = parse_f32(text.as_bytes(), 0)
        && end == text.len()
    {
        return Some(number);
    }
    match text.parse() {
        Ok(number) => Some(number),
        Err(_) if text.eq_ignore_ascii_case("true") => Some(1.0),
        Err(_) if text.eq_ignore_ascii_case("false") => Some(0.0),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a decoder for rows with the columns `q`, `x`, `url` and `y`, which skips `url`.
    fn decoder() -> Decoder<'static> {
        let field = |(name, number): (&str, bool)| {
            Field::new(name, if number { DataType::Float32 } else { DataType::Utf8 }, true)
        };
        let types = Schema::new([("q", false), ("x", true), ("url", false), ("y", true)].map(field).to_vec());
        let path = Path::new("a.csv");
        Decoder { path, types: Arc::new(types), columns: vec![0, 1, 3], separator: b',', teacher: None }
    }

    #[test]
    fn a_plain_block_holds_what_its_fields_hold() {
        let decoder = decoder();
        for block in [
            "a,1,u,2\na,-0.25,u,3e-2\n",
            "a,1,u,2\r\nb,,,\r\n",
            "é,.5,,0.1234567890123456789\n,1e39,u,-1e-50\n",
            "a, 1,u,2\n",
            "a,NaN,u,2\n",
            "a,1,\"u,v\",2\n",
            "a,1,u,2\n\nb,1,u,2\n",
            "a,1,u,2\rb,1,u,2\n",
        ] {
            let rows = block.lines().count();
            match decoder.plain(block.as_bytes(), rows) {
                Some(batch) => assert_eq!(Some(batch), decoder.by_fields(block.as_bytes(), rows).ok(), "{block:?}"),
                None => assert!([" ", "NaN", "\"", "\n\n", "\rb"].iter().any(|part| block.contains(part)), "{block:?}"),
            }
        }
        for block in ["a,1,u\n", "a,1,u,2,3\n", "a,x,u,2\n", "a,1x,u,2\n", "a,1,u,2\nb"] {
            assert_eq!(decoder.plain(block.as_bytes(), 1), None, "{block:?}");
        }
        assert_eq!(decoder.plain(b"a,1,\xff,2\n", 1), None);
    }
}
