//! `burn-rank bench` times the forward and backward passes of losses. `bench train` measures the speed of gradient
//! training, in documents per second. `bench trees` measures the time and memory of boosted trees. `bench serving`
//! measures the latency of one query.

use std::io::Write;

use burn_rank::data::SynthConfig;
use burn_rank::learner::boosted_trees::BoostedTreesConfig;
use burn_rank::loss::LossSpec;
use burn_rank::op::{Execution, SumPath};
use burn_rank::scorer::{MlpScorerConfig, ScorerConfig};
use burn_rank::workbench::json::json;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, value_parser};
use serde::Serialize;

use super::{ExecutionArgs, Failure, Work, during, input, work_on_this_thread};
use crate::bench::{BenchError, LossBench, LossRow, OpPath, ServingBench, Shape, TrainBench, TreesBench};
use crate::page::Table;

/// Arguments of `bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    #[command(subcommand)]
    command: Option<BenchCommand>,
    /// Devices, by name
    #[arg(long, value_delimiter = ',', default_value = "flex", global = true)]
    devices: Vec<String>,
    /// Losses to measure: each is a name, or a measure and a relaxation, such as ap:rank_indicators or
    /// ndcg@10:expected_ranks. Each loss uses the temperature given in its paper
    #[arg(long, value_delimiter = ',', default_value = "approx_ndcg,smooth_ndcg,lambda_ndcg,soft_ndcg,list_net")]
    losses: Vec<String>,
    /// Shapes of the batches of lists, as BATCHxDOCUMENTS
    #[arg(long, value_delimiter = ',', default_value = "64x128,16x256,4x1024")]
    shapes: Vec<String>,
    /// Whether the primitives are computed by fused kernels or by their tensor definition [default: both for losses,
    /// fused for train]
    #[arg(long, value_enum, value_delimiter = ',', global = true)]
    paths: Vec<OpPath>,
    /// How fused kernels compute sums over the pairs of documents in a list
    #[arg(long, value_parser = sum_path(), default_value = "auto", global = true)]
    sums: SumPath,
    /// Number of timed repeats or training epochs; the median time is reported. `serving` uses --requests instead
    #[arg(long, default_value_t = 5, global = true, value_parser = value_parser!(u32).range(1..))]
    repeats: u32,
    /// Print one JSON object per line, starting with bench, device and path
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    execution: ExecutionArgs,
}

#[derive(Debug, Subcommand)]
enum BenchCommand {
    /// Measure the speed of training epochs, in documents per second, on generated data, for a linear scorer and for a
    /// perceptron with hidden layers 256,128,64
    Train {
        /// Loss, by name or as measure and relaxation
        #[arg(long, default_value = "approx_ndcg")]
        loss: String,
        /// Number of queries
        #[arg(long, default_value_t = 1000, value_parser = value_parser!(u32).range(1..))]
        queries: u32,
        /// Queries per batch
        #[arg(long, default_value_t = 64, value_parser = value_parser!(u32).range(1..))]
        batch: u32,
    },
    /// Measure the time, in microseconds, that each kind of ranker needs to normalize and score one query
    Serving {
        /// Documents of the query
        #[arg(long, default_value_t = 100, value_parser = value_parser!(u32).range(1..=100_000))]
        documents: u32,
        /// Features of each document
        #[arg(long, default_value_t = 136, value_parser = value_parser!(u32).range(1..=10_000))]
        features: u32,
        /// Number of timed requests to each ranker
        #[arg(long, default_value_t = 1000, value_parser = value_parser!(u32).range(1..))]
        requests: u32,
    },
    /// Measure the time and memory of training boosted trees on generated data
    Trees {
        /// Loss, by name
        #[arg(long, default_value = "lambda_ndcg")]
        loss: String,
        /// Number of queries
        #[arg(long, default_value_t = 1000, value_parser = value_parser!(u32).range(1..))]
        queries: u32,
        /// Number of trees
        #[arg(long, default_value_t = 100, value_parser = value_parser!(u32).range(1..))]
        rounds: u32,
        /// Leaves of a tree
        #[arg(long, default_value_t = 31, value_parser = value_parser!(u32).range(2..))]
        leaves: u32,
        /// Set a parameter of the loss, as in k=30
        #[arg(long = "set", value_name = "KEY=VALUE")]
        set: Vec<String>,
    },
}

/// Parses the name of a method for summing over pairs, and lists all methods in the help.
fn sum_path() -> impl TypedValueParser<Value = SumPath> {
    let names = SumPath::ALL.iter().map(|path| PossibleValue::new(path.name()).help(path.summary()));
    let of = |name: String| *SumPath::ALL.iter().find(|path| path.name() == name).expect("one of the names");
    PossibleValuesParser::new(names).map(of)
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Self {
        match error {
            BenchError::Device { .. } => Failure::Work(error.into()),
            _ => Failure::Input(error.into()),
        }
    }
}

impl BenchArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        work_on_this_thread();
        self.execution.scope(|| Execution::current().with_sums(self.sums).scope(|| self.measure(out)))
    }

    fn measure(&self, out: &mut dyn Write) -> Result<(), Failure> {
        match &self.command {
            Some(BenchCommand::Train { loss, queries, batch }) => {
                self.train(loss, *queries as usize, *batch as usize, out)
            }
            Some(BenchCommand::Trees { loss, queries, rounds, leaves, set }) => {
                let data = SynthConfig { queries: *queries as usize, ..SynthConfig::default() };
                let (rounds, leaves) = (*rounds as usize, *leaves as usize);
                let config = BoostedTreesConfig { rounds, leaves, ..BoostedTreesConfig::default() };
                let mut loss = LossSpec::parse(loss);
                loss.params.extend(input::assignments("--set", set)?);
                let repeats = self.repeats as usize;
                self.trees(&TreesBench { config, loss, data, repeats, seed: 1 }, out)
            }
            Some(BenchCommand::Serving { documents, features, requests }) => {
                let [documents, features, requests] = [documents, features, requests].map(|number| *number as usize);
                self.serving(&ServingBench { documents, features, requests, seed: 1 }, out)
            }
            None => self.losses(out),
        }
    }

    fn losses(&self, out: &mut dyn Write) -> Result<(), Failure> {
        // The time of a kernel depends on the temperature, so losses keep the temperatures of their papers.
        let at_papers = |loss: &String| LossSpec::parse(loss).with_default_temperature(None);
        let bench = LossBench {
            losses: self.losses.iter().map(at_papers).collect::<Result<_, _>>()?,
            shapes: self.shapes.iter().map(|shape| shape.parse::<Shape>()).collect::<Result<_, _>>()?,
            paths: self.paths(&[OpPath::Fused, OpPath::Tensor]),
            repeats: self.repeats as usize,
            seed: 1,
        };
        let columns = ["loss", "shape", "ms", "Mpairs/s", "documents/s", "peak MiB", "bytes/document"];
        let mut rows = self.rows("losses", columns);
        for name in &self.devices {
            let mut found: Vec<LossRow> = Vec::new();
            let work = Work::of(name, bench.losses.len() * bench.shapes.len() * bench.paths.len());
            bench.run(&input::device(name)?, name, |row| {
                found.push(row);
                work.done(found.len());
            })?;
            drop(work);
            for row in found {
                let cells = [
                    row.loss.clone(),
                    format!("{}x{}", row.batch, row.n),
                    format!("{:.3}", row.ms),
                    format!("{:.1}", row.mpairs_per_s),
                    format!("{:.0}", row.documents_per_s),
                    row.peak_mib.map_or_else(|| "-".to_owned(), |peak| format!("{peak:.1}")),
                    row.peak_bytes_per_document.map_or_else(|| "-".to_owned(), |bytes| format!("{bytes:.0}")),
                ];
                rows.add(name, Some(row.path), &row, cells, out)?;
            }
        }
        rows.finish(out)
    }

    fn train(&self, loss: &str, queries: usize, batch: usize, out: &mut dyn Write) -> Result<(), Failure> {
        let mlp = MlpScorerConfig { hidden: vec![256, 128, 64], ..MlpScorerConfig::default() };
        let mut rows = self.rows("train", ["scorer", "loss", "documents/s", "best"]);
        for name in &self.devices {
            let device = input::device(name)?;
            for (scorer_name, scorer) in
                [("linear", ScorerConfig::default()), ("256,128,64", ScorerConfig::Mlp(mlp.clone()))]
            {
                for path in self.paths(&[OpPath::Fused]) {
                    let data = SynthConfig { queries, ..SynthConfig::default() };
                    let (loss, epochs, scorer) = (LossSpec::parse(loss), self.repeats as usize, scorer.clone());
                    let bench = TrainBench { scorer, loss, data, batch, path, epochs, seed: 1 };
                    let row = during(&format!("training {scorer_name} on {name}"), || bench.run(&device, name))?;
                    let mut value = burn_rank::json::to_value(&row).map_err(Failure::work)?;
                    value["scorer"] = scorer_name.into();
                    let rate = |value: f64| format!("{value:.0}");
                    let cells = [
                        scorer_name.to_owned(),
                        row.loss.clone(),
                        rate(row.documents_per_s),
                        rate(row.best_documents_per_s),
                    ];
                    rows.add(name, Some(path), &value, cells, out)?;
                }
            }
        }
        rows.finish(out)
    }

    fn serving(&self, bench: &ServingBench, out: &mut dyn Write) -> Result<(), Failure> {
        let mut rows = self.rows("serving", ["ranker", "median us", "99% us"]);
        for name in &self.devices {
            let mut found = Vec::new();
            let work = Work::new(&format!("requests to {name}"));
            bench.run(&input::device(name)?, name, |row| {
                work.now(&format!("requests to {name}, rankers timed: {}", found.len() + 1));
                found.push(row);
            })?;
            drop(work);
            for row in found {
                let [median, p99] = [row.median_us, row.p99_us].map(|time| format!("{time:.1}"));
                rows.add(name, None, &row, [row.ranker.clone(), median, p99], out)?;
            }
        }
        if !self.json {
            let ServingBench { documents, features, requests, .. } = bench;
            writeln!(
                out,
                "a query of {documents} documents x {features} features, {requests} requests one after the other"
            )?;
        }
        rows.finish(out)
    }

    fn trees(&self, bench: &TreesBench, out: &mut dyn Write) -> Result<(), Failure> {
        let columns = ["loss", "documents", "trees", "fit s", "predict s", "peak MiB", "NDCG@10"];
        let mut rows = self.rows("trees", columns);
        for name in &self.devices {
            let device = input::device(name)?;
            let row = during(&format!("growing trees on {name}"), || bench.run(&device, name))?;
            let cells = [
                row.loss.clone(),
                row.documents.to_string(),
                row.rounds.to_string(),
                format!("{:.3}", row.fit_s),
                format!("{:.3}", row.predict_s),
                row.peak_mib.map_or_else(|| "-".to_owned(), |peak| format!("{peak:.1}")),
                format!("{:.4}", row.ndcg),
            ];
            rows.add(name, None, &row, cells, out)?;
        }
        rows.finish(out)
    }

    /// Returns the paths that the user selected, or the benchmark's default paths if the user selected none.
    fn paths(&self, default: &[OpPath]) -> Vec<OpPath> {
        if self.paths.is_empty() { default.to_vec() } else { self.paths.clone() }
    }

    /// Creates an empty table for a benchmark, and adds the columns device and path after the first one.
    fn rows<const N: usize>(&self, bench: &'static str, columns: [&str; N]) -> Rows {
        let mut header = vec![columns[0], "device", "path"];
        header.extend(&columns[1..]);
        Rows { bench, json: self.json, table: Table::new(header) }
    }
}

/// The results of a benchmark, printed as a table or as lines of JSON. The columns are the subject, the device, the
/// path and the measurements.
struct Rows {
    bench: &'static str,
    json: bool,
    table: Table,
}

impl Rows {
    /// Prints a row as a line of JSON, or adds it to the table. `path` is `None` if the benchmark measures only one
    /// path.
    fn add<const N: usize>(
        &mut self,
        device: &str,
        path: Option<OpPath>,
        row: &impl Serialize,
        cells: [String; N],
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let path = path.map(OpPath::name);
        if self.json {
            let mut line = json!({"bench": self.bench, "device": device, "path": path});
            let row = burn_rank::json::to_value(row).map_err(Failure::work)?;
            if let (Some(line), Some(row)) = (line.as_object_mut(), row.as_object()) {
                line.extend(row.iter().map(|(key, value)| (key.clone(), value.clone())));
            }
            return Ok(writeln!(out, "{line}")?);
        }
        let mut cells = cells.into_iter();
        let what = cells.next().unwrap_or_default();
        let placed = [device.to_owned(), path.unwrap_or("-").to_owned()];
        self.table.row(what, placed.into_iter().chain(cells));
        Ok(())
    }

    /// Prints the table.
    fn finish(self, out: &mut dyn Write) -> Result<(), Failure> {
        if !self.json {
            write!(out, "{}", self.table.text())?;
        }
        Ok(())
    }
}
