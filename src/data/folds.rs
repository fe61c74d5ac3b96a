//! Folds for cross-validation, made by rotating parts, by reading folders `FoldN`, or by splitting one dataset.
//!
//! With K parts, fold `f` trains on parts `f .. f + K - 3`, validates on part `f + K - 2` and tests on part
//! `f + K - 1`. Part numbers above K wrap around to 1. With the five parts of LETOR, fold 1 trains on S1 S2 S3,
//! validates on S4 and tests on S5. Every query is in the test set of exactly one fold.

use std::collections::HashMap;
use std::fs::DirEntry;
use std::io;
use std::path::{Path, PathBuf};

use chacha20::ChaCha8Rng;
use rand::SeedableRng;
use rand::seq::SliceRandom;

use super::dataset::RankingDataset;
use super::error::DataError;
use super::options::Keys;
use crate::refusal::Refusal;
use crate::seed::seed_for;
use crate::text::{counted, did_you_mean, first_of, nearest};

/// One fold: its files, or its queries as ascending indices into a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fold<T = PathBuf> {
    /// The number of the fold, from 1.
    pub number: usize,
    /// What to train on.
    pub train: Vec<T>,
    /// What is used to select a model.
    pub validation: Vec<T>,
    /// What to test on.
    pub test: Vec<T>,
}

/// Finds the folds in a folder. The search prefers folders `Fold1`, `Fold2`, ..., each with files `train`, `vali` and
/// `test`. If there are no folders `FoldN`, the files `S1`, `S2`, ... are taken as parts and rotated. Otherwise, the
/// files `train`, `vali` and `test` in the folder form a single fold.
///
/// File names have one of these endings, in order of preference: `.txt`, `.txt.gz`, `.gz`, no ending, `.arrow`,
/// `.parquet`, `.csv`, `.csv.gz`, `.tsv`, `.tsv.gz`. `vali` may also be called `valid` or `validation`.
///
/// # Errors
/// Returns [`DataError::Folds`] if the folder holds no folds, if their numbering has a gap, or if a fold lacks a file.
pub fn discover(folder: &Path) -> Result<Vec<Fold>, DataError> {
    let names = names(folder)?;
    let folders = numbered(folder, &names, "Fold", |name| name.strip_prefix("Fold")?.parse().ok())?;
    if !folders.is_empty() {
        return (1..).zip(folders).map(|(number, path)| named_files(&path, number)).collect();
    }
    let parts = numbered(folder, &names, "S", |name| part_number(name).filter(|_| folder.join(name).is_file()))?;
    if !parts.is_empty() {
        return rotate(folder, &parts);
    }
    if SETS.iter().flat_map(|set| set.iter()).any(|set| file(folder, &[set]).is_some()) {
        return Ok(vec![named_files(folder, 1)?]);
    }
    let found =
        if names.is_empty() { "an empty folder".to_owned() } else { first_of(names.iter().map(String::as_str)) };
    let near = did_you_mean(&near(&names, &SETS.concat()));
    let expected = format!("folders Fold1, Fold2, ..., or parts S1, S2, ..., or {FILES}{near}");
    Err(DataError::folds(folder, found, expected))
}

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
pub(crate) fn split_by(
    dataset: &RankingDataset,
    keys: Option<&Keys>,
    folds: usize,
    seed: u64,
) -> Result<Vec<Fold<usize>>, Refusal> {
    let units = units(dataset, keys, seed_for(seed, "folds", 0));
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

impl<T: Clone> Fold<T> {
    /// Returns the fold `first`, from 0, which trains on some parts, validates on a part and tests on another.
    fn of(first: usize, train: impl Iterator<Item = usize>, [validation, test]: [usize; 2], parts: &[T]) -> Self {
        let part = |part: usize| parts[part].clone();
        Self {
            number: first + 1,
            train: train.map(part).collect(),
            validation: vec![part(validation)],
            test: vec![part(test)],
        }
    }

    /// Returns the fold `first`, from 0, of rotated parts. It trains on `K - 2` consecutive parts from part `first` on,
    /// where part 0 follows the last of the `K` parts.
    fn rotated(first: usize, parts: &[T]) -> Self {
        let count = parts.len();
        let part = |part: usize| (first + part) % count;
        Self::of(first, (0..count - 2).map(part), [part(count - 2), part(count - 1)], parts)
    }
}

/// Splits the queries of a dataset into sets that hold the given shares of the queries. If queries must stay together,
/// they all go to the set into which the middle query of their group falls. In a split by time, the sets follow one
/// another in time. In every other split, queries or groups are first shuffled with the seed.
pub(crate) fn split_by_shares(
    dataset: &RankingDataset,
    keys: Option<&Keys>,
    shares: &[f64],
    seed: u64,
) -> Vec<Vec<usize>> {
    cut(units(dataset, keys, seed_for(seed, "split", 0)), shares)
}

/// Returns groups of queries that must stay together; the groups are shuffled, or ordered by their times.
fn units(dataset: &RankingDataset, keys: Option<&Keys>, seed: u64) -> Vec<Vec<usize>> {
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
    units.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
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

fn rotate(folder: &Path, parts: &[PathBuf]) -> Result<Vec<Fold>, DataError> {
    let count = parts.len();
    if count < 3 {
        let expected = "at least three parts S1, S2, S3 (to train, validate and test)";
        return Err(DataError::folds(folder, counted(count, "part"), expected));
    }
    Ok((0..count).map(|first| Fold::rotated(first, parts)).collect())
}

/// The accepted endings of file names, in order of preference. Text comes first, so adding tables to a folder of text
/// files does not change which files are read.
const ENDINGS: [&str; 10] = [".txt", ".txt.gz", ".gz", "", ".arrow", ".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz"];

/// The accepted names of the training, validation and test sets.
const SETS: [&[&str]; 3] = [&["train"], &["vali", "valid", "validation"], &["test"]];

/// The names and endings of the files of a fold, for messages.
const FILES: &str = "train, vali (or valid, validation) and test, each as .txt, .arrow, .parquet, .csv or .tsv, \
                     where .txt, .csv and .tsv may be compressed to .gz";

fn named_files(folder: &Path, number: usize) -> Result<Fold, DataError> {
    let names = names(folder)?;
    let set = |set: &[&str]| {
        file(folder, set).map(|path| vec![path]).ok_or_else(|| {
            let found = format!("no `{}` among {}", set[0], first_of(names.iter().map(String::as_str)));
            DataError::folds(folder, found, format!("{FILES}{}", did_you_mean(&near(&names, set))))
        })
    };
    Ok(Fold { number, train: set(SETS[0])?, validation: set(SETS[1])?, test: set(SETS[2])? })
}

/// Returns the name that is most similar to the name of a set, apart from its ending, if no set has that name.
fn near(names: &[String], set: &[&str]) -> Option<String> {
    let stem = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let others: Vec<&String> = names.iter().filter(|name| !SETS.concat().contains(&ending(name).1)).collect();
    let stems: Vec<String> = others.iter().map(|name| stem(name)).collect();
    let near = set.iter().find_map(|name| nearest(name, stems.iter().map(String::as_str)))?;
    others.into_iter().find(|name| stem(name) == near).cloned()
}

/// Returns the part number in a file name, such as 2 for `S2.txt.gz`.
pub(crate) fn part_number(name: &str) -> Option<usize> {
    ending(name).1.strip_prefix('S')?.parse().ok()
}

/// Returns the position of the name's ending in `ENDINGS`, where preferred endings come first, and the name without the
/// ending.
fn ending(name: &str) -> (usize, &str) {
    let stems = ENDINGS.iter().enumerate().filter_map(|(at, ending)| Some((at, name.strip_suffix(ending)?)));
    stems.min_by_key(|(_, stem)| stem.len()).unwrap_or((ENDINGS.len(), name))
}

/// Returns the first file that exists, trying each name with all endings in order of preference.
fn file(folder: &Path, names: &[&str]) -> Option<PathBuf> {
    let mut paths = names.iter().flat_map(|name| ENDINGS.map(|ending| folder.join(format!("{name}{ending}"))));
    paths.find(|path| path.is_file())
}

fn names(folder: &Path) -> Result<Vec<String>, DataError> {
    let name = |entry: io::Result<DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
    let names: io::Result<Vec<String>> = std::fs::read_dir(folder).and_then(|entries| entries.map(name).collect());
    let mut names = names.map_err(DataError::io(folder))?;
    names.sort_unstable();
    Ok(names)
}

/// Returns the entries of a folder that are numbered 1, 2, ..., and rejects a gap in the numbers. If several files have
/// the same number, such as plain and compressed text, the file with the preferred ending is returned.
fn numbered(
    folder: &Path,
    names: &[String],
    prefix: &str,
    number: impl Fn(&str) -> Option<usize>,
) -> Result<Vec<PathBuf>, DataError> {
    let mut entries: Vec<(usize, &String)> = names.iter().filter_map(|name| Some((number(name)?, name))).collect();
    entries.sort_by_key(|&(number, name)| (number, ending(name).0, name));
    entries.dedup_by_key(|entry| entry.0);
    for (expected, (found, name)) in (1..).zip(&entries) {
        if expected != *found {
            let found = format!("`{name}` but no {prefix}{expected}");
            return Err(DataError::folds(folder, found, format!("{prefix}1, {prefix}2, ... without a gap")));
        }
    }
    Ok(entries.into_iter().map(|(_, name)| folder.join(name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "0 qid:1 1:1\n").unwrap();
        }
        folder
    }

    fn shown(folder: &Path, paths: &[PathBuf]) -> String {
        let names: Vec<_> = paths.iter().map(|path| path.strip_prefix(folder).unwrap().to_str().unwrap()).collect();
        names.join(" ")
    }

    #[test]
    fn five_parts_rotate_as_in_letor() {
        let folder = folder(&["S1.txt", "S2.txt", "S3.txt.gz", "S4.txt", "S5.txt", "S5.txt.gz", "README"]);
        let folds = discover(folder.path()).unwrap();
        let rows: Vec<String> = folds
            .iter()
            .map(|fold| {
                let sets = [&fold.train, &fold.validation, &fold.test].map(|set| shown(folder.path(), set));
                format!("{}: {}", fold.number, sets.join(" | ")).replace(".txt", "").replace(".gz", "")
            })
            .collect();
        let expected = [
            "1: S1 S2 S3 | S4 | S5",
            "2: S2 S3 S4 | S5 | S1",
            "3: S3 S4 S5 | S1 | S2",
            "4: S4 S5 S1 | S2 | S3",
            "5: S5 S1 S2 | S3 | S4",
        ];
        assert_eq!(rows, expected);
        assert_eq!(folds[0].test, [folder.path().join("S5.txt")]);
    }

    #[test]
    fn parts_and_sets_may_be_tables_and_text_comes_first() {
        let parts = folder(&["S1.arrow", "S2.arrow", "S2.txt.gz", "S3.parquet"]);
        let folds = discover(parts.path()).unwrap();
        assert_eq!(shown(parts.path(), &folds[0].train), "S1.arrow");
        assert_eq!(shown(parts.path(), &folds[0].validation), "S2.txt.gz");
        assert_eq!(shown(parts.path(), &folds[0].test), "S3.parquet");
        let several = ["S1", "S1.gz", "S2", "S2.gz", "S2.txt", "S2.txt.gz", "S3/x", "S3.txt.gz", "S3.arrow"];
        let parts = folder(&several);
        let folds = discover(parts.path()).unwrap();
        assert_eq!(shown(parts.path(), &folds[0].train), "S1.gz");
        assert_eq!(shown(parts.path(), &folds[0].validation), "S2.txt");
        assert_eq!(shown(parts.path(), &folds[0].test), "S3.txt.gz");
        let sets = folder(&["train.arrow", "vali.parquet", "test.arrow", "test.txt"]);
        let folds = discover(sets.path()).unwrap();
        assert_eq!(shown(sets.path(), &folds[0].train), "train.arrow");
        assert_eq!(shown(sets.path(), &folds[0].test), "test.txt");
    }

    #[test]
    fn fold_folders_and_single_folds_are_found() {
        let nested = [
            "Fold1/train.txt",
            "Fold1/vali.txt",
            "Fold1/test.txt.gz",
            "Fold2/train",
            "Fold2/valid.txt",
            "Fold2/test.txt",
        ];
        let root = folder(&nested);
        let folds = discover(root.path()).unwrap();
        assert_eq!(folds.len(), 2);
        assert_eq!(shown(root.path(), &folds[0].test), "Fold1/test.txt.gz");
        assert_eq!(shown(root.path(), &folds[1].validation), "Fold2/valid.txt");
        let single = folder(&["train.txt", "vali.txt", "test.txt"]);
        assert_eq!(discover(single.path()).unwrap().len(), 1);
    }

    #[test]
    fn missing_parts_are_named() {
        for (files, expected) in [
            (
                vec!["Fold1/train.txt", "Fold1/test.txt"],
                "found no `vali` among `test.txt`, `train.txt`, expected train, ",
            ),
            (
                vec!["train.csv", "val.csv", "test.csv"],
                ".csv and .tsv may be compressed to .gz; did you mean `val.csv`?",
            ),
            (vec!["train.csv", "validation.feather", "test.csv"], "; did you mean `validation.feather`?"),
            (vec!["Training.csv", "x.csv"], "found `Training.csv`, `x.csv`, expected folders Fold1, "),
            (vec!["Training.csv", "x.csv"], "; did you mean `Training.csv`?"),
            (vec!["Fold1/train.txt", "Fold1/vali.txt", "Fold1/test.txt", "Fold3/train.txt"], "`Fold3` but no Fold2"),
            (vec!["S1.txt", "S2.txt", "S4.txt"], "`S4.txt` but no S3"),
            (vec!["S1.txt", "S2.txt"], "found 2 parts"),
            (
                vec!["notes.md"],
                "found `notes.md`, expected folders Fold1, Fold2, ..., or parts S1, S2, ..., or train, ",
            ),
            (vec![], "found an empty folder"),
            (vec!["train.txt"], "found no `vali` among `train.txt`, expected"),
        ] {
            let folder = folder(&files);
            let message = discover(folder.path()).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        assert!(matches!(discover(Path::new("/nonexistent-folder")), Err(DataError::Io { .. })));
    }

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
        shuffled.shuffle(&mut ChaCha8Rng::seed_from_u64(seed_for(7, "folds", 0)));
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
