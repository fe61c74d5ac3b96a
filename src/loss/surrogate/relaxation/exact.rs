//! The measure itself, computed from exact ranks; it has no gradient. Ties are broken by position, as in a stable sort.

use super::relaxed::{Indicators, Relaxation, Relaxed};
use crate::loss::lists::Lists;

/// The exact ranks, which have no gradient.
///
/// Equal scores keep their order in the list. One minus the mean loss may differ from the mean of the measure, because
/// a list that gives no gradient (see [`learnable`](crate::loss::PositionMeasure::learnable)) has loss 0. One minus the
/// loss would count this list as perfect. To compute measures from tensors under a convention, use
/// [`metric::evaluate`](crate::metric::evaluate).
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
