//! The inputs that studies accept: generated queries, rankings, training data, and finished cross-validations.

use super::{Runs, StudyError, Subject};
use crate::experiment::{Experiment, Split};

/// Training data from a configuration of `train`.
#[derive(Debug, Clone)]
pub struct Training {
    /// Where the data come from, as shown in messages and tables.
    pub origin: String,
    /// The configuration, whose learner and loss a study replaces with its own.
    pub config: Experiment,
    /// The queries that the configuration names.
    pub split: Split,
}

/// The data that a study examines.
#[derive(Debug, Clone)]
pub enum Source {
    /// Queries that the study generates itself.
    Generated {
        /// The number of queries with scores, for studies that examine a ranking.
        queries: usize,
        /// The seed from which all data are generated.
        seed: u64,
    },
    /// Queries with the scores of one ranker.
    Ranking(Subject),
    /// Queries with the scores of two rankers, for the same documents in the same order.
    Rankings(Subject, Subject),
    /// Data to train on.
    Training(Box<Training>),
    /// Finished cross-validations that use the same folds and kept their scores or rankers.
    Runs(Box<Runs>),
}

/// A kind of [`Source`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// [`Source::Generated`]
    Generated,
    /// [`Source::Ranking`]
    Ranking,
    /// [`Source::Rankings`]
    Rankings,
    /// [`Source::Training`]
    Training,
    /// [`Source::Runs`]
    Runs,
}

impl Kind {
    /// Returns the words that error messages use for this kind of source.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Generated => "generated data",
            Kind::Ranking => "a ranking",
            Kind::Rankings => "two rankings",
            Kind::Training => "data to train on",
            Kind::Runs => "kept runs",
        }
    }
}

impl Source {
    /// Returns which kind of source this is.
    pub fn kind(&self) -> Kind {
        match self {
            Source::Generated { .. } => Kind::Generated,
            Source::Ranking(_) => Kind::Ranking,
            Source::Rankings(..) => Kind::Rankings,
            Source::Training(_) => Kind::Training,
            Source::Runs(_) => Kind::Runs,
        }
    }

    /// Rejects rankings in which no query can be ranked, or in which a score is not finite.
    pub(super) fn check(&self) -> Result<(), StudyError> {
        let subjects = match self {
            Source::Ranking(subject) => vec![subject],
            Source::Rankings(first, second) => vec![first, second],
            Source::Runs(runs) => runs.runs().iter().map(|run| &run.subject).collect(),
            Source::Generated { .. } | Source::Training(_) => vec![],
        };
        for subject in subjects {
            if subject.queries.is_empty() {
                let found = "found no query with a relevant and an irrelevant document, expected one or more";
                return Err(StudyError::Input(format!("{}: {found}", subject.origin)));
            }
            let mut scores = subject.queries.iter().flat_map(|query| &query.scores);
            if let Some(&found) = scores.find(|score| !score.is_finite()) {
                let found = format!("found the score {found}, expected finite numbers");
                return Err(StudyError::Input(format!("{}: {found}", subject.origin)));
            }
        }
        Ok(())
    }
}
