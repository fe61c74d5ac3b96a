//! `pad`: flat lists as rows of one width.

use std::{ops::Range, sync::Arc};

use burn::tensor::Tensor;

use super::{call::Call, path::run};

/// Each list of `x`, from its first place to its end, and zeros up to `width`.
///
/// Differentiable in `x`.
///
/// # Shapes
/// - `x`: `[documents]`
/// - `lists`: at least one, none of them empty or longer than `width`; one begins where the one before ends, or later
/// - output: `[lists, width]`
pub(crate) fn pad(x: Tensor<1>, lists: Arc<[Range<usize>]>, width: usize) -> Tensor<2> {
    run(Call::Pad { x: x.unsqueeze::<2>().into_dispatch(), lists, width })
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Device};

    use super::*;
    use crate::op::with_tensor_path;
    use crate::testing::values;

    #[test]
    fn lists_are_padded_and_gradients_flow_back() {
        let check = || {
            let options = (&Device::flex().autodiff(), DType::F64);
            let x = Tensor::<1>::from_data([1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, f64::NAN], options).require_grad();
            let out = pad(x.clone(), [1..3, 4..7].into(), 4);
            assert_eq!(values(out.clone()), [2.0, 3.0, 0.0, 0.0, 5.0, 6.0, 7.0, 0.0]);
            let weights = Tensor::<2>::from_data([[1.0f64, 2.0, 9.0, 9.0], [3.0, 4.0, 5.0, 9.0]], options);
            let gradient = x.grad(&(out * weights).sum().backward()).unwrap();
            assert_eq!(values(gradient), [0.0, 1.0, 2.0, 0.0, 3.0, 4.0, 5.0, 0.0]);
        };
        check();
        with_tensor_path(check);
        // The gradient of the definition, which other backends take.
        let [x, g] = [[0.5f64; 8], [1.0, 2.0, 9.0, 9.0, 3.0, 4.0, 5.0, 9.0]];
        let x = Tensor::<2>::from_data([x], (&Device::flex(), DType::F64)).into_dispatch();
        let g = Tensor::<1>::from_data(g, (&Device::flex(), DType::F64)).reshape([2, 4]).into_dispatch();
        let found = crate::op::definition::pad::gradient::<burn::backend::Dispatch>(&x, &[1..3, 4..7], g);
        assert_eq!(values(Tensor::<2>::from_dispatch(found)), [0.0, 1.0, 2.0, 0.0, 3.0, 4.0, 5.0, 0.0]);
    }
}
