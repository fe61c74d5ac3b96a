//! Averages a model's weights over the optimizer steps; earlier steps count exponentially less.
//!
//! After `t` steps, the model after step `i` has the weight `decay^(t - i)`, divided by the sum of these powers. The
//! initial model is not part of the average, so the average of a short fit does not stay close to the initial model.
//! Running statistics of batch norm are averaged in the same way.

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::Tensor;

use crate::learner::shared::flat_scorer::flat;
use crate::scorer::Scorer;

/// The average so far.
#[derive(Clone)]
pub(super) struct AveragedWeights {
    decay: f64,
    /// The number of steps over which the weights are averaged.
    pub(super) steps: u64,
    /// The averages of all parameters, each as a flat tensor, in the order in which a module visits them.
    weights: Vec<Tensor<1>>,
}

impl AveragedWeights {
    /// Creates an empty average.
    pub(super) fn new(decay: f64) -> Self {
        Self { decay, steps: 0, weights: vec![] }
    }

    /// Restores the average after `steps` steps from a scorer with the averaged weights.
    pub(super) fn restored(decay: f64, steps: u64, scorer: &Scorer) -> Self {
        Self { decay, steps, weights: flat(scorer) }
    }

    /// Includes the weights of the scorer after a step in the average.
    ///
    /// # Shapes
    /// The scorer must have the same shapes after every step, and must not track gradients.
    pub(super) fn observe(&mut self, scorer: &Scorer) {
        self.steps += 1;
        let weights = flat(scorer);
        if self.steps == 1 {
            self.weights = weights;
            return;
        }
        let share = (1.0 - self.decay) / (1.0 - self.decay.powf(self.steps as f64));
        for (average, weight) in self.weights.iter_mut().zip(weights) {
            *average = average.clone() + (weight - average.clone()) * share;
        }
    }

    /// Returns a scorer with the averaged weights, or the scorer itself before the first step.
    pub(super) fn scorer(&self, scorer: Scorer) -> Scorer {
        if self.steps == 0 { scorer } else { scorer.map(&mut Fill(self.weights.iter())) }
    }
}

struct Fill<'a>(std::slice::Iter<'a, Tensor<1>>);

impl ModuleMapper for Fill<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let (id, tensor, mapper) = param.consume();
        let filled = self.0.next().map_or(tensor.clone(), |average| average.clone().reshape(tensor.shape()));
        Param::from_mapped_value(id, filled, mapper)
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::scorer::LinearScorer;

    #[test]
    fn steps_count_by_their_age() {
        let device = Device::flex();
        let scorer = |weight: f32| Scorer::Linear(LinearScorer::from_weights(&[weight, -weight], 0.5, &device));
        let mut average = AveragedWeights::new(0.5);
        for weight in [1.0, 2.0, 4.0] {
            average.observe(&scorer(weight));
        }
        // (1 / 4 + 2 / 2 + 4) / (1 / 4 + 1 / 2 + 1)
        let Scorer::Linear(averaged) = average.scorer(scorer(9.0)) else { panic!("a linear scorer") };
        assert_eq!(averaged.weights(), (vec![3.0, -3.0], 0.5));
    }

    #[test]
    fn nothing_averaged_is_the_scorer_itself() {
        let scorer = Scorer::Linear(LinearScorer::from_weights(&[2.0], 0.0, &Device::flex()));
        let Scorer::Linear(same) = AveragedWeights::new(0.9).scorer(scorer) else { panic!("a linear scorer") };
        assert_eq!(same.weights(), (vec![2.0], 0.0));
    }
}
