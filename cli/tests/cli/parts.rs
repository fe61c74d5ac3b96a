//! `cv --part` and `cv --merge`: fits of independent processes in one folder, put together.

use std::fs;

use serde_json::Value;

use super::folders::start;
use super::{Bench, SMALL, files, grid, words};

/// Three folds, two points of a grid and two seeds: twelve fits that take an instant.
fn bench() -> Bench {
    grid("{ split = 3, seeds = [1, 2] }")
}

fn parts(of: usize) -> Vec<String> {
    (1..=of).map(|number| format!("{number}/{of}")).collect()
}

/// The reports and what was kept, of a run without parts and of one that was merged.
fn assert_same(bench: &Bench, whole: &str, merged: &str) {
    assert_eq!(files(&bench.path(whole)), files(&bench.path(merged)));
    let of = |run: &str, name: &str| bench.read(&format!("{run}/{name}"));
    assert_eq!(of(whole, "report.json"), of(merged, "report.json"));
    assert_eq!(of(whole, "config.toml"), of(merged, "config.toml"));
    let kept = |run: &str| bench.path(run).join("kept");
    let names = if kept(whole).exists() { files(&kept(whole)) } else { Vec::new() };
    for name in names {
        assert_eq!(of(whole, &format!("kept/{name}")), of(merged, &format!("kept/{name}")), "{name}");
    }
}

#[test]
fn parts_put_together_end_in_the_bytes_of_a_run_without_parts() {
    let bench = bench();
    let table = bench.done("cv grid.toml --out whole --keep rankers,scores,runs");
    for (at, part) in parts(5).iter().enumerate() {
        let said = bench.output(&["cv", "grid.toml", "--out", "merged", "--part", part, "--keep", "rankers"]);
        let fits = [3, 3, 2, 2, 2][at];
        assert_eq!(
            said,
            format!(
                "part {part} is done: {fits} of the 12 fits; when all parts are done, --merge puts them together\n"
            )
        );
        assert_eq!(files(&bench.path("merged")), ["config.toml", "jobs"]);
    }
    let merge = ["cv", "grid.toml", "--out", "merged", "--merge", "--keep", "rankers,scores,runs"];
    assert_eq!(bench.output(&merge), table.replace("whole", "merged"));
    assert_same(&bench, "whole", "merged");
    // Again, and without parts, it is still that run.
    bench.output(&merge);
    bench.done("cv grid.toml --out merged --keep rankers,scores,runs");
    assert_same(&bench, "whole", "merged");

    // A ranker that the parts did not keep is made again if it is selected.
    let json = bench.done("cv grid.toml --out one --part 1/1 --json");
    assert_eq!(json, "{\"part\":\"1/1\",\"fits\":12,\"all\":12}\n");
    bench.done("cv grid.toml --out one --merge --keep rankers,scores,runs");
    assert_same(&bench, "whole", "one");
    // More parts than fits: some have nothing to do.
    let said = bench.done("cv grid.toml --out one --part 15/15");
    assert!(said.starts_with("part 15/15 is done: 0 of the 12 fits"), "{said}");
}

#[test]
fn parts_share_a_folder_at_once() {
    let bench = bench();
    bench.done("cv grid.toml --out whole");
    for round in 0..5 {
        let folder = format!("shared{round}");
        let part = |part| format!("cv grid.toml --jobs 1 --out {folder} --part {part}");
        let started: Vec<_> = parts(4).into_iter().map(|of| start(&bench, &words(&part(of)))).collect();
        for process in started {
            let ended = process.wait_with_output().unwrap();
            assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        }
        bench.output(&["cv", "grid.toml", "--out", &folder, "--merge"]);
        assert_eq!(bench.read("whole/report.json"), bench.read(&format!("{folder}/report.json")));
    }
}

#[test]
fn what_is_missing_is_named_and_made_by_the_same_command_again() {
    let bench = bench();
    bench.done("cv grid.toml --out whole");
    let merge = ["cv", "grid.toml", "--out", "a", "--merge"];
    let none = "error: a: holds no part of a cross-validation to merge; cv --part I/N makes them\n";
    assert_eq!(bench.refused(&merge), none);
    assert!(!bench.path("a").exists());
    for part in ["1/4", "3/4"] {
        bench.output(&["cv", "grid.toml", "--out", "a", "--part", part]);
    }
    let said = bench.refused(&merge);
    assert_eq!(said, "error: 6 of 12 fits are missing, first fold 1, lambda 0.01, seed 2; run parts 2/4, 4/4 again\n");
    assert_eq!(files(&bench.path("a")), ["config.toml", "jobs"]);
    bench.done("cv grid.toml --out a --part 2/4");
    assert!(bench.refused(&merge).ends_with("run part 4/4 again\n"));
    bench.done("cv grid.toml --out a --part 4/4");
    // A fit that was killed while it wrote, and one that lost its result.
    let jobs = files(&bench.path("a/jobs"));
    fs::write(bench.path("a/jobs").join(&jobs[0]).join("result.json"), "{\n  \"selection\": ").unwrap();
    fs::remove_file(bench.path("a/jobs").join(&jobs[1]).join("result.json")).unwrap();
    assert!(bench.refused(&merge).starts_with("error: 2 of 12 fits are missing"));
    for part in parts(4) {
        bench.output(&["cv", "grid.toml", "--out", "a", "--part", &part]);
    }
    bench.output(&merge);
    assert_same(&bench, "whole", "a");
}

#[test]
fn parts_that_cannot_be_are_refused() {
    let bench = bench();
    for part in ["0/3", "4/3", "x", "1/", "3"] {
        let said = bench.refused(&["cv", "grid.toml", "--out", "a", "--part", part]);
        assert_eq!(said, format!("error: part = `{part}`: expected I/N, with I from 1 to N, as in 3/16\n"));
    }
    let folder = "error: --part and --merge need the folder that the parts share: --out DIR\n";
    assert_eq!(bench.refused(&["cv", "grid.toml", "--part", "1/2"]), folder);
    assert_eq!(bench.refused(&["cv", "grid.toml", "--merge"]), folder);
    for other in ["--merge", "--overwrite"] {
        let said = bench.refused(&["cv", "grid.toml", "--out", "a", "--part", "1/2", other]);
        assert!(said.contains("cannot be used with"), "{said}");
    }
    let halving = "[cv]\nsplit = 3\n[search]\nkind = \"successive_halving\"\ntrials = 4\nbudget = 4\nreduction = 2\n\
                   [search.space]\n\"learner.learning_rate\" = [0.1, 0.2]\n";
    bench.write("halving.toml", &format!("{SMALL}{halving}"));
    for what in [&["--part", "1/2"][..], &["--merge"]] {
        let said = bench.refused(&[&["cv", "halving.toml", "--out", "a"], what].concat());
        assert!(said.contains("search.kind = `successive_halving`: expected `random` where fits are"), "{said}");
    }
    assert!(!bench.path("a").exists());

    // A run without parts continues with their fits.
    bench.done("cv grid.toml --out a --part 1/2");
    bench.done("cv grid.toml --out a --resume");
    let mark: Value = serde_json::from_slice(&bench.read("a/.burn-rank")).unwrap();
    assert_eq!(mark.get("parts"), None);
}

#[test]
fn a_configuration_named_from_another_folder_has_the_same_fits() {
    let bench = bench();
    fs::create_dir(bench.path("below")).unwrap();
    let from_below = |line: &str| bench.command(&words(line)).current_dir(bench.path("below")).assert().success();
    bench.done("cv grid.toml --out a --part 1/2");
    from_below("cv ../grid.toml --out ../a --part 2/2");
    from_below("cv ../grid.toml --out ../a --merge");
    assert!(bench.done("cv below/../grid.toml --out a --refit best").contains("finished before"));
    assert_eq!(fs::read_dir(bench.path("a/jobs")).unwrap().count(), 12, "nothing is fitted again");
    bench.done("train grid.toml --out run");
    from_below("train ../grid.toml --out ../run");
}

#[test]
fn a_description_may_differ_between_commands_that_share_a_folder() {
    let bench = bench();
    let (of_parts, of_run) = (["cv", "grid.toml", "--out", "a"], ["train", "grid.toml", "--out", "run"]);
    let cv = |more: &[&str]| bench.output(&[&of_parts[..], more].concat());
    let description = |name: &str| {
        let config: toml::Table = bench.text(name).parse().unwrap();
        config.get("description").map(|text| text.as_str().unwrap().to_owned())
    };
    cv(&["--part", "1/2"]);
    cv(&["--part", "2/2", "--set", "description=second"]);
    assert_eq!(description("a/config.toml"), None, "parts leave the file as it is");
    cv(&["--merge", "--set", "description=merged"]);
    assert_eq!(description("a/config.toml").as_deref(), Some("merged"));
    bench.output(&of_run);
    bench.output(&[&of_run[..], &["--set", "description=again"]].concat());
    assert_eq!(description("run/config.toml"), None, "the finished run stays as it is");
}
