//! A measure and a relaxation that this crate does not have, each written once: a loss for the learners, and the exact
//! measure that selects and evaluates. `RankingMetric::new` logs the same measure in burn's own training.
//!
//! ```text
//! cargo run --release --package burn-rank --features learners --example own_measure
//! ```

use std::error::Error;
use std::sync::Arc;

use burn::tensor::{Device, Tensor};
use burn_rank::data::{Normalizer, NormalizerKind, SynthConfig};
use burn_rank::learner::boosted_trees::BoostedTreesConfig;
use burn_rank::learner::gradient::{AnnealConfig, GradientConfig};
use burn_rank::learner::{FitContext, Job, Parts, Selection};
use burn_rank::loss::{
    Lists, MeasureContext, PositionFunction, PositionMeasure, Relaxation, Relaxed, Smoothing, Surrogate, Uses,
};
use burn_rank::measure::{Convention, Gain, Measure, evaluate};
use burn_rank::metric;

/// Gains as a reader meets them who continues to the next document with a probability of `persistence`, over the
/// largest sum of any order.
#[derive(Debug, Clone)]
struct PatientGain {
    persistence: f64,
}

impl PatientGain {
    fn attention(&self) -> PositionFunction {
        let log = self.persistence.ln();
        PositionFunction::new(move |position| ((position - 1.0) * log).exp())
    }
}

impl PositionMeasure for PatientGain {
    fn name(&self) -> &'static str {
        "patient_gain"
    }

    fn gain(&self) -> Option<&Gain> {
        Some(&Gain::Exp2)
    }

    // It is a sum over documents: the mean over tied documents is exact, and documents may have weights.
    fn uses(&self) -> Uses {
        Uses::sums_of(&self.attention(), None)
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        let (attention, gains) = (self.attention(), list.gains(&Gain::Exp2));
        list.sum(gains.clone(), &attention, None) / list.ideal(gains, &attention, None)
    }
}

/// Positions by the Laplace step, `1 - exp(-t) / 2` above 0 and `exp(t) / 2` below it, at `t = (s_j - s_i) / scale`.
#[derive(Debug, Clone)]
struct Laplace {
    scale: f64,
}

impl Relaxation for Laplace {
    fn name(&self) -> &'static str {
        "laplace"
    }

    fn relax(&self, lists: &Lists) -> Relaxed {
        let rows = lists.scores.clone().unsqueeze_dim::<3>(2);
        let columns = lists.scores.clone().unsqueeze_dim::<3>(1);
        let t = (columns - rows) * (1.0 / self.scale);
        let step = (t.clone().abs().neg().exp().neg() + 1.0) * t.sign() * 0.5 + 0.5;
        let sums = (step * lists.mask.clone().unsqueeze_dim::<3>(1)).sum_dim(2).squeeze_dim::<2>(2);
        Relaxed::positions(sums + 0.5, 1.0 / self.scale) // the own term of a document is 1/2
    }

    // These two let a learner anneal it.
    fn smoothing(&self) -> Option<Smoothing> {
        Some(Smoothing::sharper_if_smaller("scale"))
    }

    fn with_parameter(&self, name: &str, value: f64) -> Option<Arc<dyn Relaxation>> {
        (name == "scale").then(|| Arc::new(Self { scale: value }) as Arc<dyn Relaxation>)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let config =
        SynthConfig { queries: 150, features: 20, median_length: 20.0, max_length: 60, ..SynthConfig::default() };
    let mut data = config.generate()?;
    let queries: Vec<usize> = (0..data.queries()).collect();
    Normalizer::fit(&data.select(&queries[..90]), NormalizerKind::ZScore).apply(&mut data)?;
    let [train, validation, test] = [&queries[..90], &queries[90..120], &queries[120..]].map(|part| data.select(part));

    let definition = PatientGain { persistence: 0.8 };
    // The name includes the parameter: it is printed, and it identifies a saved fit.
    let exact = metric::exact_measure("patient_gain@p=0.8", definition.clone())?;
    let loss = Surrogate::new(definition, Laplace { scale: 0.5 })?;

    let anneal = AnnealConfig::Geometric { parameter: None, from: 1.0, to: 0.1, epochs: None };
    let gradient =
        GradientConfig { epochs: 20, learning_rate: 0.05, anneal: Some(anneal), ..GradientConfig::default() };
    let trees = BoostedTreesConfig { rounds: 30, leaves: 8, ..BoostedTreesConfig::default() };
    let parts = Parts::default().with_loss(loss);
    let learners = [gradient.build(&parts)?, trees.build(&parts)?];

    let convention = Convention::preset("standard")?;
    let device = Device::flex();
    let context =
        FitContext::new(device.clone(), 1, Selection { convention: convention.clone(), ..Selection::best(exact) });
    let measures = [exact, Measure::Ndcg(Some(10))];
    let print = |name: &str, scores: &[f32]| -> Result<(), Box<dyn Error>> {
        let found = evaluate(&test.rankings(scores), &measures, &convention)?;
        let means: Vec<String> = found.means.iter().map(|(measure, mean)| format!("{measure} {mean:.4}")).collect();
        println!("{name:<14} {}", means.join("  "));
        Ok(())
    };
    print("equal scores", &vec![0.0; test.documents()])?;
    for learner in &learners {
        let fitted = learner.fit(Job::new(&train, Some(&validation), &context))?;
        print(learner.name(), &fitted.model.predict(&test, &device))?;
    }
    Ok(())
}
