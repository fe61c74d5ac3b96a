//! Appends the rows of a table to a dataset, and reports the first value that cannot be used.

use std::borrow::Cow;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, LargeStringArray, RecordBatch};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{ArrowError, Schema};

use super::map::FileMap;
use super::schema::{Features, Layout, check_width, is_list_of_float32};
use super::stored::Stored;
use super::values::{
    SHOWN, finite_value, first_length, floats, is_missing, items, plain_items, shown, side_by_side, texts, times,
    with_nan,
};
use crate::data::assembly::{Again, Assembly, zero_missing};
use crate::data::error::{DataError, unfit};
use crate::data::letor::{LABEL, LARGEST};
use crate::data::options::{KeyColumn, Missing};
use crate::parallel;
use crate::text::{counted, shortened};

/// The number of rows that are converted at a time.
const ROWS: usize = 1 << 16;

/// The words with which errors describe the identifier of a query.
const IDENTIFIER: &str = "the identifier of a query (text, or a whole number that its type holds exactly)";

/// The same, where a word of a CSV file stands for a missing value.
const NO_IDENTIFIER: &str = "the identifier of a query (this word stands for a missing value)";

/// A cell of a teacher's scores, in words.
pub(super) const TEACHER_SCORE: &str = "a teacher's score (a finite number), or an empty cell where there is none";

/// Appends the rows of a file to a dataset.
pub(super) struct Appender<'a, 'b> {
    assembly: &'a mut Assembly<'b>,
    path: &'a Path,
    pub layout: Layout,
    /// The largest number of cells that the dataset may have, which rises as more text is read.
    pub most_cells: usize,
    /// The features read so far, if they stay in the file; `None` if they are copied into memory.
    stored: Option<Stored>,
    /// The number of rows of the file, if it states one.
    rows: usize,
    /// Returns the identifier of a query for its text in the file, or `None` if the text is not an identifier.
    pub query_of: fn(&str) -> Option<&str>,
    /// Whether words such as `NA` stand for missing values, as in a CSV file.
    pub has_missing_words: bool,
}

impl<'a, 'b> Appender<'a, 'b> {
    pub fn new(assembly: &'a mut Assembly<'b>, path: &'a Path, layout: Layout, most_cells: usize) -> Self {
        let (stored, rows, has_missing_words) = (None, 0, false);
        Self { assembly, path, layout, most_cells, stored, rows, query_of: |text| Some(text), has_missing_words }
    }

    /// Prepares to leave features in their file instead of copying them into memory. Features can stay in the file only
    /// if they are lists of 32-bit floats and the file is the only input.
    pub fn leave_in_place(&mut self, map: Option<Arc<FileMap>>, schema: &Schema) {
        let Features::List(column) = self.layout.features else { return };
        let asked = self.assembly.options.features;
        let is_whole = asked.is_none_or(|asked| self.layout.width.is_none_or(|width| width == asked));
        let field = schema.field(column);
        if self.assembly.inputs == 1
            && self.assembly.options.missing_value.is_none()
            && is_whole
            && is_list_of_float32(field.data_type())
            && self.layout.width != Some(0)
        {
            self.stored = Some(Stored {
                parts: Vec::new(),
                map,
                path: self.path.to_path_buf(),
                column: field.name().clone(),
                refuses_missing: self.assembly.options.missing == Missing::Error,
                width: 0,
            });
        }
    }

    /// Reserves memory for the `rows` rows of the file; features that stay in the file need no memory.
    pub fn expect(&mut self, rows: usize) -> Result<(), DataError> {
        self.rows = rows;
        self.check_columns()?;
        let width = self.layout.width.unwrap_or(0).max(self.assembly.rows.count);
        let documents = self.assembly.documents_before.saturating_add(rows);
        self.check_cells(documents, width)?;
        let no_memory = |_| DataError::io(self.path)(std::io::ErrorKind::OutOfMemory.into());
        if self.stored.is_none() {
            let bytes = self.assembly.bytes_of(rows, width, self.layout.document.is_some());
            self.assembly.ask_memory(documents, width, bytes)?;
            self.assembly.rows.reserve(rows, width).map_err(no_memory)?;
        }
        let labels = &mut self.assembly.dataset.labels;
        labels.try_reserve_exact(documents.saturating_sub(labels.len())).map_err(no_memory)
    }

    /// Makes room for `rows` rows, which `bytes` bytes of text hold.
    pub fn make_room(&mut self, rows: usize, bytes: usize) -> Result<(), DataError> {
        self.assembly.make_room(rows, bytes, self.layout.width.unwrap_or(0), self.layout.document.is_some())
    }

    /// Rejects a table with missing or extra feature columns, because every later column would be read as the wrong
    /// feature.
    pub fn check_columns(&mut self) -> Result<(), DataError> {
        let Some(names) = self.layout.names.clone() else { return Ok(()) };
        let columns = names.len();
        let before = self.assembly.feature_columns.replace(names).map(|before| before.len());
        let asked = self.assembly.options.features;
        match asked.or(before) {
            Some(expected) if expected != columns => Err(unfit(
                self.path,
                format!("{} of features", counted(columns, "column")),
                format!("{expected}, one for each feature{}", asked.map_or("", |_| self.assembly.features_from)),
            )),
            _ => Ok(()),
        }
    }

    fn check_cells(&self, documents: usize, width: usize) -> Result<(), DataError> {
        if documents.saturating_mul(width) <= self.most_cells {
            return Ok(());
        }
        let found = format!("{documents} documents x {width} features");
        let limit = format!("{} cells for a file of this size", self.most_cells);
        Err(DataError::limit(self.path, found, limit, "max_cells"))
    }

    pub fn append(&mut self, batch: &RecordBatch) -> Result<(), DataError> {
        if batch.num_rows() > 0 {
            self.store(batch)?;
        }
        for start in (0..batch.num_rows()).step_by(ROWS) {
            self.append_part(&batch.slice(start, ROWS.min(batch.num_rows() - start)))?;
        }
        Ok(())
    }

    /// Records where the features of a batch are in the file, instead of copying them. Once a batch has nulls, the
    /// features of all batches are copied into memory.
    fn store(&mut self, batch: &RecordBatch) -> Result<(), DataError> {
        let (&Features::List(column), Some(_)) = (&self.layout.features, &self.stored) else { return Ok(()) };
        let width = self.list_width(batch.column(column))?;
        let fits = width > 0 && self.assembly.options.features.is_none_or(|asked| asked == width);
        let values = plain_items(batch.column(column), width).filter(|_| fits);
        match (&mut self.stored, values) {
            (Some(stored), Some(values)) => {
                stored.width = width;
                stored.push(values);
                self.assembly.rows.count = width;
            }
            (stored, _) => {
                if let Some(stored) = stored.take() {
                    self.copy_stored(stored)?;
                }
            }
        }
        Ok(())
    }

    /// Copies the features of the earlier batches, which stayed in the file until now. The file is the only input.
    fn copy_stored(&mut self, stored: Stored) -> Result<(), DataError> {
        self.expect(self.rows)?;
        let width = stored.width;
        if stored.parts.is_empty() {
            return Ok(());
        }
        let file = stored.into_features();
        file.check(width)?;
        let is_missing = file.first_missing(width).is_some();
        let rows = &mut self.assembly.rows;
        (rows.stride, rows.count, rows.rows) = (width, width, file.len() / width);
        file.append_to(width, 0..rows.rows, &mut rows.values);
        if is_missing && self.assembly.options.missing == Missing::Zero {
            zero_missing(&mut rows.values);
        } else {
            self.assembly.missing |= is_missing;
        }
        Ok(())
    }

    /// Finishes the file. Checks the number of rows and moves the rows of each query together. If features stay in the
    /// file, hands them to the dataset.
    pub fn finish(mut self, rows: Option<usize>) -> Result<(), DataError> {
        let found = self.assembly.dataset.documents() - self.assembly.documents_before;
        if let Some(rows) = rows.filter(|rows| found != *rows) {
            return Err(unfit(self.path, counted(found, "row"), format!("{rows}, as it states")));
        }
        self.assembly.note_width(self.layout.width.unwrap_or(0));
        if !self.assembly.apart.is_empty() {
            if let Some(stored) = self.stored.take() {
                self.copy_stored(stored)?;
            }
            return self.assembly.put_together();
        }
        self.assembly.in_file = self.stored.map(Stored::into_features);
        Ok(())
    }

    fn append_part(&mut self, batch: &RecordBatch) -> Result<(), DataError> {
        self.append_queries(batch)?;
        let labels = match self.layout.label {
            Some(column) => self.numbers(batch, column, LABEL)?,
            None => vec![0.0; batch.num_rows()].into(),
        };
        self.append_weights(batch)?;
        self.append_teacher(batch)?;
        self.append_positions(batch)?;
        self.append_keys(batch)?;
        let mut ids = Vec::new();
        if let Some(column) = self.layout.document {
            let texts = texts(batch.column(column)).map_err(|error| self.unreadable(error))?;
            if texts.iter().flatten().any(|id| !id.is_empty()) {
                ids = texts.iter().map(|id| id.unwrap_or_default().to_owned()).collect();
            }
        }
        let documents = self.assembly.dataset.documents() + batch.num_rows();
        self.assembly.add_document_ids(&mut ids, documents);
        self.append_features(batch)?;
        // A label of -0 becomes 0, as in text.
        self.assembly.dataset.labels.extend(labels.iter().map(|label| label + 0.0));
        Ok(())
    }

    fn append_queries(&mut self, batch: &RecordBatch) -> Result<(), DataError> {
        let column = self.layout.query;
        let queries = texts(batch.column(column)).map_err(|error| self.unreadable(error))?;
        let mut start = 0;
        while start < queries.len() {
            let text = queries.value(start);
            let query = (self.query_of)(text).filter(|query| queries.is_valid(start) && !query.is_empty());
            let Some(query) = query else {
                let is_word = !text.is_empty() && is_missing(text);
                return Err(self.cell(batch, column, start, if is_word { NO_IDENTIFIER } else { IDENTIFIER }));
            };
            let same = |row: &usize| queries.is_valid(*row) && queries.value(*row) == text;
            let end = (start + 1..queries.len()).find(|row| !same(row)).unwrap_or(queries.len());
            let row = self.row(start);
            let added = self.assembly.add_group(query.to_owned(), end - start, row);
            added.map_err(|Again { query, first_path, first_line }| {
                let found = format!("query `{}` again", shortened(&query, SHOWN));
                let began = format!("it began in row {first_line} of {}", first_path.display());
                let expected = format!("all its rows in one file ({began}; another query needs another name)");
                self.fault(batch, column, start, found, expected)
            })?;
            start = end;
        }
        Ok(())
    }

    fn append_weights(&mut self, batch: &RecordBatch) -> Result<(), DataError> {
        if let Some(column) = self.layout.weight {
            let weights = self.numbers(batch, column, "the weight of a document (a finite number of at least 0)")?;
            self.assembly.dataset.document_weights.extend_from_slice(&weights);
        }
        if let Some(column) = self.layout.query_weight {
            let weights = self.numbers(batch, column, "the weight of a query (a finite number of at least 0)")?;
            for (row, weight) in weights.iter().enumerate() {
                let run = self.run(row);
                let same = one_of_run(&mut self.assembly.dataset.query_weights, run, weight);
                same.map_err(|expected| self.cell(batch, column, row, &expected))?;
            }
        }
        Ok(())
    }

    /// Appends the scores of a teacher; an empty cell is a document without a score.
    fn append_teacher(&mut self, batch: &RecordBatch) -> Result<(), DataError> {
        let Some(column) = self.layout.teacher else { return Ok(()) };
        let scores = floats(batch.column(column)).map_err(|error| self.unreadable(error))?;
        let is_bad = |row: &usize| scores.is_valid(*row) && !scores.value(*row).is_finite();
        if let Some(row) = (0..scores.len()).find(is_bad) {
            return Err(self.cell(batch, column, row, TEACHER_SCORE));
        }
        self.assembly.dataset.teacher.extend(scores.iter().map(|score| score.unwrap_or(f32::NAN)));
        Ok(())
    }

    /// Appends the positions of documents, which are text or whole numbers.
    fn append_positions(&mut self, batch: &RecordBatch) -> Result<(), DataError> {
        let Some(column) = self.layout.position else { return Ok(()) };
        let positions = self.words(batch, column, "the position of a document (text or a whole number)")?;
        self.assembly.dataset.positions.extend(positions.iter().flatten());
        Ok(())
    }

    /// For each run of a query's rows, records the value by which queries are split: the group or the latest time.
    fn append_keys(&mut self, batch: &RecordBatch) -> Result<(), DataError> {
        let (Some(key), Some(column)) = (self.assembly.like.key, self.layout.key) else { return Ok(()) };
        match key {
            KeyColumn::Group(_) => {
                let groups = self.words(batch, column, "the group of a query")?;
                for row in 0..groups.len() {
                    let run = self.run(row);
                    let same = one_of_run(&mut self.assembly.groups, run, groups.value(row));
                    same.map_err(|expected| self.cell(batch, column, row, &expected))?;
                }
            }
            KeyColumn::Time(_) => {
                let (times, are_dates) = times(batch.column(column)).map_err(|error| self.unreadable(error))?;
                if *self.assembly.has_dates.get_or_insert(are_dates) != are_dates && !times.is_empty() {
                    let expected = if are_dates { "a number" } else { "a date or a time (ISO 8601)" };
                    return Err(self.cell(batch, column, 0, &format!("{expected}, as in the rows before")));
                }
                for row in 0..times.len() {
                    if times.is_null(row) || !times.value(row).is_finite() {
                        return Err(self.cell(batch, column, row, "a number, a date or a time (ISO 8601)"));
                    }
                    let (run, time) = (self.run(row), times.value(row));
                    match self.assembly.times.get_mut(run) {
                        None => self.assembly.times.push(time),
                        Some(latest) => *latest = latest.max(time),
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns a column of text without empty cells, and without words that stand for a missing value.
    fn words(&self, batch: &RecordBatch, column: usize, expected: &str) -> Result<LargeStringArray, DataError> {
        let texts = texts(batch.column(column)).map_err(|error| self.unreadable(error))?;
        let is_absent = |text: &str| text.is_empty() || (self.has_missing_words && is_missing(text));
        let absent = texts.iter().enumerate().find(|(_, text)| text.is_none_or(is_absent));
        let Some((row, text)) = absent else { return Ok(texts) };
        let is_word = text.is_some_and(|text| !text.is_empty());
        let why = if is_word { "; this word stands for a missing value" } else { "" };
        Err(self.cell(batch, column, row, &format!("{expected}{why}")))
    }

    /// Returns a column of finite numbers, each at least 0.
    fn numbers(&self, batch: &RecordBatch, column: usize, expected: &str) -> Result<ScalarBuffer<f32>, DataError> {
        let numbers = floats(batch.column(column)).map_err(|error| self.unreadable(error))?;
        let values = with_nan(&numbers);
        match values.iter().position(|value| !(*value >= 0.0 && value.is_finite())) {
            Some(row) if values[row].is_nan() => {
                Err(self.cell(batch, column, row, &format!("{expected}; leave out rows without one")))
            }
            Some(row) => Err(self.cell(batch, column, row, expected)),
            None => Ok(values),
        }
    }

    fn append_features(&mut self, batch: &RecordBatch) -> Result<(), DataError> {
        if let Some(stored) = &self.stored {
            return self.check_cells(self.assembly.dataset.documents() + batch.num_rows(), stored.width);
        }
        let values = match &self.layout.features {
            Features::Each(columns) => side_by_side(batch, columns).map_err(|error| self.unreadable(error))?,
            Features::List(column) => self.list_items(batch, *column)?,
        };
        let width = self.layout.width.unwrap_or(0);
        let documents = self.assembly.dataset.documents() + batch.num_rows();
        self.check_cells(documents, width.max(self.assembly.rows.count))?;
        let mut values = Cow::Borrowed(&values[..]);
        if self.assembly.options.missing_value.is_some() {
            // Before infinite values are refused: the number may lie beyond 32 bits.
            let number = self.assembly.options.missing_number();
            values.to_mut().iter_mut().filter(|value| **value == number).for_each(|value| *value = f32::NAN);
        }
        if parallel::map(values.chunks(ROWS), |part| part.iter().any(|value| !value.is_finite())).contains(&true) {
            self.check_values(batch, &values, width)?;
            if self.assembly.options.missing == Missing::Zero {
                zero_missing(values.to_mut());
            } else {
                self.assembly.missing = true;
            }
        }
        self.assembly.rows.append_dense(&values, width, width, batch.num_rows());
        Ok(())
    }

    /// Returns the length of the lists, from their type or from the first list.
    fn list_width(&mut self, lists: &dyn Array) -> Result<usize, DataError> {
        if self.layout.width.is_none() {
            self.layout.width = Some(first_length(lists));
            check_width(self.path, self.layout.width, self.assembly)?;
            self.expect(self.rows)?;
        }
        Ok(self.layout.width.unwrap_or(0))
    }

    fn list_items(&mut self, batch: &RecordBatch, column: usize) -> Result<ScalarBuffer<f32>, DataError> {
        let lists = batch.column(column);
        let width = self.list_width(lists)?;
        let items = items(lists, width).map_err(|(row, length)| {
            let found = length.map_or_else(|| "null".to_owned(), |length| counted(length, "value"));
            self.fault(batch, column, row, found, format!("{width}, as in the other rows"))
        })?;
        floats(&items).map(|items| with_nan(&items)).map_err(|error| self.unreadable(error))
    }

    /// Rejects the first value that is infinite, or that is missing when missing values are not allowed.
    fn check_values(&self, batch: &RecordBatch, values: &[f32], width: usize) -> Result<(), DataError> {
        let refuses_missing = self.assembly.options.missing == Missing::Error;
        let unusable = |value: &f32| value.is_infinite() || (value.is_nan() && refuses_missing);
        let Some(at) = values.iter().position(unusable) else { return Ok(()) };
        let (row, feature) = (at / width, at % width);
        let expected = finite_value(feature, values[at]);
        match &self.layout.features {
            Features::Each(columns) => Err(self.cell(batch, columns[feature], row, &expected)),
            Features::List(column) => {
                let found = items(batch.column(*column), width).map(|items| shown(&items, at)).unwrap_or_default();
                let expected = or_largest(&found, &expected);
                Err(self.fault(batch, *column, row, found, expected))
            }
        }
    }

    /// Returns the position of a row of the current batch in its file, counted from 1.
    fn row(&self, row: usize) -> usize {
        self.assembly.dataset.documents() - self.assembly.documents_before + row + 1
    }

    /// Returns the run of a query's rows to which a row of the current batch belongs.
    fn run(&self, row: usize) -> usize {
        let document = self.assembly.dataset.documents() + row;
        self.assembly.dataset.offsets.partition_point(|&offset| offset <= document) - 1
    }

    /// Returns the error for the value in a cell of the current batch.
    fn cell(&self, batch: &RecordBatch, column: usize, row: usize, expected: &str) -> DataError {
        let found = shown(batch.column(column), row);
        let expected = or_largest(&found, expected);
        self.fault(batch, column, row, found, expected)
    }

    fn fault(&self, batch: &RecordBatch, column: usize, row: usize, found: String, expected: String) -> DataError {
        let (path, row) = (self.path.to_path_buf(), self.row(row));
        DataError::Cell { path, row, column: batch.schema_ref().field(column).name().clone(), found, expected }
    }

    fn unreadable(&self, error: ArrowError) -> DataError {
        unfit(self.path, error.to_string(), "columns that can be read as numbers and text")
    }
}

/// Adds the value of a row to the values of the runs of queries' rows, each of which has one value. If the first row of
/// the run has another value, returns the value expected, in words.
fn one_of_run<T: PartialEq<V> + Display, V: ToOwned<Owned = T> + ?Sized>(
    values: &mut Vec<T>,
    run: usize,
    value: &V,
) -> Result<(), String> {
    match values.get(run) {
        Some(first) if first != value => return Err(format!("{first}, as in the query's rows before")),
        Some(_) => {}
        None => values.push(value.to_owned()),
    }
    Ok(())
}

/// Returns `expected`, which describes the allowed numbers in an error message. If the number in `found` is beyond the
/// range of 32-bit floats, the returned text also names the largest float.
pub(super) fn or_largest(found: &str, expected: &str) -> String {
    match found.parse::<f64>() {
        Ok(number) if number.is_finite() && (number as f32).is_infinite() => format!("{expected} {LARGEST}"),
        _ => expected.to_owned(),
    }
}
