//! Weights of queries, from the file to the ranker.

use super::Bench;

const CONFIG: &str = r#"
[data]
train = ["train.txt"]
validation = ["vali.txt"]
read = { query_weights = "file" }
[loss]
name = "list_net"
[learner]
kind = "gradient"
epochs = 3
"#;

/// Two queries of opposite meaning: what is learned depends on which weighs more.
fn bench(weights: &str) -> Bench {
    let bench = Bench::default();
    let data = "0 qid:1 1:0 2:1\n1 qid:1 1:1 2:0.5\n1 qid:2 1:0 2:1\n0 qid:2 1:1 2:0.5\n";
    bench.write("run.toml", CONFIG);
    bench.write("train.txt", data);
    bench.write("vali.txt", data);
    bench.write("train.txt.query_weights", weights);
    bench
}

#[test]
fn training_follows_the_weights_of_queries() {
    let first_weight = |weights: &str| {
        let bench = bench(weights);
        bench.output(&["train", "run.toml", "--out", "run"]);
        let report: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(bench.path("run/report.json")).unwrap()).unwrap();
        report["history"][2]["objective"].as_f64().unwrap() - report["history"][0]["objective"].as_f64().unwrap()
    };
    // One query outweighs the other, so that the mean loss sinks; two that cancel out leave less to learn.
    assert!(first_weight("9\n1\n") < 0.0);
    assert!(first_weight("1\n9\n") < 0.0);
    assert_eq!(first_weight("1\n0\n"), first_weight("5\n0\n"), "only ratios count");
}

#[test]
fn weights_that_do_not_fit_are_refused() {
    let refused = |bench: &Bench, set: &str| bench.refused(&["train", "run.toml", "--out", "run", "--set", set]);
    let short = refused(&bench("1\n"), "seed=1");
    assert!(short.contains("train.txt.query_weights: 1 query weight, "), "{short}");
    assert!(short.contains("train.txt has 2 queries"), "{short}");
    let learner = refused(&bench("1\n1\n"), "learner={kind=\"boosted_trees\"}");
    assert!(learner.contains("data.read.query_weights: "), "{learner}");
    assert!(learner.contains("the learner `boosted_trees` does not use query weights; `gradient` does"), "{learner}");
}
