//! The squared error of the scores as predictions of a teacher's scores.
//!
//! The loss is `1/n sum_i (s_i - t_i)^2`, where `t_i` is the teacher's score of document `i`
//! ([`Lists::with_teacher`]), or its label if there is no teacher. If documents have weights, the mean is a weighted
//! mean.
//!
//! Cost: O(n). A query with one document is enough to learn from. Adding a constant to the scores changes this loss.

use burn::tensor::Bool;

use crate::loss::prelude::*;

declare! {
    TeacherMseConfig,
    name: "teacher_mse",
    summary: "squared error against the scores of a teacher",
    formula: "1/n sum_i (s_i - t_i)^2",
    cost: "O(n)",
    paper: "Ba and Caruana, Do deep nets really need to be deep, section 2.2",
}

/// Configuration of [`TeacherMse`].
#[doc = example!("TeacherMseConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct TeacherMseConfig {}

impl TeacherMseConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Currently returns no error, because every value is valid.
    pub fn init(&self) -> Result<TeacherMse, LossError> {
        Ok(TeacherMse)
    }
}

/// The squared error of scores against a teacher's scores, `1/n sum_i (s_i - t_i)^2`.
#[doc(alias = "distillation")]
#[doc(alias = "MSE")]
#[derive(Module, Debug)]
pub struct TeacherMse;

impl RankingLoss for TeacherMse {
    fn about(&self) -> About<'_> {
        About::new(NAME, Orientation::Loss).of_teacher().with_document_weights().with_curvature(self)
    }

    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        lists.counts().greater_elem(0.0)
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        let squares = (lists.scores.clone() - lists.labels.clone()).powi_scalar(2);
        let weights = sum_documents(lists.weighted(lists.mask.clone()));
        sum_documents(lists.weighted(squares)) / one_in_place_of_zero(weights)
    }
}

impl Curved for TeacherMse {
    fn derivatives(&self, labels: &[f32], scores: &[f64], weights: Option<&[f32]>) -> Derivatives {
        let weight = |document: usize| weights.map_or(1.0, |weights| f64::from(weights[document]));
        let total: f64 = (0..labels.len()).map(weight).sum();
        let mut found = Derivatives::none(labels.len());
        for document in (0..labels.len()).filter(|_| total > 0.0) {
            let (share, error) = (weight(document) / total, scores[document] - f64::from(labels[document]));
            found.loss += share * error * error;
            found.gradient[document] = 2.0 * share * error;
            found.curvature[document] = 2.0 * share;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::value;

    #[test]
    fn two_documents_are_worked_by_hand() {
        // Errors 1 and -3.
        assert_eq!(value(TeacherMseConfig::new().init(), &[2.0, -1.0], &[1.0, 2.0]), 5.0);
        assert_eq!(value(TeacherMseConfig::new().init(), &[2.0], &[-1.0]), 9.0);
    }
}
