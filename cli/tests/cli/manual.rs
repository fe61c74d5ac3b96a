//! Completions and manual pages are made from the definitions of the commands, so every command is in them.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use super::{Bench, files};

const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

/// The names under `Commands:` in a help text, without `help`.
fn commands(help: &str) -> Vec<&str> {
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.map(|line| line.split_whitespace().next().unwrap()).filter(|name| *name != "help").collect()
}

#[test]
fn every_command_is_in_every_shells_script() {
    let bench = Bench::default();
    let help = bench.output(&["--help"]);
    let commands = commands(&help);
    assert!(commands.len() >= 15, "{commands:?}");
    for shell in SHELLS {
        let script = bench.output(&["completions", shell]);
        for word in commands.iter().copied().chain(["compare-conventions", "resamples", "show"]) {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let message = bench.refused(&["completions", "cmd"]);
    assert!(message.contains("'cmd'") && message.contains("[possible values: bash, elvish"), "{message}");
}

/// Asks the shell for completions as the Tab key does.
#[test]
fn bash_completes_commands_options_and_values() {
    let bench = Bench::default();
    bench.write("burn-rank.bash", &bench.output(&["completions", "bash"]));
    let offered = |words: &[&str]| {
        let line = words.join(" ");
        let script = format!(
            "source ./burn-rank.bash; found=$(complete -p burn-rank); found=${{found#*-F }}; COMP_WORDS=({line} {empty}); COMP_CWORD={last}; COMP_LINE='{line}'; \
             \"${{found%% *}}\" burn-rank '{word}' '{before}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            empty = if words.last() == Some(&"") { "''" } else { "" },
            last = words.len() - 1,
            word = words[words.len() - 1],
            before = words[words.len() - 2],
        );
        let output = Command::new("bash").args(["-c", &script]).current_dir(bench.path("")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().lines().map(String::from).collect::<BTreeSet<_>>()
    };
    let set = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<BTreeSet<_>>();
    assert_eq!(offered(&["burn-rank", "co"]), set(&["compare", "completions", "convert"]));
    assert_eq!(offered(&["burn-rank", "eval", "--co"]), set(&["--compare-conventions", "--complete", "--convention"]));
    assert_eq!(offered(&["burn-rank", "loss", "--precision", "f"]), set(&["f32", "f64"]));
}

#[test]
fn every_command_has_a_manual_page() {
    let bench = Bench::default();
    let help = bench.output(&["--help"]);
    assert_eq!(bench.output(&["man", "--out", "man/man1"]), "");
    let mut expected = vec!["burn-rank.1".to_string()];
    for name in commands(&help) {
        expected.push(format!("burn-rank-{name}.1"));
        let help = bench.output(&[name, "--help"]);
        if help.contains("Commands:\n") {
            expected.extend(commands(&help).iter().map(|child| format!("burn-rank-{name}-{child}.1")));
        }
    }
    expected.sort();
    assert!(expected.contains(&"burn-rank-models-show.1".to_string()), "{expected:?}");
    assert_eq!(files(&bench.path("man/man1")), expected);

    let page = |name: &str| fs::read_to_string(bench.path("man/man1").join(name)).unwrap();
    for name in &expected {
        let page = page(name);
        let sections = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "\"EXIT STATUS\""];
        let places: Vec<usize> = sections.iter().map(|title| page.find(&format!(".SH {title}\n")).unwrap()).collect();
        assert!(places.is_sorted(), "{name}: {places:?}");
        let title = format!(".TH {} 1  \"burn-rank {}\"", name.trim_end_matches(".1"), env!("CARGO_PKG_VERSION"));
        assert!(page.contains(&title), "{name}: {title}\n{page}");
    }
    assert_eq!(bench.output(&["man"]), page("burn-rank.1"));
    assert_eq!(bench.output(&["man", "models", "show"]), page("burn-rank-models-show.1"));
    let eval = page("burn-rank-eval.1");
    assert!(eval.contains("compare\\-conventions") && eval.contains("How to read the table:"), "{eval}");
}

#[test]
fn an_unknown_page_is_refused_with_the_nearest_name() {
    let bench = Bench::default();
    let message = bench.refused(&["man", "trian"]);
    assert!(
        message.contains("man: found `trian`, expected a command of `burn-rank`: check, init, train, cv,"),
        "{message}"
    );
    assert!(message.ends_with("; did you mean `train`?\n"), "{message}");
    let message = bench.refused(&["man", "train", "now"]);
    assert!(message.contains("found `now`, expected nothing, since `burn-rank train` has no subcommands"), "{message}");
    bench.refused(&["man", "train", "--out", "man"]);
    bench.write("file", "mine");
    let message = bench.refused(&["man", "--out", "file"]);
    assert!(message.contains("file: cannot write: is a file, expected a folder"), "{message}");
    assert_eq!(fs::read_to_string(bench.path("file")).unwrap(), "mine");
    assert_eq!(files(&bench.path("")), ["file"]);
}

/// Both outputs are piped into a pager or a file. A reader that closes early is not an error, but a full disk is.
#[test]
fn a_closed_reader_is_not_an_error_but_a_full_disk_is() {
    let bench = Bench::default();
    let program = assert_cmd::cargo::cargo_bin("burn-rank");
    for args in ["completions zsh", "man"] {
        let shell = |end: &str| {
            let line = format!("set -o pipefail; {} {args} {end}", program.display());
            Command::new("bash").args(["-c", &line]).current_dir(bench.path("")).output().unwrap()
        };
        assert!(shell("| true").status.success(), "{args}");
        if cfg!(target_os = "linux") {
            let output = shell("> /dev/full");
            assert_eq!(output.status.code(), Some(1), "{args}");
            assert!(String::from_utf8_lossy(&output.stderr).contains("No space left"), "{args}");
        }
    }
}
