//! Learners that fit a ranking model to data. All of them implement the trait [`RankingLearner`].
//!
//! [`registry::LEARNERS`] lists all learners, and [`registry::build`] makes one from the `[learner]` table of a
//! configuration. The documentation of each learner's module describes its algorithm and its cost. [`FitContext`] holds
//! the inputs of a fit other than its data.
//!
//! ```
//! use burn::tensor::Device;
//! use burn_rank::data::SynthConfig;
//! use burn_rank::learner::gradient::{Gradient, GradientConfig};
//! use burn_rank::learner::{FitContext, RankingLearner, Selection};
//! use burn_rank::loss::LossSpec;
//! use burn_rank::measure::Measure;
//! use burn_rank::scorer::ScorerConfig;
//!
//! let data = SynthConfig { queries: 30, features: 6, median_length: 10.0, max_length: 20, ..SynthConfig::default() };
//! let data = data.generate()?;
//! let config = GradientConfig { epochs: 3, ..GradientConfig::default() };
//! let learner = Gradient::new(config, ScorerConfig::default(), LossSpec::new("list_net"))?;
//! let context = FitContext::new(Device::flex(), 1, Selection::best(Measure::Ndcg(Some(10))));
//! let fitted = learner.fit(&data, None, &context)?;
//! let scores = fitted.model.predict(&data, &context.device);
//! assert_eq!((fitted.history.len(), scores.len()), (3, data.documents()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
pub(crate) mod shared;
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
pub use shared::surrogate_value::{EXACT_LEARNABLE, SURROGATE};
