//! Losses by name: values and gradients.

use burn::tensor::{Bool, DType, Device, Element, Tensor, TensorData};
use burn_rank::json::Map;
use burn_rank::loss::{Change, LossError, LossSpec, RankingLoss, check_lists};
use burn_rank::seed::seed_for;
use burn_rank::workbench::registry::{LOSSES, LossEntry};
use numpy::{IntoPyArray, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::arrays::{self, Wanted};
use crate::errors;
use crate::threads::compute;

/// Every registered loss as JSON: name, summary, formula, cost, paper, default parameters, whether it draws random
/// numbers.
#[pyfunction]
pub fn losses() -> PyResult<String> {
    let entry = |entry: &LossEntry| -> PyResult<Value> {
        let loss = entry.build(&Map::new()).map_err(errors::value)?;
        Ok(json!({
            "name": entry.name, "summary": entry.summary, "formula": entry.formula, "cost": entry.cost,
            "paper": entry.paper, "parameters": entry.parameters(),
            "stochastic": loss.changed(Change::Noise(&|seed| seed)).map_err(errors::value)?.is_some(),
        }))
    };
    errors::encode(&LOSSES.iter().map(entry).collect::<PyResult<Vec<_>>>()?)
}

/// The loss that a name, or a measure and a relaxation, and parameters stand for.
fn build(name: &str, parameters: &str) -> PyResult<Box<dyn RankingLoss>> {
    let params: Map = errors::decode("parameters", parameters)?;
    let mut spec = LossSpec::parse(name);
    for (key, value) in params {
        if spec.params.contains_key(&key) {
            return Err(PyValueError::new_err(format!("{key}: found in `{name}` too, expected it once")));
        }
        spec = spec.with(&key, value);
    }
    spec.build().map_err(errors::value)
}

/// The loss with the noise of a draw.
fn drawn(loss: Box<dyn RankingLoss>, draw: Option<u64>) -> PyResult<Box<dyn RankingLoss>> {
    let Some(draw) = draw else { return Ok(loss) };
    let changed = loss.changed(Change::Noise(&|seed| seed_for(seed, "python", draw))).map_err(errors::value)?;
    changed.ok_or_else(|| {
        let name = loss.about().name;
        PyValueError::new_err(format!("{name}: draw = {draw}: expected None, no random numbers are drawn"))
    })
}

/// The loss of each list, `[batch]`, and the derivative of their sum with respect to each score, `[batch, documents]`,
/// or none where `gradient` is false. Both have the dtype of the scores, `float32` or `float64`. A loss that draws
/// random numbers draws others for each `draw`, and others for each list.
#[pyfunction]
#[pyo3(signature = (name, parameters, scores, labels, mask, gradient, draw, threads))]
#[allow(clippy::too_many_arguments, reason = "the Python sources give them names and defaults")]
pub fn loss<'py>(
    py: Python<'py>,
    name: &str,
    parameters: &str,
    scores: &Bound<'py, PyAny>,
    labels: &Bound<'py, PyAny>,
    mask: Option<&Bound<'py, PyAny>>,
    gradient: bool,
    draw: Option<u64>,
    threads: Option<usize>,
) -> PyResult<(Bound<'py, PyAny>, Option<Bound<'py, PyAny>>)> {
    let loss = drawn(build(name, parameters)?, draw)?;
    let input = Input { loss: &*loss, scores, labels, mask, gradient, threads };
    let array = arrays::untyped(SCORES, scores)?;
    if arrays::is::<f32>(array) {
        input.compute::<f32>(py)
    } else if arrays::is::<f64>(array) {
        input.compute::<f64>(py)
    } else {
        Err(arrays::wrong_dtype("scores", array, "float32 or float64"))
    }
}

const LISTS: &[&str] = &["batch", "documents"];
const SCORES: Wanted = Wanted { name: "scores", dimensions: LISTS };

struct Input<'a, 'py> {
    loss: &'a dyn RankingLoss,
    scores: &'a Bound<'py, PyAny>,
    labels: &'a Bound<'py, PyAny>,
    mask: Option<&'a Bound<'py, PyAny>>,
    gradient: bool,
    threads: Option<usize>,
}

impl<'py> Input<'_, 'py> {
    fn compute<T>(self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Option<Bound<'py, PyAny>>)>
    where
        T: numpy::Element + Element + Copy + Into<f64>,
    {
        let scores = arrays::exact::<T>(SCORES, self.scores, "")?;
        let labels = arrays::converted::<T>(Wanted { name: "labels", dimensions: LISTS }, self.labels)?;
        let mask =
            self.mask.map(|mask| arrays::exact::<bool>(Wanted { name: "mask", dimensions: LISTS }, mask, "bool"));
        let mask = mask.transpose()?;
        let shape = [scores.shape()[0], scores.shape()[1]];
        let shapes = [("labels", Some(labels.shape())), ("mask", mask.as_ref().map(|mask| mask.shape()))];
        for (what, found) in shapes {
            if let Some(found) = found.filter(|found| *found != shape) {
                let error = LossError::Shape { what, found: found.to_vec(), other: "scores", expected: shape.to_vec() };
                return Err(errors::value(error));
            }
        }
        let mask = mask.as_ref().map(|mask| arrays::slice("mask", mask)).transpose()?;
        let lists =
            Lists { scores: arrays::slice("scores", &scores)?, labels: arrays::slice("labels", &labels)?, mask, shape };
        let (loss, gradient) = (self.loss, self.gradient);
        let (losses, gradient) =
            compute(py, self.threads, || lists.evaluate(loss, gradient))?.map_err(errors::value)?;
        let gradient = gradient.map(|gradient| gradient.into_pyarray(py).reshape(shape)).transpose()?;
        Ok((losses.into_pyarray(py).into_any(), gradient.map(Bound::into_any)))
    }
}

/// Lists in arrays, one after another.
struct Lists<'a, T> {
    scores: &'a [T],
    labels: &'a [T],
    mask: Option<&'a [bool]>,
    shape: [usize; 2],
}

/// Losses of lists, and the gradient if it was asked for.
type Losses<T> = (Vec<T>, Option<Vec<T>>);

impl<T: numpy::Element + Element + Copy + Into<f64>> Lists<'_, T> {
    fn evaluate(&self, loss: &dyn RankingLoss, gradient: bool) -> Result<Losses<T>, LossError> {
        let Self { scores, labels, mask, shape } = *self;
        check_lists(&loss.about(), scores, labels, mask, shape[1])?;
        let dtype: DType = T::dtype();
        let device = if gradient { Device::flex().autodiff() } else { Device::flex() };
        let tensor = |values: &[T]| Tensor::<2>::from_data(TensorData::new(values.to_vec(), shape), (&device, dtype));
        let mask = match mask {
            Some(mask) => Tensor::<2, Bool>::from_data(TensorData::new(mask.to_vec(), shape), &device),
            None => Tensor::<2>::ones(shape, &device).greater_elem(0.0),
        };
        let (scores, labels) = (tensor(scores), tensor(labels));
        if !gradient {
            return Ok((numbers(loss.forward_no_reduction(scores, labels, mask)), None));
        }
        let scores = scores.require_grad();
        let losses = loss.forward_no_reduction(scores.clone(), labels, mask);
        let found = scores.grad(&losses.clone().sum().backward());
        // A loss that does not depend on the scores leaves no gradient.
        let found = found.unwrap_or_else(|| scores.zeros_like());
        Ok((numbers(losses), Some(numbers(found))))
    }
}

fn numbers<const D: usize, T: Element>(tensor: Tensor<D>) -> Vec<T> {
    let data = tensor.into_data();
    data.iter::<T>().collect()
}
