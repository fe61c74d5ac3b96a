//! Tables in place of text, in every command that takes data.

use std::fs;

use super::Bench;
use super::bad_input::contains;

const CONFIG: &str = r#"
normalizer = "z_score"
[data]
train = ["train.txt"]
validation = ["train.txt"]
[scorer]
kind = "linear"
[loss]
name = "list_net"
[learner]
kind = "gradient"
epochs = 2
"#;

fn bench() -> Bench {
    let bench = Bench::default();
    bench.output(&["synth", "--queries", "12", "--features", "5", "--median-length", "8", "--out", "train.txt"]);
    bench.write("run.toml", CONFIG);
    bench
}

#[test]
fn text_becomes_a_table_and_comes_back() {
    let bench = bench();
    for (table, format) in [("train.arrow", "Arrow"), ("train.parquet", "Parquet")] {
        let line = bench.output(&["convert", "train.txt", table]);
        assert!(line.starts_with(&format!("{table}: {format}, 12 queries, ")), "{line}");
        assert!(line.contains(" documents, 5 features, ") && line.ends_with(" bytes\n"), "{line}");
        let line = bench.output(&["convert", table, "back.txt"]);
        assert!(line.starts_with("back.txt: LETOR text, 12 queries, "), "{line}");
        bench.output(&["convert", "train.txt", "again.arrow"]);
        bench.output(&["convert", "back.txt", "back.arrow"]);
        assert_eq!(fs::read(bench.path("again.arrow")).unwrap(), fs::read(bench.path("back.arrow")).unwrap());
    }
    bench.output(&["synth", "--queries", "12", "--features", "5", "--median-length", "8", "--out", "made.arrow"]);
    assert_eq!(fs::read(bench.path("made.arrow")).unwrap(), fs::read(bench.path("train.arrow")).unwrap());
}

#[test]
fn every_command_takes_either() {
    let bench = bench();
    bench.output(&["convert", "train.txt", "train.arrow"]);
    bench.output(&["convert", "train.txt", "train.parquet"]);
    bench.output(&["train", "run.toml", "--out", "text"]);
    let text = "data={train=[\"train.txt\"],validation=[\"train.txt\"]}";
    for table in ["train.arrow", "train.parquet"] {
        let data = text.replace("train.txt", table);
        bench.output(&["train", "run.toml", "--out", table.trim_start_matches("train."), "--set", &data]);
        let learned = |run: &str| {
            let report = fs::read_to_string(bench.path(&format!("{run}/report.json"))).unwrap();
            let report: serde_json::Value = serde_json::from_str(&report).unwrap();
            assert!(report["history"][1]["objective"].is_f64() && report["data"]["train"]["hash"].is_string());
            (report["history"].clone(), report["data"]["train"].clone())
        };
        assert_eq!(learned(table.trim_start_matches("train.")), learned("text"));
        for command in [
            &["predict", "text", "FILE"][..],
            &["eval", "text", "FILE"],
            &["clicks", "text", "FILE", "--out", "clicks.txt"],
        ] {
            let with = |file: &str| {
                let args: Vec<&str> = command.iter().map(|arg| if *arg == "FILE" { file } else { arg }).collect();
                bench.output(&args).replace(file, "FILE")
            };
            assert_eq!(with(table), with("train.txt"), "{command:?}");
        }
    }
    let bytes = fs::read(bench.path("train.arrow")).unwrap();
    let scores =
        bench.command(&["predict", "text", "-"]).write_stdin(bytes).assert().success().get_output().stdout.clone();
    assert_eq!(String::from_utf8(scores).unwrap(), bench.output(&["predict", "text", "train.txt"]));
}

#[test]
fn a_converted_table_keeps_the_names_of_its_features() {
    let bench = Bench::default();
    let rows: String =
        (0..12).map(|row| format!("{},q{},{},{}\n", row % 3, row / 4, row * 7 % 5, row * 3 % 8)).collect();
    bench.write("own.csv", &format!("label,query,bm25,clicks\n{rows}"));
    let turned: String = (0..12).map(|row| format!("{},{},q{}\n", row * 3 % 8, row * 7 % 5, row / 4)).collect();
    bench.write("turned.csv", &format!("clicks,bm25,query\n{turned}"));
    for table in ["own.arrow", "own.parquet"] {
        bench.output(&["convert", "own.csv", table]);
        bench.write("run.toml", &CONFIG.replace("train.txt", table));
        bench.output(&["train", "run.toml", "--out", "run", "--overwrite"]);
        let card = bench.output(&["models", "show", "run"]);
        assert!(card.contains("bm25") && card.contains("clicks"), "{card}");
        let scores = bench.output(&["predict", "run", "own.csv"]);
        for other in [table, "turned.csv"] {
            assert_eq!(bench.output(&["predict", "run", other]), scores, "{other}");
        }
        // A list gives features by their places, so other names are others' places.
        bench.write("other.csv", &format!("label,query,clicks,bm25\n{rows}"));
        bench.output(&["convert", "other.csv", "other.arrow"]);
        let message = bench.refused(&["predict", "run", "other.arrow"]);
        let expected = "found `clicks` as feature 1 of the column `features`, expected `bm25`, as in the ranker";
        contains(&message, &[expected]);
    }
    let note = bench.run(&["convert", "own.csv", "own.txt"]).success().get_output().stderr.clone();
    contains(&String::from_utf8(note).unwrap(), &["own.txt: text has feature numbers"]);
}

#[test]
fn folds_may_be_tables() {
    let bench = bench();
    fs::create_dir(bench.path("parts")).unwrap();
    bench.output(&["synth", "--queries", "12", "--features", "5", "--parts", "3", "--out", "texts"]);
    for part in 1..=3 {
        bench.output(&["convert", &format!("texts/S{part}.txt"), &format!("parts/S{part}.arrow")]);
    }
    let cv = |folder: &str| {
        bench
            .output(&["cv", "run.toml", "--no-out", "--set", &format!("data={{folds=\"{folder}\"}}")])
            .replace(folder, "FOLDER")
    };
    let of_tables = cv("parts");
    assert!(of_tables.contains("std. error"), "{of_tables}");
    assert_eq!(of_tables, cv("texts"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported_and_nothing_is_lost() {
    let bench = bench();
    // A device that is always full; the name of the link says the format.
    for table in ["full.arrow", "full.parquet", "full.txt"] {
        std::os::unix::fs::symlink("/dev/full", bench.path(table)).unwrap();
        let from = if table == "full.txt" { "train.arrow" } else { "train.txt" };
        bench.output(&["convert", "train.txt", "train.arrow"]);
        let before = fs::read(bench.path(from)).unwrap();
        let failed = bench.run(&["convert", from, table]).code(1).get_output().stderr.clone();
        let message = String::from_utf8(failed).unwrap();
        assert!(message.contains(&format!("{table}: cannot write: No space left on device")), "{message}");
        assert_eq!(fs::read(bench.path(from)).unwrap(), before);
    }
}

#[test]
fn what_cannot_be_converted_is_refused_and_nothing_is_written() {
    let bench = bench();
    bench.output(&["convert", "train.txt", "train.arrow"]);
    let before = super::files(&bench.path(""));
    let bytes = fs::read(bench.path("train.arrow")).unwrap();
    let message = bench.refused(&["convert", "train.arrow", "train.csv"]);
    assert!(message.contains("train.csv: expected a name that ends in .arrow, .parquet or .txt"), "{message}");
    let message = bench.refused(&["convert", "train.arrow", "train.arrow"]);
    assert!(message.contains("convert train.arrow: expected a different file: this one is read"), "{message}");
    let message = bench.refused(&["convert", "run.toml", "run.arrow"]);
    assert!(message.contains("run.toml: found a configuration, expected LETOR text, "), "{message}");
    let message = bench.refused(&["convert", "train.txt", "no/train.arrow"]);
    assert!(message.contains("no/train.arrow: cannot write"), "{message}");
    assert_eq!(super::files(&bench.path("")), before);
    fs::write(bench.path("cut.arrow"), &bytes[..bytes.len() - 100]).unwrap();
    let message = bench.refused(&["convert", "cut.arrow", "cut.txt"]);
    assert!(message.contains("cut.arrow: not a complete Arrow file: "), "{message}");
    assert!(message.contains("it may be cut off") && !bench.path("cut.txt").exists(), "{message}");
}
