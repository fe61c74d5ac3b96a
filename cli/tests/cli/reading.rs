//! What is read, what it is called, and what is refused before memory is taken for it.

use std::fmt::Write;

use super::Bench;
use super::bad_input::contains;

/// 4000 documents of 400 queries. Three of them, the only ones of label 2, have feature 2.
fn with_a_rare_flag(bench: &Bench) {
    let mut text = String::new();
    for query in 0..400 {
        for document in 0..10 {
            let flag = query % 150 == 7 && document == 0;
            let label = if flag { 2 } else { (query * 7 + document * 3) % 5 % 2 };
            let noise = (query * 10 + document) * 7919 % 4001;
            writeln!(text, "{label} qid:{query} 1:{} 2:{}", f64::from(noise) / 4001.0, u8::from(flag)).unwrap();
        }
    }
    bench.write("flag.txt", &text);
}

#[test]
fn a_flag_that_one_document_in_a_thousand_has_is_learned_by_default() {
    let bench = Bench::default();
    with_a_rare_flag(&bench);
    let learners = [
        ("linear", "normalizer = \"gauss\"\nlearner = { kind = \"regression\" }"),
        (
            "network",
            "loss = { name = \"lambda_ndcg\" }\nscorer = { kind = \"linear\" }\nlearner = { kind = \"gradient\", epochs = 1, \
             batch_queries = 20, learning_rate = 0.1 }",
        ),
    ];
    for (name, learner) in learners {
        bench.write("flag.toml", &format!("data = {{ train = [\"flag.txt\"] }}\n{learner}\n"));
        let run = bench.run(&["train", "flag.toml", "--out", name, "-q"]).success();
        let said = String::from_utf8_lossy(&run.get_output().stderr);
        assert!(!said.contains("constant"), "{said}");
        let scores = bench.output(&["predict", name, "flag.txt"]);
        let scores: Vec<f64> = scores.lines().map(|score| score.parse().unwrap()).collect();
        let is_flagged = |at: &usize| at / 10 % 150 == 7 && at.is_multiple_of(10);
        let (flagged, others): (Vec<usize>, Vec<usize>) = (0..4000).partition(is_flagged);
        let best_of_others = others.iter().map(|&at| scores[at]).fold(f64::MIN, f64::max);
        assert!(flagged.len() == 3 && flagged.iter().all(|&at| scores[at] > best_of_others), "{name}");
    }
}

#[test]
fn validation_of_a_set_of_text_and_tables_follows_the_names_of_columns() {
    let bench = Bench::default();
    bench.write("a.csv", "query,label,a,b\n1,1,0.9,0\n1,0,0.1,0.5\n2,1,0.8,1\n2,0,0.2,0.3\n");
    bench.write("swapped.csv", "b,query,label,a\n0,1,1,0.9\n0.5,1,0,0.1\n1,2,1,0.8\n0.3,2,0,0.2\n");
    bench.write("c.txt", "1 qid:7 1:0.7 2:0.2\n0 qid:7 1:0.3 2:0.9\n");
    bench.write("m.toml", "data = { train = [\"a.csv\", \"c.txt\"] }\nlearner = { kind = \"regression\" }\n");
    bench.output(&["train", "m.toml", "--out", "m", "-q"]);
    let scores = ["a.csv", "swapped.csv"].map(|table| bench.output(&["predict", "m", table]));
    assert_eq!(scores[0], scores[1]);
    let hashes = ["a.csv", "swapped.csv"].map(|table| {
        let set = format!("data.validation=[\"{table}\"]");
        bench.output(&["train", "m.toml", "--out", &format!("of {table}"), "-q", "--set", &set]);
        let report: serde_json::Value = serde_json::from_str(
            &std::fs::read_to_string(bench.path(&format!("of {table}")).join("report.json")).unwrap(),
        )
        .unwrap();
        report["data"]["validation"]["hash"].clone()
    });
    assert!(!hashes[0].is_null() && hashes[0] == hashes[1], "{hashes:?}");
}

#[test]
fn a_continued_fit_refuses_a_table_whose_columns_have_another_order() {
    let bench = Bench::default();
    for header in ["a,b", "b,a"] {
        let rows: String = (0..40).map(|row| format!("{},{},{row},{}\n", row / 4, row % 3, row * 7 % 11)).collect();
        bench.write(&format!("{}.csv", header.replace(',', "")), &format!("query,label,{header}\n{rows}"));
    }
    bench.write(
        "t.toml",
        "data = { train = [\"ab.csv\"] }\nloss = { name = \"lambda_ndcg\" }\n\
         learner = { kind = \"boosted_trees\", rounds = 2, min_documents = 2 }\n",
    );
    bench.output(&["train", "t.toml", "--out", "t", "-q"]);
    let go_on = ["train", "t.toml", "--continue", "t", "--out", "more", "-q", "--set"];
    let message = bench.refused(&[&go_on[..], &["data.train=[\"ba.csv\"]"]].concat());
    let expected = "start: found a ranker with other features, expected one with the features of the training data";
    contains(&message, &[expected]);
    bench.output(&[&go_on[..], &["data.train=[\"ab.csv\"]"]].concat());
}

#[test]
fn a_table_that_tests_a_fit_on_text_has_its_features_by_number() {
    let bench = Bench::default();
    bench.write("t.txt", "1 qid:1 1:0.9 2:0.1\n0 qid:1 1:0.1 2:0.5\n1 qid:2 1:0.8 2:0.2\n0 qid:2 1:0.2 2:0.3\n");
    bench.write("t.toml", "data = { train = [\"t.txt\"] }\nlearner = { kind = \"regression\" }\n");
    let headers = ["feature_1,query,label,feature_2", "feature_2,query,label,feature_1", "2,query,label,1"];
    let hashes = headers.map(|header| {
        let is_swapped = header.contains("label,feature_1") || header.contains("label,1");
        let rows = if is_swapped { "0,7,1,0.7\n0.9,7,0,0.3\n" } else { "0.7,7,1,0\n0.3,7,0,0.9\n" };
        bench.write("test.csv", &format!("{header}\n{rows}"));
        bench.output(&["train", "t.toml", "--out", "t", "--overwrite", "-q", "--set", "data.test=[\"test.csv\"]"]);
        let report = std::fs::read_to_string(bench.path("t/report.json")).unwrap();
        serde_json::from_str::<serde_json::Value>(&report).unwrap()["data"]["test"]["hash"].clone()
    });
    assert!(!hashes[0].is_null() && hashes.iter().all(|hash| *hash == hashes[0]), "{hashes:?}");
    bench.write("named.csv", "query,label,a,b\n7,1,0.7,0\n7,0,0.3,0.9\n");
    let message = bench.refused(&["train", "t.toml", "--no-out", "--set", "data.test=[\"named.csv\"]"]);
    contains(
        &message,
        &["named.csv: found columns `a`, `b`, expected the features 1 to 2 of training data with no names"],
    );
}

#[test]
fn data_in_which_no_feature_varies_are_a_problem_and_get_no_configuration() {
    let bench = Bench::default();
    bench.write("constant.csv", "query,label,x\n1,1,5\n1,0,5\n2,1,5\n2,0,5\n");
    bench.write("missing.csv", "query,label,x,y\n1,1,,5\n1,0,,5\n2,1,,5\n2,0,,5\n");
    for file in ["constant.csv", "missing.csv"] {
        let found = bench.output(&["check", file]);
        assert!(found.contains("problem  no feature varies: there is nothing to learn"), "{found}");
        bench.run(&["check", file, "--strict"]).code(1);
        let message = bench.refused(&["init", file, "--out", "k.toml"]);
        contains(&message, &[&format!("{file}: found no feature that varies, expected at least one")]);
        assert!(!bench.path("k.toml").exists());
    }
    // A feature that some documents lack varies.
    bench.write("lacking.csv", "query,label,x\n1,1,5\n1,0,\n2,1,5\n2,0,\n");
    assert!(!bench.output(&["check", "lacking.csv"]).contains("no feature varies"));
}

#[test]
fn trees_without_a_split_for_want_of_weights_say_so() {
    let bench = Bench::default();
    let mut table = "query,label,x,weight\n".to_owned();
    for row in 0..120 {
        writeln!(table, "{},{},{},{}", row / 4, row % 2, row * 7 % 13, 1 - row % 2).unwrap();
    }
    bench.write("w.csv", &table);
    bench.write(
        "w.toml",
        "data = { train = [\"w.csv\"], read = { document_weights = \"file\" } }\nloss = { name = \"lambda_ndcg\" }\n\
         learner = { kind = \"boosted_trees\", rounds = 2, min_documents = 2 }\n",
    );
    let message = bench.refused(&["train", "w.toml", "--out", "w", "-q"]);
    assert!(message.contains("the document weights leave nothing to learn"), "{message}");
}

/// Runs `burn-rank` with a limit on its addresses, in KiB; returns the exit code and what it says on standard error.
#[cfg(target_os = "linux")]
fn within(bench: &Bench, kibibytes: usize, variables: &[(&str, &str)], args: &[&str]) -> (Option<i32>, String) {
    let output = std::process::Command::new("sh")
        .args(["-c", &format!("ulimit -v {kibibytes}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_burn-rank")])
        .args(args)
        .envs(variables.iter().copied())
        .current_dir(bench.path("."))
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[cfg(target_os = "linux")]
#[test]
fn a_limit_of_addresses_is_asked_before_memory_is_taken() {
    let bench = Bench::default();
    bench.write("small.toml", super::SMALL);
    // Requests of less than 256 MiB, such as the second, are granted where there is no limit.
    for queries in [40_000, 30_000] {
        let set = format!("data.synthetic.train_queries={queries}");
        let train = ["train", "small.toml", "--set", &set, "--set", "data.synthetic.features=14", "--out", "run"];
        let (code, said) = within(&bench, 350_000, &[("RAYON_NUM_THREADS", "1")], &train);
        assert_eq!(code, Some(2), "{said}");
        contains(&said, &["error: data.synthetic: ", " takes about ", " are free: lower the number of queries"]);
        assert!(!bench.path("run").exists());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn products_of_features_that_do_not_fit_are_refused() {
    let bench = Bench::default();
    let line = |d: usize| format!("{} qid:{} {}:1 2999:{}\n", d % 2, d / 10, 1 + d % 2998, d % 7);
    bench.write("wide.txt", &(0..3000).map(line).collect::<String>());
    bench.write(
        "r.toml",
        "data = { train = [\"wide.txt\"] }\nnormalizer = \"none\"\nlearner = { kind = \"regression\" }\n",
    );
    let train = ["train", "r.toml", "-q", "--out", "run"];
    let (code, said) = within(&bench, 600_000, &[("RAYON_NUM_THREADS", "1")], &train);
    let error = said.lines().last().unwrap_or_default();
    assert_eq!(code, Some(2), "{said}");
    contains(error, &["error: learner: a matrix of the products of 2999 features takes about 504000000 bytes"]);
    contains(error, &["are free: lower the number of features"]);
    assert!(!bench.path("run").exists());
}

/// A mapped file is copied to be normalized, and if the rows of its queries stand apart.
#[cfg(target_os = "linux")]
#[test]
fn copies_of_a_mapped_file_that_do_not_fit_are_refused() {
    let bench = Bench::default();
    let line = |d: usize| format!("{} qid:{} {}:1 800:{} #docid = u{}\n", d % 2, d / 10, 1 + d % 799, d % 7, d % 10);
    bench.write("w.txt", &(0..30_000).map(line).collect::<String>());
    bench.output(&["convert", "w.txt", "w.arrow"]);
    bench.write(
        "g.toml",
        "data = { train = [\"w.arrow\"], validation = [\"w.arrow\"] }\nloss = { name = \"list_net\" }\n\
         scorer = { kind = \"linear\" }\nlearner = { kind = \"gradient\", epochs = 1 }\n",
    );
    let apart = "data={train=[\"w.arrow\"], columns={query=\"document\", id=\"query\"}}";
    for (set, kibibytes, step) in [("normalizer=z_score", 365_000..395_000, 5_000), (apart, 280_000..370_000, 30_000)] {
        for kibibytes in kibibytes.step_by(step) {
            let train = ["train", "g.toml", "-q", "--json", "--no-out", "--set", set];
            let (code, said) = within(&bench, kibibytes, &[("RAYON_NUM_THREADS", "1")], &train);
            assert!(matches!(code, Some(0 | 2)), "{kibibytes} {set}: {said}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn where_few_threads_can_start_these_do_the_work() {
    let bench = Bench::default();
    bench.output(&["synth", "--queries", "12", "--features", "4", "--out", "d.txt"]);
    bench.write("fit.toml", "data = { train = [\"d.txt\"] }\nlearner = { kind = \"regression\" }\n");
    bench.output(&["train", "fit.toml", "--out", "run"]);
    let scores = bench.output(&["predict", "run", "d.txt"]);
    // Stacks of 1.2 GB: two or three of the threads start, and memory is left for the work.
    let stacks = [("RUST_MIN_STACK", "1200000000"), ("RAYON_NUM_THREADS", "8")];
    let predict = ["predict", "run", "d.txt", "--out", "scores.txt"];
    let cv = ["cv", "fit.toml", "--set", "cv.split=3", "--out", "cv"];
    for args in [&predict[..], &cv] {
        let (code, said) = within(&bench, 4_000_000, &stacks, args);
        assert_eq!((code, said.contains("panicked")), (Some(0), false), "{said}");
    }
    assert_eq!(std::fs::read_to_string(bench.path("scores.txt")).unwrap(), scores);
}
