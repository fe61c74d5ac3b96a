//! A shard is a range of consecutive queries. One process works on the shards in turn, or each process on some of them.
//!
//! A dataset is cut into parts, each with the documents of one shard of the queries.
//!
//! A pass over the features computes a result for each part, then combines the results in the order of the parts. The
//! result of a pass does not depend on which process reads which part. If the data are not cut, each process reads
//! whole chunks of documents. Results are combined chunk by chunk, as in a single process.

use std::ops::Range;
use std::sync::Arc;

use rand::seq::SliceRandom;

use crate::distributed::ProcessGroup;

/// Divides pieces of work among a group in order, and returns the pieces for this process.
pub fn own(pieces: usize, group: &ProcessGroup) -> Range<usize> {
    Shards::new(pieces, group.count()).range(group.rank())
}

/// The parts into which queries are cut. The sizes of parts differ by at most one query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shards {
    queries: usize,
    count: usize,
}

impl Shards {
    /// Cuts `queries` queries into `count` parts, or into one part if `count` is 0.
    pub(crate) fn new(queries: usize, count: usize) -> Self {
        Self { queries, count: count.max(1) }
    }

    /// Returns the number of parts.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Returns the queries of a part.
    pub(crate) fn range(&self, shard: usize) -> Range<usize> {
        let bound = |shard: usize| shard * self.queries / self.count;
        bound(shard)..bound(shard + 1)
    }

    /// Returns, for each query of an epoch in turn, the part from which it is taken. After any number of queries, the
    /// number that a part has provided differs from its share by at most one.
    pub(crate) fn turns(&self) -> Vec<usize> {
        if self.count == 1 {
            return vec![0; self.queries];
        }
        let mut placed: Vec<(f64, usize)> = Vec::with_capacity(self.queries);
        for shard in 0..self.count {
            let length = self.range(shard).len();
            placed.extend((0..length).map(|at| ((at as f64 + 0.5) / length as f64, shard)));
        }
        // The sort is stable, so the queries of equally long parts alternate in the order of the parts.
        placed.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        placed.into_iter().map(|(_, shard)| shard).collect()
    }

    /// Returns the queries in `queries` that belong to a part, in their order.
    pub(crate) fn share(&self, shard: usize, queries: &[usize]) -> Vec<usize> {
        let own = self.range(shard);
        queries.iter().copied().filter(|query| own.contains(query)).collect()
    }

    /// Returns all queries in random order, divided into steps of `queries` queries; one step may have fewer. Each step
    /// takes queries from every part in proportion to the part's size, to within two queries.
    pub(crate) fn steps(&self, queries: usize, random: &mut impl rand::Rng) -> Vec<Vec<usize>> {
        let shuffled = |shard| {
            let mut order: Vec<usize> = self.range(shard).collect();
            order.shuffle(random);
            order.into_iter()
        };
        let mut orders: Vec<_> = (0..self.count).map(shuffled).collect();
        let mut step = |turns: &[usize]| turns.iter().filter_map(|&shard| orders[shard].next()).collect();
        let mut steps: Vec<Vec<usize>> = self.turns().chunks(queries.max(1)).map(&mut step).collect();
        steps.shuffle(random);
        steps
    }
}

/// The number of documents in a chunk. The size of a chunk is fixed, so sums do not depend on who adds them.
pub const CHUNK: usize = 4096;

/// Ranges of consecutive documents that together cover the data; a single range, unless the data were cut.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    /// The index of each part's first document, followed by the total number of documents; empty for a single part.
    bounds: Arc<[usize]>,
}

impl Parts {
    /// Cuts the documents where one shard of queries ends and the next begins; `offsets` are the offsets of the
    /// queries.
    pub fn new(offsets: &[usize], shards: &Shards) -> Self {
        let bound = |query: usize| offsets.get(query).copied().unwrap_or(0);
        let first = |shard: usize| bound(shards.range(shard).start);
        match shards.count() {
            1 => Self::default(),
            count => Self { bounds: (0..count).map(first).chain([bound(offsets.len().saturating_sub(1))]).collect() },
        }
    }

    /// Returns the number of parts.
    pub fn count(&self) -> usize {
        self.bounds.len().saturating_sub(1).max(1)
    }

    /// Returns the documents of a part, out of `all` documents.
    pub fn rows(&self, part: usize, all: usize) -> Range<usize> {
        match self.bounds.get(part..part + 2) {
            Some(bounds) => bounds[0]..bounds[1],
            None => 0..all,
        }
    }

    /// Returns the documents, out of `all`, that this process reads. A process reads the documents of its own parts or,
    /// if there is only one part, a share of its chunks.
    pub fn own_rows(&self, all: usize, readers: &ProcessGroup) -> Range<usize> {
        self.share(readers.rank(), readers.count(), all)
    }

    /// Returns the number of documents, out of `all`, that are read by the process that reads the most.
    pub fn most_rows(&self, all: usize, readers: &ProcessGroup) -> usize {
        (0..readers.count()).map(|process| self.share(process, readers.count(), all).len()).max().unwrap_or(0)
    }

    fn share(&self, process: usize, readers: usize, all: usize) -> Range<usize> {
        if self.count() == 1 {
            let chunks = Shards::new(all.div_ceil(CHUNK), readers).range(process);
            return all.min(chunks.start * CHUNK)..all.min(chunks.end * CHUNK);
        }
        let parts = Shards::new(self.count(), readers).range(process);
        self.bounds[parts.start]..self.bounds[parts.end]
    }

    /// Returns the results of `of_part` for all parts, in order. Each process computes the results of its own parts.
    pub fn gather(&self, readers: &ProcessGroup, of_part: impl FnMut(usize) -> Vec<u8>) -> Vec<Vec<u8>> {
        readers.gather_all(own(self.count(), readers).map(of_part).collect())
    }

    /// Returns the numbers that `of_part` computes for each part. [`gather`](Self::gather) collects the numbers of all
    /// readers.
    pub fn gather_numbers(&self, readers: &ProcessGroup, mut of_part: impl FnMut(usize) -> Vec<f64>) -> Vec<Vec<f64>> {
        let all = self.gather(readers, |part| of_part(part).into_iter().flat_map(f64::to_le_bytes).collect());
        all.iter().map(|bytes| numbers(bytes)).collect()
    }
}

/// Converts bytes to the numbers that they encode.
pub(super) fn numbers(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha8Rng;
    use proptest::prelude::*;
    use rand::SeedableRng;

    use super::*;
    use crate::distributed::testing::in_processes;

    #[test]
    fn parts_follow_the_order_of_the_file() {
        let shards = Shards::new(10, 3);
        assert_eq!((0..3).map(|shard| shards.range(shard)).collect::<Vec<_>>(), [0..3, 3..6, 6..10]);
        assert_eq!(shards.share(1, &[9, 4, 0, 3, 6]), [4, 3]);
        assert_eq!(Shards::new(10, 1).range(0), 0..10);
        assert!(Shards::new(2, 5).range(0).is_empty());
    }

    proptest! {
        #[test]
        fn every_step_takes_its_share_of_every_part(queries in 1usize..200, count in 1usize..9, size in 1usize..40, seed: u64) {
            let shards = Shards::new(queries, count);
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let steps = shards.steps(size, &mut random);
            prop_assert_eq!(steps.len(), queries.div_ceil(size));
            prop_assert!(steps.iter().filter(|step| step.len() < size).count() <= 1);
            let mut all = steps.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..queries).collect::<Vec<_>>());
            for step in &steps {
                for shard in 0..count {
                    let fair = step.len() as f64 * shards.range(shard).len() as f64 / queries as f64;
                    prop_assert!((shards.share(shard, step).len() as f64 - fair).abs() <= 2.0);
                }
            }
        }
    }

    #[test]
    fn draws_differ() {
        let steps = |seed| Shards::new(40, 4).steps(8, &mut ChaCha8Rng::seed_from_u64(seed));
        assert_eq!(steps(1), steps(1));
        assert_ne!(steps(1), steps(2));
    }

    #[test]
    fn parts_are_the_documents_of_shards() {
        let offsets = [0, 3, 4, 9, 10];
        let parts = |count| Parts::new(&offsets, &Shards::new(4, count));
        let rows = |parts: &Parts| {
            let rows = (0..parts.count()).map(|part| parts.rows(part, 10));
            rows.map(|rows| (rows.start, rows.end)).collect::<Vec<_>>()
        };
        assert_eq!(rows(&parts(1)), [(0, 10)]);
        assert_eq!(rows(&parts(2)), [(0, 4), (4, 10)]);
        assert_eq!(rows(&parts(4)), [(0, 3), (3, 4), (4, 9), (9, 10)]);
        assert_eq!(rows(&parts(6)), [(0, 0), (0, 3), (3, 4), (4, 4), (4, 9), (9, 10)]);
        assert_eq!(rows(&Parts::new(&[], &Shards::new(0, 2))), [(0, 0), (0, 0)]);
        for count in 1..6 {
            let shares = |parts: Parts, all: usize| in_processes(count, |readers| parts.own_rows(all, readers));
            for (shares, all) in [(shares(parts(6), 10), 10), (shares(parts(1), 3 * CHUNK + 5), 3 * CHUNK + 5)] {
                assert!(shares.windows(2).all(|pair| pair[0].end == pair[1].start));
                assert_eq!((shares[0].start, shares[count - 1].end), (0, all));
            }
        }
        let share = |process| parts(1).share(process, 2, 3 * CHUNK + 5);
        assert_eq!((share(0), share(1)), (0..2 * CHUNK, 2 * CHUNK..3 * CHUNK + 5));
        let doubled = |readers: &ProcessGroup| parts(4).gather_numbers(readers, |part| vec![2.0 * part as f64; part]);
        assert_eq!(doubled(ProcessGroup::ALONE), [vec![], vec![2.0], vec![4.0; 2], vec![6.0; 3]]);
        for count in 1..6 {
            assert!(in_processes(count, doubled).iter().all(|found| *found == doubled(ProcessGroup::ALONE)));
        }
    }
}
