//! Learners with an outer loop, on synthetic data of the size of an OHSUMED training fold (63 queries).

use burn::tensor::Device;
use burn_rank::data::{Dataset, SynthConfig};
use burn_rank::learner::{FitContext, Interrupt, Learner, NoProgress, Selection, registry};
use burn_rank::loss::LossSpec;
use burn_rank::measure::{Convention, Measure};
use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::json;

fn ohsumed_sized() -> Dataset {
    SynthConfig { queries: 63, features: 45, ..SynthConfig::default() }.generate().expect("a valid configuration")
}

fn fit(learner: &dyn Learner, train: &Dataset) {
    let context = FitContext {
        device: Device::flex(),
        seed: 1,
        selection: Selection { measure: Measure::Ap(None), convention: Convention::preset("letor").expect("a preset") },
        directory: None,
        resume: false,
        dashboard: false,
        progress: &NoProgress,
        interrupt: Interrupt::default(),
    };
    learner.fit(train, None, &context).expect("data with two labels");
}

fn boosting(criterion: &mut Criterion) {
    let train = ohsumed_sized();
    let mut group = criterion.benchmark_group("boosting");
    group.sample_size(10);
    let rows = [
        ("ada_rank/100-rounds", json!({"kind": "ada_rank", "rounds": 100}), None),
        ("rank_boost/100-rounds", json!({"kind": "rank_boost", "rounds": 100}), None),
        ("regression/8-lambdas", json!({"kind": "regression"}), None),
        (
            "boosted_trees/lambda_ndcg/20-rounds",
            json!({"kind": "boosted_trees", "rounds": 20}),
            Some(LossSpec::new("lambda_ndcg")),
        ),
        (
            "boosted_trees/approx_ndcg/20-rounds",
            json!({"kind": "boosted_trees", "rounds": 20}),
            Some(LossSpec::new("approx_ndcg")),
        ),
    ];
    for (name, table, loss) in rows {
        let table = table.as_object().expect("a table");
        let learner = registry::build(table, loss.as_ref(), None).expect("a valid configuration");
        group.bench_function(name, |bencher| bencher.iter(|| fit(learner.as_ref(), &train)));
    }
    group.finish();
}

criterion_group!(benches, boosting);
criterion_main!(benches);
