//! The nodes of trees in the files of other systems, whose splits compare raw features.

/// A node of a tree; nodes refer to their children by position in the tree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ForeignNode {
    Split(ForeignSplit),
    Leaf(f64),
}

/// A split that compares a raw feature value with a threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ForeignSplit {
    /// Counted from 0.
    pub feature: u32,
    /// The largest 32-bit float that goes left: the largest finite float if all finite values do, and negative infinity
    /// if none does.
    pub at_most: f32,
    /// Whether a missing value goes left.
    pub missing_left: bool,
    /// Whether the split treats 0 as missing.
    pub zero_missing: bool,
    pub left: usize,
    pub right: usize,
}

impl ForeignSplit {
    /// Returns the same decision with the sides exchanged, for a split that sends all finite values to one side.
    pub fn exchanged(self, at_most: f32) -> Self {
        Self { at_most, missing_left: !self.missing_left, left: self.right, right: self.left, ..self }
    }
}
