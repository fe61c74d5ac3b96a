//! Learners: everything that fits a scorer, behind one trait.
//!
//! [`registry::LEARNERS`] lists them, and [`registry::build`] makes one from a `[learner]` table. The module of each
//! learner describes its algorithm and its cost. [`FitContext`] holds the inputs of a fit other than its data.

pub mod ada_rank;
pub mod boosted_trees;
mod entry;
mod error;
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
pub use entry::{Fitting, FittingData, LearnerConfig, Parts, RankingLearner};
pub use error::LearnerError;
pub use shared::candidates::Candidates;
pub use shared::context::{
    FitContext, Fitted, Importance, Interrupt, NoProgress, Progress, Round, Selection, StopReason,
};
#[cfg(feature = "experiment")]
pub(crate) use shared::rounds::STATE_FILE;
pub use shared::surrogate_value::{EXACT_LEARNABLE, SURROGATE};
