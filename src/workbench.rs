//! Names that the command's package, `burn-rank-cli`, needs and that are not public. Other programs get no promise of
//! them.
//!
//! A function here stands for a method, or for a function of a public module, that is not public itself.

use std::fmt::Display;
use std::io::Write;
use std::ops::Range;
use std::path::Path;

use burn::tensor::Device;

use crate::data::{BatchPlanner, Columns, DataError, Input, Normalizer, NormalizerKind, RankingDataset, SynthConfig};
use crate::distributed::Processes;
use crate::loss::LossSpec;
use crate::refusal::Refusal;
use crate::scorer::ScorerConfig;

pub use crate::data::columns::{KeyColumn, Keys, Like};
pub use crate::data::error::quoted;
pub use crate::data::fit_normalizer::missing_name;
pub use crate::data::reading::{read_like, separator_of_name};
pub use crate::data::synth::labels::label;
pub use crate::data::text::source::Source;
pub use crate::data::trec::write::{check_field, check_query};
pub use crate::data::widths::{FileWidth, fewer_features};
pub use crate::file_kind::FileKind;
pub use crate::loss::unit_gradients::QUERY_GRADIENTS;
pub use crate::measure::mean::mean_of;

/// Files that are whole or not there.
#[cfg(feature = "ranker")]
pub mod atomic_file {
    pub use crate::atomic_file::{
        Pending, commit_together, prepare, replace, replace_with, sync_folder, unfinished, write, write_with,
    };
}

/// Faults of data.
#[cfg(feature = "ranker")]
pub mod check {
    pub use crate::data::check::{Check, Finding, ISTELLA_MISSING, Kind, Level, Report, SetReport};
}

/// Notation and tables of JSON.
pub mod json {
    pub use crate::__json as json;
    pub use crate::__tagged as tagged;
    pub use crate::json::tagged::{Tagged, deserialize_tagged};
}

/// Memory that is free and used.
pub mod memory {
    pub use crate::memory::{Shortage, ask, available, peak, peak_during, product};
}

/// Text for people.
pub mod text {
    pub use crate::text::{
        counted, did_you_mean, escape_markup, harmless, harmless_lines, hexadecimal, is_standard_stream, nearest,
        plural, shortened, shown,
    };
}

/// Items that tests of the workbench look at.
pub mod testing {
    use super::{Processes, Range, RankingDataset};

    pub use crate::data::in_file::{Source, of_source};
    pub use crate::data::parts::CHUNK;
    pub use crate::data::shards::own;

    /// The queries of each part that the documents were cut into.
    pub fn parts(data: &RankingDataset) -> Vec<Range<usize>> {
        data.parts().collect()
    }

    /// The documents that a process reads.
    pub fn own_rows(data: &RankingDataset, processes: &dyn Processes) -> Range<usize> {
        data.features.parts().own_rows(data.documents(), processes)
    }
}

/// Refuses to take more memory than is free, at a key.
///
/// # Errors
/// A refusal of the key.
pub fn ask_memory(key: &str, what: impl Display, bytes: u64, advice: impl Display) -> Result<(), Refusal> {
    Refusal::ask_memory(key, what, bytes, advice)
}

/// The device for small computations.
pub fn host() -> Device {
    crate::device::host()
}

/// Whether the tensors of a device are in the memory of this process.
pub fn in_host_memory(device: &Device) -> bool {
    crate::device::in_host_memory(device)
}

/// The root cause in a backend's error message.
pub fn root_cause(error: impl Display) -> String {
    crate::device::root_cause(error)
}

/// Queries and longest list of each batch of the first epoch.
pub fn batch_shapes(planner: &BatchPlanner) -> Vec<(usize, usize)> {
    planner.shapes()
}

/// Bytes that a step of training takes on a batch, `[lists, documents]`.
pub fn bytes_in_training(scorer: &ScorerConfig, features: usize, batch: [usize; 2]) -> u64 {
    scorer.bytes_in_training(features, batch)
}

/// A measure through a relaxation, by the parameters that name them and others.
pub fn joined(params: crate::json::Map) -> LossSpec {
    LossSpec::joined(params)
}

/// The same refusal, which says of some keys that such columns are not read.
pub fn name_unread(refusal: Refusal) -> Refusal {
    Columns::name_unread(refusal)
}

/// Whether an input is a file, which may have other files next to it.
pub fn is_file(input: &Input) -> bool {
    input.is_file()
}

/// The same error, or one that names the kind of the file where its text is not of the kind that fits.
pub fn or_kind(error: DataError, file: &Path, fits: FileKind, expected: &str) -> DataError {
    error.or_kind(file, fits, expected)
}

/// The value of a feature that a line leaves out, in words.
pub fn absent_in_words(options: &crate::data::letor::ReadOptions) -> &'static str {
    options.absent_in_words()
}

/// Methods of datasets.
pub mod dataset {
    use super::{DataError, Processes, RankingDataset};

    /// The identifier of a document of a query, or its number there, from 1.
    pub fn document_name(data: &RankingDataset, query: usize, place: usize) -> String {
        data.document_name(query, place)
    }

    /// Cuts the documents into parts, one for each shard of the queries.
    pub fn cut(data: &mut RankingDataset, shards: usize) {
        data.cut(shards);
    }

    /// Checks values in the processes that share the reading.
    ///
    /// # Errors
    /// [`DataError::Cell`] for the first value that may not be.
    pub fn check_values_in(data: &RankingDataset, processes: &dyn Processes) -> Result<(), DataError> {
        data.check_values_in(processes)
    }

    /// The hash of what each process has by itself.
    pub fn own_hash(data: &RankingDataset, processes: &dyn Processes) -> String {
        data.own_hash(processes)
    }
}

/// Cuts of datasets.
pub mod folds {
    use super::{Keys, RankingDataset, Refusal};
    use crate::data::folds::{self, QueryFold};

    /// Folds of queries that stay together by their keys.
    ///
    /// # Errors
    /// [`Refusal`] for fewer than three folds, or for too few queries, groups or times.
    pub fn split_by(
        dataset: &RankingDataset,
        keys: Option<&Keys>,
        count: usize,
        seed: u64,
    ) -> Result<Vec<QueryFold>, Refusal> {
        folds::split_by(dataset, keys, count, seed)
    }

    /// Sets of these shares of the queries.
    pub fn split_by_shares(
        dataset: &RankingDataset,
        keys: Option<&Keys>,
        shares: &[f64],
        seed: u64,
    ) -> Vec<Vec<usize>> {
        folds::split_by_shares(dataset, keys, shares, seed)
    }

    /// The number of the part that a file of this name holds.
    pub fn part_number(name: &str) -> Option<usize> {
        folds::part_number(name)
    }
}

/// Steps in which a normalizer is fitted.
pub mod normalizer {
    use super::{Normalizer, NormalizerKind, Processes, RankingDataset};

    /// Fits a normalizer to training data that the processes read together where they are streamed.
    pub fn fit_in(train: &RankingDataset, kind: NormalizerKind, processes: &dyn Processes) -> Normalizer {
        Normalizer::fit_in(train, kind, processes)
    }

    /// The same normalizer with the indicators of the training data, which it has been applied to.
    pub fn with_indicators(
        normalizer: Normalizer,
        normalized: &RankingDataset,
        processes: &dyn Processes,
    ) -> Normalizer {
        normalizer.with_indicators(normalized, processes)
    }

    /// Fills missing values of normalized data, and adds the columns that say that they were missing.
    pub fn fill(normalizer: &Normalizer, normalized: &mut RankingDataset) {
        normalizer.fill(normalized);
    }
}

/// Generated data in parts.
pub mod synth {
    use super::{DataError, Range, RankingDataset, Refusal, SynthConfig, Write};

    /// Asks for the memory of all queries.
    ///
    /// # Errors
    /// [`Refusal`] where they take more than is free.
    pub fn ask_memory(config: &SynthConfig) -> Result<(), Refusal> {
        config.ask_memory()
    }

    /// Generates some of the queries, counted from 0.
    ///
    /// # Errors
    /// The errors of [`SynthConfig::generate`].
    pub fn generate_part(config: &SynthConfig, queries: Range<usize>) -> Result<RankingDataset, DataError> {
        config.generate_part(queries)
    }

    /// Writes as [`SynthConfig::write_part`] does, and tells how many queries are written.
    ///
    /// # Errors
    /// The errors of [`SynthConfig::write`].
    pub fn write_telling(
        config: &SynthConfig,
        output: &mut impl Write,
        queries: Range<usize>,
        tell: impl Fn(usize),
    ) -> Result<u64, DataError> {
        config.write_telling(output, queries, tell)
    }
}

/// Comparisons that tell of their progress, and means.
#[cfg(feature = "significance")]
pub mod significance {
    pub use crate::measure::significance::systems::compare_all_telling;

    /// The mean; NaN of nothing.
    pub fn mean(values: &[f64]) -> f64 {
        crate::measure::significance::mean(values)
    }

    /// The standard error of the mean of two values or more.
    pub fn standard_error(values: &[f64]) -> f64 {
        crate::measure::significance::standard_error(values)
    }
}

/// Scores by several processes together, where they can share the work.
#[cfg(feature = "learners")]
pub fn predict_in(
    model: &crate::ranker::Model,
    data: &RankingDataset,
    device: &Device,
    processes: &dyn Processes,
) -> Vec<f32> {
    model.predict_in(data, device, processes)
}

/// Files, words and counts of learners.
#[cfg(feature = "learners")]
pub mod learner {
    use crate::learner::StopReason;
    use crate::learner::gradient::Precision;

    pub use crate::learner::gradient::log::LOG_FILE;
    pub use crate::learner::shared::rounds::STATE_FILE;

    /// Why a fit stopped, in words.
    pub fn in_words(stop: StopReason) -> &'static str {
        stop.in_words()
    }

    /// The name of a precision in a configuration.
    pub fn precision_name(precision: Precision) -> &'static str {
        precision.name()
    }

    /// The reads of devices by this thread's training steps so far.
    pub fn device_reads() -> u64 {
        crate::device::reads()
    }
}
