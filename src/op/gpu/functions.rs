//! The functions of score differences that the kernels sum. Each function is a type, and the kernels are generic over
//! this type.

use burn_cubecl::cubecl::{self, prelude::*};

use super::real::{arc_tangent, exponential, probability, sigmoid};

/// A function of the difference `t` between the scores of the source and the target.
#[cube]
pub(super) trait Function: 'static + Send + Sync {
    fn at(t: f32) -> f32;
}

/// A [`Step`](crate::op::Step) with its slope, as functions that run on a GPU.
pub(super) trait Phi {
    type Value: Function;
    type Slope: Function;
}

/// The logistic step, `1 / (1 + e^-t)`.
pub(super) struct Logistic;

#[cube]
impl Function for Logistic {
    fn at(t: f32) -> f32 {
        sigmoid(t).of
    }
}

pub(super) struct LogisticSlope;

#[cube]
impl Function for LogisticSlope {
    fn at(t: f32) -> f32 {
        let sigmoid = sigmoid(t);
        sigmoid.of * sigmoid.against
    }
}

impl Phi for Logistic {
    type Value = Self;
    type Slope = LogisticSlope;
}

/// The erf step, `(1 + erf t) / 2`.
pub(super) struct Erf;

#[cube]
impl Function for Erf {
    fn at(t: f32) -> f32 {
        probability(t).of
    }
}

pub(super) struct ErfSlope;

#[cube]
impl Function for ErfSlope {
    fn at(t: f32) -> f32 {
        exponential(-t * t) * comptime!(0.5 * std::f32::consts::FRAC_2_SQRT_PI)
    }
}

impl Phi for Erf {
    type Value = Self;
    type Slope = ErfSlope;
}

/// The arctan step, `1/2 + arctan(t) / pi`.
pub(super) struct Arctan;

#[cube]
impl Function for Arctan {
    fn at(t: f32) -> f32 {
        let size = t.abs();
        let far = size > 1.0f32;
        let angle = arc_tangent(select(far, 1.0f32 / size, size)) * comptime!(std::f32::consts::FRAC_1_PI);
        let small = select(far, angle, 0.5f32 - angle);
        select(t < 0.0f32, small, 1.0f32 - small)
    }
}

pub(super) struct ArctanSlope;

#[cube]
impl Function for ArctanSlope {
    fn at(t: f32) -> f32 {
        comptime!(std::f32::consts::FRAC_1_PI) / fma(t, t, 1.0f32)
    }
}

impl Phi for Arctan {
    type Value = Self;
    type Slope = ArctanSlope;
}

/// The Laplace step, `exp(t) / 2` for `t < 0` and `1 - exp(-t) / 2` otherwise.
pub(super) struct Laplace;

#[cube]
impl Function for Laplace {
    fn at(t: f32) -> f32 {
        let small = 0.5f32 * exponential(-t.abs());
        select(t < 0.0f32, small, 1.0f32 - small)
    }
}

pub(super) struct LaplaceSlope;

#[cube]
impl Function for LaplaceSlope {
    fn at(t: f32) -> f32 {
        0.5f32 * exponential(-t.abs())
    }
}

impl Phi for Laplace {
    type Value = Self;
    type Slope = LaplaceSlope;
}
