//! The rounds of PermuRank.

use super::linear::LinearBound;
use super::network::NetworkBound;
use super::working_sets::{Bound, WorkingSets};
use super::{NAME, PermuRank, PermuRankConfig};
use crate::learner::prelude::*;
use crate::learner::shared::context::Selection;
use crate::learner::shared::cost_path::solution;

#[derive(Default, Serialize, Deserialize)]
struct State {
    /// The scorer's parameters after each round with the current cost, from which a resumed fit rebuilds the working
    /// sets.
    path: Vec<Vec<f64>>,
    /// The index of the current cost in the list of costs.
    cost: usize,
    best: Option<Vec<f64>>,
    best_converged: bool,
    /// Whether, for every cost so far, the working sets stopped growing before the rounds ran out.
    all_stable: bool,
}

/// Repeats two steps: minimize the bound over the working sets, then add permutations to the sets (Figure 7).
struct Alternation<'a, B> {
    learner: &'a PermuRank,
    bound: B,
    job: Job<'a>,
    start: Vec<f64>,
    /// The working sets found at equal scores, from which the fit for every cost starts.
    first: WorkingSets<'a>,
    /// The current working sets, which grow until the fit goes on to the next cost.
    sets: WorkingSets<'a>,
    /// The scorer's parameters after the last round, and whether the solver reached its tolerance.
    last: (Vec<f64>, bool),
}

impl<B: Bound> Alternation<'_, B> {
    /// Searches for permutations at the scores that these parameters give, and adds them to the working sets. Returns
    /// whether no set grew.
    fn are_stable(&mut self, parameters: &[f64]) -> bool {
        !self.sets.grow(&self.bound.scores(parameters, self.job.train))
    }

    /// Goes on to the next cost, with the first working sets.
    fn next_cost(&mut self, stable: bool, state: &mut State) {
        if !stable {
            self.job.warn(&format!(
                "{NAME}: c = {}: the working sets still grow after learner.rounds = {} rounds: raise it, or see \
                 learner.aggregation and learner.pairs",
                self.learner.config.c.values()[state.cost],
                self.learner.config.rounds
            ));
        }
        state.all_stable &= stable;
        state.cost += 1;
        state.path.clear();
        self.sets = self.first.clone();
        self.bound.begin(&self.sets);
    }
}

impl<B: Bound> Iterative for Alternation<'_, B> {
    type State = State;

    fn initial(&self) -> State {
        State { all_stable: true, ..State::default() }
    }

    fn resume(&mut self, state: &mut State, _: &History) -> Result<()> {
        self.bound.begin(&self.sets);
        // The sets follow from the parameters of the rounds, in order, so a resumed fit builds them again.
        for parameters in &state.path {
            self.are_stable(parameters);
        }
        Ok(())
    }

    fn round(&mut self, history: &History, state: &mut State) -> Result<Step> {
        let cost = self.learner.config.c.values()[state.cost];
        let from = state.path.last().unwrap_or(&self.start);
        let solved = self.bound.minimize(&self.sets, cost, from);
        let solved = match solution(NAME, cost, solved, (history, &mut state.best), self.job)? {
            Ok(solved) => solved,
            Err(stop) => return Ok(Step::End(stop)),
        };
        let [perfect, imperfect] = self.sets.mean_sizes();
        let figures = [("c", cost), ("perfect_permutations", perfect), ("imperfect_permutations", imperfect)];
        let made = Made::new(solved.objective, figures.into_iter().chain(solved.gap_figure()));
        self.last = (solved.weights, solved.converged);
        Ok(Step::Made(made))
    }

    fn scores(&self, _: Set, data: &RankingDataset) -> Result<Option<Cow<'_, [f64]>>> {
        Ok(Some(self.bound.scores(&self.last.0, data).into()))
    }

    fn recorded(&mut self, recorded: &Recorded, state: &mut State) -> Result<Option<StopReason>> {
        let (parameters, converged) = self.last.clone();
        if recorded.improved {
            (state.best, state.best_converged) = (Some(parameters.clone()), converged);
        }
        let stable = self.are_stable(&parameters);
        state.path.push(parameters);
        if stable || state.path.len() == self.learner.config.rounds {
            self.next_cost(stable, state);
        }
        let end = if state.all_stable { StopReason::Converged } else { StopReason::NotConverged };
        Ok((state.cost == self.learner.config.c.values().len()).then_some(end))
    }

    fn conclude(&mut self, stop: StopReason, _: &History, state: &State) -> Result<StopReason> {
        Ok(match stop {
            StopReason::Converged if !state.best_converged => StopReason::NotConverged,
            other => other,
        })
    }

    fn model(&self, state: &State, _: usize) -> Result<Model> {
        Ok(self.bound.model(state.best.as_ref().unwrap_or(&self.start)))
    }
}

impl PermuRank {
    fn alternate(&self, bound: impl Bound, rounds: Rounds, fitted_to: &Selection) -> Result<Fitted> {
        let train = rounds.job.train;
        let mut sets = WorkingSets::new(train, fitted_to, self.config.pairs)?;
        sets.grow(&vec![0.0; train.documents()]);
        let (start, first, last) = (bound.start(), sets.clone(), (Vec::new(), false));
        let mut alternation = Alternation { learner: self, bound, job: rounds.job, start, first, sets, last };
        let rounds = rounds.most(self.config.c.values().len() * self.config.rounds);
        rounds.drive(&(&self.config, &self.scorer), &mut alternation)
    }
}

impl RankingLearner for PermuRank {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, job: Job) -> Result<Fitted> {
        let rounds = Rounds::new(NAME, job)?;
        let PermuRankConfig { measure, convention, .. } = &self.config;
        let fitted_to = checks::fitted_measure(NAME, *measure, convention.as_ref(), job)?;
        match &self.scorer {
            ScorerConfig::Linear(_) => self.alternate(LinearBound::new(&self.config, job), rounds, &fitted_to),
            scorer => {
                let Job { train, context, .. } = job;
                let lists = (0..train.queries()).map(|query| (1, train.range(query).len()));
                checks::ask_training(scorer, job, lists, "the length of lists")?;
                let seed = seed_for(context.seed, NAME, 0);
                let scorer = scorer.init(train.feature_count, seed, &context.device)?;
                self.alternate(NetworkBound::new(scorer, &self.config, job), rounds, &fitted_to)
            }
        }
    }
}
