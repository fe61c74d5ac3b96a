//! Gives access to features that stay in an Arrow file.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::Float32Array;
use arrow_buffer::ScalarBuffer;

use super::map::FileMap;
use super::values::{finite_value, shown};
use crate::data::error::DataError;
use crate::data::features::{Features, Source};

/// The feature column of an Arrow file, with one part for each batch.
pub(super) struct Stored {
    pub(super) parts: Vec<Part>,
    /// The mapped file; `None` if the table was read from a reader.
    pub(super) map: Option<Arc<FileMap>>,
    pub(super) path: PathBuf,
    /// The name of the column.
    pub(super) column: String,
    pub(super) refuses_missing: bool,
    /// The number of features.
    pub(super) width: usize,
}

/// The feature values of one record batch.
pub(super) struct Part {
    pub(super) values: ScalarBuffer<f32>,
    /// The byte range of the file that holds the values.
    place: Option<Range<usize>>,
}

impl Stored {
    /// Appends the values of the next batch.
    pub(super) fn push(&mut self, values: ScalarBuffer<f32>) {
        let place = self.map.as_ref().and_then(|map| map.place_of(&values));
        self.parts.push(Part { values, place });
    }

    /// Returns the features that stay in the file.
    pub(super) fn into_features(self) -> Features {
        let width = self.width;
        Features::in_file(Box::new(self), width)
    }

    /// Returns the file and the byte range of values, if the values are read from the file instead of mapped.
    fn bytes_to_read(&self, part: usize, values: &Range<usize>) -> Option<(&FileMap, Range<usize>)> {
        let map = self.map.as_deref().filter(|map| map.is_read())?;
        let start = self.parts[part].place.as_ref()?.start;
        let byte = |value: usize| start + value * size_of::<f32>();
        Some((map, byte(values.start)..byte(values.end)))
    }
}

impl Source for Stored {
    fn parts(&self) -> usize {
        self.parts.len()
    }

    fn part(&self, part: usize) -> &[f32] {
        &self.parts[part].values
    }

    fn buffer(&self) -> Option<ScalarBuffer<f32>> {
        match &self.parts[..] {
            [part] => Some(part.values.clone()),
            _ => None,
        }
    }

    fn keep(&self, bytes: usize) {
        if let Some(map) = &self.map {
            map.keep(bytes);
        }
    }

    fn is_read(&self) -> bool {
        self.map.as_ref().is_some_and(|map| map.is_read())
    }

    fn copy(&self, part: usize, values: Range<usize>, out: &mut [f32]) {
        match self.bytes_to_read(part, &values) {
            Some((map, bytes)) => map.copy(bytes, bytemuck::cast_slice_mut(out)),
            None => out.copy_from_slice(&self.part(part)[values]),
        }
    }

    fn read(&self, part: usize, values: Range<usize>, out: &mut [f32]) {
        match self.bytes_to_read(part, &values) {
            Some((map, bytes)) => map.read(bytes, bytemuck::cast_slice_mut(out)),
            None => out.copy_from_slice(&self.part(part)[values]),
        }
    }

    fn expect(&self, part: usize, values: Range<usize>) {
        if let Some((map, bytes)) = self.bytes_to_read(part, &values) {
            map.expect(bytes);
        }
    }

    fn refuses_missing(&self) -> bool {
        self.refuses_missing
    }

    fn unusable(&self, row: usize, feature: usize, value: f32) -> DataError {
        let (path, column) = (self.path.clone(), self.column.clone());
        let (found, expected) = (shown(&Float32Array::from(vec![value]), 0), finite_value(feature, value));
        DataError::Cell { path, row: row + 1, column, found, expected }
    }
}
