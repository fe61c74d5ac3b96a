use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Distribution, Tensor};
use burn_rank::metric::evaluate_packed;
use burn_rank::prelude::*;

#[derive(Module, Debug)]
struct Network {
    hidden: Linear,
    output: Linear,
}

impl Network {
    /// `[documents, features]` to `[documents]`.
    fn forward(&self, documents: Tensor<2>) -> Tensor<1> {
        self.output.forward(self.hidden.forward(documents).tanh()).squeeze_dim(1)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::flex().autodiff();
    device.seed(1);
    // 32 queries of 5 to 36 documents, one query after another. The first of 8 features says most about the label.
    let lengths: Vec<usize> = (5..37).collect();
    let segments = Segments::from_lengths(&lengths)?; // 1
    let documents = Tensor::<2>::random([segments.documents(), 8], Distribution::Normal(0.0, 1.0), &device);
    let labels = (documents.clone().narrow(1, 0, 1).squeeze_dim::<1>(1) * 1.5).clamp(0.0, 4.0).round();

    let mut network =
        Network { hidden: LinearConfig::new(8, 16).init(&device), output: LinearConfig::new(16, 1).init(&device) };
    let mut optimizer = AdamConfig::new().init();
    let loss = LambdaNdcgConfig::new().init()?; // 2
    for step in 0..=60 {
        let scores = network.forward(documents.clone());
        let value = loss.forward_packed(scores, labels.clone(), &segments, Reduction::Mean); // 3
        let gradients = GradientsParams::from_grads(value.backward(), &network);
        network = optimizer.step(0.02, network, gradients);
        if step % 20 == 0 {
            let scores = network.valid().forward(documents.clone().inner());
            let measures = [Measure::Ndcg(Some(10))];
            let convention = Convention::preset("standard")?;
            let found = evaluate_packed(scores, labels.clone(), &segments, &measures, &convention)?; // 4
            println!("step {step:>2}  NDCG@10 {:.4}", found.means[0].1);
        }
    }
    Ok(())
}
