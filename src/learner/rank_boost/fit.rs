//! The rounds of RankBoost.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::config::{NAME, RankBoost};
use super::potentials::Levels;
use crate::data::Dataset;
use crate::learner::entry::Learner;
use crate::learner::error::LearnerError;
use crate::learner::shared::checks;
use crate::learner::shared::context::{FitContext, Fitted, Round, StopReason};
use crate::learner::shared::judge::Judge;
use crate::learner::shared::rounds::Rounds;
use crate::learner::solver::bins::Bins;
use crate::ranker::{Model, Node, TreeEnsemble};

/// Largest edge that `alpha` is computed of: keeps it finite.
pub(super) const LARGEST_EDGE: f64 = 1.0 - 1e-12;

/// Edges below this are rounding.
const SMALLEST_EDGE: f64 = 1e-12;

/// `alpha 1[x_feature > threshold]`
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Stump {
    feature: usize,
    threshold: f32,
    alpha: f64,
}

impl Stump {
    fn add_to(&self, scores: &mut [f64], data: &Dataset) {
        for (d, score) in scores.iter_mut().enumerate() {
            if data.row(d)[self.feature] > self.threshold {
                *score += self.alpha;
            }
        }
    }

    fn nodes(&self) -> [Node; 3] {
        let split = Node::Split { feature: self.feature as u32, threshold: self.threshold, left: 1, right: 2 };
        [split, Node::Leaf { value: 0.0 }, Node::Leaf { value: self.alpha }]
    }
}

/// Whether an edge is larger than another, whatever their signs, by more than the order of their terms makes.
fn is_larger(edge: f64, other: f64) -> bool {
    edge.abs() > other.abs() * (1.0 + 1e-12)
}

/// The weak ranker with the largest absolute edge: feature, threshold, edge.
pub(super) fn best_weak_ranker(bins: &Bins, potentials: &[f64]) -> Option<(usize, f32, f64)> {
    let best_of = |feature: usize| {
        let thresholds = bins.thresholds(feature);
        let mut sums = vec![0.0; thresholds.len() + 1];
        for (&code, potential) in bins.codes(feature).iter().zip(potentials) {
            sums[code as usize] += potential;
        }
        // All potentials add up to 0: the edge above a threshold is minus the sum below it.
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
    let candidates: Vec<_> = (0..bins.features()).into_par_iter().map(best_of).collect();
    candidates.into_iter().flatten().reduce(|best, next| if is_larger(next.2, best.2) { next } else { best })
}

impl Learner for RankBoost {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, train: &Dataset, validation: Option<&Dataset>, context: &FitContext) -> Result<Fitted, LearnerError> {
        checks::trainable(NAME, train, validation, context)?;
        let bins = Bins::new(train, self.config.thresholds + 1);
        let levels = Levels::new(train);
        let judge = Judge::of_selection(context)?;
        let limit = Some(self.config.rounds);
        let mut rounds = Rounds::start(NAME, &self.config, train, validation, limit, context, Vec::<Stump>::new)?;
        let mut scores = vec![0.0; train.documents()];
        let mut validation_scores = vec![0.0; validation.map_or(0, Dataset::documents)];
        for stump in &rounds.state {
            stump.add_to(&mut scores, train);
            validation.inspect(|data| stump.add_to(&mut validation_scores, data));
        }
        let (_, mut potentials) = levels.potentials(&scores);
        let stop = loop {
            if let Some(stop) = rounds.stop() {
                break stop;
            }
            if rounds.stalled(self.config.patience) {
                break StopReason::EarlyStopped;
            }
            let weak = best_weak_ranker(&bins, &potentials).filter(|(_, _, edge)| edge.abs() > SMALLEST_EDGE);
            let Some((feature, threshold, edge)) = weak else {
                break StopReason::Converged;
            };
            let capped = edge.clamp(-LARGEST_EDGE, LARGEST_EDGE);
            let stump = Stump { feature, threshold, alpha: capped.atanh() };
            stump.add_to(&mut scores, train);
            validation.inspect(|data| stump.add_to(&mut validation_scores, data));
            let objective;
            (objective, potentials) = levels.potentials(&scores);
            // A round that is no number could not be read back.
            if !objective.is_finite() {
                break StopReason::Converged;
            }
            rounds.state.push(stump);
            rounds.record(Round {
                round: rounds.next(),
                objective,
                train: judge.mean(train, &scores)?,
                validation: validation.map(|data| judge.mean(data, &validation_scores)).transpose()?.flatten(),
                figures: vec![
                    ("feature".into(), (feature + 1) as f64),
                    ("threshold".into(), f64::from(threshold)),
                    ("edge".into(), edge),
                    ("alpha".into(), stump.alpha),
                ],
            });
            rounds.save_when_due()?;
            if edge.abs() >= LARGEST_EDGE {
                break StopReason::Converged;
            }
        };
        if rounds.history().is_empty() && stop == StopReason::Converged {
            let reason = "no threshold of a feature orders more pairs right than wrong".to_string();
            return Err(LearnerError::Data { learner: NAME, reason });
        }
        rounds.finish(stop, |stumps, best_round| {
            let mut trees = TreeEnsemble::new(train.feature_count);
            for stump in &stumps[..best_round] {
                trees
                    .push(&stump.nodes())
                    .map_err(|error| LearnerError::Solver { learner: NAME, reason: error.to_string() })?;
            }
            Ok(Model::Trees(trees))
        })
    }
}
