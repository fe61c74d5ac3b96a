//! A trained ranker.

use std::path::PathBuf;
use std::sync::Arc;

use burn::tensor::Device;
use burn_rank::data::RankingDataset;
use burn_rank::ranker::{Metadata, Model, RankerError};
use burn_rank_cli::RANKER;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::{self, Wanted};
use crate::errors;
use crate::threads::compute;

/// A trained ranker: normalizer, model and what is known of its training.
#[pyclass(frozen, module = "burn_rank")]
pub struct Ranker {
    ranker: Arc<burn_rank::ranker::Ranker>,
}

impl From<burn_rank::ranker::Ranker> for Ranker {
    fn from(ranker: burn_rank::ranker::Ranker) -> Self {
        Self { ranker: Arc::new(ranker) }
    }
}

/// Documents of an array.
struct Documents<'py> {
    features: PyReadonlyArrayDyn<'py, f32>,
    sizes: Vec<usize>,
}

impl<'py> Documents<'py> {
    fn new(name: &'static str, x: &Bound<'py, PyAny>, sizes: Option<&Bound<'py, PyAny>>) -> PyResult<Self> {
        let features = arrays::exact::<f32>(Wanted { name, dimensions: &["documents", "features"] }, x, "float32")?;
        let sizes = arrays::query_sizes(sizes, features.shape()[0], name)?;
        Ok(Self { features, sizes })
    }

    fn rows(&self) -> PyResult<Rows<'_>> {
        let [documents, features] = [self.features.shape()[0], self.features.shape()[1]];
        Ok(Rows { values: arrays::slice("X", &self.features)?, documents, features, sizes: &self.sizes })
    }
}

/// The documents, for threads without the interpreter's lock.
#[derive(Clone, Copy)]
struct Rows<'a> {
    values: &'a [f32],
    documents: usize,
    features: usize,
    sizes: &'a [usize],
}

impl Rows<'_> {
    /// The documents in the one copy that a ranker normalizes.
    fn dataset(self) -> Result<RankingDataset, RankerError> {
        let labels = vec![0.0; self.documents];
        Ok(RankingDataset::builder()
            .features(self.values.to_vec(), self.features)
            .labels(labels)
            .query_sizes(self.sizes)
            .build()?)
    }
}

impl Ranker {
    /// Rejects an array that lacks features of the ranker. Text may leave out zeros, but an array has a column for each
    /// feature, in the order of the training data.
    fn check_width(&self, name: &str, rows: Rows) -> PyResult<()> {
        let (found, expected) = (rows.features, self.ranker.features());
        if found >= expected {
            return Ok(());
        }
        let order = match self.ranker.metadata().feature_names {
            Some(_) => "in the order of `feature_names`",
            None => "in the order of the training data",
        };
        Err(PyValueError::new_err(format!("{name}: found {found} features, expected {expected}, {order}")))
    }
}

#[pymethods]
impl Ranker {
    /// Reads a saved ranker, or that of the folder of a run.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let file = if path.is_dir() { path.join(RANKER) } else { path };
        let ranker = compute(py, None, || burn_rank::ranker::Ranker::load(&file, &Device::flex()))?;
        Ok(ranker.map_err(errors::ranker)?.into())
    }

    /// Reads the bytes of a saved ranker.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let path = PathBuf::from("bytes");
        let read = || burn_rank::ranker::Ranker::from_bytes(bytes, &path, &Device::flex());
        Ok(compute(py, None, read)?.map_err(errors::ranker)?.into())
    }

    /// The bytes of the file of this ranker; the same ranker has the same bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let ranker = &self.ranker;
        Ok(PyBytes::new(py, &compute(py, None, || ranker.to_bytes())?))
    }

    /// Writes the ranker into a file, whole or not at all.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let ranker = &self.ranker;
        compute(py, None, || ranker.save(&path))?.map_err(errors::ranker)
    }

    /// One score per document, `float32`; higher is better. `X` has a column for each feature, in the order of
    /// `feature_names`.
    #[pyo3(name = "predict", signature = (X, query_sizes = None))]
    #[allow(non_snake_case, reason = "the name of scikit-learn")]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        query_sizes: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let documents = Documents::new("X", X, query_sizes)?;
        let rows = documents.rows()?;
        self.check_width("X", rows)?;
        let ranker = &self.ranker;
        let scores = compute(py, None, || match rows.documents {
            0 => Ok(Vec::new()),
            _ => ranker.predict_owned(rows.dataset()?, &Device::flex()),
        })?;
        Ok(scores.map_err(errors::ranker)?.into_pyarray(py))
    }

    /// What each feature contributes to each score, `[documents, features]`, and the mean score of the background, for
    /// a ranker of trees.
    #[pyo3(signature = (X, background = None))]
    #[allow(non_snake_case, reason = "the name of scikit-learn")]
    fn contributions<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        background: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, f64)> {
        let documents = Documents::new("X", X, None)?;
        let background = background.map(|background| Documents::new("background", background, None)).transpose()?;
        let rows = documents.rows()?;
        let background = background.as_ref().map(Documents::rows).transpose()?;
        self.check_width("X", rows)?;
        background.map_or(Ok(()), |background| self.check_width("background", background))?;
        let ranker = &self.ranker;
        let found = compute(py, None, || {
            let data = rows.dataset()?;
            let background = background.map(Rows::dataset).transpose()?;
            ranker.contributions(&data, background.as_ref().unwrap_or(&data))
        })?;
        let found = found.map_err(errors::ranker)?;
        let features = self.ranker.features();
        let values = found.values.into_pyarray(py);
        let rows = values.len() / features.max(1);
        Ok((values.reshape([rows, features])?, found.expected))
    }

    /// The number of features of a document.
    #[getter]
    fn n_features(&self) -> usize {
        self.ranker.features()
    }

    /// `scorer`, `trees`, `ensemble`, `kernel` or `members`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.ranker.model() {
            Model::Scorer(_) => "scorer",
            Model::Trees(_) => "trees",
            Model::Ensemble(_) => "ensemble",
            Model::Kernel(_) => "kernel",
            Model::Members(_) => "members",
        }
    }

    /// The names of the features in the order of the columns of `X`, or `None`.
    #[getter]
    fn feature_names(&self) -> Option<Vec<String>> {
        self.ranker.metadata().feature_names.clone()
    }

    /// The same ranker with names of features, or without.
    #[pyo3(signature = (names))]
    fn with_feature_names(&self, names: Option<Vec<String>>) -> PyResult<Self> {
        let ranker = &self.ranker;
        let metadata = Metadata { feature_names: names, ..ranker.metadata().clone() };
        Ok(burn_rank::ranker::Ranker::clone(ranker).with_metadata(metadata).map_err(errors::ranker)?.into())
    }

    /// Where the ranker comes from: configuration, convention, measures, hash of the data, seed, versions.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (errors::encode(self.ranker.metadata())?,))
    }

    /// A description in Markdown, under a title.
    #[pyo3(signature = (title = "ranker"))]
    fn card(&self, title: &str) -> String {
        self.ranker.card(title)
    }

    fn __repr__(&self) -> String {
        format!("<burn_rank.Ranker: {}, {} features>", self.kind(), self.n_features())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.import("burn_rank")?.getattr("_restore")?, (self.to_bytes(py)?,)))
    }
}
