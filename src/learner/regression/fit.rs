//! The rounds of ridge regression: one lambda each.

use super::config::{NAME, Regression};
use crate::data::Dataset;
use crate::learner::entry::Learner;
use crate::learner::error::LearnerError;
use crate::learner::shared::context::{FitContext, Fitted, Round};
use crate::learner::shared::gains::{balanced_weights, gains};
use crate::learner::shared::judge::Judge;
use crate::learner::shared::rounds::Rounds;
use crate::learner::shared::{checks, linear};
use crate::learner::solver::normal_equations::{LinearSolution, NormalEquations};

impl Learner for Regression {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, train: &Dataset, validation: Option<&Dataset>, context: &FitContext) -> Result<Fitted, LearnerError> {
        checks::trainable(NAME, train, validation, context)?;
        let targets = gains(NAME, train, &self.config.gain, ": change learner.gain")?;
        let weights = if self.config.balanced {
            balanced_weights(train)
        } else {
            vec![1.0 / train.documents() as f64; train.documents()]
        };
        let equations = NormalEquations::new(train, &targets, &weights, self.config.intercept);
        let judge = Judge::of_selection(context)?;
        let limit = Some(self.lambdas.len());
        let mut rounds = Rounds::start(NAME, &self.config, train, validation, limit, context, || None)?;
        let stop = loop {
            if let Some(stop) = rounds.stop() {
                break stop;
            }
            let lambda = self.lambdas[rounds.next() - 1];
            let solution = equations.solve(lambda).ok_or_else(|| LearnerError::Solver {
                learner: NAME,
                reason: format!("the normal equations are singular at learner.lambda = {lambda}: raise it"),
            })?;
            let merit = |data: &Dataset| judge.mean(data, &linear::scores(data, &solution.weights));
            let round = Round {
                round: rounds.next(),
                objective: equations.objective(&solution.weights, lambda),
                train: merit(train)?,
                validation: validation.map(merit).transpose()?.flatten(),
                figures: vec![("lambda".into(), lambda)],
            };
            if rounds.record(round) {
                rounds.state = Some(solution);
            }
            rounds.save_when_due()?;
        };
        rounds.finish(stop, |solution: Option<LinearSolution>, _| {
            let zero = LinearSolution { weights: vec![0.0; train.feature_count], bias: 0.0 };
            let LinearSolution { weights, bias } = solution.unwrap_or(zero);
            Ok(linear::model(&weights, bias, &context.device))
        })
    }
}
