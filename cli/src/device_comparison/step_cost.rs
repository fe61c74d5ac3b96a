//! The cost of a training step on one device: reads, kernel launches and times, and the speed for several batch sizes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use burn_rank::learner::{Progress, Round};
use burn_rank::workbench::learner::{device_reads, device_sent};

use super::*;
use crate::experiment::Document;

/// The measurements of training steps on one device. `None` stands for a value that was not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepCost {
    /// The number of steps whose kernel launches were recorded.
    pub steps: usize,
    /// The median time of a step over the rounds, in seconds, measured without recording kernels.
    pub seconds: Option<f64>,
    /// The number of reads from the device per step, each of which makes the host wait.
    pub reads: f64,
    /// The number of bytes that a step sends to the device.
    #[serde(default)]
    pub sent_bytes: f64,
    /// The number of kernel launches per step; `None` if they cannot be recorded, as on a CPU.
    pub launches: Option<f64>,
    /// The time, in seconds, that the kernels take per step; `None` if the device cannot time them.
    pub kernel_seconds: Option<f64>,
    /// The kernels, sorted by time with the slowest first.
    pub kernels: Vec<KernelCost>,
    /// The kernel launches of parts of a step; empty if launches cannot be recorded.
    #[serde(default)]
    pub sources: Vec<LaunchSource>,
    /// The training speed for several numbers of queries per step.
    pub throughput: Vec<Throughput>,
}

/// The cost of one kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelCost {
    /// Name of the kernel.
    pub name: String,
    /// Launches per step.
    pub launches: f64,
    /// Seconds per step.
    pub seconds: Option<f64>,
}

/// A part of a step, and the kernel launches that a step has less without it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LaunchSource {
    /// The part.
    pub source: String,
    /// Launches per step.
    pub launches: f64,
}

/// The training speed with one number of queries per step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Throughput {
    /// Queries of a step.
    pub batch_queries: usize,
    /// The number of training documents per second, in the median round.
    pub documents_per_second: f64,
}

/// The number of launches and the total time of each kernel, by kernel name. The time of a kernel is `None` if the
/// device did not time one of its launches.
type Watched = BTreeMap<String, (u64, Option<f64>)>;

impl StepCost {
    /// The numbers of queries per step for which the speed is measured.
    const BATCHES: [usize; 4] = [4, 16, 64, 256];

    /// The number of rounds of each fit; kernels are compiled and tuned in the first.
    const ROUNDS: usize = 4;

    /// Returns the parts of a step that a configuration can do without, each with the settings that leave it out.
    fn parts(resolved: &Value) -> Vec<(&'static str, String)> {
        let (learner, loss, scorer) = (&resolved["learner"], &resolved["loss"], &resolved["scorer"]);
        let mut parts = Vec::new();
        if !learner["average"].is_null() {
            parts.push(("averaged weights", "learner.average=".to_string()));
        }
        if loss["query_gradients"] == "unit" {
            parts.push(("unit gradients", "loss.query_gradients=raw".to_string()));
        }
        if loss["name"] != "mse_gain" && !loss.is_null() {
            let kept = loss["query_gradients"].as_str().unwrap_or("raw");
            let simple = format!("loss={{name=\"mse_gain\",query_gradients=\"{kept}\"}}");
            parts.push(("the loss, compared with a squared error", simple));
        }
        if let Some([first @ .., _]) = scorer["hidden"].as_array().map(Vec::as_slice)
            && !first.is_empty()
        {
            parts.push(("the last hidden layer", format!("scorer.hidden={}", Value::from(first))));
        }
        parts
    }

    /// Measures the speed of a configuration as it is, and with other numbers of queries per step. Then fits it once
    /// more and records its kernel launches, and fits it without each part of the step. Returns `None` for learners
    /// without steps.
    ///
    /// # Errors
    /// Returns an error if a fit fails.
    pub fn measure(document: &Document, device: &Device) -> Result<Option<Self>> {
        let config = Experiment::from_document(document)?;
        if !config.learner_entry().is_some_and(|entry| entry.parameters().contains_key("epochs")) {
            return Ok(None);
        }
        let mut document = document.clone();
        document.set(&format!("learner.epochs={}", Self::ROUNDS))?;
        let config = &Experiment::from_document(&document)?;
        let with = |setting: &str| -> Result<Experiment> {
            let mut document = document.clone();
            document.set(setting)?;
            Ok(Experiment::from_document(&document)?)
        };
        let mut split = config.data.split(config.seed)?;
        split.test = None;
        let documents = split.train.documents() as f64;
        let clock = fit(config, &split, device, Clock::new(device))?;
        let Some(steps) = clock.steps_of_round() else { return Ok(None) };
        // The kernels of all lengths of lists are compiled by now.
        let clock = fit(config, &split, device, Clock::new(device))?;
        let seconds = clock.training().map(|seconds| seconds / steps as f64);
        let mut throughput = Vec::new();
        for batch_queries in Self::BATCHES.into_iter().filter(|queries| *queries <= split.train.queries()) {
            let config = with(&format!("learner.batch_queries={batch_queries}"))?;
            let clock = fit(&config, &split, device, Clock::new(device))?;
            let speed = clock.training().map(|seconds| documents / seconds);
            throughput.extend(speed.map(|speed| Throughput { batch_queries, documents_per_second: speed }));
        }
        let before = (device_reads(), device_sent());
        let (watched, clock) = watch(config, &split, device)?;
        let watched_steps = clock.steps();
        let per_step = |number: f64| number / watched_steps as f64;
        // Reads are counted over all rounds, since every round reads alike.
        let reads = per_step((device_reads() - before.0) as f64);
        let sent_bytes = per_step((device_sent() - before.1) as f64);
        // Kernels are watched in every round but the first.
        let later = (watched_steps - steps) as f64;
        let cost = |(name, (launches, seconds)): (String, (u64, Option<f64>))| KernelCost {
            name,
            launches: launches as f64 / later,
            seconds: seconds.map(|seconds| seconds / later),
        };
        let mut kernels: Vec<KernelCost> = watched.into_iter().map(cost).collect();
        let time = |kernel: &KernelCost| kernel.seconds.unwrap_or(f64::NEG_INFINITY);
        kernels.sort_by(|a, b| time(b).total_cmp(&time(a)).then(b.launches.total_cmp(&a.launches)));
        let launches = (!kernels.is_empty()).then(|| kernels.iter().map(|kernel| kernel.launches).sum::<f64>());
        let mut sources = Vec::new();
        if let Some(all) = launches {
            for (source, setting) in Self::parts(&config.resolved()) {
                let (watched, clock) = watch(&with(&setting)?, &split, device)?;
                let there: u64 = watched.values().map(|(launches, _)| launches).sum();
                let later = clock.steps() - clock.steps_of_round().unwrap_or(0);
                let launches = all - there as f64 / later as f64;
                sources.push(LaunchSource { source: source.to_string(), launches });
            }
        }
        let kernel_seconds = kernels.iter().map(|kernel| kernel.seconds).sum::<Option<f64>>();
        Ok(Some(Self {
            steps: watched_steps - steps,
            seconds,
            reads,
            sent_bytes,
            launches,
            kernel_seconds: kernel_seconds.filter(|_| launches.is_some()),
            kernels,
            sources,
            throughput,
        }))
    }
}

/// Shortens the path of a kernel's type to its last module and the type, without type parameters. The module is left
/// out if it has the same name as the type.
#[cfg(any(feature = "_cube", test))]
fn kernel_name(path: &str) -> String {
    let path = path.split('<').next().unwrap_or(path);
    let mut parts = path.rsplit("::");
    let kernel = parts.next().unwrap_or_default();
    let is_same = |module: &&str| module.replace('_', "").eq_ignore_ascii_case(kernel);
    let module = parts.find(|module| !is_same(module));
    module.map_or(kernel.to_string(), |module| format!("{module}::{kernel}"))
}

/// Fits a configuration to a copy of the data.
fn fit(config: &Experiment, split: &Split, device: &Device, clock: Clock) -> Result<Clock> {
    let options = FitOptions { progress: &clock, ..FitOptions::new(device) };
    fit_in_place(config, &mut split.clone(), config.seed, &options)?;
    Ok(clock)
}

/// Fits a configuration without recording kernel launches, because this build has no backend that reports them.
#[cfg(not(feature = "_cube"))]
fn watch(config: &Experiment, split: &Split, device: &Device) -> Result<(Watched, Clock)> {
    Ok((Watched::default(), fit(config, split, device, Clock::new(device))?))
}

#[cfg(feature = "_cube")]
use cube::watch;

#[cfg(feature = "_cube")]
mod cube {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex, PoisonError};

    use burn_cubecl::cubecl::future;
    use burn_cubecl::cubecl::logging::{
        Duration, LaunchObservation, LaunchObserver, ProfileDuration, TimingMethod, TimingRequest,
    };

    use super::*;

    type Kernel = &'static str;

    /// An observer that records kernel launches while it is switched on.
    #[derive(Default)]
    struct Observer {
        training: Arc<AtomicBool>,
        launches: Mutex<Vec<Kernel>>,
        profiles: Mutex<Vec<(Kernel, ProfileDuration)>>,
    }

    impl LaunchObserver for Observer {
        fn launched(&self, kernel: &'static str) {
            if self.training.load(Ordering::Relaxed) {
                self.launches.lock().unwrap_or_else(PoisonError::into_inner).push(kernel);
            }
        }

        fn timing(&self) -> TimingRequest {
            TimingRequest::Deferred
        }

        fn profiled(&self, kernel: &'static str, profile: ProfileDuration) {
            if self.training.load(Ordering::Relaxed) {
                self.profiles.lock().unwrap_or_else(PoisonError::into_inner).push((kernel, profile));
            }
        }

        // The profiling logger of CubeCL takes the measurement: the kernel counts as not timed.
        fn timed(&self, _: &'static str, _: Duration, _: TimingMethod) {}
    }

    /// Fits a configuration, and records the kernel launches of its training steps from the second round on.
    pub(super) fn watch(config: &Experiment, split: &Split, device: &Device) -> Result<(Watched, Clock)> {
        let clock = Clock::new(device);
        let observer = Arc::new(Observer { training: clock.training.clone(), ..Observer::default() });
        let observation = LaunchObservation::new(observer.clone());
        let clock = fit(config, split, device, clock)?;
        drop(observation);
        let launches = std::mem::take(&mut *observer.launches.lock().unwrap_or_else(PoisonError::into_inner));
        let profiles = std::mem::take(&mut *observer.profiles.lock().unwrap_or_else(PoisonError::into_inner));
        let mut watched = Watched::default();
        for kernel in launches {
            watched.entry(kernel_name(kernel)).or_insert((0, Some(0.0))).0 += 1;
        }
        let mut timed: BTreeMap<String, u64> = BTreeMap::new();
        for (kernel, profile) in profiles {
            let by_device = profile.timing_method() == TimingMethod::Device;
            let ticks = future::block_on(profile.resolve()).filter(|_| by_device);
            let Some(ticks) = ticks else { continue };
            let name = kernel_name(kernel);
            if let Some((_, Some(seconds))) = watched.get_mut(&name) {
                *seconds += ticks.duration().as_secs_f64();
                *timed.entry(name).or_default() += 1;
            }
        }
        // A sum that leaves launches out is no time of the kernel.
        for (name, (launches, seconds)) in &mut watched {
            if timed.get(name) != Some(launches) {
                *seconds = None;
            }
        }
        Ok((watched, clock))
    }
}

/// Records when the training steps of a round end, and when the measures of the round have been computed.
#[derive(Debug)]
pub(super) struct Clock {
    device: Device,
    marks: Mutex<Marks>,
    /// True while training steps run, except in the first round.
    training: Arc<AtomicBool>,
}

/// Points in time during a fit, in seconds since the fit began.
#[derive(Debug)]
struct Marks {
    begun: Instant,
    /// The time at which the steps of each round ended, and the number of these steps.
    trained: Vec<(f64, usize)>,
    /// The time at which each round ended, and the selection measure of the round.
    rounds: Vec<(f64, Option<f64>)>,
}

/// Times of a trial in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TrialSeconds {
    /// The time from the start of the process until the device is open, in seconds.
    pub open: f64,
    /// The time to compile kernels, in seconds: the first round's duration minus the median of the other rounds. The
    /// value is `None` for fewer than two rounds.
    pub compile: Option<f64>,
    /// The duration of the median round after the first, in seconds.
    pub round: Option<f64>,
    /// The time from the start of the fit to the first round that reached the target, in seconds.
    pub target: Option<f64>,
}

impl Clock {
    pub(super) fn new(device: &Device) -> Self {
        let marks = Marks { begun: Instant::now(), trained: Vec::new(), rounds: Vec::new() };
        Self { device: device.clone(), marks: Mutex::new(marks), training: Arc::default() }
    }

    fn marks(&self) -> std::sync::MutexGuard<'_, Marks> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the durations so far, including the time to the first round whose selection measure reached `target`.
    /// The device was open after `open` seconds.
    pub(super) fn seconds(&self, open: f64, target: Option<f64>) -> TrialSeconds {
        let marks = self.marks();
        let ends: Vec<f64> = marks.rounds.iter().map(|(at, _)| *at).collect();
        let round = median(&mut ends.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<f64>>());
        let compile = round.zip(ends.first()).map(|(round, first)| (first - round).max(0.0));
        let reached = |target: f64| marks.rounds.iter().find(|(_, value)| value.is_some_and(|value| value >= target));
        TrialSeconds { open, compile, round, target: target.and_then(reached).map(|(at, _)| *at) }
    }

    /// Returns the best selection measure of any round.
    pub(super) fn best(&self) -> Option<f64> {
        self.marks().rounds.iter().filter_map(|(_, value)| *value).reduce(f64::max)
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
        self.marks().begun = Instant::now();
    }

    fn trained(&self, steps: usize) {
        // Work that waits in the queue of the device belongs to the steps. A device that fails says so to the fit.
        let _ = self.device.sync();
        self.training.store(false, Ordering::Relaxed);
        let mut marks = self.marks();
        let at = marks.begun.elapsed().as_secs_f64();
        marks.trained.push((at, steps));
    }

    fn round(&self, round: &Round) {
        let mut marks = self.marks();
        let at = marks.begun.elapsed().as_secs_f64();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_are_not_there_are_not_left_out() {
        let of = |text: &str| StepCost::parts(&serde_json::from_str(text).unwrap());
        assert!(of("{}").is_empty());
        let linear = r#"{"loss": {"name": "list_net"}, "scorer": {"kind": "linear"}, "learner": {"average": null}}"#;
        let simple = "loss={name=\"mse_gain\",query_gradients=\"raw\"}";
        assert_eq!(of(linear), [("the loss, compared with a squared error", simple.to_string())]);
        let all = of(r#"{
            "loss": {"name": "approx_ndcg", "query_gradients": "unit"},
            "scorer": {"kind": "mlp", "hidden": [64, 32]},
            "learner": {"average": 0.9}
        }"#);
        let settings: Vec<&str> = all.iter().map(|(_, setting)| setting.as_str()).collect();
        let simple = "loss={name=\"mse_gain\",query_gradients=\"unit\"}";
        assert_eq!(settings, ["learner.average=", "loss.query_gradients=raw", simple, "scorer.hidden=[64]"]);
    }

    #[test]
    fn steps_are_measured_where_the_data_decide_on_the_epochs() {
        let text = "data = { synthetic = { train_queries = 6, validation_queries = 2, test_queries = 0 } }\n\
                    scorer = { kind = \"mlp\", hidden = [2] }\nloss = { name = \"list_net\" }\n";
        let steps = |learner: &str| {
            let text = format!("{text}learner = {{ kind = \"{learner}\" }}\n");
            let document = Document::parse(std::path::Path::new("a.toml"), text, &[]).unwrap();
            StepCost::measure(&document, &Device::flex()).unwrap().map(|cost| cost.throughput.len())
        };
        assert_eq!(steps("gradient"), Some(1));
    }

    #[test]
    fn kernels_are_named_by_module_and_type() {
        assert_eq!(kernel_name("burn_rank::op::gpu::step_sum::values::Values<Logistic>"), "step_sum::Values");
        assert_eq!(kernel_name("a::mask_fill::MaskFillKernel<f32>"), "mask_fill::MaskFillKernel");
        assert_eq!(kernel_name("Alone"), "Alone");
    }
}
