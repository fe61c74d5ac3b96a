//! Configuration files: an error with its place, or a configuration that says the same when it is written and read
//! back.
#![no_main]

use std::path::Path;

use burn_rank_cli::{Document, Experiment, ExperimentConfig};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // An override follows the first line that is `---`.
    let (text, overrides) = text.split_once("\n---\n").unwrap_or((text, ""));
    let overrides: Vec<String> = overrides.lines().map(str::to_owned).collect();
    let path = Path::new("/fuzz/config.toml");
    let Ok(document) = Document::parse(path, text.to_owned(), &overrides) else { return };
    let Ok(config) = Experiment::from_document(&document) else { return };
    let Ok(resolved) = config.resolved_toml(&document) else { return };
    let document = Document::parse(path, resolved, &[]).expect("a resolved configuration is TOML");
    let again = Experiment::from_document(&document).expect("a resolved configuration is one");
    // Equal paths can be written in several ways.
    assert_eq!(again.data, config.data);
    let config = ExperimentConfig { data: again.data.clone(), ..(*config).clone() };
    assert_eq!(again.resolved(), config.resolved());
});
