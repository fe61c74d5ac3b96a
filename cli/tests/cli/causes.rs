//! Messages name the right cause, and each cause has one wording.

use std::fs;
use std::io::Write;

use super::Bench;
use super::bad_input::contains;

/// Data of five features in `d.txt`, `fit.toml`, which learns a linear ranker from them, and that ranker in `run`.
fn trained() -> Bench {
    let bench = Bench::default();
    bench.output(&["synth", "--queries", "18", "--features", "5", "--median-length", "8", "--out", "d.txt"]);
    bench.write("fit.toml", "data = { train = [\"d.txt\"] }\nlearner = { kind = \"regression\" }\n");
    bench.output(&["train", "fit.toml", "--out", "run"]);
    bench
}

/// Trees in `trees`, learned from the same data by `trees.toml`.
fn with_trees(bench: &Bench) {
    let learner = "{ kind = \"boosted_trees\", rounds = 2, leaves = 3, min_documents = 2 }";
    let config =
        format!("data = {{ train = [\"d.txt\"] }}\nloss = {{ name = \"lambda_ndcg\" }}\nlearner = {learner}\n");
    bench.write("trees.toml", &config);
    bench.output(&["train", "trees.toml", "--out", "trees"]);
}

/// Runs a command that succeeds, and returns what it says on standard error.
fn said(bench: &Bench, args: &[&str]) -> String {
    String::from_utf8(bench.run(args).success().get_output().stderr.clone()).unwrap()
}

pub(super) fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn defect_5_trec_files_hold_what_is_read_back_or_are_refused_before_a_file_is_touched() {
    let bench = trained();
    // Only tables have an identifier that begins with `#`: a table of the text is made and its query renamed.
    bench.write("q.txt", "1 qid:AAA 1:1 5:2 #docid = #d\n0 qid:AAA 1:2 5:1 #docid = e\n1 qid:b 1:3 5:1\n");
    bench.output(&["convert", "q.txt", "q.arrow"]);
    let table = fs::read(bench.path("q.arrow")).unwrap();
    let renamed = |to: &[u8; 3]| {
        let mut bytes = table.clone();
        for at in 0..bytes.len() - 5 {
            if bytes[at..].starts_with(b"AAAAAA") {
                bytes[at..at + 6].copy_from_slice(&[*to, *to].concat());
            }
        }
        assert_ne!(bytes, table);
        fs::write(bench.path("hash.arrow"), bytes).unwrap();
    };
    bench.write("run.txt", "old\n");
    bench.write("qrels.txt", "old\n");
    let write = ["predict", "run", "hash.arrow", "--run-id", "t", "--out", "run.txt", "--qrels", "qrels.txt"];
    for name in [b"#qq", b"a b", b"a\tb", b"\x1b[m"] {
        renamed(name);
        let message = bench.refused(&write);
        contains(&message, &["query identifier is ", "that does not begin with `#`, since a TREC file holds no other"]);
        assert!(bench.refused(&write[..5]).starts_with("error: dataset: query identifier is "));
        let printed = bench.run(&["predict", "run", "hash.arrow", "--run-id", "t"]).code(2);
        assert!(printed.get_output().stdout.is_empty(), "not half of a run");
        for file in ["run.txt", "qrels.txt"] {
            assert_eq!(fs::read_to_string(bench.path(file)).unwrap(), "old\n");
        }
        if name != b"#qq" {
            let lines = ["eval", "run", "hash.arrow", "--format", "trec", "-q"];
            contains(&bench.refused(&lines), &["query identifier is ", "expected a name without blanks and control"]);
        }
    }
    // The labels are known to be held before the run is written, and the tag before the qrels are.
    bench.write("half.txt", "0.5 qid:1 1:1\n0 qid:1 1:2\n");
    for args in [&["half.txt", "--run-id", "t"][..], &["q.txt", "--run-id", "a b"], &["q.txt", "--run-id", ""]] {
        let files = ["--out", "run.txt", "--qrels", "qrels.txt"];
        bench.refused(&[&["predict", "run"], args, &files].concat());
        for file in ["run.txt", "qrels.txt"] {
            assert_eq!(fs::read_to_string(bench.path(file)).unwrap(), "old\n", "{args:?}");
        }
    }
    // The written files can be read back: both queries, in both files.
    renamed(b"q#q");
    bench.output(&write);
    let table = bench.output(&["eval", "--qrels", "qrels.txt", "--run", "run.txt", "-m", "map", "-q"]);
    assert!(table.contains("2 queries") && table.contains("q#q") && table.contains("\nb "), "{table}");
    // A cross-validation knows before the first fit that its runs cannot be written.
    let six: String = (1..=6).map(|query| format!("0 qid:\x07{query} 1:1\n1 qid:\x07{query} 1:2\n")).collect();
    bench.write("bell.txt", &six);
    bench.write(
        "cv.toml",
        "data = { train = [\"bell.txt\"] }\nlearner = { kind = \"regression\" }\ncv = { split = 3 }\n",
    );
    let message = bench.refused(&["cv", "cv.toml", "--out", "cv", "--keep", "runs"]);
    contains(&message, &["query identifier is \"\\u{7}", "a name without blanks and control characters"]);
    assert!(!bench.path("cv/jobs").exists() || fs::read_dir(bench.path("cv/jobs")).unwrap().next().is_none());
}

#[test]
fn defect_16_files_with_fewer_features_are_named_in_a_warning() {
    let bench = trained();
    bench.write("few.txt", "1 qid:x 1:1 2:2\n0 qid:x 1:2\n2 qid:y 1:2\n0 qid:y 1:3\n");
    let few = "few.txt has features 1 to 2, but the training data have 5: the missing ones count as 0";
    let sets = "data={train=[\"d.txt\"],validation=[\"few.txt\"],test=[\"few.txt\"]}";
    for quiet in [&[][..], &["--quiet"], &["--json"]] {
        let train = ["train", "fit.toml", "--out", "v", "--overwrite", "--set", sets];
        let warned = said(&bench, &[&train[..], quiet].concat());
        assert_eq!(warned.matches(few).count(), 1, "of validation and of test data, once: {warned}");
        assert!(warned.trim_start_matches("writing to v\n").starts_with(&format!("warning: {few}\n")), "{warned}");
    }
    let cv = said(&bench, &["cv", "fit.toml", "--quiet", "--json", "--set", sets]);
    assert_eq!(cv, format!("warning: {few} (fold 1)\n"));
    // One of several training files.
    let both = "data={train=[\"d.txt\",\"few.txt\"]}";
    let trained = said(&bench, &["train", "fit.toml", "-q", "--out", "b", "--set", both]);
    assert!(trained.starts_with(&format!("warning: {few}\nwarning: no validation queries")), "{trained}");
    let split = ["cv", "fit.toml", "-q", "--json", "--set", both, "--set", "cv.split=3"];
    assert_eq!(said(&bench, &split), format!("warning: {few} (all folds)\n"));
    // Each file of the folds is named once.
    fs::create_dir(bench.path("folds")).unwrap();
    for part in 1..=4 {
        let from = if part == 2 { "few.txt" } else { "d.txt" };
        let text = fs::read_to_string(bench.path(from)).unwrap().replace("qid:", &format!("qid:{part}-"));
        fs::write(bench.path(&format!("folds/S{part}.txt")), text).unwrap();
    }
    let folds = said(&bench, &["cv", "fit.toml", "-q", "--json", "--set", "data={folds=\"folds\"}"]);
    assert_eq!(folds.lines().count(), 1, "{folds}");
    assert!(folds.starts_with("warning: folds/S2.txt has features 1 to 2, but the training data have 5"), "{folds}");
    // Whoever says how many features there are knows it; a feature that is absent may be missing.
    let known = ["train", "fit.toml", "-q", "--out", "k", "--set", sets, "--set", "data.read.features=5"];
    assert_eq!(said(&bench, &known), "");
    with_trees(&bench);
    let read = "data.read={absent=\"missing\",missing=\"keep\"}";
    let missing = said(&bench, &["train", "trees.toml", "-q", "--out", "m", "--set", sets, "--set", read]);
    assert!(missing.contains("the training data have 5: the missing ones count as missing"), "{missing}");
    let start = ["train", "trees.toml", "-q", "--continue", "trees", "--out", "c", "--set", sets];
    assert_eq!(said(&bench, &start).matches(few).count(), 1);
    // The same words where a ranker meets such data.
    let of_ranker = "few.txt has features 1 to 2, but run has 5: the missing ones count as 0";
    bench.write("scores.txt", "1\n2\n3\n4\n");
    for args in [
        &["predict", "run", "few.txt"][..],
        &["eval", "run", "few.txt"],
        &["importance", "run", "few.txt"],
        &["clicks", "run", "few.txt", "--out", "clicks.txt"],
        &["study", "position-accuracy", "run", "few.txt", "--quick"],
        &["compare", "run", "scores.txt", "few.txt"],
    ] {
        assert!(said(&bench, args).contains(&format!("warning: {of_ranker}\n")), "{args:?}");
    }
}

#[test]
fn defect_18_a_file_of_another_kind_is_called_what_it_is() {
    let bench = trained();
    with_trees(&bench);
    bench.output(&["convert", "run", "run.onnx"]);
    bench.output(&["convert", "trees", "lgb.txt"]);
    bench.output(&["convert", "trees", "xgb.json", "--format", "xgboost"]);
    bench.output(&["convert", "d.txt", "d.parquet"]);
    bench.output(&["predict", "run", "d.txt", "--out", "scores.txt"]);
    bench.output(&["predict", "run", "d.txt", "--run-id", "t", "--out", "run.trec", "--qrels", "qrels.trec"]);
    fs::write(bench.path("stream.arrow"), b"\xff\xff\xff\xff\x10\0\0\0").unwrap();
    fs::write(bench.path("stream"), b"\xff\xff\xff\xff\x10\0\0\0").unwrap();
    fs::write(bench.path("d.gz"), gzip(&fs::read(bench.path("d.txt")).unwrap())).unwrap();
    fs::write(bench.path("d.zst"), b"\x28\xb5\x2f\xfd\x04\0").unwrap();
    fs::write(bench.path("noise"), b"\x01\0\x02\xc8").unwrap();
    fs::create_dir(bench.path("nothing")).unwrap();
    bench.write("empty", "");
    let rankers = "a ranker of burn-rank, LightGBM (text), XGBoost (JSON), CatBoost (JSON) or RankLib (XML)";
    let data = "LETOR text, an Arrow file (the IPC file format), a Parquet file, or CSV or TSV with a header";
    for (args, expected) in [
        (&["predict", "d.txt", "d.txt"][..], format!("d.txt: found LETOR text, expected {rankers}")),
        (&["models", "show", "d.txt"], format!("d.txt: found LETOR text, expected {rankers}")),
        (&["models", "show", "d.parquet"], format!("d.parquet: found a Parquet file, expected {rankers}")),
        (&["models", "show", "fit.toml"], format!("fit.toml: found a configuration, expected {rankers}")),
        (&["models", "show", "empty"], format!("empty: found an empty file, expected {rankers}")),
        (&["importance", "scores.txt", "d.txt"], format!("scores.txt: found one number per line, expected {rankers}")),
        (
            &["predict", "run.onnx", "d.txt"],
            "run.onnx: found an ONNX model, expected a ranker of burn-rank; ONNX is written and not read".to_string(),
        ),
        (
            &["train", "trees.toml", "--continue", "lgb.txt"],
            "lgb.txt: found a ranker in LightGBM's text, expected a ranker of burn-rank; `burn-rank convert` makes one of it"
                .to_string(),
        ),
        (&["predict", "run", "run/ranker.safetensors"], format!("found a ranker of burn-rank, expected {data}")),
        (&["eval", "run", "run.onnx"], format!("run.onnx: found an ONNX model, expected {data}")),
        (&["eval", "run", "xgb.json"], format!("xgb.json: found a ranker in XGBoost's JSON, expected {data}")),
        (&["eval", "run", "run.trec"], format!("run.trec: found a TREC run, expected {data}")),
        (&["eval", "run", "qrels.trec"], format!("qrels.trec: found TREC qrels, expected {data}")),
        (&["eval", "run", "scores.txt"], format!("scores.txt: found one number per line, expected {data}")),
        (&["eval", "run", "d.zst"], format!("d.zst: found a file compressed by Zstandard, expected {data}")),
        (&["eval", "run", "stream"], format!("stream: found a stream of Arrow messages, expected {data}")),
        (&["eval", "--scores", "d.txt", "d.txt"], "d.txt: found LETOR text, expected one score per line".to_string()),
        (
            &["eval", "--scores", "run/ranker.safetensors", "d.txt"],
            "run/ranker.safetensors: found a ranker of burn-rank, expected one score per line".to_string(),
        ),
        (
            &["eval", "--qrels", "run.trec", "--run", "qrels.trec"],
            "run.trec: found a TREC run, expected TREC qrels, lines `query iteration document relevance`".to_string(),
        ),
        (
            &["eval", "--qrels", "qrels.trec", "--run", "qrels.trec"],
            "qrels.trec: found TREC qrels, expected a TREC run, lines `query Q0 document rank score tag`".to_string(),
        ),
        (&["train", "d.txt"], "d.txt: found LETOR text, expected a configuration".to_string()),
        (&["train", "d.gz"], "d.gz: found a file compressed by gzip, expected a configuration".to_string()),
        (&["eval", "run", "run"], "run: found a folder, expected a file".to_string()),
        (&["eval", "--scores", "run", "d.txt"], "run: found a folder, expected a file".to_string()),
        (
            &["train", "trees.toml", "--continue", "d.txt"],
            "d.txt: found LETOR text, expected a ranker of burn-rank\n".to_string(),
        ),
        (
            &["train", "trees.toml", "--continue", "nothing"],
            "nothing: no ranker.safetensors here, expected a saved ranker or the folder of a `train` run".to_string(),
        ),
        (&["report", "d.txt"], "d.txt: no report.json here; expected the folder of a finished run".to_string()),
        (&["models", "show", "run/report.json"], format!("run/report.json: found JSON, expected {rankers}")),
        (&["eval", "run", "noise"], format!("noise: found binary data of another kind, expected {data}")),
        (
            &["cv", "run"],
            "run: found a folder, expected a configuration; its run has run/config.toml".to_string(),
        ),
        (
            &["loss", "list_net", "d.txt"],
            "d.txt: found LETOR text, expected lines {\"scores\": [..], \"labels\": [..]}".to_string(),
        ),
        // The names of files to write.
        (&["convert", "d.txt", "o"], "o: expected a name that ends in .arrow or .parquet for the text d.txt".into()),
        (
            &["convert", "d.gz", "o.onnx"],
            "o.onnx: expected a name that ends in .arrow or .parquet for the text d.gz".into(),
        ),
        (&["convert", "stream.arrow", "o.txt"], format!("stream.arrow: found a stream of Arrow messages, expected {data}")),
        (&["convert", "stream", "o.txt"], format!("stream: found a stream of Arrow messages, expected {data}")),
        (
            &["convert", "run", "o.arrow"],
            "o.arrow: found a name for a table, expected one for the ranker run: a name that ends in .onnx".into(),
        ),
        (
            &["convert", "run", "o.pmml"],
            "o.pmml: expected a name that ends in .onnx, .txt, .xml or .safetensors, or another name with --format".into(),
        ),
    ] {
        contains(&bench.refused(args), &[&expected]);
    }
    // A ranker of any name is one.
    fs::copy(bench.path("run/ranker.safetensors"), bench.path("ranker.bin")).unwrap();
    bench.output(&["compare", "ranker.bin", "scores.txt", "d.txt"]);
    let ranker = fs::read(bench.path("run/ranker.safetensors")).unwrap();
    fs::write(bench.path("cut.bin"), &ranker[..ranker.len() - 3]).unwrap();
    contains(&bench.refused(&["models", "show", "cut.bin"]), &["cut.bin: not a ranker of burn-rank: it is cut off or"]);
}

#[cfg(unix)]
#[test]
fn defect_18_what_the_system_refuses_is_no_absence() {
    let bench = trained();
    fs::remove_file(bench.path("run/ranker.safetensors")).unwrap();
    let predict = ["predict", "run", "d.txt"];
    contains(&bench.refused(&predict), &["run: no ranker.safetensors here, expected a saved ranker or the folder"]);
    // A link to itself cannot be opened, whoever tries; where rights are lacking the system says so in the same place.
    std::os::unix::fs::symlink("ranker.safetensors", bench.path("run/ranker.safetensors")).unwrap();
    contains(&bench.refused(&predict), &["run/ranker.safetensors: Too many levels of symbolic links"]);
}

#[test]
fn defect_18_a_start_of_other_features_names_both_files() {
    let bench = trained();
    with_trees(&bench);
    let wide = fs::read_to_string(bench.path("d.txt")).unwrap().replace(" 5:", " 7:");
    bench.write("wide.txt", &wide);
    bench.write("narrow.txt", "1 qid:1 1:1 2:1\n0 qid:1 1:2 2:0\n");
    let start = |data: &str, to: &str| {
        bench.refused(&[
            "train",
            "trees.toml",
            "--continue",
            to,
            "--out",
            "o",
            "--set",
            &format!("data.train=[{data:?}]"),
        ])
    };
    assert_eq!(
        start("wide.txt", "trees"),
        "error: --continue trees: start: found a ranker of 5 features, expected one of the 7 features of the training data\n"
    );
    let narrow = start("narrow.txt", "trees");
    contains(&narrow, &["expected one of the 2 features of the training data, or data.read.features = 5"]);
    contains(&start("d.txt", "run"), &["--continue run: start: found "]);
    let gradient = bench.refused(&["train", "fit.toml", "--continue", "trees"]);
    contains(
        &gradient,
        &["error: --continue trees: start: found \"trees\", expected nothing: the learner `regression`"],
    );
    assert!(!bench.path("o").exists());
}

#[test]
fn defect_18_the_key_that_was_set_is_named() {
    let bench = trained();
    with_trees(&bench);
    for (out, (set, expected)) in [
        ("l2=1e308", "lower learner.l2 = 1e308"),
        ("l1=1e30", "lower learner.l1 = 1e30"),
        ("min_curvature=1e30", "lower learner.min_curvature = 1e30"),
        ("subsample=1e-9", "raise learner.subsample = 1e-9"),
        ("min_documents=100000", "lower learner.min_documents = 100000, since there are only "),
    ]
    .into_iter()
    .enumerate()
    {
        let out = format!("o{out}");
        let set = format!("learner.{set}");
        let message =
            bench.refused(&["train", "trees.toml", "--out", &out, "--set", "learner.min_documents=20", "--set", &set]);
        contains(message.lines().last().unwrap(), &[expected, "no tree of 3 leaves"]);
    }
}

#[test]
fn defect_18_numbers_beyond_32_bits_and_more_features_than_the_training_data_say_so() {
    let bench = trained();
    bench.write("label.txt", "1e39 qid:1 1:1\n");
    bench.write("value.txt", "1 qid:1 1:-1e39\n");
    bench.write("scores.txt", "1\n");
    let beyond = "of at most 3.4028235e38 in size, the largest 32-bit float";
    for (file, expected) in [
        ("label.txt", "label.txt:1:1: found `1e39`, expected a label (a number of at least 0)"),
        ("value.txt", "value.txt:1:11: found `-1e39`, expected a finite value of feature 1"),
    ] {
        let message = bench.refused(&["eval", "--scores", "scores.txt", file]);
        contains(&message, &[&format!("{expected} {beyond}")]);
    }
    bench.write("wide.txt", "1 qid:x 1:1 6:1\n0 qid:x 1:2\n");
    bench.output(&["convert", "wide.txt", "wide.arrow"]);
    for (file, place) in [
        ("wide.txt", "wide.txt:1:13: found `6:1`, expected a feature index"),
        ("wide.arrow", "wide.arrow: found 6 features, expected"),
    ] {
        let set = format!("data={{train=[\"d.txt\"],validation=[{file:?}]}}");
        let train = ["train", "fit.toml", "--out", "o", "--set", &set];
        let message = bench.refused(&train);
        contains(&message, &[place, "at most 5, as in the training data"]);
        let message = bench.refused(&[&train[..], &["--set", "data.read.features=5"]].concat());
        contains(&message, &["at most 5 (option `features`)"]);
    }
}

#[test]
fn defect_18_standard_input_twice_is_refused_before_it_is_read() {
    let bench = trained();
    for args in [
        &["eval", "--scores", "-", "-"][..],
        &["eval", "run", "-", "-"],
        &["eval", "--qrels", "-", "--run", "-"],
        &["predict", "run", "-", "--contributions", "--background", "-"],
        &["compare", "-", "-", "d.txt"],
        &["clicks", "--scores", "-", "-", "--out", "c.txt"],
        &["importance", "run", "-", "-"],
        &["study", "position-accuracy", "--scores", "-", "-"],
    ] {
        let refused = bench.command(args).write_stdin("-1.49\n").assert().code(2);
        let message = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
        assert_eq!(message, "error: standard input: found `-` twice, expected it once\n", "{args:?}");
    }
}

#[test]
fn defect_18_unknown_losses_and_parameters_say_which_there_are() {
    let bench = trained();
    let none = "unknown loss `nosuch`, expected one that `burn-rank models --losses` lists";
    contains(&bench.refused(&["loss", "nosuch"]), &[none]);
    let loss = "loss={name=\"nosuch\"}";
    let learner = ["--set", "learner={kind=\"gradient\"}", "--set", "scorer={kind=\"linear\"}", "--set"];
    let gradient = [&["train", "fit.toml"][..], &learner].concat();
    contains(&bench.refused(&[&gradient[..], &[loss]].concat()), &["--set loss={name=\"nosuch\"}: loss.name: ", none]);
    let near = "; did you mean `list_net`?";
    contains(&bench.refused(&["loss", "lst_net"]), &["unknown loss `lst_net`, expected one that ", near]);
    let parameter = "rank_net: unknown parameter `nosuch`, expected ";
    contains(&bench.refused(&["loss", "rank_net", "--set", "nosuch=1"]), &[parameter, "`sigma`"]);
    let loss = "loss={name=\"rank_net\",nosuch=1}";
    contains(&bench.refused(&[&gradient[..], &[loss]].concat()), &["loss.nosuch: ", parameter, "`sigma`"]);
}

#[test]
fn defect_18_a_compressed_file_that_is_cut_off_or_has_more_says_so() {
    let bench = trained();
    let whole = gzip(&fs::read(bench.path("d.txt")).unwrap());
    for (bytes, expected) in [
        (whole[..whole.len() / 2].to_vec(), "d.gz: the file compressed by gzip is cut off"),
        (whole[..whole.len() - 2].to_vec(), "d.gz: the file compressed by gzip is cut off"),
        ([&whole[..], b"x"].concat(), "d.gz: found other bytes behind the text compressed by gzip"),
    ] {
        fs::write(bench.path("d.gz"), bytes).unwrap();
        contains(&bench.refused(&["eval", "run", "d.gz"]), &[expected]);
    }
}

#[test]
fn defect_18_a_key_of_too_many_parts_is_called_that() {
    let bench = trained();
    let set = format!("{}a=1", "a.".repeat(39));
    contains(
        &bench.refused(&["train", "fit.toml", "--set", &set]),
        &["--set a.a.", "found a key of 40 parts, expected at most 32"],
    );
    contains(&bench.refused(&["train", "fit.toml", "--set", "seed.a=1"]), &["--set seed.a=1: "]);
}

#[test]
fn defect_20_one_thing_is_not_called_several_and_long_values_are_cut() {
    let bench = trained();
    bench.write("one.txt", "1 qid:1 1:1 5:2\n0 qid:1 1:2\n");
    let table = bench.output(&["eval", "run", "one.txt", "-m", "map"]);
    assert!(table.contains(", 1 query, "), "{table}");
    let shape = bench.output(&["convert", "one.txt", "one.arrow"]);
    assert!(shape.contains("1 query, 2 documents, 5 features, "), "{shape}");
    bench.write("q.txt", "1 0 a 1\n");
    bench.write("r.txt", "2 Q0 a 1 1 t\n");
    assert_eq!(
        bench.refused(&["eval", "--qrels", "q.txt", "--run", "r.txt"]),
        "error: r.txt: found no query of q.txt, which has only query `1`\n"
    );
    let long = "x".repeat(30_000);
    for args in [
        &["train", "fit.toml", "--set", &format!("learner.kind={long}")][..],
        &["train", "fit.toml", "--set", &format!("{long}=1")],
        &["train", "fit.toml", "--set", &long],
        &["loss", "list_net", "--set", &format!("{long}=1")],
        &["loss", &long],
        &["eval", "run", "one.txt", "--read", &format!("missing={long}")],
        &["eval", "run", "one.txt", "-m", &long],
        &["eval", "run", "one.txt", "-c", &long],
    ] {
        let message = bench.refused(args);
        assert!(message.len() < 1600 && message.contains('\u{2026}'), "{} bytes: {message:.300}", message.len());
    }
}
