//! Trained rankers, and the files that store them.
//!
//! [`Ranker`] consists of a normalizer, a [`Model`] and [`Metadata`]. A ranker is saved as one safetensors file.
//! Python's `safetensors` can read the arrays of the model. The rest of a ranker is JSON in the header of its file, and
//! a checksum protects the whole file. With the feature `export`, `Ranker::export` writes rankers for other systems;
//! with `import`, `Ranker::open` also reads the rankers of other systems.

mod artifact;
mod card;
#[cfg(feature = "export")]
mod export;
mod file;
#[cfg(feature = "import")]
mod import;
#[cfg(feature = "import")]
mod import_error;
mod kernel_expansion;
mod model;
mod partial_dependence;
mod parts;
mod permutation;
mod tree_ensemble;
mod tree_shap;

pub use artifact::{Contributions, Estimate, Metadata, Ranker, RankerError, Versions};
#[cfg(feature = "export")]
#[cfg_attr(docsrs, doc(cfg(feature = "export")))]
pub use export::{ExportError, ExportFormat};
pub use file::{FORMAT, FileError};
#[cfg(feature = "import")]
#[cfg_attr(docsrs, doc(cfg(feature = "import")))]
pub use import_error::{ImportError, ImportFormat};
#[cfg(feature = "learners")]
pub(crate) use kernel_expansion::kernels;
pub use kernel_expansion::{KernelError, KernelExpansion};
pub use model::Model;
#[cfg(feature = "learners")]
pub(crate) use model::Prepared;
pub use parts::{Array, Parts, PartsError, Values};
pub use permutation::{FeatureLoss, PermutationError, PermutationImportance};
pub use tree_ensemble::{LEAF, Node, NodeStatistics, Sums, TreeArrays, TreeEnsemble, TreeError, ZERO};
pub use tree_shap::TreeShap;
