//! Folds for cross-validation, made by rotating parts, by reading folders `FoldN`, or by splitting one dataset.
//!
//! With K parts, fold `f` trains on parts `f .. f + K - 3`, validates on part `f + K - 2` and tests on part
//! `f + K - 1`. Part numbers above K wrap around to 1. With the five parts of LETOR, fold 1 trains on S1 S2 S3,
//! validates on S4 and tests on S5. Every query is in the test set of exactly one fold.

pub(crate) mod files;
pub(crate) mod split;

use std::path::PathBuf;

pub use files::discover;
pub use split::split;

/// One fold: its files, or its queries as ascending indices into a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fold<T = PathBuf> {
    /// The number of the fold, from 1.
    pub number: usize,
    /// The part to train on.
    pub train: Vec<T>,
    /// The part on which a model is selected.
    pub validation: Vec<T>,
    /// The part to test on.
    pub test: Vec<T>,
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
