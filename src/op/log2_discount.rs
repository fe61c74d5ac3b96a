//! `log2_discount`: the discount of NDCG at real positions (approximation-framework, equation 21).

use burn::{backend::Dispatch, tensor::Tensor};

use super::{backend::Pairwise, definition, path::takes_definition};

/// `1 / log2(1 + p)` at each place.
///
/// Differentiable in the positions.
///
/// # Shapes
/// - `positions` (above 0), output: `[batch, documents]`
pub fn log2_discount(positions: Tensor<2>) -> Tensor<2> {
    let positions = positions.into_dispatch();
    Tensor::from_dispatch(if takes_definition(&positions) {
        definition::log2_discount::value::<Dispatch>(positions)
    } else {
        Dispatch::log2_discount(positions)
    })
}
