//! The measures of this crate, written as formulas over positions for [`Surrogate`](super::Surrogate).
//! [`MeasureContext`] documents the operations that a measure may use, and [`MeasureName`] the measures.

use burn::tensor::Bool;

use super::context::MeasureContext;
use super::names::MeasureName;
use super::position_function::PositionFunction;
use super::position_measure::{Operations, PositionMeasure, Uses};
use crate::loss::error::LARGEST_GRADE;
use crate::loss::prelude::*;

/// A measure of this crate. It holds the parameters of every measure, and uses only the parameters that
/// [`MeasureName::parameters`] lists.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KnownMeasure {
    pub(crate) name: MeasureName,
    /// The number of top ranks that count; `None` counts all ranks.
    pub(crate) k: Option<usize>,
    /// The gain of a label. For expected reciprocal rank, the probability that a reader stops at it.
    pub(crate) gain: Gain,
    pub(crate) discount: Discount,
    /// Whether to use `sum_x l_x / r_x` for the reciprocal rank.
    pub(crate) linear: bool,
    pub(crate) maximum_grade: u32,
    pub(crate) persistence: f64,
}

impl KnownMeasure {
    /// Returns the function of a rank that the measure sums over documents.
    fn function(&self) -> PositionFunction {
        match self.name {
            MeasureName::Ndcg | MeasureName::Dcg => self.discount.clone().into(),
            MeasureName::Ap | MeasureName::Rr | MeasureName::Err => Discount::Zipf.into(),
            // The probability that a reader reaches a rank, times the probability to stop there.
            MeasureName::Rbp => PositionFunction::geometric(1.0 - self.persistence, self.persistence),
            _ => PositionFunction::one(),
        }
    }

    /// Returns the cut-off of a measure that needs one.
    fn cutoff(&self) -> usize {
        self.k.unwrap_or_default()
    }
}

impl PositionMeasure for KnownMeasure {
    fn name(&self) -> &'static str {
        match self.name {
            MeasureName::Ap => "average_precision",
            MeasureName::Rr => "reciprocal_rank",
            MeasureName::Err => "expected_reciprocal_rank",
            name => name.name(),
        }
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        self.name.parameters().iter().try_for_each(|&key| match key {
            "k" if self.name.default_cutoff().is_some() => {
                error::at_least_one(loss, key, self.cutoff(), "a cut-off of 1 or more").map(drop)
            }
            "k" => error::cutoff(loss, self.k).map(drop),
            "gain" => error::gain(loss, &self.gain).map(drop),
            "discount" => error::discount(loss, &self.discount),
            "maximum_grade" => error::maximum_grade(loss, self.maximum_grade),
            "persistence" if !(self.persistence > 0.0 && self.persistence < 1.0) => {
                Err(LossError::parameter(loss, key, self.persistence, "a number above 0 and below 1"))
            }
            _ => Ok(()),
        })
    }

    fn orientation(&self) -> Orientation {
        match self.name {
            MeasureName::Dcg | MeasureName::KendallTau => Orientation::Measure,
            _ => Orientation::NormalizedMeasure,
        }
    }

    fn gain(&self) -> Option<&Gain> {
        matches!(self.name, MeasureName::Ndcg | MeasureName::Dcg | MeasureName::Err).then_some(&self.gain)
    }

    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        match self.gain() {
            Some(gain) => lists.has_two_gains(gain),
            None if self.name == MeasureName::KendallTau => lists.has_two_labels(),
            None => lists.has_both_relevances(),
        }
    }

    fn needed_positions(&self, lists: &Lists) -> Option<Tensor<2>> {
        match self.gain() {
            Some(gain) => lists.gaining(gain),
            None => (!matches!(self.name, MeasureName::Ap | MeasureName::KendallTau)).then(|| lists.relevance()),
        }
    }

    fn uses(&self) -> Uses {
        use MeasureName::{Ap, Dcg, Err, KendallTau, Ndcg, Precision, RPrecision, Rbp, Recall, Rr, Success};
        let operations = match self.name {
            Ndcg | Dcg | Precision | Recall | Rbp => Operations::Sums,
            Rr if self.linear => Operations::Sums,
            Ap | Rr | Success | RPrecision => Operations::Comparisons,
            Err => Operations::ProductAbove,
            KendallTau => Operations::Concordance,
        };
        match self.name {
            RPrecision | KendallTau => Uses::of(operations),
            _ => Uses::of(operations).and_function(&self.function(), self.k),
        }
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        let (f, k) = (&self.function(), self.k);
        match self.name {
            MeasureName::Ndcg => {
                let gains = list.gains(&self.gain);
                list.sum(gains.clone(), f, k) / list.ideal(gains, f, k)
            }
            MeasureName::Dcg => list.sum(list.gains(&self.gain), f, k),
            MeasureName::Ap => list.sum_with_same_above(list.relevance(), f, k) / list.relevant(),
            MeasureName::Rr if !self.linear => list.sum_with_no_relevant_above(list.relevance(), f, k),
            MeasureName::Rr | MeasureName::Rbp => list.sum(list.relevance(), f, k),
            MeasureName::Err => {
                let stops = list.gains(&self.gain);
                list.sum_with_none_above(stops.clone(), f, stops, k)
            }
            MeasureName::Precision => list.sum(list.relevance(), f, k) * (1.0 / self.cutoff() as f64),
            MeasureName::Recall => list.sum(list.relevance(), f, k) / list.relevant(),
            MeasureName::Success => list.any_relevant_within(self.cutoff()),
            MeasureName::RPrecision => list.sum_within(list.relevance(), list.relevant()) / list.relevant(),
            MeasureName::KendallTau => list.concordance() / list.pairs(),
        }
    }
}

/// Returns the probability that a reader stops at each label up to the maximum grade, for expected reciprocal rank.
pub(in crate::loss) fn stops(maximum_grade: u32) -> Gain {
    let stop = |label: u32| (f64::from(label).exp2() - 1.0) * (-f64::from(maximum_grade)).exp2();
    // A larger grade is refused, so it needs no table.
    Gain::Table((0..=maximum_grade.min(LARGEST_GRADE)).map(stop).collect())
}

#[cfg(test)]
impl KnownMeasure {
    /// Creates a measure with a cut-off and the defaults of the other parameters.
    pub(crate) fn at(name: MeasureName, k: impl Into<Option<usize>>) -> Self {
        let (discount, persistence) = (Discount::default(), 0.8);
        Self { name, k: k.into(), gain: Gain::default(), discount, linear: false, maximum_grade: 4, persistence }
    }

    /// Creates expected reciprocal rank.
    pub(crate) fn err(maximum_grade: u32, k: Option<usize>) -> Self {
        Self { maximum_grade, gain: stops(maximum_grade), ..Self::at(MeasureName::Err, k) }
    }
}
