//! Represents the parameters of a scorer as one vector, for solvers that know nothing of burn's modules.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Device, Gradients, Tensor, TensorData};

use crate::data::RankingDataset;
use crate::ranker::Model;
use crate::scorer::Scorer;

/// A scorer whose parameters can be set from a vector.
pub(crate) struct FlatScorer {
    scorer: Scorer,
    device: Device,
}

impl FlatScorer {
    /// Wraps a scorer. [`parameters`](Self::parameters) returns the current parameters of the scorer.
    pub(crate) fn new(scorer: Scorer, device: &Device) -> Self {
        Self { scorer, device: device.clone() }
    }

    /// Returns the parameters of the wrapped scorer, in the order in which a module visits them.
    pub(crate) fn parameters(&self) -> Vec<f64> {
        let values = |parameter: Tensor<1>| parameter.into_data().iter::<f64>().collect::<Vec<f64>>();
        flat(&self.scorer).into_iter().flat_map(values).collect()
    }

    /// Returns a scorer that has the given parameters and tracks gradients.
    pub(crate) fn training_scorer(&self, parameters: &[f64]) -> Scorer {
        let device = self.device.clone().autodiff();
        self.scorer.clone().map(&mut Writer { values: parameters, device, gradients: true })
    }

    /// Returns the model with the given parameters.
    pub(crate) fn model(&self, parameters: &[f64]) -> Model {
        let device = self.device.clone();
        Model::Scorer(self.scorer.clone().map(&mut Writer { values: parameters, device, gradients: false }))
    }

    /// Returns the score of each document under the given parameters.
    pub(crate) fn scores(&self, parameters: &[f64], data: &RankingDataset) -> Vec<f64> {
        self.model(parameters).predict(data, &self.device).into_iter().map(f64::from).collect()
    }

    /// Adds the gradient of each parameter to the corresponding element of `sum`.
    pub(crate) fn add_gradients(scorer: &Scorer, gradients: &Gradients, sum: &mut [f64]) {
        scorer.visit(&mut Adder { gradients, sum });
    }
}

/// Returns all parameters of a scorer, each as a flat tensor, in the order in which a module visits them.
pub(crate) fn flat(scorer: &Scorer) -> Vec<Tensor<1>> {
    let mut flat = Flat(Vec::new());
    scorer.visit(&mut flat);
    flat.0
}

struct Flat(Vec<Tensor<1>>);

impl ModuleVisitor for Flat {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.0.push(param.val().flatten(0, D - 1));
    }
}

struct Writer<'a> {
    values: &'a [f64],
    device: Device,
    gradients: bool,
}

impl ModuleMapper for Writer<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let shape = param.val().dims();
        let (own, rest) = self.values.split_at(shape.iter().product());
        self.values = rest;
        let own: Vec<f32> = own.iter().map(|&value| value as f32).collect();
        param.map(|_| {
            let tensor = Tensor::from_data(TensorData::new(own, shape), &self.device);
            if self.gradients { tensor.require_grad() } else { tensor }
        })
    }
}

struct Adder<'a> {
    gradients: &'a Gradients,
    sum: &'a mut [f64],
}

impl ModuleVisitor for Adder<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let tensor = param.val();
        let sum = std::mem::take(&mut self.sum);
        let (own, rest) = sum.split_at_mut(tensor.dims().iter().product());
        self.sum = rest;
        if let Some(gradient) = tensor.grad(self.gradients) {
            own.iter_mut().zip(gradient.into_data().iter::<f64>()).for_each(|(sum, value)| *sum += value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing;
    use crate::scorer::{MlpScorerConfig, ScorerConfig};

    #[test]
    fn parameters_round_trip_and_gradients_have_the_same_order() {
        let device = Device::flex();
        let scorer = ScorerConfig::Mlp(MlpScorerConfig::default()).init(3, 5, &device).unwrap();
        let network = FlatScorer::new(scorer, &device);
        let mut parameters = network.parameters();
        let Model::Scorer(again) = network.model(&parameters) else { panic!("a scorer") };
        assert_eq!(FlatScorer::new(again, &device).parameters(), parameters);

        let data = testing::random(1, 6, 3, 4);
        let batch = crate::data::RankingBatch::assemble(&data, &[0], &device.autodiff());
        let scorer = network.training_scorer(&parameters);
        let gradients = scorer.forward(batch.features, batch.mask).sum().backward();
        let mut gradient = vec![0.0; parameters.len()];
        FlatScorer::add_gradients(&scorer, &gradients, &mut gradient);
        let total = |parameters: &[f64]| network.scores(parameters, &data).iter().sum::<f64>();
        let last = parameters.len() - 1;
        for place in [0, last] {
            let before = parameters[place];
            parameters[place] = before + 1e-2;
            let above = total(&parameters);
            parameters[place] = before - 1e-2;
            let numeric = (above - total(&parameters)) / 2e-2;
            parameters[place] = before;
            assert!((gradient[place] - numeric).abs() < 1e-2 * numeric.abs().max(1.0), "{} {numeric}", gradient[place]);
        }
    }
}
