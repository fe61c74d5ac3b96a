//! Trains the rankers of `models/` from `configs/models/`, and writes each with its card and the scores that it must
//! reproduce: `cargo run --release --example make_models [-- NAME...]`.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use burn::tensor::Device;
use burn_rank::data::SynthConfig;
use burn_rank::json::{Value, to_value};
use burn_rank::measure::{Measure, evaluate};
use burn_rank::ranker::Ranker;
use burn_rank_cli::{Document, Experiment, FitOptions, fit};
use serde::Serialize;

fn main() -> Result<(), Box<dyn Error>> {
    let root = &Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let only: Vec<String> = std::env::args().skip(1).collect();
    let mut configs: Vec<_> = std::fs::read_dir(root.join("configs/models"))?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<_>>()?;
    configs.sort();
    for path in configs {
        let config = Experiment::from_document(&Document::read(&path, &[])?)?;
        if !only.is_empty() && !only.contains(&config.name) {
            continue;
        }
        let ranker = train(&config)?;
        let base = root.join("models").join(&config.name);
        ranker.save(&base.with_extension("safetensors"))?;
        std::fs::write(base.with_extension("md"), ranker.card(&config.name))?;
        let expected = serde_json::to_string_pretty(&expectation(&ranker)?)?;
        std::fs::write(base.with_extension("json"), expected + "\n")?;
        println!("{}: {:?}", config.name, ranker.metadata().measures);
    }
    Ok(())
}

fn train(config: &Experiment) -> Result<Ranker, Box<dyn Error>> {
    let device = Device::flex();
    let options = FitOptions::new(&device);
    Ok(fit(config, &config.data.split(config.seed)?, config.seed, &options)?.ranker)
}

/// Scores and measures of a ranker on a few generated queries.
#[derive(Serialize)]
struct Expectation<'a> {
    synth: &'a SynthConfig,
    scores: &'a [f32],
    measures: BTreeMap<String, f64>,
}

/// Computes the scores and measures of a ranker on a few generated queries.
fn expectation(ranker: &Ranker) -> Result<Value, Box<dyn Error>> {
    let synth = SynthConfig { queries: 4, seed: 2, median_length: 8.0, max_length: 20, ..SynthConfig::default() };
    let data = synth.generate()?;
    let scores = ranker.predict(&data, &Device::flex())?;
    let rankings = data.rankings(&scores);
    let evaluation = evaluate(&rankings, &[Measure::Ndcg(Some(10)), Measure::Ap(None)], &ranker.metadata().convention)?;
    let measures: BTreeMap<String, f64> =
        evaluation.means.into_iter().map(|(measure, value)| (measure.to_string(), value)).collect();
    Ok(to_value(Expectation { synth: &synth, scores: &scores, measures })?)
}
