//! Disks that are full or read-only, and outputs that are no files: an error, and nothing lost.
//!
//! A small disk needs root and `mount`; without them the tests say so and pass.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Bench, SMALL, files};

/// A file system in memory, of its own size.
struct Disk(PathBuf);

impl Disk {
    fn mount(bench: &Bench, size: &str) -> Option<Self> {
        let path = bench.path("disk");
        fs::create_dir(&path).unwrap();
        let options = format!("size={size}");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "none"]).arg(&path).output();
        if mount.is_ok_and(|output| output.status.success()) {
            return Some(Self(path));
        }
        eprintln!("skipped: a disk of its own size needs root and mount");
        None
    }

    fn make_read_only(&self) {
        assert!(Command::new("mount").args(["-o", "remount,ro"]).arg(&self.0).status().unwrap().success());
    }

    /// Leaves no byte free; the name of the file that takes the room.
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

fn trained(bench: &Bench) {
    bench.write("small.toml", SMALL);
    bench.output(&["train", "small.toml", "--out", "run"]);
    bench.output(&["synth", "--queries", "4", "--features", "10", "--out", "data.txt"]);
}

/// Each command that writes a file, writing `disk/OUT`.
fn writers() -> [(&'static str, Vec<&'static str>); 3] {
    [
        ("data.txt", vec!["synth", "--queries", "50", "--out", "disk/data.txt"]),
        ("scores.txt", vec!["predict", "run/ranker.safetensors", "data.txt", "--out", "disk/scores.txt"]),
        ("ranker.onnx", vec!["convert", "run/ranker.safetensors", "disk/ranker.onnx"]),
    ]
}

/// What each command overwrites keeps its bytes, and no temporary file stays.
fn nothing_is_lost(bench: &Bench, disk: &Path, code: i32, words: &str) {
    let before = files(disk);
    for (name, args) in writers() {
        let output = bench.run(&args).code(code).get_output().stderr.clone();
        let message = String::from_utf8(output).unwrap();
        assert!(message.contains(name) && message.contains(words), "{message}");
        assert_eq!(fs::read_to_string(disk.join(name)).unwrap(), "precious", "{name}");
    }
    assert_eq!(files(disk), before);
}

#[test]
fn a_full_disk_keeps_what_it_has() {
    let bench = Bench::default();
    let Some(disk) = Disk::mount(&bench, "64k") else { return };
    trained(&bench);
    for (name, _) in writers() {
        fs::write(disk.0.join(name), "precious").unwrap();
    }
    disk.fill();
    nothing_is_lost(&bench, &disk.0, 1, "No space left");
}

#[test]
fn a_read_only_disk_keeps_what_it_has() {
    let bench = Bench::default();
    let Some(disk) = Disk::mount(&bench, "1m") else { return };
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

/// A run that meets a full disk ends with an error; with room again, `--resume` gives the bytes of a run that met none.
#[test]
fn a_run_comes_back_after_a_full_disk() {
    const GRADIENT: &str = "[learner]\nkind = \"gradient\"\nepochs = 4\nbatch_queries = 8\n";
    const TREES: &str = "[learner]\nkind = \"boosted_trees\"\nrounds = 8\n";
    for learner in [GRADIENT, TREES] {
        let config = format!("{}{learner}", SMALL.split("[learner]").next().unwrap());
        let config =
            if learner == TREES { config.replace("[scorer]\nkind = \"mlp\"\nhidden = [8]\n", "") } else { config };
        for room in [0usize, 4, 12, 24] {
            let bench = Bench::default();
            let Some(disk) = Disk::mount(&bench, "96k") else { return };
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
            bench.output(&["train", "run.toml", "--out", "disk/run", "--resume"]);
            bench.output(&["train", "run.toml", "--out", "whole"]);
            for name in ["ranker.safetensors", "report.json"] {
                let read = |run: &str| fs::read(bench.path(run).join(name)).unwrap();
                assert_eq!(read("disk/run"), read("whole"), "{room} KiB: {name}");
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn standard_output_that_is_full_is_an_error() {
    let bench = Bench::default();
    let full = || Stdio::from(fs::File::options().write(true).open("/dev/full").unwrap());
    for args in [&["models"][..], &["synth", "--queries", "50"]] {
        let program = assert_cmd::cargo::cargo_bin("burn-rank");
        let child = Command::new(program).current_dir(bench.path("")).args(args).stdout(full()).output().unwrap();
        let message = String::from_utf8(child.stderr).unwrap();
        assert_eq!(child.status.code(), Some(1), "{message}");
        assert!(message.contains("No space left") && message.lines().count() == 1, "{message}");
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_is_written_to_and_stays_a_pipe() {
    use std::os::unix::fs::FileTypeExt;
    let bench = Bench::default();
    let pipe = bench.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read(pipe).unwrap()
    });
    bench.output(&["synth", "--queries", "3", "--out", "pipe"]);
    let direct = bench.output(&["synth", "--queries", "3"]);
    assert_eq!(reader.join().unwrap(), direct.into_bytes());
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
}
