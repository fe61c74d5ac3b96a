//! Disks that are full or read-only give an error, and nothing is lost.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::{Bench, SMALL, files};

/// A file system in memory, of its own size.
struct Disk(PathBuf);

impl Disk {
    fn mount(bench: &Bench, size: &str) -> Result<Self, String> {
        let path = bench.path("disk");
        fs::create_dir(&path).unwrap();
        let options = format!("size={size}");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "none"]).arg(&path).output();
        if mount.is_ok_and(|output| output.status.success()) {
            return Ok(Self(path));
        }
        Err("no right to mount a file system of its own size".into())
    }

    fn make_read_only(&self) {
        assert!(Command::new("mount").args(["-o", "remount,ro"]).arg(&self.0).status().unwrap().success());
    }

    /// Leaves no byte free, and returns the path of the file that takes the room.
    fn fill(&self) -> PathBuf {
        let path = self.0.join("filler");
        let mut file = fs::File::create(&path).unwrap();
        while file.write_all(&[0; 512]).is_ok() {}
        path
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// Returns whether a file system may be mounted here, which needs root.
pub fn mounts() -> Result<(), String> {
    Disk::mount(&Bench::default(), "64k").map(drop)
}

fn trained(bench: &Bench) {
    bench.write("small.toml", SMALL);
    bench.done("train small.toml --out run");
    bench.done("synth --queries 4 --features 10 --out data.txt");
}

/// Returns each command that writes a file, with the name of its file in `disk`.
fn writers() -> [(&'static str, Vec<&'static str>); 3] {
    [
        ("data.txt", vec!["synth", "--queries", "50", "--out", "disk/data.txt"]),
        ("scores.txt", vec!["predict", "run/ranker.safetensors", "data.txt", "--out", "disk/scores.txt"]),
        ("ranker.onnx", vec!["convert", "run/ranker.safetensors", "disk/ranker.onnx"]),
    ]
}

/// Asserts that the file that each command would overwrite keeps its bytes, and that no temporary file is left.
fn nothing_is_lost(bench: &Bench, disk: &Path, code: i32, words: &str) {
    let before = files(disk);
    for (name, args) in writers() {
        let output = bench.run(&args).code(code).get_output().stderr.clone();
        let message = String::from_utf8(output).unwrap();
        assert!(message.contains(&format!("{name}: cannot write: {words}")), "{message}");
        assert_eq!(fs::read_to_string(disk.join(name)).unwrap(), "precious", "{name}");
    }
    assert_eq!(files(disk), before);
}

pub fn a_full_disk_keeps_what_it_has() {
    let bench = Bench::default();
    let disk = Disk::mount(&bench, "64k").unwrap();
    trained(&bench);
    for (name, _) in writers() {
        fs::write(disk.0.join(name), "precious").unwrap();
    }
    disk.fill();
    nothing_is_lost(&bench, &disk.0, 1, "No space left");
}

pub fn a_read_only_disk_keeps_what_it_has() {
    let bench = Bench::default();
    let disk = Disk::mount(&bench, "1m").unwrap();
    trained(&bench);
    for (name, _) in writers() {
        fs::write(disk.0.join(name), "precious").unwrap();
    }
    disk.make_read_only();
    nothing_is_lost(&bench, &disk.0, 2, "Read-only file system");
    for command in ["train", "cv"] {
        let message = bench.refused(&[command, "small.toml", "--out", "disk/run"]);
        assert!(message.contains("disk/run") && message.contains("cannot write"), "{message}");
    }
}

/// `clicks` and `predict --qrels` write two files, both or neither.
pub fn files_that_belong_together_stay_together_on_a_full_disk() {
    let bench = Bench::default();
    let disk = Disk::mount(&bench, "300k").unwrap();
    trained(&bench);
    for (queries, name) in [("4", "few.txt"), ("200", "many.txt")] {
        let short = ["--median-length", "10", "--max-length", "20", "--features", "10"];
        bench.output(&[&["synth", "--queries", queries, "--out", name][..], &short].concat());
    }
    let clicks = |data: &'static str| vec!["clicks", "run", data, "--sessions", "1", "--out", "disk/clicks"];
    let run = |data: &'static str| {
        vec!["predict", "run", data, "--run-id", "t", "--out", "disk/run.txt", "--qrels", "disk/qrels.txt"]
    };
    let bytes = |names: &[&str]| names.iter().map(|name| fs::read(disk.0.join(name)).unwrap()).collect::<Vec<_>>();
    for (few, many, names) in [
        (clicks("few.txt"), clicks("many.txt"), &["clicks", "clicks.weight"][..]),
        (run("few.txt"), run("many.txt"), &["qrels.txt", "run.txt"]),
    ] {
        bench.output(&few);
        let before = (bytes(names), files(&disk.0));
        // The first of the two files has room, both have none.
        let filler = disk.fill();
        let taken = fs::metadata(&filler).unwrap().len();
        fs::File::options().write(true).open(&filler).unwrap().set_len(taken - (40 << 10)).unwrap();
        let output = bench.run(&many).code(1).get_output().stderr.clone();
        let message = String::from_utf8(output).unwrap();
        assert!(message.contains(": cannot write: No space left on device"), "{message}");
        fs::remove_file(filler).unwrap();
        assert!((bytes(names), files(&disk.0)) == before, "{names:?}");
    }
}

/// A run is made in an empty mount point, but no other folder can take its name.
pub fn a_mount_point_is_written_to_and_not_replaced() {
    let bench = Bench::default();
    let disk = Disk::mount(&bench, "1m").unwrap();
    bench.write("run.toml", SMALL);
    bench.done("train run.toml --out disk");
    let before = files(&disk.0).iter().map(|name| fs::read(disk.0.join(name)).unwrap()).collect::<Vec<_>>();
    let other = ["train", "run.toml", "--set", "seed=2", "--overwrite", "--out"];
    let message = bench.refused(&[&other[..], &["disk"]].concat());
    let words = "disk: is a mount point, which no other folder can replace; choose a folder in it (--out disk/NAME) or";
    assert!(message.contains(words), "{message}");
    let after = files(&disk.0).iter().map(|name| fs::read(disk.0.join(name)).unwrap()).collect::<Vec<_>>();
    assert!(before == after && !bench.path("disk.new-1").exists());
    for _ in 0..2 {
        bench.output(&[&other[..], &["disk/NAME"]].concat());
    }
}

/// A run that meets a full disk while it is to replace another one leaves that one whole, and comes back as well.
pub fn an_overwriting_run_on_a_full_disk_leaves_the_old_run() {
    const NAMES: [&str; 4] = ["config.toml", "ranker.safetensors", "README.md", "report.json"];
    let mut stopped = 0;
    for room in [0usize, 4, 8, 12, 24, 36, 48, 64] {
        let bench = Bench::default();
        let disk = Disk::mount(&bench, "384k").unwrap();
        bench.write("run.toml", SMALL);
        let new = ["train", "run.toml", "--set", "seed=2", "--out"];
        bench.output(&[&new[..], &["whole"]].concat());
        bench.done("train run.toml --out disk/run");
        let read = |run: &str| NAMES.map(|name| bench.read(&format!("{run}/{name}")));
        let before = read("disk/run");
        let filler = disk.fill();
        let taken = fs::metadata(&filler).unwrap().len();
        fs::File::options().write(true).open(&filler).unwrap().set_len(taken - (room << 10) as u64).unwrap();
        let ended = bench.run(&[&new[..], &["disk/run", "--overwrite"]].concat());
        let output = ended.get_output();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            stopped += 1;
            assert_eq!(output.status.code(), Some(1), "{room} KiB: {message}");
            assert!(message.contains("No space left") && !message.contains("panicked"), "{room} KiB: {message}");
            assert!(read("disk/run") == before, "{room} KiB: the old run has changed");
        }
        fs::remove_file(filler).unwrap();
        let has_begun = output.status.success() || disk.0.join("run.new-1/.burn-rank").exists();
        let how = if has_begun { "--resume" } else { "--overwrite" };
        bench.output(&[&new[..], &["disk/run", how]].concat());
        assert!(read("disk/run")[1..] == read("whole")[1..], "{room} KiB");
        assert_eq!(files(&disk.0.join("run")), files(&bench.path("whole")));
    }
    assert!(stopped > 3, "{stopped} runs met the full disk");
}

/// A run that meets a full disk ends with an error; once there is room again, `--resume` gives the same bytes as an
/// undisturbed run.
pub fn a_run_comes_back_after_a_full_disk() {
    const GRADIENT: &str = "[learner]\nkind = \"gradient\"\nepochs = 4\nbatch_queries = 8\n";
    const TREES: &str = "[learner]\nkind = \"boosted_trees\"\nrounds = 8\n";
    for learner in [GRADIENT, TREES] {
        let config = format!("{}{learner}", SMALL.split("[learner]").next().unwrap());
        let config =
            if learner == TREES { config.replace("[scorer]\nkind = \"mlp\"\nhidden = [8]\n", "") } else { config };
        for room in [0usize, 4, 12, 24] {
            let bench = Bench::default();
            let disk = Disk::mount(&bench, "384k").unwrap();
            bench.write("run.toml", &config);
            let filler = disk.fill();
            let taken = fs::metadata(&filler).unwrap().len();
            fs::File::options().write(true).open(&filler).unwrap().set_len(taken - (room << 10) as u64).unwrap();
            let ended = bench.run(&["train", "run.toml", "--out", "disk/run"]);
            let output = ended.get_output();
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            if !output.status.success() {
                assert_eq!(output.status.code(), Some(1), "{room} KiB: {message}");
                assert!(message.contains("No space left") && !message.contains("panicked"), "{room} KiB: {message}");
                assert!(files(&disk.0.join("run")).iter().all(|name| !name.ends_with(".partial")), "{room} KiB");
            }
            fs::remove_file(filler).unwrap();
            let resume: &[&str] = if disk.0.join("run/.burn-rank").exists() { &["--resume"] } else { &[] };
            bench.output(&[&["train", "run.toml", "--out", "disk/run"], resume].concat());
            bench.done("train run.toml --out whole");
            for name in ["ranker.safetensors", "report.json"] {
                let read = |run: &str| bench.read(&format!("{run}/{name}"));
                assert_eq!(read("disk/run"), read("whole"), "{room} KiB: {name}");
            }
        }
    }
}
