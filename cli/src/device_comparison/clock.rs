//! Records when each round of a fit ends, and derives the durations that a trial reports.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use burn::tensor::Device;
use burn_rank::learner::{Progress, Round};

use crate::number::median;

/// Records when the training steps of a round end, and when the measures of the round have been computed.
#[derive(Debug)]
pub(super) struct Clock {
    device: Device,
    marks: Mutex<Marks>,
    /// True while training steps run, except in the first round.
    training: Arc<AtomicBool>,
}

/// Points in time during a fit, in seconds since the fit began.
#[derive(Debug, Default)]
struct Marks {
    begun: Option<Instant>,
    /// The time at which the steps of each round ended, and the number of these steps.
    trained: Vec<(f64, usize)>,
    /// The time at which each round ended, and the selection measure of the round.
    rounds: Vec<(f64, Option<f64>)>,
}

/// Durations within a fit, in seconds.
pub(super) struct Times {
    pub best: Option<f64>,
    pub compile: Option<f64>,
    pub round: Option<f64>,
    pub target: Option<f64>,
}

impl Clock {
    pub(super) fn new(device: &Device) -> Self {
        Self { device: device.clone(), marks: Mutex::default(), training: Arc::default() }
    }

    /// Makes the clock set `training` to true while steps run, so that an observer can read it.
    #[cfg(feature = "_cube")]
    pub(super) fn with_flag(self, training: Arc<AtomicBool>) -> Self {
        Self { training, ..self }
    }

    fn marks(&self) -> std::sync::MutexGuard<'_, Marks> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the seconds since the fit began. If the beginning has not been recorded, the first call counts as the
    /// beginning.
    fn now(marks: &mut Marks) -> f64 {
        marks.begun.get_or_insert_with(Instant::now).elapsed().as_secs_f64()
    }

    /// Returns the durations so far, including the time to the first round whose selection measure reached `target`.
    pub(super) fn times(&self, target: Option<f64>) -> Times {
        let marks = self.marks();
        let ends: Vec<f64> = marks.rounds.iter().map(|(at, _)| *at).collect();
        let round = median(&mut ends.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<f64>>());
        let compile = round.zip(ends.first()).map(|(round, first)| (first - round).max(0.0));
        let best = marks.rounds.iter().filter_map(|(_, value)| *value).reduce(f64::max);
        let reached = |target: f64| marks.rounds.iter().find(|(_, value)| value.is_some_and(|value| value >= target));
        Times { best, compile, round, target: target.and_then(reached).map(|(at, _)| *at) }
    }

    /// Returns the median time, in seconds, that the steps of a round took. The first round and the time for
    /// measurement are not counted. Returns `None` for a single round, and for learners without steps.
    pub(super) fn training(&self) -> Option<f64> {
        let marks = self.marks();
        let later = marks.trained.iter().skip(1);
        median(&mut later.zip(&marks.rounds).map(|((end, _), (begin, _))| end - begin).collect::<Vec<f64>>())
    }

    /// Returns the number of steps in a round, or `None` for learners without steps.
    pub(super) fn steps_of_round(&self) -> Option<usize> {
        self.marks().trained.first().map(|(_, steps)| *steps)
    }

    /// Returns the number of steps in all rounds.
    pub(super) fn steps(&self) -> usize {
        self.marks().trained.iter().map(|(_, steps)| steps).sum()
    }
}

impl Progress for Clock {
    fn begin(&self, _: &str, _: Option<usize>) {
        self.marks().begun = Some(Instant::now());
    }

    fn trained(&self, steps: usize) {
        // Work that waits in the queue of the device belongs to the steps. A device that fails says so to the fit.
        let _ = self.device.sync();
        self.training.store(false, Ordering::Relaxed);
        let mut marks = self.marks();
        let at = Self::now(&mut marks);
        marks.trained.push((at, steps));
    }

    fn round(&self, round: &Round) {
        let mut marks = self.marks();
        let at = Self::now(&mut marks);
        marks.rounds.push((at, round.validation.or(round.train)));
        self.training.store(true, Ordering::Relaxed);
    }

    fn warn(&self, message: &str) {
        log::warn!("{message}");
    }

    fn end(&self) {
        self.training.store(false, Ordering::Relaxed);
    }
}
