//! The names that a configuration uses to combine a measure with a relaxation, and the parameters of each measure and
//! relaxation.

use serde::{Deserialize, Serialize};

use super::relaxation::RankModel;

/// Defines an enum in which each variant has a name in configuration files and a list of parameter keys.
macro_rules! names {
    (
        $(#[$attribute:meta])* $type:ident
        $($(#[$doc:meta])* $variant:ident = $name:literal $(or $alias:literal)*, $parameters:expr;)*
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $type {
            $($(#[$doc])* #[serde(rename = $name $(, alias = $alias)*)] $variant,)*
        }

        impl $type {
            /// All variants, in the order in which the documentation's tables list them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the name that configuration files use.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Returns the configuration keys of the parameters; a relaxation's temperature comes first.
            pub fn parameters(self) -> &'static [&'static str] {
                match self {
                    $(Self::$variant => &$parameters,)*
                }
            }
        }
    };
}

names! {
    /// The name of a measure in a configuration.
    MeasureName
    /// [`Ndcg`](super::Ndcg)
    Ndcg = "ndcg", ["k", "gain", "discount", "exponent"];
    /// [`Dcg`](super::Dcg)
    Dcg = "dcg", ["k", "gain", "discount", "exponent"];
    /// [`AveragePrecision`](super::AveragePrecision)
    Ap = "ap" or "map", ["k"];
    /// [`ReciprocalRank`](super::ReciprocalRank)
    Rr = "rr" or "mrr", ["k", "linear"];
    /// [`ExpectedReciprocalRank`](super::ExpectedReciprocalRank)
    Err = "err", ["k", "maximum_grade"];
    /// [`PrecisionAt`](super::PrecisionAt)
    Precision = "precision" or "p", ["k"];
    /// [`RecallAt`](super::RecallAt)
    Recall = "recall", ["k"];
    /// [`SuccessAt`](super::SuccessAt)
    Success = "success", ["k"];
    /// [`RankBiasedPrecision`](super::RankBiasedPrecision)
    Rbp = "rbp", ["persistence"];
    /// [`RPrecision`](super::RPrecision)
    RPrecision = "r_precision", [];
    /// [`KendallTau`](super::KendallTau)
    KendallTau = "kendall_tau", [];
}

names! {
    /// The name of a relaxation in a configuration.
    RelaxationName
    /// [`Approximate`](super::Approximate)
    ApproximatePositions = "approximate_positions", ["alpha", "beta", "step"];
    /// [`SigmoidRanks`](super::SigmoidRanks)
    SigmoidRanks = "sigmoid_ranks", ["sigma", "diagonal"];
    /// [`Indicator`](super::Indicator)
    RankIndicators = "rank_indicators", ["sigma"];
    /// [`Expected`](super::Expected)
    ExpectedRanks = "expected_ranks", ["sigma", "evaluation", "model"];
    /// [`NeuralSort`](super::NeuralSort)
    NeuralSort = "neural_sort", ["sigma"];
    /// [`SoftSort`](super::SoftSort)
    SoftSort = "soft_sort", ["sigma"];
    /// [`SmoothIndicators`](super::SmoothIndicators)
    SmoothIndicators = "smooth_indicators", ["alpha", "delta"];
    /// [`ProjectedRanks`](super::ProjectedRanks)
    ProjectedRanks = "projected_ranks", ["sigma", "beta"];
}

impl MeasureName {
    /// Returns the default cut-off if the measure needs a cut-off, and `None` otherwise.
    pub(super) fn default_cutoff(self) -> Option<usize> {
        matches!(self, Self::Precision | Self::Recall | Self::Success).then_some(5)
    }

    /// Returns the default model for the distribution of ranks. Measures that depend on the first relevant document
    /// need the exact model.
    pub(super) fn default_model(self) -> RankModel {
        match self {
            Self::Rr | Self::Err | Self::Success => RankModel::Exact,
            _ => RankModel::Independent,
        }
    }
}

impl RelaxationName {
    /// Returns the configuration key of the temperature, which is the relaxation's first parameter.
    pub(super) fn symbol(self) -> &'static str {
        self.parameters()[0]
    }

    /// Returns the paper's temperature, in scores, or 1 if the paper gives none.
    pub(super) fn paper_value(self) -> f64 {
        if self == Self::ApproximatePositions { 10.0 } else { 1.0 }
    }
}
