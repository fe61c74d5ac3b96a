//! Work that no memory can hold is refused with the bytes that it would take, before anything is allocated or written.

use super::{Bench, SMALL};

/// Runs a command that asks for terabytes; returns the line of its error.
fn refused(bench: &Bench, args: &[&str]) -> String {
    let output = bench.refused(args);
    let message = output.lines().last().unwrap_or_default().to_owned();
    assert!(output.len() < 3000, "{}", output.len());
    assert!(message.contains(" takes about ") && message.contains(" are free: "), "{message}");
    message
}

/// The bytes of a refusal, and what it advises.
fn asked(message: &str) -> (f64, &str) {
    let (_, bytes) = message.split_once(" takes about ").unwrap();
    let (_, advice) = message.trim_end().split_once(" are free: ").unwrap();
    (bytes.split_once(" bytes").unwrap().0.parse().unwrap(), advice)
}

#[cfg(target_os = "linux")]
#[test]
fn generated_data_that_no_memory_holds_are_refused() {
    let bench = Bench::default();
    bench.write("small.toml", SMALL);
    for (queries, features) in [(10_000_000, 100_000), (10_000_000, 10_000)] {
        let set = format!("data={{synthetic={{train_queries={queries},features={features}}}}}");
        for command in ["train", "cv"] {
            let run = format!("{command}{features}");
            let message = refused(&bench, &[command, "small.toml", "--set", &set, "--out", &run]);
            let (bytes, advice) = asked(&message);
            assert!(message.starts_with("error: data.synthetic: "), "{message}");
            let documents = bytes / 4.0 / f64::from(features) / f64::from(queries);
            assert!((80.0..150.0).contains(&documents), "documents of a query: {documents}");
            assert_eq!(advice, "lower the number of queries, or of features");
            assert!(!bench.path(&run).join("report.json").exists());
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn synth_streams_tables_and_refuses_what_it_cannot_write() {
    let bench = Bench::default();
    for name in ["x.arrow", "x.parquet", "x.txt"] {
        let count = bench.refused(&["synth", "--queries", "9223372036854775807", "--features", "2", "--out", name]);
        assert!(count.contains("queries = 9223372036854775807: expected from 1 to 1000000000000"), "{count}");
        let long = ["--max-length", "1000000", "--median-length", "1000000", "--features", "100000"];
        let message = refused(&bench, &[&["synth", "--queries", "1", "--out", name][..], &long].concat());
        assert_eq!(asked(&message).1, "lower the length of lists, or the number of features");
        assert!(!bench.path(name).exists());
    }
    bench.refused(&["synth", "--queries", "9223372036854775807", "--parts", "3", "--out", "parts"]);
    assert!(!bench.path("parts").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn benchmarks_refuse_shapes_that_no_memory_holds() {
    let bench = Bench::default();
    for shape in ["1000000000x1000000000", "18446744073709551615x18446744073709551615"] {
        let message = refused(&bench, &["bench", "--shapes", &format!("2x3,{shape}")]);
        assert!(message.contains(&format!("shapes: {shape} takes about ")), "{message}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn clicks_refuse_more_sessions_than_memory_holds() {
    let bench = Bench::default();
    bench.output(&["synth", "--queries", "4", "--features", "3", "--out", "data.txt"]);
    let documents = std::fs::read_to_string(bench.path("data.txt")).unwrap().lines().count();
    bench.write("scores.txt", &"1\n".repeat(documents));
    let many = ["--sessions", "9223372036854775807"];
    let message =
        refused(&bench, &[&["clicks", "--scores", "scores.txt", "data.txt", "--out", "x"][..], &many].concat());
    assert_eq!(asked(&message).1, "lower the number of sessions");
    assert!(!bench.path("x").exists() && !bench.path("x.weight").exists());
}

/// A list of documents with two labels and a feature, which no memory holds the pairs of.
fn long_list(bench: &Bench) {
    let lines: String = (0..200_000).map(|d| format!("{} qid:1 1:{}\n", d % 2, d % 7)).collect();
    bench.write("long.txt", &lines);
}

#[cfg(target_os = "linux")]
#[test]
fn learners_refuse_what_no_memory_holds() {
    let bench = Bench::default();
    long_list(&bench);
    bench.write(
        "c.toml",
        "data = { train = [\"long.txt\"] }\nnormalizer = \"none\"\nlearner = { kind = \"gradient\" }\n",
    );
    let loss = "loss={name=\"softmax_cross_entropy\"}";
    for (sets, key, advice) in [
        (
            &["scorer={kind=\"attention\"}", loss][..],
            "a step of training on 1 x 200000 documents",
            "learner.batch_cells",
        ),
        (
            &["scorer={kind=\"mlp\",hidden=[50000000]}", loss],
            "of training on 1 x 200000 documents",
            "learner.batch_cells",
        ),
        (
            &["learner={kind=\"smooth_rank\",kernel_components=3,kernel_landmarks=200000}"],
            "kernel PCA of 200000 landmarks",
            "lower learner.kernel_landmarks",
        ),
    ] {
        let mut args = vec!["train", "c.toml", "-q", "--out", key];
        sets.iter().for_each(|set| args.extend(["--set", set]));
        let message = refused(&bench, &args);
        assert!(message.contains(key) && asked(&message).1.contains(advice), "{message}");
        assert!(asked(&message).0 > 1e12, "{message}");
    }
}
