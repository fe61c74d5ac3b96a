//! Type-one bounds, convex functions of a measure `E` in [0, 1] that are at least `1 - E` (direct-optimization).
//! AdaRank minimizes the exponential bound.

use std::f64::consts::LN_2;

use burn::tensor::{Tensor, activation::log_sigmoid};
use serde::{Deserialize, Serialize};

/// An upper bound on one minus a measure `E`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TypeOneBound {
    /// The bound `exp(-E)`.
    #[serde(rename = "exp")]
    Exponential,
    /// The bound `log2(1 + exp(-E))`.
    #[serde(rename = "logistic")]
    Logistic,
}

impl TypeOneBound {
    /// Every bound.
    pub const ALL: [Self; 2] = [Self::Exponential, Self::Logistic];

    /// Returns the name that configuration files use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exponential => "exp",
            Self::Logistic => "logistic",
        }
    }

    /// Returns the bound for each query, `[batch]`, given the measure of each query.
    pub(super) fn of(self, measures: Tensor<1>) -> Tensor<1> {
        match self {
            Self::Exponential => measures.neg().exp(),
            Self::Logistic => log_sigmoid(measures) * (-1.0 / LN_2),
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Device};

    use super::*;
    use crate::testing::values;

    #[test]
    fn bounds_are_above_the_loss_and_convex() {
        let grid: Vec<f64> = (0..=100).map(|step| f64::from(step) / 100.0).collect();
        let measures = Tensor::<1>::from_data(&grid[..], (&Device::flex(), DType::F64));
        for bound in TypeOneBound::ALL {
            let found = values(bound.of(measures.clone()));
            assert!((found[0] - 1.0).abs() < 1e-12, "{bound:?}: a measure of 0 costs 1");
            for (measure, bound) in grid.iter().zip(&found) {
                assert!(*bound >= 1.0 - measure - 1e-12, "{measure}: {bound}");
            }
            assert!(found.windows(3).all(|three| three[0] + three[2] >= 2.0 * three[1]), "{bound:?}");
        }
        let half = |bound: TypeOneBound| bound.of(measures.clone().narrow(0, 50, 1)).into_scalar::<f64>();
        assert!((half(TypeOneBound::Exponential) - (-0.5f64).exp()).abs() < 1e-12);
        assert!((half(TypeOneBound::Logistic) - (1.0 + (-0.5f64).exp()).log2()).abs() < 1e-12);
    }
}
