//! Other programs read what `burn-rank` writes for them: shells their completions, groff the manual pages.

use std::process::Command;

use crate::bench::{Bench, files};

/// Returns whether a program is installed.
pub fn installed(program: &str) -> Result<(), String> {
    Command::new(program).arg("--version").output().map(|_| ()).map_err(|_| format!("no {program}"))
}

fn assert_accepts_its_script(shell: &str) {
    let bench = Bench::default();
    let script = bench.write(shell, &bench.output(&["completions", shell]));
    let output = Command::new(shell).arg("-n").arg(script).output().unwrap();
    assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
}

pub fn bash_accepts_its_script() {
    assert_accepts_its_script("bash");
}

pub fn fish_accepts_its_script() {
    assert_accepts_its_script("fish");
}

pub fn zsh_accepts_its_script() {
    assert_accepts_its_script("zsh");
}

/// groff has no warnings, and text that is laid out by hand keeps its lines.
pub fn the_pages_are_valid_troff() {
    let bench = Bench::default();
    bench.done("man --out man");
    for name in files(&bench.path("man")) {
        let page = bench.path("man").join(&name);
        let output = Command::new("groff").args(["-man", "-Tutf8", "-ww", "-rLL=100n"]).arg(page).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.lines().count() > 15, "{name}: {text}");
        if name == "burn-rank-eval.1" {
            let kept = "  eval --scores FILE DATA...   one score per line, in the order of the documents,";
            assert!(text.lines().any(|line| line.trim_end().ends_with(kept)), "{text}");
        }
    }
}
