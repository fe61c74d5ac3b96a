//! Exact measures of scores.

use burn_rank::measure::{Convention, Measure, MeasureError, Rankings};
use numpy::{IntoPyArray, PyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{self, Wanted};
use crate::errors;
use crate::threads::compute;

/// The values of a measure: its name, its mean, and its value of each query, NaN where the convention leaves it out.
type Values<'py> = (String, f64, Bound<'py, PyArray1<f64>>);

/// Measures of scores: the values, the queries without a relevant document, and the convention as JSON.
#[pyfunction]
#[pyo3(signature = (labels, scores, query_sizes, measures, convention, document_ids))]
pub fn evaluate<'py>(
    py: Python<'py>,
    labels: &Bound<'py, PyAny>,
    scores: &Bound<'py, PyAny>,
    query_sizes: Option<&Bound<'py, PyAny>>,
    measures: Vec<String>,
    convention: &str,
    document_ids: Option<Vec<String>>,
) -> PyResult<(Vec<Values<'py>>, usize, String)> {
    let measures: Vec<Measure> =
        measures.iter().map(|name| name.parse()).collect::<Result<_, MeasureError>>().map_err(errors::value)?;
    let convention: Convention = errors::decode("convention", convention)?;
    let scores = arrays::exact::<f32>(Wanted { name: "scores", dimensions: &["documents"] }, scores, "float32")?;
    let labels = arrays::converted::<f32>(Wanted { name: "labels", dimensions: &["documents"] }, labels)?;
    if labels.len() != scores.len() {
        let message = format!("labels: found {}, expected {}, one per score", labels.len(), scores.len());
        return Err(PyValueError::new_err(message));
    }
    let mut offsets = vec![0];
    for size in arrays::query_sizes(query_sizes, scores.len(), "scores")? {
        offsets.push(offsets[offsets.len() - 1] + size);
    }
    let rankings = Rankings {
        scores: arrays::slice("scores", &scores)?,
        labels: arrays::slice("labels", &labels)?,
        offsets: &offsets,
        document_ids: document_ids.as_deref().unwrap_or_default(),
    };
    let found = compute(py, None, || burn_rank::measure::evaluate(&rankings, &measures, &convention))?;
    let found = found.map_err(errors::value)?;
    let values = found.means.iter().zip(found.per_query).map(|((measure, mean), values)| {
        let values: Vec<f64> = values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect();
        (measure.to_string(), *mean, values.into_pyarray(py))
    });
    Ok((values.collect(), found.empty_queries, errors::encode(&found.convention)?))
}
