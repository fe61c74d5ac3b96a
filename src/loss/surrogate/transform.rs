//! `Surrogate`, a loss that computes a measure under a relaxation.

use std::fmt::{Debug, Display, Formatter};
use std::sync::Arc;

use burn::module::{Content, DisplaySettings, Module, ModuleDisplay, ModuleDisplayDefault};
use burn::tensor::{Bool, DType, Tensor};

use super::bound::TypeOneBound;
use super::context::MeasureContext;
use super::position_function::PositionFunction;
use super::position_measure::PositionMeasure;
use super::relaxation::Relaxation;
use crate::loss::about::{About, ByLength, Change, Orientation, of_pairs};
use crate::loss::approximation::Approximation;
use crate::loss::error::LossError;
use crate::loss::lists::{Lists, sum_documents};
use crate::loss::ranking_loss::{Changed, RankingLoss, assert_per_query};
use crate::loss::temperature::Scale;

/// A loss and burn module that computes a measure under a relaxation.
#[derive(Debug)]
pub struct Surrogate<M> {
    name: &'static str,
    measure: Arc<M>,
    relaxation: Arc<dyn Relaxation>,
    /// The functions of the rank whose expectations the measure needs, with their cut-offs.
    expected: Vec<(PositionFunction, Option<usize>)>,
    bound: Option<TypeOneBound>,
    scale: Scale,
    /// Whether the measure compares documents, so that a document's contribution depends on more than its rank.
    documents_meet: bool,
    /// The number of values that the measure stores per document pair.
    numbers_per_pair: u64,
}

impl<M> Clone for Surrogate<M> {
    fn clone(&self) -> Self {
        let (measure, relaxation, expected) = (self.measure.clone(), self.relaxation.clone(), self.expected.clone());
        let Self { name, bound, scale, documents_meet, numbers_per_pair, .. } = *self;
        Self { name, measure, relaxation, expected, bound, scale, documents_meet, numbers_per_pair }
    }
}

// Not derived, because `#[derive(Module)]` would require every measure to be a module.
impl<T: Debug + Send + Sync> Module for Surrogate<T> {
    burn::empty!(module);
}

impl<T: Debug + Send + Sync> ModuleDisplayDefault for Surrogate<T> {
    fn content(&self, content: Content) -> Option<Content> {
        content
            .set_top_level_type("Surrogate")
            .add_debug_attribute("name", &self.name)
            .add_debug_attribute("measure", &self.measure)
            .add_debug_attribute("relaxation", &self.relaxation)
            .add_debug_attribute("temperature_unit", &self.scale)
            .optional()
    }
}

impl<T: Debug + Send + Sync> ModuleDisplay for Surrogate<T> {}

impl<T: Debug + Send + Sync> Display for Surrogate<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.format(DisplaySettings::default()))
    }
}

impl<M: PositionMeasure> Surrogate<M> {
    /// Creates a loss, named after the measure, that computes `measure` under `relaxation`.
    ///
    /// # Errors
    /// Returns an error if a parameter is out of range, or if the measure uses an operation that the relaxation does
    /// not define.
    pub fn new(measure: M, relaxation: impl Relaxation + 'static) -> Result<Self, LossError> {
        Self::through(measure, Arc::new(relaxation))
    }

    /// Creates a loss that computes `measure` under a relaxation that is chosen at run time.
    ///
    /// # Errors
    /// Returns the same errors as [`new`](Self::new).
    pub fn through(measure: M, relaxation: Arc<dyn Relaxation>) -> Result<Self, LossError> {
        relaxation.check(relaxation.name())?;
        measure.check(measure.name())?;
        Self::probed(measure.name(), measure, relaxation)
    }

    /// Creates a registered loss from a measure and a shared relaxation. Error messages about parameters use the loss's
    /// `name`.
    pub(super) fn joined(name: &'static str, measure: M, relaxation: Arc<dyn Relaxation>) -> Result<Self, LossError> {
        relaxation.check(name)?;
        measure.check(name)?;
        Self::probed(name, measure, relaxation)
    }

    /// Creates a registered loss from a measure and a relaxation. Error messages about parameters use the loss's
    /// `name`.
    pub(super) fn named(
        name: &'static str,
        measure: M,
        relaxation: impl Relaxation + 'static,
    ) -> Result<Self, LossError> {
        Self::joined(name, measure, Arc::new(relaxation))
    }

    fn probed(name: &'static str, measure: M, relaxation: Arc<dyn Relaxation>) -> Result<Self, LossError> {
        // Evaluating the measure on a list of two documents shows which operations it uses.
        let labels = Tensor::<2>::from_floats([[1.0, 0.0]], &crate::device::host());
        let lists = Lists::padded(labels.clone(), labels.clone(), labels.greater_equal_elem(0.0));
        let context = MeasureContext::new(&lists, relaxation.relax(&lists, 0));
        measure.value(&context);
        if let Some(operation) = context.undefined() {
            let (measure, relaxation) = (measure.name(), relaxation.name());
            return Err(LossError::Undefined { measure, relaxation, operation });
        }
        let documents_meet = context.documents_meet();
        let (expected, numbers_per_pair) = (context.expected(), context.numbers_per_pair());
        expected.iter().try_for_each(|(f, k)| relaxation.check_sum(name, f, *k))?;
        let scale = relaxation.temperature_unit().into();
        Ok(Self {
            name,
            measure: Arc::new(measure),
            relaxation,
            expected,
            bound: None,
            scale,
            documents_meet,
            numbers_per_pair,
        })
    }

    /// Makes training minimize an upper bound on one minus the measure.
    ///
    /// # Errors
    /// Returns an error if the measure is not normalized to [0, 1].
    pub fn with_bound(self, bound: TypeOneBound) -> Result<Self, LossError> {
        if self.measure.orientation() == Orientation::NormalizedMeasure {
            return Ok(Self { bound: Some(bound), ..self });
        }
        let expected = format!("a measure in [0, 1], which {} is not", self.measure.name());
        Err(LossError::parameter(self.name, "bound", bound.name(), expected))
    }

    /// Returns the surrogate value of each query, `[B]`.
    ///
    /// # Panics
    /// Panics if the measure does not return one value per query.
    #[track_caller]
    pub fn values(&self, lists: &Lists) -> Tensor<1> {
        self.mean_over_draws(lists, |value| value)
    }

    /// For each query, returns the mean of `of(surrogate)` over the draws of the relaxation, `[B]`.
    #[track_caller]
    fn mean_over_draws(&self, lists: &Lists, of: impl Fn(Tensor<1>) -> Tensor<1>) -> Tensor<1> {
        let lists = &self.scale.of(lists, self.relaxation.short_list_power());
        let counting = lists.clone().counting(self.measure.counted(lists));
        let value = |sample| {
            let value = self.measure.value(&MeasureContext::new(lists, self.relaxation.relax(&counting, sample)));
            assert_per_query(self.measure.name(), "values", value.dims(), lists);
            of(value)
        };
        let mean = match self.relaxation.samples() {
            1 => value(0),
            samples => (1..samples).map(value).fold(value(0), |sum, value| sum + value) * (1.0 / samples as f64),
        };
        if self.relaxation.is_differentiable() {
            return mean;
        }
        // Ties the value to the scores, so a backward pass finds a gradient of 0.
        mean + sum_documents(lists.scores.clone() * 0.0)
    }
}

impl<M: PositionMeasure + 'static> RankingLoss for Surrogate<M> {
    fn about(&self) -> About<'_> {
        let measured =
            About::new(self.name, if self.bound.is_some() { Orientation::Loss } else { self.measure.orientation() });
        let about = About { gain: self.measure.gain(), ..measured.with_lengths(self) };
        // In measures such as average precision, the weight of a document would also change what others add.
        let document_weights = match self.documents_meet {
            true => {
                Err("its measure is not a sum over documents, as DCG, NDCG and precision are, so that no document has \
                         a share of it to be weighted")
            }
            false => Ok(()),
        };
        About { document_weights, ..about.with_smoothing(self.relaxation.smoothing()).with_held(self.scale.held()) }
    }

    fn changed(&self, change: Change<'_>) -> Changed {
        let with = |relaxation| Box::new(Self { relaxation, ..self.clone() }) as Box<dyn RankingLoss>;
        match change {
            Change::Noise(seed) => Ok(self.relaxation.reseeded(seed).map(with)),
            Change::FullGradient => {
                Ok(self.scale.differentiated().map(|scale| Box::new(Self { scale, ..self.clone() }) as _))
            }
            Change::Parameter(parameter, value) => {
                let Some(relaxation) = self.relaxation.with_parameter(parameter, value) else { return Ok(None) };
                relaxation.check(self.name)?;
                self.expected.iter().try_for_each(|(f, k)| relaxation.check_sum(self.name, f, *k))?;
                Ok(Some(with(relaxation)))
            }
        }
    }

    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        self.measure.learnable(lists)
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        if let Some(bound) = self.bound {
            return self.mean_over_draws(lists, |value| bound.of(value));
        }
        let values = self.values(lists);
        match self.measure.orientation() {
            Orientation::NormalizedMeasure => values.neg() + 1.0,
            Orientation::Measure => values.neg(),
            Orientation::Loss => values,
        }
    }
}

impl<M: PositionMeasure + 'static> ByLength for Surrogate<M> {
    fn approximation(&self, documents: usize, scores: DType) -> Result<Option<Approximation>, LossError> {
        let sums = self.expected.iter();
        let all = sums.map(|(f, k)| self.relaxation.approximation(self.name, f, *k, documents, scores));
        let all = all.collect::<Result<Vec<_>, _>>()?.into_iter().flatten();
        Ok(all.max_by(|a, b| a.error_f32.total_cmp(&b.error_f32)))
    }

    fn numbers_of_pairs(&self, documents: usize) -> u64 {
        let of_a_draw = self.relaxation.numbers_held(documents);
        let of_a_draw = of_a_draw.saturating_add(of_pairs(self.numbers_per_pair, documents));
        of_a_draw.saturating_mul(self.relaxation.samples() as u64)
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Device};

    use super::*;
    use crate::loss::gumbel::perturbed;
    use crate::loss::surrogate::relaxation::Relaxed;
    use crate::loss::{
        Approximate, AveragePrecision, Dcg, Exact, Expected, ExpectedReciprocalRank, GumbelNoise, Indicator,
        KendallTau, Ndcg, PrecisionAt, RPrecision, RankBiasedPrecision, RankModel, RecallAt, ReciprocalRank,
        SigmoidRanks, SuccessAt, Temperature,
    };
    use crate::loss::{Explained, LossSpec, RankExpectationMethod, explain};
    use crate::measure::Gain;
    use crate::measure::{Convention, Discount, Measure, Ranking};
    use crate::op::Step;
    use crate::testing::{scattered, values};

    const SCORES: [f64; 7] = [0.31, -1.2, 2.5, 0.9, -0.4, 1.7, 0.05];
    const LABELS: [f64; 7] = [2.0, 1.0, 0.0, 0.0, 0.0, 1.0, 4.0];
    const APPROXIMATE: Approximate =
        Approximate { temperature: Temperature::scores(3.0), beta: 2.0, step: Step::Logistic };
    const INDICATOR: Indicator = Indicator { temperature: Temperature::scores(0.5) };
    const EXPECTED: Expected = Expected {
        temperature: Temperature::scores(0.5),
        evaluation: RankExpectationMethod::Auto,
        model: RankModel::Independent,
    };

    fn surrogate(measure: impl PositionMeasure + 'static, relaxation: impl Relaxation + 'static) -> Explained {
        explain(&Surrogate::new(measure, relaxation).unwrap(), &SCORES, &LABELS, DType::F64).unwrap()
    }

    /// Builds a registered loss with the named parameters, whose values are alpha = 3, beta = 2, sigma = 0.5 and k = 3.
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
        let cut = || Ndcg::new().with_k(Some(3));
        assert_agree(&surrogate(cut(), APPROXIMATE), &registered("approx_ndcg", &["alpha", "beta", "k"]), "@3");
        assert_agree(&surrogate(cut(), INDICATOR), &registered("smooth_ndcg", &["sigma", "k"]), "@3");
        assert_agree(&surrogate(cut(), EXPECTED), &registered("soft_ndcg", &["sigma", "k"]), "@3");
    }

    #[test]
    fn the_transforms_of_dcg_and_precision_are_each_papers_surrogates() {
        assert_agree(&surrogate(Dcg::new(), APPROXIMATE), &registered("approx_dcg", &["alpha"]), "ApproxDCG");
        let cut = || Dcg::new().with_k(Some(3));
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
        assert_agree(&surrogate(AveragePrecision::new(), APPROXIMATE), &registered("approx_ap", &both), "ApproxAP");
        assert_agree(
            &surrogate(AveragePrecision::new(), INDICATOR),
            &registered("smooth_ap_indicator", &["sigma"]),
            "SmoothAP",
        );
        assert_agree(&surrogate(ReciprocalRank::new(), APPROXIMATE), &registered("approx_rr", &both), "ApproxRR");
        assert_agree(&surrogate(ReciprocalRank::new(), INDICATOR), &registered("smooth_rr", &["sigma"]), "SmoothRR");
        assert_agree(&surrogate(AveragePrecision::new(), EXPECTED), &registered("soft_ap", &["sigma"]), "SoftAP");
        let exact = EXPECTED.with_model(RankModel::Exact);
        assert_agree(&surrogate(ReciprocalRank::new(), exact), &registered("soft_rr", &["sigma"]), "SoftRR");
        let err = ExpectedReciprocalRank::default();
        assert_agree(&surrogate(err, exact), &registered("soft_err", &["sigma"]), "SoftERR");
    }

    #[test]
    fn the_exact_relaxation_is_the_measure() {
        let convention = Convention::preset("standard").unwrap();
        let scores = SCORES.map(|s| s as f32);
        let labels = LABELS.map(|y| y as f32);
        let exact = |measure: Measure| {
            let ranking = Ranking { scores: &scores, labels: &labels, ids: None };
            measure.query(&ranking, &convention).unwrap().unwrap()
        };
        let pairs = [
            (surrogate(Ndcg::new(), Exact), exact(Measure::Ndcg(None))),
            (surrogate(Ndcg::new().with_k(Some(3)), Exact), exact(Measure::Ndcg(Some(3)))),
            (surrogate(Dcg::new().with_k(Some(3)), Exact), exact(Measure::Dcg(Some(3)))),
            (surrogate(PrecisionAt { k: 3 }, Exact), exact(Measure::Precision(Some(3)))),
            (surrogate(AveragePrecision::new(), Exact), exact(Measure::Ap(None))),
            (surrogate(ReciprocalRank::new(), Exact), exact(Measure::ReciprocalRank(None))),
            (surrogate(ExpectedReciprocalRank::default(), Exact), exact(Measure::Err(None))),
            (surrogate(AveragePrecision::new().with_k(Some(4)), Exact), exact(Measure::Ap(Some(4)))),
            (surrogate(ReciprocalRank::new().with_k(Some(1)), Exact), exact(Measure::ReciprocalRank(Some(1)))),
            (surrogate(ExpectedReciprocalRank::default().with_k(Some(4)), Exact), exact(Measure::Err(Some(4)))),
            (surrogate(RecallAt { k: 4 }, Exact), exact(Measure::Recall(Some(4)))),
            (surrogate(SuccessAt { k: 1 }, Exact), exact(Measure::Success(Some(1)))),
            (surrogate(SuccessAt { k: 2 }, Exact), exact(Measure::Success(Some(2)))),
            (surrogate(RPrecision, Exact), exact(Measure::RPrecision)),
            (surrogate(RankBiasedPrecision::default(), Exact), exact(Measure::Rbp { persistence: 0.8 })),
            (surrogate(KendallTau, Exact), exact(Measure::KendallTau)),
        ];
        for (index, (found, expected)) in pairs.iter().enumerate() {
            assert!((found.value - expected).abs() < 1e-6, "measure {index}: {} {expected}", found.value);
            assert!(found.grad.iter().all(|g| *g == 0.0), "ranks have no gradient");
        }
    }

    /// A measure that sums a function of the position and compares two documents.
    #[derive(Debug)]
    struct Meeting {
        f: PositionFunction,
        k: Option<usize>,
        sum: bool,
    }

    impl PositionMeasure for Meeting {
        fn name(&self) -> &'static str {
            "meeting"
        }

        fn value(&self, list: &MeasureContext) -> Tensor<1> {
            let (a, b) = (list.relevance(), list.relevance());
            if self.sum {
                list.sum_with_above(a, &self.f, b, self.k)
            } else {
                list.sum_with_none_above(a, &self.f, b, self.k)
            }
        }
    }

    /// NDCG with its discount given as a function, or AP with its two arguments equal.
    #[derive(Debug)]
    struct Own {
        k: Option<usize>,
        ap: bool,
    }

    impl PositionMeasure for Own {
        fn name(&self) -> &'static str {
            "own"
        }

        fn value(&self, list: &MeasureContext) -> Tensor<1> {
            if self.ap {
                return list.sum_with_above(list.relevance(), &Discount::Zipf.into(), list.relevance(), self.k)
                    / list.relevant();
            }
            let log2 = PositionFunction::new(|position| (position + 1.0).log().recip() * std::f64::consts::LN_2);
            let gains = list.gains(&Gain::Exp2);
            list.sum(gains.clone(), &log2, self.k) / list.ideal(gains, &log2, self.k)
        }
    }

    #[test]
    fn a_measure_written_otherwise_is_the_same_through_every_relaxation() {
        let relaxations: [Arc<dyn Relaxation>; 5] = [
            Arc::new(APPROXIMATE),
            Arc::new(INDICATOR),
            Arc::new(EXPECTED),
            Arc::new(Exact),
            Arc::new(SigmoidRanks::new(Temperature::scores(0.5))),
        ];
        for relaxation in relaxations {
            let through = |measure: Box<dyn PositionMeasure>| {
                let surrogate = Surrogate::joined("ndcg", measure, relaxation.clone()).unwrap();
                explain(&surrogate, &SCORES, &LABELS, DType::F64).unwrap()
            };
            for k in [None, Some(3)] {
                let own = through(Box::new(Own { k, ap: false }));
                assert_agree(&own, &through(Box::new(Ndcg::new().with_k(k))), &format!("{relaxation:?} {k:?}"));
                let own = through(Box::new(Own { k, ap: true }));
                assert_agree(&own, &through(Box::new(AveragePrecision { k })), &format!("AP {relaxation:?} {k:?}"));
            }
        }
    }

    /// Expectations are defined for any function of the rank with any cut-off; for a small `sigma`, they nearly equal
    /// the exact value.
    #[test]
    fn expectations_of_any_function_are_defined() {
        let sharp = Expected::new(Temperature::scores(1e-3));
        let functions =
            [Discount::Zipf.into(), Discount::Letor.into(), PositionFunction::new(|position| (position * -0.3).exp())];
        for f in functions {
            for (k, sum) in [(None, true), (None, false), (Some(4), true), (Some(4), false), (Some(9), true)] {
                let meeting = || Meeting { f: f.clone(), k, sum };
                let expected = surrogate(meeting(), Exact).value;
                for evaluation in [RankExpectationMethod::Auto, RankExpectationMethod::Recursion] {
                    let found = surrogate(meeting(), Expected { evaluation, ..sharp }).value;
                    assert!((found - expected).abs() < 2e-8, "{f:?} {k:?} {sum} {evaluation:?}: {found} {expected}");
                }
            }
        }
    }

    #[test]
    fn an_evaluation_that_does_not_apply_is_refused() {
        let exponentials = Expected { evaluation: RankExpectationMethod::Exponentials, ..EXPECTED };
        let refused = |f: PositionFunction, k| {
            Surrogate::new(Meeting { f, k, sum: true }, exponentials).map(drop).unwrap_err().to_string()
        };
        let cutoff = refused(Discount::Zipf.into(), Some(3));
        assert!(cutoff.ends_with("a discount with k = 3 is not completely monotone"), "{cutoff}");
        let other = refused(PositionFunction::new(|position| position), None);
        assert!(other.ends_with("the measure's function of a rank is not a discount"), "{other}");
    }

    /// A relaxation that defines only expectations over the rank of a single document.
    #[derive(Debug)]
    struct Single;

    impl Relaxation for Single {
        fn name(&self) -> &'static str {
            "single"
        }

        fn is_differentiable(&self) -> bool {
            false
        }

        fn relax(&self, lists: &Lists, _sample: usize) -> Relaxed {
            let lists = lists.clone();
            Relaxed::Expectations(Box::new(move |f: &PositionFunction, _: Option<usize>| f.at(lists.ranks())))
        }
    }

    #[test]
    fn a_function_gives_expectations_of_single_ranks() {
        let found = surrogate(Dcg::new(), Single).value;
        assert!((found - surrogate(Dcg::new(), Exact).value).abs() < 1e-12);
        let refused = Surrogate::new(AveragePrecision::new(), Single).unwrap_err();
        let message = "average_precision uses sum_with_above, which the single relaxation does not define: \
                       expected another relaxation";
        assert_eq!(refused.to_string(), message);
        let refused = Surrogate::new(ReciprocalRank::new(), Single).unwrap_err();
        assert!(matches!(refused, LossError::Undefined { operation: "sum_with_none_above", .. }));
        let operation = |measure: Box<dyn PositionMeasure>| match Surrogate::new(measure, Single).map(drop) {
            Err(LossError::Undefined { operation, .. }) => operation,
            other => panic!("{other:?}"),
        };
        assert_eq!(operation(Box::new(RPrecision)), "sum_within");
        assert_eq!(operation(Box::new(KendallTau)), "concordance");
    }

    #[test]
    fn gumbel_samples_average_the_approximate_measure() {
        let family = |samples, seed| GumbelNoise::new(Arc::new(APPROXIMATE), samples, seed);
        let one = |seed| surrogate(Ndcg::new(), family(1, seed)).value;
        let two = surrogate(Ndcg::new(), family(2, 5)).value;
        assert_eq!(one(5), one(5), "the noise is a function of the seed");
        assert_ne!(one(5), one(6));
        assert_ne!(one(5), two);
        // Adding the noise by hand gives the same.
        let device = Device::flex();
        let scores = Tensor::<2>::from_data([SCORES], (&device, DType::F64));
        let noisy = values(perturbed(scores, 5, 0));
        let approximate = Surrogate::new(Ndcg::new(), APPROXIMATE).unwrap();
        let by_hand = explain(&approximate, &noisy, &LABELS, DType::F64).unwrap().value;
        assert!((one(5) - by_hand).abs() < 1e-12);
    }

    #[test]
    fn a_cutoff_of_zero_is_refused() {
        let relaxations: [Arc<dyn Relaxation>; 4] =
            [Arc::new(Exact), Arc::new(APPROXIMATE), Arc::new(INDICATOR), Arc::new(EXPECTED)];
        for relaxation in relaxations {
            let refused = Surrogate::through(PrecisionAt { k: 0 }, relaxation.clone()).unwrap_err();
            assert_eq!(refused.to_string(), "precision.k = 0: expected a cut-off of 1 or more");
            let refused = Surrogate::through(Ndcg::new().with_k(Some(0)), relaxation.clone()).unwrap_err();
            assert_eq!(refused.to_string(), "ndcg.k = 0: expected a cut-off of 1 or more, or none");
            assert!(Surrogate::through(Dcg::new().with_k(Some(0)), relaxation).is_err());
        }
    }

    #[test]
    fn parameters_of_a_measure_are_checked() {
        let dcg = |gain, discount| Surrogate::new(Dcg { gain, discount, k: None }, Exact).map(|_| ());
        let refused = dcg(Gain::Table(vec![]), Discount::Log2).unwrap_err();
        assert!(refused.to_string().starts_with("dcg.gain = []"), "{refused}");
        let refused = dcg(Gain::Exp2, Discount::Power { exponent: f64::NAN }).unwrap_err();
        assert!(refused.to_string().starts_with("dcg.exponent = NaN"), "{refused}");
        assert!(dcg(Gain::Exp2, Discount::Table(vec![1.0, f64::INFINITY])).is_err());
        assert!(dcg(Gain::Exp2, Discount::Table(vec![1.0, 0.5])).is_ok());
        for table in [vec![0.1, 1.0], vec![0.0, 0.0], vec![1.0, -0.5], vec![]] {
            let refused = dcg(Gain::Exp2, Discount::Table(table)).unwrap_err().to_string();
            assert!(
                refused.ends_with("expected finite discounts, 0 or above, that start above 0 and never rise"),
                "{refused}"
            );
        }
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let relaxations: [Arc<dyn Relaxation>; 5] = [
            Arc::new(Indicator::new(Temperature::scores(0.0))),
            Arc::new(Expected::new(Temperature::spreads(f64::NAN))),
            Arc::new(APPROXIMATE.with_beta(-1.0)),
            Arc::new(SigmoidRanks::new(Temperature::scores(1.0)).with_diagonal(2.0)),
            Arc::new(GumbelNoise::new(Arc::new(APPROXIMATE), 0, 1)),
        ];
        for relaxation in relaxations {
            assert!(matches!(Surrogate::through(Ndcg::new(), relaxation), Err(LossError::Parameter { .. })));
        }
    }

    /// A measure that needs all positions.
    #[derive(Debug)]
    struct All<M>(M);

    impl<M: PositionMeasure> PositionMeasure for All<M> {
        fn name(&self) -> &'static str {
            self.0.name()
        }

        fn orientation(&self) -> Orientation {
            self.0.orientation()
        }

        fn gain(&self) -> Option<&Gain> {
            self.0.gain()
        }

        fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
            self.0.learnable(lists)
        }

        fn value(&self, list: &MeasureContext) -> Tensor<1> {
            self.0.value(list)
        }
    }

    #[test]
    fn positions_that_a_measure_does_not_ask_for_change_no_bit() {
        fn check(measure: impl PositionMeasure + Clone + 'static) {
            let scores: Vec<f64> = scattered(300, 1009).map(|x| x / 500.0).collect();
            let labels: Vec<f64> = (0..300).map(|i| [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 3.0][i % 7]).collect();
            for dtype in [DType::F32, DType::F64] {
                let explained = |measure: Box<dyn PositionMeasure>| {
                    let loss = Surrogate::new(measure, APPROXIMATE).unwrap();
                    explain(&loss, &scores, &labels, dtype).unwrap()
                };
                let [found, all] =
                    [Box::new(measure.clone()) as Box<dyn PositionMeasure>, Box::new(All(measure.clone()))]
                        .map(explained);
                assert_eq!((found.value, found.grad), (all.value, all.grad), "{measure:?}, {dtype:?}");
            }
        }
        check(Ndcg::new());
        check(Ndcg::new().with_k(Some(3)));
        check(Dcg::new());
        check(AveragePrecision::new());
        check(ReciprocalRank::new());
        check(ReciprocalRank { linear: true, k: Some(5) });
        check(ExpectedReciprocalRank::default());
        check(PrecisionAt { k: 5 });
        check(RecallAt { k: 5 });
        check(SuccessAt { k: 5 });
        check(RPrecision);
        check(RankBiasedPrecision::default());
        check(KendallTau);
    }
}
