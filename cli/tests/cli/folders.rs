//! Whose folder it is: a command writes only into a folder that is new, empty or marked with the same run. After a
//! refusal, every folder has the same entries with the same bytes.

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
fn a_folder_of_the_users_is_refused() {
    let bench = bench();
    fs::create_dir_all(bench.path("mine/jobs")).unwrap();
    bench.write("mine/README.md", "mine\n");
    bench.write("mine/config.toml", &format!("# my notes\n{SMALL}"));
    let words =
        "mine: holds `README.md` and 2 more entries, which burn-rank did not write there; choose a new or empty";
    // A lock by itself does not make it ours.
    for lock in [false, true] {
        if lock {
            bench.write("mine/.lock", "");
        }
        for args in ways("mine") {
            refused(&bench, &args, &[words]);
        }
        refused(&bench, &["train", "mine/config.toml", "--out", "mine"], &[words]);
        refused(&bench, &["study", "position-accuracy", "--queries", "12", "--out", "mine"], &[words]);
        refused(&bench, &["synth", "--queries", "5", "--parts", "3", "--out", "mine"], &[words]);
    }
    // The current folder is like any other.
    for args in ways(".") {
        refused(&bench, &args, &["holds `cv.toml` and 2 more entries, which burn-rank did not write there"]);
    }
    // Without --out, another name is chosen.
    fs::create_dir_all(bench.path("runs")).unwrap();
    fs::rename(bench.path("mine"), bench.path("runs/train")).unwrap();
    let before = everything(&bench.path("runs/train"));
    bench.output(&["train", "train.toml"]);
    assert_eq!(everything(&bench.path("runs/train")), before);
    assert!(bench.path("runs/train-2/report.json").exists());
}

/// Only the mark tells which run a folder holds.
#[test]
fn a_run_without_its_mark_is_the_users() {
    let bench = bench();
    bench.output(&["train", "train.toml", "--out", "train"]);
    bench.output(&["cv", "cv.toml", "--out", "cv"]);
    for run in ["train", "cv"] {
        let mark = fs::read_to_string(bench.path(run).join(MARK)).unwrap();
        for (text, words) in [
            ("mine".to_string(), "`.burn-rank` is not a file of burn-rank"),
            (
                mark.replace("\"format\": 2", "\"format\": 3"),
                "`.burn-rank` was written by a newer version of burn-rank",
            ),
            (mark.replace("\"format\": 2", "\"format\": 1"), "`.burn-rank` was written by an older version"),
            (mark.replace("\"finished\"", "\"fin\""), "`.burn-rank` is damaged"),
        ] {
            bench.write(&format!("{run}/{MARK}"), &text);
            for args in ways(run) {
                refused(&bench, &args, &[run, words, "choose another folder with --out"]);
            }
        }
        fs::remove_file(bench.path(run).join(MARK)).unwrap();
        for args in ways(run) {
            refused(&bench, &args, &[&format!("{run}: holds `"), "more entries, which burn-rank did not write there"]);
        }
        // The page replaces no file of the user, and a run without a mark can be read.
        let words = format!("{run}: `report.html` may be yours, since the folder has no mark; name another file");
        refused(&bench, &["report", run], &[&words]);
        fs::remove_file(bench.path(run).join("report.html")).unwrap();
        bench.output(&["report", run]);
    }
    bench.output(&["synth", "--queries", "4", "--features", "10", "--out", "data.txt"]);
    bench.output(&["predict", "train", "data.txt", "--out", "scores.txt"]);
}

#[test]
fn synth_parts_are_replaced_together() {
    let bench = Bench::default();
    let synth = |seed: &'static str, queries: &'static str| {
        ["synth", "--seed", seed, "--queries", queries, "--parts", "3", "--out", "data"]
    };
    bench.output(&synth("1", "9"));
    bench.write("data/notes.txt", "mine\n");
    let before = everything(&bench.path("data"));
    // Long enough to be met on the way, and killed while it writes the second part.
    let mut child = start(&bench, &synth("2", "1500"));
    let half = || files(&bench.path("data")).into_iter().find(|name| name.starts_with("S2.txt.burn-rank-"));
    let begun = Instant::now();
    while half().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(120), "the second part does not come");
        sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let names = ["S1.txt", "S2.txt", "S3.txt", "notes.txt"];
    let read =
        |names: &[&str]| names.iter().map(|name| fs::read(bench.path("data").join(name)).unwrap()).collect::<Vec<_>>();
    let there = read(&names);
    bench.output(&synth("1", "9"));
    assert!(everything(&bench.path("data")) == before && there == read(&names), "{:?}", files(&bench.path("data")));
    bench.output(&synth("2", "12"));
    assert!(read(&names) != there);
    // Files of a set with more parts would be read together with fewer new parts.
    bench.output(&["synth", "--queries", "9", "--parts", "4", "--out", "four"]);
    let fewer = ["synth", "--queries", "9", "--parts", "3", "--out", "four"];
    refused(&bench, &fewer, &["four/S4.txt: found a part beyond --parts 3, expected none, since `cv` would read it"]);
    refused(&bench, &["study", "position-accuracy", "--queries", "12", "--out", "data"], &["of another command"]);
}

#[test]
fn a_study_is_replaced_only_with_overwrite() {
    let bench = bench();
    let study = ["study", "position-accuracy", "--queries", "12", "--out", "study"];
    let told = bench.output(&study);
    assert!(told.ends_with("written to study, open study/study.html\n"), "{told}");
    let before = everything(&bench.path("study"));
    bench.output(&study);
    assert_eq!(everything(&bench.path("study")), before);
    let other = [&study[..], &["--seed", "2"]].concat();
    refused(&bench, &other, &["study: holds a run of another configuration", "--overwrite it"]);
    bench.output(&[&other[..], &["--overwrite"]].concat());
    assert_ne!(everything(&bench.path("study")), before);
    assert_eq!(files(&bench.path("")), ["cv.toml", "study", "train.toml"]);
    bench.output(&["train", "train.toml", "--out", "run"]);
    let shared = ["study", "position-accuracy", "--queries", "12", "--out", "run"];
    refused(&bench, &shared, &["run: holds a run of another command (`train`)"]);
    let compared = ["devices", "compare", "train.toml", "--devices", "flex", "--seeds", "2", "--out", "run"];
    refused(&bench, &compared, &["run: holds a run of another command (`train`)"]);
}

#[test]
fn a_readme_beside_an_unfinished_run_is_not_replaced() {
    let bench = bench();
    bench.output(&["train", "train.toml", "--out", "run"]);
    for name in ["ranker.safetensors", "report.json", "run.json", "report.html"] {
        fs::remove_file(bench.path("run").join(name)).unwrap();
    }
    bench.write("run/README.md", "# Mine\n");
    let args = ["train", "train.toml", "--out", "run", "--resume"];
    refused(&bench, &args, &["run: `README.md` is not of the unfinished run here; move it elsewhere"]);
    fs::remove_file(bench.path("run/README.md")).unwrap();
    bench.output(&args);
}

/// A file of the user may look like a temporary file.
#[test]
fn a_partial_file_of_the_users_stays() {
    let bench = bench();
    bench.output(&["train", "train.toml", "--out", "run"]);
    fs::remove_file(bench.path("run/report.json")).unwrap();
    bench.write("run/report.json.77.partial", "mine\n");
    bench.write("run/report.json.burn-rank-0123456789abcdef.partial", "half");
    bench.output(&["train", "train.toml", "--out", "run", "--resume"]);
    assert!(bench.path("run/report.json.77.partial").exists());
    assert!(!bench.path("run/report.json.burn-rank-0123456789abcdef.partial").exists());
}

#[cfg(unix)]
#[test]
fn nothing_is_written_or_removed_through_a_link() {
    use std::os::unix::fs::symlink;
    let bench = bench();
    bench.output(&["train", "train.toml", "--out", "run"]);
    bench.output(&["cv", "cv.toml", "--out", "cv"]);
    fs::create_dir(bench.path("outside")).unwrap();
    let job = fs::read_dir(bench.path("cv/jobs")).unwrap().next().unwrap().unwrap().path();
    let job = format!("cv/jobs/{}", job.file_name().unwrap().to_str().unwrap());
    let within = [format!("{job}/state.json"), job];
    for path in ["run/config.toml", "run/report.html", "run/.lock", "run/.burn-rank", "cv/jobs", &within[0], &within[1]]
    {
        let outside = bench.path("outside/moved");
        fs::rename(bench.path(path), &outside).unwrap();
        symlink(&outside, bench.path(path)).unwrap();
        let [run, config] = if path.starts_with("run") { ["run", "train.toml"] } else { ["cv", "cv.toml"] };
        let command = if run == "run" { "train" } else { "cv" };
        for way in [&[][..], &["--resume"]] {
            let args = [&[command, config, "--out", run][..], way].concat();
            refused(&bench, &args, &[&format!("{run}: `"), "is "]);
        }
        fs::remove_file(bench.path(path)).unwrap();
        fs::rename(&outside, bench.path(path)).unwrap();
    }
    // A folder with a link in it stays whole when the run is replaced.
    fs::rename(bench.path("run/report.html"), bench.path("outside/page.html")).unwrap();
    symlink(bench.path("outside/page.html"), bench.path("run/report.html")).unwrap();
    bench.output(&["train", "train.toml", "--out", "run", "--overwrite"]);
    assert!(bench.path("run.old-1/report.html").is_symlink() && bench.path("outside/page.html").exists());
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
    let before = fs::read(bench.path("empty/report.json")).unwrap();
    bench.output(&["train", "train.toml", "--set", "seed=2", "--out", "to-empty", "--overwrite"]);
    assert!(before != fs::read(bench.path("empty/report.json")).unwrap() && bench.path("to-empty").is_symlink());
    for args in ways("to-mine") {
        refused(&bench, &args, &["to-mine: holds `notes.txt`, which burn-rank did not write there"]);
    }
    for args in ways("to-nowhere").into_iter().filter(|args| !args.contains(&"--resume")) {
        refused(&bench, &args, &["to-nowhere: is a link to a folder that does not exist; make it, or choose another"]);
    }
}

#[test]
fn the_folder_of_the_shell_is_not_replaced() {
    let bench = bench();
    fs::create_dir(bench.path("empty")).unwrap();
    let run = |args: &[&str]| bench.command(args).current_dir(bench.path("empty")).assert();
    run(&["train", "../train.toml", "--out", "."]).success();
    run(&["train", "config.toml", "--out", "."]).success();
    let told = run(&["train", "config.toml", "--set", "seed=2", "--out", ".", "--overwrite"]).code(2);
    let told = String::from_utf8(told.get_output().stderr.clone()).unwrap();
    contains(&told, &["is the current folder, or holds it", "run the command from another folder"]);
}

#[test]
fn simultaneous_runs_do_not_share_a_folder() {
    let bench = bench();
    for round in 0..3 {
        let out = format!("run{round}");
        let args = ["train", "train.toml", "--out", &out];
        let runs = [(); 4].map(|()| start(&bench, &args));
        let ended = runs.map(|run| run.wait_with_output().unwrap());
        assert!(ended.iter().any(|run| run.status.success()), "{ended:?}");
        for run in ended.iter().filter(|run| !run.status.success()) {
            let message = String::from_utf8_lossy(&run.stderr);
            assert_eq!(run.status.code(), Some(2), "{message}");
            contains(&message, &[&out, "another run is writing into this folder"]);
        }
        assert!(bench.output(&args).contains("nothing was fitted again"));
    }
    // Different runs without --out get different folders.
    let seeds = ["seed=1", "seed=2", "seed=3"];
    let runs = seeds.map(|seed| start(&bench, &["train", "train.toml", "--set", seed]));
    assert!(runs.map(|run| run.wait_with_output().unwrap()).iter().all(|run| run.status.success()));
    assert_eq!(files(&bench.path("runs")), ["train", "train-2", "train-3"]);
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
}

#[test]
fn the_page_of_a_run_replaces_no_other_file_of_it() {
    let bench = bench();
    bench.output(&["train", "train.toml", "--out", "run"]);
    bench.output(&["report", "run"]);
    bench.output(&["report", "run", "--out", "run/report.html"]);
    for name in ["report.json", "run.json", "config.toml", "README.md", "ranker.safetensors", "state.json"] {
        let path = format!("run/{name}");
        let words = format!("--out {path}: expected a different file: this one is a file of the run");
        refused(&bench, &["report", "run", "--out", &path], &[&words]);
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
