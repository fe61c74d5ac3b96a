//! Measures the time that each kind of ranker needs to score one query in this process.
//!
//! The rankers have random weights and trees, because scoring time depends on a ranker's shape, not on what it has
//! learned. Each request goes through the whole ranker, from raw features through the normalizer to scores.

use std::hint::black_box;
use std::time::Instant;

use burn::tensor::Device;
use burn_rank::data::{Normalizer, NormalizerKind, RankingDataset};
use burn_rank::json::Value;
use burn_rank::ranker::{Member, Members, Metadata, Model, Ranker, TreeEnsemble};
use burn_rank::refusal::Refusal;
use burn_rank::scorer::{AttentionScorerConfig, LatentCrossScorerConfig, MlpScorerConfig, ScorerConfig};
use burn_rank::seed::seed_for;
use burn_rank::workbench::ask_memory;
use burn_rank::workbench::json::json;
use burn_rank::workbench::memory::product;
use burn_rank::workbench::ranker::{self, KernelExpansion, Node};
use chacha20::ChaCha8Rng;
use clap::{Args, value_parser};
use rand::{RngExt, SeedableRng};

use super::SEED;
use crate::experiment::ExperimentError;
use crate::number::median;

/// The number of untimed warm-up requests.
const WARM_UP: usize = 20;

/// The number of landmarks in the kernel expansion, equal to the default for `smooth_rank`.
const LANDMARKS: usize = 500;

/// The number of perceptrons in the ensemble that is timed.
const MEMBERS: usize = 10;

/// The number of perceptrons that are timed as members of one ranker.
const JOINED: usize = 6;

/// Leaves of a tree.
const LEAVES: usize = 31;

/// The arguments of a benchmark that times the scoring of single queries.
#[derive(Debug, Clone, Copy, Args)]
pub struct ServingBench {
    /// Documents of the query
    #[arg(long, default_value_t = 100, value_parser = value_parser!(u32).range(1..=100_000))]
    pub documents: u32,
    /// Features of each document
    #[arg(long, default_value_t = 136, value_parser = value_parser!(u32).range(1..=10_000))]
    pub features: u32,
    /// Number of timed requests to each ranker
    #[arg(long, default_value_t = 1000, value_parser = value_parser!(u32).range(1..))]
    pub requests: u32,
}

impl ServingBench {
    /// Times every kind of ranker, calls `done` with the number of rankers so far, and returns a row for each.
    ///
    /// # Errors
    /// Returns an error if the memory does not suffice or the device fails.
    pub fn run(&self, device: &Device, name: &str, done: impl Fn(usize)) -> Result<Vec<Value>, ExperimentError> {
        let [documents, features, requests] =
            [self.documents, self.features, self.requests].map(|number| number as usize);
        // Raw, copied and normalized features of the query, landmarks, and the times.
        let numbers = product([3 * size_of::<f32>(), features, documents + LANDMARKS]);
        let bytes = numbers.saturating_add(product([requests, size_of::<f64>()]));
        let what = format!("a benchmark of {requests} requests of {documents} documents of {features} features");
        ask_memory("requests", what, bytes, "lower one of these numbers")?;
        let query = RankingDataset::builder()
            .features(random_numbers("serving features", documents * features), features)
            .labels(vec![0.0; documents])
            .query_sizes(&[documents])
            .build()?;
        let mut rows = Vec::new();
        for (ranker, model) in models(&query, device)? {
            let kind = match model {
                // Trees need no normalizer, and the bench gives each member one.
                Model::Trees(_) | Model::Members(_) => NormalizerKind::None,
                _ => NormalizerKind::ZScore,
            };
            let served = Ranker::new(Normalizer::fit(&query, kind), model, Metadata::default())?;
            let mut times = Vec::with_capacity(requests);
            for request in 0..WARM_UP + requests {
                let start = Instant::now();
                black_box(served.predict(black_box(&query), device)?);
                if request >= WARM_UP {
                    times.push(1e6 * start.elapsed().as_secs_f64());
                }
            }
            let median_us = median(&mut times).unwrap_or(f64::NAN);
            let p99_us = nearest_rank(&times, 0.99);
            rows.push(json!({
                "path": null, "peer": format!("burn-rank/{name}"), "ranker": ranker, "documents": documents,
                "features": features, "requests": requests, "median_us": median_us, "p99_us": p99_us,
            }));
            done(rows.len());
        }
        Ok(rows)
    }
}

/// Returns an untrained model of every kind, each with its name.
fn models(query: &RankingDataset, device: &Device) -> Result<Vec<(String, Model)>, ExperimentError> {
    let features = query.feature_count;
    let perceptron =
        |hidden: &[usize]| ScorerConfig::Mlp(MlpScorerConfig { hidden: hidden.to_vec(), ..MlpScorerConfig::default() });
    let scorer = |config: ScorerConfig, seed: u64| config.init(features, seed, device);
    let mut models = Vec::new();
    for (name, config) in [
        ("linear", ScorerConfig::default()),
        ("perceptron 64", perceptron(&[64])),
        ("perceptron 256,128,64", perceptron(&[256, 128, 64])),
        ("attention", ScorerConfig::Attention(AttentionScorerConfig::default())),
        ("latent cross", ScorerConfig::LatentCross(LatentCrossScorerConfig::default())),
    ] {
        models.push((name.to_string(), Model::Scorer(scorer(config, SEED)?)));
    }
    let member = |number: usize| scorer(perceptron(&[64]), seed_for(SEED, "member", number as u64));
    let members = (0..MEMBERS).map(|number| Ok((1.0, member(number)?))).collect::<Result<Vec<_>, Refusal>>()?;
    models.push((format!("ensemble of {MEMBERS} perceptrons 64"), Model::Ensemble(members)));
    let joined = (0..JOINED).map(|number| {
        let normalizer = Normalizer::fit(query, NormalizerKind::ZScore);
        let ranker = Ranker::new(normalizer, Model::Scorer(member(number)?), Metadata::default())?;
        Ok(Member { name: number.to_string(), weight: 1.0, ranker })
    });
    let joined = Members::new(joined.collect::<Result<_, ExperimentError>>()?)?;
    models.push((format!("{JOINED} perceptrons 64 as members"), Model::Members(joined)));
    let landmarks = random_numbers("serving landmarks", LANDMARKS * features);
    let kernel = KernelExpansion::new(features, landmarks, vec![1.0; LANDMARKS], 1.0 / features as f64);
    let kernel = kernel.map_err(|error| Refusal::fault("kernel", error))?;
    models.push((format!("kernel expansion, {LANDMARKS} landmarks"), Model::Kernel(kernel)));
    for trees in [100, 500] {
        models.push((format!("{trees} trees of {LEAVES} leaves"), Model::Trees(random_trees(features, trees)?)));
    }
    Ok(models)
}

/// Returns random numbers from 0 to 1.
fn random_numbers(purpose: &str, count: usize) -> Vec<f32> {
    let mut random = ChaCha8Rng::seed_from_u64(seed_for(SEED, purpose, 0));
    (0..count).map(|_| random.random::<f32>()).collect()
}

/// Returns random trees, each grown leaf by leaf as with `growth = "leaf"`.
fn random_trees(features: usize, trees: usize) -> Result<TreeEnsemble, ExperimentError> {
    let mut random = ChaCha8Rng::seed_from_u64(seed_for(SEED, "serving trees", 0));
    let tree = |_| {
        let mut nodes = vec![Node::Leaf { value: 0.0 }];
        let mut leaves = vec![0];
        while leaves.len() < LEAVES {
            let split = leaves.swap_remove(random.random_range(0..leaves.len()));
            let (left, right) = (nodes.len(), nodes.len() + 1);
            nodes[split] = Node::Split {
                feature: random.random_range(0..features) as u32,
                threshold: random.random(),
                left: left as u32,
                right: right as u32,
                missing_left: false,
            };
            nodes.extend([Node::Leaf { value: random.random() }, Node::Leaf { value: random.random() }]);
            leaves.extend([left, right]);
        }
        nodes
    };
    Ok(ranker::trees(features, (0..trees).map(tree)).map_err(|error| Refusal::fault("trees", error))?)
}

/// Returns the percentile at `share`: the smallest value with at least this fraction of the sorted values at or below
/// it.
fn nearest_rank(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use burn_rank::workbench::json::json;

    use super::*;

    #[test]
    fn every_kind_of_ranker_is_timed() {
        let bench = ServingBench { documents: 3, features: 4, requests: 2 };
        let rows = bench.run(&Device::flex(), "flex", |_| ()).unwrap();
        assert_eq!(rows.len(), 10);
        let times = |row: &Value| [&row["median_us"], &row["p99_us"]].map(|time| time.as_f64().unwrap());
        assert!(rows.iter().map(times).all(|[median, p99]| median > 0.0 && p99 >= median), "{rows:?}");
        let query = RankingDataset::builder().features(vec![0.5; 12], 4).labels(vec![0.0; 3]).query_sizes(&[3]);
        let models = models(&query.build().unwrap(), &Device::flex()).unwrap();
        let kinds: Vec<Model> = models.into_iter().map(|(_, model)| model).collect();
        let nodes = |trees: &TreeEnsemble| json!(trees)["feature"].as_array().map(Vec::len);
        let trees = |model: &Model| matches!(model, Model::Trees(trees) if nodes(trees) == Some(trees.trees() * 61));
        assert_eq!(kinds.iter().filter(|model| trees(model)).count(), 2, "31 leaves and 30 splits");
    }

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let values: Vec<f64> = (1..=200).map(f64::from).collect();
        assert_eq!([nearest_rank(&values, 0.99), nearest_rank(&values[..3], 0.99)], [198.0, 3.0]);
    }
}
