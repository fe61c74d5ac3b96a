//! The contract of every registered loss (`RankingLoss`), for its defaults and for the variants below.

use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::nn::attention::generate_padding_mask;
use burn::tensor::{Bool, DType, Device, Tensor, TensorData};
use burn_rank::loss::{
    About, Lists, LossError, LossSpec, Orientation, RankingLoss, Reduction, degenerate_queries, explain,
    mask_from_padding, reduce_weighted,
};
use burn_rank::measure::Gain;
use burn_rank::op::{Execution, Instructions};
use burn_rank::seed::seed_for;
use burn_rank::workbench::registry::{self, LossEntry};
use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde_json::json;

use crate::devices::{Path, Present, devices};

/// One query: scores and labels.
pub(crate) type Query = (Vec<f64>, Vec<f64>);

/// A loss under test.
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) entry: &'static LossEntry,
    pub(crate) spec: LossSpec,
    pub(crate) loss: Box<dyn RankingLoss>,
}

impl Subject {
    /// A loss with the temperature of its paper where the parameters name none.
    fn new(params: serde_json::Value, name: &str) -> Self {
        let mut params = params.as_object().expect("an object").clone();
        if name == "binary_cross_entropy" && !params.contains_key("gain") {
            // The suites draw grades.
            params.insert("gain".into(), json!({"table": [0.0, 0.25, 1.0, 0.5, 1.0, 1.0]}));
        }
        let spec = LossSpec { name: name.into(), params }.with_default_temperature(None).unwrap();
        let loss = spec.build().unwrap_or_else(|error| panic!("{error}"));
        let entry = registry::find(&spec.name).unwrap();
        Self { name: serde_json::to_string(&spec).unwrap(), entry, spec, loss }
    }

    /// Whether one document is enough to learn from, so that only an empty list has nothing to learn.
    pub(crate) fn learns_values(&self) -> bool {
        ["binary_cross_entropy", "teacher_mse"].contains(&self.entry.name)
    }
}

/// Returns every form of every registered loss with its defaults, at the temperature of its paper, and with parameters
/// that take other paths.
pub(crate) fn subjects() -> Vec<Subject> {
    let table = json!({"table": [0.0, 1.0, 2.5, 7.0, 7.0, 30.0]});
    let variants = [
        ("approx_ndcg", json!({"k": 3, "beta": 2.0})),
        ("approx_ndcg", json!({"step": "tanh", "gain": "linear"})),
        ("approx_ndcg", json!({"step": "erf", "alpha": 1.0, "gain": table})),
        ("approx_ndcg", json!({"step": "arctan", "gain": "exp2_raw"})),
        ("approx_ap", json!({"step": "laplace", "alpha": 2.0})),
        ("approx_ap", json!({"alpha": 2.0, "beta": 1.0})),
        ("approx_precision", json!({"k": 1})),
        ("rank_net", json!({"sigma": 0.5, "mean_over_pairs": true})),
        ("pairwise_hinge", json!({"margin": 0.3, "mean_over_pairs": true})),
        ("lambda_ndcg", json!({"k": 2, "gain": "linear"})),
        ("lambda_ndcg", json!({"truncation": 2})),
        ("lambda_loss", json!({"weights": "ndcg_loss1"})),
        ("lambda_loss", json!({"weights": "ndcg_loss2", "k": 3})),
        ("lambda_measure", json!({"measure": "ap", "k": 3})),
        ("lambda_measure", json!({"measure": "rr", "sigma": 0.5})),
        ("lambda_measure", json!({"measure": "err"})),
        ("lambda_measure", json!({"measure": "precision", "k": 1})),
        ("list_mle", json!({"k": 2})),
        ("list_mle", json!({"discount": "log2", "shuffle_ties": true, "seed": 3})),
        ("plackett_luce_ndcg", json!({"k": 2, "gain": "linear"})),
        ("stochastic_rank", json!({"k": 2, "mu": 0.25})),
        ("mse_gain", json!({"balanced": true, "gain": "linear"})),
        ("binary_cross_entropy", json!({"positive_weight": 2.5})),
        ("teacher_kl", json!({"temperature": 2.5})),
        ("adr_mse", json!({"temperature_unit": "spread", "alpha": 2.0})),
        ("softmax_cross_entropy", json!({"normalize": true, "temperature": 0.5})),
        ("softmax_cross_entropy", json!({"gumbel_samples": 3, "seed": 5})),
        ("xe_ndcg", json!({"gamma": 0.5})),
        ("yeti_loss", json!({"k": 3, "samples": 2, "gain": "linear"})),
        ("soft_ndcg", json!({"evaluation": "recursion", "sigma": 0.3})),
        ("soft_ndcg", json!({"k": 2, "gain": "exp2_raw"})),
        ("soft_ndcg", json!({"discount": "power", "exponent": 0.5})),
        ("soft_ndcg", json!({"model": "exact", "sigma": 0.3})),
        ("soft_ndcg", json!({"model": "exact", "discount": "letor"})),
        ("soft_precision", json!({"model": "exact", "k": 2})),
        ("soft_ap", json!({"model": "exact", "sigma": 0.5})),
        ("soft_rr", json!({"model": "independent", "sigma": 0.5})),
        ("soft_err", json!({"model": "independent", "maximum_grade": 5})),
        ("smooth_ndcg", json!({"k": 2, "sigma": 0.3})),
        ("smooth_rr", json!({"linear": true})),
        ("smooth_ap_rank", json!({"diagonal": 0.5})),
        ("approx_ndcg", json!({"temperature_unit": "spread", "alpha": 2.0})),
        ("smooth_ndcg", json!({"temperature_unit": "spread"})),
        ("soft_ndcg", json!({"temperature_unit": "spread"})),
        ("neural_ndcg", json!({"temperature_unit": "spread"})),
        ("approx_kendall_tau", json!({"temperature_unit": "spread"})),
        ("relaxed_measure", json!({"measure": "ap", "k": 3, "relaxation": "expected_ranks", "model": "exact"})),
        ("relaxed_measure", json!({"measure": "rr", "k": 2, "relaxation": "expected_ranks"})),
        ("relaxed_measure", json!({"measure": "err", "k": 3, "relaxation": "expected_ranks", "model": "independent"})),
        ("relaxed_measure", json!({"measure": "ndcg", "discount": {"table": [1.0, 0.5, 0.25, 0.1]}})),
        ("relaxed_measure", json!({"measure": "kendall_tau", "step": "erf", "alpha": 2.0})),
        ("relaxed_measure", json!({"measure": "kendall_tau", "step": "arctan", "alpha": 2.0})),
        ("relaxed_measure", json!({"measure": "kendall_tau", "step": "tanh", "alpha": 2.0})),
        ("relaxed_measure", json!({"measure": "kendall_tau", "step": "laplace", "alpha": 2.0})),
        ("relaxed_measure", json!({"measure": "rr", "k": 3, "relaxation": "rank_indicators"})),
        ("relaxed_measure", json!({"measure": "ndcg", "k": 3, "relaxation": "neural_sort", "sigma": 0.5})),
        ("relaxed_measure", json!({"measure": "ap", "k": 2, "relaxation": "soft_sort", "temperature_unit": "spread"})),
        ("relaxed_measure", json!({"measure": "err", "k": 3, "relaxation": "smooth_indicators", "delta": 0.3})),
        ("relaxed_measure", json!({"measure": "ap", "relaxation": "projected_ranks", "sigma": 0.1})),
    ];
    let papers = registry::LOSSES.iter().flat_map(|entry| {
        entry.forms().into_iter().map(|form| Subject::new(serde_json::to_value(form).unwrap(), entry.name))
    });
    papers.chain(variants.into_iter().map(|(name, params)| Subject::new(params, name))).collect()
}

/// Returns queries of 2 to 17 documents with graded labels and distinct scores.
pub(crate) fn queries() -> Vec<Query> {
    [2, 5, 9, 17]
        .map(|n| {
            let mut random = ChaCha8Rng::seed_from_u64(seed_for(3, "contract", n as u64));
            let scores = (0..n).map(|_| f64::from(random.random_range(-2.0f32..2.0))).collect();
            let mut labels: Vec<f64> = (0..n).map(|_| f64::from(random.random_range(0..5u8))).collect();
            (labels[0], labels[n - 1]) = (0.0, 2.0);
            (scores, labels)
        })
        .to_vec()
}

/// Returns queries with nothing to learn: no document, no relevant document, one document only, one label only.
pub(crate) fn degenerate() -> Vec<Query> {
    let labels = [vec![], vec![0.0; 3], vec![2.0], vec![3.0; 4], vec![0.0]];
    labels.map(|labels| (labels.iter().enumerate().map(|(i, _)| i as f64 * 0.7 - 1.0).collect(), labels)).to_vec()
}

/// Losses of queries and the gradient of their sum, including padding.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) losses: Vec<f64>,
    pub(crate) gradients: Vec<Vec<f64>>,
}

impl Outcome {
    /// The outcome of padded scores.
    pub(crate) fn new(losses: Tensor<1>, scores: &Tensor<2>) -> Self {
        let (losses, gradient) = found(losses, scores);
        Self { losses, gradients: gradient.chunks(scores.dims()[1]).map(<[f64]>::to_vec).collect() }
    }
}

/// Makes a batch padded to `width`, with `filler` as score and label of the padding.
fn tensors(queries: &[Query], width: usize, filler: f64, dtype: DType) -> (Tensor<2>, Tensor<2>, Tensor<2, Bool>) {
    tensors_on(&Device::flex(), queries, width, filler, dtype)
}

pub(crate) fn tensors_on(
    device: &Device,
    queries: &[Query],
    width: usize,
    filler: f64,
    dtype: DType,
) -> (Tensor<2>, Tensor<2>, Tensor<2, Bool>) {
    let device = device.clone().autodiff();
    let shape = [queries.len(), width];
    let matrix = |of: &dyn Fn(&Query) -> Vec<f64>, filler: f64| {
        let rows = queries.iter().flat_map(|query| {
            let mut row = of(query);
            row.resize(width, filler);
            row
        });
        let data = TensorData::new(rows.collect::<Vec<f64>>(), shape).convert_dtype(dtype);
        Tensor::<2>::from_data(data, (&device, dtype))
    };
    let scores = matrix(&|(scores, _)| scores.clone(), filler);
    let labels = matrix(&|(_, labels)| labels.clone(), filler);
    let mask = matrix(&|(scores, _)| vec![1.0; scores.len()], 0.0).greater_elem(0.5);
    (scores, labels, mask)
}

pub(crate) fn longest(queries: &[Query]) -> usize {
    queries.iter().map(|(scores, _)| scores.len()).max().unwrap_or(0)
}

/// The values of a tensor, row by row.
pub(crate) fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().iter::<f64>().collect()
}

/// The losses of queries and the gradient of their sum by the scores, 0 where there is none.
pub(crate) fn found<const D: usize>(losses: Tensor<1>, scores: &Tensor<D>) -> (Vec<f64>, Vec<f64>) {
    let gradients = losses.clone().sum().backward();
    let gradient = scores.grad(&gradients).map_or_else(|| vec![0.0; scores.dims().iter().product()], values);
    (values(losses), gradient)
}

fn evaluate(loss: &dyn RankingLoss, queries: &[Query], width: usize, filler: f64, dtype: DType) -> Outcome {
    evaluate_on(&Device::flex(), loss, queries, width, filler, dtype)
}

pub(crate) fn evaluate_on(
    device: &Device,
    loss: &dyn RankingLoss,
    queries: &[Query],
    width: usize,
    filler: f64,
    dtype: DType,
) -> Outcome {
    let (scores, labels, mask) = tensors_on(device, queries, width, filler, dtype);
    let scores = scores.require_grad();
    let losses = loss.forward_no_reduction(scores.clone(), labels, mask);
    assert_eq!(losses.dims(), [queries.len()]);
    assert_eq!(losses.dtype(), dtype, "{} changes the type", loss.about().name);
    Outcome::new(losses, &scores)
}

pub(crate) fn close(found: f64, expected: f64, tolerance: f64) -> bool {
    (found - expected).abs() <= tolerance * (1.0 + expected.abs())
}

/// Compares losses and the gradients of the documents.
fn assert_close(name: &str, found: &Outcome, expected: &Outcome, queries: &[Query], tolerance: f64) {
    for (q, (scores, _)) in queries.iter().enumerate() {
        assert!(close(found.losses[q], expected.losses[q], tolerance), "{name}: query {q}: {found:?} {expected:?}");
        for d in 0..scores.len() {
            let (found, expected) = (found.gradients[q][d], expected.gradients[q][d]);
            assert!(close(found, expected, tolerance), "{name}: query {q}, document {d}: {found} {expected}");
        }
    }
}

/// Runs `check` for every loss on every device, with a name of the two. All that fail are run, and counted: a run on a
/// device takes longer than anybody wants to repeat for each.
fn on_every_device(check: impl Fn(&str, &dyn RankingLoss, &Present)) {
    let mut failed = Vec::new();
    for (index, Subject { name, loss, .. }) in subjects().into_iter().enumerate() {
        for present in devices().iter().filter(|present| present.runs(index)) {
            let name = format!("{name} on {}", present.name);
            if catch_unwind(AssertUnwindSafe(|| check(&name, &*loss, present))).is_err() {
                failed.push(name);
            }
        }
    }
    assert!(failed.is_empty(), "{} failed, each with a message above: {failed:#?}", failed.len());
}

#[test]
fn padding_never_matters() {
    let queries = [queries(), degenerate()].concat();
    let width = longest(&queries) + 3;
    on_every_device(|name, loss, present| {
        let of = |width, filler| evaluate_on(&present.device, loss, &queries, width, filler, DType::F32);
        let clean = of(width, 0.0);
        for filler in [f64::NAN, 1e30, f64::NEG_INFINITY] {
            assert_eq!(of(width, filler), clean, "{name}: padded with {filler}");
        }
        for (q, (scores, _)) in queries.iter().enumerate() {
            assert!(clean.gradients[q][scores.len()..].iter().all(|g| *g == 0.0), "{name}: gradient at padding");
        }
        // Other widths are other shapes, which a GPU may sum in another order.
        let tolerance = if present.path == Path::Gpu { 2e-5 } else { 1e-6 };
        assert_close(name, &of(longest(&queries), 0.0), &clean, &queries, tolerance);
    });
}

/// Compares values and gradients of every device in f32 with values and gradients of the CPU in f64.
#[test]
fn every_device_agrees() {
    let queries = [queries(), degenerate()].concat();
    let width = longest(&queries);
    on_every_device(|name, loss, present| {
        let expected = evaluate(loss, &queries, width, 0.0, DType::F64);
        let found = evaluate_on(&present.device, loss, &queries, width, 0.0, DType::F32);
        assert_close(name, &found, &expected, &queries, 2e-5);
    });
}

/// Half precision has no number for high ranks: such scores have the same losses as the same scores in f32.
#[test]
fn scores_of_half_precision_are_computed_in_single() {
    let rounded = |dtype| -> Vec<Query> {
        let round = |scores: Vec<f64>| TensorData::new(scores, [17]).convert_dtype(dtype).iter::<f64>().collect();
        queries().into_iter().skip(3).map(|(scores, labels)| (round(scores), labels)).collect()
    };
    for Subject { name, loss, .. } in subjects() {
        for (dtype, precision) in [(DType::F16, 2e-3), (DType::BF16, 2e-2)] {
            let queries = rounded(dtype);
            let expected = evaluate(&*loss, &queries, 17, 0.0, DType::F32);
            let (scores, labels, mask) = tensors_on(&Device::flex(), &queries, 17, 0.0, dtype);
            let scores = scores.require_grad();
            let losses = loss.forward_no_reduction(scores.clone(), labels, mask);
            assert_eq!(losses.dtype(), DType::F32, "{name}");
            let (losses, gradient) = found(losses, &scores);
            assert_eq!(losses, expected.losses, "{name}: {dtype:?}");
            for (found, expected) in gradient.into_iter().zip(&expected.gradients[0]) {
                assert!(close(found, *expected, precision), "{name}: {dtype:?}: {found} {expected}");
            }
        }
    }
}

/// As above for the processor's instruction sets; those with a fused multiply-add agree to the bit.
#[test]
fn every_instruction_set_agrees() {
    let queries = [queries(), degenerate()].concat();
    let width = longest(&queries);
    for Subject { name, loss, .. } in subjects() {
        let expected = evaluate(&*loss, &queries, width, 0.0, DType::F64);
        for (dtype, tolerance) in [(DType::F32, 2e-5), (DType::F64, 1e-9)] {
            let mut fused: Option<Outcome> = None;
            for set in Instructions::found() {
                let execution = Execution::default().with_instructions(set).unwrap();
                let found = execution.scope(|| evaluate(&*loss, &queries, width, 0.0, dtype));
                assert_close(&format!("{name} by {set}, {dtype:?}"), &found, &expected, &queries, tolerance);
                if set != Instructions::Baseline {
                    assert_eq!(*fused.get_or_insert_with(|| found.clone()), found, "{name} by {set}, {dtype:?}");
                }
            }
        }
    }
}

#[test]
fn a_batch_of_single_documents_is_one_of_padded_lists() {
    let queries: Vec<Query> = degenerate().into_iter().filter(|(scores, _)| scores.len() == 1).collect();
    for Subject { name, loss, .. } in subjects() {
        let [narrow, wide] = [1, 4].map(|width| evaluate(&*loss, &queries, width, 0.0, DType::F64));
        assert_close(&name, &narrow, &wide, &queries, 1e-12);
    }
}

#[test]
fn a_batch_equals_a_loop_over_its_queries() {
    let queries = queries();
    for Subject { name, loss, entry, spec } in subjects() {
        // SoftRank fits its discount to 1e-8, up to the longest list of the batch.
        let expected = spec.params.get("relaxation") == Some(&"expected_ranks".into());
        let tolerance = if expected || entry.name.starts_with("soft_") { 1e-7 } else { 1e-9 };
        let batch = evaluate(&*loss, &queries, longest(&queries), 0.0, DType::F64);
        for (q, query) in queries.iter().enumerate() {
            let one = std::slice::from_ref(query);
            let alone = evaluate(&*loss, one, longest(one), 0.0, DType::F64);
            let row = Outcome { losses: vec![batch.losses[q]], gradients: vec![batch.gradients[q].clone()] };
            assert_close(&name, &row, &alone, one, tolerance);
        }
    }
}

#[test]
fn other_queries_do_not_matter() {
    let queries = queries();
    let mut changed = queries.clone();
    changed[1] = (vec![1e4, -1e4, 0.0, 0.0, 3.0], vec![0.0, 4.0, 1.0, 1.0, 0.0]);
    changed[3].0.reverse();
    on_every_device(|name, loss, present| {
        let of = |queries: &[Query]| evaluate_on(&present.device, loss, queries, 17, 0.0, DType::F32);
        let (before, after) = (of(&queries), of(&changed));
        for q in [0, 2] {
            assert_eq!(before.losses[q], after.losses[q], "{name}: query {q}");
            assert_eq!(before.gradients[q], after.gradients[q], "{name}: query {q}");
        }
    });
}

#[test]
fn the_order_of_documents_does_not_matter() {
    for Subject { name, loss, spec, .. } in subjects() {
        // Gumbel noise depends on the place of a document, and ListMLE breaks ties of labels by place.
        if spec.params.contains_key("gumbel_samples") {
            continue;
        }
        let labels = if spec.name == "list_mle" { [0.0, 3.0, 1.0, 4.0, 2.0] } else { [0.0, 3.0, 0.0, 2.0, 2.0] };
        let scores = [0.3, -1.2, 2.0, 0.9, -0.4];
        let order = [3, 0, 4, 2, 1];
        let permuted = (order.map(|d| scores[d]).to_vec(), order.map(|d| labels[d]).to_vec());
        let of = |query: Query| evaluate(&*loss, &[query], 5, 0.0, DType::F64);
        let (before, after) = (of((scores.to_vec(), labels.to_vec())), of(permuted));
        assert!(close(after.losses[0], before.losses[0], 1e-12), "{name}");
        for (place, &d) in order.iter().enumerate() {
            assert!(close(after.gradients[0][place], before.gradients[0][d], 1e-9), "{name}: document {d}");
        }
    }
}

#[test]
fn queries_with_nothing_to_learn_are_zero_and_counted() {
    let (nothing, something) = (degenerate(), queries());
    let all = [nothing.clone(), something].concat();
    let labels: Vec<f32> = all.iter().flat_map(|(_, labels)| labels.iter().map(|y| *y as f32)).collect();
    let mut offsets = vec![0];
    offsets.extend(all.iter().scan(0, |end, (scores, _)| {
        *end += scores.len();
        Some(*end)
    }));
    for (index, subject) in subjects().into_iter().enumerate() {
        let idle = if subject.learns_values() { 1 } else { nothing.len() };
        let Subject { name, loss, .. } = subject;
        for present in devices().iter().filter(|present| present.runs(index)) {
            for &dtype in present.types {
                let outcome = evaluate_on(&present.device, &*loss, &all, longest(&all), 0.0, dtype);
                for q in 0..idle {
                    assert_eq!(outcome.losses[q], 0.0, "{name} on {}: query {q}", present.name);
                    assert!(outcome.gradients[q].iter().all(|g| *g == 0.0), "{name} on {}: query {q}", present.name);
                }
            }
        }
        let found = degenerate_queries(&*loss, &labels, &offsets).unwrap();
        assert_eq!(found, (0..idle).collect::<Vec<_>>(), "{name}");
        assert_eq!(loss.about().check_labels(&labels, &offsets), Ok(()), "{name}");
    }
}

/// Labels with equal gains order nothing.
#[test]
fn equal_gains_are_nothing_to_learn() {
    let with_gain = registry::LOSSES.iter().filter(|entry| {
        entry.name != "binary_cross_entropy" && entry.defaults(&burn_rank::json::Map::new()).contains_key("gain")
    });
    let subjects: Vec<Subject> =
        with_gain.map(|entry| Subject::new(json!({"gain": {"table": [0.0, 0.0, 3.0, 3.0]}}), entry.name)).collect();
    assert!(subjects.len() >= 8, "losses with a gain: {}", subjects.len());
    let labels = [[0.0, 1.0, 0.0], [2.0, 3.0, 2.0], [0.0, 2.0, 1.0]];
    let queries = labels.map(|labels| (vec![0.1, -0.2, 0.3], labels.to_vec()));
    let all: Vec<f32> = labels.iter().flatten().map(|label| *label as f32).collect();
    for Subject { name, loss, .. } in subjects {
        let outcome = evaluate(&*loss, &queries, 3, 0.0, DType::F64);
        assert_eq!(outcome.losses[..2], [0.0, 0.0], "{name}");
        assert!(outcome.gradients[..2].iter().flatten().all(|gradient| *gradient == 0.0), "{name}");
        assert!(outcome.losses[2] != 0.0 && outcome.gradients[2].iter().any(|gradient| *gradient != 0.0), "{name}");
        assert_eq!(degenerate_queries(&*loss, &all, &[0, 3, 6, 9]).unwrap(), [0, 1], "{name}");
    }
}

#[test]
fn gradients_agree_with_finite_differences() {
    let step = 1e-5;
    for Subject { name, loss, .. } in subjects() {
        // The spread is held in the gradient, and moves with the scores: `temperature.rs` tests it. What is estimated
        // is the gradient of an expectation: `estimators.rs` tests it.
        if loss.about().held_constant == Some("the spread of the scores") || loss.about().estimates_gradient {
            continue;
        }
        for query in &queries()[..3] {
            let n = query.0.len();
            let exact = evaluate(&*loss, std::slice::from_ref(query), n, 0.0, DType::F64);
            // One row for each document and direction.
            let moved: Vec<Query> = (0..n)
                .flat_map(|d| {
                    [step, -step].map(|by| {
                        let mut moved = query.clone();
                        moved.0[d] += by;
                        moved
                    })
                })
                .collect();
            let losses = evaluate(&*loss, &moved, n, 0.0, DType::F64).losses;
            for d in 0..n {
                let numeric = (losses[2 * d] - losses[2 * d + 1]) / (2.0 * step);
                let found = exact.gradients[0][d];
                assert!(close(found, numeric, 2e-6), "{name}: {n} documents, document {d}: {found} {numeric}");
            }
        }
    }
}

#[test]
fn extreme_scores_and_temperatures_stay_finite() {
    let labels = vec![0.0, 2.0, 4.0, 1.0, 0.0, 30.0];
    let small_labels = vec![0.0, 2.0, 4.0, 1.0, 0.0, 3.0];
    let scores = [
        vec![1e4, -1e4, 5e3, 9.999e3, 1e4, -1e4],
        vec![-1e4, 1e4, 1e4, 1e4, -1e4, 1e4],
        vec![0.5; 6],
        vec![1e4; 6],
        vec![0.0, 1e-6, 2e-6, -1e-6, 1e-3, 0.0],
    ];
    for (index, subject) in subjects().into_iter().enumerate() {
        let mut losses = vec![(subject.name.clone(), subject.loss)];
        if let Some(smoothing) = subject.spec.smoothing().unwrap() {
            let extremes = if smoothing.larger_is_sharper() { [300.0, 1e-2] } else { [2f64.powi(-6), 2f64.powi(6)] };
            for extreme in extremes {
                let loss = subject.spec.with(smoothing.parameter, extreme).build().unwrap();
                losses.push((format!("{} at {extreme}", subject.name), loss));
            }
        }
        for (name, loss) in losses {
            let labels = if matches!(loss.about().gain, Some(Gain::Table(_))) { &small_labels } else { &labels };
            let queries: Vec<Query> = scores.iter().map(|scores| (scores.clone(), labels.clone())).collect();
            for present in devices().iter().filter(|present| present.runs(index)) {
                for &dtype in present.types {
                    let name = format!("{name} on {}: {dtype:?}", present.name);
                    let outcome = evaluate_on(&present.device, &*loss, &queries, 8, f64::NAN, dtype);
                    assert!(outcome.losses.iter().all(|loss| loss.is_finite()), "{name}: {outcome:?}");
                    let finite = outcome.gradients.iter().flatten().all(|gradient| gradient.is_finite());
                    assert!(finite, "{name}: {outcome:?}");
                }
            }
        }
    }
}

/// Scores near 1e4 that differ by at most 0.1, and such scores near 0 with one of 1e4: f32 can represent the
/// differences.
#[test]
fn offsets_and_outliers_cost_no_precision() {
    let sharp = [
        ("approx_kendall_tau", json!({"alpha": 300.0})),
        ("rank_net", json!({"sigma": 300.0})),
        ("lambda_ndcg", json!({"sigma": 300.0})),
        ("lambda_measure", json!({"sigma": 300.0})),
        ("lambda_loss", json!({"sigma": 300.0})),
        ("lambda_loss", json!({"sigma": 300.0, "weights": "ndcg_loss1"})),
        ("neural_ndcg", json!({"temperature": 2f64.powi(-6)})),
    ];
    let mut random = ChaCha8Rng::seed_from_u64(seed_for(3, "offset", 0));
    let mut scores = |offset: f32| -> Vec<f64> {
        (0..17).map(|_| f64::from(offset + random.random_range(-0.05f32..0.05))).collect()
    };
    let (offset, mut outlier) = (scores(1e4), scores(0.0));
    outlier[0] = 1e4;
    let labels: Vec<f64> = (0..17).map(|document| f64::from(document * 7 % 5)).collect();
    for (name, params) in sharp {
        let Subject { name, loss, .. } = Subject::new(params, name);
        for (kind, scores) in [("offset", &offset), ("outlier", &outlier)] {
            // The logits of `neural_ndcg` contain the sum of all differences.
            if kind == "outlier" && loss.about().name == "neural_ndcg" {
                continue;
            }
            let queries = [(scores.clone(), labels.clone())];
            let [single, double] = [DType::F32, DType::F64].map(|dtype| evaluate(&*loss, &queries, 20, 0.0, dtype));
            let scale = double.gradients[0].iter().fold(0.0, |scale: f64, gradient| scale.max(gradient.abs()));
            let pairs = single.gradients[0].iter().zip(&double.gradients[0]);
            let error = pairs.map(|(single, double)| (single - double).abs()).fold(0.0, f64::max) / scale;
            eprintln!("f32 gradient of {name}, {kind}: relative error {error:.1e}");
            assert!(error <= 1e-4, "{name}, {kind}: relative error {error:e}");
            assert!(close(single.losses[0], double.losses[0], 1e-4), "{name}, {kind}: {single:?} {double:?}");
        }
    }
}

/// A program that checks losses for NaN notices when a run has diverged.
#[test]
fn nan_scores_give_nan_losses_and_gradients() {
    let mut queries = queries();
    // A document of the highest label, which no cut-off leaves out.
    let place = queries[2].1.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap().0;
    queries[2].0[place] = f64::NAN;
    for Subject { name, loss, .. } in subjects() {
        for dtype in [DType::F32, DType::F64] {
            let outcome = evaluate(&*loss, &queries, 20, 0.0, dtype);
            for (q, (loss, gradient)) in outcome.losses.iter().zip(&outcome.gradients).enumerate() {
                assert_eq!(loss.is_nan(), q == 2, "{name}, {dtype:?}: query {q}: {loss}");
                assert_eq!(gradient.iter().any(|g| g.is_nan()), q == 2, "{name}, {dtype:?}: query {q}: {gradient:?}");
            }
        }
    }
}

#[test]
fn shift_invariance_is_as_the_entry_says() {
    let queries = queries();
    let shifted: Vec<Query> = queries.iter().map(|(s, y)| (s.iter().map(|s| s + 3.25).collect(), y.clone())).collect();
    for Subject { name, loss, entry, .. } in subjects() {
        let of = |queries: &[Query]| evaluate(&*loss, queries, 17, 0.0, DType::F64);
        let (before, after) = (of(&queries), of(&shifted));
        let same = before.losses.iter().zip(&after.losses).all(|(b, a)| close(*a, *b, 1e-9));
        let is_invariant = !["binary_cross_entropy", "mse_gain", "teacher_mse"].contains(&entry.name);
        assert_eq!(same, is_invariant, "{name}");
        if is_invariant {
            for gradient in &before.gradients {
                let size: f64 = gradient.iter().map(|g| g.abs()).sum();
                assert!(gradient.iter().sum::<f64>().abs() <= 1e-9 * (1.0 + size), "{name}: {gradient:?}");
            }
        }
    }
}

#[test]
fn reductions_and_weights_are_sums_and_means() {
    let queries = [queries(), degenerate()].concat();
    let weights: Vec<f64> = (0..queries.len()).map(|q| q as f64 * 0.5).collect();
    let total: f64 = weights.iter().sum();
    for Subject { name, loss, .. } in subjects() {
        let (scores, labels, mask) = tensors(&queries, 17, 0.0, DType::F64);
        let losses = values(loss.forward_no_reduction(scores.clone(), labels.clone(), mask.clone()));
        let sum: f64 = losses.iter().sum();
        let weighted: f64 = losses.iter().zip(&weights).map(|(loss, weight)| loss * weight).sum();
        let of = |reduction| values(loss.forward(scores.clone(), labels.clone(), mask.clone(), reduction))[0];
        let tensor = |weights: &[f64]| {
            let data = TensorData::new(weights.to_vec(), [weights.len()]);
            Tensor::<1>::from_data(data, (&scores.device(), DType::F32))
        };
        let with = |weights: &[f64], reduction| {
            let lists = Lists::padded(scores.clone(), labels.clone(), mask.clone()).with_query_weights(tensor(weights));
            values(loss.try_forward(&lists, reduction).unwrap())[0]
        };
        for (found, expected) in [
            (of(Reduction::Sum), sum),
            (of(Reduction::Mean), sum / queries.len() as f64),
            (of(Reduction::Auto), sum / queries.len() as f64),
            (with(&weights, Reduction::Sum), weighted),
            (with(&weights, Reduction::Mean), weighted / total),
            (with(&vec![2.0; queries.len()], Reduction::Mean), sum / queries.len() as f64),
            (with(&vec![0.0; queries.len()], Reduction::Mean), 0.0),
        ] {
            assert!(close(found, expected, 1e-12), "{name}: {found} {expected}");
        }
    }
}

#[test]
fn errors_name_the_bad_input() {
    let queries: Vec<Query> = vec![(vec![0.0, 1.0], vec![1.0, 0.0]), (vec![2.0, 1.0, 0.5], vec![0.0, 0.0, 1.0])];
    for Subject { name, loss, .. } in subjects() {
        let attempt = |change: &dyn Fn(&mut Vec<Query>), weights: Option<Vec<f64>>| {
            let mut queries = queries.clone();
            change(&mut queries);
            let (scores, labels, mask) = tensors(&queries, 4, f64::NAN, DType::F32);
            let device = scores.device();
            let weights = weights.map(|w| Tensor::<1>::from_data(TensorData::new(w.clone(), [w.len()]), &device));
            let lists = Lists::padded(scores, labels, mask);
            let lists = match weights {
                Some(weights) => lists.with_query_weights(weights),
                None => lists,
            };
            loss.try_forward(&lists, Reduction::Mean).map(values)
        };
        assert!(attempt(&|_| {}, None).is_ok(), "{name}: padding may hold anything");
        let score = attempt(&|q| q[1].0[2] = f64::INFINITY, None).unwrap_err();
        assert_eq!(score, LossError::Score { query: 1, document: 2, found: f64::INFINITY }, "{name}");
        let label = attempt(&|q| q[1].1[1] = f64::NAN, None).unwrap_err();
        assert!(matches!(label, LossError::Label { query: 1, document: 1, .. }), "{name}: {label}");
        if matches!(loss.about().gain, Some(Gain::Exp2 | Gain::Exp2Raw | Gain::Table(_))) {
            for bad in [-1.0, 0.5, 31.0] {
                let label = attempt(&|q| q[0].1[1] = bad, None).unwrap_err();
                assert!(matches!(label, LossError::Label { query: 0, document: 1, .. }), "{name}: {label}");
                let dataset = loss.about().check_labels(&[0.0, bad as f32], &[0, 2]).unwrap_err();
                assert!(matches!(dataset, LossError::Label { query: 0, document: 1, .. }), "{name}: {dataset}");
            }
        }
        let weight = attempt(&|_| {}, Some(vec![1.0, -1.0])).unwrap_err();
        assert_eq!(weight, LossError::Weight { query: 1, found: -1.0 }, "{name}");
        let weights = attempt(&|_| {}, Some(vec![1.0])).unwrap_err();
        assert_eq!(weights.to_string(), "weights are [1], scores [2, 4]", "{name}");
        let offsets = loss.about().check_labels(&[0.0, 1.0], &[0, 3]).unwrap_err();
        assert!(matches!(offsets, LossError::Offsets { .. }), "{name}: {offsets}");

        let (scores, labels, mask) = tensors(&queries, 4, 0.0, DType::F32);
        let narrow = labels.clone().narrow(1, 0, 3);
        let shape = Lists::try_padded(scores, narrow, mask).unwrap_err();
        assert_eq!(shape.to_string(), "labels are [2, 3], scores [2, 4]", "{name}");
    }
}

/// Returns the message with which `f` panics, or an empty one if it does not panic.
pub fn panic_of<R>(f: impl FnOnce() -> R) -> String {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(_) => String::new(),
        Err(payload) => match payload.downcast::<String>() {
            Ok(message) => *message,
            Err(payload) => payload.downcast_ref::<&str>().copied().unwrap_or("no text").to_string(),
        },
    }
}

/// Shapes other than `[2, 3]`: those that broadcast to it, its transpose, and those with more or fewer cells.
pub const WRONG_SHAPES: [[usize; 2]; 7] = [[1, 3], [2, 1], [1, 1], [3, 2], [2, 4], [2, 2], [4, 3]];

/// Without the check, 16 of 27 losses gave wrong numbers for a mask `[1, 3]`, and all of them for labels `[1, 3]`.
#[test]
fn labels_or_a_mask_of_another_shape_are_refused_not_broadcast() {
    let device = Device::flex();
    let scores = Tensor::<2>::from_floats([[0.3, -0.2, 1.1], [0.4, 0.5, -1.0]], &device);
    let labels = |shape: [usize; 2]| {
        let cells = (0..shape[0] * shape[1]).map(|cell| (cell % 2) as f32).collect();
        Tensor::<2>::from_data(TensorData::new::<f32, _>(cells, shape), &device)
    };
    let mask = |shape: [usize; 2]| Tensor::<2>::ones(shape, &device).greater_elem(0.0);
    for Subject { name, loss, .. } in subjects() {
        let lists = || Lists::padded(scores.clone(), labels([2, 3]), mask([2, 3]));
        assert!(loss.try_forward(&lists(), Reduction::Mean).is_ok(), "{name}");
        for wrong in WRONG_SHAPES {
            for (labels_shape, mask_shape, expected) in [
                (wrong, [2, 3], format!("labels are {wrong:?}, scores [2, 3]")),
                ([2, 3], wrong, format!("mask is {wrong:?}, scores [2, 3]")),
            ] {
                let inputs = || (scores.clone(), labels(labels_shape), mask(mask_shape));
                let of = |found: String| assert_eq!(found, expected, "{name}");
                let (s, y, m) = inputs();
                of(Lists::try_padded(s, y, m).unwrap_err().to_string());
                let (s, y, m) = inputs();
                of(panic_of(|| loss.forward_no_reduction(s, y, m)));
                let (s, y, m) = inputs();
                of(panic_of(|| loss.forward(s, y, m, Reduction::Mean)));
                let (s, y, m) = inputs();
                of(panic_of(|| loss.forward_weighted(s, y, m, Tensor::ones([2], &device), Reduction::Sum)));
            }
        }
        for queries in [1, 3] {
            let expected = format!("weights are [{queries}], scores [2, 3]");
            let weights = || Tensor::<1>::ones([queries], &device);
            let found = panic_of(|| {
                loss.forward_weighted(scores.clone(), labels([2, 3]), mask([2, 3]), weights(), Reduction::Mean)
            });
            assert_eq!(found, expected, "{name}");
            let checked = loss.try_forward(&lists().with_query_weights(weights()), Reduction::Mean);
            assert_eq!(checked.unwrap_err().to_string(), expected, "{name}");
        }
        let refused = explain(&*loss, &[0.1, 0.2], &[1.0], DType::F32).unwrap_err();
        assert_eq!(refused.to_string(), "labels are [1], scores [2]", "{name}");
        let empty = Tensor::<2>::zeros([0, 3], &device);
        let refused =
            loss.try_forward(&Lists::padded(empty.clone(), empty, mask([0, 3])), Reduction::Mean).unwrap_err();
        assert_eq!(refused.to_string(), "scores are [0, 3], expected one query of one document or more", "{name}");
    }
}

#[test]
fn weights_that_do_not_match_the_losses_are_refused_not_broadcast() {
    let device = Device::flex();
    let found = panic_of(|| reduce_weighted(Tensor::ones([3], &device), Tensor::ones([1], &device), Reduction::Sum));
    assert_eq!(found, "reduce_weighted: weights are [1], losses [3]");
}

/// A custom loss that gives one value for the whole batch.
#[derive(Debug)]
struct OneValue;

impl RankingLoss for OneValue {
    fn about(&self) -> About<'_> {
        About::new("one_value", Orientation::Loss)
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        lists.scores.clone().sum()
    }
}

#[test]
fn a_custom_loss_without_one_value_per_query_is_refused() {
    let (scores, labels, mask) = tensors(&queries(), 17, 0.0, DType::F32);
    let found = panic_of(|| OneValue.forward(scores, labels, mask, Reduction::Mean));
    assert_eq!(found, "one_value: losses are [1], scores [4, 17] (one per query)");
}

/// burn's padding masks are true at padding. Without the check, such a mask silently made every loss and every gradient
/// 0.
#[test]
fn an_inverted_mask_is_an_error_not_a_zero_loss() {
    let device = Device::flex();
    // Two lists of document numbers, one of four and one of two documents; 0 is padding. Either document of the first
    // two may be irrelevant, so that success within two ranks is not certain.
    let padding = generate_padding_mask(0, vec![vec![7, 3, 9, 8], vec![4, 5]], None, &device).mask;
    let scores = Tensor::<2>::from_floats([[0.3, -0.2, 1.1, 0.7], [0.4, 0.5, 0.0, 0.0]], &device);
    let labels = Tensor::<2>::from_floats([[2.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0]], &device);
    for Subject { name, loss, .. } in subjects().into_iter().filter(|subject| !subject.learns_values()) {
        let attempt = |mask: Tensor<2, Bool>| {
            loss.try_forward(&Lists::padded(scores.clone(), labels.clone(), mask), Reduction::Mean).map(values)
        };
        let refused = attempt(padding.clone()).unwrap_err();
        assert_eq!(refused, LossError::NothingToLearn { queries: 2, inverted: 2 }, "{name}");
        let message = refused.to_string();
        assert!(message.contains("with the inverted mask") && message.contains("mask_from_padding"), "{message}");
        // `forward` keeps to its contract: the loss is 0 if there is nothing to learn.
        let zero = loss.forward(scores.clone(), labels.clone(), padding.clone(), Reduction::Mean);
        assert_eq!(values(zero), [0.0], "{name}");

        let right = attempt(mask_from_padding(padding.clone())).unwrap();
        assert!(right[0] != 0.0, "{name}: {right:?}");
    }
}

/// Such a batch is an error only of `try_forward`, and only if no query has anything to learn.
#[test]
fn a_batch_with_nothing_to_learn_is_an_error_of_try_forward_only() {
    let (nothing, something) = (degenerate(), queries());
    for Subject { name, loss, .. } in subjects().into_iter().filter(|subject| !subject.learns_values()) {
        let attempt = |queries: &[Query]| {
            let (scores, labels, mask) = tensors(queries, 17, f64::NAN, DType::F32);
            loss.try_forward(&Lists::padded(scores, labels, mask), Reduction::Mean).map(values)
        };
        let refused = attempt(&nothing).unwrap_err();
        assert_eq!(refused, LossError::NothingToLearn { queries: nothing.len(), inverted: 0 }, "{name}");
        assert!(refused.to_string().starts_with("nothing to learn in any of 5 queries: expected "), "{refused}");
        assert!(attempt(&[nothing.clone(), something.clone()].concat()).is_ok(), "{name}");
        // `burn-rank loss` prints such a list without an error.
        let explained = explain(&*loss, &nothing[1].0, &nothing[1].1, DType::F32).unwrap();
        assert_eq!((explained.learnable, explained.loss), (false, 0.0), "{name}");
    }
}
