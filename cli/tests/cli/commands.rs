//! Commands that do not train.

use burn_rank::op::Instructions;
use serde_json::Value;

use super::Bench;
use super::bad_input::contains;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn loss_prints_one_object_per_line() {
    let bench = Bench::default();
    let lists = "{\"scores\": [0.3456, 0.8216], \"labels\": [0, 1]}\n\n{\"scores\": [1, 1], \"labels\": [0, 0]}\n";
    let output = bench.command(&["loss", "approx_ndcg", "--set", "alpha=10"]).write_stdin(lists).assert().success();
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    let lines: Vec<Value> = text.lines().map(json).collect();
    assert_eq!(lines.len(), 2);
    // Position 1 + sigmoid(-10 * 0.476) of the relevant document.
    let position = 1.0 + 1.0 / (1.0 + (4.76f64).exp());
    let value = lines[0]["value"].as_f64().unwrap();
    assert!((value - 1.0 / (1.0 + position).log2()).abs() < 1e-5, "{value}");
    let grad: Vec<f64> = lines[0]["grad"].as_array().unwrap().iter().map(|g| g.as_f64().unwrap()).collect();
    assert!(grad[0] > 0.0 && (grad[0] + grad[1]).abs() < 1e-6, "{grad:?}");
    assert_eq!(lines[1]["loss"], 0.0, "nothing to learn");
    assert!(lines[1]["value"].is_null(), "{}", lines[1]);
    assert_eq!(lines[1]["grad"], serde_json::json!([0.0, 0.0]));
}

#[test]
fn a_measure_through_a_relaxation_is_named_in_several_ways() {
    let bench = Bench::default();
    let list = "{\"scores\": [0.3, 0.8, -0.2], \"labels\": [0, 1, 2]}\n";
    bench.write("lists.jsonl", list);
    let expected = bench.output(&["loss", "smooth_ap_indicator", "lists.jsonl", "--set", "sigma=0.5"]);
    for args in [
        &["loss", "ap:rank_indicators", "lists.jsonl", "--set", "sigma=0.5"][..],
        &["loss", "lists.jsonl", "--set", "measure=ap", "--set", "relaxation=rank_indicators", "--set", "sigma=0.5"],
        &[
            "loss",
            "relaxed_measure",
            "lists.jsonl",
            "--set",
            "measure=map",
            "--set",
            "relaxation=rank_indicators",
            "--set",
            "sigma=0.5",
        ],
    ] {
        assert_eq!(bench.output(args), expected, "{args:?}");
    }
    let stdin = bench.command(&["loss", "--set", "measure=ap"]).write_stdin(list).assert().success();
    assert!(String::from_utf8_lossy(&stdin.get_output().stdout).contains("\"value\""));
    contains(
        &bench.refused(&["loss", "ap:rank_indicator", "lists.jsonl"]),
        &["relaxation", "did you mean `rank_indicators`?"],
    );
    contains(&bench.refused(&["loss", "--set", "k=3"]), &["the name of a loss, or --set measure=NAME"]);
    contains(
        &bench.refused(&["loss", "ndcg@3:sigmoid_ranks", "lists.jsonl", "--set", "k=3"]),
        &["--set k: found `k` in `ndcg@3:sigmoid_ranks` too"],
    );
    let rows = bench.output(&["bench", "--losses", "rr:sigmoid_ranks", "--shapes", "2x4", "--repeats", "1", "--json"]);
    assert_eq!(json(rows.lines().next().unwrap())["loss"], "rr:sigmoid_ranks");
}

#[test]
fn bench_counts_bytes_per_document_and_forces_the_way_of_sums() {
    let bench = Bench::default();
    let args = ["bench", "--losses", "approx_ndcg", "--shapes", "1x3000", "--paths", "fused", "--repeats", "1"];
    for sums in ["auto", "pairs", "fast"] {
        let row = json(bench.output(&[&args[..], &["--sums", sums, "--json"]].concat()).trim());
        assert_eq!(row["sums"], sums);
        // Absent where the system does not report memory.
        if let Some(peak) = row["peak_mib"].as_f64() {
            let bytes = row["peak_bytes_per_document"].as_f64().unwrap();
            let expected = peak * f64::from(1 << 20) / 3000.0;
            assert!((bytes - expected).abs() <= 1e-9 * expected, "{row}");
        }
    }
    let table = bench.output(&args);
    assert!(table.lines().next().unwrap().ends_with("peak MiB  bytes/document"), "{table}");
    let refused = bench.run(&[&args[..], &["--sums", "fats"]].concat()).code(2);
    let message = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert!(["--sums", "auto, pairs, fast", "'fast'"].iter().all(|part| message.contains(part)), "{message}");
}

#[test]
fn cells_train_as_named_losses_do() {
    let bench = Bench::default();
    let train = |name: &str, loss: &str| {
        let text = format!(
            "name = \"{name}\"\n[data.synthetic]\ntrain_queries = 8\nvalidation_queries = 4\ntest_queries = 4\n\
             [learner]\nkind = \"gradient\"\nepochs = 2\nanneal = {{ kind = \"linear\", from = 1.0, to = 0.5 }}\n[loss]\n{loss}\n"
        );
        bench.write(&format!("{name}.toml"), &text);
        bench.output(&["train", &format!("{name}.toml"), "--out", name]);
        json(&std::fs::read_to_string(bench.path(&format!("{name}/report.json"))).unwrap())["per_query"].clone()
    };
    let named = train("named", "name = \"smooth_ap_indicator\"\ntemperature_unit = \"spread\"");
    let cell = train("cell", "measure = \"ap\"\nrelaxation = \"rank_indicators\"\ntemperature_unit = \"spread\"");
    assert!(named.is_object() || named.is_array(), "{named}");
    assert_eq!(named, cell);
    // Its configuration can be run again.
    bench.output(&["train", "cell/config.toml", "--out", "again"]);
}

#[test]
fn text_is_read_from_standard_input_with_a_byte_order_mark_or_compressed() {
    let bench = Bench::default();
    let gzip = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let data = "2 qid:1 1:0.5\n0 qid:1 1:0.1\n1 qid:1 1:0.3\n";
    let scores = "0.5\r\n0.1\r\n0.3\r\n";
    bench.write("data.txt", data);
    bench.write("scores.txt", &format!("\u{feff}{scores}"));
    std::fs::write(bench.path("scores.gz"), gzip(scores)).unwrap();
    let expected = bench.output(&["eval", "--scores", "scores.txt", "data.txt"]);
    assert_eq!(bench.output(&["eval", "--scores", "scores.gz", "data.txt"]), expected);
    let from_stdin = |args: &[&str], text: &[u8]| {
        let output = bench.command(args).write_stdin(text).assert().success();
        String::from_utf8(output.get_output().stdout.clone()).unwrap()
    };
    for text in [data.as_bytes(), &gzip(data)] {
        assert_eq!(from_stdin(&["eval", "--scores", "scores.txt", "-"], text), expected);
    }
    assert_eq!(from_stdin(&["eval", "--scores", "-", "data.txt"], scores.as_bytes()), expected);

    bench.write("qrels", "1 0 a 1\n");
    let run = ["eval", "--qrels", "qrels", "--run"];
    bench.write("run", "1 Q0 a 1 3.0 mine\n");
    let expected = bench.output(&[&run[..], &["run"]].concat());
    assert_eq!(from_stdin(&[&run[..], &["-"]].concat(), b"1 Q0 a 1 3.0 mine\n"), expected);

    let list = "{\"scores\": [1, 2], \"labels\": [0, 1]}\n";
    std::fs::write(bench.path("lists.gz"), gzip(&format!("\u{feff}{list}"))).unwrap();
    assert_eq!(bench.output(&["loss", "list_net", "lists.gz"]), from_stdin(&["loss", "list_net"], list.as_bytes()));
}

#[test]
fn both_options_for_missing_values_are_followed() {
    let bench = Bench::default();
    bench.write("data.txt", "1 qid:1 1:NULL\n0 qid:1 1:1\n");
    bench.write("scores.txt", "1\n0\n");
    let eval = ["eval", "--scores", "scores.txt", "data.txt"];
    bench.output(&[&eval[..], &["--read", "missing=zero"]].concat());
    bench.output(&[&eval[..], &["--missing", "query-min"]].concat());
    assert!(bench.refused(&[&eval[..], &["--read", "missing=zero", "--missing", "error"]].concat()).contains("NULL"));
    let message = bench.refused(&[&eval[..], &["--read", "max_cells=few"]].concat());
    assert!(message.contains("--read max_cells: found \"few\", expected a whole number, 0 or above"), "{message}");
}

#[test]
fn synth_gives_the_same_bytes_on_any_number_of_threads() {
    let bench = Bench::default();
    let args = ["synth", "--queries", "20", "--features", "12", "--seed", "3"];
    let text = |threads: &str| {
        let assert = bench.command(&args).env("RAYON_NUM_THREADS", threads).assert().success();
        assert.get_output().stdout.clone()
    };
    assert_eq!(text("1"), text("2"));
    bench.output(&[&args[..], &["--out", "data.txt"]].concat());
    assert_eq!(std::fs::read(bench.path("data.txt")).unwrap(), text("1"));
    assert_eq!(bench.output(&[&args[..], &["--out", "-"]].concat()).as_bytes(), text("1"));
    assert!(!bench.path("-").exists());
    assert_eq!(bench.refused(&["synth", "--queries", "0"]).lines().count(), 1);
}

#[test]
fn eval_works_under_one_and_under_every_convention() {
    let bench = Bench::default();
    bench.write("data.txt", "2 qid:1 1:0.5\n0 qid:1 1:0.1\n1 qid:1 1:0.3\n0 qid:2 1:1\n0 qid:2 1:1\n");
    bench.write("scores.txt", "1\n1\n0\n3\n4\n");
    let eval = ["eval", "--scores", "scores.txt", "data.txt", "-m", "ndcg@10,map"];
    let value = json(&bench.output(&[&eval[..], &["--json"]].concat()));
    assert_eq!(value["queries"], 2);
    assert_eq!(value["empty_queries"], 1);
    // The relevant document ties with an irrelevant one: precision 1 or 1/2 there, 2/3 at the last.
    let map = ((1.0 + 2.0 / 3.0) / 2.0 + (0.5 + 2.0 / 3.0) / 2.0) / 2.0;
    assert!((value["measures"]["map"].as_f64().unwrap() - map).abs() < 1e-12);

    let table = bench.output(&[&eval[..], &["--compare-conventions"]].concat());
    for preset in ["standard", "letor", "trec_eval", "sklearn", "lightgbm", "xgboost", "rax", "tfranking"] {
        assert!(table.contains(preset), "{table}");
    }
    let all = json(&bench.output(&[&eval[..], &["--compare-conventions", "--json"]].concat()));
    let of = |name: &str| all["conventions"].as_array().unwrap().iter().find(|of| of["convention"] == name).unwrap();
    assert_eq!(of("standard"), &value);
    assert!(of("trec_eval")["error"].as_str().unwrap().contains("orders equal scores by document identifier"));
    let per_query = bench.output(&[&eval[..], &["--per-query"]].concat());
    assert!(per_query.lines().any(|line| line.starts_with("2 ") && line.contains('-')), "{per_query}");
}

#[test]
fn everything_that_can_be_trained_is_listed() {
    let bench = Bench::default();
    let losses = bench.output(&["models", "--losses", "--json"]);
    let names: Vec<Value> = losses.lines().map(|line| json(line)["loss"].clone()).collect();
    assert!(names.contains(&Value::from("approx_ndcg")) && names.contains(&Value::from("soft_ndcg")));
    let rows: Vec<Value> = losses.lines().map(json).collect();
    let cells = rows.iter().find(|row| row["loss"] == "relaxed_measure").unwrap()["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 11 * 8);
    assert!(cells.iter().any(|cell| cell["measure"] == "err" && cell["loss"] == "soft_err"));
    let text = bench.output(&["models", "--losses"]);
    assert!(text.starts_with("Start with:\n"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("kendall_tau  o*")), "{text}");
    assert!(bench.output(&["models", "--learners"]).contains("learner gradient"));
    assert!(bench.output(&["models", "--measures"]).contains("letor"));
    assert_eq!(text.lines().find(|line| line.chars().count() > 80), None);
    let devices = bench.output(&["devices"]);
    assert!(devices.lines().any(|line| line.starts_with("flex") && line.contains("ready")));
    let default = |line: &str| line.contains("found, the default");
    let best = devices.lines().find(|line| default(line)).unwrap();
    assert!(best.starts_with(Instructions::best().name()), "{devices}");
    let rows: Vec<Value> = bench.output(&["devices", "--json"]).lines().map(json).collect();
    let found = rows.iter().filter(|row| row["found"] == true).map(|row| row["instructions"].clone());
    assert_eq!(found.collect::<Value>(), serde_json::json!(Instructions::found()));
}

#[test]
fn computations_use_the_instructions_asked_for() {
    let bench = Bench::default();
    let lists: String =
        (0..40).map(|list| format!("{{\"scores\": [0.{list}, 1.3, 2.{list}7], \"labels\": [0, 1, 2]}}\n")).collect();
    bench.write("lists.jsonl", &lists);
    let by = |set: &str| bench.output(&["loss", "approx_ndcg", "--instructions", set, "lists.jsonl"]);
    let fused: Vec<String> = Instructions::found()
        .into_iter()
        .filter(|set| *set != Instructions::Baseline)
        .map(|set| by(set.name()))
        .collect();
    assert_eq!(by("baseline").lines().count(), 40);
    for other in &fused {
        assert_eq!(*other, fused[0]);
        assert_ne!(*other, by("baseline"), "the same to the last bit: nothing shows which was used");
    }
    if let Some(best) = fused.last() {
        assert_eq!(bench.output(&["loss", "approx_ndcg", "lists.jsonl"]), *best);
    }
}

#[test]
fn a_closed_pipe_is_quiet() {
    let bench = Bench::default();
    let binary = assert_cmd::cargo::cargo_bin("burn-rank");
    let command = format!("{} synth --queries 500 | head -1 > /dev/null; exit ${{PIPESTATUS[0]}}", binary.display());
    let output =
        std::process::Command::new("bash").args(["-c", &command]).current_dir(bench.path("")).output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn usage_errors_end_with_exit_code_2() {
    let bench = Bench::default();
    bench.run(&["trian"]).code(2);
    bench.run(&["eval"]).code(2);
    bench.run(&["--version"]).code(0);
    let message = bench.refused(&["bench", "train", "--batch", "0"]);
    assert!(message.contains("--batch"), "{message}");
}

/// Scores that are equal only as float32 are tied only in conventions where identifiers break ties, since these compare
/// float32.
#[test]
fn scores_of_a_file_keep_their_digits() {
    let bench = Bench::default();
    bench.write("data", "0 qid:1 1:1 # b\n1 qid:1 1:1 # a\n");
    for (scores, of_trec_eval) in [("1.0\n1.000000001\n", "0.6309"), ("1e300\n2e300\n", "0.6309"), ("1\n2\n", "1.0000")]
    {
        bench.write("scores", scores);
        let text = bench.output(&["eval", "--scores", "scores", "data", "--compare-conventions", "-m", "ndcg"]);
        for line in text.lines().skip(2) {
            let expected = if line.starts_with("trec_eval") { of_trec_eval } else { "1.0000" };
            assert!(line.ends_with(expected), "{line}");
        }
    }
}

#[test]
fn a_convention_is_a_preset_or_what_differs_from_one() {
    let bench = Bench::default();
    bench.write("data", "0 qid:1 1:1\n1 qid:1 1:1\n2 qid:1 1:1\n");
    bench.write("scores", "2\n3\n1\n");
    let eval = |convention: &str| bench.output(&["eval", "--scores", "scores", "data", "-m", "ndcg", "-c", convention]);
    let linear = eval("{ preset = \"letor\", gain = \"linear\", name = \"mine\" }");
    assert!(linear.starts_with("convention mine, "), "{linear}");
    assert_eq!(eval("{\"preset\": \"letor\", \"gain\": \"linear\", \"name\": \"mine\"}"), linear);
    // Gains 1 0 2 under the discounts 1, 1, ln 2 / ln 3.
    assert!(linear.contains(&format!("{:.4}", (1.0 + 2.0 * 2f64.ln() / 3f64.ln()) / 3.0)), "{linear}");
    assert_eq!(eval("{ preset = \"sklearn\", gain = \"linear\" }"), eval("sklearn"));
    let refused = |convention: &str| bench.refused(&["eval", "--scores", "scores", "data", "-c", convention]);
    contains(&refused("{ preset = \"leter\" }"), &["--convention", "did you mean `letor`?"]);
    contains(&refused("{ relevant_from = nan }"), &["}: relevant_from: found nan, expected a finite number"]);
    contains(&refused("{ \"relevant_form\": 1 }"), &["relevant_form: unknown field", "did you mean `relevant_from`?"]);
    contains(&refused("{ gian = \"linear\" }"), &["unknown field `gian`", "did you mean `gain`?"]);
    contains(&refused("{ name = \"letor\", gain = \"linear\" }"), &["name = letor", "a name that no preset has"]);
    contains(
        &bench.refused(&["eval", "x.safetensors", "--scores", "scores", "data"]),
        &["expected only DATA with --scores"],
    );
    let twice = bench.refused(&["loss", "approx_ndcg", "--set", "alpha=1", "--set", "alpha=2"]);
    contains(&twice, &["--set alpha=2: found `alpha` again, expected each key once"]);
}

#[test]
fn every_benchmark_has_the_same_form() {
    let bench = Bench::default();
    let small: [&[&str]; 4] = [
        &["bench", "--losses", "list_net", "--shapes", "2x4", "--repeats", "1"],
        &["bench", "train", "--queries", "4", "--repeats", "1", "--paths", "fused,tensor"],
        &["bench", "trees", "--queries", "6", "--rounds", "1", "--repeats", "1"],
        &["bench", "serving", "--documents", "3", "--features", "4", "--requests", "2"],
    ];
    for (args, name) in small.into_iter().zip(["losses", "train", "trees", "serving"]) {
        let lines = bench.output(&[args, &["--json"]].concat());
        let rows: Vec<Value> = lines.lines().map(json).collect();
        assert!(!rows.is_empty(), "{name}");
        for line in lines.lines() {
            assert!(line.starts_with(&format!("{{\"bench\":\"{name}\",\"device\":\"flex\",\"path\":")), "{line}");
        }
        let paths: Vec<Option<&str>> = rows.iter().map(|row| row["path"].as_str()).collect();
        match name {
            "losses" => assert_eq!(paths, [Some("fused"), Some("tensor")]),
            "train" => assert_eq!(paths, [Some("fused"), Some("tensor"), Some("fused"), Some("tensor")]),
            _ => assert!(paths.iter().all(Option::is_none)),
        }
    }
    let table = bench.output(small[1]);
    assert!(table.starts_with("scorer "), "{table}");
    assert!(table.contains("flex  tensor"), "{table}");
}

#[test]
fn every_kind_of_ranker_is_timed_on_one_query() {
    let bench = Bench::default();
    let serving = ["bench", "serving", "--documents", "3", "--features", "4", "--requests", "5"];
    let text = bench.output(&serving);
    assert!(text.starts_with("a query of 3 documents x 4 features, 5 requests one after the other\nranker "), "{text}");
    let lines = bench.output(&[&serving[..], &["--json"]].concat());
    let rows: Vec<Value> = lines.lines().map(json).collect();
    assert_eq!(rows.len(), 10);
    for row in &rows {
        assert!(text.contains(row["ranker"].as_str().unwrap()), "{row}");
        assert!(row["p99_us"].as_f64() >= row["median_us"].as_f64() && row["requests"] == 5, "{row}");
    }
    assert!(bench.refused(&["bench", "serving", "--requests", "0"]).contains("0 is not in 1.."));
}
