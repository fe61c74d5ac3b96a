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
use burn_rank::refusal::Refusal;
use burn_rank::scorer::ScorerConfig;
use burn_rank::workbench::json::json;
use burn_rank::workbench::{ask_memory, batch_shapes, bytes_in_training, in_host_memory};

use super::{OpPath, SEED, sync};
use crate::experiment::ExperimentError;
use crate::number::median;

/// A benchmark of training epochs with one scorer and one loss, on generated data that resemble MSLR-WEB.
#[derive(Debug, Clone)]
pub struct TrainBench {
    /// The scorer.
    pub scorer: ScorerConfig,
    /// The loss.
    pub loss: LossSpec,
    /// The data.
    pub data: SynthConfig,
    /// Queries per batch.
    pub batch: usize,
    /// How the basic operations of the loss are computed.
    pub path: OpPath,
    /// The number of timed epochs, which follow one untimed epoch; the result is their median.
    pub epochs: usize,
}

impl TrainBench {
    /// Trains on `device`, and returns the speed of the epochs.
    ///
    /// # Errors
    /// Returns an error if a parameter is out of range or the device fails.
    pub fn run(&self, device: &Device, name: &str) -> Result<Value, ExperimentError> {
        if self.epochs == 0 {
            return Err(Refusal::new("repeats", 0, "at least 1").into());
        }
        let loss = self.loss.build()?;
        let dataset = self.data.generate()?;
        let batcher = BatchPlanner::of_queries(&dataset, self.batch, SEED)?;
        let bytes = |&(lists, documents): &(usize, usize)| {
            bytes_in_training(&self.scorer, dataset.feature_count, [lists, documents])
        };
        if let Some(shape) = batch_shapes(&batcher).into_iter().max_by_key(bytes).filter(|_| in_host_memory(device)) {
            let what = format!("a step on {} x {} documents", shape.0, shape.1);
            ask_memory("batch", what, bytes(&shape), "lower the number of queries per batch")?;
        }
        let device = device.clone().autodiff();
        let mut scorer = self.scorer.init(dataset.feature_count, SEED, &device)?;
        let mut optimizer = AdamConfig::new().init();
        let mut times = Vec::with_capacity(self.epochs);
        for epoch in 0..=self.epochs as u64 {
            let start = Instant::now();
            for (index, queries) in batcher.epoch(epoch).iter().enumerate() {
                let batch = RankingBatch::assemble(&dataset, queries, &device);
                let seed = burn_rank::seed::seed_for(SEED, "dropout", (epoch << 32) | index as u64);
                let scores = scorer.forward_training(batch.features, batch.mask.clone(), seed);
                let gradients =
                    self.path.run(|| loss.forward(scores, batch.labels, batch.mask, Reduction::Mean).backward());
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
            "path": self.path.name(), "peer": format!("burn-rank/{name}"), "loss": self.loss.name, "batch": self.batch,
            "documents": documents, "documents_per_s": documents as f64 / median(times).unwrap_or(f64::NAN),
            "best_documents_per_s": documents as f64 / fastest,
        }))
    }
}

/// A benchmark of boosted trees, fitted to generated data that resemble MSLR-WEB.
#[derive(Debug, Clone)]
pub struct TreesBench {
    /// The settings of the trees; `patience` has no effect without validation data.
    pub config: BoostedTreesConfig,
    /// The loss.
    pub loss: LossSpec,
    /// The data.
    pub data: SynthConfig,
    /// The number of timed fits; the result is their median.
    pub repeats: usize,
}

impl TreesBench {
    /// Fits the trees `repeats` times, and returns the times.
    ///
    /// # Errors
    /// Returns an error if a parameter is out of range, if data cannot be generated, or if a fit fails.
    pub fn run(&self, device: &Device, name: &str) -> Result<Value, ExperimentError> {
        let learner = self.config.build(&Parts::default().with_loss(self.loss.clone()))?;
        let data = self.data.generate()?;
        let convention = Convention::preset("standard").expect("a preset");
        let measure = Measure::Ndcg(Some(10));
        let context = FitContext::new(device.clone(), SEED, Selection { convention, ..Selection::best(measure) });
        let (mut fits, mut predictions, mut ndcg) = (Vec::new(), Vec::new(), f64::NAN);
        for _ in 0..self.repeats.max(1) {
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
            "path": null, "peer": format!("burn-rank/{name}"), "loss": self.loss.name, "documents": data.documents(),
            "features": data.feature_count, "rounds": self.config.rounds,
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

    #[test]
    fn an_epoch_counts_every_document() {
        let data = SynthConfig { queries: 6, features: 4, median_length: 5.0, max_length: 9, ..SynthConfig::default() };
        let documents = data.generate().unwrap().documents();
        let bench = TrainBench {
            scorer: ScorerConfig::default(),
            loss: LossSpec::new("approx_ndcg"),
            data,
            batch: 4,
            path: OpPath::Fused,
            epochs: 1,
        };
        let row = bench.run(&Device::flex(), "flex").unwrap();
        assert_eq!((&row["documents"], &row["peer"]), (&json!(documents), &json!("burn-rank/flex")));
        let [median, best] = ["documents_per_s", "best_documents_per_s"].map(|key| row[key].as_f64().unwrap());
        assert!(median > 0.0 && best >= median);
    }

    #[test]
    fn a_fit_is_timed() {
        let data = SynthConfig { queries: 6, features: 4, median_length: 5.0, max_length: 9, ..SynthConfig::default() };
        let documents = data.generate().unwrap().documents();
        let config = BoostedTreesConfig { rounds: 2, leaves: 3, min_documents: 1, ..BoostedTreesConfig::default() };
        let bench = TreesBench { config, loss: LossSpec::new("lambda_ndcg"), data, repeats: 1 };
        let row = bench.run(&Device::flex(), "flex").unwrap();
        assert_eq!([&row["documents"], &row["features"], &row["rounds"]], [&json!(documents), &json!(4), &json!(2)]);
        assert!(["fit_s", "predict_s", "ndcg"].into_iter().all(|key| row[key].as_f64().unwrap() > 0.0));
    }
}
