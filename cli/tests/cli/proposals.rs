//! `init` on tables drawn from a seed: where `check` finds no problem, the file that `init` writes trains and
//! cross-validates, with its grid and without it.

use std::fmt::Write;
use std::fs;

use serde_json::Value;

use super::Bench;

/// Numbers that look random, the same in each run.
struct Draw(u64);

impl Draw {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1u64 << 24) as f64
    }

    /// Returns a number from `least` to `most`.
    fn from(&mut self, least: usize, most: usize) -> usize {
        least + (self.unit() * (most - least + 1) as f64) as usize
    }

    fn chance(&mut self, share: f64) -> bool {
        self.unit() < share
    }
}

/// A table in one file, or in several with the sets in their names; and the columns to leave out.
struct Drawn {
    files: Vec<(&'static str, String)>,
    drop: Option<&'static str>,
    kind: String,
}

fn table(seed: u64) -> Drawn {
    let mut draw = Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
    (0..9).for_each(|_| _ = draw.unit());
    let queries = [draw.from(1, 6), draw.from(7, 24), draw.from(25, 60)][draw.from(0, 2)];
    let features = [1, draw.from(2, 8), draw.from(30, 90)][draw.from(0, 2)];
    let (labels, missing) = (draw.from(0, 7), [0.0, 0.0, 0.1, 0.6][draw.from(0, 3)]);
    let (is_unsorted, has_text, is_single) = (draw.chance(0.3), draw.chance(0.3), draw.chance(0.1));
    let constant = draw.chance(0.2).then(|| draw.from(0, features - 1));
    let coarse = draw.chance(0.3);
    let label = |draw: &mut Draw, signal: f64| match labels {
        0 => f64::from(signal + 0.3 * draw.unit() > 0.8),
        1 => f64::from(draw.chance(0.05)),
        2 => (signal * 4.9).floor(),
        3 => 1.0 + (signal * 2.9).floor(),
        4 => (signal * 100.0).round() / 100.0,
        5 => f64::from(u8::from(signal > 0.7)) / 2.0,
        6 => 1.0,
        _ => (signal * 30.0).floor(),
    };
    let mut rows = Vec::new();
    for query in 0..queries {
        let documents = if is_single { 1 } else { draw.from(1, 9) };
        for _ in 0..documents {
            let signal = draw.unit();
            let y = label(&mut draw, signal);
            let mut row = format!("q{query},{y}");
            for feature in 0..features {
                let noise = draw.unit();
                let value = if feature == 0 { 0.6 * signal + 0.4 * noise } else { noise };
                let value = if coarse { (3.0 * value).floor() } else { value };
                match draw.chance(missing) {
                    true => row.push(','),
                    false if constant == Some(feature) => row += ",7",
                    false => write!(row, ",{value:.5}").unwrap(),
                }
            }
            if has_text {
                row += if draw.chance(0.5) { ",red" } else { ",blue" };
            }
            rows.push((query, row));
        }
    }
    if is_unsorted {
        for at in (1..rows.len()).rev() {
            rows.swap(at, draw.from(0, at));
        }
    }
    let names: String = (0..features).map(|feature| format!(",f{feature}")).collect();
    let header = format!("query,label{names}{}\n", if has_text { ",color" } else { "" });
    let sets: &[(&str, usize)] = match draw.from(0, 5) {
        0 => &[("my.train.csv", 0), ("my.valid.csv", 1), ("my.test.csv", 2)],
        1 => &[("a-train.csv", 0), ("a-test.csv", 2)],
        _ => &[("data.csv", 3)],
    };
    let of_set = |query: usize| match (query % 3, sets.len()) {
        (_, 1) => 3,
        (1, 2) => 0,
        (set, _) => set,
    };
    let file = |(name, set): &(&'static str, usize)| {
        let own = rows.iter().filter(|(query, _)| of_set(*query) == *set);
        (*name, own.fold(header.clone(), |text, (_, row)| text + row + "\n"))
    };
    let kind = format!("{queries} queries, {features} features, labels {labels}, missing {missing}, {sets:?}");
    Drawn { files: sets.iter().map(file).collect(), drop: has_text.then_some("columns.drop=[\"color\"]"), kind }
}

/// Returns whether `check` found no problem in the table, in which case the file of `init` was run.
fn runs(seed: u64) -> bool {
    let Drawn { files, drop, kind } = table(seed);
    let bench = Bench::default();
    for (name, text) in &files {
        bench.write(name, text);
    }
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    let read: Vec<&str> = drop.iter().flat_map(|drop| ["--read", drop]).collect();
    let check = bench.command(&[&["check", "--json"], &names[..], &read].concat()).output().unwrap();
    let found: Option<Value> = serde_json::from_slice(&check.stdout).ok().filter(|_| check.status.success());
    let problem = |finding: &Value| finding["level"] == "problem";
    if found.is_none_or(|found| found["findings"].as_array().unwrap().iter().any(problem)) {
        return false;
    }
    let run = |args: &[&str]| {
        let output = bench.command(args).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        let config = fs::read_to_string(bench.path("mine.toml")).unwrap_or_default();
        assert!(output.status.success(), "seed {seed}, {kind}: {args:?}\n{message}\n{config}");
    };
    run(&[&["init", "--out", "mine.toml"], &names[..], &read].concat());
    let text = fs::read_to_string(bench.path("mine.toml")).unwrap();
    let short = text.replace("epochs = 100", "epochs = 1").replace("rounds = 300", "rounds = 2");
    let alone = short.split("\n[grid]").next().unwrap();
    for (name, text) in [("short.toml", short.as_str()), ("alone.toml", alone)] {
        bench.write(name, text);
        run(&["train", name, "--out", &format!("{name}.run")]);
        if text.contains("burn-rank cv ") {
            run(&["cv", name, "--out", &format!("{name}.cv")]);
        }
    }
    true
}

#[test]
fn where_check_finds_no_problem_the_proposed_file_runs_with_and_without_its_grid() {
    // Missing values; two files; three files; labels between 0 and 1.
    let ran = [0, 17, 20, 31].into_iter().filter(|seed| runs(*seed)).count();
    assert_eq!(ran, 4);
}

/// `cargo test --test cli -- --ignored two_hundred_tables`
#[test]
#[ignore = "takes minutes"]
fn two_hundred_tables_run_where_check_finds_no_problem() {
    let ran = (0..200).filter(|seed| runs(*seed)).count();
    assert!(ran >= 100, "{ran} of 200 had no problem");
}
