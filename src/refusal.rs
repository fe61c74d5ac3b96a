//! `Refusal` is an error about the value of a key; it names the values that are allowed.

use std::fmt::{self, Display};

use crate::memory;
use crate::text::{did_you_mean, nearest, one_of, shown};

/// An error about a key whose value cannot be used.
///
/// The error is printed as `key = found: expected ...`. [`message`](Self::message) leaves the key out, for a caller
/// that has already printed it.
///
/// ```
/// use burn_rank::refusal::Refusal;
///
/// let refusal = Refusal::new("epochs", 0, "at least 1").under("learner");
/// assert_eq!(refusal.to_string(), "learner.epochs = 0: expected at least 1");
/// assert_eq!(refusal.message(), "found 0, expected at least 1");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The dotted key, as in `scorer.hidden[0]`, in which list positions count from 0. It is empty if the error is
    /// about the whole input.
    pub key: String,
    pub(crate) found: Found,
    /// A description of the valid values; empty if `found` already describes the whole problem.
    pub expected: String,
}

/// The fault that a [`Refusal`] reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// A value, as written in the input.
    Value(String),
    /// A value without a short form, described by words such as `a table`, `a list` or `nothing`.
    Described(&'static str),
    /// A name that is not allowed.
    Unknown(Box<UnknownName>),
    /// A required field that is missing.
    Missing(String),
    /// A fault described in words.
    Fault(String),
}

/// A name that is not among the allowed ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnknownName {
    /// The kind of name that was expected, such as `field`, `variant` or `parameter`.
    pub(crate) what: &'static str,
    /// The object, such as a loss, that does not know the name; `None` if the key already identifies the object.
    pub(crate) of: Option<&'static str>,
    /// The name found.
    name: String,
    /// Every valid name.
    pub(crate) known: Vec<String>,
}

impl Refusal {
    /// Creates an error that rejects the value found at `key`.
    pub fn new(key: impl Into<String>, found: impl Display, expected: impl Into<String>) -> Self {
        Self { key: key.into(), found: Found::Value(found.to_string()), expected: expected.into() }
    }

    /// Creates an error that rejects a value at `key` without printing the value. `found` describes the value, as in `a
    /// table`, `a list` or `nothing`.
    pub fn described(key: impl Into<String>, found: &'static str, expected: impl Into<String>) -> Self {
        Self { key: key.into(), found: Found::Described(found), expected: expected.into() }
    }

    /// Creates an error that rejects an unknown name; `what` says which kind of name was expected. The message lists
    /// the names in `known`, unless `expected` says which names are valid.
    pub fn unknown<N: Into<String>>(
        key: impl Into<String>,
        what: &'static str,
        name: impl Into<String>,
        known: impl IntoIterator<Item = N>,
        expected: impl Into<String>,
    ) -> Self {
        let known = known.into_iter().map(Into::into).collect();
        let found = Found::Unknown(Box::new(UnknownName { what, of: None, name: name.into(), known }));
        Self { key: key.into(), found, expected: expected.into() }
    }

    /// If the error is about an unknown name, adds the object, such as a loss, that does not know the name.
    pub fn of(mut self, of: &'static str) -> Self {
        if let Found::Unknown(unknown) = &mut self.found {
            unknown.of = Some(of);
        }
        self
    }

    /// Creates an error that describes a fault in words.
    pub fn fault(key: impl Into<String>, words: impl Display) -> Self {
        Self { key: key.into(), found: Found::Fault(words.to_string()), expected: String::new() }
    }

    /// Checks that enough memory is free for `what`, whose size is determined by the value at `key`. `advice` tells the
    /// user what to lower.
    ///
    /// # Errors
    /// Returns an error about the value at `key` if fewer than `bytes` bytes are free.
    pub(crate) fn ask_memory(key: &str, what: impl Display, bytes: u64, advice: impl Display) -> Result<(), Refusal> {
        memory::ask(bytes).map_err(|shortage| Self::fault(key, format_args!("{what} {shortage}: {advice}")))
    }

    /// Prefixes the key in the error with `table`.
    pub fn under(mut self, table: &str) -> Self {
        let dot = if table.is_empty() || self.key.is_empty() || self.key.starts_with('[') { "" } else { "." };
        self.key = format!("{table}{dot}{}", self.key);
        self
    }

    /// Replaces the key in the error.
    pub fn at(self, key: impl Into<String>) -> Self {
        Self { key: key.into(), ..self }
    }

    pub(crate) fn unknown_name_of(&self) -> Option<&UnknownName> {
        match &self.found {
            Found::Unknown(unknown) => Some(unknown),
            _ => None,
        }
    }

    /// Returns the unknown name, if the error is about an unknown name.
    pub fn unknown_name(&self) -> Option<&str> {
        self.unknown_name_of().map(|unknown| unknown.name.as_str())
    }

    /// Returns every valid name, if the error is about an unknown name.
    pub fn known_names(&self) -> &[String] {
        self.unknown_name_of().map_or(&[], |unknown| &unknown.known)
    }

    /// Returns the valid name that is most similar to the unknown name, if one is similar enough.
    pub fn nearest_name(&self) -> Option<String> {
        nearest(self.unknown_name()?, self.known_names().iter().map(String::as_str))
    }

    /// Returns the name of the required field that is missing, if the error is about one.
    pub fn missing_name(&self) -> Option<&str> {
        match &self.found {
            Found::Missing(name) => Some(name),
            _ => None,
        }
    }

    /// Returns the value found, as the input writes it, if the error quotes it.
    pub fn value(&self) -> Option<&str> {
        match &self.found {
            Found::Value(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the found and the expected value as text, without the key. For an unknown name, the text ends with the
    /// nearest valid name.
    pub fn message(&self) -> String {
        let expected = match self.expected.as_str() {
            "" => String::new(),
            expected => format!(", expected {expected}"),
        };
        match &self.found {
            Found::Value(value) => format!("found {}{expected}", shown(value)),
            Found::Described(words) => format!("found {words}{expected}"),
            Found::Unknown(unknown) => {
                let UnknownName { what, of, name, known } = &**unknown;
                let of = of.map(|of| format!("{of}: ")).unwrap_or_default();
                let none = match (known.is_empty(), expected.is_empty()) {
                    (true, _) => format!(", there are no {what}s"),
                    (false, true) => format!(", expected {}", one_of(known)),
                    (false, false) => String::new(),
                };
                let near = did_you_mean(&self.nearest_name());
                format!("{of}unknown {what} `{}`{none}{expected}{near}", shown(name))
            }
            Found::Missing(name) => format!("missing field `{name}`{expected}"),
            Found::Fault(words) => format!("{words}{expected}"),
        }
    }

    /// Returns `key: message`, for messages that begin with the location of the key in a file.
    pub fn with_key(&self) -> String {
        if self.key.is_empty() { self.message() } else { format!("{}: {}", shown(&self.key), self.message()) }
    }
}

impl Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let Self { key, found, expected } = self;
        match found {
            Found::Value(value) if !key.is_empty() => {
                write!(formatter, "{} = {}: expected {expected}", shown(key), shown(value))
            }
            _ => formatter.write_str(&self.with_key()),
        }
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_put_below_tables_and_lists() {
        let refusal = Refusal::new("", 0, "at least 1 neuron");
        let key = |refusal: &Refusal| refusal.key.clone();
        let item = refusal.under("[2]");
        assert_eq!(key(&item), "[2]");
        let list = item.under("hidden");
        assert_eq!(key(&list), "hidden[2]");
        assert_eq!(key(&list.under("scorer").under("")), "scorer.hidden[2]");
    }

    #[test]
    fn each_has_its_words() {
        for (refusal, whole, message) in [
            (Refusal::new("a", -1, "0 or above"), "a = -1: expected 0 or above", "found -1, expected 0 or above"),
            (Refusal::new("", -1, "0 or above"), "found -1, expected 0 or above", "found -1, expected 0 or above"),
            (
                Refusal::described("a", "a table", "a number"),
                "a: found a table, expected a number",
                "found a table, expected a number",
            ),
            (
                Refusal::unknown("noms", "field", "noms", ["norm", "value"], "`norm` or `value`"),
                "noms: unknown field `noms`, expected `norm` or `value`; did you mean `norm`?",
                "unknown field `noms`, expected `norm` or `value`; did you mean `norm`?",
            ),
            (
                Refusal::unknown::<&str>("a", "field", "a", [], ""),
                "a: unknown field `a`, there are no fields",
                "unknown field `a`, there are no fields",
            ),
            (
                Refusal::unknown("zz", "parameter", "zz", ["alpha"], "").of("list_net"),
                "zz: list_net: unknown parameter `zz`, expected `alpha`",
                "list_net: unknown parameter `zz`, expected `alpha`",
            ),
            (Refusal::fault("grid", "too many"), "grid: too many", "too many"),
        ] {
            assert_eq!((refusal.to_string().as_str(), refusal.message().as_str()), (whole, message));
        }
    }
}
