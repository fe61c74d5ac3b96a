//! The rounds of PermuRank.

use serde::{Deserialize, Serialize};

use super::bound::Bound;
use super::config::{NAME, PermuRank};
use super::linear::LinearBound;
use super::network::NetworkBound;
use super::working_sets::WorkingSets;
use crate::data::Dataset;
use crate::learner::entry::Learner;
use crate::learner::error::LearnerError;
use crate::learner::shared::checks;
use crate::learner::shared::context::{FitContext, Fitted, Round, Selection, StopReason};
use crate::learner::shared::cost_path::broken_off;
use crate::learner::shared::judge::Judge;
use crate::learner::shared::rounds::Rounds;
use crate::scorer::ScorerConfig;
use crate::seed::seed_for;

#[derive(Default, Serialize, Deserialize)]
struct State {
    /// Parameters after each round at the cost under way: from them the working sets are built again.
    path: Vec<Vec<f64>>,
    /// Position of that cost in the grid.
    cost: usize,
    best: Option<Vec<f64>>,
    best_converged: bool,
    /// Whether the sets became stable at every cost so far.
    all_stable: bool,
}

impl PermuRank {
    /// The measure `E` with its convention.
    fn selection(&self, context: &FitContext) -> Selection {
        Selection {
            measure: self.config.measure.unwrap_or(context.selection.measure),
            convention: self.config.convention.clone().unwrap_or_else(|| context.selection.convention.clone()),
        }
    }
}

impl Learner for PermuRank {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, train: &Dataset, validation: Option<&Dataset>, context: &FitContext) -> Result<Fitted, LearnerError> {
        checks::trainable(NAME, train, validation, context)?;
        if self.config.measure.is_none() {
            checks::bounded_selection(NAME, context.selection.measure)?;
        }
        match &self.scorer {
            ScorerConfig::Linear(_) => {
                self.alternate(&mut LinearBound::new(train, &self.config, context), train, validation, context)
            }
            scorer => {
                let seed = seed_for(context.seed, NAME, 0);
                let scorer = scorer.init(train.feature_count, seed, &context.device)?;
                self.alternate(&mut NetworkBound::new(scorer, train, &self.config, context), train, validation, context)
            }
        }
    }
}

impl PermuRank {
    /// Minimises the bound and enlarges the working sets by turns (Figure 7).
    fn alternate(
        &self,
        bound: &mut dyn Bound,
        train: &Dataset,
        validation: Option<&Dataset>,
        context: &FitContext,
    ) -> Result<Fitted, LearnerError> {
        let selection = self.selection(context);
        let judge = Judge::of_selection(context)?;
        let params = (&self.config, &self.scorer);
        let limit = Some(self.costs.len() * self.config.rounds);
        let initial = || State { all_stable: true, ..State::default() };
        let mut rounds = Rounds::start(NAME, &params, train, validation, limit, context, initial)?;
        let start = bound.start();
        let mut sets = WorkingSets::new(train, selection.measure, &selection.convention, self.config.pairs)?;
        sets.grow(&vec![0.0; train.documents()]);
        let first = sets.clone();
        bound.begin(&sets);
        // Nothing but the order of the rounds tells the sets apart, so that a resumed fit makes them again.
        let mut stable = false;
        for parameters in &rounds.state.path {
            stable = !sets.grow(&bound.scores(parameters, train));
        }
        let stop = loop {
            if stable || rounds.state.path.len() == self.config.rounds {
                if !stable {
                    context.progress.warn(&format!(
                        "{NAME}: c = {}: the working sets still grow after learner.rounds = {} rounds: raise it, or see \
                         learner.aggregation and learner.pairs",
                        self.costs[rounds.state.cost], self.config.rounds
                    ));
                }
                rounds.state.all_stable &= stable;
                rounds.state.cost += 1;
                rounds.state.path.clear();
                sets = first.clone();
                bound.begin(&sets);
            }
            if rounds.state.cost >= self.costs.len() {
                break if rounds.state.all_stable { StopReason::Converged } else { StopReason::NotConverged };
            }
            if let Some(stop) = rounds.stop() {
                break stop;
            }
            let cost = self.costs[rounds.state.cost];
            let from = rounds.state.path.last().unwrap_or(&start);
            let solved = match bound.minimise(&sets, cost, from) {
                Ok(solved) => solved,
                Err(reason) => break broken_off(NAME, cost, &reason, rounds.best_round(), context)?,
            };
            if !solved.converged && context.interrupt.requested() {
                // Half a solution is not a round: a resumed fit solves it again.
                rounds.state.best.get_or_insert(solved.weights);
                break StopReason::Interrupted;
            }
            let merit = |data: &Dataset| judge.mean(data, &bound.scores(&solved.weights, data));
            let [perfect, imperfect] = sets.mean_sizes();
            let mut figures = vec![
                ("c".to_owned(), cost),
                ("perfect_permutations".to_owned(), perfect),
                ("imperfect_permutations".to_owned(), imperfect),
            ];
            figures.extend(solved.gap_figure());
            let round = Round {
                round: rounds.next(),
                objective: solved.objective,
                train: merit(train)?,
                validation: validation.map(merit).transpose()?.flatten(),
                figures,
            };
            if !solved.converged {
                context.progress.warn(&solved.complaint(NAME, cost));
            }
            if rounds.record(round) {
                rounds.state.best = Some(solved.weights.clone());
                rounds.state.best_converged = solved.converged;
            }
            stable = !sets.grow(&bound.scores(&solved.weights, train));
            rounds.state.path.push(solved.weights);
            rounds.save_when_due()?;
        };
        let stop = match stop {
            StopReason::Converged if !rounds.state.best_converged => StopReason::NotConverged,
            other => other,
        };
        rounds.finish(stop, |state, _| Ok(bound.model(&state.best.unwrap_or(start))))
    }
}
