//! Trained rankers, and the files that store them.
//!
//! [`Ranker`] consists of a normalizer, a [`Model`] and [`Metadata`]. [`Members`] are several rankers that score as
//! one. A ranker is saved as one safetensors file. Python's `safetensors` can read the arrays of the model. The rest of
//! a ranker is JSON in the header of its file, and a checksum protects the whole file. With the feature `export`,
//! `Ranker::export` writes rankers for other systems; with `import`, `Ranker::open` also reads the rankers of other
//! systems.

pub(crate) mod artifact;
mod card;
pub(crate) mod error;
#[cfg(feature = "export")]
pub(crate) mod export;
mod file;
#[cfg(any(feature = "export", feature = "import"))]
mod foreign_node;
#[cfg(feature = "import")]
pub(crate) mod import;
pub(crate) mod kernel_expansion;
pub(crate) mod members;
pub(crate) mod model;
mod partial_dependence;
pub(crate) mod parts;
mod permutation;
pub(crate) mod tree_ensemble;
mod tree_scores;
mod tree_shap;

pub use artifact::{Contributions, Estimate, Metadata, Ranker};
pub use error::RankerError;
#[cfg(feature = "export")]
#[cfg_attr(docsrs, doc(cfg(feature = "export")))]
pub use export::ExportFormat;
#[cfg(feature = "import")]
#[cfg_attr(docsrs, doc(cfg(feature = "import")))]
pub use import::ImportFormat;
#[cfg(any(feature = "learners", test))]
pub(crate) use kernel_expansion::KernelExpansion;
pub use members::{Member, Members};
pub use model::Model;
pub use permutation::PermutationImportance;
pub use tree_ensemble::TreeEnsemble;
#[cfg(test)]
pub(crate) use tree_ensemble::{LEAF, TreeArrays};
#[cfg(any(feature = "learners", test))]
pub(crate) use tree_ensemble::{Node, NodeStatistics};
#[cfg(feature = "learners")]
pub(crate) use {kernel_expansion::kernels, model::Prepared, parts::Parts};
