//! The discount of NDCG at real-valued positions (approximation-framework, equation 21).

use burn::tensor::Tensor;

use super::{call::Call, path::run};

/// Returns `1 / log2(1 + p)` at each position `p`.
///
/// Differentiable in the positions.
///
/// # Shapes
/// - `positions` and the output have the shape `[batch, documents]`; the positions must be above 0.
pub fn log2_discount(positions: Tensor<2>) -> Tensor<2> {
    run(Call::Log2Discount { x: positions.into_dispatch() })
}
