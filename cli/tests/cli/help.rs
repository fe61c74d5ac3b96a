//! `help`: the help of each command, and the keys of configuration files from the pages of the reference.

use super::Bench;
use super::bad_input::contains;

#[test]
fn help_config_prints_sections_and_keys_with_range_and_default() {
    let bench = Bench::default();
    let overview = bench.output(&["help", "config"]);
    for part in ["top level", "seed", "normalizer", "data.read", "boosted_trees", "cv", "measure"] {
        assert!(overview.contains(part), "{part}: {overview}");
    }
    let learner = bench.output(&["help", "config", "gradient"]);
    let words = learner.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["epochs", "passes over the training queries", "1 or above", "default: 100", "batch_queries"] {
        assert!(words.contains(part), "{part}: {learner}");
    }
    assert_eq!(learner, bench.output(&["help", "config", "learner.gradient"]));
    assert!(bench.output(&["help", "config", "[data.columns]"]).contains("label"));
    let key = bench.output(&["help", "config", "relevant_from"]);
    assert!(key.contains("Lowest label of a relevant document") && !key.contains("negative_label"), "{key}");
    assert_eq!(key, bench.output(&["help", "config", "measure.convention.relevant_from"]));
    contains(
        &bench.refused(&["help", "config", "batch_size"]),
        &["found `batch_size`", "did you mean `batch_queries`?"],
    );
    for text in
        [overview, learner, bench.output(&["help", "config", "loss"]), bench.output(&["help", "config", "search"])]
    {
        assert!(!text.contains("](") && !text.contains('`'), "{text}");
        text.lines().for_each(|line| assert!(line.chars().count() <= 80, "{line}"));
    }
}

#[test]
fn every_section_that_is_listed_is_printed() {
    let bench = Bench::default();
    let overview = bench.output(&["help", "config"]).replace('\n', " ");
    let names = overview.split("prints one of: ").nth(1).unwrap().split(". SECTION").next().unwrap();
    let names: Vec<&str> = names.split(", ").collect();
    assert!(names.len() > 20, "{names:?}");
    for name in ["data", "learner", "ada_rank", "optimizer", "scorer.input", "conventions", "search"] {
        assert!(names.contains(&name) && bench.output(&["help", "config", name]).lines().count() > 3, "{name}");
    }
}

#[test]
fn help_of_a_command_is_its_own() {
    let bench = Bench::default();
    assert_eq!(bench.output(&["help"]), bench.output(&["--help"]));
    assert_eq!(bench.output(&["help", "train"]), bench.output(&["train", "--help"]));
    assert_eq!(bench.output(&["help", "models", "show"]), bench.output(&["models", "show", "--help"]));
    contains(&bench.refused(&["help", "trian"]), &["found `trian`", "did you mean `train`?"]);
}
