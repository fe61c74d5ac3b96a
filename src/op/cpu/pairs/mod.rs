//! Kernels that visit the pairs of a list in O(n^2): sums of steps, softmaxes and pairwise losses, and NeuralSort's
//! matrix. Each list is sorted once, by score or by label ([`pair_weight`]). Each kernel then takes a tile of rows and
//! adds the terms of one document at a time ([`columns`]). [Long lists](super::long) have separate kernels.

mod columns;
pub mod indicator_sum;
pub mod neural_sort;
mod neural_sort_matrix;
#[cfg(test)]
pub mod pair_cases;
pub mod pair_derivatives;
pub mod pair_loss;
pub mod pair_weight;
pub mod step_sum;
mod steps;
