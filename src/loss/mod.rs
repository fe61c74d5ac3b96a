//! Surrogates and baselines, one file each. A config's `init` checks it and gives a [`RankingLoss`], whose `forward`
//! is the loss of a batch; [`LossSpec`] builds one by name, [`registry::LOSSES`] lists them.
//!
//! Every loss takes `scores [B, N]`, `labels [B, N]` and a Boolean `mask [B, N]` (true for a document) and keeps the
//! promises stated at [`RankingLoss`].
//!
//! # Papers
//! The documentation of this crate cites four papers by these names. Venue and date are given where the papers state
//! them.
//!
//! - **approximation-framework**: T. Qin, T.-Y. Liu and H. Li, A general approximation framework for direct
//!   optimization of information retrieval measures, technical report MSR-TR-2008-164, Microsoft Research Asia,
//!   November 2008.
//! - **direct-optimization**: J. Xu, H. Li, T.-Y. Liu, Y. Peng, M. Lu and W.-Y. Ma, Direct optimization of evaluation
//!   measures in learning to rank, technical report, Microsoft Research.
//! - **smoothrank**: O. Chapelle and M. Wu, Gradient descent optimization of smoothed information retrieval metrics,
//!   11 August 2009.
//! - **softrank-directness**: Y. He and T.-Y. Liu, Are algorithms directly optimizing IR measures really direct?

mod approximation;
mod bounds;
mod check;
mod entry;
mod error;
mod explain;
mod gumbel;
mod lists;
mod listwise;
mod pairwise;
mod pointwise;
mod ranking_loss;
pub mod registry;
mod surrogate;

pub use approximation::{Approximation, RankExpectationMethod};
pub use bounds::{
    PairAggregation, PermutationError, PermutationSet, TypeOneBound, TypeTwoBound, TypeTwoLoss,
    level_score_coefficients, permutation_scores, score_coefficients,
};
pub use burn::nn::loss::Reduction;
pub use entry::{LossEntry, Sharper, Smoothing};
pub use error::{LossError, MAX_EXPONENTIAL_LABEL};
pub use explain::{Explained, explain};
pub use lists::Lists;
pub use listwise::{
    ListMle, ListMleConfig, ListNet, ListNetConfig, NeuralNdcg, NeuralNdcgConfig, SoftmaxCrossEntropy,
    SoftmaxCrossEntropyConfig, neural_sort,
};
pub use pairwise::{
    ApproxKendallTau, ApproxKendallTauConfig, Fidelity, FidelityConfig, LambdaLoss, LambdaLossConfig,
    LambdaLossWeights, LambdaNdcg, LambdaNdcgConfig, PairSum, PairwiseExponential, PairwiseExponentialConfig,
    PairwiseHinge, PairwiseHingeConfig, PairwiseSquaredHinge, PairwiseSquaredHingeConfig, RankNet, RankNetConfig,
};
pub use pointwise::{MseGain, MseGainConfig};
pub use ranking_loss::{Orientation, RankingLoss, reduce, reduce_weighted};
pub use registry::LossSpec;
pub use surrogate::{
    AnyRelaxation, ApproxAp, ApproxApConfig, ApproxDcg, ApproxDcgConfig, ApproxNdcg, ApproxNdcgConfig, ApproxPrecision,
    ApproxPrecisionConfig, ApproxRr, ApproxRrConfig, Approximate, AveragePrecision, Dcg, DiscountShape, Exact,
    Expected, ExpectedDiscount, ExponentialFit, ExponentialFitError, Gumbel, Indicator, MeasureContext, Ndcg,
    PositionFunction, PositionMeasure, Positions, PrecisionAt, ReciprocalRank, Relaxation, Relaxed, SigmoidRanks,
    SmoothApIndicator, SmoothApIndicatorConfig, SmoothApRank, SmoothApRankConfig, SmoothDcg, SmoothDcgConfig,
    SmoothNdcg, SmoothNdcgConfig, SmoothPrecision, SmoothPrecisionConfig, SmoothRr, SmoothRrConfig, SoftDcg,
    SoftDcgConfig, SoftNdcg, SoftNdcgConfig, SoftPrecision, SoftPrecisionConfig, Surrogate, exponential_fit,
    is_completely_monotone,
};
