//! A shard is a range of consecutive queries. One process works on the shards in turn, or each process on some of them.

use std::ops::Range;

#[cfg(feature = "learners")]
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
    #[cfg(feature = "learners")]
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
    #[cfg(feature = "learners")]
    pub(crate) fn share(&self, shard: usize, queries: &[usize]) -> Vec<usize> {
        let own = self.range(shard);
        queries.iter().copied().filter(|query| own.contains(query)).collect()
    }

    /// Returns all queries in random order, divided into steps of `queries` queries; one step may have fewer. Each step
    /// takes queries from every part in proportion to the part's size, to within two queries.
    #[cfg(feature = "learners")]
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

#[cfg(all(test, feature = "learners"))]
mod tests {
    use chacha20::ChaCha8Rng;
    use proptest::prelude::*;
    use rand::SeedableRng;

    use super::*;

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
}
