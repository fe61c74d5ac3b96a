//! A finished run stays whole until another one is accepted and takes its place: refused input, kills and other data
//! take nothing away, and `--resume` continues the run that was stopped.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::bad_input::contains;
use super::folders::everything;
use super::{Bench, files};

const GRADIENT: &str = r#"
data = { train = ["d.txt"] }
scorer = { kind = "mlp", hidden = [8] }
loss = { name = "list_net" }
learner = { kind = "gradient", epochs = 5 }
cv = { split = 3 }
"#;

const TREES: &str = r#"
data = { train = ["d.txt"] }
loss = { name = "lambda_ndcg" }
learner = { kind = "boosted_trees", rounds = 5 }
cv = { split = 3 }
"#;

/// Labels that this loss refuses when it meets them in the fit.
const REFUSED_LABELS: &str = "loss={name=\"soft_err\",maximum_grade=1}";

/// Data of 60 queries, and two configurations.
fn bench() -> Bench {
    let bench = Bench::default();
    synth(&bench, "1");
    bench.write("g.toml", GRADIENT);
    bench.write("t.toml", TREES);
    bench
}

fn synth(bench: &Bench, seed: &str) {
    let shape = ["--queries", "60", "--features", "8", "--median-length", "10"];
    bench.output(&[&["synth", "--seed", seed, "--out", "d.txt"][..], &shape].concat());
}

/// The results of a run, by name: its ranker, its report and its configuration.
fn results(bench: &Bench, run: &str) -> BTreeMap<String, Vec<u8>> {
    let names = ["config.toml", "ranker.safetensors", "report.json"].into_iter();
    names.filter_map(|name| Some((name.to_string(), fs::read(bench.path(run).join(name)).ok()?))).collect()
}

/// Everything in the bench but the marks of its folders.
fn unmarked(bench: &Bench) -> BTreeMap<PathBuf, String> {
    everything(&bench.path("")).into_iter().filter(|(path, _)| !path.ends_with(".burn-rank")).collect()
}

fn start(bench: &Bench, args: &[&str]) -> Child {
    let program = assert_cmd::cargo::cargo_bin("burn-rank");
    let mut command = Command::new(program);
    command.current_dir(bench.path("")).args(args).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Waits for a file of a run that grows.
fn wait_for(path: &Path) {
    let begun = Instant::now();
    while !path.exists() {
        assert!(begun.elapsed() < Duration::from_secs(120), "{} does not come", path.display());
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn overwrite_removes_a_finished_run_only_after_the_new_one_is_accepted() {
    let bench = bench();
    bench.output(&["synth", "--queries", "20", "--features", "5", "--out", "five.txt"]);
    bench.output(&["train", "t.toml", "-q", "--out", "five", "--set", "data.train=[\"five.txt\"]"]);
    for config in ["g.toml", "t.toml"] {
        bench.output(&["train", config, "-q", "--out", config.trim_end_matches(".toml")]);
        bench.output(&["cv", config, "-q", "--out", &format!("cv-{config}")]);
    }
    let before = everything(&bench.path(""));
    for (args, code) in [
        (&["train", "g.toml", "--out", "g", "--set", REFUSED_LABELS][..], 2),
        (&["train", "g.toml", "--out", "g", "--set", "learner.learning_rate=1e30"], 1),
        (&["train", "t.toml", "--out", "t", "--set", "learner.min_documents=100000"], 2),
        (&["train", "t.toml", "--out", "t", "--continue", "five"], 2),
        (&["train", "t.toml", "--out", "g", "--set", "learner.min_documents=100000"], 2),
        (&["cv", "g.toml", "--out", "cv-g.toml", "--set", REFUSED_LABELS], 2),
        (&["cv", "g.toml", "--out", "cv-g.toml", "--set", "learner.learning_rate=1e30"], 1),
        (&["cv", "t.toml", "--out", "cv-t.toml", "--set", "learner.min_documents=100000"], 2),
        (&["cv", "t.toml", "--out", "t", "--set", "learner.min_documents=100000"], 2),
    ] {
        bench.run(&[args, &["--overwrite", "-q"]].concat()).code(code);
        assert_eq!(everything(&bench.path("")), before, "{args:?}");
    }
    // A run that is accepted takes the place of the old one.
    bench.output(&["train", "g.toml", "-q", "--out", "t", "--overwrite"]);
    bench.output(&["train", "g.toml", "-q", "--out", "fresh"]);
    assert!(results(&bench, "t") == results(&bench, "fresh"));
    assert_eq!(files(&bench.path("t")), files(&bench.path("fresh")));
    bench.output(&["train", "g.toml", "-q", "--out", "cv-t.toml", "--overwrite"]);
    assert_eq!(files(&bench.path("cv-t.toml")), files(&bench.path("fresh")));
}

#[test]
fn continue_into_its_own_folder_keeps_the_ranker_until_the_new_one_is_whole() {
    let [killed, whole] = [(); 2].map(|()| {
        let bench = bench();
        bench.output(&["train", "t.toml", "-q", "--out", "c"]);
        bench
    });
    let before = results(&killed, "c");
    let again = ["train", "t.toml", "-q", "--continue", "c", "--out", "c"];
    let more = ["--set", "learner.rounds=60", "--set", "learner.patience=60"];
    contains(&killed.refused(&[&again[..], &more].concat()), &["c: holds a run of another configuration"]);
    let overwrite = [&again[..], &more, &["--overwrite"]].concat();
    whole.output(&overwrite);
    let child = start(&killed, &overwrite);
    wait_for(&killed.path("c/.next/state.json"));
    kill(child);
    assert!(results(&killed, "c") == before);
    killed.output(&["predict", "c", "d.txt", "--out", "scores"]);
    killed.output(&[&again[..], &more, &["--resume"]].concat());
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
    for args in [
        [&again[..], &more].concat(),
        [&again[..], &more, &["--resume"]].concat(),
        vec!["train", "c/config.toml", "-q", "--out", "c"],
        vec!["train", "c/config.toml", "-q", "--out", "elsewhere"],
    ] {
        whole.output(&args);
        let out = args.iter().position(|arg| *arg == "--out").map_or("c", |at| args[at + 1]);
        assert!(scores(out) == expected, "{args:?}");
    }
    // Only --overwrite adds to it once more.
    whole.output(&overwrite);
    assert!(scores("c/start.safetensors") == expected && scores("c") != expected);
}

#[test]
fn a_finished_run_is_not_replaced_without_overwrite_after_its_data_have_changed() {
    let bench = bench();
    bench.output(&["train", "g.toml", "-q", "--out", "r"]);
    bench.output(&["cv", "g.toml", "-q", "--out", "cv"]);
    bench.output(&["train", "g.toml", "-q", "--out", "r"]);
    synth(&bench, "2");
    let before = unmarked(&bench);
    for args in [
        &["train", "g.toml", "--out", "r"][..],
        &["train", "r/config.toml", "--out", "r"],
        &["train", "g.toml", "--out", "r", "--resume"],
        &["cv", "g.toml", "--out", "cv"],
        &["cv", "cv/config.toml", "--out", "cv"],
        &["cv", "g.toml", "--out", "cv", "--resume"],
        &["cv", "g.toml", "--out", "cv", "--resume", "--set", "learner.epochs=6"],
        &["cv", "g.toml", "--out", "cv", "--part", "1/2"],
        &["cv", "g.toml", "--out", "cv", "--merge"],
    ] {
        let told = bench.refused(args);
        contains(&told, &["holds a run on other data (data hash ", "train queries); choose another folder with --out"]);
        let report = fs::read_to_string(bench.path(args[3]).join("report.json")).unwrap();
        let hash = told.split("data hash ").nth(1).unwrap().split('\u{2026}').next().unwrap();
        assert!(hash.len() == 12 && report.contains(hash), "{told}");
        assert!(unmarked(&bench) == before, "{args:?}");
    }
    bench.output(&["train", "g.toml", "-q", "--out", "r", "--overwrite"]);
    bench.output(&["cv", "g.toml", "-q", "--out", "cv", "--overwrite"]);
    bench.output(&["train", "g.toml", "-q", "--out", "fresh"]);
    assert!(results(&bench, "r") == results(&bench, "fresh"));
}

#[test]
fn a_digit_of_the_state_that_changed_is_refused() {
    let bench = bench();
    bench.output(&["train", "g.toml", "-q", "--out", "r"]);
    // Stopped before its report.
    fs::remove_file(bench.path("r/report.json")).unwrap();
    let state = fs::read(bench.path("r/state.json")).unwrap();
    let digit = (state.len() / 2..).find(|&at| state[at].is_ascii_digit()).unwrap();
    let mut changed = state.clone();
    changed[digit] = if changed[digit] == b'1' { b'2' } else { b'1' };
    let resume = ["train", "g.toml", "-q", "--out", "r", "--resume"];
    for damaged in [&changed[..], &state[..digit], &[]] {
        fs::write(bench.path("r/state.json"), damaged).unwrap();
        let before = unmarked(&bench);
        let told = bench.refused(&resume);
        assert!(told.contains("error: r/state.json: found a damaged state, whose checksum is not that of"), "{told}");
        assert!(unmarked(&bench) == before);
    }
    fs::write(bench.path("r/state.json"), &state).unwrap();
    // A state of other data.
    synth(&bench, "2");
    let told = bench.refused(&resume);
    assert!(told.contains("error: r/state.json: state of another fit"), "{told}");
    synth(&bench, "1");
    bench.output(&resume);
}

/// Kills an overwriting command at ten moments of its life, and resumes it.
fn overwritten_and_killed(command: &str, config: &str, new: &[&str]) {
    let bench = bench();
    bench.output(&[command, config, "-q", "--out", "old"]);
    let begun = Instant::now();
    bench.output(&[&[command, config, "-q", "--out", "new"][..], new].concat());
    let whole = begun.elapsed();
    let (old, fresh) = (results(&bench, "old"), results(&bench, "new"));
    let run = [&[command, config, "-q", "--out", "r"][..], new].concat();
    let growing = bench.path("r/.next/config.toml");
    let mut stopped = 0;
    for moment in 1..=10 {
        let mut after = whole.mul_f64(f64::from(moment) / 9.0);
        loop {
            bench.output(&[command, config, "-q", "--out", "r", "--overwrite"]);
            assert!(results(&bench, "r") == old);
            bench.write("r/notes", "mine");
            let mut child = start(&bench, &[&run[..], &["--overwrite"]].concat());
            // Some kills meet a run that grows, however fast this machine is now.
            let meets_growth = (4..=6).contains(&moment);
            while meets_growth && !growing.exists() && child.try_wait().unwrap().is_none() {
                sleep(Duration::from_millis(1));
            }
            sleep(after);
            kill(child);
            if growing.exists() || !meets_growth {
                break;
            }
            after /= 2;
        }
        let there = results(&bench, "r");
        // Between the first and the last change of the exchange the folder has no report, and has files of both runs.
        let exchanged = !there.contains_key("report.json");
        let of_one = |(name, bytes)| old.get(name) == Some(bytes) || fresh.get(name) == Some(bytes);
        let is_whole = there == old || there == fresh || exchanged && there.iter().all(of_one);
        assert!(is_whole, "{command} {config}, moment {moment}: neither run is whole");
        if exchanged {
            // A reader ends the exchange.
            bench.output(&["report", "r", "--out", "-"]);
            assert!(results(&bench, "r") == fresh, "{command} {config}, moment {moment}");
        }
        let has_begun = growing.exists();
        stopped += usize::from(has_begun);
        // Before the folder was touched, there is nothing to resume.
        let how = if has_begun || exchanged || there == fresh { "--resume" } else { "--overwrite" };
        bench.output(&[&run[..], &[how]].concat());
        assert!(results(&bench, "r") == fresh, "{command} {config}, moment {moment}");
        assert_eq!(fs::read(bench.path("r/notes")).unwrap(), b"mine");
        let rest = |run: &str| files(&bench.path(run)).into_iter().filter(|name| name != "notes").collect::<Vec<_>>();
        assert_eq!(rest("r"), rest("new"));
        fs::remove_file(bench.path("r/notes")).unwrap();
    }
    assert!(stopped > 2, "{stopped} kills met a run that grew");
}

#[test]
fn a_run_overwritten_and_killed_at_ten_moments_leaves_one_whole_run() {
    overwritten_and_killed("train", "g.toml", &["--set", "seed=2", "--set", "learner.epochs=30"]);
    overwritten_and_killed("train", "t.toml", &["--set", "seed=2", "--set", "learner.rounds=40"]);
}

#[test]
fn a_cross_validation_overwritten_and_killed_at_ten_moments_leaves_one_whole_run() {
    overwritten_and_killed("cv", "g.toml", &["--set", "seed=2", "--set", "learner.epochs=10"]);
}

#[test]
fn a_finished_run_is_read_while_another_one_grows_in_its_folder() {
    let bench = bench();
    for run in ["r", "other"] {
        bench.output(&["train", "g.toml", "-q", "--out", run]);
    }
    bench.output(&["cv", "g.toml", "-q", "--out", "cv", "--keep", "scores"]);
    let read = |bench: &Bench| {
        bench.output(&["report", "r"]);
        let told = [
            bench.output(&["predict", "r", "d.txt"]),
            bench.output(&["compare", "r", "other"]),
            bench.output(&["study", "position-accuracy", "cv", "--quick"]),
        ];
        (told, results(bench, "r"), results(bench, "cv"))
    };
    let before = read(&bench);
    let growing = [("train", "r"), ("cv", "cv")].map(|(command, run)| {
        let endless = ["--set", "learner.epochs=50000", "--set", "learner.patience=50000"];
        let child = start(&bench, &[&[command, "g.toml", "-q", "--out", run, "--overwrite"], &endless[..]].concat());
        wait_for(&bench.path(run).join(if run == "r" { ".next/state.json" } else { ".next/jobs" }));
        child
    });
    assert_eq!(read(&bench), before);
    let busy = bench.refused(&["train", "g.toml", "--out", "r"]);
    contains(&busy, &["another run is writing into this folder"]);
    growing.into_iter().for_each(kill);
    assert_eq!(read(&bench), before);
    let unfinished = "r: holds an unfinished run: --resume continues it, --overwrite starts again";
    contains(&bench.refused(&["train", "g.toml", "--out", "r"]), &[unfinished]);
    // A third run takes the place of both.
    bench.output(&["train", "g.toml", "-q", "--out", "r", "--overwrite"]);
    assert!(results(&bench, "r") == results(&bench, "other"));
    assert_eq!(files(&bench.path("r")), files(&bench.path("other")));
}

/// Copies a folder with everything in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Puts a finished run inside another one, as a command leaves both if it is killed after the older report is gone.
fn half_way(bench: &Bench, old: &str, new: &str, to: &str) {
    let (home, next) = (bench.path(to), bench.path(to).join(".next"));
    copy(&bench.path(old), &home);
    copy(&bench.path(new), &next);
    // The lock of both is the outer one.
    fs::remove_file(next.join(".lock")).unwrap();
    let [mut mark, mut over] = [&home, &next].map(|folder| -> serde_json::Value {
        serde_json::from_slice(&fs::read(folder.join(".burn-rank")).unwrap()).unwrap()
    });
    mark.as_object_mut().unwrap().remove("finished");
    for (name, digests) in over["wrote"].as_object().unwrap() {
        let both = mark["wrote"].as_object_mut().unwrap().entry(name).or_insert(serde_json::json!([]));
        both.as_array_mut().unwrap().extend(digests.as_array().unwrap().iter().cloned());
    }
    over["over"] = "other".into();
    for (folder, mark) in [(&home, mark), (&next, over)] {
        fs::write(folder.join(".burn-rank"), serde_json::to_vec(&mark).unwrap()).unwrap();
    }
    fs::remove_file(home.join("report.json")).unwrap();
}

#[test]
fn a_run_whose_move_into_place_was_killed_is_read_by_every_command() {
    let bench = bench();
    let more = ["--set", "seed=2", "--set", "learner.epochs=7"];
    for (run, more) in [("old", &[][..]), ("new", &more[..])] {
        bench.output(&[&["train", "g.toml", "-q", "--out", run][..], more].concat());
        let cv = format!("cv-{run}");
        bench.output(&[&["cv", "g.toml", "-q", "--keep", "scores", "--out", &cv][..], more].concat());
    }
    for (args, run) in [
        (&["report", "RUN", "--out", "-"][..], "swp"),
        (&["report", "RUN", "--out", "-"], "cv-swp"),
        (&["compare", "RUN", "old"], "swp"),
        (&["study", "position-accuracy", "RUN", "--quick"], "cv-swp"),
        (&["predict", "RUN", "d.txt"], "swp"),
        (&["eval", "RUN", "d.txt"], "swp"),
        (&["importance", "RUN", "d.txt"], "swp"),
        (&["models", "show", "RUN"], "swp"),
        (&["convert", "RUN", "r.onnx"], "swp"),
        (&["compare", "RUN", "old", "d.txt"], "swp"),
    ] {
        let (old, new) = if run == "swp" { ("old", "new") } else { ("cv-old", "cv-new") };
        half_way(&bench, old, new, run);
        let named = |run: &'static str| -> Vec<&str> {
            args.iter().map(|arg| if *arg == "RUN" { run } else { *arg }).collect()
        };
        let told = bench.output(&named(run));
        assert_eq!(files(&bench.path(run)), files(&bench.path(new)), "{args:?}");
        assert!(results(&bench, run) == results(&bench, new), "{args:?}");
        // The names are equally long, so that tables are as wide.
        assert!(told.replace(run, new) == bench.output(&named(new)), "{args:?}");
        fs::remove_dir_all(bench.path(run)).unwrap();
    }
    for (run, more) in [("old-trees", &[][..]), ("new-trees", &["--set", "learner.rounds=7"])] {
        bench.output(&[&["train", "t.toml", "-q", "--out", run][..], more].concat());
    }
    half_way(&bench, "old-trees", "new-trees", "trees");
    bench.output(&["train", "t.toml", "-q", "--out", "started", "--continue", "trees"]);
    assert!(results(&bench, "trees") == results(&bench, "new-trees"));
}

#[test]
fn a_run_that_failed_does_not_block_the_corrected_command() {
    let bench = bench();
    for (command, config) in [("train", "g.toml"), ("cv", "g.toml")] {
        let wrong = ["--set", "learner.learning_rate=1e30"];
        bench.run(&[&[command, config, "-q", "--out", command][..], &wrong].concat()).code(1);
        bench.output(&[command, config, "-q", "--out", command]);
        let fresh = format!("fresh-{command}");
        bench.output(&[command, config, "-q", "--out", &fresh]);
        assert_eq!(files(&bench.path(command)), files(&bench.path(&fresh)));
        assert!(results(&bench, command) == results(&bench, &fresh));
    }
}

#[test]
fn a_users_folder_with_the_name_of_the_one_that_runs_grow_in_stays() {
    let bench = bench();
    bench.output(&["train", "g.toml", "-q", "--out", "r"]);
    fs::create_dir(bench.path("r/.next")).unwrap();
    bench.write("r/.next/notes", "mine");
    let before = everything(&bench.path(""));
    for way in [&[][..], &["--overwrite"], &["--resume"]] {
        let told = bench.refused(&[&["train", "g.toml", "--out", "r"][..], way].concat());
        contains(&told, &["r/.next: holds `notes`, which burn-rank did not write there"]);
        assert_eq!(everything(&bench.path("")), before);
    }
    fs::remove_file(bench.path("r/.next/notes")).unwrap();
    bench.output(&["train", "g.toml", "-q", "--out", "r"]);
    #[cfg(unix)]
    {
        fs::create_dir(bench.path("outside")).unwrap();
        std::os::unix::fs::symlink(bench.path("outside"), bench.path("r/.next")).unwrap();
        let told = bench.refused(&["train", "g.toml", "--out", "r", "--overwrite"]);
        contains(&told, &["r: `.next` is a link, which burn-rank does not write through"]);
        assert_eq!(fs::read_dir(bench.path("outside")).unwrap().count(), 0);
    }
}
