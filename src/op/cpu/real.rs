//! The operations on `f32` and `f64` that the kernels need, as the trait `Real`, and sums and maxima whose order of
//! operations is fixed but allows vector instructions. Elementary functions have no branches,
//! so loops over them vectorize. Every function maps NaN to NaN, so that a diverged training run is noticed.

// The coefficients keep the digits with which they were fitted.
#![allow(clippy::excessive_precision)]

use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Evaluates a polynomial by Horner's rule; the coefficient of the highest degree comes first.
macro_rules! polynomial {
    ($x:expr; $highest:expr $(, $coefficient:expr)*) => {{
        let x = $x;
        let value = $highest;
        $(let value = value.fma::<FMA>(x, $coefficient);)*
        value
    }};
}

/// The number type of a kernel, `f32` or `f64`.
pub trait Real:
    Copy
    + Debug
    + Default
    + PartialOrd
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// A sort key that consists of a value and the index of its document. Keys ascend as values descend, and equal
    /// values are ordered by index.
    type Key: Ord + Copy + Send;

    const ZERO: Self;
    const ONE: Self;
    const HALF: Self;
    /// The largest range of exponents for which products of two exponentials remain normal numbers.
    const RANGE: Self;
    /// A lower bound for factors, chosen so that the product of two factors remains a normal number.
    const SMALLEST_FACTOR: Self;
    /// For `t` below minus this bound, [`PairLoss::Exponential`](super::parameters::PairLoss::Exponential) continues as
    /// its tangent. The sum of this loss over `10^8` pairs, with scores up to `10^4`, is then still finite.
    const EXPONENTIAL_BOUND: Self;

    /// Returns the values if their type is `f32`, the only type of the kernels for long lists.
    fn singles(values: &[Self]) -> Option<&[f32]>;
    fn singles_mut(values: &mut [Self]) -> Option<&mut [f32]>;
    /// Returns results of kernels that are compiled for `f32` only, if this is the type.
    fn of_singles(values: Vec<f32>) -> Option<Vec<Self>>;

    fn from_f64(value: f64) -> Self;
    fn to_f64(self) -> f64;
    fn abs(self) -> Self;
    fn atan(self) -> Self;
    fn total_cmp(&self, other: &Self) -> std::cmp::Ordering;
    fn descending_key(self, index: u32) -> Self::Key;
    fn index_of(key: Self::Key) -> u32;
    /// Returns `bits` bits of the value that a sort key contains, starting at bit `shift`.
    fn digit(key: Self::Key, shift: u32, bits: u32) -> usize;

    /// The coefficients of the polynomials in [`exponential`](Self::exponential), [`scaled_erfc`](Self::scaled_erfc)
    /// and [`log_1p`](Self::log_1p), highest degree first. GPU kernels, which cannot call this trait, read these
    /// coefficients.
    #[cfg(feature = "_cube")]
    const COEFFICIENTS: Coefficients<Self>;

    /// Returns `self a + b`, rounded only once if `FMA` is set.
    fn fma<const FMA: bool>(self, a: Self, b: Self) -> Self;

    /// Returns `e^self` with an error of 2 units in the last place; 0 and infinity replace results outside the range of
    /// normal numbers.
    fn exponential<const FMA: bool>(self) -> Self;

    /// Returns `exp(x^2) erfc(x)` for `x >= 0`, with an error of 2e-7 (`f32`) or 1e-13 (`f64`).
    fn scaled_erfc<const FMA: bool>(self) -> Self;

    /// Returns `2^self` with an error of 2 units in the last place, and without error for integers. Results too small
    /// to be normal numbers become 0, and results too large become infinity.
    fn power_of_two<const FMA: bool>(self) -> Self;

    /// Returns `log(1 + self)` for arguments in `[0, 1]`, with an error of 2 units in the last place.
    fn log_1p<const FMA: bool>(self) -> Self;

    /// Returns `log(self)` for positive normal numbers, with an error of 2 units in the last place of
    /// `max(1, |log(self)|)`.
    fn logarithm<const FMA: bool>(self) -> Self;

    /// Returns the larger of the two numbers, or NaN if `self` is NaN.
    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        if self < other { other } else { self }
    }
}

/// See [`Real::COEFFICIENTS`].
#[cfg(feature = "_cube")]
pub struct Coefficients<T: 'static> {
    pub exponential: &'static [T],
    pub scaled_erfc: &'static [T],
    pub log_1p: &'static [T],
}

macro_rules! real {
    ($type:ty, $bits:ty, key: $key:ty, singles: $singles:expr, range: $range:expr, smallest_factor: $smallest:expr, exponential_bound: $bound:expr,
     exp: { mantissa: $mantissa:expr, bias: $bias:expr, round: $round:expr, round_bits: $round_bits:expr, low: $low:expr, high: $high:expr,
            ln2: ($ln2_high:expr, $ln2_low:expr), coefficients: [$($exp:expr),+] },
     scaled_erfc: [$($erfc:expr),+],
     log_1p: [$($log:expr),+]) => {
        impl Real for $type {
            type Key = $key;

            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const HALF: Self = 0.5;
            const RANGE: Self = $range;
            const SMALLEST_FACTOR: Self = $smallest;
            const EXPONENTIAL_BOUND: Self = $bound;

            #[cfg(feature = "_cube")]
            const COEFFICIENTS: Coefficients<Self> =
                Coefficients { exponential: &[$($exp),+], scaled_erfc: &[$($erfc),+], log_1p: &[$($log),+] };

            #[inline(always)]
            fn singles(values: &[Self]) -> Option<&[f32]> {
                ($singles)(values)
            }

            #[inline(always)]
            fn singles_mut(values: &mut [Self]) -> Option<&mut [f32]> {
                ($singles)(values)
            }

            fn of_singles(values: Vec<f32>) -> Option<Vec<Self>> {
                ($singles)(values)
            }

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $type
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            #[inline(always)]
            fn abs(self) -> Self {
                <$type>::abs(self)
            }

            #[inline(always)]
            fn atan(self) -> Self {
                <$type>::atan(self)
            }

            #[inline(always)]
            fn total_cmp(&self, other: &Self) -> std::cmp::Ordering {
                <$type>::total_cmp(self, other)
            }

            #[inline(always)]
            fn descending_key(self, index: u32) -> $key {
                // Adding 0 makes both zeros equal. Bits of positive numbers ascend, and bits of negative numbers
                // descend.
                let bits = (self + 0.0).to_bits();
                let sign: $bits = 1 << (<$bits>::BITS - 1);
                let ascending = if bits & sign == 0 { bits | sign } else { !bits };
                (<$key>::from(!ascending) << 32) | <$key>::from(index)
            }

            #[inline(always)]
            fn index_of(key: $key) -> u32 {
                (key & 0xffff_ffff) as u32
            }

            #[inline(always)]
            fn digit(key: $key, shift: u32, bits: u32) -> usize {
                (key >> (32 + shift)) as usize & ((1 << bits) - 1)
            }

            #[inline(always)]
            fn fma<const FMA: bool>(self, a: Self, b: Self) -> Self {
                if FMA { self.mul_add(a, b) } else { self * a + b }
            }

            #[inline(always)]
            fn exponential<const FMA: bool>(self) -> Self {
                // NaN fails all comparisons and stays NaN.
                let x = if self < $low { $low } else { self };
                let x = if x > $high { $high } else { x };
                // Adding 1.5 * 2^mantissa leaves the rounded exponent in the low bits.
                let rounded = x.fma::<FMA>(std::f64::consts::LOG2_E as $type, $round);
                let exponent = rounded - $round;
                let rest = exponent.fma::<FMA>(-$ln2_low, exponent.fma::<FMA>(-$ln2_high, x));
                let power: $type = polynomial!(rest; $($exp),+);
                let scale = <$type>::from_bits((rounded.to_bits() << $mantissa).wrapping_add($bias << $mantissa));
                if self < $low { 0.0 } else { power * scale }
            }

            #[inline(always)]
            fn scaled_erfc<const FMA: bool>(self) -> Self {
                let t: $type = 1.0 / self.fma::<FMA>(0.5, 1.0);
                let series: $type = polynomial!(t; $($erfc),+);
                t * series
            }

            #[inline(always)]
            fn power_of_two<const FMA: bool>(self) -> Self {
                const HIGHEST: $type = $bias as $type;
                let x = if self < -HIGHEST { -HIGHEST } else { self };
                let x = if x > HIGHEST { HIGHEST } else { x };
                let rounded = x + $round;
                let rest = (x - (rounded - $round)) * std::f64::consts::LN_2 as $type;
                let power: $type = polynomial!(rest; $($exp),+);
                let scale = <$type>::from_bits((rounded.to_bits() << $mantissa).wrapping_add($bias << $mantissa));
                let power = if self > HIGHEST { <$type>::INFINITY } else { power };
                if self <= -HIGHEST { 0.0 } else { power * scale }
            }

            #[inline(always)]
            fn log_1p<const FMA: bool>(self) -> Self {
                // 2 artanh(s) with s = x / (2 + x) in [0, 1/3].
                let s = self / (self + 2.0);
                let series: $type = polynomial!(s * s; $($log),+);
                s * series
            }

            #[inline(always)]
            fn logarithm<const FMA: bool>(self) -> Self {
                // self = 2^exponent m with m in [1/sqrt(2), sqrt(2)], so that s below is in [-0.18, 0.18].
                let bits = self.to_bits();
                let m = <$type>::from_bits((bits & ((1 << $mantissa) - 1)) | ($bias << $mantissa));
                let high = m > std::f64::consts::SQRT_2 as $type;
                // The biased exponent in the low bits of a number whose unit is 1.
                let biased = <$type>::from_bits((bits >> $mantissa) | $round_bits) - <$type>::from_bits($round_bits);
                let exponent = biased - $bias as $type + if high { 1.0 } else { 0.0 };
                let m = if high { 0.5 * m } else { m };
                let s = (m - 1.0) / (m + 1.0);
                let series: $type = polynomial!(s * s; $($log),+);
                let value = exponent.fma::<FMA>($ln2_high, s.fma::<FMA>(series, exponent * $ln2_low));
                // The bits of NaN would be read as a number here.
                if self.is_nan() { self } else { value }
            }
        }
    };
}

// The coefficients of exp of f64 come from Taylor's series; all others are Chebyshev interpolants in the variable and
// on the interval of the code above.
real!(
    f32, u32, key: u64, singles: Some, range: 80.0, smallest_factor: 1e-18, exponential_bound: 60.0,
    exp: {
        mantissa: 23, bias: 127u32, round: 12_582_912.0, round_bits: 0x4b00_0000, low: -87.336_54, high: 88.722_84,
        ln2: (0.693_359_4, -2.121_944_4e-4),
        coefficients: [1.394_121_3e-3, 8.375_21e-3, 0.041_666_35, 0.166_664_14, 0.5, 1.0, 1.0]
    },
    scaled_erfc: [
        -0.018_570_254, 0.034_043_48, 0.085_983_426, -0.252_363_54, 0.109_843_81, 0.048_268_17, 0.182_243_43,
        0.246_346_81, 0.282_109_88, 0.282_094_72
    ],
    log_1p: [0.243_939_08, 0.213_985_6, 0.286_202_07, 0.399_987_1, 0.666_666_8, 2.0]
);

real!(
    f64, u64, key: u128, singles: |_| None, range: 680.0, smallest_factor: 1e-150, exponential_bound: 680.0,
    exp: {
        mantissa: 52, bias: 1023u64, round: 6_755_399_441_055_744.0, round_bits: 0x4330_0000_0000_0000, low: -708.396, high: 709.782,
        ln2: (6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10),
        coefficients: [
            1.0 / 6_227_020_800.0, 1.0 / 479_001_600.0, 1.0 / 39_916_800.0, 1.0 / 3_628_800.0, 1.0 / 362_880.0,
            1.0 / 40_320.0, 1.0 / 5_040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0
        ]
    },
    scaled_erfc: [
        -0.018_743_565_798_998_438, 0.177_961_534_503_908_83, -0.719_617_653_755_511_73, 1.489_922_355_015_840_8,
        -1.084_966_390_998_091_1, -2.508_045_190_898_822, 9.015_470_094_874_299, -14.442_393_146_985_7,
        14.691_305_903_276_024, -10.235_353_262_134_636, 5.117_991_110_947_028, -2.022_118_149_217_053_4,
        0.651_445_979_059_099_97, -0.086_321_246_294_180_36, 0.019_771_750_939_239_235, -0.056_503_408_513_924_81,
        -0.056_459_068_876_022_96, -0.004_427_149_060_958_908, 0.083_747_755_898_372_3, 0.176_309_221_333_715_8,
        0.246_832_943_140_541_58, 0.282_094_791_771_948_27, 0.282_094_791_773_879_97
    ],
    log_1p: [
        0.164_882_859_313_895_69, 0.069_803_904_983_324_32, 0.109_766_169_379_474_94, 0.117_152_746_681_104_25,
        0.133_368_768_157_438_35, 0.153_844_470_604_599_68, 0.181_818_234_224_952_52, 0.222_222_221_191_036_74,
        0.285_714_285_726_229_26, 0.399_999_999_999_928_67, 0.666_666_666_666_666_8, 2.0
    ]
);

/// Replaces a number with 0 if it is so small that arithmetic on it is slow and it could not change a sum.
#[inline(always)]
pub fn flushed<T: Real>(value: T) -> T {
    if value.abs() < T::SMALLEST_FACTOR * T::SMALLEST_FACTOR { T::ZERO } else { value }
}

/// Returns the sum of the values, added in a fixed order that allows vector instructions.
#[inline(always)]
pub fn sum<T: Real>(values: &[T]) -> T {
    combine(values, T::ZERO, |a, b| a + b)
}

/// Returns the dot product of `a` and `b`, added in a fixed order that allows vector instructions.
#[inline(always)]
pub fn dot<T: Real, const FMA: bool>(a: &[T], b: &[T]) -> T {
    const LANES: usize = 32;
    let mut lanes = [T::ZERO; LANES];
    let (a, b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = a.remainder().iter().zip(b.remainder());
    for (a, b) in a.zip(b) {
        for ((lane, &a), &b) in lanes.iter_mut().zip(a).zip(b) {
            *lane = a.fma::<FMA>(b, *lane);
        }
    }
    for (lane, (&a, &b)) in lanes.iter_mut().zip(rest) {
        *lane = a.fma::<FMA>(b, *lane);
    }
    sum(&lanes)
}

/// Returns the maximum of `values` and `least`.
#[inline(always)]
pub fn largest<T: Real>(values: &[T], least: T) -> T {
    combine(values, least, T::larger)
}

/// Combines all values with the function `of`, in a fixed order that allows vector instructions. Combining a value with
/// `neutral` must not change it.
#[inline(always)]
fn combine<T: Real>(values: &[T], neutral: T, of: impl Fn(T, T) -> T) -> T {
    const LANES: usize = 16;
    let mut lanes = [neutral; LANES];
    let chunks = values.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane = of(*lane, value);
        }
    }
    for (lane, &value) in lanes.iter_mut().zip(rest) {
        *lane = of(*lane, value);
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] = of(lanes[lane], lanes[lane + width]);
        }
        width /= 2;
    }
    lanes[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the largest error of `f` relative to `exact`, over 20,001 arguments between `low` and `high`.
    fn error<T: Real>(low: f64, high: f64, f: impl Fn(T) -> T, exact: impl Fn(f64) -> f64) -> f64 {
        (0..=20_000)
            .map(|i| {
                let x = T::from_f64(low + (high - low) * f64::from(i) / 20_000.0);
                let expected = exact(x.to_f64());
                (f(x).to_f64() - expected).abs() / expected.abs().max(f64::MIN_POSITIVE)
            })
            .fold(0.0, f64::max)
    }

    #[test]
    fn exponentials_are_exact_to_two_units() {
        assert!(error::<f32>(-87.0, 88.0, f32::exponential::<true>, f64::exp) < 2.4e-7);
        assert!(error::<f32>(-87.0, 88.0, f32::exponential::<false>, f64::exp) < 2.4e-7);
        assert!(error::<f64>(-708.0, 709.0, f64::exponential::<true>, f64::exp) < 4.5e-16);
        assert!(error::<f64>(-708.0, 709.0, f64::exponential::<false>, f64::exp) < 4.5e-16);
        for x in [-1e30f32, -88.0] {
            assert_eq!(Real::exponential::<true>(x), 0.0);
        }
        assert_eq!(Real::exponential::<true>(1e30f32), f32::INFINITY);
        assert_eq!(Real::exponential::<true>(0f32), 1.0);
        assert_eq!(Real::exponential::<true>(-1e30f64), 0.0);
        assert_eq!(Real::exponential::<true>(1e30f64), f64::INFINITY);
    }

    #[test]
    fn nothing_takes_nan_to_a_number() {
        fn check<T: Real, const FMA: bool>() {
            let nan = T::from_f64(f64::NAN);
            for value in [
                nan.exponential::<FMA>(),
                nan.scaled_erfc::<FMA>(),
                nan.power_of_two::<FMA>(),
                nan.log_1p::<FMA>(),
                nan.logarithm::<FMA>(),
                nan.larger(T::ZERO),
                nan.atan(),
            ] {
                assert!(value.to_f64().is_nan(), "{value:?}");
            }
        }
        check::<f32, false>();
        check::<f32, true>();
        check::<f64, false>();
        check::<f64, true>();
    }

    #[test]
    fn logarithms_are_exact_to_two_units() {
        assert!(error::<f32>(1e-3, 1.0, f32::log_1p::<true>, f64::ln_1p) < 2.4e-7);
        assert!(error::<f64>(1e-3, 1.0, f64::log_1p::<true>, f64::ln_1p) < 4.5e-16);
        assert_eq!(f32::log_1p::<true>(0.0), 0.0);
    }

    #[test]
    fn logarithms_of_any_size_are_exact_to_two_units() {
        // Relative to 1 where the logarithm is smaller.
        let error = |found: f64, exact: f64| (found - exact).abs() / exact.abs().max(1.0);
        for i in 0..=20_000 {
            let x = 10f64.powf(-30.0 + 60.0 * f64::from(i) / 20_000.0);
            assert!(error(f64::logarithm::<true>(x), x.ln()) < 4.5e-16, "{x}");
            assert!(error(f64::logarithm::<false>(x), x.ln()) < 4.5e-16, "{x}");
            let x = x as f32;
            assert!(error(f64::from(f32::logarithm::<true>(x)), f64::from(x).ln()) < 2.4e-7, "{x}");
            assert!(error(f64::from(f32::logarithm::<false>(x)), f64::from(x).ln()) < 2.4e-7, "{x}");
        }
        assert_eq!(Real::logarithm::<true>(1f32), 0.0);
    }

    #[test]
    fn powers_of_two_are_exact_for_integers() {
        for i in -126..=127 {
            assert_eq!(Real::power_of_two::<true>(i as f32), 2f32.powi(i));
        }
        for i in -1022..=1023 {
            assert_eq!(Real::power_of_two::<true>(f64::from(i)), 2f64.powi(i));
        }
        assert!(error::<f32>(-126.0, 127.0, f32::power_of_two::<true>, f64::exp2) < 2.4e-7);
        assert!(error::<f64>(-1022.0, 1023.0, f64::power_of_two::<true>, f64::exp2) < 4.5e-16);
        assert_eq!(Real::power_of_two::<true>(1e30f32), f32::INFINITY);
        assert_eq!(Real::power_of_two::<true>(-1e30f32), 0.0);
    }

    #[test]
    fn scaled_erfc_has_known_values() {
        for (x, expected) in [
            (0.0, 1.0),
            (0.5, 0.615_690_344_192_925_9),
            (1.0, 0.427_583_576_155_807),
            (3.0, 0.179_001_151_181_389_98),
            (10.0, 0.056_140_992_743_822_585),
        ] {
            assert!((f64::scaled_erfc::<true>(x) - expected).abs() < 1e-13, "f64 at {x}");
            assert!((f64::from(f32::scaled_erfc::<true>(x as f32)) - expected).abs() < 2e-7, "f32 at {x}");
        }
    }
}
