//! `About`: the properties of a loss that learners, checks and records ask for, as one value, and the changes of a loss
//! that they ask for.

use burn::tensor::{DType, Device};

use super::approximation::Approximation;
use super::check::{check_label, check_memory, check_offsets};
use super::curvature::Curved;
use super::error::LossError;
use super::smoothing::Smoothing;
use crate::measure::Gain;

/// Relation between the surrogate value and the loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orientation {
    /// The value is a normalized measure in `[0, 1]`: `loss = 1 - value`.
    NormalizedMeasure,
    /// The value is a measure without a fixed upper end: `loss = -value`.
    Measure,
    /// A loss to minimize: `value = loss`.
    Loss,
}

/// The properties of a loss: [`RankingLoss::about`](super::RankingLoss::about). A name and an orientation make the
/// properties of a plain loss; each `with_` method adds one.
///
/// ```
/// use burn_rank::prelude::*;
///
/// let loss = ApproxNdcgConfig::new().init()?;
/// let about = loss.about();
/// assert_eq!((about.name, about.gain), ("approx_ndcg", Some(&Gain::Exp2)));
/// assert_eq!(about.smoothing.expect("it has a temperature").parameter, "alpha");
/// assert!(about.check_document_weights().is_ok());
/// # Ok::<(), LossError>(())
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct About<'a> {
    /// The name of the loss. For a registered loss, the name used in configuration files.
    pub name: &'static str,
    /// The relation between value and loss.
    pub orientation: Orientation,
    /// The gain whose domain the labels must be in; `None` if any finite label is allowed.
    pub gain: Option<&'a Gain>,
    /// Whether the loss takes [weights of documents](super::Lists::with_document_weights), as
    /// [inverse propensities](crate::data::ClickModel) are; the reason if it does not.
    ///
    /// A sum over documents becomes a weighted sum, and a mean becomes a weighted mean. A pair of documents has the
    /// weight of the more relevant one. A surrogate of a measure multiplies the gain or the relevance of each document,
    /// in the ideal value too. Weights of 1 change no bit. A loss that does not read
    /// [`Lists::document_weights`](super::Lists::document_weights) does not take them.
    pub document_weights: Result<(), &'static str>,
    /// The temperature of the loss, for annealing and SmoothRank. A loss that has one also answers
    /// [`Change::Parameter`].
    pub smoothing: Option<Smoothing>,
    /// Second derivatives in closed form, for a loss that has them; boosted trees then take Newton steps.
    pub curvature: Option<&'a dyn Curved>,
    /// The quantity that the gradient takes as constant although it changes with the scores, such as the spread of the
    /// scores or the weights of pairs by rank. `None` means that the gradient is the gradient of the value. A line
    /// search, which compares values, takes such a loss with [`Change::FullGradient`], or rejects it.
    pub held: Option<&'static str>,
    /// Whether the gradient is an unbiased estimate of the gradient of the expected value over the loss's noise,
    /// instead of the gradient of the value, which may be constant nearly everywhere. True for estimators over sampled
    /// rankings.
    pub estimates_gradient: bool,
    /// The properties that change with the length of a list, for a loss that has any.
    pub by_length: Option<&'a dyn ByLength>,
}

/// The properties of a loss that change with the length of a list.
pub trait ByLength: Sync {
    /// Describes how the loss is evaluated in lists of up to `documents` documents, with the measured errors. `None`
    /// for a loss that follows its formula at every length.
    ///
    /// # Errors
    /// A requested approximation misses its tolerance at this length.
    fn approximation(&self, _documents: usize, _scores: DType) -> Result<Option<Approximation>, LossError> {
        Ok(None)
    }

    /// Returns how many numbers the loss holds for the pairs of a list of `documents` documents, forward and backward:
    /// an estimate. 0, the default, for a loss whose memory grows with the documents, or that keeps pairs within the
    /// [memory budget](crate::op::Execution::with_memory_budget).
    fn numbers_of_pairs(&self, _documents: usize) -> u64 {
        0
    }
}

/// `numbers` for each pair of documents.
pub(in crate::loss) fn of_pairs(numbers: u64, documents: usize) -> u64 {
    (documents as u64).saturating_pow(2).saturating_mul(numbers)
}

impl<'a> About<'a> {
    /// The properties of a loss that allows any label and supports no weights of documents. All others have their
    /// defaults.
    pub const fn new(name: &'static str, orientation: Orientation) -> Self {
        Self {
            name,
            orientation,
            gain: None,
            document_weights: Err("it is not defined for weighted documents"),
            smoothing: None,
            curvature: None,
            held: None,
            estimates_gradient: false,
            by_length: None,
        }
    }

    /// The labels must be in the domain of this gain.
    pub fn with_gain(self, gain: &'a Gain) -> Self {
        Self { gain: Some(gain), ..self }
    }

    /// The loss takes weights of documents.
    pub fn with_document_weights(self) -> Self {
        Self { document_weights: Ok(()), ..self }
    }

    /// The loss has a temperature.
    pub fn with_smoothing(self, smoothing: Option<Smoothing>) -> Self {
        Self { smoothing, ..self }
    }

    /// The loss has second derivatives.
    pub fn with_curvature(self, curvature: &'a dyn Curved) -> Self {
        Self { curvature: Some(curvature), ..self }
    }

    /// The gradient takes this quantity as constant.
    pub fn with_held(self, held: Option<&'static str>) -> Self {
        Self { held, ..self }
    }

    /// The gradient is an estimate.
    pub fn with_estimated_gradient(self) -> Self {
        Self { estimates_gradient: true, ..self }
    }

    /// The loss has properties that change with the length of a list.
    pub fn with_lengths(self, by_length: &'a dyn ByLength) -> Self {
        Self { by_length: Some(by_length), ..self }
    }

    /// Checks that the loss takes weights of documents.
    ///
    /// # Errors
    /// [`LossError::DocumentWeights`], with the reason.
    pub fn check_document_weights(&self) -> Result<(), LossError> {
        self.document_weights.map_err(|reason| LossError::DocumentWeights { loss: self.name, reason })
    }

    /// Describes the evaluation in lists of up to `documents` documents: [`ByLength::approximation`].
    ///
    /// # Errors
    /// A requested approximation misses its tolerance at this length.
    pub fn approximation(&self, documents: usize, scores: DType) -> Result<Option<Approximation>, LossError> {
        self.by_length.map_or(Ok(None), |by_length| by_length.approximation(documents, scores))
    }

    /// Returns the bytes of the arrays over pairs of documents that the loss holds for `batch` lists of up to
    /// `documents` documents: an estimate, see [`ByLength::numbers_of_pairs`].
    pub fn pair_memory(&self, batch: usize, documents: usize, scores: DType) -> u64 {
        let numbers = self.by_length.map_or(0, |by_length| by_length.numbers_of_pairs(documents));
        numbers.saturating_mul(batch as u64).saturating_mul(scores.size() as u64)
    }

    /// Checks that the [arrays over pairs](About::pair_memory) of a batch fit into the free memory, on a device that
    /// uses the memory of the process, before anything is computed.
    ///
    /// # Errors
    /// [`LossError::Memory`], with the bytes that are needed. No batch is rejected if the system does not report its
    /// free memory.
    pub fn check_memory(
        &self,
        batch: usize,
        documents: usize,
        scores: DType,
        device: &Device,
    ) -> Result<(), LossError> {
        check_memory(self.name, self.pair_memory(batch, documents, scores), [batch, documents], device)
    }

    /// Checks the labels of a dataset against the domain of the gain. Query `q` is
    /// `labels[offsets[q]..offsets[q + 1]]`.
    ///
    /// # Errors
    /// The first label outside the domain, or offsets that do not partition the labels.
    pub fn check_labels(&self, labels: &[f32], offsets: &[usize]) -> Result<(), LossError> {
        check_offsets(labels.len(), offsets)?;
        for (query, range) in offsets.windows(2).enumerate() {
            for (document, &label) in labels[range[0]..range[1]].iter().enumerate() {
                check_label(self.gain, query, document, f64::from(label))?;
            }
        }
        Ok(())
    }
}

/// A change of a loss: [`RankingLoss::changed`](super::RankingLoss::changed).
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Change<'a> {
    /// Noise drawn anew, separately for each row of a batch, from `seed(own)`, where `own` is the seed of the loss. The
    /// gradient learner asks for it at every step. It never fails. A loss without noise returns `None`.
    Noise(&'a dyn Fn(u64) -> u64),
    /// The gradient of the value: nothing is [held](About::held). A loss that holds nothing, or that cannot let the
    /// gradient through, returns `None`.
    FullGradient,
    /// Another value of a parameter, as annealing asks for it.
    Parameter(&'a str, f64),
}
