//! Sums over the documents of a list that have the same label, in the time of a sort.

use burn::tensor::{IndexingUpdateOp, Int, Tensor};

use super::lists::{Lists, ones_before, order_of_ranks};
use crate::op::rank;

/// The groups of documents with the same label in each list.
pub(in crate::loss) struct EqualLabels {
    /// The number of each document's group, `[B, N]`.
    groups: Tensor<2, Int>,
    mask: Tensor<2>,
}

impl EqualLabels {
    /// Finds the groups: documents next to each other in the order of the labels, as long as the label is the same.
    pub fn of(lists: &Lists) -> Self {
        let [_, documents] = lists.labels.dims();
        let places = rank(lists.labels.clone(), lists.mask.clone());
        let order = order_of_ranks(places.clone());
        let sorted = lists.labels.clone().gather(1, order);
        let numbers = sorted.clone().not_equal(ones_before(sorted)).int().cumsum(1);
        let at = (places - 1.0).int().clamp(0, documents as i64 - 1);
        Self { groups: numbers.gather(1, at), mask: lists.mask.clone() }
    }

    /// Returns, for each document, the sum of `x` over its group, `[B, N]`, 0 at padded places.
    pub fn sums(&self, x: Tensor<2>) -> Tensor<2> {
        let sums = x.zeros_like().scatter(1, self.groups.clone(), x * self.mask.clone(), IndexingUpdateOp::Add);
        sums.gather(1, self.groups.clone()) * self.mask.clone()
    }

    /// Returns the number of documents in each document's group, `[B, N]`, 0 at padded places.
    pub fn counts(&self) -> Tensor<2> {
        self.sums(self.mask.clone())
    }
}
