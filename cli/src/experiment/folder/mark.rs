//! `Mark`, a small JSON file that lists which files in a folder were written by burn-rank.
//!
//! The mark is written before any other file and always replaced atomically. A command that is killed thus leaves
//! either an empty folder or a marked one. Before a file is replaced, the mark lists the digests of both its old and
//! its new content. So the mark is correct even if a command is killed between two steps. If a listed file has any
//! other content, the user has changed the file, which then counts as the user's.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use burn_rank::workbench::atomic_file;
use burn_rank::workbench::text::hexadecimal;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{JOBS, RunKind, is_folder, top};

/// The file name of the mark.
pub(super) const MARK: &str = ".burn-rank";

/// The version of the mark's format.
const FORMAT: u32 = 1;

/// The reason why a file or folder does not belong to burn-rank, although it has a name that burn-rank uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotOurs {
    #[error("is a link, which burn-rank does not write through")]
    Link,
    #[error("is not a file")]
    NotAFile,
    #[error("is not a folder")]
    NotAFolder,
    #[error("is not as burn-rank wrote it")]
    Content,
    /// A mark that this version cannot read.
    #[error("was written by a newer version of burn-rank")]
    Newer,
}

/// How a run in [`NEXT`](super::NEXT) differs from the older run that it will replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Over {
    /// The newer run repeats the older run with the same configuration and data.
    Same,
    /// The newer run may have any configuration and data.
    Other,
    /// The newer run adds fits to the older run, keeps the existing fits, and replaces the results computed from them.
    Outcome,
}

/// The contents of a folder's mark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    pub(super) about: String,
    pub(super) made_by: String,
    pub(super) format: u32,
    /// The command that made the run, if the folder holds a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) run: Option<RunKind>,
    /// Whether the run has ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) finished: bool,
    /// How the run differs from the older run that it will replace; `None` if it replaces no run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) over: Option<Over>,
    /// The number of parts, while the parts of a cross-validation share the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parts: Option<usize>,
    /// The SHA-256 digests of burn-rank's files, by file name. There are two digests while one file replaces another,
    /// and none for files that are written often.
    pub(super) wrote: BTreeMap<String, Vec<String>>,
}

impl Default for Mark {
    fn default() -> Self {
        Self {
            about: "burn-rank writes into this folder. It replaces and removes only the files that it wrote.".into(),
            made_by: format!("burn-rank {}", env!("CARGO_PKG_VERSION")),
            format: FORMAT,
            run: None,
            finished: false,
            over: None,
            parts: None,
            wrote: BTreeMap::new(),
        }
    }
}

impl Mark {
    /// Reads the mark of a folder, if there is one.
    pub(super) fn read(folder: &Path) -> Result<Option<Self>, NotOurs> {
        #[derive(Deserialize)]
        struct Head {
            made_by: String,
            format: u32,
        }
        let path = folder.join(MARK);
        match plain(&path, false) {
            None => return Ok(None),
            Some(there) => there?,
        }
        let bytes = fs::read(&path).map_err(|_| NotOurs::Content)?;
        // The format first: the rest may look different in a newer one.
        let head: Head = serde_json::from_slice(&bytes).map_err(|_| NotOurs::Content)?;
        match head.format {
            _ if !head.made_by.starts_with("burn-rank ") => Err(NotOurs::Content),
            newer if newer > FORMAT => Err(NotOurs::Newer),
            _ => serde_json::from_slice(&bytes).map(Some).map_err(|_| NotOurs::Content),
        }
    }

    /// Returns this mark, updated to record that this version has finished the run.
    pub(super) fn of_finished_run(self) -> Self {
        Self { made_by: Self::default().made_by, finished: true, ..self }
    }

    /// Returns whether this version wrote the mark. The results of other versions may differ.
    pub(super) fn is_of_this_version(&self) -> bool {
        self.made_by == Self::default().made_by
    }

    /// Checks that a file is listed and unchanged. Returns `None` if there is no such file. The files in a job's folder
    /// are not listed. The folder of all jobs is listed in their place.
    pub(super) fn standing(&self, folder: &Path, name: &str) -> Option<Result<(), NotOurs>> {
        let mut path = folder.to_path_buf();
        let mut steps = name.split('/').peekable();
        while let Some(step) = steps.next() {
            path.push(step);
            if let Err(reason) = plain(&path, steps.peek().is_some() || is_folder(name))? {
                return Some(Err(reason));
            }
        }
        let listed = if top(name) == JOBS { JOBS } else { name };
        let as_written =
            |known: &Vec<String>| known.is_empty() || digest_of_file(&path).is_ok_and(|digest| known.contains(&digest));
        Some(self.wrote.get(listed).is_some_and(as_written).then_some(()).ok_or(NotOurs::Content))
    }

    /// Adds a file to the list before the file is written, with the digests of its new content and its present content.
    pub(super) fn expect(&mut self, folder: &Path, name: &str, digest: String) {
        let known = self.wrote.entry(name.to_string()).or_default();
        let there = digest_of_file(&folder.join(name)).ok();
        known.retain(|known| there.as_ref() == Some(known) && *known != digest);
        known.push(digest);
    }

    /// Writes the mark into its folder.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        atomic_file::replace(&folder.join(MARK), &bytes)
    }
}

/// Checks that a path is a plain file (or a folder, if `wants_folder`) and not a link. Returns `None` if nothing is
/// there.
pub(super) fn plain(path: &Path, wants_folder: bool) -> Option<Result<(), NotOurs>> {
    Some(Err(match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(_) => NotOurs::Content,
        Ok(there) if there.is_symlink() => NotOurs::Link,
        Ok(there) if wants_folder && !there.is_dir() => NotOurs::NotAFolder,
        Ok(there) if !wants_folder && !there.is_file() => NotOurs::NotAFile,
        Ok(_) => return Some(Ok(())),
    }))
}

pub(super) fn digest_of(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn digest_of_file(path: &Path) -> io::Result<String> {
    let mut hashed = Hashed::new(io::sink());
    io::copy(&mut File::open(path)?, &mut hashed)?;
    Ok(hashed.finish().1)
}

/// Passes everything written on to a file, and computes the SHA-256 of the content at the same time.
pub(super) struct Hashed<W> {
    file: W,
    hash: Sha256,
}

impl<W: Write> Hashed<W> {
    pub(super) fn new(file: W) -> Self {
        Self { file, hash: Sha256::new() }
    }

    /// Returns the file, and the SHA-256 of everything written.
    pub(super) fn finish(self) -> (W, String) {
        (self.file, hexadecimal(&self.hash.finalize()))
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
