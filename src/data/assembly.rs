//! A dataset that grows file by file, whatever the format of each.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::dataset::RankingDataset;
use super::error::DataError;
#[cfg(feature = "columnar")]
use super::in_file::InFile;
use super::input::Input;
use super::rows::Rows;
use super::text::options::{Missing, ReadOptions, Weights};
use super::widths::FileWidth;
use crate::memory::product;
use crate::refusal::Refusal;
use crate::text::counted;

/// What to do about data that take more memory than is free.
const ADVICE: &str = "read fewer documents or features, or stream an Arrow file with `data.memory`";

/// The dataset so far.
pub(super) struct Assembly<'a> {
    pub options: &'a ReadOptions,
    pub dataset: RankingDataset,
    pub rows: Rows,
    /// Number of features that blocks of text are laid out for: the number on the first line.
    pub columns: Option<usize>,
    /// Bytes of the files before the current one, as they count for the limit of cells.
    pub bytes: u64,
    /// Bytes of the files that are still to be read, as far as they are known.
    pub expected_bytes: u64,
    /// One for each query so far, if there are any.
    pub query_weights: Vec<f32>,
    /// One for each document so far, if there are any.
    pub document_weights: Vec<f32>,
    /// Whether a value is NaN.
    pub missing: bool,
    /// The values of the only file, which are not copied into `rows`.
    #[cfg(feature = "columnar")]
    pub in_file: Option<InFile>,
    /// Number of files and readers.
    #[cfg(feature = "columnar")]
    pub inputs: usize,
    /// What says the number of features, as the end of a refusal of more.
    pub features_from: &'static str,
    /// Number of columns of features in the tables so far that have a column for each.
    #[cfg(feature = "columnar")]
    pub feature_columns: Option<usize>,
    /// File (index into `files`) and line or row where each query began.
    begun: HashMap<String, (usize, usize)>,
    files: Vec<PathBuf>,
    /// The number of the last feature of each file.
    widths: Vec<usize>,
}

/// How refusals of more features end where an option says how many there are.
pub(super) const OPTION: &str = " (option `features`)";

/// Reads inputs one after another, each by `read`, into one dataset.
pub(super) fn assemble<'a>(
    inputs: impl IntoIterator<Item = Input>,
    options: &'a ReadOptions,
    features_from: &'static str,
    mut read: impl FnMut(&mut Assembly<'a>, Input) -> Result<(), DataError>,
) -> Result<(RankingDataset, Vec<FileWidth>), DataError> {
    options.check()?;
    let mut assembly = Assembly::new(options, features_from);
    let inputs: Vec<Input> = inputs.into_iter().collect();
    assembly.expect(&inputs);
    for input in inputs {
        read(&mut assembly, input)?;
    }
    assembly.finish()
}

/// A query that occurs again after another one, and where it began.
pub(super) struct Again {
    pub query: String,
    pub first_path: PathBuf,
    pub first_line: usize,
}

impl<'a> Assembly<'a> {
    pub fn new(options: &'a ReadOptions, features_from: &'static str) -> Self {
        Self {
            options,
            dataset: RankingDataset { offsets: vec![0], ..RankingDataset::default() },
            rows: Rows::of_absent(options.absent_value()),
            columns: options.features,
            bytes: 0,
            expected_bytes: 0,
            query_weights: Vec::new(),
            document_weights: Vec::new(),
            missing: options.absent_value().is_nan(),
            #[cfg(feature = "columnar")]
            in_file: None,
            #[cfg(feature = "columnar")]
            inputs: 0,
            features_from,
            #[cfg(feature = "columnar")]
            feature_columns: None,
            begun: HashMap::new(),
            files: Vec::new(),
            widths: Vec::new(),
        }
    }

    /// Looks up how much there is to read, so that the matrix need not be moved as it grows.
    fn expect(&mut self, inputs: &[Input]) {
        #[cfg(feature = "columnar")]
        {
            self.inputs = inputs.len();
        }
        let files = inputs.iter().filter(|input| input.is_file());
        let bytes = files.filter_map(|input| input.name().metadata().ok()).map(|about| about.len());
        self.expected_bytes = bytes.fold(0, u64::saturating_add);
    }

    pub fn begin_file(&mut self, path: &Path) {
        self.files.push(path.to_path_buf());
        self.widths.push(0);
    }

    /// Notes that the current file has so many features.
    pub fn note_width(&mut self, features: usize) {
        if let Some(width) = self.widths.last_mut() {
            *width = features.max(*width);
        }
    }

    /// Adds consecutive documents of a query that begin at `line`. They join the query before them if it is the same
    /// and in the same file, which began after `documents_before` documents.
    pub fn add_group(
        &mut self,
        query: String,
        documents: usize,
        documents_before: usize,
        line: usize,
    ) -> Result<(), Again> {
        let continues =
            self.dataset.documents_grouped() > documents_before && self.dataset.query_ids.last() == Some(&query);
        if continues {
            if let Some(end) = self.dataset.offsets.last_mut() {
                *end += documents;
            }
            return Ok(());
        }
        if let Some(&(file, first_line)) = self.begun.get(&query) {
            return Err(Again { query, first_path: self.files[file].clone(), first_line });
        }
        self.begun.insert(query.clone(), (self.files.len() - 1, line));
        self.dataset.query_ids.push(query);
        self.dataset.offsets.push(self.dataset.documents_grouped() + documents);
        Ok(())
    }

    /// Adds a query without an identifier: it gets its number over all files, or the next one that no file used, since
    /// an identifier that another file used would merge two queries.
    pub fn add_numbered_group(&mut self, documents: usize) {
        let mut number = self.dataset.queries() + 1;
        while self.begun.contains_key(&number.to_string()) {
            number += 1;
        }
        self.begun.insert(number.to_string(), (self.files.len() - 1, 1));
        self.dataset.query_ids.push(number.to_string());
        self.dataset.offsets.push(self.dataset.documents_grouped() + documents);
    }

    /// Adds the identifiers of the documents that come next, `documents` of all then; none if `ids` is empty.
    pub fn add_document_ids(&mut self, ids: &mut Vec<String>, documents: usize) {
        if !ids.is_empty() {
            self.dataset.document_ids.resize(self.dataset.documents(), String::new());
            self.dataset.document_ids.append(ids);
        }
        if !self.dataset.document_ids.is_empty() {
            self.dataset.document_ids.resize(documents, String::new());
        }
    }

    /// Asks for the memory that documents of the current file take in the matrix.
    pub fn ask_memory(&self, documents: usize, features: usize, bytes: u64) -> Result<(), DataError> {
        let file = self.files.last().map(|path| path.display().to_string()).unwrap_or_default();
        let what = format!("a matrix of {} x {}", counted(documents, "document"), counted(features, "feature"));
        Ok(Refusal::ask_memory(&file, what, bytes, ADVICE)?)
    }

    fn finish(mut self) -> Result<(RankingDataset, Vec<FileWidth>), DataError> {
        let features = self.options.features.unwrap_or(self.rows.count);
        let most_cells = self.options.most_cells(self.bytes);
        if self.dataset.documents().saturating_mul(features) > most_cells
            && let Some(path) = self.files.last()
        {
            return Err(too_many_cells(path, most_cells));
        }
        if features > self.rows.stride {
            let bytes = product([self.rows.rows, features, size_of::<f32>()]);
            self.ask_memory(self.rows.rows, features, bytes)?;
        }
        self.dataset.feature_count = features;
        self.dataset.features = std::mem::take(&mut self.rows).finish(features).into();
        #[cfg(feature = "columnar")]
        if let Some(file) = self.in_file.take() {
            self.take_file(file)?;
        }
        if self.missing && self.options.missing == Missing::QueryMin {
            fill_missing(&mut self.dataset);
        }
        if self.options.query_weights == Weights::File {
            self.dataset = self.dataset.with_query_weights(self.query_weights)?;
        }
        if self.options.document_weights == Weights::File {
            self.dataset = self.dataset.with_document_weights(self.document_weights)?;
        }
        let widths = self.files.into_iter().zip(self.widths).map(|(path, features)| FileWidth { path, features });
        Ok((self.dataset, widths.collect()))
    }
}

#[cfg(feature = "columnar")]
impl Assembly<'_> {
    /// Takes the features of a file. They are looked through only if missing values are to be replaced.
    fn take_file(&mut self, file: InFile) -> Result<(), DataError> {
        self.missing = false;
        if matches!(self.options.missing, Missing::Zero | Missing::QueryMin) {
            file.check()?;
            self.missing = file.first_missing().is_some();
        }
        self.dataset.features = file.into();
        if self.missing && self.options.missing == Missing::Zero {
            zero_missing(&mut self.dataset.features);
        }
        Ok(())
    }
}

pub(super) fn too_many_cells(path: &Path, most: usize) -> DataError {
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
    let features = dataset.features.to_mut();
    for range in dataset.offsets.windows(2).map(|ends| ends[0]..ends[1]) {
        let rows = &mut features[range.start * width..range.end * width];
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

/// Replaces missing values by 0.
#[cfg(feature = "columnar")]
pub(super) fn zero_missing(values: &mut [f32]) {
    values.iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = 0.0);
}
