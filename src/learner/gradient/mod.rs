//! Gradient training: any scorer, any loss, any optimizer and schedule of burn.
//!
//! It trains on mini-batches of queries, with annealing of the loss's temperature, early stopping and selection of the
//! best epoch by a validation measure. Algorithm 1 of approximation-framework is [`GradientConfig::one_query_per_step`].
//! An epoch costs one forward and backward pass over the training data and one forward pass over the validation data.
//!
//! With [`GradientConfig::average`] the average of the weights over the steps is measured, selected and saved; the
//! steps themselves never see it.
//!
//! With [`GradientConfig::precision`] of 16 bits the layers of the scorer compute in that type, forward and backward,
//! and everything else in 32 bits (`precision.rs`). In f16 the loss is scaled: a step whose gradients are not finite
//! changes only the schedule, and each step reads one number back from the device.
//!
//! The objective of a round is the mean training loss over the epoch's queries, each taken at the weights before its
//! own step. A query with nothing to learn has loss 0 and counts in the mean. If queries have weights, each loss is
//! multiplied by the weight of its query over the mean weight of all, in the objective and in the gradient of a step; a
//! query of weight 0 takes no part. The loss decides the effect of weights of documents
//! ([`About::document_weights`](crate::loss::About::document_weights)).
//!
//! # Determinism
//! The queries of a step, dropout, noise on features, the noise of a loss and initial weights depend only on the seed;
//! a killed fit resumes from its last saved epoch and ends in the same bytes.
//!
//! # burn-train
//! [`RankingModel`], [`RankingBatcher`] and [`RankingMetric`](crate::metric::RankingMetric) plug into burn's
//! `SupervisedTraining` as they are. The learner itself runs its own loop and uses `SupervisedTraining` only for the dashboard. For a linear scorer, 20
//! epochs on data of OHSUMED's size take 55 ms here, 52 ms in burn's loop without files, and 145 ms with its
//! checkpoints and logs; for a perceptron of 64 they take 155, 204 and 352 ms (`benches/training.rs`, two AVX-512
//! cores). Our state is saved whenever saving takes at most a fiftieth of the time, and a killed fit resumes to the
//! same bytes.

mod average;
mod batches;
mod config;
mod dashboard;
mod descent;
mod exchange;
mod fit;
mod fitting;
pub(crate) mod log;
mod model;
mod noise;
mod optimizer;
mod precision;
mod schedule;
mod screen;
mod session;
mod step;
#[cfg(test)]
mod tests;

pub use config::{Gradient, GradientConfig};
pub use model::{RankingBatcher, RankingModel, TrainingBatch};
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
    streams: true,
    round_name: "epoch",
    rounds_key: Some("epochs"),
    ..LearnerEntry::of::<GradientConfig>(NAME)
};
