//! Builds burn's optimizers from a configuration, takes their steps, and saves and restores their state.

use burn::grad_clipping::GradientClipping;
use burn::module::{Module, ModuleVisitor, Param, ParamGroup};
use burn::optim::decay::WeightDecayConfig;
use burn::optim::momentum::MomentumConfig;
use burn::optim::{
    AdaGradConfig, AdafactorConfig, AdamConfig, AdamWConfig, AdanConfig, AdjustLrFn, LBFGS, LBFGSConfig, LambConfig,
    LineSearchFn, LionConfig, ModuleOptimizer, MuonConfig, RmsPropConfig, SgdConfig,
};
use burn::store::RecordError;
use burn::tensor::{Bytes, Tensor};

use super::optimizer::{ClipConfig, OptimizerConfig};
use super::precision::LossScale;
use super::step::{RankingModel, TrainingStep};
use crate::device::count_read;

/// The maximum number of evaluations of the loss in one line search of L-BFGS.
const TRIALS: usize = 20;

/// The upper limit for the history and the iterations of L-BFGS; it keeps products of these numbers from overflowing.
const MOST_ITERATIONS: usize = 1 << 24;

/// An optimizer with its state.
#[derive(Clone)]
pub(super) enum Descent {
    /// An optimizer that evaluates the gradient once per step.
    Gradients(ModuleOptimizer),
    /// L-BFGS, which may evaluate the loss of all queries several times in a step.
    Whole(Box<LBFGS>),
}

impl Descent {
    /// Builds the optimizer for the parameters of `model`. Gradients are clipped before the optimizer uses them.
    pub(super) fn new(config: &OptimizerConfig, clip: Option<&ClipConfig>, model: &RankingModel) -> Self {
        let clip = clip.map(|clip| clip.build());
        let optimizer = match *config {
            OptimizerConfig::Adam { beta_1, beta_2, epsilon, amsgrad, weight_decay } => AdamConfig::new()
                .with_beta_1(beta_1 as f32)
                .with_beta_2(beta_2 as f32)
                .with_epsilon(epsilon as f32)
                .with_amsgrad(amsgrad)
                .with_weight_decay(penalty(weight_decay))
                .init(),
            OptimizerConfig::AdamW { beta_1, beta_2, epsilon, amsgrad, weight_decay } => AdamWConfig::new()
                .with_beta_1(beta_1 as f32)
                .with_beta_2(beta_2 as f32)
                .with_epsilon(epsilon as f32)
                .with_amsgrad(amsgrad)
                .with_weight_decay(weight_decay as f32)
                .init(),
            OptimizerConfig::Sgd { momentum, nesterov, weight_decay } => {
                let momentum = (momentum > 0.0)
                    .then(|| MomentumConfig::new().with_momentum(momentum).with_dampening(0.0).with_nesterov(nesterov));
                SgdConfig::new().with_momentum(momentum).with_weight_decay(penalty(weight_decay)).init()
            }
            OptimizerConfig::RmsProp { alpha, momentum, epsilon, centered, weight_decay } => RmsPropConfig::new()
                .with_alpha(alpha as f32)
                .with_momentum(momentum as f32)
                .with_epsilon(epsilon as f32)
                .with_centered(centered)
                .with_weight_decay(penalty(weight_decay))
                .init(),
            OptimizerConfig::AdaGrad { epsilon, lr_decay, weight_decay } => AdaGradConfig::new()
                .with_epsilon(epsilon as f32)
                .with_lr_decay(lr_decay)
                .with_weight_decay(penalty(weight_decay))
                .init(),
            OptimizerConfig::Lion { beta_1, beta_2, weight_decay } => LionConfig::new()
                .with_beta_1(beta_1 as f32)
                .with_beta_2(beta_2 as f32)
                .with_weight_decay(weight_decay as f32)
                .init(),
            OptimizerConfig::Adan { weight_decay } => AdanConfig::new().with_weight_decay(weight_decay as f32).init(),
            OptimizerConfig::Lamb { weight_decay } => LambConfig::new().with_weight_decay(weight_decay as f32).init(),
            OptimizerConfig::AdaFactor {
                clip_threshold,
                decay_exponent,
                relative_step,
                scale_parameter,
                weight_decay,
            } => AdafactorConfig::new()
                .with_clip_threshold(clip_threshold as f32)
                .with_decay_rate(-decay_exponent)
                .with_relative_step(relative_step)
                .with_scale_parameter(scale_parameter)
                .with_weight_decay(weight_decay as f32)
                .init(),
            OptimizerConfig::Muon { momentum, weight_decay } => muon(momentum, weight_decay, clip.clone(), model),
            OptimizerConfig::Lbfgs { history, iterations } => {
                return Self::Whole(Box::new(lbfgs(history, iterations)));
            }
        };
        Self::Gradients(match clip {
            Some(clip) => optimizer.with_grad_clipping(clip),
            None => optimizer,
        })
    }

    /// Takes a step with the learning rate `rate`. If there is a `scale`, the loss is multiplied by its factor, and the
    /// gradients are divided by the factor. Returns the total loss of the step's queries before the step, `[1]`, and
    /// whether the step changed the model. A step is skipped if a gradient is not finite.
    pub(super) fn step(
        &mut self,
        rate: f64,
        model: &mut RankingModel,
        step: &TrainingStep,
        scale: Option<&mut LossScale>,
    ) -> (Tensor<1>, bool) {
        match self {
            Self::Gradients(optimizer) => {
                let (loss, grads) = step.gradients(model, scale.as_ref().map_or(1.0, |scale| scale.factor));
                let grads = match scale {
                    Some(scale) => scale.unscale(grads, model),
                    None => Some(grads),
                };
                let Some(grads) = grads else { return (loss, false) };
                *model = optimizer.step(rate, model.clone(), grads);
                (loss, true)
            }
            Self::Whole(lbfgs) => {
                let mut first = None;
                (*model, _) = lbfgs.step(rate, model.clone(), |model: RankingModel| {
                    let (loss, grads) = step.gradients(&model, 1.0);
                    count_read();
                    let mean = loss.clone().into_scalar::<f64>() / step.queries.len() as f64;
                    first.get_or_insert(loss);
                    (mean, grads)
                });
                (first.expect("L-BFGS begins with the loss of the model that it is given"), true)
            }
        }
    }

    /// Serializes the state.
    pub(super) fn to_bytes(&self) -> Result<Bytes, RecordError> {
        match self {
            Self::Gradients(optimizer) => optimizer.into_bytes(),
            Self::Whole(lbfgs) => lbfgs.into_bytes(),
        }
    }

    /// Returns a copy of the optimizer with the state that `bytes` encode.
    pub(super) fn with_bytes(&self, bytes: Bytes) -> Result<Self, RecordError> {
        Ok(match self.clone() {
            Self::Gradients(optimizer) => Self::Gradients(optimizer.from_bytes(bytes)?),
            Self::Whole(lbfgs) => Self::Whole(Box::new(lbfgs.from_bytes(bytes)?)),
        })
    }
}

fn penalty(decay: f64) -> Option<WeightDecayConfig> {
    (decay > 0.0).then(|| WeightDecayConfig::new(decay as f32))
}

/// Builds Muon for the matrices of `model`, and AdamW for its other parameters.
fn muon(momentum: f64, decay: f64, clip: Option<GradientClipping>, model: &RankingModel) -> ModuleOptimizer {
    let momentum = MomentumConfig::new().with_momentum(momentum).with_dampening(0.0).with_nesterov(true);
    let muon = MuonConfig::new()
        .with_momentum(momentum)
        .with_weight_decay(penalty(decay))
        .with_adjust_lr_fn(AdjustLrFn::MatchRmsAdamW);
    let others = AdamWConfig::new().with_epsilon(1e-8).with_weight_decay(decay as f32).init();
    others.with_group(ParamGroup::from_paths(matrices(model)), muon.build(), clip)
}

fn lbfgs(history: usize, iterations: usize) -> LBFGS {
    // burn multiplies these two numbers.
    let [history, iterations] = [history, iterations].map(|number| number.min(MOST_ITERATIONS));
    LBFGSConfig::new()
        .with_history_size(history)
        .with_max_iter(iterations)
        .with_max_eval(Some(1 + TRIALS * iterations))
        .with_line_search_fn(LineSearchFn::StrongWolfe)
        .init()
}

/// Returns the paths of the parameters with two dimensions, each larger than 1.
fn matrices(model: &RankingModel) -> Vec<String> {
    let mut matrices = Matrices::default();
    model.visit(&mut matrices);
    matrices.found
}

#[derive(Default)]
struct Matrices {
    path: Vec<String>,
    found: Vec<String>,
}

impl ModuleVisitor for Matrices {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_string());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if D == 2 && param.dims().iter().all(|&side| side > 1) {
            self.found.push(self.path.join("."));
        }
    }
}
