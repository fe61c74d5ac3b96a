//! Holds the terminal on which the dashboard draws. A request to stop the fit releases the terminal at once, before the
//! round ends. While the dashboard reads keys, Ctrl-C still sends its signal.

use std::error::Error;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::spawn;
use std::time::Duration;

use burn::train::logger::{EvaluationProgressLogger, TrainingProgressLogger};
use burn::train::metric::MetricDefinition;
use burn::train::renderer::{
    EvaluationName, MetricState, MetricsRenderer, MetricsRendererEvaluation, MetricsRendererTraining, default_renderer,
};
use burn::train::{Interrupter, LearnerSummary};

use crate::learner::shared::context::Interrupt;

/// How long to wait for the renderer, which draws every 100 milliseconds, to release the terminal.
const LONGEST_CLOSE: Duration = Duration::from_secs(5);

/// A renderer that draws nothing after the fit has been asked to stop.
pub(super) struct Screen(Arc<Mutex<Option<Box<dyn MetricsRenderer>>>>);

impl Screen {
    /// Opens burn's dashboard, or prints lines of text if burn-rank was built without the dashboard. If the fit
    /// resumes, `checkpoint` is the number of epochs that are already trained.
    pub(super) fn open(interrupter: Interrupter, checkpoint: Option<usize>, stop: &Interrupt) -> Self {
        let renderer = default_renderer(interrupter, checkpoint);
        #[cfg(all(unix, feature = "tui"))]
        keep_ctrl_c();
        Self::of(renderer, stop)
    }

    /// Returns a screen on which `renderer` draws until `stop` is requested.
    pub(super) fn of(renderer: Box<dyn MetricsRenderer>, stop: &Interrupt) -> Self {
        let renderer = Arc::new(Mutex::new(Some(renderer)));
        let screen = Self(renderer.clone());
        stop.at_once(move || Self(renderer).close());
        screen
    }

    /// Releases the terminal. If the terminal no longer exists, the renderer's thread may never end, so this method
    /// waits only for a limited time.
    fn close(&self) {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(renderer) = taken else { return };
        let (closed, has_closed) = channel();
        spawn(move || {
            drop(renderer);
            // Nobody listens after the timeout.
            let _ = closed.send(());
        });
        let _ = has_closed.recv_timeout(LONGEST_CLOSE);
    }

    fn draw(&self, draw: impl FnOnce(&mut dyn MetricsRenderer)) {
        if let Some(renderer) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            draw(&mut **renderer);
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.close();
    }
}

/// Implements methods that pass their arguments on to the renderer, if it still draws.
macro_rules! drawn {
    ($($name:ident($($argument:ident: $type:ty),*)),+ $(,)?) => {
        $(fn $name(&mut self, $($argument: $type),*) {
            self.draw(|renderer| renderer.$name($($argument),*));
        })+
    };
}

impl MetricsRendererTraining for Screen {
    drawn!(update_train(state: MetricState), update_valid(state: MetricState));

    fn on_train_end(&mut self, summary: Option<LearnerSummary>) -> Result<(), Box<dyn Error>> {
        let mut ended = Ok(());
        self.draw(|renderer| ended = renderer.on_train_end(summary));
        ended
    }
}

impl MetricsRendererEvaluation for Screen {
    drawn!(update_test(name: EvaluationName, state: MetricState));

    fn on_test_end(&mut self, summary: Option<LearnerSummary>) -> Result<(), Box<dyn Error>> {
        let mut ended = Ok(());
        self.draw(|renderer| ended = renderer.on_test_end(summary));
        ended
    }
}

impl TrainingProgressLogger for Screen {
    drawn!(
        start(epochs: usize, first: usize, items: Option<usize>, label: Option<&str>),
        update_epoch(epoch: usize),
        start_split(split: &str, items: usize),
        update_split(items: usize),
        end_split(),
        end(),
        log_event_training(event: String),
    );
}

impl EvaluationProgressLogger for Screen {
    drawn!(
        start_global_progress(tests: usize),
        start_test(name: &str, items: usize),
        update_test_progress(items: usize),
        end_test(),
        end_global_progress(),
        log_event_evaluation(event: String),
    );
}

impl MetricsRenderer for Screen {
    drawn!(manual_close(), register_metric(definition: MetricDefinition));
}

/// Turns on the signal of Ctrl-C after the dashboard has turned off the signals of all keys. Ctrl-Z and Ctrl-\ stay
/// disabled, because they would stop the program without releasing the terminal.
#[cfg(all(unix, feature = "tui"))]
fn keep_ctrl_c() {
    use std::os::fd::{AsFd, BorrowedFd};

    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, isatty, tcgetattr, tcsetattr};

    /// The code that disables a special key (`_POSIX_VDISABLE`).
    const NO_KEY: u8 = if cfg!(any(target_os = "linux", target_os = "android")) { 0 } else { 0xff };

    #[cfg_attr(
        not(test),
        expect(clippy::disallowed_methods, reason = "the keys of the terminal, which the dashboard turns off")
    )]
    let input = std::io::stdin();
    let terminal = if isatty(&input) { None } else { std::fs::File::open("/dev/tty").ok() };
    let terminal: BorrowedFd = terminal.as_ref().map_or(input.as_fd(), AsFd::as_fd);
    // The renderer's thread turns off the signals of keys within a second of its start.
    for _ in 0..200 {
        let Ok(mut modes) = tcgetattr(terminal) else { return };
        if !modes.local_modes.contains(LocalModes::ICANON) {
            modes.local_modes |= LocalModes::ISIG;
            for key in [SpecialCodeIndex::VSUSP, SpecialCodeIndex::VQUIT] {
                modes.special_codes[key] = NO_KEY;
            }
            let _ = tcsetattr(terminal, OptionalActions::Now, &modes);
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
