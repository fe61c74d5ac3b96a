//! Weights of documents in every registered loss: what they mean, and which losses take them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::tensor::{DType, Device, Tensor, TensorData};
use burn_rank::loss::{Lists, LossError, LossSpec, RankingLoss};
use burn_rank::workbench::registry::LOSSES;

use crate::devices::devices;
use crate::loss_contract::{Outcome, Query, Subject, close, degenerate, longest, queries, subjects, tensors_on};

/// A query, and the weight of each document.
type Weighted = (Query, Vec<f64>);

/// The queries of the contract with weights from 0 to 4.
fn weighted_queries() -> Vec<Weighted> {
    let weights = |n: usize| (0..n).map(|document| ((document * 7 + 3) % 9) as f64 / 2.0).collect();
    queries().into_iter().map(|query| (query.clone(), weights(query.0.len()))).collect()
}

fn unit(queries: &[Query]) -> Vec<Weighted> {
    queries.iter().map(|query| (query.clone(), vec![1.0; query.0.len()])).collect()
}

fn scaled(queries: &[Weighted], factor: f64) -> Vec<Weighted> {
    let times = |weights: &[f64]| weights.iter().map(|weight| weight * factor).collect();
    queries.iter().map(|(query, weights)| (query.clone(), times(weights))).collect()
}

/// The losses that take weights.
fn taking() -> impl Iterator<Item = Subject> {
    subjects().into_iter().filter(|subject| subject.loss.about().check_document_weights().is_ok())
}

/// Losses and gradients of a batch padded to `width`, with `filler` as score, label and weight of the padding. Without
/// `with_weights` all documents count the same.
fn evaluate_on(
    device: &Device,
    loss: &dyn RankingLoss,
    queries: &[Weighted],
    (width, filler): (usize, f64),
    with_weights: bool,
    dtype: DType,
) -> Outcome {
    let plain: Vec<Query> = queries.iter().map(|(query, _)| query.clone()).collect();
    let (scores, labels, mask) = tensors_on(device, &plain, width, filler, dtype);
    let scores = scores.require_grad();
    let mut lists = Lists::padded(scores.clone(), labels, mask);
    if with_weights {
        let rows = queries.iter().flat_map(|(_, weights)| {
            let mut row = weights.clone();
            row.resize(width, filler);
            row
        });
        let data = TensorData::new(rows.collect::<Vec<f64>>(), [queries.len(), width]).convert_dtype(dtype);
        lists = lists.with_document_weights(Tensor::from_data(data, (&device.clone().autodiff(), dtype)));
    }
    let losses = lists.losses(loss);
    assert_eq!(losses.dtype(), dtype, "{} changes the type", loss.about().name);
    Outcome::new(losses, &scores)
}

fn evaluate(loss: &dyn RankingLoss, queries: &[Weighted]) -> Outcome {
    let width = queries.iter().map(|(query, _)| query.0.len()).max().unwrap_or(0);
    evaluate_on(&Device::flex(), loss, queries, (width, 0.0), true, DType::F64)
}

fn one(loss: &dyn RankingLoss, scores: &[f64], labels: &[f64], weights: &[f64]) -> f64 {
    evaluate(loss, &[((scores.to_vec(), labels.to_vec()), weights.to_vec())]).losses[0]
}

/// The measure of a cell.
fn measure(spec: &LossSpec) -> &str {
    let measure = spec.params.get("measure").and_then(|measure| measure.as_str());
    // Without a measure, the default measure applies.
    measure.unwrap_or(if spec.name == "relaxed_measure" { "ndcg" } else { "" })
}

#[test]
fn losses_of_measures_that_are_no_sums_refuse_weights_by_name() {
    let refuses =
        |name: &&str| LossSpec::new(*name).build().is_ok_and(|loss| loss.about().check_document_weights().is_err());
    let mut refusing: Vec<&str> = LOSSES.iter().map(|entry| entry.name).filter(refuses).collect();
    refusing.sort_unstable();
    let no_sums = [
        "approx_ap",
        "approx_rr",
        "smooth_ap_indicator",
        "smooth_ap_rank",
        "smooth_rr",
        "soft_ap",
        "soft_err",
        "soft_rr",
    ];
    let not_defined = [
        "adr_mse",
        "lambda_measure",
        "margin_mse",
        "plackett_luce_ndcg",
        "stochastic_rank",
        "teacher_kl",
        "xe_ndcg",
        "yeti_loss",
    ];
    let mut expected = [&no_sums[..], &not_defined].concat();
    expected.sort_unstable();
    assert_eq!(refusing, expected);
    let linear = LossSpec::new("smooth_rr").with("linear", true).build().unwrap();
    assert_eq!(linear.about().check_document_weights(), Ok(()), "its linear form is a sum");
    for name in expected {
        let loss = LossSpec::new(name).build().unwrap();
        let error = loss.about().check_document_weights().unwrap_err();
        assert!(matches!(&error, LossError::DocumentWeights { loss, .. } if *loss == name), "{error:?}");
        let message = error.to_string();
        let reason = if no_sums.contains(&name) { "its measure" } else { "it is not defined" };
        assert!(message.starts_with(&format!("{name} does not accept document weights: {reason}")), "{message}");
        let forward = || one(&*loss, &[0.0, 1.0], &[1.0, 0.0], &[2.0, 1.0]);
        let panic = catch_unwind(AssertUnwindSafe(forward)).expect_err("refused");
        assert_eq!(panic.downcast_ref::<String>(), Some(&message));
    }
}

#[test]
fn weights_of_one_change_no_bit() {
    let queries = unit(&[queries(), degenerate()].concat());
    let width = 19;
    for (index, Subject { name, loss, .. }) in taking().enumerate() {
        for present in devices().iter().filter(|present| present.runs(index)) {
            for &dtype in present.types {
                let of = |weights| evaluate_on(&present.device, &*loss, &queries, (width, 0.0), weights, dtype);
                assert_eq!(of(true), of(false), "{name} on {}: {dtype:?}", present.name);
            }
        }
    }
}

#[test]
fn padding_never_matters() {
    let mut queries = weighted_queries();
    queries.extend(unit(&degenerate()));
    let plain: Vec<Query> = queries.iter().map(|(query, _)| query.clone()).collect();
    let width = longest(&plain) + 3;
    for (index, Subject { name, loss, .. }) in taking().enumerate() {
        for present in devices().iter().filter(|present| present.runs(index)) {
            let of = |filler| evaluate_on(&present.device, &*loss, &queries, (width, filler), true, DType::F32);
            let clean = of(0.0);
            for filler in [f64::NAN, 1e30, f64::INFINITY] {
                assert_eq!(of(filler), clean, "{name} on {}: padded with {filler}", present.name);
            }
            for (q, (scores, _)) in plain.iter().enumerate() {
                assert!(clean.gradients[q][scores.len()..].iter().all(|g| *g == 0.0), "{name}: gradient at padding");
            }
        }
    }
}

#[test]
fn weights_matter_and_follow_their_documents() {
    let order = [3, 0, 4, 2, 1];
    for Subject { name, loss, spec, .. } in taking() {
        // Gumbel noise depends on the place of a document, and ListMLE breaks ties of labels by place.
        if spec.params.contains_key("gumbel_samples") {
            continue;
        }
        let labels = if spec.name == "list_mle" { [0.0, 3.0, 1.0, 4.0, 2.0] } else { [0.0, 3.0, 0.0, 2.0, 2.0] };
        let (scores, weights) = ([0.3, -1.2, 2.0, 0.9, -0.4], [1.0, 0.25, 2.0, 3.0, 1.5]);
        let query = ((scores.to_vec(), labels.to_vec()), weights.to_vec());
        let permuted = order.map(|d| scores[d]).to_vec();
        let permuted = ((permuted, order.map(|d| labels[d]).to_vec()), order.map(|d| weights[d]).to_vec());
        let plain = (query.0.clone(), vec![1.0; 5]);
        let found = evaluate(&*loss, &[query, permuted, plain]);
        assert!(close(found.losses[1], found.losses[0], 1e-12), "{name}");
        for (place, &d) in order.iter().enumerate() {
            assert!(close(found.gradients[1][place], found.gradients[0][d], 1e-9), "{name}: document {d}");
        }
        // Precision beyond the end of the list has no gradient.
        if found.gradients[2].iter().all(|gradient| *gradient == 0.0) {
            assert!(spec.name.ends_with("_precision") || ["precision", "recall"].contains(&measure(&spec)), "{name}");
            continue;
        }
        assert!((0..5).any(|d| (found.gradients[0][d] - found.gradients[2][d]).abs() > 1e-6), "{name}");
    }
}

/// Sums over documents or pairs are linear in the weights. Means are weighted means, and NDCG is divided by its ideal
/// value, so that only the ratios of weights count.
#[test]
fn twice_the_weights_are_twice_a_sum_and_the_same_mean() {
    let queries = weighted_queries();
    for Subject { name, loss, spec, .. } in taking() {
        let is_set = |key: &str| spec.params.get(key).is_some_and(|value| value.as_bool() == Some(true));
        let is_mean = is_set("mean_over_pairs")
            || is_set("normalize")
            || matches!(&*spec.name, "approx_kendall_tau" | "binary_cross_entropy" | "mse_gain" | "teacher_mse")
            || (spec.name.ends_with("_ndcg") && spec.name != "lambda_ndcg")
            || ["ndcg", "recall"].contains(&measure(&spec));
        let factor = if is_mean { 1.0 } else { 2.0 };
        let (once, twice) = (evaluate(&*loss, &queries), evaluate(&*loss, &scaled(&queries, 2.0)));
        for (q, (once, twice)) in once.gradients.iter().zip(&twice.gradients).enumerate() {
            for (d, (once, twice)) in once.iter().zip(twice).enumerate() {
                assert!(close(*twice, factor * once, 1e-9), "{name}: query {q}, document {d}: {once} {twice}");
            }
        }
    }
}

#[test]
fn weighted_gradients_agree_with_finite_differences() {
    let step = 1e-5;
    for Subject { name, loss, .. } in taking() {
        // A spread is held in the gradient, and moves with the scores.
        if name.contains("spread") {
            continue;
        }
        let query = weighted_queries()[1].clone();
        let exact = evaluate(&*loss, std::slice::from_ref(&query));
        for d in 0..query.1.len() {
            let moved = [step, -step].map(|by| {
                let mut moved = query.clone();
                moved.0.0[d] += by;
                moved
            });
            let losses = evaluate(&*loss, &moved).losses;
            let (found, numeric) = (exact.gradients[0][d], (losses[0] - losses[1]) / (2.0 * step));
            assert!(close(found, numeric, 2e-6), "{name}: document {d}: {found} {numeric}");
        }
    }
}

/// With a linear gain, a weight is a factor of the label: in the ideal value too.
#[test]
fn a_weight_multiplies_the_gain() {
    let scores = [0.3, -1.2, 2.0, 0.9, -0.4];
    let (labels, weights) = ([0.0, 3.0, 0.0, 2.0, 1.0], [5.0, 0.5, 1.0, 2.0, 3.0]);
    let product = [0.0, 1.5, 0.0, 4.0, 3.0];
    let names = ["approx_ndcg", "approx_dcg", "smooth_ndcg", "smooth_dcg", "soft_ndcg", "soft_dcg", "neural_ndcg"];
    let linear = names.map(|name| LossSpec::new(name).with("gain", "linear"));
    for spec in linear.into_iter().chain([LossSpec::new("softmax_cross_entropy")]) {
        let loss = spec.build().unwrap();
        let (weighted, labeled) = (one(&*loss, &scores, &labels, &weights), one(&*loss, &scores, &product, &[1.0; 5]));
        assert!(close(weighted, labeled, 1e-12), "{}: {weighted} {labeled}", spec.name);
        assert!(!close(weighted, one(&*loss, &scores, &labels, &[1.0; 5]), 1e-3), "{}", spec.name);
    }
}

#[test]
fn a_pair_has_the_weight_of_its_more_relevant_document() {
    let pairs = [
        "rank_net",
        "pairwise_hinge",
        "pairwise_squared_hinge",
        "pairwise_exponential",
        "fidelity",
        "lambda_ndcg",
        "lambda_loss",
    ];
    for name in pairs {
        let loss = LossSpec::new(name).build().unwrap();
        let of = |weights: [f64; 3]| one(&*loss, &[0.5, 1.0, -0.25], &[1.0, 0.0, 2.0], &weights);
        let plain = of([1.0; 3]);
        assert_eq!(of([1.0, 9.0, 1.0]), plain, "{name}: no document is below the one of label 0");
        let (first, last) = (of([1.0, 1.0, 0.0]), of([0.0, 1.0, 1.0]));
        assert!(first > 0.0 && last > 0.0 && close(first + last, plain, 1e-12), "{name}: {first} {last} {plain}");
        assert!(close(of([3.0, 1.0, 0.5]), 3.0 * first + 0.5 * last, 1e-12), "{name}");
    }
    // Differences -0.5 of (1, 0), -0.75 of (2, 1) and -1.25 of (2, 0).
    let logistic = |t: f64| (1.0 + (-t).exp()).ln();
    let expected = (3.0 * logistic(-0.5) + 0.5 * (logistic(-0.75) + logistic(-1.25))) / 4.0;
    let mean = LossSpec::new("rank_net").with("mean_over_pairs", true).build().unwrap();
    let found = one(&*mean, &[0.5, 1.0, -0.25], &[1.0, 0.0, 2.0], &[3.0, 7.0, 0.5]);
    assert!((found - expected).abs() < 1e-12, "{found} {expected}");
}

#[test]
fn weighted_means_and_targets_are_worked_by_hand() {
    let of = |spec: LossSpec| one(&*spec.build().unwrap(), &[2.0, 1.0, -2.0], &[2.0, 0.0, 0.0], &[3.0, 1.0, 0.5]);
    // Gains 3, 0, 0: errors 1, 1, 2.
    let mean = (3.0 + 1.0 + 0.5 * 4.0) / 4.5;
    assert!(close(of(LossSpec::new("mse_gain")), mean, 1e-12));
    let balanced = 0.5 * (1.0 + (1.0 + 0.5 * 4.0) / 1.5);
    assert!(close(of(LossSpec::new("mse_gain").with("balanced", true)), balanced, 1e-12));
    let logs = |scores: [f64; 3]| {
        let total = scores.map(f64::exp).iter().sum::<f64>().ln();
        scores.map(|score| score - total)
    };
    let (target, found) = (logs([2.0, 0.0, 0.0]).map(f64::exp), logs([2.0, 1.0, -2.0]));
    let net = -(3.0 * target[0] * found[0] + target[1] * found[1] + 0.5 * target[2] * found[2]);
    assert!(close(of(LossSpec::new("list_net")), net, 1e-12));
    // The order by label: scores 2, 1, -2.
    let mle = -3.0 * found[0] + (1f64.exp() + (-2f64).exp()).ln() - 1.0;
    assert!(close(of(LossSpec::new("list_mle")), mle, 1e-12));
}
