//! Scorers: burn modules from documents to scores.
