//! Measures how many documents per second a training epoch processes, with batch creation, scorer, loss, gradient and
//! optimizer, and the speed and memory of boosted trees, for training (with binning) and for prediction.

use std::time::Instant;

use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::Device;
use burn_rank::data::{BatchPlanner, RankingBatch, SynthConfig};
use burn_rank::json::Value;
use burn_rank::learner::boosted_trees::BoostedTreesConfig;
use burn_rank::learner::{FitContext, Job, Parts, Selection};
use burn_rank::loss::{LossSpec, Reduction};
use burn_rank::measure::{Convention, Measure};
use burn_rank::scorer::ScorerConfig;
use burn_rank::workbench::json::json;
use burn_rank::workbench::{ask_memory, batch_shapes, bytes_in_training, in_host_memory};
use clap::{Args, value_parser};

use super::{OpPath, SEED, sync};
use crate::experiment::ExperimentError;
use crate::number::median;

/// The arguments of a benchmark of training epochs, on generated data that resemble MSLR-WEB.
#[derive(Debug, Clone, Args)]
pub struct TrainBench {
    /// Loss, by name or as measure and relaxation
    #[arg(long, default_value = "approx_ndcg")]
    loss: String,
    /// Number of queries
    #[arg(long, default_value_t = 1000, value_parser = value_parser!(u32).range(1..))]
    queries: u32,
    /// Queries per batch
    #[arg(long, default_value_t = 64, value_parser = value_parser!(u32).range(1..))]
    batch: u32,
}

impl TrainBench {
    /// Trains a scorer on `device`, and returns the median speed of the epochs, which follow one untimed epoch. The
    /// basic operations of the loss are computed on `path`.
    ///
    /// # Errors
    /// Returns an error if a parameter is out of range or the device fails.
    pub fn run(
        &self,
        scorer: &ScorerConfig,
        path: OpPath,
        epochs: u32,
        device: &Device,
        name: &str,
    ) -> Result<Value, ExperimentError> {
        let spec = LossSpec::parse(&self.loss);
        let loss = spec.build()?;
        let dataset = SynthConfig { queries: self.queries as usize, ..SynthConfig::default() }.generate()?;
        let batcher = BatchPlanner::of_queries(&dataset, self.batch as usize, SEED)?;
        let bytes =
            |&(lists, documents): &(usize, usize)| bytes_in_training(scorer, dataset.feature_count, [lists, documents]);
        if let Some(shape) = batch_shapes(&batcher).into_iter().max_by_key(bytes).filter(|_| in_host_memory(device)) {
            let what = format!("a step on {} x {} documents", shape.0, shape.1);
            ask_memory("batch", what, bytes(&shape), "lower the number of queries per batch")?;
        }
        let device = device.clone().autodiff();
        let mut scorer = scorer.init(dataset.feature_count, SEED, &device)?;
        let mut optimizer = AdamConfig::new().init();
        let mut times = Vec::new();
        for epoch in 0..=u64::from(epochs) {
            let start = Instant::now();
            for (index, queries) in batcher.epoch(epoch).iter().enumerate() {
                let batch = RankingBatch::assemble(&dataset, queries, &device);
                let seed = burn_rank::seed::seed_for(SEED, "dropout", (epoch << 32) | index as u64);
                let scores = scorer.forward_training(batch.features, batch.mask.clone(), seed);
                let gradients = path.run(|| loss.forward(scores, batch.labels, batch.mask, Reduction::Mean).backward());
                let gradients = GradientsParams::from_grads(gradients, &scorer);
                scorer = optimizer.step(1e-3, scorer, gradients);
            }
            sync(&device, name)?;
            times.push(start.elapsed().as_secs_f64());
        }
        let times = &mut times[1..];
        let documents = dataset.documents();
        let fastest = times.iter().copied().fold(f64::INFINITY, f64::min);
        Ok(json!({
            "path": path.name(), "peer": format!("burn-rank/{name}"), "loss": spec.name, "batch": self.batch,
            "documents": documents, "documents_per_s": documents as f64 / median(times).unwrap_or(f64::NAN),
            "best_documents_per_s": documents as f64 / fastest,
        }))
    }
}

/// The arguments of a benchmark of boosted trees, fitted to generated data that resemble MSLR-WEB.
#[derive(Debug, Clone, Args)]
pub struct TreesBench {
    /// Number of queries
    #[arg(long, default_value_t = 1000, value_parser = value_parser!(u32).range(1..))]
    queries: u32,
    /// Number of trees
    #[arg(long, default_value_t = 100, value_parser = value_parser!(u32).range(1..))]
    rounds: u32,
    /// Leaves of a tree
    #[arg(long, default_value_t = 31, value_parser = value_parser!(u32).range(2..))]
    leaves: u32,
}

impl TreesBench {
    /// Fits trees to a loss `repeats` times, and returns the median times.
    ///
    /// # Errors
    /// Returns an error if a parameter is out of range, if data cannot be generated, or if a fit fails.
    pub fn run(&self, loss: LossSpec, repeats: u32, device: &Device, name: &str) -> Result<Value, ExperimentError> {
        let (rounds, leaves) = (self.rounds as usize, self.leaves as usize);
        let config = BoostedTreesConfig { rounds, leaves, ..BoostedTreesConfig::default() };
        let learner = config.build(&Parts::default().with_loss(loss.clone()))?;
        let data = SynthConfig { queries: self.queries as usize, ..SynthConfig::default() }.generate()?;
        let convention = Convention::preset("standard").expect("a preset");
        let measure = Measure::Ndcg(Some(10));
        let context = FitContext::new(device.clone(), SEED, Selection { convention, ..Selection::best(measure) });
        let (mut fits, mut predictions, mut ndcg) = (Vec::new(), Vec::new(), f64::NAN);
        for _ in 0..repeats {
            let start = Instant::now();
            let fitted = learner.fit(Job::new(&data, None, &context))?;
            fits.push(start.elapsed().as_secs_f64());
            let start = Instant::now();
            std::hint::black_box(fitted.model.predict(&data, device));
            predictions.push(start.elapsed().as_secs_f64());
            ndcg = fitted.history.last().and_then(|round| round.train).unwrap_or(f64::NAN);
        }
        let features = (data.features.len() * size_of::<f32>()) as u64;
        let peak = burn_rank::workbench::memory::peak().map(|peak| peak.saturating_sub(features));
        let best_fit = fits.iter().copied().fold(f64::INFINITY, f64::min);
        Ok(json!({
            "path": null, "peer": format!("burn-rank/{name}"), "loss": loss.name, "documents": data.documents(),
            "features": data.feature_count, "rounds": rounds,
            // With binning.
            "fit_s": median(&mut fits).unwrap_or(f64::NAN), "best_fit_s": best_fit,
            // Of the process without the features; null if it cannot be measured.
            "peak_mib": peak.map(|bytes| bytes as f64 / f64::from(1 << 20)),
            "predict_s": median(&mut predictions).unwrap_or(f64::NAN), "ndcg": ndcg,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents(queries: usize) -> usize {
        SynthConfig { queries, ..SynthConfig::default() }.generate().unwrap().documents()
    }

    #[test]
    fn an_epoch_counts_every_document() {
        let bench = TrainBench { loss: "approx_ndcg".into(), queries: 6, batch: 4 };
        let row = bench.run(&ScorerConfig::default(), OpPath::Fused, 1, &Device::flex(), "flex").unwrap();
        assert_eq!((&row["documents"], &row["peer"]), (&json!(documents(6)), &json!("burn-rank/flex")));
        let [median, best] = ["documents_per_s", "best_documents_per_s"].map(|key| row[key].as_f64().unwrap());
        assert!(median > 0.0 && best >= median);
    }

    #[test]
    fn a_fit_is_timed() {
        let bench = TreesBench { queries: 6, rounds: 2, leaves: 3 };
        let row = bench.run(LossSpec::new("lambda_ndcg"), 1, &Device::flex(), "flex").unwrap();
        assert_eq!(
            [&row["documents"], &row["features"], &row["rounds"]],
            [&json!(documents(6)), &json!(136), &json!(2)]
        );
        assert!(["fit_s", "predict_s", "ndcg"].into_iter().all(|key| row[key].as_f64().unwrap() > 0.0));
    }
}
