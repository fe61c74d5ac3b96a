//! Whose folder it is: a command writes only into a folder that is new, empty or marked with the same run. After a
//! refusal, every folder has the same entries with the same bytes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::bad_input::contains;
use super::{Bench, SMALL, files, words};

/// Makes a bench with a configuration for `train` and for `cv`, which splits the training queries.
fn bench() -> Bench {
    let bench = Bench::default();
    bench.write("train.toml", SMALL);
    let whole = SMALL
        .replace("\ntest_queries = 8", "\ntest_queries = 0")
        .replace("validation_queries = 8", "validation_queries = 0");
    bench.write("cv.toml", &format!("{whole}[cv]\nsplit = 3\n"));
    bench
}

/// Makes a bench with a run of each command, in `train` and in `cv`.
fn with_runs() -> Bench {
    let bench = bench();
    bench.done("train train.toml --out train");
    bench.done("cv cv.toml --out cv");
    bench
}

/// Returns everything below a folder: bytes of files, targets of links.
pub fn everything(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let what = match path.symlink_metadata().unwrap().file_type() {
            kind if kind.is_symlink() => format!("-> {}", fs::read_link(&path).unwrap().display()),
            kind if kind.is_dir() => {
                found.extend(everything(&path));
                "folder".to_string()
            }
            _ => format!("{:?}", fs::read(&path).unwrap()),
        };
        found.insert(path, what);
    }
    found
}

/// Asserts that each command is refused with its words in one line, and changes nothing in the bench.
pub fn refused<C: AsRef<str>, W: AsRef<str>>(bench: &Bench, cases: impl IntoIterator<Item = (C, W)>) {
    let before = everything(&bench.path(""));
    for (command, told) in cases {
        contains(&bench.refused(&words(command.as_ref())), &[told.as_ref()]);
        assert_eq!(everything(&bench.path("")), before, "{}", command.as_ref());
    }
}

pub fn start(bench: &Bench, args: &[&str]) -> Child {
    let program = assert_cmd::cargo::cargo_bin("burn-rank");
    let mut command = Command::new(program);
    command
        .current_dir(bench.path(""))
        .env_remove("BURN_DEVICE")
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
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

pub fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The commands that make a run, in each way to use a folder.
const RUNS: [&str; 6] = [
    "train train.toml",
    "train train.toml --resume",
    "train train.toml --overwrite",
    "cv cv.toml",
    "cv cv.toml --resume",
    "cv cv.toml --overwrite",
];

#[test]
fn a_folder_of_the_users_is_refused_by_every_command() {
    let bench = bench();
    // A lock by itself does not make it ours.
    for (out, lock) in [("mine", "jobs/notes"), ("locked", ".lock")] {
        fs::create_dir_all(bench.path(out).join("jobs")).unwrap();
        bench.write(&format!("{out}/README.md"), "mine\n");
        bench.write(&format!("{out}/config.toml"), &format!("# my notes\n{SMALL}"));
        bench.write(&format!("{out}/{lock}"), "");
        let words = "holds `README.md` and 2 more entries, which burn-rank did not write there; choose a new or empty";
        let others = ["train mine/config.toml", "study position-accuracy --queries 12", "synth --queries 5 --parts 3"];
        let commands = RUNS.iter().chain(&others);
        refused(&bench, commands.map(|command| (format!("{command} --out {out}"), format!("{out}: {words}"))));
    }
    let words = "holds `cv.toml` and 3 more entries, which burn-rank did not write there";
    refused(&bench, RUNS.map(|command| (format!("{command} --out ."), words)));
    // Without --out, another name is chosen.
    fs::create_dir_all(bench.path("runs")).unwrap();
    fs::rename(bench.path("mine"), bench.path("runs/train")).unwrap();
    let before = everything(&bench.path("runs/train"));
    bench.done("train train.toml");
    assert_eq!(everything(&bench.path("runs/train")), before);
    assert!(bench.path("runs/train-2/report.json").exists());
}

#[test]
fn a_folder_of_another_run_or_with_files_of_others_is_refused() {
    let bench = with_runs();
    for (run, commands) in ["train", "cv"].into_iter().zip(RUNS.chunks(3)) {
        // Only the mark tells which run a folder holds.
        let [mark, away] = [format!("{run}/.burn-rank"), "mark".to_string()].map(|name| bench.path(&name));
        fs::rename(&mark, &away).unwrap();
        let words = "entries, which burn-rank did not write there";
        refused(&bench, commands.iter().map(|command| (format!("{command} --out {run}"), words)));
        // The page replaces no file of the user, and a run without a mark can be read.
        let words = "`report.html` may be your own file, since the folder has no mark; name another file";
        refused(&bench, [(format!("report {run}"), format!("{run}: {words}"))]);
        fs::remove_file(bench.path(run).join("report.html")).unwrap();
        bench.done(&format!("report {run}"));
        fs::rename(&away, &mark).unwrap();
    }
    let mark = bench.text("train/.burn-rank");
    for (text, words) in [
        ("mine".to_string(), "is not a file of burn-rank"),
        (mark.replace("\"format\": 2", "\"format\": 3"), "was written by a newer version of burn-rank"),
        (mark.replace("\"format\": 2", "\"format\": 1"), "was written by an older version of burn-rank"),
        (mark.replace("\"finished\"", "\"fin\""), "is damaged"),
    ] {
        bench.write("train/.burn-rank", &text);
        let words = format!("train: `.burn-rank` {words}; choose another folder with --out");
        refused(&bench, RUNS[..3].iter().map(|command| (format!("{command} --out train"), &words)));
    }
    bench.write("train/.burn-rank", &mark);
    fs::create_dir(bench.path("empty")).unwrap();
    refused(
        &bench,
        [
            ("study position-accuracy --queries 12 --out train", "train: holds a run of another command (`train`)"),
            (
                "devices compare train.toml --devices flex --seeds 2 --out train",
                "train: holds a run of another command (`train`)",
            ),
            ("train train.toml --out typo --resume", "typo: nothing to resume"),
            ("train train.toml --out empty --resume", "empty: nothing to resume"),
            ("train train.toml --resume", "runs/train: nothing to resume"),
        ],
    );
    // An unfinished run, and files of the user in it.
    fs::remove_file(bench.path("train/report.json")).unwrap();
    refused(&bench, [("train train.toml --out train", "train: holds an unfinished run: --resume continues it")]);
    for name in ["ranker.safetensors", "run.json", "report.html"] {
        fs::remove_file(bench.path("train").join(name)).unwrap();
    }
    bench.write("train/README.md", "# Mine\n");
    let words = "train: `README.md` does not belong to the unfinished run here; move it elsewhere";
    refused(&bench, [("train train.toml --out train --resume", words)]);
    fs::remove_file(bench.path("train/README.md")).unwrap();
    bench.write("train/report.json.77.partial", "mine\n");
    bench.write("train/report.json.burn-rank-0123456789abcdef.partial", "half");
    bench.done("train train.toml --out train --resume");
    assert!(bench.path("train/report.json.77.partial").exists());
    assert!(!bench.path("train/report.json.burn-rank-0123456789abcdef.partial").exists());
}

#[cfg(unix)]
#[test]
fn nothing_is_written_or_removed_through_a_link() {
    use std::os::unix::fs::symlink;
    let bench = with_runs();
    fs::create_dir(bench.path("outside")).unwrap();
    let job = format!("cv/jobs/{}", files(&bench.path("cv/jobs"))[0]);
    let within = format!("{job}/state.json");
    for path in ["train/config.toml", "train/report.html", "train/.lock", "train/.burn-rank", "cv/jobs", &job, &within]
    {
        let outside = bench.path("outside/moved");
        fs::rename(bench.path(path), &outside).unwrap();
        symlink(&outside, bench.path(path)).unwrap();
        let (run, entry) = path.split_once('/').unwrap();
        let commands = ["", "--resume"].map(|way| format!("{run} {run}.toml --out {run} {way}"));
        refused(&bench, commands.map(|command| (command, format!("{run}: `{entry}` is "))));
        fs::remove_file(bench.path(path)).unwrap();
        fs::rename(&outside, bench.path(path)).unwrap();
    }
    // A folder with a link in it stays whole when the run is replaced.
    fs::rename(bench.path("train/report.html"), bench.path("outside/page.html")).unwrap();
    symlink(bench.path("outside/page.html"), bench.path("train/report.html")).unwrap();
    bench.done("train train.toml --out train --overwrite");
    assert!(bench.path("train.old-1/report.html").is_symlink() && bench.path("outside/page.html").exists());
    // A folder behind a link is judged by what it holds.
    fs::rename(bench.path("train"), bench.path("outside/run")).unwrap();
    symlink(bench.path("outside/run"), bench.path("train")).unwrap();
    let before = bench.read("train/report.json");
    bench.done("train train.toml --out train --overwrite --set seed=2");
    assert!(before != bench.read("outside/run/report.json") && bench.path("train").is_symlink());
    symlink(bench.path("outside"), bench.path("to-mine")).unwrap();
    symlink(bench.path("nowhere"), bench.path("to-nowhere")).unwrap();
    let words = "to-mine: holds `page.html` and 1 more entry, which burn-rank did";
    refused(&bench, RUNS[..3].iter().map(|command| (format!("{command} --out to-mine"), words)));
    let words = "to-nowhere: is a link to a folder that does not exist; make it, or choose another";
    refused(&bench, ["", "--overwrite"].map(|way| (format!("cv cv.toml --out to-nowhere {way}"), words)));
}

#[test]
fn synth_parts_are_replaced_together() {
    let bench = Bench::default();
    let synth = |seed: usize, queries: usize| format!("synth --seed {seed} --queries {queries} --parts 3 --out data");
    bench.done(&synth(1, 9));
    bench.write("data/notes.txt", "mine\n");
    let before = everything(&bench.path("data"));
    // Long enough to be met on the way, and killed while it writes the second part.
    let child = start(&bench, &words(&synth(2, 1500)));
    wait_until(|| files(&bench.path("data")).iter().any(|name| name.starts_with("S2.txt.burn-rank-")));
    kill(child);
    let names = ["data/S1.txt", "data/S2.txt", "data/S3.txt", "data/notes.txt"];
    let there = names.map(|name| bench.read(name));
    bench.done(&synth(1, 9));
    assert!(everything(&bench.path("data")) == before && there == names.map(|name| bench.read(name)));
    bench.done(&synth(2, 12));
    assert!(names.map(|name| bench.read(name)) != there);
    // Files of a set with more parts would be read together with fewer new parts.
    bench.done("synth --queries 9 --parts 4 --out four");
    let more = "four/S4.txt: found a part beyond --parts 3, expected none, since `cv` would read it";
    refused(
        &bench,
        [
            ("synth --queries 9 --parts 3 --out four", more),
            ("study position-accuracy --queries 12 --out data", "of another command"),
        ],
    );
}

#[test]
fn a_study_and_a_folder_of_the_shell_are_replaced_only_as_asked() {
    let bench = bench();
    let study = "study position-accuracy --queries 12 --out study";
    let told = bench.done(study);
    assert!(told.ends_with("written to study, open study/study.html\n"), "{told}");
    let before = everything(&bench.path("study"));
    bench.done(study);
    assert_eq!(everything(&bench.path("study")), before);
    let words = "study: holds a run of another configuration; choose another folder with --out, or --overwrite it";
    refused(&bench, [(format!("{study} --seed 2"), words)]);
    bench.done(&format!("{study} --seed 2 --overwrite"));
    assert_ne!(everything(&bench.path("study")), before);
    assert_eq!(files(&bench.path("")), ["cv.toml", "study", "train.toml"]);
    fs::create_dir(bench.path("empty")).unwrap();
    let run = |line: &str| bench.command(&super::words(line)).current_dir(bench.path("empty")).assert();
    run("train ../train.toml --out .").success();
    run("train config.toml --out .").success();
    let told = run("train config.toml --set seed=2 --out . --overwrite").code(2);
    let told = String::from_utf8(told.get_output().stderr.clone()).unwrap();
    contains(&told, &["is the current folder, or holds it", "run the command from another folder"]);
}

#[test]
fn simultaneous_runs_do_not_share_a_folder() {
    let bench = bench();
    for round in 0..2 {
        let line = format!("train train.toml --out run{round}");
        let ended = [(); 4].map(|()| start(&bench, &words(&line))).map(|run| run.wait_with_output().unwrap());
        assert!(ended.iter().any(|run| run.status.success()), "{ended:?}");
        for run in ended.iter().filter(|run| !run.status.success()) {
            let message = String::from_utf8_lossy(&run.stderr);
            assert_eq!(run.status.code(), Some(2), "{message}");
            contains(&message, &[&format!("run{round}: another run is writing into this folder")]);
        }
        assert!(bench.done(&line).contains("nothing was trained again"));
    }
    // Different runs without --out get different folders.
    let runs = ["seed=1", "seed=2", "seed=3"].map(|seed| start(&bench, &["train", "train.toml", "--set", seed]));
    assert!(runs.map(|run| run.wait_with_output().unwrap()).iter().all(|run| run.status.success()));
    assert_eq!(files(&bench.path("runs")), ["train", "train-2", "train-3"]);
}

#[test]
fn an_output_replaces_no_other_file_of_a_run_and_not_its_own_input() {
    let bench = bench();
    bench.done("train train.toml --out run");
    bench.done("report run");
    bench.done("report run --out run/report.html");
    let files = ["report.json", "run.json", "config.toml", "README.md", "ranker.safetensors", "state.json"];
    let of_page = |name| {
        let words = "expected a different file: this one is a file of the run";
        (format!("report run --out run/{name}"), format!("--out run/{name}: {words}"))
    };
    refused(&bench, files.map(of_page));
    bench.done("synth --queries 4 --features 10 --out data.txt");
    fs::copy(bench.path("run/ranker.safetensors"), bench.path("ranker.txt")).unwrap();
    let same = ["data.txt", "./data.txt", "run/ranker.safetensors"].map(|out| {
        let words = format!("{out}: expected a different file: this one is read");
        let qrels = format!("predict run data.txt --run-id a --qrels {out} --out scores");
        let out = format!("predict run data.txt --out {out}");
        [(out, format!("--out {words}")), (qrels, format!("--qrels {words}"))]
    });
    refused(&bench, same.concat());
    let two = "predict run data.txt --run-id a --out new --qrels new";
    let convert = ("convert ranker.txt ranker.txt", "ranker.txt: expected a different file: this one is the ranker");
    refused(&bench, [(two, "--qrels new: expected a different file from --out"), convert]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(bench.path("data.txt"), bench.path("link")).unwrap();
        refused(&bench, [("predict run data.txt --out link", "--out link: expected a different file: this one")]);
    }
    // Any other file of that name is replaced, as before.
    bench.write("scores", "old");
    bench.done("predict run data.txt --out scores");
    assert_ne!(bench.text("scores"), "old");
}
