//! Any measure under any relaxation, both chosen by name.
//!
//! The loss is one minus the relaxed measure; for a measure that is not in [0, 1], the loss is minus the relaxed
//! measure. [`MeasureName`] and [`RelaxationName`] list the choices. Each named surrogate (`approx_ndcg`,
//! `smooth_ap_indicator`, `soft_err` and so on) is one of these combinations, with its own defaults.
//!
//! With `gumbel_samples = S > 0`, the loss is averaged over `S` draws of standard Gumbel noise that is added to the
//! scores. See Bruch et al., A stochastic treatment of learning to rank scoring functions. The noise depends on `seed`,
//! the index of the draw, and the document's place in its list, so all queries share it. The gradient learner draws new
//! noise for each row of the batch at every step, and boosted trees draw new noise in every round. Other learners use
//! the same noise throughout.
//!
//! The cost is O(n^2), multiplied by `S` if there is noise. [`Cell::cost`] states the exceptions. A query has loss 0 if
//! the measure does not distinguish between its documents.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::measures::{KnownMeasure, stops};
use super::names::{Cell, DiscountShape, MeasureName, RelaxationName};
use super::position_measure::PositionMeasure;
use super::relaxation::{KnownRelaxation, RankExpectationMethod, RankModel, Relaxation};
use super::transform::{Surrogate, TypeOneBound};
use crate::json::{Map, Value};
use crate::loss::about::Smoothing;
use crate::loss::entry::{LossEntry, boxed, unknown_parameter, value_of};
use crate::loss::prelude::*;
use crate::loss::temperature::{self, TEMPERATURE_UNIT, Tempered};
use crate::op::Step;
use crate::refusal::Refusal;

pub(in crate::loss) const NAME: &str = "relaxed_measure";

pub(in crate::loss) const ENTRY: LossEntry = LossEntry {
    name: NAME,
    summary: "any measure through any relaxation, by `measure` and `relaxation`",
    formula: "1 - M, or -M for dcg and kendall_tau: the measure M with a substitute for ranks",
    cost: "O(n^2), or as the relaxation",
    paper: "the papers of the relaxation; Qin, Liu and Li, A general approximation framework for direct optimization of IR measures, section 4",
    smoothing: Some(Smoothing::sharper_if_larger("alpha")),
    defaults,
    forms: Some(forms),
    build: |params| Ok(boxed(configured(params)?.init()?)),
};

/// The configuration keys that every combination of a measure and a relaxation accepts.
const COMMON: [&str; 6] = ["measure", "relaxation", "bound", "gumbel_samples", "seed", TEMPERATURE_UNIT];

/// Configuration of [`RelaxedMeasure`]. The default temperature suits training from scratch; [`paper`](Self::paper)
/// uses the paper's temperature. A parameter that belongs to neither the measure nor the relaxation has no effect.
#[doc = example!("RelaxedMeasureConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct RelaxedMeasureConfig {
    /// The measure.
    #[config(default = "MeasureName::Ndcg")]
    pub measure: MeasureName,
    /// The relaxation that replaces the ranks.
    #[config(default = "RelaxationName::ApproximatePositions")]
    pub relaxation: RelaxationName,
    /// The number of top ranks that count; `None` means 5 for a measure that needs a cut-off, and the whole list for
    /// others.
    pub k: Option<usize>,
    /// The function that maps a label to its gain.
    #[config(default = "Gain::Exp2")]
    pub gain: Gain,
    /// The function that maps a rank to its discount.
    #[config(default = "DiscountShape::Log2")]
    pub discount: DiscountShape,
    /// The exponent of the power discount, 0 or above; other discounts ignore it.
    #[config(default = 1.0)]
    pub exponent: f64,
    /// Whether to use `sum_x l_x / r_x`, which equals the reciprocal rank only if exactly one document is relevant.
    #[config(default = false)]
    pub linear: bool,
    /// The label of a perfect document, from 1 to 30; no larger label is allowed.
    #[config(default = 4)]
    pub maximum_grade: u32,
    /// The probability that a reader continues to the next document, above 0 and below 1.
    #[config(default = 0.8)]
    pub persistence: f64,
    /// The temperature of the relaxation, above 0; `None` uses its default in spreads. For approximate positions and
    /// smooth indicators, the temperature is the steepness `alpha`. For the other relaxations, the temperature is
    /// `sigma`. For sigmoid ranks and rank indicators, `sigma` is the smoothing. Rank indicators measure it in squared
    /// scores. For expected ranks, `sigma` is the standard deviation of a score. For NeuralSort and SoftSort, `sigma`
    /// is the temperature of the sort. For projected ranks, `sigma` is the strength of the regularization in scores per
    /// rank.
    pub temperature: Option<Temperature>,
    /// The steepness of cut-offs and comparisons in approximate positions and projected ranks; must be above 0.
    #[config(default = 10.0)]
    pub beta: f64,
    /// The smooth step function `phi` of the approximate positions.
    #[config(default = "Step::Logistic")]
    pub step: Step,
    /// A document's own term in sums over sigmoid ranks, from 0 to 1.
    #[config(default = 1.0)]
    pub diagonal: f64,
    /// For smooth indicators, the offset `delta`, above 0 and below 1/2, which moves documents already found behind all
    /// remaining documents.
    #[config(default = 0.1)]
    pub delta: f64,
    /// How to compute expectations of functions of the rank.
    #[config(default = "RankExpectationMethod::Auto")]
    pub evaluation: RankExpectationMethod,
    /// The model for the distribution of ranks; `None` means the exact model if the measure needs it, and SoftRank's
    /// model otherwise.
    pub model: Option<RankModel>,
    /// The bound to minimize in place of one minus the measure; `None` minimizes one minus the measure itself.
    pub bound: Option<TypeOneBound>,
    /// The number of draws of Gumbel noise, up to 10,000, or 0 for no noise.
    #[config(default = 0)]
    pub gumbel_samples: usize,
    /// The seed of the noise, to which `gradient` and `boosted_trees` add the run's seed and step.
    #[config(default = 0)]
    pub seed: u64,
}

impl RelaxedMeasureConfig {
    /// Creates the configuration of a measure under a relaxation, with the defaults of both.
    pub fn of(measure: MeasureName, relaxation: RelaxationName) -> Self {
        let (k, model) = (measure.default_cutoff(), Some(measure.default_model()));
        Self::new().with_measure(measure).with_relaxation(relaxation).with_k(k).with_model(model)
    }

    /// Creates the configuration of a measure under a relaxation, with the paper's temperature in scores.
    pub fn paper(measure: MeasureName, relaxation: RelaxationName) -> Self {
        let temperature = Temperature::scores(relaxation.paper_value());
        Self::of(measure, relaxation).with_temperature(Some(temperature))
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if a parameter is out of range, or if the measure does not allow the `evaluation`.
    pub fn init(&self) -> Result<RelaxedMeasure, LossError> {
        self.named(NAME)
    }

    /// Creates a registered loss. Error messages about parameters use the loss's `name`.
    pub(super) fn named(&self, name: &'static str) -> Result<Surrogate, LossError> {
        self.joined(name, Arc::new(self.known_measure()), Arc::new(self.known_relaxation()))
    }

    /// Creates a loss, named after the measure, that computes your own measure under the relaxation of this
    /// configuration.
    ///
    /// # Errors
    /// Returns the same errors as [`init`](Self::init).
    pub fn init_measure(&self, measure: impl PositionMeasure + 'static) -> Result<Surrogate, LossError> {
        // The cut-off belongs to the measure of this configuration.
        let relaxation = KnownRelaxation { top: None, ..self.known_relaxation() };
        self.joined(measure.name(), Arc::new(measure), Arc::new(relaxation))
    }

    /// Creates a loss that computes the measure of this configuration under your own relaxation.
    ///
    /// # Errors
    /// Returns the same errors as [`init`](Self::init).
    pub fn init_relaxation(&self, relaxation: impl Relaxation + 'static) -> Result<Surrogate, LossError> {
        let measure = self.known_measure();
        self.joined(PositionMeasure::name(&measure), Arc::new(measure), Arc::new(relaxation))
    }

    fn joined(
        &self,
        name: &'static str,
        measure: Arc<dyn PositionMeasure>,
        relaxation: Arc<dyn Relaxation>,
    ) -> Result<Surrogate, LossError> {
        let draws = error::draws(name, "gumbel_samples", 0, self.gumbel_samples)?;
        Surrogate::joined(name, measure, relaxation)?.with_noise(draws, self.seed).with_bound(self.bound)
    }

    /// Returns the cut-off of a measure that takes one.
    fn cutoff(&self) -> Option<usize> {
        self.k.filter(|_| self.measure.parameters().contains(&"k")).or(self.measure.default_cutoff())
    }

    pub(super) fn known_measure(&self) -> KnownMeasure {
        let is_err = self.measure == MeasureName::Err;
        KnownMeasure {
            name: self.measure,
            k: self.cutoff(),
            gain: if is_err { stops(self.maximum_grade) } else { self.gain.clone() },
            discount: self.discount.clone().with_exponent(self.exponent),
            linear: self.linear,
            maximum_grade: self.maximum_grade,
            persistence: self.persistence,
        }
    }

    pub(super) fn known_relaxation(&self) -> KnownRelaxation {
        KnownRelaxation {
            name: self.relaxation,
            temperature: self.temperature(),
            beta: self.beta,
            step: self.step,
            diagonal: self.diagonal,
            delta: self.delta,
            evaluation: self.evaluation,
            model: self.model.unwrap_or(self.measure.default_model()),
            top: self.cutoff(),
        }
    }

    pub(super) fn cell(&self) -> Cell {
        Cell { measure: self.measure, relaxation: self.relaxation }
    }

    fn has(&self, key: &str) -> bool {
        let parts = [&COMMON[..], self.measure.parameters(), self.relaxation.parameters()];
        parts.iter().any(|keys| keys.contains(&key))
    }
}

impl Tempered for RelaxedMeasureConfig {
    fn symbol(&self) -> &'static str {
        self.relaxation.smoothing().parameter
    }

    fn temperature(&self) -> Temperature {
        self.temperature.unwrap_or(Temperature::spreads(self.cell().default_temperature(1.0)))
    }

    fn paper_value(&self) -> f64 {
        self.relaxation.paper_value()
    }
}

/// The loss `1 - M` or `-M` of a measure `M` under a relaxation.
pub type RelaxedMeasure = Surrogate;

/// Returns the two parameters that select a measure and a relaxation.
fn named_form(Cell { measure, relaxation }: Cell) -> Map {
    let names = [("measure", measure.name()), ("relaxation", relaxation.name())];
    Map::from_iter(names.map(|(key, name)| (key.to_string(), Value::from(name))))
}

/// Returns one configuration for each measure under each relaxation. Adds one for AP under each relaxation with noise,
/// and one for AP with each bound.
fn forms() -> Vec<Map> {
    let form = |cell, parameter: Option<(&str, Value)>| {
        let parameter = parameter.map(|(key, value)| (key.to_string(), value));
        named_form(cell).into_iter().chain(parameter).collect()
    };
    // A list that is within the cut-off has the same recall in any order.
    let cells = Cell::all().map(|cell| form(cell, cell.measure.default_cutoff().map(|_| ("k", 2.into()))));
    let of_ap = |relaxation, key, value: Value| form(Cell { measure: MeasureName::Ap, relaxation }, Some((key, value)));
    let noisy = RelaxationName::ALL.iter().map(|&relaxation| of_ap(relaxation, "gumbel_samples", 2.into()));
    let bound = |bound: TypeOneBound| of_ap(RelaxationName::ApproximatePositions, "bound", bound.name().into());
    let bounded = TypeOneBound::ALL.into_iter().map(bound);
    cells.chain(noisy).chain(bounded).collect()
}

/// Returns the default configuration of the measure and relaxation that the parameters select.
fn named_cell(params: &Map) -> Result<RelaxedMeasureConfig, LossError> {
    let RelaxedMeasureConfig { measure, relaxation, .. } = RelaxedMeasureConfig::new();
    let (measure, relaxation) = (part(params, "measure", measure)?, part(params, "relaxation", relaxation)?);
    Ok(RelaxedMeasureConfig::of(measure, relaxation))
}

/// Returns the default temperature of a registered loss, from its name and parameters. Other losses have no default
/// temperature in spreads, because no search for one has been made.
pub(in crate::loss) fn default_temperature(name: &str, params: &Map, times: f64) -> Option<f64> {
    let cell = match name {
        NAME => named_cell(params).ok()?.cell(),
        _ => Cell::all().find(|cell| cell.named() == Some(name))?,
    };
    Some(cell.default_temperature(times))
}

/// Returns every parameter of the selected measure and relaxation, with its default. An unknown name selects the
/// default measure and relaxation.
fn defaults(params: &Map) -> Map {
    let RelaxedMeasureConfig { measure, relaxation, .. } = RelaxedMeasureConfig::new();
    let cell = named_cell(params).unwrap_or_else(|_| RelaxedMeasureConfig::of(measure, relaxation));
    temperature::defaults(&cell, params).into_iter().filter(|(key, _)| cell.has(key)).collect()
}

/// Returns the measure or relaxation that is named at `key`, or `default` if the key is missing.
fn part<T: DeserializeOwned>(params: &Map, key: &str, default: T) -> Result<T, LossError> {
    params.get(key).map_or(Ok(default), |value| value_of(NAME, key, value))
}

/// Creates the configuration of the selected measure and relaxation, with these parameters.
fn configured(params: &Map) -> Result<RelaxedMeasureConfig, LossError> {
    let cell = named_cell(params)?;
    match params.keys().find(|key| !cell.has(key)) {
        Some(key) => Err(not_of(&cell, key)),
        None => temperature::configure(NAME, cell, params),
    }
}

/// Returns the reason for rejecting a key: it is unknown, or it belongs to another measure or relaxation.
fn not_of(cell: &RelaxedMeasureConfig, key: &str) -> LossError {
    let measures = MeasureName::ALL.iter().map(|measure| (measure.name(), measure.parameters()));
    let relaxations = RelaxationName::ALL.iter().map(|relaxation| (relaxation.name(), relaxation.parameters()));
    let owners: Vec<String> = measures
        .chain(relaxations)
        .filter(|(_, keys)| keys.contains(&key))
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    if owners.is_empty() {
        return unknown_parameter(NAME, key, &defaults(&named_form(cell.cell())));
    }
    let (measure, relaxation) = (cell.measure.name(), cell.relaxation.name());
    let words =
        format!("neither `{measure}` nor `{relaxation}` has this parameter; it belongs to {}", owners.join(", "));
    LossError::Parameter { loss: NAME, refusal: Refusal::fault(key, words) }
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType;

    use super::*;
    use crate::json::json;
    use crate::loss::Change;
    use crate::loss::lists::Lists;
    use crate::loss::noise::Noise;
    use crate::loss::{Explained, LossSpec, RankingLoss, explain, registry};
    use crate::testing::values;

    const SCORES: [f64; 6] = [0.31, -1.2, 2.5, 0.9, -0.4, 1.7];
    const LABELS: [f64; 6] = [2.0, 1.0, 0.0, 0.0, 4.0, 1.0];

    fn explained(loss: &dyn RankingLoss, scores: &[f64]) -> Explained {
        explain(loss, scores, &LABELS, DType::F64).unwrap()
    }

    fn built(params: Value) -> Box<dyn RankingLoss> {
        registry::build(NAME, params.as_object().unwrap()).unwrap()
    }

    fn message(params: Value) -> String {
        registry::build(NAME, params.as_object().unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn named_losses_are_cells() {
        let sharp = json!({"alpha": 3.0, "beta": 2.0, "sigma": 0.5, "k": 3});
        let mut names = 0;
        for cell in Cell::all() {
            let Some(name) = cell.named() else { continue };
            let own = registry::find(name).unwrap().defaults(&Map::new());
            let given = sharp.as_object().unwrap().iter().filter(|(key, _)| own.contains_key(*key));
            let params = Map::from_iter(given.map(|(key, value)| (key.clone(), value.clone())));
            let mut of_cell = named_form(cell);
            of_cell.extend(params.clone());
            let named = explained(&*registry::build(name, &params).unwrap(), &SCORES);
            let joined = explained(&*registry::build(NAME, &of_cell).unwrap(), &SCORES);
            assert!((named.loss - joined.loss).abs() < 1e-14, "{name}: {} {}", named.loss, joined.loss);
            for (named, joined) in named.grad.iter().zip(&joined.grad) {
                assert!((named - joined).abs() < 1e-14, "{name}: {named} {joined}");
            }
            names += 1;
        }
        let families = ["approx_", "smooth_", "soft_"];
        let surrogates = registry::LOSSES.iter().filter(|entry| families.iter().any(|f| entry.name.starts_with(f)));
        assert_eq!(names, surrogates.count());
    }

    /// The loss of a measure under a relaxation with noise equals the mean of its losses over the draws in `gumbel.rs`.
    #[test]
    fn noise_works_with_every_cell() {
        for mut form in forms().into_iter().filter(|form| !form.contains_key("gumbel_samples")) {
            form.insert("temperature_unit".into(), "score".into());
            let plain = built(Value::Object(form.clone()));
            let by_hand = |draw: usize| {
                let scores =
                    burn::tensor::Tensor::<2>::from_data([SCORES], (&burn::tensor::Device::flex(), DType::F64));
                let lists = Lists::padded(scores.clone(), scores.clone(), scores.clone().is_finite());
                let noisy = values(Noise::shared(5).added(&lists, scores, draw));
                explained(&*plain, &noisy).loss
            };
            form.insert("gumbel_samples".into(), 2.into());
            form.insert("seed".into(), 5.into());
            let noisy = built(Value::Object(form.clone()));
            let (found, expected) = (explained(&*noisy, &SCORES).loss, (by_hand(0) + by_hand(1)) / 2.0);
            assert!((found - expected).abs() < 1e-12, "{form:?}: {found} {expected}");
            let again = noisy.changed(Change::Noise(&|own| own + 1)).unwrap().expect("it has noise");
            assert_ne!(explained(&*again, &SCORES).loss, found, "{form:?}");
            assert!(plain.changed(Change::Noise(&|own| own)).unwrap().is_none());
        }
    }

    #[test]
    fn a_cell_has_the_parameters_of_its_parts() {
        let keys = |params: Value| -> Vec<String> { defaults(params.as_object().unwrap()).keys().cloned().collect() };
        let positions = keys(json!({"measure": "rbp"}));
        for key in ["measure", "relaxation", "persistence", "alpha", "beta", "step", "gumbel_samples", "seed"] {
            assert!(positions.iter().any(|found| found == key), "{key}: {positions:?}");
        }
        assert!(!positions.iter().any(|key| key == "sigma" || key == "k"), "{positions:?}");
        let cell = defaults(json!({"measure": "success", "relaxation": "expected_ranks"}).as_object().unwrap());
        assert_eq!((&cell["k"], &cell["model"]), (&json!(5), &json!("exact")));
    }

    #[test]
    fn what_a_cell_does_not_have_is_refused_with_what_has_it() {
        assert_eq!(
            message(json!({"gumbel_samples": 10_001})),
            "relaxed_measure.gumbel_samples = 10001: expected from 0 to 10000"
        );
        assert_eq!(
            message(json!({"measure": "ndgc"})),
            "relaxed_measure.measure: unknown variant `ndgc`, expected one of `ndcg`, `dcg`, `ap`, `map`, `mrr`, `rr`, \
             `err`, `p`, `precision`, `recall`, `success`, `rbp`, `r_precision`, `kendall_tau`; did you mean `ndcg`?"
        );
        assert_eq!(
            message(json!({"relaxation": "expected_ranks", "beta": 1.0})),
            "relaxed_measure.beta: neither `ndcg` nor `expected_ranks` has this parameter; it belongs to \
             `approximate_positions`, `projected_ranks`"
        );
        let unknown = message(json!({"measure": "ap", "alhpa": 1.0}));
        assert!(unknown.starts_with("relaxed_measure: unknown parameter `alhpa`, expected one of "), "{unknown}");
        assert!(unknown.ends_with("; did you mean `alpha`?"), "{unknown}");
        assert_eq!(
            message(json!({"measure": "rbp", "persistence": 1.0})),
            "relaxed_measure.persistence = 1: expected a number above 0 and below 1"
        );
        assert_eq!(
            message(json!({"measure": "recall", "k": 0})),
            "relaxed_measure.k = 0: expected a cut-off of 1 or more"
        );
        assert_eq!(
            message(json!({"measure": "dcg", "bound": "exp"})),
            "relaxed_measure.bound = exp: expected a measure in [0, 1], which dcg is not"
        );
        let spec = LossSpec::new(NAME).with("measure", "ap").with("relaxation", "rank_indicators");
        assert_eq!(spec.smoothing().unwrap().unwrap().parameter, "sigma");
        assert_eq!(spec.resolved().unwrap()["sigma"], json!(0.02));
    }
}
