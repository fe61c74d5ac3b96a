//! Two towers: a vector of the user, a vector of each item, and their products as scores.

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor, TensorData};

use super::data::{Catalog, FEATURES};

const HIDDEN: usize = 32;
const VECTOR: usize = 16;

/// Two layers.
#[derive(Module, Debug)]
pub struct Tower {
    hidden: Linear,
    output: Linear,
}

impl Tower {
    fn new(device: &Device) -> Self {
        Self {
            hidden: LinearConfig::new(FEATURES, HIDDEN).init(device),
            output: LinearConfig::new(HIDDEN, VECTOR).init(device),
        }
    }

    /// `[rows, FEATURES]` to `[rows, VECTOR]`.
    pub fn forward(&self, features: Tensor<2>) -> Tensor<2> {
        self.output.forward(relu(self.hidden.forward(features)))
    }
}

#[derive(Module, Debug)]
pub struct TwoTowers {
    pub user: Tower,
    pub item: Tower,
}

impl TwoTowers {
    pub fn new(device: &Device) -> Self {
        Self { user: Tower::new(device), item: Tower::new(device) }
    }

    /// Scores of all `items` for each user: `[users, FEATURES]` and `[items, FEATURES]` to `[users, items]`.
    pub fn forward(&self, users: Tensor<2>, items: Tensor<2>) -> Tensor<2> {
        self.user.forward(users).matmul(self.item.forward(items).transpose())
    }
}

/// Features of the users or the items of these numbers, `[rows, FEATURES]`.
pub fn rows(features: &[f32], numbers: &[usize], device: &Device) -> Tensor<2> {
    let cells: Vec<f32> =
        numbers.iter().flat_map(|&row| &features[row * FEATURES..(row + 1) * FEATURES]).copied().collect();
    Tensor::from_data(TensorData::new(cells, [numbers.len(), FEATURES]), device)
}

/// Features of all items, `[items, FEATURES]`.
pub fn all_items(catalog: &Catalog, device: &Device) -> Tensor<2> {
    Tensor::from_data(TensorData::new(catalog.item_features.clone(), [catalog.size.items, FEATURES]), device)
}
