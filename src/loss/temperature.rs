//! The temperature of a surrogate, measured in scores as in the papers, or in spreads of each list's scores.
//!
//! A surrogate depends only on the scores divided by its temperature. With a temperature in spreads, the loss of the
//! scores `s` is the loss of `(s - c) / spread(s)`, where `c` is one of the `n` scores.
//!
//! The spread is `spread(s) = max(sqrt(sum_i (s_i - mean(s))^2 / n), 0.3)`. If the root is below 1e-12, the scores
//! count as equal, and the spread is 1. The floor bounds the gradient, which is divided by the spread. Without it, the
//! value of a list of two would not depend on its scores, and two nearly equal scores would have a gradient so large
//! that an optimizer with memory, such as Adam, takes no notice of other lists for many steps.
//!
//! With a temperature in spreads, `sigma` and Gumbel noise are measured in standard deviations of the scores, and
//! `alpha` is measured per standard deviation. The `sigma` of rank indicators is measured in variances. In a list of
//! fewer than 8 documents, neighboring scores are too far apart for the default temperatures. To make the defaults work
//! for lists of any length, a surrogate of a measure also divides the scores by `(8 / n)^p`. The power `p` is
//! [`Relaxation::short_list_power`](super::Relaxation::short_list_power).
//!
//! No gradient passes through the spread, unless a line search requests the gradient of the value
//! ([`Change::FullGradient`](super::Change::FullGradient)). While the standard deviation is above the floor,
//! multiplying the scores of a list by a positive number keeps its loss and divides its gradient by that number, and
//! multiplying by a power of two leaves every bit of the loss unchanged. Below the floor, the temperature is a fixed
//! number of scores.
//!
//! A temperature given without a unit is measured in scores. If no temperature is given, the configuration's default
//! applies. This default is in spreads for every measure under a relaxation.
//!
//! Cost: O(n).

use std::fmt::{self, Debug, Formatter};

use burn::config::Config;
use serde::{Deserialize, Serialize};

use super::about::Change;
use super::entry::{merged, parameters, read, value_of, with_value};
use super::error::{self, LossError};
use super::lists::Lists;
use super::ranking_loss::{Changed, RankingLoss};
use crate::json::{Map, json};
use crate::op::in_spreads;

/// The configuration key for the unit of a temperature.
pub(super) const TEMPERATURE_UNIT: &str = "temperature_unit";

/// The name of the temperature field in the Rust configurations. Configuration files use the symbol of the paper
/// instead, `alpha` or `sigma`.
const FIELD: &str = "temperature";

/// The unit of the temperature of a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TemperatureUnit {
    /// The temperature is measured in scores, as in the papers.
    #[default]
    Score,
    /// The temperature is measured in standard deviations of each list's scores.
    Spread,
}

/// The temperature of a surrogate with its unit, called `alpha` or `sigma` in the papers.
///
/// ```
/// use burn_rank::loss::{ApproxNdcgConfig, Temperature};
///
/// // By default one position is told from the next at a twentieth of the standard deviation of a list's scores.
/// assert_eq!(ApproxNdcgConfig::new().temperature, Temperature::spreads(20.0));
/// let sharper = ApproxNdcgConfig::new().with_temperature(Temperature::spreads(40.0)).init()?;
/// // In scores, as in the paper: at a tenth.
/// let in_scores = ApproxNdcgConfig::new().with_alpha(10.0);
/// assert_eq!(in_scores.temperature, ApproxNdcgConfig::paper().temperature);
/// # Ok::<(), burn_rank::loss::LossError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Temperature {
    /// The value, above 0. In losses that call it `alpha`, a larger value is sharper; in losses that call it `sigma` or
    /// `temperature`, a larger value is smoother.
    pub value: f64,
    /// The unit of the value.
    pub(crate) unit: TemperatureUnit,
}

impl Temperature {
    /// Creates a temperature in scores, as in the papers.
    pub const fn scores(value: f64) -> Self {
        Self { value, unit: TemperatureUnit::Score }
    }

    /// Creates a temperature in standard deviations of each list's scores, or for `alpha` per standard deviation.
    pub const fn spreads(value: f64) -> Self {
        Self { value, unit: TemperatureUnit::Spread }
    }
}

/// Creates a temperature in scores.
impl From<f64> for Temperature {
    fn from(value: f64) -> Self {
        Self::scores(value)
    }
}

impl Lists {
    /// Returns the same lists, with scores that are centered and divided by the spread of their list: its standard
    /// deviation, but at least 0.3. No gradient passes through the spread, nor through the score that is subtracted.
    /// Your own loss can use this method to measure its temperature in spreads, if an offset of all scores does not
    /// change it.
    pub fn in_spreads(&self) -> Self {
        self.over_spread(0, false)
    }

    /// Divides the centered scores by their spread times `max(8 / n, 1)^power`.
    fn over_spread(&self, power: u32, is_differentiated: bool) -> Self {
        let scores = in_spreads(self.scores.clone(), self.mask.clone(), power, is_differentiated);
        Self { scores, ..self.clone() }
    }
}

/// The unit in which a loss measures scores.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    unit: TemperatureUnit,
    /// Whether a gradient passes through the spread.
    is_differentiated: bool,
}

impl From<TemperatureUnit> for Scale {
    fn from(unit: TemperatureUnit) -> Self {
        Self { unit, is_differentiated: false }
    }
}

/// Writes only the unit, because the record of a loss must not depend on whether a gradient passes through the spread.
impl Debug for Scale {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.unit.fmt(formatter)
    }
}

impl Scale {
    /// Returns the lists with scores converted to this unit. In short lists, the spread is multiplied by
    /// `max(8 / n, 1)^power`.
    pub fn of(self, lists: &Lists, power: u32) -> Lists {
        match self.unit {
            TemperatureUnit::Score => lists.clone(),
            TemperatureUnit::Spread => lists.over_spread(power, self.is_differentiated),
        }
    }

    /// Returns the quantity that the gradient treats as constant
    /// ([`About::held_constant`](super::About::held_constant)).
    pub fn held_constant(self) -> Option<&'static str> {
        let holds = self.unit == TemperatureUnit::Spread && !self.is_differentiated;
        holds.then_some("the spread of the scores")
    }

    /// Lets the gradient pass through the spread; returns `None` if no spread is held constant.
    pub fn differentiated(self) -> Option<Self> {
        self.held_constant().map(|_| Self { is_differentiated: true, ..self })
    }

    /// Returns the loss after a change of its temperature, which has the key `symbol`, or of what its gradient holds
    /// constant. `with` builds the loss from the temperature and the scale.
    ///
    /// # Errors
    /// Returns an error if the new temperature is not a finite number above 0.
    pub fn changed<L: RankingLoss + 'static>(
        self,
        change: Change<'_>,
        loss: &'static str,
        (symbol, temperature): (&'static str, f64),
        with: impl FnOnce(f64, Self) -> L,
    ) -> Changed {
        let changed = match change {
            Change::Parameter(key, value) if key == symbol => Some((error::positive(loss, symbol, value)?, self)),
            Change::FullGradient => self.differentiated().map(|scale| (temperature, scale)),
            _ => None,
        };
        Ok(changed.map(|(temperature, scale)| Box::new(with(temperature, scale)) as Box<dyn RankingLoss>))
    }
}

/// A configuration of a loss with a temperature.
pub(super) trait Tempered: Config {
    /// Returns the configuration key of the temperature.
    fn symbol(&self) -> &'static str;

    /// Returns the temperature.
    fn temperature(&self) -> Temperature;

    /// Returns the temperature of the paper, in scores.
    fn paper_value(&self) -> f64;
}

/// Returns every parameter of a configuration by its key in files; some defaults depend on the given parameters. A
/// given temperature is measured in scores. If the unit is scores and no temperature is given, the paper's temperature
/// is the default.
pub(super) fn defaults<C: Tempered>(config: &C, given: &Map) -> Map {
    let Temperature { value, unit } = config.temperature();
    let in_scores = given.get(TEMPERATURE_UNIT) == Some(&json!(TemperatureUnit::Score));
    let value = if in_scores { config.paper_value() } else { value };
    let unit = if given.contains_key(config.symbol()) { TemperatureUnit::Score } else { unit };
    let mut all = Map::from_iter([(config.symbol().to_string(), json!(value))]);
    all.extend(parameters(config).into_iter().filter(|(key, _)| key != FIELD));
    all.insert(TEMPERATURE_UNIT.to_string(), json!(unit));
    all
}

/// Replaces parameters of `config` with the given parameters, which have the same keys as in files.
pub(super) fn configure<C: Tempered>(loss: &'static str, config: C, given: &Map) -> Result<C, LossError> {
    if given.is_empty() {
        return Ok(config);
    }
    let symbol = config.symbol();
    let mut all = merged(loss, defaults(&config, given), given)?;
    let unit = value_of(loss, TEMPERATURE_UNIT, &all.shift_remove(TEMPERATURE_UNIT).unwrap_or_default())?;
    let value = crate::json::from_value(all.shift_remove(symbol).unwrap_or_default())
        .map_err(|refusal| LossError::Parameter { loss, refusal: with_value(refusal.under(symbol), given) })?;
    all.insert(FIELD.to_string(), json!(Temperature { value, unit }));
    read(loss, all, given)
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Tensor};

    use super::*;
    use crate::loss::Change;
    use crate::loss::registry::LOSSES;
    use crate::loss::{ApproxNdcgConfig, Explained, LossSpec, RankingLoss, SmoothNdcgConfig, SoftNdcgConfig, explain};

    /// The labels of a list that is long enough not to change the temperature.
    const LABELS: [f64; 8] = [2.0, 0.0, 1.0, 0.0, 3.0, 0.0, 1.0, 0.0];
    const SCORES: [f64; 8] = [0.75, -1.25, 2.5, 0.875, -0.5, 0.125, -2.0, 1.5];

    /// Returns every form of every loss with a temperature, at the paper's temperature.
    fn specs() -> Vec<LossSpec> {
        let entries = LOSSES.iter().filter(|entry| entry.smoothing.is_some());
        let specs = entries.flat_map(|entry| {
            entry.forms().into_iter().map(|params| LossSpec { name: entry.name.to_string(), params })
        });
        specs.map(|spec| spec.with_default_temperature(None).unwrap()).collect()
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
            assert_eq!(
                entry.defaults(&Map::new()).contains_key(TEMPERATURE_UNIT),
                entry.smoothing.is_some(),
                "{}",
                entry.name
            );
        }
        let wrong = LossSpec::new("approx_ndcg").with(TEMPERATURE_UNIT, "spred").build().unwrap_err().to_string();
        assert_eq!(
            wrong,
            "approx_ndcg.temperature_unit: unknown variant `spred`, expected `score` or `spread`; did you mean `spread`?"
        );
        let unknown = LossSpec::new("soft_err").with("temperature_uint", "score").build().unwrap_err().to_string();
        assert!(unknown.starts_with("soft_err: unknown parameter `temperature_uint`, expected one of "), "{unknown}");
        assert!(
            unknown.ends_with(", `temperature_unit`, `query_gradients`; did you mean `temperature_unit`?"),
            "{unknown}"
        );
        assert!(LossSpec::new("list_net").with(TEMPERATURE_UNIT, "score").build().is_err());
    }

    /// A loss measures its temperature in spreads if no temperature is given, and in scores otherwise.
    #[test]
    fn a_temperature_that_is_not_named_is_in_spreads() {
        let built = |spec: LossSpec| format!("{:?}", spec.build().unwrap());
        for (named, typed, symbol, paper) in [
            ("approx_ndcg", format!("{:?}", ApproxNdcgConfig::new().init()), "alpha", ApproxNdcgConfig::paper().init()),
            ("soft_ndcg", format!("{:?}", SoftNdcgConfig::new().init()), "sigma", SoftNdcgConfig::paper().init()),
            ("smooth_ndcg", format!("{:?}", SmoothNdcgConfig::new().init()), "sigma", SmoothNdcgConfig::paper().init()),
        ] {
            let spec = LossSpec::new(named);
            assert_eq!(format!("Ok({})", built(spec.clone())), typed);
            let (papers, unit) = (format!("{:?}", paper.unwrap()), spec.with(TEMPERATURE_UNIT, "score"));
            assert_eq!(
                (built(unit.clone()), built(spec.with_default_temperature(None).unwrap())),
                (papers.clone(), papers)
            );
            let value = unit.resolved().unwrap()[symbol].clone();
            assert_eq!(spec.with(symbol, value).resolved().unwrap(), unit.resolved().unwrap());
        }
        let alpha = ApproxNdcgConfig::new().with_alpha(10.0).init().unwrap();
        let paper = explain(&alpha, &SCORES, &LABELS, DType::F64).unwrap();
        assert_eq!(paper, of(&LossSpec::new("approx_ndcg").with("alpha", 10.0), &SCORES, DType::F64));
        assert!(
            alpha.about().held_constant.is_none()
                && ApproxNdcgConfig::new().init().unwrap().about().held_constant.is_some()
        );
        // Naming the same unit with a value does not change the value.
        let spread = LossSpec::new("soft_ndcg").with(TEMPERATURE_UNIT, "spread");
        assert_eq!(spread.resolved().unwrap(), LossSpec::new("soft_ndcg").resolved().unwrap());
        assert_eq!(
            built(LossSpec::new("neural_ndcg")),
            built(LossSpec::new("neural_ndcg").with(TEMPERATURE_UNIT, "score"))
        );
    }

    /// A loss in spreads equals the loss of the scores divided by their spread. The gradient treats the spread as
    /// constant.
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

    /// The scores of a short list are also divided by a power of `8 / n`, where `n` is the length of the list.
    #[test]
    fn the_temperature_of_a_short_list_follows_its_length() {
        for (name, power) in [
            ("approx_ndcg", 2),
            ("soft_ndcg", 2),
            ("approx_kendall_tau", 2),
            ("smooth_ndcg", 1),
            ("ndcg:soft_sort", 1),
            ("ndcg:neural_sort", 0),
            ("ndcg:smooth_indicators", 2),
            ("ndcg:projected_ranks", 7),
        ] {
            let spread = LossSpec::parse(name).resolved().unwrap();
            let symbol = spread.keys().find(|key| ["alpha", "sigma"].contains(&key.as_str())).unwrap();
            let score = LossSpec::parse(name).with(symbol, spread[symbol].clone());
            for n in [2, 3, 5, 7, 8] {
                let over = standard_deviation(&SCORES[..n]) * (8.0 / n as f64).powi(power);
                let scaled: Vec<f64> = SCORES[..n].iter().map(|score| score / over).collect();
                let explained = |spec: &LossSpec, scores: &[f64]| {
                    explain(&*spec.build().unwrap(), scores, &LABELS[..n], DType::F64).unwrap()
                };
                let (found, expected) = (explained(&LossSpec::parse(name), &SCORES[..n]), explained(&score, &scaled));
                assert!((found.loss - expected.loss).abs() < 1e-9, "{name}, {n}: {} {}", found.loss, expected.loss);
                for (found, expected) in found.grad.iter().zip(&expected.grad) {
                    assert!((found - expected / over).abs() < 1e-8, "{name}, {n}: {found} {expected}");
                }
            }
        }
    }

    /// Compares the gradient with finite differences of the loss, with the spread held constant.
    #[test]
    fn gradients_are_differences_with_the_spread_held() {
        const STEP: f64 = 1e-5;
        let deviation = standard_deviation(&SCORES);
        // An estimated gradient is not the gradient of the value.
        for spec in specs().into_iter().filter(|spec| !spec.build().unwrap().about().estimates_gradient) {
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

    /// Compares the gradient with finite differences of the loss. The loss jumps where scores are nearly equal, so only
    /// finite slopes are required there.
    #[test]
    fn gradients_are_differences_where_the_spread_is_not_held() {
        const STEP: f64 = 1e-5;
        let held = |spec: &LossSpec| spec.with(TEMPERATURE_UNIT, "spread").build().unwrap();
        for spec in specs().into_iter().filter(|spec| !spec.build().unwrap().about().estimates_gradient) {
            assert_eq!(held(&spec).about().held_constant, Some("the spread of the scores"), "{spec}");
            let loss = held(&spec).changed(Change::FullGradient).unwrap().unwrap();
            assert_eq!(
                (loss.about().held_constant, format!("{loss:?}")),
                (None, format!("{:?}", held(&spec))),
                "{spec}"
            );
            let at = |scores: &[f64]| explain(&*loss, scores, &LABELS, DType::F64).unwrap();
            assert_eq!(at(&SCORES).loss, explain(&*held(&spec), &SCORES, &LABELS, DType::F64).unwrap().loss, "{spec}");
            assert!(at(&[0.5; 8]).grad.iter().all(|slope| slope.is_finite()), "{spec}");
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
    fn a_power_of_two_changes_no_bit_above_the_floor() {
        for spec in specs().into_iter().map(|spec| spec.with(TEMPERATURE_UNIT, "spread")) {
            for dtype in [DType::F32, DType::F64] {
                let plain = of(&spec, &SCORES, dtype);
                for power in [0.25, 0.5, 2f64.powi(15)] {
                    let scaled = of(&spec, &SCORES.map(|score| score * power), dtype);
                    assert_eq!(scaled.loss.to_bits(), plain.loss.to_bits(), "{spec}, {dtype:?}, {power}");
                    let gradient = scaled.grad.iter().map(|slope| slope * power);
                    assert!(gradient.eq(plain.grad.iter().copied()), "{spec}, {dtype:?}, {power}");
                }
            }
        }
    }

    /// Below a standard deviation of 0.3, the temperature is a fixed number of scores. So the value of a list of two
    /// depends on its scores, the gradient is bounded, and 32 and 64 bits agree however near the scores are.
    #[test]
    fn scores_that_are_nearly_equal_have_a_bounded_gradient() {
        // The spread of a list of two is half its difference, and (8 / 2)^2 = 16 for a list of this length.
        let explained = |spec: &LossSpec, apart: f64, dtype| {
            explain(&*spec.build().unwrap(), &[0.0, apart], &[0.0, 1.0], dtype).unwrap()
        };
        let spec = LossSpec::new("approx_ndcg");
        for apart in [-0.5, -1e-4, 1e-4, 0.02, 0.5] {
            let found = explained(&spec, apart, DType::F64);
            let expected = explained(&spec.with("alpha", 20.0 / (0.3 * 16.0)), apart, DType::F64);
            assert!((found.loss - expected.loss).abs() < 1e-12, "{apart}: {} {}", found.loss, expected.loss);
            assert!((found.grad[1] - expected.grad[1]).abs() < 1e-12 && found.grad[1].abs() < 1.0, "{apart}");
        }
        for apart in [1e-10, 1e-13, 1e-24, 1e-40] {
            let [single, double] = [DType::F32, DType::F64].map(|dtype| explained(&spec, apart, dtype).grad[1]);
            assert!((single - double).abs() < 1e-6, "{apart}: {single} {double}");
        }
    }

    /// A scorer whose weights are 0 gives equal scores.
    #[test]
    fn equal_scores_are_measured_in_scores() {
        for spec in specs() {
            let (score, spread) = (&spec, &spec.with(TEMPERATURE_UNIT, "spread"));
            for value in [0.0, 0.5, -64.0] {
                let [score, spread] = [score, spread].map(|spec| of(spec, &[value; 8], DType::F64));
                assert!((score.loss - spread.loss).abs() < 1e-12, "{spec} at {value}");
                for (score, spread) in score.grad.iter().zip(&spread.grad) {
                    assert!((score - spread).abs() < 1e-9, "{spec} at {value}: {score} {spread}");
                }
            }
        }
        let moved = of(&LossSpec::new("approx_ndcg"), &[0.25; 8], DType::F32);
        assert!(moved.grad.iter().all(|slope| slope.is_finite()) && moved.grad[4] < 0.0, "{moved:?}");
    }

    #[test]
    fn padding_is_not_in_the_spread() {
        let device = burn::tensor::Device::flex();
        let scores = Tensor::<2>::from_floats([[1.0, 3.0, f32::NAN], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]], &device);
        let mask = Tensor::<2>::from_floats([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]], &device);
        let lists = Lists::padded(scores, mask.clone(), mask.greater_elem(0.5));
        let found = |lists: &Lists| lists.in_spreads().scores.into_data().try_to_vec::<f32>().unwrap();
        assert_eq!(found(&lists), [0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        let tiny = Tensor::<2>::from_floats([[1e-9, -1e-9], [1e-13, -1e-13]], &device);
        let mask = tiny.ones_like().greater_elem(0.0);
        let lists = Lists::padded(tiny.clone(), tiny, mask);
        let expected = [0.0, -2e-9 / 0.3, 0.0, -2e-13];
        for (found, expected) in found(&lists).into_iter().zip(expected) {
            assert!((found - expected).abs() <= 1e-7 * expected.abs(), "{found} {expected}");
        }
    }

    #[test]
    fn it_is_annealed_and_recorded_as_what_it_is() {
        let spec = LossSpec::new("soft_ndcg").with(TEMPERATURE_UNIT, "spread");
        let loss = spec.build().unwrap();
        assert_eq!(loss.about().smoothing, spec.smoothing().unwrap());
        let moved = loss.changed(Change::Parameter("sigma", 0.25)).unwrap().unwrap();
        let built = spec.with("sigma", 0.25).build().unwrap();
        let [moved, built, loss] = [moved, built, loss].map(|loss| format!("{loss:?}"));
        assert_eq!(moved, built);
        assert!(moved.contains("scale: Spread"), "{moved}");
        assert_ne!(moved, loss);
        let noisy = LossSpec::parse("ap:rank_indicators").with("gumbel_samples", 1).with(TEMPERATURE_UNIT, "spread");
        assert!(noisy.build().unwrap().changed(Change::Noise(&|own| own + 1)).unwrap().is_some());
    }
}
