//! Shows progress as lines that scroll by, above a last line that is redrawn. Everything is written to standard error,
//! but only if that is a terminal.

use std::collections::BTreeMap;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use burn_rank::learner::{Progress, Round, SURROGATE};
use burn_rank::measure::Measure;
use burn_rank::workbench::text::{harmless, shortened};
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::terminal::{self, DRAWN, columns};
use crate::experiment::JobEvent;

/// The time that work must take before its progress is shown. Shorter work needs no progress display.
const SHOWN_AFTER: Duration = Duration::from_secs(1);
/// The time between two updates of the display.
const TICK: Duration = Duration::from_millis(200);

/// The number of columns below which there is no room for a bar.
const NARROW: usize = 60;
/// The number of columns for the time left.
const LEFT: usize = 9;

/// Runs `work`, and shows its name on the terminal while it runs, unless it ends quickly.
pub(super) fn during<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let _shown = Work::new(what);
    work()
}

/// The progress of work, shown on one line after a while: its name and duration, the finished steps, and the time left.
/// The line disappears when this value is dropped. Nothing is shown without a terminal.
#[derive(Debug)]
pub struct Work {
    bar: ProgressBar,
    /// The thread that draws, and what ends it.
    drawer: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Work {
    /// Creates a display for work of unknown length.
    pub fn new(what: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        styled(&bar, "{elapsed} {msg}");
        bar.set_message(in_room(what));
        if DRAWN.is_hidden() {
            return Self { bar, drawer: None };
        }
        let (over, waits) = channel();
        let drawn = bar.clone();
        let draw = move || {
            if waits.recv_timeout(SHOWN_AFTER) == Err(RecvTimeoutError::Timeout) {
                DRAWN.add(drawn.clone());
                drawn.enable_steady_tick(TICK);
                // Waits until the work is over.
                let _ = waits.recv();
                drawn.finish_and_clear();
                DRAWN.remove(&drawn);
            }
        };
        let drawer = thread::Builder::new().name("progress".into()).spawn(draw).ok();
        Self { bar, drawer: drawer.map(|thread| (over, thread)) }
    }

    /// Creates a display for work with `steps` steps.
    pub fn of(what: &str, steps: usize) -> Self {
        let work = Self::new(what);
        work.steps(steps);
        work
    }

    /// Changes the name of the work that the display shows.
    pub fn now(&self, what: &str) {
        self.bar.set_message(in_room(what));
    }

    /// Sets how many steps there are.
    pub fn steps(&self, all: usize) {
        self.count(all, "{pos}/{len} {eta} left {msg}");
    }

    /// Sets how many steps there are, and the template of what is shown about them.
    fn count(&self, all: usize, figures: &str) {
        if self.bar.length() != Some(all as u64) {
            self.bar.set_length(all as u64);
            styled(&self.bar, &if columns() < NARROW { figures.to_string() } else { format!("{{bar:8}} {figures}") });
        }
    }

    /// Sets how many steps are finished.
    pub fn done(&self, steps: usize) {
        self.bar.set_position(steps as u64);
    }

    /// Adds to the number of finished steps.
    pub(super) fn more(&self, steps: usize) {
        self.bar.inc(steps as u64);
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if let Some((over, thread)) = self.drawer.take() {
            drop(over);
            // The line must be gone before anything else is printed.
            let _ = thread.join();
        }
    }
}

/// Returns how many columns of a line are free when the bar, the position and the time left are shown.
fn room() -> usize {
    let columns = columns();
    columns.saturating_sub(if columns < NARROW { 22 } else { 30 }).max(10)
}

/// Shortens the name of the current work to the columns that are free.
fn in_room(what: &str) -> String {
    shortened(&harmless(what), room())
}

fn styled(bar: &ProgressBar, template: &str) {
    bar.set_style(ProgressStyle::with_template(template).expect("a template"));
}

/// A piece of text in a progress line, with its rank. If the line is too long, pieces are dropped in descending order
/// of their ranks.
type Part = (usize, String);

fn figure(rank: usize, name: &str, value: f64) -> Part {
    (rank, format!("{name} {value:.4}"))
}

/// Joins the parts of a progress line, and drops the parts of highest rank until the line fits into `columns`.
fn fitted(mut parts: Vec<Part>, columns: usize) -> String {
    loop {
        let line = parts.iter().map(|(_, text)| &**text).collect::<Vec<_>>().join("  ");
        if parts.len() < 2 || line.chars().count() <= columns {
            return harmless(&line).into_owned();
        }
        let last = parts.iter().enumerate().max_by_key(|(_, (rank, _))| *rank).map_or(0, |(at, _)| at);
        parts.remove(last);
    }
}

/// Prints lines that scroll by at a readable pace, and redraws the newest line in between.
#[derive(Debug)]
struct Lines(Mutex<State>);

#[derive(Debug)]
struct State {
    /// The redrawn line, or `None` if progress is hidden or has ended.
    work: Option<Work>,
    begun: Instant,
    /// The number of steps that were already finished when the display started.
    before: Option<usize>,
    /// The total number of steps, if it is known.
    all: Option<usize>,
    /// When a line was last printed.
    printed: Option<Instant>,
    /// The newest line, if it has not been printed yet.
    newest: Option<String>,
    /// The names of the steps that are running, if they are known.
    running: Vec<String>,
}

impl Lines {
    /// Creates progress lines, which show nothing if `hidden`. Until the first step is finished, the terminal shows
    /// `what` as the name of the work.
    fn new(hidden: bool, what: &str) -> Self {
        let work = (!hidden && !DRAWN.is_hidden()).then(|| Work::new(what));
        let (before, all, printed, newest, running) = (None, None, None, None, Vec::new());
        Self(Mutex::new(State { work, begun: Instant::now(), before, all, printed, newest, running }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the name of the work that is shown before the first step.
    fn now(&self, what: &str) {
        self.state().work.iter().for_each(|work| work.now(what));
    }

    /// Starts counting steps; `all` is the total number of steps, if it is known.
    fn begin(&self, all: Option<usize>) {
        let mut state = self.state();
        (state.begun, state.before, state.all) = (Instant::now(), None, all);
    }

    /// Shows the step that has just begun in the redrawn line.
    fn begun(&self, what: &str) {
        let mut state = self.state();
        state.running.push(what.to_string());
        let Some(work) = &state.work else { return };
        match state.all {
            Some(_) => work.bar.set_message(shortened(&harmless(what), room() + LEFT)),
            None => work.now(what),
        }
    }

    /// Shows how many steps are finished, with the measurements of the last step, whose name is `last`. If a step is
    /// running, the redrawn line shows its name in place of the measurements.
    fn show(&self, done: usize, last: &str, figures: impl Fn() -> Vec<Part>) {
        let state = &mut *self.state();
        state.running.retain(|name| name != last);
        let Some(work) = &state.work else { return };
        let (now, columns) = (Instant::now(), columns());
        let elapsed = now - state.begun;
        // The steps that were done before a run was resumed took no time of this run.
        let own = done - (*state.before.get_or_insert(done.saturating_sub(1))).min(done);
        let each = elapsed.div_f64(own.max(1) as f64);
        let mut parts = figures();
        parts.insert(0, (0, state.all.map_or_else(|| done.to_string(), |all| format!("{done}/{all}"))));
        parts.push((4, rate(each)));
        let left = state.all.map(|all| all.saturating_sub(done));
        // The display shows the position by itself, and its own estimate would count the time before the first step.
        let mut shown = state.running.last().map_or_else(&figures, |running| vec![(1, running.clone())]);
        if let Some(left @ 1..) = left {
            let left = Duration::try_from_secs_f64(each.as_secs_f64() * left as f64).unwrap_or(Duration::MAX);
            let left = format!("{:#} left", HumanDuration(left));
            shown.insert(0, (0, left.clone()));
            parts.push((3, left));
        }
        let line = fitted(parts, columns);
        match state.all {
            Some(all) => {
                work.count(all, "{pos}/{len} {msg}");
                work.done(done);
                work.bar.set_message(fitted(shown, room() + LEFT));
            }
            None => work.now(&line),
        }
        let due = state.printed.is_none_or(|printed| now - printed >= SHOWN_AFTER.max(elapsed / 10));
        if due || left == Some(0) {
            (state.printed, state.newest) = (Some(now), None);
            terminal::say(line);
        } else {
            state.newest = Some(line);
        }
    }

    /// Prints the newest line and stops drawing.
    fn end(&self) {
        let mut state = self.state();
        state.work = None;
        if let Some(line) = state.newest.take() {
            terminal::say(line);
        }
    }
}

/// Formats the speed of steps that take the time `each` on average.
fn rate(each: Duration) -> String {
    let seconds = each.as_secs_f64();
    match 1.0 / seconds.max(1e-6) {
        rate if rate >= 10.0 => format!("{rate:.0}/s"),
        rate if rate >= 1.0 => format!("{rate:.1}/s"),
        _ if seconds < 100.0 => format!("{seconds:.1} s each"),
        _ => format!("{:#} each", HumanDuration(each)),
    }
}

/// Shows the progress of a fit, round by round.
#[derive(Debug)]
pub struct Rounds {
    lines: Lines,
    measure: Measure,
    best: Mutex<Option<f64>>,
}

impl Rounds {
    /// Creates the display of a fit. It shows nothing if `hidden`. `measure` is the measure that selects
    /// rounds.
    pub fn new(hidden: bool, measure: Measure) -> Self {
        Self { lines: Lines::new(hidden, "reading the data"), measure, best: Mutex::new(None) }
    }

    /// Shows that the data have been read.
    pub fn read(&self) {
        self.lines.now("preparing the data");
    }
}

impl Progress for Rounds {
    fn begin(&self, learner: &str, rounds: Option<usize>) {
        self.lines.now(&format!("first round of {learner}"));
        self.lines.begin(rounds);
    }

    fn round(&self, round: &Round) {
        let value = round.validation.or(round.train);
        let mut best = self.best.lock().unwrap_or_else(PoisonError::into_inner);
        *best = value.map_or(*best, |value| Some(best.map_or(value, |best| best.max(value))));
        let figures = || {
            let mut parts = Vec::new();
            if let (Some(value), Some(best)) = (value, *best) {
                parts.extend([figure(1, &self.measure.to_string(), value), figure(6, "best", best)]);
            }
            let (surrogate, others): (Vec<_>, Vec<_>) = round.figures.iter().partition(|(name, _)| name == SURROGATE);
            parts.extend(surrogate.iter().map(|(name, value)| figure(2, name, *value)));
            parts.push(figure(if surrogate.is_empty() { 2 } else { 5 }, "loss", round.objective));
            parts.extend(others.iter().map(|(name, value)| figure(7, name, *value)));
            parts
        };
        self.lines.show(round.round, "", figures);
    }

    fn warn(&self, message: &str) {
        terminal::say(format_args!("warning: {message}"));
    }

    fn end(&self) {
        self.lines.end();
    }
}

/// Shows the progress of a cross-validation, and prints the warnings of its fits once, at the end.
#[derive(Debug)]
pub struct Fits {
    lines: Lines,
    measure: Measure,
    /// The warnings of all fits by their cause. Each warning has the name of the fit that gave it.
    warnings: Mutex<BTreeMap<String, Vec<(String, String)>>>,
}

impl Fits {
    /// Creates the display of a cross-validation, which shows nothing if `hidden`. `measure` is the measure that
    /// selects rounds.
    pub fn new(hidden: bool, measure: Measure) -> Self {
        let lines = Lines::new(hidden, "reading the data, then the first fits");
        Self { lines, measure, warnings: Mutex::default() }
    }

    /// Prints the newest line, and one warning for each cause.
    pub fn end(&self) {
        self.lines.end();
        for fits in self.warnings.lock().unwrap_or_else(PoisonError::into_inner).values() {
            let others = if fits.len() > 1 { format!(" and {} more", fits.len() - 1) } else { String::new() };
            let (fit, message) = &fits[0];
            terminal::say(format_args!("warning: {message} ({fit}{others})"));
        }
    }

    /// Shows what a cross-validation reports.
    pub fn show(&self, event: JobEvent) {
        match event {
            JobEvent::Begun(label) => self.lines.begun(label),
            JobEvent::Done { finished, all, label, selection, surrogate } => {
                self.lines.state().all = Some(all);
                let figures = || {
                    let known = [(2, self.measure.to_string(), selection), (5, SURROGATE.to_string(), surrogate)];
                    let known = known.into_iter().filter_map(|(rank, name, value)| Some(figure(rank, &name, value?)));
                    [(1, label.to_string())].into_iter().chain(known).collect()
                };
                self.lines.show(finished, label, figures);
            }
            JobEvent::Warning(label, message) => {
                let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
                let fits = warnings.entry(cause(message)).or_default();
                fits.push((label.to_string(), message.to_string()));
                fits.sort();
            }
        }
    }
}

/// Returns the cause of a warning: its text with a placeholder for each number or list of numbers, because fits warn of
/// the same fault with other numbers.
fn cause(message: &str) -> String {
    let mut cause = String::new();
    for word in message.split(' ') {
        let digit = word.contains(|c: char| c.is_ascii_digit());
        match (digit, cause.ends_with("# ")) {
            (true, true) => {}
            (true, false) => cause += "# ",
            (false, _) => cause += &format!("{word} "),
        }
    }
    cause
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> Vec<Part> {
        vec![
            (0, "12/100".into()),
            figure(1, "ndcg@10", 0.4512),
            figure(6, "best", 0.4533),
            figure(2, "surrogate", 0.4012),
            figure(5, "loss", 0.7131),
            (4, "34/s".into()),
            (3, "3s left".into()),
        ]
    }

    #[test]
    fn a_line_leaves_out_what_matters_least_where_it_is_too_long() {
        let all = "12/100  ndcg@10 0.4512  best 0.4533  surrogate 0.4012  loss 0.7131  34/s  3s left";
        for (columns, line) in [
            (100, all),
            (79, "12/100  ndcg@10 0.4512  surrogate 0.4012  loss 0.7131  34/s  3s left"),
            (60, "12/100  ndcg@10 0.4512  surrogate 0.4012  34/s  3s left"),
            (50, "12/100  ndcg@10 0.4512  surrogate 0.4012  3s left"),
            (40, "12/100  ndcg@10 0.4512  surrogate 0.4012"),
            (24, "12/100  ndcg@10 0.4512"),
            (3, "12/100"),
        ] {
            assert_eq!(fitted(parts(), columns), line, "{columns}");
        }
    }

    #[test]
    fn warnings_of_one_cause_differ_in_numbers_only() {
        let of = |idle: usize, loss: &str| {
            format!("gradient: {idle} of 40 training queries have nothing to learn for {loss}")
        };
        assert_eq!(cause(&of(3, "list_net")), cause(&of(12, "list_net")));
        assert_ne!(cause(&of(3, "list_net")), cause(&of(3, "lambda_ndcg")));
        assert_eq!(cause("features (numbers 1, 2, 7) are constant"), cause("features (numbers 5) are constant"));
    }

    #[test]
    fn rates_are_readable_from_minutes_a_step_to_thousands_a_second() {
        let of = |seconds: f64| rate(Duration::from_secs_f64(seconds));
        assert_eq!(
            [0.0002, 0.4, 2.5, 90.0, 600.0].map(of),
            ["5000/s", "2.5/s", "2.5 s each", "90.0 s each", "10m each"]
        );
    }
}
