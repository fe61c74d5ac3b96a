//! Implements the rounds of ridge regression, each of which solves the problem for one lambda.

use std::borrow::Cow;

use super::config::{NAME, Regression};
use crate::data::RankingDataset;
use crate::learner::entry::RankingLearner;
use crate::learner::error::LearnerError;
use crate::learner::shared::context::{FitContext, Fitted, StopReason};
use crate::learner::shared::gains::{balanced_weights, gains};
use crate::learner::shared::linear;
use crate::learner::shared::rounds::{History, Iterative, Made, Recorded, Rounds, Set, Step};
use crate::learner::shared::share::Share;
use crate::learner::solver::normal_equations::{LinearSolution, NormalEquations};
use crate::ranker::Model;

/// The latest solution, and the normal equations that are solved for each lambda in turn.
struct Lambdas<'a> {
    lambdas: &'a [f64],
    train: &'a RankingDataset,
    /// `None` if the fit was stopped before the first round.
    equations: Option<NormalEquations>,
    solution: LinearSolution,
    context: &'a FitContext<'a>,
}

impl Iterative for Lambdas<'_> {
    /// The solution of the best round so far.
    type State = Option<LinearSolution>;

    fn initial(&self) -> Self::State {
        None
    }

    fn round(&mut self, history: &History, _: &mut Self::State) -> Result<Step, LearnerError> {
        let lambda = self.lambdas[history.rounds().len()];
        let stop = || self.context.interrupted(self.train);
        let Some(equations) = &self.equations else { return Ok(Step::End(StopReason::Interrupted)) };
        let Some(solution) = equations.solve(lambda, &stop) else {
            if stop() {
                return Ok(Step::End(StopReason::Interrupted));
            }
            let reason = format!("the normal equations are singular at learner.lambda = {lambda}: raise it");
            return Err(LearnerError::Solver { learner: NAME, reason });
        };
        self.solution = solution;
        let objective = equations.objective(&self.solution.weights, lambda);
        Ok(Step::Made(Made::new(objective, [("lambda", lambda)])))
    }

    fn scores(&self, _: Set, data: &RankingDataset) -> Result<Option<Cow<'_, [f64]>>, LearnerError> {
        Ok(Some(Share::new(data).all_scores(&self.solution.weights).into()))
    }

    fn recorded(&mut self, recorded: &Recorded, best: &mut Self::State) -> Result<Option<StopReason>, LearnerError> {
        if recorded.improved {
            *best = Some(self.solution.clone());
        }
        Ok(None)
    }

    fn model(&self, best: &Self::State, _: usize) -> Result<Model, LearnerError> {
        // After an interruption before the first round the solution is still 0.
        let LinearSolution { weights, bias } = best.as_ref().unwrap_or(&self.solution);
        Ok(linear::model(weights, *bias, &self.context.device))
    }
}

impl RankingLearner for Regression {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(
        &self,
        train: &RankingDataset,
        validation: Option<&RankingDataset>,
        context: &FitContext,
    ) -> Result<Fitted, LearnerError> {
        let rounds = Rounds::new(NAME, train, validation, context)?.most(self.lambdas.len());
        let targets = gains(NAME, train, &self.config.gain, ": change learner.gain")?;
        let weights = if self.config.balanced {
            balanced_weights(train)
        } else {
            vec![1.0 / train.documents() as f64; train.documents()]
        };
        NormalEquations::ask_memory(train)?;
        let stop = || train.group().leads() && context.interrupt.requested();
        let equations = NormalEquations::new(train, &targets, &weights, self.config.intercept, &stop);
        let solution = LinearSolution { weights: vec![0.0; train.feature_count], bias: 0.0 };
        rounds.drive(&self.config, &mut Lambdas { lambdas: &self.lambdas, train, equations, solution, context })
    }
}
