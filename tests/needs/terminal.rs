//! Output as a person at a terminal sees it.

use std::process::{Command, Stdio};

use crate::common::bench::{Bench, SMALL};

/// Returns whether util-linux's `script` is there to provide a terminal.
pub fn lent() -> Result<(), String> {
    let found = Command::new("script").arg("--version").output();
    let lends = found.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("util-linux"));
    if lends { Ok(()) } else { Err("no `script` of util-linux".into()) }
}

/// What a terminal of 80 columns gets from `burn-rank` with these arguments.
fn screen(arguments: &str, variables: &[(&str, &str)]) -> String {
    let bench = Bench::default();
    bench.write("small.toml", SMALL);
    let program = assert_cmd::cargo::cargo_bin("burn-rank");
    let line = format!("stty rows 24 cols 80; '{}' {arguments}", program.display());
    let mut script = Command::new("script");
    script.current_dir(bench.path("")).args(["-qec", &line, "/dev/null"]).stdin(Stdio::null()).env("TERM", "xterm");
    script.env_remove("NO_COLOR").envs(variables.iter().copied());
    let output = script.output().unwrap();
    let screen = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{screen}");
    screen
}

/// A fit of more than the tenth of a second after which the dashboard draws for the first time.
const LONG_ENOUGH: &str = "train small.toml --dashboard --set learner.epochs=100";

/// Whether text chooses a color: SGR 30 to 49 or 90 to 107 other than the defaults 39 and 49.
fn has_color(screen: &str) -> bool {
    screen.split("\u{1b}[").skip(1).any(|rest| {
        let Some((codes, _)) =
            rest.split_once('m').filter(|(codes, _)| codes.chars().all(|c| ";0123456789".contains(c)))
        else {
            return false;
        };
        let chosen = |code: &str| code.parse().is_ok_and(|n| matches!(n, 30..=38 | 40..=48 | 90..=107));
        codes.split(';').any(chosen)
    })
}

pub fn a_terminal_gets_the_dashboard_and_the_table() {
    let screen = screen(LONG_ENOUGH, &[]);
    let [drawn, left] = ["\u{1b}[?1049h", "\u{1b}[?1049l"].map(|code| screen.find(code));
    assert!(drawn.is_some() && left > drawn, "the dashboard takes the alternate screen and gives it back:\n{screen}");
    assert!(screen[left.unwrap()..].contains("ndcg@10"), "the table follows it:\n{screen}");
    assert!(has_color(&screen), "{screen}");
}

pub fn without_color_nothing_is_colored() {
    assert!(!has_color(&screen(LONG_ENOUGH, &[("NO_COLOR", "1")])));
    assert!(!has_color(&screen("train small.toml", &[("NO_COLOR", "1")])));
}

/// The lines that a bar drew, one over the other.
fn drawn(screen: &str) -> Vec<&str> {
    screen.split(['\r', '\n']).map(|line| line.trim_start_matches("\u{1b}[2K").trim_end()).collect()
}

pub fn progress_fits_80_columns_with_measure_surrogate_and_time_left() {
    for arguments in [
        "train small.toml",
        "cv small.toml --set cv.split=3 --set data.synthetic.validation_queries=0 --set data.synthetic.test_queries=0",
    ] {
        let screen = screen(arguments, &[]);
        let lines = drawn(&screen);
        // The sentence above a table may wrap, a bar may not.
        let wide = lines.iter().find(|line| line.contains(" left") && line.chars().count() > 80);
        assert!(wide.is_none(), "{arguments}: {wide:?}");
        let told = |line: &&&str| ["left", "ndcg@10 0.", "surrogate 0."].iter().all(|word| line.contains(word));
        assert!(lines.iter().any(|line| told(&line)), "{arguments}:\n{screen}");
    }
}

pub fn quiet_is_quiet_on_a_terminal() {
    assert_eq!(screen("train small.toml --quiet --out run", &[]).trim(), "");
}
