//! Implements the boosting rounds of boosted trees.

use std::sync::Arc;

use super::config::{BoostedTrees, NAME};
use super::histogram::Block;
use super::member::{Member, Setting, Trees, push};
use super::objective::Objective;
use super::split::TreeParams;
use super::sums::Buffers;
use super::tree::scaled;
use crate::json::json;
use crate::learner::prelude::*;
use crate::learner::shared::anneal::AnnealState;
use crate::learner::shared::context::{Importance, PositionFactor};
use crate::learner::shared::position::{check_positions, factors};
use crate::loss::Change;
use crate::ranker::{Node, TreeEnsemble};
use crate::text::counted;

/// The trees so far, saved so that a fit can resume.
#[derive(Serialize, Deserialize)]
struct State {
    /// The trees of the first seed.
    #[serde(flatten)]
    first: Trees,
    /// The trees of the other seeds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    others: Vec<Trees>,
    /// The state that the annealing schedule keeps between rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    anneal: Option<AnnealState>,
}

impl State {
    fn members(&self) -> impl Iterator<Item = &Trees> {
        std::iter::once(&self.first).chain(&self.others)
    }

    fn members_mut(&mut self) -> impl Iterator<Item = &mut Trees> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }
}

/// Returns the seed of the samples for one of the averaged tree ensembles. The first ensemble uses the seed of the fit.
pub(super) fn member_seed(seed: u64, member: usize) -> u64 {
    if member == 0 { seed } else { seed_for(seed, "boosted_trees seeds", member as u64) }
}

/// The tree ensembles of all seeds, each of which grows by one tree per round.
struct Boosting<'a> {
    learner: &'a BoostedTrees,
    setting: Setting<'a>,
    members: Vec<Member<'a>>,
    /// The value of the annealed parameter in the current round, or `None` before the first round.
    annealed: Option<f64>,
    /// The seed of the fit.
    seed: u64,
}

impl Boosting<'_> {
    /// Returns the number of the next tree. Trees are numbered after those from which the fit starts.
    fn number(&self, history: &History) -> usize {
        self.setting.start.map_or(0, TreeEnsemble::trees) + history.next()
    }

    /// Sets the value of the annealed parameter and draws the noise of the loss for the next round. Returns whether the
    /// loss has changed.
    fn set_loss(&mut self, history: &History, state: &State) -> Result<bool> {
        let BoostedTrees { config, loss, annealed, .. } = self.learner;
        let (mut built, mut is_new) = (loss.built.clone(), false);
        if let (Some(parameter), Some(anneal), Some(state)) = (annealed, &config.anneal, &state.anneal) {
            let value = state.value(anneal, history.next(), config.rounds);
            is_new = self.annealed.replace(value) != Some(value);
            built = loss.record.build_with(parameter, value)?;
        }
        let seed = |own| seed_for(self.seed ^ own, "boosted_trees noise", self.number(history) as u64);
        if let Some(noisy) = built.changed(Change::Noise(&seed))? {
            (built, is_new) = (noisy.into(), true);
        }
        if is_new {
            self.setting.objective.set_loss(built)?;
        }
        Ok(is_new)
    }

    /// Returns whether the next round may find a tree where this one has found none, since its sample, the noise of
    /// its loss, or the annealed parameter differs.
    fn may_find_others(&self) -> Result<bool> {
        let BoostedTrees { config, loss, .. } = self.learner;
        let is_annealing = config.anneal.as_ref().is_some_and(|anneal| self.annealed != Some(anneal.ends()[1]));
        Ok(config.samples() || is_annealing || loss.built.changed(Change::Noise(&|own| own))?.is_some())
    }

    /// Returns the training loss of the averaged scores.
    fn loss(&self) -> f64 {
        match &self.members[..] {
            [only] => only.loss,
            all => self.setting.objective.value(&mean(all.iter().map(Member::training_scores))),
        }
    }
}

impl Iterative for Boosting<'_> {
    type State = State;

    fn initial(&self) -> State {
        let others = self.members[1..].iter().map(|_| Trees::default()).collect();
        State {
            first: Trees::default(),
            others,
            anneal: self.learner.annealed.as_ref().map(|_| AnnealState::default()),
        }
    }

    fn resume(&mut self, state: &mut State, history: &History) -> Result<()> {
        self.set_loss(history, state)?;
        self.members.iter_mut().zip(state.members()).try_for_each(|(member, trees)| member.resume(&self.setting, trees))
    }

    fn round(&mut self, history: &History, state: &mut State) -> Result<Step> {
        if self.set_loss(history, state)? {
            self.members.iter_mut().for_each(|member| member.differentiate(&self.setting.objective));
        }
        let round = self.number(history);
        let (mut leaves, mut steps, mut found) = (0.0, 0.0, 0.0);
        for (member, trees) in self.members.iter_mut().zip(state.members_mut()) {
            if let Some([grown, step]) = member.grow(&mut self.setting, round, trees)? {
                (leaves, steps, found) = (leaves + grown, steps + step, found + 1.0);
            }
        }
        if found == 0.0 {
            if !self.may_find_others()? {
                return Ok(Step::End(StopReason::Converged));
            }
            found = 1.0;
        }
        for (member, trees) in self.members.iter().zip(state.members_mut()) {
            if trees.trees.len() < history.next() {
                trees.pass(member.factors.as_ref().map(|factors| &factors.values[..]));
            }
        }
        let loss = self.loss();
        let losses = self.learner.config.position.is_none().then_some(loss * self.setting.objective.queries);
        let mut figures = vec![("leaves".to_string(), leaves / found), ("step".to_string(), steps / found)];
        figures.extend(self.learner.annealed.clone().zip(self.annealed));
        Ok(Step::Made(Made { losses, ..Made::new(loss, figures) }))
    }

    fn recorded(&mut self, recorded: &Recorded, state: &mut State) -> Result<Option<StopReason>> {
        if let (Some(anneal), Some(state)) = (&self.learner.config.anneal, &mut state.anneal) {
            state.observe(anneal, recorded.rose);
        }
        Ok(None)
    }

    fn scores(&self, set: Set, _: &RankingDataset) -> Result<Option<Cow<'_, [f64]>>> {
        Ok(Some(mean(self.members.iter().map(|member| member.scores.on(set).into()))))
    }

    fn conclude(&mut self, stop: StopReason, _: &History, state: &State) -> Result<StopReason> {
        if stop != StopReason::Interrupted && state.members().all(Trees::have_no_split) {
            let (config, loss) = (&self.learner.config, self.learner.loss.record.name());
            let weights = &self.setting.train.document_weights;
            if weights.contains(&0.0) && self.members.iter().all(Member::has_no_slope) {
                let reason = format!(
                    "the document weights leave nothing to learn: with them, {loss} is the same for all scores"
                );
                return Err(LearnerError::data(NAME, reason));
            }
            let reason = format!(
                "no tree of {} leaves with {} or more decreases {loss}: {}, or choose another loss",
                config.leaves,
                counted(config.min_documents, "document"),
                config.what_hinders_splits(self.setting.train.documents())
            );
            return Err(LearnerError::data(NAME, reason));
        }
        Ok(stop)
    }

    fn model(&self, state: &State, best_round: usize) -> Result<Model> {
        let empty = || TreeEnsemble::new(self.setting.train.feature_count);
        let mut all = self.setting.start.cloned().unwrap_or_else(empty);
        let share = 1.0 / self.members.len() as f64;
        for round in 0..best_round {
            for trees in state.members() {
                let statistics = trees.statistics[round].clone();
                match &trees.trees[round][..] {
                    [Node::Leaf { .. }] => {}
                    tree if share == 1.0 => push(&mut all, tree, statistics)?,
                    tree => push(&mut all, &scaled(tree, share), statistics)?,
                }
            }
        }
        Ok(Model::Trees(all))
    }

    fn position_factors(&self, state: &State, best_round: usize) -> Vec<PositionFactor> {
        let of = |trees: &'_ Trees| trees.positions.get(best_round.wrapping_sub(1)).cloned().map(Cow::Owned);
        let found: Vec<Cow<[f64]>> = state.members().filter_map(of).collect();
        factors(&self.setting.train.positions, &mean(found.into_iter()))
    }

    fn importance(&self, state: &State, best_round: usize) -> Option<Importance> {
        let features = self.setting.train.feature_count;
        let mut importance = Importance { gain: vec![0.0; features], splits: vec![0; features] };
        let mut splits = self.setting.start.map_or(Some(Vec::new()), TreeEnsemble::gains)?;
        for trees in state.members() {
            splits.extend(trees.gains.get(..best_round)?.iter().flatten());
        }
        for (feature, gain) in splits {
            importance.gain[feature as usize] += gain;
            importance.splits[feature as usize] += 1;
        }
        Some(importance)
    }
}

/// Returns the means of several vectors of the same length.
fn mean<'a>(mut all: impl ExactSizeIterator<Item = Cow<'a, [f64]>>) -> Cow<'a, [f64]> {
    let count = all.len() as f64;
    let mut mean = all.next().unwrap_or_default();
    if count > 1.0 {
        let sums = mean.to_mut();
        all.for_each(|other| sums.iter_mut().zip(&other[..]).for_each(|(sum, value)| *sum += value));
        sums.iter_mut().for_each(|sum| *sum /= count);
    }
    mean
}

impl RankingLearner for BoostedTrees {
    fn name(&self) -> &'static str {
        NAME
    }

    fn starting_from(&self, model: &Model) -> Result<Arc<dyn RankingLearner>> {
        let Model::Trees(trees) = model else {
            return Err(Refusal::new("start", "another model", "a ranker that is a sum of trees").into());
        };
        Ok(Arc::new(Self { start: Some(trees.clone()), ..self.clone() }))
    }

    fn fit(&self, job: Job) -> Result<Fitted> {
        let Job { train, context, .. } = job;
        checks::of_equal_queries(NAME, train)?;
        let rounds = Rounds::of_weighted(NAME, job)?;
        let surrogate = &*self.loss.built;
        checks::learnable(NAME, surrogate, job)?;
        check_positions(self.config.position.as_ref(), job)?;
        if let Some(start) = self.start.as_ref().filter(|start| start.feature_count() != train.feature_count) {
            let found = format!("trees of {}", counted(start.feature_count(), "feature"));
            return Err(Refusal::new("start", found, format!("{}, as in the data", train.feature_count)).into());
        }
        let steps = self.config.steps_for(surrogate);
        Block::ask_memory(train, &self.config)?;
        let setting = Setting {
            objective: Objective::new(self.loss.built.clone(), steps, train, &context.device)?,
            train,
            blocks: Block::of_data(train, self.config.bins),
            buffers: Buffers::default(),
            params: TreeParams::new(&self.config, train.feature_count, steps)?,
            start: self.start.as_ref(),
        };
        let member = |number| Member::new(job, member_seed(context.seed, number), &self.config);
        let members = (0..self.config.seeds.unwrap_or(1)).map(member).collect();
        let mut boosting = Boosting { learner: self, setting, members, annealed: None, seed: context.seed };
        let rounds = rounds.most(self.config.rounds).patience(self.config.patience).beside_measure(surrogate)?;
        let mut parameters = vec![json!(self.config), json!(self.loss)];
        parameters.extend(self.start.as_ref().map(|start| json!(start)));
        rounds.drive(&parameters, &mut boosting)
    }
}
