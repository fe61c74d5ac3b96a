//! Shows a terminal dashboard by running burn-train's `SupervisedTraining` next to the learner's own training loop.
//!
//! `SupervisedTraining` runs on a separate thread, with a custom strategy instead of a training loop. The strategy
//! hands its event processor to the fit and waits until the fit returns it. The fit trains on the caller's thread and
//! reports its progress to the processor. Burn thus provides the dashboard, its metrics and its keys, and the learner's
//! loop can still borrow data.
//!
//! A requested stop closes the dashboard at once, before the round ends (`screen`).

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use burn::data::dataloader::{DataLoaderBuilder, Progress};
use burn::data::dataset::InMemDataset;
use burn::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
use burn::optim::AdamConfig;
use burn::tensor::{Device, Tensor};
use burn::train::logger::InMemoryMetricLogger;
use burn::train::metric::{LearningRateMetric, LossMetric};
use burn::train::renderer::MetricsRenderer;
use burn::train::{
    EventProcessorTraining, Interrupter, Learner, LearnerEvent, SupervisedLearningStrategy, SupervisedTraining,
    SupervisedTrainingEventProcessor, TrainLoader, TrainingComponents, TrainingItem, TrainingStrategy, ValidLoader,
};

use super::config::NAME;
use super::model::{RankingBatcher, RankingModel};
use crate::data::RankingDataset;
use crate::learner::error::LearnerError;
use crate::learner::shared::context::Selection;
use crate::metric::{RankingInput, RankingMetric, RankingOutput};
use crate::op::Execution;

type Processor = SupervisedTrainingEventProcessor<RankingModel>;

/// A running dashboard.
pub(super) struct Dashboard {
    processor: Processor,
    give_back: Sender<Processor>,
    thread: JoinHandle<()>,
    interrupter: Interrupter,
    device: Device,
    /// The selection measure of each training query, as last computed.
    last_train: Vec<f64>,
}

/// The values that the dashboard shows for one epoch.
pub(super) struct Shown<'a> {
    /// The number of the epoch, counted from 1.
    pub(super) epoch: usize,
    /// The number of optimizer steps in the epoch.
    pub(super) steps: usize,
    /// The mean training loss.
    pub(super) loss: f64,
    /// The learning rate of the epoch's last step.
    pub(super) learning_rate: f64,
    /// The selection measure of each training query, or `None` to keep showing the previous values.
    pub(super) train: Option<&'a [f64]>,
    /// The selection measure of each validation query.
    pub(super) validation: Option<&'a [f64]>,
}

impl Dashboard {
    /// Starts a dashboard for a fit of `epochs` epochs, of which `first` is the next to train. The `renderer` draws it.
    pub(super) fn start(
        model: RankingModel,
        selection: &Selection,
        epochs: usize,
        first: usize,
        renderer: Box<dyn MetricsRenderer>,
        interrupter: Interrupter,
        device: &Device,
    ) -> Result<Self, LearnerError> {
        let (send, receive) = channel();
        let (give_back, come_back) = channel();
        let measure = RankingMetric::new(selection.measure, &selection.convention)
            .map_err(|error| LearnerError::Data { learner: NAME, reason: error.to_string() })?;
        let stop = interrupter.clone();
        let run = move || {
            let training = SupervisedTraining::new(std::env::temp_dir(), no_data(), no_data())
                .metric_train_numeric(LossMetric::new())
                .metric_train_numeric(measure.clone())
                .metric_train_numeric(LearningRateMetric::new())
                .metric_valid_numeric(measure)
                .num_epochs(epochs)
                // No files and no separate log: both would write outside the directory of the fit.
                .with_metric_logger(InMemoryMetricLogger::default())
                .with_application_logger(None)
                .with_interrupter(stop)
                .renderer(renderer)
                .with_training_strategy(TrainingStrategy::Custom(Arc::new(Handover {
                    out: Mutex::new(send),
                    back: Mutex::new(come_back),
                })))
                .label(NAME);
            let training = if first > 1 { training.checkpoint(first - 1) } else { training };
            let learner = Learner::new(model, AdamConfig::new().init(), ModuleLrScheduler::new(1.0));
            training.launch(learner);
        };
        let execution = Execution::current();
        let thread = std::thread::Builder::new()
            .name("dashboard".into())
            .spawn(move || execution.scope(run))
            .map_err(|error| broken(error.to_string()))?;
        let processor = receive.recv().map_err(|_| broken("it did not start".into()))?;
        Ok(Self { processor, give_back, thread, interrupter, device: device.clone(), last_train: Vec::new() })
    }

    /// Returns whether the user asked the dashboard to stop the fit.
    pub(super) fn stop_requested(&self) -> bool {
        self.interrupter.should_stop()
    }

    /// Shows an epoch.
    pub(super) fn show(&mut self, shown: Shown) -> Result<(), LearnerError> {
        if let Some(values) = shown.train {
            self.last_train = values.to_vec();
        }
        let item = |loss: f64, values: &[f64]| {
            let output = RankingOutput {
                losses: Tensor::from_data([loss as f32], &self.device),
                ranked: RankingInput::Values(values.to_vec()),
            };
            // An epoch is shown as one item.
            let whole = Progress::new(1, 1, None);
            TrainingItem::new(output, whole, Some(shown.steps), Some(shown.learning_rate.into()))
        };
        let start = || LearnerEvent::StartSplit { epoch_number: shown.epoch, total_items: 1 };
        let train = item(shown.loss, &self.last_train);
        let validation = shown.validation.map(|values| item(shown.loss, values));
        let processor = &mut self.processor;
        let mut events = vec![
            processor.process_train(start()),
            processor.process_train(LearnerEvent::ProcessedItem(train)),
            processor.process_train(LearnerEvent::EndSplit(shown.epoch)),
        ];
        if let Some(validation) = validation {
            events.push(processor.process_valid(start()));
            events.push(processor.process_valid(LearnerEvent::ProcessedItem(validation)));
            events.push(processor.process_valid(LearnerEvent::EndSplit(shown.epoch)));
        }
        events.push(processor.process_train(LearnerEvent::EndEpoch(shown.epoch)));
        events.into_iter().try_for_each(|event| event.map_err(|error| broken(error.to_string())))
    }

    /// Closes the dashboard.
    pub(super) fn end(self) -> Result<(), LearnerError> {
        // Sending fails only if the thread has already ended, which `join` reports.
        let _ = self.give_back.send(self.processor);
        self.thread.join().map_err(|_| broken("its thread panicked".into()))
    }
}

fn broken(reason: String) -> LearnerError {
    LearnerError::Solver { learner: NAME, reason: format!("the dashboard failed: {reason}") }
}

/// Returns an empty data loader, since the strategy [`Handover`] loads no data.
fn no_data() -> TrainLoader<RankingModel> {
    DataLoaderBuilder::new(RankingBatcher::new(Arc::new(RankingDataset::default()), 0))
        .build(InMemDataset::<usize>::new(Vec::new()))
}

/// A training strategy that, instead of training, lends its event processor to the fit.
struct Handover {
    out: Mutex<Sender<Processor>>,
    back: Mutex<Receiver<Processor>>,
}

impl SupervisedLearningStrategy<RankingModel> for Handover {
    fn fit(
        &self,
        components: TrainingComponents<RankingModel>,
        learner: Learner<RankingModel>,
        _: TrainLoader<RankingModel>,
        _: ValidLoader<RankingModel>,
        _: usize,
    ) -> (RankingModel, Processor) {
        let lent = "the fit waits for the processor, and returns it";
        self.out.lock().expect(lent).send(components.event_processor).expect(lent);
        let processor = self.back.lock().expect(lent).recv().expect(lent);
        (learner.model(), processor)
    }
}
