//! Implements the rounds of SmoothRank, each of which minimizes the objective for one lambda and one sigma.

use burn::tensor::DType;

use super::descent::{self, Descent};
use super::kernel::KernelMap;
use super::objective::{LinearObjective, NetworkObjective, Objective};
use super::{NAME, SmoothRank, SmoothRankConfig};
use crate::data::BatchPlanner;
use crate::data::batch::BatchPlannerConfig;
use crate::learner::prelude::*;
use crate::learner::shared::flat_loss::CELLS;
use crate::learner::shared::gains::{balanced_weights, start_gain, start_gains};
use crate::learner::solver::normal_equations::NormalEquations;
use crate::loss::MseGainConfig;

/// The maximum number of steps of the regression, as a multiple of the maximum for one sigma. More steps are allowed
/// because the regression starts from random weights.
const REGRESSION_STEPS: usize = 5;

#[derive(Serialize, Deserialize)]
struct State {
    /// The weights after the last round.
    weights: Vec<f64>,
    /// The weights of the best round.
    best: Vec<f64>,
    /// Whether the best round ended because it reached the maximum number of steps.
    best_cut_short: bool,
}

impl SmoothRank {
    /// Returns the weights of a ridge regression on the gains, from which the fit starts.
    pub(super) fn ridge(&self, train: &RankingDataset) -> Result<Vec<f64>> {
        let targets = start_gains(NAME, train, &*self.loss.built)?;
        let weights = if self.config.start_balanced { balanced_weights(train) } else { vec![1.0; train.documents()] };
        NormalEquations::ask_memory(train)?;
        let equations = NormalEquations::new(train, &targets, &weights, true, &|| false);
        let lambda = self.config.start_lambda;
        let Some(solution) = equations.and_then(|equations| equations.solve(lambda, &|| false)) else {
            let fault = "the ridge regression of the start is singular at";
            return Err(LearnerError::solver(NAME, format_args!("{fault} learner.start_lambda = {lambda}: raise it")));
        };
        // A model holds its weights as `f32`.
        if !solution.weights.iter().all(|&weight| (weight as f32).is_finite()) {
            let reason = "the ridge regression of the start has infinite weights: lower the labels or their gains";
            return Err(LearnerError::solver(NAME, reason));
        }
        Ok(solution.weights)
    }

    /// Returns the weights with which a scorer of any kind predicts the gains best in the least-squares sense, from
    /// which its fit starts. The minimization starts from the initial weights of the scorer.
    fn regression(&self, objective: &NetworkObjective) -> Result<Vec<f64>> {
        let loss = MseGainConfig::new().with_gain(start_gain(&*self.loss.built)).init()?;
        let initial = objective.network.parameters();
        let config = SmoothRankConfig { steps: REGRESSION_STEPS * self.config.steps, ..self.config.clone() };
        Ok(descent::minimize(objective, &loss, config.start_lambda, &initial, &initial, &config)?.weights)
    }
}

/// Runs Algorithm 1 of the SmoothRank paper for each lambda, starting from the weights `center`.
struct Annealing<'a> {
    learner: &'a SmoothRank,
    objective: &'a dyn Objective,
    center: &'a [f64],
    job: Job<'a>,
    /// The weights after the last round, and whether it was at the last sigma and reached the maximum number of steps.
    weights: Vec<f64>,
    cut_short: bool,
}

impl Annealing<'_> {
    /// Returns the lambda of a round, counted from 0.
    fn lambda(&self, round: usize) -> f64 {
        self.learner.config.lambda.values()[round / self.learner.sigmas.len()]
    }
}

impl Iterative for Annealing<'_> {
    type State = State;

    fn initial(&self) -> State {
        State { weights: self.center.to_vec(), best: self.center.to_vec(), best_cut_short: false }
    }

    fn round(&mut self, history: &History, state: &mut State) -> Result<Step> {
        let (round, sigmas) = (history.rounds.len(), &self.learner.sigmas);
        let (lambda, sigma) = (self.lambda(round), sigmas[round % sigmas.len()]);
        let start = if round % sigmas.len() == 0 { self.center } else { &state.weights };
        let loss = self.learner.surrogate(sigma)?;
        let Descent { weights, objectives, gradient_norm, evaluations, cut_short } =
            descent::minimize(self.objective, &*loss, lambda, self.center, start, &self.learner.config)?;
        let value = objectives[objectives.len() - 1];
        let away: f64 = weights.iter().zip(self.center).map(|(weight, at)| (weight - at).powi(2)).sum();
        let is_last = (round + 1).is_multiple_of(sigmas.len());
        (self.weights, self.cut_short) = (weights, cut_short && is_last);
        let figures = [
            ("lambda", lambda),
            ("sigma", sigma),
            ("steps", (objectives.len() - 1) as f64),
            ("evaluations", evaluations as f64),
            ("gradient_norm", gradient_norm),
        ];
        let made = Made { losses: Some(value - lambda * away), ..Made::new(value, figures) };
        Ok(if is_last { Step::Made(made) } else { Step::Passed(made) })
    }

    fn scores(&self, set: Set, _: &RankingDataset) -> Result<Option<Cow<'_, [f64]>>> {
        Ok(Some(self.objective.scores(&self.weights, set).into()))
    }

    fn recorded(&mut self, recorded: &Recorded, state: &mut State) -> Result<Option<StopReason>> {
        state.weights.clone_from(&self.weights);
        if recorded.improved {
            state.best.clone_from(&self.weights);
            state.best_cut_short = self.cut_short;
        }
        Ok(None)
    }

    fn conclude(&mut self, stop: StopReason, history: &History, state: &State) -> Result<StopReason> {
        if state.best_cut_short && stop != StopReason::Interrupted {
            self.job.warn(&format!(
                "{NAME}: the last sigma of lambda = {} ended after learner.steps = {} steps, above learner.tolerance",
                self.lambda(history.best_round - 1),
                self.learner.config.steps
            ));
        }
        Ok(stop)
    }

    fn model(&self, state: &State, _: usize) -> Result<Model> {
        Ok(self.objective.model(&state.best))
    }
}

impl RankingLearner for SmoothRank {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, job: Job) -> Result<Fitted> {
        let rounds = Rounds::new(NAME, job)?;
        let surrogate = self.surrogate(self.config.first_sigma)?;
        checks::learnable(NAME, &*surrogate, job)?;
        let plan = BatchPlanner::with(job.train, &BatchPlannerConfig::in_order(CELLS), 0)
            .map_err(|error| LearnerError::data(NAME, error))?;
        checks::ask_pairs(&*surrogate, plan.shapes(), DType::F64, &job.context.device)?;
        let anneal = |objective: &dyn Objective, center: &[f64]| {
            let rounds =
                rounds.most(self.config.lambda.values().len() * self.sigmas.len()).beside_measure(&*surrogate)?;
            let (weights, cut_short) = (Vec::new(), false);
            let mut annealing = Annealing { learner: self, objective, center, job, weights, cut_short };
            rounds.drive(&(&self.config, &self.loss, &self.scorer), &mut annealing)
        };
        if !matches!(self.scorer, ScorerConfig::Linear(_)) {
            let objective = NetworkObjective::new(&self.scorer, job)?;
            return anneal(&objective, &self.regression(&objective)?);
        }
        let Job { train, validation, context } = job;
        let objective = match self.config.kernel_components {
            None => LinearObjective::new(Cow::Borrowed(train), validation.map(Cow::Borrowed), None, &context.device)?,
            Some(components) => {
                let SmoothRankConfig { kernel_landmarks, kernel_gamma, .. } = self.config;
                KernelMap::ask_memory(job, kernel_landmarks, components)?;
                let map = KernelMap::new(train, kernel_landmarks, components, kernel_gamma, context.seed);
                let mapped = |data| Cow::Owned(map.map(data));
                let (train, validation) = (mapped(train), validation.map(mapped));
                LinearObjective::new(train, validation, Some(map), &context.device)?
            }
        };
        anneal(&objective, &self.ridge(&objective.train)?)
    }
}
