//! `burn-rank eval`: exact measures of a ranker or of a file of scores.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::{Failure, Table, input};
use crate::data::Dataset;
use crate::device;
use crate::measure::{Convention, Evaluation, Measure, Rankings, evaluate};
use crate::ranker::Ranker;

/// Arguments of `eval`.
#[derive(Debug, Args)]
pub struct EvalArgs {
    /// MODEL and DATA files; only DATA files with --scores
    #[arg(value_name = "MODEL DATA")]
    files: Vec<PathBuf>,
    /// One score a line, in the order of the documents of DATA
    #[arg(long, value_name = "FILE")]
    scores: Option<PathBuf>,
    /// Convention: standard, letor, trec_eval, ... [default: the model's; else standard]
    #[arg(short, long)]
    convention: Option<String>,
    /// Measures, comma-separated
    #[arg(short, long = "measures", value_delimiter = ',', default_value = "ndcg@1,ndcg@5,ndcg@10,map,mrr")]
    measures: Vec<String>,
    /// A line for each query too
    #[arg(short = 'q', long)]
    per_query: bool,
    /// The same ranking under every convention
    #[arg(long, conflicts_with_all = ["convention", "per_query"])]
    compare_conventions: bool,
    /// Text, or trec_eval's lines
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reading: input::ReadArgs,
    /// Device of the scorer
    #[arg(long, default_value = "flex")]
    device: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Trec,
}

/// A scored set of documents.
struct Scored {
    data: Dataset,
    scores: Vec<f32>,
    /// The convention that the model was selected in.
    convention: Option<String>,
}

impl EvalArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let measures = self.measures.iter().map(|name| name.parse()).collect::<Result<Vec<Measure>, _>>()?;
        let scored = self.score()?;
        let rankings = Rankings {
            scores: &scored.scores,
            labels: &scored.data.labels,
            offsets: &scored.data.offsets,
            document_ids: &scored.data.document_ids,
        };
        if self.compare_conventions {
            return self.compare(&rankings, &measures, out);
        }
        let name = self.convention.clone().or(scored.convention).unwrap_or_else(|| "standard".to_string());
        let evaluation = evaluate(&rankings, &measures, &Convention::preset(&name)?)?;
        match (self.json, self.format) {
            (true, _) => writeln!(out, "{}", self.json(&evaluation, &scored.data))?,
            (false, Format::Trec) => self.trec_lines(&evaluation, &scored.data, out)?,
            (false, Format::Table) => self.table(&evaluation, &scored.data, out)?,
        }
        Ok(())
    }

    fn score(&self) -> Result<Scored, Failure> {
        match (&self.scores, self.files.as_slice()) {
            (Some(_), []) => Err(Failure::input("expected DATA after --scores FILE")),
            (Some(scores), files) => {
                let data = self.reading.read(files, None)?;
                let scores = input::scores(scores, data.documents())?;
                Ok(Scored { data, scores, convention: None })
            }
            (None, [model, files @ ..]) if !files.is_empty() => {
                let device = device::open(&self.device)?;
                let ranker = Ranker::load(model, &device)?;
                let data = self.reading.read(files, None)?;
                let scores = ranker.predict(&data, &device)?;
                Ok(Scored { data, scores, convention: Some(ranker.metadata().convention.name.clone()) })
            }
            (None, _) => Err(Failure::input("expected MODEL DATA, or --scores FILE DATA")),
        }
    }

    fn compare(&self, rankings: &Rankings, measures: &[Measure], out: &mut dyn Write) -> Result<(), Failure> {
        let mut table =
            Table::new(["convention".to_string()].into_iter().chain(measures.iter().map(ToString::to_string)));
        for preset in Convention::PRESETS {
            match evaluate(rankings, measures, &preset.convention()) {
                Ok(evaluation) if self.json => writeln!(out, "{}", json!(evaluation))?,
                Ok(evaluation) => {
                    let means = evaluation.means.iter().map(|(_, mean)| format!("{mean:.4}"));
                    table.row([preset.name.to_string()].into_iter().chain(means));
                }
                // A convention may not apply, say identifiers are absent: the others still do.
                Err(error) if self.json => {
                    writeln!(out, "{}", json!({"convention": {"name": preset.name}, "error": error.to_string()}))?
                }
                Err(error) => table.row([preset.name.to_string(), format!("not defined here: {error}")]),
            }
        }
        if !self.json {
            write!(out, "{}", table.render())?;
        }
        Ok(())
    }

    fn json(&self, evaluation: &Evaluation, data: &Dataset) -> Value {
        let mut value = json!(evaluation);
        if self.per_query {
            let row = |q: usize| {
                let values = evaluation.means.iter().zip(&evaluation.per_query);
                let values = values.map(|((measure, _), values)| (measure.to_string(), json!(values[q])));
                json!({"query": data.query_ids[q], "measures": values.collect::<serde_json::Map<_, _>>()})
            };
            value["per_query"] = (0..data.queries()).map(row).collect();
        }
        value
    }

    fn table(&self, evaluation: &Evaluation, data: &Dataset, out: &mut dyn Write) -> Result<(), Failure> {
        writeln!(
            out,
            "convention {}, {} queries, {} without a relevant document",
            evaluation.convention.name, evaluation.queries, evaluation.empty_queries
        )?;
        let names = evaluation.means.iter().map(|(measure, _)| measure.to_string());
        let mut table = Table::new(["query".to_string()].into_iter().chain(names));
        if self.per_query {
            for q in 0..data.queries() {
                let cell = |values: &Vec<Option<f64>>| values[q].map_or("-".to_string(), |value| format!("{value:.4}"));
                table.row([data.query_ids[q].clone()].into_iter().chain(evaluation.per_query.iter().map(cell)));
            }
        }
        table.row(["all".to_string()].into_iter().chain(evaluation.means.iter().map(|(_, mean)| format!("{mean:.4}"))));
        write!(out, "{}", table.render())?;
        Ok(())
    }

    fn trec_lines(&self, evaluation: &Evaluation, data: &Dataset, out: &mut dyn Write) -> Result<(), Failure> {
        if self.per_query {
            for q in 0..data.queries() {
                for ((measure, _), values) in evaluation.means.iter().zip(&evaluation.per_query) {
                    if let Some(value) = values[q] {
                        writeln!(out, "{:<22}\t{}\t{value:.4}", measure.to_string(), data.query_ids[q])?;
                    }
                }
            }
        }
        for (measure, mean) in &evaluation.means {
            writeln!(out, "{:<22}\tall\t{mean:.4}", measure.to_string())?;
        }
        Ok(())
    }
}
