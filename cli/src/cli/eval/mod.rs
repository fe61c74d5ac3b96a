//! `burn-rank eval` computes exact measures of a ranker, of a file of scores, or of a TREC run.
//!
//! The scores of a LETOR set are evaluated here. `trec.rs` evaluates a TREC run against its judgments, with this
//! crate's measures and any convention, or prints the same lines as trec_eval. `print.rs` formats the
//! results, also of single queries.

mod print;
mod trec;

use std::io::Write;
use std::path::{Path, PathBuf};

use burn_rank::data::RankingDataset;
use burn_rank::measure::{Convention, evaluate};
use burn_rank::refusal::Refusal;
use clap::{Args, ValueEnum};

use self::print::{QueriesAsked, Shown, conventions, print_extremes};
use crate::cli::{Failure, JudgingArgs, Result, Scored, during, input};
use crate::experiment::ExtremeQueries;

const MEASURES: &str = "ndcg@1,ndcg@5,ndcg@10,map,mrr";

const READING: &str = include_str!("../texts/eval.txt").trim_ascii_end();

/// Arguments of `eval`.
#[derive(Debug, Args)]
#[command(after_long_help = READING)]
pub struct EvalArgs {
    /// MODEL and DATA files, or only DATA files with --scores, or no files with --run
    #[arg(value_name = "MODEL DATA")]
    files: Vec<PathBuf>,
    /// File with one score per line, in the order of the documents of DATA
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    scores: Option<PathBuf>,
    /// TREC run to evaluate against --qrels
    #[arg(long, value_name = "FILE", requires = "qrels", conflicts_with = "files")]
    run: Option<PathBuf>,
    /// TREC relevance judgments of the queries of --run
    #[arg(long, value_name = "FILE", requires = "run")]
    qrels: Option<PathBuf>,
    /// Convention, such as standard, letor or trec_eval [default: the model's; trec_eval for a run; else standard]
    #[arg(short, long)]
    convention: Option<String>,
    /// Measures, comma-separated [default: ndcg@1,ndcg@5,ndcg@10,map,mrr; official for a run in --format trec]
    #[arg(short, long = "measures", value_name = "MEASURES")]
    measures: Vec<String>,
    /// Also print a line for each query
    #[arg(short = 'q', long)]
    per_query: bool,
    /// Also show the worst or best queries by the first measure, with their documents in ranked order. Give worst:N,
    /// best:N, or both, separated by a comma
    #[arg(long, value_name = "WHICH", conflicts_with_all = ["run", "compare_conventions", "format"])]
    queries: Option<String>,
    /// Evaluate the same ranking under every convention; with --json, the key `conventions` lists the results
    #[arg(long, conflicts_with_all = ["convention", "per_query", "format"])]
    compare_conventions: bool,
    /// Print a table, or lines in the format of trec_eval
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    scoring: input::ScoringArgs,
    #[command(flatten)]
    judging: JudgingArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Trec,
}

impl EvalArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        input::once([&self.scores, &self.run, &self.qrels].into_iter().flatten().chain(&self.files))?;
        self.scoring.scope(|| match (&self.run, &self.qrels, &self.scores, self.files.as_slice()) {
            (Some(run), Some(qrels), ..) if self.format == Format::Trec => trec::print_lines(&self, run, qrels, out),
            (Some(run), Some(qrels), ..) => trec::evaluate_run(&self, run, qrels, out),
            (.., Some(_), []) => Err(Failure::input("expected DATA after --scores FILE")),
            (.., Some(_), [model, ..]) if model.extension().is_some_and(|extension| extension == "safetensors") => {
                Err(Failure::input(format!("{}: expected only DATA with --scores FILE, no MODEL", model.display())))
            }
            (.., Some(scores), data) => evaluate_scores(&self, scores, data, out),
            (.., None, [model, data @ ..]) if !data.is_empty() => evaluate_ranker(&self, model, data, out),
            _ => Err(Failure::input("expected MODEL DATA, --scores FILE DATA, or --qrels FILE --run FILE")),
        })
    }
}

fn evaluate_ranker(args: &EvalArgs, model: &Path, data: &[PathBuf], out: &mut dyn Write) -> Result {
    let device = args.scoring.device()?;
    let asked = asked(args)?;
    let ranker = input::ranker(model, &device)?;
    let data = args.scoring.reading.read(data, Some((model, &ranker)))?;
    show(args, &Scored::by_ranker(model, &ranker, &data, &device)?, &data, asked, out)
}

fn evaluate_scores(args: &EvalArgs, scores: &Path, data: &[PathBuf], out: &mut dyn Write) -> Result {
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
        Some(extremes) => print_extremes(&extremes, out),
        None => Ok(()),
    }
}
