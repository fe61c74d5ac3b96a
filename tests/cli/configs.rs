//! Every configuration of the repository is valid and has the name of its file.

use std::fs;
use std::path::{Path, PathBuf};

use burn_rank::experiment::{Document, ExperimentConfig};

fn configurations(folder: &Path) -> Vec<PathBuf> {
    // Lists of configurations, and of what made their results.
    let lists = ["published.toml", "made.toml"];
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(configurations(&path));
        } else if path.extension().is_some_and(|extension| extension == "toml")
            && !lists.iter().any(|list| path.ends_with(list))
        {
            found.push(path);
        }
    }
    found
}

#[test]
fn every_configuration_is_valid() {
    let paths = configurations(&Path::new(env!("CARGO_MANIFEST_DIR")).join("configs"));
    assert!(paths.len() > 60, "{} found", paths.len());
    for path in paths {
        let document = Document::read(&path, &[]).unwrap();
        let config = ExperimentConfig::from_document(&document).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(config.name, path.file_stem().unwrap().to_str().unwrap());
    }
}
