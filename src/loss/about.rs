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

/// The names of the length that unit gradients treat as constant: for a loss with unit gradients, and for a loss whose
/// teacher's loss has them.
pub(crate) const UNIT_GRADIENTS: [&str; 2] =
    ["the length of each query's gradient", "the length of each query's gradient of the teacher's loss"];

/// Returns the configuration key for an error about `held`, the quantity that the gradient treats as constant.
#[cfg(feature = "learners")]
pub(crate) fn key_of_held_constant(held: &str) -> &'static str {
    let keys = ["loss.query_gradients", "loss.teacher.query_gradients"];
    UNIT_GRADIENTS.iter().position(|unit| *unit == held).map_or("loss", |at| keys[at])
}

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
#[derive(Clone)]
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
    /// Costs that depend on the length of a list in another way; a sum has the costs of all its parts.
    pub(super) by_length: Vec<&'a dyn ByLength>,
    /// The gains of further parts of a sum, and whether each must be from 0 to 1.
    pub(super) further_gains: Vec<(&'a Gain, bool)>,
    /// Whether one part of a sum reads a teacher's scores and another is not made for them.
    pub(crate) mixes_teacher: bool,
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
            by_length: Vec::new(),
            further_gains: Vec::new(),
            mixes_teacher: false,
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
    /// Of two gains, the sum has the first. Each loss still computes with its own, and labels must be in the domain of
    /// both. If one of the losses reads a teacher's scores and the other is not made for them, the sum accepts no lists
    /// with a teacher. A [`Distillation`](super::Distillation), whose parts may be sums, reads each where it belongs.
    pub fn plus(self, other: Self, name: &'static str) -> Self {
        let takes_teacher = |part: &Self| part.needs_teacher || part.reads_teacher;
        let is_mixed = takes_teacher(&self) != takes_teacher(&other);
        let mut gains = self.gains().chain(other.gains()).collect::<Vec<_>>().into_iter();
        let (gain, is_to_one) = gains.next().unzip();
        Self {
            gain,
            has_gains_to_one: is_to_one.unwrap_or(false),
            further_gains: gains.collect(),
            reads_teacher: self.reads_teacher && other.reads_teacher,
            needs_teacher: self.needs_teacher || other.needs_teacher,
            mixes_teacher: self.mixes_teacher || other.mixes_teacher || is_mixed,
            document_weights: self.document_weights.and(other.document_weights),
            held_constant: self.held_constant.or(other.held_constant),
            estimates_gradient: self.estimates_gradient || other.estimates_gradient,
            numbers_per_pair: self.numbers_per_pair.saturating_add(other.numbers_per_pair),
            by_length: [self.by_length, other.by_length].concat(),
            ..Self::new(name, Orientation::Loss)
        }
    }

    /// Returns the gain of the loss, or the gains of all parts of a sum, and whether each must be from 0 to 1.
    fn gains(&self) -> impl Iterator<Item = (&'a Gain, bool)> {
        self.gain.map(|gain| (gain, self.has_gains_to_one)).into_iter().chain(self.further_gains.iter().copied())
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
    /// the loss is computed exactly by its formula, however long the list is. Of a sum of losses, it is the one with
    /// the largest error.
    ///
    /// # Errors
    /// Returns an error if the user requested an approximation that misses its error tolerance for lists of this
    /// length.
    pub fn approximation(&self, documents: usize, scores: DType) -> Result<Option<Approximation>, LossError> {
        let found = self.by_length.iter().map(|by_length| by_length.approximation(documents, scores));
        let found = found.collect::<Result<Vec<_>, _>>()?.into_iter().flatten();
        Ok(found.max_by(|a, b| a.error_f32.total_cmp(&b.error_f32)))
    }

    /// Estimates how many bytes the loss stores for the document pairs of `batch` lists with up to `documents`
    /// documents each.
    pub fn pair_memory(&self, batch: usize, documents: usize, scores: DType) -> u64 {
        let by_length = self.by_length.iter().map(|by_length| by_length.numbers_of_pairs(documents));
        let numbers = by_length.fold(of_pairs(self.numbers_per_pair, documents), u64::saturating_add);
        numbers.saturating_mul(batch as u64).saturating_mul(scores.size() as u64)
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
                check_label(self, "label", [query, document], f64::from(label))?;
            }
        }
        Ok(())
    }
}

pub(super) fn check_label(about: &About<'_>, what: &'static str, at: [usize; 2], found: f64) -> Result<(), LossError> {
    let [query, document] = at;
    let of_gain = |(gain, is_to_one): (&Gain, bool)| {
        let is_large = || is_to_one && gain.of(found) > 1.0;
        let expected = "a label with a gain from 0 to 1 (grades need `gain = { table = [0, 1, 1, 1] }`)";
        error::label_problem(Some(gain), found).or_else(|| is_large().then(|| expected.to_string()))
    };
    let problem = error::label_problem(about.gain, found).or_else(|| about.gains().find_map(of_gain));
    problem.map_or(Ok(()), |expected| Err(LossError::Label { what, query, document, found, expected }))
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
    /// new seed. The gradient learner requests new noise at every step, and boosted trees in every round. Requesting
    /// new noise never fails; a loss without noise returns `None`.
    Noise(&'a dyn Fn(u64) -> u64),
    /// Also differentiates the quantity that the loss otherwise [holds constant](About::held_constant), so that the
    /// gradient is the exact gradient of the value. A loss returns `None` if it holds nothing constant, or if it cannot
    /// differentiate the held quantity.
    FullGradient,
    /// Sets a parameter to a new value, as an annealing schedule does.
    Parameter(&'a str, f64),
}

#[cfg(test)]
mod tests {
    use burn::nn::loss::Reduction;
    use burn::tensor::{Bool, Tensor};

    use super::*;
    use crate::json::json;
    use crate::loss::{LossSpec, RankingLoss};

    /// A sum as users write it.
    #[derive(Debug)]
    struct Sum<'a>(&'a dyn RankingLoss, &'a dyn RankingLoss);

    impl RankingLoss for Sum<'_> {
        fn about(&self) -> About<'_> {
            self.0.about().plus(self.1.about(), "sum")
        }

        fn query_losses(&self, lists: &Lists) -> Tensor<1> {
            lists.losses(self.0) + lists.losses(self.1)
        }

        fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
            self.0.learnable(lists).bool_or(self.1.learnable(lists))
        }
    }

    fn built(name: &str) -> Box<dyn RankingLoss> {
        LossSpec::parse(name).build().unwrap()
    }

    #[test]
    fn a_sum_takes_the_labels_that_each_part_takes() {
        let checked = |first: &dyn RankingLoss, second: &dyn RankingLoss, label: f32| {
            [Sum(first, second), Sum(second, first)].map(|sum| {
                let checked = sum.about().check_labels(&[1.0, label], &[0, 2]);
                checked.err().map(|error| error.to_string().rsplit("expected ").next().unwrap_or_default().to_string())
            })
        };
        let both = |words: &str| [Some(words.to_string()), Some(words.to_string())];
        let [ndcg, err, any] = ["lambda_ndcg", "soft_err", "list_net"].map(built);
        assert_eq!(checked(&*ndcg, &*err, 5.0), both("a whole number from 0 to 4"));
        assert_eq!(checked(&*ndcg, &*err, 4.0), [None, None]);
        assert_eq!(checked(&*ndcg, &*any, 0.5), both("a whole number from 0 to 30"));
        let linear = LossSpec::new("mse_gain").with("gain", "linear").build().unwrap();
        assert_eq!(checked(&*linear, &*ndcg, 0.5), both("a whole number from 0 to 30"));
        let sum = Sum(&*linear, &*any);
        assert_eq!(checked(&sum, &*ndcg, 0.5), both("a whole number from 0 to 30"));
        // Grades whose gains are 0 or 1 for one part, and larger for the other.
        let spec = LossSpec::new("binary_cross_entropy");
        let binary = spec.with("gain", json!({"table": [0.0, 1.0, 1.0, 1.0]})).build().unwrap();
        assert_eq!(checked(&*binary, &*ndcg, 3.0), [None, None]);
        assert_eq!(checked(&*binary, &*ndcg, 4.0), both("a whole number from 0 to 3"));
        let [first, second] = checked(&*spec.build().unwrap(), &*ndcg, 2.0);
        assert!(first == second && first.is_some_and(|words| words.starts_with("a label with a gain from 0 to 1")));
    }

    #[test]
    fn a_sum_has_the_memory_and_the_approximation_of_both_parts() {
        let [pairs, ranks, soft] = ["lambda_measure", "ndcg:projected_ranks", "soft_ndcg"].map(built);
        let memory = |loss: &dyn RankingLoss| loss.about().pair_memory(2, 1000, DType::F32);
        let [first, second] = [Sum(&*pairs, &*ranks), Sum(&*ranks, &*pairs)];
        assert_eq!(memory(&first), memory(&*pairs) + memory(&*ranks));
        assert_eq!(
            (memory(&second), memory(&Sum(&first, &*ranks))),
            (memory(&first), memory(&first) + memory(&*ranks))
        );
        let approximation = |loss: &dyn RankingLoss| format!("{:?}", loss.about().approximation(10_000, DType::F32));
        for sum in [Sum(&*soft, &*ranks), Sum(&*ranks, &*soft)] {
            assert_eq!(approximation(&sum), approximation(&*soft));
        }
        assert!(approximation(&*soft).starts_with("Ok(Some"));
        let cut = LossSpec::new("soft_ndcg").with("k", 10).build().unwrap();
        assert_eq!(approximation(&Sum(&*cut, &*soft)), approximation(&*soft));
    }

    #[test]
    fn a_sum_reads_a_teacher_only_if_both_parts_do() {
        let [kl, margin, ndcg] = ["teacher_kl", "margin_mse", "lambda_ndcg"].map(built);
        let both = LossSpec::new("lambda_ndcg").with("teacher", json!({"name": "teacher_kl"})).build().unwrap();
        let row = |values: [f64; 3]| Tensor::<2>::from_data([values], (&Device::flex(), DType::F64));
        let untaught = Lists::whole(row([0.5, -1.0, 2.0]), row([1.0, 0.0, 2.0]));
        let taught = untaught.clone().with_teacher(row([1.5, 0.0, -2.0]));
        let value = |loss: &dyn RankingLoss, lists: &Lists| {
            let found = loss.try_forward(lists, Reduction::Sum).map_err(|error| error.to_string())?;
            Ok::<f64, String>(found.into_scalar::<f64>())
        };
        let sum_of = |a: &dyn RankingLoss, b: &dyn RankingLoss, lists: &Lists| {
            assert!(
                (value(&Sum(a, b), lists).unwrap() - value(a, lists).unwrap() - value(b, lists).unwrap()).abs() < 1e-12
            );
        };
        sum_of(&*kl, &*margin, &taught);
        sum_of(&*both, &*kl, &taught);
        sum_of(&*kl, &*ndcg, &untaught);
        let expected = "expected a `Distillation` of both in place of the sum";
        let refused = format!("sum.teacher = scores that one part is not made for: {expected}");
        let mixed = Sum(&*kl, &*ndcg);
        for (a, b) in [(&*kl, &*ndcg), (&*ndcg, &*kl), (&*both, &*ndcg), (&*ndcg, &*both), (&mixed, &*both)] {
            assert_eq!(value(&Sum(a, b), &taught).unwrap_err(), refused);
        }
    }
}
