//! `at_rank`: values of ranks, such as discounts, at the ranks of documents.

use burn::{
    backend::{Backend, Dispatch, TensorMetadata, get_or_init_device_settings, tensor::FloatTensor},
    tensor::{Shape, Tensor, TensorData},
};

use super::{array::Array, backend::Pairwise, execution::uses_tensor_path, shape::assert_entry_per_rank};

/// `table[rank - 1]` at each place. Carries no gradient.
///
/// # Shapes
/// - `ranks` (whole numbers from 1 to `documents`), output (same float type): `[batch, documents]`
/// - `table`: one value per rank, as many as documents
///
/// # Panics
/// A table of another length.
#[track_caller]
pub fn at_rank(ranks: Tensor<2>, table: Vec<f64>) -> Tensor<2> {
    assert_entry_per_rank("at_rank", ("table", &table), ("ranks", &ranks));
    let ranks = ranks.detach().into_dispatch();
    Tensor::from_dispatch(if uses_tensor_path() {
        definition::<Dispatch>(ranks, table)
    } else {
        Dispatch::at_rank(ranks, table)
    })
}

/// The tensor definition.
pub(super) fn definition<B: Backend>(ranks: FloatTensor<B>, table: Vec<f64>) -> FloatTensor<B> {
    let (device, dtype) = (ranks.device(), ranks.dtype());
    let shape = ranks.shape();
    let length = table.len();
    let table = B::float_from_data(TensorData::new(table, [1, length]).convert_dtype(dtype), &device);
    let table = B::float_expand(table, Shape::from([shape[0], length]));
    let index = (Array::<B>(ranks) - 1.0).0;
    B::float_gather(1, table, B::float_into_int(index, get_or_init_device_settings::<B>(&device).int_dtype))
}
