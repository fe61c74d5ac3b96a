//! An entry of a format that is read, and the words in which a file is refused.

use std::fmt::Display;

use serde::de::DeserializeOwned;

use crate::json::Value;
use crate::ranker::tree_ensemble::TreeEnsemble;

/// A format: its names, and the function that reads it.
#[derive(Debug)]
pub struct ImportEntry {
    /// The system, and its notation that is read.
    pub title: [&'static str; 2],
    /// The cells of the page about imports: the system with its versions, how it writes the file, the decisions at its
    /// splits, and its scores.
    pub row: &'static str,
    /// The notations of the system that are recognized but not read: the first bytes of a file, a description, and the
    /// call that saves the ranker in the notation that is read.
    pub(super) others: &'static [(&'static [u8], &'static str, &'static str)],
    /// Decodes a file, or says what is wrong with it in the words after the title.
    pub(super) decode: fn(&str) -> Result<Imported, String>,
}

/// The contents of an imported file.
pub(super) struct Imported {
    pub(super) trees: TreeEnsemble,
    pub(super) feature_names: Option<Vec<String>>,
    /// The file's version and objective, which the model card shows.
    pub(super) about: Value,
}

/// Decodes JSON.
pub(super) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(syntax)
}

/// Says that a file is malformed.
pub(super) fn syntax(reason: impl Display) -> String {
    format!(": {reason}")
}

/// Says that a line, tree or key has a value that the format does not allow.
pub(super) fn content(place: impl Display, found: impl Display, expected: impl Display) -> String {
    format!(": {place}: found {found}, expected {expected}")
}

/// Says which property of a valid file this crate cannot represent.
pub(super) fn unsupported(found: impl Display, expected: impl Display) -> String {
    format!(" with {found} cannot be read: expected {expected}")
}

/// Refuses a value that the format does not allow, unless `is_allowed`; see [`content`].
pub(super) fn allowed(
    is_allowed: bool,
    place: impl Display,
    found: impl Display,
    expected: impl Display,
) -> Result<(), String> {
    if is_allowed { Ok(()) } else { Err(content(place, found, expected)) }
}

/// Refuses a property, unless it `is_supported`; see [`unsupported`].
pub(super) fn supported(is_supported: bool, found: impl Display, expected: impl Display) -> Result<(), String> {
    if is_supported { Ok(()) } else { Err(unsupported(found, expected)) }
}
