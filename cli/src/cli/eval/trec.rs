//! Evaluates a TREC run, with burn-rank's measures and any convention, or with the lines of trec_eval.

use std::io::Write;
use std::path::Path;

use burn_rank::measure::trec_eval::{TrecEvaluator, TrecMeasure};
use burn_rank::measure::{Convention, Evaluation, Evaluator, Measure, QueryValues};
use burn_rank::workbench::json::json;
use burn_rank::workbench::trec_eval::{TrecReport, documents};

use super::print::{AboutRun, Shown, conventions, note_empty};
use super::{EvalArgs, MEASURES};
use crate::cli::{Context, Failure, Judgments, Result, input, terminal};

pub(super) fn evaluate_run(args: &EvalArgs, run: &Path, qrels: &Path, out: &mut dyn Write) -> Result {
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
) -> Result<(Vec<Row>, AboutRun)> {
    let evaluator = |name| Ok(Evaluator::new(measures, &judgments.convention(name)?)?);
    let names: Vec<&'static str> = Convention::PRESETS.iter().map(|preset| preset.name).collect();
    let evaluators = names.iter().map(|name| evaluator(name)).collect::<Result<Vec<_>>>()?;
    let judged = judgments.each(run, |name, query| {
        let documents = documents(query, args.judging.depth())?;
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

/// The measures of one query, and whether it has no relevant document.
type Values = (Vec<f64>, bool);

/// Prints the same lines as trec_eval.
pub(super) fn print_lines(args: &EvalArgs, run: &Path, qrels: &Path, out: &mut dyn Write) -> Result {
    if let Some(convention) = args.convention.as_deref().filter(|name| *name != "trec_eval") {
        return Err(Failure::input(format!(
            "--convention {convention}: expected `trec_eval`, which --format trec prints a run in"
        )));
    }
    let asked = if args.measures.is_empty() { "official".to_string() } else { args.measures.join(",") };
    let measures = TrecMeasure::parse_list(&asked).context("--measures")?;
    let evaluator = TrecEvaluator::new(&measures, args.judging.level, args.judging.depth())?;
    let judgments = Judgments::read(qrels, &args.judging)?;
    let judged = judgments.each(run, |_, query| {
        let empty = query.qrels.iter().all(|(_, relevance)| *relevance < args.judging.level);
        Ok::<Values, Failure>((evaluator.query(query)?, empty))
    })?;

    let queries = judged.queries.len();
    let values = evaluator.summary(judged.queries.iter().map(|(_, (values, _))| values.as_slice()));
    let summary = TrecReport::of_all(&measures, &judged.tag, queries, &values);
    let empty = judged.queries.iter().filter(|(_, (_, empty))| *empty).count();
    let about = AboutRun::new(&judged, args.judging.complete);
    if args.json {
        let mut object = json!({
            "convention": judgments.convention("trec_eval")?, "queries": queries, "empty_queries": empty,
            "measures": summary,
        });
        about.add_to(&mut object);
        if args.per_query {
            let row = |(query, (values, _)): &(String, Values)| json!({"query": query, "measures": TrecReport::of_query(&measures, query, values)});
            object["per_query"] = judged.queries.iter().map(row).collect();
        }
        return Ok(writeln!(out, "{object}")?);
    }
    if args.per_query {
        for (query, (values, _)) in &judged.queries {
            write!(out, "{}", TrecReport::of_query(&measures, query, values))?;
        }
    }
    write!(out, "{summary}")?;
    // Standard output matches trec_eval's line by line; anything more goes to standard error.
    note_empty(empty, queries, "trec_eval");
    for note in about.notes() {
        terminal::say(format_args!("note: {note}"));
    }
    Ok(())
}
