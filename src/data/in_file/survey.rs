//! What one pass over the values of a file finds.

use rayon::prelude::*;

/// Number of rows that a thread looks through at a time.
const ROWS: usize = 4096;

/// Missing and infinite values, and the range of each feature.
pub(in crate::data) struct Survey {
    /// Place of the first infinite value.
    pub first_infinite: Option<usize>,
    /// Place of the first missing value.
    pub first_missing: Option<usize>,
    /// Number of missing values of each feature.
    pub missing_of: Vec<usize>,
    /// Smallest value of each feature, missing ones aside; infinity where there are none.
    lows: Vec<f32>,
    /// Largest value of each feature; minus infinity where there are none.
    highs: Vec<f32>,
    /// Number of values so far.
    values: usize,
}

impl Survey {
    /// Begins a pass over rows of `width` values, at least 1.
    pub fn new(width: usize) -> Self {
        Self {
            first_infinite: None,
            first_missing: None,
            missing_of: vec![0; width],
            lows: vec![f32::INFINITY; width],
            highs: vec![f32::NEG_INFINITY; width],
            values: 0,
        }
    }

    /// Goes on with the rows that come next.
    pub fn add(&mut self, rows: &[f32]) {
        let width = self.lows.len();
        let of_part = |part: &[f32]| {
            let mut survey = Self::new(width);
            survey.add_part(part);
            survey
        };
        let parts: Vec<Self> = rows.par_chunks(ROWS * width).map(of_part).collect();
        parts.iter().for_each(|part| self.join(part));
    }

    fn add_part(&mut self, rows: &[f32]) {
        let width = self.lows.len();
        for row in rows.chunks_exact(width) {
            for ((low, high), value) in self.lows.iter_mut().zip(&mut self.highs).zip(row) {
                *low = low.min(*value);
                *high = high.max(*value);
            }
        }
        if rows.iter().any(|value| !value.is_finite()) {
            self.first_infinite = rows.iter().position(|value| value.is_infinite());
            self.first_missing = rows.iter().position(|value| value.is_nan());
            for (at, _) in rows.iter().enumerate().filter(|(_, value)| value.is_nan()) {
                self.missing_of[at % width] += 1;
            }
        }
        self.values = rows.len();
    }

    fn join(&mut self, next: &Self) {
        let moved = |at: usize| self.values + at;
        self.first_infinite = self.first_infinite.or(next.first_infinite.map(moved));
        self.first_missing = self.first_missing.or(next.first_missing.map(moved));
        self.values += next.values;
        self.missing_of.iter_mut().zip(&next.missing_of).for_each(|(sum, more)| *sum += more);
        self.lows.iter_mut().zip(&next.lows).for_each(|(low, other)| *low = low.min(*other));
        self.highs.iter_mut().zip(&next.highs).for_each(|(high, other)| *high = high.max(*other));
    }

    /// Returns the smallest and largest value of each feature; (0, 0) where there are none.
    pub fn ranges(&self) -> Vec<(f32, f32)> {
        let range = |(&low, &high)| if low > high { (0.0, 0.0) } else { (low, high) };
        self.lows.iter().zip(&self.highs).map(range).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_places_the_counts_and_the_ranges_do_not_depend_on_the_parts() {
        let rows = 3 * ROWS + 7;
        let mut values: Vec<f32> = (0..2 * rows).map(|at| (at * 37 % 101) as f32 - 50.0).collect();
        let (missing, infinite) = (2 * ROWS + 5, 4 * ROWS + 2);
        values[missing] = f32::NAN;
        values[infinite + 3] = f32::NAN;
        values[infinite] = f32::NEG_INFINITY;
        for part in [values.len(), 2 * ROWS, 2 * 1000] {
            let mut survey = Survey::new(2);
            values.chunks(part).for_each(|rows| survey.add(rows));
            assert_eq!((survey.first_missing, survey.first_infinite), (Some(missing), Some(infinite)));
            assert_eq!(survey.missing_of, [0, 2]);
            assert_eq!(survey.ranges(), [(f32::NEG_INFINITY, 50.0), (-50.0, 50.0)]);
        }
        assert_eq!(Survey::new(1).ranges(), [(0.0, 0.0)]);
    }
}
