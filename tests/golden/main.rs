//! Values of other implementations, from golden files that lie beside the repository.

#[path = "../common/mod.rs"]
mod common;

mod data;
mod losses_rax;
mod losses_small_peers;
mod losses_tfr;
mod peer_lists;
mod surrogates;
