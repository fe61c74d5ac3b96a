//! The type stubs of the Python package have the losses of the registry. `python tests/test_stubs.py` writes them.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::Bench;
use crate::common::root;

#[test]
fn stubs_have_every_loss_with_its_parameters() {
    let path = root().join("python/burn_rank/torch.pyi");
    let stubs = fs::read_to_string(path).unwrap();
    let losses = Bench::default().output(&["models", "--losses", "--json"]);
    let mut checked = 0;
    for line in losses.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let Some(name) = line["loss"].as_str() else { continue };
        let start = stubs.find(&format!("\ndef {name}(\n")).unwrap_or_else(|| panic!("{name} has no stub"));
        let stub = &stubs[start..start + stubs[start..].find(") -> Tensor").unwrap()];
        let own = stub.split_once("draw: int | Tensor | None = None,\n").unwrap().1;
        let found = own.lines().filter_map(|line| line.trim().split_once(": ")).map(|(parameter, _)| parameter);
        let found: BTreeSet<&str> = found.filter(|parameter| !parameter.starts_with("**")).collect();
        let expected: BTreeSet<&str> = line["parameters"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(found, expected, "{name}: python tests/test_stubs.py writes the stubs anew");
        checked += 1;
    }
    assert!(checked > 30, "{checked}");
}
