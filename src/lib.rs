//! Learning to rank on [burn]: measures of the sorted list, optimised directly.
//!
//! Start with the [`guide`]: a tutorial, a cookbook, and what a value of a measure means.
//!
//! Layers, each of which uses only those below it:
//!
//! | module | what lives there |
//! |---|---|
//! | `cli` | the command line (feature `cli`) |
//! | `bench` | time and memory of losses, speed of training epochs (feature `cli`) |
//! | `report` | the page of a run (feature `cli`) |
//! | `study` | what papers prove of their surrogates, checked on a ranking (feature `cli`) |
//! | `experiment` | configuration files, folds, grids, reports (feature `cli`) |
//! | `learner` | everything that fits a scorer: gradient training and the papers' outer loops (feature `cli`) |
//! | `ranker` | a trained ranker as one saved artefact (feature `cli`) |
//! | [`scorer`] | burn modules from documents to scores |
//! | [`loss`] | surrogates and baselines, one file each |
//! | [`op`] | the primitives of which nearly every loss is composed |
//! | [`data`] | readers, datasets, folds, normalisers, padded batches |
//! | [`measure`] | exact measures and their conventions |
//! | `plot` | plots as inline SVG (feature `cli`) |

#![warn(missing_docs)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub mod atomic_file;
pub mod data;
pub mod device;
pub mod guide;
pub mod loss;
pub mod measure;
// Kernels for instructions that are found at run time.
#[allow(unsafe_code)]
pub mod op;
pub mod scorer;
pub mod seed;
pub mod text;

#[cfg(feature = "cli")]
pub mod bench;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "cli")]
pub mod experiment;
#[cfg(feature = "cli")]
pub mod learner;
#[cfg(feature = "cli")]
mod memory;
#[cfg(feature = "cli")]
pub mod plot;
#[cfg(feature = "cli")]
pub mod ranker;
#[cfg(feature = "cli")]
pub mod report;
#[cfg(feature = "cli")]
pub mod study;
