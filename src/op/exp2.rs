//! Powers of two, from which the gains of labels are computed.

use burn::tensor::Tensor;

use super::{call::Call, path::run};

/// Returns `2^x` for each element `x`, without a gradient.
///
/// # Shapes
/// - `x` and the output have the shape `[batch, documents]`. Every result must be a normal floating-point number.
pub fn exp2(x: Tensor<2>) -> Tensor<2> {
    let x = x.detach().into_dispatch();
    run(Call::Exp2 { x })
}
