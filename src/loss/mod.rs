//! Losses for learning to rank: surrogates that approximate ranking measures, and other published losses. Each loss has
//! its own file. The `init` method of a configuration checks the parameters and returns a [`RankingLoss`], whose
//! `forward` computes the loss of a batch. [`LossSpec`] builds a loss by name, and [`LossSpec::names`] lists all
//! losses.
//!
//! Every loss accepts `scores [B, N]`, `labels [B, N]` and a Boolean `mask [B, N]`. Every loss has the properties that
//! [`RankingLoss`] promises. The mask is true at a document, unlike burn's `mask_pad`; see [`mask_from_padding`].
//! [`Gain`](crate::measure::Gain) states which labels are allowed. [`forward_packed`](RankingLoss::forward_packed)
//! accepts flat scores, one list after another without padding.
//!
//! ```
//! use burn::tensor::{Device, Tensor};
//! use burn_rank::prelude::*;
//!
//! let device = Device::flex().autodiff();
//! let scores = Tensor::<1>::from_floats([0.2, 1.3, -0.4, 0.7, 0.1], &device).require_grad();
//! let labels = Tensor::<1>::from_floats([0.0, 1.0, 2.0, 0.0, 1.0], &device);
//! let segments = Segments::from_lengths(&[3, 2])?; // three documents of one query, two of another
//!
//! let loss = LambdaNdcgConfig::new().init()?;
//! let value = loss.forward_packed(scores.clone(), labels, &segments, Reduction::Mean);
//! let gradients = value.backward();
//! assert!(scores.grad(&gradients).is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Which loss
//! | you train | start with | to optimize the measure itself |
//! |---|---|---|
//! | a network | [`LambdaNdcg`] | [`UnitGradients`] of [`ApproxNdcg`], or of the surrogate of another measure |
//! | a linear scorer | [`ApproxNdcg`] | the same |
//! | boosted trees | [`LambdaNdcg`] | [`SoftAp`] with balanced steps |
//! | one relevant document in a list | [`SoftmaxCrossEntropy`] | [`ApproxRr`] |
//!
//! # Every loss
//! In the table of losses, the column *what* names the measure that a surrogate approximates, or says what another loss
//! does. Unless its documentation says otherwise, a surrogate tends to its measure as the temperature makes the
//! surrogate less smooth. The column *cost* gives the time for one query with n documents.
//!
//! <!-- made: losses -->
//! | name | type | what | cost |
//! |---|---|---|---|
//! | `adr_mse` | [`AdrMse`] | squared error of smooth ranks against a teacher's ranks | O(n^2); long lists in float32 on the CPU O(n log n) |
//! | `approx_ap` | [`ApproxAp`] | average precision at approximate positions | O(n^2); long lists in float32 on the CPU O(n log n) |
//! | `approx_dcg` | [`ApproxDcg`] | DCG at approximate positions | O(n^2); long lists in float32 on the CPU O(n log n) |
//! | `approx_kendall_tau` | [`ApproxKendallTau`] | Kendall's tau with a smooth sign | O(n^2); long lists in float32 on the CPU O(n log n) |
//! | `approx_ndcg` | [`ApproxNdcg`] | NDCG at approximate positions | O(n^2); long lists in float32 on the CPU O(n log n) |
//! | `approx_precision` | [`ApproxPrecision`] | precision at k at approximate positions | O(n^2); long lists in float32 on the CPU O(n log n) |
//! | `approx_rr` | [`ApproxRr`] | reciprocal rank at approximate positions | O(n^2) |
//! | `binary_cross_entropy` | [`BinaryCrossEntropy`] | cross entropy of each document's relevance and the logistic of its score | O(n) |
//! | `fidelity` | [`Fidelity`] | fidelity loss over ordered pairs (FRank) | O(n^2); long lists in float32 on the CPU O(n log n) |
//! | `lambda_loss` | [`LambdaLoss`] | logistic losses weighted to bound NDCG (NDCG-Loss1, 2 and 2++) | O(n^2) |
//! | `lambda_measure` | [`LambdaMeasure`] | logistic loss weighted by the change of AP, RR, ERR or precision (LambdaRank) | O(n^2) |
//! | `lambda_ndcg` | [`LambdaNdcg`] | logistic loss weighted by the change of NDCG@k (LambdaRank) | O(n^2); long lists in float32 on the CPU O(n log n) |
//! | `list_mle` | [`ListMle`] | negative log likelihood of the labels' order under Plackett-Luce | O(n^2); long lists in float32 on the CPU O(n log n) |
//! | `list_net` | [`ListNet`] | cross entropy of the top-one distributions | O(n) |
//! | `margin_mse` | [`MarginMse`] | squared error of score differences against a teacher's | O(n log n) |
//! | `mse_gain` | [`MseGain`] | squared error against the gains | O(n) |
//! | `neural_ndcg` | [`NeuralNdcg`] | NDCG of documents sorted by NeuralSort | O(iterations n^2) |
//! | `pairwise_exponential` | [`PairwiseExponential`] | exponential loss over ordered pairs (RankBoost) | O(n^2); long lists in float32 on the CPU O(n log n) |
//! | `pairwise_hinge` | [`PairwiseHinge`] | hinge loss over ordered pairs (RankSVM) | O(n^2); long lists in float32 on the CPU O(n log n) |
//! | `pairwise_squared_hinge` | [`PairwiseSquaredHinge`] | squared hinge loss over ordered pairs | O(n^2); long lists in float32 on the CPU O(n log n) |
//! | `plackett_luce_ndcg` | [`PlackettLuceNdcg`] | expected NDCG of rankings drawn from the Plackett-Luce model (PL-Rank-3) | O(n log n), times the rankings |
//! | `rank_net` | [`RankNet`] | logistic loss over ordered pairs | O(n^2); long lists in float32 on the CPU O(n log n) |
//! | `relaxed_measure` | [`RelaxedMeasure`] | any measure through any relaxation, by `measure` and `relaxation` | O(n^2), or as the relaxation |
//! | `smooth_ap_indicator` | [`SmoothApIndicator`] | average precision with soft indicators of the document at each rank | O(n^2); long lists in float32 on the CPU O(n log n) |
//! | `smooth_ap_rank` | [`SmoothApRank`] | average precision at sigmoid ranks | O(n^2); long lists in float32 on the CPU O(n log n) |
//! | `smooth_dcg` | [`SmoothDcg`] | DCG at sigmoid ranks | O(n^2); long lists in float32 on the CPU O(n log n) |
//! | `smooth_ndcg` | [`SmoothNdcg`] | NDCG with soft indicators of the document at each rank | O(n^2); long lists in float32 on the CPU O(n log n) |
//! | `smooth_precision` | [`SmoothPrecision`] | precision at k with soft indicators of the document at each rank | O(n^2); long lists in float32 on the CPU O(n log n) |
//! | `smooth_rr` | [`SmoothRr`] | reciprocal rank with soft indicators of the document at each rank | O(n^2); long lists in float32 on the CPU O(n log n) |
//! | `soft_ap` | [`SoftAp`] | expectation of average precision under Gaussian scores (SoftRank) | O(M n^2), M = 14; O(M n log n) in the exact model |
//! | `soft_dcg` | [`SoftDcg`] | expectation of DCG under Gaussian scores (SoftRank) | O(M n^2), M = 14; O(k n^2) with a cut-off; O(n^3) for other discounts |
//! | `soft_err` | [`SoftErr`] | expectation of expected reciprocal rank under Gaussian scores (SoftRank) | O(M n log n), M = 14; O(M n^2) with independent trials |
//! | `soft_ndcg` | [`SoftNdcg`] | expectation of NDCG under Gaussian scores (SoftRank) | O(M n^2), M = 14; O(k n^2) with a cut-off; O(n^3) for other discounts |
//! | `soft_precision` | [`SoftPrecision`] | expectation of precision at k under Gaussian scores (SoftRank) | O(k n^2) |
//! | `soft_rr` | [`SoftRr`] | expectation of the reciprocal rank under Gaussian scores (SoftRank) | O(M n log n), M = 14; O(M n^2) with independent trials |
//! | `softmax_cross_entropy` | [`SoftmaxCrossEntropy`] | cross entropy of labels and softmax of scores, optionally under Gumbel noise | O(n), times the draws |
//! | `stochastic_rank` | [`StochasticRank`] | expected NDCG of scores with normal noise, its gradient estimated by coordinates | O(n^2), times the draws |
//! | `teacher_kl` | [`TeacherKl`] | divergence of the scores' softmax from a teacher's | O(n) |
//! | `teacher_mse` | [`TeacherMse`] | squared error against the scores of a teacher | O(n) |
//! | `xe_ndcg` | [`XeNdcg`] | cross entropy of perturbed gains and softmax of scores | O(n) |
//! | `yeti_loss` | [`YetiLoss`] | RankNet on neighbors of a noisy order, weighted by the change of NDCG | O(n log n), times the draws |
//!
//! <!-- end of losses -->
//!
//! `relaxed_measure` combines any measure of [`MeasureName`] with any relaxation of [`RelaxationName`].
//!
//! To turn your own measure into a loss, implement [`PositionMeasure`] and combine it with a relaxation by
//! [`RelaxedMeasureConfig::init_measure`]. A [`Relaxation`] that you implement works with every measure. Learners
//! accept your own [`RankingLoss`] as a [`TrainingLoss`].
//!
//! # Weights of documents
//! Most losses accept document weights ([`Lists::with_document_weights`]). Losses for average precision, reciprocal
//! rank and ERR reject document weights, and so do [`AdrMse`], [`LambdaMeasure`], [`MarginMse`], [`PlackettLuceNdcg`],
//! [`StochasticRank`], [`TeacherKl`], [`XeNdcg`] and [`YetiLoss`]. [`About::document_weights`] explains what a document
//! weight does.
//!
//! # Papers
//! The documentation of this crate cites four papers by the following names. Venues and dates are given if the papers
//! state them.
//!
//! - **approximation-framework**: T. Qin, T.-Y. Liu and H. Li, A general approximation framework for direct
//!   optimization of information retrieval measures, technical report MSR-TR-2008-164, Microsoft Research Asia,
//!   November 2008.
//! - **direct-optimization**: J. Xu, H. Li, T.-Y. Liu, Y. Peng, M. Lu and W.-Y. Ma, Direct optimization of evaluation
//!   measures in learning to rank, technical report, Microsoft Research.
//! - **smoothrank**: O. Chapelle and M. Wu, Gradient descent optimization of smoothed information retrieval metrics,
//!   11 August 2009.
//! - **softrank-directness**: Y. He and T.-Y. Liu, Are algorithms directly optimizing IR measures really direct?

/// Creates the documentation example for a configuration. The example shows that a better order has a smaller loss.
macro_rules! example {
    ($config:expr $(, $with:literal)?) => {
        concat!(
            "# Example\n",
            "A list of three documents, in a good and in a bad order:\n",
            "```\n",
            "use burn::tensor::DType;\n",
            "use burn_rank::loss::explain;\n",
            "use burn_rank::prelude::*;\n\n",
            "let loss = ",
            $config,
            "::new()",
            $($with,)?
            ".init()?;\n",
            "let labels = [2.0, 0.0, 1.0];\n",
            "let good = explain(&loss, &[1.2, -0.3, 0.4], &labels, DType::F64)?.loss;\n",
            "let bad = explain(&loss, &[-0.3, 1.2, 0.4], &labels, DType::F64)?.loss;\n",
            "assert!(good < bad);\n",
            "# Ok::<(), LossError>(())\n",
            "```"
        )
    };
}

mod about;
mod check;
pub(crate) mod curvature;
mod declare;
mod distillation;
pub(crate) mod entry;
mod equal_labels;
mod error;
mod estimate;
mod explain;
mod in_batch;
mod input;
mod lists;
mod listwise;
mod noise;
mod packed;
mod pairwise;
mod pointwise;
mod prelude;
mod ranking_loss;
pub(crate) mod registry;
pub(crate) mod surrogate;
pub(crate) mod temperature;
mod training_loss;
pub(crate) mod unit_gradients;

pub use about::{About, Change, Orientation, Smoothing};
#[cfg(feature = "learners")]
pub(crate) use about::{UNIT_GRADIENTS, key_of_held_constant};
pub use burn::nn::loss::Reduction;
pub use check::check_lists;
pub use distillation::{Distillation, DistillationConfig, TeacherScale};
pub(crate) use error::label_problem;
pub use error::{LossError, MAX_EXPONENTIAL_LABEL};
#[cfg(any(feature = "flex", test))]
#[cfg_attr(docsrs, doc(cfg(feature = "flex")))]
pub use explain::explain;
pub use explain::{Explained, explain_on, explain_taught};
pub use in_batch::{InBatchOptions, in_batch};
pub use input::{LossInput, reduce, reduce_weighted};
pub use lists::{Lists, mask_from_padding};
pub use listwise::neural_sort;
pub use packed::PackedLists;
pub use pairwise::{LambdaLossWeights, PairSum, SwapMeasure};
#[cfg(feature = "learners")]
pub(crate) use ranking_loss::idle_queries;
pub use ranking_loss::{RankingLoss, degenerate_queries};
pub use registry::LossSpec;
pub use surrogate::{
    DiscountShape, MeasureContext, MeasureName, PositionFunction, PositionMeasure, RankExpectationMethod, RankModel,
    Relaxation, RelaxationName, Relaxed, Surrogate, TypeOneBound, Uses,
};
pub(crate) use surrogate::{Form, Indicators};
macro_rules! exported {
    ($($folder:ident $file:ident $loss:ident $config:ident;)+) => {
        $(pub use $folder::$file::{$loss, $config};)+
    };
}

crate::every_loss!(exported);

pub use temperature::Temperature;
pub use training_loss::TrainingLoss;
#[cfg(feature = "learners")]
pub(crate) use training_loss::{BuiltLoss, OWN_LOSS};
pub use unit_gradients::UnitGradients;
