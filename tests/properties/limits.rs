//! Surrogates tend to their measures, at the rates that the papers prove.

use burn::tensor::{DType, Device, Tensor, TensorData};
use burn_rank::loss::{Lists, LossSpec, MeasureName, RelaxationName, explain};
use burn_rank::measure::{Convention, Discount, Gain, Measure, Ranking};
use burn_rank::op::Step;
use burn_rank::workbench::registry;
use proptest::prelude::*;

use crate::loss_contract::values;

/// Draws scores without ties, and labels with a relevant and an irrelevant document.
fn lists() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    (2usize..13)
        .prop_flat_map(|n| {
            let gaps = prop::collection::vec(0.05f64..1.0, n);
            (gaps, Just((0..n).collect::<Vec<_>>()).prop_shuffle(), prop::collection::vec(0u8..4, n))
        })
        .prop_map(|(gaps, order, labels)| {
            let n = gaps.len();
            let mut scores = vec![0.0; n];
            let mut score = -1.0;
            for (gap, document) in gaps.iter().zip(order) {
                score += gap;
                scores[document] = score;
            }
            let mut labels: Vec<f64> = labels.into_iter().map(f64::from).collect();
            (labels[0], labels[n - 1]) = (0.0, labels[n - 1].max(1.0));
            (scores, labels)
        })
}

fn smallest_gap(scores: &[f64]) -> f64 {
    let mut sorted = scores.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min)
}

fn surrogate(spec: &LossSpec, scores: &[f64], labels: &[f64]) -> f64 {
    explain(spec.build().unwrap().as_ref(), scores, labels, DType::F64).unwrap().value
}

fn exact(measure: Measure, scores: &[f64], labels: &[f64]) -> f64 {
    let scores: Vec<f32> = scores.iter().map(|s| *s as f32).collect();
    let labels: Vec<f32> = labels.iter().map(|y| *y as f32).collect();
    let ranking = Ranking { scores: &scores, labels: &labels, ids: None };
    measure.query(&ranking, &Convention::preset("standard").unwrap()).unwrap().unwrap()
}

/// The limit of a cell. Without tied scores, tau over the pairs of different labels is the accuracy of their order,
/// from -1 to 1.
fn exact_measure(measure: MeasureName, k: Option<usize>) -> Measure {
    let required = k.or(Some(5));
    match measure {
        MeasureName::Ndcg => Measure::Ndcg(k),
        MeasureName::Dcg => Measure::Dcg(k),
        MeasureName::Ap => Measure::Ap(k),
        MeasureName::Rr => Measure::ReciprocalRank(k),
        MeasureName::Err => Measure::Err(k),
        MeasureName::Precision => Measure::Precision(required),
        MeasureName::Recall => Measure::Recall(required),
        MeasureName::Success => Measure::Success(required),
        MeasureName::Rbp => Measure::Rbp { persistence: 0.8 },
        MeasureName::RPrecision => Measure::RPrecision,
        MeasureName::KendallTau => Measure::PairAccuracy,
    }
}

fn erf(x: f64) -> f64 {
    let x = Tensor::<1>::from_data([x], (&Device::flex(), DType::F64));
    x.erf().into_data().iter::<f64>().next().unwrap()
}

/// Returns approximate positions with the logistic step, and true positions.
fn positions(scores: &[f64], alpha: f64) -> (Vec<f64>, Vec<f64>) {
    let device = Device::flex();
    let shape = [1, scores.len()];
    let tensor = Tensor::<2>::from_data(TensorData::new(scores.to_vec(), shape), (&device, DType::F64));
    let lists = Lists::padded(tensor.clone(), tensor.zeros_like(), Tensor::<2>::ones(shape, &device).greater_elem(0.0));
    (values(lists.approximate_positions(alpha, Step::Logistic)), values(lists.ranks()))
}

/// Returns the largest error of an approximate position.
fn position_error(scores: &[f64], alpha: f64) -> f64 {
    let (approximate, exact) = positions(scores, alpha);
    approximate.iter().zip(&exact).map(|(a, e)| (a - e).abs()).fold(0.0, f64::max)
}

/// Computes the ideal DCG, with the gain `2^y - 1` or `2^y`.
fn ideal(labels: &[f64], gain: &Gain) -> f64 {
    let mut gains: Vec<f64> = labels.iter().map(|y| gain.of(*y)).collect();
    gains.sort_by(|a, b| b.total_cmp(a));
    gains.iter().enumerate().map(|(r, gain)| gain * Discount::Log2.at(r + 1)).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn small_sigma_gives_the_measure((scores, labels) in lists()) {
        let gap = smallest_gap(&scores);
        // Gaussians and sigmoids depend on differences, indicators on squared differences.
        let (plain, squared) = (gap / 40.0, gap * gap / 40.0);
        let k = Some(3);
        let limits = [
            ("soft_ndcg", plain, false, Measure::Ndcg(None)),
            ("soft_ndcg", plain, true, Measure::Ndcg(k)),
            ("soft_dcg", plain, true, Measure::Dcg(k)),
            ("soft_precision", plain, true, Measure::Precision(k)),
            ("soft_ap", plain, false, Measure::Ap(None)),
            ("soft_rr", plain, false, Measure::ReciprocalRank(None)),
            ("soft_err", plain, false, Measure::Err(None)),
            ("smooth_ndcg", squared, false, Measure::Ndcg(None)),
            ("smooth_ndcg", squared, true, Measure::Ndcg(k)),
            ("smooth_precision", squared, true, Measure::Precision(k)),
            ("smooth_rr", squared, false, Measure::ReciprocalRank(None)),
            ("smooth_ap_indicator", squared, false, Measure::Ap(None)),
            ("smooth_ap_rank", plain, false, Measure::Ap(None)),
            ("smooth_dcg", plain, false, Measure::Dcg(None)),
        ];
        for (name, sigma, cut, measure) in limits {
            let spec = LossSpec::new(name).with("sigma", sigma);
            let spec = if cut { spec.with("k", 3) } else { spec };
            let (found, expected) = (surrogate(&spec, &scores, &labels), exact(measure, &scores, &labels));
            prop_assert!((found - expected).abs() < 1e-6, "{name}: {found} {expected}");
        }
        // NeuralSort compares sums of n differences.
        let spec = LossSpec::new("neural_ndcg").with("temperature", plain);
        let (found, expected) = (surrogate(&spec, &scores, &labels), exact(Measure::Ndcg(None), &scores, &labels));
        prop_assert!((found - expected).abs() < 1e-6, "neural_ndcg: {found} {expected}");
    }

    /// Every measure through every relaxation, with a cut-off and without one.
    #[test]
    fn sharp_temperatures_give_every_measure((scores, labels) in lists()) {
        let gap = smallest_gap(&scores);
        let of = |&measure: &MeasureName| RelaxationName::ALL.iter().map(move |&relaxation| (measure, relaxation));
        for (measure, relaxation) in MeasureName::ALL.iter().flat_map(of) {
            let spec = LossSpec::parse(&format!("{}:{}", measure.name(), relaxation.name()));
            let spec = match relaxation {
                RelaxationName::ApproximatePositions => spec.with("alpha", 40.0 / gap).with("beta", 80.0),
                RelaxationName::SigmoidRanks | RelaxationName::ExpectedRanks => spec.with("sigma", gap / 40.0),
                RelaxationName::NeuralSort | RelaxationName::SoftSort => spec.with("sigma", gap / 40.0),
                // The difference between what was found and the lowest that is left: delta (1 - delta)^11.
                RelaxationName::SmoothIndicators => spec.with("alpha", 1500.0 / gap),
                RelaxationName::ProjectedRanks => spec.with("sigma", gap / 40.0).with("beta", 80.0),
                RelaxationName::RankIndicators => spec.with("sigma", gap * gap / 40.0),
            };
            for k in [None, Some(3)] {
                let takes_cutoff = measure.parameters().contains(&"k");
                let spec = match k {
                    Some(k) if takes_cutoff => spec.with("k", k),
                    Some(_) => continue,
                    None => spec.clone(),
                };
                let expected = exact(exact_measure(measure, k), &scores, &labels);
                let expected = if measure == MeasureName::KendallTau { 2.0 * expected - 1.0 } else { expected };
                let found = surrogate(&spec, &scores, &labels);
                prop_assert!((found - expected).abs() < 1e-6, "{spec}, {k:?}: {found} {expected}");
            }
        }
    }

    /// smoothrank, section 5.1: a wrong indicator is at most `exp(-mu / sigma)`, a right one misses 1 by `n - 1` times
    /// as much.
    #[test]
    fn smooth_ndcg_keeps_within_its_bound_in_mu_over_sigma((scores, labels) in lists(), factor in 0.05f64..2.0) {
        let mu = smallest_gap(&scores).powi(2);
        let sigma = mu * factor;
        let found = surrogate(&LossSpec::new("smooth_ndcg").with("sigma", sigma), &scores, &labels);
        let error = (found - exact(Measure::Ndcg(None), &scores, &labels)).abs();
        let n = scores.len() as f64;
        let gains: f64 = labels.iter().map(|y| Gain::Exp2.of(*y)).sum();
        let discounts: f64 = (1..=scores.len()).map(|r| Discount::Log2.at(r)).sum();
        let bound = (-mu / sigma).exp() * n * gains * discounts / ideal(&labels, &Gain::Exp2);
        prop_assert!(error <= bound + 1e-6, "{error} above {bound}");
    }

    /// softrank-directness, Theorem 2, with the factor `(n - 1) / 4` of the variance that its proof has and its
    /// statement drops.
    #[test]
    fn soft_ndcg_keeps_within_the_bound_of_theorem_2((scores, labels) in lists(), factor in 0.05f64..0.6) {
        let delta = smallest_gap(&scores);
        let sigma = delta * factor;
        let n = scores.len() as f64;
        let variance = (n - 1.0) / 4.0 * (1.0 - erf(delta / (2.0 * sigma)).powi(2));
        prop_assume!(variance < 0.2);
        let e1 = (n - 1.0) * sigma / (2.0 * delta * std::f64::consts::PI.sqrt()) * (-(delta / (2.0 * sigma)).powi(2)).exp();
        let e2 = (variance / (1.0 - 5.0 * variance)).sqrt() + 5.0 * variance;
        let largest_gain = labels.iter().copied().fold(0.0, f64::max).exp2();
        let spec = LossSpec::new("soft_ndcg").with("gain", "exp2_raw").with("evaluation", "recursion");
        let soft = surrogate(&spec.with("sigma", sigma), &scores, &labels);
        let hard = surrogate(&spec.with("sigma", delta * 1e-3), &scores, &labels);
        let error = (soft - hard).abs();
        prop_assert!(error <= largest_gain * n * (e1 + e2) + 1e-12, "{error}, sigma {sigma}, delta {delta}");
        // The proof itself shows a tighter bound: the mean over gains of the two errors of a document.
        let gains: f64 = labels.iter().map(|y| Gain::Exp2Raw.of(*y)).sum::<f64>() / ideal(&labels, &Gain::Exp2Raw);
        // The discount's slope is at most 1 / (2 ln 2), not 1/2.
        let slope = 1.0 / std::f64::consts::LN_2;
        prop_assert!(error <= gains * (slope * e1 + e2) + 1e-12, "{error} above the tighter bound");
    }

    #[test]
    fn large_alpha_and_beta_give_the_measure((scores, labels) in lists()) {
        // Positions are then off by exp(-40), and half a position from the cut-off is 40 times the width of its step.
        let (alpha, beta) = (40.0 / smallest_gap(&scores), 80.0);
        let k = Some(3);
        let tau = |accuracy: f64| 2.0 * accuracy - 1.0;
        let plain = |value: f64| value;
        type Limit = (&'static str, bool, Measure, fn(f64) -> f64);
        let limits: [Limit; 7] = [
            ("approx_ndcg", false, Measure::Ndcg(None), plain),
            ("approx_ndcg", true, Measure::Ndcg(k), plain),
            ("approx_dcg", false, Measure::Dcg(None), plain),
            ("approx_ap", false, Measure::Ap(None), plain),
            ("approx_precision", true, Measure::Precision(k), plain),
            ("approx_rr", false, Measure::ReciprocalRank(None), plain),
            // Without tied scores, tau over the pairs of different labels is the accuracy of their order, from -1 to 1.
            ("approx_kendall_tau", false, Measure::PairAccuracy, tau),
        ];
        for (name, cut, measure, scale) in limits {
            let defaults = registry::find(name).unwrap().defaults(&burn_rank::json::Map::new());
            let spec = LossSpec::new(name).with("alpha", alpha);
            let spec = if defaults.contains_key("beta") { spec.with("beta", beta) } else { spec };
            let spec = if cut { spec.with("k", 3) } else { spec };
            let found = surrogate(&spec, &scores, &labels);
            let expected = scale(exact(measure, &scores, &labels));
            prop_assert!((found - expected).abs() < 1e-9, "{name}: {found} {expected}");
        }
    }

    /// approximation-framework, Theorem 3: `|p(x) - r(x)| < (n - 1) / (exp(delta_x alpha) + 1)`, equal for two
    /// documents.
    #[test]
    fn positions_keep_within_theorem_3((scores, _) in lists(), alpha in 0.1f64..50.0) {
        let (approximate, exact) = positions(&scores, alpha);
        for (x, score) in scores.iter().enumerate() {
            let others = scores.iter().enumerate().filter(|(y, _)| *y != x);
            let delta = others.map(|(_, other)| (score - other).abs()).fold(f64::INFINITY, f64::min);
            let bound = (scores.len() - 1) as f64 / ((delta * alpha).exp() + 1.0);
            let error = (approximate[x] - exact[x]).abs();
            prop_assert!(error <= bound + 1e-12, "document {x}: {error} above {bound}");
        }
    }

    /// approximation-framework, Theorem 5, for position errors below 1/2.
    #[test]
    fn average_precision_keeps_within_theorem_5(
        (scores, labels) in lists(), factor in 1.0f64..20.0, beta in 1.0f64..50.0
    ) {
        let alpha = factor / smallest_gap(&scores);
        let epsilon = position_error(&scores, alpha);
        prop_assume!(epsilon < 0.5);
        let relevant = labels.iter().filter(|y| **y >= 1.0).count();
        let sum = |term: &dyn Fn(f64) -> f64| (1..=relevant).map(|i| term(i as f64)).sum::<f64>();
        let bound = sum(&|i| 1.0 / (i - epsilon)) / (1.0 + (beta * (1.0 - 2.0 * epsilon)).exp())
            + 2.0 * epsilon * sum(&|i| 1.0 / (i * (i - epsilon)));
        let spec = LossSpec::new("approx_ap").with("alpha", alpha).with("beta", beta);
        let error = (surrogate(&spec, &scores, &labels) - exact(Measure::Ap(None), &scores, &labels)).abs();
        prop_assert!(error <= bound + 1e-12, "{error} above {bound}, epsilon {epsilon}");
    }

    /// approximation-framework, Theorem 6: `|ApproxNDCG - NDCG| < epsilon / (2 ln 2)`.
    #[test]
    fn ndcg_keeps_within_theorem_6((scores, labels) in lists(), alpha in 0.1f64..50.0) {
        let bound = position_error(&scores, alpha) / (2.0 * std::f64::consts::LN_2);
        let found = surrogate(&LossSpec::new("approx_ndcg").with("alpha", alpha), &scores, &labels);
        let error = (found - exact(Measure::Ndcg(None), &scores, &labels)).abs();
        prop_assert!(error <= bound + 1e-9, "{error} above {bound}");
    }
}
