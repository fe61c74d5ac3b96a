//! `cv --refit`: the setting that did best over all folds, trained on the queries of all of them.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::bad_input::contains;
use super::folders::everything;
use super::{Bench, SMALL, files, grid};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn read(path: &Path) -> Value {
    json(&fs::read_to_string(path).unwrap())
}

/// A network on 30 generated queries, cut into three folds, with two learning rates.
fn network() -> Bench {
    let bench = Bench::default();
    let config = SMALL
        .replace("train_queries = 20", "train_queries = 30")
        .replace("test_queries = 8", "test_queries = 0")
        .replace("validation_queries = 8", "validation_queries = 0")
        .replace("epochs = 3", "epochs = 5\npatience = 2");
    let grid = "[cv]\nsplit = 3\nseeds = [1, 2]\n\n[grid]\n\"learner.learning_rate\" = [0.00001, 0.01]\n";
    bench.write("network.toml", &format!("{config}{grid}"));
    bench
}

#[test]
fn the_best_setting_over_all_folds_is_trained_on_all_queries_for_the_median_of_its_rounds() {
    let bench = network();
    let record = json(&bench.output(&["cv", "network.toml", "--out", "cv", "--refit", "best", "--json"]));
    let refit = &record["refit"];
    // The means over folds of what each point of the grid reached, in the report.
    let report = read(&bench.path("cv/report.json"));
    let details = report["details"].as_array().unwrap();
    let mean = |point: usize| {
        let values = details.iter().map(|fold| fold["points"][point].as_f64().unwrap());
        values.sum::<f64>() / details.len() as f64
    };
    let best = if mean(1) > mean(0) { 1 } else { 0 };
    assert_eq!(refit["setting"], report["points"][best]);
    assert!((refit["validation"].as_f64().unwrap() - mean(best)).abs() < 1e-12);
    let mut rounds: Vec<u64> = refit["best_rounds"].as_array().unwrap().iter().map(|r| r.as_u64().unwrap()).collect();
    assert_eq!(rounds.len(), 6);
    // The best rounds of folds that selected it are in the report.
    for (at, fold) in report["folds"].as_array().unwrap().iter().enumerate() {
        if fold["selected"] == refit["setting"] {
            let of_fold: Vec<u64> =
                details[at]["fits"].as_array().unwrap().iter().map(|fit| fit["best_round"].as_u64().unwrap()).collect();
            assert_eq!(of_fold, rounds[2 * at..2 * at + 2]);
        }
    }
    rounds.sort_unstable();
    assert_eq!(refit["round"].as_u64(), Some(rounds[2]), "the lower median");
    let trained = read(&bench.path("best/report.json"));
    assert_eq!(trained["data"]["train"]["statistics"]["queries"], 30);
    assert!(trained["data"]["test"].is_null() && trained["data"]["validation"].is_null(), "{trained}");
    assert_eq!(trained["best_round"].as_u64(), Some(rounds[2]));
    assert_eq!(trained["rounds"].as_u64(), Some(rounds[2]), "no early stop, and no further round");
    // Its configuration makes the same ranker, to the byte, except for the estimate.
    bench.output(&["train", "best/config.toml", "--out", "again"]);
    let scores = |run: &str| bench.output(&["predict", run, "data.txt"]);
    bench.output(&["synth", "--queries", "5", "--features", "10", "--out", "data.txt"]);
    assert_eq!(scores("best"), scores("again"));
}

#[test]
fn the_card_says_that_there_is_no_test_value_and_where_the_estimate_stands() {
    let bench = network();
    let text = bench.output(&["cv", "network.toml", "--out", "cv", "--refit", "best"]);
    let said = text.lines().skip_while(|line| !line.starts_with("refit"));
    assert!(said.clone().count() > 0 && said.clone().all(|line| line.chars().count() <= 80), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("It has no test value; the means above are its estimate."), "{text}");
    let report = read(&bench.path("cv/report.json"));
    let estimate = report["measures"]["ndcg@10"].as_f64().unwrap();
    let error = report["standard_errors"]["ndcg@10"].as_f64().unwrap();
    let card = fs::read_to_string(bench.path("best/README.md")).unwrap();
    for part in [
        "has no test value",
        "30 test queries in 3 folds with 2 seeds",
        "They are in `cv/report.json`.",
        &format!("| cross-validated ndcg@10 | {estimate:.4} ± {error:.4} |"),
    ] {
        assert!(card.contains(part), "`{part}` in:\n{card}");
    }
    let shown = bench.output(&["models", "show", "best", "--json"]);
    assert_eq!(json(&shown)["metadata"]["estimate"]["folds"], 3, "{shown}");
    // Without a folder there is no report to point to.
    let bench = grid("{ split = 3 }");
    bench.output(&["cv", "grid.toml", "--no-out", "--refit", "best", "--quiet"]);
    let card = fs::read_to_string(bench.path("best/README.md")).unwrap();
    assert!(card.contains("The cross-validation kept no report."), "{card}");
}

#[test]
fn trees_and_learners_that_choose_among_costs_are_trained_again_too() {
    let bench = Bench::default();
    bench.output(&["synth", "--queries", "40", "--features", "5", "--parts", "5", "--out", "parts"]);
    let config = |learner: &str, loss: &str| {
        format!("data = {{ folds = \"parts\" }}\nlearner = {learner}\n{loss}\nmeasure = {{ report = [\"map\"] }}\n")
    };
    for (name, learner, loss) in [
        (
            "trees",
            "{ kind = \"boosted_trees\", rounds = 8, leaves = 4, min_documents = 5 }",
            "loss = { name = \"lambda_ndcg\" }",
        ),
        ("svm", "{ kind = \"rank_svm\", c = [0.01, 1.0, 100.0] }", ""),
    ] {
        bench.write(&format!("{name}.toml"), &config(learner, loss));
        let record = json(&bench.output(&["cv", &format!("{name}.toml"), "--refit", name, "--json"]));
        let trained = read(&bench.path(&format!("{name}/report.json")));
        assert_eq!(trained["best_round"], record["refit"]["round"], "{name}");
        assert_eq!(trained["data"]["train"]["statistics"]["queries"], 40, "{name}: each query of the parts once");
    }
}

#[test]
fn folders_of_folds_give_each_query_once() {
    let bench = Bench::default();
    bench.output(&["synth", "--queries", "12", "--features", "5", "--parts", "3", "--out", "parts"]);
    let part = |number: usize| fs::read_to_string(bench.path(&format!("parts/S{number}.txt"))).unwrap();
    let fold = |number: usize, sets: [String; 3]| {
        fs::create_dir_all(bench.path(&format!("folds/Fold{number}"))).unwrap();
        for (name, text) in ["train", "vali", "test"].iter().zip(sets) {
            bench.write(&format!("folds/Fold{number}/{name}.txt"), &text);
        }
    };
    fold(1, [part(1), part(2), part(3)]);
    fold(2, [part(2), part(3), part(1)]);
    let config = "data = { folds = \"folds\" }\nlearner = { kind = \"regression\" }\n";
    bench.write("a.toml", config);
    bench.output(&["cv", "a.toml", "--refit", "best"]);
    assert_eq!(read(&bench.path("best/report.json"))["data"]["train"]["statistics"]["queries"], 12);
    // A fold with a part of another one's queries, and others.
    fold(2, [part(2), part(3), part(1) + "0 qid:new 1:1\n1 qid:new 1:2\n"]);
    let message = bench.refused(&["cv", "a.toml", "--refit", "other"]);
    contains(&message, &["data.folds", "Fold2/test.txt, 4 of whose 5 queries are in earlier folds", "each query once"]);
    assert!(!bench.path("other").exists());
}

#[test]
fn sets_of_their_own_are_put_together() {
    let bench = Bench::default();
    let config = SMALL.replace("kind = \"mlp\"\nhidden = [8]", "kind = \"linear\"");
    bench.write("a.toml", &config);
    bench.output(&["cv", "a.toml", "--refit", "best"]);
    assert_eq!(read(&bench.path("best/report.json"))["data"]["train"]["statistics"]["queries"], 36);
    for name in ["train", "vali", "test"] {
        bench.output(&["synth", "--queries", "9", "--features", "4", "--seed", &name.len().to_string(), "--out", name]);
        let text = fs::read_to_string(bench.path(name)).unwrap().replace("qid:", &format!("qid:{name}"));
        bench.write(&format!("{name}.txt"), &text);
    }
    let data = "data = { train = [\"train.txt\"], validation = [\"vali.txt\"], test = [\"test.txt\"] }";
    bench.write("b.toml", &format!("{data}\nlearner = {{ kind = \"regression\" }}\n"));
    bench.output(&["cv", "b.toml", "--refit", "files"]);
    assert_eq!(read(&bench.path("files/report.json"))["data"]["train"]["statistics"]["queries"], 27);
}

/// Writes generated queries as LightGBM does: lines without a query, and the sizes of the queries in `NAME.query`.
fn numbered(bench: &Bench, name: &str, queries: usize, seed: usize) {
    let [queries, seed] = [queries, seed].map(|number| number.to_string());
    bench.output(&["synth", "--queries", &queries, "--features", "4", "--seed", &seed, "--out", name]);
    let text = fs::read_to_string(bench.path(name)).unwrap();
    let (mut lines, mut sizes) = (String::new(), std::collections::BTreeMap::<usize, usize>::new());
    for line in text.lines() {
        let [label, query, features] = line.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
        lines += &format!("{label} {features}\n");
        *sizes.entry(query["qid:".len()..].parse().unwrap()).or_default() += 1;
    }
    bench.write(name, &lines);
    bench.write(&format!("{name}.query"), &sizes.values().map(|size| format!("{size}\n")).collect::<String>());
}

#[test]
fn folds_that_number_their_queries_give_each_query_once() {
    let bench = Bench::default();
    bench.write("a.toml", "data = { folds = \"folds\" }\nlearner = { kind = \"regression\" }\n");
    let sets = ["train", "vali", "test"];
    for part in 1..=3 {
        fs::create_dir_all(bench.path(&format!("folds/Fold{part}"))).unwrap();
        numbered(&bench, &format!("part{part}"), 3 + part, part);
    }
    // The parts change places, so that their queries have other numbers in each fold.
    for (fold, parts) in [(1, [1, 2, 3]), (2, [2, 3, 1]), (3, [3, 1, 2])] {
        for (set, part) in sets.iter().zip(parts) {
            for ending in ["", ".query"] {
                let text = |part: usize| fs::read_to_string(bench.path(&format!("part{part}{ending}"))).unwrap();
                bench.write(&format!("folds/Fold{fold}/{set}.txt{ending}"), &text(part));
            }
        }
    }
    // Another fold has the documents of each query in another order.
    let text = fs::read_to_string(bench.path("folds/Fold2/train.txt")).unwrap();
    let sizes = fs::read_to_string(bench.path("folds/Fold2/train.txt.query")).unwrap();
    let (mut lines, mut reversed) = (text.lines(), String::new());
    for size in sizes.lines() {
        let query: Vec<&str> = lines.by_ref().take(size.parse().unwrap()).collect();
        query.iter().rev().for_each(|line| reversed += &format!("{line}\n"));
    }
    bench.write("folds/Fold2/train.txt", &reversed);
    bench.output(&["cv", "a.toml", "--refit", "same"]);
    assert_eq!(read(&bench.path("same/report.json"))["data"]["train"]["statistics"]["queries"], 15);
    // Each fold has other data.
    for fold in 1..=3 {
        for (at, set) in sets.iter().enumerate() {
            numbered(&bench, &format!("folds/Fold{fold}/{set}.txt"), 4, 10 * fold + at);
        }
    }
    bench.output(&["cv", "a.toml", "--refit", "other"]);
    assert_eq!(read(&bench.path("other/report.json"))["data"]["train"]["statistics"]["queries"], 36);
    // On the lines, the numbers are names.
    for fold in 1..=3 {
        for set in sets {
            let [name, seed] = [format!("folds/Fold{fold}/{set}.txt"), fold.to_string()];
            bench.output(&["synth", "--queries", "4", "--features", "4", "--seed", &seed, "--out", &name]);
        }
    }
    let message = bench.refused(&["cv", "a.toml", "--out", "cv", "--refit", "named"]);
    let [first, second] = [1, 2].map(|fold| bench.path(&format!("folds/Fold{fold}/train.txt")).display().to_string());
    contains(
        &message,
        &[
            &format!("--refit, which trains on all of these files: {second}:1:3: found query `1` again"),
            &format!("it began at {first}:1; another query needs another name"),
        ],
    );
    assert!(!bench.path("cv").exists() && !bench.path("named").exists());
}

#[test]
fn numbered_queries_with_equal_documents_are_counted() {
    let bench = Bench::default();
    let write = |place: &str, queries: &[usize]| {
        fs::create_dir_all(bench.path(place).parent().unwrap()).unwrap();
        let text = |query: &usize| format!("1 1:{query}\n0 1:{}\n", query + 1);
        bench.write(place, &queries.iter().map(text).collect::<String>());
        bench.write(&format!("{place}.query"), &"2\n".repeat(queries.len()));
    };
    // The first query of each part has the same documents.
    let parts = [[7, 1], [7, 2], [7, 3]];
    for (at, part) in parts.iter().enumerate() {
        write(&format!("parts/S{}.txt", at + 1), part);
        for (set, name) in ["train", "vali", "test"].iter().enumerate() {
            write(&format!("folds/Fold{}/{name}.txt", at + 1), &parts[(at + set) % 3]);
        }
    }
    bench.write("a.toml", "data = { folds = \"parts\" }\nlearner = { kind = \"regression\" }\n");
    for (data, out) in [("parts", "of_parts"), ("folds", "of_folds")] {
        bench.output(&["cv", "a.toml", "--set", &format!("data.folds={data}"), "--refit", out]);
        let report = read(&bench.path(&format!("{out}/report.json")));
        assert_eq!(report["data"]["train"]["statistics"]["queries"], 6, "{data}");
    }
}

#[test]
fn sets_that_number_their_queries_are_put_together() {
    let bench = Bench::default();
    bench.write(
        "a.toml",
        "data = { train = [\"a.train\"], test = [\"a.test\"] }\nlearner = { kind = \"regression\" }\n",
    );
    numbered(&bench, "a.train", 9, 1);
    numbered(&bench, "a.test", 5, 2);
    bench.output(&["cv", "a.toml", "--out", "cv", "--refit", "best"]);
    assert_eq!(read(&bench.path("best/report.json"))["data"]["train"]["statistics"]["queries"], 14);
    for (name, head, row, message) in [
        ("txt", "", "1 qid:1 1:1\n0 qid:1 1:2\n", "test.txt:1:3: found query `1` again"),
        ("csv", "label,query,f\n", "1,1,1\n0,1,2\n", "test.csv: row 1, column `query`: found query `1` again"),
    ] {
        for set in ["train", "test"] {
            bench.write(&format!("{set}.{name}"), &format!("{head}{row}"));
        }
        let data = format!("data={{train=[\"train.{name}\"], test=[\"test.{name}\"]}}");
        let refused = bench.refused(&["cv", "a.toml", "--set", &data, "--out", "named", "--refit", "other"]);
        for part in ["--refit, which trains on all of these files: ", message, "another query needs another name"] {
            assert!(refused.contains(part), "`{part}` in:\n{refused}");
        }
        assert!(!bench.path("named").exists() && !bench.path("other").exists());
    }
}

#[test]
fn generated_queries_that_are_in_no_fold_are_left_out() {
    let bench = Bench::default();
    let config = SMALL.replace("kind = \"mlp\"\nhidden = [8]", "kind = \"linear\"");
    bench.write("a.toml", &format!("{config}\n[cv]\nsplit = 3\n"));
    bench.output(&["cv", "a.toml", "--out", "cv", "--refit", "best"]);
    assert_eq!(read(&bench.path("best/report.json"))["data"]["train"]["statistics"]["queries"], 20);
}

#[test]
fn an_occupied_folder_is_refused_before_any_work() {
    let bench = grid("{ split = 3 }");
    fs::create_dir(bench.path("mine")).unwrap();
    bench.write("mine/notes.txt", "mine");
    let message = bench.refused(&["cv", "grid.toml", "--out", "cv", "--refit", "mine"]);
    contains(&message, &["--refit", "mine"]);
    assert_eq!(files(&bench.path("mine")), ["notes.txt"]);
    assert!(!bench.path("cv").exists(), "nothing is done before");
    bench.output(&["cv", "grid.toml", "--out", "cv", "--refit", "best"]);
    let before = fs::read(bench.path("best/ranker.safetensors")).unwrap();
    let other = ["cv", "grid.toml", "--set", "seed=2", "--refit", "best"];
    contains(&bench.refused(&other), &["--refit: best: holds a run of another configuration", "--overwrite it"]);
    assert!(!bench.path("runs").exists(), "nothing is done before");
    contains(&bench.refused(&["cv", "grid.toml", "--out", "best", "--refit", "best"]), &["found the folder of --out"]);
    contains(
        &bench.refused(&["cv", "grid.toml", "--out", "new", "--refit", "cv"]),
        &["holds a run of another command"],
    );
    assert!(!bench.path("new").exists());
    for way in [&["--overwrite"][..], &["--resume"], &[]] {
        bench.output(&[&["cv", "grid.toml", "--out", "cv", "--refit", "best"][..], way].concat());
        assert!(before == fs::read(bench.path("best/ranker.safetensors")).unwrap(), "the same bytes");
    }
    let message = bench.run(&["cv", "grid.toml", "--out", "cv", "--refit", "best", "--part", "1/2"]).code(2);
    assert!(String::from_utf8_lossy(&message.get_output().stderr).contains("cannot be used with"));
}

#[test]
fn a_refit_after_the_folds_and_of_parts_is_that_of_one_command() {
    let bench = network();
    bench.output(&["cv", "network.toml", "--out", "whole", "--refit", "one"]);
    bench.output(&["cv", "network.toml", "--out", "cv"]);
    // The folds are there; only the refit is made, and only once.
    let jobs = || everything(&bench.path("cv"));
    let before = jobs();
    bench.output(&["cv", "network.toml", "--out", "cv", "--refit", "two", "--resume"]);
    let made = everything(&bench.path("two"));
    let told = bench.output(&["cv", "network.toml", "--out", "cv", "--refit", "two"]);
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("finished before, in two.") && told.contains("nothing was trained again: cv"), "{told}");
    assert!(everything(&bench.path("two")) == made && jobs() == before);
    let ranker = |run: &str| bench.output(&["models", "show", run, "--json"]);
    let without_report = |text: String| text.replace("whole/report.json", "").replace("cv/report.json", "");
    assert_eq!(without_report(ranker("one")), without_report(ranker("two")));
    // A folder of parts that are put together.
    for part in ["1/2", "2/2"] {
        bench.output(&["cv", "network.toml", "--out", "parts", "--part", part]);
    }
    bench.output(&["cv", "network.toml", "--out", "parts", "--merge", "--refit", "three"]);
    assert_eq!(without_report(ranker("one")), ranker("three").replace("parts/report.json", ""));
}

#[cfg(unix)]
#[test]
fn a_refit_that_was_stopped_leaves_the_result_and_says_where_its_model_is() {
    let bench = Bench::default();
    bench.write("small.toml", SMALL);
    bench.output(&["cv", "small.toml", "--no-out", "--refit", "best"]);
    // The fold trains on a few queries, and the refit on many more.
    let sets = ["learner.epochs=400", "measure.round=400", "data.synthetic.test_queries=1000"];
    let sets = sets.iter().flat_map(|set| ["--set", set]);
    let args: Vec<&str> = super::words("cv small.toml --no-out --refit best --json").into_iter().chain(sets).collect();
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("burn-rank"));
    command.current_dir(bench.path("")).env_remove("BURN_DEVICE").args(&args).arg("--overwrite");
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    while !bench.path("best.new-1").exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(std::process::Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    let ended = child.wait_with_output().unwrap();
    let told = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{told}");
    let way = "best.new-1, the same command with --resume in place of --overwrite continues";
    assert!(told.contains("error: interrupted; the model so far is in ") && told.contains(way), "{told}");
    let record = json(&String::from_utf8(ended.stdout).unwrap());
    assert!(record["folds"].is_array() && record.get("refit").is_none(), "{record}");
}

#[test]
fn a_refit_of_a_finished_run_leaves_its_report_and_its_times() {
    let bench = grid("{ split = 3 }");
    bench.done("cv grid.toml --out cv");
    let files = || ["report.json", "run.json"].map(|name| bench.read(&format!("cv/{name}")));
    let before = files();
    bench.done("cv grid.toml --out cv --refit best --set description=other");
    assert!(files() == before);
}

#[test]
fn a_search_in_several_folds_has_no_setting_to_refit() {
    let bench = grid("{ split = 3 }");
    let text = fs::read_to_string(bench.path("grid.toml")).unwrap();
    let start = text.find("grid = ").unwrap();
    let search = "[search]\nkind = \"random\"\ntrials = 2\nspace = { \"learner.lambda\" = { from = 0.1, to = 1.0 } }\n";
    bench.write("search.toml", &format!("{}{search}", &text[..start]));
    let message = bench.refused(&["cv", "search.toml", "--out", "cv", "--refit", "best"]);
    contains(&message, &["search", "[grid] for --refit"]);
    assert!(!bench.path("best").exists());
}

#[test]
fn a_column_that_queries_are_split_by_is_no_feature_of_the_refit() {
    let bench = Bench::default();
    let row = |query: usize, place: usize| {
        let label = (query + place) % 3;
        format!("{label},q{query},2024-05-{:02},{}.{}\n", query + 1, label, place * 7 % 10)
    };
    let rows: String = (0..12).flat_map(|query| (0..4).map(move |place| row(query, place))).collect();
    bench.write("days.csv", &format!("label,query,day,match\n{rows}"));
    let common = "learner = { kind = \"regression\" }\n";
    for (name, split) in [
        ("one", "data = { train = [\"days.csv\"], split = { by = { time = \"day\" } } }\n"),
        ("folds", "data = { train = [\"days.csv\"] }\ncv = { split = { folds = 3, by = { time = \"day\" } } }\n"),
    ] {
        bench.write(&format!("{name}.toml"), &format!("{split}{common}"));
        bench.output(&["cv", &format!("{name}.toml"), "--refit", name]);
        let trained = read(&bench.path(&format!("{name}/report.json")));
        assert_eq!(trained["data"]["train"]["statistics"]["queries"], 12, "{name}");
        assert_eq!(trained["data"]["train"]["statistics"]["features"], 1, "{name}");
        bench.output(&["predict", name, "days.csv", "--out", "scores.txt"]);
    }
}

#[test]
fn data_that_cannot_be_read_leave_no_folder_behind() {
    let bench = network();
    let files = "data={train=[\"none.txt\"]}";
    bench.refused(&["cv", "network.toml", "--set", files, "--out", "cv", "--refit", "best"]);
    assert!(!bench.path("cv").exists() && !bench.path("best").exists());
}

#[test]
fn a_note_on_rows_that_stood_apart_comes_once() {
    let bench = Bench::default();
    let mut rows: Vec<String> =
        (0..60).map(|row| format!("{},q{},{}\n", row * 7 % 3, row / 4, row * 7 % 3 * 2 + row % 2)).collect();
    rows.swap(1, 50);
    bench.write("own.csv", &format!("label,query,clicks\n{}", rows.concat()));
    let config = "learner = { kind = \"regression\" }\ncv = { split = 3 }\n[data]\ntrain = [\"own.csv\"]\n";
    bench.write("run.toml", config);
    let done = bench.command(&["cv", "run.toml", "--out", "cv", "--refit", "best"]).assert().success();
    let told = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
    assert_eq!(told.matches("next to the other rows").count(), 1, "{told}");
}
