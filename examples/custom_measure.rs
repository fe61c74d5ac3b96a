//! A user-defined measure, written once, trained through any family of surrogates, and measured exactly.
//!
//! ```text
//! cargo run --release --package burn-rank --example custom_measure
//! ```

use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Tensor};
use burn_rank::data::{RankingBatch, SynthConfig};
use burn_rank::loss::{
    MeasureContext, PositionFunction, PositionMeasure, RankingLoss, Reduction, RelaxationName, RelaxedMeasureConfig,
    Temperature,
};
use burn_rank::measure::{Convention, Measure};
use burn_rank::metric;
use burn_rank::scorer::ScorerConfig;

/// Rank-biased precision: a reader continues to the next document with the probability `persistence`.
#[derive(Debug, Clone)]
struct RankBiasedPrecision {
    persistence: f64,
}

impl PositionMeasure for RankBiasedPrecision {
    fn name(&self) -> &'static str {
        "rank_biased_precision"
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        let log = self.persistence.ln();
        let attention = PositionFunction::new(move |position| ((position - 1.0) * log).exp());
        list.sum(list.relevance(), &attention, None) * (1.0 - self.persistence)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let data = SynthConfig { queries: 64, features: 20, median_length: 20.0, max_length: 60, ..SynthConfig::default() };
    let data = data.generate()?;
    let queries: Vec<usize> = (0..data.queries()).collect();
    let batch = RankingBatch::assemble(&data, &queries, &Device::flex().autodiff());
    let RankingBatch { features, labels, mask, .. } = batch;

    let measure = RankBiasedPrecision { persistence: 0.8 };
    // The exact value in a convention, which decides how a query without a relevant document counts: `standard` leaves
    // it out. One minus an exact loss would count it as perfect, since there is nothing to learn from it.
    let (exact, convention) = ([Measure::Rbp { persistence: measure.persistence }], Convention::preset("standard")?);
    let through = |relaxation, temperature| {
        let temperature = Some(Temperature::scores(temperature));
        RelaxedMeasureConfig::new().with_relaxation(relaxation).with_temperature(temperature)
    };
    let positions = through(RelaxationName::ApproximatePositions, 10.0);
    let relaxations = [
        ("approximate positions", positions.clone()),
        ("rank indicators", through(RelaxationName::RankIndicators, 0.5)),
        ("expected ranks", through(RelaxationName::ExpectedRanks, 0.5)),
        ("approximate positions with noise", positions.with_gumbel_samples(4).with_seed(1)),
    ];
    println!("{:<56} before  after", "rank-biased precision of a linear scorer trained through");
    for (name, relaxation) in relaxations {
        let loss = relaxation.init_measure(measure.clone())?;
        let mut scorer = ScorerConfig::default().init(data.feature_count, 1, &Device::flex().autodiff())?;
        let mut optimizer = AdamConfig::new().init();
        let value = |scores| metric::evaluate(scores, labels.clone(), mask.clone(), &exact, &convention);
        let before = value(scorer.forward(features.clone(), mask.clone()))?.means[0].1;
        for _ in 0..60 {
            let scores = scorer.forward(features.clone(), mask.clone());
            let gradients = loss.forward(scores, labels.clone(), mask.clone(), Reduction::Mean).backward();
            let gradients = GradientsParams::from_grads(gradients, &scorer);
            scorer = optimizer.step(0.05, scorer, gradients);
        }
        let after = value(scorer.forward(features.clone(), mask.clone()))?.means[0].1;
        println!("{name:<56} {before:.4}  {after:.4}");
    }
    Ok(())
}
