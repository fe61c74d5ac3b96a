//! Converts rankers to the formats of other systems and to burn-rank's own.

use std::io::Write;

use burn::tensor::Device;
use burn_rank::ranker::{ExportFormat, Ranker};
use burn_rank::workbench::atomic_file;
use burn_rank::workbench::ranker::{EXPORTS, ExportEntry};
use burn_rank::workbench::text::{counted, harmless};
use clap::builder::{PossibleValue, PossibleValuesParser};

use super::ConvertArgs;
use crate::cli::{Context, Failure, Result, input, terminal};

/// The name of burn-rank's own format, and the extension of its files.
const OWN: [&str; 2] = ["burn-rank", "safetensors"];

/// Returns the names of the formats with their help.
pub(super) fn formats() -> PossibleValuesParser {
    let exports = unique(EXPORTS, |entry| (entry.name, entry.help));
    let own = (OWN[0], "A saved ranker");
    PossibleValuesParser::new(exports.into_iter().chain([own]).map(|(name, help)| PossibleValue::new(name).help(help)))
}

/// Returns a property of all entries in their order, once where entries share it.
fn unique<'a, T: PartialEq>(entries: impl IntoIterator<Item = &'a ExportEntry>, of: fn(&ExportEntry) -> T) -> Vec<T> {
    let mut found = Vec::new();
    for value in entries.into_iter().map(of) {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// Joins words to a list such as `a, b or c`.
fn any_of(words: &[&str]) -> String {
    match words {
        [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        words => words.concat(),
    }
}

/// Returns the names of output files that determine a ranker's format, in the words of an error message.
pub(super) fn names() -> String {
    let mut extensions = unique(EXPORTS.iter().filter(|entry| entry.by_name), |entry| entry.extension);
    extensions.push(OWN[1]);
    let extensions: Vec<String> = extensions.iter().map(|extension| format!(".{extension}")).collect();
    let extensions: Vec<&str> = extensions.iter().map(String::as_str).collect();
    format!("a name that ends in {}, or another name with --format", any_of(&extensions))
}

impl ConvertArgs {
    pub(super) fn convert_ranker(&self, out: &mut dyn Write) -> Result {
        if !self.reading.is_default() {
            return Err(Failure::input("--missing and --read: expected data to convert, found a ranker"));
        }
        input::not_over("convert", &self.out, &[input::ranker_file(&self.from)], "is the ranker")?;
        let ranker = input::ranker(&self.from, &Device::flex())?;
        let format = self.format(&ranker)?;
        let (name, bytes) = match format {
            Some(format) => (format.to_string(), ranker.export(format).context(self.from.display())?),
            None => ("a saved ranker".to_string(), ranker.to_bytes()),
        };
        let notes = format.map_or(Vec::new(), |format| ranker.export_notes(format));
        let place = self.out.display();
        atomic_file::write(&self.out, &bytes).map_err(Failure::unwritable).context(format!("{place}: cannot write"))?;
        let (place, features) = (place.to_string(), counted(ranker.features(), "feature"));
        writeln!(out, "{}: {name}, {features}, {} bytes", harmless(&place), bytes.len())?;
        for note in notes {
            terminal::say(format_args!("note: {place}: {note}"));
        }
        Ok(())
    }

    /// Returns the format in which the ranker is written; `None` means burn-rank's own format.
    fn format(&self, ranker: &Ranker) -> Result<Option<ExportFormat>> {
        if let Some(name) = &self.format {
            return Ok(ExportFormat::named(name, ranker.model()));
        }
        let extension = self.out.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        if extension == OWN[1] {
            return Ok(None);
        }
        let format = ExportFormat::from_path(&self.out, ranker.model());
        let sharing = unique(EXPORTS.iter().filter(|entry| entry.extension == extension), |entry| entry.name);
        let expected = match &sharing[..] {
            [] => format!("expected {}", names()),
            formats => {
                format!("several formats are {}, expected --format {}", extension.to_uppercase(), any_of(formats))
            }
        };
        format.map(Some).ok_or_else(|| Failure::input(format!("{}: {expected}", self.out.display())))
    }
}
