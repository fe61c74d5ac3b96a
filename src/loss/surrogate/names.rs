//! The measures and relaxations that a configuration combines by name: one row for each. A measure and a relaxation
//! together are a cell.
//!
//! The default temperatures are in spreads (standard deviations of a list's scores). The papers' temperatures are in
//! scores. With them, training from scratch works badly, because a suitable temperature depends on the spread of the
//! scores. The page benchmarks/losses.md explains how the default temperatures were found, using only validation
//! queries.

use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

use super::relaxation::RankModel;
use crate::loss::about::Smoothing;
use crate::measure::Discount;

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
    /// NDCG, the DCG divided by the largest DCG that any order can reach.
    Ndcg = "ndcg", ["k", "gain", "discount", "exponent"];
    /// DCG, the sum `sum_x D(r_x) G(y_x)`.
    Dcg = "dcg", ["k", "gain", "discount", "exponent"];
    /// Average precision, `1/|l| sum_x l_x / r_x (relevant documents at or above x)`. The divisor is always the number
    /// of all relevant documents, even if there is a cut-off.
    Ap = "ap" or "map", ["k"];
    /// Reciprocal rank, one over the rank of the first relevant document, or 0 if that rank is beyond the cut-off. With
    /// `linear`, `sum_x l_x / r_x`, which equals it only if exactly one document is relevant (smoothrank, section 4.1).
    Rr = "rr" or "mrr", ["k", "linear"];
    /// Expected reciprocal rank, `sum_x g_x / r_x prod of (1 - g_y) over y above x`. A reader stops at document `x`
    /// with probability `g_x = (2^{y_x} - 1) / 2^{maximum grade}`.
    Err = "err", ["k", "maximum_grade"];
    /// Precision, the number of relevant documents among the first `k`, divided by `k`.
    Precision = "precision" or "p", ["k"];
    /// Recall, the share of all relevant documents that are among the first `k`.
    Recall = "recall", ["k"];
    /// Success, whether a relevant document is among the first `k`.
    Success = "success", ["k"];
    /// Rank-biased precision, `(1 - p) sum_x l_x p^(r_x - 1)`. A reader who goes on to the next document with
    /// probability `p` finds relevant documents at this rate.
    Rbp = "rbp", ["persistence"];
    /// R-precision, the precision at `k`, where `k` is the number of relevant documents.
    RPrecision = "r_precision", [];
    /// Kendall's tau, the number of correctly ordered pairs minus the number of inverted pairs, divided by the number
    /// of pairs with different labels.
    KendallTau = "kendall_tau", [];
}

names! {
    /// The name of a relaxation in a configuration.
    RelaxationName
    /// Positions `p_x = 1 + sum_{y != x} phi(alpha (s_y - s_x))`; cut-offs and comparisons by sigmoids of steepness
    /// `beta` (approximation-framework, section 4). The surrogate tends to the measure as `alpha` and `beta` grow
    /// (Theorems 3 to 6).
    ApproximatePositions = "approximate_positions", ["alpha", "beta", "step"];
    /// The same by the logistic step; comparisons by that step between scores (smoothrank, equations 4, 5 and 9).
    SigmoidRanks = "sigmoid_ranks", ["sigma", "diagonal"];
    /// Soft indicators `h_ij` in place of "document i is at rank j" (smoothrank, section 4). The temperature is in
    /// squared scores or in variances.
    RankIndicators = "rank_indicators", ["sigma"];
    /// Ranks of noisy scores, and expectations over them (softrank-directness, section III).
    ExpectedRanks = "expected_ranks", ["sigma", "evaluation", "model"];
    /// Rows of NeuralSort's matrix (Grover et al., Stochastic optimization of sorting networks via continuous
    /// relaxations; PiRank).
    NeuralSort = "neural_sort", ["sigma"];
    /// `softmax_i(-|s_i - s_d(r)| / sigma)` in place of "document i is at rank r" (Prillo and Eisenschlos, SoftSort).
    SoftSort = "soft_sort", ["sigma"];
    /// Softmax of scores, less what was found at the ranks above (Thonet et al., SmoothI).
    SmoothIndicators = "smooth_indicators", ["alpha", "delta"];
    /// Projection of `-s / sigma` on the orders of the ranks (Blondel et al., Fast differentiable sorting and ranking).
    ProjectedRanks = "projected_ranks", ["sigma", "beta"];
}

impl MeasureName {
    /// Returns the default cut-off if the measure needs a cut-off, and `None` otherwise.
    pub(super) fn default_cutoff(self) -> Option<usize> {
        matches!(self, Self::Precision | Self::Recall | Self::Success).then_some(5)
    }

    /// Returns the default model for the distribution of ranks. A measure that depends on the first relevant document
    /// needs the exact model.
    pub(super) fn default_model(self) -> RankModel {
        match self {
            Self::Rr | Self::Err | Self::Success => RankModel::Exact,
            _ => RankModel::Independent,
        }
    }

    /// Returns whether the measure depends on every rank, and depends less on each rank than on the rank before it.
    fn falls_gradually(self) -> bool {
        matches!(self, Self::Ndcg | Self::Dcg | Self::Ap | Self::Err | Self::Rbp)
    }
}

impl RelaxationName {
    /// Returns the configuration key of the temperature, which is the relaxation's first parameter, and its direction.
    pub(super) fn smoothing(self) -> Smoothing {
        match self.parameters()[0] {
            "alpha" => Smoothing::sharper_if_larger("alpha"),
            sigma => Smoothing::sharper_if_smaller(sigma),
        }
    }

    /// Returns the paper's temperature, in scores, or 1 if the paper gives none.
    pub(super) fn paper_value(self) -> f64 {
        if self == Self::ApproximatePositions { 10.0 } else { 1.0 }
    }

    /// Returns the default temperature in spreads, for training a scorer from scratch.
    pub(super) const fn temperature(self) -> f64 {
        match self {
            Self::ApproximatePositions => 20.0,
            Self::SigmoidRanks | Self::ProjectedRanks => 0.05,
            Self::RankIndicators => 0.02,
            Self::ExpectedRanks => 0.1,
            // With a smoother matrix, the loss of three documents has minima at wrong orders.
            Self::NeuralSort => 0.2,
            Self::SoftSort => 0.075,
            Self::SmoothIndicators => 10.0,
        }
    }

    /// Returns the power `p` that adapts a temperature in spreads to short lists.
    pub(super) fn short_list_power(self) -> u32 {
        match self {
            Self::NeuralSort => 0,
            Self::RankIndicators | Self::SoftSort => 1,
            // Documents in a short list are often more than `sigma` apart and then have no gradient.
            Self::ProjectedRanks => 7,
            _ => 2,
        }
    }
}

/// A measure under a relaxation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// The measure.
    pub measure: MeasureName,
    /// The relaxation.
    pub relaxation: RelaxationName,
}

/// The time and memory for one query with n documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellCost {
    /// Takes O(n^2) time and O(n) memory, with the primitives of [`op`](crate::op).
    Linear,
    /// Takes O(k n^2) time and O(k n) memory, where `k` is the number of ranks that count.
    Trials,
    /// Takes O(n^2) time and memory, because tensors of document pairs are stored.
    Pairs,
    /// Takes O(n^3) time and O(n^2) memory.
    Cubic,
}

impl CellCost {
    /// All costs, in the order in which a table's legend lists them.
    pub const ALL: [Self; 4] = [Self::Linear, Self::Trials, Self::Pairs, Self::Cubic];

    /// Returns the letter that stands for the cost in a table.
    pub fn mark(self) -> char {
        match self {
            Self::Linear => 'o',
            Self::Trials => 't',
            Self::Pairs => 'p',
            Self::Cubic => 'c',
        }
    }
}

impl Display for CellCost {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Linear => "O(n^2) time (mostly O(n log n) for long lists in float32), O(n) memory",
            Self::Trials => "O(k n^2) time, O(k n) memory, for k ranks that count",
            Self::Pairs => "O(n^2) time and memory",
            Self::Cubic => "O(n^3) time, O(n^2) memory",
        })
    }
}

impl Cell {
    /// Returns all combinations of a measure and a relaxation, ordered by measure.
    pub fn all() -> impl Iterator<Item = Self> {
        let of =
            |&measure: &MeasureName| RelaxationName::ALL.iter().map(move |&relaxation| Self { measure, relaxation });
        MeasureName::ALL.iter().flat_map(of)
    }

    /// Returns the cost of this combination with its default parameters. Kendall's tau under approximate positions
    /// stores tensors of document pairs with any step but `logistic` and `tanh`.
    ///
    /// For expected ranks, this is the cost in the model with independent trials.
    /// In float32 on a CPU, the exact rank model needs less time: a factor `n` of this cost becomes `log n`. In float64
    /// or on other devices, the exact rank model takes `29 sqrt(1 + ln n)` times as long as independent trials.
    pub fn cost(self) -> CellCost {
        use MeasureName::{Err, KendallTau, RPrecision, Success};
        use RelaxationName::{
            ApproximatePositions, ExpectedRanks, NeuralSort, ProjectedRanks, RankIndicators, SigmoidRanks,
            SmoothIndicators, SoftSort,
        };
        match (self.measure, self.relaxation) {
            (Success | RPrecision, ExpectedRanks) => CellCost::Trials,
            (Err, ApproximatePositions | SigmoidRanks) | (KendallTau, ExpectedRanks) => CellCost::Pairs,
            (KendallTau, RankIndicators | NeuralSort | SoftSort | SmoothIndicators) => CellCost::Cubic,
            (_, SoftSort | SmoothIndicators | ProjectedRanks) => CellCost::Pairs,
            _ => CellCost::Linear,
        }
    }

    /// Returns the default temperature, in spreads, for training a scorer from scratch. The factor `times` changes it
    /// to make the surrogate smoother.
    pub(super) fn default_temperature(self, times: f64) -> f64 {
        let temperature = self.relaxation.temperature();
        match self.relaxation {
            RelaxationName::ApproximatePositions | RelaxationName::SmoothIndicators => temperature / times,
            // The temperature is in variances.
            RelaxationName::RankIndicators => temperature * times * times,
            // Documents further apart have no gradient, so a measure of few ranks needs a larger temperature.
            RelaxationName::ProjectedRanks if self.measure.falls_gradually() => times * (temperature / 8.0),
            _ => temperature * times,
        }
    }
}

/// The shape of a discount, whose exponent is a separate parameter.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiscountShape {
    /// The discount `1 / log2(1 + r)`.
    #[default]
    Log2,
    /// The discount `1 / ln(1 + r)`.
    Natural,
    /// The discount `r^-exponent`.
    Power,
    /// The discount `1 / r`.
    Zipf,
    /// The discount `2^-r`.
    Exponential,
    /// The discount that is 1 at ranks 1 and 2, and `ln 2 / ln r` at later ranks.
    Letor,
    /// The discount `table[r - 1]`, 0 beyond the table.
    Table(Vec<f64>),
}

impl DiscountShape {
    /// Returns the discount. Only `Power` uses the separate exponent.
    pub fn with_exponent(self, exponent: f64) -> Discount {
        match self {
            DiscountShape::Log2 => Discount::Log2,
            DiscountShape::Natural => Discount::Natural,
            DiscountShape::Power => Discount::Power { exponent },
            DiscountShape::Zipf => Discount::Zipf,
            DiscountShape::Exponential => Discount::Exponential,
            DiscountShape::Letor => Discount::Letor,
            DiscountShape::Table(table) => Discount::Table(table),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Map, json};
    use crate::loss::registry;

    /// Each named loss has the same default temperature as the measure and relaxation that it combines.
    #[test]
    fn named_losses_have_the_temperature_of_their_cell() {
        for cell in Cell::all() {
            let Some(name) = cell.named() else { continue };
            let entry = registry::find(name).unwrap();
            let (symbol, score) = (
                cell.relaxation.smoothing().parameter,
                Map::from_iter([("temperature_unit".to_string(), json!("score"))]),
            );
            let defaults = entry.defaults(&Map::new());
            assert_eq!(defaults[symbol], json!(cell.default_temperature(1.0)), "{name}");
            assert_eq!(defaults["temperature_unit"], json!("spread"), "{name}");
            assert_eq!(entry.defaults(&score)[symbol], json!(cell.relaxation.paper_value()), "{name}");
        }
    }
}
