//! Kernels for long lists that do not visit every pair, for results in `f32`. A primitive asks [`choice`] whether a
//! list is long enough. Each kernel sorts the list first; the remaining time is proportional to its length.
//!
//! * **Boxes** ([`boxes`], over a [`tree`]) halve the sorted list repeatedly. Distant documents of one box are summed
//!   together, through a few points of the box, if the function is smooth there. Steps, softmaxes and normal noise are
//!   summed in boxes.
//! * **Walks** ([`walk`]) write a decaying function as a sum of exponentials of the distance. Each running sum decays
//!   by one factor from one document to the next. Logistic and Laplace steps and pairwise losses are summed by walks.
//! * **Windows** ([`pair_window`]) sum a hinge over the documents in a window of the sorted list, which only grows.
//! * **Levels** ([`levels`]) fix a noisy score, which all documents of a list beat with probabilities that do not
//!   depend on its owner. The probabilities of beating a noisy score are computed once for each level of a grid.
//!   Expectations under exact noise are computed by levels, on lists of any length.
//!
//! The name of a file combines a primitive and its method, as in `step_walk.rs`.

pub mod above_boxes;
pub mod above_levels;
#[cfg(test)]
pub mod box_cases;
pub mod boxes;
pub mod choice;
pub mod convolution;
pub mod indicator_boxes;
pub mod levels;
pub mod noisy_list;
pub mod pair_walk;
pub mod pair_window;
pub mod rank_steps;
pub mod recursion_boxes;
pub mod recursion_levels;
pub mod step_boxes;
pub mod step_walk;
pub mod tree;
pub mod walk;
