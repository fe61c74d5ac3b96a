//! Defaults that depend on the scorer and the loss. Every scorer takes the normalizer `auto`, because a rate suits only
//! features of similar scale. Every scorer takes unit gradients for a direct loss, so that no query dominates a step.
//! The other defaults are for perceptrons. All were tuned on generated data, MQ2008 and OHSUMED.
//!
//! | key | default |
//! |---|---|
//! | `learner.learning_rate` | .001 for a bound, .003 for a direct loss, with `adam` and `adamw` |
//! | `learner.batch_queries` | 16; 32 above 1,000 training queries; 8 for lists of more than 400 documents on average |
//! | `learner.epochs` | 100 with validation queries, fewer without |
//! | `learner.patience` | 20 with validation queries |
//! | `scorer.dropout` | .3 |
//! | `loss.query_gradients` | `unit` for a direct loss |
//!
//! A direct loss is a surrogate of a ranking measure. With L-BFGS, the defaults of [`GradientConfig`] apply instead:
//! L-BFGS uses all queries in one step, without dropout or unit gradients.

use super::config::GradientConfig;
use super::optimizer::OptimizerConfig;
use super::schedule::ScheduleConfig;
use crate::data::{NormalizerKind, RankingDataset};
use crate::json::{Map, json};
use crate::learner::entry::{Fitting, FittingData, Parts};
use crate::loss::unit_gradients::QueryGradients;
use crate::loss::{Orientation, RankingLoss};
use crate::scorer::ScorerConfig;

/// The keys of `[learner]` whose defaults depend on the training queries.
const OF_DATA: [&str; 3] = ["epochs", "batch_queries", "patience"];
/// The probability that dropout sets a hidden neuron to 0 in training.
const DROPOUT: f64 = 0.3;
/// The number of training queries above which a step uses more queries by default.
const MANY_QUERIES: usize = 1000;
/// The mean number of documents per query above which a step uses fewer queries by default.
const LONG_LIST: usize = 400;
/// The default of `patience` if there are validation queries.
const PATIENCE: usize = 20;
/// The default of `epochs` if there are no validation queries. The number is the median of the best epochs on three
/// data sets: generated data, MQ2008 and OHSUMED. On each set, the validation queries selected the best epoch.
const EPOCHS_ALONE: usize = 25;

impl GradientConfig {
    /// Returns a configuration for a perceptron with a dropout of 0.3. Its values depend on the loss and the training
    /// queries. Wrap the loss in [`UnitGradients`](crate::loss::UnitGradients) if it is a surrogate of a measure.
    ///
    /// Without validation queries, the fit runs for a fixed number of epochs that worked well on other data.
    ///
    /// ```
    /// use burn_rank::data::SynthConfig;
    /// use burn_rank::learner::Parts;
    /// use burn_rank::learner::gradient::GradientConfig;
    /// use burn_rank::loss::{ApproxNdcgConfig, UnitGradients};
    /// use burn_rank::scorer::{MlpScorerConfig, ScorerConfig};
    ///
    /// let train = SynthConfig { queries: 50, ..SynthConfig::default() }.generate()?;
    /// let loss = UnitGradients::new(ApproxNdcgConfig::new().init()?);
    /// let scorer = ScorerConfig::Mlp(MlpScorerConfig { dropout: 0.3, ..Default::default() });
    /// let config = GradientConfig::for_perceptron(&loss, &train, true);
    /// assert_eq!(config.learning_rate, 0.003);
    /// let learner = config.build(&Parts::default().with_scorer(&scorer).with_loss(loss))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_perceptron(loss: &dyn RankingLoss, train: &RankingDataset, has_validation: bool) -> Self {
        let default = Self::default();
        Self { learning_rate: default.perceptron_rate(loss), ..default.for_queries(train, has_validation) }
    }

    /// Returns the default learning rate for a perceptron with this optimizer and loss.
    fn perceptron_rate(&self, loss: &dyn RankingLoss) -> f64 {
        match self.optimizer {
            OptimizerConfig::Adam { .. } | OptimizerConfig::AdamW { .. } if is_direct(loss) => 0.003,
            OptimizerConfig::Adam { .. } | OptimizerConfig::AdamW { .. } => 0.001,
            _ => Self::default().learning_rate,
        }
    }

    /// Returns the configuration with the default batch size, epochs and patience for a perceptron and these queries.
    fn for_queries(self, train: &RankingDataset, has_validation: bool) -> Self {
        let batch_queries = match train.queries() {
            queries if train.documents() > LONG_LIST * queries => 8,
            queries if queries > MANY_QUERIES => 32,
            _ => 16,
        };
        // A schedule and an annealed loss need all their epochs.
        let is_steady = matches!(self.schedule, ScheduleConfig::Constant) && self.anneal.is_none();
        let epochs = if has_validation { Self::default().epochs } else { EPOCHS_ALONE };
        Self { batch_queries, epochs, patience: (has_validation && is_steady).then_some(PATIENCE), ..self }
    }

    /// Returns default values that depend on the scorer, the loss and the data of an experiment.
    pub(super) fn fitting_to(&self, parts: &Parts, data: Option<FittingData>) -> Fitting {
        let fitting = Fitting { normalizer: NormalizerKind::Auto, ..Fitting::default() };
        // A loss that cannot be built is refused with the learner.
        let Some(Ok(loss)) = parts.loss.as_ref().map(|loss| loss.of_labels().build()) else { return fitting };
        if matches!(self.optimizer, OptimizerConfig::Lbfgs { .. }) {
            return fitting;
        }
        let query_gradients = if is_direct(&*loss) { QueryGradients::Unit } else { QueryGradients::Raw };
        let fitting = Fitting { query_gradients, ..fitting };
        if !matches!(parts.scorer, Some(ScorerConfig::Mlp(_))) {
            return fitting;
        }
        let mut learner = Map::from_iter([("learning_rate".to_string(), json!(self.perceptron_rate(&*loss)))]);
        if let Some(FittingData { train, has_validation }) = data {
            let Self { epochs, batch_queries, patience, .. } = self.clone().for_queries(train, has_validation);
            let of_data = [json!(epochs), json!(batch_queries), json!(patience)];
            learner.extend(OF_DATA.iter().map(|key| key.to_string()).zip(of_data));
        }
        Fitting { dropout: Some(DROPOUT), learner, of_data: &OF_DATA, ..fitting }
    }
}

/// Returns whether a loss is the surrogate of a measure.
fn is_direct(loss: &dyn RankingLoss) -> bool {
    loss.about().orientation != Orientation::Loss
}
