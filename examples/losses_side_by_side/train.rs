//! Training of one loss on one fold.

use burn::module::Module;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::Device;
use burn_rank::data::{BatchPlanner, BatchPlannerConfig, RankingBatch, RankingDataset};
use burn_rank::loss::{RankingLoss, Reduction};
use burn_rank::measure::{Convention, Evaluation, Measure, evaluate};
use burn_rank::scorer::{Scorer, ScorerConfig};

use super::Failure;
use super::data::Parts;
use super::record::Fit;

/// The measures that are reported, each at its own best epoch.
pub const MEASURES: [Measure; 9] = [
    Measure::Ndcg(Some(10)),
    Measure::Ap(None),
    Measure::ReciprocalRank(None),
    Measure::Err(None),
    Measure::Precision(Some(5)),
    Measure::Success(Some(5)),
    Measure::Rbp { persistence: 0.8 },
    Measure::RPrecision,
    Measure::KendallTau,
];

/// The settings that all losses share.
pub struct Run<'a> {
    pub scorer: &'a ScorerConfig,
    pub learning_rate: f64,
    pub epochs: u64,
    pub seed: u64,
}

/// Minimizes the loss with Adam. For each measure: the best epoch on validation data, and its test values.
pub fn train(loss: &dyn RankingLoss, run: &Run, [train, validation, test]: &Parts) -> Result<Vec<Fit>, Failure> {
    let device = Device::flex().autodiff();
    let mut scorer = run.scorer.init(train.feature_count, run.seed, &device)?;
    let mut optimizer = AdamConfig::new().init();
    let batcher =
        BatchPlanner::new(train, &BatchPlannerConfig { queries: Some(16), ..BatchPlannerConfig::default() }, run.seed)?;
    let mut best: Vec<(f64, Scorer)> = vec![(f64::NEG_INFINITY, scorer.valid()); MEASURES.len()];
    for epoch in 0..run.epochs {
        for queries in batcher.epoch(epoch) {
            let RankingBatch { features, labels, mask, .. } = RankingBatch::assemble(train, &queries, &device);
            let scores = scorer.forward(features, mask.clone());
            let gradients = loss.forward(scores, labels, mask, Reduction::Mean).backward();
            let gradients = GradientsParams::from_grads(gradients, &scorer);
            scorer = optimizer.step(run.learning_rate, scorer, gradients);
        }
        let candidate = scorer.valid();
        for (best, (_, mean)) in best.iter_mut().zip(measure(&candidate, validation)?.means) {
            if mean > best.0 {
                *best = (mean, candidate.clone());
            }
        }
    }
    let mut fits = Vec::new();
    for (index, (validation, scorer)) in best.iter().enumerate() {
        let test = measure(scorer, test)?.per_query.swap_remove(index);
        fits.push(Fit { measure: MEASURES[index].to_string(), validation: *validation, test });
    }
    Ok(fits)
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
