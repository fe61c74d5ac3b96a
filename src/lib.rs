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
//! | `report` | the page of a run (feature `report`) |
//! | `study` | what papers prove of their surrogates, checked on a ranking (feature `report`) |
//! | `experiment` | configuration files, folds, grids, reports (feature `experiment`) |
//! | `learner` | everything that fits a scorer: gradient training and the papers' outer loops (feature `learners`) |
//! | `ranker` | a trained ranker as one saved artefact (feature `ranker`) |
//! | [`scorer`] | burn modules from documents to scores |
//! | [`loss`] | surrogates and baselines, one file each |
//! | [`op`] | the primitives of which nearly every loss is composed |
//! | [`data`] | readers, datasets, folds, normalisers, padded batches |
//! | [`metric`] | measures of tensors; with the feature `train` as burn-train metrics |
//! | [`measure`] | exact measures and their conventions |
//! | `plot` | plots as inline SVG (feature `report`) |

#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(missing_docs)]
#![deny(unsafe_code, clippy::undocumented_unsafe_blocks)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub mod atomic_file;
pub mod data;
pub mod device;
pub mod guide;
pub mod json;
pub mod loss;
pub mod measure;
pub mod metric;
// Kernels for instructions that are found at run time.
#[allow(unsafe_code)]
pub mod op;
pub mod scorer;
pub mod seed;
pub mod text;

#[cfg(feature = "cli")]
#[cfg_attr(docsrs, doc(cfg(feature = "cli")))]
pub mod bench;
#[cfg(feature = "cli")]
#[cfg_attr(docsrs, doc(cfg(feature = "cli")))]
pub mod cli;
#[cfg(feature = "experiment")]
#[cfg_attr(docsrs, doc(cfg(feature = "experiment")))]
pub mod experiment;
#[cfg(feature = "learners")]
#[cfg_attr(docsrs, doc(cfg(feature = "learners")))]
pub mod learner;
#[cfg(feature = "experiment")]
mod memory;
#[cfg(feature = "report")]
#[cfg_attr(docsrs, doc(cfg(feature = "report")))]
pub mod plot;
#[cfg(feature = "ranker")]
#[cfg_attr(docsrs, doc(cfg(feature = "ranker")))]
pub mod ranker;
#[cfg(feature = "report")]
#[cfg_attr(docsrs, doc(cfg(feature = "report")))]
pub mod report;
#[cfg(feature = "report")]
#[cfg_attr(docsrs, doc(cfg(feature = "report")))]
pub mod study;
