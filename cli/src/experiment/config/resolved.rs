//! The configuration with all defaults filled in, which a run writes as `config.toml`.

use burn_rank::json::Value;

use super::document::{ConfigError, Document};
use super::experiment::ExperimentConfig;

impl ExperimentConfig {
    /// Returns the resolved configuration as TOML, with absolute paths, so that the file works from any folder.
    ///
    /// # Errors
    /// Returns a `ConfigError` if TOML cannot represent a value.
    pub fn resolved_toml(&self, document: &Document) -> Result<String, ConfigError> {
        let mut config = self.clone();
        for (_, path) in config.paths_mut() {
            if let Ok(absolute) = std::path::absolute(&path) {
                *path = absolute;
            }
        }
        let mut value = config.resolved();
        remove_nulls(&mut value);
        toml::to_string_pretty(&value).map_err(|error| document.refuse("", &error.to_string()))
    }
}

/// Removes keys that are not set, because TOML has no null.
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
