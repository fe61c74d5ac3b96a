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
epochs = 30
learning_rate = 0.1
[measure]
round = 30
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

/// Over 24 seeds the second score exceeds the first by .75 if the first query weighs more (deviation .06), and by -.72
/// if the second one does (deviation .16).
#[test]
fn training_follows_the_weights_of_queries() {
    let scores = |weights: &str| -> Vec<f64> {
        let bench = bench(weights);
        bench.output(&["train", "run.toml", "--out", "run"]);
        bench.output(&["predict", "run", "train.txt"]).lines().map(|line| line.parse().unwrap()).collect()
    };
    let (first, second) = (scores("9\n1\n"), scores("1\n9\n"));
    assert!(first[0] < first[1] && second[1] < second[0], "the heavier query is ordered: {first:?} {second:?}");
    assert_eq!(scores("1\n0\n"), scores("5\n0\n"), "only ratios count");
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
