//! Long lists without their pairs, for results in `f32`: a primitive asks [`choice`] whether a list is long enough.
//! Each way sorts the list first, and then takes time in proportion to its length.
//!
//! * **Boxes** ([`boxes`], over a [`tree`]): the sorted list is halved again and again. Far documents of one box are
//!   summed together, through a few points of the box, if the function is smooth there. For steps, softmaxes and normal
//!   noise.
//! * **Walks** ([`walk`]): a function that decays is a sum of exponentials of the distance. From one document to the
//!   next each of their running sums decays by one factor. For logistic and Laplace steps, and for pairwise losses.
//! * **Windows** ([`pair_window`]): a hinge counts the documents in a window of the sorted list, which only grows.
//! * **Levels** ([`levels`]): given a noisy score, all documents share the chances of the others to be above it. So
//!   these are worked out once for each value of a grid. For expectations under exact noise, on lists of any length.
//!
//! A file is a primitive and its way, as `step_walk.rs`.

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
