//! Defines the gain of a split, and finds the split with the largest gain for a leaf.
//!
//! A leaf with gradient sum `G` and curvature sum `H` has the value `v = -T(G) / (H + l2)`, where `T` moves `G` towards
//! 0 by `l1`. If larger values of a feature must not lower (or raise) the score, bounds on the leaf values enforce this
//! constraint. The merit of a leaf is `-(2 G v + (H + l2) v^2 + 2 l1 |v|)`. The merit is twice the decrease of the loss
//! in its second-order approximation. If `v` is within the bounds, the merit is `T(G)^2 / (H + l2)`. The gain of a
//! split is the sum of the merits of both children minus the merit of the parent.
//!
//! All documents with a missing value of the feature go to the child that gives the larger gain. At equal gains, they
//! go to the right child. A split may also separate the documents with a missing value from those with a value. If no
//! training document of a leaf lacks the feature, documents that lack it at prediction time go to the right child.

use super::config::{BALANCE_L2, BoostedTreesConfig, Steps};
use super::histogram::{Block, FeatureSums};
use super::sums::{FixedPoint, Sums};
use crate::learner::error::Result;
use crate::learner::shared::checks::parameter;

/// The settings of trees: the configuration, and what follows from it for this data and method.
pub(super) struct TreeParams {
    /// The checked configuration of the learner.
    pub config: BoostedTreesConfig,
    /// The amount that is added to the curvature sum of each leaf.
    pub l2: f64,
    /// For each feature, whether a larger value may raise or lower the score.
    pub directions: Vec<Direction>,
}

impl TreeParams {
    /// Returns the limits that the configuration sets for trees on `features` features.
    pub(super) fn new(config: &BoostedTreesConfig, features: usize, steps: Steps) -> Result<Self> {
        let mut directions = vec![Direction::Any; features];
        for (key, numbers, direction) in [
            ("increasing", &config.increasing, Direction::Increasing),
            ("decreasing", &config.decreasing, Direction::Decreasing),
        ] {
            for &number in numbers {
                let place = number.checked_sub(1).and_then(|feature| directions.get_mut(feature));
                match place {
                    Some(place) if *place == Direction::Any || *place == direction => *place = direction,
                    Some(_) => return Err(parameter(key, number, "a feature that is not also increasing")),
                    None => return Err(parameter(key, number, format_args!("a feature from 1 to {features}"))),
                }
            }
        }
        let l2 = config.l2.unwrap_or(if steps == Steps::Balance { BALANCE_L2 } else { 1.0 });
        Ok(Self { config: config.clone(), l2, directions })
    }
}

/// Whether the score may rise or fall when a feature rises and all other features stay the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Any,
    Increasing,
    Decreasing,
}

/// The smallest and the largest value that a leaf may have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    low: f64,
    high: f64,
}

impl Bounds {
    pub(super) const NONE: Self = Self { low: f64::NEG_INFINITY, high: f64::INFINITY };
}

/// A split of a leaf into two children by the bins of one feature.
#[derive(Debug, Clone, Copy)]
pub(super) struct Split {
    pub gain: f64,
    pub feature: usize,
    /// The last bin whose documents go to the left child.
    pub bin: usize,
    /// Whether documents with a missing value go to the left child.
    pub missing_left: bool,
    /// Which child must have the larger value, if the feature has a required direction.
    pub direction: Direction,
    /// The sums of the derivatives over the documents in the left child.
    pub left: Sums,
}

impl Split {
    /// Encodes the split as bytes, to be exchanged in a group.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let Self { gain, feature, bin, missing_left, direction, left } = self;
        let Sums([gradient, curvature]) = left;
        let words =
            [gain.to_bits(), feature as u64, bin as u64, missing_left.into(), direction as u64, gradient, curvature];
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }

    /// Reads a split from the result of [`to_bytes`](Self::to_bytes), or returns `None` if there are no bytes.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let words: Vec<u64> = bytes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        let [gain, feature, bin, missing_left, direction, gradient, curvature] = words.try_into().ok()?;
        let [feature, bin, direction] = [feature, bin, direction].map(|word| word as usize);
        let direction = [Direction::Any, Direction::Increasing, Direction::Decreasing][direction];
        let (gain, missing_left, left) = (f64::from_bits(gain), missing_left == 1, Sums([gradient, curvature]));
        Some(Self { gain, feature, bin, missing_left, direction, left })
    }
}

/// Returns the split with the largest gain; at equal gains, the first split.
pub(super) fn best(splits: impl IntoIterator<Item = Option<Split>>) -> Option<Split> {
    splits.into_iter().flatten().reduce(|best, next| if next.gain > best.gain { next } else { best })
}

/// Computes values and merits of leaves from sums of derivatives.
#[derive(Clone, Copy)]
pub(super) struct Worth<'a> {
    pub params: &'a TreeParams,
    pub units: FixedPoint,
}

impl Worth<'_> {
    /// Returns the gradient sum, moved towards 0 by `l1`, and the curvature sum plus `l2`.
    #[inline(always)]
    fn shrunk(&self, sums: Sums) -> (f64, f64) {
        let (l1, l2) = (self.params.config.l1, self.params.l2);
        let gradient = self.units.gradient(sums);
        let curvature = (self.units.curvature(sums) + l2).max(f64::MIN_POSITIVE);
        (if l1 > 0.0 { gradient.signum() * (gradient.abs() - l1).max(0.0) } else { gradient }, curvature)
    }

    /// Returns the value of a leaf with the given sums, within `bounds`. Without curvature, no step has a length.
    pub(super) fn value(&self, sums: Sums, bounds: Bounds) -> f64 {
        let (gradient, curvature) = self.shrunk(sums);
        let value = if curvature > f64::MIN_POSITIVE { -gradient / curvature } else { 0.0 };
        value.clamp(bounds.low, bounds.high)
    }

    /// Returns the merit of a leaf whose value is not bounded. A leaf without curvature has none.
    #[inline(always)]
    fn merit(&self, sums: Sums) -> f64 {
        let (gradient, curvature) = self.shrunk(sums);
        if curvature > f64::MIN_POSITIVE { gradient * gradient / curvature } else { 0.0 }
    }

    /// Returns the sum of the merits of two leaves without bounds, with a single division.
    #[inline(always)]
    fn merits(&self, left: Sums, right: Sums) -> f64 {
        let ((of_left, left_curvature), (of_right, right_curvature)) = (self.shrunk(left), self.shrunk(right));
        if left_curvature.min(right_curvature) <= f64::MIN_POSITIVE {
            return self.merit(left) + self.merit(right);
        }
        (of_left * of_left * right_curvature + of_right * of_right * left_curvature)
            / (left_curvature * right_curvature)
    }

    /// Returns the merit of a leaf that has the given sums and the given value.
    fn merit_at(&self, sums: Sums, value: f64) -> f64 {
        let (gradient, curvature) = (self.units.gradient(sums), self.units.curvature(sums) + self.params.l2);
        -(2.0 * gradient * value + curvature * value * value + 2.0 * self.params.config.l1 * value.abs())
    }

    /// Returns the bounds of both children, which keep their values in the required order.
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

/// For one feature, the bins after which a leaf may be split.
#[derive(Clone, Copy)]
struct Places<'a> {
    feature: usize,
    /// For each bin after which the leaf may be split, the sums of the derivatives over the documents in the bin.
    bins: &'a [Sums],
    /// The number of the first bin after which the leaf may be split.
    first: usize,
    /// The sums of the documents that go left in any case: either none, or all documents with a missing value.
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
            let gain = best.map_or(params.config.min_gain, |best| best.gain);
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

    /// Returns the split with the largest gain, if this gain exceeds `least` and both children have enough documents
    /// and curvature.
    #[inline(always)]
    fn scan(&self, places: &Places, least: f64, gain: impl Fn(Sums, Sums) -> f64) -> Option<Split> {
        let BoostedTreesConfig { min_documents, min_curvature, .. } = self.worth.params.config;
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

    /// Returns the sum of the merits of both children, with their values kept within the leaf's bounds. Returns `None`
    /// if the values are in the wrong order for the feature.
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
