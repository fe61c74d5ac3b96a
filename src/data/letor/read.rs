//! Reads a text into a dataset. Blocks are read, parsed and appended by different threads at the same time.

use std::path::Path;

use super::parse::{Fault, Parsed, Rules};
use super::{beside, parse};
use crate::data::assembly::{Again, Assembly, too_many_cells};
use crate::data::error::{DataError, unfit};
use crate::data::options::{Groups, ReadOptions, Weights};
use crate::data::rows::Rows;
use crate::data::source::{Input, Source};
use crate::parallel;
use crate::refusal::Refusal;

/// A buffer for one block of text and its parsed contents, reused for later blocks.
#[derive(Default)]
struct Slot {
    text: Vec<u8>,
    most_cells: usize,
    most_cells_of_block: usize,
    parsed: Parsed,
}

/// Consecutive blocks of text that are read, parsed and appended together. Only the first `used` slots hold blocks.
#[derive(Default)]
struct Batch {
    slots: Vec<Slot>,
    used: usize,
}

impl Batch {
    fn of(width: usize) -> Self {
        Self { slots: (0..width).map(|_| Slot::default()).collect(), used: 0 }
    }

    /// Reads the next blocks of the text into the slots. At the end of the text, no slot is used.
    fn fill(&mut self, source: &mut Source, before: u64, options: &ReadOptions) -> Result<(), DataError> {
        self.used = 0;
        for slot in &mut self.slots {
            source.next_block(&mut slot.text)?;
            source.check_lines(&slot.text)?;
            if slot.text.is_empty() {
                break;
            }
            slot.most_cells = options.most_cells(before + source.bytes_that_count());
            self.used += 1;
        }
        Ok(())
    }

    fn parse(&mut self, options: &ReadOptions, features_from: &'static str, columns: usize) {
        parallel::for_each(&mut self.slots[..self.used], |slot| {
            // A block may have no more cells than a text of its size, or every thread could use up the whole limit.
            slot.most_cells_of_block = slot.most_cells.min(options.most_cells(slot.text.len() as u64));
            let rules = Rules::new(options, slot.most_cells_of_block, features_from);
            parse::parse(&slot.text, &rules, columns, &mut slot.parsed);
        });
    }
}

/// The state of the file being read.
struct FileState<'a> {
    path: &'a Path,
    /// The number of lines in the blocks appended so far.
    lines: usize,
    has_queries: Option<bool>,
    /// Whether the input is a file on disk, so that a file with group sizes may exist in the same folder.
    is_file: bool,
}

/// Reads a text and appends it to the dataset.
pub(in crate::data) fn read_text(assembly: &mut Assembly, input: Input) -> Result<(), DataError> {
    let (path, is_file) = (&input.name().to_path_buf(), input.is_file());
    let options = assembly.options;
    if !is_file {
        check_stream(options, path)?;
    }
    let mut source = Source::open(input, options)?;
    if !options.columns.is_default() {
        let expected = "a table: option `columns` names columns, and text has none";
        return Err(unfit(path, "text", expected));
    }
    if let Some(key) = assembly.like.key {
        let expected = format!("a table with a column `{}`, by which the data are split", key.name());
        return Err(unfit(path, "text", expected));
    }
    assembly.begin_file(path, options.sort);
    let mut state = FileState { path, lines: 0, has_queries: None, is_file };
    read_blocks(assembly, &mut source, &mut state)?;
    assembly.bytes += source.bytes_that_count();
    let documents = assembly.dataset.documents() - assembly.documents_before;
    if documents == 0 {
        return Err(DataError::Empty { path: path.to_path_buf(), expected: "`label qid:ID index:value ...`" });
    }
    if state.has_queries != Some(true) {
        for size in beside::group_sizes((path, options), documents)? {
            assembly.add_numbered_group(size);
        }
    }
    if options.document_weights == Weights::File {
        assembly.dataset.document_weights.extend(beside::weights_of_documents((path, options), documents)?);
    }
    if options.positions {
        assembly.dataset.positions.extend(beside::positions_of_documents((path, options), documents)?);
    }
    assembly.put_together()?;
    if options.query_weights == Weights::File {
        let queries = assembly.dataset.queries() - assembly.dataset.query_weights.len();
        assembly.dataset.query_weights.extend(beside::weights_of_queries((path, options), queries)?);
    }
    Ok(())
}

/// Rejects options that need a file next to the input. The input is a stream.
fn check_stream(options: &ReadOptions, path: &Path) -> Result<(), Refusal> {
    let lacks = |other: &str, what: &str| format!("{other}: there is no file of {what} next to {}", path.display());
    if options.groups == Groups::QueryFile {
        return Err(Refusal::new("groups", "query-file", lacks("`auto` or `qid`", "group sizes")));
    }
    if options.positions {
        return Err(Refusal::described("positions", "a stream", lacks("a file", "positions")));
    }
    if !options.query_weights.is_none() {
        return Err(Refusal::new("query_weights", "file", lacks("`none`", "query weights")));
    }
    if !options.document_weights.is_none() {
        return Err(Refusal::new("document_weights", "file", lacks("`none`", "document weights")));
    }
    Ok(())
}

/// Appends all blocks of a text. Batches form a pipeline: while one batch is parsed, the previous batch is appended and
/// the next batch is read.
fn read_blocks(assembly: &mut Assembly, source: &mut Source, state: &mut FileState) -> Result<(), DataError> {
    let (options, features_from, before) = (assembly.options, assembly.features_from, assembly.bytes);
    // Twice the threads, so that one that has read and appended still finds a block to parse.
    let width = 2 * rayon::current_num_threads();
    let [mut parsed, mut current, mut next] = [(); 3].map(|()| Batch::of(width));
    current.fill(source, before, options)?;
    lay_out(assembly, &current.slots[0].text);
    let columns = assembly.columns.unwrap_or(0);
    while current.used > 0 {
        let ((merged, filled), ()) = rayon::join(
            || {
                let merged = merge_all(assembly, &mut parsed, state);
                (merged, next.fill(source, before, options))
            },
            || current.parse(options, features_from, columns),
        );
        merged?;
        std::mem::swap(&mut parsed, &mut current);
        std::mem::swap(&mut current, &mut next);
        if let Err(error) = filled {
            // Faults of the text before it come first.
            merge_all(assembly, &mut parsed, state)?;
            return Err(error);
        }
    }
    merge_all(assembly, &mut parsed, state)
}

/// Sets the expected number of features from the first line.
fn lay_out(assembly: &mut Assembly, text: &[u8]) {
    if assembly.columns.is_none() {
        let options = assembly.options;
        let end = memchr::memchr(b'\n', text).map_or(text.len(), |end| end + 1);
        let mut first = Parsed::default();
        parse::parse(&text[..end], &Rules::new(options, options.most_cells(0), assembly.features_from), 0, &mut first);
        assembly.columns = Some(first.rows.count);
    }
}

/// Appends the parsed blocks in order until the first fault.
fn merge_all(assembly: &mut Assembly, batch: &mut Batch, state: &mut FileState) -> Result<(), DataError> {
    let used = std::mem::take(&mut batch.used);
    for slot in &mut batch.slots[..used] {
        merge(assembly, slot, state)?;
    }
    Ok(())
}

/// Appends a parsed block, or returns its first fault in the order of lines.
fn merge(assembly: &mut Assembly, slot: &mut Slot, state: &mut FileState) -> Result<(), DataError> {
    let parsed = &mut slot.parsed;
    let path = state.path;
    if let Some((has_queries, line)) = parsed.has_queries {
        check_queries(assembly.options.groups, has_queries, state, state.lines + line + 1)?;
    }
    for group in parsed.groups.drain(..) {
        let line = state.lines + group.line + 1;
        let added = assembly.add_group(group.query, group.documents, line);
        added.map_err(|Again { query, first_path, first_line }| DataError::InterleavedQuery {
            path: path.to_path_buf(),
            line,
            column: group.column,
            query,
            first_path,
            first_line,
        })?;
    }
    match parsed.fault.take() {
        Some(Fault::Syntax { line, column, found, expected }) => {
            return Err(DataError::syntax(path, (state.lines + line + 1, column), found, expected));
        }
        Some(Fault::Cells) => return Err(too_many_cells(path, slot.most_cells_of_block)),
        None => {}
    }
    let documents = assembly.dataset.documents() + parsed.labels.len();
    let columns = assembly.rows.count.max(parsed.rows.count);
    if documents.saturating_mul(columns) > slot.most_cells {
        return Err(too_many_cells(path, slot.most_cells));
    }
    let Rows { values, stride, count, rows, .. } = &parsed.rows;
    assembly.make_room(*rows, slot.text.len(), *count, !parsed.document_ids.is_empty())?;
    assembly.add_document_ids(&mut parsed.document_ids, documents);
    assembly.rows.append_dense(values, *stride, *count, *rows);
    assembly.note_width(*count);
    assembly.dataset.labels.extend_from_slice(&parsed.labels);
    assembly.missing |= parsed.missing;
    state.lines += parsed.lines;
    Ok(())
}

/// Checks that all documents of a file have `qid:` or that none has it, and that this agrees with the options.
fn check_queries(groups: Groups, has_queries: bool, state: &mut FileState, line: usize) -> Result<(), DataError> {
    let path = state.path;
    let fault = |found: &str, expected: &str| Err(DataError::syntax(path, (line, 1), found, expected));
    if groups == Groups::QueryFile {
        state.has_queries = Some(false);
        return Ok(());
    }
    match state.has_queries {
        Some(true) if !has_queries => fault("no `qid:ID`", "`qid:ID`, as on the lines before"),
        Some(false) if has_queries => fault("`qid:ID`", "no `qid:ID`, as on the lines before"),
        None if !has_queries && groups == Groups::Qid => fault("no `qid:ID`", "`label qid:ID index:value ...`"),
        None if !has_queries && !state.is_file => fault("no `qid:ID`", "`qid:ID` on every line"),
        None if !has_queries && beside::find(path, beside::SIZES).is_none() => {
            let beside = beside::name(path, beside::SIZES);
            fault("no `qid:ID`", &format!("`qid:ID` on every line, or group sizes in {}", beside.display()))
        }
        _ => {
            state.has_queries = Some(has_queries);
            Ok(())
        }
    }
}
