//! Learners with an outer loop, on synthetic data of the size of an OHSUMED training fold (63 queries).

use burn::tensor::Device;
use burn_rank::data::{RankingDataset, SynthConfig};
use burn_rank::learner::{FitContext, Job, Parts, RankingLearner, Selection, build};
use burn_rank::loss::LossSpec;
use burn_rank::measure::{Convention, Measure};
use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};

fn ohsumed_sized() -> RankingDataset {
    SynthConfig { queries: 63, features: 45, ..SynthConfig::default() }.generate().expect("a valid configuration")
}

fn fit(learner: &dyn RankingLearner, train: &RankingDataset) {
    let context = FitContext::new(
        Device::flex(),
        1,
        Selection { convention: Convention::preset("letor").expect("a preset"), ..Selection::best(Measure::Ap(None)) },
    );
    learner.fit(Job::new(train, None, &context)).expect("data with two labels");
}

fn run(criterion: &mut Criterion, name: &str, rows: &[(&str, Value, Option<LossSpec>)]) {
    let train = ohsumed_sized();
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10);
    for (name, table, loss) in rows {
        let table = table.as_object().expect("a table");
        let learner =
            build(table, &Parts { loss: loss.as_ref().map(Into::into), scorer: None }).expect("a valid configuration");
        group.bench_function(*name, |bencher| bencher.iter(|| fit(learner.as_ref(), &train)));
    }
    group.finish();
}

fn boosting(criterion: &mut Criterion) {
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
    run(criterion, "boosting", &rows);
}

/// RankSVM is compared with scikit-learn's `LinearSVC` on the explicit pairs (about 370,000 of them in an OHSUMED
/// training fold).
fn support_vectors(criterion: &mut Criterion) {
    let rows = [
        ("rank_svm/hinge", json!({"kind": "rank_svm", "c": 1e-4}), None),
        ("rank_svm/squared_hinge", json!({"kind": "rank_svm", "c": 1e-4, "loss": "squared_hinge"}), None),
        ("svm_map", json!({"kind": "svm_map", "c": 100.0}), None),
        ("permu_rank/20-rounds", json!({"kind": "permu_rank", "c": 100.0, "rounds": 20}), None),
    ];
    run(criterion, "support_vectors", &rows);
}

fn annealing(criterion: &mut Criterion) {
    let rows = [("smooth_rank/13-sigmas", json!({"kind": "smooth_rank", "lambda": 1.0}), None)];
    run(criterion, "annealing", &rows);
}

criterion_group!(benches, boosting, support_vectors, annealing);
criterion_main!(benches);
