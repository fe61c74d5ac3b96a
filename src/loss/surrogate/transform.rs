//! `Surrogate`, a loss that computes a measure under a relaxation.

use std::f64::consts::LN_2;
use std::fmt::{Display, Formatter};
use std::sync::Arc;

use burn::module::{Content, DisplaySettings, ModuleDisplay, ModuleDisplayDefault};
use burn::tensor::activation::log_sigmoid;
use burn::tensor::{Bool, DType};
use serde::{Deserialize, Serialize};

use super::context::MeasureContext;
use super::position_measure::{Operations, PositionMeasure, Uses};
use super::relaxation::{Approximation, Relaxation, numbers_per_pair};
use crate::loss::about::{ByLength, of_pairs};
use crate::loss::noise::mean_over_draws;
use crate::loss::prelude::*;
use crate::loss::ranking_loss::assert_per_query;

/// A loss and burn module that computes a measure under a relaxation. [`RelaxedMeasureConfig`] creates one if the
/// measure or the relaxation is of this crate; [`Surrogate::new`] joins a measure and a relaxation that you write.
///
/// [`RelaxedMeasureConfig`]: crate::loss::RelaxedMeasureConfig
#[derive(Debug, Clone)]
pub struct Surrogate {
    name: &'static str,
    measure: Arc<dyn PositionMeasure>,
    relaxation: Arc<dyn Relaxation>,
    /// The number of draws of Gumbel noise over which the loss is averaged (Bruch et al., A stochastic treatment of
    /// learning to rank scoring functions), or 0 for no noise.
    gumbel_samples: usize,
    noise: Noise,
    bound: Option<TypeOneBound>,
    scale: Scale,
    uses: Uses,
}

/// An upper bound on one minus a measure `E` in [0, 1] that is a convex function of it (direct-optimization).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TypeOneBound {
    /// The bound `exp(-E)`, which AdaRank minimizes.
    #[serde(rename = "exp")]
    Exponential,
    /// The bound `log2(1 + exp(-E))`.
    #[serde(rename = "logistic")]
    Logistic,
}

impl TypeOneBound {
    /// Every bound.
    pub const ALL: [Self; 2] = [Self::Exponential, Self::Logistic];

    /// Returns the name that configuration files use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exponential => "exp",
            Self::Logistic => "logistic",
        }
    }

    /// Returns the bound for each query, `[batch]`, given the measure of each query.
    pub(super) fn of(self, measures: Tensor<1>) -> Tensor<1> {
        match self {
            Self::Exponential => measures.neg().exp(),
            Self::Logistic => log_sigmoid(measures) * (-1.0 / LN_2),
        }
    }
}

// Not derived, because `#[derive(Module)]` would require the measure to be a module.
impl Module for Surrogate {
    burn::empty!(module);
}

impl ModuleDisplayDefault for Surrogate {
    fn content(&self, content: Content) -> Option<Content> {
        content
            .set_top_level_type("Surrogate")
            .add_debug_attribute("name", &self.name)
            .add_debug_attribute("measure", &self.measure)
            .add_debug_attribute("relaxation", &self.relaxation)
            .add_debug_attribute("temperature_unit", &self.scale)
            .optional()
    }
}

impl ModuleDisplay for Surrogate {}

impl Display for Surrogate {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.format(DisplaySettings::default()))
    }
}

impl Surrogate {
    /// Creates a loss, named after the measure, that computes `measure` under `relaxation`.
    ///
    /// # Errors
    /// Returns an error if a parameter is out of range.
    pub fn new(
        measure: impl PositionMeasure + 'static,
        relaxation: impl Relaxation + 'static,
    ) -> Result<Self, LossError> {
        Self::joined(measure.name(), Arc::new(measure), Arc::new(relaxation))
    }

    /// Creates a loss from a measure and a relaxation. Error messages about parameters use the loss's `name`.
    pub(super) fn joined(
        name: &'static str,
        measure: Arc<dyn PositionMeasure>,
        relaxation: Arc<dyn Relaxation>,
    ) -> Result<Self, LossError> {
        let scale = relaxation.temperature_unit().into();
        let uses = measure.uses();
        let (gumbel_samples, noise) = (0, Noise::shared(0));
        let loss = Self { name, measure, relaxation, gumbel_samples, noise, bound: None, scale, uses };
        loss.measure.check(name)?;
        loss.check_relaxation()?;
        Ok(loss)
    }

    fn check_relaxation(&self) -> Result<(), LossError> {
        self.relaxation.check(self.name)?;
        self.relaxation.known().map_or(Ok(()), |known| known.check_sums(self.name, &self.uses.functions))
    }

    /// Averages the loss over draws of Gumbel noise that is added to the scores, or adds none if `samples` is 0.
    pub(super) fn with_noise(self, samples: usize, seed: u64) -> Self {
        Self { gumbel_samples: samples, noise: Noise::shared(seed), ..self }
    }

    /// Makes training minimize an upper bound on one minus the measure.
    ///
    /// # Errors
    /// Returns an error if the measure is not normalized to [0, 1].
    pub(super) fn with_bound(self, bound: Option<TypeOneBound>) -> Result<Self, LossError> {
        match bound {
            Some(bound) if self.measure.orientation() != Orientation::NormalizedMeasure => {
                let expected = format!("a measure in [0, 1], which {} is not", self.measure.name());
                Err(LossError::parameter(self.name, "bound", bound.name(), expected))
            }
            bound => Ok(Self { bound, ..self }),
        }
    }

    fn draws(&self) -> usize {
        self.gumbel_samples.max(1)
    }
}

impl RankingLoss for Surrogate {
    fn about(&self) -> About<'_> {
        let measured =
            About::new(self.name, if self.bound.is_some() { Orientation::Loss } else { self.measure.orientation() });
        let about = About { gain: self.measure.gain(), by_length: vec![self], ..measured };
        // In measures such as average precision, the weight of a document would also change what others add.
        let document_weights = match self.uses.operations() {
            Operations::Sums => Ok(()),
            Operations::Any => {
                Err("its measure does not say that it is a sum over documents (`PositionMeasure::uses`)")
            }
            _ => Err("its measure is not a sum over documents, as DCG, NDCG and precision are, so no document has a \
                    share that could be weighted"),
        };
        About {
            document_weights,
            ..about.with_smoothing(self.relaxation.smoothing()).with_held_constant(self.scale.held_constant())
        }
    }

    fn changed(&self, change: Change<'_>) -> Changed {
        let changed = match change {
            Change::Noise(seed) => {
                (self.gumbel_samples > 0).then(|| Self { noise: self.noise.reseeded(seed), ..self.clone() })
            }
            Change::FullGradient => self.scale.differentiated().map(|scale| Self { scale, ..self.clone() }),
            Change::Parameter(parameter, value) => {
                let relaxation = self.relaxation.with_parameter(parameter, value);
                let changed = relaxation.map(|relaxation| Self { relaxation, ..self.clone() });
                changed.as_ref().map_or(Ok(()), Self::check_relaxation)?;
                changed
            }
        };
        Ok(changed.map(|changed| Box::new(changed) as _))
    }

    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        self.measure.learnable(lists)
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        let lists = &self.scale.of(lists, self.relaxation.short_list_power());
        let needing = lists.clone().needing(self.measure.needed_positions(lists));
        let values = mean_over_draws(self.draws(), |draw| {
            let relaxed = match self.gumbel_samples {
                0 => self.relaxation.relax(&needing),
                _ => {
                    // The mask removes the noise at padded places.
                    let scores = self.noise.added(lists, lists.scores.clone(), draw) * lists.mask.clone();
                    self.relaxation.relax(&Lists { scores, ..needing.clone() })
                }
            };
            let value = self.measure.value(&MeasureContext::new(lists, relaxed, self.uses.only_sums()));
            assert_per_query(self.measure.name(), "values", value.dims(), lists);
            match self.bound {
                Some(bound) => bound.of(value),
                None => value,
            }
        });
        match self.measure.orientation() {
            // A bound is a loss.
            _ if self.bound.is_some() => values,
            Orientation::NormalizedMeasure => values.neg() + 1.0,
            Orientation::Measure => values.neg(),
            Orientation::Loss => values,
        }
    }
}

impl ByLength for Surrogate {
    fn approximation(&self, documents: usize, scores: DType) -> Result<Option<Approximation>, LossError> {
        let Some(known) = self.relaxation.known() else { return Ok(None) };
        let functions = self.uses.functions.iter();
        let all = functions.map(|function| known.approximation(self.name, function, documents, scores));
        let all = all.collect::<Result<Vec<_>, _>>()?.into_iter().flatten();
        Ok(all.max_by(|a, b| a.error_f32.total_cmp(&b.error_f32)))
    }

    fn numbers_of_pairs(&self, documents: usize) -> u64 {
        let of_measure = of_pairs(numbers_per_pair(&*self.relaxation, self.uses.operations()), documents);
        let of_a_draw = self.relaxation.numbers_of_pairs(documents).saturating_add(of_measure);
        of_a_draw.saturating_mul(self.draws() as u64)
    }
}
