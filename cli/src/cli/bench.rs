//! `burn-rank bench` times the forward and backward passes of losses. `bench train` measures the speed of gradient
//! training, in documents per second. `bench trees` measures the time and memory of boosted trees. `bench serving`
//! measures the latency of one query.

use burn_rank::device;
use burn_rank::loss::LossSpec;
use burn_rank::op::Execution;
use burn_rank::scorer::{MlpScorerConfig, ScorerConfig};
use burn_rank::workbench::op::SumPath;
use clap::builder::TypedValueParser;

use super::*;
use crate::bench::{LossBench, OpPath, ServingBench, TrainBench, TreesBench};

/// Arguments of `bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    #[command(subcommand)]
    command: Option<BenchCommand>,
    /// Devices, by name [default: BURN_DEVICE, else flex]
    #[arg(long, value_delimiter = ',', global = true)]
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
    #[arg(long, value_parser = sums(), default_value = "auto", global = true)]
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
    Train(TrainBench),
    /// Measure the time, in microseconds, that each kind of ranker needs to normalize and score one query
    Serving(ServingBench),
    /// Measure the time and memory of training boosted trees on generated data
    Trees {
        /// Loss, by name
        #[arg(long, default_value = "lambda_ndcg")]
        loss: String,
        #[command(flatten)]
        bench: TreesBench,
        /// Set a parameter of the loss, as in k=30
        #[arg(long = "set", value_name = "KEY=VALUE")]
        set: Vec<String>,
    },
}

/// Returns the parser of --sums, which lists the methods in the help.
fn sums() -> impl TypedValueParser<Value = SumPath> {
    input::one_of(SumPath::ALL.iter().map(|path| (path.name(), *path, path.summary())))
}

impl BenchArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        start_threads(true);
        self.execution.scope(|| Execution::current().with_sums(self.sums).scope(|| self.measure(out)))
    }

    fn measure(&self, out: &mut dyn Write) -> Result {
        let (bench, subject, columns): (&str, &str, &[Column]) = match &self.command {
            None => ("losses", "loss", &LOSSES),
            Some(BenchCommand::Train(_)) => ("train", "scorer", &TRAIN),
            Some(BenchCommand::Serving(_)) => ("serving", "ranker", &SERVING),
            Some(BenchCommand::Trees { .. }) => ("trees", "loss", &TREES),
        };
        let setting = ["device", "path"];
        let mut table = Table::new(subject, setting.into_iter().chain(columns.iter().map(|(title, _)| *title)));
        let named = (!self.devices.is_empty()).then_some(&self.devices);
        for name in named.unwrap_or(&vec![device::default_name()]) {
            let device = open_device(named.map(|_| name.as_str()))?;
            let rows = match &self.command {
                None => self.losses(&device, name)?,
                Some(BenchCommand::Train(bench)) => self.train(bench, &device, name)?,
                Some(BenchCommand::Serving(bench)) => {
                    let work = Work::new(&format!("requests to {name}"));
                    let timed = |rankers| work.now(&format!("requests to {name}, rankers timed: {rankers}"));
                    bench.run(&device, name, timed)?
                }
                Some(BenchCommand::Trees { loss, bench, set }) => {
                    let mut loss = LossSpec::parse(loss);
                    loss.params.extend(input::assignments("--set", set)?);
                    let run = || bench.run(loss, self.repeats, &device, name);
                    vec![during(&format!("growing trees on {name}"), run)?]
                }
            };
            for row in rows {
                let mut line = json!({"bench": bench, "device": name});
                if let (Some(line), Some(row)) = (line.as_object_mut(), row.as_object()) {
                    line.extend(row.iter().map(|(key, value)| (key.clone(), value.clone())));
                }
                if self.json {
                    writeln!(out, "{line}")?;
                }
                let figures = columns.iter().map(|(_, cell)| cell(&line));
                table.row(words(&line, subject), setting.map(|key| words(&line, key)).into_iter().chain(figures));
            }
        }
        if self.json {
            return Ok(());
        }
        if let Some(BenchCommand::Serving(ServingBench { documents, features, requests })) = &self.command {
            let query = format!("a query of {documents} documents x {features} features");
            writeln!(out, "{query}, {requests} requests one after the other")?;
        }
        Ok(write!(out, "{}", table.text())?)
    }

    fn losses(&self, device: &Device, name: &str) -> Result<Vec<Value>> {
        // The time of a kernel depends on the temperature, so losses keep the temperatures of their papers.
        let at_papers = |loss: &String| LossSpec::parse(loss).with_default_temperature(None);
        let bench = LossBench {
            losses: self.losses.iter().map(at_papers).collect::<Result<_, _>>()?,
            shapes: self.shapes.iter().map(|shape| shape.parse().map_err(Failure::input)).collect::<Result<_>>()?,
            paths: self.paths(&[OpPath::Fused, OpPath::Tensor]),
            repeats: self.repeats,
        };
        let work = Work::of(name, bench.losses.len() * bench.shapes.len() * bench.paths.len());
        Ok(bench.run(device, name, |rows| work.done(rows))?)
    }

    fn train(&self, bench: &TrainBench, device: &Device, name: &str) -> Result<Vec<Value>> {
        let mlp = MlpScorerConfig { hidden: vec![256, 128, 64], ..MlpScorerConfig::default() };
        let mut rows = Vec::new();
        for (scorer_name, scorer) in [("linear", ScorerConfig::default()), ("256,128,64", ScorerConfig::Mlp(mlp))] {
            for path in self.paths(&[OpPath::Fused]) {
                let run = || bench.run(&scorer, path, self.repeats, device, name);
                let mut row = during(&format!("training {scorer_name} on {name}"), run)?;
                row["scorer"] = scorer_name.into();
                rows.push(row);
            }
        }
        Ok(rows)
    }

    /// Returns the paths that the user selected, or the benchmark's default paths if the user selected none.
    fn paths(&self, default: &[OpPath]) -> Vec<OpPath> {
        if self.paths.is_empty() { default.to_vec() } else { self.paths.clone() }
    }
}

/// A column of a benchmark's table: its title, and its cell for a line of JSON. What is timed, the device and the path
/// stand before these columns.
type Column = (&'static str, fn(&Value) -> String);

const LOSSES: [Column; 6] = [
    ("shape", |row| format!("{}x{}", row["batch"], row["n"])),
    ("ms", |row| decimals(row, "ms", 3)),
    ("Mpairs/s", |row| decimals(row, "mpairs_per_s", 1)),
    ("documents/s", |row| decimals(row, "documents_per_s", 0)),
    ("peak MiB", |row| decimals(row, "peak_mib", 1)),
    ("bytes/document", |row| decimals(row, "peak_bytes_per_document", 0)),
];

const TRAIN: [Column; 3] = [
    ("loss", |row| words(row, "loss")),
    ("documents/s", |row| decimals(row, "documents_per_s", 0)),
    ("best", |row| decimals(row, "best_documents_per_s", 0)),
];

const SERVING: [Column; 2] =
    [("median us", |row| decimals(row, "median_us", 1)), ("99% us", |row| decimals(row, "p99_us", 1))];

const TREES: [Column; 6] = [
    ("documents", |row| row["documents"].to_string()),
    ("trees", |row| row["rounds"].to_string()),
    ("fit s", |row| decimals(row, "fit_s", 3)),
    ("predict s", |row| decimals(row, "predict_s", 3)),
    ("peak MiB", |row| decimals(row, "peak_mib", 1)),
    ("NDCG@10", |row| decimals(row, "ndcg", 4)),
];

/// Returns the text of a key, or a dash if it has none.
fn words(row: &Value, key: &str) -> String {
    row[key].as_str().unwrap_or("-").to_owned()
}

/// Returns the number of a key with this number of decimals, or a dash if it was not measured.
fn decimals(row: &Value, key: &str, decimals: usize) -> String {
    row[key].as_f64().map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"))
}
