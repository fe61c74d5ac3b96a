//! Scores `w . x`, of the features or of kernel components.

use std::borrow::Cow;

use burn::tensor::{DType, Device};

use super::config::NAME;
use super::kernel::KernelMap;
use super::objective::Objective;
use crate::data::{Keep, RankingDataset};
use crate::learner::error::LearnerError;
use crate::learner::shared::context::FitContext;
use crate::learner::shared::flat_loss::FlatLoss;
use crate::learner::shared::linear;
use crate::learner::shared::rounds::Set;
use crate::learner::solver::vectors::weighted_features;
use crate::loss::RankingLoss;
use crate::ranker::Model;

/// A linear scorer.
pub(super) struct LinearObjective<'a> {
    /// The training data, by component if there is a kernel.
    pub(super) train: Cow<'a, RankingDataset>,
    validation: Option<Cow<'a, RankingDataset>>,
    kernel: Option<KernelMap>,
    losses: FlatLoss<'a>,
    device: Device,
}

impl<'a> LinearObjective<'a> {
    pub(super) fn new(
        train: Cow<'a, RankingDataset>,
        validation: Option<Cow<'a, RankingDataset>>,
        kernel: Option<KernelMap>,
        context: &FitContext<'a>,
    ) -> Result<Self, LearnerError> {
        let losses = FlatLoss::new(&train, Keep::All, DType::F64, &context.device, context.processes)
            .map_err(|error| LearnerError::Data { learner: NAME, reason: error.to_string() })?;
        Ok(Self { train, validation, kernel, losses, device: context.device.clone() })
    }
}

impl Objective for LinearObjective<'_> {
    fn value_and_gradient(&self, weights: &[f64], loss: &dyn RankingLoss) -> (f64, Vec<f64>) {
        let (value, slopes) = self.losses.value_and_gradient(loss, &linear::scores(&self.train, weights));
        (value, weighted_features(&self.train, &slopes))
    }

    fn scores(&self, weights: &[f64], set: Set) -> Vec<f64> {
        match (set, &self.validation) {
            (Set::Validation, Some(data)) => linear::scores(data, weights),
            _ => linear::scores(&self.train, weights),
        }
    }

    fn model(&self, weights: &[f64]) -> Model {
        match &self.kernel {
            None => linear::model(weights, 0.0, &self.device),
            Some(kernel) => Model::Kernel(kernel.expansion(weights)),
        }
    }
}
