//! The rounds of boosted trees.

use rand::SeedableRng;
use rand::seq::index;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::config::{BoostedTrees, NAME};
use super::objective::Objective;
use super::tree::{Derivatives, grow};
use crate::data::Dataset;
use crate::learner::entry::Learner;
use crate::learner::error::LearnerError;
use crate::learner::shared::checks;
use crate::learner::shared::context::{FitContext, Fitted, Round, StopReason};
use crate::learner::shared::gains::start_gains;
use crate::learner::shared::judge::{Judge, counted, mean};
use crate::learner::shared::rounds::Rounds;
use crate::learner::shared::surrogate_value::SurrogateValue;
use crate::learner::solver::bins::Bins;
use crate::loss::RankingLoss;
use crate::ranker::{Model, Node, TreeEnsemble};
use crate::seed::seed_for;

/// Derivatives at equal scores below this share of those at scores that are labels are of a flat loss, rounded.
const FLAT: f64 = 1e-3;

/// Most doublings, and most halvings, of a step in one round.
const STEP_CHANGES: usize = 30;

/// What has to be known between rounds.
#[derive(Serialize, Deserialize)]
struct State {
    trees: Vec<Vec<Node>>,
    /// The step of the last round.
    step: f64,
}

/// Adds a tree to the scores of all documents.
fn add(tree: &[Node], scores: &mut [f64], data: &Dataset) -> Result<(), LearnerError> {
    let added = ensemble(std::slice::from_ref(&tree), data.feature_count)?.scores(&data.features);
    scores.iter_mut().zip(added).for_each(|(score, value)| *score += value);
    Ok(())
}

/// The derivatives that a regression on the loss's gains has at equal scores: the gain, less its mean over the query.
pub(super) fn towards_gains(train: &Dataset, loss: &dyn RankingLoss) -> Result<Derivatives, LearnerError> {
    let gains = start_gains(NAME, train, loss)?;
    let mut gradient = Vec::with_capacity(gains.len());
    for query in 0..train.queries() {
        let own = &gains[train.range(query)];
        let mean = own.iter().sum::<f64>() / own.len() as f64;
        gradient.extend(own.iter().map(|gain| mean - gain));
    }
    Ok(Derivatives { curvature: vec![1.0; gradient.len()], gradient })
}

/// Whether the loss is as good as flat at equal scores, beside its slopes at scores that are labels.
fn is_flat(objective: &Objective, at_zero: &Derivatives, train: &Dataset) -> bool {
    let steepest = |derivatives: &Derivatives| derivatives.gradient.iter().map(|slope| slope.abs()).fold(0.0, f64::max);
    let labels: Vec<f64> = train.labels.iter().copied().map(f64::from).collect();
    steepest(at_zero) < FLAT * steepest(&objective.derivatives(&labels).1)
}

fn ensemble(trees: &[impl AsRef<[Node]>], features: usize) -> Result<TreeEnsemble, LearnerError> {
    let mut all = TreeEnsemble::new(features);
    for tree in trees {
        all.push(tree.as_ref()).map_err(|error| LearnerError::Solver { learner: NAME, reason: error.to_string() })?;
    }
    Ok(all)
}

impl BoostedTrees {
    /// The documents and features that the tree of a round is fitted to, both ascending.
    fn sample(&self, train: &Dataset, seed: u64, round: usize) -> (Vec<u32>, Vec<usize>) {
        let draw = |purpose: &str, total: usize, share: f64| {
            let count = ((total as f64 * share).round() as usize).clamp(1, total);
            let mut rng = ChaCha8Rng::seed_from_u64(seed_for(seed, purpose, round as u64));
            let mut drawn = index::sample(&mut rng, total, count).into_vec();
            drawn.sort_unstable();
            drawn
        };
        let queries = draw("boosted_trees queries", train.queries(), self.config.subsample);
        let documents = queries.into_iter().flat_map(|q| train.range(q)).map(|d| d as u32).collect();
        (documents, draw("boosted_trees features", train.feature_count, self.config.colsample))
    }

    /// The step along the tree: the best power of two times the last one, if any lowers the loss.
    fn search(&self, objective: &Objective, scores: &[f64], loss: f64, tree: &[f64], last: f64) -> Option<f64> {
        let value = |step: f64| {
            let moved: Vec<f64> = scores.iter().zip(tree).map(|(score, value)| score + step * value).collect();
            objective.value(&moved)
        };
        let first = |factor: f64| {
            let steps = std::iter::successors(Some(last), |step| Some(step * factor)).take(STEP_CHANGES + 1);
            steps.map(|step| (step, value(step))).find(|(_, value)| *value < loss)
        };
        // Along a gradient a short step lowers the loss; along gains it may take a long one.
        let (mut step, mut lowest) = first(0.5).or_else(|| first(2.0))?;
        // Only a step that did not have to be halved may still grow.
        let factor = if step >= last && value(step * 2.0) < lowest { 2.0 } else { 0.5 };
        for _ in 0..STEP_CHANGES {
            let next = value(step * factor);
            if next >= lowest {
                break;
            }
            (step, lowest) = (step * factor, next);
        }
        Some(step)
    }
}

impl Learner for BoostedTrees {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, train: &Dataset, validation: Option<&Dataset>, context: &FitContext) -> Result<Fitted, LearnerError> {
        checks::trainable(NAME, train, validation, context)?;
        let surrogate = self.loss.build()?;
        checks::learnable(NAME, &self.loss, &*surrogate, train, context)?;
        let objective = Objective::new(&self.loss, train, &context.device)?;
        let judge = Judge::of_selection(context)?;
        let in_measure = SurrogateValue::of(&*surrogate, train)?;
        let two_labels = (0..train.queries()).filter(|&q| train.has_two_labels(q)).count() as f64;
        let bins = Bins::new(train, self.config.bins);
        let parameters = (&self.config, &self.loss);
        let limit = Some(self.config.rounds);
        let start = || State { trees: Vec::new(), step: 1.0 };
        let mut rounds = Rounds::start(NAME, &parameters, train, validation, limit, context, start)?;
        let mut scores = vec![0.0; train.documents()];
        let mut validation_scores = vec![0.0; validation.map_or(0, Dataset::documents)];
        for tree in &rounds.state.trees {
            add(tree, &mut scores, train)?;
            validation.map(|data| add(tree, &mut validation_scores, data)).transpose()?;
        }
        let (mut loss, mut derivatives): (f64, Derivatives) = objective.derivatives(&scores);
        let stop = loop {
            if let Some(stop) = rounds.stop() {
                break stop;
            }
            if rounds.stalled(self.config.patience) {
                break StopReason::EarlyStopped;
            }
            let (documents, features) = self.sample(train, context.seed, rounds.next());
            let flat =
                rounds.state.trees.is_empty() && !objective.has_curvature() && is_flat(&objective, &derivatives, train);
            let start = flat.then(|| towards_gains(train, &*surrogate)).transpose()?;
            let fitted_to = start.as_ref().unwrap_or(&derivatives);
            let mut tree = grow(&bins, documents, &features, fitted_to, &self.config.tree());
            if tree.len() == 1 {
                break StopReason::Converged;
            }
            let mut step = 1.0;
            if !objective.has_curvature() {
                let mut values = vec![0.0; train.documents()];
                add(&tree, &mut values, train)?;
                match self.search(&objective, &scores, loss, &values, rounds.state.step) {
                    Some(found) => step = found,
                    None => break StopReason::Converged,
                }
            }
            // A start is taken whole: a part of it may be no better than nothing.
            let shrinkage = if start.is_some() { 1.0 } else { self.config.learning_rate };
            for node in &mut tree {
                if let Node::Leaf { value } = node {
                    *value *= shrinkage * step;
                }
            }
            add(&tree, &mut scores, train)?;
            validation.map(|data| add(&tree, &mut validation_scores, data)).transpose()?;
            (loss, derivatives) = objective.derivatives(&scores);
            if !loss.is_finite() {
                let reason = "the loss is no longer finite: lower learner.learning_rate or raise learner.l2".into();
                return Err(LearnerError::Solver { learner: NAME, reason });
            }
            let leaves = tree.iter().filter(|node| matches!(node, Node::Leaf { .. })).count();
            rounds.state.trees.push(tree);
            rounds.state.step = step;
            let mut figures = vec![("leaves".into(), leaves as f64), ("step".into(), step)];
            let on_train = judge.values(train, &scores)?;
            if let Some(value) = &in_measure {
                figures.push(value.figure(loss * two_labels));
                figures.extend(value.exact_figure(&on_train));
            }
            rounds.record(Round {
                round: rounds.next(),
                objective: loss,
                train: mean(&counted(&on_train)),
                validation: validation.map(|data| judge.mean(data, &validation_scores)).transpose()?.flatten(),
                figures,
            });
            rounds.save_when_due()?;
        };
        if rounds.history().is_empty() && stop == StopReason::Converged {
            let reason = format!(
                "no tree of {} leaves with {} documents or more lowers {}: lower learner.min_documents or learner.min_gain, \
                 or take another loss",
                self.config.leaves, self.config.min_documents, self.loss.name
            );
            return Err(LearnerError::Data { learner: NAME, reason });
        }
        rounds.finish(stop, |state, best_round| {
            Ok(Model::Trees(ensemble(&state.trees[..best_round], train.feature_count)?))
        })
    }
}
