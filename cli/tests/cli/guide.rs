//! The pages of `docs` do what they say: a block after "File `NAME`:" is written, commands in `sh` run one after the
//! other in an empty folder, and a block after "It prints:" is the output. Commands in `bash` need something else: a
//! build, a GPU, other data. The Rust blocks are run as the crate's documentation.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::Bench;
use crate::common::root;

/// A fenced block: the last line before it, the word after the fence, and the text.
struct Block {
    before: String,
    info: String,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    let mut before = "";
    for line in page.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(info), None) => {
                open = Some(Block { before: before.into(), info: info.into(), text: String::new() });
                before = "";
            }
            (None, Some(block)) => block.text += &format!("{line}\n"),
            (None, None) if line.is_empty() => {}
            (None, None) => before = line,
        }
    }
    blocks
}

/// Runs the commands of a page, and returns their number.
fn follow(page: &Path) -> usize {
    let bench = Bench::default();
    let program = assert_cmd::cargo::cargo_bin("burn-rank");
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
    // The output that a command printed. Blocks in other languages are run elsewhere.
    let (mut commands, mut printed) = (0, None);
    for block in blocks(&fs::read_to_string(page).unwrap()) {
        if let Some(name) = block.before.strip_prefix("File `").and_then(|rest| rest.strip_suffix("`:")) {
            bench.write(name, &block.text);
        } else if block.info == "sh" {
            // The commands of other programs are named in readme.rs, with the reason.
            for line in block.text.lines().filter(|line| !line.starts_with("java ")) {
                let output = Command::new("sh")
                    .args(["-c", line])
                    .current_dir(bench.path(""))
                    .env("PATH", &path)
                    .output()
                    .unwrap();
                let error = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{}: {line}\n{error}", page.display());
                printed = Some(String::from_utf8(output.stdout).unwrap());
                commands += 1;
            }
        } else if block.before == "It prints:"
            && let Some(printed) = printed.take()
        {
            assert_eq!(printed, block.text, "{}: the output shown", page.display());
        }
    }
    commands
}

#[test]
fn every_command_of_the_guide_runs() {
    let docs = root().join("docs");
    let mut commands = 0;
    for folder in ["start", "tutorials", "how-to", "reference", "explanation"] {
        let files = fs::read_dir(docs.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        commands += files.filter(|path| path.is_file()).map(|path| follow(&path)).sum::<usize>();
    }
    assert!(commands > 15, "{commands} commands");
}

/// The program of docs/tutorials/model.md as a reader pastes it, except that its output is collected.
mod first_model {
    use std::cell::RefCell;

    use crate::common::pages;

    thread_local!(static PRINTED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) });

    macro_rules! println {
        ($($argument:tt)*) => { PRINTED.with_borrow_mut(|lines| lines.push(format!($($argument)*))) };
    }

    include!("first_model/main.rs");

    /// Step and NDCG@10 of each line.
    fn steps<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<(usize, f64)> {
        let step = |line: &'a str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            (words[1].parse().unwrap(), words[3].parse().unwrap())
        };
        lines.map(step).collect()
    }

    #[test]
    fn the_program_of_the_page_on_models_prints_what_it_says() {
        let page = pages::page("docs/tutorials/model.md");
        assert_eq!(pages::blocks(&page, "rust")[0], include_str!("first_model/main.rs"), "the page and the program");
        main().unwrap();
        let printed = PRINTED.take();
        let printed = steps(printed.iter().map(String::as_str));
        let shown = &pages::blocks(&page, "text")[0];
        for (found, said) in printed.iter().zip(steps(shown.lines())) {
            assert!(found.0 == said.0 && (found.1 - said.1).abs() < 0.02, "{printed:?}\n{shown}");
        }
        assert!(printed.len() == 4 && printed[3].1 > 0.8, "{printed:?}");
    }
}
