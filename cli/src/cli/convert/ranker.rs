//! Converts rankers to the formats of other systems and to burn-rank's own.

use std::io::Write;

use burn::tensor::Device;
use burn_rank::ranker::{ExportFormat, Model, Ranker};
use burn_rank::workbench::atomic_file;
use burn_rank::workbench::text::{counted, harmless};
use clap::ValueEnum;

use super::ConvertArgs;
use crate::cli::{Context, Failure, input, terminal};

/// Format of a ranker.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Format {
    /// ONNX graph for one query
    Onnx,
    /// ONNX graph for many queries, which are padded and masked
    OnnxBatch,
    /// LightGBM's text model for trees
    Lightgbm,
    /// RankLib's text for a linear ranker, or its XML for trees; not yet tested in RankLib
    Ranklib,
    /// XGBoost's JSON model for trees
    Xgboost,
    /// XGBoost's JSON dump for OpenSearch and Elasticsearch (model/xgboost+json); not yet tested there
    XgboostDump,
    /// Solr's JSON for trees or a linear ranker; not yet tested in Solr
    Solr,
    /// JSON weights of a linear ranker for OpenSearch and Elasticsearch (model/linear); not yet tested there
    PluginLinear,
    /// A saved ranker
    BurnRank,
}

/// The names of output files that determine a ranker's format, in the words of an error message.
pub(super) const NAMES: &str = "a name that ends in .onnx, .txt, .xml or .safetensors, or another name with --format";

impl ConvertArgs {
    pub(super) fn convert_ranker(&self, out: &mut dyn Write) -> Result<(), Failure> {
        if !self.reading.is_default() {
            return Err(Failure::input("--missing and --read: expected data to convert, found a ranker"));
        }
        input::not_over("convert", &self.out, &[input::ranker_file(&self.from)], "is the ranker")?;
        let ranker = input::ranker(&self.from, &Device::flex())?;
        let format = self.format(&ranker)?;
        let (name, bytes) = match format {
            Some(format) => (format.to_string(), ranker.export(format).context(self.from.display())?),
            None => ("a saved ranker".to_string(), ranker.to_bytes()),
        };
        let notes = format.map_or(Vec::new(), |format| ranker.export_notes(format));
        let place = self.out.display();
        atomic_file::write(&self.out, &bytes).map_err(Failure::unwritable).context(format!("{place}: cannot write"))?;
        let (place, features) = (place.to_string(), counted(ranker.features(), "feature"));
        writeln!(out, "{}: {name}, {features}, {} bytes", harmless(&place), bytes.len())?;
        for note in notes {
            terminal::say(format_args!("note: {place}: {note}"));
        }
        Ok(())
    }

    /// Returns the format in which the ranker is written; `None` means burn-rank's own format.
    fn format(&self, ranker: &Ranker) -> Result<Option<ExportFormat>, Failure> {
        let Some(format) = self.format else {
            let extension = self.out.extension().map(|extension| extension.to_string_lossy().to_lowercase());
            return match extension.as_deref() {
                Some("safetensors") => Ok(None),
                Some("json") => Err(Failure::input(format!(
                    "{}: several formats are JSON, expected --format xgboost, xgboost-dump, solr or plugin-linear",
                    self.out.display()
                ))),
                Some("onnx" | "txt" | "xml") => Ok(Some(ExportFormat::from_path(&self.out, ranker.model())?)),
                _ => Err(Failure::input(format!("{}: expected {NAMES}", self.out.display()))),
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
