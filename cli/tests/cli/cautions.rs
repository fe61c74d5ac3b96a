//! What qualifies the values of a run is said where they are printed: who chose the round, how few queries count, and
//! what was not read.

use std::fs;

use serde_json::Value;

use super::{Bench, SMALL};

/// Runs `train` and returns standard output and standard error, with the lines joined.
fn trained(bench: &Bench, args: &[&str]) -> (String, String) {
    let output = bench.command(&[&["train"], args].concat()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout).replace('\n', " "), text(output.stderr))
}

const CHOSEN: &str =
    "no validation queries: the round is chosen on the training queries, whose value is too high; use cv";

#[test]
fn without_validation_queries_a_warning_precedes_the_fit_and_the_result_repeats_it() {
    let bench = Bench::default();
    bench.output(&["synth", "--queries", "24", "--features", "4", "--median-length", "5", "--out", "data.txt"]);
    bench.write("one.toml", "data = { train = [\"data.txt\"] }\nlearner = { kind = \"regression\" }\n");
    let (out, err) = trained(&bench, &["one.toml", "--out", "run"]);
    assert!(err.contains(&format!("warning: {CHOSEN}")), "{err}");
    assert!(out.contains(CHOSEN), "{out}");
    let report: Value = serde_json::from_str(&fs::read_to_string(bench.path("run/report.json")).unwrap()).unwrap();
    assert!(report["cautions"][0].as_str().unwrap().starts_with(CHOSEN), "{report}");
    let page = fs::read_to_string(bench.path("run/report.html")).unwrap();
    assert!(page.contains(CHOSEN) && page.contains("There are no test queries."));
    let (out, _) = trained(&bench, &["one.toml", "--out", "json", "--json"]);
    assert!(serde_json::from_str::<Value>(&out).unwrap()["cautions"][0].as_str().unwrap().starts_with(CHOSEN));
    // A round that is given was not chosen here, and with validation queries nothing is to be said.
    let (out, err) = trained(&bench, &["one.toml", "--out", "given", "--set", "measure.round=1"]);
    assert!(!out.contains("no validation") && !err.contains("no validation"), "{out}{err}");
    let (out, err) = trained(&bench, &["one.toml", "--out", "split", "--set", "data.split={}"]);
    assert!(!out.contains("no validation") && !err.contains("no validation"), "{out}{err}");
}

#[test]
fn many_measures_fit_a_terminal() {
    let bench = Bench::default();
    bench.write("many.toml", SMALL);
    let measures = (1..=10).map(|rank| format!("\"ndcg@{rank}\"")).collect::<Vec<_>>().join(", ");
    let set = format!("measure.report=[{measures}]");
    for command in ["train", "cv"] {
        let text = bench.output(&[command, "many.toml", "--set", &set, "--out", command]);
        assert!(text.contains("ndcg@9") && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}

#[test]
fn train_names_the_sections_that_it_does_not_read() {
    let bench = Bench::default();
    let both = "[grid]\n\"learner.learning_rate\" = [0.1, 0.01]\n[cv]\nseeds = [1, 2]\n";
    bench.write("both.toml", &format!("{SMALL}{both}"));
    let note = "note: train ignores [grid] and [cv]; only cv reads them\n";
    assert_eq!(trained(&bench, &["both.toml", "--out", "run"]).1.matches(note).count(), 1);
    assert!(!trained(&bench, &["both.toml", "--out", "quiet", "--quiet"]).1.contains("note"));
    bench.write("none.toml", SMALL);
    assert!(!trained(&bench, &["none.toml", "--out", "none"]).1.contains("note"));
}

#[test]
fn labels_between_0_and_1_are_measured_with_the_convention_that_the_warning_names() {
    let bench = Bench::default();
    let mut text = String::new();
    for query in 0..12 {
        for place in 0..4 {
            let label = if query == 3 && place == 1 { 1.0 } else { 0.1 * f64::from((query + place) % 5) };
            text += &format!("{label} qid:{query} 1:{} 2:{place}\n", label + 0.01 * f64::from(query));
        }
    }
    bench.write("data.txt", &text);
    bench.write(
        "one.toml",
        "data = { train = [\"data.txt\"] }\nlearner = { kind = \"regression\", gain = \"linear\" }\n",
    );
    let (out, err) = trained(&bench, &["one.toml", "--out", "run"]);
    let few = "11 of 12 training queries have no document with a label of 1 or above: the means are over the other 1";
    let few = format!("{few} for map; ");
    assert!(err.contains(&few) && out.contains(&few), "{err}{out}");
    let convention = err.split("set measure.convention = ").nth(1).unwrap().lines().next().unwrap();
    assert_eq!(convention, "{ gain = \"linear\", relevant_from = 0.05 }");
    let set = format!("measure.convention={convention}");
    let (out, err) = trained(&bench, &["one.toml", "--out", "all", "--set", &set]);
    assert!(!err.contains("queries have no document") && !out.contains("queries have no document"), "{err}");
    // Graded measures are over all queries with a label above 0.
    let (out, err) = trained(&bench, &["one.toml", "--out", "graded", "--set", "measure.report=[\"ndcg@5\"]"]);
    assert!(!err.contains("queries have no document") && !out.contains("queries have no document"), "{err}");
    // cv says it once, of the test queries of all folds.
    let cv =
        bench.command(&["cv", "one.toml", "--set", "cv.split=3", "--set", "measure.convention={empty={value=0.0}}"]);
    let err = String::from_utf8({ cv }.output().unwrap().stderr).unwrap();
    assert_eq!(err.matches("11 of 12 test queries have no document").count(), 1, "{err}");
}

#[test]
fn sets_are_listed_in_the_order_of_their_use() {
    let bench = Bench::default();
    bench.write("small.toml", SMALL);
    let out = bench.output(&["train", "small.toml", "--out", "run"]);
    let names = ["train", "validation", "test"];
    let sets = out.lines().filter_map(|line| line.split(' ').next()).filter(|word| names.contains(word));
    assert_eq!(sets.collect::<Vec<_>>(), names, "{out}");
    let card = bench.output(&["models", "show", "run"]);
    let measures = card.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" ndcg@10 "));
    assert_eq!(measures.map(|(set, _)| set).collect::<Vec<_>>(), names, "{card}");
}
