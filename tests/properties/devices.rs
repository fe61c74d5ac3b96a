//! The devices that the suite runs on.

use std::io::Write;
use std::sync::OnceLock;

use burn::tensor::{DType, Device};
use burn_rank::device::{self, BACKENDS};

/// Names of the devices to test, separated by commas, all of which must be present.
const VARIABLE: &str = "BURN_RANK_DEVICES";

/// A device under test.
pub struct Present {
    pub name: String,
    pub device: Device,
    /// The types in which it is tested. GPUs are tested in f32 alone, since their f64 is missing or unfinished.
    pub types: &'static [DType],
    /// Whether it is the processor, where every primitive has a kernel.
    pub processor: bool,
}

/// Returns the devices that the environment names; without it, every backend of this build that opens here.
pub fn devices() -> &'static [Present] {
    static DEVICES: OnceLock<Vec<Present>> = OnceLock::new();
    DEVICES.get_or_init(|| match std::env::var(VARIABLE) {
        Ok(names) => names
            .split(',')
            .map(|name| present(name, device::open(name).unwrap_or_else(|error| panic!("{VARIABLE}: {error}"))))
            .collect(),
        Err(_) => BACKENDS
            .iter()
            .filter(|backend| backend.built)
            .filter_map(|backend| match device::open(backend.name) {
                Ok(device) => Some(present(backend.name, device)),
                Err(error) => {
                    // Not `eprintln!`, whose output is not shown for tests that pass.
                    let _ = writeln!(std::io::stderr(), "skipped on {}: {error}", backend.name);
                    None
                }
            })
            .collect(),
    })
}

fn present(name: &str, device: Device) -> Present {
    let processor = matches!(name, "flex" | "ndarray");
    let types: &[DType] = if processor { &[DType::F64, DType::F32] } else { &[DType::F32] };
    Present { name: name.to_owned(), device, types, processor }
}
