//! The distribution function of the standard normal distribution, and its inverse.

use std::f64::consts::TAU;
use std::sync::LazyLock;

use crate::quadrature::gauss_legendre;

/// Nodes and weights for integrating the normal density over up to 8 standard deviations, with no error other than
/// rounding.
static RULE: LazyLock<Vec<(f64, f64)>> = LazyLock::new(|| gauss_legendre(40));

fn density(z: f64) -> f64 {
    (-z * z / 2.0).exp() / TAU.sqrt()
}

/// Returns `Phi(z)`, the probability that a standard normal variable is below `z`, for `z` from -8 to 8.
pub(super) fn share_below(z: f64) -> f64 {
    let half = z / 2.0;
    let integral: f64 = RULE.iter().map(|(node, weight)| weight * density(half * (1.0 + node))).sum();
    0.5 + half * integral
}

/// Returns `Phi^-1(share)`, the number below which a standard normal variable lies with probability `share`, for shares
/// from 1e-12 to 1 - 1e-12.
pub(super) fn place_of(share: f64) -> f64 {
    let (mut low, mut high) = (-8.0f64, 8.0f64);
    let mut z = 0.0f64;
    // Newton's method, by halves where it would leave what is left.
    for _ in 0..100 {
        let excess = share_below(z) - share;
        if excess > 0.0 {
            high = z;
        } else {
            low = z;
        }
        let step = excess / density(z);
        let next = z - step;
        // The next error is the square of this one.
        if step.abs() < 1e-9 {
            return next;
        }
        z = if low < next && next < high { next } else { f64::midpoint(low, high) };
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the distribution function with table values (Abramowitz and Stegun, table 26.1).
    #[test]
    fn shares_are_those_of_the_table() {
        for (z, share) in [
            (0.0, 0.5),
            (0.5, 0.691_462_461_274_013),
            (1.0, 0.841_344_746_068_543),
            (2.0, 0.977_249_868_051_821),
            (3.0, 0.998_650_101_968_370),
            (4.0, 0.999_968_328_758_167),
        ] {
            assert!((share_below(z) - share).abs() < 1e-14, "{z}: {}", share_below(z));
            assert!((share_below(-z) - (1.0 - share)).abs() < 1e-14, "-{z}");
        }
    }

    #[test]
    fn places_are_the_inverse() {
        for at in -312..=312 {
            let z = f64::from(at) / 100.0;
            let found = place_of(share_below(z));
            assert!((found - z).abs() < 1e-12, "{z}: {found}");
        }
        assert!(place_of(1e-12) < -7.0 && place_of(1.0 - 1e-12) > 7.0 && place_of(0.5).abs() < 1e-14);
    }
}
