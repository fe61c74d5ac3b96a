//! A dense matrix that can grow in rows and in columns.

use std::collections::TryReserveError;

use crate::memory::product;
use crate::parallel;

/// The number of rows that a thread moves at a time when rows are reordered.
const PART: usize = 1000;

/// Rows of features, where the number of features is not known yet.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// The values `[rows x stride]`, row-major; columns beyond `count` hold `absent`.
    pub values: Vec<f32>,
    /// The number of allocated columns.
    pub stride: usize,
    /// The number of columns in use, which is the largest feature index so far.
    pub count: usize,
    /// The number of rows so far.
    pub rows: usize,
    /// The value of a feature that a row lacks: 0 or NaN.
    pub absent: f32,
}

impl Rows {
    /// Removes all rows but keeps their memory; later rows have `stride` columns.
    pub fn reset(&mut self, stride: usize, absent: f32) {
        self.absent = absent;
        self.values.clear();
        self.stride = stride;
        self.count = 0;
        self.rows = 0;
    }

    /// Adds a row of absent features, and returns the index of its first value.
    #[inline]
    pub fn add_row(&mut self) -> usize {
        let start = self.values.len();
        self.values.resize(start + self.stride, self.absent);
        self.rows += 1;
        start
    }

    /// Makes room for `count` columns. The number of columns grows by at least half, because growing by one column at a
    /// time would take quadratic time.
    pub fn widen(&mut self, count: usize) {
        if count > self.stride {
            self.restride(count.max(self.stride + self.stride / 2));
        }
    }

    /// Returns the number of bytes that must be allocated to append `rows` rows of `count` columns.
    pub fn grows_by(&self, rows: usize, count: usize) -> u64 {
        let numbers = if count > self.stride {
            product([self.rows + rows, count.max(self.stride + self.stride / 2)])
        } else {
            let more = product([rows, self.stride]);
            let spare = (self.values.capacity() - self.values.len()) as u64;
            let capacity = self.values.capacity() as u64;
            // The values are copied to a larger piece of memory.
            if more > spare { capacity + more.max(capacity / 4) } else { 0 }
        };
        numbers.saturating_mul(size_of::<f32>() as u64)
    }

    fn restride(&mut self, stride: usize) {
        let kept = self.stride.min(stride);
        let mut values = vec![self.absent; self.rows * stride];
        if kept > 0 {
            for (new, old) in values.chunks_exact_mut(stride).zip(self.values.chunks_exact(self.stride)) {
                new[..kept].copy_from_slice(&old[..kept]);
            }
        }
        self.values = values;
        self.stride = stride;
    }

    /// Makes room for `rows` rows of `count` columns.
    pub fn reserve(&mut self, rows: usize, count: usize) -> Result<(), TryReserveError> {
        self.values.try_reserve_exact(rows.saturating_mul(count))
    }

    /// Appends `rows` rows that are stored with `stride` columns each, of which only the first `count` are in use.
    pub fn append_dense(&mut self, values: &[f32], stride: usize, count: usize, rows: usize) {
        if self.rows == 0 {
            self.stride = count;
        }
        self.widen(count);
        self.count = self.count.max(count);
        let more = rows * self.stride;
        if more > self.values.capacity() - self.values.len() {
            self.values.reserve_exact(more.max(self.values.capacity() / 4));
        }
        if self.stride == stride {
            self.values.extend_from_slice(values);
        } else if stride == 0 {
            self.values.resize(self.values.len() + more, self.absent);
        } else {
            for row in values.chunks_exact(stride) {
                self.values.extend_from_slice(&row[..count]);
                self.values.resize(self.values.len() + self.stride - count, self.absent);
            }
        }
        self.rows += rows;
    }

    /// Moves rows so that place `first + i` gets row `order[i]`. Besides the memory of the rows, reordering needs
    /// memory for a thousandth of the rows, and for four numbers per row.
    pub fn reorder(&mut self, first: usize, order: &[usize]) {
        let stride = self.stride;
        if stride == 0 {
            return;
        }
        let mut rows: Vec<_> = self.values[first * stride..].chunks_exact_mut(stride).map(Some).collect();
        let mut cycle = Vec::new();
        for start in 0..order.len() {
            let mut place = start;
            while order[place] != first + place
                && let Some(row) = rows[place].take()
            {
                cycle.push(row);
                place = order[place] - first;
            }
            turn(&mut cycle);
            cycle.clear();
        }
    }

    /// Returns the values as a matrix with exactly `count` columns. `count` must be at least the number of columns in
    /// use.
    pub fn finish(mut self, count: usize) -> Vec<f32> {
        if count > self.stride {
            self.restride(count);
        } else if count < self.stride {
            // In place: a second copy of the largest part of a dataset may not fit.
            for row in 0..self.rows {
                let start = row * self.stride;
                self.values.copy_within(start..start + count, row * count);
            }
            self.values.truncate(self.rows * count);
        }
        self.values
    }
}

/// Rotates the rows of a cycle. Each row moves to the place of the row before it, and the first row moves to the last
/// place. A long cycle is cut into pieces that threads rotate in parallel; each piece gets a copy of the next piece's
/// first row.
fn turn(cycle: &mut [&mut [f32]]) {
    if cycle.len() > PART {
        let firsts: Vec<Vec<f32>> = cycle.chunks(PART).map(|part| part[0].to_vec()).collect();
        let parts = cycle.chunks_mut(PART).enumerate();
        parallel::for_each(parts, |(at, part)| shift(part, &firsts[(at + 1) % firsts.len()]));
    } else if let Some(first) = cycle.first() {
        let first = first.to_vec();
        shift(cycle, &first);
    }
}

/// Moves each row to the place of the row before it, and copies `next` to the last place.
fn shift(part: &mut [&mut [f32]], next: &[f32]) {
    for place in 1..part.len() {
        let (before, from) = part.split_at_mut(place);
        before[place - 1].copy_from_slice(from[0]);
    }
    part[part.len() - 1].copy_from_slice(next);
}

#[cfg(test)]
mod tests {
    use super::{PART, Rows};

    #[test]
    fn rows_come_into_the_order_asked_for() {
        let mut rows = Rows::default();
        let values: Vec<f32> = (0..14).map(|value| value as f32).collect();
        rows.append_dense(&values, 2, 2, 7);
        let order = [4, 2, 3, 6, 5];
        rows.reorder(2, &order);
        let expected: Vec<f32> =
            [0, 1].iter().chain(&order).flat_map(|row| [2 * row, 2 * row + 1]).map(|value| value as f32).collect();
        assert_eq!(rows.values, expected);
    }

    #[test]
    fn cycles_longer_than_a_part_are_rows_in_order() {
        let count = 5 * PART + 7;
        // One cycle of all rows but the last two, which change places.
        let mut order: Vec<usize> = (0..count - 2).map(|row| (row + 3) % (count - 2)).collect();
        order.extend([count - 1, count - 2]);
        let mut rows = Rows::default();
        let values: Vec<f32> = (0..2 * count).map(|value| value as f32).collect();
        rows.append_dense(&values, 2, 2, count);
        rows.reorder(0, &order);
        let expected: Vec<f32> =
            order.iter().flat_map(|row| [2 * row, 2 * row + 1]).map(|value| value as f32).collect();
        assert_eq!(rows.values, expected);
    }

    #[test]
    fn a_line_of_many_features_is_moved_only_a_few_times() {
        // Found by fuzzing: a line of 667,665 features took a minute and a half.
        let mut rows = Rows::default();
        rows.add_row();
        let mut moves = 0;
        for count in 1..=100_000 {
            let before = rows.stride;
            rows.widen(count);
            moves += usize::from(rows.stride != before);
        }
        assert!(moves < 40, "{moves}");
    }
}
