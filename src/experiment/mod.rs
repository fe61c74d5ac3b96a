//! Experiments: configuration file, folds, grid, seeds, report.
