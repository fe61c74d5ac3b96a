//! Evaluates a TREC run and prints the same lines as trec_eval.

use std::io::Write;
use std::path::Path;

use burn_rank::measure::trec_eval::{TrecEvaluator, TrecMeasure, TrecOptions, TrecReport, TrecSummary};
use burn_rank::workbench::json::json;

use super::EvalArgs;
use super::print::{AboutRun, note_empty};
use crate::cli::{Context, Failure, Judgments, terminal};

/// The measures of one query, and whether it has no relevant document.
type Values = (Vec<f64>, bool);

pub(super) fn evaluate_run(args: &EvalArgs, run: &Path, qrels: &Path, out: &mut dyn Write) -> Result<(), Failure> {
    if let Some(convention) = args.convention.as_deref().filter(|name| *name != "trec_eval") {
        return Err(Failure::input(format!(
            "--convention {convention}: expected `trec_eval`, which --format trec prints a run in"
        )));
    }
    let asked = if args.measures.is_empty() { "official".to_string() } else { args.measures.join(",") };
    let measures = TrecMeasure::parse_list(&asked).context("--measures")?;
    let options = TrecOptions { relevance_level: args.judging.level, depth: args.judging.depth() };
    let evaluator = TrecEvaluator::new(&measures, options)?;
    let judgments = Judgments::read(qrels, &args.judging)?;
    let judged = judgments.each(run, |_, query| {
        let empty = query.qrels.iter().all(|judgment| judgment.relevance < options.relevance_level);
        Ok::<Values, Failure>((evaluator.query(query)?, empty))
    })?;

    let mut summary = TrecSummary::new(&measures);
    for (_, (values, _)) in &judged.queries {
        summary.add(values);
    }
    let empty = judged.queries.iter().filter(|(_, (_, empty))| *empty).count();
    let about = AboutRun::new(&judged, args.judging.complete);
    if args.json {
        let mut object = json!({
            "convention": judgments.convention("trec_eval")?, "queries": summary.queries(), "empty_queries": empty,
            "measures": summary.report(&judged.tag),
        });
        about.add_to(&mut object);
        if args.per_query {
            let row = |(query, (values, _)): &(String, Values)| json!({"query": query, "measures": TrecReport::new(&measures, query, values.clone())});
            object["per_query"] = judged.queries.iter().map(row).collect();
        }
        writeln!(out, "{object}")?;
        return Ok(());
    }
    if args.per_query {
        for (query, (values, _)) in &judged.queries {
            write!(out, "{}", TrecReport::new(&measures, query, values.clone()))?;
        }
    }
    write!(out, "{}", summary.report(&judged.tag))?;
    // Standard output matches trec_eval's line by line; anything more goes to standard error.
    note_empty(empty, summary.queries(), "trec_eval");
    for note in about.notes() {
        terminal::say(format_args!("note: {note}"));
    }
    Ok(())
}
