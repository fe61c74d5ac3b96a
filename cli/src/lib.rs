//! The command `burn-rank`, which adds experiments, reports, studies and benchmarks to the library
//! [burn-rank](burn_rank).
//!
//! # Modules
//! The modules form layers. Each module uses only the modules below it, and all of them use the library:
//!
//! | module | contents |
//! |---|---|
//! | [`cli`] | the command line |
//! | [`report`] | the page of a run |
//! | `device_comparison` | one experiment on several devices |
//! | `study` | what papers prove about their surrogates, checked on a ranking |
//! | `bench` | time and memory of losses, speed of training epochs |
//! | [`experiment`] | configuration files, folds, grids, reports |

#![warn(missing_docs)]
// Only the command changes its process, and prints.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::print_stdout, clippy::print_stderr))]

mod bench;
#[allow(clippy::disallowed_methods, clippy::print_stdout, clippy::print_stderr)]
pub mod cli;
mod device_comparison;
pub mod experiment;
mod number;
mod page;
mod plot;
pub mod report;
mod study;
#[cfg(test)]
mod testing;
