//! Benchmarks of the forward and backward passes of losses.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use burn::tensor::{Bool, DType, Device, Tensor, TensorData};
use burn_rank::json::Value;
use burn_rank::loss::{LossSpec, RankingLoss, Reduction};
use burn_rank::op::Execution;
use burn_rank::seed::seed_for;
use burn_rank::workbench::json::json;
use burn_rank::workbench::memory::{ask, peak_during, product};
use burn_rank::workbench::op::with_tensor_path;
use burn_rank::workbench::{ask_memory, in_host_memory, label, root_cause};
use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::{SEED, sync};
use crate::experiment::ExperimentError;
use crate::number::median;

/// The shape of a benchmark's lists, written as `BATCHxDOCUMENTS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Number of lists.
    pub batch: usize,
    /// The number of documents in each list.
    pub documents: usize,
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |part: &str| part.trim().parse().ok().filter(|&n: &usize| n > 0);
        let parsed = text.split_once('x').and_then(|(batch, documents)| Some((number(batch)?, number(documents)?)));
        let expected = || format!("shape `{text}`: expected BATCHxDOCUMENTS, both at least 1, such as 64x128");
        parsed.map(|(batch, documents)| Self { batch, documents }).ok_or_else(expected)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}x{}", self.batch, self.documents)
    }
}

/// How the pairwise sums and other basic operations of a loss are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum OpPath {
    /// The fastest implementation that the device supports.
    Fused,
    /// Tensor operations with automatic differentiation.
    Tensor,
}

/// The approximate number of bytes per pair of documents that automatic differentiation keeps until the backward pass.
/// A measurement with `approx_ndcg` gave 13 numbers of 4 bytes for each pair.
const BYTES_PER_PAIR: u64 = 4 * 13;

/// The approximate number of bytes per document for the inputs, the gradient, and the values that a fused loss keeps.
const BYTES_PER_DOCUMENT: usize = 4 * 10;

impl OpPath {
    /// Returns the name by which users choose this implementation on the command line.
    pub fn name(self) -> &'static str {
        match self {
            OpPath::Fused => "fused",
            OpPath::Tensor => "tensor",
        }
    }

    /// Runs `f` with this implementation for all losses that `f` computes.
    pub(super) fn run<R>(self, f: impl FnOnce() -> R) -> R {
        match self {
            OpPath::Fused => f(),
            OpPath::Tensor => with_tensor_path(f),
        }
    }

    /// Returns whether a batch with this shape fits into memory, and logs a warning if it does not.
    fn fits(self, shape: Shape, loss: &str) -> bool {
        let needed = product([shape.batch, shape.documents, shape.documents]).saturating_mul(BYTES_PER_PAIR);
        match (self, ask(needed)) {
            (OpPath::Tensor, Err(shortage)) => {
                log::warn!("{loss}, {shape}: the tensor definition {shortage}: left out");
                false
            }
            _ => true,
        }
    }
}

/// The maximum number of consecutive runs of one implementation before the benchmark switches to the other.
const MOST_RUNS: usize = 10;

/// The time after which the benchmark switches to the other implementation.
const BURST: Duration = Duration::from_millis(50);

/// A benchmark that times losses on one device.
#[derive(Debug, Clone)]
pub struct LossBench {
    /// The losses, with their parameters.
    pub losses: Vec<LossSpec>,
    /// Shapes of the lists.
    pub shapes: Vec<Shape>,
    /// The implementations to compare, which run in alternating bursts.
    pub paths: Vec<OpPath>,
    /// The number of bursts for each implementation; the result is the median over all its runs.
    pub repeats: u32,
}

impl LossBench {
    /// Times every loss at every shape in the calling thread's [`Execution`], calls `done` with the number of rows so
    /// far, and returns the rows. Scripts that time other libraries write the keys from `peer` to `mpairs_per_s`, too.
    ///
    /// # Errors
    /// Returns an error if a loss cannot be built, a batch does not fit into memory, or the device fails.
    pub fn run(&self, device: &Device, name: &str, done: impl Fn(usize)) -> Result<Vec<Value>, ExperimentError> {
        for &shape in self.shapes.iter().filter(|_| in_host_memory(device)) {
            let bytes = product([shape.batch, shape.documents, BYTES_PER_DOCUMENT]);
            ask_memory("shapes", shape, bytes, "lower the number of lists, or of their documents")?;
        }
        let losses = self.losses.iter().map(LossSpec::build).collect::<Result<Vec<_>, _>>()?;
        let mut rows = Vec::new();
        for (spec, loss) in self.losses.iter().zip(&losses) {
            for &shape in &self.shapes {
                rows.extend(self.measure(spec, loss.as_ref(), shape, device, name)?);
                done(rows.len());
            }
        }
        Ok(rows)
    }

    fn measure(
        &self,
        spec: &LossSpec,
        loss: &dyn RankingLoss,
        shape: Shape,
        device: &Device,
        name: &str,
    ) -> Result<Vec<Value>, ExperimentError> {
        loss.about().check_memory(shape.batch, shape.documents, DType::F32, device)?;
        let lists = Lists::new(shape, device);
        let paths: Vec<OpPath> =
            self.paths.iter().copied().filter(|path| path.fits(shape, &spec.to_string())).collect();
        let run = |path: OpPath| path.run(|| lists.step(loss, device, name));
        // The first run of a path warms it up and shows its memory.
        let mut peaks = Vec::new();
        for &path in &paths {
            let (time, peak) = peak_during(|| run(path));
            time?;
            peaks.push(peak);
        }
        let mut times = vec![Vec::new(); paths.len()];
        for _ in 0..self.repeats {
            for (times, &path) in times.iter_mut().zip(&paths) {
                // Each timed run follows one like it, as in training, and finds its memory and threads ready.
                run(path)?;
                let start = times.len();
                let burst = Instant::now();
                while times.len() == start || (times.len() < start + MOST_RUNS && burst.elapsed() < BURST) {
                    times.push(run(path)?);
                }
            }
        }
        let cells = (shape.batch * shape.documents) as f64;
        let rows = paths.iter().zip(&mut times).zip(peaks).map(|((path, times), peak)| {
            let seconds = median(times).unwrap_or(f64::NAN);
            let mut row = json!({
                "path": path.name(), "peer": format!("burn-rank/{name}/{}", path.name()), "loss": spec.to_string(),
                "batch": shape.batch, "n": shape.documents, "ms": seconds * 1e3,
                // Ordered pairs of documents, in millions.
                "mpairs_per_s": cells * shape.documents as f64 / seconds / 1e6, "documents_per_s": cells / seconds,
            });
            // Without scores and labels, and without memory that the process has kept since an earlier measurement.
            if let Some(bytes) = peak.map(|bytes| bytes as f64) {
                row["peak_mib"] = json!(bytes / f64::from(1 << 20));
                row["peak_bytes_per_document"] = json!(bytes / cells);
            }
            row["sums"] = json!(Execution::current().sums());
            row
        });
        Ok(rows.collect())
    }
}

/// Random scores and labels for a batch of lists, on the device to be timed.
struct Lists {
    scores: Tensor<2>,
    labels: Tensor<2>,
    mask: Tensor<2, Bool>,
}

impl Lists {
    fn new(shape: Shape, device: &Device) -> Self {
        let cells = shape.batch * shape.documents;
        let mut random = ChaCha8Rng::seed_from_u64(seed_for(SEED, "bench", cells as u64));
        let scores: Vec<f32> = (0..cells).map(|_| normal(&mut random)).collect();
        let of_cell =
            |cell: usize| if cell.is_multiple_of(shape.documents) { 4.0 } else { f32::from(label(random.random())) };
        let labels: Vec<f32> = (0..cells).map(of_cell).collect();
        let device = device.clone().autodiff();
        let tensor = |values| Tensor::<2>::from_data(TensorData::new(values, [shape.batch, shape.documents]), &device);
        let (scores, labels) = (tensor(scores), tensor(labels));
        let mask = labels.ones_like().greater_elem(0.0);
        Self { scores, labels, mask }
    }

    /// Times one forward and backward pass, in seconds.
    fn step(&self, loss: &dyn RankingLoss, device: &Device, name: &str) -> Result<f64, ExperimentError> {
        let scores = self.scores.clone().detach().require_grad();
        let (labels, mask) = (self.labels.clone(), self.mask.clone());
        sync(device, name)?;
        let start = Instant::now();
        let gradients = loss.forward(scores.clone(), labels, mask, Reduction::Mean).backward();
        let gradient = scores.grad(&gradients);
        sync(device, name)?;
        let seconds = start.elapsed().as_secs_f64();
        // A device reports what it could not compute only when the result is read.
        if let Some(Err(error)) = gradient.map(|gradient| gradient.try_into_data()) {
            let [batch, documents] = scores.dims();
            let reason = format!("{}, {batch}x{documents}: {}; lower --shapes", loss.about().name, root_cause(error));
            return Err(ExperimentError::Device { device: name.to_owned(), reason });
        }
        Ok(seconds)
    }
}

/// Draws a number from the standard normal distribution (Box and Muller).
fn normal(random: &mut ChaCha8Rng) -> f32 {
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    (radius * (std::f64::consts::TAU * random.random::<f64>()).cos()) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_two_positive_numbers() {
        assert_eq!("64x128".parse::<Shape>().unwrap(), Shape { batch: 64, documents: 128 });
        assert_eq!(Shape { batch: 4, documents: 1024 }.to_string(), "4x1024");
        for bad in ["64", "0x3", "3x", "ax4", "1x2x3"] {
            let message = bad.parse::<Shape>().unwrap_err().to_string();
            assert!(message.starts_with(&format!("shape `{bad}`")), "{message}");
        }
    }

    #[test]
    fn a_tensor_definition_that_would_not_fit_is_left_out() {
        let shape = Shape { batch: 1, documents: 10_000_000 };
        assert!(!OpPath::Tensor.fits(shape, "approx_ndcg"));
        assert!(OpPath::Fused.fits(shape, "approx_ndcg"));
    }

    #[test]
    fn shapes_that_no_memory_holds_are_refused_before_any_is_timed() {
        for (batch, documents) in [(1_000_000_000, 1_000_000_000), (usize::MAX, 2)] {
            let shapes = vec![Shape { batch: 1, documents: 2 }, Shape { batch, documents }];
            let losses = vec![LossSpec::new("list_net")];
            let bench = LossBench { losses, shapes, paths: vec![OpPath::Fused], repeats: 1 };
            let error = bench.run(&Device::flex(), "flex", |_| panic!("a row")).unwrap_err().to_string();
            assert!(error.starts_with(&format!("shapes: {batch}x{documents} takes about ")), "{error}");
            assert!(error.ends_with(" are free: lower the number of lists, or of their documents"), "{error}");
        }
    }

    #[test]
    fn every_path_gets_a_row() {
        let bench = LossBench {
            losses: vec![LossSpec::new("approx_ndcg")],
            shapes: vec![Shape { batch: 2, documents: 5 }],
            paths: vec![OpPath::Fused, OpPath::Tensor],
            repeats: 1,
        };
        let rows = bench.run(&Device::flex(), "flex", |_| ()).unwrap();
        let peers: Vec<_> = rows.iter().map(|row| row["peer"].as_str().unwrap()).collect();
        assert_eq!(peers, ["burn-rank/flex/fused", "burn-rank/flex/tensor"]);
        for row in &rows {
            assert_eq!((&row["loss"], &row["batch"], &row["n"]), (&json!("approx_ndcg"), &json!(2), &json!(5)));
            assert!(row["ms"].as_f64().unwrap() > 0.0);
            let bytes = row["peak_mib"].as_f64().map(|peak| peak * f64::from(1 << 20));
            assert_eq!(row["peak_bytes_per_document"].as_f64(), bytes.map(|bytes| bytes / 10.0));
        }
    }
}
