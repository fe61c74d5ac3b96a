//! `burn-rank init` writes a first configuration for the user's data.

use std::collections::HashSet;
use std::fs::{self, OpenOptions};

use burn_rank::data::folds;
use burn_rank::workbench::check::no_feature_varies;

use super::check::{Set, read, sets};
use super::*;
use crate::experiment::ConfigError;
use crate::experiment::proposal::{self, Choice, Labels, Seen, Source};

/// Arguments of `init`.
#[derive(Debug, Args)]
#[command(after_long_help = include_str!("texts/init.txt").trim_ascii_end())]
pub struct InitArgs {
    /// Data files, or a folder with folds
    #[arg(required = true)]
    data: Vec<PathBuf>,
    /// File to write, which must not exist yet; `-` is standard output [default: NAME.toml, after the name of the data]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Print one JSON object instead of the summary; needs a file as --out
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reading: input::ReadArgs,
}

/// Guesses from a file's name which data set it belongs to: 0 for training, 1 for validation, 2 for test. The last word
/// of the name that names a set decides.
fn set_of(file: &Path) -> usize {
    let name = file.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let words = name.rsplit(|c: char| matches!(c, '.' | '_' | '-') || c.is_ascii_digit());
    let set = |word: &str| match word {
        "train" | "training" => Some(0),
        "vali" | "valid" | "validation" | "dev" => Some(1),
        "test" | "testing" => Some(2),
        _ => None,
    };
    words.into_iter().find_map(set).unwrap_or(0)
}

impl InitArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        if self.data.iter().any(|path| is_standard_stream(path)) {
            bail!("init: found `-`, expected files, because the configuration names them");
        }
        let path = self.out.clone().unwrap_or_else(|| self.name());
        let to_output = is_standard_stream(&path);
        input::not_beside_json(self.json, "--out", &path)?;
        if !to_output && path.symlink_metadata().is_ok() {
            return Err(exists(&path));
        }
        let seen = self.look(&path)?;
        if seen.teaching() == 0 {
            let message = "found no training query with two labels, expected at least one: there is nothing to learn";
            bail!("{}: {message}", self.data[0].display());
        }
        let command = command(&seen, &path);
        let text = seen.configuration(&command);
        let document = Document::parse(&path, text.clone(), &[])?;
        if let Err(ConfigError { message, .. }) = Experiment::from_document(&document) {
            bail!("--read: the configuration would be refused, so leave the option out and change the file: {message}");
        }
        if to_output {
            write!(out, "{text}")?;
            summary(&seen).join("\n").lines().for_each(|line| terminal::say(format_args!("{line}")));
            return Ok(());
        }
        let created = OpenOptions::new().write(true).create_new(true).open(&path);
        // Half a file would be in the way of the next command.
        let written =
            created.and_then(|mut file| file.write_all(text.as_bytes()).inspect_err(|_| drop(fs::remove_file(&path))));
        written.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => exists(&path),
            _ => Failure::unwritable(error).context(format!("{}: cannot write", path.display())),
        })?;
        if self.json {
            let record = json!({
                "out": path.display().to_string(), "choice": seen.choice().0, "labels": seen.labels(), "sets": seen.sets(),
                "train": seen.train, "missing_values": seen.missing, "next": command,
            });
            return Ok(writeln!(out, "{record}")?);
        }
        summary(&seen).iter().try_for_each(|line| writeln!(out, "{line}"))?;
        writeln!(out, "{:WORDS$}{}", "written to", path.display())?;
        Ok(writeln!(out, "{:WORDS$}{}", "next", harmless(&command))?)
    }

    /// Returns the name of the configuration file, derived from the name of the data.
    fn name(&self) -> PathBuf {
        let name = files::last_name(&self.data[0]);
        let stem = name.split('.').find(|part| !part.is_empty()).unwrap_or("ranker");
        PathBuf::from(format!("{stem}.toml"))
    }

    /// Reads the data.
    fn look(&self, out: &Path) -> Result<Seen> {
        let (source, sets) = self.source(out)?;
        let (mut train, mut relevant, mut missing, mut istellas) = (None, 0, 0, false);
        let (mut seen, mut overlaps) = (HashSet::new(), false);
        let (mut widths, mut names, mut labels, mut folds) = (Vec::new(), Vec::new(), Vec::new(), None);
        let sets: Vec<_> = sets.iter().enumerate().filter(|(_, set)| !set.files.is_empty()).collect();
        let is_cut = sets.len() == 1 && matches!(source, Source::Files(_));
        for (at, Set { files, .. }) in sets {
            let (data, number) = read(&self.reading, files, &names)?;
            istellas |= number;
            let statistics = data.statistics();
            widths.push(statistics.features);
            missing += statistics.missing_values;
            labels.extend(statistics.labels.iter().map(|(label, _)| *label));
            if at == 0 {
                if no_feature_varies(&data) {
                    let message = "found no feature that varies, expected at least one: there is nothing to learn";
                    bail!("{}: {message}", files[0].display());
                }
                relevant = data.labels.iter().filter(|label| **label >= 1.0).count();
                train = Some(statistics);
                folds = is_cut.then(|| proposal::folds(&data, &labels)).flatten();
                names = data.feature_names;
            }
            overlaps |= data.query_ids.into_iter().any(|query| !seen.insert(query));
        }
        labels.sort_by(f32::total_cmp);
        let train = train.ok_or_else(|| Failure::input("init: found no training file, expected one"))?;
        let mut keys = self.reading.keys()?;
        if istellas {
            keys.insert("missing_value".to_string(), Value::from(1.797e308));
        }
        let joins = !overlaps || matches!(source, Source::Folds(..)) || read(&self.reading, &self.data, &names).is_ok();
        let differs = widths.iter().any(|width| *width != train.features);
        let features = widths.into_iter().max().filter(|_| differs);
        Ok(Seen { source, train, relevant, labels, folds, joins, missing, features, read: keys })
    }

    /// Returns how the configuration refers to the data. Also returns the training, validation and test sets to
    /// inspect.
    fn source(&self, out: &Path) -> Result<(Source, Vec<Set>)> {
        // Paths in a configuration are relative to its folder.
        let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty() && *folder != Path::new("."));
        let from_there =
            |path: &PathBuf| folder.and_then(|_| std::path::absolute(path).ok()).unwrap_or_else(|| path.clone());
        if let Some(folder) = self.data.iter().find(|path| path.is_dir()) {
            if self.data.len() > 1 {
                let message = "found a folder among several paths, expected files, or one folder of folds";
                bail!("{}: {message}", folder.display());
            }
            let count = folds::discover(folder)?.len();
            return Ok((Source::Folds(from_there(folder), count), sets(&self.data, 1)?));
        }
        let of = |set: usize| -> Vec<PathBuf> {
            // A single file is the training file, whatever its name.
            let is_of = |file: &&PathBuf| if self.data.len() == 1 { set == 0 } else { set_of(file) == set };
            self.data.iter().filter(is_of).cloned().collect()
        };
        let files = [of(0), of(1), of(2)];
        let there = files.clone().map(|files| files.iter().map(from_there).collect());
        let sets = files.into_iter().map(|files| Set { name: String::new(), files }).collect();
        Ok((Source::Files(there), sets))
    }
}

fn exists(path: &Path) -> Failure {
    let message = "exists, and init replaces no file; choose another one with --out";
    Failure::input(format!("{}: {message}", path.display()))
}

/// Returns the command that the user can run next with the new configuration.
fn command(seen: &Seen, path: &Path) -> String {
    let path = if is_standard_stream(path) { "FILE.toml".to_string() } else { path.display().to_string() };
    let plain = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
    let path = if path.chars().all(plain) { path } else { format!("'{}'", path.replace('\'', r"'\''")) };
    match seen.cross_validates() {
        true if seen.joins => format!("burn-rank cv {path} --refit final"),
        true => format!("burn-rank cv {path}"),
        false => format!("burn-rank train {path}"),
    }
}

/// The width of the first column of the summary, in characters.
const WORDS: usize = 21;

/// Returns the entries that summarize the data, of one or several lines.
fn summary(seen: &Seen) -> Vec<String> {
    let train = &seen.train;
    let (least, median, most) = train.length_range;
    let share = |count: usize| 100.0 * count as f64 / train.documents.max(1) as f64;
    let shown: Vec<String> =
        train.labels.iter().take(6).map(|(label, count)| format!("{label}: {:.1}%", share(*count))).collect();
    let more = train.labels.len().saturating_sub(6);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let kind = match seen.labels() {
        Labels::Grades => "grades",
        Labels::Binary => "two levels",
        Labels::OnePositive => "one document of a query is relevant",
        Labels::Values => "no grades: the gain is the label",
    };
    let (choice, why) = seen.choice();
    let choice = match choice {
        Choice::Network => "a network",
        Choice::Trees => "boosted trees",
        Choice::Linear => "a linear scorer",
    };
    let missing = if seen.missing == 0 { "none".to_string() } else { seen.missing.to_string() };
    let counts = [(train.queries, "query"), (train.documents, "document"), (train.features, "feature")];
    let line = |word: &str, words: &str| format!("{word:WORDS$}{words}");
    let mut lines = vec![
        line("training data", &counts.map(|(count, what)| counted(count, what)).join(", ")),
        line("documents per query", &format!("{least} to {most}, median {median}")),
        line("labels", &format!("{kind}; {}{more}", shown.join(", "))),
        line("to learn from", &format!("{} with two labels", counted(seen.teaching(), "query"))),
        line("missing values", &missing),
        line("sets", &indented(&seen.sets(), WORDS)),
    ];
    if !seen.joins {
        lines.push(line("", "two files have a query of one name, so --refit cannot join them"));
    }
    if let Source::Files(sets) = &seen.source
        && sets.iter().flatten().count() > 1
    {
        for (set, files) in ["  train", "  validation", "  test"].into_iter().zip(sets) {
            lines.extend(files.iter().map(|file| line(set, &harmless(&file.display().to_string()))));
        }
    }
    lines.push(line("first choice", &indented(&format!("{choice}: {why}"), WORDS)));
    lines
}
