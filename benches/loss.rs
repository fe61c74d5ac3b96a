//! Forward and backward pass of every registered loss: 64 lists of 128 documents, float32 on Flex. Throughput is in
//! documents. It also compares losses with unit gradients and raw ones, and measures written outside this crate with
//! the named loss that each equals.

use std::hint::black_box;

use burn::tensor::{Bool, Device, Distribution, Tensor};
use burn_rank::loss::{
    LossSpec, MeasureContext, PositionFunction, PositionMeasure, RankingLoss, Reduction, RelaxationName,
    RelaxedMeasureConfig, Temperature,
};
use burn_rank::measure::{Discount, Gain};
use burn_rank::workbench::registry;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const LISTS: usize = 64;
const DOCUMENTS: usize = 128;

/// Draws scores from a normal distribution, and labels 0 to 4.
fn batch(device: &Device) -> (Tensor<2>, Tensor<2>, Tensor<2, Bool>) {
    device.seed(1);
    let shape = [LISTS, DOCUMENTS];
    let scores = Tensor::<2>::random(shape, Distribution::Normal(0.0, 1.0), device);
    let labels = Tensor::<2>::random(shape, Distribution::Uniform(0.0, 5.0), device).floor().clamp(0.0, 4.0);
    (scores, labels, Tensor::<2>::ones(shape, device).greater_elem(0.0))
}

/// NDCG with a discount of the crate, or with a discount written here.
#[derive(Debug, Clone)]
struct OwnNdcg {
    own_discount: bool,
}

impl PositionMeasure for OwnNdcg {
    fn name(&self) -> &'static str {
        "own_ndcg"
    }

    fn gain(&self) -> Option<&Gain> {
        Some(&Gain::Exp2)
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        let discount = if self.own_discount {
            PositionFunction::new(|position| ((position + 1.0).log() * std::f64::consts::LOG2_E).recip())
        } else {
            Discount::Log2.into()
        };
        let gains = list.gains(&Gain::Exp2);
        list.sum(gains.clone(), &discount, None) / list.ideal(gains, &discount, None)
    }
}

/// Average precision with the crate's reciprocal.
#[derive(Debug, Clone)]
struct OwnAp;

impl PositionMeasure for OwnAp {
    fn name(&self) -> &'static str {
        "own_ap"
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        let reciprocal = Discount::Zipf.into();
        list.sum_with_same_above(list.relevance(), &reciprocal, None) / list.relevant()
    }
}

/// Named losses, and the same functions written outside this crate.
fn own() -> Vec<(&'static str, &'static str, Box<dyn RankingLoss>)> {
    fn surrogate(measure: impl PositionMeasure + 'static, relaxation: RelaxationName) -> Box<dyn RankingLoss> {
        let temperature = if relaxation == RelaxationName::ApproximatePositions { 10.0 } else { 1.0 };
        let relaxation = RelaxedMeasureConfig::new().with_relaxation(relaxation);
        let relaxation = relaxation.with_temperature(Some(Temperature::scores(temperature)));
        Box::new(relaxation.init_measure(measure).expect("valid parameters"))
    }
    let positions = RelaxationName::ApproximatePositions;
    let ndcg = |own_discount| OwnNdcg { own_discount };
    vec![
        ("approx_ndcg", "own", surrogate(ndcg(false), positions)),
        ("approx_ndcg", "own discount too", surrogate(ndcg(true), positions)),
        ("smooth_ndcg", "own", surrogate(ndcg(false), RelaxationName::RankIndicators)),
        ("approx_ap", "own", surrogate(OwnAp, positions)),
    ]
}

/// A loss at the temperature of its paper.
fn at_papers(name: &str) -> Box<dyn RankingLoss> {
    let spec = LossSpec::new(name).with_default_temperature(None).and_then(|spec| spec.build());
    spec.expect("defaults are valid")
}

fn losses(criterion: &mut Criterion) {
    let device = Device::flex().autodiff();
    let (scores, labels, mask) = batch(&device);
    let step = |loss: &dyn RankingLoss| {
        let scores = black_box(scores.clone()).require_grad();
        let gradients = loss.forward(scores.clone(), labels.clone(), mask.clone(), Reduction::Mean).backward();
        scores.grad(&gradients).map(Tensor::into_data)
    };
    let throughput = Throughput::Elements((LISTS * DOCUMENTS) as u64);
    let mut group = criterion.benchmark_group(format!("loss/{LISTS}x{DOCUMENTS}"));
    group.throughput(throughput.clone()).sample_size(10);
    for entry in registry::LOSSES {
        let loss = at_papers(entry.name);
        group.bench_function(entry.name, |bencher| bencher.iter(|| black_box(step(&*loss))));
    }
    group.finish();
    let mut group = criterion.benchmark_group(format!("unit_gradients/{LISTS}x{DOCUMENTS}"));
    group.throughput(throughput.clone()).sample_size(20);
    for name in ["list_net", "lambda_ndcg", "approx_ndcg", "soft_ndcg", "smooth_ndcg", "approx_ap"] {
        for gradients in ["raw", "unit"] {
            let spec = LossSpec::new(name).with("query_gradients", gradients);
            let loss = spec.build().expect("defaults are valid");
            group.bench_function(format!("{name}/{gradients}"), |bencher| bencher.iter(|| black_box(step(&*loss))));
        }
    }
    group.finish();
    let mut group = criterion.benchmark_group(format!("own_measure/{LISTS}x{DOCUMENTS}"));
    group.throughput(throughput).sample_size(20);
    for (name, what, own) in own() {
        let named = at_papers(name);
        let value = |loss: &dyn RankingLoss| {
            loss.forward(scores.clone(), labels.clone(), mask.clone(), Reduction::Mean).into_scalar::<f32>()
        };
        // Times of two different functions say nothing. A measure has no sign: its loss is 1 minus it.
        let (own_value, named_value) = (value(&*own), value(&*named));
        assert!((own_value - named_value).abs() < 1e-5, "{name}: {own_value} written outside, {named_value} here");
        group.bench_function(format!("{name}/named, beside {what}"), |bencher| {
            bencher.iter(|| black_box(step(&*named)))
        });
        group.bench_function(format!("{name}/{what}"), |bencher| bencher.iter(|| black_box(step(&*own))));
    }
    group.finish();
}

criterion_group!(benches, losses);
criterion_main!(benches);
