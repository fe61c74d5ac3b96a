//! Features that are used where they lie in an Arrow file.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::Float32Array;
use arrow_buffer::ScalarBuffer;

use super::map::FileMap;
use super::values::shown;
use crate::data::DataError;
use crate::data::in_file::Source;
use crate::data::letor::MISSING_HINT;

/// The column of features of a file, batch by batch.
pub(in crate::data) struct Stored {
    pub(super) parts: Vec<Part>,
    /// The file, unless it was read from a reader.
    pub(super) map: Option<Arc<FileMap>>,
    pub(super) path: PathBuf,
    /// Name of the column.
    pub(super) column: String,
    pub(super) refuses_missing: bool,
    /// Number of features.
    pub(in crate::data) width: usize,
}

/// The values of a batch.
pub(super) struct Part {
    pub(super) values: ScalarBuffer<f32>,
    /// Their bytes in the map.
    place: Option<Range<usize>>,
}

impl Stored {
    /// Goes on with the values of the next batch.
    pub(super) fn push(&mut self, values: ScalarBuffer<f32>) {
        let place = self.map.as_ref().and_then(|map| map.place_of(&values));
        self.parts.push(Part { values, place });
    }

    /// Hands the bytes of values to the map.
    fn with_bytes(&self, part: usize, values: Range<usize>, of_bytes: impl FnOnce(&FileMap, Range<usize>)) {
        if let (Some(map), Some(place)) = (&self.map, &self.parts[part].place)
            && !values.is_empty()
        {
            let byte = |value: usize| place.start + value * size_of::<f32>();
            of_bytes(map, byte(values.start)..byte(values.end));
        }
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

    fn used(&self, part: usize, values: Range<usize>) {
        self.with_bytes(part, values, FileMap::used);
    }

    fn expect(&self, part: usize, values: Range<usize>) {
        self.with_bytes(part, values, FileMap::expect);
    }

    fn refuses_missing(&self) -> bool {
        self.refuses_missing
    }

    fn unusable(&self, row: usize, feature: usize, value: f32) -> DataError {
        let hint = if value.is_nan() { format!(" ({MISSING_HINT})") } else { String::new() };
        DataError::Cell {
            path: self.path.clone(),
            row: row + 1,
            column: self.column.clone(),
            found: shown(&Float32Array::from(vec![value]), 0),
            expected: format!("a finite value of feature {}{hint}", feature + 1),
        }
    }
}
