//! The data: folders of folds, and generated sets.

use std::path::{Path, PathBuf};

use burn_rank::data::letor::{ReadOptions, read};
use burn_rank::data::{Normalizer, NormalizerKind, RankingDataset, SynthConfig, folds};

use super::Failure;

const SEED: u64 = 1;

/// Training, validation and test data of one fold.
pub type Parts = [RankingDataset; 3];

/// The folds of a folder or of a generated set:
/// - `small`: 100 queries of about 30 documents in five folds, for a first look
/// - `generated`: 2,000 queries of about 30 documents, of which defaults were chosen
/// - `unseen`: 2,000 queries of about 12 documents with more features and twice the noise, on which nothing was chosen
///
/// The last two are one fold of 1,200, 400 and 400 queries.
pub fn folds_of(name: &str) -> Result<Vec<Parts>, Failure> {
    let small =
        SynthConfig { queries: 100, features: 20, median_length: 30.0, max_length: 100, ..SynthConfig::default() };
    match name {
        "small" => generated(&small, 5),
        "generated" => generated(&SynthConfig { queries: 2_000, ..small }, 1),
        "unseen" => {
            let other =
                SynthConfig { seed: 2, features: 40, median_length: 12.0, noise: 1.6, length_deviation: 0.8, ..small };
            generated(&SynthConfig { queries: 2_000, ..other }, 1)
        }
        folder => read_folds(Path::new(folder)),
    }
}

/// The last name of a path.
pub fn short_name(name: &str) -> &str {
    Path::new(name).file_name().and_then(|name| name.to_str()).unwrap_or(name)
}

fn read_folds(folder: &Path) -> Result<Vec<Parts>, Failure> {
    let read = |paths: &[PathBuf]| read(paths, &ReadOptions::default());
    let parts = folds::discover(folder)?
        .into_iter()
        .map(|fold| normalized([read(&fold.train)?, read(&fold.validation)?, read(&fold.test)?]));
    parts.collect()
}

/// The first `count` of five folds.
fn generated(config: &SynthConfig, count: usize) -> Result<Vec<Parts>, Failure> {
    let data = config.generate()?;
    let parts = folds::split(&data, 5, SEED)?
        .into_iter()
        .take(count)
        .map(|fold| normalized([data.select(&fold.train), data.select(&fold.validation), data.select(&fold.test)]));
    parts.collect()
}

/// Normalizes features to mean 0 and standard deviation 1 over the training documents.
fn normalized(mut parts: Parts) -> Result<Parts, Failure> {
    let normalizer = Normalizer::fit(&parts[0], NormalizerKind::ZScore);
    for part in &mut parts {
        normalizer.apply(part)?;
    }
    Ok(parts)
}
