//! Evaluates scores of LETOR documents.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::print::{Shown, conventions};
use super::{EvalArgs, MEASURES};
use crate::cli::scored::Scored;
use crate::cli::{Failure, input};
use crate::data::RankingDataset;
use crate::measure::{Convention, evaluate};

pub(super) fn evaluate_ranker(
    args: &EvalArgs,
    model: &Path,
    data: &[PathBuf],
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let device = input::device(&args.device)?;
    let data = args.reading.read(data, None)?;
    show(args, &Scored::by_ranker(model, &data, &device)?, &data, out)
}

pub(super) fn evaluate_scores(
    args: &EvalArgs,
    scores: &Path,
    data: &[PathBuf],
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let data = args.reading.read(data, None)?;
    show(args, &Scored::from_file(scores, &data)?, &data, out)
}

fn show(args: &EvalArgs, scored: &Scored, data: &RankingDataset, out: &mut dyn Write) -> Result<(), Failure> {
    let measures = input::measures(&args.measures, MEASURES)?;
    if args.compare_conventions {
        let rows = Convention::PRESETS.iter().map(|preset| {
            let convention = preset.convention();
            let evaluation = evaluate(&scored.rankings(data, &convention), &measures, &convention);
            (preset.name, evaluation.map_err(|error| error.to_string()))
        });
        return conventions(&measures, rows, args.json, out);
    }
    let convention = match &args.convention {
        Some(text) => input::convention(text)?,
        None => scored.convention.clone().unwrap_or_default(),
    };
    let evaluation = evaluate(&scored.rankings(data, &convention), &measures, &convention)?;
    let queries = data.query_ids.iter().map(String::as_str).collect();
    Shown { evaluation: &evaluation, queries, run: None }.show(args, out)
}
