//! `study`: checks what papers prove, on generated queries and on given rankings.

use std::fs;

use serde_json::Value;

use super::Bench;
use super::bad_input::contains;

#[test]
fn every_study_runs_and_leaves_its_page() {
    let bench = Bench::default();
    let list = bench.output(&["study"]);
    for name in ["position-accuracy", "measure-accuracy", "softrank-directness"] {
        assert!(list.contains(name), "{list}");
        let text = bench.output(&["study", name, "--queries", "12", "--out", name]);
        assert!(
            text.starts_with(name) && text.contains("\nholds  Theorem") && !text.contains("fails  Theorem"),
            "{text}"
        );
        assert!(text.lines().skip(2).all(|line| line.chars().count() <= 140), "{text}");
        let report: Value =
            serde_json::from_str(&fs::read_to_string(bench.path(name).join("study.json")).unwrap()).unwrap();
        assert_eq!((report["study"].as_str(), report["queries"].as_u64()), (Some(name), Some(12)));
        let page = fs::read_to_string(bench.path(name).join("study.html")).unwrap();
        assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<svg") && page.ends_with("</html>\n"));
        let printed = bench.output(&["study", name, "--queries", "12", "--json"]);
        assert_eq!(serde_json::from_str::<Value>(&printed).unwrap(), report, "the same on every run");
    }
}

/// Scores 3, 1 and 2 with labels 1, 0 and 2 at alpha = 1: the error of ApproxNDCG is worked by hand. Ties have no
/// bound.
#[test]
fn a_given_ranking_is_studied() {
    let bench = Bench::default();
    bench.write("data", "1 qid:1 1:0\n0 qid:1 1:0\n2 qid:1 1:0\n1 qid:2 1:0\n0 qid:2 1:0\n0 qid:3 1:0\n");
    bench.write("scores", "3\n1\n2\n1\n1\n1\n");
    let args = ["study", "measure-accuracy", "--scores", "scores", "data", "--over", "1,2", "--json"];
    let report: Value = serde_json::from_str(&bench.output(&args)).unwrap();
    assert_eq!(report["subject"], "scores on data");
    assert_eq!((&report["queries"], &report["tied_queries"]), (&Value::from(2), &Value::from(1)), "query 3 is empty");
    let sigmoid = |t: f64| 1.0 / (1.0 + (-t).exp());
    let position = [1.0 + sigmoid(-2.0) + sigmoid(-1.0), 0.0, 1.0 + sigmoid(1.0) + sigmoid(-1.0)];
    let ideal = 3.0 + 1.0 / 3f64.log2();
    let approximate = (1.0 / (1.0 + position[0]).log2() + 3.0 / (1.0 + position[2]).log2()) / ideal;
    let first = (approximate - (1.0 + 3.0 / 3f64.log2()) / ideal).abs();
    // The documents of query 2 share the ranks 1 and 2; both are at position 1.5.
    let second = (1.0 / 2.5f64.log2() - 0.5 * (1.0 + 1.0 / 3f64.log2())).abs();
    let rho = report["tables"][0]["rows"][0][1][0].as_f64().unwrap();
    assert!((rho - 0.5 * (first + second)).abs() < 1e-9, "{rho}");
    assert_eq!(report["tables"][2]["rows"][0][1][0], 1.0, "one query has a bound");
    let text = bench.output(&["study", "softrank-directness", "--scores", "scores", "data", "--over", "1"]);
    assert!(text.contains("\nopen   Theorem 2") && text.contains("there are no queries"), "{text}");
}

#[test]
fn studies_that_cannot_be_made_are_refused() {
    let bench = Bench::default();
    bench.write("one", "1 qid:1 1:0\n1 qid:1 1:1\n");
    bench.write("scores", "1\n2\n");
    let refused = |args: &[&str]| bench.refused(&[&["study"], args].concat());
    contains(&refused(&["position-acuracy"]), &["unknown study", "did you mean `position-accuracy`?"]);
    contains(&refused(&["measure-accuracy", "--over", "0"]), &["alpha = 0: expected a finite number above 0"]);
    contains(&refused(&["measure-accuracy", "--over", "2,1"]), &["alpha = 1", "ascending"]);
    contains(&refused(&["measure-accuracy", "scores"]), &["expected MODEL DATA, --scores FILE DATA, or neither"]);
    contains(
        &refused(&["measure-accuracy", "--scores", "scores", "one"]),
        &["scores on one: found no query with a relevant and an irrelevant document"],
    );
}
