//! Reading LETOR text, batching, normalizing. Throughput is in bytes of text, or of features as `f32`.

use std::hint::black_box;

use burn::tensor::Device;
use burn_rank::data::letor::{ReadOptions, read};
use burn_rank::data::{BatchPlanner, Normalizer, NormalizerKind, RankingBatch, RankingDataset, SynthConfig};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

/// Returns the configuration of about 14 MB of text: 12,000 documents of 136 features.
fn config() -> SynthConfig {
    SynthConfig { queries: 100, ..SynthConfig::default() }
}

fn text(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("synth.txt");
    let mut text = Vec::new();
    config().write(&mut text).expect("a valid configuration");
    std::fs::write(&path, &text).expect("a writable folder");
    let mut group = criterion.benchmark_group("letor");
    group.throughput(Throughput::Bytes(text.len() as u64)).sample_size(10);
    let paths = [path];
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a thread pool");
        group.bench_function(format!("read/{threads}-threads"), |bencher| {
            bencher.iter(|| pool.install(|| read(black_box(&paths), &ReadOptions::default()).expect("valid text")));
        });
        group.bench_function(format!("generate/{threads}-threads"), |bencher| {
            bencher.iter(|| pool.install(|| config().write(&mut std::io::sink()).expect("a valid configuration")));
        });
    }
    group.finish();
}

fn batches(criterion: &mut Criterion) {
    let data = config().generate().expect("a valid configuration");
    let device = Device::flex();
    let batcher = BatchPlanner::new(&data, 16_384, 1).expect("a valid configuration");
    let mut group = criterion.benchmark_group("batches");
    group.throughput(Throughput::Bytes(4 * data.features.len() as u64)).sample_size(10);
    group.bench_function("epoch", |bencher| {
        bencher.iter(|| {
            for queries in batcher.epoch(black_box(0)) {
                black_box(RankingBatch::assemble(&data, &queries, &device));
            }
        });
    });
    for kind in [NormalizerKind::QueryMinMax, NormalizerKind::ZScore, NormalizerKind::Quantile, NormalizerKind::Gauss] {
        let normalizer = Normalizer::fit(&data, kind);
        let apply = |mut data: RankingDataset| normalizer.apply(&mut data).map(|()| data);
        group.bench_function(format!("normalize/{kind:?}"), |bencher| {
            bencher.iter_batched(|| data.clone(), apply, BatchSize::LargeInput);
        });
    }
    group.finish();
}

criterion_group!(benches, text, batches);
criterion_main!(benches);
