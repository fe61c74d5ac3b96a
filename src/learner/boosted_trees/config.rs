//! Configuration of boosted trees.

use crate::learner::prelude::*;
use crate::learner::shared::anneal::AnnealConfig;
use crate::learner::shared::position::PositionConfig;
use crate::learner::solver::bins::MAX_BINS;
use crate::loss::{UNIT_GRADIENTS, key_of_held_constant};
use crate::ranker::TreeEnsemble;
use crate::text::counted;

pub(super) const NAME: &str = "boosted_trees";

/// The rule that chooses the next leaf to split.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Growth {
    /// Splits the leaf with the largest gain.
    #[default]
    Leaf,
    /// Splits the leaf with the largest gain among those nearest to the root.
    Level,
}

/// The method that computes the value of a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Steps {
    /// A Newton step: minus the sum of the first derivatives in the leaf, divided by the sum of the second derivatives.
    /// The loss must provide second derivatives.
    Newton,
    /// A distance measured in standard deviations of a query's scores. The distance is larger if more of the slopes in
    /// the leaf have the same sign. This method suits losses whose slopes add up to 0 in each query, that is, all
    /// except pointwise losses.
    Balance,
    /// The value is the mean slope of the leaf's documents, times a factor that a line search finds for each tree.
    LineSearch,
}

/// The default temperature of a loss for trees, divided by its default temperature for other scorers. The factor was
/// tuned on validation queries (benchmarks/trees.md).
const WARMTH: f64 = 5.0;

/// The default of `l2` for the method [`Steps::Balance`]. This method weights documents by the size of their slopes, so
/// a few documents may decide the value of a large leaf. The default was tuned on validation queries, like [`WARMTH`].
pub(super) const BALANCE_L2: f64 = 20.0;

/// The maximum number of tree ensembles in a fit, each of which stores a score for every document.
const MOST_SEEDS: usize = 1000;

/// Configuration of boosted trees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BoostedTreesConfig {
    /// The maximum number of rounds, each of which adds one tree.
    pub rounds: usize,
    /// The factor by which the values of each tree are multiplied, above 0 and at most 1.
    pub learning_rate: f64,
    /// The maximum number of leaves of a tree, at least 2.
    pub leaves: usize,
    /// The maximum number of splits from the root to a leaf, or `None` for no limit.
    pub max_depth: Option<usize>,
    /// The rule that chooses the next leaf to split.
    pub growth: Growth,
    /// The minimum number of documents in a leaf.
    pub min_documents: usize,
    /// The minimum sum of second derivatives (curvatures) in a leaf, 0 or above.
    pub min_curvature: f64,
    /// A penalty on leaf values, 0 or above. It moves the sum of the gradients in each leaf towards 0 by this amount.
    pub l1: f64,
    /// A penalty on squared leaf values, 0 or above. It is added to the sum of the curvatures in each leaf. The
    /// curvatures are the second derivatives of the loss, or the weights of [`Steps::Balance`]. With a line search,
    /// every document has a curvature of 1. The default is 20 for [`Steps::Balance`], and 1 otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l2: Option<f64>,
    /// The minimum gain of a split, 0 or above.
    pub min_gain: f64,
    /// The method that computes the value of a leaf. The default is `Newton` for losses with second derivatives,
    /// `Balance` for other losses with a temperature, and `LineSearch` otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<Steps>,
    /// The maximum number of bins into which the values of a feature are cut, from 2 to 256.
    pub bins: usize,
    /// The share of the training queries that is drawn for each tree.
    pub subsample: f64,
    /// The share of the features that is drawn for each tree.
    pub colsample: f64,
    /// The share of the tree's features that is drawn anew for each split.
    pub colsample_by_node: f64,
    /// The features, numbered from 1, for which a larger value must never lower the score.
    pub increasing: Vec<usize>,
    /// The features, numbered from 1, for which a larger value must never raise the score.
    pub decreasing: Vec<usize>,
    /// The schedule by which a parameter of the loss, usually the temperature, changes over the rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anneal: Option<AnnealConfig>,
    /// How training explains labels by the positions at which documents were shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<PositionConfig>,
    /// The fit stops after this many rounds without a better selection measure.
    pub patience: Option<usize>,
    /// The number of tree ensembles, each trained on its own samples, that are averaged to form the ranker. The default
    /// is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seeds: Option<usize>,
}

impl Default for BoostedTreesConfig {
    fn default() -> Self {
        Self {
            rounds: 300,
            learning_rate: 0.1,
            leaves: 31,
            max_depth: None,
            growth: Growth::Leaf,
            min_documents: 20,
            min_curvature: 0.0,
            l1: 0.0,
            l2: None,
            min_gain: 0.0,
            steps: None,
            bins: 255,
            subsample: 1.0,
            colsample: 1.0,
            colsample_by_node: 1.0,
            increasing: Vec::new(),
            decreasing: Vec::new(),
            anneal: None,
            position: None,
            patience: Some(50),
            seeds: None,
        }
    }
}

impl BoostedTreesConfig {
    /// Checks every parameter, and builds the learner for the loss in `parts`, which is required.
    ///
    /// # Errors
    /// [`LearnerError`] that names the first invalid key of the learner or the loss.
    pub fn build(&self, parts: &Parts) -> Result<Box<dyn RankingLearner>, LearnerError> {
        Ok(Box::new(self.check(parts)?))
    }

    /// Returns whether trees or splits use a random sample of the queries or of the features.
    pub(super) fn samples(&self) -> bool {
        self.subsample.min(self.colsample).min(self.colsample_by_node) < 1.0
    }

    /// Returns advice for a fit in which no tree has a split. The advice names the keys of the configuration that may
    /// prevent splits.
    pub(super) fn what_hinders_splits(&self, documents: usize) -> String {
        let default = Self::default();
        if documents / 2 < self.min_documents {
            let there = counted(documents, "training document");
            return format!("lower learner.min_documents = {}, since there are only {there}", self.min_documents);
        }
        let l2 = self.l2.unwrap_or(0.0);
        let keys = [
            ("lower", "min_documents", self.min_documents as f64, self.min_documents > default.min_documents),
            ("lower", "min_curvature", self.min_curvature, self.min_curvature > default.min_curvature),
            ("lower", "l1", self.l1, self.l1 > default.l1),
            ("lower", "l2", l2, l2 > BALANCE_L2),
            ("lower", "min_gain", self.min_gain, self.min_gain > default.min_gain),
            ("raise", "bins", self.bins as f64, self.bins < default.bins),
            ("raise", "subsample", self.subsample, self.subsample < default.subsample),
            ("raise", "colsample", self.colsample, self.colsample < default.colsample),
            ("raise", "colsample_by_node", self.colsample_by_node, self.colsample_by_node < default.colsample_by_node),
        ];
        let hindering = keys.into_iter().filter(|(.., hinders)| *hinders);
        let words = hindering
            .map(|(what, key, set, _)| format!("{what} learner.{key} = {}", format!("{set:?}").trim_end_matches(".0")));
        let mut set: Vec<String> = words.collect();
        let directions = [("increasing", &self.increasing), ("decreasing", &self.decreasing)];
        let directed = directions.iter().filter(|(_, features)| !features.is_empty());
        set.extend(directed.map(|(key, _)| format!("shorten learner.{key}")));
        match set.is_empty() {
            true => "lower learner.min_documents or learner.min_gain".to_owned(),
            false => set.join(" or "),
        }
    }

    /// Returns the configured method that computes leaf values, or the default method for the loss.
    pub(super) fn steps_for(&self, loss: &dyn RankingLoss) -> Steps {
        self.steps.unwrap_or(match (loss.about().curvature, loss.about().smoothing) {
            (Some(_), _) => Steps::Newton,
            (None, Some(_)) => Steps::Balance,
            (None, None) => Steps::LineSearch,
        })
    }
}

impl LearnerConfig for BoostedTreesConfig {
    type RankingLearner = BoostedTrees;

    fn check(&self, parts: &Parts) -> Result<BoostedTrees> {
        checks::at_least("rounds", self.rounds, 1)?;
        checks::share("learning_rate", self.learning_rate)?;
        checks::at_least("leaves", self.leaves, 2)?;
        checks::at_least("max_depth", self.max_depth, 1)?;
        checks::at_least("min_documents", self.min_documents, 1)?;
        checks::not_negative("min_curvature", self.min_curvature)?;
        checks::not_negative("l1", self.l1)?;
        self.l2.map(|l2| checks::not_negative("l2", l2)).transpose()?;
        checks::not_negative("min_gain", self.min_gain)?;
        let fits = (2..=MAX_BINS).contains(&self.bins);
        checks::require("bins", self.bins, fits, format_args!("2 to {MAX_BINS}"))?;
        checks::share("subsample", self.subsample)?;
        checks::share("colsample", self.colsample)?;
        checks::share("colsample_by_node", self.colsample_by_node)?;
        self.position.as_ref().map(PositionConfig::check).transpose()?;
        checks::at_least("patience", self.patience, 1)?;
        checks::at_least("seeds", self.seeds, 1)?;
        if let Some(seeds) = self.seeds {
            checks::require("seeds", seeds, seeds <= MOST_SEEDS, format_args!("at most {MOST_SEEDS}"))?;
            let expected = "subsample, colsample or colsample_by_node below 1; all seeds have the same trees without";
            checks::require("seeds", seeds, seeds == 1 || self.samples(), expected)?;
        }
        let loss = parts.required_loss(self)?;
        let about = loss.built.about();
        if self.steps_for(&*loss.built) == Steps::LineSearch
            && let Some(held) = about.held_constant.filter(|held| UNIT_GRADIENTS.contains(held))
        {
            let expected = "\"raw\" with steps = \"line_search\", which compares values, or steps = \"balance\"";
            return Err(Refusal::new(key_of_held_constant(held), "\"unit\"", expected).into());
        }
        if self.steps == Some(Steps::Newton) && about.curvature.is_none() {
            let expected = format!("balance or line_search: {} has no second derivatives", loss.record.name());
            return Err(checks::parameter("steps", "newton", expected));
        }
        let annealed = self.anneal.as_ref().map(|anneal| anneal.check(&loss)).transpose()?;
        Ok(BoostedTrees { config: self.clone(), loss, annealed, start: None })
    }

    /// Returns `None` if the temperature is annealed, or if a line search finds the steps. The line search uses the
    /// temperatures that the papers give.
    fn relative_temperature(&self) -> Option<f64> {
        let is_annealed = self.anneal.as_ref().is_some_and(AnnealConfig::changes_temperature);
        (self.steps != Some(Steps::LineSearch) && !is_annealed).then_some(WARMTH)
    }
}

/// The learner of boosted trees with checked parameters.
#[derive(Debug, Clone)]
pub(crate) struct BoostedTrees {
    pub(super) config: BoostedTreesConfig,
    pub(super) loss: BuiltLoss,
    /// The name of the loss's parameter that is annealed, if any.
    pub(super) annealed: Option<String>,
    /// The trees from which the fit starts.
    pub(super) start: Option<TreeEnsemble>,
}
