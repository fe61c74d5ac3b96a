//! The names that most files of losses import: from this folder, from burn and from measures.

pub(super) use burn::config::Config;
pub(super) use burn::module::Module;
pub(super) use burn::tensor::Tensor;

pub(super) use super::about::{About, Change, Orientation, UNIT_GRADIENTS};
pub(super) use super::curvature::{Curved, Derivatives};
pub(super) use super::declare::declare;
pub(super) use super::error::{self, LossError};
pub(super) use super::lists::{
    Lists, discount_table, one_in_place_of_zero, order_of_ranks, places_like, row_like, sum_documents,
};
pub(super) use super::noise::{Distribution, Noise};
pub(super) use super::ranking_loss::{Changed, RankingLoss};
pub(super) use super::temperature::{Scale, Temperature};
pub(super) use crate::measure::{Discount, Gain};
