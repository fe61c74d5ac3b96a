//! Tests sums over cells and ranks by sorting, against definitions in `f64` and against kernels over pairs.

use burn::backend::ops::FloatTensorOps;
use burn::tensor::TensorData;
use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{CubeBackend, CubeDevice, cubecl::future::block_on};

use crate::execution::{Execution, SumPath};
use crate::op::cpu::box_cases::{Errors, cases, gradient_weights, sample, scattered};
use crate::op::cpu::{Real, Step};
use crate::op::gpu::tests::LAUNCHED;
use crate::op::gpu::{indicator_sum, indicator_sum_gradient, rank, step_sum, step_sum_gradient};

/// A number of documents that is enough for the fast methods, and that no other test of kernels uses.
const N: usize = 2100;

fn tensor(values: &[f32], lists: usize) -> CubeTensor {
    let shape = [lists, values.len() / lists];
    CubeBackend::float_from_data(TensorData::new(values.to_vec(), shape), &CubeDevice::default())
}

fn read(tensor: CubeTensor) -> Vec<f32> {
    block_on(CubeBackend::float_into_data(tensor)).expect("data").iter::<f32>().collect()
}

fn by<R>(sums: SumPath, f: impl FnOnce() -> R) -> R {
    Execution::current().with_sums(sums).scope(f)
}

/// Returns scores and steepness, including lists with the widest and most distant cells, and scores that cannot resolve
/// the grid.
fn all_cases() -> Vec<(String, Vec<f32>, f64)> {
    let mut all = cases(N);
    let (_, scattered, _) = all[2].clone();
    // Seen from afar, the documents at the near end of the cluster count as much as all others.
    let beside = |score: f32, near: f32| {
        let mut x: Vec<f32> = scattered.iter().map(|u| u * 1e-3 * near.abs()).collect();
        [x[0], x[2], x[5], x[8]] = [score, near, near * 0.7, near * 0.35];
        x
    };
    all.push(("one 7.5 above a wide cluster".to_owned(), beside(7.5, 0.45), 1.0));
    all.push(("one 40 below a wide cluster".to_owned(), beside(-40.0, -5.0), 1.0));
    // Just below 2^27, where neighbors in `f32` are 8 apart, and on the grid above 2^29, where they are 64 apart.
    let far: Vec<f32> = (0..N).map(|i| 134_217_728.0 - 8.0 * (1 + i % 5) as f32).collect();
    for steepness in [1.0125, 8.1] {
        all.push((format!("ties far from 0, {steepness}"), far.clone(), steepness));
    }
    all
}

/// Returns values, one third of which are 0.
fn values(zero: usize) -> Vec<f32> {
    (0..N).map(|i| if i % 3 == zero { 0.0 } else { (1 + i % 5) as f32 }).collect()
}

/// Returns a step and its slope.
fn pair(step: Step, t: f64) -> (f64, f64) {
    if step == Step::Erf {
        let bell = (-t * t).exp();
        let small = 0.5 * t.abs().scaled_erfc::<false>() * bell;
        return (if t < 0.0 { small } else { 1.0 - small }, 0.5 * std::f64::consts::FRAC_2_SQRT_PI * bell);
    }
    let u = (-t.abs()).exp();
    ((if t < 0.0 { u } else { 1.0 }) / (1.0 + u), u / (1.0 + u).powi(2))
}

/// The tolerance of a value, relative to the sum or to its largest term, whichever is larger. The terms of a gradient
/// may cancel, so its tolerance is relative to the sum of their magnitudes.
const TOLERANCE: f64 = 1e-5;

#[test]
#[ignore = "needs a GPU: .ci/gpu runs it"]
fn steps_in_cells_are_as_precise_as_single_precision_wherever_documents_stand() {
    let g = gradient_weights(N);
    // The first document, which is isolated in some cases, with a value and without.
    for (step, zero) in [(Step::Logistic, 1), (Step::Logistic, 0), (Step::Erf, 1), (Step::Erf, 0)] {
        let v = values(zero);
        for (name, x, alpha) in all_cases() {
            let tensors = [&x, &v, &g].map(|values| tensor(values, 1));
            let [value, gradient] = by(SumPath::Fast, || {
                let [x, v, g] = &tensors;
                [step_sum(x, v, None, alpha, step), step_sum_gradient(x, v, g, alpha, step)]
            })
            .map(|tensor| read(tensor.expect("a kernel")));
            for i in sample(N) {
                let (mut sum, mut slopes) = (Errors::default(), Errors::default());
                for j in 0..N {
                    let (of_pair, slope) = pair(step, alpha * (f64::from(x[j]) - f64::from(x[i])));
                    sum.add(f64::from(v[j]) * of_pair);
                    let exchange = f64::from(v[i]) * f64::from(g[j]) - f64::from(g[i]) * f64::from(v[j]);
                    slopes.add(alpha * slope * exchange);
                }
                let errors = [sum.error(value[i]), slopes.error_of_sizes(gradient[i])];
                assert!(errors.iter().all(|error| *error < TOLERANCE), "{name}, {step:?}, {i}: {errors:?}");
            }
        }
    }
}

#[test]
#[ignore = "needs a GPU: .ci/gpu runs it"]
fn indicators_in_cells_are_as_precise_as_single_precision_wherever_documents_stand() {
    let (g, mask) = (gradient_weights(N), vec![1.0; N]);
    let a: Vec<f32> = (0..N).map(|i| if i % 3 == 1 { (i % 7) as f32 } else { 0.0 }).collect();
    for (name, x, steepness) in all_cases() {
        let sigma = 1.0 / (steepness * steepness);
        let [x_in, a_in, mask_in, g_in] = [&x, &a, &mask, &g].map(|values| tensor(values, 1));
        let (out, total, gradient) = by(SumPath::Fast, || {
            let [out, total] = indicator_sum(&x_in, &a_in, &mask_in, sigma).expect("a kernel");
            let gradient = indicator_sum_gradient(&x_in, &a_in, &mask_in, [&out, &total], &g_in, sigma);
            (read(out), read(total), read(gradient.expect("a kernel")))
        });
        let wide = |values: &[f32]| values.iter().copied().map(f64::from).collect::<Vec<f64>>();
        let (x, a, g, sums, totals) = (wide(&x), wide(&a), wide(&g), wide(&out), wide(&total));
        for i in sample(N) {
            let [mut of_a, mut of_all, mut slopes] = [(); 3].map(|()| Errors::default());
            for j in 0..N {
                let d = x[j] - x[i];
                let kernel = (-d * d / sigma).exp();
                of_a.add(kernel * a[j] / totals[i]);
                of_all.add(kernel);
                let pull = 2.0 / sigma * kernel * d;
                slopes.add(pull * g[i] / totals[i] * (a[j] - sums[i]));
                slopes.add(pull * g[j] / totals[j] * (a[i] - sums[j]));
            }
            let errors = [of_a.error(out[i]), of_all.error(total[i]), slopes.error_of_sizes(gradient[i])];
            assert!(errors.iter().all(|error| *error < TOLERANCE), "{name}, {i}: {errors:?}");
        }
    }
}

#[test]
#[ignore = "needs a GPU: .ci/gpu runs it"]
fn ranks_by_sorting_are_those_by_comparisons() {
    let n = 1111;
    let mut x: Vec<f32> = scattered(2 * n, 997).map(|x| x as f32 / 8.0 - 50.0).collect();
    // The scores include ties across tiles, both zeros, the ends of the range, and padding between documents.
    [x[0], x[700], x[5], x[900]] = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY];
    [x[n], x[n + 1], x[n + 1000]] = [f32::MIN_POSITIVE, f32::MAX, f32::MIN];
    let mask: Vec<f32> = (0..2 * n).map(|i| if i > n && i % 4 == 1 { 0.0 } else { 1.0 }).collect();
    for lists in [1, 2, 22] {
        let (x, mask) = (tensor(&x, lists), tensor(&mask, lists));
        let ranks = |sums| read(by(sums, || rank(&x, &mask)).expect("a kernel"));
        let expected = ranks(SumPath::Pairs);
        assert_eq!(ranks(SumPath::Fast), expected, "{lists} lists");
        let mut first = expected[..expected.len() / lists].to_vec();
        first.sort_by(f32::total_cmp);
        assert_eq!(first, (1..=first.len()).map(|rank| rank as f32).collect::<Vec<_>>());
    }
}

/// Returns the step sums, the softmax sums, their gradients and the ranks of all lists.
fn outcome(sums: SumPath, [x, v, g, mask]: &[CubeTensor; 4]) -> Vec<Vec<f32>> {
    by(sums, || {
        let mut outcome = Vec::new();
        for step in [Step::Logistic, Step::Erf] {
            outcome.push(step_sum(x, v, None, 3.0, step));
            outcome.push(step_sum(x, v, Some(g), 3.0, step));
            outcome.push(step_sum_gradient(x, v, g, 3.0, step));
        }
        let [out, total] = indicator_sum(x, v, mask, 0.5).expect("a kernel");
        outcome.push(indicator_sum_gradient(x, v, mask, [&out, &total], g, 0.5));
        outcome.extend([Some(out), Some(total), rank(x, mask)]);
        outcome.into_iter().map(|tensor| read(tensor.expect("a kernel"))).collect()
    })
}

/// Returns scores, values, gradients and mask of lists of these lengths, padded to a width. Some values and gradients
/// are 0.
fn lists(lengths: &[usize], width: usize) -> [Vec<f32>; 4] {
    let fill = |of: &dyn Fn(usize) -> f32| {
        let cells = lengths.iter().flat_map(|&length| (0..width).map(move |i| (i < length, i)));
        cells.map(|(exists, i)| if exists { of(i) } else { 0.0 }).collect()
    };
    [
        fill(&|i| ((i * 7919) % 20011) as f32 / 2000.0 - 4.0),
        fill(&|i| (i % 13 != 5) as u32 as f32 * (1 + i % 5) as f32),
        fill(&|i| ((i * 31) % 17) as f32 / 8.0 - 1.0),
        fill(&|_| 1.0),
    ]
}

/// Returns the bits of the first `length` results of list `list`.
fn bits(outcome: &[Vec<f32>], lists: usize, list: usize, length: usize) -> Vec<Vec<u32>> {
    let of = |values: &Vec<f32>| {
        let width = values.len() / lists;
        values[list * width..][..length].iter().map(|value| value.to_bits()).collect()
    };
    outcome.iter().map(of).collect()
}

/// The device chooses the method for a list only by the documents of the list. Neither padding, nor other lists, nor
/// another run change a bit of the result.
#[test]
#[ignore = "needs a GPU: .ci/gpu runs it"]
fn a_list_takes_its_way_whatever_the_batch() {
    let run = |sums, lengths: &[usize], width| {
        let inputs = lists(lengths, width).map(|values| tensor(&values, lengths.len()));
        outcome(sums, &inputs)
    };
    let (long, short) = (9000, 1200);
    let [by_cells, by_pairs] = [SumPath::Fast, SumPath::Pairs]
        .map(|sums| [long, short].map(|length| bits(&run(sums, &[length], length), 1, 0, length)));
    // All results except the ranks differ; otherwise the test could not see which method was used.
    for (cells, pairs) in by_cells.iter().zip(&by_pairs) {
        let same: Vec<usize> = (0..cells.len()).filter(|&part| cells[part] == pairs[part]).collect();
        assert_eq!(same, [cells.len() - 1]);
    }
    for width in [long, long + 1, 9500] {
        let found = run(SumPath::Auto, &[short, long], width);
        assert!(bits(&found, 2, 1, long) == by_cells[0], "the long list, {width} wide");
        assert!(bits(&found, 2, 0, short) == by_pairs[1], "the short list, {width} wide");
    }
    let found = run(SumPath::Fast, &[short, long, 0, 1], 9100);
    assert!(bits(&found, 4, 0, short) == by_cells[1] && bits(&found, 4, 1, long) == by_cells[0]);
    assert!(found.iter().flatten().all(|value| value.is_finite()));
}

/// Kernels over pairs compute a list with a score that is not finite, while cells sum the other lists.
#[test]
#[ignore = "needs a GPU: .ci/gpu runs it"]
fn lists_with_scores_that_are_not_finite_are_left_to_pairs() {
    let n = 300;
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let [mut x, v, g, mask] = lists(&[n, n], n);
        x[17] = bad;
        let inputs = [x, v, g, mask].map(|values| tensor(&values, 2));
        let [fast, pairs] = [SumPath::Fast, SumPath::Pairs].map(|sums| {
            let mut outcome = outcome(sums, &inputs);
            // Ranks are not checked for NaN.
            outcome.pop();
            outcome
        });
        assert_eq!(bits(&fast, 2, 0, n), bits(&pairs, 2, 0, n), "{bad}");
        assert_ne!(bits(&fast, 2, 1, n), bits(&pairs, 2, 1, n), "{bad}");
    }
}

/// Checks that long lists launch cells, without which the tests above would compare pairs with pairs.
#[test]
#[ignore = "needs a GPU: .ci/gpu runs it"]
fn long_lists_launch_cells_and_short_ones_do_not() {
    // No other test has lists of these lengths.
    for (sums, width, fast) in [
        (SumPath::Auto, 8191, false),
        (SumPath::Auto, 8192, true),
        (SumPath::Pairs, 2049, false),
        (SumPath::Fast, 43, true),
    ] {
        let inputs = lists(&[width], width).map(|values| tensor(&values, 1));
        outcome(sums, &inputs);
        by(sums, || [Step::Arctan, Step::Laplace].map(|step| step_sum(&inputs[0], &inputs[1], None, 1.0, step)));
        let launched: Vec<_> = LAUNCHED
            .lock()
            .expect("no test panics here")
            .extract_if(.., |(_, batch)| *batch == [1, width])
            .map(|(kernel, _)| kernel)
            .collect();
        let way = if fast { " in cells" } else { "" };
        let expected = [
            format!("step_sum{way}, Logistic"),
            format!("step_sum{way}, Logistic"),
            format!("gradient of step_sum{way}, Logistic"),
            format!("step_sum{way}, Erf"),
            format!("step_sum{way}, Erf"),
            format!("gradient of step_sum{way}, Erf"),
            format!("indicator_sum{way}"),
            format!("gradient of indicator_sum{way}"),
            (if fast { "rank, sorted" } else { "rank" }).to_owned(),
            "step_sum, Arctan".to_owned(),
            "step_sum, Laplace".to_owned(),
        ];
        assert_eq!(launched, expected, "{sums:?}, {width} documents");
    }
}
