//! MarginMSE, the squared error of score differences as predictions of a teacher's.
//!
//! The loss is the mean of `((s_i - s_j) - (t_i - t_j))^2` over the pairs of documents with `t_i != t_j` (Hofstätter
//! et al., Improving efficient neural ranking models with cross-architecture knowledge distillation, equation 5). Here
//! `t_i` is the teacher's score of document `i` ([`Lists::with_teacher`]), or its label if there is no teacher. The
//! loss of that name in sentence-transformers compares the first document with each other one only.
//!
//! With `d = s - t`, the sum over the pairs is `sum_i ((n - c_i) d_i^2 + d_i S_i) - (sum_i d_i)^2`. Here `c_i` counts
//! the documents with the same `t` as document `i`, and `S_i` is the sum of `d` over them. The mean of `d` is
//! subtracted first, so no digits cancel.
//!
//! Cost: O(n log n). A query whose documents have the same teacher's score has loss 0.

use crate::loss::equal_labels::EqualLabels;
use crate::loss::prelude::*;

declare! {
    MarginMseConfig,
    name: "margin_mse",
    summary: "squared error of score differences against a teacher's",
    formula: "sum_{i < j, t_i != t_j} ((s_i - s_j) - (t_i - t_j))^2 / #{i < j, t_i != t_j}",
    cost: "O(n log n)",
    paper: "Hofstätter et al., Improving efficient neural ranking models with cross-architecture knowledge distillation, eq. (5)",
}

/// Configuration of [`MarginMse`].
#[doc = example!("MarginMseConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct MarginMseConfig {}

impl MarginMseConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Currently returns no error, because every value is valid.
    pub fn init(&self) -> Result<MarginMse, LossError> {
        Ok(MarginMse)
    }
}

/// The squared error of score differences against a teacher's, a mean over the pairs that the teacher tells apart.
#[doc(alias = "MarginMSE")]
#[doc(alias = "distillation")]
#[derive(Module, Debug)]
pub struct MarginMse;

impl RankingLoss for MarginMse {
    fn about(&self) -> About<'_> {
        About::new(NAME, Orientation::Loss).of_teacher().with_curvature(self)
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        let (mask, n) = (lists.mask.clone(), lists.counts());
        let d = lists.scores.clone() - lists.labels.clone();
        let mean = sum_documents(d.clone()) / one_in_place_of_zero(n.clone());
        let d = (d - mean.unsqueeze_dim(1)) * mask.clone();
        let groups = EqualLabels::of(lists);
        let others = (n.unsqueeze_dim(1) - groups.counts()) * mask;
        let of_documents = others.clone() * d.clone().powi_scalar(2) + d.clone() * groups.sums(d.clone());
        let pairs = sum_documents(others) * 0.5;
        (sum_documents(of_documents) - sum_documents(d).powi_scalar(2)) / one_in_place_of_zero(pairs)
    }
}

impl Curved for MarginMse {
    fn derivatives(&self, labels: &[f32], scores: &[f64], _: Option<&[f32]>) -> Derivatives {
        let n = labels.len();
        let mut found = Derivatives::none(n);
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| labels[a].total_cmp(&labels[b]));
        let groups: Vec<&[usize]> = order.chunk_by(|&a, &b| labels[a] == labels[b]).collect();
        let equal: usize = groups.iter().map(|group| group.len() * group.len()).sum();
        if equal == n * n {
            return found;
        }
        let pairs = (n * n - equal) as f64 / 2.0;
        let d: Vec<f64> = scores.iter().zip(labels).map(|(score, &label)| score - f64::from(label)).collect();
        let mean = d.iter().sum::<f64>() / n as f64;
        let d: Vec<f64> = d.into_iter().map(|d| d - mean).collect();
        for group in groups {
            let (others, of_group) = ((n - group.len()) as f64, group.iter().map(|&i| d[i]).sum::<f64>());
            for &document in group {
                // The sum over the others of d_i - d_j, since all d add up to 0.
                let slope = others * d[document] + of_group;
                found.loss += slope * d[document] / pairs;
                found.gradient[document] = 2.0 * slope / pairs;
                found.curvature[document] = 2.0 * others / pairs;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType;

    use super::*;
    use crate::loss::explain;
    use crate::testing::value;

    #[test]
    fn four_documents_are_worked_pair_by_pair() {
        let (s, t) = ([0.5, -1.0, 2.0, 0.25], [1.0, 3.0, 1.0, -2.0]);
        let (mut sum, mut pairs) = (0.0, 0.0);
        for i in 0..4 {
            for j in 0..i {
                if t[i] != t[j] {
                    sum += f64::powi((s[i] - s[j]) - (t[i] - t[j]), 2);
                    pairs += 1.0;
                }
            }
        }
        assert_eq!(pairs, 5.0);
        let found = value(MarginMseConfig::new().init(), &s, &t);
        assert!((found - sum / pairs).abs() < 1e-12, "{found}");
    }

    /// In 32 bits, the loss and its gradient of a long list with one pair of values keep their digits.
    #[test]
    fn one_document_that_differs_in_a_long_list_keeps_its_digits() {
        let n = 20_000;
        let scores: Vec<f64> = (0..n).map(|i| f64::from((i * 7919 % 1000) as f32 / 500.0 - 1.0)).collect();
        let mut teacher = vec![0.0; n];
        teacher[n / 2] = 1.0;
        let found = |dtype| explain(&MarginMse, &scores, &teacher, dtype).unwrap();
        let (single, double) = (found(DType::F32), found(DType::F64));
        assert!((single.loss / double.loss - 1.0).abs() < 1e-5, "{} {}", single.loss, double.loss);
        let largest = double.grad.iter().fold(0.0f64, |largest, slope| largest.max(slope.abs()));
        for (single, double) in single.grad.iter().zip(&double.grad) {
            assert!((single - double).abs() < 1e-5 * largest, "{single} {double}");
        }
    }

    #[test]
    fn a_shift_of_the_teacher_changes_nothing() {
        let of =
            |shift: f64| value(MarginMseConfig::new().init(), &[0.5, -1.0, 2.0], &[1.0 + shift, 3.0 + shift, shift]);
        assert!((of(0.0) - of(1000.0)).abs() < 1e-9);
    }

    #[test]
    fn a_batch_of_single_documents_has_no_loss() {
        assert_eq!(value(MarginMseConfig::new().init(), &[0.5], &[2.0]), 0.0);
    }
}
