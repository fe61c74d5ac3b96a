//! Unit gradients, which give every query the same influence on the scores.
//!
//! Unit gradients change the gradient of a query's loss, but not the value of the loss. The gradient with respect to
//! the scores of a query becomes `u = g / max(||g||_2, 1e-6)`, where `g` is the gradient of the query's loss. Document
//! weights and the mean over draws are already part of `g`. Ranks and spreads that the loss treats as constants are
//! constants in `g`. Query weights, the sum or mean over queries, and the weights in a sum of losses multiply `u`. A
//! query with gradient 0 keeps the gradient 0.
//!
//! The gradients of surrogates differ widely in size from query to query, so without unit gradients a few queries
//! dominate a batch. For boosted trees, the second derivatives are divided by the same length. Line searches reject
//! unit gradients, because they are not the gradient of the value. For a loss with random draws, unit gradients are
//! biased: the gradient of the sampled loss is scaled instead of the expected gradient.
//!
//! The cost is one evaluation of the loss and its gradient, plus O(n) time to compute the gradient's length.

use std::sync::Arc;

use burn::module::{Content, ModuleDisplay, ModuleDisplayDefault};
use burn::tensor::Bool;
use serde::{Deserialize, Serialize};

use super::prelude::*;
use super::ranking_loss::losses_of_scores;
use crate::op::{SHORTEST_GRADIENT, with_unit_gradient};

/// The configuration key of [`QueryGradients`], which every registered loss accepts.
pub const QUERY_GRADIENTS: &str = "query_gradients";

/// How the gradient of each query is scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueryGradients {
    /// Keeps the gradient of each query as it is.
    #[default]
    Raw,
    /// Scales the gradient of each query to length 1 ([`UnitGradients`]).
    Unit,
}

/// A loss whose gradient with respect to the scores of each query has length 1. Unit gradients suit any loss;
/// surrogates benefit most.
///
/// ```
/// use burn_rank::loss::{ApproxNdcgConfig, UnitGradients};
///
/// let loss = UnitGradients::new(ApproxNdcgConfig::new().init()?);
/// # Ok::<(), burn_rank::loss::LossError>(())
/// ```
#[derive(Debug, Clone)]
pub struct UnitGradients {
    loss: Arc<dyn RankingLoss>,
}

impl UnitGradients {
    /// Wraps a loss so that the gradient of each query has length 1.
    pub fn new(loss: impl RankingLoss + 'static) -> Self {
        Self { loss: Arc::new(loss) }
    }

    fn curved(&self) -> &dyn Curved {
        self.loss.about().curvature.expect("`curvature` is none without")
    }
}

impl From<Box<dyn RankingLoss>> for UnitGradients {
    fn from(loss: Box<dyn RankingLoss>) -> Self {
        Self { loss: loss.into() }
    }
}

impl From<Arc<dyn RankingLoss>> for UnitGradients {
    fn from(loss: Arc<dyn RankingLoss>) -> Self {
        Self { loss }
    }
}

// Not derived, because `#[derive(Module)]` would require the loss inside to be a module.
impl Module for UnitGradients {
    burn::empty!(module);
}

impl ModuleDisplayDefault for UnitGradients {
    fn content(&self, content: Content) -> Option<Content> {
        content.set_top_level_type("UnitGradients").add_debug_attribute("loss", &self.loss).optional()
    }
}

impl ModuleDisplay for UnitGradients {}

/// Returns the Euclidean norm; no intermediate value overflows.
fn length(slopes: &[f64]) -> f64 {
    let largest = slopes.iter().fold(0.0, |largest: f64, slope| largest.max(slope.abs()));
    match largest > 0.0 {
        true => largest * slopes.iter().map(|slope| (slope / largest).powi(2)).sum::<f64>().sqrt(),
        false => 0.0,
    }
}

impl RankingLoss for UnitGradients {
    fn about(&self) -> About<'_> {
        let about = self.loss.about();
        About {
            held_constant: Some(UNIT_GRADIENTS[0]),
            curvature: about.curvature.map(|_| self as &dyn Curved),
            ..about
        }
    }

    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        self.loss.learnable(lists)
    }

    fn changed(&self, change: Change<'_>) -> Changed {
        match change {
            // The length is held constant in any case.
            Change::FullGradient => Ok(None),
            _ => Ok(self.loss.changed(change)?.map(|loss| Box::new(Self::from(loss)) as _)),
        }
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        if !lists.scores.device().is_autodiff() {
            return self.loss.query_losses(lists);
        }
        // A separate graph is needed, because the gradient in the caller's graph already includes the query weights.
        let leaf = lists.scores.clone().detach().require_grad();
        let of_leaf = Lists { scores: leaf.clone(), ..lists.clone() };
        let losses = losses_of_scores(self.loss.query_losses(&of_leaf), &of_leaf);
        // The pass begins with a 1 for each query, as it would behind their sum.
        let gradient = leaf.grad_remove(&mut losses.clone().backward());
        // The scores have no gradient if the loss depends only on other learned values.
        let gradient = gradient.map_or_else(|| lists.mask.zeros_like(), Tensor::from_inner);
        with_unit_gradient(losses, lists.scores.clone(), gradient, lists.mask.clone())
    }
}

impl Curved for UnitGradients {
    fn derivatives(&self, labels: &[f32], scores: &[f64], weights: Option<&[f32]>) -> Derivatives {
        of_unit_length(self.curved().derivatives(labels, scores, weights))
    }

    fn taught(&self, labels: &[f32], teacher: &[f32], scores: &[f64], weights: Option<&[f32]>) -> Derivatives {
        of_unit_length(self.curved().taught(labels, teacher, scores, weights))
    }
}

fn of_unit_length(mut found: Derivatives) -> Derivatives {
    let length = length(&found.gradient).max(SHORTEST_GRADIENT);
    found.gradient.iter_mut().chain(&mut found.curvature).for_each(|value| *value /= length);
    found
}

#[cfg(test)]
mod tests {
    use burn::nn::loss::Reduction;
    use burn::tensor::{DType, Device, TensorData};

    use super::*;
    use crate::json::json;
    use crate::loss::entry::LossEntry;
    use crate::loss::registry::LOSSES;
    use crate::loss::{LossSpec, explain};

    const LABELS: [f64; 5] = [2.0, 0.0, 1.0, 0.0, 3.0];
    const SCORES: [f64; 5] = [0.75, -1.25, 2.5, 0.875, -0.5];

    /// Returns every form of every registered loss, at its default temperature and at its paper's temperature.
    fn specs() -> Vec<LossSpec> {
        let of = |entry: &LossEntry| {
            let name = entry.name.to_string();
            entry.forms().into_iter().map(move |params| LossSpec { name: name.clone(), params }).collect::<Vec<_>>()
        };
        let specs: Vec<LossSpec> = LOSSES.iter().flat_map(of).collect();
        let papers = specs.iter().map(|spec| spec.with_default_temperature(None).unwrap());
        let papers: Vec<LossSpec> = papers.filter(|paper| !specs.contains(paper)).collect();
        specs.into_iter().chain(papers).collect()
    }

    fn raw_and_unit(spec: &LossSpec) -> [Box<dyn RankingLoss>; 2] {
        [spec.clone(), spec.with(QUERY_GRADIENTS, "unit")].map(|spec| spec.build().unwrap())
    }

    type Made<'a> = &'a dyn Fn(Tensor<1>) -> Tensor<1>;

    /// Returns four queries: one without padding, one with padding, one that gives no gradient, and one with scores far
    /// apart. The lists have document weights if the loss accepts them.
    fn batch(loss: &dyn RankingLoss, dtype: DType) -> (Tensor<2>, Lists) {
        let device = Device::flex().autodiff();
        let tensor =
            |rows: [[f64; 5]; 4]| Tensor::<2>::from_data(TensorData::new(rows.concat(), [4, 5]), (&device, dtype));
        let (none, far) = ([1.0, 2.0, 3.0, 4.0, 5.0], [30.0, -20.0, 0.5, 10.0, -5.0]);
        let scores = tensor([SCORES, [0.1, 0.2, -0.3, f64::NAN, 9.0], none, far]).require_grad();
        let labels = tensor([LABELS, [1.0, 0.0, 2.0, 7.0, -1.0], [1.0; 5], [0.0, 1.0, 0.0, 2.0, 0.0]]);
        let mask = tensor([[1.0; 5], [1.0, 1.0, 1.0, 0.0, 0.0], [1.0; 5], [1.0; 5]]).greater_elem(0.5);
        let lists = Lists::padded(scores.clone(), labels, mask);
        let lists = match loss.about().document_weights {
            Ok(()) => lists.with_document_weights(tensor([[1.0, 2.0, 0.5, 3.0, 1.5]; 4])),
            Err(_) => lists,
        };
        (scores, lists)
    }

    /// Returns the losses, and the derivatives of the value that `made` computes from these losses.
    fn gradients(loss: &dyn RankingLoss, dtype: DType, made: Made<'_>) -> (Vec<f64>, Vec<f64>) {
        let (scores, lists) = batch(loss, dtype);
        let losses = lists.losses(loss);
        let numbers = |data: TensorData| data.iter::<f64>().collect();
        let gradients = made(losses.clone()).backward();
        (numbers(losses.into_data()), numbers(scores.grad(&gradients).unwrap().into_data()))
    }

    /// Operations on the losses apply equally to their unit gradients.
    #[test]
    fn gradients_are_divided_by_their_length_before_weights_and_means() {
        const WEIGHTS: [f64; 4] = [3.0, 0.5, 7.0, 1.5];
        for spec in specs() {
            for (dtype, tolerance) in [(DType::F64, 1e-11), (DType::F32, 1e-5)] {
                let [raw, unit] = raw_and_unit(&spec);
                let (losses, slopes) = gradients(&*raw, dtype, &|losses| losses.sum());
                let expected: Vec<f64> = slopes
                    .chunks(5)
                    .flat_map(|row| row.iter().map(|slope| slope / length(row).max(1e-6)).collect::<Vec<_>>())
                    .collect();
                let learns_values = ["binary_cross_entropy", "teacher_mse"].contains(&spec.name.as_str());
                assert!(
                    learns_values || expected[10..15].iter().all(|slope| *slope == 0.0),
                    "{spec}: nothing to learn"
                );
                assert!(expected[8..10].iter().all(|slope| *slope == 0.0), "{spec}: padding");
                let weights = Tensor::<1>::from_data(WEIGHTS, (&Device::flex().autodiff(), dtype));
                let reduced = |losses, reduction| crate::loss::reduce_weighted(losses, weights.clone(), reduction);
                let made: [(Made<'_>, [f64; 4]); 4] = [
                    (&|losses| losses.sum(), [1.0; 4]),
                    (&|losses| losses.mean(), [0.25; 4]),
                    (&|losses| reduced(losses, Reduction::Sum), WEIGHTS),
                    (&|losses| reduced(losses, Reduction::Mean), WEIGHTS.map(|weight| weight / 12.0)),
                ];
                for (made, factors) in made {
                    let (values, found) = gradients(&*unit, dtype, made);
                    assert_eq!(values, losses, "{spec}: the value is that of the loss");
                    for (place, (found, expected)) in found.iter().zip(&expected).enumerate() {
                        let expected = expected * factors[place / 5];
                        assert!((found - expected).abs() < tolerance, "{spec} {dtype:?} {place}: {found} {expected}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_gradient_below_the_floor_stays_small() {
        let of = |spec: &LossSpec, scores: &[f64], labels: &[f64], dtype| {
            raw_and_unit(spec).map(|loss| length(&explain(&*loss, scores, labels, dtype).unwrap().grad))
        };
        // Saturated: the slope of a sigmoid at 20.
        let spec = LossSpec::new("approx_ndcg").with("alpha", 20.0);
        let [raw, unit] = of(&spec, &[1.0, 0.0], &[0.0, 1.0], DType::F64);
        assert!(raw > 1e-9 && raw < 1e-6 && (unit / (raw / 1e-6) - 1.0).abs() < 1e-9, "{raw} {unit}");
        let [raw, unit] = of(&spec.with("alpha", 300.0), &[1.0, 0.0], &[0.0, 1.0], DType::F64);
        assert!(raw < 1e-100 && unit < 1e-90, "{raw} {unit}");
        // Too large to be squared in float32, and in float64.
        let spec = LossSpec::new("pairwise_exponential");
        for (far, dtype) in [(100.0, DType::F32), (500.0, DType::F64)] {
            let [_, unit] = of(&spec, &[0.0, far], &[1.0, 0.0], dtype);
            assert!((unit - 1.0).abs() < 1e-6, "{unit}");
        }
        assert!((length(&[3e200, -4e200]) / 5e200 - 1.0).abs() < 1e-15);
    }

    /// Adding a constant to all scores does not change the loss.
    #[test]
    fn scores_near_the_largest_number_keep_a_finite_value() {
        let [raw, unit] = raw_and_unit(&LossSpec::new("pairwise_hinge"))
            .map(|loss| explain(&*loss, &[3e38, 2e38, 3e38], &[0.0, 1.0, 0.0], DType::F32).unwrap());
        assert_eq!(raw.loss, unit.loss);
        assert!((length(&unit.grad) - 1.0).abs() < 1e-6, "{unit:?}");
    }

    #[test]
    fn second_derivatives_are_divided_by_the_same_number() {
        let labels = LABELS.map(|label| label as f32);
        let mut curved = 0;
        for spec in specs() {
            let [raw, unit] = raw_and_unit(&spec);
            let (raw, unit) = (raw.about().curvature, unit.about().curvature);
            assert_eq!(raw.is_some(), unit.is_some(), "{spec}");
            let (Some(raw), Some(unit)) = (raw, unit) else { continue };
            let [raw, unit] = [raw, unit].map(|curved| curved.derivatives(&labels, &SCORES, None));
            let of_raw = length(&raw.gradient);
            assert_eq!(raw.loss, unit.loss, "{spec}");
            let all = |of: &Derivatives| [of.gradient.clone(), of.curvature.clone()].concat();
            for (raw, unit) in all(&raw).into_iter().zip(all(&unit)) {
                assert!((raw / of_raw - unit).abs() < 1e-12, "{spec}: {raw} {unit}");
            }
            curved += 1;
        }
        assert!(curved > 3, "{curved}");
    }

    /// A loss that reads only labels.
    #[derive(Debug)]
    struct OfLabels;

    impl RankingLoss for OfLabels {
        fn about(&self) -> About<'_> {
            About::new("of_labels", Orientation::Loss)
        }

        fn query_losses(&self, lists: &Lists) -> Tensor<1> {
            lists.labels.clone().sum_dim(1).squeeze_dim(1)
        }
    }

    #[test]
    fn a_loss_that_does_not_depend_on_the_scores_has_a_gradient_of_0() {
        for loss in [&OfLabels as &dyn RankingLoss, &UnitGradients::new(OfLabels)] {
            let explained = explain(loss, &SCORES, &LABELS, DType::F64).unwrap();
            assert_eq!((explained.loss, explained.grad), (6.0, vec![0.0; 5]));
        }
    }

    /// Unit gradients can be requested by the name of a loss or by the type [`UnitGradients`].
    #[test]
    fn it_is_annealed_reseeded_and_recorded_as_what_it_is() {
        let spec = LossSpec::parse("ap:rank_indicators").with("gumbel_samples", 1).with(QUERY_GRADIENTS, "unit");
        let loss = spec.build().unwrap();
        assert_eq!(loss.about().held_constant, Some(UNIT_GRADIENTS[0]));
        assert!(loss.changed(Change::FullGradient).unwrap().is_none());
        assert!(loss.changed(Change::Noise(&|own| own + 1)).unwrap().is_some());
        let moved = loss.changed(Change::Parameter("sigma", 0.25)).unwrap().unwrap();
        let [moved, own] = [&moved, &loss].map(|loss| format!("{loss:?}"));
        assert!(moved.starts_with("UnitGradients") && moved != own, "{moved}");
        let raw = spec.with(QUERY_GRADIENTS, "raw").build().unwrap();
        assert_eq!(raw.about().held_constant, Some("the spread of the scores"));
        let typed = UnitGradients::new(crate::loss::ListNetConfig::new().init().unwrap());
        let [_, named] = raw_and_unit(&LossSpec::new("list_net"));
        assert_eq!(format!("{typed:?}"), format!("{named:?}"));
        assert_eq!(spec.resolved().unwrap()[QUERY_GRADIENTS], json!("unit"));
    }

    #[test]
    fn a_wrong_value_or_key_is_refused_with_the_nearest() {
        let wrong = LossSpec::new("approx_ndcg").with(QUERY_GRADIENTS, "units").build().unwrap_err().to_string();
        assert_eq!(
            wrong,
            "approx_ndcg.query_gradients: unknown variant `units`, expected `raw` or `unit`; did you mean `unit`?"
        );
        let unknown =
            |name: &str| LossSpec::parse(name).with("query_gradient", "unit").build().unwrap_err().to_string();
        for name in ["list_net", "approx_ndcg", "ap:rank_indicators"] {
            let message = unknown(name);
            assert!(message.ends_with("did you mean `query_gradients`?"), "{message}");
        }
    }
}
