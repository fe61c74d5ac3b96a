//! Bad input ends with exit code 2 and one message that says where it is, what was found and what was expected. Nothing
//! is lost.

use std::fs;

use super::{Bench, SMALL};
use crate::common::root;

pub(super) fn contains(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
    assert_eq!(message.lines().count(), 1, "one line: {message}");
}

/// Returns the reader's message, since `eval --scores` reads DATA before anything else.
fn reading(text: &str) -> String {
    let bench = Bench::default();
    bench.write("data.txt", text);
    bench.write("scores.txt", "1\n");
    bench.refused(&["eval", "--scores", "scores.txt", "data.txt"])
}

#[test]
fn bad_letor_text_is_refused() {
    for (text, parts) in [
        ("1 qid:1 1:0.5\n1 qid:1 1\n", ["data.txt:2:", "expected"]),
        ("1 qid:1 1:0.5x\n", ["data.txt:1:", "0.5x"]),
        ("1 qid:1 0:0.5\n", ["data.txt:1:", "expected"]),
        ("1 qid:1 2:0.5 1:0.5\n", ["data.txt:1:", "expected"]),
        ("-1 qid:1 1:0.5\n", ["data.txt:1:1", "-1"]),
        ("nan qid:1 1:0.5\n", ["data.txt:1:1", "nan"]),
        ("1 qid:1 1:inf\n", ["data.txt:1:", "inf"]),
        ("1 qid:1 1:1\n1 qid:2 1:1\n1 qid:1 1:1\n", ["data.txt:3:3", "found query `1` again"]),
        ("1 qid:1 1:NULL\n", ["data.txt:1:", "NULL"]),
        ("", ["data.txt", "found no document"]),
    ] {
        contains(&reading(text), &parts);
    }
}

#[test]
fn a_missing_file_is_named() {
    let bench = Bench::default();
    bench.write("scores.txt", "1\n");
    contains(&bench.refused(&["eval", "--scores", "scores.txt", "nowhere.txt"]), &["nowhere.txt"]);
}

#[test]
fn limits_name_how_to_raise_them() {
    let bench = Bench::default();
    let text = "1 qid:1 1:1\n".to_string() + &"0 qid:1 1:1\n".repeat(999);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
    fs::write(bench.path("data.gz"), encoder.finish().unwrap()).unwrap();
    bench.write("scores.txt", &"1\n".repeat(1000));
    let eval = ["eval", "--scores", "scores.txt", "data.gz"];
    bench.output(&eval);
    contains(
        &bench.refused(&[&eval[..], &["--read", "max_decompressed_bytes=11999"]].concat()),
        &["data.gz: found more than 11999 bytes", "raise it with --read max_decompressed_bytes=N", "[data.read]"],
    );
    bench.output(&[&eval[..], &["--read", "max_decompressed_bytes=12000"]].concat());
    contains(
        &bench.refused(&[&eval[..], &["--read", "max_compresion_ratio=9"]].concat()),
        &["--read", "did you mean `max_compression_ratio`?"],
    );
    contains(&bench.refused(&[&eval[..], &["--read", "max_cells"]].concat()), &["--read max_cells", "key=value"]);

    let data = format!("data = {{ train = [{:?}], read = {{ max_cells = 99 }} }}\n", "data.gz");
    bench.write("few.toml", &format!("{data}[learner]\nkind = \"rank_svm\"\n"));
    contains(&bench.refused(&["train", "few.toml"]), &["more than 99 cells", "--read max_cells=N", "[data.read]"]);
}

#[test]
fn bad_score_files_are_refused() {
    let bench = Bench::default();
    bench.write("data.txt", "1 qid:1 1:0.5\n0 qid:1 1:0.1\n");
    bench.write("short.txt", "1\n");
    bench.write("words.txt", "1\nhigh\n");
    contains(
        &bench.refused(&["eval", "--scores", "short.txt", "data.txt"]),
        &["short.txt", "found 1 score, expected 2"],
    );
    contains(&bench.refused(&["eval", "--scores", "words.txt", "data.txt"]), &["words.txt:2:1", "`high`", "a number"]);
    bench.write("long.txt", &format!("1\n{}\n", "1".repeat(2000)));
    bench.write("many.txt", "1\n2\n3\n");
    let message = bench.refused(&["eval", "--scores", "long.txt", "data.txt"]);
    contains(&message, &["long.txt:2:1: found a line of more than 1024 bytes, expected a number"]);
    let message = bench.refused(&["eval", "--scores", "many.txt", "data.txt"]);
    contains(&message, &["many.txt: found more than 2 scores, expected 2"]);
    if cfg!(unix) {
        let message = bench.refused(&["eval", "--scores", "/dev/zero", "data.txt"]);
        contains(&message, &["/dev/zero:1:1: found a line of more than 1024 bytes"]);
    }
}

#[test]
fn standard_input_is_read_once() {
    let bench = Bench::default();
    let refused = bench.command(&["eval", "--scores", "-", "-"]).write_stdin("1 qid:1 1:1\n").assert().code(2);
    let message = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    contains(&message, &["standard input: found `-` twice, expected it once"]);
    let refused = bench.command(&["predict", "x", "-"]).write_stdin("").assert().code(2);
    assert!(!String::from_utf8(refused.get_output().stderr.clone()).unwrap().is_empty());
    let refused = bench.command(&["loss", "list_net"]).write_stdin("{\"scores\": [1]}").assert().code(2);
    let message = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert_eq!(message, "error: standard input:1:15: missing field `labels`\n");
}

#[test]
fn unknown_measures_and_conventions_are_refused() {
    let bench = Bench::default();
    bench.write("data.txt", "1 qid:1 1:0.5\n");
    bench.write("scores.txt", "1\n");
    let eval = ["eval", "--scores", "scores.txt", "data.txt"];
    contains(&bench.refused(&[&eval[..], &["-m", "ndgc@10"]].concat()), &["ndgc", "ndcg"]);
    contains(&bench.refused(&[&eval[..], &["-c", "leter"]].concat()), &["leter", "letor"]);
    // Before anything is read.
    let eval = ["eval", "--scores", "absent.txt", "absent.txt"];
    contains(&bench.refused(&[&eval[..], &["-m", "ndgc@10"]].concat()), &["ndgc", "ndcg"]);
    contains(&bench.refused(&[&eval[..], &["-c", "leter"]].concat()), &["leter", "letor"]);
}

#[test]
fn bad_configuration_keys_are_refused() {
    let bench = Bench::default();
    for (edit, parts) in [
        ("epochs = 3=>epoch = 3", ["small.toml:", "learner.epoch", "did you mean `epochs`?"]),
        ("epochs = 3=>epochs = 0", ["small.toml:", "learner.epochs: found 0", "at least 1"]),
        ("epochs = 3=>epochs = \"three\"", ["small.toml:", "learner.epochs", "three"]),
        ("approx_ndcg=>aprox_ndcg", ["small.toml:", "aprox_ndcg", "did you mean `approx_ndcg`?"]),
        ("\"approx_ndcg\"=>\"approx_ndcg\"\nalfa = 2.0", ["small.toml:", "alfa", "alpha"]),
        ("\"approx_ndcg\"=>\"approx_ndcg\"\nalpha = -2.0", ["small.toml:", "alpha", "-2"]),
        ("\"gradient\"=>\"gradiant\"", ["small.toml:", "learner.kind", "did you mean `gradient`?"]),
        ("\"mlp\"=>\"mpl\"", ["small.toml:", "scorer", "mlp"]),
        ("[scorer]=>[normaliser]\n[scorer]", ["small.toml:", "normaliser", "did you mean `normalizer`?"]),
        ("[loss]=>[lose]", ["small.toml:", "lose", "did you mean `loss`?"]),
        ("[scorer]=>[scorer", ["small.toml:8:8", "unclosed table", "]"]),
        ("hidden = [8]=>hidden = [0]", ["small.toml:10:1: scorer.hidden[0]: found 0", "at least 1 neuron", ""]),
        (
            "hidden = [8]=>heads = 2",
            [
                "small.toml:10:1: scorer.heads: unknown field",
                "kind = \"attention\" or kind = \"latent_cross\" has it",
                "",
            ],
        ),
        ("epochs = 3=>epochs = nan", ["small.toml:17:1: learner.epochs: found nan", "expected a finite number", ""]),
        ("features = 10=>features = 0", ["small.toml:6:1: data.synthetic.features: found 0", "1 to 100000", ""]),
        ("train_queries = 20=>train_queries = 0", ["small.toml:3:1: data.synthetic.train_queries", "found 0", ""]),
        ("epochs = 3=>optimizer = \"sgd\"", ["small.toml:17:1: learner.optimizer", "{ kind = \"sgd\" }", ""]),
    ] {
        let (from, to) = edit.split_once("=>").unwrap();
        assert!(SMALL.contains(from));
        bench.write("small.toml", &SMALL.replace(from, to));
        contains(&bench.refused(&["train", "small.toml"]), &parts);
    }
    bench.write("small.toml", SMALL);
    contains(
        &bench.refused(&["train", "small.toml", "--set", "learner.epoch=2"]),
        &["--set learner.epoch=2", "epochs"],
    );
    for (set, expected) in [
        ("scorer.hiden=[3]", "--set scorer.hiden=[3]: scorer.hiden: unknown field `hiden`"),
        ("measure.report=[\"map\",\"mpa\"]", "did you mean `map`?"),
        ("learner.clip=\"norm\"", "learner.clip.norm: found only a name, expected a table with one key"),
        ("learner.patience=many", "learner.patience: found \"many\", expected a whole number, 0 or above"),
        ("learner.patiense=", "--set learner.patiense=: learner.patiense: unknown field"),
        ("data.fold=9", "--set data.fold=9: data.fold: found 9, expected `data.folds`"),
        ("cv.split=1", "--set cv.split=1: cv.split: found 1, expected at least 3"),
        ("cv.seeds=[1, 1]", "cv.seeds[1]: found 1 again"),
    ] {
        contains(&bench.refused(&["train", "small.toml", "--set", set]), &[expected]);
    }
    contains(&bench.refused(&["train", "nowhere.toml"]), &["nowhere.toml"]);
    assert!(!bench.path("runs").exists(), "nothing is written for a configuration that cannot be used");
}

#[test]
fn bad_grids_are_refused() {
    let bench = Bench::default();
    for (grid, expected) in [
        ("\"measure.select\" = [\"map\"]", "small.toml:20:1: grid.measure.select: expected a key that begins with"),
        ("\"data.fold\" = [1, 2]", "small.toml:20:1: grid.data.fold: expected a key that begins with"),
        ("seed = [1, 2]", "small.toml:20:1: grid.seed: expected a key that begins with"),
        ("\"learner.epoch\" = [1]", "small.toml:20:1: grid, at learner.epoch=1: learner.epoch: unknown field"),
        (
            "\"learner.epochs\" = [1, 0]",
            "small.toml:20:1: grid, at learner.epochs=0: learner.epochs: found 0, expected at least 1",
        ),
    ] {
        bench.write("small.toml", &format!("{SMALL}[grid]\n{grid}\n"));
        for command in ["train", "cv"] {
            contains(&bench.refused(&[command, "small.toml"]), &[expected]);
        }
    }
}

#[test]
fn errors_in_the_data_name_their_key() {
    let bench = Bench::default();
    let learner = "[learner]\nkind = \"regression\"\n";
    bench.write("a.txt", "1 qid:1 1:0.5\n0 qid:1 1:0.1\n");
    for (data, command, expected) in [
        ("train = [\"nowhere.txt\"]", "train", "data.train: nowhere.txt: No such file"),
        ("train = [\"a.txt\"]\ntest = [\"nowhere.txt\"]", "train", "data.test: nowhere.txt: No such file"),
        ("folds = \"nowhere\"", "train", "data.folds: nowhere: No such file"),
        (
            "train = [\"a.tx\"]",
            "train",
            "data.train: a.tx: No such file or directory (os error 2); did you mean `a.txt`?",
        ),
        ("train = [\"a.txt\"]", "cv", "data.test = nothing: expected test queries: set cv.split"),
        ("synthetic = { test_queries = 0 }", "cv", "data.synthetic.test_queries = 0: expected test queries"),
        ("train = [\"a.txt\"]\n[cv]\nsplit = 3", "cv", "cv.split = 3: expected at least 3 queries to split, found 1"),
    ] {
        bench.write("data.toml", &format!("[data]\n{data}\n{learner}"));
        contains(&bench.refused(&[command, "data.toml"]), &[expected]);
    }
    for (text, expected) in [
        (learner, "data.toml: missing field `data`, expected [data] with folds = \"FOLDER\" or train = [\"FILE\"]"),
        ("[data]\nsynthetic = {}\n", "data.toml: missing field `learner`, expected [learner] with kind = \"gradient\""),
    ] {
        bench.write("data.toml", text);
        contains(&bench.refused(&["train", "data.toml"]), &[expected]);
    }
    bench.write("data.toml", &format!("[data]\nsynthetic = {{}}\n{learner}[cv]\nfolds = [1, 2]\nsplit = 3\n"));
    contains(
        &bench.refused(&["cv", "data.toml", "--set", "cv.folds=[1, 4]"]),
        &["cv.folds = 4 in [1, 4]: expected from 1 to 3"],
    );
}

#[test]
fn a_fold_that_cannot_be_measured_is_found_before_the_first_fit() {
    let bench = Bench::default();
    let line = |at: usize| format!("{} qid:{} 1:{}\n", u8::from(at == 1 || at == 8), at / 4, at % 4);
    bench.write("sparse.txt", &(0..40).map(line).collect::<String>());
    let set = "data={train=[\"sparse.txt\"]}";
    bench.write(
        "cv.toml",
        "learner = { kind = \"regression\" }\ncv = { split = 5 }\nmeasure = { report = [\"map\"] }\n",
    );
    let message = bench.refused(&["cv", "cv.toml", "--set", set, "--out", "out"]);
    contains(
        &message,
        &["fold 1: validation queries, all labels of which are 0: ndcg@10 has no mean", "excludes every query"],
    );
    assert!(!bench.path("out/jobs").exists());
    let twice = bench.refused(&["cv", "cv.toml", "--set", "data={train=[\"sparse.txt\",\"sparse.txt\"]}"]);
    contains(&twice, &["found query `0` again", "the file is given twice"]);
}

#[test]
fn a_device_of_the_environment_is_the_default_and_named_where_it_is_refused() {
    let bench = Bench::default();
    bench.write("small.toml", SMALL);
    bench.write("lists", "{\"scores\": [1, 2], \"labels\": [0, 1]}\n");
    let by = |args: &[&str], name: &str| bench.command(args).env("BURN_DEVICE", name).output().unwrap();
    for args in [&["train", "small.toml"][..], &["loss", "rank_net", "lists"], &["bench", "--shapes", "1x4"]] {
        let output = by(args, "flexx");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        contains(&message, &["BURN_DEVICE", "device `flexx`", "did you mean `flex`?"]);
    }
    // An option and the configuration come first, and a run says which device it had.
    assert!(by(&["loss", "rank_net", "--device", "flex", "lists"], "flexx").status.success());
    assert!(by(&["train", "small.toml", "--set", "device=flex", "--out", "set"], "flexx").status.success());
    assert!(by(&["train", "small.toml", "--out", "out"], "FLEX").status.success());
    let resolved = std::fs::read_to_string(bench.path("out/config.toml")).unwrap();
    assert!(resolved.contains("device = \"flex\""), "{resolved}");
    let listed = |name: &str| String::from_utf8(by(&["devices"], name).stdout).unwrap();
    let flex = listed("flex");
    assert!(flex.contains("ready, the default") && flex.contains("BURN_DEVICE=flex names the default\n"), "{flex}");
    let unknown = listed("quantum");
    assert!(unknown.contains("BURN_DEVICE=quantum names the default; BURN_DEVICE: device `quantum`"), "{unknown}");
}

#[test]
fn unknown_devices_are_refused() {
    let bench = Bench::default();
    bench.write("small.toml", SMALL);
    contains(
        &bench.refused(&["train", "small.toml", "--device", "flexx"]),
        &["--device flexx: device", "did you mean `flex`?"],
    );
    #[cfg(not(feature = "cuda"))]
    contains(&bench.refused(&["train", "small.toml", "--device", "cuda:0"]), &["device", "--features cuda"]);
}

#[test]
fn unknown_or_missing_instructions_are_refused() {
    let bench = Bench::default();
    bench.write("small.toml", SMALL);
    bench.write("lists.jsonl", "{\"scores\": [1, 2], \"labels\": [0, 1]}\n");
    bench.write("data.txt", "1 qid:1 1:0.5\n0 qid:1 1:0.1\n");
    let loss = ["loss", "list_net", "lists.jsonl", "--instructions"];
    contains(
        &bench.refused(&[&loss[..], &["avx3"]].concat()),
        &["error: instructions `avx3`: expected one of baseline, neon, avx2, avx512; did you mean `avx"],
    );
    let train = ["train", "small.toml", "--out", "run"];
    contains(
        &bench.refused(&[&train[..], &["--instructions", "avx3"]].concat()),
        &["--instructions avx3: instructions: unknown variant `avx3`", "did you mean `avx"],
    );
    bench.write("unknown.toml", &format!("instructions = \"sse\"\n{SMALL}"));
    contains(&bench.refused(&["cv", "unknown.toml"]), &["unknown.toml:1:1: instructions: unknown variant `sse`"]);
    // Instructions that no processor of this kind has.
    let lacking = if cfg!(target_arch = "x86_64") { "neon" } else { "avx2" };
    let message = format!("instructions `{lacking}`: this processor does not have them, expected");
    for command in [
        &loss[..3],
        &["predict", "none", "data.txt"],
        &["eval", "--scores", "data.txt", "data.txt"],
        &["compare", "data.txt", "data.txt", "data.txt"],
        &["study", "position_accuracy"],
        &["bench"],
        &["bench", "train"],
    ] {
        contains(&bench.refused(&[command, &["--instructions", lacking]].concat()), &[&format!("error: {message}")]);
    }
    for command in ["train", "cv"] {
        let refused = bench.refused(&[command, "small.toml", "--out", "run", "--instructions", lacking]);
        contains(&refused, &[&format!("error: --instructions {lacking}: instructions: {message}"), "baseline"]);
    }
    bench.write("lacking.toml", &format!("instructions = {lacking:?}\n{SMALL}"));
    contains(&bench.refused(&["train", "lacking.toml"]), &[&format!("lacking.toml:1:1: instructions: {message}")]);
    assert!(!bench.path("run").exists() && !bench.path("runs").exists());
}

#[test]
fn standard_input_given_twice_is_refused_in_any_place() {
    let bench = Bench::default();
    bench.write("data.txt", "1 qid:1 1:0.5\n");
    bench.write("qrels", "1 0 a 1\n");
    let ranker = root().join("models/synth-mlp.safetensors").display().to_string();
    for args in [
        &["predict", &ranker, "-", "data.txt", "-"][..],
        &["eval", "--qrels", "-", "--run", "-"],
        &["compare", "-", "-", "--qrels", "qrels"],
    ] {
        let refused = bench.command(args).write_stdin("1 0 a 1\n1 Q0 a 1 3 t\n").assert().code(2);
        let message = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
        assert_eq!(message, "error: standard input: found `-` twice, expected it once\n");
    }
    // In a configuration, `-` is a file of that name.
    bench.write("a.toml", "data = { train = [\"-\"] }\nlearner = { kind = \"regression\" }\n");
    let refused = bench.command(&["train", "a.toml"]).write_stdin("1 qid:1 1:1\n").assert().code(2);
    let message = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    contains(&message, &["data.train: -: No such file"]);
}

#[test]
fn an_output_folder_that_cannot_be_made_is_refused() {
    let bench = Bench::default();
    bench.write("small.toml", SMALL);
    bench.write("file", "");
    contains(&bench.refused(&["train", "small.toml", "--out", "file/run"]), &["file/run", "cannot write"]);
}

#[test]
fn a_mismatched_or_damaged_model_is_refused() {
    let bench = Bench::default();
    bench.write("small.toml", SMALL);
    bench.output(&["train", "small.toml", "--out", "run"]);
    bench.write("wide.txt", "1 qid:1 1:0.5 11:1\n");
    contains(
        &bench.refused(&["predict", "run/ranker.safetensors", "wide.txt"]),
        &["wide.txt:1:15", "`11:1`", "at most 10"],
    );

    let mut bytes = fs::read(bench.path("run/ranker.safetensors")).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(bench.path("flipped.safetensors"), &bytes).unwrap();
    fs::write(bench.path("short.safetensors"), &bytes[..last / 2]).unwrap();
    bench.write("narrow.txt", "1 qid:1 1:0.5\n");
    contains(&bench.refused(&["predict", "flipped.safetensors", "narrow.txt"]), &["flipped.safetensors"]);
    contains(&bench.refused(&["predict", "short.safetensors", "narrow.txt"]), &["short.safetensors"]);
    contains(&bench.refused(&["predict", "narrow.txt", "narrow.txt"]), &["narrow.txt"]);

    // `-` is standard output, which can take only one result.
    let predict = ["predict", "run/ranker.safetensors", "narrow.txt"];
    assert_eq!(bench.output(&[&predict[..], &["-o", "-"]].concat()), bench.output(&predict));
    let qrels = bench.output(&[&predict[..], &["-o", "scores", "--run-id", "a", "--qrels", "-"]].concat());
    for out in ["-", "blank"] {
        let blank = bench.refused(&[&predict[..], &["-o", out, "--run-id", "a b"]].concat());
        assert!(blank.contains("run identifier is \"a b\", expected a name without blanks"), "{blank}");
        assert!(!blank.contains("cannot write") && !bench.path("blank").exists(), "{blank}");
    }
    assert_eq!(qrels, "1 0 1 1\n");
    contains(
        &bench.refused(&[&predict[..], &["--run-id", "a", "--qrels", "-"]].concat()),
        &["--qrels -", "expected a file"],
    );
    assert!(!bench.path("-").exists());

    // If an output cannot be written, the existing file is kept.
    bench.write("scores", "precious");
    bench.refused(&["predict", "run/ranker.safetensors", "narrow.txt", "--out", "scores/new"]);
    assert_eq!(fs::read_to_string(bench.path("scores")).unwrap(), "precious");
}

#[test]
fn bad_lists_of_a_loss_are_refused() {
    let bench = Bench::default();
    bench.write("lists", "{\"scores\": [1, 2], \"labels\": [1, 0]}\n{\"scores\": [1, 2], \"labels\": [1]}\n");
    contains(&bench.refused(&["loss", "approx_ndcg", "lists"]), &["lists:2", "labels"]);
    bench.write("lists", "{\"scores\": [1, 2]}\n");
    contains(&bench.refused(&["loss", "approx_ndcg", "lists"]), &["lists:1:", "labels"]);
    bench.write("lists", "{\"scores\": [1, 2], \"labels\": [31, 0]}\n");
    contains(&bench.refused(&["loss", "approx_ndcg", "lists"]), &["lists:1", "31", "30"]);
    bench.write("lists", "{\"scores\": [1, 2], \"labels\": [-1, 0]}\n");
    contains(&bench.refused(&["loss", "approx_ndcg", "lists"]), &["lists:1", "label -1"]);
    for (list, expected) in [
        ("{\"scores\": [], \"labels\": []}", "lists:1: found no scores, expected one or more"),
        ("{\"scores\": [1], \"labels\": []}", "lists:1: found 0 labels, expected 1, one per score"),
        ("{\"scores\": [1], \"labels\": [0], \"lables\": [1]}", "unknown field `lables`"),
        ("{\"scores\": 1, \"labels\": [0]}", "found 1, expected a list"),
    ] {
        bench.write("lists", list);
        let message = bench.refused(&["loss", "approx_ndcg", "lists"]);
        contains(&message, &[expected]);
        assert!(!message.contains(" at line "), "{message}");
    }
    bench.write("empty", "\n");
    contains(&bench.refused(&["loss", "approx_ndcg", "empty"]), &["empty: found no list, expected one in each line"]);
    contains(&bench.refused(&["loss", "approx_ndgc", "lists"]), &["approx_ndgc", "did you mean `approx_ndcg`?"]);
    contains(&bench.refused(&["loss", "approx_ndcg", "--set", "alpha", "lists"]), &["--set alpha", "key=value"]);
}

/// The lines before it are written; `null` stays the value of only a list with nothing to learn.
#[test]
fn defect_8_a_loss_that_is_not_finite_is_an_error() {
    let bench = Bench::default();
    bench.write("lists", "{\"scores\": [1, 2], \"labels\": [0, 0]}\n{\"scores\": [1e20, 0], \"labels\": [1, 0]}\n");
    let single = bench.refused(&["loss", "mse_gain", "lists"]);
    let expected = "lists:2: the loss of mse_gain is not finite in f32: found scores up to 1e20, expected smaller ones, \
                    or --precision f64\n";
    contains(&single, &[expected]);
    let double = bench.output(&["loss", "mse_gain", "--precision", "f64", "lists"]);
    let lines: Vec<&str> = double.lines().collect();
    assert!(lines.len() == 2 && lines[0].contains("null") && !lines[1].contains("null"), "{double}");
    bench.write("lists", "{\"scores\": [3e38, -3e38, 0], \"labels\": [0, 2, 1]}\n");
    for (loss, what) in [("rank_net", "loss"), ("smooth_ndcg", "gradient")] {
        let message = bench.refused(&["loss", loss, "--set", "sigma=1", "lists"]);
        contains(&message, &[&format!("lists:1: the {what} of {loss} is not finite in f32: found scores up to 3e38")]);
    }
    let message = bench.refused(&["loss", "plackett_luce_ndcg", "--precision", "f64", "lists"]);
    contains(&message, &["plackett_luce_ndcg is not finite in f64", "expected smaller ones\n"]);
}

#[test]
fn a_loss_is_computed_on_the_device_that_is_asked_for() {
    let bench = Bench::default();
    bench.write("lists", "{\"scores\": [1, 2], \"labels\": [1, 0]}\n");
    let of = |rest: &[&str]| bench.output(&[&["loss", "rank_net"], rest, &["lists"]].concat());
    assert_eq!(of(&["--device", "flex"]), of(&[]));
    contains(&bench.refused(&["loss", "rank_net", "--device", "flx", "lists"]), &["device `flx`", "`flex`"]);
}

#[test]
#[cfg(target_os = "linux")]
fn lists_too_long_for_memory_name_the_bytes_that_they_need() {
    let bench = Bench::default();
    let shape = ["bench", "--losses", "lambda_measure", "--shapes", "2x5000000"];
    let parts =
        ["lambda_measure on 2 lists of 5000000 documents takes about ", " bytes (", " GiB) are free: use shorter"];
    contains(&bench.refused(&shape), &parts);
    let zeros = vec!["0"; 499_999].join(",");
    bench.write("long.jsonl", &format!("{{\"scores\": [1,{zeros}], \"labels\": [1,{zeros}]}}\n"));
    let parts = ["long.jsonl:1: lambda_measure on a list of 500000 documents takes about "];
    contains(&bench.refused(&["loss", "lambda_measure", "long.jsonl"]), &parts);
}
