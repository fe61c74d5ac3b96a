//! Opens devices by name: the backend is chosen at run time.
//!
//! | name | backend | cargo feature |
//! |---|---|---|
//! | `flex` | burn Flex, CPU (default) | `flex`, on by default |
//! | `ndarray` | burn ndarray, CPU | `ndarray` |
//! | `tch`, `tch:cuda:0`, `tch:mps` | LibTorch | `tch` |
//! | `remote:ws://host:3000` | the first device of a burn server | `remote` |
//! | `cuda`, `cuda:1` | NVIDIA CUDA | `cuda` |
//! | `rocm`, `rocm:1` | AMD ROCm | `rocm` |
//! | `wgpu`, `vulkan`, `metal`, each also `:discrete:0`, `:integrated:0`, `:virtual:0`, `:cpu` | wgpu graphics APIs | `wgpu`, `vulkan`, `metal` |

#[cfg(feature = "learners")]
use std::cell::Cell;
use std::fmt::Display;
use std::panic;

#[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal"))]
use burn::tensor::DeviceKind;
use burn::tensor::{Device, Tensor, TensorData};

/// A backend that this project supports.
pub(crate) struct Backend {
    /// The name of the backend, which is the first part of a device name.
    pub name: &'static str,
    /// A one-line description.
    pub summary: &'static str,
    /// Whether this build includes the backend.
    pub built: bool,
}

/// All supported backends, whether or not this build includes them.
pub(crate) const BACKENDS: &[Backend] = &[
    Backend { name: "flex", summary: "burn Flex, CPU", built: cfg!(any(feature = "flex", test)) },
    Backend { name: "ndarray", summary: "burn ndarray, CPU", built: cfg!(feature = "ndarray") },
    Backend { name: "tch", summary: "LibTorch, CPU or GPU", built: cfg!(feature = "tch") },
    Backend { name: "remote", summary: "device of a burn server", built: cfg!(feature = "remote") },
    Backend { name: "cuda", summary: "NVIDIA GPU through CUDA", built: cfg!(feature = "cuda") },
    Backend { name: "rocm", summary: "AMD GPU through ROCm", built: cfg!(feature = "rocm") },
    Backend { name: "vulkan", summary: "GPU through Vulkan (SPIR-V kernels)", built: cfg!(feature = "vulkan") },
    Backend { name: "wgpu", summary: "GPU through wgpu (WGSL kernels)", built: cfg!(feature = "wgpu") },
    Backend { name: "metal", summary: "Apple GPU through Metal", built: cfg!(feature = "metal") },
];

/// The reason why a device cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// No such backend.
    #[error("device `{found}`: expected one of {}{}", names(), crate::text::did_you_mean(.nearest))]
    Unknown {
        /// The device name given.
        found: String,
        /// The backend with the most similar name, if any name is similar enough.
        nearest: Option<String>,
    },
    /// This build lacks the backend.
    #[error("device `{found}`: {}", not_built(backend))]
    NotBuilt {
        /// The device name given.
        found: String,
        /// The backend's name, which is also the name of its cargo feature.
        backend: &'static str,
    },
    /// The device name has a selector, such as an index, that the backend does not accept.
    #[error("device `{found}`: selector `{selector}`, expected {expected}")]
    Selector {
        /// The device name given.
        found: String,
        /// The part of the device name after the first colon, or an empty string.
        selector: String,
        /// The selectors that the backend accepts.
        expected: &'static str,
    },
    /// The backend exists, but the device does not work.
    #[error("device `{found}` cannot be opened: {reason}")]
    Unavailable {
        /// The device name given.
        found: String,
        /// The backend's error message, or the wrong result of the test computation.
        reason: String,
    },
    /// The device that `BURN_DEVICE` names cannot be opened.
    #[error("{VARIABLE}: {0}")]
    Variable(Box<DeviceError>),
}

/// Says that this build lacks a backend, and how to build with it. Names the backend that has been tested on a GPU
/// where this one has not.
pub(crate) fn not_built(backend: &str) -> String {
    let tested = match backend {
        "cuda" | "rocm" | "metal" => "; the one tested on a GPU is `vulkan`",
        _ => "",
    };
    format!(
        "this build has no {backend} backend; build with its feature, as in `cargo install --locked --path cli --features \
         {backend}`{tested}"
    )
}

/// The environment variable that names the default device, as burn's own default device has it.
pub const VARIABLE: &str = "BURN_DEVICE";

/// Returns the name of the device in the environment variable `BURN_DEVICE`, or `None` if it is not set or empty. The
/// name of the backend may have capital letters, as for burn.
pub fn from_environment() -> Option<String> {
    #[allow(clippy::disallowed_methods, reason = "burn's convention; whoever calls this asks for it")]
    let value = std::env::var_os(VARIABLE)?;
    named(&value.to_string_lossy())
}

/// Returns the name of a device, as a value of the variable gives it.
fn named(value: &str) -> Option<String> {
    let (head, selector) = value.split_at(value.find(':').unwrap_or(value.len()));
    (!value.is_empty()).then(|| head.to_lowercase() + selector)
}

/// Returns the name of the default device: the one that `BURN_DEVICE` names, or `flex`, the CPU, if the variable is not
/// set.
pub fn default_name() -> String {
    from_environment().unwrap_or_else(|| "flex".to_string())
}

/// Opens the [default device](default_name).
///
/// # Errors
/// Returns [`DeviceError::Variable`], which names the variable, if the device in it cannot be opened, and otherwise an
/// error as [`open`] does.
pub fn open_default() -> Result<Device, DeviceError> {
    open(&default_name()).map_err(|error| match from_environment() {
        Some(_) => DeviceError::Variable(Box::new(error)),
        None => error,
    })
}

/// Returns the names of the backends that this build includes.
pub fn built() -> impl Iterator<Item = &'static str> {
    BACKENDS.iter().filter(|backend| backend.built).map(|backend| backend.name)
}

fn names() -> String {
    BACKENDS.iter().map(|b| b.name).collect::<Vec<_>>().join(", ")
}

/// Returns a device for small computations on data that are not yet on any device. The device is the CPU, or burn's
/// default device in a build without Flex.
pub(crate) fn host() -> Device {
    #[cfg(any(feature = "flex", test))]
    return Device::flex();
    #[cfg(not(any(feature = "flex", test)))]
    Device::default()
}

/// Returns whether the tensors of a device are in the memory of this process.
pub(crate) fn in_host_memory(device: &Device) -> bool {
    #[cfg(any(feature = "flex", test))]
    if *device == Device::flex() {
        return true;
    }
    #[cfg(feature = "ndarray")]
    #[allow(deprecated)]
    if *device == Device::ndarray() {
        return true;
    }
    let _ = device;
    false
}

/// Returns the size in bytes of the largest buffer that a GPU offers to a kernel, or `None` for other devices.
#[cfg(feature = "learners")]
pub(crate) fn largest_buffer(device: &Device) -> Option<usize> {
    match device.clone().inner().as_dispatch() {
        #[cfg(feature = "_cube")]
        burn::backend::DispatchDevice::Cube(device) => {
            Some(usize::try_from(device.client().properties().memory.max_page_size).unwrap_or(usize::MAX))
        }
        _ => None,
    }
}

/// Limits the blocks of operations that burn's kernel fusion keeps open at the same time, unless a file `burn.toml` or
/// the program has set burn's configuration.
///
/// With burn's default, 5, the fusion often finds no valid order for the blocks of a training step. It then runs all
/// their operations one by one, with a launch for each.
#[cfg(feature = "_cube")]
fn limit_fusion() {
    use burn::BurnConfig;
    use burn_cubecl::cubecl::config::RuntimeConfig;

    let config = BurnConfig::from_current_dir().override_from_env();
    let is_default = config.fusion().beam_search.max_blocks == BurnConfig::default().fusion().beam_search.max_blocks;
    // The fields of the configuration are private, but it can be written and read.
    let limited = || {
        let mut written = serde_json::to_value(&config).ok()?;
        *written.pointer_mut("/fusion/beam_search/max_blocks")? = FUSED_BLOCKS.into();
        serde_json::from_value(written).ok()
    };
    BurnConfig::try_set(if is_default { limited().unwrap_or_else(|| config.clone()) } else { config });
}

/// The number of blocks for [`limit_fusion`].
#[cfg(feature = "_cube")]
const FUSED_BLOCKS: usize = 3;

#[cfg(feature = "learners")]
thread_local! {
    /// The number of times that this thread has read from a device, as counted by [`count_read`].
    static READS: Cell<u64> = const { Cell::new(0) };
    /// The number of bytes that this thread has put into batches for a device, as counted by [`sent`].
    static SENT: Cell<u64> = const { Cell::new(0) };
}

/// Counts the bytes of the data, which the caller sends to a device, and returns the data.
pub(crate) fn sent(data: TensorData) -> TensorData {
    #[cfg(feature = "learners")]
    SENT.set(SENT.get() + data.as_bytes().len() as u64);
    data
}

/// Returns the number of bytes that this thread has sent to devices in batches so far.
#[cfg(feature = "learners")]
pub(crate) fn sent_bytes() -> u64 {
    SENT.get()
}

/// Counts one read from a device. During a read, the host waits until the device has finished its work.
#[cfg(feature = "learners")]
pub(crate) fn count_read() {
    READS.set(READS.get() + 1);
}

/// Returns the number of reads from a device that training steps of this thread have made so far. Reads made to measure
/// or save a scorer are not counted.
#[cfg(feature = "learners")]
pub(crate) fn reads() -> u64 {
    READS.get()
}

/// Opens the device called `name` and checks it with a small computation.
///
/// A missing driver makes a backend panic, on this thread or on a thread of the backend; this function turns the panic
/// into an error. The program's panic hook stays in place and reports such a panic like any other.
///
/// # Errors
/// Returns [`DeviceError`] if the name is unknown, the backend was not built in, or the device does not answer.
pub fn open(name: &str) -> Result<Device, DeviceError> {
    let (head, selector) = name.split_once(':').map_or((name, None), |(head, rest)| (head, Some(rest)));
    let backend = BACKENDS.iter().find(|b| b.name == head).ok_or_else(|| DeviceError::Unknown {
        found: name.to_string(),
        nearest: crate::text::nearest(head, BACKENDS.iter().map(|b| b.name)),
    })?;
    if !backend.built {
        return Err(DeviceError::NotBuilt { found: name.to_string(), backend: backend.name });
    }
    #[cfg(feature = "_cube")]
    if matches!(backend.name, "cuda" | "rocm" | "wgpu" | "vulkan" | "metal") {
        limit_fusion();
    }
    let opened = panic::catch_unwind(|| {
        let device = select(name, backend.name, selector)?;
        let sum: f32 = Tensor::<1>::from_floats([1.0, 2.0], &device).sum().into_scalar();
        Ok((device, sum))
    });
    let unavailable = |reason| Err(DeviceError::Unavailable { found: name.to_string(), reason });
    match opened {
        Ok(Ok((device, 3.0))) => Ok(device),
        Ok(Ok((_, sum))) => unavailable(format!("1 + 2 gave {sum}")),
        Ok(Err(error)) => Err(error),
        Err(cause) => {
            let text = cause.downcast_ref::<String>().cloned();
            let text = text.or_else(|| cause.downcast_ref::<&str>().map(|s| s.to_string()));
            unavailable(root_cause(text.unwrap_or_default()))
        }
    }
}

/// Returns the root cause in a backend's error message, as one line without intermediate causes and backtraces.
pub(crate) fn root_cause(error: impl Display) -> String {
    let text = error.to_string();
    let root = text.rsplit("Caused by:").next().unwrap_or_default();
    root.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("the backend gave no reason").to_owned()
}

/// Returns the device of a backend that a selector names. Most devices give an error only at their first computation.
#[cfg_attr(
    any(feature = "ndarray", feature = "tch"),
    allow(deprecated, reason = "burn gives up ndarray and LibTorch; both are supported for users of older models")
)]
fn select(found: &str, backend: &'static str, selector: Option<&str>) -> Result<Device, DeviceError> {
    let wrong = |expected| {
        let selector = selector.unwrap_or_default().to_string();
        DeviceError::Selector { found: found.to_string(), selector, expected }
    };
    match backend {
        #[cfg(any(feature = "flex", test))]
        "flex" if selector.is_none() => Ok(Device::flex()),
        #[cfg(feature = "ndarray")]
        "ndarray" if selector.is_none() => Ok(Device::ndarray()),
        #[cfg(feature = "tch")]
        "tch" => libtorch(selector).ok_or_else(|| wrong("none, cuda:N or mps")),
        #[cfg(feature = "remote")]
        "remote" => {
            let expected = "the address of a server, as in remote:ws://host:3000";
            let url = selector.filter(|url| url.starts_with("ws://")).ok_or_else(|| wrong(expected))?;
            let device = Device::remote_options(&burn::remote::RemoteHost::websocket(url)).init();
            device.map_err(|error| DeviceError::Unavailable { found: found.to_string(), reason: root_cause(error) })
        }
        #[cfg(feature = "cuda")]
        "cuda" => index(selector).map(Device::cuda).ok_or_else(|| wrong("an index, as in cuda:0")),
        #[cfg(feature = "rocm")]
        "rocm" => index(selector).map(Device::rocm).ok_or_else(|| wrong("an index, as in rocm:0")),
        #[cfg(feature = "wgpu")]
        "wgpu" => kind(selector).map(Device::wgpu).ok_or_else(|| wrong(KINDS)),
        #[cfg(feature = "vulkan")]
        "vulkan" => kind(selector).map(Device::vulkan).ok_or_else(|| wrong(KINDS)),
        #[cfg(feature = "metal")]
        "metal" => kind(selector).map(Device::metal).ok_or_else(|| wrong(KINDS)),
        _ => Err(wrong("none")),
    }
}

#[cfg(feature = "tch")]
#[allow(deprecated, reason = "burn gives up LibTorch; it is supported for users of older models")]
fn libtorch(selector: Option<&str>) -> Option<Device> {
    match selector.map(|text| text.split_once(':').unwrap_or((text, "0"))) {
        None => Some(Device::libtorch()),
        Some(("mps", "0")) => Some(Device::libtorch_mps()),
        Some(("cuda", number)) => Some(Device::libtorch_cuda(number.parse::<usize>().ok()?)),
        Some(_) => None,
    }
}

#[cfg(any(feature = "cuda", feature = "rocm"))]
fn index(selector: Option<&str>) -> Option<usize> {
    selector.map_or(Some(0), |text| text.parse().ok())
}

#[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal"))]
const KINDS: &str = "discrete:N, integrated:N, virtual:N or cpu";

#[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal"))]
fn kind(selector: Option<&str>) -> Option<DeviceKind> {
    let Some(text) = selector else { return Some(DeviceKind::DefaultDevice) };
    let (kind, number) = text.split_once(':').unwrap_or((text, "0"));
    let number = number.parse().ok()?;
    match kind {
        "discrete" => Some(DeviceKind::DiscreteGpu(number)),
        "integrated" => Some(DeviceKind::IntegratedGpu(number)),
        "virtual" => Some(DeviceKind::VirtualGpu(number)),
        "cpu" => Some(DeviceKind::Cpu),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flex_opens() {
        open("flex").unwrap();
    }

    #[test]
    fn the_root_cause_is_the_last_one() {
        let error = "An error happened during execution\nCaused by:\n  not written\nCaused by:\n  out of memory\n\nAsked at:\n 0: main";
        assert_eq!(root_cause(error), "out of memory");
        assert_eq!(root_cause("no adapter"), "no adapter");
    }

    #[test]
    fn a_misspelt_device_suggests_the_nearest() {
        let message = open("flx").unwrap_err().to_string();
        assert!(message.contains("did you mean `flex`?"), "{message}");
    }

    #[test]
    fn the_variable_names_a_device_as_for_burn() {
        assert_eq!(named(""), None);
        assert_eq!(named("FLEX").as_deref(), Some("flex"));
        assert_eq!(named("Vulkan:discrete:0").as_deref(), Some("vulkan:discrete:0"));
        assert_eq!(named("remote:ws://Host:3000").as_deref(), Some("remote:ws://Host:3000"));
        let error = DeviceError::Variable(Box::new(open("quantum").unwrap_err())).to_string();
        assert!(error.starts_with("BURN_DEVICE: device `quantum`: expected one of flex, "), "{error}");
    }

    #[test]
    fn a_selector_that_the_backend_lacks_is_refused() {
        assert!(matches!(open("flex:1"), Err(DeviceError::Selector { .. })));
    }

    #[test]
    #[cfg(not(feature = "cuda"))]
    fn a_backend_that_is_not_built_in_names_its_feature() {
        let message = open("cuda:0").unwrap_err().to_string();
        assert!(message.contains("--features cuda"), "{message}");
    }
}
