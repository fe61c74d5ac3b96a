//! Weights between a module and a safetensors file.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::tensor::{Device, Shape, Tensor, TensorData};
use burn_rank::workbench::text::counted;
use safetensors::tensor::{Dtype, SafeTensors, View};

use crate::error::TextError;
use crate::names::{PREFIX, hugging_face_name, is_transposed, normalized};

/// The weights of a file, by their names without the prefix.
pub(crate) struct Weights<'a> {
    path: &'a Path,
    found: BTreeMap<String, (String, safetensors::tensor::TensorView<'a>)>,
}

/// Names that are listed in an error; the others are counted.
const LISTED: usize = 6;

impl<'a> Weights<'a> {
    /// Reads the names of a file.
    pub(crate) fn new(path: &'a Path, bytes: &'a [u8]) -> Result<Self, TextError> {
        let tensors = SafeTensors::deserialize(bytes)
            .map_err(|error| TextError::model(path, format!("not a whole safetensors file: {error}")))?;
        let mut found = BTreeMap::new();
        for (name, tensor) in tensors.tensors() {
            let Some(short) = normalized(&name) else { continue };
            if let Some((twice, _)) = found.insert(short, (name.clone(), tensor)) {
                return Err(TextError::model(path, format!("found `{twice}` and `{name}`, expected one of them")));
            }
        }
        Ok(Self { path, found })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.found.contains_key(name)
    }

    /// Puts the weights into a module. Parameters whose names begin with one of `may_be_new` may be absent; returns the
    /// names of those that were.
    ///
    /// # Errors
    /// Returns an error that names the weights that are missing, left over, or of another shape or type.
    pub(crate) fn into_module<M: Module>(
        self,
        module: M,
        may_be_new: &[&str],
        device: &Device,
    ) -> Result<(M, Vec<String>), TextError> {
        let path = self.path;
        let mut filler = Filler { left: self.found, at: Place::default(), device, missing: vec![], wrong: vec![] };
        let module = module.map(&mut filler);
        let Filler { left, missing, wrong, .. } = filler;
        let (new, missing): (Vec<_>, Vec<_>) =
            missing.into_iter().partition(|name| may_be_new.iter().any(|prefix| name.starts_with(prefix)));
        let left: Vec<String> = left.into_values().map(|(name, _)| name).collect();
        let faults = [("missing", &missing), ("left over", &left), ("wrong", &wrong)];
        let faults = faults.into_iter().filter(|(_, names)| !names.is_empty());
        let faults: Vec<String> =
            faults.map(|(what, names)| format!("{}: {}", what_of(names, what), listed(names))).collect();
        if faults.is_empty() {
            return Ok((module, new));
        }
        Err(TextError::model(path, format!("the weights are not those of config.json: {}", faults.join("; "))))
    }
}

fn what_of(names: &[String], what: &str) -> String {
    format!("{} {what}", counted(names.len(), "tensor"))
}

fn listed(names: &[String]) -> String {
    let more = names.len().saturating_sub(LISTED);
    let first = names[..names.len() - more].join(", ");
    if more == 0 { first } else { format!("{first} and {more} more") }
}

/// The path of the parameter that is visited.
#[derive(Default)]
struct Place(Vec<String>);

impl Place {
    fn name(&self) -> Option<String> {
        hugging_face_name(&self.0.join("."))
    }
}

/// Replaces parameters by the weights of a file.
struct Filler<'a> {
    left: BTreeMap<String, (String, safetensors::tensor::TensorView<'a>)>,
    at: Place,
    device: &'a Device,
    missing: Vec<String>,
    wrong: Vec<String>,
}

impl ModuleMapper for Filler<'_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.at.0.push(name.to_string());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.at.0.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some(name) = self.at.name() else { return param };
        let Some((written, found)) = self.left.remove(&name) else {
            self.missing.push(name);
            return param;
        };
        let is_transposed = is_transposed(&name);
        let mut shape: Vec<usize> = param.lazy_shape().to_vec();
        if is_transposed {
            shape.reverse();
        }
        if found.dtype() != Dtype::F32 || found.shape() != shape {
            let found = format!("{written} is {:?} {:?}, expected F32 {shape:?}", found.dtype(), found.shape());
            self.wrong.push(found);
            return param;
        }
        let values: Vec<f32> = found
            .data()
            .chunks_exact(4)
            .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
            .collect();
        let tensor = Tensor::<D>::from_data(TensorData::new(values, Shape::from(shape)), self.device);
        let tensor = if is_transposed { contiguous(tensor.transpose()) } else { tensor };
        let mut filled = Param::from_tensor(tensor);
        filled.id = param.id;
        filled
    }
}

/// A copy of a transposed tensor in the order of its rows, which later products read faster.
fn contiguous<const D: usize>(tensor: Tensor<D>) -> Tensor<D> {
    let (device, data) = (tensor.device(), tensor.into_data());
    Tensor::from_data(data, &device)
}

/// The weights of a module by their names, as Hugging Face has them. An encoder without a head has no prefix.
pub(crate) fn named_weights<M: Module>(module: &M, with_prefix: bool) -> BTreeMap<String, Weight> {
    let mut lister = Lister { at: Place::default(), with_prefix, found: BTreeMap::new() };
    module.visit(&mut lister);
    lister.found
}

/// The ids and paths of the parameters of a module, with their names in Hugging Face's files.
pub(crate) fn parameters<M: Module>(module: &M) -> Vec<(ParamId, String, String)> {
    struct Names(Place, Vec<(ParamId, String, String)>);
    impl ModuleVisitor for Names {
        fn enter_module(&mut self, name: &str, _: &str) {
            self.0.0.push(name.to_string());
        }
        fn exit_module(&mut self, _: &str, _: &str) {
            self.0.0.pop();
        }
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if let Some(name) = self.0.name() {
                self.1.push((param.id, self.0.0.join("."), name));
            }
        }
    }
    let mut names = Names(Place::default(), Vec::new());
    module.visit(&mut names);
    names.1
}

/// The bytes of a safetensors file with the weights of a module.
pub(crate) fn to_bytes<M: Module>(module: &M, with_prefix: bool) -> Result<Vec<u8>, safetensors::SafeTensorError> {
    // transformers asks for the framework.
    let about = [("format".to_string(), "pt".to_string())].into();
    safetensors::serialize(named_weights(module, with_prefix), Some(about))
}

/// A weight as a file holds it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Weight {
    pub(crate) shape: Vec<usize>,
    pub(crate) bytes: Vec<u8>,
}

impl View for Weight {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

struct Lister {
    at: Place,
    with_prefix: bool,
    found: BTreeMap<String, Weight>,
}

impl ModuleVisitor for Lister {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.at.0.push(name.to_string());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.at.0.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let Some(name) = self.at.name() else { return };
        let value = param.val();
        let value = if is_transposed(&name) { value.transpose() } else { value };
        let shape = value.dims().to_vec();
        let bytes = value.into_data().iter::<f32>().flat_map(f32::to_le_bytes).collect();
        let prefix = if self.with_prefix && !name.starts_with("classifier.") { PREFIX } else { "" };
        self.found.insert(format!("{prefix}{name}"), Weight { shape, bytes });
    }
}
