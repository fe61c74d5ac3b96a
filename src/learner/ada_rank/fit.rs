//! The rounds of AdaRank.

use super::feature::FeatureRankers;
use super::scorer::ScorerRankers;
use super::{AdaRank, AdaRankConfig, Member, NAME, WeakRankers, measured};
use crate::learner::prelude::*;
use crate::learner::shared::context::Round;
use crate::learner::shared::judge::Judge;
use crate::measure::mean_of;

/// The upper limit of `phi`, which keeps `alpha = atanh(phi)` finite.
const LARGEST_PHI: f64 = 1.0 - 1e-12;

/// The name under which each round reports Theorem 4's lower bound on the boosted measure over the training queries.
pub const BOUND: &str = "bound";

/// The weak rankers and the bound after a round, saved so that a fit can resume.
#[derive(Serialize, Deserialize)]
struct State<R> {
    members: Vec<Member<R>>,
    /// One minus the bound, that is, the product `prod_t exp(-delta_t) sqrt(1 - phi_t^2)` over the rounds so far.
    bound_gap: f64,
}

/// Returns the weights `exp(-E)` of the queries, normalized to sum to 1.
fn distribution(values: &[f64]) -> Vec<f64> {
    let weights: Vec<f64> = values.iter().map(|value| (-value).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / total).collect()
}

/// The sum `f_t` of weak rankers, to which every round adds one ranker.
struct Boosting<'a, W> {
    learner: &'a AdaRank,
    weak: W,
    /// Computes the measure `E` that AdaRank boosts.
    judge: &'a Judge,
    train: &'a RankingDataset,
    scores: Additive<'a>,
    /// For each query that the convention counts, the measure `E(f_t, q)` of the current sum.
    values: Vec<f64>,
}

impl<W: WeakRankers> Boosting<'_, W> {
    fn add(&mut self, member: &Member<W::Ranker>) -> Result<()> {
        for (_, data, scores) in &mut self.scores.0 {
            let added = self.weak.scores(&member.ranker, data)?;
            scores.iter_mut().zip(added).for_each(|(score, h)| *score += member.alpha * h);
            // Scores are measured as `f32`.
            if !scores.iter().all(|&score| (score as f32).is_finite()) {
                return Err(LearnerError::data(NAME, "the scores are not finite: normalize the features"));
            }
        }
        Ok(())
    }

    /// Returns the measure `E` of the current sum on every query that the convention counts.
    fn measured(&self) -> Result<Vec<f64>> {
        measured(self.judge, self.train, self.scores.on(Set::Training))
    }
}

impl<W: WeakRankers> Iterative for Boosting<'_, W> {
    type State = State<W::Ranker>;

    fn initial(&self) -> Self::State {
        State { members: Vec::new(), bound_gap: 1.0 }
    }

    fn resume(&mut self, state: &mut Self::State, _: &History) -> Result<()> {
        state.members.iter().try_for_each(|member| self.add(member))?;
        self.values = self.measured()?;
        if state.members.is_empty() {
            self.values.fill(0.0);
        }
        Ok(())
    }

    fn round(&mut self, history: &History, state: &mut Self::State) -> Result<Step> {
        if self.learner.without_progress(&history.rounds) {
            return Ok(Step::End(StopReason::Converged));
        }
        let weights = distribution(&self.values);
        let Some(ranker) = self.weak.choose(&weights, history.next(), &state.members)? else {
            return Ok(Step::End(StopReason::Converged));
        };
        let weak_values = self.weak.values(&ranker, self.judge, self.train)?;
        let phi: f64 = weights.iter().zip(&weak_values).map(|(weight, value)| weight * value).sum();
        if phi <= 0.0 {
            // The rankers of earlier rounds are a result; without any, there is none.
            if !state.members.is_empty() {
                return Ok(Step::End(StopReason::Converged));
            }
            let reason = format!(
                "the best weak ranker of round 1 has {} 0 on every query: choose another learner.measure",
                self.judge.measure
            );
            return Err(LearnerError::data(NAME, reason));
        }
        let capped = phi.min(LARGEST_PHI);
        let member = Member { alpha: capped.atanh(), ranker };
        self.add(&member)?;
        let values = self.measured()?;
        let before = std::mem::replace(&mut self.values, values);
        let delta = (0..before.len())
            .map(|q| self.values[q] - before[q] - member.alpha * weak_values[q])
            .fold(f64::INFINITY, f64::min);
        let gap = state.bound_gap * (-delta).exp() * (1.0 - capped * capped).sqrt();
        // A bound so low that it says nothing may outgrow f64 in many rounds.
        state.bound_gap = gap.min(f64::MAX);
        let mut figures = self.weak.figures(&member.ranker);
        figures.push(("alpha".into(), member.alpha));
        figures.push(("phi".into(), phi));
        figures.push((self.judge.measure.to_string(), average(&self.values)));
        figures.push((BOUND.into(), 1.0 - state.bound_gap));
        state.members.push(member);
        let objective = self.values.iter().map(|value| (-value).exp()).collect::<Vec<f64>>();
        Ok(Step::Made(Made::new(average(&objective), figures)))
    }

    fn scores(&self, set: Set, _: &RankingDataset) -> Result<Option<Cow<'_, [f64]>>> {
        Ok(Some(self.scores.on(set).into()))
    }

    fn recorded(&mut self, _: &Recorded, state: &mut Self::State) -> Result<Option<StopReason>> {
        let whole = state.members.last().is_some_and(|member| member.alpha >= LARGEST_PHI.atanh());
        Ok(whole.then_some(StopReason::Converged))
    }

    fn model(&self, state: &Self::State, best_round: usize) -> Result<Model> {
        self.weak.model(&state.members[..best_round])
    }
}

/// Returns the mean, or NaN if there are no values.
fn average(values: &[f64]) -> f64 {
    mean_of(values.iter().copied()).unwrap_or(f64::NAN)
}

impl AdaRank {
    fn boost<W: WeakRankers>(&self, weak: W, judge: &Judge, rounds: Rounds) -> Result<Fitted> {
        let (train, scores, values) = (rounds.job.train, Additive::new(rounds.job), Vec::new());
        let mut boosting = Boosting { learner: self, weak, judge, train, scores, values };
        rounds.most(self.config.rounds).drive(&(&self.config, &self.scorer), &mut boosting)
    }

    /// Returns whether the objective has not decreased in the last `patience` rounds.
    fn without_progress(&self, history: &[Round]) -> bool {
        let Some(last) = self.config.patience.and_then(|patience| history.len().checked_sub(patience)) else {
            return false;
        };
        let lowest = |rounds: &[Round]| rounds.iter().map(|round| round.objective).fold(f64::INFINITY, f64::min);
        last > 0 && lowest(&history[last..]) >= lowest(&history[..last]) - self.config.tolerance
    }
}

impl RankingLearner for AdaRank {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, job: Job) -> Result<Fitted> {
        let rounds = Rounds::new(NAME, job)?;
        let AdaRankConfig { measure, convention, .. } = &self.config;
        let boosted = checks::fitted_measure(NAME, *measure, convention.as_ref(), job)?;
        let judge = Judge::new(&boosted)?;
        match &self.scorer {
            None => self.boost(FeatureRankers::new(&self.config, &judge, job)?, &judge, rounds),
            Some(scorer) => self.boost(ScorerRankers::new(&self.config, scorer, &judge, job)?, &judge, rounds),
        }
    }
}
