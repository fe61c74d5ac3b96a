//! A grid of costs `C` for the support vector learners: each is one round, solved from the solution before it, and the
//! selection measure chooses.

use serde::{Deserialize, Serialize};

use super::context::{FitContext, Fitted, Round, StopReason};
use super::judge::Judge;
use super::linear;
use super::rounds::Rounds;
use crate::data::Dataset;
use crate::learner::error::LearnerError;

/// The solution of one convex problem.
pub(crate) struct Solved {
    pub(crate) weights: Vec<f64>,
    pub(crate) objective: f64,
    /// Objective minus a lower bound of the minimum, where there is one.
    pub(crate) gap: Option<f64>,
    /// Whether the gap is within the tolerance.
    pub(crate) converged: bool,
    /// What broke the solver off, where something did.
    pub(crate) failure: Option<String>,
    /// Figures of the solver, for the round.
    pub(crate) figures: Vec<(String, f64)>,
}

impl Solved {
    /// What to tell the user about a solution that did not converge.
    pub(crate) fn complaint(&self, learner: &str, cost: f64) -> String {
        let advice = match &self.failure {
            Some(failure) => format!("{failure}: take a smaller learner.c, or scale the features"),
            None => "raise learner.max_steps, or take a smaller learner.c or a larger learner.tolerance".to_owned(),
        };
        format!(
            "{learner}: c = {cost}: duality gap {:.3e} at objective {:.6e} is not within learner.tolerance: {advice}",
            self.gap.unwrap_or(f64::INFINITY),
            self.objective
        )
    }

    /// The gap as a figure of a round.
    pub(crate) fn gap_figure(&self) -> Option<(String, f64)> {
        self.gap.map(|gap| ("duality_gap".to_owned(), gap))
    }
}

/// The end of a fit whose solver failed at a cost: an error without a round to keep, else a warning.
pub(crate) fn broken_off(
    learner: &'static str,
    cost: f64,
    reason: &str,
    best_round: usize,
    context: &FitContext,
) -> Result<StopReason, LearnerError> {
    let reason = format!("c = {cost}: {reason}; take a smaller learner.c, or scale the features");
    if best_round == 0 {
        return Err(LearnerError::Solver { learner, reason });
    }
    context.progress.warn(&format!("{learner}: {reason}; the best round before it is kept"));
    Ok(StopReason::NotConverged)
}

#[derive(Serialize, Deserialize)]
struct State {
    last: Vec<f64>,
    best: Vec<f64>,
    best_converged: bool,
}

/// Fits each cost in turn with `solve(cost, start)`; `start` is 0 for the first, then the solution before.
pub(crate) fn fit(
    name: &'static str,
    config: &impl Serialize,
    costs: &[f64],
    train: &Dataset,
    validation: Option<&Dataset>,
    context: &FitContext,
    solve: impl Fn(f64, &[f64]) -> Result<Solved, String>,
) -> Result<Fitted, LearnerError> {
    let zeros = vec![0.0; train.feature_count];
    let initial = || State { last: zeros.clone(), best: zeros.clone(), best_converged: false };
    let mut rounds = Rounds::start(name, config, train, validation, Some(costs.len()), context, initial)?;
    let judge = Judge::of_selection(context)?;
    let stop = loop {
        if let Some(stop) = rounds.stop() {
            break stop;
        }
        let round = rounds.next();
        let cost = costs[round - 1];
        let solved = match solve(cost, &rounds.state.last) {
            Ok(solved) => solved,
            Err(reason) => {
                break broken_off(name, cost, &reason, rounds.best_round(), context)?;
            }
        };
        if !solved.converged && context.interrupt.requested() {
            // Half a solution is not a round: a resumed fit solves this cost again.
            if rounds.best_round() == 0 {
                rounds.state.best = solved.weights;
            }
            break StopReason::Interrupted;
        }
        if !solved.converged {
            context.progress.warn(&solved.complaint(name, cost));
        }
        let merit = |data: &Dataset| judge.mean(data, &linear::scores(data, &solved.weights));
        let mut figures = vec![("c".to_owned(), cost)];
        figures.extend(solved.gap_figure());
        figures.extend(solved.figures);
        let improved = rounds.record(Round {
            round,
            objective: solved.objective,
            train: merit(train)?,
            validation: validation.map(merit).transpose()?.flatten(),
            figures,
        });
        if improved {
            rounds.state.best = solved.weights.clone();
            rounds.state.best_converged = solved.converged;
        }
        rounds.state.last = solved.weights;
        rounds.save_when_due()?;
    };
    let converged = rounds.state.best_converged;
    let stop = match stop {
        StopReason::Completed if converged => StopReason::Converged,
        StopReason::Completed => StopReason::NotConverged,
        other => other,
    };
    rounds.finish(stop, |state, _| Ok(linear::model(&state.best, 0.0, &context.device)))
}
