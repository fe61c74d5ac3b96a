//! Learning to rank with [burn]: train a ranker from a configuration file, or add one ranking loss to your existing
//! burn model.
//!
//! ```
//! use burn::tensor::{Device, Tensor};
//! use burn_rank::prelude::*;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let device = Device::flex().autodiff();
//!     let labels = Tensor::<2>::from_floats([[0.0, 1.0, 2.0]], &device);
//!     let mask = Tensor::<2>::ones([1, 3], &device).greater_elem(0.0); // true for a document, false for padding
//!     let scores = Tensor::<2>::from_floats([[0.2, 1.3, -0.4]], &device).require_grad(); // your model's output
//!
//!     let loss = LambdaNdcgConfig::new().init()?;
//!     let value = loss.forward(scores.clone(), labels, mask, Reduction::Mean);
//!     let gradients = value.backward();
//!     println!("{}", scores.grad(&gradients).ok_or("no gradient")?);
//!     Ok(())
//! }
//! ```
//!
//! # Where to go
//! - **In your own model**: start with the [`prelude`], then read [which loss](loss#which-loss) and [a whole training
//!   loop](guide::model). The module [`measure`] computes exact ranking measures.
//! - **From files, without writing Rust**: follow the [command-line tutorial](guide::train), which leads from a LETOR
//!   file to a ranker.
//! - **What a number means**: read the [conventions](guide::conventions).
//! - **From clicks**: learn [without position bias](guide::clicks).
//! - **On other hardware**: build with one of the features `cuda`, `rocm`, `vulkan`, `metal` or `wgpu`, then call
//!   [`device::open`] or use burn's own devices. The whole test suite runs on x86-64 CPUs. Every GPU kernel and every
//!   loss agreed with its definition on an NVIDIA H100 through Vulkan. The CUDA backend, AMD devices and Apple devices
//!   have not been tested. [Other hardware](guide::hardware) explains how to check a device.
//!
//! # Modules
//! The modules form layers, each of which uses only those below it:
//!
//! | module | contents |
//! |---|---|
//! | `learner` | everything that fits a scorer: gradient training and the papers' outer loops (feature `learners`) |
//! | `ranker` | a trained ranker as one saved artifact (feature `ranker`) |
//! | [`prelude`] | what a ranking model usually needs, in one import |
//! | [`scorer`] | burn modules from documents to scores |
//! | [`loss`] | surrogates and baselines, one file each |
//! | [`op`] | how losses are computed: memory and instructions of a thread. The primitives of which nearly every loss is composed are inside |
//! | [`data`] | readers, datasets, folds, normalizers, padded batches |
//! | [`metric`] | measures of tensors; burn-train metrics with the feature `train` |
//! | [`measure`] | exact measures and their conventions |
//!
//! A separate package, `burn-rank-cli`, contains the command with its configuration files, runs, reports and studies.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(missing_docs)]
// The library changes nothing of its process, and prints nothing.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::print_stdout, clippy::print_stderr))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(feature = "ranker")]
mod atomic_file;
#[cfg(feature = "optim")]
mod cached_backward;
pub mod data;
pub mod device;
pub(crate) mod distributed;
mod execution;
mod file_kind;
mod foreign_names;
pub mod guide;
#[cfg(feature = "ranker")]
mod interleaved;
pub mod json;
pub mod loss;
pub mod measure;
mod memory;
pub mod metric;
pub mod op;
mod parallel;
pub mod prelude;
mod quadrature;
pub mod refusal;
pub mod scorer;
pub mod seed;
mod shape;
#[cfg(test)]
mod testing;
mod text;

#[cfg(feature = "optim")]
#[cfg_attr(docsrs, doc(cfg(feature = "optim")))]
pub use cached_backward::{CachedBackwardError, cached_backward};

#[cfg(feature = "learners")]
#[cfg_attr(docsrs, doc(cfg(feature = "learners")))]
pub mod learner;
#[cfg(feature = "ranker")]
#[cfg_attr(docsrs, doc(cfg(feature = "ranker")))]
pub mod ranker;
#[doc(hidden)]
pub mod workbench;
