//! Follows a page as a reader does: a block after "File `NAME`:" is written, commands run one after the other in an
//! empty folder, and a block after "It prints:" is the output.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use crate::bench::Bench;

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

/// The service that a page starts in the background, whose process is in this file. A page that is followed to its end
/// has ended its service.
struct Service(PathBuf);

impl Drop for Service {
    fn drop(&mut self) {
        if thread::panicking()
            && let Ok(process) = fs::read_to_string(&self.0)
        {
            drop(Command::new("kill").arg(process.trim()).status());
        }
    }
}

/// Returns the text of a page, with a free port in place of 8321, where the service of a page listens.
fn text(page: &Path) -> String {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    fs::read_to_string(page).unwrap().replace("8321", &port.to_string())
}

/// Runs the commands of a page that stand in blocks of `languages` and that `runs` admits, and returns their number.
pub fn follow(page: &Path, languages: &[&str], runs: impl Fn(&str) -> bool) -> usize {
    let bench = Bench::default();
    let _service = Service(bench.path("service.pid"));
    let program = assert_cmd::cargo::cargo_bin("burn-rank");
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
    // The output that a command printed. Blocks in other languages are run elsewhere.
    let (mut commands, mut printed) = (0, None);
    for block in blocks(&text(page)) {
        if let Some(name) = block.before.strip_prefix("File `").and_then(|rest| rest.strip_suffix("`:")) {
            bench.write(name, &block.text);
        } else if languages.contains(&block.info.as_str()) {
            for line in block.text.lines().filter(|line| runs(line)) {
                let output = Command::new("sh")
                    .args(["-c", line])
                    .current_dir(bench.path(""))
                    .env("PATH", &path)
                    .env_remove("BURN_DEVICE")
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
