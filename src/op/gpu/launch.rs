//! Starting kernels from the host, on the devices that can run them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock};

use burn::backend::TensorMetadata;
use burn::tensor::{DType, Shape};
use burn_cubecl::CubeDevice;
use burn_cubecl::cubecl::client::Client;
use burn_cubecl::cubecl::prelude::{BufferArg, CubeCount, CubeDim};
use burn_cubecl::cubecl::server::CubeCountSelection;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;

use super::tile::{ROWS, UNITS};
use crate::device::root_cause;

/// Shared memory of the hungriest kernel with the most terms ([`MOST_TERMS`](super::rank_expectation::MOST_TERMS)), in
/// bytes.
const SHARED_MEMORY: usize = 16 << 10;

/// Where a kernel runs, and on how much.
pub(super) struct Batch {
    pub client: Client,
    device: CubeDevice,
    pub lists: usize,
    pub documents: usize,
}

impl Batch {
    /// The batch of `x`, `[lists, documents]`, neither 0.
    pub fn from_tensor(x: &CubeTensor) -> Self {
        let [lists, documents] = x.shape().dims();
        Self { client: x.client.clone(), device: x.device.clone(), lists, documents }
    }

    /// A cube for every tile of rows of every list.
    pub fn cubes(&self) -> CubeCount {
        let cubes = self.lists * self.documents.div_ceil(ROWS);
        CubeCountSelection::new(&self.client, cubes as u32).cube_count()
    }

    /// The units of a cube.
    pub fn units(&self) -> CubeDim {
        CubeDim::new_1d(UNITS as u32)
    }

    /// A number a document, not yet written.
    pub fn per_document(&self) -> CubeTensor {
        self.empty([self.lists, self.documents])
    }

    /// `width` numbers a document, not yet written.
    pub fn per_document_and(&self, width: usize) -> CubeTensor {
        self.empty([self.lists, self.documents, width])
    }

    fn empty<const D: usize>(&self, shape: [usize; D]) -> CubeTensor {
        empty_device_contiguous_dtype(self.client.clone(), self.device.clone(), Shape::new(shape), DType::F32)
    }

    /// Numbers of the host, as an argument of a kernel.
    pub fn upload(&self, values: &[f32]) -> BufferArg {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        let handle = self.client.create_from_slice(&bytes);
        // SAFETY: the buffer was just made of as many numbers.
        unsafe { BufferArg::from_raw_parts(handle, values.len()) }
    }
}

/// A tensor as an argument of a kernel, its values in order.
pub(super) fn read(tensor: &CubeTensor) -> BufferArg {
    into_contiguous(tensor.clone()).into_buffer_arg()
}

/// A fresh tensor as an argument of a kernel that writes it.
pub(super) fn write(tensor: &CubeTensor) -> BufferArg {
    tensor.clone().into_buffer_arg()
}

/// Runs `launch`, a kernel of `bindings` buffers on the batch of `x`; `None` where the device cannot, which the log
/// says once for each kernel and device.
pub(super) fn run<const K: usize>(
    kernel: &str,
    x: &CubeTensor,
    bindings: u32,
    launch: impl FnOnce() -> [CubeTensor; K],
) -> Option<[CubeTensor; K]> {
    if x.shape().num_elements() == 0 {
        return None;
    }
    #[cfg(test)]
    let launch = || {
        tests::LAUNCHED.lock().expect("no test panics here").push((kernel.to_owned(), x.shape().dims()));
        launch()
    };
    let key = (x.device.clone(), format!("{kernel} ({:?})", x.dtype));
    match known().get(&key) {
        Some(true) => return Some(launch()),
        Some(false) => return None,
        None => {}
    }
    let outcome = missing(x, bindings).map_or_else(
        || {
            let outputs = launch();
            // Whether the device took the kernel is known at once, without waiting for its result. Any other failure
            // than a refusal, such as want of memory, is for whoever reads the result.
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

/// The kernels that have been tried, by device: whether it runs them.
fn known() -> MutexGuard<'static, HashMap<(CubeDevice, String), bool>> {
    static KNOWN: OnceLock<Mutex<HashMap<(CubeDevice, String), bool>>> = OnceLock::new();
    KNOWN.get_or_init(Mutex::default).lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// What the device of `x` lacks for a kernel of `bindings` buffers.
fn missing(x: &CubeTensor, bindings: u32) -> Option<String> {
    let hardware = &x.client.properties().hardware;
    let offers = [
        ("units in a cube", hardware.max_units_per_cube as usize, UNITS),
        ("bytes of shared memory", hardware.max_shared_memory_size, SHARED_MEMORY),
        // One more holds the scalars.
        ("buffers", hardware.max_bindings as usize, bindings as usize + 1),
    ];
    if x.dtype != DType::F32 {
        return Some(format!("numbers are {:?}, not F32", x.dtype));
    }
    let (what, offered, needed) = offers.into_iter().find(|(_, offered, needed)| offered < needed)?;
    Some(format!("{needed} {what} needed, {offered} offered"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use burn::backend::ops::FloatTensorOps;
    use burn::tensor::{Device, Distribution, Tensor, TensorData};
    use burn_cubecl::CubeBackend;

    use super::*;
    use crate::device::{self, BACKENDS};
    use crate::op::gpu::{indicator_sum, pair_loss, rank, rank_expectation, step_sum};
    use crate::op::{self, ExponentialTerm, PairLoss, PairWeight, Step, cpu};

    /// Kernels by name, with the batch that each was launched on.
    pub static LAUNCHED: Mutex<Vec<(String, [usize; 2])>> = Mutex::new(Vec::new());

    /// The first GPU; none where there is none.
    fn gpu() -> Option<Device> {
        let gpu = |name: &str| !matches!(name, "flex" | "ndarray");
        BACKENDS.iter().filter(|backend| gpu(backend.name)).find_map(|backend| device::open(backend.name).ok())
    }

    /// Two lists of three documents on the first device; none where there is no device.
    fn scores() -> Option<CubeTensor> {
        let gpu = gpu();
        if gpu.is_none() {
            // Not by `eprintln!`, whose lines of tests that pass are not shown.
            let test = std::thread::current();
            let _ = writeln!(std::io::stderr(), "skipped: {} needs a GPU", test.name().unwrap_or("a test"));
        }
        gpu.map(|_| {
            let data = TensorData::new(vec![1.0f32, 3.0, 2.0, 0.0, 0.5, 9.0], [2, 3]);
            CubeBackend::float_from_data(data, &CubeDevice::default())
        })
    }

    /// Otherwise the property suite would compare tensor operations with tensor operations.
    #[test]
    fn every_primitive_has_a_kernel() {
        let Some(x) = scores() else { return };
        for step in [Step::Logistic, Step::Tanh, Step::Erf, Step::Arctan, Step::Laplace] {
            assert!(step_sum::step_sum(&x, &x, 1.0, step).is_some(), "{step:?}");
            assert!(step_sum::step_sum_gradient(&x, &x, &x, 1.0, step).is_some(), "{step:?}");
        }
        let [out, total] = indicator_sum::indicator_sum(&x, &x, &x, 1.0).unwrap();
        assert!(indicator_sum::indicator_sum_gradient(&x, &x, &x, [&out, &total], &x, 1.0).is_some());
        for count in [1, 8, 9, rank_expectation::MOST_TERMS] {
            let terms = vec![ExponentialTerm { coefficient: 0.1, base: 0.9 }; count];
            let [_, products] = rank_expectation::rank_expectation(&x, &x, 1.0, &terms).unwrap();
            let gradient = rank_expectation::rank_expectation_gradient(&x, &x, &products, &x, 1.0, &terms);
            assert!(gradient.is_some(), "{count} terms");
        }
        let lambda =
            |gap| cpu::PairWeight::Lambda { gain: &x, discount: &x, rank: &x, absolute: 1.0, gap, distance: None };
        for weight in [cpu::PairWeight::Unit, cpu::PairWeight::Document(&x), lambda(0.0), lambda(1.0)] {
            for loss in [
                PairLoss::Logistic,
                PairLoss::Hinge { margin: 1.0 },
                PairLoss::SquaredHinge { margin: 1.0 },
                PairLoss::Exponential,
                PairLoss::Fidelity,
                PairLoss::SoftZeroOne,
            ] {
                assert!(pair_loss::pair_loss(&x, &x, &x, weight, loss).is_some(), "{loss:?}");
                assert!(pair_loss::pair_loss_gradient(&x, &x, &x, weight, &x, loss).is_some(), "{loss:?}");
            }
        }
        assert!(rank::rank(&x, &x).is_some());
    }

    /// Our GPU features turn burn's fusion on, as burn's default features do: a call waits in a queue until its result is
    /// read, and must then run its kernel, once, and not the tensor definition.
    #[test]
    fn kernels_stay_in_use_under_fusion() {
        let Some(device) = gpu() else { return };
        let device = device.autodiff();
        // No other test has lists of this length.
        let shape = [3, 41];
        let random = || Tensor::<2>::random(shape, Distribution::Uniform(0.0, 4.0), &device);
        let (v, labels, mask) = (random(), random().round(), Tensor::ones(shape, &device));
        let terms = [ExponentialTerm { coefficient: 0.5, base: 0.9 }];
        let ranks = op::rank(v.clone(), mask.clone());
        let lambda = PairWeight::Lambda {
            gain: labels.clone(),
            discount: v.clone(),
            rank: ranks,
            absolute: 1.0,
            gap: 0.5,
            distance: None,
        };
        let pairs = |x, weight: &PairWeight| op::pair_loss(x, labels.clone(), mask.clone(), weight, PairLoss::Logistic);
        type Primitive<'a> = (&'a str, &'a dyn Fn(Tensor<2>) -> Tensor<2>);
        let primitives: [Primitive; 6] = [
            ("step_sum", &|x| op::step_sum(x, v.clone(), 1.0, Step::Erf)),
            ("indicator_sum", &|x| op::indicator_sum(x, v.clone(), mask.clone(), 1.0)),
            ("rank_expectation", &|x| op::rank_expectation(x, mask.clone(), 1.0, &terms)),
            ("pair_loss", &|x| pairs(x, &PairWeight::Unit)),
            ("pair_loss", &|x| pairs(x, &PairWeight::Document(v.clone()))),
            ("pair_loss", &|x| pairs(x, &lambda)),
        ];
        let launched = || {
            let mut launched = LAUNCHED.lock().expect("no test panics here");
            let ours: Vec<_> =
                launched.extract_if(.., |(_, batch)| *batch == shape).map(|(kernel, _)| kernel).collect();
            ours
        };
        for (name, primitive) in primitives {
            let x = random().require_grad();
            let out = primitive(x.clone());
            out.clone().into_data();
            let gradients = out.sum().backward();
            x.grad(&gradients).expect("x has a gradient").into_data();
            let launched = launched();
            let kernels: Vec<_> = launched.iter().filter(|kernel| *kernel != "rank").collect();
            assert!(
                matches!(&kernels[..], [value, gradient] if value.starts_with(name) && gradient.starts_with(&format!("gradient of {name}"))),
                "{name}: {launched:?}"
            );
        }
        op::rank(random(), mask.clone()).into_data();
        assert_eq!(launched(), ["rank"]);
    }

    #[test]
    fn a_kernel_beyond_the_device_is_not_run() {
        let Some(x) = scores() else { return };
        for _ in 0..2 {
            assert!(
                run("a kernel of many buffers", &x, u32::MAX - 1, || -> [CubeTensor; 1] { unreachable!() }).is_none()
            );
        }
    }

    #[test]
    fn a_kernel_that_the_device_refuses_is_not_run_again() {
        let Some(x) = scores() else { return };
        let mut launches = 0;
        for _ in 0..2 {
            let outcome = run("a kernel of too many units", &x, 3, || {
                launches += 1;
                let batch = Batch::from_tensor(&x);
                let out = batch.per_document();
                rank::launch(&batch, CubeDim::new_1d(1 << 20), &x, &x, &out);
                [out]
            });
            assert!(outcome.is_none());
        }
        assert_eq!(launches, 1);
    }

    #[test]
    fn nothing_is_run_on_no_documents() {
        let Some(x) = scores() else { return };
        let empty = CubeBackend::float_from_data(TensorData::new(Vec::<f32>::new(), [0, 3]), &x.device);
        assert!(run("a copy of nothing", &empty, 2, || -> [CubeTensor; 1] { unreachable!() }).is_none());
    }
}
