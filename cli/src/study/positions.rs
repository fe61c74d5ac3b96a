//! The theorems about approximate positions that several studies check: the positions, and the bounds on their errors.

use burn::tensor::{DType, Device, Tensor, TensorData};
use burn_rank::loss::Lists;
use burn_rank::op::Step;

/// Returns the approximate position and the exact rank of each document.
pub(super) fn positions(scores: &[f64], alpha: f64, step: Step) -> (Vec<f64>, Vec<f64>) {
    let device = Device::flex();
    let shape = [1, scores.len()];
    let tensor = Tensor::<2>::from_data(TensorData::new(scores.to_vec(), shape), (&device, DType::F64));
    let mask = Tensor::<2>::ones(shape, &device).greater_elem(0.0);
    let lists = Lists::padded(tensor.clone(), tensor.zeros_like(), mask);
    let values = |tensor: Tensor<2>| tensor.into_data().iter::<f64>().collect();
    (values(lists.approximate_positions(alpha, step)), values(lists.ranks()))
}

/// Returns `epsilon` of Corollary 4: the largest difference between a document's position and its rank, with the
/// logistic step.
pub(super) fn largest_error(scores: &[f64], alpha: f64) -> f64 {
    let (approximate, ranks) = positions(scores, alpha, Step::Logistic);
    largest_difference(&approximate, &ranks)
}

/// Returns the largest difference of corresponding values.
pub(super) fn largest_difference(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(left, right)| (left - right).abs()).fold(0.0, f64::max)
}

/// Returns the bound of Theorem 3 and Corollary 4 on the difference between a position and a rank. The bound is `None`
/// for equal scores, which the theorems do not cover.
pub(super) fn theorem_3(documents: usize, alpha: f64, delta: f64) -> Option<f64> {
    (delta > 0.0).then(|| (documents - 1) as f64 / ((alpha * delta).exp() + 1.0))
}

/// Returns the bound of Theorem 5 on the error of ApproxAP, for a query with `relevant` relevant documents. Returns
/// `None` if the theorem does not apply.
pub(super) fn theorem_5(relevant: usize, epsilon: f64, beta: f64) -> Option<f64> {
    let sum = |term: &dyn Fn(f64) -> f64| (1..=relevant).map(|i| term(i as f64)).sum::<f64>();
    (epsilon < 0.5).then(|| {
        sum(&|i| 1.0 / (i - epsilon)) / (1.0 + (beta * (1.0 - 2.0 * epsilon)).exp())
            + 2.0 * epsilon * sum(&|i| 1.0 / (i * (i - epsilon)))
    })
}

/// Returns the bound of Theorem 6 on the error of ApproxNDCG.
pub(super) fn theorem_6(epsilon: f64) -> f64 {
    epsilon / (2.0 * std::f64::consts::LN_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares positions with their definition, a sum of steps over the other documents.
    #[test]
    fn positions_are_sums_of_steps() {
        let scores = [0.3, -0.2, 0.9, 0.1];
        let (found, ranks) = positions(&scores, 3.0, Step::Logistic);
        assert_eq!(ranks, [2.0, 4.0, 1.0, 3.0]);
        for (x, position) in found.iter().enumerate() {
            let others = (0..4).filter(|y| *y != x).map(|y| 1.0 / (1.0 + (3.0 * (scores[x] - scores[y])).exp()));
            assert!((position - 1.0 - others.sum::<f64>()).abs() < 1e-12);
        }
    }
}
