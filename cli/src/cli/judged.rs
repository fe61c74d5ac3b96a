//! Evaluates TREC runs against relevance judgments, with the trec_eval options that affect values.

use std::collections::HashMap;

use burn_rank::data::trec::{Qrels, Run, read_judged_from};
use burn_rank::measure::MeasureError;
use burn_rank::measure::trec_eval::TrecQuery;
use burn_rank::workbench::trec_eval::{TrecDocuments, documents};

use super::*;

/// Options that determine how a TREC run is evaluated.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of TREC runs")]
pub struct JudgingArgs {
    /// Count every query of the qrels, with 0 for queries that the run lacks (trec_eval's -c)
    #[arg(long, requires = "qrels")]
    pub complete: bool,
    /// Lowest level that counts as relevant; has no effect on NDCG's gains
    #[arg(short = 'l', long, value_name = "N", default_value_t = 1, requires = "qrels", value_parser = value_parser!(i32).range(1..))]
    pub level: i32,
    /// Evaluate only the first N documents of each query
    #[arg(short = 'M', long, value_name = "N", requires = "qrels", value_parser = value_parser!(u32).range(1..))]
    depth: Option<u32>,
}

impl JudgingArgs {
    /// Returns how many documents of each query are evaluated, or `None` for all.
    pub fn depth(&self) -> Option<usize> {
        self.depth.map(|depth| depth as usize)
    }
}

/// Relevance judgments read from a file, with the options for evaluating runs against them.
pub struct Judgments<'a> {
    path: &'a Path,
    pub qrels: Qrels,
    args: &'a JudgingArgs,
}

impl<'a> Judgments<'a> {
    /// Reads the file.
    pub fn read(path: &'a Path, args: &'a JudgingArgs) -> Result<Self> {
        Ok(Self { path, qrels: Qrels::read_from(input::text(path)?)?, args })
    }

    /// Parses a convention and applies the chosen relevance level.
    pub fn convention(&self, asked: &str) -> Result<Convention> {
        let mut convention = input::convention(asked)?;
        if self.args.level != 1 {
            convention.relevant_from = f64::from(self.args.level);
            convention.name = format!("{} with relevance from {}", convention.name, self.args.level);
        }
        Ok(convention)
    }

    /// Calls `of_query` for every evaluated query of a run. Returns an error if no query of the run has been judged.
    pub fn each<T: Send>(&self, run: &Path, of_query: impl Fn(&str, &TrecQuery) -> Result<T> + Sync) -> Result<Run<T>> {
        let run = input::text(run)?;
        let name = run.name().to_path_buf();
        let judged = during(&format!("reading {}", name.display()), || {
            read_judged_from(run, &self.qrels, self.args.complete, of_query)
        })?;
        if judged.missing.len() == self.qrels.queries.len() {
            let range = match &self.qrels.queries[..] {
                [only] => format!("only query `{only}`"),
                all @ [first, .., last] => format!("{} from `{first}` to `{last}`", counted(all.len(), "query")),
                [] => "none".to_owned(),
            };
            bail!("{}: found no query of {}, which has {range}", name.display(), self.path.display());
        }
        Ok(judged)
    }

    /// Computes the measures of every evaluated query of a run.
    pub fn measure(&self, run: &Path, evaluator: &Evaluator) -> Result<Run<QueryValues>> {
        self.each(run, |name, query| {
            let documents = documents(query, self.args.depth())?;
            evaluator.query(&documents.ranking()).map_err(|error| Failure::input(self.place(name, &documents, &error)))
        })
    }

    /// Returns the documents of every evaluated query of a run.
    pub fn documents(&self, run: &Path) -> Result<HashMap<String, TrecDocuments>> {
        Ok(self.each(run, |_, query| Ok(documents(query, self.args.depth())?))?.queries.into_iter().collect())
    }

    /// Formats an error about a document. The error names the document and its query, because a run has names rather
    /// than numbers.
    pub fn place(&self, query: &str, documents: &TrecDocuments, error: &MeasureError) -> String {
        let path = self.path.display();
        match error {
            MeasureError::Label { document, found, expected, .. } => {
                let place = format!("{path}: document `{}` of query `{query}`", documents.ids[document - 1]);
                format!("{place} has the relevance {found}: expected {expected}")
            }
            error => format!("{path}: query `{query}`: {error}"),
        }
    }
}
