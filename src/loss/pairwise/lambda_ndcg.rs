//! LambdaRank: RankNet with each pair weighted by the change of NDCG@k when its documents swap places.
//!
//! `sum_{y_i > y_j} |G(y_i) - G(y_j)| |D(r_i) - D(r_j)| / Z log(1 + exp(-sigma (s_i - s_j)))`, where `r` are the ranks
//! by score and `D` is the discount `1 / log2(1 + r)`, 0 beyond the cut-off. The weights carry no gradient, so the
//! gradient is LambdaRank's (Burges, From RankNet to LambdaRank to LambdaMART, section 4).
//!
//! Cost: O(n^2). A query whose labels are all equal has loss 0. Equal scores are ranked by position.

use burn::config::Config;
use burn::module::Module;
use burn::tensor::Tensor;

use crate::loss::curvature::{self, Curved, Derivatives};
use crate::loss::entry::{LossEntry, configure, parameters};
use crate::loss::error::{self, LossError};
use crate::loss::lists::Lists;
use crate::loss::lists::sum_documents;
use crate::loss::ranking_loss::{Orientation, RankingLoss};
use crate::measure::{Discount, Gain};
use crate::op::{PairLoss, PairWeight, pair_loss};

const NAME: &str = "lambda_ndcg";

pub(in crate::loss) const ENTRY: LossEntry = LossEntry {
    name: NAME,
    summary: "logistic loss weighted by the change of NDCG@k (LambdaRank)",
    formula: "sum_{y_i > y_j} |G(y_i) - G(y_j)| |D(r_i) - D(r_j)| / Z log(1 + exp(-sigma (s_i - s_j)))",
    cost: "O(n^2)",
    paper: "Burges, From RankNet to LambdaRank to LambdaMART, section 4",
    smoothing: None,
    shift_invariant: true,
    defaults: || parameters(&LambdaNdcgConfig::new()),
    forms: None,
    build: |params| Ok(Box::new(configure(NAME, LambdaNdcgConfig::new(), params)?.init()?)),
};

/// Configuration of [`LambdaNdcg`].
#[derive(Config, Debug)]
pub struct LambdaNdcgConfig {
    /// Scale of score differences, above 0.
    #[config(default = 1.0)]
    pub sigma: f64,
    /// Cut-off; none for the whole list.
    pub k: Option<usize>,
    /// Gain of a label.
    #[config(default = "Gain::Exp2")]
    pub gain: Gain,
}

impl LambdaNdcgConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// `sigma` not finite or not above 0, `k = 0`, a bad table of gains.
    pub fn init(&self) -> Result<LambdaNdcg, LossError> {
        Ok(LambdaNdcg {
            sigma: error::positive(NAME, "sigma", self.sigma)?,
            k: error::cutoff(NAME, self.k)?,
            gain: error::gain(NAME, &self.gain)?,
        })
    }
}

/// RankNet weighted by `|G(y_i) - G(y_j)| |D(r_i) - D(r_j)| / Z`.
#[doc(alias = "LambdaRank")]
#[doc(alias = "LambdaMART")]
#[derive(Module, Debug)]
pub struct LambdaNdcg {
    sigma: f64,
    k: Option<usize>,
    #[module(skip)]
    gain: Gain,
}

impl RankingLoss for LambdaNdcg {
    fn name(&self) -> &'static str {
        NAME
    }

    fn orientation(&self) -> Orientation {
        Orientation::Loss
    }

    fn gain(&self) -> Option<&Gain> {
        Some(&self.gain)
    }

    fn curvature(&self) -> Option<&dyn Curved> {
        Some(self)
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        let weight = lambda_weight(lists, &self.gain, self.k, 1.0, 0.0);
        let (scores, labels, mask) = (lists.centered() * self.sigma, lists.labels.clone(), lists.mask.clone());
        sum_documents(pair_loss(scores, labels, mask, &weight, PairLoss::Logistic))
    }
}

impl Curved for LambdaNdcg {
    fn derivatives(&self, labels: &[f32], scores: &[f64]) -> Derivatives {
        let places = self.places(labels, scores);
        curvature::logistic(labels, scores, self.sigma, |i, j| {
            (places[i].0 - places[j].0).abs() * (places[i].1 - places[j].1).abs()
        })
    }
}

impl LambdaNdcg {
    /// For each document, its gain over the ideal DCG and its discount at the rank by score. Equal scores are ranked by
    /// position.
    fn places(&self, labels: &[f32], scores: &[f64]) -> Vec<(f64, f64)> {
        let last = self.k.unwrap_or(usize::MAX);
        let discount = |rank: usize| if rank <= last { Discount::Log2.at(rank) } else { 0.0 };
        let gains: Vec<f64> = labels.iter().map(|&label| self.gain.of(f64::from(label))).collect();
        let mut best = gains.clone();
        best.sort_by(|a, b| b.total_cmp(a));
        let ideal: f64 = best.iter().zip(1..).map(|(gain, rank)| gain * discount(rank)).sum();
        let mut order: Vec<usize> = (0..labels.len()).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        let mut places: Vec<(f64, f64)> =
            gains.iter().map(|gain| (if ideal > 0.0 { gain / ideal } else { 0.0 }, 0.0)).collect();
        order.iter().zip(1..).for_each(|(&document, rank)| places[document].1 = discount(rank));
        places
    }
}

/// Weights of pairs, from gains over the ideal DCG and discounts at the ranks by score.
pub(super) fn lambda_weight(lists: &Lists, gain: &Gain, k: Option<usize>, absolute: f64, gap: f64) -> PairWeight {
    let rank = lists.ranks();
    let gains = lists.gains(gain);
    let ideal = lists.ideal_dcg(gains.clone(), &Discount::Log2, k);
    PairWeight::Lambda {
        gain: gains / ideal.unsqueeze_dim(1),
        discount: lists.discounts_at(rank.clone(), &Discount::Log2, k),
        rank,
        absolute,
        gap,
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType;

    use super::*;
    use crate::loss::explain;

    fn value(config: LambdaNdcgConfig, scores: &[f64], labels: &[f64]) -> f64 {
        explain(&config.init().unwrap(), scores, labels, DType::F64).unwrap().value
    }

    #[test]
    fn three_documents_are_worked_by_hand() {
        // Ranks 2, 3, 1; Z = 3 + 1/log2(3) for labels 2, 1, 0.
        let discount = |r: f64| 1.0 / (1.0 + r).log2();
        let logistic = |t: f64| (1.0 + (-t).exp()).ln();
        let pairs = 2.0 * (discount(2.0) - discount(3.0)) * logistic(1.0)
            + 3.0 * (discount(1.0) - discount(2.0)) * logistic(-1.0)
            + (discount(1.0) - discount(3.0)) * logistic(-2.0);
        let found = value(LambdaNdcgConfig::new(), &[1.0, 0.0, 2.0], &[2.0, 1.0, 0.0]);
        assert!((found - pairs / (3.0 + discount(2.0))).abs() < 1e-12, "{found}");
    }

    #[test]
    fn pairs_below_the_cutoff_do_not_count() {
        // Only the pair with the document at rank 1 changes NDCG@1: gains 3 and 1 against 0, discount 1, Z = 3.
        let logistic = |t: f64| (1.0 + (-t).exp()).ln();
        let found = value(LambdaNdcgConfig::new().with_k(Some(1)), &[1.0, 0.0, 2.0], &[2.0, 1.0, 0.0]);
        assert!((found - (logistic(-1.0) + logistic(-2.0) / 3.0)).abs() < 1e-12, "{found}");
    }
}
