//! Where the tests find golden values and data that are not part of the repository.

use std::path::{Path, PathBuf};

/// `path` inside the shared folder (`BURN_RANK_SHARED`, else `../shared` beside the repository); `None`, with a message, when
/// it is absent, so that the repository passes its tests alone.
pub fn shared(path: &str) -> Option<PathBuf> {
    let root = std::env::var_os("BURN_RANK_SHARED")
        .map(PathBuf::from)
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"));
    let full = root.join(path);
    if full.exists() {
        Some(full)
    } else {
        eprintln!("skipped: {} is not here", full.display());
        None
    }
}
