//! Checks the manifests against the sources: every dependency is used, and nothing leaks into another program's build.

use std::fs;
use std::path::PathBuf;

use toml::{Table, Value};

use crate::common::root;

/// The packages by their folders, with the dependencies that no source names, and why they are there nevertheless.
const PACKAGES: [(&str, &[(&str, &str)]); 2] = [
    ("", &[("argmin-math", "its feature `vec` lets argmin compute with vectors")]),
    (
        "cli",
        &[
            ("regex-automata", "its feature `dfa-search`, which assert_cmd turns on, is in a build without tests too"),
            ("regex-syntax", "its defaults, which proptest turns on, are those of a build without tests too"),
        ],
    ),
];

/// The manifest of the package in a folder.
fn manifest_in(folder: &str) -> Table {
    fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap().parse().unwrap()
}

fn manifest() -> Table {
    manifest_in("")
}

fn sources(package: &str, folders: &[&str]) -> Vec<String> {
    fn collect(folder: PathBuf, texts: &mut Vec<String>) {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(path, texts);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                texts.push(fs::read_to_string(path).unwrap());
            }
        }
    }
    let mut texts = Vec::new();
    folders.iter().for_each(|folder| collect(root().join(package).join(folder), &mut texts));
    assert!(!texts.is_empty());
    texts
}

/// Returns whether code, not a comment, has a path that starts with the crate.
fn names(text: &str, dependency: &str) -> bool {
    let path = format!("{}::", dependency.replace('-', "_"));
    text.lines().filter(|line| !line.trim_start().starts_with("//")).any(|line| {
        line.match_indices(&path).any(|(at, _)| {
            !line[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_' || before == ':')
        })
    })
}

fn unused(dependencies: &Table, texts: &[String]) -> Vec<String> {
    let is_unused = |name: &&String| !texts.iter().any(|text| names(text, name));
    dependencies.keys().filter(is_unused).cloned().collect()
}

#[test]
fn only_code_counts_as_naming_a_crate() {
    assert!(names("use anyhow::Error;", "anyhow"));
    assert!(names("    let e: serde_json::Error;", "serde-json"));
    assert!(!names("// use anyhow::Error;", "anyhow"));
    assert!(!names("use crate::anyhow::Error;", "anyhow"));
    assert!(!names("use myanyhow::Error;", "anyhow"));
}

#[test]
fn every_dependency_is_used() {
    for (package, unnamed) in PACKAGES {
        let manifest = manifest_in(package);
        let mut found = unused(manifest["dependencies"].as_table().unwrap(), &sources(package, &["src"]));
        found.sort();
        let unnamed: Vec<&str> = unnamed.iter().map(|(name, _)| *name).collect();
        assert_eq!(found, unnamed, "dependencies that no source names, except the ones with a reason");
        let everything = sources(package, &["src", "tests", "examples", "benches"]);
        let found = unused(manifest["dev-dependencies"].as_table().unwrap(), &everything);
        assert!(found.is_empty(), "development dependencies that nothing uses: {found:?}");
    }
}

#[test]
fn every_optional_dependency_comes_with_a_feature() {
    for (package, _) in PACKAGES {
        let manifest = manifest_in(package);
        let features = manifest["features"].as_table().unwrap();
        let enabled: Vec<&str> =
            features.values().flat_map(|parts| parts.as_array().unwrap()).filter_map(Value::as_str).collect();
        for (name, dependency) in manifest["dependencies"].as_table().unwrap() {
            if dependency.get("optional").and_then(Value::as_bool) == Some(true) {
                assert!(enabled.contains(&format!("dep:{name}").as_str()), "no feature has dep:{name}");
            }
        }
    }
}

#[test]
fn the_command_has_every_feature_of_the_library() {
    let (library, command) = (manifest(), manifest_in("cli"));
    for key in ["version", "edition", "rust-version", "license"] {
        assert_eq!(library["package"][key], command["package"][key], "{key}");
    }
    let dependency = &command["dependencies"]["burn-rank"];
    assert_eq!(dependency["version"], library["package"]["version"]);
    let mut always: Vec<String> =
        dependency["features"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect();
    let mut at = 0;
    while let Some(name) = always.get(at).cloned() {
        let parts = library["features"][&name].as_array().unwrap().iter().filter_map(Value::as_str);
        always.extend(parts.filter(|part| !part.contains([':', '/'])).map(str::to_owned));
        at += 1;
    }
    let own = command["features"].as_table().unwrap();
    for name in library["features"].as_table().unwrap().keys() {
        // A server of devices and burn's reader of files are for tests of the library, and burn's own training for its
        // users.
        if !["default", "_server", "_store", "train"].contains(&name.as_str()) && !always.contains(name) {
            let forwarded = Value::from(format!("burn-rank/{name}"));
            let parts = own.get(name).unwrap_or_else(|| panic!("cli/Cargo.toml has no feature {name}"));
            assert!(parts.as_array().unwrap().contains(&forwarded), "cli/Cargo.toml: {name} lacks {forwarded}");
        }
    }
}

#[test]
fn nothing_leaks_into_the_build_of_another_program() {
    let manifest = manifest();
    let always = |name: &str| -> Vec<String> {
        let features = manifest["dependencies"][name].get("features");
        features
            .into_iter()
            .flat_map(|list| list.as_array().unwrap())
            .map(|f| f.as_str().unwrap().to_string())
            .collect()
    };
    assert_eq!(always("burn"), ["std", "autodiff", "extension"]);
    // Another program reads numbers exactly, and its objects keep the order in which their keys were written: files of
    // rankers have the same bytes in every program.
    assert_eq!(always("serde_json"), ["float_roundtrip", "preserve_order"]);
    for (name, parts) in manifest["features"].as_table().unwrap() {
        let parts = parts.as_array().unwrap();
        let has = |part: &str| parts.iter().any(|found| found.as_str() == Some(part));
        assert_eq!(has("burn/train"), name == "train", "burn's own training has a feature of its own: {name}");
        assert!(!has("train") && !has("burn/tui"), "no other feature brings it, and none draws: {name}");
    }
    assert_eq!(manifest["features"]["train"], Value::try_from(["optim", "burn/train"]).unwrap());
}

#[test]
fn rankers_record_the_locked_version_of_burn() {
    let lock: Table = fs::read_to_string(root().join("Cargo.lock")).unwrap().parse().unwrap();
    let packages = lock["package"].as_array().unwrap();
    let burn = packages.iter().find(|package| package["name"].as_str() == Some("burn")).unwrap();
    let recorded = burn_rank::ranker::Metadata::default().versions.burn;
    assert_eq!(burn["version"].as_str(), Some(recorded.as_str()));
    assert_eq!(manifest()["dependencies"]["burn"]["version"].as_str(), Some(recorded.as_str()), "the oldest allowed");
}

#[test]
fn the_dependencies_in_the_guide_are_those_of_the_manifest() {
    let page = fs::read_to_string(root().join("docs/tutorials/model.md")).unwrap();
    let block = page.split("```toml\n").find(|block| block.starts_with("[dependencies]")).unwrap();
    let given: Table = block.split("```").next().unwrap().parse().unwrap();
    let manifest = manifest();
    assert_eq!(given["dependencies"]["burn"]["version"], manifest["dependencies"]["burn"]["version"]);
    let features = manifest["features"].as_table().unwrap();
    for feature in features.keys().filter(|feature| !feature.starts_with('_') && *feature != "default") {
        assert!(page.contains(&format!("`{feature}`")), "docs/tutorials/model.md does not name the feature {feature}");
    }
}
