//! The command: exit codes, messages, files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use burn_rank_text::{TextDocument, TextList};
use serde_json::{Value, json};

use crate::tiny::{lists, write_folder, write_lists};

struct Home(tempfile::TempDir);

impl Home {
    /// A folder with a model, lists and a configuration.
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        write_folder(&home.path("model"));
        write_lists(&home.path("train.jsonl"), &lists(12));
        write_lists(&home.path("validation.jsonl"), &lists(5));
        let config = r#"
            model = "model"
            kind = "towers"
            [data]
            train = ["train.jsonl"]
            validation = ["validation.jsonl"]
            test = ["validation.jsonl"]
            [loss]
            name = "list_net"
            [learner]
            epochs = 3
            learning_rate = 1e-3
            batch_documents = 16
            [measure]
            select = "mrr"
        "#;
        fs::write(home.path("a.toml"), config).unwrap();
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("burn-rank-text"));
        command.args(arguments).current_dir(self.0.path()).env("RAYON_NUM_THREADS", "2");
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {error}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The message of a command that refuses its input.
    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        error
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }
}

#[test]
fn a_model_is_trained_and_reranks() {
    let home = Home::new();
    let printed = home.done(&["train", "a.toml", "--out", "run"]);
    assert!(printed.starts_with("a: epoch ") && printed.contains("tokens a second"), "{printed}");
    let report: Value = serde_json::from_str(&home.text("run/report.json")).unwrap();
    assert_eq!(report["history"].as_array().unwrap().len(), 3);
    assert_eq!(report["config"]["max_tokens"], 48);
    let page = home.text("run/report.html");
    assert!(page.contains("epoch") && !page.contains(">features<") && !page.contains("ranker file format"));
    // The same bytes again, and the same scores from the folder that was written.
    home.done(&["train", "a.toml", "--out", "other", "--quiet"]);
    for name in ["report.json", "model.safetensors", "config.json"] {
        assert!(
            fs::read(home.path(&format!("run/{name}"))).unwrap()
                == fs::read(home.path(&format!("other/{name}"))).unwrap()
        );
    }
    assert!(home.done(&["train", "a.toml", "--out", "run"]).contains("finished before"));
    let error = home.refused(&["train", "a.toml", "--out", "run", "--set", "seed=2"]);
    assert!(error.contains("holds a run of another configuration"), "{error}");
    home.done(&["train", "a.toml", "--out", "run", "--set", "seed=2", "--overwrite", "--json"]);

    home.done(&["rerank", "other", "validation.jsonl", "--out", "other.run"]);
    let run: Vec<String> = home.text("other.run").lines().map(String::from).collect();
    assert_eq!(run.len(), 20);
    let test = &report["per_query"]["values"]["mrr"];
    let ranked = |query: usize| {
        let relevant = format!("q{query} Q0 d{query}-{} ", query % 4);
        1.0 / run
            .iter()
            .filter(|line| line.starts_with(&format!("q{query} ")))
            .position(|line| line.starts_with(&relevant))
            .map(|rank| rank as f64 + 1.0)
            .unwrap()
    };
    for query in 0..5 {
        assert!((test[query].as_f64().unwrap() - ranked(query)).abs() < 1e-9, "{query}: {test} {run:?}");
    }
}

#[test]
fn a_kept_configuration_is_the_same_run_from_any_folder() {
    let home = Home::new();
    home.done(&["train", "a.toml", "--out", "run", "--quiet"]);
    home.done(&["train", "run/config.toml", "--out", "again", "--quiet"]);
    let bytes = |folder: &str| fs::read(home.path(&format!("{folder}/model.safetensors"))).unwrap();
    assert!(bytes("run") == bytes("again"));
    fs::create_dir(home.path("below")).unwrap();
    let mut elsewhere = home.command(&["train", "../a.toml", "--out", "../run"]);
    let output = elsewhere.current_dir(home.path("below")).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("finished before"), "{error}");
}

#[test]
fn what_lies_below_the_top_keeps_its_order() {
    let home = Home::new();
    home.done(&["rerank", "model", "validation.jsonl", "--kind", "towers", "--top", "2", "--out", "top.run"]);
    let of_first: Vec<String> =
        home.text("top.run").lines().take(4).map(|line| line.split(' ').nth(2).unwrap().to_string()).collect();
    assert_eq!(of_first[2..], ["d0-2", "d0-3"]);
    fs::write(home.path("first.run"), "q0 Q0 d0-3 1 9 t\nq0 Q0 d0-1 2 8 t\n").unwrap();
    let arguments = [
        "rerank",
        "model",
        "validation.jsonl",
        "--kind",
        "towers",
        "--top",
        "1",
        "--run",
        "first.run",
        "--out",
        "by.run",
    ];
    home.done(&arguments);
    let of_first: Vec<String> =
        home.text("by.run").lines().take(4).map(|line| line.split(' ').nth(2).unwrap().to_string()).collect();
    assert_eq!(of_first, ["d0-3", "d0-1", "d0-0", "d0-2"]);
    fs::write(home.path("first.run"), "other Q0 d0-3 1 9 t\n").unwrap();
    let error = home.refused(&arguments);
    assert!(error.contains("first.run: found no query of the lists, expected some such as q0"), "{error}");
    fs::write(home.path("blank.jsonl"), home.text("validation.jsonl").replacen("\"q0\"", "\"q 0\"", 1)).unwrap();
    let error = home.refused(&["rerank", "model", "blank.jsonl", "--kind", "towers", "--out", "blank.run"]);
    assert!(error.contains("query identifier"), "{error}");
    let error = home.refused(&["rerank", "model", "validation.jsonl", "--kind", "towers", "--out", "validation.jsonl"]);
    assert!(error.contains("--out validation.jsonl: expected a different file"), "{error}");
    let error = home.refused(&["rerank", "model", "validation.jsonl", "--out", "x.run"]);
    assert!(error.contains("kind: model has no head"), "{error}");
    let towers = ["rerank", "model", "validation.jsonl", "--kind", "towers", "--out", "x.run"];
    fs::create_dir(home.path("model/1_Pooling")).unwrap();
    fs::write(home.path("model/1_Pooling/config.json"), r#"{"pooling_mode_cls_token": true}"#).unwrap();
    let error = home.refused(&towers);
    assert!(error.contains("found pooling_mode_cls_token = true, expected only the mean of the tokens"), "{error}");
    fs::remove_dir_all(home.path("model/1_Pooling")).unwrap();
    fs::write(home.path("model/modules.json"), r#"[{"type": "sentence_transformers.models.Dense"}]"#).unwrap();
    let error = home.refused(&towers);
    assert!(error.contains("modules.json: found a dense layer"), "{error}");
    let error = home.refused(&["rerank", "model", "validation.jsonl", "--kind", "cross_encoder", "--out", "x.run"]);
    assert!(error.contains("classifier.weight, classifier.bias, expected a trained head"), "{error}");
}

#[test]
fn documents_that_a_run_cannot_name_and_documents_without_a_text_are_refused() {
    let home = Home::new();
    let options = ["--kind", "towers", "--out", "x.run"];
    fs::write(home.path("blank.jsonl"), home.text("validation.jsonl").replacen("\"d0-1\"", "\"d 1\"", 1)).unwrap();
    let error = home.refused(&[&["rerank", "model", "blank.jsonl"], &options[..]].concat());
    assert!(error.contains("query q0: found document \"d 1\", expected a name without blanks"), "{error}");
    fs::write(home.path("first.run"), "q0 Q0 d0-3 1 9 t\nq0 Q0 d9 2 8 t\nother Q0 d9 1 8 t\n").unwrap();
    let error = home.refused(&[&["rerank", "model", "validation.jsonl", "--run", "first.run"], &options[..]].concat());
    assert!(error.contains("first.run: found document d9 of query q0, expected only documents of its list"), "{error}");
}

#[test]
fn a_cross_encoder_with_adapters_is_trained_and_reranks_without_being_told() {
    let home = Home::new();
    let set =
        ["--set", "kind=cross_encoder", "--set", "learner.lora={ rank = 2, alpha = 4 }", "--set", "learner.epochs=1"];
    home.done(&[&["train", "a.toml", "--out", "run"], &set[..]].concat());
    home.done(&["rerank", "run", "validation.jsonl", "--out", "cross.run", "--json"]);
    assert_eq!(home.text("cross.run").lines().count(), 20);
}

#[test]
fn mistakes_are_refused_where_they_are() {
    let home = Home::new();
    for (set, message) in [
        ("learner.epochs=0", "--set learner.epochs=0: learner.epochs: found 0, expected at least 1"),
        ("learner.epoch=2", "unknown field `epoch`"),
        ("loss.name=list_nett", "--set loss.name=list_nett: loss.name: unknown loss `list_nett`"),
        ("kind=tower", "unknown variant `tower`, expected `towers` or `cross_encoder`"),
        ("learner.lora={ rank = 0, alpha = 1 }", "learner.lora.rank: found 0, expected at least 1"),
        ("max_tokens=100", "max_tokens: found 100, expected from 5 to 48"),
        ("model=nowhere", "nowhere: found no folder"),
        ("data.train=[\"nowhere.jsonl\"]", "nowhere.jsonl"),
        ("device=nothing", "nothing"),
        ("measure.round=2", "measure.round: found 2, expected none"),
        ("learner.freeze=[\"all\"]", "unknown part `all`"),
        // Towers read no pooler, so the one that is left has nothing to learn.
        ("learner.freeze=[\"embeddings\",\"encoder\"]", "learner.freeze: no weight is left to train"),
    ] {
        let error = home.refused(&["train", "a.toml", "--out", "run", "--set", set]);
        assert!(error.contains(message), "{set}: {error}");
        assert!(!home.path("run/config.toml").exists(), "{set}");
    }
    for arguments in [&["train", "a.toml", "--out", "run"][..], &["rerank", "model", "train.jsonl", "--out", "a.run"]] {
        let output = home.command(arguments).env("BURN_DEVICE", "nothing").output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains("BURN_DEVICE") && error.contains("`nothing`"), "{error}");
    }
    let teacher = ["--set", "loss.teacher={ name = \"teacher_kl\" }"];
    home.done(&[&["train", "a.toml", "--out", "taught", "--set", "learner.epochs=1"], &teacher[..]].concat());
    let mut unscored = lists(3);
    unscored[1].documents[2].score = None;
    write_lists(&home.path("unscored.jsonl"), &unscored);
    let set = ["--set", "data.train=[\"unscored.jsonl\"]"];
    let error = home.refused(&[&["train", "a.toml", "--out", "run"], &teacher[..], &set[..]].concat());
    assert!(error.contains("data.train: document `d1-2` has no `score`"), "{error}");
    let error =
        home.refused(&[&["train", "a.toml", "--out", "run", "--set", "loss.name=teacher_kl"], &set[..]].concat());
    assert!(error.contains("data.train: document `d1-2` has no `score`"), "{error}");
    let in_batch = ["--set", "learner.in_batch=true", "--set", "loss.name=teacher_kl"];
    let error = home.refused(&[&["train", "a.toml", "--out", "run"], &in_batch[..]].concat());
    assert!(error.contains("learner.in_batch: found true, expected false with the loss of a teacher"), "{error}");
    for (relevance, loss) in [(3.0, "binary_cross_entropy"), (0.5, "approx_ndcg"), (40.0, "approx_ndcg")] {
        let mut graded = lists(3);
        graded[1].documents[2].relevance = relevance;
        write_lists(&home.path("graded.jsonl"), &graded);
        let loss = format!("loss.name={loss}");
        let measured = "measure.report=[\"mrr\"]";
        let set = ["--set", "data.train=[\"graded.jsonl\"]", "--set", measured, "--set", &loss];
        let error = home.refused(&[&["train", "a.toml", "--out", "run"], &set[..]].concat());
        let message = format!("data.train: query `q1`, document `d1-2`: relevance {relevance}, expected ");
        assert!(error.contains(&message), "{loss}: {error}");
    }
    let line = |changes: Value| {
        let mut line = json!({"query_id": "1", "doc_id": 2, "query": "w7", "text": "w8", "relevance": 1});
        for (key, value) in changes.as_object().unwrap() {
            line[key] = value.clone();
        }
        line.to_string()
    };
    let good = line(json!({}));
    for (text, message) in [
        (format!("{good}\n{{"), "bad.jsonl:2: column 1: found no JSON"),
        (line(json!({"relevance": -1})), "bad.jsonl:1: relevance = -1: expected a number of at least 0"),
        (line(json!({"label": 1})), "bad.jsonl:1: "),
        (format!("{good}\n{good}\n"), "bad.jsonl:2: found document `2` of query `1` again"),
        (
            format!("{good}\n{}", line(json!({"doc_id": 3, "query": "w9"}))),
            "bad.jsonl:2: found another text for query `1`",
        ),
        ("\n".to_string(), "bad.jsonl: found no document"),
        (good.replace("\"text\":\"w8\",", ""), "text"),
    ] {
        fs::write(home.path("bad.jsonl"), &text).unwrap();
        let error = home.refused(&["train", "a.toml", "--out", "run", "--set", "data.train=[\"bad.jsonl\"]"]);
        assert!(error.contains(message), "{text}: {error}");
    }
    assert!(!home.path("run").join("model.safetensors").exists());
}

#[test]
fn a_run_that_was_killed_begins_anew() {
    let home = Home::new();
    let set = ["--set", "learner.epochs=400"];
    for after in [50, 300, 900] {
        let mut child =
            home.command(&[&["train", "a.toml", "--out", "run", "--quiet"], &set[..]].concat()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(after));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!home.path("run/report.json").exists());
        if home.path("run/model.safetensors").exists() {
            home.done(&["rerank", "run", "validation.jsonl", "--out", &format!("{after}.run")]);
        }
    }
    home.done(&["train", "a.toml", "--out", "run", "--overwrite"]);
    home.done(&["train", "a.toml", "--out", "whole"]);
    let bytes = |folder: &str| fs::read(home.path(&format!("{folder}/model.safetensors"))).unwrap();
    assert!(bytes("run") == bytes("whole"));
}

/// The first Ctrl-C keeps the best model so far.
#[cfg(unix)]
#[test]
fn a_run_that_is_interrupted_keeps_its_model() {
    let home = Home::new();
    let arguments = ["train", "a.toml", "--out", "run", "--quiet", "--set", "learner.epochs=100000"];
    let child = home.command(&arguments).stderr(std::process::Stdio::piped()).spawn().unwrap();
    for _ in 0..600 {
        if home.path("run/model.safetensors").exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && error.contains("the best model so far is in run"), "{error}");
    let report: Value = serde_json::from_str(&home.text("run/report.json")).unwrap();
    assert_eq!(report["stop"], "interrupted");
    home.done(&["rerank", "run", "validation.jsonl", "--out", "kept.run"]);
}

fn write_beir(folder: &Path) {
    fs::create_dir_all(folder.join("qrels")).unwrap();
    let lists = lists(8);
    let mut corpus = String::new();
    let (mut queries, mut judged, mut run) = (String::new(), "query-id\tcorpus-id\tscore\n".to_string(), String::new());
    for TextList { id, query, documents } in &lists {
        queries += &format!("{}\n", json!({"_id": id, "text": query}));
        for (rank, TextDocument { id: document, text, relevance, .. }) in documents.iter().enumerate() {
            let (title, rest) = text.split_once(' ').unwrap();
            corpus += &format!("{}\n", json!({"_id": document, "title": title, "text": rest}));
            if *relevance > 0.0 {
                judged += &format!("{id}\t{document}\t1\n");
            }
            run += &format!("{id} Q0 {document} {} {} bm25\n", rank + 1, 10 - rank);
        }
    }
    fs::write(folder.join("corpus.jsonl"), corpus).unwrap();
    fs::write(folder.join("queries.jsonl"), queries).unwrap();
    fs::write(folder.join("qrels/train.tsv"), judged).unwrap();
    fs::write(folder.join("bm25.run"), run).unwrap();
}

#[test]
fn a_folder_of_beir_is_the_same_as_its_lists() {
    let home = Home::new();
    write_beir(&home.path("beir"));
    write_lists(&home.path("same.jsonl"), &lists(8));
    home.done(&["rerank", "model", "beir", "--kind", "towers", "--run", "beir/bm25.run", "--out", "beir.run"]);
    home.done(&["rerank", "model", "same.jsonl", "--kind", "towers", "--out", "lists.run"]);
    let sorted = |name: &str| {
        let mut lines: Vec<String> = home.text(name).lines().map(String::from).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted("beir.run"), sorted("lists.run"));
    let source = "data.train=[{ beir = \"beir\", qrels = \"train\", run = \"beir/bm25.run\" }]";
    home.done(&["train", "a.toml", "--out", "run", "--set", source, "--set", "learner.epochs=1"]);
    let report: Value = serde_json::from_str(&home.text("run/report.json")).unwrap();
    assert_eq!(report["data"]["train"]["statistics"]["documents"], 32);
    assert!(report["cautions"].is_null());
    fs::write(home.path("beir/qrels/more.tsv"), home.text("beir/qrels/train.tsv") + "q0\tunseen\t1\n").unwrap();
    let source = source.replace("\"train\"", "\"more\"");
    home.done(&["train", "a.toml", "--out", "more", "--set", &source, "--set", "learner.epochs=1"]);
    let report: Value = serde_json::from_str(&home.text("more/report.json")).unwrap();
    let caution = "Of 9 relevant documents of the set train, the candidates lack 1, which no measure counts.";
    assert_eq!(report["cautions"], json!([caution]));
    let error = home.refused(&["rerank", "model", "beir", "--kind", "towers", "--out", "x.run"]);
    assert!(error.contains("expected --run with the candidates"), "{error}");
}

#[test]
fn what_qualifies_the_measures_stands_in_the_json_of_a_training_too() {
    let home = Home::new();
    let set = ["--set", "data.validation=[]", "--set", "learner.epochs=1"];
    let printed = home.done(&[&["train", "a.toml", "--out", "run", "--json"], &set[..]].concat());
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(printed["cautions"], json!(["There are no validation queries, so the last epoch was kept."]));
}

/// The candidates of a run have no line by the time that their lists are made.
#[test]
fn messages_about_the_candidates_of_a_run_name_no_line() {
    let home = Home::new();
    write_beir(&home.path("beir"));
    let source = "{ beir = \"beir\", run = \"beir/bm25.run\" }";
    let set = format!("data.train=[{source}, {source}]");
    let error = home.refused(&["train", "a.toml", "--out", "run", "--set", &set]);
    let message = "beir/bm25.run: found document `d0-0` of query `q0` again, expected each once";
    assert!(error.contains(message) && error.contains("(it is first in beir/bm25.run)"), "{error}");
}

#[test]
fn negatives_are_mined_from_lists_and_folders() {
    let home = Home::new();
    write_beir(&home.path("beir"));
    write_lists(&home.path("same.jsonl"), &lists(8));
    let options = ["--window", "1:30", "--relative-margin", "0", "--negatives", "3"];
    let of = |source: &str, out: &str| {
        home.done(&[&["mine", "model", source, "--out", out], &options[..]].concat());
        let lines = home.text(out);
        let mut lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        lines.sort_by_key(|line| (line["query_id"].to_string(), line["doc_id"].to_string()));
        lines
    };
    let (lists, folder) = (of("same.jsonl", "mined.jsonl"), of("beir", "beir.jsonl"));
    assert_eq!(lists, folder);
    let relevant = |line: &Value| line["relevance"] == 1.0;
    for line in lists.iter().filter(|line| !relevant(line)) {
        let best = lists.iter().filter(|other| relevant(other) && other["query_id"] == line["query_id"]);
        let best = best.map(|other| other["score"].as_f64().unwrap()).fold(f64::NEG_INFINITY, f64::max);
        assert!(line["score"].as_f64().unwrap() <= best, "{line}");
    }
    home.done(&[
        "train",
        "a.toml",
        "--out",
        "run",
        "--set",
        "data.train=[\"mined.jsonl\"]",
        "--set",
        "learner.epochs=1",
    ]);
    fs::write(home.path("none.jsonl"), home.text("same.jsonl").replace("\"relevance\":1.0", "\"relevance\":0.0"))
        .unwrap();
    let error = home.refused(&["mine", "model", "none.jsonl", "--out", "x"]);
    assert!(error.contains("none.jsonl: found no relevant document"), "{error}");
    let error = home.refused(&["mine", "model", "same.jsonl", "--out", "x", "--window", "9:3"]);
    assert!(error.contains("window = 9:3: expected FIRST:LAST"), "{error}");
    let error = home.refused(&["mine", "model", "same.jsonl", "--out", "x", "--window", "500:900"]);
    assert!(error.contains("no negative found"), "{error}");
}
