//! The files that a cross-validation keeps for its selected fits, if the user asks for them. Also defines their names.

use std::str::FromStr;

use burn_rank::refusal::Refusal;
use burn_rank::workbench::text::{did_you_mean, nearest};

/// The folder of the kept files, inside the folder of the run.
pub const KEPT: &str = "kept";

/// Which files to keep for each fold's selected fit, for every seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Keep {
    /// Whether to keep the rankers.
    pub rankers: bool,
    /// Whether to keep the scores of the test documents, one per line.
    pub scores: bool,
    /// Whether to keep the ranked test queries as a TREC run.
    pub runs: bool,
}

/// A kind of kept file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeptKind {
    Ranker,
    Scores,
    Run,
}

const KINDS: [(KeptKind, &str); 3] =
    [(KeptKind::Ranker, ".safetensors"), (KeptKind::Scores, ".scores.txt"), (KeptKind::Run, ".run.txt")];

impl Keep {
    /// The words for the fields, in the order of the struct. [`from_str`](Self::from_str) reads the same words.
    pub const NAMES: [&str; 3] = ["rankers", "scores", "runs"];

    /// Returns whether any files are kept.
    pub fn any(self) -> bool {
        self.rankers || self.scores || self.runs
    }

    /// Returns the files to keep for a fit, as paths relative to the folder of the run.
    pub fn files(self, fold: usize, seed: u64) -> Vec<String> {
        self.kinds().map(|kind| kept_file(kind, fold, seed)).collect()
    }

    pub(crate) fn kinds(self) -> impl Iterator<Item = KeptKind> {
        let asked = [self.rankers, self.scores, self.runs];
        KINDS.into_iter().zip(asked).filter(|(_, asked)| *asked).map(|((kind, _), _)| kind)
    }
}

impl FromStr for Keep {
    type Err = Refusal;

    /// Reads words separated by commas, as in `rankers,scores`.
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let mut keep = Self::default();
        for word in text.split(',').map(str::trim) {
            match word {
                "rankers" => keep.rankers = true,
                "scores" => keep.scores = true,
                "runs" => keep.runs = true,
                _ => {
                    let near = did_you_mean(&nearest(word, Self::NAMES));
                    let expected = format!("{}, separated by commas{near}", Self::NAMES.join(", "));
                    return Err(Refusal::new("keep", format!("`{word}`"), expected));
                }
            }
        }
        Ok(keep)
    }
}

/// Returns the path of a kept file, relative to the folder of the run.
pub(crate) fn kept_file(kind: KeptKind, fold: usize, seed: u64) -> String {
    let (_, ending) = KINDS[kind as usize];
    format!("{KEPT}/fold{fold}-seed{seed}{ending}")
}

/// Returns the kind of a kept file by its name, or `None` for any other name.
pub(crate) fn kept_kind(name: &str) -> Option<KeptKind> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let of = |ending: &str| {
        let (fold, seed) = name.strip_suffix(ending)?.strip_prefix("fold")?.split_once("-seed")?;
        (digits(fold) && digits(seed)).then_some(())
    };
    KINDS.into_iter().find_map(|(kind, ending)| of(ending).map(|()| kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_is_kept() {
        let keep: Keep = "scores, rankers".parse().unwrap();
        assert_eq!(keep, Keep { rankers: true, scores: true, runs: false });
        assert_eq!(keep.files(2, 7), ["kept/fold2-seed7.safetensors", "kept/fold2-seed7.scores.txt"]);
        let message = "ranker".parse::<Keep>().unwrap_err().to_string();
        assert!(message.contains("`ranker`") && message.ends_with("did you mean `rankers`?"), "{message}");
        assert!("".parse::<Keep>().is_err());
    }

    #[test]
    fn kept_files_are_known_by_their_names() {
        for kind in [KeptKind::Ranker, KeptKind::Scores, KeptKind::Run] {
            let path = kept_file(kind, 12, 3);
            assert_eq!(kept_kind(path.strip_prefix("kept/").unwrap()), Some(kind), "{path}");
        }
        for other in ["fold1.scores.txt", "fold-seed1.run.txt", "fold1-seed1.txt", "notes", "fold1-seedx.safetensors"] {
            assert_eq!(kept_kind(other), None, "{other}");
        }
    }
}
