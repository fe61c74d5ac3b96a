//! Values of other implementations, from golden files that lie beside the repository.

#[path = "../common/mod.rs"]
mod common;

mod data;
mod surrogates;
