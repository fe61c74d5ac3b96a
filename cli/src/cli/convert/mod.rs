//! `burn-rank convert`: writes a ranker in another system's format or one of another system in ours, and data as a
//! table or as text.

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
    /// RankLib (XML); or data: text (`-` for standard input), an Arrow, Parquet, CSV or TSV
    /// file
    from: PathBuf,
    /// File to write; an existing file is replaced. Of a ranker, NAME.onnx: ONNX, raw features in; NAME.txt: RankLib
    /// text of a linear ranker, LightGBM text of a sum of trees; NAME.xml: RankLib XML; NAME.safetensors: a saved
    /// ranker; other names need --format. Of data, NAME.arrow or NAME.parquet: a table; NAME.txt: LETOR text of a table
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
