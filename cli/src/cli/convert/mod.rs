//! `burn-rank convert` converts rankers to and from the formats of other systems, and data to tables or text.

mod data;
mod ranker;

use std::io::Write;
use std::path::PathBuf;

use burn_rank::data::columnar;
use clap::Args;

use super::{Failure, Result, input};

/// Arguments of `convert`.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// A ranker: a saved one, the folder of a `train` run, or a file of LightGBM (text), XGBoost (JSON), CatBoost
    /// (JSON) or RankLib (XML). Or data: text (`-` for standard input), or an Arrow, Parquet, CSV or TSV file
    from: PathBuf,
    /// File to write; an existing file is replaced. A ranker becomes ONNX (NAME.onnx), RankLib XML (NAME.xml), or a
    /// saved ranker (NAME.safetensors). With NAME.txt, a linear ranker becomes RankLib text, and trees become LightGBM
    /// text. Other names need --format. Data become a table if the name is NAME.arrow or NAME.parquet, and LETOR text
    /// if it is NAME.txt
    out: PathBuf,
    /// Format of a ranker [default: chosen by the name of OUT]
    #[arg(long, value_parser = ranker::formats())]
    format: Option<String>,
    #[command(flatten)]
    reading: input::ReadArgs,
}

impl ConvertArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        let format = columnar::Format::from_path(&self.out);
        if format.is_none() && !data::is_data(&self.from) {
            return self.convert_ranker(out);
        }
        if self.format.is_some() {
            return Err(Failure::input("--format: expected a ranker to convert, found data"));
        }
        self.convert_data(format, out)
    }
}
