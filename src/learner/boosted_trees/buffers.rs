//! Large arrays that every tree needs while it grows, allocated once and reused by all trees.

use rayon::prelude::*;

use super::derivatives::Derivatives;
use super::sums::{FixedPoint, Sums};

/// The number of documents that one thread handles at a time.
const CHUNK: usize = 1 << 14;

/// Arrays that all trees of a fit reuse.
#[derive(Default)]
pub(super) struct Buffers {
    /// The first and second derivative of each training document, in fixed point.
    values: Vec<Sums>,
    /// The derivatives of the documents of one leaf, copied next to each other.
    gathered: Vec<Sums>,
    /// Space in which the documents of a leaf are reordered while the leaf is split into two children.
    parted: Vec<u32>,
}

impl Buffers {
    /// Converts the derivatives of every document to fixed point and stores them.
    pub(super) fn set(&mut self, derivatives: &Derivatives, units: &FixedPoint) {
        let all = derivatives.gradient.par_iter().zip(&derivatives.curvature).with_min_len(CHUNK);
        all.map(|(&gradient, &curvature)| units.of(gradient, curvature)).collect_into_vec(&mut self.values);
    }

    /// Returns the sums of the first and second derivatives over some documents.
    pub(super) fn sum(&self, documents: &[u32]) -> Sums {
        let values = documents.par_iter().with_min_len(CHUNK).map(|&d| self.values[d as usize]);
        values.reduce(Sums::default, Sums::plus)
    }

    /// Copies the derivatives of some documents into one contiguous array.
    pub(super) fn gather(&mut self, documents: &[u32]) {
        let values = documents.par_iter().with_min_len(CHUNK).map(|&d| self.values[d as usize]);
        values.collect_into_vec(&mut self.gathered);
    }

    /// Returns the derivatives that the last call of [`gather`](Self::gather) copied.
    pub(super) fn gathered(&self) -> &[Sums] {
        &self.gathered
    }

    /// Moves the documents for which `is_left` holds to the front, and keeps the order within both groups. Returns the
    /// number of documents for which `is_left` holds.
    pub(super) fn part(&mut self, documents: &mut [u32], is_left: impl Fn(u32) -> bool + Sync) -> usize {
        if documents.is_empty() {
            return 0;
        }
        self.parted.resize(documents.len(), 0);
        // In each chunk, the left documents come first and the right ones after them.
        let chunks = documents.par_chunks(CHUNK).zip(self.parted.par_chunks_mut(CHUNK));
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
        for (parted, count) in self.parted.chunks(CHUNK).zip(counts) {
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

    #[test]
    fn both_sides_keep_their_order() {
        let all: Vec<u32> = (0..3 * CHUNK as u32 + 17).map(|d| 5 * d + 1).collect();
        let mut buffers = Buffers::default();
        for length in [all.len(), CHUNK, 1, 0] {
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
        let gradient: Vec<f64> = (0..CHUNK + 5).map(|d| (d % 7) as f64 - 2.5).collect();
        let derivatives = Derivatives { curvature: vec![1.0; gradient.len()], gradient };
        let documents: Vec<u32> = (0..derivatives.gradient.len() as u32).filter(|d| d % 2 == 1).collect();
        let units = FixedPoint::new(&derivatives, &documents);
        let mut buffers = Buffers::default();
        buffers.set(&derivatives, &units);
        buffers.gather(&documents);
        let sums = buffers.sum(&documents);
        assert_eq!(buffers.gathered().iter().fold(Sums::default(), |sums, &value| sums.plus(value)), sums);
        assert_eq!((units.documents(sums), units.curvature(sums)), (documents.len(), documents.len() as f64));
        let exact: f64 = documents.iter().map(|&d| derivatives.gradient[d as usize]).sum();
        assert!((units.gradient(sums) - exact).abs() < 1e-9);
    }
}
