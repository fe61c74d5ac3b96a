//! Compares the default path of every primitive, on every device, with its tensor definition in f64, in value and
//! gradient.

use std::collections::BTreeMap;

use burn::tensor::{DType, Device, Tensor, TensorData};
use burn_rank::{
    op::{Execution, Instructions, Step},
    seed::seed_for,
    workbench::op::{
        Above, AboveExpectation, AboveRecursion, Comparison, Distance, ExponentialTerm, NeuralSortMatrix, PairLoss,
        PairWeight, ScoreNoise, SumPath, above_expectation, above_recursion, at_rank, centered, exp2, ideal_dcg,
        in_spreads, indicator_sum, log_softmax, log2_discount, neural_sort_sum, pair_loss, rank, step_sum,
        with_tensor_path, with_unit_gradient,
    },
};
use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::devices::{Path, Present, devices, devices_that, flex};
use crate::example_cases::EXAMPLES;

/// Largest error, relative to the largest magnitude of the reference.
const TOLERANCE: f64 = 1e-5;

/// Inputs of one case, row-major `[batch, documents]`.
struct Case {
    name: String,
    /// The primitive or the topic of the case.
    shape: [usize; 2],
    scores: Vec<f32>,
    labels: Vec<f32>,
    values: Vec<f32>,
    gradient: Vec<f32>,
    mask: Vec<f32>,
}

/// Makes lists of 1, 2, 17 and `longest` documents: spread out, crowded, tied, and with spans of 1e4. Half of them are
/// padded with finite garbage.
fn cases(purpose: &str, longest: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for documents in [1, 2, 17, longest] {
        for (kind, spread) in [("normal", 2.0), ("crowded", 1e-3), ("tied", 0.0), ("wide", 1e4)] {
            for padding in [0, 5] {
                let mut random = ChaCha8Rng::seed_from_u64(seed_for(7, purpose, cases.len() as u64));
                let shape = [2, documents + padding];
                let cells = shape[0] * shape[1];
                let mut draw = |f: &mut dyn FnMut(&mut ChaCha8Rng) -> f32| -> Vec<f32> {
                    (0..cells).map(|_| f(&mut random)).collect()
                };
                let scores = draw(&mut |r| match kind {
                    "tied" => r.random_range(0..3) as f32,
                    _ => r.random_range(-spread..=spread) as f32,
                });
                let labels = draw(&mut |r| r.random_range(0..5) as f32);
                let mut values = draw(&mut |r| r.random_range(-1.0..2.0));
                let mut gradient = draw(&mut |r| r.random_range(-1.0..1.0));
                let mask: Vec<f32> =
                    (0..cells).map(|cell| if cell % shape[1] < documents { 1.0 } else { 0.0 }).collect();
                for cell in 0..cells {
                    values[cell] *= mask[cell];
                    gradient[cell] *= mask[cell];
                }
                let name = format!("{kind}, {documents} documents, {padding} padded");
                cases.push(Case { name, shape, scores, labels, values, gradient, mask });
            }
        }
    }
    cases
}

/// Expectations of the rank alone under independent noise: those of sums of exponentials, and those of the first ranks.
fn rank_expectation(x: Tensor<2>, mask: Tensor<2>, sigma: f64, terms: &[ExponentialTerm]) -> Tensor<2> {
    let noise = ScoreNoise::one(Comparison::independent(sigma));
    let expectation = AboveExpectation { noise, terms: terms.to_vec(), above: Above::Nothing };
    above_expectation(x, mask.clone(), mask.clone(), mask, &expectation)
}

fn rank_recursion(x: Tensor<2>, mask: Tensor<2>, sigma: f64, discounts: &[f64]) -> Tensor<2> {
    let values = TensorData::new(discounts.to_vec(), [1, discounts.len()]);
    let values = Tensor::<2>::from_data(values, (&x.device(), x.dtype())).repeat_dim(0, x.dims()[0]);
    let recursion = AboveRecursion { noise: ScoreNoise::one(Comparison::independent(sigma)), above: Above::Nothing };
    above_recursion(x, mask.clone(), mask.clone(), mask, values, &recursion)
}

/// Value and gradients with respect to the differentiable inputs.
type Outcome = Vec<Vec<f64>>;

/// Runs `primitive` on the scores and values of a case in one type.
fn run(case: &Case, device: &Device, dtype: DType, primitive: &dyn Fn(&[Tensor<2>; 4]) -> Tensor<2>) -> Outcome {
    let device = device.clone().autodiff();
    let tensor = |values: &[f32]| {
        let data = TensorData::new(values.to_vec(), case.shape).convert_dtype(dtype);
        Tensor::<2>::from_data(data, (&device, dtype))
    };
    let x = tensor(&case.scores).require_grad();
    let v = tensor(&case.values).require_grad();
    let out = primitive(&[x.clone(), v.clone(), tensor(&case.labels), tensor(&case.mask)]);
    let read = |tensor: Tensor<2>| tensor.into_data().iter::<f64>().collect::<Vec<f64>>();
    let value = read(out.clone());
    let gradients = (out * tensor(&case.gradient)).sum().backward();
    let mut outcome = vec![value];
    for input in [x, v] {
        if let Some(gradient) = input.grad(&gradients) {
            outcome.push(gradient.into_data().iter::<f64>().collect());
        }
    }
    // Primitives without a mask promise nothing for padding.
    for values in &mut outcome {
        values.iter_mut().zip(&case.mask).for_each(|(value, mask)| *value *= f64::from(*mask));
    }
    outcome
}

/// Compares the default path of every device, in f32 and, where supported, f64, with the definition in f64. `natural`
/// is a magnitude below which the value and each gradient count as 0. Prints the largest error (`--nocapture` shows
/// it).
fn check(what: &str, purpose: &str, longest: usize, natural: f64, primitive: impl Fn(&[Tensor<2>; 4]) -> Tensor<2>) {
    check_on(|_| true, what, purpose, longest, natural, primitive);
}

/// Whether a device has kernels. The definitions of some primitives take many operations.
fn fused(present: &Present) -> bool {
    present.path != Path::Tensor
}

fn fused_on_the_cpu(present: &Present) -> bool {
    present.path == Path::Processor
}

/// [`check`] on some of the devices.
fn check_on(
    on: fn(&Present) -> bool,
    what: &str,
    purpose: &str,
    longest: usize,
    natural: f64,
    primitive: impl Fn(&[Tensor<2>; 4]) -> Tensor<2>,
) {
    let mut largest = Errors::new();
    if devices_that(on).is_empty() {
        return;
    }
    // Definitions take long. Where the CPU is not under test, its kernels for f64, which that test compares with them,
    // do.
    let by_definition = devices().iter().any(|present| present.path == Path::Processor);
    for case in cases(purpose, longest) {
        let run = || run(&case, &Device::flex(), DType::F64, &primitive);
        let reference = if by_definition { with_tensor_path(run) } else { run() };
        compare(on, what, &case, natural, &reference, &primitive, &mut largest);
    }
    for ((device, dtype, part), error) in largest {
        eprintln!("accuracy of {what} on {device}, {dtype}, {part}: {error:.1e}");
    }
}

/// Largest error by device, type and output.
type Errors = BTreeMap<(String, &'static str, &'static str), f64>;

/// Whether a device has another way for sums, whatever the length of the list.
fn has_fast_sums(present: &Present, dtype: DType) -> bool {
    dtype == DType::F32 && present.name == "flex"
}

/// Compares the default path of every device, and the fast sums of those that have some, with `reference`; see
/// [`check`].
fn compare(
    on: fn(&Present) -> bool,
    what: &str,
    case: &Case,
    natural: f64,
    reference: &Outcome,
    primitive: &dyn Fn(&[Tensor<2>; 4]) -> Tensor<2>,
    errors: &mut Errors,
) {
    for present in devices_that(on) {
        for &dtype in present.types {
            for sums in [SumPath::Auto, SumPath::Fast] {
                let name = match sums {
                    SumPath::Fast if !has_fast_sums(present, dtype) => continue,
                    SumPath::Fast => format!("{} by fast sums", present.name),
                    SumPath::Auto | SumPath::Pairs => present.name.clone(),
                };
                let run = || run(case, &present.device, dtype, primitive);
                let found = Execution::current().with_sums(sums).scope(run);
                compare_outcomes(&format!("{what} on {name}"), case, natural, reference, &found, |part, error| {
                    let largest = errors.entry((name.clone(), dtype.name(), part)).or_default();
                    *largest = largest.max(error);
                });
            }
        }
    }
}

/// Asserts that what was found is near the reference, and hands on the errors.
fn compare_outcomes(
    what: &str,
    case: &Case,
    natural: f64,
    reference: &Outcome,
    found: &Outcome,
    mut record: impl FnMut(&'static str, f64),
) {
    assert_eq!(found.len(), reference.len(), "{what}: {}: number of gradients", case.name);
    for (part, (found, expected)) in found.iter().zip(reference).enumerate() {
        let scale = expected.iter().fold(natural, |largest, value| largest.max(value.abs()));
        for (cell, (found, expected)) in found.iter().zip(expected).enumerate() {
            let error = (found - expected).abs() / scale;
            record(["value", "gradient in scores", "gradient in values"][part], error);
            assert!(
                error <= TOLERANCE,
                "{what}: {}: output {part}, cell {cell}: {found} for {expected}, error {error:e}",
                case.name
            );
        }
    }
}

#[test]
fn every_primitive_agrees_with_its_definition() {
    for (name, example) in EXAMPLES {
        // As in the tests of these primitives.
        let on: fn(&Present) -> bool = match name {
            "neural_sort_sum" => fused_on_the_cpu,
            "above_recursion" => fused,
            _ => |_| true,
        };
        // The scores give every outcome a gradient.
        check_on(on, name, name, 50, 1.0, |inputs| example(inputs) + inputs[0].clone() * 0.0);
    }
}

#[test]
fn step_sum_agrees_with_its_definition() {
    for step in [Step::Logistic, Step::Tanh, Step::Erf, Step::Arctan, Step::Laplace] {
        // The longest lists are used once, since the reference in f64 takes most of the time.
        let longest = if step == Step::Logistic { 1000 } else { 100 };
        for alpha in [0.1, 10.0, 1000.0] {
            check(&format!("{step:?}, alpha {alpha}"), "step_sum", longest, 1e-6 * alpha, |[x, v, ..]| {
                step_sum(x.clone(), v.clone(), alpha, step)
            });
        }
    }
}

#[test]
fn indicator_sum_agrees_with_its_definition() {
    for sigma in [1e-2, 0.5, 100.0] {
        check(&format!("sigma {sigma}"), "indicator_sum", 300, 1e-6, |[x, v, _, mask]| {
            indicator_sum(x.clone(), v.clone(), mask.clone(), sigma)
        });
    }
}

/// Tensors of `f32` lose digits in its logits, differences of sums over the list.
#[test]
fn neural_sort_sum_agrees_with_its_definition() {
    for (temperature, iterations, transposed, ranks) in [
        (0.5, 0, false, usize::MAX),
        (30.0, 0, false, 3),
        (1.0, 1, false, usize::MAX),
        (30.0, 10, false, usize::MAX),
        (30.0, 10, true, usize::MAX),
        (300.0, 50, false, 5),
    ] {
        let sort = NeuralSortMatrix { temperature, iterations, transposed, ranks };
        check_on(fused_on_the_cpu, &format!("{sort:?}"), "neural_sort_sum", 100, 1e-6, |[x, v, _, mask]| {
            neural_sort_sum(x.clone(), v.clone(), mask.clone(), sort)
        });
    }
}

#[test]
fn rank_expectation_agrees_with_its_definition() {
    let terms: Vec<ExponentialTerm> = [(0.3, 0.05), (0.2, 0.4), (0.25, 0.9), (-0.05, 0.97), (0.3, 0.999)]
        .map(|(coefficient, base)| ExponentialTerm { coefficient, base })
        .into();
    for sigma in [1e-2, 1.0, 30.0] {
        check(&format!("sigma {sigma}"), "rank_expectation", 200, 1e-6, |[x, _, _, mask]| {
            rank_expectation(x.clone(), mask.clone(), sigma, &terms)
        });
    }
}

/// The average under `sigma`: over two trials, given and not.
fn above(sigma: f64, above: Above) -> AboveExpectation {
    let terms = [(0.3, 0.05), (0.2, 0.4), (0.25, 0.9), (0.3, 0.999)];
    let terms = terms.map(|(coefficient, base)| ExponentialTerm { coefficient, base }).into();
    let comparisons = [Comparison::independent(sigma), Comparison::given(0.8, sigma), Comparison::given(-2.0, sigma)];
    let noise = ScoreNoise::Mixture([0.5, 0.3, 0.2].into_iter().zip(comparisons).collect());
    AboveExpectation { noise, terms, above }
}

/// Chances of labels: 0 for some documents, and 1 for others.
fn chances(labels: &Tensor<2>) -> Tensor<2> {
    (labels.clone() - 1.0).clamp_min(0.0) * (1.0 / 3.0)
}

#[test]
fn above_expectation_agrees_with_its_definition() {
    for what in [Above::Sum, Above::Product] {
        for sigma in [1e-2, 1.0, 30.0] {
            let expectation = above(sigma, what);
            let label = format!("{what:?}, sigma {sigma}");
            check(&label, "above_expectation", 150, 1e-6, |[x, _, labels, mask]| {
                let b = chances(labels) * mask.clone();
                above_expectation(x.clone(), b.clone(), b, mask.clone(), &expectation)
            });
        }
    }
}

#[test]
fn expectations_under_exact_noise_agree_with_their_definitions() {
    for what in [Above::Sum, Above::Product] {
        for sigma in [1e-2, 1.0] {
            let noise = ScoreNoise::Exact { sigma };
            let expectation = AboveExpectation { noise: noise.clone(), ..above(sigma, what) };
            let label = format!("{what:?}, exact, sigma {sigma}");
            check_on(fused, &label, "above_expectation", 20, 1e-6, |[x, _, labels, mask]| {
                let b = chances(labels) * mask.clone();
                above_expectation(x.clone(), b.clone(), b, mask.clone(), &expectation)
            });
            let recursion = AboveRecursion { noise, above: what };
            check_on(fused, &label, "above_recursion", 12, 1e-6, |inputs| {
                recursion_of_first_ranks(inputs, 5, &recursion)
            });
        }
    }
}

/// Values of `ranks` ranks, of either sign, another function for each list.
fn recursion_of_first_ranks(
    [x, _, labels, mask]: &[Tensor<2>; 4],
    ranks: usize,
    recursion: &AboveRecursion,
) -> Tensor<2> {
    let b = chances(labels) * mask.clone();
    let ranks = ranks.min(x.dims()[1]);
    let values = (labels.clone().narrow(1, 0, ranks) - 1.5) * 0.4;
    above_recursion(x.clone(), b.clone(), b, mask.clone(), values, recursion)
}

#[test]
fn above_recursion_agrees_with_its_definition() {
    for what in [Above::Sum, Above::Product] {
        for (sigma, ranks, longest) in [(1e-2, 10, 60), (1.0, 1, 60), (1.0, 10, 60), (30.0, 3, 60), (1.0, 40, 40)] {
            let recursion = AboveRecursion { noise: above(sigma, what).noise, above: what };
            let label = format!("{what:?}, sigma {sigma}, {ranks} ranks");
            // The function has values of both signs, up to 1: on two documents their sum can be a thousandth of its
            // terms.
            check_on(fused, &label, "above_recursion", longest, 1e-2, |inputs| {
                recursion_of_first_ranks(inputs, ranks, &recursion)
            });
        }
    }
}

#[test]
fn rank_recursion_agrees_with_its_definition() {
    let falling = |ranks: usize| -> Vec<f64> { (0..ranks).map(|rank| 1.0 / (rank as f64 + 2.0).log2()).collect() };
    for (sigma, ranks, longest) in [(1e-2, 10, 100), (1.0, 1, 100), (1.0, 10, 100), (30.0, 3, 100), (1.0, 100, 40)] {
        let discounts = falling(ranks);
        let what = format!("sigma {sigma}, {ranks} ranks");
        check(&what, "rank_recursion", longest, 1e-6, |[x, _, _, mask]| {
            rank_recursion(x.clone(), mask.clone(), sigma, &discounts)
        });
    }
}

#[test]
fn pair_loss_agrees_with_its_definition() {
    type Weight = (&'static str, fn(&[Tensor<2>; 4]) -> PairWeight);
    let weights: [Weight; 5] = [
        ("unit", |_| PairWeight::Unit),
        ("document", |[_, v, ..]| PairWeight::Document(v.clone().detach())),
        ("lambda", |inputs| lambda(inputs, 1.0, 0.0)),
        ("lambda with gaps", |inputs| lambda(inputs, 0.5, 2.0)),
        ("lambda over distances", |inputs| match lambda(inputs, 1.0, 0.5) {
            PairWeight::Lambda { gain, discount, rank, absolute, gap, .. } => {
                let distance = Some(Distance { scores: inputs[0].clone().detach(), offset: 0.01 });
                PairWeight::Lambda { gain, discount, rank, absolute, gap, distance }
            }
            other => other,
        }),
    ];
    for (name, weight) in weights {
        for loss in [
            PairLoss::Logistic,
            PairLoss::Hinge { margin: 1.0 },
            PairLoss::SquaredHinge { margin: 0.7 },
            PairLoss::Fidelity,
            PairLoss::SoftZeroOne,
        ] {
            check(&format!("{name}, {loss:?}"), "pair_loss", 100, 1e-6, |inputs| {
                let [x, _, labels, mask] = inputs;
                pair_loss(x.clone(), labels.clone(), mask.clone(), &weight(inputs), loss)
            });
        }
        check(&format!("{name}, exponential"), "pair_loss", 100, 1e-6, |inputs| {
            let [x, _, labels, mask] = inputs;
            // Differences of 2e4 are beyond any float.
            let x = x.clone().clamp(-20.0, 20.0);
            pair_loss(x, labels.clone(), mask.clone(), &weight(inputs), PairLoss::Exponential)
        });
    }
}

/// Returns weights of LambdaRank and LambdaLoss at the ranks of the scores, with discounts that both types represent
/// exactly.
fn lambda([x, v, labels, mask]: &[Tensor<2>; 4], absolute: f64, gap: f64) -> PairWeight {
    let rank = rank(x.clone(), mask.clone());
    PairWeight::Lambda { gain: labels.clone(), discount: v.clone(), rank, absolute, gap, distance: None }
}

/// The reference is the CPU's kernel for f64, since the definition would take a minute.
#[test]
fn lists_of_2048_documents_agree() {
    let terms =
        [(0.3, 0.4), (0.4, 0.95), (0.3, 0.9999)].map(|(coefficient, base)| ExponentialTerm { coefficient, base });
    type Primitive<'a> = (&'static str, &'a dyn Fn(&[Tensor<2>; 4]) -> Tensor<2>);
    let primitives: [Primitive; 8] = [
        ("step_sum", &|[x, v, ..]| step_sum(x.clone(), v.clone(), 10.0, Step::Logistic)),
        ("step_sum, erf", &|[x, v, ..]| step_sum(x.clone(), v.clone(), 10.0, Step::Erf)),
        ("indicator_sum", &|[x, v, _, mask]| indicator_sum(x.clone(), v.clone(), mask.clone(), 0.5)),
        ("rank_expectation", &|[x, _, _, mask]| rank_expectation(x.clone(), mask.clone(), 1.0, &terms)),
        ("rank_recursion", &|[x, _, _, mask]| rank_recursion(x.clone(), mask.clone(), 1.0, &[1.0, 0.6, 0.5, 0.4])),
        ("above_expectation", &|[x, _, labels, mask]| {
            let b = chances(labels) * mask.clone();
            above_expectation(x.clone(), b.clone(), b, mask.clone(), &above(1.0, Above::Product))
        }),
        ("above_recursion", &|inputs| {
            let recursion = AboveRecursion { noise: above(1.0, Above::Sum).noise, above: Above::Sum };
            recursion_of_first_ranks(inputs, 10, &recursion)
        }),
        ("pair_loss", &|inputs| {
            let [x, _, labels, mask] = inputs;
            let weight = lambda(inputs, 1.0, 0.5);
            pair_loss(x.clone(), labels.clone(), mask.clone(), &weight, PairLoss::Logistic)
        }),
    ];
    // Normal scores, with and without padding.
    for case in &cases("long", 2048)[24..26] {
        for (what, primitive) in primitives {
            let reference = run(case, &Device::flex(), DType::F64, primitive);
            let on = if what == "above_recursion" { fused } else { |_: &Present| true };
            compare(on, what, case, 1e-6, &reference, primitive, &mut Errors::new());
        }
    }
}

#[test]
fn ideal_dcg_agrees_with_its_definition() {
    for cut_off in [1, 10, 1000] {
        check(&format!("cut-off {cut_off}"), "ideal_dcg", 1000, 1e-6, |[x, _, labels, mask]| {
            let discount = |rank: usize| if rank <= cut_off { 1.0 / (1.0 + rank as f64).log2() } else { 0.0 };
            let discounts = (1..=x.dims()[1]).map(discount).collect();
            // The gains belong to every document of the list; x only gives the outcome a gradient.
            ideal_dcg(labels.clone(), mask.clone(), discounts).unsqueeze_dim::<2>(1) + x.clone() * 0.0
        });
    }
}

#[test]
fn log_softmax_agrees_with_its_definition() {
    check("log_softmax", "log_softmax", 1000, 1.0, |[x, _, _, mask]| log_softmax(x.clone(), mask.clone()));
}

#[test]
fn centered_scores_agree_with_their_definition() {
    check("centered", "centered", 1000, 1.0, |[x, _, _, mask]| centered(x.clone(), mask.clone()));
    for (power, is_differentiated) in [(0, false), (2, false), (1, true)] {
        check(&format!("in_spreads, power {power}"), "in_spreads", 1000, 1e-3, |[x, _, _, mask]| {
            in_spreads(x.clone(), mask.clone(), power, is_differentiated)
        });
    }
}

#[test]
fn unit_gradients_agree_with_their_definition() {
    for scale in [1.0, 1e-9, 1e30] {
        check(&format!("with_unit_gradient, {scale}"), "with_unit_gradient", 1000, 1e-6, |[x, v, labels, mask]| {
            let losses = labels.clone().mean_dim(1).squeeze_dim(1);
            let losses = with_unit_gradient(losses, x.clone(), v.clone() * scale, mask.clone());
            losses.unsqueeze_dim::<2>(1) + x.clone() * 0.0
        });
    }
}

#[test]
fn log2_discount_agrees_with_its_definition() {
    // Positions from 1/2 to 20,000.
    let positions = |x: &Tensor<2>| x.clone().abs() + 0.5;
    check("log2_discount", "log2_discount", 1000, 1e-6, |[x, ..]| log2_discount(positions(x)));
}

#[test]
fn exp2_agrees_with_its_definition() {
    for shift in [0.0, 0.3, -20.0] {
        check(&format!("exp2, {shift}"), "exp2", 1000, 1e-9, |[x, _, labels, _]| {
            exp2(labels.clone() + shift) + x.clone() * 0.0
        });
    }
}

#[test]
fn at_rank_agrees_with_its_definition() {
    check("at_rank", "at_rank", 1000, 1e-6, |[x, _, labels, mask]| {
        let table = (0..x.dims()[1]).map(|rank| 1.0 / (rank as f64 + 2.0).log2()).collect();
        at_rank(rank(labels.clone(), mask.clone()), table) + x.clone() * 0.0
    });
}

#[test]
fn rank_agrees_with_its_definition() {
    for case in cases("rank", 1000) {
        let expected = with_tensor_path(|| run_rank(&case, &Device::flex(), DType::F64));
        for present in devices() {
            for &dtype in present.types {
                let found = run_rank(&case, &present.device, dtype);
                assert_eq!(found, expected, "{} on {}: {dtype:?}", case.name, present.name);
            }
        }
        let documents = case.shape[1];
        for list in expected.chunks(documents) {
            let mut sorted = list.to_vec();
            sorted.sort_by(f64::total_cmp);
            assert_eq!(sorted, (1..=documents).map(|rank| rank as f64).collect::<Vec<_>>(), "{}", case.name);
        }
    }
}

fn run_rank(case: &Case, device: &Device, dtype: DType) -> Vec<f64> {
    let tensor = |values: &[f32]| {
        Tensor::<2>::from_data(TensorData::new(values.to_vec(), case.shape).convert_dtype(dtype), (device, dtype))
    };
    rank(tensor(&case.scores), tensor(&case.mask)).into_data().iter::<f64>().collect()
}

/// With one relevant document of 5000, a plain sum in f32 would leave the gradient off by 6e-5.
#[test]
fn a_row_of_many_pairs_is_summed_in_blocks() {
    let documents = 5000;
    let one = |first: f32, others: f32| [vec![first], vec![others; documents - 1]].concat();
    let case = Case {
        name: "one relevant document".into(),
        shape: [1, documents],
        scores: one(0.7, 0.3),
        labels: one(1.0, 0.0),
        values: one(1.0, 1.0),
        gradient: one(1.0, 1.0),
        mask: one(1.0, 1.0),
    };
    let primitive = |[x, _, labels, mask]: &[Tensor<2>; 4]| {
        pair_loss(x.clone(), labels.clone(), mask.clone(), &PairWeight::Unit, PairLoss::Logistic)
    };
    let reference = run(&case, &Device::flex(), DType::F64, &primitive);
    compare(|_| true, "pair_loss", &case, 1e-6, &reference, &primitive, &mut Errors::new());
}

const SORT: NeuralSortMatrix = NeuralSortMatrix { temperature: 2.0, iterations: 3, transposed: false, ranks: 10 };

/// Otherwise a run that has diverged would look sound. Tensor operations of a backend promise less: a score that is NaN
/// makes something of its list NaN.
#[test]
fn nan_and_infinite_scores_make_their_list_nan() {
    type Primitive<'a> = (&'a str, &'a dyn Fn(&[Tensor<2>; 4]) -> Tensor<2>);
    let terms = [ExponentialTerm { coefficient: 1.0, base: 0.7 }];
    let pairs = |inputs: &[Tensor<2>; 4], weight: &PairWeight, loss| {
        let [x, _, labels, mask] = inputs;
        pair_loss(x.clone(), labels.clone(), mask.clone(), weight, loss)
    };
    let primitives: [Primitive; 18] = [
        ("logistic", &|[x, v, ..]| step_sum(x.clone(), v.clone(), 3.0, Step::Logistic)),
        ("steep logistic", &|[x, v, ..]| step_sum(x.clone(), v.clone(), 300.0, Step::Logistic)),
        ("erf", &|[x, v, ..]| step_sum(x.clone(), v.clone(), 3.0, Step::Erf)),
        ("arctan", &|[x, v, ..]| step_sum(x.clone(), v.clone(), 3.0, Step::Arctan)),
        ("laplace", &|[x, v, ..]| step_sum(x.clone(), v.clone(), 3.0, Step::Laplace)),
        ("indicator_sum", &|[x, v, _, mask]| indicator_sum(x.clone(), v.clone(), mask.clone(), 0.5)),
        ("rank_expectation", &|[x, _, _, mask]| rank_expectation(x.clone(), mask.clone(), 1.0, &terms)),
        ("log_softmax", &|[x, _, _, mask]| log_softmax(x.clone(), mask.clone())),
        ("logistic pairs", &|inputs| pairs(inputs, &PairWeight::Unit, PairLoss::Logistic)),
        ("hinge", &|inputs| pairs(inputs, &PairWeight::Unit, PairLoss::Hinge { margin: 1.0 })),
        ("exponential", &|inputs| pairs(inputs, &PairWeight::Unit, PairLoss::Exponential)),
        ("fidelity", &|inputs| pairs(inputs, &PairWeight::Unit, PairLoss::Fidelity)),
        ("lambda", &|inputs| pairs(inputs, &lambda(inputs, 1.0, 0.5), PairLoss::Logistic)),
        ("rank_recursion", &|[x, _, _, mask]| rank_recursion(x.clone(), mask.clone(), 1.0, &[1.0, 0.6, 0.5])),
        ("sum above", &|[x, _, labels, mask]| {
            above_expectation(x.clone(), mask.clone(), labels.clone(), mask.clone(), &above(1.0, Above::Sum))
        }),
        ("neural_sort_sum", &|[x, v, _, mask]| neural_sort_sum(x.clone(), v.clone(), mask.clone(), SORT)),
        ("product above", &|[x, _, labels, mask]| {
            above_expectation(x.clone(), mask.clone(), chances(labels), mask.clone(), &above(1.0, Above::Product))
        }),
        ("trials", &|inputs| {
            let recursion = AboveRecursion { noise: above(1.0, Above::Sum).noise, above: Above::Sum };
            recursion_of_first_ranks(inputs, 3, &recursion)
        }),
    ];
    // These have kernels for f32 only, and take their definitions in f64.
    let in_f32 = ["log_softmax", "logistic pairs", "hinge", "exponential", "fidelity", "lambda", "neural_sort_sum"];
    // The first, one in the middle and the last document of 17 normal ones with padding; the bad document has the value
    // 0.
    let mut wrong = Vec::new();
    for (place, bad) in [(0, f32::NAN), (3, f32::NAN), (16, f32::NAN), (0, f32::INFINITY), (16, f32::NEG_INFINITY)] {
        let mut case = cases("no number", 17).swap_remove(17);
        assert_eq!(case.shape, [2, 22]);
        (case.scores[place], case.values[place], case.gradient[place]) = (bad, 0.0, 0.0);
        for (what, primitive) in primitives {
            // `log_softmax` has a value there.
            if bad.is_infinite() && what == "log_softmax" {
                continue;
            }
            for present in devices() {
                for &dtype in present.types {
                    for (part, values) in run(&case, &present.device, dtype, primitive).iter().enumerate() {
                        let mut list = values[..17].iter();
                        let is_defined = present.path == Path::Tensor || dtype == DType::F64 && in_f32.contains(&what);
                        let shown = match (is_defined, bad.is_nan()) {
                            (true, false) => true,
                            (true, true) => list.any(|value| value.is_nan()),
                            (false, _) => list.all(|value| value.is_nan()),
                        };
                        if !shown || values[22..].iter().any(|value| !value.is_finite()) {
                            let at = format!("{bad} at {place}, {dtype:?} on {}", present.name);
                            wrong.push(format!("{what}, {at}, output {part}: {values:?}"));
                        }
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for function in [exp2, log2_discount] {
        let x = Tensor::<2>::from_floats([[1.0, f32::NAN]], &Device::flex());
        let found: Vec<f32> = function(x).into_data().iter::<f32>().collect();
        assert!(found[0].is_finite() && found[1].is_nan(), "{found:?}");
    }
}

#[test]
fn padding_never_changes_a_bit() {
    // Sums of tensor operations are the backend's own.
    for present in devices_that(fused) {
        // Scores around 0, and scores that are all far from the padding, which is 0.
        for (scale, offset) in [(1.0, 0.0), (0.25, 5.5)] {
            let bits = |padding| bits(present, padding, |score| score * scale + offset);
            let expected = bits(0);
            // Padding 0 repeats the first run: the result must not depend on the order in which units finish.
            for padding in [0, 1, 3, 27, 100] {
                assert!(bits(padding) == expected, "{padding} padded, offset {offset}, on {}", present.name);
            }
        }
    }
}

/// Instructions with a fused multiply-add agree to the bit on any number of threads, so that a number is reproduced on
/// a processor with better instructions. The baseline rounds differently, which shows that the instructions asked for
/// are used.
#[test]
fn instructions_with_fused_multiply_add_give_the_same_bits_on_rayons_threads() {
    let flex = flex();
    let on = |threads, set| {
        let execution = Execution::default().with_instructions(set).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| execution.scope(|| bits(&flex, 3, |score| score)))
    };
    let baseline = on(1, Instructions::Baseline);
    assert!(on(3, Instructions::Baseline) == baseline);
    let fused: Vec<_> = Instructions::found().into_iter().filter(|set| *set != Instructions::Baseline).collect();
    let Some((&first, others)) = fused.split_first() else { return };
    let expected = on(1, first);
    assert!(expected != baseline, "{first} gives the bits of the baseline");
    assert!(on(3, first) == expected, "{first} on three threads");
    for &set in others {
        assert!(on(1, set) == expected && on(3, set) == expected, "{set} differs from {first}");
    }
    let close = |(&a, &b): (&u32, &u32)| {
        (f32::from_bits(a) - f32::from_bits(b)).abs() < 1e-4 * f32::from_bits(b).abs().max(1.0)
    };
    assert!(baseline.iter().zip(&expected).all(close));
}

/// Inputs of a primitive: scores, values, labels and mask.
type Inputs = [Tensor<2>; 4];

/// Returns the bits of values and gradients of two padded lists, without padding.
fn bits_of(
    present: &Present,
    documents: usize,
    padding: usize,
    of_score: impl Fn(f32) -> f32,
    primitives: impl Fn(&Inputs) -> Vec<Tensor<2>>,
) -> Vec<u32> {
    let device = present.device.clone().autodiff();
    let [short] = &cases("padding", documents)[24..25] else { unreachable!("one case of the longest lists") };
    assert_eq!(short.shape, [2, documents]);
    let padded = |values: &[f32], fill: f32| {
        let cells: Vec<f32> = values
            .chunks(documents)
            .flat_map(|list| list.iter().copied().chain(std::iter::repeat_n(fill, padding)))
            .collect();
        Tensor::<2>::from_data(TensorData::new(cells, [2, documents + padding]), &device)
    };
    let scores: Vec<f32> = short.scores.iter().map(|&score| of_score(score)).collect();
    let x = padded(&scores, 0.0).require_grad();
    let v = padded(&short.values, 0.0).require_grad();
    let (labels, mask) = (padded(&short.labels, 0.0), padded(&short.mask, 0.0));
    let g = padded(&short.gradient, 0.0);
    let mut bits = Vec::new();
    for output in primitives(&[x.clone(), v.clone(), labels, mask]) {
        let gradients = (output.clone() * g.clone()).sum().backward();
        let parts = [Some(output.inner()), x.grad(&gradients), v.grad(&gradients)];
        for part in parts.into_iter().flatten() {
            let values: Vec<f32> = part.into_data().iter::<f32>().collect();
            bits.extend(
                values.chunks(documents + padding).flat_map(|list| list[..documents].iter().map(|v| v.to_bits())),
            );
        }
    }
    bits
}

/// [`bits_of`] primitives in lists of 937 documents.
fn bits(present: &Present, padding: usize, of_score: impl Fn(f32) -> f32) -> Vec<u32> {
    bits_of(present, 937, padding, of_score, |inputs| {
        let [x, v, labels, mask] = inputs;
        let terms = [ExponentialTerm { coefficient: 1.0, base: 0.7 }];
        let weight = lambda(inputs, 1.0, 0.5);
        let mut outputs = vec![
            step_sum(x.clone(), v.clone(), 3.0, Step::Logistic),
            step_sum(x.clone(), v.clone(), 3.0, Step::Erf),
            indicator_sum(x.clone(), v.clone(), mask.clone(), 0.5),
            rank_expectation(x.clone(), mask.clone(), 1.0, &terms),
            pair_loss(x.clone(), labels.clone(), mask.clone(), &weight, PairLoss::Logistic),
        ];
        outputs.push(rank_recursion(x.clone(), mask.clone(), 1.0, &[1.0, 0.6, 0.5]));
        for what in [Above::Sum, Above::Product] {
            let b = chances(labels) * mask.clone();
            outputs.push(above_expectation(x.clone(), b.clone(), b, mask.clone(), &above(1.0, what)));
        }
        outputs.push(log_softmax(x.clone(), mask.clone()));
        // Each of these has kernels on one kind of device only. The sums of the other's definition are the backend's
        // own, whose order may depend on the width of the batch.
        outputs.push(match present.path {
            Path::Processor => neural_sort_sum(x.clone(), v.clone(), mask.clone(), SORT),
            _ => in_spreads(x.clone(), mask.clone(), 1, false),
        });
        outputs
    })
}

/// Trials and exact noise are dear: lists are shorter. 40 ranks take more than one window of them on a GPU.
#[test]
fn padding_never_changes_a_bit_of_trials_or_under_exact_noise() {
    for present in devices_that(fused) {
        let bits = |padding| {
            bits_of(
                present,
                67,
                padding,
                |score| score,
                |inputs| {
                    let [x, _, labels, mask] = inputs;
                    let mut outputs = Vec::new();
                    for what in [Above::Sum, Above::Product] {
                        let noise = ScoreNoise::Exact { sigma: 1.0 };
                        let trials =
                            |noise, above| recursion_of_first_ranks(inputs, 40, &AboveRecursion { noise, above });
                        outputs.extend([trials(noise.clone(), what), trials(above(1.0, what).noise, what)]);
                        let b = chances(labels) * mask.clone();
                        let expectation = AboveExpectation { noise, ..above(1.0, what) };
                        outputs.push(above_expectation(x.clone(), b.clone(), b, mask.clone(), &expectation));
                    }
                    outputs
                },
            )
        };
        let expected = bits(0);
        for padding in [0, 1, 30] {
            assert!(bits(padding) == expected, "{padding} padded, on {}", present.name);
        }
    }
}
