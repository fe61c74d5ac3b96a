//! Surrogates: a measure through a relaxation is what its paper says, however it is written.

use burn::tensor::{DType, Device, Tensor};

use super::context::MeasureContext;
use super::measures::KnownMeasure;
use super::position_function::PositionFunction;
use super::position_measure::{Operations, PositionMeasure, Uses};
use super::relaxation::{KnownRelaxation, Relaxation, Relaxed};
use super::relaxed_measure::RelaxedMeasureConfig;
use super::*;
use crate::loss::about::Orientation;
use crate::loss::noise::Noise;
use crate::loss::{Explained, Lists, LossError, LossSpec, RankingLoss, Temperature, explain};
use crate::measure::{Convention, Discount, Gain, Measure, Ranking};
use crate::testing::{scattered, values};

const SCORES: [f64; 7] = [0.31, -1.2, 2.5, 0.9, -0.4, 1.7, 0.05];
const LABELS: [f64; 7] = [2.0, 1.0, 0.0, 0.0, 0.0, 1.0, 4.0];

fn approximate() -> KnownRelaxation {
    KnownRelaxation {
        beta: 2.0,
        ..KnownRelaxation::new(RelaxationName::ApproximatePositions, Temperature::scores(3.0))
    }
}

fn indicator() -> KnownRelaxation {
    KnownRelaxation::new(RelaxationName::RankIndicators, Temperature::scores(0.5))
}

fn expected() -> KnownRelaxation {
    let name = RelaxationName::ExpectedRanks;
    KnownRelaxation { model: RankModel::Independent, ..KnownRelaxation::new(name, Temperature::scores(0.5)) }
}

/// The ranks themselves.
#[derive(Debug, Clone, Copy)]
struct Exact;

impl Relaxation for Exact {
    fn name(&self) -> &'static str {
        "exact"
    }

    fn relax(&self, lists: &Lists) -> Relaxed {
        Relaxed::indicators(lists, |values| values)
    }
}

fn ndcg_at(k: usize) -> KnownMeasure {
    KnownMeasure::at(MeasureName::Ndcg, k)
}

fn dcg_at(k: usize) -> KnownMeasure {
    KnownMeasure::at(MeasureName::Dcg, Some(k))
}

fn exact(measure: impl PositionMeasure + 'static) -> f64 {
    let loss = Surrogate::new(measure, Exact).unwrap();
    let of = |values: [f64; 7]| Tensor::<2>::from_data([values], (&Device::flex(), DType::F64));
    let lists = Lists::padded(of(SCORES), of(LABELS), of(LABELS).greater_equal_elem(0.0));
    let found = values(loss.query_losses(&lists))[0];
    if loss.about().orientation == Orientation::NormalizedMeasure { 1.0 - found } else { -found }
}

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
    assert_agree(
        &surrogate(KnownMeasure::at(MeasureName::Ndcg, None), approximate()),
        &registered("approx_ndcg", &["alpha"]),
        "ApproxNDCG",
    );
    assert_agree(
        &surrogate(KnownMeasure::at(MeasureName::Ndcg, None), indicator()),
        &registered("smooth_ndcg", &["sigma"]),
        "SmoothNDCG",
    );
    assert_agree(
        &surrogate(KnownMeasure::at(MeasureName::Ndcg, None), expected()),
        &registered("soft_ndcg", &["sigma"]),
        "SoftNDCG",
    );
    let cut = || ndcg_at(3);
    assert_agree(&surrogate(cut(), approximate()), &registered("approx_ndcg", &["alpha", "beta", "k"]), "@3");
    assert_agree(&surrogate(cut(), indicator()), &registered("smooth_ndcg", &["sigma", "k"]), "@3");
    assert_agree(&surrogate(cut(), expected()), &registered("soft_ndcg", &["sigma", "k"]), "@3");
}

#[test]
fn the_transforms_of_dcg_and_precision_are_each_papers_surrogates() {
    assert_agree(
        &surrogate(KnownMeasure::at(MeasureName::Dcg, None), approximate()),
        &registered("approx_dcg", &["alpha"]),
        "ApproxDCG",
    );
    let cut = || dcg_at(3);
    assert_agree(&surrogate(cut(), expected()), &registered("soft_dcg", &["sigma", "k"]), "SoftDCG@3");
    let precision = || KnownMeasure::at(MeasureName::Precision, 3);
    let of_paper = registered("approx_precision", &["alpha", "beta", "k"]);
    assert_agree(&surrogate(precision(), approximate()), &of_paper, "ApproxPrecision");
    assert_agree(
        &surrogate(precision(), indicator()),
        &registered("smooth_precision", &["sigma", "k"]),
        "SmoothPrecision",
    );
    assert_agree(&surrogate(precision(), expected()), &registered("soft_precision", &["sigma", "k"]), "SoftPrecision");
}

#[test]
fn the_transforms_of_average_precision_and_reciprocal_rank_are_each_papers_surrogates() {
    let both = ["alpha", "beta"];
    assert_agree(
        &surrogate(KnownMeasure::at(MeasureName::Ap, None), approximate()),
        &registered("approx_ap", &both),
        "ApproxAP",
    );
    assert_agree(
        &surrogate(KnownMeasure::at(MeasureName::Ap, None), indicator()),
        &registered("smooth_ap_indicator", &["sigma"]),
        "SmoothAP",
    );
    assert_agree(
        &surrogate(KnownMeasure::at(MeasureName::Rr, None), approximate()),
        &registered("approx_rr", &both),
        "ApproxRR",
    );
    assert_agree(
        &surrogate(KnownMeasure::at(MeasureName::Rr, None), indicator()),
        &registered("smooth_rr", &["sigma"]),
        "SmoothRR",
    );
    assert_agree(
        &surrogate(KnownMeasure::at(MeasureName::Ap, None), expected()),
        &registered("soft_ap", &["sigma"]),
        "SoftAP",
    );
    let exact = KnownRelaxation { model: RankModel::Exact, ..expected() };
    assert_agree(
        &surrogate(KnownMeasure::at(MeasureName::Rr, None), exact),
        &registered("soft_rr", &["sigma"]),
        "SoftRR",
    );
    let err = KnownMeasure::err(4, None);
    assert_agree(&surrogate(err, exact), &registered("soft_err", &["sigma"]), "SoftERR");
}

#[test]
fn a_measure_at_ranks_is_the_exact_measure() {
    let convention = Convention::preset("standard").unwrap();
    let scores = SCORES.map(|s| s as f32);
    let labels = LABELS.map(|y| y as f32);
    let of = |measure: Measure| {
        let ranking = Ranking { scores: &scores, labels: &labels, ids: None };
        measure.query(&ranking, &convention).unwrap().unwrap()
    };
    let pairs = [
        (exact(KnownMeasure::at(MeasureName::Ndcg, None)), of(Measure::Ndcg(None))),
        (exact(ndcg_at(3)), of(Measure::Ndcg(Some(3)))),
        (exact(dcg_at(3)), of(Measure::Dcg(Some(3)))),
        (exact(KnownMeasure::at(MeasureName::Precision, 3)), of(Measure::Precision(Some(3)))),
        (exact(KnownMeasure::at(MeasureName::Ap, None)), of(Measure::Ap(None))),
        (exact(KnownMeasure::at(MeasureName::Rr, None)), of(Measure::ReciprocalRank(None))),
        (exact(KnownMeasure::err(4, None)), of(Measure::Err(None))),
        (exact(KnownMeasure::at(MeasureName::Ap, Some(4))), of(Measure::Ap(Some(4)))),
        (exact(KnownMeasure::at(MeasureName::Rr, 1)), of(Measure::ReciprocalRank(Some(1)))),
        (exact(KnownMeasure::err(4, Some(4))), of(Measure::Err(Some(4)))),
        (exact(KnownMeasure::at(MeasureName::Recall, 4)), of(Measure::Recall(Some(4)))),
        (exact(KnownMeasure::at(MeasureName::Success, 1)), of(Measure::Success(Some(1)))),
        (exact(KnownMeasure::at(MeasureName::Success, 2)), of(Measure::Success(Some(2)))),
        (exact(KnownMeasure::at(MeasureName::RPrecision, None)), of(Measure::RPrecision)),
        (
            exact(KnownMeasure { persistence: 0.8, ..KnownMeasure::at(MeasureName::Rbp, None) }),
            of(Measure::Rbp { persistence: 0.8 }),
        ),
        (exact(KnownMeasure::at(MeasureName::KendallTau, None)), of(Measure::KendallTau)),
    ];
    for (index, (found, expected)) in pairs.iter().enumerate() {
        assert!((found - expected).abs() < 1e-6, "measure {index}: {found} {expected}");
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

    fn uses(&self) -> Uses {
        Uses::of(Operations::Comparisons).and_function(&self.f, self.k)
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
    let sigmoid = KnownRelaxation::new(RelaxationName::SigmoidRanks, Temperature::scores(0.5));
    for relaxation in [approximate(), indicator(), expected(), sigmoid] {
        for k in [None, Some(3)] {
            let ndcg = KnownMeasure::at(MeasureName::Ndcg, k);
            let own = surrogate(Own { k, ap: false }, relaxation);
            assert_agree(&own, &surrogate(ndcg, relaxation), &format!("{relaxation:?} {k:?}"));
            let own = surrogate(Own { k, ap: true }, relaxation);
            assert_agree(
                &own,
                &surrogate(KnownMeasure::at(MeasureName::Ap, k), relaxation),
                &format!("AP {relaxation:?} {k:?}"),
            );
        }
    }
}

/// Expectations are defined for any function of the rank with any cut-off; for a small `sigma`, they nearly equal
/// the exact value.
#[test]
fn expectations_of_any_function_are_defined() {
    let sharp = KnownRelaxation { temperature: Temperature::scores(1e-3), ..expected() };
    let functions =
        [Discount::Zipf.into(), Discount::Letor.into(), PositionFunction::new(|position| (position * -0.3).exp())];
    for f in functions {
        for (k, sum) in [(None, true), (None, false), (Some(4), true), (Some(4), false), (Some(9), true)] {
            let meeting = || Meeting { f: f.clone(), k, sum };
            let expected = exact(meeting());
            for evaluation in [RankExpectationMethod::Auto, RankExpectationMethod::Recursion] {
                let found = surrogate(meeting(), KnownRelaxation { evaluation, ..sharp }).value;
                assert!((found - expected).abs() < 2e-8, "{f:?} {k:?} {sum} {evaluation:?}: {found} {expected}");
            }
        }
    }
}

#[test]
fn an_evaluation_that_does_not_apply_is_refused() {
    let exponentials = KnownRelaxation { evaluation: RankExpectationMethod::Exponentials, ..expected() };
    let refused = |f: PositionFunction, k| {
        Surrogate::new(Meeting { f, k, sum: true }, exponentials).map(drop).unwrap_err().to_string()
    };
    let cutoff = refused(Discount::Zipf.into(), Some(3));
    assert!(cutoff.ends_with("a discount with k = 3 is not completely monotone"), "{cutoff}");
    let other = refused(PositionFunction::new(|position| position), None);
    assert!(other.ends_with("the measure's function of a rank is not a discount"), "{other}");
}

#[test]
fn gumbel_samples_average_the_approximate_measure() {
    let ndcg = |samples, seed| {
        let config = RelaxedMeasureConfig::new().with_temperature(Some(Temperature::scores(3.0)));
        let loss = config.with_gumbel_samples(samples).with_seed(seed).init().unwrap();
        move |scores: &[f64]| explain(&loss, scores, &LABELS, DType::F64).unwrap().value
    };
    let one = |seed| ndcg(1, seed)(&SCORES);
    assert_eq!(one(5), one(5), "the noise is a function of the seed");
    assert_ne!(one(5), one(6));
    assert_ne!(one(5), ndcg(2, 5)(&SCORES));
    // Adding the noise by hand gives the same.
    let scores = Tensor::<2>::from_data([SCORES], (&Device::flex(), DType::F64));
    let lists = Lists::padded(scores.clone(), scores.clone(), scores.clone().is_finite());
    let by_hand = ndcg(0, 0)(&values(Noise::shared(5).added(&lists, scores, 0)));
    assert!((one(5) - by_hand).abs() < 1e-12);
}

#[test]
fn a_cutoff_of_zero_is_refused() {
    for relaxation in [approximate(), indicator(), expected()] {
        let refused = Surrogate::new(KnownMeasure::at(MeasureName::Precision, 0), relaxation).unwrap_err();
        assert_eq!(refused.to_string(), "precision.k = 0: expected a cut-off of 1 or more");
        let refused = Surrogate::new(ndcg_at(0), relaxation).unwrap_err();
        assert_eq!(refused.to_string(), "ndcg.k = 0: expected a cut-off of 1 or more, or none");
        assert!(Surrogate::new(dcg_at(0), relaxation).is_err());
    }
}

/// A measure that says that it only sums, but compares documents.
#[derive(Debug)]
struct Wrong;

impl PositionMeasure for Wrong {
    fn name(&self) -> &'static str {
        "wrong"
    }

    fn uses(&self) -> Uses {
        Uses::sums_of(&PositionFunction::one(), None)
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        list.concordance() / list.pairs()
    }
}

#[test]
#[should_panic(expected = "concordance: the measure compares documents, but its `uses` says that it only sums")]
fn what_a_measure_says_of_itself_is_checked() {
    surrogate(Wrong, approximate());
}

#[test]
fn parameters_of_a_measure_are_checked() {
    let dcg = |gain, discount| {
        Surrogate::new(KnownMeasure { gain, discount, ..KnownMeasure::at(MeasureName::Dcg, None) }, Exact).map(|_| ())
    };
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
    let sigmoid = KnownRelaxation::new(RelaxationName::SigmoidRanks, Temperature::scores(1.0));
    let relaxations = [
        KnownRelaxation { temperature: Temperature::scores(0.0), ..indicator() },
        KnownRelaxation { temperature: Temperature::spreads(f64::NAN), ..expected() },
        KnownRelaxation { beta: -1.0, ..approximate() },
        KnownRelaxation { diagonal: 2.0, ..sigmoid },
    ];
    for relaxation in relaxations {
        assert!(matches!(
            Surrogate::new(KnownMeasure::at(MeasureName::Ndcg, None), relaxation),
            Err(LossError::Parameter { .. })
        ));
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

    fn learnable(&self, lists: &Lists) -> Tensor<1, burn::tensor::Bool> {
        self.0.learnable(lists)
    }

    fn uses(&self) -> Uses {
        self.0.uses()
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
            let explained =
                |loss: Result<Surrogate, LossError>| explain(&loss.unwrap(), &scores, &labels, dtype).unwrap();
            let found = explained(Surrogate::new(measure.clone(), approximate()));
            let all = explained(Surrogate::new(All(measure.clone()), approximate()));
            assert_eq!((found.value, found.grad), (all.value, all.grad), "{measure:?}, {dtype:?}");
        }
    }
    check(KnownMeasure::at(MeasureName::Ndcg, None));
    check(ndcg_at(3));
    check(KnownMeasure::at(MeasureName::Dcg, None));
    check(KnownMeasure::at(MeasureName::Ap, None));
    check(KnownMeasure::at(MeasureName::Rr, None));
    check(KnownMeasure { linear: true, ..KnownMeasure::at(MeasureName::Rr, 5) });
    check(KnownMeasure::err(4, None));
    check(KnownMeasure::at(MeasureName::Precision, 5));
    check(KnownMeasure::at(MeasureName::Recall, 5));
    check(KnownMeasure::at(MeasureName::Success, 5));
    check(KnownMeasure::at(MeasureName::RPrecision, None));
    check(KnownMeasure { persistence: 0.8, ..KnownMeasure::at(MeasureName::Rbp, None) });
    check(KnownMeasure::at(MeasureName::KendallTau, None));
}

#[test]
fn bounds_are_above_the_loss_and_convex() {
    let grid: Vec<f64> = (0..=100).map(|step| f64::from(step) / 100.0).collect();
    let measures = Tensor::<1>::from_data(&grid[..], (&Device::flex(), DType::F64));
    for bound in TypeOneBound::ALL {
        let found = values(bound.of(measures.clone()));
        assert!((found[0] - 1.0).abs() < 1e-12, "{bound:?}: a measure of 0 costs 1");
        for (measure, bound) in grid.iter().zip(&found) {
            assert!(*bound >= 1.0 - measure - 1e-12, "{measure}: {bound}");
        }
        assert!(found.windows(3).all(|three| three[0] + three[2] >= 2.0 * three[1]), "{bound:?}");
    }
    let half = |bound: TypeOneBound| bound.of(measures.clone().narrow(0, 50, 1)).into_scalar::<f64>();
    assert!((half(TypeOneBound::Exponential) - (-0.5f64).exp()).abs() < 1e-12);
    assert!((half(TypeOneBound::Logistic) - (1.0 + (-0.5f64).exp()).log2()).abs() < 1e-12);
}

/// A measure whose function of positions has no value below 1.
#[derive(Debug)]
struct FromOne;

impl PositionMeasure for FromOne {
    fn name(&self) -> &'static str {
        "from_one"
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        let function = PositionFunction::new(|position| ((position - 1.0).powf_scalar(0.8) * -0.5).exp());
        list.sum(list.relevance(), &function, None)
    }
}

#[test]
fn functions_of_positions_get_1_or_above_at_padding_too() {
    let loss = Surrogate::new(FromOne, approximate()).unwrap();
    let of = |width: usize| {
        let options = (&Device::flex().autodiff(), DType::F64);
        let row = |values: [f64; 3]| Tensor::<2>::from_data([values], options).narrow(1, 0, width);
        let scores = row([0.3, -0.2, 0.9]).require_grad();
        let lists = Lists::padded(scores.clone(), row([1.0, 0.0, 1.0]), row([1.0, 1.0, 0.0]).greater_elem(0.5));
        let found = loss.query_losses(&lists);
        (values(found.clone()), values(scores.grad(&found.sum().backward()).unwrap())[..2].to_vec())
    };
    assert_eq!(of(3), of(2));
}
