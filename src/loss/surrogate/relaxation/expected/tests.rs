//! Compares expectations with enumerations of the documents that may be above each document.

use burn::tensor::{DType, Device, Tensor};

use super::*;
use crate::loss::MeasureName;
use crate::loss::surrogate::measures::KnownMeasure;
use crate::loss::{
    Explained, PositionMeasure, RankingLoss, RelaxationName, RelaxedMeasureConfig, Surrogate, Temperature, explain,
};
use crate::measure::{Discount, Gain};

const SCORES: [f64; 6] = [0.9, 0.2, -0.4, 1.3, 0.1, -1.0];
const LABELS: [f64; 6] = [2.0, 0.0, 1.0, 0.0, 1.0, 2.0];
const SIGMA: f64 = 0.5;
const MODELS: [RankModel; 2] = [RankModel::Independent, RankModel::Exact];

fn loss(measure: impl PositionMeasure + 'static, model: RankModel) -> Box<dyn RankingLoss> {
    Box::new(through(measure, model, RankExpectationMethod::Auto))
}

fn through(measure: impl PositionMeasure + 'static, model: RankModel, evaluation: RankExpectationMethod) -> Surrogate {
    let relaxation = RelaxedMeasureConfig::new()
        .with_relaxation(RelaxationName::ExpectedRanks)
        .with_temperature(Some(Temperature::scores(SIGMA)));
    relaxation.with_model(Some(model)).with_evaluation(evaluation).init_measure(measure).unwrap()
}

fn losses(model: RankModel) -> [(&'static str, Box<dyn RankingLoss>); 3] {
    let err = KnownMeasure::err(2, None);
    [
        ("AP", loss(KnownMeasure::at(MeasureName::Ap, None), model)),
        ("RR", loss(KnownMeasure::at(MeasureName::Rr, None), model)),
        ("ERR", loss(err, model)),
    ]
}

fn explained(loss: &dyn RankingLoss, scores: &[f64]) -> Explained {
    explain(loss, scores, &LABELS[..scores.len()], DType::F64).unwrap()
}

/// The normal distribution function.
fn phi(t: f64) -> f64 {
    let t = Tensor::<1>::from_data([t * std::f64::consts::FRAC_1_SQRT_2], (&Device::flex(), DType::F64));
    0.5 * (1.0 + t.erf().into_data().iter::<f64>().sum::<f64>())
}

/// Sums the expectation of `term(i, above)` over all documents `i`. The set `above` has a bit for each document, and
/// each other document is in it with its probability.
fn enumerated(scores: &[f64], model: RankModel, term: impl Fn(usize, u32) -> f64) -> f64 {
    let n = scores.len();
    let given = |i: usize, chance: &dyn Fn(f64) -> f64| -> f64 {
        let chances: Vec<f64> = scores.iter().map(|s| chance((s - scores[i]) / SIGMA)).collect();
        let sets = (0..1u32 << n).filter(|above| above >> i & 1 == 0);
        sets.map(|above| {
            let of = |j: usize| if above >> j & 1 == 1 { chances[j] } else { 1.0 - chances[j] };
            (0..n).filter(|&j| j != i).map(of).product::<f64>() * term(i, above)
        })
        .sum()
    };
    let of = |i: usize| match model {
        RankModel::Independent => given(i, &|gap| phi(gap * std::f64::consts::FRAC_1_SQRT_2)),
        RankModel::Exact => {
            let step = 18.0 / 240.0;
            let noises = (0..=240).map(|node| f64::from(node) * step - 9.0);
            let density = |noise: f64| (-0.5 * noise * noise).exp() / (2.0 * std::f64::consts::PI).sqrt();
            noises.map(|noise| step * density(noise) * given(i, &|gap| phi(gap - noise))).sum()
        }
    };
    (0..n).map(of).sum()
}

/// Returns the terms that [`enumerated`] averages, in the order of [`losses`].
fn terms(labels: &'static [f64]) -> [Box<dyn Fn(usize, u32) -> f64>; 3] {
    let relevance: Vec<f64> = labels.iter().map(|y| f64::from(u8::from(*y >= 1.0))).collect();
    let stops: Vec<f64> = labels.iter().map(|y| (y.exp2() - 1.0) / 4.0).collect();
    let is_above = |above: u32, j: usize| above >> j & 1 == 1;
    let cascade = move |stops: Vec<f64>| {
        move |i: usize, above: u32| {
            let passed: f64 = (0..stops.len()).filter(|&j| is_above(above, j)).map(|j| 1.0 - stops[j]).product();
            stops[i] * passed / f64::from(above.count_ones() + 1)
        }
    };
    let found = relevance.clone();
    let precision = move |i: usize, above: u32| {
        let sum: f64 = (0..found.len()).filter(|&j| j == i || is_above(above, j)).map(|j| found[j]).sum();
        found[i] * sum / f64::from(above.count_ones() + 1) / found.iter().sum::<f64>()
    };
    [Box::new(precision), Box::new(cascade(relevance)), Box::new(cascade(stops))]
}

#[test]
fn known_values() {
    let expected = [
        [(0.622_029_85, 2e-8), (0.545_342_74, 2e-8), (0.467_060_76, 2e-8)],
        [(0.627_113, 6e-7), (0.624_149, 6e-7), (0.498_054, 6e-7)],
    ];
    for (model, expected) in MODELS.into_iter().zip(expected) {
        for ((name, loss), (value, tolerance)) in losses(model).into_iter().zip(expected) {
            let found = explained(loss.as_ref(), &SCORES).value;
            assert!((found - value).abs() < tolerance, "{name}, {model:?}: {found} {value}");
        }
    }
}

#[test]
fn every_set_of_documents_above_is_counted() {
    for model in MODELS {
        // Without ties, and with three tied documents.
        for scores in [&SCORES[..], &[0.5, 0.5, -0.1, 0.5, 0.4]] {
            let terms = terms(&LABELS[..scores.len()]);
            for ((name, loss), term) in losses(model).into_iter().zip(terms) {
                let (found, expected) = (explained(loss.as_ref(), scores).value, enumerated(scores, model, term));
                assert!((found - expected).abs() < 5e-8, "{name}, {model:?}: {found} {expected}");
            }
        }
    }
}

/// Returns average precision, reciprocal rank and ERR with the cut-off.
fn cut(model: RankModel, k: Option<usize>) -> [(&'static str, Box<dyn RankingLoss>); 3] {
    let err = KnownMeasure::err(2, k);
    [
        ("AP", loss(KnownMeasure::at(MeasureName::Ap, k), model)),
        ("RR", loss(KnownMeasure::at(MeasureName::Rr, k), model)),
        ("ERR", loss(err, model)),
    ]
}

#[test]
fn every_set_of_documents_above_is_counted_within_a_cutoff() {
    for model in MODELS {
        for scores in [&SCORES[..], &[0.5, 0.5, -0.1, 0.5, 0.4]] {
            for k in [1, 2, 4] {
                let terms = terms(&LABELS[..scores.len()]);
                for ((name, loss), term) in cut(model, Some(k)).into_iter().zip(terms) {
                    let inside = |i, above: u32| if (above.count_ones() as usize) < k { term(i, above) } else { 0.0 };
                    let (found, expected) = (explained(loss.as_ref(), scores).value, enumerated(scores, model, inside));
                    assert!((found - expected).abs() < 5e-8, "{name}@{k}, {model:?}: {found} {expected}");
                }
            }
        }
    }
}

#[test]
fn sets_of_relevant_documents_are_counted() {
    let relevant = |i: usize| f64::from(u8::from(LABELS[i] >= 1.0));
    let rank = |above: u32| above.count_ones() as usize + 1;
    let within = |k: usize, above: u32| f64::from(u8::from(rank(above) <= k));
    let first = |above: u32| f64::from(u8::from((0..6).all(|j| above >> j & 1 == 0 || relevant(j) == 0.0)));
    type Term<'a> = Box<dyn Fn(usize, u32) -> f64 + 'a>;
    for model in MODELS {
        let cases: [(&str, Box<dyn RankingLoss>, Term); 5] = [
            (
                "recall",
                loss(KnownMeasure::at(MeasureName::Recall, 2), model),
                Box::new(|i, above| relevant(i) * within(2, above) / 4.0),
            ),
            (
                "success@1",
                loss(KnownMeasure::at(MeasureName::Success, 1), model),
                Box::new(|i, above| relevant(i) * within(1, above)),
            ),
            (
                "success@2",
                loss(KnownMeasure::at(MeasureName::Success, 2), model),
                Box::new(|i, above| relevant(i) * first(above) * within(2, above)),
            ),
            (
                "r_precision",
                loss(KnownMeasure::at(MeasureName::RPrecision, None), model),
                Box::new(|i, above| relevant(i) * within(4, above) / 4.0),
            ),
            (
                "rbp",
                loss(KnownMeasure { persistence: 0.7, ..KnownMeasure::at(MeasureName::Rbp, None) }, model),
                Box::new(|i, above| relevant(i) * 0.3 * 0.7f64.powi(above.count_ones() as i32)),
            ),
        ];
        for (name, loss, term) in cases {
            let (found, expected) = (explained(&*loss, &SCORES).value, enumerated(&SCORES, model, term));
            assert!((found - expected).abs() < 5e-8, "{name}, {model:?}: {found} {expected}");
        }
        let mut tau = (0.0, 0.0);
        for i in 0..6 {
            for j in (0..6).filter(|&j| LABELS[i] > LABELS[j]) {
                let above = phi((SCORES[i] - SCORES[j]) / SIGMA * std::f64::consts::FRAC_1_SQRT_2);
                tau = (tau.0 + 2.0 * above - 1.0, tau.1 + 1.0);
            }
        }
        let found = explained(&*loss(KnownMeasure::at(MeasureName::KendallTau, None), model), &SCORES).value;
        assert!((found - tau.0 / tau.1).abs() < 1e-12, "tau, {model:?}: {found}");
    }
}

/// If several documents tie for the first rank and all are relevant, success at 1 is certain.
#[test]
fn the_exact_model_of_success_is_a_chance() {
    let relevant = [1.0, 1.0, 1.0, 0.0];
    let tied = |model| {
        explain(&*loss(KnownMeasure::at(MeasureName::Success, 1), model), &[0.3, 0.3, 0.3, -9.0], &relevant, DType::F64)
            .unwrap()
            .value
    };
    assert!((tied(RankModel::Exact) - 1.0).abs() < 1e-6);
    assert!((tied(RankModel::Independent) - 0.75).abs() < 1e-6);
}

#[test]
fn sums_of_single_ranks_are_those_of_the_model() {
    let gain = |i: usize| Gain::Exp2.of(LABELS[i]);
    let ideal = 3.0 + 3.0 * Discount::Log2.at(2) + Discount::Log2.at(3) + Discount::Log2.at(4);
    for model in MODELS {
        let rank = |above: u32| above.count_ones() as usize + 1;
        let expected = enumerated(&SCORES, model, |i, above| gain(i) * Discount::Log2.at(rank(above)) / ideal);
        for evaluation in
            [RankExpectationMethod::Auto, RankExpectationMethod::Recursion, RankExpectationMethod::Exponentials]
        {
            let found =
                explained(&through(KnownMeasure::at(MeasureName::Ndcg, None), model, evaluation), &SCORES).value;
            assert!((found - expected).abs() < 5e-8, "{evaluation:?}, {model:?}: {found} {expected}");
        }
        let expected =
            enumerated(&SCORES, model, |i, above| f64::from(u8::from(LABELS[i] >= 1.0 && rank(above) <= 2)) / 2.0);
        let found = explained(loss(KnownMeasure::at(MeasureName::Precision, 2), model).as_ref(), &SCORES).value;
        assert!((found - expected).abs() < 1e-8, "precision, {model:?}: {found} {expected}");
    }
}

#[test]
fn gradients_are_differences() {
    const STEP: f64 = 1e-4;
    for model in MODELS {
        let sums: [(&str, Box<dyn RankingLoss>); 2] = [
            ("NDCG", loss(KnownMeasure::at(MeasureName::Ndcg, None), model)),
            ("P@2", loss(KnownMeasure::at(MeasureName::Precision, 2), model)),
        ];
        let others: [(&str, Box<dyn RankingLoss>); 5] = [
            ("success", loss(KnownMeasure::at(MeasureName::Success, 2), model)),
            ("recall", loss(KnownMeasure::at(MeasureName::Recall, 2), model)),
            ("r_precision", loss(KnownMeasure::at(MeasureName::RPrecision, None), model)),
            ("rbp", loss(KnownMeasure { persistence: 0.8, ..KnownMeasure::at(MeasureName::Rbp, None) }, model)),
            ("tau", loss(KnownMeasure::at(MeasureName::KendallTau, None), model)),
        ];
        for (name, loss) in losses(model).into_iter().chain(sums).chain(cut(model, Some(3))).chain(others) {
            let gradient = explained(loss.as_ref(), &SCORES).grad;
            for (i, found) in gradient.iter().enumerate() {
                let at = |offset: f64| {
                    let mut scores = SCORES;
                    scores[i] += offset;
                    explained(loss.as_ref(), &scores).value
                };
                // The loss is one minus the measure, or minus the measure.
                let expected = (at(-STEP) - at(STEP)) / (2.0 * STEP);
                assert!((found - expected).abs() < 1e-7, "{name}, {model:?}, {i}: {found} {expected}");
            }
        }
    }
}

#[test]
fn fused_and_defined_expectations_agree() {
    for model in MODELS {
        for (name, loss) in losses(model) {
            let fused = explained(loss.as_ref(), &SCORES);
            let defined = crate::execution::with_tensor_path(|| explained(loss.as_ref(), &SCORES));
            assert!((fused.value - defined.value).abs() < 1e-12, "{name}, {model:?}");
            for (fused, defined) in fused.grad.iter().zip(&defined.grad) {
                assert!((fused - defined).abs() < 1e-12, "{name}, {model:?}: {fused} {defined}");
            }
        }
    }
}
