//! XE-NDCG, the cross entropy between a target of perturbed gains and the softmax of the scores.
//!
//! The loss is `-sum_i phi_i log softmax(s)_i`, where `phi_i = (2^{y_i} - gamma_i) / sum_j (2^{y_j} - gamma_j)`. Each
//! `gamma_i` is in [0, 1] (Bruch, An alternative cross entropy loss for learning-to-rank). With `gamma = 1`, the loss
//! is a convex upper bound on `-log(NDCG)`. By default, each `gamma_i` is drawn uniformly, as in LightGBM's
//! `rank_xendcg`. If `gamma` is given, every `gamma_i` has this value.
//!
//! The drawn numbers depend on `seed` and on the document's rank by score, so all queries share them. The gradient
//! learner draws new numbers for each row of the batch at every step, and boosted trees draw new numbers in every
//! round. Other learners use the same numbers throughout.
//!
//! Boosted trees take Newton steps with the second derivatives `p_i (1 - p_i)`, where `p = softmax(s)`.
//!
//! The cost is O(n), plus a sort if `gamma` is drawn. A query whose labels are all equal has loss 0.

use crate::loss::curvature::{by_score, log_softmax};
use crate::loss::prelude::*;

declare! {
    XeNdcgConfig,
    name: "xe_ndcg",
    summary: "cross entropy of perturbed gains and softmax of scores",
    formula: "-sum_i phi_i log softmax(s)_i, phi_i = (2^{y_i} - gamma_i) / sum_j (2^{y_j} - gamma_j)",
    cost: "O(n)",
    paper: "Bruch, An alternative cross entropy loss for learning-to-rank",
}

/// Configuration of [`XeNdcg`].
#[doc = example!("XeNdcgConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct XeNdcgConfig {
    /// The `gamma` from 0 to 1 that is subtracted from every gain; `None` draws a `gamma` for each document.
    pub gamma: Option<f64>,
    /// The seed of the drawn numbers, to which `gradient` and `boosted_trees` add the run's seed and step.
    #[config(default = 0)]
    pub seed: u64,
}

impl XeNdcgConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `gamma` is outside [0, 1].
    pub fn init(&self) -> Result<XeNdcg, LossError> {
        match self.gamma {
            Some(gamma) if !(0.0..=1.0).contains(&gamma) => {
                Err(LossError::parameter(NAME, "gamma", gamma, "a number from 0 to 1, or none"))
            }
            gamma => Ok(XeNdcg { gamma, noise: Noise::shared(self.seed), gain: Gain::Exp2Raw }),
        }
    }
}

/// The XE-NDCG loss, `-sum_i phi_i log softmax(s)_i`, with `phi_i` proportional to `2^{y_i} - gamma_i`.
#[doc(alias = "XE-NDCG")]
#[doc(alias = "rank_xendcg")]
#[derive(Module, Debug)]
pub struct XeNdcg {
    gamma: Option<f64>,
    #[module(skip)]
    noise: Noise,
    #[module(skip)]
    gain: Gain,
}

impl RankingLoss for XeNdcg {
    fn about(&self) -> About<'_> {
        About::new(NAME, Orientation::Loss).with_gain(&self.gain).with_curvature(self)
    }

    fn changed(&self, change: Change<'_>) -> Changed {
        match self.gamma {
            Some(_) => Ok(None),
            None => self.noise.changed(change, |noise| Self { noise, ..self.clone() }),
        }
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        let gamma = match self.gamma {
            Some(gamma) => lists.mask.clone() * gamma,
            None => self.noise.of_documents(Distribution::Uniform, 0, lists),
        };
        let target = lists.gains(&self.gain) - gamma;
        let total = one_in_place_of_zero(sum_documents(target.clone()));
        sum_documents(target * lists.log_softmax(lists.centered())).neg() / total
    }
}

impl Curved for XeNdcg {
    fn derivatives(&self, labels: &[f32], scores: &[f64], _: Option<&[f32]>) -> Derivatives {
        let n = labels.len();
        let mut found = Derivatives::none(n);
        if labels.windows(2).all(|pair| pair[0] == pair[1]) {
            return found;
        }
        let mut target: Vec<f64> = labels.iter().map(|&label| self.gain.of(f64::from(label))).collect();
        match self.gamma {
            Some(gamma) => target.iter_mut().for_each(|target| *target -= gamma),
            None => {
                let drawn = self.noise.of_ranks(Distribution::Uniform, 0, 0, n);
                by_score(scores).into_iter().zip(drawn).for_each(|(document, gamma)| target[document] -= gamma);
            }
        }
        let total: f64 = target.iter().sum();
        let log_chances = log_softmax(scores.iter().copied());
        for (document, (target, log_chance)) in target.into_iter().zip(log_chances).enumerate() {
            let (share, chance) = (target / total, log_chance.exp());
            found.loss -= share * log_chance;
            found.gradient[document] = chance - share;
            found.curvature[document] = chance * (1.0 - chance);
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
        // Gains 4 and 1 less 1/2: the target is 7/8 and 1/8.
        let log_sigmoid = |t: f64| -(-t).exp().ln_1p();
        let expected = -0.875 * log_sigmoid(-2.0) - 0.125 * log_sigmoid(2.0);
        let found = value(XeNdcgConfig::new().with_gamma(Some(0.5)).init(), &[0.0, 2.0], &[2.0, 0.0]);
        assert!((found - expected).abs() < 1e-12, "{found}");
    }

    #[test]
    fn what_is_drawn_lies_between_the_ends_and_goes_by_the_seed() {
        // One of two documents: the target, and with it the loss, is monotone in each gamma.
        let (scores, labels) = ([0.0, 2.0], [1.0, 0.0]);
        let of = |seed| value(XeNdcgConfig::new().with_seed(seed).init(), &scores, &labels);
        // Shares 2 / 2 and 1 / 2 of the first document: gamma (0, 1) and (1, 0).
        let log_sigmoid = |t: f64| -(-t).exp().ln_1p();
        let with = |share: f64| -share * log_sigmoid(-2.0) - (1.0 - share) * log_sigmoid(2.0);
        assert!((0..50).all(|seed| of(seed) > with(0.5) && of(seed) < with(1.0)));
        assert_eq!(of(3), of(3));
        assert_ne!(of(3), of(4));
        assert!(XeNdcgConfig::new().init().unwrap().changed(Change::Noise(&|own| own + 1)).unwrap().is_some());
        assert!(
            XeNdcgConfig::new()
                .with_gamma(Some(0.0))
                .init()
                .unwrap()
                .changed(Change::Noise(&|own| own))
                .unwrap()
                .is_none()
        );
    }

    /// By Jensen's inequality, the loss of one query is at least `-log(NDCG)`, whatever the scores.
    #[test]
    fn it_bounds_the_logarithm_of_ndcg() {
        use crate::measure::{Convention, Measure, Ranking};
        let labels = [2.0, 0.0, 1.0, 4.0, 0.0];
        for by in 0..40 {
            let scores: Vec<f64> = (0..5).map(|document| f64::from((document * 7 + by * 13) % 11) - 5.0).collect();
            let (single, written) =
                (scores.iter().map(|s| *s as f32).collect::<Vec<_>>(), labels.map(|label| label as f32));
            let ranking = Ranking { scores: &single, labels: &written, ids: None };
            let ndcg = Measure::Ndcg(None).query(&ranking, &Convention::preset("standard").unwrap()).unwrap().unwrap();
            let found = value(XeNdcgConfig::new().with_gamma(Some(1.0)).init(), &scores, &labels);
            assert!(found >= -ndcg.ln(), "{scores:?}: {found} {ndcg}");
        }
    }

    #[test]
    fn a_gamma_outside_the_unit_interval_is_refused() {
        for gamma in [-0.1, 1.5, f64::NAN] {
            assert!(XeNdcgConfig::new().with_gamma(Some(gamma)).init().is_err());
        }
    }
}
