//! The Kullback-Leibler divergence of the scores' softmax from the softmax of a teacher's scores.
//!
//! The loss is `T^2 sum_i p_i (log p_i - log q_i)`, where `p = softmax(t / T)` and `q = softmax(s / T)` (Hinton et al.,
//! Distilling the knowledge in a neural network, section 2.1). Here `t_i` is the teacher's score of document `i`
//! ([`Lists::with_teacher`]), or its label if there is no teacher. The factor `T^2` keeps the size of the gradient
//! independent of the temperature `T`. The loss differs from [`ListNet`](crate::loss::ListNet) by the entropy of `p`,
//! so it is 0 where the two softmaxes agree.
//!
//! Cost: O(n). A query whose documents have the same teacher's score has loss 0.

use crate::loss::curvature::log_softmax;
use crate::loss::prelude::*;

declare! {
    TeacherKlConfig,
    name: "teacher_kl",
    summary: "divergence of the scores' softmax from a teacher's",
    formula: "T^2 sum_i p_i (log p_i - log q_i), p = softmax(t / T), q = softmax(s / T)",
    cost: "O(n)",
    paper: "Hinton et al., Distilling the knowledge in a neural network, section 2.1",
}

/// Configuration of [`TeacherKl`].
#[doc = example!("TeacherKlConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct TeacherKlConfig {
    /// The divisor `T` of both scores; must be above 0. A larger value gives more weight to documents that the teacher
    /// scores low.
    #[config(default = 1.0)]
    pub temperature: f64,
}

impl TeacherKlConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `temperature` is not a finite number above 0.
    pub fn init(&self) -> Result<TeacherKl, LossError> {
        Ok(TeacherKl { temperature: error::positive(NAME, "temperature", self.temperature)? })
    }
}

/// The divergence of the scores' softmax from a teacher's, `T^2 sum_i p_i (log p_i - log q_i)`.
#[doc(alias = "distillation")]
#[doc(alias = "KL divergence")]
#[derive(Module, Debug)]
pub struct TeacherKl {
    temperature: f64,
}

impl RankingLoss for TeacherKl {
    fn about(&self) -> About<'_> {
        About::new(NAME, Orientation::Loss).of_teacher().with_curvature(self)
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        let rate = self.temperature.recip();
        let target = lists.log_softmax(lists.labels.clone() * rate);
        let found = lists.log_softmax(lists.scores.clone() * rate);
        let p = target.clone().exp() * lists.mask.clone();
        sum_documents(p * (target - found)) * (self.temperature * self.temperature)
    }
}

impl Curved for TeacherKl {
    fn derivatives(&self, labels: &[f32], scores: &[f64], _: Option<&[f32]>) -> Derivatives {
        let mut found = Derivatives::none(labels.len());
        if labels.windows(2).all(|pair| pair[0] == pair[1]) {
            return found;
        }
        let rate = self.temperature.recip();
        let target = log_softmax(labels.iter().map(|&label| f64::from(label) * rate));
        let own = log_softmax(scores.iter().map(|score| score * rate));
        for (document, (target, own)) in target.into_iter().zip(own).enumerate() {
            let (p, q) = (target.exp(), own.exp());
            found.loss += self.temperature * self.temperature * p * (target - own);
            found.gradient[document] = self.temperature * (q - p);
            found.curvature[document] = q * (1.0 - q);
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
        // p = sigmoid(+-1/2) and q = sigmoid(-+1) at T = 2.
        let sigmoid = |t: f64| 1.0 / (1.0 + (-t).exp());
        let term = |p: f64, q: f64| p * (p.ln() - q.ln());
        let expected = 4.0 * (term(sigmoid(0.5), sigmoid(-1.0)) + term(sigmoid(-0.5), sigmoid(1.0)));
        let found = value(TeacherKlConfig::new().with_temperature(2.0).init(), &[0.0, 2.0], &[1.0, 0.0]);
        assert!((found - expected).abs() < 1e-12, "{found}");
    }

    #[test]
    fn scores_like_the_teachers_have_no_loss() {
        assert!(value(TeacherKlConfig::new().init(), &[3.0, 1.0, -1.0], &[2.0, 0.0, -2.0]).abs() < 1e-12);
    }
}
