//! Finds the files of folds in a folder.

use std::fs::DirEntry;
use std::io;
use std::path::{Path, PathBuf};

use super::Fold;
use crate::data::error::DataError;
use crate::text::{counted, did_you_mean, first_of, nearest};

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
    match parts.len() {
        0 => {}
        count @ 1..3 => {
            let expected = "at least three parts S1, S2, S3 (to train, validate and test)";
            return Err(DataError::folds(folder, counted(count, "part"), expected));
        }
        count => return Ok((0..count).map(|first| Fold::rotated(first, &parts)).collect()),
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
pub fn part_number(name: &str) -> Option<usize> {
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
}
