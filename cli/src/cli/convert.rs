//! `burn-rank convert` converts rankers to and from the formats of other systems, and data to tables or text.

use std::borrow::Borrow;
use std::fmt::Display;

use burn_rank::data::columnar::Format;
use burn_rank::ranker::ExportFormat;
use burn_rank::workbench::ranker::{EXPORTS, ExportEntry};
use burn_rank::workbench::separator_of_name;
use clap::builder::{PossibleValue, PossibleValuesParser};

use super::*;

/// Arguments of `convert`.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// A ranker: a saved one, the folder of a `train` run, or a file of LightGBM (text), XGBoost (JSON), CatBoost
    /// (JSON) or RankLib (XML). Or data: text (`-` for standard input), or an Arrow, Parquet, CSV or TSV file
    from: PathBuf,
    /// File to write; an existing file is replaced. A ranker becomes ONNX (NAME.onnx), RankLib XML (NAME.xml), or a
    /// saved ranker (NAME.safetensors). With NAME.txt, a linear ranker becomes RankLib text, and trees become LightGBM
    /// text. Other names need --format. Data become a table if the name is NAME.arrow or NAME.parquet, and LETOR text
    /// if it is NAME.txt
    out: PathBuf,
    /// Format of a ranker [default: chosen by the name of OUT]
    #[arg(long, value_parser = formats())]
    format: Option<String>,
    #[command(flatten)]
    reading: input::ReadArgs,
}

impl ConvertArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        let format = Format::from_path(&self.out);
        // The name says what the file holds, or else its first bytes.
        let is_named = Format::from_path(&self.from).is_some() || separator_of_name(&self.from).is_some();
        let is_data = is_named || FileKind::of_file(&self.from).is_some_and(FileKind::is_data);
        if format.is_none() && (is_standard_stream(&self.from) || !is_data) {
            return self.convert_ranker(out);
        }
        ensure!(self.format.is_none(), "--format: expected a ranker to convert, found data");
        self.convert_data(format, out)
    }

    /// Writes data as a table in `format`, or as LETOR text if `format` is `None`.
    fn convert_data(&self, format: Option<Format>, out: &mut dyn Write) -> Result {
        let place = self.out.display();
        input::not_over("convert", &self.out, &[&self.from], "is read")?;
        let (from, extension) = (self.from.display(), self.out.extension());
        if !is_standard_stream(&self.from) && is_ranker(&self.from) {
            bail!("{place}: found a name for a table, expected one for the ranker {from}: {}", names());
        }
        let is_table = FileKind::of_file(&self.from)
            .is_none_or(|kind| !matches!(kind, FileKind::Letor | FileKind::Gzip))
            || separator_of_name(&self.from).is_some();
        let names = if is_table { ".arrow, .parquet or .txt" } else { ".arrow or .parquet" };
        if format.is_none() && !(is_table && extension.is_some_and(|extension| extension == "txt")) {
            let what = if is_table { "the table" } else { "the text" };
            bail!("{place}: expected a name that ends in {names} for {what} {from}");
        }
        let data = self.reading.read(std::slice::from_ref(&self.from), None)?;
        let has_weights = !(data.query_weights.is_empty() && data.document_weights.is_empty());
        if format.is_none() && (has_weights || !data.positions.is_empty() || !data.teacher.is_empty()) {
            let expected = "a name that ends in .arrow or .parquet: text keeps weights, positions and a teacher's scores \
                in separate files";
            bail!("{place}: expected {expected}");
        }
        let counts = [(data.queries(), "query"), (data.documents(), "document"), (data.feature_count, "feature")];
        let shape = counts.map(|(count, what)| counted(count, what)).join(", ");
        let loses_names = format.is_none() && !data.feature_names.is_empty();
        files::write(&self.out, |mut file| {
            let written = match format {
                Some(format) => data.write_columnar(format, file),
                None => data.write_letor(&mut file),
            };
            written.map_err(files::to_io)
        })?;
        let bytes = self.out.metadata().map_or(0, |about| about.len());
        let format = format.map_or_else(|| "LETOR text".to_owned(), |format| format.to_string());
        let place = place.to_string();
        writeln!(out, "{}: {format}, {shape}, {bytes} bytes", harmless(&place))?;
        if loses_names {
            terminal::say(format_args!("note: {place}: text has feature numbers, so the names of columns are lost"));
        }
        Ok(())
    }

    fn convert_ranker(&self, out: &mut dyn Write) -> Result {
        self.reading.expect_none("a ranker")?;
        input::not_over("convert", &self.out, &[input::ranker_file(&self.from)], "is the ranker")?;
        let ranker = input::ranker(&self.from, &Device::flex())?;
        let format = self.format(&ranker)?;
        let (name, bytes) = match format {
            Some(format) => (format.to_string(), ranker.export(format)),
            None => ("a saved ranker".to_string(), Ok(ranker.to_bytes())),
        };
        let bytes = bytes.map_err(|error| Failure::from(error).context(self.from.display()))?;
        let notes = format.map_or(Vec::new(), |format| ranker.export_notes(format));
        files::write(&self.out, |file| file.write_all(&bytes))?;
        let (place, features) = (self.out.display().to_string(), counted(ranker.features(), "feature"));
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
        let (place, of_name) = (self.out.display(), extension.to_uppercase());
        match format {
            None if sharing.is_empty() => bail!("{place}: expected {}", names()),
            None => bail!("{place}: several formats are {of_name}, expected --format {}", any_of(&sharing)),
            format => Ok(format),
        }
    }
}

/// Returns whether a file or folder holds a ranker.
fn is_ranker(path: &Path) -> bool {
    path.join(RANKER).is_file() || FileKind::of_file(path).is_some_and(FileKind::is_ranker)
}

/// The name of burn-rank's own format, and the extension of its files.
const OWN: [&str; 2] = ["burn-rank", "safetensors"];

/// Returns the names of the formats with their help.
fn formats() -> PossibleValuesParser {
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
fn any_of<S: Borrow<str> + Display>(words: &[S]) -> String {
    match words {
        [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        words => words.concat(),
    }
}

/// Returns the names of output files that determine a ranker's format, in the words of an error message.
fn names() -> String {
    let mut extensions = unique(EXPORTS.iter().filter(|entry| entry.by_name), |entry| format!(".{}", entry.extension));
    extensions.push(format!(".{}", OWN[1]));
    format!("a name that ends in {}, or another name with --format", any_of(&extensions))
}
