//! Configuration of the gradient learner.

use super::optimizer::{ClipConfig, OptimizerConfig};
use super::precision::Precision;
use super::schedule::ScheduleConfig;
use crate::data::ByteSize;
use crate::learner::entry::{Fitting, FittingData};
use crate::learner::prelude::*;
use crate::learner::shared::anneal::AnnealConfig;
use crate::learner::shared::checks::{at_least, parameter, positive, require, without_batch_norm};
use crate::learner::shared::position::PositionConfig;
use crate::loss::{Change, key_of_held_constant};

pub(super) const NAME: &str = "gradient";

/// Configuration of the learner `gradient`. Every key has a default. [`for_perceptron`](Self::for_perceptron) returns
/// the defaults that configuration files use for a perceptron.
///
/// [`GradientConfig::one_query_per_step`] returns the configuration for Algorithm 1 of
/// [approximation-framework](crate::loss#papers): 200 epochs, one query per step and a learning rate of 0.01.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GradientConfig {
    /// The number of passes over the training queries.
    pub epochs: usize,
    /// The number of queries in one optimizer step.
    pub batch_queries: usize,
    /// The maximum number of padded places (queries x longest list) computed at once, which bounds memory. A larger
    /// step is computed in parts, and the gradients of the parts are added. Usually, the division changes results only
    /// by rounding. With batch norm, dropout or a noisy loss, the division also changes training, since each part has
    /// its own statistics and random draws.
    pub batch_cells: usize,
    /// The largest size of the features that stay on a device with its own memory, such as a GPU, during training.
    /// Larger features are uploaded batch by batch. The default is 1 GiB. On a CPU, the limit has no effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_memory: Option<ByteSize>,
    /// The number of shards into which the training queries are divided, in the order of the file. The default is one
    /// shard. The number of shards is at most the number of queries. Every step uses queries of each shard. The
    /// gradients of each shard are computed separately and added in the order of the shards. The number of shards
    /// affects rounding, and also which queries share a step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shards: Option<usize>,
    /// The learning rate at the peak of the schedule.
    pub learning_rate: f64,
    /// The optimizer, which computes steps from gradients.
    pub optimizer: OptimizerConfig,
    /// The schedule of the learning rate over the epochs.
    pub schedule: ScheduleConfig,
    /// The number of epochs in which the learning rate rises linearly, before the schedule begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup: Option<usize>,
    /// The decay of the moving average of the weights, above 0 and below 1, or `None` to use the weights themselves.
    /// Only the averaged weights are measured, selected and saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average: Option<f64>,
    /// The number type in which the layers of the scorer compute during training. The weights, the optimizer, the loss
    /// and the trained scorer use 32 bits.
    #[serde(skip_serializing_if = "Precision::is_full")]
    pub precision: Precision,
    /// The limit to which the gradient of each parameter tensor is clipped.
    pub clip: Option<ClipConfig>,
    /// The schedule by which a parameter of the loss, usually the temperature, changes over the epochs.
    pub anneal: Option<AnnealConfig>,
    /// How training explains labels by the positions at which documents were shown.
    ///
    /// The factors are parameters of the optimizer. They have no part in the moving average of the weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<PositionConfig>,
    /// The fit stops after this many epochs without a better selection measure; `None` means never.
    pub patience: Option<usize>,
    /// The selection measure is computed on the training data in the first epoch and in every epoch divisible by this
    /// number. With 0, the training data are measured only if there are no validation data.
    pub evaluate_train_every: usize,
}

impl Default for GradientConfig {
    fn default() -> Self {
        Self {
            epochs: 100,
            batch_queries: 32,
            batch_cells: 1 << 16,
            device_memory: None,
            shards: None,
            learning_rate: 0.01,
            optimizer: OptimizerConfig::default(),
            schedule: ScheduleConfig::default(),
            warmup: None,
            average: None,
            precision: Precision::F32,
            clip: None,
            anneal: None,
            position: None,
            patience: None,
            evaluate_train_every: 5,
        }
    }
}

impl GradientConfig {
    /// Returns the configuration for Algorithm 1 of [approximation-framework](crate::loss#papers): gradient descent
    /// with one query per step, 200 epochs and a learning rate of 0.01.
    pub fn one_query_per_step() -> Self {
        Self { epochs: 200, batch_queries: 1, optimizer: OptimizerConfig::plain_sgd(), ..Self::default() }
    }

    /// Checks every parameter, and builds the learner for the loss and the scorer in `parts`. The loss is required.
    /// Without a scorer, the learner trains a linear one.
    ///
    /// # Errors
    /// [`LearnerError`] that names the first invalid key of the learner, the scorer or the loss.
    pub fn build(&self, parts: &Parts) -> Result<Box<dyn RankingLearner>, LearnerError> {
        Ok(Box::new(self.check(parts)?))
    }

    /// Rejects a scorer, a loss or settings that the optimizer does not support.
    fn check_optimizer(&self, scorer: &ScorerConfig, loss: &dyn RankingLoss) -> Result<()> {
        match self.optimizer {
            OptimizerConfig::Muon { .. } => {
                let expected = "another one for a scorer without hidden layers, which has no matrix";
                require("optimizer.kind", "muon", scorer.has_hidden_layers(), expected)
            }
            OptimizerConfig::Lbfgs { .. } => self.check_line_search(scorer, loss),
            _ => Ok(()),
        }
    }

    /// Rejects a scorer, a loss or settings that do not work with a line search. A line search needs a loss that has
    /// the same value whenever it is evaluated. It also needs the exact gradient of this value.
    fn check_line_search(&self, scorer: &ScorerConfig, loss: &dyn RankingLoss) -> Result<()> {
        let with = "with optimizer `lbfgs`";
        let reason = "optimizer `lbfgs` needs a deterministic loss";
        let remedy = "remove it or choose another optimizer";
        if let Some((key, found)) = scorer.changes_in_training() {
            return Err(Refusal::new(format!("scorer.{key}"), found, format!("none, since {reason}; {remedy}")).into());
        }
        if loss.changed(Change::Noise(&|seed| seed))?.is_some() {
            return Err(Refusal::fault("loss.name", format!("expected a loss without noise, since {reason}")).into());
        }
        if let Some(held) = loss.about().held_constant
            && loss.changed(Change::FullGradient)?.is_none()
        {
            let name = loss.about().name;
            let expected =
                format!("expected a loss whose gradient is the derivative of its value {with}: {name} holds {held}");
            return Err(Refusal::fault(key_of_held_constant(held), expected).into());
        }
        if self.anneal.is_some() {
            let instead = "learner.kind = \"smooth_rank\" anneals with L-BFGS";
            return Err(Refusal::described("learner.anneal", "a table", format!("none {with}; {instead}")).into());
        }
        if !self.precision.is_full() {
            return Err(parameter("precision", format!("{:?}", self.precision.name()), format!("\"f32\" {with}")));
        }
        if self.clip.is_some() {
            return Err(Refusal::described("learner.clip", "a table", format!("none {with}")).into());
        }
        Ok(())
    }
}

/// Rejects batch norm with several shards, since batch norm needs the statistics of all queries in a step.
fn check_shards(shards: usize, scorer: &ScorerConfig) -> Result<()> {
    if shards <= 1 {
        return Ok(());
    }
    let reason = "since batch norm has the statistics of only one shard";
    without_batch_norm(scorer, format_args!("another with learner.shards = {shards}, {reason}"))
}

impl LearnerConfig for GradientConfig {
    type RankingLearner = Gradient;

    fn check(&self, parts: &Parts) -> Result<Gradient> {
        let (loss, scorer) = (parts.required_loss(self)?, parts.scorer_or_default());
        at_least("epochs", self.epochs, 1)?;
        at_least("batch_queries", self.batch_queries, 1)?;
        at_least("batch_cells", self.batch_cells, 1)?;
        at_least("shards", self.shards, 1)?;
        check_shards(self.shards.unwrap_or(1), &scorer)?;
        positive("learning_rate", self.learning_rate)?;
        at_least("patience", self.patience, 1)?;
        self.optimizer.check()?;
        self.schedule.check(self.warmup, self.epochs)?;
        if let Some(decay) = self.average {
            require("average", decay, decay > 0.0 && decay < 1.0, "a number above 0 and below 1")?;
        }
        self.clip.as_ref().map(ClipConfig::check).transpose()?;
        self.position.as_ref().map(PositionConfig::check).transpose()?;
        scorer.check()?;
        let annealed = self.anneal.as_ref().map(|anneal| anneal.check(&loss)).transpose()?;
        self.check_optimizer(&scorer, &*loss.built)?;
        Ok(Gradient { config: self.clone(), scorer, loss, annealed })
    }

    fn relative_temperature(&self) -> Option<f64> {
        let is_annealed = self.anneal.as_ref().is_some_and(AnnealConfig::changes_temperature);
        (!is_annealed).then_some(1.0)
    }

    fn fitting(&self, parts: &Parts, data: Option<FittingData>) -> Fitting {
        self.fitting_to(parts, data)
    }
}

/// Trains a scorer by gradient descent on a differentiable loss.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Gradient {
    pub(super) config: GradientConfig,
    pub(super) scorer: ScorerConfig,
    pub(super) loss: BuiltLoss,
    /// The name of the loss's parameter that is annealed, if any.
    #[serde(skip)]
    pub(super) annealed: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;
    use crate::loss::LossSpec;

    fn read(text: &str) -> Result<GradientConfig, String> {
        let config: GradientConfig = serde_json::from_str(text).map_err(|error| error.to_string())?;
        config
            .check(&Parts::default().with_loss(LossSpec::new("approx_ndcg")))
            .map(|_| config)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn every_key_has_a_default_and_what_is_written_is_read_back() {
        assert_eq!(read("{}").unwrap(), GradientConfig::default());
        let full = r#"{
            "epochs": 7, "learning_rate": 2.0, "patience": 3,
            "optimizer": {"kind": "sgd", "momentum": 0.9, "nesterov": true},
            "schedule": {"kind": "cosine", "floor": 0.1},
            "clip": {"norm": 1.0}, "precision": "bf16", "device_memory": "2 GiB",
            "anneal": {"kind": "geometric", "from": 1.0, "to": 100.0}
        }"#;
        let config = read(full).unwrap();
        let again = serde_json::to_string(&config).unwrap();
        assert_eq!(read(&again).unwrap(), config);
    }

    #[test]
    fn unknown_keys_are_refused_at_every_level() {
        for text in [
            r#"{"epoch": 3}"#,
            r#"{"optimizer": {"kind": "adam", "beta1": 0.9}}"#,
            r#"{"optimizer": {"kind": "adan_w"}}"#,
            r#"{"schedule": {"kind": "cosine", "flor": 0.1}}"#,
            r#"{"clip": {"norms": 1.0}}"#,
            r#"{"anneal": {"kind": "geometric", "from": 1.0, "to": 2.0, "by": 2}}"#,
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains("unknown"), "{text}: {error}");
        }
    }

    #[test]
    fn a_configuration_without_the_keys_is_written_as_before_there_were_any() {
        let text = serde_json::to_string(&GradientConfig::default()).unwrap();
        let keys = ["warmup", "average", "shards", "precision", "device_memory"];
        assert!(keys.iter().all(|key| !text.contains(key)), "{text}");
    }

    #[test]
    fn optimizers_refuse_what_they_cannot_be_used_with() {
        let mlp = json!({"kind": "mlp"});
        let lbfgs = |rest: &str| format!(r#"{{"optimizer": {{"kind": "lbfgs"}}{rest}}}"#);
        let with = "with optimizer `lbfgs`";
        let none = "none, since optimizer `lbfgs` needs a deterministic loss; remove it or choose another optimizer";
        for (text, scorer, loss, message) in [
            (
                r#"{"optimizer": {"kind": "muon"}}"#.to_string(),
                json!({"kind": "linear"}),
                LossSpec::new("list_net"),
                "learner.optimizer.kind = muon: expected another one for a scorer without hidden layers, which has no \
                 matrix"
                    .to_string(),
            ),
            (
                lbfgs(""),
                json!({"kind": "mlp", "dropout": 0.5}),
                LossSpec::new("list_net"),
                format!("scorer.dropout = 0.5: expected {none}"),
            ),
            (
                lbfgs(""),
                json!({"kind": "mlp", "norm": "batch"}),
                LossSpec::new("list_net"),
                format!("scorer.norm = \"batch\": expected {none}"),
            ),
            (
                lbfgs(""),
                mlp.clone(),
                LossSpec::new("softmax_cross_entropy").with("gumbel_samples", 1),
                "loss.name: expected a loss without noise, since optimizer `lbfgs` needs a deterministic loss".to_string(),
            ),
            (
                lbfgs(""),
                mlp.clone(),
                LossSpec::new("lambda_ndcg"),
                format!(
                    "loss: expected a loss whose gradient is the derivative of its value {with}: lambda_ndcg holds the weights of pairs"
                ),
            ),
            (
                r#"{"shards": 2}"#.to_string(),
                json!({"kind": "mlp", "norm": "batch"}),
                LossSpec::new("list_net"),
                "scorer.norm = \"batch\": expected another with learner.shards = 2, since batch norm has the statistics of only one \
                 shard"
                    .to_string(),
            ),
            (
                lbfgs(r#", "anneal": {"kind": "linear", "from": 1.0, "to": 2.0}"#),
                mlp.clone(),
                LossSpec::new("approx_ndcg"),
                format!(
                    "learner.anneal: found a table, expected none {with}; learner.kind = \"smooth_rank\" anneals with L-BFGS"
                ),
            ),
            (
                lbfgs(r#", "precision": "f16""#),
                mlp.clone(),
                LossSpec::new("list_net"),
                format!("learner.precision = \"f16\": expected \"f32\" {with}"),
            ),
            (
                lbfgs(r#", "clip": {"norm": 1.0}"#),
                mlp,
                LossSpec::new("list_net"),
                format!("learner.clip: found a table, expected none {with}"),
            ),
        ] {
            let config: GradientConfig = serde_json::from_str(&text).unwrap();
            let scorer: ScorerConfig = crate::json::from_value(scorer).unwrap();
            let parts = Parts::default().with_loss(&loss).with_scorer(&scorer);
            assert_eq!(config.check(&parts).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn values_out_of_range_name_their_key() {
        for (text, message) in [
            (r#"{"epochs": 0}"#, "learner.epochs = 0: expected at least 1"),
            (r#"{"shards": 0}"#, "learner.shards = 0: expected at least 1"),
            (r#"{"learning_rate": -1.0}"#, "learner.learning_rate = -1: expected a finite number above 0"),
            (r#"{"patience": 0}"#, "learner.patience = 0: expected at least 1"),
            (r#"{"average": 1.0}"#, "learner.average = 1: expected a number above 0 and below 1"),
            (r#"{"warmup": 0}"#, "learner.warmup = 0: expected at least 1"),
            (r#"{"warmup": 7, "epochs": 7}"#, "learner.warmup = 7: expected less than learner.epochs, which is 7"),
            (
                r#"{"warmup": 1, "schedule": {"kind": "noam", "warmup": 2}}"#,
                "learner.warmup = 1: expected none with the schedule \"noam\", which has its own",
            ),
            (r#"{"optimizer": {"kind": "lbfgs", "history": 0}}"#, "learner.optimizer.history = 0: expected at least 1"),
            (
                r#"{"optimizer": {"kind": "adafactor", "clip_threshold": 0.0}}"#,
                "learner.optimizer.clip_threshold = 0: expected a finite number above 0",
            ),
            (
                r#"{"optimizer": {"kind": "adam", "beta_2": 1.0}}"#,
                "learner.optimizer.beta_2 = 1: expected at least 0 and below 1",
            ),
            (r#"{"clip": {"value": 0.0}}"#, "learner.clip.value = 0: expected a finite number above 0"),
            (
                r#"{"schedule": {"kind": "exponential", "factor": 1.5}}"#,
                "learner.schedule.factor = 1.5: expected a number above 0, at most 1",
            ),
        ] {
            assert_eq!(read(text).unwrap_err(), message);
        }
    }
}
