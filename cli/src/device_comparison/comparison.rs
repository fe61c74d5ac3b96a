//! The table that compares devices: it has a row for each device, and compares each row with the first.

use burn_rank::measure::significance::SignificanceError;
use burn_rank::workbench::significance::{Equivalence, EquivalenceVerdict, equivalence, mean, standard_error};

use super::trial::{FirstBatchError, PeakBytes, larger};
use super::*;

/// The largest accepted relative errors of the loss and the gradient on the first batch, in 32-bit and in 16-bit
/// precision.
const LARGEST_ERROR: [f64; 2] = [1e-3, 5e-2];

/// A comparison of several devices on one experiment, stored in `devices.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceComparison {
    /// Name of the configuration.
    pub name: String,
    /// The resolved configuration, without device, instructions and precision.
    pub config: Value,
    /// The measure that is compared, with its convention.
    pub measure: String,
    /// Set of queries.
    pub set: String,
    /// The hash of the raw queries of each set.
    pub data: BTreeMap<String, String>,
    /// The rankers from two devices count as equivalent up to this difference in quality.
    pub margin: f64,
    /// The value of the measure that fits should reach (`--target`), if the time to reach it was requested.
    pub target: Option<f64>,
    /// Versions of the builds.
    pub versions: Versions,
    /// One row per device; all others are compared with the first.
    pub devices: Vec<DeviceRow>,
}

/// One device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceRow {
    /// The device and its settings.
    pub device: DeviceSetting,
    /// The name of the machine's table, if tables of several machines were merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// The reason why the device has no result, if it failed.
    pub failure: Option<String>,
    /// The selection measure, averaged over seeds.
    pub quality: Option<Quality>,
    /// Whether the rankers are equivalent to the rankers from the first device. `None` for the first device itself, and
    /// if either device failed.
    pub equivalence: Option<Equivalence>,
    /// The largest errors on the first batch, over all seeds.
    pub error: Option<FirstBatchError>,
    /// The number of training documents per second, as the median over seeds.
    pub train_documents_per_second: Option<f64>,
    /// The number of scored documents per second, as the median over seeds.
    pub score_documents_per_second: Option<f64>,
    /// The time to reach the target, in seconds, as the median over the seeds that reached it.
    pub seconds_to_target: Option<f64>,
    /// The number of seeds that reached the target.
    pub reached_target: usize,
    /// The best value on the validation queries, over all rounds and seeds.
    pub best: Option<f64>,
    /// The start-up time in seconds, as the median over seeds. It is the time to the end of the first round minus the
    /// duration of a later round.
    pub seconds_to_start: Option<f64>,
    /// The times to open the device and to compile kernels, and the duration of a round.
    pub seconds: RowSeconds,
    /// The number of training steps of a fit, as the maximum over seeds; `None` for learners without steps.
    pub steps: Option<usize>,
    /// The cost of a training step; `None` if it was not measured.
    pub step: Option<StepCost>,
    /// The largest amounts of memory that any seed used.
    pub peak_bytes: PeakBytes,
    /// The fits.
    pub trials: Vec<Trial>,
}

/// Durations on one device in seconds, each the median over seeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RowSeconds {
    /// The time to open the device.
    pub open: Option<f64>,
    /// The time to compile and tune kernels.
    pub compile: Option<f64>,
    /// A round.
    pub round: Option<f64>,
}

/// A measure over seeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// The mean of the measure over queries and seeds.
    pub mean: f64,
    /// The standard error of the mean over seeds; `None` for one seed.
    pub standard_error: Option<f64>,
}

/// A device with the fits that ran on it, and the cost of its training steps.
#[derive(Debug, Clone)]
pub struct DeviceRun {
    /// The device and its settings.
    pub device: DeviceSetting,
    /// Its fits, or the reason why there are none.
    pub trials: Result<Vec<Trial>, String>,
    /// The cost of a training step; `None` if it was not measured.
    pub step: Option<StepCost>,
}

impl DeviceComparison {
    /// Makes the table from the fits on each device, or returns `None` if every device failed.
    ///
    /// # Errors
    /// Returns a [`SignificanceError`] if the equivalence of two rankers cannot be tested.
    pub fn new(
        name: &str,
        config: Value,
        margin: f64,
        target: Option<f64>,
        runs: Vec<DeviceRun>,
    ) -> Result<Option<Self>, SignificanceError> {
        let Some(first) = runs.iter().find_map(|run| run.trials.as_ref().ok()?.first()) else { return Ok(None) };
        let mut comparison = Self {
            name: name.to_string(),
            config,
            measure: first.measure.clone(),
            set: first.set.clone(),
            data: first.data.clone(),
            margin,
            target,
            versions: first.versions.clone(),
            devices: runs.into_iter().map(DeviceRow::new).collect(),
        };
        comparison.judge(margin)?;
        Ok(Some(comparison))
    }

    /// Merges tables from several machines and labels each with the name of its machine. Every row is compared with the
    /// first row of the first table.
    ///
    /// # Errors
    /// Returns an error if the configuration, the data, the seeds or the versions of the tables differ.
    ///
    /// # Panics
    /// Panics without tables.
    pub fn merge(tables: Vec<(String, Self)>) -> Result<Self> {
        let mut tables = tables.into_iter();
        let (first, mut merged) = tables.next().expect("one table or more");
        let label =
            |rows: &mut [DeviceRow], name: &str| rows.iter_mut().for_each(|row| row.machine = Some(name.to_string()));
        let differs = |second: &str, what: &str, first: &str| {
            let expected = "the same configuration, data, seeds and version";
            ExperimentError::Input(format!("{second}: found {what} than in {first}; expected {expected}"))
        };
        label(&mut merged.devices, &first);
        for (second, mut table) in tables {
            let found = [
                ("another configuration", table.config != merged.config),
                ("other data", table.data != merged.data),
                ("another version", table.versions != merged.versions),
            ];
            if let Some((what, _)) = found.into_iter().find(|(_, differs)| *differs) {
                return Err(differs(&second, what, &first));
            }
            label(&mut table.devices, &second);
            merged.devices.append(&mut table.devices);
        }
        let mut fitted = merged.devices.iter().filter(|row| row.failure.is_none());
        let baseline = fitted.next();
        let other = fitted.find_map(|row| Some((row, difference(&baseline?.trials, &row.trials)?)));
        if let Some((row, what)) = other {
            return Err(differs(row.machine.as_deref().unwrap_or_default(), what, &first));
        }
        merged.judge(merged.margin).map_err(|error| ExperimentError::Input(error.to_string()))?;
        Ok(merged)
    }

    /// Tests, for every device, whether its rankers are equivalent to those from the first device up to this margin.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn judge(&mut self, margin: f64) -> Result<(), SignificanceError> {
        self.margin = margin;
        let Some((first, others)) = self.devices.split_first_mut() else { return Ok(()) };
        first.equivalence = None;
        for row in others {
            let are_fitted = first.failure.is_none() && row.failure.is_none();
            row.equivalence = are_fitted.then(|| equivalent(&first.trials, row, margin)).transpose()?;
        }
        Ok(())
    }
}

/// Returns the first thing in which the fits of two devices differ and may not; `None` if they can be compared.
fn difference(first: &[Trial], second: &[Trial]) -> Option<&'static str> {
    if !first.iter().map(|trial| trial.seed).eq(second.iter().map(|trial| trial.seed)) {
        return Some("other seeds");
    }
    let excluded = |trial: &Trial| trial.values.iter().map(Option::is_none).collect::<Vec<bool>>();
    let differ = |(a, b): (&Trial, &Trial)| a.data != b.data || excluded(a) != excluded(b);
    first.iter().zip(second).any(differ).then_some("other data")
}

/// Tests whether the rankers of a row are equivalent to the rankers of the first device.
fn equivalent(first: &[Trial], row: &DeviceRow, margin: f64) -> Result<Equivalence, SignificanceError> {
    let pairs = || first.iter().zip(&row.trials);
    let difference = |(first, second): (&Trial, &Trial)| -> Vec<f64> {
        let both = first.values.iter().zip(&second.values);
        both.filter_map(|(first, second)| Some((*second)? - (*first)?)).collect()
    };
    let differences: Vec<Vec<f64>> = pairs().map(difference).collect();
    if pairs().all(|(first, second)| first.ranker == second.ranker && first.values == second.values) {
        return Ok(Equivalence::identical(margin, differences.first().map_or(0, Vec::len), differences.len()));
    }
    let mut found = equivalence(&differences, margin)?;
    if row.is_wrong() {
        found.verdict = EquivalenceVerdict::Different;
        found.seeds_to_decide = None;
    }
    Ok(found)
}

impl DeviceRow {
    fn new(DeviceRun { device, trials, step }: DeviceRun) -> Self {
        let failure = trials.as_ref().err().cloned();
        let trials = trials.unwrap_or_default();
        let over =
            |value: fn(&Trial) -> Option<f64>| median(&mut trials.iter().filter_map(value).collect::<Vec<f64>>());
        let bytes = |value: fn(&PeakBytes) -> Option<u64>| trials.iter().filter_map(|of| value(&of.peak_bytes)).max();
        let error = |value: fn(&FirstBatchError) -> f64| {
            trials.iter().filter_map(|trial| Some(value(&trial.error?))).reduce(larger)
        };
        let error = error(|of| of.loss).zip(error(|of| of.gradient));
        Self {
            machine: None,
            failure,
            quality: Quality::over(&trials),
            equivalence: None,
            error: error.map(|(loss, gradient)| FirstBatchError { loss, gradient }),
            train_documents_per_second: over(|trial| trial.train_documents_per_second),
            score_documents_per_second: over(|trial| trial.score_documents_per_second),
            seconds_to_target: over(|trial| trial.seconds.target),
            reached_target: trials.iter().filter(|trial| trial.seconds.target.is_some()).count(),
            best: trials.iter().filter_map(|trial| trial.best).reduce(f64::max),
            seconds_to_start: over(|trial| Some(trial.seconds.open + trial.seconds.compile?)),
            seconds: RowSeconds {
                open: over(|trial| Some(trial.seconds.open)),
                compile: over(|trial| trial.seconds.compile),
                round: over(|trial| trial.seconds.round),
            },
            steps: trials.iter().filter_map(|trial| trial.steps).max(),
            step,
            peak_bytes: PeakBytes { host: bytes(|of| of.host), device: bytes(|of| of.device) },
            device,
            trials,
        }
    }

    /// Returns the name of the device, followed by its machine if the table covers several machines.
    pub fn name(&self) -> String {
        let machine = self.machine.as_ref().map_or(String::new(), |machine| format!("{machine}: "));
        format!("{machine}{}", self.device)
    }

    /// Returns whether the loss or the gradient of the first batch is wrong, regardless of the ranker's quality.
    pub fn is_wrong(&self) -> bool {
        let is_half = self.device.precision.is_some_and(|precision| !precision.is_full());
        let limit = LARGEST_ERROR[usize::from(is_half)];
        self.error.is_some_and(|error| error.largest() > limit)
    }

    /// Returns the word for the result of the comparison with the first device, such as `equivalent`.
    pub fn verdict(&self) -> &'static str {
        match &self.equivalence {
            _ if self.failure.is_some() => "failed",
            None if self.is_wrong() => "wrong",
            Some(found) => found.verdict.in_words(),
            None => "first",
        }
    }
}

impl Quality {
    /// Averages the measure over the queries for each seed, then over seeds.
    fn over(trials: &[Trial]) -> Option<Self> {
        let of_seed = |trial: &Trial| mean(&trial.values.iter().flatten().copied().collect::<Vec<f64>>());
        let means: Vec<f64> = trials.iter().map(of_seed).collect();
        let standard_error = (means.len() > 1).then(|| standard_error(&means));
        (!means.is_empty()).then(|| Self { mean: mean(&means), standard_error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device_comparison::step_cost::TrialSeconds;

    fn trial(seed: u64, values: &[f64], ranker: &str, error: f64) -> Trial {
        Trial {
            seed,
            measure: "ndcg@10 (standard)".into(),
            set: "test".into(),
            values: values.iter().copied().map(Some).collect(),
            ranker: ranker.into(),
            data: BTreeMap::from([("train".into(), "a".into())]),
            error: Some(FirstBatchError { loss: 0.0, gradient: error }),
            rounds: 2,
            steps: Some(20),
            best: Some(0.5),
            train_documents_per_second: Some(10.0),
            score_documents_per_second: Some(20.0),
            seconds: TrialSeconds { open: 0.5, compile: Some(0.25), round: Some(1.0), target: None },
            peak_bytes: PeakBytes { host: Some(1 << 20), device: None },
            threads: 1,
            instructions: "avx2".into(),
            platform: "x86_64 linux".into(),
            versions: Versions::current(),
        }
    }

    fn row(device: &str, trials: Vec<Trial>) -> DeviceRun {
        DeviceRun { device: device.parse().unwrap(), trials: Ok(trials), step: None }
    }

    fn table(rows: Vec<DeviceRun>) -> DeviceComparison {
        DeviceComparison::new("a", Value::Null, 0.005, Some(0.9), rows).unwrap().unwrap()
    }

    fn two(values: &[f64], ranker: &str, error: f64) -> Vec<Trial> {
        vec![trial(1, values, ranker, error), trial(2, values, ranker, error)]
    }

    #[test]
    fn a_row_is_identical_same_different_or_failed() {
        let found = table(vec![
            row("flex", two(&[0.5, 0.75], "a", 1e-7)),
            row("flex+threads=1", two(&[0.5, 0.75], "a", 1e-7)),
            row("flex@baseline", two(&[0.5, 0.75], "b", 1e-7)),
            row("flex+threads=2", two(&[0.25, 0.5], "c", 1e-7)),
            DeviceRun { trials: Err("it died".into()), ..row("flex+threads=3", vec![]) },
        ]);
        let verdicts: Vec<&str> = found.devices.iter().map(DeviceRow::verdict).collect();
        assert_eq!(verdicts, ["first", "identical", "same", "different", "failed"]);
        let first = &found.devices[0];
        assert_eq!((first.quality.unwrap().mean, first.seconds_to_start), (0.625, Some(0.75)));
        assert_eq!((first.seconds_to_target, first.reached_target, first.best), (None, 0, Some(0.5)));
    }

    #[test]
    fn a_wrong_kernel_is_different_whatever_the_quality_is() {
        let of = |device: &str, error: f64| {
            let rows = vec![row("flex", two(&[0.5, 0.75], "a", 1e-7)), row(device, two(&[0.5, 0.75], "b", error))];
            table(rows).devices[1].verdict()
        };
        assert_eq!(of("flex+threads=1", 2e-3), "different");
        assert_eq!(of("flex+threads=1", f64::NAN), "different");
        // 16 bits round more.
        assert_eq!(of("flex+precision=bf16", 2e-3), "same");
        assert_eq!(of("flex+precision=bf16", 6e-2), "different");
    }

    #[test]
    fn tables_of_other_work_are_not_put_together() {
        let one = || table(vec![row("flex", two(&[0.5, 0.75], "a", 1e-7))]);
        let mut other = one();
        other.data.insert("train".into(), "b".into());
        let error = DeviceComparison::merge(vec![("x".into(), one()), ("y".into(), other)]).unwrap_err();
        assert!(error.to_string().starts_with("y: found other data than in x"), "{error}");
        let mut fewer = one();
        fewer.devices[0].trials[1].values.pop();
        let error = DeviceComparison::merge(vec![("x".into(), one()), ("y".into(), fewer)]).unwrap_err();
        assert!(error.to_string().starts_with("y: found other data than in x"), "{error}");
        let merged = DeviceComparison::merge(vec![("x".into(), one()), ("y".into(), one())]).unwrap();
        let names: Vec<String> = merged.devices.iter().map(DeviceRow::name).collect();
        assert_eq!(names, ["x: flex", "y: flex"]);
        assert_eq!(merged.devices[1].verdict(), "identical");
    }

    #[test]
    fn a_table_is_read_as_it_is_written() {
        let written = table(vec![row("flex", two(&[0.5, 0.75], "a", 1e-7))]);
        let text = serde_json::to_string(&written).unwrap();
        assert_eq!(serde_json::from_str::<DeviceComparison>(&text).unwrap(), written);
        // JSON has no NaN, which is the error of a device that computes none.
        let wrong = vec![trial(1, &[0.5, 0.75], "b", f64::NAN), trial(2, &[0.5, 0.75], "b", 1e-7)];
        let written = table(vec![row("flex", two(&[0.5, 0.75], "a", 1e-7)), row("flex+threads=1", wrong)]);
        let read: DeviceComparison = serde_json::from_str(&serde_json::to_string(&written).unwrap()).unwrap();
        assert!(read.devices[1].error.unwrap().gradient.is_nan());
        assert_eq!(read.devices[1].verdict(), "different");
    }
}
