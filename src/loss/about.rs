//! The properties of a loss that learners, checks and records need (`About`), and the changes that learners request
//! (`Change`).

use std::borrow::Cow;

use burn::tensor::{DType, Device};

use super::curvature::Curved;
use super::error::{self, LossError};
use super::lists::Lists;
use super::surrogate::Approximation;
use crate::device::in_host_memory;
use crate::measure::Gain;
use crate::memory::{self, Shortage};

/// How to turn the surrogate's value for a query into the loss to minimize.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orientation {
    /// The value is a normalized measure in `[0, 1]`, and the loss is `1 - value`.
    NormalizedMeasure,
    /// The value is a measure that is not normalized to `[0, 1]`, and the loss is `-value`.
    Measure,
    /// The value is itself the loss to minimize.
    Loss,
}

/// The temperature of a surrogate, which a schedule anneals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Smoothing {
    /// The name of the temperature parameter.
    pub parameter: &'static str,
    larger_is_sharper: bool,
}

impl Smoothing {
    /// A parameter with which the surrogate tends to the measure as the parameter grows, such as `alpha`.
    pub const fn sharper_if_larger(parameter: &'static str) -> Self {
        Self { parameter, larger_is_sharper: true }
    }

    /// A parameter with which the surrogate tends to the measure as the parameter tends to 0, such as `sigma`.
    pub const fn sharper_if_smaller(parameter: &'static str) -> Self {
        Self { parameter, larger_is_sharper: false }
    }

    /// Returns whether the surrogate tends to the measure as the parameter grows.
    pub const fn larger_is_sharper(self) -> bool {
        self.larger_is_sharper
    }
}

/// The properties of a loss, as returned by [`RankingLoss::about`](super::RankingLoss::about). [`About::new`] needs
/// only a name and an orientation, and each `with_` method adds one property.
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
    /// The name of the loss. A registered loss has the same name in configuration files.
    pub name: &'static str,
    /// How to turn the surrogate's value into the loss to minimize.
    pub orientation: Orientation,
    /// The gain, which determines the labels that the loss allows; `None` allows any finite label.
    pub gain: Option<&'a Gain>,
    /// Whether the loss is made for a teacher's scores, and reads labels only where there is no teacher.
    pub reads_teacher: bool,
    /// Whether the loss reads the scores of a teacher next to the labels, as [`Distillation`](super::Distillation)
    /// does.
    pub needs_teacher: bool,
    /// Whether every gain must be from 0 to 1, as a loss of probabilities requires.
    pub has_gains_to_one: bool,
    /// Whether the loss accepts [document weights](super::Lists::with_document_weights), such as [inverse
    /// propensities](crate::data::ClickModel). If it does not, the error gives the reason.
    ///
    /// With document weights, a sum over documents becomes a weighted sum, and a mean becomes a weighted mean. Each
    /// pair of documents gets the weight of its more relevant document. A surrogate multiplies each document's gain or
    /// relevance by the document's weight, both in the measure and in its ideal value. If all document weights are 1,
    /// the loss is bit-identical to the loss without weights. A loss accepts document weights only if it reads
    /// [`Lists::document_weights`](super::Lists::document_weights).
    pub document_weights: Result<(), &'static str>,
    /// The temperature parameter, which annealing and the SmoothRank learner change during training. A loss with a
    /// temperature must also support [`Change::Parameter`].
    pub smoothing: Option<Smoothing>,
    /// The second derivatives, if the loss has a closed form for them; boosted trees use them for Newton steps.
    pub curvature: Option<&'a dyn Curved>,
    /// The quantity that the gradient treats as constant although it depends on the scores, such as the spread of the
    /// scores or the weights of pairs. `None` means that the gradient is the exact gradient of the value. Learners with
    /// a line search request [`Change::FullGradient`] if a quantity is held constant. They reject a loss that does not
    /// support this change.
    pub held_constant: Option<&'static str>,
    /// Whether the gradient is an unbiased estimate of the gradient of the loss's expected value over its random noise.
    /// Losses over sampled rankings set this flag, because the value for a sampled ranking has a gradient of 0 nearly
    /// everywhere.
    pub estimates_gradient: bool,
    /// How many numbers the loss stores for each ordered pair of documents, in the forward and backward passes: 0 for a
    /// loss whose memory is linear in the length of a list, or whose pairs stay within the [memory
    /// budget](crate::op::Execution::with_memory_budget).
    pub numbers_per_pair: u64,
    /// What depends on the length of a list in another way, if anything does.
    pub(super) by_length: Option<&'a dyn ByLength>,
}

/// The approximation and the memory of a loss, where they depend on the length of a list.
pub(super) trait ByLength: Sync {
    /// Does what [`About::approximation`] does.
    fn approximation(&self, documents: usize, scores: DType) -> Result<Option<Approximation>, LossError>;

    /// Estimates how many numbers the loss stores for the document pairs of one list.
    fn numbers_of_pairs(&self, documents: usize) -> u64;
}

/// Returns `numbers` times the number of ordered document pairs.
pub(in crate::loss) fn of_pairs(numbers: u64, documents: usize) -> u64 {
    (documents as u64).saturating_pow(2).saturating_mul(numbers)
}

impl<'a> About<'a> {
    /// Creates the properties of a loss that allows any finite label, rejects document weights and has no optional
    /// properties.
    pub const fn new(name: &'static str, orientation: Orientation) -> Self {
        Self {
            name,
            orientation,
            gain: None,
            reads_teacher: false,
            needs_teacher: false,
            has_gains_to_one: false,
            document_weights: Err("it is not defined for weighted documents"),
            smoothing: None,
            curvature: None,
            held_constant: None,
            estimates_gradient: false,
            numbers_per_pair: 0,
            by_length: None,
        }
    }

    /// Requires every label to be in the domain of this gain.
    pub fn with_gain(self, gain: &'a Gain) -> Self {
        Self { gain: Some(gain), ..self }
    }

    /// Requires every label to be in the domain of this gain, and every gain to be from 0 to 1.
    pub fn with_gain_to_one(self, gain: &'a Gain) -> Self {
        Self { gain: Some(gain), has_gains_to_one: true, ..self }
    }

    /// Declares that the loss is made for a teacher's scores.
    pub fn of_teacher(self) -> Self {
        Self { reads_teacher: true, ..self }
    }

    /// Declares that the loss accepts document weights.
    pub fn with_document_weights(self) -> Self {
        Self { document_weights: Ok(()), ..self }
    }

    /// Sets the temperature of the loss.
    pub fn with_smoothing(self, smoothing: Option<Smoothing>) -> Self {
        Self { smoothing, ..self }
    }

    /// Sets the object that computes the second derivatives of the loss.
    pub fn with_curvature(self, curvature: &'a dyn Curved) -> Self {
        Self { curvature: Some(curvature), ..self }
    }

    /// Names the quantity that the gradient treats as constant.
    pub fn with_held_constant(self, held_constant: Option<&'static str>) -> Self {
        Self { held_constant, ..self }
    }

    /// Declares that the gradient is an estimate.
    pub fn with_estimated_gradient(self) -> Self {
        Self { estimates_gradient: true, ..self }
    }

    /// Sets how many numbers the loss stores for each ordered pair of documents.
    pub fn with_numbers_per_pair(self, numbers_per_pair: u64) -> Self {
        Self { numbers_per_pair, ..self }
    }

    /// Returns the properties of the sum of two losses, named `name`. The sum requires what either loss requires. It
    /// has neither a temperature nor second derivatives.
    ///
    /// Of two gains, the sum has the first; each loss still computes with its own.
    pub fn plus(self, other: Self, name: &'static str) -> Self {
        Self {
            gain: self.gain.or(other.gain),
            reads_teacher: self.reads_teacher || other.reads_teacher,
            needs_teacher: self.needs_teacher || other.needs_teacher,
            has_gains_to_one: self.has_gains_to_one || other.has_gains_to_one,
            document_weights: self.document_weights.and(other.document_weights),
            held_constant: self.held_constant.or(other.held_constant),
            estimates_gradient: self.estimates_gradient || other.estimates_gradient,
            numbers_per_pair: self.numbers_per_pair.saturating_add(other.numbers_per_pair),
            ..Self::new(name, Orientation::Loss)
        }
    }

    /// If the gain of a label in the domain is larger than the loss accepts, returns what it accepts.
    pub(super) fn gain_problem(&self, label: f64) -> Option<String> {
        let is_large = self.has_gains_to_one && self.gain.is_some_and(|gain| gain.of(label) > 1.0);
        is_large.then(|| "a label with a gain from 0 to 1 (grades need `gain = { table = [0, 1, 1, 1] }`)".to_string())
    }

    /// Returns the lists as the loss reads them: with a teacher's scores in place of labels if there are any, unless
    /// the loss reads both.
    pub(super) fn read<'l>(&self, lists: &'l Lists) -> Cow<'l, Lists> {
        let taught = if self.needs_teacher { None } else { lists.taught() };
        taught.map_or(Cow::Borrowed(lists), Cow::Owned)
    }

    /// Checks that the loss accepts document weights.
    ///
    /// # Errors
    /// Returns [`LossError::DocumentWeights`], with the reason, if the loss rejects document weights.
    pub fn check_document_weights(&self) -> Result<(), LossError> {
        self.document_weights.map_err(|reason| LossError::DocumentWeights { loss: self.name, reason })
    }

    /// Describes the approximation used for lists of up to `documents` documents, with its measured errors; `None` if
    /// the loss is computed exactly by its formula, however long the list is.
    ///
    /// # Errors
    /// Returns an error if the user requested an approximation that misses its error tolerance for lists of this
    /// length.
    pub fn approximation(&self, documents: usize, scores: DType) -> Result<Option<Approximation>, LossError> {
        self.by_length.map_or(Ok(None), |by_length| by_length.approximation(documents, scores))
    }

    /// Estimates how many bytes the loss stores for the document pairs of `batch` lists with up to `documents`
    /// documents each.
    pub fn pair_memory(&self, batch: usize, documents: usize, scores: DType) -> u64 {
        self.numbers_of_pairs(documents).saturating_mul(batch as u64).saturating_mul(scores.size() as u64)
    }

    /// Estimates how many numbers the loss stores for the document pairs of one list.
    pub(super) fn numbers_of_pairs(&self, documents: usize) -> u64 {
        let by_length = self.by_length.map_or(0, |by_length| by_length.numbers_of_pairs(documents));
        of_pairs(self.numbers_per_pair, documents).saturating_add(by_length)
    }

    /// Checks before any computation that a batch's [arrays of document pairs](About::pair_memory) fit into free
    /// memory. Lists on a device with its own memory, such as a GPU, always pass this check.
    ///
    /// # Errors
    /// Returns [`LossError::Memory`] with the number of bytes needed. Every batch passes if the system does not report
    /// its free memory.
    pub fn check_memory(
        &self,
        batch: usize,
        documents: usize,
        scores: DType,
        device: &Device,
    ) -> Result<(), LossError> {
        if !in_host_memory(device) {
            return Ok(());
        }
        let loss = self.name;
        memory::ask(self.pair_memory(batch, documents, scores)).map_err(|Shortage { needed, free: available }| {
            LossError::Memory { loss, batch, documents, needed, available }
        })
    }

    /// Checks the labels of a dataset against the domain of the gain. The labels of query `q` are
    /// `labels[offsets[q]..offsets[q + 1]]`.
    ///
    /// # Errors
    /// Returns an error for the first label outside the domain, or for offsets that do not partition the labels.
    pub fn check_labels(&self, labels: &[f32], offsets: &[usize]) -> Result<(), LossError> {
        check_offsets(labels.len(), offsets)?;
        for (query, range) in offsets.windows(2).enumerate() {
            for (document, &label) in labels[range[0]..range[1]].iter().enumerate() {
                check_label(self, query, document, f64::from(label))?;
            }
        }
        Ok(())
    }
}

pub(super) fn check_label(about: &About<'_>, query: usize, document: usize, found: f64) -> Result<(), LossError> {
    let problem = error::label_problem(about.gain, found).or_else(|| about.gain_problem(found));
    problem.map_or(Ok(()), |expected| Err(LossError::Label { query, document, found, expected }))
}

pub(super) fn check_offsets(documents: usize, offsets: &[usize]) -> Result<(), LossError> {
    let found = match offsets {
        [] => "none".to_string(),
        [first, ..] if *first != 0 => format!("the first at {first}"),
        [.., last] if *last != documents => format!("the last at {last}"),
        _ => match offsets.windows(2).find(|two| two[0] > two[1]) {
            Some(two) => format!("{} after {}", two[1], two[0]),
            None => return Ok(()),
        },
    };
    Err(LossError::Offsets { found, documents })
}

/// A change to a loss, requested by a learner through [`RankingLoss::changed`](super::RankingLoss::changed).
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Change<'a> {
    /// Draws new noise for each row of a batch, separately from all other rows. `seed` maps the loss's own seed to the
    /// new seed. The gradient learner requests new noise at every step. Requesting new noise never fails; a loss
    /// without noise returns `None`.
    Noise(&'a dyn Fn(u64) -> u64),
    /// Also differentiates the quantity that the loss otherwise [holds constant](About::held_constant), so that the
    /// gradient is the exact gradient of the value. A loss returns `None` if it holds nothing constant, or if it cannot
    /// differentiate the held quantity.
    FullGradient,
    /// Sets a parameter to a new value, as an annealing schedule does.
    Parameter(&'a str, f64),
}
