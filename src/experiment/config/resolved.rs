//! The resolved configuration: what a run leaves as `config.toml`.

use std::fs;
use std::path::Path;

use super::document::{ConfigError, Document};
use super::experiment::ExperimentConfig;
use crate::json::Value;

/// The resolved configuration as TOML, with absolute paths: it can be run from anywhere.
///
/// # Errors
/// [`ConfigError`] when a value has no TOML form.
pub fn resolved_toml(document: &Document, config: &ExperimentConfig) -> Result<String, ConfigError> {
    let mut config = config.clone();
    for (_, path) in config.paths_mut() {
        if let Ok(absolute) = std::path::absolute(&path) {
            *path = absolute;
        }
    }
    let mut value = config.resolved();
    remove_nulls(&mut value);
    toml::to_string_pretty(&value).map_err(|error| document.refuse("", &error.to_string()))
}

/// The resolved configuration of a text that stands in a file.
fn resolved_text(path: &Path, text: &str) -> Result<String, ConfigError> {
    let document = Document::parse(path, text.to_string(), &[])?;
    resolved_toml(&document, &ExperimentConfig::from_document(&document)?)
}

/// Whether the file holds this resolved configuration, as this version writes it or as an earlier one did, which left out
/// keys that it did not know: they have their defaults.
pub(in crate::experiment) fn resolves_to(path: &Path, configuration: &str) -> bool {
    let Ok(text) = fs::read_to_string(path) else { return false };
    text == configuration || resolved_text(path, &text).is_ok_and(|resolved| resolved == configuration)
}

/// Whether the file is a resolved configuration as [`resolved_toml`] writes it, of this version or of an earlier one,
/// which wrote the same lines but for keys that it did not know.
pub(in crate::experiment) fn is_resolved(path: &Path) -> bool {
    let Ok(text) = fs::read_to_string(path) else { return false };
    let Ok(resolved) = resolved_text(path, &text) else { return false };
    let mut lines = resolved.lines();
    text.starts_with("name = ")
        && text.lines().all(|line| lines.any(|other| other == line))
        && ALWAYS_RESOLVED.iter().all(|key| text.lines().any(|line| line.starts_with(key)))
}

/// How lines begin that are in every resolved configuration.
const ALWAYS_RESOLVED: [&str; 7] =
    ["seed = ", "device = ", "normaliser = ", "[data.read]", "[learner]", "[measure]", "[cv]"];

/// TOML has no null: what is not set is left out.
fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(table) => {
            table.retain(|_, value| !value.is_null());
            table.values_mut().for_each(remove_nulls);
        }
        Value::Array(values) => values.iter_mut().for_each(remove_nulls),
        _ => {}
    }
}
