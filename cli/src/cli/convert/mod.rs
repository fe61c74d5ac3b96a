//! `burn-rank convert`: converts rankers between this crate's format and those of other systems, and data between
//! tables and text.

mod data;
mod ranker;

use std::io::Write;
use std::path::PathBuf;

use burn_rank::data::columnar;
use clap::Args;

use super::failure::Failure;
use super::input;

/// Arguments of `convert`.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// A saved ranker, the folder of a `train` run, or a ranker of LightGBM (text), XGBoost (JSON), CatBoost (JSON) or
    /// RankLib (XML); or data as text (`-` for standard input) or in an Arrow, Parquet, CSV or TSV file
    from: PathBuf,
    /// File to write; an existing file is replaced. For a ranker, NAME.onnx is ONNX with raw features as input;
    /// NAME.txt is RankLib text of a linear ranker or LightGBM text of a sum of trees; NAME.xml is RankLib XML;
    /// NAME.safetensors is a saved ranker; other names need --format. For data, NAME.arrow and NAME.parquet are tables;
    /// NAME.txt is the LETOR text of a table
    out: PathBuf,
    /// Format of a ranker [default: chosen by the name of OUT]
    #[arg(long, value_enum)]
    format: Option<ranker::Format>,
    #[command(flatten)]
    reading: input::ReadArgs,
}

impl ConvertArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
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
