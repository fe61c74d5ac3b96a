//! Tests of the real binary: what it prints, what files it leaves, and how it ends.

#[path = "../common/bench.rs"]
mod bench;
#[path = "../../../tests/common/mod.rs"]
mod common;
#[path = "../common/follow.rs"]
mod follow;

mod bad_input;
mod causes;
mod cautions;
mod check;
mod clicks;
mod columnar;
mod commands;
mod compare;
mod configs;
mod convert;
mod devices;
mod disk;
mod ensemble;
mod exactness;
mod fits;
mod folders;
mod guide;
mod help;
mod importance;
mod init;
mod kept;
mod manifest;
mod manual;
mod memory;
mod missing;
mod own_tables;
mod pages;
mod parts;
mod positions;
mod proposals;
mod queries;
mod reading;
mod readme;
mod refit;
mod replaced;
mod report;
mod runs;
mod search;
mod streaming;
mod study;
mod suggestions;
mod teacher;
mod trec;
mod trees;
mod weights;

pub use bench::{Bench, SMALL, files, words};

/// Generated queries in `data.txt`, and `grid.toml`, a cross-validation of two points that are fitted in an instant.
fn grid(cv: &str) -> Bench {
    let bench = Bench::default();
    bench.output(&["synth", "--queries", "18", "--features", "5", "--out", "data.txt"]);
    let config = format!(
        r#"
data = {{ train = ["data.txt"] }}
learner = {{ kind = "regression" }}
cv = {cv}
measure = {{ report = ["map"] }}
grid = {{ "learner.lambda" = [[0.01], [100.0]] }}
"#
    );
    bench.write("grid.toml", &config);
    bench
}
