//! Every registered loss, trained on the same data with the same scorers and optimiser: one table of fold averages.
//!
//! ```text
//! cargo run --release --no-default-features --features flex --example losses_side_by_side -- [FOLDS] [--epochs 20] [--scorer linear|mlp|both]
//! ```
//!
//! `FOLDS` is a folder of `Fold1`, `Fold2`, ... or `S1.txt`, `S2.txt`, ...; without it, data are generated in five
//! parts. Each model is that of the epoch with the best validation NDCG@10. Figures are for the test queries in the
//! `letor` convention: the mean of the folds, and the standard error over queries.

use std::path::{Path, PathBuf};

use burn::module::Module;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::Device;
use burn_rank::data::letor::{ReadOptions, read};
use burn_rank::data::{
    BatchPlanner, BatchPlannerConfig, Normalizer, NormalizerKind, RankingBatch, RankingDataset, SynthConfig, folds,
};
use burn_rank::loss::{LossSpec, RankingLoss, Reduction, registry};
use burn_rank::measure::{Convention, Evaluation, Measure, evaluate};
use burn_rank::scorer::{MlpScorerConfig, Scorer, ScorerConfig};

type Failure = Box<dyn std::error::Error>;

const MEASURES: [Measure; 2] = [Measure::Ndcg(Some(10)), Measure::Ap(None)];
const SEED: u64 = 1;

/// Training, validation and test data of one fold.
type Parts = [RankingDataset; 3];

fn main() -> Result<(), Failure> {
    let (mut folder, mut epochs, mut scorers) = (None, 20, "both".to_owned());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--epochs" => epochs = value()?.parse()?,
            "--scorer" => scorers = value()?,
            _ => folder = Some(argument),
        }
    }
    let folds = match &folder {
        Some(folder) => read_folds(Path::new(folder))?,
        None => generated_folds()?,
    };
    let choices =
        [("linear", ScorerConfig::default(), 0.01), ("mlp", ScorerConfig::Mlp(MlpScorerConfig::default()), 0.001)];
    println!("| loss | scorer | NDCG@10 | MAP |\n|---|---|---|---|");
    for (name, scorer, learning_rate) in choices {
        if scorers != "both" && scorers != name {
            continue;
        }
        // Cells of a loss that is joined of parts are there by their names.
        for entry in registry::LOSSES.iter().filter(|entry| entry.forms.is_none()) {
            let loss = LossSpec::new(entry.name).build()?;
            let mut tests = Vec::new();
            for parts in &folds {
                tests.push(train(loss.as_ref(), &scorer, learning_rate, epochs, parts)?);
            }
            let column = |measure: usize| {
                let means: Vec<f64> = tests.iter().map(|test| test.means[measure].1).collect();
                let queries = tests.iter().flat_map(|test| test.per_query[measure].iter().flatten().copied());
                let (_, error) = mean_and_error(queries.collect());
                format!("{:.4} ± {error:.4}", means.iter().sum::<f64>() / means.len() as f64)
            };
            println!("| {} | {name} | {} | {} |", entry.name, column(0), column(1));
        }
    }
    Ok(())
}

/// Minimises the loss with Adam, keeps the best epoch on validation data, and evaluates it on the test data.
fn train(
    loss: &dyn RankingLoss,
    config: &ScorerConfig,
    learning_rate: f64,
    epochs: u64,
    [train, validation, test]: &Parts,
) -> Result<Evaluation, Failure> {
    let device = Device::flex().autodiff();
    let mut scorer = config.init(train.feature_count, SEED, &device)?;
    let mut optimizer = AdamConfig::new().init();
    let batcher =
        BatchPlanner::new(train, &BatchPlannerConfig { queries: Some(16), ..BatchPlannerConfig::default() }, SEED)?;
    let mut best = (f64::NEG_INFINITY, scorer.valid());
    for epoch in 0..epochs {
        for queries in batcher.epoch(epoch) {
            let RankingBatch { features, labels, mask, .. } = RankingBatch::assemble(train, &queries, &device);
            let scores = scorer.forward(features, mask.clone());
            let gradients = loss.forward(scores, labels, mask, Reduction::Mean).backward();
            let gradients = GradientsParams::from_grads(gradients, &scorer);
            scorer = optimizer.step(learning_rate, scorer, gradients);
        }
        let candidate = scorer.valid();
        let ndcg = measure(&candidate, validation)?.means[0].1;
        if ndcg > best.0 {
            best = (ndcg, candidate);
        }
    }
    measure(&best.1, test)
}

fn measure(scorer: &Scorer, data: &RankingDataset) -> Result<Evaluation, Failure> {
    let mut scores = vec![0.0; data.documents()];
    for query in 0..data.queries() {
        let batch = RankingBatch::assemble(data, &[query], &Device::flex());
        let values = scorer.forward(batch.features, batch.mask).into_data();
        scores[data.range(query)].iter_mut().zip(values.iter::<f32>()).for_each(|(slot, score)| *slot = score);
    }
    Ok(evaluate(&data.rankings(&scores), &MEASURES, &Convention::preset("letor")?)?)
}

fn mean_and_error(values: Vec<f64>) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

fn read_folds(folder: &Path) -> Result<Vec<Parts>, Failure> {
    let read = |paths: &[PathBuf]| read(paths, &ReadOptions::default());
    let parts = folds::discover(folder)?
        .into_iter()
        .map(|fold| normalized([read(&fold.train)?, read(&fold.validation)?, read(&fold.test)?]));
    parts.collect()
}

fn generated_folds() -> Result<Vec<Parts>, Failure> {
    let config =
        SynthConfig { queries: 100, features: 20, median_length: 30.0, max_length: 100, ..SynthConfig::default() };
    let data = config.generate()?;
    let parts = folds::split(&data, 5, SEED)?
        .into_iter()
        .map(|fold| normalized([data.select(&fold.train), data.select(&fold.validation), data.select(&fold.test)]));
    parts.collect()
}

/// Normalises features to mean 0 and standard deviation 1 over the training documents.
fn normalized(mut parts: Parts) -> Result<Parts, Failure> {
    let normalizer = Normalizer::fit(&parts[0], NormalizerKind::ZScore);
    for part in &mut parts {
        normalizer.apply(part)?;
    }
    Ok(parts)
}
