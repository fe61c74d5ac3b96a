//! Builds one dataset from several files, which may have different formats.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::dataset::RankingDataset;
use super::error::{DataError, unfit};
use super::features::Features;
use super::options::{KeyColumn, Keys, Like, Missing, ReadOptions, Weights};
use super::rows::Rows;
use super::source::Input;
use crate::memory::product;
use crate::refusal::Refusal;
use crate::text::counted;

/// Advice to a user whose data need more memory than is free.
const ADVICE: &str = "read fewer documents or features, or stream an Arrow file with `data.memory`";

/// The bytes that the identifier of a document takes: a string, and its characters in a piece of memory of their own.
const BYTES_OF_ID: u64 = size_of::<String>() as u64 + 16;

/// The dataset that has been read so far.
pub(super) struct Assembly<'a> {
    pub options: &'a ReadOptions,
    pub dataset: RankingDataset,
    pub rows: Rows,
    /// The number of features on the first line, which determines the memory reserved for each row.
    pub columns: Option<usize>,
    /// The total size in bytes of the files read so far; the default limit on the number of cells grows with this size.
    pub bytes: u64,
    /// The size of each file in bytes; inputs of unknown size count as 0.
    sizes: Vec<u64>,
    /// Whether the data read so far have a missing value.
    pub missing: bool,
    /// The values of a file that is the only input; they are not copied into `rows`.
    pub in_file: Option<Features>,
    /// The number of inputs (files and readers) from which the dataset is read.
    pub inputs: usize,
    /// The properties that every file must share.
    pub like: &'a Like<'a>,
    /// The end of the error message about too many features. It says where the allowed number comes from.
    pub features_from: &'static str,
    /// The feature names of the latest table with one column per feature; `None` before the first such table.
    pub feature_columns: Option<Vec<String>>,
    /// The group of each run of documents, if queries are later split by groups.
    pub groups: Vec<String>,
    /// The time of each run of documents, if queries are later split by times.
    pub times: Vec<f64>,
    /// Whether the time column by which queries are split holds dates or times rather than numbers; `None` before its
    /// first value.
    pub has_dates: Option<bool>,
    /// The file and the line where each query first occurred, by query identifier.
    begun: HashMap<String, Begun>,
    /// Whether documents of the same query are moved next to each other if they are not consecutive in the current
    /// file.
    puts_together: bool,
    /// Runs of documents that continue a query of the current file, each with the number of the query's first run.
    /// Until the end of the file is reached, each run of documents counts as a query.
    pub apart: Vec<(usize, usize)>,
    /// The files that were begun, each with the largest feature number that occurs in it so far.
    files: Vec<FileWidth>,
    /// The number of documents of the files before the current one.
    pub documents_before: usize,
}

/// The end of an error message about more features than the option `features` allows.
pub(super) const OPTION: &str = " (option `features`)";

/// A data file, with the largest feature number that occurs in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileWidth {
    /// The file.
    pub path: PathBuf,
    /// The largest feature number that occurs in the file.
    pub features: usize,
}

/// A dataset that was read from files, with the width of each file and the values by which queries can be split.
pub struct Assembled {
    /// The dataset.
    pub data: RankingDataset,
    /// The largest feature number that occurs in each file.
    pub widths: Vec<FileWidth>,
    /// The group or time of each query, if a column of groups or times was named.
    pub keys: Option<Keys>,
}

/// Reads inputs into one dataset by calling `read` for each of them in turn.
pub(super) fn assemble<'a>(
    inputs: impl IntoIterator<Item = Input>,
    options: &'a ReadOptions,
    like: &'a Like<'a>,
    mut read: impl FnMut(&mut Assembly<'a>, Input) -> Result<(), DataError>,
) -> Result<Assembled, DataError> {
    options.check()?;
    let inputs: Vec<Input> = inputs.into_iter().collect();
    let mut assembly = Assembly::new(options, like, &inputs);
    for input in inputs {
        read(&mut assembly, input)?;
    }
    assembly.finish()
}

/// The place where a query first occurred: its file (an index into `files`), its line or row, and its run of documents.
struct Begun {
    file: usize,
    line: usize,
    run: usize,
}

/// A query that occurs again after another query; the path and the line say where the query first occurred.
pub(super) struct Again {
    pub query: String,
    pub first_path: PathBuf,
    pub first_line: usize,
}

impl<'a> Assembly<'a> {
    fn new(options: &'a ReadOptions, like: &'a Like<'a>, inputs: &[Input]) -> Self {
        let about = |input: &Input| input.name().metadata().ok().filter(|_| input.is_file());
        Self {
            options,
            dataset: RankingDataset { offsets: vec![0], ..RankingDataset::default() },
            rows: Rows { absent: options.absent_value(), ..Rows::default() },
            columns: options.features,
            bytes: 0,
            sizes: inputs.iter().map(|input| about(input).map_or(0, |about| about.len())).collect(),
            missing: options.absent_value().is_nan(),
            in_file: None,
            inputs: inputs.len(),
            like,
            features_from: like.features_from.unwrap_or(OPTION),
            feature_columns: None,
            groups: Vec::new(),
            times: Vec::new(),
            has_dates: None,
            begun: HashMap::new(),
            puts_together: false,
            apart: Vec::new(),
            files: Vec::new(),
            documents_before: 0,
        }
    }

    /// Begins a file. If `puts_together` is true, the caller must call [`put_together`](Self::put_together) at the end
    /// of the file.
    pub fn begin_file(&mut self, path: &Path, puts_together: bool) {
        self.puts_together = puts_together;
        self.files.push(FileWidth { path: path.to_path_buf(), features: 0 });
        self.documents_before = self.dataset.documents();
    }

    /// Notes that the current file has at least this many features.
    pub fn note_width(&mut self, features: usize) {
        if let Some(file) = self.files.last_mut() {
            file.features = features.max(file.features);
        }
    }

    /// Adds consecutive documents of a query that begin at `line`. The documents join the last query if it has the same
    /// identifier and is in the current file. A query that occurs again in another file is an error. A query that
    /// occurs again in the same file is also an error, unless the file was begun with `puts_together`.
    pub fn add_group(&mut self, query: String, documents: usize, line: usize) -> Result<(), Again> {
        let continues =
            self.dataset.documents_grouped() > self.documents_before && self.dataset.query_ids.last() == Some(&query);
        if continues {
            if let Some(end) = self.dataset.offsets.last_mut() {
                *end += documents;
            }
            return Ok(());
        }
        let (file, run) = (self.files.len() - 1, self.dataset.query_ids.len());
        match self.begun.get(&query) {
            Some(begun) if self.puts_together && begun.file == file => self.apart.push((run, begun.run)),
            Some(begun) => {
                return Err(Again { query, first_path: self.files[begun.file].path.clone(), first_line: begun.line });
            }
            None => drop(self.begun.insert(query.clone(), Begun { file, line, run })),
        }
        self.push_run(query, documents);
        Ok(())
    }

    fn push_run(&mut self, query: String, documents: usize) {
        self.dataset.query_ids.push(query);
        self.dataset.offsets.push(self.dataset.documents_grouped() + documents);
    }

    /// Adds a query without an identifier. The query is named by its number, counted across all files. If an earlier
    /// query has that name, the next free number is taken, because equal identifiers would merge two queries.
    pub fn add_numbered_group(&mut self, documents: usize) {
        let mut number = self.dataset.queries() + 1;
        while self.begun.contains_key(&number.to_string()) {
            number += 1;
        }
        let begun = Begun { file: self.files.len() - 1, line: 1, run: self.dataset.queries() };
        self.begun.insert(number.to_string(), begun);
        self.push_run(number.to_string(), documents);
    }

    /// Appends document identifiers, then empty identifiers until there are `documents` identifiers. An empty `ids`
    /// adds no identifier.
    pub fn add_document_ids(&mut self, ids: &mut Vec<String>, documents: usize) {
        if !ids.is_empty() {
            self.dataset.document_ids.resize(self.dataset.documents(), String::new());
            self.dataset.document_ids.append(ids);
        }
        if !self.dataset.document_ids.is_empty() {
            self.dataset.document_ids.resize(documents, String::new());
        }
    }

    /// Moves the documents of each query in the current file next to the query's first document, in the order of the
    /// file.
    pub fn put_together(&mut self) -> Result<(), DataError> {
        if self.apart.is_empty() {
            return Ok(());
        }
        let documents_before = self.documents_before;
        let first = self.dataset.offsets.partition_point(|&offset| offset < documents_before);
        let mut home: Vec<usize> = (first..self.dataset.queries()).collect();
        for (run, begun) in self.apart.drain(..) {
            home[run - first] = begun;
        }
        self.check_runs(first, &home)?;
        let mut order: Vec<usize> = (first..self.dataset.queries()).collect();
        order.sort_by_key(|&run| home[run - first]);
        let documents: Vec<usize> = order.iter().flat_map(|&run| self.dataset.range(run)).collect();
        let data = &mut self.dataset;
        let (mut ids, mut offsets) = (data.query_ids.split_off(first), vec![documents_before]);
        for runs in order.chunk_by(|one, next| home[one - first] == home[next - first]) {
            let documents: usize = runs.iter().map(|&run| data.range(run).len()).sum();
            data.query_ids.push(std::mem::take(&mut ids[runs[0] - first]));
            offsets.push(offsets[offsets.len() - 1] + documents);
        }
        data.offsets.truncate(first);
        data.offsets.append(&mut offsets);
        for (query, id) in data.query_ids.iter().enumerate().skip(first) {
            if let Some(begun) = self.begun.get_mut(id) {
                begun.run = query;
            }
        }
        reorder(&mut data.labels, documents_before, &documents);
        reorder(&mut data.document_ids, documents_before, &documents);
        reorder(&mut data.document_weights, documents_before, &documents);
        reorder(&mut data.teacher, documents_before, &documents);
        reorder(&mut data.positions.of, documents_before, &documents);
        self.rows.reorder(documents_before, &documents);
        data.read_order.extend(data.read_order.len()..documents_before);
        data.read_order.extend(documents);
        Ok(())
    }

    /// Checks that all runs of a query have the same weight and group. Keeps one weight and one group or time per
    /// query. `home[i]` is the first run with the same query as run `first + i`.
    fn check_runs(&mut self, first: usize, home: &[usize]) -> Result<(), DataError> {
        let group = self.like.key.map_or("", KeyColumn::name);
        let weights = differing(&self.dataset.query_weights, first, home).map(|found| ("query_weight", found));
        let groups = differing(&self.groups, first, home).map(|found| (group, found));
        if let Some((column, (run, found, expected))) = weights.or(groups) {
            return Err(DataError::Cell {
                path: self.files.last().map(|file| file.path.clone()).unwrap_or_default(),
                row: self.dataset.offsets[run] - self.documents_before + 1,
                column: column.to_owned(),
                found,
                expected: format!("{expected}, as in the query's rows before"),
            });
        }
        if !self.times.is_empty() {
            for (run, &home) in (first..).zip(home) {
                self.times[home] = self.times[home].max(self.times[run]);
            }
        }
        keep_first(&mut self.dataset.query_weights, first, home);
        keep_first(&mut self.groups, first, home);
        keep_first(&mut self.times, first, home);
        Ok(())
    }

    /// Makes room for `rows` rows of `count` features, which `bytes` bytes of text hold. Before the first rows, asks
    /// for the memory of the first file, and assumes that a row takes about as many bytes in the rest of it. Makes room
    /// for the rows of all files if that much is free: other files may be of another kind.
    pub fn make_room(&mut self, rows: usize, bytes: usize, count: usize, have_ids: bool) -> Result<(), DataError> {
        let width = count.max(self.rows.count);
        if self.rows.rows == 0 {
            let all = self.sizes.iter().fold(0, |sum: u64, size| sum.saturating_add(*size));
            let most = self.options.most_cells(all) / width.max(1);
            let rows_in = |size: u64| {
                let expected = u128::from(size) * rows as u128 / bytes.max(1) as u128;
                usize::try_from(expected).unwrap_or(usize::MAX).min(most).max(rows)
            };
            let ask = |rows: usize| self.ask_memory(rows, width, self.bytes_of(rows, width, have_ids));
            let asked = rows_in(self.sizes.get(self.files.len() - 1).copied().unwrap_or_default());
            ask(asked)?;
            let wanted = Some(rows_in(all)).filter(|rows| ask(*rows).is_ok()).unwrap_or(asked);
            // A smaller matrix may still fit. Without such room, a growing matrix is copied, which takes twice its
            // memory during the copy.
            let _ = self.rows.reserve(wanted.saturating_add(wanted / 64).min(most).max(rows), width);
        }
        self.ask_memory(self.dataset.documents() + rows, width, self.rows.grows_by(rows, count))
    }

    /// Returns the number of bytes that documents take: their features, labels, weights, and perhaps their identifiers.
    pub fn bytes_of(&self, documents: usize, features: usize, have_ids: bool) -> u64 {
        let id = if have_ids { BYTES_OF_ID } else { 0 };
        let weights = usize::from(!self.options.document_weights.is_none()) + usize::from(self.options.positions);
        let numbers = features.saturating_add(1 + weights);
        product([numbers, size_of::<f32>()]).saturating_add(id).saturating_mul(documents as u64)
    }

    /// Checks that enough memory is free to hold documents of the current file in the matrix.
    pub fn ask_memory(&self, documents: usize, features: usize, bytes: u64) -> Result<(), DataError> {
        let file = self.files.last().map(|file| file.path.display().to_string()).unwrap_or_default();
        let what = format!("a matrix of {} x {}", counted(documents, "document"), counted(features, "feature"));
        Ok(Refusal::ask_memory(&file, what, bytes, ADVICE)?)
    }

    fn finish(mut self) -> Result<Assembled, DataError> {
        let features = self.options.features.unwrap_or(self.rows.count);
        let most_cells = self.options.most_cells(self.bytes);
        if self.dataset.documents().saturating_mul(features) > most_cells
            && let Some(FileWidth { path, .. }) = self.files.last()
        {
            return Err(too_many_cells(path, most_cells));
        }
        if features > self.rows.stride {
            let bytes = product([self.rows.rows, features, size_of::<f32>()]);
            self.ask_memory(self.rows.rows, features, bytes)?;
        }
        self.dataset.feature_count = features;
        self.dataset.features = std::mem::take(&mut self.rows).finish(features).into();
        if let Some(file) = self.in_file.take() {
            self.take_file(file)?;
        }
        if let Some(names) = self.feature_columns.take() {
            self.check_unnamed(names.len())?;
            self.dataset.feature_names = names;
        }
        if self.missing && self.options.missing == Missing::QueryMin {
            fill_missing(&mut self.dataset);
        }
        if self.options.query_weights == Weights::File {
            let weights = std::mem::take(&mut self.dataset.query_weights);
            self.dataset = self.dataset.with_query_weights(weights)?;
        }
        if self.options.document_weights == Weights::File {
            let weights = std::mem::take(&mut self.dataset.document_weights);
            self.dataset = self.dataset.with_document_weights(weights)?;
        }
        self.dataset.check_training()?;
        if !self.dataset.read_order.is_empty() {
            self.dataset.read_order.extend(self.dataset.read_order.len()..self.dataset.documents());
        }
        let keys = self.like.key.map(|key| match key {
            KeyColumn::Group(_) => Keys::Groups(self.groups),
            KeyColumn::Time(_) => Keys::Times(self.times),
        });
        Ok(Assembled { data: self.dataset, widths: self.files, keys })
    }

    /// Rejects a file whose features have only numbers if it has more of them than the tables of the set have columns.
    /// Feature 1 of such a file is the first column of the first table.
    fn check_unnamed(&self, columns: usize) -> Result<(), DataError> {
        self.files.iter().find(|file| file.features > columns).map_or(Ok(()), |FileWidth { path, features }| {
            let expected = format!("at most {columns}, as many as the tables of the set have columns of features");
            Err(unfit(path, counted(*features, "feature"), expected))
        })
    }

    /// Uses the values in a file as the features of the dataset, without copying them. The features are checked only if
    /// missing values are to be replaced.
    fn take_file(&mut self, file: Features) -> Result<(), DataError> {
        self.missing = false;
        if matches!(self.options.missing, Missing::Zero | Missing::QueryMin) {
            let width = self.dataset.feature_count;
            file.check(width)?;
            self.missing = file.first_missing(width).is_some();
        }
        if self.missing {
            let documents = self.dataset.documents();
            self.ask_memory(documents, self.dataset.feature_count, product([file.len(), size_of::<f32>()]))?;
        }
        self.dataset.features = file;
        if self.missing && self.options.missing == Missing::Zero {
            zero_missing(self.dataset.features.to_mut_slice());
        }
        Ok(())
    }
}

/// Returns the first run whose value differs from the value of its query's first run, with both values in words.
fn differing<T: PartialEq + ToString>(values: &[T], first: usize, home: &[usize]) -> Option<(usize, String, String)> {
    let mut pairs = (first..values.len()).zip(home);
    let (run, &home) = pairs.find(|&(run, &home)| values[run] != values[home])?;
    Some((run, values[run].to_string(), values[home].to_string()))
}

/// Moves values so that place `first + i` gets the value of document `order[i]`. Does nothing if no document has a
/// value.
fn reorder<T: Default>(values: &mut Vec<T>, first: usize, order: &[usize]) {
    if values.len() > first {
        let mut old = values.split_off(first);
        values.extend(order.iter().map(|&document| std::mem::take(&mut old[document - first])));
    }
}

/// Keeps one value per query: the value of its first run. `home[i]` is the first run with the same query as run
/// `first + i`.
fn keep_first<T>(values: &mut Vec<T>, first: usize, home: &[usize]) {
    let mut run = 0;
    values.retain(|_| {
        run += 1;
        run <= first || home[run - 1 - first] == run - 1
    });
}

pub(super) fn too_many_cells(path: &Path, most: usize) -> DataError {
    let found = format!("more than {most} cells (documents x features)");
    DataError::limit(path, found, format!("{most} cells for a text of this size"), "max_cells")
}

/// Replaces each NaN with the smallest value of its feature in its query, or with 0 if the query has no such value.
fn fill_missing(dataset: &mut RankingDataset) {
    let width = dataset.feature_count;
    let features = dataset.features.to_mut();
    for range in dataset.offsets.windows(2).map(|ends| ends[0]..ends[1]) {
        let rows = &mut features[range.start * width..range.end * width];
        for feature in 0..width {
            let smallest = rows[feature..].iter().step_by(width).copied().fold(f32::INFINITY, f32::min);
            let smallest = if smallest.is_finite() { smallest } else { 0.0 };
            let values = rows[feature..].iter_mut().step_by(width);
            values.filter(|value| value.is_nan()).for_each(|value| *value = smallest);
        }
    }
}

/// Replaces missing values with 0.
pub(super) fn zero_missing(values: &mut [f32]) {
    values.iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = 0.0);
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    /// A file of 32 PiB stands for one that packs its rows in another way.
    #[test]
    fn a_small_file_asks_for_no_memory_by_the_size_of_the_next_file() {
        let (options, like) = (ReadOptions::default(), Like::default());
        let mut assembly = Assembly::new(&options, &like, &[]);
        assembly.sizes = vec![32, 1 << 55];
        assembly.begin_file(Path::new("small.txt"), false);
        assembly.make_room(2, 32, 3, false).unwrap();
        assembly.begin_file(Path::new("large.txt"), false);
        let message = assembly.make_room(2, 32, 3, false).unwrap_err().to_string();
        assert!(message.starts_with("large.txt: a matrix of ") && message.ends_with(ADVICE), "{message}");
    }
}
