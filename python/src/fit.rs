//! Training: a configuration in its folder, or arrays.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use burn::tensor::Device;
use burn_rank::data::{Positions, RankingDataset};
use burn_rank::learner::{Interrupt, Progress, Round};
use burn_rank::op::Execution;
use burn_rank::workbench::distributed::ProcessGroup;
use burn_rank_cli::{
    Claim, Destination, Document, Experiment, Fit, FitOptions, Report, Split, TrainRun, write_reports,
};
use numpy::{PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::arrays::{self, Wanted};
use crate::errors;
use crate::ranker::Ranker;
use crate::threads::{Threads, internal};

/// Time after which a signal is looked for.
const PATIENCE: Duration = Duration::from_millis(50);

/// What a learner tells, as JSON, sent to the thread of the caller.
struct Events(Sender<Value>);

impl Events {
    fn send(&self, event: Value) {
        // Nobody listens after a second Ctrl-C.
        let _ = self.0.send(event);
    }
}

impl Progress for Events {
    fn begin(&self, learner: &str, rounds: Option<usize>) {
        self.send(json!({"event": "begin", "learner": learner, "rounds": rounds}));
    }

    fn round(&self, round: &Round) {
        let figures = round.figures.iter().map(|(name, value)| (name.clone(), json!(*value))).collect();
        self.send(json!({
            "event": "round", "round": round.round, "objective": round.objective, "train": round.train,
            "validation": round.validation, "figures": Value::Object(figures),
        }));
    }

    fn warn(&self, message: &str) {
        self.send(json!({"event": "warning", "message": message}));
    }

    fn end(&self) {
        self.send(json!({"event": "end"}));
    }
}

/// Runs `work` on a new thread and passes its reports to `tell`. If `tell` raises or Ctrl-C is pressed, `work` is asked
/// to stop, and the exception is raised again when it has ended. A second Ctrl-C does not wait for the end.
fn listen<R: Send + 'static>(
    py: Python<'_>,
    tell: &Bound<'_, PyAny>,
    work: impl FnOnce(&dyn Progress, Interrupt) -> PyResult<R> + Send + 'static,
) -> PyResult<R> {
    let threads = Threads::new(None)?;
    let (sender, mut events) = mpsc::channel();
    let interrupt = Interrupt::default();
    let asked = interrupt.clone();
    let worker = thread::Builder::new().name("burn-rank fit".to_string());
    let worker = worker.spawn(move || threads.run(move || work(&Events(sender), asked)))?;
    let mut raised: Option<PyErr> = None;
    loop {
        let waiting = &mut events;
        match py.detach(move || waiting.recv_timeout(PATIENCE)) {
            Ok(event) if raised.is_none() => {
                if let Err(error) = tell.call1((event.to_string(),)) {
                    interrupt.request();
                    raised = Some(error);
                }
            }
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if let Err(error) = py.check_signals() {
            if raised.as_ref().is_some_and(|raised| raised.is_instance_of::<PyKeyboardInterrupt>(py)) {
                return Err(error);
            }
            interrupt.request();
            raised = Some(error);
        }
    }
    let done = py.detach(|| worker.join());
    match (raised, done) {
        (Some(error), _) => Err(error),
        (None, Ok(done)) => done.map_err(internal)?,
        (None, Err(_)) => Err(PyRuntimeError::new_err("the thread of the fit has gone")),
    }
}

/// A configuration as the Python sources give it.
#[derive(FromPyObject)]
pub enum Written {
    /// The path of a file.
    #[pyo3(transparent)]
    Path(PathBuf),
    /// `("toml", text)` or `("json", text)`
    #[pyo3(transparent)]
    Text((String, String)),
}

/// Name of a configuration that has no file, in messages, and of its run where it names none.
const NAMELESS: &str = "config";

fn document(config: &Written, set: &[String]) -> PyResult<Document> {
    match config {
        Written::Path(path) => return Document::read(path, set).map_err(|error| errors::config(path, error)),
        Written::Text((kind, text)) if kind == "toml" => Document::parse(Path::new(NAMELESS), text.clone(), set),
        Written::Text((_, text)) => Document::from_value(NAMELESS, errors::decode(NAMELESS, text)?, set),
    }
    .map_err(errors::value)
}

/// A configuration that is checked, with its device and the way in which it computes.
fn open(document: &mut Document) -> PyResult<(Experiment, Device, Execution)> {
    document.set_default_device();
    let config = Experiment::from_document(document).map_err(errors::value)?;
    let refuse = |key: &str, message: String| errors::value(document.refuse(key, &message));
    let device = burn_rank::device::open(&config.device).map_err(|error| refuse("device", error.to_string()))?;
    let execution = match config.instructions {
        None => Execution::current(),
        Some(set) => {
            Execution::current().with_instructions(set).map_err(|error| refuse("instructions", error.to_string()))?
        }
    };
    Ok((config, device, execution))
}

/// Runs a configuration in its folder as `burn-rank train` does, and returns the ranker, the folder, and the report as
/// JSON.
#[pyfunction]
#[pyo3(signature = (config, set, out, claim, start, tell))]
pub fn train(
    py: Python<'_>,
    config: Written,
    set: Vec<String>,
    out: Option<PathBuf>,
    claim: &str,
    start: Option<PathBuf>,
    tell: &Bound<'_, PyAny>,
) -> PyResult<(Ranker, PathBuf, String)> {
    let began = Instant::now();
    let claim = match claim {
        "resume" => Claim::Resume,
        "overwrite" => Claim::Overwrite,
        _ => Claim::New,
    };
    let mut document = document(&config, &set)?;
    if let Some(start) = start {
        document.set_option("start", "start =", &start.display().to_string());
    }
    let (config, device, execution) = open(&mut document)?;
    listen(py, tell, move |progress, interrupt| {
        execution.scope(|| {
            let to = Destination::new(out, &config.name, claim);
            let run = TrainRun::open(began, &document, config, &device, &to, &ProcessGroup::default())
                .map_err(errors::experiment)?;
            let done = run.fit(progress, interrupt, &write_reports).map_err(errors::experiment)?;
            let report = errors::encode(&Report::Train(done.report))?;
            Ok((done.ranker.into(), done.folder.unwrap_or_default(), report))
        })
    })
}

/// The arrays of a set of queries: features, labels, sizes of queries, weights of queries and of documents, and the
/// positions at which documents were shown.
#[derive(FromPyObject)]
pub struct Arrays<'py>(
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Option<Bound<'py, PyAny>>,
    Option<Bound<'py, PyAny>>,
    Option<Bound<'py, PyAny>>,
    Option<Vec<String>>,
);

impl Arrays<'_> {
    /// The set, copied out of the arrays: a fit is longer than a call in which nobody else writes into them.
    fn dataset(&self) -> PyResult<RankingDataset> {
        let Self(x, labels, sizes, query_weights, document_weights, positions) = self;
        let x = arrays::exact::<f32>(Wanted { name: "X", dimensions: &["documents", "features"] }, x, "float32")?;
        let labels = arrays::converted::<f32>(Wanted { name: "y", dimensions: &["documents"] }, labels)?;
        let [documents, features] = [x.shape()[0], x.shape()[1]];
        if labels.len() != documents {
            let message = format!("y: found {}, expected {documents}, one per document of X", labels.len());
            return Err(PyValueError::new_err(message));
        }
        let sizes = arrays::query_sizes(sizes.as_ref(), documents, "X")?;
        let values = |name, array: &PyReadonlyArrayDyn<'_, f32>| Ok::<_, PyErr>(arrays::slice(name, array)?.to_vec());
        let weights = |name: &'static str, of: &'static [&'static str], given: &Option<Bound<'_, PyAny>>| {
            let array = given.as_ref().map(|given| arrays::converted::<f32>(Wanted { name, dimensions: of }, given));
            array.transpose()?.map(|array| values(name, &array)).transpose()
        };
        let mut data = RankingDataset::builder()
            .features(values("X", &x)?, features)
            .labels(values("y", &labels)?)
            .query_sizes(&sizes)
            .build()
            .map_err(errors::data)?;
        if let Some(weights) = weights("query_weight", &["queries"], query_weights)? {
            data = data.with_query_weights(weights).map_err(errors::data)?;
        }
        if let Some(weights) = weights("sample_weight", &["documents"], document_weights)? {
            data = data.with_document_weights(weights).map_err(errors::data)?;
        }
        match positions {
            Some(positions) => data.with_positions(Positions::new(positions)).map_err(errors::data),
            None => Ok(data),
        }
    }
}

/// Fits a configuration, given as JSON, to arrays in place of its data, without a folder. Returns the ranker, and
/// rounds, measures and why the fit ended as JSON.
#[pyfunction]
#[pyo3(signature = (config, training, validation, tell))]
pub fn fit(
    py: Python<'_>,
    config: &str,
    training: Arrays<'_>,
    validation: Option<Arrays<'_>>,
    tell: &Bound<'_, PyAny>,
) -> PyResult<(Ranker, String)> {
    let mut document =
        Document::from_value("estimator", errors::decode("estimator", config)?, &[]).map_err(errors::value)?;
    let (config, device, execution) = open(&mut document)?;
    let train = training.dataset()?;
    let of_validation = |error: PyErr| PyErr::from_type(error.get_type(py), format!("validation: {}", error.value(py)));
    let validation = validation.map(|validation| validation.dataset()).transpose().map_err(of_validation)?;
    let split = Split { fold: 1, train, validation, test: None };
    listen(py, tell, move |progress, interrupt| {
        execution.scope(|| {
            let options = FitOptions { progress, interrupt, ..FitOptions::new(&device) };
            let fit = burn_rank_cli::fit(&config, &split, config.seed, &options).map_err(errors::experiment)?;
            let about = about(&fit)?;
            Ok((fit.ranker.into(), about))
        })
    })
}

/// Rounds, measures and why a fit ended, as JSON.
fn about(fit: &Fit) -> PyResult<String> {
    errors::encode(&json!({
        "best_round": fit.best_round, "history": fit.history, "stop": fit.stop, "evaluations": fit.evaluations,
        "importance": fit.importance, "positions": fit.positions,
    }))
}
