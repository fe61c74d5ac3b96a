//! The rounds of boosted trees.

use std::borrow::Cow;

use rand::SeedableRng;
use rand::seq::index;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::config::{BoostedTrees, BoostedTreesConfig, NAME};
use super::derivatives::Derivatives;
use super::histogram::Block;
use super::objective::Objective;
use super::split::TreeParams;
use super::tree::{Grown, grow};
use crate::data::RankingDataset;
use crate::learner::entry::RankingLearner;
use crate::learner::error::LearnerError;
use crate::learner::shared::additive::Additive;
use crate::learner::shared::checks;
use crate::learner::shared::context::{FitContext, Fitted, StopReason};
use crate::learner::shared::gains::start_gains;
use crate::learner::shared::rounds::{History, Iterative, Made, Rounds, Set, Step};
use crate::learner::solver::bins::Bins;
use crate::loss::RankingLoss;
use crate::measure::mean_of;
use crate::ranker::{Model, Node, TreeEnsemble};
use crate::seed::seed_for;

/// A loss counts as flat if its derivatives at equal scores are below this share of those at scores equal to the
/// labels: what is left is rounding.
const FLAT: f64 = 1e-3;

/// Maximum number of doublings, and of halvings, of a step in one round.
const STEP_CHANGES: usize = 30;

/// State that is kept between rounds.
#[derive(Serialize, Deserialize)]
struct State {
    trees: Vec<Vec<Node>>,
    /// The step of the last round.
    step: f64,
}

/// Adds a tree to the scores of all documents.
fn add(tree: &[Node], scores: &mut [f64], data: &RankingDataset) -> Result<(), LearnerError> {
    let added = ensemble(std::slice::from_ref(&tree), data.feature_count)?.scores(&data.features);
    scores.iter_mut().zip(added).for_each(|(score, value)| *score += value);
    Ok(())
}

/// Adds a tree to the scores of the training documents, whose leaves are known if it was fitted to all of them.
fn leaf_values(grown: &Grown, scores: &mut [f64], train: &RankingDataset) -> Result<(), LearnerError> {
    if grown.documents() < train.documents() {
        return add(&grown.nodes, scores, train);
    }
    grown.add_to(scores);
    Ok(())
}

/// Derivatives at equal scores of a regression on the loss's gains, each times the weight of its document: the mean of
/// the query minus the document's own.
pub(super) fn towards_gains(train: &RankingDataset, loss: &dyn RankingLoss) -> Result<Derivatives, LearnerError> {
    let mut gains = start_gains(NAME, train, loss)?;
    gains.iter_mut().zip(&train.document_weights).for_each(|(gain, &weight)| *gain *= f64::from(weight));
    let mut gradient = Vec::with_capacity(gains.len());
    for query in 0..train.queries() {
        let own = &gains[train.range(query)];
        let mean = mean_of(own.iter().copied()).unwrap_or_default();
        gradient.extend(own.iter().map(|gain| mean - gain));
    }
    Ok(Derivatives { curvature: vec![1.0; gradient.len()], gradient })
}

fn ensemble(trees: &[impl AsRef<[Node]>], features: usize) -> Result<TreeEnsemble, LearnerError> {
    let mut all = TreeEnsemble::new(features);
    for tree in trees {
        all.push(tree.as_ref()).map_err(|error| LearnerError::Solver { learner: NAME, reason: error.to_string() })?;
    }
    Ok(all)
}

/// Whether the split of a node may take each feature, of those of its tree.
fn node_features(share: f64, seed: u64, of_tree: &[bool]) -> Vec<bool> {
    if share >= 1.0 {
        return of_tree.to_vec();
    }
    let numbers: Vec<usize> = (0..of_tree.len()).filter(|&feature| of_tree[feature]).collect();
    let mut features = vec![false; of_tree.len()];
    drawn(seed, numbers.len(), share).into_iter().for_each(|place| features[numbers[place]] = true);
    features
}

/// A share of `total` numbers from 0, at least one, ascending.
fn drawn(seed: u64, total: usize, share: f64) -> Vec<usize> {
    let count = ((total as f64 * share).round() as usize).clamp(1, total);
    let mut drawn = index::sample(&mut ChaCha8Rng::seed_from_u64(seed), total, count).into_vec();
    drawn.sort_unstable();
    drawn
}

/// The trees as they are built up.
struct Boosting<'a> {
    config: &'a BoostedTreesConfig,
    loss_name: &'a str,
    surrogate: &'a dyn RankingLoss,
    objective: Objective<'a>,
    train: &'a RankingDataset,
    blocks: Vec<Block>,
    params: TreeParams,
    seed: u64,
    scores: Additive<'a>,
    /// The loss and its derivatives at the current scores.
    loss: f64,
    derivatives: Derivatives,
}

impl Boosting<'_> {
    /// Adds a tree of an earlier round to the scores.
    fn add(&mut self, tree: &[Node]) -> Result<(), LearnerError> {
        self.scores.add(|data, scores| add(tree, scores, data))
    }

    /// Adds a tree to the scores. The leaves of the documents that it was fitted to are known.
    fn add_grown(&mut self, grown: &Grown) -> Result<(), LearnerError> {
        self.scores.add_to_train(|data, scores| leaf_values(grown, scores, data))?;
        self.scores.add_to_validation(|data, scores| add(&grown.nodes, scores, data))
    }

    /// Returns whether the loss is as good as flat at equal scores, compared with its slopes at scores equal to the
    /// labels.
    fn is_flat(&self) -> bool {
        let steepest =
            |derivatives: &Derivatives| derivatives.gradient.iter().map(|slope| slope.abs()).fold(0.0, f64::max);
        let labels: Vec<f64> = self.train.labels.iter().copied().map(f64::from).collect();
        steepest(&self.derivatives) < FLAT * steepest(&self.objective.derivatives(&labels).1)
    }

    /// The documents that the tree of a round is fitted to, ascending, and whether it may split each feature.
    fn sample(&self, round: usize) -> (Vec<u32>, Vec<bool>) {
        let draw = |purpose, total, share| drawn(seed_for(self.seed, purpose, round as u64), total, share);
        let queries = draw("boosted_trees queries", self.train.queries(), self.config.subsample);
        let documents = queries.into_iter().flat_map(|q| self.train.range(q)).map(|d| d as u32).collect();
        let mut features = vec![false; self.train.feature_count];
        let of_tree = draw("boosted_trees features", self.train.feature_count, self.config.colsample);
        of_tree.into_iter().for_each(|feature| features[feature] = true);
        (documents, features)
    }

    /// Searches the step along the tree: the last step times the best power of two, if any lowers the loss.
    fn search(&self, tree: &[f64], last: f64) -> Option<f64> {
        let value = |step: f64| {
            let moved: Vec<f64> =
                self.scores.on_train().iter().zip(tree).map(|(score, value)| score + step * value).collect();
            self.objective.value(&moved)
        };
        let first = |factor: f64| {
            let steps = std::iter::successors(Some(last), |step| Some(step * factor)).take(STEP_CHANGES + 1);
            steps.map(|step| (step, value(step))).find(|(_, value)| *value < self.loss)
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

impl Iterative for Boosting<'_> {
    type State = State;

    fn initial(&self) -> State {
        State { trees: Vec::new(), step: 1.0 }
    }

    fn resume(&mut self, state: &mut State, _: &History) -> Result<(), LearnerError> {
        state.trees.iter().try_for_each(|tree| self.add(tree))?;
        (self.loss, self.derivatives) = self.objective.derivatives(self.scores.on_train());
        Ok(())
    }

    fn round(&mut self, history: &History, state: &mut State) -> Result<Step, LearnerError> {
        let (documents, features) = self.sample(history.next());
        let newton = self.objective.has_curvature();
        let flat = state.trees.is_empty() && !newton && self.is_flat();
        let start = flat.then(|| towards_gains(self.train, self.surrogate)).transpose()?;
        let fitted_to = start.as_ref().unwrap_or(&self.derivatives);
        let (share, seed, round) = (self.config.colsample_by_node, self.seed, history.next() as u64);
        let seed = |node| seed_for(seed, "boosted_trees node features", (round << 32) | node as u64);
        let features = |node: usize| node_features(share, seed(node), &features);
        let mut grown = grow(&mut self.blocks, documents, &features, fitted_to, &self.params);
        if grown.leaves() == 1 {
            return Ok(Step::End(StopReason::Converged));
        }
        let mut step = 1.0;
        if !newton {
            let mut values = vec![0.0; self.train.documents()];
            leaf_values(&grown, &mut values, self.train)?;
            match self.search(&values, state.step) {
                Some(found) => step = found,
                None => return Ok(Step::End(StopReason::Converged)),
            }
        }
        // The starting tree is not shrunk: a part of it may be no better than nothing.
        let shrinkage = if start.is_some() { 1.0 } else { self.config.learning_rate };
        grown.scale(shrinkage * step);
        self.add_grown(&grown)?;
        (self.loss, self.derivatives) = self.objective.derivatives(self.scores.on_train());
        if !self.loss.is_finite() {
            let reason = "the loss is no longer finite: lower learner.learning_rate or raise learner.l2".into();
            return Err(LearnerError::Solver { learner: NAME, reason });
        }
        let leaves = grown.leaves() as f64;
        state.trees.push(grown.nodes);
        state.step = step;
        let losses = Some(self.loss * self.objective.queries());
        Ok(Step::Made(Made { losses, ..Made::new(self.loss, [("leaves", leaves), ("step", step)]) }))
    }

    fn scores(&self, set: Set, _: &RankingDataset) -> Result<Option<Cow<'_, [f64]>>, LearnerError> {
        Ok(Some(self.scores.on(set).into()))
    }

    fn conclude(&mut self, stop: StopReason, history: &History, _: &State) -> Result<StopReason, LearnerError> {
        if history.rounds().is_empty() && stop == StopReason::Converged {
            let reason = format!(
                "no tree of {} leaves with {} documents or more lowers {}: lower learner.min_documents or \
                 learner.min_gain, or choose another loss",
                self.config.leaves, self.config.min_documents, self.loss_name
            );
            return Err(LearnerError::Data { learner: NAME, reason });
        }
        Ok(stop)
    }

    fn model(&self, state: &State, best_round: usize) -> Result<Model, LearnerError> {
        Ok(Model::Trees(ensemble(&state.trees[..best_round], self.train.feature_count)?))
    }
}

impl RankingLearner for BoostedTrees {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(
        &self,
        train: &RankingDataset,
        validation: Option<&RankingDataset>,
        context: &FitContext,
    ) -> Result<Fitted, LearnerError> {
        checks::of_equal_queries(NAME, train)?;
        let rounds = Rounds::of_weighted(NAME, train, validation, context)?;
        let surrogate = self.loss.build()?;
        checks::learnable(NAME, &*surrogate, train, context)?;
        let mut boosting = Boosting {
            config: &self.config,
            loss_name: self.loss.name(),
            surrogate: &*surrogate,
            objective: Objective::new(&*surrogate, train, &context.device)?,
            train,
            params: self.config.tree(train.feature_count)?,
            blocks: Block::of_bins(&Bins::new(train, self.config.bins)),
            seed: context.seed,
            scores: Additive::new(train, validation),
            loss: 0.0,
            derivatives: Derivatives::default(),
        };
        let rounds = rounds.most(self.config.rounds).patience(self.config.patience).beside_measure(&*surrogate)?;
        rounds.drive(&(&self.config, &self.loss), &mut boosting)
    }
}
