//! `burn-rank convert`: writes a ranker in another system's format, or one of another system in ours.

use std::io::Write;
use std::path::PathBuf;

use burn::tensor::Device;
use clap::{Args, ValueEnum};

use super::{Context, Failure, input};
use crate::atomic_file;
use crate::ranker::{ExportFormat, Model, Ranker};

/// Arguments of `convert`.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// A saved ranker, the folder of a `train` run, or a ranker of LightGBM (text), XGBoost (JSON), CatBoost (JSON) or
    /// RankLib (XML)
    model: PathBuf,
    /// File to write; an existing file is replaced. NAME.onnx: ONNX, raw features in. NAME.txt: RankLib text of a linear
    /// ranker, LightGBM text of a sum of trees. NAME.xml: RankLib XML. NAME.safetensors: a saved ranker. Other names need
    /// --format
    out: PathBuf,
    /// Format to write [default: what the name of OUT asks for]
    #[arg(long, value_enum)]
    format: Option<Format>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// ONNX of one query
    Onnx,
    /// ONNX of many queries, padded, with a mask
    OnnxBatch,
    /// LightGBM's text, of trees
    Lightgbm,
    /// RankLib's text of a linear ranker, or its XML of trees
    Ranklib,
    /// XGBoost's model in JSON, of trees
    Xgboost,
    /// XGBoost's dump in JSON, for OpenSearch and Elasticsearch (model/xgboost+json)
    XgboostDump,
    /// Solr's JSON, of trees or a linear ranker
    Solr,
    /// Weights of a linear ranker in JSON, for OpenSearch and Elasticsearch (model/linear)
    PluginLinear,
    /// A saved ranker
    BurnRank,
}

impl ConvertArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        input::not_over("convert", &self.out, &[input::ranker_file(&self.model)], "is the ranker")?;
        let ranker = input::ranker(&self.model, &Device::flex())?;
        let (name, bytes) = match self.format(&ranker)? {
            Some(format) => (format.to_string(), ranker.export(format).context(self.model.display())?),
            None => ("a saved ranker".to_string(), ranker.to_bytes()),
        };
        let place = self.out.display();
        atomic_file::write(&self.out, &bytes).map_err(Failure::unwritable).context(format!("{place}: cannot write"))?;
        writeln!(out, "{place}: {name}, {} features, {} bytes", ranker.model().features(), bytes.len())?;
        Ok(())
    }

    /// Returns the format to write; `None` for our own.
    fn format(&self, ranker: &Ranker) -> Result<Option<ExportFormat>, Failure> {
        let Some(format) = self.format else {
            let extension = self.out.extension().map(|extension| extension.to_string_lossy().to_lowercase());
            return match extension.as_deref() {
                Some("safetensors") => Ok(None),
                Some("json") => Err(Failure::input(format!(
                    "{}: several formats are JSON, expected --format xgboost, xgboost-dump, solr or plugin-linear",
                    self.out.display()
                ))),
                _ => Ok(Some(ExportFormat::from_path(&self.out, ranker.model())?)),
            };
        };
        Ok(Some(match format {
            Format::Onnx => ExportFormat::Onnx,
            Format::OnnxBatch => ExportFormat::OnnxBatch,
            Format::Lightgbm => ExportFormat::LightGbm,
            Format::Ranklib if matches!(ranker.model(), Model::Trees(_)) => ExportFormat::RankLibTrees,
            Format::Ranklib => ExportFormat::RankLib,
            Format::Xgboost => ExportFormat::XgBoost,
            Format::XgboostDump => ExportFormat::XgBoostDump,
            Format::Solr => ExportFormat::Solr,
            Format::PluginLinear => ExportFormat::PluginLinear,
            Format::BurnRank => return Ok(None),
        }))
    }
}
