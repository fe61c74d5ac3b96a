//! Kernels for long lists that do not visit every pair, for results in `f32`. Each kernel says from which length on it
//! is faster ([`is_fast`](super::dispatch::is_fast)). Each kernel sorts the list first. The rest of the computation
//! takes time proportional to the length of the list.
//!
//! * **Boxes** ([`boxes`], over a [`tree`]) are the parts that result from repeatedly halving the sorted list. If the
//!   function is smooth over a box, a few weighted points represent all documents of the box. Boxes are used for the
//!   erf and arctan steps, softmaxes, and expectations under normal noise.
//! * **Walks** ([`walk`]) write a decaying function as a sum of exponentials of the distance. At each step from one
//!   document to the next, each running sum is multiplied by a single factor. Walks are used for the logistic and
//!   Laplace steps, and for pairwise losses other than hinge losses and the exponential loss.
//! * **Windows** ([`pair_window`]) sum a hinge loss over the documents within its margin, which form a growing window
//!   of the sorted list.
//! * **Levels** ([`levels`]) are values of the noisy score of a document. For a given noisy score of a document, the
//!   probability that another document ranks above it is known. The probabilities of ranking above a level do not
//!   depend on whose noisy score it is, so they are computed once per level. Expectations under exact noise are
//!   computed with levels, for lists of any length.
//!
//! Each file is named after a primitive and the method that sums it, as in `step_walk.rs`.

pub mod above_boxes;
pub mod above_levels;
#[cfg(test)]
pub mod box_cases;
pub mod boxes;
pub mod convolution;
pub mod indicator_boxes;
pub mod levels;
pub mod pair_walk;
pub mod pair_window;
pub mod recursion_boxes;
pub mod recursion_levels;
pub mod step_boxes;
pub mod step_walk;
pub mod tree;
pub mod walk;
