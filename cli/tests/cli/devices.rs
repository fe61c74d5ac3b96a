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
    assert!(
        message.contains("out: holds a comparison; choose another --out, or --resume or --overwrite it"),
        "{message}"
    );
    let table = bench.output(&[&again[..], &["--resume"]].concat());
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    let after: Value = serde_json::from_str(&fs::read_to_string(bench.path("out/devices.json")).unwrap()).unwrap();
    // The measured rows stay, and the missing fit has the same ranker.
    assert_eq!(before["devices"][0], after["devices"][0]);
    let ranker = |table: &Value| table["devices"][1]["trials"][1]["ranker"].clone();
    assert_eq!(ranker(&before), ranker(&after));
    let other = bench.refused(&[&again[..], &["--resume", "--set", "learner.epochs=2"]].concat());
    assert!(other.contains("holds a comparison with another configuration"), "{other}");
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
fn a_split_by_the_seed_is_compared_seed_by_seed() {
    let bench = Bench::default();
    bench.output(&["synth", "--queries", "20", "--features", "3", "--out", "data.txt"]);
    bench.write("split.toml", "data = { train = [\"data.txt\"], split = {} }\nlearner = { kind = \"regression\" }\n");
    let compare =
        ["devices", "compare", "split.toml", "--devices", "flex,flex+threads=1", "--seeds", "2", "--out", "o"];
    let table: Value = serde_json::from_str(&bench.output(&[&compare[..], &["--json"]].concat())).unwrap();
    assert_eq!(table["devices"][1]["equivalence"]["verdict"], "identical");
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

#[test]
fn a_device_whose_fit_fails_has_a_row_that_says_why() {
    let bench = Bench::default();
    // One thread and sixteen bits pass; the label of the data fails in every device alike.
    bench.write("small.toml", SMALL);
    bench.write("train.txt", "1 qid:1 1:0.5\n0 qid:1 1:oops\n");
    let files = "data={train=[\"train.txt\"]}";
    let run = bench.run(&[
        "devices",
        "compare",
        "small.toml",
        "--devices",
        "flex",
        "--seeds",
        "2",
        "--set",
        files,
        "--out",
        "out",
    ]);
    let message = String::from_utf8(run.code(1).get_output().stderr.clone()).unwrap();
    assert!(message.contains("no device could run the configuration: flex: seed 1: "), "{message}");
    assert!(message.contains("train.txt:2"), "{message}");
}

#[test]
fn fits_on_other_data_are_not_mixed_and_files_of_the_user_stay() {
    let bench = Bench::default();
    compared(&bench);
    let again = ["devices", "compare", "small.toml", "--devices", "flex,flex@baseline,flex+threads=1", "--seeds", "2"];
    let again = [&again[..], &["--target", "ndcg@10=0.01", "--out", "out"]].concat();
    // As after the data have changed between two parts of a comparison.
    let fit = bench.path("out/trial-2-seed-2.json");
    let mut trial: Value = serde_json::from_str(&fs::read_to_string(&fit).unwrap()).unwrap();
    trial["data"]["train"] = "another".into();
    fs::write(&fit, trial.to_string()).unwrap();
    let message = bench.refused(&[&again[..], &["--resume"]].concat());
    assert!(message.contains("out: holds fits on other data"), "{message}");
    bench.write("out/trial-notes.json", "mine");
    bench.output(&[&again[..], &["--overwrite"]].concat());
    assert_eq!(fs::read_to_string(bench.path("out/trial-notes.json")).unwrap(), "mine");
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
