//! The research data.

pub mod ada_rank;
pub mod collections;
pub mod published_features;

use std::path::PathBuf;

use crate::common::root;

/// Returns `path` inside the folder that `BURN_RANK_SHARED` names, otherwise inside `../shared` beside the repository.
pub fn shared(path: &str) -> Result<PathBuf, String> {
    let (root, name) = match std::env::var_os("BURN_RANK_SHARED") {
        Some(root) => (PathBuf::from(&root), root.to_string_lossy().into_owned()),
        None => (root().join("../shared"), "../shared".into()),
    };
    let found = root.join(path);
    if found.exists() { Ok(found) } else { Err(format!("no {name}/{path}")) }
}
