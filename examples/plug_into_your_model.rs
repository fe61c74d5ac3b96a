//! A ranking loss and an NDCG measure in an existing model and training loop.
//!
//! ```text
//! cargo run --release --no-default-features --features flex --example plug_into_your_model
//! ```
//!
//! `TwoTower` and the loop below are ordinary burn code that knows nothing of this crate. The first three marked lines
//! are all that ranking adds to training, and the fourth is all that it adds to evaluation.

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Bool, Device, Distribution, Tensor};
use burn_rank::loss::{ApproxNdcgConfig, RankingLoss, Reduction};
use burn_rank::measure::{Convention, Measure};
use burn_rank::metric;

/// A query tower and a document tower; a score is the product of their outputs.
#[derive(Module, Debug)]
struct TwoTower {
    query: Linear,
    document: Linear,
}

impl TwoTower {
    fn new(features: usize, device: &Device) -> Self {
        let tower = || LinearConfig::new(features, 16).init(device);
        Self { query: tower(), document: tower() }
    }

    /// `[batch, features]` and `[batch, documents, features]` to `[batch, documents]`.
    fn forward(&self, query: Tensor<2>, documents: Tensor<3>) -> Tensor<2> {
        let query = self.query.forward(query).unsqueeze_dim::<3>(1);
        (self.document.forward(documents) * query).sum_dim(2).squeeze_dim(2)
    }
}

/// Makes random queries and documents. The more a document agrees with its query, the more relevant it is. The last
/// lists are shorter, and a mask says which places hold a document.
fn data(device: &Device) -> (Tensor<2>, Tensor<3>, Tensor<2>, Tensor<2, Bool>) {
    let (batch, n, features) = (32, 20, 8);
    let normal = Distribution::Normal(0.0, 1.0);
    let query = Tensor::<2>::random([batch, features], normal, device);
    let documents = Tensor::<3>::random([batch, n, features], normal, device);
    let agreement = (documents.clone() * query.clone().unsqueeze_dim::<3>(1)).sum_dim(2).squeeze_dim::<2>(2);
    let labels = agreement.clamp(0.0, 4.0).round();
    let place = Tensor::<1, burn::tensor::Int>::arange(0..n as i64, device).unsqueeze::<2>().expand([batch, n]);
    let length =
        Tensor::<1, burn::tensor::Int>::arange(0..batch as i64, device).unsqueeze_dim::<2>(1).expand([batch, n]);
    let mask = place.lower(length.neg() + (batch + 5) as i64);
    (query, documents, labels, mask)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::flex().autodiff();
    device.seed(42);
    let (query, documents, labels, mask) = data(&device);
    let mut model = TwoTower::new(8, &device);
    let mut optimizer = AdamConfig::new().init();

    let convention = Convention::preset("standard")?;
    let loss_function = ApproxNdcgConfig::new().with_k(Some(10)).init()?; // 1: the loss
    for step in 0..=100 {
        let scores = model.forward(query.clone(), documents.clone());
        let loss = loss_function.forward(scores, labels.clone(), mask.clone(), Reduction::Mean); // 2: its value
        let gradients = GradientsParams::from_grads(loss.backward(), &model); // 3: its gradients, as of any burn loss
        model = optimizer.step(0.02, model, gradients);
        if step % 25 == 0 {
            let scores = model.valid().forward(query.clone().inner(), documents.clone().inner());
            let (labels, mask) = (labels.clone(), mask.clone());
            let found = metric::evaluate(scores, labels, mask, &[Measure::Ndcg(Some(10))], &convention)?; // 4: any measure
            println!("step {step:>3}  NDCG@10 {:.4}", found.means[0].1);
        }
    }
    Ok(())
}
