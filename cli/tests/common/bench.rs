//! Runs the real binary in a folder of its own.

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
    /// Returns the path of a file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file in the folder.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Returns the bytes of a file in the folder.
    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// Returns the text of a file in the folder.
    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs `burn-rank` in the folder.
    pub fn run(&self, args: &[&str]) -> Assert {
        self.command(args).assert()
    }

    /// Prepares `burn-rank` in the folder without running it.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::cargo_bin("burn-rank").unwrap();
        command.current_dir(self.folder.path()).env_remove("BURN_DEVICE").args(args);
        command
    }

    /// Runs `burn-rank`, expects success, and returns standard output.
    pub fn output(&self, args: &[&str]) -> String {
        let output = self.run(args).success().get_output().stdout.clone();
        String::from_utf8(output).unwrap()
    }

    /// Runs `burn-rank` with the words of a line, expects success, and returns standard output.
    pub fn done(&self, line: &str) -> String {
        self.output(&words(line))
    }

    /// Runs `burn-rank`, expects exit code 2, and returns the message.
    pub fn refused(&self, args: &[&str]) -> String {
        let output = self.run(args).code(2).get_output().stderr.clone();
        String::from_utf8(output).unwrap()
    }
}

/// Returns the words of a line.
pub fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
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

/// Returns the names of all files in a folder, sorted, without its lock and its mark.
pub fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| ![".lock", ".burn-rank"].contains(&name.as_str()))
        .collect();
    names.sort();
    names
}

/// Makes a run of `train` in `train` and one of `cv` in `cv`.
pub fn trained_and_cross_validated() -> Bench {
    let bench = Bench::default();
    let linear = SMALL.replace("kind = \"mlp\"\nhidden = [8]", "kind = \"linear\"");
    bench.write("train.toml", &format!("name = \"<script>alert('1')</script>\"\n{linear}"));
    bench.output(&["train", "train.toml", "--out", "train"]);
    let split = linear
        .replace("test_queries = 8", "test_queries = 0")
        .replace("validation_queries = 8", "validation_queries = 0");
    let grid = "[cv]\nsplit = 3\nseeds = [1, 2]\n\n[grid]\n\"learner.learning_rate\" = [0.001, 0.01]\n";
    bench.write("cv.toml", &format!("{split}{grid}"));
    bench.output(&["cv", "cv.toml", "--out", "cv"]);
    bench
}
