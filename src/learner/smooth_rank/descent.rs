//! Minimizes `lambda ||w - w_0||^2` plus the sum of the losses, for one sigma. The method is argmin's conjugate
//! gradient (Polak and Ribiere) or L-BFGS, with the line search of More and Thuente.

use std::cell::{Cell, RefCell};

use argmin::core::{CostFunction, Error, Gradient, IterState, Problem, Solver, State};
use argmin::solver::conjugategradient::{NonlinearConjugateGradient, beta::PolakRibierePlus};
use argmin::solver::linesearch::{LineSearch, MoreThuenteLineSearch};
use argmin::solver::quasinewton::LBFGS;

use super::objective::Objective;
use super::{NAME, Optimizer, SmoothRankConfig};
use crate::learner::prelude::*;

/// The number of recent steps from which L-BFGS estimates the curvature.
const MEMORY: usize = 10;

/// The result of the minimization for one sigma.
pub(super) struct Descent {
    pub(super) weights: Vec<f64>,
    /// The objective at the start and after every step. These values never rise.
    pub(super) objectives: Vec<f64>,
    /// The norm of the gradient at the final weights.
    pub(super) gradient_norm: f64,
    /// The number of times the objective and its gradient were computed.
    pub(super) evaluations: usize,
    /// Whether the minimization ended because the maximum number of steps was reached.
    pub(super) cut_short: bool,
}

struct Evaluation {
    weights: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
    /// The length of the gradient.
    slope: f64,
}

/// The objective with its penalty, as argmin evaluates it. The last evaluation is stored, since argmin asks for the
/// value and the gradient in separate calls.
struct Penalized<'a> {
    objective: &'a dyn Objective,
    loss: &'a dyn RankingLoss,
    lambda: f64,
    center: &'a [f64],
    last: RefCell<Option<Evaluation>>,
    evaluations: Cell<usize>,
}

impl Penalized<'_> {
    fn at<T>(&self, weights: &[f64], read: impl Fn(&Evaluation) -> T) -> T {
        let mut last = self.last.borrow_mut();
        match &*last {
            Some(evaluation) if evaluation.weights == weights => read(evaluation),
            _ => {
                self.evaluations.set(self.evaluations.get() + 1);
                let (value, mut gradient) = self.objective.value_and_gradient(weights, self.loss);
                let mut away = weights.to_vec();
                add_scaled(&mut away, -1.0, self.center);
                add_scaled(&mut gradient, 2.0 * self.lambda, &away);
                let value = value + self.lambda * dot(&away, &away);
                let slope = dot(&gradient, &gradient).sqrt();
                read(last.insert(Evaluation { weights: weights.to_vec(), value, gradient, slope }))
            }
        }
    }

    /// Returns the result of [`at`](Self::at), or an error if the value or the gradient is not finite. Without this
    /// error, a NaN would make the line search run forever.
    fn where_finite<T>(&self, weights: &[f64], read: impl Fn(&Evaluation) -> T) -> Result<T, Error> {
        let found = self.at(weights, |evaluation| {
            (evaluation.value.is_finite() && evaluation.slope.is_finite()).then(|| read(evaluation))
        });
        found.ok_or_else(|| Error::msg("the objective is not finite"))
    }
}

impl CostFunction for &Penalized<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, weights: &Self::Param) -> Result<f64, Error> {
        self.where_finite(weights, |evaluation| evaluation.value)
    }
}

impl Gradient for &Penalized<'_> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, weights: &Self::Param) -> Result<Vec<f64>, Error> {
        self.where_finite(weights, |evaluation| evaluation.gradient.clone())
    }
}

type Weights = IterState<Vec<f64>, Vec<f64>, (), (), (), f64>;
type Search = MoreThuenteLineSearch<Vec<f64>, Vec<f64>, f64>;

/// Minimizes `lambda ||w - center||^2 + objective(w)` from `start`.
///
/// # Errors
/// [`LearnerError::Solver`] if the objective or its gradient is not finite at the start.
pub(super) fn minimize(
    objective: &dyn Objective,
    loss: &dyn RankingLoss,
    lambda: f64,
    center: &[f64],
    start: &[f64],
    config: &SmoothRankConfig,
) -> Result<Descent> {
    let penalized = Penalized { objective, loss, lambda, center, last: RefCell::new(None), evaluations: Cell::new(0) };
    let (value, slope) = penalized.at(start, |evaluation| (evaluation.value, evaluation.slope));
    if !(value.is_finite() && slope.is_finite()) {
        let reason = format!(
            "the descent on `{}` starts at the value {value:.3e} with a gradient of length {slope:.3e}: \
             normalize the features, or lower the labels or their gains",
            loss.about().name
        );
        return Err(LearnerError::solver(NAME, reason));
    }
    let first = (start.to_vec(), value);
    let (weights, objectives, cut_short) = match config.optimizer {
        Optimizer::ConjugateGradient => {
            let turns = start.len().max(2) as u64;
            let solver = |search| NonlinearConjugateGradient::new(search, PolakRibierePlus::new()).restart_iters(turns);
            run(solver, &penalized, first, config)
        }
        Optimizer::Lbfgs => run(|search| LBFGS::new(search, MEMORY), &penalized, first, config),
    };
    let gradient_norm = penalized.at(&weights, |evaluation| evaluation.slope);
    let evaluations = penalized.evaluations.get();
    Ok(Descent { weights, objectives, gradient_norm, evaluations, cut_short })
}

/// Runs a solver as long as its steps decrease the objective. Returns the best weights, the objective after each step,
/// and whether the maximum number of steps was reached. If a step increases the objective, or the line search fails, a
/// new solver starts with a step along the negative gradient. If the first step of the new solver fails, too, the
/// minimization ends at the best weights.
fn run<'a, S>(
    solver: impl Fn(Search) -> S,
    penalized: &'a Penalized<'a>,
    first: (Vec<f64>, f64),
    config: &SmoothRankConfig,
) -> (Vec<f64>, Vec<f64>, bool)
where
    S: Solver<&'a Penalized<'a>, Weights>,
{
    let (mut best, value) = first;
    let mut objectives = vec![value];
    while objectives.len() <= config.steps {
        // A line search that fails does not return the problem, so each solver has its own.
        let mut problem = Problem::new(penalized);
        let mut solver = solver(search(penalized, &best));
        let Ok((mut state, _)) = solver.init(&mut problem, Weights::new().param(best.clone())) else { break };
        let before = objectives.len();
        while objectives.len() <= config.steps {
            let Ok((next, _)) = solver.next_iter(&mut problem, state) else { break };
            state = next;
            state.increment_iter();
            let last = objectives[objectives.len() - 1];
            let (Some(weights), value) = (state.get_param(), state.get_cost()) else { break };
            if !value.is_finite() || value > last {
                break;
            }
            best.clone_from(weights);
            objectives.push(value);
            if last - value <= config.tolerance * value.abs() {
                return (best, objectives, false);
            }
        }
        if objectives.len() == before {
            return (best, objectives, false);
        }
    }
    let cut_short = objectives.len() > config.steps;
    (best, objectives, cut_short)
}

/// Creates a line search whose first step is a tenth of the norm of the weights. This norm is used because it
/// determines the scale of the scores.
fn search(penalized: &Penalized, weights: &[f64]) -> Search {
    let slope = penalized.at(weights, |evaluation| evaluation.slope);
    let length = if slope > 0.0 { 0.1 * dot(weights, weights).sqrt().max(1e-3) / slope } else { 1.0 };
    let mut search = Search::new();
    search.initial_step_length(length).expect("a length above 0");
    search
}
