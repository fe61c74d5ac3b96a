//! The tensor definition of [`exp2`](crate::op::exp2()).

use burn::backend::{Backend, TensorMetadata, tensor::FloatTensor};

/// The tensor definition.
pub fn value<B: Backend>(x: FloatTensor<B>) -> FloatTensor<B> {
    let ones = B::float_ones(x.shape(), &x.device(), x.dtype().into());
    B::float_powf(B::float_add(ones.clone(), ones), x)
}
