//! Output as a person at a terminal sees it.

use std::process::{Command, Stdio};

use crate::common::bench::{Bench, SMALL};

/// Returns whether util-linux's `script` is there to provide a terminal.
pub fn lent() -> Result<(), String> {
    let found = Command::new("script").arg("--version").output();
    let lends = found.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("util-linux"));
    if lends { Ok(()) } else { Err("no `script` of util-linux".into()) }
}

pub fn a_terminal_gets_the_dashboard_and_the_table() {
    let bench = Bench::default();
    bench.write("small.toml", SMALL);
    let program = assert_cmd::cargo::cargo_bin("burn-rank");
    let line = format!("stty rows 24 cols 80; '{}' train small.toml", program.display());
    let mut script = Command::new("script");
    script.current_dir(bench.path("")).args(["-qec", &line, "/dev/null"]).stdin(Stdio::null()).env("TERM", "xterm");
    let output = script.output().unwrap();
    let screen = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{screen}");
    let [drawn, left] = ["\u{1b}[?1049h", "\u{1b}[?1049l"].map(|code| screen.find(code));
    assert!(drawn.is_some() && left > drawn, "the dashboard takes the alternate screen and gives it back:\n{screen}");
    assert!(screen[left.unwrap()..].contains("ndcg@10"), "the table follows it:\n{screen}");
}
