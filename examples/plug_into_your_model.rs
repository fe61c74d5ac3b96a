//! A ranking loss and an NDCG measure in an existing model and training loop.
//!
//! ```text
//! cargo run --release --package burn-rank --no-default-features --features flex --example plug_into_your_model
//! ```
//!
//! `TwoTower` and the loop below are ordinary burn code that knows nothing of this crate. The first three marked lines
//! are all that ranking adds to training, and the fourth is all that it adds to evaluation.

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Distribution, Int, Tensor};
use burn_rank::metric;
use burn_rank::prelude::*;

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

    /// The score of each document for its query, `[documents]`.
    fn forward(&self, data: &Data) -> Tensor<1> {
        let queries = self.query.forward(data.queries.clone()).select(0, data.query_of.clone());
        (self.document.forward(data.documents.clone()) * queries).sum_dim(1).squeeze_dim(1)
    }
}

/// Queries of different numbers of documents.
#[derive(Clone)]
struct Data {
    /// `[queries, features]`
    queries: Tensor<2>,
    /// `[documents, features]`, one query after another.
    documents: Tensor<2>,
    /// The query of each document, `[documents]`.
    query_of: Tensor<1, Int>,
    /// `[documents]`
    labels: Tensor<1>,
    segments: Segments,
}

impl Data {
    /// Makes random queries and documents. The more a document agrees with its query, the more relevant it is.
    fn random(device: &Device) -> Result<Self, Box<dyn std::error::Error>> {
        let (count, features) = (32, 8);
        let lengths: Vec<usize> = (0..count).map(|query| 20.min(37 - query)).collect();
        let ids: Vec<i32> = lengths.iter().zip(0..).flat_map(|(&length, query)| vec![query; length]).collect();
        let normal = |rows: usize| Tensor::<2>::random([rows, features], Distribution::Normal(0.0, 1.0), device);
        let (queries, documents) = (normal(count), normal(ids.len()));
        let query_of = Tensor::<1, Int>::from_ints(ids.as_slice(), device);
        let agreement =
            (documents.clone() * queries.clone().select(0, query_of.clone())).sum_dim(1).squeeze_dim::<1>(1);
        let labels = agreement.clamp(0.0, 4.0).round();
        Ok(Self { queries, documents, query_of, labels, segments: Segments::from_lengths(&lengths)? })
    }

    /// The same without gradients.
    fn inner(self) -> Self {
        Self {
            queries: self.queries.inner(),
            documents: self.documents.inner(),
            query_of: self.query_of.inner(),
            labels: self.labels.inner(),
            segments: self.segments,
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::flex().autodiff();
    device.seed(42);
    let data = Data::random(&device)?;
    let mut model = TwoTower::new(8, &device);
    let mut optimizer = AdamConfig::new().init();

    let convention = Convention::preset("standard")?;
    let loss_function = ApproxNdcgConfig::new().with_k(Some(10)).init()?; // 1: the loss
    for step in 0..=100 {
        let scores = model.forward(&data);
        let loss = loss_function.forward_packed(scores, data.labels.clone(), &data.segments, Reduction::Mean); // 2: its value
        let gradients = GradientsParams::from_grads(loss.backward(), &model); // 3: its gradients, as of any burn loss
        model = optimizer.step(0.02, model, gradients);
        if step % 25 == 0 {
            let data = data.clone().inner();
            let scores = model.valid().forward(&data);
            let measures = [Measure::Ndcg(Some(10))];
            let found = metric::evaluate_packed(scores, data.labels, &data.segments, &measures, &convention)?; // 4: any measure
            println!("step {step:>3}  NDCG@10 {:.4}", found.means[0].1);
        }
    }
    Ok(())
}
