//! A loss that this crate does not know, in every learner that takes a loss: here registered ones behind a type of the
//! tests, so that each fit has a twin to be compared with, bit for bit.

use std::path::Path;
use std::sync::Arc;

use burn::tensor::{Bool, Device, Tensor};
use burn_rank::data::{Normalizer, NormalizerKind, RankingDataset, SynthConfig};
use burn_rank::learner::boosted_trees::BoostedTreesConfig;
use burn_rank::learner::gradient::{AnnealConfig, GradientConfig};
use burn_rank::learner::{
    FitContext, Fitted, Interrupt, Job, LearnerError, Parts, Progress, RankingLearner, Round, Selection, StopReason,
    build,
};
use burn_rank::loss::{About, Change, Lists, LossError, LossSpec, Orientation, RankingLoss, TrainingLoss};
use burn_rank::measure::Measure;
use burn_rank::ranker::{Metadata, Model, Ranker};
use burn_rank::scorer::{MlpScorerConfig, ScorerConfig};
use serde_json::json;

/// A registered loss under another name.
#[derive(Debug)]
struct Mine(Arc<dyn RankingLoss>);

fn mine(spec: &LossSpec) -> TrainingLoss {
    Mine(spec.build().unwrap().into()).into()
}

impl RankingLoss for Mine {
    fn about(&self) -> About<'_> {
        let about = self.0.about();
        let mut mine = About::new("mine", about.orientation).with_smoothing(about.smoothing);
        (mine.gain, mine.curvature) = (about.gain, about.curvature);
        mine
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        self.0.query_losses(lists)
    }

    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        self.0.learnable(lists)
    }

    fn changed(&self, change: Change<'_>) -> Result<Option<Box<dyn RankingLoss>>, LossError> {
        match change {
            Change::FullGradient => Ok(None),
            _ => Ok(self.0.changed(change)?.map(|loss| Box::new(Self(loss.into())) as Box<dyn RankingLoss>)),
        }
    }
}

/// A loss with only the methods that the trait requires.
#[derive(Debug)]
struct Plain {
    weight: f64,
}

impl RankingLoss for Plain {
    fn about(&self) -> About<'_> {
        About::new("plain", Orientation::Loss)
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        let error = (lists.scores.clone() - lists.labels.clone()) * lists.mask.clone();
        (error.clone() * error).sum_dim(1).squeeze_dim::<1>(1) * self.weight
    }
}

/// A loss that says it needs more memory than there is.
#[derive(Debug)]
struct Huge;

impl RankingLoss for Huge {
    fn about(&self) -> About<'_> {
        About::new("huge", Orientation::Loss).with_numbers_per_pair(1 << 50)
    }

    fn query_losses(&self, _: &Lists) -> Tensor<1> {
        unreachable!("it is refused before")
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_loss_whose_pairs_do_not_fit_is_refused_before_training() {
    let learner = GradientConfig::default().build(&Parts::default().with_loss(Huge)).unwrap();
    match fit_in(&*learner, None, false) {
        Err(LearnerError::Loss(LossError::Memory { loss: "huge", .. })) => {}
        other => panic!("{:?}", other.map(|_| ())),
    }
}

fn data(seed: u64) -> RankingDataset {
    let config =
        SynthConfig { queries: 24, features: 8, median_length: 8.0, max_length: 16, seed, ..SynthConfig::default() };
    config.generate().unwrap()
}

/// Asks for an end after two rounds.
struct TwoRounds(Interrupt);

impl Progress for TwoRounds {
    fn round(&self, round: &Round) {
        if round.round == 2 {
            self.0.request();
        }
    }
}

fn fit_in(learner: &dyn RankingLearner, directory: Option<&Path>, interrupted: bool) -> Result<Fitted, LearnerError> {
    let interrupt = Interrupt::default();
    let two_rounds = TwoRounds(interrupt.clone());
    let progress: &dyn Progress = if interrupted { &two_rounds } else { &() };
    let selection = Selection::best(Measure::Ndcg(Some(10)));
    let context = FitContext { directory, progress, interrupt, ..FitContext::new(Device::flex(), 3, selection) };
    learner.fit(Job::new(&data(1), Some(&data(2)), &context))
}

fn fit(learner: &dyn RankingLearner) -> Fitted {
    fit_in(learner, None, false).unwrap()
}

/// The file of a ranker with this model.
fn bytes(model: &Model) -> Vec<u8> {
    Ranker::new(Normalizer::fit(&data(1), NormalizerKind::None), model.clone(), Metadata::default()).unwrap().to_bytes()
}

/// The arrays of two models, every figure of every round, and what was selected.
#[track_caller]
fn assert_same(found: &Fitted, expected: &Fitted, what: &str) {
    assert!(bytes(&found.model) == bytes(&expected.model), "{what}: weights");
    assert_eq!(found.history, expected.history, "{what}: rounds");
    assert_eq!((found.best_round, found.stop), (expected.best_round, expected.stop), "{what}: end");
}

/// Learners of four kinds on a loss, few rounds of each.
fn learners(scorer: &ScorerConfig, loss: &TrainingLoss) -> Vec<Box<dyn RankingLearner>> {
    let parts = Parts::default().with_loss(loss.clone());
    let with_scorer = parts.clone().with_scorer(scorer);
    let gradient = GradientConfig { epochs: 4, batch_queries: 5, ..GradientConfig::default() };
    let anneal = AnnealConfig::Geometric { parameter: None, from: 2.0, to: 20.0, epochs: None };
    let annealed = GradientConfig { anneal: Some(anneal), ..gradient.clone() };
    let trees = BoostedTreesConfig { rounds: 4, leaves: 4, min_documents: 5, ..BoostedTreesConfig::default() };
    let by_name = |table: serde_json::Value| build(table.as_object().unwrap(), &with_scorer).unwrap();
    vec![
        gradient.build(&with_scorer).unwrap(),
        annealed.build(&with_scorer).unwrap(),
        trees.build(&parts).unwrap(),
        by_name(json!({"kind": "smooth_rank", "lambda": 0.01, "first_sigma": 4.0, "last_sigma": 0.5, "steps": 4})),
        by_name(json!({"kind": "ada_rank", "rounds": 3, "epochs": 2})),
    ]
}

#[test]
fn a_loss_of_ones_own_trains_to_the_weights_of_its_registered_twin() {
    let perceptron = ScorerConfig::Mlp(MlpScorerConfig { hidden: vec![4], ..MlpScorerConfig::default() });
    let spec = LossSpec::new("approx_ndcg").with("alpha", 5.0);
    for scorer in [ScorerConfig::default(), perceptron] {
        let (registered, own) = (learners(&scorer, &(&spec).into()), learners(&scorer, &mine(&spec)));
        for (registered, own) in registered.iter().zip(&own) {
            assert_same(&fit(own.as_ref()), &fit(registered.as_ref()), registered.name());
        }
    }
}

#[test]
fn its_second_derivatives_and_its_noise_are_asked_for() {
    let trees = BoostedTreesConfig { rounds: 4, leaves: 4, min_documents: 5, ..BoostedTreesConfig::default() };
    let newton = |loss: TrainingLoss| fit(&*trees.build(&Parts::default().with_loss(loss)).unwrap());
    let spec = LossSpec::new("lambda_ndcg");
    assert_same(&newton(mine(&spec)), &newton((&spec).into()), "boosted_trees");
    let config = GradientConfig { epochs: 3, ..GradientConfig::default() };
    let noisy = |loss: TrainingLoss| fit(&*config.build(&Parts::default().with_loss(loss)).unwrap());
    let spec = LossSpec::new("softmax_cross_entropy").with("gumbel_samples", 2);
    assert_same(&noisy(mine(&spec)), &noisy((&spec).into()), "gradient");
}

#[test]
fn a_fit_is_resumed_by_the_same_loss_only() {
    let spec = LossSpec::new("approx_ndcg").with("alpha", 5.0);
    let of = |loss: TrainingLoss| learners(&ScorerConfig::default(), &loss);
    let others = [mine(&spec.with("alpha", 6.0)), (&spec).into(), spec.build().unwrap().into()].map(of);
    for (index, own) in of(mine(&spec)).iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let part = fit_in(own.as_ref(), Some(folder.path()), true).unwrap();
        assert_eq!((part.history.len(), part.stop), (2, StopReason::Interrupted), "{}", own.name());
        for others in &others {
            let refused = fit_in(others[index].as_ref(), Some(folder.path()), false).unwrap_err();
            assert!(refused.to_string().contains("state of another fit"), "{}: {refused}", own.name());
        }
        let rest = fit_in(own.as_ref(), Some(folder.path()), false).unwrap();
        assert_same(&rest, &fit(own.as_ref()), own.name());
    }
}

#[test]
fn what_a_loss_says_of_its_parameters_is_what_a_fit_is_known_by() {
    let config = GradientConfig { epochs: 3, ..GradientConfig::default() };
    let learner = |weight| config.build(&Parts::default().with_loss(Plain { weight })).unwrap();
    let folder = tempfile::tempdir().unwrap();
    fit_in(&*learner(0.5), Some(folder.path()), true).unwrap();
    assert!(fit_in(&*learner(1.0), Some(folder.path()), false).is_err());
    assert_eq!(fit_in(&*learner(0.5), Some(folder.path()), false).unwrap().history.len(), 3);
}

#[test]
fn annealing_what_does_not_move_is_refused_before_the_fit() {
    let parts = Parts::default().with_loss(Plain { weight: 1.0 });
    let anneal = |parameter: Option<&str>| {
        let parameter = parameter.map(str::to_string);
        let anneal = Some(AnnealConfig::Linear { parameter, from: 1.0, to: 2.0, epochs: None });
        GradientConfig { anneal, ..GradientConfig::default() }.build(&parts).unwrap_err().to_string()
    };
    assert_eq!(
        anneal(None),
        "learner.anneal.parameter = absent: expected a parameter of the loss `plain`, which has no temperature"
    );
    assert_eq!(
        anneal(Some("weight")),
        "plain cannot change `weight` while it trains: expected a parameter that its `RankingLoss::changed` changes"
    );
    let table = json!({"kind": "smooth_rank"});
    let refused = build(table.as_object().unwrap(), &parts).unwrap_err().to_string();
    assert_eq!(refused, "learner.loss = plain: expected a surrogate with a temperature (sigma or alpha)");
}
