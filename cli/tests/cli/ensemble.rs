//! `ensemble`: several rankers become one, and what is refused.

use std::fs;

use serde_json::Value;

use super::{Bench, SMALL, files};

/// Makes generated queries and three rankers of them: two networks with other normalizers, and trees.
fn trained() -> Bench {
    let bench = Bench::default();
    bench.output(&["synth", "--queries", "20", "--features", "5", "--out", "data.txt"]);
    bench.output(&["synth", "--queries", "8", "--features", "5", "--seed", "2", "--out", "valid.txt"]);
    let data = "data = { train = [\"data.txt\"] }\n";
    let network = "scorer = { kind = \"mlp\", hidden = [4] }\nloss = { name = \"list_net\" }\n\
                   learner = { kind = \"gradient\", epochs = 1 }\n";
    let trees = "loss = { name = \"lambda_ndcg\" }\nlearner = { kind = \"boosted_trees\", rounds = 3, leaves = 4 }\n";
    for (name, more) in [
        ("gauss", format!("normalizer = \"gauss\"\n{network}")),
        ("score", format!("normalizer = \"z_score\"\n{network}")),
        ("trees", format!("normalizer = \"none\"\n{trees}")),
    ] {
        bench.write(&format!("{name}.toml"), &format!("{more}{data}"));
        bench.output(&["train", &format!("{name}.toml"), "--out", name, "--quiet"]);
    }
    bench
}

fn scores(bench: &Bench, ranker: &str, data: &str) -> Vec<f64> {
    bench.output(&["predict", ranker, data]).lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn rankers_become_one_in_a_folder_with_its_card() {
    let bench = trained();
    let table = bench.output(&[
        "ensemble",
        "gauss",
        "score/ranker.safetensors",
        "trees",
        "--data",
        "valid.txt",
        "--out",
        "all",
    ]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], "8 validation queries, standard convention");
    assert!(lines[1].starts_with("ranker") && lines[1].ends_with("ndcg@10"), "{table}");
    for (line, name) in lines[2..6].iter().zip(["gauss", "ranker.safetensors", "trees", "all"]) {
        assert!(line.starts_with(name), "{table}");
    }
    assert_eq!(lines[6], "written to all, its card is all/README.md");
    assert_eq!(files(&bench.path("all")), ["README.md", "ranker.safetensors"]);
    let card = fs::read_to_string(bench.path("all/README.md")).unwrap();
    assert!(card.contains("| member `gauss` |") && card.contains("| validation ndcg@10 |"), "{card}");

    // The mean of standardized scores, computed from the scores of the members.
    let own = ["gauss", "score", "trees"].map(|name| scores(&bench, name, "valid.txt"));
    let all = scores(&bench, "all", "valid.txt");
    let text = fs::read_to_string(bench.path("valid.txt")).unwrap();
    let queries: Vec<&str> = text.lines().map(|line| line.split(' ').nth(1).unwrap()).collect();
    for query in queries.chunk_by(|a, b| a == b).scan(0, |start, query| {
        *start += query.len();
        Some(*start - query.len()..*start)
    }) {
        let standardized = own.each_ref().map(|scores| {
            let scores = &scores[query.clone()];
            let mean = scores.iter().sum::<f64>() / scores.len() as f64;
            let variance = scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / scores.len() as f64;
            let standardized = scores.iter().map(|score| (score - mean) / variance.sqrt().max(1e-12));
            standardized.collect::<Vec<_>>()
        });
        for (place, score) in all[query].iter().enumerate() {
            let expected = standardized.iter().map(|scores| scores[place]).sum::<f64>() / 3.0;
            assert!((score - expected).abs() < 1e-4, "{score} {expected}");
        }
    }
    // The same command replaces its folder with the same bytes; other commands take the ranker.
    let bytes = fs::read(bench.path("all/ranker.safetensors")).unwrap();
    bench.output(&["ensemble", "gauss", "score", "trees", "--data", "valid.txt", "--out", "other"]);
    let args =
        ["ensemble", "gauss", "score/ranker.safetensors", "trees", "--data", "valid.txt", "--out", "all", "--json"];
    let record: Value = serde_json::from_str(&bench.output(&args)).unwrap();
    assert_eq!(fs::read(bench.path("all/ranker.safetensors")).unwrap(), bytes);
    assert_eq!((&record["standardize"], &record["queries"]), (&"query".into(), &8.into()));
    assert_eq!(record["members"].as_array().unwrap().len(), 3);
    assert!(record["members"][2]["measures"]["ndcg@10"].as_f64() > Some(0.0), "{record}");
    let eval: Value =
        serde_json::from_str(&bench.output(&["eval", "all", "valid.txt", "-m", "ndcg@10", "--json"])).unwrap();
    assert_eq!(eval["measures"]["ndcg@10"], record["measures"]["ndcg@10"], "{eval} {record}");
    bench.output(&["importance", "all", "valid.txt", "--repeats", "1"]);
    bench.output(&["models", "show", "all"]);
}

#[test]
fn fixed_deviations_score_each_document_by_itself_and_trees_are_exported() {
    let bench = trained();
    let args = ["ensemble", "trees", "trees", "--weights", "2,1", "--standardize", "fixed", "--data", "valid.txt"];
    let record: Value =
        serde_json::from_str(&bench.output(&[&args[..], &["--out", "all", "--json"]].concat())).unwrap();
    let deviation = record["members"][0]["deviation"].as_f64().unwrap();
    let own = scores(&bench, "trees", "valid.txt");
    for (score, own) in scores(&bench, "all", "valid.txt").iter().zip(&own) {
        assert!((score - own / deviation).abs() < 1e-5, "{score} {own}");
    }
    bench.output(&["convert", "all", "trees.txt"]);
    for (score, own) in scores(&bench, "trees.txt", "valid.txt").iter().zip(&own) {
        assert!((score - own / deviation).abs() < 1e-5, "{score} {own}");
    }
    bench.output(&["convert", "all", "trees.json", "--format", "xgboost"]);
    for format in ["onnx", "onnx-batch"] {
        bench.output(&["convert", "all", "all.onnx", "--format", format]);
    }
    let refused = bench.refused(&["convert", "all", "all.xml"]);
    assert!(refused.contains("RankLib XML cannot hold an ensemble of members: expected"), "{refused}");
    bench.output(&["ensemble", "gauss", "trees", "--out", "mixed"]);
    let refused = bench.refused(&["convert", "mixed", "mixed.txt", "--format", "lightgbm"]);
    assert!(refused.contains("LightGBM text cannot hold an ensemble of members: expected"), "{refused}");
    let refused = bench.refused(&["predict", "mixed", "valid.txt", "--contributions"]);
    assert!(refused.contains("found an ensemble of members, expected a ranker that is a sum of trees"), "{refused}");
}

#[test]
fn what_cannot_be_joined_is_refused_and_nothing_is_written() {
    let bench = trained();
    bench.write("small.toml", SMALL);
    bench.output(&["train", "small.toml", "--out", "small", "--quiet"]);
    let before = files(&bench.path(""));
    for (args, expected) in [
        (&["gauss"][..], "2 values required"),
        (&["gauss", "small"], "member `small`: found 10 features, expected 5, as member `gauss` has"),
        (&["gauss", "score", "--weights", "1"], "--weights: found 1, expected 2, one for each ranker"),
        (&["gauss", "score", "--weights", "1,-2"], "member `score`: found the weight -2, expected a finite number"),
        (&["gauss", "score", "--weights", "0,0"], "found weights with the sum 0, expected a finite sum above 0"),
        (&["gauss", "score", "--weights", "1,x"], "invalid value 'x'"),
        (&["gauss", "score", "--standardize", "fixed"], "--standardize fixed: expected --data with validation queries"),
        (&["gauss", "score", "-m", "map"], "--data"),
        (&["gauss", "absent"], "absent"),
    ] {
        let refused = bench.refused(&[&["ensemble"], args, &["--out", "all"]].concat());
        assert!(refused.contains(expected), "{args:?}: {refused}");
    }
    let refused = bench.refused(&["ensemble", "gauss", "score", "--out", "gauss"]);
    assert!(refused.contains("gauss: "), "{refused}");
    assert_eq!(files(&bench.path("")), before);
}
