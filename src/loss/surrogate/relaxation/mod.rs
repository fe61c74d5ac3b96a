//! Relaxations, which replace the ranks of documents so that a measure has a gradient with respect to the scores.
//! [`RelaxationName`] lists those of this crate, each with its source.

mod expected;
mod indicators;
mod positions;
mod relaxed;

pub(crate) use expected::ExpectedRanks;
pub use expected::{Approximation, RankExpectationMethod, RankModel};
pub use relaxed::Relaxed;
pub(crate) use relaxed::{Form, Indicators, PairSteps, Positions};

use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use burn::tensor::DType;
use expected::ExpectedDiscount;

use super::names::RelaxationName;
use super::position_function::PositionFunction;
use super::position_measure::Operations;
use crate::loss::about::{Smoothing, of_pairs};
use crate::loss::error::{self, LossError};
use crate::loss::lists::Lists;
use crate::loss::temperature::{Temperature, TemperatureUnit};
use crate::op::Step;

/// Replaces the ranks of a list with quantities that usually have a gradient.
///
/// ```
/// use burn::tensor::Tensor;
/// use burn_rank::loss::{Lists, MeasureName, Relaxation, Relaxed, RelaxedMeasureConfig};
///
/// /// Positions by the Laplace step, `1 - exp(-t) / 2` above 0 and `exp(t) / 2` below it.
/// #[derive(Debug)]
/// struct Laplace {
///     scale: f64,
/// }
///
/// impl Relaxation for Laplace {
///     fn name(&self) -> &'static str {
///         "laplace"
///     }
///     fn relax(&self, lists: &Lists) -> Relaxed {
///         let rows = lists.scores.clone().unsqueeze_dim::<3>(2);
///         let columns = lists.scores.clone().unsqueeze_dim::<3>(1);
///         let t = (columns - rows) * (1.0 / self.scale); // s_j - s_i at [.., i, j]
///         let step = (t.clone().abs().neg().exp().neg() + 1.0) * t.sign() * 0.5 + 0.5;
///         let sums = (step * lists.mask.clone().unsqueeze_dim::<3>(1)).sum_dim(2).squeeze_dim::<2>(2);
///         Relaxed::positions(sums + 0.5, 10.0) // the own term of a document is 1/2
///     }
/// }
///
/// let loss = RelaxedMeasureConfig::new().with_measure(MeasureName::Ap).init_relaxation(Laplace { scale: 0.1 })?;
/// # Ok::<(), burn_rank::loss::LossError>(())
/// ```
pub trait Relaxation: Debug + Send + Sync {
    /// Returns the name of the relaxation for error messages.
    fn name(&self) -> &'static str;

    /// Checks the parameters. Error messages use `loss` as the name of the loss.
    ///
    /// # Errors
    /// Returns [`LossError::Parameter`] for the first parameter that is out of range. By default, every value is valid.
    fn check(&self, _loss: &'static str) -> Result<(), LossError> {
        Ok(())
    }

    /// Returns the temperature that annealing changes, or `None` if the relaxation has no temperature. The default is
    /// `None`. A relaxation with a temperature must also override [`with_parameter`](Relaxation::with_parameter).
    fn smoothing(&self) -> Option<Smoothing> {
        None
    }

    /// Returns the unit of the temperature, which is scores by default. If the unit is spreads,
    /// [`relax`](Relaxation::relax) receives scores that are divided by the spread of their list.
    fn temperature_unit(&self) -> TemperatureUnit {
        TemperatureUnit::Score
    }

    /// Returns the same relaxation with one parameter changed; the new value is not checked. The default, `None`, means
    /// that the relaxation cannot change this parameter.
    fn with_parameter(&self, _parameter: &str, _value: f64) -> Option<Arc<dyn Relaxation>> {
        None
    }

    /// Returns the power `p` that adapts a temperature in spreads to short lists. The default is 2. In a list of
    /// `n < 8` documents, scores are divided by `(8 / n)^p`, so documents in a short list influence each other over
    /// larger score differences.
    fn short_list_power(&self) -> u32 {
        2
    }

    /// Returns the quantities that replace the ranks. The result must not depend on the values at padding.
    fn relax(&self, lists: &Lists) -> Relaxed;

    /// Estimates how many numbers the relaxation stores for the document pairs of one list, in the forward and backward
    /// passes. The default, 0, suits a relaxation whose memory grows linearly with the list.
    fn numbers_of_pairs(&self, _documents: usize) -> u64 {
        0
    }

    /// Returns the relaxation if it is one of this crate.
    #[doc(hidden)]
    fn known(&self) -> Option<&KnownRelaxation> {
        None
    }
}

/// A relaxation of this crate, with the parameters of all of them; each uses those that [`RelaxationName::parameters`]
/// names.
#[derive(Clone, Copy, PartialEq)]
pub struct KnownRelaxation {
    pub(crate) name: RelaxationName,
    pub(crate) temperature: Temperature,
    /// The steepness of cut-offs and comparisons between positions, above 0.
    pub(crate) beta: f64,
    pub(crate) step: Step,
    /// A document's own term in sums over sigmoid ranks, from 0 to 1.
    pub(crate) diagonal: f64,
    /// For smooth indicators, the offset that moves documents already found behind all remaining documents.
    pub(crate) delta: f64,
    pub(crate) evaluation: RankExpectationMethod,
    pub(crate) model: RankModel,
    /// The number of top ranks that the measure needs; `None` means that it needs all ranks.
    pub(crate) top: Option<usize>,
}

impl Debug for KnownRelaxation {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let mut fields = formatter.debug_struct(self.name.name());
        fields.field("temperature", &self.temperature);
        for &key in &self.name.parameters()[1..] {
            match key {
                "beta" => fields.field(key, &self.beta),
                "step" => fields.field(key, &self.step),
                "diagonal" => fields.field(key, &self.diagonal),
                "delta" => fields.field(key, &self.delta),
                "evaluation" => fields.field(key, &self.evaluation),
                _ => fields.field(key, &self.model),
            };
        }
        fields.finish()
    }
}

impl Relaxation for KnownRelaxation {
    fn name(&self) -> &'static str {
        self.name.name()
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        self.name.parameters().iter().try_for_each(|&key| match key {
            "alpha" | "sigma" => error::positive(loss, key, self.temperature.value).map(drop),
            "beta" => error::positive(loss, key, self.beta).map(drop),
            "diagonal" if !(0.0..=1.0).contains(&self.diagonal) => {
                Err(LossError::parameter(loss, key, self.diagonal, "a number from 0 to 1"))
            }
            "delta" if !(self.delta > 0.0 && self.delta < 0.5) => {
                Err(LossError::parameter(loss, key, self.delta, "a number above 0 and below 0.5"))
            }
            _ => Ok(()),
        })
    }

    fn smoothing(&self) -> Option<Smoothing> {
        Some(self.name.smoothing())
    }

    fn temperature_unit(&self) -> TemperatureUnit {
        self.temperature.unit
    }

    fn with_parameter(&self, parameter: &str, value: f64) -> Option<Arc<dyn Relaxation>> {
        let mut changed = *self;
        match parameter {
            _ if !self.name.parameters().contains(&parameter) => return None,
            "alpha" | "sigma" => changed.temperature.value = value,
            "beta" => changed.beta = value,
            "diagonal" => changed.diagonal = value,
            "delta" => changed.delta = value,
            _ => return None,
        }
        Some(Arc::new(changed))
    }

    fn short_list_power(&self) -> u32 {
        self.name.short_list_power()
    }

    fn relax(&self, lists: &Lists) -> Relaxed {
        let temperature = self.temperature.value;
        Relaxed(match self.name {
            RelaxationName::ApproximatePositions => positions::approximate(lists, temperature, self.beta, self.step),
            RelaxationName::SigmoidRanks => positions::sigmoid_ranks(lists, temperature, self.diagonal),
            RelaxationName::RankIndicators => indicators::rank_indicators(lists, temperature),
            RelaxationName::ExpectedRanks => {
                let (sigma, evaluation, model) = (temperature, self.evaluation, self.model);
                Form::Expectations(ExpectedRanks { sigma, evaluation, model, lists: lists.clone() })
            }
            RelaxationName::NeuralSort => indicators::neural_sort(lists, temperature, self.top),
            RelaxationName::SoftSort => indicators::soft_sort(lists, temperature, self.top),
            RelaxationName::SmoothIndicators => indicators::smooth_indicators(lists, temperature, self.delta, self.top),
            RelaxationName::ProjectedRanks => positions::projected_ranks(lists, temperature, self.beta),
        })
    }

    fn numbers_of_pairs(&self, documents: usize) -> u64 {
        let rows = self.top.unwrap_or(documents).min(documents) as u64;
        let entries = rows.saturating_mul(documents as u64);
        match self.name {
            RelaxationName::SoftSort => NUMBERS_OF_SOFT_SORT.saturating_mul(entries),
            RelaxationName::SmoothIndicators => NUMBERS_OF_SMOOTH_INDICATORS.saturating_mul(entries),
            RelaxationName::ProjectedRanks => of_pairs(NUMBERS_OF_PROJECTED_RANKS, documents),
            _ => 0,
        }
    }

    fn known(&self) -> Option<&KnownRelaxation> {
        Some(self)
    }
}

/// The approximate numbers of stored values per entry of a relaxation's matrix, as measured by `burn-rank bench`.
const NUMBERS_OF_SOFT_SORT: u64 = 6;
const NUMBERS_OF_SMOOTH_INDICATORS: u64 = 22;
const NUMBERS_OF_PROJECTED_RANKS: u64 = 3;

/// The approximate numbers of stored values per document pair, as measured by `burn-rank bench`, of a product over the
/// documents above from positions, and of Kendall's tau from steps without a kernel or probabilities, or from
/// indicators.
const NUMBERS_OF_PRODUCTS: u64 = 6;
const NUMBERS_OF_CHANCES: u64 = 3;
const NUMBERS_OF_INDICATORS: u64 = 9;

/// Returns how many numbers an operation of a measure stores for each document pair. A relaxation of a user may have
/// any form, so the number is that of the form with the most.
pub(super) fn numbers_per_pair(relaxation: &dyn Relaxation, operations: Operations) -> u64 {
    use RelaxationName::{ApproximatePositions, ExpectedRanks, ProjectedRanks, SigmoidRanks};
    let known = relaxation.known();
    let has_fused_steps = |known: &KnownRelaxation| {
        known.name != ApproximatePositions || matches!(known.step, Step::Logistic | Step::Tanh)
    };
    match (operations, known.map(|known| known.name)) {
        (Operations::ProductAbove, None | Some(ApproximatePositions | SigmoidRanks | ProjectedRanks)) => {
            NUMBERS_OF_PRODUCTS
        }
        (Operations::Concordance, Some(ExpectedRanks)) => NUMBERS_OF_CHANCES,
        (Operations::Concordance, Some(ApproximatePositions | SigmoidRanks | ProjectedRanks)) => {
            if known.is_some_and(has_fused_steps) { 0 } else { NUMBERS_OF_CHANCES }
        }
        (Operations::Concordance, _) => NUMBERS_OF_INDICATORS,
        _ => 0,
    }
}

impl KnownRelaxation {
    /// Checks that the evaluation method chosen by the user can compute the expectations of the functions of the rank.
    pub(super) fn check_sums(
        &self,
        loss: &'static str,
        functions: &[(PositionFunction, Option<usize>)],
    ) -> Result<(), LossError> {
        let is_expected = self.name == RelaxationName::ExpectedRanks;
        functions.iter().filter(|_| is_expected).try_for_each(|(f, k)| match (self.discount(f, *k), self.evaluation) {
            (Some(expected), _) => expected.check(loss),
            (None, RankExpectationMethod::Exponentials) if f.exponential().is_none() || k.is_some() => {
                let expected = "auto, recursion or cutoff: the measure's function of a rank is not a discount";
                Err(LossError::parameter(loss, "evaluation", "exponentials", expected))
            }
            (None, _) => Ok(()),
        })
    }

    /// Describes the approximation of `E[f]` within the cut-off `k`, and its measured errors, on lists of up to
    /// `documents` documents; `None` means that it is computed by its formula.
    pub(super) fn approximation(
        &self,
        loss: &'static str,
        (f, k): &(PositionFunction, Option<usize>),
        documents: usize,
        scores: DType,
    ) -> Result<Option<Approximation>, LossError> {
        match self.discount(f, *k).filter(|_| self.name == RelaxationName::ExpectedRanks) {
            Some(expected) => expected.approximation(loss, documents, scores).map(Some),
            None => Ok(None),
        }
    }

    fn discount(&self, f: &PositionFunction, k: Option<usize>) -> Option<ExpectedDiscount> {
        let (sigma, evaluation, model) = (self.temperature.value, self.evaluation, self.model);
        Some(ExpectedDiscount { discount: f.discount()?.clone(), k, sigma, evaluation, model })
    }
}

#[cfg(test)]
impl KnownRelaxation {
    /// Creates a relaxation with the default parameters.
    pub(crate) fn new(name: RelaxationName, temperature: Temperature) -> Self {
        let config = crate::loss::RelaxedMeasureConfig::new().with_relaxation(name).with_temperature(Some(temperature));
        Self { top: None, ..config.known_relaxation() }
    }
}
