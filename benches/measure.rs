//! Evaluation of many queries: documents per second on all threads, by measure and convention.
//!
//! 8,000 lists of 125 documents (10^6 in all), with labels 0 to 4. Scores are distinct, or on a grid of 50 values so
//! that most are tied.

use std::hint::black_box;

use burn_rank::measure::{Convention, Measure, Rankings, evaluate};
use chacha20::ChaCha8Rng;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng};

const QUERIES: usize = 8_000;
const DOCUMENTS: usize = 125;

fn measures(criterion: &mut Criterion) {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let scores: Vec<f32> = (0..QUERIES * DOCUMENTS).map(|_| random.random()).collect();
    let tied: Vec<f32> = scores.iter().map(|score| (score * 50.0).floor()).collect();
    let labels: Vec<f32> = (0..scores.len()).map(|_| random.random_range(0..5) as f32).collect();
    let offsets: Vec<usize> = (0..=QUERIES).map(|query| query * DOCUMENTS).collect();
    let mut group = criterion.benchmark_group("evaluate");
    group.throughput(Throughput::Elements(scores.len() as u64)).sample_size(20);
    for (kind, scores) in [("distinct", &scores), ("tied", &tied)] {
        for (name, wanted) in [
            ("ndcg@10+map", vec![Measure::Ndcg(Some(10)), Measure::Ap(None)]),
            ("ndcg", vec![Measure::Ndcg(None)]),
            ("err@10", vec![Measure::Err(Some(10))]),
            ("kendall_tau", vec![Measure::KendallTau]),
        ] {
            for preset in ["standard", "letor"] {
                let convention = Convention::preset(preset).expect("a preset");
                let rankings = Rankings { scores, labels: &labels, offsets: &offsets, document_ids: &[] };
                let id = BenchmarkId::new(format!("{name}/{kind}"), preset);
                group.bench_function(id, |bencher| {
                    bencher.iter(|| evaluate(black_box(&rankings), &wanted, &convention));
                });
            }
        }
    }
    group.finish();
}

criterion_group!(benches, measures);
criterion_main!(benches);
