//! Running products over the documents above each document.

use burn::tensor::Tensor;

use crate::loss::lists::order_of_ranks;

/// For each document `x`, returns the product of `factors_y` over the documents `y` with `r_y < r_x`, in O(n log n)
/// time and memory. Factors of 0 are allowed, because the products are computed without division.
///
/// # Shapes
/// - `ranks` (distinct whole numbers from 1), `factors`, output: `[batch, documents]`
pub(super) fn product_above(ranks: Tensor<2>, factors: Tensor<2>) -> Tensor<2> {
    let [_, n] = factors.dims();
    let by_rank = factors.gather(1, order_of_ranks(ranks.clone()));
    let mut products = moved(by_rank, 1);
    let mut reach = 1;
    while reach < n {
        products = products.clone() * moved(products, reach);
        reach *= 2;
    }
    // The clamp keeps indices in range even where scores are NaN and have no ranks.
    products.gather(1, (ranks - 1.0).int().clamp(0, n as i64 - 1))
}

/// Shifts the values by `by` places and fills the first places with ones.
fn moved(values: Tensor<2>, by: usize) -> Tensor<2> {
    let [batch, n] = values.dims();
    let by = by.min(n);
    let ones = Tensor::ones([batch, by], (&values.device(), values.dtype()));
    if by == n { ones } else { Tensor::cat(vec![ones, values.narrow(1, 0, n - by)], 1) }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Device};

    use super::*;
    use crate::testing::values;

    #[test]
    fn products_run_over_the_ranks_ahead() {
        let options = (&Device::flex().autodiff(), DType::F64);
        let ranks = Tensor::<2>::from_data([[3.0f64, 1.0, 2.0, 5.0, 4.0], [1.0, 2.0, 3.0, 4.0, 5.0]], options);
        let factors = Tensor::<2>::from_data([[0.0f64, 2.0, 3.0, 7.0, 5.0], [0.5, 0.0, 0.0, 4.0, 1.0]], options);
        let factors = factors.require_grad();
        let products = product_above(ranks, factors.clone());
        assert_eq!(values(products.clone()), [6.0, 1.0, 2.0, 0.0, 0.0, 1.0, 0.5, 0.0, 0.0, 0.0]);
        // Each product's derivative by a factor is the product of the others ahead, though one of them is 0.
        let weights = Tensor::<2>::from_data([[1.0f64, 1.0, 1.0, 1.0, 10.0], [1.0; 5]], options);
        let gradient = values(factors.grad(&(products * weights).sum().backward()).unwrap());
        // First list, by rank: factors 2, 3, 0, 5, 7; products 1, 2, 6, 0, 0 with weights 1, 1, 1, 10, 1.
        assert_eq!(gradient, [6.0 * 10.0 + 30.0, 1.0 + 3.0, 2.0, 0.0, 0.0, 1.0, 0.5, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn one_document_has_nothing_above() {
        let one = Tensor::<2>::from_floats([[1.0]], &Device::flex());
        assert_eq!(product_above(one.clone(), one * 0.25).into_scalar::<f32>(), 1.0);
    }
}
