//! The devices that the suite runs on.

use std::io::Write;
use std::sync::OnceLock;

use burn::tensor::{DType, Device};
use burn_rank::device::{self, DeviceError};

/// Names of the devices to test, separated by commas, all of which must be present. `remote` without an address, in a
/// build with the feature `_server`, is a server on the loopback that the suite starts.
const VARIABLE: &str = "BURN_RANK_DEVICES";

/// One of how many losses is run on a GPU, 1 by default: all of them take a driver in software many minutes.
const SAMPLE: &str = "BURN_RANK_SAMPLE";

/// A device under test.
pub struct Present {
    pub name: String,
    pub device: Device,
    /// The types in which it is tested. GPUs are tested only in f32, since their f64 is missing or unfinished.
    pub types: &'static [DType],
    /// The path that computes primitives there.
    pub path: Path,
}

impl Present {
    /// Returns whether the loss number `index` is run here.
    pub fn runs(&self, index: usize) -> bool {
        let sample = std::env::var(SAMPLE).ok().map_or(1, |text| {
            text.parse::<usize>()
                .ok()
                .filter(|&sample| sample > 0)
                .unwrap_or_else(|| panic!("{SAMPLE}: `{text}`, expected 1 or more"))
        });
        self.path != Path::Gpu || index.is_multiple_of(sample)
    }
}

/// The path that computes primitives on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// Kernels of the processor.
    Processor,
    /// Kernels of a GPU, also under a driver that is software.
    Gpu,
    /// Tensor operations of the backend, with analytic gradients.
    Tensor,
}

/// Returns the devices that the environment names; without it, every backend of this build that opens here.
pub fn devices() -> &'static [Present] {
    static DEVICES: OnceLock<Vec<Present>> = OnceLock::new();
    DEVICES.get_or_init(|| match std::env::var(VARIABLE) {
        Ok(names) => names
            .split(',')
            .map(|name| present(name, open(name).unwrap_or_else(|error| panic!("{VARIABLE}: {error}"))))
            .collect(),
        Err(_) => device::built()
            .filter_map(|name| match open(name) {
                Ok(device) => Some(present(name, device)),
                Err(error) => {
                    // Not `eprintln!`, whose output is not shown for tests that pass.
                    let _ = writeln!(std::io::stderr(), "skipped on {name}: {error}");
                    None
                }
            })
            .collect(),
    })
}

/// Returns the devices under test that `on` takes. Without one the test fails, unless the environment names the
/// devices: then it says that it is skipped.
pub fn devices_that(on: fn(&Present) -> bool) -> Vec<&'static Present> {
    let taken: Vec<&Present> = devices().iter().filter(|present| on(present)).collect();
    if taken.is_empty() {
        let names = std::env::var(VARIABLE).expect("a device of this build is one that the test is about");
        let test = std::thread::current();
        let test = test.name().unwrap_or("a test");
        let _ = writeln!(std::io::stderr(), "skipped: {test} is about none of {VARIABLE}={names}");
    }
    taken
}

/// Flex, whatever the environment names.
pub fn flex() -> Present {
    present("flex", Device::flex())
}

fn open(name: &str) -> Result<Device, DeviceError> {
    #[cfg(feature = "_server")]
    if name == "remote" {
        return device::open(&format!("remote:{}", serve()));
    }
    device::open(name)
}

/// Serves Flex on a free port of the loopback, for as long as the process runs; gives its address.
#[cfg(feature = "_server")]
fn serve() -> String {
    use burn::server::{RemoteServer, WebSocketTransport};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
    let address = format!("ws://{}", listener.local_addr().expect("a listener has an address"));
    std::thread::spawn(move || {
        RemoteServer::new([Device::flex()]).serve(WebSocketTransport::from_listener(listener)).expect("the server runs")
    });
    address
}

fn present(name: &str, device: Device) -> Present {
    let path = match name.split(':').next() {
        Some("flex") => Path::Processor,
        Some("ndarray" | "tch" | "remote") => Path::Tensor,
        _ => Path::Gpu,
    };
    let types: &[DType] = if path == Path::Gpu { &[DType::F32] } else { &[DType::F64, DType::F32] };
    Present { name: name.to_owned(), device, types, path }
}
