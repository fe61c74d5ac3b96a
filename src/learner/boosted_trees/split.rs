//! The merit of a leaf, the gain of a split, and the search for the best split of a leaf.
//!
//! A leaf with gradient sum `G` and curvature sum `H` has the value `v = -T(G) / (H + l2)`, where `T` draws `G` towards
//! 0 by `l1`, kept within the bounds that monotone features put on the leaf. Its merit, twice the decrease of the
//! second-order model of the loss, is `-(2 G v + (H + l2) v^2 + 2 l1 |v|)`, which is `T(G)^2 / (H + l2)` where no bound
//! is met. The gain of a split is the merits of its children minus the merit of its leaf.
//!
//! Documents without a value of the feature go together to the side where the split gains more, or to the right if both
//! gain equally. A split may also separate them from all others. If no document of a leaf lacks the value, later
//! documents without it go right.

use super::histogram::{Block, FeatureSums};
use super::sums::{FixedPoint, Sums};

/// Limits of a tree.
#[derive(Debug, Clone)]
pub(super) struct TreeParams {
    /// Maximum number of leaves.
    pub leaves: usize,
    /// Maximum number of splits from the root to a leaf.
    pub max_depth: usize,
    /// Whether the leaves nearest to the root are split first, not the best ones.
    pub by_level: bool,
    /// Minimum number of documents in a leaf.
    pub min_documents: usize,
    /// Minimum curvature sum of a leaf.
    pub min_curvature: f64,
    /// By how much gradient sums are drawn towards 0.
    pub l1: f64,
    /// Added to every curvature sum.
    pub l2: f64,
    /// Minimum gain of a split.
    pub min_gain: f64,
    /// Direction of each feature.
    pub directions: Vec<Direction>,
}

/// The allowed direction of the score as a feature grows, with all others equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Any,
    Increasing,
    Decreasing,
}

/// The values that a leaf may take.
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
    /// The order that the children's values must have.
    pub direction: Direction,
    /// The sums of the left child.
    pub left: Sums,
}

impl Split {
    /// As 64-bit words, for other processes.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let Self { gain, feature, bin, missing_left, direction, left } = self;
        let [gradient, curvature] = left.words();
        let words =
            [gain.to_bits(), feature as u64, bin as u64, missing_left.into(), direction as u64, gradient, curvature];
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }

    /// Reads the result of [`to_bytes`](Self::to_bytes); none if there are no bytes.
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

/// The first of the best splits.
pub(super) fn best(splits: impl IntoIterator<Item = Option<Split>>) -> Option<Split> {
    splits.into_iter().flatten().reduce(|best, next| if next.gain > best.gain { next } else { best })
}

/// The parameters that the merit of a leaf depends on, apart from its sums.
#[derive(Clone, Copy)]
pub(super) struct Worth<'a> {
    pub params: &'a TreeParams,
    pub units: FixedPoint,
}

impl Worth<'_> {
    /// `T(G)` and `H + l2`
    #[inline(always)]
    fn shrunk(&self, sums: Sums) -> (f64, f64) {
        let TreeParams { l1, l2, .. } = *self.params;
        let gradient = self.units.gradient(sums);
        let curvature = (self.units.curvature(sums) + l2).max(f64::MIN_POSITIVE);
        (if l1 > 0.0 { gradient.signum() * (gradient.abs() - l1).max(0.0) } else { gradient }, curvature)
    }

    /// The value of a leaf.
    pub(super) fn value(&self, sums: Sums, bounds: Bounds) -> f64 {
        let (gradient, curvature) = self.shrunk(sums);
        (-gradient / curvature).clamp(bounds.low, bounds.high)
    }

    /// The merit of a leaf that no bound concerns.
    #[inline(always)]
    fn merit(&self, sums: Sums) -> f64 {
        let (gradient, curvature) = self.shrunk(sums);
        gradient * gradient / curvature
    }

    /// The merits of two leaves without bounds, by one division.
    #[inline(always)]
    fn merits(&self, left: Sums, right: Sums) -> f64 {
        let ((left, left_curvature), (right, right_curvature)) = (self.shrunk(left), self.shrunk(right));
        (left * left * right_curvature + right * right * left_curvature) / (left_curvature * right_curvature)
    }

    /// The merit of a leaf with a value.
    fn merit_at(&self, sums: Sums, value: f64) -> f64 {
        let (gradient, curvature) = (self.units.gradient(sums), self.units.curvature(sums) + self.params.l2);
        -(2.0 * gradient * value + curvature * value * value + 2.0 * self.params.l1 * value.abs())
    }

    /// The bounds of the children of a split.
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
    /// The sums of each bin after which it may be split.
    bins: &'a [Sums],
    /// Number of the first of them.
    first: usize,
    /// The sums on the left before the first place: 0, or the sums of the documents without a value.
    before: Sums,
    missing_left: bool,
    direction: Direction,
}

/// A leaf for which a split is sought.
#[derive(Clone, Copy)]
pub(super) struct Scan<'a> {
    pub worth: Worth<'a>,
    /// Whether the split may take each feature.
    pub features: &'a [bool],
    pub sums: Sums,
    pub bounds: Bounds,
}

impl Scan<'_> {
    /// The best split among the features of a block.
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
                // All values on one side: whether there is one has no order.
                let values = [self.sums.minus(missing)];
                scan(Places { bins: &values, first: bins.len(), direction: Direction::Any, ..places });
            }
        }
        best
    }

    /// Looks for a split that gains more than `least`, at the bins after which both sides have enough.
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

    /// The merits of two children whose values are kept within their bounds; `None` if they violate the direction of
    /// the feature.
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
