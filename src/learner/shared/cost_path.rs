//! Fits a support vector learner for each of several costs `C`. Each cost is one round, which starts from the solution
//! for the previous cost. The selection measure chooses the best round.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::checks;
use super::context::{Fitted, Job, StopReason};
use super::rounds::{History, Iterative, Made, Recorded, Rounds, Set, Step};
use super::share::{Share, linear_model};
use crate::data::RankingDataset;
use crate::learner::error::{LearnerError, Result};
use crate::learner::solver::Solved;
use crate::ranker::Model;

/// Returns a solver's solution, or the reason why the fit ends without it. Warns if the solution is less accurate than
/// the tolerance demands.
///
/// The weights of an interrupted solver do not become a round, so a resumed fit solves the problem for this cost again.
/// They are kept as the best weights if there is no round yet. If the solver fails, the fit keeps the best earlier
/// round.
///
/// # Errors
/// [`LearnerError::Solver`] if the solver fails before any round is complete.
pub(crate) fn solution(
    learner: &'static str,
    cost: f64,
    solved: Result<Solved, String>,
    (history, best): (&History, &mut Option<Vec<f64>>),
    job: Job,
) -> Result<Result<Solved, StopReason>> {
    match solved {
        Ok(solved) if solved.converged => Ok(Ok(solved)),
        Ok(solved) if job.interrupted() => {
            if history.best_round == 0 {
                *best = Some(solved.weights);
            }
            Ok(Err(StopReason::Interrupted))
        }
        Ok(solved) => {
            let advice = match &solved.failure {
                Some(failure) => format!("{failure}: lower learner.c, or scale the features"),
                None => "raise learner.max_steps or learner.tolerance, or lower learner.c".to_owned(),
            };
            let (gap, objective) = (solved.gap.unwrap_or(f64::INFINITY), solved.objective);
            let gap = format!("duality gap {gap:.3e} at objective {objective:.6e} is not within learner.tolerance");
            job.warn(&format!("{learner}: c = {cost}: {gap}: {advice}"));
            Ok(Ok(solved))
        }
        Err(reason) => {
            let reason = format!("c = {cost}: {reason}; lower learner.c, or scale the features");
            if history.best_round == 0 {
                return Err(LearnerError::solver(learner, reason));
            }
            job.warn(&format!("{learner}: {reason}; the best round before it is kept"));
            Ok(Err(StopReason::NotConverged))
        }
    }
}

#[derive(Serialize, Deserialize)]
struct State {
    last: Vec<f64>,
    best: Option<Vec<f64>>,
    best_converged: bool,
}

struct CostPath<'a, S> {
    learner: &'static str,
    costs: &'a [f64],
    solve: S,
    job: Job<'a>,
    /// The weights of the last round, and whether the solver reached its tolerance.
    last: (Vec<f64>, bool),
}

impl<S: Fn(f64, &[f64]) -> Result<Solved, String>> Iterative for CostPath<'_, S> {
    type State = State;

    fn initial(&self) -> State {
        State { last: vec![0.0; self.job.train.feature_count], best: None, best_converged: false }
    }

    fn round(&mut self, history: &History, state: &mut State) -> Result<Step> {
        let cost = self.costs[history.rounds.len()];
        let solved = (self.solve)(cost, &state.last);
        let solved = match solution(self.learner, cost, solved, (history, &mut state.best), self.job)? {
            Ok(solved) => solved,
            Err(stop) => return Ok(Step::End(stop)),
        };
        let figures = [("c", cost)].into_iter().chain(solved.gap_figure()).chain(solved.figures);
        self.last = (solved.weights, solved.converged);
        Ok(Step::Made(Made::new(solved.objective, figures)))
    }

    fn scores(&self, _: Set, data: &RankingDataset) -> Result<Option<Cow<'_, [f64]>>> {
        Ok(Some(Share::new(data).all_scores(&self.last.0).into()))
    }

    fn recorded(&mut self, recorded: &Recorded, state: &mut State) -> Result<Option<StopReason>> {
        state.last.clone_from(&self.last.0);
        if recorded.improved {
            (state.best, state.best_converged) = (Some(self.last.0.clone()), self.last.1);
        }
        Ok(None)
    }

    fn conclude(&mut self, stop: StopReason, _: &History, state: &State) -> Result<StopReason> {
        Ok(match stop {
            StopReason::Completed if state.best_converged => StopReason::Converged,
            StopReason::Completed => StopReason::NotConverged,
            other => other,
        })
    }

    fn model(&self, state: &State, _: usize) -> Result<Model> {
        Ok(linear_model(state.best.as_ref().unwrap_or(&state.last), 0.0, &self.job.context.device))
    }
}

/// Fits each cost in turn by calling `solve(cost, start)`, where `start` holds the solver's initial weights. For the
/// first cost, these weights are 0; for every other cost, they are the solution for the previous cost.
pub(crate) fn fit(
    rounds: Rounds,
    params: &impl Serialize,
    costs: &[f64],
    solve: impl Fn(f64, &[f64]) -> Result<Solved, String>,
) -> Result<Fitted> {
    let (learner, job) = (rounds.learner, rounds.job);
    let mut path = CostPath { learner, costs, solve, job, last: (Vec::new(), false) };
    rounds.most(costs.len()).drive(params, &mut path)
}

/// One value, or a list from which the best value is chosen on validation data: `lambda = 0.1` or
/// `lambda = [0.01, 0.1, 1.0]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a finite number above 0, or a list of them")]
pub enum Candidates {
    /// One value.
    One(f64),
    /// Several values, which are tried in this order.
    Many(Vec<f64>),
}

impl Candidates {
    /// Returns the values in the order in which they are tried.
    pub fn values(&self) -> &[f64] {
        match self {
            Candidates::One(value) => std::slice::from_ref(value),
            Candidates::Many(values) => values,
        }
    }

    /// Returns the powers of ten from `10^from` to `10^to`, both included.
    pub(crate) fn powers_of_ten(from: i32, to: i32) -> Self {
        // The powers are parsed, not computed, so 1e-6 is exactly the number that a configuration file gives.
        let power = |exponent: i32| format!("1e{exponent}").parse().expect("a number");
        Candidates::Many((from..=to).map(power).collect())
    }

    /// Checks that there are values, and that each is a finite number above 0.
    pub(crate) fn check(&self, name: &str) -> Result<()> {
        checks::require(name, "[]", !self.values().is_empty(), "one value or more")?;
        self.values().iter().try_for_each(|&value| checks::positive(name, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        let read = |text: &str| serde_json::from_str::<Candidates>(text).unwrap();
        assert_eq!(read("0.5").values(), [0.5]);
        assert_eq!(read("[1, 2.5]").values(), [1.0, 2.5]);
        let refused = |text: &str| read(text).check("lambda").unwrap_err().to_string();
        assert_eq!(refused("[1, 0]"), "learner.lambda = 0: expected a finite number above 0");
        assert_eq!(refused("[]"), "learner.lambda = []: expected one value or more");
    }

    #[test]
    fn powers_of_ten_equal_the_written_numbers() {
        assert_eq!(Candidates::powers_of_ten(-3, 1).values(), [0.001, 0.01, 0.1, 1.0, 10.0]);
    }
}
