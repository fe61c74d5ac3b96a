//! `Parts` is the form in which a model is saved: a kind, a JSON configuration and named arrays.
//!
//! A new kind of model needs an arm in [`Parts::from_model`] and one in [`Parts::build`]; the file format stays the
//! same.

use std::fmt::Display;

use crate::json::{Value, json};
use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Device, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::error::ModelError;
use super::kernel_expansion::KernelExpansion;
use super::members::Members;
use super::model::Model;
use super::tree_ensemble::{NodeStatistics, Sums, TreeArrays, TreeEnsemble};
use crate::scorer::{Scorer, ScorerConfig};

/// The values of a saved array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Values {
    /// 32-bit floats.
    F32(Vec<f32>),
    /// 64-bit floats.
    F64(Vec<f64>),
    /// 32-bit unsigned integers.
    U32(Vec<u32>),
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Values::F32(values) => values.len(),
            Values::F64(values) => values.len(),
            Values::U32(values) => values.len(),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Values::F32(_) => "F32",
            Values::F64(_) => "F64",
            Values::U32(_) => "U32",
        }
    }
}

/// A named array, stored in row-major order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Array {
    /// Name of the array in the file.
    pub name: String,
    /// Length of each dimension.
    pub shape: Vec<usize>,
    /// The values of the array; their number is the product of the lengths in its shape.
    pub values: Values,
}

impl Array {
    fn flat(name: &str, values: Values) -> Self {
        Self { name: name.into(), shape: vec![values.len()], values }
    }
}

/// A model split into the parts that are saved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parts {
    /// Kind of model.
    pub kind: String,
    /// The configuration from which the model is built; the arrays are separate.
    pub config: Value,
    /// The arrays of the model.
    pub arrays: Vec<Array>,
}

impl Parts {
    /// Splits a model into its parts.
    pub fn from_model(model: &Model) -> Self {
        match model {
            Model::Scorer(scorer) => {
                let mut collector = Collector::default();
                scorer.visit(&mut collector);
                let config = json!({ "scorer": scorer.config(), "features": scorer.features() });
                Self { kind: "scorer".into(), config, arrays: collector.arrays }
            }
            Model::Ensemble(members) => {
                let mut collector = Collector::default();
                let entry = |(number, (weight, scorer)): (usize, &(f64, Scorer))| {
                    collector.path = vec![number.to_string()];
                    scorer.visit(&mut collector);
                    json!({ "weight": weight, "scorer": scorer.config() })
                };
                let members: Vec<Value> = members.iter().enumerate().map(entry).collect();
                let config = json!({ "members": members, "features": model.features() });
                Self { kind: "ensemble".into(), config, arrays: collector.arrays }
            }
            Model::Kernel(expansion) => Self::from_kernel(expansion),
            Model::Trees(trees) => Self::from_trees(trees),
            Model::Members(members) => members.to_parts(),
        }
    }

    fn from_kernel(expansion: &KernelExpansion) -> Self {
        let KernelExpansion { feature_count, landmarks, coefficients, gamma } = expansion.clone();
        let shape = vec![coefficients.len(), feature_count];
        let arrays = vec![
            Array { name: "landmarks".into(), shape, values: Values::F32(landmarks) },
            Array::flat("coefficients", Values::F64(coefficients)),
        ];
        Self { kind: "kernel".into(), config: json!({ "features": feature_count, "gamma": gamma }), arrays }
    }

    fn from_trees(trees: &TreeEnsemble) -> Self {
        let TreeArrays { roots, feature, threshold, left, right, value, missing_left, zero_missing, statistics } =
            trees.arrays().clone();
        let NodeStatistics { count, weight, gain } = statistics;
        let mut arrays = vec![
            Array::flat("roots", Values::U32(roots)),
            Array::flat("feature", Values::U32(feature)),
            Array::flat("threshold", Values::F32(threshold)),
            Array::flat("left", Values::U32(left)),
            Array::flat("right", Values::U32(right)),
            Array::flat("value", Values::F64(value)),
        ];
        let of_some = [
            ("missing_left", Values::U32(missing_left)),
            ("zero_missing", Values::U32(zero_missing)),
            ("count", Values::U32(count)),
            ("weight", Values::F32(weight)),
            ("gain", Values::F32(gain)),
        ];
        let of_some = of_some.into_iter().filter(|(_, values)| values.len() > 0);
        arrays.extend(of_some.map(|(name, values)| Array::flat(name, values)));
        let mut config = json!({ "features": trees.feature_count() });
        if !trees.sums.is_default() {
            config["sums"] = json!(trees.sums);
        }
        Self { kind: "trees".into(), config, arrays }
    }

    /// Builds the model on a device.
    ///
    /// # Errors
    /// Returns [`ModelError`] if the kind is unknown, or if arrays are missing, unexpected or of the wrong shape or
    /// type.
    pub fn build(self, device: &Device) -> Result<Model, ModelError> {
        if self.kind == "members" {
            return Members::from_parts(&self.config, self.arrays, device).map(Model::Members);
        }
        let features = self.config["features"].as_u64().unwrap_or(0) as usize;
        let mut arrays = Arrays::new(self.arrays)?;
        let model = match self.kind.as_str() {
            "scorer" => Model::Scorer(build_scorer(&self.config["scorer"], features, None, &mut arrays, device)?),
            "ensemble" => {
                let members: Vec<Value> =
                    crate::json::from_value(self.config["members"].clone()).map_err(configuration)?;
                let build = |(number, member): (usize, &Value)| {
                    let weight = member["weight"].as_f64().ok_or(configuration("a member has no weight"))?;
                    let path = Some(number.to_string());
                    Ok((weight, build_scorer(&member["scorer"], features, path, &mut arrays, device)?))
                };
                Model::Ensemble(members.iter().enumerate().map(build).collect::<Result<_, ModelError>>()?)
            }
            "kernel" => {
                let gamma = self.config["gamma"].as_f64().unwrap_or(f64::NAN);
                let (landmarks, coefficients) = (arrays.f32s("landmarks")?, arrays.f64s("coefficients")?);
                Model::Kernel(KernelExpansion::new(features, landmarks, coefficients, gamma)?)
            }
            "trees" => {
                let trees = TreeArrays {
                    roots: arrays.u32s("roots")?,
                    feature: arrays.u32s("feature")?,
                    threshold: arrays.f32s("threshold")?,
                    left: arrays.u32s("left")?,
                    right: arrays.u32s("right")?,
                    value: arrays.f64s("value")?,
                    missing_left: arrays.if_there("missing_left", Arrays::u32s)?,
                    zero_missing: arrays.if_there("zero_missing", Arrays::u32s)?,
                    statistics: NodeStatistics {
                        count: arrays.if_there("count", Arrays::u32s)?,
                        weight: arrays.if_there("weight", Arrays::f32s)?,
                        gain: arrays.if_there("gain", Arrays::f32s)?,
                    },
                };
                let sums = match self.config.get("sums") {
                    None => Sums::default(),
                    Some(sums) => crate::json::from_value(sums.clone())
                        .map_err(|error| configuration(format!("sums: {error}")))?,
                };
                Model::Trees(TreeEnsemble::from_arrays(features, trees)?.with_sums(sums))
            }
            kind => {
                let expected = "expected `scorer`, `ensemble`, `kernel`, `members` or `trees`";
                return Err(ModelError(format!("model of kind `{kind}`: {expected}")));
            }
        };
        arrays.end()?;
        Ok(model)
    }
}

/// The maximum number of values that a scorer's configuration may require beyond those that the file contains. A
/// configuration that requires more is rejected before any memory is allocated.
const SPARE: usize = 1 << 12;

/// Builds a scorer from a saved configuration and the arrays whose names start with `path`.
fn build_scorer(
    config: &Value,
    features: usize,
    path: Option<String>,
    arrays: &mut Arrays,
    device: &Device,
) -> Result<Scorer, ModelError> {
    let config: ScorerConfig = crate::json::from_value(config.clone()).map_err(configuration)?;
    let (announced, present) = (config.parameters(features), arrays.0.iter().map(|array| array.values.len()).sum());
    if announced > usize::saturating_add(present, SPARE) {
        return Err(configuration(format!("it announces {announced} values, but the file has {present}")));
    }
    let scorer = config.init(features, 0, device).map_err(configuration)?;
    let mut loader = Loader { path: path.into_iter().collect(), arrays, error: None };
    let scorer = scorer.map(&mut loader);
    loader.error.map_or(Ok(scorer), Err)
}

/// The arrays of a file that have not been used yet.
struct Arrays(Vec<Array>);

impl Arrays {
    /// Checks the shapes of the arrays that were read from a file.
    ///
    /// # Errors
    /// Returns [`ModelError`] if an array does not have as many values as its shape says.
    fn new(arrays: Vec<Array>) -> Result<Self, ModelError> {
        for array in &arrays {
            let places = array.shape.iter().try_fold(1usize, |places, &length| places.checked_mul(length));
            if places != Some(array.values.len()) {
                return Err(mismatch(
                    array,
                    &format!("a shape with {} places, one for each value", array.values.len()),
                ));
            }
        }
        Ok(Self(arrays))
    }

    fn take(&mut self, name: &str) -> Result<Array, ModelError> {
        let index = self.0.iter().position(|array| array.name == name);
        index.map(|index| self.0.swap_remove(index)).ok_or_else(|| ModelError(format!("array `{name}` is missing")))
    }

    /// Removes and returns an array that only some files have. Returns an empty array if it is missing.
    fn if_there<T>(
        &mut self,
        name: &str,
        take: impl FnOnce(&mut Self, &str) -> Result<Vec<T>, ModelError>,
    ) -> Result<Vec<T>, ModelError> {
        if self.0.iter().any(|array| array.name == name) { take(self, name) } else { Ok(Vec::new()) }
    }

    fn u32s(&mut self, name: &str) -> Result<Vec<u32>, ModelError> {
        match self.take(name)? {
            Array { values: Values::U32(values), .. } => Ok(values),
            other => Err(mismatch(&other, "U32")),
        }
    }

    fn f32s(&mut self, name: &str) -> Result<Vec<f32>, ModelError> {
        match self.take(name)? {
            Array { values: Values::F32(values), .. } => Ok(values),
            other => Err(mismatch(&other, "F32")),
        }
    }

    fn f64s(&mut self, name: &str) -> Result<Vec<f64>, ModelError> {
        match self.take(name)? {
            Array { values: Values::F64(values), .. } => Ok(values),
            other => Err(mismatch(&other, "F64")),
        }
    }

    fn end(self) -> Result<(), ModelError> {
        if self.0.is_empty() {
            return Ok(());
        }
        let mut names: Vec<String> = self.0.into_iter().map(|array| array.name).collect();
        names.sort();
        Err(ModelError(format!("unexpected arrays: {}", names.join(", "))))
    }
}

fn mismatch(array: &Array, expected: &str) -> ModelError {
    let Array { name, shape, values } = array;
    ModelError(format!("array `{name}` is {} {shape:?}, expected {expected}", values.kind()))
}

fn configuration(reason: impl Display) -> ModelError {
    ModelError(format!("model configuration: {reason}"))
}

/// Visits a module and collects its parameters and running statistics, each under its path.
#[derive(Default)]
struct Collector {
    path: Vec<String>,
    arrays: Vec<Array>,
}

impl ModuleVisitor for Collector {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.into());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let data = param.val().into_data();
        self.arrays.push(Array {
            name: self.path.join("."),
            shape: param.dims().to_vec(),
            values: Values::F32(data.iter::<f32>().collect()),
        });
    }
}

/// Restores the parameters and running statistics of a module from arrays under their paths.
struct Loader<'a> {
    path: Vec<String>,
    arrays: &'a mut Arrays,
    error: Option<ModelError>,
}

impl Loader<'_> {
    fn find(&mut self, expected: &[usize]) -> Result<Vec<f32>, ModelError> {
        match self.arrays.take(&self.path.join("."))? {
            Array { values: Values::F32(values), shape, .. } if shape == expected => Ok(values),
            other => Err(mismatch(&other, &format!("F32 {expected:?}"))),
        }
    }
}

impl ModuleMapper for Loader<'_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.into());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let shape = param.val().dims();
        match self.find(&shape) {
            Ok(values) => param.map(|old| Tensor::from_data(TensorData::new(values, shape), &old.device())),
            Err(error) => {
                self.error.get_or_insert(error);
                param
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_do_not_fill_their_shape_are_refused() {
        for shape in [vec![1, 1], vec![usize::MAX, 4]] {
            let weight = Array { name: "Linear.linear.weight".into(), shape, values: Values::F32(vec![0.5, -1.0]) };
            let parts = Parts {
                kind: "scorer".into(),
                config: json!({ "scorer": { "kind": "linear", "bias": false }, "features": 1 }),
                arrays: vec![weight],
            };
            let error = parts.build(&Device::flex()).unwrap_err().to_string();
            assert!(error.starts_with("array `Linear.linear.weight` is F32 ["), "{error}");
            assert!(error.ends_with("expected a shape with 2 places, one for each value"), "{error}");
        }
    }
}
