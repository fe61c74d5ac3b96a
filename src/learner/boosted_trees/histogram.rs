//! Histograms of derivatives: for each feature and bin, the sums over the documents of a leaf.
//!
//! Features are taken in blocks of [`LANES`]. The codes of a document in a block lie side by side, so that one read
//! serves them all, and the histogram of a block stays in the first-level cache. Blocks are worked on in parallel, and
//! sums are whole numbers, so threads change nothing.

use rayon::prelude::*;

use super::sums::Sums;
use crate::learner::solver::bins::{Bins, MAX_BINS};
use crate::op::Execution;

/// Features of a block.
pub(super) const LANES: usize = 8;

/// Documents whose codes are read at once.
const AHEAD: usize = 64;

/// The sums of one block: those of feature `lane` in bin `b` are at `lane * MAX_BINS + b`.
type Cells = [Sums; LANES * MAX_BINS];

/// A block of features: the codes of every document, and the histograms of the leaves that may still be split.
pub(super) struct Block {
    /// First feature of the block.
    first: usize,
    /// Thresholds of each of its features.
    thresholds: Vec<Vec<f32>>,
    /// Whether each of its features has a bin of missing values, after the others.
    missing: Vec<bool>,
    /// Codes of each document, 0 in lanes beyond the last feature.
    codes: Vec<[u8; LANES]>,
    /// Histograms by slot; a tree reuses those of the tree before.
    slots: Vec<Box<Cells>>,
}

impl Block {
    /// Cuts binned features into blocks.
    pub(super) fn of_bins(bins: &Bins) -> Vec<Self> {
        let firsts: Vec<usize> = (0..bins.features()).step_by(LANES).collect();
        let block = |first: usize| {
            let features = first..(first + LANES).min(bins.features());
            let mut codes = vec![[0; LANES]; bins.documents()];
            for (lane, feature) in features.clone().enumerate() {
                codes.iter_mut().zip(bins.codes(feature)).for_each(|(row, &code)| row[lane] = code);
            }
            let thresholds = features.clone().map(|feature| bins.thresholds(feature).to_vec()).collect();
            let missing = features.map(|feature| bins.has_missing(feature)).collect();
            Self { first, thresholds, missing, codes, slots: Vec::new() }
        };
        firsts.into_par_iter().map(Execution::current().bind(block)).collect()
    }

    /// The features of the block with their sums in a slot.
    pub(super) fn features(&self, slot: usize) -> impl Iterator<Item = FeatureSums<'_>> {
        let cells = &self.slots[slot];
        self.thresholds.iter().zip(&self.missing).enumerate().map(move |(lane, (thresholds, &has_missing))| {
            let cells = &cells[lane * MAX_BINS..][..MAX_BINS];
            let thresholds = thresholds.len();
            let missing = if has_missing { cells[thresholds + 1] } else { Sums::default() };
            FeatureSums { feature: self.first + lane, bins: &cells[..thresholds], missing }
        })
    }

    /// Makes the histogram of some documents, `values` one per document.
    pub(super) fn fill(&mut self, slot: usize, documents: &[u32], values: &[Sums]) {
        while self.slots.len() <= slot {
            self.slots.push(zeros());
        }
        let cells = &mut *self.slots[slot];
        cells.fill(Sums::default());
        // Rows are read ahead of the sums, so that waiting for one does not hold up the next.
        let mut rows = [[0; LANES]; AHEAD];
        for (documents, values) in documents.chunks(AHEAD).zip(values.chunks(AHEAD)) {
            rows.iter_mut().zip(documents).for_each(|(row, &document)| *row = self.codes[document as usize]);
            for (row, &value) in rows.iter().zip(values) {
                for (lane, &code) in row.iter().enumerate() {
                    let cell = &mut cells[lane * MAX_BINS + usize::from(code)];
                    *cell = cell.plus(value);
                }
            }
        }
    }

    /// Takes the histogram of a slot away from that of another.
    pub(super) fn subtract(&mut self, slot: usize, from: usize) {
        let Ok([taken, left]) = self.slots.get_disjoint_mut([slot, from]) else { return };
        left.iter_mut().zip(taken.iter()).for_each(|(left, &taken)| *left = left.minus(taken));
    }
}

/// The sums of a feature over the documents of a leaf.
pub(super) struct FeatureSums<'a> {
    pub feature: usize,
    /// Those of each bin that has a threshold above it; the last bin has none.
    pub bins: &'a [Sums],
    /// Those of the documents without a value.
    pub missing: Sums,
}

fn zeros() -> Box<Cells> {
    let cells = vec![Sums::default(); LANES * MAX_BINS].into_boxed_slice();
    cells.try_into().unwrap_or_else(|_| unreachable!("the length is that of the array"))
}

/// The bin of a document in a feature.
pub(super) fn code(blocks: &[Block], feature: usize, document: u32) -> u8 {
    blocks[feature / LANES].codes[document as usize][feature % LANES]
}

/// The bin of missing values of a feature, if it has one.
pub(super) fn missing_code(blocks: &[Block], feature: usize) -> Option<u8> {
    let (block, lane) = (&blocks[feature / LANES], feature % LANES);
    block.missing[lane].then(|| (block.thresholds[lane].len() + 1) as u8)
}

/// The threshold above a bin of a feature; above the last bin of values, the largest number.
pub(super) fn threshold(blocks: &[Block], feature: usize, bin: usize) -> f32 {
    blocks[feature / LANES].thresholds[feature % LANES].get(bin).copied().unwrap_or(f32::MAX)
}
