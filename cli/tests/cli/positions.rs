//! Positions of shown documents, from the file to the report.

use serde_json::Value;

use super::Bench;

/// The learner and the loss of most tests.
const TREES: &str = "\
[loss]
name = \"lambda_ndcg\"
[learner]
kind = \"boosted_trees\"
rounds = 4
min_documents = 2
position = { kind = \"additive\", l2 = 0.1 }
";

const NETWORK: &str = "\
[loss]
name = \"list_net\"
[learner]
kind = \"gradient\"
epochs = 10
batch_queries = 10
learning_rate = 0.05
position = { kind = \"additive\" }
";

/// The query of a row, its place in the query, its label and its features.
type Row = (usize, usize, u8, [usize; 2]);

/// Clicks on three documents of 40 queries, mostly on the first; the second feature decides among the others.
fn rows() -> impl Iterator<Item = Row> {
    (0..120).map(|row| {
        let (query, place) = (row / 3, row % 3);
        let clicked = u8::from(if query % 4 == 0 { place == 1 + query / 4 % 2 } else { place == 0 });
        (query, place, clicked, [row * 7 % 10, if place == 0 { 0 } else { 9 * usize::from(clicked == 1) }])
    })
}

fn text(bench: &Bench) {
    let line = |(query, _, label, [a, b]): Row| format!("{label} qid:{query} 1:{a} 2:{b}\n");
    bench.write("train.txt", &rows().map(line).collect::<String>());
    bench.write("train.txt.position", &rows().map(|(_, place, ..)| format!("p{place}\n")).collect::<String>());
    bench.write("run.toml", &format!("[data]\ntrain = [\"train.txt\"]\nvalidation = [\"train.txt\"]\n{TREES}"));
}

fn table(bench: &Bench) {
    let line = |(query, place, label, [a, b]): Row| format!("{label},{query},p{place},{a},{b}\n");
    bench.write("train.csv", &format!("label,query,place,a,b\n{}", rows().map(line).collect::<String>()));
    let line = |(query, _, label, [a, b]): Row| format!("{label},{query},{a},{b}\n");
    bench.write("vali.csv", &format!("label,query,a,b\n{}", rows().map(line).collect::<String>()));
    let data = "[data]\ntrain = [\"train.csv\"]\nvalidation = [\"vali.csv\"]\ncolumns = { position = \"place\" }\n";
    bench.write("table.toml", &format!("{data}{TREES}"));
}

fn report(bench: &Bench, folder: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(bench.path(folder).join("report.json")).unwrap()).unwrap()
}

#[test]
fn factors_are_reported_and_no_part_of_the_ranker() {
    let bench = Bench::default();
    text(&bench);
    bench.output(&["train", "run.toml", "--out", "run"]);
    let found = report(&bench, "run");
    let factor = |place: usize| found["positions"][place]["factor"].as_f64().unwrap();
    assert_eq!(found["positions"][0]["position"], "p0");
    assert_eq!(found["positions"][2]["documents"], 40);
    assert!(factor(0) > factor(1) && factor(0) > factor(2), "{}", found["positions"]);
    bench.output(&["report", "run"]);
    let html = std::fs::read_to_string(bench.path("run/report.html")).unwrap();
    assert!(html.contains("id=\"positions\""), "the section");
    // Data without positions get the same scores as data with other positions.
    let scores = bench.output(&["predict", "run", "train.txt"]);
    bench.write("train.txt.position", "x\n");
    assert_eq!(bench.output(&["predict", "run", "train.txt"]), scores);
    // Without the key, the file is not read.
    bench.output(&["train", "run.toml", "--out", "without", "--set", "learner.position="]);
    assert!(report(&bench, "without").get("positions").is_none());
}

#[test]
fn a_column_a_file_and_a_stream_give_the_same_factors() {
    let bench = Bench::default();
    text(&bench);
    table(&bench);
    bench.output(&["train", "run.toml", "--out", "of_text"]);
    bench.output(&["train", "table.toml", "--out", "of_table"]);
    let positions = report(&bench, "of_text")["positions"].clone();
    assert_eq!(report(&bench, "of_table")["positions"], positions);
    assert_eq!(report(&bench, "of_table")["feature_names"], serde_json::json!(["a", "b"]));
    let of_table = bench.output(&["predict", "of_table", "vali.csv"]);
    assert_eq!(of_table, bench.output(&["predict", "of_text", "train.txt"]));
    for (from, to) in [("train.csv", "train.arrow"), ("vali.csv", "vali.arrow")] {
        let named: &[&str] = if from == "train.csv" { &["--read", "columns.position=place"] } else { &[] };
        bench.output(&[&["convert", from, to][..], named].concat());
    }
    let files = ["--set", "data.train=[\"train.arrow\"]", "--set", "data.validation=[\"vali.arrow\"]"];
    let streamed = ["--set", "data.memory=\"1 MiB\"", "--set", "data.window=\"64 KiB\""];
    let column = ["--set", "data.columns.position=position"];
    bench.output(&[&["train", "table.toml", "--out", "streamed"][..], &files, &streamed, &column].concat());
    assert_eq!(report(&bench, "streamed")["positions"], positions);
}

#[test]
fn networks_and_folds_have_factors_too() {
    let bench = Bench::default();
    text(&bench);
    let data = "[data]\ntrain = [\"train.txt\"]\n[cv]\nsplit = 3\n";
    bench.write("network.toml", &format!("{data}{NETWORK}"));
    bench.output(&["cv", "network.toml", "--out", "folds", "--refit", "final"]);
    let found = report(&bench, "folds");
    for fold in found["details"].as_array().unwrap() {
        let positions = fold["fits"][0]["positions"].as_array().unwrap();
        let factors: Vec<f64> = positions.iter().map(|found| found["factor"].as_f64().unwrap()).collect();
        assert!(factors.len() == 3 && factors[0] > factors[1] && factors[0] > factors[2], "{factors:?}");
    }
    assert_eq!(report(&bench, "final")["positions"].as_array().unwrap().len(), 3);
    let html = std::fs::read_to_string(bench.path("folds/report.html")).unwrap();
    assert!(html.contains("fold 1, factor"), "a column of each fold");
}

#[test]
fn positions_are_read_where_only_a_setting_that_is_tried_names_them() {
    let bench = Bench::default();
    text(&bench);
    let trees = TREES.replace("position = { kind = \"additive\", l2 = 0.1 }\n", "");
    bench.write("run.toml", &format!("[data]\ntrain = [\"train.txt\"]\n[cv]\nsplit = 3\n{trees}"));
    let keys = "\"learner.position\"=[{kind=\"additive\", l2=0.1}, {kind=\"additive\", l2=10.0}]";
    let tree = "kind=\"boosted_trees\", min_documents=2, rounds=2";
    for (out, tried) in [
        ("keys", format!("grid={{{keys}}}")),
        ("learners", format!("grid={{learner=[{{{tree}, position={{kind=\"additive\"}}}}, {{{tree}}}]}}")),
        ("trials", format!("search={{kind=\"random\", trials=2, space={{{keys}}}}}")),
    ] {
        bench.output(&["cv", "run.toml", "--set", &tried, "--out", out, "--keep", "scores"]);
    }
    bench.output(&["compare", "keys", "trials", "-m", "err@5"]);
    assert!(report(&bench, "keys")["details"][0]["fits"][0]["positions"].is_array());
}

#[test]
fn a_learner_without_positions_is_fitted_next_to_one_with_them() {
    let bench = Bench::default();
    text(&bench);
    let tree = "kind=\"boosted_trees\", min_documents=2, rounds=2, position={kind=\"additive\"}";
    let grid = format!("grid={{learner=[{{{tree}}}, {{kind=\"rank_svm\"}}]}}");
    bench.output(&["cv", "run.toml", "--set", &grid, "--set", "cv.split=3", "--out", "cv", "--refit", "final"]);
    assert_eq!(report(&bench, "cv")["points"].as_array().unwrap().len(), 2);
    let members = format!(
        "data = {{ train = [\"train.txt\"] }}\n[[members]]\nloss.name = \"lambda_ndcg\"\nlearner = {{ {tree} }}\n\
         [[members]]\nlearner.kind = \"rank_svm\"\n"
    );
    bench.write("members.toml", &members);
    bench.output(&["train", "members.toml", "--out", "members"]);
    let [with, without] = [0, 1].map(|member| report(&bench, "members")["members"][member]["positions"].is_array());
    assert!(with && !without);
}

#[test]
fn positions_that_do_not_fit_are_refused() {
    let bench = Bench::default();
    text(&bench);
    table(&bench);
    let refused = |config: &str, set: &[&str]| {
        let set = set.iter().flat_map(|set| ["--set", set]).collect::<Vec<_>>();
        bench.refused(&[&["train", config, "--out", "refused"][..], &set].concat()).replace('\n', " ")
    };
    let found = refused("table.toml", &["data.columns.position=plac"]);
    assert!(found.contains("expected a column `plac` (option `columns.position`)"), "{found}");
    assert!(found.contains("did you mean `place`?"), "{found}");
    let found = refused("table.toml", &["data.columns={drop=[\"place\"]}"]);
    assert!(found.contains("found no column of positions, expected one by option `columns.position`"), "{found}");
    let found = refused("run.toml", &["learner.position.l2=-1"]);
    assert!(found.contains("learner.position.l2"), "{found}");
    let found = refused("table.toml", &["learner={kind=\"rank_svm\"}", "loss="]);
    let expected = "no such column: the learner `rank_svm` does not use positions; `boosted_trees` and `gradient` do";
    assert!(found.contains("data.columns.position") && found.contains(expected), "{found}");
    let found = refused("run.toml", &["learner={kind=\"rank_svm\", position={kind=\"additive\"}}", "loss="]);
    let expected = "none: the learner `rank_svm` does not use positions; `boosted_trees` and `gradient` do";
    assert!(found.contains("learner.position") && found.contains(expected), "{found}");
    let found = refused("run.toml", &["data={synthetic={}}"]);
    assert!(found.contains("learner.position: found training data without positions, expected positions"), "{found}");
    for (positions, expected) in
        [("a\nb\n", "train.txt.position: 2 positions, "), ("a\n".repeat(121).as_str(), "position: 121 positions, ")]
    {
        bench.write("train.txt.position", positions);
        let found = refused("run.toml", &[]);
        assert!(found.contains(expected) && found.contains("train.txt has 120 documents"), "{found}");
    }
    std::fs::remove_file(bench.path("train.txt.position")).unwrap();
    let found = refused("run.toml", &[]);
    assert!(found.contains("train.txt.position"), "{found}");
    bench.write("train.csv", "label,query,place,a,b\n1,1,,1,2\n0,1,2,2,1\n");
    let found = refused("table.toml", &[]);
    assert!(found.contains("row 1, column `place`") && found.contains("the position of a document"), "{found}");
}

#[test]
fn a_fit_whose_factors_cannot_be_told_from_relevance_warns() {
    let bench = Bench::default();
    let line = |row: usize| format!("{} qid:{} 1:{row}\n", u8::from(row.is_multiple_of(3)), row / 3);
    bench.write("train.txt", &(0..60).map(line).collect::<String>());
    bench.write("train.txt.position", &(0..60).map(|row| format!("{}\n", row % 3)).collect::<String>());
    bench.write("run.toml", &format!("[data]\ntrain = [\"train.txt\"]\n{TREES}"));
    let told = bench.run(&["train", "run.toml", "--out", "run"]).success().get_output().stderr.clone();
    let told = String::from_utf8(told).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("0 of 60 training documents were shown at two or more positions"), "{told}");
}

#[test]
fn clicks_write_the_positions_that_training_reads() {
    let bench = Bench::default();
    bench.output(&["synth", "--queries", "12", "--features", "3", "--median-length", "6", "--out", "data.txt"]);
    let documents = std::fs::read_to_string(bench.path("data.txt")).unwrap().lines().count();
    bench.write("scores.txt", &(0..documents).map(|row| format!("{}\n", row % 5)).collect::<String>());
    let clicks = |out: &str, shuffle: &str| {
        let args =
            ["clicks", "--scores", "scores.txt", "data.txt", "--sessions", "4", "--shuffle", shuffle, "--out", out];
        bench.output(&args);
        let read = |name: String| std::fs::read_to_string(bench.path(&name)).unwrap();
        (read(out.to_owned()), read(format!("{out}.position")))
    };
    let (text, positions) = clicks("clicks.txt", "0");
    assert_eq!(text.lines().count(), positions.lines().count());
    let (_, shuffled) = clicks("shuffled.txt", "1");
    assert!(positions.starts_with(|first: char| first.is_ascii_digit()) && shuffled != positions);
    for name in ["clicks.txt", "shuffled.txt"] {
        bench.write("run.toml", &format!("[data]\ntrain = [{name:?}]\nvalidation = [\"data.txt\"]\n{TREES}"));
        bench.output(&["train", "run.toml", "--out", name.trim_end_matches(".txt")]);
        let found = report(&bench, name.trim_end_matches(".txt"));
        assert_eq!(found["positions"][0]["position"], "1");
    }
    let refused = bench.refused(&["clicks", "--scores", "scores.txt", "data.txt", "--shuffle", "2", "--out", "x.txt"]);
    assert!(refused.contains("shuffle = 2: expected from 0 to 1"), "{refused}");
}
