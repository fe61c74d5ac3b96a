//! Training runs: what they leave, and that they can be repeated and continued.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use burn_rank::op::Instructions;
use serde_json::Value;

use super::{Bench, SMALL, files};

#[test]
fn a_run_leaves_a_ranker_that_predicts_and_evaluates() {
    let bench = Bench::default();
    bench.write("small.toml", SMALL);
    let table = bench.done("train small.toml");
    assert!(table.contains("test") && table.contains("ndcg@10"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "fits 80 columns:\n{table}");
    let folder = bench.path("runs/small");
    for name in ["README.md", "config.toml", "ranker.safetensors", "report.json", "run.json"] {
        assert!(files(&folder).contains(&name.to_string()), "{name}: {:?}", files(&folder));
    }

    bench.done("synth --queries 5 --features 10 --out data.txt");
    let documents = bench.text("data.txt").lines().count();
    let scores = bench.done("predict runs/small/ranker.safetensors data.txt");
    assert_eq!(scores.lines().count(), documents);
    bench.write("scores.txt", &scores);
    let by_model = bench.done("eval runs/small/ranker.safetensors data.txt --json");
    let by_scores = bench.done("eval --scores scores.txt data.txt --json");
    assert_eq!(by_model, by_scores);
    let run = bench.done("predict runs/small/ranker.safetensors data.txt --run-id small");
    assert!(run.lines().next().unwrap().ends_with(" small"), "{run}");
    assert_eq!(run.lines().count(), documents);

    // The run with the labels is the same ranking: `letor` orders ties by file, which the run keeps.
    let files = ["--run-id", "small", "--qrels", "qrels", "--out", "run.txt"];
    bench.output(&[&["predict", "runs/small/ranker.safetensors", "data.txt"][..], &files].concat());
    assert_eq!(bench.text("run.txt"), run);
    let options = ["-m", "ndcg@10,map,err@5", "-c", "letor", "--json", "-q"];
    let by_run = bench.output(&[&["eval", "--qrels", "qrels", "--run", "run.txt"][..], &options].concat());
    let by_model = bench.output(&[&["eval", "runs/small/ranker.safetensors", "data.txt"][..], &options].concat());
    let (by_run, by_model): (Value, Value) =
        (serde_json::from_str(&by_run).unwrap(), serde_json::from_str(&by_model).unwrap());
    for key in ["convention", "queries", "empty_queries", "measures", "per_query"] {
        assert_eq!(by_run[key], by_model[key], "{key}");
    }
    assert_eq!((&by_run["run"], &by_run["missing_queries"]), (&Value::from("small"), &Value::from(0)));

    // A ranker and its own scores do not differ. A score file has no convention, so they have none in common.
    let compared = bench.done("compare runs/small/ranker.safetensors scores.txt data.txt --json");
    let compared: Value = serde_json::from_str(&compared).unwrap();
    assert_eq!(compared["convention"], "standard");
    assert_eq!(compared["measures"]["map"]["pairs"][0]["mean_difference"], 0.0);
    assert_eq!(compared["measures"]["map"]["pairs"][0]["ties"], 5);
    assert!(bench.done("models show runs/small/ranker.safetensors").contains("approx_ndcg"));
}

#[test]
fn the_card_of_a_run_has_its_name_as_text() {
    let bench = Bench::default();
    bench.write("small.toml", &format!("name = \"<script>alert(1)</script>\\n# two | <img>\"\n{SMALL}"));
    let told = bench.done("train small.toml --out run");
    assert!(told.starts_with(r"<script>alert(1)</script>\n# two | <img>: round "), "one line: {told}");
    let card = bench.text("run/README.md");
    assert_eq!(card.lines().next(), Some(r"# \<script\>alert(1)\</script\>\\n# two \| \<img\>"));
    let (above, _) = card.split_once("```json").unwrap();
    assert!(!above.replace(r"\<", "").contains('<'), "{card}");
    // It is still the run's own file.
    bench.done("train small.toml --out run --overwrite");
}

#[test]
fn an_option_of_before_is_answered_with_what_took_its_place() {
    let bench = Bench::default();
    for option in ["--no-tui", "--dashboard"] {
        let told = bench.refused(&["train", "small.toml", option]);
        assert!(told.contains(&format!("unexpected argument '{option}'")), "{told}");
        assert!(told.contains("progress lines show the figures of each round, and report.html"), "{told}");
    }
}

#[test]
fn the_resolved_configuration_gives_the_same_run() {
    let bench = Bench::default();
    bench.write("small.toml", SMALL);
    bench.done("train small.toml --out first");
    bench.done("train first/config.toml --out second");
    let config = |run: &str| bench.read(&format!("{run}/config.toml"));
    assert_eq!(config("first"), config("second"));
    let ranker = |run: &str| bench.read(&format!("{run}/ranker.safetensors"));
    assert_eq!(ranker("first"), ranker("second"));
}

/// A perceptron with a direct loss, whose configuration names nothing else.
const UNNAMED: &str = r#"
data = { synthetic = { train_queries = 20, validation_queries = 8, test_queries = 8, features = 10 } }
scorer = { kind = "mlp" }
loss = { name = "approx_ndcg" }
learner = { kind = "gradient" }
"#;

#[test]
fn what_fits_a_perceptron_is_taken_and_recorded() {
    let bench = Bench::default();
    bench.write("unnamed.toml", UNNAMED);
    bench.done("train unnamed.toml --out first");
    let report: Value = serde_json::from_str(&bench.text("first/report.json")).unwrap();
    let config = &report["config"];
    assert_eq!((&config["normalizer"], &config["scorer"]["dropout"]), (&Value::from("gauss"), &Value::from(0.3)));
    assert_eq!(config["loss"]["query_gradients"], "unit");
    for (key, value) in [("batch_queries", 16.0), ("epochs", 100.0), ("patience", 20.0), ("learning_rate", 0.003)] {
        assert_eq!(config["learner"][key].as_f64(), Some(value), "{key}");
    }
    // Values that depend on the data stay open in the configuration, because it may get other data.
    let written = bench.text("first/config.toml");
    assert!(written.contains("learning_rate = 0.003") && !written.contains("batch_queries"), "{written}");
    bench.done("train first/config.toml --out second");
    assert_eq!(bench.read("first/ranker.safetensors"), bench.read("second/ranker.safetensors"));
}

#[test]
fn a_perceptron_without_validation_queries_has_fixed_epochs_and_says_so() {
    let bench = Bench::default();
    bench.write("unnamed.toml", &UNNAMED.replace("validation_queries = 8", "validation_queries = 0"));
    let warned = |args: &[&str]| {
        let output = bench.run(args).success().get_output().stderr.clone();
        String::from_utf8(output).unwrap().matches("the fit has 25 epochs").count()
    };
    assert_eq!(warned(&["train", "unnamed.toml", "--out", "run"]), 1);
    let report: Value = serde_json::from_str(&bench.text("run/report.json")).unwrap();
    let learner = &report["config"]["learner"];
    assert!(learner["patience"].is_null() && learner["epochs"].as_u64() < Some(100), "{learner}");
    assert_eq!(report["rounds"], learner["epochs"]);
    assert_eq!(warned(&["cv", "unnamed.toml", "--out", "cv", "--set", "cv.seeds=[1, 2]"]), 1);
    assert_eq!(warned(&["train", "unnamed.toml", "--set", "learner.epochs=3", "--out", "three"]), 0);
}

#[test]
fn cross_validation_selects_on_validation_and_reports_errors() {
    let bench = Bench::default();
    let config = SMALL
        .replace("test_queries = 8", "test_queries = 0")
        .replace("validation_queries = 8", "validation_queries = 0")
        + "[cv]\nsplit = 4\nseeds = [1, 2]\n\n[grid]\n\"learner.learning_rate\" = [0.001, 0.01]\n";
    bench.write("cv.toml", &config);
    let text = bench.done("cv cv.toml --json --out cv");
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["queries"], 20);
    let folds = value["folds"].as_array().unwrap();
    assert_eq!(folds.len(), 4);
    let of = |fold: &Value| fold["measures"]["ndcg@10"].as_f64().unwrap();
    let mean = folds.iter().map(of).sum::<f64>() / 4.0;
    assert!((value["measures"]["ndcg@10"].as_f64().unwrap() - mean).abs() < 1e-12);
    let error = value["standard_errors"]["ndcg@10"].as_f64().unwrap();
    assert!(error > 0.0 && error < 0.2, "{error}");
    assert!(folds.iter().all(|fold| fold["selected"].as_str().unwrap().starts_with("learner.learning_rate=")));

    // The numbers are the same for fits in parallel, one after the other, and taken from finished fits.
    assert_eq!(bench.done("cv cv.toml --json --jobs 1").replace("\"runs/cv\"", "\"cv\""), text);
    let jobs = || fs::read_dir(bench.path("cv/jobs")).unwrap().map(|job| job.unwrap().path());
    fs::remove_dir_all(jobs().next().unwrap()).unwrap();
    fs::remove_file(bench.path("cv/report.json")).unwrap();
    assert_eq!(bench.done("cv cv.toml --json --out cv --resume"), text);

    // Another configuration takes over the folder only if an option says so.
    let before = bench.read("cv/config.toml");
    let message = bench.refused(&["cv", "cv.toml", "--out", "cv", "--set", "cv.seeds=[1]"]);
    assert!(message.contains("holds a run of another configuration"), "{message}");
    assert_eq!(bench.read("cv/config.toml"), before);
    let [all, finished] = [jobs().count(), 16];
    assert_eq!(all, finished);
    // With one more value in the grid, the fits of the others are reused.
    let result = |job: PathBuf| fs::metadata(job.join("result.json")).unwrap().modified().unwrap();
    let before: BTreeSet<_> = jobs().map(result).collect();
    let wider = r#"grid={"learner.learning_rate"=[0.001, 0.01, 0.1]}"#;
    bench.output(&["cv", "cv.toml", "--out", "cv", "--set", wider, "--overwrite"]);
    assert_eq!(jobs().count(), finished + 8);
    assert!(before.is_subset(&jobs().map(result).collect()), "fits of the grid before were made again");
    let message = bench.refused(&["train", "cv.toml", "--out", "cv"]);
    assert!(message.contains("another command"), "{message}");
}

#[test]
fn a_path_given_by_set_starts_at_the_current_folder() {
    let bench = Bench::default();
    let data = |label: usize| format!("{label} qid:{label} 1:0.5\n0 qid:{label} 1:0.1\n1 qid:{label} 1:0.3\n");
    fs::create_dir_all(bench.path("conf/there")).unwrap();
    fs::create_dir_all(bench.path("here")).unwrap();
    // Both folders have files of these names.
    for (folder, label) in [("conf/", 1), ("", 2)] {
        for (at, name) in ["train.txt", "test.txt", "there/S1.txt", "there/S2.txt", "there/S3.txt"].iter().enumerate() {
            fs::create_dir_all(bench.path(&format!("{folder}there"))).unwrap();
            bench.write(&format!("{folder}{name}"), &data(10 * label + at));
        }
    }
    bench.write(
        "conf/a.toml",
        "data = { train = [\"train.txt\"], test = [\"test.txt\"] }\nlearner = { kind = \"regression\" }\n",
    );
    let trained = |set: &[&str]| -> [String; 2] {
        let sets = set.iter().flat_map(|set| ["--set", set]);
        let args: Vec<&str> = ["train", "conf/a.toml", "--out", "run", "--overwrite"].into_iter().chain(sets).collect();
        bench.output(&args);
        let config: toml::Table = bench.text("run/config.toml").parse().unwrap();
        let root = bench.path("").canonicalize().unwrap();
        let shown = |key: &str| {
            let value = &config["data"].get(key).map(ToString::to_string).unwrap_or_default();
            value.replace(root.to_str().unwrap(), "").replace(bench.path("").to_str().unwrap(), "/")
        };
        [shown("train") + &shown("folds"), shown("test")].map(|text| text.replace("//", "/"))
    };
    let [of_file, of_hand] = ["conf/", ""].map(|folder| move |name: &str| format!("[\"/{folder}{name}\"]"));
    assert_eq!(trained(&[]), [of_file("train.txt"), of_file("test.txt")]);
    // Paths that are not set still start at the configuration file.
    assert_eq!(trained(&["data.train=[\"train.txt\"]"]), [of_hand("train.txt"), of_file("test.txt")]);
    assert_eq!(trained(&["data.test=[\"test.txt\"]"]), [of_file("train.txt"), of_hand("test.txt")]);
    let table = "data={train=[\"./train.txt\"],test=[\"conf/test.txt\"]}";
    assert_eq!(trained(&[table]), [of_hand("train.txt"), of_file("test.txt")]);
    // Setting another key below `data` does not change where its paths start.
    assert_eq!(trained(&["data.read.features=3"]), [of_file("train.txt"), of_file("test.txt")]);
    assert_eq!(trained(&["data={folds=\"there\"}"])[0], "\"/there\"");
    let refused = bench.refused(&["train", "conf/a.toml", "--set", "data.train=[\"nowhere.txt\"]"]);
    assert!(refused.contains("data.train: nowhere.txt: No such file"), "{refused}");
    // `cv` reads the configuration again at every point of its grid.
    let grid = "grid={\"learner.lambda\"=[0.1,1.0]}";
    bench.output(&["cv", "conf/a.toml", "--set", "data={folds=\"there\"}", "--set", grid]);
    fs::remove_dir_all(bench.path("conf/there")).unwrap();
    bench.output(&["cv", "conf/a.toml", "--set", "data={folds=\"there\"}", "--set", grid]);
}

#[test]
fn a_run_names_the_instructions_that_it_used() {
    let bench = Bench::default();
    bench.write("small.toml", SMALL);
    let best = Instructions::best().name();
    let json =
        |run: &str, name: &str| -> Value { serde_json::from_slice(&bench.read(&format!("{run}/{name}"))).unwrap() };
    let recorded = |run: &str| json(run, "run.json")["instructions"].clone();
    let named = |run: &str| bench.text(&format!("{run}/config.toml")).contains("instructions");
    bench.done("train small.toml --out best");
    assert_eq!(
        (recorded("best"), named("best")),
        (best.into(), false),
        "a configuration without the key stays without"
    );
    bench.done("train small.toml --out flag --instructions baseline");
    assert_eq!((recorded("flag"), named("flag")), ("baseline".into(), true));
    let page = bench.text("flag/report.html");
    assert!(page.contains("instructions of the fused CPU kernels") && page.contains("baseline"));
    // The configuration that a run leaves pins the same instructions again.
    bench.done("train flag/config.toml --out again");
    assert_eq!(recorded("again"), "baseline");
    let report = |run: &str| bench.read(&format!("{run}/report.json"));
    assert!(report("again") == report("flag"));
    bench.write("pinned.toml", &format!("instructions = \"baseline\"\n{SMALL}"));
    // So many queries that the rounding of any two sets of instructions shows.
    let cv = [
        "--set",
        "cv.split=3",
        "--set",
        "data.synthetic={train_queries=120,validation_queries=0,test_queries=0,features=10}",
    ];
    bench.output(&[&["cv", "pinned.toml", "--out", "cv", "--jobs", "2"], &cv[..]].concat());
    assert_eq!(recorded("cv"), "baseline");
    // Two jobs give the same as one.
    bench.output(&[&["cv", "pinned.toml", "--out", "alone", "--jobs", "1"], &cv[..]].concat());
    assert!(report("cv") == report("alone"));
    bench.output(&[&["cv", "small.toml", "--out", "best-cv", "--jobs", "2"], &cv[..]].concat());
    let objectives = |run: &str| -> Vec<Value> {
        let folds = json(run, "report.json")["details"].as_array().unwrap().clone();
        folds.iter().map(|fold| fold["fits"][0]["history"][2]["objective"].clone()).collect()
    };
    assert!(objectives("cv")[0].is_f64());
    if best != "baseline" {
        assert_ne!(objectives("cv"), objectives("best-cv"), "the fits did not use the instructions");
    }
}

#[test]
fn another_spelling_of_a_path_is_the_same_configuration() {
    let bench = super::grid("{ split = 3 }");
    fs::create_dir(bench.path("sub")).unwrap();
    for command in ["train", "cv"] {
        bench.output(&[command, "grid.toml", "--out", command]);
        let out = format!("../{command}");
        let run = bench.command(&[command, "../grid.toml", "--out", &out]).current_dir(bench.path("sub")).assert();
        let told = String::from_utf8(run.success().get_output().stdout.clone()).unwrap();
        assert!(told.contains("finished before"), "{told}");
    }
}

#[test]
fn quiet_prints_nothing_but_leaves_the_result() {
    let bench = Bench::default();
    bench.write("small.toml", SMALL);
    let output = bench.run(&["train", "small.toml", "--quiet", "--out", "run"]).success().get_output().clone();
    assert_eq!((output.stdout, output.stderr), (vec![], vec![]));
    assert!(bench.path("run/report.json").exists());
    assert!(bench.done("train small.toml --quiet --json --out other").starts_with('{'));
    for command in ["cv", "train"] {
        let message = bench.refused(&[command, "small.toml", "--quiet", "--no-out"]);
        assert_eq!(message, "error: --quiet needs a place for the result: leave out --no-out, or add --json\n");
    }
}

#[test]
fn a_seed_above_the_largest_number_of_toml_is_refused_and_the_largest_runs_again() {
    let bench = Bench::default();
    bench.write("small.toml", SMALL);
    let most = "expected a whole number up to 2^63 - 1, which is 9223372036854775807";
    for (key, number) in [
        ("seed", "18446744073709551615"),
        ("seed", "9223372036854775808"),
        ("learner.epochs", "9223372036854775808"),
        ("cv.seeds", "[1, 18446744073709551615]"),
        ("grid", "{\"learner.epochs\" = [1, 9223372036854775808]}"),
        ("data.synthetic.seed", "0xFFFFFFFFFFFFFFFF"),
    ] {
        let set = format!("{key}={number}");
        for command in ["train", "cv"] {
            let message = bench.refused(&[command, "small.toml", "--set", &set, "--out", "run"]);
            assert!(message.starts_with(&format!("error: --set {set}: {key}")) && message.contains(most), "{message}");
            assert!(!bench.path("run").exists());
        }
    }
    bench.write("file.toml", &format!("seed = 9223372036854775808\n{SMALL}"));
    let file = bench.refused(&["train", "file.toml"]);
    assert_eq!(file, format!("error: file.toml:1:1: seed: found 9223372036854775808, {most}\n"));
    let largest = ["--set", "seed=9223372036854775807", "--set", "learner.epochs=1"];
    bench.output(&[&["train", "small.toml", "--out", "first"][..], &largest].concat());
    bench.done("train first/config.toml --out second");
    let report = |run: &str| bench.read(&format!("{run}/report.json"));
    assert!(report("first") == report("second"));
}
