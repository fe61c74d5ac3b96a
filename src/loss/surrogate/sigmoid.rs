//! The logistic function and its logarithm, with derivatives that stay accurate where the function is near 1. In burn,
//! these derivatives are `value (1 - value)` and one minus the value. If the value is near 1, these formulas leave few
//! accurate digits, and none for arguments of 17 and above in float32.

use burn::tensor::{Bool, Tensor, activation};

/// Returns `1 / (1 + exp(-t))`.
pub(super) fn sigmoid<const D: usize>(t: Tensor<D>) -> Tensor<D> {
    let (above, smaller) = smaller(t);
    smaller.clone().mask_where(above, smaller.neg() + 1.0)
}

/// Returns `-log(1 + exp(-t))`.
pub(super) fn log_sigmoid<const D: usize>(t: Tensor<D>) -> Tensor<D> {
    let (above, smaller) = smaller(t.clone());
    activation::log_sigmoid(t).mask_where(above, smaller.neg().log1p())
}

/// Returns whether `t` is above 0, and the smaller of `sigmoid(t)` and `sigmoid(-t)`.
fn smaller<const D: usize>(t: Tensor<D>) -> (Tensor<D, Bool>, Tensor<D>) {
    // The absolute value would not do, because its derivative at 0 is 0.
    let above = t.clone().greater_elem(0.0);
    let smaller = activation::sigmoid(t.clone().mask_where(above.clone(), t.neg()));
    (above, smaller)
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn derivatives_keep_their_digits_on_both_sides() {
        const POINTS: [f32; 9] = [-60.0, -20.0, -3.0, -0.5, 0.0, 0.5, 3.0, 20.0, 60.0];
        let exact = |t: f64| 1.0 / (1.0 + (-t).exp());
        for is_log in [false, true] {
            let function = if is_log { log_sigmoid } else { sigmoid };
            let expected =
                |t: f64| if is_log { [-(-t).exp().ln_1p(), exact(-t)] } else { [exact(t), exact(t) * exact(-t)] };
            let t = Tensor::<1>::from_floats(POINTS, &Device::flex().autodiff()).require_grad();
            let value = function(t.clone());
            let slopes = t.grad(&value.clone().sum().backward()).unwrap().into_data();
            let found = value.into_data().iter::<f64>().zip(slopes.iter::<f64>()).collect::<Vec<_>>();
            for (t, (value, slope)) in POINTS.into_iter().zip(found) {
                let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-6;
                let [exact_value, exact_slope] = expected(f64::from(t));
                assert!(near(value, exact_value) && near(slope, exact_slope), "{t}: {value} {slope}");
            }
        }
    }
}
