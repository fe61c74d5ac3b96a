//! Epochs of gradient training on data of OHSUMED's size: our loop beside burn-train's own, with the same batches,
//! loss, optimizer and measures. Throughput is in training documents per second.

use std::hint::black_box;
use std::sync::Arc;

use burn::data::dataloader::DataLoaderBuilder;
use burn::data::dataloader::batcher::Batcher;
use burn::data::dataset::InMemDataset;
use burn::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
use burn::module::Module;
use burn::optim::AdamConfig;
use burn::tensor::Device;
use burn::train::logger::{EvaluationProgressLogger, InMemoryMetricLogger, TrainingProgressLogger};
use burn::train::metric::{LossMetric, MetricDefinition};
use burn::train::renderer::{
    EvaluationName, MetricState, MetricsRenderer, MetricsRendererEvaluation, MetricsRendererTraining,
};
use burn::train::{ExecutionStrategy, InferenceStep, Learner, SupervisedTraining, TrainOutput, TrainStep};
use burn_rank::data::{Normalizer, NormalizerKind, RankingBatch, RankingDataset, SynthConfig};
use burn_rank::learner::gradient::GradientConfig;
use burn_rank::learner::{FitContext, Job, Parts, Selection};
use burn_rank::loss::{LossSpec, RankingLoss};
use burn_rank::measure::Measure;
use burn_rank::metric::{RankingInput, RankingMetric, RankingOutput};
use burn_rank::scorer::{LinearScorerConfig, MlpScorerConfig, Scorer, ScorerConfig};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// The allocator of the command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const EPOCHS: usize = 20;
const QUERIES: usize = 16;
const LOSS: &str = "list_net";

/// Makes training and validation data: 63 and 21 queries with about 150 documents each, and 45 features.
fn data() -> (RankingDataset, RankingDataset) {
    let config = SynthConfig { queries: 84, features: 45, median_length: 137.0, max_length: 320, ..Default::default() };
    let mut all = config.generate().expect("a valid configuration");
    Normalizer::fit(&all, NormalizerKind::ZScore).apply(&mut all).expect("its own data");
    (all.select(&(0..63).collect::<Vec<_>>()), all.select(&(63..84).collect::<Vec<_>>()))
}

fn ours(scorer: &ScorerConfig, train: &RankingDataset, validation: &RankingDataset) {
    let config = GradientConfig { epochs: EPOCHS, batch_queries: QUERIES, ..GradientConfig::default() };
    let parts = Parts::default().with_scorer(scorer).with_loss(LossSpec::new(LOSS));
    let learner = config.build(&parts).expect("a valid configuration");
    let context = FitContext::new(Device::flex(), 1, Selection::best(Measure::Ndcg(Some(10))));
    black_box(learner.fit(Job::new(train, Some(validation), &context)).expect("it trains"));
}

/// A scorer with its loss, as a user of burn's own training writes it.
#[derive(Module, Debug)]
struct Model {
    scorer: Scorer,
    #[module(skip)]
    loss: Arc<dyn RankingLoss>,
}

/// Makes padded batches from the indices of queries.
struct Queries(Arc<RankingDataset>);

impl Batcher<usize, RankingBatch> for Queries {
    fn batch(&self, queries: Vec<usize>, device: &Device) -> RankingBatch {
        RankingBatch::assemble(&self.0, &queries, device)
    }
}

impl TrainStep for Model {
    type Input = RankingBatch;
    type Output = RankingOutput;

    fn step(&self, batch: RankingBatch) -> TrainOutput<RankingOutput> {
        let output = InferenceStep::step(self, batch);
        TrainOutput::new(self, output.losses.clone().mean().backward(), output)
    }
}

impl InferenceStep for Model {
    type Input = RankingBatch;
    type Output = RankingOutput;

    fn step(&self, RankingBatch { features, labels, mask, .. }: RankingBatch) -> RankingOutput {
        let scores = self.scorer.forward(features, mask.clone());
        let losses = self.loss.forward_no_reduction(scores.clone(), labels.clone(), mask.clone());
        RankingOutput { losses, ranked: RankingInput::Lists { scores, labels, mask } }
    }
}

/// Trains with burn's single-device strategy, with its files in `folder` if there is one.
fn burn_train(
    scorer: &ScorerConfig,
    train: &Arc<RankingDataset>,
    validation: &Arc<RankingDataset>,
    folder: Option<&std::path::Path>,
) {
    let device = Device::flex().autodiff();
    let loss = LossSpec::new(LOSS).build().expect("a valid loss").into();
    let model = Model { scorer: scorer.init(train.feature_count, 1, &device).expect("a valid scorer"), loss };
    let loader = |data: &Arc<RankingDataset>| {
        DataLoaderBuilder::new(Queries(data.clone()))
            .batch_size(QUERIES)
            .shuffle(1)
            .build(InMemDataset::new((0..data.queries()).collect()))
    };
    let path = folder.unwrap_or(std::path::Path::new("."));
    let mut training = SupervisedTraining::new(path, loader(train), loader(validation))
        .metric_train_numeric(LossMetric::new())
        .metric_valid_numeric(LossMetric::new())
        .metric_valid_numeric(RankingMetric::ndcg(Some(10)))
        .num_epochs(EPOCHS)
        .with_application_logger(None)
        .renderer(Box::new(Silent))
        .with_training_strategy(ExecutionStrategy::single(device).into());
    training = match folder {
        Some(_) => training.with_default_checkpointers(),
        None => training.with_metric_logger(InMemoryMetricLogger::default()),
    };
    let optimizer = AdamConfig::new().with_epsilon(1e-8).init();
    black_box(training.launch(Learner::new(model, optimizer, ModuleLrScheduler::new(0.01))));
}

fn epochs(criterion: &mut Criterion) {
    let (train, validation) = data();
    let (shared_train, shared_validation) = (Arc::new(train.clone()), Arc::new(validation.clone()));
    let mut group = criterion.benchmark_group(format!("{EPOCHS} epochs"));
    group.sample_size(10).throughput(Throughput::Elements((EPOCHS * train.documents()) as u64));
    for (name, scorer) in [
        ("linear", ScorerConfig::Linear(LinearScorerConfig::default())),
        ("mlp 64", ScorerConfig::Mlp(MlpScorerConfig::default())),
    ] {
        group.bench_function(BenchmarkId::new("burn-rank", name), |b| b.iter(|| ours(&scorer, &train, &validation)));
        group.bench_function(BenchmarkId::new("burn-train, in memory", name), |b| {
            b.iter(|| burn_train(&scorer, &shared_train, &shared_validation, None));
        });
        group.bench_function(BenchmarkId::new("burn-train, checkpoints and logs", name), |b| {
            b.iter(|| {
                let folder = tempfile::tempdir().expect("a temporary folder");
                burn_train(&scorer, &shared_train, &shared_validation, Some(folder.path()));
            });
        });
    }
    group.finish();
}

criterion_group!(benches, epochs);
criterion_main!(benches);

/// Draws nothing.
struct Silent;

impl MetricsRendererTraining for Silent {
    fn update_train(&mut self, _: MetricState) {}
    fn update_valid(&mut self, _: MetricState) {}
}

impl MetricsRendererEvaluation for Silent {
    fn update_test(&mut self, _: EvaluationName, _: MetricState) {}
}

impl TrainingProgressLogger for Silent {
    fn start(&mut self, _: usize, _: usize, _: Option<usize>, _: Option<&str>) {}
    fn update_epoch(&mut self, _: usize) {}
    fn start_split(&mut self, _: &str, _: usize) {}
    fn update_split(&mut self, _: usize) {}
    fn end_split(&mut self) {}
    fn end(&mut self) {}
    fn log_event_training(&mut self, _: String) {}
}

impl EvaluationProgressLogger for Silent {
    fn start_global_progress(&mut self, _: usize) {}
    fn start_test(&mut self, _: &str, _: usize) {}
    fn update_test_progress(&mut self, _: usize) {}
    fn end_test(&mut self) {}
    fn end_global_progress(&mut self) {}
    fn log_event_evaluation(&mut self, _: String) {}
}

impl MetricsRenderer for Silent {
    fn manual_close(&mut self) {}
    fn register_metric(&mut self, _: MetricDefinition) {}
}
