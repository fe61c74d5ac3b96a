//! `exp2`: powers of two, the gains of labels.

use burn::tensor::Tensor;

use super::{call::Call, path::run};

/// `2^x` at each place. Carries no gradient.
///
/// # Shapes
/// - `x` (of a size whose power is a normal number), output: `[batch, documents]`
pub fn exp2(x: Tensor<2>) -> Tensor<2> {
    let x = x.detach().into_dispatch();
    run(Call::Exp2 { x })
}
