//! Runs the epochs of a gradient fit. A session holds everything that changes in the course of the fit: the model, the
//! optimizer, the schedule and the annealing. It advances by one epoch at a time and is saved and restored as a whole.

use std::sync::Arc;

use burn::backend::ExecutionError;
use burn::lr_scheduler::LrSchedulerRecord;
use burn::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
use burn::module::Module;
use burn::store::{ModuleRecord, RecordError};
use burn::tensor::{Bytes, DType, Tensor};

use super::average::AveragedWeights;
use super::batches::Batches;
use super::config::{Gradient, GradientConfig, NAME};
use super::descent::Descent;
use super::log::MetricsLog;
use super::optimizer::OptimizerConfig;
use super::precision::LossScale;
use super::resident::check_largest_query;
use super::step::{RankingModel, TrainingStep};
use crate::device::{count_read, largest_buffer, root_cause};
use crate::learner::prelude::*;
use crate::learner::shared::anneal::AnnealState;
use crate::learner::shared::checks::{ask_pairs, ask_training, complete, learnable, parameter};
use crate::learner::shared::context::PositionFactor;
use crate::learner::shared::position::{check_positions, factors};
use crate::loss::Change;
use crate::ranker::Prepared;
use crate::text::hexadecimal;

/// The saved state of a session, with burn's records in hexadecimal digits.
#[derive(Serialize, Deserialize)]
pub(super) struct SavedSession {
    model: String,
    best: String,
    optimizer: String,
    scheduler: String,
    anneal: AnnealState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    average: Option<SavedAverage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scale: Option<LossScale>,
    /// The factors of positions in the last and in the best epoch; empty if training does not use positions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    positions: Vec<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    best_positions: Vec<f64>,
}

/// The saved moving average of the weights, stored as a scorer.
#[derive(Serialize, Deserialize)]
struct SavedAverage {
    steps: u64,
    scorer: String,
}

pub(super) struct Session<'a> {
    learner: &'a Gradient,
    job: Job<'a>,
    /// The last epoch.
    epoch: usize,
    log: MetricsLog,
    anneal: AnnealState,
    batches: Batches<'a>,
    train: Prepared<'a>,
    validation: Option<Prepared<'a>>,
    pub(super) model: RankingModel,
    optimizer: Descent,
    scheduler: ModuleLrScheduler,
    /// The moving average of the weights, if the configuration asks for it.
    average: Option<AveragedWeights>,
    /// The loss scale, if the layers compute in f16.
    scale: Option<LossScale>,
    /// The scorer of the best epoch, or the initial scorer before the first epoch.
    best: Scorer,
    /// The factors of positions in the best epoch; empty if training does not use positions.
    best_positions: Vec<f64>,
}

impl<'a> Session<'a> {
    pub(super) fn start(learner: &'a Gradient, job: Job<'a>) -> Result<Self> {
        let Job { train, validation, context } = job;
        let Gradient { config, scorer, loss, .. } = learner;
        if let Some(shards) = config.shards.filter(|&shards| shards > train.queries()) {
            let most = format!("at most {}, the number of training queries", train.queries());
            return Err(parameter("shards", shards, most));
        }
        config.precision.check_on(&context.device)?;
        let mut built = loss.built.clone();
        if let OptimizerConfig::Lbfgs { .. } = config.optimizer {
            // L-BFGS compares values along the gradient in its line search.
            built = built.changed(Change::FullGradient)?.map_or(built, Arc::from);
        }
        learnable(NAME, &*built, job)?;
        check_positions(config.position.as_ref(), job)?;
        let device = context.device.clone().autodiff();
        if let Some(bytes) = largest_buffer(&device) {
            check_largest_query(train, bytes).map_err(|reason| LearnerError::data(NAME, reason))?;
        }
        let batches =
            Batches::new(train, config, context.seed, &device).map_err(|error| LearnerError::data(NAME, error))?;
        if let OptimizerConfig::Lbfgs { .. } = config.optimizer
            && batches.per_epoch > 1
        {
            let all = format!("at least {}: L-BFGS uses all training queries at once", train.queries());
            return Err(parameter("batch_queries", config.batch_queries, all));
        }
        let steps = batches.epoch(1).steps;
        let parts: Vec<(usize, usize)> = steps.iter().flat_map(|queries| batches.shapes(queries)).collect();
        ask_training(scorer, job, parts.iter().copied(), "learner.batch_cells")?;
        ask_pairs(&*built, parts, DType::F32, &device)?;
        let scorer = scorer.init(train.feature_count, context.seed, &device)?;
        let best = scorer.valid();
        let layers = config.precision.layers();
        let mut model = RankingModel { scorer, loss: built, layers, positions: None, l2: 0.0 };
        if let Some(position) = &config.position {
            model.set_factors(&vec![0.0; train.positions.names().len()], &device);
            model.l2 = position.l2();
        }
        let best_positions = model.factors();
        Ok(Self {
            learner,
            job,
            epoch: 0,
            log: MetricsLog::default(),
            anneal: AnnealState::default(),
            train: Prepared::new(train, &best, &context.device),
            validation: validation.map(|data| Prepared::new(data, &best, &context.device)),
            optimizer: Descent::new(&config.optimizer, config.clip.as_ref(), &model),
            scheduler: config.schedule.build(config.warmup, config.epochs, batches.per_epoch)?,
            average: config.average.map(AveragedWeights::new),
            scale: LossScale::start(config.precision),
            model,
            batches,
            best,
            best_positions,
        })
    }

    /// Trains the given epoch; epochs are counted from 1. Each loss is computed before the optimizer step that uses its
    /// query. Reports the learning rate, the annealed parameter, and the loss scale in f16.
    pub(super) fn epoch(&mut self, epoch: usize) -> Result<Made> {
        let Gradient { config, loss, annealed, .. } = self.learner;
        let mut figures = Vec::new();
        if let (Some(anneal), Some(parameter)) = (&config.anneal, annealed) {
            let value = self.anneal.value(anneal, epoch, config.epochs);
            self.model.loss = loss.record.build_with(parameter, value)?;
            figures.push((parameter.clone(), value));
        }
        let planned = self.batches.epoch(epoch);
        let steps = &planned.steps;
        let mut losses = Vec::with_capacity(steps.len());
        let mut learning_rate = 0.0;
        for (index, queries) in steps.iter().enumerate() {
            self.batches.read_ahead(&planned, index);
            learning_rate = config.learning_rate * self.scheduler.step().base();
            let batches = &self.batches;
            let step = TrainingStep { batches, queries, run: self.job.context.seed, epoch, index };
            let (loss, moved) = self.optimizer.step(learning_rate, &mut self.model, &step, self.scale.as_mut());
            if self.scale.is_some_and(|scale| scale.is_exhausted()) {
                let step = index + 1;
                return Err(self.diverged(format!("epoch {epoch}, step {step}: the gradients are not finite in f16")));
            }
            losses.push(loss);
            if let Some(average) = self.average.as_mut().filter(|_| moved) {
                average.observe(&self.model.scorer.valid());
            }
        }
        // Losses are read back once per epoch, so the device keeps working while the host prepares the next step.
        count_read();
        let losses =
            Tensor::cat(losses, 0).try_into_data().map_err(|error| self.device_failed(epoch, steps, &error))?;
        let losses: Vec<f64> = losses.iter::<f64>().collect();
        if let Some(step) = losses.iter().position(|loss| !loss.is_finite()) {
            return Err(self.diverged(format!("epoch {epoch}, step {}: the loss is {}", step + 1, losses[step])));
        }
        figures.insert(0, ("learning_rate".to_string(), learning_rate));
        figures.extend(self.scale.map(|scale| ("loss_scale".to_string(), scale.factor)));
        let queries: usize = steps.iter().map(Vec::len).sum();
        let sum: f64 = losses.iter().sum();
        self.job.context.progress.trained(steps.len());
        let losses = self.model.positions.is_none().then_some(sum);
        Ok(Made { losses, ..Made::new(sum / queries as f64, figures) })
    }

    /// Returns the scorer to measure and save; this scorer has the averaged weights if the configuration asks for them.
    fn in_use(&self) -> Scorer {
        let scorer = self.model.scorer.valid();
        match &self.average {
            Some(average) => average.scorer(scorer),
            None => scorer,
        }
    }

    /// Returns an error that names the largest batch, since a device usually fails because it runs out of memory.
    fn device_failed(&self, epoch: usize, steps: &[Vec<usize>], error: &ExecutionError) -> LearnerError {
        let shapes = steps.iter().flat_map(|queries| self.batches.shapes(queries));
        let (queries, documents) = shapes.max_by_key(|(queries, documents)| queries * documents).unwrap_or_default();
        let reason = format!(
            "epoch {epoch}: the device failed: {}; the largest batch has {queries} x {documents} documents of {} features: \
             if it does not fit into the device's memory, lower learner.batch_cells ({})",
            root_cause(error),
            self.job.train.feature_count,
            self.learner.config.batch_cells
        );
        LearnerError::solver(NAME, reason)
    }

    fn diverged(&self, what: String) -> LearnerError {
        let Gradient { config, loss, .. } = self.learner;
        let clip = if config.clip.is_some() { "lower learner.clip" } else { "set learner.clip = { norm = 1.0 }" };
        let wider = if config.precision.is_full() { "" } else { "set learner.precision = \"f32\", " };
        let reason = format!(
            "{what}; {wider}lower learner.learning_rate ({:?}), {clip}, normalize the features, or make the loss `{}` smoother",
            config.learning_rate,
            loss.record.name()
        );
        LearnerError::solver(NAME, reason)
    }

    /// Returns the state from which the fit can resume.
    fn save(&self) -> Result<SavedSession> {
        let text =
            |scorer: Scorer| -> Result<String, RecordError> { Ok(hexadecimal(&scorer.into_record().into_bytes()?)) };
        let average = |average: &AveragedWeights| -> Result<SavedAverage, RecordError> {
            Ok(SavedAverage { steps: average.steps, scorer: text(self.in_use())? })
        };
        let saved = || -> Result<SavedSession, RecordError> {
            Ok(SavedSession {
                // `valid` brings running statistics up to date.
                model: text(self.model.scorer.valid())?,
                best: text(self.best.clone())?,
                average: self.average.as_ref().map(average).transpose()?,
                optimizer: hexadecimal(&self.optimizer.to_bytes()?),
                scheduler: hexadecimal(&self.scheduler.to_record().into_bytes()?),
                anneal: self.anneal,
                scale: self.scale,
                positions: self.model.factors(),
                best_positions: self.best_positions.clone(),
            })
        };
        saved().map_err(unreadable)
    }

    /// Restores the state that [`save`](Self::save) returned.
    fn restore(&mut self, saved: SavedSession) -> Result<()> {
        let load =
            |scorer: &Scorer, text: &str| scorer.clone().try_load_record(ModuleRecord::from_bytes(bytes(text)?)?);
        let restored = || -> Result<(), RecordError> {
            self.model.scorer = load(&self.model.scorer, &saved.model)?;
            self.best = load(&self.best, &saved.best)?;
            if let (Some(decay), Some(saved)) = (self.learner.config.average, &saved.average) {
                // The average is not loaded into a clone of `best`, since clones share the running statistics of batch
                // norm.
                let scorer = load(&self.model.scorer.valid(), &saved.scorer)?;
                self.average = Some(AveragedWeights::restored(decay, saved.steps, &scorer));
            }
            self.optimizer = self.optimizer.with_bytes(bytes(&saved.optimizer)?)?;
            let scheduler = LrSchedulerRecord::from_bytes(bytes(&saved.scheduler)?)?;
            self.scheduler = self.scheduler.clone().load_record(scheduler);
            self.anneal = saved.anneal;
            self.scale = saved.scale;
            if let Some(factors) = &self.model.positions {
                let device = factors.val().device();
                self.model.set_factors(&saved.positions, &device);
            }
            self.best_positions = saved.best_positions;
            Ok(())
        };
        restored().map_err(unreadable)
    }
}

impl Iterative for Session<'_> {
    /// The session as it was last saved, or `None` before the first save.
    type State = Option<SavedSession>;

    fn initial(&self) -> Self::State {
        None
    }

    fn resume(&mut self, state: &mut Self::State, history: &History) -> Result<()> {
        state.take().map_or(Ok(()), |saved| self.restore(saved))?;
        self.log = MetricsLog::open(self.job.folder(), &history.rounds)?;
        Ok(())
    }

    fn round(&mut self, history: &History, _: &mut Self::State) -> Result<Step> {
        self.epoch = history.next();
        Ok(Step::Made(self.epoch(self.epoch)?))
    }

    fn scores(&self, set: Set, _: &RankingDataset) -> Result<Option<Cow<'_, [f64]>>> {
        let (data, name) = match (set, &self.validation) {
            (Set::Validation, Some(data)) => (data, "validation"),
            (Set::Training, None) => (&self.train, "training"),
            (Set::Training, Some(_)) if self.learner.measures_train(self.epoch) => (&self.train, "training"),
            _ => return Ok(None),
        };
        let scores = data.scores(&self.in_use());
        if !scores.iter().all(|score| score.is_finite()) {
            let epoch = self.epoch;
            return Err(self.diverged(format!("after epoch {epoch} the scores of the {name} data are not finite")));
        }
        Ok(Some(scores.into_iter().map(f64::from).collect()))
    }

    fn recorded(&mut self, recorded: &Recorded, _: &mut Self::State) -> Result<Option<StopReason>> {
        self.log.write(recorded.round)?;
        if recorded.improved {
            self.best = self.in_use();
            self.best_positions = self.model.factors();
        }
        if let Some(anneal) = &self.learner.config.anneal {
            self.anneal.observe(anneal, recorded.rose);
        }
        Ok(None)
    }

    fn store(&self, state: &mut Self::State) -> Result<()> {
        *state = Some(self.save()?);
        Ok(())
    }

    fn position_factors(&self, _: &Self::State, _: usize) -> Vec<PositionFactor> {
        factors(&self.job.train.positions, &self.best_positions)
    }

    fn model(&self, _: &Self::State, _: usize) -> Result<Model> {
        Ok(Model::Scorer(self.best.clone()))
    }
}

impl Gradient {
    /// Returns whether the selection measure is computed on the training data in this epoch, if there are validation
    /// data. Without these, it is computed on the training data in every epoch.
    fn measures_train(&self, epoch: usize) -> bool {
        let every = self.config.evaluate_train_every;
        every > 0 && (epoch == 1 || epoch.is_multiple_of(every))
    }
}

impl RankingLearner for Gradient {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, job: Job) -> Result<Fitted> {
        let train = &*job.train.weighted_for_training().map_err(|error| LearnerError::data(NAME, error))?;
        let job = Job { train, ..job };
        complete(NAME, job)?;
        let rounds = Rounds::of_weighted(NAME, job)?;
        let mut session = Session::start(self, job)?;
        let GradientConfig { epochs, patience, .. } = self.config;
        rounds.most(epochs).patience(patience).beside_measure(&*self.loss.built)?.drive(self, &mut session)
    }
}

fn unreadable(error: RecordError) -> LearnerError {
    LearnerError::solver(NAME, format_args!("saved state: {error}"))
}

fn bytes(text: &str) -> Result<Bytes, RecordError> {
    let digits = |start: usize| text.get(start..start + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let bytes: Option<Vec<u8>> = (0..text.len()).step_by(2).map(digits).collect();
    bytes.map(Bytes::from_bytes_vec).ok_or_else(|| RecordError::Io("not hexadecimal".into()))
}
