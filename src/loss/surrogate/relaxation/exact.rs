//! The measure itself, computed from exact ranks without a gradient. Ties are broken by position, as in a stable sort.

use super::relaxed::{Indicators, Relaxation, Relaxed};
use crate::loss::lists::Lists;

/// The exact ranks, which have no gradient.
///
/// Equal scores keep their order in the list. One minus the mean loss is not the mean of the measure, because a list
/// with nothing to learn (see [`learnable`](crate::loss::PositionMeasure::learnable)) has loss 0. A list with nothing
/// to learn would count as perfect, whatever value a convention gives it. [`metric::evaluate`](crate::metric::evaluate)
/// computes measures of tensors under a convention.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Exact;

impl Relaxation for Exact {
    fn name(&self) -> &'static str {
        "exact"
    }

    fn is_differentiable(&self) -> bool {
        false
    }

    fn relax(&self, lists: &Lists, _sample: usize) -> Relaxed {
        Relaxed::Indicators(Indicators::new(lists, |values| values))
    }
}
