//! Looks up values of ranks, such as discounts, at the ranks of documents.

use burn::tensor::Tensor;

use super::{call::Call, path::run, shape::assert_entry_per_rank};

/// Returns `table[rank - 1]` for each rank. The result carries no gradient.
///
/// # Shapes
/// - `ranks` and the output have the shape `[batch, documents]` and the same float type. The ranks are whole numbers
///   from 1 to `documents`.
/// - `table` has one value for each of the `documents` ranks.
///
/// # Panics
/// Panics if the table does not have one entry per rank.
#[track_caller]
pub fn at_rank(ranks: Tensor<2>, table: Vec<f64>) -> Tensor<2> {
    assert_entry_per_rank("at_rank", ("table", &table), ("ranks", &ranks));
    let ranks = ranks.detach().into_dispatch();
    run(Call::AtRank { x: ranks, table })
}
