//! Your own data and your own model in burn's `SupervisedTraining`: a ranking loss, early stopping by NDCG@10, the
//! checkpoint of the epoch with the best NDCG@10, and that checkpoint on the test split by burn's `EvaluatorBuilder`.
//!
//! ```text
//! cargo run --release --package burn-rank --features train --example supervised_training
//! ```
//!
//! burn keeps the checkpoint with the lowest *loss* unless it is told otherwise, which the lines marked 3 and 4 do. The
//! data, the batches and the model know nothing of this crate.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use burn::data::dataloader::batcher::Batcher;
use burn::data::dataloader::{DataLoader, DataLoaderBuilder};
use burn::data::dataset::InMemDataset;
use burn::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
use burn::module::Module;
use burn::nn::{Linear, LinearConfig, Relu};
use burn::optim::AdamConfig;
use burn::tensor::{Bool, Device, Tensor, TensorData};
use burn::train::checkpoint::MetricCheckpointingStrategy;
use burn::train::metric::LossMetric;
use burn::train::metric::store::{Aggregate, Direction, Split};
use burn::train::{
    EvaluatorBuilder, ExecutionStrategy, InferenceStep, Learner, MetricEarlyStoppingStrategy, StoppingCondition,
    SupervisedTraining, TrainOutput, TrainStep,
};
use burn_rank::loss::{ApproxNdcgConfig, RankingLoss};
use burn_rank::measure::{Convention, Measure};
use burn_rank::metric::{self, RankingInput, RankingMetric, RankingOutput};
use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

const SEED: u64 = 42;
const FEATURES: usize = 16;
const EPOCHS: usize = 60;
const PATIENCE: usize = 8;

/// A query with its documents, as your program has them.
#[derive(Debug, Clone)]
struct Query {
    documents: Vec<[f32; FEATURES]>,
    labels: Vec<f32>,
}

/// Generates queries of 5 to 25 documents. Four features determine the relevance, with noise added; the others say
/// nothing.
fn queries(number: usize, seed: u64) -> Vec<Query> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut query = |_| {
        let documents: Vec<[f32; FEATURES]> =
            (0..random.random_range(5..=25)).map(|_| std::array::from_fn(|_| random.random_range(-1.0..1.0))).collect();
        let relevance = |x: &[f32; FEATURES]| 2.0 * x[0] * x[1] + x[2] - x[3].abs();
        let labels = documents.iter().map(|x| {
            let noise: f32 = random.random_range(-0.7..0.7);
            (1.5 * (relevance(x) + noise)).clamp(0.0, 3.0).round()
        });
        Query { labels: labels.collect(), documents }
    };
    (0..number).map(&mut query).collect()
}

/// Queries padded to the longest one.
#[derive(Debug, Clone)]
struct Batch {
    /// `[queries, documents, features]`
    documents: Tensor<3>,
    /// `[queries, documents]`
    labels: Tensor<2>,
    /// `[queries, documents]`, true for a document: the opposite of burn's padding masks.
    mask: Tensor<2, Bool>,
}

#[derive(Debug, Clone)]
struct PadQueries;

impl Batcher<Query, Batch> for PadQueries {
    fn batch(&self, queries: Vec<Query>, device: &Device) -> Batch {
        let longest = queries.iter().map(|query| query.documents.len()).max().unwrap_or(0);
        let shape = [queries.len(), longest];
        let mut documents = vec![0.0; queries.len() * longest * FEATURES];
        let mut labels = vec![0.0; queries.len() * longest];
        let mut mask = vec![false; queries.len() * longest];
        for (row, query) in queries.iter().enumerate() {
            for (column, (document, label)) in query.documents.iter().zip(&query.labels).enumerate() {
                let place = row * longest + column;
                documents[place * FEATURES..][..FEATURES].copy_from_slice(document);
                labels[place] = *label;
                mask[place] = true;
            }
        }
        Batch {
            documents: Tensor::from_data(TensorData::new(documents, [shape[0], shape[1], FEATURES]), device),
            labels: Tensor::from_data(TensorData::new(labels, shape), device),
            mask: Tensor::from_data(TensorData::new(mask, shape), device),
        }
    }
}

/// A perceptron that scores one document at a time.
#[derive(Module, Debug)]
struct Model {
    hidden: Linear,
    output: Linear,
    #[module(skip)]
    loss: Arc<dyn RankingLoss>,
}

impl Model {
    fn new(loss: Arc<dyn RankingLoss>, device: &Device) -> Self {
        Self {
            hidden: LinearConfig::new(FEATURES, 64).init(device),
            output: LinearConfig::new(64, 1).init(device),
            loss,
        }
    }

    /// `[queries, documents, features]` to scores, `[queries, documents]`.
    fn scores(&self, documents: Tensor<3>) -> Tensor<2> {
        self.output.forward(Relu::new().forward(self.hidden.forward(documents))).squeeze_dim(2)
    }

    /// 1: Returns what training and validation give to burn's metrics: the loss of each query, and the scored lists.
    fn ranked(&self, batch: Batch) -> RankingOutput {
        let Batch { documents, labels, mask } = batch;
        let scores = self.scores(documents);
        let losses = self.loss.forward_no_reduction(scores.clone(), labels.clone(), mask.clone());
        RankingOutput { losses, ranked: RankingInput::Lists { scores, labels, mask } }
    }
}

impl TrainStep for Model {
    type Input = Batch;
    type Output = RankingOutput;

    fn step(&self, batch: Batch) -> TrainOutput<RankingOutput> {
        let output = self.ranked(batch);
        TrainOutput::new(self, output.losses.clone().mean().backward(), output)
    }
}

impl InferenceStep for Model {
    type Input = Batch;
    type Output = RankingOutput;

    fn step(&self, batch: Batch) -> RankingOutput {
        self.ranked(batch)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("burn-rank-supervised-training-{}", std::process::id()));
    let done = train(&folder);
    // The logs and checkpoints of an example are of no further use.
    std::fs::remove_dir_all(&folder)?;
    done
}

fn train(folder: &Path) -> Result<(), Box<dyn Error>> {
    let device = Device::flex().autodiff();
    device.seed(SEED);
    let (training, validation, test) = (queries(64, SEED), queries(64, SEED + 1), queries(64, SEED + 2));
    let loader = |queries: &[Query]| -> Arc<dyn DataLoader<Batch>> {
        DataLoaderBuilder::new(PadQueries).batch_size(16).shuffle(SEED).build(InMemDataset::new(queries.to_vec()))
    };

    let loss = ApproxNdcgConfig::new().with_alpha(5.0).with_k(Some(10)).init()?;
    let model = Model::new(Arc::new(loss), &device);
    let ndcg = RankingMetric::ndcg(Some(10)); // 2: the measure that decides
    let stop = MetricEarlyStoppingStrategy::new(
        &ndcg, // 3: stops when it has not improved for `n_epochs` epochs
        Aggregate::Mean,
        Direction::Highest,
        Split::Valid,
        StoppingCondition::NoImprovementSince { n_epochs: PATIENCE },
    );
    let keep = MetricCheckpointingStrategy::new(&ndcg, Aggregate::Mean, Direction::Highest, Split::Valid); // 4: the best epoch
    let learned = SupervisedTraining::new(folder, loader(&training), loader(&validation))
        .metrics((ndcg, LossMetric::new()))
        .early_stopping(stop)
        .with_checkpointing_strategy(keep)
        .with_default_checkpointers()
        .with_training_strategy(ExecutionStrategy::single(device.clone()).into())
        .num_epochs(EPOCHS)
        .summary()
        .launch(Learner::new(model.clone(), AdamConfig::new().init(), ModuleLrScheduler::new(0.01)));
    if let Some(error) = learned.error {
        return Err(error.into());
    }

    // The returned model is the model of the last epoch; the best one is in the checkpoint.
    let best_epoch = kept_epoch(&folder.join("checkpoint"))?;
    let best = model.valid().try_load_file(folder.join(format!("checkpoint/model-{best_epoch}.bpk")))?;
    let measure = |model: &Model, queries: &[Query]| -> Result<f64, Box<dyn Error>> {
        let Batch { documents, labels, mask } = PadQueries.batch(queries.to_vec(), &Device::flex());
        let scores = model.scores(documents);
        let found = metric::evaluate(scores, labels, mask, &[Measure::Ndcg(Some(10))], &Convention::default())?;
        Ok(found.means[0].1)
    };
    let epochs = std::fs::read_dir(folder.join("valid"))?.count();
    // 5: the same measure on queries that decided nothing. burn's logs of it are in `test/`.
    let evaluator = EvaluatorBuilder::new(folder).metrics((RankingMetric::ndcg(Some(10)), LossMetric::new())).summary();
    if let Some(error) = evaluator.build(best.clone()).eval("held out", loader(&test)).error {
        return Err(error.into());
    }
    let on_test = measure(&best, &test)?;
    let of = |model: &Model| measure(model, &validation);
    let (before, last, best) = (of(&model.valid())?, of(&learned.model)?, of(&best)?);
    println!("validation NDCG@10 before training:   {before:.4}");
    println!("validation NDCG@10 of the last epoch: {last:.4}, epoch {epochs} of at most {EPOCHS}");
    println!("validation NDCG@10 of the checkpoint: {best:.4}, epoch {best_epoch}");
    println!("test NDCG@10 of the checkpoint:       {on_test:.4}");
    match best >= last && epochs == (best_epoch + PATIENCE).min(EPOCHS) {
        true => Ok(()),
        false => Err("expected the checkpoint of the best epoch, and a stop when it was not improved on".into()),
    }
}

/// Returns the epoch of the only checkpoint in a folder.
fn kept_epoch(folder: &Path) -> Result<usize, Box<dyn Error>> {
    let mut epochs = Vec::new();
    for file in std::fs::read_dir(folder)? {
        let name = file?.file_name().to_string_lossy().into_owned();
        if let Some(epoch) = name.strip_prefix("model-").and_then(|rest| rest.strip_suffix(".bpk")) {
            epochs.push(epoch.parse()?);
        }
    }
    match epochs[..] {
        [epoch] => Ok(epoch),
        _ => Err(format!("{}: expected the checkpoint of one epoch, found {epochs:?}", folder.display()).into()),
    }
}
