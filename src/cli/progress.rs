//! Progress on the terminal: a bar of rounds on standard error, and a stop on Ctrl-C.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Failure;
use crate::experiment::{JobDone, JobProgress};
use crate::learner::{Interrupt, Progress, Round, SURROGATE};
use crate::measure::Measure;

/// Where a bar is drawn: on standard error, if that is a terminal.
fn target(hidden: bool) -> ProgressDrawTarget {
    if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() }
}

/// A progress bar of rounds; warnings are printed above it.
///
/// What matters most comes first, since a terminal of 80 columns cuts the rest.
#[derive(Debug)]
pub struct Bar {
    bar: ProgressBar,
    measure: Measure,
    best: Mutex<Option<f64>>,
}

impl Bar {
    /// Creates a bar on standard error, drawn only on a terminal; `hidden` if something else draws or nothing should.
    /// `measure` is what selects rounds.
    pub fn new(hidden: bool, measure: Measure) -> Self {
        Self { bar: ProgressBar::with_draw_target(None, target(hidden)), measure, best: Mutex::new(None) }
    }
}

impl Progress for Bar {
    fn begin(&self, learner: &str, rounds: Option<usize>) {
        let template = "{prefix} {bar:8} {pos}/{len} {eta} left {wide_msg}";
        if let (Some(rounds), Ok(style)) = (rounds, ProgressStyle::with_template(template)) {
            self.bar.set_length(rounds as u64);
            self.bar.set_style(style);
        }
        self.bar.set_prefix(learner.to_string());
    }

    fn round(&self, round: &Round) {
        self.bar.set_position(round.round as u64);
        let mut best = self.best.lock().unwrap_or_else(PoisonError::into_inner);
        let mut message = String::new();
        if let Some(value) = round.validation.or(round.train) {
            *best = Some(best.map_or(value, |best| best.max(value)));
            message = format!("{} {value:.4} best {:.4} ", self.measure, best.unwrap_or(value));
        }
        let (surrogate, others): (Vec<_>, Vec<_>) = round.figures.iter().partition(|(name, _)| name == SURROGATE);
        let objective = ("loss".to_string(), round.objective);
        let figures = surrogate.into_iter().chain([&objective]).chain(others);
        message += &figures.map(|(name, value)| format!("{name} {value:.4}")).collect::<Vec<_>>().join(" ");
        self.bar.set_message(message);
    }

    fn warn(&self, message: &str) {
        // Above the bar if there is one, otherwise plainly on standard error.
        self.bar.suspend(|| eprintln!("warning: {message}"));
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// A progress bar of the jobs of a cross-validation; warnings of their fits are printed once, at the end.
#[derive(Debug)]
pub struct JobsBar {
    bar: ProgressBar,
    measure: Measure,
    /// The jobs that gave each warning.
    warnings: Mutex<BTreeMap<String, Vec<String>>>,
}

impl JobsBar {
    /// Creates a bar on standard error, drawn only on a terminal and not if `hidden`. `measure` is what selects.
    pub fn new(hidden: bool, measure: Measure) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), target(hidden));
        if let Ok(style) = ProgressStyle::with_template("{bar:8} {pos}/{len} {eta} left {wide_msg}") {
            bar.set_style(style);
        }
        Self { bar, measure, warnings: Mutex::default() }
    }

    /// Clears the bar and prints the warnings, each with the jobs it came from.
    pub fn end(&self) {
        self.bar.finish_and_clear();
        for (message, jobs) in &*self.warnings.lock().unwrap_or_else(PoisonError::into_inner) {
            let others = match jobs.len() - 1 {
                0 => String::new(),
                others => format!(" and {others} more"),
            };
            eprintln!("warning: {message} ({}{others})", jobs[0]);
        }
    }
}

impl JobProgress for JobsBar {
    fn done(&self, job: &JobDone) {
        self.bar.set_length(job.all as u64);
        self.bar.set_position(job.finished as u64);
        let figures = [(self.measure.to_string(), job.selection), (SURROGATE.to_string(), job.surrogate)];
        let figures = figures.into_iter().filter_map(|(name, value)| Some(format!("{name} {:.4} ", value?)));
        self.bar.set_message(format!("{}in {}", figures.collect::<String>(), job.label));
    }

    fn warn(&self, label: &str, message: &str) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        let jobs = warnings.entry(message.to_string()).or_default();
        jobs.push(label.to_string());
        jobs.sort();
    }
}

/// Returns an interrupt that Ctrl-C requests: the first one stops after the round, a second one ends the process.
pub fn interrupt_on_signal() -> Result<Interrupt, Failure> {
    static INTERRUPT: OnceLock<Interrupt> = OnceLock::new();
    if let Some(interrupt) = INTERRUPT.get() {
        return Ok(interrupt.clone());
    }
    let interrupt = INTERRUPT.get_or_init(Interrupt::default).clone();
    let shared = interrupt.clone();
    ctrlc::set_handler(move || {
        if shared.requested() {
            std::process::exit(130);
        }
        eprintln!("stopping after this round; press Ctrl-C again to stop at once");
        shared.request();
    })
    .map_err(|error| Failure::Work(error.into()))?;
    Ok(interrupt)
}
