//! `LossInput`, the trait of padded and packed lists, both of which every loss accepts.

use burn::nn::loss::Reduction;
use burn::tensor::{Bool, Tensor};

use super::about::About;
use super::check::{check_values, check_weight_shape, check_weights};
use super::error::LossError;
use super::lists::Lists;
use super::packed::PackedLists;
use crate::shape::assert_same;

/// The lists that a loss accepts, which are padded [`Lists`] or unpadded [`PackedLists`]. Padded and packed lists may
/// carry document weights, query weights, and the scores of a teacher. This trait is sealed, so no other type can
/// implement it.
pub trait LossInput: Sealed {}

impl LossInput for Lists {}

impl LossInput for PackedLists {}

/// Operations that padded and packed lists share.
pub trait Sealed {
    /// Returns the padded batches on which losses are computed.
    fn rectangles(&self) -> Vec<&Lists>;

    /// Joins the values computed for each padded batch into one tensor with one value per query, in the order of the
    /// queries.
    fn in_order(&self, values: Vec<Tensor<1>>) -> Tensor<1>;

    /// Returns the query weights, or `None` if all queries count the same.
    fn query_weights(&self) -> Option<&Tensor<1>>;

    /// Returns the name and shape of the tensor that determines the number of queries, for error messages about
    /// weights.
    fn queries(&self) -> (&'static str, Vec<usize>);

    /// Returns the lists with the mask inverted, or `None` for packed lists.
    fn inverted(&self) -> Option<Lists> {
        None
    }
}

impl Sealed for Lists {
    fn rectangles(&self) -> Vec<&Lists> {
        vec![self]
    }

    fn in_order(&self, mut values: Vec<Tensor<1>>) -> Tensor<1> {
        values.remove(0)
    }

    fn query_weights(&self) -> Option<&Tensor<1>> {
        self.query_weights.as_ref()
    }

    fn queries(&self) -> (&'static str, Vec<usize>) {
        ("scores", self.scores.dims().into())
    }

    fn inverted(&self) -> Option<Lists> {
        Some(Lists::padded(self.scores.clone().detach(), self.given.clone(), self.padded.clone()))
    }
}

impl Sealed for PackedLists {
    fn rectangles(&self) -> Vec<&Lists> {
        self.rectangles.iter().map(|rectangle| &rectangle.lists).collect()
    }

    fn in_order(&self, values: Vec<Tensor<1>>) -> Tensor<1> {
        let values = Tensor::cat(values, 0);
        match &self.order {
            Some(order) => values.select(0, order.clone()),
            None => values,
        }
    }

    fn query_weights(&self) -> Option<&Tensor<1>> {
        self.query_weights.as_ref()
    }

    fn queries(&self) -> (&'static str, Vec<usize>) {
        ("queries", vec![self.segments().queries()])
    }
}

/// Calls `of` for each padded batch, and returns one value per query, `[queries]`.
#[track_caller]
pub(super) fn per_query(lists: &dyn LossInput, of: &dyn Fn(&Lists) -> Tensor<1>) -> Tensor<1> {
    lists.in_order(lists.rectangles().into_iter().map(of).collect())
}

/// Reduces the loss per query to its mean or sum, weighted by the query weights if there are any.
#[track_caller]
pub(super) fn reduced(lists: &dyn LossInput, losses: Tensor<1>, reduction: Reduction) -> Tensor<1> {
    match lists.query_weights() {
        None => reduce(losses, reduction),
        Some(weights) => {
            let (what, shape) = lists.queries();
            if let Err(error) = check_weight_shape(weights, (what, &shape)) {
                panic!("{error}");
            }
            reduce_weighted(losses, weights.clone(), reduction)
        }
    }
}

/// Checks every score, label and weight, and checks that at least one query contributes a gradient to the loss. If no
/// query contributes a gradient, the error says how many queries would do so with an inverted mask.
pub(super) fn check_input(
    lists: &dyn LossInput,
    about: &About<'_>,
    learnable: &dyn Fn(&Lists) -> Tensor<1, Bool>,
) -> Result<(), LossError> {
    lists.rectangles().into_iter().try_for_each(|lists| check_values(about, lists))?;
    let (what, shape) = lists.queries();
    if let Some(weights) = lists.query_weights() {
        check_weights(weights, (what, &shape))?;
    }
    let count =
        |lists: &Lists| learnable(lists).into_data().iter::<bool>().filter(|is_learnable| *is_learnable).count();
    if lists.rectangles().into_iter().any(|lists| count(lists) > 0) {
        return Ok(());
    }
    let inverted = lists.inverted().map_or(0, |inverted| count(&inverted));
    Err(LossError::NothingToLearn { queries: shape[0], inverted })
}

/// Reduces the loss per query, `[B]`, to its mean or sum, `[1]`.
pub fn reduce(losses: Tensor<1>, reduction: Reduction) -> Tensor<1> {
    match reduction {
        Reduction::Sum => losses.sum(),
        Reduction::Mean | Reduction::Auto | Reduction::BatchMean => losses.mean(),
    }
}

/// Reduces the loss per query, `[B]`, to a weighted mean or sum, `[1]`, as
/// [`RankingLoss::forward_weighted`](super::RankingLoss::forward_weighted) does.
///
/// # Panics
/// Panics if the numbers of weights and losses differ.
#[track_caller]
pub fn reduce_weighted(losses: Tensor<1>, weights: Tensor<1>, reduction: Reduction) -> Tensor<1> {
    assert_same("reduce_weighted", ("losses", &losses), &[("weights", &weights)]);
    let weights = weights.detach().cast(losses.dtype());
    let sum = (losses * weights.clone()).sum();
    match reduction {
        Reduction::Sum => sum,
        Reduction::Mean | Reduction::Auto | Reduction::BatchMean => {
            let total = weights.sum();
            let none = total.clone().equal_elem(0.0);
            sum / total.mask_fill(none, 1.0)
        }
    }
}
