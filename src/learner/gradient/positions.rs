//! The factors of positions as a parameter of the model in training.

use burn::module::{Param, ParamId};
use burn::tensor::{Device, Tensor, TensorData};

use crate::device::count_read;

/// The identifier of the parameter. It is the same in every fit, so that the saved state of an optimizer fits the
/// parameter of a resumed fit.
const ID: u64 = 0x706f_7369_7469_6f6e;

/// Creates the parameter with the given factors.
pub(super) fn parameter(factors: &[f64], device: &Device) -> Param<Tensor<1>> {
    let factors: Vec<f32> = factors.iter().map(|&factor| factor as f32).collect();
    let shape = [factors.len()];
    let (_, tensor, mapper) = Param::from_tensor(Tensor::from_data(TensorData::new(factors, shape), device)).consume();
    Param::from_mapped_value(ParamId::from(ID), tensor, mapper)
}

/// Reads the factors back from the device.
pub(super) fn values(parameter: &Param<Tensor<1>>) -> Vec<f64> {
    count_read();
    parameter.val().without_autodiff().into_data().iter::<f64>().collect()
}
