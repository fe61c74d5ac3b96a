//! `importance`: what a measure loses when a feature is shuffled.

use serde_json::Value;

use super::Bench;

/// A linear ranker of only the second feature, and data that it ranks perfectly.
fn trained() -> Bench {
    let bench = Bench::default();
    let mut text = String::new();
    for query in 0..12 {
        for document in 0..6 {
            let (label, other) = (document % 3, (document * 7 + query * 5) % 6);
            text += &format!("{label} qid:{query} 1:{other} 2:{label} 3:1\n");
        }
    }
    bench.write("data.txt", &text);
    bench.write(
        "linear.toml",
        "data = { train = [\"data.txt\"], test = [\"data.txt\"] }\nlearner = { kind = \"regression\" }\n",
    );
    bench.output(&["train", "linear.toml", "--out", "run", "--quiet"]);
    bench
}

#[test]
fn the_feature_that_decides_loses_most_and_a_constant_one_nothing() {
    let bench = trained();
    let args = ["importance", "run", "data.txt", "-m", "ndcg@3", "--json"];
    let record: Value = serde_json::from_str(&bench.output(&args)).unwrap();
    let features = record["features"].as_array().unwrap();
    assert_eq!(features.len(), 3);
    assert_eq!(features[0]["feature"], 2);
    assert!(features[0]["low"].as_f64().unwrap() > 0.1, "{record}");
    let constant = features.iter().find(|feature| feature["feature"] == 3).unwrap();
    assert_eq!((constant["loss"].as_f64(), constant["high"].as_f64()), (Some(0.0), Some(0.0)));
    assert_eq!(bench.output(&args), bench.output(&args), "one seed, one result");
    let across: Value = serde_json::from_str(&bench.output(&[&args[..], &["--across"]].concat())).unwrap();
    assert_eq!(across["features"][0]["feature"], 2);
}

#[test]
fn the_table_is_at_most_80_columns_wide_and_names_what_it_shows() {
    let bench = trained();
    let table = bench.output(&["importance", "run", "data.txt"]);
    assert!(
        table.starts_with("ndcg@10 in the standard convention, 12 queries, 5 shuffles within queries\nfeature"),
        "{table}"
    );
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    assert!(table.lines().nth(1).unwrap().ends_with("weight"), "{table}");
}

#[test]
fn bad_input_is_refused() {
    let bench = trained();
    assert!(bench.refused(&["importance", "run", "data.txt", "-m", "ndgc"]).contains("ndgc"));
    assert!(bench.refused(&["importance", "run", "data.txt", "--repeats", "0"]).contains("--repeats"));
    bench.write("wide.txt", "1 qid:1 9:1\n0 qid:1 1:2\n");
    assert!(
        bench.refused(&["importance", "run", "wide.txt"]).contains("a feature index of at most 3, as the ranker has")
    );
}
