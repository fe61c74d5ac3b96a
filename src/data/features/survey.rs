//! A survey of feature values, made in one pass.

use crate::data::shards::CHUNK;
use crate::parallel;

/// The number of rows that a thread surveys at a time.
pub(in crate::data) const ROWS: usize = CHUNK;

/// The missing and infinite values that a pass found, with the range and the sum of each feature.
#[derive(Clone)]
pub(in crate::data) struct Survey {
    /// The place and the value of the first infinite value.
    pub first_infinite: Option<(usize, f32)>,
    /// The place of the first missing value.
    pub first_missing: Option<usize>,
    /// The number of missing values of each feature.
    pub missing_of: Vec<usize>,
    /// The sum of each feature, ignoring missing values.
    pub sums: Vec<f64>,
    /// The smallest value of each feature, ignoring missing values; infinity for a feature without values.
    lows: Vec<f32>,
    /// The largest value of each feature; minus infinity for a feature without values.
    highs: Vec<f32>,
    /// The number of values that were added so far.
    values: usize,
}

impl Survey {
    /// Begins a survey of rows with `width` values each, at least 1.
    pub fn new(width: usize) -> Self {
        Self {
            first_infinite: None,
            first_missing: None,
            missing_of: vec![0; width],
            sums: vec![0.0; width],
            lows: vec![f32::INFINITY; width],
            highs: vec![f32::NEG_INFINITY; width],
            values: 0,
        }
    }

    /// Returns the number of values in a row.
    pub fn width(&self) -> usize {
        self.lows.len()
    }

    /// Adds the next rows. The number of rows added before must be a multiple of [`ROWS`], because sums depend on how
    /// rows are grouped.
    pub fn add(&mut self, rows: &[f32]) {
        let width = self.width();
        let parts = rows.chunks(ROWS * width.max(1));
        parallel::map(parts, |part| Self::of(part, width)).iter().for_each(|part| self.join(part));
    }

    /// Returns the survey of a few rows.
    pub fn of(rows: &[f32], width: usize) -> Self {
        let Self { mut missing_of, mut sums, mut lows, mut highs, .. } = Self::new(width);
        for row in rows.chunks_exact(width.max(1)) {
            for (((low, high), sum), value) in lows.iter_mut().zip(&mut highs).zip(&mut sums).zip(row) {
                *low = low.min(*value);
                *high = high.max(*value);
                *sum += if value.is_nan() { 0.0 } else { f64::from(*value) };
            }
        }
        let (mut first_infinite, mut first_missing) = (None, None);
        if rows.iter().any(|value| !value.is_finite()) {
            first_infinite = rows.iter().position(|value| value.is_infinite()).map(|place| (place, rows[place]));
            first_missing = rows.iter().position(|value| value.is_nan());
            for (at, _) in rows.iter().enumerate().filter(|(_, value)| value.is_nan()) {
                missing_of[at % width] += 1;
            }
        }
        Self { first_infinite, first_missing, missing_of, sums, lows, highs, values: rows.len() }
    }

    /// Appends the survey of the values that come next.
    pub fn join(&mut self, next: &Self) {
        let moved = |at: usize| self.values + at;
        self.first_infinite = self.first_infinite.or(next.first_infinite.map(|(at, value)| (moved(at), value)));
        self.first_missing = self.first_missing.or(next.first_missing.map(moved));
        self.values += next.values;
        self.missing_of.iter_mut().zip(&next.missing_of).for_each(|(sum, more)| *sum += more);
        self.sums.iter_mut().zip(&next.sums).for_each(|(sum, more)| *sum += more);
        self.lows.iter_mut().zip(&next.lows).for_each(|(low, other)| *low = low.min(*other));
        self.highs.iter_mut().zip(&next.highs).for_each(|(high, other)| *high = high.max(*other));
    }

    /// Returns the survey as numbers, to be exchanged with other readers.
    pub fn to_numbers(&self) -> Vec<f64> {
        let place = |place: Option<usize>| place.map_or(-1.0, |place| place as f64);
        let (infinite, value) = self.first_infinite.unzip();
        let first = [self.values as f64, place(infinite), value.unwrap_or_default().into(), place(self.first_missing)];
        let missing = self.missing_of.iter().map(|missing| *missing as f64);
        let ranges = self.lows.iter().chain(&self.highs).copied().map(f64::from);
        first.into_iter().chain(missing).chain(self.sums.iter().copied()).chain(ranges).collect()
    }

    /// Restores a survey from the numbers that [`to_numbers`](Self::to_numbers) returned.
    pub fn from_numbers(numbers: &[f64]) -> Self {
        let (first, of_features) = numbers.split_at(4);
        let width = of_features.len() / 4;
        let column = |place: usize| of_features[place * width..(place + 1) * width].iter().copied();
        let place = |place: f64| (place >= 0.0).then_some(place as usize);
        Self {
            values: first[0] as usize,
            first_infinite: place(first[1]).map(|place| (place, first[2] as f32)),
            first_missing: place(first[3]),
            missing_of: column(0).map(|missing| missing as usize).collect(),
            sums: column(1).collect(),
            lows: column(2).map(|low| low as f32).collect(),
            highs: column(3).map(|high| high as f32).collect(),
        }
    }

    /// Combines the surveys of several parts, each encoded as numbers. The survey of no parts is empty.
    pub fn of_parts(parts: &[Vec<f64>]) -> Self {
        let mut parts = parts.iter().map(|numbers| Self::from_numbers(numbers));
        let mut all = parts.next().unwrap_or_else(|| Self::new(0));
        parts.for_each(|part| all.join(&part));
        all
    }

    /// Returns the smallest and the largest value of each feature; (0, 0) for a feature without values.
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
            let mut in_parts: Vec<Vec<f64>> = Vec::new();
            for rows in values.chunks(part) {
                let mut survey = Survey::new(2);
                survey.add(rows);
                in_parts.push(survey.to_numbers());
            }
            for survey in [survey, Survey::of_parts(&in_parts)] {
                assert_eq!(survey.first_missing, Some(missing));
                assert_eq!(survey.first_infinite, Some((infinite, f32::NEG_INFINITY)));
                assert_eq!(survey.missing_of, [0, 2]);
                assert_eq!(survey.sums[0], f64::NEG_INFINITY);
                let odd = values.iter().skip(1).step_by(2).filter(|value| !value.is_nan());
                assert_eq!(survey.sums[1], odd.map(|value| f64::from(*value)).sum::<f64>());
                assert_eq!(survey.ranges(), [(f32::NEG_INFINITY, 50.0), (-50.0, 50.0)]);
            }
        }
        assert_eq!(Survey::new(1).ranges(), [(0.0, 0.0)]);
    }
}
