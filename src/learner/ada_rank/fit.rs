//! The rounds of AdaRank.

use serde::{Deserialize, Serialize};

use super::config::{AdaRank, NAME};
use super::feature::FeatureRankers;
use super::scorer::ScorerRankers;
use super::weak::{Member, WeakRankers, measured};
use crate::data::Dataset;
use crate::learner::entry::Learner;
use crate::learner::error::LearnerError;
use crate::learner::shared::checks;
use crate::learner::shared::context::{FitContext, Fitted, Round, Selection, StopReason};
use crate::learner::shared::judge::Judge;
use crate::learner::shared::rounds::Rounds;

/// Largest `phi` that `alpha` is computed of: keeps it finite.
const LARGEST_PHI: f64 = 1.0 - 1e-12;

/// The figure of a round that holds Theorem 4's lower bound of the boosted measure on the training queries.
pub const BOUND: &str = "bound";

/// What has to be known between rounds.
#[derive(Serialize, Deserialize)]
struct State<R> {
    members: Vec<Member<R>>,
    /// `prod_t exp(-delta_t) sqrt(1 - phi_t^2)`
    bound_gap: f64,
}

/// `f_t` on one dataset.
struct Combined<'a> {
    data: &'a Dataset,
    scores: Vec<f64>,
}

impl<'a> Combined<'a> {
    fn new(data: &'a Dataset) -> Self {
        Self { data, scores: vec![0.0; data.documents()] }
    }

    fn add<W: WeakRankers>(&mut self, weak: &W, member: &Member<W::Ranker>) -> Result<(), LearnerError> {
        let added = weak.scores(&member.ranker, self.data)?;
        self.scores.iter_mut().zip(added).for_each(|(score, h)| *score += member.alpha * h);
        Ok(())
    }
}

/// `exp(-E)`, normalised.
fn distribution(values: &[f64]) -> Vec<f64> {
    let weights: Vec<f64> = values.iter().map(|value| (-value).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / total).collect()
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

impl AdaRank {
    fn boost<W: WeakRankers>(
        &self,
        weak: &W,
        judge: &Judge,
        train: &Dataset,
        validation: Option<&Dataset>,
        context: &FitContext,
    ) -> Result<Fitted, LearnerError> {
        let selection = Judge::of_selection(context)?;
        let start = || State { members: Vec::new(), bound_gap: 1.0 };
        let limit = Some(self.config.rounds);
        let mut rounds = Rounds::start(NAME, &(&self.config, &self.scorer), train, validation, limit, context, start)?;
        let mut on_train = Combined::new(train);
        let mut on_validation = validation.map(Combined::new);
        for member in &rounds.state.members {
            on_train.add(weak, member)?;
            on_validation.as_mut().map(|combined| combined.add(weak, member)).transpose()?;
        }
        let mut values = measured(judge, train, &on_train.scores)?;
        if rounds.state.members.is_empty() {
            values.fill(0.0);
        }
        let stop = loop {
            if let Some(stop) = rounds.stop() {
                break stop;
            }
            if self.without_progress(rounds.history()) {
                break StopReason::Converged;
            }
            let weights = distribution(&values);
            let Some(ranker) = weak.choose(&weights, rounds.next(), &rounds.state.members)? else {
                break StopReason::Converged;
            };
            let weak_values = weak.values(&ranker, judge, train)?;
            let phi: f64 = weights.iter().zip(&weak_values).map(|(weight, value)| weight * value).sum();
            if phi <= 0.0 {
                let reason = format!(
                    "the best weak ranker of round {} has {} 0 on every query: choose another learner.measure",
                    rounds.next(),
                    judge.measure()
                );
                return Err(LearnerError::Data { learner: NAME, reason });
            }
            let capped = phi.min(LARGEST_PHI);
            let member = Member { alpha: capped.atanh(), ranker };
            on_train.add(weak, &member)?;
            on_validation.as_mut().map(|combined| combined.add(weak, &member)).transpose()?;

            let before = std::mem::replace(&mut values, measured(judge, train, &on_train.scores)?);
            let delta = (0..values.len())
                .map(|q| values[q] - before[q] - member.alpha * weak_values[q])
                .fold(f64::INFINITY, f64::min);
            let gap = rounds.state.bound_gap * (-delta).exp() * (1.0 - capped * capped).sqrt();
            // A bound that says nothing may outgrow f64 in many rounds.
            rounds.state.bound_gap = gap.min(f64::MAX);
            let mut figures = weak.figures(&member.ranker);
            figures.push(("alpha".into(), member.alpha));
            figures.push(("phi".into(), phi));
            figures.push((judge.measure().to_string(), mean(values.iter().copied())));
            figures.push((BOUND.into(), 1.0 - rounds.state.bound_gap));
            rounds.state.members.push(member);
            rounds.record(Round {
                round: rounds.next(),
                objective: mean(values.iter().map(|value| (-value).exp())),
                train: selection.mean(train, &on_train.scores)?,
                validation: on_validation
                    .as_ref()
                    .map(|combined| selection.mean(combined.data, &combined.scores))
                    .transpose()?
                    .flatten(),
                figures,
            });
            rounds.save_when_due()?;
            if phi >= LARGEST_PHI {
                break StopReason::Converged;
            }
        };
        rounds.finish(stop, |mut state, best_round| {
            state.members.truncate(best_round);
            weak.model(state.members)
        })
    }

    /// Whether the objective did not sink in the last `patience` rounds.
    fn without_progress(&self, history: &[Round]) -> bool {
        let Some(last) = self.config.patience.and_then(|patience| history.len().checked_sub(patience)) else {
            return false;
        };
        let lowest = |rounds: &[Round]| rounds.iter().map(|round| round.objective).fold(f64::INFINITY, f64::min);
        last > 0 && lowest(&history[last..]) >= lowest(&history[..last]) - self.config.tolerance
    }
}

impl Learner for AdaRank {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, train: &Dataset, validation: Option<&Dataset>, context: &FitContext) -> Result<Fitted, LearnerError> {
        checks::trainable(NAME, train, validation, context)?;
        if self.config.measure.is_none() {
            checks::bounded_selection(NAME, context.selection.measure)?;
        }
        let boosted = Selection {
            measure: self.config.measure.unwrap_or(context.selection.measure),
            convention: self.config.convention.as_ref().unwrap_or(&context.selection.convention).clone(),
        };
        let judge = Judge::new(&boosted)?;
        match &self.scorer {
            None => {
                let weak = FeatureRankers::new(&self.config, &judge, train, &context.device)?;
                self.boost(&weak, &judge, train, validation, context)
            }
            Some(scorer) => {
                let weak = ScorerRankers::new(&self.config, scorer, &judge, train, context)?;
                self.boost(&weak, &judge, train, validation, context)
            }
        }
    }
}
