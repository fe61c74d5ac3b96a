//! Compares the rankers and the speed that one configuration gives on several devices.
//!
//! | file | what |
//! |---|---|
//! | `trial.rs` | one fit on one device, measured in the process that made it; errors of loss and gradient on one batch |
//! | `step_cost.rs` | times of rounds, speed by the queries of a step, reads of the device, launches and time by kernel |
//! | `comparison.rs` | the table: a row per device, and tables of several machines |
//!
//! `burn-rank devices compare` starts a process for each [`Trial`]. A trial thus measures its own start-up and peak
//! memory, and its failure does not affect other trials.

mod comparison;
mod step_cost;
mod trial;

pub use comparison::{DeviceComparison, DeviceRow, DeviceRun};
pub use step_cost::StepCost;
pub use trial::Trial;

use std::fmt;
use std::str::FromStr;

use burn_rank::learner::gradient::Precision;
use burn_rank::op::Instructions;
use burn_rank::workbench::learner::precision_name;
use burn_rank::workbench::text::{did_you_mean, nearest};
use burn_rank::workbench::{backends, not_built};

// Imports for the files of this folder, which take them with `use super::*`.
use std::collections::BTreeMap;

use burn::tensor::Device;
use burn_rank::json::Value;
use burn_rank::workbench::ranker::Versions;
use serde::{Deserialize, Serialize};

use crate::experiment::{Experiment, ExperimentError, FitOptions, Split, fit_in_place};
use crate::number::median;

/// The result of a measurement.
type Result<T, E = ExperimentError> = std::result::Result<T, E>;

/// A device with its settings, written as in `flex@baseline+threads=1+precision=bf16`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DeviceSetting {
    /// The device, as for `--device`.
    pub device: String,
    /// The instructions that the fused CPU kernels use; `None` for the best that the processor has.
    pub instructions: Option<Instructions>,
    /// The number of threads in the processor pool; `None` for one per core.
    pub threads: Option<usize>,
    /// The number type of a scorer's layers in training; `None` for the type in the configuration.
    pub precision: Option<Precision>,
}

impl DeviceSetting {
    /// Returns the name of the backend.
    fn backend(&self) -> &str {
        self.device.split(':').next().unwrap_or_default()
    }
}

/// Reads a setting, also one with a backend that this build lacks: a report may come from a build that has other
/// backends.
impl TryFrom<String> for DeviceSetting {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let refuse = |reason: String| format!("device `{text}`: {reason}");
        let mut parts = text.split('+');
        let head = parts.next().unwrap_or_default();
        let (device, instructions) = match head.rsplit_once('@') {
            None => (head, None),
            Some((device, set)) => {
                (device, Some(set.parse::<Instructions>().map_err(|error| refuse(error.to_string()))?))
            }
        };
        let mut setting = Self { device: device.to_string(), instructions, threads: None, precision: None };
        let backend = setting.backend();
        let names: Vec<&str> = backends().map(|(name, ..)| name).collect();
        if !names.contains(&backend) {
            let near = did_you_mean(&nearest(backend, names.iter().copied()));
            return Err(refuse(format!("found `{backend}`, expected one of {}{near}", names.join(", "))));
        }
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let refused = |expected: &str| refuse(format!("{key} = `{value}`, expected {expected}"));
            match key {
                "threads" if setting.threads.is_none() => {
                    let threads = value.parse().ok().filter(|threads| (1..=1024).contains(threads));
                    setting.threads = Some(threads.ok_or_else(|| refused("a number from 1 to 1024"))?);
                }
                "precision" if setting.precision.is_none() => {
                    setting.precision = Some(precision(value).ok_or_else(|| refused("f32, f16 or bf16"))?);
                }
                "threads" | "precision" => return Err(refuse(format!("found {key} twice"))),
                _ => {
                    let near = did_you_mean(&nearest(key, ["threads", "precision"]));
                    return Err(refuse(format!("found `{key}`, expected threads=N or precision=TYPE{near}")));
                }
            }
        }
        Ok(setting)
    }
}

impl FromStr for DeviceSetting {
    /// Why the setting cannot be run.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let setting = Self::try_from(text.to_string())?;
        match backends().find(|(name, ..)| *name == setting.backend()) {
            Some((name, _, false)) => Err(format!("device `{text}`: {}", not_built(name))),
            _ => Ok(setting),
        }
    }
}

/// Returns the precision with this name, such as `bf16`, or `None` for an unknown name.
pub(crate) fn precision(name: &str) -> Option<Precision> {
    [Precision::F32, Precision::F16, Precision::Bf16].into_iter().find(|precision| precision_name(*precision) == name)
}

impl fmt::Display for DeviceSetting {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.device)?;
        if let Some(set) = self.instructions {
            write!(f, "@{set}")?;
        }
        if let Some(threads) = self.threads {
            write!(f, "+threads={threads}")?;
        }
        if let Some(precision) = self.precision {
            write!(f, "+precision={}", precision_name(precision))?;
        }
        Ok(())
    }
}

impl From<DeviceSetting> for String {
    fn from(setting: DeviceSetting) -> Self {
        setting.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        text.parse::<DeviceSetting>().unwrap_err()
    }

    #[test]
    fn a_setting_is_written_as_it_is_read() {
        for text in ["flex", "flex@baseline", "flex+threads=1", "flex@avx2+threads=2+precision=bf16"] {
            assert_eq!(text.parse::<DeviceSetting>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_cannot_be_set_is_refused_by_name() {
        assert!(refusal("flx").ends_with("did you mean `flex`?"), "{}", refusal("flx"));
        assert!(refusal("flex@avx3").contains("avx2"));
        assert!(refusal("flex+thread=1").ends_with("did you mean `threads`?"));
        assert_eq!(
            refusal("flex+threads=0"),
            "device `flex+threads=0`: threads = `0`, expected a number from 1 to 1024"
        );
        assert!(refusal("flex+precision=f64").contains("expected f32, f16 or bf16"));
        assert!(refusal("flex+threads=1+threads=2").ends_with("found threads twice"));
        assert!(refusal("flex+precision=f32+precision=f32").ends_with("found precision twice"));
    }

    #[test]
    #[cfg(not(feature = "cuda"))]
    fn a_report_names_devices_that_this_build_lacks() {
        assert!(refusal("cuda").contains("--features cuda"));
        let read = DeviceSetting::try_from("cuda:1+threads=2".to_string()).unwrap();
        assert_eq!((read.device.as_str(), read.threads), ("cuda:1", Some(2)));
    }
}
