//! Outputs that are not regular files, or are full. `cli/tests/needs/disk.rs` tests small and read-only disks.

use std::fs;
use std::process::{Command, Stdio};

use super::Bench;

#[cfg(unix)]
#[test]
fn a_full_standard_output_is_an_error() {
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
fn a_configuration_that_does_not_fit_leaves_no_file() {
    let bench = Bench::default();
    bench.output(&["synth", "--queries", "20", "--out", "data.txt"]);
    let program = assert_cmd::cargo::cargo_bin("burn-rank");
    // No file may grow, and the signal that says so is ignored.
    let line = format!("trap '' XFSZ; ulimit -f 0; {} init data.txt", program.display());
    let full = Command::new("sh").current_dir(bench.path("")).args(["-c", &line]).output().unwrap();
    let message = String::from_utf8(full.stderr).unwrap();
    assert_eq!(full.status.code(), Some(1), "{message}");
    assert!(message.contains("data.toml: cannot write") && !bench.path("data.toml").exists(), "{message}");
    bench.output(&["init", "data.txt"]);
}

#[cfg(unix)]
#[test]
fn a_link_to_a_file_that_is_not_there_is_followed() {
    let bench = Bench::default();
    fs::create_dir_all(bench.path("links")).unwrap();
    fs::create_dir_all(bench.path("store")).unwrap();
    std::os::unix::fs::symlink("../store/data.txt", bench.path("links/data.txt")).unwrap();
    for _ in ["created", "replaced"] {
        bench.output(&["synth", "--queries", "3", "--out", "links/data.txt"]);
        assert!(fs::symlink_metadata(bench.path("links/data.txt")).unwrap().is_symlink());
        assert_eq!(bench.text("store/data.txt"), bench.output(&["synth", "--queries", "3"]));
    }
    assert_eq!((super::files(&bench.path("links")).len(), super::files(&bench.path("store")).len()), (1, 1));
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
