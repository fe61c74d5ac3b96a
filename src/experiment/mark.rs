//! The mark of a folder that belongs to burn-rank: a small JSON file that says what was written there.
//!
//! It is the first file of a folder and is replaced whole, so that a kill leaves an empty folder or a marked one. A
//! file is recorded before it gets its name, beside what it replaces: whenever a kill comes, the file that is there is
//! one of the two. A file of which the mark knows another content was changed by the user since, and is the user's.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::not_ours::NotOurs;
use crate::atomic_file;
use crate::text::hexadecimal;

/// Name of the mark.
pub(crate) const NAME: &str = ".burn-rank";

/// Version of its format.
const FORMAT: u32 = 1;

/// What a folder's mark says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    about: String,
    made_by: String,
    format: u32,
    /// Number of parts, while the parts of a cross-validation share the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parts: Option<usize>,
    /// SHA-256 of each recorded file; two where one was being replaced by the other.
    wrote: BTreeMap<String, Vec<String>>,
}

impl Default for Mark {
    fn default() -> Self {
        Self {
            about: "burn-rank writes into this folder. It replaces and removes only the files that it wrote.".into(),
            made_by: format!("burn-rank {}", env!("CARGO_PKG_VERSION")),
            format: FORMAT,
            parts: None,
            wrote: BTreeMap::new(),
        }
    }
}

impl Mark {
    /// Reads a mark.
    pub(super) fn read(path: &Path, kind: fs::FileType) -> Result<Self, NotOurs> {
        #[derive(Deserialize)]
        struct Head {
            made_by: String,
            format: u32,
        }
        if !kind.is_file() {
            return Err(if kind.is_symlink() { NotOurs::Link } else { NotOurs::NotAFile });
        }
        let bytes = fs::read(path).map_err(|_| NotOurs::Content)?;
        // The format first: the rest may look different in a newer one.
        let head: Head = serde_json::from_slice(&bytes).map_err(|_| NotOurs::Content)?;
        match head.format {
            _ if !head.made_by.starts_with("burn-rank ") => Err(NotOurs::Content),
            FORMAT => serde_json::from_slice(&bytes).map_err(|_| NotOurs::Content),
            newer if newer > FORMAT => Err(NotOurs::Newer),
            _ => Err(NotOurs::Content),
        }
    }

    /// Whether the file is as it was written; none where nothing is known of it.
    pub(super) fn knows(&self, name: &str, path: &Path) -> Option<bool> {
        let written = self.wrote.get(name)?;
        Some(digest(path).is_ok_and(|digest| written.contains(&digest)))
    }

    /// Records the files of `folder` of which nothing is known yet; true where there was one.
    pub(super) fn adopt<'a>(&mut self, folder: &Path, names: impl Iterator<Item = &'a str>) -> io::Result<bool> {
        let mut adopted = false;
        for name in names {
            if !self.wrote.contains_key(name) {
                self.wrote.insert(name.to_string(), vec![digest(&folder.join(name))?]);
                adopted = true;
            }
        }
        Ok(adopted)
    }

    /// Records that a file is about to have this content; what is there meanwhile stays known. True where that is news.
    pub(super) fn expect(&mut self, folder: &Path, name: &str, digest: String) -> bool {
        let mut known = self.wrote.get(name).cloned().unwrap_or_default();
        let there = self::digest(&folder.join(name)).ok();
        known.retain(|known| there.as_ref() == Some(known) && *known != digest);
        known.push(digest);
        let news = self.wrote.get(name) != Some(&known);
        self.wrote.insert(name.to_string(), known);
        news
    }

    /// Writes the mark into its folder.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        atomic_file::replace(&folder.join(NAME), &bytes)
    }
}

/// SHA-256 of a file.
fn digest(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    let (mut file, mut buffer) = (File::open(path)?, vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => hash.update(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(hexadecimal(&hash.finalize()))
}
