//! The sources that a study examines, which are generated queries, one or two rankings, training data, or finished
//! cross-validations.

use super::data::Training;
use super::error::StudyError;
use super::runs::Runs;
use super::subject::Subject;

/// The source that a study examines.
#[derive(Debug, Clone)]
pub enum Source {
    /// Data that the study generates itself.
    Generated {
        /// The number of scored queries, for studies of a ranking.
        queries: usize,
        /// The seed of all generated data.
        seed: u64,
    },
    /// The scored queries of a ranker.
    Ranking(Subject),
    /// The queries of two rankers, with the same documents in the same order.
    Rankings(Subject, Subject),
    /// Data to train on.
    Training(Box<Training>),
    /// Finished cross-validations over the same folds, with their kept scores or rankers.
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
    /// Returns the name of the kind in messages.
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
    /// Returns the kind of the source.
    pub fn kind(&self) -> Kind {
        match self {
            Source::Generated { .. } => Kind::Generated,
            Source::Ranking(_) => Kind::Ranking,
            Source::Rankings(..) => Kind::Rankings,
            Source::Training(_) => Kind::Training,
            Source::Runs(_) => Kind::Runs,
        }
    }

    /// Refuses rankings with nothing to rank, or with scores that are not finite.
    pub(super) fn check(&self) -> Result<(), StudyError> {
        let subjects = match self {
            Source::Ranking(subject) => vec![subject],
            Source::Rankings(first, second) => vec![first, second],
            Source::Runs(runs) => runs.runs().iter().map(|run| &run.subject).collect(),
            Source::Generated { .. } | Source::Training(_) => vec![],
        };
        for subject in subjects {
            if subject.queries.is_empty() {
                return Err(StudyError::NothingToRank { origin: subject.origin.clone() });
            }
            let mut scores = subject.queries.iter().flat_map(|query| &query.scores);
            if let Some(&found) = scores.find(|score| !score.is_finite()) {
                return Err(StudyError::Score { origin: subject.origin.clone(), found });
            }
        }
        Ok(())
    }
}
