//! Cross-validation of the learners with an outer loop over the folds of a LETOR folder, selected on validation data.
//!
//! `cargo run --example outer_loops -- FOLDER [PREFIX]...`: only the rows whose name begins with a prefix, if any is given.

use std::path::{Path, PathBuf};
use std::time::Instant;

use burn::tensor::Device;
use burn_rank::data::{Dataset, folds, letor};
use burn_rank::learner::{FitContext, Interrupt, NoProgress, Selection, registry};
use burn_rank::loss::LossSpec;
use burn_rank::measure::{Convention, Measure, Rankings};
use serde_json::{Value, json};

/// Name of the row, measure that selects, `[learner]` and the name of `[loss]`.
fn rows() -> Vec<(&'static str, &'static str, Value, Option<&'static str>)> {
    vec![
        ("regression", "map", json!({"kind": "regression"}), None),
        ("regression-ndcg", "ndcg@10", json!({"kind": "regression"}), None),
        ("ada_rank-map", "map", json!({"kind": "ada_rank"}), None),
        ("ada_rank-map-once", "map", json!({"kind": "ada_rank", "reuse": false}), None),
        ("ada_rank-ndcg", "ndcg@10", json!({"kind": "ada_rank"}), None),
        ("ada_rank-ndcg-once", "ndcg@10", json!({"kind": "ada_rank", "reuse": false}), None),
        ("ada_rank-scorers", "map", json!({"kind": "ada_rank", "rounds": 10}), Some("approx_ndcg")),
        ("rank_boost", "map", json!({"kind": "rank_boost"}), None),
        ("rank_boost-ndcg", "ndcg@10", json!({"kind": "rank_boost"}), None),
        ("trees-lambda", "map", small_trees(), Some("lambda_ndcg")),
        ("trees-lambda-ndcg", "ndcg@10", small_trees(), Some("lambda_ndcg")),
        ("trees-approx", "map", small_trees(), Some("approx_ndcg")),
        ("rank_svm", "map", json!({"kind": "rank_svm"}), None),
        ("rank_svm-squared", "map", json!({"kind": "rank_svm", "loss": "squared_hinge"}), None),
        ("svm_map", "map", json!({"kind": "svm_map"}), None),
        ("permu_rank", "map", json!({"kind": "permu_rank"}), None),
        ("smooth_rank", "ndcg@50", json!({"kind": "smooth_rank"}), None),
        ("smooth_rank-ap", "map", json!({"kind": "smooth_rank"}), Some("smooth_ap_indicator")),
        ("smooth_rank-ap-ranks", "map", json!({"kind": "smooth_rank"}), Some("smooth_ap_rank")),
    ]
}

fn small_trees() -> Value {
    json!({"kind": "boosted_trees", "leaves": 7, "learning_rate": 0.05, "min_documents": 50})
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("expected the folder of the folds")?;
    let prefixes: Vec<String> = arguments.collect();
    let read = |paths: &Vec<PathBuf>| letor::read(paths, &letor::ReadOptions::default());
    let data: Vec<[Dataset; 3]> = folds::discover(Path::new(&folder))?
        .iter()
        .map(|fold| Ok([read(&fold.train)?, read(&fold.validation)?, read(&fold.test)?]))
        .collect::<Result<_, burn_rank::data::DataError>>()?;
    let convention = Convention::preset("letor")?;
    let measures: [Measure; 2] = ["map".parse()?, "ndcg@10".parse()?];
    for (name, selected_by, table, loss) in rows() {
        if !prefixes.is_empty() && !prefixes.iter().any(|prefix| name.starts_with(prefix)) {
            continue;
        }
        let loss = loss.map(LossSpec::new);
        let learner = registry::build(table.as_object().ok_or("a table")?, loss.as_ref(), None)?;
        let mut means = [0.0; 2];
        let mut folds = Vec::new();
        let start = Instant::now();
        for [train, validation, test] in &data {
            let context = FitContext {
                device: Device::flex(),
                seed: 1,
                selection: Selection { measure: selected_by.parse()?, convention: convention.clone() },
                directory: None,
                resume: false,
                dashboard: false,
                progress: &NoProgress,
                interrupt: Interrupt::default(),
            };
            let fitted = learner.fit(train, Some(validation), &context)?;
            let scores = fitted.model.predict(test, &context.device);
            let Dataset { labels, offsets, document_ids, .. } = test;
            let rankings = Rankings { scores: &scores, labels, offsets, document_ids };
            let values = [measures[0].mean(&convention, &rankings)?, measures[1].mean(&convention, &rankings)?];
            means.iter_mut().zip(values).for_each(|(mean, value)| *mean += value / data.len() as f64);
            folds.push(format!("{:.5} (round {})", values[0], fitted.best_round));
        }
        let seconds = start.elapsed().as_secs_f64() / data.len() as f64;
        println!(
            "{name}: MAP {:.4}, NDCG@10 {:.4}, {seconds:.2} s a fold; MAP {}",
            means[0],
            means[1],
            folds.join(", ")
        );
    }
    Ok(())
}
