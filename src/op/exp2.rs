//! `exp2`: powers of two, the gains of labels.

use burn::{backend::Dispatch, tensor::Tensor};

use super::{backend::Pairwise, definition, path::takes_definition};

/// `2^x` at each place. Carries no gradient.
///
/// # Shapes
/// - `x` (of a size whose power is a normal number), output: `[batch, documents]`
pub fn exp2(x: Tensor<2>) -> Tensor<2> {
    let x = x.detach().into_dispatch();
    Tensor::from_dispatch(if takes_definition(&x) { definition::exp2::value::<Dispatch>(x) } else { Dispatch::exp2(x) })
}
