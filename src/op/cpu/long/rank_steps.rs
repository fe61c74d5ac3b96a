//! Expresses the discount step `D(d) - D(d + 1)` as a sum of exponentials, where `d` is a difference of ranks and
//! `D(d) = 1 / log2(1 + d)`. The terms of LambdaLoss's weights therefore decay by constant factors from one rank to the
//! next. A walk along the list can sum them in the same way as the terms of the losses.
//!
//! Schroeder's integral for Gregory's coefficients gives
//! `1 / ln(1 + d) = 1 / d + int_1^inf dx / ((x + d) (ln(x - 1)^2 + pi^2))`. The discount is therefore the Laplace
//! transform of a positive function `m`:
//!
//! `1 / ln(1 + d) = int_0^inf exp(-s d) m(s) ds`, `m(s) = 1 + int_1^inf exp(-s x) / (ln(x - 1)^2 + pi^2) dx`.
//!
//! Both integrals are approximated by the trapezoidal rule in the logarithm of their variable (`s`, and `x - 1`). The
//! trapezoidal rule converges exponentially here (Trefethen and Weideman, The exponentially convergent trapezoidal
//! rule, 2014). All coefficients are positive, so the error is small relative to the discount step at every difference
//! of ranks.

use crate::op::cpu::parameters::ExponentialTerm;

/// The distance between the points of both trapezoidal rules, in the logarithm of the variable.
const SPACING: f64 = 0.5;

/// The smallest `s` of the trapezoidal rule, times the largest difference of ranks.
const LEAST: f64 = 1e-6;

/// The largest `s` of the trapezoidal rule.
const LARGEST: f64 = 20.0;

/// Returns the exponentials for differences of ranks up to `documents`; there are 54 for 20,000 documents and 62 for a
/// million.
pub fn terms(documents: usize) -> Vec<ExponentialTerm> {
    let least = (LEAST / documents as f64).ln();
    let count = ((LARGEST.ln() - least) / SPACING).ceil() as usize;
    let term = |point: usize| {
        let s = (least + SPACING * point as f64).exp();
        let coefficient = std::f64::consts::LN_2 * SPACING * s * density(s) * -(-s).exp_m1();
        ExponentialTerm { coefficient, base: (-s).exp() }
    };
    (0..count).map(term).collect()
}

/// Returns `m(s)`, whose Laplace transform is the discount.
fn density(s: f64) -> f64 {
    // The integrand is below 1e-17 before the first point and after the last.
    let (first, last) = (-40.0, (40.0 / s).ln());
    let points = ((last - first) / SPACING).ceil() as usize;
    let integrand = |point: usize| {
        let v = first + SPACING * point as f64;
        (v - s * (1.0 + v.exp())).exp() / (v * v + std::f64::consts::PI * std::f64::consts::PI)
    };
    1.0 + SPACING * (0..points).map(integrand).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_relative_to_the_step_at_every_difference() {
        for documents in [1000, 20_000, 1_000_000] {
            let terms = terms(documents);
            let mut difference = 1;
            while difference <= documents {
                let d = difference as f64;
                let found: f64 = terms.iter().map(|term| term.coefficient * term.base.powf(d)).sum();
                // This form avoids the difference of two logarithms.
                let expected = std::f64::consts::LN_2 * (1.0 / (1.0 + d)).ln_1p() / (d.ln_1p() * (1.0 + d).ln_1p());
                let error = (found / expected - 1.0).abs();
                assert!(error < 5e-7, "{documents} documents, {difference}: {error:e}");
                difference += 1 + difference / 7;
            }
        }
    }
}
