//! Ownership of folders: a command writes only into a folder that it made, found empty, or marked, and there it
//! replaces and removes only what it wrote. After a refusal, every folder has the same entries with the same bytes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::bad_input::contains;
use super::{Bench, SMALL, files};

const MARK: &str = ".burn-rank";

/// Returns a configuration for cross-validation, which splits the training queries instead of having test queries.
fn small_cv() -> String {
    let without =
        |set: &str, config: String| config.replace(&format!("{set}_queries = 8"), &format!("{set}_queries = 0"));
    without("test", without("validation", SMALL.to_string())) + "[cv]\nsplit = 3\n"
}

/// Makes a bench with a configuration for each of the two commands.
fn bench() -> Bench {
    let bench = Bench::default();
    bench.write("train.toml", SMALL);
    bench.write("cv.toml", &small_cv());
    bench
}

/// Returns everything below a folder: bytes of files, targets of links.
pub fn everything(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let kind = fs::symlink_metadata(&path).unwrap().file_type();
        if kind.is_symlink() {
            found.insert(path.clone(), format!("-> {}", fs::read_link(&path).unwrap().display()));
        } else if kind.is_dir() {
            found.insert(path.clone(), "folder".to_string());
            found.extend(everything(&path));
        } else {
            found.insert(path.clone(), format!("{:?}", fs::read(&path).unwrap()));
        }
    }
    found
}

/// Waits until a command has left a file whose name begins so.
fn wait_for(folder: &Path, begin: &str) {
    let is_there = || {
        let names = fs::read_dir(folder).into_iter().flatten();
        names.into_iter().any(|entry| entry.unwrap().file_name().to_string_lossy().starts_with(begin))
    };
    let begun = Instant::now();
    while !is_there() {
        assert!(begun.elapsed() < Duration::from_secs(120), "{begin} does not come");
        sleep(Duration::from_millis(2));
    }
}

/// Returns each way to run `train` and `cv` into `out`.
fn ways(out: &str) -> Vec<Vec<&str>> {
    let ways = [&[][..], &["--overwrite"], &["--resume"]];
    ["train", "cv"]
        .into_iter()
        .flat_map(|command| {
            let config = if command == "train" { "train.toml" } else { "cv.toml" };
            ways.map(|way| [&[command, config, "--out", out][..], way].concat())
        })
        .collect()
}

/// Asserts that the command is refused with these words and changes nothing in the bench.
fn refused(bench: &Bench, args: &[&str], words: &[&str]) {
    let before = everything(&bench.path(""));
    contains(&bench.refused(args), words);
    assert_eq!(everything(&bench.path("")), before, "{args:?}");
}

fn start(bench: &Bench, args: &[&str]) -> Child {
    let program = assert_cmd::cargo::cargo_bin("burn-rank");
    let mut command = Command::new(program);
    command.current_dir(bench.path("")).args(args).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn a_users_configuration_is_not_replaced_by_a_run_beside_it() {
    let bench = bench();
    fs::create_dir(bench.path("mine")).unwrap();
    bench.write("mine/config.toml", &format!("# my notes\n{SMALL}"));
    let only =
        "mine: holds `config.toml`, which burn-rank did not write there; choose a new or empty folder with --out";
    refused(&bench, &["train", "mine/config.toml", "--out", "mine"], &[only]);
    bench.write("mine/README.md", "mine\n");
    for way in [&[][..], &["--overwrite"], &["--resume"]] {
        let args = [&["train", "mine/config.toml", "--out", "mine"][..], way].concat();
        refused(&bench, &args, &["mine: holds `README.md` and 1 more entry, which burn-rank did not write there"]);
    }
    for args in ways("mine") {
        refused(&bench, &args, &["mine: holds `README.md` and 1 more entry"]);
    }
}

#[test]
fn overwrite_removes_nothing_where_no_run_was() {
    let bench = bench();
    fs::create_dir_all(bench.path("mine/jobs")).unwrap();
    bench.write("mine/README.md", "mine\n");
    bench.write("mine/jobs/print.sh", "lpr\n");
    bench.write("mine/half.partial", "mine too\n");
    // A lock by itself does not make it ours.
    for lock in [false, true] {
        if lock {
            bench.write("mine/.lock", "");
        }
        for args in ways("mine") {
            refused(
                &bench,
                &args,
                &["mine: holds `README.md` and 2 more entries, which burn-rank did not write there"],
            );
        }
    }
}

/// Even files in our own format do not make a folder ours.
#[test]
fn a_copied_configuration_or_report_belongs_to_the_user() {
    let bench = bench();
    bench.output(&["train", "train.toml", "--out", "run"]);
    for name in ["config.toml", "report.json", "ranker.safetensors"] {
        fs::create_dir(bench.path("mine")).unwrap();
        fs::copy(bench.path("run").join(name), bench.path("mine").join(name)).unwrap();
        for args in ways("mine") {
            refused(&bench, &args, &[&format!("mine: holds `{name}`, which burn-rank did not write there")]);
        }
        fs::remove_dir_all(bench.path("mine")).unwrap();
    }
}

#[test]
fn every_command_refuses_a_folder_of_the_users() {
    let bench = Bench::default();
    fs::create_dir(bench.path("mine")).unwrap();
    for name in ["S1.txt", "study.json", "study.html"] {
        bench.write(&format!("mine/{name}"), "mine\n");
    }
    let words = ["mine: holds `S1.txt` and 2 more entries, which burn-rank did not write there"];
    refused(&bench, &["study", "position-accuracy", "--queries", "12", "--out", "mine"], &words);
    refused(&bench, &["synth", "--queries", "5", "--parts", "3", "--out", "mine"], &words);
    fs::remove_file(bench.path("mine/S1.txt")).unwrap();
    fs::remove_file(bench.path("mine/study.json")).unwrap();
    let words = ["mine: holds `study.html`, which burn-rank did not write there"];
    refused(&bench, &["study", "position-accuracy", "--queries", "12", "--out", "mine"], &words);
    refused(&bench, &["synth", "--queries", "5", "--parts", "3", "--out", "mine"], &words);
}

#[test]
fn synth_parts_are_replaced_together() {
    let bench = Bench::default();
    let synth = |seed: &'static str, queries: &'static str| {
        ["synth", "--seed", seed, "--queries", queries, "--parts", "3", "--out", "data"]
    };
    // Long enough to be met on the way.
    let long = synth("2", "1500");
    bench.output(&synth("1", "9"));
    let parts = || everything(&bench.path("data")).into_iter().filter(|(path, _)| !path.ends_with(MARK));
    let before: BTreeMap<_, _> = parts().collect();
    let start = || {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("burn-rank"));
        let child = command.current_dir(bench.path("")).args(long).stderr(Stdio::piped()).spawn().unwrap();
        wait_for(&bench.path("data"), "S2.txt.");
        child
    };
    // Killed while it writes the second part.
    let mut child = start();
    child.kill().unwrap();
    child.wait().unwrap();
    let whole = |(path, _): &(PathBuf, String)| path.extension().is_none_or(|extension| extension != "partial");
    assert!(parts().filter(whole).collect::<BTreeMap<_, _>>() == before);
    bench.output(&synth("1", "9"));
    assert!(parts().collect::<BTreeMap<_, _>>() == before, "{:?}", files(&bench.path("data")));
    // The last part cannot be replaced: it has become the user's, or a folder.
    let third = bench.path("data/S3.txt");
    let written = fs::read(&third).unwrap();
    for folder in [false, true] {
        let child = start();
        fs::remove_file(&third).unwrap();
        if folder {
            fs::create_dir(&third).unwrap()
        } else {
            fs::write(&third, "mine\n").unwrap()
        }
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        let reason = if folder { "is not a file" } else { "is not as burn-rank wrote it" };
        contains(&told, &[&format!("data: `S3.txt` {reason}; move it elsewhere")]);
        if folder {
            fs::remove_dir(&third).unwrap()
        } else {
            fs::remove_file(&third).unwrap()
        }
        fs::write(&third, &written).unwrap();
        assert!(parts().collect::<BTreeMap<_, _>>() == before, "{:?}", files(&bench.path("data")));
    }
    bench.output(&long);
    let names = ["S1.txt", "S2.txt", "S3.txt"];
    assert_eq!(files(&bench.path("data")), names);
    let mut fresh = long;
    fresh[8] = "fresh";
    bench.output(&fresh);
    let read = |folder: &str| names.map(|name| fs::read(bench.path(folder).join(name)).unwrap());
    assert!(read("data") == read("fresh"));
}

#[test]
fn studies_and_generated_parts_replace_only_their_own_files() {
    let bench = Bench::default();
    let study = ["study", "position-accuracy", "--queries", "12", "--out", "study"];
    let synth = ["synth", "--queries", "9", "--features", "3", "--parts", "3", "--out", "data"];
    bench.output(&study);
    bench.output(&synth);
    bench.write("study/notes.txt", "mine\n");
    bench.write("data/notes.txt", "mine\n");
    let before = everything(&bench.path(""));
    bench.output(&study);
    bench.output(&synth);
    assert_eq!(everything(&bench.path("")), before);
    bench.output(&[&study[..], &["--seed", "2"]].concat());
    bench.output(&[&synth[..], &["--seed", "2"]].concat());
    assert_ne!(everything(&bench.path("")), before);
    // Files of a set with more parts would be read together with fewer new parts.
    bench.output(&["synth", "--queries", "9", "--features", "3", "--parts", "4", "--out", "four"]);
    let fewer = ["synth", "--queries", "9", "--features", "3", "--parts", "3", "--out", "four"];
    refused(&bench, &fewer, &["four/S4.txt: found a part beyond --parts 3, expected none, since `cv` would read it"]);
    // Files that were changed since.
    bench.write("study/study.json", "{}\n");
    bench.write("data/S2.txt", "1 qid:1 1:1\n");
    refused(&bench, &study, &["study: `study.json` is not as burn-rank wrote it; move it elsewhere"]);
    refused(&bench, &synth, &["data: `S2.txt` is not as burn-rank wrote it; move it elsewhere"]);
    assert_eq!(files(&bench.path("data")), ["S1.txt", "S2.txt", "S3.txt", "notes.txt"]);
}

#[test]
fn a_study_may_share_the_folder_of_its_run() {
    let bench = bench();
    bench.output(&["train", "train.toml", "--out", "run"]);
    bench.output(&["synth", "--queries", "9", "--features", "10", "--out", "data.txt"]);
    bench.output(&["study", "position-accuracy", "run", "data.txt", "--out", "run"]);
    bench.output(&["train", "train.toml", "--out", "run", "--overwrite"]);
    assert!(bench.path("run/study.json").exists(), "the study is not the run's");
}

/// Only the mark tells that a folder is burn-rank's.
#[test]
fn a_run_without_its_mark_is_the_users() {
    let bench = bench();
    bench.output(&["train", "train.toml", "--out", "train"]);
    bench.output(&["cv", "cv.toml", "--out", "cv"]);
    for run in ["train", "cv"] {
        fs::remove_file(bench.path(run).join(MARK)).unwrap();
        for args in ways(run) {
            refused(&bench, &args, &[&format!("{run}: holds `"), "more entries, which burn-rank did not write there"]);
        }
        // The page replaces no file of the user.
        let words = format!("{run}: `report.html` is not a page of burn-rank; name another file with --out");
        refused(&bench, &["report", run], &[&words]);
        fs::remove_file(bench.path(run).join("report.html")).unwrap();
        bench.output(&["report", run]);
    }
}

/// The run ended before it wrote a card.
#[test]
fn a_readme_beside_an_unfinished_run_is_not_replaced() {
    let bench = bench();
    bench.refused(&["train", "train.toml", "--out", "run", "--set", "loss={name=\"soft_err\",maximum_grade=1}"]);
    assert_eq!(files(&bench.path("run")), ["config.toml"]);
    bench.write("run/README.md", "# Mine\n");
    for way in [&[][..], &["--overwrite"], &["--resume"]] {
        let args = [&["train", "train.toml", "--out", "run"][..], way].concat();
        refused(&bench, &args, &["run: `README.md` is not as burn-rank wrote it; move it elsewhere"]);
    }
    fs::remove_file(bench.path("run/README.md")).unwrap();
    bench.output(&["train", "train.toml", "--out", "run", "--resume"]);
}

#[test]
fn overwrite_removes_only_what_the_run_wrote() {
    let bench = bench();
    bench.output(&["train", "train.toml", "--out", "run"]);
    bench.output(&["cv", "cv.toml", "--out", "cv"]);
    let job = fs::read_dir(bench.path("cv/jobs")).unwrap().next().unwrap().unwrap().file_name();
    let job = format!("cv/jobs/{}", job.to_str().unwrap());
    let mine = ["run/notes.txt", "run/data.partial", "run/jobs/mine", "cv/README.md", "cv/jobs/mine"];
    let mine: Vec<String> = mine.iter().map(|name| name.to_string()).chain([format!("{job}/notes")]).collect();
    let halves = ["run/config.toml.77.partial", "run/.burn-rank.77.partial", "cv/report.json.77.partial"];
    let halves: Vec<String> =
        halves.iter().map(|name| name.to_string()).chain([format!("{job}/state.json.77.partial")]).collect();
    fs::create_dir(bench.path("run/jobs")).unwrap();
    for name in mine.iter().chain(&halves) {
        bench.write(name, "mine\n");
    }
    refused(&bench, &["train", "cv.toml", "--out", "cv"], &["`README.md` is not as burn-rank wrote it"]);
    refused(&bench, &["train", "train.toml", "--out", "run", "--set", "seed=2"], &["another configuration"]);
    bench.output(&["train", "train.toml", "--set", "seed=2", "--out", "run", "--overwrite"]);
    bench.output(&["cv", "cv.toml", "--set", "seed=2", "--out", "cv", "--overwrite"]);
    for name in &mine {
        assert_eq!(fs::read_to_string(bench.path(name)).unwrap(), "mine\n", "{name}");
    }
    assert!(halves.iter().all(|name| !bench.path(name).exists()), "halves that a killed run left");
    assert_eq!(files(&bench.path(&job)), ["notes"], "the files of another run are gone");
    assert_eq!(fs::read_dir(bench.path("cv/jobs")).unwrap().count(), 5, "3 new jobs, 2 of the user's");
}

#[test]
fn a_changed_file_of_a_run_belongs_to_the_user() {
    let bench = bench();
    bench.output(&["train", "train.toml", "--out", "run"]);
    let ways = [&[][..], &["--overwrite"], &["--resume"]];
    let written = |name: &str| fs::read_to_string(bench.path("run").join(name)).unwrap();
    let seed = written("config.toml").replace("seed = 1\n", "seed = 2\n");
    for (name, changed) in [
        ("README.md", written("README.md") + "\nIt did well.\n"),
        ("config.toml", format!("# of Tuesday\n{}", written("config.toml"))),
        ("config.toml", seed),
        ("report.json", "{}".to_string()),
        ("ranker.safetensors", "mine".to_string()),
    ] {
        let before = fs::read(bench.path("run").join(name)).unwrap();
        bench.write(&format!("run/{name}"), &changed);
        for way in ways {
            let args = [&["train", "train.toml", "--out", "run"][..], way].concat();
            let words =
                format!("run: `{name}` is not as burn-rank wrote it; move it elsewhere, or choose another folder");
            refused(&bench, &args, &[&words]);
        }
        fs::write(bench.path("run").join(name), before).unwrap();
    }
    // A run's own configuration, unchanged, may be given again.
    for way in ways {
        bench.output(&[&["train", "run/config.toml", "--out", "run"][..], way].concat());
    }
}

/// The run continues from the resolved configuration that it left, not only from the one that it was started with.
#[test]
fn an_unfinished_run_continues_from_its_own_configuration() {
    let trees = SMALL.split("[scorer]").next().unwrap().to_string()
        + "[loss]\nname = \"lambda_ndcg\"\n[learner]\nkind = \"boosted_trees\"\nrounds = 3\n";
    for config in [SMALL, &trees] {
        let bench = Bench::default();
        bench.write("run.toml", config);
        bench.output(&["train", "run.toml", "--out", "run"]);
        let report = fs::read(bench.path("run/report.json")).unwrap();
        fs::remove_file(bench.path("run/report.json")).unwrap();
        refused(&bench, &["train", "run/config.toml", "--out", "run"], &["holds an unfinished run"]);
        bench.output(&["train", "run/config.toml", "--out", "run", "--resume"]);
        assert_eq!(fs::read(bench.path("run/report.json")).unwrap(), report);
    }
}

#[cfg(unix)]
#[test]
fn nothing_is_written_or_removed_through_a_link() {
    use std::os::unix::fs::symlink;
    let bench = bench();
    bench.output(&["train", "train.toml", "--out", "run"]);
    bench.output(&["cv", "cv.toml", "--out", "cv"]);
    fs::create_dir(bench.path("outside")).unwrap();
    for run in ["run", "cv"] {
        let (command, config) = if run == "run" { ("train", "train.toml") } else { ("cv", "cv.toml") };
        for name in ["config.toml", "report.html", ".lock", MARK] {
            let path = bench.path(run).join(name);
            let outside = bench.path("outside").join(format!("{run}{name}"));
            fs::rename(&path, &outside).unwrap();
            symlink(&outside, &path).unwrap();
            for way in [&[][..], &["--overwrite"], &["--resume"]] {
                let args = [&[command, config, "--out", run][..], way].concat();
                refused(
                    &bench,
                    &args,
                    &[&format!("{run}: `{name}` is a link, which burn-rank does not write through")],
                );
            }
            fs::remove_file(&path).unwrap();
            fs::rename(&outside, &path).unwrap();
        }
    }
    // The folder of a cross-validation's jobs, the folder of one job, and a file in it.
    let jobs = bench.path("cv/jobs");
    let job = fs::read_dir(&jobs).unwrap().next().unwrap().unwrap().path();
    for path in [jobs, job.clone(), job.join("state.json")] {
        let outside = bench.path("outside/moved");
        fs::rename(&path, &outside).unwrap();
        symlink(&outside, &path).unwrap();
        for way in [&[][..], &["--overwrite"], &["--resume"]] {
            let args = [&["cv", "cv.toml", "--out", "cv"][..], way].concat();
            refused(&bench, &args, &["cv: `jobs", "` is a link, which burn-rank does not write through"]);
        }
        fs::remove_file(&path).unwrap();
        fs::rename(&outside, &path).unwrap();
    }
    bench.output(&["cv", "cv.toml", "--out", "cv", "--resume"]);
}

#[cfg(unix)]
#[test]
fn a_folder_behind_a_link_is_judged_by_what_it_holds() {
    use std::os::unix::fs::symlink;
    let bench = bench();
    for folder in ["empty", "mine"] {
        fs::create_dir(bench.path(folder)).unwrap();
        symlink(bench.path(folder), bench.path(&format!("to-{folder}"))).unwrap();
    }
    bench.write("mine/notes.txt", "mine\n");
    symlink(bench.path("nowhere"), bench.path("to-nowhere")).unwrap();
    bench.output(&["train", "train.toml", "--out", "to-empty"]);
    assert!(bench.path("empty/report.json").exists() && bench.path("to-empty").is_symlink());
    for args in ways("to-mine") {
        refused(&bench, &args, &["to-mine: holds `notes.txt`, which burn-rank did not write there"]);
    }
    for args in ways("to-nowhere") {
        refused(&bench, &args, &["to-nowhere: is a link to a folder that does not exist; make it, or choose another"]);
    }
}

#[test]
fn the_current_folder_is_treated_like_any_other() {
    let bench = bench();
    for out in [".", "./"] {
        for args in ways(out) {
            refused(&bench, &args, &["holds `cv.toml` and 1 more entry, which burn-rank did not write there"]);
        }
    }
    fs::create_dir(bench.path("empty")).unwrap();
    bench.command(&["train", "../train.toml", "--out", "."]).current_dir(bench.path("empty")).assert().success();
    let again = ["train", "config.toml", "--out", ".", "--resume"];
    bench.command(&again).current_dir(bench.path("empty")).assert().success();
}

#[test]
fn a_mark_is_recognized_by_its_content_not_its_name() {
    let bench = bench();
    fs::create_dir(bench.path("mine")).unwrap();
    for text in ["", "{}", "{\"made_by\": \"me\", \"format\": 1, \"about\": \"\", \"wrote\": {}}"] {
        bench.write("mine/.burn-rank", text);
        bench.write("mine/notes.txt", "mine\n");
        for args in ways("mine") {
            refused(&bench, &args, &["mine: holds `.burn-rank` and 1 more entry"]);
        }
    }
    bench.output(&["train", "train.toml", "--out", "run"]);
    let newer = fs::read_to_string(bench.path("run/.burn-rank")).unwrap().replace("\"format\": 1", "\"format\": 2");
    bench.write("run/.burn-rank", &newer);
    for args in ways("run") {
        refused(&bench, &args, &["run: `.burn-rank` was written by a newer version of burn-rank"]);
    }
}

/// The run was killed after the folder was made, after the lock was taken, or while the mark was written.
#[test]
fn a_run_killed_before_its_mark_can_continue() {
    let bench = bench();
    let half = format!("{MARK}.4242.partial");
    for (number, left) in [&[][..], &[".lock"], &[".lock", &half], &[&half]].into_iter().enumerate() {
        for way in ["--resume", "--overwrite", "--quiet"] {
            let out = format!("run{number}{way}");
            fs::create_dir(bench.path(&out)).unwrap();
            for name in left {
                bench.write(&format!("{out}/{name}"), if *name == ".lock" { "" } else { "{\"abo" });
            }
            bench.output(&["train", "train.toml", "--set", "learner.epochs=1", "--out", &out, way]);
            assert!(!bench.path(&out).join(&half).exists());
        }
    }
}

#[test]
fn a_run_killed_at_any_time_can_continue() {
    let bench = bench();
    bench.output(&["train", "train.toml", "--out", "whole"]);
    let read = |run: &str| fs::read(bench.path(run).join("report.json")).unwrap();
    for milliseconds in [5, 10, 15, 20, 30, 40, 60, 80, 120, 200] {
        let out = format!("killed{milliseconds}");
        let args = ["train", "train.toml", "--out", &out, "--resume"];
        for _ in 0..2 {
            let mut run = start(&bench, &args);
            sleep(Duration::from_millis(milliseconds));
            run.kill().unwrap();
            run.wait().unwrap();
        }
        bench.output(&args);
        assert_eq!(read(&out), read("whole"));
        // The mark must know all the files.
        bench.output(&["train", "train.toml", "--out", &out, "--overwrite"]);
    }
}

#[test]
fn simultaneous_runs_do_not_share_a_new_folder() {
    let bench = bench();
    for round in 0..5 {
        let out = format!("run{round}");
        let args = ["train", "train.toml", "--out", &out];
        let runs = [(); 4].map(|()| start(&bench, &args));
        let ended = runs.map(|run| run.wait_with_output().unwrap());
        let done = ended.iter().filter(|run| run.status.success()).count();
        assert!(done >= 1, "{ended:?}");
        for run in ended.iter().filter(|run| !run.status.success()) {
            let message = String::from_utf8_lossy(&run.stderr);
            assert_eq!(run.status.code(), Some(2), "{message}");
            contains(&message, &[&out, "another run is writing into this folder"]);
        }
        // The run is complete, and its mark knows its files.
        bench.output(&[&args[..], &["--resume"]].concat());
    }
}

#[test]
fn a_busy_folder_is_refused_by_every_command() {
    let bench = bench();
    bench.output(&["train", "train.toml", "--out", "run"]);
    let lock = fs::File::options().write(true).open(bench.path("run/.lock")).unwrap();
    lock.lock().unwrap();
    let study = ["study", "position-accuracy", "--queries", "12", "--out", "run"];
    for args in ways("run").into_iter().chain([study.to_vec()]) {
        refused(&bench, &args, &["run: another run is writing into this folder"]);
    }
    drop(lock);
    bench.output(&study);
}

#[test]
fn the_page_of_a_run_does_not_replace_a_users_file() {
    let bench = bench();
    bench.output(&["train", "train.toml", "--out", "run"]);
    bench.output(&["report", "run"]);
    bench.write("run/report.html", "<p>mine</p>\n");
    refused(
        &bench,
        &["report", "run"],
        &["run: `report.html` is not a page of burn-rank; name another file with --out"],
    );
    bench.output(&["report", "run", "--out", "run/report.html"]);
    for name in ["report.json", "run.json", "config.toml", "README.md", "ranker.safetensors", "state.json"] {
        let path = format!("run/{name}");
        let words = format!("--out {path}: expected a different file: this one is a file of the run");
        refused(&bench, &["report", "run", "--out", &path], &[&words]);
    }
    #[cfg(unix)]
    {
        fs::rename(bench.path("run/report.html"), bench.path("page.html")).unwrap();
        std::os::unix::fs::symlink(bench.path("page.html"), bench.path("run/report.html")).unwrap();
        refused(&bench, &["report", "run"], &["run: `report.html` is not a page of burn-rank"]);
    }
}

#[test]
fn an_output_does_not_replace_its_own_input() {
    let bench = bench();
    bench.output(&["train", "train.toml", "--out", "run"]);
    bench.output(&["synth", "--queries", "4", "--features", "10", "--out", "data.txt"]);
    fs::copy(bench.path("run/ranker.safetensors"), bench.path("ranker.txt")).unwrap();
    let different = "expected a different file: this one";
    for (model, out) in [("run", "data.txt"), ("run", "./data.txt"), ("run", "run/ranker.safetensors")] {
        refused(&bench, &["predict", model, "data.txt", "--out", out], &["--out", out, different, "is read"]);
        let args = ["predict", model, "data.txt", "--run-id", "a", "--qrels", out];
        refused(&bench, &[&args[..], &["--out", "scores"]].concat(), &["--qrels", out, different]);
    }
    let same = ["predict", "run", "data.txt", "--run-id", "a", "--out", "new", "--qrels", "new"];
    refused(&bench, &same, &["--qrels new: expected a different file from that of --out"]);
    refused(&bench, &["convert", "ranker.txt", "ranker.txt"], &["ranker.txt", different, "is the ranker"]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(bench.path("data.txt"), bench.path("link")).unwrap();
        refused(&bench, &["predict", "run", "data.txt", "--out", "link"], &["--out link", different]);
    }
    // Any other file of that name is replaced, as before.
    bench.write("scores", "old");
    bench.output(&["predict", "run", "data.txt", "--out", "scores"]);
    assert_ne!(fs::read_to_string(bench.path("scores")).unwrap(), "old");
}
