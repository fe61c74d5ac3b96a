//! A run is never replaced in place: a finished run stays whole until another one takes its place. Refused input, kills
//! and other data take nothing away, and `--resume` continues the run that was stopped.

use std::collections::BTreeMap;
use std::fs;
use std::thread::sleep;
use std::time::Instant;

use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::bad_input::contains;
use super::folders::{everything, kill, refused, start, wait_until};
use super::{Bench, files, words};

/// The keys that all configurations share.
const BOTH: &str = "data = { train = [\"d.txt\"] }\ncv = { split = 3 }\n";

const GRADIENT: &str = r#"
scorer = { kind = "mlp", hidden = [8] }
loss = { name = "list_net" }
learner = { kind = "gradient", epochs = 5 }
"#;

const TREES: &str = r#"
loss = { name = "lambda_ndcg" }
learner = { kind = "boosted_trees", rounds = 5 }
"#;

/// Labels that this loss refuses when it meets them in the fit.
const REFUSED_LABELS: &str = "--set loss={name=\"soft_err\",maximum_grade=1}";

/// Data of 60 queries, and two configurations.
fn bench() -> Bench {
    let bench = Bench::default();
    synth(&bench, 1);
    bench.write("g.toml", &[BOTH, GRADIENT].concat());
    bench.write("t.toml", &[BOTH, TREES].concat());
    bench
}

fn synth(bench: &Bench, seed: usize) {
    bench.done(&format!("synth --seed {seed} --out d.txt --queries 60 --features 8 --median-length 10"));
}

/// The results of a run, by name: its ranker, its report and its configuration.
fn results(bench: &Bench, run: &str) -> BTreeMap<String, Vec<u8>> {
    let names = ["config.toml", "ranker.safetensors", "report.json"].into_iter();
    names.filter_map(|name| Some((name.to_string(), fs::read(bench.path(run).join(name)).ok()?))).collect()
}

#[test]
fn a_finished_run_is_not_made_again() {
    let bench = bench();
    for (command, config) in [("train", "t.toml"), ("cv", "g.toml")] {
        let name = config.trim_end_matches(".toml");
        let made = bench.run(&[command, config]).success();
        let [told, said] =
            [&made.get_output().stdout, &made.get_output().stderr].map(|text| String::from_utf8_lossy(text));
        let folder = format!("runs/{name}");
        assert!(said.contains(&format!("writing to {folder}\n")), "{said}");
        assert!(told.ends_with(&format!("\nwritten to {folder}, open {folder}/report.html\n")), "{told}");
        let before = everything(&bench.path(&folder));
        let again = bench.output(&[command, config]);
        let line = format!("finished before; nothing was trained again: {folder}, open {folder}/report.html\n");
        assert!(again.ends_with(&line), "{again}");
        let table = |text: &str| {
            text.lines().skip(1).filter(|line| !line.contains(" open ")).map(String::from).collect::<Vec<_>>()
        };
        assert_eq!(table(&again), table(&told));
        assert!(everything(&bench.path(&folder)) == before);
        // A page that is missing is added. Another run goes elsewhere.
        fs::remove_file(bench.path(&folder).join("report.html")).unwrap();
        bench.output(&[command, config, "--quiet"]);
        assert!(bench.path(&folder).join("report.html").exists());
        let other = bench.output(&[command, config, "--set", "seed=2"]);
        assert!(other.ends_with(&format!("written to {folder}-2, open {folder}-2/report.html\n")), "{other}");
        assert!(bench.output(&[command, config, "--set", "seed=2"]).contains(&format!("again: {folder}-2")));
        let there = files(&bench.path("runs"));
        assert!(!bench.output(&[command, config, "--set", "seed=3", "--no-out"]).contains("written"));
        assert_eq!(files(&bench.path("runs")), there);
    }
    let [first, second] = [(); 2].map(|()| -> serde_json::Value {
        serde_json::from_str(&bench.done("train g.toml --json --out json")).unwrap()
    });
    for key in ["out", "best_round", "rounds", "stop", "measures"] {
        assert_eq!(first[key], second[key], "{key}");
    }
}

#[test]
fn overwrite_removes_a_finished_run_only_after_the_new_one_is_complete() {
    let bench = bench();
    bench.done("synth --queries 20 --features 5 --out five.txt");
    bench.output(&["train", "t.toml", "-q", "--out", "five", "--set", "data.train=[\"five.txt\"]"]);
    for config in ["g", "t"] {
        bench.done(&format!("train {config}.toml -q --out {config}"));
        bench.done(&format!("cv {config}.toml -q --out cv-{config}"));
    }
    let before = everything(&bench.path(""));
    let (endless, large) = ("--set learner.learning_rate=1e30", "--set learner.min_documents=100000");
    for (command, more, code) in [
        ("train g.toml --out g", REFUSED_LABELS, 2),
        ("train g.toml --out g", endless, 1),
        ("train t.toml --out t", "--continue five", 2),
        ("train t.toml --out g", large, 2),
        ("cv g.toml --out cv-g", endless, 1),
        ("cv t.toml --out t", large, 2),
        // A run that failed leaves no folder that would block the corrected command.
        ("train g.toml --out new", endless, 1),
        ("cv g.toml --out new", endless, 1),
    ] {
        bench.run(&words(&format!("{command} {more} --overwrite -q"))).code(code);
        assert_eq!(everything(&bench.path("")), before, "{command} {more}");
    }
    // A run that is complete takes the place of the old one.
    bench.write("t/notes", "mine");
    let done = bench.run(&["train", "g.toml", "-q", "--out", "t", "--overwrite"]).success();
    let told = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
    assert!(told.contains("t.old-1 stays, with what burn-rank did not write: notes\n"), "{told}");
    assert!(bench.text("t.old-1/NOTE-OF-BURN-RANK.txt").ends_with("  notes\n"));
    bench.done("train g.toml -q --out fresh");
    bench.done("train g.toml -q --out cv-t --overwrite");
    for run in ["t", "cv-t"] {
        assert!(results(&bench, run) == results(&bench, "fresh"));
        assert_eq!(files(&bench.path(run)), files(&bench.path("fresh")));
    }
    assert!(!bench.path("cv-t.old-1").exists());
}

#[test]
fn continue_into_its_own_folder_keeps_the_ranker_until_the_new_one_is_whole() {
    let [killed, whole] = [(); 2].map(|()| {
        let bench = bench();
        bench.done("train t.toml -q --out c");
        bench
    });
    let before = results(&killed, "c");
    let again = "train t.toml -q --continue c --out c --set learner.rounds=60 --set learner.patience=60";
    contains(&killed.refused(&words(again)), &["c: holds a run of another configuration"]);
    let overwrite = format!("{again} --overwrite");
    whole.done(&overwrite);
    let child = start(&killed, &words(&overwrite));
    wait_until(|| killed.path("c.new-1/state.json").exists());
    kill(child);
    assert!(results(&killed, "c") == before);
    killed.done("predict c d.txt --out scores");
    killed.done(&format!("{again} --resume"));
    let same = |name: &str| {
        let read = |bench: &Bench| fs::read(bench.path("c").join(name)).unwrap();
        assert!(read(&killed) == read(&whole), "{name}");
        read(&whole)
    };
    same("ranker.safetensors");
    same("report.json");
    assert!(same("start.safetensors") == before["ranker.safetensors"]);
    let scores = |run: &str| whole.output(&["predict", run, "d.txt"]);
    let expected = scores("c");
    // The finished run is made again, and resumed, from the ranker that it started from.
    for (command, out) in [
        (again, "c"),
        (&format!("{again} --resume"), "c"),
        ("train c/config.toml -q --out c", "c"),
        ("train c/config.toml -q --out elsewhere", "elsewhere"),
    ] {
        whole.done(command);
        assert!(scores(out) == expected, "{command}");
    }
    // Only --overwrite adds to it once more.
    whole.done(&overwrite);
    assert!(scores("c/start.safetensors") == expected && scores("c") != expected);
}

#[test]
fn a_run_on_other_data_is_another_run() {
    let bench = bench();
    bench.done("train g.toml -q --out r");
    bench.done("cv g.toml -q --out cv");
    synth(&bench, 2);
    let commands = [
        "train g.toml --out r",
        "train r/config.toml --out r --resume",
        "cv g.toml --out cv",
        "cv g.toml --out cv --part 1/2",
    ];
    let words = "holds a run on other data; choose another folder with --out, or --overwrite";
    refused(&bench, commands.map(|command| (command, words)));
    bench.done("cv g.toml -q --out cv --overwrite");
    bench.done("cv g.toml -q --out fresh");
    assert!(results(&bench, "cv") == results(&bench, "fresh"));
}

#[test]
fn a_table_whose_columns_have_other_names_is_other_data() {
    let bench = bench();
    let rows: String = (0..60).map(|row| format!("{},{},{row},{}\n", row / 5, row % 2, row * 7 % 13)).collect();
    let named = |names: &str| bench.write("t.csv", &format!("query,label,{names}\n{rows}"));
    bench.write(
        "r.toml",
        "data = { train = [\"t.csv\"] }\ncv = { split = 3 }\nlearner = { kind = \"regression\" }\n\
         grid = { \"learner.lambda\" = [[0.1], [1.0]] }\n",
    );
    named("price,ctr");
    bench.done("train r.toml -q --out r");
    bench.done("cv r.toml -q --out cv");
    named("ctr,price");
    let words = "holds a run on other data; choose another folder with --out, or --overwrite";
    refused(&bench, [("train r.toml --out r", words), ("cv r.toml --out cv", words)]);
    // Another grid reuses fits of the same data, and no others.
    let jobs = || fs::read_dir(bench.path("cv/jobs")).unwrap().count();
    bench.done("cv r.toml -q --out cv --overwrite --set grid={\"learner.lambda\"=[[0.1],[2.0]]}");
    assert_eq!(jobs(), 12);
    bench.done("cv r.toml -q --out cv --overwrite --set grid={\"learner.lambda\"=[[0.1],[3.0]]}");
    assert_eq!(jobs(), 15);
}

#[test]
fn a_digit_of_the_state_that_changed_is_refused() {
    let bench = bench();
    bench.done("train g.toml -q --out r");
    // Stopped before its report.
    fs::remove_file(bench.path("r/report.json")).unwrap();
    let state = bench.read("r/state.json");
    let digit = (state.len() / 2..).find(|&at| state[at].is_ascii_digit()).unwrap();
    let mut changed = state.clone();
    changed[digit] = if changed[digit] == b'1' { b'2' } else { b'1' };
    let resume = ["train", "g.toml", "-q", "--out", "r", "--resume"];
    // The mark says that the run is not finished any more.
    let rest = || {
        everything(&bench.path("r")).into_iter().filter(|(path, _)| !path.ends_with(".burn-rank")).collect::<Vec<_>>()
    };
    for damaged in [&changed[..], &state[..digit], &[]] {
        fs::write(bench.path("r/state.json"), damaged).unwrap();
        let before = rest();
        let told = bench.refused(&resume);
        assert!(told.contains("error: r/state.json: found a damaged state, whose checksum does not match"), "{told}");
        assert!(rest() == before);
    }
    fs::write(bench.path("r/state.json"), &state).unwrap();
    bench.output(&resume);
}

/// The results that a command leaves in a run, whatever it was when it was killed `count` times at random.
fn killed(phase: &str, count: usize, seed: u64) {
    let bench = bench();
    let (old, more) = match phase {
        "train" => ("train g.toml -q --out r", ""),
        "cv" => ("cv g.toml -q --out r", ""),
        "refit" => ("cv g.toml -q --out cv --refit r", ""),
        "train over" => ("train g.toml -q --out r", "--overwrite"),
        _ => ("cv g.toml -q --out r", "--overwrite"),
    };
    let new = format!("{old} --set seed=2 --set learner.epochs=8");
    if phase == "refit" {
        bench.done(&new.replace(" --refit r", ""));
    }
    let begun = Instant::now();
    bench.done(&new.replace("--out r", "--out whole").replace("--refit r", "--refit whole"));
    let (whole, fresh, is_over) = (begun.elapsed(), results(&bench, "whole"), !more.is_empty());
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for kill_number in 0..count {
        for left in ["r", "r.new-1", "r.old-1"] {
            let _ = fs::remove_dir_all(bench.path(left));
        }
        let before = is_over.then(|| bench.done(old)).map(|_| results(&bench, "r"));
        if is_over {
            bench.write("r/notes", "mine");
        }
        let command = format!("{new} {more}");
        let child = start(&bench, &words(&command));
        sleep(whole.mul_f64(random.random_range(0.1..1.1)));
        kill(child);
        let there = results(&bench, "r");
        assert!(before.is_none_or(|before| there == before || there == fresh), "{phase}, kill {kill_number}");
        let resumed = bench.run(&words(&format!("{new} --resume")));
        if !resumed.get_output().status.success() {
            // Nothing had begun.
            bench.done(&command);
        }
        assert!(results(&bench, "r") == fresh, "{phase}, kill {kill_number}");
        let kept = if bench.path("r/notes").exists() { "r/notes" } else { "r.old-1/notes" };
        assert!(!is_over || fs::read(bench.path(kept)).unwrap() == b"mine", "{phase}, kill {kill_number}");
        assert!(!bench.path("r.new-1").exists());
    }
}

const PHASES: [&str; 5] = ["train", "cv", "refit", "train over", "cv over"];

#[test]
fn a_killed_command_loses_nothing_and_resumes_to_the_same_bytes() {
    PHASES.iter().zip(1..).for_each(|(phase, seed)| killed(phase, 2, seed));
}

/// `cargo test --test cli fifty_kills -- --ignored`, which takes minutes.
#[test]
#[ignore = "takes minutes"]
fn fifty_kills_in_each_phase_lose_nothing() {
    PHASES.iter().zip(11..).for_each(|(phase, seed)| killed(phase, 50, seed));
}

#[test]
fn a_finished_run_is_read_by_every_command_while_another_one_takes_its_place() {
    let bench = bench();
    bench.done("train g.toml -q --out r");
    bench.done("train g.toml -q --out other");
    bench.done("cv g.toml -q --keep scores --out cv");
    let readers = [
        ("report r --out -", "r"),
        ("compare r other", "r"),
        ("study position-accuracy cv --quick", "cv"),
        ("predict r d.txt", "r"),
        ("models show r", "r"),
        ("train g.toml --out r", "r"),
    ];
    let told = readers.map(|(command, _)| bench.done(command));
    // Where a system cannot exchange two names, a kill between two renames leaves no folder of the name.
    for ((command, run), told) in readers.iter().zip(&told) {
        let there = results(&bench, run);
        let home = bench.path(run).canonicalize().unwrap();
        let next = home.with_file_name(format!("{run}.new-1"));
        let mut mark: serde_json::Value = serde_json::from_slice(&fs::read(home.join(".burn-rank")).unwrap()).unwrap();
        mark["takes"] = serde_json::json!({"of": home, "new": next});
        fs::write(home.join(".burn-rank"), mark.to_string()).unwrap();
        fs::rename(&home, &next).unwrap();
        assert_eq!(bench.done(command), *told, "{command}");
        assert!(results(&bench, run) == there && !next.exists());
    }
    let endless = "train g.toml -q --out r --overwrite --set learner.epochs=50000 --set learner.patience=50000";
    let child = start(&bench, &words(endless));
    wait_until(|| bench.path("r.new-1/state.json").exists());
    let read =
        || readers[..5].iter().zip(&told).for_each(|((command, _), told)| assert_eq!(bench.done(command), *told));
    read();
    contains(&bench.refused(&["train", "g.toml", "--out", "r"]), &["another run is writing into this folder"]);
    kill(child);
    read();
    // A third run takes the place of both.
    bench.done("train g.toml -q --out r --overwrite --set seed=2");
    assert!(results(&bench, "r") != results(&bench, "other") && !bench.path("r.new-1").exists());
    assert_eq!(files(&bench.path("r")), files(&bench.path("other")));
}

#[cfg(unix)]
#[test]
fn a_read_only_folder_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let bench = bench();
    bench.done("train g.toml -q --out above/r");
    let mode = |name: &str, bits| fs::set_permissions(bench.path(name), fs::Permissions::from_mode(bits)).unwrap();
    mode("above", 0o555);
    // Root may write everywhere.
    if fs::create_dir(bench.path("above/x")).is_err() {
        for args in [&["--out", "above/new"][..], &["--out", "above/r", "--overwrite", "--set", "seed=2"]] {
            contains(&bench.refused(&[&["train", "g.toml"], args].concat()), &["above/", "cannot write", "denied"]);
        }
        bench.done("predict above/r d.txt");
    }
    mode("above", 0o755);
}
