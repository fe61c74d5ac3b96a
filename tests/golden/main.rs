//! Comparisons with values of other implementations; `expected/README.md` names their origins.

#[path = "../common/mod.rs"]
mod common;

mod columnar;
mod format_1;
mod imports;
mod lambdarank;
mod losses_rax;
mod losses_small_peers;
mod losses_tfr;
mod measure_letor;
mod measure_lists;
mod measure_peers;
mod measure_rax;
mod measure_significance;
mod measure_tfr;
mod measure_trec_eval;
mod models;
mod neural_sort;
mod peer_lists;
mod surrogates;
mod trec_files;
