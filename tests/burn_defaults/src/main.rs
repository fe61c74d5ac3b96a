//! Trains a small model with one of our losses on the `wgpu` backend, beside burn's default features.
//!
//! ```text
//! cargo run -p burn-defaults
//! ```

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Bool, Device, DeviceKind, Distribution, Tensor, activation};
use burn_rank::loss::{ApproxNdcgConfig, RankingLoss, Reduction};

const STEPS: usize = 40;

/// Highest loss allowed at the last step, relative to that of the first.
const FALL: f32 = 0.7;

#[derive(Module, Debug)]
struct Scorer {
    hidden: Linear,
    output: Linear,
}

impl Scorer {
    fn new(features: usize, device: &Device) -> Self {
        Self { hidden: LinearConfig::new(features, 16).init(device), output: LinearConfig::new(16, 1).init(device) }
    }

    /// `[batch, documents, features]` to `[batch, documents]`.
    fn forward(&self, documents: Tensor<3>) -> Tensor<2> {
        self.output.forward(activation::relu(self.hidden.forward(documents))).squeeze_dim(2)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::wgpu(DeviceKind::DefaultDevice).autodiff();
    device.seed(42);
    let (batch, n, features) = (16, 40, 8);
    let documents = Tensor::<3>::random([batch, n, features], Distribution::Normal(0.0, 1.0), &device);
    // The larger the sum of its first two features, the more relevant a document is.
    let labels = documents.clone().narrow(2, 0, 2).sum_dim(2).squeeze_dim::<2>(2).clamp(0.0, 4.0).round();
    let mask = Tensor::<2, Bool>::full([batch, n], true, &device);
    let mut model = Scorer::new(features, &device);
    let mut optimizer = AdamConfig::new().init();
    let loss_function = ApproxNdcgConfig::new().with_k(Some(10)).init()?;

    let mut losses = Vec::with_capacity(STEPS);
    for _ in 0..STEPS {
        let scores = model.forward(documents.clone());
        let loss = loss_function.forward(scores, labels.clone(), mask.clone(), Reduction::Mean);
        losses.push(loss.clone().into_scalar::<f32>());
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        model = optimizer.step(0.02, model, gradients);
    }
    let (first, last) = (losses[0], losses[STEPS - 1]);
    println!("loss of step 1: {first:.4}, of step {STEPS}: {last:.4}");
    // A loss that is not a number is refused too.
    if last < FALL * first { Ok(()) } else { Err(format!("the loss did not fall to {FALL} of the first").into()) }
}
