//! Each variant of [`Step`](crate::op::Step) as a type that computes the step and its slope for one pair.

use crate::op::cpu::{ranks::trial::beats, real::Real};

/// A step function and its slope, evaluated at a difference of scores.
pub trait Phi: Copy {
    fn value<T: Real, const FMA: bool>(self, t: T) -> T;
    fn slope<T: Real, const FMA: bool>(self, t: T) -> T;
}

#[derive(Clone, Copy)]
pub struct Logistic;

impl Phi for Logistic {
    #[inline(always)]
    fn value<T: Real, const FMA: bool>(self, t: T) -> T {
        let u = (-t.abs()).exponential::<FMA>();
        (if t < T::ZERO { u } else { T::ONE }) / (T::ONE + u)
    }

    #[inline(always)]
    fn slope<T: Real, const FMA: bool>(self, t: T) -> T {
        let u = (-t.abs()).exponential::<FMA>();
        let large = T::ONE / (T::ONE + u);
        u * large * large
    }
}

#[derive(Clone, Copy)]
pub struct Erf;

impl Phi for Erf {
    #[inline(always)]
    fn value<T: Real, const FMA: bool>(self, t: T) -> T {
        beats::<T, FMA>(t).0
    }

    #[inline(always)]
    fn slope<T: Real, const FMA: bool>(self, t: T) -> T {
        (-t * t).exponential::<FMA>() * T::from_f64(0.5 * std::f64::consts::FRAC_2_SQRT_PI)
    }
}

#[derive(Clone, Copy)]
pub struct Arctan;

impl Phi for Arctan {
    #[inline(always)]
    fn value<T: Real, const FMA: bool>(self, t: T) -> T {
        t.atan() * T::from_f64(std::f64::consts::FRAC_1_PI) + T::HALF
    }

    #[inline(always)]
    fn slope<T: Real, const FMA: bool>(self, t: T) -> T {
        T::from_f64(std::f64::consts::FRAC_1_PI) / t.fma::<FMA>(t, T::ONE)
    }
}

#[derive(Clone, Copy)]
pub struct Laplace;

impl Phi for Laplace {
    #[inline(always)]
    fn value<T: Real, const FMA: bool>(self, t: T) -> T {
        let small = T::HALF * (-t.abs()).exponential::<FMA>();
        if t < T::ZERO { small } else { T::ONE - small }
    }

    #[inline(always)]
    fn slope<T: Real, const FMA: bool>(self, t: T) -> T {
        T::HALF * (-t.abs()).exponential::<FMA>()
    }
}
