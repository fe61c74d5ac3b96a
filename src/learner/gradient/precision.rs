//! Mixed precision (Micikevicius et al., "Mixed Precision Training", ICLR 2018). During training, the layers of the
//! scorer compute in 16 bits in the forward and backward pass. The weights, the optimizer, the loss and the trained
//! scorer use 32 bits.
//!
//! f16 has no number between 0 and 6e-8, so small gradients would vanish on their way through the layers. [`LossScale`]
//! therefore multiplies the loss by a factor, and later divides the gradients by the same factor in f32. The type bf16
//! has the range of f32 and needs no scaling.

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, FloatDType, Int, Tensor};

use crate::device::count_read;
use crate::learner::prelude::*;
use crate::learner::shared::checks::parameter;

/// The number type in which the layers of a scorer compute during training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32 bits.
    #[default]
    F32,
    /// A 16-bit type with 5 bits for the exponent. The loss is multiplied by a factor to keep gradients in range.
    F16,
    /// A 16-bit type with 8 bits for the exponent, as in f32.
    Bf16,
}

impl Precision {
    /// Returns whether the layers compute in 32 bits.
    pub fn is_full(&self) -> bool {
        *self == Self::F32
    }

    /// Returns the name that stands for the type in configuration files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        }
    }

    /// Returns the type to which the features are converted before the first layer, or `None` if they keep their type.
    pub(super) fn layers(self) -> Option<FloatDType> {
        match self {
            Self::F32 => None,
            Self::F16 => Some(FloatDType::F16),
            Self::Bf16 => Some(FloatDType::BF16),
        }
    }

    /// Rejects a type that the device does not support.
    pub(super) fn check_on(self, device: &Device) -> Result<()> {
        self.check_with(|dtype| device.supports_dtype(dtype)).map_err(|types| {
            let expected = format!("one of {types}, in which {device:?} computes");
            parameter("precision", format!("{:?}", self.name()), expected)
        })
    }

    /// Returns the supported types as an error if this type is not supported.
    fn check_with(self, supported: impl Fn(FloatDType) -> bool) -> Result<(), String> {
        let computes = |other: &Self| other.layers().is_none_or(&supported);
        if computes(&self) {
            return Ok(());
        }
        let names = [Self::F32, Self::F16, Self::Bf16].into_iter().filter(computes);
        Err(names.map(|other| format!("{:?}", other.name())).collect::<Vec<_>>().join(", "))
    }
}

/// The loss scale at the start of a fit: the power of 2 just above the largest f16 number, 65504.
const FIRST: f64 = 65536.0;

/// The loss scale doubles after this many consecutive steps with finite gradients.
const PATIENCE: u32 = 2000;

/// The factor by which the loss is multiplied in f16, always a power of 2 to avoid rounding errors. If a gradient is
/// not finite, the step is skipped and the factor is halved.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct LossScale {
    pub(super) factor: f64,
    /// The number of steps with finite gradients since the factor last changed.
    finite: u32,
}

impl LossScale {
    /// Returns the factor at the start of a fit, or `None` for types that need no factor.
    pub(super) fn start(precision: Precision) -> Option<Self> {
        (precision == Precision::F16).then_some(Self { factor: FIRST, finite: 0 })
    }

    /// Returns whether the factor has fallen below 1: gradients were not finite even without scaling.
    pub(super) fn is_exhausted(&self) -> bool {
        self.factor < 1.0
    }

    /// Divides the gradients by the factor, then doubles or halves the factor if necessary. Returns `None` if a
    /// gradient is not finite. Reads one number back from the device.
    pub(super) fn unscale<M: Module>(&mut self, grads: GradientsParams, model: &M) -> Option<GradientsParams> {
        let mut unscaled = Unscaled { grads, factor: self.factor, not_finite: None };
        model.visit(&mut unscaled);
        count_read();
        let finite = unscaled.not_finite.is_none_or(|count| count.into_scalar::<i64>() == 0);
        self.observe(finite);
        finite.then_some(unscaled.grads)
    }

    fn observe(&mut self, finite: bool) {
        if !finite {
            *self = Self { factor: self.factor / 2.0, finite: 0 };
        } else if self.finite + 1 == PATIENCE {
            *self = Self { factor: self.factor * 2.0, finite: 0 };
        } else {
            self.finite += 1;
        }
    }
}

struct Unscaled {
    grads: GradientsParams,
    factor: f64,
    /// The number of gradient elements visited so far that are NaN or infinite.
    not_finite: Option<Tensor<1, Int>>,
}

impl ModuleVisitor for Unscaled {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let Some(grad) = self.grads.remove::<D>(param.id) else { return };
        let found = grad.clone().is_finite().bool_not().int().sum();
        self.not_finite = Some(match self.not_finite.take() {
            Some(count) => count + found,
            None => found,
        });
        self.grads.register(param.id, grad / self.factor);
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;
    use crate::scorer::LinearScorer;

    #[test]
    fn a_type_that_the_device_lacks_is_refused_with_those_that_it_has() {
        let only = |has: FloatDType| move |dtype| dtype == has;
        assert_eq!(Precision::Bf16.check_with(only(FloatDType::F16)), Err(r#""f32", "f16""#.into()));
        assert_eq!(Precision::F16.check_with(|_| false), Err(r#""f32""#.into()));
        assert_eq!(Precision::F32.check_with(|_| false), Ok(()));
        for precision in [Precision::F16, Precision::Bf16] {
            precision.check_on(&Device::flex()).unwrap();
        }
    }

    fn gradients(values: [f32; 2]) -> (LinearScorer, GradientsParams) {
        let device = Device::flex().autodiff();
        let scorer = LinearScorer::from_weights(&[1.0, 1.0], 0.0, &device);
        let features = Tensor::from_data(TensorData::new(values.to_vec(), [1, 1, 2]), &device);
        let grads = scorer.forward(features).sum().backward();
        let grads = GradientsParams::from_grads(grads, &scorer);
        (scorer, grads)
    }

    /// Collects the gradient of each weight, in the order in which a module visits its parameters.
    struct Seen<'a>(&'a GradientsParams, Vec<f32>);

    impl ModuleVisitor for Seen<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            self.1.extend(self.0.get::<D>(param.id).unwrap().into_data().iter::<f32>());
        }
    }

    #[test]
    fn the_factor_follows_the_gradients() {
        let mut scale = LossScale::start(Precision::F16).unwrap();
        let (scorer, grads) = gradients([65536.0, -32768.0]);
        let grads = scale.unscale(grads, &scorer).unwrap();
        let mut seen = Seen(&grads, vec![]);
        scorer.visit(&mut seen);
        // The gradients of the weights, and of the bias.
        assert_eq!(seen.1, [1.0, -0.5, 1.0 / 65536.0]);
        assert_eq!(scale, LossScale { factor: FIRST, finite: 1 });
        for broken in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let (scorer, grads) = gradients([1.0, broken]);
            assert!(scale.unscale(grads, &scorer).is_none());
        }
        assert_eq!(scale, LossScale { factor: FIRST / 8.0, finite: 0 });
        for _ in 0..PATIENCE {
            assert_eq!(scale.factor, FIRST / 8.0);
            scale.observe(true);
        }
        assert_eq!(scale, LossScale { factor: FIRST / 4.0, finite: 0 });
        while scale.factor > 1.0 {
            scale.observe(false);
        }
        assert!(!scale.is_exhausted());
        scale.observe(false);
        assert!(scale.is_exhausted());
        assert_eq!(LossScale::start(Precision::Bf16), None);
    }
}
