//! Sums over the pairs of a list, each in O(n^2): the sums of steps, of softmaxes and of pairwise losses, and
//! NeuralSort's matrix. A list is sorted once, by score or by label ([`by_label`]), and a tile of rows is paired with
//! one document at a time ([`columns`]). Long lists go [elsewhere](super::long).

pub mod by_label;
mod columns;
pub mod indicator_sum;
pub mod neural_sort;
mod neural_sort_matrix;
pub mod pair_derivatives;
pub mod pair_loss;
pub mod pair_weight;
pub mod step_sum;
