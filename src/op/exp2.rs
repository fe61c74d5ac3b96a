//! Powers of two, which give the gains of labels.

use burn::tensor::Tensor;

use super::{call::Call, path::run};

/// Returns `2^x` of each element. It carries no gradient.
///
/// # Shapes
/// - `x`, output: `[batch, documents]`; every power must be a normal floating-point number
pub fn exp2(x: Tensor<2>) -> Tensor<2> {
    let x = x.detach().into_dispatch();
    run(Call::Exp2 { x })
}
