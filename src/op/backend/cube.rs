//! Implements the primitives on burn's `CubeBackend`. If the device has no kernel for a call or a number type, the
//! tensor definition computes the result.

use burn::backend::tensor::FloatTensor;
use burn_cubecl::CubeBackend;

use super::primitives::Primitives;
use crate::execution::Execution;
use crate::op::call::{Call, Tensors};

impl Primitives for CubeBackend {
    fn forward(call: Call<Self>, execution: Execution) -> Tensors<Self> {
        execution.scope(|| call.gpu().map(Tensors::new).unwrap_or_else(|| call.definition()))
    }

    fn backward(
        call: Call<Self>,
        saved: Tensors<Self>,
        gradient: FloatTensor<Self>,
        execution: Execution,
    ) -> Tensors<Self> {
        execution.scope(|| {
            let to_x = call.gpu_gradient(&saved, &gradient).map(Tensors::One);
            to_x.unwrap_or_else(|| call.definition_gradient(saved, gradient))
        })
    }
}
