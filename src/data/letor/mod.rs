//! LETOR / SVMlight text: `label qid:ID index:value ... # comment`, one document per line.
//!
//! * Indices count from 1, ascend, and may be sparse: an absent feature is 0, or missing ([`Absent`]).
//! * `NULL` and `nan` are missing values, which are refused, replaced or kept ([`Missing`]).
//! * Several files are read as one set; a file may be gzip-compressed (recognised by its first bytes); lines end with
//!   LF or CRLF; blank lines and comment lines are skipped.
//! * All documents of a query are on consecutive lines of one file. Without `qid:`, the file `FILE.query` beside
//!   `FILE` holds the size of each query, one number per line (LightGBM's convention).
//! * With [`Weights::File`], `FILE.query_weights` beside `FILE` holds the weight of each query in training, or
//!   `FILE.weight` that of each document (LightGBM's convention), one number per line.
//! * `#docid = NAME ...` names a document; any other comment is kept whole as its identifier.
//! * Labels are finite and at least 0, not necessarily integers ([`RankingDataset::check_integer_labels`]); values are
//!   finite or missing.
//!
//! The text is read in blocks of whole lines, which rayon's threads parse while the next ones are read. Blocks do not
//! depend on the number of threads, so the result and the first error do not either. Time is linear in the size of the
//! text; memory is that of the dataset plus a few blocks.

mod beside;
mod number;
mod parse;
mod query_file;
mod rows;
mod source;
mod weight_file;
mod write;

pub(crate) use number::from_millionths;
pub(crate) use source::{Source, open};

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{DataError, Input, RankingDataset};
use crate::refusal::Refusal;
use parse::{Fault, Parsed, Rules};
use rows::Rows;

/// What a missing value becomes: `NULL`, as in LETOR 3.0's raw files, or `nan`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// None: a missing value is an error.
    #[default]
    Error,
    /// 0.
    Zero,
    /// The smallest value of the feature in the query; 0 where the whole query has none.
    #[serde(alias = "query_min")]
    QueryMin,
    /// It stays missing: NaN in the dataset.
    Keep,
}

/// What a feature becomes that a line leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Absent {
    /// 0.
    #[default]
    Zero,
    /// A missing value, as if the line had it as `nan`.
    Missing,
}

impl Absent {
    /// Returns whether an absent feature is 0.
    pub fn is_zero(&self) -> bool {
        *self == Self::Zero
    }
}

/// Source of the queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Groups {
    /// From `qid:`, or from `FILE.query` where the lines have none.
    #[default]
    Auto,
    /// From `qid:`.
    Qid,
    /// From `FILE.query`; identifiers on the lines are ignored.
    #[serde(alias = "query_file")]
    QueryFile,
}

/// Source of weights in training, of queries or of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weights {
    /// None: all weigh the same.
    #[default]
    None,
    /// `FILE.query_weights` for queries, `FILE.weight` for documents.
    File,
}

impl Weights {
    /// Returns whether there are none.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// Options for reading LETOR text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReadOptions {
    /// Number of features: the dataset has exactly this many, and a larger index is an error. Default: the largest
    /// index.
    pub features: Option<usize>,
    /// What a missing value becomes. Default: an error.
    pub missing: Missing,
    /// What a feature becomes that a line leaves out. Default: 0.
    #[serde(skip_serializing_if = "Absent::is_zero")]
    pub absent: Absent,
    /// Source of the queries. Default: `auto`.
    pub groups: Groups,
    /// Source of the weights of queries. Default: none.
    #[serde(skip_serializing_if = "Weights::is_none")]
    pub query_weights: Weights,
    /// Source of the weights of documents. Default: none.
    #[serde(skip_serializing_if = "Weights::is_none")]
    pub document_weights: Weights,
    /// Largest feature index. Default: 1,000,000.
    pub max_feature_index: usize,
    /// Largest number of cells (documents x features; 4 bytes each) of the dataset, and of a block of it. Default: 16
    /// per byte of text, or 64 per byte of a compressed file where that is less, but at least 2^26 (256 MiB), so that a
    /// small hostile file cannot ask for a large matrix.
    pub max_cells: Option<usize>,
    /// Longest line in bytes. Default: 64 MiB.
    pub max_line_bytes: usize,
    /// Largest decompressed size of a compressed file in bytes. Default: 64 GiB.
    pub max_decompressed_bytes: u64,
    /// Largest ratio of decompressed to compressed bytes of a compressed file, beyond its first 64 MiB of text. LETOR
    /// text has a ratio of 5 to 50. Default: 100.
    pub max_compression_ratio: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            features: None,
            missing: Missing::default(),
            absent: Absent::default(),
            groups: Groups::default(),
            query_weights: Weights::default(),
            document_weights: Weights::default(),
            max_feature_index: 1_000_000,
            max_cells: None,
            max_line_bytes: 64 << 20,
            max_decompressed_bytes: 64 << 30,
            max_compression_ratio: 100,
        }
    }
}

impl ReadOptions {
    /// Refuses options out of their ranges: every limit must be at least 1, and absent features can be missing only where
    /// a missing value becomes something.
    ///
    /// # Errors
    /// [`Refusal`] of the first limit that is 0, or of `absent`.
    pub fn check(&self) -> Result<(), Refusal> {
        let limits = [
            ("features", self.features.map(|features| features as u64)),
            ("max_feature_index", Some(self.max_feature_index as u64)),
            ("max_cells", self.max_cells.map(|cells| cells as u64)),
            ("max_line_bytes", Some(self.max_line_bytes as u64)),
            ("max_decompressed_bytes", Some(self.max_decompressed_bytes)),
            ("max_compression_ratio", Some(self.max_compression_ratio)),
        ];
        match limits.into_iter().find(|(_, value)| *value == Some(0)) {
            Some((option, _)) => Err(Refusal::new(option, 0, "at least 1")),
            None if self.absent == Absent::Missing && self.missing == Missing::Error => {
                let expected = "`zero`, or `keep`, `zero` or `query-min` for `missing`, which refuses missing values";
                Err(Refusal::new("absent", "missing", expected))
            }
            None => Ok(()),
        }
    }

    /// Returns the largest number of cells that `bytes` bytes of text may have.
    fn most_cells(&self, bytes: u64) -> usize {
        self.max_cells.unwrap_or_else(|| usize::try_from(bytes.saturating_mul(16)).unwrap_or(usize::MAX).max(1 << 26))
    }

    /// The value of a feature that a line leaves out.
    fn absent_value(&self) -> f32 {
        if self.absent == Absent::Missing && self.missing != Missing::Zero { f32::NAN } else { 0.0 }
    }

    fn rules(&self, most_cells: usize) -> Rules {
        Rules {
            missing: self.missing,
            absent: self.absent_value(),
            groups: self.groups,
            largest_index: self.features.unwrap_or(self.max_feature_index),
            index_is_expected: self.features.is_some(),
            most_cells,
        }
    }
}

/// Reads files as one dataset, in the order given.
///
/// # Errors
/// The first fault in file order, with path, line and column; see [`DataError`].
pub fn read(paths: &[PathBuf], options: &ReadOptions) -> Result<RankingDataset, DataError> {
    read_from(paths.iter().map(Input::from_path), options)
}

/// Reads files and readers as one dataset, in the order given. A reader has no `FILE.query` beside it: its lines need
/// `qid:`.
///
/// # Errors
/// As [`read()`].
pub fn read_from(inputs: impl IntoIterator<Item = Input>, options: &ReadOptions) -> Result<RankingDataset, DataError> {
    options.check()?;
    let mut assembly = Assembly::new(options);
    for input in inputs {
        assembly.read_input(input)?;
    }
    assembly.finish()
}

/// A block of text and what was parsed from it; reused for later blocks.
#[derive(Default)]
struct Slot {
    text: Vec<u8>,
    most_cells: usize,
    most_cells_of_block: usize,
    parsed: Parsed,
}

/// The dataset so far.
struct Assembly<'a> {
    options: &'a ReadOptions,
    dataset: RankingDataset,
    rows: Rows,
    /// Number of features that blocks are laid out for: the number on the first line.
    columns: Option<usize>,
    /// Bytes of the files before the current one, as counted by [`Source::bytes_that_count`].
    bytes: u64,
    /// File (index into `files`) and line where each query began.
    begun: HashMap<String, (usize, usize)>,
    /// One for each query so far, if there are any.
    query_weights: Vec<f32>,
    /// One for each document so far, if there are any.
    document_weights: Vec<f32>,
    files: Vec<PathBuf>,
    /// Whether a value is NaN.
    missing: bool,
}

/// The state of the file being read.
struct FileState {
    /// Number of lines in the blocks merged so far.
    lines: usize,
    /// Number of documents of the files before.
    documents_before: usize,
    has_queries: Option<bool>,
    /// Whether the input is a file, which may have group sizes beside it.
    is_file: bool,
}

impl<'a> Assembly<'a> {
    fn new(options: &'a ReadOptions) -> Self {
        Self {
            options,
            dataset: RankingDataset { offsets: vec![0], ..RankingDataset::default() },
            rows: Rows::of_absent(options.absent_value()),
            columns: options.features,
            bytes: 0,
            begun: HashMap::new(),
            query_weights: Vec::new(),
            document_weights: Vec::new(),
            files: Vec::new(),
            missing: options.absent_value().is_nan(),
        }
    }

    fn read_input(&mut self, input: Input) -> Result<(), DataError> {
        let (path, is_file) = (&input.name().to_path_buf(), input.is_file());
        if !is_file && self.options.groups == Groups::QueryFile {
            let expected = format!("`auto` or `qid`: there is no file of group sizes beside {}", path.display());
            return Err(Refusal::new("groups", "query-file", expected).into());
        }
        let weights = [
            ("query_weights", "query weights", self.options.query_weights),
            ("document_weights", "document weights", self.options.document_weights),
        ];
        if let Some((key, what, _)) = weights.iter().find(|(_, _, source)| !is_file && !source.is_none()) {
            let expected = format!("`none`: there is no file of {what} beside {}", path.display());
            return Err(Refusal::new(*key, "file", expected).into());
        }
        self.files.push(path.clone());
        let mut source = Source::open(input, self.options)?;
        let documents_before = self.dataset.documents();
        let mut state = FileState { lines: 0, documents_before, has_queries: None, is_file };
        // Half of the slots are filled while the other half is parsed.
        let width = rayon::current_num_threads();
        let mut full: Vec<Slot> = (0..width).map(|_| Slot::default()).collect();
        let mut filling: Vec<Slot> = (0..width).map(|_| Slot::default()).collect();
        let mut used = fill(&mut source, &mut full, self.bytes, self.options)?;
        self.lay_out(&full[0].text);
        while used > 0 {
            let columns = self.columns.unwrap_or(0);
            let options = self.options;
            let bytes = self.bytes;
            let (filled, ()) = rayon::join(
                || fill(&mut source, &mut filling, bytes, options),
                || {
                    full[..used].par_iter_mut().for_each(|slot| {
                        // A block may have no more cells than a text of its size, or every thread could use up the
                        // whole limit.
                        slot.most_cells_of_block = slot.most_cells.min(options.most_cells(slot.text.len() as u64));
                        parse::parse(&slot.text, &options.rules(slot.most_cells_of_block), columns, &mut slot.parsed);
                    });
                },
            );
            for slot in &mut full[..used] {
                self.merge(path, slot, &mut state)?;
            }
            used = filled?;
            std::mem::swap(&mut full, &mut filling);
        }
        self.bytes += source.bytes_that_count();
        if self.dataset.documents() == state.documents_before {
            return Err(DataError::Empty { path: path.to_path_buf(), expected: "`label qid:ID index:value ...`" });
        }
        if state.has_queries != Some(true) {
            self.groups_from_file(path, state.documents_before)?;
        }
        if self.options.query_weights == Weights::File {
            let queries = self.dataset.queries() - self.query_weights.len();
            self.query_weights.extend(weight_file::of_queries(path, queries)?);
        }
        if self.options.document_weights == Weights::File {
            let documents = self.dataset.documents() - state.documents_before;
            self.document_weights.extend(weight_file::of_documents(path, documents)?);
        }
        Ok(())
    }

    /// Sets the number of features that blocks are laid out for from the first line.
    fn lay_out(&mut self, text: &[u8]) {
        if self.columns.is_none() {
            let end = memchr::memchr(b'\n', text).map_or(text.len(), |end| end + 1);
            let mut first = Parsed::default();
            parse::parse(&text[..end], &self.options.rules(self.options.most_cells(0)), 0, &mut first);
            self.columns = Some(first.rows.count);
        }
    }

    /// Appends a parsed block, or returns the first fault in line order.
    fn merge(&mut self, path: &Path, slot: &mut Slot, state: &mut FileState) -> Result<(), DataError> {
        let parsed = &mut slot.parsed;
        if let Some((has_queries, line)) = parsed.has_queries {
            self.check_queries(path, has_queries, state, state.lines + line + 1)?;
        }
        for group in parsed.groups.drain(..) {
            let continues = self.dataset.documents_grouped() > state.documents_before
                && self.dataset.query_ids.last() == Some(&group.query);
            if continues {
                if let Some(end) = self.dataset.offsets.last_mut() {
                    *end += group.documents;
                }
                continue;
            }
            let line = state.lines + group.line + 1;
            let file = self.files.len() - 1;
            if let Some(&(first_file, first_line)) = self.begun.get(&group.query) {
                return Err(DataError::InterleavedQuery {
                    path: path.to_path_buf(),
                    line,
                    column: group.column,
                    query: group.query,
                    first_path: self.files[first_file].clone(),
                    first_line,
                });
            }
            self.begun.insert(group.query.clone(), (file, line));
            self.dataset.query_ids.push(group.query);
            self.dataset.offsets.push(self.dataset.documents_grouped() + group.documents);
        }
        match parsed.fault.take() {
            Some(Fault::Syntax { line, column, found, expected }) => {
                let line = state.lines + line + 1;
                return Err(DataError::Syntax { path: path.to_path_buf(), line, column, found, expected });
            }
            Some(Fault::Cells) => return Err(too_many_cells(path, slot.most_cells_of_block)),
            None => {}
        }
        let documents = self.dataset.documents() + parsed.labels.len();
        let columns = self.rows.count.max(parsed.rows.count);
        if documents.saturating_mul(columns) > slot.most_cells {
            return Err(too_many_cells(path, slot.most_cells));
        }
        if !parsed.document_ids.is_empty() {
            self.dataset.document_ids.resize(self.dataset.documents(), String::new());
            self.dataset.document_ids.append(&mut parsed.document_ids);
        }
        if !self.dataset.document_ids.is_empty() {
            self.dataset.document_ids.resize(documents, String::new());
        }
        self.rows.append(&parsed.rows);
        self.dataset.labels.extend_from_slice(&parsed.labels);
        self.missing |= parsed.missing;
        state.lines += parsed.lines;
        Ok(())
    }

    /// Checks that all lines of a file carry `qid:` or none does, and that this fits the options.
    fn check_queries(
        &self,
        path: &Path,
        has_queries: bool,
        state: &mut FileState,
        line: usize,
    ) -> Result<(), DataError> {
        let fault = |found: &str, expected: &str| {
            let (found, expected) = (found.to_owned(), expected.to_owned());
            Err(DataError::Syntax { path: path.to_path_buf(), line, column: 1, found, expected })
        };
        let groups = self.options.groups;
        if groups == Groups::QueryFile {
            state.has_queries = Some(false);
            return Ok(());
        }
        match state.has_queries {
            Some(true) if !has_queries => fault("no `qid:ID`", "`qid:ID`, as on the lines before"),
            Some(false) if has_queries => fault("`qid:ID`", "no `qid:ID`, as on the lines before"),
            None if !has_queries && groups == Groups::Qid => fault("no `qid:ID`", "`label qid:ID index:value ...`"),
            None if !has_queries && !state.is_file => fault("no `qid:ID`", "`qid:ID` on every line"),
            None if !has_queries && query_file::SIZES.find(path).is_none() => {
                let beside = query_file::SIZES.name(path);
                fault("no `qid:ID`", &format!("`qid:ID` on every line, or group sizes in {}", beside.display()))
            }
            _ => {
                state.has_queries = Some(has_queries);
                Ok(())
            }
        }
    }

    /// Adds the queries of a file whose lines have no `qid:`, by their group sizes.
    fn groups_from_file(&mut self, path: &Path, documents_before: usize) -> Result<(), DataError> {
        let documents = self.dataset.documents() - documents_before;
        for size in query_file::read(path, documents)? {
            // Queries are numbered over all files; an identifier that another file used would merge two queries.
            let mut number = self.dataset.queries() + 1;
            while self.begun.contains_key(&number.to_string()) {
                number += 1;
            }
            self.begun.insert(number.to_string(), (self.files.len() - 1, 1));
            self.dataset.query_ids.push(number.to_string());
            self.dataset.offsets.push(self.dataset.documents_grouped() + size);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<RankingDataset, DataError> {
        let features = self.options.features.unwrap_or(self.rows.count);
        if self.dataset.documents().saturating_mul(features) > self.options.most_cells(self.bytes)
            && let Some(path) = self.files.last()
        {
            return Err(too_many_cells(path, self.options.most_cells(self.bytes)));
        }
        self.dataset.feature_count = features;
        self.dataset.features = self.rows.finish(features);
        if self.missing && self.options.missing == Missing::QueryMin {
            fill_missing(&mut self.dataset);
        }
        if self.options.query_weights == Weights::File {
            self.dataset = self.dataset.with_query_weights(self.query_weights)?;
        }
        if self.options.document_weights == Weights::File {
            self.dataset = self.dataset.with_document_weights(self.document_weights)?;
        }
        Ok(self.dataset)
    }
}

/// Fills slots with blocks; returns how many were filled.
fn fill(source: &mut Source, slots: &mut [Slot], before: u64, options: &ReadOptions) -> Result<usize, DataError> {
    for (index, slot) in slots.iter_mut().enumerate() {
        source.next_block(&mut slot.text)?;
        if slot.text.is_empty() {
            return Ok(index);
        }
        slot.most_cells = options.most_cells(before + source.bytes_that_count());
    }
    Ok(slots.len())
}

fn too_many_cells(path: &Path, most: usize) -> DataError {
    DataError::Limit {
        path: path.to_path_buf(),
        found: format!("more than {most} cells (documents x features)"),
        limit: format!("{most} cells for a text of this size"),
        option: "max_cells",
    }
}

/// Replaces NaN by the smallest value of its feature in its query, or by 0 where there is none.
fn fill_missing(dataset: &mut RankingDataset) {
    let width = dataset.feature_count;
    for q in 0..dataset.queries() {
        let range = dataset.range(q);
        let rows = &mut dataset.features[range.start * width..range.end * width];
        for feature in 0..width {
            let column = || rows[feature..].iter().step_by(width);
            if column().any(|value| value.is_nan()) {
                let smallest = column().copied().fold(f32::INFINITY, f32::min);
                let smallest = if smallest.is_finite() { smallest } else { 0.0 };
                for value in rows[feature..].iter_mut().step_by(width).filter(|value| value.is_nan()) {
                    *value = smallest;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
