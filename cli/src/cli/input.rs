//! Reads input in the ways that several commands share: data files, score files and names of measures.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use burn::tensor::Device;
use burn_rank::data::letor::{Missing, ReadOptions, Weights};
use burn_rank::data::{Columns, DataError, Input, RankingDataset};
use burn_rank::device::DeviceError;
use burn_rank::json::{Map, Value, from_value};
use burn_rank::measure::trec_eval::TrecMeasure;
use burn_rank::measure::{Convention, Measure, MeasureError};
use burn_rank::ranker::Ranker;
use burn_rank::refusal::Refusal;
use burn_rank::workbench::json::keys_of;
use burn_rank::workbench::text::{counted, is_standard_stream, nearest, shown};
use burn_rank::workbench::{self, Assembled, FileKind, Like, Source, name_unread, quoted, read_like};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use toml::de::DeTable;

use super::{ExecutionArgs, Failure, Result, bail, during, ensure, open_device, terminal};
use crate::experiment::{self, RANKER, from_toml, moved_in_words, written_value};

/// While a command reads a memory-mapped file, at most this much of the file stays in memory.
const RESIDENT: usize = 256 << 20;

/// Says why a command line that reads standard input twice is rejected.
const TWICE: &str = "standard input: found `-` twice, expected it once";

/// Opens a file, or standard input for `-`.
pub fn text(path: &Path) -> Result<Input> {
    // The command owns the process, and this is the only place that reads its standard input.
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if !is_standard_stream(path) {
        return Ok(Input::from_path(path));
    }
    ensure!(!TAKEN.swap(true, Ordering::Relaxed), "{TWICE}");
    Ok(Input::from_reader("standard input", io::stdin()))
}

/// Rejects a command line that reads standard input twice, before anything is read.
pub fn once<P: AsRef<Path>>(files: impl IntoIterator<Item = P>) -> Result {
    ensure!(files.into_iter().filter(|path| is_standard_stream(path.as_ref())).count() < 2, "{TWICE}");
    Ok(())
}

/// Arguments of a command that may score data with saved rankers.
#[derive(Debug, Args)]
pub struct ScoringArgs {
    #[command(flatten)]
    pub reading: ReadArgs,
    /// Device on which saved rankers score [default: BURN_DEVICE, else flex]
    #[arg(long)]
    device: Option<String>,
    #[command(flatten)]
    pub execution: ExecutionArgs,
}

impl ScoringArgs {
    /// Opens the device.
    pub fn device(&self) -> Result<Device, DeviceError> {
        open_device(self.device.as_deref())
    }
}

/// Options for reading data files.
#[derive(Debug, Args)]
pub struct ReadArgs {
    /// Treatment of a missing value (NULL or nan) [default: as for the ranker's training data; keep in check and init;
    /// else error]
    #[arg(long, value_parser = ["error", "zero", "query-min", "keep"])]
    missing: Option<String>,
    /// Set an option of the reader, as in max_compression_ratio=1000 or columns.label=rating; accepts any key of
    /// [data.read] or [data.columns]
    #[arg(long = "read", value_name = "KEY=VALUE")]
    options: Vec<String>,
}

impl ReadArgs {
    /// Reads all files as one data set. Missing values stay missing unless an option says otherwise. `number` counts as
    /// a missing value too. If `names` is not empty, the features of a table are the columns with these names.
    pub fn read_as_it_is(&self, files: &[PathBuf], number: Option<f64>, names: &[String]) -> Result<RankingDataset> {
        let mut options = self.options(None)?;
        if !self.keys()?.contains_key("missing") {
            options.missing = Missing::Keep;
        }
        options.missing_value = number.filter(|_| options.missing != Missing::Error).or(options.missing_value);
        Ok(read_with(files, &options, &Like { feature_names: names, ..Like::default() }, true)?.data)
    }

    /// Returns the user's options as keys of `[data.read]` in a configuration.
    pub fn keys(&self) -> Result<Map> {
        let mut keys = assignments("--read", &self.options)?;
        if let Some(missing) = &self.missing {
            keys.insert("missing".to_string(), missing.clone().into());
        }
        Ok(keys)
    }

    /// Returns an error if the user set an option for reading data where the command reads none by it, but `found`.
    pub fn expect_none(&self, found: &str) -> Result {
        let is_default = self.missing.is_none() && self.options.is_empty();
        ensure!(is_default, "--missing and --read: expected data to read by them, found {found}");
        Ok(())
    }

    /// Returns an error if the options keep missing values and the ranker does not accept them.
    pub fn check(&self, ranker: &Ranker) -> Result {
        if self.options(None)?.missing == Missing::Keep && !ranker.takes_missing() {
            bail!("missing = keep: expected error, zero or query-min: the ranker does not accept missing values");
        }
        Ok(())
    }

    /// Returns the options for reading data. Options for missing values that the user did not set are those from the
    /// training of the ranker; `trained` is its configuration.
    pub(super) fn options(&self, trained: Option<&Value>) -> Result<ReadOptions> {
        let refuse = |refusal: Refusal| Failure::input(format!("--read {}", refusal.with_key()));
        let read = trained.map(|config| &config["data"]["read"]);
        let trained = OF_MISSING.iter().filter_map(|key| Some((key.to_string(), read?.get(key)?.clone())));
        let (mut asked, mut columns) = (Map::new(), Map::new());
        for (key, value) in trained.chain(self.keys()?) {
            match key.strip_prefix("columns.") {
                Some(column) => columns.insert(column.to_owned(), value),
                None => asked.insert(key, value),
            };
        }
        let mut options: ReadOptions =
            from_value(Value::from(asked)).map_err(|refusal| refuse(name_column(refusal)))?;
        let columns = from_value(Value::from(columns)).map_err(|refusal: Refusal| refusal.under("columns"));
        options.columns = columns.map_err(|refusal| refuse(show_list(name_unread(refusal))))?;
        if options.columns.weight.is_some() {
            options.document_weights = Weights::File;
        }
        options.positions = options.columns.position.is_some();
        Ok(options)
    }
}

/// Reads all files as one data set. If `tells_moves` is true, says how many rows were moved next to the other rows of
/// their query.
pub(super) fn read_with(files: &[PathBuf], options: &ReadOptions, like: &Like, tells_moves: bool) -> Result<Assembled> {
    let inputs = files.iter().map(|path| text(path)).collect::<Result<Vec<_>, _>>()?;
    let named = match files {
        [first, _, ..] => format!("{} and {} more", first.display(), counted(files.len() - 1, "file")),
        files => files.iter().map(|file| file.display().to_string()).collect(),
    };
    let read = during(&format!("reading {named}"), || {
        let read = read_like(inputs, options, like)?;
        read.data.keep_in_memory(RESIDENT);
        read.data.check_values()?;
        Ok::<_, DataError>(read)
    })?;
    if let Some(moved) = moved_in_words(&named, &read.data).filter(|_| tells_moves) {
        terminal::say(format_args!("note: {moved}"));
    }
    Ok(read)
}

/// Returns the refusal. If names were given without brackets, the message shows the list of these names.
fn show_list(mut refusal: Refusal) -> Refusal {
    if let (Some(found), "columns.drop") = (refusal.value(), &*refusal.key) {
        let names: Vec<String> = found.trim_matches('"').split(',').map(|name| format!("{:?}", name.trim())).collect();
        refusal.expected += &format!(", as in columns.drop=[{}]", names.join(", "));
    }
    refusal
}

/// Returns the refusal. If the unknown key is rather a key of `[data.columns]`, the message names that key.
fn name_column(refusal: Refusal) -> Refusal {
    let Some(unknown) = refusal.unknown_name() else { return refusal };
    let (name, columns) = (unknown.rsplit('.').next().unwrap_or_default(), keys_of::<Columns>());
    let near = || nearest(name, columns.iter().copied()).filter(|_| refusal.nearest_name().is_none());
    let column = if columns.contains(&name) { Some(name.to_owned()) } else { near() };
    let Some(column) = column else { return refusal };
    let message = format!("unknown field `{}`; did you mean `columns.{column}`?", shown(unknown));
    Refusal::fault(refusal.key, message)
}

/// The keys of `[data.read]` that determine which values count as missing and what replaces them.
const OF_MISSING: [&str; 3] = ["missing", "absent", "missing_value"];

/// Parses the measures of `-m`, which may be repeated and may contain commas. If no measures are given, parses
/// `default`.
pub fn measures(asked: &[String], default: &str) -> Result<Vec<Measure>> {
    let asked = if asked.is_empty() { default.to_string() } else { asked.join(",") };
    let measure = |name: &str| {
        name.parse().map_err(|error: MeasureError| match TrecMeasure::parse(name) {
            Ok(_) => format!("{error}; `{name}` is trec_eval's: eval --qrels Q --run R --format trec"),
            Err(_) => error.to_string(),
        })
    };
    let measures = asked.split(',').map(measure).collect::<Result<_, String>>();
    measures.map_err(|message| Failure::input(format!("--measures: {message}")))
}

/// Parses the name of a value, and lists all names with their meanings in the help.
pub fn one_of<T: Copy + Send + Sync + 'static>(
    values: impl IntoIterator<Item = (&'static str, T, &'static str)>,
) -> impl TypedValueParser<Value = T> {
    let values: Vec<_> = values.into_iter().collect();
    let names = values.iter().map(|(name, _, meaning)| PossibleValue::new(*name).help(*meaning));
    let names = PossibleValuesParser::new(names.collect::<Vec<_>>());
    names.map(move |given: String| values.iter().find(|(name, ..)| *name == given).expect("one of the names").1)
}

/// Parses each `KEY=VALUE` given for a repeated flag. A value is parsed as TOML or JSON if possible, and is taken as
/// text otherwise.
pub fn assignments(flag: &str, assignments: &[String]) -> Result<Map> {
    let mut values = Map::new();
    for assignment in assignments {
        let refuse = |message: String| Failure::input(format!("{flag} {}: {message}", shown(assignment)));
        let (key, value) = assignment.split_once('=').ok_or_else(|| refuse("expected key=value".to_string()))?;
        let value = written_value(key, value).map_err(|refusal| refuse(refusal.with_key()))?;
        if values.insert(key.to_string(), value).is_some() {
            return Err(refuse(format!("found `{key}` again, expected each key once")));
        }
    }
    Ok(values)
}

/// Returns the convention that the user named, or else the default of the command.
pub fn convention_or(asked: Option<&str>, default: impl FnOnce() -> Convention) -> Result<Convention> {
    asked.map_or_else(|| Ok(default()), convention)
}

/// Parses a convention: either the name of a preset, or a table of differences from a preset, as in
/// `measure.convention`.
pub fn convention(text: &str) -> Result<Convention> {
    if !text.trim_start().starts_with('{') {
        return Convention::preset(text).map_err(|error| Failure::from(error).context("--convention"));
    }
    let refuse = |message: &str| Failure::input(format!("--convention {}: {message}", shown(text)));
    let given = match serde_json::from_str(text) {
        Ok(given) => Ok(given),
        Err(_) => {
            let line = format!("convention = {text}");
            let table = DeTable::parse(&line).map_err(|error| refuse(error.message()))?;
            table.get_ref().values().next().map_or(Ok(Value::Null), |given| from_toml(given.get_ref(), ""))
        }
    };
    given.and_then(from_value).map_err(|refusal| refuse(&refusal.with_key()))
}

/// Returns an error if the output file is the same as one of `others`, which the command reads or must keep. `what`
/// completes the error message, as in "this one is read".
pub fn not_over<P: AsRef<Path>>(flag: &str, out: &Path, others: &[P], what: &str) -> Result {
    // Two paths may lead to the same file through links. A pipe or a terminal may be both read and written.
    let whole = |path: &Path| path.canonicalize().ok().filter(|path| path.is_file());
    let file = whole(out);
    if file.is_some() && others.iter().any(|other| whole(other.as_ref()) == file) {
        bail!("{flag} {}: expected a different file: this one {what}", out.display());
    }
    Ok(())
}

/// Rejects JSON on standard output next to another output there, which `option` names.
pub fn not_beside_json(json: bool, option: &str, path: &Path) -> Result {
    let words = "expected a file: standard output can hold only one of the two";
    ensure!(!json || !is_standard_stream(path), "--json: found {option} -, {words}");
    Ok(())
}

/// Returns the path of a ranker's file. This is `path` itself or, for the folder of a `train` run, the ranker in that
/// folder.
pub fn ranker_file(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(RANKER) } else { path.to_path_buf() }
}

/// Loads a ranker of this crate or of another system from its file, or from the folder of a `train` run.
pub fn ranker(path: &Path, device: &Device) -> Result<Ranker> {
    let opened = experiment::ranker_file(path).and_then(|file| Ok(Ranker::open(&file, device)?));
    opened.map_err(|error| Failure::Input(error.into()))
}

/// The maximum length of a line in a score file, in bytes.
const LONGEST_SCORE: usize = 1 << 10;

/// The hint for a TREC run that is given as a file of scores.
const OF_RUN: &str = " (a TREC run is read with --qrels)";

/// Reads one score per line from a file, which may be compressed, or from standard input if the path is `-`.
pub fn scores(path: &Path, documents: usize) -> Result<Vec<f64>> {
    // The number of documents bounds the text, so the limits of the reader are not needed.
    let mut options = ReadOptions { max_line_bytes: LONGEST_SCORE, ..ReadOptions::default() };
    (options.max_compression_ratio, options.max_decompressed_bytes) = (u64::MAX, u64::MAX);
    let input = text(path)?;
    let (path, is_file) = (&input.name().to_path_buf(), workbench::is_file(&input));
    let mut source = Source::open(input, &options)?;
    let mut scores: Vec<f64> = Vec::with_capacity(documents);
    let refuse = |line: usize, found: String, expected: &str| {
        let error = DataError::Syntax { path: path.into(), line, column: 1, found, expected: expected.to_owned() };
        let hint = if FileKind::of_file(path) == Some(FileKind::TrecRun) { OF_RUN } else { "" };
        let scores = format!("one score per line{hint}");
        Failure::from(if is_file { workbench::or_kind(error, path, FileKind::Numbers, &scores) } else { error })
    };
    let too_long = |line| refuse(line, format!("a line of more than {LONGEST_SCORE} bytes"), "a number");
    let wrong_count = |found: String| {
        Failure::input(format!("{}: found {found}, expected {documents}, one per document", path.display()))
    };
    let mut block = Vec::new();
    loop {
        match source.next_block(&mut block) {
            Err(DataError::Limit { .. }) => return Err(too_long(scores.len() + 1)),
            other => other?,
        }
        for line in block.split_inclusive(|byte| *byte == b'\n') {
            let number = scores.len() + 1;
            if number > documents {
                return Err(wrong_count(format!("more than {}", counted(documents, "score"))));
            }
            if line.len() > LONGEST_SCORE {
                return Err(too_long(number));
            }
            let written = line.trim_ascii();
            let score = std::str::from_utf8(written).ok().and_then(|text| text.parse().ok());
            let score = score.filter(|score: &f64| !score.is_nan());
            scores.push(score.ok_or_else(|| {
                let fields = written.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()).count();
                let hint = if fields >= 6 { OF_RUN } else { "" };
                refuse(number, quoted(written), &format!("a number{hint}"))
            })?);
        }
        if block.is_empty() {
            break;
        }
    }
    if scores.len() == documents { Ok(scores) } else { Err(wrong_count(counted(scores.len(), "score"))) }
}
