//! Forward and backward pass of every registered loss: 64 lists of 128 documents, float32 on Flex. Throughput is in
//! documents.

use std::hint::black_box;

use burn::tensor::{Bool, Device, Distribution, Tensor};
use burn_rank::loss::{LossSpec, RankingLoss, Reduction, registry};
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

fn losses(criterion: &mut Criterion) {
    let device = Device::flex().autodiff();
    let (scores, labels, mask) = batch(&device);
    let mut group = criterion.benchmark_group(format!("loss/{LISTS}x{DOCUMENTS}"));
    group.throughput(Throughput::Elements((LISTS * DOCUMENTS) as u64)).sample_size(10);
    for entry in registry::LOSSES {
        let loss = LossSpec::new(entry.name).build().expect("defaults are valid");
        let step = |loss: &dyn RankingLoss| {
            let scores = black_box(scores.clone()).require_grad();
            let gradients = loss.forward(scores.clone(), labels.clone(), mask.clone(), Reduction::Mean).backward();
            scores.grad(&gradients).map(Tensor::into_data)
        };
        group.bench_function(entry.name, |bencher| bencher.iter(|| black_box(step(&*loss))));
    }
    group.finish();
}

criterion_group!(benches, losses);
criterion_main!(benches);
