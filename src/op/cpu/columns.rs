//! `Columns`: the documents that the rows of a list meet.

use super::real::Real;
use super::tiles::blocks;

/// `W` numbers of each document that rows meet. The others add 0 to every row, so that they are left out. Those that are
/// kept stand in the blocks and pairs in which all documents would stand: sums over them have the same bits.
pub struct Columns<T, const W: usize> {
    values: [Vec<T>; W],
    /// Where each block ends.
    ends: Vec<usize>,
}

impl<T: Real, const W: usize> Columns<T, W> {
    /// Keeps the pairs of documents of which rows meet at least one.
    pub fn new(values: [&[T]; W], meets: impl Fn(usize) -> bool) -> Self {
        let n = values[0].len();
        let (mut kept, mut ends): ([Vec<T>; W], _) = (values.map(|_| Vec::with_capacity(n)), Vec::new());
        for block in blocks(n) {
            for start in block.clone().step_by(2) {
                let pair = start..(start + 2).min(block.end);
                if pair.clone().any(&meets) {
                    kept.iter_mut()
                        .zip(values)
                        .for_each(|(kept, values)| kept.extend_from_slice(&values[pair.clone()]));
                }
            }
            ends.push(kept[0].len());
        }
        Self { values: kept, ends }
    }

    /// Number of documents.
    pub fn len(&self) -> usize {
        self.values[0].len()
    }

    /// The numbers block by block.
    #[inline(always)]
    pub fn blocks(&self) -> impl Iterator<Item = [&[T]; W]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| self.values.each_ref().map(|values| &values[start..end]))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tiles::BLOCK;
    use super::*;

    #[test]
    fn pairs_and_blocks_stay_as_they_are() {
        let values: Vec<f64> = (0..2 * BLOCK + 3).map(|i| i as f64).collect();
        let kept = [1, 6, BLOCK, 2 * BLOCK + 2];
        let columns = Columns::new([&values], |i| kept.contains(&i));
        let found: Vec<Vec<f64>> = columns.blocks().map(|[values]| values.to_vec()).collect();
        let [second, third] = [BLOCK as f64, (2 * BLOCK) as f64];
        assert_eq!(found, [vec![0.0, 1.0, 6.0, 7.0], vec![second, second + 1.0], vec![third + 2.0]]);
        assert_eq!(columns.len(), 7);
    }
}
