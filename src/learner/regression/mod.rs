//! Ridge regression on gains, in closed form.
//!
//! ```text
//! minimize  sum_d c_d (w . x_d + b - G(y_d))^2 + lambda ||w||^2,   sum_d c_d = 1
//! ```
//!
//! Balanced weights `c` give the relevant documents (label 1 or above) the same total weight as the irrelevant
//! documents (smoothrank, section 7). Without balanced weights, all documents have the same weight. The intercept `b`
//! is not penalized. An intercept shifts all scores equally, so it does not affect rankings, but fitting it changes the
//! weights. SmoothRank starts from the solution of this regression (section 4.4.1).
//!
//! The sums over documents cost O(documents x features^2), and each lambda costs O(features^3) for a Cholesky
//! factorization. With an intercept, a constant feature has the weight 0. Without an intercept, a constant feature acts
//! as a penalized intercept. Each lambda is a round. The round with the best selection measure is chosen. If several
//! rounds are equally good, the earliest of them is chosen.

#[cfg(test)]
mod tests;

use crate::learner::prelude::*;
use crate::learner::shared::gains::{balanced_weights, gains};
use crate::learner::solver::normal_equations::{LinearSolution, NormalEquations};
use crate::measure::Gain;

const NAME: &str = "regression";

pub(super) const ENTRY: LearnerEntry = LearnerEntry {
    summary: "ridge regression on gains, in closed form, lambda chosen on validation data",
    paper: "Chapelle and Wu, Gradient descent optimization of smoothed information retrieval metrics, sections 4.4.1 \
            and 7",
    ..LearnerEntry::of::<RegressionConfig>(NAME)
};

/// The configuration of a ridge regression on gains. A checked configuration is the learner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RegressionConfig {
    /// The penalty on the squared weights: one value above 0, or a list from which the best value is chosen on
    /// validation data.
    pub lambda: Candidates,
    /// Whether the relevant documents and all other documents have the same total weight.
    pub balanced: bool,
    /// Whether to fit an intercept in addition to the weights.
    pub intercept: bool,
    /// The gain of each label. The regression predicts these gains.
    pub gain: Gain,
}

impl Default for RegressionConfig {
    fn default() -> Self {
        Self { lambda: Candidates::powers_of_ten(-6, 1), balanced: true, intercept: true, gain: Gain::Exp2 }
    }
}

impl LearnerConfig for RegressionConfig {
    type RankingLearner = Self;

    fn check(&self, _: &Parts) -> Result<Self> {
        self.gain.check()?;
        self.lambda.check("lambda")?;
        Ok(self.clone())
    }
}

/// The latest solution, and the normal equations that are solved for each lambda in turn.
struct Lambdas<'a> {
    lambdas: &'a [f64],
    job: Job<'a>,
    /// `None` if the fit was stopped before the first round.
    equations: Option<NormalEquations>,
    solution: LinearSolution,
}

impl Iterative for Lambdas<'_> {
    /// The solution of the best round so far.
    type State = Option<LinearSolution>;

    fn initial(&self) -> Self::State {
        None
    }

    fn round(&mut self, history: &History, _: &mut Self::State) -> Result<Step> {
        let lambda = self.lambdas[history.rounds.len()];
        let stop = || self.job.interrupted();
        let Some(equations) = &self.equations else { return Ok(Step::End(StopReason::Interrupted)) };
        let Some(solution) = equations.solve(lambda, &stop) else {
            if stop() {
                return Ok(Step::End(StopReason::Interrupted));
            }
            let reason = format!("the normal equations are singular at learner.lambda = {lambda}: raise it");
            return Err(LearnerError::solver(NAME, reason));
        };
        self.solution = solution;
        let objective = equations.objective(&self.solution.weights, lambda);
        Ok(Step::Made(Made::new(objective, [("lambda", lambda)])))
    }

    fn scores(&self, _: Set, data: &RankingDataset) -> Result<Option<Cow<'_, [f64]>>> {
        Ok(Some(Share::new(data).all_scores(&self.solution.weights).into()))
    }

    fn recorded(&mut self, recorded: &Recorded, best: &mut Self::State) -> Result<Option<StopReason>> {
        if recorded.improved {
            *best = Some(self.solution.clone());
        }
        Ok(None)
    }

    fn model(&self, best: &Self::State, _: usize) -> Result<Model> {
        // After an interruption before the first round the solution is still 0.
        let LinearSolution { weights, bias } = best.as_ref().unwrap_or(&self.solution);
        Ok(linear_model(weights, *bias, &self.job.context.device))
    }
}

impl RankingLearner for RegressionConfig {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, job: Job) -> Result<Fitted> {
        let lambdas = self.lambda.values();
        let (train, rounds) = (job.train, Rounds::new(NAME, job)?.most(lambdas.len()));
        let targets = gains(NAME, train, &self.gain, ": change learner.gain")?;
        let weights = if self.balanced {
            balanced_weights(train)
        } else {
            vec![1.0 / train.documents() as f64; train.documents()]
        };
        NormalEquations::ask_memory(train)?;
        let stop = || train.group().leads() && job.context.interrupt.requested();
        let equations = NormalEquations::new(train, &targets, &weights, self.intercept, &stop);
        let solution = LinearSolution { weights: vec![0.0; train.feature_count], bias: 0.0 };
        rounds.drive(self, &mut Lambdas { lambdas, job, equations, solution })
    }
}
