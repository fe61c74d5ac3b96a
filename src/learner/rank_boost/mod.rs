//! RankBoost minimizes the exponential loss over pairs by adding weak rankers, each of which compares a single feature
//! with a threshold.
//!
//! The algorithm comes from Freund, Iyer, Schapire and Singer, "An efficient boosting algorithm for combining
//! preferences", JMLR 4 (2003). The loss of RankBoost is a mean over the pairs of documents `i, j` of one query with
//! `y_j < y_i`:
//!
//! ```text
//! loss(H) = mean over pairs of exp(H_j - H_i),    D(j, i) = exp(H_j - H_i) / sum of all
//! ```
//!
//! A weak ranker is `h(x) = 1[x_f > theta]`. The potential of a document is `pi_i = sum_j D(j, i) - sum_j D(i, j)`: the
//! weights of the pairs that `i` should win, minus the weights of the pairs that `i` should lose. The edge of a weak
//! ranker is `r = sum_i pi_i h(x_i)`. Pairs are never formed. Computing all potentials costs O(documents x labels), and
//! finding the best weak ranker costs O(documents x features). Each round adds `alpha h`, where `h` has the largest
//! `|r|` and `alpha = 1/2 ln((1 + r) / (1 - r))`. If `r` is negative, so is `alpha`. A round multiplies the loss by at
//! most `sqrt(1 - r^2)`, so the loss never grows. Sums of exponentials are stored relative to their largest term. The
//! loss and the potentials therefore stay finite however large the scores become.
//!
//! If several weak rankers have equal edges, the one with the lowest feature number is chosen. If they also share the
//! feature, the one with the lowest threshold is chosen. The fit ends when every edge is 0, or when one weak ranker
//! orders every pair correctly. A weak ranker that orders every pair correctly gets the largest possible weight
//! `alpha`, about 14. The model is a sum of trees with a single split each.

mod potentials;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::learner::prelude::*;
use crate::learner::solver::bins::{Binned, MAX_BINS, bins_of_all};
use crate::ranker::{Node, NodeStatistics, TreeEnsemble};
use potentials::Levels;

const NAME: &str = "rank_boost";

pub(super) const ENTRY: LearnerEntry = LearnerEntry {
    summary: "boosting of feature thresholds on the exponential loss of pairs",
    paper: "Freund, Iyer, Schapire and Singer, An efficient boosting algorithm for combining preferences; the baseline \
            of Xu et al., Direct optimization of evaluation measures in learning to rank, section 6",
    rounds_key: Some("rounds"),
    ..LearnerEntry::of::<RankBoostConfig>(NAME)
};

/// The configuration of RankBoost. A checked configuration is the learner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RankBoostConfig {
    /// The maximum number of rounds, each of which adds a tree with a single split.
    pub rounds: usize,
    /// The maximum number of thresholds per feature, from 1 to 255. If a feature has few distinct values, every
    /// possible threshold is tried.
    pub thresholds: usize,
    /// The fit stops after this many rounds without a better selection measure.
    pub patience: Option<usize>,
}

impl Default for RankBoostConfig {
    fn default() -> Self {
        Self { rounds: 300, thresholds: MAX_BINS - 1, patience: None }
    }
}

impl LearnerConfig for RankBoostConfig {
    type RankingLearner = Self;

    fn check(&self, _: &Parts) -> Result<Self> {
        checks::at_least("rounds", self.rounds, 1)?;
        let (thresholds, most) = (self.thresholds, MAX_BINS - 1);
        checks::require("thresholds", thresholds, (1..=most).contains(&thresholds), format_args!("1 to {most}"))?;
        checks::at_least("patience", self.patience, 1)?;
        Ok(self.clone())
    }
}

/// The upper limit of the edge's magnitude, which keeps `alpha = atanh(edge)` finite.
const LARGEST_EDGE: f64 = 1.0 - 1e-12;

/// The magnitude up to which an edge counts as a rounding error.
const SMALLEST_EDGE: f64 = 1e-12;

/// The weak ranker `alpha 1[x_feature > threshold]`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Stump {
    feature: usize,
    threshold: f32,
    alpha: f64,
}

impl Stump {
    fn add_to(&self, scores: &mut [f64], data: &RankingDataset) {
        for (d, score) in scores.iter_mut().enumerate() {
            if data.row(d)[self.feature] > self.threshold {
                *score += self.alpha;
            }
        }
    }

    fn nodes(&self) -> [Node; 3] {
        let (feature, threshold) = (self.feature as u32, self.threshold);
        let split = Node::Split { feature, threshold, left: 1, right: 2, missing_left: false };
        [split, Node::Leaf { value: 0.0 }, Node::Leaf { value: self.alpha }]
    }

    /// Returns the statistics of the nodes. The gain of a split is the decrease in the logarithm of RankBoost's upper
    /// bound on the loss: `-ln sqrt(1 - edge^2) = ln cosh alpha`.
    fn statistics(&self, train: &RankingDataset) -> NodeStatistics {
        let above = (0..train.documents()).filter(|&d| train.row(d)[self.feature] > self.threshold).count();
        let count = [train.documents(), train.documents() - above, above].map(|documents| documents as u32).to_vec();
        let gain = vec![self.alpha.cosh().ln() as f32, 0.0, 0.0];
        NodeStatistics { count, weight: Vec::new(), gain }
    }
}

/// Returns whether `edge` is larger in magnitude than `other` by more than a rounding error.
fn is_larger(edge: f64, other: f64) -> bool {
    edge.abs() > other.abs() * (1.0 + 1e-12)
}

/// Returns the feature, the threshold and the edge of the weak ranker with the largest absolute edge. `bins` holds the
/// binned values of `features`, which are the features of this process.
fn best_weak_ranker(
    train: &RankingDataset,
    bins: &[Binned],
    features: Range<usize>,
    potentials: &[f64],
) -> Option<(usize, f32, f64)> {
    let best_of = |(feature, Binned { codes, thresholds, .. }): (usize, &Binned)| {
        let mut sums = vec![0.0; thresholds.len() + 1];
        for (&code, potential) in codes.iter().zip(potentials) {
            sums[code as usize] += potential;
        }
        // All potentials add up to 0, so the edge above a threshold is minus the sum below it.
        let mut below = 0.0;
        let mut best: Option<(usize, f32, f64)> = None;
        for (sum, &threshold) in sums.iter().zip(thresholds) {
            below += sum;
            if best.is_none_or(|(_, _, edge)| is_larger(below, edge)) {
                best = Some((feature, threshold, -below));
            }
        }
        best
    };
    let candidates = parallel::map(features.zip(bins), best_of);
    let numbers = |(feature, threshold, edge)| [feature as f64, f64::from(threshold), edge];
    // Among edges that are equal except for rounding, the order of the features decides.
    let candidates = train.group().gather_numbers(candidates.into_iter().flatten().flat_map(numbers).collect());
    let candidates = candidates.as_chunks().0.iter();
    let candidates = candidates.map(|&[feature, threshold, edge]| (feature as usize, threshold as f32, edge));
    candidates.reduce(|best, next| if is_larger(next.2, best.2) { next } else { best })
}

/// The sum of weak rankers and its scores. Each round adds one weak ranker to the sum.
struct Boosting<'a> {
    train: &'a RankingDataset,
    /// The binned values of the features that this process examines.
    bins: Vec<Binned>,
    features: Range<usize>,
    levels: Levels<'a>,
    scores: Additive<'a>,
    potentials: Vec<f64>,
}

impl Boosting<'_> {
    fn add(&mut self, stump: Stump) {
        self.scores.0.iter_mut().for_each(|(_, data, scores)| stump.add_to(scores, data));
    }
}

impl Iterative for Boosting<'_> {
    type State = Vec<Stump>;

    fn initial(&self) -> Vec<Stump> {
        Vec::new()
    }

    fn resume(&mut self, stumps: &mut Vec<Stump>, _: &History) -> Result<()> {
        stumps.iter().for_each(|&stump| self.add(stump));
        (_, self.potentials) = self.levels.potentials(self.scores.on(Set::Training));
        Ok(())
    }

    fn round(&mut self, _: &History, stumps: &mut Vec<Stump>) -> Result<Step> {
        let weak = best_weak_ranker(self.train, &self.bins, self.features.clone(), &self.potentials)
            .filter(|(_, _, edge)| edge.abs() > SMALLEST_EDGE);
        let Some((feature, threshold, edge)) = weak else {
            return Ok(Step::End(StopReason::Converged));
        };
        let stump = Stump { feature, threshold, alpha: edge.clamp(-LARGEST_EDGE, LARGEST_EDGE).atanh() };
        self.add(stump);
        let objective;
        (objective, self.potentials) = self.levels.potentials(self.scores.on(Set::Training));
        // A round whose objective is not a number could not be read back.
        if !objective.is_finite() {
            return Ok(Step::End(StopReason::Converged));
        }
        stumps.push(stump);
        let threshold = f64::from(threshold);
        let figures =
            [("feature", (feature + 1) as f64), ("threshold", threshold), ("edge", edge), ("alpha", stump.alpha)];
        Ok(Step::Made(Made::new(objective, figures)))
    }

    fn scores(&self, set: Set, _: &RankingDataset) -> Result<Option<Cow<'_, [f64]>>> {
        Ok(Some(self.scores.on(set).into()))
    }

    fn recorded(&mut self, _: &Recorded, stumps: &mut Vec<Stump>) -> Result<Option<StopReason>> {
        // A stump that orders every pair leaves nothing to do.
        let whole = stumps.last().is_some_and(|stump| stump.alpha.abs() >= LARGEST_EDGE.atanh());
        Ok(whole.then_some(StopReason::Converged))
    }

    fn conclude(&mut self, stop: StopReason, history: &History, _: &Vec<Stump>) -> Result<StopReason> {
        if history.rounds.is_empty() && stop == StopReason::Converged {
            let reason = "no threshold on any feature orders more pairs correctly than incorrectly".to_string();
            return Err(LearnerError::data(NAME, reason));
        }
        Ok(stop)
    }

    fn model(&self, stumps: &Vec<Stump>, best_round: usize) -> Result<Model> {
        let mut trees = TreeEnsemble::new(self.train.feature_count);
        for stump in &stumps[..best_round] {
            trees
                .push_with(&stump.nodes(), stump.statistics(self.train))
                .map_err(|error| LearnerError::solver(NAME, error))?;
        }
        Ok(Model::Trees(trees))
    }
}

impl RankingLearner for RankBoostConfig {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, job: Job) -> Result<Fitted> {
        let rounds = Rounds::new(NAME, job)?;
        let train = job.train;
        let features = own(train.feature_count, train.group());
        let bins = bins_of_all(train, features.clone(), self.thresholds + 1);
        let (levels, scores) = (Levels::new(train), Additive::new(job));
        let mut boosting = Boosting { train, bins, features, levels, scores, potentials: Vec::new() };
        rounds.most(self.rounds).patience(self.patience).drive(self, &mut boosting)
    }
}
