//! The same configuration and seed give the same bytes on the CPU: on one and on two threads, and after a run was
//! killed at random moments and resumed. The latter is tested for every learner and for cross-validation, with twenty
//! kills in all.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use burn_rank::workbench::registry::LEARNERS;
use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::Bench;
use super::folders::start;

const DATA: &str = r#"
[data.synthetic]
train_queries = 60
validation_queries = 10
test_queries = 10
features = 10
"#;

/// Files of a training run that must not differ.
const RESULTS: [&str; 2] = ["ranker.safetensors", "report.json"];

/// Returns a configuration that keeps the learner busy for about a second. A learner without one of its own has its
/// defaults here, and a loss and few rounds where it takes them.
fn learner(kind: &str) -> String {
    let own = match kind {
        "gradient" => {
            "[scorer]\nkind = \"mlp\"\nhidden = [16]\ndropout = 0.1\n[loss]\nname = \"approx_ndcg\"\n\
             [learner]\nkind = \"gradient\"\nepochs = 12\nwarmup = 3\naverage = 0.9\n"
        }
        "boosted_trees" => {
            "[loss]\nname = \"lambda_ndcg\"\n[learner]\nkind = \"boosted_trees\"\nrounds = 30\nsubsample = 0.5\n"
        }
        "ada_rank" => "[learner]\nkind = \"ada_rank\"\nrounds = 60\n",
        "rank_svm" => "[learner]\nkind = \"rank_svm\"\nc = [1e-4, 1e-3, 1e-2]\n",
        "svm_map" => "[learner]\nkind = \"svm_map\"\nc = [0.1, 1.0, 10.0]\n",
        "permu_rank" => "[learner]\nkind = \"permu_rank\"\nc = [1.0, 10.0]\nrounds = 6\n",
        "smooth_rank" => {
            "[loss]\nname = \"smooth_ndcg\"\n[learner]\nkind = \"smooth_rank\"\nlambda = [0.1, 1.0]\nsteps = 3\n"
        }
        _ => "",
    };
    if !own.is_empty() {
        return own.to_string();
    }
    let entry = LEARNERS.iter().find(|entry| entry.name == kind).unwrap();
    let loss = if entry.takes_loss { "[loss]\nname = \"approx_ndcg\"\n" } else { "" };
    let rounds = entry.rounds_key.map(|key| format!("{key} = 60\n")).unwrap_or_default();
    format!("{loss}[learner]\nkind = \"{kind}\"\n{rounds}")
}

/// The gradient learner in shards, with what draws numbers.
fn in_shards() -> String {
    learner("gradient").replace("warmup = 3", "shards = 3\nwarmup = 3")
}

/// Starts the command and kills it after `share` of `whole`, or earlier if it would have ended by then.
fn kill(bench: &Bench, args: &[&str], whole: Duration, share: f64) {
    let mut after = whole.mul_f64(share);
    loop {
        let mut child = start(bench, args);
        sleep(after);
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            child.wait().unwrap();
            return;
        }
        after = after.mul_f64(0.5);
    }
}

/// Kills twice, resumes, and compares what is left with an uninterrupted run.
fn killed_and_resumed(command: &str, config: &str, results: &[&str], seed: u64) {
    let bench = Bench::default();
    bench.write("run.toml", config);
    let start = Instant::now();
    bench.output(&[command, "run.toml", "--out", "whole"]);
    let whole = start.elapsed();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let begin = [command, "run.toml", "--out", "killed"];
    let args = || {
        if bench.path("killed/.burn-rank").exists() { [&begin[..], &["--resume"]].concat() } else { begin.to_vec() }
    };
    for _ in 0..2 {
        kill(&bench, &args(), whole, random.random_range(0.05..1.0));
    }
    bench.output(&args());
    for name in results {
        let read = |run: &str| fs::read(bench.path(run).join(name)).unwrap();
        assert_eq!(read("killed"), read("whole"), "{command}, {name}\n{config}");
    }
}

#[test]
fn one_and_two_threads_give_the_same_bytes() {
    let learners = LEARNERS.iter().map(|entry| learner(entry.name)).chain([in_shards()]);
    for learner in learners {
        let bench = Bench::default();
        bench.write("run.toml", &format!("{DATA}\n{learner}"));
        for threads in ["1", "2"] {
            bench
                .command(&["train", "run.toml", "--out", threads])
                .env("RAYON_NUM_THREADS", threads)
                .assert()
                .success();
        }
        for name in RESULTS {
            let read = |run: &str| fs::read(bench.path(run).join(name)).unwrap();
            assert_eq!(read("1"), read("2"), "{name}\n{learner}");
        }
    }
}

#[test]
fn every_killed_learner_resumes_to_the_same_bytes() {
    for (entry, seed) in LEARNERS.iter().zip(1..) {
        let config = format!("{DATA}\n{}", learner(entry.name));
        killed_and_resumed("train", &config, &RESULTS, seed);
    }
}

/// Three folds of the training queries.
fn in_folds(learner: &str) -> String {
    let data = DATA.replace("validation_queries = 10", "validation_queries = 0");
    data.replace("test_queries = 10", "test_queries = 0") + learner + "[cv]\nsplit = 3\n"
}

#[test]
fn a_killed_cross_validation_resumes_to_the_same_bytes() {
    killed_and_resumed("cv", &in_folds(&learner("ada_rank")), &["report.json"], 20);
}

#[test]
fn a_killed_successive_halving_resumes_to_the_same_bytes() {
    let search = "[search]\nkind = \"successive_halving\"\ntrials = 9\nbudget = 9\n[search.space]\n\
                  \"learner.learning_rate\" = { from = 0.001, to = 0.1, scale = \"log\" }\n";
    let learner = learner("gradient").replace("epochs = 12\nwarmup = 3\n", "");
    killed_and_resumed("cv", &(in_folds(&learner) + search), &["report.json"], 21);
}

/// The fits of the folds are there, so that a kill meets the refit.
#[test]
fn a_killed_refit_resumes_to_the_same_bytes() {
    let bench = Bench::default();
    bench.write("run.toml", &in_folds(&learner("gradient")));
    bench.output(&["cv", "run.toml", "--out", "cv"]);
    let args = |out: &'static str| ["cv", "run.toml", "--out", "cv", "--resume", "--refit", out];
    let start = Instant::now();
    bench.output(&args("whole"));
    let whole = start.elapsed();
    let mut random = ChaCha8Rng::seed_from_u64(22);
    for _ in 0..2 {
        kill(&bench, &args("killed"), whole, random.random_range(0.3..1.0));
    }
    bench.output(&args("killed"));
    for name in RESULTS {
        let read = |run: &str| fs::read(bench.path(run).join(name)).unwrap();
        assert_eq!(read("killed"), read("whole"), "{name}");
    }
}
