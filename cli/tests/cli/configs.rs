//! Every configuration of the repository is valid and has the name of its file.

use std::fs;
use std::path::{Path, PathBuf};

use burn_rank_cli::{Document, Experiment};

use crate::common::root;

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
    let paths = configurations(&root().join("configs"));
    assert!(paths.len() > 60, "{} found", paths.len());
    for path in paths {
        let set: &[String] = if needs_data(&path) { &["data.folds=letor".to_string()] } else { &[] };
        let document = Document::read(&path, set).unwrap();
        let config = Experiment::from_document(&document).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(config.name, path.file_stem().unwrap().to_str().unwrap());
    }
}

/// Whether the data of a configuration are not in the repository, as its first lines then say.
fn needs_data(path: &Path) -> bool {
    fs::read_to_string(path).unwrap().contains("--set data.folds=FOLDER")
}

#[test]
fn a_configuration_without_its_data_says_how_to_name_them() {
    let folder = root().join("configs");
    let without: Vec<PathBuf> = configurations(&folder).into_iter().filter(|path| needs_data(path)).collect();
    assert!(without.len() > 60, "{} found", without.len());
    for path in without {
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains("../"), "{}: a path that leads out of the repository", path.display());
        let error = Experiment::from_document(&Document::read(&path, &[]).unwrap()).unwrap_err().to_string();
        assert!(error.ends_with("for one run, as in --set data.folds=FOLDER"), "{error}");
    }
}

/// Defaults of a perceptron may change; figures that are published and rankers that are saved do not.
#[test]
fn what_is_published_names_what_it_takes() {
    let root = root().join("configs");
    let mut perceptrons = 0;
    for path in configurations(&root).into_iter().filter(|path| !path.starts_with(root.join("recommended"))) {
        let set: &[String] = if needs_data(&path) { &["data.folds=letor".to_string()] } else { &[] };
        let config = Experiment::from_document(&Document::read(&path, set).unwrap()).unwrap();
        let config: serde_json::Value = serde_json::from_str(&config.resolved().to_string()).unwrap();
        let is_perceptron = config["learner"]["kind"] == "gradient" && config["scorer"]["kind"] == "mlp";
        if !is_perceptron || ["quickstart.toml", "devices.toml"].iter().any(|name| path.ends_with(name)) {
            continue;
        }
        perceptrons += 1;
        let text = fs::read_to_string(&path).unwrap();
        for key in ["normalizer", "dropout", "learning_rate", "batch_queries", "epochs", "patience"] {
            assert!(text.contains(&format!("\n{key} = ")), "{}: no {key}", path.display());
        }
        let is_unit = config["loss"]["query_gradients"] == "unit";
        assert!(!is_unit || text.contains("\nquery_gradients = "), "{}: no query_gradients", path.display());
    }
    assert!(perceptrons > 5, "{perceptrons} found");
}
