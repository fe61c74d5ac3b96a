//! The tensor definition of [`at_rank`](crate::op::at_rank()), which gathers values from a table.

use burn::{
    backend::{Backend, TensorMetadata, get_or_init_device_settings, tensor::FloatTensor},
    tensor::{Shape, TensorData},
};

use super::array::Array;

/// The tensor definition.
pub fn value<B: Backend>(ranks: FloatTensor<B>, table: Vec<f64>) -> FloatTensor<B> {
    let (device, dtype) = (ranks.device(), ranks.dtype());
    let shape = ranks.shape();
    let length = table.len();
    let table = B::float_from_data(TensorData::new(table, [1, length]).convert_dtype(dtype), &device);
    let table = B::float_expand(table, Shape::from([shape[0], length]));
    let index = (Array::<B>(ranks) - 1.0).0;
    B::float_gather(1, table, B::float_into_int(index, get_or_init_device_settings::<B>(&device).int_dtype))
}
