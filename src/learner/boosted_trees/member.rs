//! Implements one of the averaged tree ensembles: it draws the queries and features that each tree uses and the
//! features that each split may use, grows trees, and keeps the scores and their derivatives.

use rand::Rng;
use rand::seq::index;

use super::config::{BoostedTreesConfig, NAME, Steps};
use super::histogram::Block;
use super::objective::{Derivatives, Objective};
use super::positions::Factors;
use super::split::TreeParams;
use super::sums::Buffers;
use super::tree::{grow, scaled};
use crate::learner::prelude::*;
use crate::learner::shared::gains::start_gains;
use crate::measure::mean_of;
use crate::ranker::{Node, NodeStatistics, TreeEnsemble};

/// A loss counts as flat at equal scores if its largest slope there is less than this share of a reference slope. The
/// reference is the largest slope at scores equal to the labels.
const FLAT: f64 = 1e-3;

/// The maximum number of times that a round doubles or halves the step of its line search.
const STEP_CHANGES: usize = 30;

/// The share of the predicted decrease that a step of the line search must achieve. The step to the minimum of a
/// parabola achieves exactly half; the share is a little lower to allow for rounding.
const KEPT_PROMISE: f64 = 0.45;

/// The data, the loss, the limits of trees and everything else that all tree ensembles of a fit share.
pub(super) struct Setting<'a> {
    pub objective: Objective<'a>,
    pub train: &'a RankingDataset,
    pub blocks: Vec<Block>,
    pub buffers: Buffers,
    pub params: TreeParams,
    /// The trees from which the fit starts, if any.
    pub start: Option<&'a TreeEnsemble>,
}

/// The trees of one ensemble, saved so that a fit can resume.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Trees {
    /// One tree per round, which is a single leaf of value 0 if no tree lowered the loss.
    pub trees: Vec<Vec<Node>>,
    /// The step length that the line search chose in the last round.
    pub step: f64,
    /// For each tree, the feature and the gain of every split.
    pub gains: Vec<Vec<(u32, f64)>>,
    /// The statistics of the nodes of each tree.
    pub statistics: Vec<NodeStatistics>,
    /// The factors of the positions after each tree, if training uses positions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub positions: Vec<Vec<f64>>,
}

impl Trees {
    /// Returns whether every tree is a single leaf.
    pub fn have_no_split(&self) -> bool {
        self.trees.iter().all(|tree| matches!(tree[..], [Node::Leaf { .. }]))
    }

    /// Adds a tree that is a single leaf of value 0, after which factors are as they were.
    pub fn pass(&mut self, factors: Option<&[f64]>) {
        self.trees.push(vec![Node::Leaf { value: 0.0 }]);
        self.gains.push(Vec::new());
        self.statistics.push(NodeStatistics::default());
        self.positions.extend(factors.map(<[f64]>::to_vec));
    }
}

impl Default for Trees {
    fn default() -> Self {
        Self { trees: Vec::new(), step: 1.0, gains: Vec::new(), statistics: Vec::new(), positions: Vec::new() }
    }
}

/// One tree ensemble, which gains a tree in every round, with its current scores.
pub(super) struct Member<'a> {
    seed: u64,
    pub scores: Additive<'a>,
    /// The factors of the positions of training documents, if training uses positions.
    pub factors: Option<Factors<'a>>,
    /// The mean training loss at the current scores.
    pub loss: f64,
    derivatives: Derivatives,
}

/// Adds the values of trees to the scores of all documents of a dataset.
fn add(trees: &TreeEnsemble, scores: &mut [f64], data: &RankingDataset) {
    scores.iter_mut().zip(trees.scores_together(data)).for_each(|(score, value)| *score += value);
}

/// Returns the derivatives of a squared error between equal scores and the gains of the documents. Each derivative is
/// the mean gain of the query minus the gain of the document. A tree therefore raises the scores of documents with high
/// gains. If documents have weights, each gain is multiplied by the weight of its document.
pub(super) fn towards_gains(train: &RankingDataset, loss: &dyn RankingLoss) -> Result<Derivatives> {
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

/// Creates the ensemble that consists of the given trees.
pub(super) fn ensemble<T: AsRef<[Node]>>(trees: impl IntoIterator<Item = T>, features: usize) -> Result<TreeEnsemble> {
    let mut all = TreeEnsemble::new(features);
    for tree in trees {
        push(&mut all, tree.as_ref(), NodeStatistics::default())?;
    }
    Ok(all)
}

/// Adds a tree to an ensemble, with the statistics of the tree's nodes.
pub(super) fn push(all: &mut TreeEnsemble, tree: &[Node], statistics: NodeStatistics) -> Result<()> {
    let pushed = all.push_with(tree, statistics);
    pushed.map_err(|error| LearnerError::solver(NAME, error))
}

impl<'a> Member<'a> {
    /// Creates an ensemble without trees.
    pub(super) fn new(job: Job<'a>, seed: u64, config: &BoostedTreesConfig) -> Self {
        let factors = config.position.as_ref().map(|position| Factors::new(&job.train.positions, position.l2()));
        Self { seed, scores: Additive::new(job), factors, loss: 0.0, derivatives: Derivatives::default() }
    }

    /// Returns the score of every training document as the loss sees it: with the factor of the document's position.
    pub(super) fn training_scores(&self) -> Cow<'_, [f64]> {
        let scores = self.scores.on(Set::Training);
        self.factors.as_ref().map_or(Cow::Borrowed(scores), |factors| factors.added_to(scores))
    }

    /// Adds the values of the trees from which the fit starts, and of the saved trees, to the scores, and takes the
    /// saved factors.
    pub(super) fn resume(&mut self, setting: &Setting, trees: &Trees) -> Result<()> {
        for (_, data, scores) in &mut self.scores.0 {
            if let Some(start) = setting.start {
                add(start, scores, data);
            }
            for tree in &trees.trees {
                add(&ensemble([tree], data.feature_count)?, scores, data);
            }
        }
        if let (Some(factors), Some(saved)) = (&mut self.factors, trees.positions.last()) {
            factors.values.clone_from(saved);
        }
        self.differentiate(&setting.objective);
        Ok(())
    }

    /// Computes the loss and its derivatives at the current scores.
    pub(super) fn differentiate(&mut self, objective: &Objective) {
        (self.loss, self.derivatives) = objective.derivatives(&self.training_scores());
    }

    /// Returns whether the loss does not change with any score.
    pub(super) fn has_no_slope(&self) -> bool {
        self.derivatives.gradient.iter().all(|slope| *slope == 0.0)
    }

    /// Grows the tree of a round and adds it. Returns its number of leaves and its step length, or `None` if no tree
    /// lowers the loss.
    pub(super) fn grow(&mut self, setting: &mut Setting, round: usize, trees: &mut Trees) -> Result<Option<[f64; 2]>> {
        let steps = setting.objective.steps;
        let may_be_flat = trees.have_no_split() && setting.start.is_none() && steps != Steps::Newton;
        let flat = may_be_flat && self.is_flat(setting);
        let start = flat.then(|| towards_gains(setting.train, &*setting.objective.loss)).transpose()?;
        let fitted_to = match &start {
            Some(start) => Cow::Borrowed(start),
            None if steps == Steps::Balance => {
                Cow::Owned(self.derivatives.balanced(setting.train, &self.training_scores()))
            }
            None => Cow::Borrowed(&self.derivatives),
        };
        let mut sample = Sample::new(&setting.params.config, setting.train, self.seed, round);
        let documents = [&mut sample.documents, &mut sample.others].map(std::mem::take);
        let features = |node: usize| sample.features(node);
        let Setting { blocks, buffers, params, train, .. } = setting;
        let mut grown = grow(blocks, buffers, documents, &features, &fitted_to, params, train.group());
        if grown.leaves.len() == 1 {
            return Ok(None);
        }
        let mut step = 1.0;
        if start.is_some() || steps == Steps::LineSearch {
            let mut values = vec![0.0; setting.train.documents()];
            grown.add_to(&mut values);
            let promised = if start.is_some() { 0.0 } else { self.descent(&setting.objective, &values) };
            match self.search(&setting.objective, &values, trees.step, promised) {
                Some(found) => step = found,
                None => return Ok(None),
            }
        }
        // The starting tree is not shrunk, since a part of it may be no better than nothing.
        let shrinkage = if start.is_some() { 1.0 } else { setting.params.config.learning_rate };
        grown.nodes = scaled(&grown.nodes, shrinkage * step);
        // The starting tree is fitted to gains, which say nothing of positions.
        if let Some(factors) = self.factors.as_mut().filter(|_| start.is_none()) {
            factors.step(shrinkage * step, &fitted_to);
        }
        for (set, data, scores) in &mut self.scores.0 {
            match set {
                Set::Training => grown.add_to(scores),
                Set::Validation => add(&ensemble([&grown.nodes], data.feature_count)?, scores, data),
            }
        }
        self.differentiate(&setting.objective);
        if !self.loss.is_finite() {
            let reason = "the loss is no longer finite: lower learner.learning_rate or raise learner.l2";
            return Err(LearnerError::solver(NAME, reason));
        }
        let leaves = grown.leaves.len() as f64;
        trees.gains.push(grown.gains);
        trees.statistics.push(grown.statistics);
        trees.trees.push(grown.nodes);
        trees.positions.extend(self.factors.as_ref().map(|factors| factors.values.clone()));
        trees.step = step;
        Ok(Some([leaves, step]))
    }

    /// Returns whether the slopes of the loss at equal scores are tiny compared with those at scores equal to the
    /// labels.
    fn is_flat(&self, setting: &Setting) -> bool {
        let steepest =
            |derivatives: &Derivatives| derivatives.gradient.iter().map(|slope| slope.abs()).fold(0.0, f64::max);
        let labels: Vec<f64> = setting.train.labels.iter().copied().map(f64::from).collect();
        steepest(&self.derivatives) < FLAT * steepest(&setting.objective.derivatives(&labels).1)
    }

    /// Returns the decrease of the loss that the gradient predicts per unit of step length along the tree.
    fn descent(&self, objective: &Objective, tree: &[f64]) -> f64 {
        let slope: f64 = self.derivatives.gradient.iter().zip(tree).map(|(slope, value)| slope * value).sum();
        (-slope / objective.queries).max(0.0)
    }

    /// Returns the step length along the tree that lowers the loss most. The candidates are the last step length times
    /// powers of two. Returns `None` if no step length lowers the loss enough.
    ///
    /// A step must lower the loss by at least `KEPT_PROMISE * promised * step`. Without this condition, a step may
    /// become very long, because every surrogate approaches a constant when the scores lie far apart. The loss may then
    /// decrease slowly, no matter how long the step is.
    fn search(&self, objective: &Objective, tree: &[f64], last: f64, promised: f64) -> Option<f64> {
        let scores = self.training_scores();
        let value = |step: f64| {
            let moved: Vec<f64> = scores.iter().zip(tree).map(|(score, value)| score + step * value).collect();
            let value = objective.value(&moved);
            if self.loss - value >= KEPT_PROMISE * promised * step { value } else { f64::INFINITY }
        };
        let first = |factor: f64| {
            let steps = std::iter::successors(Some(last), |step| Some(step * factor)).take(STEP_CHANGES + 1);
            steps.map(|step| (step, value(step))).find(|(_, value)| *value < self.loss)
        };
        // Along a gradient, a short step lowers the loss. Along gains, only a long step may do so.
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

/// The random sample of queries and features that one tree uses.
pub(super) struct Sample {
    /// The indices of the documents to which the tree is fitted, in ascending order.
    pub documents: Vec<u32>,
    /// The indices of all other training documents, in ascending order.
    pub others: Vec<u32>,
    /// For each feature, whether the tree may use it.
    features: Vec<bool>,
    by_node: f64,
    seed: u64,
    round: u64,
}

impl Sample {
    /// Draws the queries and features for the tree of a round.
    pub(super) fn new(config: &BoostedTreesConfig, train: &RankingDataset, seed: u64, round: usize) -> Self {
        let round = round as u64;
        let draw = |purpose, total, share| drawn(random_for(seed, purpose, round), total, share);
        let mut is_drawn = vec![false; train.queries()];
        let queries = draw("boosted_trees queries", train.queries(), config.subsample);
        queries.into_iter().for_each(|query| is_drawn[query] = true);
        let of_queries = |drawn: bool| {
            let queries = (0..train.queries()).filter(|&query| is_drawn[query] == drawn);
            queries.flat_map(|query| train.range(query)).map(|document| document as u32).collect()
        };
        let (documents, others) = (of_queries(true), of_queries(false));
        let mut features = vec![false; train.feature_count];
        let of_tree = draw("boosted_trees features", train.feature_count, config.colsample);
        of_tree.into_iter().for_each(|feature| features[feature] = true);
        Self { documents, others, features, by_node: config.colsample_by_node, seed, round }
    }

    /// Returns, for each feature, whether the split of this node may use it.
    pub(super) fn features(&self, node: usize) -> Vec<bool> {
        if self.by_node >= 1.0 {
            return self.features.clone();
        }
        let random = random_for(self.seed, "boosted_trees node features", (self.round << 32) | node as u64);
        let numbers: Vec<usize> = (0..self.features.len()).filter(|&feature| self.features[feature]).collect();
        let mut features = vec![false; self.features.len()];
        drawn(random, numbers.len(), self.by_node).into_iter().for_each(|place| features[numbers[place]] = true);
        features
    }
}

/// Draws a random subset of `0..total`, in ascending order. Its size is the given share of `total`, but at least 1.
fn drawn(mut random: impl Rng, total: usize, share: f64) -> Vec<usize> {
    let count = ((total as f64 * share).round() as usize).clamp(1, total);
    let mut drawn = index::sample(&mut random, total, count).into_vec();
    drawn.sort_unstable();
    drawn
}
