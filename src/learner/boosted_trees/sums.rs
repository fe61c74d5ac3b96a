//! Adds derivatives as fixed-point numbers. Sums of whole numbers do not depend on the order of addition.
//!
//! Sums are stored in two 64-bit words, so that a single vector instruction adds both. One word holds the gradient in
//! two's complement. In the other word, the low bits count the documents, and the higher bits hold the curvature. The
//! units are powers of two, chosen for each tree so that no sum over its documents overflows. With 100,000 documents, a
//! gradient of mean size is stored with 44 bits, and a curvature of mean size with 29.

use rayon::prelude::*;

use super::objective::Derivatives;

/// The sums of the first and second derivatives over some documents, with the number of these documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(align(16))]
pub(super) struct Sums(pub(super) [u64; 2]);

impl Sums {
    #[inline(always)]
    pub(super) fn plus(self, other: Self) -> Self {
        Self([self.0[0].wrapping_add(other.0[0]), self.0[1].wrapping_add(other.0[1])])
    }

    #[inline(always)]
    pub(super) fn minus(self, other: Self) -> Self {
        Self([self.0[0].wrapping_sub(other.0[0]), self.0[1].wrapping_sub(other.0[1])])
    }
}

/// Converts derivatives to the integers in [`Sums`] and back.
#[derive(Debug, Clone, Copy)]
pub(super) struct FixedPoint {
    /// The number of units that represent a gradient of 1. This number is a power of two.
    per_gradient: f64,
    per_curvature: f64,
    gradient_unit: f64,
    curvature_unit: f64,
    count_bits: u32,
}

/// The number of documents in each of the partial sums that threads compute.
const CHUNK: usize = 1 << 16;

/// The number of bits for the sum of all absolute gradients; one further bit is the sign.
const GRADIENT_BITS: i32 = 62;

/// Returns a power of two by which numbers are multiplied, so that their sum, `total`, needs at most `bits` bits.
fn scale(total: f64, bits: i32) -> f64 {
    // Rounding adds at most half a unit per document, for which one bit is left.
    let exponent = if total > 0.0 { bits - 1 - total.log2().ceil() as i32 } else { 0 };
    2f64.powi(exponent.clamp(-1000, 1000))
}

/// Rounds to the nearest integer; a number halfway between two integers is rounded away from 0.
fn rounded(x: f64) -> i64 {
    (x + if x < 0.0 { -0.5 } else { 0.5 }) as i64
}

impl FixedPoint {
    /// Chooses units so that no sum over a subset of `documents` overflows.
    pub(super) fn new(derivatives: &Derivatives, documents: &[u32]) -> Self {
        let of_some = |documents: &[u32], values: &[f64]| documents.iter().map(|&d| values[d as usize].abs()).sum();
        // The documents are cut in the same places for any number of threads.
        let total = |values: &[f64]| -> f64 {
            let sums: Vec<f64> = documents.par_chunks(CHUNK).map(|some| of_some(some, values)).collect();
            sums.into_iter().sum()
        };
        let count_bits = u64::BITS - (documents.len() as u64).leading_zeros();
        let per_gradient = scale(total(&derivatives.gradient), GRADIENT_BITS);
        let per_curvature = scale(total(&derivatives.curvature), (u64::BITS - count_bits) as i32);
        Self {
            per_gradient,
            per_curvature,
            gradient_unit: 1.0 / per_gradient,
            curvature_unit: 1.0 / per_curvature,
            count_bits,
        }
    }

    /// Returns the derivatives of one document as integers, with a document count of 1.
    pub(super) fn of(&self, gradient: f64, curvature: f64) -> Sums {
        let gradient = rounded(gradient * self.per_gradient) as u64;
        let curvature = rounded(curvature * self.per_curvature) as u64;
        Sums([gradient, (curvature << self.count_bits) | 1])
    }

    #[inline(always)]
    pub(super) fn gradient(&self, sums: Sums) -> f64 {
        sums.0[0] as i64 as f64 * self.gradient_unit
    }

    #[inline(always)]
    pub(super) fn curvature(&self, sums: Sums) -> f64 {
        // Signed numbers are converted by one instruction.
        (sums.0[1] >> self.count_bits) as i64 as f64 * self.curvature_unit
    }

    /// Returns the number of documents that the sums include.
    #[inline(always)]
    pub(super) fn documents(&self, sums: Sums) -> usize {
        (sums.0[1] & ((1 << self.count_bits) - 1)) as usize
    }
}

/// The number of documents that one thread handles at a time.
const PER_THREAD: usize = 1 << 14;

/// Arrays that all trees of a fit reuse.
#[derive(Default)]
pub(super) struct Buffers {
    /// The first and second derivative of each training document, in fixed point.
    values: Vec<Sums>,
    /// The derivatives of the documents that were gathered last.
    pub(super) gathered: Vec<Sums>,
    /// Space in which the documents of a leaf are reordered while the leaf is split into two children.
    parted: Vec<u32>,
}

impl Buffers {
    /// Converts the derivatives of every document to fixed point and stores them.
    pub(super) fn set(&mut self, derivatives: &Derivatives, units: &FixedPoint) {
        let all = derivatives.gradient.par_iter().zip(&derivatives.curvature).with_min_len(PER_THREAD);
        all.map(|(&gradient, &curvature)| units.of(gradient, curvature)).collect_into_vec(&mut self.values);
    }

    /// Returns the sums of the first and second derivatives over some documents.
    pub(super) fn sum(&self, documents: &[u32]) -> Sums {
        let values = documents.par_iter().with_min_len(PER_THREAD).map(|&d| self.values[d as usize]);
        values.reduce(Sums::default, Sums::plus)
    }

    /// Copies the derivatives of some documents into one contiguous array.
    pub(super) fn gather(&mut self, documents: &[u32]) {
        let values = documents.par_iter().with_min_len(PER_THREAD).map(|&d| self.values[d as usize]);
        values.collect_into_vec(&mut self.gathered);
    }

    /// Moves the documents for which `is_left` holds to the front, and keeps the order within both groups. Returns the
    /// number of documents for which `is_left` holds.
    pub(super) fn part(&mut self, documents: &mut [u32], is_left: impl Fn(u32) -> bool + Sync) -> usize {
        if documents.is_empty() {
            return 0;
        }
        self.parted.resize(documents.len(), 0);
        // In each chunk, the left documents come first and the right ones after them.
        let chunks = documents.par_chunks(PER_THREAD).zip(self.parted.par_chunks_mut(PER_THREAD));
        let part = |(documents, parted): (&[u32], &mut [u32])| {
            let (mut left, mut right) = (0, parted.len());
            for &document in documents {
                // There is no branch, since the processor could not predict it.
                let is_left = is_left(document);
                parted[if is_left { left } else { right - 1 }] = document;
                left += usize::from(is_left);
                right -= usize::from(!is_left);
            }
            parted[right..].reverse();
            left
        };
        let counts: Vec<usize> = chunks.map(part).collect();
        let middle = counts.iter().sum();
        let (mut left, mut right) = documents.split_at_mut(middle);
        for (parted, count) in self.parted.chunks(PER_THREAD).zip(counts) {
            let (of_left, of_right) = parted.split_at(count);
            left.split_off_mut(..of_left.len()).unwrap_or_default().copy_from_slice(of_left);
            right.split_off_mut(..of_right.len()).unwrap_or_default().copy_from_slice(of_right);
        }
        middle
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::scattered;

    #[test]
    fn sums_are_exact_to_the_unit_and_do_not_overflow() {
        for size in [1e-200, 1e-9, 1.0, 3.7e8, 1e250] {
            let n = 100_000;
            let gradient: Vec<f64> = scattered(n, n).map(|x| size * (x / n as f64 - 0.4)).collect();
            let curvature: Vec<f64> = gradient.iter().map(|gradient| 0.5 * gradient.abs()).collect();
            let derivatives = Derivatives { gradient, curvature };
            let documents: Vec<u32> = (0..n as u32).collect();
            let units = FixedPoint::new(&derivatives, &documents);
            let of = |d: &u32| units.of(derivatives.gradient[*d as usize], derivatives.curvature[*d as usize]);
            let all = documents.iter().map(of).fold(Sums::default(), Sums::plus);
            let close = |found: f64, values: &[f64]| {
                let (exact, total) = (values.iter().sum::<f64>(), values.iter().map(|v| v.abs()).sum::<f64>());
                assert!((found - exact).abs() <= 1e-8 * total, "{found} {exact}");
            };
            close(units.gradient(all), &derivatives.gradient);
            close(units.curvature(all), &derivatives.curvature);
            assert_eq!(units.documents(all), n);
            // In any order, and taken away again.
            let backward = documents.iter().rev().map(of).fold(Sums::default(), Sums::plus);
            assert_eq!(backward, all);
            let but_first = all.minus(of(&0));
            assert_eq!(but_first, documents[1..].iter().map(of).fold(Sums::default(), Sums::plus));
        }
    }

    #[test]
    fn derivatives_of_zero_have_sums_of_zero() {
        let derivatives = Derivatives { gradient: vec![0.0; 3], curvature: vec![0.0; 3] };
        let units = FixedPoint::new(&derivatives, &[0, 1, 2]);
        let sums = units.of(0.0, 0.0).plus(units.of(0.0, 0.0));
        assert_eq!((units.gradient(sums), units.curvature(sums), units.documents(sums)), (0.0, 0.0, 2));
    }

    #[test]
    fn both_sides_keep_their_order() {
        let all: Vec<u32> = (0..3 * PER_THREAD as u32 + 17).map(|d| 5 * d + 1).collect();
        let mut buffers = Buffers::default();
        for length in [all.len(), PER_THREAD, 1, 0] {
            for is_left in [|d| d % 3 == 0, |_| true, |_| false] {
                let mut documents = all[..length].to_vec();
                let middle = buffers.part(&mut documents, is_left);
                let (left, right): (Vec<u32>, Vec<u32>) = all[..length].iter().partition(|d| is_left(**d));
                assert_eq!((&documents[..middle], &documents[middle..]), (&left[..], &right[..]));
            }
        }
    }

    #[test]
    fn sums_are_those_of_the_documents() {
        let gradient: Vec<f64> = (0..PER_THREAD + 5).map(|d| (d % 7) as f64 - 2.5).collect();
        let derivatives = Derivatives { curvature: vec![1.0; gradient.len()], gradient };
        let documents: Vec<u32> = (0..derivatives.gradient.len() as u32).filter(|d| d % 2 == 1).collect();
        let units = FixedPoint::new(&derivatives, &documents);
        let mut buffers = Buffers::default();
        buffers.set(&derivatives, &units);
        buffers.gather(&documents);
        let sums = buffers.sum(&documents);
        assert_eq!(buffers.gathered.iter().fold(Sums::default(), |sums, &value| sums.plus(value)), sums);
        assert_eq!((units.documents(sums), units.curvature(sums)), (documents.len(), documents.len() as f64));
        let exact: f64 = documents.iter().map(|&d| derivatives.gradient[d as usize]).sum();
        assert!((units.gradient(sums) - exact).abs() < 1e-9);
    }
}
