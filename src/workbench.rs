//! Items of the library that are not public, but that the command's package `burn-rank-cli` needs. Other programs must
//! not rely on these items.
//!
//! Each function here gives the command access to a function or method that is private to the library.

use std::fmt::Display;
use std::ops::Range;
use std::path::Path;

use burn::tensor::Device;

use crate::data::{BatchPlanner, DataError, Input, RankingDataset};
use crate::loss::LossSpec;
use crate::measure::Measure;
use crate::refusal::Refusal;
use crate::scorer::ScorerConfig;

pub use crate::data::assembly::{Assembled, FileWidth};
pub use crate::data::byte_size::ByteSize;
pub use crate::data::error::quoted;
pub use crate::data::fit_normalizer::missing_name;
pub use crate::data::options::{Absent, Groups, KeyColumn, Keys, Like, absent_in_words, name_unread, numbered};
pub use crate::data::reading::{fewer_features, read_like, separator_of_name};
pub use crate::data::source::Source;
pub use crate::data::synth::{HiddenScorer, label};
pub use crate::data::trec::write::{check_field, check_query};
pub use crate::file_kind::FileKind;
pub use crate::foreign_names::ours as names_here;
pub use crate::loss::curvature::{Curved, Derivatives};
pub use crate::loss::surrogate::Approximation;
pub use crate::loss::surrogate::names::{Cell, CellCost};
pub use crate::loss::temperature::TemperatureUnit;
pub use crate::loss::unit_gradients::{QUERY_GRADIENTS, QueryGradients};
pub use crate::measure::convention::{
    AveragePrecisionDenominator, AveragePrecisionTies, KendallTau, NegativeLabel, PrecisionDenominator,
};
pub use crate::measure::mean::mean_of;
pub use crate::measure::name::{FAMILIES, MeasureFamily};

/// The lists of losses and learners.
pub mod registry {
    #[cfg(feature = "learners")]
    pub use crate::learner::entry::LearnerEntry;
    #[cfg(feature = "learners")]
    pub use crate::learner::registry::LEARNERS;
    pub use crate::loss::entry::LossEntry;
    pub use crate::loss::registry::{LOSSES, find};
}

/// Writes files that are either complete or absent.
#[cfg(feature = "ranker")]
pub mod atomic_file {
    pub use crate::atomic_file::{
        Pending, commit_together, prepare, replace, replace_with, sync_folder, unfinished, write, write_with,
    };
}

/// Faults found in data.
#[cfg(feature = "ranker")]
pub mod check {
    pub use crate::data::check::{
        Check, Finding, ISTELLA_MISSING, Kind, Level, Report, SetReport, are_counted, document_hashes,
        no_feature_varies,
    };
}

/// The settings by which the command, tests and benches choose a path, and the primitives for benches and for the
/// suites that compare them on every device.
pub mod op {
    pub use crate::execution::{InstructionsError, PrimitivePath, SumPath, with_tensor_path};
    pub use crate::op::cpu::{
        Above, AboveExpectation, AboveRecursion, Comparison, Distance, ExponentialTerm, NeuralSortMatrix, PairLoss,
        ScoreNoise,
    };
    pub use crate::op::primitive::functions::*;
}

/// The JSON notation and the JSON tables of the library.
pub mod json {
    pub use crate::__tagged as tagged;
    #[cfg(feature = "learners")]
    pub use crate::json::keys_of;
    pub use crate::json::tagged::{Tagged, deserialize_tagged};
    pub use serde_json::json;
}

/// Measures free and used memory.
pub mod memory {
    pub use crate::memory::{Shortage, ask, available, peak, peak_during, product};
}

/// The pages about configuration files, in the order in which a key is looked up.
pub const CONFIGURATION: [&str; 8] = [
    include_str!("../docs/reference/configuration/README.md"),
    include_str!("../docs/reference/configuration/measures.md"),
    include_str!("../docs/reference/configuration/learners.md"),
    include_str!("../docs/reference/configuration/scorers.md"),
    include_str!("../docs/reference/configuration/learner_keys.md"),
    include_str!("../docs/reference/configuration/losses.md"),
    include_str!("../docs/reference/configuration/loss_keys.md"),
    include_str!("../docs/reference/configuration/data.md"),
];

/// Text for people.
pub mod text {
    pub use crate::text::{
        counted, did_you_mean, escape_markup, harmless, harmless_lines, hexadecimal, is_standard_stream, nearest,
        plural, shortened, shown,
    };
}

/// Items of the library that tests in the command's package inspect.
pub mod testing {
    use super::{Range, RankingDataset};
    use crate::data::Features;

    pub use crate::data::features::Source;
    pub use crate::data::shards::CHUNK;
    pub use crate::data::shards::own;

    /// Returns the dataset with its features replaced by a file that holds the same values.
    pub fn of_source(data: &RankingDataset, source: Box<dyn Source>) -> RankingDataset {
        RankingDataset { features: Features::in_file(source, data.feature_count), ..data.clone() }
    }

    /// Returns the range of queries in each part.
    pub fn parts(data: &RankingDataset) -> Vec<Range<usize>> {
        data.parts().collect()
    }

    /// Returns the range of documents that this process reads.
    pub fn own_rows(data: &RankingDataset) -> Range<usize> {
        data.features.parts().own_rows(data.documents(), data.features.readers())
    }
}

/// Checks that enough memory is free for `what`, whose size the value at `key` determines.
///
/// # Errors
/// Returns an error about the value at `key` if too little memory is free.
pub fn ask_memory(key: &str, what: impl Display, bytes: u64, advice: impl Display) -> Result<(), Refusal> {
    Refusal::ask_memory(key, what, bytes, advice)
}

/// Returns whether a panic of this thread becomes an error about a damaged table.
#[cfg(feature = "columnar")]
pub fn is_guarded() -> bool {
    crate::data::columnar::is_guarded()
}

/// Returns whether the column with this name has a role other than that of a feature.
#[cfg(feature = "columnar")]
pub fn has_role(columns: &crate::data::Columns, name: &str) -> bool {
    crate::data::columnar::has_role(columns, name)
}

/// One row of a table of scores.
#[cfg(feature = "columnar")]
pub use crate::data::columnar::{ScoreRow, write_scores_as};

/// Returns a device for small computations on data that are not yet on any device.
pub fn host() -> Device {
    crate::device::host()
}

/// Returns the name of each supported backend, a description, and whether this build includes it.
pub fn backends() -> impl Iterator<Item = (&'static str, &'static str, bool)> {
    crate::device::BACKENDS.iter().map(|backend| (backend.name, backend.summary, backend.built))
}

/// Says that this build lacks a backend, and how to build with it.
pub fn not_built(backend: &str) -> String {
    crate::device::not_built(backend)
}

/// Returns whether the tensors of a device are in the memory of this process.
pub fn in_host_memory(device: &Device) -> bool {
    crate::device::in_host_memory(device)
}

/// Returns the root cause in a backend's error message.
pub fn root_cause(error: impl Display) -> String {
    crate::device::root_cause(error)
}

/// Returns the number of queries and the length of the longest list for each batch of the first epoch.
pub fn batch_shapes(planner: &BatchPlanner) -> Vec<(usize, usize)> {
    planner.shapes()
}

/// Returns the number of bytes that a training step needs for a batch of shape `[lists, documents]`.
pub fn bytes_in_training(scorer: &ScorerConfig, features: usize, batch: [usize; 2]) -> u64 {
    scorer.bytes_in_training(features, batch)
}

/// Returns the loss that combines the measure and the relaxation named in `params`.
pub fn joined(params: crate::json::Map) -> LossSpec {
    LossSpec::joined(params)
}

/// Returns whether the measure depends on the grades of labels, not only on relevance.
pub fn is_graded(measure: &Measure) -> bool {
    measure.is_graded()
}

/// Opens text to be read, and decompresses it if it is compressed by gzip.
///
/// # Errors
/// Returns [`DataError::Io`] if the input cannot be opened or read.
pub fn open(input: Input) -> Result<Box<dyn std::io::Read + Send>, DataError> {
    crate::data::source::open(input).map(|(reader, _)| reader)
}

/// Returns whether the input is a file on disk, so companion files may be in the same folder.
pub fn is_file(input: &Input) -> bool {
    input.is_file()
}

/// Replaces an error about a file's text with an error that names the actual kind of the file. The original error is
/// kept if the file is of the kind `fits`, or if naming its kind would not help.
pub fn or_kind(error: DataError, file: &Path, fits: FileKind, expected: &str) -> DataError {
    error.or_kind(file, fits, expected)
}

/// Models that are made and not trained, the formats of rankers, and the parts in which models are saved.
#[cfg(feature = "ranker")]
pub mod ranker {
    use crate::ranker::TreeEnsemble;
    pub use crate::ranker::artifact::Versions;
    use crate::ranker::error::ModelError;
    #[cfg(feature = "export")]
    pub use crate::ranker::export::{EXPORTS, ExportEntry};
    #[cfg(feature = "import")]
    pub use crate::ranker::import::{IMPORTS, ImportEntry};
    pub use crate::ranker::kernel_expansion::KernelExpansion;
    pub use crate::ranker::parts::Parts;
    pub use crate::ranker::tree_ensemble::Node;

    /// Returns the sum of trees, whose nodes list parents before children.
    ///
    /// # Errors
    /// Returns an error if a child does not come after its parent, if a node or feature does not exist, or if a number
    /// is not finite.
    pub fn trees(features: usize, trees: impl IntoIterator<Item = Vec<Node>>) -> Result<TreeEnsemble, ModelError> {
        let mut ensemble = TreeEnsemble::new(features);
        trees.into_iter().try_for_each(|tree| ensemble.push(&tree))?;
        Ok(ensemble)
    }
}

#[cfg(feature = "ranker")]
pub use crate::ranker::artifact::{check_missing, has_features, ignores_other_features, names_in_tables};

/// The processes that work together on one fit.
pub mod distributed {
    #[cfg(feature = "mpi")]
    pub use crate::distributed::World;
    pub use crate::distributed::{ProcessGroup, Processes};
}

/// Methods of datasets.
pub mod dataset {
    use super::RankingDataset;
    pub use crate::data::dataset::{document_name, own_hash};
    use crate::distributed::ProcessGroup;

    /// Shares the dataset with other processes, which hold the same data.
    pub fn share_with(data: &mut RankingDataset, group: &ProcessGroup) {
        data.share_with(group);
    }

    /// Cuts the documents into parts: the documents in each shard (a range of consecutive queries) form a part.
    pub fn cut(data: &mut RankingDataset, shards: usize) {
        data.cut(shards);
    }
}

/// Ways to split datasets.
pub mod folds {
    pub use crate::data::folds::files::part_number;
    pub use crate::data::folds::split::{split_by, split_by_shares};
}

/// Steps of fitting a normalizer that the command calls one by one.
pub mod normalizer {
    pub use crate::data::fit_normalizer::{fill, with_indicators};
}

/// Generates synthetic data in parts.
pub mod synth {
    pub use crate::data::synth::{ask_memory, generate_part, write_telling};
}

/// Comparisons of systems that report their progress, tests of equivalence, and means with standard errors.
#[cfg(feature = "significance")]
pub mod significance {
    pub use crate::measure::significance::equivalence::{Equivalence, EquivalenceVerdict, equivalence};
    pub use crate::measure::significance::settings::{mean, standard_error};
    pub use crate::measure::significance::systems::compare_all_telling;
}

/// The lines that trec_eval prints, and TREC runs under other conventions.
pub mod trec_eval {
    pub use crate::measure::trec_eval::query::{TrecDocuments, documents};
    pub use crate::measure::trec_eval::report::TrecReport;
}

#[cfg(feature = "learners")]
pub use crate::ranker::model::predict_together;

/// Private items of learners that the command needs.
#[cfg(feature = "learners")]
pub mod learner {
    use crate::learner::gradient::Precision;

    pub use crate::learner::entry::{Fitting, FittingData, fitting};
    pub use crate::learner::gradient::log::LOG_FILE;
    pub use crate::learner::shared::context::in_words;
    pub use crate::learner::shared::rounds::STATE_FILE;

    /// Returns the name of a precision, as written in a configuration.
    pub fn precision_name(precision: Precision) -> &'static str {
        precision.name()
    }

    /// Returns how often training steps of this thread have read from a device so far.
    pub fn device_reads() -> u64 {
        crate::device::reads()
    }

    /// Returns how many bytes this thread has sent to devices in batches so far.
    pub fn device_sent() -> u64 {
        crate::device::sent_bytes()
    }
}
