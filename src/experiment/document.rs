//! A configuration document: TOML text with its positions, and the overrides of the command line.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use crate::text::with_nearest;

/// A key that cannot be used, with its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct ConfigError {
    /// `file:line:column`, or `--set key=value`.
    pub place: String,
    /// Key, what was found, what was expected, the nearest valid name.
    pub message: String,
}

/// A parsed configuration with the overrides applied.
#[derive(Debug, Clone)]
pub struct Document {
    path: PathBuf,
    text: String,
    overrides: Vec<(String, String)>,
    root: Value,
}

/// Most parts of a dotted key: no configuration has so many, and deep tables overflow the stack when they are dropped.
const DEEPEST: usize = 32;

impl Document {
    /// Reads `path` and applies `key=value` overrides (`learner.epochs=10`); a value that is not TOML is a string.
    ///
    /// # Errors
    /// [`ConfigError`] when the file cannot be read or is not TOML, or an override has no `=` or leads through a value.
    pub fn read(path: &Path, overrides: &[String]) -> Result<Self, ConfigError> {
        let text = fs::read_to_string(path)
            .map_err(|error| ConfigError { place: path.display().to_string(), message: error.to_string() })?;
        Self::parse(path, text, overrides)
    }

    /// Parses `text` as the content of `path`; see [`Document::read`].
    ///
    /// # Errors
    /// As [`Document::read`].
    pub fn parse(path: &Path, text: String, overrides: &[String]) -> Result<Self, ConfigError> {
        let table: toml::Table = toml::from_str(&text).map_err(|error: toml::de::Error| ConfigError {
            place: at(path, &text, error.span()),
            message: error.message().to_string(),
        })?;
        let mut document =
            Self { path: path.to_path_buf(), text, overrides: Vec::new(), root: json(toml::Value::Table(table)) };
        for assignment in overrides {
            document.set(assignment)?;
        }
        Ok(document)
    }

    /// Folder of the file: relative paths in it start here.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// Name of the file without its extension.
    pub fn stem(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Applies one `key=value` override.
    ///
    /// # Errors
    /// [`ConfigError`] as for [`Document::read`].
    pub fn set(&mut self, assignment: &str) -> Result<(), ConfigError> {
        let refuse = |message: &str| ConfigError { place: format!("--set {assignment}"), message: message.to_string() };
        let (key, value) = assignment.split_once('=').ok_or_else(|| refuse("expected key=value"))?;
        let (key, value) = (key.trim(), value.trim());
        let parsed = toml::from_str::<toml::Table>(&format!("value = {value}"))
            .ok()
            .and_then(|mut table| table.remove("value"))
            .unwrap_or_else(|| toml::Value::String(value.to_string()));
        self.assign(key, json(parsed)).map_err(|part| refuse(&format!("`{part}` is not a table")))?;
        self.overrides.push((key.to_string(), assignment.to_string()));
        Ok(())
    }

    /// Sets a dotted key.
    ///
    /// # Errors
    /// The part of the key that is not a table, where it leads through a value or has more than 32 parts.
    pub fn assign(&mut self, key: &str, value: Value) -> Result<(), String> {
        let mut place = &mut self.root;
        if let Some(part) = key.split('.').nth(DEEPEST) {
            return Err(part.to_string());
        }
        let mut parts = key.split('.').peekable();
        while let Some(part) = parts.next() {
            let table = place.as_object_mut().ok_or(part)?;
            if parts.peek().is_none() {
                table.insert(part.to_string(), value);
                return Ok(());
            }
            place = table.entry(part).or_insert_with(|| Value::Object(Default::default()));
        }
        Ok(())
    }

    /// The whole configuration as a typed value.
    ///
    /// # Errors
    /// [`ConfigError`] naming the key: unknown (with the nearest known one), missing, or of another type.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, ConfigError> {
        serde_path_to_error::deserialize(&self.root).map_err(|error| {
            let path = error.path().to_string();
            self.refuse(&path, &with_nearest(&error.inner().to_string()))
        })
    }

    /// An error about the dotted `key`, placed where it was written.
    pub fn refuse(&self, key: &str, message: &str) -> ConfigError {
        let by_hand = self.overrides.iter().rev().find(|(set, _)| key == set || key.starts_with(&format!("{set}.")));
        let place = match by_hand {
            Some((_, assignment)) => format!("--set {assignment}"),
            None => at(&self.path, &self.text, self.span(key)),
        };
        let message = if key.is_empty() || key == "." { message.to_string() } else { format!("{key}: {message}") };
        ConfigError { place, message }
    }

    /// Where the dotted `key`, or the nearest table around it, stands in the text.
    fn span(&self, key: &str) -> Option<Range<usize>> {
        let root = DeTable::parse(&self.text).ok()?;
        let mut table = root.get_ref();
        let mut span = None;
        for part in key.split('.') {
            let Some((name, value)) = table.iter().find(|(name, _)| name.get_ref().as_ref() == part) else { break };
            span = Some(name.span());
            match value.get_ref() {
                DeValue::Table(inner) => table = inner,
                _ => break,
            }
        }
        span
    }
}

fn json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(s) => Value::String(s),
        toml::Value::Integer(i) => Value::from(i),
        toml::Value::Float(f) => Value::from(f),
        toml::Value::Boolean(b) => Value::Bool(b),
        toml::Value::Datetime(d) => Value::String(d.to_string()),
        toml::Value::Array(items) => Value::Array(items.into_iter().map(json).collect()),
        toml::Value::Table(table) => Value::Object(table.into_iter().map(|(key, value)| (key, json(value))).collect()),
    }
}

fn at(path: &Path, text: &str, span: Option<Range<usize>>) -> String {
    let Some(span) = span else { return path.display().to_string() };
    let before = &text.as_bytes()[..span.start.min(text.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
    format!("{}:{line}:{column}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        epochs: usize,
    }

    #[derive(Debug, serde::Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        learner: Inner,
    }

    fn decode(text: &str, overrides: &[&str]) -> Result<Outer, ConfigError> {
        let overrides: Vec<String> = overrides.iter().map(|s| s.to_string()).collect();
        Document::parse(Path::new("a.toml"), text.to_string(), &overrides)?.decode()
    }

    #[test]
    fn overrides_replace_values() {
        assert_eq!(
            decode("[learner]\nepochs = 1\n", &["learner.epochs=7"]),
            Ok(Outer { learner: Inner { epochs: 7 } })
        );
    }

    #[test]
    fn an_unknown_key_is_placed_and_the_nearest_is_named() {
        let error = decode("[learner]\nepochs = 1\nepoch = 2\n", &[]).unwrap_err().to_string();
        assert!(error.starts_with("a.toml:3:1: learner.epoch: unknown field `epoch`"), "{error}");
        assert!(error.ends_with("did you mean `epochs`?"), "{error}");
    }

    #[test]
    fn a_wrong_override_is_named_as_typed() {
        let error = decode("[learner]\nepochs = 1\n", &["learner.epochs=many"]).unwrap_err().to_string();
        assert!(error.starts_with("--set learner.epochs=many: learner.epochs: invalid type"), "{error}");
        assert!(decode("", &["learner"]).unwrap_err().message.contains("key=value"));
        assert!(decode("learner = 1", &["learner.epochs=1"]).unwrap_err().message.contains("not a table"));
        let deep = format!("{}=1", "a.".repeat(100_000));
        assert!(decode("", &[&deep]).unwrap_err().message.contains("`a` is not a table"));
    }

    #[test]
    fn broken_toml_is_placed() {
        let error = decode("[learner\n", &[]).unwrap_err();
        assert!(error.place.starts_with("a.toml:1:"), "{error}");
    }
}
