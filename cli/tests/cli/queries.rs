//! `eval --queries`: single queries with their documents in ranked order.

use serde_json::{Value, json};

use super::Bench;

/// Three queries; the last has no relevant document.
const DATA: &str = "0 qid:a 1:0 #docid = x\n2 qid:a 1:0 #docid = y\n1 qid:b 1:0 #docid = z\n0 qid:c 1:0 #docid = w\n";

fn bench() -> Bench {
    let bench = Bench::default();
    bench.write("data", DATA);
    bench.write("scores", "0.5\n0.25\n1\n2\n");
    bench
}

#[test]
fn the_worst_and_the_best_queries_are_shown_with_their_documents() {
    let bench = bench();
    let plain = bench.output(&["eval", "--scores", "scores", "data", "-m", "mrr,map"]);
    let text = bench.output(&["eval", "--scores", "scores", "data", "-m", "mrr,map", "--queries", "worst:1,best:1"]);
    let shown = "
worst 1 of 1: query a, mrr 0.5000
rank   score  label  ideal  document
1     0.5000      0      2         x
2     0.2500      2      1         y

best 1 of 1: query b, mrr 1.0000
rank   score  label  ideal  document
1     1.0000      1      1         z
";
    assert_eq!(text, plain + shown);
    let args = ["eval", "--scores", "scores", "data", "-m", "mrr", "--queries", "worst:5", "--json"];
    let value: Value = serde_json::from_str(&bench.output(&args)).unwrap();
    let shown = &value["queries_shown"];
    // The convention leaves the query without a relevant document out.
    assert_eq!((&shown["measure"], shown["worst"].as_array().unwrap().len()), (&json!("mrr"), 2));
    assert_eq!(shown["best"], json!([]));
    let first = json!({"rank": 1, "document": "x", "score": 0.5, "label": 0.0, "ideal_rank": 2});
    assert_eq!(shown["worst"][0]["shown"][0], first);
}

#[test]
fn scores_that_only_64_bits_tell_apart_rank_as_they_are_measured() {
    let bench = bench();
    bench.write("scores", "0.5\n0.50000000001\n1\n2\n");
    let text = bench.output(&["eval", "--scores", "scores", "data", "-m", "mrr", "--queries", "best:1"]);
    let shown = "query a, mrr 1.0000
rank   score  label  ideal  document
1     0.5000      2      1         y
";
    assert!(text.contains(shown), "{text}");
}

#[test]
fn long_queries_are_cut() {
    let bench = Bench::default();
    let lines = |line: &dyn Fn(usize) -> String| (1..=40).map(line).collect::<String>();
    bench.write("data", &lines(&|document| format!("{} qid:1 1:0\n", u8::from(document == 30))));
    bench.write("scores", &lines(&|document| format!("{}\n", 40 - document)));
    let text = bench.output(&["eval", "--scores", "scores", "data", "--queries", "worst:1"]);
    let end = "15    25.0000      0     16        15
30    10.0000      1      1        30
of 40 documents the first 15 documents, and those that belong among the first 5
";
    assert!(text.ends_with(end), "{text}");
}

#[test]
fn what_cannot_be_shown_is_refused() {
    let bench = bench();
    let message = bench.refused(&["eval", "--scores", "scores", "data", "--queries", "wrst:3"]);
    let expected = "--queries: found `wrst:3`, expected worst:N, best:N, or both, separated by a comma; did you mean \
                    `worst`?";
    assert!(message.contains(expected), "{message}");
    let message = bench.refused(&["eval", "--scores", "scores", "data", "--queries", "best:0"]);
    assert!(message.contains("--queries: found `best:0`, expected best:N with N from 1 to 1000"), "{message}");
    let message = bench.refused(&["eval", "--qrels", "data", "--run", "scores", "--queries", "best:1"]);
    assert!(message.contains("--queries") && message.contains("cannot be used with"), "{message}");
}
