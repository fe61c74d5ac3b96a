//! Trains any scorer on any loss, with burn's optimizers and learning-rate schedules.
//!
//! The learner trains on mini-batches of queries. The learner can also anneal the temperature of the loss, stop early,
//! and select the epoch with the best validation measure. [`GradientConfig::one_query_per_step`] returns the
//! configuration for Algorithm 1 of [approximation-framework](crate::loss#papers). An epoch costs one forward and
//! backward pass over the training data and one forward pass over the validation data.
//!
//! With [`GradientConfig::average`], the average of the weights over the steps is measured, selected and saved.
//! Training itself never uses the averaged weights.
//!
//! With a 16-bit [`GradientConfig::precision`], the layers of the scorer compute in 16 bits in the forward and backward
//! pass. All other computations use 32 bits (`precision.rs`). With f16, the loss is multiplied by a factor, and each
//! step reads one number back from the device. If a gradient is not finite, the step is skipped, but the learning-rate
//! schedule still advances.
//!
//! The objective that a round reports is the mean loss of all training queries in the epoch. The loss of each query is
//! computed before the optimizer step that uses the query. A query that gives no gradient has a loss of 0, which is
//! included in the mean. If queries have weights, each loss is multiplied by its query's weight relative to the mean
//! weight. These weights affect the objective and the gradients, and a query of weight 0 is ignored. Each loss defines
//! how it uses document weights ([`About::document_weights`](crate::loss::About::document_weights)).
//!
//! # Determinism
//! Only the seed determines the initial weights, the queries of each step, the dropout masks, and the noise of features
//! and losses. A killed fit resumes from its last saved epoch and produces the same bytes as an uninterrupted fit.
//!
//! # Speed
//! The learner runs its own loop instead of burn's `SupervisedTraining`. For a linear scorer and data of OHSUMED's
//! size, 20 epochs take 55 ms in the learner's loop. They take 52 ms in burn's loop without files. Burn's loop with
//! checkpoints and logs takes 145 ms. For a perceptron of 64 hidden units, the three times are 155, 204 and 352 ms
//! (`benches/training.rs`, two AVX-512 cores). The learner saves its state as often as it can while it spends at most a
//! fiftieth of its time on saving.

mod average;
mod batches;
mod config;
mod descent;
mod fit;
mod fitting;
pub(crate) mod log;
mod optimizer;
mod precision;
mod resident;
mod schedule;
mod step;
#[cfg(test)]
mod tests;

pub use config::GradientConfig;
pub use optimizer::{ClipConfig, OptimizerConfig};
pub use precision::Precision;
pub use schedule::ScheduleConfig;

pub use super::shared::anneal::AnnealConfig;

use config::NAME;

use super::entry::LearnerEntry;

pub(super) const ENTRY: LearnerEntry = LearnerEntry {
    summary: "gradient descent of any scorer on any loss",
    paper: "Qin, Liu and Li, A general approximation framework for direct optimization of information retrieval \
            measures, Algorithm 1, as one query per step",
    takes_loss: true,
    takes_scorer: true,
    takes_query_weights: true,
    takes_document_weights: true,
    takes_teacher: true,
    takes_positions: true,
    streams: true,
    round_name: "epoch",
    rounds_key: Some("epochs"),
    ..LearnerEntry::of::<GradientConfig>(NAME)
};
