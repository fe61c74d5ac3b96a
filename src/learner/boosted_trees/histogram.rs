//! Histograms of derivatives, which hold the sums over the documents of a leaf for each feature and bin.
//!
//! Features are processed in groups of [`LANES`]. The codes of a group form one word per document, and the histogram of
//! a group stays in the first-level cache. A block consists of a few groups. The words of a document in a block are
//! adjacent, so one cache line serves them all if a leaf has few documents. Blocks are processed in parallel. Sums are
//! whole numbers, so results do not depend on the number of threads or on the size of a block.

use std::ops::Range;

use rayon::prelude::*;

use super::sums::Sums;
use crate::data::RankingDataset;
use crate::distributed::Processes;
use crate::learner::solver::bins::{Binned, MAX_BINS, bins_in_passes, bins_of};
use crate::op::Execution;

/// The number of features in a group, each of which has one byte of a 64-bit word.
pub(super) const LANES: usize = 8;

/// The maximum number of groups in a block.
const MOST_GROUPS: usize = 6;

/// The minimum number of blocks for each thread, so that no thread waits long for another.
const BLOCKS_PER_THREAD: usize = 3;

/// The number of documents whose codes are read at once.
const AHEAD: usize = 256;

/// The sums of one group, with the sum of feature `lane` in bin `b` at `lane * MAX_BINS + b`.
type Cells = [Sums; LANES * MAX_BINS];

/// A block of features, with the codes of every document and the histograms of the leaves that may still be split.
pub(super) struct Block {
    /// The features of the block.
    features: Range<usize>,
    /// The thresholds of each feature of the block.
    thresholds: Vec<Vec<f32>>,
    /// For each feature of the block, whether there is a bin of missing values, which follows the other bins.
    missing: Vec<bool>,
    /// The number of words of a document.
    groups: usize,
    /// The codes of each document, group by group, with 0 in lanes beyond the last feature.
    codes: Vec<u64>,
    /// The histograms of each slot, one per group. A tree reuses the histograms of the previous tree.
    slots: Vec<Vec<Cells>>,
}

/// Returns the number of groups in a block, given the number of all groups. If several processes share the blocks, the
/// result does not depend on the number of threads.
fn groups_of_a_block(groups: usize, processes: &dyn Processes) -> usize {
    let blocks = BLOCKS_PER_THREAD * rayon::current_num_threads();
    if processes.count() > 1 { 1 } else { groups.div_ceil(blocks).min(MOST_GROUPS) }
}

impl Block {
    /// Cuts the features of a dataset into at most `bins` bins, block by block. Streamed features are cut in a few
    /// passes ([`bins_in_passes`]).
    pub(super) fn of_data(data: &RankingDataset, bins: usize, processes: &dyn Processes) -> Vec<Self> {
        let width = data.feature_count;
        let features = LANES * groups_of_a_block(width.div_ceil(LANES), processes);
        let block = |first: usize| Self::new(data.documents(), first..width.min(first + features));
        let mut blocks: Vec<Self> = (0..width).step_by(features).map(block).collect();
        let Some(memory) = data.features.memory() else {
            let fill = |block: &mut Self| {
                for group in block.features.clone().step_by(LANES) {
                    let own = group..block.features.end.min(group + LANES);
                    bins_of(data, own, bins).for_each(|binned| block.push(binned));
                }
            };
            blocks.par_iter_mut().for_each(Execution::current().bind(fill));
            return blocks;
        };
        bins_in_passes(data, bins, memory, processes, |feature, binned| blocks[feature / features].push(binned));
        blocks
    }

    /// Creates a block without features.
    fn new(documents: usize, features: Range<usize>) -> Self {
        let groups = features.len().div_ceil(LANES);
        let codes = vec![0; groups * documents];
        Self { features, thresholds: Vec::new(), missing: Vec::new(), groups, codes, slots: Vec::new() }
    }

    /// Adds the bins of the next feature.
    fn push(&mut self, binned: Binned) {
        let (group, lane) = (self.thresholds.len() / LANES, self.thresholds.len() % LANES);
        let words = self.codes[group..].iter_mut().step_by(self.groups);
        words.zip(binned.codes).for_each(|(word, code)| *word |= u64::from(code) << (8 * lane));
        self.thresholds.push(binned.thresholds);
        self.missing.push(binned.has_missing);
    }

    /// Returns the features of the block with their sums in a slot.
    pub(super) fn features(&self, slot: usize) -> impl Iterator<Item = FeatureSums<'_>> {
        let groups = &self.slots[slot];
        self.thresholds.iter().zip(&self.missing).enumerate().map(move |(feature, (thresholds, &has_missing))| {
            let cells = &groups[feature / LANES][feature % LANES * MAX_BINS..][..MAX_BINS];
            let thresholds = thresholds.len();
            let missing = if has_missing { cells[thresholds + 1] } else { Sums::default() };
            FeatureSums { feature: self.features.start + feature, bins: &cells[..thresholds], missing }
        })
    }

    /// Computes the histogram of some documents, given one value per document.
    pub(super) fn fill(&mut self, slot: usize, documents: &[u32], values: &[Sums]) {
        while self.slots.len() <= slot {
            self.slots.push(vec![[Sums::default(); LANES * MAX_BINS]; self.groups]);
        }
        self.slots[slot].iter_mut().for_each(|cells| cells.fill(Sums::default()));
        // Words are read ahead of the sums, so that waiting for one does not hold up the next.
        let mut words = [0; AHEAD];
        for (documents, values) in documents.chunks(AHEAD).zip(values.chunks(AHEAD)) {
            for (group, cells) in self.slots[slot].iter_mut().enumerate() {
                let codes = documents.iter().map(|&document| self.codes[document as usize * self.groups + group]);
                words.iter_mut().zip(codes).for_each(|(word, codes)| *word = codes);
                for (&word, &value) in words.iter().zip(values) {
                    for lane in 0..LANES {
                        let cell = &mut cells[lane * MAX_BINS + (word >> (8 * lane)) as usize % MAX_BINS];
                        *cell = cell.plus(value);
                    }
                }
            }
        }
    }

    /// Subtracts the histogram of one slot from the histogram of another.
    pub(super) fn subtract(&mut self, slot: usize, from: usize) {
        let Ok([taken, left]) = self.slots.get_disjoint_mut([slot, from]) else { return };
        let cells = left.as_flattened_mut().iter_mut().zip(taken.as_flattened());
        cells.for_each(|(left, &taken)| *left = left.minus(taken));
    }

    /// Returns the bin of a document in a feature of the block.
    fn code(&self, feature: usize, document: u32) -> u8 {
        let feature = feature - self.features.start;
        let word = self.codes[document as usize * self.groups + feature / LANES];
        (word >> (8 * (feature % LANES))) as u8
    }
}

/// The sums of a feature over the documents of a leaf.
pub(super) struct FeatureSums<'a> {
    pub feature: usize,
    /// The sums of each bin with a threshold above it, which is every bin except the last.
    pub bins: &'a [Sums],
    /// The sums of the documents that lack the feature.
    pub missing: Sums,
}

/// Returns the block of a feature. All blocks except the last have the same number of groups.
fn block_of(blocks: &[Block], feature: usize) -> &Block {
    &blocks[feature / (LANES * blocks[0].groups)]
}

/// Returns the bin of each document in a feature.
pub(super) fn codes(blocks: &[Block], feature: usize) -> impl Fn(u32) -> u8 {
    let block = block_of(blocks, feature);
    move |document| block.code(feature, document)
}

/// Returns the bin of missing values of a feature, if it has one.
pub(super) fn missing_code(blocks: &[Block], feature: usize) -> Option<u8> {
    let block = block_of(blocks, feature);
    let feature = feature - block.features.start;
    block.missing[feature].then(|| (block.thresholds[feature].len() + 1) as u8)
}

/// Returns the threshold above a bin of a feature, or the largest number for the last bin of values.
pub(super) fn threshold(blocks: &[Block], feature: usize, bin: usize) -> f32 {
    let block = block_of(blocks, feature);
    block.thresholds[feature - block.features.start].get(bin).copied().unwrap_or(f32::MAX)
}
