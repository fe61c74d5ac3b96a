//! Splits the queries of a dataset into folds, or into sets of given shares.

use std::collections::HashMap;

use rand::seq::SliceRandom;

use super::Fold;
use crate::data::dataset::RankingDataset;
use crate::data::options::Keys;
use crate::refusal::Refusal;
use crate::seed::random_for;

/// Shuffles the queries of a dataset with the seed `seed`, splits them into `parts` parts, and rotates the parts. Sizes
/// of parts differ by at most one query.
///
/// # Errors
/// Returns [`Refusal`] for fewer than three parts, or for more parts than queries.
pub fn split(dataset: &RankingDataset, parts: usize, seed: u64) -> Result<Vec<Fold<usize>>, Refusal> {
    split_by(dataset, None, parts, seed)
}

/// Splits a dataset as [`split`] does, but keeps queries of the same group or time together. A split by time does not
/// rotate folds. For `K` folds, a split by time cuts the queries into `K + 2` parts. In a split by time, fold `f`
/// trains on parts `1 .. f`, validates on part `f + 1` and tests on part `f + 2`.
///
/// # Errors
/// Returns [`Refusal`] for fewer than three folds, or for too few queries, groups or times.
pub fn split_by(
    dataset: &RankingDataset,
    keys: Option<&Keys>,
    folds: usize,
    seed: u64,
) -> Result<Vec<Fold<usize>>, Refusal> {
    let units = units(dataset, keys, seed, "folds");
    let is_by_time = matches!(keys, Some(Keys::Times(_)));
    let more = if is_by_time { 2 } else { 0 };
    let most = units.len().saturating_sub(more);
    if folds < 3 || folds > most {
        let (of, less) = match keys {
            None => ("queries", ""),
            Some(Keys::Groups(_)) => ("groups", ""),
            Some(Keys::Times(_)) => ("times", ", less two"),
        };
        let expected = match most {
            0..3 => format!("at least {} {of} to split, found {}", 3 + more, units.len()),
            _ => format!("from 3 to {most}, the number of {of}{less}"),
        };
        return Err(Refusal::new("folds", folds, expected));
    }
    let parts = if is_by_time {
        let count = folds + more;
        let parts = cut(units, &vec![1.0 / count as f64; count]);
        if parts.iter().any(Vec::is_empty) {
            let expected = "fewer folds: too many queries have the same time for parts of this size";
            return Err(Refusal::new("folds", folds, expected));
        }
        parts
    } else {
        deal(units, folds)
    };
    // In a split by time, no part is rotated, and a fold trains on all parts before its own.
    let fold = |first: usize| match is_by_time {
        true => Fold::of(first, 0..=first, [first + 1, first + 2], &parts),
        false => Fold::rotated(first, &parts),
    };
    let sorted = |mut queries: Vec<usize>| {
        queries.sort_unstable();
        queries
    };
    let queries = |Fold { number, train, validation, test }: Fold<Vec<usize>>| {
        let [train, validation, test] = [train, validation, test].map(|parts| sorted(parts.concat()));
        Fold { number, train, validation, test }
    };
    Ok((0..folds).map(fold).map(queries).collect())
}

/// Splits the queries of a dataset into sets that hold the given shares of the queries. If queries must stay together,
/// they all go to the set into which the middle query of their group falls. In a split by time, the sets follow one
/// another in time. In every other split, queries or groups are first shuffled with the seed.
pub fn split_by_shares(dataset: &RankingDataset, keys: Option<&Keys>, shares: &[f64], seed: u64) -> Vec<Vec<usize>> {
    cut(units(dataset, keys, seed, "split"), shares)
}

/// Returns groups of queries that must stay together; the groups are shuffled, or ordered by their times.
fn units(dataset: &RankingDataset, keys: Option<&Keys>, seed: u64, purpose: &str) -> Vec<Vec<usize>> {
    let mut units: Vec<Vec<usize>> = match keys {
        None => (0..dataset.queries()).map(|query| vec![query]).collect(),
        Some(Keys::Groups(groups)) => {
            let (mut units, mut places) = (Vec::<Vec<usize>>::new(), HashMap::<_, usize>::new());
            for (query, group) in groups.iter().enumerate() {
                let place = *places.entry(group).or_insert(units.len());
                if place == units.len() {
                    units.push(Vec::new());
                }
                units[place].push(query);
            }
            units
        }
        Some(Keys::Times(times)) => {
            let mut queries: Vec<usize> = (0..times.len()).collect();
            queries.sort_by(|&a, &b| times[a].total_cmp(&times[b]));
            return queries.chunk_by(|&a, &b| times[a] == times[b]).map(<[usize]>::to_vec).collect();
        }
    };
    units.shuffle(&mut random_for(seed, purpose, 0));
    units
}

/// Distributes units over parts. Each unit goes to the part that has the fewest queries so far.
fn deal(units: Vec<Vec<usize>>, parts: usize) -> Vec<Vec<usize>> {
    let mut dealt = vec![Vec::new(); parts];
    for unit in units {
        if let Some(part) = dealt.iter_mut().min_by_key(|part| part.len()) {
            part.extend(unit);
        }
    }
    dealt
}

/// Cuts the units, in their order, into sets that hold the given shares of the queries. The query indices of each set
/// ascend.
fn cut(units: Vec<Vec<usize>>, shares: &[f64]) -> Vec<Vec<usize>> {
    let all: usize = units.iter().map(Vec::len).sum();
    let ends = shares.iter().scan(0.0, |end, share| {
        *end += share * all as f64;
        Some(*end)
    });
    let ends: Vec<f64> = ends.collect();
    let last = shares.iter().rposition(|share| *share > 0.0).unwrap_or(0);
    let mut sets = vec![Vec::new(); shares.len()];
    let mut before = 0;
    for unit in units {
        let middle = before as f64 + unit.len() as f64 / 2.0;
        before += unit.len();
        // The last end may be rounded down.
        sets[ends.iter().position(|end| middle < *end).map_or(last, |set| set.min(last))].extend(unit);
    }
    sets.iter_mut().for_each(|set| set.sort_unstable());
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_tests_every_query_once() {
        let sizes = [1, 2, 3, 1, 1, 4, 2];
        let dataset = RankingDataset::builder()
            .features(vec![0.0; 14], 1)
            .labels(vec![0.0; 14])
            .query_sizes(&sizes)
            .build()
            .unwrap();
        let folds = split(&dataset, 3, 7).unwrap();
        let mut tested: Vec<usize> = folds.iter().flat_map(|fold| fold.test.clone()).collect();
        tested.sort_unstable();
        assert_eq!(tested, (0..7).collect::<Vec<_>>());
        for fold in &folds {
            let mut all = [fold.train.clone(), fold.validation.clone(), fold.test.clone()].concat();
            all.sort_unstable();
            assert_eq!(all, (0..7).collect::<Vec<_>>());
        }
        assert_eq!(folds, split(&dataset, 3, 7).unwrap());
        assert_ne!(folds, split(&dataset, 3, 8).unwrap());
        assert!(split(&dataset, 2, 7).is_err());
        assert!(split(&dataset, 8, 7).is_err());
    }

    fn queries(count: usize) -> RankingDataset {
        RankingDataset::builder()
            .features(vec![0.0; count], 1)
            .labels(vec![0.0; count])
            .query_sizes(&vec![1; count])
            .build()
            .unwrap()
    }

    #[test]
    fn parts_of_queries_are_every_so_many_of_the_shuffled_ones() {
        let dataset = queries(11);
        let mut shuffled: Vec<usize> = (0..11).collect();
        shuffled.shuffle(&mut random_for(7, "folds", 0));
        for (fold, part) in split(&dataset, 4, 7).unwrap().iter().zip([3, 0, 1, 2]) {
            let mut expected: Vec<usize> = shuffled.iter().copied().skip(part).step_by(4).collect();
            expected.sort_unstable();
            assert_eq!(fold.test, expected);
        }
    }

    #[test]
    fn queries_of_a_group_are_never_on_both_sides() {
        let dataset = queries(20);
        let groups: Vec<String> = (0..20).map(|query| (query * query % 7).to_string()).collect();
        let keys = Keys::Groups(groups.clone());
        let of = |queries: &[usize]| {
            queries.iter().map(|&query| groups[query].as_str()).collect::<std::collections::BTreeSet<_>>()
        };
        let folds = split_by(&dataset, Some(&keys), 3, 1).unwrap();
        let mut tested: Vec<usize> = folds.iter().flat_map(|fold| fold.test.clone()).collect();
        tested.sort_unstable();
        assert_eq!(tested, (0..20).collect::<Vec<_>>());
        let by_shares = split_by_shares(&dataset, Some(&keys), &[0.6, 0.2, 0.2], 1);
        let by_shares = [&by_shares[0][..], &by_shares[1], &by_shares[2]];
        for [train, validation, test] in
            folds.iter().map(|fold| [&fold.train[..], &fold.validation, &fold.test]).chain([by_shares])
        {
            assert!(
                of(train).is_disjoint(&of(validation))
                    && of(train).is_disjoint(&of(test))
                    && of(validation).is_disjoint(&of(test))
            );
            assert_eq!(train.len() + validation.len() + test.len(), 20);
        }
        assert_eq!(
            split_by(&dataset, Some(&keys), 5, 1).unwrap_err().to_string(),
            "folds = 5: expected from 3 to 4, the number of groups"
        );
    }

    #[test]
    fn by_time_training_is_before_validation_and_validation_before_test() {
        let dataset = queries(10);
        let times: Vec<f64> = [5, 1, 9, 3, 3, 7, 0, 8, 2, 6].map(f64::from).to_vec();
        let keys = Keys::Times(times.clone());
        let shares = split_by_shares(&dataset, Some(&keys), &[0.6, 0.2, 0.2], 1);
        assert_eq!(shares, [vec![0, 1, 3, 4, 6, 8], vec![5, 9], vec![2, 7]]);
        assert_eq!(shares, split_by_shares(&dataset, Some(&keys), &[0.6, 0.2, 0.2], 2));
        for fold in split_by(&dataset, Some(&keys), 3, 1).unwrap() {
            let ends = |queries: &[usize]| {
                let times = queries.iter().map(|&query| times[query]);
                (times.clone().fold(f64::MAX, f64::min), times.fold(f64::MIN, f64::max))
            };
            assert!(ends(&fold.train).1 < ends(&fold.validation).0 && ends(&fold.validation).1 < ends(&fold.test).0);
        }
        let same = Keys::Times(vec![1.0; 10]);
        assert_eq!(split_by(&dataset, Some(&same), 3, 1).unwrap_err().expected, "at least 5 times to split, found 1");
    }

    #[test]
    fn shares_of_queries_are_rounded_and_none_is_lost() {
        for count in 1..40 {
            for shares in [[0.6, 0.2, 0.2], [1.0, 0.0, 0.0], [0.5, 0.0, 0.5], [0.9, 0.1, 0.0], [1.0 / 3.0; 3]] {
                let sets = split_by_shares(&queries(count), None, &shares, 3);
                let mut end = 0.0;
                let mut before = 0;
                for (set, share) in sets.iter().zip(shares) {
                    end += share * count as f64;
                    before += set.len();
                    assert!((before as f64 - end).abs() <= 0.5 + 1e-9, "{count} {shares:?}");
                }
                assert_eq!(before, count);
            }
        }
    }
}
