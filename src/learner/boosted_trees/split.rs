//! Defines the merit of a leaf and the gain of a split, and finds the best split of a leaf.
//!
//! A leaf with gradient sum `G` and curvature sum `H` has the value `v = -T(G) / (H + l2)`, where `T` shrinks `G`
//! towards 0 by `l1`. The value is kept within the bounds that monotone features put on the leaf. The merit of a leaf
//! is twice the decrease of the second-order model of the loss, `-(2 G v + (H + l2) v^2 + 2 l1 |v|)`. If no bound is
//! met, the merit is `T(G)^2 / (H + l2)`. The gain of a split is the sum of the merits of its children minus the merit
//! of its leaf.
//!
//! All documents that lack the feature go to the side where the split gains more, or to the right if both sides gain
//! equally. A split may also separate the documents that lack the feature from all others. If no document of a leaf
//! lacks the feature, later documents that lack it go right.

use super::histogram::{Block, FeatureSums};
use super::sums::{FixedPoint, Sums};

/// Limits of a tree.
#[derive(Debug, Clone)]
pub(super) struct TreeParams {
    /// The maximum number of leaves.
    pub leaves: usize,
    /// The maximum number of splits from the root to a leaf.
    pub max_depth: usize,
    /// Whether the leaves nearest to the root are split first, rather than the leaves with the largest gain.
    pub by_level: bool,
    /// The minimum number of documents in a leaf.
    pub min_documents: usize,
    /// The minimum curvature sum of a leaf.
    pub min_curvature: f64,
    /// The amount by which gradient sums are shrunk towards 0.
    pub l1: f64,
    /// The number that is added to every curvature sum.
    pub l2: f64,
    /// The minimum gain of a split.
    pub min_gain: f64,
    /// The allowed direction of the score for each feature.
    pub directions: Vec<Direction>,
}

/// The allowed direction of the score as a feature grows while all other features stay the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Any,
    Increasing,
    Decreasing,
}

/// The range of values that a leaf may have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    low: f64,
    high: f64,
}

impl Bounds {
    pub(super) const NONE: Self = Self { low: f64::NEG_INFINITY, high: f64::INFINITY };
}

/// A split of a leaf.
#[derive(Debug, Clone, Copy)]
pub(super) struct Split {
    pub gain: f64,
    pub feature: usize,
    /// The last bin of the left child.
    pub bin: usize,
    /// Whether missing values go to the left child.
    pub missing_left: bool,
    /// The required order of the children's values.
    pub direction: Direction,
    /// The sums of the left child.
    pub left: Sums,
}

impl Split {
    /// Converts the split to 64-bit words for other processes.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let Self { gain, feature, bin, missing_left, direction, left } = self;
        let [gradient, curvature] = left.words();
        let words =
            [gain.to_bits(), feature as u64, bin as u64, missing_left.into(), direction as u64, gradient, curvature];
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }

    /// Reads a split from the result of [`to_bytes`](Self::to_bytes), or returns `None` if there are no bytes.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let words: Vec<u64> = bytes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        let [gain, feature, bin, missing_left, direction, gradient, curvature] = words.try_into().ok()?;
        let direction = [Direction::Any, Direction::Increasing, Direction::Decreasing][direction as usize];
        let (gain, left) = (f64::from_bits(gain), Sums::of_words([gradient, curvature]));
        Some(Self {
            gain,
            feature: feature as usize,
            bin: bin as usize,
            missing_left: missing_left == 1,
            direction,
            left,
        })
    }
}

/// Returns the first of the best splits.
pub(super) fn best(splits: impl IntoIterator<Item = Option<Split>>) -> Option<Split> {
    splits.into_iter().flatten().reduce(|best, next| if next.gain > best.gain { next } else { best })
}

/// The parameters on which the merit of a leaf depends, in addition to its sums.
#[derive(Clone, Copy)]
pub(super) struct Worth<'a> {
    pub params: &'a TreeParams,
    pub units: FixedPoint,
}

impl Worth<'_> {
    /// Returns `T(G)` and `H + l2`.
    #[inline(always)]
    fn shrunk(&self, sums: Sums) -> (f64, f64) {
        let TreeParams { l1, l2, .. } = *self.params;
        let gradient = self.units.gradient(sums);
        let curvature = (self.units.curvature(sums) + l2).max(f64::MIN_POSITIVE);
        (if l1 > 0.0 { gradient.signum() * (gradient.abs() - l1).max(0.0) } else { gradient }, curvature)
    }

    /// Returns the value of a leaf.
    pub(super) fn value(&self, sums: Sums, bounds: Bounds) -> f64 {
        let (gradient, curvature) = self.shrunk(sums);
        (-gradient / curvature).clamp(bounds.low, bounds.high)
    }

    /// Returns the merit of a leaf whose value meets no bound.
    #[inline(always)]
    fn merit(&self, sums: Sums) -> f64 {
        let (gradient, curvature) = self.shrunk(sums);
        gradient * gradient / curvature
    }

    /// Returns the sum of the merits of two leaves without bounds, with a single division.
    #[inline(always)]
    fn merits(&self, left: Sums, right: Sums) -> f64 {
        let ((left, left_curvature), (right, right_curvature)) = (self.shrunk(left), self.shrunk(right));
        (left * left * right_curvature + right * right * left_curvature) / (left_curvature * right_curvature)
    }

    /// Returns the merit of a leaf with the given value.
    fn merit_at(&self, sums: Sums, value: f64) -> f64 {
        let (gradient, curvature) = (self.units.gradient(sums), self.units.curvature(sums) + self.params.l2);
        -(2.0 * gradient * value + curvature * value * value + 2.0 * self.params.l1 * value.abs())
    }

    /// Returns the bounds of the children of a split.
    pub(super) fn bounds(&self, split: Split, sums: Sums, bounds: Bounds) -> [Bounds; 2] {
        let [left, right] = [split.left, sums.minus(split.left)].map(|sums| self.value(sums, bounds));
        let middle = 0.5 * (left + right);
        match split.direction {
            Direction::Any => [bounds; 2],
            Direction::Increasing => [Bounds { high: middle, ..bounds }, Bounds { low: middle, ..bounds }],
            Direction::Decreasing => [Bounds { low: middle, ..bounds }, Bounds { high: middle, ..bounds }],
        }
    }
}

/// The places where a leaf may be split in a feature.
#[derive(Clone, Copy)]
struct Places<'a> {
    feature: usize,
    /// The sums of each bin after which the leaf may be split.
    bins: &'a [Sums],
    /// The number of the first bin after which the leaf may be split.
    first: usize,
    /// The sums of the documents that go left wherever the leaf is split, either none or all that lack the feature.
    before: Sums,
    missing_left: bool,
    direction: Direction,
}

/// A leaf to be split, with the features that the split may use.
#[derive(Clone, Copy)]
pub(super) struct Scan<'a> {
    pub worth: Worth<'a>,
    /// For each feature, whether the split may use it.
    pub features: &'a [bool],
    pub sums: Sums,
    pub bounds: Bounds,
}

impl Scan<'_> {
    /// Returns the best split among the features of a block.
    pub(super) fn best_split(&self, block: &Block, slot: usize) -> Option<Split> {
        let params = self.worth.params;
        let is_bounded = self.bounds.low > f64::NEG_INFINITY || self.bounds.high < f64::INFINITY;
        let own = if is_bounded {
            self.worth.merit_at(self.sums, self.worth.value(self.sums, self.bounds))
        } else {
            self.worth.merit(self.sums)
        };
        let mut best: Option<Split> = None;
        let mut scan = |places: Places| {
            let gain = best.map_or(params.min_gain, |best| best.gain);
            let found = if is_bounded || places.direction != Direction::Any {
                self.scan(&places, gain, |left, right| {
                    self.bounded_merits(left, right, places.direction).map_or(f64::NEG_INFINITY, |merits| merits - own)
                })
            } else {
                self.scan(&places, gain, |left, right| self.worth.merits(left, right) - own)
            };
            best = found.or(best);
        };
        for FeatureSums { feature, bins, missing } in block.features(slot) {
            if !self.features[feature] {
                continue;
            }
            let direction = params.directions[feature];
            let places = Places { feature, bins, first: 0, before: Sums::default(), missing_left: false, direction };
            scan(places);
            if missing != Sums::default() {
                scan(Places { before: missing, missing_left: true, ..places });
                // All documents with a value are on one side, so no direction applies.
                let values = [self.sums.minus(missing)];
                scan(Places { bins: &values, first: bins.len(), direction: Direction::Any, ..places });
            }
        }
        best
    }

    /// Finds the best split that gains more than `least` and leaves enough documents and curvature on both sides.
    #[inline(always)]
    fn scan(&self, places: &Places, least: f64, gain: impl Fn(Sums, Sums) -> f64) -> Option<Split> {
        let TreeParams { min_documents, min_curvature, .. } = *self.worth.params;
        let Places { feature, bins, first, before, missing_left, direction } = *places;
        let units = self.worth.units;
        let most = units.documents(self.sums).saturating_sub(min_documents);
        let (mut best, mut most_gain) = (None, least);
        let mut left = before;
        for (bin, &own) in (first..).zip(bins) {
            if own == Sums::default() {
                continue;
            }
            left = left.plus(own);
            let documents = units.documents(left);
            if documents < min_documents {
                continue;
            }
            if documents > most {
                break;
            }
            let right = self.sums.minus(left);
            if min_curvature > 0.0 && units.curvature(left).min(units.curvature(right)) < min_curvature {
                continue;
            }
            let gain = gain(left, right);
            if gain > most_gain {
                most_gain = gain;
                best = Some((bin, left));
            }
        }
        best.map(|(bin, left)| Split { gain: most_gain, feature, bin, missing_left, direction, left })
    }

    /// Returns the merits of two children whose values are kept within their bounds, or `None` if they violate the
    /// direction of the feature.
    fn bounded_merits(&self, left: Sums, right: Sums, direction: Direction) -> Option<f64> {
        let [low, high] = [left, right].map(|sums| self.worth.value(sums, self.bounds));
        let is_against = match direction {
            Direction::Any => false,
            Direction::Increasing => low > high,
            Direction::Decreasing => low < high,
        };
        (!is_against).then(|| self.worth.merit_at(left, low) + self.worth.merit_at(right, high))
    }
}
