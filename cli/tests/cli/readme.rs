//! The pages outside the guide do what they say: every command in README.md runs, and prints what
//! the page says. A line that is not run is named here, with the reason. The Python blocks of docs/how-to/export.md are
//! run by `cli/tests/needs/export_page.rs`.

use std::fs;
use std::process::Command;

use super::Bench;
use super::common::pages::{blocks, page};

/// Lines of `sh` blocks that no test runs, and why.
const LEFT_OUT: [(&str, &str, &str); 3] = [
    ("README.md", "git clone <URL> burn-rank && cd burn-rank", "the repository has no address yet"),
    ("README.md", "cargo install --locked --path cli", "builds the whole crate again"),
    (
        "docs/how-to/export.md",
        "java -jar RankLib.jar -load ranker.txt -rank test.txt -score scores.txt",
        "RankLib comes with its own releases; .ci/ranklib runs it",
    ),
];

/// Returns the lines of a page's `sh` blocks that are our commands; all others must be listed in `LEFT_OUT`.
fn commands(name: &str) -> Vec<String> {
    let text = page(name);
    let lines: Vec<String> = blocks(&text, "sh").iter().flat_map(|block| block.lines()).map(String::from).collect();
    let mut left_out: Vec<&str> =
        LEFT_OUT.iter().filter(|(page, ..)| *page == name).map(|(_, line, _)| *line).collect();
    let mut ours = Vec::new();
    for line in lines {
        let command = line.strip_prefix("cargo run --release -- ").map(|rest| format!("burn-rank {rest}"));
        match command.or_else(|| line.starts_with("burn-rank ").then(|| line.clone())) {
            Some(command) => ours.push(command),
            None => {
                let known = left_out.iter().position(|known| *known == line);
                let known =
                    known.unwrap_or_else(|| panic!("{name}: no test runs `{line}`: run it, or say here why not"));
                left_out.remove(known);
            }
        }
    }
    assert!(left_out.is_empty(), "{name} no longer has {left_out:?}");
    ours
}

/// A folder with the configuration that a clone has.
fn as_in_a_clone() -> Bench {
    let bench = Bench::default();
    fs::create_dir(bench.path("configs")).unwrap();
    bench.write("configs/quickstart.toml", &page("configs/quickstart.toml"));
    bench
}

#[test]
fn every_command_of_the_readme_runs() {
    let bench = as_in_a_clone();
    let program = assert_cmd::cargo::cargo_bin("burn-rank");
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
    let commands = commands("README.md");
    assert!(commands.len() >= 5, "{commands:?}");
    for line in commands {
        // Fewer queries, for time.
        let line = line.replace("--queries 100", "--queries 30");
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).current_dir(bench.path("")).env("PATH", &path).env_remove("BURN_DEVICE");
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{line}\n{}", String::from_utf8_lossy(&output.stderr));
    }
    for file in ["folds/report.html", "ranker.onnx", "runs/quickstart/ranker.safetensors"] {
        assert!(bench.path(file).exists(), "{file}");
    }
}

/// Words are the same, and numbers near: another processor rounds differently, and so trains a slightly other ranker.
/// Over 24 seeds no number deviates by more than .017, and none of README.md is further than .013 from its mean.
fn reads_as(printed: &str, shown: &str) -> bool {
    let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
    let number = |word: &str| word.parse::<f64>().ok();
    let near = |(a, b): (&String, &String)| match (number(a), number(b)) {
        (Some(a), Some(b)) => (a - b).abs() < 0.07 * a.abs().max(1.0),
        _ => a == b,
    };
    let (printed, shown) = (words(printed), words(shown));
    printed.len() == shown.len() && printed.iter().zip(&shown).all(near)
}

#[test]
fn the_first_command_prints_what_the_readme_shows() {
    let bench = as_in_a_clone();
    let printed = bench.output(&["train", "configs/quickstart.toml"]);
    let shown = &blocks(&page("README.md"), "text")[0];
    // The first line has the time, and the epoch that was selected.
    let (first, table) = shown.split_once('\n').unwrap();
    assert!(first.starts_with("quickstart: round ") && first.ends_with(" s"), "{first}");
    let printed = printed.split_once('\n').unwrap().1;
    assert!(reads_as(printed, table), "printed:\n{printed}\nREADME.md:\n{table}");
}

#[test]
fn the_readme_counts_the_losses() {
    let losses = Bench::default().output(&["models", "--losses", "--json"]).lines().count();
    assert!(page("README.md").contains(&format!("**{losses} ranking losses")), "{losses} losses");
}

#[test]
fn the_page_on_exports_has_no_command_of_ours() {
    assert_eq!(commands("docs/how-to/export.md"), [""; 0]);
}

#[test]
fn the_readme_is_short_and_shows_first_what_it_is() {
    let text = page("README.md");
    assert!(text.lines().count() <= 120, "{} lines", text.lines().count());
    let place = |start: &str| text.lines().position(|line| line.starts_with(start)).unwrap_or(usize::MAX);
    let parts = [
        "> **Status",
        "burn-rank init",
        "![",
        "**Accuracy.**",
        "**When not to use it.**",
        "cargo install",
        "burn-rank train",
        "| I want to",
    ];
    let places: Vec<usize> = parts.iter().map(|part| place(part)).collect();
    assert!(places.is_sorted() && places[parts.len() - 1] < 80, "{places:?}");
}

/// cron gives a command the home of its user and a short search path.
#[cfg(unix)]
#[test]
fn cron_finds_the_command_where_cargo_installs_it() {
    let bench = Bench::default();
    let page = page("docs/how-to/nightly.md");
    let line = page.lines().find_map(|line| line.strip_prefix("0 2 * * * ")).unwrap();
    let line = line.replace("\\%", "%").replace("/srv/ranker", bench.path("").to_str().unwrap());
    bench.write("nightly.sh", "echo \"$PATH for $1\"\n");
    let mut cron = Command::new("/bin/sh");
    cron.args(["-c", &line]).env_clear().envs([("HOME", "/home/user"), ("PATH", "/usr/bin:/bin")]);
    assert!(cron.status().unwrap().success(), "{line}");
    let found = bench.text("nightly.log");
    assert!(found.starts_with("/home/user/.cargo/bin:/usr/bin:/bin for "), "{found}");
}
