//! Evaluates the scores of LETOR documents.

use std::io::Write;
use std::path::{Path, PathBuf};

use burn_rank::data::RankingDataset;
use burn_rank::measure::{Convention, evaluate};
use burn_rank::refusal::Refusal;

use super::print::{Shown, conventions};
use super::queries::{self, QueriesAsked};
use super::{EvalArgs, MEASURES};
use crate::cli::{Failure, Result, Scored, during, input};
use crate::experiment::ExtremeQueries;

pub(super) fn evaluate_ranker(args: &EvalArgs, model: &Path, data: &[PathBuf], out: &mut dyn Write) -> Result {
    let device = args.scoring.device()?;
    let asked = asked(args)?;
    let ranker = input::ranker(model, &device)?;
    let data = args.scoring.reading.read(data, Some((model, &ranker)))?;
    show(args, &Scored::by_ranker(model, &ranker, &data, &device)?, &data, asked, out)
}

pub(super) fn evaluate_scores(args: &EvalArgs, scores: &Path, data: &[PathBuf], out: &mut dyn Write) -> Result {
    let asked = asked(args)?;
    let data = args.scoring.reading.read(data, None)?;
    show(args, &Scored::from_file(scores, &data)?, &data, asked, out)
}

/// Reads `--queries`.
fn asked(args: &EvalArgs) -> Result<Option<QueriesAsked>> {
    let refuse = |refusal: Refusal| Failure::input(format!("--queries: {}", refusal.message()));
    args.queries.as_deref().map(|text| text.parse().map_err(refuse)).transpose()
}

fn show(
    args: &EvalArgs,
    scored: &Scored,
    data: &RankingDataset,
    asked: Option<QueriesAsked>,
    out: &mut dyn Write,
) -> Result {
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
    let evaluation = during("measuring", || evaluate(&scored.rankings(data, &convention), &measures, &convention))?;
    let queries = data.query_ids.iter().map(String::as_str).collect();
    let of = |QueriesAsked { worst, best }| {
        let (measure, _) = &evaluation.means[0];
        ExtremeQueries::new(measure, data, scored.as_float32(), &evaluation.per_query[0], [worst, best])
    };
    let extremes = asked.map(of);
    Shown { evaluation: &evaluation, queries, run: None, extremes: extremes.as_ref() }.show(args, out)?;
    match extremes.filter(|_| !args.json) {
        Some(extremes) => queries::print(&extremes, out),
        None => Ok(()),
    }
}
