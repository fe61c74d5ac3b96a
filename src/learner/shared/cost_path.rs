//! Fits a support vector learner for each of several costs `C`. Each cost is one round, which starts from the solution
//! for the previous cost. The selection measure chooses the best round.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::context::{FitContext, Fitted, StopReason};
use super::linear;
use super::rounds::{History, Iterative, Made, Recorded, Rounds, Set, Step};
use super::share::Share;
use crate::data::RankingDataset;
use crate::learner::error::LearnerError;
use crate::learner::solver::solved::Solved;
use crate::ranker::Model;

/// The result of the attempt to solve the problem for one cost.
pub(crate) enum Attempt {
    /// The solver returned a solution, which becomes a round.
    Solved(Solved),
    /// The solver was interrupted, so its weights do not become a round. A resumed fit solves the problem for this cost
    /// again.
    Interrupted(Vec<f64>),
    /// The solver failed, so the fit ends and keeps the best earlier round.
    Failed,
}

impl Attempt {
    /// Decides what becomes of a solver's result, and warns if a solution is less accurate than the tolerance demands.
    ///
    /// # Errors
    /// [`LearnerError::Solver`] if the solver fails before any round is complete.
    pub(crate) fn new(
        learner: &'static str,
        cost: f64,
        solved: Result<Solved, String>,
        history: &History,
        context: &FitContext,
        train: &RankingDataset,
    ) -> Result<Self, LearnerError> {
        match solved {
            Ok(solved) if solved.converged => Ok(Self::Solved(solved)),
            Ok(solved) if context.interrupted(train) => Ok(Self::Interrupted(solved.weights)),
            Ok(solved) => {
                context.progress.warn(&complaint(&solved, learner, cost));
                Ok(Self::Solved(solved))
            }
            Err(reason) => {
                let reason = format!("c = {cost}: {reason}; lower learner.c, or scale the features");
                if history.best_round() == 0 {
                    return Err(LearnerError::Solver { learner, reason });
                }
                context.progress.warn(&format!("{learner}: {reason}; the best round before it is kept"));
                Ok(Self::Failed)
            }
        }
    }
}

/// Returns the warning about a solution that is less accurate than the tolerance demands.
fn complaint(solved: &Solved, learner: &str, cost: f64) -> String {
    let advice = match &solved.failure {
        Some(failure) => format!("{failure}: lower learner.c, or scale the features"),
        None => "raise learner.max_steps or learner.tolerance, or lower learner.c".to_owned(),
    };
    format!(
        "{learner}: c = {cost}: duality gap {:.3e} at objective {:.6e} is not within learner.tolerance: {advice}",
        solved.gap.unwrap_or(f64::INFINITY),
        solved.objective
    )
}

#[derive(Serialize, Deserialize)]
struct State {
    last: Vec<f64>,
    best: Vec<f64>,
    best_converged: bool,
}

struct CostPath<'a, S> {
    learner: &'static str,
    costs: &'a [f64],
    train: &'a RankingDataset,
    solve: S,
    context: &'a FitContext<'a>,
    /// The weights of the last round, and whether the solver reached its tolerance.
    last: (Vec<f64>, bool),
}

impl<S: Fn(f64, &[f64]) -> Result<Solved, String>> Iterative for CostPath<'_, S> {
    type State = State;

    fn initial(&self) -> State {
        let zeros = vec![0.0; self.train.feature_count];
        State { last: zeros.clone(), best: zeros, best_converged: false }
    }

    fn round(&mut self, history: &History, state: &mut State) -> Result<Step, LearnerError> {
        let cost = self.costs[history.rounds().len()];
        let solved = (self.solve)(cost, &state.last);
        let solved = match Attempt::new(self.learner, cost, solved, history, self.context, self.train)? {
            Attempt::Solved(solved) => solved,
            Attempt::Interrupted(half) => {
                if history.best_round() == 0 {
                    state.best = half;
                }
                return Ok(Step::End(StopReason::Interrupted));
            }
            Attempt::Failed => return Ok(Step::End(StopReason::NotConverged)),
        };
        let mut made = Made::new(solved.objective, [("c", cost)]);
        made.figures.extend(solved.gap_figure());
        made.figures.extend(solved.figures);
        self.last = (solved.weights, solved.converged);
        Ok(Step::Made(made))
    }

    fn scores(&self, _: Set, data: &RankingDataset) -> Result<Option<Cow<'_, [f64]>>, LearnerError> {
        Ok(Some(Share::new(data).all_scores(&self.last.0).into()))
    }

    fn recorded(&mut self, recorded: &Recorded, state: &mut State) -> Result<Option<StopReason>, LearnerError> {
        state.last.clone_from(&self.last.0);
        if recorded.improved {
            (state.best, state.best_converged) = self.last.clone();
        }
        Ok(None)
    }

    fn conclude(&mut self, stop: StopReason, _: &History, state: &State) -> Result<StopReason, LearnerError> {
        Ok(match stop {
            StopReason::Completed if state.best_converged => StopReason::Converged,
            StopReason::Completed => StopReason::NotConverged,
            other => other,
        })
    }

    fn model(&self, state: &State, _: usize) -> Result<Model, LearnerError> {
        Ok(linear::model(&state.best, 0.0, &self.context.device))
    }
}

/// Fits each cost in turn by calling `solve(cost, start)`, where `start` holds the solver's initial weights. For the
/// first cost, these weights are 0; for every other cost, they are the solution for the previous cost.
pub(crate) fn fit(
    rounds: Rounds,
    params: &impl Serialize,
    costs: &[f64],
    solve: impl Fn(f64, &[f64]) -> Result<Solved, String>,
) -> Result<Fitted, LearnerError> {
    let (learner, train, context) = (rounds.learner, rounds.train, rounds.context);
    let mut path = CostPath { learner, costs, train, solve, context, last: (Vec::new(), false) };
    rounds.most(costs.len()).drive(params, &mut path)
}
