//! Decides whether a run is written directly into its folder or into [`NEXT`] inside the folder. In the second case, it
//! stays there until it replaces the run in the folder.

use std::path::Path;

use super::contents::Contents;
use super::mark::Over;
use super::{Claim, NEXT, REPORT, RunKind, STATE};
use crate::experiment::error::OutputError;

/// The folder into which a run is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In the folder itself.
    Home,
    /// The run is written to [`NEXT`], as a continuation of the run that was begun there.
    Next,
    /// The run is written to [`NEXT`] from the beginning.
    Anew(Over),
}

/// The result that a command wants to write into a folder.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wish<'a> {
    pub(super) kind: RunKind,
    pub(super) configuration: &'a str,
    pub(super) claim: Claim,
}

impl Wish<'_> {
    /// Decides where the run is written, based on the contents of the folder and of [`NEXT`]. Returns an error if the
    /// run is not allowed to use the folder.
    pub(super) fn place(&self, path: &Path, home: &Contents, next: Option<&Contents>) -> Result<Place, OutputError> {
        let Self { kind, configuration, claim } = *self;
        let occupied = |reason: &str| Err(OutputError::occupied(path, reason));
        if claim == Claim::Overwrite {
            return Ok(if home.is_worth_keeping() { Place::Anew(Over::Other) } else { Place::Home });
        }
        let next = next.map(|next| (next, next.is_of(&path.join(NEXT), configuration)));
        let next = next.filter(|(next, same)| next.is_worth_keeping() || *same && claim != Claim::New);
        let same = next.map_or_else(|| home.is_of(path, configuration), |(_, same)| same);
        let run = next.map_or(home, |(next, _)| next);
        let other = run.is_worth_keeping() && run.mark.run.is_some_and(|of| of != kind);
        let own = next.is_some() || run.is_worth_keeping();
        match claim {
            _ if other => {
                occupied("holds a run of another command; choose another folder with --out, or --overwrite it")
            }
            Claim::Merge if !own => Err(no_parts(path)),
            _ if !own => Ok(Place::Home),
            Claim::Part { .. } if !same => {
                occupied("holds fits of another configuration (config.toml differs); choose another folder with --out")
            }
            Claim::Merge if !same => occupied("--merge needs the configuration of the parts (config.toml differs)"),
            Claim::Resume if !same && kind == RunKind::Train => {
                occupied("--resume needs the configuration that the run was started with (config.toml differs)")
            }
            Claim::New if next.is_none() && !same => {
                occupied("holds a run of another configuration; choose another folder with --out, or --overwrite it")
            }
            Claim::New if next.is_some() || !home.is_finished() => {
                occupied("holds an unfinished run: --resume continues it, --overwrite starts again")
            }
            Claim::New => Ok(Place::Anew(Over::Same)),
            _ if next.is_some() => Ok(Place::Next),
            // The results of other fits stay until there are new ones.
            Claim::Resume if !same && (home.has(REPORT) || home.kept().next().is_some()) => {
                Ok(Place::Anew(Over::Outcome))
            }
            // Without its state, a fit begins from its start.
            Claim::Resume if kind == RunKind::Train && home.is_finished() && !home.has(STATE) => {
                Ok(Place::Anew(Over::Same))
            }
            _ => Ok(Place::Home),
        }
    }
}

/// Returns the error for a folder that holds no parts to merge.
pub(super) fn no_parts(path: &Path) -> OutputError {
    OutputError::occupied(path, "holds no part of a cross-validation to merge; cv --part I/N makes them")
}
