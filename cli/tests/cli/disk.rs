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
