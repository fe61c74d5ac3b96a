//! Pairwise losses computed pair by pair in double precision, with which to check the fast kernels.

use super::pair_weight::{Distance, PairWeight};
use crate::op::cpu::parameters::PairLoss;

/// Returns the loss of a pair and its slope.
fn loss_and_slope(loss: PairLoss, t: f64) -> [f64; 2] {
    let [right, wrong] = [1.0 / (1.0 + (-t).exp()), 1.0 / (1.0 + t.exp())];
    match loss {
        PairLoss::Logistic => [(-t).max(0.0) + (-t.abs()).exp().ln_1p(), -wrong],
        PairLoss::Hinge { margin } => [(margin - t).max(0.0), if t < margin { -1.0 } else { 0.0 }],
        PairLoss::SquaredHinge { margin } => [(margin - t).max(0.0).powi(2), -2.0 * (margin - t).max(0.0)],
        PairLoss::Exponential => [(-t).exp(), -(-t).exp()],
        PairLoss::Fidelity => [wrong / (1.0 + right.sqrt()), -0.5 * right.sqrt() * wrong],
        PairLoss::SoftZeroOne => [wrong, -wrong * right],
    }
}

/// One list with the weights of its pairs and an incoming gradient.
pub struct Pairs<'a> {
    pub x: &'a [f64],
    pub labels: &'a [f64],
    pub weight: &'a PairWeight<Vec<f64>>,
    pub g: &'a [f64],
    pub loss: PairLoss,
}

impl Pairs<'_> {
    /// Returns the weight of a pair of a more relevant and a less relevant document.
    fn weight(&self, i: usize, j: usize) -> f64 {
        let discount = |r: f64| 1.0 / (1.0 + r).log2();
        match self.weight {
            PairWeight::Unit => 1.0,
            PairWeight::Document(u) => u[i],
            PairWeight::Lambda { gain, discount: d, rank, absolute, gap, distance } => {
                let apart = (rank[i] - rank[j]).abs().max(1.0);
                let step = discount(apart) - discount(apart + 1.0);
                let near = distance.as_ref();
                let divisor = near.map_or(1.0, |Distance { scores, offset }| offset + (scores[i] - scores[j]).abs());
                (gain[i] - gain[j]).abs() * (absolute * (d[i] - d[j]).abs() + gap * step) / divisor
            }
        }
    }

    /// Returns the loss of a document, and the gradient with respect to its score.
    pub fn of(&self, i: usize) -> [f64; 2] {
        let (mut value, mut slope) = (0.0, 0.0);
        for j in 0..self.x.len() {
            if self.labels[i] > self.labels[j] {
                let [of_pair, own] = loss_and_slope(self.loss, self.x[i] - self.x[j]);
                value += self.weight(i, j) * of_pair;
                slope += self.g[i] * self.weight(i, j) * own;
            } else if self.labels[i] < self.labels[j] {
                let [_, own] = loss_and_slope(self.loss, self.x[j] - self.x[i]);
                slope -= self.g[j] * self.weight(j, i) * own;
            }
        }
        [value, slope]
    }

    /// Returns the largest errors of losses and gradients, over every 37th document. The error of a gradient is
    /// relative to the largest gradient. The error of a loss is relative to the loss or, if this is larger, to `least`
    /// times the largest loss.
    pub fn errors(&self, losses: &[f32], gradients: &[f32], least: f64) -> [f64; 2] {
        let largest = |values: &[f32]| values.iter().fold(1e-30f64, |most, &value| most.max(f64::from(value.abs())));
        let (least, most) = (least * largest(losses), largest(gradients));
        let mut errors = [0.0f64; 2];
        for i in (0..self.x.len()).step_by(37) {
            let [value, slope] = self.of(i);
            errors[0] = errors[0].max((f64::from(losses[i]) - value).abs() / value.max(least).max(1e-30));
            errors[1] = errors[1].max((f64::from(gradients[i]) - slope).abs() / most);
        }
        errors
    }
}
