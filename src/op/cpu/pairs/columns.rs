//! Pairs tiles of rows with columns, which are the documents that can change the sums of these rows.

use std::borrow::Cow;

use super::pair_weight::filled;
use crate::op::cpu::{
    lists::{BLOCK, LOST, TILE, for_each, gather, scatter},
    real::Real,
};

/// The columns that rows are paired with, `W` numbers for each. Documents that add 0 to the sum of every row may be
/// left out. The remaining documents are added in the same blocks and pairs as without this selection, so the sums are
/// the same to the last bit.
pub struct Columns<'a, T: Real, const W: usize> {
    values: [Cow<'a, [T]>; W],
    /// The end of each block of documents.
    ends: Vec<usize>,
}

impl<'a, T: Real, const W: usize> Columns<'a, T, W> {
    /// Selects all documents of a list.
    pub fn all(values: [&'a [T]; W]) -> Self {
        let n = values[0].len();
        let ends = (0..n).step_by(BLOCK).map(|start| (start + BLOCK).min(n)).collect();
        Self { values: values.map(Cow::Borrowed), ends }
    }

    /// Selects pairs of neighboring documents (0 and 1, 2 and 3, ..) if `meets` holds for at least one of the two.
    pub fn met(values: [&[T]; W], meets: impl Fn(usize) -> bool) -> Self {
        let n = values[0].len();
        let (mut kept, mut ends) = (Vec::with_capacity(n + 1), Vec::new());
        for start in (0..n).step_by(2) {
            if start % BLOCK == 0 && start > 0 {
                ends.push(kept.len());
            }
            if meets(start) || start + 1 < n && meets(start + 1) {
                kept.extend([start, start + 1]);
            }
        }
        // The last document may have no neighbor.
        kept.truncate(kept.partition_point(|&i| i < n));
        ends.push(kept.len());
        Self { values: values.map(|values| kept.iter().map(|&i| values[i]).collect()), ends }
    }

    /// Returns the number of selected documents.
    pub fn len(&self) -> usize {
        self.values[0].len()
    }

    /// Returns the numbers of the selected documents, one slice per block.
    #[inline(always)]
    pub fn blocks(&self) -> impl Iterator<Item = [&[T]; W]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let ends = self.ends.iter();
        starts.zip(ends).map(|(start, &end)| {
            let kept = start..end.max(start + LOST) - LOST;
            self.values.each_ref().map(|values| &values[kept.clone()])
        })
    }
}

/// A tile of rows and the columns that they are paired with.
pub struct Tile<'a, T: Real, const W: usize> {
    pub columns: &'a Columns<'a, T, W>,
    /// The values of each row, in the order of `columns`. The arrays may be longer than `sums`.
    pub rows: [&'a [T]; W],
    pub sums: &'a mut [T],
}

/// Splits the rows into tiles that are paired with `columns`.
pub fn tiles<'a, T: Real, const W: usize>(
    columns: &'a Columns<'a, T, W>,
    rows: [&'a [T]; W],
    sums: &'a mut [T],
) -> Vec<Tile<'a, T, W>> {
    let tile = |(tile, sums)| Tile { columns, rows: rows.map(|values| &values[tile * TILE..]), sums };
    sums.chunks_mut(TILE).enumerate().map(tile).collect()
}

/// Some rows of a list, and the columns with which all of these rows are paired.
pub struct Meeting<'a, T: Real, const W: usize> {
    /// The positions of the rows in the list.
    rows: Vec<usize>,
    /// The values of each row, in the order of `columns`, extended with zeros to whole vectors.
    values: [Vec<T>; W],
    columns: Columns<'a, T, W>,
}

impl<'a, T: Real, const W: usize> Meeting<'a, T, W> {
    /// Selects `rows` from the values of all documents.
    pub fn new(rows: Vec<usize>, values: [&[T]; W], columns: Columns<'a, T, W>) -> Self {
        Self { values: values.map(|values| filled(gather(values, &rows))), rows, columns }
    }

    /// Runs a kernel on all tiles of several groups of rows, and writes the sum of each row to its place in `out`.
    pub fn each_tile(meetings: &[Self], pairs: usize, out: &mut [T], kernel: impl Fn(Tile<'_, T, W>) + Sync + Send) {
        let mut sums: Vec<Vec<T>> = meetings.iter().map(|meeting| vec![T::ZERO; meeting.values[0].len()]).collect();
        let tiles = meetings
            .iter()
            .zip(&mut sums)
            .flat_map(|(meeting, sums)| tiles(&meeting.columns, meeting.values.each_ref().map(Vec::as_slice), sums));
        for_each(tiles.collect(), pairs, kernel);
        for (meeting, sums) in meetings.iter().zip(&sums) {
            scatter(out, &meeting.rows, sums);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::cpu::lists::BLOCK;

    #[test]
    fn pairs_and_blocks_stay_as_they_are() {
        let values: Vec<f64> = (0..2 * BLOCK + 3).map(|i| i as f64).collect();
        let kept = [1, 6, BLOCK, 2 * BLOCK + 2];
        let columns = Columns::met([&values], |i| kept.contains(&i));
        let found: Vec<Vec<f64>> = columns.blocks().map(|[values]| values.to_vec()).collect();
        let [second, third] = [BLOCK as f64, (2 * BLOCK) as f64];
        assert_eq!(found, [vec![0.0, 1.0, 6.0, 7.0], vec![second, second + 1.0], vec![third + 2.0]]);
        assert_eq!(columns.len(), 7);
    }
}
