//! `burn-rank devices compare` and `merge`: one experiment on several devices.

use std::fs;

use serde_json::Value;

use super::{Bench, SMALL};

/// A comparison of three settings of the CPU, in the folder `out`.
fn compared(bench: &Bench) -> Value {
    bench.write("small.toml", SMALL);
    let devices = "flex,flex@baseline,flex+threads=1";
    let json = bench.output(&[
        "devices",
        "compare",
        "small.toml",
        "--devices",
        devices,
        "--seeds",
        "2",
        "--target",
        "ndcg@10=0.01",
        "--out",
        "out",
        "--json",
    ]);
    serde_json::from_str(&json).unwrap()
}

#[test]
fn devices_give_the_same_ranker_and_say_how_fast() {
    let bench = Bench::default();
    let table = compared(&bench);
    let rows = table["devices"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["device"].as_str().unwrap()).collect();
    assert_eq!(names, ["flex", "flex@baseline", "flex+threads=1"]);
    assert_eq!(rows[0]["equivalence"], Value::Null);
    // One thread sums in the order of many.
    assert_eq!(rows[2]["equivalence"]["verdict"], "identical");
    assert!(["identical", "same", "not_decided"].contains(&rows[1]["equivalence"]["verdict"].as_str().unwrap()));
    for row in rows {
        assert!(row["quality"]["mean"].as_f64().unwrap() > 0.0);
        assert!(row["error"]["gradient"].as_f64().unwrap() < 1e-4, "{row}");
        assert!(row["error"]["loss"].as_f64().unwrap() < 1e-4, "{row}");
        for key in ["train_documents_per_second", "score_documents_per_second", "seconds_to_start", "seconds_to_target"]
        {
            assert!(row[key].as_f64().unwrap() > 0.0, "{key}");
        }
        let step = &row["step"];
        let [first, second] = [0, 1].map(|number| &step["throughput"][number]);
        assert_eq!((&first["batch_queries"], &second["batch_queries"]), (&4.into(), &16.into()), "{step}");
        assert!(first["documents_per_second"].as_f64().unwrap() > 0.0);
        assert!(step["seconds"].as_f64().unwrap() > 0.0);
        // One read per epoch, and no kernels that could be watched.
        let steps_of_epoch = row["steps"].as_f64().unwrap() / 3.0;
        assert!((step["reads"].as_f64().unwrap() - 1.0 / steps_of_epoch).abs() < 1e-12, "{step}");
        assert_eq!((&step["launches"], &step["kernel_seconds"]), (&Value::Null, &Value::Null));
        // Flex has no separate memory.
        assert_eq!(row["peak_bytes"]["device"], Value::Null);
        assert_eq!(row["trials"].as_array().unwrap().len(), 2);
    }
    assert_eq!(rows[2]["trials"][0]["threads"], 1);
    assert_eq!(rows[1]["trials"][0]["instructions"], "baseline");
    let page = fs::read_to_string(bench.path("out/devices.html")).unwrap();
    assert!(page.contains("flex+threads=1") && page.contains("not measured") && page.contains("<svg"));
    assert!(page.contains(" of 2 other devices give"), "the conclusion");
}

#[test]
fn a_comparison_that_was_stopped_goes_on() {
    let bench = Bench::default();
    let before = compared(&bench);
    // As after a kill: a fit and the table are missing.
    for file in ["devices.json", "trial-2-seed-2.json"] {
        fs::remove_file(bench.path("out").join(file)).unwrap();
    }
    let again = ["devices", "compare", "small.toml", "--devices", "flex,flex@baseline,flex+threads=1", "--seeds", "2"];
    let again = [&again[..], &["--target", "ndcg@10=0.01", "--out", "out"]].concat();
    let message = bench.refused(&again);
    assert!(message.contains("out: holds an unfinished run: --resume continues it"), "{message}");
    let table = bench.output(&[&again[..], &["--resume"]].concat());
    for column in [" train docs/s  score docs/s ", " ms  ", " device reads  sent KiB\n"] {
        assert!(table.contains(column), "{table}");
    }
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    let after: Value = serde_json::from_str(&fs::read_to_string(bench.path("out/devices.json")).unwrap()).unwrap();
    // The measured rows stay, and the missing fit has the same ranker.
    assert_eq!(before["devices"][0], after["devices"][0]);
    let ranker = |table: &Value| table["devices"][1]["trials"][1]["ranker"].clone();
    assert_eq!(ranker(&before), ranker(&after));
    let other = bench.refused(&[&again[..], &["--resume", "--set", "learner.epochs=2"]].concat());
    assert!(other.contains("out: holds a run of another configuration"), "{other}");
    // A finished comparison is not made again.
    let table_of =
        |text: String| text.lines().take_while(|line| !line.contains(" open ")).map(String::from).collect::<Vec<_>>();
    let again = bench.output(&again);
    assert!(again.ends_with("finished before; nothing was trained again: out, open out/devices.html\n"), "{again}");
    assert_eq!(table_of(again), table_of(table));
}

#[test]
fn a_finished_comparison_takes_another_margin_and_no_other_precision() {
    let bench = Bench::default();
    bench.write("small.toml", SMALL);
    let args = ["devices", "compare", "small.toml", "--devices", "flex,flex@baseline", "--seeds", "2", "--out", "out"];
    bench.output(&args);
    let before = bench.text("out/devices.html");
    bench.output(&[&args[..], &["--margin", "0.25"]].concat());
    let table: Value = serde_json::from_str(&bench.text("out/devices.json")).unwrap();
    assert_eq!(table["margin"], 0.25);
    assert!(bench.text("out/devices.html") != before, "the page names the margin");
    for set in ["learner.precision=f32", "instructions=baseline"] {
        let refused = bench.refused(&[&args[..], &["--set", set]].concat());
        let expected = ["out: holds a run of another configuration", "found flex@baseline twice"];
        assert!(expected.iter().any(|words| refused.contains(words)), "{set}: {refused}");
    }
}

#[test]
fn tables_of_machines_are_put_together() {
    let bench = Bench::default();
    compared(&bench);
    fs::create_dir(bench.path("other")).unwrap();
    fs::copy(bench.path("out/devices.json"), bench.path("other/devices.json")).unwrap();
    let merged = bench.output(&["devices", "merge", "out", "other", "--json", "--out", "both"]);
    let merged: Value = serde_json::from_str(&merged).unwrap();
    let rows = merged["devices"].as_array().unwrap();
    assert_eq!(rows.len(), 6);
    assert_eq!((rows[3]["machine"].as_str(), rows[3]["device"].as_str()), (Some("other"), Some("flex")));
    assert_eq!(rows[3]["equivalence"]["verdict"], "identical");
    assert!(bench.path("both/devices.html").exists());
    for twice in [["out", "out"], ["out", "other/../out"]] {
        let message = bench.refused(&[&["devices", "merge"], &twice[..]].concat());
        assert!(message.contains(&format!("{}: found the same folder twice", twice[1])), "{message}");
    }
    // Folders of one name go by their paths.
    fs::create_dir_all(bench.path("laptop/out")).unwrap();
    fs::copy(bench.path("out/devices.json"), bench.path("laptop/out/devices.json")).unwrap();
    let merged = bench.output(&["devices", "merge", "out", "laptop/out"]);
    assert!(merged.contains("\nlaptop/out: flex+threads=1 "), "{merged}");
    let message = bench.refused(&["devices", "merge", "other", "out", "--out", "out"]);
    assert!(message.contains("--out out: found a folder to merge, expected another one"), "{message}");
    let text = fs::read_to_string(bench.path("other/devices.json")).unwrap();
    bench.write("other/devices.json", &text.replacen("\"epochs\": 3", "\"epochs\": 4", 1));
    let message = bench.refused(&["devices", "merge", "out", "other"]);
    assert!(message.contains("other: found another configuration than in out"), "{message}");
    let message = bench.refused(&["devices", "merge", "out", "nowhere"]);
    assert!(message.contains("nowhere/devices.json"), "{message}");
}

#[test]
fn every_seed_has_the_split_of_the_first() {
    let bench = Bench::default();
    bench.output(&["synth", "--queries", "20", "--features", "3", "--out", "data.txt"]);
    bench.write("split.toml", "data = { train = [\"data.txt\"], split = {} }\nlearner = { kind = \"regression\" }\n");
    let compare =
        ["devices", "compare", "split.toml", "--devices", "flex,flex+threads=1", "--seeds", "2", "--out", "o"];
    let table: Value = serde_json::from_str(&bench.output(&[&compare[..], &["--json"]].concat())).unwrap();
    assert_eq!(table["devices"][1]["equivalence"]["verdict"], "identical");
    let [first, second] = [0, 1].map(|seed| &table["devices"][0]["trials"][seed]);
    assert_eq!((&first["seed"], &second["seed"]), (&1.into(), &2.into()));
    assert_eq!(first["data"], second["data"]);
}

#[test]
fn what_cannot_be_compared_is_refused_before_anything_is_run() {
    let bench = Bench::default();
    bench.write("small.toml", SMALL);
    let compare =
        |more: &[&str]| bench.refused(&[&["devices", "compare", "small.toml", "--out", "out"], more].concat());
    for (more, expected) in [
        (&["--devices", "flx"][..], "did you mean `flex`?"),
        (&["--devices", "flex,flex"], "found flex twice"),
        (&["--devices", "flex+thread=1"], "did you mean `threads`?"),
        (&["--devices", "flex", "--precision", "f64"], "expected f32, f16 or bf16"),
        (&["--devices", "flex", "--target", "map=0.4"], "found map, expected ndcg@10, which measure.select names"),
        (&["--devices", "flex", "--target", "0.4"], "expected MEASURE=VALUE, as in ndcg@10=0.40"),
        (&["--devices", "flex", "--margin", "0"], "--margin 0: expected a number above 0"),
        (&["--devices", "flex", "--set", "learner.epoch=1"], "did you mean `epochs`?"),
        (&["--devices", "flex", "--seeds", "1"], "2..=1000"),
    ] {
        let message = compare(more);
        assert!(message.contains(expected), "{message}");
        assert!(!bench.path("out").exists());
    }
}

/// The arguments of a comparison of one device in `out`, and `more`.
fn alone<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let compare = ["devices", "compare", "small.toml", "--devices", "flex", "--seeds", "2", "--out", "out"];
    [&compare[..], more].concat()
}

#[test]
fn a_device_whose_fit_fails_says_why() {
    let bench = Bench::default();
    bench.write("small.toml", SMALL);
    let run = bench.run(&alone(&["--set", "learner.learning_rate=1e30"]));
    let message = String::from_utf8(run.code(1).get_output().stderr.clone()).unwrap();
    assert!(message.contains("no device could run the configuration: flex: seed 1: "), "{message}");
}

#[test]
fn data_that_cannot_be_read_are_bad_input_and_leave_no_folder() {
    let bench = Bench::default();
    bench.write("small.toml", SMALL);
    bench.write("train.txt", "1 qid:1 1:0.5\n0 qid:1 1:oops\n");
    for (files, expected) in
        [("data={train=[\"train.txt\"]}", "train.txt:2"), ("data={train=[\"nofile\"]}", "nofile: No such file")]
    {
        let message = bench.refused(&alone(&["--set", files]));
        assert!(message.contains(expected), "{message}");
        assert!(!bench.path("out").exists());
    }
}

#[test]
fn a_result_that_is_damaged_or_of_another_fit_is_made_again() {
    let bench = Bench::default();
    bench.write("small.toml", SMALL);
    bench.output(&alone(&[]));
    let read = |name: &str| fs::read_to_string(bench.path("out").join(name)).unwrap();
    let ranker = |text: &str| serde_json::from_str::<Value>(text).unwrap()["result"]["ranker"].clone();
    let [first, second] = [read("trial-1-seed-1.json"), read("trial-1-seed-2.json")];
    let forged = second.replacen("\"threads\": ", "\"threads\": 1", 1);
    assert_ne!(forged, second);
    for damaged in [&first, &forged, &second[..second.len() / 2]] {
        bench.write("out/trial-1-seed-2.json", damaged);
        fs::remove_file(bench.path("out/devices.json")).unwrap();
        let message = bench.run(&alone(&["--resume"])).success().get_output().stderr.clone();
        let message = String::from_utf8(message).unwrap();
        assert!(message.contains("trial-1-seed-2.json: found damage, or the result of another fit"), "{message}");
        assert!(!message.contains("trial-1-seed-1.json"), "{message}");
        assert_eq!(ranker(&read("trial-1-seed-2.json")), ranker(&second));
    }
}

/// Returns the identifier of a process that `parent` started, and whose arguments hold a word but not another.
#[cfg(target_os = "linux")]
fn child_of(parent: u32, word: &str, not: &str) -> Option<u32> {
    let ids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    ids.into_iter().find(|id| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let arguments = fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
        let mut words = arguments.split('\0');
        fields.get(1) == Some(&&*parent.to_string()) && words.clone().any(|of| of == word) && !words.any(|of| of == not)
    })
}

#[cfg(target_os = "linux")]
#[test]
fn a_fit_dies_with_the_comparison_that_started_it() {
    use std::process::{Command, Stdio};
    use std::{thread, time};

    let bench = Bench::default();
    bench.write("small.toml", SMALL);
    let mut compare = Command::new(assert_cmd::cargo::cargo_bin("burn-rank"));
    compare.current_dir(bench.path("")).args(alone(&["--set", "learner.epochs=1000000"]));
    let mut compare = compare.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let wait_for = |what: &str, done: &mut dyn FnMut() -> bool| {
        let begun = time::Instant::now();
        while !done() {
            assert!(begun.elapsed() < time::Duration::from_secs(60), "{what}");
            thread::sleep(time::Duration::from_millis(20));
        }
    };
    let mut fit = None;
    wait_for("no fit begins", &mut || {
        fit = child_of(compare.id(), "trial", "--read-only");
        fit.is_some()
    });
    compare.kill().unwrap();
    compare.wait().unwrap();
    // The first process may be slow to ask how its new child has ended.
    let is_running = |stat: String| !stat.contains(") Z ");
    wait_for("the fit goes on", &mut || {
        !fs::read_to_string(format!("/proc/{}/stat", fit.unwrap())).is_ok_and(is_running)
    });
}

#[test]
fn fits_on_other_data_are_not_mixed_and_files_of_the_user_stay() {
    let bench = Bench::default();
    bench.write("small.toml", "data = { train = [\"data.txt\"] }\nlearner = { kind = \"regression\" }\n");
    bench.output(&["synth", "--queries", "20", "--features", "3", "--out", "data.txt"]);
    bench.output(&alone(&[]));
    // The data change between two parts of a comparison.
    for file in ["devices.json", "trial-1-seed-2.json"] {
        fs::remove_file(bench.path("out").join(file)).unwrap();
    }
    bench.output(&["synth", "--queries", "20", "--features", "3", "--seed", "9", "--out", "data.txt"]);
    let message = bench.refused(&alone(&["--resume"]));
    assert!(message.contains("out: holds a run on other data"), "{message}");
    bench.write("out/trial-notes.json", "mine");
    bench.output(&alone(&["--overwrite"]));
    assert_eq!(fs::read_to_string(bench.path("out.old-1/trial-notes.json")).unwrap(), "mine");
}

#[test]
fn another_ranker_to_start_from_is_another_comparison() {
    let bench = Bench::default();
    bench.write(
        "small.toml",
        "data = { train = [\"data.txt\"], test = [\"data.txt\"] }\nloss = { name = \"lambda_ndcg\" }\n\
         learner = { kind = \"boosted_trees\", rounds = 2, min_documents = 2 }\n",
    );
    bench.output(&["synth", "--queries", "20", "--features", "3", "--out", "data.txt"]);
    bench.output(&["train", "small.toml", "--out", "start", "-q"]);
    let started = alone(&["--set", "start=start"]);
    bench.output(&started);
    assert!(bench.output(&started).contains("finished before"));
    bench.output(&["train", "small.toml", "--out", "start", "-q", "--overwrite", "--set", "learner.rounds=1"]);
    let message = bench.refused(&started);
    assert!(message.contains("out: holds a run on other data"), "{message}");
}

/// In a build whose kernels lose the last document of each tile.
#[cfg(feature = "_broken_kernel")]
#[test]
fn a_kernel_that_is_wrong_on_purpose_is_found() {
    let bench = Bench::default();
    bench.write("small.toml", SMALL);
    let loss = "loss={name=\"approx_ndcg\"}";
    let command = ["devices", "compare", "small.toml", "--devices", "flex,flex+threads=1", "--seeds", "2"];
    let table = bench.output(&[&command[..], &["--set", loss, "--out", "out"]].concat());
    let found: Value = serde_json::from_str(&fs::read_to_string(bench.path("out/devices.json")).unwrap()).unwrap();
    for row in found["devices"].as_array().unwrap() {
        assert!(row["error"]["gradient"].as_f64().unwrap() > 1e-3, "{row}");
    }
    // The bytes are equal, and wrong.
    assert!(table.contains("flex+threads=1: loss or gradient of the first batch are wrong"), "{table}");
}
