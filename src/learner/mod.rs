//! Learners: everything that fits a scorer, behind one trait.
//!
//! [`registry::LEARNERS`] lists them and [`registry::build`] makes one of a `[learner]` table. Each has a module with
//! its algorithm and its cost; [`FitContext`] is what a fit is given beside its data.

pub mod ada_rank;
pub mod boosted_trees;
pub mod gradient;
pub mod permu_rank;
pub mod rank_boost;
pub mod rank_svm;
pub mod registry;
pub mod regression;
mod shared;
pub mod smooth_rank;
mod solver;
pub mod svm_map;
#[cfg(test)]
mod testing;

pub use ada_rank::BOUND;
pub use shared::candidates::Grid;
pub use shared::context::{
    FitContext, Fitted, Interrupt, LearnerError, NoProgress, Progress, Round, Selection, StopReason,
};
pub use shared::surrogate_value::{EXACT_LEARNABLE, SURROGATE};

use crate::data::Dataset;

/// Fits a model to queries.
///
/// The data arrive normalised; the caller keeps the normaliser beside the fitted model. A learner reads its data, the
/// seed and the device from its arguments only, so that the same arguments give the same bytes on the CPU.
pub trait Learner: Send + Sync {
    /// Registered name, as `learner.kind` in configuration files.
    fn name(&self) -> &'static str;

    /// Whether it draws a terminal dashboard where [`FitContext::dashboard`] asks for one; others report to
    /// [`FitContext::progress`] alone.
    fn draws_dashboard(&self) -> bool {
        false
    }

    /// Fits a model to `train`; selects among rounds on `validation` where there is one, else on `train`.
    ///
    /// An interruption is not an error: the best model so far comes back with [`StopReason::Interrupted`].
    ///
    /// # Errors
    /// [`LearnerError`] for data that the learner cannot learn from, labels that the loss or the measure refuses, state
    /// that cannot be written or read back, and a solver that broke down.
    fn fit(&self, train: &Dataset, validation: Option<&Dataset>, context: &FitContext) -> Result<Fitted, LearnerError>;
}
