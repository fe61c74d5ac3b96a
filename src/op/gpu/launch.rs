//! Launches kernels from the host, on devices that can run them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock};

use burn::backend::{TensorMetadata, ops::FloatTensorOps};
use burn::tensor::{DType, Shape};
use burn_cubecl::cubecl::client::Client;
use burn_cubecl::cubecl::server::CubeCountSelection;
use burn_cubecl::cubecl::{self, prelude::*};
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{CubeBackend, CubeDevice};

use super::real::{NAN, is_counted, is_finite};
use super::tile::{ROWS, UNITS};
use crate::device::root_cause;
use crate::execution::Execution;

/// The largest amount of shared memory that any kernel needs, in bytes. The gradient of `above_expectation` needs this
/// much with the [largest number of terms](super::above_expectation::MOST_TERMS).
const SHARED_MEMORY: usize = 16 << 10;

/// The number of tables that stay on the devices.
const TABLES_KEPT: usize = 16;

/// The outputs of a kernel, or `None` if the device has no kernel for these tensors.
pub type Outputs = Option<Vec<CubeTensor>>;

/// A table that stays on a device: the device, its numbers, and the tensor with them.
type Table = (CubeDevice, Vec<f32>, CubeTensor);

/// The device and the size of a batch of lists, for launching kernels.
pub(super) struct Batch {
    pub client: Client,
    pub device: CubeDevice,
    pub lists: usize,
    pub documents: usize,
}

/// How many cubes (thread blocks) a kernel is launched with, and how many units (threads) each cube has.
pub(super) struct Cubes<'a> {
    pub batch: &'a Batch,
    pub count: CubeCount,
    pub units: CubeDim,
}

impl Cubes<'_> {
    /// Sets the number of units per cube.
    pub fn of(self, units: usize) -> Self {
        Self { units: CubeDim::new_1d(units as u32), ..self }
    }
}

/// A range of the cubes of a batch, where each cube computes one tile of rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub first: usize,
    pub cubes: usize,
}

impl Batch {
    /// Returns the number of tiles into which the rows of a list are split.
    pub fn tiles(&self) -> usize {
        self.documents.div_ceil(ROWS)
    }

    /// Returns a launch with one cube for each tile of rows of each list.
    pub fn cubes(&self) -> Cubes<'_> {
        self.cubes_for(self.lists * self.tiles())
    }

    /// Returns a launch with at least `cubes` cubes; some devices start a few more.
    pub fn cubes_for(&self, cubes: usize) -> Cubes<'_> {
        let count = CubeCountSelection::new(&self.client, cubes as u32).cube_count();
        Cubes { batch: self, count, units: CubeDim::new_1d(UNITS as u32) }
    }

    /// Splits the cubes of the batch into parts that are launched one after another. If each cube needs memory for
    /// `numbers` values, a part needs no more than the memory budget of the calling thread. A part has at least one
    /// cube, even if the budget is smaller.
    pub fn parts(&self, numbers: usize) -> impl Iterator<Item = Part> + use<> {
        let all = self.lists * self.tiles();
        // A buffer must fit into one page of the device, and kernels count its numbers in 32 bits.
        let page = usize::try_from(self.client.properties().memory.max_page_size).unwrap_or(usize::MAX);
        let most_bytes = page.min(size_of::<f32>() * u32::MAX as usize);
        let budget = Execution::current().memory_budget().min(most_bytes);
        let most = (budget / (numbers * size_of::<f32>()).max(1)).clamp(1, all);
        (0..all).step_by(most).map(move |first| Part { first, cubes: most.min(all - first) })
    }

    /// Allocates a tensor with one number per document, without initializing it.
    pub fn per_document(&self) -> CubeTensor {
        self.numbers([self.lists, self.documents])
    }

    /// Allocates a tensor of the given shape, without initializing it.
    pub fn numbers<const D: usize>(&self, shape: [usize; D]) -> CubeTensor {
        empty_device_contiguous_dtype(self.client.clone(), self.device.clone(), Shape::new(shape), DType::F32)
    }

    /// Allocates a tensor with `width` whole numbers per list, without initializing it.
    pub fn indices(&self, width: usize) -> CubeTensor {
        let shape = Shape::new([self.lists, width]);
        empty_device_contiguous_dtype(self.client.clone(), self.device.clone(), shape, DType::U32)
    }

    /// Returns a tensor on the device that begins with these numbers. It stays there, for calls with the same numbers.
    pub fn table(&self, values: &[f32]) -> CubeTensor {
        static TABLES: OnceLock<Mutex<Vec<Table>>> = OnceLock::new();
        let mut tables = TABLES.get_or_init(Mutex::default).lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let found = tables.iter().find(|(device, held, _)| *device == self.device && held.starts_with(values));
        if let Some((_, _, tensor)) = found {
            return tensor.clone();
        }
        let tensor = self.upload(values);
        // The table of a longer list begins with the table of a shorter list.
        tables.retain(|(device, held, _)| *device != self.device || !values.starts_with(held));
        if tables.len() == TABLES_KEPT {
            tables.remove(0);
        }
        tables.push((self.device.clone(), values.to_vec(), tensor.clone()));
        tensor
    }

    /// Copies numbers from the host to a new tensor on the device.
    pub fn upload(&self, values: &[f32]) -> CubeTensor {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        let (handle, shape) = (self.client.create_from_slice(&bytes), Shape::new([values.len()]));
        CubeTensor::new_contiguous(self.client.clone(), self.device.clone(), shape, handle, DType::F32)
    }
}

/// Passes a tensor to a kernel that reads it, after making it contiguous.
pub(super) fn read(tensor: &CubeTensor) -> BufferArg {
    into_contiguous(tensor.clone()).into_buffer_arg()
}

/// Passes a new tensor to a kernel that writes it.
pub(super) fn write(tensor: &CubeTensor) -> BufferArg {
    tensor.clone().into_buffer_arg()
}

/// Launches a kernel with a given number of cubes. The kernel receives the tensors that it reads, those that it writes,
/// the numbers of lists and documents, and further numbers. If the further numbers follow a semicolon, the numbers of
/// lists and documents are not passed.
macro_rules! start {
    ($cubes:expr, $kernel:expr, [$($read:expr),* $(,)?], [$($write:expr),* $(,)?] $(, $number:expr)* $(,)?) => {{
        let cubes = $cubes;
        let (lists, documents) = (cubes.batch.lists, cubes.batch.documents);
        start!(cubes, $kernel, [$($read),*], [$($write),*]; lists, documents $(, $number)*)
    }};
    ($cubes:expr, $kernel:expr, [$($read:expr),* $(,)?], [$($write:expr),* $(,)?]; $($number:expr),*) => {{
        let cubes = $cubes;
        $kernel(
            &cubes.batch.client,
            cubes.count,
            cubes.units,
            $($crate::op::gpu::launch::read($read),)*
            $($crate::op::gpu::launch::write($write),)*
            $($number),*
        )
    }};
}
pub(super) use start;

/// Returns the element-wise product of two tensors of the same shape.
pub(super) fn product(a: &CubeTensor, b: &CubeTensor) -> CubeTensor {
    CubeBackend::float_mul(a.clone(), b.clone())
}

/// Returns the element-wise sum of two tensors of the same shape.
pub(super) fn sum(a: CubeTensor, b: CubeTensor) -> CubeTensor {
    CubeBackend::float_add(a, b)
}

/// Runs `launch` as [`run`] does, then sets the first output to NaN in lists with a score that is not finite. With a
/// mask, only scores and outputs of its documents are considered.
pub(super) fn compute(
    kernel: &str,
    x: &CubeTensor,
    mask: Option<&CubeTensor>,
    bindings: u32,
    launch: impl FnOnce(&Batch) -> Vec<CubeTensor>,
) -> Outputs {
    run(kernel, x, bindings, |batch| {
        let outputs = launch(batch);
        let all = batch.cubes_for(batch.lists);
        start!(all, mark_diverged::launch, [x, mask.unwrap_or(x)], [&outputs[0]], mask.is_some());
        outputs
    })
}

/// Returns whether the kernel checks the score of a document and may set its result to NaN.
#[cube]
fn is_checked(mask: &[f32], cell: usize, #[comptime] masked: bool) -> bool {
    if comptime!(masked) { is_counted(mask[cell]) } else { true.runtime() }
}

/// Writes NaN to all results of a list in which a score is not finite, so that a diverged training run is noticed. With
/// a mask, only the documents where it is nonzero are checked and overwritten. One cube per list.
///
/// The other kernels do not ensure this, because `min` and `max` on a device ignore NaN, and skipped pairs are never
/// read. This kernel therefore checks the bits of all scores after the others have run.
#[cube(launch)]
fn mark_diverged(x: &[f32], mask: &[f32], out: &mut [f32], lists: usize, documents: usize, #[comptime] masked: bool) {
    let mut found = Shared::<[u32]>::new_slice(UNITS);
    let first = min(CUBE_POS, lists - 1) * documents;
    let unit = UNIT_POS as usize;
    let mut own = 0u32;
    for document in range_stepped(unit, documents, UNITS) {
        let cell = first + document;
        if is_checked(mask, cell, masked) && !is_finite(x[cell]) {
            own = 1u32;
        }
    }
    found[unit] = own;
    sync_cube();
    let mut any = 0u32;
    for other in 0..UNITS {
        any += found[other];
    }
    // A device may start cubes beyond the last list, which write the same as the last one.
    if any != 0u32 {
        for document in range_stepped(unit, documents, UNITS) {
            let cell = first + document;
            if is_checked(mask, cell, masked) {
                out[cell] = f32::reinterpret(comptime!(NAN).runtime());
            }
        }
    }
}

/// Runs `launch`, which launches a kernel that needs `bindings` buffers, on the batch of `x`. The result is `None` if
/// the device cannot run the kernel. The log reports this once for each kernel and device.
pub(super) fn run(
    kernel: &str,
    x: &CubeTensor,
    bindings: u32,
    launch: impl FnOnce(&Batch) -> Vec<CubeTensor>,
) -> Outputs {
    if x.shape().num_elements() == 0 {
        return None;
    }
    let launch = || {
        #[cfg(test)]
        super::tests::LAUNCHED.lock().expect("no test panics here").push((kernel.to_owned(), x.shape().dims()));
        let [lists, documents] = x.shape().dims();
        launch(&Batch { client: x.client.clone(), device: x.device.clone(), lists, documents })
    };
    let key = (x.device.clone(), format!("{kernel} ({:?})", x.dtype));
    // The look-up is not in the `match`, which would hold the lock while the kernel starts.
    let found = known().get(&key).copied();
    match found {
        Some(true) => return Some(launch()),
        Some(false) => return None,
        None => {}
    }
    let outcome = missing(x, bindings).map_or_else(
        || {
            let outputs = launch();
            // The device rejects a kernel at launch, without waiting for its result. The reader of the result handles
            // any other failure, such as too little memory.
            match x.client.check(outputs.iter().map(|output| &output.handle)) {
                Err(error) if error.is_refusal() => Err(root_cause(error)),
                _ => Ok(outputs),
            }
        },
        Err,
    );
    known().insert(key, outcome.is_ok());
    outcome
        .inspect_err(|reason| {
            log::warn!("no kernel for {kernel} on {:?}, tensor operations instead: {reason}", x.device);
        })
        .ok()
}

/// Returns the table that records, for each kernel tried on a device, whether the device could run it.
fn known() -> MutexGuard<'static, HashMap<(CubeDevice, String), bool>> {
    static KNOWN: OnceLock<Mutex<HashMap<(CubeDevice, String), bool>>> = OnceLock::new();
    KNOWN.get_or_init(Mutex::default).lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Returns what the device of `x` lacks to run a kernel with `bindings` buffers, or `None` if it lacks nothing.
fn missing(x: &CubeTensor, bindings: u32) -> Option<String> {
    let hardware = &x.client.properties().hardware;
    let offers = [
        ("units in a cube", hardware.max_units_per_cube as usize, UNITS),
        ("bytes of shared memory", hardware.max_shared_memory_size, SHARED_MEMORY),
        // One more buffer holds the scalars.
        ("buffers", hardware.max_bindings as usize, bindings as usize + 1),
    ];
    if x.dtype != DType::F32 {
        return Some(format!("numbers are {:?}, not F32", x.dtype));
    }
    let (what, offered, needed) = offers.into_iter().find(|(_, offered, needed)| offered < needed)?;
    Some(format!("{needed} {what} needed, {offered} offered"))
}
