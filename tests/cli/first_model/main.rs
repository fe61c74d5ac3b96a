use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Distribution, Tensor};
use burn_rank::metric::evaluate;
use burn_rank::prelude::*;

#[derive(Module, Debug)]
struct Network {
    hidden: Linear,
    output: Linear,
}

impl Network {
    /// `[batch, documents, features]` to `[batch, documents]`.
    fn forward(&self, documents: Tensor<3>) -> Tensor<2> {
        self.output.forward(self.hidden.forward(documents).tanh()).squeeze_dim(2)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::flex().autodiff();
    device.seed(1);
    // 32 queries of 20 documents with 8 features. The first feature says most about the label.
    let documents = Tensor::<3>::random([32, 20, 8], Distribution::Normal(0.0, 1.0), &device);
    let labels = (documents.clone().narrow(2, 0, 1).squeeze_dim::<2>(2) * 1.5).clamp(0.0, 4.0).round();
    let mask = Tensor::<2>::ones([32, 20], &device).greater_elem(0.0); // true for a document, false for padding

    let mut network =
        Network { hidden: LinearConfig::new(8, 16).init(&device), output: LinearConfig::new(16, 1).init(&device) };
    let mut optimizer = AdamConfig::new().init();
    let loss = ListNetConfig::new().init()?; // 1
    for step in 0..=60 {
        let scores = network.forward(documents.clone());
        let value = loss.forward(scores, labels.clone(), mask.clone(), Reduction::Mean); // 2
        let gradients = GradientsParams::from_grads(value.backward(), &network);
        network = optimizer.step(0.02, network, gradients);
        if step % 20 == 0 {
            let scores = network.valid().forward(documents.clone().inner());
            let (labels, mask) = (labels.clone(), mask.clone());
            let measures = [Measure::Ndcg(Some(10))];
            let found = evaluate(scores, labels, mask, &measures, &Convention::preset("standard")?)?; // 3
            println!("step {step:>2}  NDCG@10 {:.4}", found.means[0].1);
        }
    }
    Ok(())
}
