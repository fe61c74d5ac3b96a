//! The measure itself, by ranks: no gradient. Ties are broken by position, as a sort would.

use super::relaxed::{Relaxation, Relaxed};
use crate::loss::lists::Lists;

/// Whole ranks, without gradient.
///
/// The value is the measure in which equal scores keep their order in the list. As with every loss, a list that has
/// nothing to learn has loss 0: one minus the mean loss is *not* the mean of the measure unless every list has
/// something to learn.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Exact;

impl Relaxation for Exact {
    fn name(&self) -> &'static str {
        "exact"
    }

    fn is_differentiable(&self) -> bool {
        false
    }

    fn relax(&self, _lists: &Lists, _sample: usize) -> Relaxed {
        Relaxed::Indicators(Box::new(|values| values))
    }
}
