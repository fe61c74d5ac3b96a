//! Gradient boosting of trees.

mod tree;
