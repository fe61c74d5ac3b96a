//! The primitives, forward and backward, on 64 lists of 128 documents and on 4 of 1024, on Flex or on the devices that
//! `BURN_RANK_DEVICES` names.

use burn::tensor::{Device, Distribution, Tensor};
use burn_rank::device;
use burn_rank::op::{Execution, Step};
use burn_rank::workbench::op::{
    Above, AboveExpectation, AboveRecursion, Comparison, ExponentialTerm, PairLoss, PairWeight, ScoreNoise, SumPath,
    above_expectation, above_recursion, at_rank, exp2, ideal_dcg, indicator_sum, log_softmax, log2_discount, pair_loss,
    rank, step_sum, with_tensor_path,
};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// A primitive of scores, labels and mask.
type Primitive = fn(Tensor<2>, Tensor<2>, Tensor<2>) -> Tensor<2>;

const PRIMITIVES: [(&str, Primitive); 10] = [
    ("step_sum", |x, _, mask| step_sum(x, mask, 10.0, Step::Logistic)),
    ("step_sum_erf", |x, _, mask| step_sum(x, mask, 10.0, Step::Erf)),
    ("indicator_sum", |x, labels, mask| indicator_sum(x, labels, mask, 0.5)),
    ("rank_expectation", |x, _, mask| {
        let term = |m: i32| ExponentialTerm { coefficient: 0.1, base: 0.99f64.powi(m * m) };
        let noise = ScoreNoise::one(Comparison::independent(1.0));
        let expectation = AboveExpectation { noise, terms: (1..=12).map(term).collect(), above: Above::Nothing };
        above_expectation(x, mask.clone(), mask.clone(), mask, &expectation)
    }),
    ("rank_recursion_10", |x, _, mask| {
        let noise = ScoreNoise::one(Comparison::independent(1.0));
        let recursion = AboveRecursion { noise, above: Above::Nothing };
        let values = Tensor::full([x.dims()[0], 10], 0.5, &x.device());
        above_recursion(x, mask.clone(), mask.clone(), mask, values, &recursion)
    }),
    ("above_expectation", |x, labels, mask| {
        let term = |m: i32| ExponentialTerm { coefficient: 0.1, base: 0.99f64.powi(m * m) };
        let noise = ScoreNoise::one(Comparison::independent(1.0));
        let terms = (1..=12).map(term).collect();
        let relevance = labels.greater_equal_elem(2.0).float();
        let expectation = AboveExpectation { noise, terms, above: Above::Product };
        above_expectation(x, relevance.clone(), relevance, mask, &expectation)
    }),
    ("pair_loss", |x, labels, mask| {
        let ranks = rank(x.clone(), mask.clone());
        let discount = (ranks.clone() + 1.0).log().recip();
        let weight =
            PairWeight::Lambda { gain: labels.clone(), discount, rank: ranks, absolute: 1.0, gap: 0.0, distance: None };
        pair_loss(x, labels, mask, &weight, PairLoss::Logistic)
    }),
    ("log_softmax", |x, _, mask| log_softmax(x, mask)),
    ("log2_discount", |x, _, _| log2_discount(x.abs() + 1.0)),
    // Primitives without a gradient.
    ("rank_and_ideal_dcg", |x, labels, mask| {
        let discounts: Vec<f64> = (0..x.dims()[1]).map(|rank| 1.0 / (rank as f64 + 2.0).log2()).collect();
        let gains = exp2(labels) - 1.0;
        let ideal = ideal_dcg(gains.clone(), mask.clone(), discounts.clone()).unsqueeze_dim(1);
        x.clone() * gains * at_rank(rank(x, mask), discounts) / ideal
    }),
];

fn primitives(criterion: &mut Criterion) {
    for name in std::env::var("BURN_RANK_DEVICES").as_deref().unwrap_or("flex").split(',') {
        let device = device::open(name).expect("a device that is present").autodiff();
        for shape in [[64, 128], [4, 1024]] {
            on_device(criterion, name, &device, shape);
        }
    }
}

fn on_device(criterion: &mut Criterion, name: &str, device: &Device, [batch, documents]: [usize; 2]) {
    let mut group = criterion.benchmark_group(format!("{name}/{batch}x{documents}"));
    group.throughput(Throughput::Elements((batch * documents * documents) as u64));
    group.sample_size(10);
    let scores = Tensor::<2>::random([batch, documents], Distribution::Normal(0.0, 1.0), device);
    let labels = Tensor::<2>::random([batch, documents], Distribution::Uniform(0.0, 5.0), device).floor();
    let mask = labels.ones_like();
    for (name, primitive) in PRIMITIVES {
        let step = || {
            let x = scores.clone().detach().require_grad();
            let gradients = primitive(x.clone(), labels.clone(), mask.clone()).sum().backward();
            let gradient = x.grad(&gradients);
            device.sync().expect("a device that works");
            gradient
        };
        group.bench_function(BenchmarkId::new(name, "fused"), |bench| bench.iter(step));
        for (way, sums) in [("pairs", SumPath::Pairs), ("fast sums", SumPath::Fast)] {
            let execution = Execution::current().with_sums(sums);
            group.bench_function(BenchmarkId::new(name, way), |bench| bench.iter(|| execution.scope(step)));
        }
        group.bench_function(BenchmarkId::new(name, "tensor"), |bench| bench.iter(|| with_tensor_path(step)));
    }
}

criterion_group!(benches, primitives);
criterion_main!(benches);
