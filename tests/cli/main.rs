//! The real binary: what it prints, what it leaves, how it ends.

#[path = "../common/mod.rs"]
mod common;

mod bad_input;
mod commands;
mod compare;
mod config_reference;
mod configs;
mod convert;
mod disk;
mod exactness;
mod guide;
mod manifest;
mod readme;
mod report;
mod runs;
mod study;
mod trec;

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use tempfile::TempDir;

/// A folder of its own, with the binary at hand.
pub struct Bench {
    folder: TempDir,
}

impl Default for Bench {
    fn default() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }
}

impl Bench {
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Runs `burn-rank` in the folder.
    pub fn run(&self, args: &[&str]) -> Assert {
        self.command(args).assert()
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::cargo_bin("burn-rank").unwrap();
        command.current_dir(self.folder.path()).args(args);
        command
    }

    /// Runs, expects success, gives standard output.
    pub fn output(&self, args: &[&str]) -> String {
        let output = self.run(args).success().get_output().stdout.clone();
        String::from_utf8(output).unwrap()
    }

    /// Runs, expects exit code 2, gives the message.
    pub fn refused(&self, args: &[&str]) -> String {
        let output = self.run(args).code(2).get_output().stderr.clone();
        String::from_utf8(output).unwrap()
    }
}

/// A configuration that trains in a second.
pub const SMALL: &str = r#"
[data.synthetic]
train_queries = 20
validation_queries = 8
test_queries = 8
features = 10

[scorer]
kind = "mlp"
hidden = [8]

[loss]
name = "approx_ndcg"

[learner]
kind = "gradient"
epochs = 3
batch_queries = 8
"#;

/// Every file below a folder, sorted, without the lock.
pub fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != ".lock")
        .collect();
    names.sort();
    names
}
