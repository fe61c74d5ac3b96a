//! Evaluates a TREC run with burn-rank's measures and any convention.

use std::io::Write;
use std::path::Path;

use burn_rank::measure::{Convention, Evaluation, Evaluator, Measure, QueryValues};

use super::print::{AboutRun, Shown, conventions};
use super::{EvalArgs, MEASURES};
use crate::cli::{Failure, Judgments, input};

pub(super) fn evaluate_run(args: &EvalArgs, run: &Path, qrels: &Path, out: &mut dyn Write) -> Result<(), Failure> {
    let measures = input::measures(&args.measures, MEASURES)?;
    let judgments = Judgments::read(qrels, &args.judging)?;
    if args.compare_conventions {
        let (rows, about) = under_every_convention(&judgments, run, &measures, args)?;
        if !args.json {
            about.write(out)?;
        }
        return conventions(&measures, rows.into_iter(), args.json, out);
    }
    let convention = judgments.convention(args.convention.as_deref().unwrap_or("trec_eval"))?;
    let evaluator = Evaluator::new(&measures, &convention)?;
    let judged = judgments.measure(run, &evaluator)?;
    let (queries, values): (Vec<&str>, Vec<&QueryValues>) =
        judged.queries.iter().map(|(query, values)| (query.as_str(), values)).unzip();
    let evaluation = evaluator.summary(&values)?;
    let about = AboutRun::new(&judged, args.judging.complete);
    Shown { evaluation: &evaluation, queries, run: Some(about), extremes: None }.show(args, out)
}

/// The name of a convention, with the evaluation under it or the reason why the convention does not apply.
type Row = (&'static str, Result<Evaluation, String>);

/// Reads a run once and evaluates it under every preset. If a preset does not apply, its row contains the reason.
fn under_every_convention(
    judgments: &Judgments,
    run: &Path,
    measures: &[Measure],
    args: &EvalArgs,
) -> Result<(Vec<Row>, AboutRun), Failure> {
    let evaluator = |name| Ok(Evaluator::new(measures, &judgments.convention(name)?)?);
    let names: Vec<&'static str> = Convention::PRESETS.iter().map(|preset| preset.name).collect();
    let evaluators = names.iter().map(|name| evaluator(name)).collect::<Result<Vec<_>, Failure>>()?;
    let judged = judgments.each(run, |name, query| {
        let documents = query.documents(args.judging.depth())?;
        let under = |evaluator: &Evaluator| {
            evaluator.query(&documents.ranking()).map_err(|error| judgments.place(name, &documents, &error))
        };
        Ok(evaluators.iter().map(under).collect::<Vec<_>>())
    })?;
    let rows = names.into_iter().zip(&evaluators).enumerate().map(|(at, (name, evaluator))| {
        let values: Result<Vec<&QueryValues>, String> =
            judged.queries.iter().map(|(_, values)| values[at].as_ref().map_err(String::clone)).collect();
        (name, values.and_then(|values| evaluator.summary(&values).map_err(|error| error.to_string())))
    });
    Ok((rows.collect(), AboutRun::new(&judged, args.judging.complete)))
}
