//! Burn scorers that serve as weak rankers. Each round trains a new scorer on queries that are weighted or sampled by
//! `P_t`.
//!
//! Scores of different scorers have no common scale, but `alpha` presumes one. A weak ranker is therefore the scorer
//! divided by the standard deviation of its scores on the training data. Linear scorers are summed into one linear
//! scorer, and other scorers are kept as an ensemble.
//!
//! Every process of a group trains the same scorer, since each step depends on the previous one. Each process then
//! computes the scores of some of the documents.

use burn::module::Module;
use burn::nn::loss::Reduction;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{DType, Device, Tensor, TensorData};
use rand::distr::weighted::WeightedIndex;
use rand::prelude::Distribution;

use super::{AdaRankConfig, Emphasis, Member, NAME, WeakRankers, WeakScorer};
use crate::data::batch::BatchPlannerConfig;
use crate::data::{BatchPlanner, RankingBatch};
use crate::learner::prelude::*;
use crate::learner::shared::judge::Judge;
use crate::measure::deviation_of;
use crate::ranker::{self, Prepared};

/// A trained scorer and the factor that scales its scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ScorerRanker {
    parts: ranker::Parts,
    scale: f64,
}

/// Trains the scorer of each round.
pub(super) struct ScorerRankers<'a> {
    config: &'a AdaRankConfig,
    weak: &'a WeakScorer,
    job: Job<'a>,
    /// The indices of the queries that the convention counts, in the order in which their weights are passed to
    /// `choose`.
    queries: Vec<usize>,
    batcher: BatchPlanner,
}

impl<'a> ScorerRankers<'a> {
    pub(super) fn new(config: &'a AdaRankConfig, weak: &'a WeakScorer, judge: &Judge, job: Job<'a>) -> Result<Self> {
        let Job { train, context, .. } = job;
        checks::learnable(NAME, &*weak.loss.built, job)?;
        let values = judge.values(train, &vec![0.0; train.documents()])?;
        let queries = (0..train.queries()).filter(|&q| values[q].is_some()).collect();
        let batcher =
            BatchPlanner::with(train, &BatchPlannerConfig::default(), seed_for(context.seed, "ada_rank batches", 0))
                .map_err(|error| LearnerError::data(NAME, error))?;
        checks::ask_training(&weak.scorer, job, batcher.shapes(), "the length of lists")?;
        checks::ask_pairs(&*weak.loss.built, batcher.shapes(), DType::F32, &context.device)?;
        Ok(Self { config, weak, job, queries, batcher })
    }

    /// Returns how much each training query counts when the scorer of this round is trained.
    fn query_weights(&self, distribution: &[f64], round: usize) -> Result<Vec<f32>> {
        let mut weights = vec![0.0; self.job.train.queries()];
        match self.config.emphasis {
            Emphasis::Weighted => {
                for (&query, &weight) in self.queries.iter().zip(distribution) {
                    weights[query] = (weight * self.queries.len() as f64) as f32;
                }
            }
            Emphasis::Sampled => {
                let mut rng = random_for(self.job.context.seed, "ada_rank sample", round as u64);
                let index = WeightedIndex::new(distribution).map_err(|error| LearnerError::solver(NAME, error))?;
                for _ in 0..self.queries.len() {
                    weights[self.queries[index.sample(&mut rng)]] += 1.0;
                }
            }
        }
        Ok(weights)
    }

    fn train(&self, weights: &[f32], round: usize) -> Result<Scorer> {
        let Job { train, context, .. } = self.job;
        let device = context.device.clone().autodiff();
        let seed = seed_for(context.seed, "ada_rank scorer", round as u64);
        let mut scorer = self.weak.scorer.init(train.feature_count, seed, &device)?;
        let mut optimizer = AdamConfig::new().init();
        for epoch in 0..self.config.epochs as u64 {
            for (step, queries) in self.batcher.epoch(epoch).into_iter().enumerate() {
                let batch = RankingBatch::assemble(train, &queries, &device);
                let weights: Vec<f32> = queries.iter().map(|&query| weights[query]).collect();
                let weights = Tensor::<1>::from_data(TensorData::new(weights, [queries.len()]), &device);
                let dropout = seed_for(seed, "dropout", epoch << 32 | step as u64);
                let scores = scorer.forward_training(batch.features, batch.mask.clone(), dropout);
                let loss = &self.weak.loss.built;
                let loss = loss.forward_weighted(scores, batch.labels, batch.mask, weights, Reduction::Sum);
                let gradients = (loss / queries.len() as f64).backward();
                let gradients = GradientsParams::from_grads(gradients, &scorer);
                scorer = optimizer.step(self.config.learning_rate, scorer, gradients);
            }
        }
        Ok(scorer.valid())
    }

    /// Returns the score of every document. Each process of the data's group computes the scores of some documents.
    fn predict(&self, scorer: Scorer, data: &RankingDataset) -> Vec<f32> {
        let scorer = scorer.to_device(&self.job.context.device);
        Prepared::new(data, &scorer, &self.job.context.device).scores(&scorer)
    }

    fn build(&self, ranker: &ScorerRanker) -> Result<Scorer> {
        match ranker.parts.clone().build(&self.job.context.device) {
            Ok(Model::Scorer(scorer)) => Ok(scorer),
            Ok(_) => Err(LearnerError::solver(NAME, "a weak ranker that is no scorer")),
            Err(error) => Err(LearnerError::solver(NAME, error)),
        }
    }
}

impl WeakRankers for ScorerRankers<'_> {
    type Ranker = ScorerRanker;

    fn choose(
        &self,
        distribution: &[f64],
        round: usize,
        _members: &[Member<ScorerRanker>],
    ) -> Result<Option<ScorerRanker>> {
        let scorer = self.train(&self.query_weights(distribution, round)?, round)?;
        let scores = self.predict(scorer.clone(), self.job.train);
        let deviation = deviation_of(scores.iter().copied().map(f64::from));
        if !deviation.is_finite() {
            let reason = format!("the scorer of round {round} diverged: lower learner.learning_rate");
            return Err(LearnerError::solver(NAME, reason));
        }
        let scale = if deviation > 0.0 { deviation.recip() } else { 1.0 };
        Ok(Some(ScorerRanker { parts: ranker::Parts::from_model(&Model::Scorer(scorer)), scale }))
    }

    fn scores(&self, ranker: &ScorerRanker, data: &RankingDataset) -> Result<Vec<f64>> {
        let scores = self.predict(self.build(ranker)?, data);
        Ok(scores.into_iter().map(|score| f64::from(score) * ranker.scale).collect())
    }

    fn figures(&self, _: &ScorerRanker) -> Vec<(String, f64)> {
        Vec::new()
    }

    fn model(&self, members: &[Member<ScorerRanker>]) -> Result<Model> {
        let weighted =
            |member: &Member<ScorerRanker>| Ok((member.alpha * member.ranker.scale, self.build(&member.ranker)?));
        let weighted: Vec<(f64, Scorer)> = members.iter().map(weighted).collect::<Result<_>>()?;
        Ok(linear_sum(&weighted, self.job.train.feature_count, &self.job.context.device)
            .unwrap_or(Model::Ensemble(weighted)))
    }
}

/// Returns the weighted sum of linear scorers as one linear scorer, or `None` if a scorer is not linear.
fn linear_sum(members: &[(f64, Scorer)], features: usize, device: &Device) -> Option<Model> {
    let (mut weights, mut bias) = (vec![0.0; features], 0.0);
    for (alpha, scorer) in members {
        let Scorer::Linear(scorer) = scorer else { return None };
        let (added, added_bias) = scorer.weights();
        weights.iter_mut().zip(added).for_each(|(weight, w)| *weight += alpha * f64::from(w));
        bias += alpha * f64::from(added_bias);
    }
    Some(linear_model(&weights, bias, device))
}
