//! Trains the rankers of `models/` on generated data, and writes each with its card and the scores that it must
//! reproduce: `cargo run --release --example make_models [FOLDER]`.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;

use burn::tensor::Device;
use burn_rank::data::{Dataset, Normaliser, NormaliserKind, SynthConfig};
use burn_rank::learner::gradient::{Gradient, GradientConfig};
use burn_rank::learner::{FitContext, Interrupt, Learner, NoProgress, Selection};
use burn_rank::loss::LossSpec;
use burn_rank::measure::{Convention, Measure, Rankings, evaluate};
use burn_rank::ranker::{Metadata, Ranker, Versions};
use burn_rank::scorer::{LinearScorerConfig, MlpScorerConfig, ScorerConfig};
use serde_json::json;

const SEED: u64 = 1;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "models".into()));
    let linear = ScorerConfig::Linear(LinearScorerConfig::default());
    let mlp = ScorerConfig::Mlp(MlpScorerConfig { hidden: vec![32, 16], dropout: 0.1, ..MlpScorerConfig::default() });
    for (name, scorer, loss) in
        [("synth-linear", linear, LossSpec::new("list_net")), ("synth-mlp", mlp, LossSpec::new("approx_ndcg"))]
    {
        let ranker = train(scorer, loss)?;
        ranker.save(&folder.join(format!("{name}.safetensors")))?;
        std::fs::write(folder.join(format!("{name}.md")), ranker.card(name))?;
        let expected = serde_json::to_string_pretty(&expectation(&ranker)?)?;
        std::fs::write(folder.join(format!("{name}.json")), expected + "\n")?;
        println!("{name}: {:?}", ranker.metadata().measures);
    }
    Ok(())
}

/// Trains a ranker on 240 generated queries, selects its epoch on 80 and measures it on 80 others.
fn train(scorer: ScorerConfig, loss: LossSpec) -> Result<Ranker, Box<dyn Error>> {
    let synth = SynthConfig { queries: 400, seed: SEED, ..SynthConfig::default() };
    let mut data = synth.generate()?;
    let part = |data: &Dataset, from: usize, to: usize| data.select(&(from..to).collect::<Vec<_>>());
    let raw = part(&data, 0, 240);
    let normaliser = Normaliser::fit(NormaliserKind::ZScore, &raw);
    normaliser.apply(&mut data)?;
    let (train, validation, test) = (part(&data, 0, 240), part(&data, 240, 320), part(&data, 320, 400));

    let convention = Convention::default();
    let config = GradientConfig { epochs: 60, learning_rate: 0.005, patience: Some(10), ..GradientConfig::default() };
    let context = FitContext {
        device: Device::flex(),
        seed: SEED,
        selection: Selection { measure: Measure::Ndcg(Some(10)), convention: convention.clone() },
        directory: None,
        resume: false,
        dashboard: false,
        progress: &NoProgress,
        interrupt: Interrupt::default(),
    };
    let learner = Gradient::new(config.clone(), scorer.clone(), loss.clone())?;
    let fitted = learner.fit(&train, Some(&validation), &context)?;

    let mut measures = BTreeMap::new();
    for (name, data) in [("validation", &validation), ("test", &test)] {
        for (measure, value) in means(data, &fitted.model.predict(data, &context.device))? {
            measures.insert(format!("{name} {measure}"), value);
        }
    }
    let metadata = Metadata {
        feature_names: None,
        config: json!({
            "data": { "synth": synth, "queries": { "train": 240, "validation": 80, "test": 80 } },
            "scorer": scorer,
            "loss": loss,
            "learner": config,
        }),
        convention,
        measures,
        data_hash: raw.data_hash(),
        seed: SEED,
        versions: Versions::current(),
    };
    Ok(Ranker::new(normaliser, fitted.model, metadata)?)
}

/// Scores and measures of a ranker on a few generated queries.
fn expectation(ranker: &Ranker) -> Result<serde_json::Value, Box<dyn Error>> {
    let synth =
        SynthConfig { queries: 4, seed: SEED + 1, median_length: 8.0, max_length: 20, ..SynthConfig::default() };
    let data = synth.generate()?;
    let scores = ranker.predict(&data, &Device::flex())?;
    let measures: BTreeMap<String, f64> = means(&data, &scores)?.into_iter().collect();
    Ok(json!({ "synth": synth, "scores": scores, "measures": measures }))
}

fn means(data: &Dataset, scores: &[f32]) -> Result<Vec<(String, f64)>, Box<dyn Error>> {
    let rankings = Rankings { scores, labels: &data.labels, offsets: &data.offsets, document_ids: &[] };
    let measures = [Measure::Ndcg(Some(10)), Measure::Ap(None)];
    let evaluation = evaluate(&rankings, &measures, &Convention::default())?;
    Ok(evaluation.means.into_iter().map(|(measure, value)| (measure.to_string(), value)).collect())
}
