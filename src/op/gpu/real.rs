//! Elementary functions for GPU kernels.
//!
//! The functions that are built into shading languages may have errors in the fifth digit, which differ between
//! drivers. For instance, WGSL allows the arc tangent an error of 4096 units in the last place. The kernels therefore
//! use the same polynomials as the CPU kernels, with errors of 2 units in the last place.

// The coefficients keep the digits with which they were fitted.
#![allow(clippy::excessive_precision)]

use burn_cubecl::cubecl::{self, prelude::*};

use crate::op::cpu::{Coefficients, Real};

const COEFFICIENTS: Coefficients<f32> = <f32 as Real>::COEFFICIENTS;

/// The polynomial for `atan(t) / t` in powers of `t^2`, for `t` in [0, 1], highest degree first. The polynomial is a
/// Chebyshev interpolant with an error of 1.3e-7.
const ARC_TANGENT: &[f32] = &[
    2.766_283_5e-3,
    -0.015_731_249,
    0.042_137_623,
    -0.074_568_55,
    0.106_183_708,
    -0.141_977_98,
    0.199_918_72,
    -0.333_330_36,
    1.0,
];

/// Below `LOWEST`, an exponential becomes 0; arguments above `HIGHEST` count as `HIGHEST`.
const LOWEST: f32 = -87.336_54;
const HIGHEST: f32 = 88.0;
/// The logarithm of 2 as a sum of two numbers; the first has so few bits that its product with an exponent is exact.
const LN_2: (f32, f32) = (0.693_359_4, -2.121_944_4e-4);

/// The bits of an `f32` that hold the exponent; they are all 1 in infinity and NaN. `NAN` holds the bits of NaN.
const EXPONENT: u32 = 0x7f80_0000;
pub(super) const NAN: u32 = 0x7fc0_0000;

/// Returns whether a number is finite.
#[cube]
pub(super) fn is_finite(value: f32) -> bool {
    (u32::reinterpret(value) & comptime!(EXPONENT)) != comptime!(EXPONENT)
}

#[cube]
pub(super) fn is_nan(value: f32) -> bool {
    (u32::reinterpret(value) & 0x7fff_ffffu32) > comptime!(EXPONENT)
}

/// Returns whether a tensor with this value selects the document, that is, whether the value is not 0. The bits are
/// compared, because NaN must select a document, but some devices treat NaN as equal to 0.
#[cube]
pub(super) fn is_counted(value: f32) -> bool {
    (u32::reinterpret(value) & 0x7fff_ffffu32) != 0u32
}

/// Evaluates a polynomial by Horner's rule; the coefficient of the highest degree comes first.
#[cube]
fn polynomial(x: f32, #[comptime] coefficients: &'static [f32]) -> f32 {
    let mut value = f32::new(comptime!(coefficients[0]));
    #[unroll]
    for degree in 1..comptime!(coefficients.len()) {
        value = fma(value, x, f32::new(comptime!(coefficients[degree])));
    }
    value
}

/// Returns `e^x`.
#[cube]
pub(super) fn exponential(x: f32) -> f32 {
    let bounded = x.clamp(comptime!(LOWEST), comptime!(HIGHEST));
    let exponent = fma(bounded, comptime!(std::f32::consts::LOG2_E), 0.5f32).floor();
    let rest = fma(exponent, comptime!(-LN_2.1), fma(exponent, comptime!(-LN_2.0), bounded));
    let power = polynomial(rest, comptime!(COEFFICIENTS.exponential));
    let scale = f32::reinterpret((u32::cast_from(i32::cast_from(exponent) + 127)) << 23u32);
    select(x < comptime!(LOWEST), 0.0f32, power * scale)
}

/// Returns `exp(x^2) erfc(x)` for `x >= 0`.
#[cube]
fn scaled_erfc(x: f32) -> f32 {
    let t = 1.0f32 / fma(x, 0.5f32, 1.0f32);
    t * polynomial(t, comptime!(COEFFICIENTS.scaled_erfc))
}

/// Returns `log(1 + x)` for `x` in [0, 1].
#[cube]
pub(super) fn log_1p(x: f32) -> f32 {
    let s = x / (x + 2.0f32);
    s * polynomial(s * s, comptime!(COEFFICIENTS.log_1p))
}

/// Returns `atan(x)` for `x` in [0, 1].
#[cube]
pub(super) fn arc_tangent(x: f32) -> f32 {
    x * polynomial(x * x, comptime!(ARC_TANGENT))
}

/// Returns `a b - c d`. For equal products, the result is exactly 0, even if the compiler fuses a product with the
/// subtraction.
#[cube]
pub(super) fn difference_of_products(a: f32, b: f32, c: f32, d: f32) -> f32 {
    let product = c * d;
    fma(a, b, -product) + fma(-c, d, product)
}

/// The probability `(1 + erf t) / 2` and its complement, both precise even where they are small.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Probability {
    /// The probability `(1 + erf t) / 2`.
    pub of: f32,
    /// The complement, `(1 - erf t) / 2`.
    pub against: f32,
    /// The bell curve `exp(-t^2)`.
    pub bell: f32,
}

#[cube]
pub(super) fn probability(t: f32) -> Probability {
    let bell = exponential(-t * t);
    let small = 0.5f32 * scaled_erfc(t.abs()) * bell;
    let large = 1.0f32 - small;
    Probability { of: select(t < 0.0f32, small, large), against: select(t < 0.0f32, large, small), bell }
}

/// The sigmoid `1 / (1 + e^-t)` and its complement, both precise even where they are small.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Sigmoid {
    /// The sigmoid `1 / (1 + e^-t)`.
    pub of: f32,
    /// The complement, `1 / (1 + e^t)`.
    pub against: f32,
}

#[cube]
pub(super) fn sigmoid(t: f32) -> Sigmoid {
    let u = exponential(-t.abs());
    let large = 1.0f32 / (1.0f32 + u);
    let small = u * large;
    Sigmoid { of: select(t < 0.0f32, small, large), against: select(t < 0.0f32, large, small) }
}
