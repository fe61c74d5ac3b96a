//! `burn-rank predict`: a score for every document, or a TREC run.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;

use super::{Failure, input};
use crate::atomic_file;
use crate::data::Dataset;
use crate::device;
use crate::ranker::Ranker;

/// Arguments of `predict`.
#[derive(Debug, Args)]
pub struct PredictArgs {
    /// A saved ranker
    model: PathBuf,
    /// LETOR files
    #[arg(required = true)]
    data: Vec<PathBuf>,
    /// File to write; standard output when absent
    #[arg(short, long)]
    out: Option<PathBuf>,
    /// Write a TREC run with this tag instead of one score a line
    #[arg(long, value_name = "TAG")]
    run_id: Option<String>,
    #[command(flatten)]
    reading: input::ReadArgs,
    /// Device of the scorer
    #[arg(long, default_value = "flex")]
    device: String,
}

impl PredictArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let device = device::open(&self.device)?;
        let ranker = Ranker::load(&self.model, &device)?;
        let data = self.reading.read(&self.data, None)?;
        let scores = ranker.predict(&data, &device)?;
        let write = |out: &mut dyn Write| match &self.run_id {
            None => scores.iter().try_for_each(|score| writeln!(out, "{score}")),
            Some(tag) => write_run(&data, &scores, tag, out),
        };
        match &self.out {
            None => Ok(write(out)?),
            Some(path) => atomic_file::write_with(path, write)
                .map_err(|error| Failure::input(format!("{}: cannot write: {error}", path.display()))),
        }
    }
}

/// `qid Q0 docid rank score tag`, best first, ties in file order.
fn write_run(data: &Dataset, scores: &[f32], tag: &str, out: &mut dyn Write) -> io::Result<()> {
    for q in 0..data.queries() {
        let mut documents: Vec<usize> = data.range(q).collect();
        documents.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        for (rank, d) in (1..).zip(documents) {
            // Without identifiers the position in the query names a document.
            let name = data.document_ids.get(d).filter(|name| !name.is_empty()).cloned();
            let name = name.unwrap_or_else(|| format!("{}", d - data.range(q).start + 1));
            writeln!(
                out,
                "{} Q0 {} {rank} {} {tag}",
                data.query_ids[q],
                name.replace(char::is_whitespace, "_"),
                scores[d]
            )?;
        }
    }
    Ok(())
}
