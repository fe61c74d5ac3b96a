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

/// Makes a bench with a configuration for `train` and for `cv`, which splits the training queries.
fn bench() -> Bench {
    let bench = Bench::default();
    bench.write("train.toml", SMALL);
    let without =
        |set: &str, config: String| config.replace(&format!("{set}_queries = 8"), &format!("{set}_queries = 0"));
    let cv = without("test", without("validation", SMALL.to_string())) + "[cv]\nsplit = 3\n";
    bench.write("cv.toml", &cv);
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

/// Asserts that the command is refused with these words and changes nothing in the bench.
fn refused(bench: &Bench, args: &[&str], words: &[&str]) {
    let before = everything(&bench.path(""));
    contains(&bench.refused(args), words);
    assert_eq!(everything(&bench.path("")), before, "{args:?}");
}

pub fn start(bench: &Bench, args: &[&str]) -> Child {
    let program = assert_cmd::cargo::cargo_bin("burn-rank");
    let mut command = Command::new(program);
    command.current_dir(bench.path("")).args(args).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Waits for what a command does.
pub fn wait_until(is_there: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_there() {
        assert!(begun.elapsed() < Duration::from_secs(120), "what the command does does not come");
        sleep(Duration::from_millis(2));
    }
}

/// Copies a folder of the bench.
fn copy(bench: &Bench, from: &str, to: &str) {
    fs::create_dir(bench.path(to)).unwrap();
    for entry in fs::read_dir(bench.path(from)).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let [from, to] = [from, to].map(|folder| format!("{folder}/{name}"));
        if bench.path(&from).is_dir() {
            copy(bench, &from, &to)
        } else {
            fs::copy(bench.path(&from), bench.path(&to)).unwrap();
        }
    }
}

/// The ways to run a command, by their letters: as it is, with `--overwrite` and with `--resume`.
const WAYS: [(char, &[&str]); 3] = [('n', &[]), ('o', &["--overwrite"]), ('r', &["--resume"])];

/// Asserts that `command` with `more` is refused in the folder `out` in each of the `ways`.
fn refused_ways(bench: &Bench, command: &str, out: &str, more: &[&str], ways: &str, words: &[&str]) {
    let config = format!("{command}.toml");
    for (_, way) in WAYS.iter().filter(|(letter, _)| ways.contains(*letter)) {
        refused(bench, &[&[command, &config, "--out", out], more, way].concat(), words);
    }
}

#[test]
fn a_folder_of_the_users_is_refused_by_every_command() {
    let bench = bench();
    fs::create_dir_all(bench.path("mine/jobs")).unwrap();
    bench.write("mine/README.md", "mine\n");
    bench.write("mine/config.toml", &format!("# my notes\n{SMALL}"));
    copy(&bench, "mine", "locked");
    // A lock by itself does not make it ours.
    bench.write("locked/.lock", "");
    let words = "holds `README.md` and 2 more entries, which burn-rank did not write there; choose a new or empty";
    for out in ["mine", "locked"] {
        for command in ["train", "cv"] {
            refused_ways(&bench, command, out, &[], "nor", &[out, words]);
        }
        refused(&bench, &["train", "mine/config.toml", "--out", out], &[words]);
        refused(&bench, &["study", "position-accuracy", "--queries", "12", "--out", out], &[words]);
        refused(&bench, &["synth", "--queries", "5", "--parts", "3", "--out", out], &[words]);
    }
    let words = "holds `cv.toml` and 3 more entries, which burn-rank did not write there";
    for command in ["train", "cv"] {
        refused_ways(&bench, command, ".", &[], "nor", &[words]);
    }
    // Without --out, another name is chosen.
    fs::create_dir_all(bench.path("runs")).unwrap();
    fs::rename(bench.path("mine"), bench.path("runs/train")).unwrap();
    let before = everything(&bench.path("runs/train"));
    bench.output(&["train", "train.toml"]);
    assert_eq!(everything(&bench.path("runs/train")), before);
    assert!(bench.path("runs/train-2/report.json").exists());
}

#[test]
fn a_folder_of_another_run_or_with_files_of_others_is_refused() {
    let bench = bench();
    for command in ["train", "cv"] {
        bench.output(&[command, &format!("{command}.toml"), "--out", command]);
        // Only the mark tells which run a folder holds.
        copy(&bench, command, "unmarked");
        fs::remove_file(bench.path("unmarked/.burn-rank")).unwrap();
        refused_ways(&bench, command, "unmarked", &[], "nor", &["entries, which burn-rank did not write there"]);
        // The page replaces no file of the user, and a run without a mark can be read.
        let page = "unmarked: `report.html` may be your own file, since the folder has no mark; name another file";
        refused(&bench, &["report", "unmarked"], &[page]);
        fs::remove_file(bench.path("unmarked/report.html")).unwrap();
        bench.output(&["report", "unmarked"]);
        fs::remove_dir_all(bench.path("unmarked")).unwrap();
    }
    let mark = fs::read_to_string(bench.path("train/.burn-rank")).unwrap();
    for (text, words) in [
        ("mine".to_string(), "`.burn-rank` is not a file of burn-rank"),
        (mark.replace("\"format\": 2", "\"format\": 3"), "`.burn-rank` was written by a newer version of burn-rank"),
        (mark.replace("\"format\": 2", "\"format\": 1"), "`.burn-rank` was written by an older version"),
        (mark.replace("\"finished\"", "\"fin\""), "`.burn-rank` is damaged"),
    ] {
        bench.write("train/.burn-rank", &text);
        refused_ways(&bench, "train", "train", &[], "nor", &["train: ", words, "choose another folder with --out"]);
    }
    bench.write("train/.burn-rank", &mark);
    let shared = ["study", "position-accuracy", "--queries", "12", "--out", "train"];
    refused(&bench, &shared, &["train: holds a run of another command (`train`)"]);
    let compared = ["devices", "compare", "train.toml", "--devices", "flex", "--seeds", "2", "--out", "train"];
    refused(&bench, &compared, &["train: holds a run of another command (`train`)"]);
    // Nothing to resume.
    fs::create_dir(bench.path("empty")).unwrap();
    for out in ["typo", "empty"] {
        refused_ways(&bench, "train", out, &[], "r", &[&format!("{out}: nothing to resume")]);
    }
    refused(&bench, &["train", "train.toml", "--resume"], &["runs/train: nothing to resume"]);
    // An unfinished run, and files of the user in it.
    fs::remove_file(bench.path("train/report.json")).unwrap();
    refused_ways(&bench, "train", "train", &[], "n", &["train: holds an unfinished run: --resume continues it"]);
    for name in ["ranker.safetensors", "run.json", "report.html"] {
        fs::remove_file(bench.path("train").join(name)).unwrap();
    }
    bench.write("train/README.md", "# Mine\n");
    let words = "train: `README.md` does not belong to the unfinished run here; move it elsewhere";
    refused_ways(&bench, "train", "train", &[], "r", &[words]);
    fs::remove_file(bench.path("train/README.md")).unwrap();
    bench.write("train/report.json.77.partial", "mine\n");
    bench.write("train/report.json.burn-rank-0123456789abcdef.partial", "half");
    bench.output(&["train", "train.toml", "--out", "train", "--resume"]);
    assert!(bench.path("train/report.json.77.partial").exists());
    assert!(!bench.path("train/report.json.burn-rank-0123456789abcdef.partial").exists());
}

#[cfg(unix)]
#[test]
fn nothing_is_written_or_removed_through_a_link() {
    use std::os::unix::fs::symlink;
    let bench = bench();
    for command in ["train", "cv"] {
        bench.output(&[command, &format!("{command}.toml"), "--out", command]);
    }
    fs::create_dir(bench.path("outside")).unwrap();
    let job = format!("cv/jobs/{}", files(&bench.path("cv/jobs"))[0]);
    let within = format!("{job}/state.json");
    for path in ["train/config.toml", "train/report.html", "train/.lock", "train/.burn-rank", "cv/jobs", &job, &within]
    {
        let outside = bench.path("outside/moved");
        fs::rename(bench.path(path), &outside).unwrap();
        symlink(&outside, bench.path(path)).unwrap();
        let run = path.split('/').next().unwrap();
        refused_ways(&bench, run, run, &[], "nr", &[&format!("{run}: `"), "is "]);
        fs::remove_file(bench.path(path)).unwrap();
        fs::rename(&outside, bench.path(path)).unwrap();
    }
    // A folder with a link in it stays whole when the run is replaced.
    fs::rename(bench.path("train/report.html"), bench.path("outside/page.html")).unwrap();
    symlink(bench.path("outside/page.html"), bench.path("train/report.html")).unwrap();
    let overwrite = ["train", "train.toml", "--out", "train", "--overwrite"];
    bench.output(&overwrite);
    assert!(bench.path("train.old-1/report.html").is_symlink() && bench.path("outside/page.html").exists());
    // A folder behind a link is judged by what it holds.
    fs::rename(bench.path("train"), bench.path("outside/run")).unwrap();
    symlink(bench.path("outside/run"), bench.path("train")).unwrap();
    let before = fs::read(bench.path("train/report.json")).unwrap();
    bench.output(&[&overwrite[..], &["--set", "seed=2"]].concat());
    assert!(before != fs::read(bench.path("outside/run/report.json")).unwrap() && bench.path("train").is_symlink());
    symlink(bench.path("outside"), bench.path("to-mine")).unwrap();
    symlink(bench.path("nowhere"), bench.path("to-nowhere")).unwrap();
    refused_ways(
        &bench,
        "train",
        "to-mine",
        &[],
        "nor",
        &["to-mine: holds `page.html` and 1 more entry, which burn-rank did"],
    );
    let words = "to-nowhere: is a link to a folder that does not exist; make it, or choose another";
    refused_ways(&bench, "cv", "to-nowhere", &[], "no", &[words]);
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
    wait_until(|| half().is_some());
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
fn a_study_and_a_folder_of_the_shell_are_replaced_only_as_asked() {
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
    for round in 0..2 {
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
        assert!(bench.output(&args).contains("nothing was trained again"));
    }
    // Different runs without --out get different folders.
    let seeds = ["seed=1", "seed=2", "seed=3"];
    let runs = seeds.map(|seed| start(&bench, &["train", "train.toml", "--set", seed]));
    assert!(runs.map(|run| run.wait_with_output().unwrap()).iter().all(|run| run.status.success()));
    assert_eq!(files(&bench.path("runs")), ["train", "train-2", "train-3"]);
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
    refused(&bench, &same, &["--qrels new: expected a different file from --out"]);
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
