//! The resolved configuration: what a run leaves as `config.toml`.

use burn_rank::json::Value;

use super::document::{ConfigError, Document};
use super::experiment::ExperimentConfig;

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

/// TOML has no null, so keys that are not set are left out.
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
