//! A configuration as the user wrote it: TOML text plus command-line overrides.

use std::fmt::Display;
use std::fs;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use burn_rank::device;
use burn_rank::json::{Value, from_value};
use burn_rank::refusal::Refusal;
use burn_rank::workbench::FileKind;
use burn_rank::workbench::text::{did_you_mean, nearest, shown};
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::grid::{Point, section_of};

/// Reads the value in a `KEY=VALUE` override. A value that is neither TOML nor JSON is read as plain text.
///
/// # Errors
/// Rejects a number that is not finite. Also rejects a whole number that TOML cannot hold.
pub(crate) fn written_value(key: &str, text: &str) -> Result<Value, Refusal> {
    let line = format!("value = {text}");
    let table = DeTable::parse(&line).ok().filter(|table| table.get_ref().len() == 1);
    match table.as_ref().and_then(|table| table.get_ref().values().next()) {
        Some(value) => from_toml(value.get_ref(), key),
        None => Ok(serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))),
    }
}

/// Converts a TOML value at `key` to a JSON value; dates and times become strings.
///
/// # Errors
/// Returns a [`Refusal`] if a number is not finite, because no key accepts one. Also rejects a whole number that TOML
/// cannot hold.
pub(crate) fn from_toml(value: &DeValue, key: &str) -> Result<Value, Refusal> {
    Ok(match value {
        DeValue::String(text) => Value::from(&**text),
        DeValue::Integer(number) => {
            Value::from(i64::from_str_radix(number.as_str(), number.radix()).map_err(|_| beyond(key, number))?)
        }
        DeValue::Float(number) => match number.as_str().parse() {
            Ok(finite) if f64::is_finite(finite) => Value::from(finite),
            _ => return Err(Refusal::new(key, number.as_str().trim_start_matches('+'), "a finite number")),
        },
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Datetime(time) => Value::from(time.to_string()),
        DeValue::Array(items) => {
            let items = items.iter().enumerate();
            items.map(|(at, item)| from_toml(item.get_ref(), &format!("{key}[{at}]"))).collect::<Result<_, _>>()?
        }
        DeValue::Table(table) => {
            let field = |(name, value): (&Spanned<DeString>, &Spanned<DeValue>)| {
                Ok((name.get_ref().to_string(), from_toml(value.get_ref(), &below(key, name.get_ref()))?))
            };
            Value::Object(table.iter().map(field).collect::<Result<_, _>>()?)
        }
    })
}

/// An error about a configuration key, with the place where the key was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct ConfigError {
    /// The place where the key was written: `file:line:column`, `--set key=value`, `--device name` or
    /// `BURN_DEVICE=name`. A long place is shortened.
    pub place: String,
    /// The message, which names the key, the value found, the value expected and the nearest valid name.
    pub message: String,
}

/// A parsed configuration with the overrides applied.
#[derive(Debug, Clone, Default)]
pub struct Document {
    path: PathBuf,
    text: Arc<str>,
    overrides: Vec<Override>,
    /// The keys that a grid point or a trial has set. Each is stored with the key that error messages show instead.
    assigned: Vec<(String, String)>,
    root: Value,
}

/// A `key=value` override from the command line.
#[derive(Debug, Clone)]
struct Override {
    key: String,
    written: String,
    removes: bool,
}

/// The name of the configuration file in the folder of a run.
const OF_RUN: &str = "config.toml";

/// The largest number of parts in a dotted key. No configuration needs more parts, and dropping deeply nested tables
/// would overflow the stack.
const DEEPEST: usize = 32;

impl Document {
    /// Reads `path` and applies `key=value` overrides, such as `learner.epochs=10`. A value that is neither TOML nor
    /// JSON is a string. An empty value or `null` removes the key.
    ///
    /// # Errors
    /// Returns a `ConfigError` if the file cannot be read or is not valid TOML. Also returns one if a number is not
    /// finite or is outside TOML's range. The same holds if an override has no `=`, or if a key lies inside a value
    /// that is not a table.
    pub fn read(path: &Path, overrides: &[String]) -> Result<Self, ConfigError> {
        let refuse = |message: String| ConfigError { place: path.display().to_string(), message };
        let is_another = |kind: &str| refuse(format!("found {kind}, expected a configuration"));
        let text = fs::read_to_string(path).map_err(|error| match (error.kind(), FileKind::of_file(path)) {
            (ErrorKind::IsADirectory, _) if path.join(OF_RUN).is_file() => {
                refuse(format!("found a folder, expected a configuration; its run has {}", path.join(OF_RUN).display()))
            }
            (ErrorKind::IsADirectory, _) => is_another("a folder"),
            (ErrorKind::NotFound, _) => refuse(format!("{error}{}", did_you_mean(&near_file(path)))),
            (ErrorKind::InvalidData, Some(kind)) => is_another(kind.in_words()),
            _ => refuse(error.to_string()),
        })?;
        Self::parse(path, text, overrides).map_err(|error| match FileKind::of_file(path) {
            // The place of the first fault in another kind of file says nothing.
            Some(kind) if kind.is_another_text() && error.place.starts_with(&path.display().to_string()) => {
                is_another(kind.in_words())
            }
            _ => error,
        })
    }

    /// Parses `text` as if it were the content of `path`, and applies the overrides in the same way as
    /// [`Document::read`].
    ///
    /// # Errors
    /// As [`Document::read`].
    pub fn parse(path: &Path, text: String, overrides: &[String]) -> Result<Self, ConfigError> {
        let document = Self { path: path.to_path_buf(), text: text.into(), ..Self::default() };
        let root = match DeTable::parse(&document.text) {
            Ok(table) => from_toml(&DeValue::Table(table.into_inner()), ""),
            Err(error) => {
                let place = at(path, &document.text, error.span());
                return Err(ConfigError { place, message: error.message().to_string() });
            }
        };
        let root = root.map_err(|refusal| document.place(&refusal))?;
        Self { root, ..document }.with(overrides)
    }

    /// Makes a document from a table instead of a file; error messages show `name` in place of a path. Relative paths
    /// are resolved against the current folder.
    ///
    /// # Errors
    /// Returns a `ConfigError` in the same cases as [`Document::read`], and also if `root` is not a table.
    pub fn from_value(name: &str, root: Value, overrides: &[String]) -> Result<Self, ConfigError> {
        if !root.is_object() {
            return Err(ConfigError { place: name.to_string(), message: "expected a table".to_string() });
        }
        Self { path: name.into(), root, ..Self::default() }.with(overrides)
    }

    fn with(mut self, overrides: &[String]) -> Result<Self, ConfigError> {
        overrides.iter().try_for_each(|assignment| self.set(assignment))?;
        // The order of keys in a saved configuration, which labels of grid points follow when it is read again.
        self.root.sort_all_objects();
        Ok(self)
    }

    /// Returns the folder that contains the configuration file. Relative paths in the file are resolved against this
    /// folder. Relative paths in overrides are resolved against the current folder.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// Returns the name of the configuration file without its extension.
    pub fn stem(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Applies one `key=value` override.
    ///
    /// # Errors
    /// Returns a `ConfigError` as [`Document::read`] does.
    pub fn set(&mut self, assignment: &str) -> Result<(), ConfigError> {
        let written = format!("--set {}", shown(assignment));
        let refuse = |message: String| ConfigError { place: written.clone(), message };
        let (key, value) = assignment.split_once('=').ok_or_else(|| refuse("expected key=value".to_string()))?;
        let (key, value) = (key.trim(), value.trim());
        let removes = matches!(value, "" | "null");
        if removes {
            self.remove(key);
        } else {
            let value = written_value(key, value).map_err(|refusal| refuse(refusal.with_key()))?;
            put(&mut self.root, key, value).map_err(refuse)?;
        }
        self.overrides.push(Override { key: key.to_string(), written, removes });
        Ok(())
    }

    /// Sets a key to the value of a command-line option, such as `--device`. Error messages about the key show the name
    /// of the option.
    pub fn set_option(&mut self, key: &str, option: &str, value: &str) {
        if let Some(root) = self.root.as_object_mut() {
            root.insert(key.to_string(), Value::from(value));
        }
        let between = if option == device::VARIABLE { '=' } else { ' ' };
        let written = format!("{option}{between}{}", shown(value));
        self.overrides.push(Override { key: key.to_string(), written, removes: false });
    }

    /// Returns a path that the value of a dotted key names: relative to the folder of the file, or, from an override,
    /// to the current folder.
    pub fn resolved(&self, key: &str, path: &Path) -> PathBuf {
        let is_set_by_hand = self.overrides.iter().any(|set| !set.removes && is_within(key, &set.key));
        if is_set_by_hand { path.to_path_buf() } else { self.folder().join(path) }
    }

    /// Sets the device to the one that the environment variable `BURN_DEVICE` names, unless the configuration or an
    /// option names one.
    pub fn set_default_device(&mut self) {
        if !self.has("device")
            && let Some(name) = device::from_environment()
        {
            self.set_option("device", device::VARIABLE, &name);
        }
    }

    /// Returns whether a dotted key has a value.
    pub(super) fn has(&self, key: &str) -> bool {
        key.split('.').try_fold(&self.root, |value, part| value.get(part)).is_some()
    }

    /// Returns the value of a key of the top level, or null.
    pub(super) fn value(&self, key: &str) -> &Value {
        self.root.get(key).unwrap_or(&Value::Null)
    }

    /// Returns the document of one of `[[members]]`, in which its sections take the place of all members.
    pub(super) fn of_member(
        &self,
        sections: impl Iterator<Item = (&'static str, Value)>,
        round: Option<usize>,
    ) -> Result<Self, Refusal> {
        let mut document = self.clone();
        if let Some(root) = document.root.as_object_mut() {
            for key in ["members", "standardize"] {
                root.shift_remove(key);
            }
            root.extend(sections.map(|(section, value)| (section.to_owned(), value)));
        }
        if let Some(round) = round {
            put(&mut document.root, "measure.round", round.into()).map_err(|fault| Refusal::fault("measure", fault))?;
        }
        Ok(document)
    }

    /// Returns this document with the values of a grid point or trial. `from` is the table that lists the values:
    /// either `grid` or `search.space`. Error messages about a value refer to its key in that table.
    ///
    /// # Errors
    /// Returns a `ConfigError` if a key lies inside a value that is not a table, or has more than 32 parts.
    pub(super) fn at_point(&self, from: &str, point: &Point) -> Result<Self, ConfigError> {
        let mut document = self.clone();
        for (key, value) in point {
            let of_table = format!("{from}.{key}");
            put(&mut document.root, key, value.clone()).map_err(|fault| self.refuse(&of_table, &fault))?;
            document.assigned.push((key.clone(), of_table));
        }
        Ok(document)
    }

    /// Returns whether the grid point or trial in this document sets the key.
    pub(super) fn tries(&self, key: &str) -> bool {
        self.assigned.iter().any(|(assigned, _)| assigned == key)
    }

    /// Returns whether the grid or the search varies the section or a key in it. A section to which the grid gives a
    /// single value is the same at all points.
    pub(super) fn varies(&self, section: &str) -> bool {
        let values = self.root.get("grid").and_then(|grid| grid.get(section)).and_then(Value::as_array);
        let is_fixed = values.is_some_and(|values| values.len() == 1);
        self.assigned.iter().any(|(key, _)| section_of(key) == section && !(is_fixed && key == section))
    }

    /// Returns the sections that the grid point or trial changes, each with its value.
    pub(super) fn changed(&self) -> impl Iterator<Item = (&str, &Value)> {
        let is_changed = move |section: &str| self.assigned.iter().any(|(key, _)| section_of(key) == section);
        let sections = self.root.as_object().into_iter().flatten();
        sections.map(|(section, value)| (section.as_str(), value)).filter(move |(section, _)| is_changed(section))
    }

    /// For each override that removes a key, returns the document in which the key is null. Decoding it detects a
    /// misspelled key.
    pub(super) fn removed(&self) -> impl Iterator<Item = Result<Self, ConfigError>> {
        self.overrides.iter().filter(|set| set.removes).map(|set| {
            let mut document = self.clone();
            put(&mut document.root, &set.key, Value::Null).map_err(|fault| self.refuse(&set.key, &fault))?;
            Ok(document)
        })
    }

    fn remove(&mut self, key: &str) {
        let mut parts = key.split('.');
        let last = parts.next_back().unwrap_or_default();
        let table = parts.try_fold(&mut self.root, |value, part| value.get_mut(part));
        if let Some(table) = table.and_then(Value::as_object_mut) {
            table.shift_remove(last);
        }
    }

    /// Decodes the whole configuration into a typed value. The error names the key, but not yet the line or the
    /// override that set it.
    ///
    /// # Errors
    /// Returns a [`Refusal`] that names the key.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        #[cfg(test)]
        tests::DECODED.with(|count| count.set(count.get() + 1));
        check_writable(&self.root, "")?;
        from_value(self.root.clone())
    }

    /// Returns an error about a dotted key. The error names the place where the key was written.
    pub fn refuse(&self, key: &str, message: &str) -> ConfigError {
        self.place(&Refusal::fault(key, message))
    }

    /// Converts an error about a key to a `ConfigError`, which also names the place where the key was written.
    pub fn place(&self, refusal: &Refusal) -> ConfigError {
        ConfigError { place: self.place_of(&refusal.key), message: refusal.with_key() }
    }

    fn place_of(&self, key: &str) -> String {
        // An index is the name of an item, so `members[1].loss` becomes `members.1.loss`.
        let bare = key.replace('[', ".").replace(']', "");
        let tried = self.assigned.iter().rev().find(|(set, _)| is_within(&bare, set)).map(|(_, place)| place.clone());
        let bare = tried.unwrap_or(bare);
        match self.overrides.iter().rev().find(|set| is_within(&bare, &set.key)) {
            Some(by_hand) => by_hand.written.clone(),
            None => match (self.span(&bare), self.overrides.iter().rev().find(|set| is_within(&set.key, &bare))) {
                // A table that an override made.
                (None, Some(below)) => below.written.clone(),
                (span, _) => at(&self.path, &self.text, span),
            },
        }
    }

    /// Returns the position of a dotted key in the text, in which a number names a table of a list. If the key is
    /// absent, returns the position of the innermost table that would contain it.
    fn span(&self, key: &str) -> Option<Range<usize>> {
        let root = DeTable::parse(&self.text).ok()?;
        let (mut table, mut rest, mut span) = (root.get_ref(), key, None);
        loop {
            // A name may contain dots, as the names of [grid] do.
            let beginning = table.iter().filter(|(name, _)| is_within(rest, name.get_ref()));
            let Some((name, value)) = beginning.max_by_key(|(name, _)| name.get_ref().len()) else { break };
            span = Some(name.span());
            match (value.get_ref(), rest.get(name.get_ref().len() + 1..)) {
                (DeValue::Table(inner), Some(below)) => (table, rest) = (inner, below),
                (DeValue::Array(items), Some(below)) => {
                    let (number, inside) = below.split_once('.').unwrap_or((below, ""));
                    let item = number.parse().ok().and_then(|number: usize| items.get(number));
                    let Some((item, DeValue::Table(inner))) = item.map(|item| (item, item.get_ref())) else { break };
                    (table, rest, span) = (inner, inside, Some(item.span()));
                }
                _ => break,
            }
        }
        span
    }
}

/// Returns the path of a file in the folder of `path`, which does not exist, with a similar name.
fn near_file(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_file = |entry: &fs::DirEntry| entry.path().is_file();
    let entries = fs::read_dir(folder).ok()?.filter_map(Result::ok).filter(is_file);
    let names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    // A file with another ending than `.toml` counts only if the rest of its name is the same.
    let stem = path.file_stem()?.to_str()?;
    let may_be = |name: &&str| name.ends_with(".toml") || name.split('.').next() == Some(stem);
    let near = nearest(path.file_name()?.to_str()?, names.iter().map(String::as_str).filter(may_be))?;
    Some(path.with_file_name(near).display().to_string())
}

/// Returns whether a dotted key equals `around` or names something inside it.
fn is_within(key: &str, around: &str) -> bool {
    key.strip_prefix(around).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Sets the value at a dotted key, or returns why it cannot be set.
fn put(root: &mut Value, key: &str, value: Value) -> Result<(), String> {
    let parts = key.split('.').count();
    if parts > DEEPEST {
        return Err(format!("found a key of {parts} parts, expected at most {DEEPEST}"));
    }
    let (mut place, mut around) = (root, key);
    let mut parts = key.split('.').peekable();
    while let Some(part) = parts.next() {
        let table = place.as_object_mut().ok_or_else(|| format!("`{}` is not a table", shown(around)))?;
        if parts.peek().is_none() {
            table.insert(part.to_string(), value);
            return Ok(());
        }
        place = table.entry(part.to_string()).or_insert_with(|| Value::Object(Default::default()));
        around = part;
    }
    Ok(())
}

/// Rejects the first whole number that `config.toml` could not hold, whether it is `value` itself or nested in it.
pub(super) fn check_writable(value: &Value, key: &str) -> Result<(), Refusal> {
    match value {
        Value::Number(number) if number.as_u64().is_some_and(|number| i64::try_from(number).is_err()) => {
            Err(beyond(key, number))
        }
        Value::Array(items) => {
            items.iter().enumerate().try_for_each(|(at, item)| check_writable(item, &format!("{key}[{at}]")))
        }
        Value::Object(table) => table.iter().try_for_each(|(name, item)| check_writable(item, &below(key, name))),
        _ => Ok(()),
    }
}

fn beyond(key: &str, found: impl Display) -> Refusal {
    let found = found.to_string();
    let range = if found.starts_with('-') { "from -2^63" } else { "up to 2^63 - 1" };
    let end = if found.starts_with('-') { i64::MIN } else { i64::MAX };
    Refusal::new(key, found, format!("a whole number {range}, which is {end}"))
}

/// Appends a name to the dotted key of a table.
fn below(key: &str, name: &str) -> String {
    if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") }
}

fn at(path: &Path, text: &str, span: Option<Range<usize>>) -> String {
    let Some(span) = span else { return path.display().to_string() };
    let before = &text.as_bytes()[..span.start.min(text.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
    format!("{}:{line}:{column}", path.display())
}

#[cfg(test)]
pub(super) mod tests {
    use std::cell::Cell;

    use burn_rank::workbench::json::json;

    use super::*;

    thread_local! {
        /// How often this thread has decoded a whole document.
        pub(in crate::experiment::config) static DECODED: Cell<usize> = const { Cell::new(0) };
    }

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
        let document = Document::parse(Path::new("a.toml"), text.to_string(), &overrides)?;
        document.decode().map_err(|refusal| document.place(&refusal))
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
        assert_eq!(
            error,
            "--set learner.epochs=many: learner.epochs: found \"many\", expected a whole number, 0 or above"
        );
        assert!(decode("", &["learner"]).unwrap_err().message.contains("key=value"));
        assert!(decode("learner = 1", &["learner.epochs=1"]).unwrap_err().message.contains("not a table"));
        let deep = format!("{}=1", "a.".repeat(100_000));
        let deep = decode("", &[&deep]).unwrap_err();
        assert_eq!(deep.message, "found a key of 100001 parts, expected at most 32");
        assert!(deep.place.ends_with('\u{2026}') && deep.place.chars().count() < 250, "{deep}");
        let through = decode("learner = 1", &["learner.epochs=1"]).unwrap_err();
        assert_eq!(through.message, "`learner` is not a table");
        let table = decode("", &["learner.epochs.x=1"]).unwrap_err().to_string();
        assert!(table.starts_with("--set learner.epochs.x=1: learner.epochs: found a table"), "{table}");
    }

    #[test]
    fn keys_are_in_alphabetical_order_however_they_are_given() {
        let json = r#"grid={"learner.leaves": [{"b": 1, "a": 2}], "learner.bins": [15]}"#;
        let sets = [json.to_string(), "device=flex".to_string()];
        let document = Document::parse(Path::new("a.toml"), "seed = 1\n".to_string(), &sets).unwrap();
        let expected = r#"{"device":"flex","grid":{"learner.bins":[15],"learner.leaves":[{"a":2,"b":1}]},"seed":1}"#;
        assert_eq!(document.root.to_string(), expected);
    }

    #[test]
    fn an_empty_value_and_null_remove_the_key() {
        for set in ["learner.epoch=", "learner.epoch=null", "epoch = null"] {
            let text = if set.starts_with("learner") { "[learner]\nepochs = 1\nepoch = 2\n" } else { "epoch = 1\n" };
            let document = Document::parse(Path::new("a.toml"), text.to_string(), &[set.to_string()]).unwrap();
            assert!(!document.root.to_string().contains("epoch\""), "{set}: {}", document.root);
        }
    }

    #[test]
    fn numbers_that_are_not_finite_are_refused() {
        let error = |text: &str, overrides: &[&str]| decode(text, overrides).unwrap_err().to_string();
        let expected = "a.toml:2:1: learner.epochs: found nan, expected a finite number";
        assert_eq!(error("[learner]\nepochs = nan\n", &[]), expected);
        assert_eq!(
            error("[grid]\na = 1\n\"learner.epochs\" = [1, -inf]\n", &[]),
            "a.toml:3:1: grid.learner.epochs[1]: found -inf, expected a finite number"
        );
        assert_eq!(
            error("", &["learner={epochs=inf}"]),
            "--set learner={epochs=inf}: learner.epochs: found inf, expected a finite number"
        );
    }

    #[test]
    fn whole_numbers_that_a_run_could_not_write_are_refused() {
        let error = |text: &str, overrides: &[&str]| decode(text, overrides).unwrap_err().to_string();
        let most = "expected a whole number up to 2^63 - 1, which is 9223372036854775807";
        for number in ["9223372036854775808", "18446744073709551615", "99999999999999999999"] {
            let expected = format!("learner.epochs: found {number}, {most}");
            for set in [format!("learner.epochs={number}"), format!("learner={{epochs={number}}}")] {
                assert_eq!(error("", &[&set]), format!("--set {set}: {expected}"));
            }
            assert_eq!(error(&format!("[learner]\nepochs = {number}\n"), &[]), format!("a.toml:2:1: {expected}"));
        }
        let json = "learner={\"epochs\": 9223372036854775808}";
        assert_eq!(error("", &[json]), format!("--set {json}: learner.epochs: found 9223372036854775808, {most}"));
        let value = json!({"learner": {"epochs": u64::MAX}});
        let document = Document::from_value("config", value, &[]).unwrap();
        let refused = document.place(&document.decode::<Outer>().unwrap_err()).to_string();
        assert_eq!(refused, format!("config: learner.epochs: found 18446744073709551615, {most}"));
        let least = error("", &["learner.epochs=-9223372036854775809"]);
        assert!(least.ends_with(
            "found -9223372036854775809, expected a whole number from -2^63, which is -9223372036854775808"
        ));
        let largest = decode("", &["learner.epochs=9223372036854775807"]).unwrap();
        assert_eq!(largest.learner.epochs, i64::MAX as usize);
    }

    burn_rank::workbench::json::tagged! {
        "Tagged"
        /// Has one variant.
        #[serde(rename_all = "lowercase", deny_unknown_fields)]
        pub enum Tagged {
            /// The only one.
            One {
                /// A number.
                width: usize,
                /// A list.
                names: Vec<String>,
            },
        }
    }

    #[derive(Debug, serde::Deserialize)]
    struct WithTagged {
        #[allow(dead_code)]
        scorer: Tagged,
    }

    #[test]
    fn keys_of_a_table_with_a_kind_are_placed() {
        for (text, expected) in [
            ("width = 1\nwith = 2", "a.toml:4:1: scorer.with: unknown field `with`"),
            ("names = []\nwidth = \"a\"", "a.toml:4:1: scorer.width: found \"a\", expected a whole number, 0 or above"),
            ("width = 1\nnames = [\"a\", 2]", "a.toml:4:1: scorer.names[1]: found 2, expected a string"),
            ("width = 1", "a.toml:1:2: scorer: missing field `names`"),
        ] {
            let text = format!("[scorer]\nkind = \"one\"\n{text}\n");
            let document = Document::parse(Path::new("a.toml"), text, &[]).unwrap();
            let error = document.place(&document.decode::<WithTagged>().unwrap_err()).to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        let text = "scorer = { kind = \"tow\" }".to_string();
        let document = Document::parse(Path::new("a.toml"), text, &[]).unwrap();
        let error = document.place(&document.decode::<WithTagged>().unwrap_err()).to_string();
        assert!(error.starts_with("a.toml:1:12: scorer.kind: unknown variant `tow`"), "{error}");
    }

    #[test]
    fn indices_and_values_of_the_grid_are_placed_at_their_keys() {
        let text = "seed = 1\n[grid]\n\"learner.epochs\" = [1]\n[learner]\nhidden = [1]\n";
        let document = Document::parse(Path::new("a.toml"), text.to_string(), &["seed=2".to_string()]).unwrap();
        assert_eq!(document.refuse("learner.hidden[0]", "").place, "a.toml:5:1");
        assert_eq!(document.refuse("learner.epochs", "").place, "a.toml:4:2");
        let mut document = document.at_point("grid", &vec![("learner.epochs".to_string(), 1.into())]).unwrap();
        assert_eq!(document.refuse("learner.epochs", "").place, "a.toml:3:1");
        assert_eq!(document.refuse("seed", "").place, "--set seed=2");
        document.set_option("device", "--device", "cuda");
        assert_eq!(document.refuse("device", "").place, "--device cuda");
    }

    #[test]
    fn a_key_of_a_member_is_placed_in_its_own_table() {
        let text = "[[members]]\nlearner = { kind = \"a\" }\n[[members]]\nlearner = { kind = \"b\", epochs = 0 }\n";
        let document = Document::parse(Path::new("a.toml"), text.to_string(), &[]).unwrap();
        for (key, expected) in [
            ("members[0].learner.epochs", "a.toml:2:1"),
            ("members[1].learner.epochs", "a.toml:4:25"),
            ("members[1].weight", "a.toml:3:1"),
            ("members[2].weight", "a.toml:1:3"),
        ] {
            assert_eq!(document.refuse(key, "").place, expected, "{key}");
        }
    }

    #[test]
    fn broken_toml_is_placed() {
        let error = decode("[learner\n", &[]).unwrap_err();
        assert!(error.place.starts_with("a.toml:1:"), "{error}");
    }
}
