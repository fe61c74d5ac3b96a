//! Kernels for long lists that do not visit every pair, for results in `f32`. A primitive asks [`choice`] whether a
//! list is long enough. Each kernel sorts the list first; the remaining time is proportional to its length.
//!
//! * **Boxes** ([`boxes`], over a [`tree`]) are the parts into which the sorted list is halved repeatedly. If the
//!   function is smooth over a box, the documents of the box are summed together, through a few points. Boxes are used
//!   for the erf and arctan steps, softmaxes, and expectations under normal noise.
//! * **Walks** ([`walk`]) write a decaying function as a sum of exponentials of the distance. From one document to the
//!   next, each running sum is multiplied by one factor. Walks are used for the logistic and Laplace steps, and
//!   pairwise losses other than hinges and the exponential loss.
//! * **Windows** ([`pair_window`]) sum a hinge loss over the documents within its margin, which form a growing window
//!   of the sorted list.
//! * **Levels** ([`levels`]) are values of the noisy score of a document. If the noisy score of a document is given,
//!   every other document ranks above it with a known probability. The probabilities of ranking above a level do not
//!   depend on the document that is ranked, so they are computed once per level. Expectations under exact noise are
//!   computed by levels, on lists of any length.
//!
//! Each file is named after a primitive and the method that sums it, as in `step_walk.rs`.

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
