//! Any measure to a surrogate: a measure is written once over positions, cut-offs and gains, as a [`PositionMeasure`],
//! and each [`Family`] makes a loss of it.
//!
//! | family | source | positions |
//! |---|---|---|
//! | exact | | ranks; no gradient |
//! | approximate | approximation-framework, section 4 | `p_x = 1 + sum_{y != x} phi(alpha (s_y - s_x))`, cut-offs and comparisons by sigmoids of steepness `beta` |
//! | indicator | smoothrank, section 4 | `h_ij` in place of "document i is at rank j" |
//! | expected | softrank-directness, section III | the measure's expectation over noisy scores |
//! | gumbel | Bruch et al., A stochastic treatment of learning to rank scoring functions | the mean of the approximate measure over scores with Gumbel noise |
//!
//! Sums of a function of one position are defined in all of them; sums in which two documents meet (average precision,
//! reciprocal rank) in all but the expected one, which is refused when the loss is built.
//!
//! Cost: that of the measure's operations, O(n^2) each, see [`MeasureContext`]; times the number of samples for Gumbel.

use std::fmt::Debug;

use burn::tensor::{Bool, Device, Tensor};
use serde::{Deserialize, Serialize};

use super::gumbel::perturbed;
use super::lists::sum_documents;
use super::{Lists, LossError, MeasureContext, Orientation, RankingLoss, error};
use crate::measure::Gain;
use crate::op::Step;

/// A measure of a ranked list, written over positions. [`Ndcg`](super::Ndcg) and others are ready made.
///
/// ```
/// use burn::tensor::Tensor;
/// use burn_rank::loss::{Family, MeasureContext, PositionFunction, PositionMeasure, Surrogate};
///
/// /// Rank-biased precision with persistence 0.8.
/// #[derive(Debug)]
/// struct RankBiasedPrecision;
///
/// impl PositionMeasure for RankBiasedPrecision {
///     fn name(&self) -> &'static str {
///         "rbp"
///     }
///     fn value(&self, list: &MeasureContext) -> Tensor<1> {
///         let persistence = PositionFunction::new(|position| ((position - 1.0) * 0.8f64.ln()).exp() * 0.2);
///         list.sum(list.relevance(), &persistence, None)
///     }
/// }
///
/// let loss = Surrogate::new(RankBiasedPrecision, Family::Expected { sigma: 0.5 })?;
/// # Ok::<(), burn_rank::loss::TransformError>(())
/// ```
pub trait PositionMeasure: Debug + Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Whether it is normalised to [0, 1].
    fn orientation(&self) -> Orientation {
        Orientation::NormalisedMeasure
    }

    /// Gain whose domain the labels must be in; `None` when any finite label will do.
    fn gain(&self) -> Option<&Gain> {
        None
    }

    /// Which queries have something to learn, `[B]`: by default those with two documents of different gains, or, for a
    /// measure without a gain, of different labels.
    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        self.gain().map_or_else(|| lists.has_two_labels(), |gain| lists.has_two_gains(gain))
    }

    /// The measure of each query, `[B]`. It must use the same operations of the list for every input.
    fn value(&self, list: &MeasureContext) -> Tensor<1>;
}

/// A way from a measure to a surrogate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "family")]
pub enum Family {
    /// The measure itself, without gradient.
    ///
    /// One minus its mean loss is not the mean of the measure: a list with nothing to learn (see
    /// [`learnable`](PositionMeasure::learnable)) has loss 0, so that it would count as a perfect one, whatever it is
    /// worth in a convention. [`metric::evaluate`](crate::metric::evaluate) measures tensors in a convention.
    Exact,
    /// Approximate positions.
    Approximate {
        /// Steepness of positions, above 0.
        alpha: f64,
        /// Steepness of cut-offs and comparisons, above 0.
        beta: f64,
        /// Smooth step of the positions.
        step: Step,
    },
    /// Soft indicators.
    Indicator {
        /// Smoothing, in squared scores, above 0.
        sigma: f64,
    },
    /// Expectation over Gaussian scores.
    Expected {
        /// Standard deviation of a score, above 0.
        sigma: f64,
    },
    /// Mean of the approximate measure over scores with Gumbel noise. The noise is a function of seed, sample and
    /// place in the list: change the seed (say, each epoch) for other noise.
    Gumbel {
        /// Number of samples, 1 or more.
        samples: usize,
        /// Seed of the noise.
        seed: u64,
        /// Steepness of positions, above 0.
        alpha: f64,
        /// Steepness of cut-offs and comparisons, above 0.
        beta: f64,
        /// Smooth step of the positions.
        step: Step,
    },
}

impl Family {
    fn name(&self) -> &'static str {
        match self {
            Family::Exact => "exact",
            Family::Approximate { .. } => "approximate",
            Family::Indicator { .. } => "indicator",
            Family::Expected { .. } => "expected",
            Family::Gumbel { .. } => "gumbel",
        }
    }

    fn check(&self) -> Result<(), LossError> {
        let positive = |parameter, value| error::positive(self.name(), parameter, value).map(|_| ());
        match self {
            Family::Exact => Ok(()),
            Family::Approximate { alpha, beta, .. } => positive("alpha", *alpha).and(positive("beta", *beta)),
            Family::Indicator { sigma } | Family::Expected { sigma } => positive("sigma", *sigma),
            Family::Gumbel { samples: 0, .. } => {
                Err(LossError::parameter(self.name(), "samples", 0, "a number of samples, 1 or more"))
            }
            Family::Gumbel { alpha, beta, .. } => positive("alpha", *alpha).and(positive("beta", *beta)),
        }
    }
}

/// Why a measure and a family make no loss.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TransformError {
    /// A parameter of the family out of its range.
    #[error(transparent)]
    Parameter(#[from] LossError),
    /// The measure asks for something that the family does not define.
    #[error(
        "{measure} uses {operation}, which the {family} family does not define: expected exact, approximate, indicator or gumbel"
    )]
    Undefined {
        /// Name of the measure.
        measure: &'static str,
        /// Name of the family.
        family: &'static str,
        /// The operation of [`MeasureContext`].
        operation: &'static str,
    },
}

/// A measure seen through a family: a loss.
#[derive(Debug, Clone)]
pub struct Surrogate<M> {
    measure: M,
    family: Family,
}

impl<M: PositionMeasure> Surrogate<M> {
    /// The loss that `family` makes of `measure`.
    ///
    /// # Errors
    /// A parameter out of its range, or an operation of the measure that the family does not define.
    pub fn new(measure: M, family: Family) -> Result<Self, TransformError> {
        family.check()?;
        // A list of two documents shows which operations the measure uses.
        let device = Device::flex();
        let labels = Tensor::<2>::from_floats([[1.0, 0.0]], &device);
        let lists = Lists::new(labels.clone(), labels.clone(), labels.greater_equal_elem(0.0));
        let context = MeasureContext::new(&lists, &family);
        measure.value(&context);
        match context.undefined() {
            None => Ok(Self { measure, family }),
            Some(operation) => {
                Err(TransformError::Undefined { measure: measure.name(), family: family.name(), operation })
            }
        }
    }

    /// The surrogate of the measure of each query of clean lists: `[B]`.
    pub fn values(&self, lists: &Lists) -> Tensor<1> {
        let Family::Gumbel { samples, seed, .. } = self.family else {
            // Ranks have no gradient: tie the value to the scores, so that a backward pass finds one of 0.
            let no_gradient = sum_documents(lists.scores.clone() * 0.0);
            return self.measure.value(&MeasureContext::new(lists, &self.family)) + no_gradient;
        };
        let sum = (0..samples).map(|sample| {
            let scores = perturbed(lists.scores.clone(), seed, sample) * lists.mask.clone();
            self.measure.value(&MeasureContext::new(&Lists { scores, ..lists.clone() }, &self.family))
        });
        sum.reduce(|a, b| a + b).unwrap_or_else(|| lists.counts().zeros_like()) * (1.0 / samples as f64)
    }
}

impl<M: PositionMeasure> RankingLoss for Surrogate<M> {
    fn name(&self) -> &'static str {
        self.measure.name()
    }

    fn orientation(&self) -> Orientation {
        self.measure.orientation()
    }

    fn gain(&self) -> Option<&Gain> {
        self.measure.gain()
    }

    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        self.measure.learnable(lists)
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        let values = self.values(lists);
        match self.measure.orientation() {
            Orientation::NormalisedMeasure => values.neg() + 1.0,
            Orientation::Measure => values.neg(),
            Orientation::Loss => values,
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType;

    use super::*;
    use crate::loss::{AveragePrecision, Dcg, Explained, LossSpec, Ndcg, PrecisionAt, ReciprocalRank, explain};
    use crate::measure::{Convention, Measure, Ranking};

    const SCORES: [f64; 7] = [0.31, -1.2, 2.5, 0.9, -0.4, 1.7, 0.05];
    const LABELS: [f64; 7] = [2.0, 1.0, 0.0, 0.0, 0.0, 1.0, 4.0];
    const APPROXIMATE: Family = Family::Approximate { alpha: 3.0, beta: 2.0, step: Step::Logistic };
    const INDICATOR: Family = Family::Indicator { sigma: 0.5 };
    const EXPECTED: Family = Family::Expected { sigma: 0.5 };

    fn surrogate(measure: impl PositionMeasure, family: Family) -> Explained {
        explain(&Surrogate::new(measure, family).unwrap(), &SCORES, &LABELS, DType::F64).unwrap()
    }

    /// A registered loss with some of the parameters alpha = 3, beta = 2, sigma = 0.5, k = 3.
    fn registered(name: &str, parameters: &[&str]) -> Explained {
        let spec = parameters.iter().fold(LossSpec::new(name), |spec, &parameter| match parameter {
            "alpha" => spec.with("alpha", 3.0),
            "beta" => spec.with("beta", 2.0),
            "sigma" => spec.with("sigma", 0.5),
            _ => spec.with("k", 3),
        });
        explain(spec.build().unwrap().as_ref(), &SCORES, &LABELS, DType::F64).unwrap()
    }

    fn assert_agree(found: &Explained, expected: &Explained, what: &str) {
        assert!((found.value - expected.value).abs() < 1e-6, "{what}: {} {}", found.value, expected.value);
        for (a, b) in found.grad.iter().zip(&expected.grad) {
            assert!((a - b).abs() < 1e-6, "{what}: {:?} {:?}", found.grad, expected.grad);
        }
    }

    #[test]
    fn the_transform_of_ndcg_is_each_papers_surrogate() {
        assert_agree(&surrogate(Ndcg::new(), APPROXIMATE), &registered("approx_ndcg", &["alpha"]), "ApproxNDCG");
        assert_agree(&surrogate(Ndcg::new(), INDICATOR), &registered("smooth_ndcg", &["sigma"]), "SmoothNDCG");
        assert_agree(&surrogate(Ndcg::new(), EXPECTED), &registered("soft_ndcg", &["sigma"]), "SoftNDCG");
        let cut = || Ndcg::new().with_k(3);
        assert_agree(&surrogate(cut(), APPROXIMATE), &registered("approx_ndcg", &["alpha", "beta", "k"]), "@3");
        assert_agree(&surrogate(cut(), INDICATOR), &registered("smooth_ndcg", &["sigma", "k"]), "@3");
        assert_agree(&surrogate(cut(), EXPECTED), &registered("soft_ndcg", &["sigma", "k"]), "@3");
    }

    #[test]
    fn the_transforms_of_dcg_and_precision_are_each_papers_surrogates() {
        assert_agree(&surrogate(Dcg::new(), APPROXIMATE), &registered("approx_dcg", &["alpha"]), "ApproxDCG");
        let cut = || Dcg::new().with_k(3);
        assert_agree(&surrogate(cut(), EXPECTED), &registered("soft_dcg", &["sigma", "k"]), "SoftDCG@3");
        let precision = PrecisionAt { k: 3 };
        let approximate = registered("approx_precision", &["alpha", "beta", "k"]);
        assert_agree(&surrogate(precision, APPROXIMATE), &approximate, "ApproxPrecision");
        assert_agree(
            &surrogate(precision, INDICATOR),
            &registered("smooth_precision", &["sigma", "k"]),
            "SmoothPrecision",
        );
        assert_agree(&surrogate(precision, EXPECTED), &registered("soft_precision", &["sigma", "k"]), "SoftPrecision");
    }

    #[test]
    fn the_transforms_of_average_precision_and_reciprocal_rank_are_each_papers_surrogates() {
        let both = ["alpha", "beta"];
        assert_agree(&surrogate(AveragePrecision, APPROXIMATE), &registered("approx_ap", &both), "ApproxAP");
        assert_agree(
            &surrogate(AveragePrecision, INDICATOR),
            &registered("smooth_ap_indicator", &["sigma"]),
            "SmoothAP",
        );
        assert_agree(&surrogate(ReciprocalRank, APPROXIMATE), &registered("approx_rr", &both), "ApproxRR");
        assert_agree(&surrogate(ReciprocalRank, INDICATOR), &registered("smooth_rr", &["sigma"]), "SmoothRR");
    }

    #[test]
    fn the_exact_family_is_the_measure() {
        let convention = Convention::preset("standard").unwrap();
        let scores = SCORES.map(|s| s as f32);
        let labels = LABELS.map(|y| y as f32);
        let exact = |measure: Measure| {
            let ranking = Ranking { scores: &scores, labels: &labels, ids: None };
            measure.query(&convention, &ranking).unwrap().unwrap()
        };
        let pairs = [
            (surrogate(Ndcg::new(), Family::Exact), exact(Measure::Ndcg(None))),
            (surrogate(Ndcg::new().with_k(3), Family::Exact), exact(Measure::Ndcg(Some(3)))),
            (surrogate(Dcg::new().with_k(3), Family::Exact), exact(Measure::Dcg(Some(3)))),
            (surrogate(PrecisionAt { k: 3 }, Family::Exact), exact(Measure::Precision(Some(3)))),
            (surrogate(AveragePrecision, Family::Exact), exact(Measure::Ap(None))),
            (surrogate(ReciprocalRank, Family::Exact), exact(Measure::ReciprocalRank(None))),
        ];
        for (index, (found, expected)) in pairs.iter().enumerate() {
            assert!((found.value - expected).abs() < 1e-6, "measure {index}: {} {expected}", found.value);
            assert!(found.grad.iter().all(|g| *g == 0.0), "ranks have no gradient");
        }
    }

    #[test]
    fn a_measure_of_two_positions_has_no_expectation() {
        let refused = Surrogate::new(AveragePrecision, EXPECTED).unwrap_err();
        let message = "average_precision uses sum_with_above, which the expected family does not define: \
                       expected exact, approximate, indicator or gumbel";
        assert_eq!(refused.to_string(), message);
        let refused = Surrogate::new(ReciprocalRank, EXPECTED).unwrap_err();
        assert!(matches!(refused, TransformError::Undefined { operation: "sum_with_none_above", .. }));
    }

    #[test]
    fn gumbel_samples_average_the_approximate_measure() {
        let family = |samples, seed| Family::Gumbel { samples, seed, alpha: 3.0, beta: 2.0, step: Step::Logistic };
        let one = |seed| surrogate(Ndcg::new(), family(1, seed)).value;
        let two = surrogate(Ndcg::new(), family(2, 5)).value;
        assert_eq!(one(5), one(5), "the noise is a function of the seed");
        assert_ne!(one(5), one(6));
        assert_ne!(one(5), two);
        // Adding the noise by hand gives the same.
        let device = Device::flex();
        let scores = Tensor::<2>::from_data([SCORES], (&device, DType::F64));
        let noisy: Vec<f64> = perturbed(scores, 5, 0).into_data().iter::<f64>().collect();
        let approximate = Surrogate::new(Ndcg::new(), APPROXIMATE).unwrap();
        let by_hand = explain(&approximate, &noisy, &LABELS, DType::F64).unwrap().value;
        assert!((one(5) - by_hand).abs() < 1e-12);
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        for family in [
            Family::Indicator { sigma: 0.0 },
            Family::Expected { sigma: f64::NAN },
            Family::Approximate { alpha: 1.0, beta: -1.0, step: Step::Logistic },
            Family::Gumbel { samples: 0, seed: 1, alpha: 1.0, beta: 1.0, step: Step::Logistic },
        ] {
            assert!(matches!(Surrogate::new(Ndcg::new(), family), Err(TransformError::Parameter(_))));
        }
    }
}
