//! `init`: configurations for data of five kinds, each of which runs as it is.

use std::fmt::Write;
use std::fs;

use serde_json::Value;

use super::Bench;
use super::bad_input::contains;

/// LETOR text of queries, each with so many documents of three features. `of_line` gives label and features of a
/// document, by query and place.
fn letor(queries: usize, documents: usize, of_line: impl Fn(usize, usize) -> (f64, [String; 3])) -> String {
    let mut text = String::new();
    for query in 0..queries {
        for place in 0..documents {
            let (label, values) = of_line(query, place);
            writeln!(text, "{label} qid:{query} 1:{} 2:{} 3:{}", values[0], values[1], values[2]).unwrap();
        }
    }
    text
}

/// Features that say something of a label.
fn features(query: usize, place: usize, label: f64) -> [String; 3] {
    let noise = |factor: usize| ((query * 31 + place * 17) * factor % 101) as f64 / 101.0;
    [noise(3) + 0.3 * label, noise(7), noise(11) - 0.1 * label].map(|value| format!("{value:.4}"))
}

fn grades(query: usize, place: usize) -> (f64, [String; 3]) {
    let label = ((query + 3 * place) % 7 / 2) as f64;
    (label, features(query, place, label))
}

/// Grades times a number.
fn scaled(times: f64) -> impl Fn(usize, usize) -> (f64, [String; 3]) {
    move |query, place| {
        let (label, values) = grades(query, place);
        (label * times, values)
    }
}

fn clicks(query: usize, place: usize) -> (f64, [String; 3]) {
    let label = f64::from((query * 7 + place * 5).is_multiple_of(4));
    (label, features(query, place, label))
}

fn one_positive(query: usize, place: usize) -> (f64, [String; 3]) {
    let label = f64::from(place == query % 6);
    (label, features(query, place, label))
}

fn missing(query: usize, place: usize) -> (f64, [String; 3]) {
    let (label, mut values) = grades(query, place);
    if (query + place).is_multiple_of(3) {
        values[1] = "NULL".to_string();
    }
    (label, values)
}

/// Returns the file that `init` writes for these data, and its summary.
fn written(bench: &Bench, text: &str) -> (String, String) {
    bench.write("data.txt", text);
    let summary = bench.output(&["init", "data.txt"]);
    (fs::read_to_string(bench.path("data.toml")).unwrap(), summary)
}

/// Runs the configuration with few rounds; returns what `cv --json` says.
fn cross_validated(bench: &Bench) -> Value {
    let text = fs::read_to_string(bench.path("data.toml")).unwrap();
    // The grid has the rounds of each learner.
    let short = text.replace("epochs = 100", "epochs = 2").replace("rounds = 300", "rounds = 3");
    bench.write("short.toml", &short);
    serde_json::from_str(&bench.output(&["cv", "short.toml", "--json"])).unwrap()
}

#[test]
fn graded_labels_get_a_network_and_a_grid_with_trees() {
    let bench = Bench::default();
    let (config, summary) = written(&bench, &letor(40, 6, grades));
    contains_all(&config, &["kind = \"mlp\"", "hidden = [64]", "dropout = 0.3", "normalizer = \"auto\"", "split = 5"]);
    contains_all(&config, &["batch_queries = 16", "learning_rate = 0.001", "select = \"ndcg@10\"", "boosted_trees"]);
    assert!(summary.lines().count() <= 12 && summary.lines().all(|line| line.chars().count() <= 80), "{summary}");
    contains_all(
        &summary,
        &["40 queries, 240 documents, 3 features", "a network", "written to", "burn-rank cv data.toml --refit final"],
    );
    let result = cross_validated(&bench);
    assert_eq!(result["folds"].as_array().unwrap().len(), 5);
    // It trains, too, as it is.
    bench.output(&["train", "data.toml", "--set", "learner.epochs=2", "--out", "run"]);
}

#[test]
fn binary_clicks_are_measured_as_such() {
    let bench = Bench::default();
    let (config, summary) = written(&bench, &letor(40, 8, clicks));
    contains_all(&config, &["select = \"ndcg@10\"", "kind = \"gradient\""]);
    contains_all(&summary, &["labels", "two levels", "0: 75.0%, 1: 25.0%"]);
    cross_validated(&bench);
}

#[test]
fn one_positive_per_query_is_measured_by_its_rank() {
    let bench = Bench::default();
    let (config, summary) = written(&bench, &letor(40, 6, one_positive));
    contains_all(&config, &["select = \"mrr\"", "\"success@1\""]);
    contains_all(&summary, &["one document of a query is relevant"]);
    assert_eq!(cross_validated(&bench)["selected_on"], "validation");
}

#[test]
fn few_queries_get_a_linear_scorer() {
    let bench = Bench::default();
    let (config, summary) = written(&bench, &letor(8, 6, grades));
    contains_all(&config, &["[scorer]\nkind = \"linear\"", "learning_rate = 0.01", "# To compare trees"]);
    contains_all(&summary, &["a linear scorer: 8 training queries with two labels"]);
    cross_validated(&bench);
    // The commented alternative runs as well.
    let text = fs::read_to_string(bench.path("short.toml")).unwrap();
    let start = text.find("scorer = [").unwrap();
    let end = text.find("# learner = ").unwrap();
    bench.write("trees.toml", &format!("{}{}", &text[..start], &text[end + 2..]));
    bench.output(&["cv", "trees.toml"]);
    // Two queries cannot be cut into folds.
    let bench = Bench::default();
    let (config, _) = written(&bench, &letor(2, 6, grades));
    assert!(!config.contains("[cv]"), "{config}");
    bench.output(&["train", "data.toml", "--set", "learner.epochs=2", "--out", "run"]);
}

#[test]
fn missing_values_get_trees_and_a_network_in_the_grid() {
    let bench = Bench::default();
    let (config, summary) = written(&bench, &letor(40, 6, missing));
    contains_all(&config, &["missing = \"indicator\"", "[learner]\nkind = \"boosted_trees\"", "kind = \"mlp\""]);
    contains_all(&config, &["{ kind = \"boosted_trees\"", "{ kind = \"gradient\""]);
    contains_all(&summary, &["boosted trees: values are missing", "missing values       80"]);
    cross_validated(&bench);
    // What comes first trains as it is, and so does the network.
    bench.output(&["train", "data.toml", "--set", "learner.rounds=2", "--out", "trees"]);
    bench.output(&["train", "data.toml", "--set", "learner={kind=\"gradient\", epochs=2}", "--out", "network"]);
    let card = bench.output(&["models", "show", "network"]);
    contains_all(&card, &["| missing values | the mean of training, and a column each for `2` |"]);
}

#[test]
fn labels_that_are_no_grades_are_their_own_gain() {
    let bench = Bench::default();
    let (config, _) = written(&bench, &letor(40, 6, scaled(12.5)));
    contains_all(
        &config,
        &[
            "[loss]\nname = \"lambda_ndcg\"\ngain = \"linear\"",
            "convention = { preset = \"standard\", gain = \"linear\" }",
        ],
    );
    cross_validated(&bench);
}

#[test]
fn rates_below_1_are_not_measured_by_map() {
    let bench = Bench::default();
    let (config, _) = written(&bench, &letor(40, 6, scaled(0.2)));
    contains_all(&config, &["report = [\"ndcg@1\", \"ndcg@5\", \"ndcg@10\"]"]);
    cross_validated(&bench);
}

#[test]
fn files_are_sets_by_their_names_and_paths_start_at_the_configuration() {
    let bench = Bench::default();
    for (name, queries) in [("train.txt", 30), ("vali.txt", 8), ("test.txt", 9)] {
        let text = letor(queries, 6, |query, place| grades(query + name.len() * 100, place));
        bench.write(name, &text.replace("qid:", &format!("qid:{}", &name[..2])));
    }
    bench.output(&["init", "vali.txt", "train.txt", "test.txt"]);
    let config = fs::read_to_string(bench.path("vali.toml")).unwrap();
    contains_all(&config, &["train = [\"train.txt\"]", "validation = [\"vali.txt\"]", "test = [\"test.txt\"]"]);
    assert!(!config.contains("[cv]"));
    fs::create_dir(bench.path("configs")).unwrap();
    bench.output(&["init", "train.txt", "vali.txt", "test.txt", "--out", "configs/mine.toml"]);
    bench.output(&["train", "configs/mine.toml", "--set", "learner.epochs=2", "--out", "run"]);
    let printed = bench.command(&["init", "train.txt", "vali.txt", "--out", "-"]).assert().success();
    let (out, err) = (&printed.get_output().stdout, &printed.get_output().stderr);
    let config = String::from_utf8(out.clone()).unwrap();
    contains_all(&config, &["validation = [\"vali.txt\"]", "burn-rank train FILE.toml"]);
    assert!(!config.contains("[grid]") && String::from_utf8_lossy(err).contains("first choice"));
    bench.write("piped.toml", &config);
    bench.output(&["train", "piped.toml", "--set", "learner.epochs=2", "--out", "piped"]);
}

#[test]
fn a_set_is_a_word_of_the_name_and_numbered_queries_are_no_leak() {
    let bench = Bench::default();
    // LightGBM's files: the lines have no query, and the sizes of the queries stand in another file.
    for (name, queries) in [("rank.train", 30), ("rank.test", 9)] {
        let text = letor(queries, 6, |query, place| grades(query + name.len() * 100, place));
        let lines: String =
            text.lines().map(|line| format!("{}\n", line.replace(&line[2..line.find(" 1:").unwrap()], ""))).collect();
        bench.write(name, &lines.replace("  ", " "));
        bench.write(&format!("{name}.query"), &"6\n".repeat(queries));
    }
    let findings = bench.output(&["check", "rank.train", "rank.test"]);
    let findings = findings.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(findings.contains("0 problems") && findings.contains("both files number their queries"), "{findings}");
    let summary = bench.output(&["init", "rank.train", "rank.test"]);
    let line = |word: &str| summary.lines().find(|line| line.trim_start().starts_with(word)).unwrap_or_default();
    assert!(line("train ").ends_with("  rank.train") && line("test ").ends_with("  rank.test"), "{summary}");
    let config = fs::read_to_string(bench.path("rank.toml")).unwrap();
    contains_all(&config, &["train = [\"rank.train\"]", "test = [\"rank.test\"]"]);
    assert!(summary.contains("burn-rank cv rank.toml --refit final"), "{summary}");
    // The same file twice is a leak, whatever its queries are called.
    fs::copy(bench.path("rank.train"), bench.path("again.test")).unwrap();
    fs::copy(bench.path("rank.train.query"), bench.path("again.test.query")).unwrap();
    assert!(bench.output(&["check", "rank.train", "again.test"]).contains("30 queries are in"));
    for (name, key) in [
        ("a_dev.txt", "validation"),
        ("b-valid2.txt", "validation"),
        ("MY.VALI.txt", "validation"),
        ("test1.txt", "test"),
        ("train-test.txt", "test"),
        ("latest.txt", "train"),
        ("developers.txt", "train"),
    ] {
        bench.write("train.txt", &letor(30, 6, grades));
        bench.write(name, &letor(9, 6, grades).replace("qid:", "qid:n"));
        let config = bench.output(&["init", "train.txt", name, "--out", "-"]);
        let line = config.lines().find(|line| line.contains(name) && line.contains(" = [")).unwrap_or_default();
        assert!(line.starts_with(&format!("{key} = ")), "{name}: {line}");
    }
}

#[test]
fn missing_values_leave_a_file_that_runs_without_its_grid() {
    let bench = Bench::default();
    let (config, _) = written(&bench, &letor(40, 6, missing));
    let short = config.replace("epochs = 100", "epochs = 2").replace("rounds = 300", "rounds = 3");
    bench.write("alone.toml", short.split("\n[grid]").next().unwrap());
    bench.output(&["train", "alone.toml", "--out", "run"]);
    bench.output(&["cv", "alone.toml", "--out", "cv"]);
    // The network of the grid has its scorer there.
    bench.write("short.toml", &short);
    let result = bench.output(&["cv", "short.toml", "--out", "grid", "--json", "--refit", "refit"]);
    assert!(serde_json::from_str::<Value>(&result).is_ok(), "{result}");
    let networks = fs::read_to_string(bench.path("grid/config.toml")).unwrap();
    contains_all(&networks, &["mlp"]);
}

#[test]
fn a_folder_of_folds_is_named_by_its_folder() {
    let bench = Bench::default();
    fs::create_dir(bench.path("parts")).unwrap();
    for part in 1..=4 {
        let text = letor(12, 6, |query, place| grades(query + part * 13, place));
        bench.write(&format!("parts/S{part}.txt"), &text.replace("qid:", &format!("qid:{part}")));
    }
    bench.output(&["init", "parts"]);
    let config = fs::read_to_string(bench.path("parts.toml")).unwrap();
    contains_all(&config, &["folds = \"parts\""]);
    let short = config.replace("epochs = 100", "epochs = 2").replace("rounds = 300", "rounds = 3");
    bench.write("parts.short.toml", &short);
    let result: Value = serde_json::from_str(&bench.output(&["cv", "parts.short.toml", "--json"])).unwrap();
    assert_eq!(result["folds"].as_array().unwrap().len(), 4);
}

#[test]
fn how_the_data_were_read_stands_in_the_configuration() {
    let bench = Bench::default();
    let text = letor(40, 6, missing);
    bench.write("data.txt", &text.replace("NULL", "1.79769313486232e+308"));
    bench.output(&["init", "data.txt"]);
    let config = fs::read_to_string(bench.path("data.toml")).unwrap();
    contains_all(&config, &["missing_value = 1.797e", "missing = \"indicator\""]);
    cross_validated(&bench);
    bench.write("null.txt", &text);
    bench.output(&["init", "null.txt", "--missing", "query-min", "--read", "max_feature_index=9"]);
    let config = fs::read_to_string(bench.path("null.toml")).unwrap();
    contains_all(&config, &["missing = \"query-min\"", "max_feature_index = 9", "kind = \"mlp\""]);
    bench.output(&["train", "null.toml", "--set", "learner.epochs=2", "--out", "run"]);
    // A test file with one feature more than the training file.
    bench.write("train.txt", "1 qid:1 1:1\n0 qid:1 1:2\n1 qid:2 1:1\n0 qid:2 1:2\n");
    bench.write("test.txt", "1 qid:3 1:1 4:2\n0 qid:3 1:2\n");
    bench.output(&["init", "train.txt", "test.txt"]);
    contains_all(&fs::read_to_string(bench.path("train.toml")).unwrap(), &["features = 4"]);
    bench.output(&["train", "train.toml", "--set", "learner.epochs=2", "--out", "wide"]);
}

#[test]
fn options_of_reading_give_a_configuration_that_runs_or_are_refused() {
    let bench = Bench::default();
    bench.write("data.txt", &letor(40, 6, missing));
    bench.output(&["init", "data.txt", "--missing", "keep"]);
    contains_all(&bench.text("data.toml"), &["missing = \"indicator\""]);
    cross_validated(&bench);
    let rows =
        |query: usize| (0..4).map(move |place| format!("{},q{query},{},{}\n", place % 3, place * query % 7, place));
    let table: String = (0..30).flat_map(rows).collect();
    bench.write("judged.csv", &format!("label,query,f,t\n{table}"));
    bench.output(&["init", "judged.csv", "--missing", "keep"]);
    assert!(!bench.text("judged.toml").contains("missing"), "the default of init");
    bench.done("train judged.toml --set learner.epochs=1 --out judged");
    for (read, key) in [
        ("columns.teacher=t", "data.columns.teacher: found \"t\", expected a section [loss.teacher]"),
        (
            "query_weights=file",
            "data.read.query_weights: found \"file\", expected \"none\": the learner `boosted_trees`",
        ),
    ] {
        bench.write("w.txt", &letor(30, 6, grades));
        bench.write("w.txt.query_weights", &"1\n".repeat(30));
        let data = if read.contains("columns") { "judged.csv" } else { "w.txt" };
        let message = bench.refused(&["init", data, "--read", read, "--out", "other.toml"]);
        contains(&message, &["--read: the configuration would be refused, so leave the option out", key]);
        assert!(!bench.path("other.toml").exists());
    }
}

#[test]
fn a_refit_is_proposed_where_the_files_can_be_joined() {
    let bench = Bench::default();
    let text = |queries| letor(queries, 6, |query, place| grades(query + queries * 100, place));
    bench.write("train.txt", &text(30));
    bench.write("test.txt", &text(9));
    let next = |summary: String| summary.lines().last().unwrap().to_owned();
    let summary = bench.output(&["init", "train.txt", "test.txt"]);
    contains_all(&summary, &["two files have a query of one name, so --refit cannot join them"]);
    let proposed = next(summary);
    assert!(proposed.ends_with("burn-rank cv train.toml"), "{proposed}");
    bench.output(&["cv", "train.toml", "--set", "learner.epochs=1", "--out", "cv"]);
    // A long entry has several lines, also on standard error.
    bench.write("two.txt", &text(2));
    let printed = bench.run(&["init", "two.txt", "--out", "-"]).success();
    let told = String::from_utf8_lossy(&printed.get_output().stderr).into_owned();
    assert!(told.contains("rounds are chosen on the training\n") && !told.contains("\\n"), "{told}");
    bench.write("test.txt", &text(9).replace("qid:", "qid:t"));
    let proposed = next(bench.output(&["init", "train.txt", "test.txt", "--out", "joined.toml"]));
    assert!(proposed.ends_with("burn-rank cv joined.toml --refit final"), "{proposed}");
}

#[cfg(unix)]
#[test]
fn a_configuration_is_named_as_the_data_are_called() {
    let bench = Bench::default();
    bench.write("SHA256E-s1.txt", &letor(30, 6, grades));
    std::os::unix::fs::symlink(bench.path("SHA256E-s1.txt"), bench.path("judged.txt")).unwrap();
    bench.output(&["init", "judged.txt"]);
    assert!(bench.path("judged.toml").exists());
    // A run is called by its folder, also from inside.
    bench.output(&["train", "judged.toml", "--set", "learner.epochs=1", "--out", "runs/v1.2"]);
    for (place, path) in [("", "runs/v1.2"), ("runs/v1.2", "."), ("runs", "v1.2/ranker.safetensors")] {
        let shown = bench.command(&["models", "show", path]).current_dir(bench.path(place)).assert().success();
        let title = String::from_utf8_lossy(&shown.get_output().stdout).lines().next().unwrap().to_owned();
        assert_eq!(title, if path.ends_with("tensors") { "# ranker" } else { "# v1.2" });
    }
}

#[test]
fn init_replaces_no_file_and_says_what_it_cannot_use() {
    let bench = Bench::default();
    let text = letor(30, 6, grades);
    bench.write("data.txt", &text);
    bench.write("data.toml", "mine");
    contains(&bench.refused(&["init", "data.txt"]), &["data.toml: exists, and init replaces no file", "--out"]);
    assert_eq!(fs::read_to_string(bench.path("data.toml")).unwrap(), "mine");
    contains(&bench.refused(&["init", "absent.txt", "--out", "a.toml"]), &["absent.txt"]);
    contains(&bench.refused(&["init", "-"]), &["found `-`, expected files"]);
    contains(&bench.refused(&["init", ".", "data.txt", "--out", "a.toml"]), &["found a folder among several paths"]);
    contains(&bench.refused(&["init", "data.txt", "--out", "-", "--json"]), &["--json: found --out -"]);
    contains(&bench.refused(&["init", "data.txt", "--out", "none/a.toml"]), &["none/a.toml: cannot write"]);
    bench.write("same.txt", "1 qid:1 1:1\n1 qid:1 1:2\n");
    contains(&bench.refused(&["init", "same.txt"]), &["same.txt: found no training query with two labels"]);
    bench.write("bad.txt", "1 qid:1 1:x\n");
    contains(&bench.refused(&["init", "bad.txt"]), &["bad.txt:1:11: found `x`"]);
    assert!(!bench.path("a.toml").exists() && !bench.path("same.toml").exists() && !bench.path("bad.toml").exists());
    let record: Value =
        serde_json::from_str(&bench.output(&["init", "data.txt", "--out", "b.toml", "--json"])).unwrap();
    assert_eq!((record["choice"].as_str(), record["labels"].as_str()), (Some("network"), Some("grades")));
    assert_eq!(record["train"]["queries"], 30);
    let summary = bench.output(&["init", "data.txt", "--out", "my data.toml"]);
    contains_all(&summary, &["burn-rank cv 'my data.toml' --refit final"]);
}

pub(super) fn contains_all(text: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(text.contains(part), "`{part}` in:\n{text}"));
}
