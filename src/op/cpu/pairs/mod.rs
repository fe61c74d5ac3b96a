//! Kernels in O(n^2) over the pairs of a list: sums of steps, softmaxes and pairwise losses, and NeuralSort's matrix.
//! Each list is sorted once, by score or by label ([`by_label`]). A tile of rows is then paired with one document at a
//! time ([`columns`]). Separate kernels compute [long lists](super::long).

pub mod by_label;
mod columns;
pub mod indicator_sum;
pub mod neural_sort;
mod neural_sort_matrix;
pub mod pair_derivatives;
pub mod pair_loss;
pub mod pair_weight;
pub mod step_sum;
mod steps;
