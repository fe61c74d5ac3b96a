//! Runs the epochs of a gradient fit.

use std::borrow::Cow;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::config::{Gradient, NAME};
use super::session::{Outcome, SavedSession, Session};
use crate::atomic_file;
use crate::data::RankingDataset;
use crate::learner::entry::RankingLearner;
use crate::learner::error::LearnerError;
use crate::learner::shared::checks::complete;
use crate::learner::shared::context::{Fitted, Job, Round, StopReason};
use crate::learner::shared::position::{PositionFactor, factors};
use crate::learner::shared::rounds::{History, Iterative, Made, Recorded, Rounds, Set, Step};
use crate::ranker::Model;

impl Gradient {
    /// Returns whether the selection measure is computed on the training data in this epoch. Without validation data,
    /// the selection measure is computed on the training data in every epoch.
    fn measures_train(&self, epoch: usize, validation: bool) -> bool {
        let every = self.config.evaluate_train_every;
        !validation || (every > 0 && (epoch == 1 || epoch.is_multiple_of(every)))
    }
}

/// A fit with its log.
struct Run<'a> {
    learner: &'a Gradient,
    job: Job<'a>,
    session: Session<'a>,
    log: MetricsLog,
    /// The last epoch.
    epoch: usize,
}

impl Iterative for Run<'_> {
    /// The session as it was last saved, or `None` before the first save.
    type State = Option<SavedSession>;

    fn initial(&self) -> Self::State {
        None
    }

    fn resume(&mut self, state: &mut Self::State, history: &History) -> Result<(), LearnerError> {
        state.take().map_or(Ok(()), |saved| self.session.restore(saved))?;
        self.log = MetricsLog::open(self.job.folder(), history.rounds())?;
        Ok(())
    }

    fn round(&mut self, history: &History, _: &mut Self::State) -> Result<Step, LearnerError> {
        self.epoch = history.next();
        let Outcome { sum, queries, steps, figures } = self.session.epoch(self.epoch)?;
        self.job.context.progress.trained(steps);
        Ok(Step::Made(Made { losses: Some(sum), ..Made::new(sum / queries as f64, figures) }))
    }

    fn scores(&self, set: Set, _: &RankingDataset) -> Result<Option<Cow<'_, [f64]>>, LearnerError> {
        if set == Set::Training && !self.learner.measures_train(self.epoch, self.job.validation.is_some()) {
            return Ok(None);
        }
        Ok(self.session.scores(set, self.epoch)?.map(Cow::Owned))
    }

    fn recorded(&mut self, recorded: &Recorded, _: &mut Self::State) -> Result<Option<StopReason>, LearnerError> {
        self.log.write(recorded.round)?;
        self.session.close_epoch(recorded);
        Ok(None)
    }

    fn store(&self, state: &mut Self::State) -> Result<(), LearnerError> {
        *state = Some(self.session.save()?);
        Ok(())
    }

    fn position_factors(&self, _: &Self::State, _: usize) -> Vec<PositionFactor> {
        factors(&self.job.train.positions, self.session.best_positions())
    }

    fn model(&self, _: &Self::State, _: usize) -> Result<Model, LearnerError> {
        Ok(Model::Scorer(self.session.best().clone()))
    }
}

impl RankingLearner for Gradient {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, job: Job) -> Result<Fitted, LearnerError> {
        let train = &*job
            .train
            .weighted_for_training()
            .map_err(|error| LearnerError::Data { learner: NAME, reason: error.to_string() })?;
        let job = Job { train, ..job };
        complete(NAME, job)?;
        let rounds = Rounds::of_weighted(NAME, job)?;
        let session = Session::start(self, job)?;
        let mut run = Run { learner: self, job, session, log: MetricsLog::default(), epoch: 0 };
        let rounds =
            rounds.most(self.config.epochs).patience(self.config.patience).beside_measure(&*self.loss.built)?;
        rounds.drive(self, &mut run)
    }
}

/// The name of the log file in the directory of a fit.
pub const LOG_FILE: &str = "metrics.jsonl";

/// The path and the open file of the log, or `None` if the fit has no folder.
#[derive(Default)]
struct MetricsLog(Option<(PathBuf, File)>);

impl MetricsLog {
    /// Opens the log, and replaces its contents with the rounds in `history`. A killed fit may have logged rounds after
    /// its last saved state. These unsaved rounds are dropped, and logged again when the resumed fit repeats them.
    fn open(directory: Option<&Path>, history: &[Round]) -> Result<Self, LearnerError> {
        let Some(directory) = directory else { return Ok(Self(None)) };
        let path = directory.join(LOG_FILE);
        let opened = atomic_file::replace_with(&path, |file| history.iter().try_for_each(|round| line(file, round)))
            .and_then(|()| File::options().append(true).open(&path));
        match opened {
            Ok(file) => Ok(Self(Some((path, file)))),
            Err(error) => Err(LearnerError::State { path, reason: error.to_string() }),
        }
    }

    /// Adds a round to the log.
    fn write(&mut self, round: &Round) -> Result<(), LearnerError> {
        let Some((path, file)) = &mut self.0 else { return Ok(()) };
        line(file, round).map_err(|error| LearnerError::State { path: path.clone(), reason: error.to_string() })
    }
}

fn line(file: &mut dyn Write, round: &Round) -> std::io::Result<()> {
    let mut text = serde_json::to_vec(round)?;
    text.push(b'\n');
    file.write_all(&text)
}
