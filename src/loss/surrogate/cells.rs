//! Every combination of a measure and a relaxation (a cell), with its cost and the named loss that it equals, if any.

use std::fmt::{self, Display, Formatter};

use super::names::{MeasureName, RelaxationName};

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

    /// Returns the cost of this combination; for expected ranks, this is the cost in the model with independent trials.
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

    /// Returns the name of the registered loss that equals this combination, if there is one.
    pub fn named(self) -> Option<&'static str> {
        use MeasureName::{Ap, Dcg, Err, KendallTau, Ndcg, Precision, Rr};
        use RelaxationName::{ApproximatePositions, ExpectedRanks, RankIndicators, SigmoidRanks};
        Some(match (self.measure, self.relaxation) {
            (Ndcg, ApproximatePositions) => "approx_ndcg",
            (Dcg, ApproximatePositions) => "approx_dcg",
            (Ap, ApproximatePositions) => "approx_ap",
            (Rr, ApproximatePositions) => "approx_rr",
            (Precision, ApproximatePositions) => "approx_precision",
            (KendallTau, ApproximatePositions) => "approx_kendall_tau",
            (Dcg, SigmoidRanks) => "smooth_dcg",
            (Ap, SigmoidRanks) => "smooth_ap_rank",
            (Ndcg, RankIndicators) => "smooth_ndcg",
            (Ap, RankIndicators) => "smooth_ap_indicator",
            (Rr, RankIndicators) => "smooth_rr",
            (Precision, RankIndicators) => "smooth_precision",
            (Ndcg, ExpectedRanks) => "soft_ndcg",
            (Dcg, ExpectedRanks) => "soft_dcg",
            (Ap, ExpectedRanks) => "soft_ap",
            (Rr, ExpectedRanks) => "soft_rr",
            (Err, ExpectedRanks) => "soft_err",
            (Precision, ExpectedRanks) => "soft_precision",
            _ => return None,
        })
    }
}
