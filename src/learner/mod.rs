//! Learners that fit a ranking model to data. All of them implement the trait [`RankingLearner`].
//!
//! [`build`] makes a learner from the `[learner]` table of a configuration; `burn-rank models --learners` lists all.
//! The two learners with the widest use have typed configurations, too:
//! [`GradientConfig`](gradient::GradientConfig) and [`BoostedTreesConfig`](boosted_trees::BoostedTreesConfig). The
//! documentation of each learner's module describes its algorithm and its cost. A [`Job`] holds the data of a fit and
//! its [`FitContext`].
//!
//! ```
//! use burn::tensor::Device;
//! use burn_rank::data::SynthConfig;
//! use burn_rank::learner::gradient::GradientConfig;
//! use burn_rank::learner::{FitContext, Job, Parts, Selection};
//! use burn_rank::loss::LossSpec;
//! use burn_rank::measure::Measure;
//!
//! let data = SynthConfig { queries: 30, features: 6, median_length: 10.0, max_length: 20, ..SynthConfig::default() };
//! let data = data.generate()?;
//! let config = GradientConfig { epochs: 3, ..GradientConfig::default() };
//! let learner = config.build(&Parts::default().with_loss(LossSpec::new("list_net")))?;
//! let context = FitContext::new(Device::flex(), 1, Selection::best(Measure::Ndcg(Some(10))));
//! let fitted = learner.fit(Job::new(&data, None, &context))?;
//! let scores = fitted.model.predict(&data, &context.device);
//! assert_eq!((fitted.history.len(), scores.len()), (3, data.documents()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod ada_rank;
pub mod boosted_trees;
pub(crate) mod entry;
mod error;
pub mod gradient;
pub mod permu_rank;
mod prelude;
pub mod rank_boost;
pub mod rank_svm;
pub(crate) mod registry;
pub mod regression;
pub(crate) mod shared;
pub mod smooth_rank;
mod solver;
pub mod svm_map;
#[cfg(test)]
mod testing;

pub use ada_rank::BOUND;
pub use entry::{Parts, RankingLearner};
pub use error::LearnerError;
pub use registry::build;
pub use shared::context::{
    FitContext, Fitted, Importance, Interrupt, Job, PositionFactor, Progress, Round, Selection, StopReason,
};
pub use shared::judge::{EXACT_LEARNABLE, SURROGATE};
pub use shared::position::PositionConfig;
