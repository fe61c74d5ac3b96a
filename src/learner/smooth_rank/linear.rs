//! The objective of SmoothRank for a linear scorer of the features or of kernel components.

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
use crate::learner::shared::share::Share;
use crate::loss::RankingLoss;
use crate::ranker::Model;

/// The objective for a linear scorer.
pub(super) struct LinearObjective<'a> {
    /// The training data, with kernel components instead of features if there is a kernel.
    pub(super) train: Cow<'a, RankingDataset>,
    validation: Option<Cow<'a, RankingDataset>>,
    kernel: Option<KernelMap>,
    losses: FlatLoss,
    device: Device,
}

impl<'a> LinearObjective<'a> {
    pub(super) fn new(
        train: Cow<'a, RankingDataset>,
        validation: Option<Cow<'a, RankingDataset>>,
        kernel: Option<KernelMap>,
        context: &FitContext,
    ) -> Result<Self, LearnerError> {
        let losses = FlatLoss::new(&train, Keep::All, DType::F64, &context.device)
            .map_err(|error| LearnerError::Data { learner: NAME, reason: error.to_string() })?;
        Ok(Self { train, validation, kernel, losses, device: context.device.clone() })
    }
}

impl Objective for LinearObjective<'_> {
    fn value_and_gradient(&self, weights: &[f64], loss: &dyn RankingLoss) -> (f64, Vec<f64>) {
        let share = Share::new(&self.train);
        let (value, slopes) = self.losses.value_and_gradient(loss, &share.all_scores(weights));
        (value, share.weighted_features(&slopes[share.documents()]))
    }

    fn scores(&self, weights: &[f64], set: Set) -> Vec<f64> {
        let data = match (set, &self.validation) {
            (Set::Validation, Some(data)) => data,
            _ => &self.train,
        };
        Share::new(data).all_scores(weights)
    }

    fn model(&self, weights: &[f64]) -> Model {
        match &self.kernel {
            None => linear::model(weights, 0.0, &self.device),
            Some(kernel) => Model::Kernel(kernel.expansion(weights)),
        }
    }
}
