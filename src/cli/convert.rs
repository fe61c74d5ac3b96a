//! `burn-rank convert`: writes a saved ranker in another system's format.

use std::io::Write;
use std::path::PathBuf;

use burn::tensor::Device;
use clap::Args;

use super::{Context, Failure, input};
use crate::atomic_file;
use crate::ranker::ExportFormat;

/// Arguments of `convert`.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// A saved ranker, or the folder of a `train` run
    model: PathBuf,
    /// File to write; an existing file is replaced. NAME.onnx: linear and multi-layer rankers with any normaliser, raw
    /// features in. NAME.txt: RankLib text of a linear ranker, LightGBM text of a sum of trees
    out: PathBuf,
}

impl ConvertArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        input::not_over("convert", &self.out, &[input::ranker_file(&self.model)], "is the ranker")?;
        let ranker = input::ranker(&self.model, &Device::flex())?;
        let format = ExportFormat::from_path(&self.out, ranker.model())?;
        let bytes = ranker.export(format).context(self.model.display())?;
        let place = self.out.display();
        atomic_file::write(&self.out, &bytes).map_err(Failure::unwritable).context(format!("{place}: cannot write"))?;
        writeln!(out, "{place}: {format}, {} features, {} bytes", ranker.model().features(), bytes.len())?;
        Ok(())
    }
}
