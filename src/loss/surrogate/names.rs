//! The measures and relaxations that a configuration can combine by name, and their parameters.

use serde::{Deserialize, Serialize};

use super::relaxation::RankModel;

/// Defines an enum of names, with the written name and the parameters of each.
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
            /// Every variant, in the order of the tables.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the name in configuration files.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Returns the keys of the parameters; the temperature of a relaxation comes first.
            pub fn parameters(self) -> &'static [&'static str] {
                match self {
                    $(Self::$variant => &$parameters,)*
                }
            }
        }
    };
}

names! {
    /// A measure that a configuration can name.
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
    /// A relaxation that a configuration can name.
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
    /// Returns the default cut-off of a measure that needs one, or `None` for other measures.
    pub(super) fn default_cutoff(self) -> Option<usize> {
        matches!(self, Self::Precision | Self::Recall | Self::Success).then_some(5)
    }

    /// Returns the default distribution of ranks. Measures of the first relevant document need the exact distribution.
    pub(super) fn default_model(self) -> RankModel {
        match self {
            Self::Rr | Self::Err | Self::Success => RankModel::Exact,
            _ => RankModel::Independent,
        }
    }
}

impl RelaxationName {
    /// Returns the key of the temperature, which is the first parameter.
    pub(super) fn symbol(self) -> &'static str {
        self.parameters()[0]
    }

    /// Returns the temperature of the papers in scores, or 1 if they give none.
    pub(super) fn paper_value(self) -> f64 {
        if self == Self::ApproximatePositions { 10.0 } else { 1.0 }
    }
}
