//! Functions that are summed in [`cells`](mod@super::cells), and how far they reach.

use burn_cubecl::cubecl::{self, prelude::*};

use super::real::{exponential, probability, sigmoid};

/// A function of the difference `t` of source and target.
#[cube]
pub(super) trait Function: 'static + Send + Sync {
    fn at(t: f32) -> f32;
}

/// `1 / (1 + e^-t)`
pub(super) struct Logistic;

#[cube]
impl Function for Logistic {
    fn at(t: f32) -> f32 {
        sigmoid(t).of
    }
}

/// Its slope.
pub(super) struct LogisticSlope;

#[cube]
impl Function for LogisticSlope {
    fn at(t: f32) -> f32 {
        let sigmoid = sigmoid(t);
        sigmoid.of * sigmoid.against
    }
}

/// `(1 + erf t) / 2`
pub(super) struct Erf;

#[cube]
impl Function for Erf {
    fn at(t: f32) -> f32 {
        probability(t).of
    }
}

/// `exp(-t^2)`
pub(super) struct Bell;

#[cube]
impl Function for Bell {
    fn at(t: f32) -> f32 {
        exponential(-t * t)
    }
}

/// `t exp(-t^2)`
pub(super) struct Pull;

#[cube]
impl Function for Pull {
    fn at(t: f32) -> f32 {
        t * exponential(-t * t)
    }
}

/// How far a function reaches, and over how much it is known from the points of a cell.
#[derive(Clone, Copy)]
pub(super) struct Reach {
    /// Distance of a source below from which on the function is 0 in `f32`.
    pub below: f32,
    /// Distance of a source above from which on it is 0, or for a step 1, to half a unit in the last place.
    pub above: f32,
    /// Width of a cell.
    pub width: f32,
}

/// Poles at `+-i pi`: over half this width the error falls by a factor of 6.4 per point, `6.4^-12 = 2e-10`.
pub(super) const LOGISTIC: Reach = Reach { below: 87.4, above: 17.4, width: 2.0 };

/// At distance `d` the function changes over a cell like `exp(2 d s)`, by `exp(9.35 / 4)` to either side of the middle.
pub(super) const NORMAL: Reach = Reach { below: 9.35, above: 4.1, width: 0.25 };

impl Reach {
    /// Of the slope.
    pub const fn both_ways(self) -> Self {
        Self { above: self.below, ..self }
    }
}
