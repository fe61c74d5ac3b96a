//! `burn-rank loss NAME` computes the value, loss and gradient of a loss function on lists given as JSON lines.

use burn::tensor::DType;
use burn_rank::data::letor::ReadOptions;
use burn_rank::json::from_value;
use burn_rank::loss::{Explained, LossSpec, RankingLoss, explain_taught};
use burn_rank::workbench::{self, Source, registry};
use serde::Deserialize;

use super::*;

/// Arguments of `loss`.
#[derive(Debug, Args)]
pub struct LossArgs {
    /// Name of the loss (see `burn-rank models --losses`), or a measure and a relaxation, as in ap:rank_indicators.
    /// Omit it if --set gives a measure or a relaxation
    #[arg(required_unless_present = "set")]
    name: Option<String>,
    /// Set a parameter of the loss, as in alpha=10
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Arithmetic
    #[arg(long, value_enum, default_value_t = Precision::F32)]
    precision: Precision,
    /// Device, as listed by `burn-rank devices` [default: BURN_DEVICE, else flex]
    #[arg(long)]
    device: Option<String>,
    /// Instead of reading lists, show how the loss is computed for lists of N documents, and the errors measured at
    /// this length
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    approximation: Option<u32>,
    /// File with one JSON object {"scores": [..], "labels": [..]} per line; `-` is standard input. A key `"teacher":
    /// [..]` adds a teacher's scores, with null where there is none. A list from which nothing can be learned has the
    /// value `null`, and is left out of means. A value or gradient that is not finite is an error
    #[arg(default_value = "-")]
    file: PathBuf,
    #[command(flatten)]
    pub(super) execution: ExecutionArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum Precision {
    F32,
    F64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    scores: Vec<f64>,
    labels: Vec<f64>,
    /// The scores of a teacher, null for a document that it has not scored.
    #[serde(default)]
    teacher: Option<Vec<Option<f64>>>,
}

impl LossArgs {
    /// Returns the loss that the arguments specify, and the file with the lists.
    fn spec(&self) -> Result<(LossSpec, &Path)> {
        let mut params = input::assignments("--set", &self.set)?;
        let joined = ["measure", "relaxation"].iter().any(|part| params.contains_key(*part));
        let given = self.name.as_deref().map(|name| (LossSpec::parse(name), name));
        // If --set gives the measure, the only argument is the file.
        let alone = self.file == Path::new("-");
        match given {
            None if !joined => bail!("expected the name of a loss, or --set measure=NAME"),
            None => Ok((workbench::joined(params), &self.file)),
            Some((spec, name)) if joined && alone && registry::find(&spec.name).is_err() => {
                Ok((workbench::joined(params), Path::new(name)))
            }
            Some((spec, name)) => {
                if let Some(key) = spec.params.keys().find(|key| params.contains_key(*key)) {
                    bail!("--set {key}: found `{key}` in `{name}` too, expected it once");
                }
                params.extend(spec.params);
                Ok((LossSpec { name: spec.name, params }, &self.file))
            }
        }
    }

    pub(super) fn run(&self, out: &mut dyn Write) -> Result {
        let (spec, file) = self.spec()?;
        let loss = spec.build()?;
        let dtype = if self.precision == Precision::F64 { DType::F64 } else { DType::F32 };
        if let Some(documents) = self.approximation {
            let found = loss.about().approximation(documents as usize, dtype)?;
            let formula = || json!({"documents": documents, "evaluation": "formula"});
            return Ok(writeln!(out, "{}", found.map_or_else(formula, |approximation| json!(approximation)))?);
        }
        let device = open_device(self.device.as_deref())?;
        let evaluation = Evaluation { loss: loss.as_ref(), dtype, device };
        let input = input::text(file)?;
        let (name, is_file) = (&input.name().to_path_buf(), workbench::is_file(&input));
        let mut source = Source::open(input, &ReadOptions::default()).map_err(|error| Failure::Input(error.into()))?;
        let (mut block, mut number, mut empty) = (Vec::new(), 0, true);
        loop {
            source.next_block(&mut block).map_err(|error| Failure::Input(error.into()))?;
            if block.is_empty() {
                ensure!(!empty, "{}: found no list, expected one in each line", name.display());
                return Ok(());
            }
            for line in block.split_inclusive(|byte| *byte == b'\n') {
                number += 1;
                if !line.trim_ascii().is_empty() {
                    empty = false;
                    let explained = evaluation.explain_line(name, number, line.trim_ascii_end(), out);
                    explained.map_err(|failure| if is_file { or_kind(failure, name) } else { failure })?;
                }
            }
        }
    }
}

/// If the file is not JSON, returns a failure that names its actual kind; otherwise, returns `failure` unchanged.
fn or_kind(failure: Failure, file: &Path) -> Failure {
    match FileKind::of_file(file) {
        Some(kind) if kind != FileKind::Json && !kind.is_plain() && matches!(failure, Failure::Input(_)) => {
            let expected = "lines {\"scores\": [..], \"labels\": [..]}";
            Failure::input(format!("{}: found {}, expected {expected}", file.display(), kind.in_words()))
        }
        _ => failure,
    }
}

/// Returns the message of a JSON error without the position that serde adds.
fn without_place(error: &serde_json::Error) -> String {
    let (message, place) = (error.to_string(), format!(" at line {} column {}", error.line(), error.column()));
    message.strip_suffix(&place).unwrap_or(&message).to_string()
}

/// The loss to compute, and the device and number type on which it is computed.
struct Evaluation<'a> {
    loss: &'a dyn RankingLoss,
    dtype: DType,
    device: Device,
}

impl Evaluation<'_> {
    fn explain_line(&self, file: &Path, number: usize, line: &[u8], out: &mut dyn Write) -> Result {
        let refuse = |message: String| Failure::input(format!("{}:{number}: {message}", file.display()));
        let list: List = serde_json::from_slice(line).map_err(|error| {
            // The column numbers come from serde; the words are ours if the text is valid JSON.
            let message = match serde_json::from_slice::<Value>(line).map(from_value::<List>) {
                Ok(Err(refusal)) => refusal.message(),
                _ => without_place(&error),
            };
            Failure::input(format!("{}:{number}:{}: {message}", file.display(), error.column()))
        })?;
        let scores = list.scores.len();
        if scores == 0 {
            return Err(refuse("found no scores, expected one or more".to_string()));
        }
        let teacher: Option<Vec<f64>> =
            list.teacher.map(|scores| scores.into_iter().map(|score| score.unwrap_or(f64::NAN)).collect());
        let lengths =
            [(list.labels.len(), "labels"), (teacher.as_ref().map_or(scores, Vec::len), "scores of a teacher")];
        if let Some((found, what)) = lengths.into_iter().find(|(found, _)| *found != scores) {
            return Err(refuse(format!("found {found} {what}, expected {scores}, one per score")));
        }
        let explained =
            explain_taught(self.loss, &list.scores, &list.labels, teacher.as_deref(), self.dtype, &self.device);
        let Explained { learnable, value, loss, grad, .. } = explained.map_err(|error| refuse(error.to_string()))?;
        if !(loss.is_finite() && grad.iter().all(|slope| slope.is_finite())) {
            let what = if loss.is_finite() { "gradient" } else { "loss" };
            return Err(refuse(self.overflow(what, &list.scores)));
        }
        let value = learnable.then_some(value);
        Ok(writeln!(out, "{}", json!({"value": value, "loss": loss, "grad": grad}))?)
    }

    /// Returns an error message about a list whose loss or gradient is not finite.
    fn overflow(&self, what: &str, scores: &[f64]) -> String {
        let name = self.loss.about().name;
        let largest = scores.iter().fold(0.0f64, |largest, score| largest.max(score.abs()));
        let (precision, wider) = if self.dtype == DType::F64 { ("f64", "") } else { ("f32", ", or --precision f64") };
        let found = format!("found scores up to {largest:?}, expected smaller ones{wider}");
        format!("the {what} of {name} is not finite in {precision}: {found}")
    }
}
