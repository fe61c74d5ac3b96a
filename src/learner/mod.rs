//! Learners: everything that fits a scorer.
