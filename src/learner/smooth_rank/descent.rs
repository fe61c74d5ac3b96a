//! Minimisation of `lambda ||w - w_0||^2 + sum of losses` at one sigma by argmin's Polak-Ribiere conjugate gradient (or
//! L-BFGS), both with the line search of More and Thuente.

use std::cell::RefCell;

use argmin::core::{CostFunction, Error, Gradient, IterState, Problem, Solver, State};
use argmin::solver::conjugategradient::{NonlinearConjugateGradient, beta::PolakRibierePlus};
use argmin::solver::linesearch::{LineSearch, MoreThuenteLineSearch};
use argmin::solver::quasinewton::LBFGS;
use serde::{Deserialize, Serialize};

use super::super::products::{add_scaled, dot};
use super::Objective;
use crate::loss::RankingLoss;

/// Gradient steps that L-BFGS remembers.
const MEMORY: usize = 10;

/// How each sigma is minimised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Optimizer {
    /// Polak-Ribiere conjugate gradient, as in the paper.
    #[default]
    ConjugateGradient,
    /// L-BFGS with ten remembered steps.
    Lbfgs,
}

/// When the minimisation of one sigma ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Most steps.
    pub(super) steps: usize,
    /// Least relative decrease of the objective in a step.
    pub(super) tolerance: f64,
}

/// Where a descent ended.
pub(super) struct Descent {
    pub(super) weights: Vec<f64>,
    /// The objective at the start and after every step; it never rises.
    pub(super) objectives: Vec<f64>,
    /// Norm of the gradient at the end.
    pub(super) gradient_norm: f64,
    /// Evaluations of the objective with its gradient.
    pub(super) evaluations: usize,
}

struct Evaluation {
    weights: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
}

/// The penalised objective for argmin, which asks for value and gradient separately: the last point is remembered.
struct Penalised<'a> {
    objective: &'a dyn Objective,
    loss: &'a dyn RankingLoss,
    lambda: f64,
    centre: &'a [f64],
    last: RefCell<Option<Evaluation>>,
    evaluations: RefCell<usize>,
}

impl Penalised<'_> {
    fn at<T>(&self, weights: &[f64], read: impl Fn(&Evaluation) -> T) -> T {
        let mut last = self.last.borrow_mut();
        match &*last {
            Some(evaluation) if evaluation.weights == weights => read(evaluation),
            _ => {
                *self.evaluations.borrow_mut() += 1;
                let (value, mut gradient) = self.objective.value_and_gradient(weights, self.loss);
                let mut away = weights.to_vec();
                add_scaled(&mut away, -1.0, self.centre);
                add_scaled(&mut gradient, 2.0 * self.lambda, &away);
                let value = value + self.lambda * dot(&away, &away);
                read(last.insert(Evaluation { weights: weights.to_vec(), value, gradient }))
            }
        }
    }
}

impl CostFunction for &Penalised<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, weights: &Self::Param) -> Result<f64, Error> {
        Ok(self.at(weights, |evaluation| evaluation.value))
    }
}

impl Gradient for &Penalised<'_> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, weights: &Self::Param) -> Result<Vec<f64>, Error> {
        Ok(self.at(weights, |evaluation| evaluation.gradient.clone()))
    }
}

type Weights = IterState<Vec<f64>, Vec<f64>, (), (), (), f64>;
type Search = MoreThuenteLineSearch<Vec<f64>, Vec<f64>, f64>;

/// Minimises `lambda ||w - centre||^2 + objective(w)` from `start`.
pub(super) fn minimise(
    objective: &dyn Objective,
    loss: &dyn RankingLoss,
    lambda: f64,
    centre: &[f64],
    start: &[f64],
    optimizer: Optimizer,
    limits: Limits,
) -> Descent {
    let penalised =
        Penalised { objective, loss, lambda, centre, last: RefCell::new(None), evaluations: RefCell::new(0) };
    let (value, slope) = penalised.at(start, |evaluation| (evaluation.value, norm(&evaluation.gradient)));
    // The first step tried goes a tenth of the length of the weights: the scale of scores is theirs.
    let length = if slope > 0.0 { 0.1 * norm(start).max(1e-3) / slope } else { 1.0 };
    let mut search = Search::new();
    search.initial_step_length(length).expect("a length above 0");
    let first = (start.to_vec(), value);
    let (weights, objectives) = match optimizer {
        Optimizer::ConjugateGradient => {
            let solver = NonlinearConjugateGradient::new(search, PolakRibierePlus::new());
            run(solver.restart_iters(start.len().max(2) as u64), &penalised, first, limits)
        }
        Optimizer::Lbfgs => run(LBFGS::new(search, MEMORY), &penalised, first, limits),
    };
    let gradient_norm = penalised.at(&weights, |evaluation| norm(&evaluation.gradient));
    let evaluations = *penalised.evaluations.borrow();
    Descent { weights, objectives, gradient_norm, evaluations }
}

/// Steps of a solver while they decrease the objective. A line search that fails ends the descent at the best point.
fn run<'a, S>(
    mut solver: S,
    penalised: &'a Penalised<'a>,
    first: (Vec<f64>, f64),
    limits: Limits,
) -> (Vec<f64>, Vec<f64>)
where
    S: Solver<&'a Penalised<'a>, Weights>,
{
    let (mut best, value) = first;
    let mut objectives = vec![value];
    let mut problem = Problem::new(penalised);
    let Ok((mut state, _)) = solver.init(&mut problem, Weights::new().param(best.clone())) else {
        return (best, objectives);
    };
    for _ in 0..limits.steps {
        let Ok((next, _)) = solver.next_iter(&mut problem, state) else { break };
        state = next;
        state.increment_iter();
        let before = objectives[objectives.len() - 1];
        let (Some(weights), value) = (state.get_param(), state.get_cost()) else { break };
        if !value.is_finite() || value > before {
            break;
        }
        best.clone_from(weights);
        objectives.push(value);
        if before - value <= limits.tolerance * value.abs() {
            break;
        }
    }
    (best, objectives)
}

fn norm(vector: &[f64]) -> f64 {
    dot(vector, vector).sqrt()
}
