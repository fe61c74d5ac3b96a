//! `burn-rank clicks`, and training with the files that it writes.

use super::Bench;

/// Three queries of three documents, of which the first feature shows the order.
const DATA: &str = "\
2 qid:1 1:0.1 2:0.9
0 qid:1 1:0.9 2:0.1
1 qid:1 1:0.5 2:0.5
0 qid:2 1:0.7 2:0.2
2 qid:2 1:0.2 2:0.8
0 qid:2 1:0.1 2:0.3
1 qid:3 1:0.3 2:0.6
0 qid:3 1:0.8 2:0.4
0 qid:3 1:0.6 2:0.1
";

const SCORES: &str = "0.1\n0.9\n0.5\n0.7\n0.2\n0.1\n0.3\n0.8\n0.6\n";

fn bench() -> Bench {
    let bench = Bench::default();
    bench.write("data.txt", DATA);
    bench.write("scores.txt", SCORES);
    bench
}

fn read(bench: &Bench, name: &str) -> String {
    std::fs::read_to_string(bench.path(name)).unwrap()
}

#[test]
fn clicks_and_weights_are_written_side_by_side() {
    let bench = bench();
    let arguments = ["clicks", "--scores", "scores.txt", "data.txt", "--sessions", "20", "--out"];
    let printed = bench.output(&[&arguments[..], &["clicks.txt"]].concat());
    let (clicks, weights) = (read(&bench, "clicks.txt"), read(&bench, "clicks.txt.weight"));
    assert_eq!(clicks.lines().count(), weights.lines().count());
    let sessions = clicks.lines().count() / 3;
    assert!(printed.starts_with(&format!("{sessions} of 60 sessions have a click and are written\n")), "{printed}");
    for (index, (click, weight)) in clicks.lines().zip(weights.lines()).enumerate() {
        let (label, weight): (&str, f64) = (&click[..1], weight.parse().unwrap());
        assert!(click[2..].starts_with("qid:") && click.contains('-'), "{click}");
        assert!(if label == "1" { [1.0, 2.0, 3.0].contains(&weight) } else { weight == 1.0 }, "line {index}: {weight}");
    }
    let counted: serde_json::Value =
        serde_json::from_str(&bench.output(&[&arguments[..], &["again.txt", "--json"]].concat())).unwrap();
    assert_eq!(read(&bench, "again.txt"), clicks, "the same seed");
    assert_eq!((counted["sessions"].as_u64(), counted["clipped_weights"].as_u64()), (Some(60), Some(0)));
    assert_eq!(counted["sessions_with_clicks"].as_u64(), Some(sessions as u64));
    assert_eq!(counted["clicks"].as_u64(), Some(clicks.lines().filter(|line| line.starts_with('1')).count() as u64));
}

#[test]
fn a_run_a_ranker_and_scores_show_the_same_order() {
    let bench = bench();
    bench.write("run.toml", "[data]\ntrain = [\"data.txt\"]\n[learner]\nkind = \"regression\"\n");
    bench.output(&["train", "run.toml", "--out", "logger"]);
    bench.output(&["predict", "logger", "data.txt", "--out", "by_logger.txt"]);
    bench.output(&["predict", "logger", "data.txt", "--run-id", "logger", "--out", "run.txt"]);
    bench.output(&["clicks", "logger", "data.txt", "--out", "by_ranker"]);
    bench.output(&["clicks", "--scores", "by_logger.txt", "data.txt", "--out", "by_scores"]);
    bench.output(&["clicks", "--run", "run.txt", "data.txt", "--out", "by_run"]);
    assert_eq!(read(&bench, "by_scores"), read(&bench, "by_ranker"));
    assert_eq!(read(&bench, "by_run"), read(&bench, "by_ranker"));
    assert_eq!(read(&bench, "by_run.weight"), read(&bench, "by_ranker.weight"));
}

#[test]
fn training_follows_the_weights_of_documents() {
    let bench = bench();
    bench.output(&["clicks", "--scores", "scores.txt", "data.txt", "--out", "clicks.txt"]);
    let config = "[data]\ntrain = [\"clicks.txt\"]\nvalidation = [\"data.txt\"]\n[loss]\nname = \"softmax_cross_entropy\"\n\
                  [learner]\nkind = \"gradient\"\nepochs = 2\n";
    bench.write("run.toml", config);
    let weighted = ["--set", "data.read.document_weights=file"];
    let objective = |name: &str, set: &[&str]| {
        bench.output(&[&["train", "run.toml", "--out", name][..], set].concat());
        let report: serde_json::Value = serde_json::from_str(&read(&bench, &format!("{name}/report.json"))).unwrap();
        report["history"][0]["objective"].as_f64().unwrap()
    };
    assert!(objective("debiased", &weighted) > 1.1 * objective("naive", &[]), "weights are 1 or above");
    let refused =
        |set: &str| bench.refused(&[&["train", "run.toml", "--out", "x", "--set", set][..], &weighted].concat());
    let loss = refused("loss.name=approx_ap");
    let expected =
        "data.read.document_weights: found \"file\", expected \"none\": approx_ap does not accept document weights";
    assert!(loss.contains(expected), "{loss}");
    bench.write("run.toml", &config.replace("softmax_cross_entropy", "smooth_dcg"));
    let learner = refused("learner={kind=\"smooth_rank\"}");
    assert!(
        learner.contains("the learner `smooth_rank` does not use document weights; `boosted_trees` and `gradient` do"),
        "{learner}"
    );
    bench.write("clicks.txt.weight", "1\n2\n");
    let short = refused("seed=1");
    assert!(short.contains("clicks.txt.weight: 2 document weights, "), "{short}");
}

#[test]
fn what_cannot_be_generated_is_refused() {
    let bench = bench();
    let refused = |arguments: &[&str]| bench.refused(&[&["clicks"][..], arguments].concat());
    let scores = ["--scores", "scores.txt", "data.txt", "--out"];
    assert!(
        refused(&["data.txt", "--out", "x"]).contains("expected MODEL DATA, --scores FILE DATA, or --run FILE DATA")
    );
    assert!(refused(&[&scores[..], &["x", "--eta=-1"]].concat()).contains("eta = -1: expected from 0 to 10"));
    assert!(refused(&[&scores[..], &["-"]].concat()).contains("--out -: expected a file"));
    assert!(refused(&[&scores[..], &["x.arrow"]].concat()).contains("--out x.arrow: expected a name for LETOR text"));
    assert!(refused(&[&scores[..], &["data.txt"]].concat()).contains("expected a different file: this one is read"));
    bench.write("data.txt.weight", "1\n");
    std::fs::rename(bench.path("data.txt.weight"), bench.path("x.weight")).unwrap();
    let over = refused(&["--scores", "x.weight", "data.txt", "--out", "x"]);
    assert!(over.contains("x.weight: expected a different file: this one is read"), "{over}");
    bench.write("run.txt", "1 Q0 absent 1 0.5 t\n");
    let absent = refused(&["--run", "run.txt", "data.txt", "--out", "x"]);
    assert!(absent.contains("a document of query `1` in the run is `absent`"), "{absent}");
}
