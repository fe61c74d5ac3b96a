//! `burn-rank devices compare CONFIG` runs one experiment on several devices, each fit in a separate process. The
//! processes end with the command that started them, and files keep their results.
//!
//! `burn-rank devices trial` runs one fit on one device, or times its training steps, and prints the result as a JSON
//! object.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use burn_rank::learner::Interrupt;
use burn_rank::workbench::text::hexadecimal;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::cli::*;
use crate::device_comparison::{DeviceComparison, DeviceRun, DeviceSetting, StepCost, Trial, precision};
use crate::experiment::{DEVICES, ExperimentConfig, Sets};
use crate::report::{devices_page, devices_text};

/// The files with the table of a device comparison and with its HTML page.
pub(super) const TABLE: &str = DEVICES[0];
pub(super) const PAGE: &str = DEVICES[1];

/// Arguments of `devices compare`.
#[derive(Debug, Args)]
#[command(after_long_help = include_str!("../texts/devices_compare.txt").trim_ascii_end())]
pub struct CompareArgs {
    /// Configuration file
    config: PathBuf,
    /// Devices, separated by commas; the first one is the baseline for the others
    #[arg(long, value_delimiter = ',', required = true, value_name = "DEVICE,..")]
    devices: Vec<String>,
    /// Number of seeds for each device; the first one is the seed in the configuration
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u64).range(2..=1000))]
    seeds: u64,
    /// Also measure how long it takes until the measure that selects rounds reaches this value on the validation
    /// queries, as in ndcg@10=0.40
    #[arg(long, value_name = "MEASURE=VALUE")]
    target: Option<String>,
    /// Run each device once with every layer precision in this list, separated by commas: f32, f16, bf16
    #[arg(long, value_delimiter = ',', value_name = "TYPE,..")]
    precision: Vec<String>,
    /// The rankers of two devices count as the same up to this difference in the measure
    #[arg(long, default_value_t = 0.005)]
    margin: f64,
    #[command(flatten)]
    folder: FolderArgs,
    /// Set a key of the configuration, as in learner.epochs=10; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Print one JSON object instead of the table
    #[arg(long)]
    json: bool,
}

impl CompareArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        let document = Document::read(&self.config, &self.set)?;
        let config = Experiment::from_document(&document)?;
        if !config.members.is_empty() {
            return Err(document.refuse("members", "expected one learner to compare devices by").into());
        }
        let settings = self.settings(&config)?;
        let target = self.target.as_deref().map(|target| value_of_target(target, &config)).transpose()?;
        ensure!(self.margin > 0.0 && self.margin.is_finite(), "--margin {}: expected a number above 0", self.margin);
        let shared = shared_configuration(&config);
        let plan = json!({
            "config": shared, "devices": settings, "seeds": self.seeds, "target": target,
            "version": env!("CARGO_PKG_VERSION"),
        });
        let (place, claim) = (self.folder.place(&config.name), self.folder.claim());
        let run = Identity::new(RunKind::Comparison, &plan.to_string());
        OutputFolder::check(&place, &run, claim)?;
        let run = run.on([self.data(config.seed)?]);
        let mut folder = OutputFolder::open(&place, &run, "", claim)?;
        let is_new = !folder.is_finished();
        let mut comparison = if is_new {
            if !self.json {
                terminal::say(format_args!("writing to {}", folder.home().display()));
            }
            let results = Results { folder: &folder, plan: &plan, interrupt: &interrupt_on_signal()? };
            self.compare(&config, &settings, target, &results).inspect_err(|_| folder.abandon())?
        } else {
            read(folder.path())?
        };
        // The margin decides on no fit.
        if is_new || comparison.margin != self.margin {
            comparison.judge(self.margin)?;
            folder.write_json(TABLE, &comparison)?;
            folder.write(PAGE, devices_page(&comparison).as_bytes())?;
            folder.finish()?;
        }
        if self.json {
            return Ok(writeln!(out, "{}", json!(comparison))?);
        }
        Ok(writeln!(out, "{}{}", devices_text(&comparison), written_to(folder.path(), PAGE, is_new))?)
    }

    /// Makes all fits, and compares them.
    fn compare(
        &self,
        config: &Experiment,
        settings: &[DeviceSetting],
        target: Option<f64>,
        results: &Results,
    ) -> Result<DeviceComparison> {
        let none = |setting: &DeviceSetting| DeviceRun { device: setting.clone(), trials: Ok(Vec::new()), step: None };
        let mut runs: Vec<DeviceRun> = settings.iter().map(none).collect();
        self.run_each(&mut runs, config.seed, target, results)?;
        let mut trials = runs.iter().filter_map(|run| run.trials.as_ref().ok()).flatten();
        let first = trials.next().map(|trial| &trial.data);
        if trials.any(|trial| Some(&trial.data) != first) {
            bail!("the data have changed between two fits; make the comparison again");
        }
        let failed: Vec<String> =
            runs.iter().filter_map(|run| Some(format!("{}: {}", run.device, run.trials.as_ref().err()?))).collect();
        DeviceComparison::new(&config.name, shared_configuration(config), self.margin, target, runs)?
            .ok_or_else(|| Failure::work(format!("no device could run the configuration: {}", failed.join("; "))))
    }

    /// Runs the configuration on every device with every seed, each in a separate process. `data.split` divides the
    /// queries by the first seed in all of them, so that the test compares the same queries over seeds. Then measures
    /// training steps on each device that did not fail.
    fn run_each(&self, runs: &mut [DeviceRun], first: u64, target: Option<f64>, results: &Results) -> Result {
        let work = Work::of("processes", (self.seeds as usize + 1) * runs.len());
        // Devices alternate, so any other load on the machine affects all of them.
        for seed in (first..).take(self.seeds as usize) {
            for (number, DeviceRun { device, trials, .. }) in (1..).zip(&mut *runs) {
                work.now(&format!("{device}, seed {seed}"));
                if let Ok(done) = trials {
                    let mut command = self.command(device, seed, target)?;
                    command.arg(format!("--split-seed={first}"));
                    match results.of(&format!("trial-{number}-seed-{seed}.json"), command)? {
                        Ok(trial) => done.push(trial),
                        Err(reason) => *trials = Err(format!("seed {seed}: {reason}")),
                    }
                }
                work.more(1);
            }
        }
        for (number, run) in (1..).zip(runs) {
            work.now(&format!("{}, training steps", run.device));
            if run.trials.is_ok() {
                let mut command = self.command(&run.device, first, None)?;
                command.arg("--steps");
                match results.of(&format!("steps-{number}.json"), command)? {
                    Ok(cost) => run.step = cost,
                    Err(reason) => log::warn!("{}: training steps were not measured: {reason}", run.device),
                }
            }
            work.more(1);
        }
        Ok(())
    }

    /// Returns all combinations of a device and a precision, each once. Instructions and a precision that a device does
    /// not name are taken from the configuration.
    fn settings(&self, config: &ExperimentConfig) -> Result<Vec<DeviceSetting>> {
        let own_precision = config.learner.get("precision").and_then(Value::as_str).and_then(precision);
        let of = |name: &String| match precision(name) {
            Some(known) => Ok(Some(known)),
            None => bail!("--precision {name}: expected f32, f16 or bf16"),
        };
        let precisions = self.precision.iter().map(of).collect::<Result<Vec<_>>>()?;
        let mut settings: Vec<DeviceSetting> = Vec::new();
        for text in &self.devices {
            let setting: DeviceSetting = text.parse().map_err(|error| Failure::input(format!("--devices: {error}")))?;
            let is_named_twice = setting.precision.is_some() && !precisions.is_empty();
            ensure!(!is_named_twice, "--devices: {text}: found a precision, and --precision too; expected one of them");
            let own = [setting.precision.or(own_precision)];
            let tried = if precisions.is_empty() { &own[..] } else { &precisions[..] };
            let instructions = setting.instructions.or(config.instructions);
            for &precision in tried {
                let setting = DeviceSetting { precision, instructions, ..setting.clone() };
                ensure!(!settings.contains(&setting), "--devices: found {setting} twice, expected it once");
                settings.push(setting);
            }
        }
        Ok(settings)
    }

    /// Reads the data and the starting ranker as the fits will, before anything is written, and returns their hashes.
    /// The process that reads them ends with their memory.
    fn data(&self, seed: u64) -> Result<String> {
        let flex = "flex".parse().map_err(Failure::input)?;
        let mut command = self.command(&flex, seed, None)?;
        command.arg("--read-only");
        run(command, &interrupt_on_signal()?, "nothing was written")?.map_err(Failure::input)
    }

    /// Returns the command that runs a fit.
    fn command(&self, setting: &DeviceSetting, seed: u64, target: Option<f64>) -> Result<Command> {
        let program = std::env::current_exe()?;
        let mut command = Command::new(program);
        command.args(["devices", "trial"]).arg(&self.config).args(["--device", &setting.device]);
        for set in self.set.iter().chain([&format!("seed={seed}")]) {
            command.args(["--set", set]);
        }
        if let Some(set) = setting.instructions {
            command.args(["--instructions", set.name()]);
        }
        if let Some(precision) = setting.precision {
            command.args(["--set", &format!("learner.precision={}", json!(precision))]);
        }
        if let Some(target) = target {
            command.arg(format!("--target={target}"));
        }
        if let Some(threads) = setting.threads {
            command.env("RAYON_NUM_THREADS", threads.to_string());
        }
        Ok(command)
    }
}

/// Reads the table in a folder.
pub(super) fn read(folder: &Path) -> Result<DeviceComparison> {
    let path = folder.join(TABLE);
    let table = fs::read(&path).and_then(|bytes| Ok(serde_json::from_slice(&bytes)?));
    let advice = "expected a table of `devices compare`";
    table.map_err(|error| Failure::input(format!("{}: {error}, {advice}", path.display())))
}

/// Returns the configuration without devices and precision, which are what the command compares.
fn shared_configuration(config: &ExperimentConfig) -> Value {
    let mut shared = config.resolved();
    for key in ["device", "instructions"] {
        shared.as_object_mut().map(|table| table.swap_remove(key));
    }
    shared["learner"].as_object_mut().map(|table| table.swap_remove("precision"));
    shared
}

/// Parses a target `MEASURE=VALUE` and returns its value. The measure must be the one that selects rounds.
fn value_of_target(target: &str, config: &ExperimentConfig) -> Result<f64> {
    let selects = config.measure.select;
    let expected = || format!("--target {target}: expected MEASURE=VALUE, as in {selects}=0.40");
    let (measure, value) = target.split_once('=').ok_or_else(|| Failure::input(expected()))?;
    let found = input::measures(&[measure.to_string()], measure)?;
    ensure!(found == [selects], "--target {target}: found {measure}, expected {selects}, which measure.select names");
    value.parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(|| Failure::input(expected()))
}

/// How long to wait before checking again whether the process of a fit has ended.
const LOOK: Duration = Duration::from_millis(50);

/// The results of the processes of a comparison, each in a file.
struct Results<'a> {
    folder: &'a OutputFolder,
    /// The arguments of the comparison.
    plan: &'a Value,
    interrupt: &'a Interrupt,
}

/// The contents of the file of a result.
#[derive(Serialize, Deserialize)]
struct Kept<T> {
    /// The checksum of the result, of the arguments of the comparison and of the file's name.
    sha256: String,
    result: T,
}

impl Results<'_> {
    /// Runs a process, and keeps its result in the file `name`. If an interrupted comparison left this file, returns
    /// its result and runs nothing. A file that is damaged, or that belongs to another fit, is made again. The inner
    /// error says why the process failed.
    fn of<T: Serialize + DeserializeOwned>(&self, name: &str, command: Command) -> Result<Result<T, String>> {
        let path = self.folder.file(name);
        if let Ok(bytes) = fs::read(&path) {
            if let Ok(kept) = serde_json::from_slice::<Kept<T>>(&bytes)
                && kept.sha256 == self.checksum(name, &kept.result)?
            {
                return Ok(Ok(kept.result));
            }
            log::warn!("{}: found damage, or the result of another fit; made again", path.display());
            fs::remove_file(&path).map_err(Failure::unwritable)?;
        }
        let text = match run(command, self.interrupt, "the fits so far are saved, --resume continues")? {
            Ok(text) => text,
            Err(reason) => return Ok(Err(reason)),
        };
        let result: T = serde_json::from_str(&text).map_err(|error| Failure::work(format!("{name}: {error}")))?;
        let kept = Kept { sha256: self.checksum(name, &result)?, result };
        self.folder.write_json(name, &kept)?;
        Ok(Ok(kept.result))
    }

    fn checksum(&self, name: &str, result: &impl Serialize) -> Result<String> {
        let text = serde_json::to_string(&(self.plan, name, result))?;
        Ok(hexadecimal(&Sha256::digest(text)))
    }
}

/// Runs a command until it ends, and returns what it printed on its standard output; the inner error says why it
/// failed. If a signal requests a stop, ends it and returns a failure that says what is `left`.
fn run(mut command: Command, interrupt: &Interrupt, left: &str) -> Result<Result<String, String>> {
    // The child holds the other end of its standard input until it ends, or until this process does.
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let all = |stream: Option<Box<dyn Read + Send>>| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            // Bytes that cannot be read are missing at the end of the text.
            let _ = stream.map(|mut stream| stream.read_to_end(&mut bytes));
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let output = all(child.stdout.take().map(|stream| Box::new(stream) as _));
    let errors = all(child.stderr.take().map(|stream| Box::new(stream) as _));
    while child.try_wait()?.is_none() && !interrupt.requested() {
        thread::sleep(LOOK);
    }
    if interrupt.requested() {
        // This does nothing if the process has already ended.
        child.kill()?;
        child.wait()?;
        return Err(Failure::work(format!("interrupted; {left}")));
    }
    let status = child.wait()?;
    let (output, errors) = (output.join().unwrap_or_default(), errors.join().unwrap_or_default());
    if status.success() {
        return Ok(Ok(output));
    }
    let said = errors.lines().rev().find(|line| !line.trim().is_empty()).map(str::trim);
    let said = said.map(|line| line.strip_prefix("error: ").unwrap_or(line).to_string());
    Ok(Err(said.unwrap_or_else(|| format!("the process ended with {status} and said nothing"))))
}

/// Arguments of `devices trial`, which ends when its standard input ends.
#[derive(Debug, Args)]
pub struct TrialArgs {
    #[command(flatten)]
    run: RunArgs,
    /// A value of the measure that selects rounds; the trial reports how long training takes to reach it
    #[arg(long)]
    target: Option<f64>,
    /// Seed by which data.split divides the queries [default: the configuration's seed]
    #[arg(long)]
    split_seed: Option<u64>,
    /// Measure the cost of training steps instead of a fit
    #[arg(long)]
    steps: bool,
    /// Read the data and the starting ranker, print their hashes and end
    #[arg(long)]
    read_only: bool,
}

impl TrialArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        let begun = Instant::now();
        // The standard input ends when the process that started this one is killed.
        thread::spawn(|| {
            // An error is an end, too.
            let _ = io::copy(&mut io::stdin(), &mut io::sink());
            std::process::exit(1);
        });
        start_threads(true);
        let Opened { document, config, device, execution } = self.run.open(None, Experiment::from_document)?;
        let text = execution.scope(|| match (self.read_only, self.steps) {
            (true, _) => {
                let split = config.data.split(config.seed)?;
                let start = config.start_ranker(None, &device)?;
                let started = start.map(|ranker| hexadecimal(&Sha256::digest(ranker.to_bytes())));
                let of_data = Sets::from_split(&split).identity(&split.train.feature_names);
                Ok::<_, Failure>(of_data.into_iter().chain(started).collect::<Vec<_>>().join("\n"))
            }
            (_, true) => Ok(serde_json::to_string(&StepCost::measure(&document, &device)?)?),
            _ => {
                let split_seed = self.split_seed.unwrap_or(config.seed);
                Ok(serde_json::to_string(&Trial::run(&config, split_seed, &device, begun, self.target)?)?)
            }
        })?;
        Ok(writeln!(out, "{text}")?)
    }
}
