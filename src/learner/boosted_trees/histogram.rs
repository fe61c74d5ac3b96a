//! Computes histograms: the sums of the documents' derivatives in each bin of each feature.
//!
//! Features are processed in groups of [`LANES`]. In each group, the bins of a document are stored in one 64-bit word.
//! Each byte of the word holds the bin of one feature. The histogram of a group fits into the L1 cache. A block
//! consists of a few groups. The words that a block stores for a document are adjacent, so they fit into one cache
//! line. This helps leaves with few documents. Blocks are processed in parallel. Sums are whole numbers, so results do
//! not depend on the number of threads or on the size of a block.

use std::ops::Range;

use super::config::BoostedTreesConfig;
use super::sums::Sums;
use crate::learner::prelude::*;
use crate::learner::solver::bins::{Binned, MAX_BINS, bins_in_passes, bins_of};
use crate::memory::product;
use crate::text::counted;

/// The number of features in a group, each of which has one byte of a 64-bit word.
pub(super) const LANES: usize = 8;

/// The maximum number of groups in a block, so that a document's words fit into one cache line.
const MOST_GROUPS: usize = 6;

/// The minimum number of blocks per thread, so that all threads finish at about the same time.
const BLOCKS_PER_THREAD: usize = 3;

/// The number of documents whose words are loaded before their derivatives are added to the histogram.
const AHEAD: usize = 256;

/// The histogram of a group, which stores bin `b` of feature `lane` at `lane * MAX_BINS + b`.
type Cells = [Sums; LANES * MAX_BINS];

/// A few neighboring features, with the bin of every document in each feature and the histograms of several leaves.
pub(super) struct Block {
    /// The range of feature indices in the block.
    features: Range<usize>,
    /// The thresholds of each feature of the block.
    thresholds: Vec<Vec<f32>>,
    /// For each feature of the block, whether its last bin holds the missing values.
    missing: Vec<bool>,
    /// The number of groups, which is the number of words per document.
    groups: usize,
    /// The words of all documents; the words of each document are adjacent. Bytes beyond the last feature are 0.
    codes: Vec<u64>,
    /// The histograms of the leaves: `slots[slot][group]` belongs to the leaf with this slot. The memory is reused by
    /// the next tree.
    slots: Vec<Vec<Cells>>,
}

/// Returns how many groups of features each block gets, given their total number. If the data are shared, every block
/// is one group of features, so that every process forms the same blocks.
fn groups_of_a_block(groups: usize, data: &RankingDataset) -> usize {
    let blocks = BLOCKS_PER_THREAD * rayon::current_num_threads();
    if data.group().count() > 1 { 1 } else { groups.div_ceil(blocks).min(MOST_GROUPS) }
}

impl Block {
    /// Checks that there is enough free memory for the bins of all documents, and for the histograms of a tree. The
    /// last leaf of a tree has none.
    ///
    /// # Errors
    /// [`Refusal`] if they need more memory than is free.
    pub(super) fn ask_memory(data: &RankingDataset, config: &BoostedTreesConfig) -> Result<(), Refusal> {
        let (documents, features) = (data.documents(), data.feature_count);
        let of_depth = config.max_depth.and_then(|depth| 1usize.checked_shl(depth.try_into().ok()?));
        let leaves = config.leaves.min(of_depth.unwrap_or(usize::MAX)).min(documents / config.min_documents).max(2);
        let groups = features.div_ceil(LANES).div_ceil(data.group().count());
        let bytes = product([groups, leaves - 1, size_of::<Cells>()]);
        let bytes = bytes.saturating_add(product([features.div_ceil(LANES), documents, size_of::<u64>()]));
        let what = format!("growing trees of up to {leaves} leaves on {}", counted(features, "feature"));
        Refusal::ask_memory("learner.leaves", what, bytes, "lower it, or train on fewer features")
    }

    /// Cuts the features of a dataset into at most `bins` bins, block by block. Streamed features are cut in a few
    /// passes ([`bins_in_passes`]).
    pub(super) fn of_data(data: &RankingDataset, bins: usize) -> Vec<Self> {
        let width = data.feature_count;
        let features = LANES * groups_of_a_block(width.div_ceil(LANES), data);
        let block = |first: usize| Self::new(data.documents(), first..width.min(first + features));
        let mut blocks: Vec<Self> = (0..width).step_by(features).map(block).collect();
        let Some(memory) = data.features.memory() else {
            let fill = |block: &mut Self| {
                for group in block.features.clone().step_by(LANES) {
                    let own = group..block.features.end.min(group + LANES);
                    bins_of(data, own, bins).for_each(|binned| block.push(binned));
                }
            };
            parallel::for_each(&mut blocks, fill);
            return blocks;
        };
        bins_in_passes(data, bins, memory, |feature, binned| blocks[feature / features].push(binned));
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

    /// Returns the histogram of each feature in the block for the leaf with this slot.
    pub(super) fn features(&self, slot: usize) -> impl Iterator<Item = FeatureSums<'_>> {
        let groups = &self.slots[slot];
        self.thresholds.iter().zip(&self.missing).enumerate().map(move |(feature, (thresholds, &has_missing))| {
            let cells = &groups[feature / LANES][feature % LANES * MAX_BINS..][..MAX_BINS];
            let thresholds = thresholds.len();
            let missing = if has_missing { cells[thresholds + 1] } else { Sums::default() };
            FeatureSums { feature: self.features.start + feature, bins: &cells[..thresholds], missing }
        })
    }

    /// Computes the histograms for a slot by adding `values[i]` to the bins of the document `documents[i]`.
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

    /// Subtracts the histograms in `slot` from the histograms in `from`.
    pub(super) fn subtract(&mut self, slot: usize, from: usize) {
        let Ok([taken, left]) = self.slots.get_disjoint_mut([slot, from]) else { return };
        let cells = left.as_flattened_mut().iter_mut().zip(taken.as_flattened());
        cells.for_each(|(left, &taken)| *left = left.minus(taken));
    }

    /// Returns the bin in which a document's value of a feature lies.
    pub(super) fn code(&self, feature: usize, document: u32) -> u8 {
        let feature = feature - self.features.start;
        let word = self.codes[document as usize * self.groups + feature / LANES];
        (word >> (8 * (feature % LANES))) as u8
    }

    /// Returns the bin that holds the missing values of a feature, or `None` if no value is missing.
    pub(super) fn missing_code(&self, feature: usize) -> Option<u8> {
        let feature = feature - self.features.start;
        self.missing[feature].then(|| (self.thresholds[feature].len() + 1) as u8)
    }

    /// Returns the threshold between a bin and the next one, or the largest `f32` after the last bin of present values.
    pub(super) fn threshold(&self, feature: usize, bin: usize) -> f32 {
        self.thresholds[feature - self.features.start].get(bin).copied().unwrap_or(f32::MAX)
    }
}

/// The histogram of one feature in one leaf.
pub(super) struct FeatureSums<'a> {
    pub feature: usize,
    /// The sums in each bin of present values, except the last bin, after which no split is possible.
    pub bins: &'a [Sums],
    /// The sums over the documents whose value of the feature is missing.
    pub missing: Sums,
}

/// Returns the block that contains a feature. All blocks except the last have the same number of groups.
pub(super) fn block_of(blocks: &[Block], feature: usize) -> &Block {
    &blocks[feature / (LANES * blocks[0].groups)]
}
