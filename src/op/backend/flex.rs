//! Implements the primitives on Flex, with fused kernels for `f32` and `f64` and tensor definitions for every other
//! type.

use burn::backend::{Flex, TensorMetadata, flex::FlexTensor, tensor::FloatTensor};
use burn::tensor::{DType, Element, TensorData};

use super::Primitives;
use crate::execution::Execution;
use crate::op::call::{Call, Tensors};
use crate::op::cpu::Real;
use crate::op::primitive::{each, interface::Primitive};

/// A number type whose values can be borrowed from a tensor.
pub(crate) trait Stored: Real + Element {
    /// Borrows the values of a contiguous tensor of this type.
    fn of_tensor(tensor: &FlexTensor) -> &[Self];
}

macro_rules! stored {
    ($type:ty) => {
        impl Stored for $type {
            fn of_tensor(tensor: &FlexTensor) -> &[Self] {
                let cells = tensor.layout().num_elements();
                &tensor.storage::<$type>()[..cells]
            }
        }
    };
}

stored!(f32);
stored!(f64);

/// Creates a tensor with these values.
pub(crate) fn tensor<T: Stored>(values: Vec<T>, shape: impl Into<burn::tensor::Shape>) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape))
}

/// Computes a call, by the fused kernel if there is one, else by the tensor definition.
fn value<T: Stored>(call: Call<Flex>) -> Tensors<Flex> {
    let call: Call<Flex> = call.map(|tensor| tensor.to_contiguous());
    let shape = call.x().shape().dims();
    let inputs: Vec<&[T]> = call.inputs.refs().into_iter().map(T::of_tensor).collect();
    match each!(&call.operation, primitive => primitive.cpu(&inputs, shape[1])) {
        Some(outputs) => {
            let shapes = each!(&call.operation, primitive => primitive.shapes(shape));
            let shaped = outputs.into_iter().zip(shapes);
            Tensors::new(shaped.map(|(values, shape)| tensor(values, shape)))
        }
        None => call.definition(),
    }
}

/// Computes the gradients of a call, by the fused kernel if there is one, else by the tensor definition.
fn gradient<T: Stored>(call: Call<Flex>, saved: Tensors<Flex>, gradient: FlexTensor) -> Tensors<Flex> {
    let call: Call<Flex> = call.map(|tensor| tensor.to_contiguous());
    let (saved, gradient) = (saved.into_vec(), gradient.to_contiguous());
    let saved: Vec<FlexTensor> = saved.iter().map(FlexTensor::to_contiguous).collect();
    let shape = call.x().shape();
    let inputs: Vec<&[T]> = call.inputs.refs().into_iter().map(T::of_tensor).collect();
    let outputs: Vec<&[T]> = saved.iter().map(T::of_tensor).collect();
    let (g, n) = (T::of_tensor(&gradient), shape.dims::<2>()[1]);
    match each!(&call.operation, primitive => primitive.cpu_gradient(&inputs, &outputs, g, n)) {
        Some(gradients) => Tensors::new(gradients.into_iter().map(|values| tensor(values, shape.clone()))),
        None => call.definition_gradient(Tensors::new(saved), gradient),
    }
}

impl Primitives for Flex {
    fn forward(call: Call<Self>, execution: Execution) -> Tensors<Self> {
        execution.scope(|| match call.x().dtype() {
            _ if call.x().shape().num_elements() == 0 => call.definition(),
            DType::F32 => value::<f32>(call),
            DType::F64 => value::<f64>(call),
            _ => call.definition(),
        })
    }

    fn backward(call: Call<Self>, saved: Tensors<Self>, g: FloatTensor<Self>, execution: Execution) -> Tensors<Self> {
        execution.scope(|| match call.x().dtype() {
            _ if call.x().shape().num_elements() == 0 => call.definition_gradient(saved, g),
            DType::F32 => gradient::<f32>(call, saved, g),
            DType::F64 => gradient::<f64>(call, saved, g),
            _ => call.definition_gradient(saved, g),
        })
    }

    fn composed(call: Call<Self>, execution: Execution) -> Tensors<Self> {
        Self::forward(call, execution)
    }
}
