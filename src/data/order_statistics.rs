//! Finds the values at given ranks of a column without sorting it. Each pass over the rows counts how often each bit
//! prefix occurs. The counts determine eight or sixteen more bits of the wanted values.

use super::features::Features;
use crate::distributed::ProcessGroup;
use crate::parallel;

/// The number of different values of the upper 16 bits, which the first pass counts.
const FIRST: usize = 1 << 16;
/// The number of different values of the next 8 bits, which each later pass counts.
const NEXT: usize = 1 << 8;
/// The largest number of counters in memory at once; together they take 128 MiB.
const COUNTS: usize = 1 << 24;
/// The number of rows that are counted column by column while they are in the processor's cache.
const ROWS: usize = 512;
/// The number of columns that a thread counts at a time.
const COLUMNS: usize = 8;

/// Returns, for each feature, the values at `ranks` in the order of [`f32::total_cmp`]. Missing values are ignored. The
/// ranks of a feature are given in ascending order, possibly with repetitions, and count from 0. The results equal the
/// values of a sorted copy, bit for bit. A group that shares the reading adds up its counts.
pub(super) fn order_statistics(features: &Features, ranks: &[Vec<usize>]) -> Vec<Vec<f32>> {
    let readers = features.readers();
    let most = ranks.iter().map(Vec::len).max().unwrap_or(0);
    let at_once = (COUNTS / FIRST.max(most * NEXT)).max(1);
    let mut values = Vec::with_capacity(ranks.len());
    for (group, ranks_of_group) in ranks.chunks(at_once).enumerate() {
        let first = group * at_once;
        let column = |(feature, ranks): (usize, &Vec<usize>)| {
            let wanted = ranks.iter().map(|&rank| Wanted { prefix: 0, rank }).collect();
            Column { feature, wanted, prefixes: Vec::new(), counts: Vec::new() }
        };
        let mut columns: Vec<Column> = (first..).zip(ranks_of_group).map(column).collect();
        for pass in 0..PASSES.len() {
            columns.iter_mut().for_each(|column| column.begin(pass));
            features.each_own_block(ranks.len(), readers, 1, |rows| {
                parallel::for_each(columns.chunks_mut(COLUMNS), |columns| {
                    for rows in rows.chunks(ROWS * ranks.len()) {
                        columns.iter_mut().for_each(|column| column.count(pass, rows, ranks.len()));
                    }
                });
            });
            if readers.count() > 1 {
                // A few at a time: every process gets the counts of all others.
                columns.chunks_mut(COLUMNS).for_each(|columns| add_counts(columns, readers));
            }
            columns.iter_mut().for_each(|column| column.end(pass));
        }
        let values_of = |column: &Column| column.wanted.iter().map(|wanted| value(wanted.prefix)).collect();
        values.extend(columns.iter().map(values_of));
    }
    values
}

/// Adds the counts of all readers.
fn add_counts(columns: &mut [Column], readers: &ProcessGroup) {
    let counts = || columns.iter().flat_map(|column| column.counts.iter());
    let all = readers.gather(counts().flat_map(|count| count.to_le_bytes()).collect());
    columns.iter_mut().for_each(|column| column.counts.fill(0));
    for counts in all {
        let counts = counts.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
        let sums = columns.iter_mut().flat_map(|column| column.counts.iter_mut());
        sums.zip(counts).for_each(|(sum, count)| *sum += count);
    }
}

/// For each pass: the number of bits still unknown after it, and the number of different values of the bits that it
/// finds.
const PASSES: [(u32, usize); 3] = [(16, FIRST), (8, NEXT), (0, NEXT)];

/// A value to be found by its rank, of which only the leading bits are known so far.
struct Wanted {
    /// The known first bits.
    prefix: u32,
    /// The rank of the value among all values that begin with the known bits.
    rank: usize,
}

struct Column {
    feature: usize,
    /// The values to be found, in ascending order.
    wanted: Vec<Wanted>,
    /// The distinct prefixes of requested values, in ascending order.
    prefixes: Vec<u32>,
    /// The number of values that begin with each prefix and continue with each pattern of the next bits,
    /// `[prefixes, patterns]`.
    counts: Vec<u64>,
}

impl Column {
    fn begin(&mut self, pass: usize) {
        self.prefixes = self.wanted.iter().map(|wanted| wanted.prefix).collect();
        self.prefixes.dedup();
        self.counts.clear();
        self.counts.resize(self.prefixes.len() * PASSES[pass].1, 0);
    }

    fn count(&mut self, pass: usize, rows: &[f32], width: usize) {
        let (shift, bins) = PASSES[pass];
        let bits = bins.trailing_zeros();
        if self.prefixes.is_empty() {
            return;
        }
        for value in rows[self.feature..].iter().step_by(width).filter(|value| !value.is_nan()) {
            let known = key(*value) >> shift;
            // The first pass knows no bits.
            let place = if pass == 0 { Ok(0) } else { self.prefixes.binary_search(&(known >> bits)) };
            if let Ok(place) = place {
                self.counts[place * bins + (known as usize & (bins - 1))] += 1;
            }
        }
    }

    fn end(&mut self, pass: usize) {
        let bins = PASSES[pass].1;
        let (mut place, mut bin, mut before) = (0, 0, 0);
        for wanted in &mut self.wanted {
            while self.prefixes[place] != wanted.prefix {
                (place, bin, before) = (place + 1, 0, 0);
            }
            let counts = &self.counts[place * bins..(place + 1) * bins];
            while bin + 1 < bins && before + counts[bin] as usize <= wanted.rank {
                before += counts[bin] as usize;
                bin += 1;
            }
            *wanted = Wanted { prefix: wanted.prefix * bins as u32 + bin as u32, rank: wanted.rank - before };
        }
    }
}

/// Maps a float to an unsigned integer such that the integers sort in the order of [`f32::total_cmp`].
fn key(value: f32) -> u32 {
    let bits = value.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// Returns the float that `key` maps to this integer.
fn value(key: u32) -> f32 {
    f32::from_bits(if key >> 31 == 1 { key & !(1 << 31) } else { !key })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn they_are_the_values_of_a_sorted_copy(
            mut columns in prop::collection::vec(prop::collection::vec(any::<f32>(), 40), 1..4),
            close: bool, repeated in 0usize..20, asked in prop::collection::btree_set(0usize..40, 0..30),
        ) {
            for column in &mut columns {
                if close {
                    column.iter_mut().for_each(|value| *value = f32::from_bits(0x3f80_0000 | (value.to_bits() & 0x3ff)));
                }
                let first = column[0];
                column[..repeated].fill(first);
            }
            let width = columns.len();
            let features: Features = (0..40 * width).map(|at| columns[at % width][at / width]).collect();
            let mut ranks = Vec::new();
            let mut expected = Vec::new();
            for column in &mut columns {
                column.retain(|value| !value.is_nan());
                column.sort_by(f32::total_cmp);
                let there: Vec<usize> = asked.iter().copied().filter(|rank| *rank < column.len()).collect();
                expected.push(there.iter().map(|rank| column[*rank].to_bits()).collect::<Vec<u32>>());
                ranks.push(there);
            }
            let found = order_statistics(&features, &ranks);
            let bits: Vec<Vec<u32>> =
                found.iter().map(|values| values.iter().map(|value| value.to_bits()).collect()).collect();
            prop_assert_eq!(bits, expected);
        }
    }
}
