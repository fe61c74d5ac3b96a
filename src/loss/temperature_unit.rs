//! The unit of a surrogate's temperature: a score, as in the papers, or the spread of the scores of each list.
//!
//! A surrogate depends on scores over its temperature alone. In spreads, the loss of a list with scores `s` is that of
//! `(s - c) / spread(s)`, where `c` is a score of the list and, over its `n` documents,
//!
//! `spread(s) = max(sqrt(sum_i (s_i - mean(s))^2 / n), 1e-12)`, or 1 if that sum is 0.
//!
//! So `sigma` is counted in standard deviations, `alpha` per standard deviation, the `sigma` of rank indicators in
//! variances, and Gumbel noise in standard deviations. The spread is held: no gradient passes through it, unless a line
//! search asks for the gradient of the value ([`RankingLoss::differentiated`]). The loss of a
//! list does not change when its scores are multiplied by a number, and the gradient is divided by that number; for a
//! power of two no bit changes, as long as the spread stays above 1e-12. A list of equal scores is measured in scores,
//! so that its gradient is finite.
//!
//! Cost: O(n).

use std::sync::Arc;

use burn::config::Config;
use burn::tensor::{Bool, DType, Tensor};
use serde::{Deserialize, Serialize};

use super::approximation::Approximation;
use super::entry::{parameters, value_of};
use super::error::LossError;
use super::lists::{Lists, one_in_place_of_zero};
use super::ranking_loss::{Orientation, RankingLoss};
use super::smoothing::Smoothing;
use crate::json::{Map, Value, json};
use crate::measure::Gain;
use crate::refusal::Found;

/// The key of every loss with a temperature.
pub(super) const TEMPERATURE_UNIT: &str = "temperature_unit";

/// What the temperature of a loss is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TemperatureUnit {
    /// Scores, as in the papers.
    #[default]
    Score,
    /// Standard deviations of the scores of each list.
    Spread,
}

/// The smallest spread that scores are divided by, beside 0.
const SMALLEST: f64 = 1e-12;

/// A loss whose scores are divided by their spread in each list, so that its temperature is relative to it. It suits any
/// loss that depends on scores over a temperature.
///
/// ```
/// use burn_rank::loss::{ApproxNdcgConfig, RelativeTemperature};
///
/// // One position is told from the next at a fifth of a standard deviation.
/// let loss = RelativeTemperature::new(ApproxNdcgConfig::new().with_alpha(5.0).init()?);
/// # Ok::<(), burn_rank::loss::LossError>(())
/// ```
#[derive(Debug, Clone)]
pub struct RelativeTemperature {
    loss: Arc<dyn RankingLoss>,
    /// Whether no gradient passes through the spread.
    holds_spread: bool,
}

impl RelativeTemperature {
    /// The same loss with its temperature in spreads.
    pub fn new(loss: impl RankingLoss + 'static) -> Self {
        Self { loss: Arc::new(loss), holds_spread: true }
    }
}

/// The spread of each list, `[B, 1]`, from its centred scores.
fn spread(lists: &Lists, centered: Tensor<2>) -> Tensor<2> {
    let count = one_in_place_of_zero(lists.counts()).unsqueeze_dim::<2>(1);
    let mean = centered.clone().sum_dim(1) / count.clone();
    let deviation = (centered - mean) * lists.mask.clone();
    let variance = (deviation.clone() * deviation).sum_dim(1) / count;
    // Masked before the root, whose slope at 0 is infinite.
    let constant = variance.clone().equal_elem(0.0);
    variance.mask_fill(constant, 1.0).sqrt().clamp_min(SMALLEST)
}

impl RankingLoss for RelativeTemperature {
    fn name(&self) -> &'static str {
        self.loss.name()
    }

    fn orientation(&self) -> Orientation {
        self.loss.orientation()
    }

    fn gain(&self) -> Option<&Gain> {
        self.loss.gain()
    }

    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        self.loss.learnable(lists)
    }

    fn check_document_weights(&self) -> Result<(), LossError> {
        self.loss.check_document_weights()
    }

    fn approximation(&self, documents: usize, scores: DType) -> Result<Option<Approximation>, LossError> {
        self.loss.approximation(documents, scores)
    }

    fn pair_memory(&self, batch: usize, documents: usize, scores: DType) -> u64 {
        self.loss.pair_memory(batch, documents, scores)
    }

    fn parameters(&self) -> Value {
        json!({"temperature_unit": TemperatureUnit::Spread, "loss": self.loss.parameters()})
    }

    fn smoothing(&self) -> Option<Smoothing> {
        self.loss.smoothing()
    }

    fn with_parameter(&self, parameter: &str, value: f64) -> Result<Box<dyn RankingLoss>, LossError> {
        Ok(Box::new(Self { loss: self.loss.with_parameter(parameter, value)?.into(), ..*self }))
    }

    fn estimates_gradient(&self) -> bool {
        self.loss.estimates_gradient()
    }

    fn held(&self) -> Option<&'static str> {
        self.holds_spread.then_some("the spread of the scores").or(self.loss.held())
    }

    fn differentiated(&self) -> Option<Box<dyn RankingLoss>> {
        let loss = match self.loss.held() {
            Some(_) => self.loss.differentiated()?.into(),
            None => self.loss.clone(),
        };
        Some(Box::new(Self { loss, holds_spread: false }))
    }

    fn reseeded(&self, seed: &dyn Fn(u64) -> u64) -> Option<Box<dyn RankingLoss>> {
        Some(Box::new(Self { loss: self.loss.reseeded(seed)?.into(), ..*self }))
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        // Centred first: an offset that all scores share would set the size of the rounding errors.
        let centered = lists.centered();
        let measured = if self.holds_spread { centered.clone().detach() } else { centered.clone() };
        let scores = centered / spread(lists, measured);
        self.loss.query_losses(&Lists { scores, ..lists.clone() })
    }
}

/// The parameters of a config, and the unit of its temperature.
pub(super) fn parameters_with_unit<C: Config>(config: &C) -> Map {
    with_unit(parameters(config))
}

/// The parameters, and the unit of the temperature that is the default.
pub(super) fn with_unit(mut parameters: Map) -> Map {
    parameters.insert(TEMPERATURE_UNIT.into(), json!(TemperatureUnit::default()));
    parameters
}

/// Builds a loss with a temperature from the parameters other than the unit, then sees to the unit.
pub(super) fn build_in_unit<L: RankingLoss + 'static>(
    name: &'static str,
    params: &Map,
    build: impl FnOnce(&Map) -> Result<L, LossError>,
) -> Result<Box<dyn RankingLoss>, LossError> {
    let unit = match params.get(TEMPERATURE_UNIT) {
        Some(unit) => value_of(name, TEMPERATURE_UNIT, unit)?,
        None => TemperatureUnit::default(),
    };
    let others = params.iter().filter(|(key, _)| *key != TEMPERATURE_UNIT);
    let others = Map::from_iter(others.map(|(key, value)| (key.clone(), value.clone())));
    let loss = build(&others).map_err(also_known)?;
    Ok(match unit {
        TemperatureUnit::Score => Box::new(loss),
        TemperatureUnit::Spread => Box::new(RelativeTemperature::new(loss)),
    })
}

/// The error of an unknown parameter, which may have been meant for the unit.
fn also_known(error: LossError) -> LossError {
    match error {
        LossError::Parameter { loss, mut refusal } => {
            if let Found::Unknown(unknown) = &mut refusal.found
                && unknown.what == "parameter"
            {
                unknown.known.push(TEMPERATURE_UNIT.to_string());
            }
            LossError::Parameter { loss, refusal }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::registry::LOSSES;
    use crate::loss::{Explained, LossSpec, explain};

    const LABELS: [f64; 5] = [2.0, 0.0, 1.0, 0.0, 3.0];
    const SCORES: [f64; 5] = [0.75, -1.25, 2.5, 0.875, -0.5];

    /// Every loss with a temperature, in all its forms.
    fn specs() -> Vec<LossSpec> {
        let entries = LOSSES.iter().filter(|entry| entry.smoothing.is_some());
        let specs = entries.flat_map(|entry| {
            entry.forms().into_iter().map(|params| LossSpec { name: entry.name.to_string(), params })
        });
        specs.collect()
    }

    fn of(spec: &LossSpec, scores: &[f64], dtype: DType) -> Explained {
        explain(&*spec.build().unwrap(), scores, &LABELS, dtype).unwrap()
    }

    fn standard_deviation(scores: &[f64]) -> f64 {
        let n = scores.len() as f64;
        let mean = scores.iter().sum::<f64>() / n;
        (scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / n).sqrt()
    }

    #[test]
    fn every_loss_with_a_temperature_has_the_key() {
        for entry in LOSSES {
            assert_eq!((entry.defaults)().contains_key(TEMPERATURE_UNIT), entry.smoothing.is_some(), "{}", entry.name);
        }
        let wrong = LossSpec::new("approx_ndcg").with(TEMPERATURE_UNIT, "spred").build().unwrap_err().to_string();
        assert_eq!(
            wrong,
            "approx_ndcg.temperature_unit: unknown variant `spred`, expected `score` or `spread`; did you mean `spread`?"
        );
        let unknown = LossSpec::new("soft_err").with("temperature_uint", "score").build().unwrap_err().to_string();
        assert!(unknown.starts_with("soft_err: unknown parameter `temperature_uint`, expected one of "), "{unknown}");
        assert!(unknown.ends_with(", `temperature_unit`; did you mean `temperature_unit`?"), "{unknown}");
        assert!(LossSpec::new("list_net").with(TEMPERATURE_UNIT, "score").build().is_err());
    }

    /// The loss is that of scores over their spread, which is held in the gradient.
    #[test]
    fn scores_are_divided_by_their_standard_deviation() {
        let deviation = standard_deviation(&SCORES);
        for spec in specs() {
            let found = of(&spec.with(TEMPERATURE_UNIT, "spread"), &SCORES, DType::F64);
            let expected = of(&spec, &SCORES.map(|score| score / deviation), DType::F64);
            assert!((found.loss - expected.loss).abs() < 1e-9, "{spec}: {} {}", found.loss, expected.loss);
            for (found, expected) in found.grad.iter().zip(&expected.grad) {
                assert!((found - expected / deviation).abs() < 1e-8, "{spec}: {found} {expected}");
            }
        }
    }

    /// Differences of the loss of scores over a spread that is held.
    #[test]
    fn gradients_are_differences_with_the_spread_held() {
        const STEP: f64 = 1e-5;
        let deviation = standard_deviation(&SCORES);
        // An estimated gradient is not that of the value.
        for spec in specs().into_iter().filter(|spec| !spec.build().unwrap().estimates_gradient()) {
            let found = of(&spec.with(TEMPERATURE_UNIT, "spread"), &SCORES, DType::F64).grad;
            for (i, found) in found.iter().enumerate() {
                let at = |offset: f64| {
                    let mut scores = SCORES;
                    scores[i] += offset;
                    of(&spec, &scores.map(|score| score / deviation), DType::F64).loss
                };
                let expected = (at(STEP) - at(-STEP)) / (2.0 * STEP);
                assert!((found - expected).abs() < 2e-6 * (1.0 + expected.abs()), "{spec}, {i}: {found} {expected}");
            }
        }
    }

    /// Differences of the loss itself. Those of equal scores are of a function that jumps, so that finite slopes are all
    /// that is asked of them.
    #[test]
    fn gradients_are_differences_where_the_spread_is_not_held() {
        const STEP: f64 = 1e-5;
        let held = |spec: &LossSpec| spec.with(TEMPERATURE_UNIT, "spread").build().unwrap();
        for spec in specs().into_iter().filter(|spec| !spec.build().unwrap().estimates_gradient()) {
            assert_eq!(held(&spec).held(), Some("the spread of the scores"), "{spec}");
            let loss = held(&spec).differentiated().unwrap();
            assert_eq!((loss.held(), loss.parameters()), (None, held(&spec).parameters()), "{spec}");
            let at = |scores: &[f64]| explain(&*loss, scores, &LABELS, DType::F64).unwrap();
            assert_eq!(at(&SCORES).loss, explain(&*held(&spec), &SCORES, &LABELS, DType::F64).unwrap().loss, "{spec}");
            assert!(at(&[0.5; 5]).grad.iter().all(|slope| slope.is_finite()), "{spec}");
            for (i, found) in at(&SCORES).grad.into_iter().enumerate() {
                let moved = |offset: f64| {
                    let mut scores = SCORES;
                    scores[i] += offset;
                    at(&scores).loss
                };
                let expected = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
                assert!((found - expected).abs() < 2e-6 * (1.0 + expected.abs()), "{spec}, {i}: {found} {expected}");
            }
        }
    }

    #[test]
    fn a_power_of_two_changes_no_bit() {
        for spec in specs().into_iter().map(|spec| spec.with(TEMPERATURE_UNIT, "spread")) {
            for dtype in [DType::F32, DType::F64] {
                let plain = of(&spec, &SCORES, dtype);
                for power in [2f64.powi(-20), 0.5, 2f64.powi(15)] {
                    let scaled = of(&spec, &SCORES.map(|score| score * power), dtype);
                    assert_eq!(scaled.loss.to_bits(), plain.loss.to_bits(), "{spec}, {dtype:?}, {power}");
                    let gradient = scaled.grad.iter().map(|slope| slope * power);
                    assert!(gradient.eq(plain.grad.iter().copied()), "{spec}, {dtype:?}, {power}");
                }
            }
        }
    }

    /// Equal scores are the state of a scorer whose weights are 0.
    #[test]
    fn equal_scores_are_measured_in_scores() {
        for spec in specs() {
            let (score, spread) = (&spec, &spec.with(TEMPERATURE_UNIT, "spread"));
            for value in [0.0, 0.5, -64.0] {
                let [score, spread] = [score, spread].map(|spec| of(spec, &[value; 5], DType::F64));
                assert!((score.loss - spread.loss).abs() < 1e-12, "{spec} at {value}");
                for (score, spread) in score.grad.iter().zip(&spread.grad) {
                    assert!((score - spread).abs() < 1e-9, "{spec} at {value}: {score} {spread}");
                }
            }
        }
        let moved = of(&LossSpec::new("approx_ndcg").with(TEMPERATURE_UNIT, "spread"), &[0.25; 5], DType::F32);
        assert!(moved.grad.iter().all(|slope| slope.is_finite()) && moved.grad[4] < 0.0, "{moved:?}");
    }

    #[test]
    fn padding_is_not_in_the_spread() {
        let device = burn::tensor::Device::flex();
        let scores = Tensor::<2>::from_floats([[1.0, 3.0, f32::NAN], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]], &device);
        let mask = Tensor::<2>::from_floats([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]], &device);
        let lists = Lists::new(scores, mask.clone(), mask.greater_elem(0.5));
        assert_eq!(spread(&lists, lists.centered()).into_data().try_to_vec::<f32>().unwrap(), [1.0, 1.0, 1.0]);
        let tiny = Tensor::<2>::from_floats([[1e-13, -1e-13]], &device);
        let mask = tiny.ones_like().greater_elem(0.0);
        let lists = Lists::new(tiny.clone(), tiny, mask);
        assert_eq!(spread(&lists, lists.centered()).into_scalar::<f32>(), 1e-12);
    }

    #[test]
    fn it_is_annealed_and_recorded_as_what_it_is() {
        let spec = LossSpec::new("soft_ndcg").with(TEMPERATURE_UNIT, "spread");
        let loss = spec.build().unwrap();
        assert_eq!(loss.smoothing(), spec.smoothing().unwrap());
        let moved = loss.with_parameter("sigma", 0.25).unwrap();
        let built = spec.with("sigma", 0.25).build().unwrap();
        assert_eq!(moved.parameters(), built.parameters());
        assert_eq!(moved.parameters()["temperature_unit"], json!("spread"));
        assert_ne!(moved.parameters(), loss.parameters());
        let noisy = LossSpec::parse("ap:rank_indicators").with("gumbel_samples", 1).with(TEMPERATURE_UNIT, "spread");
        assert!(noisy.build().unwrap().reseeded(&|own| own + 1).is_some());
    }
}
