//! Measures the speed and memory of boosted trees, for training (including binning) and for prediction.

use std::time::Instant;

use burn::tensor::Device;
use burn_rank::data::SynthConfig;
use burn_rank::json::Value;
use burn_rank::learner::boosted_trees::BoostedTreesConfig;
use burn_rank::learner::{FitContext, LearnerConfig, Parts, RankingLearner, Selection};
use burn_rank::loss::LossSpec;
use burn_rank::measure::{Convention, Measure};
use burn_rank::workbench::json::json;

use super::{BenchError, SEED};
use crate::number::median;

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
    pub fn run(&self, device: &Device, name: &str) -> Result<Value, BenchError> {
        let learner = self.config.check(&Parts { loss: Some(self.loss.clone().into()), ..Parts::default() })?;
        let data = self.data.generate()?;
        let convention = Convention::preset("standard").expect("a preset");
        let measure = Measure::Ndcg(Some(10));
        let context = FitContext::new(device.clone(), SEED, Selection { convention, ..Selection::best(measure) });
        let (mut fits, mut predictions, mut ndcg) = (Vec::new(), Vec::new(), f64::NAN);
        for _ in 0..self.repeats.max(1) {
            let start = Instant::now();
            let fitted = learner.fit(&data, None, &context)?;
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
    fn a_fit_is_timed() {
        let data = SynthConfig { queries: 6, features: 4, median_length: 5.0, max_length: 9, ..SynthConfig::default() };
        let documents = data.generate().unwrap().documents();
        let config = BoostedTreesConfig { rounds: 2, leaves: 3, min_documents: 1, ..BoostedTreesConfig::default() };
        let bench = TreesBench { config, loss: LossSpec::new("lambda_ndcg"), data, repeats: 1 };
        let row = bench.run(&Device::flex(), "flex").unwrap();
        assert_eq!([&row["documents"], &row["features"], &row["rounds"]], [&json!(documents), &json!(4), &json!(2)]);
        assert!(["fit_s", "predict_s", "ndcg"].iter().all(|key| row[key].as_f64().unwrap() > 0.0));
    }
}
