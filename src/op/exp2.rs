//! `exp2`: powers of two, the gains of labels.

use burn::{
    backend::{Backend, Dispatch, TensorMetadata, tensor::FloatTensor},
    tensor::Tensor,
};

use super::{backend::Pairwise, execution::uses_tensor_path};

/// `2^x` at each place. Carries no gradient.
///
/// # Shapes
/// - `x` (of a size whose power is a normal number), output: `[batch, documents]`
pub fn exp2(x: Tensor<2>) -> Tensor<2> {
    let x = x.detach().into_dispatch();
    Tensor::from_dispatch(if uses_tensor_path() { definition::<Dispatch>(x) } else { Dispatch::exp2(x) })
}

/// The tensor definition.
pub(super) fn definition<B: Backend>(x: FloatTensor<B>) -> FloatTensor<B> {
    let ones = B::float_ones(x.shape(), &x.device(), x.dtype().into());
    B::float_powf(B::float_add(ones.clone(), ones), x)
}
